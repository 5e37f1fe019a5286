"""`malloc` and `free` of device code: what they give out, and what is said about their misuse."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.simulator.checks.shadow_memory import Shadow
from ptxlab.simulator.hazard import Hazard
from ptxlab.simulator.heap import HEAP_START, Heap
from tests.cases import each
from tests.texts import filled


def _run(body: str, threads: int = 32, blocks: int = 1, **options: Any) -> tuple[list[int], list[Hazard]]:
    """What the threads write into `x[t]`, and the findings."""
    source = f"""extern "C" __global__ void k(int* x) {{
      const int t = blockIdx.x * blockDim.x + threadIdx.x;
      {body}
    }}"""
    x = np.zeros(threads * blocks, np.int32)
    result = ptxlab.kernel(source).simulate(blocks, threads, x, show=False, **options)
    return x.tolist(), [*result.hazards, *result.notes]


@each("lane", [0, 16, 31])
def test_one_oversized_request_is_refused_alone(lane: int) -> None:
    fits, findings = _run(f"char* p = (char*)malloc(t == {lane} ? 100000000 : 16); x[t] = p != 0; free(p);")
    assert fits == [int(number != lane) for number in range(32)]
    assert findings == []


@each("size, at_a_time", [("1 << 20", 8), ("5 << 20", 1), ("8 << 20", 1), ("(8 << 20) + 1", 0), ("-1", 0)])
def test_memory_is_given_back(size: str, at_a_time: int) -> None:
    body = f"for (int i = 0; i < 20; ++i) {{ char* p = (char*)malloc({size}); x[t] += p != 0; FREE }}"
    assert _run(filled(body, FREE="free(p);"), 1)[0] == [20 if at_a_time else 0]
    assert _run(filled(body, FREE=""), 1)[0] == [at_a_time]


def test_the_size_of_the_heap() -> None:
    ask = "char* p = (char*)malloc(8); x[t] = p != 0; free(p);"
    assert sum(_run(ask, heap=160)[0]) == 10
    assert sum(_run(ask, heap=0)[0]) == 0
    assert _run("char* p = (char*)malloc(100 << 20); x[t] = p != 0; free(p);", 1, heap=100 << 20)[0] == [1]
    with pytest.raises(PtxlabError, match="heap=-1: it is 0 or more bytes"):
        _run(ask, heap=-1)
    with pytest.raises(PtxlabError, match="is a null pointer; malloc has returned null, as its heap of 160"):
        _run("*(int*)malloc(8) = t;", heap=160)


def test_memory_of_several_sizes_that_is_kept() -> None:
    """The sentence names the smallest and the largest."""
    _, (kept,) = _run(
        "char* p = (char*)malloc(t ? 1000 + t : 16); if (t % 2 == 0) free(p); else x[t] = p != 0;"
    )
    assert "lanes 1, 3, 5, 7, ... allocate 1001 to 1031 bytes each that are not freed" in kept.sentence
    _, (kept,) = _run("char* p = (char*)malloc(t ? 4000 : 16); if (t == 5) free(p); else x[t] = p != 0;")
    assert "lanes 0-4, 6-31 allocate 16 to 4000 bytes each that are not freed" in kept.sentence


def test_memory_that_changes_hands_is_no_race() -> None:
    """A warp uses what another one has freed, without a barrier between them."""
    body = """for (int turn = 0; turn < 4; ++turn) if (t == 32 * turn) {
        int* p = (int*)malloc(1024);
        p[5] = t;
        asm volatile("" ::: "memory");
        x[t] = p[5] + (((unsigned long long)p & 0xffff) != 0);
        free(p);
      }"""
    values, findings = _run(body, 128, heap=1024)
    assert values[::32] == [0, 32, 64, 96]  # all at the same address
    assert findings == []


def test_a_race_in_the_heap_is_one() -> None:
    body = """__shared__ int* all;
      if (threadIdx.x == 0) all = (int*)malloc(256);
      __syncthreads();
      all[threadIdx.x] = t;
      x[t] = all[63 - threadIdx.x];
      __syncthreads();
      if (threadIdx.x == 0) free(all);"""
    assert {hazard.kind for hazard in _run(body, 64)[1]} == {"race"}


def test_memory_of_another_launch() -> None:
    """As the CUDA programming guide's example, in which one launch allocates and another one frees."""
    source = """extern "C" __global__ void k(int** p, int again) {
      if (!again) *p = (int*)malloc(4);
      else { **p = 1; free(*p); }
    }"""
    pointer = np.zeros(1, np.uint64)
    kernel = ptxlab.kernel(source)
    (note,) = kernel.simulate(1, 1, pointer, 0, show=False).notes
    assert note.kind == "heap memory kept"
    hazards = kernel.simulate(1, 1, pointer, 1, show=False).hazards
    assert [hazard.kind for hazard in hazards] == ["heap memory", "invalid free"]
    assert all("malloc did not" in hazard.sentence for hazard in hazards)


def test_kept_memory_is_counted() -> None:
    """What another block frees is not kept; 40,000 threads are more than one batch."""
    body = "int* p = (int*)malloc(16); p[0] = t; x[t] = p[0]; if (t % 1000 != 7) free(p);"
    values, (note,) = _run(body, 400, 100)
    assert values == list(range(40_000))
    assert (note.kind, note.count, note.lanes) == ("heap memory kept", 40, (7,))


def test_allocations_do_not_overlap() -> None:
    """Random requests; all is free at the end."""
    choice = random.Random(49)
    heap = Heap(1 << 20)
    held: dict[int, int] = {}
    for _ in range(2000):
        if held and choice.random() < 0.5:
            address = choice.choice(list(held))
            del held[address]
            assert heap.free(address) and not heap.free(address)
        else:
            size = choice.choice((0, 1, 16, 17, 100, 5000, 70_000, 1 << 20))
            (address,) = heap.allocate(np.array([size])).tolist()
            if address:
                assert address % 16 == 0 and address >= HEAP_START
                held[address] = max(size, 1)
        ordered = sorted(held.items())
        assert all(first + size <= second for (first, size), (second, _) in pairwise(ordered))
        assert sum(held.values()) <= heap.size
    for address in held:
        assert heap.free(address)
    assert heap.allocate(np.array([1 << 20]))[0]


def test_only_bytes_that_change_hands_are_forgotten() -> None:
    """An entry of the shadow may be wider than what malloc gives out."""
    shadow = Shadow(256)
    entries, _ = shadow.entries(np.array([0, 128]), 128)
    shadow.note_writes(entries, np.array([7, 8]))
    shadow.forget(0, 63)
    entries, _ = shadow.entries(np.array([0, 64, 128]), 64)
    assert shadow.writer[entries].tolist() == [0, 7, 8]
