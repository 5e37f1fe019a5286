"""The timing of chips: what each machine instruction occupies, and for how long.

Every figure of a `ChipTiming` has its evidence; the rows of `PIPES` do not. Intervals are the cycles for
which a warp's instruction keeps a unit of its sub-partition busy, latencies the cycles until a dependent
instruction may issue.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import PtxlabError, listing, quoted
from ..peaks import PEAKS
from .replay import ALU, BRANCH, FMA, FP64, MEMORY, TENSOR, UNIFORM, XU


class Pipe(NamedTuple):
    """The unit that executes an opcode, and how long that takes."""

    unit: int
    interval: float
    latency: float = 0.0


#: By the first part of the opcode. Fixed latencies are in the code itself, as stalls.
PIPES: dict[str, Pipe] = {
    **dict.fromkeys(["FFMA", "FADD", "FMUL", "HFMA2", "HADD2", "HMUL2"], Pipe(FMA, 1)),
    **dict.fromkeys(["IMAD", "IDP", "FFMA32I", "VIADD"], Pipe(FMA, 2)),
    **dict.fromkeys(["DFMA", "DADD", "DMUL", "DSETP", "DMNMX"], Pipe(FP64, 2, 20)),
    **dict.fromkeys(["MUFU", "POPC", "FLO", "F2I", "I2F", "F2F", "BREV", "FRND", "FCHK"], Pipe(XU, 8, 18)),
    **dict.fromkeys(["HMMA", "IMMA", "BMMA", "DMMA", "QMMA"], Pipe(TENSOR, 6)),
    **dict.fromkeys(["HGMMA", "IGMMA", "BGMMA", "QGMMA"], Pipe(TENSOR, 128, 190)),
    **dict.fromkeys(
        ["BRA", "EXIT", "BSSY", "BSYNC", "CALL", "RET", "WARPSYNC", "NOP", "BREAK", "BRX", "JMP", "YIELD"],
        Pipe(BRANCH, 1),
    ),
    **dict.fromkeys(["LDS", "STS", "STSM", "ATOMS", "STAS", "REDAS"], Pipe(MEMORY, 1, 23)),
    **dict.fromkeys(["LDG", "STG", "LDL", "STL"], Pipe(MEMORY, 1, 23)),
    **dict.fromkeys(["LD", "ST", "LDGSTS", "ATOMG", "ATOM", "RED", "SYNCS"], Pipe(MEMORY, 1, 23)),
    "SHFL": Pipe(MEMORY, 4, 23),
    "LDC": Pipe(MEMORY, 2, 30),
    "S2R": Pipe(XU, 2, 25),
    "S2UR": Pipe(UNIFORM, 2, 25),
    "R2UR": Pipe(UNIFORM, 2, 12),
    "ELECT": Pipe(ALU, 2, 12),
    "REDUX": Pipe(ALU, 8, 25),
    "CREDUX": Pipe(ALU, 8, 25),
    "MATCH": Pipe(ALU, 8, 25),
    "MEMBAR": Pipe(BRANCH, 1, 260),
    "FENCE": Pipe(BRANCH, 1, 10),
    "LDSM": Pipe(MEMORY, 1, 30),
}
_OTHERS = Pipe(ALU, 2)


def pipe_of(opcode: str) -> Pipe:
    """The pipe of an opcode.

    >>> pipe_of("FFMA"), pipe_of("IMAD.HI.U32").interval
    (Pipe(unit=0, interval=1, latency=0.0), 4)
    """
    name, _, rest = opcode.partition(".")
    pipe = PIPES.get(name)
    if pipe is None:
        pipe = Pipe(UNIFORM, 2, 12) if name.startswith("U") else _OTHERS
    if name == "IMAD" and rest.startswith("HI"):
        pipe = pipe._replace(interval=4)
    return pipe


def _row(value: float | tuple[float, float], evidence: str) -> Any:
    """A figure of a chip, and how it is known."""
    return field(default=value, metadata={"evidence": evidence})


_LAUNCHES = "measured: launches of kernels that do nothing, spin, load or store"
_STRIDES = "measured: loads and stores with strides of 1 to 32 words, 1 and 132 SMs"
_CHASE = "measured: a chain of dependent loads"
_PUBLISHED = "published: CUDA C++ Programming Guide, compute capability 9.0"
_STALLS = "measured: stalls of single machine instructions, Nsight Compute"
_FITTED = "fitted to the calibrating half of benchmarks.predict"


@dataclass(frozen=True)
class ChipTiming:
    """A chip: its resources, the speed of what its SMs share, and how each figure is known.

    >>> ChipTiming("H200", "sm_90a").evidence("atomic_word")
    'measured: atomic operations on 1 to 2^20 words'
    """

    name: str
    target: str
    #: For a chip that was not measured: the chip whose figures it has, and the evidence of its own ones.
    same_as: str = ""
    own: dict[str, str] = field(default_factory=dict)
    sms: int = _row(PEAKS["H200"].sms, "published: NVIDIA H200 data sheet")
    clock: float = _row(1980, "measured: MHz without a limit of power, nvidia-smi")
    registers: int = _row(65536, _PUBLISHED)
    threads: int = _row(2048, _PUBLISHED)
    blocks: int = _row(32, _PUBLISHED)
    shared: int = _row(228 << 10, _PUBLISHED)  # bytes; the system takes one KiB for every block
    l1: int = _row(256 << 10, _PUBLISHED)  # including shared memory
    l2: int = _row(50 << 20, "published: NVIDIA H100 white paper")
    l1_latency: float = _row(34, _CHASE)
    l2_latency: float = _row(285, _CHASE)
    dram_latency: float = _row(690, _CHASE)
    bulk_latency: float = _row(380, "measured: bulk copies of 128 bytes to 32 KiB")
    #: Cycles that L2 takes for an SM's sectors and lines if all SMs request as much.
    load_sector: float = _row(0.69, _STRIDES)
    load_line: float = _row(0.99, _STRIDES)
    full_store: float = _row(1.84, _STRIDES)
    store_sector: float = _row(1.87, _STRIDES)
    store_line: float = _row(1.62, _STRIDES)
    least: float = _row(0.33, _STRIDES)  # fraction of these cycles if no other SM requests anything
    shared_loads: float = _row(0.45, "measured: 2 to 132 SMs read the same")  # fraction of these cycles
    dram_rate: float = _row(2340, "measured: reads of 4 GB")  # bytes per cycle, all SMs together
    mixed_rate: float = _row(2060, _FITTED)  # if some are written
    slices: int = _row(94, "measured: instances of lts__t_sectors, Nsight Compute")  # of L2
    slice_bytes: int = _row(512, "measured: atomic operations on 1 to 2^20 words")  # adjacent in a slice
    #: Cycles that a slice takes for a warp's atomic operation: for a sector, for each lane, and for each lane
    #: but the first at a word.
    atomic_sector: float = _row(1.2, "measured: atomic operations on 1 to 2^20 words")
    atomic_lane: float = _row(0.15, "measured: atomic operations on 1 to 2^20 words")
    atomic_word: float = _row(1.48, "measured: atomic operations on 1 to 2^20 words")
    barrier: float = _row(12, "measured: bar.sync of 1 to 32 warps")
    mbarrier: float = _row(20, "measured: arrive and wait")
    #: Cycles of TMA for a sector that it loads, and for one that it stores.
    tma_load: float = _row(0.25, "assumed: a line of 128 bytes a cycle; 105 bytes were measured")
    tma_store: float = _row(1, "measured: tensor stores of 8 to 256 rows, one SM")
    l1_kept: float = _row(0.8, _FITTED)  # fraction of L1 that holds useful data
    l2_kept: float = _row(0.6, _FITTED)
    #: Of L2, what launches that follow each other may touch until the first of it is evicted, and from where
    #: on all of it is: if they only read, if some of it is written, and for loads that L2 evicts first.
    l2_reads: tuple[float, float] = _row((0.88, 1.04), "measured: reads of 4 to 128 MB, again and again")
    l2_mixed: tuple[float, float] = _row((0.66, 1.0), "measured: copies of 4 to 128 MB, again and again")
    l2_first: tuple[float, float] = _row(
        (0.24, 0.4), "measured: reads of 2 to 48 MB with L2::evict_first, again and again"
    )
    queue: float = _row(6, _STALLS)  # instructions of a sub-partition that may wait for shared memory
    load_queue: float = _row(64, _STALLS)  # the same for L1
    products_queue: float = _row(256, _STALLS)  # cycles that wgmma may be ahead of the tensor core
    dispatch: float = _row(2, _STALLS)  # cycles that an instruction takes longer beside wgmma
    l2_spread: float = _row(0.3, _FITTED)  # latencies vary by this fraction around the mean
    dram_spread: float = _row(0.5, _FITTED)
    block_start: float = _row(160, _LAUNCHES)
    block_end: float = _row(400, _LAUNCHES)
    launch: float = _row(0.7, _LAUNCHES)  # microseconds
    first_access: float = _row(0.15, _LAUNCHES)  # added if it loads or stores: addresses are translated
    #: Measured over predicted time of eight in ten launches, by kind of launch: those of the guide's table,
    #: 52 of published kernels that no figure was fitted to, and 80 small ones of tests/kernels.
    errors: dict[str, tuple[float, float]] = field(
        default_factory=lambda: {
            "short": (0.74, 1.27),
            "product": (0.95, 1.25),
            "memory": (0.85, 1.20),
            "other": (0.90, 1.25),
        }
    )

    def evidence(self, name: str) -> str:
        """How a figure is known: measured, published, fitted or assumed, and where from."""
        if self.same_as:
            return self.own.get(name, f"assumed: as of an {self.same_as}, the same chip with other memory")
        return str(self.__dataclass_fields__[name].metadata["evidence"])

    @property
    def measured(self) -> str:
        """The chip on which times of instructions were measured."""
        return self.same_as or self.name


#: Reads of 4 GB reach 97 % of the 4.8 TB/s in the data sheet of the H200.
_H100_MEMORY = "published: 3,352 GB/s, NVIDIA H100 white paper; of that as much as an H200 reaches of its own"
_H100_PART = PEAKS["H100"].dram / PEAKS["H200"].dram
CHIP_TIMINGS = {
    timings.name: timings
    for timings in (
        ChipTiming("H200", "sm_90a"),
        ChipTiming(
            "H100",
            "sm_90a",
            same_as="H200",
            own=dict.fromkeys(["dram_rate", "mixed_rate"], _H100_MEMORY),
            dram_rate=round(2340 * _H100_PART),
            mixed_rate=round(2060 * _H100_PART),
        ),
    )
}


def find_timing(name: object) -> ChipTiming:
    """A chip by its name."""
    if isinstance(name, str):
        for chip in CHIP_TIMINGS.values():
            if chip.name.lower() == name.lower().replace(" ", ""):
                return chip
    raise PtxlabError(
        f"chip={quoted(name)}: too little is known of its times; there are {listing(CHIP_TIMINGS)}"
    )
