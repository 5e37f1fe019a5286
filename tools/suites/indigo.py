"""Indigo 1.3, as HiRace's artifact has it: the names of the codes say what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from ptxlab import PtxlabError

from .runs import LIMIT, Run

SUITE = "Indigo 1.3"
SMALL = "Indigo 1.3, a graph of 5 nodes"
#: On which the codes run, if nothing else is said; in the last one, half of the races cannot occur.
GRAPHS = ("DAG_100n_200e", "counterDAG_200n_1000e", "power_law_200n_1000e", "DAG_5n_5e")
_THREADS = 64
#: Of each code, what runs on the GPU.
_SOURCE = re.compile(
    r'#include "indigo_cuda.h"\n(.*?)^\s*(?:static\s+)?void serial_code', re.MULTILINE | re.DOTALL
)


def runs(
    folder: Path, words: str = "", graphs: tuple[str, ...] = GRAPHS, clean: bool = False
) -> Iterator[Run]:
    """Each code on each graph; with `clean` those without a bug alone."""
    root = next(path for path in (folder / "indigo", folder) if (path / "indigo_sources").is_dir())
    for file in sorted((root / "indigo_sources").glob("*/*.cu")):
        bug = _claim(file.stem)
        if words in file.stem and not (clean and bug):
            for graph in graphs:
                small = "_5n_" in graph
                run = Run(SMALL if small else SUITE, f"{file.stem} {graph}", bug)
                run.do(partial(_simulated, file, root / "input" / f"{graph}.egr"))
                if run.verdict == "missed" and bug == "out of bounds":
                    run.bug, run.remark = None, "the graph does not lead out of bounds"
                elif run.verdict == "missed" and small:
                    run.remark = "the graph is too small for a conflict"
                yield run


def _claim(name: str) -> str:
    if re.search("atomicBug|guardBug|raceBug|syncBug", name):
        return "race"
    return "out of bounds" if "boundsBug" in name else ""


def _simulated(file: Path, graph: Path) -> Any:
    text = file.read_text(encoding="utf-8")
    found = _SOURCE.search(text)
    if found is None:
        raise PtxlabError("the code has no part that ends at serial_code")
    line = text[: found.start(1)].count("\n") + 1
    kernel = ptxlab.kernel(f"typedef int data_t;\n#line {line}\n{found[1]}\n", "test_kernel")
    nodes, edges, nindex, nlist = read_graph(graph)
    rng = np.random.default_rng(0)
    length = max(nodes, edges, 1)
    data = [rng.integers(0, high, length).astype(np.int32) for high in (nodes, max(edges, 1))]
    data[0][0] = data[1][0] = 0
    return kernel.simulate(_blocks(file.parent.name, file.stem, nodes), _THREADS, nindex, nlist, *data, nodes,
                           limit=LIMIT, show=False)  # fmt: skip


def _blocks(pattern: str, code: str, nodes: int) -> int:
    """As many as the code's own check asks for; persistent codes, which have a loop, get a third."""
    threads = nodes * {"warp": 32, "block": _THREADS}.get(pattern.rsplit("_", 1)[1], 1)
    blocks = -(-threads // _THREADS)
    return max(blocks // 3, 2) if "persistent" in code else blocks


def read_graph(file: Path) -> tuple[int, int, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Nodes, edges, where the neighbours of each node begin, and the neighbours."""
    words = np.fromfile(file, dtype="<i4")
    nodes, edges = map(int, words[:2])
    return nodes, edges, words[2 : nodes + 3].copy(), words[nodes + 3 : nodes + 3 + edges].copy()
