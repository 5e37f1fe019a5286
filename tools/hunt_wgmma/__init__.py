"""Hundreds of thousands of warpgroup MMAs of each form, made, run and judged on the GPU itself.

`emulate` would take days for all N of `wgmma`. Here a kernel judges: the fused sum written a third time,
in integers (judge.cu), and proven in the same run against `emulate`. Inputs are those of
`ptxlab.inputs`, mixed on the GPU: each MMA takes a tile of A and, for each column of D, a column
of B and one of C, chosen by a hash from pools of some thousands. `python -m tools.hunt_wgmma --help` says
how to run it.
"""
