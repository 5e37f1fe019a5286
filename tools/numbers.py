"""python -m tools.numbers [--write]: numbers in the prose of lessons and docs, and what they are taken from.

`tools/data/numbers.txt` has a section for each page, `[epilogue]` for the lesson with that name and
`[docs/guide/kernels.md]` for a page, with one phrase of its prose in each line. What stands in braces is an
expression, as in an f-string; the phrase must be in the page with its value:

    the same loop reaches {RATES[1]} TFLOP/s

Expressions may use the functions of this module, the modules of exercises under their own names, and what
lines `name = expression` of the same section have defined. A phrase behind `~` is one whose numbers cannot be
computed here: others have published them, or a data sheet has. Its last word, in parentheses, says where they
are from, and is not part of the phrase. Without --write, phrases that are not in their page are listed; with
it, their numbers are written into the page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any

import numpy as np

import ptxlab
from ptxlab._util.files import write_atomically
from ptxlab.course.syllabus import module_name
from ptxlab.gpu.records import Measurement
from ptxlab.isa.form import Form
from ptxlab.lessons import LESSONS
from ptxlab.simulator.hazard import PROBES
from ptxlab.views import Picture

__all__ = ["FILE", "Phrase", "Section", "differences", "measured_numbers", "prose", "sections", "write"]

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tools" / "data" / "numbers.txt"

#: A number with a unit that is measured or counted; in a lesson each of them is in a phrase of the file.
_WITH_UNIT = re.compile(
    r"(?<![\w.,-])(?<!/ )\d[\d,]*(?:\.\d+)?(?:\*\*)? ?"
    r"(?:%(?! ?\d)|(?:percent|TFLOP/s|µs|ns|ms|W|cycles|[tbm]r?illion|[GMKT]B|times as)\b|[GM]Hz)"
)


# -- what expressions may use --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Probe:
    """What a GPU gave without one fence, wait or barrier: elements that were wrong, of how many."""

    wrong: int
    total: int

    @property
    def percent(self) -> float:
        """How many of a hundred were wrong."""
        return 100 * self.wrong / self.total


def probe(name: str) -> Probe:
    """A record of `python -m tools.probe_hazards`.

    >>> probe("bulk_proxy").wrong
    5098405488
    """
    row = json.loads(PROBES.read_text(encoding="utf-8"))[name]
    return Probe(row["wrong"], row["total"])


def measured(name: str) -> Measurement:
    """What was recorded for an instruction on an H200."""
    return ptxlab.measured(name, chip="H200")


def shown(picture: Picture) -> dict[str, str]:
    """What a chart or a table shows last in each of its rows, by the names of the rows.

    >>> shown(_names()["from_instruction_to_gemm"].gains())["12 tile order"]
    '+5%'
    """
    grid = picture.grids[0]
    texts: dict[int, str] = {cell.row: " ".join(cell.lines) for cell in grid.cells if cell.lines}
    return {" ".join(header.lines): texts[header.start] for header in grid.rows if header.start in texts}


@lru_cache(maxsize=None)
def lesson_cells(slug: str, *ids: str) -> dict[str, Any]:
    """The names that code cells of a lesson leave, run in this order."""
    (lesson,) = (lesson for lesson in LESSONS if lesson.slug == slug)
    path = ROOT / "notebooks" / f"{lesson.file}.ipynb"
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]}
    names: dict[str, Any] = {"ptxlab": ptxlab}
    with redirect_stdout(StringIO()):
        for name in ids:
            exec(cells[name], names)
    return names


def tera(number: float) -> float:
    """In units of 10^12."""
    return number / 1e12


def forms(family: str, **wanted: object) -> list[Form]:
    """The forms of a family whose attributes are as wanted.

    >>> len(forms("mma", a_type="tf32"))
    2
    """
    return [
        form
        for form in ptxlab.catalog(family)
        if all(getattr(form, name) == value for name, value in wanted.items())
    ]


_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def word(number: int) -> str:
    """A number below a hundred in letters.

    >>> word(7), word(58), word(30)
    ('seven', 'fifty-eight', 'thirty')
    """
    if number < 20:
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")


def large(number: float) -> str:
    """A large number with two digits and its name.

    >>> large(5_535_940_608_000), large(15.5e12), large(6.6e9)
    ('5.5 trillion', '15.5 trillion', '6.6 billion')
    """
    for name, size in {"trillion": 1e12, "billion": 1e9, "million": 1e6}.items():
        if number >= size:
            return f"{number / size:.1f} {name}".replace(".0 ", " ")
    return f"{number:,.0f}"


@lru_cache(maxsize=1)
def _names() -> dict[str, Any]:
    """What an expression finds beside the builtins."""
    modules: dict[str, ModuleType] = {}
    for lesson in LESSONS:
        if lesson.exercises:
            name = module_name(lesson.slug)
            modules[name] = import_module(f"ptxlab.course.exercises.{name}")
    own = {
        function.__name__: function
        for function in (probe, measured, shown, lesson_cells, tera, forms, word, large)
    }
    return {**modules, **own, "ptxlab": ptxlab, "json": json, "np": np, "re": re, "ROOT": ROOT}


# -- the file ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Phrase:
    """One phrase of a page, with expressions in braces; or with numbers that others have published."""

    line: int
    template: str
    source: str = ""  # of a phrase whose numbers are not computed

    def values(self, names: dict[str, Any]) -> list[str]:
        """The values of its expressions as they stand in the page."""
        found = []
        for _, expression, spec, _ in Formatter().parse(self.template):
            if expression is not None:
                try:
                    found.append(format(eval(expression, names), spec or ""))
                except Exception as error:
                    raise ValueError(f"numbers.txt, line {self.line}: {expression}: {error}") from error
        return found

    def text(self, values: Iterable[str]) -> str:
        """The phrase with values in it."""
        rest = iter(values)
        parts = (
            literal + (next(rest) if expression is not None else "")
            for literal, expression, _, _ in Formatter().parse(self.template)
        )
        return "".join(parts)

    @property
    def pattern(self) -> re.Pattern[str]:
        """Finds it with any numbers."""
        parts = (
            re.escape(literal) + ("(.{1,40}?)" if expression is not None else "")
            for literal, expression, _, _ in Formatter().parse(self.template)
        )
        return re.compile("".join(parts) + r"(?![\w])")


@dataclass(frozen=True)
class Section:
    """The phrases of one page."""

    page: str
    definitions: tuple[tuple[str, str], ...]
    phrases: tuple[Phrase, ...]

    @property
    def path(self) -> Path:
        """The page: a notebook for the name of a lesson."""
        if self.page.endswith(".md"):
            return ROOT / self.page
        (lesson,) = (lesson for lesson in LESSONS if lesson.slug == self.page)
        return ROOT / "notebooks" / f"{lesson.file}.ipynb"

    def names(self) -> dict[str, Any]:
        """What its expressions find."""
        names = dict(_names())
        for name, expression in self.definitions:
            names[name] = eval(expression, names)
        return names


def sections() -> Iterator[Section]:
    """The file, page by page."""
    page = ""
    definitions: list[tuple[str, str]] = []
    phrases: list[Phrase] = []
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), 1):
        if head := re.fullmatch(r"\[(.+)\]", line):
            if page:
                yield Section(page, tuple(definitions), tuple(phrases))
            page, definitions, phrases = head[1], [], []
        elif definition := re.match(r"(\w+) = (.*)", line):
            definitions.append((definition[1], definition[2]))
        elif given := re.fullmatch(r"~ (.*) \(([^()]+)\)", line):
            escaped = given[1].replace("{", "{{").replace("}", "}}")
            phrases.append(Phrase(number, escaped, given[2]))
        elif line and not line.startswith("#"):
            phrases.append(Phrase(number, line))
    yield Section(page, tuple(definitions), tuple(phrases))


# -- pages ---------------------------------------------------------------------------------------------------


def prose(path: Path) -> str:
    """The Markdown of a page: of a notebook its text cells, each line by itself."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def differences(section: Section) -> list[str]:
    """The phrases that are not in their page with these numbers."""
    text, names = prose(section.path), section.names()
    missing = []
    for phrase in section.phrases:
        wanted = phrase.text(phrase.values(names))
        if not re.search(rf"(?<![\d.]){re.escape(wanted)}(?![\w])", text):
            now = phrase.pattern.search(text)
            found = f"the page says {now[0]!r}" if now else "the page has no such phrase"
            missing.append(f"numbers.txt, line {phrase.line}: {wanted!r}, but {found}")
    return missing


def measured_numbers(section: Section) -> list[str]:
    """Numbers with units in the prose of a lesson that no phrase has, with what stands around them."""
    text, names = re.sub(r"```.*?```", "", prose(section.path), flags=re.S), section.names()
    covered: set[int] = set()
    for phrase in section.phrases:
        for match in re.finditer(re.escape(phrase.text(phrase.values(names))), text):
            covered.update(range(*match.span()))
    return [
        text[max(0, match.start() - 40) : match.end() + 20]
        for match in _WITH_UNIT.finditer(text)
        if not covered.issuperset(range(match.start(), match.end()))
    ]


def write(section: Section) -> None:
    """Put the numbers into the page."""
    path, names = section.path, section.names()
    wanted = {phrase: phrase.text(phrase.values(names)) for phrase in section.phrases}

    def mended(text: str) -> str:
        for phrase, words in wanted.items():
            if words not in text:
                text = phrase.pattern.sub(words.replace("\\", r"\\"), text)
        return text

    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = mended("".join(cell["source"])).splitlines(keepends=True)
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    else:
        text = mended(text)
    write_atomically(path, text)


def main() -> int:
    pages = list(sections())
    if "--write" in sys.argv[1:]:
        for section in pages:
            write(section)
    wrong = [line for section in pages for line in differences(section)]
    held = sum(len(phrase.values(section.names())) for section in pages for phrase in section.phrases)
    print(*wrong, sep="\n")
    print(f"{held} numbers in {len(pages)} pages")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
