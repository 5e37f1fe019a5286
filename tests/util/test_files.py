"""User folders, and files that are written whole or not at all."""

from __future__ import annotations

import ast
import errno
import os
import stat
import sys
import threading
import time
from pathlib import Path

import pytest

import ptxlab
from ptxlab import PtxlabError, figures
from ptxlab._util.files import cache_folder, data_folder, locked, write_atomically
from ptxlab.course.progress_record import progress_file

ROOT = Path(__file__).resolve().parents[2]


def test_the_folders_are_those_of_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    platformdirs = pytest.importorskip("platformdirs")
    monkeypatch.delenv("PTXLAB_CACHE", raising=False)
    monkeypatch.delenv("PTXLAB_PROGRESS", raising=False)
    assert cache_folder() == Path(platformdirs.user_cache_dir("ptxlab", appauthor=False))
    assert progress_file() == Path(platformdirs.user_data_dir("ptxlab", appauthor=False)) / "progress.json"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert cache_folder() == tmp_path / "cache" / "ptxlab"
        assert data_folder() == tmp_path / "data" / "ptxlab"


def test_without_platformdirs_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    monkeypatch.delenv("PTXLAB_CACHE", raising=False)
    with pytest.raises(
        PtxlabError, match="pip install platformdirs, or name the cache folder in PTXLAB_CACHE"
    ):
        cache_folder()
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


@pytest.mark.parametrize("content", ["é\n", b"\x00\xff"])
def test_writes_text_and_bytes_and_makes_the_folder(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "new" / "folder" / "file"
    for _ in range(2):
        write_atomically(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old")

    def fail(self: Path, target: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="file"):
        write_atomically(path / "below", "new")


def test_readers_never_see_a_part(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = {letter * 100_000 for letter in "abcd"}
    write_atomically(path, "a" * 100_000)

    def write(content: str) -> None:
        for _ in range(20):
            write_atomically(path, content)

    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_text() in contents
    assert list(tmp_path.iterdir()) == [path]


posix = pytest.mark.skipif(os.name != "posix", reason="pipes, links and modes of POSIX")


@posix
def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    pipe, folder, loop = tmp_path / "pipe", tmp_path / "folder", tmp_path / "loop"
    os.mkfifo(pipe)
    folder.mkdir()
    loop.symlink_to(loop)
    for path in (pipe, folder, loop, Path(os.devnull)):
        before = path.lstat()
        for private in (False, True):
            if private and path == loop:
                continue  # a cache replaces links
            with pytest.raises(OSError, match="not a regular file|a folder|symbolic links"):
                write_atomically(path, "new", private=private)
        after = path.lstat()
        assert os.path.samestat(after, before) and after.st_mode == before.st_mode
        # following a link reads it; others write to /dev/null meanwhile
        assert after.st_mtime_ns == before.st_mtime_ns or path == Path(os.devnull)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "loop", "pipe"]


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_permissions_stay(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, 54321, 54322)
    before = path.stat()
    write_atomically(path, "new")
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert path.read_text() == "new"


@posix
def test_a_write_protected_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write everywhere
    with pytest.raises(PermissionError):
        write_atomically(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@posix
def test_new_files_have_the_users_permissions_and_long_names(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / ("a" * 255), "new")
    finally:
        os.umask(before)
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
def test_figures_and_pages_are_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the move fails, the old file is there and nothing else, and a sentence says why."""
    pytest.importorskip("anywidget")
    pytest.importorskip("plotly")
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    figure, explorer = figures.fragment(ins, "C"), ptxlab.explore(ins)

    def fail(self: Path, target: Path) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(Path, "replace", fail)
    for name, save in (
        ("a.svg", lambda path: figures.save(figure, path)),
        ("a.html", lambda path: figures.save(figure, path)),
        ("b.html", explorer.save_html),
    ):
        path = tmp_path / name
        path.write_text("old")
        with pytest.raises(PtxlabError, match="could not be written \\(Disk quota exceeded\\)"):
            save(path)
        assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3


#: Calls that write a file where it stands, so that a full disk or a reader finds a part of it.
IN_PLACE = {"write_text", "write_bytes", "write_html", "write_image", "save", "savez", "savez_compressed"}


def test_every_file_is_written_through_the_one_helper() -> None:
    """Library, tools and benchmarks; only in memory and in temporary folders are files written in place."""
    calls = set()
    folders = [Path(ptxlab.__file__).parent, ROOT / "tools", ROOT / "benchmarks"]
    for path, root in ((path, folder.parent) for folder in folders for path in folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f".{name}(" in text for name in IN_PLACE):
            continue
        for node in ast.walk(ast.parse(text)):
            name = (
                node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
            )
            if name in IN_PLACE:
                calls.add(f"{path.relative_to(root).as_posix()}: {name}")
    assert calls == {
        "benchmarks/hub.py: write_text",
        "tools/explorer_picture.py: write_text",  # into a temporary folder
        "tools/debugger_picture.py: write_text",  # into a temporary folder
        "ptxlab/gpu/sass.py: write_bytes",
        "ptxlab/cli/mcp_tools.py: write_text",  # into a temporary folder, as the judge's
        "ptxlab/judging/judgement.py: write_bytes",
        "ptxlab/judging/python_candidate.py: write_text",
        "ptxlab/judging/readers.py: write_text",
        "ptxlab/judging/sandbox.py: write_text",
        "ptxlab/gpu/clang.py: write_text",  # into a folder for one compilation
        "ptxlab/figures.py: write_image",
        "tools/jupyter.py: write_text",
        "tools/record/golden.py: savez_compressed",
        "ptxlab/cli/simulate_commands.py: savez_compressed",  # into memory, and then through the helper
        "tools/record/kernels.py: savez_compressed",
        "tools/record/memory.py: savez_compressed",
        *("tools/site/build.py: write_text", "tools/site/kernel.py: write_text"),
        "tools/probe_units.py: write_text",
        *("tools/pyodide.py: write_text", "tools/pyodide.py: write_bytes"),  # folders that are built anew
        "tools/web.py: write_bytes",
        *("tools/clang.py: write_text", "tools/clang.py: write_bytes"),
        *("tools/lite.py: write_text", "tools/lite.py: write_bytes"),
        *("tools/roads.py: write_text", "tools/roads.py: write_bytes"),
        "tools/sheets.py: write_text",
        "tools/record/triton_kernels.py: write_text",
    }


def test_locks_are_no_links_and_are_not_waited_for_again(tmp_path: Path) -> None:
    filelock = pytest.importorskip("filelock")
    file, victim = tmp_path / "progress.json", tmp_path / "victim"
    victim.write_text("mine")
    lock = tmp_path / "progress.json.lock"
    lock.symlink_to(victim)
    with pytest.raises(OSError, match="it is a link"), locked(file):
        pass
    assert victim.read_text() == "mine"
    lock.unlink()
    with locked(file):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    other = filelock.FileLock(lock, is_singleton=False)
    with other:
        waits = []
        for _ in range(2):
            start = time.monotonic()
            with pytest.raises(TimeoutError), locked(file, 1):
                pass
            waits.append(time.monotonic() - start)
        assert waits[0] >= 1 > waits[1]
    with locked(file, 1):
        pass
