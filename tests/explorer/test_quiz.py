"""The quiz: answers against the layouts themselves, for forms of every family; hostile texts are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.explorer.edits import FillMatrix, SetCodes, SetOption
from ptxlab.explorer.quiz.quiz import (
    KINDS,
    Quiz,
    QuizVerdict,
    Score,
    ShortQuestion,
    choose_questions,
    draw_questions,
    kinds_of,
    parse_question,
    saved_questions,
)
from ptxlab.explorer.quiz.quiz_question import NamedCell, QuizQuestion
from ptxlab.explorer.state import ExplorerState
from tests.cases import each, refuses
from tests.sampling import one_in

S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"


def state_of(name: str, seed: int = 0) -> ExplorerState:
    return ExplorerState(ptxlab.instruction(name), seed)


def forms() -> Iterator[Any]:
    """A few of every family that multiplies matrices, the same each time."""
    random = np.random.default_rng(11)
    for family in ("mma", "mma.sp", "wgmma", "wgmma.sp", "wmma"):
        members = [form for form in ptxlab.catalog(family=family) if hasattr(form, "k")]
        for index in random.choice(len(members), 5, replace=False):
            yield members[index]
    for name in (S4, SPARSE, SCALED, "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"):
        yield ptxlab.instruction(name)


FORMS = {form.mnemonic: form for form in forms()}


def expected_holders(state: ExplorerState, name: str, row: int, column: int) -> set[tuple[int, int]]:
    """(lane, element) that hold a cell, straight from the layout."""
    ins = state.ins
    operand = {"stored": ins.a}.get(name) or ins.operand(name)
    if name == "A" and ins.sparse:
        # the compressed column, by looking for a probe that expands to this cell
        stored = np.arange(1, ins.a.shape[0] * ins.a.shape[1] + 1).reshape(ins.a.shape)
        dense = ins.expand(stored % 15 + 1, state.codes("E")) != 0
        column = int(dense[row, :column].sum())
    if name in ("E", "SFA", "SFB"):
        places = np.argwhere((operand.layout.coords() == (row, column)).all(axis=-1))
        return {tuple(places[state.operation.copy_index(name)].tolist())}
    coords = operand.layout.coords()
    return {tuple(holder) for holder in np.argwhere((coords == (row, column)).all(axis=-1)).tolist()}


def judge_independently(state: ExplorerState, question: QuizQuestion) -> None:
    ins, answers = state.ins, question.answers
    kind = question.name.split()[0]
    if kind == "holds":
        name, element = re.findall(r"([a-z]+)(\d+)", question.element)[0]
        operand = ins.operand(name.upper())
        row, column = operand.layout.coords()[question.lane, int(element)]
        assert answers[0] == str(
            NamedCell("stored" if name == "a" and ins.sparse else name.upper(), row, column)
        )
        return
    cell = name, row, column = question.marked[0]
    if kind == "where":
        numbers = [(text, *map(int, re.findall(r"\d+", text))) for text in answers]
        elements = {(lane, element) for text, lane, element in numbers if "register" not in text}
        assert elements == expected_holders(state, *cell)
        operand = ins.operand("A" if name == "stored" else name)
        registers = {(lane, register) for text, lane, register in numbers if "register" in text}
        assert registers == {(lane, element // operand.elements_per_register) for lane, element in elements}
    elif kind == "nibble":
        assert answers == (f"E[{row}] chunk {column * ins.e.shape[1] // ins.k}",)
    elif kind == "metadata":
        # by its own definition: the nibble that makes expand put the elements where they are
        nibbles = state.codes("E").copy()
        nibbles[row, column] = int(answers[0], 2)
        assert np.array_equal(ins.expand(state.codes("stored"), nibbles), state.codes("A"))
    elif kind == "value":
        assert float(answers[0]) == float(state.values("D")[row, column])
    elif kind == "change":
        codes = state.codes("A").copy()
        codes[row, column] = ins.a_dense.dtype.encode(float(question.name.split()[3]))
        other = ExplorerState(ins, state.seed)
        SetCodes("A", codes).apply(other)
        assert np.array_equal(other.codes("B"), state.codes("B"))
        assert float(answers[0]) == float(other.values("D")[question.marked[1][1:]])
    elif kind == "code":
        assert {int(answer, 0) for answer in answers} == {int(state.codes(name)[row, column])}
    else:
        raise AssertionError(question)


def wrong_answers(question: QuizQuestion) -> Iterator[str]:
    """Answers that can be read and are not right."""
    kind, answers = question.name.split()[0], question.answers
    if kind == "where":
        for lane in range(4):
            if not any(answer.startswith(f"lane {lane} ") for answer in answers):
                yield f"lane {lane} register 0"
    elif kind in ("holds", "nibble"):
        name = "E" if kind == "nibble" else question.example.partition("[")[0]
        for cell in (NamedCell(name, 0, 0), NamedCell(name, 0, 1)):
            if str(cell) not in answers:
                yield str(cell)
    elif kind == "metadata":
        yield from (f"0b{nibble:04b}" for nibble in range(16) if f"0b{nibble:04b}" not in answers)
    elif kind == "code":
        yield "0b0" if int(answers[0], 0) else "0b1"
    else:
        yield "2" if float(answers[0]) != 2 else "1"


def short(text: str) -> ShortQuestion:
    return ShortQuestion(*text.split(" ", 1))


def answered(state: ExplorerState, question: str, answer: str) -> QuizVerdict:
    return Quiz(state, [short(question)]).answer(answer)


@each("mnemonic", one_in(4, list(FORMS)))
@pytest.mark.slow
def test_questions_of_every_family(mnemonic: str) -> None:
    """Every kind that makes sense is asked; right answers are taken, wrong ones are refused and explained."""
    state = ExplorerState(FORMS[mnemonic], seed=3)
    kinds = kinds_of(state)
    assert {"where", "holds", "change"} <= set(kinds)
    assert ({"nibble", "metadata"} <= set(kinds)) == state.ins.sparse
    questions = draw_questions(state, kinds, 3 * len(kinds), np.random.default_rng(5))
    assert {question.kind for question in questions} == set(kinds)
    for short in questions:
        question = short.ask(state)
        judge_independently(state, question)
        if question.name.split()[0] not in ("change", "value"):  # whose answers are single digits
            assert not any(answer in f"{question.text} {question.hint}" for answer in question.answers)
        for answer in question.answers:
            verdict = answered(state, short.text, answer)
            assert verdict.right and verdict.sentence == f"Right. {question.reason}"
        for answer in wrong_answers(question):
            verdict = answered(state, short.text, answer)
            assert not verdict.right
            assert verdict.sentence.startswith("No") and verdict.sentence.endswith(question.reason)
        assert parse_question(state, short.text, np.random.default_rng(0)) == short
        assert short.text == question.name
        for cell in (*question.marked, *question.masked, *question.cells):
            rows, columns = state.operation.operand(cell.name).shape
            assert 0 <= cell.row < rows and 0 <= cell.column < columns


def test_shared_memory_and_c_are_not_asked_for_lanes() -> None:
    state = state_of("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16")
    assert KINDS["where"].names(state) == KINDS["holds"].names(state) == ("A", "D")
    refuses("B is in shared memory: no lane holds it", choose_questions, state, "where B[0][0]")
    refuses("ask about D", choose_questions, state, "where C[0][0]")
    question = ShortQuestion("where", "D[40][20]").ask(state)
    assert question.answers[0] == "thread 66 register 10"
    assert question.reason.startswith(
        "D[40][20] is d10 of lane 2 of warp 2 (thread 66): register 10, bits 31..0. "
    )
    for same in ("warp 2 lane 2", "lane 66", "warp 2, lane 2", "lane 2 of warp 2 (thread 66)"):
        assert answered(state, "where D[40][20]", f"{same} register 10").right
    assert not answered(state, "where D[40][20]", "lane 66 register 11").right


def test_values_are_asked_where_few_products_are_added() -> None:
    state = state_of(S4)
    assert "value" not in kinds_of(state)
    FillMatrix("A", "identity").apply(state)
    assert "value" in kinds_of(state)
    question = ShortQuestion("value", "D[3][5]").ask(state)
    assert question.answers == (str(int(state.values("B")[3, 5])),)
    assert question.masked == (("D", 3, 5),)
    (chosen,) = choose_questions(state_of(S4), "value D[3][5]")
    assert chosen.text == "value D[3][5]"


def test_the_selector_decides_where_metadata_is_read() -> None:
    name = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
    places = []
    for selector in (0, 1):
        state = state_of(name)
        SetOption("selector", selector).apply(state)
        question = ShortQuestion("where", "E[3] chunk 2").ask(state)
        assert f"selector {selector}" in question.text
        places.append(question.answers)
        judge_independently(state, question)
    assert places[0] != places[1]


def test_a_zero_that_is_not_stored_is_not_asked_for() -> None:
    state = state_of(SPARSE)
    stored = state.operation.stored_columns()[0].tolist()
    missing = next(column for column in range(64) if column not in stored)
    with pytest.raises(PtxlabError, match=rf"A\[0\]\[{missing}\] is not stored: nibble 0b"):
        choose_questions(state, f"where A[0][{missing}]")
    assert answered(state, f"nibble A[0][{missing}]", f"E[0] chunk {missing // 8}").right


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where A[9][37]", "where A[9][37]"),
        ("Where is a[9][37]?", "where A[9][37]"),
        ("where A 9 37", "where A[9][37]"),
        ("holds lane 14 d3", "holds lane 14 d3"),
        ("what does lane 14 hold?", "holds lane 14 D"),
        ("holds lane 14 B", "holds lane 14 B"),
        ("what is D[3][5]?", "value D[3][5]"),
        ("code B[1][2]", "code B[1][2]"),
        ("change A[9][37] to 4 D[9][2]", "change A[9][37] to 4 D[9][2]"),
    ],
)
def test_questions_as_teachers_write_them(text: str, expected: str) -> None:
    question = short(expected)
    assert choose_questions(state_of(S4), [text]) == choose_questions(state_of(S4), text) == (question,)
    assert (
        choose_questions(state_of(S4), [question]) == choose_questions(state_of(S4), question) == (question,)
    )


@each(
    "arguments, sentence",
    [
        ({"questions": "where"}, None),
        ({"questions": ["where A", "where B"]}, None),
        ({"questions": "who A[9][37]"}, "a question begins with where, holds"),
        ({"questions": "where A[9][99]"}, r"'where A\[9\]\[99\]': A: column 99 does not exist"),
        ({"questions": "where Q[0][0]"}, "there is no matrix 'Q'; there are A, B, D"),
        ({"questions": "holds lane 99 d3"}, "lane 99 does not exist; lanes go from 0 to 31"),
        ({"questions": "holds lane 1 d9"}, "element 9 does not exist"),
        ({"questions": f"holds lane 1 d{'9' * 5000}"}, "element 999999999 does not exist"),
        ({"questions": "nibble A[9][37]"}, "is dense: it has no metadata"),
        ({"questions": "change A[9][37] to 99 D[9][2]"}, r"A\[9\]\[37\]: found 99; s4 holds -8..7"),
        ({"questions": "change A[9][37] to 4 D[8][2]"}, "ask about a cell of row 9 of D"),
        ({"questions": []}, "they are a list of up to 100 texts"),
        ({"questions": 7}, "they are a list of up to 100 texts"),
        ({"questions": [7]}, "found 7"),
        ({"questions": "where A", "count": 3}, "either questions, or kinds and a count"),
        ({"kinds": ["where", "who"]}, "kinds: found 'who'; the kinds are where, holds"),
        ({"kinds": ["nibble"]}, "has no nibble to ask about"),
        ({"kinds": "where"}, "it takes a sequence of names"),
        ({"kinds": []}, "kinds: found none"),
        ({"count": 0}, "count: found 0; a quiz has 1 to 100 questions"),
        ({"count": 2.5}, "count: found 2.5"),
        ({"seed": -1}, "seed: found -1"),
    ],
)
def test_what_is_no_question_is_refused(arguments: dict[str, Any], sentence: str | None) -> None:
    if sentence is None:
        assert choose_questions(state_of(S4), **arguments)
        return
    with pytest.raises(PtxlabError, match=sentence):
        choose_questions(state_of(S4), **arguments)


def test_a_seed_asks_the_same() -> None:
    texts = [
        [question.text for question in choose_questions(state_of(SPARSE), count=12, seed=seed)]
        for seed in (4, 4, 5)
    ]
    assert texts[0] == texts[1] != texts[2]
    assert len(set(texts[0])) == 12


HOSTILE = (
    "", " ", "lane", "lane 99 register 0", "lane 4 register 99", "lane 4 a999", "lane 4 b0", "x" * 5000,
    "A[9]", "A[99][0]", "Q[0][0]", "0xzz", "0b", "1e999", "nan", "-", "\u0663", "\0", "9" * 400,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_answer_gets_a_sentence_and_does_not_count(kind: str) -> None:
    state = state_of(SPARSE)
    if kind in ("word", "thread", "field", "reach"):
        state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=16))
    quiz = Quiz(state, choose_questions(state, kind, seed=1))
    refused = 0
    for text in HOSTILE:
        sentence = ""
        try:
            assert not quiz.answer(text).right
            quiz.verdict = None
        except PtxlabError as error:
            sentence = str(error)
            refused += 1
        assert sentence == quiz.problem
        assert "\n" not in sentence and len(sentence) < 400
    assert refused > len(HOSTILE) // 2
    assert quiz.score.answered == len(HOSTILE) - refused
    refuses("answer", quiz.answer, 7)  # type: ignore[arg-type]


def test_the_course_of_a_quiz() -> None:
    state = state_of(S4)
    told: list[str] = []
    questions = choose_questions(
        state, ["where A[9][37]", "holds lane 14 d3", "code A[0][0]", "where B[0][0]"]
    )
    quiz = Quiz(state, questions, lambda: told.append(str(quiz.score)))
    assert quiz.answer("lane 4 a29").right
    refuses("has been answered", quiz.answer, "lane 4 a29")
    quiz.next()
    verdict = quiz.answer("D[3][5]")
    assert not verdict.right
    assert verdict.sentence.startswith("No: D[3][5] is d1 of lane 14. D[11][5] is d3 of lane 14")
    assert verdict.cells == (("D", 11, 5),) and verdict.chosen == (("D", 3, 5),)
    quiz.next()
    assert quiz.skip().sentence.startswith("Skipped. A[0][0] = ")
    quiz.next()
    quiz.next()
    assert quiz.question is None
    answers = quiz.score.answers
    assert quiz.score == Score(right=1, answered=2, skipped=2, count=4, answers=answers)
    assert [(answer.question.text, answer.text, answer.right) for answer in answers] == [
        ("where A[9][37]", "lane 4 a29", True),
        ("holds lane 14 d3", "D[3][5]", False),
    ]
    assert told == ["1 of 1", "1 of 1", "1 of 2", "1 of 2", "1 of 2", "1 of 2", "1 of 2"]
    for act in (quiz.next, quiz.skip, lambda: quiz.answer("lane 0 register 0")):
        refuses("the quiz is over", act)


def test_an_edit_after_the_answer_leaves_what_was_asked() -> None:
    """The cell may no longer be stored; while the question about it is open, it is skipped."""
    for answers in (["lane 31 register 1"], []):
        state = state_of(SPARSE)
        moved = SetCodes("A", np.roll(state.codes("A"), 8, axis=1))  # each chunk to the next
        stored = set(state.operation.stored_columns()[0].tolist())
        kept = {(column + 8) % 64 for column in stored}
        quiz = Quiz(state, choose_questions(state, [f"where A[0][{min(stored - kept)}]", "code B[0][0]"]))
        for answer in answers:
            quiz.answer(answer)
        before = quiz.serialised()
        moved.apply(state)
        quiz.refresh()
        after = quiz.serialised()
        assert after == before if answers else after["number"] == 2


def test_the_page_does_not_get_the_answer_before_the_verdict() -> None:
    state = state_of(S4)
    quiz = Quiz(state, choose_questions(state, "holds lane 14 d3"))
    data = quiz.serialised()
    assert data["verdict"] == {} and "[11][5]" not in str(data)
    quiz.answer("D[11][5]")
    assert data != quiz.serialised()
    assert quiz.serialised()["verdict"]["cells"] == [{"name": "D", "row": 11, "column": 5}]
    saved = saved_questions(state, quiz.questions)
    assert saved[0]["answers"] == ["D[11][5]"]


# -- in the widget ---------------------------------------------------------------------------------------


def test_in_the_explorer() -> None:
    pytest.importorskip("anywidget")
    ex = ptxlab.explore(SPARSE)
    scores: list[str] = []
    ex.observe(lambda change: scores.append(str(change.new)), "quiz_score")
    send = lambda **message: ex.page._handle_custom_msg(message, [])  # noqa: E731
    assert ex.view.quiz == {} and ex.quiz_score == Score()
    ex.quiz(["where D[9][3]", "metadata E[0] chunk 1"])
    assert ex.view.quiz["question"]["text"] == "Which lane, and which of its registers, holds D[9][3]?"
    send(type="answer_question", text="lane five")
    assert "name a lane and a register" in ex.view.quiz["problem"] and not ex.view.problem
    send(type="answer_question", text="lane 5 D register 3")
    assert ex.view.quiz["verdict"]["right"] and ex.view.quiz["right"] == 1
    send(type="next_question")
    nibble = int(ex.metadata[0, 1])
    send(type="answer_question", text=f"{nibble ^ 0b0101:04b}")
    assert not ex.view.quiz["verdict"]["right"]
    assert str(ex.quiz_score) == "1 of 2" and scores[-1] == "1 of 2"
    with pytest.raises(PtxlabError, match="cannot be assigned"):
        ex.quiz_score = Score()
    send(type="stop_quiz")
    assert ex.view.quiz == {} and str(ex.quiz_score) == "1 of 2"
    send(type="next_question")
    assert "there is no quiz" in ex.view.problem
    send(type="start_quiz")
    assert ex.view.quiz["count"] == 5 and str(ex.quiz_score) == "0 of 0"
    ex.instruction = S4
    assert ex.view.quiz == {}
    ex.quiz(kinds=["holds"], count=2, seed=1)
    ex.stop_quiz()
    ex.close()


def test_a_question_that_an_edit_takes_away_is_passed_over() -> None:
    pytest.importorskip("anywidget")
    ex = ptxlab.explore(SPARSE)
    column = int(ex.state.operation.stored_columns()[9, 4])
    ex.quiz([f"where A[9][{column}]", "where D[9][3]"])
    values = np.zeros((16, 64))
    values[9, (column // 8) * 8 + np.array([2, 3, 4, 5] if column % 8 in (0, 1, 6, 7) else [0, 1, 6, 7])] = 1
    ex.A = values
    assert "D[9][3]" in ex.view.quiz["question"]["text"]
    assert ex.quiz_score.skipped == 1
    ex.close()
