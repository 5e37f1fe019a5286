"""mma, mma.sp, wmma, wgmma and wgmma.sp: a form is a row of data, from which its operands derive.

The rows are in `catalog/mma_rows.py`; a new shape is a row there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

from .._util.arguments import is_name
from ..errors import PtxlabError, quoted
from . import layout as layouts
from .dtypes import dtype
from .modifiers import DEFAULTS
from .operand import Operand
from .product_form import by_argument
from .sparsity import STRUCTURES, Structure
from .targets import PtxVersion
from .verbs import MatrixInstruction

#: Bits of padding below an element in its 8-bit container: kind::f8f6f4 and kind::mxf8f6f4 pad it above, and
#: e2m1 below as well.
_PADDING = {"e2m1": 2}


@dataclass(frozen=True, eq=False, repr=False)
class Instruction(MatrixInstruction):
    """An instruction that multiplies matrices: one form of mma, mma.sp, wmma, wgmma or wgmma.sp.

    Get one with `ptxlab.instruction(text)` or from `ptxlab.catalog()`: a row of the catalogue, and the
    operands that follow from it.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ins.shape, ins.lanes, ins.structure.title, ins.selectors
    ('m16n8k64', 32, '4:8 pair-wise', (0, 1))
    >>> {name: operand.registers for name, operand in ins.operands.items()}
    {'A': 2, 'B': 2, 'C': 4, 'D': 4, 'E': 1}
    >>> A = ins.prune(np.tile(np.arange(8), (16, 8)))   # 4:8 sparsity: pairs of 4, 5, 6, 7 stay
    >>> stored, nibbles = ins.compress(A)
    >>> B, C = np.ones((64, 8)), np.zeros((16, 8))
    >>> d = ins.emulate(ins.a.pack(stored), ins.b.pack(B), ins.c.pack(C), ins.e.pack_codes(nibbles))
    >>> ins.d.unpack(d)[0, :2]   # 8 * (4 + 5 + 6 + 7)
    array([176, 176], dtype=int32)
    >>> ins(A, np.ones((64, 8)))[0, :2]   # the same from whole matrices
    array([176, 176], dtype=int32)
    """

    family: Literal["mma", "mma.sp", "wmma", "wgmma", "wgmma.sp"]
    m: int
    n: int
    k: int
    d_type: str
    a_type: str
    b_type: str
    c_type: str
    targets: tuple[str, ...]
    satfinite: bool = False
    ordered: bool = False  # mma.sp::ordered_metadata
    bit_op: Literal["xor", "and"] | None = None
    kind: str | None = None
    scale_vec: int | None = None
    scale_type: str | None = None
    a_layout: Literal["row", "col"] = "row"
    b_layout: Literal["row", "col"] = "col"
    rounding: Literal["rz", "rm", "rp"] | None = None  # of f64; None rounds to nearest even
    a_space: Literal["register", "shared"] = "register"

    def __post_init__(self) -> None:
        if self.a_space == "shared" and not self.family.startswith("wgmma"):
            raise PtxlabError(f"{self.mnemonic}: only wgmma takes A from shared memory")

    @cached_property
    def _identity(self) -> tuple[str, ...]:
        return (self.mnemonic, self.a_space)

    @property
    def element_types(self) -> tuple[str, ...]:
        """The types of A, B and D."""
        return self.a_type, self.b_type, self.d_type

    def __repr__(self) -> str:
        return (
            f"<{self.mnemonic}>" if self.a_space == "register" else f"<{self.mnemonic}, A in shared memory>"
        )

    # -- the form in PTX's words -----------------------------------------------------------------------------

    @property
    def shape(self) -> str:
        """``m16n8k64``."""
        return f"m{self.m}n{self.n}k{self.k}"

    @cached_property
    def sparse(self) -> bool:
        """Whether A is structured sparse."""
        return self.family.endswith(".sp")

    @property
    def lanes(self) -> int:
        """Lanes that execute it together: 32, or 128 for a warpgroup."""
        return 128 if self.family.startswith("wgmma") else 32

    @cached_property
    def mma_count(self) -> int:
        """How many independent products it computes.

        1, or 4 for mma.m8n8k4 with f16, whose operands are stacked matrices.
        """
        return 4 if self.family == "mma" and self.shape == "m8n8k4" and self.a_type == "f16" else 1

    @property
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""
        types = f".{self.d_type}.{self.a_type}.{self.b_type}"
        sat = ".satfinite" if self.satfinite else ""
        op = f".{self.bit_op}.popc" if self.bit_op else ""
        rounding = f".{self.rounding}" if self.rounding else ""
        order = f".{self.a_layout}.{self.b_layout}"
        if self.family == "wmma":
            types = f".{self.d_type}.{self.c_type}" if self.a_type == "f16" else f"{types}.{self.c_type}"
            return f"wmma.mma{op}.sync.aligned{order}.{self.shape}{rounding}{types}{sat}"
        if self.family.startswith("wgmma"):
            sp = ".sp" if self.sparse else ""
            return f"wgmma.mma_async{sp}.sync.aligned.{self.shape}{sat}{types}{op}"
        sp = ""
        if self.sparse:
            sp = ".sp::ordered_metadata" if self.ordered else ".sp"
        kind = f".kind::{self.kind}" if self.kind else ""
        scale = f".block_scale.scale_vec::{self.scale_vec}X" if self.scale_vec else ""
        stype = f".{self.scale_type}" if self.scale_type else ""
        types = f"{types}.{self.c_type}{stype}"
        return f"mma{sp}.sync.aligned.{self.shape}{order}{kind}{scale}{sat}{types}{rounding}{op}"

    @cached_property
    def ptx_version(self) -> PtxVersion:
        """The first version of the PTX ISA that has it; some targets came later (`ptx_version_for`).

        >>> from ptxlab.isa.parse import parse_mma
        >>> parse_mma("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").ptx_version
        PtxVersion(major=8, minor=5)
        """
        return max(version for version, applies in _INTRODUCED if applies(self))

    def a_from(self, space: Literal["register", "shared"]) -> Self:
        """The same instruction with A in registers or, for wgmma, in shared memory behind a descriptor."""
        if not is_name(space, ("register", "shared")):
            raise PtxlabError(f"a_space={quoted(space)}: there are register, shared")
        return replace(self, a_space=space)

    # -- operands --------------------------------------------------------------------------------------------

    @cached_property
    def structure(self) -> Structure | None:
        """The sparsity that A must have, or None for a dense instruction."""
        if not self.sparse:
            return None
        if self.kind in ("f8f6f4", "mxf8f6f4"):  # every type has a container of one byte
            return STRUCTURES["2:4"]
        return STRUCTURES[{4: "4:8", 32: "1:2"}.get(dtype(self.a_type).bits, "2:4")]

    @cached_property
    def a(self) -> Operand:
        """Multiplicand A; for a sparse instruction the compressed A, half as wide."""
        return self._multiplicand("A", self.a_type, self.m, self.k // (2 if self.sparse else 1), self.a_space)

    @cached_property
    def a_dense(self) -> Operand:
        """Logical (dense) A: for a sparse instruction a lane covers twice the columns it stores."""
        if not self.sparse:
            return self.a
        if self.a.layout is None:
            return self._multiplicand("A", self.a_type, self.m, self.k, self.a_space)
        layout = layouts.fragment(self.m, self.k, 2 * self.a.elements_per_register, 16, self.lanes // 32)
        return replace(self.a, shape=(self.m, self.k), layout=layout)

    @cached_property
    def b(self) -> Operand:
        """Multiplicand B; wgmma reads it from shared memory."""
        return self._multiplicand(
            "B", self.b_type, self.n, self.k, "shared" if self.family.startswith("wgmma") else "register"
        )

    def _multiplicand(
        self, name: str, type_name: str, lines: int, depth: int, space: Literal["register", "shared"]
    ) -> Operand:
        """A with `lines` rows, or B with `lines` columns; `depth` is K."""
        shape, axes = ((lines, depth), ("m", "k")) if name == "A" else ((depth, lines), ("k", "n"))
        element = dtype(type_name)
        if space == "shared":
            return Operand(name, element, shape, None, "shared", axes)
        container, padding = 0, 0
        if self.kind in ("f8f6f4", "mxf8f6f4") and element.bits < 8:
            container, padding = 8, _PADDING.get(type_name, 0)
        run = max(1, 32 // (container or element.bits))
        if self.mma_count > 1:
            layout = layouts.quad_pairs(name, self.a_layout if name == "A" else self.b_layout)
            return Operand(name, element, layout.shape, layout, axes=axes)
        if self.family == "wmma":
            room = 16 if type_name == "f16" else 0
            layout = layouts.wmma(name, self.m, self.n, self.k, run, room)
            return Operand(name, element, shape, layout, axes=axes)
        layout = layouts.fragment(lines, depth, run, 16, self.lanes // 32)
        if name == "B":
            layout = layout.T
        return Operand(
            name,
            element,
            shape=shape,
            layout=layout,
            space="register",
            axes=axes,
            container=container,
            padding=padding,
        )

    @cached_property
    def c(self) -> Operand:
        """Accumulator C. For wgmma it is D before the instruction."""
        return self._accumulator("C", self.c_type)

    @cached_property
    def d(self) -> Operand:
        """Result D."""
        return self._accumulator("D", self.d_type)

    def _accumulator(self, name: str, type_name: str) -> Operand:
        if self.mma_count > 1:
            layout = layouts.quad_pairs(name, "row", wide=type_name == "f32")
        elif self.family == "wmma":
            layout = layouts.wmma(name, self.m, self.n, self.k, 2)
        else:
            layout = layouts.fragment(self.m, self.n, 2, 16, self.lanes // 32)
        return Operand(name, dtype(type_name), layout.shape, layout, axes=("m", "n"))

    @cached_property
    def e(self) -> Operand | None:
        """Sparsity metadata, one nibble for every row and chunk of A; None for a dense instruction."""
        if self.structure is None:
            return None
        chunks = self.k // self.structure.chunk
        wide = dtype(self.a_type).bits >= 16
        return Operand(
            "E", dtype("b4"), (self.m, chunks), layouts.metadata(self.m, chunks, wide), axes=("m", "chunk")
        )

    @cached_property
    def scale_a(self) -> Operand | None:
        """Block scales of A, or None."""
        return self._scales("SFA", ("m", "block"))

    @cached_property
    def scale_b(self) -> Operand | None:
        """Block scales of B, or None."""
        return self._scales("SFB", ("block", "n"))

    def _scales(self, name: str, axes: tuple[str, str]) -> Operand | None:
        if self.scale_vec is None or self.scale_type is None:
            return None
        layout = layouts.scales(self.scale_vec)[name == "SFB"]
        return Operand(name, dtype(self.scale_type), layout.shape, layout, axes=axes)

    @property
    def operands(self) -> dict[str, Operand]:
        """All matrix operands by name: A, B, C, D, and E, SFA, SFB where the instruction has them."""
        operands = (self.a, self.b, self.c, self.d, self.e, self.scale_a, self.scale_b)
        return {operand.name: operand for operand in operands if operand is not None}

    @cached_property
    def inputs(self) -> dict[str, Operand]:
        """The operands that it reads, by the argument that takes them.

        a, b, c, and e, scale_a, scale_b where it has them.
        """
        return by_argument(self.a, self.b, self.c, self.e, self.scale_a, self.scale_b)

    # -- operands that are not matrices ----------------------------------------------------------------------

    @property
    def selectors(self) -> tuple[int, ...]:
        """Legal sparsity selectors; () for a dense instruction."""
        return tuple(range(self.e.layout.copies)) if self.e and self.e.layout else ()

    @property
    def modifiers(self) -> dict[str, tuple[int, ...]]:
        """Legal values of every modifier (see `Modifiers`)."""
        legal: dict[str, tuple[int, ...]] = {name: (default,) for name, default in DEFAULTS.items()}
        if self.sparse:
            legal["selector"] = self.selectors
        if self.family.startswith("wgmma"):
            legal["scale_d"] = (True, False)
            legal["swizzle"] = (0, 32, 64, 128)
            if self.a.dtype.is_float:
                legal["imm_scale_a"] = legal["imm_scale_b"] = (1, -1)
            if self.a.dtype.bits == 16:  # only matrices in shared memory can be transposed
                legal["imm_trans_a"] = (0, 1) if self.a_space == "shared" else (0,)
                legal["imm_trans_b"] = (0, 1)
        if self.scale_vec is not None:
            legal["byte_id_a"] = legal["byte_id_b"] = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}[self.scale_vec]
            legal["thread_id_a"], legal["thread_id_b"] = (0, 1), (0, 1, 2, 3)
        return legal

    # -- sparsity --------------------------------------------------------------------------------------------

    @property
    def metadata_ordered(self) -> bool:
        """Whether the two indices of a nibble must ascend.

        Only for mma.sp::ordered_metadata (an H200 takes any order there too).
        """
        return self.ordered


def _is_fp8(form: Instruction) -> bool:
    return form.a_type in ("e4m3", "e5m2")


#: "PTX ISA Notes" of mma, mma.sp, wmma.mma and wgmma.mma_async: a form needs the newest version that applies.
#: The manual has some wmma.mma since 6.0; sm_75, the first target here, came with 6.3.
_INTRODUCED: tuple[tuple[PtxVersion, Callable[[Instruction], bool]], ...] = (
    (PtxVersion(6, 3), lambda form: form.family == "wmma"),
    (PtxVersion(7, 0), lambda form: form.family == "wmma" and form.a_type in ("bf16", "tf32", "f64")),
    (PtxVersion(6, 4), lambda form: form.family == "mma"),
    (PtxVersion(6, 5), lambda form: form.family == "mma" and form.shape != "m8n8k4"),
    (PtxVersion(7, 0), lambda form: form.family == "mma" and form.a_type in ("bf16", "tf32", "f64", "b1")),
    (PtxVersion(7, 0), lambda form: form.family == "mma" and form.m == 16 and form.shape != "m16n8k8"),
    (PtxVersion(7, 8), lambda form: form.family == "mma" and form.m == 16 and form.a_type == "f64"),
    (PtxVersion(7, 1), lambda form: form.bit_op == "and"),
    (PtxVersion(7, 1), lambda form: form.family == "mma.sp"),
    (PtxVersion(8, 0), lambda form: form.family == "wgmma"),
    (PtxVersion(8, 2), lambda form: form.family == "wgmma.sp"),
    (PtxVersion(8, 4), lambda form: form.lanes == 128 and {form.a_type, form.b_type} == {"s8", "u8"}),
    (PtxVersion(8, 4), lambda form: form.family in ("mma", "mma.sp") and _is_fp8(form)),
    (PtxVersion(8, 5), lambda form: form.ordered),
    (PtxVersion(8, 7), lambda form: form.lanes == 32 and _is_fp8(form) and form.d_type == "f16"),
    (PtxVersion(8, 7), lambda form: form.shape == "m16n8k16" and _is_fp8(form)),
    (PtxVersion(8, 7), lambda form: form.kind is not None),
    (PtxVersion(9, 1), lambda form: form.scale_vec == 4 and form.scale_type == "ue8m0"),
)
