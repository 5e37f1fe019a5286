"""The record of progress: whatever happens to its file, no exercise that was done is lost."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, lessons
from ptxlab._util import files
from ptxlab.course import progress_record as record
from ptxlab.question import Verdict
from tests.processes import run_python
from tests.sampling import some

resource = pytest.importorskip("resource")  # POSIX has it

#: Forty exercises of other lessons, as the file has them.
FORTY = {f"x.{number}": {"state": "right", "tries": 1} for number in range(40)}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a reader who has done forty exercises; no sentence has been said yet."""
    path = tmp_path / "folder" / "progress.json"
    path.parent.mkdir()
    path.write_text(json.dumps(FORTY))
    monkeypatch.setenv("PTXLAB_PROGRESS", str(path))
    monkeypatch.setattr(record, "_printed", set())
    monkeypatch.setattr(record, "_unwritten", {})
    monkeypatch.setattr(record, "_in_memory", {})
    return path


def names(folder: Path) -> set[str]:
    """What is in the folder, but for the lock."""
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


# -- files that cannot be read ----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ESTALE, errno.EACCES, errno.EIO, errno.ELOOP, errno.ETIMEDOUT])
@pytest.mark.parametrize("method", ["read_text", "stat", "open"])
def test_trouble_with_the_disk_keeps_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, method: str
) -> None:
    """The answer is judged, one sentence says why it is not recorded, and the next answer records both."""
    before = file.read_bytes()
    real = getattr(Path, method)

    def fail(self: Path, *arguments: object, **options: object) -> object:
        if self == file:
            raise OSError(number, os.strerror(number), str(self))
        return real(self, *arguments, **options)

    with monkeypatch.context() as trouble:
        trouble.setattr(Path, method, fail)
        assert lessons.check("00.3", 32)
        assert lessons.check("00.3", 32)
        shown = ptxlab.progress()
    assert file.read_bytes() == before
    (sentence,) = said(capsys)
    assert os.strerror(number) in sentence and str(file) in sentence and "left as it is" in sentence
    assert shown.done == 0 and sentence in str(shown) and sentence in shown._repr_html_()
    assert lessons.check("00.4", 0) is not None  # right or wrong, it is recorded
    entries = json.loads(file.read_text())
    assert FORTY.items() <= entries.items() and entries["00.3"] == {"state": "right", "tries": 1}
    assert set(entries) == {*FORTY, "00.3", "00.4"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"3",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        json.dumps(FORTY).encode()[:-3],
        b'{"00.1": 5}',
        b'{"00.1": null}',
        b'{"00.1": {"state": "done", "tries": 1}}',
        b'{"00.1": {"state": ["right"], "tries": 1}}',
        b'{"00.1": {"state": "right", "tries": "1"}}',
        b'{"00.1": {"state": "right", "tries": true}}',
        b'{"00.1": {"state": "right", "tries": -1}}',
        b'{"00.1": {"state": "right"}}',
    ],
    ids=lambda content: repr(content[:45]),
)
def test_a_damaged_file_is_kept(file: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(content)
    assert lessons.check("00.3", 32)
    assert not lessons.check("00.3", 4)
    assert ptxlab.progress().done == 0
    assert file.read_bytes() == content
    (sentence,) = said(capsys)
    assert (
        "left as it is" in sentence
        and "lessons.forget()" in sentence
        and len(sentence) < len(str(file)) + 200
    )
    lessons.forget()
    assert lessons.check("00.3", 32) and ptxlab.progress().done == 1


@pytest.mark.slow
def test_no_damage_loses_an_exercise(file: Path, rng: np.random.Generator) -> None:
    """Bytes changed, cut off or put in at random: the file stays as it is, or keeps every entry it has."""
    whole = file.read_bytes()
    readable = 0
    for _ in range(300):
        at, width = rng.integers(len(whole)), rng.integers(4)
        damaged = whole[:at] + rng.bytes(rng.integers(4)) + whole[at + width :]
        if rng.random() < 0.1:
            damaged = damaged[:at]
        file.write_bytes(damaged)
        assert lessons.check("00.3", 32)
        after = file.read_bytes()
        if after != damaged:
            readable += 1
            assert json.loads(damaged).items() <= json.loads(after).items()
    assert 0 < readable < 300


def test_what_a_later_version_adds_stays(file: Path) -> None:
    entries = '{"77.7": {"state": "right", "tries": 1}, "00.3": {"state": "wrong", "tries": 2, "at": 5}}'
    file.write_text(entries, encoding="utf-8-sig")  # as some editors on Windows save it
    lessons.check("00.3", 32)
    assert json.loads(file.read_text()) == {
        "77.7": {"state": "right", "tries": 1},
        "00.3": {"state": "right", "tries": 3, "at": 5},
    }


def test_a_record_from_before_the_renumbering_has_its_names_now(file: Path) -> None:
    """Swapped lessons, a divided one, one that is gone; once read and written, names stay as they are."""
    old = {
        "02.1": "right",
        "03.1": "wrong",
        "05.4": "right",
        "05.7": "wrong",
        "06.7": "right",
        "13.6": "right",
        "15.1": "right",
        "16.1": "right",
        "18.7": "right",
        "19.5": "right",
        "20.1": "right",
    }
    file.write_text(json.dumps({name: {"state": state, "tries": 2} for name, state in old.items()}))
    now = {
        "03.1": "right",
        "02.1": "wrong",
        "06.1": "right",
        "05.4": "wrong",
        "15.3": "right",
        "15.7": "right",
        "17.1": "right",
        "18.9": "right",
        "19.4": "right",
        "20.1": "right",
    }
    for _ in range(2):
        states = ptxlab.progress().states
        assert {name: state for name, state in states.items() if state != "not yet"} == now
        assert lessons.check("00.3", 32)
        now["00.3"] = "right"
    entries = json.loads(file.read_text())
    assert set(entries) == set(now) and {entry["tries"] for entry in entries.values()} == {1, 2}
    lessons.check("05.4", (5, 6))
    assert json.loads(file.read_text())["05.4"] == {"state": "right", "tries": 3, "numbering": 2}
    assert ptxlab.progress().states["05.4"] == "right"


def test_an_exercise_that_was_right_before_and_after_the_renumbering_stays_right(file: Path) -> None:
    new = {"state": "wrong", "tries": 1, "numbering": 2}
    for entries in (
        {"06.1": new, "05.4": {"state": "right", "tries": 3}},
        {"06.1": new | {"state": "right"}},
    ):
        file.write_text(json.dumps(entries))
        assert ptxlab.progress().states["06.1"] == "right"
        file.write_text(json.dumps(dict(reversed(entries.items()))))
        assert ptxlab.progress().states["06.1"] == "right"


def test_only_regular_files_are_replaced(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.unlink()
    for make, kind in ((os.mkfifo, stat.S_ISFIFO), (os.mkdir, stat.S_ISDIR)):
        make(file)
        assert lessons.check("00.3", 32)
        assert ptxlab.progress().done == 0
        with pytest.raises(PtxlabError, match="could not be written"):
            lessons.forget()
        assert kind(file.lstat().st_mode)
        assert len(said(capsys)) == 1
        file.rmdir() if file.is_dir() else file.unlink()
    assert names(file.parent) == set()


# -- files that cannot be written -------------------------------------------------------------------------


def test_links_are_followed_and_permissions_stay(file: Path, tmp_path: Path) -> None:
    link, relative = tmp_path / "link.json", tmp_path / "relative.json"
    link.symlink_to(file)
    relative.symlink_to("link.json")
    file.chmod(0o640)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PTXLAB_PROGRESS", str(relative))
        lessons.check("00.3", 32)
    assert link.is_symlink() and relative.is_symlink() and not file.is_symlink()
    assert set(json.loads(file.read_text())) == {*FORTY, "00.3"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    dangling = tmp_path / "dangling.json"
    dangling.symlink_to(tmp_path / "not" / "yet.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PTXLAB_PROGRESS", str(dangling))
        lessons.check("00.3", 32)
    assert dangling.is_symlink() and set(json.loads((tmp_path / "not" / "yet.json").read_text())) == {"00.3"}


def test_a_full_disk_leaves_the_file_and_nothing_else(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The system refuses to write more than some bytes, as a full disk does, in the middle of a write."""
    file.write_text(json.dumps({f"x.{number}": {"state": "right", "tries": 1} for number in range(400)}))
    before = file.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        assert lessons.check("00.3", 32)
        with pytest.raises(OSError, match="large"):
            files.write_atomically(file, b"a" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_bytes() == before and names(file.parent) == {"progress.json"}
    (sentence,) = said(capsys)
    assert "could not be written" in sentence and "your next answer tries again" in sentence
    lessons.check("00.3", 4)
    assert json.loads(file.read_text())["00.3"] == {"state": "right", "tries": 1}


def test_an_interrupt_leaves_the_file_and_nothing_else(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    for owner, name in ((os, "fsync"), (Path, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                lessons.check("00.3", 32)
        assert file.read_bytes() == before and names(file.parent) == {"progress.json"}
    lessons.check("00.3", 32)  # nobody holds the lock
    assert ptxlab.progress().done == 1


@pytest.mark.slow
def test_the_end_of_the_kernel_is_the_last_chance(file: Path) -> None:
    code = """
import os
from pathlib import Path
from ptxlab import lessons
file, aside = Path(os.environ["PTXLAB_PROGRESS"]), Path(os.environ["PTXLAB_PROGRESS"]).with_name("aside")
file.rename(aside)
file.mkdir()
lessons.check("00.3", 32)
file.rmdir()
aside.rename(file)
"""
    run = run_python(code)
    assert "it is a folder" in run.stderr and len(run.stderr.splitlines()) == 1
    assert set(json.loads(file.read_text())) == {*FORTY, "00.3"}


def test_nobody_is_there_to_read_the_sentence(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("{")
    monkeypatch.setattr(sys, "stderr", None)
    assert lessons.check("00.3", 32)
    with Path(os.devnull).open("w") as closed:
        monkeypatch.setattr(sys, "stderr", closed)
    assert lessons.check("00.3", 32)


# -- two kernels at once ----------------------------------------------------------------------------------

WRITER = """
import sys
if sys.argv[2] != "locks":
    import errno, fcntl
    def refuse(*arguments):
        raise OSError(errno.ENOSYS, "Function not implemented")
    fcntl.flock = refuse
from ptxlab.course.progress_record import record
from ptxlab.question import Verdict
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    record(Verdict(f"{sys.argv[1]}.{number}", "right", ""))
    record(Verdict("shared", "wrong", ""))
"""


@pytest.mark.slow
@pytest.mark.parametrize("locks", some(["no locks", "locks"]))
def test_two_kernels_at_once_lose_nothing(file: Path, locks: str) -> None:
    """Also on a file system without locks, as Lustre is by default."""
    kernels = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, f"kernel{number}", locks],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for kernel in kernels:
        assert kernel.stdout is not None and kernel.stdout.readline() == "ready\n"
    for kernel in kernels:
        assert kernel.stdin is not None
        kernel.stdin.write("go\n")
        kernel.stdin.flush()
    for kernel in kernels:
        assert kernel.communicate(timeout=60) == ("", "") and kernel.returncode == 0
    entries = json.loads(file.read_text())
    right = {f"kernel{kernel}.{number}" for kernel in range(2) for number in range(20)}
    assert set(entries) == {*FORTY, *right, "shared"}
    assert entries["shared"]["tries"] == 40
    assert names(file.parent) == {"progress.json"}


def test_threads_lose_nothing(file: Path) -> None:
    def work(thread: int) -> None:
        for number in range(5):
            record.record(Verdict(f"thread{thread}.{number}", "right", ""))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(json.loads(file.read_text())) == len(FORTY) + 20


@pytest.mark.slow
def test_a_kernel_that_hangs_with_the_lock_holds_nobody_up(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom ptxlab._util.files import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('locked', flush=True)\n    sys.stdin.readline()\n"
    )
    monkeypatch.setattr(record, "locked", lambda path: files.locked(path, seconds=0.2))
    with subprocess.Popen(
        [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "locked\n"
        assert lessons.check("00.3", 32)
        (sentence,) = said(capsys)
        assert "another process keeps it locked" in sentence
        assert json.loads(file.read_text()) == FORTY
        holder.kill()
    lessons.check("00.3", 32)
    assert set(json.loads(file.read_text())) == {*FORTY, "00.3"}


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_disk_without_locks_is_written_all_the_same(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    """A file says whose turn it is."""
    import fcntl

    def refuse(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    claim = file.with_name("progress.json.claim")
    monkeypatch.setattr(fcntl, "flock", refuse)
    lessons.check("00.3", 32)
    assert set(json.loads(file.read_text())) == {*FORTY, "00.3"} and not claim.exists()
    claim.touch()
    monkeypatch.setattr(record, "locked", lambda path: files.locked(path, seconds=0.2))
    lessons.check("00.4", 0)
    assert "another process keeps it locked" in said(capsys)[0] and claim.exists()


# -- records that are not on disk -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting",
    [
        ("NBGRADER_EXECUTION", "autograde"),
        ("NBGRADER_EXECUTION", "validate"),
        ("PTXLAB_PROGRESS", os.devnull),
    ],
    ids=" ".join,
)
def test_grading_leaves_the_record_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], setting: tuple[str, str]
) -> None:
    """The notebook that is graded shows what it did itself, not what the teacher has done."""
    file.write_text('{"00.1": {"state": "right", "tries": 1}}')
    before = file.read_bytes()
    monkeypatch.setenv(*setting)
    lessons.check("00.3", 32)
    assert {name for name, state in ptxlab.progress().states.items() if state == "right"} == {"00.3"}
    lessons.forget()
    assert ptxlab.progress().done == 0
    assert file.read_bytes() == before and names(file.parent) == {"progress.json"}
    assert said(capsys) == []


#: Environments without a home folder, with what stands where HOME and the like would.
HOMELESS = [{}, {"HOME": "", "XDG_DATA_HOME": "", "XDG_CACHE_HOME": ""}, {"HOME": ""}, {"HOME": "relative"}]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("settings", some(HOMELESS[1:] + HOMELESS[:1]), ids=str)
@pytest.mark.slow
def test_without_a_home_the_lesson_goes_on_and_says_so(tmp_path: Path, settings: dict[str, str]) -> None:
    """A user whom the system does not know, as containers have them, in a folder that this user may write."""
    code = """
import os, platformdirs
from ptxlab import lessons, progress, PtxlabError
from ptxlab._util.files import cache_folder
from ptxlab.gpu.disk_cache import read_entry, write_entry
os.setgid(54321)
os.setuid(54321)
print(bool(lessons.check('00.3', 32)), bool(lessons.check('00.3', 32)), progress().done)
write_entry('x', b'x')
print(read_entry('x'))
try:
    cache_folder()
except PtxlabError as error:
    print(error)
"""
    tmp_path.chmod(0o777)
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    run = run_python(code, cwd=tmp_path, env=kept | settings)
    first, second, third = run.stdout.splitlines()
    assert (first, second) == ("True True 0", "None")
    assert third.startswith("there is no home folder for the cache; set HOME") and "PTXLAB_CACHE" in third
    (sentence,) = run.stderr.splitlines()
    assert sentence.startswith("there is no home folder for your progress; set HOME to an absolute path")
    assert "PTXLAB_PROGRESS" in sentence
    assert list(tmp_path.iterdir()) == [], "nothing may be made in the current folder"


def test_a_user_whom_the_system_does_not_know(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import pwd

    def unknown(number: int) -> object:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for variable in ("HOME", "PTXLAB_PROGRESS", "PTXLAB_CACHE", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    for folder in (record.progress_file, files.cache_folder):
        with pytest.raises(PtxlabError, match="there is no home folder for"):
            folder()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert record.progress_file() == tmp_path / "data" / "ptxlab" / "progress.json"
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    assert files.cache_folder() == tmp_path


@pytest.mark.parametrize(
    ("variable", "folder"), [("PTXLAB_PROGRESS", record.progress_file), ("PTXLAB_CACHE", files.cache_folder)]
)
def test_a_tilde_is_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: Callable[[], Path]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, "~/mine")
    assert folder() == tmp_path / "mine"
    monkeypatch.setenv(variable, "~no-such-user/mine")
    with pytest.raises(PtxlabError, match=f"{variable}: found '~no-such-user/mine'; there is no such user"):
        folder()
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv(variable, "~/mine")
    with pytest.raises(PtxlabError, match=f"{variable}: found '~/mine', but there is no home folder"):
        folder()
    for empty in ("", "  "):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv(variable, empty)
        assert folder().is_relative_to(tmp_path)


@pytest.mark.parametrize("value", ["relative", "~/below", "", " "])
def test_xdg_folders_that_are_not_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """The standard says to ignore them. Versions of platformdirs differ; none may write into this folder."""
    for variable in ("PTXLAB_PROGRESS", "PTXLAB_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("XDG_DATA_HOME", value)
    for folder in (record.progress_file, files.cache_folder):
        try:
            answer = str(folder())
        except PtxlabError as error:
            answer = str(error)
        assert answer.startswith(str(tmp_path)) or f"found {value!r}; name an absolute path" in answer
