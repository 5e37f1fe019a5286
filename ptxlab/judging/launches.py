"""What a launch says of itself, for the judge and for `ptxlab check`."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from ..errors import PtxlabError, counted
from ..isa.parse import parse
from ..isa.product_form import ProductForm
from ..numerics.emulate import model_of
from ..simulator import Hazard, HazardError, Result
from ..simulator.events import Access, Observer
from ..simulator.kernel import Kernel

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


def facts_of(kernel: Kernel, result: Result) -> dict[str, Any]:
    """What a launch reports besides its arrays."""
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
        "arithmetic": arithmetic_of(result, None),
        "opcodes": sorted(result.counts),
        "clocks": any(kernel.module.reads_special(name) for name in ("%clock", "%globaltimer")),
    }


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
