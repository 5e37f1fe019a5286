"""What functions that draw and list take: an instruction of a kind, one of its operands, a matrix."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from .._util.arguments import is_a
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Form, TensorTransfer
from ..isa.tensor_operand import AnyOperand


def as_product(ins: Form | str) -> Product:
    """An instruction that multiplies, or an error that names the figures of one that does not.

    >>> as_product("tcgen05.ld.sync.aligned.32x32b.x1.b32")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: tcgen05.ld.sync.aligned.32x32b.x1.b32 multiplies no matrices; \
figures.tensor_registers and figures.lane draw its registers
    """
    form = parse_any(ins)
    if isinstance(form, Product):
        return form
    raise PtxlabError(f"{form.mnemonic} multiplies no matrices; {figures_of(form)}")


def as_tcgen05(ins: Form | str) -> Tcgen05Form:
    """An instruction that works in tensor memory, or an error.

    >>> as_tcgen05("tcgen05.shift.cta_group::1.down").family
    'tcgen05.shift'
    """
    form = parse_any(ins)
    if not isinstance(form, Tcgen05Form):
        raise PtxlabError(f"{form.mnemonic} does not work in tensor memory; tcgen05 does")
    return form


def figures_of(form: Form) -> str:
    """The figures of an instruction that does not multiply, as the end of a sentence."""
    if isinstance(form, TensorTransfer) and form.compresses:
        return "which values its registers keep depends on them all, and ins.emulate(words) gives them"
    if form.tensors:
        return f"figures.tensor_memory draws {listing(form.tensors)}, what it writes"
    if not form.operands:
        return "figures.tensor_memory draws what tcgen05.mma has there"
    if any(operand.holds_words for operand in form.operands.values()):
        return "figures.tensor_registers and figures.lane draw its registers"
    return f"figures.fragment draws {listing(form.operands)}, which it transfers"


def product_operand(ins: Product, name: str) -> AnyOperand:
    """The operand of a matrix, in upper or lower case; a sparse "A" is dense, "stored" compressed.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16")
    >>> [product_operand(ins, name).shape for name in ("A", "stored", "E")]
    [(128, 32), (128, 16), (128, 8)]
    """
    if is_a(name, str) and name == "stored":
        return ins.a
    every: dict[str, AnyOperand] = {"A": ins.a_dense}
    others = (ins.b, ins.c, ins.d, ins.e, ins.scale_a, ins.scale_b)
    every |= {other.name: other for other in others if other is not None}
    operand = every.get(name.upper()) if is_a(name, str) else None
    if operand is None:
        raise PtxlabError(f"{ins.full_name} has no operand {quoted(name)}; it has {listing(every)}")
    return operand


def one_matrix(op: AnyOperand, matrix: ArrayLike) -> NDArray[Any]:
    """A matrix for a picture: values of an operand, without batch axes."""
    array = op.check_matrix(matrix)
    if array.ndim != 2:
        raise PtxlabError(
            f"{op.name}: found shape {array.shape}; a picture shows one matrix, {op.shape[0]}x{op.shape[1]}"
        )
    return array
