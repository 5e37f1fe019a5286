"""Every example in a docstring is true, and what users import is documented.

All examples of the package run, those of private names too. Where an optional package is missing they
skip and say which; only examples of `ptxlab.gpu` may need a GPU.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

import pytest

import ptxlab
from ptxlab import PtxlabError
from tests.cases import each
from tools.site.api import PAGES, ApiPage, documented

OPTIONAL = {
    "anyio",
    "anywidget",
    "cuda",
    "cutlass",
    "ipywidgets",
    "IPython",
    "kaleido",
    "mcp",
    "numba",
    "plotly",
    "pydantic",
    "tilelang",
    "traitlets",
    "triton",
    "warp",
}
#: Modules that users import; the Python API documents these and the classes that they meet.
MODULES = ("", "figures", "gemm", "gpu", "instruction", "lessons", "memory", "views", "wmma")


def absent(error: BaseException | None) -> bool:
    """Whether an error says that an optional package is not installed."""
    if isinstance(error, PtxlabError):
        return "pip install" in str(error)
    return isinstance(error, ImportError) and (error.name or "").split(".")[0] in OPTIONAL


@cache
def examples() -> tuple[doctest.DocTest, ...]:
    """Every docstring of the package with an example in it."""
    return tuple({test.name: test for test in _examples()}.values())


def _examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for found in pkgutil.walk_packages(ptxlab.__path__, "ptxlab."):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError as error:
            if not absent(error):
                raise
            continue
        yield from (test for test in finder.find(module) if test.examples)
        yield from _cached_properties(found.name)


def _cached_properties(name: str) -> Iterator[doctest.DocTest]:
    """Examples of cached properties, into which doctest looks only from Python 3.13 on."""
    module = importlib.import_module(name)
    for owner in vars(module).values():
        if inspect.isclass(owner) and owner.__module__ == name:
            for attribute, member in vars(owner).items():
                if isinstance(member, cached_property) and ">>>" in (member.__doc__ or ""):
                    label = f"{name}.{owner.__qualname__}.{attribute}"
                    yield doctest.DocTestParser().get_doctest(
                        member.__doc__ or "", dict(vars(module)), label, module.__file__, None
                    )


@each("test", examples, ids=lambda test: test.name)
@pytest.mark.slow
def test_examples_are_true(test: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        doctest.DebugRunner(verbose=False).run(test, clear_globs=False)
    except doctest.DocTestFailure as failure:
        example = failure.example
        pytest.fail(
            f"{test.name}: >>> {example.source.rstrip()}\nexpected {example.want.rstrip()}\n"
            f"found    {failure.got.rstrip()}",
            pytrace=False,
        )
    except doctest.UnexpectedException as stop:
        error = stop.exc_info[1]
        if absent(error):
            pytest.skip(f"{test.name}: {error}")
        raise AssertionError(f"{test.name}: {stop.example.source.rstrip()} raised {error!r}") from error


@pytest.mark.slow
def test_only_a_gpu_excuses_an_example() -> None:
    """An example that is skipped is not known to be true."""
    skipped = [
        test.name for test in examples() if any(doctest.SKIP in example.options for example in test.examples)
    ]
    assert all(name.startswith("ptxlab.gpu.") for name in skipped), skipped


@pytest.mark.parametrize("name", MODULES)
def test_modules_for_users_are_documented(name: str) -> None:
    """The module says what it is for, and so do its functions and classes."""
    module = getattr(ptxlab, name) if name in ("figures", "gemm", "views") else None
    module = module or importlib.import_module(f"ptxlab.{name}".rstrip("."))
    assert (module.__doc__ or "").strip()
    for public in module.__all__:
        thing = getattr(module, public)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            assert written(thing), f"{module.__name__}.{public} has no docstring"


def written(thing: object) -> str:
    """The docstring that somebody wrote: neither inherited nor the signature that a dataclass puts there."""
    doc = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    return "" if (doc or "").startswith(f"{getattr(thing, '__name__', '')}(") else (doc or "").strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_the_api_teaches(page: ApiPage) -> None:
    """Each page of the API has an example."""
    docs = [written(thing) for _, thing in documented(page)]
    assert all(docs)
    assert any(">>>" in doc for doc in docs)
