"""What was measured on a chip, as charts: throughput and cycles over N, sparse over dense, native or not."""

from __future__ import annotations

from collections.abc import Iterator

from .._util.arguments import as_text, is_name
from ..errors import PtxlabError, listing, quoted
from ..gpu.records import GpuRecord, Measurement, measured
from ..isa.mma import Instruction
from .charts import Line, LineChart, bars
from .picture import Picture

#: What a chart of measurements shows.
WHAT = ("n", "cycles", "sparsity", "native")

_N_STEP = 32
#: Where A is and whether it is sparse: name, colour, dashed.
_SERIES = {
    (False, "register"): ("dense, A in registers", "blue", False),
    (False, "shared"): ("dense, A in memory", "blue", True),
    (True, "register"): ("sparse, A in registers", "vermilion", False),
    (True, "shared"): ("sparse, A in memory", "vermilion", True),
}


_COMPARED = ("f16", "bf16", "tf32", "f64", "e4m3", "s8", "s4")


def throughput(
    what: str = "n", type: str | None = None, chip: str = "H200", *, title: bool = True
) -> LineChart | Picture:
    """What was measured on a chip: throughput of wgmma over N, or its cycles, or what sparsity gains.

    `what` is "n", "cycles" or "sparsity", for wgmma with `type` (f16 if it is None); "native" compares mma
    that the chip has, of all types, with mma that other instructions emulate. `chip` is one of which
    there is a record, see `ptxlab.measured`.

    >>> chart = throughput("cycles", "f16")
    >>> [line.name for line in chart.lines][0], chart.lines[0].y[-1]   # N = 256
    ('dense, A in registers', 128.0)
    """
    if not is_name(what, WHAT):
        raise PtxlabError(f"what={quoted(what)}: a chart of measurements shows {listing(WHAT)}")
    record = measured(chip=chip)
    if what == "native":
        if type is not None:
            raise PtxlabError(f"type={quoted(type)}: what='native' compares all types")
        return _native(record).with_title(title)
    type = "f16" if type is None else type
    series = wgmma_measurements(record, as_text(type, "type"))
    if what == "sparsity":
        return _sparsity(record, type, series).with_title(title)
    return _over_n(record, type, series, cycles=what == "cycles").with_title(title)


def wgmma_types(record: GpuRecord) -> list[str]:
    """The element types of A for which the record has wgmma, with B of the same.

    >>> wgmma_types(measured(chip="H200"))[:2]
    ['f16', 'bf16']
    """
    return list(dict.fromkeys(form.a_type for form, _ in _plain(record) if form.lanes == 128))


def wgmma_measurements(record: GpuRecord, type: str) -> dict[tuple[bool, str], list[Measurement]]:
    """Measurements of wgmma with this type of A and B in order of N, by sparsity and place of A."""
    chosen: dict[tuple[bool, str], list[Measurement]] = {key: [] for key in _SERIES}
    for form, result in _plain(record):
        if form.lanes == 128 and form.a_type == type and form.d_type in ("f32", "s32"):
            chosen[form.sparse, form.a_space].append(result)
    if not any(chosen.values()):
        raise PtxlabError(
            f"type={quoted(type)}: of wgmma, {record.gpu} has {listing(wgmma_types(record), 20)}"
        )
    for results in chosen.values():
        results.sort(key=_n)
    return {key: results for key, results in chosen.items() if results}


def _plain(record: GpuRecord) -> Iterator[tuple[Instruction, Measurement]]:
    """Instructions that multiply, with A and B of one type; no .satfinite or .rz, which are as fast."""
    for result in record:
        form = result.form
        if (
            isinstance(form, Instruction)
            and form.a_type == form.b_type
            and not (form.satfinite or form.rounding)
        ):
            yield form, result


def _n(result: Measurement) -> int:
    return result.form.n if isinstance(result.form, Instruction) else 0


def _conditions(record: GpuRecord) -> str:
    return f"{record.gpu}, {record.contents} operands, {record.date}"


def _over_n(
    record: GpuRecord, type: str, series: dict[tuple[bool, str], list[Measurement]], *, cycles: bool
) -> LineChart:
    lines = []
    for key, results in series.items():
        name, colour, dashed = _SERIES[key]
        values = [result.cycles if cycles else result.throughput / 1e12 for result in results]
        tips = [
            f"{result.form.mnemonic}: {result.throughput / 1e12:.0f} {result.unit} at "
            f"{result.best.clock:.0f} MHz, one in {result.cycles:.1f} cycles"
            for result in results
        ]
        lines.append(
            Line(
                name,
                tuple(_n(result) for result in results),
                tuple(round(value, 1) for value in values),
                tuple(tips),
                colour,
                dashed,
            )
        )
    if cycles:
        title = f"Cycles from one wgmma with {type} to the next, on one SM"
        notes = ("as many as the tensor cores take, or as shared memory takes to deliver A and B",)
    else:
        title = f"Throughput of wgmma with {type}"
        notes = ("operations of the dense product that a sparse one stands for",)
    y_title = "cycles" if cycles else next(iter(series.values()))[0].unit
    return LineChart(title, (*notes, _conditions(record)), tuple(lines), "N", y_title, _N_STEP)


def _sparsity(record: GpuRecord, type: str, series: dict[tuple[bool, str], list[Measurement]]) -> LineChart:
    """Operations a cycle of the sparse instruction over those of the dense one, with the same N."""
    lines = []
    for space, name in (("register", "A in registers"), ("shared", "A in memory")):
        dense = {_n(result): result.per_cycle for result in series.get((False, space), [])}
        both = [result for result in series.get((True, space), []) if _n(result) in dense]
        if both:
            ratios = tuple(round(result.per_cycle / dense[_n(result)], 3) for result in both)
            lines.append(Line(name, tuple(map(_n, both)), ratios, colour="green", dashed=space == "shared"))
    if not lines:
        raise PtxlabError(f"type={quoted(type)}: {record.gpu} has no sparse wgmma of it")
    notes = ("operations in a cycle, of the sparse wgmma over the dense one; 2 is what sparsity promises",)
    title = f"What sparsity gains: wgmma with {type}"
    return LineChart(title, (*notes, _conditions(record)), tuple(lines), "N", "times as fast", _N_STEP)


def _native(record: GpuRecord) -> Picture:
    """Throughput of mma with the deepest K of each type, those that the chip lacks among them."""
    values = {}
    for result, name in _deepest(record):
        values[f"{name} ({'native' if result.native else 'emulated'})"] = result.throughput / 1e12
    notes = (
        "emulated: the compiler makes several instructions of one, because the chip lacks it",
        _conditions(record),
    )
    title = "Throughput of mma, in TFLOP/s (TOP/s for integers)"
    return bars(values, title, notes, text="{:.0f}".format)


def _deepest(record: GpuRecord) -> Iterator[tuple[Measurement, str]]:
    deepest: dict[str, tuple[int, Measurement]] = {}
    for form, result in _plain(record):
        if form.family == "mma" and form.m == 16 and form.a_type in _COMPARED:
            name = " ".join(filter(None, (form.a_type, form.bit_op, "to", form.d_type)))
            if form.k >= deepest.get(name, (0, result))[0]:
                deepest[name] = form.k, result
    for name, (_, result) in deepest.items():
        yield result, name
