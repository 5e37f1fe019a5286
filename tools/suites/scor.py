"""ScoR's microbenchmarks: names that begin with race_ have one. They declare what they share volatile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab

from .launches import closing, parameters_of, without_comments
from .runs import LIMIT, Run

SUITE = "ScoR microbenchmarks"
WITHOUT = "ScoR microbenchmarks without volatile"


#: Why bugs are missed, by a part of the name.
_MISSES = {
    "none-lock_rtraw": "another order of the blocks would show it",
    "stf": "the fence after the lock is missing",
    "lock-blkfence": "the fence after the lock is for one block",
    "blkfence_raw": "what is read stays in a variable of the module",
}


def runs(folder: Path, words: str = "", clean: bool = False) -> Iterator[Run]:
    """Each as it is published, and those with `volatile` without it as well."""
    root = folder / "microbenchmarks" if (folder / "microbenchmarks").is_dir() else folder
    for file in sorted((root / "src").glob("*.cu")):
        bug = "race" if file.stem.startswith("race_") else ""
        if words not in file.stem or (clean and bug):
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        why = next((reason for part, reason in _MISSES.items() if part in file.stem), "")
        by_order = "volatile" not in text or "none-lock_rtraw" in file.stem
        volatile = why if by_order else "both accesses are volatile"
        yield Run(SUITE, file.stem, bug, volatile).do(partial(_simulated, text))
        if "volatile" in text:
            plain = re.sub(r"\bvolatile\b", "", text)
            yield Run(WITHOUT, file.stem, bug, why).do(partial(_simulated, plain))


def _simulated(text: str) -> Any:
    plain = without_comments(text)
    sizes = {name: int(value) for name, value in re.findall(r"#define\s+(\w+)\s+(\d+)", plain)}
    first, last = (plain[: plain.index(words)].count("\n") for words in ("__device__", "int main"))
    body = "\n".join(text.splitlines()[first:last])
    kernel = ptxlab.kernel(f"#line {first + 1}\n{body}\n", "kmain")
    head = re.search(r"\bkmain\s*\(", plain)
    assert head is not None
    count = len(parameters_of(plain[head.end() : closing(plain, head.end())]))
    arguments = [np.zeros(64, np.uint32) for _ in range(count)]
    return kernel.simulate(sizes["NBLOCKS"], sizes["TPERBLK"], *arguments, limit=LIMIT, show=False)
