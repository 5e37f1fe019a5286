"""Sets of opcodes, by name: what readers, checks and the machine know of an instruction besides its builder.

What else a new opcode needs, `instructions/__init__.py` says.
"""

from __future__ import annotations

__all__ = [
    "ADDRESS_SUMS", "ADDRESS_UNIONS", "ANYWHERE_TYPED", "COPY_VALUES", "DECIDE", "FEWEST_OPERANDS",
    "HAVE_MASK", "MERGE_BITS", "NOT_SIMULATED", "NO_RESULT", "ONLY_REGISTERS", "TYPES", "WARP_WIDE",
]  # fmt: skip

#: Instructions without a result: their first operand is read.
NO_RESULT = frozenset({
    "applypriority", "bra", "brkpt", "brx", "call", "cp", "discard", "exit", "fence", "griddepcontrol",
    "membar", "nanosleep", "pmevent", "prefetch", "prefetchu", "red", "ret", "setmaxnreg", "st",
    "stackrestore", "stmatrix", "trap",
})  # fmt: skip
#: Instructions with one type, which ptxas takes anywhere among the qualifiers.
ANYWHERE_TYPED = frozenset({"atom", "ld", "ldu", "mapa", "match", "red", "redux", "st"})
#: Instructions with a builder that change only registers: a loop of these may be a thread that waits.
#: Whether an `atom` changes memory, `Memory` reports.
ONLY_REGISTERS = frozenset({
    "activemask", "and", "applypriority", "atom", "bra", "brx", "createpolicy", "cvta", "discard", "elect",
    "fence", "getctarank", "isspacep", "ld", "ldu", "mapa", "match", "membar", "mov", "nanosleep", "not",
    "or", "prefetch", "prefetchu", "redux", "selp", "shfl", "vote", "xor",
})  # fmt: skip
#: Instructions that only copy values: an unwritten register does not matter there yet.
COPY_VALUES = frozenset({"mov", "selp", "shfl", "prmt", "bfi"})
#: Instructions that combine bits of several registers: the next of them mostly overwrites unwritten bits.
MERGE_BITS = frozenset({"prmt", "bfi"})
#: Instructions whose result in one lane depends on values of others.
WARP_WIDE = frozenset({"vote", "match", "redux", "activemask", "movmatrix", "wmma"})
#: Instructions without a result that only decide what happens next.
DECIDE = frozenset({"bra", "brx", "ret", "exit", "call", "trap"})
#: Instructions that name the lanes that take part (`bar` only as `bar.warp.sync`).
HAVE_MASK = frozenset({"shfl", "vote", "match", "redux", "elect", "bar"})
#: Instructions whose result is one of their sources: an address stays one into the same array.
ADDRESS_UNIONS = frozenset({"mov", "cvt", "cvta", "selp", "slct", "shfl"})
#: Instructions of whose sources at most one is an address: the result is one into its array.
ADDRESS_SUMS = frozenset({"add", "and", "or", "xor", "lop3", "min", "max"})

#: Instructions of PTX that are not simulated in any form.
NOT_SIMULATED = frozenset({
    "fabric", "istypep", "spcompress", "spdecompress", "suld", "suq", "sured", "sust", "tex", "tld4", "txq",
    "vabsdiff", "vadd", "vmad", "vmax", "vmin", "vset", "vshl", "vshr", "vsub",
})  # fmt: skip

#: The fewest operands; an instruction with fewer is refused.
FEWEST_OPERANDS = {
    "bar": 1, "elect": 2, "match": 2, "mov": 2, "redux": 2, "shfl": 2, "st": 2, "stmatrix": 2, "vote": 2,
}  # fmt: skip

_INTEGERS = "b16 b32 b64 u16 u32 u64 s16 s32 s64"
#: The types of instructions that `ptxlab.numerics.scalar` does not have, by name and qualifiers; the entry
#: with the most qualifiers counts.
TYPES = {
    "mov": f"pred {_INTEGERS} b128 f32 f64",
    "selp": f"{_INTEGERS} f32 f64",
    **dict.fromkeys(("ld", "ldu", "st"), f"b8 u8 s8 {_INTEGERS} b128 f32 f64"),
    "cvta": "u32 u64",
    "mapa": "u32 s32 u64 s64",
    "getctarank": "u32 s32 u64 s64",
    "createpolicy": "b64",
    **dict.fromkeys(("alloca", "stacksave", "stackrestore"), "u32 u64"),
    "shfl": "b32",
    "activemask": "b32",
    "match": "b32 b64",
    "vote.ballot": "b32",
    **dict.fromkeys(("vote.all", "vote.any", "vote.uni"), "pred"),
    **dict.fromkeys(("bar.red.popc", "barrier.red.popc"), "u32"),
    **dict.fromkeys(("bar.red.and", "bar.red.or", "barrier.red.and", "barrier.red.or"), "pred"),
    "mbarrier": "b64",
    "redux.add": "u32 s32",
    **dict.fromkeys(("redux.min", "redux.max"), "u32 s32 f32"),
    **dict.fromkeys(("redux.and", "redux.or", "redux.xor"), "b32"),
    **dict.fromkeys(("atom.add", "red.add"), "u32 s32 u64 f32 f64"),
    **dict.fromkeys(("atom.add.noftz", "red.add.noftz"), "f16 f16x2 bf16 bf16x2 f32"),
    **dict.fromkeys(("atom.min", "atom.max", "red.min", "red.max"), "u32 s32 u64 s64"),
    **dict.fromkeys(("atom.and", "atom.or", "atom.xor", "red.and", "red.or", "red.xor"), "b32 b64"),
    **dict.fromkeys(("atom.inc", "atom.dec", "red.inc", "red.dec"), "u32"),
    "atom.exch": "b32 b64 b128",
    "atom.cas": "b16 b32 b64 b128",
}
