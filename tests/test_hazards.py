"""Every hazard has a kernel that has it, and one that just avoids it; those of test_simulator have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxlab import PtxlabError
from ptxlab.kernels.checks import KINDS, Hazard
from ptxlab.kernels.simulator import HazardError

from .hazard_cases import HAZARDS, launch_of, variant

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "hazards.md"


def _hazards(name: str, fixed: bool = False, check: bool | str = True) -> list[Hazard]:
    grid, block, arguments, shared = launch_of(name)
    kernel = variant(name, fixed)
    try:
        return kernel.simulate(grid, block, *arguments, shared=shared, check=check).hazards
    except HazardError as error:
        return [] if error.hazard is None else [error.hazard]


@pytest.mark.parametrize("name", HAZARDS)
def test_found(name: str) -> None:
    """The broken kernel has this hazard, with the sentence of the docs; the fixed one has none."""
    hazards = _hazards(name)
    assert {hazard.kind for hazard in hazards} == {HAZARDS[name]}
    page = PAGE.read_text(encoding="utf-8")
    for hazard in hazards:
        assert hazard.sentence in page, "python -m tools.hazards writes the page"
        assert hazard.text and hazard.count and hazard.lanes and hazard.remedy and hazard.block == (0, 0, 0)
    assert _hazards(name, True) == []
    (first,) = _hazards(name, check="error")
    assert first.sentence in {hazard.sentence for hazard in hazards}


def test_every_kind_has_a_kernel() -> None:
    assert set(HAZARDS.values()) == set(KINDS)
    assert _hazards("reverse", check=False) == []
    with pytest.raises(PtxlabError, match="check='maybe': it is True, False or 'error'"):
        _hazards("reverse", check="maybe")
