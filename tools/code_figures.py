"""Figures of how the code is made: sizes, grain, and the marks of mechanisms that are told apart by kind.

    python -m tools.code_figures

Lines are those with code, without blanks, comments and docstrings. `python -m tools.profile_calls` counts
what happens when the code runs.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FRONT = ROOT / "ptxlab/explorer/front"
#: Modules that ask questions: the Explorer's quiz and the walk through shapes.
_QUESTIONS = ("question.py", "explorer/quiz/*.py", "shapes/*.py")
_NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text: str) -> int:
    """Lines of Python with code."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NOT_CODE:
            used.update(range(token.start[0], token.end[0] + 1))
    return len(used - docstrings)


def script_lines(text: str) -> int:
    """Lines of JavaScript with code."""
    stripped = (line.strip() for line in text.splitlines())
    return sum(1 for line in stripped if line and not line.startswith(("//", "/*", "*")))


def functions(texts: Iterable[str]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for text in texts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


def texts_of(folder: Path, pattern: str) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob(pattern))}


def sizes() -> dict[str, float]:
    """How much there is to read."""
    package, scripts = texts_of(ROOT / "ptxlab", "*.py"), texts_of(FRONT, "*.js")
    asked = {path for pattern in _QUESTIONS for path in (ROOT / "ptxlab").glob(pattern)}
    made = list(functions(package.values()))
    spans = [(node.end_lineno or node.lineno) - node.lineno + 1 for node in made]
    words = Counter(re.findall(r"\w+", "\n".join(package.values())))
    return {
        "lines of Python": sum(map(code_lines, package.values())),
        "lines of tests": sum(map(code_lines, texts_of(ROOT / "tests", "*.py").values())),
        "lines of JavaScript": sum(map(script_lines, scripts.values())),
        "functions": len(made),
        "lines a function": round(sum(spans) / len(spans), 1),
        "functions named once besides their definition": sum(words[node.name] == 2 for node in made),
        "lines of quiz, walk and question": sum(code_lines(package[path]) for path in asked),
        "lines of links.py": code_lines(package[ROOT / "ptxlab/explorer/links.py"]),
    }


def marks() -> dict[str, float]:
    """How often things are told apart by kind, or known to everybody."""
    package, scripts = texts_of(ROOT / "ptxlab", "*.py"), texts_of(FRONT, "*.js").values()
    whole = "\n".join(package.values())
    shown = "\n".join(text for path, text in package.items() if {"views", "explorer"} & set(path.parts))
    names = Counter(path.name for path in package if path.name != "__init__.py")
    tensor = r"(?:Tcgen05\w*|Tensor(?:Instruction|Transfer|Control))"
    kinds = rf"isinstance\([^()]*, \(?[^()]*\b(?:Instruction|{tensor}|Product|Transfer|ProductForm)\b"
    return {
        "result_type": len(re.findall(r"\bresult_type\b", whole)),
        "Kernel[...]": len(re.findall(r"\bKernel\[", whole)),
        "Form.__new__, PUBLIC_CLASSES": len(re.findall(r"def __new__\(cls[^)]*form|PUBLIC_CLASSES", whole)),
        "isinstance on Tcgen05...": len(re.findall(rf"isinstance\([^()]*, \(?[^()]*\b{tensor}\b", whole)),
        "tests of a form's kind in views and explorer": len(re.findall(kinds, shown)),
        "transfer is None, or is not": len(re.findall(r"transfer is (?:not )?None", whole)),
        "members of app, used as app.x": len(set(re.findall(r"\bapp\.(\w+)", "\n".join(scripts)))),
        "files of the page that use app": sum("app." in text for text in scripts),
        "file names that occur twice": sum(count > 1 for count in names.values()),
    }


def main() -> None:
    for what, figure in {**sizes(), **marks()}.items():
        print(f"{what:48} {figure:>9,}")


if __name__ == "__main__":
    main()
