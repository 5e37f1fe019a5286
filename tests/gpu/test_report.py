"""The report on a GPU, with the emulator in the place of one: what it holds, and what it finds."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ptxlab import gpu, instruction
from ptxlab.isa.operation import Operation
from tests.sampling import one_in
from tools import gpu_report
from tools.gpu_report import Emulator, GoldenCase, LayoutProbe, MoveCase

F16 = instruction("tcgen05.mma.cta_group::1.kind::f16", n=64)
PAIR = instruction("tcgen05.mma.sp.cta_group::2.kind::f16", m=128, n=64)
SCALED = instruction("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16", n=64)
B200 = Emulator("sm_100a")


def test_a_report_can_be_read_back(tmp_path: Path) -> None:
    cases = [
        GoldenCase(instruction("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")),
        GoldenCase(instruction("tcgen05.mma.ws.cta_group::1.kind::i8", m=32, n=64), count=1),
        LayoutProbe(F16, "D"),
        MoveCase(instruction("tcgen05.ld.sync.aligned.16x64b.x2.pack::16b.b32")),
        MoveCase(instruction("tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32")),
    ]
    file = tmp_path / "report.json.gz"
    gpu_report.write(gpu_report.report(B200, cases), file)
    result = json.loads(gzip.decompress(file.read_bytes()))
    assert result["summary"] == {"cases": 5, "differing": 0, "not_compared": 0, "errors": 0}
    assert result["device"]["target"] == "sm_100a" and result["format"] == 1
    golden, product, layout, move, reduction = result["entries"]
    assert golden["categories"].keys() == {"bits", "extremes", "halves", "edges", "overflow_edge"}
    assert product["descriptor"] == "0x02100020" and product["means"].startswith("m32n64k32")
    words = gpu_report.unpacked(product["categories"]["bits"]["first"])
    assert len(words) == 32 and "words" not in product["categories"]["bits"]
    assert layout["stated"] == "(128,64):(1,128)"
    assert np.array_equal(gpu_report.unpacked(layout["found"]), np.arange(128 * 64))
    assert move["kind"] == "move" and move["shape"] == [1, 128, 2] and reduction["shape"] == [1, 128, 3]


@pytest.mark.slow
def test_probes_find_the_layouts_of_the_emulator() -> None:
    """Layouts of D, of A in tensor memory, of metadata and of scales."""
    probes = [case for case in gpu_report.plan("sm_100a") if isinstance(case, LayoutProbe)]
    assert any(case.form.ashift for case in probes)
    assert {case.form.path.name for case in probes if case.operand == "D"} == set("ABCDEFG")
    for case in one_in(25, probes, 4):
        entry = case.run(B200)
        assert entry["differences"] == 0, entry
    rubin = gpu_report.Emulator("sm_107a")
    narrow = [
        case for case in gpu_report.plan("sm_107a") if isinstance(case, LayoutProbe) and case.form.k == 64
    ]
    across = next(case for case in narrow if case.form.tensor(case.operand).width == 6)
    assert across.run(rubin)["differences"] == 0, "elements across the ends of words"


@dataclass
class Shifted:
    """Another machine: the lanes of D change places, and one bit of every result is another."""

    target: str = "sm_100a"
    name: str = "shifted"
    lanes: int = 0
    flip: int = 0

    def product(self, operands: Operation) -> NDArray[Any]:
        return np.roll(B200.product(operands), self.lanes, axis=-2) ^ np.uint32(self.flip)

    def move(self, form: Any, arguments: Any) -> NDArray[Any]:
        raise RuntimeError("no such instruction")


def test_differences_are_found() -> None:
    """A layout that is not the stated one, words that are not the emulator's, and a case that fails."""
    entry = LayoutProbe(F16, "D").run(Shifted(lanes=1))
    assert entry["differences"] == 128 * 64
    assert gpu_report.unpacked(entry["found"]).reshape(128, 64)[1, 5] == 5  # row 0 is in lane 1
    assert entry["differing"][0] == [0, 0, 127 * 64, 0]
    entry = LayoutProbe(SCALED, "SFA").run(Shifted(lanes=32))
    assert entry["differences"] > 0
    golden = GoldenCase(PAIR, count=1).run(Shifted(flip=1))
    moderate = golden["categories"]["moderate"]
    assert moderate["differences"] == 256 * PAIR.d.columns
    words = gpu_report.unpacked(moderate["words"]).reshape(moderate["shape"])
    assert gpu_report.digest(words) == moderate["digest"]
    cases = [MoveCase(instruction("tcgen05.shift.cta_group::1.down")), LayoutProbe(PAIR, "E")]
    result = gpu_report.report(Shifted(), cases)
    assert result["summary"]["errors"] == 1 and result["entries"][0]["error"].startswith(
        "RuntimeError: no such"
    )
    assert result["entries"][1]["differences"] == 0


@pytest.mark.slow
def test_every_target_has_a_plan() -> None:
    assert {type(case) for case in gpu_report.plan("sm_90a", quick=True)} == {GoldenCase}
    for case in one_in(300, gpu_report.plan("sm_100a"), 7):
        assert all("__global__" in source for source in case.sources)


@pytest.mark.gpu
@pytest.mark.skipif(not gpu.available(), reason=gpu.status())
def test_this_gpu_gives_what_the_emulator_gives() -> None:
    """A few of the cases; `python -m tools.gpu_report` runs them all."""
    runner = gpu_report.Gpu()
    for case in one_in(12, gpu_report.plan(runner.target, quick=True), 5):
        entry = case.run(runner)
        assert not entry["differences"], entry["instruction"]


def test_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    if gpu.available():
        pytest.skip("there is a GPU")
    assert gpu_report.main([]) == 1
    assert capsys.readouterr().err == f"No report: {gpu.status()}.\n"
