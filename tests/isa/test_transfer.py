"""ldmatrix, stmatrix, movmatrix, wmma.load, wmma.store: by the manual's words, and by the assembler."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxlab import PtxlabError, Transfer, gpu, instruction
from ptxlab.gpu import device, runner
from ptxlab.gpu.codegen.transfer_kernel import kernel_name, source
from ptxlab.gpu.compiler import compiler_version
from ptxlab.instruction import mma_instructions
from ptxlab.isa.catalog.transfer_rows import rows, wmma_rows
from ptxlab.isa.targets import newest_of_cuda
from ptxlab.isa.transfer import FAMILIES
from tests import assembler
from tests.cases import each, refuses
from tests.sampling import one_in

ROWS = [form for form in rows() if isinstance(form, Transfer)]
WMMA = [form for form in wmma_rows(mma_instructions("wmma")) if isinstance(form, Transfer)]


def spellings(move: Transfer) -> Iterator[tuple[str, Transfer]]:
    """Every legal spelling of a row, with each state space.

    The examples of the manual write wmma's shape before its layout.
    """
    for space in (None, *move.spaces):
        variant = move.in_space(space)
        yield variant.mnemonic, variant
        if move.wmma:
            yield (
                variant.mnemonic.replace(f".{move.layout}.{move.shape}", f".{move.shape}.{move.layout}"),
                variant,
            )


SPELT = {text: form for row in (*ROWS, *WMMA) for text, form in spellings(row)}
LOADS = [form for form in ROWS if form.family == "ldmatrix"]
STORES = [form for form in ROWS if form.family == "stmatrix"]
(MOVMATRIX,) = (form for form in ROWS if form.family == "movmatrix")


def row(text: str) -> Transfer:
    return SPELT[text]


# -- the assembler's word --------------------------------------------------------------------------------


def vector(kind: str, count: int) -> str:
    return "{" + ", ".join(f"{kind}{i}" for i in range(count)) + "}"


def wmma_registers(form: Transfer) -> str:
    """Registers of a wmma fragment as section "Matrix Fragments for WMMA" counts them."""
    m, n, k = (int(size) for size in form.shape.replace("n", "m").replace("k", "m").split("m")[1:])
    bits = {"f16": 16, "bf16": 16, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "f64": 64}.get(form.type, 32)
    elements = {"a": m * k, "b": k * n}.get(str(form.matrix), m * n)
    if form.type == "f16" and form.matrix in ("a", "b"):
        return vector("a", 8)  # whatever the shape: "a vector expression of eight .f16x2 registers"
    return vector({"f64": "g", "f32": "f"}.get(form.type, "a"), elements * bits // max(bits, 32) // 32)


def line(form: Transfer) -> str:
    """The instruction with operands counted from the manual's words, in a scope with its own registers."""
    if form.family == "movmatrix":
        return f"{form.mnemonic} a0, a1;"
    registers = vector("a", form.count * (2 if form.shape == "m16n16" else 1))
    if form.wmma:
        registers = wmma_registers(form)
    parts = [registers, "[da]"]
    if "st" in form.family:
        parts.reverse()
    return "{ .reg .f64 g<2>; " + f"{form.mnemonic} {', '.join(parts)}{', e' if form.wmma else ''}; }}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "target"),
    [*product([assembler.OLDEST], ["sm_75", "sm_121a"]), *product([assembler.NEWEST], ["sm_90a", "sm_107f"])],
    ids=str,
)
def test_every_spelling_assembles_to_the_end(compiler: assembler.Compiler, target: str) -> None:
    """The assembler's first pass takes more than its second can translate."""
    forms = {text: form for text, form in SPELT.items() if form.supports(target) and compiler.knows(form)}
    lines = [line(form).replace(form.mnemonic, text) for text, form in forms.items()]
    assert len(lines) > 300
    assert assembler.refused(list(one_in(3, lines, len(target))), target, compiler) == {}


def forms(family: str, compiler: assembler.Compiler) -> list[tuple[str, str]]:
    """(mnemonic, line) of every combination of qualifiers that the assembler can read, right or wrong."""
    shapes = ("m8n8", "m16n16", "m8n16", "m16n8")
    types = ["b16", "b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64"]
    if compiler is assembler.NEWEST:  # types that the oldest cannot read at all
        types += ["s8.s4", "u8.u4", "s8.u4", "s4", "s8", "s4.s8"]
    spaces = ("", ".shared", ".shared::cta", ".shared::cluster", ".global", ".local")
    made = []
    for shape, num, trans, space, kind in product(shapes, (1, 2, 4), ("", ".trans"), spaces, types):
        text = f"{family}.sync.aligned.{shape}.x{num}{trans}{space}.{kind}"
        parts = [vector("c", num * (2 if shape == "m16n16" else 1)), "[da]"]
        made.append((text, f"{text} {', '.join(parts if family == 'ldmatrix' else parts[::-1])};"))
    return made


@each(
    "compiler, target",
    [
        *product([assembler.OLDEST], ["sm_75", "sm_80", "sm_90", "sm_100a", "sm_120a"]),
        *product([assembler.NEWEST], ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_107f", "sm_120a"]),
    ],
    ids=str,
)
@each("family", ["ldmatrix", "stmatrix"])
@pytest.mark.slow
def test_the_catalogue_is_whole(family: str, target: str, compiler: assembler.Compiler) -> None:
    """Of all combinations of qualifiers, the catalogue has those that the assembler takes."""
    made = forms(family, compiler)
    refused = assembler.refused([text for _, text in made], target, compiler)
    taken = {text for i, (text, _) in enumerate(made) if i not in refused}
    assert taken == {
        text
        for text, form in SPELT.items()
        if form.family == family and form.supports(target) and compiler.knows(form)
    }


def test_forms_of_wmma_that_the_manual_lists() -> None:
    """Multiplied out again from the syntax of wmma.load and wmma.store."""
    big, both = ("m16n16k16", "m8n32k16", "m32n8k16"), ("row", "col")
    listed = {f"{x}.{lay}.{s}.{t}" for x, lay, s, t in product("ab", both, big, ("f16", "s8", "u8", "bf16"))}
    listed |= {f"{x}.{lay}.m16n16k8.tf32" for x, lay in product("ab", both)} | {
        f"{x}.{lay}.m8n8k4.f64" for x, lay in product("ab", both)
    }
    for shape, types in (("m8n8k32", ("s4", "u4")), ("m8n8k128", ("b1",))):
        listed |= {f"{x}.{shape}.{t}" for x, t in product(("a.row", "b.col"), types)}
    accumulators = {f"{lay}.{s}.{t}" for lay, s, t in product(both, big, ("f16", "f32", "s32"))}
    accumulators |= {
        f"{lay}.{s}.{t}"
        for lay in both
        for s, t in (("m16n16k8", "f32"), ("m8n8k4", "f64"), ("m8n8k32", "s32"), ("m8n8k128", "s32"))
    }
    listed = {f"wmma.load.{form}" for form in listed} | {f"wmma.load.c.{form}" for form in accumulators}
    listed |= {f"wmma.store.d.{form}" for form in accumulators}
    assert {form.mnemonic.replace(".sync.aligned", "") for form in WMMA} == listed
    assert len(WMMA) == len(listed)


def test_rows_are_distinct_and_say_where_they_come_from() -> None:
    assert len({form.mnemonic for form in (*ROWS, *WMMA)}) == len(ROWS) + len(WMMA)
    assert {form.family for form in (*ROWS, *WMMA)} == set(FAMILIES)
    for form in (*ROWS, *WMMA):
        assert form.section.endswith(form.family)
        assert (form.lanes, form.sparse, form.selectors, form.space) == (32, False, (), None)
        assert str(form) == form.mnemonic
        assert repr(form) == f"<{form.mnemonic}>"
        assert form.ptx.startswith(f"{form.mnemonic} ")
        for variant in (form.in_space(space) for space in form.spaces):
            assert row(variant.mnemonic) == variant != form
            assert variant.in_space(None) == form
            assert f".{variant.space}." in variant.mnemonic


# -- ldmatrix --------------------------------------------------------------------------------


def element(data: bytes, position: int, bits: int) -> int:
    """An element of a packed row: the first in the lowest bits."""
    return int.from_bytes(data, "little") >> position * bits & (1 << bits) - 1


def reference_load(form: Transfer, memory: bytes, addresses: list[int]) -> list[list[int]]:
    """Registers of every lane, by the manual's words on ldmatrix.

    8x8: lane 4g + t holds columns 2t, 2t + 1 of row g, of the column-major matrix with .trans; the next
    matrix is in the next register. 8x16: columns 4t .. 4t + 3 of row g. 16x16 (always .trans): columns
    4t .. 4t + 3 of rows g and g + 8, in two registers.
    """
    bits = {"b16": 16, "b8": 8}[form.type] if form.source is None else int(form.source[1])
    signs = form.source == "s4"  # "signed 4-bit elements that are expanded to signed 8-bit values"
    registers = []
    for lane in range(32):
        group, thread = lane >> 2, lane & 3
        of_lane = []
        for matrix in range(form.count):
            height = 16 if form.shape == "m16n16" else 8
            data = [memory[at : at + 16] for at in addresses[height * matrix : height * (matrix + 1)]]
            if form.shape == "m8n8":
                places = [
                    [(2 * thread + i, group) if form.trans else (group, 2 * thread + i) for i in range(2)]
                ]
            elif form.shape == "m16n16":
                places = [[(4 * thread + i, group + 8 * half) for i in range(4)] for half in range(2)]
            else:
                places = [[(group, 4 * thread + i) for i in range(4)]]
            for places_of in places:
                width = 32 // len(places_of)
                codes = [element(data[r], c, bits) for r, c in places_of]
                if signs:
                    codes = [code - 16 & 0xFF if code >= 8 else code for code in codes]
                of_lane.append(sum(code << width * i for i, code in enumerate(codes)))
        registers.append(of_lane)
    return registers


@each("form", LOADS, ids=str)
def test_ldmatrix_by_the_manual(form: Transfer, rng: np.random.Generator) -> None:
    memory = rng.integers(0, 256, (3, 2048), dtype=np.uint8)
    addresses = 16 * rng.integers(0, 128, (3, 32))
    addresses[:, len(form.address_lanes) :] = 7  # nobody looks there
    wanted = [reference_load(form, m.tobytes(), a.tolist()) for m, a in zip(memory, addresses, strict=True)]
    assert np.array_equal(form.emulate(memory, addresses), wanted)


def test_six_and_four_bits_in_eight() -> None:
    """16 elements, packed from the row's lowest bit on, then padding; each becomes the low bits of a byte."""
    six = sum(i * 3 + 1 << 6 * i for i in range(16)) | 0xFFFFFFFF << 96
    four = sum(15 - i << 4 * i for i in range(16)) | 0xFFFFFFFFFFFFFFFF << 64
    for bits, whole, values in (
        (6, six, [i * 3 + 1 for i in range(16)]),
        (4, four, [15 - i for i in range(16)]),
    ):
        form = row(f"ldmatrix.sync.aligned.m8n16.x1.b8x16.b{bits}x16_p{128 - 16 * bits}")
        memory = np.frombuffer(whole.to_bytes(16, "little") * 8, dtype=np.uint8)
        registers = form.emulate(memory, form.addresses())
        assert registers.dtype == np.uint32
        assert np.ascontiguousarray(registers[:4]).view(np.uint8).ravel().tolist() == values


def test_signed_four_bits_in_eight() -> None:
    """16 elements of s4 from the row's lowest bit on become bytes with their sign."""
    values = [*range(-8, 8)]
    whole = sum((value & 15) << 4 * i for i, value in enumerate(values))
    form = row("ldmatrix.sync.aligned.m8n16.x1.s8.s4")
    memory = np.frombuffer(whole.to_bytes(form.row_bytes, "little") * 8, dtype=np.uint8)
    registers = form.emulate(memory, form.addresses())
    assert registers.shape == (32, 1)
    assert form.operand("R").unpack(registers).tolist() == [values] * 8
    assert np.ascontiguousarray(registers[:4]).view(np.int8).ravel().tolist() == values
    ins = instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    assert form.operand("R").layout.coords().tolist() == ins.a.layout.coords()[:, :4].tolist()


def test_signed_four_bits_as_an_h200_loads_them() -> None:
    """Recorded: code of ptxas 13.4 for sm_90a under a CUDA 13.0 driver, rows at any multiple of 8 bytes.

    At multiples of 4, 2 or 1 the H200 stopped with CUDA_ERROR_MISALIGNED_ADDRESS.
    """
    recorded = np.load(Path(__file__).parents[1] / "golden" / "ldmatrix_s8_s4.npz")
    for count in (1, 2, 4):
        form = row(f"ldmatrix.sync.aligned.m8n16.x{count}.s8.s4")
        addresses = recorded[f"x{count}_addresses"]
        assert (addresses % 16 == 8).any() and form.alignment == form.row_bytes == 8
        registers = form.emulate(recorded[f"x{count}_memory"], addresses)
        assert registers.shape == (16, 32, count)
        assert np.array_equal(registers, recorded[f"x{count}_registers"])
    with pytest.raises(PtxlabError, match="^address 4 of lane 0: it must be a multiple of 8$"):
        form.emulate(np.zeros(1024, dtype=np.uint8), np.full(32, 4))


def tile(codes: np.ndarray, pitch: int, bits: int) -> np.ndarray:
    """A matrix of codes by rows, as bytes in memory with `pitch` bytes from row to row."""
    rows_of = [
        sum(int(code) << bits * i for i, code in enumerate(line_of)).to_bytes(pitch, "little")
        for line_of in codes
    ]
    return np.frombuffer(b"".join(rows_of), dtype=np.uint8)


def test_ldmatrix_makes_the_fragments_of_mma(rng: np.random.Generator) -> None:
    """A of m16n8k16 with x4, B with x2.trans, B by columns with x2, and 8-bit A as if it were 16-bit."""
    ins = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    A, B = rng.integers(0, 1 << 16, (16, 16)), rng.integers(0, 1 << 16, (16, 8))
    lane = np.arange(32)
    # A row of A at 48 bytes; matrices: up left, down left, up right, down right.
    corners = lane % 16 * 48 + lane // 16 * 16
    assert np.array_equal(
        row("ldmatrix.sync.aligned.m8n8.x4.shared.b16").emulate(tile(A, 48, 16), corners), ins.a.pack_codes(A)
    )
    trans = row("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16")
    assert np.array_equal(trans.emulate(tile(B, 16, 16), trans.addresses()), ins.b.pack_codes(B))
    plain = row("ldmatrix.sync.aligned.m8n8.x2.shared.b16")
    assert np.array_equal(
        plain.emulate(tile(B.T, 32, 16), lane % 8 * 32 + lane // 8 % 2 * 16), ins.b.pack_codes(B)
    )
    small = instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32")
    A8 = rng.integers(0, 256, (16, 32))
    corners = lane % 16 * 32 + lane // 16 * 16
    assert np.array_equal(
        row("ldmatrix.sync.aligned.m8n8.x4.b16").emulate(tile(A8, 32, 8), corners), small.a.pack_codes(A8)
    )


@pytest.mark.parametrize(
    ("kind", "source_format", "shift"),
    [("e3m2", "b6x16_p32", 0), ("e2m3", "b6x16_p32", 0), ("e2m1", "b4x16_p64", 2)],
)
def test_packed_formats_feed_f8f6f4(
    kind: str, source_format: str, shift: int, rng: np.random.Generator
) -> None:
    """6-bit elements come as kind::f8f6f4 takes them; e2m1 lies two bits higher in its byte there."""
    ins = instruction(f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{kind}.{kind}.f32")
    bits = int(source_format[1])
    A = rng.integers(0, 1 << bits, (16, 32))
    halves = np.concatenate([A[:, :16], A[:, 16:]])  # 16 elements are one row of ldmatrix
    form = row(f"ldmatrix.sync.aligned.m8n16.x4.b8x16.{source_format}")
    assert np.array_equal(
        form.emulate(tile(halves, 16, bits), form.addresses()) << shift, ins.a.pack_codes(A)
    )
    B = rng.integers(0, 1 << bits, (32, 8))
    form = row(f"ldmatrix.sync.aligned.m16n16.x2.trans.b8x16.{source_format}")
    # Two B side by side: 32 rows of 16.
    wide = np.concatenate([B, rng.integers(0, 1 << bits, (32, 8))], axis=1)
    registers = form.emulate(tile(wide, 16, bits), form.addresses()) << shift
    for second, codes in enumerate((wide[:, :8], wide[:, 8:])):
        assert np.array_equal(registers[:, second::2], ins.b.pack_codes(codes))


# -- stmatrix, movmatrix --------------------------------------------------------------------------------


def reference_store(form: Transfer, registers: np.ndarray, addresses: list[int], memory: bytes) -> bytes:
    """stmatrix by the manual's words.

    16x8 in 8 bits (always .trans): lane 4g + t holds columns 2t, 2t + 1 of row g, then of row g + 8.
    """
    result = bytearray(memory)
    for lane, of_lane in enumerate(registers.tolist()):
        group, thread = lane >> 2, lane & 3
        for matrix, register in enumerate(of_lane):
            for i in range(2 if form.type == "b16" else 4):
                if form.type == "b16":
                    r, c = (2 * thread + i, group) if form.trans else (group, 2 * thread + i)
                    data = (register >> 16 * i & 0xFFFF).to_bytes(2, "little")
                else:
                    r, c = 2 * thread + i % 2, group + 8 * (i // 2)
                    data = (register >> 8 * i & 0xFF).to_bytes(1, "little")
                at = addresses[8 * matrix + r] + c * len(data)
                result[at : at + len(data)] = data
    return bytes(result)


@pytest.mark.parametrize("form", STORES, ids=str)
def test_stmatrix_by_the_manual(form: Transfer, rng: np.random.Generator) -> None:
    memory = rng.integers(0, 256, (3, 2048), dtype=np.uint8)
    addresses = np.stack([16 * rng.permutation(128)[:32] for _ in range(3)])
    registers = rng.integers(0, 1 << 32, (3, 32, form.count), dtype=np.uint32)
    before = memory.copy()
    stored = form.emulate(registers, addresses, memory)
    for i in range(3):
        assert stored[i].tobytes() == reference_store(
            form, registers[i], addresses[i].tolist(), memory[i].tobytes()
        )
    assert np.array_equal(memory, before)


@pytest.mark.parametrize("form", [form for form in STORES if form.type == "b16"], ids=str)
def test_ldmatrix_reads_what_stmatrix_stored(form: Transfer, rng: np.random.Generator) -> None:
    addresses = 16 * rng.permutation(64)[:32]
    registers = rng.integers(0, 1 << 32, (5, 32, form.count), dtype=np.uint32)
    memory = form.emulate(registers, addresses, np.zeros(1024, dtype=np.uint8))
    assert memory.shape == (5, 1024)
    assert np.array_equal(row(form.mnemonic.replace("st", "ld", 1)).emulate(memory, addresses), registers)


def test_ldmatrix_reads_what_8_bit_stmatrix_stored(rng: np.random.Generator) -> None:
    """The fragments differ (m16n8 is an accumulator's, m16n16 that of A or B), the memory does not."""
    store = row("stmatrix.sync.aligned.m16n8.x2.trans.b8")
    load = row("ldmatrix.sync.aligned.m16n16.x1.trans.b8")
    codes = rng.integers(0, 256, (16, 16))
    registers = store.operand("r").pack_codes(codes)
    memory = store.emulate(registers, store.addresses(), np.zeros(256, dtype=np.uint8))
    assert np.array_equal(memory.reshape(16, 16), codes)
    assert np.array_equal(load.operand("R").unpack_codes(load.emulate(memory, load.addresses())), codes)
    ins = instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
    assert np.array_equal(store.operand("R").layout.T.coords()[:, :4], ins.d.layout.coords())


def test_movmatrix_by_the_manual(rng: np.random.Generator) -> None:
    a = rng.integers(0, 1 << 32, (4, 2, 32, 1), dtype=np.uint32)
    d = MOVMATRIX.emulate(a)
    assert d.shape == a.shape
    for lane in range(32):
        group, thread = lane >> 2, lane & 3
        for i in range(2):  # row 2t + i, column g of the source: lane 4 (2t + i) + g / 2, half g % 2
            source_lane = 4 * (2 * thread + i) + group // 2
            assert np.array_equal(
                d[..., lane, 0] >> 16 * i & 0xFFFF, a[..., source_lane, 0] >> 16 * (group % 2) & 0xFFFF
            )
    A, D = MOVMATRIX.operand("a"), MOVMATRIX.operand("d")
    assert np.array_equal(D.unpack_codes(d), np.swapaxes(A.unpack_codes(a), -1, -2))
    assert np.array_equal(MOVMATRIX.emulate(d), a)
    rows_at = np.arange(32) % 8 * 16
    stored = row("stmatrix.sync.aligned.m8n8.x1.b16").emulate(a, rows_at, np.zeros(128, dtype=np.uint8))
    assert np.array_equal(row("ldmatrix.sync.aligned.m8n8.x1.trans.b16").emulate(stored, rows_at), d)


# -- wmma --------------------------------------------------------------------------------


def lines_of(form: Transfer, data: bytes, stride: int, offset: int) -> np.ndarray:
    """The matrix in memory, element by element: [rows, columns] of codes."""
    operand = next(iter(form.operands.values()))
    bits, (height, width) = operand.dtype.bits, operand.shape
    whole = int.from_bytes(data[offset:], "little")
    rows_of, columns = np.ogrid[:height, :width]
    at = rows_of * stride + columns if form.layout == "row" else columns * stride + rows_of
    codes = [[whole >> bits * place & (1 << bits) - 1 for place in places] for places in at.tolist()]
    return np.array(codes, dtype=np.uint64)


@each("form", WMMA, ids=str)
@each("wide", [0, 1, 3])
def test_wmma_moves_the_matrix(form: Transfer, wide: int, rng: np.random.Generator) -> None:
    """Every element goes from its place in memory to all lanes that hold it; a store touches no more."""
    operand = next(iter(form.operands.values()))
    count, length = form.lines
    step = 8 * form.alignment // operand.dtype.bits
    stride, offset = length + wide * step, wide * form.alignment
    memory = rng.integers(0, 256, offset + count * stride * operand.dtype.bits // 8 + 8, dtype=np.uint8)
    codes = lines_of(form, memory.tobytes(), stride, offset)
    if form.family == "wmma.load":
        registers = form.emulate(memory, stride=stride, offset=offset)
        for copy in range(operand.layout.copies):
            assert np.array_equal(operand.unpack_codes(registers, copy), codes)
        if not wide:
            assert np.array_equal(form.emulate(memory), registers)
        return
    random = rng.integers(0, 1 << operand.dtype.bits, operand.shape, dtype=np.uint64)
    new_codes = random.astype(operand.dtype.code_type)
    stored = form.emulate(operand.pack_codes(new_codes), memory, stride=stride, offset=offset)
    assert np.array_equal(lines_of(form, stored.tobytes(), stride, offset), new_codes)
    back = form.emulate(
        operand.pack_codes(codes.astype(operand.dtype.code_type)), stored, stride=stride, offset=offset
    )
    assert np.array_equal(back, memory), "the gaps kept their bytes"


@each("form", [form for form in WMMA if form.matrix in ("c", "d")], ids=str)
def test_loads_and_stores_of_accumulators_share_the_fragment(form: Transfer) -> None:
    other = row(form.mnemonic.replace("load.c", "?.d").replace("store.d", "load.c").replace("?", "store"))
    (mine,), (theirs,) = form.operands.values(), other.operands.values()
    assert mine.layout == theirs.layout
    assert {mine.name, theirs.name} == {"C", "D"}


DEFAULT_STRIDES = """\
16x16x16 | 16 | 16 | 16 | 16 | 16 | 16
8x32x16 | 16 | 8 | 32 | 16 | 32 | 8
32x8x16 | 16 | 32 | 8 | 16 | 8 | 32
8x8x32 | 32 | 8 | 8 | 32 | 8 | 8
8x8x128 | 128 | 8 | 8 | 128 | 8 | 8
16x16x8 | 8 | 16 | 16 | 8 | 16 | 16
8x8x4 | 4 | 8 | 8 | 4 | 8 | 8"""


def test_default_strides() -> None:
    """The table of "Matrix Storage for WMMA": A, B, accumulator, each by rows and by columns."""
    table = {}
    for text in DEFAULT_STRIDES.splitlines():
        shape, *numbers = text.split(" | ")
        m, n, k = shape.split("x")
        for key, number in zip(product(("a", "b", "cd"), ("row", "col")), numbers, strict=True):
            table[f"m{m}n{n}k{k}", *key] = int(number)
    for form in WMMA:
        matrix = "cd" if form.matrix in ("c", "d") else form.matrix
        assert form.lines[1] == table[form.shape, matrix, form.layout]
        assert form.addresses(64)[0] == 64
        assert np.diff(form.addresses(0)).tolist() == [
            form.lines[1] * next(iter(form.operands.values())).dtype.bits // 8
        ] * (form.lines[0] - 1)


def test_alignment_of_wmma() -> None:
    """The manual's example: eight .f16x2 registers are 32 bytes; p and 2 * stride are multiples of that."""
    form = row("wmma.load.a.sync.aligned.row.m16n16k16.f16")
    assert form.alignment == 32
    memory = np.arange(16 * 40, dtype=np.float16)
    registers = form.emulate(memory, stride=32, offset=64)
    assert np.array_equal(form.operand("A").unpack(registers), memory[32:].reshape(-1, 32)[:16, :16])
    short = row("wmma.load.a.sync.aligned.col.m8n32k16.f16")
    assert short.alignment == 16, "its default stride is half a fragment"


# -- addresses and refusals --------------------------------------------------------------------------------


def test_lanes_that_supply_addresses() -> None:
    """The manual's table for 8-row matrices, and 16 lanes for each 16-row one."""
    for form in ROWS:
        lanes_per_matrix = 16 if form.shape == "m16n16" else 8
        lanes = range(lanes_per_matrix * form.count if form is not MOVMATRIX else 0)
        expected = [(lane, lane // lanes_per_matrix, lane % lanes_per_matrix) for lane in lanes]
        assert [tuple(speaker) for speaker in form.address_lanes] == expected
        if expected:
            assert form.operand("R").shape[0] == len(expected)
            assert form.addresses(32, 48)[: len(expected)].tolist() == [32 + 48 * lane for lane in lanes]
            assert form.addresses(32, 48).shape == (32,)


X2 = row("ldmatrix.sync.aligned.m8n8.x2.b16")
ST = row("stmatrix.sync.aligned.m8n8.x4.b16")
LA = row("wmma.load.a.sync.aligned.row.m16n16k16.f16")
L4 = row("wmma.load.a.sync.aligned.row.m8n8k32.s4")
BYTES = np.zeros(1024, dtype=np.uint8)
ZERO = np.zeros(32, dtype=int)
WORDS = np.zeros((3, 32, 4), np.uint32)
AT = np.arange(32) * 16
FIFTH, SEVENTH, NINTH = (np.arange(32) == lane for lane in (5, 7, 9))
REFUSALS: list[tuple[Any, str]] = [
    (lambda: X2.emulate(BYTES, AT + 4 * FIFTH), "^address 84 of lane 5: it must be a multiple of 16$"),
    (
        lambda: X2.emulate(BYTES, AT + 1024 * NINTH),
        "^address 1168 of lane 9: its row of 16 bytes lies outside of the memory of 1024 bytes",
    ),
    (lambda: X2.emulate(BYTES, AT - 16), r"^address -16 of lane 0: .* outside"),
    (
        lambda: X2.emulate(BYTES, AT[:16]),
        r"^addresses: found int64 of shape \(16,\); it takes whole numbers \[\.\.\., 32 lanes\]",
    ),
    (lambda: X2.emulate(BYTES, AT / 2), "^addresses: found float64"),
    (lambda: X2.emulate(BYTES), r"takes memory, addresses, found 1 array$"),
    (lambda: X2.emulate(np.zeros(4, dtype=bool), AT), "^memory: found bool"),
    (lambda: X2.emulate(BYTES, AT, stride=3), "has no stride and no offset"),
    (
        lambda: ST.emulate(WORDS[0], AT * ~SEVENTH, BYTES),
        "^lanes 0 and 7 store to the same address 0: .* undefined",
    ),
    (lambda: ST.emulate(WORDS[0, :, :2], AT, BYTES), r"^R: found registers of shape \(32, 2\)"),
    (lambda: ST.emulate(WORDS, AT, np.stack([BYTES, BYTES])), "which do not broadcast"),
    (lambda: LA.emulate(BYTES, stride=15), "stride=15 is shorter than a row of 16 elements"),
    (
        lambda: LA.emulate(BYTES, stride=24),
        "stride=24; rows start at multiples of 32 bytes, so it must be a multiple of 16 elements",
    ),
    (lambda: LA.emulate(BYTES, offset=16), "offset=16; rows start at multiples of 32 bytes"),
    (lambda: LA.emulate(BYTES[:512], stride=32), "row 15 ends at byte 992; the memory has 512"),
    (lambda: LA.emulate(BYTES, stride=16.0), "stride=16.0 is not a whole number"),
    (lambda: L4.emulate(np.zeros(64, dtype=np.float32)), "into which elements of 4 bits are packed"),
    (lambda: MOVMATRIX.addresses(), "stays in registers: it takes no address"),
    (lambda: MOVMATRIX.alignment, "nothing to align"),
    (lambda: X2.operand("A"), r"has no operand 'A'; it has R$"),
    (lambda: X2.in_space("global"), "^ldmatrix in .global: it takes .shared, .shared::cta, no state space"),
    (lambda: MOVMATRIX.in_space("shared"), r"^movmatrix in \.shared: it takes no state space"),
    (lambda: X2.supports("sm_91"), "^unknown target 'sm_91'"),
]


@each("ask, sentence", REFUSALS)
def test_refusals_say_what_is_wrong(ask: Any, sentence: str) -> None:
    refuses(sentence, ask)


def test_batches_broadcast(rng: np.random.Generator) -> None:
    memory, addresses = rng.integers(0, 256, (2, 1, 1024), dtype=np.uint8), 16 * rng.integers(0, 64, (3, 32))
    registers = X2.emulate(memory, addresses)
    assert registers.shape == (2, 3, 32, 2)
    assert np.array_equal(registers[1, 2], X2.emulate(memory[1, 0], addresses[2]))
    words = memory.view(np.float16)
    assert np.array_equal(X2.emulate(words, addresses), registers)
    stored = ST.emulate(
        rng.integers(0, 1 << 32, (3, 32, 4), dtype=np.uint32), 16 * rng.permutation(64)[:32], words
    )
    assert (stored.shape, stored.dtype) == ((2, 3, 512), np.dtype(np.float16))


# -- kernels --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_75", "sm_90a", "sm_100a", "sm_120a"])
def test_kernels_compile(target: str) -> None:
    """Rows of each target, their state space another one for each row; one module."""
    some = WMMA if target in ("sm_75", "sm_90a") else WMMA[::5]
    newest = newest_of_cuda(compiler_version())
    every = [form for form in (*ROWS, *some) if form.supports(target) and form.ptx_version <= newest]
    chosen = [
        form.in_space([None, *form.spaces][(i + len(target)) % (1 + len(form.spaces))])
        for i, form in enumerate(every)
    ]
    assert gpu.compile(source(one_in(9, chosen, len(target))), target, cache=False).startswith(b"\x7fELF")


def test_sources_hold_their_instruction_once() -> None:
    for form in SPELT.values():
        assert form.kernel.count(f'"{form.mnemonic} ') == 1
        assert f"void __launch_bounds__(32) {kernel_name(form)}(" in form.kernel
        assert f"// {form.ptx}" in form.kernel
    assert len({kernel_name(form) for form in SPELT.values()}) == len(set(SPELT.values()))


SIZES = {"uint4*": 1, "unsigned int*": 4, "unsigned long long*": 8}


@pytest.mark.parametrize(
    "form",
    [ROWS[0], STORES[-1], MOVMATRIX, WMMA[0], WMMA[-1], row("wmma.store.d.sync.aligned.row.m8n8k4.f64")],
    ids=str,
)
@pytest.mark.needs("cuda.core")
def test_arguments_are_those_of_the_kernel(
    form: Transfer, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """A launch that only looks: pointers get arrays of their words, ints get numbers, in order."""
    seen: list[Any] = []

    def look(code: str, kernel: str, arguments: list[Any], **sizes: int) -> None:
        declared = code[code.index(f"{kernel}(") + len(kernel) + 1 : code.index(")\n{")].split(",")
        for parameter, argument in zip(declared, arguments, strict=True):
            kind, _, called = parameter.strip().rpartition(" ")
            array = getattr(argument, "array", argument)
            assert isinstance(argument, gpu.Out) == (
                called in ({"result"} if "st" in form.family else {"R", "D"})
            )
            assert array.dtype.itemsize == SIZES.get(kind.removeprefix("const "), 4)
            assert array.ndim == 0 if kind in ("int", "unsigned int") else len(array) == 3
            seen.append(called)

    monkeypatch.setattr(device, "_first_gpu", lambda: device.Gpu("a GPU", form.targets[-1]))
    monkeypatch.setattr(runner, "launch", look)
    operand = next(iter(form.operands.values()))
    registers = rng.integers(0, 1 << 32, (3, 32, operand.registers), dtype=np.uint32)
    by_name = {
        "registers": registers.astype(operand.register_type),
        "addresses": np.arange(32) * 16,
        "memory": np.zeros((3, 2040), dtype=np.uint8),
    }
    arrays = [by_name[called] for called in form.inputs]
    assert form.run(*arrays).shape == form.emulate(*arrays).shape
    assert seen[-1] == "count"


def test_ptx_lines() -> None:
    for line_of in (
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r0, %r1}, [%p];",
        "stmatrix.sync.aligned.m16n8.x1.trans.b8 [%p], {%r0};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;",
        "wmma.load.a.sync.aligned.row.m8n8k32.s4 {%a0}, [%p], %stride;",
        "wmma.store.d.sync.aligned.col.m8n8k4.shared::cta.f64 [%p], {%d0, %d1}, %stride;",
    ):
        assert row(line_of.split(" ")[0]).ptx == line_of


def test_run_without_a_gpu_says_so() -> None:
    if gpu.available():
        pytest.skip("a GPU is there")
    refuses("emulator", X2.run, BYTES, ZERO)
