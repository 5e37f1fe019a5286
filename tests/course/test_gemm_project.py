"""The project of five GEMMs: solutions pass, typical mistakes get their hint, times are kept in files."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ptxlab
from ptxlab.course import answers, gemm_project, reader_kernels
from ptxlab.course.gemm_project import RUNGS_FILE, SIZES, STEPS, StepVerdict, check
from ptxlab.errors import PtxlabError, error_of
from ptxlab.gpu.compiler import compiler_version
from ptxlab.simulator.cuda_source import find_compiler
from ptxlab.simulator.kernel import Kernel
from tests.cases import each
from tests.texts import replaced
from tools import leaderboard

FOLDER = Path(__file__).parent / "gemm_project"
NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "project-gemm.ipynb"
NUMBERS = [step.number for step in STEPS]


def solution(step: int) -> str:
    return (FOLDER / f"step{step}.cu").read_text(encoding="utf-8")


#: Step, what is changed in its solution, and words of the hint. `SLOW` are right, but over the budget.
WRONG = [
    (
        1,
        "a[2][4], b[4][2];",
        "a[2][4] = {}, b[4][2] = {};\n        if (k) break;",
        "Only the first 16 along K",
    ),
    (1, "float d[2][4][4] = {};", "float d[2][4][4];", "Is every accumulator 0 before the first product"),
    (1, "blockIdx.y * 64", "0", "not stored"),
    (1, "(column + 8 * j) * K", "(column + j) * K", "tiles of A begin every 16 rows, those of B every 8"),
    (1, "mma(d[i][j], a[i], b[j]);", "mma(d[0][j], a[i], b[j]);", "does each have its own accumulators"),
    (1, "const int warp = threadIdx.x / 32;", "const int warp = threadIdx.x;", "the last block have"),
    (2, "        __syncthreads();\n        for", "        for", "stands a barrier for all of them"),
    (2, "        }\n        __syncthreads();\n", "        }\n", "stands a barrier for all of them"),
    (2, "lane % 8 + lane / 16 * 8", "lane % 16", "two tiles of 8 columns at a time"),
    (2, "k += 64", "k += 128", "iteration"),
    (3, "cp_async_wait<STAGES - 2>();", "cp_async_wait<STAGES - 1>();", "A copy is under way until"),
    (3, "        __syncthreads();\n", "", "stands a barrier for all of them"),
    (3, "i < count; i++) {\n        cp_async_wait", "i < 4; i++) {\n        cp_async_wait", "iteration"),
    (3, "i + STAGES - 1);", "i + STAGES);", "A copy is under way until"),
    (3, "cp_async_wait<STAGES - 2>();", "cp_async_wait<0>();", "none is left in flight"),
    (4, "        wgmma_wait<0>();\n", "", "until every warpgroup has waited for it"),
    (4, "(uint64_t)(1024 / 16)", "(uint64_t)(512 / 16)", "Does the descriptor name what lies there"),
    (4, "1ull << 62", "2ull << 62", "Does the descriptor name what lies there"),
    (4, "thread / 32 * 16 + ", "", "have its own rows and columns of D"),
    (5, "i / STAGES % 2", "0", "the parity of each phase"),
    (5, "mbarrier_expect(barrier, STAGE);", "mbarrier_expect(barrier, TILE);", "expect the bytes of both"),
    (5, "fmaxf(d[2 * i] + bias[n], 0.0f)", "d[2 * i] + bias[n]", "negative numbers are left"),
    (5, "bias[n]", "0.0f", "The bias is missing"),
    (
        5,
        "tma_load(stage + TILE, B, i * 64, blockIdx.x",
        "tma_load(stage + TILE, B, i * 64, blockIdx.y",
        "Which box",
    ),
    (5, "        __syncthreads();\n    }\n    const", "    }\n    const", "every warpgroup has waited"),
]
#: What PTX requires and no chip was seen to need: accepted, with a note.
NOTED = [
    (4, "        fence_async_proxy();\n", "", "proxy"),
    (5, "        mbarrier_init_fence();\n", "", "mbarrier"),
]
SLOW = [(2, "(vector ^ row % 8)", "vector", "Bank conflicts: in line")]


@pytest.fixture(params=["nvrtc", "clang"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if missing := error_of(find_compiler, request.param):
        pytest.skip(missing)
    monkeypatch.setattr(answers, "TIME_LIMIT", 100)  # the machine may be busy
    monkeypatch.setattr(reader_kernels, "compiled_kernel", partial(ptxlab.kernel, compiler=request.param))
    return str(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_solutions_are_right_and_within_their_budget(number: int, compiler: str) -> None:
    if error_of(compiler_version):
        pytest.skip("no assembler: times cannot be predicted")
    verdict = check(number, solution(number))
    assert verdict, verdict
    step = STEPS[number - 1]
    assert verdict.microseconds and 0.6 * step.budget < verdict.microseconds <= step.budget
    assert f"of {step.budget:g} µs" in verdict.text
    page = verdict._repr_html_()
    assert (
        "below the roofs of H200" in page and f"▶ your step {number}" in page and "cuBLAS on an H200" in page
    )


@pytest.mark.slow
@pytest.mark.parametrize("mistake", WRONG, ids=lambda row: f"{row[0]}-{row[3]}")
def test_mistakes_get_their_hint(
    mistake: tuple[int, str, str, str], compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of these comes as far as a prediction."""
    monkeypatch.setattr(Kernel, "profile", None)
    number, before, after, hint = mistake
    verdict = check(number, replaced(solution(number), before, after))
    assert verdict.state == "wrong" and verdict.profile is None
    assert hint in verdict.text, verdict


@pytest.mark.slow
@pytest.mark.parametrize("mistake", SLOW, ids=lambda row: f"{row[0]}-{row[3]}")
def test_slow_kernels_are_told_why(mistake: tuple[int, str, str, str], compiler: str) -> None:
    if error_of(compiler_version):
        pytest.skip("no assembler: times cannot be predicted")
    number, before, after, hint = mistake
    verdict = check(number, replaced(solution(number), before, after))
    assert verdict.state == "wrong" and verdict.microseconds
    assert verdict.microseconds > STEPS[number - 1].budget
    assert hint in verdict.text, verdict


@pytest.mark.slow
@pytest.mark.parametrize("mistake", NOTED, ids=lambda row: f"{row[0]}-{row[3]}")
def test_notes_and_a_time_that_cannot_be_predicted(
    mistake: tuple[int, str, str, str], compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def profile(*_: object, **__: object) -> None:
        raise PtxlabError("there is no assembler")

    monkeypatch.setattr(Kernel, "profile", profile)
    number, before, after, words = mistake
    verdict = check(number, replaced(solution(number), before, after))
    assert verdict and verdict.microseconds is None and verdict.ladder is None
    assert re.search(rf"not judged: there is no assembler\. But a note: .*{words}", verdict.text)
    slow = check(2, replaced(solution(2), "(vector ^ row % 8)", "vector"))
    assert slow.state == "wrong" and "Bank conflicts" in slow.text


def test_a_budget_needs_the_idea_of_its_step() -> None:
    """Each budget is below that of the step before; what a step gives has what it needs."""
    budgets = [step.budget for step in STEPS]
    assert budgets == sorted(budgets, reverse=True)
    for step in STEPS:
        for name in step.functions:
            assert re.search(rf"\b{name}\b", step.given), name
    assert "descriptor(uint32_t" not in STEPS[3].given and "descriptor(uint32_t" in STEPS[4].given
    assert json.loads(Path(gemm_project.__file__).with_name(RUNGS_FILE).read_text())["sizes"] == list(SIZES)
    assert gemm_project.rung_times().keys() == {row.number for row in ptxlab.gemm.ladder()}


def test_the_notebook_states_the_table() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    assert " x ".join(map(str, SIZES)) in texts[0]
    for step in STEPS:
        (at,) = (at for at, text in enumerate(texts) if text.startswith(f"## Step {step.number}: "))
        assert texts[at].startswith(
            f"## Step {step.number}: {step.title}".replace("mma.sync", "`mma.sync`")
        ) or (texts[at].partition("\n")[0].replace("`", "") == f"## Step {step.number}: {step.title}")
        assert f"**Budget: {step.budget:g} µs.**" in texts[at]
        assert "{}, {}, {}.".format(*step.shapes[0]) in texts[at]
        assert texts[at + 1] == f"gemm_project.given({step.number})"
        space: dict[str, Any] = {"gemm_project": gemm_project}
        exec(texts[at + 2].rpartition("\n")[0], space)
        assert space[f"verdict{step.number}"].state == "not yet"


@each("answer", [None, 3, "", "int x;", [], object(), float("nan")])
def test_garbage_is_no_answer(answer: object) -> None:
    assert check(1, answer).state == "wrong"


def test_another_step_is_an_error() -> None:
    with pytest.raises(PtxlabError, match="steps 1 to 5"):
        check(6, "")


def test_without_the_instruction_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    if missing := error_of(find_compiler, None):
        pytest.skip(missing)
    monkeypatch.setattr(answers, "TIME_LIMIT", 100)
    plain = """
    extern "C" __global__ void gemm(const f16* A, const f16* B, float* D, int M, int N, int K) {
        for (int i = threadIdx.x; i < 64 * 64; i += 128) {
            const int row = blockIdx.y * 64 + i / 64, column = blockIdx.x * 64 + i % 64;
            float sum = 0;
            for (int k = 0; k < K; k++) {
                float a, b;
                asm("cvt.f32.f16 %0, %1;" : "=f"(a) : "h"(A[row * K + k]));
                asm("cvt.f32.f16 %0, %1;" : "=f"(b) : "h"(B[column * K + k]));
                sum += a * b;
            }
            D[row * N + column] = sum;
        }
    }"""
    verdict = check(1, plain)
    assert verdict.state == "wrong" and "this step is about mma.sync" in repr(verdict)


# -- files of a class ----------------------------------------------------------------------------------------


class _Predicted(StepVerdict):
    """A right verdict with a time."""

    microseconds = 70.5


def test_the_leaderboard_of_a_folder(tmp_path: Path) -> None:
    right = _Predicted("GEMM step 1", "right", "", 1, "source")
    path = gemm_project.record("Ada", right, tmp_path)
    assert path.name == "Ada.gemm.jsonl"
    _Predicted.microseconds = 60.25
    gemm_project.record("Ada", right, tmp_path)
    (tmp_path / "Grace.gemm.jsonl").write_text(
        "".join(
            json.dumps(
                {"name": "Grace", "step": step, "microseconds": 50.0, "date": "2026-01-31", "source": "?"}
            )
            + "\n"
            for step in (1, 2)
        )
    )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["microseconds"] for line in lines] == [70.5, 60.25] and lines[0]["source"] == "source"
    board = gemm_project.leaderboard(tmp_path)
    grid = board.grids[0]
    assert [header.lines for header in grid.rows][:2] == [("1 Grace",), ("2 Ada",)]
    assert grid.at(1, 0).text == "60.2" and grid.at(0, 1).text == "50.0" and grid.at(1, 1).text == ""
    assert grid.at(2, 0).text == f"{STEPS[0].budget:g}"


def test_what_is_not_recorded(tmp_path: Path) -> None:
    wrong = StepVerdict("GEMM step 1", "wrong", "", 1)
    for name, verdict in (("Ada", wrong), ("../Ada", _Predicted("GEMM step 1", "right", "", 1))):
        with pytest.raises(PtxlabError):
            gemm_project.record(name, verdict, tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(PtxlabError, match="has no file"):
        gemm_project.leaderboard(tmp_path)
    (tmp_path / "Eve.gemm.jsonl").write_text('{"name": "Eve", "step": 9}\n')
    with pytest.raises(PtxlabError, match=r"Eve\.gemm\.jsonl, line 1"):
        gemm_project.leaderboard(tmp_path)


def test_a_time_without_its_kernel_is_named(tmp_path: Path) -> None:
    entry = {"name": "Eve", "step": 1, "microseconds": 1.0, "date": "2026-01-31", "source": "int x;"}
    (tmp_path / "Eve.gemm.jsonl").write_text(json.dumps(entry) + "\n")
    (sentence,) = leaderboard.unproven(tmp_path)
    assert sentence.startswith("Eve, step 1: 1.0 µs are recorded; ✗ GEMM step 1 not quite")
