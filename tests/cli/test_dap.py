"""`ptxlab debug --dap`: conversations with VS Code's client, the protocol's own schema, hostile bytes."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import files
from pathlib import Path
from typing import Any

import pytest

from ptxlab.cli import dap
from ptxlab.cli.dap import Adapter

from .record_dap import CONVERSATIONS, FOLDER, masked


class _Client:
    """Sends messages, and reads what the server says."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._number = 0

    def raw(self, content: bytes) -> None:
        self.stream.write(content)
        self.stream.flush()

    def send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))

    def read(self) -> dict[str, Any]:
        length = int(self.stream.readline().partition(b":")[2])
        assert not self.stream.readline().strip()
        message: dict[str, Any] = json.loads(self.stream.read(length))
        return message

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """A request, and its response; events before it are left out."""
        self._number += 1
        self.send({"seq": self._number, "type": "request", "command": command, "arguments": arguments})
        while (answer := self.read())["type"] != "response":
            pass
        assert (answer["command"], answer["request_seq"]) == (command, self._number)
        return answer

    def event(self, name: str) -> dict[str, Any]:
        """The body of the next event of that name."""
        while (message := self.read()).get("event") != name:
            pass
        body: dict[str, Any] = message.get("body", {})
        return body

    def launch(self, file: str, **arguments: Any) -> None:
        self.ask("initialize", adapterID="ptxlab")
        assert self.ask("launch", program=str(FOLDER / file), **arguments)["success"]


@contextmanager
def _server(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Client]:
    """A client of a server in a thread of this process."""
    monkeypatch.setattr(sys, "argv", sys.argv)  # a launch of a script sets it
    monkeypatch.setattr(sys, "path", [*sys.path])
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rwb") as mine, theirs.makefile("rwb") as its:
        ours.settimeout(120)
        thread = threading.Thread(target=Adapter(its, its).run)
        thread.start()
        try:
            yield _Client(mine)
        finally:
            ours.shutdown(socket.SHUT_WR)
            thread.join(60)
    assert not thread.is_alive()


def _lines(name: str) -> list[tuple[str, dict[str, Any]]]:
    folder = json.dumps(str(FOLDER))[1:-1]
    text = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").replace("$FOLDER", folder)
    return [tuple(json.loads(line)) for line in text.splitlines()]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.needs("numba") if name == "script" else ())
        for name in CONVERSATIONS
    ],
)
def test_what_it_said_to_vs_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's messages, each sent when the server has said what it said before."""
    with _server(monkeypatch) as client:
        for speaker, message in _lines(name):
            if speaker == "client":
                client.send(message)
            else:
                assert masked(client.read()) == masked(message)


def _definition(message: dict[str, Any]) -> str:
    if message["type"] == "response" and not message["success"]:
        return "ErrorResponse"
    name = message["event"] if message["type"] == "event" else message["command"]
    return f"{name[0].upper()}{name[1:]}{message['type'].capitalize()}"


@pytest.mark.needs("debugpy")
def test_messages_follow_the_protocols_schema() -> None:
    """Microsoft's schema, which debugpy brings, of all that was recorded, sent and received."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema comes with the lab")
    path = "_vendored/pydevd/_pydevd_bundle/_debug_adapter/debugProtocol.json"
    (file,) = (file for file in files("debugpy") or () if str(file).endswith(path))
    schema = json.loads(Path(str(file.locate())).read_text(encoding="utf-8"))
    seen = set()
    for name in CONVERSATIONS:
        for _, message in _lines(name):
            definition = _definition(message)
            if definition == "VariablesResponse" and "body" not in message:
                continue  # masked
            jsonschema.Draft4Validator({**schema, "$ref": f"#/definitions/{definition}"}).validate(message)
            seen.add(definition)
    assert seen >= {"StepBackResponse", "ReverseContinueResponse", "StoppedEvent", "ExceptionInfoResponse"}
    wrong = {"seq": 1, "type": "event", "event": "stopped", "body": {"reason": 3}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator({**schema, "$ref": "#/definitions/StoppedEvent"}).validate(wrong)


def test_registers_of_a_warp_by_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """What recorded conversations leave out, as it differs between compilers."""
    with _server(monkeypatch) as client:
        client.launch("rounds.cu", block=64, arguments=["range:f4:64", "zeros:i4:1"])
        source = {"path": str(FOLDER / "rounds.cu")}
        client.ask("setBreakpoints", source=source, breakpoints=[{"line": 13}])
        client.ask("configurationDone")
        client.event("stopped")
        (frame,) = client.ask("stackTrace", threadId=2)["body"]["stackFrames"]
        scopes = client.ask("scopes", frameId=frame["id"])["body"]["scopes"]
        rows = client.ask("variables", variablesReference=scopes[0]["variablesReference"])["body"][
            "variables"
        ]
        thread = next(row for row in rows if row["name"].endswith(" threadIdx.x"))
        lanes = client.ask("variables", variablesReference=thread["variablesReference"], start=7, count=2)
        assert [(row["name"], row["value"]) for row in lanes["body"]["variables"]] == [
            ("lane 7", "39"), ("lane 8", "40"),
        ]  # fmt: skip
        name = thread["name"].split()[0].lstrip("%")
        for expression, result in ((f"{name}[8]", "40"), (f"x[{name}[0]] + 1", "33"), ("line", "13")):
            answer = client.ask("evaluate", expression=expression, frameId=frame["id"])
            assert answer["body"]["result"] == result
        info = client.ask(
            "dataBreakpointInfo", variablesReference=scopes[0]["variablesReference"], name=thread["name"]
        )
        assert json.loads(info["body"]["dataId"]) == ["register", f"%{name}", 1]
        assert "none since" in client.ask("variables", variablesReference=999)["message"]


def test_a_launch_that_runs_can_be_paused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = tmp_path / "long.cu"
    kernel.write_text(
        "__global__ void slow(volatile int* x) {\n"
        "  for (int i = 0; i < 1 << 30; ++i)\n"
        "    x[threadIdx.x] += 1;\n"
        "}\n"
    )
    with _server(monkeypatch) as client:
        client.ask("initialize")
        client.ask("launch", program=str(kernel), arguments=["zeros:i4:32"])
        client.ask("setExceptionBreakpoints", filters=[])
        client.ask("configurationDone")
        assert client.ask("stackTrace", threadId=1)["message"] == "notStopped"
        assert client.ask("threads")["success"], "warps may be asked for while they run"
        source = {"path": str(kernel)}
        points = client.ask(
            "setBreakpoints", source=source, breakpoints=[{"line": 3, "condition": "x[0] < 0"}]
        )
        assert points["body"]["breakpoints"][0]["verified"]
        position = 0
        while not position:  # each message is answered before the launch goes on
            client.ask("pause", threadId=1)
            stopped = client.event("stopped")
            assert (stopped["reason"], stopped["threadId"]) == ("pause", 1)
            position = int(client.ask("evaluate", expression="session.position")["body"]["result"])
            if not position:
                client.ask("continue", threadId=1)
        client.ask("reverseContinue", threadId=1)
        client.event("stopped")
        assert client.ask("evaluate", expression="session.position")["body"]["result"] == "0"
        points = client.ask(
            "setBreakpoints", source=source, breakpoints=[{"line": 3, "condition": "x[0] > 20"}]
        )
        client.ask("continue", threadId=1)
        assert client.event("stopped")["reason"] == "breakpoint"
        assert 20 < int(client.ask("evaluate", expression="x[0]")["body"]["result"]) <= 64
        client.ask("setBreakpoints", source=source, breakpoints=[{"line": 3, "condition": "missing"}])
        client.ask("continue", threadId=1)
        assert "NameError" in client.event("output")["output"]
        assert client.event("stopped")["reason"] == "pause"


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (("nonsense", {}), "'nonsense': there is no such request here"),
        (("_on_launch", {}), "'_on_launch': there is no such request here"),
        (("a" * 1000, {}), "there is no such request here"),
        (("stackTrace", {"threadId": 1}), "stackTrace: nothing is launched yet"),
        (("configurationDone", {}), "configurationDone: nothing is launched yet"),
        (("launch", {}), "program: found None; it takes a name"),
        (("launch", {"program": "missing.cu"}), "'missing.cu' cannot be read: there is no such file"),
        (("launch", {"program": str(FOLDER / "hang.cu")}), "there are|several|name"),
        (
            ("launch", {"program": str(FOLDER / "rounds.cu"), "grid": "x"}),
            "--grid 'x': it takes one to three",
        ),
        (
            ("launch", {"program": str(FOLDER / "rounds.cu"), "arguments": 3}),
            "arguments: found 3; it takes a list",
        ),
        (("launch", {"program": str(FOLDER / "rounds.cu")}), "takes 2 arguments"),
        (("launch", {"program": "missing.py"}), "missing.py"),
        (("initialize", {"pathFormat": "uri"}), "pathFormat='uri': files are named by their paths"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0][:20],
)
def test_requests_that_are_refused(request_: Any, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with _server(monkeypatch) as client:
        command, arguments = request_
        answer = client.ask(command, **arguments)
        assert not answer["success"] and re.search(sentence, answer["message"])
        assert client.ask("initialize")["success"], "the server lives"


_HOSTILE: dict[str, tuple[bytes, int]] = {  # and how many messages of it are answered with an error
    "no length": (b"X-Header: 1\r\n\r\n", 1),
    "a length that is no number": (b"Content-Length: many\r\n\r\n", 1),
    "a negative length": (b"Content-Length: -5\r\n\r\n", 1),
    "a length of a thousand digits": (b"Content-Length: " + b"9" * 1000 + b"\r\n\r\n", 1),
    "a length beyond all bounds": (b"Content-Length: 99999999999\r\n\r\n", 1),
    "too short a length": (b'Content-Length: 5\r\n\r\n{"seq":1}\r\n', 1),
    "no JSON": (b"Content-Length: 4\r\n\r\n\xff\xfe{}", 1),
    "deep JSON": (b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000, 1),
    "a list": (b"Content-Length: 2\r\n\r\n[]", 1),
    "no command": (b'Content-Length: 9\r\n\r\n{"seq":1}', 1),
    "a command that is a number": (b'Content-Length: 13\r\n\r\n{"command":1}', 1),
    "arguments that are a list": (b'Content-Length: 40\r\n\r\n{"command":"initialize","arguments":[11]}', 1),
    "newlines": (b"\r\n\n\r\n", 3),
}  # fmt: skip


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_bytes_are_answered(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content, errors = _HOSTILE[name]
    with _server(monkeypatch) as client:
        client.raw(content)
        for _ in range(errors):
            answer = client.read()
            assert (answer["type"], answer["success"]) == ("response", False) and answer["message"]
        assert client.ask("initialize")["success"]


def test_too_long_a_length_swallows_no_further_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message after it is found again."""
    with _server(monkeypatch) as client:
        client.raw(b'Content-Length: 60\r\n\r\n{"seq":1,"command":"threads"}')
        client.send({"seq": 7, "type": "request", "command": "initialize", "arguments": {}})
        assert not client.read()["success"]
        assert client.read()["request_seq"] == 7


def test_a_process_keeps_its_output_from_the_messages(tmp_path: Path) -> None:
    """What a script and a kernel print becomes events, or goes to standard error, never between messages."""
    script = tmp_path / "prints.py"
    script.write_text(
        "import os, sys, numpy as np, ptxlab\n"
        "print('through Python')\n"
        "os.write(1, b'around Python')\n"
        "assert not sys.stdin.read()\n"
        "source = '__global__ void says(int* x) { if (!threadIdx.x) printf(\"%d\\\\n\", *x); }'\n"
        "ptxlab.kernel(source).simulate(1, 32, np.ones(1, np.int32))\n"
    )
    command = [sys.executable, "-m", "ptxlab", "debug", "--dap"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None

    class Pipes:
        """Both as one stream."""

        write, flush = process.stdin.write, process.stdin.flush  # type: ignore[union-attr]
        readline, read = process.stdout.readline, process.stdout.read  # type: ignore[union-attr]

    client = _Client(Pipes)
    client.ask("initialize")
    client.send({"seq": 2, "type": "request", "command": "launch", "arguments": {"program": str(script)}})
    assert client.event("output")["output"].strip() == "through Python"
    assert client.event("initialized") == {}
    client._number = 2
    client.ask("configurationDone")
    assert client.event("output")["output"] == "1\n"
    assert client.event("stopped")["reason"] == "end"
    assert client.ask("disconnect")["success"]
    assert process.wait(60) == 0, "it ends although its input is open"
    process.stdin.close()
    assert b"around Python" in process.stderr.read()
    process.stdout.close()
    process.stderr.close()


def test_a_port_serves_one_client_after_another() -> None:
    command = [sys.executable, "-m", "ptxlab", "debug", str(FOLDER / "rounds.cu"), "--block", "64", "--dap"]
    arguments = ["--arg", "range:f4:64", "--arg", "zeros:i4:1", "--port", "0"]
    process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline().split()[-1])
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port), 60) as connection:
                client = _Client(connection.makefile("rwb"))
                client.ask("initialize")
                assert client.ask("attach")["success"], "the command line names the program"
                assert client.event("initialized") == {}
                assert client.ask("disconnect")["success"]
                assert not client.stream.read(1), "the server closes its end"
                client.stream.close()
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def test_the_command_refuses(refused: Any) -> None:
    assert "--port is for --dap" in refused("debug", str(FOLDER / "rounds.cu"), "--port", "1")
    assert "it takes a file of CUDA C++ or PTX" in refused("debug")


def test_the_guide_has_a_launch_and_an_extension_that_work() -> None:
    """Its launch.json names what a launch request takes, its package.json the command."""
    guide = (Path(__file__).parents[2] / "docs/guide/debugger.md").read_text(encoding="utf-8")
    launches, extension = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", guide, re.DOTALL))
    (debugger,) = extension["contributes"]["debuggers"]
    assert [debugger["runtime"], *debugger["args"]] == ["ptxlab", "debug", "--dap"]
    known = {"name", "type", "request", "program", "stopOnEntry", "args", *dap._OPTIONS}
    for configuration in launches["configurations"]:
        assert configuration["type"] == debugger["type"] and configuration.keys() <= known
