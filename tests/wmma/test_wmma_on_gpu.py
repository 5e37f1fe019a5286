"""Sub-byte WMMA on the GPU: the C++ API, the PTX instructions and the mirror give the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import gpu, wmma
from ptxlab.instruction import mma_instructions
from tests.cases import each

pytestmark = pytest.mark.gpu

FORMS = [ins for ins in mma_instructions("wmma") if ins.a_type in ("s4", "u4", "b1")]
LAYOUTS = tuple(wmma.layout_t)
TILES = 1024
S32 = np.iinfo(np.int32)


def needs(ins: ptxlab.Instruction, source: str = "") -> None:
    """Skip, and say why, where the GPU lacks the instruction or NVRTC the headers behind <mma.h>."""
    if not gpu.available(ins):
        pytest.skip(gpu.status(ins))
    if "<mma.h>" in source:
        try:
            gpu.compile(source, gpu.device_target(), include_mma=True)
        except ptxlab.PtxlabError as error:
            if "mma.h" not in str(error):
                raise
            pytest.skip("the headers behind <mma.h> are missing; pip install nvidia-cuda-crt")


def operands(ins: ptxlab.Instruction, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random bits; every fourth tile of A and B at an end of its range, C at and near the ends of s32."""
    shapes = (TILES, 8, ins.k), (TILES, ins.k, 8)
    kind = ins.a.dtype
    A, B = (rng.integers(kind.minimum, kind.maximum + 1, shape) for shape in shapes)
    A[::4] = kind.minimum if kind.signed else kind.maximum
    B[::8] = kind.minimum if kind.signed else kind.maximum
    B[4::8] = kind.maximum
    C = rng.integers(S32.min, S32.max + 1, (TILES, 8, 8))
    reach = rng.integers(0, 33 * max(kind.maximum, 1) ** 2 + 200, (TILES, 8, 8))
    C[0::3] = (S32.max - reach)[0::3]
    C[1::3] = (S32.min + reach)[1::3]
    C[::16], C[8::16] = S32.max, S32.min
    return A, B, C


def plain(ins: ptxlab.Instruction, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    if ins.bit_op:
        rows, columns = A[:, :, None, :], np.swapaxes(B, -1, -2)[:, None, :, :]
        total = (rows ^ columns if ins.bit_op == "xor" else rows & columns).sum(axis=-1) + C
    else:
        total = A @ B + C
    return (np.clip(total, S32.min, S32.max) if ins.satfinite else total).astype(np.int32)


@each("ins", FORMS, ids=str)
@each("layout", LAYOUTS, ids=lambda layout: layout.name)
@each("wide", [False, True], ids=["tight", "wide"])
@each("face", ["cpp", "ptx"])
def test_faces_agree(
    ins: ptxlab.Instruction, layout: Any, wide: bool, face: Any, rng: np.random.Generator
) -> None:
    needs(ins, wmma.cpp_source(ins, layout=layout) if face == "cpp" else "")
    A, B, C = operands(ins, rng)
    strides = {"lda": 3 * ins.k, "ldb": 2 * ins.k, "ldc": 20} if wide else {}
    right = plain(ins, A, B, C)
    if ins.satfinite:
        assert (right == S32.max).any()
        assert (right == S32.min).any() or ins.a_type == "u4"
    for where in ("mirror", face):
        D = wmma.run(ins, A, B, C, face=where, layout=layout, **strides)
        np.testing.assert_array_equal(D, right, err_msg=where)


@each("ins", FORMS, ids=str)
@each("face", ["cpp", "ptx"])
def test_gaps_between_lines_are_not_read(
    ins: ptxlab.Instruction, face: Any, rng: np.random.Generator
) -> None:
    """Every word of the buffers is random, the gaps too; the GPU and the mirror read the same memory."""
    needs(ins, wmma.cpp_source(ins) if face == "cpp" else "")
    lda, ldb, ldc = 2 * ins.k, 4 * ins.k, 12
    per = ins.a.elements_per_register
    a, b, c = (
        rng.integers(0, 1 << 32, (257, size), dtype=np.uint32)
        for size in (8 * lda // per, 8 * ldb // per, 8 * ldc)
    )
    c = c.view(np.int32)
    A = wmma.unpack_matrix(a, (8, ins.k), ins.a_type, lda).astype(np.int64)
    B = wmma.unpack_matrix(b, (ins.k, 8), ins.b_type, ldb, "col_major").astype(np.int64)
    C = wmma.unpack_matrix(c, (8, 8), "s32", ldc).astype(np.int64)
    for where in ("mirror", face):
        d = wmma.run_buffers(ins, a, b, c, lda, ldb, ldc, face=where)
        np.testing.assert_array_equal(
            wmma.unpack_matrix(d, (8, 8), "s32", ldc), plain(ins, A, B, C), err_msg=where
        )


LANES = """\
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void lanes(const unsigned *A, const unsigned *B, const int *C, unsigned *X,
                                 unsigned lda, unsigned ldb, unsigned ldc, int fill)
{{
    {a} a, fa;
    {b} b, fb;
    {c} c, fc;
    wmma::load_matrix_sync(a, A, lda);
    wmma::load_matrix_sync(b, B, ldb);
    wmma::load_matrix_sync(c, C, ldc, wmma::{layout});
    wmma::fill_fragment(fa, fill);
    wmma::fill_fragment(fb, fill);
    wmma::fill_fragment(fc, fill);
    unsigned *x = X + threadIdx.x * 8;
    x[0] = a.x[0]; x[1] = b.x[0]; x[2] = c.x[0]; x[3] = c.x[1];
    x[4] = fa.x[0]; x[5] = fb.x[0]; x[6] = fc.x[0]; x[7] = fc.x[1];
}}
"""


@pytest.mark.parametrize("kind", ["s4", "u4", "b1"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_x_is_what_a_thread_sees(kind: str, layout: Any, rng: np.random.Generator) -> None:
    """`fragment.x[lane]` is ``frag.x`` of every thread: the layout, which the ISA leaves open."""
    k = wmma.form(kind).k
    size = 8, 8, k

    def make() -> list[wmma.fragment]:
        a = wmma.fragment(wmma.matrix_a, *size, kind, wmma.row_major)
        b = wmma.fragment(wmma.matrix_b, *size, kind, wmma.col_major)
        return [a, b, wmma.fragment(wmma.accumulator, *size, int)]

    loaded, filled = make(), make()
    per, ldc = loaded[0].num_elements, 16
    a, b = (rng.integers(0, 1 << 32, 8 * 2 * k // per, dtype=np.uint32) for _ in range(2))
    c = rng.integers(S32.min, S32.max, 8 * ldc, dtype=np.int32)
    source = LANES.format(a=loaded[0].cpp, b=loaded[1].cpp, c=loaded[2].cpp, layout=layout.name)
    needs(wmma.form(kind), source)
    for fill in {"s4": (-8, -3, 7), "u4": (0, 5, 15), "b1": (0, 1)}[kind]:
        seen = np.zeros((32, 8), dtype=np.uint32)
        arguments = [a, b, c, gpu.Out(seen), *(np.uint32(ld) for ld in (2 * k, 2 * k, ldc)), np.int32(fill)]
        gpu.launch(source, "lanes", arguments, grid=1, block=32, include_mma=True)
        wmma.load_matrix_sync(loaded[0], a, 2 * k)
        wmma.load_matrix_sync(loaded[1], b, 2 * k)
        wmma.load_matrix_sync(loaded[2], c, ldc, layout)
        for frag in filled:
            wmma.fill_fragment(frag, fill)
        np.testing.assert_array_equal(
            seen, np.concatenate([frag.registers for frag in loaded + filled], axis=1)
        )
