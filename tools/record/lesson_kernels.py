"""Record the PTX of the lessons' kernels, for computers without NVRTC: python -m tools.record lesson_kernels

The notebooks state sources as texts and sums of texts; the kernels of lessons 09, 10, 11, 13, 14, 15, 20,
29 and 32 are in their modules.
NVRTC's PTX is not the same in every run, so what is recorded stays as long as its source does.
"""

from __future__ import annotations

import ast
import bz2
import json
import re
from pathlib import Path

import ptxlab
from ptxlab._util.files import write_atomically
from ptxlab.course import reader_kernels
from ptxlab.course.exercises import (
    a_product_in_four_bits,
    attention,
    epilogue,
    from_instruction_to_gemm,
    mbarriers,
    sparse_gemm,
    what_goes_wrong,
    what_goes_wrong_asynchronously,
    why_do_the_bits_differ,
)

ROOT = Path(__file__).parents[2]
#: In this order: the lesson on shared memory uses texts of the first tensor-core kernel.
NOTEBOOKS = (
    "00-start-here",
    "02-your-first-tensor-core-kernel",
    "04-shared-memory-and-banks",
    "10-what-goes-wrong",
    "22-wmma-sub-byte",
)
#: Lessons with kernels of their own.
MODULES = (
    what_goes_wrong, what_goes_wrong_asynchronously, from_instruction_to_gemm, sparse_gemm, epilogue,
    attention, mbarriers, a_product_in_four_bits, why_do_the_bits_differ,
)  # fmt: skip
FILE = ROOT / "ptxlab" / "course" / reader_kernels.PTX_FILE


def parts_and_sources() -> tuple[dict[str, str], list[str]]:
    """The texts that the notebooks give names to; the sources that they, and the lessons, compile."""
    names: dict[str, str] = {}
    sources = []
    books = [(ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8") for name in NOTEBOOKS]
    for cell in [cell for book in books for cell in json.loads(book)["cells"]]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "code" or "%pip" in text or "lessons.check(" in text:
            continue
        for statement in ast.parse(text).body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                value = _text(statement.value, names)
                if value is not None:
                    names[statement.targets[0].id] = value
            for node in ast.walk(statement):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id == "kernel"
                ):
                    source = _text(node.args[0], names)
                    if source is None:
                        raise SystemExit(f"{ast.unparse(node)}: its source is not a text, a sum or a replace")
                    sources.append(source)
    return names, [*sources, *(source for module in MODULES for source in module.sources())]


def _text(node: ast.expr, names: dict[str, str]) -> str | None:
    """The value of an expression of texts; None for any other."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name):
            return names.get(name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _text(left, names), _text(right, names)
            return None if first is None or second is None else first + second
        case ast.Call(func=ast.Attribute(value=value, attr="replace"), args=[old, new]):
            text, before, after = (_text(part, names) for part in (value, old, new))
            return None if text is None or before is None or after is None else text.replace(before, after)
    return None


def _without_folder(ptx: str) -> str:
    """The PTX with the name of its source alone; NVRTC puts the working folder before it."""
    return re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", ptx)


def main() -> None:
    recorded = json.loads(bz2.decompress(FILE.read_bytes())) if FILE.exists() else {}
    texts = {}
    for source in parts_and_sources()[1]:
        target = "sm_100a" if source == a_product_in_four_bits.KERNEL else "sm_90a"
        key = reader_kernels.digest(source)
        texts[key] = recorded.get(key) or _without_folder(ptxlab.kernel(source, target=target).ptx)
    write_atomically(FILE, bz2.compress(json.dumps(texts).encode()))
    print(f"{len(texts)} kernels, {FILE.stat().st_size:,} bytes")
