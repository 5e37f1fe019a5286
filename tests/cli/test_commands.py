"""The command line: what it answers for every row of the catalogue, how it refuses, and that it is quick."""

from __future__ import annotations

import csv
import inspect
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.cli import compute, main
from ptxlab.cli.commands import COMMANDS, OVERVIEW
from ptxlab.cli.output import Style, as_text
from ptxlab.cli.parser import function_of
from ptxlab.instruction import mma_instructions, register_instructions
from ptxlab.isa.catalog import register_forms
from ptxlab.isa.parse import parse
from ptxlab.numerics.emulate import emulate
from ptxlab.views import Table
from tests.cases import each
from tests.processes import run_python
from tests.sampling import one_in
from tests.texts import replaced

S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SP_S4 = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
TF32 = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"
WGMMA = "wgmma.mma_async.sp.sync.aligned.m64n24k64.f32.e4m3.e4m3"


def test_list_has_the_catalogue_and_filters_it(answer, refused) -> None:
    assert answer("list").splitlines() == [ins.mnemonic for ins in ptxlab.catalog()]
    assert json.loads(answer("list", "--type", "tf32", "--family", "mma", "--json")) == [
        i.mnemonic for i in ptxlab.catalog("mma") if i.a_type == "tf32"
    ]
    assert all(".f64" in line for line in answer("list", "--type", "f64").splitlines())
    narrow = answer("list", "--shape", "M16N8K*", "--sparse", "--type", "s4").splitlines()
    assert narrow and all(re.match(r"mma\.sp\S*\.m16n8k(64|128)\.\S*s4", line) for line in narrow)
    dense = answer("list", "--dense").splitlines()
    assert not [line for line in dense if re.search(r"\.sp(\.|::ordered)", line)]
    assert (
        answer("list", "mma") == answer("list", "--family", "mma") == answer("list", "mma", "--family", "mma")
    )
    assert "two families, 'mma' and 'wgmma'" in refused("list", "mma", "--family", "wgmma")
    assert "no instruction fits" in refused("list", "--family", "wgmma.sp", "--target", "sm_90")
    assert answer("list", "--family", "wgmma.sp", "--target", "sm_90", "--json") == "[]\n"


def test_show_takes_what_people_paste(answer, refused) -> None:
    load, mma = (
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    )
    pasted = f"ldmatrix.sync.aligned.x4.m8n8.shared.b16 {{%0}}, [%1];\\n{mma} {{%2}}, ..."
    assert answer("show", pasted).splitlines()[1:] == [f"  {load}", f"  {mma}"]
    assert json.loads(answer("show", pasted, "--json")) == [load, mma]
    assert "the text has 2 different matrix instructions" in refused("where", pasted, "A", "0", "0")
    satfinite = answer("show", "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32.satfinite", "--no-sass")
    assert satfinite.startswith("mma.sp.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.s8.s32\n")


def test_list_counts(answer) -> None:
    table = json.loads(answer("list", "--count", "--json"))
    assert {row["family"]: row["all"] for row in table[:-1]} == {
        f: len(ptxlab.catalog(f)) for f in {i.family for i in ptxlab.catalog()}
    }
    assert (table[-1]["family"], table[-1]["all"]) == ("all", len(ptxlab.catalog()))
    assert table[0]["b1"] == sum(ins.a_type == "b1" for ins in ptxlab.catalog("mma"))
    assert answer("list", "--count").splitlines()[-1].split()[-1] == str(len(ptxlab.catalog()))


def test_list_on_a_terminal_has_headings_and_a_total(answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    lines = answer("list", "--target", "sm_75").splitlines()
    assert f"wmma ({len(ptxlab.catalog('wmma', 'sm_75'))})" in lines
    assert lines[-1] == f"{len(ptxlab.catalog(target='sm_75'))} instructions"


@pytest.fixture
def shown(answer):
    """What `show` says about a sparse mma, without the machine code."""
    return answer("show", SP_S4, "--no-sass")


def test_show_says_what_an_instruction_is(shown) -> None:
    text = shown
    parts = (SP_S4, "4:8 pair-wise", "0b0100", "measured", "missing on  sm_75", "asm volatile(", '"=r"(d[3])')
    assert [part for part in parts if part not in text] == []
    assert re.search(r"A +16x32 +s4 +2 +32 ", text)
    assert "chip runs" not in text and "  lanes       32\n" in text


def test_show_as_json(answer) -> None:
    facts = json.loads(answer("show", WGMMA, "--json", "--no-sass"))
    assert facts["instruction"] == WGMMA
    assert facts["targets"] == ["sm_90a"]
    assert facts["modifiers"]["imm_scale_a"] == [1, -1]
    assert [*facts["operands"][1].values()] == ["B", "64x24", "e4m3", "-", "-", "in shared memory"]


def test_show_writes_a_call_in_cpp(answer) -> None:
    assert "wmma::mma_sync(d, a, b, c, false);" in answer("show", "wmma.m8n8k32.s4", "--no-sass")


LONG = "wgmma.m64n256k16.f32.f16"


def test_show_leaves_out_the_middle_of_many_registers(answer) -> None:
    text = answer("show", LONG, "--no-sass")
    assert "  threads     128\n" in text
    assert "{%d0, %d1, ..., %d127}" in text
    assert "%d126" not in text


def test_show_fits_the_cell_of_a_notebook(answer, shown) -> None:
    long = answer("show", LONG, "--no-sass")
    tensor = answer("show", "tcgen05.mma.sp.cta_group::2.kind::f16", "--no-sass")
    assert max(map(len, f"{shown}{long}{tensor}".splitlines())) <= 100  # what a cell shows whole
    targets = " ".join(ptxlab.instruction(SP_S4).targets)
    assert f"targets {targets} missing on" in " ".join(shown.split())  # broken between words only


def test_show_says_what_the_chip_runs_or_what_to_install(answer, monkeypatch: pytest.MonkeyPatch) -> None:
    sass = pytest.importorskip("ptxlab.gpu.sass")
    asked: list[str] = []

    def machine(ins: ptxlab.Instruction, target: str) -> str:
        asked.append(target)
        if target == "sm_80":
            raise PtxlabError("nvdisasm is not installed: pip install it")
        return "native: 1 TEST"

    monkeypatch.setattr(sass, "sass", machine)
    assert "chip runs   sm_90a, native: 1 TEST\n" in answer("show", S4)
    assert "chip runs   sm_80: nvdisasm is not installed: pip install it\n" in answer(
        "show", S4, "--target", "sm_80"
    )
    assert "chip runs   sm_75: nothing, it lacks the instruction\n" in answer("show", S4, "--target", "sm_75")
    assert asked == ["sm_90a", "sm_80"]


def test_those_of_a_warpgroup_are_threads(answer, refused) -> None:
    """A lane is one of the 32 of a warp; JSON has one key for both."""
    assert answer("where", WGMMA, "D", "41", "3").splitlines()[-2:] == [
        "  thread  element  register  bits",
        "      69  d3              3  [31..0]",
    ]
    assert "lane" in json.loads(answer("where", WGMMA, "D", "41", "3", "--json"))["places"][0]
    heads = [
        line.split() for line in answer("where", WGMMA, "A", "41", "3").splitlines() if "element " in line
    ]
    assert [head.count("thread") for head in heads] == [1, 1]
    assert answer("holds", WGMMA, "D", "--lane", "42").startswith(f"thread 42 of {WGMMA}\n")
    assert "thread 128 does not exist; threads go from 0 to 127" in refused(
        "holds", WGMMA, "D", "--lane", "128"
    )
    assert "lane" not in answer("where", WGMMA, "D", "41", "3", "--explain")


def test_where_dense(answer) -> None:
    """A[9][37]: row 9 is group 1, column 37 = 32 + 0 * 8 + 5, so lane 4 and i = 16 + 8 + 5."""
    assert answer("where", S4, "A", "9", "37").splitlines()[-1].split() == ["4", "a29", "3", "[23..20]"]
    assert answer("where", S4, "A[9][37]") == answer("where", S4, "A", "9", "37")
    assert answer("trace", S4, "D[6][7]") == answer("trace", S4, "6", "7")
    (place,) = json.loads(answer("where", S4, "a", "9", "37", "--json"))["places"]
    assert place == {"lane": 4, "element": "a29", "register": 3, "bits": "[23..20]"}


def test_where_sparse(answer) -> None:
    """Row 9 is group 1; columns 32..47 are lane 6's, columns 32..39 its a8..a11; column 37 is in pair 2."""
    text = answer("where", SP_S4, "A", "9", "37")
    assert "chunk 4 (columns 32..39), group 2 (columns 36..37)" in text
    places = {r["nibble"]: r for r in json.loads(answer("where", SP_S4, "A", "9", "37", "--json"))["places"]}
    in_lane_6 = {nibble for nibble, place in places.items() if place["lane"] == 6}
    assert in_lane_6 == {"0b1000", "0b1001", "0b1110"}
    assert places["0b1001"]["element"] == "a11"
    assert (places["0b1110"]["element"], places["0b1110"]["bits"]) == ("a9", "[7..4]")
    stored = answer("where", SP_S4, "A", "9", "18", "--stored").splitlines()[-1]
    assert stored.split() == ["6", "a10", "1", "[11..8]"]


def test_where_says_which_selector_reads_a_copy(answer) -> None:
    rows = json.loads(answer("where", TF32, "E", "0", "0", "--json"))["places"]
    assert [(r["lane"], r["read with"]) for r in rows] == [(0, "selector 0"), (2, "selector 1")]


def test_where_explains_an_element_of_d(answer) -> None:
    """D[9][3] of m16n8k64: row 9 is group 1, so A is in lanes 4..7, and column 3 in lanes 12..15 of B."""
    lines = answer("where", S4, "D", "9", "3", "--explain").splitlines()
    assert lines[1].strip() == "D[9][3] = C[9][3] + sum over k of A[9][k] * B[k][3]"
    assert lines[-64:][37].split() == ["37", "T4", "a29", "3", "[23..20]", "T12", "b13", "1", "[23..20]"]
    assert json.loads(answer("where", S4, "C", "9", "3", "--explain", "--json"))["d"] == [
        {"lane": 5, "element": "d3", "register": 3, "bits": [0, 31]}
    ]
    sparse = answer("where", SP_S4, "D", "9", "3", "--explain")
    assert "nibbles of this row" in sparse and "0b1x01" in sparse
    assert "B byte" in answer("where", WGMMA, "D", "9", "3", "--explain")


def test_cute_prints_layouts_of_operands(answer) -> None:
    assert answer("cute", S4, "C") == "((4,8),(2,2)):((32,1),(16,8))  // (T32,V4) -> (16,8)\n"
    rows = json.loads(answer("cute", WGMMA, "--json"))["operands"]
    assert [row["operand"] for row in rows] == ["A", "B", "C", "D", "E"]
    assert [row["operand"] for row in rows if row["cute"] == "-"] == ["B"]


def test_holds_gives_the_elements_of_a_register(answer) -> None:
    lines = answer("holds", S4, "B", "--lane", "5", "--register", "1").splitlines()
    assert [line.split()[-2:] for line in lines[3:]] == [[str(40 + i), "1"] for i in range(8)]
    assert len(json.loads(answer("holds", S4, "A", "--lane", "5", "--json"))["elements"]) == 32


def test_layout_as_a_table(answer) -> None:
    table = answer("layout", S4, "A").splitlines()
    assert table[3].split() == ["m\\k", *(f"{i}..{i + 7}" for i in range(0, 64, 8))]
    first = [f"T{lane}:{{a8..a15}}" for lane in range(4, 8)]
    assert table[4 + 9].split()[1:6] == [*first, "T4:{a24..a31}"]
    assert "T0:{a4..a7}" in answer("layout", SP_S4, "A", "--dense")
    assert "0x0490" in answer("layout", WGMMA, "B")
    assert (
        answer("layout", "wmma.m16n16k16.f32.f16", "A").splitlines()[-1]
        == "every element is held twice: a(i) again as a(i + 8)"
    )


def test_layout_as_rows(answer) -> None:
    """CSV and JSON have every element."""
    rows = list(csv.DictReader(io.StringIO(answer("layout", S4, "C", "--csv"))))
    for row in rows:
        lane, i = int(row["lane"]), int(row["element"])
        assert (int(row["row"]), int(row["column"])) == (lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2)
    assert len(rows) == 128
    assert len(json.loads(answer("layout", S4, "C", "--json"))["elements"]) == 128
    rows = list(csv.DictReader(io.StringIO(answer("layout", WGMMA, "B", "--csv"))))
    assert sorted(int(row["byte offset"]) for row in rows) == list(range(64 * 24))


def test_layout_in_notations_and_as_a_picture(answer) -> None:
    assert (
        answer("layout", S4, "C", "--markdown").splitlines()[2]
        == "| 0 | T0:{c0,c1} | T1:{c0,c1} | T2:{c0,c1} | T3:{c0,c1} |"
    )
    assert answer("layout", S4, "C", "--cute") == "((4,8),(2,2)):((32,1),(16,8))  // (T32,V4) -> (16,8)\n"
    assert answer("layout", S4, "C", "--formula").splitlines()[-2:] == [
        "row = groupID + ((i >> 1) * 8)",
        "col = (threadID_in_group * 2) + (i & 0x1)",
    ]
    assert ET.fromstring(answer("layout", S4, "A", "--svg", "--lane", "5")).tag.endswith("svg")


def test_pictures_without_a_title_and_for_a_dark_page(answer) -> None:
    """What is left out of a picture without its title is tested with the figures."""
    for words in (("layout", S4, "A"), ("layout", WGMMA, "B"), ("metadata", SP_S4), ("trace", S4, "0", "0")):
        whole = ET.fromstring(answer(*words, "--svg"))
        bare = ET.fromstring(answer(*words, "--svg", "--no-title"))
        assert int(bare.get("height")) < int(whole.get("height"))
        dark = ET.fromstring(answer(*words, "--svg", "--dark"))
        assert [picture.find("{*}rect").get("fill") for picture in (whole, dark)] == ["#FFFFFF", "#1C1C1C"]


def test_metadata_says_which_lane_holds_a_nibble(answer) -> None:
    lines = answer("metadata", TF32, "--selector", "1").splitlines()
    assert re.split(r"\s{2,}", lines[4 + 8].strip())[1:3] == ["T2: [19..16]", "T2: [23..20]"]
    assert json.loads(answer("metadata", TF32, "--json"))["nibbles"][0]["chunk 0 k 0..1"] == "T0: [3..0]"
    assert ET.fromstring(answer("metadata", SP_S4, "--svg")).tag.endswith("svg")


def test_ptx_prints_the_statement_or_a_kernel(answer) -> None:
    assert answer("ptx", S4) == ptxlab.instruction(S4).ptx + "\n"
    kernel = answer("ptx", S4, "--kernel")
    assert "__global__" in kernel
    assert S4 in kernel
    assert "%a_desc" in answer("ptx", WGMMA, "--shared-a")
    assert '"+f"(d[11])' in answer("ptx", WGMMA, "--cpp")
    assert answer("ptx", S4, "--module").startswith(".version 8.0\n.target sm_90a\n")
    module = answer("ptx", S4, "--module", "--target", "sm_80")
    assert module == ptxlab.instruction(S4).ptx_module("sm_80")
    assert module.startswith(".version 7.0\n.target sm_80\n")


def test_run_on_the_emulator_repeats_for_a_seed(answer) -> None:
    first = answer("run", TF32, "--seed", "3", "--selector", "1")
    assert first == answer("run", TF32, "--seed", "3", "--selector", "1")
    assert first != answer("run", TF32, "--seed", "4", "--selector", "1")
    assert len(first.split("emulator:\n")[1].splitlines()) == 16
    assert "48 more rows" in answer("run", WGMMA)


def test_every_kind_of_row_runs_on_the_emulator(answer) -> None:
    kinds = {
        (i.family, i.k, i.a_type, i.d_type, i.kind, i.scale_vec, i.a_layout): i
        for i in mma_instructions()
        if i.lanes == 32 or i.n == 24
    }
    for ins in kinds.values():
        assert "D of the first, from the emulator:" in answer("run", ins.mnemonic)


def test_run_on_both_counts_differing_bits(answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a GPU that flips one bit of every D register."""
    monkeypatch.setattr(compute.gpu, "available", lambda ins=None: True)
    monkeypatch.setattr(compute.gpu, "status", lambda ins=None: "a GPU for the test is ready")
    monkeypatch.setattr(compute.gpu, "device_target", lambda: "sm_80")
    monkeypatch.setattr(compute.gpu, "run", lambda operands: emulate(operands, model="sm_80") ^ 4)
    text = answer("run", S4, "--on", "both", "--batch", "10")
    assert "emulator and GPU differ in 1280 of 40960 bits of D (10 instructions)" in text
    assert "a GPU for the test is ready" in text


def test_run_without_a_gpu(answer, refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute.gpu, "available", lambda ins=None: False)
    monkeypatch.setattr(compute.gpu, "status", lambda ins=None: "no GPU here")
    assert refused("run", S4, "--on", "gpu") == "ptxlab: no GPU here\n"
    assert "the GPU did not take part" in answer("run", S4, "--on", "both")


@pytest.mark.gpu
@pytest.mark.parametrize("name", [S4, SP_S4, TF32, WGMMA])
def test_run_on_both_for_real(answer, name: str) -> None:
    assert "differ in 0 of" in answer("run", name, "--on", "both", "--batch", "100")


@each(
    "words, sentence",
    [
        (("where", S4, "A", "16", "0"), "ptxlab: row 16: the matrix is 16x64, so rows go from 0 to 15"),
        (("where", SP_S4, "A", "0", "64"), "column 64: dense A is 16x64"),
        (("where", S4, "Q", "0", "0"), "has no operand 'Q'"),
        (("where", SP_S4, "metadata", "0", "0"), "it has A, B, C, D, E; did you mean E?"),
        (("where", S4, "A", "9", "37", "--explain"), "--explain is for an element of D"),
        (("where", "movmatrix", "D", "0", "0", "--explain"), "nothing is computed"),
        (("holds", S4, "A", "--lane", "40"), "lane 40 does not exist"),
        (("holds", WGMMA, "B", "--lane", "4"), "lives in shared memory: no lane holds it; `ptxlab where`"),
        (("layout", S4, "A", "--no-title"), "--no-title is for --svg"),
        (("layout", S4, "A", "--dark"), "--dark is for --svg"),
        (("layout", WGMMA, "B", "--cute"), "lives in shared memory"),
        (("cute", WGMMA, "B"), "lives in shared memory"),
        (("layout", SP_S4, "A", "--dense", "--csv"), "--dense is for the table"),
        (("metadata", S4), "is dense"),
        (("metadata", "movmatrix"), "is dense"),
        (("metadata", SP_S4, "--selector", "3"), "selector=3"),
        (("run", SP_S4, "--selector", "3"), "selector=3"),
        (("run", S4, "--batch", "0"), "at least one"),
        (("run", "movmatrix"), "moves a matrix"),
        (("ptx", S4, "--target", "sm_80"), "--target belongs to --module"),
        (("ptx", S4, "--module", "--target", "sm_75"), "sm_75 lacks mma.sync"),
        (("ptx", S4, "--shared-a"), "only wgmma takes A from shared memory"),
        (("ptx", "movmatrix", "--shared-a"), "only wgmma takes A from shared memory"),
        (("sass", S4, "--target", "sm_75"), "sm_75 lacks"),
        (("sass", S4, "--target", "sm_7"), "unknown target 'sm_7'"),
        (("show", S4, "--target", "sm_7"), "unknown target 'sm_7'"),
        (("list", "--family", "hmma"), "unknown family 'hmma'"),
        (("list", "hmma"), "unknown family 'hmma'"),
        (("list", "--target", "sm_1"), "unknown target 'sm_1'"),
        (("list", "--type", "s5"), "unknown element type 's5'; there are b1"),
        (("list", "--type", "int4"), "unknown element type 'int4'; PTX calls it s4"),
        (("list", "--target", "rtx-4090"), "that of the RTX 4090 is sm_89"),
        (("list", "--shape", "m16n8k65"), "no instruction has the shape 'm16n8k65'; did you mean m16n8k64"),
        (("list", "--shape", "large"), "a shape is spelt m16n8k64"),
        (("show", "mma.m16n8k64.f16"), "did you mean mma.m16n8k16.f16 or mma.m16n8k8.f16"),
        (
            ("show", "mma.m16n8k46.s4"),
            "no instruction is called 'mma.m16n8k46.s4'; did you mean mma.m16n8k64.s4?",
        ),
        (("show", "mm.m16n8k64.s4"), "did you mean mma.m16n8k64.s4?"),
        (("show", replaced(S4, "s4.s4", "s4.s9")), "nearest legal"),
        (("show", replaced(S4, "s32.s4.s4.s32", "s4.s4.s32.s32")), "in the order D, A, B, C; found .s4.s4"),
        (("show", "mma.m16n8k64.e2m1"), "could be any of"),
    ],
)
def test_what_does_not_exist_is_refused_in_one_sentence(
    refused, words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refused(*words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("where", S4, "A", "x", "0"), "invalid int value: 'x'"),
        (("holds", S4, "A"), "required: --lane"),
        (
            ("run", S4, "--on", "moon"),
            "invalid choice: --on 'moon'; there are emulator, gpu, both; see ptxlab run --help",
        ),
        (("run", S4, "--on", "emulato"), "did you mean emulator? see ptxlab run --help"),
        (("dance",), "invalid choice: command 'dance'"),
        (("shwo",), "invalid choice: command 'shwo'; did you mean show? see ptxlab --help"),
        (("completion", "tcsh"), "invalid choice: shell 'tcsh'"),
        (("show", S4, "--wide"), "unrecognized arguments: --wide"),
        (
            ("list", "--famly", "wmma"),
            "unrecognized arguments: --famly; did you mean --family? see ptxlab list --help",
        ),
        (("--wide",), "unrecognized arguments: --wide"),
        (("--wide", "where", "mma.m16n8k64.s4", "A[9][37]"), "unrecognized arguments: --wide"),
        (("list", "--sparse", "--dense"), "not allowed with argument"),
    ],
)
def test_wrong_usage_is_refused_in_one_sentence(refused, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused(*words, code=2)


@each(
    "short, full",
    [
        ("mma.m16n8k64.s4", S4),
        ("mma.m16n8k64.s4.u4", replaced(S4, "s4.s4", "s4.u4")),
        ("mma.m16n8k64.u4.s4.satfinite", "mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.s4.s32"),
        ("mma.sp.m16n8k64.s4", SP_S4),
        ("mma.sp.m16n8k16.tf32", TF32),
        (
            "m16n8k64.mxf4",
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        ),
        ("wmma.b1.and", "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
        ("wgmma.sp.m64n24k64.f32.e4m3", WGMMA),
        ("wgmma.sp.m64n24k64.f16.e4m3.e5m2", "wgmma.mma_async.sp.sync.aligned.m64n24k64.f16.e4m3.e5m2"),
        ("mma.m8n8k4.f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
        ("mma.m8n8k4.f64.rz", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.rz"),
        ("mma.m8n8k4.f32.f16", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"),
        ("mma.m8n8k4.col.row.f16.f16.f16.f16", "mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16"),
        ("mma.m16n8k32.f32.e4m3", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
        ("mma.m16n8k32.f8f6f4.f32.e4m3", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32"),
        ("wmma.m16n16k16.f32.f16", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"),
        ("wgmma.m64n8k16.f32.f16", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"),
        ("wmma.load.b.m16n16k16.f16", "wmma.load.b.sync.aligned.col.m16n16k16.f16"),
        ("ldmatrix.m8n8.x4", "ldmatrix.sync.aligned.m8n8.x4.b16"),
        ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16"),
    ],
)
def test_short_names(short: str, full: str) -> None:
    assert parse(short).mnemonic == full


@pytest.mark.slow
def test_short_names_never_change_what_is_said() -> None:
    """A full spelling means itself; no short name gives a sparse form, another type or another shape."""
    for form in register_forms():
        assert parse(form.mnemonic) is form
    unknown = (
        "wgmma.m64n24k16.f32.e4m3",
        "mma.m16n8k64.s8",
        "wmma.b1",
        "mma.m8n8k64.s4",
        "mma.u4.s4.s4",
        "",
        ".",
    )
    for short in unknown:
        with pytest.raises(PtxlabError):
            parse(short)


def test_version_help_and_no_command(answer) -> None:
    assert answer("-V") == f"ptxlab {ptxlab.__version__}\n"
    assert "examples:" in answer("--help")
    assert "examples:" in answer()
    for command in COMMANDS:
        assert function_of(command).__name__.rstrip("_") == command
        assert re.search(rf"^    {command} +\w", answer("--help"), re.MULTILINE)
        assert answer(command, "--help").startswith(f"usage: ptxlab {command}")
        assert re.search(
            rf"^examples:\n(.*\n)*?.*ptxlab {command}\b", answer(command, "--help"), re.MULTILINE
        )


EXAMPLES = [
    line
    for text in (OVERVIEW, *(inspect.getdoc(function_of(command)) for command in COMMANDS))
    for line in re.findall(r"^  (ptxlab .*)", text, re.MULTILINE)
]


@each("line", EXAMPLES)
@pytest.mark.slow
def test_every_example_in_the_help_works(line: str, answer) -> None:  # simulate: test_simulate_a_file
    """What stands before the remark, a pipe or a redirection."""
    assert len(line) <= 82
    words = shlex.split(re.split(r"  +| [|>] ", line, maxsplit=1)[0])[1:]
    if words[0] == "measure" and "--recorded" not in words:
        pytest.skip("measures a GPU")
    if words[0] not in (
        "check",
        "compare",
        "debug",
        "grader",
        "judge",
        "lab",
        "mcp",
        "profile",
        "sass",
        "show",
        "simulate",
    ):  # those of `sass` are in test_sass.py
        assert answer(*words)


@pytest.mark.needs("cuda.core")
def test_simulate_a_file(answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays made on the spot, from files, and into one."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(Path(__file__).parents[1] / "kernels" / "basics.cu", "saxpy.cu")
    arguments = ("--arg", "2.0", "--arg", "range:float32:1000", "--arg", "ones:float32:1000", "--arg", "1000")
    text = answer("simulate", "saxpy.cu", "--grid", "8", "--block", "128", "--name", "saxpy", *arguments)
    assert "argument 3, float32[1000]: 999 elements changed; 1.0, 3.0, 5.0" in text
    np.save("in.npy", np.arange(96, dtype=np.uint32))
    words = ("simulate", "saxpy.cu", "--name", "copy", "--arg", "in.npy", "--arg", "zeros:uint32:4x24")
    facts = json.loads(answer(*words, "--arg", "96", "--save", "out.npz", "--json"))
    assert [array["changed"] for array in facts["arrays"]] == [0, 95]
    with np.load("out.npz") as arrays:
        assert (arrays["arg2"].reshape(-1) == np.arange(96)).all()
    assert facts["bytes"]["global write"] == 384 and facts["bounds"][0]["resource"] == "DRAM"
    source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; } // é\r\n'
    for encoding in ("utf-8-sig", "utf-16", "latin-1"):  # as editors of Windows save it
        Path("twice.cu").write_bytes(source.encode(encoding))
        assert "32 elements changed" in answer("simulate", "twice.cu", "--arg", "ones:f4:32")


def test_debug_at_a_prompt(answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = 'extern "C" __global__ void twice(float* x) {\n  x[threadIdx.x] *= 2;\n}\n'
    Path("twice.cu").write_text(source, encoding="utf-8")
    launch = ("debug", "twice.cu", "--arg", "ones:f4:32")
    commands = [
        "break 2",
        "run",
        "where",
        "run",
        "print arrays['1'][5]",
        "who 1 5",
        "back",
        "quit",
        "nonsense",
    ]
    text = answer(*launch, *(word for command in commands for word in ("--execute", command)))
    assert "breakpoint at line 2" in text and ">    2   x[threadIdx.x] *= 2;" in text
    assert "block (0, 0, 0), warp 0, 32 lanes: next at twice.cu:2" in text
    assert "\n2.0\n" in text and "element 5: st.global.f32 at twice.cu:2, warp 0, lane 5" in text
    assert "nonsense" not in text
    monkeypatch.setattr("sys.stdin", io.StringIO("step line\nback\nwho 1\nwatch 1 99\nwhat\n"))
    text = answer(*launch)
    assert "found '1'; it takes ARGUMENT INDEX" in text and "'what': there is no such command" in text
    assert "index=99: the array is float32[32]" in text


def test_simulate_ends_at_a_limit(answer, refused, tmp_path: Path) -> None:
    file = tmp_path / "endless.ptx"
    head = ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() {"
    file.write_text(f"{head} L: bra L; }}")
    assert "warps have executed 5,000 instructions" in refused("simulate", str(file), "--limit", "5000")
    assert "--limit" in refused("simulate", str(file), "--limit", "many", code=2)
    file.write_text(f"{head} ret; }}")
    assert answer("simulate", str(file), "--limit", "5000")


SCALING = ("--grid", "32", "--block", "256", "--arg", "ones:f4:131072", "--arg", "16384")


@pytest.fixture
def scaling(tmp_path: Path) -> tuple[str, str]:
    """Files of a kernel that touches every 8th word, and of one that touches each."""
    source = """extern "C" __global__ void scale(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += STEP)
    x[i * EVERY] *= 2;
}"""
    before, after = tmp_path / "before.cu", tmp_path / "after.cu"
    before.write_text(f"#define STEP 8192\n#define EVERY 8\n{source}")
    after.write_text(f"#define STEP 8192\n#define EVERY 1\n{source}")
    return str(before), str(after)


@pytest.mark.needs("cuda.core")
def test_profile_a_file(answer, scaling: tuple[str, str]) -> None:
    """Time, units and lines, as a text and as JSON."""
    text = answer("profile", scaling[0], *SCALING)
    assert "scale: " in text.splitlines()[0] and "µs on an H200, predicted" in text
    assert re.search(r"^ +5 .*long scoreboard \d+ %.*x\[i \* EVERY\] \*= 2;$", text, re.MULTILINE)
    facts = json.loads(answer("profile", scaling[1], *SCALING, "--json"))
    assert facts["microseconds"] > 0 and facts["lines"]["5"]["long scoreboard"] > 0


@pytest.mark.needs("cuda.core")
def test_profile_compares_two_files(answer, scaling: tuple[str, str]) -> None:
    text = answer("profile", "--compare", *scaling, *SCALING)
    assert re.search(r"^after.cu: .* times as fast as before.cu$", text.splitlines()[0])
    assert re.search(r"^ +predicted µs +[\d.]+ +[\d.]+ +-\d+%$", text, re.MULTILINE)
    assert "long scoreboard, cycles of warps" in text


@pytest.mark.needs("cuda.core")
def test_what_cannot_be_profiled_is_refused(refused, scaling: tuple[str, str]) -> None:
    assert "too little is known" in refused("profile", scaling[1], "--chip", "A100", *SCALING)
    assert "takes 2 arguments" in refused("profile", scaling[1])


@pytest.fixture
def columns(tmp_path: Path) -> Path:
    """The file of a kernel with bank conflicts and a race."""
    file = tmp_path / "columns.cu"
    file.write_text(
        """extern "C" __global__ void columns(float* out) {
    __shared__ float tile[64 * 32];
    tile[threadIdx.x * 32] = threadIdx.x;
    out[threadIdx.x] = tile[(threadIdx.x ^ 32) * 32];
}"""
    )
    return file


@pytest.mark.needs("cuda.core")
def test_simulate_finds_conflicts_and_hazards(answer, columns: Path) -> None:
    """By line, with the sectors."""
    words = ("simulate", str(columns), "--block", "64", "--arg", "zeros:f32:64")
    text = answer(*words, "--chip", "A100")
    assert re.search(r"^ +4 +\d+ +62 +4 +1  out", text, re.MULTILINE)
    assert (
        "on an A100 at least 700 ns, the time of a launch that does nothing on an H200; of its work" in text
    )
    assert (
        "bank conflicts: 124 wavefronts" in text and "put __syncthreads() between line 3 and line 4" in text
    )
    assert "hazards:" not in answer(*words, "--check", "off")


@pytest.mark.needs("cuda.core")
def test_simulate_fails_where_a_kernel_does(columns: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hazard with --check error, an access out of bounds, and what does not compile."""
    words = ("simulate", str(columns), "--block", "64", "--arg", "zeros:f32:64")
    assert main([*words, "--check", "error"]) == 1 and "line 4: warps 0 and 1" in capsys.readouterr().err
    assert main([*words[:-1], "zeros:f32:8"]) == 1
    assert "columns.cu:4: st.global.f32: thread (8, 0, 0)" in capsys.readouterr().err
    columns.write_text("__global__ void columns() {\n  wrong;\n}")
    assert main([*words]) == 1 and "columns.cu(2): error" in capsys.readouterr().err


# -- every row of the catalogue ------------------------------

ROWS = [ins for ins in register_instructions() if ins.lanes == 32 or ins.n in (8, 24, 256)]


@pytest.mark.slow
@each("ins", one_in(5, ROWS), ids=str)
def test_every_row_is_shown(ins: ptxlab.Instruction, answer) -> None:
    text = answer("show", ins.mnemonic, "--no-sass")
    assert text.startswith(f"{ins.mnemonic}\n  family      {ins.family}\n")
    assert all(len(line) <= 100 or ins.mnemonic in line for line in text.splitlines())
    assert answer("ptx", ins.mnemonic).startswith(f"{ins.mnemonic} ")
    assert ins.mnemonic in answer("ptx", ins.mnemonic, "--cpp")
    assert answer("cute", ins.mnemonic).count("\n") == 1 + len(ins.operands)


def operands_that_differ() -> dict[tuple[object, ...], tuple[ptxlab.Instruction | ptxlab.Transfer, str]]:
    """One instruction for each family, operand, layout and type: `where` and `holds` see nothing else."""
    return {
        (form.family, form.sparse, name, op.shape, op.layout, op.dtype, op.space): (form, name)
        for form in ROWS
        for name, op in form.operands.items()
    }


@pytest.mark.slow
def test_where_and_holds_agree_for_every_operand(answer) -> None:
    """Every place that `where` names for an element, `holds` lists for that lane and register."""
    for form, name in operands_that_differ().values():
        op = form.operands[name]
        row, column = op.shape[0] - 1, op.shape[1] // 2
        words = ["where", form.mnemonic, name, str(row), str(column), "--json"]
        if form.sparse and name == "A":
            words.append("--stored")
        places = json.loads(answer(*words))["places"]
        assert len(places) == (op.layout.copies if op.layout else 1)
        if op.layout is None:
            continue
        for place in places[:2]:
            lane, register = str(place["lane"]), str(place["register"])
            words = ["holds", form.mnemonic, name, "--lane", lane, "--register", register, "--json"]
            elements = [list(element.values()) for element in json.loads(answer(*words))["elements"]]
            read_with = [place["read with"]] if "read with" in place else []
            element = [place["register"], place["bits"], place["element"], row, column, *read_with]
            assert element in elements


@pytest.mark.slow
def test_every_layout_is_drawn(answer) -> None:
    """Each layout once: the table, and every element of it in the CSV."""
    kinds = {
        (name, op.shape, op.layout, op.dtype.bits, op.space): (ins, name, op)
        for ins in reversed(ROWS)
        for name, op in ins.operands.items()
    }
    assert len(kinds) > 100
    for ins, name, op in one_in(3, list(kinds.values())):
        text = answer("layout", ins.mnemonic, name)
        if op.layout is None:
            starts = {int(offset, 16) for offset in re.findall(r"0x([0-9a-f]{4})", text)}
            assert starts == set(range(0, op.shape[0] * op.shape[1] * op.dtype.bits // 8, 16))
        elif name not in ("E", "SFA", "SFB"):
            assert {int(lane) for lane in re.findall(r"T(\d+):", text)} == set(range(op.lanes))
        if op.shape[0] * op.shape[1] <= 2048:
            rows = answer("layout", ins.mnemonic, name, "--csv").count("\n") - 1
            assert rows == (op.lanes * op.layout.elements if op.layout else op.shape[0] * op.shape[1])


@pytest.mark.slow
def test_metadata_of_every_sparse_row(answer) -> None:
    for ins in {(i.shape, i.e.layout, i.ordered): i for i in ROWS if i.sparse}.values():
        for selector in ins.selectors:
            table = answer("metadata", ins.mnemonic, "--selector", str(selector), "--csv")
            assert table.count("\n") == 1 + ins.m


# -- completion ------------------------------


@pytest.mark.slow
def test_completed_names_are_instructions(answer) -> None:
    names = answer("__complete").split()
    assert {ins.mnemonic for ins in ptxlab.catalog()} <= set(names)
    short = [name for name in names if ".sync" not in name and not name.startswith("tcgen05")]
    assert {"mma.m16n8k64.s4", "mma.sp.m16n8k16.f32.tf32", "wmma.m8n8k128.b1.xor"} <= set(short)
    for name in short[::3]:
        assert parse(name).shape in name


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.needs("shtab")
def test_completion_scripts_know_every_command_and_option(shell: str, answer, tmp_path: Path) -> None:
    text = answer("completion", shell)
    for word in ("--explain", "--family", "sm_90a", "metadata", "SFA", "emulator", "__complete"):
        assert word in text or (shell == "fish" and word.removeprefix("--") in text)
    if shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(text)
        subprocess.run([shell, "-n", str(file)], check=True)


def test_completion_says_what_to_install(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert 'pip install "ptxlab[completion]"' in refused("completion", "bash")


@pytest.mark.skipif(os.name != "posix" or shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ptxlab wh", ["where"]),
        ("ptxlab list --fam", ["--family"]),
        ("ptxlab list --target sm_9", ["sm_90", "sm_90a"]),
        ("ptxlab where mma.m16n8k64.s4 S", ["SFA", "SFB"]),
        ("ptxlab show --target sm_80 mma.m16n8k64", ["mma.m16n8k64.s4", "mma.m16n8k64.u4"]),
        # bash breaks words at colons, so what it inserts begins after the last one
        ("ptxlab show mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf", [TF32.split("::")[1]]),
    ],
)
@pytest.mark.needs("shtab")
def test_bash_completes(line: str, words: list[str], answer, tmp_path: Path) -> None:
    assert _completed_in_bash([line], answer, tmp_path) == [words]


@pytest.mark.skipif(os.name != "posix" or shutil.which("bash") is None, reason="no bash")
@pytest.mark.needs("shtab")
def test_bash_asks_for_the_names_of_instructions_once(answer, tmp_path: Path) -> None:
    _completed_in_bash(["ptxlab wh", "ptxlab list --fam"], answer, tmp_path)
    assert not (tmp_path / "calls").exists()
    lines = ["ptxlab show mma.m16n8k64.s", "ptxlab show mma.m16n8k64.u", "ptxlab where mma.m16n8k64.s"]
    words = [["mma.m16n8k64.s4"], ["mma.m16n8k64.u4"], ["mma.m16n8k64.s4"]]
    assert _completed_in_bash(lines, answer, tmp_path) == words
    assert (tmp_path / "calls").read_text() == "__complete\n"


def _completed_in_bash(lines: list[str], answer, folder: Path) -> list[list[str]]:
    """The words that one bash offers for each line; every call of ptxlab is a line in the file `calls`."""
    (folder / "script").write_text(answer("completion", "bash"))
    (folder / "names").write_text(answer("__complete"))
    stub = folder / "bin" / "ptxlab"
    stub.parent.mkdir(exist_ok=True)
    stub.write_text(f'#!/bin/sh\necho "$@" >>"{folder}/calls"\ncat "{folder}/names"\n')
    stub.chmod(0o755)
    commands = [f'. "{folder}/script"']
    for line in lines:
        commands.append(f"COMP_LINE={shlex.quote(line)} COMPREPLY=()")
        commands.append("COMP_POINT=${#COMP_LINE}; _ptxlab; echo ${COMPREPLY[@]}")
    path = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-uc", "\n".join(commands)], env=path, capture_output=True, text=True, check=True
    )
    return [line.split() for line in done.stdout.splitlines()]


# -- terminal or pipe ------------------------------


def test_colour_only_on_a_terminal(answer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in answer("layout", S4, "A")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "300")
    coloured = answer("layout", S4, "A")
    assert "\x1b[48;" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = answer("layout", S4, "A")
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).split() == plain.split()


def test_wide_tables_fold_to_the_terminal() -> None:
    style = Style(colour=False)
    style.width = 40
    table = Table(("m", *"abcdefgh"), tuple((i, *("x" * 9 for _ in range(8))) for i in range(3)))
    text = as_text(table, style)
    assert all(len(line) <= 40 for line in text.splitlines())
    assert text.count("xxxxxxxxx") == 24
    assert [line.split()[0] for line in text.splitlines() if line].count("m") == 3


@pytest.mark.skipif(os.name != "posix", reason="pipes of the shell")
@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error() -> None:
    line = f'"{sys.executable}" -m ptxlab layout {WGMMA} D --json | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["{", "0"]


def test_list_loads_nothing_heavy() -> None:
    """It answers in half a second because of what it does not load."""
    code = "import sys; from ptxlab.cli import main; main(['list']); print(*sys.modules, file=sys.stderr)"
    run = run_python(code)
    packages = {name.split(".")[0] for name in run.stderr.split()}
    assert "numpy" in packages
    interactive = {"plotly", "IPython", "ipywidgets", "anywidget", "traitlets", "nbformat"}
    assert packages & {"numba", "cuda", "scipy", *interactive} == set()


# -- trace ------------------------------


def test_trace_of_made_inputs(answer) -> None:
    """The numbers are those of the emulator for the inputs that the answer names."""
    text = answer("trace", "mma.m16n8k16.f32.f16", "3", "5", "--category", "exponents", "--seed", "2")
    ins = parse("mma.m16n8k16.f32.f16")
    operands = ptxlab.inputs.make(ins, "exponents", 1, seed=2)
    code = ins.d.unpack_codes(emulate(operands))[0, 3, 5]
    assert f"\n  inputs: {'ptxlab.inputs.make(ins, {!r}, 1, seed=2)'.format('exponents')}\n" in text
    assert f"0x{code:08x} (f32)" in text and "float32" in text
    data = json.loads(
        answer("trace", ins.mnemonic, "3", "5", "--category", "exponents", "--seed", "2", "--json")
    )
    assert int(data["code"], 16) == code and data["inputs"].endswith("seed=2)")
    picture = ET.fromstring(answer("trace", ins.mnemonic, "3", "5", "--svg"))
    assert any("seed=0" in (node.text or "") for node in picture.iter())


def test_trace_of_files_and_other_chips(answer, tmp_path: Path) -> None:
    ins = ptxlab.instruction(SP_S4)
    A = ins.prune(np.random.default_rng(1).integers(-8, 8, (16, 64)))
    for letter, matrix in (("a", A), ("b", np.ones((64, 8))), ("c", np.full((16, 8), 5))):
        np.save(tmp_path / f"{letter}.npy", matrix)
    files = [word for letter in "abc" for word in (f"--{letter}", str(tmp_path / f"{letter}.npy"))]
    text = answer("trace", SP_S4, "9", "3", *files, "--model", "sm_80")
    assert text.startswith(
        f"D[9][3] = {A[9].sum() + 5} of {SP_S4}, sm_80\n  inputs: A from a.npy, B from b.npy, C from c.npy\n"
    )


def test_trace_refuses(refused, tmp_path: Path) -> None:
    assert "row=16: D of" in refused("trace", S4, "16", "0")
    assert "unknown category 'moderate'" in refused("trace", S4, "0", "0", "--category", "moderate")
    assert "nothing to trace" in refused("trace", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "0", "0")
    assert "no matrix could be read" in refused("trace", S4, "0", "0", "--a", str(tmp_path / "none.npy"))


def test_where_of_a_sparse_tcgen05_takes_the_dense_a(answer) -> None:
    """As for mma.sp: its nibble, and a place for every nibble; --stored takes stored coordinates."""
    name = "tcgen05.mma.sp.cta_group::1.kind::f16"
    lines = answer("where", name, "A", "3", "29", "--tensor-a").splitlines()
    assert lines[1].startswith("  dense A is 128x32, 128x16 of it is stored")
    rows = [line.split() for line in lines if line.strip().startswith("0b")]
    ins = ptxlab.instruction(name).a_from("tensor")
    for nibble, *cells in rows:
        kept = ins.nibbles[int(nibble, 2)]
        stored = str(14 + kept.index(1)) if 1 in kept else "not"
        assert cells[2] == stored
        if stored != "not":
            place = ins.a.where(3, int(stored))[0]
            assert cells[3:6] == [str(place.cta), str(place.lane), str(place.column)]
    assert answer("where", name, "A", "3", "15", "--tensor-a", "--stored").startswith("stored")


@each(
    "arguments, sentence",
    [
        (("--zeros", "--recorded", "H200"), "what --recorded shows has random operands"),
        (("--all", "--zeros"), "--zeros goes with one INSTRUCTION"),
        (("--all", "--a", "shared"), "--a goes with one INSTRUCTION"),
        (("--all", "--recorded", "H200"), "--recorded goes with one INSTRUCTION"),
        (("--all", "--json"), "--json goes with one INSTRUCTION"),
    ],
)
def test_options_of_measure_that_would_be_ignored(refused, arguments, sentence) -> None:
    name = () if "--all" in arguments else ("mma.m16n8k16.f32.f16",)
    assert sentence in refused("measure", *name, *arguments)


def test_what_tcgen05_lacks_is_said(answer, refused) -> None:
    f16 = "tcgen05.mma.cta_group::1.kind::f16"
    assert "ptxlab measures no tcgen05 yet" in refused("measure", f16)
    if not ptxlab.gpu.available(f16):
        assert "nothing to compare with" in answer("run", f16, "--n", "8", "--on", "both")
