"""Instructions of another target, or of a later PTX: as the assembler does, the simulator refuses them."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PtxlabError, listing
from ...isa.availability import availability
from ...isa.parse import parse_any
from ...isa.targets import TARGETS
from ...isa.versions import PtxVersion
from ..ptx import Address, Instruction, Module, Negated, Operand, Register, Special, Vector

__all__ = ["check_target_of"]

#: Instructions whose targets are in the catalogue, by the first part of their opcodes.
_CATALOGUED = ("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05")


def check_target_of(instruction: Instruction, module: Module) -> None:
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
