"""On a GPU: every form against the emulator with fresh random registers, and layouts found by probing."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ptxlab import Instruction, gpu, inputs
from ptxlab.gpu import launcher
from ptxlab.instruction import mma_instruction, mma_instructions
from ptxlab.isa.modifiers import Modifiers
from ptxlab.numerics.emulate import emulate
from tests.cases import each
from tools.record import golden
from tools.record.golden import compile_all

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu.available(), reason=gpu.status())]

SEED = int(os.environ.get("PTXLAB_SEED", secrets.randbits(31)))
TIMES = int(os.environ.get("PTXLAB_TIMES", 1))  # so many times the usual number of MMAs
GROUPS = golden.groups() if gpu.available() and gpu.device_target() == "sm_90a" else {}


@pytest.fixture(scope="module", autouse=True)
def kernels() -> None:
    if GROUPS:
        compile_all(GROUPS.values())


@pytest.mark.parametrize("name", GROUPS)
def test_gpu_equals_emulator(name: str) -> None:
    """wgmma's N share their inputs: the widest is emulated once, the others must equal its first columns."""
    group = GROUPS[name]
    widest = group[-1]
    for category, selector, operands in golden.cases(group, SEED, TIMES):
        registers = (operands.a, operands.b, operands.c, operands.e)
        codes = widest.d.unpack_codes(widest.emulate(*registers, selector=selector))
        for ins in group:
            wanted = ins.d.pack_codes(codes[..., : ins.n])
            parts = golden.narrowed(operands, widest, ins)
            for _, form, chosen in golden.variants(ins):
                if chosen == selector:
                    part = parts[form.a_space]
                    d = form.run(part.a, part.b, part.c, part.e, selector=selector)
                    differing = np.sum(d != wanted)
                    where = f"{form!r} {category} selector {selector}; PTXLAB_SEED={SEED}"
                    assert differing == 0, f"{differing} of {wanted.size} registers of {where}"


MODIFIED = [
    ("sp.sync.aligned.m64n16k64.f32.e4m3.e5m2", {"imm_scale_a": -1}),
    ("sp.sync.aligned.m64n16k64.f32.e5m2.e4m3", {"imm_scale_b": -1}),
    ("sp.sync.aligned.m64n16k64.f16.e4m3.e4m3", {"imm_scale_a": -1, "imm_scale_b": -1}),
    ("sp.sync.aligned.m64n16k64.f16.e5m2.e5m2", {"imm_scale_a": -1, "scale_d": False}),
    ("sp.sync.aligned.m64n16k64.f32.e4m3.e4m3", {"scale_d": False}),
    ("sp.sync.aligned.m64n16k64.s32.s8.u8", {"scale_d": False}),
    ("sp.sync.aligned.m64n16k64.satfinite.s32.s8.u8", {"scale_d": False}),
    ("sync.aligned.m64n16k16.f32.f16.f16", {"imm_scale_a": -1}),
    ("sync.aligned.m64n16k16.f16.f16.f16", {"imm_scale_b": -1, "scale_d": False}),
    ("sync.aligned.m64n16k16.f32.bf16.bf16", {"imm_scale_a": -1, "imm_scale_b": -1}),
    ("sync.aligned.m64n16k8.f32.tf32.tf32", {"imm_scale_b": -1}),
    ("sp.sync.aligned.m64n16k16.f32.tf32.tf32", {"imm_scale_a": -1, "selector": 1}),
    ("sync.aligned.m64n16k256.s32.b1.b1.and.popc", {"scale_d": False}),
]


@each("space", ["register", "shared"])
@each("form, modifiers", MODIFIED)
def test_wgmma_modifiers(form: str, modifiers: dict[str, int], space: str) -> None:
    ins = mma_instruction(f"wgmma.mma_async.{form}").a_from(space)
    for category in inputs.categories(ins):
        operands = inputs.make(ins, category, 100, SEED, modifiers.get("selector", 0))
        registers = (operands.a, operands.b, operands.c, operands.e)
        same = np.array_equal(ins.run(*registers, **modifiers), ins.emulate(*registers, **modifiers))
        assert same, (category, SEED)


TILES = [
    (form, space, swizzle, a, b)
    for form in ("sync.aligned.m64n64k16.f32.f16.f16", "sp.sync.aligned.m64n64k32.f32.bf16.bf16")
    for space, swizzle, a, b in product(("register", "shared"), (0, 32, 64, 128), (0, 1), (0, 1))
    if space == "shared" or not a
    if not (swizzle == 32 and ".sp" in f".{form}" and not b)  # a row of 64 bytes does not fit
] + [
    (form, space, swizzle, 0, 0)
    for form, swizzles in (
        ("sync.aligned.m64n24k8.f32.tf32.tf32", (32, 64, 128)),
        ("sync.aligned.m64n24k32.f32.e4m3.e5m2", (32, 64, 128)),
        ("sync.aligned.m64n24k256.s32.b1.b1.and.popc", (32, 64, 128)),
        ("sp.sync.aligned.m64n24k64.s32.s8.s8", (64, 128)),
    )
    for space in ("register", "shared")
    for swizzle in swizzles
]


@each("form, space, swizzle, trans_a, trans_b", TILES)
def test_wgmma_tiles(form: str, space: str, swizzle: int, trans_a: int, trans_b: int) -> None:
    """However the tiles lie in shared memory, D is the same."""
    ins = mma_instruction(f"wgmma.mma_async.{form}").a_from(space)
    operands = inputs.make(ins, "bits", 50, SEED)
    modifiers = Modifiers(imm_trans_a=trans_a, imm_trans_b=trans_b, swizzle=swizzle)
    assert np.array_equal(gpu.run(replace(operands, modifiers=modifiers)), emulate(operands))


def probe_metadata(ins: Instruction, selector: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(lane, nibble) -> (row, chunk), by experiment: each nibble in turn points elsewhere, and D shows where.

    All of A is 1. All nibbles select the first half of the chunk, where B is 0; one selects the second half,
    where B holds the number of the chunk in binary, a bit a column.
    """
    structure, e = ins.structure, ins.e
    assert structure is not None and e is not None
    first, last = min(structure.nibbles), max(structure.nibbles)
    flips = [(lane, nibble) for lane in range(ins.lanes) for nibble in range(8)]
    registers = np.full((len(flips), ins.lanes, 1), sum(first << 4 * i for i in range(8)), dtype=np.uint32)
    for probe, (lane, nibble) in enumerate(flips):
        registers[probe, lane, 0] ^= (first ^ last) << 4 * nibble
    chunk = np.arange(ins.k) // structure.chunk
    second = np.arange(ins.k) % structure.chunk >= structure.chunk // 2
    bits = [np.ones(ins.k, dtype=int)] + [chunk >> i & 1 for i in range(7)]
    B = np.stack(bits, axis=1) * second[:, None]
    a, c = ins.a.pack(np.ones(ins.a.shape)), ins.c.pack(np.zeros(ins.c.shape))
    D = ins.d.unpack(ins.run(a, ins.b.pack(B), c, registers, selector=selector))
    places = {}
    for probe, flip in enumerate(flips):
        rows = np.flatnonzero(D[probe, :, 0])
        if len(rows):
            assert len(rows) == 1, f"{flip} changes rows {rows}"
            places[flip] = int(rows[0]), sum(int(D[probe, rows[0], 1 + i] != 0) << i for i in range(7))
    return places


SPARSE = {
    (ins.family, ins.shape, ins.a.width, ins.ordered): ins
    for ins in mma_instructions(target="sm_90a")
    if ins.sparse and ins.n == 8
}


@each("ins", SPARSE.values(), ids=str)
def test_metadata_layout_is_found_by_probing(ins: Instruction) -> None:
    assert ins.e is not None and ins.e.layout is not None
    for selector in ins.selectors:
        at = ins.e.layout.scatter(selector)
        stated = {divmod(int(at[place]), 8): place for place in np.ndindex(*at.shape)}
        assert probe_metadata(ins, selector) == stated


#: One form for every pair of fragments.
FRAGMENTS = {
    (ins.family, ins.shape, ins.a.layout, ins.b.layout, ins.a_type): ins
    for ins in mma_instructions(target="sm_90a")
    if not ins.sparse and not ins.satfinite and (ins.lanes == 32 or ins.n == 8)
}


def product_of(ins: Instruction, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A B on the GPU; for xor, whose D is |x| + |y| - 2 |x and y|, with the counts taken out again."""
    D = ins.d.unpack(ins.run(a, b, ins.c.pack(np.zeros(ins.c.shape)))).astype(int)
    if ins.bit_op != "xor":
        return D
    return (ins.a.unpack(a).sum(axis=-1)[..., None] + ins.b.unpack(b).sum(axis=-2)[..., None, :] - D) // 2


@each("ins", FRAGMENTS.values(), ids=str)
@each("operand", ["A", "B"])
def test_fragments_are_found_by_probing(ins: Instruction, operand: str) -> None:
    """One element is 1, the other operand holds a bit of k: D shows the element's row (or column) and k."""
    probed, other = (ins.a, ins.b) if operand == "A" else (ins.b, ins.a)
    if probed.layout is None:
        pytest.skip("B of wgmma has no fragment")
    probes = probed.lanes * probed.layout.elements
    one = np.eye(probes, dtype=probed.dtype.code_type) * probed.dtype.encode(1)
    one_hot = probed.join(one.reshape(probes, probed.lanes, -1))

    def against(row_of_k: np.ndarray) -> np.ndarray:
        matrix = row_of_k[:, None] if operand == "A" else row_of_k[None, :]
        filled = other.pack(np.broadcast_to(matrix, other.shape))
        return product_of(ins, *((one_hot, filled) if operand == "A" else (filled, one_hot)))

    k = sum(against(np.arange(ins.k) >> bit & 1).any(axis=(1, 2)).astype(int) << bit for bit in range(8))
    shown = against(np.ones(ins.k, dtype=int))
    visible = shown.any(axis=(1, 2))
    assert set(np.flatnonzero(visible)) == set(probed.layout.scatter(0).ravel()), (
        "the first copy of an element is read, and no other"
    )
    line = shown.any(axis=2 if operand == "A" else 1).argmax(axis=1)
    if ins.mma_count > 1 and operand == "B":  # the rows of D tell the quad pair
        line += shown.any(axis=2).argmax(axis=1) // 8 * 8
    places = np.stack([line, k] if operand == "A" else [k, line], axis=1)
    assert np.array_equal(places[visible], probed.layout.coords().reshape(-1, 2)[visible])


def test_cache_survives_damage(tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    ins = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    operands = inputs.make(ins, "bits", 3, SEED)
    for _ in range(2):
        launcher.compiled.cache_clear()
        assert np.array_equal(gpu.run(operands), emulate(operands))
        for file in gpu.cache_folder().iterdir():
            file.write_bytes(file.read_bytes()[:-100] + bytes(100))


def test_batch_axes_and_broadcasting() -> None:
    ins = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    operands = inputs.make(ins, "bits", 6, SEED)
    a, b, c = operands.a.reshape(2, 3, 32, 4), operands.b[:3], operands.c[0]
    assert np.array_equal(ins.run(a, b, c), ins.emulate(a, b, c))


def test_instruction_that_the_device_lacks() -> None:
    ins = mma_instructions("mma", "sm_120a")[-1]
    if gpu.available(ins):
        pytest.skip("this device has it")
    with pytest.raises(ValueError, match="the emulator does it anyway"):
        gpu.run(inputs.make(ins, "bits", 1))
