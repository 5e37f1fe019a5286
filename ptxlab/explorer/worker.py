"""The Explorer in a browser tab: a session in a Web Worker, front/worker.js."""

from __future__ import annotations

import json
from typing import Any

from ..errors import PtxlabError
from .page.page_model import Outgoing
from .session import PageSession

#: What a page shows by default.
DEFAULT = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"

#: A message as JSON, which includes the places of its bytes, and the bytes.
Encoded = tuple[str, list[bytes]]


class Tab:
    """One Explorer, opened with what the address names: an instruction, even by a short name, or a link.

    >>> tab = Tab()
    >>> [(text, _)] = tab.open("mma.m16n8k16.f16", "[]")
    >>> json.loads(text)["state"]["candidates"]["typed"]
    'mma.m16n8k16.f16'
    """

    def __init__(self) -> None:
        self._session: PageSession | None = None

    def open(self, requested: str, waiting: str) -> list[Encoded]:
        """Open what was requested, handle what the page sent meanwhile (JSON), and send the whole state."""
        try:
            session, problem = PageSession(requested or DEFAULT), None
        except PtxlabError as error:
            session, problem = PageSession(DEFAULT), error
        self._session = session
        answers: list[Outgoing] = []
        for message in json.loads(waiting):
            answers += [answer for answer in session.handle(message) if answer["method"] == "custom"]
        if problem is not None:
            session.presenter.refuse(problem)
            session.page_model.take_waiting()
        return [encode({"method": "update", "state": session.page_model.get_state()}), *map(encode, answers)]

    def handle(self, message: str) -> list[Encoded]:
        """The answers to a message of the page, as JSON."""
        assert self._session is not None, "the worker opens a session first"
        return [encode(answer) for answer in self._session.handle(json.loads(message))]


def encode(message: Outgoing) -> Encoded:
    """A message without its bytes but with their places, as JSON, and the bytes.

    >>> encode({"method": "update", "state": {"A": {"codes": b"123"}}})
    ('{"method":"update","state":{"A":{"codes":null}},"bytes":[["state","A","codes"]]}', [b'123'])
    """
    places: list[list[str | int]] = []
    buffers: list[bytes] = []

    def without_bytes(value: Any, path: list[str | int]) -> Any:
        if isinstance(value, bytes):
            places.append(path)
            buffers.append(value)
            return None
        if isinstance(value, dict):
            return {key: without_bytes(inner, [*path, key]) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [without_bytes(inner, [*path, index]) for index, inner in enumerate(value)]
        return value

    plain = {**without_bytes(message, []), "bytes": places}
    return json.dumps(plain, separators=(",", ":")), buffers
