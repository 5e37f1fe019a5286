"""The predicted time of a launch on a chip: `k.profile(...)`.

What is approximated is listed in the docstring of `timing/__init__.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from heapq import heapreplace

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..gpu.records import measured
from .device_memory import SHARED_START
from .events import Access, Observer
from .launch_threads import LaunchGrid
from .module_image import ModuleImage, polls
from .peaks import Work
from .ptx.syntax import PtxInstruction
from .result import line_of, work_of
from .simulate import BlockRun, Setup
from .timing.chip_timings import ChipTiming
from .timing.dependence import dependence
from .timing.instruction_streams import Cache, Expansion, Streams, streams
from .timing.kernel_code import KernelCode, counters, evicted_first, instruction_numbers, widths
from .timing.l2_residence import L2Residence
from .timing.launch_profile import CodeRow, LaunchProfile, Occupancy
from .timing.recorder import Recorder
from .timing.replay import (
    BULK,
    BULK_STORE,
    ISSUED,
    MEMORY,
    SERVICES,
    SHARED,
    UNITS,
    Rates,
    ReplayOutcome,
    Shape,
    run_program,
)
from .timing.stalls import REASONS
from .traffic import SECTOR

_GOLDEN = 0.618  # multiples of the golden ratio, modulo 1, are far from each other, however many there are
_MAX_CLUSTERS = 4  # clusters of the first sample
#: Clusters of the second sample, which is taken if those of the first have more and less to do.
_MAX_UNEVEN = 8
#: Clusters have equally much to do if none has more than this many times the instructions of another.
_EVEN = 1.1
#: Threads of a launch whose blocks wait for each other; all of its blocks are simulated.
_MAX_TOGETHER = 1 << 16
#: A thread of a sample that loads the same bytes this often waits for a block that is not in the sample.
_MAX_POLLS = 1000
_MAX_WAVES = 3  # waves that are replayed; further ones are extrapolated
_HISTORY = 200_000  # rows of the timeline
_GRANULE = 256  # registers are allocated to warps in multiples of this
_RESERVED_SHARED = SHARED_START  # bytes of shared memory of each block that belong to the system
#: The column of `Touches` that says what an access takes of each of these.
_SERVICE_COSTS = {"shared memory": "wavefronts", "L1": "sectors", "L2": "l2", "DRAM": "dram"}
_ISSUE = "issue slots"


def occupancy(grid: LaunchGrid, registers: int, shared: int, chip: ChipTiming) -> Occupancy:
    """How many blocks fit on an SM."""
    warps = grid.warps
    warp_registers = -(-max(registers, 1) * 32 // _GRANULE) * _GRANULE
    limits = {
        "registers": chip.registers // (warp_registers * warps),
        "shared memory": chip.shared // (shared + _RESERVED_SHARED),
        "threads": chip.threads // (32 * warps),
        "blocks": chip.blocks,
    }
    limit = min(limits, key=lambda name: limits[name])
    blocks = limits[limit]
    if not blocks:
        raise PtxlabError(f"no block fits on an SM of {chip.name}: not enough {limit}")
    return Occupancy(blocks, blocks * warps, limit, registers, shared)


def profile(
    image: ModuleImage,
    setup: Setup,
    code: KernelCode,
    chip: ChipTiming,
    *,
    name: str = "",
    ptx: bool = False,
    together: bool = False,
) -> LaunchProfile:
    """Simulate some blocks, and replay what an SM issues; with `ptx` lines are those of the PTX.

    With `together` all blocks run at the same time, since they may wait for each other.
    """
    grid = setup.grid
    shared = image.dynamic_start - SHARED_START + grid.shared
    fits = occupancy(grid, code.registers, shared, chip)
    cluster = grid.cluster_size
    groups = chip.sms // cluster  # of SMs: a cluster takes one SM of its group for each of its blocks
    clusters = grid.block_count // cluster
    resident = min(fits.blocks, -(-clusters // groups))
    recorder = Recorder(
        instruction_numbers(image.module), widths(code), counters(code), evicted_first(image.module)
    )
    run = BlockRun(image, setup, [recorder, *([] if together or not image.spins else [_Patience()])])
    chosen = _typical(clusters, groups, min(resident, _MAX_CLUSTERS))
    warps = _recorded(run, recorder, grid, chosen, together)
    values = dependence(image.module)
    costs = _costs(recorder, warps)
    uneven = False
    may_differ = bool(values.branches) or max(costs) > _EVEN * min(costs)
    if may_differ and not together and clusters > len(warps):
        more = [candidate for candidate in _typical(clusters, groups, _MAX_UNEVEN) if candidate not in chosen]
        warps += _recorded(run, recorder, grid, more, together)
        costs = _costs(recorder, warps)
        uneven = max(costs) > _EVEN * min(costs)
    active = min(clusters, groups) * cluster
    everything = [touch for touches in recorder.touches.values() for touch in touches if touch.sectors]
    written = sum(touch.bytes for touch in everything if touch.kind == "write")
    writes = written > 0.1 * sum(touch.bytes for touch in everything)
    l2_residence = L2Residence(run.buffers, recorder, _clusters_of(warps), clusters, chip)
    expansion = Expansion(image.module, code, recorder.forms, chip)
    shared_loads = chip.shared_loads + (1 - chip.shared_loads) / max(l2_residence.sharing, 1)
    share = len(warps) / resident  # of the resident clusters that are simulated
    l1 = share * chip.l1_kept * (chip.l1 - resident * (shared + _RESERVED_SHARED))
    l2 = share * chip.l2_kept * chip.l2 / active
    caches = [Cache(chip, l1, l2, l2_residence, shared_loads) for _ in range(cluster)]
    data = streams(expansion, recorder, warps, caches)
    simulated = clusters if together else len(warps)
    speeds = measured(chip=chip.measured)
    hot_clocks = [
        speed.best.clock for form in recorder.forms.values() if (speed := speeds.get(form)) is not None
    ]
    sample = _Sample(
        chip=chip,
        grid=grid,
        fits=fits,
        resident=resident,
        samples=len(warps),
        total=-(-clusters // groups),
        waves=clusters / (groups * fits.blocks),
        data=data,
        rates=_rates(chip, active, writes),
        least_cycles=_contended(recorder, warps, clusters, chip),
        hot_clock=min(hot_clocks, default=chip.clock),
        overhead=chip.launch + (chip.first_access if everything else 0),
        work=_work(run, grid, clusters / simulated, float(data.touches.dram.sum()) * clusters / len(warps)),
        instructions=expansion.instructions,
        ptx=ptx,
        name=name,
        simulated=simulated * cluster,
        by_values={
            what: tuple(sorted({line_of(instruction, ptx) for instruction in instructions} - {0}))
            for what, instructions in values._asdict().items()
            if instructions
        },
        uneven=_Uneven(costs, clusters, groups * resident) if uneven else None,
    )
    return sample.profile()


class WaitingError(PtxlabError):
    """Blocks of a sample wait for blocks that are not in it."""


class _Patience(Observer):
    """Ends the simulation of a sample whose threads poll the same bytes again and again.

    Most loops that do so put threads to sleep; one with a barrier in it does not.
    """

    def __init__(self) -> None:
        self._polled: dict[tuple[int, int], tuple[NDArray[np.uint64], int]] = {}

    def accessed(self, access: Access) -> None:
        """Count how often threads load from where they did the last time."""
        if not polls(access.instruction) or not len(access.threads):
            return
        key = id(access.instruction), int(access.threads[0])
        before, count = self._polled.get(key, (None, 0))
        count = count + 1 if before is not None and np.array_equal(before, access.addresses) else 0
        self._polled[key] = access.addresses, count
        if count > _MAX_POLLS:
            raise WaitingError(
                f"{access.instruction.where}: threads wait for a block that is not in the sample"
            )


def _costs(recorder: Recorder, warps: list[list[int]]) -> list[float]:
    """For each cluster, the instructions that its warps execute."""
    return [
        float(sum(len(run) for warp in group for run in recorder.streams.get(warp, []))) for group in warps
    ]


def _rates(chip: ChipTiming, active: int, writes: bool) -> Rates:
    """What an SM has of a chip while `active` SMs are at work, for kernels that write much or only read."""
    return Rates(
        l2_latency=chip.l2_latency,
        dram_latency=chip.dram_latency,
        bulk_latency=chip.bulk_latency,
        l2=max(chip.least, active / chip.sms),
        dram=min(64, (chip.mixed_rate if writes else chip.dram_rate) / active),
        barrier=chip.barrier,
        mbarrier=chip.mbarrier,
        block_start=chip.block_start,
        block_end=chip.block_end,
        queue=chip.queue,
        load_queue=chip.load_queue,
        products_queue=chip.products_queue,
        dispatch=chip.dispatch,
        l2_spread=chip.l2_spread,
        dram_spread=chip.dram_spread,
        tma_load=chip.tma_load,
        tma_store=chip.tma_store,
    )


@dataclass(frozen=True)
class _Uneven:
    """Clusters with more and less to do: what each of a sample costs, and where how many run at a time."""

    costs: list[float]
    clusters: int
    places: int  # of all SMs

    def share(self, resident: int) -> float:
        """The time of the launch over that of the sample on one SM that holds `resident` clusters.

        Clusters cost what one of the sample does, in no order, and go where there is room first.
        """
        count = len(self.costs)
        all_costs = [self.costs[int(_GOLDEN * number % 1 * count)] for number in range(self.clusters)]
        return _last_end(all_costs, self.places) / _last_end(self.costs, resident)


def _last_end(costs: list[float], places: int) -> float:
    """When the last of them ends, if each begins where there is room first.

    >>> _last_end([3, 1, 1, 1, 2], 2)
    5.0
    """
    ends = [0.0] * min(places, len(costs))
    for cost in costs:
        heapreplace(ends, ends[0] + cost)
    return max(ends)


def _recorded(
    run: BlockRun, recorder: Recorder, grid: LaunchGrid, chosen: list[int], together: bool
) -> list[list[int]]:
    """Simulate the chosen clusters, or all with `together`; returns the numbers of the chosen ones' warps."""
    cluster = grid.cluster_size
    warps: list[list[int]] = []
    for index in chosen:
        blocks = grid.block_numbers(index * cluster, (index + 1) * cluster)
        if not together:
            run.chosen(blocks)
        warps.append([int(block) * grid.warps + warp for block in blocks for warp in range(grid.warps)])
    if together:
        threads = grid.block_count * grid.lanes
        if threads > _MAX_TOGETHER:
            raise PtxlabError(
                f"blocks of this launch wait for each other, so all of them must be simulated: it has "
                f"{threads:,} threads, and the limit is {_MAX_TOGETHER:,}; take a smaller grid"
            )
        run.chosen(grid.block_numbers(0, grid.block_count))
        recorder.keep({warp for group in warps for warp in group})
    return warps


def _typical(clusters: int, groups: int, count: int) -> list[int]:
    """Clusters spread over the launch, since the first ones may have more or less to do than others.

    They are of several SMs: the clusters of one SM have regular numbers, and often similar work.

    >>> _typical(1000, 132, 2), _typical(140, 132, 2)
    ([330, 807], [66, 132])
    """
    turns = -(-clusters // groups)
    chosen = []
    for index in range(count):
        first = (2 * index + 1) * turns // (2 * count) * groups
        fraction = (0.5 + _GOLDEN * index) % 1
        place = first + int(fraction * min(groups, clusters - first))
        if place not in chosen:
            chosen.append(place)
    return chosen


@dataclass(frozen=True)
class _Sample:
    """A sample of simulated clusters: what a replay reads, and what is known without one."""

    chip: ChipTiming
    grid: LaunchGrid
    fits: Occupancy
    resident: int  # clusters that an SM runs at a time
    samples: int  # simulated clusters
    total: int  # clusters that the busiest group of SMs runs
    waves: float
    data: Streams
    rates: Rates
    least_cycles: float  # that atomic operations take
    hot_clock: float  # MHz when the tensor cores are always busy
    overhead: float  # microseconds of the launch
    work: Work
    instructions: list[PtxInstruction]
    ptx: bool
    name: str
    simulated: int  # blocks
    by_values: dict[str, tuple[int, ...]]
    uneven: _Uneven | None

    def profile(self, without: str = "") -> LaunchProfile:
        """What a replay predicts; the unit `without` takes no time."""
        data, grid = self._faster(without), self.grid
        rates = self.rates._replace(issue=0.0) if without == _ISSUE else self.rates
        replayed = min(self.total, _MAX_WAVES * self.resident) if self.uneven is None else self.samples
        rows = len(data.opcodes)
        outcome = ReplayOutcome(
            stalls=np.zeros((rows, len(REASONS))),
            counts=np.zeros(rows),
            busy=np.zeros(len(UNITS) + len(SERVICES)),
            history=np.zeros((_HISTORY, 6)),
            ends=np.zeros(replayed),
        )
        shape = Shape(grid.warps, grid.cluster_size, self.resident, self.samples, replayed)
        cycles = run_program(shape, rates, data.program, data.instructions, data.touches, outcome)
        if cycles < 0:
            raise PtxlabError("the replay of the launch came to a point at which no warp can go on")
        whole, scale = cycles, self.total / replayed
        if self.uneven is not None:
            whole *= self.uneven.share(self.resident)
            scale = self.uneven.clusters * self.resident / (self.uneven.places * replayed)
        elif self.total > replayed:
            ends = np.sort(outcome.ends)
            whole += (
                (self.total - replayed) * (ends[-1] - ends[self.resident - 1]) / (replayed - self.resident)
            )
        whole = max(whole, 0.0 if without == "L2" else self.least_cycles)
        parts = [*(outcome.busy[: len(UNITS)] / 4), *outcome.busy[len(UNITS) :]]
        parts.append(outcome.counts.sum() / grid.cluster_size / 4)
        units = {
            unit: float(part / cycles)
            for unit, part in zip((*UNITS, *SERVICES, _ISSUE), parts, strict=True)
            if unit != "memory"
        }
        clock = self.chip.clock - (self.chip.clock - self.hot_clock) * min(units["tensor core"], 1.0)
        code = self._code(data)
        by_line: dict[int, Counter[str]] = {}
        issued: Counter[int] = Counter()
        stalls = (outcome.stalls * scale).tolist()
        for row, amounts, count in zip(code, stalls, outcome.counts.tolist(), strict=True):
            issued[row.line] += int(count * scale)
            line = Counter(
                {reason: amount for reason, amount in zip(REASONS, amounts, strict=True) if amount}
            )
            if line:
                by_line.setdefault(row.line, Counter()).update(line)
        return LaunchProfile(
            chip=self.chip.name,
            microseconds=float(whole / clock + self.overhead),
            cycles=float(whole),
            clock=float(clock),
            occupancy=self.fits,
            waves=self.waves,
            units=units,
            stalls=by_line,
            reasons=sum(by_line.values(), Counter()),
            instructions=int(outcome.counts.sum() * scale),
            timeline=outcome.history[outcome.history[:, ISSUED] > 0],
            code=code,
            issued=issued,
            work=self.work,
            grid=grid,
            simulated=self.simulated,
            by_values=self.by_values,
            name=self.name,
            again=self.profile,
            errors=self.chip.errors,
        )

    def _code(self, data: Streams) -> tuple[CodeRow, ...]:
        rows = []
        instructions = data.instructions
        for kind, unit, interval, opcode, origin in zip(
            instructions.kind.tolist(), instructions.unit.tolist(), instructions.interval.tolist(),
            data.opcodes, data.origins, strict=True,
        ):  # fmt: skip
            line, text = 0, ""
            if origin >= 0:
                instruction = self.instructions[origin]
                line, text = line_of(instruction, self.ptx), instruction.opcode
            rows.append(CodeRow(opcode, text, line, _unit(kind, unit), interval))
        return tuple(rows)

    def _faster(self, unit: str) -> Streams:
        """The streams if a unit took no time."""
        if unit in ("", _ISSUE):
            return self.data
        program, instructions, touches = self.data.program, self.data.instructions, self.data.touches
        if unit in UNITS:
            interval = np.where(instructions.unit == UNITS.index(unit), 0.0, instructions.interval)
            return replace(self.data, instructions=instructions._replace(interval=interval))
        if unit in _SERVICE_COSTS:
            name = _SERVICE_COSTS[unit]
            costs = {name: getattr(touches, name) * 1e-6}
        else:  # TMA
            bulk = np.isin(instructions.kind[program.row], (BULK, BULK_STORE)) & (program.touch >= 0)
            factor = np.ones(len(touches.sectors))
            factor[program.touch[bulk]] = 1e-6
            costs = {name: getattr(touches, name) * factor for name in ("sectors", "l2", "dram")}
        return replace(self.data, touches=touches._replace(**costs))


def _unit(kind: int, unit: int) -> str:
    """The unit of a machine instruction, by the name that users see."""
    if kind in (BULK, BULK_STORE):
        return "TMA"
    if unit != MEMORY:
        return UNITS[unit]
    return "shared memory" if kind == SHARED else "L1"


def _work(run: BlockRun, grid: LaunchGrid, scale: float, fresh: float) -> Work:
    """What the launch moves and multiplies, scaled up from the sample; `fresh` sectors come from DRAM."""
    outcome = run.outcome()
    work = work_of(outcome.profile, outcome.touched.footprint, grid.block_count)
    return Work(
        blocks=work.blocks,
        tensor={types: int(count * scale) for types, count in work.tensor.items()},
        fma={name: int(count * scale) for name, count in work.fma.items()},
        wavefronts=int(work.wavefronts * scale),
        l2=int(work.l2 * scale),
        dram=int(SECTOR * fresh),
    )


def _clusters_of(warps: list[list[int]]) -> dict[int, int]:
    """The cluster of the sample that each warp belongs to."""
    return {warp: number for number, cluster in enumerate(warps) for warp in cluster}


def _contended(recorder: Recorder, warps: list[list[int]], clusters: int, chip: ChipTiming) -> float:
    """Cycles that the busiest L2 slice takes for atomic operations, with its share of the others' work."""
    groups: dict[int, float] = defaultdict(float)
    sampled = _clusters_of(warps)
    shared: dict[int, set[int]] = {}
    for (warp, _), touches in recorder.touches.items():
        if warp in sampled:
            for touch in touches:
                for sector, lanes, most in touch.updates:
                    group = sector // (chip.slice_bytes // SECTOR)
                    cycles = max(chip.atomic_sector, chip.atomic_lane * lanes, chip.atomic_word * (most - 1))
                    groups[group] += cycles
                    shared.setdefault(group, set()).add(sampled[warp])
    if not groups:
        return 0.0
    can_tell = len(warps) > 1  # with several clusters: memory that only one updates is private to it
    scale = clusters / len(warps)
    busiest = max(
        cycles * (1 if can_tell and len(shared[group]) == 1 else scale) for group, cycles in groups.items()
    )
    return busiest + max(0.0, scale * sum(groups.values()) - busiest) / chip.slices
