"""The hunt itself: category after category, chunk after chunk, until the two disagree or enough has been compared."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count as counting
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import gpu
from ..._util.progress import bar
from ...errors import PtxlabError, listing
from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.operands import Operands
from ...numerics import emulate as emulator
from .. import inputs
from .case import Case, Judge, Runner, Setting, room
from .report import Difference, Report
from .shrink import shrink

__all__ = ["hunt", "settings"]

_SETTINGS = 8  # ways to run an instruction that has several modifiers; each is a kernel of its own


def hunt(
    ins: MmaForm,
    *,
    mmas: int = 100_000,
    seed: int | None = None,
    categories: Sequence[str] | None = None,
    model: str | None = None,
    against: str | None = None,
    runner: Runner | None = None,
    seconds: float | None = None,
    show: bool | None = None,
) -> Report:
    """Look for registers on which the emulator and the GPU disagree; the first is shrunk to the smallest case.

    All categories of `ptxlab.verify.inputs` get the same share of `mmas`, with every selector and a spread of the other modifiers in turn. The
    seed is fresh unless given. `against` names a chip whose model takes the place of the GPU, and shows where two chips differ;
    `runner` is any other that takes what `ptxlab.gpu.run` takes. After `seconds` it stops with what was compared until then.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> hunt(ins, mmas=1000, against="sm_80").found
    False
    """
    judge, machine, model = _sides(ins, model, against, runner)
    chip = emulator.model_of(ins, model).chip
    chosen = _chosen(ins, categories)
    if mmas < 1:
        raise PtxlabError(f"mmas={mmas}: compare at least one")
    seed = secrets.randbits(31) if seed is None else seed
    start, done = time.monotonic(), 0
    difference = None
    with bar(mmas, "MMAs", show=show) as tick:
        for category, setting, size, part in _plan(ins, chosen, mmas):
            if seconds is not None and time.monotonic() - start > seconds:
                break
            found = _compare(judge, setting, category, size, seed + (part << 64))
            if found is not None:
                index, case = found
                tick(index + 1, f"{category}: a difference, shrinking")
                difference = _smallest(judge, case, category, done + index)
                done += index + 1
                break
            done += size
            tick(size, category)
    return Report(ins, chip, machine, seed, chosen, done, time.monotonic() - start, model, difference)


def _sides(
    ins: MmaForm, model: str | None, against: str | None, runner: Runner | None
) -> tuple[Judge, str, str | None]:
    """The judge of emulator and machine, the machine's name, and the emulator's model where it must be named."""
    if runner is not None and against is not None:
        raise PtxlabError("either `runner` or `against` takes the place of the GPU, not both")
    if against is not None:
        emulator.model_of(ins, against)
        return Judge(_model(model), _model(against)), f"the model of {against}", model
    if runner is not None:
        return Judge(_model(model), runner), getattr(runner, "__name__", "the runner"), model
    if not gpu.available(ins):
        raise PtxlabError(
            f"a hunt compares with a GPU: {gpu.status(ins)}; `against` (--against CHIP) compares two chips' models without one"
        )
    if model is None and emulator.model_of(ins).chip != gpu.model(
        ins
    ):  # otherwise it is what `emulate` takes anyway
        model = gpu.model(ins)
    return Judge(_model(model), gpu.run), gpu.status(ins).removesuffix(" is ready"), model


def _model(chip: str | None) -> Runner:
    """The emulator with that model, in the shape of `gpu.run`."""

    def emulate(operands: Operands) -> NDArray[Any]:
        return emulator.emulate(operands, model=chip)

    return emulate


def _chosen(ins: MmaForm, categories: Sequence[str] | None) -> tuple[str, ...]:
    every = (*inputs.categories(ins), *inputs.directed_categories(ins))
    if categories is None:
        return every
    unknown = [name for name in categories if name not in every]
    if unknown or not categories:
        raise PtxlabError(
            f"unknown category {(unknown or [''])[0]!r}; {ins.mnemonic} has {listing(every, 20)}"
        )
    return tuple(dict.fromkeys(categories))


def _plan(ins: MmaForm, categories: Sequence[str], mmas: int) -> Iterator[tuple[str, Setting, int, int]]:
    """(category, setting, how many, number of the part): all categories in turn, in chunks, each chunk with the next setting."""
    ways = settings(ins)
    share = -(-mmas // len(categories))
    step = max(min(room(ins), -(-share // len(ways))), 1)
    left = mmas
    for part in counting():
        for at, category in enumerate(categories):
            size = min(step, share - part * step, left)
            if size > 0:
                yield category, ways[(part + at) % len(ways)], size, part
                left -= size
        if part * step >= share or left <= 0:
            return


def settings(ins: MmaForm) -> list[Setting]:
    """Ways to run it: all selectors, or a spread over selectors, scales, transposes, swizzles and places of A; the first is the plain one.

    >>> import ptxlab
    >>> [setting.modifiers.selector for setting in settings(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))]
    [0, 1]
    >>> len(settings(ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")))
    8
    """
    group = ins.lanes == 128
    forms = [ins, ins.a_from("shared")] if group and ins.a_space == "register" else [ins]
    options: dict[str, tuple[Any, ...]] = {
        name: values for name, values in forms[-1].modifiers.items() if len(values) > 1
    }
    if "scale_d" in options:
        options["scale_d"] = (True, True, True, False)  # without C there is less to be wrong
    if not options and not group:
        return [Setting(ins, Modifiers())]
    if list(options) == ["selector"] and not group:
        return [Setting(ins, Modifiers(selector=selector)) for selector in ins.selectors]
    spread = {name: _spread(name, values) for name, values in options.items()}
    found = [Setting(ins, Modifiers())]
    for way in range(1, _SETTINGS):
        form = forms[way % len(forms)]
        picked = {name: values[way] for name, values in spread.items() if values[way] in form.modifiers[name]}
        swizzles = (picked.pop("swizzle", 0), *form.modifiers["swizzle"])
        tried = (Setting(form, Modifiers(**picked, swizzle=swizzle)) for swizzle in swizzles)
        found.append(next(setting for setting in tried if setting.legal))
    return list(dict.fromkeys(found))


def _spread(name: str, values: Sequence[Any]) -> list[Any]:
    """The values, each equally often, in an order of its own; the first stays the first."""
    rest = [
        (hashlib.sha256(f"{name} {way}".encode()).digest(), values[way % len(values)])
        for way in range(1, _SETTINGS)
    ]
    return [values[0], *(value for _, value in sorted(rest, key=lambda pair: pair[0]))]


def _compare(judge: Judge, setting: Setting, category: str, size: int, seed: int) -> tuple[int, Case] | None:
    """The first MMA of a chunk on which the two disagree, with the first element of D that differs."""
    ins, modifiers = setting
    operands = replace(
        inputs.make(ins, category, size, seed, modifiers.selector, quick=True), modifiers=modifiers
    )
    emulated, run = judge.registers(operands)
    if np.array_equal(emulated, run):
        return None
    index = int((emulated != run).any(axis=(1, 2)).argmax())
    registers = {name: getattr(operands, name)[index] for name in ins.inputs}
    row, col = (
        int(at)
        for at in np.argwhere(ins.d.unpack_codes(emulated[index]) != ins.d.unpack_codes(run[index]))[0]
    )
    packed = Case(setting, row, col, registers, packed=True)
    case = Case(setting, row, col, {name: packed.codes_of(name).copy() for name in registers})
    return index, case if judge.any_of([case])[0] else packed


def _smallest(judge: Judge, case: Case, category: str, index: int) -> Difference:
    before = judge.launches
    small = shrink(case, judge)
    emulated, run = judge.element(small)
    return Difference(small, emulated, run, category, index, judge.launches - before)
