"""Bulk work on executors of threads, of processes and of Dask: every bit is equal; threads heed the quota."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab._util import threads
from ptxlab.isa.operation import Operation
from ptxlab.numerics import emulate as emulator
from ptxlab.numerics.arithmetic import exact_product
from ptxlab.simulator import HazardError
from tests.cases import refuses
from tests.sampling import EXHAUSTIVE, some
from tools.hunt import hunt

from ..gemm.test_matmul import NAMES, problem
from ..simulator.kernel_cases import CASES, digest

matmul_module = importlib.import_module("ptxlab.gemm.matmul")
F16, S4 = NAMES[0], "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2 if EXHAUSTIVE else 1, mp_context=spawn) as executor:
        yield executor


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    """Worker processes, each with a scheduler's connection as on a cluster of machines."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2 if EXHAUSTIVE else 1,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(tmp_path_factory.mktemp("dask")),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


EXECUTORS = ("threads", "processes", "dask")
#: For tests of what Dask sends as an executor of processes does.
on_some = pytest.mark.parametrize("executor", some(EXECUTORS, 2), indirect=True)


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "threads":
        with ThreadPoolExecutor(3) as pool:
            yield pool
    else:
        yield request.getfixturevalue(request.param)


def reads_minus_one_as_zero(operands: Operation) -> Any:
    a = operands.ins.a
    codes = a.unpack_codes(operands.a)
    changed = a.pack_codes(np.where(codes == 0xF, 0, codes))
    return emulator.emulate(Operation(operands.ins, a=changed, b=operands.b, c=operands.c))


# -- the same bits -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_matmul_is_the_same_on_an_executor(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul_module, "_TASK_PRODUCTS", 1 << 15)  # several blocks in both directions
    for name in (F16, NAMES[5], NAMES[6], NAMES[8], NAMES[12]):  # f16, four products, integers, sparse, wgmma
        ins, A, B, C = problem(name)
        expected = ptxlab.matmul(A, B, C, instruction=ins)
        D = ptxlab.matmul(A, B, C, instruction=ins, executor=executor)
        assert D.dtype == expected.dtype and D.tobytes() == expected.tobytes()
    empty = ptxlab.matmul(
        np.ones((3, 0)), np.ones((0, 4)), C=np.eye(3, 4), instruction=F16, executor=executor
    )
    assert np.array_equal(empty, np.eye(3, 4))


@pytest.mark.slow
@on_some
def test_simulations_are_the_same_on_an_executor(executor: Executor) -> None:
    """Blocks of a kernel, also those of clusters and behind tensor maps; the counts add up."""
    for name in ("saxpy", "neighbours", "tma_transform"):
        case = CASES[name]
        kernel, arguments, expected = case.compiled(), case.inputs(), case.inputs()
        result = kernel.simulate(case.grid, case.block, *arguments, executor=executor)
        assert result.counts == kernel.simulate(case.grid, case.block, *expected).counts
        assert digest(arguments) == digest(expected) != digest(case.inputs())


_UPDATES = """
extern "C" __global__ void count(const int* x, unsigned* counts, int* least) {
    const int value = x[blockIdx.x * 64 + threadIdx.x];
    atomicAdd(counts + (value & 15), 1u);
    atomicMin(least, value);
}
extern "C" __global__ void ticket(int* next, int* mine) { mine[blockIdx.x] = atomicAdd(next, 1); }
extern "C" __global__ void look(int* next, int* mine) { atomicAdd(next, 1); mine[blockIdx.x] = next[1]; }
extern "C" __global__ void reversed(unsigned* x) {
    __shared__ unsigned s[64];
    s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    unsigned a = s[63 - threadIdx.x];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %0}, {%0, %0, %0, %0}, {%0, %0}, "
                 "{%0, %0};" : "+r"(a));
    x[blockIdx.x * 64 + threadIdx.x] = a;
}
"""


def test_blocks_update_memory_from_several_workers() -> None:
    """Where the order does not count; otherwise the error says so."""
    x = np.random.default_rng(3).integers(-1000, 1000, 64 * 64).astype(np.int32)
    with ThreadPoolExecutor(2) as pool:
        counts, least = np.zeros(16, dtype=np.uint32), np.zeros(1, dtype=np.int32)
        ptxlab.kernel(_UPDATES, "count").simulate(64, 64, x, counts, least, executor=pool)
        assert counts.tolist() == np.bincount(x & 15).tolist() and least[0] == x.min()
        numbers = [np.zeros(64, dtype=np.int32) for _ in range(2)]
        for name, sentence in (("ticket", "result or the order counts"), ("look", "also read or written")):
            kernel = ptxlab.kernel(_UPDATES, name)
            refuses(sentence, kernel.simulate, 64, 32, *numbers, executor=pool)


def test_hazards_and_operands_of_several_workers() -> None:
    kernel = ptxlab.kernel(_UPDATES, "reversed")
    x = np.arange(64 * 64, dtype=np.uint32)
    here = kernel.simulate(64, 64, x.copy())
    with ThreadPoolExecutor(2) as pool:
        there = kernel.simulate(64, 64, x.copy(), executor=pool)
        assert there.hazards == here.hazards and [hazard.kind for hazard in here.hazards] == ["race"]
        assert all(np.array_equal(there.operands(warp=w).a, here.operands(warp=w).a) for w in (0, 77, 127))
        with pytest.raises(HazardError) as caught:
            kernel.simulate(64, 64, x, executor=pool, check="error")
    assert pickle.loads(pickle.dumps(caught.value)).hazard == caught.value.hazard


@pytest.mark.slow
def test_matmul_with_scales_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul_module, "_TASK_PRODUCTS", 1)
    ins = next(ins for ins in ptxlab.catalog("mma") if getattr(ins, "kind", None) == "mxf4")
    rng = np.random.default_rng(1)
    A, B = rng.choice([-1, 0.5, 6], (40, 130)), rng.choice([-1, 0.5, 6], (130, 20))
    scales = {"scale_a": 2.0 ** rng.integers(-9, 9, (40, 5)), "scale_b": 2.0 ** rng.integers(-9, 9, (5, 20))}
    with ThreadPoolExecutor(2) as pool:
        D = ptxlab.matmul(A, B, instruction=ins, executor=pool, **scales)
    assert D.tobytes() == ptxlab.matmul(A, B, instruction=ins, **scales).tobytes()


_SUMS = """extern "C" __global__ void sums(int* x) {
  for (int i = 0; i < 3; ++i) x[blockIdx.x * 64 + threadIdx.x] += i;
}"""


def test_one_warp_and_a_limit() -> None:
    kernel = ptxlab.kernel(_SUMS)
    here, there = np.arange(2560, dtype=np.int32), np.arange(2560, dtype=np.int32)
    expected = kernel.simulate(40, 64, here, trace=75).trace
    with ThreadPoolExecutor(2) as pool:
        result = kernel.simulate(40, 64, there, trace=75, limit=10_000, executor=pool)
        sentence = "warps have executed 300 instructions, which limit="
        refuses(sentence, kernel.simulate, 40, 64, there.copy(), limit=300, executor=pool)
    trace = pickle.loads(pickle.dumps(result.trace))
    assert expected is not None
    assert (here == there).all() and (trace.block, trace.warp) == (37, 1)
    assert [step.instruction for step in trace.steps] == [step.instruction for step in expected.steps]


@pytest.mark.slow
@on_some
def test_emulation_is_the_same_on_an_executor(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of one axis and of two, with operands that repeat along them."""
    monkeypatch.setattr(emulator, "_TASK_BYTES", 5000)  # two or three MMAs
    rng = np.random.default_rng(2)
    for name in (F16, S4):
        ins = ptxlab.instruction(name)
        a, b = (rng.integers(0, 2**32, (7, *size), np.uint32) for size in ((32, 4), (32, 2)))
        c = rng.integers(0, 2**32, (32, 4), np.uint32)
        for batch in ((a, b, c), (a[:, None], b, c), (a[:1], b[0], np.broadcast_to(c, (9, 32, 4)))):
            D = ins.emulate(*batch, executor=executor)
            expected = ins.emulate(*batch)
            assert D.shape == expected.shape and D.tobytes() == expected.tobytes()


@pytest.mark.slow
@on_some
def test_a_hunt_finds_the_same_on_an_executor(executor: Executor) -> None:
    """What is found is what one process finds first; models and functions can take the GPU's place."""
    settings: list[tuple[str, dict[str, Any]]] = [
        (F16, {"mmas": 3000, "seed": 1, "against": "sm_80"}),
        (S4, {"mmas": 4000, "seed": 3, "runner": reads_minus_one_as_zero}),
        (S4, {"mmas": 3000, "seed": 4, "against": "sm_80"}),
    ]
    for name, setting in settings:
        ins = ptxlab.instruction(name)
        here, there = hunt(ins, **setting), hunt(ins, **setting, executor=executor)
        assert here.found == ("runner" in setting or name == F16)
        for attribute in ("chip", "machine", "seed", "categories", "mmas", "model"):
            assert getattr(here, attribute) == getattr(there, attribute)
        if here.difference is not None and there.difference is not None:
            assert here.difference.index == there.difference.index
            assert here.as_test() == there.as_test()


# -- errors and interrupts ---------------------------------------------------------------------------------


@pytest.mark.slow
@on_some
def test_errors_of_workers_arrive_as_they_are(executor: Executor) -> None:
    refuses("has no model|unknown", hunt, ptxlab.instruction(S4), against="sm_1", executor=executor)
    with pytest.raises(ZeroDivisionError):
        hunt(ptxlab.instruction(S4), runner=divide_by_zero, executor=executor)


def divide_by_zero(operands: Operation) -> Any:
    return operands.count // 0


def end_process(operands: Operation) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_worker_that_dies() -> None:
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.raises(ptxlab.PtxlabError, match="a worker ended before its task was done"),
    ):
        hunt(ptxlab.instruction(S4), runner=end_process, executor=pool)


class Manual(Executor):
    """Runs the first tasks at once; the others wait for ever."""

    def __init__(self, ready: int) -> None:
        self.ready = ready
        self.futures: list[Future[Any]] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if len(self.futures) < self.ready:
            future.set_result(function(*arguments, **options))
        self.futures.append(future)
        return future


def test_an_interrupt_cancels_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more tasks are made than fit, and none is left behind."""
    monkeypatch.setattr(matmul_module, "_TASK_PRODUCTS", 1)
    monkeypatch.setattr(threads, "_DEFAULT_QUEUE", 4)
    executor = Manual(ready=2)

    def interrupted(future: Future[Any], timeout: float | None = None) -> Any:
        if not future.done():
            raise KeyboardInterrupt
        return result(future, timeout)

    result = Future.result
    monkeypatch.setattr(Future, "result", interrupted)
    ins, A, B, C = problem(F16)
    with pytest.raises(KeyboardInterrupt):
        ptxlab.matmul(A, B, C, instruction=ins, executor=executor)
    assert len(executor.futures) == 6  # two were done, four wait
    assert all(future.cancelled() for future in executor.futures[2:])


def test_progress_of_tasks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul_module, "_TASK_PRODUCTS", 1 << 15)
    ins, A, B, C = problem(F16)
    with ThreadPoolExecutor(2) as pool:
        ptxlab.matmul(A, B, C, instruction=ins, executor=pool, show=True)
    assert "100%" in capsys.readouterr().err


@pytest.mark.parametrize("executor", [4, "dask", ThreadPoolExecutor, object()])
def test_what_is_no_executor(executor: object) -> None:
    ins, A, B, C = problem(F16)
    registers = (np.zeros((32, size), np.uint32) for size in (4, 2, 4))
    sentence = "executor: found .*; it takes one of concurrent.futures"
    refuses(sentence, ptxlab.matmul, A, B, C, instruction=ins, executor=executor)
    refuses(sentence, ins.emulate, *registers, executor=executor)
    refuses(sentence, hunt, ins, against="sm_80", executor=executor)


# -- what is sent ------------------------------------------------------------------------------------------


def test_an_instruction_is_sent_as_its_declaration() -> None:
    for name in (F16, "wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3", "ldmatrix.x4"):
        ins = ptxlab.instruction(name)
        assert ins.operands and [operand.layout for operand in ins.operands.values()]
        sent = pickle.dumps(ins)
        again = pickle.loads(sent)
        assert len(sent) < 1000 and again == ins and type(again) is type(ins)
        assert list(again.operands) == list(ins.operands)


def test_tasks_are_small() -> None:
    """B, which all MMAs share, is sent once with a task and not for every MMA."""
    ins = ptxlab.instruction(F16)
    b = np.zeros((32, 2), np.uint32)
    a, c = (np.zeros((100_000, 32, 4), np.uint32) for _ in range(2))
    operands = Operation.of(ins, a, b, c)
    part = operands.part(0, 1000)
    assert len(pickle.dumps(part.compact())) < 1.1 * (part.a.nbytes + part.c.nbytes)
    assert part.compact().count == 1000
    repeated = Operation.of(
        ins, b[None].repeat(1, 0)[:, :, :1].repeat(4, 2), b, np.broadcast_to(c[0], (50, 32, 4))
    )
    assert repeated.compact().batch == (50,)
    sizes = [len(pickle.dumps(task)) for task in emulator._parts(operands)]
    assert max(sizes) < 2.1e6 and len(sizes) < 100


# -- how many threads --------------------------------------------------------------------------------------


def test_a_task_has_one_thread_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PTXLAB_THREADS", raising=False)
    monkeypatch.setattr(threads, "_cores", lambda: 8)
    with ThreadPoolExecutor(2) as pool:
        counts = [count for _, count in threads.in_order(pool, lambda _: threads.thread_count(), range(1, 4))]
        assert counts == [1, 1, 1] and threads.thread_count() == 8
        monkeypatch.setenv("PTXLAB_THREADS", "5")
        assert [count for _, count in threads.in_order(pool, lambda _: threads.thread_count(), [1])] == [5]


def test_a_part_may_be_none() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert list(threads.in_order(pool, str, [1, None, 2])) == [(1, "1"), (None, "None"), (2, "2")]


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),  # version 2 in a container
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/\n", {}, None),
        ("0::/\n", {"cpu.max": "rubbish"}, None),
        ("0::/\n", {"cpu.max": "100000 0"}, None),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3),  # that of a parent
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "400000 100000"}, 3),
        ("0::/../x\n", {"cpu.max": "100000 100000"}, 1),
        (  # version 1, with the path that the host sees
            "5:memory:/docker/7\n4:cpu,cpuacct:/docker/7\n",
            {"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"},
            4,
        ),
        (
            "4:cpu,cpuacct:/kubepods/pod1\n0::/\n",
            {
                "cpu,cpuacct/kubepods/pod1/cpu.cfs_quota_us": "250000",
                "cpu,cpuacct/kubepods/pod1/cpu.cfs_period_us": "100000",
            },
            3,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ("nonsense\n\n::\n", {}, None),
    ],
)
def test_the_quota_of_a_container(
    membership: str, files: dict[str, str], cores: int | None, tmp_path: Path
) -> None:
    """In a made-up tree of cgroups."""
    (tmp_path / "membership").write_text(membership)
    for name, content in files.items():
        path = tmp_path / "mount" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert threads.cpu_quota(tmp_path / "membership", tmp_path / "mount") == cores


def test_threads_heed_quota_affinity_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PTXLAB_THREADS", "PYTHON_CPU_COUNT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delattr(os, "process_cpu_count", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(6)), raising=False)
    for quota, count in ((None, 6), (2, 2), (64, 6)):
        monkeypatch.setattr(threads, "cpu_quota", lambda quota=quota: quota)
        assert threads.thread_count() == count
    for setting, count in (("3", 3), ("default", 6)):
        monkeypatch.setenv("PYTHON_CPU_COUNT", setting)
        assert threads.thread_count() == count
    monkeypatch.setattr(os, "process_cpu_count", lambda: 4, raising=False)
    assert threads.thread_count() == 4
    monkeypatch.setenv("PTXLAB_THREADS", "9")
    assert threads.thread_count() == 9
    monkeypatch.setenv("PTXLAB_THREADS", "٣")
    refuses("PTXLAB_THREADS: found", threads.thread_count)


def test_a_machine_without_cgroups(tmp_path: Path) -> None:
    assert threads.cpu_quota(tmp_path / "none", tmp_path) is None


# -- BLAS --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shapes",
    [
        ((64, 32), (32, 256)),
        ((3, 64, 192), (3, 192, 256)),
        ((2, 1, 64, 64), (5, 64, 248)),
        ((7, 1000), (1000, 999)),
    ],
)
def test_products_by_rows(shapes: tuple[tuple[int, ...], tuple[int, ...]], rng: np.random.Generator) -> None:
    a, b = (rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes)
    assert np.array_equal(exact_product(a, b), a @ b)


@pytest.mark.slow
def test_the_emulator_leaves_other_cores_alone() -> None:
    """With one thread of its own, BLAS starts none either: the other threads of the process stay idle."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    if "openblas" not in blas:
        pytest.skip(f"NumPy uses {blas}")
    script = """
import time, ptxlab, ptxlab.numerics.emulate
from ptxlab.numerics.fused_dispatch import backend
for types in ("m64n256k32.s32.s8.s8", "m64n256k16.f32.f16.f16"):
    ins = ptxlab.instruction(f"wgmma.mma_async.sync.aligned.{types}")
    operands = ptxlab.inputs.make(ins, "bits", 20)
    process, thread = time.process_time(), time.thread_time()
    with backend("numpy"):  # numba would be loaded in a thread
        ptxlab.numerics.emulate.emulate(operands)
    print(time.process_time() - process, time.thread_time() - thread)
"""
    root = str(Path(__file__).resolve().parents[2])
    settings = {"OPENBLAS_NUM_THREADS": "2", "PTXLAB_THREADS": "1", "PYTHONPATH": root}
    environment = {**os.environ, **settings}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    for line in done.stdout.splitlines():
        process, thread = map(float, line.split())
        assert process < 1.05 * thread + 0.002  # where BLAS takes two, 1.1 to 2 times as much
