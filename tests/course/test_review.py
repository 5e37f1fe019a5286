"""Questions that come back: their answers as the library computes them, their days, and the widget."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

import ptxlab
from ptxlab import lessons, memory, sparsity
from ptxlab.course import progress_record as record
from ptxlab.course import review as module
from ptxlab.instruction import mma_instruction
from ptxlab.isa import tensor_operand
from ptxlab.isa.cute import CuteLayout
from ptxlab.memory.library_formats import scale_offset
from ptxlab.memory.swizzle import swizzled
from tests.cases import refuses

F16 = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
S8 = mma_instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
S4_SPARSE = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
S8_SPARSE = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32")
WGMMA = mma_instruction("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
WGMMA_SPARSE = mma_instruction("wgmma.mma_async.sp.sync.aligned.m64n64k64.s32.s8.s8")
NVFP4 = mma_instruction(
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
)
SCALES = NVFP4.operand("SFA")
TODAY = date(2026, 11, 19)


def _code(name: str, value: float) -> int:
    return int(np.asarray(ptxlab.dtype(name).encode(value)))


def _nibble(structure: str, *kept: int) -> int:
    found: list[int] = [
        code for code, groups in sparsity.STRUCTURES[structure].nibbles.items() if groups == kept
    ]
    return found[0]


def _has_infinity(name: str) -> bool:
    return bool(np.isinf(ptxlab.dtype(name).decode(np.arange(256)).astype(float)).any())


def _largest(name: str) -> float:
    dtype = ptxlab.dtype(name)
    return float(np.nanmax(dtype.decode(np.arange(1 << dtype.bits)).astype(float)))


def _compressed(elements: int, bits: int, structure: str) -> float:
    """Bytes of a compressed matrix with its metadata, as a part of those of the whole matrix."""
    stored, nibbles = sparsity.STRUCTURES[structure].compress(np.zeros((1, elements)))
    return float((stored.size * bits + 4 * nibbles.size) / (elements * bits))


#: What the library computes; the other answers are words, or sums that the question contains.
COMPUTED: dict[str, Callable[[], object]] = {
    "elements of D in a lane": lambda: F16.d.registers,
    "lane of an element of D": lambda: F16.d.where(5, 6)[0].lane,
    "first element of a register": lambda: "lower" if F16.a.where(0, 0)[0].low == 0 else "upper",
    "lane of an element of A": lambda: F16.a.where(10, 5)[0].lane,
    "registers of A": lambda: S8.a.registers,
    "groupID in B": lambda: "n" if F16.b.where(0, 1)[0].lane == 4 else "k",
    "0x3C as e4m3": lambda: ptxlab.dtype("e4m3").decode(0x3C),
    "infinity in eight bits": lambda: next(name for name in ("e4m3", "e5m2") if _has_infinity(name)),
    "-3 as s4": lambda: _code("s4", -3),
    "mma along K": lambda: 256 // F16.k,
    "bank of a byte": lambda: 400 // 4 % memory.BANKS,
    "column of a square array": lambda: memory.conflicts(np.arange(32) * 128).wavefronts,
    "column with padding": lambda: memory.conflicts(np.arange(32) * 132).wavefronts,
    "threads of a wgmma": lambda: WGMMA.lanes,
    "warp of a row of D": lambda: WGMMA.d.where(37, 0)[0].lane // 32,
    "registers of a wide D": lambda: WGMMA.d.registers,
    "swizzled vector": lambda: swizzled(np.array([5 * 128 + 3 * 16]), 128)[0] % 128 // 16,
    "next slice along K": lambda: WGMMA.k * 2 // 16,
    "bits of metadata": lambda: max(sparsity.STRUCTURES["2:4"].nibbles).bit_length(),
    "structure of four-bit elements": lambda: S4_SPARSE.structure and S4_SPARSE.structure.name,
    "stored elements of a row": lambda: sparsity.STRUCTURES["2:4"].compress(np.zeros((1, 64)))[0].size,
    "nibble of elements 0 and 3": lambda: _nibble("2:4", 0, 3),
    "nibble of the second tf32": lambda: _nibble("1:2", 1),
    "registers of compressed A in four bits": lambda: S4_SPARSE.a.registers,
    "lanes of selector 1": lambda: S4_SPARSE.operand("E").where(0, 0)[1].lane,
    "pairs of eight columns": lambda: sparsity.STRUCTURES["4:8"].keep,
    "bits of tf32": lambda: 32 - ptxlab.dtype("tf32").ignored_bits,
    "column before compression": lambda: 12 * S8_SPARSE.a_dense.shape[1] // S8_SPARSE.a.shape[1],
    "registers of compressed A in eight bits": lambda: S8_SPARSE.a.registers,
    "K of a sparse wgmma": lambda: WGMMA_SPARSE.k,
    "threads with metadata": lambda: len(
        {WGMMA_SPARSE.operand("E").where(row, chunk)[0].lane for row in range(64) for chunk in range(16)}
    ),
    "size of a pruned f16 matrix": lambda: 16 * _compressed(64, 16, "2:4"),
    "size of a pruned 8-bit matrix": lambda: 16 * _compressed(64, 8, "2:4"),
    "sixteen ones": lambda: ptxlab.matmul(
        np.ones((16, 16)), np.ones((16, 8)), np.full((16, 8), 2.0**24), instruction=F16, model="sm_90"
    )[0, 0],
    "largest e2m1": lambda: _largest("e2m1"),
    "elements of a scale factor": lambda: NVFP4.k // SCALES.shape[1],
    "lanes of a warp": lambda: 6 % 4 * 32,
    "lanes of tensor memory": lambda: tensor_operand.LANES,
    "scale factors of a row": lambda: SCALES.shape[1],
    "bits of an nvfp4 element": lambda: NVFP4.a.dtype.bits
    + SCALES.dtype.bits * SCALES.shape[1] / NVFP4.k,
    "lane of a scale factor": lambda: scale_offset(70, 0, columns=4) // 16,
    "largest scale factor": lambda: _largest("ue4m3"),
    "index in a CuTe layout": lambda: CuteLayout.read("(4,2):(1,8)")(5),
    "wgmma of a dot": lambda: 64 // WGMMA.k,
}  # fmt: skip


def test_answers_are_what_the_library_computes() -> None:
    by_name = {question.name: question for rows in module.questions().values() for question in rows}
    for name, compute in COMPUTED.items():
        assert compute() == by_name[name].answers[0], name


def test_every_lesson_has_three_questions() -> None:
    with_exercises = {lesson.slug for lesson in lessons.LESSONS if lesson.exercises}
    assert set(module.questions()) == with_exercises
    names = [question.name for rows in module.questions().values() for question in rows]
    assert len(names) == len(set(names)) >= 3 * len(with_exercises)
    for slug, rows in module.questions().items():
        assert len(rows) >= 3, slug
        for question in rows:
            assert question.text[-1] in "?)" and len(question.text) < 200, question.text
            assert question.reason.endswith(".") and len(question.reason) < 180, question.reason
            for answer in question.answers:
                assert question.check(answer) and question.check(f" {answer} "), question.name
            wrong = question.check("something else" if isinstance(question.answers[0], str) else -77)
            assert wrong.state == "wrong" and question.reason in wrong.text, question.name
            assert question.check(...).state == question.check("").state == "not yet", question.name


def test_numbers_as_readers_type_them() -> None:
    (question,) = [
        q for q in module.questions()["metadata-and-selector"] if q.name == "nibble of elements 0 and 3"
    ]
    for text in ("0b1100", "12", "0xC", "12.0", np.uint8(12)):
        assert question.check(text), text
    assert question.check("twelve").state == question.check(True).state == "not yet"
    assert "`0b1100`" in question.check(3).text


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A reader who has done half of lesson 01; `day(3)` is three days later."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("PTXLAB_PROGRESS", str(path))
    monkeypatch.setattr(record, "_unwritten", {})
    exercises = _exercises("fragments")
    done = exercises[: (len(exercises) + 1) // 2]
    path.write_text(json.dumps({name: {"state": "right", "tries": 1} for name in done}))

    def go_to(number: int) -> None:
        monkeypatch.setattr(module, "_today", lambda: TODAY + timedelta(number))

    go_to(0)
    return go_to


def _exercises(slug: str) -> list[str]:
    (lesson,) = [lesson for lesson in lessons.LESSONS if lesson.slug == slug]
    return [exercise.name for exercise in lesson.exercises]


def _answer_all(right: bool) -> list[str]:
    """The questions of a review, all answered."""
    by_text = {question.text: question for rows in module.questions().values() for question in rows}
    review, asked = lessons.review(), []
    while review.question:
        asked.append(review.question)
        answers = by_text[review.question].answers
        review.answer(answers[0] if right else -5 if isinstance(answers[0], int) else "neither")
    return asked


def test_right_answers_come_back_later_and_later(day: Callable[[int], None]) -> None:
    asked = 0
    for interval in (0, *module.INTERVALS, 60):
        if interval:
            day(asked + interval - 1)
            assert not lessons.review().question
            assert f"due on {TODAY + timedelta(asked + interval)}." in repr(lessons.review())
        asked += interval
        day(asked)
        assert len(_answer_all(right=True)) == 3


def test_a_wrong_answer_starts_again(day: Callable[[int], None]) -> None:
    _answer_all(right=True)
    day(1)
    _answer_all(right=False)
    day(2)
    assert len(_answer_all(right=True)) == 3
    entries = [entry for name, entry in record.recorded().items() if name.startswith("review: ")]
    assert [entry["box"] for entry in entries] == [2, 2, 2]
    assert {entry["tries"] for entry in entries} == {3}
    assert {entry["due"] for entry in entries} == {str(TODAY + timedelta(2 + 3))}


def test_which_questions_a_review_has(day: Callable[[int], None]) -> None:
    for name in _exercises("mbarriers"):
        record.record(lessons.Verdict(name, "right", ""))
    texts = {slug: [question.text for question in rows] for slug, rows in module.questions().items()}
    review = lessons.review(3)
    assert review.question == texts["fragments"][0]
    assert not review.answer(...) and review.question == texts["fragments"][0]
    assert review.answer(10) and review.question == texts["mbarriers"][0]
    assert not review.answer("1") and "24,576" in review.verdicts[-1].text
    assert review.question == texts["fragments"][1] and "Question 3 of 3" in repr(review)
    review.answer(4)
    assert repr(review) == "2 of 3 right. More questions are due today."
    refuses("this review is over; lessons.review.. starts another", review.answer, 3)
    refuses("count: found 0; a review has at least 1 question", lessons.review, 0)


def test_progress_is_as_it_was(day: Callable[[int], None]) -> None:
    """Questions are no exercises; the exercises stay, and `forget` forgets both."""
    before = lessons.progress().done
    _answer_all(right=True)
    assert lessons.progress().done == before > 0
    lessons.forget()
    assert record.recorded() == {} and "There is none yet" in repr(lessons.review())


@pytest.mark.parametrize("entry", [{"box": "two", "due": "tomorrow"}, {"box": -3, "due": 7}, {"box": True}])
def test_a_damaged_day_means_today(day: Callable[[int], None], entry: dict[str, object]) -> None:
    path = record.progress_file()
    entries = json.loads(path.read_text())
    name = module.questions()["fragments"][0].name
    path.write_text(json.dumps({**entries, f"review: {name}": {"state": "right", "tries": 1, **entry}}))
    assert len(_answer_all(right=True)) == 3
    assert record.recorded()[f"review: {name}"]["box"] == 1


def test_the_widget_answers_and_goes_on(day: Callable[[int], None]) -> None:
    pytest.importorskip("ipywidgets")
    from ptxlab.course.review_widget import ReviewWidget

    widget = ReviewWidget(lessons.review())
    assert "Question 1 of 3" in widget.asked.value and "Question 1 of 3" in widget.static_html()
    widget.button.click()  # without an answer
    assert "not yet" in widget.judged.value and "Question 1 of 3" in widget.asked.value
    widget.field.value = "10"
    widget.field._handle_custom_msg({"event": "submit"}, [])  # Enter
    assert "right" in widget.judged.value and widget.button.description == "Next"
    for text in ("5", "n"):
        widget.button.click()
        widget.field.value = text
        widget.button.click()
    assert widget.button.description == "Finish"
    widget.button.click()
    assert "2 of 3 right." in widget.asked.value and list(widget.children) == [widget.asked]
