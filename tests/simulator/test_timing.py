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
from ptxlab.simulator.timing.chip_timings import CHIP_TIMINGS
from ptxlab.simulator.timing.kernel_code import machine_code, numbered
from tests.sampling import covered_by
from tests.simulator import timing_cases
from tests.simulator.kernel_cases import CASES
from tests.texts import replaced

COPY = """extern "C" __global__ void copy(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i];
}"""

#: Microseconds on an H200, from `python -m benchmarks.predict --measure`.
TIMES = json.loads(predict.RECORDED.read_text(encoding="utf-8"))


def case_named(name):
    return next(case for case in predict.cases() if case.name == name)


def test_machine_instructions_know_the_ptx_that_they_come_from():
    kernel = ptxlab.kernel(COPY)
    instructions = list(kernel.module.instructions)
    code = machine_code((kernel.ptx,), kernel.name, "sm_90a", len(instructions))
    origins = {instruction.name: instructions[instruction.origin].opcode for instruction in code.instructions}
    assert origins["LDG"] == "ld.global.nc.f32" or origins["LDG"].startswith("ld.global")
    assert origins["STG"].startswith("st.global")
    assert code.registers >= 8
    load = next(instruction for instruction in code.instructions if instruction.name == "LDG")
    store = next(instruction for instruction in code.instructions if instruction.name == "STG")
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
    """As a part of a program it would have other registers: linked, rung 2 has 102."""
    registers = gemm.rung(2, result="f16").kernel.occupancy(128).registers
    assert registers == timing_cases.figures("registers of a thread")["rung 2, f16"]


@pytest.mark.parametrize("name", timing_cases.COUNTED)
def test_warps_issue_as_many_instructions_as_on_an_h200(name):
    """Loops are unrolled, with shorter versions for what remains, and constants are loaded before them."""
    case = case_named(name)
    profile = predict.predicted(case)
    warps = -(-case.grid // 132) * case.block // 32
    measured = timing_cases.figures("instructions of a warp")[name]
    assert profile.instructions / warps == pytest.approx(measured, rel=0.07)


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
    size = 64
    matrix = np.zeros((size, size), np.float32)
    profile = ptxlab.kernel(PRODUCT).profile(1, 512, matrix.copy(), matrix, matrix, size)
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


@pytest.fixture(scope="module")
def exponentials():
    return ptxlab.kernel(predict.PROBES, "exponentials").profile(
        132, 1024, np.zeros(132 << 10, np.float32), 100
    )


def test_without_a_unit_a_launch_is_as_fast_as_the_rest_of_it(exponentials):
    profile = exponentials
    assert profile.without("xu").microseconds < 0.5 * profile.microseconds
    assert profile.without("DRAM").microseconds == pytest.approx(profile.microseconds)
    assert profile.without("XU").source == profile.source
    assert profile.without("issue slots").cycles < 1.01 * profile.cycles


def test_units_say_how_busy_they_are(exponentials):
    profile = exponentials
    issued = profile.instructions / (4 * profile.cycles)  # a block on each SM, four sub-partitions
    assert profile.units["issue slots"] == pytest.approx(issued, rel=0.01) and profile.units["TMA"] == 0


def test_a_launch_without_a_unit_that_there_is_not(exponentials):
    with pytest.raises(ptxlab.PtxlabError, match="unit: found 'disk'; there are FMA, ALU, XU"):
        exponentials.without("disk")


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
        for field in fields(chip):
            if "evidence" in field.metadata:
                assert re.match("measured: |published: |fitted |assumed: ", chip.evidence(field.name))


def test_an_h100_has_slower_memory_and_says_that_it_was_not_measured():
    case = case_named("copy of 64 MB, 16 bytes a thread")
    kernel, arrays = ptxlab.kernel(predict.PROBES, case.kernel), case.arrays()
    one, other = (kernel.profile(case.grid, case.block, *arrays, chip=chip) for chip in ("H200", "h100"))
    bandwidths = 4800 / 3352  # GB/s, by the data sheets
    assert other.microseconds / one.microseconds == pytest.approx(bandwidths, rel=0.05)
    assert "no launch on one was compared" in str(other) and "no launch" not in str(one)


def test_the_guide_has_the_predictions_that_were_kept():
    text = predict.PAGE.read_text(encoding="utf-8")
    assert predict.table(predict.WORST) in text
    kept = json.loads(predict.PREDICTED.read_text())
    for kind, (low, high) in CHIP_TIMINGS["H200"].errors.items():
        ratios = [TIMES[name] / row["microseconds"] for name, row in kept.items() if row["kind"] == kind]
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


@pytest.fixture(scope="module")
def profile():
    """Of a copy of 256 KiB, in blocks of which two run on an SM."""
    x, y = np.ones(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
    return ptxlab.kernel(COPY).profile(256, 256, y, x, np.int32(1 << 16))


def test_a_profile_knows_its_code(profile):
    assert profile.source == COPY
    load = next(instruction for instruction in profile.code if instruction.opcode.startswith("LDG"))
    assert (load.line, load.unit, load.ptx[:9]) == (4, "L1", "ld.global")
    assert sum(profile.issued.values()) == profile.instructions
    warps = 256 * 8 / 132  # of one SM
    assert profile.issued[4] >= 2 * warps  # a load and a store of each


def test_a_profile_knows_what_the_launch_moves(profile):
    assert profile.work.l2 == pytest.approx(2 * 4 << 16)
    assert profile.work.dram == 0  # it is in L2 from the launch before


def test_a_notebook_shows_the_source_with_cycles_and_stalls_in_its_margin(profile):
    page = profile._repr_html_()
    row = re.search(r'<div class="row" data-line="4".*?</div>', page, re.DOTALL)[0]
    assert "long scoreboard" in row and f"<span>{profile.issued[4]:,}</span>" in row
    assert "How busy each unit is" in page and "measured on an H200" in page
    assert f"{profile.microseconds:.1f} µs on an H200" in page and "limited by threads" in page


def test_a_printed_profile_has_the_stalls_of_each_line(profile):
    text = str(profile)
    assert re.search(r"^ +4 +\d+\.\d % +\d+ +long scoreboard \d+ %.*y\[i\] = x\[i\];$", text, re.MULTILINE)
    assert "1 wave, 24 % full" in text


def test_a_profile_of_ptx_shows_lines_of_the_ptx():
    kernel = ptxlab.kernel(ptxlab.kernel(COPY).ptx)
    x = np.zeros(64, np.float32)
    profile = kernel.profile(1, 64, x, x.copy(), np.int32(64))
    (load,) = {instruction.line for instruction in profile.code if instruction.opcode.startswith("LDG")}
    assert "ld.global" in kernel.ptx.splitlines()[load - 1]


def test_a_timeline_shows_what_each_warp_waits_for(profile):
    picture = views.timeline(profile)
    assert picture.warps == 16  # two blocks
    total = Counter()
    for stripe in picture.stripes(200):
        total[stripe.reason] += stripe.end - stripe.start
    assert total.most_common(1)[0][0] == "long scoreboard"


def test_a_timeline_has_nothing_after_the_end_of_a_warp(profile):
    picture = views.timeline(profile)
    ends = {warp: profile.timeline[profile.timeline[:, 0] == warp, 4].max() for warp in range(picture.warps)}
    width = (picture.end - picture.start) / 200
    assert all(stripe.end <= ends[stripe.warp] + width + 1 for stripe in picture.stripes(200))


def test_a_drawn_timeline_names_blocks_and_reasons(profile):
    drawn = ElementTree.fromstring(views.timeline(profile).svg())
    words = [node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"long scoreboard", "block 0", "block 1", "global memory"} <= set(words)


def test_names_of_blocks_do_not_overlap_in_a_timeline():
    x = np.ones(1 << 15, np.float32)
    many = ptxlab.kernel(COPY).profile(1024, 32, x.copy(), x, np.int32(1 << 15))
    heights = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>block', views.timeline(many).svg())]
    assert len(heights) > 4 and min(np.diff(heights)) >= 12


def test_a_timeline_as_a_figure_names_the_line_of_a_wait(profile):
    figure = figures.timeline(profile, cycles=500)
    waits = next(trace for trace in figure.data if trace.name == "long scoreboard")
    assert any("line 4: y[i] = x[i];" in tip and "STG" in tip for tip in waits.customdata)
    assert figure.layout.xaxis.range == (0, 500)


def test_only_a_profile_has_a_timeline():
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


@pytest.fixture(scope="module")
def beyond_l2():
    """The profile of a kernel that reads and writes more than L2 holds."""
    source = """extern "C" __global__ void f(float* x) {
      int i = blockIdx.x * 256 + threadIdx.x;
      x[i] = x[i] * x[i] + 1;
    }"""
    return ptxlab.kernel(source).profile(1 << 16, 256, np.ones(1 << 24, np.float32))


def test_a_roofline_places_a_kernel_by_its_bytes(beyond_l2):
    profile = beyond_l2
    chart = views.roofline(profile)
    points = {line.name: line.x[0] for line in chart.lines if len(line.x) == 1}
    assert points["f, bytes of DRAM"] == pytest.approx(2 / 8, rel=0.1)
    assert points["f, bytes of L2"] == pytest.approx(2 / 8, rel=0.01)
    (point,) = {line.y[0] for line in chart.lines if len(line.x) == 1}
    assert point == pytest.approx(2 * (1 << 24) / profile.microseconds / 1e6)


def test_a_drawn_roofline_names_its_ceilings(beyond_l2):
    chart = views.roofline(beyond_l2)
    assert "DRAM, 4.8 TB/s" in chart.svg() and "FMA, f32" in chart.svg()
    for distance in (line for line in chart.lines if line.named == "middle"):
        speed, roof = distance.y
        assert (
            distance.name == f"{100 * speed / roof:.0f} % of the roof" and f">{distance.name}<" in chart.svg()
        )
    assert len([line for line in chart.lines if line.named == "middle"]) == 2  # of DRAM and of L2
    assert figures.roofline(beyond_l2).layout.xaxis.type == "log"


def test_a_kernel_without_multiply_adds_has_no_roofline():
    x = np.zeros(32, np.float32)
    with pytest.raises(ptxlab.PtxlabError, match="no multiply-adds"):
        views.roofline(ptxlab.kernel(COPY).profile(1, 32, x, x, np.int32(32)))


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
    assert predict.predicted(case_named(name)).microseconds == pytest.approx(TIMES[name], rel=0.3)


@pytest.mark.parametrize("name", timing_cases.TIMED)
def test_kernels_of_every_kind_have_a_time(name):
    case = CASES[name]
    profile = case.compiled().profile(case.grid, case.block, *case.inputs(), shared=case.shared)
    assert profile.microseconds == pytest.approx(timing_cases.figures("microseconds")[name], rel=0.25)


def test_what_is_called_takes_time_of_its_own_lines():
    source = """__device__ __noinline__ float slow(float x) {
  for (int i = 0; i < 100; ++i) x = __fdividef(1.0f, x + 1);
  return x;
}
extern "C" __global__ void k(float* x) { x[threadIdx.x] = slow(x[threadIdx.x]); }"""
    profile = ptxlab.kernel(source).profile(1, 32, np.ones(32, np.float32))
    assert profile.cycles > 3000
    assert max(profile.stalls, key=lambda line: sum(profile.stalls[line].values())) == 2


WAITING = """extern "C" __global__ void k(volatile int* flags) {
  while (threadIdx.x == 0 && blockIdx.x && !flags[blockIdx.x - 1]) {}
  __syncthreads();
  flags[blockIdx.x] = 1;
}"""
WAITING_AT_A_BARRIER = """extern "C" __global__ void k(volatile int* flags) {
  __shared__ int raised;
  do {
    if (threadIdx.x == 0) raised = blockIdx.x ? flags[blockIdx.x - 1] : 1;
    __syncthreads();
  } while (!raised);
  flags[blockIdx.x] = 1;
}"""


def test_blocks_that_wait_for_each_other_are_timed_where_all_run_at_once():
    kernel = ptxlab.kernel(WAITING)
    profile = kernel.profile(8, 64, np.zeros(8, np.int32))
    assert profile.cycles > 0
    assert profile.work.l2 == kernel.simulate(8, 64, np.zeros(8, np.int32)).work.l2  # of all blocks, once


@pytest.mark.parametrize("source", [WAITING, WAITING_AT_A_BARRIER], ids=["thread", "barrier"])
def test_blocks_that_wait_for_one_that_has_not_begun_are_not_timed(source):
    with pytest.raises(PtxlabError, match="blocks of this launch wait for each other"):
        ptxlab.kernel(source).profile(2048, 64, np.zeros(2048, np.int32))


def test_code_for_a_debugger_is_not_timed():
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


def _cycles_of_a_copy(apart, *source):
    few, many = (timing_cases.copies(apart, rounds, *source).profile().cycles for rounds in (4, 12))
    return timing_cases.cycles_of_a_copy(few, many, 8)


@pytest.mark.parametrize("apart", timing_cases.APART)
def test_copies_to_few_banks_take_their_wavefronts(apart):
    """What a warp copies from four lines, eight words each, is stored line by line."""
    measured = timing_cases.figures("cycles of a copy")[str(apart)]
    assert _cycles_of_a_copy(apart) == pytest.approx(measured, rel=0.15)


def test_lines_that_a_copy_reads_are_stored_one_after_the_other():
    """The lanes of two lines go to different banks, and still do not share a wavefront."""
    four_times_eight = 32  # together they would take eight
    assert _cycles_of_a_copy(0, timing_cases.TWO_ROWS) > 0.8 * four_times_eight


@pytest.mark.parametrize(("policy", "megabytes", "from_dram"), timing_cases.READ)
def test_what_l2_evicts_first_is_not_there_for_the_next_launch(policy, megabytes, from_dram):
    """On an H200 other kernels had filled L2 before; what is not evicted first comes from it if it fits."""
    launch = timing_cases.reads(policy, megabytes)
    profile = launch.profile()
    measured = timing_cases.figures("microseconds")[f"reads, {policy}, {megabytes} MB"]
    assert profile.microseconds == pytest.approx(measured, rel=0.2)
    assert (profile.work.dram > 0.9 * launch.arguments[0].nbytes) == from_dram


@pytest.mark.parametrize(
    ("megabytes", "least", "most"),  # of the bytes from DRAM
    [(32, 0, 0), (40, 0.25, 0.75), (56, 0.95, 1)],
)
def test_of_copies_that_nearly_fit_into_l2_a_part_is_there(megabytes, least, most):
    profile = timing_cases.copy(megabytes).profile()
    assert least <= profile.work.dram / (megabytes << 20) <= most + 0.01
    measured = timing_cases.figures("microseconds")[f"copy, {megabytes} MB"]
    assert profile.microseconds == pytest.approx(measured, rel=0.25)


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
    n = 4096
    a, b = np.zeros(1024 * n * 4, np.float32), np.zeros(64 * n * 4, np.float32)
    out = np.zeros(1024 * 1024, np.float32)
    profile = ptxlab.kernel(source).profile(1024, 256, out, a, b, n)
    assert profile.work.dram == pytest.approx(a.nbytes + b.nbytes + out.nbytes, rel=0.05)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            "inductor mm tf32 1024x1024x1024: mm_0",
            marks=covered_by("test_copies_to_few_banks_take_their_wavefronts"),
        ),
        pytest.param(
            "inductor allsum bfloat16: mul_sum_0",
            marks=covered_by("test_what_l2_evicts_first_is_not_there_for_the_next_launch"),
        ),
        pytest.param(
            "inductor bmm 64x1024x64x1024: bmm_0",
            marks=covered_by("test_what_many_blocks_share_comes_from_dram_once"),
        ),
        "inductor rms norm bfloat16 2048x4096: _to_copy_expand_mul_sum_0",  # both waits for DRAM
    ],
)
def test_kernels_of_torch_compile_take_what_they_took_on_an_h200(name):
    case, measured = case_named(name), TIMES[name]
    assert predict.predicted(case).microseconds == pytest.approx(measured, rel=0.15)


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
    all_alike = kernel.profile(2112, 256, y, x, np.full(2112, 8, np.int32), rows)
    counts = np.where(np.arange(2112) % 2, 16, 0).astype(np.int32)
    differing = kernel.profile(2112, 256, y, x, counts, rows)
    assert differing.simulated > 4
    assert 0.7 * all_alike.cycles < differing.cycles < 1.6 * all_alike.cycles
