"""What each chip does, as rows of data with their evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import PtxlabError, listing
from ..instruction import Instruction

__all__ = ["CHIPS", "ByWay", "Chain", "Fused", "Model", "Rule", "Scalar", "model_for", "models"]


@dataclass(frozen=True)
class Fused:
    """How a chip adds products to C in one step.

    Products are exact. They and C are aligned to the largest exponent among the non-zero ones (the sum of the factors'
    exponents, not normalised; never below `floor`), cut toward zero `fraction_bits` below it, and summed exactly. The sum is cut
    to `result_bits` of fraction for f32, or rounded to nearest even for f16. A zero result is +0, NaN is 0x7fffffff or 0x7fff.
    With a `depth`, K is cut into steps of so many products, and the result of one step is C of the next.

    >>> import ptxlab
    >>> from ptxlab.emulator import chip_of
    >>> chip_of(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")).rule
    Fused(fraction_bits=25, result_bits=23, floor=-133, depth=None)
    """

    fraction_bits: int
    result_bits: int
    floor: int
    depth: int | None = None


@dataclass(frozen=True)
class ByWay:
    """What the compiler makes of an instruction that a chip lacks: FP8 mma.sync on sm_90, as its machine code shows.

    Elements become f16 (`via`); the lower pairs of every register go through one fused step from zero, the upper pairs through a
    second; C is added by an ordinary addition, to nearest even.

    >>> import ptxlab
    >>> from ptxlab.emulator import chip_of
    >>> chip_of(ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")).rule
    ByWay(via='f16', step=Fused(fraction_bits=25, result_bits=23, floor=-133, depth=None))
    """

    via: str
    step: Fused


@dataclass(frozen=True)
class Scalar:
    """What the compiler makes of mma.m8n8k4 on chips after Volta: ordinary f32 instructions, no tensor core.

    Each group of k is a chain of fused multiply-adds that begins with its first product (`from_zero`: with that product plus 0, which
    has no sign when it is zero); C plus the first group, plus the next, each to nearest even; f16 results are rounded at the end.

    >>> import ptxlab
    >>> from ptxlab.emulator import chip_of
    >>> chip_of(ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")).rule
    Scalar(groups=((0, 1, 2, 3),), from_zero=True)
    """

    groups: tuple[tuple[int, ...], ...]
    from_zero: bool


@dataclass(frozen=True)
class Chain:
    """f64: one fused multiply-add after the other, from C, k ascending, each rounded in the mode that the instruction names.

    A NaN keeps its payload; where several meet, the first of `nans` counts: the element of a, of b, or the sum so far, c.

    >>> import ptxlab
    >>> from ptxlab.emulator import chip_of
    >>> chip_of(ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64")).rule
    Chain(nans='bca')
    """

    nans: str = "bca"


Rule = Fused | ByWay | Scalar | Chain | Literal["exact"]


@dataclass(frozen=True)
class Model:
    """What one chip does with one class of inputs, and how that is known.

    >>> import ptxlab
    >>> model = model_for(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "sm_90")
    >>> model.rule, model.evidence
    ('exact', 'measured')
    """

    chip: str
    inputs: tuple[str, ...]
    families: tuple[str, ...]
    rule: Rule
    evidence: Literal["measured", "published", "assumed"]
    source: str
    shapes: tuple[str, ...] = ()  # only these; () is all
    results: tuple[str, ...] = ()  # only these types of D; () is all
    kinds: tuple[str, ...] = ()  # only these `.kind::`; () is all

    def fits(self, ins: Instruction) -> bool:
        """Whether it speaks of this instruction."""
        among = ((ins.shape, self.shapes), (ins.d_type, self.results), (ins.kind, self.kinds))
        return ins.family in self.families and ins.a_type in self.inputs and all(not names or name in names for name, names in among)


_INTEGERS = ("b1", "s4", "u4", "s8", "u8")
_FP8 = ("e4m3", "e5m2")
_F8F6F4 = (*_FP8, "e3m2", "e2m3", "e2m1")
_WARP = ("mma", "mma.sp", "wmma")
_GROUP = ("wgmma", "wgmma.sp")
_H200 = "tests/golden: recorded on an H200 with CUDA 13.0"
_ISA = "PTX ISA 9.0: integer results are exact, wrapped or clamped"
_MMA_SIM = "MMA-Sim 2025, arXiv 2511.10909"

#: Chips that `model=` names, with the target that stands for each.
CHIPS: dict[str, str] = {"sm_75": "sm_75", "sm_80": "sm_80", "sm_89": "sm_89", "sm_90": "sm_90a", "sm_100": "sm_100a", "sm_120": "sm_120a"}

#: The first that fits an instruction counts.
_MODELS: tuple[Model, ...] = (
    Model("sm_90", ("f16",), ("mma",), Scalar(((0, 1, 2, 3),), True), "measured", _H200, shapes=("m8n8k4",), results=("f32",)),
    Model("sm_90", ("f16",), ("mma",), Scalar(((0, 1), (2, 3)), False), "measured", _H200, shapes=("m8n8k4",), results=("f16",)),
    Model("sm_90", ("tf32",), ("wmma",), Fused(25, 23, -133, depth=4), "measured", _H200),
    Model("sm_90", ("f16", "bf16", "tf32"), (*_WARP, *_GROUP), Fused(25, 23, -133), "measured", _H200),
    Model("sm_90", ("f64",), _WARP, Chain(), "measured", _H200),
    Model("sm_90", _FP8, ("mma", "mma.sp"), ByWay("f16", Fused(25, 23, -133)), "measured", _H200),
    Model("sm_90", _FP8, _GROUP, Fused(13, 13, -133), "measured", _H200),
    Model("sm_90", _INTEGERS, (*_WARP, *_GROUP), "exact", "measured", _H200),
    *(Model(chip, _INTEGERS, _WARP, "exact", "published", _ISA) for chip in CHIPS if chip != "sm_90"),
    Model("sm_120", ("e2m1",), ("mma",), Fused(35, 23, -126), "published", f"{_MMA_SIM}; not run on hardware here", kinds=("mxf4", "mxf4nvf4")),
    Model("sm_120", ("e2m1",), ("mma.sp",), Fused(35, 23, -126), "assumed", "as the dense form", kinds=("mxf4", "mxf4nvf4")),
    Model(
        "sm_120", _F8F6F4, ("mma", "mma.sp"), Fused(25, 23, -126), "assumed", f"25 bits as {_MMA_SIM} gives for Blackwell; not run on hardware here"
    ),
)


def models() -> tuple[Model, ...]:
    """Every model with its evidence: measured here, published elsewhere, or assumed.

    >>> {m.evidence for m in models() if m.chip == "sm_90"}
    {'measured'}
    """
    return _MODELS


def model_for(ins: Instruction, chip: str) -> Model:
    """The model of a chip for an instruction.

    >>> import ptxlab
    >>> model_for(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "sm_90").rule
    Fused(fraction_bits=25, result_bits=23, floor=-133, depth=None)
    """
    if chip not in CHIPS:
        raise PtxlabError(f"unknown model {chip!r}; there are {listing(CHIPS)}")
    fitting = [model for model in _MODELS if model.fits(ins)]
    for model in fitting:
        if model.chip == chip:
            return model
    raise PtxlabError(f"model {chip!r} has no arithmetic for {ins.family} with {ins.a_type}; {listing([model.chip for model in fitting])} has it")
