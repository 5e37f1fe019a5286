"""Every hazard has a kernel that has it, and one that just avoids it; those of test_simulator have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxlab import PtxlabError
from ptxlab.kernels.checks import KINDS, Hazard

from .hazard_cases import HAZARDS, launch_of, variant

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "hazards.md"


def _hazards(name: str, fixed: bool = False, check: bool | str = True) -> list[Hazard]:
    grid, block, arguments = launch_of(name)
    return variant(name, fixed).simulate(grid, block, *arguments, check=check).hazards


@pytest.mark.parametrize("name", HAZARDS)
def test_found(name: str) -> None:
    """The broken kernel has this hazard, with the sentence of the docs; the fixed one has none."""
    hazards = _hazards(name)
    assert {hazard.kind for hazard in hazards} == {HAZARDS[name]}
    page = PAGE.read_text(encoding="utf-8")
    for hazard in hazards:
        assert hazard.sentence in page, "python -m tools.hazards writes the page"
        assert hazard.sentence.startswith(f"line {hazard.line}: ") and hazard.sentence.endswith(hazard.remedy)
        assert hazard.text and hazard.count and hazard.lanes and hazard.block == (0, 0, 0)
    assert _hazards(name, True) == []
    with pytest.raises(PtxlabError, match=r"^line \d+: ") as caught:
        _hazards(name, check="error")
    assert str(caught.value) in {hazard.sentence for hazard in hazards}


def test_every_kind_has_a_kernel() -> None:
    assert set(HAZARDS.values()) <= set(KINDS)
    assert _hazards("reverse", check=False) == []
    with pytest.raises(PtxlabError, match="check='maybe': it is True, False or 'error'"):
        _hazards("reverse", check="maybe")
