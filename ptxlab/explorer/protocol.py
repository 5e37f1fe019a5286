"""What travels to the browser: matrices as bytes, and what is fixed for an instruction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..isa.dtypes import DType
from ..isa.operand import Operand
from ..memory import Tile
from ..views import Picture, palette
from ..views.tables import held_again, selected_by
from .state import Bench, Result

__all__ = ["about", "compared", "difference", "drawn", "held", "identical", "made_of", "wire"]

_DARK_PAPER = "#1C1C1C"


def compared(bench: Bench, result: Result) -> dict[str, Any]:
    """D as bytes; beside it, where there are two, the other's values and codes, which cells differ, how many, and whose they are."""
    sent = wire(bench, "D", result.codes)
    if result.other is None:
        return sent
    other = wire(bench, "D", result.other)
    sent |= {
        "other_values": other["values"],
        "other_codes": other["codes"],
        "by": [bench.chip, bench.against],
    }
    return {**sent, "differ": result.differ.astype(np.uint8).tobytes(), "count": int(result.differ.sum())}


def wire(bench: Bench, name: str, codes: NDArray[Any] | None = None) -> dict[str, Any]:
    """A matrix as bytes: values (float32 or int32), codes (uint32; float64 and uint64 for f64), and for sparse A where each side of it is kept."""
    if name not in bench.names:
        return {}
    operand = bench.operand(name)
    codes = bench.codes(name) if codes is None else codes
    wide = operand.dtype.bits == 64
    values = operand.dtype.decode(codes).astype(
        (np.float64 if wide else np.float32) if operand.dtype.is_float else np.int32
    )
    sent: dict[str, Any] = {
        "values": values.tobytes(),
        "codes": codes.astype(np.uint64 if wide else np.uint32).tobytes(),
    }
    if bench.ins.sparse and name in ("A", "stored"):
        positions = bench.positions()
        home = np.full(operand.shape if name == "A" else bench.operand("A").shape, -1, dtype=np.int32)
        np.put_along_axis(home, positions, np.arange(positions.size).reshape(positions.shape), axis=1)
        sent["home"] = home.tobytes() if name == "A" else positions.astype(np.int32).tobytes()
    return sent


def difference(old: Any, new: Any) -> dict[str, Any] | None:
    """How to make the new from the old: parts by their name, words of bytes and items of lists by their index. None where little stayed.

    >>> difference({"codes": bytes(64), "count": 1}, {"codes": bytes(60) + b"\\7\\0\\0\\0", "count": 2})
    {'parts': {'codes': {'at': b'\\x0f\\x00\\x00\\x00', 'to': b'\\x07\\x00\\x00\\x00'}, 'count': {'new': 2}}}
    >>> difference({"A": ["a", "b", "c"]}, {"A": ["a", "x", "c"]})
    {'parts': {'A': {'at': [1], 'to': ['x']}}}
    """
    if type(old) is not type(new):
        return None
    if isinstance(new, dict):
        if old.keys() != new.keys():
            return None
        return {
            "parts": {
                name: difference(old[name], part) or {"new": part}
                for name, part in new.items()
                if old[name] != part
            }
        }
    if not isinstance(new, bytes | list) or len(old) != len(new) or (isinstance(new, bytes) and len(new) % 4):
        return None
    if isinstance(new, list):
        places = [index for index, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
        return {"at": places, "to": [new[index] for index in places]}
    words = np.frombuffer(new, np.uint32)
    at = np.flatnonzero(words != np.frombuffer(old, np.uint32))
    return (
        {"at": at.astype(np.uint32).tobytes(), "to": words[at].tobytes()}
        if 2 * at.size < words.size
        else None
    )


def made_of(bench: Bench, result: Result) -> dict[str, tuple[Any, ...]]:
    """What everything on the screen is made of. The arrays are never written, so that the same array is the same content."""
    held, options = bench.state.held, bench.options
    sparse = (held["A"], held.get("E"), options)
    parts: dict[str, tuple[Any, ...]] = {name: (held.get(name), options) for name in ("E", "SFA", "SFB")}
    parts |= {
        "A": sparse,
        "stored": sparse,
        "B": (held["B"],),
        "C": (held["C"],),
        "D": (result.codes, result.other, bench.against),
    }
    return {**parts, "about": (bench, options)}


def identical(one: tuple[Any, ...], other: tuple[Any, ...] | None) -> bool:
    """Whether two things are made of the same."""
    return (
        other is not None and len(one) == len(other) and all(x is y for x, y in zip(one, other, strict=True))
    )


def held(bench: Bench, lane: int) -> dict[str, Any]:
    """Registers of a lane, each in hex and with the elements in it."""
    rows = {name: bench.fields(name, lane) for name in bench.ins.operands}
    return {
        name: [{"hex": text, "fields": [dict(vars(field)) for field in fields]} for text, fields in found]
        for name, found in rows.items()
    }


def drawn(picture: Picture) -> dict[str, Any]:
    """A picture of bits as plain lists: its notes, and of every grid the headings, cells and rules."""
    grids = [
        {
            "title": grid.title, "size": list(grid.shape), "axes": list(grid.axes),
            "rows": [[head.start, head.text] for head in grid.rows],
            "columns": [[head.start, head.size, head.text] for head in grid.columns],
            "cells": [
                [cell.row, cell.column, cell.width, cell.text, f"{cell.role} {cell.state}", str(grid.hover[cell.row, cell.column])]
                for cell in grid.cells
                if cell.role != "blank" and cell.text
            ],
            "row_rules": list(grid.row_rules), "column_rules": [list(rule) for rule in grid.column_rules],
        }
        for grid in picture.grids
    ]  # fmt: skip
    return {"title": picture.title, "notes": picture.subtitle.split("; "), "grids": grids}


def about(bench: Bench) -> dict[str, Any]:
    """What is fixed for an instruction: sizes, types, which lane, element, register and bit holds each cell, colours."""
    ins, structure = bench.ins, bench.ins.structure
    return {
        "mnemonic": ins.mnemonic,
        "m": ins.m, "n": ins.n, "k": ins.k, "lanes": ins.lanes, "products": ins.mma_count,
        "chunk": structure.chunk if structure else 0,
        "kept": structure.keep * structure.group if structure else 0,
        "blocks": ins.scale_vec or 0,
        **_stacked(bench),
        "matrices": {name: _describe(bench, name) for name in bench.names},
        "registers": {name: operand.registers for name, operand in ins.operands.items() if operand.registers},
        "colours": {"light": _colours(palette.PAPER, palette.INK, 4.5), "dark": _colours(_DARK_PAPER, "#000000", 5)},
    }  # fmt: skip


def _describe(bench: Bench, name: str) -> dict[str, Any]:
    operand = bench.operand(name)
    label = {"stored": "stored A", "E": "metadata"}.get(name, name)
    said: dict[str, Any] = {
        "label": label, "rows": operand.shape[0], "columns": operand.shape[1], "type": operand.dtype.name, "kind": operand.dtype.kind,
        "bits": operand.dtype.bits, "element": "a" if name == "stored" else name.lower(), "operand": "A" if name == "stored" else name,
        "editable": name != "D", "parts": _parts(operand.dtype), "note": operand.note,
    }  # fmt: skip
    if bench.ins.mma_count > 1:
        said["products"] = {"count": bench.ins.mma_count, "along": "columns" if name == "B" else "rows"}
    if operand.layout is None:
        dense = name == "A" and bench.ins.sparse  # which is nowhere: its stored half is
        return {
            **said,
            "note": "in shared memory, held by no lane",
            **({} if dense else _in_memory(operand, bench.options)),
        }
    said["note"] = _note(bench, name, operand)
    lane, element = np.divmod(operand.layout.scatter(bench.copy_of(name)), operand.layout.elements)
    places = [operand.place(0, index) for index in range(operand.layout.elements)]
    maps = {"lane": lane, "element_map": element}
    maps["register_map"] = np.array([place.register for place in places])[element]
    maps["low"] = np.array([place.low for place in places])[element]
    return {**said, **{key: value.astype(np.int16).tobytes() for key, value in maps.items()}}


def _note(bench: Bench, name: str, operand: Operand) -> str:
    """Which of several copies is read, or where the others are."""
    copies = operand.layout.copies if operand.layout else 1
    for how in selected_by(bench.ins, operand, bench.copy_of(name)):
        return f"one of {copies} copies, read with {how}" if copies > 1 else f"read with {how}"
    return "; ".join(each for each in (held_again(operand), operand.note) if each)


def _in_memory(operand: Operand, options: Mapping[str, Any]) -> dict[str, Any]:
    """Where every element of a tile in shared memory is, as wgmma reads it without a swizzle: byte, core matrix (8 rows of 16 bytes), row in it."""
    if operand.space != "shared":
        return {}
    transposed = options.get(f"imm_trans_{operand.name.lower()}", 0)
    tile = Tile.of(operand, transposed=transposed)
    byte = tile.offsets if operand.axes[0] == "m" else tile.offsets.T
    maps = {"byte": byte, "core": byte // 128, "line": byte % 128 // 16}
    if tile.bits < 8:
        along = np.arange(tile.k) * tile.bits % 8
        maps["low"] = np.broadcast_to(along if operand.axes[0] == "m" else along[:, None], operand.shape)
    return {
        "memory": f"{tile.major}-major, no swizzle",
        **{key: value.astype(np.int16).tobytes() for key, value in maps.items()},
    }


def _stacked(bench: Bench) -> dict[str, Any]:
    """Of several products, stacked: the column of B that goes into each cell of D (else it is the cell's own), and the lanes of each product."""
    ins, layout = bench.ins, bench.ins.d.layout
    if ins.mma_count == 1 or layout is None:
        return {}
    rows, columns = ins.d.shape
    found = np.array([[ins.column_of_b(row, column) for column in range(columns)] for row in range(rows)])
    lanes = layout.scatter() // layout.elements
    return {
        "column_of_b": found.astype(np.int16).tobytes(),
        "lanes_of": [np.unique(part).tolist() for part in np.split(lanes, ins.mma_count)],
    }


def _parts(kind: DType) -> list[tuple[str, int]]:
    """What the bits of a code are, from the highest down, for the picture of a register."""
    if not kind.is_float:
        return [("value", kind.bits)]
    parts = [("sign", int(kind.signed)), ("exponent", kind.exponent_bits), ("fraction", kind.fraction_bits)]
    ignored = ("ignored", kind.bits - sum(length for _, length in parts))
    parts = [*parts, ignored] if kind.ignored_bits else [ignored, *parts]
    return [part for part in parts if part[1]]


def _colours(paper: str, ink: str, least: float) -> list[list[str]]:
    """Background and text of lanes 0..31 on this paper. A shade too middling for any text is taken down until it reads."""

    def shade(hue: str, strength: float) -> list[str]:
        fill = palette.mix(hue, strength, paper)
        text = max((ink, palette.PAPER), key=lambda text: palette.contrast(text, fill))
        return [fill, text] if palette.contrast(fill, text) >= least else shade(hue, strength - 0.01)

    return [shade(hue, strength) for _, hue in palette.HUES for strength in palette.STRENGTHS]
