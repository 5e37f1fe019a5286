"""A real JupyterLab on loopback and a real Chromium: the browser tests see what a person sees."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import chromium

ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "browser"
TOKEN = "ptxlab"
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    "notebook-extension/tracker": {"windowingMode": "none", "recordTiming": False},
}
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]  # fmt: skip


class Lab:
    """A JupyterLab server with its own settings, and a way to open notebooks in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.notebooks = folder, folder / "notebooks"
        self.notebooks.mkdir()
        for name, value in SETTINGS.items():
            path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
        folders |= {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
        command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"]
        command += ["--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={self.notebooks}"]
        self._log = (folder / "lab.log").open("w")
        environment = {**os.environ, **{name: str(folder / value) for name, value in folders.items()}}
        self._server = subprocess.Popen(command, env=environment, stdout=self._log, stderr=subprocess.STDOUT)

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.address}{path}?token={TOKEN}", timeout=5) as answer:
            return json.load(answer)

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
        self._server.wait(20)
        self._log.close()

    def open(self, page: Any, name: str, cells: list[str]) -> Book:
        """Write a notebook, open it and wait for its kernel."""
        import nbformat  # absent where only the GPU tests run

        book = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
        book.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(book, self.notebooks / f"{name}.ipynb")
        page.goto(f"{self.address}/doc/tree/{name}.ipynb?token={TOKEN}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        opened = Book(self, page, name)
        opened.until_idle()
        return opened


class Book:
    """An open notebook."""

    def __init__(self, lab: Lab, page: Any, name: str) -> None:
        self.lab, self.page, self.name = lab, page, name

    def until_idle(self, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            kernels = [s["kernel"] for s in self.lab.ask("/api/sessions") if s["path"] == f"{self.name}.ipynb"]
            busy = self.page.locator(".jp-InputPrompt", has_text="[*]").count()
            if kernels and kernels[0]["execution_state"] == "idle" and kernels[0]["connections"] > 0 and not busy:
                return
            self.page.wait_for_timeout(100)
        raise TimeoutError(f"the kernel of {self.name} is not idle after {seconds} s")

    def run(self, index: int, code: str | None = None) -> str:
        """Run one cell by keyboard, with other code where some is given, and return its printed text."""
        cell = self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)
        before = cell.locator(".jp-InputPrompt").first.inner_text()
        cell.locator(".cm-content").click()
        if code is not None:
            self.page.keyboard.press("Control+a")
            self.page.keyboard.insert_text(code)
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            "([cell, before]) => { const now = cell.querySelector('.jp-InputPrompt').innerText; return now !== before && !now.includes('*'); }",
            arg=[cell.element_handle(), before],
            timeout=30_000,
        )
        self.page.wait_for_timeout(100)
        output = cell.locator(".jp-OutputArea-output")
        return str(output.first.inner_text()).strip() if output.count() else ""


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    server = Lab(tmp_path_factory.mktemp("lab"))
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium.find(), args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    """A page; an error that it logs fails its module."""
    context = browser.new_context(viewport={"width": 1280, "height": 1400})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert not errors


@pytest.fixture(autouse=True)
def _picture(page: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep what the page looks like after each test."""
    yield
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(ARTIFACTS / f"{request.node.name}.png"))
