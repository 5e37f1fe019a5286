"""The page of predicted times: every launch that was measured on an H200, with its prediction."""

from __future__ import annotations

from pathlib import Path

from benchmarks import predict
from ptxlab._util.files import write_atomically

from .markdown import Page

__all__ = ["page", "write"]


def write(folder: Path) -> None:
    write_atomically(folder / "predicted-times.md", str(page()))


def page() -> Page:
    out = Page("Measured and predicted times")
    out.add(
        "Launches on an H200 beside what `k.profile(...)` predicts for them, the worst first. [What a "
        "predicted time is worth](../guide/prediction.md) says how these launches were chosen, and what the "
        "model does not know. `python -m benchmarks.predict --table` prints this table.",
        predict.table().rstrip(),
    )
    return out
