"""Arguments for kernels that come without a program: by rules, from their signatures."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

#: Elements of an array.
LENGTH = 1 << 18

TYPES: dict[str, Any] = {
    "char": np.int8, "signed char": np.int8, "unsigned char": np.uint8, "uchar": np.uint8, "bool": np.uint8,
    "short": np.int16, "unsigned short": np.uint16, "ushort": np.uint16,
    "int": np.int32, "signed": np.int32, "unsigned": np.uint32, "unsigned int": np.uint32, "uint": np.uint32,
    "long": np.int64, "unsigned long": np.uint64, "ulong": np.uint64, "size_t": np.uint64,
    "long long": np.int64, "unsigned long long": np.uint64,
    "float": np.float32, "double": np.float64, "half": np.float16,
}  # fmt: skip
_QUALIFIERS = re.compile(r"\b(const|volatile|restrict|__restrict(__)?|static|struct|(__)?global)\b")


class Parameter(NamedTuple):
    """A parameter of a kernel: its type without qualifiers, whether it is a pointer, its name."""

    type: str
    pointer: bool
    name: str


def without_comments(source: str) -> str:
    """The source with as many lines."""
    return re.sub(
        r"/\*.*?\*/|//[^\n]*", lambda match: "\n" * match.group().count("\n") or " ", source, flags=re.DOTALL
    )


def split_arguments(text: str) -> list[str]:
    """What stands between commas that are in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def parameters_of(text: str) -> list[Parameter]:
    """Those of a list such as ``float* x, int n``."""
    parameters = []
    for part in split_arguments(text):
        pointer = re.fullmatch(r"(.*?)\(\s*\*\s*(\w+)\s*\)\s*\[.*", part)  # to an array
        part = f"{pointer[1]}* {pointer[2]}" if pointer else part
        plain = " ".join(_QUALIFIERS.sub(" ", part.split("=")[0]).split())
        match = re.fullmatch(r"(.*?)([\s*&]*)(\w+)\s*((?:\[[^\]]*\])*)", plain)
        if match is None:
            parameters.append(Parameter(plain, False, ""))
            continue
        kind, star, name, brackets = match.groups()
        if not kind:  # a type without a name
            kind, name = name, ""
        parameters.append(Parameter(kind.strip(), "*" in star or bool(brackets), name))
    return parameters


def element_of(kind: str) -> Any:
    """NumPy's type, and how many of them; None for other types."""
    match = re.fullmatch(r"(u?(?:char|short|int|long)|float|double)([2348]|16)", kind)
    if match:
        return TYPES[match[1]], int(match[2])
    return (TYPES[kind], 1) if kind in TYPES else None


def array_for(parameter: Parameter, most: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Whole numbers below `most`, which may be indices; floats in the same range."""
    element = element_of(parameter.type) or (np.uint8, 16)
    return rng.integers(0, max(most, 2), LENGTH * element[1]).astype(element[0])


def scalar_for(parameter: Parameter, value: int) -> Any:
    """The number as the parameter's type."""
    kind, count = element_of(parameter.type) or (np.int32, 1)
    return np.array([value] * count, dtype=kind).tobytes() if count > 1 else np.array(value).astype(kind)[()]


def closing(text: str, start: int) -> int:
    """Where the bracket closes that was opened before `start`."""
    depth, place = 1, start
    while depth and place < len(text):
        depth += (text[place] == "(") - (text[place] == ")")
        place += 1
    return place - 1


_HOST = re.compile(r"cuda[A-Z]\w*\s*\(|<<<|std::|\bint\s+main\b|\bprintf\b.*host")


def device_part(text: str) -> str:
    """The text without `#include` and without what runs on the host, line for line."""
    plain = without_comments(text)
    kept, chunk, depth = [], [], 0
    for line in plain.splitlines():
        chunk.append(line)
        depth += line.count("{") - line.count("}")
        ends = depth == 0 and (line.rstrip().endswith(("}", ";", "};")) or line.lstrip().startswith("#"))
        if ends or not "".join(chunk).strip():
            dropped = _HOST.search("\n".join(chunk)) or re.match(r"\s*#\s*include", line)
            kept += [""] * len(chunk) if dropped else chunk
            chunk = []
    return "\n".join(kept)
