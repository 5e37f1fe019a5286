"""`tools.roads`: verdicts on readers' kernels with each compiler, as they are recorded and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import each
from tests.course.test_kernel_answers import NAMES, kernel_answers
from tools import roads

KEPT = json.loads(roads.RECORD.read_text(encoding="utf-8"))


def test_the_page_shows_the_record() -> None:
    assert roads.shown(KEPT) in roads.PAGE.read_text(encoding="utf-8")
    assert [*KEPT["answers"]] == NAMES and [*KEPT["roads"]] == [*roads.ROADS]


@each("road", [*roads.ROADS])
def test_every_exercise_was_checked_on_every_road(road: str) -> None:
    """NVRTC and ziglang have checked all answers, a browser at least a right and a wrong one."""
    for name, (expected, tried) in KEPT["roads"][road]["counts"].items():
        answers = sum(KEPT["answers"][name])
        assert expected == tried and tried >= (answers if road in ("nvrtc", "ziglang") else 2), name


def test_every_difference_has_a_cause() -> None:
    assert not KEPT["roads"]["nvrtc"]["differences"]
    for road in KEPT["roads"].values():
        for _, words, text, with_nvrtc in road["differences"]:
            assert roads.causes_of(text, with_nvrtc), (words, text, with_nvrtc)
    assert roads.causes_of("y is right", "y is replaced") == []


def test_a_road_begins_with_a_right_and_a_wrong_answer_of_each_exercise() -> None:
    ordered = roads.cases()
    assert len({case.key for case in ordered}) == sum(len(kernel_answers(name)) for name in NAMES)
    first = ordered[: 2 * len(NAMES)]
    assert [(case.name, case.answer.is_right) for case in first] == [
        (name, is_right) for name in NAMES for is_right in (True, False)
    ]


def test_a_run_goes_on_where_another_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(roads, "RUNS", tmp_path)
    all_cases = roads.cases()[:3]
    monkeypatch.setattr(roads, "cases", lambda: all_cases)
    (tmp_path / "nvrtc.json").write_text(json.dumps({all_cases[0].key: ["right", "", 1.0]}), encoding="utf-8")
    roads.run("nvrtc", 0)
    assert "NVRTC: 1 of 3 answers" in capsys.readouterr().out
