"""Write docs/reference/hazards.md: every kind of hazard, and what ptxlab says about kernels that have one.

python -m tools.hazards
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from ptxlab._util.files import write_atomically
from ptxlab.kernels.checks import KINDS
from tests.hazard_cases import FILE, HAZARDS, hazards_of

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "hazards.md"
SANITIZER = Path(__file__).parents[1] / "tests" / "golden" / "sanitizer.json"

_INTRODUCTION = """# Hazards

`k.simulate(...)` watches every access to memory and every barrier; `result.hazards` lists what is wrong, one
record for each kind and line, with a count. `check="error"` makes the first an error, `check=False` looks for
nothing. Accesses outside of an array or of shared memory, misaligned ones, and deadlocks end the simulation,
as they end a kernel on a GPU: they are always errors, `HazardError`, whose `hazards` has what was found
before as well.

The tables are written by `python -m tools.hazards` from the kernels of `tests/kernels/hazards/`, each of
which exists broken and fixed.

## Kinds

| kind | what it is | what is right | compute-sanitizer's tool for it |
|---|---|---|---|
"""

_LIMITS = """
## What it cannot see

- It sees one run: a race in a branch that nobody takes is not found. Order is judged by barriers, not by what
  happened to come first.
- For every few bytes it remembers the last writer and two readers, of two warps where it can.
- Flags: if a warp executes a fence or a release, and another warp then looks at memory with an atomic,
  volatile or acquiring access, the second is taken to know all that the first did before its fence. Between
  blocks the same holds for whole blocks.
- `mbarrier.init` needs no proxy fence: copies complete at an mbarrier through the generic proxy, as
  `cuda::memcpy_async` of libcu++ counts on. Threads that did not initialise it need a barrier.
- Of tensor maps only those are watched that `tensormap.replace` or `tensormap.cp_fenceproxy` writes in global
  memory; a `fence.proxy.tensormap` of one thread counts for its block.
- An mbarrier passes on what all threads knew that had arrived when its last phase was complete, also to those
  that waited for an earlier one.
- Blocks of a cluster are taken to know each other after any wait for an mbarrier or the cluster's barrier.
- Stores of equal values to the same bytes are not reported, nor is memory of `malloc` that nobody wrote.
- Compilers load first and choose then: a load whose value only `selp` reads may read what nobody wrote.
- Global memory that TMA reads and writes takes no part; arrays of the caller count as written.
- Warps may meet at one barrier from different lines, which PTX allows and compute-sanitizer reports.
- With an `executor`, races between blocks in global memory are found only where one worker ran both.
"""


def page() -> str:
    """The page's text."""
    lines = [
        f"| {kind.name} | {kind.meaning} | {kind.remedy} | {kind.tool or 'none'} |".replace("_", r"\_")
        for kind in KINDS.values()
    ]
    verdicts = json.loads(SANITIZER.read_text(encoding="utf-8")) if SANITIZER.exists() else {}
    text = _INTRODUCTION + "\n".join(lines) + "\n" + _LIMITS + "\n## Kernels, and what is said about them\n\n"
    if verdicts:
        text += verdicts["about"] + "\n\n"
    source = FILE.read_text(encoding="utf-8")
    for name in HAZARDS:
        match = re.search(rf"\b{name}\(.*?// (.*)", source)
        text += f"### {name}\n\n{match[1].capitalize() if match else ''}.\n\n"
        text += "```text\n" + "\n".join(hazards_of(name)) + "\n```\n\n"
        if name in verdicts.get("kernels", {}):
            text += f"compute-sanitizer: {verdicts['kernels'][name]}\n\n"
    return text.rstrip("\n") + "\n"


def main() -> None:
    """Write the page."""
    write_atomically(PAGE, page())


if __name__ == "__main__":
    main()
