"""tcgen05.mma: a mnemonic, and the instruction descriptor with its shape and types."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_flag, as_text, is_a, is_name
from ...errors import PtxlabError, listing, quoted
from ..dtypes import DType, dtype
from ..instruction_descriptor import KINDS, InstructionDescriptor, MmaKind, Shapes, scales_per_row, shapes_of
from ..layout import Mode
from ..modifiers import DEFAULTS, Modifiers
from ..operand import Operand, Packing
from ..product_form import by_argument
from ..sparsity import STRUCTURES, Structure
from ..targets import SM_107, PtxVersion, check_target
from ..tensor_operand import (
    LANES,
    DataPath,
    TensorOperand,
    data_path,
    half_scale_layout,
    scale_layout,
    transposed,
)
from ..verbs import MatrixInstruction
from ..zero_column_mask import ZeroColumnMask
from .tcgen05_form import Tcgen05Form, dotted, element_type

#: What an instruction may ask of the collector, the buffer that keeps A or B for the next instruction.
COLLECTOR_OPERATIONS = ("fill", "use", "lastuse", "discard")

#: Arguments of PTX, by the names of `Modifiers`.
_ARGUMENTS = {
    "disable_output_lane": "disable-output-lane",
    "scale_input_d": "scale-input-d",
    "zero_column_mask": "zero-column-mask-desc",
}

#: Bits below an element in a container of 8, for kind::f8f6f4 and kind::mxf8f6f4.
_PADDING = {"e2m1": 2, "e2m3": 1, "e3m2": 1}


@dataclass(frozen=True, eq=False, repr=False)
class TensorInstruction(Tcgen05Form, MatrixInstruction):
    """One form of tcgen05.mma: its mnemonic and its instruction descriptor.

    `A` is in shared memory, or in tensor memory (`a_from("tensor")`); D always is in tensor memory.

    An operand in shared memory (B, and A unless `a_space` is "tensor") is the matrix of its codes. One in
    tensor memory (C and D, the metadata, the scales) is 32-bit words, [..., 128 lanes, columns], or 256 lanes
    for a CTA pair, as its `pack` and `unpack` convert.

    >>> import numpy as np, ptxlab
    >>> name = "tcgen05.mma.cta_group::1.kind::f16"
    >>> ins = ptxlab.instruction(name, m=128, n=256, a="f16", b="f16", d="f32")
    >>> ins.m, ins.n, ins.k, ins.path.name, hex(ins.descriptor.code)
    (128, 256, 16, 'D', '0x8400010')
    >>> ins == ptxlab.instruction(name, descriptor=0x8400010)
    True
    >>> ins.d.where(7, 100)
    [TensorPlace(cta=0, lane=7, column=100, low=0, high=31)]
    >>> ins = ptxlab.instruction(name, m=64, n=32, a="f16", b="f16", d="f32")
    >>> A, B, C = np.full((64, 16), 0.5), np.ones((16, 32)), np.full((64, 32), 3)
    >>> d = ins.emulate(ins.a.pack(A), ins.b.pack(B), ins.c.pack(C))
    >>> d.shape, ins.d.unpack(d)[0, :2]   # D of M = 64 leaves lanes 16 to 31 of every 32 free
    ((128, 32), array([11., 11.], dtype=float32))
    >>> ins(A, B, C)[0, :2]   # the same from whole matrices
    array([11., 11.], dtype=float32)
    >>> ins(A, B, C, enable_input_d=False)[0, :2]
    array([8., 8.], dtype=float32)
    """

    family: str
    kind: str
    cta_group: Literal[1, 2] = field()
    targets: tuple[str, ...]
    descriptor: InstructionDescriptor = field()
    scale_vector: str = ""  # block16, block32, scale_vec::1X, ...; empty if the mnemonic leaves it out
    decompress: bool = False  # .decompress::lut::b
    ashift: bool = False
    collector_a: str = ""  # the operation, or empty
    collector_b: str = ""  # b::fill, or b0::fill of .ws, or empty
    a_space: Literal["shared", "tensor"] = "shared"
    scale_input_d: tuple[str, ...] = ()  # targets that take this argument
    # From the descriptor, or derived from it:
    m: int = field(init=False)
    n: int = field(init=False)
    k: int = field(init=False)  # columns of A (its zeros included, if sparse) and rows of B
    a_type: str = field(init=False)
    b_type: str = field(init=False)
    c_type: str = field(init=False)
    d_type: str = field(init=False)
    satfinite: bool = field(init=False)  # whether integer results are clamped instead of wrapped
    scale_vec: int | None = field(init=False)  # block scales of a row of A
    scale_type: str | None = field(init=False)

    def __post_init__(self) -> None:
        if not is_name(self.a_space, ("shared", "tensor")):
            raise PtxlabError(f"a_space={quoted(self.a_space)}: A is in 'shared' or in 'tensor' memory")
        if self.ashift and self.a_space == "shared":
            raise PtxlabError(
                f"{self.mnemonic}: .ashift shifts rows of A in tensor memory, not in shared memory"
            )
        faults = self.faults(self.descriptor)
        if faults:
            raise PtxlabError(f"{self.mnemonic}: {faults[0]}")
        idesc = self.descriptor
        derived = {
            "m": idesc.m,
            "n": idesc.n,
            "k": idesc.k,
            "a_type": idesc.a,
            "b_type": idesc.b,
            "c_type": idesc.d,
            "d_type": idesc.d,
            "satfinite": idesc.saturate,
            "scale_vec": scales_per_row(idesc, self.scale_vector) if self.scaled else None,
            "scale_type": idesc.scale or None,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _identity(self) -> tuple[str, ...]:
        return (self.mnemonic, hex(self.descriptor.code), self.a_space)

    def __repr__(self) -> str:
        where = ", A in tensor memory" if self.a_space == "tensor" else ""
        return f"<{self.mnemonic} {self.shape}.{self.d_type}.{self.a_type}.{self.b_type}{where}>"

    # -- the form in PTX's words -----------------------------------------------------------------------------

    @property
    def traits(self) -> MmaKind:
        """What its kind multiplies: types, depths, scales."""
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
        return self.traits.scaled

    @property
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""
        return dotted(
            self.family,
            f"cta_group::{self.cta_group}",
            f"kind::{self.kind}",
            "block_scale" if self.scaled else "",
            "decompress::lut::b" if self.decompress else "",
            self.scale_vector,
            "ashift" if self.ashift else "",
            f"collector::a::{self.collector_a}" if self.collector_a else "",
            f"collector::{self.collector_b}" if self.collector_b else "",
        )

    @property
    def syntax(self) -> str:
        """The instruction with its operand list; optional operands are in braces."""
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
        arguments = {"disable-output-lane": self.targets}
        if self.scale_input_d:
            arguments["scale-input-d"] = self.scale_input_d
        return arguments

    @property
    def mask_registers(self) -> int:
        """Registers of `disable-output-lane`: one bit for each lane of tensor memory."""
        return 4 * self.cta_group

    @property
    def ptx_version(self) -> PtxVersion:
        """The first version of the PTX ISA that has it; some targets came later (`ptx_version_for`)."""
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
        """The collector hints (of A, of B) that it may have, each with the targets that take them.

        >>> import ptxlab
        >>> f16 = ptxlab.instruction("tcgen05.mma.ws.cta_group::1.kind::f16")
        >>> len(f16.collectors)   # none, and four operations on each of four buffers of B
        17
        """
        if self.ws:
            hints = [f"b{i}::{operation}" for i in range(4) for operation in COLLECTOR_OPERATIONS]
            return {("", hint): self.targets for hint in ("", *hints)}
        of_a = ("lastuse", "discard") if self.ashift else COLLECTOR_OPERATIONS
        collectors = {(a, ""): self.targets for a in ("", *of_a)}
        targets = tuple(target for target in self.targets if target in SM_107)
        if targets:
            collectors |= {(a, f"b::{b}"): targets for a in ("", *of_a) for b in COLLECTOR_OPERATIONS}
        return collectors

    def collecting(self, a: str = "", b: str = "") -> Self:
        """The same instruction with hints for the collector: ``fill``, ``use``, ``lastuse``, ``discard``.

        They change no result. A hint for B names its buffer: ``b::fill``, or ``b0::fill`` with .ws.

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
        hinted = replace(self, collector_a=a, collector_b=b, targets=targets)
        return hinted.for_target(targets[0]) if len(targets) == 1 else hinted

    def for_target(self, target: str) -> Self:
        """The same with the descriptor that a target takes: sm_107a has version 1 of 4-bit sparsity.

        >>> import ptxlab
        >>> sparse = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale")
        >>> sparse.supports("sm_107a"), sparse.for_target("sm_107a").supports("sm_107a")
        (False, True)
        """
        check_target(target)
        if not self.sparse or self.traits.format != "mxf4":
            return self
        version: Literal[0, 1] = 1 if target == "sm_107a" else 0
        return replace(self, descriptor=replace(self.descriptor, sparsity_version=version))

    # -- the descriptor --------------------------------------------------------------------------------------

    @property
    def shape(self) -> str:
        """``m128n256k16``."""
        return self.descriptor.shape

    @property
    def element_types(self) -> tuple[str, ...]:
        """The types of A, B and D that its descriptor says, then those that others can say."""
        own = (self.a_type, self.b_type, self.d_type)
        every = dict.fromkeys((*self.traits.types, *self.traits.results, *self.traits.scales))
        return (*own, *(name for name in every if name not in own))

    @property
    def shape_sets(self) -> tuple[Shapes, ...]:
        """Every shape that it may have on some target, in sets: any M of a set with any N, at its K.

        >>> import ptxlab
        >>> [str(shapes) for shapes in ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16").shape_sets]
        ['M 64 or 128; N a multiple of 8 up to 256; K 16']
        """
        sets = shapes_of(self.kind, self.sparse, self.ws, self.cta_group)
        return tuple(shapes for shapes in sets if shapes.k == 64) if self.decompress else sets

    @property
    def shapes(self) -> tuple[str, ...]:
        """All shapes one by one: ``m64n8k16``, ``m64n16k16``, ..."""
        return tuple(f"m{m}n{n}k{shapes.k}" for shapes in self.shape_sets for m in shapes.m for n in shapes.n)

    def faults(self, descriptor: InstructionDescriptor | int, target: str | None = None) -> tuple[str, ...]:
        """Sentences on what is wrong with a descriptor for this mnemonic; () if nothing is.

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
        faults = list(
            descriptor.faults(
                ws=self.ws, cta_group=self.cta_group, scale_vector=self.scale_vector, target=target
            )
        )
        if descriptor.sparse != self.sparse:
            faults.insert(
                0, f"its sparse bit is {int(descriptor.sparse)}; {self.family} takes {int(self.sparse)}"
            )
        if descriptor.kind != self.kind:
            faults.insert(0, f"it is of kind::{descriptor.kind}")
        if self.a_space == "tensor" and descriptor.transpose_a:  # CUTLASS: "can't be transposed"
            faults.append("A is transposed; in tensor memory it cannot be")
        if self.ashift and descriptor.m == 64:
            faults.append("M is 64; with .ashift it is 128 or 256")
        if self.decompress and descriptor.b != "e4m3":
            faults.append(f"B is {descriptor.b}; with .decompress::lut::b it is e4m3")
        if self.decompress and descriptor.k != 64:  # "needs only 24 bytes (3 * 64 / 8)"
            faults.append(f"K is {descriptor.k}; with .decompress::lut::b it is 64")
        if self.decompress and descriptor.transpose_b:
            faults.append("B is transposed; with .decompress::lut::b it cannot be")
        return tuple(faults)

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
        names = [part.name for part in fields(InstructionDescriptor) if part.name not in ("kind", "sparse")]
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

    def with_mn_major(self, name: str, mn_major: bool = True) -> Self:
        """The same instruction with A or B MN-major, or K-major: its descriptor says so.

        >>> import ptxlab
        >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16")
        >>> form.with_mn_major("B").descriptor.transpose_b
        True
        """
        field = f"transpose_{as_text(name, 'name').lower()}"
        return self.with_descriptor(None, **{field: as_flag(mn_major, "mn_major")})

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
        return STRUCTURES[self.descriptor.structure] if self.sparse else None

    @cached_property
    def a(self) -> Operand | TensorOperand:
        """Multiplicand A; for a sparse instruction, the compressed A, which is half as wide."""
        shape = (self.m, self.k // (2 if self.sparse else 1))
        element = element_type(self.a_type)
        if self.a_space == "shared":
            return self._in_shared_memory("A", element, shape)
        container, padding = self._container(element)
        source = self.path.source
        if self.path.name in "EG":
            source = "assumed: held once for each group of lanes, as in layout B"
        elif element.bits == 6 and container:
            source = "CUTLASS: in the middle of a byte; a picture in the PTX ISA"
        elif element.bits == 6 and not container:
            source = "assumed: 6 bits after 6 bits, across columns; a picture in the PTX ISA"
        elif element.bits == 4 and not container and self.traits.types is KINDS["f8f6f4"].types:
            source = "assumed: without padding, as in shared memory; the PTX ISA names 6-bit types only"
        elif self.k > self.descriptor.depths[0] and self.traits.types is KINDS["f8f6f4"].types:
            source = "assumed: packed as with the smaller K; for this one the PTX ISA names 6-bit types only"
        layout = self.path.multiplicand(*shape)
        return TensorOperand("A", element, shape, layout, ("m", "k"), container, padding, source=source)

    @property
    def a_dense(self) -> Operand | TensorOperand:
        """Logical (dense) A. For a sparse instruction only its compressed half is in memory."""
        if not self.sparse:
            return self.a
        return self._in_shared_memory("A", self.a.dtype, (self.m, self.k))

    def _in_shared_memory(self, name: Literal["A", "B"], element: DType, shape: tuple[int, int]) -> Operand:
        narrow = self.kind in ("f8f6f4", "mxf8f6f4") and element.bits < 8
        packing = Packing(
            self.cta_group,
            mn_major=self.descriptor.transpose_a if name == "A" else self.descriptor.transpose_b,
            padded=narrow and self.k == self.descriptor.depths[0],
            indexed=self.decompress and name == "B",
            shifted=bool(self.descriptor.max_shift) and name == "B",
        )
        axes = ("m", "k") if name == "A" else ("k", "n")
        return Operand(name, element, shape, None, "shared", axes, packing=packing)

    def _container(self, element: DType) -> tuple[int, int]:
        """The bits of an element's container in tensor memory (0 for none), and those below the element.

        Elements of 4 and 6 bits take 8 bits with the smaller K, and are packed with the larger.
        """
        wide_k = self.k > self.descriptor.depths[0]
        if self.traits.types is not KINDS["f8f6f4"].types or element.bits >= 8 or wide_k:
            return 0, 0
        return 8, _PADDING.get(element.name, 0)

    @cached_property
    def b(self) -> Operand:
        """Multiplicand B, in shared memory; with cta_group::2 each CTA has half of its columns.

        With .ws it has `max_shift` more columns, of which a zero-column mask with a shift selects N. With
        .decompress::lut::b it holds the decompressed values; `memory.pack_lookup` gives indices and table.
        """
        shape = (self.k, self.n + self.descriptor.max_shift)
        return self._in_shared_memory("B", element_type(self.b_type), shape)

    @cached_property
    def d(self) -> TensorOperand:
        """Accumulator and result D: each element has its own column; f16 is in the lower half."""
        layout = self.path.result(self.m, self.n)
        return TensorOperand(
            "D", dtype(self.d_type), (self.m, self.n), layout, ("m", "n"), 32, source=self.path.source
        )

    @cached_property
    def c(self) -> TensorOperand:
        """D before the instruction."""
        return replace(self.d, name="C")

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
            element_type(self.descriptor.scale),
            (self.m, count),
            layout,
            ("m", "block"),
            start=(0, first),
            source=self._scale_source(first + count, lanes),
        )

    @cached_property
    def scale_b(self) -> TensorOperand | None:
        """Block scales of B, or None; with cta_group::2 both CTAs hold all of them."""
        if not self.scaled:
            return None
        count, first = scales_per_row(self.descriptor, self.scale_vector), self.descriptor.scale_b_id
        groups = -(-(first + count) // 4)
        lines = self.n if groups == 1 else -(-self.n // LANES) * LANES  # four scales of 128 columns at a time
        halves = self.path.name == "B" and (self.n <= 64 or self.n % 64 == 0)
        layout = transposed(half_scale_layout(self.n, groups) if halves else scale_layout(lines, 1, groups))
        if self.cta_group == 2:
            copies: tuple[Mode, ...] = (*layout.copy, (2, LANES, 0))
            layout = replace(layout, copy=copies)
        source = self._scale_source(first + count, 32)
        if halves:
            source = "CUTLASS: each half of the columns of B has 64 lanes; the PTX ISA has all in every 32"
        elif self.path.name == "B":
            source = "PTX ISA; CUTLASS has N in multiples of 64 here, and each half of them in 64 lanes"
        return TensorOperand(
            "SFB",
            element_type(self.descriptor.scale),
            (count, self.n),
            layout,
            ("block", "n"),
            start=(first, 0),
            source=source,
        )

    def _scale_source(self, scales: int, lanes: int) -> str:
        if lanes == LANES:
            return "assumed: in order; a picture in the PTX ISA"
        if scales > 4 and self.k == 96:  # sm103_blockscaled_mma_warpspecialized.hpp
            return "CUTLASS; pictures in the PTX ISA"
        if scales > 4:
            return "Triton and FlashInfer; pictures in the PTX ISA"
        if self.kind == "mxf8f6f4" and self.k > self.descriptor.depths[0]:
            return "Triton and FlashInfer, a scale for 32 elements; the PTX ISA has one for 64"
        return "PTX ISA and CUTLASS"

    @cached_property
    def operands(self) -> dict[str, Operand]:
        """A and B in shared memory by name; `tensors` has what is in tensor memory."""
        return {matrix.name: matrix for matrix in (self.a, self.b) if isinstance(matrix, Operand)}

    @cached_property
    def tensors(self) -> dict[str, TensorOperand]:
        """What is in tensor memory by name: D, and A, E, SFA, SFB where it has them there."""
        matrices = (self.a, self.d, self.e, self.scale_a, self.scale_b)
        return {matrix.name: matrix for matrix in matrices if isinstance(matrix, TensorOperand)}

    @cached_property
    def inputs(self) -> dict[str, Operand | TensorOperand]:
        """The operands that it reads, by the argument that takes them."""
        return by_argument(self.a, self.b, self.c, self.e, self.scale_a, self.scale_b)

    # -- arguments that are not matrices ---------------------------------------------------------------------

    @property
    def modifiers(self) -> dict[str, tuple[int, ...]]:
        """Legal values of modifiers; `disable_output_lane` and `zero_column_mask` have too many.

        >>> import ptxlab
        >>> legal = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16").modifiers
        >>> legal["enable_input_d"], len(legal["scale_input_d"])
        ((True, False), 16)
        """
        legal: dict[str, tuple[int, ...]] = {
            name: (default,)
            for name, default in DEFAULTS.items()
            if _ARGUMENTS.get(name) not in self.arguments
        }
        legal["enable_input_d"] = (True, False)
        legal["swizzle"] = (0, 32, 64, 128)
        if self.scale_input_d:
            legal["scale_input_d"] = tuple(range(16))
        return legal

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed where the PTX ISA 9.4 leaves its behaviour open, apart from arithmetic.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.mma.ws.cta_group::1.kind::f16").assumptions
        ('a column of B that the mask takes as zeros makes NaN of an infinity in A',)
        """
        assumptions = []
        if self.ashift:
            assumptions.append(
                "with .ashift A is multiplied as it is; then a lane takes the words of the next, the last of "
                "32 keeps its own: CUTLASS"
            )
        if self.scale_input_d:
            assumptions.append("scale-input-d scales D before it is aligned and loses no bit")
        if self.d_type == "f16":
            assumptions.append("the upper half of a word of D becomes 0")
        if self.ws:
            assumptions.append("a column of B that the mask takes as zeros makes NaN of an infinity in A")
        if self.descriptor.max_shift:
            assumptions.append(
                "a zero-column mask shifts B by at most max_shift columns, beyond which B has none"
            )
        if self.decompress:
            assumptions.append(
                "lane i of the lookup table has the values of columns 8 i to 8 i + 7 of a CTA's B"
            )
        wide_k = self.k > self.descriptor.depths[0]
        if wide_k and 6 in (operand.dtype.bits for operand in self.operands.values()):
            assumptions.append(
                "elements of 6 bits without padding lie in shared memory from the lowest bit on"
            )
        return tuple(assumptions)

    def check_modifiers(self, modifiers: Modifiers) -> Modifiers:
        """Return the modifiers, or refuse the first that this instruction does not take."""
        modifiers = super().check_modifiers(modifiers)
        lanes = LANES * self.cta_group
        if not 0 <= modifiers.disable_output_lane < 1 << lanes:
            raise PtxlabError(
                f"disable_output_lane={quoted(modifiers.disable_output_lane)}: {self.mnemonic} takes a mask "
                f"of {lanes} bits"
            )
        if modifiers.zero_column_mask:
            mask = ZeroColumnMask.decode(modifiers.zero_column_mask)
            mask.zeros(self.m, self.n)  # refuses a shift that this M does not have
            if mask.shift > self.descriptor.max_shift:
                enough = next((most for most in (8, 16, 32) if most >= mask.shift), 32)
                raise PtxlabError(
                    f"zero_column_mask=0x{mask.code:x}: it shifts B by {mask.shift} columns, and max_shift "
                    f"of the instruction descriptor is {self.descriptor.max_shift}; take max_shift={enough}, "
                    f"with which B has as many columns more"
                )
        return modifiers

    @cached_property
    def written(self) -> NDArray[np.bool_]:
        """Which words of D's columns hold an element; the others are not written: [lanes, columns].

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=8).written[14:18, 0]
        array([ True,  True, False, False])
        """
        return self.d.pack_codes(np.ones(self.d.shape, dtype=self.d.dtype.code_type)) > 0

    @property
    def selectors(self) -> tuple[int, ...]:
        """Legal sparsity selectors; () for a dense instruction."""
        if not self.sparse:
            return ()
        return (0, 1, 2, 3) if self.kind in ("f16", "tf32", "ti16") else (0,)

    # -- sparsity --------------------------------------------------------------------------------------------

    @property
    def nibbles(self) -> dict[int, tuple[int, ...]]:
        """Legal metadata nibbles and the groups that each keeps; none for dense instructions.

        The manual lists only one whose indices descend, 0b0110.

        >>> import ptxlab
        >>> sorted(ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::i8").nibbles)
        [4, 6, 8, 9, 12, 13, 14]
        """
        if self.structure is None:
            return {}
        if self.kind == "tf32":
            return self.structure.nibbles
        return {**self.structure.nibbles, 0b0110: (2, 1)}
