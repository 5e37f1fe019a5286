"""Matrices in registers: what reads and writes the operands of matrix instructions, for whole warps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..isa.mma import MmaForm
from ..isa.operand import Operand as MatrixOperand
from ..isa.parse import parse
from ..isa.transfer import TransferForm
from .machine import Frame, Machine
from .operands import Context, Read, Write, items_of, readers, unsupported, writer
from .ptx import Immediate, Instruction, Operand
from .threads import Threads


def mma_form(instruction: Instruction) -> MmaForm:
    """The entry of the catalogue that a multiplying instruction is."""
    form = _form(instruction)
    if not isinstance(form, MmaForm):
        raise unsupported(instruction)
    return form


def transfer_form(instruction: Instruction) -> TransferForm:
    """The entry of the catalogue that an instruction is which loads, stores or transposes a matrix."""
    form = _form(instruction)
    if not isinstance(form, TransferForm):
        raise unsupported(instruction)
    return form


def _form(instruction: Instruction) -> MmaForm | TransferForm:
    try:
        return parse(instruction.opcode)
    except PtxlabError as error:
        raise PtxlabError(f"{instruction.where}: {error}") from None


def gather(
    reads: Sequence[Read], machine: Machine, frame: Frame, threads: Threads, lanes: int, dtype: Any
) -> NDArray[Any]:
    """Registers of whole warps or warpgroups: [groups, lanes, registers]."""
    columns = np.empty((threads.count, len(reads)), dtype=dtype)
    for number, read in enumerate(reads):
        columns[:, number] = read(machine, frame, threads)
    return columns.reshape(-1, lanes, len(reads))


def scatter(writes: Sequence[Write], frame: Frame, threads: Threads, registers: NDArray[Any]) -> None:
    """Write registers of whole warps or warpgroups, [groups, lanes, registers]."""
    flat = registers.reshape(threads.count, len(writes))
    for number, write in enumerate(writes):
        write(frame, threads, np.ascontiguousarray(flat[:, number]))


def whole_groups(threads: Threads, lanes: int) -> Threads:
    """The threads, padded with lanes that have ended so that each warp or warpgroup has all of its lanes."""
    if threads.index is None or not len(threads.index):
        return threads
    groups = np.unique(threads.index // lanes)
    if len(groups) * lanes == threads.count:
        return threads
    return Threads(threads.batch, (groups[:, None] * lanes + np.arange(lanes)).reshape(-1))


def read_matrix(
    operand: Operand,
    matrix: MatrixOperand,
    instruction: Instruction,
    context: Context,
    letters: str | None = None,
) -> tuple[Read, ...]:
    """What reads the registers of a matrix, of which there must be as many as the catalogue says."""
    items = _checked(operand, matrix, instruction)
    return readers(items, matrix.register_bits, instruction, context, letters)


def write_matrix(
    operand: Operand, matrix: MatrixOperand, instruction: Instruction, letters: str | None = None
) -> tuple[Write, ...]:
    """What writes the registers of a matrix; as `read_matrix`."""
    return tuple(
        writer(item, instruction, letters=letters) for item in _checked(operand, matrix, instruction)
    )


def _checked(operand: Operand, matrix: MatrixOperand, instruction: Instruction) -> Sequence[Operand]:
    items = items_of(operand)
    if len(items) != matrix.registers:
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode}: {matrix.name} takes {matrix.registers} registers, "
            f"found {len(items)}"
        )
    return items


def constant(operand: Operand, instruction: Instruction) -> int:
    """The number that an operand is; nothing else may stand there."""
    if not isinstance(operand, Immediate):
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes a constant here")
    return operand.value


def codes_of(rows: NDArray[np.uint8], bits: int, count: int) -> NDArray[Any]:
    """The first `count` elements of rows of bytes; the first is in the lowest bits."""
    if bits >= 8:
        return rows.view(f"<u{bits // 8}")[..., :count]
    single = np.unpackbits(rows, axis=-1, bitorder="little")[..., : count * bits]
    weights = (1 << np.arange(bits)).astype(np.uint8)
    return np.asarray(single.reshape(*rows.shape[:-1], count, bits) @ weights)
