"""Published peaks of chips, and the least time that a kernel takes with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import PtxlabError, listing, quoted
from ..isa.chips import ALL_CHIPS, Card

#: Cards whose peaks are published, fastest memory first.
PEAKS = {
    card.name: card
    for card in sorted(
        (card for chip in ALL_CHIPS.values() for card in chip.cards if card.source),
        key=lambda card: -card.dram,
    )
}


@dataclass(frozen=True)
class Work:
    """What a launch does that takes time on any chip.

    `tensor` are multiply-adds by type of A and accumulator, without those by the zeros of sparse matrices;
    `fma` are scalar ones by type; `wavefronts` are those of shared memory; `l2` and `dram` are the fewest
    bytes that go there: each byte of DRAM once, and through L2 what L1 cannot hold.
    """

    blocks: int = 1
    tensor: dict[tuple[str, str], int] = field(default_factory=dict)
    fma: dict[str, int] = field(default_factory=dict)
    wavefronts: int = 0
    l2: int = 0
    dram: int = 0


class Bound(NamedTuple):
    """One resource of a chip: how much of it the kernel uses, and how long that takes at least."""

    resource: str  # "tensor cores", "fma", "shared memory", "L2", "DRAM"
    seconds: float
    amount: int
    unit: str  # "multiply-adds", "wavefronts", "bytes"
    rate: float  # of that unit per second


def find_card(name: object) -> Card:
    """A card by its name; case and spaces do not matter.

    >>> find_card("rtx4090").sms
    128
    """
    if isinstance(name, str):
        wanted = name.lower().replace(" ", "")
        for card in PEAKS.values():
            if card.name.lower().replace(" ", "") == wanted:
                return card
    raise PtxlabError(f"chip={quoted(name)}: there are figures of {listing(PEAKS)}")


def bounds(work: Work, card: Card) -> tuple[Bound, ...]:
    """The least time on each resource, longest first; types that the card has no figure for are left out.

    >>> work = Work(blocks=1024, tensor={("f16", "f32"): 2**33}, dram=2**25)
    >>> [(bound.resource, round(bound.seconds * 1e6, 1)) for bound in bounds(work, find_card("H100"))]
    [('tensor cores', 17.4), ('DRAM', 10.0)]
    """
    share = min(work.blocks, card.sms) / card.sms  # a block runs on one SM
    tensor = [
        (card.tensor.get(f"{operand}>{accumulator}", card.tensor.get(operand)), count)
        for (operand, accumulator), count in work.tensor.items()
    ]
    fma = [(card.fma.get(operand), count) for operand, count in work.fma.items()]
    limits = []
    for unit, products in (("tensor cores", tensor), ("fma", fma)):
        rated = [(peak, count) for peak, count in products if peak is not None]
        # a peak counts tera-operations, and a multiply-add is two of them
        seconds = sum(count / (peak * 5e11 * share) for peak, count in rated)
        total = sum(count for _, count in rated)
        limits.append(Bound(unit, seconds, total, "multiply-adds", total / seconds if seconds else 0.0))
    rate = card.clock * card.sms * share
    limits.append(Bound("shared memory", work.wavefronts / rate, work.wavefronts, "wavefronts", rate))
    if card.l2 is not None:
        limits.append(Bound("L2", work.l2 / card.l2, work.l2, "bytes", card.l2))
    limits.append(Bound("DRAM", work.dram / card.dram, work.dram, "bytes", card.dram))
    return tuple(sorted((bound for bound in limits if bound.amount), key=lambda bound: -bound.seconds))
