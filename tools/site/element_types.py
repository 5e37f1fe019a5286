"""The page of element types: bits, range, and the value of every code of the small ones."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ptxlab import DTYPES, catalog
from ptxlab._util.files import write_atomically
from ptxlab.isa.catalog import FAMILIES
from ptxlab.isa.dtypes import DType
from ptxlab.isa.tcgen05 import Tcgen05Form
from ptxlab.views import formats, types

from .markdown import Page, code, definitions, figure, link, table

__all__ = ["page", "write"]


def write(folder: Path) -> None:
    write_atomically(folder / "element-types.md", str(page()))


def page() -> Page:
    out = Page("Element types")
    out.add(
        "A *code* is the bit pattern of one element; a *value* is what it means. These are the types of "
        "the catalogue."
    )
    users = _users()
    rows = []
    for dtype in DTYPES.values():
        smallest, largest = _extremes(dtype)
        parts = "-"
        if dtype.is_float:
            parts = f"{int(dtype.signed)} + {dtype.exponent_bits} + {dtype.fraction_bits}"
        forms = ", ".join(f"{family} ({count})" for family, count in users.get(dtype.name, {}).items())
        name = link(code(dtype.name), f"#type-{dtype.name}")
        rows.append((name, str(dtype.bits), parts, smallest, largest, forms or "-"))
    columns = (
        "type",
        "bits",
        "sign + exponent + fraction",
        "smallest positive",
        "largest",
        "forms that use it",
    )
    out.add(table(columns, rows, numbers=(1,)))
    for dtype in DTYPES.values():
        _type(out, dtype)
    return out


def _users() -> dict[str, dict[str, int]]:
    """Type -> family -> forms with an operand of that type."""
    users: dict[str, dict[str, int]] = {}
    for family in FAMILIES:
        for ins in catalog(family):
            names = {str(operand.dtype) for operand in ins.operands.values()}
            if isinstance(ins, Tcgen05Form):
                names = set(types(ins))
            for name in names:
                counts = users.setdefault(name, {})
                counts[family] = counts.get(family, 0) + 1
    return users


def _type(out: Page, dtype: DType) -> None:
    out.heading(2, code(dtype.name), f"type-{dtype.name}")
    out.add(figure(formats(dtype.name)), f"{dtype.note[0].upper()}{dtype.note[1:]}." if dtype.note else "")
    smallest, largest = _extremes(dtype)
    facts: list[tuple[str, str]] = []
    if dtype.is_float:
        facts = [("largest", largest), ("smallest positive", smallest), ("exponent bias", str(dtype.bias))]
        if dtype.fraction_bits:
            facts.append(("smallest normal", _power(1 - dtype.bias)))
        if dtype.bits <= 16:
            values = _values(dtype)
            facts.append(("infinities", f"{int(np.isinf(values).sum())} codes"))
            facts.append(("NaNs", f"{int(np.isnan(values).sum())} codes"))
        one = int(dtype.encode([1.0])[0])
        facts.append(("one", code(f"0x{one:0{max(1, dtype.bits // 4)}x}")))
    elif dtype.kind == "int":
        facts = [("range", f"{dtype.minimum} to {dtype.maximum}")]
    if facts:
        out.add(definitions(facts))
    if 1 < dtype.bits <= 4:
        out.add(_codes(dtype))
    elif 4 < dtype.bits <= 8:
        out.dropdown(f"All {1 << dtype.bits} codes", _codes(dtype))


def _values(dtype: DType) -> NDArray[np.float64]:
    """The values of all codes."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return np.asarray(dtype.decode(np.arange(1 << dtype.bits)).astype(np.float64))


def _codes(dtype: DType) -> str:
    """The values of all codes, sixteen in a row."""
    values = _values(dtype)
    rows = []
    for first in range(0, len(values), 16):
        label = f"0x{first >> 4:x}_" if dtype.bits > 4 else "0x_"
        rows.append((code(label), *(_value(float(value)) for value in values[first : first + 16])))
    columns = ("code", *(code(f"{low:x}") for low in range(min(16, len(values)))))
    return table(columns, rows, numbers=range(1, 17))


def _value(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if (value and abs(value) < 1e-4) or abs(value) >= 1e7:
        mantissa, exponent = math.frexp(value)
        return _power(exponent - 1, mantissa * 2)
    return "-0" if value == 0 and math.copysign(1, value) < 0 else f"{value:.6g}"


def _power(exponent: int, factor: float = 1.0) -> str:
    """2 to that power, with a factor where it is not 1."""
    signs = {1.0: "", -1.0: "-"}
    sign = signs.get(factor, f"{factor:.6g}·")
    return f"{sign}2<sup>{exponent}</sup>"


def _extremes(dtype: DType) -> tuple[str, str]:
    """Smallest positive and largest finite value."""
    if dtype.kind == "int":
        return "1", str(dtype.maximum)
    if not dtype.is_float:
        return "-", "-"
    if dtype.bits <= 16:
        values = _values(dtype)
        finite = values[np.isfinite(values) & (values > 0)]
        return _exact(float(finite.min())), _exact(float(finite.max()))
    bottom = 1 - dtype.bias - dtype.fraction_bits
    return _power(bottom), f"(2 - 2<sup>-{dtype.fraction_bits}</sup>)·2<sup>{dtype.bias}</sup>"


def _exact(value: float) -> str:
    mantissa, exponent = math.frexp(value)
    if mantissa == 0.5 and not 1 <= value < 1e6:
        return _power(exponent - 1)
    return _value(value)
