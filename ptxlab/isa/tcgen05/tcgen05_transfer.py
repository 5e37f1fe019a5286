"""tcgen05.ld, .st, .cp and .shift: data between tensor memory, registers and shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from numpy.typing import NDArray

from ..._util.arguments import as_index, as_int, as_text
from ...errors import PtxlabError, quoted
from ..layout import Layout, Mode, coalesced
from ..location import Slot
from ..operand import Operand
from ..targets import PtxVersion
from ..tensor_operand import LANES, TensorLayout, TensorOperand, split_address
from ..verbs import ShownForm
from .tcgen05_form import TYPES, Tcgen05Form, dotted

#: Lanes of a shape of ld and st, and columns and registers at count 1.
_SHAPES: dict[str, tuple[int, int, int]] = {
    "16x64b": (16, 2, 1), "16x128b": (16, 4, 2), "16x256b": (16, 8, 4), "32x32b": (32, 1, 1),
    "16x32bx2": (16, 2, 1),
}  # fmt: skip
LOAD_SHAPES: tuple[str, ...] = tuple(_SHAPES)
MAX_REGISTERS = 128

#: Rows and bits of a shape of cp, and the multicasts that it takes.
COPY_SHAPES: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "128x256b": (128, 256, ("",)),
    "4x256b": (4, 256, ("",)),
    "128x128b": (128, 128, ("",)),
    "64x128b": (64, 128, ("warpx2::02_13", "warpx2::01_23")),
    "32x128b": (32, 128, ("warpx4",)),
}
#: Packed source format -> bits of its elements, which become bytes.
UNPACKED = {"b6x16_p32": 6, "b4x16_p64": 4}

#: Row modes and copies in lanes, by shape and multicast (CUTLASS, copy_traits_sm100.hpp).
_COPY_LANES: dict[tuple[str, str], tuple[tuple[Mode, ...], tuple[Mode, ...]]] = {
    ("128x256b", ""): (((128, 1, 0),), ()),
    ("128x128b", ""): (((128, 1, 0),), ()),
    ("4x256b", ""): (((4, 32, 0),), ()),
    ("64x128b", "warpx2::02_13"): (((64, 1, 0),), ((2, 64, 0),)),
    ("64x128b", "warpx2::01_23"): (((32, 1, 0), (2, 64, 0)), ((2, 32, 0),)),
    ("32x128b", "warpx4"): (((32, 1, 0),), ((4, 32, 0),)),
}


#: The arguments of emulate and run, by position.
_INPUTS = {
    "tcgen05.ld": ("words",),
    "tcgen05.st": ("registers", "words"),
    "tcgen05.cp": ("memory", "descriptor", "words"),
    "tcgen05.shift": ("words",),
}


@dataclass(frozen=True, eq=False, repr=False)
class TensorTransfer(Tcgen05Form, ShownForm):
    """An instruction that moves data to or from tensor memory: tcgen05.ld, .st, .cp or .shift.

    >>> import numpy as np, ptxlab
    >>> ld = ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")
    >>> ld.registers, ld.columns, ld.locate(thread=37, register=3)   # warp 1: lane and column
    (4, 8, (41, 3))
    >>> ld.slots(lane=41, column=3)
    [Slot(thread=37, register=3, low=0, high=31)]
    >>> words = np.arange(128 * 8, dtype=np.uint32).reshape(128, 8)   # lanes by columns
    >>> ld.emulate(words)[5]   # thread 5: lanes 1 and 9
    array([10, 11, 74, 75], dtype=uint32)
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
            source = f"b8x16.{self.source}" if self.source else ""
            return dotted(self.family, f"cta_group::{self.cta_group}", self.shape, self.multicast, source)
        return dotted(
            self.family,
            "red" if self.reduces else "",
            "spcompress" if self.compresses else "",
            f"sync.aligned.{self.shape}.x{self.count}",
            self._packing,
            self.reduction,
            "sp::2:4" if self.compresses else "",
            "abs" if self.absolute else "",
            "NaN" if self.nan else "",
            self.type,
            "b2" if self.compresses else "",
        )

    @property
    def element_types(self) -> tuple[str, ...]:
        """The type of a register's contents; of cp, the packed format that it reads."""
        return (self.type,) if self.registers else tuple(name for name in (self.source,) if name)

    @property
    def _packing(self) -> str:
        if not self.pack:
            return ""
        return "unpack::16b" if self.family == "tcgen05.st" else "pack::16b"

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

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed where the PTX ISA 9.4 only has a picture of its behaviour, or says nothing.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.shift.cta_group::1.down").assumptions
        ('a lane takes the words of the next, the last of 32 keeps its own: CUTLASS, of .ashift',)
        """
        assumptions = []
        if self.family == "tcgen05.shift":
            assumptions.append(
                "a lane takes the words of the next, the last of 32 keeps its own: CUTLASS, of .ashift"
            )
        if self.source:
            assumptions.append(
                "elements of 4 bits go to bits 2 to 5 of their bytes, those of 6 bits to bits 1 to 6: CUTLASS"
            )
        if self.reduces:
            assumptions.append(
                "a thread reduces its own registers; NaN counts only with .NaN or if all are NaN"
            )
        if self.compresses:
            assumptions.append(
                "of equal values the first are kept; kept values and their indices are in the order of "
                "columns, from the lowest bits on"
            )
        return tuple(assumptions)

    @property
    def inputs(self) -> tuple[str, ...]:
        """What `emulate` and `run` take, by position.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.st.sync.aligned.32x32b.x1.b32").inputs
        ('registers', 'words')
        """
        return _INPUTS[self.family]

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
        """(thread, element) of a warp -> (lane, column) from the address on; for ld and st.

        An element is a register; with .pack::16b or .unpack::16b half of one, from the lower half of a
        column. The second half of the columns of 16x32bx2 are those behind `immHalfSplitoff`.
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
        return Layout((_SHAPES[self.shape][0], self.columns), coalesced(lane), coalesced(element))

    @cached_property
    def operands(self) -> dict[str, Operand]:
        """R, the registers of a warp as a matrix of lanes by columns of tensor memory; for ld and st."""
        if self.threads == 1 or self.compresses:
            return {}
        layout = self.layout
        element = TYPES["b16" if self.pack else "b32"]
        return {"R": Operand("R", element, layout.shape, layout, axes=("lane", "column"))}

    @cached_property
    def tensors(self) -> dict[str, TensorOperand]:
        """T, what cp writes: rows of the source matrix by its 32-bit words, or bytes if it unpacks."""
        if self.family != "tcgen05.cp":
            return {}
        rows, bits, _ = COPY_SHAPES[self.shape]
        lanes, copies = _COPY_LANES[self.shape, self.multicast]
        if self.cta_group == 2:
            copies = (*copies, (2, LANES, 0))
        width = 8 if self.source else 32
        element = TYPES[f"b{width}"]
        layout = TensorLayout((rows, bits // width), lanes, ((bits // width, 0, 1),), copies)
        return {"T": TensorOperand("T", element, layout.shape, layout, source="CUTLASS")}

    def find(self, name: str) -> Operand | TensorOperand:
        """The matrix of that name, in either case, wherever it is."""
        if as_text(name, "operand").upper() == "R" and not self.operands:
            _ = self.layout  # says which instructions have registers with a place each
        return super().find(name)

    def first_lane(self, address: int) -> tuple[int, int]:
        """The lane, among the 32 of each warp, and the column at which ld and st begin; refuses illegal ones.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.ld.sync.aligned.16x64b.x1.b32").first_lane(0x300005)
        (16, 5)
        """
        at = as_int(address, "address")
        lane, column = split_address(at)
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
        lane, column = self.first_lane(address)
        self.check_split(split)
        row, along = self.layout.coords()[thread % 32, register * (2 if self.pack else 1)].tolist()
        return 32 * (thread // 32) + lane + row, column + self._column(along, split)

    def check_split(self, split: int | None) -> None:
        """Refuse an `immHalfSplitoff` that is not a number, or for a shape that has none."""
        if split is not None and self.shape != "16x32bx2":
            raise PtxlabError(f"split={quoted(split)}: only 16x32bx2 reads or writes two places")
        if split is not None:
            as_int(split, "split")

    def _column(self, along: int, split: int | None) -> int:
        """The distance of one of its columns from the address: the second half of 16x32bx2 is at `split`."""
        half = self.columns // 2
        return along if split is None or along < half else along - half + split

    def slots(self, lane: int, column: int, address: int = 0, *, split: int | None = None) -> list[Slot]:
        """The registers of the 128 threads that go with a word of tensor memory; [] if there is none."""
        lane, column = as_index(lane, "lane", LANES), as_int(column, "column")
        first, start = self.first_lane(address)
        self.check_split(split)
        bits = 16 if self.pack else 32
        slots = []
        for along in range(self.columns):
            if (
                start + self._column(along, split) == column
                and first <= lane % 32 < first + self.layout.shape[0]
            ):
                thread, element = self.layout.locate(lane % 32 - first, along)
                register, low = divmod(element * bits, 32)
                slots.append(Slot(32 * (lane // 32) + thread, register, low, low + bits - 1))
        return slots

    # -- verbs -----------------------------------------------------------------------------------------------

    def emulate(
        self, *arguments: Any, address: int = 0, split: int | None = None
    ) -> NDArray[Any] | tuple[NDArray[Any], ...]:
        """What the instruction does when all four warps of a warpgroup execute it.

        ld (words) -> registers [..., 128, registers]; ld.red -> those and their reduction, [..., 128];
        ld.spcompress -> metadata, kept values, and with .red the reduction; st (registers, words) -> words;
        cp (shared memory, descriptor, words) -> words; shift (words) -> words. Words are tensor memory from
        column 0 on, [..., 128, columns]; `address` is where the instruction begins there, `split` the
        `immHalfSplitoff` of 16x32bx2. What the PTX ISA leaves open, `assumptions` says.
        """
        from ...numerics.emulate_tcgen05_transfer import emulate

        return emulate(self, arguments, address, split)

    def run(
        self, *arguments: Any, address: int = 0, split: int | None = None
    ) -> NDArray[Any] | tuple[NDArray[Any], ...]:
        """The same as `emulate`, on the GPU: 128 threads, and one launch for the whole batch."""
        from ...gpu.runner import run_tensor_transfer

        return run_tensor_transfer(self, arguments, address, split)


def check_inputs(form: TensorTransfer, arguments: Sequence[object]) -> None:
    """Refuse arguments of `emulate` or `run` that are too few or too many."""
    if len(arguments) != len(form.inputs):
        raise PtxlabError(
            f"{form.mnemonic}: found {len(arguments)} arguments; it takes {', '.join(form.inputs)}"
        )
