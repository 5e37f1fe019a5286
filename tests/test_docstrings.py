"""Every public name has a docstring, with an example wherever it can have one, and every example is true.

A public name is a name in `ptxlab.__all__`; a name in `__all__` of a room of CONTRIBUTING.md's table, if it is a function or a
class of ptxlab; and a method or property that one of the classes of the public surface (`SHOWN` and `TOLD`) defines itself.
Constants, type aliases, enumerators and C++'s tags are exempt, and so are the fields of dataclasses: neither carries a docstring.

Functions and classes have an example, a line with ``>>>``. The members of `SHOWN` have one as well, in their own docstring or in
that of their class, which then uses them; the members of `TOLD` have a docstring. What a dataclass says of itself when nobody
wrote a docstring does not count.

All examples of the package run, those of private names too. Where an optional package is missing they skip and say which; none
needs a GPU.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ptxlab
from ptxlab import PtxlabError

ROOT = Path(__file__).resolve().parent.parent
ROOMS = re.findall(r"^\| `(\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.M)
OPTIONAL = {"anywidget", "cuda", "ipywidgets", "IPython", "kaleido", "plotly", "traitlets"}

SHOWN = {
    "dtypes": ("DType",),
    "instruction": ("Instruction",),
    "layout": ("Layout",),
    "memory": ("Tile",),
    "moves": ("TransferForm",),
    "operand": ("Operand",),
    "sparsity": ("Structure",),
}
TOLD = {
    "arithmetic": ("EmulatedThroughF16", "Chain", "Fused", "Model", "Scalar"),
    "instruction": ("Modifiers",),
    "widgets": ("Explorer",),
}


@dataclass(frozen=True)
class Name:
    """A public name, its docstring, and whether that needs an example; `inside` is the docstring of a member's class."""

    label: str
    module: str
    doc: str
    example: bool
    inside: str = ""

    @property
    def shown(self) -> bool:
        return ">>>" in self.doc or self.label.rsplit(".", 1)[-1] in used(self.inside)


def used(doc: str) -> set[str]:
    """The attributes that the examples of a docstring name."""
    trees = [ast.parse(example.source) for example in doctest.DocTestParser().get_examples(doc)]
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def written(thing: Any) -> str:
    """The docstring that somebody wrote for a function or class: not one that it inherits, nor the signature that a dataclass puts there."""
    if not inspect.isclass(thing):
        return thing.__doc__ or ""
    doc = vars(thing).get("__doc__") or ""
    return "" if doc.startswith(f"{thing.__name__}(") else doc


def absent(error: BaseException | None) -> bool:
    """Whether an error says that an optional package is not installed."""
    if isinstance(error, PtxlabError):
        return "pip install" in str(error)
    return isinstance(error, ImportError) and (error.name or "").split(".")[0] in OPTIONAL


def present(module: ModuleType, name: str) -> Any:
    """What a room offers under that name; None where it needs an optional package that is absent."""
    try:
        return getattr(module, name)
    except PtxlabError as error:
        if not absent(error):
            raise
    return None


def offered() -> Iterator[tuple[str, Any]]:
    """Names of the package and of its rooms; what is not there for want of an optional package is left out."""
    for room in ("", *ROOMS):
        module = importlib.import_module(f"ptxlab.{room}".rstrip("."))
        for name in module.__all__:
            thing = present(module, name)
            if thing is not None:
                yield f"{module.__name__}.{name}", thing


def public() -> Iterator[Name]:
    seen = set()
    for label, thing in offered():
        bare = inspect.unwrap(thing) if callable(thing) else thing
        if (
            (inspect.isfunction(bare) or inspect.isclass(bare))
            and bare.__module__.startswith("ptxlab")
            and bare not in seen
        ):
            seen.add(bare)
            yield Name(label, bare.__module__, written(thing), example=True)
    for rooms, example in ((SHOWN, True), (TOLD, False)):
        for room, classes in rooms.items():
            module = importlib.import_module(f"ptxlab.{room}")
            for name in classes:
                kind = present(module, name)
                if kind is not None:
                    yield from members(kind, f"ptxlab.{room}.{name}", example)


def members(kind: type, label: str, example: bool) -> Iterator[Name]:
    for name, member in vars(kind).items():
        if name.startswith("_") and name != "__call__":
            continue
        inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(inner) or isinstance(inner, property | cached_property):
            yield Name(f"{label}.{name}", kind.__module__, inner.__doc__ or "", example, written(kind))


def examples() -> Iterator[doctest.DocTest]:
    """Every docstring of the package with an example in it, each once."""
    seen = set()
    for found in pkgutil.walk_packages(ptxlab.__path__, "ptxlab."):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError as error:
            if not absent(error):
                raise
            continue
        for test in doctest.DocTestFinder(exclude_empty=True).find(module):
            if test.examples:
                seen.add(test.docstring)
                yield test
    for name in (
        NAMES
    ):  # what doctest does not look into, depending on Python's version: cached properties, wrapped functions
        if ">>>" in name.doc and name.doc not in seen:
            module = importlib.import_module(name.module)
            yield doctest.DocTestParser().get_doctest(
                name.doc, dict(vars(module)), name.label, module.__file__, None
            )


NAMES = tuple(public())
EXAMPLES = tuple(examples())


def test_the_names_are_those_of_the_package() -> None:
    """The lists above reach what they are meant to reach."""
    labels = [name.label for name in NAMES]
    assert len(labels) == len(set(labels)) > 250
    assert {
        "ptxlab.explore",
        "ptxlab.isa.fragments.metadata",
        "ptxlab.instruction.Instruction.__call__",
        "ptxlab.isa.layout.Layout.T",
    } <= set(labels)
    assert "ptxlab.DTYPES" not in labels


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.label)
def test_a_public_name_is_explained(name: Name) -> None:
    assert name.doc.strip(), f"{name.label} has no docstring"
    assert name.shown or not name.example, f"{name.label} has no example"


@pytest.mark.parametrize("test", EXAMPLES, ids=lambda test: test.name)
def test_examples_are_true(test: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    try:
        doctest.DebugRunner(verbose=False).run(test, clear_globs=False)
    except doctest.DocTestFailure as wrong:
        said = f"{test.name}: >>> {wrong.example.source.rstrip()}\nexpected {wrong.example.want.rstrip()}\nfound    {wrong.got.rstrip()}"
        pytest.fail(said, pytrace=False)
    except doctest.UnexpectedException as stop:
        error = stop.exc_info[1]
        if absent(error):
            pytest.skip(f"{test.name}: {error}")
        raise AssertionError(f"{test.name}: {stop.example.source.rstrip()} raised {error!r}") from error


def test_only_a_gpu_excuses_an_example() -> None:
    """What is skipped is not known to be true: only the room of the GPU may show what a machine without one cannot."""
    skipped = [
        test.name for test in EXAMPLES if any(doctest.SKIP in example.options for example in test.examples)
    ]
    assert all(name.startswith("ptxlab.gpu.") for name in skipped), skipped
