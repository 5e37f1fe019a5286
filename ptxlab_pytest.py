"""`pytest --ptxlab`: kernel launches in tests run on the simulator, and a hazard fails its test.

It covers launches of Triton, Numba, CuTe DSL, Warp, TileLang, CuPy and cuTile, as inside `ptxlab.simulating`.

The fixture `simulating` does so for one test: it is the session, whose `results` has those of each launch.

pytest loads this file in every run on a machine with ptxlab. It is outside of the package, so that runs that
do not use it import neither ptxlab nor NumPy.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

__all__ = ["pytest_addoption", "pytest_runtest_call", "simulating"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option `--ptxlab`."""
    parser.getgroup("ptxlab").addoption(
        "--ptxlab",
        action="store_true",
        help="run launches of Triton, Numba, CuTe DSL, Warp, TileLang, CuPy and cuTile on ptxlab's "
        "simulator; a hazard fails its test",
    )


@pytest.fixture
def simulating() -> Iterator[Any]:
    """A session of `ptxlab.simulating` for this test."""
    import ptxlab

    with ptxlab.simulating() as session:
        yield session


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """With `--ptxlab`, a test runs inside a session, and fails with the hazards of its launches."""
    if not item.config.getoption("--ptxlab"):
        return (yield)
    import ptxlab

    # Launches go to the session that was opened last, so a test with the fixture must keep its own.
    fixture = getattr(item, "funcargs", {}).get("simulating")
    session = ptxlab.simulating() if fixture is None else fixture
    with session if fixture is None else nullcontext():
        try:
            result = yield
        except BaseException:
            verdict = _verdict(item, session)
            if verdict.status == "hazard":
                item.add_report_section("call", "hazards", verdict.reason)
            raise
    verdict = _verdict(item, session)
    if verdict.status == "hazard":
        pytest.fail(verdict.reason, pytrace=False)
    return result


def _verdict(item: pytest.Item, session: Any) -> Any:
    """The verdict on the launches of a test; reports such as --junit-xml have its status."""
    from ptxlab.judging.launches import verdict_of

    verdict = verdict_of(item.name, session.results)
    item.user_properties.append(("ptxlab", verdict.status))
    return verdict
