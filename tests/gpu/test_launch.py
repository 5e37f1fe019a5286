"""Launches: what happens to arguments, memory and errors. Without a GPU a stand-in for CUDA plays it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptxlab import PtxlabError, gpu
from ptxlab.gpu import launcher
from tests.cases import refuses

ADD = """\
extern "C" __global__ void add(const float* x, const float* y, float* z, float factor, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) z[i] = x[i] + factor * y[i];
}
"""

# -- a fake GPU ----------------------------------------------------------------------------------------


class CudaError(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1


class Buffer:
    """Bytes of the fake GPU, or of the host."""

    def __init__(self, owner: FakeGpu, content: np.ndarray) -> None:
        self.owner = owner
        self.content = content

    @property
    def size(self) -> int:
        return len(self.content)

    @property
    def handle(self) -> int:
        return self.content.ctypes.data

    def copy_from(self, other: Buffer, *, stream: object) -> None:
        self.owner.act("copy in")
        assert self.size == other.size
        self.content[:] = other.content

    def copy_to(self, other: Buffer, *, stream: object) -> None:
        self.owner.act("copy out")
        assert self.size == other.size
        other.content[:] = self.content

    def close(self, stream: object) -> None:
        self.owner.open_buffers.remove(self)


class FakeGpu:
    """Stands in for cuda.core and the driver; `failing` names the step that raises `error`."""

    def __init__(self, failing: str = "", error: BaseException | None = None) -> None:
        self.failing = failing
        self.error = error or Exception("CUDA_ERROR_ILLEGAL_ADDRESS:\n  an address was wrong")
        self.open_buffers: list[Buffer] = []
        self.threads: list[int] = []
        self.looks = 3
        stream = SimpleNamespace(record=self.record, sync=lambda: self.act("sync"), handle=0)
        device = SimpleNamespace(set_current=self.enter, default_stream=stream, allocate=self.allocate)
        self.module = SimpleNamespace(
            Device=lambda number: device,
            Buffer=SimpleNamespace(from_handle=self.host_buffer),
            CUstream=int,
            cuLaunchKernel=self.launch,
        )

    def act(self, step: str) -> None:
        if step == self.failing:
            raise self.error

    def enter(self) -> None:
        self.threads.append(threading.get_ident())

    def allocate(self, size: int, *, stream: object) -> Buffer:
        self.act("allocate")
        buffer = Buffer(self, np.zeros(size, dtype=np.uint8))
        self.open_buffers.append(buffer)
        return buffer

    def host_buffer(self, address: int, size: int, *, owner: np.ndarray) -> Buffer:
        assert (address, size) == (owner.ctypes.data, owner.nbytes)
        return Buffer(self, owner.reshape(-1).view(np.uint8))

    def launch(self, function: object, *sizes: int) -> tuple[Any, ...]:
        if self.failing == "launch":
            return (CudaError.CUDA_ERROR_INVALID_VALUE,)
        pointers = (ctypes.c_void_p * 5).from_address(sizes[-2])
        values = [ctypes.c_uint64.from_address(pointer).value for pointer in pointers[:3]]
        count = ctypes.c_int32.from_address(pointers[4]).value
        x, y, z = (np.ctypeslib.as_array((ctypes.c_float * count).from_address(value)) for value in values)
        z[:] = x + np.float32(ctypes.c_float.from_address(pointers[3]).value) * y
        return (CudaError.CUDA_SUCCESS,)

    def record(self) -> Any:
        owner = self

        class Event:
            @property
            def is_done(self) -> bool:
                owner.act("wait")
                owner.looks -= 1
                return owner.looks < 0

        return Event()


@pytest.fixture
def use_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeGpu], FakeGpu]:
    def use(fake: FakeGpu) -> FakeGpu:
        monkeypatch.setattr(launcher, "load", lambda name: fake.module)
        monkeypatch.setattr(launcher, "device_target", lambda: "sm_90a")
        monkeypatch.setattr(launcher, "compiled", lambda *names: b"code")
        monkeypatch.setattr(launcher, "load_function", lambda *names: "kernel")
        return fake

    return use


def launch_add(count: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """(what the kernel gives, what is right)."""
    x = np.arange(2 * count, dtype=np.float32)[::2]
    y = np.arange(count, dtype=np.float32) / 8  # exact, so that it does not matter whether the compiler fuses
    z = np.full(count, -1, dtype=np.float32)
    arguments = [x, y, gpu.Out(z), np.float32(2.5), np.int32(count)]
    gpu.launch(ADD, "add", arguments, grid=-(-count // 32), block=32)
    return z, x + np.float32(2.5) * y


def test_arrays_go_in_and_out_arrays_come_back(use_gpu: Any) -> None:
    fake = use_gpu(FakeGpu())
    z, right = launch_add()
    assert np.array_equal(z, right)
    assert fake.open_buffers == []


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (
            "allocate",
            "allocating 400 bytes of GPU memory failed: CUDA_ERROR_ILLEGAL_ADDRESS: an address was wrong",
        ),
        ("copy in", "copying to the GPU failed: CUDA_ERROR"),
        ("launch", "launching the kernel add failed: CUDA_ERROR"),
        ("wait", "running the kernel add failed: CUDA_ERROR"),
        ("copy out", "copying from the GPU failed: CUDA_ERROR"),
    ],
)
def test_an_error_is_one_sentence_and_leaves_no_memory_behind(use_gpu: Any, step: str, sentence: str) -> None:
    fake = use_gpu(FakeGpu(failing=step))
    with pytest.raises(PtxlabError) as caught:
        launch_add()
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)
    assert fake.open_buffers == []


@pytest.mark.parametrize("step", ["copy in", "wait"])
def test_an_interrupt_gets_through(use_gpu: Any, step: str) -> None:
    fake = use_gpu(FakeGpu(failing=step, error=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        launch_add()
    assert fake.open_buffers == []


def test_every_thread_enters_the_context(use_gpu: Any) -> None:
    fake = use_gpu(FakeGpu())
    thread = threading.Thread(target=launch_add)
    thread.start()
    thread.join()
    fake.looks = 3
    launch_add()
    assert fake.threads == [thread.ident, threading.get_ident()]


SCALARS = [
    np.int8(-2),
    np.uint16(65535),
    np.int32(-7),
    np.uint64(2**63 + 1),
    np.float16(1.5),
    np.float64(-0.1),
    np.bool_(True),
    ml_dtypes.bfloat16(3.25),
]


def test_what_a_kernel_cannot_take(use_gpu: Any) -> None:
    fake = use_gpu(FakeGpu())
    refuses("a scalar of 16 bytes", gpu.launch, ADD, "add", [np.complex128(1)], grid=1, block=32)
    with pytest.raises(PtxlabError, match="an Out array must be contiguous"):
        gpu.launch(ADD, "add", [gpu.Out(np.zeros(64, dtype=np.float32)[::2])], grid=1, block=32)
    assert fake.open_buffers == []


# -- a GPU that is there --------------------------------------------------------------------------------


@pytest.mark.gpu
def test_a_launch() -> None:
    for count in (1, 100, 12345):
        z, right = launch_add(count)
        assert np.array_equal(z, right)


@pytest.mark.gpu
def test_threads_launch_side_by_side() -> None:
    results: list[bool] = []

    def work() -> None:
        for count in range(50, 70):
            z, right = launch_add(count)
            results.append(np.array_equal(z, right))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 160


ECHO = """\
typedef unsigned long long word;
extern "C" __global__ void echo(signed char a, unsigned short b, int c, word d, unsigned short e, double f,
                                bool g, unsigned short h, word* out)
{
    const word passed[] = {(word)a, b, (word)c, d, e, (word)__double_as_longlong(f), g, h};
    for (int i = 0; i < 8; ++i) out[i] = passed[i];
}
"""


@pytest.mark.gpu
def test_scalars_arrive_by_value() -> None:
    out = np.zeros(8, dtype=np.uint64)
    gpu.launch(ECHO, "echo", [*SCALARS, gpu.Out(out)], grid=1, block=1)
    assert out.astype(np.int64)[:3].tolist() == [-2, 65535, -7]
    assert out[3:].tolist() == [
        2**63 + 1,
        int(np.float16(1.5).view(np.uint16)),
        int(np.float64(-0.1).view(np.uint64)),
        1,
        int(np.asarray(ml_dtypes.bfloat16(3.25)).view(np.uint16)),
    ]


@pytest.mark.gpu
def test_arrays_without_elements() -> None:
    empty, out = np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.float32)
    gpu.launch(ADD, "add", [empty, empty, gpu.Out(out), np.float32(0), np.int32(0)], grid=1, block=32)


@pytest.mark.gpu
def test_what_the_driver_refuses_is_said() -> None:
    one = np.zeros(1, dtype=np.float32)
    arguments = [one, one, gpu.Out(one.copy()), np.float32(0), np.int32(1)]
    refuses("loading the kernel subtract failed: ", gpu.launch, ADD, "subtract", arguments, grid=1, block=32)
    with pytest.raises(PtxlabError, match="launching the kernel add failed: .*CUDA_ERROR_INVALID_VALUE"):
        gpu.launch(ADD, "add", arguments, grid=1, block=2048)
    z, right = launch_add()
    assert np.array_equal(z, right), "the GPU still works"


@pytest.mark.gpu
def test_more_memory_than_there_is() -> None:
    size = 1 << 44
    with pytest.raises(PtxlabError, match=f"allocating {size} bytes of GPU memory failed: .*OUT_OF_MEMORY"):
        gpu.launch(ADD, "add", [gpu.Out(_pretended(size))], grid=1, block=32)
    z, right = launch_add()
    assert np.array_equal(z, right), "the GPU still works"


def _pretended(size: int) -> np.ndarray:
    """An array that claims so many bytes; nobody may touch them."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype=np.uint8), (size,), (1,))


def script(text: str, tmp_path: Path) -> Path:
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(text))
    return file


def environment() -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


@pytest.mark.gpu
def test_a_kernel_that_faults(tmp_path: Path) -> None:
    """In a process of its own: after a fault the context is of no more use."""
    file = script(
        """
        import numpy as np
        from ptxlab import PtxlabError, gpu
        FAULT = 'extern "C" __global__ void f(int* p) { p[1ll << 40] = 1; }'
        try:
            gpu.launch(FAULT, "f", [gpu.Out(np.zeros(1, dtype=np.int32))], grid=1, block=1)
        except PtxlabError as error:
            print(error)
        """,
        tmp_path,
    )
    process = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, check=True, env=environment()
    )
    assert process.stdout.startswith("running the kernel f failed: ")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in process.stdout
    assert process.stdout.count("\n") == 1


@pytest.mark.gpu
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_does_not_wait_for_the_kernel(tmp_path: Path) -> None:
    file = script(
        """
        import sys
        import time
        import numpy as np
        from ptxlab import gpu
        SPIN = '''extern "C" __global__ void spin(long long ns, int* out) {
            long long start, now;
            asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
            do { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); } while (now - start < ns);
            *out = 1;
        }'''
        out = np.zeros(1, dtype=np.int32)
        gpu.launch(SPIN, "spin", [np.int64(1000), gpu.Out(out)], grid=1, block=1)
        assert out[0] == 1
        print("ready", flush=True)
        start = time.monotonic()
        try:
            gpu.launch(SPIN, "spin", [np.int64(8 * 10**9), gpu.Out(out)], grid=1, block=1)
        except KeyboardInterrupt:
            print(time.monotonic() - start, flush=True)
        """,
        tmp_path,
    )
    command = [sys.executable, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert float(process.stdout.readline()) < 5
        process.wait(timeout=60)


@pytest.mark.gpu
def test_a_context_of_somebody_else_is_no_obstacle() -> None:
    """Another library may have left its own context current in this thread."""
    from cuda.bindings import driver

    code, handle = driver.cuDeviceGet(0)
    assert int(code) == 0
    parameters = (0, handle) if driver.CUDA_VERSION < 13000 else (None, 0, handle)
    code, context = driver.cuCtxCreate(*parameters)
    assert int(code) == 0
    try:
        z, right = launch_add()
        assert np.array_equal(z, right)
    finally:
        driver.cuCtxDestroy(context)
