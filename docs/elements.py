"""The page of element types: bits, range, and the value of every code of the small ones."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from ptxlab import DTYPES, catalog
from ptxlab.isa.catalog import FAMILIES
from ptxlab.isa.dtypes import DType
from ptxlab.views import Cell, Grid, Header, Picture

from .figure import figure
from .page import Page, code, details, facts, table

__all__ = ["build"]

#: The part of a code -> the lane whose colour it has.
_COLOURS = {"sign": 15, "exponent": 10, "fraction": 26, "value": 10, "unused": None}


def build() -> Page:
    page = Page("types.html", "Element types", "Bits, range and codes of every element type.")
    page.head(1, "Element types", listed=False)
    page.add(
        "<p>A <em>code</em> is the bit pattern of one element; a <em>value</em> is what it means. These are all types of the catalogue.</p>"
    )
    used = _users()
    rows = []
    for kind in DTYPES.values():
        smallest, largest = _extremes(kind)
        parts = f"{int(kind.signed)} + {kind.exponent_bits} + {kind.fraction_bits}" if kind.is_float else "-"
        in_ = ", ".join(f"{family} ({count})" for family, count in used.get(kind.name, {}).items())
        name = f'<a href="#{kind.name}">{code(kind.name)}</a>'
        rows.append((name, str(kind.bits), parts, smallest, largest, escape(in_ or "-")))
    heads = (
        "type",
        "bits",
        "sign + exponent + fraction",
        "smallest positive",
        "largest",
        "forms that use it",
    )
    page.add(table(heads, rows, numbers=(1,), label="All element types"))
    for kind in DTYPES.values():
        _type(page, kind)
    return page


def _users() -> dict[str, dict[str, int]]:
    """type -> family -> forms with an operand of it."""
    found: dict[str, dict[str, int]] = {}
    for family in FAMILIES:
        for ins in catalog(family):
            operands = getattr(ins, "operands", {})
            for name in {str(op.dtype) for op in operands.values() if hasattr(op, "dtype")}:
                found.setdefault(name, {}).setdefault(family, 0)
                found[name][family] += 1
    return found


def _type(page: Page, kind: DType) -> None:
    anchor = page.head(2, code(kind.name), page.anchor(kind.name))
    page.find(kind.name, f"element type, {kind.bits} bits", anchor)
    smallest, largest = _extremes(kind)
    page.add(
        figure(_fields(kind), escape(kind.note) or f"{kind.bits} bit{'s' * (kind.bits > 1)}, highest left")
    )
    said: list[tuple[str, str]] = []
    if kind.is_float:
        said = [("largest", largest), ("smallest positive", smallest), ("exponent bias", str(kind.bias))]
        if kind.fraction_bits:
            said.append(("smallest normal", _power(1 - kind.bias)))
        if kind.bits <= 16:
            values = _values(kind)
            said.append(
                ("infinities, NaNs", f"{int(np.isinf(values).sum())}, {int(np.isnan(values).sum())} codes")
            )
        said.append(("one", code(f"0x{int(kind.encode([1.0])[0]):0{max(1, kind.bits // 4)}x}")))
    elif kind.kind == "int":
        said = [("range", f"{kind.minimum} .. {kind.maximum}")]
    page.add(facts(said) if said else "")
    if 1 < kind.bits <= 8:
        codes = _codes(kind)
        page.add(codes if kind.bits <= 4 else details(f"All {1 << kind.bits} codes", codes))


def _fields(kind: DType) -> Picture:
    """The bits of a code, highest left."""
    if kind.is_float:
        unused = kind.bits - kind.signed - kind.exponent_bits - kind.fraction_bits
        low = kind.ignored_bits
        sizes = [
            ("unused", unused - low),
            ("sign", int(kind.signed)),
            ("exponent", kind.exponent_bits),
            ("fraction", kind.fraction_bits),
            ("unused", low),
        ]
    elif kind.kind == "int" and kind.signed:
        sizes = [("sign", 1), ("value", kind.bits - 1)]
    else:
        sizes = [("value", kind.bits)]
    cells, at = [], 0
    hover = np.empty((1, kind.bits), dtype=object)
    for name, size in sizes:
        if not size:
            continue
        high, low = kind.bits - 1 - at, kind.bits - at - size
        where = f"[{high}]" if size == 1 else f"[{high}..{low}]"
        cells.append(Cell(0, at, 1, size, (_short(name, size, kind.bits), where), _COLOURS[name]))
        hover[0, at : at + size] = f"{name}: bits {where}"
        at += size
    heads = (Header(0, kind.bits, (f"{kind.name}: {kind.bits} bit{'s' * (kind.bits > 1)}",)),)
    grid = Grid((1, kind.bits), tuple(cells), hover, (Header(0, 1, ("",)),), heads)
    return Picture(f"Bits of {kind.name}", f"{kind.bits} bits", (grid,))


def _short(name: str, size: int, bits: int) -> str:
    return (
        name[0]
        if size == 1 and bits > 1 and name != "unused"
        else "-"
        if name == "unused" and size < 4
        else name
    )


def _values(kind: DType) -> np.ndarray:
    """The values of all codes."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return np.asarray(kind.decode(np.arange(1 << kind.bits)).astype(np.float64))


def _codes(kind: DType) -> str:
    """The values of all codes, sixteen in a row."""
    values = _values(kind)
    rows = []
    for first in range(0, len(values), 16):
        label = f"0x{first >> 4:x}_" if kind.bits > 4 else "0x_"
        rows.append([code(label), *(_value(float(v)) for v in values[first : first + 16])])
    heads = ("code", *(code(f"{low:x}") for low in range(min(16, len(values)))))
    return table(
        heads, rows, numbers=range(1, 17), label=f"Values of all codes of {kind.name}", style="small"
    )


def _value(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return f'<span class="odd">{value:g}</span>'.replace("inf", "∞").replace("nan", "NaN")
    if (value and abs(value) < 1e-4) or abs(value) >= 1e7:
        mantissa, exponent = math.frexp(value)
        return _power(exponent - 1, mantissa * 2)
    return "-0" if value == 0 and math.copysign(1, value) < 0 else f"{value:.6g}"


def _power(exponent: int, factor: float = 1.0) -> str:
    """2<sup>-9</sup>, with a factor where it is not 1."""
    sign = "" if factor == 1 else "-" if factor == -1 else f"{factor:.6g}·"
    return f'<span class="number">{sign}2<sup>{exponent}</sup></span>'


def _extremes(kind: DType) -> tuple[str, str]:
    """Smallest positive and largest finite value."""
    if not kind.is_float:
        return ("1", str(kind.maximum)) if kind.kind == "int" else ("-", "-")
    if kind.bits <= 16:
        values = _values(kind)
        finite = values[np.isfinite(values) & (values > 0)]
        return _exact(float(finite.min())), _exact(float(finite.max()))
    bottom = 1 - kind.bias - kind.fraction_bits
    return _power(
        bottom
    ), f'<span class="number">(2 - 2<sup>-{kind.fraction_bits}</sup>)·2<sup>{kind.bias}</sup></span>'


def _exact(value: float) -> str:
    mantissa, exponent = math.frexp(value)
    if mantissa == 0.5 and not 1 <= value < 1e6:
        return _power(exponent - 1)
    return _value(value)
