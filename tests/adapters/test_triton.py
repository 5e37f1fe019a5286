"""Unmodified programs in Triton and Gluon inside `ptxlab.simulating`, and kernels from `CompiledKernel`."""

from __future__ import annotations

import importlib
import re
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError

from .tensors import Held, Tensor

triton = pytest.importorskip("triton", reason="Triton is not installed (pip install triton; Linux only)")

from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

from . import triton_kernels as kernels  # noqa: E402

_TEXT = Path(kernels.__file__).read_text(encoding="utf-8").splitlines()


def _line(comment: str) -> int:
    return next(number for number, text in enumerate(_TEXT, 1) if text.endswith(f"# {comment}"))


@pytest.mark.parametrize("hold", [lambda array: array, Tensor, Held], ids=["NumPy", "tensor", "interface"])
def test_results_are_written_in_place(arrays: tuple[Any, Any, Any], hold: Any) -> None:
    x, y, out = arrays
    with ptxlab.simulating(show=False) as session:
        kernels.add[(8,)](hold(x), hold(y), hold(out), 1000, 2.0, BLOCK=128)
    assert np.array_equal(out, x + y * np.float32(2))
    (result,) = session.results
    assert result.name == "add" and not result.hazards and not result.conflicts
    assert "ptx-profile" in result._repr_html_()


def test_registers_are_those_of_the_machine_code(arrays: tuple[Any, Any, Any]) -> None:
    """Programs divide by them, to find how many blocks fit an SM."""
    with ptxlab.simulating(show=False):
        compiled = kernels.add.warmup(*arrays, 1000, 2.0, BLOCK=128, grid=(8,))
        compiled._init_handles()
    assert 8 <= compiled.n_regs <= 64


def test_views_have_their_strides(arrays: tuple[Any, Any, Any]) -> None:
    x, _, out = arrays
    with ptxlab.simulating(show=False):
        kernels.add[lambda meta: (triton.cdiv(999, meta["BLOCK"]),)](
            x[1:], x[:-1], out[:999], np.int32(999), np.float32(1), BLOCK=256
        )
    assert np.array_equal(out[:999], x[1:] + x[:-1]) and out[999] == 0


def test_a_product_with_wgmma() -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, (128, 128)).astype(np.float16) for _ in range(2))
    c = np.zeros((128, 128), np.float32)
    with ptxlab.simulating(show=False) as session:
        kernels.matmul[(2, 2)](a, b, c, 128, 128, 64)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    assert session.results[0].kinds["wgmma.mma_async"]
    assert session.results[0].operands(warp=0).ins.n == 64


def test_the_chip_decides_what_is_compiled(arrays: tuple[Any, Any, Any]) -> None:
    a = np.ones((64, 64), np.float16)
    c = np.zeros((64, 64), np.float32)
    with ptxlab.simulating("A100", show=False) as session:
        assert triton.runtime.driver.active.get_current_target() == GPUTarget("cuda", 80, 32)
        kernels.matmul[(1, 1)](a, a, c, 64, 64, 64)
    assert (c == 64).all() and session.results[0].kinds["mma"]


def test_hazards_name_lines_of_the_python_source() -> None:
    x, configured = np.zeros(256, np.int32), kernels.reverse[(1,)]  # before the session
    with ptxlab.simulating(show=False) as session:
        configured(x, 128)
    (race,) = session.results[0].hazards
    assert (race.kind, race.line, race.other_line) == ("race", _line("in the helper"), _line("written"))
    assert race.text == _TEXT[_line("in the helper") - 1].strip()
    assert f"(called in line {_line('read')})" in race.sentence and "tl.debug_barrier()" in race.remedy
    with pytest.raises(PtxlabError, match="without a barrier"), ptxlab.simulating(show=False, check="error"):
        kernels.reverse[(1,)](x, 128)


def test_a_trace_goes_through_the_python_source() -> None:
    with ptxlab.simulating(show=False, trace=True) as session:
        kernels.reverse[(1,)](np.zeros(256, np.int32), 128)
    trace = session.results[0].trace
    assert trace is not None
    lines = [step.instruction.source_line for step in trace.steps]
    assert _line("written") in lines and lines.index(_line("in the helper")) > lines.index(_line("written"))


def test_tensor_descriptors() -> None:
    x = np.arange(64 * 64, dtype=np.float16).reshape(64, 64)
    with ptxlab.simulating(show=False):
        for made in (
            TensorDescriptor.from_tensor(Tensor(x), [16, 64]),
            TensorDescriptor.from_tensor(x, [16, 64], padding="nan"),
            TensorDescriptor(x, [64, 64], [64, 1], [16, 64]),
        ):
            out = np.zeros((16, 64), np.float16)
            compiled = kernels.tile_of[(1,)](made, out, 16, 64)
            assert np.array_equal(out, x[16:32])
        kernel: Any = ptxlab.kernel(compiled)
        for wrong, sentence in (
            (x, "found .*; it takes Triton's TensorDescriptor"),
            (TensorDescriptor.from_tensor(x, [32, 64]), r"blocks of \[32, 64\]; .* compiled for \[16, 64\]"),
            (TensorDescriptor.from_tensor(x.view(np.int16), [16, 64]), r"array of int16; .* pass float16"),
        ):
            with pytest.raises(PtxlabError, match=sentence):
                kernel.simulate(1, wrong, out)
        out[:] = 0
        kernel.simulate(1, made, out, show=False)
        assert np.array_equal(out, x[16:32])
        out[:] = 0
        kernels.tile_made[(1,)](x, out, 64, 16, 64)
        assert np.array_equal(out, x[16:32])


@pytest.mark.parametrize("hold", [lambda array: array, Tensor], ids=["NumPy", "tensor"])
def test_a_tensor_without_axes_is_memory(hold: Any) -> None:
    """As the gradient of a loss, which Liger Kernel's cross entropy takes."""
    x, factor = np.arange(64, dtype=np.float32), np.array(0.5, np.float32)
    with ptxlab.simulating(show=False):
        kernels.scaled[(1,)](hold(x), hold(factor), BLOCK=64)
    assert np.array_equal(x, np.arange(64) / 2)


def test_reinterpreted_tensors() -> None:
    """`triton.reinterpret` says that a tensor has elements of another type, as of those that torch lacked."""
    x, out = np.arange(128, dtype=np.int8), np.zeros(128, np.float32)
    with ptxlab.simulating(show=False):
        kernels.add[(1,)](
            triton.reinterpret(Tensor(x), triton.language.float8e5), out, out, 120, 0.0, BLOCK=128
        )
    assert np.array_equal(out[:120], x[:120].view(ml_dtypes.float8_e5m2).astype(np.float32))


def test_scalars_tuples_and_nothing_to_do() -> None:
    out, other = np.zeros(2, np.float32), np.zeros(1, np.float32)
    with ptxlab.simulating(show=False) as session:
        kernels.several[(1,)](out, 1.5, (other, 4), True)
        kernels.several[(0,)](out, 3.0, (other, 5), True)
    assert out.tolist() == [1.5, 7] and other[0] == 4 and len(session.results) == 1


def test_autotuning_times_nothing_and_says_so(arrays: tuple[Any, Any, Any]) -> None:
    x, _, out = arrays
    tuned, grid = kernels.tuned, lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)
    with ptxlab.simulating(show=False) as session:
        with pytest.warns(UserWarning, match="nothing is timed; every configuration runs once"):
            tuned[grid](x, out, 1000)
        assert len(session.results) == 3  # both configurations, and the launch
        tuned[grid](x, out, 1000)
        assert len(session.results) == 4
    assert np.array_equal(out, 2 * x)
    assert not tuned.cache and "do_bench" not in vars(tuned)  # a GPU is asked again
    with ptxlab.simulating(), pytest.raises(PtxlabError, match="measures time on a GPU"):
        triton.testing.do_bench(lambda: None)


def test_autotuners_that_run_by_themselves(arrays: tuple[Any, Any, Any]) -> None:
    """As FlagGems' LibTuner: a class of its own, which keeps choices its way and asks `_bench` for times."""
    x, _, out = arrays

    class Tuner(triton.runtime.Autotuner):  # type: ignore[misc]
        def run(self, *values: Any, **options: Any) -> None:
            self.nargs = dict(zip(self.arg_names, values, strict=False))
            if "best" not in self.cache:
                times = {config: self._bench(*values, config=config, **options) for config in self.configs}
                self.cache["best"] = min(times, key=lambda config: times[config])
            self.fn.run(*values, **options, **self.cache["best"].all_kwargs())

    function, configs = kernels.tuned.fn, kernels.tuned.configs
    tuner = Tuner(function, function.arg_names, configs, [], None, None, do_bench=triton.testing.do_bench)
    for _ in range(2):  # a second session asks again
        with ptxlab.simulating(show=False) as session:
            with pytest.warns(UserWarning, match="nothing is timed"):
                tuner[(16,)](x, out, 1000)
            tuner[(16,)](x, out, 1000)
        assert len(session.results) == 4 and np.array_equal(out, 2 * x)
        assert not tuner.cache


def test_autotuning_by_predicted_times(arrays: tuple[Any, Any, Any]) -> None:
    """The configuration of the least time is used, and a compiled kernel has the same profile."""
    x, _, out = arrays
    tuned, grid = kernels.tuned, lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)
    with ptxlab.simulating(show=False, profile=True) as session:
        tuned[grid](x, out, 1000)
        times = [profile.microseconds for profile in session.profiles]
        assert len(times) == 3 and 1 < times[2] == min(times[:2])
        compiled = kernels.tuned.fn.warmup(x, out, 1000, BLOCK=128, grid=(8,))
        profile = ptxlab.kernel(compiled).profile(8, x, out, 1000)
    assert np.array_equal(out, 2 * x)
    assert profile.name == "tuned" and profile.microseconds == pytest.approx(min(times), rel=0.5)


def test_the_former_driver_comes_back(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    former = triton.runtime.driver._active
    patched = triton.runtime.jit.native_specialize_impl
    inner: list[Any] = []

    def launch(into: Any) -> None:
        kernels.add[(8,)](x, y, into, 1000, 1.0, BLOCK=128)

    def own_session(entered: threading.Event, leave: threading.Event) -> None:
        with ptxlab.simulating(show=False) as other:
            entered.set()
            leave.wait(60)
            launch(np.zeros_like(out))
            inner.append(other)

    entered, leave = threading.Event(), threading.Event()
    thread = threading.Thread(target=own_session, args=(entered, leave))
    with ptxlab.simulating(show=False) as outer:
        with pytest.raises(PtxlabError), ptxlab.simulating("A100", show=False, check="error") as nested:
            kernels.reverse[(1,)](np.zeros(256, np.int32), 128)
        launch(out)
        thread.start()
        entered.wait(60)
        launch(out)  # this thread's own
        pool = threading.Thread(target=launch, args=(np.zeros_like(out),))
        pool.start()  # has none: the newest
        pool.join()
    assert triton.runtime.driver._active is not former
    leave.set()
    thread.join()
    assert (len(nested.results), len(outer.results), len(inner[0].results)) == (0, 2, 2)
    assert triton.runtime.driver._active is former
    assert triton.runtime.jit.native_specialize_impl is patched


def test_compiled_kernels(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "scale": "fp32"}
    source = ASTSource(kernels.add, {**signature, "BLOCK": "constexpr"}, {(5,): 128})
    kernel: Any = ptxlab.kernel(triton.compile(source, target=GPUTarget("cuda", 90, 32)))
    result = kernel.simulate(8, x, Tensor(y), out, 1000, 2.0, show=False)
    assert np.array_equal(out, x + y * np.float32(2)) and not result.hazards
    assert repr(kernel) == (
        "<Triton's kernel add(x_ptr: *fp32, y_ptr: *fp32, out_ptr: *fp32, n: i32, scale: fp32) for sm_90a>"
    )
    assert "x + y * scale" in _TEXT[max(result.lines) - 1]
    with pytest.raises(PtxlabError, match="add takes 5 arguments .x_ptr: .* found 2"):
        kernel.simulate(8, x, y)
    with pytest.raises(PtxlabError, match="x_ptr of add: found 3; it takes an array or a CPU tensor"):
        kernel.simulate(8, 3, y, out, 1000, 2.0)
    with pytest.raises(
        PtxlabError, match="y_ptr of add: found an array of float64; .* for .fp32: pass float32"
    ):
        kernel.simulate(8, x, y.astype(np.float64), out, 1000, 2.0)
    with pytest.raises(PtxlabError, match="out_ptr of add: found an array of int32"):
        kernel.simulate(8, x, Tensor(y), Tensor(out.view(np.int32)), 1000, 2.0)
    kernel.simulate(8, x.view(np.uint32), y, Held(out), 1000, 1.0, show=False)  # its bits
    assert np.array_equal(out, x + y)
    with pytest.raises(PtxlabError, match="n of add: found 'n'; it takes a number .i32."):
        kernel.simulate(8, x, y, out, "n", 2.0)
    for number in (2**31, -(2**31) - 1, 2.5, float("nan")):
        with pytest.raises(PtxlabError, match=r"n of add: .* does not fit i32"):
            kernel.simulate(8, x, y, out, number, 2.0)
    with pytest.raises(PtxlabError, match="not compiled: pass what kernel.warmup"):
        ptxlab.kernel(kernels.add)
    with ptxlab.simulating():
        again: Any = ptxlab.kernel(kernels.softmax.warmup(out, x, 100, 100, 128, grid=(1,)))
    with ptxlab.simulating(show=False):
        compiled = kernels.add[(8,)](x, y, out, 1000, 2.0, BLOCK=128)
    with pytest.raises(PtxlabError, match="this kernel was loaded inside ptxlab.simulating"):
        compiled.run(8, 1, 1, 0, None, None, None, None, None, x, y, out, 1000, 2.0, 128)
    assert again.parameters == ("out_ptr: *fp32", "in_ptr: *fp32", "stride: i32", "columns: i32")


@pytest.mark.gpu
def test_a_gpu_gives_the_same_bytes(arrays: tuple[Any, Any, Any]) -> None:
    x, _, out = arrays
    with ptxlab.simulating(show=False):
        compiled = kernels.softmax.warmup(out, x, 100, 100, 128, grid=(10,))
    kernel: Any = ptxlab.kernel(compiled)
    launched = out.copy()
    kernel.simulate(10, out, x, 100, 100, show=False)
    kernel.launch(10, launched, x, 100, 100)
    assert out.tobytes() == launched.tobytes()


def test_a_kernel_of_gluon_copies(arrays: tuple[Any, Any, Any]) -> None:
    from . import gluon_kernels

    x, _, out = arrays
    with ptxlab.simulating(show=False) as session:
        gluon_kernels.copy[(8,)](x, out, 1000, 128)
    assert np.array_equal(out, x) and session.results[0].name == "copy"


def test_the_example_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "kernels.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(import numpy.*?)```", guide, re.DOTALL)
    (tmp_path / "example_of_the_guide.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("example_of_the_guide")
