"""Matrix to registers and back, against a loop that places one element at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab import instruction
from ptxlab.instruction import mma_instructions
from ptxlab.isa.form import Form
from ptxlab.isa.location import Place
from ptxlab.isa.operand import Operand
from ptxlab.isa.operation import Operation
from ptxlab.isa.tensor_operand import TensorOperand
from tests.cases import each, refusal, refuses

S4 = instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
TF32 = instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
WGMMA = instruction("wgmma.mma_async.sp.sync.aligned.m64n24k64.f16.e4m3.e5m2")


def _distinct() -> list[Operand]:
    """Every operand of the catalogue that differs in type or layout; of wgmma's sizes a few."""
    distinct = {}
    for ins in mma_instructions():
        if ins.lanes == 128 and ins.n not in (8, 24, 64):
            continue
        operands = list(ins.operands.values())
        if ins.lanes == 128:
            operands.append(ins.a_from("shared").a)
        for operand in operands:
            distinct[(operand.dtype.name, operand.container, operand.shape, operand.layout)] = operand
    return list(distinct.values())


OPERANDS = _distinct()
IN_REGISTERS = [operand for operand in OPERANDS if operand.layout]
IN_MEMORY = [operand for operand in OPERANDS if not operand.layout]


PAIR = instruction("tcgen05.mma.cta_group::2.kind::f16")
SCALED = instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", n=64)
IN_TENSOR_MEMORY = [
    tensor
    for ins in (PAIR, SCALED, instruction("tcgen05.mma.sp.cta_group::1.kind::f16", m=64).a_from("tensor"))
    for tensor in ins.tensors.values()
]


def name(operand: Operand | TensorOperand) -> str:
    return operand.describe().replace(",", "").replace(" ", "-")


#: Bits that an element takes in a register; all other types take 8.
BITS = {
    **dict.fromkeys(["b4", "s4", "u4"], 4),
    **dict.fromkeys(["f16", "bf16"], 16),
    **dict.fromkeys(["f32", "s32", "tf32"], 32),
    "b1": 1,
    "f64": 64,
}


def pack_one_by_one(operand: Operand, codes: np.ndarray) -> list[list[int]]:
    """Elements fill a register from its low bits upwards, in the order of their index."""
    assert operand.layout
    bits, low = BITS.get(operand.dtype.name, 8), 0
    if operand.dtype.name == "e2m1" and operand.container:
        low = 2  # in the middle of its byte
    elif operand.dtype.name == "e2m1":
        bits = 4
    register_bits = max(32, bits)
    coords = operand.layout.coords().tolist()
    registers = [[0] * (len(coords[0]) * bits // register_bits) for _ in coords]
    for lane, elements in enumerate(coords):
        for i, (row, column) in enumerate(elements):
            register, position = divmod(i * bits, register_bits)
            registers[lane][register] |= int(codes[row, column]) << (position + low)
    return registers


def random_codes(operand: Operand, rng: np.random.Generator, *batch: int) -> np.ndarray:
    largest, shape = (1 << operand.dtype.bits) - 1, (*batch, *operand.shape)
    codes = rng.integers(0, largest, shape, dtype=np.uint64, endpoint=True)
    return codes.astype(operand.dtype.code_type)


@each("operand", IN_REGISTERS, ids=name)
def test_pack_codes_places_every_element(operand: Operand, rng: np.random.Generator) -> None:
    codes = random_codes(operand, rng, 2)
    registers = operand.pack_codes(codes)
    assert registers.shape == (2, operand.lanes, operand.registers)
    assert registers.dtype == (np.uint64 if operand.dtype.name == "f64" else np.uint32)
    assert registers[1].tolist() == pack_one_by_one(operand, codes[1])
    assert np.array_equal(operand.unpack_codes(registers), codes)
    assert operand.unpack_codes(registers).dtype == operand.dtype.code_type
    assert operand.layout
    for copy in range(operand.layout.copies):
        assert np.array_equal(operand.unpack_codes(registers, copy), codes)


@each("operand", IN_REGISTERS, ids=name)
def test_unpack_reads_what_registers_hold(operand: Operand, rng: np.random.Generator) -> None:
    assert operand.layout
    size = 64 if operand.dtype.name == "f64" else 32
    shape = (operand.lanes, operand.registers)
    registers = rng.integers(0, 2**size - 1, shape, dtype=np.uint64, endpoint=True).astype(f"uint{size}")
    codes = operand.unpack_codes(registers)
    rows, columns = operand.shape
    for row, column in ((0, 0), (rows - 1, columns - 1), (rows // 2, columns // 3)):
        place = operand.where(row, column)[0]
        mask = (1 << (place.high - place.low + 1)) - 1
        assert codes[row, column] == int(registers[place.lane, place.register]) >> place.low & mask
    if operand.layout.copies == 1 and not operand.container:
        assert np.array_equal(operand.pack_codes(codes), registers), "no bit of a register is unowned"


@each("operand", OPERANDS, ids=name)
def test_values_round_trip(operand: Operand, rng: np.random.Generator) -> None:
    dtype = operand.dtype
    values = dtype.decode(random_codes(operand, rng, 1, 3))
    if dtype.is_float:
        values = np.where(np.isnan(values), 1, values)
    unpacked = operand.unpack(operand.pack(values))
    assert (unpacked.shape, unpacked.dtype) == (values.shape, dtype.value_type)
    assert np.array_equal(unpacked, values)
    if dtype.signed and dtype.is_float:
        assert np.array_equal(np.signbit(unpacked), np.signbit(values))


@each("operand", IN_MEMORY, ids=name)
def test_in_shared_memory_codes_stay_a_matrix(operand: Operand, rng: np.random.Generator) -> None:
    codes = random_codes(operand, rng, 2)
    assert np.array_equal(operand.pack_codes(codes), codes)
    assert np.array_equal(operand.unpack_codes(codes), codes)
    assert (operand.lanes, operand.registers, operand.space) == (0, 0, "shared")
    for ask in (lambda: operand.where(0, 0), lambda: operand.place(0, 0), lambda: list(operand.holds(0))):
        refuses(f"^operand {operand.name} lives in shared memory: no lane holds it", ask)


def test_where_and_holds_by_the_manual() -> None:
    """A[9][37] of dense m16n8k64: groupID 1, threadID_in_group 0, row + 8, column + 32: a29, register 3."""
    assert S4.a.where(9, 37) == [(4, 29, 3, 20, 23)]
    assert [(place.element, row, column) for place, row, column in S4.a.holds(5, 1)] == [
        (8 + i, 9, 8 + i) for i in range(8)
    ]
    assert len(list(S4.a.holds(5))) == 32
    assert S4.a.describe() == "A 16x64 s4, 4 registers in each of 32 lanes"
    assert WGMMA.b.describe() == "B 64x24 e5m2, in shared memory"


@each("operand", [*IN_REGISTERS, *IN_TENSOR_MEMORY], ids=name)
def test_what_a_lane_holds_and_where_elements_are_agree(operand: Operand | TensorOperand) -> None:
    lane = operand.lanes // 2
    held = list(operand.held_by(lane))
    assert held
    for place, row, column in held:
        assert place in operand.where(row, column)
        if isinstance(operand, Operand) and isinstance(place, Place):
            assert operand.place(lane, place.element) == place


@each(
    "operand, row, column, words",
    [
        (S4.a, 9, 37, "lane 4, register 3, bits [23..20]"),
        (WGMMA.d, 33, 3, "thread 69, register 0, bits [31..16]"),
        (PAIR.d, 130, 7, "CTA 1, lane 2, column 7, bits [31..0]"),
        (SCALED.scale_a, 37, 1, "lane 5, column 1, bits [15..8]"),
    ],
)
def test_a_place_is_said_as_its_operand_names_lanes(
    operand: Operand | TensorOperand, row: int, column: int, words: str
) -> None:
    assert operand.where(row, column)[0].words(operand) == words


@each("form", [S4, WGMMA, PAIR, SCALED, instruction("tcgen05.ld.sync.aligned.32x32b.x1.b32")], ids=str)
def test_every_matrix_is_found_by_its_name_wherever_it_is(form: Form) -> None:
    assert list(form.located) == [*form.operands, *form.tensors]
    for label, operand in form.located.items():
        assert form.find(label.lower()) is operand
        assert (operand.space == "tensor") == (label in form.tensors)
        assert (operand.space == "register") == (operand.lanes > 0 and label in form.operands)
    refuses("'Q'", form.find, "Q")


WORDS = np.zeros((32, 4), np.uint32)
A, B = S4.a, S4.b
REFUSED: list[tuple[Callable[..., object], list[Any], str]] = [
    (A.pack, [np.zeros((64, 16))], "A: found shape (64, 16); it takes [..., 16, 64]"),
    (B.pack, [np.zeros(64)], "B: found shape (64,); it takes [..., 64, 8]"),
    (A.pack, [np.full((16, 64), 8)], "A: row 0, column 0: found 8; s4 holds -8..7"),
    (A.pack, [np.eye(16, 64, 3) * 99], "A: row 0, column 3: found 99; s4 holds -8..7"),
    (A.pack, [np.full((16, 64), 0.5)], "A: row 0, column 0: found 0.5; s4 holds whole numbers -8..7"),
    (A.pack, [np.full((16, 64), "x")], "A: s4 needs numbers, found an array of <U1"),
    (A.pack_codes, [np.full((16, 64), 16)], "A: row 0, column 0: code 16 does not fit the 4 bits of s4"),
    (A.pack_codes, [np.full((16, 64), -1)], "A: row 0, column 0: code -1 does not fit the 4 bits of s4"),
    (A.pack_codes, [np.zeros((16, 64))], "A: codes are unsigned integers, found float64; pack takes values"),
    (A.unpack, [WORDS[:31]], "A: found registers of shape (31, 4); it takes [..., 32 lanes, 4 registers]"),
    (A.unpack, [WORDS[:, :2]], "A: found registers of shape (32, 2); it takes [..., 32 lanes, 4 registers]"),
    (
        A.unpack,
        [np.zeros((32, 4))],
        "A: registers are 32-bit unsigned integers, found float64; pack makes them from values",
    ),
    (A.unpack, [np.full((32, 4), 2**32, np.int64)], "A: lane 0, register 0: 4294967296 does not fit 32 bits"),
    (A.unpack, [np.full((32, 4), -1, np.int64)], "A: lane 0, register 0: -1 does not fit 32 bits"),
    (A.place, [32, 0], "operand A: lane 32 does not exist; lanes go from 0 to 31"),
    (A.place, [0, 32], "operand A: element 32 does not exist; elements go from 0 to 31"),
    (lambda: list(A.holds(-1)), [], "operand A: lane -1 does not exist; lanes go from 0 to 31"),
    (lambda: list(A.holds(0, 4)), [], "operand A: register 4 does not exist; a lane holds registers 0 to 3"),
    (S4.c.where, [16, 0], "row 16: the matrix is 16x8, so rows go from 0 to 15"),
    (
        WGMMA.a.unpack,
        [WORDS],
        "A: found registers of shape (32, 4); it takes [..., 128 threads, 4 registers]",
    ),
    (WGMMA.a.place, [128, 0], "operand A: thread 128 does not exist; threads go from 0 to 127"),
    (WGMMA.b.unpack, [np.zeros((24, 64), np.uint8)], "B: found shape (24, 64); it takes [..., 64, 24]"),
    (
        WGMMA.b.pack_codes,
        [np.full((64, 24), 256)],
        "B: row 0, column 0: code 256 does not fit the 8 bits of e5m2",
    ),
]


@each("operation, arguments, sentence", REFUSED)
def test_refusals_say_what_is_wrong(
    operation: Callable[..., object], arguments: list[Any], sentence: str
) -> None:
    assert refusal(operation, *arguments) == sentence


def test_registers_may_come_as_signed_or_wide_integers() -> None:
    registers = S4.a.pack(np.full((16, 64), -1))
    assert (registers == 0xFFFFFFFF).all()
    wide = (registers.astype(np.uint64), registers.astype(np.int64), registers.tolist())
    for other in (registers.view(np.int32), *wide):
        assert np.array_equal(S4.a.unpack(other), np.full((16, 64), -1))


def test_pack_rounds_to_nearest_even() -> None:
    """1 + 2^-11 lies between two tf32 neighbours and goes to the even one; 1 + 3 * 2^-11 goes up."""
    matrix = np.ones((16, 8))
    matrix[0, :2] = 1 + 2.0**-11, 1 + 3 * 2.0**-11
    assert TF32.a.unpack(TF32.a.pack(matrix))[0, :2].tolist() == [1.0, 1 + 2.0**-9]


@each("operand", OPERANDS, ids=name)
def test_an_empty_batch_is_a_batch(operand: Operand) -> None:
    registers = operand.pack(np.ones((0, 2, *operand.shape)))
    assert registers.shape[:2] == (0, 2)
    assert operand.unpack(registers).shape == (0, 2, *operand.shape)


@each("name", ["m16n8k16.row.col.f32.f16.f16.f32", "m16n8k32.row.col.s32.s8.s8.s32"])
def test_an_operation_does_not_change_with_the_arrays_that_it_was_made_of(name: str) -> None:
    """What is derived from the registers is kept, so they must stay as they are."""
    ins = instruction(f"mma.sync.aligned.{name}")
    registers = [np.zeros((operand.lanes, operand.registers), np.uint32) for operand in (ins.a, ins.b, ins.c)]
    operation = Operation.of(ins, *registers)
    before = operation.codes("A").copy()
    for array in registers:
        array[:] = 0xFFFFFFFF
    assert not operation.registers("A").any() and np.array_equal(operation.codes("A"), before)
    codes = np.full(ins.a.shape, 0x3C, ins.a.dtype.code_type)
    changed = operation.with_codes("A", codes)
    codes[:] = 0
    assert (changed.codes("A") == 0x3C).all() and changed.registers("A").all()
    matrix = np.ones(ins.c.shape, np.int32)
    made = operation.from_matrices(ins, np.ones(ins.a.shape, np.int8), np.ones(ins.b.shape, np.int8), matrix)
    matrix[:] = 9
    assert (made.matrix("C") == 1).all() and np.array_equal(made.registers("C"), ins.c.pack(made.matrix("C")))
