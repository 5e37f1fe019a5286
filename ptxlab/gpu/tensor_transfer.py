"""tcgen05.ld, .st, .cp and .shift on the GPU: words of tensor memory in, words or registers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, broadcast
from ..errors import PtxlabError, quoted
from ..isa.modifiers import Modifiers
from ..isa.tcgen05 import Tcgen05Transfer
from ..isa.tensor_memory import COLUMNS, LANES
from ..memory.descriptors import Descriptor, descriptor
from .codegen import tensor_transfer as code
from .codegen.tensor_ptx import operands
from .device import check_device, processors
from .launcher import Argument, Out, launch

__all__ = ["run_tensor_transfer", "tensor_blocks"]

_ARGUMENTS = {
    "tcgen05.ld": ("words",),
    "tcgen05.st": ("registers", "words"),
    "tcgen05.cp": ("memory", "descriptor", "words"),
    "tcgen05.shift": ("words",),
}


def tensor_blocks(cta_group: int, count: int) -> int:
    """Blocks for so many instructions of a group of one or two CTAs: fewer than multiprocessors.

    So no two wait for each other's tensor memory.
    """
    return min(count, max(processors() // 2 // cta_group, 1)) * cta_group


def run_tensor_transfer(
    form: Tcgen05Transfer, arguments: Sequence[Any], address: int = 0, split: int | None = None
) -> NDArray[np.uint32] | tuple[NDArray[np.uint32], ...]:
    """What the instruction does when all warps of a warpgroup execute it; see `TensorTransfer.run`.

    >>> import ptxlab
    >>> load = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    >>> run_tensor_transfer(load, [np.zeros((128, 2), dtype=np.uint32)]).shape   # doctest: +SKIP
    (128, 2)
    """
    if not isinstance(form, Tcgen05Transfer):
        raise PtxlabError(f"found {quoted(form)} where tcgen05.ld, .st, .cp or .shift belongs")
    names = _ARGUMENTS[form.family]
    if len(arguments) != len(names):
        raise PtxlabError(f"{form.mnemonic}: found {len(arguments)} arguments; it takes {', '.join(names)}")
    check_device(form)
    by_name = dict(zip(names, arguments, strict=True))
    words = _array(form, "words", by_name["words"], (LANES, None))
    columns = words.shape[-1]
    at = as_int(address, "address")
    if form.threads == 32:
        form.first_lane(at)  # refuses a lane at which it cannot begin
    if not 0 <= at < LANES << 16 or (at & 0xFFFF) + form.columns > columns:
        raise PtxlabError(
            f"address {quoted(at)}: {form.mnemonic} moves {form.columns} columns from there, of {columns}"
        )
    arrays = {"words": words}
    if "registers" in by_name:
        arrays["registers"] = _array(form, "registers", by_name["registers"], (LANES, code.registers(form)))
    batch = broadcast("batch axes", {name: array.shape[:-2] for name, array in arrays.items()})
    count = math.prod(batch)
    whole = {
        name: np.broadcast_to(array, (*batch, *array.shape[-2:])).reshape(count, *array.shape[-2:])
        for name, array in arrays.items()
    }
    pair = form.cta_group == 2  # both CTAs hold the same, and the result is that of the first
    if pair:
        whole["words"] = np.concatenate([whole["words"]] * 2, axis=-2)
    shape = (LANES, code.registers(form)) if form.family == "tcgen05.ld" else whole["words"].shape[-2:]
    result = np.empty((count, *shape), dtype=np.uint32)
    passed: list[Argument] = []
    if form.family == "tcgen05.cp":
        passed += _shared_memory(form, by_name["memory"], by_name["descriptor"])
    passed += [whole[name] for name in ("registers", "words") if name in whole]
    lane = at >> 16 & 31 if form.threads == 32 else at >> 16
    passed += [Out(result), np.int32(columns), np.uint32(lane << 16 | at & 0xFFFF), np.int32(count)]
    if count:
        grid = tensor_blocks(form.cta_group or 1, count)
        launch(code.source(form, split), code.kernel_name(form), passed, grid=grid, block=128)
    whole_result = result[:, :LANES].reshape(*batch, LANES, shape[1])
    parts = [operand for operand in operands(form, Modifiers()) if operand.written]
    if len(parts) < 2:
        return whole_result
    ends = np.cumsum([operand.length or 1 for operand in parts])
    pieces = np.split(whole_result, ends[:-1], axis=-1)
    return tuple(
        piece[..., 0] if operand.length is None else piece
        for operand, piece in zip(parts, pieces, strict=True)
    )


def _array(
    form: Tcgen05Transfer, name: str, values: ArrayLike, shape: tuple[int, int | None]
) -> NDArray[np.uint32]:
    """Words or registers as unsigned integers of 32 bits, or an error that says what is wrong with them."""
    array = as_array(values, f"{form.mnemonic}: {name}")
    wide = shape[1] if shape[1] is not None else "1 to 512"
    fits = array.ndim >= 2 and array.shape[-2] == shape[0]
    if not fits or not 1 <= array.shape[-1] <= COLUMNS or shape[1] not in (None, array.shape[-1]):
        raise PtxlabError(
            f"{form.mnemonic}: found {name} of shape {array.shape}; it takes [..., {shape[0]}, {wide}]"
        )
    if array.dtype.kind not in "iu" or (
        array.size and not -(1 << 31) <= int(array.min()) <= int(array.max()) < 1 << 32
    ):
        raise PtxlabError(f"{form.mnemonic}: {name}: found {array.dtype}; they are 32-bit unsigned integers")
    return array.astype(np.uint32)


def _shared_memory(form: Tcgen05Transfer, memory: ArrayLike, given: int | Descriptor) -> list[Argument]:
    """The bytes that tcgen05.cp reads, their number in units of 16, and the descriptor."""
    content = as_array(memory, f"{form.mnemonic}: memory")
    if content.ndim != 1 or content.dtype.kind not in "iu" or not 1 <= content.size <= code.SHARED_BYTES:
        raise PtxlabError(
            f"{form.mnemonic}: found memory of shape {content.shape}; it takes 1 to {code.SHARED_BYTES} bytes"
        )
    fields = given.tcgen05() if isinstance(given, Descriptor) else descriptor(given, family="tcgen05")
    units = -(-content.size // 16)
    padded = np.zeros(16 * units, dtype=np.uint8)
    padded[: content.size] = content.astype(np.uint8)
    return [padded, np.int32(units), np.uint64(fields.code)]
