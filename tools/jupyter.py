"""JupyterLab on loopback with its own settings, and Chromium's flags: for browser tests and benchmarks."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["FLAGS", "PANES", "Book", "Lab", "Shown", "until"]

SETTINGS = {
    "apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "notebook-extension/tracker": {"windowingMode": "none", "recordTiming": False},
}
#: Shows a notebook of JupyterLab, and closes all others with their kernels.
OPEN = """async (path) => {
  const app = window.jupyterapp;
  const others = [...app.shell.widgets("main")];
  await app.commands.execute("docmanager:open", { path, factory: "Notebook" });
  for (const widget of others) {
    await widget.context?.sessionContext.shutdown();
    widget.dispose();
  }
}"""
#: Closes the notebook that JupyterLab shows, and opens it as its file has it.
REOPEN = """async (path) => {
  const app = window.jupyterapp;
  app.shell.currentWidget.dispose();
  await app.commands.execute("docmanager:open", { path, factory: "Notebook" });
}"""
#: Puts other cells into the notebook that JupyterLab shows, whose kernel forgets what it has.
REFILL = """async ([sources, forget]) => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.sessionContext.session.kernel.requestExecute({ code: forget }).done;
  const notebook = panel.content.model.sharedModel;
  const cells = sources.map((source) => ({ cell_type: "code", source, metadata: {} }));
  notebook.insertCells(0, cells);
  notebook.deleteCellRange(cells.length, notebook.cells.length);
  return panel.context.path;
}"""
FORGET = "import ipywidgets\nipywidgets.Widget.close_all()\n%reset -f"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--js-flags=--wasm-lazy-compilation",  # of Pyodide's functions a test calls a few
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


class Lab:
    """A JupyterLab server with its own settings, and a way to open notebooks in it.

    Whoever has its token can run code as its user. So each server gets a random one, in its environment,
    where other users of the machine do not see it, as they would on its command line.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.notebooks = folder, folder / "notebooks"
        self._workspaces = 0
        self.notebooks.mkdir()
        for name, value in SETTINGS.items():
            path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        folders = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
        }
        folders |= {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
        command = [
            sys.executable,
            "-m",
            "jupyter",
            "lab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
        ]
        command += [
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.notebooks}",
            "--LabApp.expose_app_in_browser=True",
        ]
        self._log = (folder / "lab.log").open("w")
        self._token = secrets.token_hex(24)
        environment = {**os.environ, **{name: str(folder / value) for name, value in folders.items()}}
        environment["JUPYTER_TOKEN"] = self._token
        self._server = subprocess.Popen(command, env=environment, stdout=self._log, stderr=subprocess.STDOUT)

    @property
    def process(self) -> int:
        """The id of the server's process."""
        return self._server.pid

    def ask(self, path: str, method: str = "GET") -> Any:
        headers = {"Authorization": f"token {self._token}"}
        request = urllib.request.Request(f"{self.address}{path}", headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.loads(answer.read() or "null")

    def wait(self, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                self.ask("/api")
                return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if self._server.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((self.folder / "lab.log").read_text()[-2000:]) from None
                time.sleep(0.2)

    def stop(self) -> None:
        self._server.terminate()
        try:
            self._server.wait(20)
        except subprocess.TimeoutExpired:  # on a busy machine
            self._server.kill()
            self._server.wait()
        self._log.close()

    def write(self, name: str, cells: list[str]) -> None:
        """Put a notebook where the server finds it."""
        import nbformat  # absent where only the GPU tests run

        book = nbformat.v4.new_notebook(
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        )
        book.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(book, self.notebooks / f"{name}.ipynb")

    def open(self, page: Any, name: str, cells: list[str], at: str = "doc/tree") -> Book:
        """Write a notebook, open it (`at` "notebooks" in Notebook 7) and wait for its kernel."""
        self.write(name, cells)
        return self.show(page, name, at)

    def show(self, page: Any, name: str, at: str = "doc/tree") -> Book:
        """Open a notebook that is in the server's folder, and wait for its kernel."""
        page.goto(f"{self.address}/{at}/{name}.ipynb?token={self._token}")
        return self._opened(page, name)

    def open_next(self, page: Any, name: str, cells: list[str]) -> Book:
        """Cells in the notebook that JupyterLab shows in this page, so that neither has to start again.

        Where it shows none, a notebook of that name is written and opened.
        """
        if not self._is_in(page):
            self.write(name, cells)
            return self.show_next(page, name)
        return self._opened(page, page.evaluate(REFILL, [cells, FORGET]).removesuffix(".ipynb"))

    def show_next(self, page: Any, name: str) -> Book:
        """Open a notebook in the JupyterLab of this page instead of those in it: it need not start again."""
        if not self._is_in(page):
            self._workspaces += 1  # a known one would open the notebooks that it had
            return self.show(page, name, at=f"lab/workspaces/tests-{self._workspaces}/tree")
        page.evaluate(OPEN, f"{name}.ipynb")
        return self._opened(page, name)

    def reopen(self, page: Any, name: str) -> Book:
        """Close the notebook that the JupyterLab of this page shows, and open it from its file."""
        page.evaluate(REOPEN, f"{name}.ipynb")
        return self._opened(page, name)

    def _is_in(self, page: Any) -> bool:
        """Whether the page shows this JupyterLab, rather than a document alone or nothing yet."""
        return bool(page.url.startswith(f"{self.address}/lab"))

    def _opened(self, page: Any, name: str) -> Book:
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        opened = Book(self, page, name)
        opened.until_idle()
        return opened

    def render(self, page: Any, name: str, cells: list[str]) -> None:
        """Write a notebook and let Voilà run and show it."""
        self.write(name, cells)
        page.goto(f"{self.address}/voila/render/{name}.ipynb?token={self._token}", timeout=60_000)


class Book:
    """An open notebook."""

    def __init__(self, lab: Lab, page: Any, name: str) -> None:
        self.lab, self.page, self.name = lab, page, name

    def kernels(self) -> list[dict[str, Any]]:
        return [
            session["kernel"]
            for session in self.lab.ask("/api/sessions")
            if session["path"] == f"{self.name}.ipynb"
        ]

    def shut_down(self) -> None:
        """End its kernel."""
        for session in self.lab.ask("/api/sessions"):
            if session["path"] == f"{self.name}.ipynb":
                self.lab.ask(f"/api/sessions/{session['id']}", "DELETE")

    def restart(self) -> None:
        """Restart the kernel by the button: otherwise JupyterLab would keep a dead channel for widgets."""
        self.page.locator("[data-jp-item-name=restart] :is(jp-button, button)").first.click()
        with self.page.expect_response(
            lambda answer: answer.url.split("?")[0].endswith("/restart"), timeout=60_000
        ):
            self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.until_idle()

    def until_idle(self, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            kernels = self.kernels()
            busy = self.page.locator(".jp-InputPrompt", has_text="[*]").count()
            if (
                kernels
                and kernels[0]["execution_state"] == "idle"
                and kernels[0]["connections"] > 0
                and not busy
            ):
                return
            self.page.wait_for_timeout(100)
        raise TimeoutError(f"the kernel of {self.name} is not idle after {seconds} s")

    def run(self, index: int, code: str | None = None, seconds: float = 30) -> str:
        """Run one cell by keyboard, with other code where some is given, and return its printed text."""
        cell = self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)
        cell.locator(".cm-content").click()
        if code is not None:
            self.page.keyboard.press("Control+a")
            self.page.keyboard.insert_text(code)
        # A new kernel counts from 1 again: that the number of the cell changes is no sign that it ran.
        cell.evaluate("""cell => {
          cell.ran = 0;  // 1: runs, 2: has run
          const seen = new MutationObserver(() => {
            const busy = cell.querySelector('.jp-InputPrompt').textContent.includes('*');
            cell.ran = busy ? 1 : 2 * (cell.ran > 0);
            if (cell.ran == 2) seen.disconnect();
          });
          seen.observe(cell, {childList: true, characterData: true, subtree: true});
        }""")
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            "cell => cell.ran == 2",
            arg=cell.element_handle(),
            timeout=seconds * 1000,
            polling=100,  # not every frame, for which JupyterLab would be drawn
        )
        self.page.wait_for_timeout(100)
        output = cell.locator(".jp-OutputArea-output")
        return str(output.first.inner_text()).strip() if output.count() else ""


PANES = {"SFA": "A", "SFB": "B", "E": "stored"}  # matrices that stand in the pane of another
_LABELS = {"stored": "compressed A", "E": "metadata"}  # what the Explorer calls them


def until(condition: Callable[[], object], page: Any, what: str, seconds: float = 20) -> None:
    """Wait until something holds; Playwright's own way needs eval, which the policy of some pages forbids."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"after {seconds} s still not: {what}"
        page.wait_for_timeout(50)


class Shown:
    """One of the explorers on a page, as mouse and keyboard reach it."""

    def __init__(self, page: Any, index: int = 0) -> None:
        self.page, self.root = page, page.locator(".ptx-explorer").nth(index)
        self.root.locator("[data-pane=D] canvas").first.wait_for(timeout=60_000)
        self.status = self.root.locator(".ptx-status")

    def rect(self, name: str, row: int, column: int) -> dict[str, float]:
        """Where a cell is on the screen."""
        return dict(self.root.evaluate("(root, at) => root.cellRect(...at)", [name, row, column]))

    def middle(self, name: str, row: int, column: int) -> tuple[float, float]:
        """The point in the middle of a cell; its matrix is scrolled into view."""
        self.root.locator(f"[data-pane={PANES.get(name, name)}]").scroll_into_view_if_needed()
        self.root.evaluate("(root, at) => root.revealCell(...at)", [name, row, column])
        box = self.rect(name, row, column)
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def hover(self, name: str, row: int, column: int) -> str:
        """Point at a cell, again if the page moved it in between; what the Explorer says of it."""
        start, text = f"{_LABELS.get(name, name)}[{row}][{column}]", ""
        for _ in range(100):
            self.page.mouse.move(*self.middle(name, row, column))
            self.page.wait_for_timeout(50)
            text = str(self.status.text_content())
            if text.startswith(start):
                return text
            self.page.wait_for_timeout(200)
        raise AssertionError(f"pointing at {start} shows {text!r}")

    def click(self, name: str, row: int, column: int, **how: Any) -> None:
        self.page.mouse.click(*self.middle(name, row, column), **how)

    def type(self, name: str, row: int, column: int, text: str) -> None:
        self.click(name, row, column)
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def reads(self, name: str, row: int, column: int, value: object, seconds: float = 20) -> None:
        """Point at the cell and wait until the line below the registers gives it this value."""
        self.hover(name, row, column)
        start = f"{_LABELS.get(name, name)}[{row}][{column}] = {value} ·"
        until(lambda: self.status.text_content().startswith(start), self.page, start, seconds)

    def tool(self, selector: str) -> Any:
        """A tool of the bar, or of the menu, which is opened first."""
        tool = self.root.locator(selector)
        more = self.root.locator("[data-tool=more]")
        if not tool.is_visible() and more.get_attribute("aria-expanded") == "false":
            more.click()
        return tool

    def drawn(self) -> bool:
        """Whether every matrix has ink on its canvas."""
        return bool(
            self.root.evaluate(
                """root => [...root.querySelectorAll(".ptx-frame:not([hidden])")].every(frame => {
                  const canvas = frame.querySelector("canvas");
                  if (!canvas.width || !canvas.height) return false;
                  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                  for (let index = 3; index < data.length; index += 4) if (data[index]) return true;
                  return false;
                })"""
            )
        )
