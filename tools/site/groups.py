"""The catalogue sorted for reading: forms of one shape and similar types together, each fragment once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ptxlab import DTYPES, TARGETS, Instruction, Transfer
from ptxlab.isa.operand import Operand

from .markdown import slug

__all__ = ["AnyInstruction", "Fragment", "Group", "fragments", "groups", "qualifiers", "targets"]

AnyInstruction = Instruction | Transfer

_MANY_N = 4  # more values of N than this share one section


@dataclass(frozen=True)
class Group:
    """Forms that differ only in the pairing of types, in qualifiers and, where there are many, in N."""

    family: str
    shape: str
    title: str
    forms: tuple[AnyInstruction, ...]
    example: AnyInstruction
    samples: tuple[AnyInstruction, ...]  # those whose fragments are shown: the forms of one N
    sizes: tuple[int, ...]  # the values of N, where there are many
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def label(self) -> str:
        """Its target for links."""
        return slug(f"{self.family} {self.title}")


@dataclass
class Fragment:
    """A layout of an operand, with every element width that it comes in and the groups that use it."""

    role: str
    instruction: AnyInstruction
    operand: Operand
    names: list[str] = field(default_factory=list)
    packings: dict[tuple[int, ...], tuple[Operand, list[str]]] = field(default_factory=dict)
    users: list[Group] = field(default_factory=list)
    forms: list[AnyInstruction] = field(default_factory=list)
    variant: str = ""  # the qualifier that distinguishes it from another of the same size and types

    @property
    def name(self) -> str:
        """``C and D``."""
        return " and ".join(self.names)

    @property
    def types(self) -> list[str]:
        return list(dict.fromkeys(name for _, names in self.packings.values() for name in names))

    @property
    def label(self) -> str:
        """Its target for links: the same from build to build, whatever is added to the catalogue."""
        rows, columns = self.operand.shape
        place = "registers" if self.operand.layout else "shared"
        parts = [self.users[0].family, *self.names, f"{rows}x{columns}", *self.types, place, self.variant]
        if self.role == "Metadata E":
            parts.append(self.users[0].title)
        return slug(" ".join(["fragment", *parts]))


def groups(family: str, forms: Sequence[AnyInstruction]) -> list[Group]:
    """The forms of a family, sorted into groups in the order of the catalogue."""
    sizes: dict[tuple[str, ...], set[int]] = {}
    for ins in forms:
        sizes.setdefault(_key(ins, _open_shape(ins)), set()).add(_n(ins))
    members: dict[tuple[str, ...], list[AnyInstruction]] = {}
    for ins in forms:
        many = len(sizes[_key(ins, _open_shape(ins))]) > _MANY_N
        members.setdefault(_key(ins, _open_shape(ins) if many else ins.shape), []).append(ins)
    return [_group(family, key[0], some) for key, some in members.items()]


def _group(family: str, shape: str, members: list[AnyInstruction]) -> Group:
    sizes = tuple(sorted({_n(ins) for ins in members})) if "N" in shape else ()
    shown = sizes[1] if len(sizes) > 1 else None
    samples = tuple(ins for ins in members if shown is None or _n(ins) == shown)
    inputs = tuple(dict.fromkeys(name for ins in members for name in _inputs(ins)))
    outputs = tuple(dict.fromkeys(name for ins in members for name in _outputs(ins)))
    kinds = dict.fromkeys(f"kind::{ins.kind}" for ins in members if isinstance(ins, Instruction) and ins.kind)
    title = " · ".join(part for part in (shape, *kinds, ", ".join(inputs)) if part)
    example = min(samples, key=_plainness)
    return Group(family, shape, title, tuple(members), example, samples, sizes, inputs, outputs)


def _key(ins: AnyInstruction, shape: str) -> tuple[str, ...]:
    """Shape and class of types: s8 with u8, e4m3 with e5m2, f16 with bf16; all types of a kind:: together."""
    if isinstance(ins, Instruction) and ins.kind:
        return shape, ins.kind
    names = _inputs(ins)
    first = DTYPES.get(names[0]) if names else None
    return (shape, first.kind, str(first.bits)) if first else (shape, *names)


def _n(ins: AnyInstruction) -> int:
    return ins.n if isinstance(ins, Instruction) else 0


def _open_shape(ins: AnyInstruction) -> str:
    return re.sub(r"n\d+k", "nNk", ins.shape)


def _inputs(ins: AnyInstruction) -> tuple[str, ...]:
    if isinstance(ins, Instruction):
        return tuple(dict.fromkeys((ins.a_type, ins.b_type)))
    tokens = ins.mnemonic.split(".")
    names = (token for token in tokens if token in DTYPES or re.fullmatch(r"b\d+(x\d+\w*)?", token))
    return tuple(dict.fromkeys(names))


def _outputs(ins: AnyInstruction) -> tuple[str, ...]:
    return tuple(dict.fromkeys((ins.d_type, ins.c_type))) if isinstance(ins, Instruction) else ()


def _plainness(ins: AnyInstruction) -> tuple[bool | int, ...]:
    """Smallest for the form to show: no .satfinite, ordered metadata, equal types, .row.col, a wide D."""
    if isinstance(ins, Transfer):
        return (-ins.count,)
    layouts = (ins.a_layout, ins.b_layout)
    mixed = ins.a_type != ins.b_type or ins.c_type != ins.d_type
    return (ins.satfinite, not ins.ordered, mixed, layouts != ("row", "col"), -ins.d.dtype.bits)


def qualifiers(group: Group, family: Iterable[AnyInstruction]) -> list[str]:
    """The qualifiers, besides shape and types, that distinguish forms of the group within the family."""
    every = [set(_tokens(ins.mnemonic)) for ins in family]
    common = set.intersection(*every)
    types = {*DTYPES, *group.inputs}
    tokens = dict.fromkeys(token for ins in group.forms for token in _tokens(ins.mnemonic))
    skipped = common | types
    return [token for token in tokens if token not in skipped and not re.fullmatch(r"m\d+n\d+(k\d+)?", token)]


@lru_cache(maxsize=None)
def _tokens(mnemonic: str) -> list[str]:
    """Qualifiers of a mnemonic; a pair of layouts stays together."""
    text = re.sub(r"\.(row|col)\.(row|col)\b", r".\1/\2", mnemonic)
    return [token.replace("/", ".") for token in text.split(".")[1:]]


def targets(names: Sequence[str]) -> str:
    """``sm_80 and later``, or the names."""
    known = [target for target in TARGETS if target in names]
    later = TARGETS[TARGETS.index(known[0]) :]
    if len(known) > 1 and list(later) == known:
        return f"{known[0]} and later"
    return ", ".join(known)


_ROLES = {"C": "C and D", "D": "C and D", "SFA": "Block scales", "SFB": "Block scales", "E": "Metadata E"}
_LAST = {"Metadata E": 1, "Block scales": 2}


def fragments(family: Sequence[Group]) -> list[Fragment]:
    """Each distinct fragment of a family's samples: A, B, C and D, then metadata and block scales."""
    by_key: dict[tuple[object, ...], Fragment] = {}
    for group in family:
        for ins in group.samples:
            for holder, operand in _operands(ins):
                role = _ROLES.get(operand.name, operand.name)
                key = _fragment_key(holder, role, operand)
                fragment = by_key.setdefault(key, Fragment(role, holder, operand))
                _add(fragment, group, ins, operand)
    distinct = list(by_key.values())
    _name_variants(distinct)
    order = list(dict.fromkeys(fragment.role for fragment in distinct))
    return sorted(
        distinct,
        key=lambda shown: (_LAST.get(shown.role, 0), order.index(shown.role), shown.operand.layout is None),
    )


def _add(fragment: Fragment, group: Group, ins: AnyInstruction, operand: Operand) -> None:
    if operand.name not in fragment.names:
        fragment.names.append(operand.name)
    _, types = fragment.packings.setdefault(_packing(operand), (operand, []))
    if str(operand.dtype) not in types:
        types.append(str(operand.dtype))
    if group not in fragment.users:
        fragment.users.append(group)
    fragment.forms.append(ins)


def _name_variants(distinct: list[Fragment]) -> None:
    """Name the qualifier by which fragments of the same size and types differ: `.row` or `.col`, `.trans`."""
    for fragment in distinct:
        if fragment.role == "Metadata E":
            continue
        twins = [other for other in distinct if other is not fragment and _same_size(fragment, other)]
        others = [_traits(twin) for twin in twins]
        own = [trait for trait in _traits(fragment) if not all(trait in other for other in others)]
        if twins:
            fragment.variant = ", ".join(own[:2])


def _same_size(fragment: Fragment, other: Fragment) -> bool:
    return (fragment.names, fragment.operand.shape, fragment.types) == (
        other.names,
        other.operand.shape,
        other.types,
    )


def _traits(fragment: Fragment) -> list[str]:
    """Qualifiers that all forms with this fragment have; of the two layouts, the operand's own."""
    qualified = []
    for ins in fragment.forms:
        if isinstance(ins, Instruction) and fragment.role in ("A", "B"):
            qualified.append([f".{ins.a_layout if fragment.role == 'A' else ins.b_layout}"])
        else:
            qualified.append([f".{token}" for token in _tokens(ins.mnemonic)])
    return [trait for trait in dict.fromkeys(qualified[0]) if all(trait in other for other in qualified)]


def _fragment_key(ins: AnyInstruction, role: str, operand: Operand) -> tuple[object, ...]:
    if isinstance(ins, Instruction) and role == "Block scales":
        return role, ins.m, ins.k, ins.scale_vec
    if operand.layout is None:
        return role, operand.shape, operand.dtype.bits
    if isinstance(ins, Instruction) and ins.sparse and role in ("A", "Metadata E"):
        return role, operand.layout, ins.structure
    return role, operand.layout


def _operands(ins: AnyInstruction) -> list[tuple[AnyInstruction, Operand]]:
    """Operands, each with the form that has it: A of wgmma is shown in registers and in shared memory."""
    pairs: list[tuple[AnyInstruction, Operand]] = [(ins, operand) for operand in ins.operands.values()]
    if isinstance(ins, Instruction) and ins.lanes > 32:
        shared = ins.a_from("shared")
        pairs.append((shared, shared.a))
    return pairs


def _packing(operand: Operand) -> tuple[int, ...]:
    """What distinguishes one way of filling registers from another."""
    if operand.layout is None:
        return (operand.dtype.bits,)
    places = (operand.place(0, element) for element in range(min(2, operand.layout.elements)))
    positions = (number for place in places for number in place[2:])
    return (operand.dtype.bits, operand.registers, operand.register_bits, *positions)
