"""Recorded measurements: a file for each GPU, from this package or from the user.

A file is JSON: the conditions of the measurement, and the figures of each instruction. Instructions that
differ only in N share an entry, with a star in place of N.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

from .._util.arguments import as_text
from .._util.files import data_folder, read_text_file, reason, write_atomically
from ..errors import PtxlabError, listing, quoted, wrapped
from ..isa.form import Form
from ..isa.mma import Instruction
from ..isa.parse import parse, parse_any
from ..isa.tcgen05 import Tcgen05Form
from ..isa.transfer import Transfer
from .codegen.loops import Contents

_FOLDER = Path(__file__).with_name("measured")
_FORMAT = 1
#: The columns of a row; N is 0 if it is part of the name.
COLUMNS = ("n", "latency", "latency_a", "warps", "chains", "giga_per_second", "mhz")
#: Further columns if an instruction was run for longer, with the readings of the sensors.
SUSTAINED = ("giga_per_second", "mhz", "watts", "celsius")

_OPTIONAL = ("latency", "latency_a", "watts", "celsius")
_LARGEST = 1e15

#: The key of a measurement: the mnemonic, and the space of A for wgmma.
Key = tuple[str, str]


@dataclass(frozen=True, repr=False)
class GpuRecord:
    """Everything that was measured on one GPU.

    >>> record = measured(chip="H200")
    >>> record.gpu, record.multiprocessors
    ('NVIDIA H200', 132)
    """

    gpu: str
    target: str
    multiprocessors: int
    driver: str
    cuda: str  # of the compiler
    date: str
    clock_limit: float | None  # MHz
    power_limit: float | None  # W
    contents: Contents
    measurements: dict[Key, Measurement] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<{len(self.measurements)} instructions measured on {self.gpu} on {self.date}: driver "
            f"{self.driver}, CUDA {self.cuda}, {self.contents} operands>"
        )

    def __len__(self) -> int:
        return len(self.measurements)

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.measurements.values())

    def get(self, form: Form) -> Measurement | None:
        """The measurement of an instruction, or None."""
        return self.measurements.get(key_of(form))

    def add(self, measurement: Measurement) -> None:
        """Add a measurement to the record."""
        self.measurements[key_of(measurement.form)] = measurement


def key_of(form: Form) -> Key:
    """The key of an instruction in a record."""
    return form.mnemonic, form.a_space if isinstance(form, Instruction) else "register"


@overload
def measured(ins: None = None, chip: str = ...) -> GpuRecord: ...


@overload
def measured(ins: Form | str, chip: str = ...) -> Measurement: ...


def measured(ins: Form | str | None = None, chip: str = "H200") -> Measurement | GpuRecord:
    """The measurement of an instruction on a chip, or without an instruction the record of the chip.

    ptxlab comes with the record of an H200. `ptxlab measure --all --record` makes one of your GPU, and a path
    ending in .json names any other. For wgmma with A in shared memory pass ``ins.a_from("shared")``.

    >>> import ptxlab
    >>> ptxlab.measured("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").native
    True
    """
    record = _find(as_text(chip, "chip"))
    if ins is None:
        return record
    form = measurable(ins)
    result = record.get(form)
    if result is None:
        raise PtxlabError(
            f"{form.mnemonic} was not measured on {record.gpu}; ptxlab.measure does it on a GPU"
        )
    return result


def _find(chip: str) -> GpuRecord:
    if chip.endswith(".json"):
        return read_record(Path(chip))
    words = chip.lower().split()
    for path in _files():
        record = read_record(path)
        if words and all(word in record.gpu.lower().split() for word in words):
            return record
    raise PtxlabError(f"chip={quoted(chip)}: there are records of {listing(recorded_chips())}")


def recorded_chips() -> list[str]:
    """The GPUs that have a record.

    >>> "NVIDIA H200" in recorded_chips()
    True
    """
    return list(dict.fromkeys(read_record(path).gpu for path in _files()))


def _files() -> list[Path]:
    """All records, the user's first, so that these take precedence."""
    folders = [_FOLDER]
    with contextlib.suppress(PtxlabError):  # no home folder
        folders.insert(0, data_folder() / "measured")
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.json"))]


def user_file(gpu: str) -> Path:
    """The default file for a record of a GPU."""
    name = re.sub(r"[^a-z0-9]+", "-", gpu.lower().removeprefix("nvidia ")).strip("-")
    return data_folder() / "measured" / f"{name}.json"


# -- files -------------------------------------------------------------------------------------------------


def read_record(path: Path) -> GpuRecord:
    """The record in a file."""
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise PtxlabError(f"{path}: the record cannot be read ({reason(error)})") from None


@lru_cache(maxsize=8)
def _read(path: Path, changed: int, size: int) -> GpuRecord:
    try:
        content: dict[str, Any] = json.loads(read_text_file(path))
        if content["format"] != _FORMAT:
            raise PtxlabError(
                f"{path}: a record of format {content['format']}, which this ptxlab cannot read"
            )
        record = _conditions(content["conditions"])
        for entry in content["instructions"]:
            for row in entry["rows"]:
                record.add(_measurement(record, entry, row))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, PtxlabError):
            raise
        raise PtxlabError(f"{path}: found no record of measurements in it ({error})") from None
    return record


def _conditions(content: dict[str, Any]) -> GpuRecord:
    record = GpuRecord(**content)
    for name in ("gpu", "target", "driver", "cuda", "date", "contents"):
        if not isinstance(getattr(record, name), str):
            raise ValueError(f"{name} is not a text")
    for name in ("clock_limit", "power_limit"):
        if getattr(record, name) is not None:
            _check_number(getattr(record, name), name)
    _check_number(record.multiprocessors, "multiprocessors")
    return replace(record, measurements={})


def _check_number(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LARGEST:
        raise ValueError(f"{name} is not a number from 0 on")


def _measurement(record: GpuRecord, entry: dict[str, Any], row: list[Any]) -> Measurement:
    names = COLUMNS if len(row) == len(COLUMNS) else (*COLUMNS, *SUSTAINED)
    for name, value in zip(names, row, strict=True):
        if value is not None or name not in _OPTIONAL:
            _check_number(value, name)
    if 0 in (row[COLUMNS.index("giga_per_second")], row[COLUMNS.index("mhz")]):
        raise ValueError("a rate or a clock is 0")
    n, latency, latency_a, warps, chains, rate, clock, *longer = row
    number = str(n)
    form = parse(entry["instruction"].replace("*", number))
    if isinstance(form, Instruction) and entry["a"] == "shared":
        form = form.a_from("shared")
    best = Point(warps, chains, rate * 1e9, clock)
    sustained = Point(warps, chains, longer[0] * 1e9, *longer[1:]) if longer else None
    return Measurement(
        form,
        record.gpu,
        target=record.target,
        multiprocessors=record.multiprocessors,
        latency=latency,
        latency_a=latency_a,
        points=(best,),
        sass=entry["sass"].replace("*", number),
        contents=record.contents,
        date=record.date,
        sustained=sustained,
    )


def write_record(record: GpuRecord, path: Path) -> None:
    """Write a record, a line for every instruction (with all its N)."""
    groups: dict[tuple[str, str, str], list[list[Any]]] = {}
    for (mnemonic, a_space), result in record.measurements.items():
        name, sass, n = mnemonic, result.sass, 0
        if isinstance(result.form, Instruction) and result.form.lanes == 128:
            n = result.form.n
            name = mnemonic.replace(f"m64n{n}k", "m64n*k")
            sass = sass.replace(f"64x{n}x", "64x*x")
        groups.setdefault((name, a_space, sass), []).append([n, *_figures(result)])
    conditions = {
        name: getattr(record, name) for name in GpuRecord.__dataclass_fields__ if name != "measurements"
    }
    lines = [
        json.dumps(
            {"instruction": name, "a": a_space, "sass": sass, "rows": sorted(rows, key=lambda row: row[0])},
            separators=(",", ":"),
        )
        for (name, a_space, sass), rows in groups.items()
    ]
    head = {"format": _FORMAT, "conditions": conditions, "columns": COLUMNS, "sustained": SUSTAINED}
    parts = [f"{json.dumps(name)}:{json.dumps(value)}" for name, value in head.items()]
    text = "{" + ",\n".join(parts) + ',\n"instructions":[\n' + ",\n".join(lines) + "\n]}\n"
    try:
        write_atomically(path, text)
    except OSError as error:
        raise PtxlabError(f"{path}: the record could not be written ({reason(error)})") from None


def _figures(result: Measurement) -> list[Any]:
    best, longer = result.best, result.sustained
    figures = [
        _rounded(result.latency, 1),
        _rounded(result.latency_a, 1),
        best.warps,
        best.chains,
        float(f"{best.per_second / 1e9:.5g}"),
        _rounded(best.clock, 0),
    ]
    if longer is not None:
        figures += [
            float(f"{longer.per_second / 1e9:.5g}"),
            _rounded(longer.clock, 0),
            _rounded(longer.power, 0),
            _rounded(longer.temperature, 0),
        ]
    return figures


def _rounded(number: float | None, digits: int) -> float | None:
    if number is None:
        return None
    return round(number, digits) if digits else round(number)


# -- the measurement of one instruction: latency, throughput, and its conditions ---------------------------


def measurable(ins: Form | str) -> Instruction | Transfer:
    """The instruction, if ptxlab has loops that measure it.

    >>> measurable("tcgen05.mma.cta_group::1.kind::f16")   # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: tcgen05.mma.cta_group::1.kind::f16: ptxlab measures no tcgen05 yet: ...
    """
    form = parse_any(ins)
    if isinstance(form, Tcgen05Form):
        raise PtxlabError(
            f"{form.mnemonic}: ptxlab measures no tcgen05 yet: its loops need a B200 to be tried on; what "
            "others measured on one (SemiAnalysis, microbench-blackwell) is in lesson 26"
        )
    return form


def work(form: Form) -> int:
    """The work of one instruction: operations (a multiply-add is two), or bytes of a transfer.

    A sparse instruction counts as the corresponding dense one.

    >>> import ptxlab
    >>> work(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    4096
    """
    if isinstance(form, Instruction):
        return 2 * form.m * form.n * form.k * form.mma_count
    if isinstance(form, Transfer):
        return form.register_operand.registers * form.register_operand.lanes * 4
    raise PtxlabError(f"{form.mnemonic}: ptxlab does not measure it")


@dataclass(frozen=True)
class Point:
    """One measurement of throughput, with a number of warps on every SM and of independent chains in each.

    >>> Point(16, 4, 1.53e11, 1755.0, 412.0, 55.0).chains
    4
    """

    warps: int  # on each SM
    chains: int  # for wgmma: instructions between two waits
    per_second: float  # instructions, on the whole GPU
    clock: float  # MHz, from the cycle counter
    power: float | None = None  # W; None after a run that is too short for the sensor
    temperature: float | None = None  # degrees Celsius


@dataclass(frozen=True, repr=False)
class Measurement:
    """How fast one instruction is on one GPU.

    >>> import ptxlab
    >>> result = ptxlab.measure("mma.m16n8k16.f32.f16")   # doctest: +SKIP
    >>> result.latency, result.throughput   # doctest: +SKIP
    (24.1, 6.3e14)
    """

    form: Form
    gpu: str
    target: str
    multiprocessors: int
    latency: float | None  # cycles
    latency_a: float | None  # cycles, through A
    points: tuple[Point, ...]  # the fastest first
    sass: str  # what the chip runs: "native: 1 HMMA.16816.F32"
    contents: Contents
    date: str
    sustained: Point | None = None  # the best point again, long enough for power to limit the clock

    @property
    def best(self) -> Point:
        """The point of the highest throughput."""
        return self.points[0]

    @property
    def throughput(self) -> float:
        """Operations (or bytes of a transfer) per second on the whole GPU."""
        return self.best.per_second * work(self.form)

    @property
    def cycles(self) -> float:
        """Cycles from one instruction to the next on one SM, at the best point."""
        return self.best.clock * 1e6 * self.multiprocessors / self.best.per_second

    @property
    def per_cycle(self) -> float:
        """Operations (or bytes) per cycle on one SM."""
        return work(self.form) / self.cycles

    @property
    def native(self) -> bool:
        """Whether the chip has the instruction, rather than emulating it."""
        return self.sass.startswith("native")

    @property
    def unit(self) -> str:
        """The unit of `throughput / 1e12`."""
        if not isinstance(self.form, Instruction):
            return "TB/s"
        return "TFLOP/s" if self.form.d.dtype.is_float else "TOP/s"

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        best = self.best
        operands = "operands of zeros" if self.contents == "zeros" else "random operands"
        yield wrapped(f"{_title(self.form)} on {self.gpu} ({self.target}), {operands}")
        yield f"  {self.sass}"
        if self.latency is not None:
            through = f", through A {self.latency_a:.1f}" if self.latency_a is not None else ""
            yield f"  latency     {self.latency:.1f} cycles{through}"
        reached = f"{self.throughput / 1e12:.4g} {self.unit}"
        yield f"  throughput  {reached}: one in {self.cycles:.2f} cycles on each SM"
        chains = "between waits" if self.form.lanes == 128 else "chains"
        yield f"  best with {best.warps} warps on each SM, {best.chains} {chains}; {_conditions_of(best)}"
        if self.sustained is not None:
            rate = self.sustained.per_second * work(self.form) / 1e12
            yield f"  sustained   {rate:.4g} {self.unit}; {_conditions_of(self.sustained)}"
        if len(self.points) > 1:
            yield f"  {self.unit} by warps on each SM (down) and {chains} (across):"
            yield from _grid(self)


def _title(form: Form) -> str:
    if isinstance(form, Instruction) and form.lanes == 128:
        return f"{form.mnemonic} (A from {'registers' if form.a_space == 'register' else 'shared memory'})"
    return form.mnemonic


def _conditions_of(point: Point) -> str:
    power = "" if point.power is None else f", {point.power:.0f} W"
    temperature = "" if point.temperature is None else f", {point.temperature:.0f} °C"
    return f"{point.clock:.0f} MHz{power}{temperature}"


def _grid(result: Measurement) -> Iterator[str]:
    rates = {(point.warps, point.chains): point.per_second for point in reversed(result.points)}
    warps, chains = (sorted({key[i] for key in rates}) for i in (0, 1))
    yield "      " + "".join(f"{count:>9}" for count in chains)
    for row in warps:
        cells = (rates.get((row, count)) for count in chains)
        texts = ("" if rate is None else f"{rate * work(result.form) / 1e12:.4g}" for rate in cells)
        yield f"  {row:>4}" + "".join(f"{text:>9}" for text in texts)
