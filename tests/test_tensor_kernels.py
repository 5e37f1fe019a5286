"""Kernels of tcgen05: they compile for the targets that have the instruction, and hold what they should."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gpu, instruction
from ptxlab.gpu import codegen
from ptxlab.gpu.codegen import tensor_mma
from ptxlab.gpu.sass import nvdisasm, survey
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operand import Operand
from ptxlab.isa.tcgen05 import Tcgen05Form, Tcgen05Mma
from ptxlab.isa.versions import newest_of_cuda
from tests import assembler
from tests.sampling import EXHAUSTIVE, one_in
from tests.tensor_kernels import Case, cases

F16 = "tcgen05.mma.cta_group::1.kind::f16"
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
    if not form.supports(target) or (isinstance(form, Tcgen05Mma) and form.decompress):
        return False
    if modifiers.scale_input_d and isinstance(form, Tcgen05Mma) and target not in form.scale_input_d:
        return False
    return form.ptx_version_for(target) <= newest_of_cuda(gpu.compiler_version())


@pytest.mark.parametrize("target", TARGETS if EXHAUSTIVE else TARGETS[:1])
def test_kernels_compile(target: str) -> None:
    """All of them where PTXLAB_EXHAUSTIVE is set: 2,058 for sm_100a."""
    every = [case for case in cases() if compiled(case, target)]
    if not every:
        pytest.skip(f"NVRTC is that of CUDA {'.'.join(map(str, gpu.compiler_version()))}")
    some = one_in(211, every, 7)
    for first in range(0, len(some), 24):
        sources = [codegen.source(form, modifiers) for form, modifiers in some[first : first + 24]]
        assert gpu.compile(together(sources), target, cache=False).startswith(b"\x7fELF")


def test_every_form_has_a_kernel_and_a_line() -> None:
    """One instruction in the kernel; all of those around it are of the same CTA group."""
    for form, modifiers in one_in(8, list(cases()), 1):
        assert codegen.ptx_line(form, modifiers).startswith(f"{form.mnemonic} ".rstrip())
        if isinstance(form, Tcgen05Mma) and form.decompress:
            with pytest.raises(PtxlabError, match="ptxlab generates no kernel for it, since"):
                codegen.source(form, modifiers)
            continue
        source = codegen.source(form, modifiers)
        assert f'"{form.mnemonic}' in source
        assert len({*re.findall(r"cta_group::\d", source)}) == 1, form


@pytest.mark.parametrize("target", ["sm_103a", "sm_107a"])
def test_modules_assemble(target: str) -> None:
    forms = [form for form in ptxlab.catalog("tcgen05", target) if form.supports(target)]
    for form in one_in(120, forms, 5):
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
    ],
    ids=str,
)
def test_operands_lie_in_shared_memory_as_tiles_say(form: Tcgen05Mma, name: str, swizzle: int) -> None:
    """The part of the kernel that fills a tile, simulated; of a pair the second CTA's half."""
    operand = form.a if name == "A" else form.b
    assert isinstance(operand, Operand)
    tile = tensor_mma.shared_tile(form, operand, swizzle)
    codes = np.random.default_rng(5).integers(1 << operand.dtype.bits, size=operand.shape)
    codes = codes.astype(operand.dtype.code_type)
    code = _COPY.format(
        word=codegen.cpp.code_word(operand),
        name=name,
        tile=f"{name.lower()}_tile",
        size=tile.size,
        fill="\n".join(tensor_mma.filled(form, operand, tile)),
    )
    found = np.zeros(tile.size, dtype=np.uint8)
    ptxlab.kernel(code, "fill").simulate(1, 128, codes, found)
    half = np.split(codes if name == "A" else codes.T, form.cta_group)[-1]
    stored = np.zeros((tile.rows, tile.k), dtype=codes.dtype)
    stored[: len(half)] = half
    if tile.bits != operand.dtype.bits:  # "Packing formats": 16 elements side by side, then padding
        bits = np.unpackbits(half[..., None], axis=-1, bitorder="little")[..., : operand.dtype.bits]
        chunks = bits.reshape(len(half), -1, 16 * operand.dtype.bits)
        padded = np.zeros((*chunks.shape[:2], 128), dtype=np.uint8)
        padded[..., : chunks.shape[-1]] = chunks
        stored = np.packbits(padded, axis=-1, bitorder="little").reshape(stored.shape)
    assert np.array_equal(found, tile.store(stored))
    fields = tile.slice().tcgen05()
    read = fields.load(found, tile.rows, tile.k, bits=tile.bits, major=tile.major)
    assert np.array_equal(read, stored), "what the descriptor reads"
    assert f"0x{fields.code:016x}ull" in codegen.source(form, Modifiers(swizzle=swizzle))


#: Lines of tcgen05, and what takes their place where there is no tensor memory; shared memory has 64 columns.
_REPLACED = (
    (r'asm volatile\("tcgen05\.alloc[^;]*;"[^;]*;', "tensor_memory = 0;"),
    (r'asm volatile\("tcgen05\.(?:relinquish|fence|wait|dealloc)[^;]*;"[^;]*;', ";"),
    (
        r'asm volatile\("tcgen05\.st[^;]*;"[^;]*;',
        "memory[(address >> 16) + threadIdx.x % 32][address & 63] = word;",
    ),
    (
        r'asm volatile\("tcgen05\.ld[^;]*;\\n"[^;]*;"[^;]*;',
        "word = memory[(address >> 16) + threadIdx.x % 32][address & 63];",
    ),
    (r'asm volatile\(\s*"\{\\n"\s*".reg .pred enable_input_d;.*?"memory"\);', ";"),
    (
        r'asm volatile\("tcgen05\.commit[^;]*;"[^;]*;',
        'for (int to = 0; to < CTAS; ++to) asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, '
        '%0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }" '
        ':: "r"(barrier), "r"(to));',
    ),
)


@pytest.mark.parametrize("group", [1, 2])
def test_words_go_to_their_lanes_and_back(group: int) -> None:
    """The kernel without its instruction, simulated: D is C, for blocks that run several of them."""
    ins = instruction(f"tcgen05.mma.cta_group::{group}.kind::i8", m=128, n=32)
    source = ins.kernel
    for pattern, replacement in _REPLACED:
        source, found = re.subn(pattern, lambda _, text=replacement: text, source, flags=re.S)
        assert found, pattern
    assert '"tcgen05.' not in source
    source = f"__shared__ unsigned int memory[128][64];\n{source}".replace("CTAS", str(group))
    random = np.random.default_rng(7)
    a, b, c = (
        random.integers(1 << 8 * operand.register_type().itemsize, size=(3, *operand.stored_shape)).astype(
            operand.dtype.code_type if name != "c" else np.uint32
        )
        for name, operand in ins.inputs.items()
    )
    d = np.zeros_like(c)
    result = ptxlab.kernel(source, codegen.NAME).simulate(2 * group, 128, a, b, c, d, 3)
    assert np.array_equal(d, c) and not result.hazards


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
    with pytest.raises(PtxlabError, match="swizzle=32: rows of 64 bytes of B do not fit"):
        codegen.source(sparse, Modifiers(swizzle=32))
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
    with pytest.raises(PtxlabError) as refusal:
        ins(np.ones((64, 16)), np.ones((16, 16)), on="gpu")
    assert str(refusal.value) == gpu.status(ins)
    with pytest.raises(PtxlabError):
        instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32").run(np.zeros((128, 2), dtype=np.uint32))
