"""What a measurement of one instruction says: latency, throughput, and the conditions it was taken under."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Form
from ..isa.transfer import TransferForm
from .codegen.loops import Contents


def measurable(ins: Form | str) -> MmaForm | TransferForm:
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
            "others measured on one (SemiAnalysis, microbench-blackwell) is in lesson 22"
        )
    return form


def work(form: Form) -> int:
    """What one instruction does: operations (to multiply and add are two), or bytes of a transfer.

    A sparse instruction counts as the dense one that it stands for.

    >>> import ptxlab
    >>> work(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    4096
    """
    if isinstance(form, MmaForm):
        return 2 * form.m * form.n * form.k * form.mma_count
    if isinstance(form, TransferForm):
        return form.register_operand.registers * form.register_operand.lanes * 4
    raise PtxlabError(f"{form.mnemonic}: ptxlab does not measure it")


@dataclass(frozen=True)
class Point:
    """One measurement of throughput: so many warps on every SM, so many independent chains in each warp.

    >>> Point(16, 4, 1.53e11, 1755.0, 412.0, 55.0).chains
    4
    """

    warps: int  # on each SM
    chains: int  # of wgmma: instructions between two waits
    per_second: float  # instructions, on the whole GPU
    clock: float  # MHz, from the cycle counter
    power: float | None = None  # W; None after a short run, which is over before the sensor has noticed
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
    sustained: Point | None = (
        None  # the best point again, for long enough that heat and power bound the clock
    )

    @property
    def best(self) -> Point:
        """The point of the highest throughput."""
        return self.points[0]

    @property
    def throughput(self) -> float:
        """Operations (or bytes, of a transfer) a second on the whole GPU."""
        return self.best.per_second * work(self.form)

    @property
    def cycles(self) -> float:
        """Cycles from one instruction to the next on one SM, at the best point."""
        return self.best.clock * 1e6 * self.multiprocessors / self.best.per_second

    @property
    def per_cycle(self) -> float:
        """Operations (or bytes) in a cycle of one SM."""
        return work(self.form) / self.cycles

    @property
    def native(self) -> bool:
        """Whether the chip has the instruction, rather than others that emulate it."""
        return self.sass.startswith("native")

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        best = self.best
        unit = "T/s" if isinstance(self.form, MmaForm) else "TB/s"
        operands = "operands of zeros" if self.contents == "zeros" else "random operands"
        yield f"{_title(self.form)} on {self.gpu} ({self.target}), {operands}"
        yield f"  {self.sass}"
        if self.latency is not None:
            through = f", through A {self.latency_a:.1f}" if self.latency_a is not None else ""
            yield f"  latency     {self.latency:.1f} cycles{through}"
        yield f"  throughput  {self.throughput / 1e12:.4g} {unit}: one in {self.cycles:.2f} cycles on each SM"
        chains = "between waits" if self.form.lanes == 128 else "chains"
        yield f"  best with {best.warps} warps on each SM, {best.chains} {chains}; {_conditions(best)}"
        if self.sustained is not None:
            rate = self.sustained.per_second * work(self.form) / 1e12
            yield f"  sustained   {rate:.4g} {unit}; {_conditions(self.sustained)}"
        if len(self.points) > 1:
            yield f"  {unit} by warps on each SM (down) and {chains} (across):"
            yield from _grid(self)


def _title(form: Form) -> str:
    if isinstance(form, MmaForm) and form.lanes == 128:
        return f"{form.mnemonic} (A from {'registers' if form.a_space == 'register' else 'shared memory'})"
    return form.mnemonic


def _conditions(point: Point) -> str:
    power = "" if point.power is None else f", {point.power:.0f} W"
    temperature = "" if point.temperature is None else f", {point.temperature:.0f} °C"
    return f"{point.clock:.0f} MHz{power}{temperature}"


def _grid(result: Measurement) -> Iterator[str]:
    rates = {(point.warps, point.chains): point.per_second for point in reversed(result.points)}
    warps, chains = (sorted({key[i] for key in rates}) for i in (0, 1))
    yield "      " + "".join(f"{each:>9}" for each in chains)
    for row in warps:
        cells = (rates.get((row, each)) for each in chains)
        texts = ("" if rate is None else f"{rate * work(result.form) / 1e12:.4g}" for rate in cells)
        yield f"  {row:>4}" + "".join(f"{text:>9}" for text in texts)
