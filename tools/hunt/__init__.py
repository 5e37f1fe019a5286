"""The hunt for a difference between emulator and GPU: category by category, until enough is compared.

`python -m tools.hunt INSTRUCTION` hunts in one instruction, `python -m tools.hunt_all` in every one of a GPU.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count, takewhile
from typing import TYPE_CHECKING

from ptxlab._util.arguments import as_int, as_names, as_seconds
from ptxlab._util.progress_bar import bar
from ptxlab._util.threads import check_executor, in_order
from ptxlab.differences.case import Case, Comparator, Configuration, Runner, batch_size
from ptxlab.differences.search import Chunk, Sides, all_categories, first_difference
from ptxlab.differences.shrink import shrink
from ptxlab.errors import PtxlabError, listing, quoted
from ptxlab.isa.catalog import Product
from ptxlab.isa.mma import Instruction
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.parse import parse_product
from ptxlab.numerics import emulate as emulator

from .report import Difference, Report

if TYPE_CHECKING:
    from concurrent.futures import Executor

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
    sides = Sides(model, against, runner)
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


def _checked_categories(ins: Product, categories: Sequence[str] | None) -> tuple[str, ...]:
    """The categories to search, each once; all of them if none are named."""
    allowed = all_categories(ins)
    if categories is None:
        return allowed
    categories = as_names(categories, "categories")
    unknown = [category for category in categories if category not in allowed]
    if not categories:
        unknown = [""]
    if unknown:
        raise PtxlabError(f"unknown category {quoted(unknown[0])}; {ins.mnemonic} has {listing(allowed, 20)}")
    return tuple(dict.fromkeys(categories))


def _compare(sides: Sides, seed: int, chunk: Chunk) -> tuple[int, Case] | None:
    """`first_difference` on a worker, with a comparator of its own."""
    return first_difference(sides.comparator(), chunk, seed)


def _plan(ins: Product, categories: Sequence[str], mmas: int) -> Iterator[Chunk]:
    """Chunks of all categories in turn, each with the next configuration."""
    choices = configurations(ins)
    share = -(-mmas // len(categories))
    step = max(min(batch_size(ins), -(-share // len(choices))), 1)
    remaining = mmas
    for number in count():
        for index, category in enumerate(categories):
            size = min(step, share - number * step, remaining)
            if size > 0:
                yield Chunk(category, choices[(number + index) % len(choices)], size, number)
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
    is_warpgroup = isinstance(ins, Instruction) and ins.lanes == 128
    forms: list[Product] = [ins]
    if isinstance(ins, Instruction) and is_warpgroup and ins.a_space == "register":
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


def _shrunk(comparator: Comparator, case: Case, category: str, index: int) -> Difference:
    before = comparator.launches
    smallest = shrink(case, comparator)
    emulated, measured = comparator.element(smallest)
    return Difference(smallest, emulated, measured, category, index, comparator.launches - before)
