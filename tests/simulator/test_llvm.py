"""LLVM IR to PTX: the results are those of Clang's own back end, bit for bit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ptxlab
from ptxlab.simulator.llvm import ptx_from_llvm

from .llvm_pairs import differs, recorded, run


@pytest.mark.parametrize("name", recorded())
def test_recorded_programs(name: str) -> None:
    ir, ptx = recorded()[name]
    mine, _ = run(name, ptx_from_llvm(ir, "sm_90a"))
    clangs, _ = run(name, ptx)
    assert mine == clangs


@pytest.mark.needs("ziglang")
@pytest.mark.parametrize("seed", range(1000, 1004))
def test_random_programs(seed: int) -> None:
    assert not differs(seed)


def _body(ir: str) -> str:
    """The PTX of a kernel, without its declarations."""
    return ptx_from_llvm(ir, "sm_90a").rpartition(".reg")[2]


def test_phis_are_copied_at_once() -> None:
    """Two numbers that change places in a loop."""
    ir = """
define ptx_kernel void @swap(ptr %out, i32 %n) {
entry:
  br label %loop
loop:
  %a = phi i32 [ 1, %entry ], [ %b, %loop ]
  %b = phi i32 [ 2, %entry ], [ %a, %loop ]
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  store i32 %a, ptr %out
  %second = getelementptr i32, ptr %out, i64 1
  store i32 %b, ptr %second
  ret void
}"""
    kernel = ptxlab.kernel(ptx_from_llvm(ir, "sm_90a"))
    for count, expected in ((1, [1, 2]), (2, [2, 1]), (3, [1, 2])):
        out = np.zeros(2, np.int32)
        kernel.simulate(1, 1, out, np.int32(count))
        assert out.tolist() == expected


def test_a_phi_that_is_needed_after_the_loop_keeps_its_value() -> None:
    ir = """
define ptx_kernel void @last(ptr %out, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 3
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  store i32 %i, ptr %out
  ret void
}"""
    out = np.zeros(1, np.int32)
    ptxlab.kernel(ptx_from_llvm(ir, "sm_90a")).simulate(1, 1, out, np.int32(10))
    assert out.tolist() == [9]


def test_accumulators_stay_in_their_registers() -> None:
    """Between two wgmma nothing may touch their accumulators, so a tied operand of asm is not copied."""
    asm = 'asm sideeffect "wgmma $0, $1", "=f,=f,0,1"'
    ir = f"""
define ptx_kernel void @k(ptr %out, i32 %n) {{
entry:
  %first = load float, ptr %out
  %address = getelementptr float, ptr %out, i64 1
  %second = load float, ptr %address
  br label %loop
loop:
  %x = phi float [ %first, %entry ], [ %x2, %loop ]
  %y = phi float [ %second, %entry ], [ %y2, %loop ]
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %r = call {{ float, float }} {asm}(float %x, float %y)
  %x1 = extractvalue {{ float, float }} %r, 0
  %y1 = extractvalue {{ float, float }} %r, 1
  %s = call {{ float, float }} {asm}(float %x1, float %y1)
  %x2 = extractvalue {{ float, float }} %s, 0
  %y2 = extractvalue {{ float, float }} %s, 1
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  store float %x2, ptr %out
  store float %y2, ptr %address
  ret void
}}"""
    body = _body(ir)
    assert "mov.f32" not in body
    assert len(set(re.findall(r"wgmma (%f\d+), (%f\d+)", body))) == 1


def test_products_are_fused_as_by_clang() -> None:
    """Only where both are marked `contract`, and in one block."""
    ir = """
define ptx_kernel void @k(float %a, float %b, float %c, ptr %out) {
  %p = fmul contract float %a, %b
  %s = fadd contract float %p, %c
  %q = fmul float %a, %b
  %t = fadd contract float %q, %c
  %d = fsub contract float %c, %p
  store float %s, ptr %out
  %o1 = getelementptr float, ptr %out, i64 1
  store float %t, ptr %o1
  %o2 = getelementptr float, ptr %out, i64 2
  store float %d, ptr %o2
  ret void
}"""
    opcodes = re.findall(r"^\t((?:fma|mul|add|neg|sub)\.\S+)", _body(ir), re.MULTILINE)
    assert opcodes == ["fma.rn.f32", "mul.rn.f32", "add.f32", "neg.f32", "fma.rn.f32"]


@pytest.mark.parametrize(
    ("sums", "expected"),
    [
        ("%s = fsub contract float %p, %q", "mul neg fma"),
        ("%s = fsub contract float %p, %q\n%r = fsub contract float %c, %p", "mul neg fma neg fma"),
        ("%r = fadd contract float %c, %p\n%s = fadd contract float %p, %q", "mul fma fma"),
        ("%s = fadd contract float %p, %p", "mul fma"),
        ("%s = fadd contract float %p, %p\n%r = fmul contract float %p, %c", "mul add mul"),
    ],
)
def test_which_product_is_fused(sums: str, expected: str) -> None:
    """The one with fewer uses; the expected instructions are those that Clang 22.1.8 writes."""
    stores = "\n".join(
        f"store volatile float %{name}, ptr %out" for name in ("r", "s") if f"%{name} =" in sums
    )
    ir = f"""
define ptx_kernel void @k(float %a, float %b, float %c, float %d, ptr %out) {{
  %p = fmul contract float %a, %b
  %q = fmul contract float %c, %d
  {sums}
  {stores}
  ret void
}}"""
    opcodes = re.findall(r"^\t(fma|mul|add|neg|sub)\.", _body(ir), re.MULTILINE)
    assert sorted(opcodes) == sorted(expected.split())


def test_hazards_name_the_line_of_the_source() -> None:
    """Inlined code has the line of the call, and where it was written."""
    ir, ptx = recorded()["language"]
    lines = []
    for text in (ptx_from_llvm(ir, "sm_90a"), ptx):
        _, result = run("language", text, check=True)
        lines.append({(hazard.kind, hazard.line) for hazard in result.hazards})
    assert lines[0] == lines[1] != set()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("call void @llvm.nvvm.unheard.of(i32 1)", "the intrinsic llvm.nvvm.unheard.of"),
        ("%x = alloca i32, i32 %n, align 4", "an array of variable size"),
        ('call void asm sideeffect "nop $0;", "x"(i32 %n)', "an operand of asm with the constraint x"),
        ('call void asm sideeffect "nop $0;", "q"(i32 %n)', "an operand of asm with the constraint q"),
        ("%x = atomicrmw add ptr null, i32 1 seq_cst, align 4", "atomicrmw is"),
        ('%x = cmpxchg ptr null, i32 0, i32 1 syncscope("block") acquire monotonic, align 4', "cmpxchg is"),
        ("fence acq_rel", "fence is"),
        ("%x = load atomic i32, ptr null monotonic, align 4", "an atomic load is"),
        ("store atomic i32 1, ptr null release, align 4", "an atomic store is"),
        ("%x = call float @llvm.sin.f32(float 1.0)", "the intrinsic llvm.sin.f32"),
        ("%x = call i128 @llvm.ctpop.i128(i128 7)", "the intrinsic llvm.ctpop.i128"),
        ("%x = frem float 1.0, 2.0", "frem is"),
    ],
)
def test_what_is_not_translated_is_refused_with_the_line(line: str, message: str) -> None:
    ir = f"""
define ptx_kernel void @k(i32 %n) !dbg !4 {{
  {line}, !dbg !5
  ret void
}}
!1 = !DIFile(filename: "kernel.cu", directory: "/src")
!4 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 3)
!5 = !DILocation(line: 7, column: 3, scope: !4)
"""
    with pytest.raises(ptxlab.PtxlabError, match=rf"kernel\.cu, line 7: {re.escape(message)}"):
        ptx_from_llvm(ir, "sm_90a")


def test_a_refusal_says_what_to_write_instead() -> None:
    ir = """
define ptx_kernel void @k(ptr %p) {
  %x = atomicrmw add ptr %p, i32 1 monotonic
  ret void
}"""
    with pytest.raises(ptxlab.PtxlabError, match="to PTX: use CUDA's functions: atomicAdd and kin, "):
        ptx_from_llvm(ir, "sm_90a")


def test_bounds_of_a_launch() -> None:
    ir = """
define ptx_kernel void @k() #0 {
  ret void
}
attributes #0 = { convergent "nvvm.maxntid"="128" "nvvm.minctasm"="2" "nvvm.cluster_dim"="2,1,1" }
"""
    kernel = ptxlab.kernel(ptx_from_llvm(ir, "sm_90a"))
    assert kernel.cluster == (2, 1, 1)
    assert ".maxntid 128" in kernel.ptx
    assert ".minnctapersm 2" in kernel.ptx
