"""The tools that `ptxlab mcp` offers: commands of ptxlab, each in a process of its own.

A result is short, and has a link to the resource with all that the command gave. A command that takes longer
than a second reports progress; when a call is cancelled, or the client leaves, its process and whatever that
started are ended.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import anyio
from anyio.abc import ByteReceiveStream, Process
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.types import CallToolResult, ResourceLink, TextContent
from pydantic import Field

from .._version import __version__
from ..errors import PtxlabError, quoted
from . import ask as questions

_SHOWN = 10  # entries of a list in a short result
_TEXT = 4000  # characters of an answer that are shown
_KEPT = 64  # results that can be read again
_PATIENCE = 3.0  # seconds that an interrupted command has to end what it started
_MOST_BYTES = 64 << 20  # of what a command prints
#: What a process of a command runs. Modules are found as in this one, whatever stands in the working folder.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from ptxlab.cli import main; sys.exit(main())"
)

server = MCPServer(
    "ptxlab",
    version=__version__,
    log_level="WARNING",
    instructions=(
        "Verifies CUDA C++, PTX and Triton kernels without a GPU. `judge` gives the verdict on a "
        "candidate for a task: clean, wrong, hazard, hang, review, incomplete or error. `simulate` runs "
        "one launch bit for bit and names races, missing waits and accesses out of bounds by line; "
        "`check` does so for a Python script. `profile` predicts the time on an H200. `compare` says "
        "where the results of two kernels part. `ask` answers questions on layouts, descriptors, bank "
        "conflicts and legality of instructions."
    ),
)

Seconds = Annotated[float, Field(description="when the run is ended", gt=0, le=3600)]
Kernel = Annotated[
    str, Field(description="path of a file of CUDA C++ (.cu) or PTX (.ptx), or the source itself")
]
Grid = Annotated[str, Field(description="blocks, such as 8 or 8,8")]
Block = Annotated[str, Field(description="threads of a block, such as 128 or 16,16")]
Arguments = Annotated[
    list[str],
    Field(
        description="one per parameter: a number, a file of np.save (x.npy), or FILL:TYPE:SHAPE such as "
        "zeros:float32:64x64, with zeros, ones, range, normal or bits"
    ),
]
Name = Annotated[str, Field(description="name of the kernel, where the source has several")]
Target = Annotated[str, Field(description="what CUDA C++ is compiled for")]
Shared = Annotated[int, Field(description="bytes of dynamic shared memory", ge=0)]


# -- results -----------------------------------------------------------------------------------------------

_results: OrderedDict[str, str] = OrderedDict()
_numbers = itertools.count(1)


@server.resource("ptxlab://results/{number}", name="result", mime_type="application/json")
def result(number: str) -> str:
    """All that a tool found."""
    if number not in _results:
        raise ResourceNotFoundError(f"result {quoted(number)} is not kept; the last {_KEPT} are")
    return _results[number]


def _answer(tool: str, whole: dict[str, Any], *, failed: bool = False, **short: Any) -> CallToolResult:
    """A short result with a link to the whole; entries without content are left out."""
    number = str(next(_numbers))
    _results[number] = json.dumps(whole, indent=1)
    while len(_results) > _KEPT:
        _results.popitem(last=False)
    facts = {name: value for name, value in short.items() if value not in (None, "", [], {})}
    link = ResourceLink(
        uri=f"ptxlab://results/{number}", name=f"{tool}-{number}.json", mime_type="application/json",
        description="all that was found",
    )  # fmt: skip
    text = TextContent(text=json.dumps(facts, indent=1, ensure_ascii=False))
    return CallToolResult(content=[text, link], structured_content=facts, is_error=failed)


def _first(entries: list[Any]) -> list[Any]:
    """The first entries of a list; the last one says how many more there are."""
    left = len(entries) - _SHOWN
    return entries if left <= 0 else [*entries[:_SHOWN], f"{left} more"]


# -- commands ----------------------------------------------------------------------------------------------


async def _run(context: Context[Any], words: list[str], seconds: float) -> dict[str, Any]:
    """The JSON that a command prints; its one sentence, if it cannot answer, is an error."""
    process = await anyio.open_process(
        [sys.executable, "-c", _START, json.dumps(sys.path), *words],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    printed, said = bytearray(), bytearray()
    try:
        with anyio.fail_after(seconds):
            async with anyio.create_task_group() as reporting:
                reporting.start_soon(_report, context, words[0], said)
                async with anyio.create_task_group() as reading:
                    reading.start_soon(_read, process.stdout, printed, _MOST_BYTES)
                    reading.start_soon(_read, process.stderr, said, 1 << 12)
                    await process.wait()
                    _send(process, "SIGKILL")  # to what it left behind, which may hold the pipes
                reporting.cancel_scope.cancel()
    except TimeoutError:
        raise ToolError(f"ptxlab {words[0]} did not end within {seconds:g} seconds") from None
    finally:
        await _end(process)
    try:
        facts = json.loads(printed)
    except ValueError:
        raise ToolError(_last_line(said) or f"ptxlab {words[0]} left with {process.returncode}") from None
    return facts if isinstance(facts, dict) else {"answer": facts}


async def _read(stream: ByteReceiveStream, into: bytearray, most: int) -> None:
    """Read to the end, and keep the last bytes."""
    async for part in stream:
        into += part
        del into[:-most]


async def _report(context: Context[Any], command: str, said: bytearray) -> None:
    """Report progress every second: the seconds so far, and what the command said last."""
    begun = time.monotonic()
    while True:
        await anyio.sleep(1)
        seconds = time.monotonic() - begun
        message = _last_line(said) or f"ptxlab {command} has run for {seconds:.0f} s"
        await context.report_progress(seconds, None, message)


def _last_line(said: bytearray) -> str:
    lines = said.decode(errors="replace").replace("\r", "\n").strip().splitlines()
    return lines[-1][:500].removeprefix("ptxlab: ") if lines else ""


def _send(process: Process, name: str) -> None:
    """Send a signal to the process and what it started; Windows has none, and ends the tree of processes."""
    with suppress(ProcessLookupError):
        if sys.platform != "win32":
            os.killpg(process.pid, getattr(signal, name))
        elif process.returncode is None:
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False
            )


async def _end(process: Process) -> None:
    """End a process that still runs: with an interrupt, so that it ends what it started, or by force."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            _send(process, "SIGINT")
            with anyio.move_on_after(_PATIENCE):
                await process.wait()
        _send(process, "SIGKILL")
        await process.aclose()


@contextmanager
def _files(*kernels: str) -> Iterator[list[str]]:
    """The files of kernels; a source gets one for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="ptxlab-mcp-", ignore_cleanup_errors=True) as folder:
        names = []
        for number, kernel in enumerate(kernels, 1):
            if re.search(r"[{;\n]", kernel):
                kind = "ptx" if re.search(r"^\s*\.version\b", kernel, re.M) else "cu"
                file = Path(folder, f"kernel{number if len(kernels) > 1 else ''}.{kind}")
                file.write_text(kernel, encoding="utf-8")
                kernel = str(file)
            names.append(_path(kernel))
        yield names


def _path(file: str) -> str:
    """A path that no command takes for an option."""
    return f"./{file}" if file.startswith("-") else file


def _launch(grid: str, block: str, arguments: list[str], name: str, target: str, shared: int) -> list[str]:
    """The options of a launch, as the command line has them."""
    options = [f"--grid={grid}", f"--block={block}", f"--target={target}", f"--shared={shared}"]
    return [*options, *([f"--name={name}"] if name else []), *(f"--arg={value}" for value in arguments)]


# -- tools -------------------------------------------------------------------------------------------------


@server.tool()
async def judge(
    context: Context[Any],
    candidate: Annotated[str, Field(description="path of the kernel or submission to judge")],
    task: Annotated[
        str, Field(description="folder or file of the task: ptxlab's, GPU MODE's, KernelBench's")
    ],
    seconds: Seconds = 600,
) -> CallToolResult:
    """One verdict on a candidate for a task: clean, wrong, hazard, hang, review, incomplete or error."""
    whole = await _run(
        context, ["judge", _path(candidate), f"--task={task}", "--json", "--progress"], seconds
    )
    evidence = whole["evidence"]
    return _answer(
        "judge", whole, verdict=whole["status"], reason=whole["reason"], task=whole["task"],
        findings=_first(list(dict.fromkeys(found["sentence"] for found in evidence["findings"]))),
        remarks=_first(evidence["remarks"]), unseen=_first(evidence["unseen"]),
        microseconds=evidence["microseconds"], budget_us=evidence["budget_us"],
    )  # fmt: skip


@server.tool()
async def check(
    context: Context[Any],
    file: Annotated[str, Field(description="path of a Python script that launches kernels, or of test_*.py")],
    arguments: Annotated[list[str] | None, Field(description="words for the script")] = None,
    seconds: Seconds = 300,
) -> CallToolResult:
    """Run a Python file without a GPU (Triton, Numba, CuTe DSL, ...): hazards and bank conflicts by line."""
    words = [f"--argument={word}" for word in arguments or []]
    whole = await _run(context, ["check", _path(file), "--json", *words], seconds)
    findings = [
        f"{place}:{line}: {finding['grade']}: {finding['sentence']}"
        for launch in whole["launches"]
        for finding in launch["findings"]
        for place, line in [finding["place"]]
    ]
    findings.sort(key=lambda text: ": hazard: " not in text)
    return _answer(
        "check", whole, verdict=whole["verdict"]["status"], failure=whole["failure"],
        launches=len(whole["launches"]), hazards=whole["hazards"],
        findings=_first(list(dict.fromkeys(findings))),
        waiting=next((launch["picture"] for launch in whole["launches"] if launch["picture"]), ""),
    )  # fmt: skip


@server.tool()
async def simulate(
    context: Context[Any],
    kernel: Kernel,
    arguments: Arguments,
    grid: Grid = "1",
    block: Block = "32",
    name: Name = "",
    target: Target = "sm_90a",
    shared: Shared = 0,
    seconds: Seconds = 300,
) -> CallToolResult:
    """Run one launch bit for bit: what it writes, its hazards and bank conflicts, and the least time."""
    with _files(kernel) as (file,):
        options = _launch(grid, block, arguments, name, target, shared)
        whole = await _run(context, ["simulate", file, "--json", *options], seconds)
    bounds = whole["bounds"]
    return _answer(
        "simulate", whole, kernel=whole["kernel"],
        hazards=_first([hazard["sentence"] for hazard in whole["hazards"]]) or "none",
        notes=_first([note["sentence"] for note in whole["notes"]]),
        bank_conflicts=sum(whole["conflicts"].values()), instructions=sum(whole["counts"].values()),
        arrays=whole["arrays"], bounds=bounds,
    )  # fmt: skip


@server.tool()
async def profile(
    context: Context[Any],
    kernel: Kernel,
    arguments: Arguments,
    grid: Grid = "1",
    block: Block = "32",
    name: Name = "",
    target: Target = "sm_90a",
    shared: Shared = 0,
    seconds: Seconds = 300,
) -> CallToolResult:
    """Predict how long a launch takes on an H200, without one, and what its warps wait for, by line."""
    with _files(kernel) as (file,):
        options = _launch(grid, block, arguments, name, target, shared)
        whole = await _run(context, ["profile", file, "--json", *options], seconds)
    total = sum(whole["reasons"].values()) or 1.0
    lines = {line: sum(reasons.values()) / total for line, reasons in whole["lines"].items()}
    return _answer(
        "profile", whole, kernel=whole["kernel"], chip=whole["chip"], microseconds=whole["microseconds"],
        range=whole["range"], occupancy=whole["occupancy"], units=whole["units"],
        stalls=_largest({reason: amount / total for reason, amount in whole["reasons"].items()}),
        lines=_largest(lines),
    )  # fmt: skip


def _largest(parts: dict[str, float]) -> dict[str, float]:
    """The largest five parts of a whole."""
    return {key: round(part, 3) for key, part in sorted(parts.items(), key=lambda item: -item[1])[:5]}


@server.tool()
async def compare(
    context: Context[Any],
    kernel: Kernel,
    other: Kernel,
    arguments: Arguments,
    grid: Grid = "1",
    block: Block = "32",
    target: Target = "sm_90a",
    shared: Shared = 0,
    output: Annotated[int | None, Field(description="the argument to compare, from 1", ge=1)] = None,
    seconds: Seconds = 300,
) -> CallToolResult:
    """Where the bits of two kernels' results part: the first element and operation that differ, and why."""
    with _files(kernel, other) as files:
        options = _launch(grid, block, arguments, "", target, shared)
        options += [] if output is None else [f"--output={output}"]
        whole = await _run(context, ["compare", *files, "--json", *options], seconds)
    trees = whole["trees"] or []
    return _answer(
        "compare", whole, sentence=whole["sentence"], elements=whole["elements"],
        other_bits=whole["other_bits"] or "none", first=whole["element"], values=whole["values"],
        operations=[operation for tree in trees for operation in tree["first"]],
    )  # fmt: skip


@server.tool()
async def ask(
    question: Annotated[str, Field(description="such as: " + "; ".join(questions.EXAMPLES))],
) -> CallToolResult:
    """Layouts, descriptors, bank conflicts and legality of matrix instructions, in words or as a command."""
    try:
        answer = await anyio.to_thread.run_sync(questions.ask, question)
    except PtxlabError as error:
        raise ToolError(str(error)) from None
    text = answer.text if len(answer.text) <= _TEXT else f"{answer.text[:_TEXT]}\n... the link has the rest"
    return _answer(
        "ask", {"command": answer.command, "text": answer.text}, command=answer.command, answer=text
    )
