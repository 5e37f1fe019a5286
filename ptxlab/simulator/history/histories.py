"""An observer that keeps, beside every register and every byte of memory, the history of its value.

Copies keep histories: moves, loads and stores, shuffles, `ldmatrix`, bulk copies, packing and unpacking.
Every other instruction makes a new history of its operands' ones. Where the order of the operands, or of all
terms, cannot change a bit, the history does not depend on it: a + b, sums of integers, the largest of
several, the products that a tensor core adds in one step. NaNs count as equal, whatever their payload.

What data decides besides values (branches, addresses, whether something is stored) is noted: the histories
are then those of this input's path. So is the free order of atomic operations on floats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.mma import Instruction
from ...isa.operand import Operand
from ...isa.operation import Operation
from ...isa.transfer import Transfer
from ...memory import Im2colMap, TensorMap
from ...numerics.emulate import model_of
from ...numerics.emulate_transfer import loaded_registers, stored_rows
from ...numerics.rules import EmulatedThroughF16, Exact, FmaChain, Fused
from ..deferred import RegisterOperands, WarpgroupOperands, values_of
from ..events import Access, BufferAccess, Inspection, MatrixInputs, Observer
from ..instructions.matrices import form_of
from ..instructions.operands import items_of, pair_of
from ..instructions.tensor_copies import elements_inside
from ..instructions.warps import shuffle_lanes
from ..instructions.wgmma_builders import OperandTile, tile_places, trailing_constants
from ..launch_threads import UNSIGNED, Batch, Threads
from ..machine import Machine
from ..module_image import ModuleImage
from ..ptx.dataflow import constants
from ..ptx.opcode_sets import DECIDE
from ..ptx.ptxas import Contraction, contractions
from ..ptx.syntax import (
    BUILT_IN,
    Immediate,
    Negated,
    PtxInstruction,
    PtxOperand,
    Register,
    Vector,
    type_bits,
)
from ..register_file import RegisterFile
from .hashing import (
    BYTE,
    SUM,
    Hashes,
    addends,
    in_order,
    joined,
    key_of,
    leaves,
    members,
    mixed,
    of_values,
    product,
    united,
)  # fmt: skip

_PARTS = 16  # of a register, at most
#: Operations on integers for which neither order nor grouping matters; `min` and `max` of floats are others.
_UNITED = frozenset({"add", "min", "max", "and", "or", "xor"})
_COMMUTATIVE = frozenset({"add", "mul", "min", "max", "fma", "mad"})
#: Operations on packed halves that are the same ones on each half.
_BY_HALVES = frozenset({"add", "sub", "mul", "fma", "min", "max", "neg", "abs", "ex2", "tanh"})
_INTEGER = re.compile(r"[usb](8|16|32|64)(x2|x4)?")
_INPUT_BYTES = re.compile(r"[usb]8(x4)?|e[45]m[23].*|e2m[13].*|ue8m0.*|[us]4|b[46]x.*|b1")
_INPUT_HALVES = re.compile(r"[usb]16(x2)?|b?f16(x2)?|bf16x2")


@dataclass(frozen=True)
class InputArray:
    """An array of the caller: its name, bytes of an element, elements, and those of a row (None: all)."""

    name: str
    itemsize: int
    count: int
    row: int | None = None


@dataclass(frozen=True)
class Note:
    """Why a history does not hold for every input, or not for every run: the instruction that decides."""

    kind: str  # "branch", "address", "predicate", or "order"
    instruction: PtxInstruction

    @property
    def text(self) -> str:
        """As a sentence."""
        verb = {
            "branch": "branches on data",
            "address": "takes an address from data",
            "predicate": "is executed or not, as data decides",
            "order": "updates floats, or returns what others have updated, in no fixed order",
        }[self.kind]
        return f"{self.instruction.where}: {self.instruction.opcode} {verb}"


@dataclass(slots=True)
class Record:
    """One instruction's new histories in some lanes, and those of its operands; for the tree of an element.

    `type` is that of its results; `groups` are the columns of A that a matrix product adds in one step.
    """

    instruction: PtxInstruction
    kind: str
    made: Hashes
    operands: list[Any]
    type: str
    groups: Sequence[Sequence[int]] = ()


@dataclass(eq=False)
class SeenValues:
    """The values that some histories have in this launch: bits, where an instruction takes them.

    `operations` are the matrix products that make the histories in `opened`, with the row and the column.
    """

    wanted: Hashes  # in order
    opened: frozenset[int] = frozenset()
    bits: dict[int, int] = field(default_factory=dict)
    operations: dict[int, tuple[Operation, int, int]] = field(default_factory=dict)

    def look(self, hashes: Any, values: Callable[[], NDArray[Any]]) -> None:
        """Keep the values of operands with these histories."""
        hashes = np.atleast_1d(hashes)
        places = np.minimum(np.searchsorted(self.wanted, hashes), len(self.wanted) - 1)
        hits = np.flatnonzero(self.wanted[places] == hashes)
        if not len(hits):
            return
        words = np.atleast_1d(values())
        words = words.view(UNSIGNED[8 * words.dtype.itemsize])
        if len(words) == len(hashes):
            known = zip(hashes[hits].tolist(), words[hits].tolist(), strict=True)
            self.bits |= dict(known)


@lru_cache(maxsize=512)
def _granules(form: Transfer, size: int) -> NDArray[np.int64]:
    """Which granule of the rows in memory each granule of the registers comes from, [lanes, granules].

    Of `stmatrix` and `wmma.store` the other way round: the granule of the registers for each of the rows.
    """
    operand = form.register_operand
    if form.family in ("ldmatrix", "wmma.load"):
        lines = len(form.address_lanes) or form.lines[0]
        width = form.lines[1] * form.memory_bits // 8
        places = np.arange(lines * width).reshape(lines, width)

        def moved(content: NDArray[Any]) -> NDArray[np.uint8]:
            return np.ascontiguousarray(loaded_registers(form, content[None])[0]).view(np.uint8)
    else:
        registers = (operand.lanes, operand.registers * operand.register_bits // 8)
        places = np.arange(registers[0] * registers[1]).reshape(registers)

        def moved(content: NDArray[Any]) -> NDArray[np.uint8]:
            words = np.ascontiguousarray(content).view(operand.register_type)
            if form.family == "movmatrix":
                codes = np.swapaxes(operand.unpack_codes(words), -1, -2)
                return np.ascontiguousarray(form.operand("D").pack_codes(codes)).view(np.uint8)
            return np.ascontiguousarray(stored_rows(form, words[None])[0]).view(np.uint8)

    low, high = (moved((places >> shift & 255).astype(np.uint8)) for shift in (0, 8))
    sources = low.astype(np.int64) | high.astype(np.int64) << 8
    granules = sources[..., ::size] // size
    steps = sources.reshape(*granules.shape, size) - granules[..., None] * size
    if (steps != np.arange(size)).any():
        raise PtxlabError(f"{form.mnemonic} changes values on their way, which histories do not follow yet")
    return granules


class Histories(Observer):
    """Follows the histories of all values; `arrays` are the caller's, by the address of their first byte."""

    def __init__(
        self,
        image: ModuleImage,
        arrays: dict[int, InputArray],
        model: str | None = None,
        records: list[Record] | None = None,
        seen: SeenValues | None = None,
    ) -> None:
        self._seen = seen
        self._plans = image.plans
        self._arrays = arrays
        self._model = model
        self._records = records
        self.notes: dict[tuple[str, int], Note] = {}
        self._debug = image.module.debug
        self._contractions: dict[str, tuple[dict[int, Contraction], dict[int, int]]] = {}
        self._constants: dict[str, dict[int, int]] = {}
        self._keys: dict[int, np.uint64] = {}
        names = {part for instruction in image.module.instructions for part in instruction.parts[1:]}
        names.update(
            register.type for function in image.module.functions.values() for register in function.registers
        )
        sizes = [array.itemsize for array in arrays.values()]
        if any(_INPUT_BYTES.fullmatch(name) for name in names):
            sizes.append(1)
        if any(_INPUT_HALVES.fullmatch(name) for name in names):
            sizes.append(2)
        #: Bytes that have one history: of the narrowest value that the module names.
        self.granule = min([4, *sizes])
        self._global: dict[int, Hashes] = {}  # by the address of a buffer's first byte
        self._updates: dict[int, NDArray[np.uint8]] = {}
        self.written: set[int] = set()  # arrays, by the address of their first byte

    def attach(self, machine: Inspection) -> None:
        """Keep the machine, whose registers have the values that come from no array."""
        assert isinstance(machine, Machine)
        self._machine = machine

    def begin(self, batch: Batch) -> None:
        """Registers and shared memory of new blocks have no histories."""
        self._batch = batch
        function = self._machine.launch.entry
        count = len(function.types) + 1  # the last is the carry
        self._carry = count - 1
        self._files = RegisterFile((np.dtype(np.uint64),) * (count * _PARTS))
        self._live: set[int] = set()
        self._split: dict[int, int] = {}  # registers whose granules have histories of their own: how many
        self._local: dict[int, Hashes] = {}
        self._stash: list[tuple[PtxInstruction, NDArray[Any], Hashes]] = []
        self._boxes: list[NDArray[np.int64]] = []
        #: Elements from a box's start on, and their offsets, by the tensor map and the address.
        self._whole_boxes: dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    # -- registers -------------------------------------------------------------------------------------------

    def _whole(self, register: int, threads: Threads) -> Hashes | None:
        """The histories of a register; None where none of all threads has one."""
        if register not in self._live:
            return None
        count = self._split.get(register, 1)
        first = self._files.read(register * _PARTS, threads)
        if count == 1:
            return first
        parts = [self._files.read(register * _PARTS + part, threads) for part in range(count)]
        return self._combined(parts, lambda part: self._part_values(register, threads, part))

    def _part_values(self, register: int, threads: Threads, part: int) -> NDArray[Any]:
        values = np.ascontiguousarray(self._values(register, threads))
        size = min(self.granule, values.dtype.itemsize)
        return values.view(UNSIGNED[8 * size])[part :: values.dtype.itemsize // size]

    def _combined(self, parts: Sequence[Hashes], values: Callable[[int], NDArray[Any]]) -> Hashes:
        """One history of neighbouring granules: that of the value, if they are its parts."""
        first = parts[0]
        if len(parts) == 1:
            return first
        same = np.ones(first.shape, dtype=np.bool_)
        none = first == 0
        for number, part in enumerate(parts[1:], 1):
            step = BYTE * np.uint64(number * self.granule)
            same &= np.where(none, part == 0, part == first + step)
            none &= part == 0
        if same.all():
            return first
        filled = [
            part if part.all() else np.where(part == 0, of_values(values(number)), part)
            for number, part in enumerate(parts)
        ]
        return np.where(same, first, in_order(key_of(f"join {len(parts)}"), filled))

    def _parts(self, register: int, threads: Threads, count: int) -> list[Hashes]:
        """The histories of the first `count` granules of a register."""
        if register not in self._live:
            return [threads.constant(0, np.dtype(np.uint64))] * count
        if register in self._split:
            return [self._files.read(register * _PARTS + part, threads) for part in range(count)]
        return self._spread(self._files.read(register * _PARTS, threads), count)

    def _spread(self, whole: Hashes, count: int) -> list[Hashes]:
        """The histories of the granules of a value."""
        if count == 1:
            return [whole]
        parts = [whole]
        full = bool(whole.all())
        for part in range(1, count):
            step = whole + BYTE * np.uint64(part * self.granule)
            parts.append(step if full else np.where(whole == 0, np.uint64(0), step))
        return parts

    def _write(self, register: int, threads: Threads, hashes: Hashes | None) -> None:
        """Set the histories of a register; None for values that come from no array."""
        if hashes is None:
            if register not in self._live:
                return
            if threads.index is None:
                self._live.discard(register)
                self._split.pop(register, None)
                return
            hashes = threads.constant(0, np.dtype(np.uint64))
        if threads.index is None:
            self._split.pop(register, None)
        elif register in self._split:
            self._write_parts(register, threads, self._spread(hashes, self._split[register]))
            return
        elif register not in self._live:
            self._files.write(register * _PARTS, self._batch_all, self._zeros)
        self._live.add(register)
        self._files.write(register * _PARTS, threads, hashes)

    @property
    def _batch_all(self) -> Threads:
        return Threads(self._batch, None)

    @property
    def _zeros(self) -> Hashes:
        return self._batch.constant(0, np.dtype(np.uint64))

    def _write_parts(self, register: int, threads: Threads, parts: Sequence[Hashes]) -> None:
        """Set the histories of the granules of a register."""
        if len(parts) == 1:
            self._write(register, threads, parts[0])
            return
        if register not in self._live and not any(part.any() for part in parts):
            return
        if threads.index is not None and register not in self._split:
            everyone = self._batch_all
            before = self._parts(register, everyone, len(parts))
            for number, part in enumerate(before):
                self._files.write(register * _PARTS + number, everyone, part)
        self._live.add(register)
        self._split[register] = len(parts)
        for number, part in enumerate(parts):
            self._files.write(register * _PARTS + number, threads, part)

    def _set(self, register: int, threads: Threads, parts: Sequence[Hashes]) -> None:
        """Set a register to granules that may be those of one value."""
        for number, part in enumerate(parts[1:], 1):
            step = BYTE * np.uint64(number * self.granule)
            for some in (slice(32), slice(None)):  # most that differ, differ soon
                first = parts[0][some]
                if (part[some] != np.where(first == 0, first, first + step)).any():
                    self._write_parts(register, threads, parts)
                    return
        first = parts[0]
        self._write(register, threads, first if register in self._live or first.any() else None)

    def _values(self, register: int, threads: Threads) -> NDArray[Any]:
        frame = self._machine.frame
        assert frame is not None
        return frame.read(register, threads)

    def _count(self, register: Register) -> int:
        """The granules of a register."""
        return max((type_bits(register.type) or 32) // 8 // self.granule, 1)

    def _operand(self, operand: PtxOperand, threads: Threads, bits: int = 64) -> tuple[Any, Any]:
        """The history of an operand, with values hashed where there is none, and where that is (None: never).

        The second is True if no thread has a history.
        """
        if isinstance(operand, Negated):
            history, none = self._operand(operand.operand, threads)
            return mixed(history + key_of("not")), none
        if isinstance(operand, Immediate):
            return of_values(np.array([operand.value & (1 << bits) - 1], dtype=np.uint64))[0], True
        if not isinstance(operand, Register):
            return key_of(repr(operand)), True
        hashes = self._whole(operand.index, threads)
        if hashes is None:
            return of_values(self._values(operand.index, threads)), True
        if self._seen is not None:
            self._seen.look(hashes, partial(self._values, operand.index, threads))
        none = hashes == 0
        if not none.any():
            return hashes, None
        return np.where(none, of_values(self._values(operand.index, threads)), hashes), none

    # -- instructions ----------------------------------------------------------------------------------------

    def note(self, kind: str, instruction: PtxInstruction) -> None:
        """Data or chance decides here."""
        self.notes.setdefault((kind, id(instruction)), Note(kind, instruction))

    def guarded(self, instruction: PtxInstruction, threads: Threads) -> None:
        """A predicate that comes from data decides whether threads execute an instruction."""
        guard = instruction.guard
        register = guard.operand if isinstance(guard, Negated) else guard
        if isinstance(register, Register) and register.index in self._live:
            hashes = self._whole(register.index, threads)
            if hashes is not None and hashes.any():
                self.note("branch" if instruction.parts[0] in DECIDE else "predicate", instruction)

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Results have the histories of what they are computed from."""
        flow = self._plans.flow(instruction)
        name = instruction.parts[0]
        live = self._live
        if name == "call":
            target = next((getattr(item, "name", "") for item in instruction.operands[-3:]), "")
            names = {getattr(operand, "name", "") for operand in instruction.operands}
            if names.isdisjoint(BUILT_IN):
                raise self._unfollowed(instruction, f"the call of {target or 'a function'}")
            return
        if name in ("tcgen05", "alloca", "multimem"):
            raise self._unfollowed(instruction, instruction.opcode)
        for register in flow.addresses:
            if register in live:
                hashes = self._whole(register, threads)
                if hashes is not None and hashes.any():
                    self.note("address", instruction)
        if name in ("ld", "ldu", "ldmatrix", "st", "stmatrix", "atom", "red", "wgmma", "mma", "cp"):
            return  # see `accessed` and `multiplied`
        if name == "wmma":
            return
        carries = "cc" in instruction.parts or name in ("addc", "subc", "madc")
        if not carries and (not live or live.isdisjoint(flow.reads)):
            self._untainted(instruction, flow.writes, threads)
            return
        if not flow.writes:
            if name in ("brx", "call") or (name == "bar" and "red" in instruction.parts):
                self.note("branch", instruction)
            return
        if name == "mov":
            self._moved(instruction, threads)
        elif name == "selp":
            self._selected(instruction, threads)
        elif name == "shfl":
            self._shuffled(instruction, threads)
        elif name == "movmatrix":
            self._moved_matrix(instruction, threads)
        elif name in ("vote", "match", "redux"):
            self._reduced(instruction, threads)
        elif name in ("bar", "barrier"):
            raise self._unfollowed(instruction, "a predicate of data at a barrier")
        elif name not in ("cvt", "shl", "shr", "and", "or", "prmt") or not self._moved_bytes(
            instruction, threads
        ):
            self._computed(instruction, threads, carries)

    def _unfollowed(self, instruction: PtxInstruction, what: str) -> PtxlabError:
        return PtxlabError(f"{instruction.where}: histories do not follow {what} yet")

    def _untainted(self, instruction: PtxInstruction, writes: Iterable[int], threads: Threads) -> None:
        for register in writes:
            if register in self._live:
                self._write(register, threads, None)
        fused, places = self._fused(instruction)
        if instruction.index in places:
            for offset in range(2):
                self._write(places[instruction.index] + offset, threads, None)
        elif instruction.index in fused:  # the factors may be of data although the product is not
            self._computed(instruction, threads, False)

    def _fused(self, instruction: PtxInstruction) -> tuple[dict[int, Contraction], dict[int, int]]:
        """The sums that ptxas fuses in a function, and the registers in which the machine keeps factors."""
        function = self._plans.owners[id(instruction)].function
        known = self._contractions.get(function.name)
        if known is None:
            fused = {} if self._debug else contractions(function)
            places: dict[int, int] = {}
            for item in dict.fromkeys(contraction.product for contraction in fused.values()):
                places[item] = len(function.registers) + 2 * len(places)
            known = self._contractions[function.name] = fused, places
            self._constants[function.name] = constants(function)
        return known

    def _key(self, instruction: PtxInstruction) -> np.uint64:
        """The hash of an operation: its opcode without what says nothing about its result."""
        key = self._keys.get(id(instruction))
        if key is None:
            name, *qualifiers = instruction.parts
            kept = [part for part in qualifiers if part not in ("rn", "sync", "lo", "aligned")]
            text = ".".join((name, *kept))
            if name == "div":  # by a constant, some are computed in another way
                self._fused(instruction)
                known = self._constants[self._plans.owners[id(instruction)].function.name]
                divisor = instruction.operands[2]
                if isinstance(divisor, Immediate) or getattr(divisor, "index", -1) in known:
                    text += " by a constant"
            key = self._keys[id(instruction)] = key_of(text)
        return key

    def _computed(self, instruction: PtxInstruction, threads: Threads, carries: bool) -> None:
        """An instruction whose result is computed, lane by lane."""
        name, kind = instruction.parts[0], instruction.parts[-1]
        destination, *sources = instruction.operands
        flat = [
            item for source in sources for item in (source.items if isinstance(source, Vector) else (source,))
        ]
        bits = type_bits(kind) or 64
        fused, places = self._fused(instruction)
        if instruction.index in fused:
            self._fused_sum(instruction, fused[instruction.index], places, threads)
            return
        if instruction.index in places:
            for offset, source in enumerate(flat[:2]):
                hashes, none = self._operand(source, threads, bits)
                if name == "div" and offset:
                    hashes = mixed(hashes + key_of("reciprocal"))
                self._write(places[instruction.index] + offset, threads, self._masked(hashes, none, threads))
        pair = re.fullmatch(r"(b?f16|e4m3|e5m2)x2", instruction.parts[-2]) if name == "cvt" else None
        if pair and len(flat) == 2 and kind == "f32" and "rs" not in instruction.parts:
            self._converted_pair(instruction, threads, pair[1])
            return
        packed = re.fullmatch(r"(b?f16|f32|[us]16)x2", kind)
        if packed and name in _BY_HALVES:
            self._packed(instruction, threads, packed[1])
            return
        found = [self._operand(source, threads, bits) for source in flat]
        if carries and instruction.parts[0] in ("addc", "subc", "madc") and self._carry in self._live:
            hashes = self._whole(self._carry, threads)
            assert hashes is not None
            found.append((hashes, hashes == 0))
        hashes = self._operation(instruction, [history for history, _ in found])
        made = self._masked(hashes, *self._nowhere([none for _, none in found]), threads)
        self._record(instruction, made, [history for history, _ in found], threads)
        written = pair_of(destination) if not isinstance(destination, Vector) else destination.items
        for number, target in enumerate(written):
            if isinstance(target, Register):
                result = (
                    made
                    if number == 0 or made is None
                    else np.where(made == 0, made, mixed(made + key_of("second")))
                )
                self._write(target.index, threads, result)
        if "cc" in instruction.parts:
            self._write(
                self._carry,
                threads,
                None if made is None else np.where(made == 0, made, mixed(made + key_of("carry"))),
            )

    def _operation(
        self, instruction: PtxInstruction, found: list[Any], key: np.uint64 | None = None
    ) -> Hashes:
        """The history of a result from those of the operands."""
        name, *qualifiers = instruction.parts
        kind = qualifiers[-1] if qualifiers else ""
        key = self._key(instruction) if key is None else key
        integer = _INTEGER.fullmatch(kind) is not None
        plain = (
            not {"sat", "cc", "wide", "hi", "relu", "xorsign"} & set(qualifiers)
            and name in _COMMUTATIVE | _UNITED
        )
        if plain and integer and name in _UNITED and len(found) == 2:
            return united(SUM if name == "add" else key_of(f"{name} {kind}"), *found)
        if plain and not integer and name in ("min", "max"):
            ordered = key_of(".".join(instruction.parts))
            total = members(ordered, found[0])
            for operand in found[1:]:
                total = total + members(ordered, operand)
            return joined(ordered, total)
        if integer and plain and name in ("mul", "mad"):  # the low half of a product
            low = mixed(product(key_of("integer product"), found[0], found[1]))
            return low if len(found) == 2 else united(SUM, low, found[2])
        if name in ("fma", "mul", "mad") and "hi" not in qualifiers and "cc" not in qualifiers:
            first = product(key, found[0], found[1])
            return mixed(first) if len(found) == 2 else in_order(key, [first, found[2]])
        if name == "add" and len(found) == 2:
            return mixed(product(key, *found))
        return in_order(key, found)

    def _nowhere(self, nones: list[Any]) -> tuple[Any]:
        """Where no operand has a history: True for everywhere, None for nowhere."""
        masks = [none for none in nones if none is not True]
        if not masks:
            return (True,)
        if any(mask is None for mask in masks):
            return (None,)
        return (np.logical_and.reduce(masks),)

    def _masked(self, hashes: Any, none: Any, threads: Threads) -> Hashes | None:
        """Histories with 0 where no operand has one; None if that is everywhere."""
        if none is True:
            return None
        if none is None or not none.any():
            return np.asarray(hashes)
        return np.where(none, np.uint64(0), hashes)

    def _selected(self, instruction: PtxInstruction, threads: Threads) -> None:
        """`selp`: a copy of one of two values, unless data decides which."""
        destination, first, second, predicate = instruction.operands
        assert isinstance(destination, Register)
        if not isinstance(predicate, Register) or predicate.index in self._live:
            self._computed(instruction, threads, False)
            return
        holds = self._values(predicate.index, threads)
        bits = type_bits(instruction.parts[-1]) or 32
        one, other = (self._granules_of(source, threads, bits) for source in (first, second))
        parts = [np.where(holds, left, right) for left, right in zip(one, other, strict=True)]
        self._set(destination.index, threads, parts)

    def _converted_pair(self, instruction: PtxInstruction, threads: Threads, element: str) -> None:
        """A `cvt` of two values into the halves of a register: two conversions, the second value first."""
        destination, high, low = instruction.operands
        assert isinstance(destination, Register)
        parts = [part for part in instruction.parts[:-2] if part != "rn"]
        key = key_of(".".join((*parts, element, instruction.parts[-1])))
        granules: list[Hashes] = []
        for source in (low, high):
            history, none = self._operand(source, threads, 32)
            made = self._masked(in_order(key, [history]), none, threads)
            self._record(instruction, made, [history], threads, type_name=element)
            zero = threads.constant(0, np.dtype(np.uint64))
            each = (type_bits(element) or 8) // 8 // self.granule
            granules += self._spread(zero if made is None else made, each)
        self._set(destination.index, threads, granules)

    def _packed(self, instruction: PtxInstruction, threads: Threads, element: str) -> None:
        """An operation on both halves of registers: two operations of the halves' type."""
        destination, *sources = instruction.operands
        assert isinstance(destination, Register)
        size = (type_bits(element) or 16) // 8
        key = key_of(".".join((*(part for part in instruction.parts[:-1] if part != "rn"), element)))
        results: list[Hashes] = []
        columns = [self._elements(source, threads, 8 * size) for source in sources]
        for half in range(2):
            found = [column[half] for column in columns]
            hashes = self._operation(instruction, [history for history, _ in found], key)
            made = self._masked(hashes, *self._nowhere([none for _, none in found]), threads)
            self._record(instruction, made, [history for history, _ in found], threads, type_name=element)
            results += self._spread(
                made if made is not None else threads.constant(0, np.dtype(np.uint64)), size // self.granule
            )
        self._set(destination.index, threads, results)

    def _elements(
        self,
        operand: PtxOperand,
        threads: Threads,
        bits: int,
        words: Callable[[], NDArray[Any]] | None = None,
    ) -> list[tuple[Any, Any]]:
        """As `_operand`, for each element of a register; `words` gives its values if it has others by now."""
        if not isinstance(operand, Register):
            number = operand.value if isinstance(operand, Immediate) else 0
            return [
                (of_values(np.array([number >> shift & (1 << bits) - 1], dtype=np.uint64))[0], True)
                for shift in range(0, 64, bits)
            ]
        width = type_bits(operand.type) or 32
        if bits < 8:
            found = self._elements(operand, threads, 8, words)
            return [
                (np.asarray(history + BYTE * np.uint64((1 << 32) + nibble)), none)
                for history, none in found
                for nibble in range(8 // bits)
            ]
        count = bits // 8 // self.granule
        values: list[NDArray[Any]] = []

        def value(element: int) -> NDArray[Any]:
            if not values:
                content = self._values(operand.index, threads) if words is None else words()
                content = np.ascontiguousarray(content).view(UNSIGNED[bits])
                values.extend(content[number :: width // bits] for number in range(width // bits))
            return values[element]

        if operand.index not in self._live:
            return [(of_values(value(element)), True) for element in range(width // bits)]
        if width == bits and words is None:
            return [self._operand(operand, threads)]
        if width == bits and operand.index not in self._split:
            hashes = self._files.read(operand.index * _PARTS, threads)
            if self._seen is not None:
                self._seen.look(hashes, partial(value, 0))
            none = hashes == 0
            if not none.any():
                return [(hashes, None)]
            return [(np.where(none, of_values(value(0)), hashes), none)]
        parts = self._parts(operand.index, threads, width // 8 // self.granule)
        result: list[tuple[Any, Any]] = []
        for element in range(width // bits):

            def granule(part: int, element: int = element) -> NDArray[Any]:
                word = np.ascontiguousarray(value(element))
                return word.view(UNSIGNED[8 * self.granule])[part::count]

            hashes = self._combined(parts[element * count : element * count + count], granule)
            if self._seen is not None:
                self._seen.look(hashes, partial(value, element))
            none = hashes == 0
            if none.any():
                result.append((np.where(none, of_values(value(element)), hashes), none))
            else:
                result.append((hashes, None))
        return result

    def _fused_sum(
        self, instruction: PtxInstruction, contraction: Contraction, places: dict[int, int], threads: Threads
    ) -> None:
        """A sum into which ptxas fuses a product: an `fma` of the factors."""
        destination, *sources = instruction.operands
        place, kind = places[contraction.product], instruction.parts[-1]
        registers = [Register(place + offset, "", kind.replace("x2", "")) for offset in range(2)]
        found = [self._operand(register, threads) for register in registers]
        found.append(self._operand(sources[1 - contraction.position], threads, type_bits(kind) or 64))
        name = instruction.parts[0]
        negative = contraction.negative != (name == "sub" and contraction.position == 1)
        negated = [0] if negative else []
        if name == "sub" and contraction.position == 0:
            negated.append(2)
        for number in negated:
            before, none = found[number]
            found[number] = mixed(before + key_of("neg")), none
            self._record(instruction, found[number][0], [before], threads, "neg")
        key = key_of(".".join(("fma", *(part for part in instruction.parts[1:] if part != "rn"))))
        hashes = in_order(key, [product(key, found[0][0], found[1][0]), found[2][0]])
        made = self._masked(hashes, *self._nowhere([none for _, none in found]), threads)
        self._record(instruction, made, [history for history, _ in found], threads, "fma")
        assert isinstance(destination, Register)
        self._write(destination.index, threads, made)

    def _record(
        self,
        instruction: PtxInstruction,
        made: Hashes | None,
        operands: list[Any],
        threads: Threads,
        kind: str = "",
        type_name: str = "",
    ) -> None:
        if self._records is not None and made is not None:
            of = type_name or _result_type(instruction)
            self._records.append(Record(instruction, kind or instruction.parts[0], made, operands, of))

    # -- copies ----------------------------------------------------------------------------------------------

    def _granules_of(self, operand: PtxOperand, threads: Threads, bits: int) -> list[Hashes]:
        """The histories of an operand's granules; registers of a vector follow each other."""
        result: list[Hashes] = []
        items = operand.items if isinstance(operand, Vector) else (operand,)
        for item in items:
            if isinstance(item, Register):
                result += self._parts(item.index, threads, self._count(item))
            else:
                count = max(bits // len(items) // 8 // self.granule, 1)
                result += [threads.constant(0, np.dtype(np.uint64))] * count
        return result

    def _moved(self, instruction: PtxInstruction, threads: Threads) -> None:
        destination, source = instruction.operands
        bits = type_bits(instruction.parts[-1]) or 32
        if (
            isinstance(destination, Register)
            and isinstance(source, Register)
            and source.index not in self._split
        ):
            self._write(destination.index, threads, self._whole(source.index, threads))
            return
        parts = self._granules_of(source, threads, bits)
        targets = destination.items if isinstance(destination, Vector) else (destination,)
        each = len(parts) // len(targets)
        for number, target in enumerate(targets):
            if isinstance(target, Register):
                self._set(target.index, threads, parts[number * each : number * each + each])

    def _moved_bytes(self, instruction: PtxInstruction, threads: Threads) -> bool:
        """Conversions, shifts and selections that only move whole granules; False for others."""
        name, *qualifiers = instruction.parts
        destination, *sources = instruction.operands
        if not isinstance(destination, Register) or not isinstance(sources[0], Register):
            return False
        count, zero = self._count(destination), threads.constant(0, np.dtype(np.uint64))
        if name == "cvt":
            to, origin = qualifiers[-2:] if len(qualifiers) >= 2 else ("", "")
            if not (_INTEGER.fullmatch(to) and _INTEGER.fullmatch(origin)) or "sat" in qualifiers:
                return False
            wide, narrow = type_bits(to) or 32, type_bits(origin) or 32
            if (narrow < wide and origin[0] == "s") or min(wide, narrow) < 8 * self.granule:
                return False
            if wide < 8 * self.granule * count and to[0] == "s":
                return False
            parts = self._parts(sources[0].index, threads, self._count(sources[0]))
            kept = min(wide, narrow) // 8 // self.granule
            self._set(destination.index, threads, [*parts[:kept], *[zero] * (count - kept)])
            return True
        if name == "prmt":
            selector = sources[2]
            if not isinstance(selector, Immediate) or selector.value & 0x8888 or len(qualifiers) != 1:
                return False
            nibbles = [selector.value >> 4 * byte & 7 for byte in range(4)]
            firsts = nibbles[:: self.granule]
            if any(nibbles[place * self.granule + step] != first + step or first % self.granule
                   for place, first in enumerate(firsts) for step in range(self.granule)):  # fmt: skip
                return False
            parts = [part for source in sources[:2] for part in self._granules_of(source, threads, 32)]
            self._set(destination.index, threads, [parts[first // self.granule] for first in firsts])
            return True
        if name == "or":
            return False
        amount = sources[1]
        if not isinstance(amount, Immediate) or count == 1:
            return False
        parts = self._parts(sources[0].index, threads, count)
        unit = 8 * self.granule
        if name == "and":
            masks = [amount.value >> unit * part & (1 << unit) - 1 for part in range(count)]
            if any(mask not in (0, (1 << unit) - 1) for mask in masks):
                return False
            self._set(
                destination.index,
                threads,
                [part if mask else zero for part, mask in zip(parts, masks, strict=True)],
            )
            return True
        if amount.value % unit or not 0 < amount.value < unit * count or qualifiers[-1][0] == "s":
            return False
        steps = amount.value // unit
        shifted = [zero] * steps + parts[:-steps] if name == "shl" else parts[steps:] + [zero] * steps
        self._set(destination.index, threads, shifted)
        return True

    def _shuffled(self, instruction: PtxInstruction, threads: Threads) -> None:
        destination, source, b, c, *_ = instruction.operands
        numbers = []
        for operand in (b, c):
            if isinstance(operand, Register):
                if operand.index in self._live:
                    raise self._unfollowed(instruction, "a shuffle whose lane comes from data")
                numbers.append(self._values(operand.index, threads))
            else:
                assert isinstance(operand, Immediate)
                numbers.append(np.full(threads.count, operand.value))
        mode = next((part for part in instruction.parts if part in ("up", "down", "bfly")), "idx")
        lanes, _ = shuffle_lanes(mode, threads.take(self._batch.lane), *numbers)
        target, *others = pair_of(destination)
        indices = threads.indices - threads.take(self._batch.lane) + lanes
        assert isinstance(source, Register)
        count = self._split.get(source.index, 1)
        parts = [threads.spread(part)[indices] for part in self._parts(source.index, threads, count)]
        if isinstance(target, Register):
            self._set(target.index, threads, parts)
        for other in others:
            if isinstance(other, Register):
                self._write(other.index, threads, None)

    def _moved_matrix(self, instruction: PtxInstruction, threads: Threads) -> None:
        form = form_of(instruction)
        assert isinstance(form, Transfer)
        destination, source = (items_of(operand) for operand in instruction.operands)
        order = _granules(form, self.granule)
        parts = [part for item in source for part in self._granules_of(item, threads, 32)]
        taken = np.stack(parts, axis=-1).reshape(-1, order.size)[:, order.reshape(-1)]
        self._set_matrix(destination, threads, taken)

    def _set_matrix(self, targets: Sequence[PtxOperand], threads: Threads, granules: Hashes) -> None:
        """Set the registers of whole warps, [warps, lanes * granules]."""
        columns = granules.reshape(threads.count, len(targets), -1)
        for number, target in enumerate(targets):
            if isinstance(target, Register):
                parts = [np.ascontiguousarray(columns[:, number, part]) for part in range(columns.shape[2])]
                self._set(target.index, threads, parts)

    def _reduced(self, instruction: PtxInstruction, threads: Threads) -> None:
        """`redux`, `vote` and `match`: what the lanes of a warp have together."""
        destination, source, *_ = instruction.operands
        hashes, _ = self._operand(source, threads)
        hashes = np.broadcast_to(hashes, (threads.count,))
        kind = next((part for part in instruction.parts if part in _UNITED), "")
        key = key_of(".".join(part for part in instruction.parts if part != "sync"))
        if kind and instruction.parts[0] == "redux":
            type_name = instruction.parts[-1]
            key = SUM if kind == "add" else key_of(f"{kind} {type_name}")
            terms = addends(hashes) if kind == "add" else members(key, hashes)
        else:
            terms = mixed(hashes + threads.take(self._batch.lane).astype(np.uint64) * BYTE)
        rows = threads.spread(terms).reshape(-1, 32).sum(axis=1, dtype=np.uint64)
        totals = joined(key, rows)[threads.indices >> 5]
        if instruction.parts[0] == "match":
            totals = mixed(totals + hashes)
        self._record(instruction, totals, [hashes], threads)
        for target in pair_of(destination):
            if isinstance(target, Register):
                self._write(target.index, threads, totals)

    # -- memory ----------------------------------------------------------------------------------------------

    def _shadow(self, access: BufferAccess, make: bool) -> Hashes | None:
        """The histories of a buffer's granules; None if it has none and `make` is false."""
        address = access.data.ctypes.data
        known = (self._local if access.buffer is None else self._global).get(address)
        if known is not None:
            return known
        array = self._arrays.get(address) if access.buffer is not None else None
        if array is not None:
            return self._array_shadow(address, array, access.data.size)
        if not make:
            return None
        store = self._local if access.buffer is None else self._global
        store[address] = np.zeros(-(-access.data.size // self.granule), dtype=np.uint64)
        return store[address]

    def _array_shadow(self, address: int, array: InputArray, size: int) -> Hashes:
        """The histories of an array of the caller: at first, each element is a leaf."""
        if address not in self._global:
            with np.errstate(all="ignore"):
                elements = leaves(array.name, array.count, array.row)
                steps = np.arange(0, array.itemsize, self.granule).astype(np.uint64) * BYTE
                granules = (elements[:, None] + steps).reshape(-1)
            self._global[address] = granules
        return self._global[address]

    def shadow_of(self, address: int) -> Hashes:
        """The histories of an array's granules, when all blocks have run."""
        array = self._arrays[address]
        return self._array_shadow(address, array, array.itemsize * array.count)

    def fingerprints(self, address: int, values: NDArray[Any]) -> Hashes:
        """The histories of an array's elements, when all blocks have run and left these values."""
        size = self._arrays[address].itemsize
        with np.errstate(all="ignore"):
            granules = self.shadow_of(address).reshape(-1, size // self.granule)
            words = np.ascontiguousarray(values).reshape(-1).view(UNSIGNED[8 * self.granule])
            parts = [granules[:, number] for number in range(granules.shape[1])]
            hashes = self._combined(parts, lambda part: words[part :: len(parts)])
            whole = np.ascontiguousarray(values).reshape(-1).view(UNSIGNED[8 * size])
            hashes = np.where(hashes == 0, of_values(whole), hashes)
        return hashes.reshape(values.shape) if hashes.size == values.size else hashes

    def accessed(self, access: Access) -> None:
        """Loads and stores copy histories."""
        instruction, parts = access.instruction, access.instruction.parts
        name = parts[0]
        if name in ("mbarrier", "fence", "tensormap", "clusterlaunchcontrol") or parts[:3] == (
            "cp",
            "async",
            "mbarrier",
        ):
            return
        if name == "cp" and "bulk" in parts and access.proxy != "async":
            return  # an update of an mbarrier
        for part in access.buffer_accesses:
            if access.kind == "atomic" and name in ("atom", "red"):
                self._updated(access, part)
            elif name in ("ld", "ldu"):
                self._loaded(access, part)
            elif name == "st":
                self._stored(access, part)
            elif name == "wgmma":
                continue
            elif name in ("ldmatrix", "wmma") and access.kind == "read":
                self._loaded_rows(access, part)
            elif name in ("stmatrix", "wmma"):
                self._stored_rows(access, part)
            elif name == "cp" and "tensor" in parts and "reduce" not in parts:
                self._boxes.append(part.offsets)
            elif name == "cp" and "reduce" not in parts:
                self._copied(access, part)
            elif self._shadow(part, make=False) is not None:
                raise self._unfollowed(instruction, f"{instruction.opcode} of data")

    def _gathered(self, part: BufferAccess, width: int) -> list[Hashes] | None:
        """The histories of the granules that are read at each offset."""
        shadow = self._shadow(part, make=False)
        if shadow is None:
            return None
        if width % self.granule:
            raise PtxlabError(f"an access of {width} bytes: histories are kept for {self.granule} bytes here")
        first = part.offsets // self.granule
        return [shadow[first + step if step else first] for step in range(width // self.granule)]

    def _some(self, part: BufferAccess) -> Threads:
        """The threads of an access, each of which occurs once."""
        if len(part.threads) == self._batch.size:
            return self._batch_all
        return Threads(self._batch, part.threads)

    def _loaded(self, access: Access, part: BufferAccess) -> None:
        instruction = access.instruction
        items = items_of(instruction.operands[0])
        granules = self._gathered(part, access.width)
        threads = self._some(part)
        if granules is None:
            for item in items:
                if isinstance(item, Register):
                    self._write(item.index, threads, None)
            return
        each, zero = len(granules) // len(items), threads.constant(0, np.dtype(np.uint64))
        for number, item in enumerate(items):
            if not isinstance(item, Register):
                continue
            parts = granules[number * each : number * each + each]
            count = self._count(item)
            if count > each and instruction.parts[-1][0] == "s":
                value = self._combined(parts, lambda _: np.zeros(threads.count, dtype=np.uint8))
                extended = mixed(value + key_of(f"extended {instruction.parts[-1]}"))
                self._write(item.index, threads, np.where(value == 0, np.uint64(0), extended))
            else:
                self._set(item.index, threads, [*parts, *[zero] * (count - each)])

    def _stored(self, access: Access, part: BufferAccess) -> None:
        instruction, count = access.instruction, access.width // self.granule
        zeros = np.zeros(len(part.threads), dtype=np.uint64)
        granules: list[Hashes] = []
        if "bulk" in instruction.parts:
            granules = [zeros] * count
        else:
            threads, items = self._some(part), items_of(instruction.operands[1])
            for item in items:
                each = count // len(items)
                if isinstance(item, Register):
                    granules += self._parts(item.index, threads, max(self._count(item), each))[:each]
                else:
                    granules += [zeros] * each
        self._scatter(part, granules)

    def _scatter(self, part: BufferAccess, granules: Sequence[Hashes]) -> None:
        """Write the histories of neighbouring granules at each offset."""
        if part.buffer is not None:
            self.written.add(part.data.ctypes.data)
        shadow = self._shadow(part, make=any(hashes.any() for hashes in granules))
        if shadow is None:
            return
        first = part.offsets // self.granule
        for step, hashes in enumerate(granules):
            shadow[first + step] = hashes

    def _copied(self, access: Access, part: BufferAccess) -> None:
        """`cp.async` and bulk copies of rows: what is read is written next."""
        instruction, count = access.instruction, access.width // self.granule
        if access.kind == "read":
            granules = self._gathered(part, access.width)
            if granules is not None:
                self._stash.append((instruction, part.threads, np.stack(granules, axis=-1)))
            return
        stash, self._stash = self._stash, []
        rows = np.zeros((len(part.offsets), count), dtype=np.uint64)
        in_turn = bool((np.diff(part.threads) > 0).all())
        for _, threads, hashes in stash:
            if hashes.shape[1] != count or not (in_turn or len(threads) == len(rows)):
                raise self._unfollowed(instruction, "copies of parts of elements or to several blocks")
            if len(threads) == len(rows):
                rows = hashes
            else:
                rows[np.searchsorted(part.threads, threads)] = hashes
        self._scatter(part, [rows[:, step] for step in range(count)])

    def copied(
        self, instruction: PtxInstruction, tensor: TensorMap, starts: NDArray[np.int64], kind: str
    ) -> None:
        """TMA: boxes between an array and shared memory."""
        array = tensor.array
        plain = isinstance(array, np.ndarray) and array.flags.c_contiguous
        if (
            not plain
            or isinstance(tensor, Im2colMap)
            or "reduce" in instruction.parts
            or len(self._boxes) != 1
            or (len(self._boxes[0]) != len(starts) and len(starts) != 1)
        ):
            self._boxes = []
            raise self._unfollowed(instruction, "boxes of im2col, of reductions or of several maps")
        places, self._boxes = self._boxes[0], []
        address = array.ctypes.data
        if address not in self._arrays:
            raise self._unfollowed(instruction, "a tensor map of an array that is no argument")
        shadow = self.shadow_of(address)
        if kind == "write":
            self.written.add(address)
        shared = self._machine.memory.shared
        key = shared.ctypes.data
        if key not in self._local:
            self._local[key] = np.zeros(-(-shared.size // self.granule), dtype=np.uint64)
        beside = self._local[key]
        per_element = max(array.itemsize // self.granule, 1)
        pitch = self._machine.memory.shared_pitch
        numbers = np.arange(array.size).reshape(array.shape)
        steps = np.array(array.strides) // array.itemsize
        if len(places) != len(starts):  # a store that reaches beyond the array is read element by element
            index, _ = elements_inside(tensor, starts[0].tolist(), 0)
            elements, granules = numbers[index].reshape(-1) * per_element, places // self.granule
            for step in range(per_element):
                shadow[elements + step] = beside[granules + step]
            return
        for start, place in zip(starts.tolist(), places.tolist(), strict=True):
            key_of_box = id(tensor), place % pitch
            last = [first + count for first, count in zip(start, tensor.box, strict=True)]
            inside = min(start) >= 0 and not any(np.greater(last, array.shape))
            if inside and key_of_box in self._whole_boxes:  # as the same box elsewhere
                elements, offsets = self._whole_boxes[key_of_box]
                elements = elements + int(steps @ start) * per_element
            else:
                index, offsets = elements_inside(tensor, start, place % pitch)
                elements = numbers[index].reshape(-1) * per_element
                if inside:
                    relative = elements - int(steps @ start) * per_element
                    self._whole_boxes[key_of_box] = relative, offsets
            granules = (place + offsets.reshape(-1)) // self.granule
            if kind == "read":
                box = np.arange(place // self.granule, (place + tensor.size) // self.granule)
                beside[box] = 0
            for step in range(per_element):
                if kind == "read":
                    beside[granules + step] = shadow[elements + step]
                else:
                    shadow[elements + step] = beside[granules + step]

    def _loaded_rows(self, access: Access, part: BufferAccess) -> None:
        """`ldmatrix` and `wmma.load`: rows into the registers of whole warps."""
        instruction = access.instruction
        form = form_of(instruction)
        assert isinstance(form, Transfer)
        warps = np.unique(part.threads >> 5)
        threads = Threads(self._batch, (warps[:, None] * 32 + np.arange(32)).reshape(-1))
        granules = self._gathered(part, access.width)
        targets = items_of(instruction.operands[0])
        if granules is None:
            for target in targets:
                if isinstance(target, Register):
                    self._write(target.index, threads, None)
            return
        order = _granules(form, self.granule)
        rows = np.stack(granules, axis=-1).reshape(len(warps), -1)
        self._set_matrix(targets, threads, rows[:, order.reshape(-1)])

    def _stored_rows(self, access: Access, part: BufferAccess) -> None:
        """`stmatrix` and `wmma.store`: the registers of whole warps into rows."""
        instruction = access.instruction
        form = form_of(instruction)
        assert isinstance(form, Transfer)
        warps = np.unique(part.threads >> 5)
        threads = Threads(self._batch, (warps[:, None] * 32 + np.arange(32)).reshape(-1))
        order = _granules(form, self.granule)
        items = items_of(instruction.operands[1])
        parts = [hashes for item in items for hashes in self._granules_of(item, threads, 32)]
        rows = np.stack(parts, axis=-1).reshape(len(warps), -1)[:, order.reshape(-1)]
        rows = rows.reshape(len(part.offsets), -1)
        self._scatter(part, [rows[:, step] for step in range(rows.shape[1])])

    def _updated(self, access: Access, part: BufferAccess) -> None:
        """`atom` and `red`: a set of terms; what a thread reads back depends on the order."""
        instruction = access.instruction
        name, *qualifiers = instruction.parts
        operands = list(instruction.operands if name == "red" else instruction.operands[1:])
        kind = next((part_ for part_ in qualifiers if part_ in (*_UNITED, "inc", "dec", "exch", "cas")), "")
        type_name = qualifiers[-1]
        threads = self._some(part)
        values = items_of(operands[1])
        if len(values) > 1 or (name == "atom" and isinstance(instruction.operands[0], Vector)):
            raise self._unfollowed(instruction, "atomic operations on vectors")
        found = [
            self._operand(operand, threads, type_bits(type_name) or 64)
            for operand in (values[0], *operands[2:3])
        ]
        is_data = any(none is not True for _, none in found)
        if part.buffer is not None:
            self.written.add(part.data.ctypes.data)
        adds_floats = kind == "add" and _INTEGER.fullmatch(type_name) is None
        shadow = self._shadow(part, make=is_data or adds_floats)
        destination = None if name == "red" else instruction.operands[0]
        if shadow is None:
            if isinstance(destination, Register):
                self._write(destination.index, Threads(self._batch, part.threads), None)
            return
        term = np.broadcast_to(found[0][0], (threads.count,))
        count = max(access.width // self.granule, 1)
        first = part.offsets // self.granule
        places, which, times = np.unique(first, return_inverse=True, return_counts=True)
        words = part.data[: part.data.size // access.width * access.width].view(UNSIGNED[8 * access.width])

        def value(step: int) -> NDArray[Any]:
            word = np.ascontiguousarray(words[places * self.granule // access.width])
            return word.view(UNSIGNED[8 * min(self.granule, access.width)])[step::count]

        old = self._combined([shadow[places + step] for step in range(count)], value)
        old = np.where(old == 0, of_values(words[places * self.granule // access.width]), old)
        integer = _INTEGER.fullmatch(type_name) is not None
        key = SUM if integer and kind == "add" else key_of(f"{kind} {type_name}")
        free = kind not in _UNITED or (not integer and kind == "add")
        if free and kind == "add":
            key = self._key(instruction)
        if free:
            updates = self._updates.setdefault(part.data.ctypes.data, np.zeros(len(shadow), dtype=np.uint8))
            counted = np.minimum(updates[places].astype(np.int64) + times, 2)
            if (counted > 1).any():
                self.note("order", instruction)
            updates[places] = counted
        if isinstance(destination, Register) and id(instruction) not in self._plans.blind_updates:
            self.note("order", instruction)
            read = mixed(old + self._key(instruction))[which]
            self._write(destination.index, Threads(self._batch, part.threads), read)
        if kind in _UNITED:
            own = addends if key == SUM else partial(members, key)
            totals = own(old)
            np.add.at(totals, which, own(term))
            new = joined(key, totals)
        else:
            new = old
            for indices in np.argsort(which, kind="stable").tolist():
                new[which[indices]] = in_order(key, [new[which[indices]], term[indices]])
        if self._seen is not None:
            self._seen.look(old, lambda: words[places * self.granule // access.width])
        self._record(instruction, new, [old, term, which], threads, "atomic")
        for step, hashes in enumerate(self._spread(new, count)):
            shadow[places + step] = hashes

    # -- matrices --------------------------------------------------------------------------------------------

    def multiplied(self, instruction: PtxInstruction, operands: MatrixInputs, threads: Threads) -> None:
        """Matrix products: terms that the chip adds in one step are a set, the steps follow each other."""
        form = operands.ins
        if not isinstance(form, Instruction):
            raise self._unfollowed(instruction, instruction.opcode)
        assert isinstance(operands, RegisterOperands | WarpgroupOperands | Operation)
        modifiers = operands.modifiers
        group = 128 if instruction.parts[0] == "wgmma" else 32
        d, a, b, *others = instruction.operands
        flow = self._plans.flow(instruction)
        if group == 32 and self._live.isdisjoint(flow.touched):
            return
        with np.errstate(all="ignore"):
            if group == 32:
                left = self._matrix(items_of(a), operands, "a", threads, group)
                right = self._matrix(items_of(b), operands, "b", threads, group)
                c = self._matrix(items_of(others[0]), operands, "c", threads, group)
                rest = [item for operand in others[1:] for item in items_of(operand)]
            else:
                left = (
                    self._matrix(a.items, operands, "a", threads, group)
                    if isinstance(a, Vector)
                    else self._tile(instruction, form, "a", a, threads)
                )
                right = self._tile(instruction, form, "b", b, threads)
                if modifiers.scale_d:
                    c = self._matrix(items_of(d), operands, "c", threads, group)
                rest = others[:1] if form.e is not None else []
            if not modifiers.scale_d:
                zero = of_values(np.zeros(1, dtype=np.uint8))[0]
                c = np.full((len(left), *form.d.shape), zero)
            total, groups = self._products(form, modifiers, left, right, c, rest, threads, group)
            if self._records is not None:
                record = Record(instruction, "matrix", total, [left, right, c], form.d_type, groups)
                self._records.append(record)
            if self._seen is not None and self._seen.opened:
                self._open(operands, total)
            self._set_product(items_of(d), form.d, threads, total)

    def _open(self, operands: MatrixInputs, total: Hashes) -> None:
        """Keep what a product reads that makes one of the histories in `opened`."""
        assert self._seen is not None
        hits = np.isin(total, np.fromiter(self._seen.opened, np.uint64, len(self._seen.opened)))
        for warp, row, column in np.argwhere(hits).tolist():
            history = int(total[warp, row, column])
            if history not in self._seen.operations:
                self._seen.operations[history] = operands.item(warp), row, column

    def _products(
        self, form: Instruction, modifiers: Any, left: Hashes, right: Hashes, c: Hashes,
        rest: Sequence[PtxOperand], threads: Threads, group: int,
    ) -> tuple[Hashes, list[range]]:  # fmt: skip
        """The histories of D, and the groups of K that are added in one step."""
        rule = model_of(form, self._model).rule
        types = f"{'*'.join(sorted((form.a_type, form.b_type)))} {form.c_type} {form.d_type}"
        signs = modifiers.imm_scale_a * modifiers.imm_scale_b
        plain = form.structure is None and form.scale_a is None and form.mma_count == 1 and not form.bit_op
        k = left.shape[-1]
        if plain and isinstance(rule, Exact) and not form.satfinite:
            pairs = key_of(f"product {types}")
            return joined(SUM, addends(c) + np.matmul(left + pairs, right + pairs)), [range(k)]
        if plain and isinstance(rule, FmaChain):
            key = key_of(f"fma.{form.rounding or 'rn'}.f64".replace(".rn", ""))
            for column in range(k):
                pair = product(key, left[..., :, column, None], right[..., None, column, :])
                c = in_order(key, [pair, c])
            return c, [range(column, column + 1) for column in range(k)]
        if plain and isinstance(rule, Fused):
            key = key_of(f"{types} {rule.alignment} {signs}")
            depth = rule.depth or k
            groups = [range(first, min(first + depth, k)) for first in range(0, k, depth)]
            for columns in groups:
                part = slice(columns.start, columns.stop)
                pairs = np.matmul(left[..., part] + key, right[..., part, :] + key)
                c = in_order(key, [pairs, c])
            return c, groups
        if plain and isinstance(rule, EmulatedThroughF16):
            key = key_of(f"{types} {rule.step.alignment} {signs}")
            total: Any = of_values(np.zeros(1, dtype=np.uint8))[0]
            upper = np.arange(k) // 2 % 2 == 1
            for half in (~upper, upper):
                total = in_order(key, [np.matmul(left[..., half] + key, right[..., half, :] + key), total])
            kind = key_of(f"add.{form.d_type}")
            return mixed(product(kind, total, c)), [range(k)]
        key = key_of(f"{form.mnemonic} {rule} {modifiers}")
        places = np.arange(1, k + 1, dtype=np.uint64) * BYTE | np.uint64(1)
        rows = mixed((left * places[: left.shape[-1]]).sum(axis=-1, dtype=np.uint64))
        some = np.arange(1, right.shape[-2] + 1, dtype=np.uint64) * BYTE | np.uint64(1)
        columns_ = mixed((right * some[:, None]).sum(axis=-2, dtype=np.uint64))
        more = np.zeros((len(left), 1, 1), dtype=np.uint64)
        for item in rest:
            hashes, _ = self._operand(item, threads)
            lanes = np.broadcast_to(hashes, (threads.count,)).reshape(-1, group)
            weights = np.arange(1, group + 1, dtype=np.uint64) * BYTE | np.uint64(1)
            more = mixed(more + (lanes * weights).sum(axis=1, dtype=np.uint64)[:, None, None])
        if form.mma_count > 1:  # stacked: which columns belong to which rows is left to the whole
            whole = mixed(columns_.sum(axis=-1, dtype=np.uint64))[:, None, None]
            return in_order(key, [rows[:, :, None], whole, c, more]), [range(k)]
        return in_order(key, [rows[:, :, None], columns_[:, None, :], c, more]), [range(k)]

    def _matrix(
        self, items: Sequence[PtxOperand], inputs: MatrixInputs, name: str, threads: Threads, group: int
    ) -> Hashes:
        """The histories of a matrix in registers, [warps, rows, columns].

        D may have been written over C by now, so that values are those of the event.
        """
        operand: Operand = getattr(inputs.ins, name)
        bits = operand.dtype.bits

        def words(number: int) -> NDArray[Any]:
            if isinstance(inputs, RegisterOperands):
                return threads.take(values_of(inputs.registers[name][number]))
            if isinstance(inputs, WarpgroupOperands):
                inputs_now = inputs.computed()
                return np.ascontiguousarray(getattr(inputs_now, name)[..., number]).reshape(-1)
            return np.ascontiguousarray(getattr(inputs, name)[..., number]).reshape(-1)

        columns = [
            history
            for number, item in enumerate(items)
            for history, _ in self._elements(item, threads, bits, partial(words, number))
        ]
        stacked = np.empty((threads.count, len(columns)), dtype=np.uint64)
        for number, column in enumerate(columns):
            stacked[:, number] = column
        return stacked.reshape(-1, group * len(columns))[:, _places_of(operand)].reshape(-1, *operand.shape)

    def _set_product(
        self, items: Sequence[PtxOperand], operand: Operand, threads: Threads, total: Hashes
    ) -> None:
        assert operand.layout is not None
        coordinates = operand.layout.coords()
        elements = total[:, coordinates[..., 0], coordinates[..., 1]].reshape(threads.count, len(items), -1)
        count = operand.dtype.bits // 8 // self.granule
        for number, item in enumerate(items):
            if not isinstance(item, Register):
                continue
            columns = [np.ascontiguousarray(elements[:, number, place]) for place in range(elements.shape[2])]
            if len(columns) == 1:
                self._write(item.index, threads, columns[0])
            else:
                self._write_parts(
                    item.index, threads, [part for column in columns for part in self._spread(column, count)]
                )

    def _tile(
        self,
        instruction: PtxInstruction,
        form: Instruction,
        name: str,
        descriptor: PtxOperand,
        threads: Threads,
    ) -> Hashes:
        """The histories of a tile in shared memory, as `wgmma` reads it."""
        operand = form.a if name == "a" else form.b
        memory, bits = self._machine.memory, operand.dtype.bits
        beside = self._local.get(memory.shared.ctypes.data)
        others = list(instruction.operands[5 if form.e is not None else 3 :])
        flags = trailing_constants(form, others[1:], instruction)
        tile = OperandTile(_nothing, operand, bool(flags.get(f"imm_trans_{name}")), 1 if name == "a" else 0)
        if not isinstance(descriptor, Register):
            raise self._unfollowed(instruction, "a descriptor that is no register")
        codes = self._values(descriptor.index, threads).reshape(-1, 128)[:, 0]
        result = np.empty((threads.count // 128, *operand.shape), dtype=np.uint64)
        per_chunk = 16 // self.granule
        for code in np.unique(codes).tolist():
            chosen = np.flatnonzero(codes == code)
            blocks = threads.blocks[::128][chosen]
            chunks = (blocks[:, None] * memory.shared_pitch + tile_places(tile, code)[3]) >> 4
            bytes_ = memory.shared.view(np.complex128)[chunks].view(np.uint8)
            if beside is None:
                granules = np.zeros((len(chosen), chunks.shape[1] * per_chunk), dtype=np.uint64)
            else:
                granules = beside[
                    (chunks[..., None] * per_chunk + np.arange(per_chunk)).reshape(len(chosen), -1)
                ]
            count = bits // 8 // self.granule
            if count > 1:
                parts = [granules[:, part::count] for part in range(count)]
                words = [bytes_.view(UNSIGNED[8 * self.granule])[:, part::count] for part in range(count)]
                granules = self._combined(parts, words.__getitem__)
            values = bytes_.view(UNSIGNED[bits])
            if self._seen is not None:
                self._seen.look(granules.reshape(-1), values.reshape(-1).copy)
            if not granules.all():
                granules = np.where(granules == 0, of_values(values), granules)
            rows, columns = operand.shape
            if tile.inner == 1:
                result[chosen] = granules.reshape(-1, rows, columns)
            else:
                result[chosen] = np.swapaxes(granules.reshape(-1, columns, rows), 1, 2)
        return result

    def end(self) -> None:
        """The histories of registers and shared memory end with the batch."""
        self._local = {}
        del self._machine


def _result_type(instruction: PtxInstruction) -> str:
    """The type of an instruction's result, as its qualifiers say."""
    name, *qualifiers = instruction.parts
    if name in ("setp", "testp") or not qualifiers:
        return "pred"
    if name in ("cvt", "set", "slct") and len(qualifiers) > 1:
        return qualifiers[-2]
    if "wide" in qualifiers:
        return {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}[qualifiers[-1]]
    return qualifiers[-1]


def _nothing(*_: object) -> NDArray[Any]:
    """The reader of a tile's descriptor, which is read elsewhere here."""
    raise AssertionError


@lru_cache(maxsize=256)
def _places_of(operand: Operand) -> NDArray[np.int64]:
    """Where each element of a matrix is among the lanes' elements, row by row."""
    assert operand.layout is not None
    coordinates = operand.layout.coords()
    flat = coordinates[..., 0] * operand.shape[1] + coordinates[..., 1]
    places = np.zeros(operand.shape[0] * operand.shape[1], dtype=np.int64)
    places[flat.reshape(-1)] = np.arange(flat.size)
    return places
