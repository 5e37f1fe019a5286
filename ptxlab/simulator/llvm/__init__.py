"""LLVM IR for NVPTX, as Clang's front end writes it, to PTX."""

from .llvm_module import ptx_from_llvm

__all__ = ["ptx_from_llvm"]
