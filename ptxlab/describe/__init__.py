"""Neutral descriptions of instructions and their layouts: plain data that figures, widgets and the command line render."""

from .picture import Cell, Grid, Header, Picture
from .pictures import fragment, lane, metadata, scales, tile
from .tables import Table, evidence, facts, forms, grid, holds, layout, sparse_where, where

__all__ = [
    "Cell", "Grid", "Header", "Picture", "Table", "evidence", "facts", "forms", "fragment", "grid", "holds", "lane", "layout", "metadata", "scales",
    "sparse_where", "tile", "where",
]  # fmt: skip
