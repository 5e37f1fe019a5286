"""Sources in CUDA C++ on both of Clang's roads: its own back end, and LLVM IR that ptxlab translates."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from ptxlab import PtxlabError
from ptxlab.gpu import clang
from ptxlab.simulator import cuda_source
from ptxlab.simulator.llvm import ptx_from_llvm
from tests.sampling import one_in
from tools.record.lesson_kernels import parts_and_sources

from .clang_roads import translated
from .kernel_cases import CASES, FOLDER, Case, digest

pytestmark = [pytest.mark.needs("ziglang"), pytest.mark.slow]

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "clang.md"
#: Cases that Clang does not compile: words of the refusal.
REFUSED = {"nested_debug": "-G"}
COMPILED = [case for name, case in CASES.items() if not case.file.endswith(".ptx") and name not in REFUSED]
#: Kernels whose inputs are elsewhere.
HAZARDS = sorted((FOLDER / "hazards").glob("*.cu"))


@pytest.fixture(autouse=True)
def by_clang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clang is the compiler, even where NVRTC is installed."""
    monkeypatch.setattr(cuda_source, "find_compiler", lambda name=None: "clang")


@pytest.mark.parametrize("case", one_in(30, COMPILED), ids=lambda case: case.name)
def test_kernels_give_equal_results(case: Case) -> None:
    digests = []
    for road in (nullcontext(), translated()):
        with road:
            kernel = case.compiled()
        arguments = case.inputs()
        kernel.simulate(case.grid, case.block, *arguments, shared=case.shared, check=False)
        digests.append(digest(arguments))
    assert digests[0] == digests[1]


@pytest.mark.parametrize("options", [(), ("-DFIXED",)], ids=["broken", "fixed"])
@pytest.mark.parametrize("path", one_in(2, HAZARDS), ids=lambda path: path.stem)
def test_kernels_with_hazards_are_translated(path: Path, options: tuple[str, ...]) -> None:
    with translated():
        clang.compile_ptx(path.read_text(encoding="utf-8"), "sm_100a", options, translate=ptx_from_llvm)


def test_sources_of_lessons_are_translated() -> None:
    _, sources = parts_and_sources()
    (of_nvidia,) = (source for source in sources if "<mma.h>" in source)
    for source in one_in(25, [source for source in sources if source is not of_nvidia]):
        with translated():
            clang.compile_ptx(source, "sm_90a", translate=ptx_from_llvm)
    with translated(), pytest.raises(PtxlabError, match="no <mma.h>: write mma.sync as inline PTX"):
        clang.compile_ptx(of_nvidia, "sm_90a", translate=ptx_from_llvm)


def test_the_guide_names_what_is_refused() -> None:
    rows = GUIDE.read_text(encoding="utf-8").partition("| kernel of the tests |")[2].partition("\n\n")[0]
    named = [row.split("`")[1::2] for row in rows.splitlines()[2:]]
    assert named == [[CASES[name].name, words] for name, words in REFUSED.items()]
    for name, words in REFUSED.items():
        with pytest.raises(PtxlabError, match=words):
            CASES[name].compiled()
