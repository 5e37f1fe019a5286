"""The machine code of instructions: how a listing is read, and what CUDA 13.0 makes of each form."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gpu, wmma
from ptxlab.cli import main
from ptxlab.gpu import codegen, compiler, device, sass
from ptxlab.instruction import register_instructions
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.parse import parse
from ptxlab.isa.targets import newest_of_cuda
from tests.cases import refusal, refuses
from tests.sampling import one_in, some
from tests.texts import replaced

S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"

LISTING = """\
	.section	.text.ptxlab_sass,"ax",@progbits
.text.ptxlab_sass:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R2, SR_TID.X ;
        /*0020*/                   LEA R2, P0, R2, UR4, 0x3 ;
        /*0030*/                   LDG.E R8, desc[UR4][R2.64] ;
        /*0040*/                   CALL.REL.NOINC `($helper) ;
        /*0050*/                   STG.E desc[UR4][R2.64], R8 ;
        /*0060*/                   EXIT ;
$helper:
        /*0070*/                   IMAD.MOV.U32 R9, RZ, RZ, R8 ;
        /*0080*/                   HFMA2.MMA R3, -RZ, RZ, 0, 0 ;
        /*0090*/              @!P0 LOP3.LUT R5, R9, 0xf00, RZ, 0xc0, !PT ;
        /*00a0*/                   IMMA.16832.S8.S8 R8, R8.ROW, R9.COL, RZ ;
        /*00b0*/                   @!UPT UIADD3 URZ, URZ, URZ, URZ ;
        /*00c0*/                   IMMA.16832.S8.S8 R8, R8.ROW, R9.COL, R8 ;
        /*00d0*/                   HFMA2.MMA R3, R4, R5, R6 ;
        /*00e0*/                   RET.REL.NODEC R2 `(ptxlab_sass) ;
.L_x_0:
        /*00f0*/                   BRA `(.L_x_0);
        /*0100*/                   NOP;
        /*0110*/                   NOP;
.L_x_1:
"""


def test_a_listing_is_counted() -> None:
    """Loads, moves, addresses before the first load, fillers and the padding after the end do not compute."""
    code = sass.counts_of_listing(LISTING, "sm_90a")
    assert code.tensor == {"IMMA.16832.S8.S8": 2}
    assert code.arithmetic == {"LOP3.LUT": 1, "HFMA2.MMA": 1}
    assert code.rest == 12
    assert not code.native
    assert code.listing.splitlines()[-1].endswith("RET.REL.NODEC R2 `(ptxlab_sass) ;")
    assert str(code) == "emulated: 2 IMMA.16832.S8.S8, 2 around them (1 LOP3, 1 HFMA2)"
    refuses("no kernel other", sass.counts_of_listing, LISTING, "sm_90a", "other")


GAP = """\
.text.ptxlab_sass:
        /*0000*/                   LDC.64 R2, c[0x0][0x380] ;
        /*0010*/                   UMOV UR4, UR4 ;
        /*0030*/                   STG.E desc[UR4][R2.64], R4 ;
        /*0040*/                   EXIT ;
.L_x_0:
        /*0050*/                   BRA `(.L_x_0);
        /*0060*/                   NOP;
        /*0070*/                   NOP;
.L_x_1:
"""


def test_an_instruction_that_nvdisasm_does_not_print_is_seen() -> None:
    """nvdisasm 13.4 has no line for ldmatrix .s8.s4: the addresses jump over it."""
    code = sass.counts_of_listing(GAP, "sm_90a", transfer=True)
    assert (code.unprinted, code.tensor, code.native, code.how) == (1, {}, True, "native")
    assert str(code) == "native: 1 instruction that nvdisasm does not print"
    assert code.listing.splitlines()[2] == "  /*0020*/  (an instruction that nvdisasm does not print)"
    assert sass.counts_of_listing(replaced(GAP, "0030", "0050"), "sm_90a", transfer=True).unprinted == 3
    assert sass.counts_of_listing(LISTING, "sm_90a").unprinted == 0


def test_a_compiler_that_is_too_old_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "compiler_version", lambda: (13, 0))
    load = ptxlab.instruction("ldmatrix.sync.aligned.m8n16.x4.s8.s4")
    sentence = (
        f"{load.mnemonic} for sm_90a needs PTX ISA 9.4 (CUDA 13.4); the installed NVRTC is that of "
        'CUDA 13.0: pip install "nvidia-cuda-nvrtc>=13.4,<14"'
    )
    assert refusal(sass.sass, load, "sm_90a") == sentence
    refuses(r"^sm_107a needs PTX ISA 9\.4 \(CUDA 13\.4\); the installed NVRTC", gpu.compile, "", "sm_107a")
    monkeypatch.setattr(compiler, "compiler_version", lambda: (12, 2))
    refuses(r'"nvidia-cuda-nvrtc-cu12>=12\.7,<13"$', gpu.compile, "", "sm_100a")
    monkeypatch.setattr(compiler, "compiler_version", lambda: (13, 0))
    monkeypatch.setattr(device, "_first_gpu", lambda: device.Gpu("NVIDIA H200", "sm_90a"))
    assert gpu.status(load) == sentence
    assert gpu.available() and not gpu.available(load)
    assert refusal(load.run, np.zeros(1024, dtype=np.uint8), load.addresses()) == sentence
    monkeypatch.setattr(compiler, "compiler_version", lambda: (13, 5))
    assert gpu.available(load)


STATEMENTS = {
    S4: [
        '"=r"(d[3])',
        '"r"(a[3])',
        '"r"(b[1])',
        '"r"(c[3])',
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};",
    ],
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": ['"=f"(d[3])', '"r"(a[3])', '"f"(c[3])'],
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64": ['"=d"(d[1])', '"d"(a[0])', '"d"(b[0])', '"d"(c[1])'],
    "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16": ['"=r"(d[1])', '"r"(e)', "%8, 0;"],
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16": [
        '"+f"(d[3])',
        '"l"(b_desc)',
        "setp.ne.b32 scale_d, %9, 0;",
        '"r"(1)',
        "wgmma.wait_group",
    ],
    "ldmatrix.sync.aligned.m8n8.x2.b16": ['"=r"(r[1])', '"l"(p)', ': "memory"'],
    "stmatrix.sync.aligned.m8n8.x2.b16": [":\n", "[%0], {%1, %2};", '"l"(p)', '"r"(r[1])'],
    "wmma.store.d.sync.aligned.row.m16n16k16.f32": ['"l"(p)', '"f"(d[7])', '"r"(stride)'],
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_constraints_are_those_of_the_types(name: str) -> None:
    text = codegen.statement(ptxlab.instruction(name))
    for part in STATEMENTS[name]:
        assert part in text


def test_declarations_name_what_the_statement_uses() -> None:
    assert codegen.declarations(parse("mma.m16n8k16.f32.f16")) == "float d[4], c[4]; unsigned int a[4], b[2];"
    assert (
        codegen.declarations(parse("wgmma.m64n8k16.f32.f16"))
        == "float d[4]; unsigned int a[4]; unsigned long long b_desc;"
    )


def test_modifiers_are_constants_of_the_statement() -> None:
    ins = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
    text = codegen.statement(ins, Modifiers(scale_d=False, imm_scale_a=-1))
    assert "scale_d, -1, 1, 0; }" in text
    assert '"r"(0)' in text


def test_a_target_that_lacks_it_is_refused() -> None:
    refuses("sm_75 lacks .*targets that have it: sm_80", sass.sass, ptxlab.instruction(S4), "sm_75")
    refuses("unknown target 'sm_7'", sass.sass, ptxlab.instruction(S4), "sm_7")
    refuses("selector=5", sass.sass, parse("mma.sp.m16n8k64.s4"), "sm_80", Modifiers(selector=5))


def test_without_a_disassembler_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    monkeypatch.setattr(sass.shutil, "which", lambda name: None)
    sass.nvdisasm.cache_clear()
    try:
        refuses("nvdisasm.*is not installed: pip install", gpu.disassemble, b"no cubin")
    finally:
        sass.nvdisasm.cache_clear()


# -- the compiler as witness --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> None:
    try:
        version = gpu.compiler_version()
        sass.nvdisasm()
    except PtxlabError as error:
        pytest.skip(str(error))
    if version != (13, 0):
        pytest.skip(f"what is expected here is CUDA 13.0's, found {version[0]}.{version[1]}")


@pytest.fixture(scope="module")
def read(
    tools: None, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[list[Any], str], list[sass.Sass]]:
    """Many instructions for one target, in one compilation and one disassembly."""

    def many(rows: list[Any], target: str) -> list[sass.Sass]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PTXLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
            return list(sass.survey(rows, target))

    return many


@pytest.mark.slow
@pytest.mark.parametrize("target", some(["sm_100a", "sm_80", "sm_90a"]))  # test_wmma.py has sm_90a
def test_sub_byte_wmma_is_as_its_table_tells(target: str, read: Any) -> None:
    rows = [ins for ins in ptxlab.catalog("wmma", target) if ins.a_type in ("s4", "u4", "b1")]
    for ins, code in zip(rows, read(rows, target), strict=True):
        stated = wmma.machine_code(ins, target)
        assert (code.tensor, code.native) == ({stated.opcode: stated.count}, stated.native), ins.mnemonic


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
def test_every_kind_of_row_compiles_as_a_statement(target: str, read: Any) -> None:
    """One row for each family, shape and set of types; of wgmma the smallest N."""
    kinds: dict[Any, Any] = {}
    newest = newest_of_cuda(gpu.compiler_version())
    for ins in register_instructions(target=target):
        if ins.ptx_version > newest:
            continue
        if not isinstance(ins, ptxlab.Instruction):
            kinds.setdefault((ins.family, ins.type, ins.matrix, ins.source), ins)
        elif ins.lanes == 32 or ins.n == 8:
            kinds.setdefault(
                (ins.family, ins.shape, ins.a.dtype, ins.d_type, ins.kind, ins.scale_vec, ins.bit_op), ins
            )
    rows = one_in(12, list(kinds.values()))
    codes = read(rows, target)
    assert {"native", "emulated"} < {code.how for code in codes} <= {"native", "split", "emulated", "plain"}
    asynchronous = [code for ins, code in zip(rows, codes, strict=True) if ins.family.startswith("wgmma")]
    assert all(code.native for code in asynchronous)
    scaled = [code for ins, code in zip(rows, codes, strict=True) if getattr(ins, "kind", None)]
    assert all(code.native for code in scaled)


@pytest.mark.slow
def test_a_survey_says_what_each_says_alone(
    tools: None, read: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Kernels that call a helper share a module here; each still has its own."""
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    rows = [parse(name) for name in some(("mma.m8n8k32.s4", "mma.m8n8k32.u4", "stmatrix.m8n8.x2.b16"), 2)]
    together = list(sass.survey(iter(rows), "sm_90a", at_a_time=2))
    assert [(code.tensor, code.arithmetic, code.rest) for code in together] == [
        (code.tensor, code.arithmetic, code.rest) for code in map(sass.sass, rows)
    ]
    assert {code.target for code in together} == {"sm_90a"}
    refuses("sm_75 lacks", list, sass.survey([parse("stmatrix.m8n8.x2.b16")], "sm_75"))


@pytest.mark.slow
def test_the_listing_is_kept(tools: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    first = sass.sass(ptxlab.instruction(S4), "sm_80")
    monkeypatch.setattr(sass.subprocess, "run", lambda *words, **options: pytest.fail("disassembled again"))
    assert sass.sass(ptxlab.instruction(S4), "sm_80") == first
    assert first.native and "IMMA.16864.S4.S4 R" in first.listing


def test_nonsense_is_no_machine_code(tools: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    refuses("nvdisasm does not read this machine code", gpu.disassemble, b"nonsense")


@pytest.mark.slow
def test_the_command(tools: None, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> str:
        assert main(words) == 0
        return capsys.readouterr().out

    text = printed("sass", "mma.m16n8k64.s4", "--target", "sm_80")
    assert text.splitlines()[:2] == [f"{S4} for sm_80", "  native: 1 IMMA.16864.S4.S4"]
    assert "IMMA.16864.S4.S4 R" in text
    answer = json.loads(printed("sass", "mma.m16n8k64.s4", "--target", "sm_80", "--json"))
    assert (answer["targets"][0]["tensor"], answer["targets"][0]["native"]) == ({"IMMA.16864.S4.S4": 1}, True)
    lines = printed("sass", "mma.m16n8k32.f32.e4m3", "--all").splitlines()
    runs = ["sm_89 native:", "sm_90a emulated:", "sm_100a emulated:", "sm_120a native:"]
    assert [" ".join(line.split()[:2]) for line in lines[1:]] == runs
    shown = printed("show", "mma.m16n8k64.s4", "--target", "sm_80")
    assert "chip runs   sm_80, native: 1 IMMA.16864.S4.S4" in shown


def test_the_module_needs_no_cuda() -> None:
    script = (
        "import sys, ptxlab.gpu.sass; assert not any(name.split('.')[0] == 'cuda' for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
