"""On a GPU: ldmatrix, stmatrix, movmatrix, wmma.load, wmma.store against the emulator, on random memory."""

from __future__ import annotations

import os
import secrets
from functools import lru_cache

import numpy as np
import pytest

from ptxlab import PtxlabError, Transfer, gpu
from ptxlab.gpu.codegen.transfer_kernel import SHARED_BYTES, source
from ptxlab.instruction import mma_instructions
from ptxlab.isa.catalog.transfer_rows import rows, wmma_rows
from tests.cases import each, refuses

pytestmark = pytest.mark.gpu

SEED = int(os.environ.get("PTXLAB_SEED", secrets.randbits(31)))
TARGET = gpu.device_target() if gpu.available() else "sm_90a"


#: Those that the installed NVRTC knows: of CUDA 13.0, all but ldmatrix .s8.s4.
ROWS = [
    form
    for form in rows()
    if isinstance(form, Transfer) and form.supports(TARGET) and (not gpu.available() or gpu.available(form))
]
WMMA = [
    form
    for form in wmma_rows(mma_instructions("wmma"))
    if isinstance(form, Transfer) and form.supports(TARGET)
]


def variants(form: Transfer) -> list[Transfer]:
    return [form.in_space(space) for space in (None, *form.spaces)]


@lru_cache(maxsize=None)
def together(space: str | None) -> str:
    """The kernels of one state space in one source: the compiler is started once for all of them."""
    return source(
        [variant for form in (*ROWS, *WMMA) for variant in variants(form) if variant.space == space]
    )


def differing(form: Transfer, *arrays: np.ndarray, **options: int) -> int:
    """How many bytes or registers the GPU and the emulator do not agree on, in any state space."""
    here, wrong = form.emulate(*arrays, **options), 0
    for variant in variants(form):
        there = variant.run(*arrays, source=together(variant.space), **options)
        assert (there.shape, there.dtype) == (here.shape, here.dtype)
        wrong += int(
            np.sum(np.ascontiguousarray(there).view(np.uint8) != np.ascontiguousarray(here).view(np.uint8))
        )
    return wrong


@pytest.mark.parametrize("form", [form for form in ROWS if form.family == "ldmatrix"], ids=str)
def test_ldmatrix_is_as_emulated(form: Transfer) -> None:
    """Rows anywhere, also one row several times; lanes whose address is ignored have other addresses."""
    rng = np.random.default_rng(SEED)
    memory = rng.integers(0, 256, (256, 4080), dtype=np.uint8)
    addresses = form.alignment * rng.integers(0, 4080 // form.alignment, (256, 32))
    assert differing(form, memory, addresses) == 0, f"PTXLAB_SEED={SEED}"
    assert differing(form, memory[:1], addresses.reshape(4, 64, 32)) == 0, f"PTXLAB_SEED={SEED}"
    assert differing(form, memory[0], form.addresses(64, 48)) == 0, f"PTXLAB_SEED={SEED}"


@pytest.mark.parametrize("form", [form for form in ROWS if form.family == "stmatrix"], ids=str)
def test_stmatrix_is_as_emulated(form: Transfer) -> None:
    rng = np.random.default_rng(SEED)
    memory = rng.integers(0, 256, (256, 1000), dtype=np.uint8)
    registers = rng.integers(0, 1 << 32, (256, 32, form.operand("R").registers), dtype=np.uint32)
    addresses = 16 * rng.permuted(np.broadcast_to(np.arange(62), (256, 62)), axis=1)[:, :32]
    assert differing(form, registers, addresses, memory) == 0, f"PTXLAB_SEED={SEED}"
    halves = memory[1].view(np.float16)[:496]
    assert differing(form, registers, addresses[0], halves) == 0, f"PTXLAB_SEED={SEED}"


@pytest.mark.parametrize("form", [form for form in ROWS if form.family == "movmatrix"], ids=str)
def test_movmatrix_is_as_emulated(form: Transfer) -> None:
    registers = np.random.default_rng(SEED).integers(0, 1 << 32, (8, 64, 32, 1), dtype=np.uint32)
    assert differing(form, registers) == 0, f"PTXLAB_SEED={SEED}"


@each("form", WMMA, ids=str)
def test_wmma_loads_and_stores_are_as_emulated(form: Transfer) -> None:
    """Tight and with gaps, from the start of memory and further on: every fragment as the chip holds it."""
    rng = np.random.default_rng(SEED)
    (operand,) = form.operands.values()
    count, length = form.lines
    step = 8 * form.alignment // operand.dtype.bits
    for wide, offset in ((0, 0), (1, form.alignment), (2, 0), (5, 3 * form.alignment)):
        stride = length + wide * step
        memory = rng.integers(0, 256, (16, offset + count * stride * operand.dtype.bits // 8), dtype=np.uint8)
        arrays = [memory]
        if form.family == "wmma.store":
            registers = rng.integers(
                0, 1 << operand.register_bits, (16, 32, operand.registers), dtype=operand.register_type
            )
            arrays = [registers, memory]
        wrong = differing(form, *arrays, stride=stride, offset=offset)
        assert wrong == 0, f"stride {stride}, offset {offset}; PTXLAB_SEED={SEED}"
        if not wide:
            assert differing(form, *arrays) == 0, "the default stride"


def test_what_cannot_run_says_so() -> None:
    lacking = [form for form in rows() if isinstance(form, Transfer) and not form.supports(TARGET)]
    for form in lacking:
        refuses("the emulator does it anyway", form.run, np.zeros(1024, dtype=np.uint8), form.addresses())
    with pytest.raises(PtxlabError, match=f"{SHARED_BYTES} bytes of shared memory"):
        ROWS[0].run(np.zeros(SHARED_BYTES + 1, dtype=np.uint8), ROWS[0].addresses())


def test_empty_batch() -> None:
    form = ROWS[0]
    assert form.run(np.zeros((0, 256), dtype=np.uint8), form.addresses()).shape == (
        0,
        32,
        form.operand("R").registers,
    )
