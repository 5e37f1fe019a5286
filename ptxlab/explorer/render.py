"""What the page draws of a document: the matrices and the instruction, each with what it is made from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any, NamedTuple

from .document import Document
from .instruction_info import instruction_info
from .product_document import ProductDocument
from .state import ExplorerState
from .transfer import TransferOperation
from .transfer_view import transfer_bytes, transfer_info
from .view import MATRICES, comparison_bytes, matrix_bytes


class Part(NamedTuple):
    """A value of the view: the very same sources make the same value, since arrays are immutable."""

    sources: tuple[object, ...]
    draw: Callable[[], dict[str, Any]]


@singledispatch
def render(document: Document, state: ExplorerState) -> dict[str, Part]:
    """The parts of the page that follow from a document, by their names in the view."""
    raise NotImplementedError


@render.register(ProductDocument)
def _render_product(document: ProductDocument, state: ExplorerState) -> dict[str, Part]:
    arrays, modifiers = document.operation.arrays, document.operation.modifiers
    document.chip_choice.check_available()
    comparison = document.comparison()
    sparse = (arrays["A"], arrays.get("E"), modifiers)
    matrices = {
        "A": sparse,
        "stored": sparse,
        "B": (arrays["B"],),
        "C": (arrays["C"],),
        "E": (arrays.get("E"), modifiers),
        "SFA": (arrays.get("SFA"), modifiers),
        "SFB": (arrays.get("SFB"), modifiers),
    }
    parts = {name: Part(sources, partial(matrix_bytes, document, name)) for name, sources in matrices.items()}
    against = document.chip_choice.against
    parts["D"] = Part(
        (comparison.codes, comparison.other, against), partial(comparison_bytes, document, comparison)
    )
    fixed = (document.ins, modifiers, document.has_result)
    parts["instruction"] = Part(fixed, partial(instruction_info, state))
    return parts


@render.register(TransferOperation)
def _render_transfer(document: TransferOperation, state: ExplorerState) -> dict[str, Part]:
    words = {name: (document.arrays.get(name),) for name in MATRICES} | {"D": (document,)}
    parts = {name: Part(sources, partial(transfer_bytes, document, name)) for name, sources in words.items()}
    parts["instruction"] = Part(document.settings, partial(transfer_info, document))
    return parts
