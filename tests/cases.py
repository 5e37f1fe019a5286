"""Many cases in one test: every case runs, and all that fail are reported together."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def each(
    names: str,
    cases: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Callable[[Any], object] | Sequence[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`pytest.mark.parametrize` for cases that take milliseconds, of which pytest spends four on every test.

    Cases that take time to make come from a function, which is called when the test runs: every worker
    collects all tests. PTXLAB_CASE=m16n8k16 runs only the cases with that in their name. Fixtures are shared
    by the cases, but each gets the same random numbers.
    """
    keys = [name.strip() for name in names.split(",")]
    wanted = os.environ.get("PTXLAB_CASE", "")
    made = () if callable(cases) else tuple(cases)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            values, given = _plain(cases() if callable(cases) else made)
            labels = given or ids
            failures: list[tuple[str, BaseException]] = []
            skipped = []
            for index, case in enumerate(values):
                if wanted and wanted not in _label(case, index, labels):
                    continue
                arguments = dict(zip(keys, case if len(keys) > 1 else (case,), strict=True))
                try:
                    test(**{name: _own(value) for name, value in fixtures.items()}, **arguments)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as error:
                    failures.append((_label(case, index, labels), error))
            _report(failures)
            if skipped and len(skipped) == len(values):
                raise skipped[0]

        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        del run.__wrapped__  # type: ignore[attr-defined]
        return run

    return decorate


def _plain(cases: Iterable[Any]) -> tuple[list[Any], list[str] | None]:
    """Cases without pytest.param around them, and the names that it gave."""
    values = list(cases)
    if not any(hasattr(case, "marks") for case in values):
        return values, None
    if any(case.marks for case in values):
        raise TypeError("a case with marks is a test of its own: use pytest.mark.parametrize")
    plain = [case.values if len(case.values) > 1 else case.values[0] for case in values]
    return plain, [str(case.id or index) for index, case in enumerate(values)]


def _label(case: Any, index: int, ids: Callable[[Any], object] | Sequence[str] | None) -> str:
    if callable(ids):
        return str(ids(case))
    if ids is not None:
        return ids[index]
    parts = case if isinstance(case, tuple) else (case,)
    names = [str(part) for part in parts if isinstance(part, str | int | float)]
    return f"{index}: {'-'.join(names)}"


def _own(value: Any) -> Any:
    """Random numbers from the start; other fixtures as they are."""
    return copy.deepcopy(value) if hasattr(value, "bit_generator") else value


def _report(failures: list[tuple[str, BaseException]]) -> None:
    if len(failures) == 1:
        ((label, error),) = failures
        error.add_note(f"case: {label}")
        raise error
    if failures:
        names = "\n".join(f"  {label}" for label, _ in failures)
        texts = [f"{label}:\n{''.join(traceback.format_exception(error))}" for label, error in failures[:5]]
        pytest.fail(f"{len(failures)} cases fail:\n{names}\n\n" + "\n".join(texts), pytrace=False)
