"""Neutral descriptions of instructions and their layouts: plain data that figures, widgets and the command line render."""

from .bits import trace
from .explain import explain, terms
from .facts import cpp, cute, evidence, facts, machine, target_of
from .models import model_table, rule_words
from .picture import Cell, Grid, Header, Picture
from .pictures import fragment, lane, metadata, registers, scales, tile
from .product import product
from .tables import (
    Table,
    counts,
    forms,
    grid,
    held_again,
    holds,
    layout,
    offsets,
    sparse_where,
    types,
    where,
)
from .values import values

__all__ = [
    "Cell", "Grid", "Header", "Picture", "Table", "counts", "cpp", "cute", "evidence", "explain", "facts", "forms", "fragment", "grid",
    "held_again", "holds", "lane", "layout", "machine", "metadata", "model_table", "offsets", "product", "registers", "rule_words", "scales", "sparse_where", "target_of", "terms",
    "tile", "trace", "types", "values", "where",
]  # fmt: skip
