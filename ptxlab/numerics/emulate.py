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
from .fused_dispatch import uses_loop
from .models import Model, find_model, has
from .rules import Exact
from .rules.base import Rule, of_iterations

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Products that a thread works on at once: few enough to stay in its cache, and for a large batch to take no
#: more memory than a small one. A compiled loop divides its part itself.
_PRODUCTS_AT_ONCE = {"exact": 1 << 23, "rounded": 1 << 22, "compiled": 1 << 23}
_MIN_PRODUCTS = 1 << 20  # fewer are not worth a thread
_TASK_BYTES = 2 << 20  # registers that a task of an executor reads and writes


def emulate(
    operation: Operation, *, model: str | None = None, executor: Executor | None = None
) -> NDArray[Any]:
    """Registers of D, bit for bit as the chip `model` computes them; see `Instruction.emulate`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ones = np.full((32, 4), 0x11111111), np.full((32, 2), 0x11111111)
    >>> emulate(Operation.of(ins, *ones, np.zeros((32, 4), dtype=np.uint32)))[5]
    array([64, 64, 64, 64], dtype=uint32)
    """
    ins, count = operation.ins, operation.count
    rule = _model(ins, model).rule
    step = _part_size(ins, rule, count)
    if 0 < count <= step and executor is None:
        return rule.run(operation.part(0, count)).reshape(*operation.batch, *ins.d.stored_shape)
    out = np.empty((count, *ins.d.stored_shape), dtype=ins.d.register_type)

    def work(first: int) -> None:
        last = min(first + step, count)
        out[first:last] = rule.run(operation.part(first, last))

    if executor is None:
        for_each(work, range(0, count, step))
    else:
        check_executor(executor)
        first = 0
        with closing(in_order(executor, partial(emulate, model=model), _parts(operation))) as results:
            for _, d in results:
                out[first : first + len(d)] = d
                first += len(d)
    return out.reshape(*operation.batch, *out.shape[1:])


def codes_of_d(operation: Operation, model: str) -> NDArray[Any]:
    """Codes of D as the model of a chip gives them, computed once for an operation.

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


def accumulate(operation: Operation, *, model: str | None = None) -> NDArray[Any]:
    """Registers of D after each iteration of a loop over K, where D of one iteration is C of the next.

    All operands but C have an axis of iterations, then one batch axis, which C has too; D is [iterations,
    count, lanes, registers]. The bits are those that `emulate` gives, iteration by iteration.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> a, b, c = (np.zeros(shape, np.uint32) for shape in ((3, 1, 32, 4), (3, 1, 32, 2), (1, 32, 4)))
    >>> accumulate(Operation(ins, a + 0x11111111, b + 0x11111111, c))[:, 0, 0, 0]
    array([ 64, 128, 192], dtype=uint32)
    """
    ins, count, iterations = operation.ins, len(operation.c), len(operation.a)
    rule = _model(ins, model).rule
    step = _part_size(ins, rule, count)
    if count <= step:
        return rule.accumulate(operation)
    out = np.empty((iterations, count, *ins.d.stored_shape), dtype=ins.d.register_type)

    def work(first: int) -> None:
        part = slice(first, min(first + step, count))
        out[:, part] = rule.accumulate(of_iterations(operation, (slice(None), part), operation.c[part]))

    for_each(work, range(0, count, step))
    return out


def _part_size(ins: ProductForm, rule: Rule, count: int) -> int:
    """How many instructions of a batch a thread works on at once."""
    products = ins.d.shape[0] * ins.d.shape[1] * ins.k
    if isinstance(rule, Exact):
        return max(1, _PRODUCTS_AT_ONCE["exact"] // products)
    dtypes = ins.a.dtype, ins.b.dtype, ins.c.dtype, ins.d.dtype
    kind = "compiled" if uses_loop(dtypes, count * products, ins.k) else "rounded"
    most, least = max(1, _PRODUCTS_AT_ONCE[kind] // products), max(1, _MIN_PRODUCTS // products)
    return most if count <= least else min(most, max(least, -(-count // thread_count())))


def _parts(operation: Operation) -> Iterator[Operation]:
    """Parts of a batch to send to other processes or machines."""
    arrays = operation.part(0, min(operation.count, 1)).arrays.values()
    size = sum(array.nbytes for array in arrays) + 4 * math.prod(operation.ins.d.stored_shape)
    step = max(1, _TASK_BYTES // size)
    for first in range(0, operation.count, step):
        last = min(first + step, operation.count)
        yield operation.part(first, last).compact()


def model_of(ins: ProductForm | str, model: str | None = None) -> Model:
    """The model that `emulate` uses.

    It is that of the named chip; without a name that of sm_90, or of another chip that has the instruction.

    >>> import ptxlab
    >>> model = model_of(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> model.chip, model.evidence
    ('sm_90', 'measured')
    """
    return _model(parse_product(ins), model)


def _model(ins: ProductForm, model: str | None) -> Model:
    return find_model(ins, _default_chip(ins) if model is None else as_text(model, "model"))


@lru_cache(maxsize=4096)
def _default_chip(ins: ProductForm) -> str:
    chips = [chip for chip in CHIPS if has(ins, chip)] or ["sm_100"]  # `find_model` then says what is missing
    return next((chip for chip in ("sm_90", "sm_120") if chip in chips), chips[0])
