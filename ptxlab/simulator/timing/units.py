"""The clockwork of chips: what each instruction of the machine code occupies, and for how long.

Every figure says how it is known. Intervals are cycles for which a warp's instruction keeps a unit of its
sub-partition busy, latencies cycles until a dependent instruction may issue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...errors import PtxlabError, listing, quoted
from .replay import ALU, BRANCH, FMA, FP64, MEMORY, TENSOR, UNIFORM, XU

_MEASURED = "measured on an H200"


class Pipe(NamedTuple):
    """Where an opcode goes."""

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
    **dict.fromkeys(["LDS", "STS", "STSM", "ATOMS", "LDG", "STG", "LDL", "STL"], Pipe(MEMORY, 1, 23)),
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
    """Where an instruction goes.

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


@dataclass(frozen=True)
class Clockwork:
    """A chip: how many of what, and how fast what its SMs share is; `evidence` says how that is known."""

    name: str
    target: str
    sms: int
    clock: float  # MHz without a limit of power
    registers: int = 65536
    threads: int = 2048
    blocks: int = 32
    shared: int = 228 << 10  # bytes, of which every block takes one KiB more than it asks for
    l1: int = 256 << 10  # with shared memory
    l2: int = 50 << 20
    l1_latency: float = 34
    l2_latency: float = 285
    dram_latency: float = 690
    bulk_latency: float = 380
    #: Cycles that L2 takes for an SM's sectors and lines if all SMs ask for as much.
    load_sector: float = 0.69
    load_line: float = 0.99
    full_store: float = 1.84
    store_sector: float = 1.87
    store_line: float = 1.62
    least: float = 0.33  # of that, if no other SM asks
    shared_loads: float = 0.45  # of that, if several SMs ask for the same
    dram_rate: float = 2340  # bytes of a cycle, all SMs together
    mixed_rate: float = 2060  # if some are written
    slices: int = 94  # of L2
    slice_bytes: int = 512  # that lie side by side in a slice
    atomic_sector: float = 1.2  # cycles of a slice for a sector of a warp's atomic operation,
    atomic_lane: float = 0.15  # for each of its lanes,
    atomic_word: float = 1.48  # and for each lane but the first that updates the same word
    barrier: float = 12
    mbarrier: float = 20
    queue: float = 64  # cycles that memory instructions may be ahead of L1
    block_start: float = 160
    block_end: float = 400
    launch: float = 0.7  # microseconds of a launch that does nothing
    first_access: float = 0.15  # more if it loads or stores: addresses are translated
    evidence: str = _MEASURED


CLOCKWORKS = {each.name: each for each in (Clockwork("H200", "sm_90a", 132, 1980),)}


def find_clockwork(name: object) -> Clockwork:
    """A chip by its name."""
    if isinstance(name, str):
        for chip in CLOCKWORKS.values():
            if chip.name.lower() == name.lower().replace(" ", ""):
                return chip
    raise PtxlabError(
        f"chip={quoted(name)}: too little is known of its times; there are {listing(CLOCKWORKS)}"
    )
