"""The Python source of a kernel, and the lines of it that generated code belongs to."""

from __future__ import annotations

import linecache
import re
from pathlib import PurePath
from typing import Any, NamedTuple


def python_text(function: Any) -> str | None:
    """The text of the file or notebook cell that defines a function; None if it is not available."""
    code = getattr(function, "__code__", None)
    return None if code is None else "".join(linecache.getlines(code.co_filename)) or None


def python_source(function: Any, ptx: str) -> str | None:
    """As `python_text`; None if the PTX has no line numbers."""
    return python_text(function) if "\t.loc" in ptx else None


def generated_lines(framework: str) -> str:
    """The remark of reports whose lines are not those of Python."""
    return f"lines are those of the CUDA C++ that {framework} made, which names none of Python"


_DIRECTIVE = re.compile(r'#line (\d+) "((?:[^"\\]|\\.)*)"')
_DECLARATION = re.compile(r"([ \t]*)[\w:]+ (\w+);")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


class PythonLines(NamedTuple):
    """CUDA C++ from a framework, in which `#line` gives the line of Python of a statement.

    Statements that the framework adds have none, unless they are inside of a statement that has. In `code`
    they have their own lines, in a pseudo-file `title`; `in_ptx` assigns these to the function, which begins
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
        """From generated code; None if it has no `#line`."""
        first = _DIRECTIVE.search(code)
        if first is None:
            return None
        lines: list[str] = []
        blocks: list[str] = []  # directives of the open braces
        directive, last_directive, in_sequence = "", "", False
        declaration: re.Match[str] | None = None  # the rest of its statement follows it
        for number, line in enumerate(code.splitlines(), 1):
            if _DIRECTIVE.fullmatch(line):
                directive = line
                continue
            if directive:
                declaration = _DECLARATION.fullmatch(line)
            elif declaration and (
                line.startswith(declaration[1] + " ") or re.search(rf"\b{declaration[2]}\b", line)
            ):
                directive = last_directive
            else:
                declaration = None
            directive = last_directive = directive or (blocks[-1] if blocks else "")
            if directive or not in_sequence:
                lines.append(directive or f'#line {number} "{title}"')
            lines.append(line)
            in_sequence = not directive  # the next line has the next number
            for brace in re.findall(r"[{}]", _TEXT.sub("", line)):
                if brace == "{":
                    blocks.append(directive)
                elif blocks:
                    blocks.pop()
            if not line.lstrip().startswith("#pragma"):  # it is about the next statement
                directive = ""
        return cls("\n".join(lines), title, re.sub(r"\\(.)", r"\1", first[2]), int(first[1]))

    def in_ptx(self, ptx: str) -> str:
        """The PTX of `code`, with a comment that places lines of other files at the function's first line.

        >>> made = PythonLines("", "made", "/src/f.py", 7)
        >>> print(made.in_ptx('.file 1 "/src/f.py"\\n.file 2 "/src/made"\\n.loc 1 9 3\\n.loc 2 3 5'))
        .file 1 "/src/f.py"
        .file 2 "/src/made"
        .loc 1 9 3
        .loc 2 3 5 // @[ f.py:7:0 ]
        """
        files = re.findall(r'\.file\s+(\d+)\s+"([^"]*)"', ptx)
        own_numbers = {number for number, file in files if file == self.file}

        def placed(match: re.Match[str]) -> str:
            if match[1] in own_numbers:
                return match[0]
            return f"{match[0]} // @[ {PurePath(self.file).name}:{self.first}:0 ]"

        return re.sub(r"^\s*\.loc\s+(\d+)\s+\d+\s+\d+(?=[ \t]*$)", placed, ptx, flags=re.MULTILINE)
