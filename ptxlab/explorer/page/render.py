"""What the page draws of a document: the matrices and the instruction, and what each is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, NamedTuple

from ..documents.transfer_document import TransferDocument
from ..state import ExplorerState
from .instruction_info import instruction_info
from .page_model import MATRICES
from .page_values import comparison_bytes, matrix_bytes
from .transfer_view import transfer_bytes, transfer_info

#: What a value of the page is made from. The very same objects make the same value: arrays are immutable.
Sources = tuple[object, ...]


class Rendering(NamedTuple):
    """The values of the page that follow from a document: what each is made from, and how it is drawn."""

    sources: Mapping[str, Sources]
    draw: Callable[[str], dict[str, Any]]

    def changed(self, sent: Mapping[str, Sources]) -> list[str]:
        """The names of the values that are made from other objects than those which were sent."""
        return [
            name
            for name, objects in self.sources.items()
            if name not in sent or not all(map(is_, objects, sent[name]))
        ]


def render(state: ExplorerState) -> Rendering:
    """What the page draws of the document; the D of a GPU may be refused."""
    document = state.document
    if isinstance(document, TransferDocument):
        return _render_transfer(document)
    document.chip_choice.check_available()
    arrays, modifiers, choice = document.operation.arrays, document.operation.modifiers, document.chip_choice
    comparison = document.comparison()
    sparse = (arrays["A"], arrays.get("E"), modifiers)
    sources: dict[str, Sources] = {
        "A": sparse,
        "stored": sparse,
        "B": (arrays["B"],),
        "C": (arrays["C"],),
        "D": (comparison.codes, comparison.other, choice.against),
        "E": (arrays.get("E"), modifiers),
        "SFA": (arrays.get("SFA"), modifiers),
        "SFB": (arrays.get("SFB"), modifiers),
        "instruction": (document.ins, modifiers, choice.has_result),
    }

    def draw(name: str) -> dict[str, Any]:
        if name == "instruction":
            return instruction_info(state)
        return comparison_bytes(document, comparison) if name == "D" else matrix_bytes(document, name)

    return Rendering(sources, draw)


def _render_transfer(transfer: TransferDocument) -> Rendering:
    words: dict[str, Sources] = {name: (transfer.arrays.get(name),) for name in MATRICES}

    def draw(name: str) -> dict[str, Any]:
        return transfer_info(transfer) if name == "instruction" else transfer_bytes(transfer, name)

    return Rendering({**words, "D": (transfer,), "instruction": transfer.settings}, draw)
