"""The progress bar: tqdm's, silent where nobody looks."""

from __future__ import annotations

import importlib
import io
import sys
import types
from pathlib import Path

import pytest

from tests.processes import run_python

bars = importlib.import_module("ptxlab._util.progress_bar")
bar = bars.bar
ROOT = Path(__file__).resolve().parents[2]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    # pytest puts its own into sys.
    monkeypatch.setattr(bars, "sys", types.SimpleNamespace(stderr=stream, modules=sys.modules))
    monkeypatch.setattr(bars, "_DELAY", 0.0)
    return stream


def walk(show: bool | None = None) -> None:
    with bar(100, "MMAs", show=show) as tick:
        tick(40, "bits")
        tick(60, "zeros")


def test_a_terminal_that_has_gone_stops_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> int:
        raise OSError(5, "Input/output error")

    done = []
    for moment in (2, 0):  # on the way, or from the beginning, which tqdm draws at once
        with bar(3, "MMAs", show=True) as tick:
            for number in range(3):
                if number == moment:
                    monkeypatch.setattr(terminal, "write", fail)
                tick(1)
                done.append(number)
    assert done == [0, 1, 2, 0, 1, 2]
    monkeypatch.setattr(bars, "sys", types.SimpleNamespace(stderr=None, modules=sys.modules))
    walk(show=True)


def test_bar_of_tqdm_on_a_terminal(terminal: Terminal) -> None:
    walk()
    assert "zeros: 100%" in terminal.getvalue()
    assert "100/100" in terminal.getvalue()


def test_without_tqdm_work_goes_on(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.std", None)
    walk(show=True)
    assert terminal.getvalue() == ""


def test_silent_on_request_and_where_nobody_looks(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk(show=False)
    monkeypatch.setattr(terminal, "isatty", lambda: False, raising=False)
    walk()
    assert terminal.getvalue() == ""
    walk(show=True)
    assert terminal.getvalue() != ""


def test_quick_work_shows_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "_DELAY", 60.0)
    walk()
    assert terminal.getvalue() == ""


def stop() -> None:
    with bar(100, "MMAs") as tick:
        tick(40)
        raise KeyboardInterrupt


def test_an_interrupt_passes_and_the_bar_closes(terminal: Terminal) -> None:
    with pytest.raises(KeyboardInterrupt):
        stop()
    assert terminal.getvalue().endswith("\n")


def test_widget_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is one in name only; the bar is tqdm's widget, and its text carries the count."""
    pytest.importorskip("ipywidgets")
    notebook = importlib.import_module("tqdm.notebook")
    made = []

    class Seen(notebook.tqdm):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options, display=False)
            made.append(self)

    monkeypatch.setattr(notebook, "tqdm", Seen)
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    walk(show=True)
    (shown,) = made
    assert shown.n == shown.total == 100
    assert [child.value for child in shown.container.children if hasattr(child, "bar_style")] == [100]
    assert shown.container.comm is not None

    walk()  # nobody asked for it: it goes, unless the work stops on the way
    with pytest.raises(KeyboardInterrupt):
        stop()
    assert [bar.container.comm is None for bar in made] == [False, True, False]


def test_nothing_is_loaded_before_use() -> None:
    optional = "{'tqdm', 'IPython', 'ipywidgets'}"
    script = f"import sys, ptxlab._util.progress_bar; assert not {optional} & set(sys.modules)"
    run_python(script, cwd=ROOT)
