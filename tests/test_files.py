"""User folders, and files that are written whole or not at all."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from ptxlab import PtxlabError
from ptxlab._util.files import cache_folder, data_folder, write_atomically
from ptxlab.course.record import progress_file


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


def test_the_environment_names_other_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path / "kernels"))
    monkeypatch.setenv("PTXLAB_PROGRESS", str(tmp_path / "mine.json"))
    assert cache_folder() == tmp_path / "kernels"
    assert progress_file() == tmp_path / "mine.json"


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
