"""What a launch says of itself, for the judge and for `ptxlab check`."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import PtxlabError, counted, listing
from ..isa.parse import parse
from ..isa.product_form import ProductForm
from ..numerics.emulate import model_of
from ..simulator import Hazard, HazardError, Result
from ..simulator.events import Access, Observer
from ..simulator.kernel import Kernel
from ..simulator.ptx.opcode_sets import DECIDE
from ..simulator.ptx.syntax import Address, registers_of
from .verdict import Evidence, Finding, Verdict

_PRODUCTS = ("mma.", "wgmma.mma", "wmma.mma", "tcgen05.mma")


def arithmetic_of(result: Result, model: str | None) -> dict[str, str]:
    """How the arithmetic of each matrix instruction is known: measured, published or assumed."""
    evidence: dict[str, str] = {}
    for opcode in result.counts:
        if opcode.startswith(_PRODUCTS):
            evidence[opcode] = "assumed"
            with contextlib.suppress(PtxlabError):
                form = parse(opcode)
                if isinstance(form, ProductForm):
                    evidence[opcode] = model_of(form, model).evidence
    return evidence


def decided_by_assumed(kernel: Kernel, arithmetic: dict[str, str]) -> list[str]:
    """Where a value of assumed arithmetic may decide a branch or make an address, by the kernel's text.

    It follows registers. Through memory, every load after such a value was stored counts.
    """
    assumed = {opcode for opcode, known in arithmetic.items() if known == "assumed"}
    if not assumed:
        return []
    found: dict[str, None] = {}
    for function in kernel.module.functions.values():
        tainted: set[int] = set()
        in_memory, size = False, -1
        while size != (size := len(tainted) + in_memory):  # loops carry values backwards
            for instruction in function.instructions:
                reads, writes = instruction.effects
                name = instruction.parts[0]
                from_memory = (
                    in_memory and name in ("ld", "ldmatrix", "atom") and "param" not in instruction.parts
                )
                if instruction.opcode in assumed or reads & tainted or from_memory:
                    tainted |= writes
                    in_memory |= name in ("st", "stmatrix", "red", "atom")
                addresses = [operand for operand in instruction.operands if isinstance(operand, Address)]
                bases = {register.index for operand in addresses for register in registers_of(operand)}
                guards = {register.index for register in registers_of(instruction.guard)}
                if bases & tainted:
                    found[f"makes the address of {instruction.where}"] = None
                if guards & tainted and name in DECIDE:
                    found[f"decides the branch {instruction.where}"] = None
    return [f"a value of assumed arithmetic ({listing(sorted(assumed))}) {what}" for what in found]


def finding(hazard: Hazard) -> dict[str, Any]:
    """A hazard as a finding."""
    return {
        "grade": hazard.grade,
        "kind": hazard.kind,
        "sentence": hazard.sentence,
        "line": hazard.line,
        "evidence": hazard.evidence,
    }


def stopped(error: HazardError) -> dict[str, Any]:
    """What a launch reports that a hazard has ended."""
    kind = "hang" if error.hazard is not None and error.hazard.kind == "deadlock" else "hazard"
    return {"findings": [finding(hazard) for hazard in error.hazards], kind: str(error)}


def facts_of(kernel: Kernel, result: Result, model: str | None = None) -> dict[str, Any]:
    """What a launch reports besides its arrays."""
    arithmetic = arithmetic_of(result, model)
    findings = [finding(hazard) for hazard in (*result.hazards, *result.notes)]
    for line, count in result.conflicts.items():
        sentence = f"line {line}: {counted(count, 'wavefront')} of shared memory more than without conflicts"
        findings.append(
            {
                "grade": "bank conflict",
                "kind": "bank conflict",
                "sentence": sentence,
                "line": line,
                "evidence": "",
            }
        )
    return {
        "findings": findings,
        "arithmetic": arithmetic,
        "opcodes": sorted(result.counts),
        "decided": decided_by_assumed(kernel, arithmetic),
        "clocks": any(kernel.module.reads_special(name) for name in ("%clock", "%globaltimer")),
    }


def verdict_of(name: str, results: Sequence[Result]) -> Verdict:
    """The verdict on launches whose outputs are compared elsewhere, as by the tests that make them."""
    findings = [
        Finding(
            hazard.grade,
            hazard.kind,
            hazard.sentence,
            hazard.line,
            (result.name, hazard.line),
            hazard.evidence,
        )
        for result in results
        for hazard in (*result.hazards, *result.notes)
    ]
    known = {opcode: how for result in results for opcode, how in arithmetic_of(result, None).items()}
    evidence = Evidence(findings=tuple(dict.fromkeys(findings)), arithmetic=known)
    hazards = [f"{finding.place[0]}: {finding.sentence}" for finding in findings if finding.grade == "hazard"]
    if hazards:
        return Verdict(name, "hazard", "\n".join(hazards), evidence)
    if not results:
        return Verdict(name, "incomplete", "nothing was launched", evidence)
    return Verdict(name, "clean", f"no hazard in {len(results)} launches", evidence)


class Accesses(Observer):
    """The arguments that a launch reads, and the lines that write to each, by their numbers from 1."""

    def __init__(self) -> None:
        self.reads: set[int] = set()
        self.writes: dict[int, set[int]] = {}

    def accessed(self, access: Access) -> None:
        """Note the arguments of an access."""
        for part in access.buffer_accesses:
            words = part.title.split()
            if len(words) < 2 or words[0] != "argument" or not words[1].isdigit():
                continue
            if access.kind != "write":
                self.reads.add(int(words[1]))
            if access.kind != "read":
                self.writes.setdefault(int(words[1]), set()).add(access.instruction.source_line)

    def facts(self) -> dict[str, Any]:
        """As JSON has them."""
        return {
            "reads": sorted(self.reads),
            "writes": {str(number): sorted(lines) for number, lines in self.writes.items()},
        }


class Report:
    """A file of lines, opened for each, as a candidate may close all descriptors."""

    def __init__(self, file: Path) -> None:
        self._file = str(file)
        self._process = os.getpid()

    def write(self, kind: str, value: object) -> None:
        """Append a line."""
        if os.getpid() != self._process:
            return
        line = json.dumps([kind, value]) + "\n"
        descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
