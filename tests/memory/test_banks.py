"""Bank conflicts and tensor maps: small cases by hand, refusals, and arrays of accesses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gpu, instruction, memory, tensor_map
from ptxlab.memory import Tile, conflicts
from ptxlab.memory.swizzle import CuteSwizzle
from tests.cases import each, refuses
from tests.gpu import test_arrays
from tests.texts import replaced

LANE = np.arange(32)


@each(
    "addresses, width, wavefronts",
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
def test_wavefronts_are_counted_as_worked_out_by_hand(
    addresses: np.ndarray, width: int, wavefronts: int
) -> None:
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
    sentence = "2 wavefronts where 1 would do: 2 lanes want 2 different words of bank 0."
    assert str(conflicts(LANE * 8)) == sentence
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
        assert form.conflicts(rows).evidence == "measured"


@pytest.mark.parametrize(("name", "count"), [("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", 4),
                         ("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32", 4),
                         ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64", 2),
                         ("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8", 2)])  # fmt: skip
def test_what_only_later_chips_have_is_assumed(name: str, count: int) -> None:
    """As m8n8: 8 rows of 16 bytes at a time."""
    answer = _transfer(name).conflicts(_transfer(name).addresses(stride=128))
    assert (answer.wavefronts, answer.least, answer.evidence) == (8 * count, count, "assumed")
    assert "Assumed" in str(answer)


REFUSED = [
    (lambda: conflicts(LANE[:31]), r"addresses of shape \(31,\): a warp has 32 lanes"),
    (lambda: conflicts(LANE * 4, 3), "width=3: a lane reads or writes 1, 2, 4, 8, 16 bytes"),
    (lambda: conflicts(LANE), "address 1: an access of 4 bytes is aligned to 4 bytes"),
    (lambda: conflicts(LANE * 4 - 4), "address -4: shared-memory addresses go from 0 to 262143"),
    (lambda: conflicts(LANE * 1e3), "it takes whole numbers"),
    (lambda: conflicts(LANE * 4, active=LANE), "active: found other than True and False"),
    (lambda: conflicts(LANE * 4, active=[1]), r"active of shape \(1,\): it takes a flag for each of 32"),
    (lambda: _transfer("ldmatrix.x1").conflicts(LANE * 8), "multiples of 16"),
    (lambda: _transfer("movmatrix").conflicts(LANE), "takes no row addresses"),
]


@each("make, sentence", REFUSED)
def test_refusals_say_what_is_wrong(make: Callable[[], object], sentence: str) -> None:
    refuses(sentence, make)


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
    assert (tma.strides, tma.box_dimensions) == ((256, 40 * 256), (8, 20, 1))
    assert tma.element_stride_dimensions == (1, 1, 1)
    assert (tma.size, tma.expect_tx, tma.alignment) == (640, 640, 256)
    assert memory.tensor_map is ptxlab.tensor_map


def test_beyond_the_edge_everything_is_zero() -> None:
    tma = tensor_map(np.full((4, 16), 7, dtype=np.uint8), (8, 16))
    assert tma.load(-2, 0).reshape(8, 16)[:, 0].tolist() == [0, 0, 7, 7, 7, 7, 0, 0]
    assert not tma.load(100, 0).any()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_beyond_the_edge_everything_is_nan_if_wanted(dtype: type) -> None:
    """0x7FF7 in every 16 bits: what an H200 writes, `tests/gpu/test_memory.py`."""
    tma = tensor_map(np.zeros((4, 8), dtype=dtype), (8, 8), fill="nan", l2_promotion=128)
    memory_of_box = tma.load(0, 0)
    assert np.isnan(memory_of_box.view(dtype).reshape(8, 8)).all(axis=1).tolist() == [False] * 4 + [True] * 4
    assert set(memory_of_box.view(np.uint16)[-8:].tolist()) == {0x7FF7}


BYTES = np.random.default_rng(4).integers(0, 256, (6, 192), dtype=np.uint8)
PADDED = np.zeros((6, 208), dtype=np.uint8)[:, :192]
SLICES = np.zeros((2, 3, 5, 16, 8), dtype=np.uint16)
WIDE_SLICES = np.zeros((2, 3, 16, 16), dtype=np.uint16)


#: What CuPy and torch show of an array.
OnGpu = partial(test_arrays.OnGpu, shape=(16, 32), typestr="<f4")


def test_arrays_on_a_gpu_are_not_copied() -> None:
    tma = tensor_map(OnGpu(strides=(256, 4)), (16, 32), 128)
    assert (tma.dimensions, tma.strides, tma.data_type, tma.pointer) == ((32, 16), (256,), "FLOAT32", 1 << 33)
    np.testing.assert_array_equal(
        tma.offsets, tensor_map(np.zeros((16, 32), np.float32), (16, 32), 128).offsets
    )
    brain = OnGpu(typestr="<V2", data=(1 << 33, True))
    brain.dtype = "torch.bfloat16"  # type: ignore[attr-defined]
    assert tensor_map(brain, (16, 32)).data_type == "BFLOAT16"
    assert tensor_map(OnGpu(typestr="|V2"), (16, 32), data_type="FLOAT16", fill="nan").data_type == "FLOAT16"


#: PTX ISA, "Swizzling Modes": which 16 bytes of the box are in each place of a line; the pattern repeats.
MANUAL = {
    "128B_ATOM_32B": ["0 1 2 3 4 5 6 7", "2 3 0 1 6 7 4 5", "4 5 6 7 0 1 2 3", "6 7 4 5 2 3 0 1"],
    "128B_ATOM_64B": ["0 1 2 3 4 5 6 7", "4 5 6 7 0 1 2 3"],
}


@pytest.mark.parametrize("name", MANUAL)
def test_swizzles_of_larger_chunks(name: str) -> None:
    array = np.arange(8 * 128, dtype=np.uint16).reshape(16, 64)
    tma = tensor_map(array, (16, 64), name)
    table = np.array([[int(piece) for piece in line.split()] for line in MANUAL[name]])
    rows = np.arange(16)[:, None]
    expected = array.reshape(16, 8, 8)[rows, table[rows[:, 0] % len(table)]]
    np.testing.assert_array_equal(tma.load(0, 0).view(np.uint16), expected.ravel())
    assert tma.alignment == 128 * len(table)
    flipped, plain = (
        tensor_map(array, (16, 64), f"128B_ATOM_32B{flip}").load(0, 0).view(np.uint64).reshape(16, 8, 2)
        for flip in ("_FLIP_8B", "")
    )
    plain[1::2] = plain[1::2, :, ::-1]
    np.testing.assert_array_equal(flipped, plain)
    supports = {target: tma.supports(target) for target in ("sm_80", "sm_90a", "sm_100a", "sm_120a")}
    assert supports == {"sm_80": False, "sm_90a": False, "sm_100a": True, "sm_120a": True}


def test_slices_of_channels() -> None:
    """NC/8HWC8: the pixels of a box, in order, 16 bytes of channels each; what is outside is 0."""
    array = np.arange(2 * 3 * 5 * 16 * 8, dtype=np.uint16).reshape(2, 3, 5, 16, 8)
    tma = tensor_map(array, (2, 1, 2, 8, 8), interleave=16)
    assert (tma.rank, tma.dimensions, tma.strides) == (4, (16, 5, 3, 2), (256, 1280, 3840))
    assert (tma.box_dimensions, tma.expect_tx, tma.size, tma.pitch) == ((8, 2, 1, 2), 512, 512, 16)
    expected = np.zeros((2, 2, 8, 8), dtype=np.uint16)
    expected[:, :1, :4] = array[:, 2, 4:, 12:]
    np.testing.assert_array_equal(tma.load(0, 2, 4, 12, 0).view(np.uint16), expected.ravel())
    swizzled = tensor_map(array, (2, 1, 2, 8, 8), 128, interleave=16)
    assert swizzled.offset(0, 0, 1, 3, 5) == 128 + (3 ^ 1) * 16 + 10
    every_other = tensor_map(array, (1, 1, 2, 16, 8), interleave=16, element_strides=(1, 1, 1, 2, 1))
    np.testing.assert_array_equal(
        every_other.load(1, 0, 1, 1, 0).view(np.uint16)[:56].reshape(7, 8), array[1, 0, 1, 1:15:2]
    )


def test_the_last_slices_are_swizzled_too() -> None:
    """13 rows of 32 bytes: in the last of four lines the swizzle moves them beyond their 416 bytes."""
    array = np.arange(2 * 2 * 13 * 4 * 2, dtype=np.float64).reshape(2, 2, 13, 4, 2)
    tma = tensor_map(array, (1, 1, 13, 2, 2), 128, interleave=16)
    content, written = tma.image(1, 0, 0, 0, 0)
    assert (tma.expect_tx, tma.size, int(written.sum())) == (416, 512, 416)
    np.testing.assert_array_equal(content[432:448].view(np.float64), array[1, 0, 12, 0])


def test_copies_as_tf32_are_rounded() -> None:
    """As an H200 does it, `tests/golden/boxes.json`: to nearest even; NaN is 0x7FFFE000; FTZ does nothing."""
    bits = np.array([0x3F801000, 0x3F803000, 0x3F801001, 0x7F7FFFFF, 0x00001001, 0x80000001, 0xFF800000,
                     0x7FC12345, 0xFF800001, 0x3F7FF000, 0x00400FFF, 0xBF800FFF], np.uint32)  # fmt: skip
    rounded = [0x3F800000, 0x3F804000, 0x3F802000, 0x7F800000, 0x00002000, 0x80000000, 0xFF800000, 0x7FFFE000,
               0x7FFFE000, 0x3F800000, 0x00400000, 0xBF800000]  # fmt: skip
    for data_type in ("TFLOAT32", "TFLOAT32_FTZ"):
        tma = tensor_map(bits.view(np.float32), (12,), data_type=data_type)
        assert tma.load(0).view(np.uint32).tolist() == rounded
    plain = tensor_map(bits.view(np.float32), (16,), data_type="FLOAT32_FTZ").load(0).view(np.uint32)
    assert plain.tolist() == [*bits.tolist(), 0, 0, 0, 0]


def test_two_matrices_of_half_rows_are_served_at_once() -> None:
    """Rows of 8 bytes: 16 of them make 128 bytes, measured on an H200."""
    form = _transfer("ldmatrix.sync.aligned.m8n16.x4.shared.s8.s4")
    for stride, wavefronts in ((8, 2), (16, 4), (128, 32), (136, 2), (24, 2)):
        answer = form.conflicts(form.addresses(stride=stride))
        assert (answer.wavefronts, answer.evidence) == (wavefronts, "measured")


def test_elements_of_4_and_6_bits() -> None:
    """CUDA driver API: 16 elements without gaps, or 8 and 12 bytes of them in 16."""
    plain = tensor_map(BYTES, (4, 64), 32, data_type="16U4_ALIGN8B")
    np.testing.assert_array_equal(plain.load(1, 32), tensor_map(BYTES, (4, 32), 32).load(1, 16))
    for name, data in (("16U4_ALIGN16B", 8), ("16U6_ALIGN16B", 12)):
        tma = tensor_map(BYTES, (4, 128), data_type=name)
        rows = BYTES[1:5, 8 * data : 16 * data].reshape(4, 8, data)
        assert (tma.shape, tma.size, tma.expect_tx) == ((6, 192 * 16 // data), 512, 32 * data)
        content, written = tma.image(1, 128)
        np.testing.assert_array_equal(content.reshape(4, 8, 16)[..., :data], rows)
        np.testing.assert_array_equal(written.reshape(32, 16), np.arange(16) < data + np.zeros((32, 1)))
        swizzled = tensor_map(BYTES, (4, 128), 128, data_type=name)
        pieces = content.reshape(4, 8, 16)[np.arange(4)[:, None], np.arange(8) ^ np.arange(4)[:, None]]
        np.testing.assert_array_equal(swizzled.load(1, 128), pieces.ravel())
        assert tma.offset(2, 21) == 2 * 128 + 16 + 5 * data // 16
        assert [tma.supports(target) for target in ("sm_90a", "sm_100f", "sm_120a")] == [False, True, False]


REFUSED_MAPS = [
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
    (lambda: gpu.run_tensor_map(tensor_map(HALVES, (64, 8)), [(0, 4)]), "begins at a multiple of 16"),
    (lambda: gpu.run_tensor_map(tensor_map(HALVES, (64, 8)), [0]), r"this array takes \[boxes, 2\]"),
    (lambda: gpu.encode_tensor_map(tensor_map(HALVES, (64, 8)), 8), "at multiples of 16 bytes"),
    (lambda: gpu.encode_tensor_map(tensor_map(HALVES, (64, 8))), "in the host's memory"),
    (lambda: tensor_map(HALVES, (64, 64), "96B"), "swizzle='96B': there are 0, 32, 64, 128, 128B_ATOM"),
    (lambda: tensor_map(HALVES, (64, 64), data_type="FLOAT32"), "it has 4 bytes an element, not 2"),
    (lambda: tensor_map(HALVES, (64, 64), data_type="f16"), "data_type='f16': there are UINT8"),
    (lambda: tensor_map(HALVES, (64, 64), data_type="16U4_ALIGN8B"), "an array of uint8"),
    (lambda: tensor_map(BYTES, (4, 64), data_type="16U4_ALIGN16B"), "a row of 16U4_ALIGN16B has 128"),
    (lambda: tensor_map(BYTES, (4, 8), data_type="16U4_ALIGN8B"), "its rows are 4 bytes of 16U4_ALIGN8B"),
    (lambda: tensor_map(BYTES, (4, 128), 32, data_type="16U4_ALIGN8B"), "take 64 elements"),
    (lambda: tensor_map(BYTES, (4, 128), 64, data_type="16U6_ALIGN16B"), "TMA loads it with 0, 128, 128B"),
    (lambda: tensor_map(BYTES[:, :80], (4, 128), data_type="16U6_ALIGN16B"), "128 elements, 96 bytes"),
    (lambda: tensor_map(PADDED, (4, 128), data_type="16U4_ALIGN16B"), "TMA takes multiples of 32 bytes"),
    (lambda: tensor_map(BYTES, (4, 128), fill="nan", data_type="16U4_ALIGN8B"), "fill='nan' of uint8"),
    (lambda: tensor_map(BYTES, (4, 128), data_type="16U4_ALIGN16B").load(0, 64), "multiples of 128 elem"),
    (lambda: tensor_map(BYTES, (4, 128), data_type="16U4_ALIGN8B").tile(), "elements of whole bytes"),
    (
        lambda: tensor_map(SLICES, (1, 1, 2, 8, 8), interleave=8),
        "interleave=8 of UINT16: there are 0, 16, 32",
    ),
    (lambda: tensor_map(SLICES, (1, 2, 2, 8, 8), interleave=16), "whole slices, 8 elements of axis 4, and"),
    (lambda: tensor_map(SLICES, (1, 1, 2, 8, 4), interleave=16), "whole slices, 8 elements of axis 4, and"),
    (lambda: tensor_map(SLICES, (1, 1, 2, 4, 8), interleave=16), "multiples of 8 slices of axis 3"),
    (lambda: tensor_map(SLICES, (1, 1, 2, 8, 8), interleave=32), "its last axis has 16 bytes, a slice 32"),
    (lambda: tensor_map(SLICES[0, 0], (2, 8, 8), interleave=16), "array of 3 axes: TMA takes 4 to 6"),
    (lambda: tensor_map(SLICES[:, :, :, ::2], (1, 1, 2, 8, 8), interleave=16), "32 bytes from one slice"),
    (lambda: tensor_map(WIDE_SLICES, (1, 1, 8, 16), 64, interleave=32), "go with a swizzle of 32 bytes"),
    (lambda: tensor_map(WIDE_SLICES, (1, 1, 8, 16), 32, interleave=32).load(0, 0, 0, 8), "whole, from 0"),
    (lambda: tensor_map(np.zeros((256, 256), np.float32), (256, 256)), "has 262144 bytes; TMA takes at most"),
    (lambda: tensor_map(OnGpu(typestr="<f4"), (4, 8)).load(0, 0), "it is on the GPU; gpu.run_tensor_map"),
    (lambda: tensor_map(OnGpu(data=(8, False)), (4, 8)), "array at address 8: TMA takes multiples of 16"),
    (lambda: tensor_map(OnGpu(typestr="nothing"), (4, 8)), "its __cuda_array_interface__ is"),
    (lambda: tensor_map(OnGpu(typestr=">f4"), (4, 8)), "its bytes are in the other order"),
    (lambda: tensor_map(OnGpu(strides=(64,)), (4, 8)), "its __cuda_array_interface__ is"),
    (lambda: tensor_map(OnGpu(strides=(64, 8)), (4, 8)), "its last axis is not contiguous"),
    (lambda: tensor_map(OnGpu(mask=1), (4, 8)), "a masked array"),
    (lambda: tensor_map(OnGpu(typestr="<c8"), (4, 8)), "array of complex64: TMA copies"),
    (lambda: tensor_map(HALVES, (64, 8)).load(0), "the array has 2 axes"),
    (lambda: tensor_map(HALVES, (64, 8)).load(0, 3), "along the last axis a box begins at a multiple"),
    (lambda: tensor_map(HALVES, (64, 8)).load(0, 0, address=64), "TMA writes to multiples of 128 below"),
    (lambda: tensor_map(HALVES, (64, 8)).offset(0, 8), "whole numbers from 0 to 7 are in the box"),
    (lambda: tensor_map(HALVES, (64, 64)).tile(), "rows of 128 bytes: wgmma reads a box whose rows"),
]


@each("make, sentence", REFUSED_MAPS)
def test_rules_of_tensor_maps(make: Callable[[], object], sentence: str) -> None:
    refuses(sentence, make)


def test_equal_accesses_are_equal_and_cannot_be_changed() -> None:
    answer = conflicts(LANE * 4)
    assert answer == conflicts(LANE * 4)
    assert len({answer, conflicts(LANE * 4), conflicts(LANE * 8)}) == 2
    assert answer != conflicts(LANE * 4, atomic=True)
    with pytest.raises(ValueError, match="read-only"):
        answer.words[0, 0] = 1


def test_layouts_of_cute_are_those_of_tiles() -> None:
    """Every byte of a tile, by the text that names it; CUTLASS's own formula for its swizzle."""
    for tile in (
        memory.Tile(16, 64, 128, swizzle=128),
        memory.Tile(8, 32, 64, swizzle=64),
        memory.Tile(16, 64, 16, "MN", 128),
        memory.Tile(32, 32, 8, major="MN", swizzle=128, chunk=32),
        memory.Tile(16, 16, 32),
    ):
        rows, columns = np.meshgrid(np.arange(tile.rows), np.arange(tile.k), indexing="ij")
        text = (
            tile.cute
            if tile.chunk == 16
            else replaced(tile.cute, " o ", f" o smem_ptr[{tile.bits}b](unset) o ")
        )
        layout = memory.SharedLayout.read(text, tile.bits if tile.chunk == 16 else None)
        assert np.array_equal(layout.address(rows, columns), tile.offset(rows, columns))
    offsets = np.arange(1 << 12)
    for bits, base, shift in ((3, 3, 4), (2, 0, 5), (1, 2, 1), (2, 3, -2), (0, 4, 3)):
        low, high = base - min(0, shift), base + max(0, shift)  # include/cute/swizzle.hpp: zzz and yyy
        expected = [
            offset ^ (offset >> high & (1 << bits) - 1) << low
            if shift > 0
            else offset ^ (offset >> base & (1 << bits) - 1) << low
            for offset in offsets.tolist()
        ]
        swizzle = CuteSwizzle.read(f"Swizzle<{bits},{base},{shift}>")
        assert swizzle(offsets).tolist() == expected


def test_conflicts_of_a_layout_from_lanes_to_bytes() -> None:
    assert memory.conflicts("32:128").wavefronts == 32
    assert memory.conflicts("(8,4):(128,16)", width=16).wavefronts == 32
    assert memory.conflicts("Swizzle<3,4,3> o (8,4):(128,16)", width=16).wavefronts == 4
    ldmatrix = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    assert ldmatrix.conflicts("Swizzle<3,4,3> o (16,2):(128,16)").wavefronts == 4
    with pytest.raises(
        PtxlabError, match="it has 64 indices, and a warp 32 lanes; for a matrix, memory.SharedLayout"
    ):
        memory.conflicts("(8,8):(128,16)")
    with pytest.raises(PtxlabError, match="at most one swizzle"):
        memory.conflicts("Swizzle<3,4,3> o Swizzle<3,4,3> o 32:4")
    with pytest.raises(PtxlabError, match="takes bytes apart"):
        memory.SharedLayout.read("Swizzle<1,0,1> o 64:1", bits=4)
