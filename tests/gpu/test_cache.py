"""The kernel cache: what is loaded from it, its reader wrote; what cannot be kept breaks nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import ptxlab
from ptxlab.gpu import compiler
from ptxlab.gpu.compiler import compile_ptx
from ptxlab.gpu.disk_cache import read_entry, write_entry
from tests.cases import each

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")
root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")


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


#: Ways to read the file step.h; FOLDER is the one that it is in.
_INCLUDES = {
    "plain": '#include "step.h"',
    "path": "#include <FOLDER/step.h>",
    "from CUDA's folder": "#include <UP/step.h>",
    "macro": '#define H "step.h"\n#include H',
    "macro of an angle": "#define H <FOLDER/step.h>\n#include H",
    "comment inside": '#include /* "other.h" */ "step.h"',
    "comment before the word": '#/**/include "step.h"',
    "comment before": '/* */ #include "step.h"',
    "comment of two lines": '#include /*\n*/ "step.h"',
    "line break in the word": '#inc\\\nlude "step.h"',
    "line break of Windows": '#inc\\\r\nlude "step.h"',
    "line break before the name": '#include \\\n"step.h"',
    "digraph": '%:include "step.h"',
    "next": "#include_next <FOLDER/step.h>",
    "next by name": '#include_next "step.h"',
    "tabs": '\t#\tinclude\t"step.h"',
    "after a plain one": '#include <stdint.h>\n#include "step.h"',
    "in a plain one's line": '#include <stdint.h> /*\n*/\n/*\n*/ #include "step.h"',
}
_WRITES = "\n__global__ void write(int* x) { *x = STEP; }"


@pytest.mark.needs("cuda.bindings")
@each("how, text", _INCLUDES.items())
def test_a_header_that_has_changed_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, text: str
) -> None:
    """However the source spells the include."""
    _step_is_read(text, (), tmp_path, monkeypatch)


#: Options with which a source reads step.h, and the source.
_INCLUDING_OPTIONS = {
    "folder": (["-IFOLDER"], "#include <step.h>"),
    "folder apart": (["-I", "FOLDER"], "#include <step.h>"),
    "long": (["--include-path=FOLDER"], "#include <step.h>"),
    "before the source": (["-include=step.h"], ""),
    "before the source, apart": (["-include", "step.h"], ""),
    "before the source, long": (["--pre-include=step.h"], ""),
    "macro": (['-DH="step.h"'], "#include H"),
    "macro of an angle": (["-DH=<FOLDER/step.h>"], "#include H"),
    "macro of the directive's word": (
        ["-DHAS=__has_include"],
        '#if HAS("step.h")\n#include "step.h"\n#endif',
    ),
    "trigraph": (["-std=c++14"], '??=include "step.h"'),
    "trigraph of a line break": (["-std=c++14"], '#inc??/\nlude "step.h"'),
}


@pytest.mark.needs("cuda.bindings")
@each("how, case", _INCLUDING_OPTIONS.items())
def test_options_that_name_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, case: tuple[list[str], str]
) -> None:
    _step_is_read(case[1], case[0], tmp_path, monkeypatch)


def _step_is_read(text: str, options: Sequence[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)
    up = os.path.relpath(folder, compiler.header_folders()[0])
    text = text.replace("FOLDER", str(folder)).replace("UP", up)
    flags = [option.replace("FOLDER", str(folder)) for option in options]
    for step in (41_001, 41_002):
        (folder / "step.h").write_text(f"#define STEP {step}\n")
        assert str(step) in compile_ptx(text + _WRITES, "sm_90a", flags)[0]


@pytest.mark.needs("cuda.bindings")
@each(
    "how, case",
    {
        "in the source": ('#if __has_include("step.h")', []),
        "through a macro": ('#define HAS __has_include\n#if HAS("step.h")', []),
        "through two macros": ('#define CAT(a, b) a##b\n#if CAT(__has_inc, lude)("step.h")', []),
        "through an option": ('#if CAT(__has_inc, lude)("step.h")', ["-DCAT(a,b)=a##b"]),
    }.items(),
)
def test_a_header_that_appears(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, case: tuple[str, list[str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.h").unlink(missing_ok=True)
    source = case[0] + "\n#define STEP 41002\n#else\n#define STEP 41001\n#endif" + _WRITES
    assert "41001" in compile_ptx(source, "sm_90a", case[1])[0]
    (tmp_path / "step.h").touch()
    assert "41002" in compile_ptx(source, "sm_90a", case[1])[0]


@pytest.fixture
def compiled(cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that NVRTC has compiled."""
    sources: list[str] = []
    original = compiler._run_nvrtc

    def noted(source: str, *rest: Any) -> Any:
        sources.append(source)
        return original(source, *rest)

    monkeypatch.setattr(compiler, "_run_nvrtc", noted)
    return sources


@pytest.mark.needs("cuda.bindings")
def test_what_includes_nothing_or_headers_of_cuda_is_compiled_once(compiled: list[str]) -> None:
    first = "#include <cuda_fp16.h>\n  # include<cooperative_groups/reduce.h>\t// for sums\r\n"
    sources = [_WRITES, f"{first}#include <cstdint>\n{_WRITES}"]
    for source in sources:
        for _ in range(2):
            compile_ptx(
                source, "sm_90a", ["-DSTEP=1", "--use_fast_math", "-std=c++20", "-maxrregcount", "64"]
            )
    assert compiled == sources


@pytest.mark.needs("cuda.bindings")
def test_options_in_the_environment_may_read_files(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NVRTC reads this variable when it is loaded, so another process may have another value."""
    monkeypatch.setenv("NVRTC_APPEND_FLAGS", "-include=step.h")
    for _ in range(2):
        compile_ptx(_WRITES, "sm_90a", ["-DSTEP=1"])
    assert len(compiled) == 2


@pytest.mark.needs("cuda.bindings")
def test_headers_that_are_installed_anew(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "header_folders", lambda: (str(tmp_path),))
    for step in (41_001, 41_002):
        (tmp_path / f"version{step}.txt").touch()
        os.utime(tmp_path, ns=(step, step))
        (tmp_path / "step.h").write_text(f"#define STEP {step}\n")
        assert str(step) in compile_ptx("#include <step.h>" + _WRITES, "sm_90a")[0]


@pytest.mark.needs("cuda.bindings")
@each(
    "options",
    (
        ["--time=FOLDER/x"],
        ["-time=FOLDER/x"],
        ["--create-pch=FOLDER/x"],
        ["-create-pch=FOLDER/x"],
        ["--pch", "--pch-dir=FOLDER"],
        ["-pch-dir=FOLDER", "-pch"],
        ["--use-pch=FOLDER/x"],
        ["--fdevice-time-trace=FOLDER/x"],
        ["-fdevice-time-trace=FOLDER/x"],
        ["-include", "--time=FOLDER/x"],
        ["-Xptxas", "-v", "--time=FOLDER/x"],
        ["-Xptxas=-o,FOLDER/x"],
        ["-Xptxas=--output-file=FOLDER/x"],
        ["-Xptxas", "--options-file=FOLDER/x"],
        ["--ptxas-options=--fdevice-time-trace=FOLDER/x"],
        ["--ptxas-options", "-optf=FOLDER/x"],
        ["--dependency-output=FOLDER/x"],
    ),
)
def test_options_that_write_files(tmp_path: Path, options: list[str]) -> None:
    flags = [option.replace("FOLDER", str(tmp_path)) for option in options]
    for run in (compiler.compile_ptx, compiler.compile_kernel):
        with pytest.raises(ptxlab.PtxlabError, match="options: found .*none that writes a file"):
            run(_WRITES, "sm_90a", ["-DSTEP=1", *flags])
    assert not list(tmp_path.iterdir())


@pytest.mark.needs("cuda.bindings")
def test_options_that_only_change_the_code(cache: Path) -> None:
    text = "-DSTEP=1 -U OTHER -I . --fmad=false -maxrregcount 32 -lineinfo -Xptxas -v --ptxas-options=-O1 -w"
    options = [*text.split(), "-D X=1"]
    assert "write" in compile_ptx(_WRITES, "sm_90a", options)[0]
    assert compiler.compile_kernel(_WRITES, "sm_90a", options)[0][1:4] == b"ELF"
