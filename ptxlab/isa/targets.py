"""Versions of the PTX ISA and targets of the assembler, the generations behind them, and NVIDIA's names."""

from __future__ import annotations

import re
from typing import NamedTuple

from .._util.arguments import as_text
from ..errors import PtxlabError, listing, quoted


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
    known = [version for since, version in CUDA_RELEASES.items() if since <= release]
    return max(known, default=PtxVersion(0, 0))


def cuda_release(version: PtxVersion) -> str:
    """The first CUDA release, of those since 12.0, whose compiler knows a version of PTX.

    >>> cuda_release(PtxVersion(9, 4)), cuda_release(PtxVersion(7, 1))
    ('13.4', '12.0')
    """
    major, minor = min(release for release, known in CUDA_RELEASES.items() if known >= version)
    return f"{major}.{minor}"


#: Every target of the newest assembler, in its spelling, and the PTX ISA that introduced it ("PTX Module
#: Directives: .target"). The plain target of a chip comes first, then a (this chip only), f (family).
TARGET_VERSIONS: dict[str, PtxVersion] = {
    "sm_75": PtxVersion(6, 3),
    "sm_80": PtxVersion(7, 0),
    "sm_86": PtxVersion(7, 1),
    "sm_87": PtxVersion(7, 4),
    "sm_88": PtxVersion(9, 0),
    "sm_89": PtxVersion(7, 8),
    "sm_90": PtxVersion(7, 8), "sm_90a": PtxVersion(8, 0),
    "sm_100": PtxVersion(8, 6), "sm_100a": PtxVersion(8, 6), "sm_100f": PtxVersion(8, 8),
    "sm_103": PtxVersion(8, 8), "sm_103a": PtxVersion(8, 8), "sm_103f": PtxVersion(8, 8),
    "sm_107": PtxVersion(9, 4), "sm_107a": PtxVersion(9, 4), "sm_107f": PtxVersion(9, 4),
    "sm_110": PtxVersion(9, 0), "sm_110a": PtxVersion(9, 0), "sm_110f": PtxVersion(9, 0),
    "sm_120": PtxVersion(8, 7), "sm_120a": PtxVersion(8, 7), "sm_120f": PtxVersion(8, 8),
    "sm_121": PtxVersion(8, 8), "sm_121a": PtxVersion(8, 8), "sm_121f": PtxVersion(8, 8),
}  # fmt: skip

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

#: The generation of each chip, in NVIDIA's words; a chip is what `model=` names.
GENERATIONS: dict[str, str] = {
    "sm_70": "Volta", "sm_75": "Turing", "sm_80": "Ampere", "sm_86": "Ampere", "sm_89": "Ada",
    "sm_90": "Hopper", "sm_100": "Blackwell", "sm_120": "RTX Blackwell",
}  # fmt: skip

#: For each generation since Turing one chip, and the target that has all of its instructions.
CHIPS: dict[str, str] = {
    "sm_75": "sm_75",
    "sm_80": "sm_80",
    "sm_89": "sm_89",
    "sm_90": "sm_90a",
    "sm_100": "sm_100a",
    "sm_120": "sm_120a",
}

#: Well-known products with each target, by NVIDIA's names without "NVIDIA" and "GeForce".
PRODUCTS: dict[str, tuple[str, ...]] = {
    "sm_75": ("T4",), "sm_80": ("A100",), "sm_86": ("A10", "RTX 3090"), "sm_87": ("Jetson Orin",),
    "sm_89": ("L4", "L40", "RTX 4090"), "sm_90a": ("H100", "H200"), "sm_100a": ("B200",),
    "sm_103a": ("B300",), "sm_110a": ("Jetson Thor",), "sm_120a": ("RTX 5090",), "sm_121a": ("DGX Spark",),
}  # fmt: skip

#: Architectures whose arithmetic has no model yet: they have a name, but no chip in GENERATIONS.
_WITHOUT_MODEL = {"sm_107": "Rubin"}

#: Chips for which the compiler emits the machine code of another chip.
_COMPILED_AS = {
    "sm_87": "sm_80",
    "sm_88": "sm_80",
    "sm_103": "sm_100",
    "sm_110": "sm_100",
    "sm_121": "sm_120",
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
    having = _target_of_product(target) if isinstance(target, str) else None
    if having is not None:
        return f"unknown target {quoted(target)}; that of the {having[1]} is {having[0]}"
    return f"unknown target {quoted(target)}; known are {listing(TARGETS, 30)}"


def _target_of_product(text: str) -> tuple[str, str] | None:
    """The target of a product, and the product's name as NVIDIA writes it."""
    word = re.sub(r"nvidia|geforce|\W|_", "", text.lower())
    for target, products in PRODUCTS.items():
        for product in products:
            if word == product.lower().replace(" ", ""):
                return target, product
    return None


def chip_number(target: str) -> int:
    """The number in a target's name.

    >>> chip_number("sm_90a"), chip_number("sm_120f")
    (90, 120)
    """
    return int(target.removeprefix("sm_").rstrip("af"))


def assembles_for(module_target: str, target: str) -> bool:
    """Whether the assembler makes code for a target of PTX whose `.target` is another.

    PTX of a plain target is for it and all later ones, that of an architecture (a) for itself only, that of a
    family (f) for later chips of its family.

    >>> assembles_for("sm_80", "sm_90a"), assembles_for("sm_80", "sm_75"), assembles_for("sm_90a", "sm_100a")
    (True, False, False)
    >>> assembles_for("sm_100f", "sm_103"), assembles_for("sm_100f", "sm_120f")
    (True, False)
    """
    own, other = chip_number(module_target), chip_number(target)
    if module_target.endswith("a"):
        return module_target == target
    if module_target.endswith("f"):
        return own <= other and own // 10 == other // 10
    return own <= other


def chip_of_target(target: str) -> str | None:
    """The chip whose arithmetic a target has; None if nothing is known about it.

    >>> chip_of_target("sm_90a"), chip_of_target("sm_86"), chip_of_target("sm_121a"), chip_of_target("sm_52")
    ('sm_90', 'sm_86', 'sm_120', None)
    """
    chip = as_text(target, "target").rstrip("af")
    return chip if chip in GENERATIONS else _COMPILED_AS.get(chip)


def generation(target: str) -> str:
    """NVIDIA's name for the generation of a target; empty if there is none.

    >>> generation("sm_121a"), generation("sm_87"), generation("sm_107f")
    ('RTX Blackwell', 'Ampere', 'Rubin')
    """
    chip = as_text(target, "target").rstrip("af")
    if chip in _WITHOUT_MODEL:
        return _WITHOUT_MODEL[chip]
    return GENERATIONS.get(chip_of_target(target) or "", "")
