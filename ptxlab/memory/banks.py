"""Banks of shared memory: in how many wavefronts one warp-wide access is served, and which lanes collide.

Shared memory has 32 banks of 4 bytes; word w is in bank w % 32. A wavefront takes one word from each bank,
128 bytes at most, so that lanes are served in groups whose accesses make 128 bytes. In each group the bank
with the most different words decides; lanes that want the same word share it. Measured on an H200, see
`tests/golden/banks.npz`: cycles of a saturated memory pipe equal these wavefronts in every pattern tried.
Instructions that only sm_100 and later have (ldmatrix m16n16 and m8n16 of 4 and 6 bits, stmatrix m16n8) are
assumed to be served in the same way; `Conflicts.evidence` says so.
An atomic operation is served lane by lane in each bank (`tests/golden/updates.npz`), compare-and-swap in two
cycles for each lane; cp.async of 16 bytes is served like that, eight lanes at a time.
NVIDIA's forum also reports for sm_70 that loads of 8 and 16 bytes are served twice as fast where neighbours
share addresses ("Unexpected shared memory bank conflict").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_flag, as_int, as_integers, check_room
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.transfer import Transfer
from .swizzle import SharedLayout

_MEASURED_ON = "sm_90a"

#: Banks of shared memory, of 4 bytes each.
BANKS = 32
_BANK_BYTES = 4
_LANES = 32

#: Bytes that a lane may read or write at once.
WIDTHS = (1, 2, 4, 8, 16)

#: Bytes that an atomic operation on shared memory updates.
ATOMIC_WIDTHS = (4, 8)

#: How lanes of one access are served; cp.async of 16 bytes is served as an atomic operation.
AccessKind = Literal["load", "store", "atomic"]

_INACTIVE = -1  # the word of an inactive lane


class Collision(NamedTuple):
    """Lanes of one group that want different words of one bank: a wavefront for each of `words`."""

    group: int
    bank: int
    lanes: tuple[int, ...]
    words: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Conflicts:
    """How the banks serve one warp-wide access, or a batch of accesses; `conflicts` makes it.

    `words` are the 4-byte words that each lane touches, [..., lanes, words], -1 for an inactive lane;
    `groups` is the group in which each lane is served, [..., lanes]. Both are read-only; accesses that are
    served in the same way are equal.

    >>> print(conflicts(np.arange(32) * 128))   # a column of a matrix with rows of 128 bytes
    32 wavefronts where 1 would do: 32 lanes want 32 different words of bank 0.
    """

    words: NDArray[np.int64]
    groups: NDArray[np.int64]
    evidence: Literal["measured", "assumed"] = "measured"  # on an H200, or not at all
    atomic: bool = False  # then lanes that want the same word also wait for each other

    def __post_init__(self) -> None:
        for name in ("words", "groups"):
            array = getattr(self, name).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Conflicts)
            and (self.evidence, self.atomic) == (other.evidence, other.atomic)
            and np.array_equal(self.words, other.words)
            and np.array_equal(self.groups, other.groups)
        )

    def __hash__(self) -> int:
        return hash((self.words.shape, self.words.tobytes(), self.evidence, self.atomic))

    @cached_property
    def _per_group(self) -> NDArray[np.int64]:
        """Wavefronts of each group of each access, [accesses, groups]; 0 if all its lanes are inactive."""
        lanes, per_lane = self.words.shape[-2:]
        words = self.words.reshape(-1, lanes * per_lane)
        groups = np.broadcast_to(self.groups[..., None], self.words.shape).reshape(words.shape)
        count = int(groups.max(initial=0)) + 1
        # sorting makes equal words of a group neighbours, of which only the first counts
        span = int(words.max(initial=0)) + 1
        keys = np.sort(np.where(words < 0, _INACTIVE, groups * span + words), axis=1)
        first = np.ones(keys.shape, dtype=np.bool_)
        if not self.atomic:
            first[:, 1:] = keys[:, 1:] != keys[:, :-1]
        first &= keys >= 0
        access = np.broadcast_to(np.arange(len(keys))[:, None], keys.shape)[first]
        cells = (access * count + keys[first] // span) * BANKS + keys[first] % span % BANKS
        table = np.bincount(cells, minlength=len(keys) * count * BANKS)
        return np.asarray(table.reshape(len(keys), count, BANKS).max(axis=2), dtype=np.int64)

    @cached_property
    def wavefronts(self) -> int | NDArray[np.int64]:
        """Wavefronts that serve the access: cycles of the memory pipe. An array for a batch."""
        total = self._per_group.sum(axis=1)
        return int(total[0]) if self.words.ndim == 2 else total.reshape(self.words.shape[:-2])

    @cached_property
    def least(self) -> int | NDArray[np.int64]:
        """Wavefronts of the same groups of lanes without any conflict."""
        total = (self._per_group > 0).sum(axis=1)
        return int(total[0]) if self.words.ndim == 2 else total.reshape(self.words.shape[:-2])

    @cached_property
    def collisions(self) -> tuple[Collision, ...]:
        """Every bank of every group in which lanes wait for each other; empty without conflicts.

        Only for a single access: in a batch, take `conflicts(addresses[i])`.
        """
        if self.words.ndim != 2:
            raise PtxlabError(
                f"collisions of a batch of shape {self.words.shape[:-2]}: ask for those of one access, "
                "conflicts(addresses[i])"
            )
        lanes_by_word: dict[tuple[int, int], dict[int, list[int]]] = {}  # of each group and bank
        for lane, (group, words) in enumerate(zip(self.groups.tolist(), self.words.tolist(), strict=True)):
            for word in words:
                if word != _INACTIVE:
                    by_word = lanes_by_word.setdefault((group, word % BANKS), {})
                    by_word.setdefault(word, []).append(lane)
        return tuple(
            Collision(
                group,
                bank,
                tuple(sorted({lane for lanes in by_word.values() for lane in lanes})),
                tuple(sorted(by_word)),
            )
            for (group, bank), by_word in sorted(lanes_by_word.items())
            if len(by_word) > 1 or (self.atomic and len(next(iter(by_word.values()))) > 1)
        )

    @cached_property
    def schedule(self) -> NDArray[np.int64]:
        """The wavefront in which each word of each lane is served, [lanes, words]; -1 for inactive lanes.

        The order of the words of one bank is not known; here that of the lowest lane comes first.
        """
        if self.words.ndim != 2:
            raise PtxlabError(
                f"schedule of a batch of shape {self.words.shape[:-2]}: ask for that of one access"
            )
        starts = np.concatenate([[0], np.cumsum(self._per_group[0])])
        order: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
        schedule = np.full(self.words.shape, _INACTIVE)
        for lane, group in enumerate(self.groups.tolist()):
            for number, word in enumerate(self.words[lane].tolist()):
                if word != _INACTIVE:
                    ranks = order.setdefault((group, word % BANKS), {})
                    request = (word, lane if self.atomic else _INACTIVE)
                    schedule[lane, number] = starts[group] + ranks.setdefault(request, len(ranks))
        return schedule

    def __str__(self) -> str:
        if self.words.ndim != 2:
            return f"{self.words.shape[:-2]} accesses, {np.sum(self.wavefronts)} wavefronts together."
        note = (
            "" if self.evidence == "measured" else " Assumed: no GPU that has the instruction was measured."
        )
        count = counted(int(self.wavefronts), "wavefront")
        if self.wavefronts == self.least:
            return f"{count}, no conflicts.{note}"
        if self.atomic:
            worst = max(self.collisions, key=lambda collision: len(collision.lanes))
            return (
                f"{count} where {self.least} would do: {counted(len(worst.lanes), 'lane')} update "
                f"{counted(len(worst.words), 'word')} of bank {worst.bank}, one after the other.{note}"
            )
        worst = max(self.collisions, key=lambda collision: len(collision.words))
        return (
            f"{count} where {self.least} would do: {counted(len(worst.lanes), 'lane')} want "
            f"{len(worst.words)} different words of bank {worst.bank}.{note}"
        )


def conflicts(
    addresses: ArrayLike,
    width: int = 4,
    *,
    store: bool | int = False,
    atomic: bool | int = False,
    active: ArrayLike | None = None,
) -> Conflicts:
    """Bank conflicts of one ld.shared or st.shared: byte addresses [..., 32], `width` bytes a lane.

    `active` are the lanes that take part, [..., 32]; by default all. Lanes are served 32 at a time
    for up to 4 bytes, 16 for 8 and 8 for 16. Loads of 8 and 16 bytes take twice as many lanes at a time if
    all lanes i and i ^ 1, or all lanes i and i ^ 2, have the same address. An `atomic` operation, of 4 or 8
    bytes, is served lane by lane in each bank, even if lanes want the same word.

    The addresses may be a CuTe layout from lanes to bytes, with or without a swizzle; for elements of a
    matrix, take ``SharedLayout.read("Swizzle<3,3,3> o (64,64):(64,1)", bits=16).address(rows, columns)``.

    >>> print(conflicts("Swizzle<3,4,3> o (8,4):(128,16)", width=16))   # 8 rows, 4 chunks of each
    4 wavefronts, no conflicts.
    >>> print(conflicts(np.zeros(32, dtype=int), atomic=True))   # atomicAdd of all lanes to one counter
    32 wavefronts where 1 would do: 32 lanes update 1 word of bank 0, one after the other.
    >>> conflicts(np.arange(32) * 8, width=8).wavefronts   # 256 bytes
    2
    >>> conflicts(np.arange(32) * 33 * 4).collisions   # rows of 33 words: every lane has a bank of its own
    ()
    """
    starts = _as_addresses(addresses)
    size = as_int(width, "width")
    if size not in WIDTHS:
        raise PtxlabError(f"width={quoted(size)}: a lane reads or writes {listing(WIDTHS)} bytes")
    store, atomic = as_flag(store, "store"), as_flag(atomic, "atomic")
    if atomic and size not in ATOMIC_WIDTHS:
        raise PtxlabError(f"width={quoted(size)}: an atomic operation has {listing(ATOMIC_WIDTHS)} bytes")
    misaligned = starts % size != 0
    active_lanes = np.ones(starts.shape, dtype=np.bool_)
    if active is not None:
        flags = as_array(active, "active")
        if flags.dtype.kind not in "biu" or not ((flags == 0) | (flags == 1)).all():
            raise PtxlabError("active: found other than True and False")
        if flags.shape[-1:] != (_LANES,) or flags.ndim > starts.ndim:
            raise PtxlabError(f"active of shape {flags.shape}: it takes a flag for each of {_LANES} lanes")
        try:
            active_lanes = np.broadcast_to(flags.astype(np.bool_), starts.shape)
        except ValueError:
            raise PtxlabError(
                f"active of shape {flags.shape} does not fit addresses of {starts.shape}"
            ) from None
    misaligned &= active_lanes
    if misaligned.any():
        raise PtxlabError(
            f"address {starts[misaligned][0]}: an access of {size} bytes is aligned to {size} bytes"
        )
    kind: AccessKind = "load"
    if store or atomic:
        kind = "atomic" if atomic else "store"
    return serve(starts, size, kind, active_lanes)


def serve(
    starts: NDArray[np.int64], size: int, kind: AccessKind, active_lanes: NDArray[np.bool_]
) -> Conflicts:
    """Like `conflicts`, for addresses [..., 32] and active lanes that are already checked."""
    lane = np.arange(_LANES)
    groups = np.broadcast_to(lane // min(128 // size, _LANES), starts.shape)
    if size > _BANK_BYTES and kind == "load":
        groups = np.where(_may_merge(starts, active_lanes), lane // (256 // size), groups)
    return Conflicts(_words(starts, size, active_lanes), groups, atomic=kind == "atomic")


def transfer_conflicts(form: Transfer, addresses: ArrayLike) -> Conflicts:
    """Bank conflicts of ldmatrix or stmatrix for these row addresses, [..., 32].

    >>> from ptxlab.isa.parse import parse
    >>> ldmatrix = parse("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8")
    >>> print(transfer_conflicts(ldmatrix, ldmatrix.addresses(stride=16)))
    2 wavefronts, no conflicts. Assumed: no GPU that has the instruction was measured.
    """
    evidence: Literal["measured", "assumed"] = "measured" if form.supports(_MEASURED_ON) else "assumed"
    return replace(row_conflicts(addresses, len(form.address_lanes), form.row_bytes), evidence=evidence)


def row_conflicts(addresses: ArrayLike, lanes: int, row_bytes: int = 16) -> Conflicts:
    """Bank conflicts of ldmatrix or stmatrix, whose first `lanes` lanes supply the addresses of rows.

    128 bytes of rows are served at a time: one matrix of 8 rows of 16 bytes, or two matrices of `.s8.s4`.
    """
    starts = _as_addresses(addresses)[..., :lanes]
    misaligned = starts % row_bytes != 0
    if misaligned.any():
        raise PtxlabError(f"address {starts[misaligned][0]}: rows begin at multiples of {row_bytes} bytes")
    groups = np.broadcast_to(np.arange(lanes) // (128 // row_bytes), starts.shape)
    return Conflicts(_words(starts, row_bytes, np.ones(starts.shape, dtype=np.bool_)), groups)


def _as_addresses(addresses: ArrayLike) -> NDArray[np.int64]:
    if isinstance(addresses, str):
        layout = SharedLayout.read(addresses)
        if layout.layout.size != _LANES:
            raise PtxlabError(
                f"layout {quoted(addresses)}: it has {layout.layout.size} indices, and a warp {_LANES} lanes;"
                " for a matrix, memory.SharedLayout.read(layout, bits=16).address(row, column) gives bytes"
            )
        addresses = layout.address(np.arange(_LANES))
    starts = as_integers(addresses, "addresses")
    if starts.shape[-1:] != (_LANES,):
        raise PtxlabError(
            f"addresses of shape {starts.shape}: a warp has {_LANES} lanes, so it takes [..., {_LANES}]"
        )
    outside = (starts < 0) | (starts >= 1 << 18)
    if outside.any():
        raise PtxlabError(
            f"address {starts[outside][0]}: shared-memory addresses go from 0 to {(1 << 18) - 1}"
        )
    check_room(4 * math.prod(starts.shape), "addresses")
    return starts.astype(np.int64)


def _words(starts: NDArray[np.int64], size: int, active_lanes: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The words that each lane touches, [..., lanes, words]."""
    words = starts[..., None] // _BANK_BYTES + np.arange(max(size // _BANK_BYTES, 1))
    return np.where(active_lanes[..., None], words, _INACTIVE)


def _may_merge(starts: NDArray[np.int64], active_lanes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether twice as many lanes are served at a time, [..., 1], for each whole warp."""
    merged = np.zeros((*starts.shape[:-1], 1), dtype=np.bool_)
    for step in (1, 2):
        partner = np.arange(_LANES) ^ step
        same = (starts == starts[..., partner]) | ~active_lanes | ~active_lanes[..., partner]
        merged |= same.all(axis=-1, keepdims=True)
    return merged
