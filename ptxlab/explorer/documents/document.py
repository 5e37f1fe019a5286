"""A document: what the Explorer edits, an instruction that multiplies or moves data with what it reads."""

from __future__ import annotations

from typing import TypeAlias

from ...errors import PtxlabError
from .product_document import ProductDocument
from .transfer_document import TransferDocument

#: What the Explorer edits: an instruction with what it reads, as one immutable value. The instruction decides
#: which of the two opens; the rest asks what both answer: `names`, `arrays`, `codes`, `registers`, `filled`.
Document: TypeAlias = ProductDocument | TransferDocument


def as_product(document: Document) -> ProductDocument:
    """The document, if its instruction multiplies."""
    if isinstance(document, ProductDocument):
        return document
    raise PtxlabError(
        f"{document.ins.mnemonic} moves words and computes nothing; this is for instructions that multiply"
    )


def as_transfer(document: Document) -> TransferDocument:
    """The document, if its instruction moves data."""
    if isinstance(document, TransferDocument):
        return document
    raise PtxlabError(
        f"{document.ins.mnemonic} multiplies matrices; SetTransfer is for instructions that move words"
    )
