"""Predicted times: machine code with its origin, what fits on an SM, and times that an H200 needed."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import fields
from xml.etree import ElementTree

import numpy as np
import pytest

import ptxlab
from benchmarks import predict
from ptxlab import PtxlabError, figures, gemm, views
from ptxlab.gpu.codegen.loops import loop
from ptxlab.simulator.timing.code import machine_code, numbered
from ptxlab.simulator.timing.units import CHIP_TIMINGS
from tests.simulator.kernel_cases import CASES
from tests.texts import replaced

COPY = """extern "C" __global__ void copy(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i];
}"""


def test_machine_instructions_know_the_ptx_that_they_come_from():
    kernel = ptxlab.kernel(COPY)
    instructions = list(kernel.module.instructions)
    code = machine_code(kernel._texts, kernel.name, "sm_90a", len(instructions))
    origins = {each.name: instructions[each.origin].opcode for each in code.instructions}
    assert origins["LDG"] == "ld.global.nc.f32" or origins["LDG"].startswith("ld.global")
    assert origins["STG"].startswith("st.global")
    assert code.registers >= 8
    load = next(each for each in code.instructions if each.name == "LDG")
    store = next(each for each in code.instructions if each.name == "STG")
    assert load.writes < 6
    assert store.waits >> load.writes & 1  # it waits for what was loaded


def test_instructions_of_inline_assembly_are_numbered_one_by_one():
    text = """.version 8.0
    .target sm_90
    .entry k(.param .b64 p) { .reg .b32 %r<3>; .reg .b64 %d;
    ld.param.u64 %d, [p]; { .reg .pred q; setp.eq.u32 q, %r1, 0; @q bra L; mov.b32 %r2, {%h1, %h2}; }
    L: st.global.v2.u32 [%d], {%r1, %r2}; ret; }"""
    result, count = numbered(text)
    assert count == 6
    assert result.count(".loc 1 ") == 6


def test_a_kernel_is_assembled_as_it_runs_and_not_as_a_part_of_a_program():
    kernel = gemm.rung(2, result="f16").kernel
    code = machine_code(kernel._texts, kernel.name, "sm_90a", len(list(kernel.module.instructions)))
    assert code.registers == 78  # an H200 said so; linked, it has 102


@pytest.mark.parametrize(
    ("name", "count"),
    # Instructions of each warp, as Nsight Compute counts them on an H200.
    [("copy of 64 MB, 4 bytes a thread", 16), ("atomics on 32 words", 105), ("ldmatrix, 132 x 128", 6008)],
)
def test_warps_issue_as_many_instructions_as_on_an_h200(name, count):
    """Loops are unrolled, with shorter versions for what remains, and constants are loaded before them."""
    case = next(each for each in predict.cases() if each.name == name)
    profile = predict.predicted(case)
    warps = -(-case.grid // 132) * case.block // 32
    assert profile.instructions / warps == pytest.approx(count, rel=0.07)


PRODUCT = """extern "C" __global__ void product(float* C, const float* A, const float* B, int n) {
  __shared__ float a[64 * 8], b[8 * 64];
  int col = threadIdx.x % 64, row = threadIdx.x / 64;
  float sum[8] = {};
  for (int k = 0; k < n; k += 8) {
    a[threadIdx.x] = A[(blockIdx.y * 64 + threadIdx.x / 8) * n + k + threadIdx.x % 8];
    b[threadIdx.x] = B[(k + threadIdx.x / 64) * n + blockIdx.x * 64 + threadIdx.x % 64];
    __syncthreads();
    for (int i = 0; i < 8; i++) {
      float value = b[i * 64 + col];
      for (int j = 0; j < 8; j++)
        sum[j] += a[(row * 8 + j) * 8 + i] * value;
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; j++)
    C[(blockIdx.y * 64 + row * 8 + j) * n + blockIdx.x * 64 + col] = sum[j];
}"""


def test_loads_that_are_joined_over_iterations_do_not_double_the_rest():
    """Four iterations are one in the machine code, whose loads of A have 16 bytes."""
    size = 128
    matrix = np.zeros((size, size), np.float32)
    profile = ptxlab.kernel(PRODUCT).profile((2, 2), 512, matrix.copy(), matrix, matrix, size)
    issued = Counter(profile.code[int(row[1])].opcode for row in profile.timeline)
    assert issued["FFMA"] == 64 * 64 * size // 32


def test_lanes_that_count_at_one_word_of_shared_memory_take_one_access():
    profile = ptxlab.kernel(predict.PROBES, "shared_atomics").profile(
        132, 256, np.zeros(256, np.uint32), np.zeros(1 << 18, np.uint32), 1 << 18
    )
    assert profile.units["shared memory"] < 0.3


def test_a_profile_is_not_that_of_the_blocks_at_the_edge():
    source = replaced(COPY, "if (i < n)", "if (blockIdx.x >= 132 && i < n)")
    x = np.zeros(1 << 18, np.float32)
    profile = ptxlab.kernel(source).profile(1024, 256, x, x.copy(), np.int32(1 << 18))
    assert profile.work.l2 > 1.5 * x.nbytes


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 0.2),  # HMMA, with conversions around it
        ("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32", 0.1),  # a function that the compiler brings
        ("wgmma.mma_async.sp.sync.aligned.m64n112k32.f16.f16.f16", 0.01),
    ],
)
def test_loops_of_a_matrix_instruction_take_what_they_took_on_an_h200(name, error):
    record = ptxlab.measured(name)
    best = record.best
    code = loop(record.form, best.chains, reload=not record.native)
    operands = np.zeros(-(-len(code.input) // 16) * 16, np.uint8)
    operands[: len(code.input)] = np.frombuffer(code.input, np.uint8)
    arrays = operands, np.zeros(16, np.uint8), np.zeros(2, np.int64)
    kernel = ptxlab.kernel(code.source)
    few, many = (
        kernel.profile(132, 32 * best.warps, *arrays, turns, 0, shared=code.shared).cycles for turns in (2, 6)
    )
    count = 4 * code.statements * best.warps * 32 // record.form.lanes
    assert (many - few) / count == pytest.approx(record.cycles, rel=error)


def test_without_a_unit_a_launch_is_as_fast_as_the_rest_of_it():
    profile = ptxlab.kernel(predict.PROBES, "exponentials").profile(
        132, 1024, np.zeros(132 << 10, np.float32), 100
    )
    assert profile.without("xu").microseconds < 0.5 * profile.microseconds
    assert profile.without("DRAM").microseconds == pytest.approx(profile.microseconds)
    assert profile.without("XU").source == profile.source
    issued = profile.instructions / (4 * profile.cycles)  # a block on each SM, four sub-partitions
    assert profile.units["issue slots"] == pytest.approx(issued, rel=0.01) and profile.units["TMA"] == 0
    assert profile.without("issue slots").cycles < 1.01 * profile.cycles
    with pytest.raises(ptxlab.PtxlabError, match="unit: found 'disk'; there are FMA, ALU, XU"):
        profile.without("disk")


def test_copies_in_bulk_keep_the_tma_busy():
    x = np.zeros(132 * 64 * 8192, np.uint8)
    profile = ptxlab.kernel(predict.PROBES, "bulk_copies").profile(
        132, 128, np.zeros(132 * 128, np.uint32), x, 64, shared=32768
    )
    assert 64 * 8192 / 128 / profile.cycles == pytest.approx(profile.units["TMA"])  # a line a cycle
    assert profile.without("tma").cycles < 0.8 * profile.cycles


def test_a_prediction_has_a_range_and_every_figure_of_a_chip_its_evidence():
    x = np.zeros(1 << 12, np.float32)
    profile = ptxlab.kernel(COPY).profile(16, 256, x, x.copy(), np.int32(1 << 12))
    low, high = profile.range
    assert low < profile.microseconds < high
    assert f"{low:,.3g} to {high:,.3g} µs" in str(profile)
    for chip in CHIP_TIMINGS.values():
        for each in fields(chip):
            if "evidence" in each.metadata:
                assert re.match("measured: |published: |fitted |assumed: ", chip.evidence(each.name))


def test_an_h100_has_slower_memory_and_says_that_it_was_not_measured():
    case = next(each for each in predict.cases() if each.name == "copy of 64 MB, 16 bytes a thread")
    kernel, arrays = ptxlab.kernel(predict.PROBES, case.kernel), case.arrays()
    one, other = (kernel.profile(case.grid, case.block, *arrays, chip=chip) for chip in ("H200", "h100"))
    assert other.microseconds / one.microseconds == pytest.approx(4800 / 3352, rel=0.05)
    assert "no launch on one was compared" in str(other) and "no launch" not in str(one)


def test_the_guide_has_the_predictions_that_were_kept():
    text = predict.PAGE.read_text(encoding="utf-8")
    assert predict.table() in text
    times, kept = (json.loads(path.read_text()) for path in (predict.RECORDED, predict.PREDICTED))
    for kind, (low, high) in CHIP_TIMINGS["H200"].errors.items():
        ratios = [times[name] / row["microseconds"] for name, row in kept.items() if row["kind"] == kind]
        inside = [low <= ratio <= high for ratio in ratios]
        assert 0.75 <= sum(inside) / len(inside) <= 0.95, kind


@pytest.mark.parametrize(
    ("block", "shared", "blocks", "limit"),
    [(256, 0, 8, "threads"), (256, 100_000, 2, "shared memory"), (32, 0, 32, "blocks")],
)
def test_what_fits_on_an_sm(block, shared, blocks, limit):
    x = np.zeros(1 << 12, np.float32)
    profile = ptxlab.kernel(COPY).profile(64, block, x, x, np.int32(0), shared=shared)
    assert (profile.occupancy.blocks, profile.occupancy.limit) == (blocks, limit)


def test_a_profile_leaves_arrays_alone_and_names_the_line_that_waits():
    x, y = np.ones(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
    profile = ptxlab.kernel(COPY).profile(256, 256, y, x, np.int32(1 << 16))
    assert not y.any()
    waits = {line: reasons["long scoreboard"] for line, reasons in profile.stalls.items()}
    assert max(waits, key=lambda line: waits[line]) == 4
    assert profile.reasons.most_common(1)[0][0] == "long scoreboard"
    assert profile.microseconds > 0.9


def test_a_profile_knows_its_code_and_what_the_launch_moves():
    x, y = np.ones(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
    profile = ptxlab.kernel(COPY).profile(256, 256, y, x, np.int32(1 << 16))
    assert profile.source == COPY
    load = next(each for each in profile.code if each.opcode.startswith("LDG"))
    assert (load.line, load.unit, load.ptx[:9]) == (4, "L1", "ld.global")
    assert sum(profile.issued.values()) == profile.instructions
    assert profile.issued[4] >= 2 * 256 * 8 / 132  # of one SM
    assert profile.work.l2 == pytest.approx(2 * 4 << 16)
    assert profile.work.dram == 0  # it is in L2 from the launch before


def test_a_notebook_shows_the_source_with_cycles_and_stalls_in_its_margin():
    x, y = np.ones(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
    profile = ptxlab.kernel(COPY).profile(256, 256, y, x, np.int32(1 << 16))
    page = profile._repr_html_()
    row = re.search(r'<div class="row" data-line="4".*?</div>', page, re.DOTALL)[0]
    assert "long scoreboard" in row and f"<span>{profile.issued[4]:,}</span>" in row
    assert "How busy each unit is" in page and "measured on an H200" in page
    assert f"{profile.microseconds:.1f} µs on an H200" in page and "limited by threads" in page
    text = str(profile)
    assert re.search(r"^ +4 +\d+\.\d % +\d+ +long scoreboard \d+ %.*y\[i\] = x\[i\];$", text, re.MULTILINE)
    assert "1 wave, 24 % full" in text


def test_a_profile_of_ptx_shows_lines_of_the_ptx():
    kernel = ptxlab.kernel(ptxlab.kernel(COPY).ptx)
    x = np.zeros(64, np.float32)
    profile = kernel.profile(1, 64, x, x.copy(), np.int32(64))
    (load,) = {each.line for each in profile.code if each.opcode.startswith("LDG")}
    assert "ld.global" in kernel.ptx.splitlines()[load - 1]


def test_a_timeline_shows_what_each_warp_waits_for():
    x, y = np.ones(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
    profile = ptxlab.kernel(COPY).profile(256, 256, y, x, np.int32(1 << 16))
    picture = views.timeline(profile)
    assert picture.warps == 16  # two blocks
    stripes = list(picture.stripes(200))
    total = Counter()
    for stripe in stripes:
        total[stripe.reason] += stripe.end - stripe.start
    assert total.most_common(1)[0][0] == "long scoreboard"
    ends = {warp: profile.timeline[profile.timeline[:, 0] == warp, 4].max() for warp in range(16)}
    width = (picture.end - picture.start) / 200
    assert all(stripe.end <= ends[stripe.warp] + width + 1 for stripe in stripes)  # nothing after its end
    drawn = ElementTree.fromstring(picture.svg())
    words = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"long scoreboard", "block 0", "block 1", "global memory"} <= set(words)
    many = ptxlab.kernel(COPY).profile(1024, 32, y, x, np.int32(1 << 15))
    names = re.findall(r'y="([\d.]+)"[^>]*>block', views.timeline(many).svg())
    heights = [float(y) for y in names]
    assert len(heights) > 4 and min(np.diff(heights)) >= 12  # names of blocks do not overlap
    figure = figures.timeline(profile, cycles=500)
    waits = next(trace for trace in figure.data if trace.name == "long scoreboard")
    assert any("line 4: y[i] = x[i];" in tip and "STG" in tip for tip in waits.customdata)
    assert figure.layout.xaxis.range == (0, 500)
    with pytest.raises(ptxlab.PtxlabError, match="where a profile belongs"):
        views.timeline(3)


def test_a_trace_for_perfetto_has_warps_and_units(tmp_path):
    x = np.zeros(1 << 12, np.float32)
    profile = ptxlab.kernel(COPY).profile(16, 256, x, x.copy(), np.int32(1 << 12))
    events = json.loads(profile.perfetto(tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    issued = [event for event in spans if event["cat"] == "issue"]
    assert len(issued) == len(profile.timeline)
    waits = [event for event in spans if event["name"] == "long scoreboard"]
    assert {event["args"]["line"] for event in waits} >= {4}
    ends = {}
    for event in sorted((event for event in spans if event["pid"] == 0), key=lambda event: event["ts"]):
        assert event["ts"] >= ends.get(event["tid"], 0) - 1e-4  # spans of a warp do not overlap
        ends[event["tid"]] = event["ts"] + event["dur"]
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"block slot 0, warp 7", "L1 0", "warps of an SM"} <= names
    with pytest.raises(ptxlab.PtxlabError, match="cannot be written"):
        profile.perfetto(tmp_path)


def test_a_roofline_places_a_kernel_by_its_bytes():
    source = """extern "C" __global__ void f(float* x) {
      int i = blockIdx.x * 256 + threadIdx.x;
      x[i] = x[i] * x[i] + 1;
    }"""
    x = np.ones(1 << 24, np.float32)  # more than L2 holds
    profile = ptxlab.kernel(source).profile(1 << 16, 256, x)
    chart = views.roofline(profile)
    points = {line.name: line.x[0] for line in chart.lines if len(line.x) == 1}
    assert points["f, bytes of DRAM"] == pytest.approx(2 / 8, rel=0.1)
    assert points["f, bytes of L2"] == pytest.approx(2 / 8, rel=0.01)
    (point,) = {line.y[0] for line in chart.lines if len(line.x) == 1}
    assert point == pytest.approx(2 * x.size / profile.microseconds / 1e6)
    assert "DRAM, 4.8 TB/s" in chart.svg() and "FMA, f32" in chart.svg()
    assert figures.roofline(profile).layout.xaxis.type == "log"
    with pytest.raises(ptxlab.PtxlabError, match="no multiply-adds"):
        views.roofline(ptxlab.kernel(COPY).profile(1, 32, x[:32], x[:32], np.int32(32)))


def test_chips_without_times_are_refused():
    with pytest.raises(ptxlab.PtxlabError, match="too little is known of its times; there are H200, H100"):
        ptxlab.kernel(COPY).profile(1, 32, np.zeros(1), np.zeros(1), np.int32(0), chip="GTX 1080")


@pytest.mark.parametrize(
    "name",
    [
        "copy of 16 MB, 16 bytes a thread",
        "every 8th word",
        "transpose_naive 1024",
        "ex2, 132 x 128",
        "divisions, 132 x 128",
        "atomics on 1 words",
        "cp.async, 132 blocks",
        "bulk copies, 132 blocks",
        "softmax 256 x 4096",
    ],
)
def test_times_are_near_those_of_an_h200(name):
    case = next(each for each in predict.cases() if each.name == name)
    measured = json.loads(predict.RECORDED.read_text())[name]
    assert predict.predicted(case).microseconds == pytest.approx(measured, rel=0.3)


@pytest.mark.parametrize(
    ("name", "microseconds"),  # on an H200
    [
        ("local_array", 2.45),
        ("layer_norm", 2.14),  # its module declares functions before it defines them
        ("calls", 1.73),
        ("scan", 2.33),  # blocks wait for others
        ("ring", 1.54),  # st.async signals an mbarrier
    ],
)
def test_kernels_of_every_kind_have_a_time(name, microseconds):
    case = CASES[name]
    profile = case.compiled().profile(case.grid, case.block, *case.inputs(), shared=case.shared)
    assert profile.microseconds == pytest.approx(microseconds, rel=0.25)


def test_what_is_called_takes_time_of_its_own_lines():
    source = """__device__ __noinline__ float slow(float x) {
  for (int i = 0; i < 100; ++i) x = __fdividef(1.0f, x + 1);
  return x;
}
extern "C" __global__ void k(float* x) { x[threadIdx.x] = slow(x[threadIdx.x]); }"""
    profile = ptxlab.kernel(source).profile(1, 32, np.ones(32, np.float32))
    assert profile.cycles > 3000
    assert max(profile.stalls, key=lambda line: sum(profile.stalls[line].values())) == 2


def test_what_cannot_be_timed_is_told_in_a_sentence():
    waiting = """extern "C" __global__ void k(volatile int* flags) {
  while (threadIdx.x == 0 && blockIdx.x && !flags[blockIdx.x - 1]) {}
  __syncthreads();
  flags[blockIdx.x] = 1;
}"""
    with_barrier = """extern "C" __global__ void k(volatile int* flags) {
  __shared__ int raised;
  do {
    if (threadIdx.x == 0) raised = blockIdx.x ? flags[blockIdx.x - 1] : 1;
    __syncthreads();
  } while (!raised);
  flags[blockIdx.x] = 1;
}"""
    with pytest.raises(PtxlabError, match="blocks of this launch wait for each other"):
        ptxlab.kernel(with_barrier).profile(2048, 64, np.zeros(2048, np.int32))
    kernel = ptxlab.kernel(waiting)
    profile = kernel.profile(8, 64, np.zeros(8, np.int32))
    assert profile.cycles > 0
    assert profile.work.l2 == kernel.simulate(8, 64, np.zeros(8, np.int32)).work.l2  # of all blocks, once
    with pytest.raises(PtxlabError, match="blocks of this launch wait for each other"):
        kernel.profile(2000, 64, np.zeros(2000, np.int32))
    with pytest.raises(PtxlabError, match="for a debugger"):
        ptxlab.kernel(COPY, options=["-G"]).profile(1, 32, *np.zeros((2, 32), np.float32), np.int32(32))


@pytest.mark.parametrize(
    "body",
    [
        "values[blockIdx.x * blockDim.x + threadIdx.x] += 1;",
        "int* own = (int*)malloc(64); own[0] = threadIdx.x; values[0] = own[0]; free(own);",
        "int* own = (int*)malloc(64); own[0] = threadIdx.x; free(own);",
    ],
)
def test_memory_that_is_no_argument_takes_time_too(body):
    source = f'__device__ int values[1 << 15]; extern "C" __global__ void k() {{ {body} }}'
    assert ptxlab.kernel(source).profile(128, 256).microseconds > 0.5


COPIES = r"""extern "C" __global__ void copies(const char* from, unsigned* out, int apart, int rounds) {
  extern __shared__ char tile[];
  unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  unsigned to = (unsigned)__cvta_generic_to_shared(tile) + warp * 8192 + lane * apart;
  const char* row = from + (size_t)blockIdx.x * 131072 + warp * 16384 + lane * 16;
  for (int i = 0; i < rounds; i++) {
#pragma unroll
    for (int j = 0; j < 8; j++)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                   ::"r"(to ^ (j * 4)), "l"(row + (i & 1) * 8192 + j * 4));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 2;" ::: "memory");
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}"""


@pytest.mark.parametrize(
    ("apart", "cycles"),  # bytes between the words that lanes write; for a warp's copy on an H200
    [(32, 8.92), (64, 17.17), (128, 33.67)],
)
def test_copies_to_few_banks_take_their_wavefronts(apart, cycles):
    """What a warp copies from four lines, eight words each, is stored line by line."""
    kernel, memory = ptxlab.kernel(COPIES), np.zeros(132 << 17, np.uint8)
    few, many = (
        kernel.profile(132, 256, memory, np.zeros(4, np.uint32), apart, rounds, shared=65536).cycles
        for rounds in (4, 12)
    )
    assert (many - few) / (8 * 8 * 8) == pytest.approx(cycles, rel=0.15)


def test_lines_that_a_copy_reads_are_stored_one_after_the_other():
    """The lanes of two lines go to different banks, and still do not share a wavefront."""
    kernel = ptxlab.kernel(replaced(COPIES, "lane * apart", "(lane & 7) * 128 + (lane >> 3) * 4"))
    memory = np.zeros(132 << 17, np.uint8)
    few, many = (
        kernel.profile(132, 256, memory, np.zeros(4, np.uint32), 0, rounds, shared=65536).cycles
        for rounds in (4, 12)
    )
    assert (many - few) / (8 * 8 * 8) > 25  # four times eight; together they would take eight


READS = """extern "C" __global__ void reads(const uint4* x, unsigned* out, int n) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  unsigned sum = 0;
  int all = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * all) {
#pragma unroll
    for (int j = 0; j < 4; j++)
      if (i + j * all < n) {
        uint4 v;
        asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(x + i + j * all), "l"(policy));
        sum += v.x ^ v.y ^ v.z ^ v.w;
      }
  }
  if (sum == 12345) *out = sum;
}"""


@pytest.mark.parametrize(
    ("policy", "megabytes", "microseconds"),  # on an H200 whose L2 other kernels have filled
    [("evict_first", 32, 8.46), ("evict_last", 32, 5.01), ("evict_last", 56, 14.3)],
)
def test_what_l2_evicts_first_is_not_there_for_the_next_launch(policy, megabytes, microseconds):
    x = np.zeros(megabytes << 18, np.uint32)
    kernel = ptxlab.kernel(replaced(READS, "evict_first", policy))
    profile = kernel.profile(1056, 256, x, np.zeros(1, np.uint32), megabytes << 16)
    assert profile.microseconds == pytest.approx(microseconds, rel=0.2)
    assert (profile.work.dram > 0.9 * x.nbytes) == (microseconds > 8)


@pytest.mark.parametrize(
    ("megabytes", "least", "most"),  # of the bytes from DRAM; an H200 takes 5.3, 8.5 and 14.7 microseconds
    [(32, 0, 0), (40, 0.25, 0.75), (56, 0.95, 1)],
)
def test_of_copies_that_nearly_fit_into_l2_a_part_is_there(megabytes, least, most):
    words = megabytes << 17  # of each array
    arrays = np.zeros(words, np.float32), np.zeros(words, np.float32)
    profile = ptxlab.kernel(predict.PROBES, "copy").profile(words // 1024, 256, *arrays, words // 4)
    assert least <= profile.work.dram / (8 * words) <= most + 0.01


def test_what_many_blocks_share_comes_from_dram_once():
    """A product of batches: each block has rows of A, and all sixteen of a batch read the same B."""
    source = """extern "C" __global__ void k(float4* out, const float4* a, const float4* b, int n) {
      float4 sum = {};
      for (int i = threadIdx.x; i < n; i += 256) {
        float4 x = a[blockIdx.x * n + i], y = b[blockIdx.x / 16 * n + i];
        sum.x += x.x * y.x; sum.y += x.y * y.y; sum.z += x.z * y.z; sum.w += x.w * y.w;
      }
      out[blockIdx.x * 256 + threadIdx.x] = sum;
    }"""
    n = 8192
    a, b = np.zeros(1024 * n * 4, np.float32), np.zeros(64 * n * 4, np.float32)
    out = np.zeros(1024 * 1024, np.float32)
    profile = ptxlab.kernel(source).profile(1024, 256, out, a, b, n)
    assert profile.work.dram == pytest.approx(a.nbytes + b.nbytes + out.nbytes, rel=0.05)


@pytest.mark.parametrize(
    ("name", "microseconds"),  # on an H200
    [
        ("inductor mm tf32 1024x1024x1024: mm_0", 29.55),  # copies of 4 bytes to two banks
        ("inductor allsum bfloat16: mul_sum_0", 9.12),  # L2 evicts what it reads first
        ("inductor bmm 64x1024x64x1024: bmm_0", 39.73),  # blocks of a batch share an operand
        ("inductor rms norm bfloat16 2048x4096: _to_copy_expand_mul_sum_0", 10.18),  # both waits for DRAM
    ],
)
def test_kernels_of_torch_compile_take_what_they_took_on_an_h200(name, microseconds):
    case = next(each for each in predict.cases() if each.name == name)
    assert json.loads(predict.RECORDED.read_text())[name] == pytest.approx(microseconds, rel=0.01)
    assert predict.predicted(case).microseconds == pytest.approx(microseconds, rel=0.15)


MASKED = """extern "C" __global__ void masked(float* y, const float* x, const int* counts, const int* rows) {
  float sum = 0;
  for (int i = 0; i < counts[blockIdx.x]; i++)
    sum += x[rows[i] * 256 + threadIdx.x];
  y[blockIdx.x * 256 + threadIdx.x] = sum;
}"""


def test_a_profile_says_when_the_work_depends_on_values_in_memory():
    x, rows = np.zeros(64 * 256, np.float32), np.arange(64, dtype=np.int32)
    y, counts = np.zeros(1000 * 256, np.float32), np.full(1000, 8, np.int32)
    profile = ptxlab.kernel(MASKED).profile(1000, 256, y, x, counts, rows)
    assert profile.by_values == {"branches": (3,), "addresses": (4,)}
    assert "Which instructions run depends on values in memory (line 3)" in str(profile)
    assert f"as they were passed, and {profile.simulated} of 1000 blocks stand for all" in str(profile)
    plain = ptxlab.kernel(COPY).profile(64, 256, x, x.copy(), np.int32(64 * 256))
    assert plain.by_values == {}
    assert "depends on values" not in str(plain)


def test_where_blocks_differ_more_of_them_stand_for_the_launch():
    """Half of the blocks have nothing to do, or all have half: the same work, and less of it at the end."""
    x, rows = np.zeros(64 * 256, np.float32), np.arange(64, dtype=np.int32)
    y, kernel = np.zeros(2112 * 256, np.float32), ptxlab.kernel(MASKED)
    all_alike = kernel.profile(2112, 256, y, x, np.full(2112, 16, np.int32), rows)
    counts = np.where(np.arange(2112) % 2, 32, 0).astype(np.int32)
    differing = kernel.profile(2112, 256, y, x, counts, rows)
    assert differing.simulated > 4
    assert 0.7 * all_alike.cycles < differing.cycles < 1.6 * all_alike.cycles
