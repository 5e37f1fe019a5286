"""`printf` of device code: the format and the buffer of arguments that `vprintf` gets."""

from __future__ import annotations

import re

import numpy as np

from ...errors import PtxlabError
from .memory import LOCAL_WINDOW, Memory

__all__ = ["formatted"]

_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|j|z|t)?([diouxXcsfFeEgGaAp%])")


def formatted(memory: Memory, format_address: int, values_address: int, thread: int) -> str:
    """What one thread prints."""
    text = memory.text_at(format_address).decode(errors="replace")
    arguments = _Arguments(memory, values_address, thread)
    return _CONVERSION.sub(lambda match: _converted(match, arguments, memory), text)


class _Arguments:
    """The buffer of arguments in the thread's local memory: each aligned to its size."""

    def __init__(self, memory: Memory, address: int, thread: int) -> None:
        lanes = max(1, memory.lanes)
        self._bytes = memory.local.reshape(lanes, -1)[thread]
        self._at = address - LOCAL_WINDOW if address >= LOCAL_WINDOW else address

    def next(self, dtype: str) -> int | float:
        size = np.dtype(dtype).itemsize
        self._at = -(-self._at // size) * size
        content = self._bytes[self._at : self._at + size]
        if len(content) < size:
            raise PtxlabError("printf: the format has more conversions than there are arguments")
        self._at += size
        value: int | float = np.ascontiguousarray(content).view(dtype)[0].item()
        return value


def _converted(match: re.Match[str], arguments: _Arguments, memory: Memory) -> str:
    flags, width, precision, length, kind = match.groups()
    if kind == "%":
        return "%"
    width, precision = (str(arguments.next("<i4")) if part == "*" else part for part in (width, precision))
    layout = f"%{flags}{width or ''}" + (f".{precision}" if precision is not None else "")
    wide = length in ("l", "ll", "j", "z", "t")
    if kind in "di":
        return (layout + "d") % arguments.next("<i8" if wide else "<i4")
    if kind in "ouxX":
        return (layout + kind.replace("u", "d")) % arguments.next("<u8" if wide else "<u4")
    if kind == "c":
        return (layout + "c") % chr(int(arguments.next("<i4")) & 0xFF)
    if kind == "s":
        return (layout + "s") % memory.text_at(int(arguments.next("<u8"))).decode(errors="replace")
    if kind == "p":
        return f"0x{int(arguments.next('<u8')):x}"
    value = float(arguments.next("<f8"))
    if kind in "aA":
        return value.hex()
    return (layout + kind) % value
