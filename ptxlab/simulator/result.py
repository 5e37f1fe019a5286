"""What a simulation reports: the `Result` of a launch, and the observers that count for it.

Hazards are `hazard.py`'s, predicted times `timing/launch_profile.py`'s; `views` shows all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_flag, as_int
from .._util.display import Displayed
from ..errors import PtxlabError, listing, quoted
from ..isa.operation import Operation
from .deferred import RegisterOperands, WarpgroupOperands
from .events import MatrixInputs, Observer
from .hazard import Hazard
from .launch_threads import LaunchGrid, Threads
from .peaks import Bound, Work, bounds, find_card
from .ptx.syntax import PtxInstruction
from .traffic import SECTOR, Footprint, Moved, Traffic
from .warp_trace import WarpTrace

#: Elements in a register of a packed type.
_PACKED = {"f16x2": 2, "bf16x2": 2, "f32x2": 2}


class Counts(Observer):
    """How many warps executed each instruction."""

    def __init__(self) -> None:
        self._counts: dict[int, list[int]] = {}
        self._instructions: dict[int, PtxInstruction] = {}

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Count an instruction once for each warp."""
        count = self._counts.get(id(instruction))
        if count is None:
            count = self._counts[id(instruction)] = [0, 0]
            self._instructions[id(instruction)] = instruction
        count[0] += threads.warps
        count[1] += threads.count

    def profile(self, traffic: Traffic) -> tuple[Executed, ...]:
        """Every executed instruction, in the order of the PTX, with what it moved."""
        nothing = Moved()
        profiles = [
            Executed(self._instructions[key], warps, threads, traffic.moved.get(key, nothing))
            for key, (warps, threads) in self._counts.items()
        ]
        return tuple(sorted(profiles, key=_place))


class LimitError(PtxlabError):
    """A launch executes more instructions than `limit`."""

    @classmethod
    def of(cls, most: int, where: str = "") -> LimitError:
        """The error of a launch whose warps have executed `most` instructions."""
        return cls(
            f"{where}warps have executed {most:,} instructions, which limit= allows, and the kernel goes on; "
            "does a loop never end? If not, give a larger limit"
        )


class Limit(Observer):
    """Ends a simulation after a number of instructions, counted once for each warp."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Count an instruction; more than the limit are an error."""
        self._count += threads.warps
        if self._count > self._most:
            raise LimitError.of(self._most, f"{instruction.where}: ")


@dataclass(frozen=True)
class Executed:
    """One instruction of the PTX: how many warps and threads executed it, and what it moved."""

    instruction: PtxInstruction
    warps: int
    threads: int
    moved: Moved

    @property
    def fma(self) -> tuple[str, int]:
        """Type and number of the multiply-adds of a floating-point `fma` or `mad`; 0 for others."""
        parts = self.instruction.parts
        if parts[0] not in ("fma", "mad") or "f" not in parts[-1]:
            return "", 0
        return parts[-1].removesuffix("x2"), self.threads * _PACKED.get(parts[-1], 1)


def _place(profile: Executed) -> tuple[int, int]:
    return profile.instruction.line, profile.instruction.index


def line_of(instruction: PtxInstruction, ptx: bool) -> int:
    """An instruction's line in the PTX, or in the source: 0 where it has none there."""
    if ptx:
        return instruction.line
    source = instruction.source
    return 0 if source is None else source.line


def merged(profiles: Iterable[Executed]) -> list[Executed]:
    """Profiles with those of the same instruction added up, in the order of the PTX."""
    totals: dict[tuple[int, int], Executed] = {}
    for executed in sorted(profiles, key=_place):
        total = totals.get(_place(executed))
        if total is not None:
            moved = Moved()
            moved.include(total.moved)
            moved.include(executed.moved)
            executed = Executed(
                executed.instruction, total.warps + executed.warps, total.threads + executed.threads, moved
            )
        totals[_place(executed)] = executed
    return list(totals.values())


@dataclass
class LineProfile(Moved):
    """All instructions of one line: what was executed `by_opcode`, and what it moved.

    `warps` counts executed instructions.
    """

    line: int
    warps: int = 0
    by_opcode: Counter[str] = field(default_factory=Counter)

    @property
    def sectors_per_request(self) -> float:
        """32-byte sectors that a warp touches at once: 4 for neighbouring words, 32 at worst."""
        return self.sectors / self.requests if self.requests else 0.0

    def add(self, profile: Executed) -> None:
        """Add one instruction."""
        self.warps += profile.warps
        self.by_opcode[profile.instruction.opcode] += profile.warps
        self.include(profile.moved)
        self.multiply_adds += profile.fma[1]


@dataclass(slots=True)
class _RecordedProduct:
    """A matrix instruction of several warps or warpgroups."""

    instruction: PtxInstruction
    operands: MatrixInputs
    warps: NDArray[np.int64]  # of the launch, the first of each group


class Products(Observer):
    """What matrix instructions read, up to a limit of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes
        self.items: list[_RecordedProduct] = []
        self._computed = 0  # items of batches that are done
        self.complete = True
        self._last: tuple[Threads, int, NDArray[np.int64]] | None = None  # warps of threads

    def multiplied(self, instruction: PtxInstruction, operands: MatrixInputs, threads: Threads) -> None:
        """Keep the operands; they are not copied."""
        size = operands.nbytes
        if size > self._left:
            self.complete = False
            return
        self._left -= size
        lanes = operands.ins.lanes
        if self._last is None or self._last[0] is not threads or self._last[1] != lanes:
            batch = threads.batch
            first = threads.indices[::lanes]
            blocks, lane = np.divmod(first, batch.block_lanes)
            self._last = threads, lanes, batch.numbers[blocks] * batch.grid.warps + lane // 32
        self.items.append(_RecordedProduct(instruction, operands, self._last[2]))

    def end(self) -> None:
        """The batch is done."""
        self._last = None
        for item in self.items[self._computed :]:
            if isinstance(item.operands, RegisterOperands | WarpgroupOperands):
                item.operands = item.operands.computed()
        self._computed = len(self.items)

    def extend(self, other: Products) -> None:
        """Add what blocks in another process read."""
        self.items += other.items
        self.complete &= other.complete


@dataclass
class Result(Displayed):
    """The result of a simulated launch, besides the arrays that the kernel wrote.

    A notebook shows the source with counts and conflicts in its margin.

    `counts` says how many warps executed each opcode, `lines` the same by line of the source (of the PTX, if
    that was given), `conflicts` the wavefronts of shared memory beyond the least, by line: none without bank
    conflicts. `profile` has everything by instruction, `output` what the kernel printed, `name` the kernel's.
    `hazards` has what can give wrong results, `notes` what PTX asks for and hardware has not been seen to
    need.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    >>> result = ptxlab.kernel(source).simulate(2, 32, np.ones(32, np.float32))
    >>> result.counts["ld.global.f32"], result.bounds("H200")[0].resource
    (2, 'DRAM')
    """

    counts: Counter[str] = field(default_factory=Counter, init=False)
    lines: Counter[int] = field(default_factory=Counter, init=False)
    output: str = ""
    hazards: list[Hazard] = field(default_factory=list)
    notes: list[Hazard] = field(default_factory=list)
    conflicts: Counter[int] = field(default_factory=Counter, init=False)
    profile: tuple[Executed, ...] = ()
    footprint: Footprint = field(default_factory=Footprint)
    grid: LaunchGrid = field(default_factory=lambda: LaunchGrid((1, 1, 1), (1, 1, 1)))
    trace: WarpTrace | None = None  # of one warp, with trace=
    source: str = ""
    ptx: str = ""
    name: str = ""
    _products: Products = field(default_factory=lambda: Products(0), repr=False)

    def __post_init__(self) -> None:
        for executed in self.profile:
            self.counts[executed.instruction.opcode] += executed.warps
        for number, line in self.by_line().items():
            self.lines[number] += line.warps
            if line.conflicts:
                self.conflicts[number] += line.conflicts

    def by_line(self, ptx: bool = False) -> dict[int, LineProfile]:
        """What every line of the source, or of the PTX, executed and moved; 0 is for code without a line.

        >>> import numpy as np, ptxlab
        >>> text = 'extern "C" __global__ void twice(float* x) { x[2 * threadIdx.x] *= 2; }'
        >>> ptxlab.kernel(text).simulate(1, 32, np.ones(64, np.float32)).by_line()[1].sectors_per_request
        8.0
        """
        ptx = as_flag(ptx, "ptx") or self.source == self.ptx
        profiles: dict[int, LineProfile] = {}
        for executed in self.profile:
            number = line_of(executed.instruction, ptx)
            profiles.setdefault(number, LineProfile(number)).add(executed)
        return dict(sorted(profiles.items()))

    @property
    def kinds(self) -> Counter[str]:
        """Instructions executed by warps, by what they are: "mma", "ld.shared", "bar", ..."""
        total: Counter[str] = Counter()
        for executed in self.profile:
            total[_kind(executed.instruction)] += executed.warps
        return total

    @property
    def bytes(self) -> dict[str, int]:
        """Bytes that threads moved, e.g. ``{"global read": 4096, "shared write": 4096}``."""
        total: Counter[tuple[str, str]] = Counter()
        for executed in self.profile:
            total += executed.moved.bytes
        return {f"{space} {kind}": count for (space, kind), count in sorted(total.items())}

    @property
    def work(self) -> Work:
        """What takes time on a chip: multiply-adds, wavefronts, bytes through L2 and from DRAM."""
        return work_of(self.profile, self.footprint, self.grid.block_count)

    def bounds(self, chip: str = "H200") -> tuple[Bound, ...]:
        """The least time that the launch takes on a chip, by resource; the first one limits the kernel.

        Published peaks of H200, H100, A100 and RTX 4090: no kernel is faster, most are slower. Data comes
        from DRAM once and results go back once; a launch whose data is in L2 already may beat that line.
        """
        return bounds(self.work, find_card(chip))

    def matrix_instructions(self, warp: int = 0) -> list[tuple[int, str]]:
        """The matrix instructions that a warp executed, in order: the source line and the name of each."""
        return [
            (product.instruction.source_line, product.operands.ins.mnemonic)
            for product, _ in self._products_of(as_int(warp, "warp"))
        ]

    def operands(self, line: int | None = None, warp: int = 0, *, index: int = 0) -> Operation:
        """What a matrix instruction read in one warp: registers, or codes where they came from shared memory.

        Warps are counted through the launch, block by block. `index` chooses among the matrix instructions
        that the warp executed, or among those on one source line: 2 is the third. `.explore()` opens them.

        >>> import numpy as np, ptxlab
        >>> source = '''extern "C" __global__ void f(unsigned* x) {
        ...   asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%0, %0, %0, %0}, "
        ...     "{%1, %1}, {%0, %1};" : "+r"(x[0]), "+r"(x[1]));
        ... }'''
        >>> x = np.array([0x3C003C00, 0x40004000], dtype=np.uint32)
        >>> result = ptxlab.kernel(source).simulate(1, 32, x)
        >>> seen = result.operands(warp=0, index=0)
        >>> seen.ins.b.unpack(seen.b)[0, :3]
        array([2., 2., 2.], dtype=float16)
        """
        number, place = as_int(warp, "warp"), as_int(index, "index")
        wanted = None if line is None else as_int(line, "line")
        matching = [
            (product, position)
            for product, position in self._products_of(number)
            if wanted is None or product.instruction.source_line == wanted
        ]
        if 0 <= place < len(matching):
            product, position = matching[place]
            return product.operands.item(position)
        where = "" if wanted is None else f" on line {quoted(wanted)}"
        lines = sorted({product.instruction.source_line for product in self._products.items})
        reason = f"it executed {len(matching)}{where}; matrix instructions are on lines {listing(lines)}"
        if not lines:
            reason = "the kernel executed none"
        if not self._products.complete:
            reason += "; only the first were kept"
        raise PtxlabError(f"matrix instruction {quoted(place)} of warp {quoted(number)}: {reason}")

    def _products_of(self, warp: int) -> list[tuple[_RecordedProduct, int]]:
        """What was kept of the matrix instructions of a warp, each with the place of its registers."""
        products = []
        for product in self._products.items:
            warps_each = max(product.operands.ins.lanes // 32, 1)  # one thread issues tcgen05.mma
            last = product.warps + warps_each - 1
            group = np.flatnonzero((product.warps <= warp) & (warp <= last))
            if len(group):
                products.append((product, int(group[0])))
        return products

    def __repr__(self) -> str:
        total = sum(self.counts.values())
        noun = "instruction" if total == 1 else "instructions"
        text = f"{total:,} {noun} executed by warps, {len(self.counts)} different"
        for name, findings in (("hazard", self.hazards), ("note", self.notes)):
            if findings:
                text += f", {len(findings)} {name}{'s' if len(findings) > 1 else ''}"
        return f"<{text}>"

    def __str__(self) -> str:
        lines = [repr(self)]
        lines += [f"hazard: {hazard.sentence}" for hazard in self.hazards]
        lines += [f"note: {note.sentence} ({note.evidence})" for note in self.notes]
        return "\n".join(lines)


_SPACES = ("global", "shared", "local", "const", "param")


def _kind(instruction: PtxInstruction) -> str:
    """The first part of the opcode, with the space of an access and the second part of asynchronous ones."""
    parts = instruction.parts
    if parts[0] in ("ld", "st", "atom", "red"):
        space = next((part.split("::")[0] for part in parts if part.split("::")[0] in _SPACES), "")
        return f"{parts[0]}.{space}" if space else parts[0]
    if parts[0] in ("cp", "mbarrier", "wgmma", "wmma"):
        return ".".join(parts[:2]) if "bulk" not in parts else "cp.async.bulk"
    return parts[0]


def work_of(profiles: Iterable[Executed], touched: Footprint, blocks: int) -> Work:
    """What a launch of `blocks` blocks does that takes time."""
    tensor: Counter[tuple[str, str]] = Counter()
    fma: Counter[str] = Counter()
    past_l1 = wavefronts = 0
    for executed in profiles:
        moved = executed.moved
        if moved.multiply_adds:
            tensor[moved.operand_type, moved.accumulator] += moved.multiply_adds
        name, count = executed.fma
        if count:
            fma[name] += count
        past_l1 += moved.sectors_past_l1
        wavefronts += moved.wavefronts
    return Work(
        blocks=blocks,
        tensor=dict(tensor),
        fma=dict(fma),
        wavefronts=wavefronts,
        l2=SECTOR * (past_l1 + touched.cached),
        dram=SECTOR * (touched.read + touched.written),
    )
