"""Tensor maps in the memory of a simulated kernel, and the instructions that change them there.

A map is opaque to programs: 128 bytes that they copy, and that `tensormap.replace` changes. Here they say
which of the launch's maps it was, and have every field that may be replaced. PTX ISA, "tensormap.replace",
"tensormap.cp_fenceproxy".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..isa.dtypes import dtype as element_type
from ..memory import Im2colMap, TensorMap
from ..memory.tensor_maps import tensor_map
from .loads import space_of
from .machine import Frame, Launch, Machine, Step
from .memory import Memory
from .operands import Builder, Context, address, reader, unsupported
from .ptx import Immediate, Instruction
from .threads import UNSIGNED, Threads

MAP_BYTES = 128
_MAGIC = b"ptxlab tensormap"
_MOST_AXES = 5
#: The fields, in the driver's order of axes; an address of 0 is that of the launch's array.
_RECORD = np.dtype([
    ("magic", "S16"), ("global_address", "<u8"), ("global_stride", "<u8", _MOST_AXES - 1),
    ("global_dim", "<u4", _MOST_AXES), ("box_dim", "<u2", _MOST_AXES), ("element_stride", "u1", _MOST_AXES),
    ("rank", "u1"), ("elemtype", "u1"), ("interleave_layout", "u1"), ("swizzle_mode", "u1"),
    ("swizzle_atomicity", "u1"), ("fill_mode", "u1"), ("number", "<u4"),
])  # fmt: skip

# What the numbers of fields mean (PTX ISA, "tensormap.replace").
_ELEMENTS = (
    "UINT8", "UINT16", "UINT32", "INT32", "UINT64", "INT64", "FLOAT16", "FLOAT32", "FLOAT32_FTZ", "FLOAT64",
    "BFLOAT16", "TFLOAT32", "TFLOAT32_FTZ", "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B",
)  # fmt: skip
_INTERLEAVES = (0, 16, 32)
_WIDTHS = (0, 32, 64, 128)
_ATOMS = ("", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B")
_FILLS = ("zero", "nan")
_LIMITS = {
    "elemtype": len(_ELEMENTS), "interleave_layout": len(_INTERLEAVES), "swizzle_mode": len(_WIDTHS),
    "swizzle_atomicity": len(_ATOMS), "fill_mode": len(_FILLS), "rank": _MOST_AXES,
}  # fmt: skip


def encoded(tensor: TensorMap, number: int) -> bytes:
    """The bytes of a map of the launch, the `number`th from 1 on."""
    record = np.zeros((), dtype=_RECORD)
    record["magic"], record["number"] = _MAGIC, number
    rank = tensor.rank
    record["rank"] = rank - 1
    record["global_dim"][:rank] = [size & 0xFFFFFFFF for size in tensor.dimensions]
    record["global_stride"][: rank - 1] = tensor.strides
    record["box_dim"][:rank] = (1,) * rank if isinstance(tensor, Im2colMap) else tensor.box_dimensions
    record["element_stride"][:rank] = tensor.element_stride_dimensions
    record["elemtype"] = _ELEMENTS.index(tensor.data_type)
    record["interleave_layout"] = _INTERLEAVES.index(tensor.interleave)
    record["swizzle_mode"] = _WIDTHS.index(tensor.swizzle)
    if isinstance(tensor.swizzle_mode, str):
        record["swizzle_atomicity"] = _ATOMS.index(tensor.swizzle_mode)
    record["fill_mode"] = _FILLS.index(tensor.fill)
    return record.tobytes().ljust(MAP_BYTES, b"\0")


def map_at(launch: Launch, place: int) -> TensorMap:
    """The tensor map whose bytes are at an address."""
    content = launch.memory.bytes_at(place, MAP_BYTES)
    if content is None or not content.tobytes().startswith(_MAGIC):
        raise PtxlabError(
            f"there is no tensor map at 0x{place:x}; pass ptxlab.tensor_map(...) as an argument"
        )
    key = content.tobytes()
    known = launch.maps_by_content.get(key)
    if known is None:
        known = launch.maps_by_content[key] = _decoded(launch, key)
    return known


def _decoded(launch: Launch, content: bytes) -> TensorMap:
    """A map as the kernel has changed it."""
    record = np.frombuffer(content, dtype=_RECORD, count=1)[0]
    number = int(record["number"])
    original = launch.tensor_maps[number - 1]
    if content == encoded(original, number):
        return original
    interleave = _INTERLEAVES[record["interleave_layout"]]
    if interleave or original.interleave or isinstance(original, Im2colMap):
        raise PtxlabError("tensormap.replace of a map for im2col or interleaved layouts is not simulated yet")
    rank = int(record["rank"]) + 1
    name = _ELEMENTS[record["elemtype"]]
    kind = np.dtype(np.uint8) if name.startswith("16U") else _dtype_of(name)
    shape = tuple(record["global_dim"][:rank].tolist())[::-1]
    if name.startswith("16U"):
        bits = 4 if "U4" in name else 6
        shape = (*shape[:-1], shape[-1] * bits // 8)
    strides = (*record["global_stride"][: rank - 1].tolist()[::-1], kind.itemsize)
    data, writable = _memory_from(launch.memory, int(record["global_address"]), original)
    extent = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) + kind.itemsize - 1
    if 0 in shape or extent > data.size:
        raise PtxlabError(
            f"the tensor map describes {math.prod(shape)} elements, {extent} bytes from its address on, and "
            f"the memory ends after {data.size}"
        )
    whole = data[: data.size // kind.itemsize * kind.itemsize].view(kind)
    array = as_strided(whole, shape, strides, writeable=writable)
    swizzle: int | str = _WIDTHS[record["swizzle_mode"]]
    if record["swizzle_atomicity"]:
        swizzle = _ATOMS[record["swizzle_atomicity"]]
    changed = tensor_map(
        array,
        tuple(record["box_dim"][:rank].tolist())[::-1],
        swizzle,
        element_strides=tuple(record["element_stride"][:rank].tolist())[::-1],
        fill=_FILLS[record["fill_mode"]],
        data_type=name,
    )
    launch.tensor_maps.append(changed)
    return changed


def _dtype_of(name: str) -> np.dtype[Any]:
    plain = name.removesuffix("_FTZ").replace("TFLOAT", "FLOAT").lower()
    kind: np.dtype[Any] = np.dtype(element_type("bf16").numpy_type if name == "BFLOAT16" else plain)
    return kind


def _memory_from(memory: Memory, place: int, original: TensorMap) -> tuple[NDArray[np.uint8], bool]:
    """The bytes from an address on, or those of the array that the map was made of."""
    if not place:
        array = original.array
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise PtxlabError(
                "tensormap.replace of a map whose array is not contiguous: replace its global_address, too"
            )
        return array.reshape(-1).view(np.uint8), bool(array.flags.writeable)
    buffer = memory.buffer_at(place)
    if buffer is None:
        raise PtxlabError(f"the tensor map has the global_address 0x{place:x}, where there is no memory")
    if place % 16:
        raise PtxlabError(f"the tensor map has the global_address 0x{place:x}; TMA takes multiples of 16")
    return buffer.data[place - buffer.start :], buffer.writable


# -- instructions --------------------------------------------------------------------------------------------


def _tensormap(instruction: Instruction, context: Context) -> Step:
    if "replace" in instruction.parts:
        return _replace(instruction, context)
    if "cp_fenceproxy" in instruction.parts:
        return _copy(instruction, context)
    raise unsupported(instruction)


def _replace(instruction: Instruction, context: Context) -> Step:
    target, *numbers = instruction.operands
    name = next((part for part in instruction.parts if part in (_RECORD.names or ())), "")
    if not name:
        raise unsupported(instruction)
    kind, offset = _RECORD.fields[name][:2] if _RECORD.fields is not None else (np.dtype("u1"), 0)
    count = kind.shape[0] if kind.shape else 1
    width = kind.base.itemsize
    if kind.shape:
        ordinal = numbers.pop(0)
        if not isinstance(ordinal, Immediate) or not 0 <= ordinal.value < count:
            raise PtxlabError(
                f"{instruction.where}: {instruction.opcode}: its ordinal is a constant from 0 to {count - 1}"
            )
        offset += ordinal.value * width
    bits = 64 if instruction.parts[-1] == "b64" else 32
    place, value = address(target, instruction, context), reader(numbers[0], bits, instruction, context)
    space = space_of(instruction)
    limit = _LIMITS.get(name, 1 << 8 * width)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = value(machine, frame, threads)
        wrong = values[values >= limit] if limit < 1 << 64 else values[:0]
        if len(wrong):
            raise PtxlabError(f"{int(wrong[0])}: {name} of a tensor map is 0 to {limit - 1}")
        places = place(machine, frame, threads)
        narrow = [values.astype(UNSIGNED[8 * width])]
        machine.memory.store(instruction, space, threads, places + offset, narrow)
        if space != "shared" and machine.memory.buffer_at(int(places[0])) is not None:
            machine.launch.changes_maps = True
            machine.synchronised(instruction, "tensormap.replace", threads, places)

    return Step(instruction, execute)


def _copy(instruction: Instruction, context: Context) -> Step:
    """`tensormap.cp_fenceproxy`: a warp copies a map from shared to global memory."""
    target, source, size = instruction.operands
    if not isinstance(size, Immediate) or size.value != MAP_BYTES:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} copies {MAP_BYTES} bytes")
    place, origin = address(target, instruction, context), address(source, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        _, first = np.unique(threads.indices >> 5, return_index=True)
        leaders = Threads.listed(threads.batch, threads.indices[first])
        places, sources = place(machine, frame, leaders), origin(machine, frame, leaders)
        for chunk in range(0, MAP_BYTES, 16):
            words = machine.memory.load(instruction, "shared", leaders, sources + chunk, 32, 4)
            machine.memory.store(instruction, "global", leaders, places + chunk, words)
        machine.launch.changes_maps = True
        machine.synchronised(instruction, "tensormap.cp_fenceproxy", leaders, places)

    return Step(instruction, execute, together=32)


BUILDERS: dict[str, Builder] = {"tensormap": _tensormap}
