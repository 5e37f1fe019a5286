"""CUDA files of an assignment: kernels and the code of the host that launches them, in one file.

The judge compiles kernels; what is launched how is stated by the task. So the code of the host is left out.
"""

from __future__ import annotations

import re

__all__ = ["device_code"]

_COMMENT_OR_TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
#: Headers that compilers of kernels bring; those of the host, of Thrust and of a handout are left out.
_HEADER = re.compile(
    r"#\s*include\s*<(cuda_(fp|bf)\w+\.h|mma\.h|cooperative_groups\S*|cuda/\S+|c?stdint(\.h)?)>"
)
_DEVICE = re.compile(r"__(?:global|device|constant|managed)__")
_DECLARED = re.compile(
    r"\s*(?:template\s*<[^;{]*>\s*)?(?:typedef|using|struct|class|union|enum|namespace|static_assert|constexpr"
    r"|(?:static\s+)?(?:inline\s+)?const(?:expr)?\s+(?:unsigned\s+)?(?:int|float|double|size_t|long|char|bool)\b)"
)


def device_code(text: str) -> str:
    """The kernels of a file, with the functions, constants and types of the device; lines keep their numbers.

    A file that launches nothing is left as it is.

    >>> text = "#define N 4\\nint n() { return N; }\\n__global__ void k() {}\\nvoid f() { k<<<1, N>>>(); }"
    >>> device_code(text)
    '#define N 4\\n\\n__global__ void k() {}\\n'
    """
    if "<<<" not in text:
        return text
    plain = _COMMENT_OR_TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    kept = []
    for start, end in _items(plain):
        item = plain[start:end].strip()
        if item.startswith("#"):
            keep = "include" not in item.partition("\n")[0] or _HEADER.search(item) is not None
        else:
            head = item.partition("{")[0]
            function = "(" in head.partition("=")[0] and not _DECLARED.match(head)
            keep = _DEVICE.search(head) is not None or (not function and _DECLARED.match(item) is not None)
        kept.append(text[start:end] if keep else "\n" * text.count("\n", start, end))
    return "".join(kept)


def _items(plain: str) -> list[tuple[int, int]]:
    """The places of directives, and of definitions and declarations outside of all braces."""
    places, start, depth, at = [], 0, 0, 0
    while at < len(plain):
        letter = plain[at]
        if letter == "#" and not depth and not plain[start:at].strip():
            while (line := plain.find("\n", at)) >= 0 and plain[line - 1] == "\\":
                at = line + 1
            at = len(plain) if line < 0 else line + 1
            places.append((start, at))
            start = at
            continue
        depth += (letter == "{") - (letter == "}")
        at += 1
        closes = letter == "}" and not depth and not _ends_later(plain, start, at)
        if (letter == ";" and not depth) or closes:
            places.append((start, at))
            start = at
    return [*places, (start, len(plain))]


def _ends_later(plain: str, start: int, at: int) -> bool:
    """Whether a semicolon still belongs to what ends in a brace here: a type, or an initial value."""
    return plain[at:].lstrip().startswith((";", ",", "="))
