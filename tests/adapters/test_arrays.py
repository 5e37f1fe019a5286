"""Arrays of other frameworks become memory of a simulated launch; sessions and refusals need no framework."""

from __future__ import annotations

import functools
import gc
import sys
import types
from pathlib import Path
from typing import Any, NoReturn

import ml_dtypes
import numpy as np
import pytest

import ptxlab
from ptxlab.adapters import framework_session as sessions
from ptxlab.adapters import frameworks
from ptxlab.adapters.host_arrays import HostMemory, host_array, is_array, launch_arguments
from tests.cases import each, refuses
from tests.texts import replaced

from .tensors import Held, Tensor

#: out[i] = x[i * step] + y[i]
_GATHER = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry gather(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 step) {
  .reg .b32 %r<8>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u64 %rd3, [out]; ld.param.u32 %r1, [step];
  mov.u32 %r2, %tid.x;
  mul.lo.u32 %r3, %r2, %r1;
  mul.wide.u32 %rd4, %r3, 4; add.u64 %rd4, %rd4, %rd1; ld.global.u32 %r4, [%rd4];
  mul.wide.u32 %rd5, %r2, 4; add.u64 %rd6, %rd5, %rd2; ld.global.u32 %r5, [%rd6];
  add.u32 %r6, %r4, %r5;
  add.u64 %rd7, %rd5, %rd3; st.global.u32 [%rd7], %r6;
  ret;
}
"""


@pytest.fixture(scope="module", autouse=True)
def little_to_search() -> None:
    """Arrays are searched for among the objects of these tests, not among all that others have left."""
    gc.freeze()


def test_views_and_arrays_that_share_memory_are_device_memory() -> None:
    memory = np.arange(128, dtype=np.uint32)
    every_second, neighbour, out = memory[:64:2], memory[32:64], memory[64:96]
    ptxlab.kernel(_GATHER).simulate(1, 32, *launch_arguments([every_second, neighbour, out, 2]))
    assert np.array_equal(out, np.arange(0, 64, 2) + np.arange(32, 64))
    views = launch_arguments([memory[1:9], memory[3:20:2]])
    addresses = [view.phase + view.offset for view in views]  # type: ignore[attr-defined]
    assert addresses[1] - addresses[0] == 8
    assert addresses[0] % 16 == memory[1:].ctypes.data % 16


def test_a_tensor_without_axes_is_one_element() -> None:
    value = np.array(3, np.float32)
    array = host_array(Tensor(value))
    assert array.shape == () and array.ctypes.data == value.ctypes.data


#: *table[1] = *table[0] + 1, for 32 threads; table[2] is free.
_THROUGH_A_TABLE = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry through(.param .u64 table) {
  .reg .b32 %r<8>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [table]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
  ld.global.u64 %rd3, [%rd1]; ld.global.u64 %rd4, [%rd1+8];
  add.u64 %rd5, %rd3, %rd2; ld.global.u32 %r2, [%rd5]; add.u32 %r3, %r2, 1;
  add.u64 %rd6, %rd4, %rd2; st.global.u32 [%rd6], %r3;
  ret;
}
"""


def test_arrays_are_reached_through_a_table_of_addresses() -> None:
    kernel = ptxlab.kernel(_THROUGH_A_TABLE)
    memory, out = np.arange(64, dtype=np.uint32), np.zeros(32, dtype=np.uint32)
    source = memory[16:48]
    table = np.array([source.ctypes.data, out.ctypes.data], dtype=np.int64)
    result = kernel.simulate(1, 32, *launch_arguments([table]))
    assert np.array_equal(out, np.arange(17, 49)) and not result.hazards

    kept = {"out": np.zeros(32, dtype=np.uint32)}  # as an object has it that no frame names
    table[1] = kept["out"].ctypes.data
    kernel.simulate(1, 32, *launch_arguments([table]))
    assert np.array_equal(kept["out"], out)
    kept["out"].flags.writeable = False
    refuses("read-only|written|write", kernel.simulate, 1, 32, *launch_arguments([table]))
    table[1] = 1 << 20
    refuses("belongs to no array", kernel.simulate, 1, 32, *launch_arguments([table]))


@pytest.mark.parametrize("parameter", [".u64 table", ".align 8 .b8 table[8]"])
def test_arrays_are_found_by_their_address_alone(parameter: str) -> None:
    """As CuTe DSL's `make_ptr` has it, or a struct with the address of a table of addresses."""
    kernel = ptxlab.kernel(replaced(_THROUGH_A_TABLE, ".u64 table", parameter))
    source, out = np.arange(32, dtype=np.uint32), np.zeros(32, dtype=np.uint32)
    table = np.array([source.ctypes.data, out.ctypes.data, 0], dtype=np.uint64)
    content = table.ctypes.data.to_bytes(8, "little")
    arguments = HostMemory([], search=True).arguments(kernel.function, [content])
    kernel.simulate(1, 32, *launch_arguments(arguments))
    assert np.array_equal(out, source + 1)


def test_what_nobody_may_write_stays_so() -> None:
    memory = np.arange(64, dtype=np.uint32)
    memory.flags.writeable = False
    refuses("read-only|written|write", ptxlab.kernel(_GATHER).simulate, 1, 32,
            *launch_arguments([memory[:32], memory[16:48], memory[20:52], 1]))  # fmt: skip


@pytest.mark.parametrize(
    "dtype", [np.float32, np.int64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.bool_]
)
def test_tensors_are_arrays_without_a_copy(dtype: Any) -> None:
    array = np.arange(24).reshape(4, 6).astype(dtype)
    for given in (
        array,
        Tensor(array),
        Tensor(array[:, ::2]),
        Tensor(array.T),
        *([Held(array)] if array.dtype.isbuiltin == 1 else ()),
    ):
        view = host_array(given)
        assert view.dtype == array.dtype and view.ctypes.data == array.ctypes.data
    assert np.array_equal(host_array(Tensor(array[:, ::2])), array[:, ::2])
    assert host_array(Tensor(array[:0])).shape == (0, 6)


def test_refusals_say_what_would_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    refuses("the tensor is on 'cuda:0'; .* on the CPU", host_array, Tensor(np.zeros(3), "cuda:0"))
    refuses("chip='H300': there are .*H200", ptxlab.simulating, "H300")
    assert ptxlab.simulating("h200").chip == "H200" and ptxlab.simulating("RTX4090").target == "sm_89"
    refuses("check='no'", ptxlab.simulating, check="no")
    refuses("found 3; it takes CUDA C\\+\\+ or PTX as text, Triton's CompiledKernel", ptxlab.kernel, 3)
    monkeypatch.setattr(frameworks, "ADAPTERS", {"no_such_framework": "triton"})
    refuses(
        "neither Triton nor Numba's CUDA target, CuTe DSL, Warp, TileLang, CuPy or cuTile is installed",
        ptxlab.simulating().__enter__,
    )


def test_a_folder_with_the_name_of_a_framework_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout of its examples may lie beside the program."""
    (tmp_path / "framework_of_examples").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(frameworks, "ADAPTERS", {"framework_of_examples": "triton"})
    refuses("neither Triton nor Numba's CUDA target", ptxlab.simulating().__enter__)
    assert "framework_of_examples" not in sys.modules


@pytest.mark.parametrize("fault", ["import ctypes; ctypes.CDLL('./no_such_library')", "raise ValueError"])
def test_a_framework_that_cannot_be_imported_is_left_out(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "framework_at_fault.py").write_text(fault)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(frameworks, "ADAPTERS", {"framework_at_fault": "triton"})
    refuses("neither Triton nor Numba's CUDA target", ptxlab.simulating().__enter__)


class _RawKernel:
    """As CuPy's."""

    code = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= N; }'
    name = "twice"
    options = ("-DN=2",)
    file_path: str | None = None


def test_cupys_kernels_are_compiled_again() -> None:
    kind = type("RawKernel", (_RawKernel,), {"__module__": "cupy._core.raw"})
    x = np.ones(32, np.float32)
    kernel: Any = ptxlab.kernel(kind())
    kernel.simulate(1, 32, x)
    assert (x == 2).all()
    kind.code = None  # type: ignore[attr-defined]
    refuses("twice was made from a file", ptxlab.kernel, kind())


def test_cupys_kernels_of_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in of CuPy, whose kernels on a GPU write 7; also kernels made before the session."""

    class OnGpu(_RawKernel):
        def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
            args[0][:] = 7

    cupy: Any = types.ModuleType("cupy")
    cupy.RawKernel = OnGpu
    cupy.RawModule = type("RawModule", (_RawKernel,), {"get_function": lambda self, name: OnGpu()})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for name in ("triton", "numba.cuda", "cutlass.cute", "tilelang", "warp"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    x, kernel = np.ones(32, np.float32), cupy.RawKernel()
    with ptxlab.simulating(show=False) as session:
        kernel((1,), (32,), (x,))
        cupy.RawKernel()((1,), (32,), (Held(x),), shared_mem=64)
        function = cupy.RawModule().get_function("twice")
        function((1,), (32,), (x,))
    assert (x == 8).all() and len(session.results) == 3
    for on_gpu in (kernel, function, cupy.RawModule().get_function("twice")):
        x[:] = 1
        on_gpu((1,), (32,), (x,))
        assert (x == 7).all()


def test_calls_of_a_compiled_class() -> None:
    """As CuPy's is; here a class of Python's own that takes no attributes."""
    key = functools.cmp_to_key(lambda a, b: a - b)
    kind: Any = type(key)
    with pytest.raises(TypeError, match="immutable"):
        kind.__call__ = None
    former = kind.__call__

    def call(self: Any, *values: Any, **named: Any) -> Any:
        if "error" in named:
            raise ptxlab.PtxlabError(named["error"])
        return (self, values, former(self, *values))

    restore = sessions.replace_attributes([(kind, "__call__", call)])
    try:
        found, values, compared = key(3)
        assert found is key and values == (3,) and type(compared) is kind
        refuses("as any other", key, error="as any other")
    finally:
        restore()
    assert sorted([3, 1, 2], key=key) == [1, 2, 3] and kind.__call__ is former
    with pytest.raises(KeyError):  # what was changed before is undone
        sessions.replace_attributes([(kind, "__call__", call), (kind, "no_such_name", call)])
    assert sorted([3, 1, 2], key=key) == [1, 2, 3] and kind.__call__ is former


def test_cupy_itself(tmp_path: Path) -> None:
    """It makes kernels without a GPU."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed (pip install cupy-cuda13x)")
    text = "template <int N> __global__ void times(float* x) { x[threadIdx.x] *= N; }"
    path = tmp_path / "twice.ptx"
    path.write_text(ptxlab.kernel(_RawKernel.code, options=["-DN=2"]).ptx, encoding="utf-8")
    own = type("Own", (cupy.RawKernel,), {})
    kernel, of_subclass = (
        kind(_RawKernel.code, _RawKernel.name, _RawKernel.options) for kind in (cupy.RawKernel, own)
    )
    before = cupy.RawKernel.__call__, cupy.RawModule.get_function
    x = np.ones(32, np.float32)
    with ptxlab.simulating(show=False) as session:
        kernel((1,), (32,), (x,))
        of_subclass((1,), (32,), (x,))
        cupy.RawModule(code=text, name_expressions=["times<2>"]).get_function("times<2>")((1,), (32,), (x,))
        cupy.RawModule(path=str(path)).get_function("twice")((1,), (32,), (x,), shared_mem=64)
    assert (x == 16).all() and not any(launch.hazards for launch in session.results)
    assert (cupy.RawKernel.__call__, cupy.RawModule.get_function) == before


class _Raises:
    """An attribute that cannot be read."""

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise KeyError("no\nanswer")


def _like(module: object, kind: str, /, **attributes: object) -> Any:
    """What has the type of a framework, by its name."""
    return type(kind, (), {"__module__": module, **attributes})()


def _tensor(**attributes: object) -> Any:
    usual = {"shape": (3,), "dtype": "float32", "data_ptr": lambda _: 64, "stride": lambda _: (1,)}
    return type("Tensor", (), {**usual, **attributes})()


class _Proxy:
    """A text, by what it says of itself."""

    __class__ = str  # type: ignore[assignment]


_CUPY = {"code": _RawKernel.code, "name": "twice", "options": ("-DN=2",)}
_IS_READ = "ptxlab does not know this version, which lacks what it builds on"


@each(
    "hostile, sentence",
    [
        (_like(3, "RawKernel"), "it takes CUDA C.. or PTX as text"),
        (_Proxy(), "it takes CUDA C.. or PTX as text"),
        (_like("cupy", "RawKernel"), f"cupy .*{_IS_READ} .*no attribute 'code'"),
        (_like("cupy", "RawKernel", **{**_CUPY, "name": _Raises()}), f"{_IS_READ} .*KeyError"),
        (_like("cupy", "RawKernel", **{**_CUPY, "code": b"x"}), "source: found b'x'; it takes CUDA"),
        (
            _like("cupy", "RawKernel", **{**_CUPY, "code": "\ud800"}),
            "source: it has characters that no compiler",
        ),
        (
            _like("cupy", "RawKernel", **{**_CUPY, "name": "f<\ud800>"}),
            "name: it has characters that no compiler",
        ),
        (_like("cupy", "RawKernel", **{**_CUPY, "options": ["-D\ud800"]}), "options: it has characters"),
        (_like("cupy", "RawKernel", **{**_CUPY, "options": ["-DN\0"]}), "options: it has characters"),
        (_like("cupy", "RawKernel", **{**_CUPY, "options": 3}), "options=3: they are a list of NVRTC's"),
        (_like("triton.x", "CompiledKernel"), "Triton|triton"),
        (_like("cutlass.x", "JitCompiledFunction", __ptx__=3), "cutlass|PTX: found 3"),
        (_like("numba.cuda", "CUDADispatcher"), "numba.cuda"),
    ],
    ids=lambda case: case[1],
)
def test_what_only_looks_like_a_kernel(hostile: Any, sentence: str) -> None:
    refuses(sentence, ptxlab.kernel, hostile)


@each(
    "hostile, sentence",
    [
        (_tensor(data_ptr=_Raises()), "whose memory cannot be found"),
        (_tensor(data_ptr=lambda _: "x"), "whose memory cannot be found .*ValueError"),
        (_tensor(data_ptr=lambda _: -8), "at the address -0x8, sizes .*: no memory is there"),
        (_tensor(data_ptr=lambda _: 2**70), "no memory is there"),
        (_tensor(shape=(2**62, 2**62), stride=lambda _: (2**62, 1)), "no memory is there"),
        (_tensor(shape=(-3,)), "sizes and strides must not be negative"),
        (_tensor(stride=lambda _: (-1,)), "sizes and strides must not be negative"),
        (_tensor(shape=None), "whose memory cannot be found .*TypeError"),
        (_tensor(stride=lambda _: (1, 2)), "whose memory cannot be found .*zip"),
        (_tensor(dtype="nonsense"), "NumPy has no such type"),
        (_tensor(device=_Raises()), "whose memory cannot be found .*KeyError"),
        (type("Held", (), {"__array_interface__": 3})(), "whose memory cannot be found"),
        (type("Held", (), {"__cuda_array_interface__": {}})(), "which is on a GPU"),
    ],
    ids=lambda case: case[1],
)
def test_what_only_looks_like_a_tensor(hostile: Any, sentence: str) -> None:
    assert is_array(hostile) or sentence.endswith("found")
    refuses(sentence, host_array, hostile)


def test_a_framework_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an adapter builds on may be gone; then nothing of other frameworks stays changed."""
    other = types.ModuleType("warp")
    other.__version__ = "9.9"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "warp", other)
    for name in ("triton", "numba.cuda", "cutlass.cute", "tilelang", "ptxlab.adapters.warp"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ptxlab.PtxlabError, match=r"warp '9\.9': ptxlab does not know this version"):
        ptxlab.simulating().__enter__()
    assert not sessions._SESSIONS and not sessions._RESTORERS
