"""Measurements without a GPU: the loops and their machine code, records, charts and the command line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import figures
from ptxlab.cli import main
from ptxlab.gpu import measure as engine
from ptxlab.gpu import sensors
from ptxlab.gpu.codegen.loops import FIRST_ADDRESS, LOOP_NAME, Loop, loop
from ptxlab.gpu.device import Gpu
from ptxlab.gpu.records import GpuRecord, Measurement, Point, measured, read_record, work, write_record
from ptxlab.views.throughput import WHAT, throughput, wgmma_measurements
from tests.cases import refuses
from tests.texts import replaced

_F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
_S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
_WGMMA = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16"


def _kept(kernel: Loop, turns: int, lanes: int) -> np.ndarray[Any, Any]:
    """What the loop leaves behind, simulated; its results are stored, which on a GPU never happens."""
    source = replaced(kernel.source, "if (never)", "if (never == 0)")
    output = np.zeros(1 << 12, dtype=np.uint32)
    arguments = (np.frombuffer(kernel.input, np.uint8).copy(), output, np.zeros(2, dtype=np.int64))
    simulated = ptxlab.kernel(source, name=LOOP_NAME)
    result = simulated.simulate(
        1, lanes, *arguments, np.int32(turns), np.uint32(0), shared=kernel.shared, check="error"
    )
    counts = {opcode: count for opcode, count in result.counts.items() if "mma" in opcode or "ldm" in opcode}
    assert sum(counts.values()) >= turns * kernel.statements
    return output


def test_a_loop_multiplies_what_it_says() -> None:
    """A B + A2 B2 - A B - A2 B2 leaves the accumulator where it began."""
    ins: Any = ptxlab.instruction(_WGMMA)
    for form in (ins, ins.a_from("shared")):
        kernel = loop(form, chains=4)
        once = _kept(kernel, 1, 128)[: 128 * ins.d.registers].view(np.float32)
        assert np.abs(once).max() < 1e-4
        assert np.count_nonzero(once) > 100  # rounding was at work
    mma: Any = ptxlab.instruction(_F16)
    kept = _kept(loop(mma, chains=1), 1, 32)[:128]
    c = np.frombuffer(loop(mma, chains=1).input[-512:], dtype=np.float32)
    assert np.allclose(kept.view(np.float32), c, atol=1e-4)


@pytest.mark.parametrize("name", ["m8n8.x4.b16", "m8n8.x1.trans.b16"])
def test_a_load_waits_for_the_one_before(name: str) -> None:
    """What ldmatrix loads is the address from which it loads next."""
    kernel = loop(ptxlab.instruction(f"ldmatrix.sync.aligned.{name}"), chains=1)
    assert (_kept(kernel, 2, 32)[:32] == FIRST_ADDRESS + 16 * np.arange(32)).all()


def test_the_machine_code_is_checked() -> None:
    """As many matrix instructions as are counted, whether the chip has them or a function emulates them."""
    native = engine.build(ptxlab.instruction(_F16), "sm_90a", 4)
    assert (native.sass, native.loop.statements) == ("native: 1 HMMA.16816.F32", 16)
    emulated = engine.build(ptxlab.instruction(_S4), "sm_90a", 1)
    assert emulated.sass.startswith("emulated: 2 IMMA.16832.S8.S8")
    ins: Any = ptxlab.instruction(_WGMMA)
    assert engine.build(ins, "sm_90a", 8).sass == "native: 1 HGMMA.SP.64x16x32.F32"


def test_a_loop_that_the_compiler_has_shortened_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = loop

    def twice_as_many(*arguments: Any, **options: Any) -> Loop:
        kernel = real(*arguments, **options)
        return Loop(kernel.source, 2 * kernel.statements, kernel.input, kernel.shared, kernel.threads)

    monkeypatch.setattr(engine, "loop", twice_as_many)
    refuses("has 16 matrix instructions, not 32", engine.build, ptxlab.instruction(_F16), "sm_90a", 4)


class _PretendedGpu(engine._Timer):
    """A GPU of two SMs at 1 GHz, on which a turn of any loop takes a microsecond."""

    def __init__(self) -> None:
        self.multiprocessors = 2

    @contextlib.contextmanager
    def loaded(self, kernel: engine.Kernel) -> Iterator[None]:
        yield

    def run(self, kernel: Any, function: Any, blocks: int, threads: int, turns: int, *_: Any) -> Any:
        return turns * 1e-6, turns * 1000


def test_figures_follow_from_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "timer", _PretendedGpu)
    form = ptxlab.instruction(_F16)
    chain, kernel, narrow = (
        engine.TimedLoop(form, chains, "C", Loop("", 16, b"", 0, threads), b"", "native: 1 HMMA")
        for chains, threads in ((1, 512), (4, 512), (1, 256))
    )
    result = engine.measure_built([chain, kernel], Gpu("pretended", "sm_90a"), seconds=0.01, sustained=0.02)
    assert result.latency == pytest.approx(1000 / 16)
    assert (result.best.warps, result.best.clock) == (16, pytest.approx(1000))
    assert result.best.per_second == pytest.approx(2 * 16 * 16 * 1e6)
    assert result.cycles == pytest.approx(1000 / (16 * 16))
    assert result.throughput == pytest.approx(4096 * result.best.per_second)
    assert result.sustained is not None
    assert len(result.points) == 6
    assert "latency     62.5 cycles" in repr(result)
    gpu = Gpu("pretended", "sm_90a")
    refuses("its registers allow 8 on each SM", engine.measure_built, [narrow], gpu, warps=[16])
    assert "by warps on each SM (down) and chains (across)" in repr(result)


def test_power_is_that_of_the_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's samples that are late enough count; without any, what the sensors said last."""
    monkeypatch.setattr(sensors.time, "sleep", lambda _: None)
    monkeypatch.setattr(sensors, "read_sensors", lambda: sensors.Reading(1755.0, 99.0, 41.0))
    samples = {1000.01: 100.0, 1000.03: 350.0, 1000.05: 600.0, 1000.07: 610.0, 1000.5: 90.0}
    for known, power in ((samples, 605.0), ({}, 99.0)):
        clock = count(1000.0, 0.01)
        monkeypatch.setattr(sensors.time, "time", lambda clock=clock: next(clock))
        monkeypatch.setattr(
            sensors,
            "power_samples",
            lambda begin, end, known=known: [watts for at, watts in known.items() if begin < at <= end],
        )
        left = iter([False] * 8 + [True])
        watch = sensors.SensorWatch()
        watch.follow(lambda left=left: next(left))  # type: ignore[misc]
        assert (watch.power, watch.temperature) == (power, 41.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"warps": [3.5]}, "warps: found 3.5"),
        ({"warps": [17]}, "from 1 to 16"),
        ({"chains": 4}, "it takes a list of numbers"),
        ({"seconds": 0}, "up to 60 seconds"),
        ({"contents": "ones"}, "'random' or 'zeros'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    refuses(re.escape(message), ptxlab.measure, _F16, **options)


# -- records -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_record_survives_its_file(tmp_path: Path) -> None:
    record = measured(chip="H200")
    write_record(record, tmp_path / "again.json")
    again = read_record(tmp_path / "again.json")
    assert again.measurements == record.measurements
    assert measured(_F16, str(tmp_path / "again.json")) == measured(_F16)


def test_a_file_that_is_no_record_is_refused(tmp_path: Path) -> None:
    for content in ("[]", "{", '{"format": 2}', '{"format": 1, "conditions": {}, "instructions": []}'):
        (tmp_path / "wrong.json").write_text(content)
        refuses(r"wrong\.json", measured, chip=str(tmp_path / "wrong.json"))
    refuses("records of 'NVIDIA H200'|records of NVIDIA H200", measured, chip="H20")


def test_a_record_of_the_users_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptxlab.gpu.records.data_folder", lambda: tmp_path)
    old = measured(_F16)
    record = GpuRecord("NVIDIA L4", "sm_89", 58, "580", "13.0", "2026-01-01", None, None, "random")
    point = Point(8, 4, 1e10, 2000.0)
    record.add(
        Measurement(old.form, "NVIDIA L4", "sm_89", 58, 33.0, None, (point,), "native", "random", "2026")
    )
    write_record(record, tmp_path / "measured" / "l4.json")
    assert measured(_F16, "L4").latency == 33.0
    assert measured(_F16, "H200") == old


# -- what an H200 does ---------------------------------------------------------------------------------------


def test_the_record_of_the_h200_is_whole_numbers_of_cycles() -> None:
    """wgmma takes what its multiplications take, or what shared memory takes to deliver A and B.

    Shared memory delivers 128 bytes a cycle, and N columns take N / 2 cycles to multiply.
    """
    record = measured(chip="H200")
    for type_name, bits in (("f16", 16), ("tf32", 32), ("e4m3", 8), ("s8", 8)):
        for (sparse, space), results in wgmma_measurements(record, type_name).items():
            for result in results:
                form: Any = result.form
                compute = form.n / 2
                stored_k = form.k // 2 if sparse else form.k
                from_memory = form.n * form.k * bits / 8 / 128
                if space == "shared":
                    from_memory += 64 * stored_k * bits / 8 / 128
                least = max(compute, from_memory)
                if form.n >= 40:
                    assert result.cycles == pytest.approx(least, rel=0.0125), result.form
                else:
                    assert result.cycles >= 0.99 * least
    assert {work(form) / measured(form).cycles > 0 for form in ptxlab.catalog("mma", "sm_90a")} == {True}


def test_the_record_of_the_h200_is_complete() -> None:
    """Every form that it has, with clock, power and temperature."""
    record = measured(chip="H200")
    for form in engine.measurable_forms("sm_90a"):
        result = record.get(form)
        assert result is not None, form
        assert result.best.clock > 1000
        assert result.sustained is not None, form
        assert 150 < (result.sustained.power or 0) < 1000, form
        assert 30 < (result.sustained.temperature or 0) < 90, form


@pytest.mark.slow
def test_charts_show_the_record(tmp_path: Path) -> None:
    for what in WHAT:
        chart = throughput(what)
        assert "NVIDIA H200" in chart.subtitle
        assert chart.with_title(False).svg().startswith("<svg")
        figure = figures.throughput(what, title=False)
        saved = figures.save(figure, tmp_path / f"{what}.svg")
        assert saved.read_text(encoding="utf-8").startswith("<svg")  # as it is drawn, without a browser
    refuses("of wgmma, NVIDIA H200 has f16", figures.throughput, "n", "f64")
    refuses("type='f16': what='native' compares all types", figures.throughput, "native", "f16")


def test_the_command_line_shows_what_was_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", _F16, "--recorded", "H200"]) == 0
    assert "native: 1 HMMA.16816.F32\n  latency     24.1 cycles" in capsys.readouterr().out
    assert main(["measure", "--all", "mma.m16n8k16.f32.f16"]) == 1
    assert main(["measure"]) == 1
    assert main(["measure", _F16, "--a", "shared"]) == 1


# -- on a GPU ------------------------------------------------------------------------------------------------


@pytest.mark.gpu
def test_a_gpu_is_measured(tmp_path: Path) -> None:
    result = ptxlab.measure(_F16, warps=[8], chains=[1, 4], seconds=0.01)
    assert result.native
    assert result.latency is not None
    assert 10 < result.latency < 100
    assert {point.chains for point in result.points} == {1, 4}  # no times: others use the GPU, too
    assert all(point.per_second > 0 and point.clock > 0 for point in result.points)
    assert result.sustained is not None
    forms = [ptxlab.instruction(_F16), ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.b16")]
    file = engine.record(tmp_path / "record.json", forms=forms[:1])
    assert len(read_record(file)) == 1
    again = read_record(engine.record(file, forms=forms))
    assert len(again) == 2
    assert measured(_F16, str(file)).native
    for measurement in (result, *again):
        assert measurement.sustained is not None
        assert 50 < (measurement.sustained.power or 0) < 2000
        assert 10 < (measurement.sustained.temperature or 0) < 110
