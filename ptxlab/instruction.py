"""An instruction is a row of data: shape, types, qualifiers, targets. Its operands derive from the row."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import fragments
from .dtypes import dtype
from .errors import PtxlabError, listing
from .modifiers import Modifiers
from .operand import Operand
from .row import TARGETS, Row
from .sparsity import STRUCTURES, Structure

if TYPE_CHECKING:
    from .trace import Trace
    from .widgets import Explorer

__all__ = ["TARGETS", "Instruction", "Modifiers"]

#: Where an element narrower than its 8-bit container sits: kind::f8f6f4 and kind::mxf8f6f4 pad it on top, and e2m1 also below.
_PADDING = {"e2m1": 2}

_WMMA_NOTE = "observed on sm_90; the ISA leaves WMMA fragments open"
_STACK_NOTE = "the matrices of four independent products, one for each quad pair of lanes"


@dataclass(frozen=True)
class Instruction(Row):
    """One matrix instruction in PTX's terms; get one with `ptxlab.instruction(text)` or from `ptxlab.catalog()`.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ins.shape, ins.lanes, ins.products, ins.sparse, ins.structure.title, ins.metadata_ordered, ins.selectors, ins.supports("sm_75")
    ('m16n8k64', 32, 1, True, '4:8 pair-wise', True, (0, 1), False)
    >>> {name: op.registers for name, op in ins.operands.items()}, ins.operand("E").shape, ins.a_dense.shape, ins.scale_a, ins.scale_b
    ({'A': 2, 'B': 2, 'C': 4, 'D': 4, 'E': 1}, (16, 8), (16, 64), None, None)
    >>> stored, nibbles = ins.compress(ins.prune(np.tile(np.arange(8), (16, 8))))   # rows of 0, 1, 2 ... 7, twice too full
    >>> stored[0, :4], bin(nibbles[0, 0]), ins.expand(stored, nibbles)[0, :8]
    (array([4, 5, 6, 7]), '0b1110', array([0, 0, 0, 0, 4, 5, 6, 7]))
    >>> given = ins.a.pack(stored), ins.b.pack(np.ones((64, 8))), ins.c.pack(np.zeros((16, 8))), ins.e.pack_codes(nibbles)
    >>> do = ins.run if ptxlab.gpu.available(ins) else ins.emulate   # the same bits
    >>> ins.d.unpack(do(*ins.registers_of(*given, None, None)))[0, :2]   # 8 * (4 + 5 + 6 + 7)
    array([176, 176], dtype=int32)
    >>> ins.ptx.removeprefix(ins.mnemonic), ins.modifiers["selector"], "asm volatile" in ins.kernel
    (' {%d0, %d1, %d2, %d3}, {%a0, %a1}, {%b0, %b1}, {%c0, %c1, %c2, %c3}, %e, 0;', (0, 1), True)
    >>> ins.sass("sm_80").tensor, ins.explore().lane, ptxlab.catalog("wgmma")[0].a_from("shared").a.space
    ({'IMMA.SP.16864.S4.S4': 1}, 0, 'shared')
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
    rounding: Literal["rz", "rm", "rp"] | None = None  # of f64; to nearest even where nothing is said
    a_space: Literal["register", "shared"] = "register"

    def __post_init__(self) -> None:
        for operand in self.operands.values():
            if operand.layout is not None and operand.lanes != self.lanes:
                raise PtxlabError(f"{self.mnemonic}: operand {operand.name} is spread over {operand.lanes} lanes, not {self.lanes}")
        if self.a_space == "shared" and not self.family.startswith("wgmma"):
            raise PtxlabError(f"{self.mnemonic}: only wgmma takes A from shared memory")
        self.check_targets()

    def __repr__(self) -> str:
        return f"<{self.mnemonic}>" if self.a_space == "register" else f"<{self.mnemonic}, A in shared memory>"

    # -- the row in words ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> str:
        """``m16n8k64``."""
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def sparse(self) -> bool:
        """Whether A is structured sparse."""
        return self.family.endswith(".sp")

    @property
    def lanes(self) -> int:
        """Lanes that execute it together: 32, or 128 for a warpgroup."""
        return 128 if self.family.startswith("wgmma") else 32

    @property
    def products(self) -> int:
        """How many independent products it computes: 1, or 4 for mma.m8n8k4 with f16, whose operands are stacked matrices."""
        return 4 if self.family == "mma" and self.shape == "m8n8k4" and self.a_type == "f16" else 1

    def column_of_b(self, row: int, col: int) -> int:
        """The column of B that goes into D[row][col]: its own, or, of stacked matrices, that of its product.

        >>> import ptxlab
        >>> ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32").column_of_b(17, 3)
        19
        """
        return row // self.m * self.n + col if self.products > 1 else col

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
        sp = (".sp::ordered_metadata" if self.ordered else ".sp") if self.sparse else ""
        kind = f".kind::{self.kind}" if self.kind else ""
        scale = f".block_scale.scale_vec::{self.scale_vec}X" if self.scale_vec else ""
        stype = f".{self.scale_type}" if self.scale_type else ""
        return f"mma{sp}.sync.aligned.{self.shape}{order}{kind}{scale}{sat}{types}.{self.c_type}{stype}{rounding}{op}"

    def a_from(self, space: Literal["register", "shared"]) -> Instruction:
        """The same instruction with A in registers or, for wgmma, in shared memory behind a descriptor."""
        return replace(self, a_space=space)

    # -- operands -----------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure | None:
        """The sparsity that A must have, or None for a dense instruction."""
        if not self.sparse:
            return None
        if self.kind in ("f8f6f4", "mxf8f6f4"):  # whatever the type, a container is a byte
            return STRUCTURES["2:4"]
        return STRUCTURES[{4: "4:8", 32: "1:2"}.get(dtype(self.a_type).bits, "2:4")]

    @cached_property
    def a(self) -> Operand:
        """Multiplicand A as it is stored: the half that is kept, for sparse instructions."""
        return self._multiplicand("A", self.a_type, self.m, self.k // (2 if self.sparse else 1), self.a_space)

    @cached_property
    def a_dense(self) -> Operand:
        """Multiplicand A as it is meant: for sparse instructions every lane answers for twice the columns it stores."""
        if not self.sparse:
            return self.a
        if self.a.layout is None:
            return self._multiplicand("A", self.a_type, self.m, self.k, self.a_space)
        layout = fragments.block(self.m, self.k, 2 * self.a.elements_per_register, 16, self.lanes // 32)
        return replace(self.a, shape=(self.m, self.k), layout=layout)

    @cached_property
    def b(self) -> Operand:
        """Multiplicand B; wgmma reads it from shared memory."""
        return self._multiplicand("B", self.b_type, self.n, self.k, "shared" if self.family.startswith("wgmma") else "register")

    def _multiplicand(self, name: str, kind: str, lines: int, depth: int, space: Literal["register", "shared"]) -> Operand:
        """A of so many rows, or B of so many columns, K deep."""
        shape, axes = ((lines, depth), ("m", "k")) if name == "A" else ((depth, lines), ("k", "n"))
        element = dtype(kind)
        if space == "shared":
            return Operand(name, element, shape, None, "shared", axes)
        container, padding = (8, _PADDING.get(kind, 0)) if self.kind in ("f8f6f4", "mxf8f6f4") and element.bits < 8 else (0, 0)
        run = max(1, 32 // (container or element.bits))
        if self.products > 1:
            layout = fragments.quad_pairs(name, self.a_layout if name == "A" else self.b_layout)
            return Operand(name, element, layout.shape, layout, axes=axes, note=_STACK_NOTE)
        if self.family == "wmma":
            held = 16 if kind == "f16" else 0
            return Operand(name, element, shape, fragments.wmma(name, self.m, self.n, self.k, run, held), axes=axes, note=_WMMA_NOTE)
        layout = fragments.block(lines, depth, run, 16, self.lanes // 32)
        note = "each element in a byte of its own" if container else ""
        return Operand(name, element, shape, layout if name == "A" else layout.T, "register", axes, container, padding, note)

    @cached_property
    def c(self) -> Operand:
        """Accumulator C. For wgmma it is D before the instruction."""
        return self._accumulator("C", self.c_type)

    @cached_property
    def d(self) -> Operand:
        """Result D."""
        return self._accumulator("D", self.d_type)

    def _accumulator(self, name: str, kind: str) -> Operand:
        if self.products > 1:
            layout = fragments.quad_pairs(name, "row", wide=kind == "f32")
        elif self.family == "wmma":
            layout = fragments.wmma(name, self.m, self.n, self.k, 2)
        else:
            layout = fragments.block(self.m, self.n, 2, 16, self.lanes // 32)
        note = _STACK_NOTE if self.products > 1 else _WMMA_NOTE if self.family == "wmma" else ""
        return Operand(name, dtype(kind), layout.shape, layout, axes=("m", "n"), note=note)

    @cached_property
    def e(self) -> Operand | None:
        """Sparsity metadata, one nibble for every row and chunk of A; None for a dense instruction."""
        if self.structure is None:
            return None
        chunks = self.k // self.structure.chunk
        wide = dtype(self.a_type).bits >= 16
        return Operand("E", dtype("b4"), (self.m, chunks), fragments.metadata(self.m, chunks, wide), axes=("m", "chunk"))

    @cached_property
    def scale_a(self) -> Operand | None:
        """Block scales of A, or None."""
        if self.scale_vec is None or self.scale_type is None:
            return None
        return Operand("SFA", dtype(self.scale_type), (self.m, self.scale_vec), fragments.scales(self.scale_vec)[0], axes=("m", "block"))

    @cached_property
    def scale_b(self) -> Operand | None:
        """Block scales of B, or None."""
        if self.scale_vec is None or self.scale_type is None:
            return None
        return Operand("SFB", dtype(self.scale_type), (self.scale_vec, self.n), fragments.scales(self.scale_vec)[1], axes=("block", "n"))

    @property
    def operands(self) -> dict[str, Operand]:
        """All matrix operands by name: A, B, C, D, and E, SFA, SFB where the instruction has them."""
        every = (self.a, self.b, self.c, self.d, self.e, self.scale_a, self.scale_b)
        return {operand.name: operand for operand in every if operand is not None}

    # -- operands that are no matrices ----------------------------------------------------------------------------------

    @property
    def selectors(self) -> tuple[int, ...]:
        """Legal sparsity selectors; () for a dense instruction."""
        return tuple(range(self.e.layout.copies)) if self.e and self.e.layout else ()

    @property
    def modifiers(self) -> dict[str, tuple[Any, ...]]:
        """Legal values of every modifier (see `Modifiers`)."""
        legal: dict[str, tuple[Any, ...]] = {f.name: (f.default,) for f in fields(Modifiers)}
        if self.sparse:
            legal["selector"] = self.selectors
        if self.family.startswith("wgmma"):
            legal["scale_d"] = (True, False)
            if self.a.dtype.is_float:
                legal["imm_scale_a"] = legal["imm_scale_b"] = (1, -1)
            if self.a.dtype.bits == 16:  # only matrices in shared memory can be transposed
                legal["imm_trans_a"], legal["imm_trans_b"] = (0, 1) if self.a_space == "shared" else (0,), (0, 1)
        if self.scale_vec is not None:
            legal["byte_id_a"] = legal["byte_id_b"] = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}[self.scale_vec]
            legal["thread_id_a"], legal["thread_id_b"] = (0, 1), (0, 1, 2, 3)
        return legal

    # -- sparsity -----------------------------------------------------------------------------------------------------

    def _structured(self) -> Structure:
        if self.structure is None:
            raise PtxlabError(f"{self.mnemonic} is dense: it has no sparsity to compress; sparse forms are spelt .sp")
        return self.structure

    def compress(self, A: ArrayLike) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """Dense structured-sparse A -> (stored half, one nibble for every row and chunk)."""
        return self._structured().compress(self.a_dense.check_matrix(A))

    def expand(self, stored: ArrayLike, nibbles: ArrayLike) -> NDArray[Any]:
        """The inverse of `compress`."""
        return self._structured().expand(stored, nibbles, self.metadata_ordered)

    def prune(self, A: ArrayLike) -> NDArray[Any]:
        """The nearest matrix that has the structure: the largest groups of every chunk stay, the others become 0."""
        return self._structured().prune(self.a_dense.check_matrix(A))

    @property
    def metadata_ordered(self) -> bool:
        """Whether the two indices of a nibble must ascend: only for mma.sp::ordered_metadata (an H200 takes any order there too)."""
        return self.ordered

    @property
    def nibbles(self) -> dict[int, tuple[int, ...]]:
        """Legal metadata nibbles and the groups that each keeps; none for dense instructions.

        >>> from ptxlab import instruction
        >>> sparse = "sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
        >>> len(instruction(f"mma.sp::ordered_metadata.{sparse}").nibbles), len(instruction(f"mma.sp.{sparse}").nibbles)
        (6, 12)
        """
        if self.structure is None:
            return {}
        return self.structure.nibbles if self.metadata_ordered else self.structure.unordered

    # -- doing it: these load the rooms below when called -----------------------------------------------------------------

    def emulate(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        e: ArrayLike | None = None,
        *,
        selector: int = 0,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        model: str | None = None,
        **modifiers: Any,
    ) -> NDArray[Any]:
        """Registers in, registers out, bit for bit as the chip `model` gives them ("sm_90" if it has the instruction); any batch axes before."""
        from .emulator import emulate

        return emulate(self, a, b, c, e, scale_a=scale_a, scale_b=scale_b, model=model, modifiers=self._modifiers(selector, modifiers))

    def run(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        e: ArrayLike | None = None,
        *,
        selector: int = 0,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        **modifiers: Any,
    ) -> NDArray[Any]:
        """The same as `emulate`, on the GPU: one launch for the whole batch."""
        from .gpu import run

        return run(self, a, b, c, e, scale_a=scale_a, scale_b=scale_b, modifiers=self._modifiers(selector, modifiers))

    def _modifiers(self, selector: int, modifiers: dict[str, Any]) -> Modifiers:
        known = {f.name for f in fields(Modifiers)}
        unknown = sorted(set(modifiers) - known)
        if unknown:
            raise PtxlabError(f"unknown argument {unknown[0]!r}; besides a, b, c, e, scale_a, scale_b there are {listing(sorted(known))}")
        return Modifiers(selector=selector, **modifiers).check(self)

    def registers_of(
        self, a: ArrayLike, b: ArrayLike, c: ArrayLike, e: ArrayLike | None, scale_a: ArrayLike | None, scale_b: ArrayLike | None
    ) -> list[NDArray[Any]]:
        """The given registers, checked, in the order A, B, C, E, SFA, SFB of those that this instruction has."""
        given = {"a": a, "b": b, "c": c, "e": e, "scale_a": scale_a, "scale_b": scale_b}
        checked = []
        for name, value in given.items():
            operand: Operand | None = getattr(self, name)
            if operand is None and value is not None:
                raise PtxlabError(f"{name}: {self.mnemonic} has no such operand; it has {listing(self.operands)}")
            if operand is not None and value is None:
                raise PtxlabError(f"{name} is missing: {self.mnemonic} needs {operand.describe()}")
            if operand is not None and value is not None:
                checked.append(operand.check_registers(value))
        return checked

    def __call__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        on: Literal["emulator", "gpu"] = "emulator",
        **options: Any,
    ) -> NDArray[Any]:
        """Whole matrices of values: D = A B + C. Sparse instructions take dense A and compress it.

        >>> import numpy as np, ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
        >>> ins(np.ones((16, 64)), np.ones((64, 8)))[0, :3]
        array([64, 64, 64], dtype=int32)
        """
        if on not in ("emulator", "gpu"):
            raise PtxlabError(f"on={on!r}: it runs on 'emulator' or on 'gpu'")
        C = np.zeros(self.c.shape, dtype=self.c.dtype.value_type) if C is None else C
        e = None
        if self.e is not None:
            A, nibbles = self.compress(A)
            e = self.e.pack_codes(nibbles)
        scales: dict[str, Any] = {}
        for name, given, operand in (("scale_a", scale_a, self.scale_a), ("scale_b", scale_b, self.scale_b)):
            if operand is not None:
                scales[name] = operand.pack(np.ones(operand.shape) if given is None else given)
            elif given is not None:
                raise PtxlabError(f"{name}: {self.mnemonic} has no block scales")
        do = self.emulate if on == "emulator" else self.run
        return self.d.unpack(do(self.a.pack(A), self.b.pack(B), self.c.pack(C), e, **scales, **options))

    @property
    def kernel(self) -> str:
        """CUDA C++ source of the kernel that `run` compiles: lanes load their registers, the one instruction runs, lanes store."""
        from .kernel import source

        return source(self)

    def trace(self, A: ArrayLike, B: ArrayLike, C: ArrayLike | None, row: int, col: int, **options: Any) -> Trace:
        """Why D[row][col] has its bits: products, alignment, what is cut off, sum and rounding; print it, or read its data.

        >>> import numpy as np, ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> found = ins.trace(np.full((16, 16), 0.1), np.full((16, 8), 3), None, 0, 0)
        >>> found.steps[0].top, found.steps[0].grain, hex(found.code)   # 0.1 has exponent -4, 3 has 1; 25 places are kept below
        (-3, -28, '0x40999000')
        """
        from .trace import trace

        return trace(self, A, B, C, row, col, **options)

    def figure(self, what: str = "product", **options: Any) -> Any:
        """A Plotly figure of "product", "A", "B", "C", "D", "stored", "metadata", "scales", "lane" or "trace"; see `ptxlab.figures.figure`.

        >>> import numpy as np, ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
        >>> ins.figure("A").data[0].text[9, 37]   # who holds it; ins.figure("A", matrix=A) shows the numbers, ins.figure() the whole product
        'A[9][37]<br>lane 4, element a29<br>register 3, bits [23..20]'
        """
        from .figures import figure

        return figure(self, what, **options)

    def sass(self, target: str = "sm_90a") -> Any:
        """What the assembler makes of it for a target: the tensor-core instructions, and how many others around them."""
        from .sass import sass

        return sass(self, target)

    @property
    def ptx(self) -> str:
        """The instruction with its operand list, as it stands in the kernel."""
        from .kernel import ptx_line

        return ptx_line(self)

    def explore(self, **options: Any) -> Explorer:
        """The widget on this instruction."""
        from .widgets import explore

        return explore(self, **options)
