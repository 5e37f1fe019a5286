"""The tcgen05 family: matrices multiplied in tensor memory, data moved to and from it, and what goes around.

A form is a mnemonic; of tcgen05.mma also an instruction descriptor, since shape and types are there. PTX ISA
9.4, "TensorCore 5th Generation Family Instructions".
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_index, as_int, is_a, is_name
from ..errors import PtxlabError, listing, quoted
from .dtypes import DTYPES, DType, dtype
from .form import Form
from .instruction_descriptor import KINDS, SM_107, InstructionDescriptor, Kind, scales_per_row, shapes_of
from .layout import Layout, Mode, _merged
from .operand import Operand
from .sparsity import STRUCTURES, Structure
from .tensor_memory import (
    LANES,
    DataPath,
    TensorLayout,
    TensorOperand,
    data_path,
    scale_layout,
    transposed,
)
from .versions import PtxVersion

__all__ = [
    "COLLECTOR_OPERATIONS",
    "FAMILIES",
    "MMA_FAMILIES",
    "Tcgen05Control",
    "Tcgen05Form",
    "Tcgen05Mma",
    "Tcgen05Move",
]

MMA_FAMILIES: tuple[str, ...] = ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp")
MOVE_FAMILIES: tuple[str, ...] = ("tcgen05.ld", "tcgen05.st", "tcgen05.cp", "tcgen05.shift")
#: What stands around them in a kernel, and what it does.
CONTROL_FAMILIES: dict[str, str] = {
    "tcgen05.alloc": "allocates columns of tensor memory",
    "tcgen05.dealloc": "frees columns of tensor memory",
    "tcgen05.relinquish_alloc_permit": "gives up the right to allocate tensor memory",
    "tcgen05.commit": "signals an mbarrier when earlier tcgen05 instructions are complete",
    "tcgen05.fence": "orders tcgen05 instructions with those before or after it",
    "tcgen05.wait": "waits until tcgen05.ld or tcgen05.st is complete",
}
FAMILIES: tuple[str, ...] = (*MMA_FAMILIES, *MOVE_FAMILIES, *CONTROL_FAMILIES)

#: What an instruction may ask of the collector, the buffer that keeps A or B for the next instruction.
COLLECTOR_OPERATIONS = ("fill", "use", "lastuse", "discard")

#: Elements that no instruction looks into, and types that only these instructions know.
_TYPES: dict[str, DType] = {
    "b32": DType("b32", 32, "bits", False, np.uint32, note="32 bits of any type"),
    "b16": DType("b16", 16, "bits", False, np.uint16, note="16 bits of any type"),
    "b8": DType("b8", 8, "bits", False, np.uint8, note="8 bits of any type"),
    "s1z4m11": DType("s1z4m11", 16, "bits", False, np.uint16, note="sign, four zeros, 11 bits of magnitude"),
    "ue5m3": DType("ue5m3", 8, "bits", False, np.uint8, note="5 exponent and 3 fraction bits, no sign"),
}
#: Bits below an element in a container of 8, for kind::f8f6f4 and kind::mxf8f6f4.
_PADDING = {"e2m1": 2}


def _type(name: str) -> DType:
    return DTYPES.get(name) or _TYPES[name]


class Tcgen05Form(Form):
    """What all instructions of the family have.

    >>> import ptxlab
    >>> wait = ptxlab.instruction("tcgen05.wait::ld.sync.aligned")
    >>> wait.lanes, wait.syntax, wait.supports("sm_100f")
    (32, 'tcgen05.wait::ld.sync.aligned;', True)
    """

    @property
    @abstractmethod
    def syntax(self) -> str:
        """The instruction with its operand list, operands named as in the manual."""

    @property
    def tensors(self) -> dict[str, TensorOperand]:
        """Its matrices in tensor memory by name; `operands` has those in registers and in shared memory."""
        return {}

    @property
    def operands(self) -> dict[str, Operand]:
        """Its matrices in registers and in shared memory by name; `tensors` has those in tensor memory."""
        return {}

    def tensor(self, name: str) -> TensorOperand:
        """The matrix of that name in tensor memory, in either case.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.mma.cta_group::2.kind::tf32").tensor("D").ctas
        2
        """
        found = self.tensors.get(name.upper()) if is_a(name, str) else None
        if found is None:
            raise PtxlabError(
                f"{self.mnemonic} has no {quoted(name)} in tensor memory; it has "
                f"{listing(self.tensors) if self.tensors else 'nothing there'}"
            )
        return found


# -- tcgen05.mma ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Tcgen05Mma(Tcgen05Form):
    """One form of tcgen05.mma: its mnemonic and its instruction descriptor.

    `A` is in shared memory, or in tensor memory (`a_from("tensor")`); D always is in tensor memory.

    >>> import ptxlab
    >>> name = "tcgen05.mma.cta_group::1.kind::f16"
    >>> ins = ptxlab.instruction(name, m=128, n=256, a="f16", b="f16", d="f32")
    >>> ins.m, ins.n, ins.k, ins.path.name, hex(ins.descriptor.code)
    (128, 256, 16, 'D', '0x8400010')
    >>> ins == ptxlab.instruction(name, descriptor=0x8400010)
    True
    >>> ins.d.where(7, 100)
    [TensorPlace(cta=0, lane=7, column=100, low=0, high=31)]
    """

    family: str
    kind: str
    cta_group: Literal[1, 2]
    targets: tuple[str, ...]
    descriptor: InstructionDescriptor
    scale_vector: str = ""  # block16, block32, scale_vec::1X, ...; empty if the mnemonic leaves it out
    decompress: bool = False  # .decompress::lut::b
    ashift: bool = False
    collector_a: str = ""  # the operation, or empty
    collector_b: str = ""  # b::fill, or b0::fill of .ws, or empty
    a_space: Literal["shared", "tensor"] = "shared"
    scale_input_d: tuple[str, ...] = ()  # targets that take this argument

    def __post_init__(self) -> None:
        if not is_name(self.family, MMA_FAMILIES):
            raise PtxlabError(f"family {quoted(self.family)}: there are {listing(MMA_FAMILIES)}")
        if not is_name(self.kind, KINDS):
            raise PtxlabError(f"kind {quoted(self.kind)}: there are {listing(KINDS, 8)}")
        self.check_targets()
        if not is_name(self.a_space, ("shared", "tensor")):
            raise PtxlabError(f"a_space={quoted(self.a_space)}: A is in 'shared' or in 'tensor' memory")
        if self.ashift and self.a_space == "shared":
            raise PtxlabError(
                f"{self.mnemonic}: .ashift shifts rows of A in tensor memory, not in shared memory"
            )
        found = (self.descriptor.kind, self.descriptor.sparse)
        if found != (self.kind, self.sparse):
            dense = "sparse" if self.descriptor.sparse else "dense"
            raise PtxlabError(f"{self.mnemonic}: its descriptor is of kind::{self.descriptor.kind}, {dense}")
        faults = self.faults(self.descriptor)
        if faults:
            raise PtxlabError(f"{self.mnemonic}: {faults[0]}")

    @classmethod
    def of(cls, form: Tcgen05Mma) -> Self:
        """The same form as an instance of this class."""
        if not isinstance(form, Tcgen05Mma):
            raise PtxlabError(f"found {quoted(form)}; ptxlab.instruction('tcgen05.mma...') gives such a form")
        return cls(**{field.name: getattr(form, field.name) for field in fields(form)})

    @cached_property
    def _identity(self) -> tuple[str, ...]:
        return (self.mnemonic, hex(self.descriptor.code), self.a_space)

    def __repr__(self) -> str:
        where = ", A in tensor memory" if self.a_space == "tensor" else ""
        return f"<{self.mnemonic} {self.shape}.{self.d_type}.{self.a_type}.{self.b_type}{where}>"

    # -- the form in PTX's words -----------------------------------------------------------------------------

    @property
    def row(self) -> Kind:
        """What its kind multiplies."""
        return KINDS[self.kind]

    @property
    def ws(self) -> bool:
        """Whether it is weight stationary."""
        return ".ws" in self.family

    @property
    def sparse(self) -> bool:
        """Whether A is structured sparse."""
        return self.family.endswith(".sp")

    @property
    def scaled(self) -> bool:
        """Whether A and B come with block scales."""
        return self.row.scaled

    @property
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""
        parts = [self.family, f"cta_group::{self.cta_group}", f"kind::{self.kind}"]
        parts += ["block_scale"] if self.scaled else []
        parts += ["decompress::lut::b"] if self.decompress else []
        parts += [self.scale_vector] if self.scale_vector else []
        parts += ["ashift"] if self.ashift else []
        parts += [f"collector::a::{self.collector_a}"] if self.collector_a else []
        parts += [f"collector::{self.collector_b}"] if self.collector_b else []
        return ".".join(parts)

    @property
    def syntax(self) -> str:
        """The instruction with its operand list; what may be left out is in brackets of its own."""
        parts = ["[d-tmem]", "[a-tmem]" if self.a_space == "tensor" else "a-desc", "b-desc"]
        parts += ["[sp-meta-tmem]"] if self.sparse else []
        parts += ["[b-decompress-metadata]"] if self.decompress else []
        parts += ["idesc"]
        parts += ["[scale-A-tmem]", "[scale-B-tmem]"] if self.scaled else []
        lanes = ", {disable-output-lane}" if "disable-output-lane" in self.arguments else ""
        last = "".join(f"{{, {name}}}" for name in self.arguments if name != "disable-output-lane")
        return f"{self.mnemonic} {', '.join(parts)}{lanes}, enable-input-d{last};"

    @property
    def arguments(self) -> dict[str, tuple[str, ...]]:
        """The arguments that may be left out, each with the targets that take it.

        >>> import ptxlab
        >>> f16 = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16")
        >>> list(f16.arguments), "sm_110a" in f16.arguments["scale-input-d"]
        (['disable-output-lane', 'scale-input-d'], False)
        """
        if self.ws:
            return {"zero-column-mask-desc": self.targets}
        if self.scaled:
            return {}
        found = {"disable-output-lane": self.targets}
        if self.scale_input_d:
            found["scale-input-d"] = self.scale_input_d
        return found

    @property
    def mask_registers(self) -> int:
        """Registers of `disable-output-lane`: one bit for each lane of tensor memory."""
        return 4 * self.cta_group

    @property
    def ptx_version(self) -> PtxVersion:
        """The first version of the PTX ISA that has it; some targets are younger (`ptx_version_for`)."""
        if self.kind == "ti16" or self.decompress or self.collector_b.startswith("b::"):
            return PtxVersion(9, 4)
        if self.scale_vector.startswith("block"):
            return PtxVersion(8, 8)
        return PtxVersion(8, 7) if self.kind == "mxf4nvf4" else PtxVersion(8, 6)

    @property
    def lanes(self) -> int:
        """One thread issues it."""
        return 1

    def a_from(self, space: Literal["shared", "tensor"]) -> Self:
        """The same instruction with A in shared memory behind a descriptor, or in tensor memory."""
        return replace(self, a_space=space)

    @property
    def collectors(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Hints for the collector that it may have, (of A, of B), each with the targets that take them.

        >>> import ptxlab
        >>> f16 = ptxlab.instruction("tcgen05.mma.ws.cta_group::1.kind::f16")
        >>> len(f16.collectors)   # none, and four operations on each of four buffers of B
        17
        """
        if self.ws:
            hints = [f"b{i}::{operation}" for i in range(4) for operation in COLLECTOR_OPERATIONS]
            return {("", hint): self.targets for hint in ("", *hints)}
        of_a = ("lastuse", "discard") if self.ashift else COLLECTOR_OPERATIONS
        found = {(a, ""): self.targets for a in ("", *of_a)}
        targets = tuple(target for target in self.targets if target in SM_107)
        if targets:
            found |= {(a, f"b::{b}"): targets for a in ("", *of_a) for b in COLLECTOR_OPERATIONS}
        return found

    def collecting(self, a: str = "", b: str = "") -> Self:
        """The same instruction with hints for the collector: ``fill``, ``use``, ``lastuse``, ``discard``.

        They change no result. A hint for B names its buffer: ``b::fill``, of .ws ``b0::fill``.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16").collecting(a="fill").mnemonic
        'tcgen05.mma.cta_group::1.kind::f16.collector::a::fill'
        """
        plain = (
            replace(self, collector_a="", collector_b="") if self.collector_a or self.collector_b else self
        )
        targets = plain.collectors.get((a, b)) if is_a(a, str) and is_a(b, str) else None
        if targets is None:
            of_a = listing(dict.fromkeys(hint for hint, _ in plain.collectors if hint), 4)
            of_b = listing(dict.fromkeys(hint for _, hint in plain.collectors if hint), 16)
            raise PtxlabError(
                f"{self.mnemonic}: no collector hints {quoted(a)} of A and {quoted(b)} of B; of A there are "
                f"{of_a or 'none'}, of B {of_b or 'none'}"
            )
        return replace(self, collector_a=a, collector_b=b, targets=targets)

    # -- the descriptor --------------------------------------------------------------------------------------

    @property
    def shape(self) -> str:
        """``m128n256k16``."""
        return self.descriptor.shape

    @property
    def m(self) -> int:
        """Rows of A and D."""
        return self.descriptor.m

    @property
    def n(self) -> int:
        """Columns of B and D."""
        return self.descriptor.n

    @property
    def k(self) -> int:
        """Columns of A (its zeros included, if sparse) and rows of B."""
        return self.descriptor.k

    @property
    def a_type(self) -> str:
        """Element type of A."""
        return self.descriptor.a

    @property
    def b_type(self) -> str:
        """Element type of B."""
        return self.descriptor.b

    @property
    def d_type(self) -> str:
        """Element type of D, which it also reads."""
        return self.descriptor.d

    @property
    def shapes(self) -> tuple[str, ...]:
        """Every shape that it may have, on some target."""
        every = shapes_of(self.kind, self.sparse, self.ws, self.cta_group)
        return tuple(f"m{m}n{n}k{rows.k}" for rows in every for m in rows.m for n in rows.n)

    def faults(self, descriptor: InstructionDescriptor | int, target: str | None = None) -> tuple[str, ...]:
        """What is wrong with a descriptor for this mnemonic, in sentences; () if nothing is.

        >>> import ptxlab
        >>> f16 = ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16")
        >>> f16.faults(0x8420010), f16.faults(0x8400050)
        (('descriptor 0x08420010, kind::f16: n=264: the descriptor takes multiples of 8 up to 256',), \
('descriptor 0x08400050, kind::f16: bit 6 is 1, but is reserved and must be 0',))
        """
        if not isinstance(descriptor, InstructionDescriptor):
            try:
                descriptor = InstructionDescriptor.decode(descriptor, self.kind)
            except PtxlabError as error:
                return (str(error),)
        found = list(
            descriptor.faults(
                ws=self.ws, cta_group=self.cta_group, scale_vector=self.scale_vector, target=target
            )
        )
        if descriptor.sparse != self.sparse:
            found.insert(
                0, f"its sparse bit is {int(descriptor.sparse)}; {self.family} takes {int(self.sparse)}"
            )
        if descriptor.kind != self.kind:
            found.insert(0, f"it is of kind::{descriptor.kind}")
        if self.ashift and descriptor.m == 64:
            found.append("M is 64; with .ashift it is 128 or 256")
        if self.decompress and descriptor.b != "e4m3":
            found.append(f"B is {descriptor.b}; with .decompress::lut::b it is e4m3")
        if self.decompress and descriptor.transpose_b:
            found.append("B is transposed; with .decompress::lut::b it cannot be")
        return tuple(found)

    def with_descriptor(self, code: int | None = None, **parts: object) -> Self:
        """The same mnemonic with another descriptor: from its 32 bits, or from parts that change.

        >>> import ptxlab
        >>> f16 = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16")
        >>> f16.with_descriptor(m=64, n=24).shape
        'm64n24k16'
        """
        if code is not None:
            if parts:
                raise PtxlabError(f"descriptor and {listing(parts)}: give the 32 bits, or the parts")
            faults = self.faults(code)
            if faults:
                raise PtxlabError(f"{self.mnemonic}: {faults[0]}")
            return replace(self, descriptor=InstructionDescriptor.decode(code, self.kind))
        names = [
            field.name for field in fields(InstructionDescriptor) if field.name not in ("kind", "sparse")
        ]
        unknown = [name for name in parts if name not in names]
        if unknown:
            raise PtxlabError(
                f"{self.mnemonic} takes no {quoted(unknown[0])}; its descriptor has {listing(names, 30)}"
            )
        try:
            return replace(self, descriptor=replace(self.descriptor, **parts))  # type: ignore[arg-type]
        except PtxlabError as error:
            message = str(error).removeprefix(f"{self.mnemonic}: ")
            raise PtxlabError(f"{self.mnemonic}: {message}") from None

    def supports(self, target: str) -> bool:
        """Whether a target has this instruction with this descriptor; an unknown target is an error."""
        return super().supports(target) and not self.faults(self.descriptor, target)

    # -- operands --------------------------------------------------------------------------------------------

    @property
    def path(self) -> DataPath:
        """Which lanes of tensor memory it uses: one of layouts A to G."""
        return data_path(self.m, cta_group=self.cta_group, sparse=self.sparse, ws=self.ws)

    @property
    def structure(self) -> Structure | None:
        """The sparsity that A must have, or None for a dense instruction."""
        return STRUCTURES[self.row.structure] if self.sparse else None

    @cached_property
    def a(self) -> Operand | TensorOperand:
        """Multiplicand A; of a sparse instruction the compressed A, half as wide."""
        shape = (self.m, self.k // (2 if self.sparse else 1))
        element = _type(self.a_type)
        if self.a_space == "shared":
            return Operand("A", element, shape, None, "shared", ("m", "k"))
        if self.k > self.descriptor.depths[0] and element.bits == 6:
            raise PtxlabError(
                f"{self.mnemonic} {self.shape}: A of {self.a_type} in tensor memory is packed without "
                f"padding, a picture in the PTX ISA that ptxlab does not have"
            )
        container, padding = self._container(element)
        source = self.path.source
        if self.path.name in "EG":
            source = "assumed: held once for each group of lanes, as in layout B"
        layout = self.path.multiplicand(*shape)
        return TensorOperand("A", element, shape, layout, ("m", "k"), container, padding, source=source)

    def _container(self, element: DType) -> tuple[int, int]:
        if self.row.types is KINDS["f8f6f4"].types and element.bits < 8:
            return 8, _PADDING.get(element.name, 0)
        return 0, 0

    @cached_property
    def b(self) -> Operand:
        """Multiplicand B, in shared memory; of cta_group::2 each CTA has half of its columns."""
        return Operand("B", _type(self.b_type), (self.k, self.n), None, "shared", ("k", "n"))

    @cached_property
    def d(self) -> TensorOperand:
        """Accumulator and result D: each element in a column of its own, f16 in the lower half of it."""
        layout = self.path.result(self.m, self.n)
        return TensorOperand(
            "D", dtype(self.d_type), (self.m, self.n), layout, ("m", "n"), 32, source=self.path.source
        )

    @cached_property
    def e(self) -> TensorOperand | None:
        """Sparsity metadata, one nibble for every row and chunk of A; None for a dense instruction."""
        if self.structure is None:
            return None
        chunks = self.k // self.structure.chunk
        wide = self.kind in ("f16", "tf32", "ti16")
        layout = self.path.metadata(self.m, chunks, wide)
        start = (0, chunks * self.descriptor.selector if wide else 0)
        source = "CUTLASS; pictures in the PTX ISA"
        if self.path.name in "BCF":
            source = "assumed: in the lanes of D, as CUTLASS has it for 128 rows"
        return TensorOperand(
            "E", dtype("b4"), (self.m, chunks), layout, ("m", "chunk"), start=start, source=source
        )

    @cached_property
    def scale_a(self) -> TensorOperand | None:
        """Block scales of A, or None."""
        if not self.scaled:
            return None
        count, first = scales_per_row(self.descriptor, self.scale_vector), self.descriptor.scale_a_id
        lanes = self.descriptor.scale_a_lanes
        layout = scale_layout(self.m // self.cta_group, self.cta_group, -(-(first + count) // 4), lanes=lanes)
        return TensorOperand(
            "SFA",
            _type(self.descriptor.scale),
            (self.m, count),
            layout,
            ("m", "block"),
            start=(0, first),
            source=self._scale_source(first + count, lanes),
        )

    @cached_property
    def scale_b(self) -> TensorOperand | None:
        """Block scales of B, or None; of cta_group::2 both CTAs hold all of them."""
        if not self.scaled:
            return None
        count, first = scales_per_row(self.descriptor, self.scale_vector), self.descriptor.scale_b_id
        layout = transposed(scale_layout(self.n, 1, -(-(first + count) // 4)))
        if self.cta_group == 2:
            copies: tuple[Mode, ...] = (*layout.copy, (2, LANES, 0))
            layout = replace(layout, copy=copies)
        source = self._scale_source(first + count, 32)
        if self.path.name == "B":
            source = "PTX ISA; CUTLASS gives each half of the columns of B its own 64 lanes"
        return TensorOperand(
            "SFB",
            _type(self.descriptor.scale),
            (count, self.n),
            layout,
            ("block", "n"),
            start=(first, 0),
            source=source,
        )

    def _scale_source(self, scales: int, lanes: int) -> str:
        if scales > 4 or lanes == LANES:
            return "assumed: in order; a picture in the PTX ISA"
        return "PTX ISA and CUTLASS"

    @cached_property
    def operands(self) -> dict[str, Operand]:
        """A and B in shared memory by name; `tensors` has what is in tensor memory."""
        return {matrix.name: matrix for matrix in (self.a, self.b) if isinstance(matrix, Operand)}

    @cached_property
    def tensors(self) -> dict[str, TensorOperand]:
        """What is in tensor memory by name: D, and A, E, SFA, SFB where it has them there."""
        every = (self.a, self.d, self.e, self.scale_a, self.scale_b)
        return {matrix.name: matrix for matrix in every if isinstance(matrix, TensorOperand)}

    @property
    def selectors(self) -> tuple[int, ...]:
        """Legal sparsity selectors; () for a dense instruction."""
        if not self.sparse:
            return ()
        return (0, 1, 2, 3) if self.kind in ("f16", "tf32", "ti16") else (0,)

    # -- sparsity --------------------------------------------------------------------------------------------

    def _structured(self, A: ArrayLike | None = None) -> Structure:
        if self.structure is None:
            raise PtxlabError(
                f"{self.mnemonic} is dense: it has no sparsity to compress; sparse forms are spelt .sp"
            )
        if A is not None and as_array(A, "A").shape[-2:] != (self.m, self.k):
            raise PtxlabError(f"A: found shape {as_array(A, 'A').shape}; it takes [..., {self.m}, {self.k}]")
        return self.structure

    def compress(self, A: ArrayLike) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """Dense structured-sparse A -> (stored half, one nibble for every row and chunk, for `e`).

        >>> import ptxlab
        >>> ins = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16")
        >>> stored, nibbles = ins.compress(ins.prune(np.ones((128, 32))))
        >>> stored.shape, nibbles.shape, ins.e.pack_codes(nibbles).shape   # words of tensor memory
        ((128, 16), (128, 8), (128, 4))
        """
        return self._structured(A).compress(A)

    def expand(self, stored: ArrayLike, nibbles: ArrayLike) -> NDArray[Any]:
        """The inverse of `compress`."""
        return self._structured().expand(stored, nibbles, ordered=False)

    def prune(self, A: ArrayLike) -> NDArray[Any]:
        """The nearest matrix that has the structure: the largest groups of every chunk stay."""
        return self._structured(A).prune(A)

    @property
    def nibbles(self) -> dict[int, tuple[int, ...]]:
        """Metadata nibbles that mean something, and the groups that each keeps; none for dense instructions.

        The manual lists one whose indices descend, 0b0110, and no other such.

        >>> import ptxlab
        >>> sorted(ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::i8").nibbles)
        [4, 6, 8, 9, 12, 13, 14]
        """
        if self.structure is None:
            return {}
        if self.kind == "tf32":
            return self.structure.nibbles
        return {**self.structure.nibbles, 0b0110: (2, 1)}


# -- tcgen05.ld, .st, .cp, .shift ----------------------------------------------------------------------------

#: Lanes of a shape of ld and st, and columns and registers at count 1.
_SHAPES: dict[str, tuple[int, int, int]] = {
    "16x64b": (16, 2, 1), "16x128b": (16, 4, 2), "16x256b": (16, 8, 4), "32x32b": (32, 1, 1),
    "16x32bx2": (16, 2, 1),
}  # fmt: skip
LOAD_SHAPES: tuple[str, ...] = tuple(_SHAPES)
MOST_REGISTERS = 128

#: Rows and bits of a shape of cp, and the multicasts that it takes.
COPY_SHAPES: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "128x256b": (128, 256, ("",)),
    "4x256b": (4, 256, ("",)),
    "128x128b": (128, 128, ("",)),
    "64x128b": (64, 128, ("warpx2::02_13", "warpx2::01_23")),
    "32x128b": (32, 128, ("warpx4",)),
}
#: Packed source format -> bits of its elements, which become bytes.
_UNPACKED = {"b6x16_p32": 6, "b4x16_p64": 4}

#: Row modes and copies in lanes, by shape and multicast (CUTLASS, copy_traits_sm100.hpp).
_COPY_LANES: dict[tuple[str, str], tuple[tuple[Mode, ...], tuple[Mode, ...]]] = {
    ("128x256b", ""): (((128, 1, 0),), ()),
    ("128x128b", ""): (((128, 1, 0),), ()),
    ("4x256b", ""): (((4, 32, 0),), ()),
    ("64x128b", "warpx2::02_13"): (((64, 1, 0),), ((2, 64, 0),)),
    ("64x128b", "warpx2::01_23"): (((32, 1, 0), (2, 64, 0)), ((2, 32, 0),)),
    ("32x128b", "warpx4"): (((32, 1, 0),), ((4, 32, 0),)),
}


class Slot(NamedTuple):
    """A register of a thread, and the bits of it, that hold a word of tensor memory or half of one.

    >>> Slot(thread=3, register=0, low=0, high=31).thread
    3
    """

    thread: int
    register: int
    low: int
    high: int


@dataclass(frozen=True, eq=False, repr=False)
class Tcgen05Move(Tcgen05Form):
    """An instruction that moves data to or from tensor memory: tcgen05.ld, .st, .cp or .shift.

    >>> import ptxlab
    >>> ld = ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")
    >>> ld.registers, ld.columns, ld.locate(thread=37, register=3)   # warp 1: lane and column
    (4, 8, (41, 3))
    >>> ld.slots(lane=41, column=3)
    [Slot(thread=37, register=3, low=0, high=31)]
    """

    family: str
    targets: tuple[str, ...]
    dimensions: str = ""  # 32x32b, 128x256b
    count: int = 1
    pack: bool = False  # .pack::16b, .unpack::16b
    reduction: str = ""  # min, max: .ld.red, or the choice of .spcompress
    reduces: bool = False  # .red
    compresses: bool = False  # .spcompress
    absolute: bool = False
    nan: bool = False
    type: str = "b32"
    cta_group: Literal[0, 1, 2] = 0
    multicast: str = ""
    source: str = ""  # b6x16_p32, b4x16_p64

    @classmethod
    def of(cls, form: Tcgen05Move) -> Self:
        """The same form as an instance of this class."""
        if not isinstance(form, Tcgen05Move):
            raise PtxlabError(f"found {quoted(form)}; ptxlab.instruction('tcgen05.ld...') gives such a form")
        return cls(**{field.name: getattr(form, field.name) for field in fields(form)})

    def __post_init__(self) -> None:
        if not is_name(self.family, MOVE_FAMILIES):
            raise PtxlabError(f"family {quoted(self.family)}: there are {listing(MOVE_FAMILIES)}")
        shapes = {"tcgen05.cp": tuple(COPY_SHAPES), "tcgen05.shift": ("31x256b",)}.get(
            self.family, LOAD_SHAPES
        )
        if not is_name(self.dimensions, shapes):
            raise PtxlabError(f"{self.family}: shape {quoted(self.dimensions)}; there are {listing(shapes)}")
        self.check_targets()
        if self.threads == 32 and self.registers > MOST_REGISTERS:
            raise PtxlabError(
                f"{self.mnemonic}: {self.registers} registers; a thread moves at most {MOST_REGISTERS}"
            )

    # -- the form in PTX's words -----------------------------------------------------------------------------

    @property
    def shape(self) -> str:
        """``32x32b``, ``128x256b``."""
        return self.dimensions

    @property
    def threads(self) -> int:
        """Threads that execute it together: a warp, or one."""
        return 32 if self.family in ("tcgen05.ld", "tcgen05.st") else 1

    @property
    def lanes(self) -> int:
        """Threads that execute it together: 32 for ld and st, otherwise 1."""
        return self.threads

    @property
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""
        if self.family == "tcgen05.shift":
            return f"tcgen05.shift.cta_group::{self.cta_group}.down"
        if self.family == "tcgen05.cp":
            parts = [self.family, f"cta_group::{self.cta_group}", self.shape]
            parts += [self.multicast] if self.multicast else []
            parts += ["b8x16", self.source] if self.source else []
            return ".".join(parts)
        parts = [self.family]
        parts += ["red"] if self.reduces else []
        parts += ["spcompress"] if self.compresses else []
        parts += ["sync", "aligned", self.shape, f"x{self.count}"]
        parts += [f"{'un' if self.family == 'tcgen05.st' else ''}pack::16b"] if self.pack else []
        parts += [self.reduction] if self.reduction else []
        parts += ["sp::2:4"] if self.compresses else []
        parts += ["abs"] if self.absolute else []
        parts += ["NaN"] if self.nan else []
        parts += [self.type, "b2"] if self.compresses else [self.type]
        return ".".join(parts)

    @property
    def syntax(self) -> str:
        """The instruction with its operand list, operands named as in the manual."""
        if self.family == "tcgen05.shift":
            return f"{self.mnemonic} [taddr];"
        if self.family == "tcgen05.cp":
            return f"{self.mnemonic} [taddr], s-desc;"
        split = ", immHalfSplitoff" if self.shape == "16x32bx2" else ""
        if self.family == "tcgen05.st":
            return f"{self.mnemonic} [taddr]{split}, r;"
        registers = "mdata, cdata" if self.compresses else "r"
        reduced = ", redval" if self.reduces else ""
        return f"{self.mnemonic} {registers}{reduced}, [taddr]{split};"

    @property
    def ptx_version(self) -> PtxVersion:
        """The first version of the PTX ISA that has it."""
        if self.compresses:
            return PtxVersion(9, 4)
        return PtxVersion(8, 8) if self.reduces else PtxVersion(8, 6)

    # -- registers and tensor memory -------------------------------------------------------------------------

    @property
    def registers(self) -> int:
        """Registers of a thread that ld fills with data or st stores; 0 for cp and shift."""
        if self.threads == 1:
            return 0
        whole = _SHAPES[self.shape][2] * self.count
        return whole // 2 if self.compresses else whole

    @property
    def columns(self) -> int:
        """Columns of tensor memory that it touches; 16x32bx2 touches half of them in each of two places."""
        if self.family == "tcgen05.shift":
            return 8
        if self.family == "tcgen05.cp":
            return COPY_SHAPES[self.shape][1] // 32
        return _SHAPES[self.shape][1] * self.count * (2 if self.pack else 1)

    @cached_property
    def layout(self) -> Layout:
        """(thread, element) of a warp -> (lane, column), from where the address points; of ld and st.

        An element is a register; with .pack::16b or .unpack::16b half of one, from the lower half of a
        column.
        The second half of the columns of 16x32bx2 are those behind `immHalfSplitoff`.
        """
        n = self.count
        half: tuple[Mode, ...] = ((2, 0, 1),) if self.pack else ()
        step = 2 if self.pack else 1  # columns that a register stands for
        modes: dict[str, tuple[tuple[Mode, ...], tuple[Mode, ...]]] = {
            "32x32b": (((32, 1, 0),), (*half, (n, 0, step))),
            "16x64b": (((2, 8, 0), (2, 0, step), (8, 1, 0)), (*half, (n, 0, 2 * step))),
            "16x128b": (((4, 0, step), (8, 1, 0)), (*half, (2, 8, 0), (n, 0, 4 * step))),
            "16x256b": (((4, 0, 2 * step), (8, 1, 0)), (*half, (2, 0, step), (2, 8, 0), (n, 0, 8 * step))),
            "16x32bx2": (((16, 1, 0), (2, 0, n * step)), (*half, (n, 0, step))),
        }
        if self.shape not in modes or self.compresses:
            raise PtxlabError(f"{self.mnemonic} has no layout of registers; tcgen05.ld and tcgen05.st have")
        lane, element = modes[self.shape]
        return Layout((_SHAPES[self.shape][0], self.columns), _merged(lane), _merged(element))

    @cached_property
    def operands(self) -> dict[str, Operand]:
        """R, the registers of a warp as a matrix of its lanes by columns of tensor memory; of ld and st."""
        if self.threads == 1 or self.compresses:
            return {}
        layout = self.layout
        kind = _TYPES["b16" if self.pack else "b32"]
        return {"R": Operand("R", kind, layout.shape, layout, axes=("lane", "column"))}

    @cached_property
    def tensors(self) -> dict[str, TensorOperand]:
        """T, what cp writes: rows of the source matrix, and its 32-bit words (bytes, where it unpacks)."""
        if self.family != "tcgen05.cp":
            return {}
        rows, bits, _ = COPY_SHAPES[self.shape]
        lanes, copies = _COPY_LANES[self.shape, self.multicast]
        if self.cta_group == 2:
            copies = (*copies, (2, LANES, 0))
        width = 8 if self.source else 32
        element = _TYPES[f"b{width}"]
        layout = TensorLayout((rows, bits // width), lanes, ((bits // width, 0, 1),), copies)
        return {"T": TensorOperand("T", element, layout.shape, layout, source="CUTLASS")}

    def _first_lane(self, address: int) -> tuple[int, int]:
        at = as_int(address, "address")
        if not 0 <= at < 1 << 32:
            raise PtxlabError(f"address {quoted(at)}: it has 32 bits, the lane in the upper 16")
        lane, column = at >> 16, at & 0xFFFF
        if not 0 <= lane < LANES or lane % 16 or (self.shape == "32x32b" and lane % 32):
            step = 32 if self.shape == "32x32b" else 16
            raise PtxlabError(
                f"address 0x{at:08x}: it begins in lane {lane}; {self.shape} begins in a multiple of {step}"
            )
        return lane % 32, column

    def locate(
        self, thread: int, register: int, address: int = 0, *, split: int | None = None
    ) -> tuple[int, int]:
        """The (lane, column) of tensor memory that goes with a register of one of the 128 threads.

        Each warp of a warpgroup has its own 32 lanes, whatever lane the address names. With .pack::16b it is
        the word of the lower half. `split` is `immHalfSplitoff`, in columns; left out, half of the columns.
        """
        thread = as_index(thread, "thread", LANES)
        register = as_index(register, "register", self.registers)
        lane, column = self._first_lane(address)
        row, along = self.layout.coords()[thread % 32, register * (2 if self.pack else 1)].tolist()
        return 32 * (thread // 32) + lane + row, column + self._column(along, split)

    def _column(self, along: int, split: int | None) -> int:
        half = self.columns // 2
        if self.shape != "16x32bx2" or split is None or along < half:
            return along
        return along - half + as_int(split, "split")

    def slots(self, lane: int, column: int, address: int = 0, *, split: int | None = None) -> list[Slot]:
        """The registers of the 128 threads that go with a word of tensor memory; [] if there is none."""
        lane, column = as_index(lane, "lane", LANES), as_int(column, "column")
        first, start = self._first_lane(address)
        bits = 16 if self.pack else 32
        found = []
        for along in range(self.columns):
            if (
                start + self._column(along, split) == column
                and first <= lane % 32 < first + self.layout.shape[0]
            ):
                thread, element = self.layout.locate(lane % 32 - first, along)
                register, low = divmod(element * bits, 32)
                found.append(Slot(32 * (lane // 32) + thread, register, low, low + bits - 1))
        return found


# -- what goes around them -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Tcgen05Control(Tcgen05Form):
    """An instruction that allocates tensor memory, or orders and awaits the others.

    >>> import ptxlab
    >>> commit = ptxlab.instruction("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64")
    >>> commit.syntax
    'tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];'
    """

    family: str
    targets: tuple[str, ...]
    qualifiers: tuple[str, ...]
    syntax_operands: str = ""

    def __post_init__(self) -> None:
        if not is_name(self.family, CONTROL_FAMILIES):
            raise PtxlabError(f"family {quoted(self.family)}: there are {listing(CONTROL_FAMILIES)}")
        self.check_targets()

    @property
    def purpose(self) -> str:
        """What it does, in a few words."""
        return CONTROL_FAMILIES[self.family]

    @property
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""
        first = self.qualifiers[0]
        if self.family in ("tcgen05.fence", "tcgen05.wait"):  # the first is part of the opcode
            return ".".join([f"{self.family}::{first}", *self.qualifiers[1:]])
        return ".".join([self.family, *self.qualifiers])

    @property
    def syntax(self) -> str:
        """The instruction with its operand list, operands named as in the manual."""
        return f"{self.mnemonic} {self.syntax_operands}".rstrip() + ";"

    @property
    def shape(self) -> str:
        """It has none."""
        return ""

    @property
    def lanes(self) -> int:
        """Threads that execute it together: a warp where it says `.sync`, otherwise one."""
        return 32 if "sync" in self.qualifiers else 1

    @property
    def ptx_version(self) -> PtxVersion:
        """The first version of the PTX ISA that has it."""
        return PtxVersion(9, 4) if any(map(self._is_new, self.qualifiers)) else PtxVersion(8, 6)

    @staticmethod
    def _is_new(qualifier: str) -> bool:
        return (
            qualifier == "exclusive"
            or qualifier.startswith("sync_restrict")
            or qualifier.endswith(("::16b", "::32b"))
        )

    def columns(self, target: str = "sm_100a") -> tuple[int, ...]:
        """How many columns alloc and dealloc take there; () for the others.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.alloc.cta_group::1.sync.aligned.b32").columns()
        (32, 64, 128, 256, 512)
        """
        if self.family not in ("tcgen05.alloc", "tcgen05.dealloc") or not self.supports(target):
            return ()
        if "exclusive" not in self.qualifiers:
            return (32, 64, 128, 256, 512)
        return tuple(range(32, 577 if target in SM_107 else 513, 32))
