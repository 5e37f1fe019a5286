"""The Python text that the lines of a kernel belong to, and which of its lines generated code has."""

from __future__ import annotations

import linecache
import re
from pathlib import PurePath
from typing import Any, NamedTuple


def python_text(function: Any) -> str | None:
    """The file, or the cell of a notebook, in which a function stands; None if it is not at hand."""
    code = getattr(function, "__code__", None)
    return None if code is None else "".join(linecache.getlines(code.co_filename)) or None


def python_source(function: Any, ptx: str) -> str | None:
    """The same; None if the PTX names no lines."""
    return python_text(function) if "\t.loc" in ptx else None


def generated_lines(framework: str) -> str:
    """What reports add where no line of Python is known."""
    return f"lines are those of the CUDA C++ that {framework} made, which names none of Python"


_DIRECTIVE = re.compile(r'#line (\d+) "((?:[^"\\]|\\.)*)"')
_DECLARATION = re.compile(r"([ \t]*)[\w:]+ (\w+);")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


class PythonLines(NamedTuple):
    """CUDA C++ that a framework made, in which `#line` says whose line of Python a statement is.

    What its compiler adds by itself has none, unless it stands inside of a statement that has. In `code` it
    has its lines of `title`, which is no file, and `in_ptx` lets them belong to the function, which begins
    in line `first` of `file`.

    >>> text = 'void f() {\\n#line 7 "f.py"\\n  int a;\\n  wait();\\n'
    >>> text += '#line 9 "f.py"\\n  if (a) {\\n    wait();\\n  }\\n}'
    >>> made = PythonLines.of(text, "made")
    >>> print(made.code)
    #line 1 "made"
    void f() {
    #line 7 "f.py"
      int a;
    #line 4 "made"
      wait();
    #line 9 "f.py"
      if (a) {
    #line 9 "f.py"
        wait();
    #line 9 "f.py"
      }
    #line 9 "made"
    }
    >>> made.file, made.first
    ('f.py', 7)
    """

    code: str
    title: str
    file: str
    first: int

    @classmethod
    def of(cls, code: str, title: str) -> PythonLines | None:
        """From generated code; None if it names no lines."""
        first = _DIRECTIVE.search(code)
        if first is None:
            return None
        lines: list[str] = []
        blocks: list[str] = []  # directives of statements whose braces are open
        directive, stated, counts = "", "", False
        begun: re.Match[str] | None = None  # a declaration, which the rest of its statement follows
        for number, line in enumerate(code.splitlines(), 1):
            if _DIRECTIVE.fullmatch(line):
                directive = line
                continue
            if directive:
                begun = _DECLARATION.fullmatch(line)
            elif begun and (line.startswith(begun[1] + " ") or re.search(rf"\b{begun[2]}\b", line)):
                directive = stated
            else:
                begun = None
            directive = stated = directive or (blocks[-1] if blocks else "")
            if directive or not counts:
                lines.append(directive or f'#line {number} "{title}"')
            lines.append(line)
            counts = not directive  # the next line has the next number
            for brace in re.findall(r"[{}]", _TEXT.sub("", line)):
                if brace == "{":
                    blocks.append(directive)
                elif blocks:
                    blocks.pop()
            if not line.lstrip().startswith("#pragma"):  # it is about the next statement
                directive = ""
        return cls("\n".join(lines), title, re.sub(r"\\(.)", r"\1", first[2]), int(first[1]))

    def in_ptx(self, ptx: str) -> str:
        """The PTX of `code`, with a comment at lines of other files than the function's: where it begins.

        >>> made = PythonLines("", "made", "/src/f.py", 7)
        >>> print(made.in_ptx('.file 1 "/src/f.py"\\n.file 2 "/src/made"\\n.loc 1 9 3\\n.loc 2 3 5'))
        .file 1 "/src/f.py"
        .file 2 "/src/made"
        .loc 1 9 3
        .loc 2 3 5 // @[ f.py:7:0 ]
        """
        own = {number for number, file in re.findall(r'\.file\s+(\d+)\s+"([^"]*)"', ptx) if file == self.file}

        def placed(match: re.Match[str]) -> str:
            if match[1] in own:
                return match[0]
            return f"{match[0]} // @[ {PurePath(self.file).name}:{self.first}:0 ]"

        return re.sub(r"^\s*\.loc\s+(\d+)\s+\d+\s+\d+(?=[ \t]*$)", placed, ptx, flags=re.MULTILINE)
