"""Layouts as Triton and Gluon name them: which thread holds which element, or which bytes of shared memory.

A layout is the text that a dump of Triton's compiler has, ``#ttg.nvidia_mma<{versionMajor = 3, ...}>``, or an
object of Gluon, known by the name of its class; nothing of Triton is imported. Read with Triton 3.6, whose
own `to_linear_layout` gives the same bases (`tests/memory/test_triton_layouts.py`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._util.arguments import as_int, as_shape
from ..errors import PtxlabError, listing, quoted
from ..isa.cute import CuteLayout, IntTuple
from ..isa.layout import Layout
from .swizzle import CuteSwizzle, SharedLayout

_Bases = list[tuple[int, int]]

#: Gluon's classes -> the compiler's names, and the compiler's fields -> Gluon's attributes.
_CLASSES = {
    "BlockedLayout": "blocked",
    "NVMMADistributedLayout": "nvidia_mma",
    "DotOperandLayout": "dot_op",
    "DistributedLinearLayout": "linear",
    "NVMMASharedLayout": "nvmma_shared",
    "SwizzledSharedLayout": "swizzled_shared",
    "TensorMemoryLayout": "tensor_memory_encoding",
}
_ATTRIBUTES = {
    "sizePerThread": "size_per_thread", "threadsPerWarp": "threads_per_warp", "warpsPerCTA": "warps_per_cta",
    "order": "order", "instrShape": "instr_shape", "opIdx": "operand_index", "kWidth": "k_width",
    "parent": "parent", "register": "reg_bases", "lane": "lane_bases", "warp": "warp_bases",
    "swizzlingByteWidth": "swizzle_byte_width", "elementBitWidth": "element_bitwidth",
    "transposed": "transposed", "vec": "vec", "perPhase": "per_phase", "maxPhase": "max_phase",
    "colStride": "col_stride", "twoCTAs": "two_ctas",
}  # fmt: skip
_DISTRIBUTED = ("blocked", "nvidia_mma", "dot_op", "linear")
_MOST = 1 << 16  # in a layout
_MAX_BASES = 16  # of registers, lanes or warps each
_SHARED = ("nvmma_shared", "swizzled_shared")
_TEXT = re.compile(r"#(?:ttg|ttng|triton_gpu|triton_nvidia_gpu)\.(\w+)\s*<\s*\{?(.*?)\}?\s*>", re.DOTALL)
_TYPES = {8: "tf32", 16: "f16", 32: "e4m3"}  # K of wgmma and mma -> one type that has it


def is_triton_layout(layout: object) -> bool:
    """Whether it is a text or an object that `TritonLayout.read` takes.

    >>> is_triton_layout("#ttg.blocked<{order = [1, 0]}>"), is_triton_layout("(8,8):(8,1)")
    (True, False)
    """
    if isinstance(layout, str):
        return layout.lstrip().startswith("#t")
    return type(layout).__name__ in _CLASSES


@dataclass(frozen=True)
class TritonLayout:
    """A layout with its `kind`, as the compiler names it, and its `fields`.

    >>> mma = TritonLayout.read("#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "
    ...                         "instrShape = [16, 64, 16]}>")
    >>> mma.instruction, mma.registers((64, 64)).cute
    ('wgmma.m64n64k16', '((4,8,4),(2,2,8)):((128,1,16),(64,8,512))')
    >>> tile = TritonLayout.read("#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, "
    ...                          "elementBitWidth = 16}>")
    >>> tile.instruction, tile.shared((64, 64)).address([0, 1, 2], 0).tolist()
    ('wgmma', [0, 144, 288])
    """

    kind: str
    fields: Mapping[str, Any]

    @classmethod
    def read(cls, layout: object) -> TritonLayout:
        """Read the text of a dump, or an object of Gluon."""
        kind, fields = _read_text(layout) if isinstance(layout, str) else _read_object(layout)
        kinds = (*_DISTRIBUTED, *_SHARED, "tensor_memory_encoding")
        if kind not in kinds:
            raise PtxlabError(f"Triton's layout {quoted(kind)}: there are {listing(kinds)}")
        return cls(kind, fields)

    def __str__(self) -> str:
        return f"#{'ttng' if 'tensor' in self.kind else 'ttg'}.{self.kind}"

    def _field(self, name: str, default: Any = None) -> Any:
        value = self.fields.get(name, default)
        if value is None:
            raise PtxlabError(f"Triton's layout {self}: it says no {name}")
        return value

    def _number(self, name: str) -> int:
        return self._checked(name, self._field(name))

    def _numbers(self, name: str, count: int = 2) -> list[int]:
        """A field that is a list of at least `count` numbers."""
        values = self._field(name)
        if not isinstance(values, list | tuple) or len(values) < count:
            raise PtxlabError(
                f"Triton's layout {self}: {name} = {quoted(values)}; it has {count} numbers or more"
            )
        return [self._checked(name, value) for value in values]

    def _checked(self, name: str, value: object) -> int:
        number = as_int(value, f"Triton's layout {self}: {name}")
        if not 0 <= number <= _MOST:
            raise PtxlabError(f"Triton's layout {self}: {name} = {quoted(number)}; it is at most {_MOST}")
        return number

    def _order(self) -> tuple[int, int]:
        """The axes, fastest first."""
        order = tuple(self._numbers("order"))
        if sorted(order) != [0, 1]:
            raise PtxlabError(f"Triton's layout {self}: order = {list(order)}; shown are two axes, 0 and 1")
        return order[0], order[1]

    def _warps(self) -> list[int]:
        warps = self._numbers("warpsPerCTA")
        if math.prod(warps) > 32:
            raise PtxlabError(f"Triton's layout {self}: {math.prod(warps)} warps; a block has at most 32")
        return warps

    @property
    def place(self) -> str:
        """Where its elements are: registers, shared or tensor memory."""
        if self.kind in _DISTRIBUTED:
            return "registers"
        return "shared" if self.kind in _SHARED else "tensor"

    @property
    def version(self) -> int:
        """The version of the tensor cores: 2 is `mma`, 3 is `wgmma`; 0 for other layouts."""
        return self._number("versionMajor") if self.kind == "nvidia_mma" else 0

    @property
    def instruction(self) -> str:
        """The instruction whose operand it is, in PTX's words; "" if it belongs to none."""
        if self.kind == "nvidia_mma":
            shape = self._numbers("instrShape", 3 if self.version == 3 else 2)
            if self.version == 3:
                return f"wgmma.m64n{shape[1]}k{shape[2]}"
            return "mma.m16n8" + (f"k{shape[2]}" if len(shape) > 2 else "")
        if self.kind == "dot_op":
            return TritonLayout.read(self._field("parent")).instruction
        names = {
            "nvmma_shared": "wgmma",
            "swizzled_shared": "ldmatrix",
            "tensor_memory_encoding": "tcgen05.mma",
        }
        return names.get(self.kind, "")

    @property
    def role(self) -> str:
        """Its role in that instruction, in words."""
        if self.kind == "dot_op":
            return "A" if self._field("opIdx") == 0 else "B"
        roles = {"nvidia_mma": "C and D", "nvmma_shared": "A or B in shared memory",
                 "swizzled_shared": "a tile that it reads", "tensor_memory_encoding": "D in tensor memory",
                 "blocked": "a coalesced copy", "linear": "any bases"}  # fmt: skip
        return roles[self.kind]

    @property
    def bits(self) -> int | None:
        """Bits of an element; None if the layout does not say."""
        return self._number("elementBitWidth") if "elementBitWidth" in self.fields else None

    def bases(self, shape: tuple[int, int]) -> dict[str, _Bases]:
        """Where each bit of register, lane and warp goes in a tensor of this shape, as (row, column)."""
        rows, columns = as_shape(shape, "shape")
        if self.kind == "linear":
            return {name: self._stated_bases(name) for name in _INPUTS}
        if self.kind == "blocked":
            tile, order = self._blocked(), self._order()
        elif self.kind == "nvidia_mma":
            tile, order = self._mma(), (1, 0)
        elif self.kind == "dot_op":
            tile, order = self._operand()
        else:
            raise PtxlabError(f"Triton's layout {self}: it is not in registers")
        return _repeated(tile, (rows, columns), order)

    def _stated_bases(self, name: str) -> _Bases:
        """The bases that a linear layout states for registers, lanes or warps."""
        pairs = self._field(name, [])
        if not isinstance(pairs, list | tuple) or len(pairs) > _MAX_BASES:
            raise PtxlabError(f"Triton's layout {self}: {name} = {quoted(pairs)}; it is a list of bases")
        for basis in pairs:
            if not isinstance(basis, list | tuple) or len(basis) != 2:
                raise PtxlabError(f"a basis {quoted(basis)}: a picture shows layouts of two dimensions")
        return [(self._checked(name, row), self._checked(name, column)) for row, column in pairs]

    def registers(self, shape: tuple[int, int]) -> Layout:
        """Which thread holds which element of a tensor, as a layout of all threads."""
        return Layout.from_bases(self.bases(shape), as_shape(shape, "shape"))

    def _blocked(self) -> dict[str, _Bases]:
        order = self._order()
        names = dict(zip(_INPUTS, ("sizePerThread", "threadsPerWarp", "warpsPerCTA"), strict=True))
        bases: dict[str, _Bases] = {}
        step = [1, 1]
        for name, field in names.items():
            sizes = self._warps() if name == "warp" else self._numbers(field)
            bases[name] = _bits(sizes, step, order)
        return bases

    def _mma(self) -> dict[str, _Bases]:
        if self.version not in (2, 3):
            raise PtxlabError(f"Triton's layout {self}: version {self.version}; shown are 2 (mma), 3 (wgmma)")
        columns = self._numbers("instrShape", 3)[-2] if self.version == 3 else 8
        register = [(0, 1), (8, 0), *((0, 8 << bit) for bit in range((columns // 8).bit_length() - 1))]
        order = (0, 1) if self.version == 3 else (1, 0)
        warp = _bits(self._warps(), [16, columns], order)
        return {"register": register, "lane": list(_LANES), "warp": warp}

    def _operand(self) -> tuple[dict[str, _Bases], tuple[int, int]]:
        parent = TritonLayout.read(self._field("parent"))
        width, is_b = self._number("kWidth"), self._field("opIdx") == 1
        if parent.version not in (2, 3) or (parent.version == 3 and is_b):
            raise PtxlabError(f"Triton's layout {self} of {parent}: that operand is not in registers")
        along = [(0, 1 << bit) for bit in range(width.bit_length() - 1)]
        lane: _Bases = [(0, width), (0, 2 * width), (1, 0), (2, 0), (4, 0)]
        far: _Bases = [(0, 4 * width)] if is_b else [(8, 0), (0, 4 * width)]
        order = (0, 1) if parent.version == 3 else (1, 0)
        counts = parent._warps()
        # warps along the axis that the operand lacks hold the same
        warp = [(row, 0) if not is_b else (column, 0) for row, column in _bits(counts, [16, 8], order)]
        bases = {"register": [*along, *far], "lane": lane, "warp": warp}
        if is_b:  # its rows are k
            bases = {name: [(column, row) for row, column in pairs] for name, pairs in bases.items()}
        return bases, (0, 1) if is_b else (1, 0)

    def shared(self, shape: tuple[int, int], bits: int = 16) -> SharedLayout:
        """Where a tensor's elements are in shared memory, in CuTe's terms: a layout, then a swizzle."""
        rows, columns = as_shape(shape, "shape")
        if self.kind not in _SHARED:
            raise PtxlabError(f"Triton's layout {self}: it is not in shared memory")
        bits = self.bits or as_int(bits, "bits")
        if self.kind == "nvmma_shared":
            swap, width = bool(self._field("transposed", False)), self._number("swizzlingByteWidth")
            swizzle = CuteSwizzle((max(width, 16) // 16).bit_length() - 1, 4, 3)
            long, short = (columns, rows) if swap else (rows, columns)
            part = min(short, max(8 * max(width, 16) // max(bits, 1), 1))
            modes = (long, part), (part, 1), (short // part, long * part)
        else:
            order = self._order()
            vec, per, phases = (max(self._number(name), 1) for name in ("vec", "perPhase", "maxPhase"))
            swap = order == (0, 1)
            long, short = (columns, rows) if swap else (rows, columns)
            base = vec.bit_length() - 1
            shift = (short * per).bit_length() - 1 - base
            swizzle = CuteSwizzle(phases.bit_length() - 1, base + bits.bit_length() - 4, shift)
            modes = (long, short), (short, 1), (1, 0)
        (outer, stride), (inner, step), (count, far) = modes
        along: tuple[IntTuple, IntTuple] = ((inner, count), (step, far)) if count > 1 else (inner, step)
        axes: list[tuple[IntTuple, IntTuple]] = [(outer, stride), along]
        sizes, strides = zip(*(reversed(axes) if swap else axes), strict=True)
        return SharedLayout(CuteLayout(sizes, strides), swizzle if swizzle.bits else None, bits)


_INPUTS = ("register", "lane", "warp")
_LANES = ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))  # of C of every mma


def _bits(sizes: Sequence[int], step: list[int], order: Sequence[int]) -> _Bases:
    """A basis for each bit of the sizes, `order[0]` fastest; updates `step`, where each axis continues."""
    bases: _Bases = []
    for axis in order:
        for _ in range(int(sizes[axis]).bit_length() - 1):
            bases.append((step[axis], 0) if axis == 0 else (0, step[axis]))
            step[axis] *= 2
    return bases


def _repeated(tile: dict[str, _Bases], shape: tuple[int, int], order: Sequence[int]) -> dict[str, _Bases]:
    """Repeat a tile over a whole tensor in further registers; bits beyond the tensor move nothing."""
    inside = {
        name: [(row if row < shape[0] else 0, column if column < shape[1] else 0) for row, column in pairs]
        for name, pairs in tile.items()
    }
    inside["register"] = [pair for pair in inside["register"] if pair != (0, 0)]
    reached = [max((pair[axis] for pairs in inside.values() for pair in pairs), default=0) for axis in (0, 1)]
    step = [2 * most if most else 1 for most in reached]
    inside["register"] += _bits([shape[axis] // step[axis] for axis in (0, 1)], step, order)
    return inside


def _read_object(layout: object) -> tuple[str, dict[str, Any]]:
    name = type(layout).__name__
    if name not in _CLASSES:
        raise PtxlabError(
            f"layout: found {quoted(layout)}; it takes a text of Triton's compiler, "
            f"#ttg.nvidia_mma<{{...}}>, or an object of Gluon: {listing(_CLASSES)}"
        )
    fields = {
        field: getattr(layout, attribute)
        for field, attribute in _ATTRIBUTES.items()
        if hasattr(layout, attribute)
    }
    if hasattr(layout, "version"):
        fields["versionMajor"] = layout.version[0]
    if hasattr(layout, "block"):
        fields["blockM"], fields["blockN"] = layout.block
    return _CLASSES[name], fields


def _read_text(text: str) -> tuple[str, dict[str, Any]]:
    wanted = f"layout {quoted(text)}: it is written #ttg.nvidia_mma<{{versionMajor = 3, ...}}>"
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise PtxlabError(wanted)
    body, parent = match[2], re.search(r"parent\s*=\s*(#[\w.]+\s*<\{.*?\}>)", match[2], re.DOTALL)
    fields: dict[str, Any] = {}
    if parent is not None:
        fields["parent"] = parent[1]
        body = body.replace(parent[0], "")
    for name, value in re.findall(r"(\w+)\s*=\s*(\[[\[\]\d,\s]*\]|\w+)", body):
        try:
            fields[name] = json.loads(value)
        except (ValueError, RecursionError):
            raise PtxlabError(f"{wanted}; found {name[:40]} = {quoted(value)}") from None
    return match[1], fields
