"""`judge`: a candidate runs in a process of its own; what it writes is compared here, for one verdict."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_flag, as_int, as_path, is_a
from ..errors import PtxlabError, counted, listing, quoted
from ..gpu.cuda_python import in_a_tab
from ..simulator.kernel import Kernel
from .handout import device_code
from .outputs import Compared, compared, expectation
from .packed import Garbled, from_candidate, pack, read_regular, unpack
from .recordings import job_of, outside
from .sandbox import Ended, run_confined
from .task import HIDDEN_SIZES, Task
from .varied import KINDS, poisoned, varied
from .verdict import Case, Evidence, Finding, Verdict

#: Statuses, the first that holds is given.
ORDER = ("error", "hang", "hazard", "wrong", "incomplete", "review", "clean")
_MEMORY = 8 << 30
_MOST_RECORDED = 10_000  # launches of a Python candidate

Progress = Callable[[int, int, str], object]


def judge(
    candidate: str | Path | Kernel,
    reference: Callable[..., Any] | Kernel | None = None,
    task: Task | str | Path | Callable[..., Any] | None = None,
    *,
    hidden: bool = True,
    seconds: float = 60,
    memory: int = _MEMORY,
    progress: Progress | None = None,
) -> Verdict:
    """The verdict on a kernel: clean, wrong, hazard, hang, review, incomplete or error, with its evidence.

    `candidate` is CUDA C++ or PTX as text, a file of it, a kernel, or a Python file (see `Task.entry`).
    `task` is a `Task`, the folder of one, or its function `arguments(size, seed)`; then `reference` is a
    function of arrays that the arguments name, or a kernel. With `hidden`, the task's hidden sizes are
    launched as well. The candidate runs in another process for so many `seconds` and bytes of `memory`.
    `progress(done, total, words)` is called as launches are judged; it may raise to give up.

    >>> import numpy as np, ptxlab
    >>> source = "__global__ void twice(const float* x, float* y, int n)"
    >>> source += "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n - 1) y[i] = 2 * x[i]; }"
    >>> def arguments(size, seed):
    ...     rng = np.random.default_rng(seed)
    ...     return {"x": rng.normal(size=size).astype("f4"), "y": np.zeros(size, "f4"), "n": size}
    >>> ptxlab.judge(source, lambda x: 2 * x, arguments).status
    'wrong'
    """
    if not is_a(seconds, int, float) or not 0 < seconds < float("inf"):
        raise PtxlabError(f"seconds={quoted(seconds)}: it is a number above 0")
    memory, hidden = as_int(memory, "memory"), as_flag(hidden, "hidden")
    if memory < 1 << 30:
        raise PtxlabError(f"memory={quoted(memory)}: Python itself needs 1 GiB, {1 << 30}, or more")
    if in_a_tab():
        raise PtxlabError("judge needs processes for candidates, and a browser tab has none")
    chosen = _as_task(reference, task)
    source = _as_source(candidate, chosen)
    cases = list(_cases(chosen, hidden))
    with tempfile.TemporaryDirectory(prefix="ptxlab-judge-", ignore_cleanup_errors=True) as name:
        run = _Run(chosen, cases, Path(name), progress, isinstance(source, str), _unseen=[*chosen.unseen])
        jobs = [run.prepared(number) for number in range(len(cases))]
        settings = {
            "python": source if isinstance(source, str) else None,
            "entry": chosen.entry,
            "initial": chosen.initial,
            "torch": chosen.torch,
            "alone": chosen.alone,
            "modules": dict(chosen.modules),
            "kernels": [] if isinstance(source, str) else [source],
            "launches": jobs,
            "profile": run.profiled,
        }
        largest = max((run.bytes_of(number) for number in range(len(cases))), default=0)
        try:
            ended = run_confined(
                Path(name),
                settings,
                seconds,
                memory,
                largest,
                [chosen.folder] if chosen.folder else [],
                run.watch,
            )
        except _Decided:
            ended = Ended(0, "", "")
            run.decided = True
        run.watch_to_the_end()
        if run.recordings and not run.faulty:
            try:
                with from_candidate():
                    run.replay(Path(name) / "replay", seconds, memory, largest)
            except Garbled as error:
                run.garbled(error)
        return run.verdict(ended)


def _as_task(reference: object, task: object) -> Task:
    if isinstance(task, Task):
        return task if reference is None else replace(task, reference=reference)  # type: ignore[arg-type]
    if isinstance(task, str | Path):
        return _as_task(reference, Task.read(task))
    if callable(task) and (callable(reference) or isinstance(reference, Kernel)):
        name = reference.title if isinstance(reference, Kernel) else getattr(reference, "__name__", "kernel")
        return Task(name.strip("<>"), reference, task, hidden_sizes=HIDDEN_SIZES)
    raise PtxlabError(
        f"judge: found the task {quoted(task)} and the reference {quoted(reference)}; it takes a Task, its "
        "folder, or a function arguments(size, seed) together with a reference"
    )


def _as_source(candidate: object, task: Task) -> dict[str, Any] | str:
    """A kernel to compile in the other process, or the text of a Python file."""
    plain = {"name": task.kernel, "target": task.target, "options": task.options, "file": "candidate.cu"}
    if isinstance(candidate, Kernel):
        if candidate.language == "CUDA C++":
            return plain | {
                "text": candidate.source,
                "name": candidate.title if "<" in candidate.title else candidate.name,
                "target": candidate.target,
                "options": candidate.options,
            }
        return plain | {
            "text": candidate.ptx,
            "name": candidate.name,
            "target": candidate.target,
            "options": (),
        }
    if isinstance(candidate, str) and (
        "\n" in candidate or "__global__" in candidate or ".entry" in candidate
    ):
        return plain | {"text": device_code(candidate)}
    path = as_path(candidate, "candidate")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise PtxlabError(
            f"candidate={quoted(str(candidate))}: {error}; it is CUDA C++ or PTX, a file of it or of Python"
        ) from None
    if path.suffix == ".py":
        return text
    if path.suffix not in (".cu", ".cuh", ".ptx", ".cpp", ".txt", ""):
        raise PtxlabError(f"candidate={quoted(str(candidate))}: it is a file .cu, .ptx or .py")
    return plain | {"text": device_code(text), "file": path.name}


def _cases(task: Task, hidden: bool) -> Iterator[Case]:
    """What is launched: all sizes with inputs as the task gives them, then those that find more faults."""
    sizes = [(size, False) for size in task.sizes] + [(size, True) for size in task.hidden_sizes if hidden]
    for seed in range(task.seeds):
        for size, is_hidden in sizes:
            if seed == 0 or is_hidden or size == task.sizes[-1]:
                yield Case(size, seed, KINDS[0], is_hidden)
    if task.inputs == "varied":
        for number, kind in enumerate(KINDS[1:]):
            chosen = sizes if kind == "integers" else sizes[-2:]
            for size, is_hidden in chosen:
                yield Case(size, 10 + number, kind, is_hidden)
    for _ in task.aliases[:1]:
        for size, is_hidden in sizes[-2:]:
            yield Case(size, 20, "one array for two", is_hidden)


class _Decided(Exception):
    """A fault was found: the candidate need not go on."""


@dataclass
class _Run:
    """A candidate's launches, judged as they are reported."""

    task: Task
    cases: list[Case]
    folder: Path
    progress: Progress | None
    python: bool = False
    decided: bool = False
    _before: dict[int, dict[str, Any]] = field(default_factory=dict)
    _rows: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    _outputs: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _read: int = 0  # bytes of the report
    _judged: set[int] = field(default_factory=set)
    _verdicts: list[tuple[str, str]] = field(default_factory=list)
    _findings: list[Finding] = field(default_factory=list)
    _arithmetic: dict[str, str] = field(default_factory=dict)
    _opcodes: set[str] = field(default_factory=set)
    _remarks: list[str] = field(default_factory=list)
    _unseen: list[str] = field(default_factory=list)
    _confined: tuple[str, ...] = ()
    _microseconds: float | None = None
    _begun: int | None = None
    _complete: bool = False
    _returned: dict[int, list[NDArray[Any]]] = field(default_factory=dict)  # by a Python candidate
    recordings: list[dict[str, Any]] = field(default_factory=list)  # of its launches

    def prepared(self, number: int) -> dict[str, Any]:
        """Write the inputs of a launch; its description for the other process."""
        case, task = self.cases[number], self.task
        arguments = task.arguments_of(case.size, case.seed)
        outputs = next(iter(self._outputs.values()), ()) or task.outputs_of(case.size, arguments)
        pure = [name for name in outputs if name not in task.updated]
        for name, value in arguments.items():
            if name in pure:
                arguments[name] = poisoned(value)
            elif isinstance(value, np.ndarray) and value.ndim:
                arguments[name] = varied(value, case.inputs, case.seed, task.nan)
        if case.inputs == "one array for two":
            output, source = task.aliases[0]
            arguments[output] = arguments[source]
        self._before[number] = arguments
        self._outputs[number] = outputs
        self._rows[number] = pack(arguments, self.folder / f"in-{number}")
        launch = None if self.python else task.launch_of(case.size)
        facts = {"arguments": self._rows[number], "kernel": 0, "limit": task.limit, "chip": task.chip}
        facts |= {"outputs": pure, "seed": case.seed, "model": task.model}
        if launch is not None:
            facts |= {
                "grid": launch.grid,
                "block": launch.block,
                "shared": launch.shared,
                "cluster": launch.cluster,
            }
        return facts

    def bytes_of(self, number: int) -> int:
        """Bytes of the arrays of a launch."""
        return sum(value.nbytes for value in self._before[number].values() if isinstance(value, np.ndarray))

    # -- while the candidate runs --------------------------------------------------------------------------

    @property
    def profiled(self) -> int:
        """The launch whose time is predicted: the largest of the public ones."""
        public = [i for i, case in enumerate(self.cases) if not case.hidden and case.inputs == KINDS[0]]
        return max(public, key=lambda number: (self.bytes_of(number), -number))

    @property
    def faulty(self) -> bool:
        """Whether a fault was found."""
        return any(status in ("error", "hang", "hazard", "wrong") for status, _ in self._verdicts)

    def watch(self) -> None:
        """Judge what was reported since the last time."""
        self._hear()
        if self.faulty:
            raise _Decided

    def watch_to_the_end(self) -> None:
        """Judge what is left of the report."""
        if not self.decided:
            self._hear()

    def _hear(self) -> None:
        report = self.folder / "report.jsonl"
        if not os.path.lexists(report):
            return
        try:
            with from_candidate():
                data = read_regular(report, self._read)
        except Garbled as error:
            self.garbled(error)
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            if self.faulty:
                self.decided = True
                return
            try:
                with from_candidate():
                    kind, value = json.loads(line)
                self._heard(kind, value)
            except Garbled as error:
                self.garbled(error)
                return

    def garbled(self, error: Garbled) -> None:
        """A candidate's process wrote what it should not."""
        self._say(
            "error", f"its process wrote what cannot be read ({error}): it did not leave the report alone"
        )

    def _heard(self, kind: str, value: Any) -> None:
        if kind == "confined" and not self._confined:
            with from_candidate():
                self._confined = tuple(map(str, value))
        elif kind == "refused":
            self._say("error", f"it does not compile: {value}")
        elif kind == "unseen":
            self._say("incomplete", value)
        elif kind == "begun":
            self._begun = value
        elif kind == "launch":
            with from_candidate():
                number = range(len(self.cases))[value["number"]]
                if number != value["number"]:
                    raise ValueError(number)
            self._judge(number, value)
        elif kind == "recorded" and self.python and len(self.recordings) < _MOST_RECORDED:
            with from_candidate():
                self.recordings.append(dict(value))
        elif kind == "profile":
            with from_candidate():
                self._microseconds = float(value)
        elif kind == "unpredicted":
            self._unseen.append(f"the predicted time: {value}")
        elif kind == "ended":
            self._complete = True

    def _judge(self, number: int, facts: dict[str, Any]) -> None:
        if number in self._judged:
            return
        self._judged.add(number)
        case = self.cases[number]
        with from_candidate():
            outcome = self._found(case, facts)
        self.cases[number] = replace(case, outcome=outcome or "launched")
        if not outcome:
            self._compare(number, facts)
            if self.python and not any(launch.get("number") == number for launch in self.recordings):
                self._say("incomplete", f"it launched nothing{self._where(case)}: no kernel was seen")
        if self.progress is not None:
            self.progress(len(self._judged), len(self.cases), f"size {case.size}" if not case.hidden else "")

    def _found(self, case: Case, facts: dict[str, Any]) -> str:
        """Take what was found in a launch; its outcome, if it is not to be compared."""
        outcome = ""
        for found in facts.get("findings", ()):
            finding = Finding(
                found["grade"],
                found["kind"],
                found["sentence"],
                found["line"],
                ("", found["line"]),
                found["evidence"],
            )
            self._findings.append(finding)
            if finding.grade == "hazard" and not outcome:
                outcome = "hazard"
                self._say("hazard", f"{finding.sentence}{self._where(case)}")
        for name in ("error", "hang", "hazard"):
            if name in facts:
                outcome = name
                self._say(name, f"{facts[name]}{self._where(case)}")
        self._arithmetic |= facts.get("arithmetic", {})
        self._opcodes |= set(facts.get("opcodes", ()))
        for remark in facts.get("decided", ()):
            self._remark(remark)
        if facts.get("clocks"):
            self._remark("it reads a clock of the chip: what it computes may depend on its speed")
        return outcome

    def _compare(self, number: int, facts: dict[str, Any]) -> None:
        case, before, outputs = self.cases[number], self._before[number], self._outputs[number]
        if self.python:
            self._compare_returned(number, facts.get("arguments"))
            return
        with from_candidate():
            after = unpack(self._rows[number], self.folder / f"out-{number}")
        for name, value in before.items():
            if (
                not isinstance(value, np.ndarray)
                or name in outputs
                or any(value is before[out] for out in outputs)
            ):
                continue
            if value.tobytes() != after[name].tobytes() and name not in self.task.updated:
                self.cases[number] = replace(case, outcome="input changed")
                self._say(
                    "wrong",
                    f"it changes its input {name}{_element(name, value, after[name])}{self._where(case)}",
                )
                return
        results = compared(
            expectation(self.task, case.size, before, outputs, [before[name].dtype for name in outputs]),
            [(name, before[name], after[name]) for name in outputs],
        )
        numbers = {name: str(number) for number, name in enumerate(before, 1)}
        for name, result in zip(outputs, results, strict=False):
            lines = facts.get("writes", {}).get(numbers[name], [])
            which = "line" if len(lines) == 1 else "lines"
            written = f"; {which} {listing(lines)} write{'s' if len(lines) == 1 else ''} {name}"
            if result.wrong and not lines:
                result.wrong += f"; no line writes {name}: do the grid and the kernel's bounds reach it?"
            elif result.wrong:
                result.wrong += written
        self._take(number, results)

    def _compare_returned(self, number: int, rows: Any) -> None:
        """What a function returned; its inputs are copies, and nothing here depends on them."""
        case, before, names = self.cases[number], self._before[number], self._outputs[number]
        with from_candidate():
            after = [np.asarray(value) for value in unpack(rows, self.folder / f"out-{number}").values()]
        self._returned[number] = after
        if not names:
            names = tuple(f"result[{index}]" for index in range(len(after)))
        if len(names) != len(after):
            self._say("wrong", f"it returns {counted(len(after), 'array')}; the task has {len(names)}")
            return
        if self.task.check is not None:
            wrong = self.task.check(list(before.values()), after)
            elements = sum(array.size for array in after)
            self._take(number, [Compared(elements, False, 0.0, "the task's own check", wrong=wrong)])
            return
        expected = expectation(
            self.task, case.size, before, self._outputs[number], [array.dtype for array in after]
        )
        results: list[tuple[str, NDArray[Any] | None, NDArray[Any]]] = [
            (name, None, array) for name, array in zip(names, after, strict=True)
        ]
        self._take(number, compared(expected, results))

    def _take(self, number: int, results: list[Compared]) -> None:
        case = self.cases[number]
        worst = max((result.worst for result in results), default=0.0)
        elements = sum(result.elements for result in results)
        bound = next((result.bound for result in results if result.bound[:5] != "exact"), "exact")
        outcome = "equal" if all(result.equal for result in results) else "within the bound"
        for result in results:
            if result.unknown:
                outcome = "not decided"
                self._say("incomplete", f"{result.unknown}{self._where(case)}")
            elif result.unbounded:
                outcome = "not decided"
                text = (
                    f"{counted(result.unbounded, 'element')} of {result.elements + result.unbounded} may be "
                )
                text += f"anything by the reference, which divides by what may be 0{self._where(case)}"
                if case.inputs == KINDS[0]:
                    self._say("incomplete", text)
                else:
                    self._unseen.append(text)
            elif result.wrong:
                outcome = "differs"
                self._say("wrong", f"{result.wrong}{self._where(case)}{self._right_elsewhere()}")
        self.cases[number] = replace(case, outcome=outcome, elements=elements, worst=worst, bound=bound)

    def _where(self, case: Case) -> str:
        size = "a hidden size" if case.hidden else f"size {case.size}"
        inputs = "" if case.inputs == KINDS[0] else f", {case.inputs}"
        return f" (at {size}, seed {case.seed}{inputs})"

    def _right_elsewhere(self) -> str:
        right = [
            case for case in self.cases if case.outcome in ("equal", "within the bound") and not case.hidden
        ]
        sizes = listing(list(dict.fromkeys(str(case.size) for case in right)), 5)
        return f"; it is right at {sizes}" if right else ""

    def _say(self, status: str, reason: str) -> None:
        self._verdicts.append((status, reason))

    def _remark(self, text: str) -> None:
        if text not in self._remarks:
            self._remarks.append(text)

    def replay(self, folder: Path, seconds: float, memory: int, largest: int) -> None:
        """Run a candidate's launches again where its code is not; say what was computed outside of them."""
        folder.mkdir()
        kernels: dict[tuple[str, str], dict[str, Any]] = {}
        jobs: list[dict[str, Any]] = []
        replayed: list[dict[str, Any]] = []
        for recording in self.recordings:
            if "left" in recording:
                self._remark(
                    f"a launch of {recording['title']} could not be run again, for {recording['left']}: what "
                    "it computes is known from the candidate's process only"
                )
                continue
            key = recording["ptx"], recording["name"]
            source = {
                "text": key[0],
                "name": key[1],
                "target": recording["target"],
                "options": (),
                "file": None,
            }
            kernels.setdefault(key, source)
            before = self.folder / f"launch-{int(recording['file'])}"
            (folder / f"in-{len(jobs)}").write_bytes(read_regular(before))
            jobs.append(job_of(recording, list(kernels).index(key), self.task.limit, self.task.chip))
            replayed.append(recording)
        settings = {"python": None, "kernels": list(kernels.values()), "launches": jobs, "profile": None}
        facts: dict[int, dict[str, Any]] = {}
        ended = run_confined(folder, settings, seconds, memory, largest, [], lambda: None)
        report = folder / "report.jsonl"
        for line in report.read_text(encoding="utf-8").splitlines() if report.is_file() else ():
            kind, value = json.loads(line)
            if kind == "launch":
                facts[value["number"]] = value
                self._found(self.cases[int(replayed[value["number"]]["number"])], value)
        if len(facts) < len(jobs):
            why = ended.problem or "its process ended"
            self._say(
                "incomplete", f"{len(jobs) - len(facts)} of {len(jobs)} launches were not run again: {why}"
            )
            return
        for number in range(len(self.cases)):
            launches = [
                (recording, facts[index], folder / f"in-{index}", folder / f"out-{index}")
                for index, recording in enumerate(replayed)
                if recording["number"] == number and (folder / f"out-{index}").is_file()
            ]
            if number in self._returned and launches:
                inputs = [value for value in self._before[number].values() if isinstance(value, np.ndarray)]
                for remark in outside(inputs, self._returned[number], launches):
                    self._remark(remark)

    # -- at the end ----------------------------------------------------------------------------------------

    def verdict(self, ended: Ended) -> Verdict:
        """The verdict, after the candidate has ended."""
        self._judge_the_end(ended)
        self._look()
        for remark in self._remarks:
            self._say("review", remark)
        status, reason = min(self._verdicts, key=lambda item: ORDER.index(item[0]), default=("clean", ""))
        evidence = self._evidence(ended)
        if status == "clean":
            launches = counted(len(self._judged), "launch")
            reason = f"{launches}, every output right and no hazard"
        return Verdict(self.task.name, status, reason, evidence)  # type: ignore[arg-type]

    def _judge_the_end(self, ended: Ended) -> None:
        if self.decided:
            return
        if self.python:
            self._unseen.append("the predicted time, which a candidate in Python does not get")
        left = len(self.cases) - len(self._judged)
        if left and not any(status == "error" for status, _ in self._verdicts):
            at = "" if self._begun is None else self._where(self.cases[self._begun])
            last = ended.output.strip().splitlines()
            if ended.problem:
                self._say(
                    "incomplete",
                    f"{ended.problem}, and {left} of {len(self.cases)} launches were not judged{at}",
                )
            elif not self._complete:
                how = f"its process ended with status {ended.status}" + (f": {last[-1]}" if last else "")
                self._say("error", f"{how}; {left} of {len(self.cases)} launches were not judged{at}")
            else:
                self._say("incomplete", f"{left} of {len(self.cases)} launches were not judged")
        elif ended.problem:
            self._unseen.append(f"the predicted time: {ended.problem}")

    def _look(self) -> None:
        """What a person should look at, though all outputs are right."""
        budget, predicted = self.task.budget_us, self._microseconds
        if budget is not None and predicted is not None and predicted > budget:
            self._remark(
                f"it is predicted to take {predicted:.3g} µs on {self.task.chip}, more than the budget of "
                f"{budget:.3g} µs"
            )
        if self.task.deterministic and self._unordered():
            self._remark(
                f"{listing(self._unordered())} adds in the order in which threads arrive, and the task "
                "asks for the same bits in every launch; add up in a fixed order"
            )

    def _unordered(self) -> list[str]:
        """Atomic operations whose order decides the last bits."""
        floats = ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2")
        return sorted(
            opcode
            for opcode in self._opcodes
            if opcode.split(".")[0] in ("atom", "red")
            and "add" in opcode.split(".")
            and opcode.split(".")[-1] in floats
        )

    def _reference_microseconds(self) -> float | None:
        """The predicted time of a reference that is a kernel, for the launch whose time was predicted."""
        if self._microseconds is None or not isinstance(self.task.reference, Kernel):
            return None
        number = self.profiled
        launch, values = self.task.launch_of(self.cases[number].size), self._before[number].values()
        with contextlib.suppress(PtxlabError):
            return self.task.reference.profile(
                launch.grid, launch.block, *values, shared=launch.shared, cluster=launch.cluster,
                chip=self.task.chip,
            ).microseconds  # fmt: skip
        return None

    def _evidence(self, ended: Ended) -> Evidence:
        unordered = self._unordered()
        determinism = "no operation depends on the order of threads, except through hazards"
        if unordered:
            determinism = (
                f"{listing(unordered)} adds in the order of arrival: the last bits differ from run to run"
            )
        return Evidence(
            cases=tuple(self.cases),
            findings=tuple(dict.fromkeys(self._findings)),
            arithmetic=self._arithmetic,
            microseconds=self._microseconds,
            reference_microseconds=self._reference_microseconds(),
            budget_us=self.task.budget_us,
            chip=self.task.chip,
            determinism="" if self.faulty or not self._judged else determinism,
            remarks=tuple(self._remarks),
            unseen=tuple(self._unseen),
            confined=self._confined,
            output=ended.output,
        )


def _element(name: str, before: NDArray[Any], after: NDArray[Any]) -> str:
    """The first element that differs."""
    changed = np.flatnonzero(before.reshape(-1).view(np.uint8) != after.reshape(-1).view(np.uint8))
    index = np.unravel_index(int(changed[0]) // before.itemsize, before.shape)
    return f": {name}[{', '.join(map(str, index))}] was {before[index]} and is {after[index]}"
