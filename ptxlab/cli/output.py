"""What commands print: tables as text, Markdown, CSV or JSON, pictures as SVG, and the streams they go to.

Text has colours on a terminal and none in a pipe. Standard output and standard error may have any encoding,
and may be closed or full.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TextIO

from ..errors import PtxlabError
from ..isa.dtypes import DType
from ..views import Picture, Table, palette
from ..views.location_tables import SparsePlaces
from .commands import Flags

_MAX_MESSAGE = 1500  # characters; sentences are far shorter, but what they repeat may not be
_LONG_WORD = re.compile(r"(\S{60})\S{100,}")  # longer than any mnemonic, which has up to 120 characters


_FORMATS = {
    "csv": "a table for other programs",
    "markdown": "a table for documents",
    "json": "print JSON",
    "cuda": "a device function in CUDA C++",
    "svg": "a picture",
    "cute": "the layout in CuTe's notation",
    "formula": "row and column as formulas of lane and element",
}
#: The least of `Printed` that commands with pictures offer.
PICTURE = frozenset(("json", "svg", "no_title", "dark"))


class Style:
    """Colours and width of the terminal; no colours where the output is not a terminal or NO_COLOR is set."""

    def __init__(self, colour: bool | None = None) -> None:
        self.terminal = _is_terminal(sys.stdout)
        self.stderr_is_terminal = _is_terminal(sys.stderr)
        if colour is None:
            colour = self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.colour = colour
        self.width = shutil.get_terminal_size().columns if self.terminal else 0  # 0: no limit
        self._true_colour = os.environ.get("COLORTERM") in ("truecolor", "24bit")

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def lane(self, lane: int | None, text: str) -> str:
        """Text on the background colour of a lane."""
        if not self.colour or lane is None:
            return text
        colour = palette.LANES[lane % 32]
        red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
        if self._true_colour:
            return f"\x1b[48;2;{red};{green};{blue}m\x1b[38;2;26;26;26m{text}\x1b[0m"
        cube = 16 + 36 * round(red / 51) + 6 * round(green / 51) + round(blue / 51)
        return f"\x1b[48;5;{cube}m\x1b[38;5;16m{text}\x1b[0m"


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal; a closed one is None, or raises ValueError."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def as_text(table: Table, style: Style, indent: str = "", *, width: int = 0) -> str:
    """Aligned columns; too wide a table is split into parts, each with the first column."""
    cells = [[str(value) for value in row] for row in table.rows]
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(table.columns)]
    numeric = [
        all(isinstance(row[i], int) or row[i] in ("", "-") for row in table.rows)
        for i in range(len(table.columns))
    ]

    def aligned(text: str, column: int) -> str:
        return text.rjust(widths[column]) if numeric[column] else text.ljust(widths[column])

    def part(columns: list[int]) -> str:
        head = "  ".join(aligned(table.columns[column], column) for column in columns)
        lines = [indent + style.bold(head.rstrip())]
        for number, row in enumerate(cells):
            lanes = table.lanes[number] if table.lanes else ()
            texts = [
                style.lane(lanes[column] if column < len(lanes) else None, aligned(row[column], column))
                for column in columns
            ]
            lines.append((indent + "  ".join(texts)).rstrip())
        return "\n".join(lines)

    limit = (width or style.width) - len(indent) if width or style.width else None
    return "\n\n".join(part(columns) for columns in _fold(widths, limit))


def _fold(widths: Sequence[int], limit: int | None) -> list[list[int]]:
    """The columns of each part, at most `limit` wide together; every part begins with the first column."""
    if limit is None or sum(widths) + 2 * (len(widths) - 1) <= limit:
        return [list(range(len(widths)))]
    parts = [[0]]
    room = limit - widths[0]
    for column, width in enumerate(widths[1:], 1):
        room -= width + 2
        if room < 0 and len(parts[-1]) > 1:
            parts.append([0])
            room = limit - widths[0] - width - 2
        parts[-1].append(column)
    return parts


def as_markdown(table: Table) -> str:
    def line(values: Sequence[object]) -> str:
        return "| " + " | ".join(str(value).replace("|", "\\|") for value in values) + " |"

    rule = line(["---" for _ in table.columns])
    return "\n".join([line(table.columns), rule, *(line(row) for row in table.rows)])


def as_csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue().rstrip("\n")


def as_json(data: object) -> str:
    return json.dumps(data, indent=2, default=plain)


def plain(value: object) -> object:
    """A value that JSON has no form for, in one that it has."""
    if isinstance(value, Table):
        return value.records()
    if isinstance(value, DType):
        return value.name
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


@dataclass(frozen=True, kw_only=True)
class Printed:
    """How an answer is printed; a command offers some of the formats, with PICTURE those of pictures."""

    format: Annotated[str | None, Flags(_FORMATS)] = None
    no_title: Annotated[bool, "with --svg: without title and notes, for papers"] = False
    dark: Annotated[bool, "with --svg: for a dark page"] = False

    def svg(self, picture: Picture) -> PictureFile:
        """The picture as a file of SVG."""
        file = PictureFile(picture.with_title(not self.no_title).svg(dark=self.dark).rstrip("\n"))
        file.picture = picture
        return file

    def check(self) -> None:
        """Refuse --no-title and --dark without --svg."""
        if self.no_title and self.format != "svg":
            raise PtxlabError("--no-title is for --svg: it leaves out the title of the picture and the notes")
        if self.dark and self.format != "svg":
            raise PtxlabError("--dark is for --svg: it draws the picture for a dark page")


def sparse_places_text(element: str, instruction: str, places: SparsePlaces, style: Style) -> str:
    """An element of dense A in words: its chunk, its nibble, and where it is for each nibble."""
    (low, high), (first, last) = places.columns, places.group_columns
    group = f"column {first}" if first == last else f"columns {first}..{last}"
    dense, stored = ("x".join(map(str, shape)) for shape in (places.dense, places.stored))
    note = f"dense A is {dense}, {stored} of it is stored; --stored takes stored coordinates"
    return "\n".join(
        [
            f"{style.bold(element)} of {instruction}",
            f"  {style.dim(note)}",
            f"  chunk {places.chunk} (columns {low}..{high}), group {places.group} ({group})",
            "",
            "  its nibble in the metadata E:",
            as_text(places.nibble, style, "    "),
            "",
            f"  {element} is, for each legal nibble:",
            as_text(places.places, style, "    "),
        ]
    )


# -- streams ------------------------------


class Utf8(str):
    """Text that is a whole file, such as SVG: always UTF-8, whatever the terminal's encoding."""


class PictureFile(Utf8):
    """A file of SVG, with the picture that it shows."""

    picture: Picture


class OutputError(Exception):
    """Standard output did not take everything; `reader_left` if it is a pipe whose reader has ended."""

    def __init__(self, reason: str, *, reader_left: bool = False) -> None:
        super().__init__(f"standard output: {reason}")
        self.reader_left = reader_left


def write(text: str) -> None:
    """Write a text and a line break to standard output, or raise an OutputError if they do not arrive.

    Characters that the encoding lacks are written as escapes.
    """
    stream: TextIO | None = sys.stdout
    if stream is None:  # it was closed before Python started
        raise OutputError("it is closed")
    try:
        if isinstance(text, Utf8) and hasattr(stream, "buffer"):
            stream.flush()
            stream.buffer.write(f"{text}\n".encode("utf-8", "backslashreplace"))
        else:
            stream.write(_encodable(f"{text}\n", stream))
        stream.flush()
    except OSError as problem:
        _silence(stream)
        reader_left = isinstance(problem, BrokenPipeError)
        raise OutputError(problem.strerror or str(problem), reader_left=reader_left) from None
    except ValueError:
        _silence(stream)
        raise OutputError("it is closed") from None


def error(text: str) -> None:
    """Write a text and a line break to standard error; if that fails, only the exit status tells."""
    stream: TextIO | None = sys.stderr
    if stream is None:
        return
    try:
        stream.write(_encodable(f"{text}\n", stream))
        stream.flush()
    except (OSError, ValueError):
        _silence(stream)


def _encodable(text: str, stream: TextIO) -> str:
    """The text with escapes for characters that the stream's encoding lacks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _silence(stream: TextIO) -> None:
    """Discard what the stream still holds, so that Python does not fail to write it again at exit."""
    if stream not in (sys.__stdout__, sys.__stderr__):
        return
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def one_line(text: str) -> str:
    """A message on one line: control characters as escapes, and no longer than a message may be.

    >>> one_line("no instruction is called '" + 1000 * "x" + "\\n'")
    "no instruction is called 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\\\\n'"
    """
    text = _LONG_WORD.sub(r"\1...", text)
    if len(text) > _MAX_MESSAGE:
        text = f"{text[: _MAX_MESSAGE * 2 // 3]} ... {text[-_MAX_MESSAGE // 3 :]}"
    return "".join(
        letter
        if letter.isprintable()
        else letter.encode("unicode_escape", "backslashreplace").decode("ascii")
        for letter in text
    )
