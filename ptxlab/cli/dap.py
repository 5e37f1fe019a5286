"""A server of the Debug Adapter Protocol, for VS Code and others: `ptxlab debug --dap`.

Messages are JSON behind a `Content-Length`
(https://microsoft.github.io/debug-adapter-protocol/specification). A thread of the protocol is a warp. What
runs is run in slices, between which messages are read, so that `pause` is heard.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import queue
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from .._util.arguments import as_flag, as_int, as_text
from ..errors import PtxlabError, listing, quoted
from ..simulation import simulating
from ..simulator import Hazard, HazardError
from ..simulator.debug import DebugSession
from ..simulator.debug.debug_session import Breakpoint, Watch
from ..simulator.kernel import Kernel
from ..simulator.launch_record import LaunchRecord, RecordedLaunch
from ..simulator.ptx.syntax import SourceLocation, plain_name
from . import output
from .checked_run import lines_before, run_script
from .dap_variables import SHARED_TYPES, Variables
from .simulate_commands import LaunchOptions, check_count

_MAX_MESSAGE = 1 << 24  # bytes
_MAX_THREADS = 512  # warps that a client lists
_LENGTH = re.compile(rb"Content-Length: *(\d{1,18})\s*$", re.IGNORECASE)
#: What a launch request calls the options of `ptxlab debug`; its `name` is that of the configuration.
_OPTIONS = {
    "grid": "grid", "block": "block", "cluster": "cluster", "arguments": "arg", "options": "option",
    "kernel": "name", "target": "target", "shared": "shared", "seed": "seed",
}  # fmt: skip
_WHILE_RUNNING = (
    "pause", "threads", "setBreakpoints", "setDataBreakpoints", "setExceptionBreakpoints", "disconnect",
    "terminate",
)  # fmt: skip
_BEFORE_LAUNCH = ("initialize", "launch", "attach", "disconnect", "terminate")
_CAPABILITIES = {
    "supportsConfigurationDoneRequest": True,
    "supportsConditionalBreakpoints": True,
    "supportsDataBreakpoints": True,
    "supportsEvaluateForHovers": True,
    "supportsExceptionInfoRequest": True,
    "supportsStepBack": True,
    "supportsSteppingGranularity": True,
    "supportsTerminateRequest": True,
    "exceptionBreakpointFilters": [
        {
            "filter": "hazard",
            "label": "Hazards",
            "description": "Run the launch once before, and stop at its races, missing waits and the like",
            "default": True,
        }
    ],
}
#: How each request that moves does so: forwards or backwards, and what the stop is called.
_MOTIONS = {
    "continue": ("run", ""), "reverseContinue": ("run_back", ""), "next": ("step", "step"),
    "stepIn": ("step", "step"), "stepOut": ("step_out", "step"), "stepBack": ("back", "step"),
}  # fmt: skip


def serve(file: str | None, launch: LaunchOptions, port: int | None) -> None:
    """Talk with a client on standard input and output, or on a port of this machine with one after another.

    `file` and `launch` are what a client's launch request leaves out.
    """
    if port is None:
        # What the program prints must not come between the messages, nor may it read them.
        reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        Adapter(reader, writer, file, launch).run()  # the client may leave its end open: nothing is closed
        return
    with socket.create_server(("127.0.0.1", port)) as server:
        output.write(f"waiting for a debugger's client on port {server.getsockname()[1]}")
        sys.stdout.flush()
        while True:
            connection, _ = server.accept()
            with connection, connection.makefile("rwb") as stream:
                Adapter(stream, stream, file, launch).run()
                with contextlib.suppress(OSError):  # the client has gone
                    connection.shutdown(socket.SHUT_RDWR)


# -- messages ------------------------------------------------------------------------------------------------


def read_messages(stream: BinaryIO | io.BufferedRWPair) -> Iterator[dict[str, Any] | PtxlabError]:
    """The messages of a stream; what is none is an error, after which the next header is looked for.

    >>> stream = io.BytesIO(b'Content-Length: 1\\r\\n\\r\\n{}Content-Length: 13\\r\\n\\r\\n{"command": 1}')
    >>> [type(message).__name__ for message in read_messages(stream)]
    ['PtxlabError', 'PtxlabError']
    """
    rest = b""  # what follows a message that was longer than it said

    def line() -> bytes:
        nonlocal rest
        if b"\n" in rest:
            first, _, rest = rest.partition(b"\n")
            return first + b"\n"
        text, rest = rest + stream.readline(_MAX_MESSAGE), b""
        return text

    while True:
        length = -1
        while text := line():
            if match := _LENGTH.search(text):
                length = int(match[1])
            elif not text.strip() and length >= 0:
                break
            elif not text.strip():
                yield PtxlabError("a header without a Content-Length; each message takes one, in bytes")
        if not text:
            return
        if length > _MAX_MESSAGE:
            yield PtxlabError(f"Content-Length: {length}: a message has at most {_MAX_MESSAGE} bytes")
            continue
        body = rest[:length]
        rest = rest[length:]
        body += stream.read(length - len(body))
        try:
            message = json.loads(body)
            if not isinstance(message, dict) or not isinstance(message.get("command"), str):
                raise ValueError("it has no command")
            yield message
        except (ValueError, RecursionError) as error:
            start = body.lower().find(b"content-length:", 1)
            rest = body[start:] + rest if start > 0 else rest
            yield PtxlabError(
                f"a message of {length} bytes cannot be read ({quoted(str(error), 80)}); it takes JSON of a "
                "request, as long as its Content-Length says"
            )


class _Printed(io.TextIOBase):
    """A stream that sends what is printed to the client."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send

    def write(self, text: str) -> int:
        self._send(text)
        return len(text)


# -- the program ---------------------------------------------------------------------------------------------


class _LaunchReached(SystemExit):
    """The launch that is to be debugged begins: nothing else of the script is run."""


class _ChosenLaunch(LaunchRecord):
    """Waits for a launch, by the name of its kernel or its number."""

    def __init__(self, chosen: str | int) -> None:
        super().__init__()
        self.chosen = chosen
        self.launch: RecordedLaunch | None = None
        self.titles: list[str] = []

    def add(self, launch: RecordedLaunch) -> None:
        """Keep the launch and leave the script, if it is the one."""
        names = *launch.names, self.count
        self.count += 1
        self.titles.append(launch.names[0])
        if self.chosen in names and self.launch is None:
            self.launch = launch.kept()
            raise _LaunchReached


def launch_of_script(path: Path, chosen: str | int, arguments: list[str]) -> RecordedLaunch:
    """Run a Python file on the simulator until the chosen launch begins."""
    record = _ChosenLaunch(chosen)
    sys.argv = [str(path), *arguments]
    with simulating():
        record.open()
        try:
            failure = run_script(path)
        finally:
            record.close()
    if record.launch is not None:
        return record.launch
    launches = (
        f"it launches {listing(dict.fromkeys(record.titles))}" if record.titles else "it launches nothing"
    )
    reason = f", and did not run to its end: {failure}" if failure else ""
    raise PtxlabError(f"{path.name} does not launch {quoted(chosen)}; {launches}{reason}")


@dataclass(frozen=True)
class _Place:
    """The file in which the kernel's source is, and how many lines are before it there."""

    path: Path | None
    before: int = 0

    @classmethod
    def of(cls, kernel: Kernel, program: Path) -> _Place:
        """Where the text of the source is: in the program, or in a file that the PTX names."""
        named = [item.source.file for item in kernel.function.instructions if item.source is not None]
        for file in dict.fromkeys([str(program), *named]):
            before = lines_before(kernel.source, file)
            if before is not None:
                return cls(Path(file).resolve(), before)
        return cls(None)


class Adapter:
    """One client, from `initialize` to `disconnect`."""

    def __init__(
        self,
        reader: BinaryIO | io.BufferedRWPair,
        writer: BinaryIO | io.BufferedRWPair,
        file: str | None = None,
        launch: LaunchOptions | None = None,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._file, self._options = file, launch or LaunchOptions()
        self._messages: queue.Queue[dict[str, Any] | PtxlabError | None] = queue.Queue()
        self._sent = 0
        self._session: DebugSession | None = None
        self._first_line = 1  # as the client counts
        self._goes_on = True
        self._moving: tuple[str, dict[str, Any], int] | None = None  # request, arguments, where it began
        self._slices: Iterator[None] | None = None
        self._breakpoints: dict[int, tuple[str, Breakpoint]] = {}  # by number, with the file
        self._hazards: list[tuple[Breakpoint, Hazard]] = []
        self._looks_for_hazards = True
        self._stops_on_entry = False
        self._printed = 0  # characters of the kernel's output
        self._last_number = 0  # of breakpoints
        self._exception: tuple[str, str, str] | None = None

    @property
    def session(self) -> DebugSession:
        """The session; requests that need one are refused before something was launched."""
        assert self._session is not None
        return self._session

    def run(self) -> None:
        """Answer until the client leaves."""

        def read() -> None:
            with contextlib.suppress(OSError, ValueError):  # the client has closed its end
                for message in read_messages(self._reader):
                    self._messages.put(message)
            self._messages.put(None)

        threading.Thread(target=read, daemon=True).start()
        with contextlib.suppress(BrokenPipeError, ConnectionError):
            while self._goes_on:
                try:
                    message = self._messages.get(block=self._slices is None)
                except queue.Empty:
                    self._go_on()
                    continue
                if message is None:
                    break
                self._answer(message)

    # -- requests and answers --------------------------------------------------------------------------------

    def _send(self, kind: str, **content: Any) -> None:
        self._sent += 1
        text = json.dumps({"seq": self._sent, "type": kind, **content}, default=str).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self._writer.flush()

    def _event(self, event: str, **body: Any) -> None:
        self._send("event", event=event, body=body)

    def _print(self, text: str, category: str = "stdout") -> None:
        self._event("output", category=category, output=text)

    def _answer(self, message: dict[str, Any] | PtxlabError) -> None:
        if isinstance(message, PtxlabError):
            self._refuse(0, "", str(message))
            return
        number, command = message.get("seq"), message["command"]
        number = number if isinstance(number, int) else 0
        arguments = message.get("arguments") or {}
        try:
            handler = getattr(self, f"_on_{command}", None) if command.isidentifier() else None
            if command in _MOTIONS:
                handler = partial(self._motion, command)
            if handler is None:
                raise PtxlabError(f"{quoted(command)}: there is no such request here")
            if not isinstance(arguments, dict):
                raise PtxlabError(f"arguments: found {quoted(arguments)}; they are an object")
            if self._session is None and command not in _BEFORE_LAUNCH:
                raise PtxlabError(f"{command}: nothing is launched yet; send a launch request first")
            if self._slices is not None and command not in _WHILE_RUNNING:
                raise PtxlabError("notStopped")
            body = handler(arguments)
        except PtxlabError as error:
            self._refuse(number, command, str(error))
        except Exception as error:
            self._refuse(number, command, f"{command} failed: {type(error).__name__}: {quoted(str(error))}")
        else:
            then = body.pop("then", None) if body else None
            content = {"body": body} if body else {}
            self._send("response", request_seq=number, command=command, success=True, **content)
            if then is not None:
                then()

    def _refuse(self, number: int, command: str, sentence: str) -> None:
        error = {"id": 1, "format": sentence.replace("{", "(").replace("}", ")"), "showUser": True}
        answer = {"request_seq": number, "command": command, "success": False, "message": sentence}
        self._send("response", **answer, body={"error": error})

    # -- beginning and end -----------------------------------------------------------------------------------

    def _on_initialize(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if arguments.get("pathFormat", "path") != "path":
            raise PtxlabError(f"pathFormat={quoted(arguments['pathFormat'])}: files are named by their paths")
        self._first_line = 1 if as_flag(arguments.get("linesStartAt1", True), "linesStartAt1") else 0
        return dict(_CAPABILITIES)

    def _on_launch(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._session is not None:
            raise PtxlabError("a launch is being debugged already; disconnect first")
        program = as_text(arguments.get("program", self._file), "program")
        with contextlib.redirect_stdout(_Printed(self._print)):
            if "cwd" in arguments:
                os.chdir(as_text(arguments["cwd"], "cwd"))
            self._launch = self._launched(program, arguments)
            self._session = self._launch.debug()
        self._place = _Place.of(self._session.kernel, Path(program))
        self.variables = Variables(self._session)
        self._stops_on_entry = as_flag(arguments.get("stopOnEntry", False), "stopOnEntry")
        return {"then": lambda: self._send("event", event="initialized")}

    _on_attach = _on_launch

    def _launched(self, program: str, arguments: dict[str, Any]) -> RecordedLaunch:
        if Path(program).suffix == ".py":
            chosen = arguments.get("kernel", 0)
            chosen = chosen if isinstance(chosen, str) else as_int(chosen, "kernel")
            words = [str(word) for word in _as_list(arguments.get("args", []), "args")]
            return launch_of_script(Path(program).resolve(), chosen, words)
        found: dict[str, Any] = {}
        for key in arguments.keys() & _OPTIONS.keys():
            value, name = arguments[key], _OPTIONS[key]
            if name in ("arg", "option"):
                found[name] = [str(word) for word in _as_list(value, key)]
            elif name in ("shared", "seed"):
                found[name] = as_int(value, key)
            else:
                found[name] = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        options = replace(self._options, **found)
        grid, block, cluster = options.shape
        kernel, values = options.kernel(program), options.values()
        check_count(kernel, values)
        others = {"shared": options.shared, "cluster": cluster}
        names = kernel.title, kernel.name
        return RecordedLaunch(kernel.debug, names, (grid, block), tuple(values), others)

    def _on_configurationDone(self, arguments: dict[str, Any]) -> dict[str, Any]:
        def begin() -> None:
            if self._looks_for_hazards:
                self._look_for_hazards()
            if self._stops_on_entry:
                self._stop("entry")
            elif any(point.holds(self.session) for point in self.session.breakpoints):
                self._stop("")  # at the first instruction
            else:
                self._move("continue", {})

        return {"then": begin}

    def _on_disconnect(self, arguments: dict[str, Any]) -> None:
        self._goes_on = False

    def _on_terminate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._slices = None
        return {"then": lambda: self._event("terminated")}

    # -- where to stop ---------------------------------------------------------------------------------------

    def _look_for_hazards(self) -> None:
        """Run the launch on copies of its arrays; the lines of its hazards become breakpoints."""
        launch, session = self._launch.kept(), self.session
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                result = session.kernel.simulate(
                    *launch.shape, *launch.arguments, **launch.options, show=False
                )
            hazards = result.hazards
        except HazardError as error:  # the last one ends the launch, and the session meets it there
            hazards = [hazard for hazard in error.hazards if hazard is not error.hazard]
        except PtxlabError:
            return
        wide, high, _ = session.grid.blocks
        for hazard in hazards:
            x, y, z = hazard.block
            number = ((z * high + y) * wide + x) * session.grid.warps + hazard.warp
            first: list[int] = []

            def is_first(at: DebugSession, first: list[int] = first) -> bool:
                first[:] = [min(at.position, *first)] if first else [at.position]
                return at.position == first[0]

            self._hazards.append(
                (session.breakpoint(hazard.ptx_line, is_first, warp=number, ptx=True), hazard)
            )
            self._print(f"{hazard.sentence}\n", "console")

    def _on_setExceptionBreakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._looks_for_hazards = "hazard" in _as_list(arguments.get("filters", []), "filters")
        for point, _ in self._hazards:
            with contextlib.suppress(ValueError):
                self.session.breakpoints.remove(point)
            if self._looks_for_hazards:
                self.session.breakpoints.append(point)
        return {"breakpoints": []}

    def _on_setBreakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        source = _as_object(arguments.get("source"), "source")
        path = str(source.get("path") or source.get("name") or "")
        session, answers = self.session, []
        for number, (file, point) in list(self._breakpoints.items()):
            if file == path:
                session.breakpoints.remove(point)
                del self._breakpoints[number]
        for row in _as_list(arguments.get("breakpoints") or [], "breakpoints"):
            wanted = _as_object(row, "breakpoint")
            line = as_int(wanted.get("line"), "line") + 1 - self._first_line
            try:
                point = self._breakpoint(source, line, wanted.get("condition"))
            except PtxlabError as error:
                answers.append({"verified": False, "message": str(error), "line": wanted["line"]})
                continue
            number = self._last_number = self._last_number + 1
            self._breakpoints[number] = path, point
            moved = point.line + self._place.before - 1 + self._first_line
            answers.append({"verified": True, "id": number, "line": moved, "source": source})
        self._begin_again()
        return {"breakpoints": answers}

    def _breakpoint(self, source: dict[str, Any], line: int, condition: object) -> Breakpoint:
        """A breakpoint at a line of a file, or at the next one that has instructions."""
        session, path = self.session, self._place.path
        is_same = source.get("sourceReference") == 1
        with contextlib.suppress(OSError, ValueError):
            is_same = is_same or (path is not None and Path(str(source.get("path"))).resolve() == path)
        if not is_same:
            raise PtxlabError(
                f"{quoted(source.get('path') or source.get('name'))} has no line of {session.title}"
            )
        is_ptx = session.kernel.source is session.kernel.ptx
        has = {item.line if is_ptx else item.source_line for item in session.kernel.module.instructions}
        later = [other for other in has if other >= max(line - self._place.before, 1)]
        if not later:
            raise PtxlabError(f"no instruction of {session.title} is at line {line} or behind it")
        when = None
        if condition:
            text = as_text(condition, "condition")
            try:
                compile(text, "condition", "eval")
            except (SyntaxError, ValueError):
                raise PtxlabError(f"condition {quoted(text)}: it is no expression of Python") from None

            def when(at: DebugSession, text: str = text) -> Any:
                return at.evaluate(text, names=self.variables.arrays)

        return session.breakpoint(min(later), when, ptx=is_ptx)

    def _on_dataBreakpointInfo(self, arguments: dict[str, Any]) -> dict[str, Any]:
        name = as_text(arguments.get("name"), "name")
        reference = as_int(arguments.get("variablesReference") or 0, "variablesReference")
        watched = self.variables.watched(reference, name) if reference else None
        if watched is None:
            return {"dataId": None, "description": f"{name} cannot be watched; elements and registers can"}
        text = json.dumps(watched)
        return {"dataId": text, "description": f"{name} changes", "accessTypes": ["write"]}

    def _on_setDataBreakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        answers: list[dict[str, Any]] = []
        self.session.watches.clear()
        for row in _as_list(arguments.get("breakpoints") or [], "breakpoints"):
            try:
                self._watch(as_text(_as_object(row, "breakpoint").get("dataId"), "dataId"))
                answers.append({"verified": True})
            except PtxlabError as error:
                answers.append({"verified": False, "message": str(error)})
        self._begin_again()
        return {"breakpoints": answers}

    def _watch(self, text: str) -> Watch:
        session = self.session
        try:
            kind, name, *where = json.loads(text)
            if kind == "register":
                return session.watch(register=name, warp=where[0])
            if kind == "array":
                watch = session.watch(name, tuple(where))
                watch.name = f"{self.variables.titles.get(name, name)}{where}"
                return watch
            if kind == "shared":
                block, index = name, where[1]
                dtype = SHARED_TYPES[where[0]]
                watch = session.watch(lambda at: at.shared(block).view(dtype)[index])
                watch.name = f"element {index} of shared memory as {where[0]}"
                return watch
        except (ValueError, TypeError, KeyError, IndexError):
            pass
        raise PtxlabError(f"dataId {quoted(text)}: it is none that dataBreakpointInfo gave")

    # -- motion ----------------------------------------------------------------------------------------------

    def _motion(self, request: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Begin to move, once the request is answered; what has stopped at the end is left by going on."""
        if request == "continue" and self.session.ended:
            return {"allThreadsContinued": True, "then": lambda: self._event("terminated")}
        if request in ("continue", "reverseContinue"):
            return {"allThreadsContinued": True, "then": lambda: self._move(request, arguments)}
        self.session.calls(self._warp(arguments))  # refuses a warp that does not run
        return {"then": lambda: self._move(request, arguments)}

    def _move(self, request: str, arguments: dict[str, Any]) -> None:
        motion, _ = _MOTIONS[request]
        options: dict[str, Any] = {}
        if motion in ("step", "back", "step_out"):
            by_instruction = arguments.get("granularity") == "instruction" and motion != "step_out"
            options = {} if by_instruction else {"warp": self._warp(arguments)}
            if motion != "step_out" and not by_instruction:
                options |= {"line": True, "over": request != "stepIn"}
        self._moving = request, arguments, self.session.position
        self._slices = self.session.in_slices(motion, **options)

    def _go_on(self) -> None:
        """A slice of the motion; behind the last one the client hears where it ended."""
        assert self._slices is not None
        assert self._moving is not None
        try:
            next(self._slices)
        except StopIteration:
            request = self._moving[0]
            self._slices = None
            self._stop(_MOTIONS[request][1])
        except PtxlabError as error:  # a condition that cannot be computed
            self._slices = None
            self._print(f"{error}\n", "stderr")
            self._stop("pause")

    def _leave(self) -> None:
        """Leave a motion; what went backwards returns to where it began."""
        if self._slices is not None and self._moving is not None:
            self._slices = None
            if self._moving[0] in ("reverseContinue", "stepBack"):
                self.session.go(self._moving[2])

    def _begin_again(self) -> None:
        """Let a motion know of other breakpoints."""
        if self._slices is not None and self._moving is not None:
            self._leave()
            self._move(*self._moving[:2])

    def _on_pause(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._slices is None:
            raise PtxlabError("nothing runs")
        self._leave()
        return {"then": lambda: self._stop("pause")}

    def _stop(self, reason: str) -> None:
        """Say why and where it stands."""
        session = self.session
        self._exception = None
        self.variables.forget()
        text, body = session.stopped, dict[str, Any]()
        if len(session.output) > self._printed:
            self._print(session.output[self._printed :])
            self._printed = len(session.output)
        has_run = not reason and not session.ended
        hits = [point for point in session.breakpoints if point.holds(session)] if has_run else []
        hazard = next((hazard for point, hazard in self._hazards if point in hits), None)
        if session.ended and session.error is not None:
            waiting = str(getattr(session.error, "waiting", ""))
            kind = getattr(getattr(session.error, "hazard", None), "kind", "error")
            self._exception = kind, str(session.error), waiting
        elif hazard is not None:
            self._exception = hazard.kind, hazard.sentence, ""
        if self._exception is not None:
            reason, body = "exception", {"text": self._exception[1]}
            text = self._exception[0]
        elif has_run and text.endswith("has changed"):
            reason = "data breakpoint"
        elif hits:
            reason = text = "breakpoint"
            body["hitBreakpointIds"] = [
                number for number, (_, point) in self._breakpoints.items() if point in hits
            ]
        elif session.ended:
            reason, text = reason or "end", "the end of the launch: step back, or continue to leave it"
        waiting_warps = [state.warp for state in session.warps if state.waits_for]
        thread = (*session.next_warps, *waiting_warps, session.warps[0].warp)[0] + 1
        if self._moving is not None and self._moving[1].get("threadId") and reason in ("step", "pause"):
            thread = self._moving[1]["threadId"]
        self._moving = None
        body |= {"reason": reason or "entry", "description": text, "threadId": thread}
        self._event("stopped", allThreadsStopped=True, **body)

    def _on_exceptionInfo(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._exception is None:
            raise PtxlabError("the launch has not stopped at a hazard or an error")
        kind, sentence, waiting = self._exception
        details = {"message": sentence, "typeName": kind, "stackTrace": waiting or sentence}
        return {"exceptionId": kind, "description": sentence, "breakMode": "always", "details": details}

    # -- where it is -----------------------------------------------------------------------------------------

    def _warp(self, arguments: dict[str, Any]) -> int:
        """The warp of a thread; threads are counted from 1."""
        return as_int(arguments.get("threadId"), "threadId") - 1

    def _on_threads(self, arguments: dict[str, Any]) -> dict[str, Any]:
        names: dict[int, str] = {}
        for state in self.session.warps:
            place: str = state.state
            if state.waits_for:
                place = f"waits for {state.waits_for}"
            elif state.instruction is not None:
                place = f"{place}, {state.instruction.where}"
            if state.warp in names:  # its lanes stand at several places
                names[state.warp] += f"; lanes {state.lanes[0]} to {state.lanes[-1]} {place}"
            else:
                names[state.warp] = f"warp {state.warp} of block {state.block}: {place}"
        first = (*self.session.next_warps, 0)[0]
        near = sorted(sorted(names, key=lambda warp: abs(warp - first))[:_MAX_THREADS])
        return {"threads": [{"id": warp + 1, "name": names[warp]} for warp in near]}

    def _on_stackTrace(self, arguments: dict[str, Any]) -> dict[str, Any]:
        session, warp = self.session, self._warp(arguments)
        is_ptx = session.kernel.source is session.kernel.ptx
        frames: list[dict[str, Any]] = []

        def add(name: str, place: SourceLocation | None, line: int) -> None:
            number = (warp + 1) << 8 | min(len(frames), 255)
            line += self._first_line - 1
            frame: dict[str, Any] = {"id": number, "name": name, "line": line, "column": self._first_line}
            own = session.kernel.function.instructions[0].source
            if is_ptx or place is None or own is None or place.file == own.file:
                frame["line"] += self._place.before
                path = self._place.path
                frame["source"] = (
                    {"name": f"{session.title} ({session.kernel.language})", "sourceReference": 1}
                    if path is None
                    else {"name": path.name, "path": str(path)}
                )
            elif Path(place.file).exists():
                frame["source"] = {"name": Path(place.file).name, "path": place.file}
            frames.append(frame)

        for function, index in session.calls(warp):
            instruction = function.instructions[min(index, len(function.instructions) - 1)]
            title = session.title if function is session.kernel.function else plain_name(function.name)
            place = None if is_ptx else instruction.location
            while place is not None and place.inlined_at is not None:
                add(f"inlined into {title}", place, place.line)
                place = place.inlined_at
            add(title, place, instruction.line if place is None else place.line)
        start = as_int(arguments.get("startFrame") or 0, "startFrame")
        most = as_int(arguments.get("levels") or 0, "levels") or len(frames)
        return {"stackFrames": frames[start : start + most], "totalFrames": len(frames)}

    def _on_source(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": self.session.kernel.source}

    # -- what is where ---------------------------------------------------------------------------------------

    def _on_scopes(self, arguments: dict[str, Any]) -> dict[str, Any]:
        warp = (as_int(arguments.get("frameId"), "frameId") >> 8) - 1
        return {"scopes": self.variables.scopes(warp)}

    def _on_variables(self, arguments: dict[str, Any]) -> dict[str, Any]:
        reference = as_int(arguments.get("variablesReference"), "variablesReference")
        start = as_int(arguments.get("start") or 0, "start")
        count = as_int(arguments.get("count") or 0, "count")
        return {"variables": self.variables.below(reference, start, count)}

    def _on_evaluate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        session, warp = self.session, None
        if arguments.get("frameId") is not None:
            warp = (as_int(arguments["frameId"], "frameId") >> 8) - 1
        before = session.position
        expression = as_text(arguments.get("expression"), "expression")
        row = self.variables.row("", session.evaluate(expression, warp=warp, names=self.variables.arrays))
        body = {"result" if key == "value" else key: value for key, value in row.items() if key != "name"}
        if session.position != before:  # as session.first_nan() does
            body["then"] = lambda: self._stop("goto")
        return body


def _as_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise PtxlabError(f"{what}: found {quoted(value)}; it takes a list")
    return value


def _as_object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PtxlabError(f"{what}: found {quoted(value)}; it takes an object")
    return value
