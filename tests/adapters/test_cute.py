"""Unmodified programs in CuTe DSL inside `ptxlab.simulating`."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError

cutlass = pytest.importorskip(
    "cutlass.cute", reason="CuTe DSL is not installed (pip install nvidia-cutlass-dsl)"
)

from cutlass import cuda, cute  # noqa: E402
from cutlass.cute.runtime import from_dlpack  # noqa: E402

from . import cute_kernels as kernels  # noqa: E402

_TEXT = Path(kernels.__file__).read_text(encoding="utf-8").splitlines()


def _line(comment: str) -> int:
    return next(number for number, text in enumerate(_TEXT, 1) if text.endswith(f"# {comment}"))


def test_functions_compile_and_launch_in_the_session(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    with ptxlab.simulating(show=False) as session:
        cuda.initialize_cuda_context()
        given = [from_dlpack(array).mark_layout_dynamic() for array in arrays]
        compiled = cute.compile(kernels.add, *given)
        compiled(*given)
        assert np.array_equal(out, x + y)
        out[:] = 0
        compiled(*(from_dlpack(array[100:300]).mark_layout_dynamic() for array in arrays))
        assert np.array_equal(out[100:300], (x + y)[100:300]) and not out[300:].any()
        kernels.add(*given)
    assert [launch.name for launch in session.results] == 3 * ["add_kernel"]
    assert [launch.grid.block_count for launch in session.results] == [8, 2, 8]
    assert not any(launch.hazards for launch in session.results)
    with pytest.warns(match="which is over"), pytest.raises(Exception, match="cudaErrorUnknown"):
        compiled(*given)


def test_functions_with_tvm_ffi_take_arrays(arrays: tuple[Any, Any, Any]) -> None:
    pytest.importorskip("tvm_ffi", reason="TVM FFI is not installed (pip install apache-tvm-ffi)")
    x, y, out = arrays
    with ptxlab.simulating(show=False) as session:
        size = cute.sym_int()
        fake = [cute.runtime.make_fake_compact_tensor(cute.Float32, (size,)) for _ in arrays]
        compiled = cute.compile(kernels.add, *fake, options="--enable-tvm-ffi")
        compiled(x, y, out)
        assert np.array_equal(out, x + y)
        out[:] = 0
        compiled(x[:200], y[:200], out=out[:200])
        assert np.array_equal(out[:200], (x + y)[:200]) and not out[200:].any()
        with pytest.raises(Exception, match="Mismatched"):
            compiled(x, y[:100], out)
        given = [from_dlpack(array, enable_tvm_ffi=True) for array in arrays]
        cute.compile(kernels.add, *given, options="--enable-tvm-ffi")(x, x, out)
        assert np.array_equal(out, x + x)
    assert [launch.grid.block_count for launch in session.results] == [8, 2, 8]


def test_a_kernel_is_found_by_its_whole_name() -> None:
    """Names end with a number: add_hundred_kernel is ..._1 in one function, ..._10 in the other."""
    x = np.zeros(32, np.float32)
    with ptxlab.simulating(show=False) as session:
        tensor = from_dlpack(x)
        first, _ = (cute.compile(function, tensor) for function in (kernels.second_of_two, kernels.eleventh))
        first(tensor)
    assert np.all(x == 101)
    assert [result.name for result in session.results] == ["add_one_kernel", "add_hundred_kernel"]


def test_kernels_of_one_name_are_told_apart() -> None:
    """Each compiled function launches the kernel of its own PTX, also after a later compilation."""
    x = np.zeros(32, np.float32)
    with ptxlab.simulating(show=False) as session:
        tensor = from_dlpack(x)
        first, second = (cute.compile(kernels.adding(number), tensor) for number in (1, 100))
        first(tensor)
        assert np.all(x == 1)
        second(tensor)
        first(tensor)
    assert np.all(x == 102)
    assert len({result.name for result in session.results}) == 1
    [name] = {re.search(r"\.entry (\w+)", compiled.__ptx__)[1] for compiled in (first, second)}
    assert name.startswith("kernel_cutlass_add_number_kernel")


def test_pointers_without_a_tensor(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    with ptxlab.simulating(show=False) as session:
        pointers = [
            cute.runtime.make_ptr(cute.Float32, array.ctypes.data, cute.AddressSpace.gmem, assumed_align=16)
            for array in arrays
        ]
        kernels.add_at(*pointers, 1000)
    assert np.array_equal(out, x + y) and not session.results[0].hazards


def test_hazards_name_lines_of_the_python_source(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    with ptxlab.simulating(show=False) as session:
        kernels.reverse(from_dlpack(np.arange(64, dtype=np.int32)))
        kernels.array(from_dlpack(np.arange(64, dtype=np.float32)))
        with pytest.raises(PtxlabError, match=rf"cute_kernels.py:{_line('stored')}: .* byte 400 of"):
            kernels.add(*(from_dlpack(array).mark_layout_dynamic() for array in (x, y, out[:100])))
    (race,) = session.results[0].hazards
    assert (race.kind, race.line, race.other_line) == ("race", _line("read"), _line("written"))
    (race,) = session.results[1].hazards
    assert (race.line, race.other_line) == (_line("from the array"), _line("to the array"))
    assert "put cute.arch.sync_threads() between" in race.remedy


def test_tensor_maps_are_those_that_the_host_sets_up() -> None:
    x = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    out = np.zeros_like(x)
    with ptxlab.simulating(show=False) as session:
        kernels.copy(from_dlpack(x, assumed_align=16), from_dlpack(out, assumed_align=16))
    assert np.array_equal(out, x) and not session.results[0].hazards
    assert any("cp.async.bulk.tensor" in opcode for opcode in session.results[0].counts)
    with ptxlab.simulating("A100", show=False), pytest.raises(Exception, match=r"arch|sm_80"):
        kernels.copy(from_dlpack(x, assumed_align=16), from_dlpack(out, assumed_align=16))


def test_tensor_maps_of_the_driver() -> None:
    """As cutlass.experimental asks for them: cuTensorMapEncodeTiled, whose numbers are in `cuda.h`."""
    from ptxlab.adapters.cute_dsl import _decoded_map, _encode_map

    x = np.arange(32 * 64, dtype=np.uint8).reshape(32, 64)

    def numbers(kind: type, *values: int) -> Any:
        return (kind * len(values))(*values)

    content = (ctypes.c_uint8 * 128)()
    sizes, strides = numbers(ctypes.c_uint64, 128, 32), numbers(ctypes.c_uint64, 64)
    box, steps = numbers(ctypes.c_uint32, 128, 8), numbers(ctypes.c_uint32, 1, 1)
    places = [ctypes.addressof(values) for values in (sizes, strides, box, steps)]
    assert _encode_map(ctypes.addressof(content), 13, 2, x.ctypes.data, *places, 0, 2, 0, 0) == 0
    tensor = _decoded_map(bytes(content))
    assert tensor is not None and (tensor.data_type, tensor.swizzle) == ("16U4_ALIGN8B", 64)
    assert (tensor.box, tensor.expect_tx) == ((8, 128), 512) and np.array_equal(tensor.array, x)


def test_what_was_there_comes_back(arrays: tuple[Any, Any, Any]) -> None:
    from cutlass.base_dsl.compiler import Compiler
    from cutlass.cute.runtime import _Tensor

    before = Compiler.jit, _Tensor.__init__
    with ptxlab.simulating(show=False):
        assert Compiler.jit is not before[0]
    assert (Compiler.jit, _Tensor.__init__) == before


def test_a_compiled_function_is_a_kernel(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    with ptxlab.simulating(show=False):
        compiled = cute.compile(kernels.add, *(from_dlpack(array) for array in arrays))
    kernel = ptxlab.kernel(compiled)
    kernel.simulate(8, 128, (x,), (y,), (out,), np.int32(1000), show=False)
    assert np.array_equal(out, x + y)


def test_errors_of_launches_are_raised_where_host_code_ignores_their_status() -> None:
    from ptxlab.adapters.cute_dsl import _CALL, _raising

    def host_code(*errors: Exception, status: Exception | None = None) -> None:
        with _raising():
            _CALL.errors.extend(errors)
            if status is not None:
                raise status

    status = RuntimeError("the status is not 0")
    for raised in (None, status):
        with pytest.raises(PtxlabError, match="no such array"):
            host_code(PtxlabError("no such array"), status=raised)
        assert not _CALL.errors
    with pytest.raises(RuntimeError, match="the status"):
        host_code(status=status)
