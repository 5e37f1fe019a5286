"""The catalogue sorted for reading: forms of one shape and one class of element types together, and every distinct fragment once.

Families differ in what their entries have; what an entry lacks is left out here rather than asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ptxlab import DTYPES, TARGETS
from ptxlab.isa.operand import Operand

from .page import slug

__all__ = ["Fragment", "Group", "fragments", "groups", "qualifiers", "targets"]

Form = Any  # an Instruction, or an entry of a family that moves fragments and has no product

_MANY_N = 4  # so many values of N make one section


@dataclass(frozen=True)
class Group:
    """Forms that differ in the pairing of types, in qualifiers and, where there are many, in N."""

    shape: str
    title: str
    anchor: str
    forms: tuple[Form, ...]
    example: Form
    samples: tuple[Form, ...]  # those whose fragments are shown: of one N
    sizes: tuple[int, ...]  # the values of N, where there are many
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass
class Fragment:
    """A layout of an operand with every element width it comes in, and the groups that use it."""

    role: str
    ins: Form
    op: Operand
    names: list[str] = field(default_factory=list)
    widths: dict[Any, tuple[Form, Operand]] = field(default_factory=dict)
    kinds: dict[Any, list[str]] = field(default_factory=dict)
    users: list[Group] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    variant: str = ""  # what tells it from another of the same size and types

    @property
    def name(self) -> str:
        """``C and D``."""
        return " and ".join(self.names)

    @property
    def types(self) -> list[str]:
        return list(dict.fromkeys(kind for kinds in self.kinds.values() for kind in kinds))

    @property
    def wanted(self) -> str:
        """The id it would like to have: the same from build to build, whatever is added to the catalogue."""
        rows, columns = self.op.shape
        if self.role == "Metadata E":
            return slug(f"e-{rows}x{columns}-{self.users[0].anchor}")
        space = "" if self.op.layout else "-shared"
        return slug(f"{'-'.join(self.names)}-{rows}x{columns}-{self.op.dtype.bits}-bit{space}-{self.variant}")


def groups(forms: Sequence[Form]) -> list[Group]:
    """The forms of a family, sorted into groups in the order of the catalogue."""
    by_n: dict[Any, set[int]] = {}
    for ins in forms:
        by_n.setdefault(_key(ins, _open_shape(ins)), set()).add(getattr(ins, "n", 0))
    found: dict[Any, list[Form]] = {}
    for ins in forms:
        many = len(by_n[_key(ins, _open_shape(ins))]) > _MANY_N
        found.setdefault(_key(ins, _open_shape(ins) if many else _shape(ins)), []).append(ins)
    made: list[Group] = []
    for (shape, *_), members in found.items():
        made.append(_group(shape, members, {group.anchor for group in made}))
    return made


def _group(shape: str, members: list[Form], taken: set[str]) -> Group:
    sizes = sorted({ins.n for ins in members}) if "N" in shape else []
    shown = sizes[min(1, len(sizes) - 1)] if sizes else None
    samples = tuple(ins for ins in members if shown is None or ins.n == shown)
    inputs = tuple(dict.fromkeys(kind for ins in members for kind in _inputs(ins)))
    outputs = tuple(dict.fromkeys(kind for ins in members for kind in _outputs(ins)))
    kinds = [f"kind::{kind}" for kind in dict.fromkeys(getattr(ins, "kind", None) for ins in members) if kind]
    title = " · ".join(part for part in (shape, *kinds, ", ".join(inputs)) if part)
    anchor = wanted = slug(title)
    count = 2
    while anchor in taken:
        anchor, count = f"{wanted}-{count}", count + 1
    return Group(
        shape,
        title,
        anchor,
        tuple(members),
        min(samples, key=_plainness),
        samples,
        tuple(sizes),
        inputs,
        outputs,
    )


def _key(ins: Form, shape: str) -> tuple[Any, ...]:
    """Shape, kind and class of element type: s8 with u8, e4m3 with e5m2, f16 with bf16; a kind:: has all its types together."""
    kind = getattr(ins, "kind", None)
    if kind:
        return shape, kind
    first = DTYPES.get(next(iter(_inputs(ins)), ""))
    return (shape, "", first.kind, first.bits) if first else (shape, "", *_inputs(ins))


def _shape(ins: Form) -> str:
    shape = getattr(ins, "shape", None)
    if isinstance(shape, str):
        return shape
    found = re.search(r"\.(m\d+n\d+(?:k\d+)?)\b", ins.mnemonic)
    return found[1] if found else ""


def _open_shape(ins: Form) -> str:
    return re.sub(r"n\d+", "nN", _shape(ins))


def _inputs(ins: Form) -> tuple[str, ...]:
    if hasattr(ins, "a_type"):
        return tuple(dict.fromkeys((ins.a_type, ins.b_type)))
    return _named_types(ins)


def _outputs(ins: Form) -> tuple[str, ...]:
    return tuple(dict.fromkeys((ins.d_type, ins.c_type))) if hasattr(ins, "d_type") else ()


def _named_types(ins: Form) -> tuple[str, ...]:
    """Types in the spelling of an instruction that has no product: `.b16`, `.b8x16.b6x16_p32`, `.f16`."""
    tokens = str(ins.mnemonic).split(".")
    return tuple(
        dict.fromkeys(token for token in tokens if token in DTYPES or re.fullmatch(r"b\d+(x\d+\w*)?", token))
    )


def _plainness(ins: Form) -> tuple[Any, ...]:
    """Smallest for the form to show: without .satfinite, with ordered metadata, A and B of one type, .row.col, the largest count."""
    mixed = hasattr(ins, "a_type") and ins.a_type != ins.b_type
    plain = (getattr(ins, "a_layout", "row"), getattr(ins, "b_layout", "col")) == ("row", "col")
    return (
        bool(getattr(ins, "satfinite", False)),
        not getattr(ins, "ordered", False),
        mixed,
        not plain,
        -getattr(ins, "count", 0),
    )


def qualifiers(group: Group, family: Iterable[Form]) -> list[str]:
    """The qualifiers that tell forms of the group apart from others of the family, besides shape and types."""
    said = {token for ins in family for token in _tokens(ins)}
    common = {token for token in said if all(token in _tokens(ins) for ins in family)}
    found = dict.fromkeys(token for ins in group.forms for token in _tokens(ins))
    types = {*DTYPES, *group.inputs}
    return [
        token
        for token in found
        if token not in common and token not in types and not re.fullmatch(r"m\d+n\d+(k\d+)?", token)
    ]


def _tokens(ins: Form) -> list[str]:
    """Qualifiers of a mnemonic; a pair of layouts stays together."""
    text = re.sub(r"\.(row|col)\.(row|col)\b", r".\1/\2", str(ins.mnemonic))
    return [token.replace("/", ".") for token in text.split(".")[1:]]


def targets(found: Sequence[str]) -> str:
    """``sm_80 and later``, or the names."""
    first = next((target for target in TARGETS if target in found), None)
    if first is None:
        return ", ".join(found)
    later = TARGETS[TARGETS.index(first) :]
    return (
        f"{first} and later"
        if set(found) == set(later) and len(found) > 1
        else ", ".join(target for target in TARGETS if target in found)
    )


_ROLES = {"C": "C and D", "D": "C and D", "SFA": "Block scales", "SFB": "Block scales", "E": "Metadata E"}


def fragments(family: Sequence[Group]) -> list[Fragment]:
    """Every distinct fragment of a family's samples, A before B before C and D; metadata and block scales last."""
    found: dict[Any, Fragment] = {}
    for group in family:
        for ins in group.samples:
            for holder, op in _operands(ins):
                role = _ROLES.get(op.name, op.name)
                fragment = found.setdefault(_fragment_key(holder, role, op), Fragment(role, holder, op))
                if op.name not in fragment.names:
                    fragment.names.append(op.name)
                packing = _packing(op)
                fragment.widths.setdefault(packing, (holder, op))
                kinds = fragment.kinds.setdefault(packing, [])
                kinds += [str(op.dtype)] if str(op.dtype) not in kinds else []
                fragment.users += [group] if group not in fragment.users else []
                fragment.forms.append(ins)
    _tell_apart(list(found.values()))
    order = list(dict.fromkeys(fragment.role for fragment in found.values()))
    last = {"Metadata E": 1, "Block scales": 2}
    return sorted(
        found.values(), key=lambda it: (last.get(it.role, 0), order.index(it.role), it.op.layout is None)
    )


def _tell_apart(found: list[Fragment]) -> None:
    """Name the qualifier by which fragments of one size and the same types differ: `.row` or `.col`, `.trans`."""
    for one in found:
        twins = [
            other
            for other in found
            if other is not one
            and (other.names, other.op.shape, other.types) == (one.names, one.op.shape, one.types)
        ]
        others = [_traits(twin) for twin in twins]
        own = [trait for trait in _traits(one) if not all(trait in other for other in others)]
        one.variant = ", ".join(own[:2]) if twins and one.role != "Metadata E" else ""


def _traits(fragment: Fragment) -> list[str]:
    """Qualifiers that all forms with this fragment have; of the two layouts, the operand's own."""
    own = f"{fragment.role.lower()}_layout"
    said = [
        [f".{getattr(ins, own)}"] if hasattr(ins, own) else [f".{token}" for token in _tokens(ins)]
        for ins in fragment.forms
    ]
    return [trait for trait in dict.fromkeys(said[0]) if all(trait in other for other in said)]


def _fragment_key(ins: Form, role: str, op: Operand) -> tuple[Any, ...]:
    if role == "Block scales":
        return role, ins.m, ins.k, ins.scale_vec
    if op.layout is None:
        return role, op.shape, op.dtype.bits
    return (
        (role, op.layout, ins.structure)
        if role in ("A", "Metadata E") and getattr(ins, "sparse", False)
        else (role, op.layout)
    )


def _operands(ins: Form) -> list[tuple[Form, Operand]]:
    """Operands, each with the form that has it: wgmma reads A also from shared memory, which is shown as well."""
    found = [(ins, op) for op in getattr(ins, "operands", {}).values() if isinstance(op, Operand)]
    if getattr(ins, "lanes", 32) > 32 and hasattr(ins, "a_from"):
        shared = ins.a_from("shared")
        found.append((shared, shared.a))
    return found


def _packing(op: Operand) -> tuple[Any, ...]:
    """What tells one way of filling registers from another."""
    if op.layout is None:
        return (op.dtype.bits,)
    return (
        op.dtype.bits,
        op.registers,
        op.register_bits,
        *(op.place(0, i)[2:] for i in range(min(2, op.layout.elements))),
    )
