"""CUDA C++ on both of Clang's roads: its own back end, and LLVM IR that ptxlab translates, as in a tab."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from ptxlab.errors import PtxlabError
from ptxlab.gpu import clang


def run_clang(words: list[str], files: Mapping[str, str]) -> str:
    """The file that `-o` names, of ziglang's Clang, which stands for the one of a tab."""
    package = find_spec("ziglang")
    assert package is not None and package.submodule_search_locations
    program = Path(package.submodule_search_locations[0], "zig")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, *PurePosixPath(name).parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command = [str(program), "clang", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PtxlabError(done.stderr)
        return Path(folder, words[words.index("-o") + 1]).read_text(encoding="utf-8")


@contextmanager
def translated() -> Iterator[None]:
    """Here Clang compiles as in a tab: to LLVM IR."""
    clang.use_tab_compiler(run_clang)
    try:
        yield
    finally:
        clang.use_tab_compiler(None)
