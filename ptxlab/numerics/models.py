"""What each chip does: how many bits of products and sums it keeps, as rows of data with their evidence.

`Fused` of `rules/fused.py` says what the numbers mean. f16 keeps 23 to 25 bits below the largest exponent,
FP8 on sm_89 and in wgmma only 13; FP8 mma on sm_90 is computed as f16, with the bits of f16. The emulator
cuts products where `fused_numpy.py` aligns them, and rounds the sum there; with numba, both are in
`fused_numba.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from .._util.arguments import as_text, is_a, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.parse import parse_product
from ..isa.product_form import ProductForm
from ..isa.targets import CHIPS, GENERATIONS, SM_107, chip_of_target
from ..isa.tcgen05 import TensorInstruction
from .rules import EmulatedThroughF16, Exact, FmaChain, FmaGroups, Fused, Rule

Evidence = Literal["measured", "published", "assumed"]


@dataclass(frozen=True)
class Model:
    """What one chip does with one class of inputs, and how that is known.

    >>> import ptxlab
    >>> model = model_for(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "sm_90")
    >>> model.rule, model.evidence, model.mmas > 0
    (Exact(), 'measured', True)
    """

    chip: str
    inputs: tuple[str, ...]  # types of A and B
    families: tuple[str, ...]
    rule: Rule
    evidence: Evidence
    source: str
    shapes: tuple[str, ...] = ()  # only these; () is all
    results: tuple[str, ...] = ()  # only these types of D; () is all
    kinds: tuple[str, ...] = ()  # only these `.kind::`; () is all
    accumulators: tuple[str, ...] = ()  # only these types of C; () is all
    scales: tuple[str, ...] = ()  # only these block scales, as in "4X ue8m0"; () is all
    depths: tuple[int, ...] = ()  # only these K; () is all
    mmas: int = 0  # of each form, compared with a GPU here, bit for bit

    def fits(self, ins: ProductForm | str) -> bool:
        """Whether it covers this instruction."""
        ins = parse_product(ins)
        required = (
            (ins.a_type, self.inputs),
            (ins.b_type, self.inputs),
            (ins.family, self.families),
        )
        optional = (
            (ins.shape, self.shapes),
            (ins.d_type, self.results),
            (ins.kind, self.kinds),
            (ins.c_type, self.accumulators),
            (f"{ins.scale_vec}X {ins.scale_type}", self.scales),
            (ins.k, self.depths),
        )
        return all(value in legal for value, legal in required) and all(
            not legal or value in legal for value, legal in optional
        )

    @property
    def generation(self) -> str:
        """NVIDIA's name for the chip's generation."""
        return GENERATIONS[self.chip]


_INTEGERS = ("b1", "s4", "u4", "s8", "u8")
_HALVES = ("f16", "bf16")
_FLOATS = (*_HALVES, "tf32")
_FP8 = ("e4m3", "e5m2")
_F8F4 = (*_FP8, "e2m1")
_F8F6F4 = (*_F8F4, "e3m2", "e2m3")
_SYNC = ("mma", "mma.sp")
_WARP = (*_SYNC, "wmma")
_WARPGROUP = ("wgmma", "wgmma.sp")
_TENSOR, _TENSOR_WS = ("tcgen05.mma", "tcgen05.mma.sp"), ("tcgen05.mma.ws", "tcgen05.mma.ws.sp")

#: MMAs of each form that were compared with an H200; tests/golden/hunted.json has the count of every form.
_MMAS = 100_000

_F32_TO_F16 = 112  # from the smallest exponent of f32, -126, to that of f16, -14

#: One step of f16, bf16 and tf32.
_VOLTA = Fused(fraction_bits=23, result_bits=23, floor=-131, depth=4)
_TURING = _AMPERE = Fused(fraction_bits=24, result_bits=23, floor=-132, depth=8)
_HOPPER = Fused(fraction_bits=25, result_bits=23, floor=-133)
_HOPPER_TO_F16 = replace(_HOPPER, floor=_HOPPER.floor + _F32_TO_F16)
#: One step of FP8: mma of sm_89 and wgmma keep 13 bits of FP8 products, and of their sum.
_FP8_OF_ADA = Fused(fraction_bits=13, result_bits=13, floor=-132, depth=16)
_FP8_OF_WGMMA = Fused(fraction_bits=13, result_bits=13, floor=-133)

_H200 = "compared with an H200 and recorded, CUDA 13.0: tests/golden"
_ISA = "PTX ISA: integer results are exact, wrapped or clamped"
_MMA_SIM = "MMA-Sim 2025, arXiv 2511.10909"
_KHATTAK = "Khattak and Mikaitis 2025, arXiv 2512.07004 with MATLAB-tensor-core"
_FASI = "Fasi et al. 2021, doi 10.7717/peerj-cs.330"
_AS_DENSE = "as the dense form, in steps of the same number of stored products"
_SF_TENSOR = "sf-tensor/tcgen05 2026 (github, commit affce0c), of a B200"
_RUBIN = "only sm_107 has it, of which nothing is published; as sm_100 with"
_AS_90 = "machine code of CUDA 13.0, the same as for sm_90"


def _m8n8k4(chip: str, evidence: Evidence, source: str, mmas: int = 0) -> Iterator[Model]:
    """mma.m8n8k4 after Turing."""
    row = Model(chip, ("f16",), ("mma",), Exact(), evidence, source, shapes=("m8n8k4",), mmas=mmas)
    yield replace(row, rule=FmaGroups(((0, 1, 2, 3),), True), results=("f32",))
    yield replace(row, rule=FmaGroups(((0, 1), (2, 3)), False), results=("f16",))


def _halves(
    chip: str,
    inputs: tuple[str, ...],
    families: tuple[str, ...],
    step: Fused,
    evidence: Evidence,
    source: str,
) -> Iterator[Model]:
    """f16 and bf16.

    The floor of a step that ends in f16 is as far below f16's exponents as that of others below f32's.
    """
    narrow = replace(step, floor=step.floor + _F32_TO_F16)
    yield Model(chip, ("f16",), families, narrow, evidence, source, results=("f16",), accumulators=("f16",))
    yield Model(chip, inputs, families, step, evidence, source)


def _floats(chip: str, step: Fused, source: str) -> Iterator[Model]:
    """f16, bf16, tf32 and f64 of a chip; with tf32 a step takes half as many products."""
    half = step if step.depth is None else replace(step, depth=step.depth // 2)
    yield from _halves(chip, _HALVES, ("mma", "wmma"), step, "published", source)
    split = f"{source}; K as the compiler splits it"
    yield Model(chip, ("tf32",), ("wmma",), replace(step, depth=4), "published", split)
    yield Model(chip, ("tf32",), ("mma",), half, "published", source)
    yield from _halves(chip, _HALVES, ("mma.sp",), step, "assumed", _AS_DENSE)
    yield Model(chip, ("tf32",), ("mma.sp",), half, "assumed", _AS_DENSE)
    chained = f"{_MMA_SIM}; {_FASI}, of an A100; NaN as on sm_90"
    yield Model(chip, ("f64",), ("mma", "wmma"), FmaChain(), "published", chained)


def _hopper() -> Iterator[Model]:
    """sm_90, all of it measured."""

    def row(inputs: tuple[str, ...], families: tuple[str, ...], rule: Rule) -> Model:
        return Model("sm_90", inputs, families, rule, "measured", _H200, mmas=_MMAS)

    def ending_in_f16(model: Model) -> Model:
        return replace(
            model,
            results=("f16",),
            accumulators=("f16",),
            source=f"{_H200}; its floor was first published by {_KHATTAK}",
        )

    yield from _m8n8k4("sm_90", "measured", _H200, _MMAS)
    yield ending_in_f16(row(("f16",), (*_WARP, *_WARPGROUP), _HOPPER_TO_F16))
    yield row(("tf32",), ("wmma",), replace(_HOPPER, depth=4))
    yield row(_FLOATS, (*_WARP, *_WARPGROUP), _HOPPER)
    yield row(("f64",), ("mma", "wmma"), FmaChain())
    yield ending_in_f16(row(_FP8, _SYNC, EmulatedThroughF16(_HOPPER_TO_F16)))
    yield row(_FP8, _SYNC, EmulatedThroughF16(_HOPPER))
    yield row(_FP8, _WARPGROUP, _FP8_OF_WGMMA)
    yield row(_INTEGERS, (*_WARP, *_WARPGROUP), Exact())


def _tensor_memory(chip: str) -> Iterator[Model]:
    """tcgen05.mma. The published measurements include sparse forms, but neither .ws nor K = 96."""
    block = Fused(fraction_bits=35, result_bits=23, floor=-139, block=16)
    floats, plain, fp4 = (*_FLOATS, *_F8F6F4), ("f16", "tf32", "f8f6f4"), ("mxf4", "mxf4nvf4")

    def rows(families: tuple[str, ...], evidence: Evidence, source: str) -> Iterator[Model]:
        yield Model(chip, floats, families, _HOPPER_TO_F16, evidence, source, results=("f16",), kinds=plain)
        yield Model(chip, floats, families, _HOPPER, evidence, source, kinds=plain)

    yield from rows(_TENSOR, "published", f"{_SF_TENSOR}; {_MMA_SIM}")
    yield from rows(_TENSOR_WS, "assumed", "as without .ws")
    yield Model(chip, ("s8", "u8"), (*_TENSOR, *_TENSOR_WS), Exact(), "published", _ISA, kinds=("i8",))
    yield Model(
        chip, ("s1z4m11",), (*_TENSOR, *_TENSOR_WS), Exact(), "assumed", f"{_RUBIN} kind::i8", kinds=("ti16",)
    )
    source = f"{_SF_TENSOR}; {_MMA_SIM}; floor as with mxf4"
    yield Model(
        chip, _F8F6F4, _TENSOR, replace(_HOPPER, floor=block.floor), "published", source, kinds=("mxf8f6f4",)
    )
    source = "not on sm_100 itself, but on sm_103; as K = 64, in blocks of 16"
    yield Model(chip, ("e2m1",), _TENSOR, block, "assumed", source, kinds=fp4, depths=(96,))
    yield Model(chip, ("e2m1",), _TENSOR, block, "published", f"{_SF_TENSOR}; {_MMA_SIM}", kinds=fp4)


def _fp8_of_sm_100() -> Iterator[Model]:
    """FP8 of mma, which the compiler emulates there."""
    source = f"{_AS_90}; {_KHATTAK}, of a B200"
    narrow = EmulatedThroughF16(_HOPPER_TO_F16)
    yield Model("sm_100", _FP8, ("mma",), narrow, "published", source, results=("f16",))
    yield Model("sm_100", _FP8, ("mma",), EmulatedThroughF16(_HOPPER), "published", source)
    yield Model("sm_100", _FP8, ("mma.sp",), EmulatedThroughF16(_HOPPER), "assumed", _AS_90)


def _narrow_floats_of_sm_120() -> Iterator[Model]:
    """Types of 4, 6 and 8 bits, with and without block scales."""
    step = Fused(fraction_bits=35, result_bits=23, floor=-126, block=16)
    block = Model("sm_120", ("e2m1",), _SYNC, step, "assumed", "", kinds=("mxf4", "mxf4nvf4"))
    newer = "as with the other scales of this kind"  # this form is newer than the publication
    yield replace(block, source=newer, kinds=("mxf4nvf4",), scales=("4X ue8m0",))
    yield replace(block, families=("mma",), evidence="published", source=_MMA_SIM)
    yield replace(block, families=("mma.sp",), source="as the dense form")
    for kinds, floor in ((("mxf8f6f4",), -126), ((), -133)):
        row = Model("sm_120", _F8F6F4, ("mma",), replace(_HOPPER, floor=floor), "assumed", "", kinds=kinds)
        yield replace(row, inputs=_F8F4, evidence="published", source=_MMA_SIM)
        yield replace(row, source=f"as {_MMA_SIM} has e4m3, e5m2 and e2m1")
        yield replace(row, families=("mma.sp",), source="as the dense form")


def _rows() -> Iterator[Model]:
    both = ("mma", "wmma")
    source = f"{_KHATTAK}, of a V100; {_MMA_SIM}; {_FASI}"
    yield from _halves("sm_70", ("f16",), both, _VOLTA, "published", source)
    source = f"{_MMA_SIM}; {_FASI}, of a T4; floor as on sm_80"
    yield from _halves("sm_75", ("f16",), both, _TURING, "published", source)
    cards = {
        "sm_80": (_AMPERE, "an A100"),
        "sm_86": (_AMPERE, "an A2"),
        "sm_89": (_AMPERE, "an L40S"),
        "sm_100": (_HOPPER, "a B200"),
    }
    for chip, (step, card) in {**cards, "sm_120": (_HOPPER, "an RTX PRO 6000")}.items():
        yield from _m8n8k4(chip, "assumed", _AS_90)
        yield from _floats(chip, step, f"{_KHATTAK}, of {card}; {_MMA_SIM}")
    yield Model("sm_89", _FP8, ("mma",), _FP8_OF_ADA, "published", f"{_KHATTAK}, of an L40S; {_MMA_SIM}")
    yield Model("sm_89", _FP8, ("mma.sp",), _FP8_OF_ADA, "assumed", _AS_DENSE)
    yield from _hopper()
    yield from _fp8_of_sm_100()
    yield from _tensor_memory("sm_100")
    yield from _narrow_floats_of_sm_120()
    for chip in GENERATIONS:
        if chip not in ("sm_70", "sm_90"):  # sm_70 has none, those of sm_90 are measured
            families = _WARP if chip != "sm_75" else both
            yield Model(chip, _INTEGERS, families, Exact(), "published", _ISA)


#: In the order of chips; the first that fits an instruction applies.
_MODELS: tuple[Model, ...] = tuple(sorted(_rows(), key=lambda model: list(GENERATIONS).index(model.chip)))


def models() -> tuple[Model, ...]:
    """Every model with its evidence: measured here, published elsewhere, or assumed.

    >>> {m.evidence for m in models() if m.chip == "sm_90"}
    {'measured'}
    """
    return _MODELS


def has(ins: ProductForm | str, chip: str) -> bool:
    """Whether a chip that `model=` names, or one with the same arithmetic, has the instruction.

    sm_103 and sm_110 compute as sm_100 does, as far as is known; of the three only sm_103 has tcgen05.mma
    with K = 96. The same is assumed of tcgen05.mma on sm_107.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    >>> [chip for chip in GENERATIONS if has(ins, chip)][:2]
    ['sm_75', 'sm_80']
    """
    ins = parse_product(ins)
    if not is_name(chip, GENERATIONS):
        same = chip_of_target(chip) if is_a(chip, str) else None
        if same is not None:
            raise PtxlabError(
                f"model {quoted(chip)}: as far as is known it computes as {same} does; name that"
            )
        raise PtxlabError(f"unknown model {quoted(chip)}; there are {listing(GENERATIONS)}")
    if chip == "sm_70":  # PTX ISA, "Target ISA Notes" of mma and wmma.mma
        return ins.a_type == "f16" and (ins.family == "wmma" or (ins.family, ins.shape) == ("mma", "m8n8k4"))
    if ins.descriptor is not None:
        return any(_tensor_chip(target) == chip for target in ins.targets if ins.supports(target))
    return ins.supports(CHIPS.get(chip, chip))


def model_for(ins: ProductForm | str, chip: str) -> Model:
    """The model of a chip for an instruction.

    >>> import ptxlab
    >>> model_for(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "sm_90").rule
    Fused(fraction_bits=25, result_bits=23, floor=-133, depth=None)
    """
    return find_model(parse_product(ins), as_text(chip, "model"))


@lru_cache(maxsize=None)
def find_model(ins: ProductForm, chip: str) -> Model:
    """Like `model_for`, for arguments already checked."""
    is_legal = has(ins, chip)
    reason = why_no_model(ins)
    if reason:
        raise PtxlabError(f"{ins.mnemonic} {ins.shape}: {reason}")
    model = next((row for row in _MODELS if row.chip == chip and row.fits(ins)), None)
    if model is None:
        others = dict.fromkeys(row.chip for row in _MODELS if row.fits(ins) and has(ins, row.chip))
        raise PtxlabError(
            f"model {chip!r} has no arithmetic for {ins.family} with {ins.a_type}; those that have it: "
            f"{listing(others)}"
        )
    if not is_legal:
        raise PtxlabError(
            f"model {chip!r}: that chip lacks {ins.mnemonic}; targets that have it: {listing(ins.targets, 4)}"
        )
    if ins.descriptor is not None and model.evidence != "assumed":
        # nothing is published of sm_107
        is_published = any(target not in SM_107 and ins.supports(target) for target in ins.targets)
        if not is_published:
            return replace(model, evidence="assumed", source=f"{_RUBIN} another descriptor")
    return model


def _tensor_chip(target: str) -> str | None:
    """The chip whose arithmetic tcgen05.mma has on a target; for sm_107 this is an assumption."""
    return "sm_100" if target in SM_107 else chip_of_target(target)


def why_no_model(ins: ProductForm) -> str:
    """Why no chip has a model for an instruction; empty if one has.

    >>> import ptxlab
    >>> name = "tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.block32"
    >>> why_no_model(ptxlab.instruction(name, k=192))
    'no target has it with this descriptor: sm_100a lacks K = 192, which sm_107a, sm_107f have'
    """
    if not isinstance(ins, TensorInstruction):
        return ""
    if any(ins.supports(target) for target in ins.targets):
        return ""
    return f"no target has it with this descriptor: {ins.faults(ins.descriptor, ins.targets[0])[0]}"
