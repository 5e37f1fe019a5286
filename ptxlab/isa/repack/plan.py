"""`ptxlab.repack`: a plan from the registers of one operand to those of another, with its CUDA C++."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._util.arguments import as_array, check_room
from ..._util.threads import for_each
from ...errors import PtxlabError, counted, listing
from ..dtypes import CONVERSIONS, DType, convert
from ..operand import Operand
from .endpoints import Endpoint, Tiles, as_grid, endpoint_of_blocks, endpoints_with_stack, is_stack, size_text
from .plan_search import Task
from .plan_steps import PlanStep, Rename, Shuffle, Transpose, repack_source, step_result, step_text
from .staged_exchanges import shortest

_WARP = 32
_PART = 1 << 16  # registers that a thread works on at a time: what comes of them stays in cache


def repack(source: Tiles, target: Tiles) -> Repack:
    """The plan that makes the registers of one operand from those of another, in as few steps as it finds.

    Several tiles are arranged as `np.block` has them: `[d, d]`, two 16x8 accumulators side by side, is one
    16x16 A; `[[d], [d]]` has one below the other. For R of ldmatrix and stmatrix, rows of memory run along K
    (N for C and D), with `.trans` along M or N; its matrices follow each other along M or N first, then
    along K.

    Types are converted as `cvt` does it: to nearest even; integers and floats of 8 bits and fewer saturate;
    NaN becomes the canonical NaN of its type, the largest value where there is none, 0 for integers.

    >>> import ptxlab
    >>> scores = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3")
    >>> plan = ptxlab.repack(scores.d, scores.a)   # the accumulator of one as A of the next
    >>> plan
    <repack D 64x32 f32 -> A 64x32 e4m3: 4 converts, 4 selects, 4 shuffles, 4 permutes>
    >>> plan.moved, plan.elements
    (1536, 2048)
    >>> print(plan.shuffles[0].lanes, [hex(selector) for selector in plan.steps[-4].selectors])
    (0, 2, 1, 3) ['0x5410', '0x5410', '0x1054', '0x1054']
    """
    from_grid, to_grid = as_grid(source, "source"), as_grid(target, "target")
    from_tiles = [tile for row in from_grid for tile in row]
    to_tiles = [tile for row in to_grid for tile in row]
    first, last = from_tiles[0], to_tiles[0]
    if first.lanes != last.lanes:
        raise PtxlabError(
            f"{first.lanes} {first.holder}s hold the source ({size_text(from_tiles)}), and {last.lanes} "
            f"{last.holder}s hold the target ({size_text(to_tiles)}): both must have as many; a warp of a "
            "wgmma holds 16 rows of A and D as an mma with M = 16, N = 8 and the same K does, so plan one "
            "warp with that mma"
        )
    check_room(sum(tile.shape[0] * tile.shape[1] for tile in from_tiles), "repack")
    conversion = _conversion(first, last)
    if is_stack(first) and not is_stack(last):
        endpoints = endpoints_with_stack(from_grid, to_grid, "source", "target")
    elif is_stack(last) and not is_stack(first):
        endpoints = endpoints_with_stack(to_grid, from_grid, "target", "source")[::-1]
    else:
        endpoints = endpoint_of_blocks(from_grid, "source"), endpoint_of_blocks(to_grid, "target")
    if endpoints[0].shape != endpoints[1].shape:
        raise PtxlabError(_different_shapes(from_tiles, to_tiles, endpoints))
    return Repack(endpoints[0], endpoints[1], conversion)


def _different_shapes(
    from_tiles: Sequence[Operand], to_tiles: Sequence[Operand], endpoints: tuple[Endpoint, Endpoint]
) -> str:
    """What is wrong with two shapes, and the tiles that would fit."""
    message = f"{size_text(from_tiles)} and {size_text(to_tiles)} are not the same matrix"
    (rows, columns), (to_rows, to_columns) = endpoints[0].shape, endpoints[1].shape
    name = from_tiles[0].name.lower()
    if (to_rows, to_columns % columns) == (rows, 0):
        tiles = ", ".join([name] * (to_columns // columns))
        return f"{message}; {to_columns // columns} side by side would be: repack([{tiles}], ...)"
    if (to_columns, to_rows % rows) == (columns, 0):
        tiles = ", ".join([f"[{name}]"] * (to_rows // rows))
        return f"{message}; {to_rows // rows} below each other would be: repack([{tiles}], ...)"
    if rows % to_rows == 0 and columns % to_columns == 0:
        return f"{message}; give a list of targets that together have {rows} rows and {columns} columns"
    return message


def _conversion(source: Operand, target: Operand) -> tuple[DType, DType] | None:
    """The types to convert between; None where bits move as they are."""
    if source.dtype.kind == "bits" and is_stack(source):
        _check_room_for_bits(source, target)
        return None
    if target.dtype.kind == "bits" and is_stack(target):
        _check_room_for_bits(target, source)
        return None
    if source.dtype.name == target.dtype.name and source.width == target.width:
        if source.padding != target.padding and source.padding > target.padding:
            raise PtxlabError(
                f"{source.dtype} lies {source.padding} bits up in {source.name}: it must not move"
            )
        return None
    to_types = CONVERSIONS.get(source.dtype.name, ())
    if target.dtype.name not in to_types or source.container:
        remedy = (
            f"{source.dtype} becomes {listing(to_types)}" if to_types else f"{source.dtype} stays as it is"
        )
        raise PtxlabError(
            f"{source.name} holds {source.dtype}, {target.name} holds {target.dtype}: no conversion; {remedy}"
        )
    return source.dtype, target.dtype


def _check_room_for_bits(stack: Operand, other: Operand) -> None:
    """R holds bytes: elements of 8 bits and more, or narrower ones that fill theirs in the same way."""
    narrow = other.container or other.dtype.bits
    if stack.container and (stack.width != other.width or stack.dtype.bits != other.dtype.bits):
        raise PtxlabError(
            f"R holds elements of {stack.dtype.bits} bits in bytes; {other.name} is {other.dtype} of "
            f"{narrow} bits"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Repack:
    """How registers of one operand become those of another; `repack(source, target)` makes it.

    Call it with registers [..., lanes, registers], or read `steps`, or compile `source`. Plans are equal if
    they make the same registers from the same registers.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> plan = ptxlab.repack([ins.d, ins.d], ins.a)
    >>> S = np.arange(256.0).reshape(16, 16)
    >>> registers = plan(ins.d.pack(S[:, :8]), ins.d.pack(S[:, 8:]))
    >>> bool((ins.a.unpack(registers) == S).all()), plan.moved, plan.counts
    (True, 0, {'convert': 4})
    """

    source_endpoint: Endpoint
    target_endpoint: Endpoint
    conversion: tuple[DType, DType] | None

    def __post_init__(self) -> None:
        for endpoint in (self.source_endpoint, self.target_endpoint):
            endpoint.cells.flags.writeable = False
        lanes, _ = self.origins
        warps = np.arange(len(lanes))[:, None] // _WARP
        if (lanes // _WARP != warps).any():
            raise PtxlabError(
                f"{self.describe()}: elements change warps, which no shuffle does; go through shared memory"
            )
        if self.moved_bits < 4:
            _ = self.steps  # refuses to separate single bits that share a byte

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        """What two plans are told apart by."""
        source, target = (
            (endpoint.operands, endpoint.shape, endpoint.bits, endpoint.cells.tobytes())
            for endpoint in (self.source_endpoint, self.target_endpoint)
        )
        return source, target, self.conversion

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Repack) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    # -- facts -----------------------------------------------------------------------------------------------

    @property
    def sources(self) -> tuple[Operand, ...]:
        """The tiles whose registers it takes, in the order of their registers."""
        return self.source_endpoint.operands

    @property
    def targets(self) -> tuple[Operand, ...]:
        """The tiles whose registers it gives."""
        return self.target_endpoint.operands

    @property
    def lanes(self) -> int:
        """Lanes that hold both endpoints: 32, or 128 for a warpgroup."""
        return len(self.source_endpoint.cells)

    @property
    def elements(self) -> int:
        """Elements that the lanes of the target hold together."""
        return self.target_endpoint.cells.size

    @property
    def moved(self) -> int:
        """How many of them come from another lane."""
        lanes, _ = self.origins
        return int((lanes != np.arange(len(lanes))[:, None]).sum())

    @property
    def converts_first(self) -> bool:
        """Whether elements are converted before they change lanes: they get narrower, or are as wide."""
        return self.conversion is not None and self.conversion[1].bits <= self.conversion[0].bits

    @property
    def moved_bits(self) -> int:
        """Bits of an element when it changes its lane."""
        return self.target_endpoint.bits if self.converts_first else self.source_endpoint.bits

    @property
    def shift(self) -> int:
        """Bits by which elements in bytes of their own move up."""
        source, target = self.source_endpoint.operand, self.target_endpoint.operand
        if source.container or self.conversion is not None:
            return max(0, target.padding - source.padding)
        return 0

    @cached_property
    def origins(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lane and slot of the source that every slot of the target comes from, [lanes, slots] each."""
        source, target = self.source_endpoint.cells, self.target_endpoint.cells
        slots = source.shape[1]
        order = np.argsort(source.ravel(), kind="stable")
        copies = source.size // (self.source_endpoint.shape[0] * self.source_endpoint.shape[1])
        candidates = order.reshape(-1, copies)[target]  # [lanes, slots, copies]
        own = candidates // slots == np.arange(len(target))[:, None, None]
        warp = candidates // slots // _WARP == np.arange(len(target))[:, None, None] // _WARP
        best = np.argmax(2 * own + warp, axis=-1)
        chosen = np.take_along_axis(candidates, best[..., None], axis=-1)[..., 0]
        return chosen // slots, chosen % slots

    @cached_property
    def steps(self) -> tuple[PlanStep, ...]:
        """What every lane does, in order: registers in0, in1, ... become out0, out1, ..."""
        task = Task(
            self.describe(),
            *self.origins,
            self.moved_bits,
            self.conversion,
            self.converts_first,
            self.source_endpoint.operand.elements_per_register,
            self.shift,
            self.target_endpoint.operand.width,
        )
        return shortest(task, self.source_endpoint.cells, self.target_endpoint.cells)

    @property
    def shuffles(self) -> tuple[Shuffle | Transpose, ...]:
        """The steps in which elements change their lane, `movmatrix` among them; empty if none does."""
        return tuple(step for step in self.steps if isinstance(step, Shuffle | Transpose))

    @property
    def source(self) -> str:
        """A CUDA C++ device function `repack(in, out)`; registers are `unsigned`, f64 takes two each.

        All lanes of the warp call it together. Conversions to e4m3 and e5m2 need sm_89, those to e2m1, e2m3
        and e3m2 sm_100a, sm_120a or their families, the others sm_80.
        """
        sizes = [
            endpoint.registers * endpoint.operand.register_bits // 32
            for endpoint in (self.source_endpoint, self.target_endpoint)
        ]
        return repack_source(self.describe(), sizes, self.lanes, self.steps)

    def describe(self) -> str:
        """``D 64x32 f32 -> A 64x32 e4m3``."""
        return f"{size_text(self.sources)} -> {size_text(self.targets)}"

    # -- on arrays -------------------------------------------------------------------------------------------

    def __call__(self, *registers: ArrayLike) -> NDArray[Any]:
        """Registers of the source [..., lanes, registers] -> those of the target.

        Of several tiles: one array for each, or one with their registers one after another. The result
        has the registers of all target tiles one after another.
        """
        words = self._words(registers)
        flat = words.reshape(-1, words.shape[-2] * words.shape[-1])
        result = np.empty((len(flat), self.elements * self.target_endpoint.bits // 32), dtype=np.uint32)
        rows = max(1, _PART // flat.shape[1])

        def work(first: int) -> None:
            result[first : first + rows] = self._repacked(flat[first : first + rows])

        for_each(work, range(0, len(flat), rows))
        registers_of_lane = result.reshape(*words.shape[:-1], result.shape[-1] // words.shape[-2])
        return registers_of_lane.view(self.target_endpoint.operand.register_type)

    def _repacked(self, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Words [count, n] of the source -> those of the target: a conversion and a gather."""
        if self.converts_first:
            words = self._converted(words)
        index, bits = self._gather
        if index is not None and bits == 4:
            words = _joined(np.take(_halves(words), index, axis=-1, mode="clip"), 4)
        elif index is not None:  # mode: the index is ours and need not be checked
            words = np.take(words.view(f"u{bits // 8}"), index, axis=-1, mode="clip").view(np.uint32)
        if self.conversion is not None and not self.converts_first:
            words = self._converted(words)
        return words << np.uint32(self.shift) if self.shift else words

    def _converted(self, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
        assert self.conversion is not None
        codes = words.view(f"u{self.source_endpoint.bits // 8}")
        return _joined(convert(codes, *self.conversion), self.target_endpoint.bits)

    @cached_property
    def _gather(self) -> tuple[NDArray[np.int64] | None, int]:
        """Which pieces of the source make up the target, in order, and the bits of a piece, up to 64.

        None where all stay in their places.
        """
        index = (self.origins[0] * self.source_endpoint.cells.shape[1] + self.origins[1]).ravel()
        if index.size == self.source_endpoint.cells.size and (index == np.arange(index.size)).all():
            return None, 64
        bits = self.moved_bits
        while bits < 64 and index.size % 2 == 0:
            pairs = index.reshape(-1, 2)
            if (pairs[:, 1] != pairs[:, 0] + 1).any() or (pairs[:, 0] % 2).any():
                break
            index, bits = pairs[:, 0] // 2, 2 * bits
        return index, bits

    def _words(self, registers: tuple[ArrayLike, ...]) -> NDArray[np.uint32]:
        """The source's registers as 32-bit words [..., lanes, words]."""
        endpoint = self.source_endpoint
        operand = endpoint.operand
        arrays = [as_array(array, operand.name) for array in registers]
        if len(arrays) == len(endpoint.operands) > 1:
            arrays = [
                tile.check_registers(array) for tile, array in zip(endpoint.operands, arrays, strict=True)
            ]
            whole = np.concatenate(np.broadcast_arrays(*arrays), axis=-1)
        elif len(arrays) == 1 and arrays[0].shape[-2:] == (self.lanes, endpoint.registers):
            whole = operand.check_words(arrays[0])  # all tiles have its type
        else:
            shapes = " and ".join(str(array.shape) for array in arrays) or "nothing"
            tiles = (
                ""
                if len(endpoint.operands) == 1
                else f", those of {len(endpoint.operands)} tiles one after another"
            )
            raise PtxlabError(
                f"{self.describe()}: found registers of shape {shapes}; it takes [..., {self.lanes} lanes, "
                f"{endpoint.registers} registers]{tiles}"
            )
        return np.ascontiguousarray(whole).view(np.uint32)

    def follow(self, *registers: ArrayLike) -> NDArray[Any]:
        """The registers of the target, step by step, as a GPU does it; slower, and a check of the steps."""
        words = self._words(registers)
        named = {f"in{index}": words[..., index] for index in range(words.shape[-1])}
        for step in self.steps:
            named[step.target] = step_result(step, named, self.lanes)
        count = sum(name.startswith("out") for name in named)
        result = np.stack([named[f"out{index}"] for index in range(count)], axis=-1)
        return result.view(self.target_endpoint.operand.register_type)

    # -- in words --------------------------------------------------------------------------------------------

    @property
    def counts(self) -> dict[str, int]:
        """How many steps there are, by what they do; renames are left out."""
        steps = (step for step in self.steps if not isinstance(step, Rename))
        return dict(Counter(type(step).__name__.lower() for step in steps))

    def __repr__(self) -> str:
        counts = ", ".join(counted(count, step) for step, count in self.counts.items())
        return f"<repack {self.describe()}: {counts or 'nothing to do'}>"

    def __str__(self) -> str:
        head = f"{self.describe()}: {self.moved} of {self.elements} elements change lanes"
        return "\n".join([head, *(f"  {step_text(step)}" for step in self.steps)])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _halves(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Words -> codes of 4 bits, the lowest first."""
    pairs = words.view(np.uint8).astype(np.uint16)
    pairs |= pairs << np.uint16(4)
    pairs &= np.uint16(0x0F0F)
    return pairs.view(np.uint8)


def _joined(codes: NDArray[Any], bits: int) -> NDArray[np.uint32]:
    """Codes -> words of codes of `bits` bits, the first lowest."""
    if bits == 4:
        pairs = codes.view(np.uint16)
        codes = (pairs | pairs >> np.uint16(4)).astype(np.uint8)
    return codes.view(np.uint32)
