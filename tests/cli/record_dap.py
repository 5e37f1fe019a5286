"""Conversations of VS Code's client with `ptxlab debug --dap`, recorded as JSON lines for `test_dap.py`.

npm install --prefix FOLDER @vscode/debugadapter-testsupport
NODE_PATH=FOLDER/node_modules python -m tests.cli.record_dap
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

from ptxlab.cli.dap import Adapter

FOLDER = Path(__file__).parent / "dap"
CONVERSATIONS = ("rounds", "race", "hang", "script")


class _Recorder(Adapter):
    """Writes down what is said."""

    def listen(self, lines: list[list[Any]]) -> None:
        self._lines = lines
        self.run()

    def _answer(self, message: Any) -> None:
        self._lines.append(["client", message])
        super()._answer(message)

    def _send(self, kind: str, **content: Any) -> None:
        super()._send(kind, **content)
        self._lines.append(["server", json.loads(json.dumps({"seq": self._sent, "type": kind, **content}))])


def masked(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what depends on the compiler: registers, positions, the texts of hazards."""
    text = json.dumps(message, sort_keys=True).replace(json.dumps(str(FOLDER))[1:-1], "$FOLDER")
    masked_message: dict[str, Any] = json.loads(text)
    if masked_message["type"] == "response" and masked_message["command"] == "variables":
        rows = masked_message.get("body", {}).get("variables", [])
        if any(re.match(r"%|lane|position|instruction", row["name"]) for row in rows):
            del masked_message["body"]
    return masked_message


def _record(name: str) -> None:
    lines: list[list[Any]] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = subprocess.Popen(["node", str(FOLDER / "client.js"), str(port), name, str(FOLDER)])
        connection, _ = server.accept()
        with connection, connection.makefile("rwb") as stream:
            _Recorder(stream, stream).listen(lines)
    if client.wait():
        raise SystemExit(f"{name}: the client failed")
    texts = [json.dumps([speaker, masked(message)]) for speaker, message in lines]
    (FOLDER / f"{name}.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for conversation in CONVERSATIONS:
        _record(conversation)
