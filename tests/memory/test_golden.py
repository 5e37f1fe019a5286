"""What an H200 did with shared memory (`tools/record/memory.py`) against banks and tensor maps."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from ptxlab.course.exercises import shared_memory_and_banks
from ptxlab.memory import conflicts
from ptxlab.memory.banks import row_conflicts
from tests.cases import each
from tools.record.memory import ACCESSES, EXTRA, FOLDER, UPDATES, Access, Box, boxes, digest, patterns

CYCLES = np.load(FOLDER / "banks.npz")
UPDATED = np.load(FOLDER / "updates.npz")
DIGESTS = json.loads((FOLDER / "boxes.json").read_text())


def wavefronts(access: Access, addresses: NDArray[np.uint16], masks: NDArray[np.uint32]) -> NDArray[np.int64]:
    """What the model says."""
    if access.rows:
        return np.asarray(row_conflicts(addresses, access.rows, access.width).wavefronts)
    active = masks[:, None] >> np.arange(32, dtype=np.uint32) & 1
    store = access.name.startswith("st")
    return np.asarray(conflicts(addresses, access.width, store=store, active=active).wavefronts)


def by_hand(access: Access, addresses: list[int], mask: int) -> int:
    """The rule once more, one access at a time: groups of 128 bytes, the fullest bank of each counts."""
    lanes = [lane for lane in range(access.rows or 32) if mask >> lane & 1]
    size = min(128 // access.width, 32)
    loads = access.name.startswith("ld.")
    for step in (1, 2):
        pairs = [(lane, lane ^ step) for lane in lanes if lane ^ step in lanes]
        if loads and access.width > 4 and all(addresses[one] == addresses[two] for one, two in pairs):
            size = 256 // access.width
    total = 0
    for first in range(0, 32, size):
        words: dict[int, set[int]] = {}
        for lane in lanes:
            if first <= lane < first + size:
                for byte in range(addresses[lane], addresses[lane] + access.width):
                    words.setdefault(byte // 4 % 32, set()).add(byte // 4)
        total += max((len(different) for different in words.values()), default=0)
    return total


@each("access", ACCESSES, ids=lambda access: access.name)
def test_cycles_are_wavefronts(access: Access) -> None:
    """320 patterns of each kind of access; none is further than a third of a cycle from the model."""
    addresses, masks = patterns(access)
    cycles = CYCLES[access.name] / 64
    assert len(cycles) == len(addresses) == 320
    predicted = wavefronts(access, addresses, masks)
    assert np.abs(cycles - predicted).max() < 1 / 3
    some = range(0, 320, 7)
    again = [by_hand(access, addresses[i].tolist(), int(masks[i])) for i in some]
    assert again == [int(predicted[i]) for i in some]


@each("access", UPDATES, ids=lambda access: access.name)
def test_lanes_wait_for_each_other_in_a_bank(access: Access) -> None:
    """Atomic operations take a cycle for each lane in the fullest bank, compare-and-swap two.

    So does cp.async of 16 bytes, eight lanes at a time; it takes four cycles at least, and half a one more.
    """
    addresses, masks = patterns(access)
    cycles = UPDATED[access.name] / 64
    lanes = masks[:, None] >> np.arange(32, dtype=np.uint32) & 1 == 1
    size = 128 // access.width
    by_hand = np.zeros(len(cycles), dtype=np.int64)
    for first in range(0, 32, size):
        words = addresses[:, first : first + size, None] // 4 + np.arange(access.width // 4)
        hits = (words[..., None] % 32 == np.arange(32)) & lanes[:, first : first + size, None, None]
        by_hand += hits.sum(axis=(1, 2)).max(axis=1)
    if access.width == 16:
        long = by_hand >= 4
        assert np.abs(cycles - 0.5 - by_hand)[long].max() < 0.7 and long.sum() > 250
        return
    predicted = conflicts(addresses, access.width, atomic=True, active=lanes).wavefronts
    np.testing.assert_array_equal(predicted, by_hand)
    assert np.abs(cycles / (2 if "cas" in access.name else 1) - predicted).max() < 0.25


def recorded(name: str, stride: int) -> float:
    """Cycles of an access whose lane i has the address `stride` * i."""
    (access,) = (access for access in ACCESSES if access.name == name)
    addresses, _ = patterns(access)
    (which,) = np.flatnonzero((addresses == np.arange(32) * stride).all(axis=1))
    return float(CYCLES[name][which]) / 64


def test_lesson_15_shows_the_recorded_cycles() -> None:
    lesson = (FOLDER.parent.parent / "notebooks" / "04-shared-memory-and-banks.ipynb").read_text()
    assert f"{sum(CYCLES[name].size for name in CYCLES):,} accesses on an H200" in lesson
    for pitch, cycles in shared_memory_and_banks.CYCLES_BY_PITCH.items():
        assert cycles == round(recorded("ldmatrix.x4", pitch))
    for width, of_width in shared_memory_and_banks.CYCLES_AT_ONE_ADDRESS.items():
        assert of_width == {
            "load": round(recorded(f"ld.{8 * width}", 0)),
            "store": round(recorded(f"st.{8 * width}", 0)),
        }


def expected_bytes(box: Box) -> NDArray[np.uint8]:
    """What is in shared memory from the box's address on: 0xA5 where TMA does not write."""
    tensor = box.tensor_map()
    memory = np.full(tensor.size + EXTRA, 0xA5, dtype=np.uint8)
    offsets = tensor.offset(*np.ogrid[tuple(slice(count) for count in tensor.copied)], address=box.address)
    places = (offsets[..., None] + np.arange(tensor.array.itemsize)).ravel()
    content, written = tensor.image(*box.start, address=box.address)
    assert np.unique(places).tolist() == np.flatnonzero(written).tolist()
    assert len(places) == tensor.expect_tx
    memory[places] = content[places]
    return memory


@each("box", list(boxes()), ids=str)
def test_boxes_of_tma_are_those_recorded(box: Box) -> None:
    """Every byte that TMA wrote, and those around them that it left alone."""
    assert digest(expected_bytes(box)) == DIGESTS[str(box)]
