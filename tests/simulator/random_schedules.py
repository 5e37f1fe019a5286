"""Random programs of a few threads on two words, and all that their interleavings can end with."""

from __future__ import annotations

import random
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import ptxlab
from ptxlab.simulator.launch_arguments import as_launch
from ptxlab.simulator.schedules.explore import Explorer, Outcome

WORDS, REGISTERS = 2, 3
#: The words in memory and the registers of all threads, or "hangs" with the words.
Final = tuple[Any, ...]


class Op(NamedTuple):
    """An instruction: what it does to a word, the register that it sets, and numbers."""

    name: str
    word: int
    register: int
    values: tuple[int, ...]


Program = list[list[Op]]
_PTX = {
    "load": "ld.relaxed.gpu.u32 {r}, [{a}];",
    "weak load": "ld.weak.u32 {r}, [{a}];",
    "store": "mov.u32 %t, {0}; st.relaxed.gpu.u32 [{a}], %t;",
    "weak store": "mov.u32 %t, {0}; st.weak.u32 [{a}], %t;",
    "copy": "st.weak.u32 [{a}], {r};",
    "add": "atom.relaxed.gpu.add.u32 {r}, [{a}], {0};",
    "reduce": "red.relaxed.gpu.add.u32 [{a}], {0};",
    "exchange": "atom.relaxed.gpu.exch.b32 {r}, [{a}], {0};",
    "swap": "atom.relaxed.gpu.cas.b32 {r}, [{a}], {0}, {1};",
    "store if": "setp.eq.u32 %p, {r}, {0}; mov.u32 %t, {1}; @%p st.relaxed.gpu.u32 [{a}], %t;",
    "wait": "L{label}: ld.relaxed.gpu.u32 %t, [{a}]; setp.ne.u32 %p, %t, {0}; @%p bra L{label};",
}


def program(seed: int) -> Program:
    """Two or three threads of up to four operations."""
    choose = random.Random(seed)
    names = [name for name in _PTX if name != "wait"] + (["wait"] if seed % 3 == 0 else [])
    threads = choose.choice((2, 2, 3))

    def operation() -> Op:
        values = (choose.randint(0, 2), choose.randint(1, 2))
        return Op(choose.choice(names), choose.randrange(WORDS), choose.randrange(REGISTERS), values)

    return [[operation() for _ in range(choose.randint(1, 7 - 2 * threads + 1))] for _ in range(threads)]


def ptx(threads: Program) -> str:
    """The program as a kernel: each block is one thread."""
    lines, label = [], 0
    for number, operations in enumerate(threads):
        lines.append(f"setp.ne.u32 %p, %b, {number}; @%p bra T{number + 1};")
        for op in operations:
            label += 1
            address = f"%w+{4 * op.word}"
            lines.append(_PTX[op.name].format(*op.values, r=f"%r{op.register}", a=address, label=label))
        lines.append(f"bra END; T{number + 1}:")
    stores = " ".join(f"st.global.u32 [%o+{4 * number}], %r{number};" for number in range(REGISTERS))
    clears = " ".join(f"mov.u32 %r{number}, 0;" for number in range(REGISTERS))
    body = "\n  ".join(lines)
    return f""".version 8.0
.target sm_90a
.address_size 64
.visible .entry threads(.param .u64 words, .param .u64 out) {{
  .reg .pred %p; .reg .u32 %r<{REGISTERS}>; .reg .u32 %t, %b; .reg .u64 %w, %o, %s;
  ld.param.u64 %w, [words]; ld.param.u64 %o, [out];
  mov.u32 %b, %ctaid.x; mul.wide.u32 %s, %b, {4 * REGISTERS}; add.u64 %o, %o, %s;
  {clears}
  {body}
  END: {stores}
  ret;
}}
"""


def _step(op: Op, words: tuple[int, ...], registers: tuple[int, ...]) -> tuple[Any, Any] | None:
    """Words and registers behind an operation; None if it waits."""
    old, first, second = words[op.word], *op.values
    new, result = old, registers[op.register]
    if op.name in ("load", "weak load"):
        result = old
    elif op.name in ("store", "weak store"):
        new = first
    elif op.name == "copy":
        new = result
    elif op.name == "add":
        new, result = old + first, old
    elif op.name == "reduce":
        new = old + first
    elif op.name == "exchange":
        new, result = first, old
    elif op.name == "swap":
        new, result = second if old == first else old, old
    elif op.name == "store if":
        new = second if result == first else old
    elif old != first:
        return None
    return (*words[: op.word], new, *words[op.word + 1 :]), (
        *registers[: op.register], result, *registers[op.register + 1 :],
    )  # fmt: skip


def interleaved(threads: Program) -> set[Final]:
    """All ends, by every interleaving."""
    ends: set[Final] = set()
    start = ((0,) * len(threads), (0,) * WORDS, ((0,) * REGISTERS,) * len(threads))
    seen, waiting = {start}, [start]
    while waiting:
        counters, words, registers = waiting.pop()
        moved = False
        for thread, operations in enumerate(threads):
            if counters[thread] == len(operations):
                continue
            step = _step(operations[counters[thread]], words, registers[thread])
            if step is None:
                continue
            moved = True
            after = (
                (*counters[:thread], counters[thread] + 1, *counters[thread + 1 :]),
                step[0],
                (*registers[:thread], step[1], *registers[thread + 1 :]),
            )
            if after not in seen:
                seen.add(after)
                waiting.append(after)
        if not moved:
            ended = all(count == len(ops) for count, ops in zip(counters, threads, strict=True))
            ends.add((words, registers) if ended else ("hangs", words))
    return ends


def explored(threads: Program, seconds: float = 60) -> tuple[set[Final], int]:
    """All ends that the exploration finds, and its classes."""
    words, out = np.zeros(WORDS, np.uint32), np.zeros((len(threads), REGISTERS), np.uint32)
    kernel = ptxlab.kernel(ptx(threads))
    ends: set[Final] = set()
    explorer, outcomes = ends_of(kernel, len(threads), words, out, seconds=seconds)
    for end in outcomes:
        one, two = (end.arrays[name] for name in ("1", "2"))
        if end.error is None:
            ends.add((tuple(one.tolist()), tuple(map(tuple, two.tolist()))))
        else:
            assert end.hangs, end.error
            ends.add(("hangs", tuple(one.tolist())))
    return ends, explorer.count


def ends_of(kernel: Any, grid: int, *arguments: Any, seconds: float = 60) -> tuple[Explorer, list[Outcome]]:
    """How the classes of a launch of blocks of one thread end."""
    image, setup = kernel._prepared(as_launch(kernel.function, grid, 1, 0, None), arguments)
    explorer = Explorer(kernel.title, image, setup, seconds)
    return explorer, [end for _, end in explorer.classes(perf_counter() + seconds)]
