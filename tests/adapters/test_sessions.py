"""Sessions of `ptxlab.simulating` in threads: launches find theirs, and frameworks are afterwards as before.

A framework of the test stands in for those that are not installed.
"""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab.adapters import framework_session as sessions
from ptxlab.adapters import frameworks
from ptxlab.adapters.framework_session import attributes_replaced, current_session, replace_attributes

pytestmark = pytest.mark.filterwarnings("ignore:autotuning inside")
_NUMBA = """
from numba import cuda
def kernel(step):
    @cuda.jit
    def add(x):
        x[cuda.grid(1)] += step
    return lambda x: add[1, 32](x)
"""
_TRITON = """
import triton, triton.language as tl
@triton.autotune([triton.Config({"SIZE": 32}), triton.Config({"SIZE": 16})], key=[])
@triton.jit
def tuned(x, STEP: tl.constexpr, SIZE: tl.constexpr):
    i = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(x + i, tl.load(x + i))
@triton.jit
def add(x, STEP: tl.constexpr):
    i = tl.arange(0, 32)
    tl.store(x + i, tl.load(x + i) + STEP)
def kernel(step):
    return lambda x: (tuned[(1,)](x, step), add[(1,)](x, step))
"""
_WARP = """
import warp as wp
wp.config.quiet = True
@wp.kernel
def add(x: wp.array(dtype=float), step: float):
    i = wp.tid()
    x[i] = x[i] + step
def kernel(step):
    def launch(x):
        array = wp.array(x, dtype=float, device="cpu")
        wp.launch(add, dim=32, inputs=[array, float(step)])
        x[:] = array.numpy()
    return launch
"""
_FRAMEWORKS = {"numba.cuda": _NUMBA, "triton": _TRITON, "warp": _WARP}


class _Standin:
    """A framework with a function, a class and an instance, which a launch reads while it compiles."""

    compute_capability = property(lambda self: None)

    def device(self) -> str:
        return "none"


class _Derived(_Standin):
    """It inherits `device`."""


def _standin(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Callable[[Any], None]]:
    framework: Any = ModuleType("standin")
    framework.Standin, framework.Derived, framework.instance = _Standin, _Derived, _Derived()
    framework.launch = lambda x, step: None
    original = framework.launch

    def launch(x: Any, step: int) -> None:
        opened = current_session()
        if opened is None:
            original(x, step)
            return
        with attributes_replaced(
            [(framework.instance, "chip", step), (_Derived, "device", lambda self: str(step))]
        ):
            assert framework.instance.chip == step and framework.instance.device() == str(step)
            x += step
        opened.results.append(SimpleNamespace())

    adapter: Any = ModuleType("ptxlab.adapters.standin")
    adapter.install = lambda: replace_attributes(
        [
            (framework, "launch", launch),
            (_Standin, "compute_capability", property(lambda self: (9, 0))),
        ],
        added=[(_Derived, "device", lambda self: "sm_90a"), (framework.instance, "chip", "H200")],
    )
    monkeypatch.setitem(sys.modules, "standin", framework)
    monkeypatch.setitem(sys.modules, "ptxlab.adapters.standin", adapter)
    monkeypatch.setattr(frameworks, "ADAPTERS", {"standin": "standin"})
    return lambda step: lambda x: framework.launch(x, step)


@pytest.fixture(params=["standin", *_FRAMEWORKS])
def kernel(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], Callable[[Any], None]]:
    """Makes a kernel that adds a number to an array."""
    name: str = request.param
    if name == "standin":
        return _standin(monkeypatch)
    pytest.importorskip(name)
    monkeypatch.setattr(frameworks, "ADAPTERS", {name: frameworks.ADAPTERS[name]})
    monkeypatch.syspath_prepend(tmp_path)
    module = f"kernels_of_{name.replace('.', '_')}"
    (tmp_path / f"{module}.py").write_text(_FRAMEWORKS[name])
    monkeypatch.delitem(sys.modules, module, raising=False)
    made: Callable[[int], Callable[[Any], None]] = importlib.import_module(module).kernel
    with ptxlab.simulating():  # what the framework sets once, it has set
        _launched(made, 2)
    return made


def _launched(kernel: Callable[[int], Callable[[Any], None]], step: int) -> None:
    x = np.zeros(32, np.float32)
    kernel(step)(x)
    assert (x == step).all()


def _attributes() -> dict[tuple[str, str], object]:
    """Every attribute of every module and class of the frameworks."""
    found: dict[tuple[str, str], object] = {}
    roots = {name.partition(".")[0] for name in frameworks.ADAPTERS} | {__name__.partition(".")[0]}
    if "numba" in roots:
        roots.add("numba_cuda")
    owners: list[tuple[str, Any]] = [
        (name, module)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in roots and isinstance(module, ModuleType)
    ]
    seen: set[int] = set()
    while owners:
        title, owner = owners.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        for name, value in vars(owner).copy().items():
            found[title, name] = value
            if isinstance(value, type) and str(value.__module__).partition(".")[0] in roots:
                owners.append((f"{value.__module__}.{value.__qualname__}", value))
    if "standin" in sys.modules:
        found |= {("instance", name): value for name, value in vars(sys.modules["standin"].instance).items()}
    return found


@pytest.fixture
def unchanged(kernel: object) -> Iterator[None]:
    before = _attributes()
    yield
    after = _attributes()
    changed = [key for key in before.keys() | after.keys() if before.get(key) is not after.get(key)]
    # numbers that frameworks count, and Python's notes of warnings
    counts = {key for key in changed if type(before.get(key)) is type(after.get(key)) is int}
    assert not [key for key in changed if key not in counts and key[1] != "__warningregistry__"]
    assert current_session() is None and not sessions._RESTORERS


def _in_threads(run: Callable[[int], None], count: int = 4) -> None:
    """Run a function in threads that begin at the same moment; their first error is raised."""
    errors: list[BaseException] = []
    ready = threading.Barrier(count)

    def attempt(number: int) -> None:
        try:
            ready.wait()
            run(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.usefixtures("unchanged")
def test_threads_share_a_session(kernel: Callable[[int], Callable[[Any], None]]) -> None:
    with ptxlab.simulating() as opened:
        before = len(opened.results)
        _launched(kernel, 3)
        per_launch = len(opened.results) - before
        _in_threads(lambda number: _launched(kernel, 10 + number))
        if kernel.__module__ in (__name__, "kernels_of_numba_cuda"):  # others may launch more than once
            assert per_launch == 1 and len(opened.results) == before + 5
        else:
            assert per_launch and len(opened.results) >= before + 5


@pytest.mark.usefixtures("unchanged")
def test_threads_have_sessions_of_their_own(kernel: Callable[[int], Callable[[Any], None]]) -> None:
    def run(number: int) -> None:
        with ptxlab.simulating() as opened:
            assert current_session() is opened
            _launched(kernel, 20 + number)
        with ptxlab.simulating(), ptxlab.simulating() as inner:
            _launched(kernel, 30 + number)
            assert inner.results

    _in_threads(run)


_Makes = Callable[[int], Callable[[Any], None]]  # a kernel that adds a number to an array


@pytest.mark.usefixtures("unchanged")
def test_a_session_that_ends_by_an_error(kernel: _Makes) -> None:
    with pytest.raises(ZeroDivisionError), ptxlab.simulating():
        _launched(lambda step: lambda x: kernel(step // 0), 40)


@pytest.mark.usefixtures("unchanged", "kernel")
def test_a_session_that_is_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt), ptxlab.simulating():
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("unchanged")
def test_sessions_that_generators_leave_open(kernel: _Makes) -> None:
    """A session ends when its generator is closed, or collected."""

    def open_in_generator() -> Iterator[int]:
        with ptxlab.simulating():
            yield 1
            yield 2

    generators = [open_in_generator() for _ in range(3)]
    for generator in generators:
        next(generator)
    generators[0].close()  # type: ignore[attr-defined]
    _launched(kernel, 41)
    del generator, generators[0]
    _launched(kernel, 42)
    generators.clear()


@pytest.mark.usefixtures("unchanged")
def test_sessions_that_end_in_another_order(kernel: _Makes) -> None:
    first, second = ptxlab.simulating(), ptxlab.simulating()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    _launched(kernel, 43)
    second.__exit__(None, None, None)


def test_a_framework_that_cannot_be_restored_leaves_no_other_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _standin(monkeypatch)
    before = _attributes()
    restored: list[str] = []

    def fail() -> None:
        raise RuntimeError("the framework was unloaded")

    opened = ptxlab.simulating()
    opened.__enter__()
    sessions._RESTORERS |= {"failing": fail, "last": lambda: restored.append("last")}
    with pytest.raises(RuntimeError, match="was unloaded"):
        opened.__exit__(None, None, None)
    assert restored == ["last"] and not sessions._RESTORERS and _attributes() == before


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interrupt_while_a_session_begins(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """It ends the session, and what was changed is undone, also where the adapter itself is interrupted."""
    _standin(monkeypatch)
    adapter: Any = sys.modules["ptxlab.adapters.standin"]
    install = adapter.install
    before = _attributes()

    def interrupted() -> Any:
        restore = install() if moment == "after" else None
        signal.raise_signal(signal.SIGINT)
        return restore or install()

    monkeypatch.setattr(adapter, "install", interrupted)
    with pytest.raises(KeyboardInterrupt), ptxlab.simulating():
        raise AssertionError("the interrupt came while it began")
    assert current_session() is None and _attributes() == before


def test_the_last_change_that_fails_undoes_the_others() -> None:
    class Slotted:
        __slots__ = ("fixed",)

    owner = SimpleNamespace(here=1)
    with pytest.raises(AttributeError):
        replace_attributes([(owner, "here", 2)], added=[(owner, "new", 3), (Slotted(), "other", 4)])
    assert vars(owner) == {"here": 1}
