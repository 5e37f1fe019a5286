"""One instruction on the GPU, many times at once: registers in, registers out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, as_text, broadcast
from ..errors import PtxlabError, listing, quoted
from ..isa.modifiers import Modifiers
from ..isa.operand import MatrixOperand, Operand
from ..isa.operation import Operation
from ..isa.product_form import ProductForm
from ..isa.tcgen05 import TensorInstruction, TensorTransfer
from ..isa.tcgen05.tcgen05_transfer import check_inputs
from ..isa.tensor_operand import LANES
from ..isa.transfer import Transfer
from ..memory.descriptors import Descriptor, descriptor
from ..memory.tcgen05_tiles import pack_lookup
from ..numerics.emulate_tcgen05_transfer import as_registers, as_words
from ..numerics.emulate_transfer import TransferInputs
from . import codegen
from .arrays import GpuArray, GpuArrays, gpu_arrays
from .codegen import tcgen05_transfer_kernel as tensor_kernel
from .codegen import transfer_kernel
from .codegen.ptx import asm_operands, stores
from .device import check_device, processors
from .launcher import Argument, Out, launch

_MMA_BYTES = 1 << 30  # device memory that one launch may take
_TRANSFER_BYTES = 1 << 28
_MAX_BLOCKS = 4096
_MEMORY_UNIT = 32  # each transfer's memory is padded to a multiple of this, so that the next is aligned


def run(operation: Operation) -> NDArray[Any]:
    """Registers of D from the GPU, in as few launches as memory allows; see `Instruction.run`.

    >>> import ptxlab
    >>> from ptxlab import inputs
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> operation = inputs.make(ins, "exponents", count=100)
    >>> (run(operation) == ptxlab.numerics.emulate.emulate(operation)).all()   # doctest: +SKIP
    True
    """
    if not isinstance(operation, Operation):
        raise PtxlabError(
            f"found {quoted(operation)} where operands belong; ins.run takes the registers themselves"
        )
    ins = operation.ins
    _check_target(ins, operation.modifiers)
    count = operation.count
    d = np.empty((count, *ins.d.stored_shape), dtype=ins.d.register_type)
    source = codegen.source(ins, operation.modifiers)
    arrays = (*operation.arrays.values(), d)
    instruction_bytes = sum(array.shape[-2] * array.shape[-1] * array.itemsize for array in arrays)
    step = max(1, _MMA_BYTES // instruction_bytes)
    for first in range(0, count, step):
        last = min(first + step, count)
        part = last - first
        arguments: list[Argument] = [*_inputs(operation.part(first, last))]
        arguments += [Out(d[first:last]), np.int32(part)]
        launch(source, codegen.NAME, arguments, grid=_blocks(ins, part), block=128)
    return d.reshape(operation.batch + d.shape[1:])


def _inputs(operation: Operation) -> list[NDArray[Any]]:
    """What the kernel reads: the operands; for .decompress::lut::b, B compressed and its lookup table."""
    ins, arrays = operation.ins, operation.arrays
    if not isinstance(ins, TensorInstruction) or not ins.decompress:
        return [*arrays.values()]
    columns, words = pack_lookup(ins, arrays["B"])
    return [columns if name == "B" else array for name, array in arrays.items()] + [words]


def _blocks(ins: ProductForm, count: int) -> int:
    """Blocks of 128 threads for `count` instructions: a block has four warps, a warpgroup, or one CTA."""
    if ins.descriptor is not None:
        return tensor_blocks(ins.cta_group, count)
    blocks = count if ins.lanes == 128 else -(-count // 4)
    return min(blocks, _MAX_BLOCKS)


def _check_target(ins: ProductForm, modifiers: Modifiers) -> None:
    """Refuse an instruction, or a modifier, that this GPU lacks."""
    gpu = check_device(ins)
    if isinstance(ins, TensorInstruction) and modifiers.scale_input_d and gpu.target not in ins.scale_input_d:
        raise PtxlabError(
            f"scale_input_d={modifiers.scale_input_d}: {gpu.name} is {gpu.target}, which does not take it; "
            f"{listing(ins.scale_input_d, 4)} do"
        )


def run_arrays(
    ins: ProductForm, arguments: Mapping[str, object], modifiers: Modifiers, stream: object = None
) -> Any:
    """As `run`, for registers on the GPU: D is of the same library, computed on the caller's stream.

    None if no argument is on the GPU; `arguments` are named a, b, c, e, scale_a, scale_b.

    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")   # doctest: +SKIP
    >>> run_arrays(ins, {"a": a, "b": b, "c": torch.zeros(9, 32, 4, dtype=torch.int32, device="cuda")},
    ...            Modifiers()).shape   # doctest: +SKIP
    torch.Size([9, 32, 4])
    """
    call = gpu_arrays(arguments, stream)
    if call is None:
        return None
    if isinstance(ins, TensorInstruction) and ins.decompress:
        raise PtxlabError(f"{ins.mnemonic}: B is compressed here first; pass copies as NumPy arrays")
    source = _source(ins, modifiers)
    with call:
        _check_target(ins, modifiers)
        for name in call.arrays:
            if name not in ins.inputs:
                operands = [operand.name for operand in (*ins.inputs.values(), ins.d)]
                raise PtxlabError(f"{name}: {ins.mnemonic} has no such operand; it has {listing(operands)}")
        for name, operand in ins.inputs.items():
            if name not in call.arrays:
                raise PtxlabError(f"{name} is missing: {ins.mnemonic} needs {operand.describe()}")
            _check_registers(operand, call.arrays[name])
        return _run_call(ins, call, source)


@lru_cache(maxsize=256)
def _source(ins: ProductForm, modifiers: Modifiers) -> str:
    return codegen.source(ins, ins.check_modifiers(modifiers))


def _run_call(ins: ProductForm, call: GpuArrays, source: str) -> Any:
    batch = broadcast("batch axes", {name: array.shape[:-2] for name, array in call.arrays.items()})
    count = math.prod(batch)
    if count >= 1 << 31:
        raise PtxlabError(f"a batch of {count} instructions: one launch takes fewer than 2^31")
    type_name = call.arrays["c"].type_name  # torch computes with int32, CuPy with uint32
    d = call.empty((*batch, *ins.d.stored_shape), type_name)
    if count:
        inputs = [
            call.contiguous(call.arrays[name], (*batch, *call.arrays[name].shape[-2:])) for name in ins.inputs
        ]
        call.launch(source, codegen.NAME, [*inputs, d, np.int32(count)], grid=_blocks(ins, count), block=128)
    return d.owner


def _check_registers(operand: MatrixOperand, array: GpuArray) -> None:
    """Refuse registers, or codes for shared memory, whose shape or type does not fit."""
    shape, takes, names = _registers_of(operand)
    if array.shape[-2:] != shape:
        raise PtxlabError(f"{operand.name}: found registers of shape {array.shape}; it takes {takes}")
    if array.type_name not in names:
        raise PtxlabError(f"{operand.name}: found {array.type_name}; it takes {listing(names)}")


@lru_cache(maxsize=1024)
def _registers_of(operand: MatrixOperand) -> tuple[tuple[int, int], str, tuple[str, ...]]:
    """The last two axes of an operand's array, the same in words, and its possible types."""
    if not (isinstance(operand, Operand) and operand.layout is None):
        shape = operand.stored_shape
        name = np.dtype(operand.register_type).name
        takes = f"[..., {shape[0]} {operand.holder}s, {shape[1]} {operand.word}s]"
        return shape, takes, (name, name.removeprefix("u"))
    name = np.dtype(operand.dtype.code_type).name
    names = [name, name.removeprefix("u")]
    if operand.dtype.numpy_type is not None:
        names.append(np.dtype(operand.dtype.numpy_type).name)  # its bits are the codes
    rows, columns = operand.shape
    return (rows, columns), f"[..., {rows}, {columns}] codes", tuple(dict.fromkeys(names))


def run_transfer(
    form: Transfer,
    arrays: Sequence[ArrayLike],
    stride: int | None = None,
    offset: int = 0,
    source: str | None = None,
) -> NDArray[Any]:
    """ldmatrix, stmatrix, movmatrix, wmma.load or wmma.store on the GPU; see `Transfer.run`."""
    if not isinstance(form, Transfer):
        raise PtxlabError(f"found {quoted(form)} where a transfer belongs, such as ldmatrix")
    if source is not None:
        as_text(source, "source")
    check_device(form)
    inputs = TransferInputs.of(form, arrays, stride, offset)
    size = -(-inputs.memory_size // _MEMORY_UNIT) * _MEMORY_UNIT
    if transfer_kernel.in_shared(form) and size > transfer_kernel.SHARED_BYTES:
        raise PtxlabError(
            f"memory of {inputs.memory_size} bytes: the kernel of {form.mnemonic} has "
            f"{transfer_kernel.SHARED_BYTES} bytes of shared memory"
        )
    writes_memory = stores(form)
    operand = form.register_operand
    result: NDArray[Any]
    if writes_memory:
        result = np.empty((inputs.count, size), dtype=np.uint8)
    else:
        result = np.empty((inputs.count, 32, operand.registers), dtype=operand.register_type)
    addresses = _lane_addresses(form, inputs, arrays[1]) if form.address_lanes else None
    step = max(1, _TRANSFER_BYTES // max(size, result[:1].nbytes, 1))
    for first in range(0, inputs.count, step):
        part = slice(first, min(first + step, inputs.count))
        count = part.stop - part.start
        arguments = _arguments(form, inputs, addresses, part, Out(result[part]), size)
        if form.wmma:
            arguments += [np.uint32(inputs.stride), np.uint32(offset)]
        launch(
            transfer_kernel.source([form]) if source is None else source,
            transfer_kernel.kernel_name(form),
            [*arguments, np.int32(count)],
            grid=min(count, _MAX_BLOCKS),
            block=32,
        )
    if writes_memory:
        return inputs.memory_result(result[:, : inputs.memory_size])
    return inputs.registers_result(result)


def _lane_addresses(form: Transfer, inputs: TransferInputs, addresses: ArrayLike) -> NDArray[np.uint32]:
    """The address of every lane. Lanes whose address is ignored keep it if it is legal.

    Otherwise they repeat a lower lane's, since sm_75 requires valid addresses there as well.
    """
    own = np.broadcast_to(addresses, (*inputs.batch, form.lanes)).reshape(inputs.count, form.lanes)
    lower = own[:, np.arange(form.lanes) % len(form.address_lanes)]
    inside = (own >= 0) & (own + form.row_bytes <= inputs.memory_size)
    legal = inside & (own % form.alignment == 0)
    return np.where(legal, own, lower).astype(np.uint32)


def _arguments(
    form: Transfer,
    inputs: TransferInputs,
    addresses: NDArray[np.uint32] | None,
    part: slice,
    result: Out,
    size: int,
) -> list[Argument]:
    """The arguments of one launch in the order of the kernel's parameters; sizes count units of 16 bytes."""
    if form.family == "movmatrix":
        return [inputs.registers[part], result]
    memory = np.zeros((part.stop - part.start, size), dtype=np.uint8)
    memory[:, : inputs.memory_size] = inputs.memory[inputs.memory_index[part]]
    arguments: list[Argument] = [memory]
    if addresses is not None:
        arguments.append(addresses[part])
    if stores(form):
        arguments.append(inputs.registers[part])
    return [*arguments, result, np.int32(size // 16)]


# -- tcgen05.ld, .st, .cp and .shift on the GPU: words of tensor memory in, words or registers out ---------


def tensor_blocks(cta_group: int, count: int) -> int:
    """Blocks for `count` instructions of one or two CTAs: few enough that none waits for tensor memory."""
    return min(count, max(processors() // 2 // cta_group, 1)) * cta_group


def run_tensor_transfer(
    form: TensorTransfer, arguments: Sequence[Any], address: int = 0, split: int | None = None
) -> NDArray[np.uint32] | tuple[NDArray[np.uint32], ...]:
    """Run a transfer in all warps of a warpgroup; see `TensorTransfer.run`.

    >>> import ptxlab
    >>> load = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    >>> run_tensor_transfer(load, [np.zeros((128, 2), dtype=np.uint32)]).shape   # doctest: +SKIP
    (128, 2)
    """
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
    if form.cta_group == 2:  # both CTAs have the same words; the result is that of the first
        whole["words"] = np.concatenate([whole["words"], whole["words"]], axis=-2)
    shape = (
        (LANES, tensor_kernel.registers(form)) if form.family == "tcgen05.ld" else whole["words"].shape[-2:]
    )
    result = np.empty((count, *shape), dtype=np.uint32)
    kernel_arguments: list[Argument] = []
    if form.family == "tcgen05.cp":
        kernel_arguments += _shared_memory(form, inputs["memory"], inputs["descriptor"])
    kernel_arguments += [*whole.values(), Out(result), np.int32(columns), np.uint32(at), np.int32(count)]
    if count:
        grid = tensor_blocks(form.cta_group or 1, count)
        launch(
            tensor_kernel.source(form, split),
            tensor_kernel.kernel_name(form),
            kernel_arguments,
            grid=grid,
            block=128,
        )
    return _parts(form, result[:, :LANES].reshape(*batch, LANES, shape[1]))


def _check_address(form: TensorTransfer, address: int, columns: int) -> int:
    """The address as a warp passes it: for ld and st, the lane is counted within the warp."""
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
    form: TensorTransfer, result: NDArray[np.uint32]
) -> NDArray[np.uint32] | tuple[NDArray[np.uint32], ...]:
    """The results that the kernel stores side by side; ld.red and ld.spcompress have several."""
    written = [operand for operand in asm_operands(form) if operand.written]
    if len(written) < 2:
        return result
    ends = np.cumsum([operand.length or 1 for operand in written])
    pieces = np.split(result, ends[:-1], axis=-1)
    return tuple(
        piece[..., 0] if operand.length is None else piece
        for operand, piece in zip(written, pieces, strict=True)
    )


def _shared_memory(form: TensorTransfer, memory: ArrayLike, fields: int | Descriptor) -> list[Argument]:
    """The bytes that tcgen05.cp reads, their number in units of 16, and the descriptor."""
    content = as_array(memory, f"{form.mnemonic}: memory")
    if (
        content.ndim != 1
        or content.dtype.kind not in "iu"
        or not 1 <= content.size <= tensor_kernel.SHARED_BYTES
    ):
        raise PtxlabError(
            f"{form.mnemonic}: found memory of shape {content.shape}; it takes 1 to "
            f"{tensor_kernel.SHARED_BYTES} bytes"
        )
    fields = fields.tcgen05() if isinstance(fields, Descriptor) else descriptor(fields, family="tcgen05")
    units = -(-content.size // 16)
    padded = np.zeros(16 * units, dtype=np.uint8)
    padded[: content.size] = content.astype(np.uint8)
    return [padded, np.int32(units), np.uint64(fields.code)]
