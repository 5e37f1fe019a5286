"""Versions of the PTX ISA and targets of the assembler, the generations behind them, and NVIDIA's names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .._util.arguments import as_text
from ..errors import PtxlabError, listing, quoted
from .chips import ALL_CHIPS


class PtxVersion(NamedTuple):
    """A version of the PTX ISA, as `.version` names it.

    >>> str(PtxVersion(9, 4)), PtxVersion(9, 4) > PtxVersion(8, 8)
    ('9.4', True)
    """

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


#: The version that the catalogue covers.
NEWEST = PtxVersion(9, 4)

#: CUDA release -> the newest PTX ISA that its compiler knows ("PTX Release History").
CUDA_RELEASES: dict[tuple[int, int], PtxVersion] = {
    (12, 0): PtxVersion(8, 0), (12, 1): PtxVersion(8, 1), (12, 2): PtxVersion(8, 2),
    (12, 3): PtxVersion(8, 3), (12, 4): PtxVersion(8, 4), (12, 5): PtxVersion(8, 5),
    (12, 6): PtxVersion(8, 5), (12, 7): PtxVersion(8, 6), (12, 8): PtxVersion(8, 7),
    (12, 9): PtxVersion(8, 8), (13, 0): PtxVersion(9, 0), (13, 1): PtxVersion(9, 1),
    (13, 2): PtxVersion(9, 2), (13, 3): PtxVersion(9, 3), (13, 4): PtxVersion(9, 4),
}  # fmt: skip


def newest_of_cuda(release: tuple[int, int]) -> PtxVersion:
    """The newest PTX ISA that a release's compiler knows; NEWEST for releases after those listed here.

    >>> str(newest_of_cuda((13, 0))), str(newest_of_cuda((14, 2)))
    ('9.0', '9.4')
    """
    versions = [version for since, version in CUDA_RELEASES.items() if since <= release]
    return max(versions, default=PtxVersion(0, 0))


def cuda_release(version: PtxVersion) -> str:
    """The first CUDA release, of those since 12.0, whose compiler knows a version of PTX.

    >>> cuda_release(PtxVersion(9, 4)), cuda_release(PtxVersion(7, 1))
    ('13.4', '12.0')
    """
    major, minor = min(release for release, newest in CUDA_RELEASES.items() if newest >= version)
    return f"{major}.{minor}"


#: Every target of the newest assembler, in its spelling, and the PTX ISA that introduced it.
TARGET_VERSIONS: dict[str, PtxVersion] = {
    name + suffix: PtxVersion(*version)
    for name, chip in ALL_CHIPS.items()
    for suffix, version in chip.versions.items()
}

TARGETS: tuple[str, ...] = tuple(TARGET_VERSIONS)


def _since(first: str) -> tuple[str, ...]:
    return TARGETS[TARGETS.index(first) :]


# Sets of targets that catalogue rows name.
SM_75, SM_80, SM_89, SM_90 = (_since(first) for first in ("sm_75", "sm_80", "sm_89", "sm_90"))
SM_90A = ("sm_90a",)
SM_100A = tuple(target for target in _since("sm_100") if target[-1] in "af")
SM_120A = tuple(target for target in _since("sm_120") if target[-1] in "af")
SM_107 = ("sm_107a", "sm_107f")
SM_120A_WITHOUT_F = ("sm_120a", "sm_121a")
#: Data-centre Blackwell, its successors and Thor, whether by chip (a) or by family (f).
TCGEN05 = tuple(name + suffix for name, chip in ALL_CHIPS.items() if chip.has_tcgen05 for suffix in "af")

#: The generation of each chip that has arithmetic of its own; a chip is what `model=` names.
GENERATIONS: dict[str, str] = {
    name: chip.generation for name, chip in ALL_CHIPS.items() if chip.has_model and chip.code_of is None
}


def _full_target(name: str) -> str:
    """The target that has all instructions of a chip."""
    return f"{name}a" if "a" in ALL_CHIPS[name].versions else name


def _first_chips() -> Iterable[str]:
    """The first chip of each generation that has a target."""
    first: dict[str, str] = {}
    for name, generation_name in GENERATIONS.items():
        if ALL_CHIPS[name].versions:
            first.setdefault(generation_name, name)
    return first.values()


#: For each generation since Turing one chip, and the target that has all of its instructions.
CHIPS: dict[str, str] = {name: _full_target(name) for name in _first_chips()}

#: Names of well-known cards with each target.
CARD_NAMES: dict[str, tuple[str, ...]] = {
    _full_target(name): tuple(card.name for card in chip.cards)
    for name, chip in ALL_CHIPS.items()
    if chip.cards
}


def check_target(target: object) -> str:
    """Return the target, or raise an error that lists the known ones.

    >>> check_target("sm_90a")
    'sm_90a'
    """
    if isinstance(target, str) and target in TARGETS:
        return target
    raise PtxlabError(_target_refusal(target))


#: Targets that have another name since CUDA 13.0.
_RENAMED = {"sm_101": "sm_110"}


def _target_refusal(target: object) -> str:
    """A former name, another tool's spelling (``90a``, ``compute_90a``), or no target at all."""
    spelling = re.fullmatch(
        r"(?:sm|compute)?_?(\d{2,3})([af]?)", target.lower() if isinstance(target, str) else ""
    )
    if spelling is not None:
        chip = f"sm_{spelling[1]}"
        name = _RENAMED.get(chip, chip) + spelling[2]
        if name in TARGETS:
            remedy = f"it is called {name} since CUDA 13.0" if chip in _RENAMED else f"did you mean {name}?"
            return f"unknown target {target!r}; {remedy}"
    known_card = find_card_name(target) if isinstance(target, str) else None
    if known_card is not None:
        return f"unknown target {quoted(target)}; that of the {known_card[1]} is {known_card[0]}"
    return f"unknown target {quoted(target)}; known are {listing(TARGETS, 30)}"


def find_card_name(text: str) -> tuple[str, str] | None:
    """The target of a card, and the card's name as NVIDIA writes it; case and spaces do not matter.

    >>> find_card_name("rtx4090")
    ('sm_89', 'RTX 4090')
    """
    word = re.sub(r"nvidia|geforce|\W|_", "", text.lower())
    for target, names in CARD_NAMES.items():
        for name in names:
            if word == name.lower().replace(" ", ""):
                return target, name
    return None


def chip_number(target: str) -> int:
    """The number in a target's name.

    >>> chip_number("sm_90a"), chip_number("sm_120f")
    (90, 120)
    """
    return int(target.removeprefix("sm_").rstrip("af"))


def assembles_for(module_target: str, target: str) -> bool:
    """Whether the assembler makes code for a target from a module with another `.target`.

    PTX for a plain target assembles for it and all later ones, PTX for an architecture (a) only for itself,
    PTX for a family (f) for later chips of that family.

    >>> assembles_for("sm_80", "sm_90a"), assembles_for("sm_80", "sm_75"), assembles_for("sm_90a", "sm_100a")
    (True, False, False)
    >>> assembles_for("sm_100f", "sm_103"), assembles_for("sm_100f", "sm_120f")
    (True, False)
    """
    module_chip, chip = chip_number(module_target), chip_number(target)
    if module_target.endswith("a"):
        return module_target == target
    if module_target.endswith("f"):
        return module_chip <= chip and module_chip // 10 == chip // 10
    return module_chip <= chip


def max_shared(target: str) -> int:
    """The shared memory that a block may have on a target, in bytes.

    >>> max_shared("sm_90a"), max_shared("sm_120f")
    (232448, 101376)
    """
    return ALL_CHIPS[target.rstrip("af")].shared << 10


def chip_of_target(target: str) -> str | None:
    """The chip whose arithmetic a target has; None if nothing is known about it.

    >>> chip_of_target("sm_90a"), chip_of_target("sm_86"), chip_of_target("sm_121a"), chip_of_target("sm_52")
    ('sm_90', 'sm_86', 'sm_120', None)
    """
    name = as_text(target, "target").rstrip("af")
    if name in GENERATIONS:
        return name
    chip = ALL_CHIPS.get(name)
    return None if chip is None else chip.code_of


def generation(target: str) -> str:
    """NVIDIA's name for the generation of a target; empty if there is none.

    >>> generation("sm_121a"), generation("sm_87"), generation("sm_107f")
    ('RTX Blackwell', 'Ampere', 'Rubin')
    """
    chip = ALL_CHIPS.get(as_text(target, "target").rstrip("af"))
    return "" if chip is None else chip.generation
