"""Spellings one qualifier away from a legal one, refused by ptxlab and, but for known quirks, by ptxas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from random import Random
from types import SimpleNamespace
from zlib import crc32

import pytest

from ptxlab import TARGETS, Instruction, PtxlabError, instruction
from ptxlab.errors import quoted
from ptxlab.instruction import mma_instruction, mma_instructions, register_instructions
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.quirks import QUIRKS, SCALE_INPUT_D, SELECTORS, Quirk
from ptxlab.isa.refusals import quirk_of
from ptxlab.isa.spelling import canonical, form_of, head_length
from ptxlab.isa.transfer import Transfer
from tests import assembler
from tests.cases import each, refusal
from tests.isa.test_transfer import line as transfer_line
from tests.sampling import one_in

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "assembler.md"


def words(text: str) -> list[str]:
    return text.split()


#: Words that the assembler knows, in groups that can replace each other. At an unknown word it stops reading.
VOCABULARY = [
    words("b1 s2 u2 s4 u4 e2m1 e3m2 e2m3 s8 u8 b8 e4m3 e5m2 f16 bf16 tf32 f64 s16 b16 f32 s32 u32 b32")
    + words("f16x2 bf16x2 ue8m0 ue4m3"),
    words("m8n8k4 m8n8k16 m8n8k32 m8n8k64 m8n8k128 m8n32k16 m16n8k4 m16n8k8 m16n8k16 m16n8k32 m16n8k64")
    + words("m16n8k128 m16n8k256 m16n16k8 m16n16k16 m32n8k16 m64n8k8 m64n8k16 m64n8k32 m64n8k64 m64n8k256")
    + words("m64n40k32 m64n40k64"),
    words("m8n8 m16n16 m8n16 m16n8"),
    words("row col"),
    words("kind::f8f6f4 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4"),
    words("scale_vec::1X scale_vec::2X scale_vec::4X"),
    words("xor and or"),
    words("rn rz rm rp"),
    words("x1 x2 x4 x8 x16 x32 x64 x128"),
    words("b6x16_p32 b4x16_p64"),
    words("sp sp::ordered_metadata"),
    words("shared shared::cta shared::cluster global local"),
]
ADDED = words("satfinite trans x2 xor rz kind::f8f6f4 kind::mxf8f6f4 block_scale scale_vec::2X ue8m0 s4")
ADDED += words("b6x16_p32 sync shared v4 pred b2 bf16")
#: One spelling in this many is tried; 1 tries them all, 230,000 lines in half a minute.
SHARE = 5
#: Words that only the newest assembler knows; at these the oldest stops reading.
NEWER = ["kind::ti16", "kind::i8", "kind::f16", "kind::tf32"]
#: On these the assembler crashes with a segmentation fault, and, if it is nvJitLink, the tests with it.
CRASHING = re.compile(r"wmma\.mma\..*m8n8k(32|128)(\.\w+)*?\.f(16|32)\.f(16|32)$")
REFUSED = (
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {f0, f1, f2, f3}, {a0, a1}, {b0}, {f0, f1, f2, f3};"
)


@lru_cache(maxsize=None)
def line(form: Instruction | Transfer) -> str:
    if isinstance(form, Instruction):
        return assembler.line(form)
    text = transfer_line(form).replace("{ .reg .f64 g<2>; ", "").removesuffix(" }")
    return text.replace("g0", "w0").replace("g1", "w1")


def changed(tokens: list[str], added: list[str]) -> Iterator[list[str]]:
    """One qualifier replaced, or those of A and B together; one added, left out or moved."""
    head = {"load": 3, "store": 3, "mma": 2, "mma_async": 2}.get(tokens[1], 1)
    for i in range(head, len(tokens)):
        before, after = tokens[:i], tokens[i + 1 :]
        yield before + after
        for group in VOCABULARY:
            if tokens[i] in group:
                yield from ([*before, word, *after] for word in group)
                if after and after[0] in group:
                    yield from ([*before, word, word, *after[1:]] for word in group)
    for place in (head, len(tokens) - 1, len(tokens)):
        yield from ([*tokens[:place], word, *tokens[place:]] for word in added)
    for i in range(head, len(tokens) - 1):
        yield [*tokens[:i], tokens[i + 1], tokens[i], *tokens[i + 2 :]]
    yield [*tokens[:head], *tokens[head + 1 :], tokens[head]]


def counted(name: str) -> str | None:
    """The spelling with an operand list counted out from its own words, where they are enough."""
    shape = re.search(r"m(\d+)n(\d+)k(\d+)", name)
    types = [token for token in name.split(".") if token in assembler.BITS]
    if name.startswith("wmma.mma") and len(types) == 2:
        types[1:1] = ["f16", "f16"]
    if shape is None or not name.startswith(("mma", "wmma.mma", "wgmma")) or len(types) not in (3, 4):
        return None
    m, n, k = map(int, shape.groups())
    d, a, b, c = (*types, types[0])[:4]
    types_of = {"d_type": d, "a_type": a, "b_type": b, "c_type": c}
    return assembler.line(SimpleNamespace(mnemonic=name, m=m, n=n, k=k, **types_of, a_space="register"))


def class_of(form: Instruction | Transfer) -> tuple[object, ...]:
    """One form stands for all of its class: signedness, rounding and the many N of wgmma change nothing."""
    shape = "" if form.family.startswith("wgmma") else form.shape
    if isinstance(form, Transfer):
        return form.family, shape, form.type[-2:], form.trans, form.source, form.matrix
    bits = form.a_type if form.a.dtype.is_float else form.a.dtype.bits
    return (
        form.family,
        shape,
        bits,
        form.d_type,
        form.kind,
        form.satfinite,
        form.ordered,
        form.rounding is None,
    )


@lru_cache(maxsize=None)
def neighbours(target: str, compiler: assembler.Compiler) -> dict[str, list[str]]:
    """Illegal spelling -> lines to try it with, for one form of each class that the target has."""
    lines: dict[str, list[str]] = {}
    known = [form for form in register_instructions(target=target) if compiler.knows(form)]
    added = [*ADDED, *(NEWER if compiler is assembler.NEWEST else [])]
    for form in {class_of(form): form for form in reversed(known)}.values():
        operands = line(form).split(" ", 1)[1]
        for tokens in changed(form.mnemonic.split("."), added):
            name = ".".join(tokens)
            if (
                crc32(name.encode()) % SHARE
                or form_of(name) is not None
                or CRASHING.match(name)
                or tokens.count("row") + tokens.count("col") > 2
            ):
                continue
            tried = lines.setdefault(name, [])
            for text in (f"{name} {operands}", counted(name)):
                if text is not None and text not in tried:
                    tried.append(text)
    return lines


def quirks(name: str) -> list[Quirk]:
    return [quirk for quirk in QUIRKS if quirk.fault_of(name, canonical)]


def takes(text: str, target: str, compiler: assembler.Compiler) -> bool:
    """Whether the assembler takes this line; some forms fail in its own templates, where it names no line."""
    try:
        return not assembler.refused([text], target, compiler)
    except AssertionError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("compiler", assembler.COMPILERS, ids=str)
@pytest.mark.parametrize(
    ("target", "least"),
    [("sm_75", 1500), ("sm_80", 4000), ("sm_90a", 5500), ("sm_100a", 5000), ("sm_120a", 6500)],
)
def test_what_the_assembler_takes_is_in_the_catalogue_or_a_known_quirk(
    target: str, least: int, compiler: assembler.Compiler
) -> None:
    if (target, compiler) == ("sm_100a", assembler.NEWEST):
        target = "sm_107a"  # the newest of its family
    every = neighbours(target, compiler)
    assert len(every) > least
    some = one_in(18, [(name, texts) for name, texts in every.items()], len(target))
    tried = [(name, text) for name, texts in some for text in texts]
    passed = []
    for low in range(0, len(tried), 400):  # its log grows with the square of the complaints
        part = tried[low : low + 400]
        refused = assembler.refused([text for _, text in part] + [REFUSED], target, compiler)
        assert len(part) in refused, "it read to the end"
        passed += [attempt for i, attempt in enumerate(part) if i not in refused]
    known = {name for name, _ in passed if is_known_quirk(name, target, compiler)}
    unknown = [name for name, text in passed if name not in known and takes(text, target, compiler)]
    assert unknown == []
    assert known, "the assembler has quirks"


@pytest.mark.slow
@pytest.mark.parametrize("compiler", assembler.COMPILERS, ids=str)
@pytest.mark.parametrize("target", ["sm_75", "sm_90a", "sm_120a"])
def test_qualifiers_in_any_order_that_the_assembler_takes(target: str, compiler: assembler.Compiler) -> None:
    """Shuffled at random: ptxlab reads a spelling if and only if the assembler does."""
    random = Random(f"{target} {compiler}")
    attempts: dict[str, str] = {}
    known = [form for form in register_instructions(target=target) if compiler.knows(form)]
    for form in {class_of(form): form for form in reversed(known)}.values():
        tokens, operands = form.mnemonic.split("."), line(form).split(" ", 1)[1]
        head = head_length(tokens)
        for _ in range(4):
            name = ".".join([*tokens[:head], *random.sample(tokens[head:], len(tokens) - head)])
            read = form_of(name)
            if not CRASHING.match(name) and read in (None, form):  # another form has other operands
                attempts[name] = f"{name} {operands}"
    names, texts = list(attempts), list(attempts.values())
    refused: set[int] = set()
    for low in range(0, len(texts), 200):
        part = assembler.refused([*texts[low : low + 200], REFUSED], target, compiler)
        refused.update(low + i for i in part if i < 200)
    different = [name for i, name in enumerate(names) if (form_of(name) is None) != (i in refused)]
    assert different == []
    assert 50 < len(refused) < len(names) - 50


def is_known_quirk(name: str, target: str, compiler: assembler.Compiler) -> bool:
    """Whether the refusal of a spelling says that this assembler takes it for this target."""
    if not quirk_of(name):
        return False
    return not quirks(name) or any(
        target in quirk.targets and holds(quirk, compiler) for quirk in quirks(name)
    )


def holds(quirk: Quirk, compiler: assembler.Compiler) -> bool:
    return release(quirk.since) <= release(compiler.release) <= release(quirk.until)


def release(text: str) -> list[int]:
    return [int(number) for number in text.split(".")]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_75", "sm_90a", "sm_120a"])
def test_refusals_name_the_fault_and_legal_spellings(target: str) -> None:
    for name in one_in(9, list(neighbours(target, assembler.OLDEST))[::60]):
        message = refusal(instruction, name)
        assert message.startswith(f"{quoted(name)}: ") and "\n" not in message, message
        nearest = message.split("; nearest legal: ")[1].split(", ")
        assert len(nearest) == 3, message
        assert all(instruction(near).mnemonic == near for near in nearest), message
        assert ("the assembler takes" in message) == bool(quirks(name)), message


# -- the quirks themselves -------------------------------------------------------------------------------


def mnemonic(quirk: Quirk) -> str:
    return quirk.example.split(" ")[0]


@pytest.mark.slow
@each("compiler", assembler.COMPILERS, ids=str)
@each("quirk", [*QUIRKS, SELECTORS], ids=lambda quirk: quirk.title)
def test_the_assembler_takes_the_example(quirk: Quirk, compiler: assembler.Compiler) -> None:
    """For the targets and releases of its row, and for no others: otherwise the row is out of date."""
    ends = (quirk.targets[0], quirk.targets[-1])
    others = [target for target in TARGETS if target not in quirk.targets]
    for target in dict.fromkeys((*ends, *others[:1], *others[-1:])):
        if target in compiler.targets:
            expected = target in quirk.targets and holds(quirk, compiler)
            assert takes(quirk.example, target, compiler) == expected, target


def test_some_quirks_hold_for_one_release_only() -> None:
    words = {quirk.release_words for quirk in QUIRKS}
    assert words == {"13.0 only", "13.0 to 13.4", "since 13.4"}
    assert sum(quirk.until == "13.0" for quirk in QUIRKS) == 4
    message = refusal(instruction, "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.u32")
    assert "the assembler takes it (every target, CUDA 13.0 only)" in message


@each("quirk", QUIRKS, ids=lambda quirk: quirk.title)
@pytest.mark.slow
def test_the_example_is_refused_with_the_reason(quirk: Quirk) -> None:
    message = refusal(instruction, quirk.example)
    assert "the assembler takes" in message
    assert quirks(mnemonic(quirk))[0] is quirk
    assert quirk.emits in message
    assert all(instruction(near) for near in message.split("; nearest legal: ")[1].split(", "))


def test_two_quirks_at_once_are_named_both() -> None:
    legal = "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32"
    name = f"{legal}.b8x16.b1"
    assert takes(line(instruction(legal)).replace(legal, name), "sm_90a", assembler.NEWEST)
    message = refusal(instruction, name)
    assert ".b8x16 exists for ldmatrix only, and .b1 is one type too many" in message
    assert f"the assembler may take it all the same; nearest legal: {legal}, " in message
    twice = refusal(instruction, "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32.pred.pred")
    assert ": .pred does not fit here; the assembler may take it" in twice


def test_selectors_that_the_assembler_takes_and_the_manual_has_not() -> None:
    """The assembler takes other selectors for one sparse shape; ptxlab has the manual's everywhere."""
    sparse = [ins for ins in mma_instructions() if ins.sparse and (ins.lanes == 32 or ins.n == 8)]
    accepted: dict[str, set[int]] = {}
    for target in ("sm_90a", "sm_120a"):
        attempts = [(ins, selector) for ins in sparse if ins.supports(target) for selector in range(5)]
        lines = [line(ins).replace("e, 0", f"e, {selector}") for ins, selector in attempts]
        refused = assembler.refused(lines, target)
        for i, (ins, selector) in enumerate(attempts):
            if i not in refused:
                accepted.setdefault(ins.mnemonic, set()).add(selector)
    others = {
        name: selectors
        for name, selectors in accepted.items()
        if selectors != set(mma_instruction(name).selectors)
    }
    assert others == {
        f"mma.{sp}.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32": {0, 1, 2, 3}
        for sp in ("sp", "sp::ordered_metadata")
    }
    with pytest.raises(PtxlabError, match=r"^selector=2: mma\.sp\..* takes 0, 1"):
        mma_instruction(mnemonic(SELECTORS)).check_modifiers(Modifiers(selector=2))


def test_quirks_say_where() -> None:
    assert {quirk.target_words for quirk in QUIRKS} >= {
        "every target",
        "every a- and f-target since sm_100a",
        "sm_80 and later",
        "sm_75 to sm_89",
        "sm_100a, sm_110a",
    }
    assert len({quirk.title for quirk in QUIRKS}) == len(QUIRKS)


# -- the page --------------------------------------------------------------------------------------------


def table() -> list[str]:
    rows = [
        f"| {quirk.title} | {quirk.emits} | {quirk.target_words} | {quirk.release_words} | {quirk.why} |"
        for quirk in (*QUIRKS, SELECTORS, SCALE_INPUT_D)
    ]
    head = "| spelling | the assembler | targets | CUDA | ptxlab refuses, since |"
    return [head, "|---|---|---|---|---|", *rows]


def test_the_page_has_the_table_of_the_data() -> None:
    """`print("\\n".join(table()))` prints it anew."""
    first_part = PAGE.read_text(encoding="utf-8").split("## Where the manual")[0]
    assert [line for line in first_part.splitlines() if line.startswith("|")] == table()


def test_the_page_names_legal_spellings_where_it_says_legal() -> None:
    """Every whole spelling of the second part is one that ptxlab has."""
    second_part = PAGE.read_text(encoding="utf-8").split("## Where the manual")[1]
    spelling = r"`((?:mma|wmma|wgmma|ldmatrix|stmatrix)\.[\w:.]*\.[\w:.]*sync[\w:.]*)`"
    mnemonics = re.findall(spelling, second_part)
    assert len(mnemonics) >= 5
    assert all(instruction(text) for text in mnemonics)
