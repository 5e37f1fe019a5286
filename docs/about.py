"""What the pages say in words: the one part of the reference that is not computed."""

from __future__ import annotations

__all__ = ["FAMILIES", "MANUAL", "MODIFIERS"]

#: NVIDIA's manual; its sections are named, since their anchors change.
MANUAL = "https://docs.nvidia.com/cuda/parallel-thread-execution/"

#: family -> (one sentence, sections of the manual)
FAMILIES: dict[str, tuple[str, str]] = {
    "mma": (
        "One warp multiplies two small matrices that lie in its registers and adds a third: D = A B + C. Every lane holds a few elements of each.",
        "9.7.14.5, Matrix multiply-accumulate operation using mma instruction",
    ),
    "mma.sp": (
        "As mma, with an A of which at least half is zero in a fixed pattern. Only the other half is stored; "
        "metadata nibbles in a register say where it belongs.",
        "9.7.14.6, Matrix multiply-accumulate operation using mma.sp instruction with sparse matrix A",
    ),
    "wmma": (
        "One warp multiplies fragments that wmma.load has loaded. The manual leaves open which lane holds which element; "
        "the fragments shown here are those that an H200 (sm_90) loads.",
        "9.7.14.4, Matrix multiply-accumulate operation using wmma instructions",
    ),
    "wmma.load": (
        "Loads a matrix from memory into the fragment that wmma.mma wants, row by row or column by column, with any stride.",
        "9.7.14.4, Matrix multiply-accumulate operation using wmma instructions",
    ),
    "wmma.store": (
        "Stores the fragment of D to memory, row by row or column by column, with any stride.",
        "9.7.14.4, Matrix multiply-accumulate operation using wmma instructions",
    ),
    "wgmma": (
        "Four warps, a warpgroup of 128 lanes, multiply a 64-row A with a B in shared memory, asynchronously. A comes from registers or from "
        "shared memory; the accumulator stays in registers.",
        "9.7.15.5, Asynchronous warpgroup-level matrix multiply-accumulate operation using wgmma.mma_async instruction",
    ),
    "wgmma.sp": (
        "As wgmma, with a structured sparse A: only half of it is stored, and metadata nibbles say where it belongs.",
        "9.7.15.6, Asynchronous warpgroup-level multiply-and-accumulate operation using wgmma.mma_async.sp instruction",
    ),
    "ldmatrix": (
        "A warp loads one, two or four small matrices from shared memory straight into fragments: lanes give the addresses of rows, "
        "and other lanes receive the elements.",
        "9.7.14.5, Warp-level matrix load instruction: ldmatrix",
    ),
    "stmatrix": (
        "The way back: a warp stores fragments as rows of small matrices in shared memory.",
        "9.7.14.5, Warp-level matrix store instruction: stmatrix",
    ),
    "movmatrix": (
        "A warp transposes an 8x8 matrix of 16-bit elements in its registers.",
        "9.7.14.5, Warp-level matrix transpose instruction: movmatrix",
    ),
}

MODIFIERS: dict[str, str] = {
    "selector": "which of the lanes that could hold the metadata is read",
    "scale_d": "0: D = A B, 1: D = A B + D",
    "imm_scale_a": "the sign that A is multiplied with",
    "imm_scale_b": "the sign that B is multiplied with",
    "imm_trans_a": "1: A lies M-major in shared memory",
    "imm_trans_b": "1: B lies N-major in shared memory",
    "byte_id_a": "the first byte of the register that holds scales of A",
    "byte_id_b": "the first byte of the register that holds scales of B",
    "thread_id_a": "which pair of each four lanes gives the scales of A",
    "thread_id_b": "which of each four lanes gives the scales of B",
}
