"""Kernels of tcgen05: they compile for the targets that have the instruction, and hold what they should."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gpu, inputs, instruction
from ptxlab.gpu import codegen, device, runner
from ptxlab.gpu.codegen import tcgen05_mma_kernel, tcgen05_transfer_kernel
from ptxlab.gpu.sass import nvdisasm, survey
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operand import Operand
from ptxlab.isa.targets import newest_of_cuda
from ptxlab.isa.tcgen05 import Tcgen05Form, TensorInstruction
from ptxlab.memory.tcgen05_tiles import SharedPlace, shared_places, shared_tile
from ptxlab.numerics.emulate import emulate
from tests import assembler
from tests.cases import each, refusal, refuses
from tests.gpu.tensor_kernels import Case, cases
from tests.sampling import EXHAUSTIVE, one_in
from tests.texts import replaced

F16 = "tcgen05.mma.cta_group::1.kind::f16"
MX = "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale"
TARGETS = ("sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_110a", "sm_110f", "sm_107a", "sm_107f")


def together(sources: list[str]) -> str:
    """Many kernels as one source, each in a namespace of its own."""
    parts = []
    for number, source in enumerate(sources):
        renamed = re.sub(r"(?<= )(\w+)\(\n(?=    const)", rf"\1_{number}(\n", source)
        parts.append(f"namespace kernel_{number} {{\n{renamed}}}\n")
    return "\n".join(parts)


def compiled(case: Case, target: str) -> bool:
    """Whether the installed NVRTC can compile it for a target."""
    form, modifiers = case
    if not form.supports(target):
        return False
    if modifiers.scale_input_d and isinstance(form, TensorInstruction) and target not in form.scale_input_d:
        return False
    return form.ptx_version_for(target) <= newest_of_cuda(gpu.compiler_version())


@pytest.mark.parametrize("target", TARGETS if EXHAUSTIVE else TARGETS[:1])
@pytest.mark.slow
def test_kernels_compile(target: str) -> None:
    """All of them, for all targets, where PTXLAB_EXHAUSTIVE is set."""
    every = [case for case in cases() if compiled(case, target)]
    if not every:
        pytest.skip(f"NVRTC is that of CUDA {'.'.join(map(str, gpu.compiler_version()))}")
    some = one_in(422, every, 7)
    for first in range(0, len(some), 24):
        sources = [codegen.source(form, modifiers) for form, modifiers in some[first : first + 24]]
        assert gpu.compile(together(sources), target, cache=False).startswith(b"\x7fELF")


@pytest.mark.slow
def test_every_form_has_a_kernel_and_a_line() -> None:
    """One instruction in the kernel; all of those around it are of the same CTA group."""
    for form, modifiers in one_in(16, list(cases()), 1):
        assert codegen.ptx_line(form, modifiers).startswith(f"{form.mnemonic} ".rstrip())
        source = codegen.source(form, modifiers)
        assert f'"{form.mnemonic}' in source
        assert len({*re.findall(r"cta_group::\d", source)}) == 1, form


@pytest.mark.parametrize("target", ["sm_103a", "sm_107a"])
def test_modules_assemble(target: str) -> None:
    forms = [form for form in ptxlab.catalog("tcgen05", target) if form.supports(target)]
    for form in one_in(240, forms, 5):
        text = codegen.ptx_module(form, target)
        assert assembler.NEWEST.assemble(text, target) is None, text


# -- what is in them -----------------------------------------------------------------------------------------

_COPY = """\
extern "C" __global__ void fill(const {word}* {name}, unsigned char* result)
{{
    const long long i = 0;
    const int cta = 1;
    __shared__ __align__(1024) unsigned char {tile}[{size}];
    for (int j = threadIdx.x; j < {size}; j += 128) {tile}[j] = 0;
    __syncthreads();
{fill}
    __syncthreads();
    for (int j = threadIdx.x; j < {size}; j += 128) result[j] = {tile}[j];
}}
"""


@pytest.mark.parametrize(
    ("form", "name", "swizzle"),
    [
        (instruction("tcgen05.mma.cta_group::2.kind::f16", m=128, n=32), "A", 64),
        (instruction("tcgen05.mma.cta_group::2.kind::f16", m=128, n=32, transpose_b=True), "B", 0),
        (instruction("tcgen05.mma.cta_group::1.kind::tf32", n=24, transpose_b=True), "B", 0),
        (instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", n=16), "B", 32),
        (instruction("tcgen05.mma.cta_group::1.kind::f8f6f4", m=64, a="e3m2"), "A", 128),
        (instruction("tcgen05.mma.cta_group::2.kind::f8f6f4", n=32, b="e2m1"), "B", 0),
        (instruction(MX, m=256, n=32, k=64, a="e2m1", b="e2m1"), "B", 32),
        (instruction(MX, m=256, n=32, k=64, a="e2m3"), "A", 64),
        (instruction(replaced(MX, "mma", "mma.sp"), m=256, n=32, k=128, b="e3m2"), "B", 0),
    ],
    ids=str,
)
def test_operands_lie_in_shared_memory_as_tiles_say(form: TensorInstruction, name: str, swizzle: int) -> None:
    """The part of the kernel that fills a tile, simulated; of a pair the second CTA's half."""
    operand = form.a if name == "A" else form.b
    assert isinstance(operand, Operand)
    tile = shared_tile(operand, swizzle)
    codes = np.random.default_rng(5).integers(1 << operand.dtype.bits, size=operand.shape)
    codes = codes.astype(operand.dtype.code_type)
    code = _COPY.format(
        word=codegen.cpp.code_word(operand),
        name=name,
        tile=f"{name.lower()}_tile",
        size=tile.size,
        fill="\n".join(tcgen05_mma_kernel.tile_from_global(form, operand, tile)),
    )
    found = np.zeros(tile.size, dtype=np.uint8)
    ptxlab.kernel(code, "fill").simulate(1, 128, codes, found)
    half = np.split(codes if name == "A" else codes.T, form.cta_group)[-1]
    if tile.bits == operand.dtype.bits:
        stored = np.zeros((tile.rows, tile.k), dtype=codes.dtype)
        stored[: len(half)] = half
    else:  # "Packing formats": 16 elements side by side, with K = 32 padding behind them
        bits = np.unpackbits(half[..., None], axis=-1, bitorder="little")[..., : operand.dtype.bits]
        chunks = bits.reshape(len(half), -1, 16 * operand.dtype.bits)
        padded = np.zeros((*chunks.shape[:2], 128 if form.k == 32 else chunks.shape[2]), dtype=np.uint8)
        padded[..., : chunks.shape[-1]] = chunks
        stored = np.packbits(padded, axis=-1, bitorder="little").reshape(tile.rows, tile.k)
    assert np.array_equal(found, tile.store(stored))
    fields = tile.slice().tcgen05()
    read = fields.load(found, tile.rows, tile.k, bits=tile.bits, major=tile.major)
    assert np.array_equal(read, stored), "what the descriptor reads"
    for row, col in np.argwhere(np.ones(operand.shape))[:: codes.size // 97]:
        parts = shared_places(operand, int(row), int(col), swizzle)
        if parts[0].cta == form.cta_group - 1:
            assert _code_in(found, parts) == codes[row, col], "where it is said to be"
    assert f"0x{fields.code:016x}ull" in codegen.source(form, Modifiers(swizzle=swizzle))


def _code_in(memory: np.ndarray[Any, Any], parts: list[SharedPlace]) -> int:
    """The code whose lower bits are in the first part."""
    code = shift = 0
    for part in parts:
        word = int.from_bytes(bytes(memory[part.byte : part.byte + 4].astype(np.uint8)), "little")
        width = part.high - part.low + 1
        code |= (word >> part.low & (1 << width) - 1) << shift
        shift += width
    return code


# -- simulated -----------------------------------------------------------------------------------------------

PRODUCTS = [
    (
        instruction(F16, m=64, n=16, transpose_a=True),
        {"swizzle": 32, "disable_output_lane": 5, "scale_input_d": 2},
    ),
    (instruction("tcgen05.mma.cta_group::2.kind::f16", m=128, n=32, transpose_b=True), {}),
    (instruction("tcgen05.mma.cta_group::1.kind::f8f6f4", n=16, a="e3m2", b="e2m1"), {"swizzle": 64}),
    (instruction("tcgen05.mma.cta_group::1.kind::tf32", n=24, transpose_b=True).a_from("tensor"), {}),
    (
        instruction(
            "tcgen05.mma.cta_group::2.kind::f8f6f4",
            m=128,
            n=64,
            a="e2m3",
            b="e2m1",
            transpose_a=True,
            transpose_b=True,
        ),
        {"swizzle": 32},
    ),
    (instruction("tcgen05.mma.sp.cta_group::2.kind::mxf4.block_scale", n=16), {}),
    (instruction(MX, m=256, n=16, k=64, a="e2m3", b="e2m1"), {"swizzle": 64}),
    (instruction(replaced(MX, "mma", "mma.sp"), m=256, n=16, k=128, a="e2m1", b="e3m2"), {}),
    (instruction("tcgen05.mma.ws.cta_group::1.kind::i8", m=32, n=64), {"zero_column_mask": 0x3028000000000}),
    (instruction("tcgen05.mma.ws.sp.cta_group::1.kind::f16", m=64, n=64), {"enable_input_d": False}),
    (
        instruction(
            "tcgen05.mma.ws.cta_group::1.kind::f8f6f4", m=32, n=64, b="e3m2", transpose_b=True, max_shift=8
        ),
        {"zero_column_mask": 0x303028000000000, "swizzle": 32},
    ),
]


@each("form, arguments", PRODUCTS)
@pytest.mark.slow
def test_kernels_compute_what_is_emulated(form: TensorInstruction, arguments: dict[str, int]) -> None:
    """The whole kernel, simulated: allocation, descriptors, barriers, lanes of each warp, a CTA pair."""
    modifiers = Modifiers(**arguments)
    category = "bits" if form.kind == "i8" else "moderate"
    operands = replace(inputs.make(form, category, 3, seed=7), modifiers=modifiers)
    d = np.zeros((3, *form.d.stored_shape), dtype=np.uint32)
    kernel = ptxlab.kernel(codegen.source(form, modifiers), codegen.NAME, target="sm_100a")
    arrays = map(np.ascontiguousarray, operands.arrays.values())
    result = kernel.simulate(2 * form.cta_group, 128, *arrays, d, 3)
    assert np.array_equal(d, emulate(operands)) and not result.hazards
    assert result.counts[form.mnemonic] == 3
    seen = result.operands(warp=0)
    assert seen.ins == form and np.array_equal(seen.c, operands.c[0])


def test_addresses_of_scales_may_have_their_selector() -> None:
    """CUTLASS leaves it in the upper two bits, after it has put it into the instruction descriptor."""
    form = instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X", m=128, n=16)
    operands = inputs.make(form, "moderate", 1, seed=7)
    d = np.zeros((1, *form.d.stored_shape), dtype=np.uint32)
    source = codegen.source(form)
    assert '"r"(scale_a_tmem), "r"(scale_b_tmem)' in source
    source = replaced(
        source,
        '"r"(scale_a_tmem), "r"(scale_b_tmem)',
        '"r"(scale_a_tmem | 1u << 30), "r"(scale_b_tmem | 2u << 30)',
    )
    kernel = ptxlab.kernel(source, codegen.NAME, target="sm_100a")
    kernel.simulate(1, 128, *map(np.ascontiguousarray, operands.arrays.values()), d, 1)
    assert np.array_equal(d, emulate(operands))


LUT = "tcgen05.mma.cta_group::2.kind::f8f6f4.decompress::lut::b"


def test_a_compressed_b_is_looked_up(rng: np.random.Generator) -> None:
    """Its bytes and table as the PTX ISA's text has them, and its kernel, simulated."""
    form = instruction(LUT, m=256, n=32)
    values = rng.permuted(np.tile(np.arange(120, dtype=np.uint8), (4, 1)), axis=1)[:, :8]  # of 8 columns each
    indices = rng.integers(0, 8, (64, 32))
    b = values[np.arange(32) // 8, indices]
    columns, words = ptxlab.memory.pack_lookup(form, b)
    table = words.view(np.uint8).reshape(256, 8)
    for n in range(32):
        stream = int.from_bytes(columns[n, :24].tobytes(), "little")
        found = [stream >> 3 * k & 7 for k in range(64)]
        for lane in range(n // 16 * 128 + n % 16 // 8, (n // 16 + 1) * 128, 32):
            assert (table[lane, found] == b[:, n]).all()
    second = np.concatenate([columns[:, 24:], columns[:, :24]], axis=1)
    assert (ptxlab.memory.unpack_lookup(form, second, words, segment=1) == b).all()
    operands = replace(inputs.make(form, "moderate", 1, seed=7), b=b[None])
    ptx = ptxlab.kernel(codegen.source(form), codegen.NAME, target="sm_100a").ptx
    kernel = ptxlab.kernel(replaced(replaced(ptx, ".version 9.0", ".version 9.4"), "sm_100a", "sm_107a"))
    d = np.zeros((1, *form.d.stored_shape), dtype=np.uint32)
    result = kernel.simulate(2, 128, *map(np.ascontiguousarray, runner._inputs(operands)), d, 1)
    assert np.array_equal(d, emulate(operands)) and not result.hazards
    with pytest.raises(PtxlabError, match="columns 0 to 7 have 64 different values; .* share a table of 8"):
        ptxlab.memory.pack_lookup(form, np.arange(64, dtype=np.uint8)[:, None] + np.zeros(32, np.uint8))


def test_a_is_shifted_after_it_was_multiplied(rng: np.random.Generator) -> None:
    """CUTLASS: rows 31, 63, 95 and 127 stay. The instruction of the kernel is issued twice here."""
    form = instruction(f"{F16}.ashift", n=16)
    A, B = rng.integers(-3, 4, form.a.shape), rng.integers(-3, 4, form.b.shape)
    ptx = ptxlab.kernel(codegen.source(form), codegen.NAME, target="sm_100a").ptx
    (line,) = (line for line in ptx.splitlines() if line.startswith(form.mnemonic))
    d = np.zeros((1, *form.d.stored_shape), dtype=np.uint32)
    arrays = (form.a.pack(A), form.b.pack(B), form.c.pack(np.zeros(form.c.shape)), d)
    kernel = ptxlab.kernel(replaced(ptx, line, f"{line}\n{line}"))
    kernel.simulate(1, 128, *map(np.ascontiguousarray, arrays), 1)
    after = np.where(np.arange(128)[:, None] % 32 < 31, np.roll(A, -1, axis=0), A)
    np.testing.assert_array_equal(form.d.unpack(d[0]), (A + after) @ B)
    np.testing.assert_array_equal(form(A, B), A @ B)
    with pytest.raises(PtxlabError, match="A is transposed; in tensor memory it cannot be"):
        instruction(F16, transpose_a=True).a_from("tensor")


def test_half_of_the_lanes_from_lane_16_on() -> None:
    """Where layout F leaves room for a second D: that of the first is not touched."""
    form = instruction(F16, m=64, n=16)
    modifiers = Modifiers(disable_output_lane=1 << 18)
    operands = replace(inputs.make(form, "moderate", 1, seed=7), modifiers=Modifiers(disable_output_lane=4))
    operands = replace(operands, c=np.roll(operands.c, 3, axis=-2))
    source = replaced(codegen.source(form, modifiers), '"r"(d_tmem)', '"r"(d_tmem + (16 << 16))')
    words, d = np.roll(operands.c, 16, axis=-2), np.zeros((1, 128, 16), dtype=np.uint32)
    kernel = ptxlab.kernel(source, codegen.NAME, target="sm_100a")
    kernel.simulate(1, 128, *map(np.ascontiguousarray, (operands.a, operands.b, words)), d, 1)
    assert np.array_equal(np.roll(d, -16, axis=-2), emulate(operands))
    whole = instruction(F16, n=16)
    code = replaced(whole.kernel, '"r"(d_tmem)', '"r"(d_tmem + (16 << 16))')
    arrays = [np.zeros(operand.stored_shape, dtype=np.uint16) for operand in (whole.a, whole.b)]
    kernel = ptxlab.kernel(code, codegen.NAME, target="sm_100a")
    with pytest.raises(PtxlabError, match="D begins in lane 16; that of layout D begins in lane 0"):
        kernel.simulate(1, 128, *arrays, d, d.copy(), 1)


MOVES = [
    "tcgen05.ld.sync.aligned.16x32bx2.x2.pack::16b.b32",
    "tcgen05.ld.red.sync.aligned.32x32b.x4.max.abs.f32",
    "tcgen05.st.sync.aligned.16x128b.x1.unpack::16b.b32",
    "tcgen05.shift.cta_group::2.down",
]


@each("name", MOVES)
@pytest.mark.slow
def test_kernels_move_what_is_emulated(name: str) -> None:
    form = instruction(name)
    random = np.random.default_rng(3)
    words = random.integers(1 << 32, size=(2, 128, 16), dtype=np.uint32)
    registers = random.integers(1 << 32, size=(2, 128, form.registers), dtype=np.uint32)
    stores = form.family == "tcgen05.st"
    expected = form.emulate(registers, words) if stores else form.emulate(words)
    if isinstance(expected, tuple):
        expected = np.concatenate([expected[0], expected[1][..., None]], axis=-1)
    found = np.zeros((2, 128 * (form.cta_group or 1), expected.shape[-1]), dtype=np.uint32)
    both = np.concatenate([words] * (form.cta_group or 1), axis=1)
    kernel = ptxlab.kernel(form.kernel, tcgen05_transfer_kernel.kernel_name(form), target="sm_103a")
    arrays = [registers, both, found] if stores else [both, found]
    result = kernel.simulate(form.cta_group or 1, 128, *arrays, 16, 0, 2)
    assert np.array_equal(found[:, :128], expected) and not result.hazards


def test_kernels_copy_what_is_emulated() -> None:
    """Also the kernel of each instruction that goes around, in which words come back."""
    copy = instruction("tcgen05.cp.cta_group::2.128x256b")
    memory = np.random.default_rng(5).integers(256, size=4096, dtype=np.uint8)
    words, found = (np.zeros((1, 256, 8), dtype=np.uint32) for _ in range(2))
    tile = ptxlab.memory.Tcgen05Descriptor(0, 128, 256)
    kernel = ptxlab.kernel(copy.kernel, tcgen05_transfer_kernel.kernel_name(copy), target="sm_100a")
    kernel.simulate(2, 128, memory, 256, tile.code, words, found, 8, 0, 1)
    expected = copy.emulate(memory, tile, words[0, :128])
    assert np.array_equal(found[0, :128], expected) and np.array_equal(found[0, 128:], expected)
    commit = instruction("tcgen05.commit.cta_group::2.mbarrier::arrive::one.multicast::cluster.b64")
    kernel = ptxlab.kernel(
        codegen.source(commit), tcgen05_transfer_kernel.kernel_name(commit), target="sm_100a"
    )
    words, result = np.arange(512, dtype=np.uint32), np.zeros(512, dtype=np.uint32)
    kernel.simulate(4, 128, words, result)
    assert np.array_equal(result, words)


def test_a_commit_of_the_pair_is_waited_for_with_any_scope() -> None:
    """It tells of asynchronous work, as copies do: CUTLASS names no scope, its primitives name .cta."""
    commit = instruction("tcgen05.commit.cta_group::2.mbarrier::arrive::one.multicast::cluster.b64")
    wait = "mbarrier.try_wait.parity.shared::cta.b64"
    source = codegen.source(commit)
    assert wait in source
    source = replaced(source, wait, "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64")
    kernel = ptxlab.kernel(source, tcgen05_transfer_kernel.kernel_name(commit), target="sm_100a")
    words, result = np.arange(256, dtype=np.uint32), np.zeros(256, dtype=np.uint32)
    simulated = kernel.simulate(2, 128, words, result)
    assert np.array_equal(result, words) and not simulated.hazards and not simulated.notes


@pytest.fixture
def simulated_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A B200 whose launches are simulated."""

    def launch(source: str, name: str, arguments: Sequence[Any], *, grid: int, block: int) -> None:
        values = [argument.array if isinstance(argument, gpu.Out) else argument for argument in arguments]
        values = [
            int(value) if isinstance(value, np.generic) else np.ascontiguousarray(value) for value in values
        ]
        ptxlab.kernel(source, name, target="sm_103a").simulate(grid, block, *values)

    monkeypatch.setattr(runner, "launch", launch)
    monkeypatch.setattr(runner, "check_device", lambda form: device.Gpu("simulated B200", "sm_100a"))
    monkeypatch.setattr(runner, "processors", lambda: 4)


@pytest.mark.slow
def test_run_gives_what_emulate_gives(simulated_gpu: None) -> None:
    """Batch axes, broadcasting, more instructions than blocks, and a CTA pair."""
    ins = instruction("tcgen05.mma.cta_group::2.kind::f16", m=128, n=16)
    operands = inputs.make(ins, "moderate", 6, seed=2)
    a, b, c = operands.a.reshape(2, 3, 128, 16), operands.b[:3], operands.c[0]
    assert np.array_equal(ins.run(a, b, c), ins.emulate(a, b, c))
    A, B = np.eye(128, 16), np.arange(256).reshape(16, 16)
    assert np.array_equal(ins(A, B, on="gpu")[:16], B)
    thor = instruction(F16, m=64, n=16)
    codes = [np.zeros(operand.stored_shape, dtype=np.uint16) for operand in (thor.a, thor.b)]
    with pytest.raises(PtxlabError, match="scale_input_d=16: tcgen05.mma.cta_group::1.kind::f16 takes 0, 1"):
        thor.run(*codes, np.zeros((128, 16), dtype=np.uint32), scale_input_d=16)
    words = np.random.default_rng(1).integers(1 << 32, size=(3, 128, 12), dtype=np.uint32)
    load = instruction("tcgen05.ld.red.sync.aligned.16x32bx2.x2.min.s32")
    for found, expected in zip(
        load.run(words, address=16 << 16 | 1, split=5),
        load.emulate(words, address=16 << 16 | 1, split=5),
        strict=True,
    ):
        assert np.array_equal(found, expected)
    store = instruction("tcgen05.st.sync.aligned.32x32b.x4.b32")
    assert np.array_equal(store.run(words[:, :, :4], words[0]), store.emulate(words[:, :, :4], words[0]))
    copy = instruction("tcgen05.cp.cta_group::2.4x256b")
    arguments = [np.arange(256, dtype=np.uint8), ptxlab.memory.Tcgen05Descriptor(0, 128, 256).code, words[0]]
    assert np.array_equal(copy.run(*arguments, address=2), copy.emulate(*arguments, address=2))
    refuses("moves 8 columns from there, of 12", copy.run, *arguments, address=5)


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("warp * 32 << 16", "96 << 16", "of warp 0 begins in lane 96; that warp may touch lanes 0 to 31"),
        ("[%0], 32;", "[%0], 48;", "asks for 48 columns; it takes 32, 64, 128, 256 or 512"),
        ("0x04040010u", "0x04040050u", "bit 6 is 1, but is reserved"),
    ],
)
def test_what_goes_wrong(right: str, wrong: str, sentence: str) -> None:
    ins = instruction(F16, m=64, n=16)
    source = replaced(ins.kernel, right, wrong)
    arrays = [np.zeros(shape, dtype=kind) for shape, kind in (((64, 16), "u2"), ((16, 16), "u2"))]
    arrays += [np.zeros((128, 16), dtype=np.uint32) for _ in range(2)]
    with pytest.raises(PtxlabError, match=re.escape(sentence)):
        ptxlab.kernel(source, codegen.NAME, target="sm_100a").simulate(1, 128, *arrays, 1)


def test_missing_waits_are_found() -> None:
    """For the barrier of the commit, for stores, and between the proxies; the whole kernel has no hazard."""
    ins = instruction(F16, m=64, n=16)
    arrays = [np.ones(operand.stored_shape, dtype=np.uint16) for operand in (ins.a, ins.b)]
    arrays += [np.zeros((128, 16), dtype=np.uint32) for _ in range(2)]

    def sentences(without: str) -> list[str]:
        source = ins.kernel
        assert without in source
        kernel = ptxlab.kernel(replaced(source, without, ""), codegen.NAME, target="sm_100a")
        return [str(hazard) for hazard in kernel.simulate(1, 128, *arrays, 1).hazards]

    (early,) = sentences("wait(barrier, parity);\n")
    lines = ins.kernel.splitlines()
    (first,) = (number for number, text in enumerate(lines, 1) if '"tcgen05.mma.' in text)
    last = next(number for number, text in enumerate(lines, 1) if number > first and text.endswith(");"))
    found = re.search(
        r"while tcgen05.mma of line (\d+) may still write columns 0 to 15; wait for the mbar", early
    )
    assert found is not None and first <= int(found[1]) <= last
    stores = sentences('asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");')
    remedy = "execute tcgen05.wait::st.sync.aligned after the store"
    assert stores and all(remedy in sentence for sentence in stores)
    proxies = sentences('asm volatile("fence.proxy.async.shared::cta;" ::: "memory");')
    assert len(proxies) == 2 and all("through the generic proxy" in sentence for sentence in proxies)


def test_other_lanes_need_no_wait() -> None:
    """A store that is not complete concerns its own lanes alone, not others of the same columns."""

    def sentences(lane: str) -> list[str]:
        text = f"""
        extern "C" __global__ void k(unsigned *out) {{
            __shared__ unsigned base;
            unsigned t = threadIdx.x, word = 7, p = __cvta_generic_to_shared(&base);
            if (t < 32)
                asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" :: "r"(p));
            __syncthreads();
            unsigned at = base + (t / 32 * 32 << 16), from = at + {lane};
            if (t < 32)
                asm volatile("tcgen05.st.sync.aligned.16x64b.x1.b32 [%0], {{%1}};" :: "r"(at), "r"(word));
            __syncthreads();
            asm volatile("tcgen05.ld.sync.aligned.16x64b.x1.b32 {{%0}}, [%1];" : "=r"(word) : "r"(from));
            asm volatile("tcgen05.wait::ld.sync.aligned;");
            asm volatile("tcgen05.wait::st.sync.aligned;");
            out[t] = word;
            __syncthreads();
            if (t < 32)
                asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" :: "r"(base));
        }}"""
        kernel = ptxlab.kernel(text, "k", target="sm_100a")
        return [str(hazard) for hazard in kernel.simulate(1, 64, np.zeros(64, dtype=np.uint32)).hazards]

    (early,) = sentences("0")
    assert "warp 0" in early and "execute tcgen05.wait::st.sync.aligned after the store" in early
    assert not sentences("(16 << 16)")


def test_the_kernel_of_a_plain_form() -> None:
    ins = instruction(F16, m=64, n=16)
    source = ins.kernel
    assert "const unsigned short* A, const unsigned short* B, const unsigned int* C,\n" in source
    steps = ["alloc", "relinquish_alloc_permit", "wait::st", "mma", "commit", "dealloc"]
    places = [source.rindex(f'"tcgen05.{step}') for step in steps]
    assert places == sorted(places)
    assert ins.ptx == f"{F16} [%d_tmem], %a_desc, %b_desc, %idesc, enable_input_d;"
    assert "mov.b32 %idesc, 0x04040010;" in ins.ptx_module()
    masked = codegen.source(ins, Modifiers(disable_output_lane=1 << 100, scale_input_d=2))
    assert '%3, {%4, %5, %6, %7}, enable_input_d, 2;\\n"' in masked and '"r"(0x00000010u)' in masked


def test_swizzles_that_do_not_fit() -> None:
    sparse = instruction("tcgen05.mma.sp.cta_group::1.kind::f16")
    refuses("swizzle=32: rows of 64 bytes of B do not fit", codegen.source, sparse, Modifiers(swizzle=32))
    with pytest.raises(PtxlabError, match="take 49152 bytes, a kernel declares at most 49088"):
        codegen.source(instruction(F16), Modifiers(swizzle=128))


def test_machine_code() -> None:
    try:
        nvdisasm()
    except PtxlabError as error:
        pytest.skip(str(error))
    expected = {
        F16: "native: 1 UTCHMMA",
        "tcgen05.mma.ws.cta_group::1.kind::i8": "native: 1 UTCIMMA.WS",
        "tcgen05.mma.sp.cta_group::2.kind::f8f6f4": "native: 1 UTCQMMA.2CTA",
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X": "native: 1 UTCOMMA.4X",
        "tcgen05.ld.sync.aligned.16x256b.x2.b32": "native: 1 LDTM.16dp256bit.x2",
        "tcgen05.st.sync.aligned.16x32bx2.x1.b32": "split: 1 STTM.16dp32bit_t0_t15, 1 STTM.16dp32bit_t16_t31",
        "tcgen05.cp.cta_group::1.32x128b.warpx4": "native: 1 UTCCP.T.S.4x32dp128bit",
        "tcgen05.shift.cta_group::2.down": "native: 1 UTCSHIFT.2CTA.DOWN",
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64": "native: 1 UTCBAR",
    }
    forms: list[Tcgen05Form] = [instruction(name) for name in expected]
    assert [str(code) for code in survey(forms, "sm_100a")] == list(expected.values())


def test_without_such_a_gpu() -> None:
    ins = instruction(F16, m=64, n=16)
    if gpu.available(ins):
        pytest.skip("this device has it")
    assert gpu.status(ins) and not gpu.available(F16)
    assert refusal(ins, np.ones((64, 16)), np.ones((16, 16)), on="gpu") == gpu.status(ins)
    load = instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    assert refusal(load.run, np.zeros((128, 2), dtype=np.uint32)) == gpu.status(load)
