"""A PTX opcode taken apart, and the notation in which the table of instructions lists opcodes.

The table's patterns follow the manual: `{.sat}` is optional, `{.rn|.rz}` stands for at most one of several,
`(.s16|.s32)` for exactly one. `expand` lists the opcodes of a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
#: From sources, arrays of raw bits, to the result, or to a tuple of results.
Function: TypeAlias = Callable[..., Any]

_TYPE = re.compile(r"(?:[usb]\d+|b?f\d+|tf32|ue8m0|u?e\dm\d|pred)(?:x[24])?")
_GROUP = re.compile(r"\{([^{}]*)\}|\(([^()]*)\)")

#: The roundings; without one an instruction rounds to nearest even.
ROUNDINGS = ("rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi")

#: Bits of the types whose name does not say them.
_BITS = {"tf32": 32, "pred": 1, "e4m3": 8, "e5m2": 8, "e2m3": 8, "e3m2": 8, "e2m1": 4, "ue8m0": 8}


def width_of(type_name: str) -> int:
    """Bits that a value of a PTX type takes in a register.

    >>> width_of("s16"), width_of("f16x2"), width_of("e4m3x2"), width_of("tf32")
    (16, 32, 16, 32)
    """
    name, _, lanes = type_name.partition("x")
    bits = _BITS.get(name)
    if bits is None:
        bits = int(re.sub(r"\D", "", name))
    return bits * int(lanes or 1)


def dtype_of(type_name: str) -> np.dtype[Any]:
    """The dtype of raw bits of a PTX type: an unsigned integer of its width, bool for a predicate."""
    return np.dtype(bool) if type_name == "pred" else np.dtype(f"u{max(width_of(type_name) // 8, 1)}")


@dataclass(frozen=True)
class Opcode:
    """An opcode in its parts: `cvt.rn.relu.f16x2.f32` has the modifiers rn, relu and the types f16x2, f32.

    >>> Opcode.parse("fma.rn.ftz.f32").rounding
    'rn'
    """

    name: str
    modifiers: tuple[str, ...]
    types: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Opcode:
        """The parts of an opcode, whatever the order of its modifiers."""
        name, *rest = text.strip().split(".")
        types = tuple(part for part in rest if _TYPE.fullmatch(part))
        modifiers = tuple(part for part in rest if not _TYPE.fullmatch(part))
        return cls(name, modifiers, types)

    @property
    def key(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """The same for all spellings of an instruction: ptxas takes modifiers in any order."""
        return self.name, tuple(sorted(self.modifiers)), self.types

    def __contains__(self, modifier: str) -> bool:
        return modifier in self.modifiers

    @property
    def type(self) -> str:
        """The type of the sources: the last one."""
        return self.types[-1] if self.types else "pred"

    @property
    def d_type(self) -> str:
        """The type of the result: the first one."""
        return self.types[0] if self.types else "pred"

    @cached_property
    def rounding(self) -> str:
        """The rounding mode; to nearest even unless the opcode says otherwise."""
        return next((part for part in self.modifiers if part in ROUNDINGS), "rn")

    @property
    def signed(self) -> bool:
        """Whether the sources are signed integers."""
        return self.type.startswith("s")

    @property
    def bits(self) -> int:
        """Bits of one source."""
        return width_of(self.type)


@dataclass(frozen=True)
class OpcodeRow:
    """A line of the table: opcodes, what they read and return, and how their function is made.

    `sources` and `results` are words: `t` the last type of the opcode, `d` its first, `w` twice the width
    of `t`, `p` a predicate, `i` an integer of 32 bits, `b32` any 32 bits; `?` marks a source that may be left
    out.
    """

    pattern: str
    sources: str
    results: str
    build: Callable[[Opcode], Function]

    def types(self, opcode: Opcode, words: str) -> tuple[str, ...]:
        """The types that `sources` or `results` mean for an opcode."""
        twice = f"{opcode.type[0]}{2 * opcode.bits}"
        named = {"t": opcode.type, "d": opcode.d_type, "w": twice, "p": "pred", "i": "b32"}
        return tuple(named.get(word, word) for word in words.replace("?", "").split())

    def integers(self, words: str) -> tuple[bool, ...]:
        """Which sources or results are integers, even if their type says bits."""
        return tuple(word == "i" for word in words.split())


def expand(pattern: str) -> Iterator[str]:
    """Every opcode that a pattern of the table stands for.

    >>> list(expand("add{.sat}(.s16|.s32)"))
    ['add.s16', 'add.s32', 'add.sat.s16', 'add.sat.s32']
    """
    group = _GROUP.search(pattern)
    if group is None:
        yield pattern
        return
    optional, required = group.groups()
    choices = required.split("|") if optional is None else ["", *optional.split("|")]
    for choice in choices:
        yield from expand(pattern[: group.start()] + choice + pattern[group.end() :])


def split_lanes(function: Function, bits: int) -> Function:
    """A function of packed registers from a function of their lanes of `bits` bits.

    While the function runs the lanes are one more axis; then they are packed again.
    """
    lane = np.dtype(f"u{bits // 8}")

    def packed(*sources: Array) -> Any:
        register = sources[0].dtype
        parts = [np.ascontiguousarray(source)[..., np.newaxis].view(lane) for source in sources]
        result = function(*parts)
        return np.ascontiguousarray(result).view(register)[..., 0]

    return packed
