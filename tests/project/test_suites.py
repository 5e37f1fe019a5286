"""`tools.suites`: small suites of our own, laid out as the published ones are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cases import each
from tools.suites import gpuverify, indigo, launches, page, samples, scor
from tools.suites.opencl import as_cuda
from tools.suites.runs import Run

#: GPUVerify: a kernel, and its verdict.
_VERIFIED = {
    "CUDA/pass/own": (
        "//pass\n//--blockDim=64 --gridDim=64 --no-inline\n"
        "__global__ void k(int* a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 1; }",
        "clean",
    ),
    "CUDA/pass/contract": (
        "//pass\n//--blockDim=64 --gridDim=1\n__global__ void k(int* a, int n) {\n  __requires(n == 1);\n"
        "  for (int i = 0; __invariant(i <= n), i < n; i++) a[threadIdx.x * n] = i;\n}",
        "clean",
    ),
    "CUDA/pass/spread": (
        "//pass\n//--blockDim=64 --gridDim=1 --only-divergence\n"
        "__global__ void k(int* a) { a[0] = threadIdx.x; }",
        "report",
    ),
    "CUDA/fail/one": (
        "//xfail:NOT_ALL_VERIFIED\n//--blockDim=[8,8] --gridDim=[1,1]\n//possible write-write race on a\n"
        "__global__ void k(int* a) { a[threadIdx.x] = threadIdx.y; }",
        "found",
    ),
    "CUDA/fail/unused": (
        "//xfail:NOT_ALL_VERIFIED\n//--blockDim=64 --gridDim=1\n//race\n"
        "__global__ void k() { __shared__ int a; a = threadIdx.x; }",
        "found",
    ),
    "CUDA/fail/number": (
        "//xfail:NOT_ALL_VERIFIED\n//--blockDim=64 --gridDim=1\n//race\n"
        "__global__ void k(int* a, int n) { if (n == 0) a[0] = threadIdx.x; }",
        "found",
    ),
    "CUDA/fail/claim": (
        "//xfail:NOT_ALL_VERIFIED\n//--blockDim=64 --gridDim=1\n//this assertion might not hold\n"
        "__global__ void k(int n) { __assert(n == 3); }",
        "not judged",
    ),
    "CUDA/fail/texture": (
        "//pass\n//--blockDim=64 --gridDim=1\n__global__ void k(nothing n) {}",
        "refused",
    ),
    "OpenCL/pass/local": (
        "//pass\n//--local_size=64 --num_groups=2\n__kernel void k(__local int* l, __global int* g) {\n"
        "  l[get_local_id(0)] = get_local_id(0);\n  barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  g[get_global_id(0)] = l[63 - get_local_id(0)];\n}",
        "clean",
    ),
    "OpenCL/fail/local": (
        "//xfail:NOT_ALL_VERIFIED\n//--local_size=64 --global_size=128\n//Write by work item 3\n"
        "kernel void k(local int* l) { l[0] = get_local_id(0); }",
        "found",
    ),
    "OpenCL/fail/copy": (
        "//xfail:NOT_ALL_VERIFIED\n//--local_size=64 --num_groups=1\n//race\n"
        "kernel void k(global float* g) {\n  local float l[64];\n"
        "  event_t e = async_work_group_copy(l, g, 64, 0);\n"
        "  g[get_local_id(0) + 64] = l[get_local_id(0)];\n}",
        "found",
    ),
    "OpenCL/fail/apart": (
        "//xfail:NOT_ALL_VERIFIED\n//--local_size=64 --num_groups=1\n//barrier, non-uniform control flow\n"
        "__kernel void k(__global int* g) { if (get_local_id(0) < 7) barrier(1); g[get_local_id(0)] = 1; }",
        "found",
    ),
}  # fmt: skip


@each("name", _VERIFIED)
def test_verdicts_on_gpuverify(name: str, tmp_path: Path) -> None:
    text, verdict = _VERIFIED[name]
    file = tmp_path / name / ("kernel.cu" if name.startswith("CUDA") else "kernel.cl")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    (run,) = gpuverify.runs(tmp_path, name)
    assert run.verdict == verdict, run
    assert run.true_report == (verdict == "report")
    assert len(list(gpuverify.runs(tmp_path, name, clean=True))) == text.startswith("//pass")


def test_verdicts_on_indigo(tmp_path: Path) -> None:
    """A graph of a chain; the names say what is wrong."""
    nodes = 40
    index, neighbours = np.arange(nodes + 1), (np.arange(nodes) + 1) % nodes
    (tmp_path / "input").mkdir()
    words = np.concatenate([[nodes, nodes], index, neighbours]).astype("<i4")
    words.tofile(tmp_path / "input" / "chain.egr")
    folder = tmp_path / "indigo_sources" / "count_edge"
    folder.mkdir(parents=True)
    for name, statement in (
        ("count_edge", "atomicAdd(data1, 1);"),
        ("count_edge_atomicBug", "data1[0]++;"),
        ("count_edge_boundsBug", "data2[i] = nindex[i + 2];"),
    ):
        text = f"""typedef int data_t;
#include "indigo_cuda.h"
__global__ void test_kernel(int* nindex, int* nlist, data_t* data1, data_t* data2, int numv) {{
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < numv) {{ {statement} }}
}}
void serial_code() {{ printf("on the host"); }}
"""
        (folder / f"{name}.cu").write_text(text, encoding="utf-8")
    runs = list(indigo.runs(tmp_path, graphs=("chain",)))
    assert [(run.bug, run.verdict) for run in runs] == [
        ("", "clean"),
        ("race", "found"),
        ("out of bounds", "found"),
    ]
    assert [run.name for run in indigo.runs(tmp_path, graphs=("chain",), clean=True)] == ["count_edge chain"]


def test_scor_with_volatile_and_without(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    text = """#include <stdio.h>
#define NBLOCKS 2
#define TPERBLK 1
void check() { exit(1); }
__device__ int flag = 0;
__global__ void kmain(volatile unsigned int* data) { data[0] = blockIdx.x; }
int main() { kmain<<<NBLOCKS, TPERBLK>>>(0); }
"""
    (tmp_path / "src" / "race_waw.cu").write_text(text, encoding="utf-8")
    runs = {run.suite: run for run in scor.runs(tmp_path)}
    assert runs[scor.WITHOUT].verdict == "found"
    assert runs[scor.WITHOUT].hazards[0].startswith("line 6:"), "lines are the file's"
    assert set(runs) == {scor.SUITE, scor.WITHOUT}


def test_what_runs_on_the_host_is_left_out() -> None:
    text = (
        "#include <x>\nstatic int size = 3;\n__device__ int f() {\n  return 1;\n}\nint main() {\n  f();\n}\n"
    )
    assert launches.device_part(text).splitlines()[:5] == [
        "", "static int size = 3;", "__device__ int f() {", "  return 1;", "}",
    ]  # fmt: skip
    assert "main" not in launches.device_part(text)


@each("text", ["const float *restrict x", "unsigned int n", "float4 v", "int a[4]", "T (*f)[8]"])
def test_parameters_of_kernels_are_read(text: str) -> None:
    (parameter,) = launches.parameters_of(text)
    expected = {
        "const float *restrict x": ("float", True, "x"),
        "unsigned int n": ("unsigned int", False, "n"),
        "float4 v": ("float4", False, "v"),
        "int a[4]": ("int", True, "a"),
        "T (*f)[8]": ("T", True, "f"),
    }
    assert tuple(parameter) == expected[text]


def test_every_kernel_of_opencl_gets_one_of_cuda() -> None:
    text = as_cuda("__kernel void a(__global int* x) {}\n__kernel void b(__local float* y, int n) {}", 64)
    assert text.count('extern "C" __global__') == 2 and "ptxlab_b(int n, unsigned long" in text


def test_the_page_has_what_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the runs of a suite the counts are kept, and those of other suites stay."""
    assert page.text(json.loads(page.RESULTS.read_text(encoding="utf-8"))) == page.PAGE.read_text(
        encoding="utf-8"
    ), "python -m tools.suites --record FILE"
    monkeypatch.setattr(page, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "suites.md")
    suite = next(iter(samples.SAMPLES))
    rows = [
        Run(suite, "a", "race", hazards=["line 1"]).as_row(),
        Run(suite, "b", "race", "equal values").as_row(),
        Run(suite, "g", "race", notes=["line 4"]).as_row(),
        Run(suite, "c", "").as_row(),
        Run(suite, "d", "", hazards=["line 2"]).as_row(),
        Run(suite, "e", None).as_row(),
    ]
    page.record(rows, "9.9")
    page.record([Run(indigo.SUITE, "code_atomicBug graph", "race", hazards=["line 3"]).as_row()], "9.9")
    kept = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert set(kept) == {suite, indigo.SUITE}
    assert kept[suite]["missed"] == {"equal values": ["b"], "reported as a note": ["g"]}
    assert kept[suite]["false alarms"] == ["d"]
    text = (tmp_path / "suites.md").read_text(encoding="utf-8")
    assert "| 6 | 3 | 1 (33%) | 2 | 1 | 0 | 1 | 1 | 9.9 |" in text and "equal values: `b`" in text
    assert "| ptxlab, with smaller launches | 1 |  | no false alarms |" in text


def test_what_the_readme_says_of_suites() -> None:
    """All of Indigo's racy codes are found, and nothing is said of kernels that are right."""
    rows = json.loads(page.RESULTS.read_text(encoding="utf-8"))
    assert rows["Indigo 1.3"]["missed"] == {} and rows["Indigo 1.3"]["found"] > 1000
    assert not any(row["false alarms"] for row in rows.values())
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert "all of Indigo's racy codes, and reports no right kernel" in readme
