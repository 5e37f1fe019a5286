"""On a GPU: ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store against the emulator, with random memory, addresses and strides."""

from __future__ import annotations

import os
import secrets
from functools import lru_cache

import numpy as np
import pytest

from ptxlab import PtxlabError, catalog, gpu
from ptxlab.gpu.codegen.transfer import IMAGE_BYTES, source
from ptxlab.isa.catalog.transfer import rows, wmma_rows
from ptxlab.isa.transfer import TransferForm

pytestmark = pytest.mark.gpu

SEED = int(os.environ.get("PTXLAB_SEED", secrets.randbits(31)))
TARGET = gpu.device_target() if gpu.available() else "sm_90a"


ROWS = [move for move in rows() if move.supports(TARGET)]
WMMA = [move for move in wmma_rows(catalog("wmma")) if move.supports(TARGET)]


def variants(move: TransferForm) -> list[TransferForm]:
    return [move.in_space(space) for space in (None, *move.spaces)]


@lru_cache(maxsize=None)
def together(space: str | None) -> str:
    """The kernels of one state space in one source: the compiler is started once for all of them."""
    return source(
        [variant for move in (*ROWS, *WMMA) for variant in variants(move) if variant.space == space]
    )


def differing(move: TransferForm, *given: np.ndarray, **options: int) -> int:
    """How many bytes or registers the GPU and the emulator do not agree on, in any state space."""
    here, wrong = move.emulate(*given, **options), 0
    for variant in variants(move):
        there = variant.run(*given, code=together(variant.space), **options)
        assert (there.shape, there.dtype) == (here.shape, here.dtype)
        wrong += int(
            np.sum(np.ascontiguousarray(there).view(np.uint8) != np.ascontiguousarray(here).view(np.uint8))
        )
    return wrong


@pytest.mark.parametrize("move", [move for move in ROWS if move.family == "ldmatrix"], ids=str)
def test_ldmatrix(move: TransferForm) -> None:
    """Rows anywhere, also one row several times; lanes that are not heard have other addresses."""
    rng = np.random.default_rng(SEED)
    memory = rng.integers(0, 256, (256, 4080), dtype=np.uint8)
    addresses = 16 * rng.integers(0, 255, (256, 32))
    assert differing(move, memory, addresses) == 0, f"PTXLAB_SEED={SEED}"
    assert differing(move, memory[:1], addresses.reshape(4, 64, 32)) == 0
    assert differing(move, memory[0], move.addresses(64, 48)) == 0


@pytest.mark.parametrize("move", [move for move in ROWS if move.family == "stmatrix"], ids=str)
def test_stmatrix(move: TransferForm) -> None:
    rng = np.random.default_rng(SEED)
    memory = rng.integers(0, 256, (256, 1000), dtype=np.uint8)
    registers = rng.integers(0, 1 << 32, (256, 32, move.operand("R").registers), dtype=np.uint32)
    addresses = 16 * rng.permuted(np.broadcast_to(np.arange(62), (256, 62)), axis=1)[:, :32]
    assert differing(move, registers, addresses, memory) == 0, f"PTXLAB_SEED={SEED}"
    assert differing(move, registers, addresses[0], memory[1].view(np.float16)[:496]) == 0


@pytest.mark.parametrize("move", [move for move in ROWS if move.family == "movmatrix"], ids=str)
def test_movmatrix(move: TransferForm) -> None:
    registers = np.random.default_rng(SEED).integers(0, 1 << 32, (8, 64, 32, 1), dtype=np.uint32)
    assert differing(move, registers) == 0, f"PTXLAB_SEED={SEED}"


@pytest.mark.parametrize("move", WMMA, ids=str)
def test_wmma(move: TransferForm) -> None:
    """Tight and with gaps, from the start of memory and from further on: every fragment as the chip really holds it."""
    rng = np.random.default_rng(SEED)
    (operand,) = move.operands.values()
    count, length = move.lines
    step = 8 * move.alignment // operand.dtype.bits
    for wide, offset in ((0, 0), (1, move.alignment), (2, 0), (5, 3 * move.alignment)):
        stride = length + wide * step
        memory = rng.integers(0, 256, (16, offset + count * stride * operand.dtype.bits // 8), dtype=np.uint8)
        given = [memory]
        if move.family == "wmma.store":
            registers = rng.integers(
                0, 1 << operand.register_bits, (16, 32, operand.registers), dtype=operand.register_type
            )
            given = [registers, memory]
        wrong = differing(move, *given, stride=stride, offset=offset)
        assert wrong == 0, f"stride {stride}, offset {offset}; PTXLAB_SEED={SEED}"
        if not wide:
            assert differing(move, *given) == 0, "the default stride"


def test_what_cannot_run_says_so() -> None:
    lacking = [move for move in rows() if not move.supports(TARGET)]
    for move in lacking:
        with pytest.raises(PtxlabError, match="the emulator does it anyway"):
            move.run(np.zeros(1024, dtype=np.uint8), move.addresses())
    with pytest.raises(PtxlabError, match=f"{IMAGE_BYTES} bytes of shared memory"):
        ROWS[0].run(np.zeros(IMAGE_BYTES + 1, dtype=np.uint8), ROWS[0].addresses())


def test_empty_batch() -> None:
    move = ROWS[0]
    assert move.run(np.zeros((0, 256), dtype=np.uint8), move.addresses()).shape == (
        0,
        32,
        move.operand("R").registers,
    )
