"""How long a kernel takes on a chip, and what its warps wait for, without the chip.

`predict.py`, beside this package, simulates a sample of the blocks with a `Recorder`. `kernel_code.py` has
the machine code, `instruction_streams.py` what each warp issues of it, `l2_residence.py` what comes from
DRAM, `chip_timings.py` what everything takes. `replay.py` runs that cycle by cycle, by the rule that
`replay_plain.py` states.

What is approximated, and where. What it costs in measured launches is in `docs/guide/prediction.md`.

The launch
- Up to four clusters of an SM stand for all, eight more if their work differs: `predict.py`, `_typical`. The
  work of the others is then drawn from these: `predict.py`, `_Uneven`.
- Three waves are replayed; further ones take as long as the last blocks of those: `predict.py`, `_MAX_WAVES`.
- One SM, or those of a cluster, stand for the chip, with their part of what all share: `predict.py`, `Rates`.
- The clock falls in proportion to how busy the tensor cores are, whatever else takes power: `predict.py`,
  `hot_clock`.
- Waiting for a value that another block writes takes no time: `recorder.py`, which knows barriers alone.

Instructions
- Instructions are always in the instruction cache; registers have no banks, except that others issue
  `dispatch` cycles later beside wgmma: `replay.py`, `_choose`.
- An opcode of no known unit goes to the ALU, one that begins with U to the uniform unit: `chip_timings.py`,
  `pipe_of`.
- Slow paths that the compiler calls, as in a division, are not taken: `instruction_streams.py`, `Expansion`;
  its internal functions are left out: `kernel_code.py`.
- A machine instruction belongs to the copy of an unrolled loop that its position says:
  `instruction_streams.py`, `_version`.
- Where a PTX instruction that synchronises has no machine instruction, it is a step of two cycles:
  `instruction_streams.py`, `_row_without_code`.
- One of several machine instructions of an emulated matrix instruction takes as long as in a native form:
  `instruction_streams.py`, `_matrix_timing`.

Memory
- L1 and L2 keep what was used last, with no sets; useful data fill fractions `l1_kept` and `l2_kept` of them:
  `instruction_streams.py`, `_LruCache`.
- The caches see all accesses in the order of the steps of their warps, not in that of the replay:
  `instruction_streams.py`, `_touches`.
- Launches follow each other, as in a loop that is timed, and L2 keeps arrays as wholes or in part:
  `l2_residence.py`.
- Latencies of L2 and DRAM are spread evenly around a mean, by a generator of fixed numbers; DRAM has no rows,
  L2 no halves: `replay.py`, `_access`.
- A copy of a box takes as long as its bytes, however narrow its rows: `chip_timings.py`, `tma_store`.
- Atomic operations take the time of the busiest slice of L2, or none: `predict.py`, `_contended`.
- Events of one mbarrier are counted by warps, not by lanes or bytes: `recorder.py`, `_signal`.
"""
