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
from ..isa.tcgen05.transfer import check_inputs
from ..isa.tensor_memory import LANES
from ..memory.descriptors import Descriptor, descriptor
from ..numerics.tensor_memory import as_registers, as_words
from .codegen import tensor_transfer as code
from .codegen.tensor_ptx import operands
from .device import check_device, processors
from .launcher import Argument, Out, launch


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
    check_inputs(form, arguments)
    check_device(form)
    inputs = dict(zip(form.inputs, arguments, strict=True))
    words = as_words(inputs["words"], form.mnemonic)
    columns = words.shape[-1]
    at = _check_address(form, address, columns)
    arrays = {"words": words}
    if "registers" in inputs:
        arrays = {"registers": as_registers(inputs["registers"], form), **arrays}
    batch = broadcast("batch axes", {name: array.shape[:-2] for name, array in arrays.items()})
    count = math.prod(batch)
    whole = {
        name: np.broadcast_to(array, (*batch, *array.shape[-2:])).reshape(count, *array.shape[-2:])
        for name, array in arrays.items()
    }
    if form.cta_group == 2:  # both CTAs hold the same, and the result is that of the first
        whole["words"] = np.concatenate([whole["words"], whole["words"]], axis=-2)
    shape = (LANES, code.registers(form)) if form.family == "tcgen05.ld" else whole["words"].shape[-2:]
    result = np.empty((count, *shape), dtype=np.uint32)
    passed: list[Argument] = []
    if form.family == "tcgen05.cp":
        passed += _shared_memory(form, inputs["memory"], inputs["descriptor"])
    passed += [*whole.values(), Out(result), np.int32(columns), np.uint32(at), np.int32(count)]
    if count:
        grid = tensor_blocks(form.cta_group or 1, count)
        launch(code.source(form, split), code.kernel_name(form), passed, grid=grid, block=128)
    return _parts(form, result[:, :LANES].reshape(*batch, LANES, shape[1]))


def _check_address(form: Tcgen05Transfer, address: int, columns: int) -> int:
    """The address as a warp passes it: of ld and st the lane among the 32 of each warp."""
    at = as_int(address, "address")
    if form.threads == 32:
        form.first_lane(at)  # refuses a lane at which it cannot begin
    if not 0 <= at < LANES << 16 or (at & 0xFFFF) + form.columns > columns:
        raise PtxlabError(
            f"address {quoted(at)}: {form.mnemonic} moves {form.columns} columns from there, of {columns}"
        )
    lane = at >> 16 & 31 if form.threads == 32 else at >> 16
    return lane << 16 | at & 0xFFFF


def _parts(
    form: Tcgen05Transfer, result: NDArray[np.uint32]
) -> NDArray[np.uint32] | tuple[NDArray[np.uint32], ...]:
    """What the kernel stores side by side: of ld.red and ld.spcompress several results."""
    written = [operand for operand in operands(form, Modifiers()) if operand.written]
    if len(written) < 2:
        return result
    ends = np.cumsum([operand.length or 1 for operand in written])
    pieces = np.split(result, ends[:-1], axis=-1)
    return tuple(
        piece[..., 0] if operand.length is None else piece
        for operand, piece in zip(written, pieces, strict=True)
    )


def _shared_memory(form: Tcgen05Transfer, memory: ArrayLike, fields: int | Descriptor) -> list[Argument]:
    """The bytes that tcgen05.cp reads, their number in units of 16, and the descriptor."""
    content = as_array(memory, f"{form.mnemonic}: memory")
    if content.ndim != 1 or content.dtype.kind not in "iu" or not 1 <= content.size <= code.SHARED_BYTES:
        raise PtxlabError(
            f"{form.mnemonic}: found memory of shape {content.shape}; it takes 1 to {code.SHARED_BYTES} bytes"
        )
    fields = fields.tcgen05() if isinstance(fields, Descriptor) else descriptor(fields, family="tcgen05")
    units = -(-content.size // 16)
    padded = np.zeros(16 * units, dtype=np.uint8)
    padded[: content.size] = content.astype(np.uint8)
    return [padded, np.int32(units), np.uint64(fields.code)]
