"""What the Explorer starts with: a product of random matrices, or a transfer of words that are addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._util.arguments import as_int
from ...isa.catalog import Product
from ...isa.operation import Operation
from ...isa.tcgen05 import TensorTransfer
from ...isa.tensor_operand import LANES, split_address
from ...isa.transfer import Transfer
from .document import Document
from .fills import check_seed, filled, start_code
from .forms import AnyTransfer, Explorable
from .matrix_transfer import MatrixTransfer
from .product_document import ChipChoice, ProductDocument
from .tensor_transfer import (
    REGISTERS,
    SHARED_MEMORY,
    CopyTransfer,
    LoadTransfer,
    ShiftTransfer,
    StoreTransfer,
    TensorMemoryTransfer,
    shown_columns,
)
from .transfer_document import READ_AS, TransferDocument, TransferSide

_TENSOR_TRANSFERS: dict[str, type[TensorMemoryTransfer]] = {
    "tcgen05.ld": LoadTransfer,
    "tcgen05.st": StoreTransfer,
    "tcgen05.cp": CopyTransfer,
    "tcgen05.shift": ShiftTransfer,
}


def first_document(ins: Explorable, seed: int, random: np.random.Generator) -> Document:
    """What the Explorer opens an instruction with: of the kind that the instruction is."""
    if isinstance(ins, Product):
        return product_document(first_operation(ins, random))
    return first_transfer(ins, seed=seed)


def product_document(operation: Operation) -> ProductDocument:
    """A product as the Explorer opens it: D is that of the default chip."""
    ins = operation.ins
    if TYPE_CHECKING:
        assert isinstance(ins, Product)
    return ProductDocument(ins, operation, ChipChoice(ins))


def first_operation(ins: Product, random: np.random.Generator) -> Operation:
    """A product with random A and B, C = 0, and scales of 1."""
    arrays: dict[str, Any] = {
        argument: operand.pack_codes(np.full(operand.shape, start_code(operand)))
        for argument, operand in ins.inputs.items()
    }
    operation = Operation(ins, **arrays)
    for name in ("A", "B"):
        operation = filled(operation, name, "random", random)
    return operation


def first_transfer(
    ins: AnyTransfer, address: int = 0, split: int | None = None, seed: int = 0
) -> TransferDocument:
    """A transfer whose words are their own addresses; numbers, where a reduction compares them."""
    lane, column = split_address(as_int(address, "address"))
    seed = check_seed(seed)
    random = np.random.default_rng(seed)
    if isinstance(ins, Transfer):
        operand = ins.register_operand
        shape = ins.lines
        if "registers" in ins.inputs and operand.layout is not None:
            shape = (ins.lanes, operand.layout.elements)
        zeros = np.zeros(shape, operand.dtype.code_type)
        matrix = MatrixTransfer(ins, zeros, None, (None,), operand.dtype.name, seed)
        if operand.dtype.bits == 1:
            return matrix.filled("A", "random", random)
        return matrix.filled("A", "addresses" if operand.dtype.kind == "bits" else "counting", random)
    kind = _TENSOR_TRANSFERS[ins.family]
    element = ins.type if ins.reduction and ins.type in READ_AS[32] else "b32"
    empty = kind(ins, np.zeros((0, 0), dtype=np.uint32), None, (0, 0, None), element, seed)
    source, target = (np.zeros(_shape(side, ins), dtype=np.uint32) for side in empty.source_and_target)
    transfer = replace(empty, a=source, c=target if kind.keeps_target else None)
    transfer = transfer.filled("A", "random" if ins.reduction else "addresses", random)
    return transfer.with_location(lane, column, split)


def _shape(side: TransferSide, ins: TensorTransfer) -> tuple[int, int]:
    """Rows and columns of what an instruction reads or writes."""
    if side is REGISTERS:
        return LANES, ins.registers
    if side is SHARED_MEMORY:
        rows, words = replace(ins, source="").tensor("T").shape
        return rows, words
    return LANES, shown_columns(ins)
