"""The picture of a ring of stages, from steps that are written down by hand."""

from __future__ import annotations

from ptxlab.course.barrier_record import BarrierStep, ring_grid
from ptxlab.views.grid import named_headers

#: The mbarriers of two stages, in the order of their initialisation.
FULL_0, EMPTY_0, FULL_1, EMPTY_1 = range(4)
#: The producer is thread 0; the consumers are 128 threads, the first of them in warp 1.
PRODUCER, CONSUMERS = (1, 0), (128, 1)


def step(
    kind: str, barrier: int, who: tuple[int, int], pending: int, waiting_bytes: int, phase: int
) -> BarrierStep:
    threads, warp = who
    return BarrierStep(kind, barrier, threads, warp, threads, pending, waiting_bytes, phase)


#: Two tiles through a ring of two stages. The picture omits the initialisation and copies that end no phase.
STEPS = (
    *(step("init", barrier, PRODUCER, 1 if barrier % 2 == 0 else 128, 0, 0) for barrier in range(4)),
    step("passes", EMPTY_0, PRODUCER, 128, 0, 0),  # column 0
    step("arrive.expect_tx", FULL_0, PRODUCER, 0, 2304, 0),  # 1
    step("complete_tx", FULL_0, PRODUCER, 0, 256, 0),
    step("complete_tx", FULL_0, PRODUCER, 1, 0, 1),  # 2: tile 0 is there
    step("passes", EMPTY_1, PRODUCER, 128, 0, 0),  # 3
    step("arrive.expect_tx", FULL_1, PRODUCER, 0, 2304, 0),  # 4
    step("waits", FULL_1, CONSUMERS, 0, 2304, 0),  # 5
    step("complete_tx", FULL_1, PRODUCER, 1, 0, 1),  # 6: tile 1 is there
    step("passes", FULL_0, CONSUMERS, 1, 0, 1),  # 7
    step("arrive", EMPTY_0, CONSUMERS, 128, 0, 1),  # 8: tile 0 is read
    step("waits", EMPTY_0, PRODUCER, 128, 0, 1),  # 9
)

#: What is in each row: first column, number of columns, text. Twelve columns are two headings of six.
SPANS = {
    "producer loads": [(0, 3, "0"), (3, 4, "1"), (9, 3, "")],
    "stage 0": [(1, 2, ""), (3, 6, "tile 0")],
    "full[0]": [(0, 3, "0"), (3, 9, "1")],
    "empty[0]": [(0, 9, "0"), (9, 3, "1")],
    "stage 1": [(4, 3, ""), (7, 5, "tile 1")],
    "full[1]": [(0, 7, "0"), (7, 5, "1")],
    "empty[1]": [(0, 12, "0")],
    "consumers read": [(5, 2, ""), (7, 2, "× 0")],
}


def test_the_spans_of_two_stages() -> None:
    grid = ring_grid(STEPS, 2)
    drawn: dict[str, list[tuple[int, int, str]]] = {name: [] for name in SPANS}
    names = list(drawn)
    for cell in sorted(grid.cells, key=lambda cell: cell.column):
        if cell.role != "blank":
            drawn[names[cell.row]].append((cell.column, cell.width, cell.text))
    assert grid.rows == named_headers(names)
    assert drawn == SPANS
