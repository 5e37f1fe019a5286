"""The command `check`: simulates every launch of a script or of a pytest run, and reports what is wrong.

Launches of Triton, Numba, CuTe DSL, Warp, TileLang, CuPy and cuTile are simulated as in `simulating`, and so
is `Kernel.launch`: the same file runs with and without a GPU.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from .._version import __version__
from ..errors import counted, listing
from ..judging.verdict import SCHEMA
from ..simulator.hazard import KINDS
from . import output
from .checked_run import Checked, CheckedLaunch, run
from .commands import Flags
from .output import Style, as_json

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"hazard": "error", "note": "note", "bank conflict": "note"}


def check(
    style: Style,
    file: Annotated[str, "a Python script, or a file of pytest (test_*.py)"],
    *,
    argument: Annotated[list[str] | None, "an argument for the script, or for pytest", "WORD"] = None,
    schedules: Annotated[
        Literal["all"] | None, "run every schedule of each launch: does another order end otherwise?"
    ] = None,
    format: Annotated[
        Literal["json", "sarif"] | None,
        Flags({"json": "print JSON", "sarif": "for code-scanning services: SARIF 2.1.0"}),
    ] = None,
) -> int:
    """Exit status 1 where there is a hazard, or the file does not run to its end.

    examples:
      ptxlab check train.py              launches of Triton, Numba, CuTe DSL and others
      ptxlab check test_kernels.py --sarif > ptxlab.sarif
      ptxlab check train.py --schedules all
    """
    checked = run(file, argument or [], quiet=format is not None, schedules=schedules is not None)
    if format == "json":
        output.write(as_json(_facts(checked)))
    elif format == "sarif":
        output.write(as_json(_sarif(checked)))
    else:
        output.write(_report(checked, style))
    return 1 if checked.failure or checked.count("hazard") else 0


# -- reports -------------------------------------------------------------------------------------------------


def _report(checked: Checked, style: Style) -> str:
    lines = []
    groups: dict[tuple[str, tuple[str, int]], list[CheckedLaunch]] = {}
    for launch in checked.launches:
        groups.setdefault((launch.kernel, launch.place), []).append(launch)
    for (kernel, (file, number)), launches in groups.items():
        arithmetic = {opcode: how for launch in launches for opcode, how in launch.arithmetic.items()}
        by_evidence: dict[str, list[str]] = {}
        for opcode, evidence in arithmetic.items():
            by_evidence.setdefault(evidence, []).append(opcode)
        count = f", {counted(len(launches), 'launch')}" if len(launches) > 1 else ""
        lines.append(f"{style.bold(kernel)} for {launches[0].target}, {file}:{number}{count}")
        lines += [
            f"  arithmetic {evidence}: {listing(opcodes, 4)}" for evidence, opcodes in by_evidence.items()
        ]
        findings = Checked(checked.file, launches).findings
        for finding, times in findings.items():
            where = "" if finding.place == (file, number) else f"{finding.place[0]}:{finding.place[1]}: "
            often = f" (in {times} launches)" if times > 1 else ""
            lines.append(f"  {finding.grade}: {where}{finding.sentence}{often}")
        errors = dict.fromkeys(launch.error for launch in launches if launch.error)
        reported = {finding.sentence for finding in findings}
        lines += [f"  stopped: {error}" for error in errors if error not in reported]
        for text in dict.fromkeys(launch.schedules for launch in launches if launch.schedules):
            lines += [f"  schedules: {text}".replace("\n", "\n  ")]
        for picture in dict.fromkeys(launch.picture for launch in launches if launch.picture):
            lines += [f"  {line}" for line in picture.splitlines()]
        if not findings and not errors:
            lines.append("  no hazards, no bank conflicts")
    kinds = [counted(checked.count(grade), grade) for grade in _LEVELS]
    lines.append(f"{counted(len(checked.launches), 'launch')}: {', '.join(kinds)}")
    if not checked.launches:
        lines.append(f"nothing was checked: {checked.file} launched nothing, or other processes did")
    if checked.failure:
        lines.append(f"{checked.file} did not run to its end: {output.one_line(checked.failure)}")
    return "\n".join(lines)


def _facts(checked: Checked) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "verdict": {"status": checked.verdict.status, "reason": checked.verdict.reason},
        "file": checked.file,
        "failure": checked.failure,
        "hazards": checked.count("hazard"),
        "notes": checked.count("note"),
        "bank conflicts": checked.count("bank conflict"),
        "launches": [asdict(launch) for launch in checked.launches],
    }


def _sarif(checked: Checked) -> dict[str, object]:
    """The findings in the format of code-scanning services: OASIS, SARIF 2.1.0."""
    kinds = dict.fromkeys(finding.kind for finding in checked.findings)
    results = [
        {
            "ruleId": finding.kind.replace(" ", "-"),
            "level": _LEVELS[finding.grade],
            "message": {"text": finding.sentence},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": _uri(finding.place[0])},
                        "region": {"startLine": finding.place[1]},
                    }
                }
            ],
        }
        for finding in checked.findings
    ]
    driver = {"name": "ptxlab", "version": __version__, "rules": [_rule(kind) for kind in kinds]}
    invocation: dict[str, object] = {"executionSuccessful": not checked.failure}
    if checked.failure:
        text = f"{checked.file} did not run to its end: {output.one_line(checked.failure)}"
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": {"text": text}}]
    return {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [invocation],
                "results": results,
                "properties": {"verdict": checked.verdict.status},
            }
        ],
    }


def _rule(kind: str) -> dict[str, object]:
    """A kind of finding: what it means, what would be right, and the evidence."""
    rule: dict[str, object] = {"id": kind.replace(" ", "-"), "shortDescription": {"text": kind}}
    if kind == "schedule":
        rule["fullDescription"] = {
            "text": "In another order of its warps and copies the launch ends otherwise"
        }
    if kind in KINDS:
        hazard = KINDS[kind]
        rule["fullDescription"] = {"text": hazard.meaning}
        rule["help"] = {"text": f"What is right: {hazard.remedy}. How it is known: {hazard.evidence}"}
    return rule


def _uri(file: str) -> str:
    """A file as a URI, relative if it is in the working folder."""
    return Path(file).as_uri() if Path(file).is_absolute() else quote(Path(file).as_posix())
