"""Registers in, registers out, bit for bit as the chip gives them, without the chip."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_text
from .._util.threads import check_executor, for_each, in_order, thread_count
from ..isa.operation import Operation
from ..isa.parse import parse_product
from ..isa.product_form import ProductForm
from ..isa.targets import CHIPS
from .compiled import serves
from .models import Model, find_model, has
from .rules import Exact
from .rules.base import Rule, of_turns

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Products that a thread works on at once: few enough to stay in its cache, and a large batch takes no more
#: memory than a small one. A compiled loop divides its part itself.
_AT_ONCE = {"exact": 1 << 23, "rounded": 1 << 22, "compiled": 1 << 23}
_LEAST = 1 << 20  # products that are worth a thread
_TASK_BYTES = 2 << 20  # registers that a task of an executor reads and writes


def emulate(
    operands: Operation, *, model: str | None = None, executor: Executor | None = None
) -> NDArray[Any]:
    """Registers of D, bit for bit as the chip `model` computes them; see `Instruction.emulate`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ones = np.full((32, 4), 0x11111111), np.full((32, 2), 0x11111111)
    >>> emulate(Operation.of(ins, *ones, np.zeros((32, 4), dtype=np.uint32)))[5]
    array([64, 64, 64, 64], dtype=uint32)
    """
    ins, count = operands.ins, operands.count
    rule = _model(ins, model).rule
    step = _step(ins, rule, count)
    if 0 < count <= step and executor is None:
        return rule.run(operands.part(0, count)).reshape(*operands.batch, *ins.d.stored_shape)
    out = np.empty((count, *ins.d.stored_shape), dtype=ins.d.register_type)

    def work(first: int) -> None:
        last = min(first + step, count)
        out[first:last] = rule.run(operands.part(first, last))

    if executor is None:
        for_each(work, range(0, count, step))
    else:
        check_executor(executor)
        first = 0
        with closing(in_order(executor, partial(emulate, model=model), _parts(operands))) as results:
            for _, d in results:
                out[first : first + len(d)] = d
                first += len(d)
    return out.reshape(*operands.batch, *out.shape[1:])


def codes_of_d(operation: Operation, model: str) -> NDArray[Any]:
    """Codes of D by the model of a chip, computed once for an operation.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> operation = Operation.from_matrices(ins, np.ones((16, 16)), np.ones((16, 8)))
    >>> hex(codes_of_d(operation, "sm_80")[0, 0]), list(operation.results)
    ('0x41800000', ['sm_80'])
    """
    codes = operation.results.get(model)
    if codes is None:
        registers = emulate(operation, model=model)
        codes = operation.results[model] = operation.ins.d.from_registers(registers)
    return codes


def accumulate(operands: Operation, *, model: str | None = None) -> NDArray[Any]:
    """Registers of D after each of several turns, D of one being C of the next: a loop over K.

    All operands but C have an axis of turns in front, and behind it one batch axis, which is C's; D is
    [turns, count, lanes, registers]. The bits are those that `emulate` gives, turn by turn.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> a, b, c = (np.zeros(shape, np.uint32) for shape in ((3, 1, 32, 4), (3, 1, 32, 2), (1, 32, 4)))
    >>> accumulate(Operation(ins, a + 0x11111111, b + 0x11111111, c))[:, 0, 0, 0]
    array([ 64, 128, 192], dtype=uint32)
    """
    ins, count, turns = operands.ins, len(operands.c), len(operands.a)
    rule = _model(ins, model).rule
    step = _step(ins, rule, count)
    if count <= step:
        return rule.accumulate(operands)
    out = np.empty((turns, count, *ins.d.stored_shape), dtype=ins.d.register_type)

    def work(first: int) -> None:
        part = slice(first, min(first + step, count))
        out[:, part] = rule.accumulate(of_turns(operands, (slice(None), part), operands.c[part]))

    for_each(work, range(0, count, step))
    return out


def _step(ins: ProductForm, rule: Rule, count: int) -> int:
    """How many of a batch a thread works on at once."""
    products = ins.d.shape[0] * ins.d.shape[1] * ins.k
    if isinstance(rule, Exact):
        return max(1, _AT_ONCE["exact"] // products)
    dtypes = ins.a.dtype, ins.b.dtype, ins.c.dtype, ins.d.dtype
    kind = "compiled" if serves(dtypes, count * products, ins.k) else "rounded"
    most, least = max(1, _AT_ONCE[kind] // products), max(1, _LEAST // products)
    return most if count <= least else min(most, max(least, -(-count // thread_count())))


def _parts(operands: Operation) -> Iterator[Operation]:
    """Parts of a batch for other processes or other machines: each holds everything that it needs."""
    arrays = operands.part(0, min(operands.count, 1)).arrays.values()
    size = sum(array.nbytes for array in arrays) + 4 * math.prod(operands.ins.d.stored_shape)
    step = max(1, _TASK_BYTES // size)
    for first in range(0, operands.count, step):
        last = min(first + step, operands.count)
        yield operands.part(first, last).compact()


def model_of(ins: ProductForm | str, model: str | None = None) -> Model:
    """The model that `emulate` uses.

    That of the named chip, or sm_90's, or that of a chip that has the instruction.

    >>> import ptxlab
    >>> model = model_of(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> model.chip, model.evidence
    ('sm_90', 'measured')
    """
    return _model(parse_product(ins), model)


def _model(ins: ProductForm, model: str | None) -> Model:
    return find_model(ins, _usual_chip(ins) if model is None else as_text(model, "model"))


@lru_cache(maxsize=4096)
def _usual_chip(ins: ProductForm) -> str:
    have = [chip for chip in CHIPS if has(ins, chip)] or ["sm_100"]  # which says what it lacks
    return next((chip for chip in ("sm_90", "sm_120") if chip in have), have[0])
