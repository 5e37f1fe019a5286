"""What a warp does or waits for, in the words of Nsight Compute: a row for each, by its number in `replay`.

`_REASONS` and `_count` of `replay.py` say which wait counts as which reason. The colour of a row is that of
its name in `STALLS` of `ptxlab/views/palette.py`.
"""

from __future__ import annotations

(SELECTED, FIXED_WAIT, LONG_SCOREBOARD, SHORT_SCOREBOARD, BARRIER, MBARRIER, WGMMA_WAIT, MATH_PIPE_THROTTLE,
 NOT_SELECTED, LG_THROTTLE, START, MIO_THROTTLE, DRAIN, DISPATCH_STALL) = range(14)  # fmt: skip

#: Name and meaning by number.
STALLS: dict[int, tuple[str, str]] = {
    SELECTED: ("selected", "issues an instruction"),
    FIXED_WAIT: ("wait", "waits for the fixed latency of its previous instruction"),
    LONG_SCOREBOARD: ("long scoreboard", "waits for data from L1, L2 or DRAM"),
    SHORT_SCOREBOARD: (
        "short scoreboard", "waits for data from shared memory, or for a special function",
    ),
    BARRIER: ("barrier", "waits for other warps at a barrier"),
    MBARRIER: ("mbarrier", "waits for a phase of an mbarrier: a copy, or other warps"),
    WGMMA_WAIT: ("wgmma", "waits for wgmma to complete"),
    MATH_PIPE_THROTTLE: ("math pipe throttle", "waits for a unit that is busy"),
    NOT_SELECTED: ("not selected", "could issue, but another warp does"),
    LG_THROTTLE: ("LG throttle", "waits for room in the queue of loads and stores"),
    START: ("start", "has not begun"),
    MIO_THROTTLE: (
        "MIO throttle", "waits for room in the queue of shared memory, shuffles and special functions",
    ),
    DRAIN: ("drain", "waits at its end until its stores have arrived"),
    DISPATCH_STALL: (
        "dispatch stall", "waits for registers that the tensor core is reading and writing",
    ),
}  # fmt: skip

#: The names, by number.
REASONS = tuple(STALLS[number][0] for number in range(len(STALLS)))
#: What they mean, by name.
MEANINGS = dict(STALLS.values())
