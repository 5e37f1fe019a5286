"""The page of latency and throughput: every instruction as it was measured on every recorded chip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ptxlab._util.files import write_atomically
from ptxlab.gpu.measure import is_typical
from ptxlab.gpu.records import GpuRecord, Measurement, measured, work
from ptxlab.isa.mma import Instruction
from ptxlab.views import Picture
from ptxlab.views.throughput import throughput, wgmma_measurements, wgmma_types

from .markdown import Page, badge, code, figure, table

__all__ = ["page", "write"]

_CHIP = "H200"

_METHOD = """\
**Latency** is counted in cycles, from the issue of an instruction to the cycle in which one that depends
on it may issue: a chain of 4,096 instructions on one warp, in which D of each is C of the next. "Through
A" is the same with D as A of the next. `wgmma` is asynchronous, so its latency is that of a fence, one
`wgmma`, a commit and a wait: after it the registers of D may be read. `stmatrix` has none:
nothing waits for it.

**Throughput** is that of the whole GPU: one block on every SM, with 4, 8 or 16 warps, and 1 to 8
independent accumulators in each; the best is given. A sparse instruction counts the operations of the
dense one that it stands for. **Cycles** are those of one SM from one instruction to the next at that
rate; they do not depend on the clock.

Operands are random (normally distributed floats, integers of all bits): on zeros the same chip takes less
power and runs up to 12 % faster. The machine code of every loop was checked to hold exactly the
instructions that are counted; those that the chip lacks load operands anew for each, so that nothing of
their emulation moves out of the loop. `ldmatrix` with `.s8.s4`, which CUDA 13.0 does not know, was
assembled by CUDA 13.4. `ptxlab measure INSTRUCTION` does all this on your GPU, and `ptxlab
measure --all --record` makes a record like this one."""

_POWER = """\
The figures above are from runs of 10 ms, in which the clock hardly falls. Then power bounds it. "For
longer" are the rates of another run of 85 ms, with its clock, power and temperature; W is the mean of what
the driver sampled, once in 20 ms, after the first 45. Here is one shape of each type, which ran for 0.3 s:
until then the GPU may take more than its limit."""

_LONGER = ("for longer", "MHz", "W", "°C")
_MEMORY = """\
Two things bound `wgmma`. The tensor cores of an SM multiply 64 x N x 16 values of f16 (or as many bytes
of another type) in N / 2 cycles, and a sparse instruction covers twice as much K in the same time. Shared
memory delivers 128 bytes a cycle: A of 64 rows takes 16 cycles, B of N columns N / 4 cycles, and N / 2
for a sparse instruction, which reads twice as much of it. Whatever takes longer is the time from one
`wgmma` to the next, and it is what was measured, to the cycle, from N = 40 on:

| | tensor cores | shared memory, A in registers | shared memory, A in memory |
|---|---|---|---|
| dense | N / 2 | N / 4 | 16 + N / 4 |
| sparse | N / 2 | N / 2 | 16 + N / 2 |

So a dense `wgmma` is at its best from N = 64 on with A in memory, and from N = 32 on with A in registers.
A sparse one reaches twice the dense rate only with A in registers; with A in memory it waits for A,
however large N is."""

_PUBLISHED = """\
Published figures for this generation agree with these once the clock is taken into account, except where
they measured something else.

- HPMLL's benchmark of an H100 SXM5 (1.98 GHz) gives `mma` f16 m16n8k16 24.1 cycles and 714 TFLOP/s, tf32
  m16n8k8 24.1 and 357, s8 m16n8k32 24.1 and 1,424, b1 m16n8k256 24.1 and 11,389. The same cycles as here:
  per cycle and SM, 714 TFLOP/s at 1.98 GHz are {f16:.0f} operations, and here they are {here:.0f}.
- Its latency of s4 m16n8k64, 484.8 cycles, is probably that of an older compiler's emulation; CUDA 13.0's
  takes {s4:.0f}.
- Its latency of `mma` with FP8 comes from a loop out of which the compiler had moved the conversion of A
  and B. With that inside, as an instruction in a kernel has it, m16n8k32 takes {fp8:.0f} cycles, and
  {fp8_a:.0f} through A.
- Luo et al. (arXiv 2402.13499) give 128 cycles for `wgmma` with N = 256. That is the time from one to the
  next in a row on the same accumulator, as the column "cycles" has it. Until the result can be read it
  takes {wgmma:.0f}.
- Their sparse `mma` on an H800 reaches 1.46 times the dense rate; here m16n8k32 reaches {sparse:.2f}
  times that of m16n8k16: two cycles where 1.5 would do for twice as much K."""


def write(folder: Path) -> None:
    write_atomically(folder / "throughput.md", str(page()))


def page(chip: str = _CHIP) -> Page:
    record = measured(chip=chip)
    out = Page("Latency and throughput")
    out.add(
        f"Every matrix instruction of an {record.gpu} ({record.target}), dense and sparse, by type, shape "
        f"and N: {len(record):,} measurements of {record.date}, driver {record.driver}, CUDA "
        f"{record.cuda}; {record.multiprocessors} SMs, at most {record.clock_limit:,.0f} MHz and "
        f"{record.power_limit:.0f} W.",
    )
    out.heading(2, "What was measured")
    out.add(_METHOD)
    out.heading(2, "wgmma over N")
    for type_name in ("f16", "e4m3"):
        out.add(_chart("n", type_name, chip))
    out.add(_MEMORY, _chart("cycles", "f16", chip), _chart("sparsity", "f16", chip))
    out.heading(2, "mma and its siblings")
    out.add(_chart("native", "", chip))
    for family in ("mma", "mma.sp", "wmma", "ldmatrix", "stmatrix", "movmatrix"):
        rows = [_row(result) for result in record if result.form.family == family]
        unit = "TB/s" if family in ("ldmatrix", "stmatrix", "movmatrix") else "TFLOP/s, TOP/s"
        columns = ("instruction", "runs as", "latency", "through A", "cycles", unit, "MHz", *_LONGER)
        out.dropdown(f"Every {family}: {len(rows)}", table(columns, rows, numbers=range(2, len(columns))))
    out.heading(2, "Every wgmma")
    out.add(
        "TFLOP/s (TOP/s for integers), and in brackets the cycles from one to the next; below, the "
        "latencies, and MHz, W and °C of a longer run."
    )
    for type_name in wgmma_types(record):
        out.dropdown(f"wgmma with {type_name}", *_by_n(record, type_name))
    out.dropdown("Every form of wgmma, for N = 64, 128 and 256", _all_forms(record))
    out.heading(2, "For longer")
    out.add(
        _POWER,
        table(("instruction", "TFLOP/s, TOP/s", *_LONGER), list(_sustained(record)), numbers=range(1, 6)),
    )
    out.heading(2, "Beside published figures")
    out.add(_published(chip))
    return out


def _chart(what: str, type_name: str, chip: str) -> str:
    chart = throughput(what, type_name or None, chip)
    if isinstance(chart, Picture):
        return figure(chart)
    svg = "\n".join(line for line in chart.svg(themed=True).splitlines() if line.strip())
    return f'```{{raw}} html\n<div class="ptx-picture">{svg}</div>\n```'


def _number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _row(result: Measurement) -> tuple[str, ...]:
    how = result.sass.split(":")[0]
    runs = result.sass.partition(": ")[2].partition(",")[0]
    return (
        code(result.form.mnemonic),
        f"{badge(how)} {runs}",
        _number(result.latency),
        _number(result.latency_a),
        _number(result.cycles, 2),
        f"{result.throughput / 1e12:,.4g}",
        f"{result.best.clock:.0f}",
        *_longer(result),
    )


def _longer(result: Measurement) -> tuple[str, ...]:
    """Rate, clock, power and temperature of the longer run."""
    point = result.sustained
    if point is None:
        return ("",) * len(_LONGER)
    rate = point.per_second * work(result.form) / 1e12
    return (
        f"{rate:,.4g}", _number(point.clock, 0), _number(point.power, 0), _number(point.temperature, 0)
    )  # fmt: skip


def _by_n(record: GpuRecord, type_name: str) -> Iterator[str]:
    series = wgmma_measurements(record, type_name)
    names = {
        (
            sparse,
            space,
        ): f"{'sparse' if sparse else 'dense'}, A in {'registers' if space == 'register' else 'memory'}"
        for sparse, space in series
    }
    by_n: dict[int, dict[tuple[bool, str], Measurement]] = {}
    for key, results in series.items():
        for result in results:
            if isinstance(result.form, Instruction):
                by_n.setdefault(result.form.n, {})[key] = result
    for show in (
        _rate,
        lambda result: _number(result.latency),
        lambda result: ", ".join(_longer(result)[1:]),
    ):
        rows = [
            (str(n), *(show(results_of_n[key]) if key in results_of_n else "" for key in names))
            for n, results_of_n in sorted(by_n.items())
        ]
        yield table(("N", *names.values()), rows, numbers=range(5))


def _rate(result: Measurement) -> str:
    return f"{result.throughput / 1e12:,.0f} ({result.cycles:.0f})"


def _all_forms(record: GpuRecord) -> str:
    rows: dict[tuple[str, str], dict[int, Measurement]] = {}
    for result in record:
        form = result.form
        if isinstance(form, Instruction) and form.lanes == 128 and form.n in (64, 128, 256):
            name = form.mnemonic.replace(f"m64n{form.n}k", "m64nNk")
            rows.setdefault((name, form.a_space), {})[form.n] = result
    lines = []
    for (name, space), results in rows.items():
        cells = [f"{results[n].throughput / 1e12:,.0f}" if n in results else "" for n in (64, 128, 256)]
        lines.append((code(name), "registers" if space == "register" else "memory", *cells))
    return table(("instruction", "A in", "N = 64", "N = 128", "N = 256"), lines, numbers=(2, 3, 4))


def _sustained(record: GpuRecord) -> Iterator[tuple[str, ...]]:
    for result in record:
        form = result.form
        if not is_typical(form):
            continue
        space = ""
        if isinstance(form, Instruction) and form.lanes == 128:
            space = ", A in registers" if form.a_space == "register" else ", A in memory"
        name = f"{code(form.mnemonic)}{space}"
        yield (name, f"{result.throughput / 1e12:,.4g}", *_longer(result))


def _published(chip: str) -> str:
    def of(name: str, space: str = "register") -> Measurement:
        from ptxlab.isa.parse import parse_mma

        form = parse_mma(name)
        return measured(form.a_from("shared") if space == "shared" else form, chip)

    f16 = of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    fp8 = of("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
    sparse = of("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    return _PUBLISHED.format(
        f16=714e12 / 1.98e9 / 132,
        here=f16.per_cycle,
        s4=of("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").latency,
        fp8=fp8.latency,
        fp8_a=fp8.latency_a,
        wgmma=of("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", "shared").latency,
        sparse=sparse.per_cycle / f16.per_cycle,
    )
