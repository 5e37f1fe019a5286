"""One access of a warp on the banks of shared memory: which lanes touch each word, and in which wavefront."""

from __future__ import annotations

import numpy as np

from .._util.arguments import as_flag, is_a, is_name
from ..errors import PtxlabError, counted, quoted
from ..memory import BANKS, Conflicts
from .grid import Entry, uniform_grid
from .labels import index_range
from .picture import Picture
from .table import Table, Value

_LINE_BYTES = 4 * BANKS
_MOST_LINES = 128  # of shared memory that a picture shows


def banks(access: Conflicts, colour: str = "lane", *, counts: bool = False, title: bool = True) -> Picture:
    """One access as it falls on the banks: lines of 128 bytes, a column for each of the 32 banks.

    A cell is a word that lanes touch, with the lowest of them or, with ``colour="wavefront"``, with the
    wavefront in which it is served. With `counts`, a row below for each group of lanes that are served
    together says how many different words each bank delivers; the largest number is their wavefronts.

    >>> from ptxlab import memory
    >>> grid = banks(memory.conflicts(np.arange(32) * 8)).grids[0]
    >>> grid.at(0, 2).text, grid.at(1, 2).text   # lanes 1 and 17 want different words of bank 2
    ('1', '17')
    """
    if not is_a(access, Conflicts):
        raise PtxlabError(f"found {quoted(access)}; memory.conflicts(addresses) gives an access")
    if not is_name(colour, ("lane", "wavefront")):
        raise PtxlabError(f"colour={quoted(colour)}: there are lane, wavefront")
    counts = as_flag(counts, "counts")
    touched = _touched_words(access)
    lines = sorted({word // BANKS for word in touched})
    if len(lines) > _MOST_LINES:
        raise PtxlabError(f"an access of {len(lines)} lines of 128 bytes: a picture shows {_MOST_LINES}")
    rows = [
        (str(line * _LINE_BYTES), [_word(line * BANKS + bank, touched, colour) for bank in range(BANKS)])
        for line in lines
    ]
    number = "the lowest lane that touches it" if colour == "lane" else "the wavefront that serves it"
    notes = [str(access).removesuffix("."), f"in a word: {number}"]
    rules: tuple[int, ...] = ()
    if counts and lines:
        rules = (len(lines),)
        delivered = _bank_counts(access)
        rows += delivered
        notes.append("last row: the words that each bank delivers")
        if len(delivered) > 1:
            notes[-1] = "last rows: the words that each bank delivers to lanes that are served together"
    grid = uniform_grid(
        (max(len(rows), 1), BANKS),
        lambda row, bank: rows[row][1][bank] if rows else Entry(),
        [heading for heading, _ in rows],
        1,
        ("byte", "bank"),
        name="banks",
        density="close",
        row_rules=rules,
    )
    return Picture("One access on the 32 banks of shared memory", tuple(notes), (grid,)).with_title(title)


def _touched_words(access: Conflicts) -> dict[int, tuple[list[int], list[int]]]:
    """The lanes that touch each word, and the wavefronts that serve it, in ascending order."""
    schedule = access.schedule
    touched: dict[int, tuple[list[int], list[int]]] = {}
    for lane, number in np.ndindex(*access.words.shape):
        word = int(access.words[lane, number])
        if word >= 0:
            lanes, wavefronts = touched.setdefault(word, ([], []))
            lanes.append(lane)
            wavefronts.append(int(schedule[lane, number]))
    return {word: (lanes, sorted(set(waves))) for word, (lanes, waves) in touched.items()}


def _word(word: int, touched: dict[int, tuple[list[int], list[int]]], colour: str) -> Entry:
    """A word: the lowest lane that touches it, or the wavefront that serves it; in its tooltip all."""
    where = f"bytes {index_range(4 * word, 4)}, bank {word % BANKS}"
    if word not in touched:
        return Entry(tooltip=f"{where}\nno lane")
    lanes, wavefronts = touched[word]
    served = f"lanes {', '.join(map(str, lanes))}\nwavefront {', '.join(map(str, wavefronts))}"
    number = tint = lanes[0]
    if colour == "wavefront":
        number = wavefronts[0]
        tint = (number * 4 % 32 + number // 8) % 32
    return Entry((str(number),), tint, f"{where}\n{served}")


def _bank_counts(access: Conflicts) -> list[tuple[str, list[Entry]]]:
    """For each group of lanes: a heading, and the number of different words of each bank."""
    rows = []
    groups = sorted(set(access.groups[access.words[:, 0] >= 0].tolist()))
    for group in groups:
        lanes = np.flatnonzero(access.groups == group)
        words = np.unique(access.words[lanes])
        served = f"lanes {index_range(int(lanes[0]), len(lanes))}"
        entries = []
        for bank, number in enumerate(np.bincount(words[words >= 0] % BANKS, minlength=BANKS).tolist()):
            heat = (number - 1) / (BANKS - 1) * 0.5 + 0.3 if number > 1 else 0.0
            tooltip = f"bank {bank}, {served}\n{counted(number, 'different word')}"
            entries.append(Entry((str(number),) if number else (), None, tooltip, heat=heat))
        rows.append(("words" if len(groups) == 1 else served, entries))
    return rows


def accesses(access: Conflicts) -> Table:
    """What each lane touches: its bytes, its banks, and the wavefronts that serve it.

    >>> from ptxlab import memory
    >>> accesses(memory.conflicts(np.arange(32) * 128)).records()[3]
    {'lane': 3, 'group': 0, 'bytes': '384..387', 'banks': '0', 'wavefront': '3'}
    """
    if not is_a(access, Conflicts):
        raise PtxlabError(f"found {quoted(access)}; memory.conflicts(addresses) gives an access")
    rows: list[tuple[Value, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for lane, words in enumerate(access.words.tolist()):
        if words[0] < 0:
            continue
        served = sorted(set(access.schedule[lane].tolist()))
        places = index_range(words[0] % BANKS, len(words))
        span = index_range(4 * words[0], 4 * len(words))
        rows.append((lane, int(access.groups[lane]), span, places, ", ".join(map(str, served))))
        lanes.append((lane,))
    return Table(("lane", "group", "bytes", "banks", "wavefront"), tuple(rows), tuple(lanes))
