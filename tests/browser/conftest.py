"""A real JupyterLab on loopback and a real Chromium: the browser tests see what a person sees."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tools import chromium, npm, web
from tools.bare_page import BarePage
from tools.jupyter import FLAGS, Lab

ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "browser"


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    server = Lab(tmp_path_factory.mktemp("lab"))
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def bare() -> BarePage:
    """An Explorer alone on its page, opened in a fraction of a second: for what no host contributes to."""
    return BarePage()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # as what waits for a page by itself
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium.find(), args=FLAGS)
        yield launched
        launched.close()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line in the log for each."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages with Python in them, as `make web OFFLINE=1` builds them; modules may have another site."""
    folder = tmp_path_factory.mktemp("site")
    try:
        address = web.bring_pyodide(folder)
    except npm.Missing as missing:
        pytest.skip(str(missing))
    sizes = web.build(folder, address)
    assert web.first_visit(sizes) <= web.MAX_BYTES, sizes
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def _of_notebook(error: Any) -> bool:
    """Whether Notebook 7 alone is to blame: 7.6 trips over a setting while it starts, with any notebook."""
    frames = [line for line in (error.stack or "").splitlines() if "http" in line or "blob:" in line]
    return bool(frames) and all("/static/notebook/" in line for line in frames)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `saved_page` keeps pages, for all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "saved"
    shared.mkdir(exist_ok=True)
    return shared


VIEWPORT = {"width": 1280, "height": 1400}


def _new_page(browser: Any, errors: list[str]) -> Any:
    """A page without motion, which costs a processor that draws by itself 30 frames for every edit.

    Tests of motion ask for it.
    """
    context = browser.new_context(viewport=VIEWPORT, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    opened.on(
        "pageerror", lambda error: None if _of_notebook(error) else errors.append(error.stack or str(error))
    )
    return opened


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    """A page; an error that it logs fails its module."""
    errors: list[str] = []
    opened = _new_page(browser, errors)
    yield opened
    opened.context.close()
    assert not errors


tab_page = page  # for modules that have several pages


@pytest.fixture
def own_page(browser: Any) -> Iterator[Any]:
    """A page for one test alone: nothing that another test opened is on it."""
    errors: list[str] = []
    opened = _new_page(browser, errors)
    yield opened
    opened.context.close()
    assert not errors


@pytest.fixture(scope="session")
def _page_of_lab(browser: Any) -> Iterator[tuple[Any, list[str]]]:
    errors: list[str] = []
    opened = _new_page(browser, errors)
    yield opened, errors
    opened.context.close()


@pytest.fixture(scope="module")
def lab_page(_page_of_lab: tuple[Any, list[str]]) -> Iterator[Any]:
    """The page of JupyterLab, which starts once for all its tests; an error that it logs fails its module."""
    opened, errors = _page_of_lab
    errors.clear()
    opened.set_viewport_size(VIEWPORT)
    opened.emulate_media(reduced_motion="reduce")
    yield opened
    assert not errors


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Keep what the page looks like after a test that fails; with PTXLAB_PICTURES=1, after every one."""
    report = yield
    names = getattr(item, "funcargs", {})
    page = names.get("page") or names.get("lab_page")
    if call.when == "call" and page is not None and (report.failed or os.environ.get("PTXLAB_PICTURES")):
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(ARTIFACTS / f"{item.name}.png"))
    return report
