"""CUDA C++ to PTX with the compiler that is here: NVRTC, or Clang where NVRTC is not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..errors import PtxlabError, error_of, quoted
from ..gpu import clang, compiler
from ..gpu.cuda_python import INSTALL, INSTALL_CLANG, in_a_tab


class CompiledSource(NamedTuple):
    """PTX, the name in it of a kernel that was asked for by an expression, and which compiler made it."""

    ptx: str
    lowered_name: str | None
    compiler: str


def has_compiler() -> bool:
    """Whether CUDA C++ can be compiled here."""
    return not error_of(find_compiler)


def find_compiler(compiler_name: str | None = None) -> str:
    """ "nvrtc" or "clang": the one asked for, or else the one that is here; NVRTC if both are."""
    if compiler_name not in (None, "nvrtc", "clang"):
        raise PtxlabError(f"compiler={quoted(compiler_name)}: it is 'nvrtc', 'clang' or None")
    nvrtc, other = error_of(compiler.compiler_version), error_of(clang.clang_version)
    if compiler_name == "clang" and other:
        raise PtxlabError(f"compiler='clang': {other}")
    if compiler_name == "nvrtc" and nvrtc:
        raise PtxlabError(f"compiler='nvrtc': {nvrtc}")
    if compiler_name is not None:
        return compiler_name
    if nvrtc and other:
        if in_a_tab():
            raise PtxlabError(f"a kernel in CUDA C++: {nvrtc}; PTX text needs no compiler")
        raise PtxlabError(
            f"a kernel in CUDA C++ needs a compiler: Clang on any system, {INSTALL_CLANG}, or NVRTC on Linux "
            f"and Windows, {INSTALL}; PTX text needs none"
        )
    return "clang" if nvrtc else "nvrtc"


def compile_cuda(
    source: str,
    target: str,
    options: Sequence[str] = (),
    name: str | None = None,
    file: str = compiler.SOURCE_NAME,
    compiler_name: str | None = None,
) -> CompiledSource:
    """CUDA C++ -> PTX for a target; `compiler_name` is "nvrtc", "clang" or None for what is here."""
    if find_compiler(compiler_name) == "nvrtc":
        ptx, lowered = compiler.compile_ptx(source, target, options, name, file)
        return CompiledSource(ptx, lowered, "NVRTC {}.{}".format(*compiler.compiler_version()))
    ptx, lowered = clang.compile_ptx(source, target, options, name, file, translate=_ptx_from_llvm)
    return CompiledSource(ptx, lowered, f"Clang {clang.clang_version().partition('.')[0]}")


@lru_cache(maxsize=8)  # a tab keeps nothing on disk
def _ptx_from_llvm(ir: str, target: str) -> str:
    from .llvm import ptx_from_llvm

    return ptx_from_llvm(ir, target)
