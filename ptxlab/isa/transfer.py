"""Instructions that transfer a matrix between memory and registers, or across the registers of a warp."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_int, is_name
from ..errors import PtxlabError, listing, quoted
from .dtypes import DType, dtype
from .layout import Layout, fragment
from .operand import Operand
from .targets import PtxVersion
from .verbs import ShownForm

if TYPE_CHECKING:
    from ..memory import Conflicts

Family = Literal["ldmatrix", "stmatrix", "movmatrix", "wmma.load", "wmma.store"]

FAMILIES: tuple[str, ...] = ("ldmatrix", "stmatrix", "movmatrix", "wmma.load", "wmma.store")

#: State spaces that a family may name; without one the address is generic.
SPACES: dict[str, tuple[str, ...]] = {
    "ldmatrix": ("shared", "shared::cta"),
    "stmatrix": ("shared", "shared::cta"),
    "movmatrix": (),
    "wmma.load": ("global", "shared", "shared::cta"),
    "wmma.store": ("global", "shared", "shared::cta"),
}

#: Bytes of a row of ldmatrix and stmatrix, which is also what its address must be a multiple of; a row of
#: `.s8.s4` has half as many.
ROW_BYTES = 16

#: Bits of an element in the packed source formats, whose 16 elements lie at the start of a row; the rest is
#: padding. They come out in the low bits of their bytes ("Optional Decompression"; CUTLASS,
#: mma_traits_sm120.hpp, says so of both).
_SOURCES = {"b6x16_p32": 6, "b4x16_p64": 4}
#: The source of `.s8.s4`: 16 signed elements of 4 bits without padding, which become signed bytes.
_SIGNED_SOURCE = "s4"
#: Titles of the manual's sections; their numbers change from edition to edition.
_SECTIONS = {
    "ldmatrix": "Warp-level matrix load instruction: ldmatrix",
    "stmatrix": "Warp-level matrix store instruction: stmatrix",
    "movmatrix": "Warp-level matrix transpose instruction: movmatrix",
    "wmma.load": "Warp-level Matrix Load Instruction: wmma.load",
    "wmma.store": "Warp-level Matrix Store Instruction: wmma.store",
}

#: The arguments of emulate and run, by position.
_INPUTS = {
    "ldmatrix": ("memory", "addresses"),
    "stmatrix": ("registers", "addresses", "memory"),
    "movmatrix": ("registers",),
    "wmma.load": ("memory",),
    "wmma.store": ("registers", "memory"),
}


#: Untyped elements.
_BITS = {
    size: DType(
        f"b{size}", size, "bits", False, np.uint16 if size > 8 else np.uint8, note=f"{size} bits of any type"
    )
    for size in (4, 6, 8, 16)
}


def _space_text(space: object) -> str:
    is_short = isinstance(space, str) and len(space) <= 40 and space.isprintable()
    return f".{space}" if is_short else quoted(space)


class AddressLane(NamedTuple):
    """A lane that supplies an address: that of a row of one of the matrices.

    >>> import ptxlab
    >>> ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.b16").address_lanes[9]   # its row 1
    AddressLane(lane=9, matrix=1, row=1)
    """

    lane: int
    matrix: int
    row: int


@dataclass(frozen=True, eq=False, repr=False)
class Transfer(ShownForm):
    """An instruction that transfers a matrix: one form of ldmatrix, stmatrix, movmatrix, wmma.load or .store.

    The matrices of ldmatrix and stmatrix are stacked as they lie in memory: row r of the operand is the row
    whose address lane r supplies, whatever `.trans` then does with it.

    >>> import numpy as np, ptxlab
    >>> form = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.trans.b16")
    >>> form.address_lanes[3]   # lane 3 supplies the address of row 3
    AddressLane(lane=3, matrix=0, row=3)
    >>> form.operand("R").where(3, 5)   # row 3, column 5 ends up in lane 21
    [Place(lane=21, element=1, register=0, low=16, high=31)]
    >>> form.inputs, form.spaces, form.alignment
    (('memory', 'addresses'), ('shared', 'shared::cta'), 16)
    >>> ldmatrix = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.b16")
    >>> memory = np.arange(64, dtype=np.uint16)
    >>> [hex(register) for register in ldmatrix.emulate(memory, ldmatrix.addresses())[:5, 0]]
    ['0x10000', '0x30002', '0x50004', '0x70006', '0x90008']
    """

    family: Family
    dimensions: str  # m8n8, or the shape of the wmma.mma that the fragment is for
    type: str
    targets: tuple[str, ...]
    count: int = 1
    trans: bool = False
    source: str | None = None  # .b6x16_p32 or .b4x16_p64, unpacked into .b8x16; .s4, widened to .s8
    space: str | None = None
    matrix: Literal["a", "b", "c", "d"] | None = None
    layout: Literal["row", "col"] | None = None  # of a wmma matrix in memory
    fragment: Operand | None = None  # of a wmma matrix in registers

    def __post_init__(self) -> None:
        if self.space is not None and not is_name(self.space, SPACES[self.family]):
            raise PtxlabError(
                f"{self.family} in {_space_text(self.space)}: it takes "
                f"{listing([*(f'.{s}' for s in SPACES[self.family]), 'no state space'])}"
            )

    # -- the form in PTX's words -----------------------------------------------------------------------------

    @property
    def shape(self) -> str:
        """``m8n8``, or the shape of the wmma.mma whose fragment it loads or stores."""
        return self.dimensions

    @property
    def wmma(self) -> bool:
        """Whether it loads or stores a fragment of wmma."""
        return self.family.startswith("wmma")

    @property
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""
        space = f".{self.space}" if self.space else ""
        if self.wmma:
            return f"{self.family}.{self.matrix}.sync.aligned.{self.layout}.{self.shape}{space}.{self.type}"
        num = "" if self.family == "movmatrix" else f".x{self.count}"
        trans = ".trans" if self.trans else ""
        types = self.type
        if self.source is not None:
            types = f"{self.type if self.signed else 'b8x16'}.{self.source}"
        return f"{self.family}.sync.aligned.{self.shape}{num}{trans}{space}.{types}"

    @property
    def element_types(self) -> tuple[str, ...]:
        """The types of its elements, in registers and, where they differ, in memory."""
        return (self.type,) if self.source is None else (self.type, self.source)

    @property
    def section(self) -> str:
        """The title of the manual's section about it."""
        return _SECTIONS[self.family]

    @property
    def ptx_version(self) -> PtxVersion:
        """The first version of the PTX ISA that has it, in this state space.

        >>> from ptxlab.isa.catalog.transfer_rows import rows
        >>> str(next(rows()).ptx_version), str(next(rows()).in_space("shared::cta").ptx_version)
        ('6.5', '7.8')
        """
        return max(version for version, applies in _INTRODUCED if applies(self))

    @property
    def lanes(self) -> int:
        """A warp executes it together."""
        return 32

    @property
    def spaces(self) -> tuple[str, ...]:
        """State spaces that it may name."""
        return SPACES[self.family]

    def in_space(self, space: str | None) -> Self:
        """The same instruction with that state space in its name; None for generic addresses.

        >>> from ptxlab.isa.catalog.transfer_rows import rows
        >>> next(rows()).in_space("shared::cta").mnemonic
        'ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16'
        """
        return replace(self, space=space)

    # -- operands --------------------------------------------------------------------------------------------

    @property
    def signed(self) -> bool:
        """Whether signed elements of 4 bits in memory become signed bytes in registers."""
        return self.source == _SIGNED_SOURCE

    @property
    def _element(self) -> DType:
        return dtype(self.type) if self.wmma or self.signed else _BITS[int(self.type[1:])]

    @property
    def memory_bits(self) -> int:
        """Bits of an element in memory; in registers some take a whole byte.

        >>> import ptxlab
        >>> ptxlab.instruction("ldmatrix.sync.aligned.m8n16.x1.s8.s4").memory_bits
        4
        """
        return dtype(_SIGNED_SOURCE).bits if self.signed else self.register_operand.dtype.bits

    @property
    def _matrix_shape(self) -> tuple[int, int]:
        m, n = (int(size) for size in re.findall(r"\d+", self.shape)[:2])
        return m, n

    @property
    def _memory_shape(self) -> tuple[int, int]:
        """Rows and columns of one matrix as it lies in memory."""
        m, n = self._matrix_shape
        return (n, m) if self.trans else (m, n)

    @cached_property
    def operands(self) -> dict[str, Operand]:
        """The matrix in registers by name.

        R of ldmatrix and stmatrix, A and D of movmatrix, the wmma matrix itself.
        """
        if self.fragment is not None:
            return {self.fragment.name: self.fragment}
        m, n = self._matrix_shape
        # A row is spread over four lanes in all of them; m16n16, m8n16 and m16n8, pictures in the manual, as
        # CUTLASS's copy_traits_sm100.hpp has them.
        layout = fragment(m, n, n // 4)
        if self.family == "movmatrix":
            return {name: Operand(name, self._element, (m, n), layout) for name in "AD"}
        layout = layout.T if self.trans else layout
        rows, columns = layout.shape
        stack = ((self.count, rows, 0),) if self.count > 1 else ()
        stacked = Layout((rows * self.count, columns), layout.lane, (*layout.element, *stack))
        if self.source is None or self.signed:
            return {"R": Operand("R", self._element, stacked.shape, stacked)}
        element = _BITS[_SOURCES[self.source]]
        return {"R": Operand("R", element, stacked.shape, stacked, container=8)}

    @property
    def register_operand(self) -> Operand:
        """The matrix in the registers that it reads or writes; both sides of movmatrix have this shape."""
        return next(iter(self.operands.values()))

    # -- memory ----------------------------------------------------------------------------------------------

    @property
    def address_lanes(self) -> tuple[AddressLane, ...]:
        """The lanes whose addresses ldmatrix and stmatrix read, and the matrix and row of each.

        Lane r supplies the address of row r of the operand. The other lanes' addresses are ignored; only
        sm_75 needs valid ones there too.
        """
        if self.family not in ("ldmatrix", "stmatrix"):
            return ()
        rows, _ = self._memory_shape
        return tuple(AddressLane(lane, *divmod(lane, rows)) for lane in range(rows * self.count))

    @property
    def lines(self) -> tuple[int, int]:
        """Rows (columns, for .col) of a wmma matrix in memory, and the elements in each: the default stride.

        >>> import ptxlab
        >>> ptxlab.instruction("wmma.load.a.sync.aligned.col.m32n8k16.f16").lines   # 16 columns of 32
        (16, 32)
        """
        rows, columns = self.register_operand.shape
        return (columns, rows) if self.layout == "col" else (rows, columns)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of ldmatrix and stmatrix in memory, padding included: 16, or 8 for `.s8.s4`."""
        return ROW_BYTES // 2 if self.signed else ROW_BYTES

    @property
    def alignment(self) -> int:
        """Every row's address is a multiple of this many bytes; for wmma, also the stride in bytes.

        For wmma it is the size of a lane's fragment ("Matrix Storage for WMMA"), except where the manual's
        own default stride is shorter: f16 A of m8n32k16 by columns, B of m32n8k16 by rows. A and B come from
        shared memory through LDSM, the machine's ldmatrix, and an H200 stops at rows that are not a multiple
        of 16 bytes apart, although the manual requires only 4 or 8 for some.
        """
        if self.family == "movmatrix":
            raise PtxlabError(f"{self.mnemonic} stays in registers: there is nothing to align")
        if not self.wmma:
            return self.row_bytes
        matrix = self.register_operand
        stated = min(matrix.registers * matrix.register_bits, self.lines[1] * matrix.dtype.bits) // 8
        along_k = (matrix.name, self.layout) in (("A", "row"), ("B", "col"))
        by_rows = (
            matrix.name in "AB"
            and self.space != "global"
            and (matrix.dtype.bits == 16 or (along_k and matrix.dtype.bits < 16))
        )
        return max(stated, ROW_BYTES) if by_rows else stated

    def addresses(self, offset: int = 0, stride: int | None = None) -> NDArray[np.int64]:
        """Byte addresses of rows that lie `stride` apart from `offset` on.

        ldmatrix, stmatrix: what each lane supplies, [32]; stride counts bytes (a row when left out), and
        lanes that are not needed repeat the lower ones, as the manual advises for sm_75. wmma: where each
        row (column) begins; stride counts elements.

        >>> from ptxlab.isa.catalog.transfer_rows import rows
        >>> next(rows()).addresses(stride=64)[:9].tolist()
        [0, 64, 128, 192, 256, 320, 384, 448, 0]
        """
        if self.wmma:
            return self._line_starts(offset, stride)
        if not self.address_lanes:
            raise PtxlabError(f"{self.mnemonic} stays in registers: it takes no address")
        first = as_int(offset, f"{self.mnemonic}: offset")
        step = self.row_bytes if stride is None else as_int(stride, f"{self.mnemonic}: stride")
        if max(abs(first), abs(step)) >= 1 << 48:
            raise PtxlabError(
                f"{self.mnemonic}: offset={quoted(first)}, stride={quoted(step)}; addresses are below 2^48"
            )
        return first + np.arange(self.lanes) % len(self.address_lanes) * step

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arguments of `emulate` and `run`, by position."""
        return _INPUTS[self.family]

    def _line_starts(self, offset: int, stride: int | None) -> NDArray[np.int64]:
        """Byte at which each row (column, for .col) of a wmma matrix begins.

        PTX ISA, "Matrix Storage for WMMA".
        """
        count, length = self.lines
        bits, unit = self.register_operand.dtype.bits, self.alignment
        stride = length if stride is None else stride
        line = "row" if self.layout == "row" else "column"
        stride, offset = (
            _as_whole(stride, f"{self.mnemonic}: stride"),
            _as_whole(offset, f"{self.mnemonic}: offset"),
        )
        if stride < length:
            raise PtxlabError(
                f"{self.mnemonic}: stride={quoted(stride)} is shorter than a {line} of {length} elements; "
                f"below that the result is undefined"
            )
        if stride * bits % (8 * unit):
            step = 8 * unit // bits
            raise PtxlabError(
                f"{self.mnemonic}: stride={quoted(stride)}; {line}s start at multiples of {unit} bytes, "
                f"so it must be a multiple of {step} elements"
            )
        if max(offset, stride) >= 1 << 48:
            raise PtxlabError(
                f"{self.mnemonic}: offset={quoted(offset)}, stride={quoted(stride)} exceed any memory"
            )
        if offset % unit or offset < 0:
            raise PtxlabError(
                f"{self.mnemonic}: offset={quoted(offset)}; {line}s start at multiples of {unit} bytes from "
                f"the start of memory"
            )
        return np.asarray(offset + np.arange(count) * (stride * bits // 8), dtype=np.int64)

    # -- verbs -----------------------------------------------------------------------------------------------

    def emulate(self, *arguments: ArrayLike, stride: int | None = None, offset: int = 0) -> NDArray[Any]:
        """What the instruction does, with any leading batch axes; `inputs` names its arguments.

        ldmatrix (memory, addresses) -> registers; stmatrix (registers, addresses, memory) -> memory;
        movmatrix (registers) -> registers; wmma.load (memory) -> registers and wmma.store (registers, memory)
        -> memory, whose matrix starts at the byte `offset` with `stride` elements from one row (column) to
        the next. Memory is an array [..., size] of bytes, or of elements as they lie there; addresses are
        bytes from its start, [..., 32].
        """
        from ..numerics.emulate_transfer import emulate

        return emulate(self, arguments, stride, offset)

    def run(
        self, *arguments: ArrayLike, stride: int | None = None, offset: int = 0, source: str | None = None
    ) -> NDArray[Any]:
        """The same as `emulate`, on the GPU.

        `source` is CUDA C++ that has this kernel among others, to compile many at once.
        """
        from ..gpu import run_transfer

        return run_transfer(self, arguments, stride, offset, source)

    def conflicts(self, addresses: ArrayLike) -> Conflicts:
        """Bank conflicts of ldmatrix or stmatrix for these row addresses, [..., 32], in shared memory.

        >>> import ptxlab
        >>> ldmatrix = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.shared.b16")
        >>> print(ldmatrix.conflicts(ldmatrix.addresses(stride=128)))   # rows of 128 bytes, no swizzle
        32 wavefronts where 4 would do: 8 lanes want 8 different words of bank 0.
        """
        from ..memory.banks import transfer_conflicts

        if not self.address_lanes:
            raise PtxlabError(f"{self.mnemonic} takes no row addresses; ldmatrix and stmatrix do")
        return transfer_conflicts(self, addresses)


def _as_whole(value: object, what: str) -> int:
    """A whole number; the message repeats the argument as a call writes it."""
    try:
        return as_int(value, what)
    except PtxlabError:
        raise PtxlabError(f"{what}={quoted(value)} is not a whole number") from None


#: "PTX ISA Notes" of these instructions: a form needs the newest version that applies. The manual has
#: wmma.load and wmma.store of f16 since 6.0; sm_75, the first target here, came with 6.3.
_INTRODUCED: tuple[tuple[PtxVersion, Callable[[Transfer], bool]], ...] = (
    (PtxVersion(6, 3), lambda form: form.wmma),
    (PtxVersion(7, 0), lambda form: form.wmma and form.type in ("bf16", "tf32", "f64")),
    (PtxVersion(7, 0), lambda form: form.wmma and form.shape in ("m8n8k4", "m16n16k8")),
    (PtxVersion(6, 5), lambda form: form.family == "ldmatrix"),
    (PtxVersion(7, 8), lambda form: form.family in ("stmatrix", "movmatrix")),
    (PtxVersion(7, 8), lambda form: form.space == "shared::cta"),
    (PtxVersion(8, 6), lambda form: form.type == "b8"),
    (PtxVersion(9, 4), lambda form: form.signed),
)
