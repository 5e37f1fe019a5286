"""`ptxlab.repack`: a plan from one operand's registers to another's, with its CUDA C++."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ..isa.repack import RepackPlan, Tiles, plan_repack
from ..numerics.repack import PlanRun
from .codegen.repack import repack_source


@dataclass(frozen=True, eq=False, repr=False)
class Repack(RepackPlan):
    """How registers of one operand become those of another; `repack(source, target)` makes it.

    Call it with registers [..., lanes, registers], or read `steps`, or compile `source`.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> plan = ptxlab.repack([ins.d, ins.d], ins.a)
    >>> S = np.arange(256.0).reshape(16, 16)
    >>> registers = plan(ins.d.pack(S[:, :8]), ins.d.pack(S[:, 8:]))
    >>> bool((ins.a.unpack(registers) == S).all()), plan.moved, plan.counts
    (True, 0, {'convert': 4})
    """

    def __call__(self, *registers: ArrayLike) -> NDArray[Any]:
        """Registers of the source [..., lanes, registers] -> those of the target.

        Of several tiles: one array for each, or one with their registers one after another. The result
        has the registers of all target tiles one after another.
        """
        words = self.words(registers)
        result = self._run(words.reshape(-1, words.shape[-2] * words.shape[-1]))
        registers_of_lane = result.reshape(*words.shape[:-1], result.shape[-1] // words.shape[-2])
        return registers_of_lane.view(self.target_side.operand.register_type)

    @cached_property
    def _run(self) -> PlanRun:
        return PlanRun(self)

    @property
    def source(self) -> str:
        """A CUDA C++ device function `repack(in, out)`; registers are `unsigned`, f64 takes two each.

        All lanes of the warp call it together. Conversions to e4m3 and e5m2 need sm_89, those to e2m1, e2m3
        and e3m2 sm_100a, sm_120a or their families, the others sm_80.
        """
        return repack_source(self)


def repack(source: Tiles, target: Tiles) -> Repack:
    """The plan that makes the registers of one operand from those of another, in as few steps as it finds.

    Several tiles are arranged as `np.block` has them: `[d, d]`, two 16x8 accumulators side by side, is one
    16x16 A; `[[d], [d]]` has one below the other. For R of ldmatrix and stmatrix, rows of memory run along K
    (N for C and D), with `.trans` along M or N; its matrices follow each other along M or N first, then
    along K.

    Types are converted as `cvt` does it: to nearest even; integers and floats of 8 bits and fewer saturate;
    NaN becomes the canonical NaN of its type, the largest value where there is none, 0 for integers.

    >>> import ptxlab
    >>> scores = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3")
    >>> plan = ptxlab.repack(scores.d, scores.a)   # the accumulator of one as A of the next
    >>> plan
    <repack D 64x32 f32 -> A 64x32 e4m3: 4 converts, 4 selects, 4 shuffles, 4 permutes>
    >>> plan.moved, plan.elements
    (1536, 2048)
    >>> print(plan.shuffles[0].lanes, [hex(selector) for selector in plan.steps[-4].selectors])
    (0, 2, 1, 3) ['0x5410', '0x5410', '0x1054', '0x1054']
    """
    plan = plan_repack(source, target)
    return Repack(plan.source_side, plan.target_side, plan.conversion)
