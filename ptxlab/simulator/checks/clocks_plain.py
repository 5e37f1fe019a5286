"""What happens before what, in plain Python: by thread, the accesses that happen before its next one.

This is the rule, after the PTX ISA, "Memory Consistency Model". `clocks.py` follows it with vector clocks;
`tests/simulator/test_clocks.py` compares the two on random kernels.

Two accesses to the same bytes race if one of them writes, neither happens before the other, and they are not
both strong with scopes that include both threads.

Program order and barriers are between threads, fences and flags between warps: a fence of one lane covers
what all lanes of its warp did, and what one lane acquires, all have acquired. PTX promises less; code in
which one lane raises a flag after __syncwarp() relies on it. Clusters, asynchronous copies and proxies are
left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple


class PlainAccess(NamedTuple):
    """A thread's access to a word; a reduction is an atomic operation without a result."""

    time: int  # of the instruction
    thread: int
    place: tuple[int, int]  # the block, -1 in global memory, and the address
    kind: str  # "read", "write", "atomic" or "reduction"
    strong: bool = False
    in_block: bool = False  # its scope is .cta


Accesses = set[PlainAccess]
Race = tuple[PlainAccess, PlainAccess]


class Scope:
    """Fences and flags of one scope, `.cta` or a wider one."""

    def __init__(self) -> None:
        #: By warp: what its last fence covers, and the same at the last barrier of its block.
        self.covered: dict[int, Accesses] = defaultdict(set)
        self.covered_at_barrier: dict[int, Accesses] = defaultdict(set)
        #: By warp: what it has seen on flags. A fence makes that known.
        self.seen: dict[int, Accesses] = defaultdict(set)
        #: By place, and by block in the scope `.cta`: what the last writer has put on a flag.
        self.flags: dict[tuple[int, tuple[int, int]], Accesses] = defaultdict(set)


class Order:
    """The order of a launch, event by event. Threads are counted through all blocks, and so are warps.

    Thread 0 writes x and raises a flag; thread 32, in another warp, reads the flag, and then x:

    >>> x, flag = (-1, 0), (-1, 64)
    >>> def message(acquires):
    ...     order = Order(blocks=1, block_threads=64)
    ...     order.access([PlainAccess(1, 0, x, "write")])
    ...     order.access([PlainAccess(2, 0, flag, "write", strong=True)], releases=True)
    ...     order.access([PlainAccess(3, 32, flag, "read", strong=True)], acquires=acquires)
    ...     return order.access([PlainAccess(4, 32, x, "read")])
    >>> message(acquires=True)  # nothing races with the last read
    []
    >>> [(before.time, now.time) for before, now in message(acquires=False)]
    [(1, 4)]
    """

    def __init__(self, blocks: int, block_threads: int) -> None:
        self.block_threads = block_threads
        #: By thread: what it did.
        self.accesses_of: list[Accesses] = [set() for _ in range(blocks * block_threads)]
        #: By thread: what others did that happens before its next access.
        self.before_next: list[Accesses] = [set() for _ in self.accesses_of]
        self.scopes = {"cta": Scope(), "gpu": Scope()}
        #: By block and address: what arrivals at an mbarrier have handed over, and that of its last phase.
        self.arrivals: dict[tuple[int, int], Accesses] = defaultdict(set)
        self.phases: dict[tuple[int, int], Accesses] = defaultdict(set)
        self.accesses_at: dict[tuple[int, int], list[PlainAccess]] = defaultdict(list)  # by place

    def history(self, threads: Iterable[int]) -> Accesses:
        """What threads did, and what happens before their next accesses."""
        return set().union(*(self.accesses_of[thread] | self.before_next[thread] for thread in threads))

    def order_before(self, threads: Iterable[int], accesses: Accesses) -> None:
        """These accesses happen before what the threads do next."""
        for thread in threads:
            self.before_next[thread] |= accesses

    def lanes(self, warp: int) -> range:
        """The threads of a warp."""
        return range(32 * warp, 32 * warp + 32)

    def warps(self, block: int) -> range:
        """The warps of a block."""
        return range(block * self.block_threads // 32, (block + 1) * self.block_threads // 32)

    # -- accesses --------------------------------------------------------------------------------------------

    def access(
        self, accesses: list[PlainAccess], releases: bool = False, acquires: bool = False
    ) -> list[Race]:
        """Threads execute a load, a store or an atomic operation; returns pairs that race."""
        if releases:
            for warp in {access.thread // 32 for access in accesses}:
                of_warp = {access for access in accesses if access.thread // 32 == warp}
                self.fence([32 * warp], accesses[0].in_block, acquires, of_warp)
        for access in accesses:
            if access.strong:
                self.use_flag(access, acquires)
        races = [
            (before, now)
            for now in accesses
            for before in self.accesses_at[now.place]
            if before.thread != now.thread
            and {before.kind, now.kind} != {"read"}
            and before not in self.before_next[now.thread]
            and not self.are_atomic(before, now)
        ]
        for access in accesses:
            self.accesses_of[access.thread].add(access)
            self.accesses_at[access.place].append(access)
        return races

    def are_atomic(self, some: PlainAccess, other: PlainAccess) -> bool:
        """Whether both are strong, with scopes that include the other's thread."""
        same_block = some.thread // self.block_threads == other.thread // self.block_threads
        return some.strong and other.strong and (same_block or not (some.in_block or other.in_block))

    def use_flag(self, access: PlainAccess, acquires: bool) -> None:
        """A strong read sees what is on a flag; a strong write puts there what fences before it cover."""
        warp, block = access.thread // 32, access.thread // self.block_threads
        for name in ("cta",) if access.in_block else ("cta", "gpu"):
            scope, flag = self.scopes[name], (block if name == "cta" else -1, access.place)
            before = scope.flags[flag]
            if access.kind in ("read", "atomic"):
                scope.seen[warp] |= before
                if acquires:
                    self.order_before(self.lanes(warp), before)
            if access.kind != "read":
                released = scope.covered[warp].union(
                    *(scope.covered_at_barrier[other] for other in self.warps(block))
                )
                scope.flags[flag] = released if access.kind == "write" else released | before

    # -- synchronisation -------------------------------------------------------------------------------------

    def fence(
        self, threads: Iterable[int], in_block: bool, acquires: bool = True, also: Accesses | None = None
    ) -> None:
        """Threads execute a fence; `.release` is one that acquires nothing, and covers its own access."""
        for name in ("cta",) if in_block else ("cta", "gpu"):
            scope = self.scopes[name]
            for warp in {thread // 32 for thread in threads}:
                if acquires:
                    self.order_before(self.lanes(warp), scope.seen[warp])
                scope.covered[warp] = self.history(self.lanes(warp)) | (also or set())

    def barrier(self, arriving: list[int], waiting: list[int]) -> None:
        """A barrier of a block is complete: who waited knows what those that arrived did and knew."""
        self.order_before(waiting, self.history(arriving))
        block = arriving[0] // self.block_threads
        if {thread // 32 for thread in waiting} == set(self.warps(block)):
            for scope in self.scopes.values():
                seen = set().union(*(scope.seen[warp] for warp in self.warps(block)))
                for warp in self.warps(block):
                    scope.seen[warp] = set(seen)
                    scope.covered_at_barrier[warp] = scope.covered[warp]

    def sync_warp(self, threads: list[int]) -> None:
        """Lanes of a warp meet."""
        self.order_before(threads, self.history(threads))

    def arrive(self, threads: Iterable[int], mbarrier: tuple[int, int]) -> None:
        """Threads arrive at an mbarrier of their block."""
        self.arrivals[mbarrier] |= self.history(threads)

    def complete(self, mbarrier: tuple[int, int]) -> None:
        """The phase of an mbarrier is complete."""
        self.phases[mbarrier] = set(self.arrivals[mbarrier])

    def wait(self, threads: Iterable[int], mbarrier: tuple[int, int]) -> None:
        """Threads have waited for that."""
        self.order_before(threads, self.phases[mbarrier])
