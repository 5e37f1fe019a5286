"""CUDA C++, Python, PTX and SASS in colours: patterns in the syntax that Python and JavaScript share."""

from __future__ import annotations

import html
import json
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .._util.arguments import as_text
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
_SASS = {
    "comment": r"/\*[^*]*\*/",  # the address
    "builtin": r"\bSR_[\w.]+|@!?U?P\w+",
    "keyword": r"(?<![\w.])[A-Z][\w.]*(?=\s+[^\s;])|\b(?:EXIT|NOP)\b",  # operands precede , or ;
    "number": rf"(?<![\w.])(?:{_NUMBER})",
}
_PYTHON = {
    "comment": r"#[^\n]*",
    "string": rf'"""[\s\S]*?(?:"""|$(?![\s\S]))|{_STRING}|\'(?:\\.|[^\'\\\n])*\'',
    "builtin": r"^[ \t]*@[\w.]+|\b(?:range|len|min|max|abs|int|float|bool|print|static_range)\b",
    "keyword": rf"\b(?:{'|'.join(keyword.kwlist)})\b",
    "number": _NUMBER,
}
_LANGUAGES = {"cuda": _CUDA, "ptx": _PTX, "sass": _SASS, "python": _PYTHON}
KINDS = tuple(_CUDA)
_IS_PTX = r"^[^\S\n]*\.(?:version|visible|entry|func)\b"
_IS_INSTRUCTION = re.compile(r"\s*[a-z]\w*\.\w+[\w.:]*\s")  # of PTX, where a text begins with it
_IS_PYTHON = re.compile(r"^[ \t]*(?:def \w+\(|import \w|from [\w.]+ import |@[a-z]\w*\.\w)", re.MULTILINE)
_IS_SASS = re.compile(r"\s*/\*[0-9a-f]{4,}\*/")
#: What makes a text in a cell a source.
_IS_SOURCE = rf"\b__(?:global__|device__|shared__|syncthreads)\b|\bthreadIdx\b|\basm\b|{_IS_PTX}"
_SCRIPT = Path(__file__).parent / "highlight_cells.js"


def _pattern(language: str) -> str:
    return "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _LANGUAGES[language].items())


def script_pattern(language: str) -> str:
    """The pattern of a language as JavaScript spells it."""
    return _pattern(language).replace("(?P<", "(?<")


def language_of(source: str) -> str:
    """The language of a source: cuda, ptx, sass or python.

    >>> language_of(".version 8.0"), language_of("__global__ void f();"), language_of("/*0010*/ EXIT ;")
    ('ptx', 'cuda', 'sass')
    >>> language_of("@triton.jit\\ndef add(x):")
    'python'
    """
    if _IS_PYTHON.search(source):
        return "python"
    if _IS_INSTRUCTION.match(source) or re.search(_IS_PTX, source, re.MULTILINE):
        return "ptx"
    return "sass" if _IS_SASS.match(source) else "cuda"


def tokens(source: str, language: str = "") -> Iterator[tuple[str, str]]:
    """A source in parts, each with its kind, one of `KINDS` or "".

    >>> list(tokens("int i;  // 7"))
    [('keyword', 'int'), ('', ' i;  '), ('comment', '// 7')]
    >>> next(tokens("ld.shared.f32 %f1, [%r2];"))
    ('keyword', 'ld.shared.f32')
    """
    end = 0
    for match in re.finditer(_pattern(language or language_of(source)), source, re.MULTILINE):
        if match.start() > end:
            yield "", source[end : match.start()]
        yield match.lastgroup or "", match.group()
        end = match.end()
    if end < len(source):
        yield "", source[end:]


@lru_cache(maxsize=64)  # a slider shows parts of one source
def highlighted_lines(source: str) -> tuple[str, ...]:
    """The lines of a source as HTML.

    >>> highlighted_lines("a /* b\\nc */ < 1")[1]
    '<span class="comment">c */</span> &lt; <span class="number">1</span>'
    >>> highlighted_lines("    int i;")
    ('<span class="keyword">    int</span> i;',)
    """
    parts = []
    # Blanks before a token go into its element: of blanks between two elements nbconvert leaves only one.
    blanks = ""
    for kind, text in tokens(source):
        for piece in re.findall(r"[^\n]*\n|[^\n]+", text):
            line = piece.removesuffix("\n").removesuffix("\r")
            shown = blanks + html.escape(line, quote=False)
            blanks = ""
            if not kind and piece.isspace() and piece == line != " ":
                blanks = shown
            else:
                if kind and line:
                    shown = f'<span class="{kind}">{shown}</span>'
                parts.append(shown)
                if piece.endswith("\n"):
                    parts.append("\n")
    lines = "".join([*parts, blanks]).split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


def token_colours(theme: Theme) -> dict[str, str]:
    """A colour for each kind, in hues that colour-blind readers tell apart."""
    light = theme is LIGHT
    return {
        "comment": theme.dim,
        "string": mix(HUES["vermilion"], 0.8 if light else 0.7, theme.ink),
        "builtin": mix(HUES["purple"], 0.65 if light else 0.8, theme.ink),
        "keyword": mix(HUES["blue" if light else "sky"], 0.9, theme.ink),
        "number": mix(HUES["green"], 0.7 if light else 0.8, theme.ink),
    }


def token_css(root: str) -> str:
    """The rules for tokens inside of an element, for light and dark pages."""
    rules = [
        f"{where} span.{kind} {{ color: {colour}; }}"
        for theme, where in ((LIGHT, root), (DARK, f":is({DARK_PAGES}) {root}"))
        for kind, colour in token_colours(theme).items()
    ]
    return "\n".join([*rules, f"{root} span.comment {{ font-style: italic; }}"])


@dataclass(frozen=True)
class Source:
    """Lines of CUDA C++, PTX, SASS or Python; a notebook shows them in colours."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        lines = "\n".join(highlighted_lines(self.text))
        style = f"<style>{token_css('.ptx-source')}</style>"
        wrapped = "white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere"
        return f'{style}{cell_script()}<pre class="ptx-source" style="{wrapped}">{lines}</pre>'


def source(*lines: str) -> Source:
    """Lines of CUDA C++, PTX, SASS or Python, to be shown in colours.

    >>> source("int i;", "float x;")
    int i;
    float x;
    """
    return Source("\n".join(as_text(line, "source") for line in lines))


@lru_cache(maxsize=1)
def cell_script() -> str:
    """What colours sources in the cells around an output, as an element of HTML.

    An output may not change a cell, whose text is the editor's; browsers can give ranges of it colours
    (CSS Custom Highlight API). Where scripts do not reach the cells (Colab, VS Code) they remain as they are.
    """
    values = {
        "cuda": script_pattern("cuda"),
        "ptx": script_pattern("ptx"),
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
