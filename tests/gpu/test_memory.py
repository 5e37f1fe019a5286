"""On a GPU: what wgmma reads through descriptors, what TMA writes, and how banks serve an access."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from ptxlab import Instruction, gpu
from ptxlab.gpu.codegen.ptx import with_names
from ptxlab.gpu.driver_tensor_maps import run_tensor_map
from ptxlab.instruction import mma_instruction
from ptxlab.isa.modifiers import Modifiers
from ptxlab.memory import Descriptor, Tile, tensor_map
from tests.cases import each
from tests.memory.test_golden import expected_bytes, wavefronts
from tools.record.memory import ACCESSES, Access, Box, boxes, bytes_of, cycles, patterns

pytestmark = pytest.mark.gpu

SHARED = 40 << 10

KERNEL = """\
extern "C" __global__ void __launch_bounds__(128) products(
    const uint4* images, const unsigned long long* descriptors, unsigned int* out, int count)
{{
    __shared__ __align__(1024) uint4 memory[{shared} / 16];
    const unsigned long long base = __cvta_generic_to_shared(memory) >> 4;
    for (int i = blockIdx.x; i < count; i += gridDim.x) {{
        __syncthreads();
        const uint4* image = images + (long long)i * {shared} / 16;
        for (int j = threadIdx.x; j < {shared} / 16; j += 128) memory[j] = image[j];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        unsigned int d[{registers}];
        for (int r = 0; r < {registers}; ++r) d[r] = 0;
        asm volatile(
            "{{\\n"
            ".reg .pred scale_d;\\n"
            "setp.ne.b32 scale_d, 1, 0;\\n"
            "wgmma.fence.sync.aligned;\\n"
            "{line}\\n"
            "wgmma.commit_group.sync.aligned;\\n"
            "wgmma.wait_group.sync.aligned 0;\\n"
            "}}"
            : {outputs}
            : "l"(descriptors[2 * i] + base), "l"(descriptors[2 * i + 1] + base)
            : "memory");
        for (int r = 0; r < {registers}; ++r) out[(i * 128 + threadIdx.x) * {registers} + r] = d[r];
    }}
}}
"""

FORMS = {
    "f16": "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
    "tf32": "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32",
    "s8": "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8",
    "b1": "wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1.and.popc",
}


@lru_cache(maxsize=None)
def form(name: str) -> Instruction:
    ins = mma_instruction(FORMS[name]).a_from("shared")
    assert isinstance(ins, Instruction)
    return ins


def products(
    name: str, a_major: str, b_major: str, images: NDArray[np.uint8], descriptors: list[tuple[int, int]]
) -> NDArray[np.int64]:
    """D of each image [count, SHARED] through its descriptors of A and B, whose addresses count from 0."""
    ins = form(name)
    registers = ins.d.registers
    names = {"d": [f"%{r}" for r in range(registers)]}
    names["a_desc"], names["b_desc"] = [f"%{registers}"], [f"%{registers + 1}"]
    modifiers = Modifiers(imm_trans_a=a_major == "MN", imm_trans_b=b_major == "MN")
    source = KERNEL.format(
        shared=SHARED,
        registers=registers,
        line=with_names(ins, modifiers, names),
        outputs=", ".join(f'"+r"(d[{r}])' for r in range(registers)),
    )
    out = np.zeros((len(images), 128, registers), dtype=np.uint32)
    codes = np.array(descriptors, dtype=np.uint64)
    gpu.launch(
        source, "products", [images, codes, gpu.Out(out), np.int32(len(images))], grid=len(images), block=128
    )
    return np.asarray(ins.d.unpack(out), dtype=np.int64)


def codes_of(name: str, values: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Small whole numbers as codes of an element."""
    if name == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint32)
    if name == "tf32":
        return values.astype(np.float32).view(np.uint32)
    return (values & (1 if name == "b1" else 0xFF)).astype(np.uint32)


def place(image: NDArray[np.uint8], at: int, content: NDArray[np.uint8]) -> None:
    assert at + content.size <= SHARED
    image[at : at + content.size] = content


def sliced(name: str, cases: list[tuple[Tile, Tile, int, int, int, int]]) -> int:
    """How many cases differ: tiles of A and B at an address each, the slice that starts at k, row of A."""
    rng = np.random.default_rng(3)
    images = rng.integers(0, 256, (len(cases), SHARED), dtype=np.uint8)
    if name in ("f16", "tf32"):
        images[:] = 0x3C  # finite, and not 0
    descriptors, expected = [], []
    depth = form(name).k
    for image, (a, b, at_a, at_b, k, row) in zip(images, cases, strict=True):
        low, high = (0, 2) if name == "b1" else (-8, 9)
        values_a = rng.integers(low, high, (a.rows, a.k))
        values_b = rng.integers(low, high, (b.rows, b.k))
        place(image, at_a, a.store(codes_of(name, values_a)))
        place(image, at_b, b.store(codes_of(name, values_b)))
        descriptors.append((a.descriptor(at_a, k, row=row), b.descriptor(at_b, k)))
        expected.append(values_a[row : row + 64, k : k + depth] @ values_b[:64, k : k + depth].T)
    majors = {(a.major, b.major) for a, b, *_ in cases}
    assert len(majors) == 1
    found = products(name, *majors.pop(), images, descriptors)
    return int((found != np.array(expected)).any(axis=(1, 2)).sum())


BITS = {"f16": 16, "tf32": 32, "s8": 8, "b1": 1}


@each("name", FORMS)
@each("a_major, b_major", list(product(("K", "MN"), repeat=2)))
def test_wgmma_reads_every_slice_of_a_tile(name: str, a_major: str, b_major: str) -> None:
    """Up to 256 bytes of K, both orders of atoms, every swizzle and slice, addresses off alignment."""
    if name != "f16" and (a_major, b_major) != ("K", "K"):
        pytest.skip("wgmma transposes 16-bit elements only")
    bits = BITS[name]
    depth = form(name).k
    cases = []
    for swizzle, order, atoms, shift in product((0, 32, 64, 128), ("MN", "K"), (1, 2, 4, 8), (0, 1, 3, 6)):
        k = 32 * atoms * 8 // bits
        a = b = None
        try:
            a = Tile(bits, 64, k, a_major, swizzle, order)
            b = Tile(bits, 64, k, b_major, swizzle, order)
        except ValueError:
            continue
        if a.size + b.size > SHARED - 3072:
            continue
        at_a = 128 * shift
        at_b = -(-(at_a + a.size) // 1024) * 1024 + 128 * (shift * 3 % 8)
        cases += [(a, b, at_a, at_b, start, 0) for start in range(0, k, depth)]
    assert len(cases) > 100
    assert sliced(name, cases) == 0


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_slices_that_start_at_a_row(swizzle: int) -> None:
    """A of 128 rows, of which wgmma reads 64 from any group of 8 on (MN-major: from any atom on)."""
    for major, order in product(("K", "MN"), ("MN", "K")):
        a = Tile(16, 128, 64, major, swizzle, order)
        b = Tile(16, 64, 64, "K", swizzle, order)
        unit = 8 if major == "K" else a.atom_width
        cases = [(a, b, 0, 17 << 10, k, row) for k in (0, 16, 48) for row in range(0, 65, unit)]
        assert sliced("f16", cases) == 0


def test_slices_that_start_at_any_chunk() -> None:
    """Inside a 128-byte atom a slice may start at any 16 bytes."""
    a, b = Tile(16, 64, 64, "K", 128), Tile(16, 64, 64, "K", 128)
    assert sliced("f16", [(a, b, 0, 8 << 10, k, 0) for k in range(0, 49, 8)]) == 0


@pytest.mark.parametrize("major", ["K", "MN"])
def test_addresses_of_any_descriptor(major: str) -> None:
    """Offsets that belong to no tile, any base offset: the bytes are where `addresses` says."""
    rng = np.random.default_rng(8)
    images, descriptors, expected = [], [], []
    b = Tile(16, 64, 16)
    for swizzle, _ in product((0, 32, 64, 128), range(24)):
        leading, stride = (int(x) * 16 for x in rng.integers(1, 40, 2))
        start = int(rng.integers(0, 128)) * 16
        unsure = Descriptor(start, leading, stride, swizzle, int(rng.integers(0, 8)))
        where = unsure.addresses(np.arange(64)[:, None], np.arange(16), bits=16, major=major)
        if where.max() >= 36 << 10:
            continue
        image = np.zeros(SHARED, dtype=np.uint8)
        values = rng.integers(-8, 9, SHARED // 2)
        image[:] = values.astype(np.float16).view(np.uint8)
        values_b = rng.integers(-8, 9, (64, 16))
        place(image, 36 << 10, b.store(codes_of("f16", values_b)))
        images.append(image)
        descriptors.append((unsure.code, b.descriptor(36 << 10)))
        expected.append(values[where // 2] @ values_b.T)
    found = products("f16", major, "K", np.array(images), descriptors)
    wrong = (found != np.array(expected)).any(axis=(1, 2))
    assert not wrong.any(), [descriptors[i][0] for i in np.flatnonzero(wrong)]


@each("box", list(boxes()), ids=str)
def test_tma_writes_the_expected_bytes(box: Box) -> None:
    np.testing.assert_array_equal(bytes_of(box), expected_bytes(box))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_tma_beyond_the_edge(dtype: type) -> None:
    array = np.arange(4 * 64, dtype=dtype).reshape(4, 64)
    for fill, promotion in (("zero", 64), ("nan", 128), ("nan", 256)):
        tensor = tensor_map(array, (8, 8), fill=fill, l2_promotion=promotion)
        starts = [(0, 0), (2, 56), (-3, 8), (0, 64)]
        for start, found in zip(starts, run_tensor_map(tensor, starts), strict=True):
            np.testing.assert_array_equal(found, tensor.load(*start))


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_tma_of_arrays_that_are_on_the_gpu(library: str) -> None:
    """Nothing is copied: what is written into the array later arrives, too; views keep their strides."""
    module = pytest.importorskip(library)
    values = np.arange(48 * 128, dtype=np.float32).reshape(48, 128)
    array = module.asarray(values) if library == "cupy" else module.from_numpy(values.copy()).cuda()
    view = array[4:40, 32:96]
    tensor = tensor_map(view, (8, 32), 128)
    expected = tensor_map(values[4:40, 32:96], (8, 32), 128)
    starts = [(0, 0), (30, 32), (-2, 4)]
    for change in (0, 1000):
        array += change
        values += change
        for start, content in zip(starts, run_tensor_map(tensor, starts), strict=True):
            np.testing.assert_array_equal(content, expected.load(*start))
    if library == "torch":
        for kind, whole, name in (("bfloat16", "int16", "BFLOAT16"), ("float8_e4m3fn", "uint8", "UINT8")):
            narrow = (array / 64).to(getattr(module, kind))
            bits = narrow.view(getattr(module, whole)).cpu().numpy()
            box = (8, 128 // bits.itemsize)
            tensor = tensor_map(narrow, box, 128)
            assert tensor.data_type == name
            expected = tensor_map(bits, box, 128)
            np.testing.assert_array_equal(run_tensor_map(tensor, [(5, 0)])[0], expected.load(5, 0))


@each("access", ACCESSES, ids=lambda access: access.name)
def test_cycles_are_the_wavefronts_of_the_model(access: Access) -> None:
    """Cycles of a saturated memory pipe are the wavefronts of the model."""
    if access.needs_newer_compiler:
        pytest.skip("ldmatrix of .s8.s4 needs NVRTC of CUDA 13.4")
    addresses, masks = patterns(access)
    measured = cycles(access, addresses, masks)
    np.testing.assert_array_equal(np.round(measured), wavefronts(access, addresses, masks))
