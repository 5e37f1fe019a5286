"""Lessons on a GPU: the cells of every notebook as a script, also where nothing draws.

Without Jupyter and Plotly, statements that draw are left out; those that ask for the GPU are not.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ptxlab import PtxlabError, lessons

FOLDER = Path(__file__).parents[2] / "notebooks"
_PICTURES = re.compile("plotly|ipywidgets|anywidget|traitlets|IPython")


def _statements(lesson: str) -> Iterator[tuple[int, str, ast.stmt]]:
    """The number and source of each cell after the first, which may install ptxlab, and what it says."""
    notebook = json.loads((FOLDER / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells[1:], 1):
        for statement in ast.parse(cell).body:
            yield number, cell, statement


@pytest.mark.gpu
@pytest.mark.parametrize("lesson", [lesson.file for lesson in lessons.LESSONS])
def test_the_cells_run_on_a_gpu(lesson: str, capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {"display": print}  # which notebooks have
    exec("import ptxlab", space)
    shown: dict[int, str] = {}
    left_out = False
    for number, cell, statement in _statements(lesson):
        asks = "gpu.status(" in cell
        try:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), lesson, "eval"), space)
                if value is not None:
                    print(value)
            else:
                exec(compile(ast.Module([statement], []), lesson, "exec"), space)
        except (ImportError, PtxlabError, NameError) as error:
            follows = isinstance(error, NameError) and left_out
            if asks or not (follows or _PICTURES.search(str(error))):
                raise
            left_out = True
        output = capsys.readouterr().out
        if asks:
            shown[number] = shown.get(number, "") + output
    print(f"{lesson}", *(f"[{number}] {text}" for number, text in shown.items()), sep="\n")  # for pytest -rP
    assert shown
    output = "".join(shown.values())
    assert "is ready" in output or "which lacks" in output
    assert "False" not in output
