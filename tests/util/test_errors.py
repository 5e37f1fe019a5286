"""Errors in a notebook: the sentence first, the traceback when it is asked for."""

from __future__ import annotations

import pytest

interactiveshell = pytest.importorskip("IPython.core.interactiveshell")


def test_a_notebook_shows_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    shell = interactiveshell.InteractiveShell.instance(colors="nocolor")
    try:
        shell.run_cell("import ptxlab; ptxlab.instruction('mma.m16n8k65')")
        shown = capsys.readouterr().out
        assert shown.startswith("PtxlabError: ") and "m16n8k65" in shown and "Traceback" not in shown
        shell.run_line_magic("tb", "")
        assert "Traceback" in capsys.readouterr().out
    finally:
        interactiveshell.InteractiveShell.clear_instance()
