"""The steps of a plan: what every lane does with its registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ..dtypes import DType


@dataclass(frozen=True)
class Rename:
    """The target is the source: no instruction."""

    target: str
    source: str


class Part(NamedTuple):
    """One element in a register: `position` counts elements of its type from the lowest bits."""

    register: str
    position: int


@dataclass(frozen=True)
class Convert:
    """Elements of one type become elements of another, packed into one register, the first lowest.

    Each takes up `width` bits there: its own, or 8 for narrower ones in bytes of their own (kind::f8f6f4).
    """

    target: str
    sources: tuple[Part, ...]
    from_type: DType
    to_type: DType
    width: int


@dataclass(frozen=True)
class Permute:
    """prmt.b32: each byte of the target is one of the eight of two registers; a selector for each lane."""

    target: str
    first: str
    second: str
    selectors: tuple[int, ...]


@dataclass(frozen=True)
class Select:
    """Each lane takes one of several registers: `choices` has the index of its source for each lane."""

    target: str
    sources: tuple[str, ...]
    choices: tuple[int, ...]


@dataclass(frozen=True)
class Shuffle:
    """shfl.sync.idx.b32: each lane reads the register of another, `lanes` says of which, within its warp."""

    target: str
    source: str
    lanes: tuple[int, ...]


@dataclass(frozen=True)
class Shift:
    """Bits move up, or down where `left` is negative.

    Elements of 4 and 6 bits need it for kind::f8f6f4, halves of bytes to change places.
    """

    target: str
    source: str
    left: int


@dataclass(frozen=True)
class Merge:
    """lop3.b32: bits of one register where `mask` is set, those of another where it is not."""

    target: str
    first: str
    second: str
    mask: int


@dataclass(frozen=True)
class Transpose:
    """movmatrix.m8n8.trans.b16: the 8x8 matrix of 16-bit elements in a register of a warp, transposed."""

    target: str
    source: str


PlanStep: TypeAlias = Rename | Convert | Permute | Select | Shuffle | Shift | Merge | Transpose


def registers_read(step: PlanStep) -> tuple[str, ...]:
    """Registers that a step reads."""
    match step:
        case Convert():
            return tuple(part.register for part in step.sources)
        case Permute() | Merge():
            return step.first, step.second
        case Select():
            return step.sources
        case _:
            return (step.source,)


def step_text(step: PlanStep) -> str:
    """One step in a line."""
    match step:
        case Rename():
            return f"{step.target} = {step.source}"
        case Shift():
            return f"{step.target} = {step.source} {shift_text(step.left)}"
        case Transpose():
            return f"{step.target} = movmatrix.trans({step.source})"
        case Merge():
            return f"{step.target} = {step.first} & 0x{step.mask:08x} | {step.second} & ~0x{step.mask:08x}"
        case Convert():
            several = any(part.position for part in step.sources) or step.from_type.bits < 32
            parts = [
                f"{part.register}.{part.position}" if several else part.register for part in step.sources
            ]
            return f"{step.target} = {step.to_type}({', '.join(parts)})"
        case Permute():
            selectors = _table_text([f"0x{selector:04x}" for selector in step.selectors])
            return f"{step.target} = prmt({step.first}, {step.second}, {selectors})"
        case Select():
            names = _table_text([step.sources[choice] for choice in step.choices])
            return f"{step.target} = {names}"
        case Shuffle():
            return f"{step.target} = shfl.idx({step.source}, lane {_table_text([*map(str, step.lanes)])})"


def shift_text(left: int) -> str:
    """``<< 4``, or ``>> 4`` for -4."""
    return f"<< {left}" if left >= 0 else f">> {-left}"


def _table_text(values: Sequence[str]) -> str:
    """What all lanes have, or what lanes 0, 1, ... have, of as many as repeat."""
    size = len(values)
    while size > 1 and size % 2 == 0 and values[: size // 2] == values[size // 2 : size]:
        size //= 2
    return values[0] if size == 1 else f"[{', '.join(values[:size])}][lane % {size}]"
