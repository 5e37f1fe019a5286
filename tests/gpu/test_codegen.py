"""Kernels compile for the targets that have their instruction, and for no other; the cache keeps them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby, product
from pathlib import Path

import numpy as np
import pytest

from ptxlab import TARGETS, Instruction, PtxlabError, Transfer, gpu, instruction
from ptxlab.gpu import codegen as kernel
from ptxlab.gpu import compiler
from ptxlab.instruction import mma_instructions, register_instructions
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.targets import TARGET_VERSIONS, PtxVersion, newest_of_cuda
from ptxlab.memory import SWIZZLES, Tile
from tests import assembler
from tests.cases import each, refuses
from tests.isa.test_catalog import EARLY, before
from tests.sampling import EXHAUSTIVE, one_in
from tests.texts import replaced

#: What the installed NVRTC knows; of CUDA 13.0 that is PTX ISA 9.0.
KNOWN = newest_of_cuda(gpu.compiler_version())
WARP = [ins for ins in mma_instructions() if ins.lanes == 32 and ins.ptx_version <= KNOWN]
WARPGROUP = [ins for ins in mma_instructions() if ins.lanes == 128]
SPACES = ("register", "shared")

#: Every warp-level form compiles for the first of these that has it; newer targets take many times as long.
HOMES = ("sm_80", "sm_75", "sm_90a", "sm_120a", *TARGETS)


def modifiers(ins: Instruction) -> list[Modifiers]:
    """The plain form, and every other value of every modifier in the source; swizzles come on top."""
    others = [
        (name, value) for name, legal in ins.modifiers.items() for value in legal[1:] if name != "swizzle"
    ]
    return [Modifiers(), *(Modifiers(**{name: value}) for name, value in others)]


def together(kernels: list[str]) -> str:
    """Many kernels as one source: the compiler is started once for all."""
    return "\n".join(source.replace(kernel.NAME, f"{kernel.NAME}_{i}") for i, source in enumerate(kernels))


def compiles(kernels: list[str], target: str) -> bool:
    assert kernels
    return gpu.compile(together(kernels), target, cache=False).startswith(b"\x7fELF")


def home(ins: Instruction) -> str:
    return next(target for target in HOMES if ins.supports(target))


@pytest.mark.slow
@pytest.mark.parametrize("target", sorted({home(ins) for ins in WARP}))
def test_every_warp_kernel_compiles(target: str) -> None:
    there = [ins for ins in WARP if home(ins) == target]
    assert compiles([kernel.source(ins) for ins in one_in(36, there)], target)


@pytest.mark.slow
@each("target", [name for name, since in TARGET_VERSIONS.items() if since <= KNOWN])
def test_every_target_compiles_some(target: str) -> None:
    """Another sample for every target; test_catalog asks the assembler about the rest."""
    there = [ins for ins in WARP if ins.supports(target)]
    step = 60 if EXHAUSTIVE else 720
    assert compiles([kernel.source(ins) for ins in there[TARGETS.index(target) :: step]], target)


def newer_forms() -> list[Instruction | Transfer]:
    return [form for form in register_instructions() if form.ptx_version > assembler.OLDEST.ptx_version]


@pytest.mark.parametrize("form", newer_forms(), ids=str)
@pytest.mark.slow
def test_kernels_of_newer_forms_assemble(form: Instruction | Transfer) -> None:
    """NVRTC of any age makes PTX of inline assembly unread; the newest assembler then reads it."""
    from cuda.bindings import nvrtc

    for target in (form.targets[0], "sm_120a"):
        source = kernel.source(form).encode()
        _, program = nvrtc.nvrtcCreateProgram(source, b"k.cu", 0, [], [])
        options = [f"-arch=compute_{target[3:]}".encode(), b"-default-device"]
        (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        assert int(code) == 0
        text = bytearray(nvrtc.nvrtcGetPTXSize(program)[1])
        nvrtc.nvrtcGetPTX(program, text)
        module = bytes(text).rstrip(b"\0").decode()
        assert form.mnemonic in module
        for version, complaint in ((form.ptx_version, None), (assembler.OLDEST.ptx_version, ".version")):
            again = re.sub(r"^\.version .*", f".version {version}", module, flags=re.M)
            log = assembler.NEWEST.assemble(again, target)
            assert log is None if complaint is None else complaint in str(log)


def one_of_each_kind() -> list[Instruction | Transfer]:
    """A form for each family, shape, types and version; of wgmma the smallest N, from both spaces of A."""
    kinds: dict[object, Instruction | Transfer] = {}
    for form in register_instructions():
        if isinstance(form, Transfer):
            kinds.setdefault((form.family, form.shape, form.type, form.source, form.ptx_version), form)
        elif form.lanes == 32 or form.n == 8:
            key = (form.family, form.shape, form.a.dtype.bits, form.d_type, form.kind, form.ptx_version)
            kinds.setdefault(key, form)
    return [*kinds.values(), *(form.a_from("shared") for form in kinds.values() if form.lanes == 128)]


@pytest.mark.slow
def test_modules_assemble_with_their_version_and_with_no_earlier_one() -> None:
    """Modules with the same head are assembled together: the assembler is started once for each head."""
    entries: dict[str, list[str]] = {}
    forms = one_of_each_kind()
    assert len(forms) > 90
    for number, form in enumerate(forms):
        target = next(name for name in (*EARLY, *form.targets) if form.supports(name))
        head, blank, entry = form.ptx_module(target).partition("\n\n")
        assert head == f".version {form.ptx_version_for(target)}\n.target {target}\n.address_size 64"
        assert blank and f"    {form.ptx}\n" in entry
        entries.setdefault(head, []).append(entry.replace("ptxlab_kernel", f"kernel_{number}"))
    for head, texts in entries.items():
        version, target = (line.split()[1] for line in head.splitlines()[:2])
        module = "\n".join([head, *texts])
        assert assembler.NEWEST.assemble(module, target) is None, head
        earlier = before(PtxVersion(*map(int, version.split("."))))
        log = assembler.NEWEST.assemble(
            replaced(module, f".version {version}", f".version {earlier}"), target
        )
        assert log is not None and "PTX ISA .version" in log, head


@pytest.mark.slow
def test_warp_modifiers_compile() -> None:
    """Selectors and block-scale selectors: one form for each set of legal values."""
    chosen = {str(ins.modifiers): ins for ins in WARP if len(modifiers(ins)) > 1}
    assert len(chosen) > 4
    for target, forms in groupby(sorted(chosen.values(), key=home), key=home):
        cases = [(ins, chosen_modifiers) for ins in forms for chosen_modifiers in modifiers(ins)]
        assert compiles([kernel.source(*case) for case in one_in(12, cases)], target)


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 24])
def test_warpgroup_kernels_compile(n: int) -> None:
    """Types, dense and sparse, both spaces of A."""
    forms = [ins.a_from(space) for ins in WARPGROUP if ins.n == n for space in SPACES]
    assert compiles([kernel.source(ins) for ins in one_in(36, forms, n // 8)], "sm_90a")


@pytest.mark.slow
def test_wide_warpgroup_kernels_compile() -> None:
    """N = 256 has most registers and the largest tiles; of every other N there is one form."""
    plain = [ins for ins in WARPGROUP if ins.a_type == ins.b_type and not ins.satfinite]
    widest = [ins.a_from(SPACES[i % 2]) for i, ins in enumerate(ins for ins in plain if ins.n == 256)]
    assert compiles([kernel.source(ins) for ins in one_in(72, widest)], "sm_90a")
    rest = []
    for i, n in enumerate(sorted({ins.n for ins in plain})):
        forms = [ins for ins in plain if ins.n == n]
        rest.append(forms[i % len(forms)].a_from(SPACES[i % 2]))
    assert compiles([kernel.source(ins) for ins in one_in(24, rest)], "sm_90a")


TYPED = ["f16.f16.f16", "f32.bf16.bf16", "f32.tf32.tf32", "f32.e4m3.e5m2", "s32.s8.u8", "s32.b1.b1.and.popc"]
FORMS = [
    ins
    for name in TYPED
    for ins in WARPGROUP
    if ins.n == 64 and ins.mnemonic.endswith(f".{name}") and not ins.satfinite
]


def tiles(ins: Instruction, chosen: Modifiers) -> dict[str, Tile] | None:
    """The tiles of a kernel, or None where the swizzle does not fit."""
    transposed = {"A": chosen.imm_trans_a, "B": chosen.imm_trans_b}
    try:
        return {
            name: Tile.of(ins.operand(name), chosen.swizzle, trans)
            for name, trans in transposed.items()
            if ins.operand(name).space == "shared"
        }
    except PtxlabError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("ins", FORMS, ids=str)
def test_warpgroup_modifiers_and_swizzles_compile(ins: Instruction) -> None:
    forms = [(ins.a_from(space), swizzle) for space, swizzle in product(SPACES, SWIZZLES)]
    cases = [
        (form, replace(chosen, swizzle=swizzle))
        for form, swizzle in forms
        for chosen in modifiers(form)[FORMS.index(ins) % 2 :: 2 if swizzle == 128 else 4]
    ]
    legal = [case for case in cases if tiles(*case) is not None]
    assert compiles([kernel.source(*case) for case in one_in(36, legal, FORMS.index(ins))], "sm_90a")


@pytest.mark.parametrize("ins", FORMS, ids=str)
def test_tiles_are_filled_where_their_elements_belong(ins: Instruction) -> None:
    """The loops that fill shared memory, evaluated: every element goes where `Tile` has it."""
    form = ins.a_from("shared")
    for swizzle, plain in product(SWIZZLES, modifiers(form)):
        chosen = replace(plain, swizzle=swizzle)
        for name, tile in (tiles(form, chosen) or {}).items():
            loops = kernel.source(form, chosen).split("for (int j = ")
            (loop,) = [part for part in loops if f" {name}[i * " in part]
            names = {"j": np.arange(int(re.search(r"j < (\d+)", loop)[1])), "bit": 0}
            for variable in ("row", "k", "at"):
                expression = re.search(rf"\b{variable} = ([^,;]+)[,;]", loop)[1].replace("/", "//")
                names[variable] = eval(expression, {}, names)
            if exchange := re.search(r"at \^= (.+);", loop):
                names["at"] = names["at"] ^ eval(exchange[1], {}, names)
            row, k = names["row"], names["k"]
            elements = {*zip(row.tolist(), k.tolist(), strict=True)}
            assert len(elements) == len(row) == tile.rows * tile.k // max(8 // tile.bits, 1)
            np.testing.assert_array_equal(names["at"], tile.offset(row, k))
            read = eval(re.search(rf" {name}\[i \* \d+ \+ (.+?)\]", loop)[1], {}, names)
            np.testing.assert_array_equal(read, row * tile.k + k if name == "A" else k * tile.rows + row)


def test_a_swizzle_that_does_not_fit_is_refused() -> None:
    f16 = instruction("wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16")
    with pytest.raises(
        PtxlabError, match="24 elements along M or N: MN-major with a 32-byte swizzle takes multiples of 16"
    ):
        kernel.source(f16, Modifiers(imm_trans_b=1, swizzle=32))
    refuses("swizzle=64: mma.*takes only 0", kernel.source, WARP[0], Modifiers(swizzle=64))


#: PTX ISA, "wgmma.mma_async" and "wgmma.mma_async.sp", Syntax: what follows b-desc, for A in registers and
#: behind a descriptor.
TAILS = [
    ("sync.aligned.m64n8k16.f32.f16.f16", "scale_d, 1, 1, 0;", "scale_d, 1, 1, 0, 0;"),
    ("sync.aligned.m64n8k16.f32.bf16.bf16", "scale_d, 1, 1, 0;", "scale_d, 1, 1, 0, 0;"),
    ("sync.aligned.m64n8k8.f32.tf32.tf32", "scale_d, 1, 1;", "scale_d, 1, 1;"),
    ("sync.aligned.m64n8k32.f16.e4m3.e5m2", "scale_d, 1, 1;", "scale_d, 1, 1;"),
    ("sync.aligned.m64n8k32.s32.u8.s8", "scale_d;", "scale_d;"),
    ("sync.aligned.m64n8k256.s32.b1.b1.and.popc", "scale_d;", "scale_d;"),
    ("sp.sync.aligned.m64n8k32.f16.f16.f16", "%e, 0, scale_d, 1, 1, 0;", "%e, 0, scale_d, 1, 1, 0, 0;"),
    ("sp.sync.aligned.m64n8k16.f32.tf32.tf32", "%e, 0, scale_d, 1, 1;", "%e, 0, scale_d, 1, 1;"),
    ("sp.sync.aligned.m64n8k64.s32.s8.s8", "%e, 0, scale_d;", "%e, 0, scale_d;"),
]


@pytest.mark.parametrize(("name", "from_registers", "from_descriptor"), TAILS)
def test_operands_of_wgmma(name: str, from_registers: str, from_descriptor: str) -> None:
    ins = instruction(f"wgmma.mma_async.{name}")
    assert kernel.ptx_line(ins).endswith(f"%a3}}, %b_desc, {from_registers}")
    assert kernel.ptx_line(ins.a_from("shared")).endswith(f" %a_desc, %b_desc, {from_descriptor}")


def test_immediates_stand_in_the_isas_order() -> None:
    ins = instruction("wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16").a_from("shared")
    line = kernel.ptx_line(ins, Modifiers(selector=1, imm_scale_b=-1, imm_trans_a=1))
    assert line.endswith("%e, 1, scale_d, 1, -1, 1, 0;")
    refuses("imm_trans_a=1", kernel.ptx_line, ins.a_from("register"), Modifiers(imm_trans_a=1))


def test_f64_has_registers_of_64_bits() -> None:
    source = instruction("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64").kernel
    for name in ("const {}* A", "const {}* B", "{}* D", "{} d[2]"):
        assert name.format("unsigned long long") in source
    assert '"=l"(d[0])' in source and '"l"(a[0])' in source and '"r"' not in source


M16N8K64 = "mma.sync.aligned.m16n8k64.row.col"
LACKING = [
    (f"{M16N8K64}.s32.s4.s4.s32", "sm_75"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "sm_75"),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "sm_75"),
    ("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "sm_75"),
    ("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3", "sm_90"),
    ("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3", "sm_100a"),
    (f"{M16N8K64}.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "sm_90a"),
    (f"{M16N8K64}.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "sm_100a"),
]


@pytest.mark.parametrize(("name", "target"), LACKING)
def test_other_targets_refuse(name: str, target: str) -> None:
    ins = instruction(name)
    assert not ins.supports(target)
    refuses(f"does not compile this for {target}", gpu.compile, ins.kernel, target, cache=False)


@each("ins", [ins for ins in mma_instructions() if ins.n <= 16], ids=str)
@pytest.mark.slow
def test_source_holds_the_instruction_once(ins: Instruction) -> None:
    asm = re.findall(rf'"({re.escape(ins.mnemonic)} [^"]*;)', ins.kernel)
    assert len(asm) == 1
    operands = asm[0].removeprefix(ins.mnemonic)
    assert operands.count("{") == ins.ptx.removeprefix(ins.mnemonic).count("{")
    for operand in ins.inputs.values():
        assert f"* {operand.name}," in ins.kernel


def test_selector_is_part_of_the_source() -> None:
    ins = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    assert kernel.ptx_line(ins, Modifiers(selector=1)).endswith("%e, 1;")
    refuses("selector=2.*takes 0, 1", kernel.source, ins, Modifiers(selector=2))


# -- the cache --------------------------------------------------------------------------------


SOURCE = 'extern "C" __global__ void nothing(int* p) { *p = 1; }'


def test_cache_is_used_and_a_damaged_entry_is_not_trusted(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = []
    real = compiler._run_nvrtc
    monkeypatch.setattr(compiler, "_run_nvrtc", lambda *args: compiled.append(args) or real(*args))
    first = gpu.compile(SOURCE, "sm_80")
    assert gpu.compile(SOURCE, "sm_80") == first
    assert len(compiled) == 1
    (entry,) = cache.iterdir()
    content = entry.read_bytes()
    for damage in (content[:-1], b"", b"junk" + content[4:], content[:-1] + b"?"):
        entry.write_bytes(damage)
        assert gpu.compile(SOURCE, "sm_80") == first
    assert len(compiled) == 5
    gpu.compile(SOURCE, "sm_90")
    assert len(compiled) == 6
    assert len(list(cache.iterdir())) == 2


def test_cache_on_a_disk_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path / "file" / "below"))
    assert gpu.compile(SOURCE, "sm_80").startswith(b"\x7fELF")


def test_compile_errors_carry_the_compilers_log() -> None:
    with pytest.raises(PtxlabError, match=r"sm_80: .*error.*nonsense") as caught:
        gpu.compile('extern "C" __global__ void k() { nonsense; }', "sm_80", cache=False)
    assert len(str(caught.value).splitlines()) == 1
    assert "1 error detected in the compilation" in caught.value.__notes__[0]
    refuses("unknown target 'sm_99'", gpu.compile, SOURCE, "sm_99")


def test_status_without_a_gpu() -> None:
    if gpu.available():
        pytest.skip("a GPU is there")
    ins = instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    sentence = gpu.status(ins)
    assert "\n" not in sentence
    assert "emulator" in sentence
    zeros = [np.zeros((32, operand.registers), dtype=np.uint32) for operand in (ins.a, ins.b, ins.c)]
    refuses("emulator", ins.run, *zeros)
