"""The arithmetic models in words: each rule as short phrases, and all models as one table."""

from __future__ import annotations

from ..errors import PtxlabError, quoted
from ..numerics import EmulatedThroughF16, Exact, FmaChain, FmaGroups, Fused, Model, Rule, models
from .table import Table

_NAN = "0x7fffffff in f32, 0x7fff in f16"


def rule_words(rule: Rule) -> dict[str, str]:
    """An arithmetic rule in words, by topic.

    The topics are conversion, alignment, floor (of the exponent), steps (over K), rounding, zero and NaN;
    a rule has those that apply to it.

    >>> import ptxlab
    >>> ampere = next(model for model in ptxlab.models() if model.chip == "sm_80" and "bf16" in model.inputs)
    >>> rule_words(ampere.rule)["steps"]
    'steps of 8 products, k ascending; the result of one step is C of the next'
    """
    if not isinstance(rule, Rule):
        raise PtxlabError(f"found {quoted(rule)} where a rule belongs; ptxlab.models() have them")
    match rule:
        case Exact():
            return {
                "steps": "all products at once, exactly",
                "rounding": "wrapped to 32 bits, or clamped: .satfinite; "
                "of tcgen05 the descriptor's saturate bit",
            }
        case Fused():
            return _fused_words(rule)
        case EmulatedThroughF16():
            halves = "k with k mod 4 = 0 or 1, then the others"
            return {
                "conversion": "A and B are converted to f16",
                **rule_words(rule.step),
                "steps": f"two, starting from zero: {halves}; then C is added, rounded to nearest even",
            }
        case FmaGroups():
            chains = " and another over ".join(f"k {', '.join(map(str, group))}" for group in rule.groups)
            added = "it is added to C" if len(rule.groups) == 1 else "each is added to C in turn"
            return {
                "conversion": "A, B and C are converted to f32",
                "steps": f"no tensor core: a chain of fused multiply-adds over {chains}; {added}",
                "rounding": "every operation to nearest even; an f16 result is rounded once more",
                "zero": "as in IEEE 754",
                "NaN": _NAN,
            }
        case FmaChain():
            return {
                "steps": "one fused multiply-add after another, starting from C, k ascending",
                "rounding": "each operation in the rounding mode that the instruction names",
                "zero": "as in IEEE 754",
                "NaN": "keeps its payload and becomes quiet; of several, the first in the order "
                f"{', '.join(rule.nans)} counts; 0xfff8000000000000 where no input is NaN",
            }
    raise TypeError(f"{type(rule).__name__} has no words; write them in ptxlab.views.models")


def _fused_words(rule: Fused) -> dict[str, str]:
    steps = "one step over all of K"
    if rule.depth is not None:
        steps = f"steps of {rule.depth} products, k ascending; the result of one step is C of the next"
    f32 = "f32 is truncated toward zero"
    if rule.result_bits != 23:
        f32 = f"{f32} to {rule.result_bits} bits of fraction"
    below = f"{rule.fraction_bits} bits below the largest exponent"
    alignment = f"products are exact; products and C are truncated {below}"
    if rule.block is not None:
        alignment = (
            f"sums of {rule.block} products, times their two scales, are exact; they and C are truncated "
            f"{below}: C's, or that of the two scales"
        )
    return {
        "alignment": alignment,
        "floor": f"the largest exponent counts as at least {rule.floor}",
        "steps": steps,
        "rounding": f"{f32}, f16 is rounded to nearest even",
        "zero": "+0",
        "NaN": _NAN,
    }


def model_table() -> Table:
    """Every model in one row, with its evidence and the number of MMAs that were compared with a GPU.

    >>> row = model_table().records()[0]
    >>> row["chip"], row["A and B"], row["evidence"]
    ('sm_70 (Volta)', 'f16', 'published')
    """
    rows = [model_words(model) for model in models()]
    return Table(tuple(rows[0]), tuple(tuple(row.values()) for row in rows))


def model_words(model: Model) -> dict[str, str]:
    """A model in words: chip, types of A and B, families, restrictions, rule, evidence, count, source."""
    if not isinstance(model, Model):
        raise PtxlabError(f"found {quoted(model)} where a model belongs; ptxlab.models() gives them")
    return {
        "chip": f"{model.chip} ({model.generation})",
        "A and B": ", ".join(model.inputs),
        "families": ", ".join(model.families),
        "only": _restrictions(model),
        "rule": "; ".join(f"{topic}: {words}" for topic, words in rule_words(model.rule).items()),
        "evidence": model.evidence,
        "MMAs": f"{model.mmas:,}" if model.mmas else "",
        "source": model.source,
    }


def _restrictions(model: Model) -> str:
    """What the model is confined to, beyond input types and families: ``m8n8k4, D f16``."""
    lists = (
        (model.shapes, ""),
        (model.results, "D "),
        (model.accumulators, "C "),
        (model.kinds, "kind::"),
        (model.scales, "scale_vec::"),
        (model.depths, "K = "),
    )
    return ", ".join(f"{prefix}{name}" for names, prefix in lists for name in names)
