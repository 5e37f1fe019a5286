"""Mechanisms that are gone stay gone: what shows a class, or which kind it is, is decided in one place."""

from __future__ import annotations

from tools.code_figures import marks


def test_nothing_is_told_apart_twice() -> None:
    found = marks()
    gone = ("result_type", "Kernel[...]", "Form.__new__, PUBLIC_CLASSES", "transfer is None, or is not")
    assert [found[name] for name in gone] == [0, 0, 0, 0]
    assert found["file names that occur twice"] == 0
    limits = {"isinstance on Tcgen05...": 100, "tests of a form's kind in views and explorer": 70}
    for name, limit in limits.items():
        assert 0 < found[name] < limit, name
