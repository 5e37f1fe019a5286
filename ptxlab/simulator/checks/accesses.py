"""Races, missing waits and proxy fences, memory that nobody wrote: found from every access and barrier.

Each is compared with the accesses before it, which the shadow of the memory knows, and then noted there.
Blocks mostly do the same in their shared memory at the same time. As long as they do, and nothing is wrong,
the shadow is that of the first block only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Access, Observer, Piece, Synchronisation
from ..hazard import HazardLog, Violation, lanes_text
from ..memory import RANK_SHIFT, SHARED_START, cluster_places
from ..ptx.syntax import PtxInstruction
from ..threads import Batch
from .access_reports import AccessReports, IdleReads, OtherVerb, ShadowTouch, Unordered
from .asynchronous_work import AsynchronousWork, Copies, distinct
from .clocks import Clocks, Warpgroup
from .doubtful import DoubtfulValues
from .memory_spaces import ClusterPresence, LocalMemory
from .opcode_traits import Traits, traits_of
from .plans import ModulePlans
from .shadow import ATOMIC, FLAGS, ID, LATE, PENDING, TIME, TIME_SHIFT, WORK, Read, Shadow

_MAX_PAIRS = 1 << 22  # of writers and threads that may have read, for which it is asked whether loads matter


class _BlocksDifferError(Exception):
    """What is found in the first block may not be so in others, or is to be reported of all."""


class AccessCheck(Observer):
    """Looks for hazards in accesses to memory."""

    def __init__(
        self,
        report: HazardLog,
        values: DoubtfulValues,
        plans: ModulePlans,
    ) -> None:
        self._report = report
        self._load_uses = plans.load_uses
        self._load_numbers: dict[int, int] = {}  # of loads whose value may not matter, by id
        self._values = values
        self._guesses, self._blind_updates = plans.guesses, plans.blind_updates
        self._time = 0
        self._instructions: list[PtxInstruction | None] = [None]
        self._global: dict[int, Shadow] = {}
        self._launched = 0  # lanes of earlier batches
        #: Up to when blocks of earlier batches have published what they did, in the order of the launch.
        self._published = np.zeros(0, dtype=np.int64)

    def begin(self, batch: Batch) -> None:
        """Nothing is known of new blocks."""
        self._batch = batch
        self._time += 1
        self._instructions.append(None)
        self._clocks = Clocks(batch, self._time, bool(self._published.any()))
        self._reports = AccessReports(self._report, self._values, batch, self._clocks, self._launched)
        self._shared: Shadow | None = None
        self._uniform = batch.count > 1 and batch.grid.cluster_size == 1  # whether `_shared` is of one block
        self._clocks_uniform: bool | None = None  # whether threads know the same in each block, once asked
        self._local = LocalMemory(self._values, batch)
        self._presence = ClusterPresence(self._report, batch, self._clocks, self._time)
        self._work = AsynchronousWork(batch, self._clocks)
        #: By block and address of an mbarrier: other blocks that arrive there, and up to when they vouch for
        #: what they wrote.
        self._remote_arrivals: dict[tuple[int, int], dict[int, int]] = {}
        #: mbarriers at which copies of other blocks arrive, which count as telling everything, and those at
        #: which their threads do: what tcgen05.commit tells of is asynchronous work, as with copies.
        self._remote_completions: set[tuple[int, int]] = set()
        self._remote_threads: set[tuple[int, int]] = set()
        self._unscoped: dict[int, tuple[PtxInstruction, NDArray[Any]]] = {}  # arrivals there without a scope
        #: By block: the last arrival at the barrier of its cluster, and up to when it vouches for its writes.
        self._cluster_arrival, self._cluster_vouched = np.zeros((2, batch.count), dtype=np.int64)
        #: mbarriers that nothing asynchronous has arrived at, by address: who initialised them, and when.
        self._initialised: dict[int, tuple[PtxInstruction, NDArray[np.int64], NDArray[np.int64]]] = {}
        self._fenced_everywhere = np.zeros(batch.size, dtype=np.int64)  # fence.proxy.async for global memory
        #: What each thread read by loads whose value may not matter, by their ids.
        self._read_from: dict[int, _ReadFrom] = {}
        self._set_limit()

    def end(self) -> None:
        """The batch is done; what it did to global memory is kept."""
        if any(copies.shadow is None for copies in self._work.copies):
            self._separate_blocks()
        for copies in self._work.copies:
            instruction = self._instructions[int(copies.stamps[0]) >> TIME_SHIFT & TIME]
            if copies.reads and instruction is not None:
                self._report.add(self._batch, Violation(
                    "missing wait", instruction, np.unique(copies.threads),
                    "{who} end{s} while the copy may still be reading shared memory",
                    remedy="execute cp.async.bulk.commit_group and cp.async.bulk.wait_group.read before",
                    space="shared",
                ))  # fmt: skip
        self._presence.check_ends()
        for instruction, threads in self._unscoped.values():
            if id(instruction) not in self._reports.reported_arrivals:
                self._report_scope(instruction, threads, "arrive{s} at an mbarrier of another block")
        self._launched += self._batch.size
        published = self._clocks.everywhere.published.reshape(self._batch.count, -1).max(axis=1)
        self._published = np.concatenate([self._published, published])

    def _tick(self, instruction: PtxInstruction | None) -> None:
        """An event comes, with a time of its own."""
        self._time += 1
        self._values.time = self._time
        self._instructions.append(instruction)

    def _set_limit(self) -> None:
        known = int(self._clocks.block_time.min())
        if self._batch.grid.cluster_size > 1:
            known = min(known, int(self._clocks.cluster_writes.min()))
        self._limit = known + 1 << TIME_SHIFT

    # -- accesses --------------------------------------------------------------------------------------------

    def accessed(self, access: Access) -> None:
        """Compare an access with those before it, and note it."""
        if access.space in ("const", "param"):
            return
        if access.space == "local":
            is_argument = any(part.startswith("param") for part in access.instruction.parts)
            if not is_argument:
                self._local.check(access)
            return
        self._tick(access.instruction)
        traits = traits_of(access.instruction.opcode)
        strong = traits.strong or access.kind in ("atomic", "mbarrier")
        if strong and access.kind != "mbarrier" and access.proxy != "mbarrier":
            self._clocks_uniform = None
            if traits.releases:
                self._clocks.fence_flags(access.threads, self._time, narrow=traits.cta_scope)
            self._clocks.flag(
                access.threads,
                self._time,
                narrow=traits.cta_scope,
                reads=access.kind != "write" and access.instruction.parts[0] != "red",
                writes=access.kind != "read",
            )
        strong |= id(access.instruction) in self._guesses
        for piece in access.pieces:
            if access.space == "shared":
                if self._batch.grid.cluster_size > 1:
                    self._presence.check(access, piece, self._time)
                if self._shared is None:
                    blocks = self._batch.count if self._uniform else 1
                    self._shared = Shadow(piece.data.size // blocks)
                if self._uniform and not self._in_first_block(access, piece, self._shared, traits, strong):
                    self._separate_blocks()
                if not self._uniform:
                    self._in_shared(access, piece, self._shared, traits, strong)
            else:
                shadow = self._global.get(id(piece.data))
                if shadow is None:
                    shadow = self._global[id(piece.data)] = Shadow(piece.data.size)
                self._in_global(access, piece, shadow, traits, strong)

    def _in_first_block(
        self, access: Access, piece: Piece, shadow: Shadow, traits: Traits, strong: bool
    ) -> bool:
        """As `_in_shared`, if all blocks do the same and nothing is wrong; whether that is so."""
        if "first block" not in piece.notes:
            piece.notes["first block"] = self._first_piece(piece)
        first = piece.notes["first block"]
        if first is None:
            return False
        shadow.entries_of(first, access.width)  # it makes them as narrow as they are to be
        written, updated = shadow.writer, shadow.updater
        if access.kind != "read":
            written, updated = written.copy(), updated.copy()
        try:
            self._in_shared(access, first, shadow, traits, strong)
        except _BlocksDifferError:
            shadow.writer, shadow.updater = written, updated
            return False
        return True

    def _separate_blocks(self) -> None:
        """From now on blocks are looked at one by one: what the first did so far, all of them did."""
        uniform, self._uniform = self._uniform, False
        if not uniform or self._shared is None:
            return
        blocks, lanes, pitch = self._batch.count, self._batch.block_lanes, self._shared.size
        self._shared.repeat(blocks, lanes)
        self._work.repeat(blocks, lanes, pitch)

    def _is_uniform(self, threads: NDArray[Any]) -> bool:
        """Whether these are the same lanes of each block."""
        there = np.zeros((self._batch.count, self._batch.block_lanes), dtype=np.bool_)
        there.reshape(-1)[threads] = True
        return bool((there == there[0]).all())

    def _first_piece(self, piece: Piece) -> Piece | None:
        """The part of an access that the first block makes, if all others make the same."""
        blocks, lanes = self._batch.count, self._batch.block_lanes
        count, rest = divmod(len(piece.threads), blocks)
        if piece.chosen is not None or rest or not count:
            return None
        numbers = np.arange(blocks)[:, None]
        threads, offsets = piece.threads.reshape(blocks, count), piece.offsets.reshape(blocks, count)
        pitch = piece.data.size // blocks
        if threads[0].max() >= lanes or (offsets - offsets[0] != numbers * pitch).any():
            return None
        if piece.threads is not self._batch.everyone and (threads - threads[0] != numbers * lanes).any():
            return None
        return Piece(self._batch.everyone[:count], piece.data, offsets[0], threads[0], piece.title)

    def _in_shared(self, access: Access, piece: Piece, shadow: Shadow, traits: Traits, strong: bool) -> None:
        entries, count = shadow.entries_of(piece, access.width)
        threads = piece.threads if count == 1 else np.repeat(piece.threads, count)
        touch = ShadowTouch(access, piece, shadow, entries, threads, count)
        before = shadow.writer[entries]
        writes = access.kind not in ("read", "mbarrier")
        unordered = self._unordered(before, threads, strong, traits.cta_scope, "wrote")
        if unordered is not None:
            self._report_unordered(touch, before, unordered, "wrote")
        if not strong:
            self._check_updates(touch)
        stamp = self._time << TIME_SHIFT
        if access.kind == "mbarrier":
            if self._initialised and access.instruction.parts[0] in ("cp", "tcgen05", "clusterlaunchcontrol"):
                self._check_initialised(touch)
            if traits.completes_on_mbarrier:
                self._work.announce(access, piece, shadow, self._time)
            if self._batch.grid.cluster_size > 1 and access.instruction.parts[0] != "mbarrier":
                owners, places = np.divmod(piece.offsets, piece.data.size // self._batch.count)
                away = owners != piece.threads // self._batch.block_lanes
                keys = zip(owners[away].tolist(), places[away].tolist(), strict=True)
                self._remote_completions.update(keys)
            return
        if access.kind != "write" and access.proxy != "mbarrier" and not before.all():
            places = np.repeat(piece.offsets % (piece.data.size // self._batch.count), count)
            unwritten = np.flatnonzero((before == 0) & (places >= SHARED_START))
            if len(unwritten):
                self._separate_if(True)
                self._reports.unwritten(touch, unwritten)
        if access.kind != "write" and access.proxy == "async":
            self._check_proxy(touch, before)
        if not writes:
            self._note_read(touch, traits)
            return
        for readers in shadow.readers():
            unordered = self._unordered(readers[entries], threads, strong, traits.cta_scope, "reads")
            if unordered is not None:
                self._report_unordered(touch, readers[entries], unordered, "reads")
        if traits.completes_on_mbarrier:
            stamps = np.full(len(entries), stamp | LATE | WORK | ID | (ATOMIC if strong else 0))
            self._work.add_unannounced(access, piece)
        elif traits.group:
            stamps = threads | (stamp | LATE | PENDING)
        else:
            stamps = threads | (stamp | ATOMIC if strong else stamp)
        self._write(touch, stamps, strong)
        if traits.group and not traits.completes_on_mbarrier:
            self._work.add(traits.group, access, piece, piece.threads | (stamp | LATE | PENDING))

    def _in_global(self, access: Access, piece: Piece, shadow: Shadow, traits: Traits, strong: bool) -> None:
        stamp = self._launched | (self._time << TIME_SHIFT) | (ATOMIC if strong else 0)
        if access.kind == "read" and not shadow.was_written:  # most arrays that are read are never written
            if not traits.constant:
                load = self._load_number(access)
                shadow.note_later(Read(piece.offsets, access.width, piece.threads, stamp, load))
            return
        shadow.note_reads()
        entries, count = shadow.entries(piece.offsets, access.width)
        threads = piece.threads if count == 1 else np.repeat(piece.threads, count)
        touch = ShadowTouch(access, piece, shadow, entries, threads, count)
        if shadow.was_written and (before := shadow.writer[entries]).any():
            unordered = self._unordered(before, threads, strong, traits.cta_scope, "wrote", True)
            if unordered is not None:
                self._report_unordered(touch, before, unordered, "wrote", True)
            if not strong:
                self._check_updates(touch, everywhere=True)
        stamps = threads + stamp
        if access.kind == "read":
            if not traits.constant:
                shadow.note_readers(entries, stamps, self._load_number(access))
            return
        shadow.was_written = True
        for readers in shadow.readers() if shadow.was_read else ():
            before = readers[entries]
            if access.proxy == "async":
                self._check_overtaking(touch, before)
            unordered = None
            if before.any():
                unordered = self._unordered(before, threads, strong, traits.cta_scope, "reads", True)
            if unordered is not None:
                self._report_unordered(touch, before, unordered, "reads", True)
                if readers is shadow.reader:
                    break
        if traits.group == "cp.async.bulk":
            stamps |= PENDING
            self._work.add(traits.group, access, piece, piece.threads + (stamp | PENDING), shadow)
        self._write(touch, stamps, strong)

    def _check_updates(self, touch: ShadowTouch, everywhere: bool = False) -> None:
        """Whether atomic updates of these bytes, before that of the last thread, are ordered before."""
        if not len(touch.shadow.updater):
            return
        before = touch.shadow.updater[touch.entries]
        unordered = self._unordered(before, touch.threads, False, False, "wrote", everywhere)
        if unordered is not None:
            self._report_unordered(touch, before, unordered, "wrote", everywhere)

    # -- order -----------------------------------------------------------------------------------------------

    def _unordered(
        self,
        before: NDArray[Any],
        threads: NDArray[Any],
        strong: bool,
        narrow: bool,
        other_verb: OtherVerb,
        everywhere: bool = False,
    ) -> NDArray[np.intp] | None:
        """Which of the accesses before are not ordered before those of now.

        Loads of shared memory are done when a thread arrives at an mbarrier, not so of global memory.
        """
        written = other_verb == "wrote" or everywhere
        limit, first = (1, self._launched) if everywhere else (self._limit, 0)
        if not len(before) or before.max() < limit:
            return None
        late = before >= limit
        late &= (before ^ (threads + first)) & (ID | PENDING | WORK) != 0  # not the same thread
        which = np.flatnonzero(late)
        if not len(which):
            return None
        if self._uniform and not everywhere and not self._are_clocks_uniform():
            raise _BlocksDifferError
        stamps, ours = before, threads
        if len(which) < len(before):
            stamps, ours = before[which], threads[which]
        times = stamps >> TIME_SHIFT & TIME
        others = stamps & ID
        kinds = stamps & (PENDING | WORK)
        if everywhere:
            fine = self._ordered_everywhere(ours, others, times, written) & (kinds == 0)
        elif not kinds.any():
            fine = self._clocks.ordered(ours, others, times, written)
        elif (kinds == WORK).all():
            fine = self._clocks.knows_work(ours, others, times)
        else:
            fine = np.zeros(len(which), dtype=np.bool_)
            plain, work = kinds == 0, kinds & WORK != 0
            fine[plain] = self._clocks.ordered(ours[plain], others[plain], times[plain], written)
            fine[work] = self._clocks.knows_work(ours[work], others[work], times[work])
        if strong:
            atomic = stamps & ATOMIC != 0
            if narrow:  # atomic for threads of the same block only
                atomic &= (ours + first) // self._batch.block_lanes == others // self._batch.block_lanes
            fine |= atomic
        if fine.all():
            return None
        return np.asarray(which[~fine])

    def _are_clocks_uniform(self) -> bool:
        """Whether threads know the same in each block, which only barriers and fences change."""
        if self._clocks_uniform is None:
            self._clocks_uniform = self._clocks.are_blocks_uniform()
        return self._clocks_uniform

    def _ordered_everywhere(
        self, threads: NDArray[Any], others: NDArray[Any], times: NDArray[Any], written: bool
    ) -> NDArray[np.bool_]:
        """As `Clocks.ordered`, for threads of the launch."""
        here = others >= self._launched
        if here.all():
            return self._clocks.ordered(threads, others - self._launched, times, written)
        fine = np.zeros(len(threads), dtype=np.bool_)
        fine[here] = self._clocks.ordered(threads[here], others[here] - self._launched, times[here], written)
        earlier, when = others[~here] // self._batch.block_lanes, times[~here]
        heard = self._clocks.everywhere.acquired[threads[~here] >> 5]
        fine[~here] = (when <= self._published[earlier]) & (when < heard)
        return fine

    # -- noting ----------------------------------------------------------------------------------------------

    def _write(self, touch: ShadowTouch, stamps: NDArray[Any], strong: bool) -> None:
        shadow, entries, threads = touch.shadow, touch.entries, touch.threads
        if id(touch.access.instruction) in self._blind_updates and not (stamps & (PENDING | WORK)).any():
            group = 32 if touch.access.space == "shared" else self._batch.block_lanes
            shadow.note_updates(entries, stamps, group)
        else:
            shadow.writer[entries] = stamps
            if len(shadow.updater):
                shadow.updater[entries] = 0
        if strong:
            if traits_of(touch.access.instruction.opcode).cta_scope:
                self._check_blocks(touch)
            return
        other = shadow.writer[entries] != stamps
        if not other.any() or touch.access.kind != "write":
            return
        content = touch.content
        if content is None:
            return
        last = np.zeros_like(shadow.writer, dtype=np.int64)
        last[entries] = np.arange(len(entries))
        winner = last[entries]
        other &= (content != content[winner]).any(axis=1) & (threads != threads[winner])
        if other.any():
            self._separate_if(touch.access.space == "shared")
            self._reports.conflicting_writes(touch, winner, np.flatnonzero(other))

    def _check_blocks(self, touch: ShadowTouch) -> None:
        """Threads of several blocks update the same bytes in one instruction of scope .cta."""
        last = np.zeros(len(touch.shadow.writer), dtype=np.int64)
        last[touch.entries] = np.arange(len(touch.entries))
        blocks = touch.threads // self._batch.block_lanes
        others = last[touch.entries]
        apart = np.flatnonzero(blocks != blocks[others])
        if len(apart):
            self._separate_if(touch.access.space == "shared")
            self._reports.conflicting_writes(touch, others, apart)

    def _note_read(self, touch: ShadowTouch, traits: Traits) -> None:
        access, piece, threads = touch.access, touch.piece, touch.threads
        shadow, entries = touch.shadow, touch.entries
        stamp = self._time << TIME_SHIFT
        if traits.group == "wgmma":
            leaders, groups = self._warpgroups(access)
            columns = np.zeros(self._batch.block_lanes // 128, dtype=np.int64)
            for group in groups:
                columns[group] = self._clocks.column(Warpgroup(group))
            stamps = columns[threads % self._batch.block_lanes // 128] | (stamp | LATE | WORK)
            self._work.add_wgmma(leaders, self._time)
        elif traits.group == "cp.async.bulk":
            stamps = threads | (stamp | LATE | PENDING)
            self._work.add(traits.group, access, piece, piece.threads | (stamp | LATE | PENDING))
        elif traits.strong:
            stamps = threads | (stamp | ATOMIC)
        else:
            stamps = threads | stamp
        reader, second = shadow.readers_for(self._load_number(access), entries, self._limit)
        before = reader[entries]
        if len(before) and before.max() >= self._limit:
            keep = before >= self._limit
            differences = before ^ stamps
            keep &= differences & (FLAGS | ID) != 0
            if keep.any():
                near = keep & (differences & (FLAGS | ID & ~31) == 0)
                if near.any():  # of the same warp: it does not take the place of one of another
                    near &= second[entries] >= self._limit
                    keep &= ~near
                second[entries[keep]] = before[keep]
        reader[entries] = stamps
        differences = reader[entries]
        differences ^= stamps
        if len(differences) and differences.max() >= 32:  # the times are equal; another warp
            others = differences & (ID & ~31) != 0
            second[entries[others]] = stamps[others]

    def _load_number(self, access: Access) -> int:
        """The number of a load whose value may not matter; 0 for others."""
        key = id(access.instruction)
        number = self._load_numbers.get(key)
        if number is None:
            uses = self._load_uses(access.instruction) if access.proxy == "generic" else None
            number = self._load_numbers[key] = 0 if uses is None else len(self._load_numbers) + 1
        if number:
            uses = self._load_uses(access.instruction)
            assert uses is not None
            self._values.watch(uses)
            if key not in self._read_from:
                self._read_from[key] = _ReadFrom(access, self._batch.size)
            self._read_from[key].add(access, self._time)
        return number

    def _warpgroups(self, access: Access) -> tuple[NDArray[np.int64], list[int]]:
        """The threads that read for their warpgroups, in all blocks, and which warpgroups of a block."""
        notes = access.pieces[0].notes
        if "warpgroups" not in notes:
            leaders = distinct(access.threads, self._batch.size)
            groups = np.unique(leaders % self._batch.block_lanes // 128)
            notes["warpgroups"] = leaders, groups.tolist()
        warpgroups: tuple[NDArray[np.int64], list[int]] = notes["warpgroups"]
        return warpgroups

    # -- barriers, fences, waits -----------------------------------------------------------------------------

    def synchronised(self, event: Synchronisation) -> None:
        """Threads learn what others did."""
        self._tick(event.instruction)
        self._clocks_uniform = None
        clocks, threads, kind = self._clocks, event.threads, event.kind
        if kind == "bar":
            if event.completed:
                self._check_whole(event)
                clocks.leave(int(np.asarray(event.key)), threads, self._time)
                self._set_limit()
            else:
                self._arrive(event)
        elif kind == "bar.warp":
            clocks.meet(threads, self._time)
        elif kind == "passed by":
            self._passed_by(event)
        elif kind.startswith("barrier.cluster"):
            self._cluster(event)
        elif kind in ("mbarrier.arrive", "cp.async.mbarrier.arrive"):
            if kind.startswith("cp"):
                self._complete_copies(threads, 0, "cp.async", everything=True)
            owners, places = self._barriers(event)
            if owners is None:
                clocks.release(threads, places, self._time)
            else:
                own = owners == threads // clocks.lanes
                clocks.release(threads[own], places[own], self._time)
                if not own.all():
                    self._arrive_remotely(event, threads[~own], owners[~own], places[~own])
        elif kind == "mbarrier.init":
            self._initialise(event)
        elif kind.startswith("fence.mbarrier_init"):
            clocks.init_fenced[threads] = self._time
        elif kind == "mbarrier.phase":
            owners, places = self._barriers(event)
            clocks.complete_phase(threads // clocks.lanes if owners is None else owners, places, self._time)
        elif kind == "mbarrier.wait":
            owners, places = self._barriers(event)
            if self._remote_arrivals or self._remote_completions:
                self._learn_of_cluster(event, places)
            if owners is None:
                clocks.acquire(threads, places)
            else:
                own = owners == threads // clocks.lanes
                clocks.acquire(threads[own], places[own])
            if self._batch.grid.cluster_size > 1:
                clocks.cluster_time[threads // clocks.lanes] = self._time
        elif kind.startswith("membar") or (
            kind.startswith("fence") and "proxy" not in event.instruction.parts
        ):
            clocks.fence_flags(threads, self._time, narrow="cta" in event.instruction.parts)
        elif kind.startswith("fence.proxy.async"):
            clocks.fence(threads, self._time)
            if not any(part.startswith("shared") for part in event.instruction.parts):
                self._fenced_everywhere[threads] = self._time
        elif kind.endswith("commit_group"):
            if self._uniform and not self._is_uniform(threads):
                self._separate_blocks()
            self._work.commit(kind.removesuffix(".commit_group"), threads)
        elif kind.endswith(("wait_group", "wait_all")):
            group = kind.rpartition(".")[0]
            if group == "wgmma":
                self._work.wait_wgmma(threads, int(np.asarray(event.key)))
            else:
                only_read = "read" in event.instruction.parts
                everything = kind.endswith("all")
                self._complete_copies(threads, int(np.asarray(event.key)), group, everything, only_read)

    def _initialise(self, event: Synchronisation) -> None:
        """Threads initialise mbarriers of their blocks."""
        blocks = event.threads // self._batch.block_lanes
        for place in np.unique(np.asarray(event.key)).tolist():
            ours = np.broadcast_to(event.key, event.threads.shape) == place
            _, threads, times = self._initialised.get(
                place, (None, *np.zeros((2, self._batch.count), np.int64))
            )
            threads[blocks[ours]], times[blocks[ours]] = event.threads[ours], self._time
            self._initialised[place] = event.instruction, threads, times

    def _check_initialised(self, touch: ShadowTouch) -> None:
        """Whether a fence came after mbarrier.init before something asynchronous arrives there."""
        clocks, piece = self._clocks, touch.piece
        blocks, places = np.divmod(piece.offsets, piece.data.size // self._batch.count)
        for place in np.unique(places).tolist():
            if place not in self._initialised:
                continue
            instruction, threads, times = self._initialised[place]
            ours = places == place
            writers, when, issuers = threads[blocks[ours]], times[blocks[ours]], piece.threads[ours]
            fenced = np.maximum(clocks.fenced, clocks.init_fenced)[writers] >= when
            fenced |= clocks.fenced_after(issuers, writers, when, 1)
            bad = np.flatnonzero(~fenced & (when > 0))
            if len(bad):
                self._separate_if(True)
                self._reports.unfenced_barrier(touch, issuers[bad], place, instruction)
            if self._uniform:
                times[:] = 0
            times[blocks[ours]] = 0
            if not times.any():
                del self._initialised[place]

    def _arrive_remotely(
        self, event: Synchronisation, threads: NDArray[Any], owners: NDArray[Any], places: NDArray[Any]
    ) -> None:
        """Threads arrive at mbarriers of other blocks.

        With `.cluster`, and by tcgen05.commit, they vouch for all that their block wrote, otherwise for what
        a fence has published.
        """
        instruction, clocks = event.instruction, self._clocks
        clocks.release_remote(threads, owners, places)
        parts = instruction.parts
        wide = parts[0] != "mbarrier" or not {"cluster", "gpu", "sys"}.isdisjoint(parts)
        if not wide and "cta" in instruction.parts:
            self._report_scope(instruction, threads, "arrive{s} at an mbarrier of another block")
        elif not wide:
            self._unscoped.setdefault(id(instruction), (instruction, threads))
        time = self._time if wide else int(clocks.everywhere.fenced[threads >> 5].max())
        blocks = threads // clocks.lanes
        for owner, place, block in set(zip(owners.tolist(), places.tolist(), blocks.tolist(), strict=True)):
            arrivals = self._remote_arrivals.setdefault((owner, place), {})
            arrivals[block] = max(time, arrivals.get(block, 0))
            if parts[0] != "tcgen05":
                self._remote_threads.add((owner, place))
            if not wide:
                self._reports.unscoped_arrivals[owner, block] = instruction

    def _learn_of_cluster(self, event: Synchronisation, places: NDArray[np.int64]) -> None:
        """Threads wait for mbarriers at which other blocks arrive: they know what was written before.

        Of blocks that do not arrive there they count as knowing all: those that do may have heard of it.
        """
        clocks, size = self._clocks, self._batch.grid.cluster_size
        blocks = (event.threads // clocks.lanes).tolist()
        keys = list(zip(blocks, np.broadcast_to(places, event.threads.shape).tolist(), strict=True))
        for key in set(keys) & (self._remote_completions | set(self._remote_arrivals)):
            block, times = key[0], np.full(size, self._time)
            for other, time in self._remote_arrivals.get(key, {}).items():
                times[other % size] = time
            np.maximum(clocks.cluster_writes[block], times, out=clocks.cluster_writes[block])
        if "cta" in event.instruction.parts:
            remote = event.threads[[key in self._remote_threads for key in keys]]
            if len(remote):
                what = "wait{s} for an mbarrier of its block, where another block arrives,"
                self._report_scope(event.instruction, remote, what)

    def _report_scope(self, instruction: PtxInstruction, threads: NDArray[Any], what: str) -> None:
        """Threads synchronise with another block through an mbarrier: without `.cluster` it is for one."""
        named = "cta" in instruction.parts
        ending = "" if named else ", which counts where the instruction names none"
        self._report.add(self._batch, Violation(
            "narrow scope" if named else "default scope", instruction, threads,
            f"{{who}} {what} with scope .cta{ending}", space="shared",
        ))  # fmt: skip

    def _barriers(self, event: Synchronisation) -> tuple[NDArray[Any] | None, NDArray[np.int64]]:
        """The blocks that mbarriers are in, None if each is in its thread's block, and their addresses."""
        places = np.asarray(event.key).astype(np.int64, copy=False)
        if not (places >> RANK_SHIFT).any():
            return None, places
        blocks, cluster = event.threads // self._clocks.lanes, self._batch.grid.cluster_size
        owners, offsets = cluster_places(places, blocks, cluster)
        beyond = places >> RANK_SHIFT > cluster  # memory refuses these as soon as they are touched
        return np.where(beyond, blocks, owners), offsets

    def _arrive(self, event: Synchronisation) -> None:
        number, parts = int(np.asarray(event.key)), event.instruction.parts
        split = self._clocks.arrive(number, event.threads, "arrive" not in parts)
        aligned = parts[0] == "bar" or "aligned" in parts
        if aligned and split.any():
            self._report.add(self._batch, Violation(
                "divergent barrier", event.instruction, event.threads[split],
                f"{{who}} reach{{es}} barrier {number} apart from other lanes of the same warp",
            ))  # fmt: skip

    def _passed_by(self, event: Synchronisation) -> None:
        """Threads have waited for lanes of their warps that went on elsewhere, and ended."""
        opcode, words = event.instruction.opcode, np.asarray(event.key)
        barrier = event.instruction.parts[0] in ("bar", "barrier") and "warp" not in event.instruction.parts
        first = event.threads >> 5 == event.threads[0] >> 5
        lanes = lanes_text([lane for lane in range(32) if int(words[0]) >> lane & 1])
        passes = "passes" if lanes.startswith("lane ") else "pass"
        self._report.add(self._batch, Violation(
            "divergent barrier" if barrier else "lanes missing",
            event.instruction, event.threads[first],
            f"{{who}} execute{{s}} {opcode}, which {lanes} of the same warp {passes} by",
            remedy="" if barrier else "let all lanes that the mask names execute it, or name no others",
        ))  # fmt: skip

    def _check_whole(self, event: Synchronisation) -> None:
        """A barrier that counts threads, and is for whole warps, was complete with parts of warps."""
        number, parts = int(np.asarray(event.key)), event.instruction.parts
        if "red" in parts or len(event.instruction.operands) < 2:
            return
        if parts[0] != "bar" and "aligned" not in parts:
            return
        lacking = self._clocks.partial(number, event.threads)
        if lacking.any():
            self._report.add(self._batch, Violation(
                "divergent barrier", event.instruction, event.threads[lacking],
                f"{{who}} leave{{s}} barrier {number}, which other lanes of the same warp have not reached",
            ))  # fmt: skip

    def _cluster(self, event: Synchronisation) -> None:
        """Threads arrive at the barrier of their cluster, or leave it.

        With `.relaxed` they vouch to other blocks for what a fence has published alone. For reads of shared
        memory, and among threads of one block, it counts as any other arrival.
        """
        clocks, size = self._clocks, self._batch.grid.cluster_size
        blocks = np.unique(event.threads // clocks.lanes // size)
        members = (blocks[:, None] * size + np.arange(size)).reshape(-1)
        if event.kind.endswith("arrive"):
            self._cluster_arrival[members] = self._time
            clocks.arrive_at_cluster(event.threads)
            if "relaxed" not in event.instruction.parts:
                self._cluster_vouched[members] = self._time
                return
            fenced = np.maximum(
                clocks.everywhere.fenced[event.threads >> 5], clocks.init_fenced[event.threads]
            )
            owners = event.threads // clocks.lanes
            np.maximum.at(self._cluster_vouched, owners, fenced)
            for owner in np.unique(owners).tolist():
                self._reports.relaxed_arrival(owner, event.instruction, self._time)
            return
        for times in (clocks.cluster_time, clocks.block_time):
            times[members] = np.maximum(times[members], self._cluster_arrival[members])
        vouched = np.repeat(self._cluster_vouched[members].reshape(-1, size), size, axis=0)
        clocks.cluster_writes[members] = np.maximum(clocks.cluster_writes[members], vouched)
        clocks.leave_cluster(members)
        self._set_limit()

    def _complete_copies(
        self, threads: NDArray[Any], newest: int, group: str, everything: bool, only_read: bool = False
    ) -> None:
        """Copies in all but the `newest` newest groups become ordinary accesses of their threads."""
        if self._uniform and not self._is_uniform(threads):
            self._separate_blocks()
        times: dict[int, int] = {}  # each instruction's copies count as accesses of a time of their own
        for copies in self._work.wait(group, threads, newest, everything, only_read):
            instruction = self._instructions[int(copies.stamps[0]) >> TIME_SHIFT & TIME]
            if id(instruction) not in times:
                self._tick(instruction)
                times[id(instruction)] = self._time
            self._retire(copies, times[id(instruction)])

    def _retire(self, copies: Copies, time: int) -> None:
        """Copies that are complete are accesses of the threads that started them."""
        shadow = self._shared if copies.shadow is None else copies.shadow
        if shadow is None:
            return
        entries, count = shadow.entries(copies.offsets, copies.width)
        stamps = np.repeat(copies.stamps, count)
        fresh = stamps & (ID | ATOMIC) | time << TIME_SHIFT
        for array in shadow.readers() if copies.reads else (shadow.writer,):
            ours = array[entries] == stamps
            array[entries[ours]] = fresh[ours]

    # -- what is wrong ---------------------------------------------------------------------------------------

    def _separate_if(self, in_shared: bool) -> None:
        """Blocks that are looked at as one part before something in shared memory is reported."""
        if self._uniform and in_shared:
            raise _BlocksDifferError

    def _report_unordered(
        self,
        touch: ShadowTouch,
        before: NDArray[Any],
        which: NDArray[np.intp],
        other_verb: OtherVerb,
        everywhere: bool = False,
    ) -> None:
        """What other instructions did before to these entries, and nothing orders it."""
        if other_verb == "wrote":
            which = which[~self._has_looked(touch, before, which, everywhere)]
            if not len(which):
                return
        self._separate_if(touch.access.space == "shared")
        if other_verb == "wrote" and touch.access.kind == "write":
            which = _different(touch, before, which)
        if touch.access.space == "shared" and self._batch.grid.cluster_size > 1:
            absent = self._presence.may_be_absent(touch.threads[which], before[which] & ID)
            which = which[~absent]  # that is reported
        times = before[which] >> TIME_SHIFT & TIME
        for time in np.unique(times)[:16]:
            other = self._instructions[int(time)]
            if other is None:
                continue
            ours = which[times == time]
            if touch.access.owners is not None and other_verb == "wrote":
                own = self._own_rows(touch, before, ours)
                if own.any():
                    self._reports.unsynchronised_rows_of_a(
                        Unordered(touch, before, ours[own], other, other_verb)
                    )
                ours = ours[~own]
                if not len(ours):
                    continue
            apart = (
                touch.threads[ours] + (self._launched if everywhere else 0) >> 5 != (before[ours] & ID) >> 5
            )
            ours = np.concatenate([ours[apart], ours[~apart]])  # other warps first: the remedy is for them
            unordered = Unordered(touch, before, ours, other, other_verb, everywhere)
            if unordered.stamp & (PENDING | WORK):
                self._reports.missing_wait(unordered, self._late_remedy(unordered))
            else:
                self._reports.race(unordered, self._idle_reads(unordered))

    def _has_looked(
        self, touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp], everywhere: bool
    ) -> NDArray[np.bool_]:
        """Whether threads know of a look at a flag since it was written, with a fence before.

        They may reset it then. The look must be a strong one, as the write was.
        """
        stamps, entries, ours = before[which], touch.entries[which], touch.threads[which]
        times, first = stamps >> TIME_SHIFT & TIME, self._launched if everywhere else 0
        looked = np.zeros(len(which), dtype=np.bool_)
        flags = stamps & (ATOMIC | PENDING | WORK) == ATOMIC
        if not flags.any():
            return looked
        for readers in touch.shadow.readers():
            reads = readers[entries]
            when, threads = reads >> TIME_SHIFT & TIME, (reads & ID) - first
            later = (reads & ATOMIC != 0) & (when > times) & (threads >= 0)
            looked[later] |= self._clocks.ordered(ours[later], threads[later], when[later], True)
        return np.asarray(flags & looked & self._clocks.has_published((stamps & ID) - first))

    def _own_rows(
        self, touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Which entries are rows of A that the warp that multiplies them wrote, and knows of."""
        owners, stamps = touch.owners[which], before[which]
        lanes, writers = touch.threads[which] + 32 * owners, stamps & ID
        own = (owners >= 0) & (stamps & (PENDING | WORK) == 0) & (lanes >> 5 == writers >> 5)
        if own.any():
            times = stamps >> TIME_SHIFT & TIME
            own[own] = self._clocks.ordered(lanes[own], writers[own], times[own], True)
        return np.asarray(own)

    def _idle_reads(self, unordered: Unordered) -> IdleReads | None:
        """Whose loads may come too late, if none of those threads has used its value so far; None if so.

        The shadow knows two of the threads that read: others of their blocks have read the same, unless it is
        known that they have not. In Triton's kernels with fewer elements than threads, some load in vain what
        others load and overwrite.
        """
        uses = None
        if unordered.other_verb == "reads" and not unordered.stamp & (PENDING | WORK):
            uses = self._load_uses(unordered.other)
        if uses is None:
            return None
        lanes, first = self._batch.block_lanes, self._launched if unordered.everywhere else 0
        which = unordered.which
        readers = (unordered.before[which] & ID) - first
        pairs = np.unique(np.stack([unordered.touch.threads[which], readers // lanes]), axis=1)
        if readers.min() < 0 or pairs.shape[1] * lanes > _MAX_PAIRS:
            return None
        writers = np.repeat(pairs[0], lanes)
        others = (pairs[1][:, None] * lanes + np.arange(lanes)).reshape(-1)
        since = np.zeros(len(others), dtype=np.int64)
        read, access = self._read_from[id(unordered.other)], unordered.touch.access
        alone = access.space != "shared" or self._batch.grid.cluster_size == 1
        if alone and access.space == read.space and access.instruction.parts[0] in ("st", "atom", "red"):
            since = read.since(others, access, writers)
        keep = (others != writers) & (since <= self._time)
        writers, others, since = writers[keep], others[keep], since[keep]
        known = self._clocks.known(writers, others, written=unordered.everywhere)  # as in `_unordered`
        known = np.maximum(known, since - 1)  # a use may have the time of the load, if no access is between
        spread = np.arange(32)[np.arange(32) & ~uses.lane_bits == 0]
        others = (others[:, None] & ~uses.lane_bits | spread).reshape(-1)  # whoever may have got it from them
        if self._values.were_used(uses, others, np.repeat(known, len(spread))):
            return None
        return IdleReads(uses, np.unique(others))

    def _late_remedy(self, unordered: Unordered) -> str:
        """How the threads can wait for an asynchronous instruction."""
        stamp, threads = unordered.stamp, unordered.touch.threads[unordered.which]
        if stamp & PENDING:
            group = traits_of(unordered.other.opcode).group
            remedy = f"let the thread that copies execute {group}.wait_group before it"
            if not self._work.is_committed(group):
                remedy = (
                    f"end the group with {group}.commit_group, and wait with {group}.wait_group before it"
                )
            if unordered.everywhere:
                remedy += " (.read is for its source alone)"
            copier = (stamp & ID) - (self._launched if unordered.everywhere else 0)
            if copier // 32 != int(threads[0]) // 32 or len(np.unique(threads)) > 1:
                remedy += ", then __syncthreads()"
            return remedy
        owner = self._clocks.owner_of(stamp & ID) if stamp & ID != ID else None
        if isinstance(owner, Warpgroup):
            return "execute wgmma.wait_group, and synchronise with that warpgroup, before it"
        at = "" if owner is None else f" ({self._report.shared_place(owner, owner + 7)})"
        phase = 0
        if owner is not None:
            phase = self._clocks.phase_time(stamp & ID, int(threads[0]) // self._batch.block_lanes)
        if 0 < phase < stamp >> TIME_SHIFT & TIME:
            return (
                f"the last phase of its mbarrier{at} was complete without it: announce its bytes with "
                "mbarrier.arrive.expect_tx, and wait for that phase"
            )
        return f"wait for its mbarrier{at} with mbarrier.try_wait first"

    def _check_proxy(self, touch: ShadowTouch, before: NDArray[Any]) -> None:
        """Ordinary stores that no `fence.proxy.async` has made visible to asynchronous reads."""
        plain = (before != 0) & (before & (PENDING | WORK) == 0)
        if not plain.any():
            return
        if self._uniform and not self._are_clocks_uniform():
            raise _BlocksDifferError
        writers = np.where(plain, before & ID, 0)
        times = before >> TIME_SHIFT & TIME
        warpgroup = self._batch.size % 128 == 0 and touch.access.instruction.parts[0] == "wgmma"
        fenced = self._clocks.fenced[writers] >= times
        fenced |= self._clocks.fenced_after(touch.threads, writers, times, 128 if warpgroup else 1)
        bad = np.flatnonzero(plain & ~fenced)
        if not len(bad):
            return
        self._separate_if(True)
        times = before[bad] >> TIME_SHIFT & TIME
        others = {time: self._instructions[time] for time in np.unique(times)[:16].tolist()}
        copies = [time for time, other in others.items() if other and traits_of(other.opcode).group]
        for time, other in others.items():
            if other is None or time in copies[:-1]:
                continue
            same = np.isin(times, copies) if time in copies else times == time  # one fence is for all copies
            self._reports.unfenced_store(touch, bad[same], other)

    def _check_overtaking(self, touch: ShadowTouch, before: NDArray[Any]) -> None:
        """Loads that may be under way when a bulk copy, another proxy, overwrites global memory.

        What was loaded has not been used so far, and no `fence.proxy.async` came after it.
        """
        generic = (before & (PENDING | WORK) == 0) & (before & ID >= self._launched) & (before != 0)
        which = np.flatnonzero(generic)
        readers, times = (before[which] & ID) - self._launched, before[which] >> TIME_SHIFT & TIME
        fenced = self._fenced_everywhere
        bad = np.maximum(fenced[readers], fenced[touch.threads[which]]) < times
        for time in np.unique(times[bad])[:16]:
            other, ours = self._instructions[int(time)], bad & (times == time)
            uses = None if other is None else self._load_uses(other)
            if other is None or uses is None or self._values.were_used(uses, readers[ours], times[ours]):
                continue
            self._reports.overtaken_load(touch, which[ours], other)


class _ReadFrom:
    """Where each thread of a batch has executed a load, and when first, as long as the addresses are few."""

    _NOWHERE, _MOST = -1, 64
    _NEVER = np.iinfo(np.int64).max

    def __init__(self, access: Access, size: int) -> None:
        self.space, self._width, self._size = access.space, access.width, size
        #: Addresses and times, of each thread one after the other.
        self._executions: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def add(self, access: Access, time: int) -> None:
        """Threads execute the load."""
        if access.space != self.space:  # generic addresses
            self.space = "several"
        if len(self._executions) > self._MOST:
            return
        threads, addresses = access.threads, access.addresses.astype(np.int64)
        for before, _ in self._executions:
            new = before[threads] != addresses
            if not new.any():
                return
            threads, addresses = threads[new], addresses[new]
        if not self._executions or (self._executions[-1][0][threads] != self._NOWHERE).any():
            self._executions.append((np.full(self._size, self._NOWHERE), np.zeros(self._size, np.int64)))
        before, times = self._executions[-1]
        before[threads], times[threads] = addresses, time

    def since(self, threads: NDArray[Any], access: Access, writers: NDArray[Any]) -> NDArray[np.int64]:
        """When each of the threads may first have read what its writer writes in an access, or `_NEVER`."""
        since = np.full(len(threads), 0 if len(self._executions) > self._MOST else self._NEVER)
        places = np.zeros(self._size, dtype=np.int64)
        places[access.threads] = access.addresses
        written = places[writers]
        for addresses, times in self._executions:
            read = addresses[threads]
            meet = (read < written + access.width) & (written < read + self._width) & (read >= 0)
            since[meet] = np.minimum(since[meet], times[threads[meet]])
        return since


def _different(touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those that write something else than what is there: equal values do no harm."""
    content, data = touch.content, touch.piece.data
    if content is None:
        return which
    late = before[which] & (PENDING | WORK) != 0 if touch.access.space == "shared" else np.False_
    places = touch.places(which)[:, None] + np.arange(content.shape[1])
    there = data[np.minimum(places, data.size - 1)]
    return np.asarray(which[late | (there != content[which]).any(axis=1)])
