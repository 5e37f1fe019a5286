"""D for the operands on the screen: by the model of a chip or by the GPU, compared with another, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import gpu
from .._util.arguments import is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.operation import Operation
from ..isa.product_form import ProductForm
from ..isa.targets import GENERATIONS
from ..numerics import has
from ..numerics.emulate import emulate, model_of
from ..numerics.models import why_no_model
from ..numerics.steps import Trace
from ..numerics.trace import disabled_lane, trace

GPU = "GPU"  # listed beside the names of chips
NOBODY = ""  # in place of a chip: no model is known, and D stays empty


@dataclass(frozen=True)
class Comparison:
    """Codes of D by one chip and by another; None where there is nothing to compare with."""

    codes: NDArray[Any]
    other: NDArray[Any] | None = None

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Cells whose bits are not the same; all False without a second result."""
        if self.other is None:
            return np.zeros(self.codes.shape, dtype=np.bool_)
        return np.asarray(self.codes != self.other)


class Results:
    """Who computes D, who it is compared with, and the results for the latest operands.

    >>> import ptxlab
    >>> results = Results(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> results.chip, results.against
    ('sm_90', None)
    >>> results.choose("sm_80", against="sm_90")
    """

    def __init__(self, ins: ProductForm) -> None:
        self.ins = ins
        self.unknown = why_no_model(ins)  # why D stays empty unless a GPU computes it; "" if a model does
        self.models: tuple[str, ...] = () if self.unknown else _chips_with_models(ins)
        self.chip = self.first  # whose D is shown: one of `available`, or NOBODY
        self.against: str | None = None
        self._operands: Operation | None = None  # those that the results below belong to
        self._codes: dict[str, NDArray[Any]] = {}
        self._empty = np.zeros(ins.d.shape, dtype=ins.d.dtype.code_type)

    @property
    def first(self) -> str:
        """The chip that `emulate` takes, or NOBODY."""
        return self.models[0] if self.models else NOBODY

    @property
    def is_known(self) -> bool:
        """Whether there is a D to show."""
        return self.chip != NOBODY

    @property
    def available(self) -> tuple[str, ...]:
        """What can compute D: the models, and the GPU if it has the instruction."""
        return (*self.models, GPU) if gpu.available(self.ins) else self.models

    @property
    def model(self) -> str:
        """The chip whose model explains D; where the GPU is shown, the one it is compared with; or NOBODY."""
        chosen = (self.chip, self.against)
        return next((chip for chip in chosen if chip is not None and chip != GPU), self.first)

    def choose(self, chip: str, against: str | None = None) -> None:
        """Show D of a chip, or of "GPU", and compare it with another."""
        for name in (chip,) if against is None else (chip, against):
            if not (self.unknown and name == NOBODY):
                self._check_chip(name, self.available)
        self.chip, self.against = chip, against

    def _check_chip(self, chip: object, chips: tuple[str, ...]) -> None:
        if self.unknown and not is_name(chip, chips):
            raise PtxlabError(f"{self.ins.mnemonic} {self.ins.shape}: {self.unknown}")
        if not is_name(chip, chips):
            raise PtxlabError(f"found chip {quoted(chip)}; {self.ins.mnemonic} takes {listing(chips)}")

    def reset_chips(self) -> None:
        """Show D of the first model, compared with nothing."""
        self.chip, self.against = self.first, None

    def compute(self, operands: Operation) -> None:
        """Compute D for new operands by the model; if it fails, the earlier results stay."""
        model = self.model
        if model == NOBODY:
            return
        codes = self._run(operands, model)
        self._operands, self._codes = operands, {model: codes}

    def codes(self, operands: Operation, chip: str | None = None) -> NDArray[Any]:
        """Codes of D by a chip, computed once for the same operands."""
        chip = self.chip if chip is None else chip
        self._check_chip(chip, (*self.models, GPU))
        if operands is not self._operands:
            self._operands, self._codes = operands, {}
        if chip not in self._codes:
            self._codes[chip] = self._run(operands, chip)
        return self._codes[chip]

    def has(self, operands: Operation, chip: str) -> bool:
        """Whether D by this chip is known for these operands."""
        return operands is self._operands and chip in self._codes

    def forget(self, chip: str) -> None:
        """Compute D by this chip again when it is next needed."""
        self._codes.pop(chip, None)

    def comparison(
        self, operands: Operation, chip: str | None = None, against: str | None = None
    ) -> Comparison:
        """D by two chips; those that are chosen unless others are named."""
        against = self.against if against is None else against
        if not self.is_known and chip is None:
            return Comparison(self._empty)
        codes = self.codes(operands, chip)
        return Comparison(codes, None if against is None else self.codes(operands, against))

    @property
    def compared_models(self) -> tuple[str, str] | None:
        """The two chips whose models are compared; None where there is one model, or the GPU is involved."""
        if self.against is None or GPU in (self.chip, self.against) or self.chip == self.against:
            return None
        return self.chip, self.against

    def trace(self, operands: Operation, row: int, column: int, chip: str | None = None) -> Trace:
        """Why D[row][column] has its bits, by the model of a chip."""
        if self.model == NOBODY:
            raise PtxlabError(f"{self.ins.mnemonic} {self.ins.shape}: {self.unknown}")
        return trace(operands, row, column, model=self.model if chip is None else chip)

    def explains(self, operands: Operation, row: int, column: int) -> bool:
        """Whether there is anything to explain: a model, and a lane that it writes."""
        return self.model != NOBODY and disabled_lane(operands, row, column) is None

    def _run(self, operands: Operation, chip: str) -> NDArray[Any]:
        registers = gpu.run(operands) if chip == GPU else emulate(operands, model=chip)
        return self.ins.d.unpack_codes(registers)


def _chips_with_models(ins: ProductForm) -> tuple[str, ...]:
    """The chip that `emulate` takes, then the others."""
    first = model_of(ins).chip
    return (first, *(chip for chip in GENERATIONS if chip != first and _has_model(ins, chip)))


def _has_model(ins: ProductForm, chip: str) -> bool:
    try:
        return has(ins, chip) and model_of(ins, chip).chip == chip
    except PtxlabError:
        return False
