"""What the assembler refuses, and so the simulator; `ptxas.py` has what it changes.

Whatever its operands are, an instruction is refused that belongs to another target or to a later PTX version,
or that has qualifiers in a wrong order, a type that it does not have, an operand too few, or `_` for a result
that may not be discarded. Tests compare with ptxas.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ...errors import PtxlabError, counted, listing
from ...isa.availability import availability
from ...isa.parse import parse_any
from ...isa.targets import TARGETS, PtxVersion
from .opcode_sets import FEWEST_OPERANDS, TYPES
from .syntax import (
    Address,
    Module,
    Negated,
    Pair,
    PtxInstruction,
    PtxOperand,
    Register,
    Sink,
    Special,
    Vector,
    type_bits,
)

#: Instructions whose targets are in the catalogue, by the first part of their opcodes.
_CATALOGUED = ("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05")


def check_legal(instruction: PtxInstruction, module: Module) -> None:
    """Refuse an instruction that the assembler does not take in this module."""
    _check_target(instruction, module)
    fault = _order_fault(instruction) or _type_fault(instruction) or _operand_fault(instruction)
    if fault is not None:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode}: {fault}")


# -- targets and versions ------------------------------------------------------------------------------------


def _check_target(instruction: PtxInstruction, module: Module) -> None:
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
    """A list of targets, in words."""
    later = TARGETS[TARGETS.index(targets[0]) :] if targets else ()
    return f"{targets[0]} and later" if targets == later else listing(targets, 4)


def _catalogued(instruction: PtxInstruction) -> tuple[str, tuple[str, ...], PtxVersion] | None:
    parts = instruction.parts
    if parts[0] not in _CATALOGUED and parts[:2] != ("wgmma", "mma_async"):
        return None
    try:
        form = parse_any(instruction.opcode)
    except PtxlabError:  # the instruction's builder explains it
        return None
    return form.mnemonic, form.targets, form.ptx_version


def _tabulated(instruction: PtxInstruction, target: str) -> tuple[str, tuple[str, ...], PtxVersion]:
    features = {f"/{len(instruction.operands)}"}
    for operand in instruction.operands:
        features.update(_special(operand))
    last = instruction.operands[-1] if instruction.operands else None
    if isinstance(last, Negated) or (isinstance(last, Register) and last.type == "pred"):
        features.add("/pred")
    return _look_up(instruction.opcode, frozenset(features), target)


@lru_cache(maxsize=4096)
def _look_up(opcode: str, features: frozenset[str], target: str) -> tuple[str, tuple[str, ...], PtxVersion]:
    entry = availability(opcode, features)
    special = sorted(feature for feature in features if feature.startswith("%"))
    plain_entry = availability(opcode, features.difference(special))
    name = opcode if entry == plain_entry else f"{opcode} of {listing(special)}"
    return name, entry.targets, entry.version(target)


def _special(operand: PtxOperand) -> Iterator[str]:
    if isinstance(operand, Special):
        yield operand.name
    elif isinstance(operand, Vector):
        for item in operand.items:
            yield from _special(item)
    elif isinstance(operand, Address) and operand.coordinates is not None:
        yield from _special(operand.coordinates)


# -- the order of qualifiers ---------------------------------------------------------------------------------

#: Qualifiers that must follow the name of an instruction directly; ptxas takes others in any order.
_FIRST_QUALIFIERS = {
    "bar": ("sync", "arrive", "red", "warp", "cta"),
    "cp": ("async", "reduce"),
    "cvta": ("to",),
    "div": ("full",),
    **dict.fromkeys(("mad", "mul", "madc", "mad24", "mul24"), ("lo", "hi", "wide")),
    "shf": ("l", "r"),
}


def _order_fault(instruction: PtxInstruction) -> str | None:
    name, *qualifiers = instruction.parts
    first = _FIRST_QUALIFIERS.get(name, ())
    for position, qualifier in enumerate(qualifiers):
        if qualifier in first and qualifiers[0] not in first:
            return f".{qualifier} belongs directly behind {name}"
        if name == "bar" and qualifier == "aligned" and position:
            return "bar is always aligned and takes no .aligned, which barrier does"
    return None


# -- types ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def types_of(parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """The types that ptxas takes for an instruction, given as the parts of an opcode; None if unknown here.

    >>> types_of(("atom", "global", "inc", "u32"))
    ('u32',)
    """
    if {"async", "bulk", "multimem"} & set(parts) or (
        parts[0] in ("atom", "red") and not {"v2", "v4", "v8"}.isdisjoint(parts)
    ):
        return None  # these have other types
    same_name = [entry for entry in TYPES if entry.split(".")[0] == parts[0]]
    entries = [entry for entry in same_name if set(entry.split(".")) <= set(parts)]
    return tuple(TYPES[max(entries, key=len)].split()) if entries else None


def _type_fault(instruction: PtxInstruction) -> str | None:
    type_name, types = instruction.parts[-1], types_of(instruction.parts)
    if types is None or type_name in types or type_bits(type_name) is None:
        return None
    return f"found .{type_name}; it takes {listing(f'.{name}' for name in types)}"


# -- missing operands and discarded results ------------------------------------------------------------------


def _operand_fault(instruction: PtxInstruction) -> str | None:
    """Operands that are missing, or ``_`` in place of a result."""
    count, fewest = len(instruction.operands), FEWEST_OPERANDS.get(instruction.parts[0], 0)
    if count < fewest:
        return f"it has at least {counted(fewest, 'operand')}, found {count or 'none'}"
    result = instruction.operands[0] if instruction.operands else None
    if isinstance(result, Vector) and result.items:
        all_discarded = all(isinstance(item, Sink) for item in result.items)
        return "at least one of its results must be a register, not _" if all_discarded else None
    first, second = (result.first, result.second) if isinstance(result, Pair) else (result, None)
    if isinstance(first, Sink) and (isinstance(second, Sink) or not _may_discard(instruction)):
        return "its result is a register, not _"
    if isinstance(second, Sink) and instruction.parts[0] in ("elect", "lop3"):
        return "its second result is a predicate, not _"
    return None


def _may_discard(instruction: PtxInstruction) -> bool:
    """Whether the result, or the first of two, may be ``_``."""
    name, *qualifiers = instruction.parts
    if name == "elect":
        return isinstance(instruction.operands[0], Pair)
    if name == "match":
        return "all" in qualifiers
    if name == "mbarrier":
        return qualifiers[:1] in (["arrive"], ["arrive_drop"])
    return name in ("atom", "lop3", "setp")
