"""The command `check`: simulates every launch of a script or of a pytest run, and reports what is wrong.

Launches of Triton, Numba, CuTe DSL, Warp, TileLang, CuPy and cuTile are simulated as in `simulating`, and so
is `Kernel.launch`: the same file runs with and without a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

from .._util.arguments import as_path
from .._version import __version__
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.parse import parse
from ..isa.product_form import ProductForm
from ..numerics.emulate import model_of
from ..simulation import simulating
from ..simulator import Hazard, HazardError, Result
from ..simulator.hazard import KINDS
from ..simulator.kernel import Kernel
from . import output
from .output import Style, as_json

_PRODUCTS = ("mma.", "wgmma.mma", "wmma.mma", "tcgen05.mma")
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_BANKS = "measured: H200, wavefronts of loads and stores of shared memory"
_LEVELS = {"hazard": "error", "note": "note", "bank conflict": "note"}


@dataclass(frozen=True)
class Finding:
    """Something to report: `grade` is "hazard", "note" or "bank conflict"; `place` a file and its line."""

    grade: str
    kind: str
    sentence: str
    line: int  # of the kernel's source
    place: tuple[str, int]
    evidence: str = ""  # how it is known: measured, published, assumed


@dataclass
class CheckedLaunch:
    """One launch: its kernel, the line of Python that launched it, and what was found."""

    kernel: str
    target: str
    grid: object
    block: object
    place: tuple[str, int]
    findings: list[Finding]
    arithmetic: dict[str, str]  # matrix instructions, and how their arithmetic is known
    error: str = ""


@dataclass
class Checked:
    """All launches of a file; `failure` says why it did not run to its end."""

    file: str
    launches: list[CheckedLaunch] = field(default_factory=list)
    failure: str = ""

    @property
    def findings(self) -> dict[Finding, int]:
        """What was found, each once, with the number of launches that have it."""
        counts: dict[Finding, int] = {}
        for launch in self.launches:
            for finding in launch.findings:
                counts[finding] = counts.get(finding, 0) + 1
        return counts

    def count(self, grade: str) -> int:
        """The number of different findings of a grade."""
        return sum(finding.grade == grade for finding in self.findings)


def check(args: argparse.Namespace, style: Style) -> int:
    """`ptxlab check`: exit status 1 where there is a hazard, or the file does not run to its end."""
    checked = run(args.file, args.argument or [], quiet=args.format is not None)
    if args.format == "json":
        output.write(as_json(_facts(checked)))
    elif args.format == "sarif":
        output.write(as_json(_sarif(checked)))
    else:
        output.write(_report(checked, style))
    return 1 if checked.failure or checked.count("hazard") else 0


def run(file: str, arguments: list[str], quiet: bool = False) -> Checked:
    """Run a script or a file of tests; with `quiet`, what it prints goes to standard error."""
    path = as_path(file, "file")
    try:
        is_script = path.suffix == ".py" and path.is_file()
    except (OSError, ValueError):  # no name of a file
        is_script = False
    if not is_script:
        raise PtxlabError(f"{quoted(file)} cannot be checked: it takes a Python file, such as train.py")
    checked = Checked(file)
    _text.cache_clear()  # the file may have changed
    is_test = path.stem.startswith("test_") or path.stem.endswith("_test")
    stdout = _silent() if quiet else contextlib.nullcontext()
    with stdout, _recorded(checked, path), _frameworks():
        checked.failure = _run_tests(path, arguments) if is_test else _run_script(path, arguments)
    return checked


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Redirect standard output to standard error, also for C code and for programs that the script starts."""
    sys.stdout.flush()
    stdout = os.dup(1)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def _run_script(path: Path, arguments: list[str]) -> str:
    """Run a script as Python does; why it failed, if it did."""
    try:
        with (
            patch.object(sys, "argv", [str(path), *arguments]),
            patch.object(sys, "path", [str(path.parent.resolve()), *sys.path]),
        ):
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as stop:
        if isinstance(stop.code, str):  # a message, which Python prints
            return stop.code
        return "" if stop.code in (None, 0) else f"it left with status {stop.code}"
    except Exception as problem:
        traceback.print_exc()
        return f"{type(problem).__name__}: {problem}"
    return ""


def _run_tests(path: Path, arguments: list[str]) -> str:
    try:
        import pytest
    except ImportError:
        raise PtxlabError(f"{path.name} is a file of tests, which needs pytest: pip install pytest") from None
    status = pytest.main([str(path), "-q", "-p", "no:cacheprovider", *arguments])
    return "" if status == 0 else f"pytest left with status {int(status)}"


@contextlib.contextmanager
def _frameworks() -> Iterator[None]:
    """Simulate the launches of installed frameworks (`ptxlab.simulating`)."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(PtxlabError):
            stack.enter_context(simulating())
        yield


# -- what a launch gives -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _recorded(checked: Checked, path: Path) -> Iterator[None]:
    """Inside the block, launches are simulated, and all simulations are recorded."""
    original: Callable[..., Result] = Kernel.simulate

    def simulate(kernel: Kernel[Any], grid: Any, block: Any, *arguments: Any, **options: Any) -> Result:
        place = _caller(path)
        launch = CheckedLaunch(kernel.title, kernel.target, grid, block, place, [], {})
        checked.launches.append(launch)
        try:
            result = original(kernel, grid, block, *arguments, **options)
        except PtxlabError as error:
            launch.error = str(error)
            if isinstance(error, HazardError):  # an access out of bounds, a deadlock
                launch.findings = [_finding(hazard, kernel, place) for hazard in error.hazards]
            raise
        hazards = (*result.hazards, *result.notes)
        launch.findings = [_finding(hazard, kernel, place) for hazard in hazards]
        for line, count in result.conflicts.items():
            sentence = (
                f"line {line}: {counted(count, 'wavefront')} of shared memory more than without conflicts"
            )
            where = _place(kernel, line, place)
            launch.findings.append(Finding("bank conflict", "bank conflict", sentence, line, where, _BANKS))
        launch.arithmetic = _arithmetic(result, options.get("model"))
        return result

    def launch_simulated(
        kernel: Kernel[Any], grid: Any, block: Any, *arguments: Any, stream: Any = None, **options: Any
    ) -> None:
        kernel.simulate(grid, block, *arguments, **options)

    with patch.object(Kernel, "simulate", simulate), patch.object(Kernel, "launch", launch_simulated):
        yield


def _caller(path: Path) -> tuple[str, int]:
    """The innermost line of the checked file on the stack; without one, the first outside ptxlab."""
    checked_file, package = os.path.realpath(path), str(Path(__file__).parents[1])
    places = []
    for frame, number in traceback.walk_stack(sys._getframe(1)):
        name = os.path.realpath(frame.f_code.co_filename)
        if name == checked_file:
            return _shown(name), number
        if not name.startswith(package) and Path(name).exists():
            places.append((_shown(name), number))
    return places[0] if places else (str(path), 1)


def _shown(file: str) -> str:
    """A file as reports name it, relative if it is in the working folder."""
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else Path(relative).as_posix()


def _place(kernel: Kernel[Any], line: int, caller: tuple[str, int]) -> tuple[str, int]:
    """A line of the kernel's source, in the file that contains it; if there is none, the launch."""
    for file in (caller[0], *_files_of(kernel)) if line else ():
        with contextlib.suppress(OSError, ValueError):
            text = _text(file)
            start = text.find(kernel.source)
            if start >= 0:
                return _shown(file), text.count("\n", 0, start) + line
    return caller


@lru_cache(maxsize=256)
def _text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")


def _files_of(kernel: Kernel[Any]) -> list[str]:
    """Files that may contain the kernel's source: those that its PTX names, and those on the stack."""
    instructions = kernel.function.instructions
    named = [instruction.source.file for instruction in instructions if instruction.source is not None]
    running = [frame.f_code.co_filename for frame, _ in traceback.walk_stack(sys._getframe(1))]
    return list(dict.fromkeys([*named, *running]))


def _finding(hazard: Hazard, kernel: Kernel[Any], caller: tuple[str, int]) -> Finding:
    sentence = hazard.sentence
    if hazard.grade == "note":
        sentence += f" ({hazard.evidence})"
    place = _place(kernel, hazard.line, caller)
    return Finding(hazard.grade, hazard.kind, sentence, hazard.line, place, hazard.evidence)


def _arithmetic(result: Result, model: str | None) -> dict[str, str]:
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
        count = f", {_launches(launches)}" if len(launches) > 1 else ""
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
        if not findings and not errors:
            lines.append("  no hazards, no bank conflicts")
    kinds = [counted(checked.count(grade), grade) for grade in _LEVELS]
    lines.append(f"{_launches(checked.launches)}: {', '.join(kinds)}")
    if not checked.launches:
        lines.append(f"nothing was checked: {checked.file} launched nothing, or other processes did")
    if checked.failure:
        lines.append(f"{checked.file} did not run to its end: {output.one_line(checked.failure)}")
    return "\n".join(lines)


def _launches(launches: list[CheckedLaunch]) -> str:
    return "1 launch" if len(launches) == 1 else f"{len(launches)} launches"


def _facts(checked: Checked) -> dict[str, object]:
    return {
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
            }
        ],
    }


def _rule(kind: str) -> dict[str, object]:
    """A kind of finding: what it means, what would be right, and the evidence."""
    rule: dict[str, object] = {"id": kind.replace(" ", "-"), "shortDescription": {"text": kind}}
    if kind in KINDS:
        hazard = KINDS[kind]
        rule["fullDescription"] = {"text": hazard.meaning}
        rule["help"] = {"text": f"What is right: {hazard.remedy}. How it is known: {hazard.evidence}"}
    return rule


def _uri(file: str) -> str:
    """A file as a URI, relative if it is in the working folder."""
    return Path(file).as_uri() if Path(file).is_absolute() else quote(Path(file).as_posix())
