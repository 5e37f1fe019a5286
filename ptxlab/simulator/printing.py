"""`printf` of device code: the format and the buffer of arguments that `vprintf` gets."""

from __future__ import annotations

import math
import re

import numpy as np

from ..errors import PtxlabError
from .memory import LOCAL_WINDOW, Memory

_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|j|z|t)?([diouxXcsfFeEgGaAp%])")


def formatted(memory: Memory, format_address: int, values_address: int, thread: int) -> tuple[str, int]:
    """What one thread prints, and what its `printf` returns: how many arguments the format takes."""
    text = memory.text_at(format_address, thread).decode(errors="replace")
    arguments = _Arguments(memory, values_address, thread)
    printed = _CONVERSION.sub(lambda match: _converted(match, arguments, memory), text)
    return printed, arguments.count


class _Arguments:
    """The buffer of arguments in the thread's local memory: each aligned to its size."""

    def __init__(self, memory: Memory, address: int, thread: int) -> None:
        lanes = max(1, memory.lanes)
        self.thread = thread
        self.count = 0
        self._bytes = memory.local.reshape(lanes, -1)[thread]
        self._at = address - LOCAL_WINDOW if address >= LOCAL_WINDOW else address

    def next(self, dtype: str) -> int | float:
        self.count += 1
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
    if kind in "diouxX":
        bits = 64 if wide else {"h": 16, "hh": 8}.get(length, 32)
        number = int(arguments.next("<i8" if wide else "<i4")) & (1 << bits) - 1
        if kind in "di":
            number -= (number >> bits - 1) << bits
        if number == 0 and "#" in flags and kind in "xX":
            layout = layout.replace("#", "")
        if number == 0 and precision == "0":  # nothing, in C
            return f"%{width or ''}s" % ""
        if kind == "o" and "#" in flags:  # a zero in front, where Python writes 0o
            digits = f"0{number:o}".rjust(int(precision or 0), "0")
            return (f"%{flags.replace('#', '')}{width or ''}s") % digits
        return (layout + kind.replace("u", "d")) % number
    if kind == "c":
        return (layout + "c") % chr(int(arguments.next("<i4")) & 0xFF)
    if kind == "s":
        address = int(arguments.next("<u8"))
        text = memory.text_at(address, arguments.thread) if address else b"(null)"
        return (layout + "s") % text.decode(errors="replace")
    if kind == "p":
        address = int(arguments.next("<u8"))
        return (f"%{flags}{width or ''}s") % (f"0x{address:x}" if address else "(nil)")
    value = float(arguments.next("<f8"))
    if value != value and math.copysign(1, value) < 0:
        return (f"%{flags}{width or ''}s") % ("-NAN" if kind.isupper() else "-nan")
    if kind in "aA":
        digits = _hexadecimal(value, None if precision is None else int(precision))
        return (f"%{flags}{width or ''}s") % (digits.upper() if kind == "A" else digits)
    return (layout + kind) % value


def _hexadecimal(value: float, precision: int | None) -> str:
    """As C's %a has it: no zeros at the end, or so many digits.

    >>> _hexadecimal(0.5, None), _hexadecimal(1 / 3, 3)
    ('0x1p-1', '0x1.555p-2')
    """
    if not math.isfinite(value):
        return f"{value:f}"
    sign, text = ("-", value.hex()[1:]) if math.copysign(1, value) < 0 else ("", value.hex())
    head, _, exponent = text.partition("p")
    whole, _, digits = head.removeprefix("0x").partition(".")
    digits = digits.rstrip("0")
    if precision is not None:
        steps, rest = divmod(int(whole + digits.ljust(13, "0"), 16), 16 ** max(13 - precision, 0))
        half = 16 ** max(13 - precision, 0) / 2
        steps += rest > half or (rest == half and steps & 1)
        whole, digits = f"{steps >> 4 * min(precision, 13):x}", f"{steps:x}"[1:].ljust(precision, "0")
        digits = digits[:precision]
    return f"{sign}0x{whole}{'.' if digits else ''}{digits}p{exponent}"
