"""Which outcomes of litmus tests PTX's memory consistency model allows."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import ptxlab
from ptxlab.simulator.schedules.litmus import LitmusTest, litmus_test
from tests.cases import each
from tools import litmus as on_gpu

from .litmus_cases import LITMUS, Litmus


@each("case", LITMUS, ids=lambda case: case.name)
def test_the_model_allows_what_the_table_says(case: Litmus) -> None:
    assert case.test.allows(**case.outcome) == case.allowed


def _interleaved(test: LitmusTest) -> Iterator[tuple[tuple[str, int], ...]]:
    """Outcomes under sequential consistency: one instruction after the other, in every order."""
    threads: dict[int, list[int]] = {}
    for event in test.instructions:
        threads.setdefault(event.thread, []).append(event.number)

    def go_on(done: dict[int, int], state: dict[str, int]) -> Iterator[tuple[tuple[str, int], ...]]:
        moves = [thread for thread, numbers in threads.items() if done[thread] < len(numbers)]
        if not moves:
            yield tuple(sorted(state.items()))
        for thread in moves:
            event, after = test.instructions[threads[thread][done[thread]]], dict(state)
            values = [value if isinstance(value, int) else state[value] for value in event.values]
            if event.register:
                after[event.register] = state[event.location]
            if event.name == "st" or event.update == "exch":
                after[event.location] = values[0]
            elif event.update == "add":
                after[event.location] = state[event.location] + values[0]
            yield from go_on({**done, thread: done[thread] + 1}, after)

    yield from go_on(dict.fromkeys(threads, 0), {event.location: 0 for event in test.initial})


def _random_test(seed: int) -> LitmusTest:
    """Two or three threads of up to three instructions on two locations."""
    choose, registers = random.Random(seed), count()
    threads = []
    for _ in range(choose.choice((2, 2, 3))):
        lines = []
        for _ in range(choose.randint(1, 3)):
            location, scope = choose.choice("xy"), choose.choice(("cta", "gpu", "sys"))
            value = choose.randint(1, 2)
            lines.append(choose.choice((
                f"ld.{choose.choice(('relaxed', 'acquire'))}.{scope}.u32 r{next(registers)}, [{location}]",
                f"st.{choose.choice(('relaxed', 'release'))}.{scope}.u32 [{location}], {value}",
                f"st.weak.u32 [{location}], {value}",
                f"fence.{choose.choice(('sc', 'acq_rel'))}.{scope}",
                f"atom.relaxed.{scope}.add.u32 r{next(registers)}, [{location}], {value}",
            )))  # fmt: skip
        threads.append("; ".join(lines))
    return litmus_test(threads) if len(threads) < 3 else litmus_test(threads, [(0, 0), (0, 0), (1, 1)])


@each("seed", range(60))
def test_the_model_allows_every_interleaving(seed: int) -> None:
    test = _random_test(seed)
    assert set(_interleaved(test)) <= test.outcomes


@pytest.mark.parametrize("case", LITMUS[::9], ids=lambda case: case.name)
def test_kernels_of_the_tests_end_with_allowed_outcomes(case: Litmus) -> None:
    memory, registers, gates = on_gpu.arrays(case, 2, 2)
    kernel = ptxlab.kernel(on_gpu.source(case), "litmus")
    kernel.simulate(*on_gpu.shape(case, 2), memory, registers, gates, 2, check=False)
    counts = on_gpu.outcomes(case, memory, registers)
    assert sum(counts.values()) == 2 * 2 * 32
    assert set(counts) <= case.test.outcomes
    assert np.all(gates == 2 * on_gpu.shape(case, 1)[0])


def test_the_gpu_has_shown_nothing_that_the_model_forbids() -> None:
    file = Path(on_gpu.FILE)
    if not file.exists():
        pytest.skip("tests/golden/litmus.json is not recorded: python -m tools.litmus on a GPU")
    record = json.loads(file.read_text(encoding="utf-8"))
    assert set(record) <= {case.name for case in LITMUS}
    assert {name: row["forbidden"] for name, row in record.items() if row["forbidden"]} == {}


def test_a_line_that_is_no_instruction_is_named() -> None:
    with pytest.raises(ptxlab.PtxlabError, match="mul"):
        litmus_test(["mul.lo.u32 a, 1, 2;"])
