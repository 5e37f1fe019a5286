"""The picker's index: every instruction that is shown, once, with what the reader sees; and its search."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ptxlab
from ptxlab import Instruction, Transfer
from ptxlab.explorer.page.picker import everyday_words, picker_index
from ptxlab.instruction import mma_instructions
from ptxlab.isa.targets import TARGETS, generation
from ptxlab.tcgen05_instruction import TensorInstruction, TensorTransfer
from tests.cases import each

FRONT = Path(ptxlab.__file__).parent / "explorer" / "front"
TENSOR = [ins for ins in ptxlab.catalog("tcgen05") if isinstance(ins, TensorInstruction)]
PRODUCTS = [*mma_instructions(), *TENSOR]
MOVES = [ins for ins in ptxlab.catalog() if isinstance(ins, TensorTransfer | Transfer)]
EVERY = [*PRODUCTS, *MOVES]
BY_NAME = {ins.mnemonic: ins for ins in PRODUCTS}
MOVING = ("load", "store", "copy", "shift", "transpose")
MOVE_NAMES = {ins.mnemonic: ins for ins in MOVES}


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """Mnemonics with everything in the index about them, put together as the page does it."""
    index = picker_index()
    for row in index["rows"]:
        mnemonic, family, shape, types, qualifiers, target_set, n_set, word_set, space, lanes = row
        for n in index["n_sets"][n_set]:
            yield (
                mnemonic.replace("nNk", f"n{n}k"),
                {
                    "family": index["families"][family],
                    "shape": index["shapes"][shape].replace("nN", f"n{n}"),
                    "types": index["types"][types],
                    "qualifiers": index["qualifiers"][qualifiers],
                    "targets": tuple(
                        index["targets"][place][0] for place in index["target_sets"][target_set][1]
                    ),
                    "words": index["word_sets"][word_set],
                    "space": space,
                    "lanes": lanes,
                    "n": n,
                },
            )


def test_it_is_the_catalogue_and_small() -> None:
    names = [mnemonic for mnemonic, _ in rows()]
    assert Counter(names) == Counter(ins.mnemonic for ins in EVERY) and picker_index()["count"] == len(names)
    count, families = picker_index()["others"]  # which have neither matrices nor data
    assert count + len(names) == len(ptxlab.catalog())
    assert set(families) == {ins.family for ins in ptxlab.catalog() if ins not in EVERY}
    assert len(json.dumps(picker_index())) < 150_000
    assert picker_index() is picker_index()


def test_every_row_agrees_with_its_instruction() -> None:
    for mnemonic, entry in rows():
        if mnemonic in MOVE_NAMES:
            move = MOVE_NAMES[mnemonic]
            assert (entry["family"], entry["shape"], entry["lanes"]) == (move.family, move.shape, move.lanes)
            assert entry["targets"] == tuple(target for target in TARGETS if target in move.targets)
            assert entry["types"] == move.type and entry["words"][0] in MOVING
            continue
        ins = BY_NAME[mnemonic]
        assert (
            entry["family"] == ins.family
            and entry["shape"] == ins.shape
            and entry["n"] == ins.n
            and entry["lanes"] == ins.lanes
        )
        assert entry["types"] == f"{ins.d_type}.{ins.a_type}.{ins.b_type}.{ins.c_type}"
        assert entry["targets"] == tuple(target for target in TARGETS if target in ins.targets)
        choice = {"wgmma": 1, "wgmma.sp": 1}.get(ins.family, 2 * ins.family.startswith("tcgen05"))
        assert entry["space"] == (0 if ".ashift" in mnemonic else choice)
        assert entry["words"][0] == ("sparse" if ins.sparse else "dense")
        assert not ins.structure or entry["words"][1] == ins.structure.name


def test_the_columns_tell_all_instructions_apart() -> None:
    described = Counter(
        (entry["family"], entry["shape"], entry["types"], entry["qualifiers"]) for _, entry in rows()
    )
    assert set(described.values()) == {1}


def test_qualifiers_stand_in_the_mnemonic() -> None:
    for mnemonic, entry in rows():
        for word in entry["qualifiers"].split():
            assert (
                word == "plain"
                or re.search(rf"[.:]{re.escape(word)}(?=[.:]|$)", mnemonic)
                or word in mnemonic
            ), (mnemonic, word)
        if entry["qualifiers"] == "plain":
            assert not re.search(r"satfinite|kind|::|popc|\.r[zmp]\b", mnemonic)


def test_targets_have_the_names_of_their_generations() -> None:
    names = {target: name for target, name, _ in picker_index()["targets"]}
    assert names == {target: generation(target) for target in TARGETS}
    assert set(names.values()) == {
        "Turing", "Ampere", "Ada", "Hopper", "Blackwell", "Rubin", "RTX Blackwell",
    }  # fmt: skip


def has(*kinds: str) -> Callable[[Instruction], bool]:
    return lambda ins: ins.a_type in kinds or ins.b_type in kinds


EVERYDAY: dict[str, Callable[[Instruction], bool]] = {
    "sparse": lambda ins: ins.sparse,
    "dense": lambda ins: not ins.sparse,
    "int4": has("s4", "u4"),
    "uint4": has("u4"),
    "int8": has("s8", "u8"),
    "fp8": has("e4m3", "e5m2"),
    "fp6": has("e3m2", "e2m3"),
    "fp4": has("e2m1"),
    "half": has("f16"),
    "bfloat": has("bf16"),
    "double": has("f64"),
    "binary": has("b1"),
    "warpgroup": lambda ins: ins.lanes == 128,
    "warp": lambda ins: ins.lanes == 32,
    "block": lambda ins: ins.scale_a is not None,
    "scaled": lambda ins: ins.scale_a is not None,
    "nvfp4": lambda ins: ins.scale_type == "ue4m3",
    "microscaling": lambda ins: ins.scale_type == "ue8m0" and ins.scale_vec != 4,
    "saturating": lambda ins: ins.satfinite,
    "mixed": lambda ins: ins.a_type != ins.b_type,
    "volta": lambda ins: ins.mma_count == 4,
}


@each("word", EVERYDAY)
def test_everyday_words(word: str) -> None:
    described = [ins for ins in mma_instructions() if word in everyday_words(ins)]
    assert described == [ins for ins in mma_instructions() if EVERYDAY[word](ins)]


# -- the search of the page, run by node -----------------------------------------------------------------

BLACKWELL = [target for target in TARGETS if "Blackwell" in generation(target)]
RTX = [target for target in TARGETS if generation(target) == "RTX Blackwell"]
QUERIES: dict[str, Callable[[Instruction], bool]] = {
    "": lambda ins: True,
    "m16n8k64 s4 sparse": lambda ins: ins.shape == "m16n8k64" and has("s4")(ins) and ins.sparse,
    "SPARSE   s4, m16n8k64": lambda ins: ins.shape == "m16n8k64" and has("s4")(ins) and ins.sparse,
    # And no bf16, which is f32.bf16.bf16.f32.
    "f16 wmma": lambda ins: ins.family == "wmma" and "f16" in (ins.d_type, ins.c_type),
    "n8 wgmma": lambda ins: ins.n == 8 and ins.lanes == 128,  # and no n80
    "m64n2": lambda ins: ins.m == 64 and str(ins.n).startswith("2"),
    "k64": lambda ins: ins.k == 64,
    "n8k6": lambda ins: ins.n == 8 and ins.k == 64,
    "hopper fp8": lambda ins: has("e4m3", "e5m2")(ins) and (ins.supports("sm_90") or ins.supports("sm_90a")),
    "h100 fp6": lambda ins: False,
    "turing": lambda ins: ins.supports("sm_75"),
    "blackwell fp8": lambda ins: has("e4m3", "e5m2")(ins) and any(ins.supports(sm) for sm in BLACKWELL),
    "rtx fp8": lambda ins: has("e4m3", "e5m2")(ins) and any(ins.supports(sm) for sm in RTX),
    "sm_90": lambda ins: ins.supports("sm_90"),
    "block scaled": lambda ins: ins.scale_vec is not None,
    "mxf4": lambda ins: ins.kind == "mxf4",
    "spars e2": lambda ins: ins.sparse and has("e2m1", "e2m3")(ins),
    "sp::ord": lambda ins: ins.ordered,
    "s32.s4": lambda ins: ".s32.s4" in ins.mnemonic,
    "2:4 tf32": lambda ins: False,
    "1:2 tf32": lambda ins: ins.sparse and ins.a_type == "tf32",
    "banana": lambda ins: False,
    "<b>": lambda ins: False,
    "wgmma.mma_async.sp.sync.aligned.m64n256k64.s32.s8.s8": lambda ins: (
        ins.shape == "m64n256k64" and ins.mnemonic.endswith("64.s32.s8.s8")
    ),
}


def run(script: str) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; tests/browser/test_picker_browser.py searches as well")
    source = re.sub(r"^export ", "", (FRONT / "picker" / "search.js").read_text(encoding="utf-8"), flags=re.M)
    index = json.dumps(picker_index())
    text = f"{source}\nconst search = new Search({index});\nconsole.log(JSON.stringify({script}));"
    done = subprocess.run(
        [node, "--input-type=module"], input=text, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def searched() -> dict[str, list[str]]:
    """What each query finds."""
    script = """Object.fromEntries(QUERIES.map((text) => {
      const { matching } = search.search(text);
      return [text, search.items.filter((_, index) => matching[index]).map(({ mnemonic }) => mnemonic)];
    }))"""
    queries = json.dumps([*QUERIES, *TENSOR_QUERIES])
    mnemonics: dict[str, list[str]] = run(script.replace("QUERIES", queries))
    return mnemonics


@each("text", QUERIES)
def test_a_search_finds_these_and_no_others(text: str, searched: dict[str, list[str]]) -> None:
    names = [name for name in searched[text] if name in BY_NAME and not name.startswith("tcgen05")]
    assert sorted(names) == sorted(ins.mnemonic for ins in mma_instructions() if QUERIES[text](ins))


TENSOR_QUERIES: dict[str, Callable[[TensorInstruction], bool]] = {
    "tcgen05": lambda ins: True,
    "tensor memory pair": lambda ins: ins.cta_group == 2,
    "b200 nvfp4": lambda ins: ins.descriptor.scale == "ue4m3" and "sm_100a" in ins.targets,
    "bfloat sparse": lambda ins: ins.sparse and ins.kind == "f16",
    "stationary fp8": lambda ins: ins.ws and ins.kind == "f8f6f4",
}


@each("text", TENSOR_QUERIES)
def test_search_for_tcgen05(text: str, searched: dict[str, list[str]]) -> None:
    names = [name for name in searched[text] if name.startswith("tcgen05.mma")]
    assert names == [ins.mnemonic for ins in TENSOR if TENSOR_QUERIES[text](ins)]


def test_columns_count_and_narrow() -> None:
    """Counts are those of the catalogue; a choice to the left keeps what it can of those to the right."""
    columns = run(
        """(() => {
          const none = { at: [null, null, null, null], target: null, n: null };
          const all = search.search("").matching;
          const name = (column, value) => search.names[column][value];
          const named = (column, options) => options.map(([value, count]) => [name(column, value), count]);
          const chosen = ({ at }) => at.map((value, column) => search.names[column][value] ?? null);
          const place = (column, name) => search.names[column].indexOf(name);
          const mma = search.choose(none, 0, place(0, "mma"), all);
          const shaped = search.choose(mma, 1, place(1, "m16n8k64"), all);
          const typed = search.choose(shaped, 2, place(2, "s32.s4.s4.s32"), all);
          const sparse = search.choose(typed, 0, place(0, "mma.sp"), all);
          const wmma = search.choose(typed, 0, place(0, "wmma"), all);
          const sm_75 = { ...none, target: search.index.targets.findIndex(([name]) => name === "sm_75") };
          return {
            families: named(0, search.options(0, none, all)),
            shapes: named(1, search.options(1, mma, all)),
            old: named(0, search.options(0, sm_75, all)),
            sparse: chosen(sparse),
            wmma: chosen(wmma),
            matches: search.matches(typed, all).map(({ mnemonic }) => mnemonic),
            targets: search.targetOptions(none, all).map(([, count]) => count),
            n: search.sizes(none, all).map(([n, count]) => [n, count]),
          };
        })()"""
    )
    assert dict(columns["families"]) == Counter(ins.family for ins in EVERY)
    assert dict(columns["shapes"]) == Counter(ins.shape for ins in mma_instructions("mma"))
    assert dict(columns["old"]) == {
        family: len(ptxlab.catalog(family, "sm_75")) for family in dict.fromkeys(ins.family for ins in EVERY)
    }
    assert columns["sparse"] == ["mma.sp", "m16n8k64", "s32.s4.s4.s32", None]
    assert columns["wmma"] == ["wmma", None, "s32.s4.s4.s32", None]  # it has no m16n8k64
    assert columns["matches"] == [
        f"mma.sync.aligned.m16n8k64.row.col{sat}.s32.s4.s4.s32" for sat in ("", ".satfinite")
    ]
    assert columns["targets"] == [sum(target in ins.targets for ins in EVERY) for target in TARGETS]
    sizes = Counter(ins.n for ins in mma_instructions() if ins.lanes == 128)
    assert dict(map(tuple, columns["n"])) == sizes


@each(
    "name, count, first",
    [
        ("mma.m16n8k16.f16", 2, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"),
        (" mma.sync.aligned.m16n8k8.row.col.f32.f16", 1, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32", 16, None),
        ("tcgen05.mma", 51, "tcgen05.mma.cta_group::1.kind::f16"),
        ("tcgen05.shift", 2, "tcgen05.shift.cta_group::1.down"),
        ("ldmatrix.x4", 0, None),
    ],
)
def test_a_name_that_says_too_little_opens_on_its_first_candidate(
    name: str, count: int, first: str | None
) -> None:
    """What `ptxlab.instruction` refuses; all candidates are in the picker, and gone once one is chosen."""
    ex = ptxlab.explore(name, seed=3)
    names = ex.view.candidates.get("mnemonics", [])
    assert len(names) == count and {*names} <= {mnemonic for mnemonic, _ in rows()}
    assert bool(count) == ("fit" in ex.view.notice)
    if count:
        assert ex.instruction.mnemonic == names[0] and first in (names[0], None)
        assert hasattr(ex.instruction, "emulate")
        with pytest.raises(ptxlab.PtxlabError):
            ptxlab.instruction(name)
    ex.instruction = "mma.m16n8k8.tf32"
    assert not ex.view.candidates and "fit" not in ex.view.notice


@each("name", ["mma.m16n8k99", "tcgen05.mma.f16", "nonsense", "", ".", "tcgen05.alloc", "tcgen05.wait"])
def test_a_name_that_matches_nothing_is_refused(name: str) -> None:
    with pytest.raises(ptxlab.PtxlabError):
        ptxlab.explore(name)
