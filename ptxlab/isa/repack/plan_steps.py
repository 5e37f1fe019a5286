"""The steps of a plan, which every lane executes on its registers: on arrays, as text and as CUDA C++."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType, convert


@dataclass(frozen=True)
class Rename:
    """The target is the source: no instruction."""

    target: str
    source: str


class Part(NamedTuple):
    """One element in a register: `position` counts elements of its type from the lowest bits."""

    register: str
    position: int


@dataclass(frozen=True)
class Convert:
    """Elements of one type become elements of another, packed into one register, the first lowest.

    Each takes up `width` bits there: its own, or 8 for narrower ones in bytes of their own (kind::f8f6f4).
    """

    target: str
    sources: tuple[Part, ...]
    from_type: DType
    to_type: DType
    width: int


@dataclass(frozen=True)
class Permute:
    """prmt.b32: each byte of the target is one of the eight of two registers; a selector for each lane."""

    target: str
    first: str
    second: str
    selectors: tuple[int, ...]


@dataclass(frozen=True)
class Select:
    """Each lane takes one of several registers: `choices` has the index of its source for each lane."""

    target: str
    sources: tuple[str, ...]
    choices: tuple[int, ...]


@dataclass(frozen=True)
class Shuffle:
    """shfl.sync.idx.b32: each lane reads the register of another lane of its warp, given by `lanes`."""

    target: str
    source: str
    lanes: tuple[int, ...]


@dataclass(frozen=True)
class Shift:
    """Bits move up, or down where `left` is negative.

    Elements of 4 and 6 bits need it for kind::f8f6f4, halves of bytes to change places.
    """

    target: str
    source: str
    left: int


@dataclass(frozen=True)
class Merge:
    """lop3.b32: bits of one register where `mask` is set, those of another where it is not."""

    target: str
    first: str
    second: str
    mask: int


@dataclass(frozen=True)
class Transpose:
    """movmatrix.m8n8.trans.b16: the 8x8 matrix of 16-bit elements in a register of a warp, transposed."""

    target: str
    source: str


PlanStep: TypeAlias = Rename | Convert | Permute | Select | Shuffle | Shift | Merge | Transpose


def registers_read(step: PlanStep) -> tuple[str, ...]:
    """Registers that a step reads."""
    match step:
        case Convert():
            return tuple(part.register for part in step.sources)
        case Permute() | Merge():
            return step.first, step.second
        case Select():
            return step.sources
        case _:
            return (step.source,)


def step_text(step: PlanStep) -> str:
    """One step in a line."""
    match step:
        case Rename():
            return f"{step.target} = {step.source}"
        case Shift():
            return f"{step.target} = {step.source} {shift_text(step.left)}"
        case Transpose():
            return f"{step.target} = movmatrix.trans({step.source})"
        case Merge():
            return f"{step.target} = {step.first} & 0x{step.mask:08x} | {step.second} & ~0x{step.mask:08x}"
        case Convert():
            several = any(part.position for part in step.sources) or step.from_type.bits < 32
            parts = [
                f"{part.register}.{part.position}" if several else part.register for part in step.sources
            ]
            return f"{step.target} = {step.to_type}({', '.join(parts)})"
        case Permute():
            selectors = _table_text([f"0x{selector:04x}" for selector in step.selectors])
            return f"{step.target} = prmt({step.first}, {step.second}, {selectors})"
        case Select():
            names = _table_text([step.sources[choice] for choice in step.choices])
            return f"{step.target} = {names}"
        case Shuffle():
            return f"{step.target} = shfl.idx({step.source}, lane {_table_text([*map(str, step.lanes)])})"


def shift_text(left: int) -> str:
    """``<< 4``, or ``>> 4`` for -4."""
    return f"<< {left}" if left >= 0 else f">> {-left}"


def _table_text(values: Sequence[str]) -> str:
    """The value of all lanes, or those of lanes 0, 1, ... up to where they repeat."""
    size = len(values)
    while size > 1 and size % 2 == 0 and values[: size // 2] == values[size // 2 : size]:
        size //= 2
    return values[0] if size == 1 else f"[{', '.join(values[:size])}][lane % {size}]"


# -- on arrays -----------------------------------------------------------------------------------------------


def step_result(step: PlanStep, named: dict[str, NDArray[np.uint32]], lanes: int) -> NDArray[np.uint32]:
    """The result of a step, [..., lanes], from registers by name."""

    match step:
        case Rename():
            return named[step.source]
        case Shift():
            if step.left < 0:
                return named[step.source] >> np.uint32(-step.left)
            return named[step.source] << np.uint32(step.left)
        case Transpose():
            lane = np.arange(lanes)
            rows = 8 * (lane % 4) + lane % 32 // 8 + lane // 32 * 32
            half = np.uint32(16) * (lane // 4 % 2).astype(np.uint32)
            low, high = (named[step.source][..., rows + 4 * odd] >> half for odd in range(2))
            return low & np.uint32(0xFFFF) | high << np.uint32(16)
        case Merge():
            mask = np.uint32(step.mask)
            return named[step.first] & mask | named[step.second] & ~mask
        case Convert():
            width = step.from_type.bits
            codes = [named[part.register] >> np.uint32(part.position * width) for part in step.sources]
            mask = np.uint32((1 << width) - 1)
            stacked = (np.stack(codes, axis=-1) & mask).astype(step.from_type.code_type)
            packed = convert(stacked, step.from_type, step.to_type)
            shifts = np.arange(packed.shape[-1], dtype=np.uint32) * np.uint32(step.width)
            return np.asarray(np.bitwise_or.reduce(packed.astype(np.uint32) << shifts, axis=-1))
        case Permute():
            low, high = (named[name].astype(np.uint64) for name in (step.first, step.second))
            both = low | high << np.uint64(32)
            selectors = _by_lane(step.selectors, lanes).astype(np.uint64)
            result = np.zeros(both.shape, dtype=np.uint64)
            for byte in range(4):
                from_byte = selectors >> np.uint64(4 * byte) & np.uint64(7)
                result |= (both >> from_byte * np.uint64(8) & np.uint64(0xFF)) << np.uint64(8 * byte)
            return result.astype(np.uint32)
        case Select():
            stacked = np.stack([named[name] for name in step.sources])
            choices = np.broadcast_to(_by_lane(step.choices, lanes), stacked.shape[1:])
            return np.asarray(np.take_along_axis(stacked, choices[None], axis=0)[0])
        case Shuffle():
            period = len(step.lanes)
            first_of_period = np.arange(lanes) // period * period
            return np.asarray(named[step.source][..., _by_lane(step.lanes, lanes) + first_of_period])


def _by_lane(table: Sequence[int], lanes: int) -> NDArray[np.int64]:
    """A table of the first lanes, repeated for all."""
    return np.resize(np.array(table, dtype=np.int64), lanes)


# -- as CUDA C++ ---------------------------------------------------------------------------------------------

_WARP = 32


def repack_source(title: str, sizes: Sequence[int], lanes: int, steps: Sequence[PlanStep]) -> str:
    """The device function `repack(in, out)` of a plan; see `Repack.source`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> print(ptxlab.repack([ins.d, ins.d], ins.a).source.splitlines()[4])
        asm("{ cvt.rn.f16x2.f32 %0, %2, %1; }"
    """
    lines = [
        f"// {title}",
        "__device__ __forceinline__ void repack(",
        f"    const unsigned (&in)[{sizes[0]}], unsigned (&out)[{sizes[1]}])",
        "{",
    ]
    tables = [len(table) for table in map(_table, steps) if len({*table}) > 1]
    if max(tables, default=0) > _WARP:
        lines.append(f"    const unsigned lane = threadIdx.x % {lanes};")
    elif tables or any(isinstance(step, Shuffle) for step in steps):
        lines += ["    unsigned lane;", '    asm("mov.u32 %0, %%laneid;" : "=r"(lane));']
    for step in steps:
        lines += [f"    {line}" for line in _lines(step)]
    return "\n".join([*lines, "}", ""])


def _table(step: PlanStep) -> Sequence[object]:
    """The values that a step has for each lane."""
    match step:
        case Permute():
            return step.selectors
        case Select():
            return step.choices
        case Shuffle():
            return step.lanes
        case _:
            return ()


def _name(register: str) -> str:
    for array in ("in", "out"):
        if register.startswith(array):
            return f"{array}[{register.removeprefix(array)}]"
    return register


def _lines(step: PlanStep) -> list[str]:
    target = _name(step.target)
    declared = target if target.startswith("out") else f"const unsigned {target}"
    match step:
        case Rename():
            return [f"{declared} = {_name(step.source)};"]
        case Shift():
            return [f"{declared} = {_name(step.source)} {shift_text(step.left)};"]
        case Transpose():
            declaration = [] if target.startswith("out") else [f"unsigned {target};"]
            text = "movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
            return [*declaration, f'asm volatile("{text}" : "=r"({target}) : "r"({_name(step.source)}));']
        case Merge():
            first, second = _name(step.first), _name(step.second)
            mask = f"0x{step.mask:08x}u"
            return [f"{declared} = ({first} & {mask}) | ({second} & ~{mask});"]
        case Permute():
            selector = _value_by_lane([f"0x{selector:04x}" for selector in step.selectors])
            return [f"{declared} = __byte_perm({_name(step.first)}, {_name(step.second)}, {selector});"]
        case Select():
            return [
                f"{declared} = {_value_by_lane([_name(step.sources[choice]) for choice in step.choices])};"
            ]
        case Shuffle():
            lane = _lane_expression(step.lanes)
            return [f"{declared} = __shfl_sync(0xffffffffu, {_name(step.source)}, {lane});"]
        case Convert():
            return _conversion(step, target)


def _value_by_lane(values: Sequence[str]) -> str:
    """A C++ expression that gives lanes 0, 1, ... these values."""
    half = len(values) // 2
    if len({*values}) == 1:
        return values[0]
    low, high = values[:half], values[half:]
    if low == high:
        return _value_by_lane(low)
    branches = [f"({text})" if "?" in text else text for text in (_value_by_lane(high), _value_by_lane(low))]
    return f"lane & {half} ? {branches[0]} : {branches[1]}"


def _lane_expression(lanes: Sequence[int]) -> str:
    """The lane to read from, by arithmetic where bits of the lane only change places or are inverted."""
    size = len(lanes)
    bits = size.bit_length() - 1
    origin = lanes[0]
    columns = [lanes[1 << bit] ^ origin for bit in range(bits)]  # what each bit of the lane contributes
    linear = [origin] * size
    for lane in range(size):
        for bit in range(bits):
            linear[lane] ^= columns[bit] if lane >> bit & 1 else 0
    if linear != list(lanes) or any(column.bit_count() > 1 for column in columns):
        value = _value_by_lane([str(lane) for lane in lanes])
        return value if size >= _WARP else f"(lane & ~{size - 1}u) + ({value})"
    unmoved = ~(size - 1) & (_WARP - 1) if size < _WARP else 0  # bits of the lane that stay where they are
    moved: dict[int, int] = {}  # distance -> bits of the lane that move so far to the left
    for bit, column in enumerate(columns):
        if column == 1 << bit:
            unmoved |= column
        elif column:
            distance = column.bit_length() - 1 - bit
            moved[distance] = moved.get(distance, 0) | 1 << bit
    terms = []
    if unmoved:
        terms.append("lane" if unmoved == _WARP - 1 else f"(lane & {unmoved})")
    for distance, mask in sorted(moved.items()):
        terms.append(f"(lane & {mask}) {shift_text(distance)}")
    expression = " | ".join(terms) or "0"
    if not origin:
        return expression
    return f"{expression} ^ {origin}" if len(terms) < 2 else f"({expression}) ^ {origin}"


#: Floats that cvt makes two at a time, a byte each.
_BYTES = ("e4m3", "e5m2", "e2m3", "e3m2")


def _conversion(step: Convert, target: str) -> list[str]:
    """One asm statement that converts the elements of a word and packs them."""
    to_type = step.to_type.name
    registers = list(dict.fromkeys(part.register for part in step.sources))
    operand = {register: f"%{number}" for number, register in enumerate(registers, start=1)}
    setup: list[str] = []
    values: list[str] = []
    for number, part in enumerate(step.sources):
        value = operand[part.register]
        if step.from_type.bits == 16:
            setup.append(
                f".reg .b16 l{number}, h{number}; mov.b32 {{l{number}, h{number}}}, {value}; "
                f".reg .f32 f{number}; cvt.f32.f16 f{number}, {'lh'[part.position]}{number};"
            )
            value = f"f{number}"
        values.append(value)
    if to_type in ("s8", "u8", "s4", "u4"):
        body = _integers(values, step.from_type, step.to_type)
    elif to_type in ("f16", "bf16"):
        body = [".reg .f32 none; mov.f32 none, 0f00000000;"] if len(values) == 1 else []
        body.append(f"cvt.rn.{to_type}x2.f32 %0, {[*values, 'none'][1]}, {values[0]};")
    elif to_type in _BYTES:
        body = _bytes(values, to_type)
    elif to_type == "e2m1":
        body = _halves(values, step.width)
    elif step.from_type.bits == 16:  # exact
        body = [f"mov.b32 %0, {values[0]};"]
    else:  # tf32: integers round to nearest even on every target; cvt.rn.tf32 needs sm_90
        body = [
            ".reg .b32 t; .reg .pred p; bfe.u32 t, %1, 13, 1; add.u32 t, t, 4095; add.u32 t, t, %1;",
            f"and.b32 t, t, 0xFFFFE000; testp.notanumber.f32 p, {values[0]};",
            "selp.b32 %0, 0x7FFFFFFF, t, p;",
        ]
    declared = [] if target.startswith("out") else [f"unsigned {target};"]
    text = " ".join([*setup, *body])
    inputs = ", ".join(f'"r"({_name(register)})' for register in registers)
    return [*declared, f'asm("{{ {text} }}"', f'    : "=r"({target}) : {inputs});']


def _halves(values: Sequence[str], width: int) -> list[str]:
    """e2m1: cvt makes two of 4 bits in a byte; with a width of 8 they are separated."""
    bytes_used = 4 if width == 4 else 2
    lines = [".reg .b8 b0, b1, b2, b3; .reg .f32 none; mov.f32 none, 0f00000000;"]
    missing = 2 * bytes_used - len(values)
    padded = [*values, *["none"] * missing]
    for pair in range(bytes_used):
        lines.append(f"cvt.rn.satfinite.e2m1x2.f32 b{pair}, {padded[2 * pair + 1]}, {padded[2 * pair]};")
    if width == 4:
        return [*lines, "mov.b32 %0, {b0, b1, b2, b3};"]
    return [
        *lines,
        "cvt.rn.satfinite.e2m1x2.f32 b2, none, none; .reg .b32 t, u; mov.b32 t, {b0, b2, b1, b2};",
        "shl.b32 u, t, 4; or.b32 t, t, u; and.b32 %0, t, 0x0F0F0F0F;",
    ]


def _bytes(values: Sequence[str], to_type: str) -> list[str]:
    """e4m3, e5m2, e2m3 and e3m2: cvt makes two at a time, a byte each."""
    lines = [".reg .b16 p0, p1;"]
    padded = list(values)
    if len(values) % 2:
        lines.append(".reg .f32 none; mov.f32 none, 0f00000000;")
        padded.append("none")
    if len(padded) == 2:
        lines.append("mov.b16 p1, 0;")
    for pair in range(len(padded) // 2):
        low, high = padded[2 * pair : 2 * pair + 2]
        lines.append(f"cvt.rn.satfinite.{to_type}x2.f32 p{pair}, {high}, {low};")
    return [*lines, "mov.b32 %0, {p0, p1};"]


def _integers(values: Sequence[str], source: DType, target: DType) -> list[str]:
    """cvt.pack saturates two integers and shifts the previous ones up; so the highest come first."""
    lines = [".reg .b32 packed;"]
    whole = list(values)
    if source.is_float:
        whole = [f"i{number}" for number in range(len(values))]
        for name, value in zip(whole, values, strict=True):
            lines.append(f".reg .s32 {name}; cvt.rni.s32.f32 {name}, {value};")
    if len(whole) % 2:
        lines.append(".reg .s32 none; mov.s32 none, 0;")
        whole.append("none")
    before = "0"
    for pair in reversed(range(len(whole) // 2)):
        low, high = whole[2 * pair : 2 * pair + 2]
        lines.append(f"cvt.pack.sat.{target.name}.s32.b32 packed, {high}, {low}, {before};")
        before = "packed"
    return [*lines, "mov.b32 %0, packed;"]
