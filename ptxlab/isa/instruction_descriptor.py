"""The 32-bit instruction descriptor of tcgen05.mma: shapes, types, and what is done to A and B.

PTX ISA 9.4, "Instruction descriptor" and "Matrix Shape". The kind in the mnemonic decides which fields there
are. Whether a shape exists at all depends on the rest of the mnemonic too: `.ws`, `.sp`, the CTA group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from .._util.arguments import as_flag, as_int, is_name, set_integers
from ..errors import PtxlabError, error_prefix, listing, quoted
from .targets import SM_107, check_target


@dataclass(frozen=True)
class MmaKind:
    """What a `.kind::` of tcgen05.mma multiplies, and the codes of its types.

    >>> KINDS["f16"].types, KINDS["f16"].results, KINDS["mxf4"].depths
    (mappingproxy({'f16': 0, 'bf16': 1}), mappingproxy({'f32': 1, 'f16': 0}), (64, 96, 128))
    """

    name: str
    types: Mapping[str, int]  # of A and of B
    results: Mapping[str, int]  # of D; the first is the plainest
    depths: tuple[int, ...]  # K of a dense instruction, in the order of the codes
    structure: str  # of a sparse A
    scales: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))  # types of scale factors
    transposes: bool = True
    negates: bool = True
    saturates: bool = False

    @property
    def scaled(self) -> bool:
        """Whether A and B come with block scales.

        >>> KINDS["mxf4"].scaled, KINDS["f16"].scaled
        (True, False)
        """
        return bool(self.scales)

    @property
    def unit_m(self) -> int:
        """The unit in which the field of M counts.

        >>> KINDS["f16"].unit_m, KINDS["mxf4"].unit_m
        (16, 128)
        """
        return 128 if self.scaled else 16

    @property
    def codes(self) -> dict[str, Mapping[str, int]]:
        """The types that A, B, D and the scales may have, with their codes, by the names of the fields.

        >>> list(KINDS["f16"].codes), KINDS["mxf4nvf4"].codes["scale"]["ue8m0"]
        (['a', 'b', 'd'], 1)
        """
        codes = {"a": self.types, "b": self.types, "d": self.results}
        return {**codes, "scale": self.scales} if self.scaled else codes

    @property
    def format(self) -> str:
        """Which of the three formats of the descriptor it has.

        >>> KINDS["mxf4nvf4"].format, KINDS["tf32"].format
        ('mxf4', 'plain')
        """
        if not self.scaled:
            return "plain"
        return "mxf8f6f4" if self.name == "mxf8f6f4" else "mxf4"


def _codes(**codes: int) -> Mapping[str, int]:
    return MappingProxyType(codes)


_F8F6F4 = _codes(e4m3=0, e5m2=1, e2m3=3, e3m2=4, e2m1=5)
_FLOAT, _INTEGER = _codes(f32=1, f16=0), _codes(s32=2)
_F32 = _codes(f32=1)

#: Every kind, plain ones first. D of a block-scaled kind is f32 and has no field.
KINDS: dict[str, MmaKind] = {
    row.name: row
    for row in (
        MmaKind("f16", _codes(f16=0, bf16=1), _FLOAT, (16,), "2:4"),
        MmaKind("tf32", _codes(tf32=2), _F32, (8,), "1:2"),
        MmaKind("f8f6f4", _F8F6F4, _FLOAT, (32, 64), "2:4"),
        MmaKind("i8", _codes(u8=0, s8=1), _INTEGER, (32,), "2:4", negates=False, saturates=True),
        MmaKind("ti16", _codes(s1z4m11=3), _INTEGER, (16,), "2:4", transposes=False),
        MmaKind("mxf8f6f4", _F8F6F4, _F32, (32, 64), "2:4", _codes(ue8m0=1)),
        MmaKind("mxf4", _codes(e2m1=1), _F32, (64, 96, 128), "4:8", _codes(ue8m0=1), transposes=False),
        MmaKind(
            "mxf4nvf4",
            _codes(e2m1=1),
            _F32,
            (64, 96, 128),
            "4:8",
            _codes(ue4m3=0, ue8m0=1, ue5m3=2),
            transposes=False,
        ),
    )
}


# -- shapes -----------------------------------------------------------------------------------------------


class Shapes(NamedTuple):
    """A set of shapes that one kind of instruction has: any of these M with any of these N, at this K.

    >>> shapes_of("i8", sparse=False, ws=False, cta_group=2)[0].n
    (32, 64, 96, 128, 160, 192, 224, 256)
    """

    m: tuple[int, ...]
    n: tuple[int, ...]
    k: int
    targets: tuple[str, ...] = ()  # the only ones that have them; () for all that have the instruction

    @property
    def columns(self) -> str:
        """Its N in words.

        >>> shapes_of("i8", sparse=False, ws=False, cta_group=1)[0].columns
        '8, 16, 24, 32, or a multiple of 16 up to 256'
        """
        if len(self.n) <= 4:
            return _either([*self.n])
        if self.n == _N_I8:
            return "8, 16, 24, 32, or a multiple of 16 up to 256"
        return f"a multiple of {self.n[0]} up to {self.n[-1]}"

    def __str__(self) -> str:
        return f"M {_either([*self.m])}; N {self.columns}; K {self.k}"


_N8, _N16, _N32 = (tuple(range(step, 257, step)) for step in (8, 16, 32))
_N_I8 = (8, 16, 24, 32, *range(48, 257, 16))
_K96 = ("sm_103a", "sm_107a")


@lru_cache(maxsize=None)
def shapes_of(kind: str, sparse: bool, ws: bool, cta_group: int) -> tuple[Shapes, ...]:
    """The shapes of a mnemonic ("Various combinations of .kind and shapes"); () if there is none.

    >>> [(shapes.m, shapes.k) for shapes in shapes_of("mxf4", sparse=False, ws=False, cta_group=2)]
    [((128, 256), 64), ((256,), 96), ((256,), 128)]
    """
    row = KINDS[kind]
    if ws and (cta_group == 2 or row.scaled):
        return ()
    fold = 2 if sparse else 1
    first = row.depths[0] * fold
    if ws:
        columns: tuple[int, ...] = (64, 128) if sparse else (64, 128, 256)
        shapes = [Shapes((32, 64, 128), columns, first)]
        if kind == "f8f6f4":
            shapes.append(Shapes((32, 64, 128), columns, 2 * first, SM_107))
        return tuple(shapes)
    if not row.scaled:
        m = (64, 128) if cta_group == 1 else (128, 256)
        if kind == "ti16" and cta_group == 1:
            return (Shapes((64,), _N8, first), Shapes((128,), _N16, first))
        pair = {"i8": _N32, "ti16": _N32}.get(kind, _N16)
        single = {"i8": _N_I8}.get(kind, _N8)
        shapes = [Shapes(m, single if cta_group == 1 else pair, first)]
        if kind == "f8f6f4":
            shapes.append(Shapes(m[1:], _N16, 2 * first, SM_107))
        return tuple(shapes)
    largest = (128,) if cta_group == 1 else (256,)
    n = _N8 if cta_group == 1 else _N16
    shapes = [Shapes((128, 256) if cta_group == 2 and not sparse else largest, n, first)]
    for depth in row.depths[1:]:
        if depth == 128 and (sparse or cta_group == 1):
            continue
        targets = _K96 if depth == 96 and not sparse else SM_107
        shapes.append(Shapes(largest, n, depth * fold, targets))
    return tuple(shapes)


# -- fields -----------------------------------------------------------------------------------------------


class BitField(NamedTuple):
    """One field of the descriptor: its bits, and the value that each code stands for.

    >>> next(field for field in InstructionDescriptor("f16", n=24).bit_fields if field.name == "n")
    BitField(name='n', low=17, bits=6, code=3, value=24)
    """

    name: str
    low: int
    bits: int
    code: int
    value: object


#: (name, lowest bit, bits) by format ("Instruction descriptor format for ..."); what is not here is 0.
_FIELDS: dict[str, tuple[tuple[str, int, int], ...]] = {
    "plain": (
        ("selector", 0, 2), ("sparse", 2, 1), ("saturate", 3, 1), ("d", 4, 2), ("a", 7, 3), ("b", 10, 3),
        ("negate_a", 13, 1), ("negate_b", 14, 1), ("transpose_a", 15, 1), ("transpose_b", 16, 1),
        ("n", 17, 6), ("m", 24, 5), ("k", 29, 1), ("max_shift", 30, 2),
    ),
    "mxf8f6f4": (
        ("sparse", 2, 1), ("scale_b_id", 4, 2), ("a", 7, 3), ("b", 10, 3), ("negate_a", 13, 1),
        ("negate_b", 14, 1), ("transpose_a", 15, 1), ("transpose_b", 16, 1), ("n", 17, 6),
        ("scale", 23, 1), ("scale_a_lanes", 26, 1), ("m", 27, 2), ("scale_a_id", 29, 2), ("k", 31, 1),
    ),
    "mxf4": (
        ("sparse", 2, 1), ("k_high", 3, 1), ("scale_b_id", 4, 2), ("a", 7, 3), ("b", 10, 2),
        ("sparsity_version", 12, 1), ("negate_a", 13, 1), ("negate_b", 14, 1), ("n", 17, 6),
        ("scale", 23, 2), ("scale_a_lanes", 26, 1), ("m", 27, 2), ("scale_a_id", 29, 2), ("k", 31, 1),
    ),
}  # fmt: skip

_SCALE_VECTORS = ("", "block16", "block32", "scale_vec::1X", "scale_vec::2X", "scale_vec::4X")
_BLOCK16 = ("block16", "scale_vec::4X")  # a scale for 16 elements
#: Numbers that have codes of their own.
_NUMBERED = {"max_shift": {0: 0, 8: 1, 16: 2, 32: 3}, "scale_a_lanes": {32: 0, 128: 1}}
_UNIT_N = 8  # the unit in which the field of N counts
_FLAGS = ("sparse", "saturate", "negate_a", "negate_b", "transpose_a", "transpose_b")
_NUMBERS = ("m", "n", "k", "selector", "max_shift", "scale_a_id", "scale_b_id")


@dataclass(frozen=True)
class InstructionDescriptor:
    """The instruction descriptor of tcgen05.mma, its fields by PTX's names; `code` has the 32 bits.

    Defaults are the kind's first types and its smallest K. Print it for a sentence.

    >>> idesc = InstructionDescriptor("f16", m=128, n=256, a="bf16", b="bf16", d="f32")
    >>> hex(idesc.code), idesc.k
    ('0x8400490', 16)
    >>> print(idesc)
    m128n256k16, A and B bf16, D f32.
    >>> InstructionDescriptor.decode(0x8400490, "f16") == idesc
    True
    """

    kind: str
    m: int = 128
    n: int = 256
    k: int = 0
    a: str = ""
    b: str = ""
    d: str = ""
    sparse: bool = False
    selector: int = 0
    saturate: bool = False
    negate_a: bool = False
    negate_b: bool = False
    transpose_a: bool = False
    transpose_b: bool = False
    max_shift: int = 0
    scale: str = ""
    scale_a_id: int = 0
    scale_b_id: int = 0
    scale_a_lanes: Literal[32, 128] = 32
    sparsity_version: Literal[0, 1] = 0

    def __post_init__(self) -> None:
        if not is_name(self.kind, KINDS):
            raise PtxlabError(f"kind {quoted(self.kind)}: there are {listing(KINDS, 8)}")
        for name in _FLAGS:
            object.__setattr__(self, name, as_flag(getattr(self, name), name))
        set_integers(self, (*_NUMBERS, "scale_a_lanes", "sparsity_version"))
        self._set_types()
        if not self.k:
            object.__setattr__(self, "k", self.depths[0])
        self._check_numbers()
        present = {"kind", "m", "n", "k", "a", "b", "d", *(row[0] for row in _FIELDS[self.traits.format])}
        for part in fields(self):
            value = getattr(self, part.name)
            is_default = is_name(value, ("",)) if part.name == "scale" else value == part.default
            if part.name not in present and not is_default:
                raise PtxlabError(
                    f"{part.name}={quoted(value)}: the descriptor of kind::{self.kind} has no such field"
                )

    def _set_types(self) -> None:
        for name, types in self.traits.codes.items():
            type_name = getattr(self, name)
            if is_name(type_name, ("",)):
                object.__setattr__(self, name, next(iter(types)))
            elif not is_name(type_name, types):
                raise PtxlabError(f"{name}={quoted(type_name)}: kind::{self.kind} has {listing(types)}")

    def _check_numbers(self) -> None:
        for name, unit, most in (("m", self.traits.unit_m, 256), ("n", _UNIT_N, 256)):
            number = getattr(self, name)
            if number % unit or not unit <= number <= most:
                raise PtxlabError(
                    f"{name}={quoted(number)}: the descriptor takes multiples of {unit} up to {most}"
                )
        for name, legal in (
            ("k", self.depths),
            ("selector", range(4)),
            ("scale_a_id", range(4)),
            ("scale_b_id", range(4)),
            *_NUMBERED.items(),
            ("sparsity_version", (0, 1)),
        ):
            if getattr(self, name) not in legal:
                raise PtxlabError(
                    f"{name}={quoted(getattr(self, name))}: kind::{self.kind} has {listing(map(str, legal))}"
                )

    @property
    def traits(self) -> MmaKind:
        """What its kind multiplies: types, depths, scales."""
        return KINDS[self.kind]

    @property
    def depths(self) -> tuple[int, ...]:
        """The values of K that it can state, in the order of their codes.

        >>> InstructionDescriptor("mxf4", sparse=True).depths
        (128, 192, 256)
        """
        return tuple(depth * (2 if self.sparse else 1) for depth in self.traits.depths)

    @property
    def structure(self) -> str:
        """The sparsity of A: "" if dense; for 4-bit kinds version 1, which sm_107a has, is 2:4.

        >>> [InstructionDescriptor("mxf4", sparse=True, sparsity_version=v).structure for v in (0, 1)]
        ['4:8', '2:4']
        """
        if not self.sparse:
            return ""
        return "2:4" if self.sparsity_version else self.traits.structure

    @property
    def shape(self) -> str:
        """``m128n256k16``."""
        return f"m{self.m}n{self.n}k{self.k}"

    # -- bits ------------------------------------------------------------------------------------------------

    def _code_of(self, name: str) -> int:
        depth = self.depths.index(self.k)
        if name == "k":
            return depth & 1
        if name == "k_high":
            return depth >> 1
        value = getattr(self, name)
        if name in self.traits.codes:
            return self.traits.codes[name][value]
        units = {"m": self.traits.unit_m, "n": _UNIT_N}
        if name in units:
            return int(value // units[name])
        return _NUMBERED[name][value] if name in _NUMBERED else int(value)

    @property
    def bit_fields(self) -> tuple[BitField, ...]:
        """Its fields, lowest bits first, with values and codes."""
        return tuple(
            BitField(
                name, low, bits, self._code_of(name), self.k if name == "k_high" else getattr(self, name)
            )
            for name, low, bits in _FIELDS[self.traits.format]
        )

    @property
    def code(self) -> int:
        """The 32 bits.

        >>> hex(InstructionDescriptor("mxf4nvf4", m=128, n=64, scale="ue4m3").code)
        '0x8100480'
        """
        return sum(field.code << field.low for field in self.bit_fields)

    def __index__(self) -> int:
        return self.code

    @classmethod
    def decode(cls, code: int, kind: str) -> InstructionDescriptor:
        """The fields of a 32-bit descriptor of that kind; reserved bits that are set are an error.

        >>> InstructionDescriptor.decode(0x8100480, "mxf4nvf4").scale
        'ue4m3'
        """
        number = as_int(code, "descriptor")
        if not 0 <= number < 1 << 32:
            raise PtxlabError(f"descriptor {quoted(number)}: it has 32 bits")
        if not is_name(kind, KINDS):
            raise PtxlabError(f"kind {quoted(kind)}: there are {listing(KINDS, 8)}")
        traits = KINDS[kind]
        parts = {name: number >> low & (1 << bits) - 1 for name, low, bits in _FIELDS[traits.format]}
        unused = number & ~sum((1 << bits) - 1 << low for _, low, bits in _FIELDS[traits.format])
        where = f"descriptor 0x{number:08x}, kind::{kind}"
        if unused:
            raise PtxlabError(
                f"{where}: bit {(unused & -unused).bit_length() - 1} is 1, but is reserved and must be 0"
            )
        values: dict[str, object] = {name: parts[name] for name in parts if name not in ("k", "k_high")}
        depth = parts["k"] + 2 * parts.get("k_high", 0)
        if depth >= len(traits.depths):
            raise PtxlabError(f"{where}: K has code {depth}; there are codes 0 to {len(traits.depths) - 1}")
        values["k"] = traits.depths[depth] * (1 + parts["sparse"])
        values["n"] = parts["n"] * _UNIT_N
        values["m"] = parts["m"] * traits.unit_m
        for name, types in traits.codes.items():
            if name in parts:
                values[name] = _type_of(parts[name], types, f"{where}: type of {_PARTS[name]}")
        for name in _NUMBERED.keys() & parts.keys():
            values[name] = tuple(_NUMBERED[name])[parts[name]]
        with error_prefix(where):
            return cls(kind, **values)  # type: ignore[arg-type]

    # -- words -----------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return f"{', '.join(self._parts())}."

    def _parts(self) -> Iterator[str]:
        """What the sentence says; fields with default values are left out."""
        yield self.shape
        yield f"A and B {self.a}" if self.a == self.b else f"A {self.a}, B {self.b}"
        yield f"D {self.d}"
        if self.traits.scaled:
            yield f"scales {self.scale} (id {self.scale_a_id} of A, {self.scale_b_id} of B)"
        if self.scale_a_lanes != 32:
            yield f"scales of A in {self.scale_a_lanes} lanes"
        if self.sparse:
            selector = "" if self.traits.scaled else f" (selector {self.selector})"
            yield f"A sparse {self.structure}{selector}"
        if self.sparsity_version:
            yield f"sparsity version {self.sparsity_version}"
        for name, participle in (("negate", "negated"), ("transpose", "transposed")):
            operands = [letter.upper() for letter in "ab" if getattr(self, f"{name}_{letter}")]
            if operands:
                yield f"{' and '.join(operands)} {participle}"
        if self.saturate:
            yield "saturating"
        if self.max_shift:
            yield f"B shifted by at most {self.max_shift} columns"

    # -- what an instruction takes ---------------------------------------------------------------------------

    def faults(
        self, *, ws: bool = False, cta_group: int = 1, scale_vector: str = "", target: str | None = None
    ) -> tuple[str, ...]:
        """Sentences on what is wrong with it for such an instruction; () if nothing is.

        >>> InstructionDescriptor("f16", m=256).faults(cta_group=1)
        ('M is 256; with cta_group::1 it is 64 or 128',)
        """
        group = as_int(cta_group, "cta_group")
        if group not in (1, 2):
            raise PtxlabError(f"cta_group={quoted(group)}: there are 1 and 2")
        if not is_name(scale_vector, _SCALE_VECTORS):
            raise PtxlabError(f"scale_vector={quoted(scale_vector)}: there are {listing(_SCALE_VECTORS[1:])}")
        if target is not None:
            check_target(target)
        return tuple(self._faults(as_flag(ws, "ws"), group, scale_vector, target))

    def _faults(self, ws: bool, cta_group: int, scale_vector: str, target: str | None) -> Iterator[str]:
        shapes = shapes_of(self.kind, self.sparse, ws, cta_group)
        modifiers = f"{'.ws' if ws else ''}{'.sp' if self.sparse else ''}"
        if not shapes:
            yield f"kind::{self.kind} has no {modifiers} with cta_group::{cta_group}"
            return
        where = (
            f"with {modifiers} and cta_group::{cta_group}" if modifiers else f"with cta_group::{cta_group}"
        )
        yield from self._shape_faults(shapes, where)
        if target is not None:
            yield from self._target_faults(shapes, target, scale_vector)
        if (self.d, self.kind) == ("f16", "f16") and {self.a, self.b} != {"f16"}:
            yield f"D is f16; with A {self.a} and B {self.b} it is f32"
        if self.kind == "f8f6f4" and self.k > self.depths[0] and {self.a, self.b} - {"e4m3", "e5m2"}:
            yield f"K is {self.k}; then A and B are e4m3 or e5m2"
        yield from self._flag_faults(ws, cta_group)
        yield from self._scale_faults(scale_vector)

    def _shape_faults(self, shapes: tuple[Shapes, ...], where: str) -> Iterator[str]:
        at_k = [row for row in shapes if row.k == self.k]
        if not at_k:
            yield f"K is {self.k}; {where} it is {_either(sorted({row.k for row in shapes}))}"
            return
        rows = sorted({m for row in at_k for m in row.m})
        if self.m not in rows:
            yield f"M is {self.m}; {where} it is {_either(rows)}"
            return
        row = next(row for row in at_k if self.m in row.m)
        if self.n not in row.n:
            yield f"N is {self.n}; {where} it is {row.columns}"

    def _target_faults(self, shapes: tuple[Shapes, ...], target: str, scale_vector: str) -> Iterator[str]:
        only = next((row.targets for row in shapes if row.k == self.k and self.m in row.m), ())
        if only and target not in only:
            yield f"{target} lacks K = {self.k}, which {listing(only)} have"
        if self.scale == "ue5m3" and target not in SM_107:
            yield f"{target} lacks scales of ue5m3, which {listing(SM_107)} have"
        if self.scale == "ue4m3" and scale_vector not in _BLOCK16 and target not in SM_107:
            yield f"{target} lacks scales of ue4m3 for 32 elements each, which {listing(SM_107)} have"
        version = int(target == "sm_107a")
        if self.sparse and self.traits.format == "mxf4" and self.sparsity_version != version:
            yield f"sparsity_version is {self.sparsity_version}; for {target} it is {version}"
        if self.scale_a_lanes != 32 and target not in SM_107:
            yield f"{target} reads scales of A from 32 lanes; {listing(SM_107)} from 128 as well"

    def _flag_faults(self, ws: bool, cta_group: int) -> Iterator[str]:
        if self.saturate and not self.traits.saturates:
            yield f"saturate is 1; kind::{self.kind} does not saturate"
        for letter in "ab":
            if getattr(self, f"negate_{letter}") and not self.traits.negates:
                yield f"{letter.upper()} is negated; kind::{self.kind} does not negate"
            if getattr(self, f"transpose_{letter}"):
                element, deep = getattr(self, letter), self.k > self.depths[0]
                if not self.traits.transposes or (deep and _BITS.get(element, 16) < 8):
                    where = f" with K = {self.k}" if self.traits.transposes else ""
                    yield f"{letter.upper()} is transposed; {element}{where} cannot be"
        bits = _BITS.get(self.b, 16)
        if self.transpose_b and bits <= 8 and not ws and self.n % (16 * cta_group):
            yield f"N is {self.n}; with a transposed B of {bits} bits it is a multiple of {16 * cta_group}"
        if self.max_shift and not ws:
            yield f"max_shift is {self.max_shift}; only .ws shifts B"
        if not self.sparse and self.selector:
            yield f"selector is {self.selector}; a dense A has none"
        if self.sparse and self.selector and self.kind in ("f8f6f4", "i8"):
            yield f"selector is {self.selector}; for kind::{self.kind} it is 0"

    def _scale_faults(self, scale_vector: str) -> Iterator[str]:
        if not self.traits.scaled:
            return
        count = scales_per_row(self, scale_vector)
        # The id is the byte of a word at which a row's scales begin. It is a multiple of the largest power of
        # two that divides their number, so that 2 or 4 lie in one word; 3 and 6 are those of K = 96.
        alignment = min(count & -count, 4)
        for letter in "ab":
            identity = getattr(self, f"scale_{letter}_id")
            if identity % alignment:
                legal = range(0, 4, alignment)
                yield (
                    f"scale_{letter}_id is {identity}; with {count} scales a row it is {_either([*legal])}"
                )


def scales_per_row(descriptor: InstructionDescriptor, scale_vector: str = "") -> int:
    """Scale factors of a row of A, or a column of B ("Valid combinations of scale_vectorsize and shapes").

    That table has one scale for kind::mxf8f6f4 at any K; in Triton and FlashInfer, which run on such a chip,
    each block of 32 elements of K = 64 has one.

    >>> scales_per_row(InstructionDescriptor("mxf4nvf4", k=96), "block16")
    6
    """
    # K of a sparse instruction counts the zeros of A, its blocks too
    return descriptor.k // (2 if descriptor.sparse else 1) // (16 if scale_vector in _BLOCK16 else 32)


def _either(values: list[int]) -> str:
    words = [str(value) for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


_PARTS = {"a": "A", "b": "B", "d": "D", "scale": "the scales"}

#: Bits of an element, for what depends on it.
_BITS = {"e4m3": 8, "e5m2": 8, "u8": 8, "s8": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4, "tf32": 32}


def _type_of(code: int, types: Mapping[str, int], what: str) -> str:
    for name, type_code in types.items():
        if type_code == code:
            return name
    legal = ", ".join(f"{type_code} ({name})" for name, type_code in types.items())
    raise PtxlabError(f"{what} has code {code}; there are {legal}")
