"""Every kernel compiles for every target that has its instruction, and for no other; the cache keeps what it was given."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ptxlab import TARGETS, Instruction, PtxlabError, catalog, gpu, instruction, kernel
from ptxlab.instruction import Modifiers

WARP = [ins for ins in catalog() if ins.lanes == 32]
WARPGROUP = [ins for ins in catalog() if ins.lanes == 128]


def modifiers(ins: Instruction) -> list[Modifiers]:
    """Every combination of the modifiers that are part of the source."""
    names = [name for name, legal in ins.modifiers.items() if len(legal) > 1 and name != "scale_d"]
    return [Modifiers(**dict(zip(names, chosen, strict=True))) for chosen in product(*(ins.modifiers[name] for name in names))]


def together(kernels: list[str]) -> str:
    """Many kernels as one source: the compiler is started once for all."""
    return "\n".join(source.replace(kernel.NAME, f"{kernel.NAME}_{i}") for i, source in enumerate(kernels))


@pytest.mark.parametrize("target", TARGETS)
def test_warp_kernels_compile(target: str) -> None:
    kernels = [kernel.source(ins, chosen) for ins in WARP if ins.supports(target) for chosen in modifiers(ins)]
    assert gpu.compile(together(kernels), target, cache=False).startswith(b"\x7fELF")


@pytest.mark.parametrize("n", sorted({ins.n for ins in WARPGROUP}))
def test_warpgroup_kernels_compile(n: int) -> None:
    forms = [ins.a_from(space) for ins in WARPGROUP if ins.n == n for space in ("register", "shared")]
    assert gpu.compile(together([kernel.source(ins) for ins in forms]), "sm_90a", cache=False).startswith(b"\x7fELF")


@pytest.mark.parametrize("name", ["f32.e4m3.e5m2", "f16.e5m2.e5m2", "satfinite.s32.s8.u8"])
def test_warpgroup_modifiers_and_swizzles_compile(name: str) -> None:
    ins = instruction(f"wgmma.mma_async.sp.sync.aligned.m64n24k64.{name}")
    kernels = [
        kernel.source(ins.a_from(space), chosen, swizzle) for space in ("register", "shared") for chosen in modifiers(ins) for swizzle in (0, 64, 128)
    ]
    gpu.compile(together(kernels), "sm_90a", cache=False)


LACKING = [
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "sm_75"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "sm_75"),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "sm_75"),
    ("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "sm_75"),
    ("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3", "sm_90"),
    ("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3", "sm_100a"),
    ("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "sm_90a"),
    ("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "sm_100a"),
]


@pytest.mark.parametrize(("name", "target"), LACKING)
def test_other_targets_refuse(name: str, target: str) -> None:
    ins = instruction(name)
    assert not ins.supports(target)
    with pytest.raises(PtxlabError, match=f"does not compile this for {target}"):
        gpu.compile(ins.kernel, target, cache=False)


@pytest.mark.parametrize("ins", [ins for ins in catalog() if ins.n <= 16], ids=str)
def test_source_holds_the_instruction_once(ins: Instruction) -> None:
    asm = re.findall(rf'"({re.escape(ins.mnemonic)} [^"]*;)', ins.kernel)
    assert len(asm) == 1
    operands = asm[0].removeprefix(ins.mnemonic)
    assert operands.count("{") == ins.ptx.removeprefix(ins.mnemonic).count("{")
    for operand in kernel.inputs(ins):
        assert f"* {operand.name}," in ins.kernel


def test_selector_is_part_of_the_source() -> None:
    ins = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    assert kernel.ptx_line(ins, Modifiers(selector=1)).endswith("%e, 1;")
    with pytest.raises(PtxlabError, match="selector=2.*takes 0, 1"):
        kernel.source(ins, Modifiers(selector=2))


# -- the cache ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


SOURCE = 'extern "C" __global__ void nothing(int* p) { *p = 1; }'


def test_cache_is_used_and_a_damaged_entry_is_not_trusted(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    real = gpu._nvrtc
    monkeypatch.setattr(gpu, "_nvrtc", lambda *args: compiled.append(args) or real(*args))
    first = gpu.compile(SOURCE, "sm_80")
    assert gpu.compile(SOURCE, "sm_80") == first
    assert len(compiled) == 1
    (entry,) = cache.iterdir()
    for damage in (entry.read_bytes()[:-1], b"", b"junk" + entry.read_bytes()[4:], entry.read_bytes()[:-1] + b"?"):
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
    with pytest.raises(PtxlabError, match=r"sm_80:\n.*error.*nonsense"):
        gpu.compile('extern "C" __global__ void k() { nonsense; }', "sm_80", cache=False)
    with pytest.raises(PtxlabError, match="unknown target 'sm_99'"):
        gpu.compile(SOURCE, "sm_99")


def test_status_without_a_gpu() -> None:
    if gpu.available():
        pytest.skip("a GPU is there")
    ins = instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    said = gpu.status(ins)
    assert "\n" not in said
    assert "emulator" in said
    zeros = [np.zeros((32, operand.registers), dtype=np.uint32) for operand in (ins.a, ins.b, ins.c)]
    with pytest.raises(PtxlabError, match="emulator"):
        ins.run(*zeros)
