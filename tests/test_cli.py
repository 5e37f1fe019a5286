"""The command line: what it answers, how it refuses, and that it is quick."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.cli import act, app, main
from ptxlab.cli.names import find
from ptxlab.cli.render import Style, as_text
from ptxlab.describe import Table

S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SP_S4 = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
TF32 = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"
WGMMA = "wgmma.mma_async.sp.sync.aligned.m64n24k64.f32.e4m3.e4m3"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]):
    """Runs a command that must succeed and gives what it printed."""

    def run(*words: str) -> str:
        code = main(words)
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]):
    """Runs a command that must be refused and gives the one sentence."""

    def run(*words: str) -> str:
        code = main(words)
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        return err

    return run


def test_list(said) -> None:
    lines = said("list").splitlines()
    assert [line.strip() for line in lines if line.startswith("  ")] == [ins.mnemonic for ins in ptxlab.catalog()]
    assert lines[-1] == f"{len(ptxlab.catalog())} instructions"
    assert f"wmma ({len(ptxlab.catalog('wmma'))})" in lines
    assert json.loads(said("list", "--type", "tf32", "--json")) == [ins.mnemonic for ins in ptxlab.catalog() if ins.a_type == "tf32"]
    assert said("list", "--family", "wgmma.sp", "--target", "sm_90") == "no instruction fits\n"


def test_show(said) -> None:
    text = said("show", SP_S4)
    for part in (SP_S4, "A 16x32 s4, 2 registers in each of 32 lanes", "4:8 pair-wise", "0b0100", "measured", "missing on  sm_75"):
        assert part in text
    facts = json.loads(said("show", WGMMA, "--json"))
    assert facts["instruction"] == WGMMA
    assert facts["targets"] == ["sm_90a"]
    assert facts["modifiers"]["imm_scale_a"] == [1, -1]


def test_where_dense(said) -> None:
    """A[9][37]: row 9 is group 1, column 37 = 32 + 0 * 8 + 5, so lane 4 and i = 16 + 8 + 5."""
    assert said("where", S4, "A", "9", "37").splitlines()[-1].split() == ["4", "a29", "3", "[23..20]"]
    (place,) = json.loads(said("where", S4, "a", "9", "37", "--json"))["places"]
    assert place == {"lane": 4, "element": "a29", "register": 3, "bits": "[23..20]"}


def test_where_sparse(said) -> None:
    """Row 9 is group 1; columns 32..47 are lane 6's, columns 32..39 its a8..a11, and column 37 in pair 2 of 4."""
    text = said("where", SP_S4, "A", "9", "37")
    assert "chunk 4 (columns 32..39), group 2 (columns 36..37)" in text
    places = {r["nibble"]: r for r in json.loads(said("where", SP_S4, "A", "9", "37", "--json"))["places"]}
    assert {nibble for nibble, place in places.items() if place["lane"] == 6} == {"0b1000", "0b1001", "0b1110"}
    assert places["0b1001"]["element"] == "a11"
    assert (places["0b1110"]["element"], places["0b1110"]["bits"]) == ("a9", "[7..4]")
    assert said("where", SP_S4, "A", "9", "18", "--stored").splitlines()[-1].split() == ["6", "a10", "1", "[11..8]"]


def test_where_says_which_selector_reads_a_copy(said) -> None:
    rows = json.loads(said("where", TF32, "E", "0", "0", "--json"))["places"]
    assert [(r["lane"], r["read with"]) for r in rows] == [(0, "selector 0"), (2, "selector 1")]


def test_holds(said) -> None:
    lines = said("holds", S4, "B", "--lane", "5", "--register", "1").splitlines()
    assert [line.split()[-2:] for line in lines[3:]] == [[str(40 + i), "1"] for i in range(8)]
    assert len(json.loads(said("holds", S4, "A", "--lane", "5", "--json"))["elements"]) == 32


def test_layout_in_every_form(said) -> None:
    table = said("layout", S4, "A").splitlines()
    assert table[3].split() == ["m\\k", *(f"{i}..{i + 7}" for i in range(0, 64, 8))]
    assert table[4 + 9].split()[1:6] == ["T4:{a8..a15}", "T5:{a8..a15}", "T6:{a8..a15}", "T7:{a8..a15}", "T4:{a24..a31}"]
    rows = list(csv.DictReader(io.StringIO(said("layout", S4, "C", "--csv"))))
    for row in rows:
        lane, i = int(row["lane"]), int(row["element"])
        assert (int(row["row"]), int(row["column"])) == (lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2)
    assert len(rows) == 128
    assert len(json.loads(said("layout", S4, "C", "--json"))["elements"]) == 128
    assert said("layout", S4, "C", "--markdown").splitlines()[2] == "| 0 | T0:{c0,c1} | T1:{c0,c1} | T2:{c0,c1} | T3:{c0,c1} |"
    assert said("layout", S4, "C", "--cute") == "((4,8),(2,2)):((32,1),(16,8))  // (T32,V4) -> (16,8)\n"
    assert said("layout", S4, "C", "--formula").splitlines()[-2:] == ["row = groupID + ((i >> 1) * 8)", "col = (threadID_in_group * 2) + (i & 0x1)"]
    assert "T0:{a4..a7}" in said("layout", SP_S4, "A", "--dense")
    assert ET.fromstring(said("layout", S4, "A", "--svg", "--lane", "5")).tag.endswith("svg")
    assert "0x0490" in said("layout", WGMMA, "B")


def test_metadata(said) -> None:
    lines = said("metadata", TF32, "--selector", "1").splitlines()
    assert re.split(r"\s{2,}", lines[4 + 8].strip())[1:3] == ["T2: [19..16]", "T2: [23..20]"]
    assert json.loads(said("metadata", TF32, "--json"))["nibbles"][0]["chunk 0 k 0..1"] == "T0: [3..0]"
    assert ET.fromstring(said("metadata", SP_S4, "--svg")).tag.endswith("svg")


def test_ptx(said) -> None:
    assert said("ptx", S4) == ptxlab.instruction(S4).ptx + "\n"
    kernel = said("ptx", S4, "--kernel")
    assert "__global__" in kernel
    assert S4 in kernel
    assert "%a_desc" in said("ptx", WGMMA, "--shared-a")


def test_run_on_the_emulator_repeats_for_a_seed(said) -> None:
    first = said("run", TF32, "--seed", "3", "--selector", "1")
    assert first == said("run", TF32, "--seed", "3", "--selector", "1")
    assert first != said("run", TF32, "--seed", "4", "--selector", "1")
    assert len(first.split("emulator:\n")[1].splitlines()) == 16
    assert "48 more rows" in said("run", WGMMA)


def test_run_on_both_counts_differing_bits(said, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a GPU that flips one bit of every D register."""
    monkeypatch.setattr(act.gpu, "available", lambda ins=None: True)
    monkeypatch.setattr(act.gpu, "status", lambda ins=None: "a GPU for the test is ready")
    monkeypatch.setattr(ptxlab.Instruction, "run", lambda self, *args, **options: self.emulate(*args, **options) ^ 4)
    text = said("run", S4, "--on", "both", "--batch", "10")
    assert "emulator and GPU differ in 1280 of 40960 bits of D (10 instructions)" in text
    assert "a GPU for the test is ready" in text


def test_run_without_a_gpu(said, refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(act.gpu, "available", lambda ins=None: False)
    monkeypatch.setattr(act.gpu, "status", lambda ins=None: "no GPU here")
    assert refused("run", S4, "--on", "gpu") == "ptxlab: no GPU here\n"
    assert "the GPU did not take part" in said("run", S4, "--on", "both")


@pytest.mark.gpu
@pytest.mark.parametrize("name", [S4, SP_S4, TF32, WGMMA])
def test_run_on_both_for_real(said, name: str) -> None:
    assert "differ in 0 of" in said("run", name, "--on", "both", "--batch", "100")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("where", S4, "A", "16", "0"), "ptxlab: row 16: the matrix is 16x64, so rows go from 0 to 15"),
        (("where", SP_S4, "A", "0", "64"), "column 64: dense A is 16x64"),
        (("where", S4, "Q", "0", "0"), "has no operand 'Q'"),
        (("where", S4, "A", "x", "0"), "invalid int value: 'x'"),
        (("holds", S4, "A", "--lane", "40"), "lane 40 does not exist"),
        (("holds", S4, "A"), "required: --lane"),
        (("layout", WGMMA, "B", "--cute"), "lives in shared memory"),
        (("layout", WGMMA, "B", "--csv"), "lives in shared memory"),
        (("layout", SP_S4, "A", "--dense", "--csv"), "--dense is for the table"),
        (("metadata", S4), "is dense"),
        (("metadata", SP_S4, "--selector", "3"), "selector=3"),
        (("run", SP_S4, "--selector", "3"), "selector=3"),
        (("run", S4, "--batch", "0"), "at least one"),
        (("run", S4, "--on", "moon"), "invalid choice: 'moon'"),
        (("ptx", S4, "--shared-a"), "only wgmma takes A from shared memory"),
        (("list", "--family", "hmma"), "unknown family 'hmma'"),
        (("list", "--target", "sm_1"), "unknown target 'sm_1'"),
        (("list", "--type", "s5"), "unknown element type 's5'"),
        (("show", "mma.m16n8k64.f16"), "nearest legal"),
        (("show", "mma.m16n8k64.e2m1"), "could be any of 3 instructions"),
        (("dance",), "invalid choice: 'dance'"),
        (("show", S4, "--wide"), "unrecognized arguments: --wide"),
        (("--wide",), "unrecognized arguments: --wide"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(refused, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused(*words)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("mma.m16n8k64.s4", S4),
        ("mma.m16n8k64.s4.u4", S4.replace("s4.s4", "s4.u4")),
        ("mma.m16n8k64.u4.s4.satfinite", "mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.s4.s32"),
        ("mma.sp.m16n8k64.s4", SP_S4),
        ("mma.sp.m16n8k16.tf32", TF32),
        ("m16n8k64.mxf4", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"),
        ("wmma.b1.and", "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
        ("wgmma.sp.m64n24k64.f32.e4m3", WGMMA),
        ("wgmma.sp.m64n24k64.f16.e4m3.e5m2", "wgmma.mma_async.sp.sync.aligned.m64n24k64.f16.e4m3.e5m2"),
    ],
)
def test_short_names(short: str, full: str) -> None:
    assert find(short).mnemonic == full


def test_short_names_never_change_what_is_said() -> None:
    """Every full spelling means itself; no short name reaches a sparse form, another type or another shape than it names."""
    for ins in ptxlab.catalog():
        assert find(ins.mnemonic) is ins
    for short in ("wgmma.m64n24k64.f32.e4m3", "mma.m16n8k64.s8", "wmma.b1", "mma.m8n8k64.s4", "mma.u4.s4.s4", "", "."):
        with pytest.raises(PtxlabError):
            find(short)


def test_version_help_and_no_command(said) -> None:
    assert said("-V") == f"ptxlab {ptxlab.__version__}\n"
    assert "examples:" in said("--help")
    assert "examples:" in said()
    for command in ("list", "show", "where", "holds", "layout", "metadata", "ptx", "run", "lab"):
        assert command in said("--help")
        assert said(command, "--help").startswith(f"usage: ptxlab {command}")


def test_every_example_in_the_help_works(said) -> None:
    examples = re.findall(r"^  ptxlab (.+?)(?: > \S+)? {2,}|^  ptxlab (.+?) > ", app._EXAMPLES, re.MULTILINE)
    assert len(examples) == 7
    for words in examples:
        said(*(words[0] or words[1]).split())


# -- terminal or pipe -----------------------------------------------------------------------------------------------------


def test_colour_only_on_a_terminal(said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in said("layout", S4, "A")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "300")
    coloured = said("layout", S4, "A")
    assert "\x1b[48;" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = said("layout", S4, "A")
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


def command(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ptxlab", *words], capture_output=True, text=True, check=False, **options)


def test_as_a_process() -> None:
    done = command("where", "mma.m16n8k64.s4", "A", "9", "37")
    assert (done.returncode, done.stderr) == (0, "")
    assert "[23..20]" in done.stdout
    bad = command("where", "mma.m16n8k64.s4", "A", "99", "37")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("ptxlab: row 99")


@pytest.mark.skipif(os.name != "posix", reason="pipes of the shell")
def test_a_reader_that_stops_early_is_no_error() -> None:
    line = f'"{sys.executable}" -m ptxlab layout {WGMMA} D --json | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["{", "0"]


def seconds(*words: str) -> float:
    """Processor time of a Python process."""
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_list_is_quick() -> None:
    """Half a second on a plain machine; here measured against what importing NumPy alone takes."""
    assert min(seconds("-m", "ptxlab", "list") for _ in range(3)) < 0.25 + 1.5 * min(seconds("-c", "import numpy") for _ in range(3))


# -- the notebooks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("user", "passed"), [(1000, ["--no-browser"]), (0, ["--no-browser", "--allow-root"])])
def test_lab_starts_jupyterlab_on_the_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, passed: list[str]) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00.ipynb").write_text("{}")
    calls: list[list[str]] = []
    monkeypatch.setattr(act, "__file__", str(tmp_path / "ptxlab" / "cli" / "act.py"))
    monkeypatch.setattr(act.subprocess, "call", lambda words: calls.append(words) or 0)
    monkeypatch.setattr(act.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(act.os, "geteuid", lambda: user)
    assert main(["lab", "--no-browser"]) == 0
    assert calls == [[sys.executable, "-m", "jupyterlab", str(tmp_path / "notebooks"), *passed]]


def test_lab_says_what_is_missing(refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(act, "__file__", str(tmp_path / "ptxlab" / "cli" / "act.py"))
    monkeypatch.chdir(tmp_path)
    assert "no notebooks found" in refused("lab")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00.ipynb").write_text("{}")
    monkeypatch.setattr(act.importlib.util, "find_spec", lambda name: None)
    assert 'pip install "ptxlab[lab]"' in refused("lab")
