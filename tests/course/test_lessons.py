"""Exercises: right answers are right in any form, wrong ones get a hint that fits and gives nothing away."""

from __future__ import annotations

import json
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gemm, lessons
from ptxlab.course import checking, exercises, reader_kernels
from ptxlab.course.exercises import (
    a_product_in_four_bits,
    attention,
    epilogue,
    layouts_in_other_words,
    mbarriers,
    one_thread_multiplies,
    scale_factors_in_tensor_memory,
    shared_memory_and_banks,
    sparse_gemm,
    start_here,
    tensor_memory,
    what_goes_wrong,
    what_goes_wrong_asynchronously,
    what_the_chip_runs,
)
from ptxlab.course.exercises import from_instruction_to_gemm as gemm_ladder
from ptxlab.course.exercises import from_triton_to_registers as from_triton
from ptxlab.course.exercises import why_do_the_bits_differ as same_bits
from ptxlab.course.exercises import your_first_tensor_core_kernel as first_kernel
from ptxlab.course.syllabus import module_name
from ptxlab.lessons import EXERCISES, Exercise, Lesson, Verdict
from ptxlab.tcgen05_instruction import TensorInstruction
from tests.cases import each
from tests.course import RIGHT, SECRET, WRONG
from tests.processes import run_python
from tests.sampling import EXHAUSTIVE, every_third
from tests.texts import replaced
from tools.record import lesson_kernels as record_lesson_kernels


def test_every_exercise_is_covered() -> None:
    assert list(EXERCISES) == sorted(RIGHT) == list(WRONG)
    assert list(EXERCISES) == sorted(EXERCISES)


@each("lesson", [lesson for lesson in lessons.LESSONS if lesson.exercises])
def test_a_module_is_named_after_its_notebook(lesson: Lesson) -> None:
    (module,) = {sys.modules[exercise.judge.__module__] for exercise in lesson.exercises}
    assert module.__name__ == f"{exercises.__name__}.{module_name(lesson.slug)}"
    assert str(module.__doc__).startswith(f"Lesson {lesson.number}: ")


def test_every_module_is_of_a_lesson() -> None:
    modules = {module.name for module in pkgutil.iter_modules(exercises.__path__)}
    assert modules == {module_name(lesson.slug) for lesson in lessons.LESSONS if lesson.number}


@pytest.mark.slow
@each("name", EXERCISES)
def test_right_answers(name: str) -> None:
    for answer in RIGHT[name]:
        verdict = EXERCISES[name].check(answer)
        assert verdict.state == "right", (answer, verdict)
        assert verdict
        assert len(verdict.text) > 20, "a right answer is told why it is right"


def _sampled(answers: list[tuple[Any, str]], number: int) -> list[tuple[Any, str]]:
    """Every third of the answers that are run, kernels on the simulator and functions, and all others."""
    run = [
        answer
        for answer in answers
        if callable(answer[0]) or (isinstance(answer[0], str) and ";" in answer[0])
    ]
    return [*(answer for answer in answers if answer not in run), *every_third(run, number)]


@pytest.mark.slow
@each("name", EXERCISES)
def test_wrong_answers_get_the_hint_that_fits(name: str) -> None:
    hints = []
    for answer, word in _sampled(WRONG[name], list(EXERCISES).index(name)):
        verdict = EXERCISES[name].check(answer)
        assert verdict.state == "wrong"
        assert not verdict
        assert word in verdict.text, (answer, verdict)
        if name in SECRET:
            assert not re.search(SECRET[name], verdict.text), (answer, verdict)
        hints.append(verdict.text)
    assert len(set(hints)) >= min(3, len(hints)), "hints are aimed, not the same for all"


@each("name", EXERCISES)
@pytest.mark.slow
def test_an_unanswered_task_says_so(name: str) -> None:
    for answer in (..., (1, ...), [..., ...], lambda *_: ...):
        if callable(answer) and not EXERCISES[name].starter.startswith("def "):
            continue
        assert EXERCISES[name].check(answer).state == "not yet"


@each("name", EXERCISES)
@pytest.mark.slow
def test_nonsense_is_answered_with_the_form(name: str) -> None:
    for answer in (
        None,
        "many",
        1.5,
        object(),
        (1, 2, 3, 4, 5, 6, 7, "x"),
        {"a": 1},
        float("nan"),
        float("inf"),
    ):
        verdict = EXERCISES[name].check(answer)
        assert verdict.state == "wrong"
        assert verdict.text


@each("name", EXERCISES)
def test_a_cell_has_one_place_to_fill_in(name: str) -> None:
    exercise = EXERCISES[name]
    assert exercise.cell.count("...") == 1, "one place to fill in"
    assert exercise.cell.endswith(f'lessons.check("{name}", {exercise.subject})')
    space: dict[str, Any] = {"lessons": lessons}
    exec(exercise.starter, space)
    assert lessons.check(name, space[exercise.subject]).state == "not yet"
    assert "**" in exercise.task
    assert name in exercise.markdown


def test_verdict_renders_as_text_markdown_and_html() -> None:
    verdict = lessons.check("00.3", 4)
    assert repr(verdict).startswith("✗ 00.3 not quite: ")
    assert "`" not in repr(verdict)
    assert verdict._repr_markdown_().startswith("> **✗ 00.3 not quite.** ")
    assert (
        "<strong>✗ 00.3 not quite.</strong> That is the number of <em>registers</em>" in verdict._repr_html_()
    )
    assert isinstance(verdict, Verdict)
    assert isinstance(lessons.exercise("00.3"), Exercise)
    assert lessons.exercise("00.3")._repr_markdown_().startswith("### ✎ Exercise 00.3")


def test_kernels_of_lessons_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their PTX is stored, and gives what the compiled kernel gives; the exercises say what to install."""
    parts, sources = record_lesson_kernels.parts_and_sources()
    stored = {reader_kernels.digest(source) for source in sources}
    assert set(reader_kernels._stored()) == stored, "run `python -m tools.record lesson_kernels`"
    for name in ("MMA", "LOAD", "STORE", "LDMATRIX"):
        assert parts[name] == getattr(first_kernel, name)
    rng = np.random.default_rng(17)
    A, B = rng.normal(size=(2, 16, 32)).astype(np.float16)
    compiled, from_record = np.zeros((2, 16, 16), np.float32)
    reader_kernels.kernel(parts["GEMM"]).simulate((2, 1), 32, A, B, compiled, 16, 32)
    monkeypatch.setattr(reader_kernels, "compiler_version", _missing)
    monkeypatch.setattr(reader_kernels, "has_compiler", lambda: False)
    reader_kernels._say_whose_ptx.cache_clear()
    result = reader_kernels.kernel(parts["GEMM"]).simulate((2, 1), 32, A, B, from_record, 16, 32)
    assert result.source == parts["GEMM"]
    assert (from_record == compiled).all() and from_record.any()
    assert 'pip install "ptxlab[clang]"' in lessons.check("02.1", "{ }").text
    monkeypatch.setattr(reader_kernels, "in_a_tab", lambda: True)
    verdict = lessons.check("02.1", "{ }")
    assert "this tab has none" in verdict.text and verdict.state == "not yet"
    assert what_goes_wrong_asynchronously.broken(2).simulate().hazards[0].line == 13
    assert "The simulation stops." in what_goes_wrong.broken(5)._repr_html_()
    assert capsys.readouterr().out.count(" come with the PTX") == 1


def _missing() -> tuple[int, int]:
    raise PtxlabError("NVRTC is not installed")


def test_a_slider_has_a_unit_and_shows_its_step() -> None:
    slider = pytest.importorskip("ptxlab.course.slider").Slider
    played = slider(shared_memory_and_banks.eight_rows, unit="bytes", pitch=range(128, 161, 16))
    assert (played.label, played.names) == ("pitch", ["128", "144", "160"])
    assert played.captions == ["pitch 128 bytes", "pitch 144 bytes", "pitch 160 bytes"]
    played.set_state({"step": 1, "shown": "<script>"})
    assert played.value == 144 and "144 bytes apart" in played.shown, "the page chooses the step only"
    played.set_state({"step": 9})
    assert played.value == 160
    skipped = slider(one_thread_multiplies.masked, unit="columns", skip=range(1, 3))
    assert skipped.captions == ["skip 1 column", "skip 2 columns"]
    assert slider(epilogue.waiting, wait=epilogue.WAITS).captions[0] == "wait: wait_group 0"


@pytest.mark.slow
def test_pictures_for_every_value_of_their_sliders() -> None:
    ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    assert isinstance(ins, TensorInstruction)
    kernel = ins.kernel
    sliders: list[tuple[Callable[[Any], Any], Iterable[Any]]] = [
        (tensor_memory.sums, tensor_memory.TILES),
        (tensor_memory.allocated, range(32, 257, 32)),
        (tensor_memory.accessible, range(8)),
        (tensor_memory.data_path, tensor_memory.LAYOUTS),
        (tensor_memory.registers, tensor_memory.LOADS),
        (one_thread_multiplies.masked, range(1, 9)),
        (one_thread_multiplies.without, one_thread_multiplies.STEPS),
        (lambda part: one_thread_multiplies.part(kernel, part), one_thread_multiplies.PARTS),
        (scale_factors_in_tensor_memory.scale_words, (64, 128, 192, 256)),
        (a_product_in_four_bits.errors, range(-12, 13, 2)),
        (scale_factors_in_tensor_memory.sub_columns, range(0, 256, 32)),
        (a_product_in_four_bits.part_of_kernel, a_product_in_four_bits.PARTS),
        (layouts_in_other_words.three_ways, layouts_in_other_words.OPERANDS),
        (what_goes_wrong_asynchronously.phase, (512, 768, 1024)),
        (what_goes_wrong_asynchronously.without, what_goes_wrong_asynchronously.STEPS),
        (layouts_in_other_words.index_sum, range(32)),
        (layouts_in_other_words.in_memory, layouts_in_other_words.MEMORIES),
        (layouts_in_other_words.tiled_mma, layouts_in_other_words.WARPS),
        (layouts_in_other_words.bit_matrix, layouts_in_other_words.BITS),
        (epilogue.stores, epilogue.STORES),
        (epilogue.to_shared, epilogue.WAYS),
        (epilogue.waiting, epilogue.WAITS),
        (attention.step, range(1, 6)),
        (attention.rates, attention.ALL_KEYS),
        (attention.online, range(4)),
        (attention.causal_tiles, (32, 64, 128)),
        (attention.diagonal, range(32)),
        (attention.schedule, attention.SCHEDULES),
        (attention.part, attention.PARTS),
        (attention.broken, attention.BROKEN),
        (mbarriers.step, mbarriers.STEPS),
        (mbarriers.asked, mbarriers.PHASES),
        (mbarriers.ring, mbarriers.STAGES),
        (mbarriers.part, mbarriers.PARTS),
        (mbarriers.mistake, mbarriers.MISTAKES),
        (first_kernel.mistake, range(1, 6)),
        (gemm_ladder.over_time, range(1, 13)),
        (gemm_ladder.below_roofs, (1, 3, 7, 10)),
    ]
    for number, (draw, values) in enumerate(sliders):
        every = tuple(values)
        first = number % (len(every) - 1)
        neighbours = every[first : first + 2]
        pages = [draw(value)._repr_html_() for value in (every if EXHAUSTIVE else neighbours)]
        assert len(set(pages)) == len(pages) > 1, f"{draw}: every value has a picture of its own"
    shown, folded = first_kernel.mistake(1)._repr_html_().split("<details>")
    for text in first_kernel.MISTAKES[1]:
        assert text in folded and text not in shown


@pytest.mark.slow
@each("number", first_kernel.MISTAKES)
def test_the_wrong_line_of_a_mistake_gives_the_picture_of_it(number: int) -> None:
    """The lesson shows D as the emulator makes it; a kernel with that line stores the same."""
    words, wrong, right = first_kernel.MISTAKES[number]
    at = "group() * K + thread_in_group() * 2 + r * 8"
    source = first_kernel.MMA + first_kernel.LOAD + first_kernel.STORE + first_kernel._one()
    if number == 5:  # two loads in place of one
        source = source.replace(f"b[r] = *(const unsigned*)(B + {at});", f"{{ int at = {at}; {right} }}")
    assert source.count(right) == 1, words
    A, B = first_kernel.SMALL_NUMBERS
    by_columns, D = np.ascontiguousarray(B.T), np.zeros((16, 8), np.float32)
    result = reader_kernels.kernel(replaced(source, right, wrong)).simulate(
        1, 32, A, by_columns, D, np.zeros(8, np.float32)
    )
    assert not result.hazards
    (grid,) = first_kernel.mistake(number).picture.grids
    assert [float(cell.text) for cell in grid.cells] == D.ravel().tolist(), words


def test_exercise_23_5_states_the_counts_that_were_recorded() -> None:
    task = lessons.exercise("23.5").task
    blocks = {block.splitlines()[0]: block for block in what_the_chip_runs.RUNS.split("\n\n")}
    for form, target in what_the_chip_runs.CLASSIFIED:
        (line,) = (line for line in blocks[form].splitlines()[1:] if target in line.partition(":")[0])
        counts = line.split(": ")[-1].replace("| ", "and ")
        assert f"`{form}` for {target}: {counts}" in task


def test_rates_that_lessons_name_are_those_recorded() -> None:
    """Within the few percent by which one run of the benchmark differs from the next."""
    recorded = json.loads(
        (record_lesson_kernels.ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8")
    )["gemm"]["rows"]
    rows = {(row["name"], row["size"]): row for row in recorded}
    named = {}
    for row in gemm.ladder():
        at = rows[f"{row.number} {row.title}", gemm_ladder.SIZE]
        named[at["name"]] = (gemm_ladder.RATES[row.number], at["ours"])
        named["cuBLAS"] = (gemm_ladder.CUBLAS, at["library"])
    plain = rows["0 plain CUDA, f32", gemm_ladder.SIZE]
    named["plain CUDA"] = (start_here.PLAIN, plain["ours"])
    named["cuBLAS, f32"] = (start_here.BEST_PLAIN, plain["library"])
    for stages, rate in gemm_ladder.STAGE_RATES.items():
        name = f"9 specialised warps, {stages} stages"
        named[name] = (rate, rows[name, gemm_ladder.SIZE]["ours"])
    for kind, by_size in sparse_gemm.RATES.items():
        for size, (dense, sparse) in by_size.items():
            named[f"{kind} {size}"] = (dense, rows[kind, size]["ours"])
            named[f"sparse {kind} {size}"] = (sparse, rows[f"sparse {kind}", size]["ours"])
    for size, rate in sparse_gemm.LIBRARY.items():
        named[f"cuSPARSELt {size}"] = (rate, rows["sparse f16", size]["library"])
    for name, (said, measured) in named.items():
        assert said == pytest.approx(measured, rel=0.07), name


def test_recorded_profiles_are_those_of_the_rungs() -> None:
    """`python -m tools.record gemm_profiles` makes them anew; a source that has changed has other lines."""
    m, n, k = gemm_ladder.SHOWN
    for row in gemm.ladder():
        rung, made = gemm.rung(row.number, result="f16"), gemm_ladder.profile(row.number)
        assert made.grid.blocks == (rung.grid(m, n), 1, 1)
        assert sum(made.work.tensor.values()) == pytest.approx(m * n * k, rel=0.05)
        assert gemm_ladder.recorded()["sources"][str(row.number)] == reader_kernels.digest(rung.source)
    assert gemm_ladder.between_tiles(10) < 0.5 * gemm_ladder.between_tiles(9)


@pytest.mark.slow
@pytest.mark.needs("cuda.core")
def test_the_times_of_lesson_32_are_those_that_are_predicted() -> None:
    """One row of 1024 elements by eight warps a block, 1024 columns."""
    x, w, y = (np.zeros(shape, np.float32) for shape in ((1, 1024), (1024, 1024), (1, 1024)))
    kernel = reader_kernels.kernel(same_bits.PRODUCT)
    predicted = kernel.profile((1, 32), 256, x, w, y, 1024, 1024)
    assert predicted.microseconds == pytest.approx(same_bits.PREDICTED[8][1], rel=0.02)


def test_what_lesson_31_says_of_its_kernels() -> None:
    """Two loads come before the first product; only a scalar atomic whose result is used has a barrier."""
    result = from_triton.run("matmul", trace=True)
    assert result.trace is not None and not result.hazards and not result.conflicts
    steps = [step.instruction.opcode for step in result.trace.steps]
    before = steps[: next(at for at, opcode in enumerate(steps) if opcode.startswith("wgmma.mma"))]
    assert before.count("cp.async.cg.shared.global") == 2 * 2 * 4  # two iterations, two tiles, 64 rows
    dot = result.by_line()[from_triton.DOT].warps
    assert dot == min(
        result.by_line()[line].warps for line in range(from_triton.DOT - 3, from_triton.DOT + 2)
    )
    race = from_triton.run("add_up")
    (hazard,) = race.hazards
    assert {hazard.line, hazard.other_line} == {
        from_triton.SEEN,
        from_triton.line_of("tl.atomic_xchg(count"),
    }
    by_line = race.by_line()
    assert by_line[from_triton.line_of("tl.atomic_cas")].by_opcode["bar.sync"]
    assert not by_line[from_triton.line_of("tl.atomic_xchg(count")].by_opcode["bar.sync"]
    assert by_line[from_triton.SEEN].by_opcode["ld.global.b32"] == 4 * 4  # by every warp of every program


def test_attention_has_the_rates_that_were_recorded() -> None:
    file = record_lesson_kernels.ROOT / "benchmarks" / "results.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["attention"]["rows"]
    for row in rows:
        said = (attention.CAUSAL if row["causal"] else attention.ALL_KEYS)[row["sequence"]]
        assert said == {name: rate for name, rate in row.items() if name in said}
        assert all(0.00025 < error < 0.0003 for error in row["errors"].values())  # as the lesson says
    assert len(rows) == len(attention.CAUSAL) + len(attention.ALL_KEYS)


def test_what_lesson_15_says_of_its_kernels() -> None:
    """Only the order of blocks separates kernels 2 and 5; four of the changes do not change a bit of O."""
    q, k, v = attention.problem()
    turned = attention.simulate(2, q, *(attention.reordered(matrix, [3, 2, 1, 0]) for matrix in (k, v)))
    assert turned.O.tobytes() == attention.unchanged(5).tobytes() != attention.unchanged(2).tobytes()
    reports = {name: attention.broken(name) for name in attention.BROKEN}
    assert sum(report.numbers == "every bit is right." for report in reports.values()) == 4
    assert sum(report.hazard.startswith("no hazards") for report in reports.values()) == 2
    for name, word in {
        "4: no cp_async_wait": "missing wait",
        "5: no wait for V": "missing wait",
        "5: V released early": "missing wait",
        "5: no proxy fence": "missing proxy fence",
        "5: producer's parity": "deadlock",
    }.items():
        assert word in reports[name].hazard, name
    assert "64 of them NaN" in reports["3: mask with >="].numbers


def test_an_exercise_has_one_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "REGISTERED", {})

    def first(answer: object) -> checking.Sentences:
        return {checking.correct(answer == 1): "It is 1."}

    def second(answer: object) -> checking.Sentences:
        return {checking.otherwise: "It is not."}

    exercise = checking.checks("99.1")(first)
    assert exercise.check(1) and not exercise.check(2)
    assert exercise.check(2).text.startswith(checking.UNFORESEEN)  # no sentence fits
    with pytest.raises(ValueError, match="99.1 has a check already: .*first$"):
        checking.checks("99.1")(second)
    checking.checks("99.1")(first)  # the module is imported again


def test_unknown_exercise() -> None:
    with pytest.raises(PtxlabError, match=r"no exercise '09\.9'; there are 00\.1"):
        lessons.check("09.9", 1)


@pytest.mark.slow
def test_imports_without_jupyter() -> None:
    code = (
        "import sys\n"
        "for name in ('IPython', 'ipywidgets', 'anywidget', 'traitlets', 'plotly', 'jupyter_core'): "
        "sys.modules[name] = None\n"
        "from ptxlab import lessons\n"
        "print(lessons.check('00.3', 4))"
    )
    settings = {"PYTHONIOENCODING": "utf-8", "PTXLAB_PROGRESS": os.environ["PTXLAB_PROGRESS"]}
    run = run_python(code, env=settings)
    assert run.stdout.startswith("✗ 00.3")


@pytest.fixture
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a reader who has just begun."""
    monkeypatch.setenv("PTXLAB_PROGRESS", str(tmp_path / "new" / "progress.json"))
    return tmp_path / "new" / "progress.json"


def test_marks_in_a_hint_become_html() -> None:
    page = Verdict("00.1", "right", "`a < b` in *two* steps: 4 * groupID and 2**m, 3 * 2^-24.")._repr_html_()
    assert "<code>a &lt; b</code> in <em>two</em> steps: 4 * groupID and 2**m, 3 * 2^-24.</div>" in page


@pytest.mark.slow
def test_progress_survives_the_kernel(progress_file: Path) -> None:
    assert ptxlab.progress().done == 0 and not progress_file.exists()
    lessons.check("00.3", ...)
    lessons.check("00.3", 4)
    assert (ptxlab.progress().states["00.3"], ptxlab.progress().tries["00.3"]) == ("wrong", 1)
    lessons.check("00.3", 32)
    lessons.check("00.3", 4)  # once right stays right
    assert (ptxlab.progress().states["00.3"], ptxlab.progress().tries["00.3"]) == ("right", 2)
    code = "import ptxlab; print(ptxlab.progress())"
    run = run_python(code, env={**os.environ, "PYTHONIOENCODING": "utf-8"})
    assert run.stdout.startswith(f"1 of {len(EXERCISES)} exercises done")
    assert re.search(r"00-start-here +1/4  · · ✓ ·", run.stdout)
    assert run.stdout == f"{ptxlab.progress()}\n"
    own, course = ptxlab.progress()._repr_html_().split("<details>")  # folded
    assert own.count("<tr>") == own.count("✓") == 1 and 'href="00-start-here.ipynb"' in own
    assert all(f'<a href="{lesson.file}.ipynb">' in course for lesson in lessons.LESSONS if lesson.exercises)
    assert course.count("✓") == 1
    lessons.forget()
    assert ptxlab.progress().done == 0


def test_a_disk_that_cannot_be_written(progress_file: Path) -> None:
    progress_file.parent.write_text("a file where the folder should be")
    assert lessons.check("00.3", 32)
    assert ptxlab.progress().done == 0


def test_the_kernel_that_lesson_00_shows_is_the_one_that_was_measured() -> None:
    notebook = record_lesson_kernels.ROOT / "notebooks" / "00-start-here.ipynb"
    sources = ["".join(cell["source"]) for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]]
    (shown,) = (source for source in sources if "PRODUCT = " in source)
    assert reader_kernels.source_text("plain_product.cu").strip() in shown
