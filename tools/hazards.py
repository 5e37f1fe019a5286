"""Write docs/reference/hazards.md: every kind of hazard, and what ptxlab says about kernels that have one.

python -m tools.hazards
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from ptxlab._util.files import write_atomically
from ptxlab.simulator.hazard import KINDS
from tests.simulator.hazard_cases import FILE, HAZARDS, hazards_of

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "hazards.md"
SANITIZER = Path(__file__).parents[1] / "tests" / "golden" / "sanitizer.json"

_INTRODUCTION = """# Hazards

`k.simulate(...)` watches every memory access and every barrier. `result.hazards` lists what can give wrong
results. `result.notes` lists what PTX's memory model asks for and hardware has not been seen to need. There
is one record per kind and line, with a count; `.evidence` says what the grade is based on. What could not
be provoked stays a hazard if PTX calls it undefined and no vendor's code relies on it. With `check="error"`
the first hazard (not the first note) is an error; `check=False` turns the check off.

Some faults end the simulation, as most of them end a kernel on a GPU: accesses outside an array or outside
shared memory, misaligned accesses, arrivals where no mbarrier is, code that the compiler replaced by a
trap, and deadlocks. They are always errors, `HazardError`, whose `hazards` also lists what was found
before.

`python -m tools.hazards` writes this page from the kernels of `tests/kernels/hazards/`, each of which
exists in a broken and a fixed version. `python -m tools.probe_hazards` runs others on a GPU, with many
blocks and values that change all the time; its counts are the evidence below. A kind without a count says
"not measured": it ends a kernel, lets it hang, or needs a GPU that we did not have.
`ptxlab/simulator/checks/clocks_plain.py` states in plain Python which access happens before which. Random
kernels race here exactly where they do by that rule.

## Kinds

| kind | grade | what it is | what is right | evidence | compute-sanitizer's tool for it |
|---|---|---|---|---|---|
"""

_LIMITS = """
## What it cannot see

- It sees one run, so a race in a branch that is not taken is not found. It judges order by barriers, not by
  what happened to come first.
- For every few bytes it remembers the last writer. In shared memory it also remembers the last read of
  every warp, and in global memory two readers, of different warps where possible.
- A flag is a word that is written with a strong store (atomic, volatile, relaxed). A fence or a release
  puts what a warp did before it on the flag, if the store comes afterwards, by that warp or by one that has
  met it at a barrier. An atomic operation adds to what is on the flag, even a compare-and-swap that fails,
  and gets what was on it before. (If more than 8 warps do so in one instruction, each gets what all have
  put there.) A warp that loads the flag strongly has acquired it after a fence of the scope, or with
  `.acquire`, or at a barrier with a warp that has. Named barriers and mbarriers count as barriers of the
  whole block here, and between blocks that do not run in one batch any flag counts.
- Without that fence an ordinary load gets what the cache of its SM holds: an H200 gave old values. It is a
  race for loads of what another block wrote, if the reader's block had loaded from the array before that was
  written and no fence of its has emptied the cache since, or if it asks for less: by a flag read with
  `.relaxed`, or a fence for its block alone. Behind a lock that is taken by compare-and-swap it is a race in
  any case. Otherwise it is the note "flag without acquire".
- That no fence came after `mbarrier.init` is a note, given where the first bulk copy or `tcgen05.commit`
  arrives there; a use by another block of the cluster is asked for one only behind a barrier with `.relaxed`.
- Lanes of one warp that initialise an mbarrier together, with the same count, are not reported.
- An access that leaves its array in static shared memory is found if its address is computed from names of
  arrays and numbers; a load counts if its value matters. It is not found in dynamic shared memory or within
  one array or struct. Nor is it found through a pointer that was loaded or that a function gets from
  several places, or with an index that is loaded and not scaled.
- Blocks count as waiting for ones that cannot begin, as on an H200 that starts blocks in their order, if each
  iteration of the loop in which they wait leaves registers as they were. Kernels for chips after Hopper,
  launches with an executor and those that cancel blocks run without that limit.
- Of a `trap` in the PTX of CUDA C++ outside of inline assembly it is known that the compiler put it there:
  `__trap()` is inline assembly. NVRTC puts one where it sees a null pointer or a write to `__constant__`
  memory; for Blackwell it mostly leaves such code out, and nothing is reported. A function of NVRTC's that
  ends without a return had code there that is left out (`__builtin_unreachable()`, a call through a null
  pointer): threads that come to that end are reported. If it states no line, the
  line is that of the branch from which threads come, or that of the function.
- Tensor maps are watched only if `tensormap.replace` or `tensormap.cp_fenceproxy` writes them in global
  memory; a `fence.proxy.tensormap` of one thread counts for its block.
- An mbarrier makes what was visible to all threads that had arrived by the end of its last phase visible
  to every thread that waits, even to one that waited for an earlier phase.
- Blocks of a cluster count as synchronised after the cluster's barrier and any wait for an mbarrier at
  which another block, or a copy of its, arrives; what others wrote counts as visible only if that arrival
  has the scope of the cluster, or a fence came before it, and so with what they read in global memory. What
  they read in shared memory may be overwritten after any wait for an mbarrier. An arrival at the cluster's
  barrier with `.relaxed` needs a fence in the same way; for threads of its own block it is a barrier without.
- That a bulk copy overwrites what ordinary loads read is looked for only if no store, branch, address or
  matrix product has used the value by then: CUTLASS's pipelines hand stages back without a proxy fence, when
  what they loaded is used. Sums and comparisons do not count, since the assembler may put them after a
  barrier: a probe that compares before it had wrong results.
- Accesses that are relaxed or atomic on both sides are no race; a fence between them is not missed. Volatile
  ones that nothing orders are reported where the value is computed with: those of flags, which are polled or
  tested, are not. An H200 kept the order of a volatile store of data and one of a flag without a fence in
  3.0e10 tries (global memory, two blocks) and in 1.1e11 (shared memory, two warps).
- Each launch has a heap of its own, of 8 MiB unless `heap=` says otherwise. Memory that malloc gave out in
  an earlier launch, or to a block on another worker of an `executor`, counts as not given out. Reads of
  memory of `malloc` that was not written are not reported.
- Stores of equal values to the same bytes are not reported, because many kernels let all threads write one
  result. Nor are loads whose values are never used, which compilers leave in, or lanes that have ended when
  others of their warp reach a barrier, which PTX allows since sm_70.
- Undefined values may be copied and computed with, as in Valgrind: they are reported once they decide a
  branch or whether something is stored, are an address, are copied by TMA, are printed, or are handed back
  in an array of the caller. They are followed lane by lane through registers, shuffles, shared, local and
  global memory, and row by row and column by column through `mma`; any operand makes all of a warp's
  `wgmma` doubtful. A
  register is doubtful as a whole, and `prmt` and `bfi` with one operand that is defined give a defined one.
  Tensor memory and parameters of functions are not followed, and of several origins the last is named,
  or the last between warps.
- A load and a store of another thread without a barrier between them: if the store came first in this run,
  what was loaded is followed in the same way. If the load came first, uses before the store count as well: a
  branch, an address or a store, since the last barrier, by a thread that may have read what is overwritten,
  or by a lane that shuffles may have handed it to. Loads whose value goes more than 16 ways always count,
  and so do those that a thread has executed at more than 64 addresses: it can report a race that harms
  nobody, in a kernel of Triton that overwrites what it loads, with fewer elements than threads, in a long
  loop.
- Global memory that TMA reads and writes is not checked; arrays of the caller count as written.
- Warps may meet at one barrier from different lines, which PTX allows and compute-sanitizer reports.
- With an `executor`, races between blocks in global memory are found only if one worker ran both.
"""


def page() -> str:
    """The page's text."""
    lines = [
        f"| {' | '.join(cells)} |".replace("_", r"\_")
        for cells in (
            (kind.name, kind.grade, kind.meaning, kind.remedy, kind.evidence, kind.tool or "none")
            for kind in KINDS.values()
        )
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
