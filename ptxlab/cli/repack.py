"""`ptxlab repack`: from the registers of one operand to those of another."""

from __future__ import annotations

import argparse
import re

from .. import views
from ..errors import PtxlabError, counted
from ..isa.dtypes import DType
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse
from ..isa.repack import PlanStep, Repack, Tiles, repack, step_text
from .names import find_operand
from .output import Style, as_json, check_no_title
from .streams import Utf8


def repack_plan(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab repack`: the plan as text, JSON, CUDA C++ or a picture."""
    check_no_title(args)
    source, target = _operand(args.source, ("D", "R", "A")), _operand(args.target, ("A", "R", "D"))
    plan = _plan(source, target)
    if args.format == "cuda":
        return plan.source.rstrip("\n")
    if args.format == "json":
        return as_json(_facts(plan))
    if args.format == "svg":
        return Utf8(views.repack(plan).with_title(not args.no_title).svg().rstrip("\n"))
    counts = ", ".join(counted(count, kind) for kind, count in plan.counts.items())
    lines = [
        style.bold(plan.describe()),
        f"  {plan.moved} of {plan.elements} elements change lanes; {counts or 'registers stay as they are'}",
        "",
        *(f"  {step_text(step)}" for step in plan.steps),
    ]
    return "\n".join(lines)


def _operand(text: str, defaults: tuple[str, ...]) -> Operand:
    """An operand as people type it: INSTRUCTION:D, or the instruction alone for the usual one."""
    named = re.fullmatch(r"(.*[^:]):(\w+)", text.strip(), re.DOTALL)
    if named is not None and not named[2].isdigit() and len(named[2]) <= 10:
        instruction, name = named[1], named[2]
    else:
        instruction, name = text, ""
    form = parse(instruction)
    if isinstance(form, MmaForm) and form.family.startswith("wgmma"):
        form = form.a_from("register")
    name = name or next((letter for letter in defaults if letter in form.operands), "A")
    operand = find_operand(form, name)
    if operand.layout is None:
        raise PtxlabError(
            f"{name} of {form.mnemonic} lies in shared memory: only operands in registers can be repacked"
        )
    return operand


def _plan(source: Operand, target: Operand) -> Repack:
    """The plan for as many tiles of the smaller side as the larger one has room for.

    A row of ldmatrix with .trans may be wider than that; then there are more of both.
    """
    if "R" not in (source.name, target.name):
        return repack(_grid(source, target.shape), _grid(target, source.shape))
    bits = [operand.shape[0] * operand.shape[1] * operand.width for operand in (source, target)]
    counts = max(1, bits[1] // bits[0]), max(1, bits[0] // bits[1])
    refusals = []
    for factor in (1, 2, 4, 8) if source.lanes == target.lanes else (1,):
        try:
            return repack(_repeated(source, counts[0] * factor), _repeated(target, counts[1] * factor))
        except PtxlabError as error:
            refusals.append(error)
    raise refusals[-1]


def _repeated(operand: Operand, count: int) -> Tiles:
    if count < 2:
        return operand
    down = operand.axes[1].lower() == "k" or operand.name == "R"
    return [[operand] for _ in range(count)] if down else [operand for _ in range(count)]


def _grid(operand: Operand, shape: tuple[int, int]) -> Tiles:
    rows, columns = (max(1, size // own) for size, own in zip(shape, operand.shape, strict=True))
    return [[operand for _ in range(columns)] for _ in range(rows)]


def _facts(plan: Repack) -> dict[str, object]:
    return {
        "source": [operand.describe() for operand in plan.sources],
        "target": [operand.describe() for operand in plan.targets],
        "lanes": plan.lanes,
        "elements": plan.elements,
        "moved": plan.moved,
        "counts": plan.counts,
        "steps": [_step(step) for step in plan.steps],
        "cuda": plan.source,
    }


def _step(step: PlanStep) -> dict[str, object]:
    fields = {name: _plain(value) for name, value in vars(step).items()}
    return {"step": type(step).__name__.lower(), **fields}


def _plain(value: object) -> object:
    """Element types by name; registers and lanes as they are."""
    return value.name if isinstance(value, DType) else value
