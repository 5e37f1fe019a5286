"""CUDA C++ and PTX in colours: a pattern for each, in the syntax that Python and the page's scripts share."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from .palette import DARK, DARK_PAGES, HUES, LIGHT, Theme, mix

_WORDS = (
    "alignas asm auto bool break case char class const constexpr continue default delete do double else enum "
    "extern false float for goto half if inline int long namespace new nullptr operator private public "
    "register return short signed sizeof static static_assert struct switch template this true typedef "
    "typename union unsigned using void volatile while size_t dim3"
)
_TYPES = r"u?int(?:8|16|32|64|ptr)_t|u?(?:char|short|int|long|float|double)[1-4]"
_COMMENT = r"//[^\n]*|/\*[\s\S]*?(?:\*/|$(?![\s\S]))"
_STRING = r'"(?:\\.|[^"\\\n])*"'
_NUMBER = r"\b0[xX][0-9a-fA-F]+[uUlL]*\b|\b\d+(?:\.\d*)?(?:[eE][+-]?\d+)?[uUlLfF]*\b"
#: The kinds of tokens of each language; where two fit, the first counts. What CUDA adds to C++ is "builtin",
#: and so are directives, of the preprocessor and of PTX, and PTX's special registers.
_CUDA = {
    "comment": _COMMENT,
    "string": rf"{_STRING}|'(?:\\.|[^'\\\n])'",
    "builtin": r"^[ \t]*#[ \t]*[a-z]+|\b__[a-z]\w*|\b(?:threadIdx|blockIdx|blockDim|gridDim|warpSize)\b",
    "keyword": rf"\b(?:{'|'.join(_WORDS.split())}|{_TYPES})\b",
    "number": _NUMBER,
}
_PTX = {
    "comment": _COMMENT,
    "string": _STRING,
    "builtin": r"(?<![\w.:])\.[a-z]\w*|%(?:n?tid|n?ctaid|laneid|warpid|smid|clock|clock64)\b(?:\.[xyz])?",
    "keyword": r"(?<![\w.%$])[a-z]\w*(?:(?:\.|::)\w+)+|\b(?:ret|exit|trap|bra|call)\b",
    "number": rf"\b0[fFdD][0-9a-fA-F]+\b|{_NUMBER}",
}
KINDS = tuple(_CUDA)
_IS_PTX = r"^\s*\.(?:version|visible|entry|func)\b"
#: What makes a text in a cell a source.
_IS_SOURCE = rf"\b__(?:global|device)__\b|\bthreadIdx\b|\basm\b|{_IS_PTX}"
_SCRIPT = Path(__file__).parent / "highlight_cells.js"


def _pattern(kinds: dict[str, str]) -> str:
    return "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items())


def script_pattern(ptx: bool) -> str:
    """The pattern of a language as JavaScript spells it."""
    return _pattern(_PTX if ptx else _CUDA).replace("(?P<", "(?<")


def is_ptx(source: str) -> bool:
    """Whether a source is PTX rather than CUDA C++.

    >>> is_ptx(".version 8.0"), is_ptx("__global__ void f();")
    (True, False)
    """
    return re.search(_IS_PTX, source, re.MULTILINE) is not None


def tokens(source: str, ptx: bool | None = None) -> Iterator[tuple[str, str]]:
    """A source in parts, each with its kind, one of `KINDS` or "".

    >>> list(tokens("int i;  // 7"))
    [('keyword', 'int'), ('', ' i;  '), ('comment', '// 7')]
    >>> next(tokens("ld.shared.f32 %f1, [%r2];", ptx=True))
    ('keyword', 'ld.shared.f32')
    """
    kinds = _PTX if (is_ptx(source) if ptx is None else ptx) else _CUDA
    end = 0
    for match in re.finditer(_pattern(kinds), source, re.MULTILINE):
        if match.start() > end:
            yield "", source[end : match.start()]
        yield match.lastgroup or "", match.group()
        end = match.end()
    if end < len(source):
        yield "", source[end:]


@lru_cache(maxsize=64)  # a slider shows parts of one source
def highlighted_lines(source: str, ptx: bool | None = None) -> tuple[str, ...]:
    """The lines of a source as HTML.

    >>> highlighted_lines("a /* b\\nc */ < 1")[1]
    '<span class="comment">c */</span> &lt; <span class="number">1</span>'
    """
    parts = []
    for kind, text in tokens(source, ptx):
        for piece in text.splitlines(keepends=True):
            line = piece.splitlines()[0]
            shown = html.escape(line, quote=False)
            parts.append(f'<span class="{kind}">{shown}</span>' if kind and line else shown)
            parts.append(piece[len(line) :])
    return tuple("".join(parts).splitlines())


def token_colours(theme: Theme) -> dict[str, str]:
    """A colour for each kind, in hues that colour-blind readers tell apart."""
    hues, light = dict(HUES), theme is LIGHT
    return {
        "comment": theme.dim,
        "string": mix(hues["vermilion"], 0.8 if light else 0.7, theme.ink),
        "builtin": mix(hues["purple"], 0.65 if light else 0.8, theme.ink),
        "keyword": mix(hues["blue" if light else "sky"], 0.9, theme.ink),
        "number": mix(hues["green"], 0.7 if light else 0.8, theme.ink),
    }


@lru_cache(maxsize=1)
def cell_script() -> str:
    """What colours sources in the cells around an output, as an element of HTML.

    An output may not change a cell, whose text is the editor's; browsers can give ranges of it colours
    (CSS Custom Highlight API). Where scripts do not reach the cells (Colab, VS Code) they remain as they are.
    """
    values = {
        "cuda": script_pattern(ptx=False),
        "ptx": script_pattern(ptx=True),
        "isPtx": _IS_PTX,
        "isSource": _IS_SOURCE,
        "kinds": KINDS,
        "style": _cell_style(),
    }
    given = json.dumps(values).replace("</", "<\\/")
    function = _SCRIPT.read_text(encoding="utf-8").replace("export default ", "").strip()
    return f"<script>({function})({given})</script>"


def _cell_style() -> str:
    """Colours of the editor's theme, in the hues of the listings; where a page has no such theme, ours."""
    variables = {"source": "variable", "builtin": "operator", "keyword": "property"}
    rules = []
    for theme, where in ((LIGHT, ""), (DARK, f":is({DARK_PAGES}) ")):
        for kind, ours in {"source": theme.ink, **token_colours(theme)}.items():
            colour = f"var(--jp-mirror-editor-{variables.get(kind, kind)}-color, {ours})"
            rules.append(f"{where}::highlight(ptxlab-{kind}) {{ color: {colour}; }}")
    return "\n".join(rules)
