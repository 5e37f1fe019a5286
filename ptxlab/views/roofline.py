"""What bounds the time of a launch: the least time of each resource, and the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import PtxlabError, quoted
from .charts import Line, LineChart
from .labels import amount_text, time_text
from .table import Table

if TYPE_CHECKING:  # else imported at use: a browser tab has no simulator
    from ..simulator.peaks import Bound
    from ..simulator.timing.launch_profile import LaunchProfile


def bounds_table(bounds: Sequence[Bound]) -> Table:
    """The least time that each resource needs, for a terminal."""
    rows = [
        (bound.resource, time_text(bound.seconds), amount_text(bound.amount, bound.unit)) for bound in bounds
    ]
    return Table(("bound by", "at least", "for"), tuple(rows))


def least_time(bounds: Sequence[Bound], chip: str) -> tuple[float, str]:
    """The seconds that a launch takes at least, and what limits it: a resource, or the launch itself.

    >>> from ptxlab.simulator.peaks import Bound
    >>> least_time([Bound("DRAM", 2e-5, 96_000_000, "bytes", 4.8e12)], "H200")
    (2e-05, 'bound by DRAM')
    >>> least_time([Bound("DRAM", 5e-10, 2400, "bytes", 4.8e12)], "H200")
    (7e-07, 'the time of a launch that does nothing; of its work DRAM takes longest')
    """
    # At use: it loads the replay of instructions, without which a simulated kernel can be shown.
    from ..simulator.timing.chip_timings import CHIP_TIMINGS

    longest = bounds[0]
    measured = CHIP_TIMINGS.get(chip, CHIP_TIMINGS["H200"])
    launch = measured.launch / 1e6
    if longest.seconds >= launch:
        return longest.seconds, f"bound by {longest.resource}"
    where = "" if measured.name == chip else f" on an {measured.name}"
    return (
        launch,
        f"the time of a launch that does nothing{where}; of its work {longest.resource} takes longest",
    )


def roofline(profile: LaunchProfile, *, title: bool = True) -> LineChart:
    """The operations per second that a profile predicts, below what the chip allows for its bytes.

    A multiply-add is two operations. Peaks of tensor cores, FMA units and DRAM are published, that of L2 was
    measured. A launch whose data is in L2 has a point for L2 only.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void f(float* x) { x[threadIdx.x] = x[threadIdx.x] * 2 + 1; }'
    >>> chart = roofline(ptxlab.kernel(source).profile(1, 64, np.ones(64, np.float32)))
    >>> [line.name for line in chart.lines][-1], chart.lines[-1].x   # operations per byte of L2
    ('f, bytes of L2', (0.25,))
    """
    from ..simulator.peaks import find_card
    from ..simulator.timing.chip_timings import find_timing
    from ..simulator.timing.launch_profile import LaunchProfile

    if not isinstance(profile, LaunchProfile):
        raise PtxlabError(f"found {quoted(profile)} where a profile belongs; k.profile(...) makes one")
    work, chip, timing = profile.work, find_card(profile.chip), find_timing(profile.chip)
    operations = 2.0 * (sum(work.tensor.values()) + sum(work.fma.values()))
    if not operations:
        raise PtxlabError(f"{profile.name}: it has no multiply-adds, so it has no place below a roofline")
    speed = operations / profile.microseconds / 1e6
    floats = work.fma or any(accumulator != "s32" for _, accumulator in work.tensor)
    unit = "TFLOP/s" if floats else "TOP/s"
    peaks = {f"FMA, {name}": chip.fma[name] for name in work.fma if name in chip.fma}
    for operand, accumulator in work.tensor:
        peak = chip.tensor.get(f"{operand}>{accumulator}", chip.tensor.get(operand))
        if peak is not None:
            peaks[f"tensor cores, {operand}"] = peak
    line = 4 * timing.load_sector + timing.load_line  # cycles of an SM for 128 bytes
    rates = {"DRAM": chip.dram / 1e12, "L2": 128 / line * timing.sms * timing.clock / 1e6}
    points = {name: operations / size for name, size in (("DRAM", work.dram), ("L2", work.l2)) if size}
    top = max([*peaks.values(), speed])
    ridges = [top / rate for rate in rates.values()]
    x_range = min([*points.values(), *ridges]) / 6, 6 * max([*points.values(), *ridges])
    y_range = min([speed, *peaks.values()]) / 6, 2 * top
    lines = []
    for (name, rate), colour in zip(rates.items(), ("blue", "sky"), strict=True):
        first = max(x_range[0], y_range[0] / rate)
        ends = (first, top / rate), (first * rate, top)
        lines.append(Line(f"{name}, {rate:.1f} TB/s", *ends, colour=colour, dots=False, named="along"))
    lines += [
        Line(name, (peak / max(rates.values()), x_range[1]), (peak, peak), colour=colour, dots=False)
        for (name, peak), colour in zip(peaks.items(), ("orange", "purple", "grey", "yellow"), strict=False)
    ]
    distances, places = [], []
    for (name, place), colour in zip(points.items(), ("vermilion", "green"), strict=False):
        allowed = min(place * rates[name], max(peaks.values(), default=place * rates[name]))
        part = f"{100 * speed / allowed:.0f} %"
        words = f"{place:,.3g} operations per byte of {name}"
        tip = f"{speed:,.3g} {unit} at {words}: {part} of its roof"
        ends = (place, place), (speed, allowed)
        distances.append(
            Line(f"{part} of the roof", *ends, colour=colour, dashed=True, dots=False, named="middle")
        )
        places.append(Line(f"{profile.name}, bytes of {name}", (place,), (speed,), (tip,), colour))
    lines += [*distances, *places]
    heading = f"{profile.name} below the roofs of {profile.chip}: {speed:,.3g} {unit}"
    notes = [line.tips[0] for line in lines if line.tips]
    axes = "operations per byte", unit
    limits = x_range, y_range
    chart = LineChart(heading, tuple(notes), tuple(lines), *axes, logarithmic=True, limits=limits)
    return chart.with_title(title)
