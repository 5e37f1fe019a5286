"""What is wrong with an access to memory, in words: races, missing waits and fences, unwritten bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..events import Access, Piece
from ..hazard import HazardLog, Violation, lanes_text, line_name, line_text
from ..ptx.syntax import PtxInstruction
from ..threads import Batch
from .clocks import Clocks
from .doubtful import Account, DoubtfulValues
from .opcode_traits import traits_of
from .plans import LoadUses
from .shadow import ID, TIME, TIME_SHIFT, Shadow

#: Hazards of loads: reported only when the loaded value is used.
_OF_VALUES = {"race", "uninitialised memory", "narrow scope"}
_LOADS = {"ld", "ldu", "ldmatrix", "wgmma"}
_WIDER = "use the scope .cluster or .gpu instead of .cta, which is for threads of one block"
_ORDER_BLOCKS = (
    "use an atomic operation, give each block bytes of its own, launch two kernels, or publish it with a "
    "fence followed by a flag"
)
#: What another access did, in the words of a sentence.
OtherVerb = Literal["wrote", "reads"]


class ShadowTouch(NamedTuple):
    """An access to one piece of memory: the entries of the shadow that it touches, and which thread does."""

    access: Access
    piece: Piece
    shadow: Shadow
    entries: NDArray[Any]
    threads: NDArray[Any]  # of each entry
    per_thread: int  # entries per thread

    @property
    def content(self) -> NDArray[np.uint8] | None:
        """The bytes that a store writes, [entries, bytes of an entry]; None where they are not known."""
        if not self.access.values:
            return None
        chosen = self.piece.chosen
        values = [value if chosen is None else value[chosen] for value in self.access.values]
        return np.stack(values, axis=-1).view(np.uint8).reshape(-1, self.grain)

    @property
    def grain(self) -> int:
        """Bytes of an entry when the access came: a narrower one later makes those of the shadow narrower."""
        return self.access.width // self.per_thread

    def places(self, which: NDArray[np.intp]) -> NDArray[np.int64]:
        """The first byte of each of some entries."""
        return np.asarray(self.entries[which], dtype=np.int64) * self.grain

    def span(self, which: NDArray[np.intp]) -> tuple[int, int]:
        """First and last byte of the first run of some entries without gaps."""
        first = np.sort(self.places(which))
        gaps = np.flatnonzero(np.diff(first) > self.grain)
        last = first[gaps[0]] if len(gaps) else first[-1]
        return int(first[0]), int(last) + self.grain - 1

    @property
    def owners(self) -> NDArray[np.int64]:
        """The owner of each entry; only for an access that has owners."""
        owners, chosen = self.access.owners, self.piece.chosen
        assert owners is not None
        return np.repeat(owners if chosen is None else owners[chosen], self.per_thread)

    @property
    def verb(self) -> str:
        """What it does to bytes that others have touched."""
        return {"read": "read{s}", "write": "overwrite{s}"}.get(self.access.kind, "update{s}")


class Unordered(NamedTuple):
    """Entries of an access that nothing orders behind what another instruction did to them before."""

    touch: ShadowTouch
    before: NDArray[Any]  # the stamps that all entries of the access have
    which: NDArray[np.intp]  # the entries
    other: PtxInstruction
    other_verb: OtherVerb  # what that did
    everywhere: bool = False  # stamps count threads of the whole launch

    @property
    def stamp(self) -> int:
        """The stamp of the first entry."""
        return int(self.before[self.which[0]])

    @property
    def first_pair(self) -> NDArray[np.intp]:
        """Those entries that the two warps of the first one touch, too."""
        thread = int(self.touch.threads[self.which[0]])
        same = self.before[self.which] >> 5 == self.stamp >> 5
        same &= self.touch.threads[self.which] >> 5 == thread >> 5
        return np.asarray(self.which[same])


class IdleReads(NamedTuple):
    """Loads of some threads whose values have not been used so far."""

    uses: LoadUses
    threads: NDArray[np.int64]


class AccessReports:
    """Adds hazards of accesses to a report; `launched` threads ran in the batches before this one."""

    def __init__(
        self, report: HazardLog, values: DoubtfulValues, batch: Batch, clocks: Clocks, launched: int
    ) -> None:
        self._report = report
        self._clocks = clocks
        self._values = values
        self._batch = batch
        self._launched = launched
        #: Arrivals without the scope .cluster, by the block of the mbarrier and the one that arrives, and
        #: those that something was reported of.
        self.unscoped_arrivals: dict[tuple[int, int], PtxInstruction] = {}
        self.reported_arrivals: set[int] = set()
        #: Arrivals with .relaxed at the barrier of the cluster, by block, and when: the last of a row of one.
        self._relaxed: dict[int, list[tuple[PtxInstruction, int]]] = {}

    def relaxed_arrival(self, block: int, instruction: PtxInstruction, time: int) -> None:
        """Threads of a block arrive at the barrier of their cluster with .relaxed."""
        arrivals = self._relaxed.setdefault(block, [])
        if arrivals and arrivals[-1][0] is instruction:
            arrivals.pop()
        arrivals.append((instruction, time))

    def race(self, unordered: Unordered, idle: IdleReads | None = None) -> None:
        """Two threads touch the same bytes, and no barrier orders them; idle reads count once they matter."""
        touch, violation = unordered.touch, self._race(unordered)
        readers = (unordered.before & ID) - (self._launched if unordered.everywhere else 0)

        def account(threads: NDArray[Any]) -> Violation:
            ours = self._entries_of(touch.threads if idle is None else readers, unordered.which, threads)
            return _named_once(self._race(unordered._replace(which=ours)))

        if idle is None:
            self._add(touch, violation, account)
        else:
            self._values.doubt_idle(idle.uses, idle.threads, violation, account)

    def _race(self, unordered: Unordered) -> Violation:
        """A race in words; its bytes are those of the first two warps."""
        touch, lanes = unordered.touch, self._batch.block_lanes
        thread = int(touch.threads[unordered.which[0]])
        partner = (unordered.stamp & ID) - (self._launched if unordered.everywhere else 0)
        span = self._span(touch, unordered.first_pair)
        place, kind = self._place(touch, span), "race"
        if thread // lanes != partner // lanes:
            kind, what, remedy = self._race_between_blocks(unordered, thread, partner, place)
        elif thread >> 5 == partner >> 5:
            what, remedy = self._race_within_warp(unordered, thread, place)
        else:
            what, remedy = self._race_between_warps(unordered, thread, partner, place)
        return self._violation(kind, touch, unordered.which, span, what, remedy, unordered.other)

    def _race_between_blocks(
        self, unordered: Unordered, thread: int, partner: int, place: str
    ) -> tuple[str, str, str]:
        """The kind of hazard, the sentence and the remedy."""
        access, lanes = unordered.touch.access, self._batch.block_lanes
        block, partner_block = thread // lanes, partner // lanes
        arrival = self.unscoped_arrivals.get((block, partner_block))
        if unordered.other_verb != "wrote" and access.space != "global":
            arrival = None
        after = unordered.stamp >> TIME_SHIFT & TIME
        relaxed = next((each for each, time in self._relaxed.get(partner_block, ()) if time > after), None)
        kind, cause = "race", "nothing orders them"
        if arrival is not None:
            self.reported_arrivals.add(id(arrival))
            kind, cause = "narrow scope", f"{line_text(arrival)} arrives with scope .cta"
            remedy = f"state .release.cluster in the mbarrier.arrive of {line_name(arrival)}"
        elif relaxed is not None:
            cause = f"{line_text(relaxed)} arrives with .relaxed"
            remedy = f"state .release instead of .relaxed in {line_name(relaxed)}"
        elif traits_of(access.instruction.opcode).cta_scope:
            remedy = _WIDER
        elif access.space == "shared":
            remedy = f"put a barrier of the cluster {_between(unordered)}"
        else:
            remedy = self._flag_remedy(unordered, thread, partner) or _ORDER_BLOCKS
        first, second = (self._block_name(each) for each in sorted([partner_block, block]))
        action = _action(unordered, f"block {self._block_name(partner_block)}", unordered.other_verb)
        return kind, f"blocks {first} and {second} both touch {place} and {cause}: {{who}} {action}", remedy

    def _race_within_warp(self, unordered: Unordered, thread: int, place: str) -> tuple[str, str]:
        """The sentence and the remedy."""
        lanes = self._batch.block_lanes
        numbers = np.unique(unordered.before[unordered.first_pair] & ID) % 32
        verb: str = unordered.other_verb
        if verb == "reads" and len(numbers) > 1:
            verb = "read"
        warp, block = thread % lanes // 32, self._block_name(thread // lanes)
        action = _action(unordered, lanes_text(numbers.tolist()), verb)
        what = (
            f"lanes of warp {warp} of block {block} touch {place} without a barrier between them: "
            f"{{lanes}} {action}"
        )
        return what, f"put __syncwarp() {_between(unordered)}"

    def _race_between_warps(
        self, unordered: Unordered, thread: int, partner: int, place: str
    ) -> tuple[str, str]:
        """The sentence and the remedy."""
        lanes = self._batch.block_lanes
        low, high = sorted([partner % lanes // 32, thread % lanes // 32])
        action = _action(unordered, f"warp {partner % lanes // 32}", unordered.other_verb)
        what = (
            f"warps {low} and {high} of block {self._block_name(thread // lanes)} both touch {place} "
            f"without a barrier between them: {{lanes}} {action}"
        )
        remedy = f"put __syncthreads() {_between(unordered)}"
        if self._lacks_fence(unordered, thread, partner):
            fence = f"__threadfence() between {line_name(unordered.other)} and the lock or flag after it"
            return what, f"{remedy}, or {fence}"
        return what, remedy

    def _lacks_fence(self, unordered: Unordered, thread: int, partner: int) -> bool:
        """Whether a lock or a flag came after the partner's write, and we looked at one, but no fence."""
        flags, when = self._clocks.everywhere, unordered.stamp >> TIME_SHIFT & TIME
        if unordered.other_verb != "wrote" or partner < 0 or unordered.touch.access.space != "global":
            return False
        wrote, read = flags.wrote_flag[partner >> 5], flags.read_flag[thread >> 5]
        return bool(wrote > when and read > when and flags.fenced[partner >> 5] < when)

    def _flag_remedy(self, unordered: Unordered, thread: int, partner: int) -> str:
        """Where a fence is missing, or a barrier, if a flag tells of the partner's block; or nothing."""
        if self._lacks_fence(unordered, thread, partner):
            return f"put __threadfence() between {line_name(unordered.other)} and the lock or flag after it"
        flags, warps = self._clocks.everywhere, self._batch.block_lanes // 32
        if not flags.told or partner < 0:
            return ""
        published = flags.published.reshape(-1, warps)[(partner >> 5) // warps]
        if published[(partner >> 5) % warps] < unordered.stamp >> TIME_SHIFT & TIME <= published.max():
            return f"put __syncthreads() between {line_name(unordered.other)} and the flag that announces it"
        return ""

    def unsynchronised_rows_of_a(self, unordered: Unordered) -> None:
        """Warps wrote rows of A that they alone multiply, and no barrier of the warpgroup came after."""
        touch, other = unordered.touch, unordered.other
        span = self._span(touch, unordered.first_pair)
        warp = (unordered.stamp & ID) % self._batch.block_lanes // 32
        self._report.add(self._batch, Violation(
            "own rows of A", touch.access.instruction, touch.threads[unordered.which],
            f"{{who}}: wgmma.mma_async reads {self._place(touch, span)}, rows of A that warp {warp} wrote in "
            f"{line_text(other)} and multiplies itself, without a barrier of the warpgroup between",
            remedy=f"put __syncthreads(), or a barrier of the 128 threads, after {line_name(other)}",
            other=other, space="shared", addresses=span,
        ))  # fmt: skip

    def missing_wait(self, unordered: Unordered, remedy: str) -> None:
        """The bytes belong to an asynchronous instruction that is not known to be complete."""
        touch, other = unordered.touch, unordered.other
        span = self._span(touch, unordered.first_pair)
        name = _short_name(other)
        doing = "writing" if unordered.other_verb == "wrote" else "reading"
        place = self._place(touch, span)
        what = f"{{who}} {touch.verb} {place}, which {name} in {line_text(other)} may still be {doing}"
        self._add(touch, self._violation("missing wait", touch, unordered.which, span, what, remedy, other))

    def conflicting_writes(self, touch: ShadowTouch, winner: NDArray[Any], which: NDArray[np.intp]) -> None:
        """Threads write different values to the same bytes in one instruction; the winner's stay."""
        lanes = self._batch.block_lanes
        first = int(which[0])
        other = int(touch.threads[winner[first]])
        span = self._span(touch, which[:1])
        names = f"block {self._block_name(other // lanes)}, warp {other % lanes // 32}, lane {other % 32}"
        what = f"{{who}} and {names} write different values to {self._place(touch, span)} at once"
        remedy = "let one thread write, give each its own bytes, or use an atomic operation"
        if traits_of(touch.access.instruction.opcode).cta_scope:
            what = f"{{who}} and {names} update {self._place(touch, span)} at once with scope .cta"
            remedy = _WIDER
        instruction = touch.access.instruction
        self._add(touch, self._violation("race", touch, which, span, what, remedy, instruction))

    def unwritten(self, touch: ShadowTouch, which: NDArray[np.intp]) -> None:
        """Bytes of shared memory are read that nobody wrote."""

        def account(threads: NDArray[Any]) -> Violation:
            ours = self._entries_of(touch.threads, which, threads)
            span = self._span(touch, ours)
            what = f"{{who}} read{{s}} {self._report.shared_place(*span)}, which nobody has written"
            return _named_once(self._violation("uninitialised memory", touch, ours, span, what))

        threads = touch.threads[which]
        self._add(touch, replace(account(threads), threads=threads), account)

    def unfenced_store(self, touch: ShadowTouch, which: NDArray[np.intp], other: PtxInstruction) -> None:
        """An asynchronous read of bytes that an ordinary store wrote, without a proxy fence."""
        span = self._span(touch, which)
        name = _short_name(touch.access.instruction)
        what = (
            f"{{who}}: {name} reads {self._report.shared_place(*span)}, which {line_text(other)} wrote "
            f"through the generic proxy ({other.opcode})"
        )
        remedy = f"execute fence.proxy.async after {line_name(other)}, before the barrier"
        kind = "missing proxy fence"
        if name in ("wgmma.mma_async", "tcgen05.mma") and other.parts[:2] == ("cp", "async"):
            kind = "cp.async without proxy fence"
            remedy = f"execute fence.proxy.async after the wait for {line_name(other)}, before the barrier"
        self._add(touch, self._violation(kind, touch, which, span, what, remedy, other))

    def overtaken_load(self, touch: ShadowTouch, which: NDArray[np.intp], other: PtxInstruction) -> None:
        """A bulk copy over what a load, perhaps still under way, reads without a proxy fence after it."""
        span = self._span(touch, which)
        what = (
            f"{{who}}: {_short_name(touch.access.instruction)} overwrites {self._place(touch, span)}, which "
            f"{line_text(other)} reads through the generic proxy ({other.opcode}); the load may be under way"
        )
        remedy = f"execute fence.proxy.async after {line_name(other)}, before the barrier"
        self._add(touch, self._violation("missing proxy fence", touch, which, span, what, remedy, other))

    def unfenced_barrier(
        self, touch: ShadowTouch, threads: NDArray[Any], place: int, other: PtxInstruction
    ) -> None:
        """Something asynchronous arrives at an mbarrier that was initialised without a fence."""
        instruction = touch.access.instruction
        where = self._report.shared_place(place, place + 7)
        self._report.add(self._batch, Violation(
            "mbarrier.init without fence", instruction, threads,
            f"{{who}}: {_short_name(instruction)} arrives at the mbarrier in {where}, which "
            f"{line_text(other)} initialised through the generic proxy",
            remedy=f"execute fence.mbarrier_init.release.cluster after {line_name(other)}",
            other=other, space="shared", addresses=(place, place + 7),
        ))  # fmt: skip

    # -- parts of sentences ----------------------------------------------------------------------------------

    def _violation(
        self,
        kind: str,
        touch: ShadowTouch,
        which: NDArray[np.intp],
        span: tuple[int, int],
        what: str,
        remedy: str = "",
        other: PtxInstruction | None = None,
    ) -> Violation:
        """What is wrong with some entries of an access."""
        access = touch.access
        return Violation(
            kind, access.instruction, touch.threads[which], what, remedy, other, access.space, span
        )

    def _add(self, touch: ShadowTouch, violation: Violation, account: Account | None = None) -> None:
        """Report a violation, that of a loaded value once it is used."""
        access = touch.access
        if violation.kind in _OF_VALUES and access.kind == "read" and access.instruction.parts[0] in _LOADS:
            self._values.doubt(violation, account)
        else:
            self._report.add(self._batch, violation)

    def _entries_of(
        self, touching: NDArray[Any], which: NDArray[np.intp], threads: NDArray[Any]
    ) -> NDArray[np.intp]:
        """Those of the entries that some threads touch, or others of their blocks; if there are none, all."""
        lanes = self._batch.block_lanes
        for ours in (
            np.isin(touching[which], threads),
            np.isin(touching[which] // lanes, threads // lanes),
        ):
            if ours.any():
                return np.asarray(which[ours])
        return which

    def _span(self, touch: ShadowTouch, which: NDArray[np.intp]) -> tuple[int, int]:
        """First and last byte of the first run of entries without gaps, in the block or buffer."""
        first, last = touch.span(which)
        if touch.access.space == "shared":
            pitch = touch.shadow.size // self._batch.count
            start = first // pitch * pitch
            return first - start, last - start
        return first, last

    def _place(self, touch: ShadowTouch, span: tuple[int, int]) -> str:
        first, last = span
        if touch.access.space == "shared":
            return self._report.shared_place(first, last)
        return f"bytes {first}..{last} of {touch.piece.title}"

    def _block_name(self, block: int) -> str:
        """A block, counted in the batch; those of earlier batches are negative."""
        grid = self._batch.grid
        position = block + self._launched // self._batch.block_lanes
        return str(grid.block_of(int(grid.block_numbers(position, position + 1)[0])))


def _named_once(violation: Violation) -> Violation:
    """With each of its threads once, in the order in which they come."""
    threads = violation.threads
    return replace(violation, threads=np.array(list(dict.fromkeys(threads.tolist())), dtype=threads.dtype))


def _action(unordered: Unordered, partners: str, verb: str) -> str:
    """``reads what warp 1 wrote in line 5``."""
    return f"{unordered.touch.verb} what {partners} {verb} in {line_text(unordered.other)}"


def _between(unordered: Unordered) -> str:
    """Where a barrier is missing."""
    other, instruction = unordered.other, unordered.touch.access.instruction
    if other.source_line == instruction.source_line:
        return f"between one execution of {line_name(other)} and the next"
    start = line_name(other)
    if traits_of(other.opcode).group and unordered.other_verb == "wrote":
        start = f"the wait for {start}"
    return f"between {start} and {line_name(instruction)}"


def _short_name(instruction: PtxInstruction) -> str:
    """``cp.async.bulk``, ``cp.async``, ``wgmma.mma_async``."""
    return ".".join(instruction.parts[: 3 if "bulk" in instruction.parts else 2])
