"""Record the PTX of lesson 31's Triton kernels (needs Triton): python -m tools.record triton_kernels

`add_up` is compiled once as it stands, and once with a barrier after each of its statements: readers without
Triton move the barrier.
"""

from __future__ import annotations

import bz2
import importlib.util
import json
import re
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import ptxlab
from ptxlab import course
from ptxlab._util.files import write_atomically
from ptxlab.course.exercises import from_triton_to_registers as from_triton

FILE = Path(course.__file__).parent / from_triton.PTX_FILE


def _imported(source: str, folder: Path, name: str) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(ptx: str) -> str:
    """Without debug sections and the names of folders."""
    ptx = re.sub(r"\t\.section\t\.debug_\w+\s*\{.*?\n\t\}", "", ptx, flags=re.DOTALL)
    ptx = re.sub(r'(\.file\s+\d+ )".*?([^/"]+)"', r'\1"\2"', ptx)
    return "\n".join(line.rstrip() for line in ptx.splitlines()).rstrip("\n") + "\n"


def _compiled(function: Any, arguments: tuple[Any, ...]) -> tuple[dict[str, Any], str]:
    with ptxlab.simulating(show=False):
        compiled = function.warmup(*arguments, grid=(1,))
    metadata = compiled.metadata
    entry = {"ptx": plain(compiled.asm["ptx"]), "block": 32 * metadata.num_warps, "shared": metadata.shared}
    return entry, compiled.asm["ttgir"]


def main() -> None:
    import triton

    kernels: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        module = _imported(from_triton.SOURCE, Path(folder), "triton_kernels")
        kernels["matmul"], dump = _compiled(module.matmul, (*from_triton.matmul_arguments(), 64, 64, 64))
        for line in (0, *from_triton.STATEMENTS):
            name = from_triton.barrier_name(line)
            module = _imported(from_triton.with_barrier(line), Path(folder), name)
            kernels[name], _ = _compiled(module.add_up, (*from_triton.add_up_arguments(), 256))
    layouts = {
        name: re.sub(r"\s+", " ", text)
        for name, text in re.findall(r"^#(\w+) = (#ttg\.\w+<.*>)$", dump, re.M)
    }
    record = {"compiler": f"Triton {triton.__version__}", "layouts": layouts, "kernels": kernels}
    write_atomically(FILE, bz2.compress(json.dumps(record).encode()))
    print(f"{FILE.name}: {len(kernels)} kernels, {FILE.stat().st_size} bytes")
