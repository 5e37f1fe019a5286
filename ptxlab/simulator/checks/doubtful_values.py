"""Doubtful values: those of registers and memory that nobody wrote, and those that a load in a race returns.

As with undefined values in Valgrind, they may be copied and computed with. They are reported once they
matter: they decide a branch or whether something is stored, are an address, are printed, or are handed back
to the caller. The taint spreads, lane by lane, to what is computed from them, to bytes that they are stored
to, and to registers that a doubtful branch chooses, if it does nothing else. Usually nothing is tainted, and
nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...isa.operand import MatrixOperand, Operand
from ..events import Access, BufferAccess, Inspection, MatrixInputs, Observer
from ..hazard import HazardLog, Violation, line_text
from ..instructions.warps import shuffle_lanes
from ..launch_threads import Batch, Threads
from ..ptx.opcode_sets import COPY_VALUES, DECIDE, MERGE_BITS, WARP_WIDE
from ..ptx.syntax import (
    Immediate,
    PtxInstruction,
    PtxOperand,
    Register,
    registers_of,
)
from .logical_time import LogicalTime
from .module_plans import Flow, LoadUses, ModulePlans

_Taints = NDArray[np.int32]  # for each lane of the batch the number of an origin, or 0
#: Makes the violation of only those threads in which a doubtful value matters, in the order given.
Account = Callable[[NDArray[Any]], Violation]


@dataclass
class _Origin:
    """Where a doubtful value comes from, and the violation to report once it matters."""

    violation: Violation | None  # None for an unwritten register that nothing has computed with
    threads: NDArray[np.bool_]
    account: Account | None = None
    stored: PtxInstruction | None = None  # the instruction that stored it to global memory
    storers: NDArray[np.bool_] | None = None  # the warps that executed it


#: Of several origins the one with the highest number is reported: one that needs a barrier of the block.
_MORE_THAN_A_WARP = 1 << 24


class DoubtfulValues(Observer):
    """Follows values that nobody should use, and reports those that matter."""

    def __init__(self, report: HazardLog, plans: ModulePlans, time: LogicalTime) -> None:
        self._report = report
        self._plans = plans
        self._time = time
        self._machine: Inspection | None = None

    def attach(self, machine: Inspection) -> None:
        """Keep the machine, whose registers say which operand a `selp` chooses."""
        self._machine = machine

    def begin(self, batch: Batch) -> None:
        """Nothing is doubtful in new blocks."""
        self._batch = batch
        self._origins: dict[int, _Origin] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._live: dict[str, dict[int, _Taints]] = {}  # by function and register
        self._memory: dict[int, tuple[BufferAccess, _Taints]] = {}  # by id of the array of bytes
        self._reported: set[tuple[int, int]] = set()
        self._watched: set[int] = set()
        #: By id of an instruction: taints of the branch that decides whether threads execute it.
        self._decided_about: dict[int, _Taints] = {}
        #: When threads last used values of loads that may not matter, by id of the instruction that uses
        #: them: they executed it, or the value decided whether they do.
        self._used: dict[int, NDArray[np.int64]] = {}
        self._decided: dict[int, NDArray[np.int64]] = {}

    def end(self) -> None:
        """Doubtful values in arrays of the caller, and in variables of the module, are handed back."""
        for buffer_access, taints in self._memory.values():
            if buffer_access.buffer is None or buffer_access.buffer.owner == "runtime":
                continue
            for number in _origins_in(taints):
                origin = self._origins[number]
                if origin.stored is not None and origin.storers is not None:
                    lanes = np.flatnonzero(np.repeat(origin.storers, 32))  # shuffles may have moved it
                    self._report_use(number, lanes, origin.stored, "hands it back in global memory")
        self._machine = None
        self._memory, self._live, self._origins = {}, {}, {}  # accounts refer back to the checks

    # -- origins ---------------------------------------------------------------------------------------------

    def _origin(
        self,
        key: tuple[Any, ...],
        threads: NDArray[Any],
        violation: Violation | None = None,
        account: Account | None = None,
    ) -> int:
        """The number of an origin, which may be known already, with other threads."""
        number = self._numbers.get(key)
        if number is None:
            number = len(self._origins) + 1
            if violation is not None and violation.barrier == "block":
                number += _MORE_THAN_A_WARP
            nobody = np.zeros(self._batch.size, dtype=np.bool_)
            self._numbers[key], self._origins[number] = number, _Origin(violation, nobody, account)
        self._origins[number].threads[threads] = True
        return number

    def doubt(self, violation: Violation, account: Account | None = None) -> None:
        """Threads load what they should not use; the violation is reported once the value matters."""
        instruction, threads = violation.instruction, violation.threads
        key = (violation.kind, id(instruction), id(violation.other), violation.remedy)
        number = self._origin(key, threads, violation, account)
        flow = self._plans.flow(instruction)
        for register, lanes in _destinations(instruction, flow, threads):
            self._mark(flow.function, register, lanes, np.int32(number))

    def watch(self, uses: LoadUses) -> None:
        """From now on, record which threads use the value of a load."""
        if id(uses) in self._watched:
            return
        self._watched.add(id(uses))
        for times_of_uses, keys in ((self._used, uses.uses), (self._decided, uses.decisions)):
            for key in keys:
                times_of_uses.setdefault(key, np.zeros(self._batch.size, dtype=np.int64))

    def were_used(self, uses: LoadUses, threads: NDArray[Any], times: NDArray[Any]) -> bool:
        """Whether one of the threads has used the value of a load after a time, each its own."""
        used = [*(self._used[key] for key in uses.uses), *(self._decided[key] for key in uses.decisions)]
        return any(bool((last_use[threads] > times).any()) for last_use in used)

    def doubt_unused(
        self, uses: LoadUses, threads: NDArray[Any], violation: Violation, account: Account
    ) -> None:
        """Threads hold a loaded value that they should not use: another thread has just overwritten it."""
        key = (violation.kind, id(violation.instruction), id(violation.other), violation.remedy, "unused")
        number = self._origin(key, threads, violation, account)
        for register in uses.registers:
            self._mark(uses.function, register, threads, np.int32(number))

    def _live_registers(self, function: str) -> dict[int, _Taints]:
        """The doubtful registers of a function: at first those that it may read before it writes them."""
        live = self._live.get(function)
        if live is not None:
            return live
        live = self._live[function] = {}
        for register in self._plans.functions[function].unwritten:
            number = self._origin((function, register), self._batch.everyone)
            live[register] = np.full(self._batch.size, number, dtype=np.int32)
        return live

    def _mark(
        self, function: str, register: int, lanes: NDArray[Any], taints: NDArray[np.int32] | np.int32
    ) -> None:
        """Lanes of a register become doubtful, in addition to what they are."""
        live = self._live_registers(function)
        if register not in live:
            live[register] = np.zeros(self._batch.size, dtype=np.int32)
        live[register][lanes] = np.maximum(live[register][lanes], taints)

    def _report_use(self, number: int, lanes: NDArray[Any], where: PtxInstruction, use: str) -> None:
        """A doubtful value is used in lanes: report it."""
        origin = self._origins[number]
        violation = origin.violation
        if violation is None or (number, id(where)) in self._reported:
            return
        self._reported.add((number, id(where)))
        guilty = lanes[origin.threads[lanes]]
        if origin.account is not None:
            violation = replace(origin.account(guilty if len(guilty) else lanes), kind=violation.kind)
        else:
            violation = replace(violation, threads=guilty if len(guilty) else np.flatnonzero(origin.threads))
        if line_text(where) != line_text(violation.instruction):
            violation = replace(violation, what=f"{violation.what}, and {line_text(where)} {use}")
        self._report.add(self._batch, violation)

    def _report_uses(self, taints: _Taints, lanes: NDArray[Any], where: PtxInstruction, use: str) -> None:
        for number in _origins_in(taints):
            self._report_use(number, lanes[taints == number], where, use)

    # -- instructions ----------------------------------------------------------------------------------------

    def guarded(self, instruction: PtxInstruction, threads: Threads) -> None:
        """A doubtful predicate decides whether threads execute an instruction."""
        if id(instruction) in self._decided:
            self._decided[id(instruction)][threads.indices] = self._time.now
        flow = self._plans.flow(instruction)
        live = self._live_registers(flow.function)
        guards = [register.index for register in registers_of(instruction.guard)]
        ours = threads.indices
        if self._decided_about and instruction.parts[0] == "bra":
            for inner in self._plans.branch_region(instruction):
                if id(inner) in self._decided_about:
                    self._decided_about[id(inner)][ours] = 0  # another time it may not be doubtful
        if not live or guards[0] not in live:
            return
        taints = self._read(live, guards[0], instruction, ours)
        doubtful = taints > 0
        if not doubtful.any():
            return
        region = self._plans.branch_region(instruction) if instruction.parts[0] == "bra" else ()
        for inner in region:
            decided = self._decided_about.setdefault(id(inner), np.zeros(self._batch.size, dtype=np.int32))
            decided[ours] = taints
            for register in self._plans.flow(inner).writes:
                self._mark(flow.function, register, ours[doubtful], taints[doubtful])
        if region:
            return
        if not flow.writes or instruction.parts[0] in ("atom", "wgmma", "mma", "ldmatrix"):
            use = "branches on it" if instruction.parts[0] in DECIDE else "is predicated on it"
            self._report_uses(taints, ours, instruction, use)
            return
        for register in flow.writes:
            self._mark(flow.function, register, ours[doubtful], taints[doubtful])

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Results are as doubtful as what they are computed from."""
        if self._used and id(instruction) in self._used:
            self._used[id(instruction)][threads.indices] = self._time.now
        flow = self._plans.flow(instruction)
        live = self._live_registers(flow.function)
        parts = instruction.parts
        if not live or live.keys().isdisjoint(flow.touched):
            return
        ours = threads.indices
        for register in flow.addresses:
            if register in live:
                taints = self._read(live, register, instruction, ours)
                self._report_uses(taints, ours, instruction, "takes an address from it")
        if parts[0] in DECIDE and not (parts[0] == "bra" and self._plans.branch_region(instruction)):
            for register in flow.reads:
                if register in live:
                    self._report_uses(
                        self._read(live, register, instruction, ours), ours, instruction, "branches on it"
                    )
        if not flow.writes or (parts[0] in ("mma", "wmma") and parts[:2] != ("wmma", "load")):
            return  # matrix products: see `multiplied`
        self._write(live, flow.writes, ours, self._result(instruction, flow, live, threads))
        decided = self._decided_about.get(id(instruction))
        if decided is not None and decided[ours].any():
            for register in flow.writes:
                self._mark(flow.function, register, ours, decided[ours])

    def _read(
        self, live: dict[int, _Taints], register: int, instruction: PtxInstruction, ours: NDArray[Any]
    ) -> _Taints:
        """How doubtful a register is that an instruction computes with, or decides by."""
        taints: _Taints = live[register][ours]
        for number in _origins_in(taints):
            origin = self._origins[number]
            if origin.violation is not None:
                continue
            lanes = ours[taints == number]
            names = self._unwritten_names(live, register, instruction, ours)
            what = f"{{who}} execute{{s}} {instruction.opcode} with {names}, never written"
            unwritten = Violation("uninitialised register", instruction, lanes, what)
            key = (id(instruction), register)
            taints[taints == number] = self._origin(key, lanes, unwritten)
        return taints

    def _unwritten_names(
        self, live: dict[int, _Taints], register: int, instruction: PtxInstruction, ours: NDArray[Any]
    ) -> str:
        """An unwritten register, and the other unwritten ones that the instruction reads."""
        names = []
        for source in dict.fromkeys((*self._plans.flow(instruction).reads, register)):
            numbers = np.unique(live[source][ours]).tolist() if source in live else []
            origins = [self._origins[number] for number in numbers if number]
            if source == register or any(origin.violation is None for origin in origins):
                names.append(self._plans.owners[id(instruction)].function.registers[source].name)
        if len(names) == 1:
            return f"register {names[0]}"
        more = f", ... ({len(names)} in all)" if len(names) > 4 else ""
        return f"registers {', '.join(names[:4])}{more}"

    def _write(
        self, live: dict[int, _Taints], registers: tuple[int, ...], ours: NDArray[Any], taints: _Taints | None
    ) -> None:
        """Lanes of registers get values with these taints; None for none."""
        tainted = taints is not None and bool(taints.any())
        for register in registers:
            if register in live:
                live[register][ours] = np.int32(0) if taints is None else taints
                if not tainted and not live[register].any():
                    del live[register]
            elif tainted and taints is not None:
                live[register] = np.zeros(self._batch.size, dtype=np.int32)
                live[register][ours] = taints

    def _result(
        self, instruction: PtxInstruction, flow: Flow, live: dict[int, _Taints], threads: Threads
    ) -> _Taints | None:
        """How doubtful the result is in each lane; None where it is not."""
        reads = [register for register in flow.reads if register in live]
        if instruction.parts[:2] == ("wgmma", "mma_async"):
            return self._accumulated(instruction, flow, live, threads)
        if not reads:
            return None
        name, ours = instruction.parts[0], threads.indices
        if name == "selp":
            return self._selected(instruction, live, ours)
        if name == "shfl":
            return self._shuffled(instruction, live, ours)
        copies = name in COPY_VALUES
        taints = {
            register: live[register][ours] if copies else self._read(live, register, instruction, ours)
            for register in reads
        }
        result: _Taints = np.maximum.reduce(list(taints.values()))
        if len(flow.reads) > 1 and not result.any():
            return None
        if name in MERGE_BITS or (
            name == "or" and self._plans.functions[flow.function].masked.issuperset(reads)
        ):
            if len(reads) < len(flow.reads):
                return None
            certain = np.logical_or.reduce([taint == 0 for taint in taints.values()])
            return np.where(certain, 0, result).astype(np.int32)
        if name in ("and", "or") and len(flow.reads) == 2:
            return self._absorbed(instruction, flow, taints, result, ours)
        if name in WARP_WIDE:
            wide = np.zeros(self._batch.size, dtype=np.int32)
            wide[ours] = result
            return np.asarray(np.repeat(wide.reshape(-1, 32).max(axis=1), 32)[ours])
        return result

    def _register_values(self, register: int, ours: NDArray[Any]) -> NDArray[Any] | None:
        values = None if self._machine is None else self._machine.reader()(register)
        return None if values is None else values[ours]

    def _taints_of(self, operand: PtxOperand, live: dict[int, _Taints], ours: NDArray[Any]) -> _Taints:
        """The taints of an operand."""
        taints = np.zeros(len(ours), dtype=np.int32)
        for register in registers_of(operand):
            if register.index in live:
                taints = np.maximum(taints, live[register.index][ours])
        return taints

    def _selected(self, instruction: PtxInstruction, live: dict[int, _Taints], ours: NDArray[Any]) -> _Taints:
        """`selp`: as the side that is chosen, and the predicate."""
        _, first, second, chooser = instruction.operands
        if_true, if_false, choice = (
            self._taints_of(operand, live, ours) for operand in (first, second, chooser)
        )
        chosen = None
        if isinstance(chooser, Register):
            chosen = self._register_values(chooser.index, ours)
        if chosen is None:
            return np.maximum(np.maximum(if_true, if_false), choice)
        return np.maximum(np.where(chosen, if_true, if_false), choice).astype(np.int32)

    def _shuffled(self, instruction: PtxInstruction, live: dict[int, _Taints], ours: NDArray[Any]) -> _Taints:
        """`shfl`: as the value of the lane that it comes from. PTX ISA, "shfl.sync"."""
        _, source, b, c, *_ = instruction.operands
        numbers = []
        for operand in (b, c):
            values: NDArray[Any] | None = None
            if isinstance(operand, Immediate):
                values = np.full(len(ours), operand.value)
            elif isinstance(operand, Register):
                values = self._register_values(operand.index, ours)
            if values is None:
                return self._taints_of(source, live, ours)
            numbers.append(values)
        mode = next((part for part in instruction.parts if part in ("up", "down", "bfly")), "idx")
        lanes, _ = shuffle_lanes(mode, ours & 31, *numbers)
        return self._taints_of(source, live, (ours & ~31) + lanes)

    def _absorbed(
        self,
        instruction: PtxInstruction,
        flow: Flow,
        taints: dict[int, _Taints],
        result: _Taints,
        ours: NDArray[Any],
    ) -> _Taints:
        """`and` with zero, `or` with ones: the other operand does not count."""
        for register in flow.reads:
            values = self._register_values(register, ours)
            if values is None:
                continue
            absorbing = values == (0 if instruction.parts[0] == "and" else np.invert(np.zeros_like(values)))
            certain = taints.get(register, np.zeros_like(result)) == 0
            result = np.where(absorbing & certain, 0, result).astype(np.int32)
        return result

    # -- matrices --------------------------------------------------------------------------------------------

    def _accumulated(
        self, instruction: PtxInstruction, flow: Flow, live: dict[int, _Taints], threads: Threads
    ) -> _Taints:
        """`wgmma`: A in registers makes all of the warp's D doubtful; D itself, where scale-d says so."""
        ours = threads.indices
        result = np.zeros(self._batch.size, dtype=np.int32)
        for register in flow.reads:
            if register in live:
                result[ours] = np.maximum(result[ours], self._read(live, register, instruction, ours))
        result = np.repeat(result.reshape(-1, 32).max(axis=1), 32)
        scale = next((operand for operand in instruction.operands[3:] if isinstance(operand, Register)), None)
        kept = None if scale is None or scale.type != "pred" else self._register_values(scale.index, ours)
        accumulates = np.ones(len(ours), dtype=np.bool_) if kept is None else kept.astype(np.bool_)
        own = result[ours]
        for register in flow.writes:
            if register in live:
                before = self._read(live, register, instruction, ours)
                own = np.maximum(own, np.where(accumulates, before, 0)).astype(np.int32)
        return np.asarray(own)

    def multiplied(self, instruction: PtxInstruction, operands: MatrixInputs, threads: Threads) -> None:
        """Rows of A, columns of B and elements of C that are doubtful make those of D so."""
        if instruction.parts[0] not in ("mma", "wmma"):
            return
        flow = self._plans.flow(instruction)
        live = self._live.get(flow.function)
        if not live or live.keys().isdisjoint(flow.touched):
            return
        ours = threads.indices.reshape(-1, 32)
        form = operands.ins
        d, a, b, c, *others = instruction.operands
        rows = self._of_matrix(a, form.a, live, instruction, ours).max(axis=2)
        columns = self._of_matrix(b, form.b, live, instruction, ours).max(axis=1)
        elements = self._of_matrix(c, form.c, live, instruction, ours)
        if form.mma_count > 1:  # one below the other, each with its own columns of B
            columns = columns.reshape(-1, form.mma_count, form.n).repeat(form.m, axis=1)
        else:
            columns = columns[:, None, :]
        elements = np.maximum(elements, np.maximum(rows[:, :, None], columns))
        for operand in others:  # metadata and scale factors
            for source in registers_of(operand):
                if source.index in live:
                    taints = self._read(live, source.index, instruction, ours.reshape(-1)).reshape(-1, 32)
                    elements = np.maximum(elements, taints.max(axis=1)[:, None, None])
        targets = [register.index for register in registers_of(d)]
        coordinates = _coordinates(form.d)
        width = coordinates.shape[1] // max(len(targets), 1)
        for number, register in enumerate(targets):
            part = coordinates[:, number * width : (number + 1) * width]
            taints = elements[:, part[..., 0], part[..., 1]].max(axis=-1)
            self._write(live, (register,), ours.reshape(-1), taints.reshape(-1).astype(np.int32))

    def _of_matrix(
        self,
        operand: PtxOperand,
        matrix: MatrixOperand,
        live: dict[int, _Taints],
        instruction: PtxInstruction,
        ours: NDArray[Any],
    ) -> _Taints:
        """What is doubtful of each element of a matrix that an instruction reads: [warps, rows, columns]."""
        taints = np.zeros((*matrix.shape, len(ours)), dtype=np.int32)
        registers = [register.index for register in registers_of(operand)]
        if live.keys().isdisjoint(registers):
            return np.moveaxis(taints, -1, 0)
        coordinates = _coordinates(matrix)
        width = coordinates.shape[1] // len(registers)
        for number, register in enumerate(registers):
            if register in live:
                own = self._read(live, register, instruction, ours.reshape(-1)).reshape(-1, 32)
                part = coordinates[:, number * width : (number + 1) * width]
                np.maximum.at(taints, (part[..., 0], part[..., 1]), own.T[:, None])
        return np.moveaxis(taints, -1, 0)

    # -- memory ----------------------------------------------------------------------------------------------

    def accessed(self, access: Access) -> None:
        """Bytes are as doubtful as what is stored there, and what is loaded as the bytes."""
        parts = access.instruction.parts
        if access.space in ("const", "param") or any(part.startswith("param") for part in parts):
            if access.kind == "write":
                self._hand_over(access)
            return
        flow = self._plans.flow(access.instruction)
        live = self._live.get(flow.function) or {}
        doubtful = bool(live) and not live.keys().isdisjoint(flow.stored)
        if not doubtful and not self._memory:
            return
        for buffer_access in access.buffer_accesses:
            marked = self._memory.get(id(buffer_access.data))
            if marked is not None and marked[1].size != buffer_access.data.size:
                marked = None
            if access.kind in ("read", "atomic") and marked is not None:
                self._load(access, flow, buffer_access, marked[1])
            if access.kind in ("write", "atomic") and (doubtful or marked is not None):
                self._store(access, flow, live, buffer_access, marked)

    def printed(self, instruction: PtxInstruction, buffer_access: BufferAccess) -> None:
        """What is printed matters."""
        marked = self._memory.get(id(buffer_access.data))
        if marked is None or marked[1].size != buffer_access.data.size:
            return
        for number in np.unique(marked[1][buffer_access.offsets]).tolist():
            if number:
                self._report_use(number, buffer_access.threads[:1], instruction, "prints it")

    def _hand_over(self, access: Access) -> None:
        """Arguments and results of functions that are not inlined are not followed: a race matters there."""
        flow = self._plans.flow(access.instruction)
        live = self._live.get(flow.function) or {}
        lanes = np.concatenate([buffer_access.threads for buffer_access in access.buffer_accesses])
        for register in live.keys() & set(flow.stored):
            taints = live[register][lanes]
            for number in _origins_in(taints):
                violation = self._origins[number].violation
                if violation is not None and violation.kind in ("race", "narrow scope"):
                    self._report_use(number, lanes[taints == number], access.instruction, "hands it over")

    def _load(self, access: Access, flow: Flow, buffer_access: BufferAccess, taints: _Taints) -> None:
        loaded = taints[buffer_access.offsets[:, None] + np.arange(access.width)]
        if not loaded.any():
            return
        instruction = access.instruction
        if access.proxy == "async" and instruction.parts[0] != "wgmma":
            self._report_uses(loaded.max(axis=1), buffer_access.threads, instruction, "copies it")
            return
        if instruction.parts[0] in ("ld", "ldu", "atom") and flow.writes:
            by_element = loaded.reshape(len(loaded), len(flow.writes), -1).max(axis=2)
            for register, column in zip(flow.writes, by_element.T, strict=True):
                self._mark(flow.function, register, buffer_access.threads, column)
            return
        for number in _origins_in(loaded):
            threads = buffer_access.threads[(loaded == number).any(axis=1)]
            for register, lanes in _destinations(instruction, flow, threads):
                self._mark(flow.function, register, lanes, np.int32(number))

    def _store(
        self,
        access: Access,
        flow: Flow,
        live: dict[int, _Taints],
        buffer_access: BufferAccess,
        marked: tuple[BufferAccess, _Taints] | None,
    ) -> None:
        """Mark the bytes that a store or an atomic operation writes with what its values are doubtful by."""
        instruction, threads = access.instruction, buffer_access.threads
        count = max(len(flow.stored), 1)
        if access.width % count or instruction.parts[0] == "stmatrix":
            count = 1
        values = np.zeros((len(threads), count), dtype=np.int32)
        for element, register in enumerate(flow.stored):
            if register not in live:
                continue
            taints = self._read(live, register, instruction, self._batch.everyone)
            if instruction.parts[0] == "stmatrix":  # rows come from other lanes than their addresses
                taints = np.repeat(taints.reshape(-1, 32).max(axis=1), 32)
            place = element if count > 1 else 0
            values[:, place] = np.maximum(values[:, place], taints[threads])
        if marked is None and not values.any():
            return
        if marked is None:
            marked = buffer_access, np.zeros(buffer_access.data.size, dtype=np.int32)
            self._memory[id(buffer_access.data)] = marked
        if access.space == "global":
            for number in _origins_in(values):
                origin = self._origins[number]
                origin.stored = instruction
                if origin.storers is None:
                    origin.storers = np.zeros(self._batch.size // 32, dtype=np.bool_)
                origin.storers[threads[(values == number).any(axis=1)] >> 5] = True
        places = buffer_access.offsets[:, None] + np.arange(access.width)
        fresh = np.repeat(values, access.width // count, axis=1)
        if access.kind == "atomic":
            fresh = np.maximum(fresh, marked[1][places])
        marked[1][places] = fresh


def _origins_in(taints: _Taints) -> list[int]:
    """The numbers of the origins that lanes, elements or bytes are doubtful by.

    >>> _origins_in(np.array([[0, 3], [2, 3]], dtype=np.int32))
    [2, 3]
    """
    origins: list[int] = np.unique(taints[taints > 0]).tolist()
    return origins


def _destinations(
    instruction: PtxInstruction, flow: Flow, threads: NDArray[Any]
) -> list[tuple[int, NDArray[Any]]]:
    """The registers and lanes that get what threads load."""
    parts = instruction.parts
    if parts[0] in ("ld", "ldu", "atom"):
        return [(register, threads) for register in flow.writes]
    group = 128 if parts[0] == "wgmma" else 32
    firsts = np.unique(threads // group) * group
    if parts[0] == "ldmatrix" and "m8n8" in parts and parts[-1] == "b16":
        rows = threads & 7  # each lane has the address of a row
        quads = np.arange(4)
        lanes = (threads & ~31)[:, None] + rows[:, None] * 4 + quads
        if "trans" in parts:
            lanes = (threads & ~31)[:, None] + rows[:, None] // 2 + np.arange(0, 32, 4)
        numbers = threads % 32 // 8
        return [
            (register, np.unique(lanes[numbers == number]))
            for number, register in enumerate(flow.writes)
            if (numbers == number).any()
        ]
    everyone = (firsts[:, None] + np.arange(group)).reshape(-1)
    return [(register, everyone) for register in flow.writes]


def _coordinates(matrix: MatrixOperand) -> NDArray[Any]:
    """Row and column of each element of each lane."""
    assert isinstance(matrix, Operand)
    assert matrix.layout is not None
    return matrix.layout.coords()
