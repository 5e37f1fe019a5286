"""Arrays on the GPU: what is taken and refused without a GPU, and CuPy and torch where there is one."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, inputs
from ptxlab.gpu import arrays
from ptxlab.gpu.arrays import as_gpu_array, gpu_arrays, stream_handle
from ptxlab.gpu.codegen import product
from tests.cases import refuses
from tests.texts import replaced

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"


class OnGpu:
    """What Numba shows of an array."""

    def __init__(self, shape: tuple[int, ...] = (32, 4), typestr: str = "<u4", **fields: object) -> None:
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (1 << 33, False),
            "strides": None,
            "version": 3,
        } | fields


# -- without a GPU ---------------------------------------------------------------------------------------


def test_how_an_array_lies() -> None:
    array = as_gpu_array(OnGpu((2, 32, 4), stream=7))
    assert array is not None
    assert (array.shape, array.strides, array.pointer) == ((2, 32, 4), (512, 16, 4), 1 << 33)
    assert (array.type_name, array.library, array.producer, array.contiguous) == ("uint32", "other", 7, True)
    for strides, contiguous in (((4, 8), False), ((16, 4), True)):
        array = as_gpu_array(OnGpu((2, 4), strides=strides))
        assert array is not None and array.contiguous is contiguous
    for host in (np.zeros(3), [1, 2], 3, "a", None, object()):
        assert as_gpu_array(host) is None


def test_arrays_of_one_call() -> None:
    assert gpu_arrays({"A": np.zeros(3), "B": None}) is None
    with pytest.raises(PtxlabError, match="B is a NumPy array and A an array of another library on the GPU"):
        gpu_arrays({"A": OnGpu(), "B": np.zeros(3)})
    refuses("b is on the host .list. and a an array", ptxlab.instruction(F16).run, OnGpu(), [[1]], OnGpu())
    refuses("stream=0: it is for arrays on the GPU", gpu_arrays, {"A": np.zeros(3)}, stream=0)


def test_streams_of_other_libraries_are_understood() -> None:
    class Torch:
        cuda_stream = 5

    class CuPy:
        ptr = 6

    class Core:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 7

    assert [stream_handle(stream) for stream in (4, Torch(), CuPy(), Core())] == [4, 5, 6, 7]
    for wrong in ("fast", -1, np.zeros(3), True):
        refuses("^stream=", stream_handle, wrong)


def test_copies_of_arrays_with_gaps() -> None:
    """The kernel that copies them, simulated."""
    size = 2
    values = np.arange(3 * 5 * 8 * 4, dtype=f"u{size}").reshape(3, 5, 8, 4)
    for view in (values[:, ::2, 1:, ::2], np.broadcast_to(values[0, :, None, ::-1, 3], (2, 5, 3, 8))):
        start = view.__array_interface__["data"][0] - values.ctypes.data
        lengths, steps = arrays._merged(view.shape, view.strides)
        missing = arrays._MAX_AXES - len(lengths)
        axes = np.array([(1,) * missing + lengths, (0,) * missing + steps], dtype=np.int64)
        source = arrays._GATHER.format(axes=arrays._MAX_AXES, word=arrays._WORDS[size])
        source = source.replace("from + at", f"from + {start} + at")
        out = np.zeros(view.size, values.dtype)
        ptxlab.kernel(source).simulate(2, 32, values, out, axes.tobytes(), out.size, check=False)
        np.testing.assert_array_equal(out, view.reshape(-1))


PRODUCTS = [
    "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16",
]


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_kernel_of_whole_products(name: str) -> None:
    """Simulated, with B in columns, it gives what `matmul` gives."""
    ins = ptxlab.instruction(name)
    rng = np.random.default_rng(1)
    rows, columns, depth = ins.m + 3, 11, 2 * ins.k + 1
    shapes = {"a": (rows, depth), "b": (depth, columns), "c": (rows, columns)}
    values = {
        key: rng.normal(size=shape) if ins.inputs[key].dtype.is_float else rng.integers(-8, 8, shape)
        for key, shape in shapes.items()
    }
    codes = {
        key: np.float32(array).view(np.uint32)  # which the kernel rounds
        if ins.inputs[key].dtype.name == "tf32"
        else ins.inputs[key].dtype.encode(array)
        for key, array in values.items()
    }
    words = [product._word(ins.operands[key]) for key in "ABCD"]
    head = 'extern "C" __global__ void __launch_bounds__(128)'
    source = replaced(product.product_source(ins), head, "void")
    source += (
        f'extern "C" __global__ void go({words[0]}* a, {words[1]}* b, {words[2]}* c, {words[3]}* d, '
        f"int m, int n, int k) {{ {product.PRODUCT}(Matrix<{words[0]}>{{a, k, 1, m, k}}, "
        f"Matrix<{words[1]}>{{b, 1, k, k, n}}, Matrix<{words[2]}>{{c, n, 1, m, n}}, d); }}"
    )
    d = np.zeros((rows, columns), dtype=ins.d.dtype.code_type)
    given = [codes["a"], np.ascontiguousarray(codes["b"].T), codes["c"], d, rows, columns, depth]
    ptxlab.kernel(source, "go").simulate(2, 128, *given, check=False)
    right = ptxlab.matmul(values["a"], values["b"], values["c"], ins)
    np.testing.assert_array_equal(d, ins.d.dtype.encode(right))


def test_matrices_on_the_gpu_and_the_emulator() -> None:
    with pytest.raises(PtxlabError, match="C is a NumPy array and A an array of another library"):
        ptxlab.matmul(OnGpu(), OnGpu(), np.zeros((32, 4)), F16)


# -- with a GPU ------------------------------------------------------------------------------------------


@pytest.fixture(params=["cupy", "torch"])
def library(request: pytest.FixtureRequest) -> Any:
    """A library with arrays on the GPU."""
    return pytest.importorskip(request.param)


def put(library: Any, array: np.ndarray) -> Any:
    """The same bits on the GPU; torch has more for int32."""
    if library.__name__ == "cupy":
        return library.asarray(array)
    signed = array.view(array.dtype.name.removeprefix("u")) if array.dtype.kind == "u" else array
    return library.from_numpy(np.ascontiguousarray(signed)).cuda()


def get(array: Any) -> np.ndarray:
    return array.get() if hasattr(array, "get") else array.cpu().numpy()


@pytest.mark.gpu
@pytest.mark.parametrize("name", [F16, SPARSE, WGMMA])
def test_registers_on_the_gpu(library: Any, name: str) -> None:
    ins = ptxlab.instruction(name)
    operands = inputs.make(ins, "bits", count=300)
    given = {key: getattr(operands, key) for key in ins.inputs}
    d = ins.run(**{key: put(library, array) for key, array in given.items()})
    assert type(d).__module__.split(".")[0] == library.__name__
    assert d.dtype == (library.uint32 if library.__name__ == "cupy" else library.int32)
    np.testing.assert_array_equal(get(d).view(np.uint32), ins.run(**given))


@pytest.mark.gpu
def test_batches_broadcast_and_gaps_are_copied(library: Any) -> None:
    ins = ptxlab.instruction(F16)
    operands = inputs.make(ins, "bits", count=12)
    a, b, c = operands.a.reshape(3, 4, 32, 4), operands.b[:4], operands.c[0]
    wide = put(library, np.repeat(a, 2, axis=-1))[..., ::2]
    d = ins.run(wide, put(library, b), put(library, c))
    np.testing.assert_array_equal(get(d).view(np.uint32), ins.run(a, b, c))


@pytest.mark.gpu
def test_what_does_not_fit(library: Any) -> None:
    ins = ptxlab.instruction(F16)
    a, b, c = (put(library, np.zeros((32, n), np.uint32)) for n in (4, 2, 4))
    refuses("B: found registers of shape .32, 4.; it takes", ins.run, a, c, c)
    with pytest.raises(PtxlabError, match="A: found float32; it takes uint32, int32"):
        ins.run(put(library, np.zeros((32, 4), np.float32)), b, c)
    refuses("b is a NumPy array and a an array of", ins.run, a, np.zeros((32, 2), np.uint32), c)
    refuses("c is missing|e: mma", ins.run, a, b, c, a)


MATRICES = [  # an instruction, torch's types of A and B, of C and D
    (F16, "float16", "float32"),
    ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "float16", "float16"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "bfloat16", "float32"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "float32", "float32"),
    ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "int8", "int32"),
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "int8", "int32"),
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "float64", "float64"),
    ("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", "float8_e4m3fn", "float32"),
    ("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", "bfloat16", "float32"),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "kind", "sums"), MATRICES)
def test_matrices_on_the_gpu(library: Any, name: str, kind: str, sums: str) -> None:
    if library.__name__ == "cupy" and not hasattr(np, kind):
        pytest.skip(f"CuPy has no {kind}")
    ins = ptxlab.instruction(name)
    rng = np.random.default_rng(7)
    integer = "int" in kind
    shapes = ((100, 77), (50, 77), (100, 50))
    A, B, C = (rng.integers(-8, 8, shape) if integer else rng.normal(size=shape) for shape in shapes)
    if library.__name__ == "torch":
        a, b = (library.from_numpy(matrix).to(getattr(library, kind)).cuda() for matrix in (A, B))
        c = library.from_numpy(C).to(getattr(library, sums)).cuda()
        A, B, C = (matrix.double().cpu().numpy() for matrix in (a, b, c))
    else:
        a, b, c = library.asarray(A, kind), library.asarray(B, kind), library.asarray(C, sums)
        A, B, C = a.get(), b.get(), c.get()
    for start, host in ((c, C), (None, None)):
        D = ptxlab.matmul(a, b.T, start, ins, on="gpu")
        assert type(D) is type(a) and D.dtype == getattr(library, sums)
        right = ptxlab.matmul(A, B.T, host, ins)
        np.testing.assert_array_equal(get(D).view(f"u{right.itemsize}"), right.view(f"u{right.itemsize}"))


@pytest.mark.gpu
def test_one_instruction_on_matrices(library: Any) -> None:
    ins = ptxlab.instruction(F16)
    A, B = np.ones((16, 16), np.float16), np.arange(128, dtype=np.float16).reshape(16, 8)
    np.testing.assert_array_equal(get(ins(put(library, A), put(library, B), on="gpu")), ins(A, B))
    with pytest.raises(PtxlabError, match="B: found shape .16, 16.; mma.* takes .16, 8., and ptxlab.matmul"):
        ins(put(library, A), put(library, A), on="gpu")


@pytest.mark.gpu
def test_matrices_that_do_not_fit(library: Any) -> None:
    a = put(library, np.zeros((16, 16), np.float32))
    with pytest.raises(PtxlabError, match="A: found float32; f16 takes float16, since nothing is converted"):
        ptxlab.matmul(a, a, None, F16, on="gpu")
    half = put(library, np.zeros((16, 16), np.float16))
    refuses("A 16x16 and B 15x16", ptxlab.matmul, half, half[:15], None, F16, on="gpu")
    refuses("the arrays are on the GPU: pass on='gpu'", ptxlab.matmul, half, half, None, F16)
    if library.__name__ == "cupy":
        with pytest.raises(PtxlabError, match=r"CuPy lacks it, and torch.from_dlpack.A..view"):
            ptxlab.matmul(a, a, None, MATRICES[2][0], on="gpu")


TWICE = """\
extern "C" __global__ void twice(float* x, long long wait)
{
    const long long start = clock64();
    while (clock64() - start < wait) {}
    x[blockIdx.x * blockDim.x + threadIdx.x] *= 2;
}
"""


@pytest.mark.gpu
def test_a_launch_is_queued_on_the_current_stream(library: Any) -> None:
    """Nothing waits, and what comes after on the same stream sees the result."""
    kernel = ptxlab.kernel(TWICE)
    x = put(library, np.ones(1024, np.float32))
    kernel.launch(32, 32, x, 0)  # compiled and loaded
    stream = library.cuda.Stream() if library.__name__ == "torch" else library.cuda.Stream(non_blocking=True)
    context = library.cuda.stream(stream) if library.__name__ == "torch" else stream
    (library.cuda.synchronize if library.__name__ == "torch" else library.cuda.Device().synchronize)()
    with context:
        kernel.launch(32, 32, x, 200_000_000)  # a tenth of a second
        done = stream.query() if library.__name__ == "torch" else stream.done
        y = x + 1
    assert not done
    stream.synchronize()
    assert (get(y) == 5).all()
    kernel.launch(32, 32, x, 0, stream=stream)
    stream.synchronize()
    assert (get(x) == 8).all()


@pytest.mark.gpu
def test_launches_with_arrays_of_two_places() -> None:
    torch = pytest.importorskip("torch")
    kernel = ptxlab.kernel(
        'extern "C" __global__ void add(int* x, const int* y) { x[threadIdx.x] += y[threadIdx.x]; }'
    )
    x, y = np.arange(32, dtype=np.int32), torch.arange(32, dtype=torch.int32, device="cuda")
    kernel.launch(1, 32, x, y)
    assert (x == 2 * np.arange(32)).all()
    with torch.cuda.stream(torch.cuda.Stream()):  # NumPy's arrays go there and come back on it as well
        kernel.launch(1, 32, x, y)
    assert (x == 3 * np.arange(32)).all()
    tensor = torch.arange(64 * 64, dtype=torch.int32, device="cuda").reshape(64, 64)
    assert ptxlab.tensor_map(tensor, (8, 32), 128).pointer == tensor.data_ptr()
    with pytest.raises(PtxlabError, match="argument 1 of add: found an array on the GPU that is not contig"):
        kernel.launch(1, 32, torch.zeros(32, 2, dtype=torch.int32, device="cuda")[:, 0], y)
    with pytest.raises(PtxlabError, match="argument 1: found a torch tensor that requires a gradient"):
        kernel.launch(1, 32, torch.zeros(32, device="cuda", requires_grad=True), y)


@pytest.mark.gpu
def test_whatever_speaks_dlpack() -> None:
    """Results for other libraries are read by all."""
    torch, cupy = pytest.importorskip("torch"), pytest.importorskip("cupy")

    class Exchanged:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __dlpack__(self, **options: Any) -> Any:
            return self.tensor.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.tensor.__dlpack_device__()

    ins = ptxlab.instruction(F16)
    operands = inputs.make(ins, "bits", count=9)
    right = ins.run(operands.a, operands.b, operands.c)
    d = ins.run(*(Exchanged(put(torch, array)) for array in (operands.a, operands.b, operands.c)))
    assert isinstance(d, arrays.ResultArray)
    np.testing.assert_array_equal(cupy.asarray(d).get().view(np.uint32), right)
    tensor = torch.from_dlpack(d)
    del d
    gc.collect()
    np.testing.assert_array_equal(tensor.cpu().numpy().view(np.uint32), right)
