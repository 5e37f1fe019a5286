"""A kernel as CUDA C++, PTX and SASS side by side, matched line by line by the compiler's line tables."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from ..errors import PtxlabError, lines_of
from ..gpu.compiler import SOURCE_NAME
from ..simulator.kernel import Kernel
from .annotated_source import annotated_css, kernel_lines
from .highlight import cell_script, highlighted_lines
from .palette import DARK, DARK_PAGES, HUES, LIGHT, mix

_SASS_LINE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_BLANKS = r"(?:\s|/\*.*?\*/|//[^\n]*)+"


@dataclass(frozen=True)
class Listing:
    """A text, and for each of its lines the line of the kernel's source that it belongs to, or 0.

    `numbers` are those of its lines in the whole text, if it is a part of one.
    """

    name: str
    text: str
    lines: tuple[int, ...]
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class KernelListings:
    """A kernel's source, PTX and SASS; a notebook shows them side by side. `note` says why one is missing."""

    title: str
    columns: tuple[Listing, ...]
    note: str = ""

    def __repr__(self) -> str:
        texts = [f"// {column.name}\n{column.text}" for column in self.columns if column.name != "source"]
        return "\n\n".join([*texts, *([f"// {self.note}"] if self.note else [])])

    def _repr_html_(self) -> str:
        return _listings_html(self)


def listings(kernel: Kernel) -> KernelListings:
    """The source of a kernel, its PTX and, where NVRTC and nvdisasm are installed, its SASS.

    >>> import ptxlab
    >>> source = '__global__ void one(float* x) {\\n  *x = 1;\\n}'
    >>> [column.name for column in listings(ptxlab.kernel(source)).columns]
    ['source', 'PTX', 'SASS']
    """
    columns, note = [ptx_listing(kernel)], ""
    if kernel.source is not kernel.ptx:
        numbers = tuple(kernel_lines(kernel.source, kernel.source_lines))
        texts = lines_of(kernel.source)
        columns.insert(0, Listing("source", "\n".join(texts[number - 1] for number in numbers), numbers))
    try:
        columns.append(sass_listing(kernel))
    except PtxlabError as error:
        note = f"SASS is missing: {error}"
    return KernelListings(repr(kernel)[1:-1], tuple(columns), note)


def ptx_listing(kernel: Kernel) -> Listing:
    """The PTX of one kernel of a module, without debug directives."""
    source_lines = {
        instruction.line: 0 if instruction.source is None else instruction.source.line
        for instruction in kernel.function.instructions
    }
    texts = lines_of(kernel.ptx)
    entry = re.search(rf"\.entry{_BLANKS}{re.escape(kernel.name)}(?![\w$])", kernel.ptx, re.DOTALL)
    first = min(source_lines, default=1) if entry is None else kernel.ptx.count("\n", 0, entry.start()) + 1
    last = max(source_lines, default=first)
    # without a line of its own, the brace stands behind the last instruction
    brace = next((number for number, text in enumerate(texts[last:], last + 1) if text.strip() == "}"), last)
    numbers = [
        number
        for number in range(first, brace + 1)
        if texts[number - 1].strip() and not texts[number - 1].lstrip().startswith((".loc", "//"))
    ]
    shown = "\n".join(re.sub(r"(?<=\S)\s*\t", " ", texts[number - 1]).expandtabs(4) for number in numbers)
    lines = tuple(source_lines.get(number, 0) for number in numbers)
    return Listing("PTX", shown, lines, tuple(numbers))


def sass_listing(kernel: Kernel) -> Listing:
    """The machine code of one kernel; needs NVRTC, and nvdisasm to read it."""
    sources = [instruction.source for instruction in kernel.function.instructions]
    files = {source.file.split("/")[-1] for source in sources if source is not None}
    files.add(SOURCE_NAME)  # what NVRTC calls the source when it compiles to machine code
    texts: list[str] = []
    numbers: list[int] = []
    line, is_first_comment = 0, True  # of several comments before an instruction, that of the innermost call
    for text in kernel.sass().splitlines():
        comment = _SASS_LINE.match(text)
        if comment is None:
            texts.append(text.strip())
            numbers.append(line)
            is_first_comment = True
        elif comment[1].split("/")[-1] in files and is_first_comment:
            line, is_first_comment = int(comment[2]), False
    return Listing("SASS", "\n".join(texts), tuple(numbers))


def _listings_html(listings: KernelListings) -> str:
    """Side by side; lines of code share the colour of the source line they come from, and its highlight."""
    source_lines = sorted({number for column in listings.columns[1:] for number in column.lines} - {0})
    shades = {number: f" shade{index % len(_SHADE_HUES)}" for index, number in enumerate(source_lines)}
    hovered = ", ".join(
        f'.ptx-profile .columns:has([data-line="{number}"]:hover) [data-line="{number}"] > span'
        for number in source_lines
    )
    hover = f"{hovered} {{ background-color: var(--heat); }}" if hovered else ""
    parts = []
    for column in listings.columns:
        rows = [
            f'<div class="row{shades.get(number, "")}" data-line="{number}">'
            f'<span class="number">{number or ""}</span> <span class="text">{text}</span></div>'
            for number, text in zip(column.lines, highlighted_lines(column.text), strict=True)
        ]
        region = f'class="code" tabindex="0" role="group" aria-label="{column.name}"'
        table = f'<div {region}><div class="rows">{"".join(rows)}</div></div>'
        parts.append(f"<section><h4>{column.name}</h4>{table}</section>")
    style = f"<style>{annotated_css()}\n{shade_css('.ptx-profile')}\n{hover}</style>{cell_script()}"
    head = f"<header><b>{html.escape(listings.title)}</b></header>"
    body = f'<div class="columns">{"".join(parts)}</div>'
    foot = f'<footer class="note">{html.escape(listings.note)}</footer>' if listings.note else ""
    return f'{style}<div class="ptx-profile wide">{head}{body}{foot}</div>'


_SHADE_HUES = ("sky", "orange", "green", "purple", "yellow")


def shade_css(root: str, rows: str = " > span") -> str:
    """The colours of lines that belong together, inside of an element, for light and dark pages."""
    return "\n".join(
        f"{page} .shade{index}{rows} {{ background-color: {mix(HUES[name], strength, theme.paper)}; }}"
        for theme, page, strength in (
            (LIGHT, root, 0.16),
            (DARK, f":is({DARK_PAGES}) {root}", 0.2),
        )
        for index, name in enumerate(_SHADE_HUES)
    )
