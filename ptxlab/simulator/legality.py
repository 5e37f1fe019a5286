"""What the assembler refuses whatever the operands are: the simulator refuses it, too.

An instruction of another target or of a later PTX, qualifiers in a wrong order, a type that an instruction
does not have, a result that is thrown away where it may not be. Compared with ptxas in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ..errors import PtxlabError, listing
from ..isa.availability import availability
from ..isa.parse import parse_any
from ..isa.targets import TARGETS
from ..isa.versions import PtxVersion
from .ptx import (
    Address,
    Instruction,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Vector,
    type_bits,
)

#: Instructions whose targets are in the catalogue, by the first part of their opcodes.
_CATALOGUED = ("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05")


def check_legal(instruction: Instruction, module: Module) -> None:
    """Refuse an instruction that the assembler does not take in this module."""
    _check_target(instruction, module)
    fault = _order_fault(instruction) or _type_fault(instruction) or _result_fault(instruction)
    if fault is not None:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode}: {fault}")


# -- targets and versions ------------------------------------------------------------------------------------


def _check_target(instruction: Instruction, module: Module) -> None:
    """Refuse an instruction that the module's target, or its version of PTX, lacks."""
    if module.target not in TARGETS:
        return
    name, targets, version = _catalogued(instruction) or _tabulated(instruction, module.target)
    if module.target not in targets:
        raise PtxlabError(
            f"{instruction.where}: the kernel is for {module.target}, which lacks {name}; targets that have "
            f"it: {_span(targets)}"
        )
    if version > PtxVersion(*module.version):
        raise PtxlabError(
            f"{instruction.where}: the module is in PTX {PtxVersion(*module.version)}, and {name} came with "
            f"PTX {version}: state .version {version} or later"
        )


def _span(targets: tuple[str, ...]) -> str:
    """Targets in few words."""
    since = TARGETS[TARGETS.index(targets[0]) :] if targets else ()
    return f"{targets[0]} and later" if targets == since else listing(targets, 4)


def _catalogued(instruction: Instruction) -> tuple[str, tuple[str, ...], PtxVersion] | None:
    parts = instruction.parts
    if parts[0] not in _CATALOGUED and parts[:2] != ("wgmma", "mma_async"):
        return None
    try:
        form = parse_any(instruction.opcode)
    except PtxlabError:  # which the instruction's builder explains
        return None
    return form.mnemonic, form.targets, form.ptx_version


def _tabulated(instruction: Instruction, target: str) -> tuple[str, tuple[str, ...], PtxVersion]:
    features = {f"/{len(instruction.operands)}"}
    for operand in instruction.operands:
        features.update(_special(operand))
    last = instruction.operands[-1] if instruction.operands else None
    if isinstance(last, Negated) or (isinstance(last, Register) and last.type == "pred"):
        features.add("/pred")
    known = availability(instruction.opcode, features)
    special = sorted(each for each in features if each.startswith("%"))
    plain = availability(instruction.opcode, features.difference(special))
    name = instruction.opcode if known == plain else f"{instruction.opcode} of {listing(special)}"
    return name, known.targets, known.version(target)


def _special(operand: Operand) -> Iterator[str]:
    if isinstance(operand, Special):
        yield operand.name
    elif isinstance(operand, Vector):
        for item in operand.items:
            yield from _special(item)
    elif isinstance(operand, Address) and operand.coordinates is not None:
        yield from _special(operand.coordinates)


# -- the order of qualifiers ---------------------------------------------------------------------------------

#: What belongs directly behind the name of an instruction; ptxas takes other qualifiers in any order.
_DIRECTLY_BEHIND = {
    "bar": ("sync", "arrive", "red", "warp", "cta"),
    "cp": ("async", "reduce"),
    "cvta": ("to",),
    "div": ("full",),
    **dict.fromkeys(("mad", "mul", "madc", "mad24", "mul24"), ("lo", "hi", "wide")),
    "shf": ("l", "r"),
}


def _order_fault(instruction: Instruction) -> str | None:
    name, *qualifiers = instruction.parts
    behind = _DIRECTLY_BEHIND.get(name, ())
    for place, qualifier in enumerate(qualifiers):
        if qualifier in behind and qualifiers[0] not in behind:
            return f".{qualifier} belongs directly behind {name}"
        if name == "bar" and qualifier == "aligned" and place:
            return "bar is always aligned and takes no .aligned, which barrier does"
    return None


# -- types ---------------------------------------------------------------------------------------------------

_INTEGERS = "b16 b32 b64 u16 u32 u64 s16 s32 s64"
#: The types of instructions that `ptxlab.numerics.scalar` does not have, by name and qualifiers; of several
#: entries the one with the most qualifiers counts.
_TYPES = {
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
    **dict.fromkeys(("atom.add.noftz", "red.add.noftz"), "f16 f16x2 bf16 bf16x2"),
    **dict.fromkeys(("atom.min", "atom.max", "red.min", "red.max"), "u32 s32 u64 s64"),
    **dict.fromkeys(("atom.and", "atom.or", "atom.xor", "red.and", "red.or", "red.xor"), "b32 b64"),
    **dict.fromkeys(("atom.inc", "atom.dec", "red.inc", "red.dec"), "u32"),
    "atom.exch": "b32 b64 b128",
    "atom.cas": "b16 b32 b64 b128",
}


@lru_cache(maxsize=4096)
def types_of(parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """The types that ptxas takes for an instruction, given as the parts of an opcode; None if unknown here.

    >>> types_of(("atom", "global", "inc", "u32"))
    ('u32',)
    """
    if "async" in parts or (parts[0] in ("atom", "red") and not {"v2", "v4", "v8"}.isdisjoint(parts)):
        return None  # these have other types
    named = [entry for entry in _TYPES if entry.split(".")[0] == parts[0]]
    entries = [entry for entry in named if set(entry.split(".")) <= set(parts)]
    return tuple(_TYPES[max(entries, key=len)].split()) if entries else None


def _type_fault(instruction: Instruction) -> str | None:
    found, types = instruction.parts[-1], types_of(instruction.parts)
    if types is None or found in types or type_bits(found) is None:
        return None
    return f"found .{found}; it takes {listing(f'.{name}' for name in types)}"


# -- results that are not wanted -----------------------------------------------------------------------------


def _result_fault(instruction: Instruction) -> str | None:
    """What is wrong with ``_`` in place of a result."""
    result = instruction.operands[0] if instruction.operands else None
    if isinstance(result, Vector) and result.items:
        unwanted = all(isinstance(item, Sink) for item in result.items)
        return "one of its results at least is a register, not _" if unwanted else None
    first, second = (result.first, result.second) if isinstance(result, Pair) else (result, None)
    if isinstance(first, Sink) and (isinstance(second, Sink) or not _may_discard(instruction)):
        return "its result is a register, not _"
    if isinstance(second, Sink) and instruction.parts[0] in ("elect", "lop3"):
        return "its second result is a predicate, not _"
    return None


def _may_discard(instruction: Instruction) -> bool:
    """Whether the result, or the first of two, may be ``_``."""
    name, *qualifiers = instruction.parts
    if name == "elect":
        return isinstance(instruction.operands[0], Pair)
    if name == "match":
        return "all" in qualifiers
    if name == "mbarrier":
        return qualifiers[:1] in (["arrive"], ["arrive_drop"])
    return name in ("atom", "lop3", "setp")
