"""Registers that a running wgmma uses, and instructions that not all of their lanes execute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Inspection, Observer, Synchronisation
from ..hazard import HazardLog, Violation, lanes_text
from ..launch_threads import Batch, Threads
from ..ptx.syntax import PtxInstruction
from .module_plans import ModulePlans, RegisterPlan


@dataclass
class _RegistersInFlight:
    """A set of registers of wgmma instructions, with what is known of it in each thread."""

    registers: frozenset[int]
    group: NDArray[np.int64]  # the group of the wgmma that uses it; -1 for none
    computed: NDArray[np.int64]  # when other instructions last computed it
    instruction: PtxInstruction


class RegisterCheck(Observer):
    """Looks for hazards in registers, and for missing lanes."""

    def __init__(self, report: HazardLog, plans: ModulePlans) -> None:
        self._report = report
        self._plans = plans
        self._machine: Inspection | None = None

    def begin(self, batch: Batch) -> None:
        """Nothing is in flight in new blocks."""
        self._batch = batch
        self._time = 0
        self._flights: dict[int, _RegistersInFlight] = {}
        self._seen_whole: dict[int, NDArray[Any]] = {}  # the last threads without missing lanes, by `lanes`
        self._groups = np.zeros(batch.size, dtype=np.int64)
        self._fenced = np.zeros(batch.size, dtype=np.int64)
        self._resizes: dict[str, list[Synchronisation]] = {}  # setmaxnreg, by .inc and .dec

    # -- masks -----------------------------------------------------------------------------------------------

    def attach(self, machine: Inspection) -> None:
        """Keep the machine, whose registers hold masks."""
        self._machine = machine

    def end(self) -> None:
        """Report what all warps of a warpgroup must execute, and some have not; forget the machine."""
        for events in self._resizes.values():
            self._check_warpgroups(events)
        self._machine = None

    def _check_mask(self, instruction: PtxInstruction, plan: RegisterPlan, ours: NDArray[Any]) -> None:
        """Report lanes that execute an instruction whose mask, constant or computed, does not name them."""
        masks = np.full(len(ours), plan.mask, dtype=np.int64)
        if plan.mask_register >= 0:
            values = None if self._machine is None else self._machine.reader()(plan.mask_register)
            if values is None:
                return
            masks = values[ours].astype(np.int64)
        outside = masks >> (ours & 31) & 1 == 0
        if outside.any():
            first = int(masks[outside][0])
            lanes = lanes_text([lane for lane in range(32) if first >> lane & 1]) if first else "nobody"
            self._report.add(self._batch, Violation(
                "not in the mask", instruction, ours[outside],
                f"{{who}} execute{{s}} {instruction.opcode} with a mask that names {lanes}",
            ))  # fmt: skip

    # -- running ---------------------------------------------------------------------------------------------

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Check an instruction, if there is anything to check."""
        plan = self._plans.of(instruction)
        if plan is None:
            return
        self._time += 1
        ours = threads.indices
        if plan.lanes and threads.index is not None:
            self._check_lanes(instruction, threads, plan.lanes)
        if plan.mask >= 0 or plan.mask_register >= 0:
            self._check_mask(instruction, plan, ours)
        for number in (*plan.accumulators, *plan.overwrites):
            self._touch(instruction, number, ours)
        if plan.multiplies >= 0:
            self._multiply(instruction, plan.multiplies, ours)
        if plan.metadata >= 0:
            flight = self._flight(plan.metadata, instruction)
            flight.instruction = instruction
            flight.group[ours] = self._groups[ours]

    def synchronised(self, event: Synchronisation) -> None:
        """Fences, groups and waits of wgmma; lanes that never come."""
        if event.kind == "passed by":
            self._report_passed_by(event)
        if event.kind.startswith("setmaxnreg"):
            self._resizes.setdefault(event.instruction.parts[1], []).append(event)
        if not event.kind.startswith("wgmma"):
            return
        self._time += 1
        if event.kind == "wgmma.fence":
            self._fenced[event.threads] = self._time
        elif event.kind == "wgmma.commit_group":
            self._groups[event.threads] += 1
        elif event.kind == "wgmma.wait_group":
            oldest = self._groups[event.threads] - int(np.asarray(event.key))
            for flight in self._flights.values():
                group = flight.group[event.threads]
                flight.group[event.threads] = np.where(group < oldest, -1, group)

    def _report_passed_by(self, event: Synchronisation) -> None:
        """Threads have waited for lanes of their warps that went on elsewhere, and ended."""
        opcode, words = event.instruction.opcode, np.asarray(event.key)
        barrier = event.instruction.parts[0] in ("bar", "barrier") and "warp" not in event.instruction.parts
        first = event.threads >> 5 == event.threads[0] >> 5
        lanes = lanes_text([lane for lane in range(32) if int(words[0]) >> lane & 1])
        passes = "passes" if lanes.startswith("lane ") else "pass"
        self._report.add(self._batch, Violation(
            "divergent barrier" if barrier else "lanes missing",
            event.instruction, event.threads[first],
            f"{{who}} execute{{s}} {opcode}, which {lanes} of the same warp {passes} by",
            remedy="" if barrier else "let all lanes that the mask names execute it, or name no others",
        ))  # fmt: skip

    def _check_lanes(self, instruction: PtxInstruction, threads: Threads, lanes: int) -> None:
        valid = self._batch.valid
        if self._batch.size % lanes or self._seen_whole.get(lanes) is threads.index:
            return
        present = np.zeros(self._batch.size, dtype=np.bool_)
        present[threads.indices] = True
        groups = present.reshape(-1, lanes)
        some = groups.max(axis=1, keepdims=True)
        missing = np.asarray(some & valid.reshape(-1, lanes) & ~groups)
        if not missing.any():
            self._seen_whole[lanes] = threads.indices
        else:
            lacking = missing.max(axis=1)
            group = int(np.flatnonzero(lacking)[0])
            ours = threads.indices[lacking[threads.indices // lanes]]
            absent = np.flatnonzero(missing[group])
            warp = int(absent[0]) // 32
            names = lanes_text([int(lane) % 32 for lane in absent if lane // 32 == warp])
            self._report.add(self._batch, Violation(
                "lanes missing", instruction, ours,
                f"{{who}} execute{{s}} {instruction.opcode}, but {names} of the warp do not",
            ))  # fmt: skip

    def _check_warpgroups(self, events: list[Synchronisation]) -> None:
        """Report setmaxnreg that some warps of a warpgroup never execute.

        They need not execute the same one: CUTLASS has a branch for each warp of a warpgroup, with its own.
        """
        lanes = self._batch.block_lanes
        warps = np.arange(self._batch.size // 32) * 32
        groups = warps // lanes * -(-lanes // 128) + warps % lanes // 128
        executed = np.zeros(len(warps), dtype=np.bool_)
        for event in events:
            executed[event.threads >> 5] = True
        missing = self._batch.valid[warps] & ~executed
        partial = np.isin(groups, groups[missing])
        for event in events:
            ours = event.threads[partial[event.threads >> 5]]
            if len(ours):
                absent = warps[missing & (groups == groups[ours[0] >> 5])] % lanes // 32
                numbers = ", ".join(map(str, absent.tolist()))
                names, verb = (f"warps {numbers}", "do") if len(absent) > 1 else (f"warp {numbers}", "does")
                self._report.add(self._batch, Violation(
                    "lanes missing", event.instruction, ours,
                    f"{{who}} execute{{s}} {event.instruction.opcode}, but {names} of the same warpgroup "
                    f"{verb} not",
                    remedy="let all warps of the warpgroup execute it",
                ))  # fmt: skip

    def _flight(self, number: int, instruction: PtxInstruction) -> _RegistersInFlight:
        if number not in self._flights:
            _, registers = list(self._plans.sets)[number]
            group, computed = np.full(self._batch.size, -1), np.zeros(self._batch.size, dtype=np.int64)
            self._flights[number] = _RegistersInFlight(registers, group, computed, instruction)
        return self._flights[number]

    def _touch(self, instruction: PtxInstruction, number: int, ours: NDArray[Any]) -> None:
        """An ordinary instruction reads or writes registers that wgmma uses."""
        flight = self._flight(number, instruction)
        read, written = instruction.effects
        if written & flight.registers and instruction.parts[0] != "mov":
            flight.computed[ours] = self._time
        group = flight.group[ours]
        late = group >= 0
        if not late.any():
            return
        remedy = "execute wgmma.wait_group before it"
        if (group[late] >= self._groups[ours[late]]).any():
            remedy = "execute wgmma.commit_group, then wgmma.wait_group, before it"
        verb = "write{s}" if written & flight.registers else "read{s}"
        function, registers = list(self._plans.sets)[number]
        names = sorted(self._plans.names[function, index] for index in (read | written) & registers)
        where = flight.instruction.source_line
        self._report.add(self._batch, Violation(
            "wgmma registers", instruction, ours[late],
            f"{{who}} {verb} {', '.join(names)}, which the wgmma of line {where} may still be using",
            remedy=remedy, other=flight.instruction,
        ))  # fmt: skip

    def _multiply(self, instruction: PtxInstruction, number: int, ours: NDArray[Any]) -> None:
        flight = self._flight(number, instruction)
        flight.instruction = instruction
        fenced = self._fenced[ours]
        never = fenced == 0
        late = flight.computed[ours] > fenced
        if never.any() or late.any():
            why = "no wgmma.fence came before" if never.any() else "registers were computed after wgmma.fence"
            self._report.add(self._batch, Violation(
                "missing wgmma.fence", instruction, ours[never | late],
                f"{{who}} execute{{s}} {'.'.join(instruction.parts[:2])}, but {why}",
            ))  # fmt: skip
        flight.group[ours] = self._groups[ours]
