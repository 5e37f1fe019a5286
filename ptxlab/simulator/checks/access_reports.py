"""What is wrong with an access to memory, in words: races, missing waits and fences, unwritten bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..hazard import Barrier, HazardLog, Violation, lanes_text, line_name, line_text
from ..ptx.syntax import PtxInstruction
from .asynchronous_work import AsynchronousWork
from .clocks import Clocks
from .clusters import ClusterOrder
from .doubtful_values import Account, DoubtfulValues
from .module_plans import LoadUses, ModulePlans
from .opcode_traits import traits_of
from .shadow_memory import ID, PENDING, TIME, TIME_SHIFT, ShadowTouch
from .vector_clocks import Warpgroup

#: Hazards of loads: reported only when the loaded value is used.
_OF_VALUES = {
    "race",
    "uninitialised memory",
    "narrow scope",
    "flag without acquire",
    "written constants",
    "warp-synchronous code",
}
_LOADS = {"ld", "ldu", "ldmatrix", "wgmma"}
MAX_OTHERS = 16  # instructions that one access is reported against
#: What another access did, in the words of a sentence.
OtherVerb = Literal["wrote", "reads"]


class Remedy(NamedTuple):
    """What would be right, in words, and the barrier that it asks for."""

    text: str
    barrier: Barrier = ""


_WIDER = Remedy("use the scope .cluster or .gpu instead of .cta, which is for threads of one block")
_OF_THE_KIND = Remedy("")
_ATOMIC = Remedy("use an atomic operation")
_ORDER_BLOCKS = Remedy(
    "use an atomic operation, give each block bytes of its own, launch two kernels, or publish it with a "
    "fence followed by a flag"
)


class Conflict(NamedTuple):
    """Entries that an instruction accessed before, and that does not happen before the current access."""

    touch: ShadowTouch
    before: NDArray[Any]  # the stamps that all entries of the access have
    which: NDArray[np.intp]  # the entries
    other: PtxInstruction
    other_verb: OtherVerb  # what that did

    @property
    def stamp(self) -> int:
        """The stamp of the first entry."""
        return int(self.before[self.which[0]])

    @property
    def time(self) -> int:
        """When the first entry was accessed before."""
        return self.stamp >> TIME_SHIFT & TIME

    @property
    def thread(self) -> int:
        """The thread that accesses the first entry now."""
        return int(self.touch.threads[self.which[0]])

    @property
    def partner(self) -> int:
        """The thread that accessed it before; that of an earlier batch is negative."""
        return (self.stamp & ID) - self.touch.first_thread

    @property
    def first_pair(self) -> NDArray[np.intp]:
        """Those entries that the two warps of the first one access, too."""
        same = self.before[self.which] >> 5 == self.stamp >> 5
        same &= self.touch.threads[self.which] >> 5 == self.thread >> 5
        return np.asarray(self.which[same])


class UnusedReads(NamedTuple):
    """Loads of some threads whose values have not been used so far."""

    uses: LoadUses
    threads: NDArray[np.int64]


@dataclass(eq=False)
class AccessReports:
    """Adds hazards of accesses to a report."""

    log: HazardLog
    values: DoubtfulValues
    plans: ModulePlans
    clocks: Clocks
    work: AsynchronousWork
    clusters: ClusterOrder

    def race(self, conflict: Conflict, unused: UnusedReads | None = None) -> None:
        """Two threads touch the same bytes, and no barrier orders them; unused reads count if used later."""
        touch, violation = conflict.touch, self._race(conflict)
        readers = touch.threads_of(conflict.before)

        def account(threads: NDArray[Any]) -> Violation:
            ours = self._entries_of(touch.threads if unused is None else readers, conflict.which, threads)
            return _named_once(self._race(conflict._replace(which=ours)))

        if unused is None:
            self._add(touch, violation, account)
        else:
            self.values.doubt_unused(unused.uses, unused.threads, violation, account)

    def unacquired(self, conflict: Conflict, is_stale: bool) -> None:
        """A flag tells that the partner was here before, and it was read without acquiring that.

        A load may get what its SM holds from before if `is_stale`; otherwise it is only formally due.
        """
        touch = conflict.touch

        def account(threads: NDArray[Any]) -> Violation:
            ours = self._entries_of(touch.threads, conflict.which, threads)
            return _named_once(self._unacquired(conflict._replace(which=ours), is_stale))

        self._add(touch, self._unacquired(conflict, is_stale), account)

    def _unacquired(self, conflict: Conflict, is_stale: bool) -> Violation:
        touch, warp, lanes = conflict.touch, conflict.thread >> 5, self.clocks.batch.block_lanes
        in_one_block = conflict.thread // lanes == conflict.partner // lanes
        scopes = (self.clocks.flags.in_block, self.clocks.flags.everywhere)
        read = [
            flags.was_told[warp] or flags.read_flag[warp]
            for flags in (scopes if in_one_block else scopes[1:])
        ]
        time = int(max(read))
        flag = self.clocks.time.instruction_at(time)
        span = self._span(touch, conflict.first_pair)
        partner = f"warp {conflict.partner % lanes // 32}"
        if not in_one_block:
            partner = f"block {self._block_name(conflict.partner // lanes)}"
        action = _action(conflict, partner, conflict.other_verb)
        reading = "the flag" if flag is None else f"the flag in {line_text(flag)}"
        cause = "no fence comes after the read of the flag"
        remedy = (
            f"put {'__threadfence_block()' if in_one_block else '__threadfence()'} after the read of the flag"
        )
        if flag is not None:
            remedy += f" in {line_name(flag)}, or read it with .acquire"
        narrow = int(self.clocks.flags.in_block.fenced[warp])
        fence = self.clocks.time.instruction_at(narrow) if narrow > time and not in_one_block else None
        if fence is not None:
            cause = f"the fence in {line_text(fence)}, after the read of the flag, is for one block"
            remedy = f"use __threadfence() in {line_name(fence)}"
        what = (
            f"{{who}} {action}, {self._place(touch, span)}; that happened before {reading} was raised, "
            f"but nothing acquires it: {cause}"
        )
        kind = "race" if is_stale else "flag without acquire"
        return self._violation(kind, touch, conflict.which, span, what, Remedy(remedy), conflict.other)

    def _race(self, conflict: Conflict) -> Violation:
        """A race in words; its bytes are those of the first two warps."""
        touch, lanes = conflict.touch, self.clocks.batch.block_lanes
        span = self._span(touch, conflict.first_pair)
        place, kind = self._place(touch, span), "race"
        if conflict.thread // lanes != conflict.partner // lanes:
            kind, what, remedy = self._race_between_blocks(conflict, place)
        elif conflict.thread >> 5 == conflict.partner >> 5:
            what, remedy = self._race_within_warp(conflict, place)
        else:
            what, remedy = self._race_between_warps(conflict, place)
        return self._violation(kind, touch, conflict.which, span, what, remedy, conflict.other)

    def _race_between_blocks(self, conflict: Conflict, place: str) -> tuple[str, str, Remedy]:
        """The kind of hazard, the sentence and the remedy."""
        access, lanes = conflict.touch.access, self.clocks.batch.block_lanes
        block, partner_block = conflict.thread // lanes, conflict.partner // lanes
        arrival = None
        if conflict.other_verb == "wrote" or access.space == "global":
            arrival = self.clusters.blame_unscoped_arrival(block, partner_block)
        relaxed = self.clusters.relaxed_arrival(partner_block, after=conflict.time)
        kind, cause = "race", "nothing orders them"
        if arrival is not None:
            kind, cause = "narrow scope", f"{line_text(arrival)} arrives with scope .cta"
            remedy = Remedy(f"state .release.cluster in the mbarrier.arrive of {line_name(arrival)}")
        elif relaxed is not None:
            cause = f"{line_text(relaxed)} arrives with .relaxed"
            remedy = Remedy(f"state .release instead of .relaxed in {line_name(relaxed)}")
        elif traits_of(access.instruction.opcode).cta_scope or self._was_narrow(conflict):
            remedy = _WIDER
        elif access.space == "shared":
            remedy = Remedy(f"put a barrier of the cluster {_between(conflict)}")
        else:
            remedy = self._flag_remedy(conflict) or self._update_remedy(conflict) or _ORDER_BLOCKS
        first, second = (self._block_name(number) for number in sorted([partner_block, block]))
        action = _action(conflict, f"block {self._block_name(partner_block)}", conflict.other_verb)
        return kind, f"blocks {first} and {second} both touch {place} and {cause}: {{who}} {action}", remedy

    def _race_within_warp(self, conflict: Conflict, place: str) -> tuple[str, Remedy]:
        """The sentence and the remedy."""
        lanes = self.clocks.batch.block_lanes
        numbers = np.unique(conflict.before[conflict.first_pair] & ID) % 32
        verb: str = conflict.other_verb
        if verb == "reads" and len(numbers) > 1:
            verb = "read"
        warp, block = conflict.thread % lanes // 32, self._block_name(conflict.thread // lanes)
        action = _action(conflict, lanes_text(numbers.tolist()), verb)
        what = (
            f"lanes of warp {warp} of block {block} touch {place} without a barrier between them: "
            f"{{lanes}} {action}"
        )
        remedy = self._flag_remedy(conflict) or self._update_remedy(conflict)
        if remedy is not None:
            return what, remedy
        threads = conflict.touch.access.threads
        first = conflict.thread >> 5 << 5
        alive = int(self.clocks.batch.valid[first : first + 32].sum())
        text = f"put __syncwarp() {_between(conflict)}"
        if (threads >> 5 == conflict.thread >> 5).sum() < alive and self._share_branch(conflict):
            text += ", with the mask of the lanes that come there"
        return what, Remedy(text, "warp")

    def _race_between_warps(self, conflict: Conflict, place: str) -> tuple[str, Remedy]:
        """The sentence and the remedy."""
        lanes = self.clocks.batch.block_lanes
        warp, partner = (thread % lanes // 32 for thread in (conflict.thread, conflict.partner))
        low, high = sorted([warp, partner])
        block = self._block_name(conflict.thread // lanes)
        action = _action(conflict, f"warp {partner}", conflict.other_verb)
        what = (
            f"warps {low} and {high} of block {block} both touch {place} "
            f"without a barrier between them: {{lanes}} {action}"
        )
        remedy = self._flag_remedy(conflict) or self._update_remedy(conflict)
        if remedy is not None:
            return what, remedy
        first = conflict.thread // lanes * lanes
        here = (conflict.touch.access.threads // lanes == conflict.thread // lanes).sum()
        text = f"put __syncthreads() {_between(conflict)}"
        if here < self.clocks.batch.valid[first : first + lanes].sum() and self._share_branch(conflict):
            text += ", where all threads of the block come"
        return what, Remedy(text, "block")

    def _share_branch(self, conflict: Conflict) -> bool:
        """Whether both accesses are in one `if`, where a barrier may not stand."""
        return self.plans.share_branch(conflict.other, conflict.touch.access.instruction)

    def _update_remedy(self, conflict: Conflict) -> Remedy | None:
        """What threads need that load a value, change it and put it back in one line."""
        other, instruction = conflict.other, conflict.touch.access.instruction
        in_one_line = other.has_line and other.source_line == instruction.source_line
        return _ATOMIC if in_one_line and self.plans.are_update(other, instruction) else None

    def _was_narrow(self, conflict: Conflict) -> bool:
        """Whether both are strong, and the earlier one for the threads of one block only."""
        other = traits_of(conflict.other.opcode)
        return conflict.touch.strong and other.strong and other.cta_scope

    def _flag_remedy(self, conflict: Conflict) -> Remedy | None:
        """Where a fence or a barrier is missing, if there is a lock or a flag."""
        clocks, when, partner = self.clocks, conflict.time, conflict.partner >> 5
        if conflict.other_verb != "wrote" or partner < 0:
            return None
        lanes = clocks.batch.block_lanes
        in_one_block = conflict.thread // lanes == conflict.partner // lanes
        flags, reader = (
            clocks.flags.in_block if in_one_block else clocks.flags.everywhere,
            conflict.thread >> 5,
        )
        wrote, read = flags.wrote_flag[partner] > when, flags.read_flag[reader] > when
        flag = clocks.time.instruction_at(int(flags.read_flag[reader]))
        # between blocks any atomic operation may be one; in a block they mostly count something
        is_lock = flag is not None and (flag.parts[0] == "ld" or "cas" in flag.parts or "exch" in flag.parts)
        if wrote and read and flags.fenced[partner] < when and (is_lock or not in_one_block):
            narrow = clocks.time.instruction_at(int(clocks.flags.in_block.fenced[partner]))
            if not in_one_block and clocks.flags.in_block.fenced[partner] > when and narrow is not None:
                return Remedy(f"use __threadfence() in {line_name(narrow)}: the fence there is for one block")
            place = f"between {line_name(conflict.other)} and the lock or flag after it"
            return Remedy(f"put __threadfence() {place}")
        if in_one_block or not flags.any_published:
            return None
        block, warp = divmod(partner, lanes // 32)
        published = flags.published.reshape(-1, lanes // 32)[block]
        if published[warp] < when <= published.max():
            place = f"between {line_name(conflict.other)} and the flag that announces it"
            return Remedy(f"put __syncthreads() {place}", "block")
        return None

    def volatile(self, conflict: Conflict, is_update: bool) -> None:
        """Threads pass values through volatile memory, and nothing orders them."""
        touch, lanes = conflict.touch, self.clocks.batch.block_lanes
        within_warp = conflict.thread >> 5 == conflict.partner >> 5
        kind = "warp-synchronous code" if within_warp and not is_update else "race"

        def account(threads: NDArray[Any]) -> Violation:
            ours = conflict._replace(which=self._entries_of(touch.threads, conflict.which, threads))
            span = self._span(touch, ours.first_pair)
            partner = (
                f"lane {conflict.partner % 32}" if within_warp else f"warp {conflict.partner % lanes // 32}"
            )
            if conflict.thread // lanes != conflict.partner // lanes:
                partner = f"block {self._block_name(conflict.partner // lanes)}"
            what = (
                f"{{who}} {_action(ours, partner, conflict.other_verb)}, {self._place(touch, span)}, "
                "and nothing orders them: volatile alone does not"
            )
            remedy = _ATOMIC
            if is_update:
                what += "; updates get lost"
            elif within_warp:
                remedy = Remedy(f"put __syncwarp() {_between(conflict)}", "warp")
            elif conflict.thread // lanes == conflict.partner // lanes:
                remedy = Remedy(f"put __syncthreads() {_between(conflict)}", "block")
            else:
                remedy = self._flag_remedy(conflict) or _ORDER_BLOCKS
            return _named_once(self._violation(kind, touch, ours.which, span, what, remedy, conflict.other))

        threads = touch.threads[conflict.which]
        self._add(touch, replace(account(threads), threads=threads), account)

    def unsynchronised_rows_of_a(self, conflict: Conflict) -> None:
        """Warps wrote rows of A that they alone multiply, and no barrier of the warpgroup came after."""
        touch, other = conflict.touch, conflict.other
        span = self._span(touch, conflict.first_pair)
        warp = conflict.partner % self.clocks.batch.block_lanes // 32
        self.log.add(self.clocks.batch, Violation(
            "own rows of A", touch.access.instruction, touch.threads[conflict.which],
            f"{{who}}: wgmma.mma_async reads {self._place(touch, span)}, rows of A that warp {warp} wrote in "
            f"{line_text(other)} and multiplies itself, without a barrier of the warpgroup between",
            remedy=f"put __syncthreads(), or a barrier of the 128 threads, after {line_name(other)}",
            other=other, space="shared", addresses=span, barrier="block",
        ))  # fmt: skip

    def missing_wait(self, conflict: Conflict) -> None:
        """The bytes belong to an asynchronous instruction that is not known to be complete."""
        touch, other = conflict.touch, conflict.other
        span = self._span(touch, conflict.first_pair)
        name = _short_name(other)
        doing = "writing" if conflict.other_verb == "wrote" else "reading"
        place = self._place(touch, span)
        what = f"{{who}} {touch.verb} {place}, which {name} in {line_text(other)} may still be {doing}"
        remedy = self._copy_remedy(conflict) if conflict.stamp & PENDING else self._work_remedy(conflict)
        self._add(touch, self._violation("missing wait", touch, conflict.which, span, what, remedy, other))

    def _copy_remedy(self, conflict: Conflict) -> Remedy:
        """How threads wait for a copy that belongs to a group of its thread."""
        threads = conflict.touch.threads[conflict.which]
        group = traits_of(conflict.other.opcode).group
        text = f"let the thread that copies execute {group}.wait_group before it"
        if not self.work.is_committed(group):
            text = f"end the group with {group}.commit_group, and wait with {group}.wait_group before it"
        if not conflict.touch.in_shared:
            text += " (.read is for its source alone)"
        if conflict.partner // 32 != conflict.thread // 32 or len(np.unique(threads)) > 1:
            return Remedy(f"{text}, then __syncthreads()", "block")
        return Remedy(text)

    def _work_remedy(self, conflict: Conflict) -> Remedy:
        """How threads wait for wgmma, or for a copy that completes on an mbarrier."""
        column, owner, phase = conflict.stamp & ID, None, 0
        if column != ID:  # its mbarrier is known
            owner = self.clocks.work.owner_of(column)
            phase = self.clocks.mbarriers.phase_time(column, conflict.thread // self.clocks.batch.block_lanes)
        if isinstance(owner, Warpgroup):
            return Remedy("execute wgmma.wait_group, and synchronise with that warpgroup, before it")
        at = "" if owner is None else f" ({self.log.shared_bytes(owner, owner + 7)})"
        if 0 < phase < conflict.time:
            return Remedy(
                f"the last phase of its mbarrier{at} was complete without it: announce its bytes with "
                "mbarrier.arrive.expect_tx, and wait for that phase"
            )
        return Remedy(f"wait for its mbarrier{at} with mbarrier.try_wait first")

    def unfinished_copies(self) -> None:
        """Threads end while their copies may still read shared memory."""
        for copies in self.work.copies:
            if copies.reads:
                self.log.add(self.clocks.batch, Violation(
                    "missing wait", self.work.instruction_of(copies), np.unique(copies.threads),
                    "{who} end{s} while the copy may still be reading shared memory",
                    remedy="execute cp.async.bulk.commit_group and cp.async.bulk.wait_group.read before",
                    space="shared",
                ))  # fmt: skip

    def conflicting_writes(self, touch: ShadowTouch, winner: NDArray[Any], which: NDArray[np.intp]) -> None:
        """Threads write different values to the same bytes in one instruction; the winner's stay."""
        lanes = self.clocks.batch.block_lanes
        first = int(which[0])
        other = int(touch.threads[winner[first]])
        span = self._span(touch, which[:1])
        names = f"block {self._block_name(other // lanes)}, warp {other % lanes // 32}, lane {other % 32}"
        what = f"{{who}} and {names} write different values to {self._place(touch, span)} at once"
        remedy = Remedy("let one thread write, give each its own bytes, or use an atomic operation")
        if traits_of(touch.access.instruction.opcode).cta_scope:
            what = f"{{who}} and {names} update {self._place(touch, span)} at once with scope .cta"
            remedy = _WIDER
        elif touch.strong:
            what = f"{{who}} and {names} update {self._place(touch, span)} at once; updates get lost"
            remedy = _ATOMIC
        instruction = touch.access.instruction
        self._add(touch, self._violation("race", touch, which, span, what, remedy, instruction))

    def unwritten(self, touch: ShadowTouch, which: NDArray[np.intp]) -> None:
        """Bytes of shared memory are read that nobody wrote."""

        def account(threads: NDArray[Any]) -> Violation:
            ours = self._entries_of(touch.threads, which, threads)
            span = self._span(touch, ours)
            what = f"{{who}} read{{s}} {self.log.shared_bytes(*span)}, which nobody has written"
            return _named_once(self._violation("uninitialised memory", touch, ours, span, what))

        threads = touch.threads[which]
        self._add(touch, replace(account(threads), threads=threads), account)

    def changed_constants(self, touch: ShadowTouch, which: NDArray[np.intp]) -> None:
        """A load through the cache for constants reads what the launch has written."""
        if not len(which):
            return
        writer = self.clocks.time.instruction_at(
            int(touch.shadow.writer[touch.entries[which[0]]] >> TIME_SHIFT & TIME)
        )

        def account(threads: NDArray[Any]) -> Violation:
            ours = self._entries_of(touch.threads, which, threads)
            span = self._span(touch, ours)
            wrote = "" if writer is None else f", which {line_text(writer)} wrote in the same launch"
            what = f"{{who}} load{{s}} {self._place(touch, span)} by {touch.access.instruction.opcode}{wrote}"
            return _named_once(self._violation("written constants", touch, ours, span, what, other=writer))

        threads = touch.threads[which]
        self._add(touch, replace(account(threads), threads=threads), account)

    def unfenced_store(self, touch: ShadowTouch, which: NDArray[np.intp], other: PtxInstruction) -> None:
        """An asynchronous access to bytes that an ordinary store wrote, without a proxy fence."""
        span = self._span(touch, which)
        name = _short_name(touch.access.instruction)
        verb = "overwrites" if touch.access.kind == "write" else "reads"
        what = (
            f"{{who}}: {name} {verb} {self.log.shared_bytes(*span)}, which {line_text(other)} wrote "
            f"through the generic proxy ({other.opcode})"
        )
        remedy = Remedy(f"execute fence.proxy.async after {line_name(other)}, before the barrier")
        kind = "missing proxy fence"
        if name in ("wgmma.mma_async", "tcgen05.mma") and other.parts[:2] == ("cp", "async"):
            kind = "cp.async without proxy fence"
            text = f"execute fence.proxy.async after the wait for {line_name(other)}, before the barrier"
            remedy = Remedy(text)
        if other.parts[0] == "mbarrier":
            kind = "mbarrier.init without fence"
        self._add(touch, self._violation(kind, touch, which, span, what, remedy, other))

    def overtaken_load(self, touch: ShadowTouch, which: NDArray[np.intp], other: PtxInstruction) -> None:
        """A bulk copy over what a load, perhaps still under way, reads without a proxy fence after it."""
        span = self._span(touch, which)
        what = (
            f"{{who}}: {_short_name(touch.access.instruction)} overwrites {self._place(touch, span)}, which "
            f"{line_text(other)} reads through the generic proxy ({other.opcode}); the load may be under way"
        )
        remedy = Remedy(f"execute fence.proxy.async after {line_name(other)}, before the barrier")
        self._add(touch, self._violation("missing proxy fence", touch, which, span, what, remedy, other))

    def unfenced_barrier(
        self, touch: ShadowTouch, threads: NDArray[Any], place: int, other: PtxInstruction
    ) -> None:
        """Something asynchronous arrives at an mbarrier that was initialised without a fence."""
        instruction = touch.access.instruction
        where = self.log.shared_bytes(place, place + 7)
        self.log.add(self.clocks.batch, Violation(
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
        remedy: Remedy = _OF_THE_KIND,
        other: PtxInstruction | None = None,
    ) -> Violation:
        """What is wrong with some entries of an access."""
        access, threads = touch.access, touch.threads[which]
        return Violation(
            kind, access.instruction, threads, what, remedy.text, other, access.space, span, remedy.barrier
        )

    def _add(self, touch: ShadowTouch, violation: Violation, account: Account | None = None) -> None:
        """Report a violation, that of a loaded value once it is used."""
        access = touch.access
        if violation.kind in _OF_VALUES and access.kind == "read" and access.instruction.parts[0] in _LOADS:
            self.values.doubt(violation, account)
        else:
            self.log.add(self.clocks.batch, violation)

    def _entries_of(
        self, touching: NDArray[Any], which: NDArray[np.intp], threads: NDArray[Any]
    ) -> NDArray[np.intp]:
        """Those of the entries that some threads touch, or others of their blocks; if there are none, all."""
        lanes = self.clocks.batch.block_lanes
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
        if touch.in_shared:
            pitch = touch.shadow.size // self.clocks.batch.count
            start = first // pitch * pitch
            return first - start, last - start
        return first, last

    def _place(self, touch: ShadowTouch, span: tuple[int, int]) -> str:
        first, last = span
        if touch.in_shared:
            return self.log.shared_bytes(first, last)
        return f"bytes {first}..{last} of {touch.buffer_access.title}"

    def _block_name(self, block: int) -> str:
        """A block, counted in the batch; those of earlier batches are negative."""
        grid = self.clocks.batch.grid
        position = block + self.clocks.first_thread // self.clocks.batch.block_lanes
        return str(grid.block_of(int(grid.block_numbers(position, position + 1)[0])))


def _named_once(violation: Violation) -> Violation:
    """With each of its threads once, in the order in which they come."""
    threads = violation.threads
    return replace(violation, threads=np.array(list(dict.fromkeys(threads.tolist())), dtype=threads.dtype))


def _action(conflict: Conflict, partners: str, verb: str) -> str:
    """``reads what warp 1 wrote in line 5``."""
    return f"{conflict.touch.verb} what {partners} {verb} in {line_text(conflict.other)}"


def _between(conflict: Conflict) -> str:
    """Where a barrier is missing."""
    other, instruction = conflict.other, conflict.touch.access.instruction
    if other.source_line == instruction.source_line:
        return f"between one execution of {line_name(other)} and the next"
    start = line_name(other)
    if traits_of(other.opcode).group and conflict.other_verb == "wrote":
        start = f"the wait for {start}"
    return f"between {start} and {line_name(instruction)}"


def _short_name(instruction: PtxInstruction) -> str:
    """``cp.async.bulk``, ``cp.async``, ``wgmma.mma_async``."""
    return ".".join(instruction.parts[: 3 if "bulk" in instruction.parts else 2])
