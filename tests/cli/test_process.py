"""`ptxlab` as a process: pipes, full disks, closed streams, encodings, Ctrl+C, files that hold no matrix."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from ptxlab.cli import main
from tests.sampling import some
from tests.texts import replaced

ROOT = Path(__file__).resolve().parents[2]
S4 = "mma.m16n8k64.s4"
SVG = ("metadata", "mma.sp.m16n8k64.s4", "--svg")  # has arrows, which few encodings have

pytestmark = pytest.mark.slow  # a process takes half a second and more
posix = pytest.mark.skipif(os.name != "posix", reason="redirections of the shell and signals")


def environment(**settings: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, **settings}


def shell(line: str, **settings: str) -> tuple[int, bytes, str]:
    """Exit status, output and error output of a line in which `ptxlab` is the command."""
    line = line.replace("ptxlab", f'"{sys.executable}" -m ptxlab', 1)
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, check=False, timeout=60, env=environment(**settings)
    )
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "backslashreplace")


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", some(["list", f"run {S4}", "--help", " ".join(SVG)], 2))
def test_a_full_disk_is_no_success(words: str) -> None:
    assert shell(f"ptxlab {words} > /dev/full") == (
        1,
        b"",
        "ptxlab: standard output: No space left on device\n",
    )


@posix
@pytest.mark.parametrize(
    ("redirection", "status", "message"),
    some(
        [
            ("list >&-", 1, "ptxlab: standard output: it is closed\n"),
            ("nonsense 2>&-", 2, ""),
            ("list >&- 2>&-", 1, ""),
            (f"where {S4} A 99 0 2>/dev/full", 1, ""),
        ],
        2,
    ),
)
def test_closed_streams(redirection: str, status: int, message: str) -> None:
    assert shell(f"ptxlab {redirection}") == (status, b"", message)


@posix
def test_a_reader_that_left_before_anything_was_written() -> None:
    status, out, err = shell('ptxlab list | true; exit "${PIPESTATUS[0]}"')
    assert (status, out, err) == (0, b"", "")


@posix
@pytest.mark.parametrize("encoding", some(["cp1252", "ascii:strict"]))
def test_svg_is_utf_8_in_every_encoding(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    assert shell(f'ptxlab {" ".join(SVG)} > "{file}"', PYTHONIOENCODING=encoding) == (0, b"", "")
    assert "→" in "".join(ET.parse(file).getroot().itertext())


@posix
def test_arguments_of_any_bytes_are_repeated_in_ascii() -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii:strict"}
    status, out, err = shell(f"ptxlab where {S4} $'\\xff\\xc3\\xa9' 0 0", **plain)
    assert (status, out) == (1, b"") and err.isascii() and err.count("\n") == 1
    assert "udcff" in err


# -- Ctrl+C -----------------------------------------------------------------------------------------------


INTERRUPT = """
import atexit, os, signal, sys

def interrupt(event, arguments):
    if event == "import" and arguments[0] == os.environ["PTXLAB_TEST_INTERRUPT"]:
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(interrupt)
if os.environ["PTXLAB_TEST_INTERRUPT"] == "at exit":
    atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
"""


@posix
@pytest.mark.parametrize("moment", some(["numpy", "at exit", "ptxlab.cli", "ptxlab.cli.memory_commands"], 2))
def test_an_interrupt_while_it_starts_or_ends(moment: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT, encoding="utf-8")
    settings = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "PTXLAB_TEST_INTERRUPT": moment}
    done = subprocess.run(
        [sys.executable, "-m", "ptxlab", "where", S4, "A", "9", "37"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **settings},
    )
    running = moment == "ptxlab.cli.memory_commands"  # which the command imports when it runs
    assert (done.returncode, done.stderr) == (130, "ptxlab: interrupted\n" if running else "")
    assert done.stdout.startswith("A[9][37]") == (moment == "at exit")


#: `python -m ptxlab`, interrupted as the emulator begins for the third time.
INTERRUPT_AT_WORK = """
import os, runpy, signal, sys
import ptxlab.cli
calls = 0

def interrupt(frame, event, argument):
    global calls
    if event == "call" and frame.f_code.co_name == "emulate":
        calls += 1
        if calls == 3:
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)

sys.setprofile(interrupt)
runpy.run_module("ptxlab", run_name="__main__")
"""


@posix
def test_an_interrupt_while_it_works() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT_AT_WORK, "run", S4, "--batch", "9000000"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment(),
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ptxlab: interrupted\n")


def test_an_interrupt_in_the_same_process(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is done to the signals of a program that calls `main`."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("ptxlab.cli.Style", stop)
    assert main(["list"]) == 130
    assert capsys.readouterr() == ("", "ptxlab: interrupted\n")
    assert signal.getsignal(signal.SIGINT) is handler


# -- defects and memory -----------------------------------------------------------------------------------


def test_a_defect_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise TypeError("unexpected\n" + 5000 * "x")

    monkeypatch.setattr("ptxlab.cli.Style", fail)
    monkeypatch.delenv("PTXLAB_TRACEBACK", raising=False)
    assert main(["list"]) == 70
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("ptxlab: this is a bug in ptxlab (TypeError: unexpected\\nxxx")
    assert err.count("\n") == 1 and len(err) < 300
    monkeypatch.setenv("PTXLAB_TRACEBACK", "1")
    with pytest.raises(TypeError):
        main(["list"])


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (MemoryError(), "ptxlab: there is not enough memory for this\n"),
        (PermissionError(13, "Permission denied", "/etc/x"), "ptxlab: '/etc/x': Permission denied\n"),
    ],
)
def test_what_the_machine_refuses(
    problem: Exception, sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr("ptxlab.cli.Style", fail)
    assert main(["list"]) == 1
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize("count", ["0", "-1", "999999999999", str(10**30)])
def test_a_batch_that_no_memory_holds(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", S4, "--batch", count]) == 1
    assert capsys.readouterr() == ("", f"ptxlab: --batch {count}: run at least one and at most 10,000,000\n")


def test_a_large_batch_goes_in_parts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first D is that of the first part, whatever follows."""
    main(["run", S4, "--batch", "10"])
    whole = capsys.readouterr().out
    monkeypatch.setattr("ptxlab.differences.case.batch_size", lambda form: 10)
    main(["run", S4, "--batch", "35"])
    assert capsys.readouterr().out == replaced(whole, "10 instructions", "35 instructions")


# -- files of matrices ------------------------------------------------------------------------------------


def test_files_that_hold_no_matrix_of_the_right_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from .test_cli_fuzz import damaged_files

    good = {"whole", "big endian", "booleans", "fortran", "long doubles"}
    for path in damaged_files(tmp_path):
        status = main(["trace", S4, "0", "0", "--a", path])
        out, err = capsys.readouterr()
        if Path(path).stem in good:
            assert (status, err) == (0, "") and out.startswith("D[0][0]")
        else:
            assert (status, out) == (1, ""), path
            assert err.startswith("ptxlab: ") and err.count("\n") == 1 and len(err) < 500, (path, err)


def test_a_matrix_of_another_shape_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """5 GB of zeros on disk, which no file system minds."""
    path = tmp_path / "large.npy"
    np.save(path, np.zeros((16, 64)))
    path.write_bytes(replaced(path.read_bytes(), b"(16, 64), }    ", b"(9999999, 64)} "))
    with path.open("r+b") as file:
        file.truncate(128 + 9999999 * 64 * 8)
    assert main(["trace", S4, "0", "0", "--a", str(path)]) == 1
    assert "of shape (9999999, 64); A is a matrix of numbers, 16x64" in capsys.readouterr().err


def test_lab_in_places_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("x" * 300), "a\0b", "/proc/x"):
        assert main(["lab", "--copy-only", "--to", str(place)]) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and len(err) < 300
