"""Run a Python file with its launches on the simulator, in a process of its own, and hear of each launch.

The other process appends a line of JSON to a file when a launch begins and when it has ended, and one when
Python ends. So whatever the file does to its process, this one knows what was looked at: it may leave with
`os._exit`, fork, close descriptors, replace built-in functions, or let threads run on.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import itertools
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

from .._util.arguments import as_path
from ..errors import PtxlabError, counted, quoted
from ..judging.launches import arithmetic_of
from ..judging.verdict import Evidence, Finding, Verdict
from ..question import State
from ..simulation import simulating
from ..simulator import Hazard, HazardError, Result
from ..simulator.kernel import Kernel
from . import output

_BANKS = "measured: H200, wavefronts of loads and stores of shared memory"
_PATIENCE = 10  # seconds that forked processes have after the file, and the file after Ctrl+C


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
    waiting: dict[str, Any] = field(default_factory=dict)  # who waits for whom, of a launch that hangs
    picture: str = ""  # the same as text
    schedules: str = ""  # what its schedules do, if they were to be run


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

    @property
    def verdict(self) -> Verdict:
        """A hang, a hazard, an error, incomplete if nothing was launched, or clean."""
        hangs = next((launch.error for launch in self.launches if launch.waiting), "")
        hazard = next((finding.sentence for finding in self.findings if finding.grade == "hazard"), "")
        evidence = Evidence(
            findings=tuple(self.findings),
            arithmetic={opcode: how for launch in self.launches for opcode, how in launch.arithmetic.items()},
        )
        launches = counted(len(self.launches), "launch")
        said: list[tuple[State, str]] = [
            ("hang", hangs),
            ("hazard", hazard),
            ("error", self.failure),
            ("incomplete", "" if self.launches else "nothing was launched, or other processes did it"),
            ("clean", f"{launches} without a hazard; what they compute was not compared with anything"),
        ]
        status, reason = next((status, reason) for status, reason in said if reason)
        return Verdict(self.file, status, reason, evidence)

    def count(self, grade: str) -> int:
        """The number of different findings of a grade."""
        return sum(finding.grade == grade for finding in self.findings)


def run(file: str, arguments: list[str], quiet: bool = False, schedules: bool = False) -> Checked:
    """Run a script or a file of tests; with `quiet`, what it prints goes to standard error.

    With `schedules`, every schedule of each launch is run as well.
    """
    path = as_path(file, "file")
    try:
        is_script = path.suffix == ".py" and path.is_file()
    except (OSError, ValueError):  # no name of a file
        is_script = False
    if not is_script:
        raise PtxlabError(f"{quoted(file)} cannot be checked: it takes a Python file, such as train.py")
    with tempfile.TemporaryDirectory(prefix="ptxlab-check-", ignore_cleanup_errors=True) as folder:
        report = Path(folder) / "launches.jsonl"
        report.touch()
        how_it_ended, status = _run_in_process(path, arguments, report, quiet, schedules)
        return _checked(file, report.read_text(encoding="ascii"), how_it_ended, status)


def _run_in_process(
    path: Path, arguments: list[str], report: Path, quiet: bool, schedules: bool
) -> tuple[str, int]:
    """Run the file, and what it forks, to the end; what went wrong beside it, and its exit status."""
    # the write end is open as long as a process that was forked from this one lives
    alive, held = os.pipe() if os.name == "posix" else (-1, -1)
    settings = {
        "path": str(path),
        "arguments": arguments,
        "report": str(report.resolve()),
        "schedules": schedules,
        "search": sys.path,
        "held": held,
    }
    out, err = (sys.stderr, sys.stderr) if quiet else (sys.stdout, sys.stderr)
    warning_options = [f"-W{option}" for option in sys.warnoptions]
    command = [sys.executable, *warning_options, "-c", _START, json.dumps(settings)]
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    problem = ""
    try:
        process = subprocess.Popen(
            command,
            stdout=_descriptor(out),
            stderr=_descriptor(err),
            pass_fds=() if held < 0 else (held,),
        )
        _close(held)
        try:
            texts = process.communicate()
        except KeyboardInterrupt:  # a terminal sends it to the other process as well
            problem = "it was interrupted"
            try:
                texts = process.communicate(timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                texts = process.communicate()
        for text, stream in zip(texts, (out, err), strict=True):
            if text:
                stream.write(text.decode(errors="backslashreplace"))
        if not problem and _still_runs(alive):
            problem = "a process that it forked still runs"
        return problem, process.returncode
    finally:
        _close(alive)


#: What the other process runs. Modules are found as in this one, whatever stands in the working folder.
_START = (
    "import json, sys; settings = json.loads(sys.argv[1]); sys.path[:] = settings['search']; "
    "from ptxlab.cli.checked_run import main; main(settings)"
)


def _descriptor(stream: TextIO | None) -> int:
    """Where the other process writes: the same file, or a pipe if the stream is none, as in a test."""
    try:
        return subprocess.PIPE if stream is None else stream.fileno()
    except (AttributeError, OSError, ValueError):
        return subprocess.PIPE


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        os.close(descriptor)


def _still_runs(alive: int) -> bool:
    """Whether a process that inherited the other end of this pipe lives on."""
    if alive < 0:
        return False
    from select import select

    return not select([alive], [], [], _PATIENCE)[0]


def _checked(file: str, report: str, problem: str, status: int) -> Checked:
    """The launches of a report, and why the file did not run to its end, if it did not."""
    begun: dict[str, str] = {}
    launches: dict[str, CheckedLaunch] = {}
    failure = (
        f"its process was ended by signal {-status}"
        if status < 0
        else f"its process left Python with status {status}, as os._exit does, and what it did is not known"
    )
    for line in report.splitlines():
        kind, key, value = json.loads(line)
        if kind == "ended":
            failure = value
        elif kind == "begun":
            begun[key] = value
        else:
            findings = [
                Finding(**{**finding, "place": tuple(finding["place"])}) for finding in value["findings"]
            ]
            value |= {"place": tuple(value["place"]), "findings": findings}
            launches[key] = CheckedLaunch(**value)
    unfinished = [title for key, title in begun.items() if key not in launches]
    if unfinished and not failure:
        failure = f"it ended before {counted(len(unfinished), 'launch')}, of {unfinished[0]}"
    return Checked(file, list(launches.values()), problem or failure)


# -- in the other process ------------------------------------------------------------------------------------


def main(settings: dict[str, Any]) -> None:
    """Run the file, as Python does, and report its launches until Python ends."""
    path, folder, process = Path(settings["path"]).resolve(), Path.cwd(), os.getpid()
    if settings["held"] >= 0:
        os.set_inheritable(settings["held"], False)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # as `ptxlab` does
    report = _Report(settings["report"], path, folder)
    failure = "it did not begin"

    # Python calls this after threads have ended, and after all other functions that are registered.
    @atexit.register
    def end() -> None:
        if os.getpid() == process:
            report.write("ended", "", failure)

    _record_launches(report, settings["schedules"])
    stack = contextlib.ExitStack()  # closed by nothing: threads may launch until the end
    with contextlib.suppress(PtxlabError):
        stack.enter_context(simulating())
    sys.argv = [settings["path"], *settings["arguments"]]
    is_test = path.stem.startswith("test_") or path.stem.endswith("_test")
    failure = _run_tests(path, settings["arguments"]) if is_test else run_script(path)


def run_script(path: Path) -> str:
    """Run a script as Python does; why it failed, if it did."""
    sys.path.insert(0, str(path.parent))
    functions = vars(builtins).copy()
    try:
        try:
            runpy.run_path(str(path), run_name="__main__")
        finally:
            builtins.__dict__.update(functions)  # the script may have replaced them
    except SystemExit as stop:
        code = stop.code
        if code is None or isinstance(code, int):
            return f"it left with status {int(code)}" if code else ""
        return _text_of(code)  # a message, which Python prints
    except BaseException as problem:
        with contextlib.suppress(BaseException):
            traceback.print_exc()
        return f"{type(problem).__name__}: {_text_of(problem)}"
    return ""


def _text_of(value: object) -> str:
    try:
        return str(value)
    except BaseException as problem:
        return f"(its text is a {type(problem).__name__})"


def _run_tests(path: Path, arguments: list[str]) -> str:
    try:
        import pytest
    except ImportError:
        return f"{path.name} is a file of tests, which needs pytest: pip install pytest"

    class InThisProcess:
        """Tests that pytest-xdist runs elsewhere would not be looked at."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_cmdline_main(self, config: pytest.Config) -> None:
            if hasattr(config.option, "numprocesses"):
                config.option.numprocesses, config.option.dist, config.option.tx = 0, "no", []

    try:
        options = ["-q", "-p", "no:cacheprovider", *arguments]
        status = pytest.main([str(path), *options], plugins=[InThisProcess()])
    except BaseException as problem:
        return f"{type(problem).__name__}: {_text_of(problem)}"
    return "" if status == 0 else f"pytest left with status {int(status)}"


class _Report:
    """A file of lines, to which this process appends, and processes that it forks.

    It is opened for each line, as the script may close all descriptors.
    """

    def __init__(self, file: str, checked: Path, folder: Path) -> None:
        self._file, self.checked, self._folder = file, checked, folder
        self._numbers = itertools.count()

    def key(self) -> str:
        """A name for a launch."""
        return f"{os.getpid()}.{next(self._numbers)}"

    def write(self, kind: str, key: str, value: object) -> None:
        line = json.dumps([kind, key, value], default=output.plain) + "\n"
        descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, line.encode())  # in one piece, as others may write
        finally:
            os.close(descriptor)

    def shown(self, file: str) -> str:
        """A file as reports name it, relative if it is in the folder in which the command was given."""
        try:
            relative = os.path.relpath(self._folder / file, self._folder)
        except ValueError:  # on another drive of Windows
            return file
        return file if relative.startswith("..") else Path(relative).as_posix()


# -- what a launch gives -------------------------------------------------------------------------------------


def _record_launches(report: _Report, schedules: bool) -> None:
    """From now on launches are simulated, and all simulations reported."""
    original: Callable[..., Result] = Kernel.simulate

    def simulate(kernel: Kernel, grid: Any, block: Any, *arguments: Any, **options: Any) -> Result:
        place, key = _caller(report), report.key()
        launch = CheckedLaunch(kernel.title, kernel.target, grid, block, place, [], {})
        report.write("begun", key, kernel.title)
        try:
            if schedules and "schedule" not in options:
                _run_schedules(kernel, launch, (grid, block, *arguments), options, report)
            result = original(kernel, grid, block, *arguments, **options)
        except PtxlabError as error:
            launch.error = str(error)
            if isinstance(error, HazardError):  # an access out of bounds, a deadlock
                launch.findings += [_finding(hazard, kernel, place, report) for hazard in error.hazards]
                if error.waiting:
                    launch.waiting, launch.picture = error.waiting.json(), str(error.waiting)
            report.write("launch", key, asdict(launch))
            raise
        hazards = (*result.hazards, *result.notes)
        launch.findings += [_finding(hazard, kernel, place, report) for hazard in hazards]
        for line, count in result.conflicts.items():
            sentence = (
                f"line {line}: {counted(count, 'wavefront')} of shared memory more than without conflicts"
            )
            where = _place(kernel, line, place, report)
            launch.findings.append(Finding("bank conflict", "bank conflict", sentence, line, where, _BANKS))
        launch.arithmetic = arithmetic_of(result, options.get("model"))
        report.write("launch", key, asdict(launch))
        return result

    def launch_simulated(
        kernel: Kernel, grid: Any, block: Any, *arguments: Any, stream: Any = None, **options: Any
    ) -> None:
        kernel.simulate(grid, block, *arguments, **options)

    setattr(Kernel, "simulate", simulate)  # noqa: B010  # mypy refuses the assignment of a method
    setattr(Kernel, "launch", launch_simulated)  # noqa: B010


def _run_schedules(
    kernel: Kernel,
    launch: CheckedLaunch,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    report: _Report,
) -> None:
    """Run every schedule of a launch; a witness is a finding."""
    same = {name: options[name] for name in ("shared", "cluster", "model") if name in options}
    found = kernel.check(*arguments, schedules="all", **same)
    launch.schedules = found.proof or found.bound
    if found.witness is not None:
        launch.schedules = "\n".join(["a witness:", *str(found.witness).splitlines()[1:]])
        line = next((step.line for step in reversed(found.witness.steps) if step.line), 0)
        where, outcome = _place(kernel, line, launch.place, report), found.witness.outcome
        launch.findings.append(Finding("hazard", "schedule", outcome, line, where, "every schedule was run"))


def _caller(report: _Report) -> tuple[str, int]:
    """The innermost line of the checked file on the stack; without one, the first outside ptxlab."""
    checked_file, package = str(report.checked), str(Path(__file__).parents[1])
    places = []
    for frame, number in traceback.walk_stack(sys._getframe(1)):
        name = os.path.realpath(frame.f_code.co_filename)
        if name == checked_file:
            return report.shown(name), number
        if not name.startswith(package) and Path(name).exists():
            places.append((report.shown(name), number))
    return places[0] if places else (report.shown(checked_file), 1)


def _place(kernel: Kernel, line: int, caller: tuple[str, int], report: _Report) -> tuple[str, int]:
    """A line of the kernel's source, in the file that contains it; if there is none, the launch."""
    if not line:
        return caller
    for file in (caller[0], *_files_of(kernel)):
        before = lines_before(kernel.source, file)
        if before is not None:
            return report.shown(file), before + line
    return caller


def lines_before(source: str, file: str) -> int | None:
    """How many lines of a file stand before a source that it contains, perhaps as a text of Python."""
    with contextlib.suppress(OSError, ValueError):
        text = _text(file)
        for written in (text, text.replace("\\\\", "\\")):  # in a text that is not raw, \\\\n stands for \\n
            start = written.find(source)
            if start >= 0:
                return written.count("\n", 0, start)
    return None


@lru_cache(maxsize=256)
def _text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")


def _files_of(kernel: Kernel) -> list[str]:
    """Files that may contain the kernel's source: those that its PTX names, and those on the stack."""
    instructions = kernel.function.instructions
    named = [instruction.source.file for instruction in instructions if instruction.source is not None]
    running = [frame.f_code.co_filename for frame, _ in traceback.walk_stack(sys._getframe(1))]
    return list(dict.fromkeys([*named, *running]))


def _finding(hazard: Hazard, kernel: Kernel, caller: tuple[str, int], report: _Report) -> Finding:
    sentence = hazard.sentence
    if hazard.grade == "note":
        sentence += f" ({hazard.evidence})"
    place = _place(kernel, hazard.line, caller, report)
    return Finding(hazard.grade, hazard.kind, sentence, hazard.line, place, hazard.evidence)
