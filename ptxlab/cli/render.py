"""Plain data as text: tables for a terminal (in colour) or a pipe (without), Markdown, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from ..views import Table, palette

__all__ = ["Style", "as_csv", "as_json", "as_markdown", "as_text"]


class Style:
    """Colours, or none where the output is no terminal or NO_COLOR is set."""

    def __init__(self, colour: bool | None = None) -> None:
        self.terminal = terminal = sys.stdout.isatty()
        wanted = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.colour = wanted if colour is None else colour
        self.width = shutil.get_terminal_size().columns if terminal else 0  # 0: as wide as it takes
        self._exact = os.environ.get("COLORTERM") in ("truecolor", "24bit")

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def lane(self, lane: int | None, text: str) -> str:
        """Text on the background of a lane."""
        if not self.colour or lane is None:
            return text
        colour = palette.lane_colour(lane)
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        if self._exact:
            return f"\x1b[48;2;{red};{green};{blue}m\x1b[38;2;26;26;26m{text}\x1b[0m"
        cube = 16 + 36 * round(red / 51) + 6 * round(green / 51) + round(blue / 51)
        return f"\x1b[48;5;{cube}m\x1b[38;5;16m{text}\x1b[0m"


def as_text(table: Table, style: Style, indent: str = "", *, fold: bool = True) -> str:
    """Aligned columns; a table wider than the terminal is cut into bands of columns, each with the first column again (`fold`)."""
    cells = [[str(value) for value in row] for row in table.rows]
    widths = [
        max(len(head), *(len(row[i]) for row in cells)) if cells else len(head)
        for i, head in enumerate(table.columns)
    ]
    right = [
        all(isinstance(row[i], int) or row[i] in ("", "-") for row in table.rows) for i in range(len(widths))
    ]
    return "\n\n".join(
        _band(table, cells, widths, right, band, style, indent)
        for band in _bands(widths, style.width if fold else 0, len(indent))
    )


def _bands(widths: Sequence[int], limit: int, used: int) -> list[list[int]]:
    if not limit or used + sum(widths) + 2 * (len(widths) - 1) <= limit:
        return [list(range(len(widths)))]
    bands, left = [[0]], limit - used - widths[0]
    for i in range(1, len(widths)):
        left -= widths[i] + 2
        if left < 0 and len(bands[-1]) > 1:
            bands.append([0])
            left = limit - used - widths[0] - widths[i] - 2
        bands[-1].append(i)
    return bands


def _band(
    table: Table,
    cells: list[list[str]],
    widths: list[int],
    right: list[bool],
    band: list[int],
    style: Style,
    indent: str,
) -> str:
    def fit(text: str, i: int) -> str:
        return text.rjust(widths[i]) if right[i] else text.ljust(widths[i])

    lines = [indent + style.bold("  ".join(fit(table.columns[i], i) for i in band).rstrip())]
    for number, row in enumerate(cells):
        lanes = table.lanes[number] if table.lanes else ()
        shown = [style.lane(lanes[i] if i < len(lanes) else None, fit(row[i], i)) for i in band]
        lines.append((indent + "  ".join(shown)).rstrip())
    return "\n".join(lines)


def as_markdown(table: Table) -> str:
    def line(values: Sequence[Any]) -> str:
        return "| " + " | ".join(str(value).replace("|", "\\|") for value in values) + " |"

    return "\n".join(
        [line(table.columns), line(["---"] * len(table.columns)), *(line(row) for row in table.rows)]
    )


def as_csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return out.getvalue().rstrip("\n")


def as_json(data: Any) -> str:
    return json.dumps(data, indent=2, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Table):
        return value.records()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")
