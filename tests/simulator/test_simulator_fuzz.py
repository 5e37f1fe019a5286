"""Damaged kernels run, or are refused in one sentence.

A few seconds of the seeded fuzz run here; for more:

    PTXLAB_FUZZ=20000 pytest tests/simulator/test_simulator_fuzz.py
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np

import ptxlab
from ptxlab import PtxlabError
from tests.contract.mutations import Call, attempt, damaged

from .bare_ptx import ptx

COUNT = int(os.environ.get("PTXLAB_FUZZ", "300"))

_WHOLE = {
    "words": ptx(
        "mov.u32 %r1, %tid.x; ld.param.u64 %d1, [a]; cvta.to.global.u64 %d1, %d1; mul.wide.u32 %d2, %r1, 4;\n"
        "add.s64 %d3, %d1, %d2; ld.global.u32 %r2, [%d3]; setp.lt.and.u32 %p1|%p2, %r2, 7, !%p3;\n"
        "@%p1 bra L; shl.b32 %r3, %r2, 3; lop3.b32 %r4, %r2, %r3, 5, 0xE8; bra M;\n"
        "L: shfl.sync.bfly.b32 %r3|%p1, %r2, 1, 0x1f, -1; vote.sync.ballot.b32 %r4, %p1, -1;\n"
        "M: atom.global.add.u32 %r5, [%d1+64], %r4; red.global.max.s32 [%d1], -5; cvt.rn.f32.u32 %f1, %r5;\n"
        "fma.rn.f32 %f2, %f1, 0f3F800000, 1.5; st.global.v2.f32 [%d1+32], {%f1, %f2}; bar.sync 0, 32;"
    ),
    "copies": ptx(
        ".shared .align 128 .b8 s[2048]; .shared .align 8 .b64 m; mov.u32 %r1, s; mov.u32 %r2, m;\n"
        "ld.param.u64 %d1, [a]; mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; @%p1 bra W;\n"
        "mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared.b64 %d2, [%r2], 64;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], 64, [%r2];\n"
        "W: bar.sync 0; L: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra L;\n"
        "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1+16]; cp.async.ca.shared.global [%r1+64], [%d1], 16;\n"
        "cp.async.commit_group; cp.async.wait_group 0; fence.proxy.async; st.shared.b32 [%r1], %r4;"
    ),
    "matrices": ptx(
        ".shared .align 128 .b8 s[32768]; mov.u32 %r1, s; ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
        "{%r2,%r3,%r4,%r5}, [%r1];\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, "
        "{%r2,%r3,%r4,%r5}, {%r6,%r7}, {%f1,%f2,%f3,%f4};\nmov.u64 %d1, 0x4000004000010040;\n"
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, "
        "%d1, %d1, 1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    ),
    "calls": ptx(
        "ld.param.u64 %d1, [a]; { .param .b32 p; .param .b32 q; st.param.b32 [p], 3; call.uni (q), f, (p);\n"
        "ld.param.b32 %r1, [q]; } .local .align 8 .b8 x[16]; st.local.u32 [x+4], %r1;\n"
        "ld.const.u32 %r2, [c]; mov.u64 %d2, t; ld.global.u64 %d3, [%d2]; st.global.u32 [%d3], %r2;\n"
        "t0: .branchtargets A, B; brx.idx %r3, t0; A: B: st.global.u32 [%d1], %r2;",
        before=".const .align 4 .u32 c[2] = {1 + 2 * 3, 0xFF};\n.global .u64 t[1] = {g};\n.global .u32 g;\n"
        ".func (.param .b32 r) f (.param .b32 n) { .reg .b32 %r<3>; ld.param.b32 %r1, [n];\n"
        "mad.lo.s32 %r2, %r1, %r1, -1; st.param.b32 [r], %r2; ret; }\n",
    ),
}
_ODD = (
    *("", ";", "{", "}", "(", ")", "[", "]", ",", "|", "!", "@", "-", "_", "0", "1", "-1", "-16", "7", "0x"),
    *("4294967295", "99999999999999999999", "0f7FC00000", "1e400", "%p1", "%r99", "%tid.x", "%nsmid", "%f1"),
    *("%d1", "%r1|%p1", "{%r1, %r2}", "[%d1]", "[%r1+-8]", "[a]", "s", "f", "c", "c[9]", "!%p1", "_|%p1"),
    *('"text"', "/*", "//", "\0", "\N{GREEK SMALL LETTER ALPHA}", ".b8", ".f64", ".pred", ".v4", ".align"),
    *(".reg", "ret", "call", "trap", "WARP_SZ"),
)  # fmt: skip


def _run_mutant(text: str) -> None:
    kernel = ptxlab.kernel(text, "k")
    memory = np.zeros(512, np.uint64)
    values: list[Any] = [memory if kind in ("u64", "b64", "s64") else 1 for kind in kernel.parameters]
    try:
        kernel.simulate(1, 128, *values, limit=2000, show=False)
    except PtxlabError as error:
        if "the simulator fails at it" in str(error):  # the net below; the sentence belongs where it is wrong
            raise AssertionError(str(error)) from error.__cause__
        raise


def test_whole_kernels_run() -> None:
    for text in _WHOLE.values():
        _run_mutant(text)


def test_damaged_kernels_run_or_are_refused() -> None:
    choice = random.Random(35)
    names = list(_WHOLE)
    failures = []
    for number in range(COUNT):
        name = choice.choice(names)
        text = damaged(_WHOLE[name], choice, _ODD)
        call = Call(f"{name} {number}", lambda text=text: (_run_mutant, {"text": text}))
        if "\n.version" in f"\n{text}":  # others are CUDA C++
            failures.append(attempt(call, "text", "mutant", lambda text=text: text))
    assert [str(failure) for failure in failures if failure] == []
