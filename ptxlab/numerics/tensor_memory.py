"""What tcgen05.ld, .st and .cp do: words between tensor memory, registers and shared memory.

Tensor memory is an array [..., 128 lanes, columns] of 32-bit words from column 0 on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, is_a
from ..errors import PtxlabError, quoted
from ..isa.tcgen05 import Tcgen05Move
from ..isa.tensor_memory import COLUMNS, LANES
from ..memory.descriptors import Descriptor, descriptor

__all__ = ["copy", "load", "store"]


def load(
    form: Tcgen05Move, words: ArrayLike, address: int = 0, split: int | None = None
) -> NDArray[np.uint32]:
    """Registers [..., 128 threads, registers] that tcgen05.ld fills when all warps of a warpgroup execute it.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    >>> load(form, np.arange(128 * 4, dtype=np.uint32).reshape(128, 4), address=1)[3]
    array([13, 14], dtype=uint32)
    """
    _check(form, "tcgen05.ld")
    memory = _words(words, form.mnemonic)
    lanes, columns = _places(form, address, split, memory.shape[-1])
    values = memory[..., lanes, columns]
    if not form.pack:
        return np.asarray(values)
    halves = values.reshape(*values.shape[:-1], form.registers, 2) & np.uint32(0xFFFF)
    return np.asarray(halves[..., 0] | halves[..., 1] << np.uint32(16))


def store(
    form: Tcgen05Move, registers: ArrayLike, words: ArrayLike, address: int = 0, split: int | None = None
) -> NDArray[np.uint32]:
    """Tensor memory after tcgen05.st by all warps of a warpgroup, from registers [..., 128, registers].

    With .unpack::16b a column gets half of a register in its lower 16 bits; the upper become 0.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.st.sync.aligned.32x32b.x1.b32")
    >>> store(form, np.full((128, 1), 7), np.zeros((128, 2), dtype=np.uint32), address=1)[5]
    array([0, 7], dtype=uint32)
    """
    _check(form, "tcgen05.st")
    memory = _words(words, form.mnemonic)
    values = _registers(registers, form)
    lanes, columns = _places(form, address, split, memory.shape[-1])
    if form.pack:
        halves = np.stack([values & np.uint32(0xFFFF), values >> np.uint32(16)], axis=-1)
        values = halves.reshape(*values.shape[:-1], 2 * form.registers)
    batch = np.broadcast_shapes(values.shape[:-2], memory.shape[:-2])
    result = np.broadcast_to(memory, (*batch, *memory.shape[-2:])).copy()
    result[..., lanes, columns] = values
    return result


def copy(
    form: Tcgen05Move, memory: ArrayLike, code: int | Descriptor, words: ArrayLike, address: int = 0
) -> NDArray[np.uint32]:
    """Tensor memory after tcgen05.cp, from shared memory [bytes] through a shared-memory descriptor.

    Of cta_group::2 both CTAs copy from their own shared memory; this is one of them.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.cp.cta_group::1.32x128b.warpx4")
    >>> scales = ptxlab.memory.tile_scales(np.arange(128 * 4).reshape(128, 4) % 256)
    >>> tile = ptxlab.memory.Tcgen05Descriptor(address=0, leading=16, stride=128)
    >>> hex(copy(form, scales, tile, np.zeros((128, 4), dtype=np.uint32))[37, 2])   # row 69: lane 5, column 2
    '0x17161514'
    """
    _check(form, "tcgen05.cp")
    if form.source:
        raise PtxlabError(f"{form.mnemonic}: how it unpacks 4- and 6-bit elements is not emulated")
    fields = code.tcgen05() if isinstance(code, Descriptor) else descriptor(code, family="tcgen05")
    after = _words(words, form.mnemonic).copy()
    target = form.tensor("T")
    rows, count = target.shape
    source = fields.load(memory, rows, count, bits=32)
    at = as_int(address, "address")
    lane, column = _address(at)
    places = target.layout.coords().reshape(-1, rows, count, 2)
    inside = places[..., 0] < LANES
    lanes, columns = places[..., 0][inside] + lane, places[..., 1][inside] + column
    if lanes.max() >= LANES or columns.max() >= after.shape[-1]:
        raise PtxlabError(
            f"address 0x{at:08x}: {form.mnemonic} would write up to lane {lanes.max()}, column "
            f"{columns.max()}"
        )
    after[..., lanes, columns] = np.broadcast_to(source, places.shape[:-1])[inside]
    return after


def _check(form: Tcgen05Move, family: str) -> None:
    if not is_a(form, Tcgen05Move) or form.family != family:
        raise PtxlabError(f"found {quoted(form)}; ptxlab.instruction('{family}...') gives such a form")
    if form.reduction:
        raise PtxlabError(f"{form.mnemonic}: its reduction is not emulated")


def _words(words: ArrayLike, name: str) -> NDArray[np.uint32]:
    array = as_array(words, f"{name}: words")
    if array.ndim < 2 or array.shape[-2] != LANES or not 1 <= array.shape[-1] <= COLUMNS:
        raise PtxlabError(
            f"{name}: found words of shape {array.shape}; tensor memory is [..., 128, 1 to 512]"
        )
    return _unsigned(array, f"{name}: words")


def _registers(registers: ArrayLike, form: Tcgen05Move) -> NDArray[np.uint32]:
    array = as_array(registers, f"{form.mnemonic}: registers")
    if array.shape[-2:] != (LANES, form.registers):
        raise PtxlabError(
            f"{form.mnemonic}: found registers of shape {array.shape}; it takes [..., 128, {form.registers}]"
        )
    return _unsigned(array, f"{form.mnemonic}: registers")


def _unsigned(array: NDArray[Any], what: str) -> NDArray[np.uint32]:
    if array.dtype.kind not in "iu" or (
        array.size and not -(1 << 31) <= int(array.min()) <= int(array.max()) < 1 << 32
    ):
        raise PtxlabError(f"{what}: found {array.dtype}; they are 32-bit unsigned integers")
    return array.astype(np.uint32)


def _address(address: int) -> tuple[int, int]:
    if not 0 <= address < 1 << 32:
        raise PtxlabError(f"address {quoted(address)}: it has 32 bits, the lane in the upper 16")
    return address >> 16, address & 0xFFFF


def _places(
    form: Tcgen05Move, address: int, split: int | None, width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lane and column of every element of every thread: [128, elements] each."""
    at = as_int(address, "address")
    form.locate(0, 0, at)  # refuses a lane at which it cannot begin
    lane, column = _address(at)
    coords = form.layout.coords()
    along = coords[..., 1]
    if form.shape == "16x32bx2" and split is not None:
        half = form.columns // 2
        along = np.where(along < half, along, along - half + as_int(split, "split"))
    columns = along + column
    if columns.min() < 0 or columns.max() >= width:
        raise PtxlabError(
            f"address 0x{at:08x}: {form.mnemonic} reaches columns {columns.min()} to "
            f"{columns.max()}; there are {width}"
        )
    warp = 32 * np.arange(4)[:, None, None]
    lanes = (coords[..., 0] + lane % 32)[None] + warp
    return lanes.reshape(LANES, -1), np.broadcast_to(columns, (4, *columns.shape)).reshape(LANES, -1)
