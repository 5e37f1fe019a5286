"""Tensors of torch and arrays of NumPy, with the same bits; programs for a GPU on the CPU."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

from ..errors import PtxlabError

#: Types that NumPy does not have, by torch's names, which are those of ml_dtypes.
_NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
_DEVICE = re.compile(r"""(["'])cuda(?::\d+)?\1""")


def needed(module: str, what: str) -> Any:
    """A module that a task imports, or one sentence."""
    try:
        return import_module(module)
    except ImportError:
        package = {"yaml": "pyyaml"}.get(module, module)
        raise PtxlabError(f"{what} needs {module}, which is not installed: pip install {package}") from None


def on_cpu(source: str) -> str:
    """A program that names a GPU as its device, for the CPU; lines stay where they are.

    >>> on_cpu('x = torch.ones(4, device="cuda:0").cuda()')
    'x = torch.ones(4, device="cpu").cpu()'
    """
    source = _DEVICE.sub(r"\1cpu\1", source).replace(".cuda()", ".cpu()")
    return source.replace("torch.cuda.synchronize()", "None").replace(".is_cuda", ".is_cpu")


def as_tensor(value: Any) -> Any:
    """An array as a tensor; numbers stay numbers."""
    if not isinstance(value, np.ndarray):
        return value
    torch = import_module("torch")
    if value.dtype.name in _NARROW:
        return torch.from_numpy(value.view(f"i{value.itemsize}")).view(getattr(torch, value.dtype.name))
    return torch.from_numpy(value)


def as_array(value: Any) -> Any:
    """A tensor as an array; what is none stays as it is."""
    if not hasattr(value, "detach"):
        return value
    value = value.detach().cpu().contiguous()
    name = str(value.dtype).removeprefix("torch.")
    if name not in _NARROW:
        return value.numpy()
    torch = import_module("torch")
    bits = value.view(torch.int8 if value.element_size() == 1 else torch.int16).numpy()
    return bits.view(getattr(ml_dtypes, name))
