"""The hunt itself: category by category, until the two sides differ or enough is compared."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import gpu
from .._util.arguments import as_int, as_names, as_seconds
from .._util.progress_bar import bar
from .._util.threads import check_executor, in_order
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import Product
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..isa.operation import Operation
from ..isa.parse import parse_product
from ..isa.tcgen05 import Tcgen05Mma
from ..numerics import compiled
from ..numerics import emulate as emulator
from . import inputs
from .case import Case, Comparator, Configuration, Runner, batch_size
from .report import Difference, Report
from .shrink import shrink

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: The first categories of a quick search: readable numbers, whose sums lose bits.
_READABLE = ("moderate", "cancellation", "wide", "ties", "cancelling_c", "exponents")
_FIRST_BATCH = 8  # MMAs in the first round of a quick search; each round doubles them
_QUICK_PRODUCTS = 1 << 20  # most products of such a batch, which takes some 50 ms

_CONFIGURATIONS = 8  # of an instruction that has several modifiers; each is a kernel of its own


def hunt(
    ins: Product | str,
    *,
    mmas: int = 100_000,
    seed: int | None = None,
    categories: Sequence[str] | None = None,
    model: str | None = None,
    against: str | None = None,
    runner: Runner | None = None,
    seconds: float | None = None,
    show: bool | None = None,
    executor: Executor | None = None,
) -> Report:
    """Search for inputs on which the emulator and the GPU differ, and reduce the first to a small case.

    Every category of `ptxlab.inputs` gets the same share of `mmas`, with all selectors and a selection of the
    other modifiers. Without a `seed`, each hunt has a new one. `against` names a chip whose model takes the
    place of the GPU, which shows where two chips differ; `runner` is any function that takes the operation
    and returns the registers of D. After `seconds` the hunt ends with what it has compared. The workers of an
    `executor`, like those of `concurrent.futures`, compare each on its own GPU; the result is the same.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> hunt(ins, mmas=1000, against="sm_80").found
    False
    """
    ins = parse_product(ins)
    sides = _Sides(model, against, runner)
    if executor is None:
        machine, model = sides.checked(ins)
    else:
        check_executor(executor)
        machine, model = executor.submit(sides.checked, ins).result()
    sides = replace(sides, model=model)
    chip = emulator.model_of(ins, model).chip
    categories = _checked_categories(ins, categories)
    mmas = as_int(mmas, "mmas")
    if mmas < 1:
        raise PtxlabError(f"mmas={quoted(mmas)}: compare at least one")
    seed = secrets.randbits(31) if seed is None else as_int(seed, "seed")
    if seconds is not None:
        seconds = as_seconds(seconds, "seconds")
    start, compared = time.monotonic(), 0
    difference = None
    chunks = _plan(ins, categories, mmas)
    if seconds is not None:
        limit = start + seconds
        chunks = takewhile(lambda chunk: time.monotonic() <= limit, chunks)
    compare = partial(_compare, sides, seed)
    results = ((chunk, compare(chunk)) for chunk in chunks)
    if executor is not None:
        results = in_order(executor, compare, chunks)
    with bar(mmas, "MMAs", show=show) as tick:
        chunk, first = None, None
        with closing(results):  # cancels what other workers have begun
            for chunk, first in results:
                if first is not None:
                    break
                compared += chunk.size
                tick(chunk.size, chunk.category)
        if chunk is not None and first is not None:
            index, case = first
            tick(index + 1, f"{chunk.category}: a difference, shrinking")
            difference = _shrunk(sides.comparator(executor), case, chunk.category, compared + index)
            compared += index + 1
    elapsed = time.monotonic() - start
    return Report(ins, chip, machine, seed, categories, compared, elapsed, model, difference)


def find_difference(
    ins: Product | str,
    model: str | None = None,
    against: str | None = None,
    *,
    modifiers: Modifiers | None = None,
    seconds: float = 1.0,
    seed: int = 0,
) -> Report:
    """A small case on which two chips differ, found in about `seconds` seconds, for interactive use.

    `model` and `against` are as in `hunt`. The instruction is issued with these `modifiers` only. The same
    `seed` gives the same case, unless the time ends before it is reduced.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> report = find_difference(ins, "sm_90", "sm_80", seconds=20)
    >>> len(report.difference.elements) < 8
    True
    """
    ins = parse_product(ins)
    sides = _Sides(model, against, None)
    machine, model = sides.checked(ins)
    sides = replace(sides, model=model)
    seconds, seed = as_seconds(seconds, "seconds"), as_int(seed, "seed")
    configuration = Configuration(ins, Modifiers() if modifiers is None else modifiers)
    ins.check_modifiers(configuration.modifiers)
    categories = tuple(sorted(_all_categories(ins), key=lambda category: category not in _READABLE))
    start = time.monotonic()
    comparator = sides.comparator()
    compared, difference = 0, None
    chunks = _quick_plan(configuration, categories)
    with compiled.backend("numpy"):  # numba would need seconds to compile
        for chunk in takewhile(lambda chunk: time.monotonic() <= start + seconds, chunks):
            first = _first_difference(comparator, chunk, seed)
            if first is not None:
                index, case = first
                comparator.until = max(start, time.monotonic() - seconds / 2) + seconds
                difference = _shrunk(comparator, case, chunk.category, compared + index, keep_modifiers=True)
                compared += index + 1
                break
            compared += chunk.size
    chip = emulator.model_of(ins, model).chip
    elapsed = time.monotonic() - start
    return Report(ins, chip, machine, seed, categories, compared, elapsed, model, difference)


def _quick_plan(configuration: Configuration, categories: Sequence[str]) -> Iterator[_Chunk]:
    """Chunks of all categories in turn, small ones first."""
    ins = configuration.ins
    products = ins.d.shape[0] * ins.n * ins.k
    largest = max(min(batch_size(ins), _QUICK_PRODUCTS // products), 1)
    for number in count():
        size = min(_FIRST_BATCH << min(number, 20), largest)
        for category in categories:
            yield _Chunk(category, configuration, size, number)


@dataclass(frozen=True)
class _Sides:
    """The two sides of a comparison: the emulator's model, and the GPU or what takes its place."""

    model: str | None
    against: str | None
    runner: Runner | None

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


def _all_categories(ins: Product) -> tuple[str, ...]:
    return (*inputs.categories(ins), *inputs.directed_categories(ins))


def _checked_categories(ins: Product, categories: Sequence[str] | None) -> tuple[str, ...]:
    """The categories to search, each once; all of them if none are named."""
    known = _all_categories(ins)
    if categories is None:
        return known
    categories = as_names(categories, "categories")
    unknown = [category for category in categories if category not in known]
    if not categories:
        unknown = [""]
    if unknown:
        raise PtxlabError(f"unknown category {quoted(unknown[0])}; {ins.mnemonic} has {listing(known, 20)}")
    return tuple(dict.fromkeys(categories))


class _Chunk(NamedTuple):
    """MMAs that are compared together; `number` counts the chunks of a category."""

    category: str
    configuration: Configuration
    size: int
    number: int


def _compare(sides: _Sides, seed: int, chunk: _Chunk) -> tuple[int, Case] | None:
    """`_first_difference` on a worker, with a comparator of its own."""
    return _first_difference(sides.comparator(), chunk, seed)


def _plan(ins: Product, categories: Sequence[str], mmas: int) -> Iterator[_Chunk]:
    """Chunks of all categories in turn, each with the next configuration."""
    choices = configurations(ins)
    share = -(-mmas // len(categories))
    step = max(min(batch_size(ins), -(-share // len(choices))), 1)
    remaining = mmas
    for number in count():
        for index, category in enumerate(categories):
            size = min(step, share - number * step, remaining)
            if size > 0:
                yield _Chunk(category, choices[(number + index) % len(choices)], size, number)
                remaining -= size
        if number * step >= share or remaining <= 0:
            return


def configurations(ins: Product | str) -> list[Configuration]:
    """Ways to issue the instruction, the default first.

    These are all selectors or, for wgmma and block scales, a selection with every value of every modifier.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> [configuration.modifiers.selector for configuration in configurations(ins)]
    [0, 1]
    """
    ins = parse_product(ins)
    is_warpgroup = isinstance(ins, MmaForm) and ins.lanes == 128
    forms: list[Product] = [ins]
    if isinstance(ins, MmaForm) and is_warpgroup and ins.a_space == "register":
        forms.append(ins.a_from("shared"))
    options: dict[str, Sequence[int]] = {
        name: values for name, values in forms[-1].modifiers.items() if len(values) > 1
    }
    for name in ("scale_d", "enable_input_d"):
        if name in options:
            options[name] = (True, True, True, False)  # rarely without C, which leaves less to compare
    if not is_warpgroup and not options:
        return [Configuration(ins, Modifiers())]
    if not is_warpgroup and list(options) == ["selector"]:
        return [Configuration(ins, Modifiers(selector=selector)) for selector in ins.selectors]
    shuffled = {name: _shuffled(name, values) for name, values in options.items()}
    chosen = [Configuration(ins, Modifiers())]
    for number in range(1, _CONFIGURATIONS):
        form = forms[number % len(forms)]
        modifiers = {
            name: values[number]
            for name, values in shuffled.items()
            if values[number] in form.modifiers[name]
        }
        swizzles = (modifiers.pop("swizzle", 0), *form.modifiers["swizzle"])
        candidates = (
            Configuration(form, Modifiers.from_keywords({**modifiers, "swizzle": swizzle}))
            for swizzle in swizzles
        )
        chosen.append(next(candidate for candidate in candidates if candidate.legal))
    return list(dict.fromkeys(chosen))


def _shuffled(name: str, values: Sequence[int]) -> list[int]:
    """A value for every configuration, each equally often, shuffled by the name; the default first."""
    keyed = [
        (hashlib.sha256(f"{name} {number}".encode()).digest(), values[number % len(values)])
        for number in range(1, _CONFIGURATIONS)
    ]
    return [values[0], *(value for _, value in sorted(keyed, key=lambda pair: pair[0]))]


def _first_difference(comparator: Comparator, chunk: _Chunk, seed: int) -> tuple[int, Case] | None:
    """The first MMA of a chunk on which the two sides differ, with the first element of D that does."""
    ins, modifiers = chunk.configuration
    chunk_seed = seed + (chunk.number << 64)
    operation = inputs.make(ins, chunk.category, chunk.size, chunk_seed, modifiers.selector, quick=True)
    operation = replace(operation, modifiers=modifiers)
    emulated, measured = comparator.run(operation)
    if isinstance(ins, Tcgen05Mma):  # words of tensor memory may hold more than D
        emulated, measured = ins.d.unpack_codes(emulated), ins.d.unpack_codes(measured)
    differs = (emulated != measured).any(axis=(1, 2))
    if not differs.any():
        return None
    index = int(differs.argmax())
    registers = dict(zip(ins.inputs, operation.item(index).arrays.values(), strict=True))
    emulated, measured = emulated[index], measured[index]
    if not isinstance(ins, Tcgen05Mma):
        emulated, measured = ins.d.unpack_codes(emulated), ins.d.unpack_codes(measured)
    row, col = np.argwhere(emulated != measured)[0].tolist()
    in_registers = Case(chunk.configuration, row, col, registers, in_registers=True)
    codes = {argument: in_registers.element_codes(argument).copy() for argument in registers}
    case = Case(chunk.configuration, row, col, codes)
    return index, case if comparator.differs(case) else in_registers


def _shrunk(
    comparator: Comparator, case: Case, category: str, index: int, *, keep_modifiers: bool = False
) -> Difference:
    before = comparator.launches
    smallest = shrink(case, comparator, keep_modifiers=keep_modifiers)
    comparator.until = float("inf")
    emulated, measured = comparator.element(smallest)
    return Difference(smallest, emulated, measured, category, index, comparator.launches - before)
