"""The page of the public names: signature, docstring and example of each, read from the package itself."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from functools import cached_property
from html import escape
from typing import Any

import ptxlab

from .docstrings import prose
from .page import Page, code, details, pre, table

__all__ = ["build"]

_LONG = 6  # lines of a constant's repr that are shown


def build() -> Page:
    page = Page("api.html", "Python API", "Signature, description and example of every public name.")
    page.head(1, "Python API", listed=False)
    page.add(
        "<p>What <code>import ptxlab</code> gives comes first; the rooms behind it follow. All of this is read from the docstrings.</p>"
    )
    known: set[int] = set()
    page.head(2, code("ptxlab"))
    for name in ptxlab.__all__:
        _name(page, "ptxlab", name, getattr(ptxlab, name), known)
    for room in _rooms():
        module = importlib.import_module(f"ptxlab.{room}")
        names = [
            name
            for name in getattr(module, "__all__", ())
            if id(getattr(module, name)) not in known and not inspect.ismodule(getattr(module, name))
        ]
        if names:
            page.head(2, code(f"ptxlab.{room}"))
            page.add(prose(module.__doc__ or ""))
        for name in names:
            _name(page, f"ptxlab.{room}", name, getattr(module, name), known)
    return page


def _rooms() -> list[str]:
    return [
        found.name
        for found in pkgutil.iter_modules(ptxlab.__path__)
        if not found.name.startswith("_") and found.name != "cli"
    ]


def _name(page: Page, where: str, name: str, thing: Any, known: set[int]) -> None:
    known.add(id(thing))
    anchor = page.head(3, code(f"{where}.{name}"), page.anchor(f"{where}.{name}"), short=name)
    page.find(f"{where}.{name}", _sort(thing), anchor)
    if inspect.isclass(thing):
        page.add(_signature(name, thing), prose(thing.__dict__.get("__doc__") or ""), _members(thing))
    elif callable(thing):
        page.add(_signature(name, thing), prose(inspect.getdoc(thing) or ""))
    else:
        page.add(_constant(name, thing))


def _sort(thing: Any) -> str:
    return "class" if inspect.isclass(thing) else "function" if callable(thing) else "constant"


def _constant(name: str, thing: Any) -> str:
    if isinstance(thing, dict):
        rows = [(code(key), code(_clean(repr(value)))) for key, value in thing.items()]
        shown = table(("key", "value"), rows, label=name)
        return shown if len(rows) <= _LONG else details(f"{len(rows)} entries", shown)
    return pre(f"{name} = {_clean(repr(thing))}", wrap=True)


def _clean(text: str) -> str:
    """Without addresses, which differ from run to run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


class _Bare:
    """An annotation that prints as it was written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _signature(name: str, thing: Any) -> str:
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""

    def bare(note: Any) -> Any:
        return _Bare(note) if isinstance(note, str) else note

    parameters = [
        p.replace(annotation=bare(p.annotation))
        for p in found.parameters.values()
        if p.name != "self" and not p.name.startswith("_")
    ]
    try:
        found = found.replace(parameters=parameters, return_annotation=bare(found.return_annotation))
    except ValueError:  # a parameter without default after one with, once a private one is left out
        return ""
    text = _clean(f"{name}{found}").removesuffix(" -> None")
    if len(text) > 100 and parameters:
        inside = ",\n    ".join(_written(found))
        text = f"{name}(\n    {inside},\n){text[text.rindex(')') + 1 :] if ' -> ' in text else ''}"
    return pre(text, f"Signature of {name}")


def _written(found: inspect.Signature) -> list[str]:
    """The parameters as text, with the bare * where keyword-only ones begin."""
    said, star = [], False
    for parameter in found.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            star = True
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            said.append("*")
            star = True
        said.append(_clean(str(parameter)))
    return said


def _members(kind: type) -> str:
    """The public properties and methods that a class defines itself."""
    rows = []
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    for name, member in vars(kind).items():
        if (name.startswith("_") and name != "__call__") or name in fields:
            continue
        if isinstance(member, property | cached_property):
            asked = member.fget if isinstance(member, property) else member.func
            note = inspect.signature(asked).return_annotation if asked else ""
            rows.append((f".{name}", f"{note}", inspect.getdoc(asked) or ""))
        elif inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            rows.append((name, _short_signature(inner), inspect.getdoc(inner) or ""))
    if not rows:
        return ""
    shown = [
        f"<dt>{code(name)} <span>{escape(_clean(said))}</span></dt><dd>{prose(text)}</dd>"
        for name, said, text in rows
    ]
    return f'<dl class="members">{"".join(shown)}</dl>'


def _short_signature(function: Any) -> str:
    found = inspect.signature(function)
    names = [
        p.replace(annotation=p.empty) for p in found.parameters.values() if p.name not in ("self", "cls")
    ]
    result = found.return_annotation
    return f"{found.replace(parameters=names, return_annotation=found.empty)}" + (
        f" -> {result}" if isinstance(result, str) and result != "None" else ""
    )
