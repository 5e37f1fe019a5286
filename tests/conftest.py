"""Fixtures that all tests share, and when tests marked gpu or browser are skipped."""

from __future__ import annotations

import atexit
import gc
import importlib.util
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

_folder = tempfile.mkdtemp()
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["PTXLAB_PROGRESS"] = f"{_folder}/progress.json"  # not that of whoever runs the tests
# Before NumPy is imported: two workers with a thread for every core would get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from tests.fixtures import rng  # noqa: E402, F401
from tests.sampling import EXHAUSTIVE  # noqa: E402
from tools import chromium  # noqa: E402

#: Files of tests/browser with tests in JupyterLab, which takes ten seconds of a processor to start; in this
#: order it starts twice.
IN_JUPYTERLAB = [
    f"test_{name}_browser.py" for name in ("tasks", "keys", "fit", "figures", "jupyterlab", "hosts")
]
ROOT = Path(__file__).resolve().parent.parent

hypothesis.settings.register_profile("ptxlab", deadline=None, max_examples=60 if EXHAUSTIVE else 25)
hypothesis.settings.load_profile("ptxlab")


def _needed(item: pytest.Item) -> str | None:
    """What this machine lacks for the test, in a sentence; None when nothing."""
    if item.get_closest_marker("gpu"):
        from ptxlab import gpu

        return None if gpu.available() else gpu.status()
    if item.get_closest_marker("browser"):
        return None if chromium.find() else f"no Chromium; {chromium.REMEDY}"
    modules = [module for mark in item.iter_markers("needs") for module in mark.args]
    missing = [module for module in modules if not _is_installed(module)]
    return (
        f"{', '.join(missing)} is not installed; `make test` brings all that tests need" if missing else None
    )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False


def _marked(items: list[pytest.Item], mark: str) -> list[Path]:
    """The files with a test that is marked so, in the order of collection."""
    return list(dict.fromkeys(item.path for item in items if item.get_closest_marker(mark)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow files first: with several workers, none is left alone with a long one at the end.

    Files with browser tests, which mostly wait, are spread over the first three quarters of the run.
    """
    notebooks, slow, browser = (_marked(items, mark) for mark in ("notebook", "slow", "browser"))
    browser.sort(key=lambda path: IN_JUPYTERLAB.index(path.name) if path.name in IN_JUPYTERLAB else 99)
    files = list(dict.fromkeys(item.path for item in items))
    working = [path for path in files if path not in browser]
    working.sort(key=lambda path: (path not in notebooks, path not in slow))
    place = {path: number / len(working) for number, path in enumerate(working)}
    place |= {path: 0.75 * number / len(browser) for number, path in enumerate(browser)}
    items.sort(key=lambda item: place[item.path])
    for item in items:
        if item.get_closest_marker("browser"):
            # On a busy machine a page can be late; what fails twice is broken. The summary names both.
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """What is there now stays: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file is for one worker; so are all tests of JupyterLab together, which then starts once."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = str(super()._split_scope(nodeid))
            return "JupyterLab" if Path(file).name in IN_JUPYTERLAB else file

    return ByFile(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked gpu, browser or needs skip, and say why; in CI a missing browser is a failure."""
    if not {"gpu", "browser", "needs"} & {mark.name for mark in item.iter_markers()}:
        return
    lack = _needed(item)
    if lack and item.get_closest_marker("browser") and os.environ.get("CI"):
        pytest.fail(lack, pytrace=False)
    if lack:
        pytest.skip(lack)


@pytest.fixture(scope="session", autouse=True)
def heeds_interrupts() -> None:
    """Ctrl+C interrupts tests and what they start, also under `make test &`, whose shell has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser that tests marked `browser` launch."""
    path = chromium.find()
    if path is None:
        pytest.skip(f"no Chromium; {chromium.REMEDY}")
    return path
