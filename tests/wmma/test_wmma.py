"""The mirror of `nvcuda::wmma` against plain arithmetic, bits counted by hand, and <mma.h> itself."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gpu, wmma
from ptxlab.instruction import mma_instructions
from ptxlab.wmma import (
    accumulator,
    bmmaBitOpAND,
    bmmaBitOpXOR,
    col_major,
    matrix_a,
    matrix_b,
    mem_col_major,
    mem_row_major,
    precision,
    row_major,
)
from tests.cases import each, refuses
from tests.sampling import every_third, some

FORMS = [ins for ins in mma_instructions("wmma") if ins.a_type in ("s4", "u4", "b1")]
TYPES = {"s4": 32, "u4": 32, "b1": 128}
BITS = {"s4": 4, "u4": 4, "b1": 1, "s32": 32}
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")
LAYOUTS = (mem_row_major, mem_col_major)
S32 = np.iinfo(np.int32)

every_form = pytest.mark.parametrize("ins", FORMS, ids=str)
every_type = pytest.mark.parametrize("kind", TYPES)


def frag_a(kind: str) -> wmma.fragment:
    return wmma.fragment(matrix_a, 8, 8, TYPES[kind], kind, row_major)


def frag_b(kind: str) -> wmma.fragment:
    return wmma.fragment(matrix_b, 8, 8, TYPES[kind], kind, col_major)


def frag_c(kind: str) -> wmma.fragment:
    return wmma.fragment(accumulator, 8, 8, TYPES[kind], int)


def fragments(kind: str) -> list[wmma.fragment]:
    return [frag_a(kind), frag_b(kind), frag_c(kind)]


def values(rng: np.random.Generator, kind: str, *shape: int) -> np.ndarray:
    low, high = {"s4": (-8, 8), "u4": (0, 16), "b1": (0, 2), "s32": (S32.min, S32.max + 1)}[kind]
    return rng.integers(low, high, shape)


def expected(ins: ptxlab.Instruction, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """D in 64-bit integers, then wrapped or clamped."""
    if ins.bit_op:
        rows, columns = A[..., :, None, :], np.swapaxes(B, -1, -2)[..., None, :, :]
        total = (rows ^ columns if ins.bit_op == "xor" else rows & columns).sum(axis=-1) + C
    else:
        total = A.astype(np.int64) @ B.astype(np.int64) + C
    return (np.clip(total, S32.min, S32.max) if ins.satfinite else total).astype(np.int32)


# -- fragments --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "elements", "storage"), [("u4", 8, "unsigned"), ("s4", 8, "int"), ("b1", 32, "unsigned")]
)
def test_storage_types_of_the_guide(kind: str, elements: int, storage: str) -> None:
    for frag in (frag_a(kind), frag_b(kind)):
        assert (frag.num_elements, frag.num_storage_elements) == (elements, 1)
        assert frag.storage_element_type == (storage, np.dtype(np.int32 if storage == "int" else np.uint32))
        assert frag.x.shape == (32, 1)
        assert frag.x.dtype == frag.storage_element_type.numpy
    c = frag_c(kind)
    assert (c.num_elements, c.num_storage_elements, c.storage_element_type.cpp, c.x.shape) == (
        2,
        2,
        "int",
        (32, 2),
    )


def test_names_are_those_of_cpp() -> None:
    assert repr(frag_a("s4")) == "fragment<matrix_a, 8, 8, 32, experimental::precision::s4, row_major>"
    assert repr(frag_c("b1")) == "fragment<accumulator, 8, 8, 128, int>"
    assert wmma.experimental.precision.s4 is wmma.precision.s4
    assert wmma.experimental.bmmaBitOpAND is wmma.bmmaBitOpAND
    assert wmma.experimental.bmmaAccumulateOpPOPC is wmma.bmmaAccumulateOpPOPC
    assert wmma.fragment("matrix_b", 8, 8, 32, precision.u4, "col_major").cpp == frag_b("u4").cpp
    assert (
        wmma.form("s4", satf=True).mnemonic == "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32.satfinite"
    )
    assert wmma.form("b1").bit_op == "xor"


def test_names_may_have_their_namespaces() -> None:
    types, s4 = wmma.types, precision.s4
    assert all(types.element_type(text) is s4 for text in (str(s4), s4.cpp, f"nvcuda::{s4.cpp}", "s4"))
    assert types.memory_layout("wmma::mem_col_major") is mem_col_major
    assert types.bit_op("experimental::bmmaBitOpXOR") == "xor"
    assert types.find_tag("nvcuda::wmma::row_major", {"row_major": row_major}, "layout") is row_major
    refuses("sub-byte wmma has s4", types.element_type, "std::s4")


def test_x_can_be_written_as_in_cpp() -> None:
    a = frag_a("s4")
    a.x = 0
    a.x[5, 0] = -1
    assert a.registers[5, 0] == 0xFFFFFFFF
    assert a.matrix[1, 8:16].tolist() == [-1] * 8
    assert a.matrix.sum() == -8
    c = frag_c("s4")
    wmma.fill_fragment(c, 21)
    c.x *= 2
    assert (c.matrix == 42).all()


# -- memory --------------------------------------------------------------------------------


def element(buffer: np.ndarray, kind: str, index: int) -> int:
    """An element of a buffer, read from its bytes as one long number."""
    raw = int.from_bytes(buffer.tobytes(), "little") >> BITS[kind] * index & (1 << BITS[kind]) - 1
    return raw - (1 << BITS[kind]) if kind.startswith("s") and raw >> BITS[kind] - 1 else raw


@each("kind", BITS)
@each("layout", ["row_major", "col_major", mem_row_major, mem_col_major], ids=str)
def test_elements_lie_low_bits_first(kind: str, layout: Any, rng: np.random.Generator) -> None:
    step = 128 // BITS[kind]
    matrix = values(rng, kind, 5, 7)
    ldm = 2 * step
    buffer = wmma.pack_matrix(matrix, kind, ldm, layout)
    by_columns = layout in ("col_major", mem_col_major)
    for row, column in np.ndindex(5, 7):
        assert (
            element(buffer, kind, (column * ldm + row) if by_columns else (row * ldm + column))
            == matrix[row, column]
        )
    assert (wmma.unpack_matrix(buffer, (5, 7), kind, ldm, layout) == matrix).all()
    assert len(wmma.pack_matrix(matrix, kind, layout=layout)) == (7 if by_columns else 5) * max(
        4, -(-(5 if by_columns else 7) // step) * 4
    )


@every_type
@pytest.mark.parametrize("word", [np.uint32, np.int32, np.uint8, np.int8])
def test_a_thread_loads_one_word_of_its_row(kind: str, word: type, rng: np.random.Generator) -> None:
    """Lane l reads word l % 4 of line l / 4: as the addresses in the machine code of wmma.load say."""
    ldm = 3 * TYPES[kind]
    words = ldm * BITS[kind] // 32
    buffer = rng.integers(0, 1 << 32, 8 * words, dtype=np.uint32)
    right = [int(buffer[lane // 4 * words + lane % 4]) for lane in range(32)]
    for frag in (frag_a(kind), frag_b(kind)):
        wmma.load_matrix_sync(frag, buffer.view(word), ldm)
        assert frag.registers[:, 0].tolist() == right
    assert (frag_values(buffer, kind, ldm, "row_major") == loaded(frag_a(kind), buffer, ldm)).all()
    assert (frag_values(buffer, kind, ldm, "col_major") == loaded(frag_b(kind), buffer, ldm)).all()


def frag_values(buffer: np.ndarray, kind: str, ldm: int, layout: str) -> np.ndarray:
    lines = [[element(buffer, kind, line * ldm + at) for at in range(TYPES[kind])] for line in range(8)]
    return np.array(lines if layout == "row_major" else np.transpose(lines))


def loaded(frag: wmma.fragment, buffer: np.ndarray, ldm: int) -> np.ndarray:
    wmma.load_matrix_sync(frag, buffer, ldm)
    return frag.matrix


@every_type
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_accumulators_go_to_memory_and_back(kind: str, layout: Any, rng: np.random.Generator) -> None:
    matrix = values(rng, "s32", 8, 8).astype(np.int32)
    source = np.zeros((8, 12), dtype=np.int32)
    source[:, :8] = matrix if layout is mem_row_major else matrix.T
    c = frag_c(kind)
    wmma.load_matrix_sync(c, source, 12, layout)
    assert (c.matrix == matrix).all()
    for lane, i in np.ndindex(32, 2):
        assert c.x[lane, i] == matrix[lane // 4, lane % 4 * 2 + i]
    out = np.full(8 * 20, 77, dtype=np.int32)
    wmma.store_matrix_sync(out, c, 20, layout)
    memory = out.reshape(8, 20)
    assert (memory[:, :8] == source[:, :8]).all()
    assert (memory[:, 8:] == 77).all(), "only the tile is written"


def test_a_tile_may_lie_inside_a_larger_matrix(rng: np.random.Generator) -> None:
    matrix = values(rng, "s4", 16, 128)
    buffer = wmma.pack_matrix(matrix, "s4")
    a = frag_a("s4")
    wmma.load_matrix_sync(a, buffer[8 * 16 + 8 :], 128)
    assert (a.matrix == matrix[8:, 64:96]).all()


# -- arithmetic --------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_mirror_computes(ins: ptxlab.Instruction, layout: Any, rng: np.random.Generator) -> None:
    A, B = values(rng, ins.a_type, 3, 2, 8, ins.k), values(rng, ins.b_type, 2, ins.k, 8)
    C = values(rng, "s32", 3, 2, 8, 8)
    C[0, 0] = S32.max - values(rng, "u4", 8, 8) * 40
    C[0, 1] = S32.min + values(rng, "u4", 8, 8) * 40
    for strides in ({}, {"lda": 3 * ins.k, "ldb": 2 * ins.k, "ldc": 20}):
        D = wmma.run(ins, A, B, C, face="mirror", layout=layout, **strides)
        np.testing.assert_array_equal(D, expected(ins, A, np.broadcast_to(B, (3, 2, ins.k, 8)), C))
    assert (wmma.run(ins, A, B, face="mirror") == expected(ins, A, B, np.zeros((8, 8), dtype=np.int64))).all()


@every_type
def test_extremes_wrap_or_stop(kind: str) -> None:
    if kind == "b1":
        a, b, c, d = (*fragments(kind), frag_c(kind))
        wmma.fill_fragment(a, 1)
        wmma.fill_fragment(b, 0)
        wmma.fill_fragment(c, S32.max)
        wmma.bmma_sync(d, a, b, c)
        assert (d.matrix == S32.min + 127).all(), (
            "xor of ones and zeros counts 128; there is no saturation for b1"
        )
        wmma.bmma_sync(d, a, b, c, bmmaBitOpAND)
        assert (d.matrix == S32.max).all()
        return
    a, b, c, d = (*fragments(kind), frag_c(kind))
    wmma.fill_fragment(a, -8 if kind == "s4" else 15)
    wmma.fill_fragment(b, 7 if kind == "s4" else 15)
    product = 32 * (-56 if kind == "s4" else 225)
    for start, stop in ((S32.min, S32.min), (S32.max, S32.max)):
        wmma.fill_fragment(c, start)
        wmma.mma_sync(d, a, b, c)
        assert (d.matrix == np.array(start + product).astype(np.int32)).all()
        wmma.mma_sync(d, a, b, c, True)
        assert (d.matrix == (stop if (start > 0) == (product > 0) else start + product)).all()


def test_an_accumulator_may_be_its_own_input() -> None:
    a, b, c = fragments("u4")
    for frag, value in ((a, 1), (b, 2), (c, 0)):
        wmma.fill_fragment(frag, value)
    for _ in range(3):
        wmma.mma_sync(c, a, b, c)
    assert (c.matrix == 3 * 64).all()


@every_type
def test_fill_gives_every_element_the_value(kind: str) -> None:
    for value in {"s4": range(-8, 8), "u4": range(16), "b1": range(2)}[kind]:
        for frag in (frag_a(kind), frag_b(kind)):
            wmma.fill_fragment(frag, value)
            assert (frag.matrix == value).all()
            low = value & (1 << BITS[kind]) - 1  # as __get_storage_value of <mma.h> repeats it
            assert (frag.registers == sum(low << at for at in range(0, 32, BITS[kind]))).all()


# -- refusals --------------------------------------------------------------------------------


def ready(kind: str) -> list[wmma.fragment]:
    made = fragments(kind)
    for frag in made:
        wmma.fill_fragment(frag, 0)
    return made


def _mma(kind: str, **changes: Any) -> None:
    a, b, c = ready(kind)
    parts = {"d": frag_c(kind), "a": a, "b": b, "c": c} | changes
    (wmma.bmma_sync if kind == "b1" else wmma.mma_sync)(*parts.values())


def _load(kind: str, buffer: Any, ldm: Any, layout: Any = None) -> None:
    wmma.load_matrix_sync(frag_a(kind) if kind in TYPES else frag_c("s4"), buffer, ldm, layout)


def _store(buffer: Any, ldm: Any, layout: Any = mem_row_major, frag: Any = None) -> None:
    wmma.store_matrix_sync(buffer, ready("s4")[2] if frag is None else frag, ldm, layout)


def words(count: int) -> np.ndarray:
    return np.zeros(count, dtype=np.uint32)


def ints(*shape: int) -> np.ndarray:
    return np.zeros(shape, dtype=np.int32)


def read_only() -> np.ndarray:
    out = ints(64)
    out.flags.writeable = False
    return out


F = wmma.fragment
BATCH = np.zeros((2, 8, 32), dtype=int), np.zeros((3, 32, 8), dtype=int)

#: What is refused, by a part of the sentence that says what would be right: a function, what it takes, and
#: last what it takes by name.
REFUSALS: dict[str, tuple[Any, ...]] = {
    "matrix_a of s4 with col_major: it must be row_major": (F, matrix_a, 8, 8, 32, "s4", col_major),
    "matrix_b of b1 with row_major: it must be col_major": (F, matrix_b, 8, 8, 128, "b1", row_major),
    "matrix_a of s4 with no layout: it must be row_major": (F, matrix_a, 8, 8, 32, "s4"),
    "accumulator with row_major: its type has no layout": (F, accumulator, 8, 8, 32, int, row_major),
    "layout mem_row_major: there are row_major, col_major": (F, matrix_a, 8, 8, 32, "s4", mem_row_major),
    "use matrix_c: there are matrix_a, matrix_b, accumulator": (F, "matrix_c", 8, 8, 32, "s4", row_major),
    "type 's5': sub-byte wmma has s4, u4 and b1": (F, matrix_a, 8, 8, 32, "s5", row_major),
    "m8n8k128 has no s4 form; s4 comes in m8n8k32": (F, matrix_a, 8, 8, 128, "s4", row_major),
    "m16n8k256 has no b1 form; b1 comes in m8n8k128": (F, matrix_b, 16, 8, 256, "b1", col_major),
    "m16n16k16 has no s32 form; s32 comes in m8n8k32, m8n8k128": (F, accumulator, 16, 16, 16, int),
    "matrix_a of int: sub-byte wmma has matrix_a of s4, u4 or b1": (F, matrix_a, 8, 8, 32, int, row_major),
    "accumulator of experimental::precision::s4: sub-byte wmma has accumulator of int":
        (F, accumulator, 8, 8, 32, "s4"),
    "found int64 of shape (2,); it takes int of shape (32, 1)": (setattr, frag_a("s4"), "x", [1, 2]),
    "found float64 of shape (); it takes int of shape (32, 2)": (setattr, frag_c("s4"), "x", 0.5),
    "ldm=48; for s4 it must be a multiple of 32 elements (16 bytes)": (_load, "s4", words(512), 48),
    "ldm=40; for u4 it must be a multiple of 32 elements (16 bytes)": (_load, "u4", words(512), 40),
    "ldm=160; for b1 it must be a multiple of 128 elements (16 bytes)": (_load, "b1", words(512), 160),
    "ldm=10; for s32 it must be a multiple of 4 elements (16 bytes)":
        (_load, "int", ints(512), 10, mem_row_major),
    "store_matrix_sync: ldm=9; for s32 it must be a multiple of 4 elements": (_store, ints(512), 9),
    "ldm=0 is shorter than a line of 32 elements; it must be 32 or more": (_load, "s4", words(512), 0),
    "ldm=-32 is shorter than a line of 32 elements; it must be 32 or more": (_load, "s4", words(512), -32),
    "ldm=4 is shorter than a line of 8 elements; it must be 8 or more":
        (_load, "int", ints(512), 4, mem_row_major),
    "ldm=32.0; it is a whole number of elements": (_load, "s4", words(512), 32.0),
    "the buffer ends after 248 elements of s4; 8 lines of 32 with ldm=32 need 256":
        (_load, "s4", words(31), 32),
    "the buffer ends after 100 elements of s32; 8 lines of 8 with ldm=16 need 120": (_store, ints(100), 16),
    "int8 buffer of shape (8, 32) holds 64 packed elements of s4, ldm=32":
        (_load, "s4", np.zeros((8, 32), dtype=np.int8), 32),
    "found a buffer of float64; packed elements of s4 lie in uint32, int32, uint8, int8":
        (_load, "s4", np.zeros(64), 32),
    "found a buffer of int64; accumulators of s32 lie in int32": (_store, np.zeros(64, dtype=np.int64), 8),
    "found list as buffer; it takes a NumPy array": (_load, "s4", [0] * 32, 32),
    "found a strided view; a pointer has no strides": (_load, "s4", words(64)[::2], 32),
    "the buffer is read-only": (_store, read_only(), 8),
    "starts 16 bytes into its array; the pointer must be 256-bit aligned": (_load, "s4", words(64)[4:], 32),
    "load_matrix_sync: found str where a wmma.fragment belongs": (wmma.load_matrix_sync, "a", words(64), 32),
    "an accumulator needs a layout, mem_row_major or mem_col_major": (_load, "int", ints(64), 8),
    "matrix_a has its layout in its type (row_major); leave the argument out":
        (_load, "s4", words(32), 32, mem_row_major),
    "layout row_major: an accumulator lies in memory as mem_row_major or mem_col_major":
        (_store, ints(64), 8, row_major),
    "only an accumulator can be stored": (_store, ints(64), 8, {"frag": frag_a("s4")}),
    "the accumulator was never filled, loaded or computed": (_store, ints(64), 8, {"frag": frag_c("s4")}),
    "store_matrix_sync: found int where a wmma.fragment belongs": (_store, ints(64), 8, {"frag": 3}),
    "fill_fragment: found 9; s4 holds -8..7 (C++ would keep its low 4 bits: -7)":
        (wmma.fill_fragment, frag_a("s4"), 9),
    "fill_fragment: found -1; u4 holds 0..15 (C++ would keep its low 4 bits: 15)":
        (wmma.fill_fragment, frag_a("u4"), -1),
    "fill_fragment: found 2; b1 holds 0..1 (C++ would keep its low 1 bit: 0)":
        (wmma.fill_fragment, frag_b("b1"), 2),
    "fill_fragment: found 2147483648; s32 holds": (wmma.fill_fragment, frag_c("b1"), 2**31),
    "found 0.5; s4 holds whole numbers -8..7": (wmma.fill_fragment, frag_a("s4"), 0.5),
    "found an array of shape (2,); it takes one value": (wmma.fill_fragment, frag_a("s4"), [1, 2]),
    "fill_fragment: found ndarray where a wmma.fragment belongs": (wmma.fill_fragment, words(3), 1),
    "a is s4 and b is u4; wmma takes no mixed types": (_mma, "s4", {"b": ready("u4")[1]}),
    "its use must be matrix_a": (_mma, "s4", {"a": ready("s4")[1]}),
    "its use must be accumulator": (_mma, "b1", {"d": ready("b1")[0]}),
    "c is m8n8k128 and a is m8n8k32; all fragments must have one shape": (_mma, "s4", {"c": ready("b1")[2]}),
    "c is int; it must be a wmma.fragment with use accumulator": (_mma, "s4", {"c": 0}),
    "c was never filled or loaded, C++ leaves it undefined": (_mma, "s4", {"c": frag_c("s4")}),
    "mma_sync: found b1; single bits take bmma_sync": (wmma.mma_sync, frag_c("b1"), *ready("b1")),
    "bmma_sync: found s4; it takes b1, s4 and u4 take mma_sync": (wmma.bmma_sync, frag_c("s4"), *ready("s4")),
    "sm_75 has no bmmaBitOpAND; it needs sm_80 or higher":
        (wmma.bmma_sync, frag_c("b1"), *ready("b1"), bmmaBitOpAND, {"target": "sm_75"}),
    "unknown target 'sm_7'": (wmma.mma_sync, frag_c("s4"), *ready("s4"), {"target": "sm_7"}),
    "op 3: there are bmmaBitOpXOR and bmmaBitOpAND": (wmma.bmma_sync, frag_c("b1"), *ready("b1"), 3),
    "accumulate=2; the accumulate operation is always":
        (wmma.bmma_sync, frag_c("b1"), *ready("b1"), bmmaBitOpXOR, 2),
    "op=bmmaBitOpAND: only b1 takes a bit operation": (wmma.cpp_source, "s4", bmmaBitOpAND),
    "satf=True: bmma_sync has no saturation": (wmma.cpp_source, "b1", {"satf": True}),
    "type int is that of accumulators": (wmma.cpp_source, int),
    "is not a sub-byte wmma": (wmma.ptx_triple, mma_instructions("mma")[0]),
    "contradicts them; leave them out with an instruction": (wmma.cpp_source, FORMS[-1], "xor"),
    "pack_matrix: found shape (2,); it takes [..., rows, columns]": (wmma.pack_matrix, [1, 2], "s4"),
    "row 0, column 1: found 8; s4 holds -8..7": (wmma.pack_matrix, [[1, 8]], "s4"),
    "layout diagonal: there are row_major and col_major":
        (wmma.pack_matrix, [[1]], "s4", {"layout": "diagonal"}),
    "pack_matrix: ldm=64; for b1 it must be a multiple of 128 elements": (wmma.pack_matrix, [[1]], "b1", 64),
    "unpack_matrix: the buffer ends after 24 elements of s4": (wmma.unpack_matrix, words(3), (8, 32), "s4"),
    "face='sass': there are mirror, cpp, ptx": (wmma.run, "s4", BATCH[0], BATCH[1][:1], {"face": "sass"}),
    "A, B and C have batches (2,), (3,), (), which do not broadcast": (wmma.run, "s4", *BATCH),
    "A: found shape (8, 8); it takes [..., 8, 32]": (wmma.run, "s4", np.zeros((8, 8)), BATCH[1]),
    "a: found uint32 of shape (32,); tiles with this stride":
        (wmma.run_buffers, "s4", words(32), words(32), ints(64), 32, 32, 8),
    "it needs sm_80 or higher": (wmma.machine_code, "b1", "sm_75", "and"),
}  # fmt: skip


@each("sentence", REFUSALS)
def test_refusals_say_what_would_be_right(sentence: str) -> None:
    act, *arguments = REFUSALS[sentence]
    named = arguments.pop() if isinstance(arguments[-1], dict) else {}
    refuses(re.escape(sentence), act, *arguments, **named)


@pytest.mark.skipif(gpu.available(), reason="a GPU is there")
@pytest.mark.parametrize("face", ["cpp", "ptx"])
def test_without_a_gpu_the_mirror_is_offered(face: Any) -> None:
    with pytest.raises(PtxlabError, match="face='mirror'"):
        wmma.run("s4", BATCH[0], BATCH[1][:1], face=face)


# -- the compiler as witness --------------------------------------------------------------------------------

HEAD = "#include <mma.h>\nusing namespace nvcuda;\nusing namespace nvcuda::wmma;\n"
SAME = """\
template <class A, class B> struct same { enum { yes = 0 }; };
template <class A> struct same<A, A> { enum { yes = 1 }; };
"""
REFUSED_BY_THE_COMPILER = (
    "no instance of overloaded function|incomplete type|too (many|few) arguments|cannot be initialized"
)


@pytest.fixture(scope="module")
def nvrtc() -> None:
    try:
        gpu.compile(HEAD, "sm_80", include_mma=True)
    except PtxlabError as error:
        pytest.skip(str(error))


def facts(frag: wmma.fragment) -> list[str]:
    """What the mirror says of a fragment, as C++ conditions."""
    name, storage = f"fragment_t<{frag.cpp}>::type", frag.storage_element_type
    return [
        f"int({name}::num_elements) == {frag.num_elements}",
        f"int({name}::num_storage_elements) == {frag.num_storage_elements}",
        f"same<{name}::element_type, {frag.element_type.cpp}>::yes",
        f"same<{name}::storage_element_type, {storage.cpp}>::yes",
        f"sizeof({name}::storage_element_type) == {storage.numpy.itemsize}",
        f"sizeof(decltype({name}::x)) == {frag.x[0].nbytes}",
    ]


def asserted(conditions: list[str]) -> str:
    return (
        HEAD
        + SAME
        + "template <class T> struct fragment_t { typedef T type; };\n"
        + "".join(f'static_assert({c}, "{c}");\n' for c in conditions)
    )


def test_header_agrees_with_every_fragment(nvrtc: None) -> None:
    conditions = [c for kind in TYPES for frag in fragments(kind) for c in facts(frag)]
    conditions += [
        f"int(experimental::{op.name}) == {int(op)}" for op in (*wmma.bmmaBitOp, *wmma.bmmaAccumulateOp)
    ]
    conditions += [f"int({layout.name}) == {int(layout)}" for layout in wmma.layout_t]
    assert len(conditions) == 9 * 6 + 5
    gpu.compile(asserted(conditions), "sm_80", include_mma=True, cache=False)


@pytest.mark.slow
def test_header_would_object(nvrtc: None) -> None:
    for condition in facts(frag_a("s4")):
        wrong = re.sub(r"== \d+", "== 3", condition).replace("::yes", "::yes == 0")
        with pytest.raises(PtxlabError, match="static assertion failed"):
            gpu.compile(asserted([wrong]), "sm_80", include_mma=True, cache=False)


#: C++ that the compiler refuses, and how the mirror refuses the same.
BOTH_REFUSE = [
    ("fragment<matrix_a, 8, 8, 32, s4, col_major> f;", "matrix_a of s4 with col_major: it must be row_major"),
    (
        "fragment<matrix_b, 8, 8, 128, b1, row_major> f;",
        "matrix_b of b1 with row_major: it must be col_major",
    ),
    ("fragment<matrix_a, 8, 8, 128, s4, row_major> f;", "m8n8k128 has no s4 form; s4 comes in m8n8k32"),
    (
        "fragment<accumulator, 8, 8, 32, int, row_major> f;",
        "accumulator with row_major: its type has no layout",
    ),
    ("A<s4> a; B<u4> b; C c; mma_sync(c, a, b, c);", "a is s4 and b is u4; wmma takes no mixed types"),
    ("A<s4> a; B<s4> b; C c; mma_sync(c, b, b, c);", "its use must be matrix_a"),
    (
        "A<b1, 128> a; B<b1, 128> b; C128 c; mma_sync(c, a, b, c);",
        "mma_sync: found b1; single bits take bmma_sync",
    ),
    (
        "A<s4> a; B<s4> b; C c; bmma_sync(c, a, b, c);",
        "bmma_sync: found s4; it takes b1, s4 and u4 take mma_sync",
    ),
    ("A<s4> a; store_matrix_sync((int *)0, a, 32, mem_row_major);", "only an accumulator can be stored"),
    (
        "C c; load_matrix_sync(c, (const int *)0, 8);",
        "an accumulator needs a layout, mem_row_major or mem_col_major",
    ),
    (
        "A<s4> a; load_matrix_sync(a, (const int *)0, 32, mem_row_major);",
        "matrix_a has its layout in its type (row_major); leave the argument out",
    ),
]
ALIASES = """\
using namespace nvcuda::wmma::experimental::precision;
template <class T, int k = 32> using A = fragment<matrix_a, 8, 8, k, T, row_major>;
template <class T, int k = 32> using B = fragment<matrix_b, 8, 8, k, T, col_major>;
using C = fragment<accumulator, 8, 8, 32, int>;
using C128 = fragment<accumulator, 8, 8, 128, int>;
"""


@pytest.mark.parametrize(("body", "sentence"), BOTH_REFUSE)
def test_what_the_mirror_refuses_the_compiler_refuses(body: str, sentence: str, nvrtc: None) -> None:
    assert sentence in REFUSALS
    source = f"{HEAD}{ALIASES}__global__ void k() {{ {body} }}"
    refuses(REFUSED_BY_THE_COMPILER, gpu.compile, source, "sm_80", include_mma=True, cache=False)


def test_aliases_of_the_refusals_compile(nvrtc: None) -> None:
    good = "A<s4> a; B<s4> b; C c; mma_sync(c, a, b, c);"
    good += "A<b1, 128> p; B<b1, 128> q; C128 r; bmma_sync(r, p, q, r);"
    assert gpu.compile(
        f"{HEAD}{ALIASES}__global__ void k() {{ {good} }}", "sm_80", include_mma=True, cache=False
    )


def joined(face: str, target: str) -> tuple[dict[str, ptxlab.Instruction], str]:
    """All kernels of a face that a target has in one source, each under its own name."""
    make = {"cpp": wmma.cpp_source, "ptx": wmma.ptx_triple}[face]
    names, parts = {}, []
    for number, ins in enumerate(ins for ins in FORMS if ins.supports(target)):
        for layout in LAYOUTS:
            name = f"k{number}{layout.name}"
            names[name] = ins
            parts.append(make(ins, layout=layout).replace(wmma.NAMES[face], name))
    return names, "\n".join(parts)


@lru_cache(maxsize=None)
def cubin(face: str, target: str) -> bytes:
    return gpu.compile(joined(face, target)[1], target, include_mma=face == "cpp", cache=False)


@pytest.mark.slow
@pytest.mark.parametrize("target", every_third(TARGETS))
@pytest.mark.parametrize("face", ["cpp", "ptx"])
def test_kernels_compile(face: str, target: str, nvrtc: None) -> None:
    names, _ = joined(face, target)
    assert len(names) == 2 * (5 if target == "sm_75" else 6)
    code = cubin(face, target)
    for name in names:
        assert f".text.{name}".encode() in code


@pytest.mark.parametrize("face", ["cpp", "ptx"])
def test_and_does_not_compile_for_sm_75(face: str, nvrtc: None) -> None:
    source = {"cpp": wmma.cpp_source, "ptx": wmma.ptx_triple}[face]("b1", bmmaBitOpAND)
    with pytest.raises(PtxlabError, match=r"bmmaBitOpAND|\.and"):
        gpu.compile(source, "sm_75", include_mma=True, cache=False)


@every_form
def test_kernels_say_what_they_run(ins: ptxlab.Instruction) -> None:
    lines = list(wmma.ptx_lines(ins).values())
    source = wmma.ptx_triple(ins)
    for line in lines:
        assert line.split()[0] in source
    assert lines[3].split()[0] == ins.mnemonic
    cpp = wmma.cpp_source(ins)
    for text in (
        "#include <mma.h>",
        f"experimental::precision::{ins.a_type}",
        "load_matrix_sync",
        "store_matrix_sync",
    ):
        assert text in cpp
    assert ("bmma_sync" in cpp) == (ins.bit_op is not None)
    assert ("c, true)" in cpp) == ins.satfinite


@pytest.mark.slow
@pytest.mark.parametrize("target", some(["sm_90a", "sm_80", "sm_75", "sm_100a", "sm_120a"]))
@pytest.mark.parametrize("face", ["cpp", "ptx"])
def test_machine_code_is_as_told(face: str, target: str, nvrtc: None, tmp_path: Path) -> None:
    pathfinder = pytest.importorskip("cuda.pathfinder")
    tool = pathfinder.find_nvidia_binary_utility("nvdisasm")
    if tool is None:
        pytest.skip("no nvdisasm; pip install nvidia-cuda-nvdisasm")
    if gpu.compiler_version() < (13, 0):
        pytest.skip("the table is that of CUDA 13.0")
    file = tmp_path / "kernels.cubin"
    file.write_bytes(cubin(face, target))
    listing = subprocess.run([tool, str(file)], capture_output=True, text=True, check=True).stdout
    sections = dict(
        re.findall(r"\.section\s+\.text\.(\w+),(.*?)(?=\.section\s|\Z)", listing, flags=re.DOTALL)
    )
    for name, ins in joined(face, target)[0].items():
        counts = Counter(re.findall(r"\b([IB]MMA\.[\w.]+)", sections[name]))
        stated = wmma.machine_code(ins, target)
        assert counts == {stated.opcode: stated.count}, ins.mnemonic


@every_form
def test_deprecation_is_the_guides(ins: ptxlab.Instruction) -> None:
    """The guide's list: u4, s4, and b1 with bmmaBitOpXOR."""
    deprecation = wmma.deprecation(ins)
    assert deprecation.deprecated == (ins.a_type in ("u4", "s4") or ins.bit_op == "xor")
    assert deprecation.removal == "sm_90"
    assert deprecation.before.native
    assert deprecation.instead.native == (not deprecation.deprecated)
    assert deprecation.instead.opcode in str(deprecation)
    assert ("not deprecated" in str(deprecation)) == (not deprecation.deprecated)
