"""What every rule has, and the element codes that rules work on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...isa.operation import Operation
from ...isa.tcgen05 import Tcgen05Mma
from ..element import Element, codes_of_a, codes_of_b, codes_of_c, nibbles_of, scales_of
from ..steps import Step

Array = NDArray[Any]


class Rule(ABC):
    """How a chip computes D from A, B and C, to the last bit."""

    @abstractmethod
    def dot(self, operands: Operation) -> Array:
        """Codes of D [count, rows, columns] for a batch [count, lanes, registers]."""

    def run(self, operands: Operation) -> Array:
        """Registers of D for a batch [count, lanes, registers]."""
        return pack_result(operands, self.dot(operands))

    def accumulate(self, operands: Operation) -> Array:
        """Registers of D [turns, count, lanes, registers], where D of one turn is C of the next.

        All operands but C have turns in front.
        """
        d, c = [], operands.c
        for turn in range(len(operands.a)):
            d.append(self.run(of_turns(operands, turn, c)))
            c = d[-1]
        return np.stack(d)

    @abstractmethod
    def trace(self, element: Element) -> list[Step]:
        """The same for one element of D, step by step and exactly."""


def of_turns(operands: Operation, index: int | tuple[slice, slice], c: Array) -> Operation:
    """Operands that have turns in front, with an index into these and the batch, and with another C."""
    names = [name for name in operands.ins.inputs if name != "c"]
    return replace(operands, c=c, **{name: getattr(operands, name)[index] for name in names})


def pack_result(operands: Operation, codes: Array) -> Array:
    """Registers of D from its codes; of tensor memory the words of D, and the others as they were in C."""
    ins, disabled = operands.ins, operands.modifiers.disable_output_lane
    words = ins.d.to_registers(codes)
    if not isinstance(ins, Tcgen05Mma):
        return words
    written = ins.written
    if disabled:
        lanes = [not disabled >> lane & 1 for lane in range(words.shape[-2])]
        written = written & np.array(lanes)[:, None]
    return words if written.all() else np.where(written, words, operands.c)


@dataclass(frozen=True)
class Codes:
    """The element codes of a batch: A [count, M, K], B [count, K, N], C [count, M, N].

    Modifiers are applied: imm-scale negates A, scale-d = 0 clears C. The four MMAs of m8n8k4 are an axis of
    their own.
    """

    a: Array
    b: Array
    c: Array
    nibbles: Array | None
    scales: tuple[Array, Array] | None

    @classmethod
    def of(cls, operands: Operation, c: Array | None = None) -> Codes:
        """Unpack the registers, or all but C, whose codes are known."""
        c = codes_of_c(operands) if c is None else c
        codes = cls(codes_of_a(operands), codes_of_b(operands), c, nibbles_of(operands), scales_of(operands))
        return codes if operands.ins.mma_count == 1 else codes._apart()

    def _apart(self) -> Codes:
        """Four matrices stacked below each other (B: side by side) -> an axis of four before the matrix."""

        def apart(stacked: Array) -> Array:
            return stacked.reshape(*stacked.shape[:-2], 4, stacked.shape[-2] // 4, stacked.shape[-1])

        b = np.swapaxes(apart(np.swapaxes(self.b, -1, -2)), -1, -2)
        return replace(self, a=apart(self.a), b=b, c=apart(self.c))
