"""Unmodified programs in Numba inside `ptxlab.simulating`, and kernels from its dispatchers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.simulator import HazardError

from .tensors import Held, Tensor

cuda = pytest.importorskip(
    "numba.cuda", reason="Numba's CUDA target is not installed (pip install numba-cuda)"
)

import numba  # noqa: E402
from numba.cuda.random import create_xoroshiro128p_states  # noqa: E402

from ptxlab.adapters import numba as adapter  # noqa: E402
from tests.cases import refuses  # noqa: E402
from tests.texts import replaced  # noqa: E402

from . import numba_kernels as kernels  # noqa: E402

_TEXT = Path(kernels.__file__).read_text(encoding="utf-8").splitlines()
_SIGNATURE = "void(float32[::1], float32[::1], float32[::1], float32)"


def _line(comment: str) -> int:
    return next(number for number, text in enumerate(_TEXT, 1) if text.endswith(f"# {comment}"))


@pytest.fixture(autouse=True)
def _compiler() -> None:
    try:
        ptxlab.kernel(kernels.add, _SIGNATURE)
    except PtxlabError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("signature", "arguments", "sentence"),
    [
        ("exit()", (), r"name='exit\(\)': a kernel of Numba takes a signature"),
        ("\ud800", (), "a kernel of Numba takes a signature"),
        ("void()", (), "add: Numba does not compile it, .*takes 4 arguments"),
        (None, (object(), 1, 2, 3), "argument 1 of add: found <object.*for which Numba has no type"),
        (
            _SIGNATURE,
            (np.zeros(32), 1, 2, 3),
            r"add is declared for .*, found \(array\(float64, 1d, C\), int64",
        ),
        (None, (Tensor, 1, 2, 3), "argument 1 of add: found <class.*for which Numba has no type"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_refusals_of_arguments(signature: str | None, arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(PtxlabError, match=sentence) as caught:
        ptxlab.kernel(kernels.add, signature).simulate(1, 32, *arguments)  # type: ignore[union-attr]
    assert len(str(caught.value).splitlines()) == 1
    with ptxlab.simulating(show=False), pytest.raises(PtxlabError, match="sharedmem: found 'x'"):
        kernels.add[1, 32, 0, "x"](*[np.zeros(32, np.float32)] * 3, np.float32(1))


@pytest.mark.parametrize("hold", [lambda array: array, Tensor, Held], ids=["NumPy", "tensor", "interface"])
def test_results_are_written_in_place(arrays: tuple[Any, Any, Any], hold: Any) -> None:
    x, y, out = arrays
    with ptxlab.simulating(show=False) as session:
        kernels.add[8, 128](hold(x), hold(y), hold(out), np.float32(2))
    assert np.array_equal(out, x + np.float32(2) * y)
    (result,) = session.results
    assert result.name == "add" and not result.hazards and result.grid.block_count == 8


def test_views_hints_and_forall(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    with ptxlab.simulating(show=False):
        kernels.add[8, 128](x[::-1], cuda.In(y), cuda.Out(out), np.float32(1))
        assert np.array_equal(out, x[::-1] + y)
        kernels.add.forall(500)(x[::2], y[:500], out[:500], np.float32(1))
        assert np.array_equal(out[:500], x[::2] + y[:500])


def test_writes_to_inputs_do_not_come_back() -> None:
    """`cuda.In` copies to the device only; what is there already is not copied."""
    record = np.zeros(1, np.dtype([("x", np.float32), ("n", np.int32)], align=True))[0]
    single = np.array(0, np.int64)
    with ptxlab.simulating(show=False):
        on_device = cuda.to_device(single)
        kernels.fill_record[1, 1](cuda.In(record), cuda.In(single))
        assert record["n"] == 0 and single == 0
        kernels.fill_record[1, 1](cuda.InOut(record), cuda.In(on_device))
    assert record["n"] == 7 and on_device.copy_to_host() == 9


def test_values_computed_from_device_arrays_have_a_truth() -> None:
    """An array of the device is true if it has elements, but not what NumPy makes of it."""
    with ptxlab.simulating(show=False):
        on_device = cuda.to_device(np.arange(4))
    assert not (on_device == 9).all() and not bool(on_device[:1] == 9) and not on_device[0:0].any()
    np.testing.assert_array_equal(on_device, np.arange(4))
    before = on_device
    on_device += 1
    assert on_device is before and (on_device[1:].copy_to_host() == [2, 3, 4]).all()


def test_strides_of_device_arrays() -> None:
    """Rows with padding, and columns first, as Numba allocates them."""
    with ptxlab.simulating(show=False):
        for strides in ((16, 4), (4, 16), (32, 4)):
            array = cuda.device_array((4, 4), np.float32, strides=strides)
            assert array.strides == strides and array.shape == (4, 4)
            kernels.number_rows[1, 16](array)
            assert array.copy_to_host().tolist() == np.arange(16.0).reshape(4, 4).tolist()
        assert cuda.device_array(4, np.int8, strides=2).strides == (2,)
        assert cuda.device_array((2, 3), np.int8, order="F").strides == (1, 2)
        refuses("strides=.* for each axis", cuda.device_array, (4, 4), np.float32, strides=(4,))


def test_an_array_is_named_by_its_argument_in_python(arrays: tuple[Any, Any, Any]) -> None:
    """Numba passes seven numbers for it."""
    x, y, out = arrays
    with ptxlab.simulating(show=False), pytest.raises(HazardError, match=r"of argument 2, y \(float32\["):
        kernels.add[8, 128](x, y[:10].copy(), out, np.float32(1))


def test_device_arrays_are_copies(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    before = cuda.to_device
    with ptxlab.simulating(show=False):
        on_device = cuda.to_device(x)
        x[:] = 0
        sums = cuda.device_array_like(on_device)
        kernels.add[8, 128](on_device, y, sums, np.float32(1))
        cuda.synchronize()
        assert np.array_equal(sums.copy_to_host(), on_device.copy_to_host() + y)
        sums.copy_to_host(out)
        assert np.array_equal(out, sums) and sums.copy_to_host().any() and on_device.copy_to_host().any()
    assert cuda.to_device is before


@pytest.mark.filterwarnings("ignore:Could not find source")  # of what Numba generates
def test_ufuncs_of_device_arrays_stay_on_the_device() -> None:
    with ptxlab.simulating(show=False):
        add = numba.vectorize(["float64(float64, float64)"], target="cuda")(kernels.plus)
        rows, row = cuda.to_device(np.arange(6.0).reshape(2, 3)), cuda.to_device(np.arange(3.0))
        sums = add(rows, row)
        assert cuda.is_cuda_array(sums) and (sums.copy_to_host() == rows.copy_to_host() + np.arange(3)).all()
        assert add.reduce(np.arange(5.0)) == 10 and type(add(np.ones(3), 1.0)) is np.ndarray


@pytest.mark.filterwarnings("ignore:Could not find source")  # of what Numba generates
def test_generalised_ufuncs_of_device_arrays() -> None:
    pytest.importorskip("numba_cuda", reason="tried with numba-cuda only")
    rows = np.arange(6.0).reshape(2, 3)
    types = ["void(float64, float64[:], float64[:])"]
    with ptxlab.simulating(show=False):
        scale = numba.guvectorize(types, "(),(n)->(n)", target="cuda")(kernels.scale_row)
        assert (scale(2.0, cuda.to_device(rows)).copy_to_host() == 2 * rows).all()


def test_kernels_read_a_global_device_array_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents are constants of a kernel; those of the last few are kept."""
    monkeypatch.setattr(adapter, "_MAX_CAPTURED", 2)
    out = np.zeros(1, np.float32)
    with ptxlab.simulating(show=False):
        prices = cuda.to_device(np.ones(2, np.float32))

        @cuda.jit
        def first(out: Any) -> None:
            out[0] = prices[0]

        for price in (3, 4, 5, 3):  # on a GPU the kernel has its address
            prices.copy_to_device(np.full(2, price, np.float32))
            first[1, 1](out)
            assert out[0] == price and len(adapter._COMPILED[first]) <= 2


def test_random_states_live_on_the_device() -> None:
    out = np.full(64, 2, np.float32)
    with ptxlab.simulating(show=False):
        states = create_xoroshiro128p_states(64, seed=1)
        kernels.uniform[2, 32](states, out)
    assert len(np.unique(out)) == 64
    assert (out >= 0).all() and (out < 1).all() and 0.3 < out.mean() < 0.7


def test_complex_numbers_flags_and_tuples() -> None:
    out = np.ones(4, np.complex64)
    with ptxlab.simulating(show=False):
        kernels.several[1, 4](out, 1 + 2j, True, (np.arange(4.0), 3))
    assert np.array_equal(out, 1 + 2j + np.arange(4) + 3)


def test_declared_signatures() -> None:
    """`cuda.jit` with types compiles at once; a call converts to the types that fit best."""
    out = np.zeros(2, np.float32)
    with ptxlab.simulating(show=False):
        one = cuda.jit("void(float32[:], float32)")(kernels.first.py_func)
        assert cuda.jit("float32(float32)", device=True)(lambda x: x + 1)
        two = cuda.jit(["void(float32[:], int32)", "void(float32[:], float64)"])(kernels.first.py_func)
        one[1, 1](out, 3)
        assert out[0] == 3 and ".f32" in next(iter(one.inspect_asm().values()))
        two[1, 1](out[1:], 2.5)
        assert out[1] == 2.5
        with pytest.raises(PtxlabError, match=r"first is declared for .*, found \(array"):
            one[1, 1](out, out)
    assert cuda.jit(kernels.first.py_func) is not one


def test_declared_signatures_of_device_functions() -> None:
    """A call of another function converts its arguments, too, and a kernel is what can be launched."""
    out = np.zeros(1, np.float64)
    with ptxlab.simulating(show=False):
        plus = cuda.jit("int32(int32, int32)", device=True)(kernels.plus)

        @cuda.jit
        def kernel(out: Any, x: float) -> None:
            out[0] = plus(x, x)

        kernel[1, 1](out, 1.75)
        assert out[0] == 2 and ".target sm_90" in plus.inspect_asm((numba.int32, numba.int32))
        with pytest.raises(PtxlabError, match="plus is a function of the device: call it from a kernel"):
            plus[1, 1](1, 2)


def test_records_arrays_without_axes_and_empty_tuples() -> None:
    records = np.zeros(2, np.dtype([("x", np.float32), ("n", np.int32)], align=True))
    single, out = np.array(0, np.int64), np.zeros(2, np.float32)
    with ptxlab.simulating(show=False):
        stream = cuda.stream()
        with stream.auto_synchronize():
            kernels.fill_record[1, 1, stream](records[1], single)
        kernels.with_empty_tuple[1, 1](out, ((),))
        assert cuda.get_current_device().WARP_SIZE == 32
        assert bool(cuda.to_device(out))
    assert records[1]["x"] == 1.5 and records[1]["n"] == 7 and not records[0]["n"]
    assert single == 9 and out[0] == 1


def test_functions_of_other_modules() -> None:
    """Arithmetic with float16 is CUDA C++ that Numba keeps, and grid.sync() is a library's."""
    x, y = np.arange(64).astype(np.float16), np.ones(64, np.float16)
    numbers, out = np.zeros(128, np.int32), np.zeros(128, np.int32)
    with ptxlab.simulating(show=False) as session:
        kernels.half_axpy[2, 32](x, y, np.float16(2))
        kernels.neighbours[4, 32](numbers, out)
        kernels.whole_grid[1, 1](numbers)
    assert np.array_equal(y, 2 * x + np.float16(1))
    assert np.array_equal(out, np.roll(np.arange(128), -32)) and numbers[0] == 1
    assert not any(launch.hazards for launch in session.results)


def test_reshape_of_an_array_in_a_kernel() -> None:
    """numba-cuda links CUDA C++ of its own for it."""
    pytest.importorskip("numba_cuda", reason="Numba's own CUDA target has no reshape in kernels")

    @cuda.jit
    def transposed(x: Any, out: Any) -> None:
        rows = x.reshape((2, 3))
        for i in range(2):
            for j in range(3):
                out[j, i] = rows[i, j]

    out = np.zeros((3, 2), np.int64)
    with ptxlab.simulating(show=False) as session:
        transposed[1, 1](np.arange(6), out)
    assert np.array_equal(out, np.arange(6).reshape(2, 3).T) and not session.results[0].hazards


@pytest.mark.filterwarnings("ignore:Grid size 1 will likely")
def test_hazards_name_lines_of_the_python_source() -> None:
    configured = kernels.reverse[1, 64]  # before the session
    with ptxlab.simulating(show=False) as session:
        configured(np.arange(64, dtype=np.int32))
    (race,) = session.results[0].hazards
    assert (race.kind, race.line, race.other_line) == ("race", _line("read"), _line("written"))
    assert race.text == _TEXT[_line("read") - 1].strip() and "put cuda.syncthreads() between" in race.remedy


def test_patches_are_removed_after_an_error() -> None:
    from numba.cuda.dispatcher import CUDADispatcher, ForAll

    before = CUDADispatcher.call, ForAll.__call__
    with pytest.raises(PtxlabError, match="without a barrier"), ptxlab.simulating(show=False, check="error"):
        kernels.reverse[1, 64](np.arange(64, dtype=np.int32))
    assert (CUDADispatcher.call, ForAll.__call__) == before


def test_dispatchers_with_and_without_a_signature(arrays: tuple[Any, Any, Any]) -> None:
    x, y, out = arrays
    for kernel in (ptxlab.kernel(kernels.add, _SIGNATURE), ptxlab.kernel(kernels.add)):
        out[:] = 0
        result = kernel.simulate(8, 128, x, y, out, np.float32(2), show=False)
        assert np.array_equal(out, x + np.float32(2) * y) and not result.hazards
    assert repr(kernel) == "<Numba's kernel add>"
    with pytest.raises(PtxlabError, match=r"name='void\(floa\)': a kernel of Numba takes a signature"):
        ptxlab.kernel(kernels.add, "void(floa)")
    with pytest.raises(PtxlabError, match="add takes 4 arguments, found 1"):
        ptxlab.kernel(kernels.add, _SIGNATURE).simulate(1, 32, x)


_RAISES = {"debug": True, "opt": False}  # Numba checks what kernels raise in this mode only


def test_kernels_of_debug_mode_raise() -> None:
    """What a kernel raises comes with the thread, and threads that raise nothing go on."""
    refuse = cuda.jit(kernels.refuse_negative, **_RAISES)
    values = np.arange(64) - 8
    with ptxlab.simulating(show=False) as session:
        refuse[2, 32](np.ones(64))
        assert not session.results[0].hazards
        with pytest.raises(
            ValueError, match=r"tid=\[0, 0, [0-7]\] ctaid=\[0, 0, 0\]: a negative number"
        ) as caught:
            refuse[2, 32](values)
        refuse[2, 32](np.ones(64, np.int64))  # the next launch starts afresh
    assert f"In function 'refuse_negative', file {kernels.__file__}, line {_line('raised')}, " in str(
        caught.value
    )
    with pytest.raises(ValueError, match="a negative number"):
        ptxlab.kernel(refuse).simulate(2, 32, values, show=False)
    with ptxlab.simulating(show=False):
        cuda.jit(kernels.refuse_negative)[2, 32](values)  # without debug=True, as on a GPU


def test_kernels_of_debug_mode_raise_in_functions_of_the_device() -> None:
    """Numba loses what functions raise, on a GPU as here (numba#8036), but not the thread."""
    check = cuda.jit(kernels.checked, device=True, **_RAISES)

    @cuda.jit(**_RAISES)
    def kernel(x: Any) -> None:
        i = cuda.grid(1)
        x[i] = check(x, i)

    sentence = r"tid=\[0, 0, 4\] ctaid=\[0, 0, 1\]: unknown error"
    with ptxlab.simulating(show=False), pytest.raises(SystemError, match=sentence):
        kernel[2, 5](np.zeros(9))


class _Doubled:
    """An extension that passes twice what it is given, and wants to hear of the end of the launch."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def prepare_args(self, ty: Any, val: Any, stream: object, retr: list[Any]) -> tuple[Any, Any]:
        """As Numba calls it, also for each item of a tuple."""
        if not isinstance(val, float):
            return ty, val
        self.heard.append(f"{ty} {val}")
        retr.append(lambda: self.heard.append("done"))
        return ty, 2 * val


class _AsInput:
    """An extension whose arrays do not come back, as one of Numba's tests has it."""

    def prepare_args(self, ty: Any, val: Any, **_: object) -> tuple[Any, Any]:
        """Arrays are copied to the device only."""
        return ty, cuda.In(val) if isinstance(val, np.ndarray) else val


def test_extensions_prepare_arguments() -> None:
    doubled, out = _Doubled(), np.zeros(1)
    with ptxlab.simulating(show=False):
        cuda.jit(kernels.first.py_func, extensions=[doubled])[1, 1](out, 3.5)
        assert out[0] == 7 and doubled.heard == ["float64 3.5", "done"]
        cuda.jit(kernels.first.py_func, extensions=[_AsInput()])[1, 1](out, 1.0)
        assert out[0] == 7
        items = np.ones(1, np.complex64), 1j, True, (np.zeros(1), 2.5)
        cuda.jit(kernels.several.py_func, extensions=[doubled])[1, 1](*items)
    assert items[0][0] == 1j + 5


def test_overloads_have_what_grid_sync_asks_for() -> None:
    """As Numba's documentation has it: a grid that waits for itself must fit on the chip."""
    signature = (numba.int32[::1], numba.int32[::1])
    with ptxlab.simulating(show=False):
        kernel = cuda.jit(signature)(kernels.neighbours.py_func)
        overload = kernel.overloads[signature]
        try:
            fits = overload.max_cooperative_grid_blocks(1024)
        except PtxlabError as error:
            pytest.skip(str(error))
        assert fits == overload.max_cooperative_grid_blocks((32, 32)) == 2 * 132
        assert overload.max_cooperative_grid_blocks(32) == 32 * 132
        assert overload.max_cooperative_grid_blocks(32, 40 << 10) == 5 * 132
        kernels.neighbours[1, 32](*np.zeros((2, 32), np.int32))
        assert list(kernels.neighbours.overloads) == [signature]
    assert not kernel.overloads


_CUDA = """
extern "C" __device__ int plus_three(int* result, int x) { *result = x + 3; return 0; }
"""


@pytest.mark.parametrize("suffix", ["cu", "ptx"])
def test_files_that_are_linked(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"plus.{suffix}"
    path.write_text(_CUDA if suffix == "cu" else _ptx_of(_CUDA))
    plus_three = cuda.declare_device("plus_three", "int32(int32)")

    @cuda.jit(link=[str(path)])
    def kernel(x: Any) -> None:
        x[cuda.grid(1)] = plus_three(x[cuda.grid(1)])

    x = np.arange(32, dtype=np.int32)
    with ptxlab.simulating(show=False):
        kernel[1, 32](x)
    assert np.array_equal(x, np.arange(32) + 3)


def _ptx_of(source: str) -> str:
    from ptxlab.gpu.compiler import compile_ptx

    return compile_ptx(source, "sm_90", ["--relocatable-device-code=true"])[0]


def test_machine_code_is_not_linked(tmp_path: Path) -> None:
    path = tmp_path / "plus.cubin"
    path.write_bytes(b"ELF")
    kernel = cuda.jit(kernels.first.py_func, link=[str(path)])
    with (
        ptxlab.simulating(show=False),
        pytest.raises(PtxlabError, match=r"link: found 'plus\.cubin'; simulated"),
    ):
        kernel[1, 1](np.zeros(1), 1.0)


def test_declared_functions_bring_what_they_are_linked_with() -> None:
    pytest.importorskip("numba_cuda", reason="Numba's own CUDA target links files only")
    plus_three = cuda.declare_device("plus_three", "int32(int32)", link=cuda.CUSource(_CUDA))
    also = cuda.declare_device(
        "also", "int32(int32)", link=cuda.PTXSource(_ptx_of(replaced(_CUDA, "plus_three", "also")))
    )

    @cuda.jit
    def kernel(x: Any) -> None:
        x[cuda.grid(1)] = plus_three(also(x[cuda.grid(1)]))

    x = np.arange(32, dtype=np.int32)
    with ptxlab.simulating(show=False):
        kernel[1, 32](x)
    assert np.array_equal(x, np.arange(32) + 6)

    refused = cuda.declare_device(
        "plus_three", "int32(int32)", link=cuda.CUSource(_CUDA, setup_callback=print)
    )

    @cuda.jit
    def other(x: Any) -> None:
        x[0] = refused(x[0])

    with ptxlab.simulating(show=False), pytest.raises(PtxlabError, match="has a setup_callback"):
        other[1, 1](x)
