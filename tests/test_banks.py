"""Bank conflicts and tensor maps: small cases by hand, refusals, and arrays of accesses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gpu, instruction, memory, tensor_map
from ptxlab.memory import Tile, conflicts

LANE = np.arange(32)


@pytest.mark.parametrize(
    ("addresses", "width", "wavefronts"),
    [
        (LANE * 4, 4, 1),
        (LANE * 8, 4, 2),
        (LANE * 128, 4, 32),
        (LANE * 132, 4, 1),
        (LANE * 0, 4, 1),
        (LANE, 1, 1),
        (LANE * 2, 2, 1),
        (LANE * 64, 2, 16),
        (LANE * 8, 8, 2),
        (LANE * 16, 16, 4),
        (LANE * 256, 8, 32),
        (LANE // 2 * 8, 8, 1),  # pairs of lanes share an address: all 32 at once
        (LANE // 2 * 16, 16, 2),
        (LANE // 4 * 4, 4, 1),
    ],
)
def test_wavefronts(addresses: np.ndarray, width: int, wavefronts: int) -> None:
    answer = conflicts(addresses, width)
    assert answer.wavefronts == wavefronts
    assert bool(answer.collisions) == (wavefronts > answer.least)
    assert (answer.schedule.max() + 1) == wavefronts


def test_stores_of_shared_addresses_are_not_merged() -> None:
    assert conflicts(LANE // 2 * 8, 8, store=True).wavefronts == 2
    assert conflicts(LANE // 2 * 16, 16, store=True).wavefronts == 4


def test_collisions_name_lanes_and_words() -> None:
    (first, *others) = conflicts(LANE * 8).collisions
    assert first == (0, 0, (0, 16), (0, 32))
    assert len(others) == 15
    assert (
        str(conflicts(LANE * 8)) == "2 wavefronts where 1 would do: 2 lanes want 2 different words of bank 0."
    )
    assert str(conflicts(LANE * 4)) == "1 wavefront, no conflicts."


def test_lanes_that_take_no_part() -> None:
    even = LANE % 2 == 0
    assert conflicts(LANE * 128, active=LANE == 3).wavefronts == 1
    assert conflicts(LANE * 4 + 1, active=LANE * 0).wavefronts == 0
    assert conflicts(LANE * 8, 8, active=even).wavefronts == conflicts(LANE // 2 * 16, 8).wavefronts == 2
    assert conflicts(LANE + LANE % 2, 2, active=even).wavefronts == 1


def test_a_batch_of_accesses(rng: np.random.Generator) -> None:
    addresses = rng.integers(0, 1024, (50, 4, 32)) * 16
    for width in (4, 16):
        together = conflicts(addresses, width).wavefronts
        assert isinstance(together, np.ndarray) and together.shape == (50, 4)
        assert together[7, 2] == conflicts(addresses[7, 2], width).wavefronts
    with pytest.raises(PtxlabError, match=r"collisions of a batch of shape \(50, 4\)"):
        _ = conflicts(addresses).collisions


def test_ldmatrix_and_stmatrix() -> None:
    for family, count in (("ldmatrix", 4), ("stmatrix", 2), ("ldmatrix", 1)):
        form = instruction(f"{family}.sync.aligned.m8n8.x{count}.shared.b16")
        assert isinstance(form, ptxlab.Transfer)
        assert form.conflicts(form.addresses(stride=16)).wavefronts == count
        assert form.conflicts(form.addresses(stride=128)).wavefronts == 8 * count
        assert form.conflicts(form.addresses(stride=80)).wavefronts == count  # 5 chunks: all 8 differ
        assert form.conflicts(form.addresses(stride=64)).wavefronts == 4 * count
        tile = Tile(16, 8 * count, 64, swizzle=128)
        rows = np.resize(tile.offset(np.arange(8 * count), 16), 32)
        assert form.conflicts(rows).wavefronts == count


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: conflicts(LANE[:31]), r"addresses of shape \(31,\): a warp has 32 lanes"),
        (lambda: conflicts(LANE * 4, 3), "width=3: a lane reads or writes 1, 2, 4, 8, 16 bytes"),
        (lambda: conflicts(LANE), "address 1: an access of 4 bytes is aligned to 4 bytes"),
        (lambda: conflicts(LANE * 4 - 4), "address -4: shared-memory addresses go from 0 to 262143"),
        (lambda: conflicts(LANE * 1e3), "it takes whole numbers"),
        (lambda: conflicts(LANE * 4, active=LANE), "active: found other than True and False"),
        (lambda: conflicts(LANE * 4, active=[1]), r"active of shape \(1,\): it takes a flag for each of 32"),
        (
            lambda: _transfer("ldmatrix.sync.aligned.m8n8.x1.shared.b16").conflicts(LANE * 8),
            "multiples of 16",
        ),
        (
            lambda: _transfer("movmatrix.sync.aligned.m8n8.trans.b16").conflicts(LANE),
            "takes no row addresses",
        ),
    ],
)
def test_refusals(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(PtxlabError, match=sentence):
        make()


def _transfer(name: str) -> ptxlab.Transfer:
    form = instruction(name)
    assert isinstance(form, ptxlab.Transfer)
    return form


# -- tensor maps ---------------------------------------------------------------------------------------------

HALVES = np.arange(64 * 128, dtype=np.uint16).view(np.float16).reshape(64, 128)


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_a_box_is_the_tile_that_wgmma_reads(swizzle: int) -> None:
    """TMA and wgmma agree on every byte: K-major, MN-major, and rows narrower than the swizzle."""
    tma = tensor_map(HALVES, (32, swizzle // 2), swizzle)
    codes = HALVES[8:40, : swizzle // 2].view(np.uint16)
    np.testing.assert_array_equal(tma.load(8, 0), tma.tile().store(codes))
    np.testing.assert_array_equal(tma.load(8, 0), tma.tile("MN").store(codes.T))
    narrow = tensor_map(HALVES, (32, swizzle // 4), swizzle)
    np.testing.assert_array_equal(narrow.load(8, 0), narrow.tile().store(codes[:, : swizzle // 4]))
    assert narrow.expect_tx == narrow.size // 2


def test_what_the_driver_is_told() -> None:
    tma = tensor_map(np.zeros((3, 40, 64), dtype=np.float32)[:, :30], box=[1, 20, 8], swizzle=32)
    assert (tma.rank, tma.data_type, tma.dimensions) == (3, "FLOAT32", (64, 30, 3))
    assert (tma.strides, tma.box_dimensions, tma.element_stride_dimensions) == (
        (256, 40 * 256),
        (8, 20, 1),
        (1, 1, 1),
    )
    assert (tma.size, tma.expect_tx, tma.alignment) == (640, 640, 256)
    assert memory.tensor_map is ptxlab.tensor_map


def test_beyond_the_edge_everything_is_zero() -> None:
    tma = tensor_map(np.full((4, 16), 7, dtype=np.uint8), (8, 16))
    assert tma.load(-2, 0).reshape(8, 16)[:, 0].tolist() == [0, 0, 7, 7, 7, 7, 0, 0]
    assert not tma.load(100, 0).any()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_beyond_the_edge_everything_is_nan_if_wanted(dtype: type) -> None:
    """0x7FF7 in every 16 bits: what an H200 writes, `test_gpu_memory.py`."""
    tma = tensor_map(np.zeros((4, 8), dtype=dtype), (8, 8), fill="nan", l2_promotion=128)
    memory_of_box = tma.load(0, 0)
    assert np.isnan(memory_of_box.view(dtype).reshape(8, 8)).all(axis=1).tolist() == [False] * 4 + [True] * 4
    assert set(memory_of_box.view(np.uint16)[-8:].tolist()) == {0x7FF7}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: tensor_map(HALVES, (64, 64), fill="one"), "fill='one': there are zero, nan"),
        (lambda: tensor_map(np.zeros((8, 16), dtype=np.int8), (8, 16), fill="nan"), "fill='nan' of int8"),
        (lambda: tensor_map(HALVES, (64, 64), l2_promotion=32), "l2_promotion=32: there are 0, 64, 128, 256"),
        (lambda: tensor_map(HALVES, (64,)), "the array has 2 axes, so it takes 2 numbers"),
        (lambda: tensor_map(HALVES, (64, 300)), "TMA takes 1 to 256 along each axis"),
        (lambda: tensor_map(HALVES, (0, 8)), "TMA takes 1 to 256 along each axis"),
        (lambda: tensor_map(HALVES, (64, 4)), "its rows are 8 bytes of float16; TMA takes multiples of 16"),
        (lambda: tensor_map(HALVES, (64, 64), 64), "wider than the swizzle of 64 bytes; take 32 elements"),
        (lambda: tensor_map(HALVES, (64, 64), 48), "swizzle of 48 bytes: there are 0, 32, 64, 128"),
        (lambda: tensor_map(HALVES[:, ::2], (64, 64)), "its last axis is not contiguous"),
        (lambda: tensor_map(HALVES[:, :100].copy(), (64, 64)), "pad axis 1 to a multiple of 8 elements"),
        (lambda: tensor_map(HALVES.astype(complex), (64, 64)), "array needs numbers"),
        (lambda: tensor_map(np.zeros((64, 64), dtype=bool), (64, 64)), "array of bool: TMA copies"),
        (lambda: tensor_map(np.float32(1), ()), "array of 0 axes: TMA takes 1 to 5"),
        (lambda: tensor_map(HALVES[:0], (1, 8)), "TMA takes no empty one"),
        (lambda: tensor_map(HALVES, (64, 8), element_strides=(9, 1)), "TMA takes 1 to 8 along each axis"),
        (lambda: tensor_map(HALVES, (64, 8), element_strides=(1, 2)), "every element of the last axis"),
        (lambda: gpu.run_tensor_map(tensor_map(HALVES, (64, 8)), [(0, 4)]), "boxes begin at multiples of 16"),
        (lambda: gpu.run_tensor_map(tensor_map(HALVES, (64, 8)), [0]), r"this array takes \[boxes, 2\]"),
        (lambda: gpu.encode_tensor_map(tensor_map(HALVES, (64, 8)), 8), "at multiples of 16 bytes"),
        (lambda: tensor_map(HALVES, (64, 8)).load(0), "the array has 2 axes"),
        (lambda: tensor_map(HALVES, (64, 8)).load(0, 3), "along the last axis a box begins at a multiple"),
        (lambda: tensor_map(HALVES, (64, 8)).load(0, 0, address=64), "TMA writes to multiples of 128 below"),
        (lambda: tensor_map(HALVES, (64, 8)).offset(0, 8), "whole numbers from 0 to 7 are in the box"),
        (lambda: tensor_map(HALVES, (64, 64)).tile(), "rows of 128 bytes: wgmma reads a box whose rows"),
    ],
)
def test_rules_of_tensor_maps(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(PtxlabError, match=sentence):
        make()
