"""The search for inputs on which two sides differ, in rounds of ever more products of matrices."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import gpu, inputs
from .._util.arguments import as_int, as_seconds
from ..errors import PtxlabError, quoted
from ..isa.catalog import Product
from ..isa.modifiers import Modifiers
from ..isa.operation import Operation
from ..isa.parse import parse_product
from ..isa.tcgen05 import TensorInstruction
from ..numerics import emulate as emulator
from ..numerics import fused_dispatch
from .case import Case, Comparator, Configuration, Runner, batch_size
from .shrink import shrink

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: The first categories of a quick search: readable numbers, whose sums lose bits.
_READABLE = ("moderate", "cancellation", "wide", "ties", "cancelling_c", "exponents")
_FIRST_BATCH = 8  # MMAs in the first round of a quick search; each round doubles them
_QUICK_PRODUCTS = 1 << 20  # most products of such a batch, which takes some 50 ms


class Found(NamedTuple):
    """What a search has compared, and the smallest case on which the two sides differ, if there is one."""

    mmas: int
    categories: tuple[str, ...]
    seconds: float
    case: Case | None


def find_difference(
    ins: Product | str,
    model: str | None = None,
    against: str | None = None,
    *,
    modifiers: Modifiers | None = None,
    seconds: float = 1.0,
    seed: int = 0,
) -> Found:
    """A small case on which two chips differ, found in about `seconds` seconds, for interactive use.

    `model` and `against` name the chips; without `against` it is the GPU. The instruction is issued with
    these `modifiers` only. The same `seed` gives the same case, unless the time ends before it is reduced.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> case = find_difference(ins, "sm_90", "sm_80", seconds=20).case
    >>> sum(len(case.changed_cells(name)) for name in case.codes) < 8
    True
    """
    ins = parse_product(ins)
    sides = Sides(model, against)
    _, model = sides.checked(ins)
    sides = replace(sides, model=model)
    seconds, seed = as_seconds(seconds, "seconds"), as_int(seed, "seed")
    configuration = Configuration(ins, Modifiers() if modifiers is None else modifiers)
    ins.check_modifiers(configuration.modifiers)
    categories = tuple(sorted(all_categories(ins), key=lambda category: category not in _READABLE))
    start = time.monotonic()
    comparator = sides.comparator()
    compared, smallest = 0, None
    with fused_dispatch.backend("numpy"):  # numba would need seconds to compile
        for chunk in _quick_plan(configuration, categories):
            if time.monotonic() > start + seconds:
                break
            first = first_difference(comparator, chunk, seed)
            if first is not None:
                index, case = first
                comparator.until = max(start, time.monotonic() - seconds / 2) + seconds
                smallest = shrink(case, comparator, keep_modifiers=True)
                compared += index + 1
                break
            compared += chunk.size
    return Found(compared, categories, time.monotonic() - start, smallest)


def _quick_plan(configuration: Configuration, categories: Sequence[str]) -> Iterator[Chunk]:
    """Chunks of all categories in turn, small ones first."""
    ins = configuration.ins
    products = ins.d.shape[0] * ins.n * ins.k
    largest = max(min(batch_size(ins), _QUICK_PRODUCTS // products), 1)
    for number in count():
        size = min(_FIRST_BATCH << min(number, 20), largest)
        for category in categories:
            yield Chunk(category, configuration, size, number)


class Chunk(NamedTuple):
    """MMAs that are compared together; `number` counts the chunks of a category."""

    category: str
    configuration: Configuration
    size: int
    number: int


@dataclass(frozen=True)
class Sides:
    """The two sides of a comparison: the emulator's model, and the GPU or what takes its place."""

    model: str | None
    against: str | None
    runner: Runner | None = None

    def checked(self, ins: Product) -> tuple[str, str | None]:
        """The machine's name, and the emulator's model if it must be named; an error says what is missing."""
        if self.runner is not None and self.against is not None:
            raise PtxlabError("either `runner` or `against` takes the place of the GPU, not both")
        if self.against is not None:
            emulator.model_of(ins, self.against)
            return f"the model of {self.against}", self.model
        if self.runner is not None and not callable(self.runner):
            raise PtxlabError(f"runner: found {quoted(self.runner)}; it is a function of the operands")
        if self.runner is not None:
            return getattr(self.runner, "__name__", "the runner"), self.model
        if not gpu.available(ins):
            raise PtxlabError(
                f"a hunt compares with a GPU: {gpu.status(ins)}; "
                "`against` (--against CHIP) compares the models of two chips without one"
            )
        model = self.model
        if model is None and emulator.model_of(ins).chip != gpu.model(ins):
            model = gpu.model(ins)
        return f"{gpu.device_name()} ({gpu.device_target()})", model

    def comparator(self, executor: Executor | None = None) -> Comparator:
        """The comparator of both sides; with an executor, on the GPU of one of its workers."""
        machine: Runner = self.runner or gpu.run
        if self.against is not None:
            machine = partial(emulator.emulate, model=self.against)
        elif self.runner is None and executor is not None:

            def machine(operation: Operation) -> NDArray[Any]:
                return executor.submit(gpu.run, operation).result()

        return Comparator(partial(emulator.emulate, model=self.model), machine)


def all_categories(ins: Product) -> tuple[str, ...]:
    return (*inputs.categories(ins), *inputs.directed_categories(ins))


def first_difference(comparator: Comparator, chunk: Chunk, seed: int) -> tuple[int, Case] | None:
    """The first MMA of a chunk on which the two sides differ, with the first element of D that does."""
    ins, modifiers = chunk.configuration
    chunk_seed = seed + (chunk.number << 64)
    operation = inputs.make(ins, chunk.category, chunk.size, chunk_seed, modifiers.selector, quick=True)
    operation = replace(operation, modifiers=modifiers)
    emulated, measured = comparator.run(operation)
    if isinstance(ins, TensorInstruction):  # words of tensor memory may hold more than D
        emulated, measured = ins.d.unpack_codes(emulated), ins.d.unpack_codes(measured)
    differs = (emulated != measured).any(axis=(1, 2))
    if not differs.any():
        return None
    index = int(differs.argmax())
    registers = dict(zip(ins.inputs, operation.item(index).arrays.values(), strict=True))
    emulated, measured = emulated[index], measured[index]
    if not isinstance(ins, TensorInstruction):
        emulated, measured = ins.d.unpack_codes(emulated), ins.d.unpack_codes(measured)
    row, col = np.argwhere(emulated != measured)[0].tolist()
    in_registers = Case(chunk.configuration, row, col, registers, in_registers=True)
    codes = {argument: in_registers.element_codes(argument).copy() for argument in registers}
    case = Case(chunk.configuration, row, col, codes)
    return index, case if comparator.differs(case) else in_registers
