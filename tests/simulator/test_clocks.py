"""Random kernels race where the plain form of the vector clocks says so, and nowhere else."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab.simulator.checks.clocks_plain import Order, PlainAccess
from ptxlab.simulator.checks.race_detector import RaceDetector
from ptxlab.simulator.checks.shadow_memory import ShadowTouch
from ptxlab.simulator.events import Access as Event
from ptxlab.simulator.events import Observer, Synchronisation
from ptxlab.simulator.launch_threads import Batch
from tests.sampling import EXHAUSTIVE

COUNT = 2000 if EXHAUSTIVE else 60
WORDS = 3  # of data, and of flags, in each memory
_STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel"}


def ptx(body: list[str], actors: list[tuple[int, int]], warps: int) -> str:
    """A kernel: %p0 to %p3 are set in single threads, %p8 ... in warps, %p16 in each block's first thread."""
    head = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data) {
.reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<20>; .shared .align 16 .b8 s[256];
ld.param.u64 %d1, [data]; mov.u64 %d2, s; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
shl.b32 %r3, %r2, 10; add.s32 %r3, %r3, %r1; shr.u32 %r5, %r1, 5; setp.eq.u32 %p16, %r1, 0;"""
    threads = [f"setp.eq.u32 %p{i}, %r3, {block << 10 | lane};" for i, (block, lane) in enumerate(actors)]
    of_warps = [f"setp.eq.u32 %p{8 + warp}, %r5, {warp};" for warp in range(warps)]
    return "\n".join((head, *threads, *of_warps, *body, "ret;", "}"))


#: Where flags are. All accesses to a word are weak, or strong with one scope: in the shadow, the last writer
#: stands for those before it.
_FLAGS = {"gpu": 64, "sys": 64, "cta": 80}


class Kernel:
    """Single threads read and write a few words, with barriers, fences, and flags or mbarriers between."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.blocks, self.warps = rng.choice(((1, 2), (1, 3), (2, 1), (2, 2), (3, 1)))
        #: Or barriers of some warps, and mbarriers: where both are used, the clocks assume more order.
        self.has_flags = self.blocks > 1 or rng.random() < 0.5
        self.scopes = rng.choice((("gpu",), ("gpu", "cta"), ("gpu", "sys")))
        self.actors = [
            (rng.randrange(self.blocks), rng.randrange(self.warps) * 32 + rng.choice((0, 0, 5)))
            for _ in range(4)
        ]
        body = [self.statement() for _ in range(rng.randrange(2, 10))]
        for _ in range(rng.randrange(3) if self.has_flags else 0):
            place = rng.randrange(len(body) + 1)
            body[place:place] = self.message()
        if not self.has_flags:
            inits = (f"@%p16 mbarrier.init.shared.b64 [%d2+{128 + 8 * i}], {i + 1};" for i in range(2))
            body = [*inits, "bar.sync 0;", *body]
        self.ptx = ptx(body, self.actors, self.warps)

    def statement(self) -> str:
        rng = self.rng
        guard = f"@%p{rng.randrange(len(self.actors))} "
        word, scope = 4 * rng.randrange(WORDS), rng.choice(self.scopes)
        space, base = rng.choice((("global", "%d1"), ("shared", "%d2")))
        data, flag = f"[{base}+{word}]", f"[{base}+{_FLAGS[scope] + word}]"
        choices = [
            *[f"{guard}st.{space}.u32 {data}, %r3;"] * 3,
            *[f"{guard}ld.{space}.u32 %r4, {data};"] * 3,
            "bar.sync 0;",
        ]
        warp = rng.randrange(self.warps)
        choices.append(f"@%p{8 + warp} bar.warp.sync 0xffffffff;")
        if not self.has_flags:
            other = (warp + 1) % self.warps
            pair = f"@%p{8 + other} bar.sync 1, 64;"
            choices += [
                f"@%p{8 + warp} bar.arrive 1, 64;\n{pair}",
                f"@%p{8 + warp} bar.sync 1, 64;\n{pair}",
            ] * 2
            choices += [f"{guard}bar.warp.sync {1 << self.actors[int(guard[3])][1] % 32};"]
            barrier = f"[%d2+{128 + 8 * rng.randrange(2)}]"
            choices += [f"{guard}mbarrier.arrive.shared.b64 %d3, {barrier};"] * 3
            choices += [f"{guard}mbarrier.test_wait.parity.shared.b64 %p19, {barrier}, 0;"] * 2
            return rng.choice(choices)
        order = rng.choice(("relaxed", "acquire", "release", "acq_rel"))
        choices += [
            *[f"{guard}st.{rng.choice(('relaxed', 'release'))}.{scope}.{space}.u32 {flag}, 1;"] * 2,
            *[f"{guard}ld.{rng.choice(('relaxed', 'acquire'))}.{scope}.{space}.u32 %r4, {flag};"] * 2,
            f"{guard}atom.{order}.{scope}.{space}.add.u32 %r4, {flag}, 1;",
            f"{guard}red.{rng.choice(('relaxed', 'release'))}.{scope}.{space}.add.u32 {flag}, 1;",
            f"{guard}ld.volatile.{space}.u32 %r4, [{base}+{_FLAGS['gpu'] + word}];",
            *[f"{guard}fence.acq_rel.{scope};"] * 2,
            f"{guard}membar.gl;",
        ]
        return rng.choice(choices)

    def message(self) -> list[str]:
        """Threads write, raise a flag, see it, perhaps pass it on, and read; something may be missing."""
        rng, lines = self.rng, []
        scope = rng.choice(self.scopes)
        (writer, second), readers = rng.choices(range(4), k=2), rng.choices(range(4), k=3)
        space, base = ("global", "%d1") if self.blocks > 1 or rng.random() < 0.5 else ("shared", "%d2")
        second = writer if rng.random() < 0.5 else second
        flags = [f"[{base}+{_FLAGS[scope] + 4 * rng.randrange(WORDS)}]" for _ in range(2)]
        word = f"[{base}+{4 * rng.randrange(WORDS)}]"
        fence, met = f"fence.acq_rel.{scope};", "bar.sync 0;"

        def raised(who: int, flag: str) -> str:
            kind = rng.choice(
                ("st.relaxed", "st.release", "atom.relaxed", "atom.release", "atom.acq_rel", "red.release")
            )
            if kind[:2] == "st":
                return f"@%p{who} {kind}.{scope}.{space}.u32 {flag}, 1;"
            target = "%r4, " if kind[:4] == "atom" else ""
            return f"@%p{who} {kind}.{scope}.{space}.add.u32 {target}{flag}, 1;"

        def seen(who: int, flag: str) -> str:
            kind = rng.choice(("ld.relaxed", "ld.acquire", "atom.relaxed", "atom.acquire"))
            if kind[:2] == "ld":
                return f"@%p{who} {kind}.{scope}.{space}.u32 %r4, {flag};"
            return f"@%p{who} {kind}.{scope}.{space}.add.u32 %r4, {flag}, 1;"

        lines.append(f"@%p{writer} st.{space}.u32 {word}, %r3;")
        lines += [f"@%p{rng.choice((writer, second))} {fence}"] * (rng.random() < 0.7)
        lines += [met] * (rng.random() < 0.3)
        lines += [f"@%p{rng.choice((writer, second))} {fence}"] * (rng.random() < 0.3)
        lines.append(raised(second, flags[0]))
        lines.append(seen(readers[0], flags[0]))
        lines += [f"@%p{readers[0]} {fence}"] * (rng.random() < 0.5)
        if rng.random() < 0.4:
            lines.append(raised(readers[0], flags[1]))
            lines.append(seen(readers[1], flags[1]))
            lines += [f"@%p{readers[1]} {fence}"] * (rng.random() < 0.5)
        else:
            readers[1] = readers[0]
        lines += [met] * (rng.random() < 0.3)
        last = readers[1] if rng.random() < 0.7 else readers[2]
        operands = {"ld": f"%r4, {word}", "st": f"{word}, %r3"}
        kind = rng.choice(("ld", "st"))
        lines.append(f"@%p{last} {kind}.{space}.u32 {operands[kind]};")
        return [line for line in lines if rng.random() < 0.95]


class Plainly(Observer):
    """Follows a simulation with the plain form."""

    def __init__(self) -> None:
        self.races: list[Any] = []
        self.time = 0
        self.arrived: dict[tuple[int, int], dict[int, bool]] = {}  # by barrier: whether threads there wait

    def begin(self, batch: Batch) -> None:
        self.lanes = batch.block_lanes
        self.order = Order(batch.count, batch.block_lanes)

    def accessed(self, access: Event) -> None:
        if access.space not in ("global", "shared") or access.instruction.parts[0] == "mbarrier":
            return
        self.time += 1
        parts = access.instruction.parts
        strong = not _STRONG.isdisjoint(parts) or parts[0] in ("atom", "red")
        kind = "reduction" if parts[0] == "red" else access.kind
        accesses = []
        for thread, address in zip(access.threads.tolist(), access.addresses.tolist(), strict=True):
            place = thread // self.lanes if access.space == "shared" else -1, int(address)
            accesses.append(PlainAccess(self.time, thread, place, kind, strong, "cta" in parts))
        releases, acquires = (
            ("release" in parts, "acquire" in parts) if "acq_rel" not in parts else (True, True)
        )
        self.races += self.order.access(accesses, releases, acquires)

    def synchronised(self, event: Synchronisation) -> None:
        threads, parts = event.threads.tolist(), event.instruction.parts
        if event.kind.startswith(("fence", "membar")):
            self.order.fence(threads, "cta" in parts)
        elif event.kind == "bar.warp":
            for warp in {thread // 32 for thread in threads}:
                self.order.sync_warp([thread for thread in threads if thread // 32 == warp])
        elif event.kind == "bar":
            for block in {thread // self.lanes for thread in threads}:
                ours = [thread for thread in threads if thread // self.lanes == block]
                here = self.arrived.setdefault((block, int(event.key)), {})
                if not event.completed:
                    here.update(dict.fromkeys(ours, "arrive" not in parts))
                elif here:
                    self.order.barrier(list(here), [thread for thread, waits in here.items() if waits])
                    here.clear()
        elif event.kind in ("mbarrier.arrive", "mbarrier.phase", "mbarrier.wait"):
            for thread, address in zip(
                threads, np.broadcast_to(event.key, len(threads)).tolist(), strict=True
            ):
                barrier = thread // self.lanes, address
                if event.kind == "mbarrier.arrive":
                    self.order.arrive([thread], barrier)
                elif event.kind == "mbarrier.phase":
                    self.order.complete(barrier)
                else:
                    self.order.wait([thread], barrier)


def verdicts(source: str, blocks: int, warps: int, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, bool]:
    """Whether the clocks and whether the plain form find accesses that race."""
    plain, found = Plainly(), []
    unordered = RaceDetector.unordered

    def watched(self: RaceDetector, touch: ShadowTouch, before: Any, other_verb: Any) -> Any:
        which = unordered(self, touch, before, other_verb)
        if which is not None and touch.access.instruction.parts[0] != "mbarrier":
            found.append(which)
        return which

    with monkeypatch.context() as patch:
        patch.setattr(RaceDetector, "unordered", watched)
        data = np.zeros(64, np.uint32)
        ptxlab.kernel(source).simulate(blocks, 32 * warps, data, show=False, observers=[plain])
    return bool(found), bool(plain.races)


def test_random_kernels_race_where_the_plain_form_says(monkeypatch: pytest.MonkeyPatch) -> None:
    racing = 0
    for seed in range(COUNT):
        kernel = Kernel(seed)
        found, expected = verdicts(kernel.ptx, kernel.blocks, kernel.warps, monkeypatch)
        assert found == expected, (seed, kernel.ptx)
        racing += expected
    assert 0.2 * COUNT < racing < 0.8 * COUNT


_DATA, _FLAG, _OTHER = "[%d1]", "[%d1+64]", "[%d1+68]"
_SIGNAL = f"atom.acq_rel.gpu.global.add.u32 %r4, {_FLAG}, 1;"
_WRITES, _READS = f"st.global.u32 {_DATA}, %r3;", f"ld.global.u32 %r4, {_DATA};"
_SEES = f"ld.acquire.gpu.global.u32 %r4, {_FLAG};"
#: What threads 0 of two blocks, 32 and 5 of the first do, one after the other, and whether they race.
MESSAGES = {
    "a flag": ([f"@%p0 {_WRITES}", f"@%p0 {_SIGNAL}", f"@%p1 {_SEES}", f"@%p1 {_READS}"], False),
    "no flag": ([f"@%p0 {_WRITES}", f"@%p1 {_READS}"], True),
    "raised by another after a barrier": (
        [
            f"@%p0 {_WRITES}",
            "@%p0 fence.acq_rel.gpu;",
            "bar.sync 0;",
            f"@%p2 st.relaxed.gpu.global.u32 {_FLAG}, 1;",
            f"@%p1 {_SEES}",
            f"@%p1 {_READS}",
        ],
        False,
    ),
    # an atomic operation sees what was on a flag before, and not what it puts there for its warp
    "a lane's own flag": ([f"@%p3 {_WRITES}", f"@%p0 {_SIGNAL}", f"@%p0 {_READS}"], True),
    # of two in one instruction the second sees what the first has put there
    "the second of two": ([f"@%p0 {_WRITES}", f"@%p16 {_SIGNAL}", f"@%p1 {_READS}"], False),
    "the first of two": ([f"@%p1 {_WRITES}", f"@%p16 {_SIGNAL}", f"@%p0 {_READS}"], True),
    # .release covers what was acquired, and not what was only seen
    "passed on without acquiring": (
        [
            f"@%p0 {_WRITES}",
            f"@%p0 {_SIGNAL}",
            f"@%p2 ld.relaxed.gpu.global.u32 %r4, {_FLAG};",
            f"@%p2 st.release.gpu.global.u32 {_OTHER}, 1;",
            f"@%p1 ld.acquire.gpu.global.u32 %r4, {_OTHER};",
            f"@%p1 {_READS}",
        ],
        True,
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_race_where_no_acquire_orders_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, races = MESSAGES[name]
    source = ptx(body, [(0, 0), (1, 0), (0, 32), (0, 5)], warps=2)
    assert verdicts(source, 2, 2, monkeypatch) == (races, races)
