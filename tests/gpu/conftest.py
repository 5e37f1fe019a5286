"""A cache of the tests' own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, which nobody has made yet, nor the one that it is in."""
    folder = tmp_path / "some" / "cache"
    monkeypatch.setenv("PTXLAB_CACHE", str(folder))
    return folder
