"""The time of a launch on a chip, predicted: `k.profile(...)`."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...gpu.records import measured
from ..decode import Image
from ..launch_profile import CodeRow, LaunchProfile, Occupancy
from ..memory import SHARED_START
from ..peaks import Work
from ..ptx.syntax import PtxInstruction
from ..result import line_of, work_of
from ..simulate import Run, Setup
from ..threads import Grid
from ..traffic import SECTOR
from .code import MachineCode, instruction_numbers, widths
from .program import L1, Expansion, streams
from .record import Recorder
from .replay import BULK, BULK_STORE, MEMORY, REASONS, SHARED, UNITS, Rates, replayer
from .units import Clockwork

_MOST_CLUSTERS = 4  # of a sample
_MOST_WAVES = 3  # that are replayed one by one
_HISTORY = 200_000
_GRANULE = 256  # registers are given to warps in such pieces
_SERVICES = ("shared memory", "L1", "L2", "DRAM")


def occupancy(grid: Grid, registers: int, shared: int, chip: Clockwork) -> Occupancy:
    """What fits on an SM."""
    warps = grid.warps
    each = -(-max(registers, 1) * 32 // _GRANULE) * _GRANULE
    limits = {
        "registers": chip.registers // (each * warps),
        "shared memory": chip.shared // (shared + 1024),
        "threads": chip.threads // (32 * warps),
        "blocks": chip.blocks,
    }
    limit = min(limits, key=lambda name: limits[name])
    blocks = limits[limit]
    if not blocks:
        raise PtxlabError(f"no block fits on an SM of {chip.name}: too much {limit}")
    return Occupancy(blocks, blocks * warps, limit, registers, shared)


def profile(
    image: Image, setup: Setup, code: MachineCode, chip: Clockwork, *, name: str = "", ptx: bool = False
) -> LaunchProfile:
    """Simulate some blocks, and replay what an SM issues; `ptx`: lines are those of the PTX."""
    grid = setup.grid
    shared = image.static_shared - SHARED_START + grid.shared
    fits = occupancy(grid, code.registers, shared, chip)
    cluster = grid.cluster_size
    groups = chip.sms // cluster  # of SMs that hold a cluster each
    clusters = grid.block_count // cluster
    held = min(fits.blocks, -(-clusters // groups))
    wanted = [index * groups for index in range(held) if index * groups < clusters][:_MOST_CLUSTERS]
    recorder = Recorder(instruction_numbers(image.module), widths(code))
    run = Run(image, setup, [recorder])
    warps: list[list[int]] = []
    for index in wanted:
        blocks = grid.block_numbers(index * cluster, (index + 1) * cluster)
        run.chosen(blocks)
        warps.append([int(block) * grid.warps + warp for block in blocks for warp in range(grid.warps)])
    active = min(clusters, groups) * cluster
    everything = [touch for touches in recorder.touches.values() for touch in touches if touch.sectors]
    writes = sum(touch.bytes for touch in everything if touch.kind == "write") > 0.1 * sum(
        touch.bytes for touch in everything
    )
    loads = any(touch.kind == "read" for touch in everything)
    fraction, sharing = _sharing(run, recorder, warps, clusters, chip)
    speeds = measured(chip=chip.name)
    expansion = Expansion(image.module, code, recorder.forms, chip)
    shared_loads = max(chip.shared_loads, 1 / max(sharing, 1))
    l1 = L1(chip, int(0.8 * (chip.l1 - held * (shared + 1024))) // held, fraction, shared_loads)
    data = streams(expansion, recorder, warps, l1)
    rates = Rates(
        chip.l2_latency, chip.dram_latency, chip.bulk_latency,
        max(chip.least, active / chip.sms), min(64, (chip.mixed_rate if writes else chip.dram_rate) / active),
        chip.barrier, chip.mbarrier, chip.block_start, chip.block_end, 64,
    )  # fmt: skip
    total = -(-clusters // groups)
    replayed = min(total, _MOST_WAVES * held)
    stalls = np.zeros((len(data.op), len(REASONS)))
    counts, busy = np.zeros(len(data.op)), np.zeros(len(UNITS) + len(_SERVICES))
    history, ends = np.zeros((_HISTORY, 6)), np.zeros(replayed)
    shape = np.array([grid.warps, cluster, held, len(warps), replayed, data.events.shape[1], _HISTORY])
    cycles = replayer(len(data.stream) * replayed // len(warps))(
        data.op, data.stream, data.bounds, data.touch, data.links, data.linked, data.events, shape,
        np.array(rates, dtype=np.float64), stalls, counts, busy, history, ends,
    )  # fmt: skip
    if cycles < 0:
        raise PtxlabError("the replay of the launch came to a point at which no warp can go on")
    scale = 1.0
    whole = cycles
    if total > replayed:
        ends = np.sort(ends)
        rate = (ends[-1] - ends[held - 1]) / (replayed - held)
        whole = cycles + (total - replayed) * rate
        scale = whole / cycles
    whole = max(whole, _contended(recorder, warps, clusters, chip))
    utilisation = {
        unit: float(busy[place] / (4 * cycles)) for place, unit in enumerate(UNITS) if unit != "memory"
    }
    utilisation |= {unit: float(busy[len(UNITS) + place] / cycles) for place, unit in enumerate(_SERVICES)}
    hot = [known.best.clock for form in recorder.forms.values() if (known := speeds.get(form)) is not None]
    clock = chip.clock - (chip.clock - min(hot, default=chip.clock)) * utilisation["tensor core"]
    by_line: dict[int, Counter[str]] = {}
    reasons: Counter[str] = Counter()
    issued: Counter[int] = Counter()
    instructions: list[PtxInstruction] = expansion.instructions
    code_rows = []
    for row, origin in enumerate(data.origins):
        line, opcode = 0, ""
        if origin >= 0:
            instruction = instructions[origin]
            line, opcode = line_of(instruction, ptx), instruction.opcode
        issued[line] += int(counts[row] * scale)
        interval = float(data.op[row, 2])
        code_rows.append(CodeRow(data.opcodes[row], opcode, line, _unit(data.op[row]), interval))
        for reason, amount in zip(REASONS, stalls[row].tolist(), strict=True):
            if amount:
                by_line.setdefault(line, Counter())[reason] += amount * scale
                reasons[reason] += amount * scale
    microseconds = whole / clock + chip.launch + (chip.first_load if loads else 0)
    return LaunchProfile(
        chip=chip.name,
        microseconds=float(microseconds),
        cycles=float(whole),
        clock=float(clock),
        occupancy=fits,
        waves=clusters / (groups * fits.blocks),
        units=utilisation,
        stalls=by_line,
        reasons=reasons,
        instructions=int(counts.sum() * scale),
        timeline=history[history[:, 4] > 0],
        code=tuple(code_rows),
        issued=issued,
        work=_work(run, grid, clusters / len(warps), float(data.touch[:, 3].sum())),
        grid=grid,
        name=name,
    )


def _unit(row: NDArray[np.float64]) -> str:
    """The unit of a machine instruction, as users know it."""
    kind, unit = int(row[0]), int(row[1])
    if kind in (BULK, BULK_STORE):
        return "TMA"
    if unit != MEMORY:
        return UNITS[unit]
    return "shared memory" if kind == SHARED else "L1"


def _work(run: Run, grid: Grid, scale: float, fresh: float) -> Work:
    """What the launch moves and multiplies, from the clusters of the sample; `fresh` sectors are DRAM's."""
    outcome = run.outcome()
    work = work_of(outcome.profile, outcome.touched.footprint, grid.block_count)
    return Work(
        blocks=work.blocks,
        tensor={types: int(count * scale) for types, count in work.tensor.items()},
        fma={name: int(count * scale) for name, count in work.fma.items()},
        wavefronts=int(work.wavefronts * scale),
        l2=int(work.l2 * scale),
        dram=int(SECTOR * fresh * scale),
    )


def _sharing(
    run: Run, recorder: Recorder, warps: list[list[int]], clusters: int, chip: Clockwork
) -> tuple[float, float]:
    """Of what a cluster is the first to touch, the part that comes from DRAM; how many ask for the same.

    Launches follow each other: what fits into L2 is there from the one before.
    """
    first = set(warps[0])
    lines: set[int] = set()
    pairs: set[tuple[bool, int]] = set()
    boxes: dict[tuple[bool, int], int] = {}
    for (warp, _), touches in recorder.touches.items():
        if warp not in first:
            continue
        for touch in touches:
            writes = touch.kind == "write"
            for each in touch.sectors:
                if touch.box_bytes:
                    boxes.update({(writes, box): touch.box_bytes for box in each.tolist()})
                    continue
                lines.update((each >> 2).tolist())
                pairs.update((writes, pair) for pair in (each >> 1).tolist())
    size = 64 * len(pairs) + sum(boxes.values())
    if not size:
        return 0.0, 1.0
    arrays = {id(buffer): buffer.size for buffer in run.buffers if buffer.title.startswith("argument")}
    arrays |= {id(each.array): each.array.nbytes for each in recorder.maps}
    everything = float(sum(arrays.values()))
    resident = min(clusters * (128 * len(lines) + sum(boxes.values())), everything)
    sharing = size * clusters / everything
    if resident <= 0.8 * chip.l2:
        return 0.0, sharing
    kinds = len({writes for writes, _ in [*pairs, *boxes]})
    return min(1.0, kinds * everything / (size * clusters)), sharing


def _contended(recorder: Recorder, warps: list[list[int]], clusters: int, chip: Clockwork) -> float:
    """Cycles that atomic operations take at the word and at the sector that most of them go to."""
    words: Counter[int] = Counter()
    sectors: Counter[int] = Counter()
    sampled = {warp for cluster in warps for warp in cluster}
    for (warp, _), touches in recorder.touches.items():
        if warp in sampled:
            for touch in touches:
                if touch.kind == "atomic":
                    for each in touch.sectors:
                        sectors.update(each.tolist())
                        if len(each) == 1:
                            words[int(each[0])] += touch.bytes // 4
    scale = clusters / len(warps)
    together = [count for count in words.values() if count > len(warps)]  # not what one cluster alone updates
    return scale * max(
        chip.atomic_lane * max(together, default=0),
        chip.atomic_sector * max((count for count in sectors.values() if count > len(warps)), default=0),
    )
