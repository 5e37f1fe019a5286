"""Many cases in one test, each a subtest of pytest's: all run, and each that fails is reported by name."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pytest

from ptxlab import PtxlabError


def refusal(function: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """The sentence with which a call is refused."""
    with pytest.raises(PtxlabError) as caught:
        function(*arguments, **options)
    return str(caught.value)


def refuses(sentence: str, function: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """The call is refused with one sentence in which this pattern occurs."""
    message = refusal(function, *arguments, **options)
    assert re.search(sentence, message) and "\n" not in message, message


def each(
    names: str,
    cases: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Callable[[Any], object] | Iterable[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`pytest.mark.parametrize` for cases that take milliseconds, of which pytest spends four on every test.

    Cases that take time to make come from a function, which is called when the test runs: every worker
    collects all tests. PTXLAB_CASE=m16n8k16 runs only the cases with that in their name. Fixtures are shared
    by the cases, but each gets the same random numbers.
    """
    keys = [name.strip() for name in names.split(",")]
    wanted = os.environ.get("PTXLAB_CASE", "")
    made = () if callable(cases) else tuple(cases)
    labels = ids if ids is None or callable(ids) else list(ids)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(test).parameters

        def run(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for index, case in enumerate(cases() if callable(cases) else made):
                label = _label(case, index, labels)
                if wanted in label:
                    own = {name: _own(value) for name, value in fixtures.items()}
                    own |= zip(keys, case if len(keys) > 1 else (case,), strict=True)
                    if "subtests" in parameters:  # two of these decorators: the inner one names the cases
                        test(subtests=_Labelled(subtests, label), **own)
                        continue
                    with subtests.test(label):
                        test(**own)

        functools.update_wrapper(run, test)
        del run.__wrapped__  # type: ignore[attr-defined]
        rest = [parameters[name] for name in parameters if name not in (*keys, "subtests")]
        subtests = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        run.__signature__ = inspect.Signature([*rest, subtests])  # type: ignore[attr-defined]
        return run

    return decorate


@dataclass
class _Labelled:
    """Subtests whose names end with a label."""

    subtests: pytest.Subtests | _Labelled
    label: str

    def test(self, name: str) -> AbstractContextManager[None]:
        return self.subtests.test(f"{name}, {self.label}")


def _label(case: Any, index: int, ids: Callable[[Any], object] | list[str] | None) -> str:
    if callable(ids):
        return str(ids(case))
    if ids is not None:
        return ids[index]
    parts = case if isinstance(case, tuple) else (case,)
    return "-".join([str(part) for part in parts if isinstance(part, str | int | float)] or [str(index)])


def _own(value: Any) -> Any:
    """Random numbers from the start; other fixtures as they are."""
    return copy.deepcopy(value) if hasattr(value, "bit_generator") else value
