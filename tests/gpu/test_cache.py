"""The kernel cache: what is loaded from it, its reader wrote; what cannot be kept breaks nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxlab.gpu.compiler import compile_ptx, read_entry, write_entry

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")
root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path / "some" / "cache"))
    return tmp_path / "some" / "cache"


def own(cache: Path) -> Path:
    return cache / f"user-{os.geteuid()}"


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o000])
@posix
def test_what_is_kept_is_this_users_alone(cache: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_entry("a.cubin", b"code")
    finally:
        os.umask(before)
    assert read_entry("a.cubin") == b"code" and read_entry("b.cubin") is None
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE((cache / "a.cubin").stat().st_mode) == 0o600
    assert [path.name for path in cache.iterdir()] == ["a.cubin"]


@posix
def test_in_a_shared_folder_each_user_has_a_folder(cache: Path) -> None:
    cache.mkdir(parents=True)
    for mode in (0o1777, 0o777, 0o775):
        cache.chmod(mode)
        write_entry(f"{mode}.cubin", b"code")
        assert read_entry(f"{mode}.cubin") == b"code"
        assert (own(cache) / f"{mode}.cubin").exists()
    assert list(cache.iterdir()) == [own(cache)]
    assert stat.S_IMODE(own(cache).stat().st_mode) == 0o700


@root
def test_in_a_folder_of_another_user_each_user_has_a_folder(cache: Path) -> None:
    cache.mkdir(parents=True, mode=0o755)
    os.chown(cache, 54321, 54321)
    write_entry("a.cubin", b"code")
    assert read_entry("a.cubin") == b"code" and (own(cache) / "a.cubin").exists()


def _of_another(entry: Path) -> None:
    os.chown(entry, 54321, 54321)


def _link(entry: Path) -> None:
    aside = entry.rename(entry.with_name("aside"))
    entry.symlink_to(aside)


def _pipe(entry: Path) -> None:
    entry.unlink()
    os.mkfifo(entry)


def _other_entry(entry: Path) -> None:
    """An entry of this user, under the name of another one."""
    write_entry("other.cubin", b"other code")
    entry.with_name("other.cubin").rename(entry)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_of_another, marks=root),
        pytest.param(lambda entry: entry.chmod(0o620), id="group may write"),
        pytest.param(lambda entry: entry.chmod(0o602), id="everybody may write"),
        _link,
        _pipe,
        _other_entry,
        lambda entry: entry.write_bytes(b""),
        lambda entry: entry.write_bytes(entry.read_bytes()[:-1]),
        lambda entry: entry.write_bytes(entry.read_bytes()[:-1] + b"?"),
        lambda entry: entry.unlink() or entry.mkdir(),
    ],
)
@posix
def test_entries_that_others_may_have_written_are_not_trusted(
    cache: Path, change: Callable[[Path], object]
) -> None:
    entry = cache / "a.cubin"
    write_entry("a.cubin", b"code")
    change(entry)
    assert read_entry("a.cubin") is None
    write_entry("a.cubin", b"new code")  # an entry is replaced, a pipe or a folder is not
    assert read_entry("a.cubin") == (None if entry.is_dir() or entry.is_fifo() else b"new code")
    assert not [path.name for path in cache.iterdir() if path.suffix == ".part"]


def _folder_of_another(folder: Path) -> None:
    folder.mkdir()
    os.chown(folder, 54321, 54321)


def _folder_for_everybody(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def _link_to_a_folder(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir()
    folder.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(_folder_of_another, marks=root),
        _folder_for_everybody,
        _link_to_a_folder,
        Path.touch,
    ],
)
@posix
def test_a_folder_that_another_made_in_this_users_name_is_not_used(
    cache: Path, make: Callable[[Path], object]
) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o1777)
    make(own(cache))
    write_entry("a.cubin", b"code")
    assert read_entry("a.cubin") is None
    assert not list(cache.rglob("*.cubin"))


def test_a_cache_that_cannot_be_kept_breaks_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for setting in (str(tmp_path / "file" / "below"), str(tmp_path / "file"), "~no-such-user/x", "x" * 5000):
        monkeypatch.setenv("PTXLAB_CACHE", setting)
        write_entry("a.cubin", b"code")
        assert read_entry("a.cubin") is None
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.needs("cuda.bindings")
def test_a_header_that_has_changed_is_read_again(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether an option names its folder or it lies beside the notebook."""
    source = '#include "step.h"\n__global__ void write(int* x) { *x = STEP; }'
    for folder, options in ((tmp_path, [f"-I{tmp_path}"]), (tmp_path / "beside", [])):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        for step in (41_001, 41_002):
            (folder / "step.h").write_text(f"#define STEP {step}\n")
            text, _ = compile_ptx(source, "sm_90a", options)
            assert str(step) in text
