"""Unmodified programs in CuTe DSL inside `ptxlab.simulating`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError

cutlass = pytest.importorskip(
    "cutlass.cute", reason="CuTe DSL is not installed (pip install nvidia-cutlass-dsl)"
)

from cutlass import cute  # noqa: E402
from cutlass.cute.runtime import from_dlpack  # noqa: E402

from . import cute_kernels as kernels  # noqa: E402

_TEXT = Path(kernels.__file__).read_text(encoding="utf-8").splitlines()


def _line(comment: str) -> int:
    return next(number for number, text in enumerate(_TEXT, 1) if text.endswith(f"# {comment}"))


@pytest.fixture
def arrays() -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    return random.random(1000, np.float32), random.random(1000, np.float32), np.zeros(1000, np.float32)


def test_functions_compile_and_launch_in_the_session(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    with ptxlab.simulating(show=False) as session:
        given = [from_dlpack(each).mark_layout_dynamic() for each in arrays]
        compiled = cute.compile(kernels.add, *given)
        compiled(*given)
        assert np.array_equal(out, x + y)
        out[:] = 0
        compiled(*(from_dlpack(each[100:300]).mark_layout_dynamic() for each in arrays))
        assert np.array_equal(out[100:300], (x + y)[100:300]) and not out[300:].any()
        kernels.add(*given)
    assert [each.name for each in session.results] == 3 * ["add_kernel"]
    assert [each.grid.block_count for each in session.results] == [8, 2, 8]
    assert not any(each.hazards for each in session.results)
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
    assert [each.grid.block_count for each in session.results] == [8, 2]


def test_hazards_name_lines_of_the_python_source(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    with ptxlab.simulating(show=False) as session:
        kernels.reverse(from_dlpack(np.arange(64, dtype=np.int32)))
        with pytest.raises(PtxlabError, match=rf"cute_kernels.py:{_line('stored')}: .* byte 400 of"):
            kernels.add(*(from_dlpack(each).mark_layout_dynamic() for each in (x, y, out[:100])))
    (race,) = session.results[0].hazards
    assert (race.kind, race.line, race.other_line) == ("race", _line("read"), _line("written"))
    assert "put cute.arch.sync_threads() between" in race.remedy


def test_tensor_maps_are_those_that_the_host_sets_up() -> None:
    x = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    out = np.zeros_like(x)
    with ptxlab.simulating(show=False) as session:
        kernels.copy(from_dlpack(x, assumed_align=16), from_dlpack(out, assumed_align=16))
    assert np.array_equal(out, x) and not session.results[0].hazards
    assert any("cp.async.bulk.tensor" in each for each in session.results[0].counts)
    with ptxlab.simulating("A100", show=False), pytest.raises(Exception, match=r"arch|sm_80"):
        kernels.copy(from_dlpack(x, assumed_align=16), from_dlpack(out, assumed_align=16))


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
        compiled = cute.compile(kernels.add, *(from_dlpack(each) for each in arrays))
    kernel = ptxlab.kernel(compiled)
    kernel.simulate(8, 128, (x,), (y,), (out,), np.int32(1000), show=False)
    assert np.array_equal(out, x + y)
