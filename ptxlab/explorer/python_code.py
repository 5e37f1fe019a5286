"""A bench as Python: text that runs as it stands, without a notebook, and gives the same D."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..isa.operand import Operand
from .state import GPU, Bench

__all__ = ["code"]

_SAID = 1024  # numbers that are written out; more are packed
_ARGUMENTS = {"A": "a", "B": "b", "C": "c", "E": "e", "SFA": "scale_a", "SFB": "scale_b"}


def code(bench: Bench) -> str:
    """The Python that gives this D: matrices by a formula where there is one, else as they are written or, if large, packed.

    >>> import ptxlab
    >>> bench = Bench(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> bench.fill("B", "ones")
    >>> print(code(bench), end="")
    import numpy as np
    import ptxlab
    <BLANKLINE>
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    random = np.random.default_rng(0)
    A = random.integers(-8, 8, (16, 64))
    B = np.ones((64, 8))
    C = np.zeros((16, 8))
    a, b, c = ins.a.pack(A), ins.b.pack(B), ins.c.pack(C)
    d = ins.emulate(a, b, c, model="sm_90")
    D = ins.d.unpack(d)
    """
    ins, held = bench.ins, bench.state.held
    fresh = Bench(ins, bench.seed)
    lines: list[str] = []
    packs: dict[str, str] = {}
    if _same(held["A"], fresh.state.held["A"]) and (
        not ins.sparse or _same(held["E"], fresh.state.held["E"])
    ):
        lines.append(f"random = np.random.default_rng({bench.seed})")
        lines += _drawn(bench, "A", packs)
        if _same(held["B"], fresh.state.held["B"]):
            lines += _drawn(bench, "B", packs)
    for name in held:
        if name not in packs:
            lines += _written(bench, name, packs)
    inputs = ", ".join(_ARGUMENTS[name] for name in packs if name in ("A", "B", "C", "E"))
    lines.append(f"{inputs} = {', '.join(packs[name] for name in packs if name in ('A', 'B', 'C', 'E'))}")
    given = [_ARGUMENTS[name] for name in ("A", "B", "C", "E") if name in held]
    given += [f"{_ARGUMENTS[name]}={packs[name]}" for name in ("SFA", "SFB") if name in held]
    given += [f"{name}={value!r}" for name, value in bench.options.items() if value != ins.modifiers[name][0]]
    do = "ins.run" if bench.chip == GPU else "ins.emulate"
    given += [] if bench.chip == GPU else [f'model="{bench.chip}"']
    space = '.a_from("shared")' if ins.a_space == "shared" else ""
    text = "\n".join([*lines, f"d = {do}({', '.join(given)})", "D = ins.d.unpack(d)"])
    packed = "import base64\nimport zlib\n\n" if "zlib." in text else ""
    return f'{packed}import numpy as np\nimport ptxlab\n\nins = ptxlab.instruction("{ins.mnemonic}"){space}\n{text}\n'


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return bool(np.array_equal(one, other))


def _drawn(bench: Bench, name: str, packs: dict[str, str]) -> list[str]:
    """The random fill that a bench begins with."""
    low, high = bench.span(name)
    lines = [f"{name} = random.integers({low}, {high + 1}, {bench.operand(name).shape})"]
    if name == "A" and bench.ins.sparse:
        lines += ["A = ins.prune(A)", *_compressed(packs)]
    else:
        packs[name] = f"ins.{_ARGUMENTS[name]}.pack({name})"
    return lines


def _compressed(packs: dict[str, str]) -> list[str]:
    packs["A"], packs["E"] = "ins.a.pack(stored)", "ins.e.pack_codes(nibbles)"
    return ["stored, nibbles = ins.compress(A)"]


def _written(bench: Bench, name: str, packs: dict[str, str]) -> list[str]:
    """Lines that make an operand: of its values if they are all there is to it, of its codes, or of its registers."""
    ins, operand, held = bench.ins, bench.ins.operands[name], bench.state.held
    argument = _ARGUMENTS[name]
    if name == "A" and ins.sparse:
        dense = bench.values("A")
        for text, values in _formulas(bench.operand("A"), dense):
            try:
                stored, nibbles = ins.compress(values)
            except PtxlabError:
                continue
            if (
                _packs(ins.a, stored, held["A"])
                and ins.e is not None
                and _same(ins.e.pack_codes(nibbles), held["E"])
            ):
                return [f"A = {text}", *_compressed(packs)]
    codes = operand.unpack_codes(held[name], bench.copy_of(name))
    if name != "E":
        for text, values in _formulas(operand, operand.dtype.decode(codes)):
            if _packs(operand, values, held[name]):
                packs[name] = f"ins.{argument}.pack({name})"
                return [f"{name} = {text}"]
    if _same(operand.pack_codes(codes), held[name]):
        packs[name] = f"ins.{argument}.pack_codes({name})"
        return [f"{name} = {_literal(codes)}"]
    packs[name] = name
    return [f"{name} = {_literal(held[name])}  # registers"]


def _packs(operand: Operand, values: NDArray[Any], registers: NDArray[Any]) -> bool:
    try:
        return _same(operand.pack(values), registers)
    except PtxlabError:
        return False


def _formulas(operand: Operand, values: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Texts for a matrix of values, the shortest first, each with what it gives."""
    shape, first = operand.shape, values.flat[0]
    if (values == first).all():
        number = _number(float(first) if operand.dtype.is_float else int(first))
        yield (
            {"0": f"np.zeros({shape})", "1": f"np.ones({shape})"}.get(number, f"np.full({shape}, {number})"),
            np.full(shape, float(first)),
        )
    yield f"np.eye{shape}", np.eye(*shape)
    count = np.arange(values.size).reshape(shape)
    yield f"np.arange({values.size}).reshape{shape}", count
    limit = int(values.max()) + 1 if np.isfinite(values).all() and 0 < values.max() < values.size else 1
    yield f"np.arange({values.size}).reshape{shape} % {limit}", count % limit
    if values.size <= _SAID:
        if operand.dtype.is_float:  # a NaN is written without its payload
            with np.errstate(invalid="ignore"):
                wide = values.astype(np.float64)
            values = np.where(np.isnan(wide), np.nan, wide)
        yield _array([[_number(value) for value in row] for row in values.tolist()]), values


def _number(value: float) -> str:
    """A number as NumPy's namespace or Python's spells it."""
    if float(value).is_integer() and abs(value) < 1e15 and str(value) != "-0.0":
        return str(int(value))
    return (
        f"{'-' if value < 0 else ''}np.inf"
        if value in (np.inf, -np.inf)
        else "np.nan"
        if value != value
        else repr(value)
    )


def _array(rows: list[list[str]], kind: str = "") -> str:
    inner = ",\n".join(f"    [{', '.join(row)}]" for row in rows)
    return f"np.array([\n{inner},\n]{kind})"


def _literal(codes: NDArray[Any]) -> str:
    """Unsigned integers: in hexadecimal, or packed where they are many."""
    if codes.size <= _SAID:
        return _array([[hex(value) for value in row] for row in codes.tolist()], f", np.{codes.dtype.name}")
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(codes).tobytes(), 9)).decode()
    return f'np.frombuffer(zlib.decompress(base64.b64decode("{packed}")), np.{codes.dtype.name}).reshape{codes.shape}'
