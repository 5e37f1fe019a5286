"""Products with a sparse A: it is pruned and compressed, and kernels of mma.sp and wgmma.sp multiply it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._util.arguments import as_flag, as_int, check_room, is_name
from ...errors import PtxlabError, counted, listing, quoted
from ...gpu.arrays import GpuArray, GpuArrays, as_gpu_array, gpu_arrays
from ...gpu.compiler import compile_kernel
from ...gpu.cuda_python import check, load
from ...gpu.device import check_device, device_target, processors
from ...gpu.tensor_maps import encode_tensor_map
from ...isa.dtypes import DType, dtype
from ...isa.mma import MmaForm
from ...isa.parse import parse_mma, parse_product
from ...isa.product_form import ProductForm
from ...isa.sparsity import Structure
from ...isa.targets import check_target, chip_of_target
from ...memory import pack_metadata, tensor_map, unpack_metadata
from ...numerics import has, model_for
from ..device_operands import check_elements, element_types
from ..kernel import Kernel, kernel
from ..simulator import Result
from .call import (
    CHUNK,
    H200_PROCESSORS,
    MOST_SHARED,
    STORE,
    Call,
    as_matrix,
    element_bytes,
    padded_rows,
    product_array,
    start_codes,
)
from .catalog import Row
from .device import Rows, lies_by_rows, operand_map, pack, packed_rows
from .source import RESULTS, compose, source_files

__all__ = [
    "SPARSE",
    "CompressedMatrix",
    "SparseRung",
    "best_sparse_rung",
    "check_compressed",
    "compress",
    "compress_arrays",
    "compress_kernel",
    "has_kernel",
    "multiply_compressed",
    "prune",
    "sparse_rung",
]

_WORD_CHUNKS = 16  # chunks of each of 64 rows that the words of 128 lanes tell of
_WORD_ROWS = 64
_LANES = 128
_A_STEP, _B_STEP = 32, 64  # bytes of a stored row of A and of a column of B that every instruction takes
_CODES = {8: "unsigned char", 16: "unsigned short", 32: "unsigned int"}
#: Types whose matrices the GPU compresses: their elements are what arrays hold; tf32 is rounded from float32.
_ELEMENTS = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8")

#: The sparse kernels; numbers are those of the dense rungs that they grew from.
SPARSE: tuple[Row, ...] = (
    Row(
        5,
        "mma.sp",
        "metadata travels with the tiles that cp.async copies",
        "sparse_mma.cu",
        "mma.sp",
        MappingProxyType({"BLOCK_M": 128, "BLOCK_N": 128, "WARPS_M": 2, "WARPS_N": 2, "STAGES": 2}),
    ),
    Row(
        8,
        "wgmma.sp",
        "sparse tensor cores eat B twice as fast: large tiles, and clusters that share B, feed them",
        "sparse_wgmma.cu",
        "wgmma.sp",
        MappingProxyType(
            {
                "BLOCK_M": 256,
                "BLOCK_N": 192,
                "TILES_M": 2,
                "STEPS": 2,
                "STAGES": 4,
                "CLUSTER": 2,
                "GROUP": 8,
                "B_BY_ROWS": 0,
                "PRODUCER_REGISTERS": 40,
                "CONSUMER_REGISTERS": 232,
            }
        ),
        tensor_maps=True,
        persistent=True,
    ),
)


# -- the matrix ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CompressedMatrix:
    """A sparse matrix as the kernels read it; `compress` makes one, and `matmul` takes it for A many times.

    `stored` is its kept half, row-major, [M, K / 2], with K rounded up to 16 chunks. `metadata` says where
    the kept elements stood: int32 [M / 64, chunks / 16, 128], in the order of `ptxlab.memory.pack_metadata`.
    Both are NumPy arrays, or on the GPU, of the library that A came from. `shape` is that of A.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wgmma.mma_async.sp.sync.aligned.m64n256k32.f32.f16.f16")
    >>> A = ptxlab.compress(ptxlab.prune(np.eye(128), ins), ins)
    >>> A.stored.shape, A.metadata.shape, A.nbytes   # dense, it has 32768 bytes
    ((128, 64), (2, 2, 128), 18432)
    """

    stored: Any = field(repr=False)
    metadata: Any = field(repr=False)
    shape: tuple[int, int]
    form: MmaForm  # an instruction that takes it; others with the same type of A do too

    @property
    def on_gpu(self) -> bool:
        """Whether its arrays are in the memory of a GPU."""
        return not isinstance(self.stored, np.ndarray)

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays: 9/16 of a dense matrix of 16-bit elements, 5/8 of one of 8-bit elements.

        Elements of fewer bits take a byte each, as in every NumPy array.
        """
        rows, words, stored = _sizes(self.form, *self.shape)
        return self.shape[0] * stored * _element_bytes(self.form) + rows * words * _LANES * 4

    def dense(self) -> NDArray[Any]:
        """The matrix with its zeros, as values.

        >>> compress([[0, 5, 0, 7]], "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32").dense()
        array([[0., 5., 0., 7.]], dtype=float16)
        """
        if self.on_gpu:
            raise PtxlabError(
                "dense: this matrix is on the GPU; copy stored and metadata to NumPy arrays, and make a "
                "CompressedMatrix of them"
            )
        element = self.form.a.dtype
        codes = np.ascontiguousarray(self.stored).view(element.code_type)
        nibbles = unpack_metadata(self.form, self.metadata)[: len(codes)]
        values = element.decode(_structure(self.form).expand(codes, nibbles))
        return np.ascontiguousarray(np.asarray(values)[:, : self.shape[1]])


def compress(A: Any, instruction: MmaForm | str, *, stream: object = None) -> CompressedMatrix:
    """Compress a matrix [M, K] that has the structure of a sparse instruction, once for many products.

    An A on the GPU (CuPy's, torch's, any with DLPack or `__cuda_array_interface__`) is compressed there and
    stays there; its elements are of the instruction's type, 8 bits or more. Too many non-zeros in a chunk are
    an error that says where; `prune` makes the nearest matrix without. ::

        weights = ptxlab.compress(ptxlab.prune(W, ins), ins)
        D = ptxlab.matmul(weights, B, instruction=ins, on="gpu")

    >>> A = compress([[0, 5, 0, 7]], "wgmma.mma_async.sp.sync.aligned.m64n256k64.s32.s8.s8")
    >>> A.stored[0, :2], f"{A.metadata[0, 0, 0] & 15:04b}"   # columns 1 and 3
    (array([5, 7], dtype=int8), '1101')
    """
    form = parse_mma(instruction)
    structure = _structure(form)
    call = gpu_arrays({"A": A}, stream)
    if call is not None:
        with call:
            return compress_arrays(form, call)
    matrix = as_matrix(A, "A")
    element = form.a.dtype
    codes = np.asarray(element.encode(matrix))
    rows, words, stored_columns = _sizes(form, *matrix.shape)
    check_room(len(codes) * stored_columns * 2, "A")
    padded = np.pad(codes, ((0, 0), (0, 2 * stored_columns - codes.shape[1])))
    stored, nibbles = structure.compress(padded, zero=(padded & element.code_type(_magnitude(element))) == 0)
    metadata = pack_metadata(form, nibbles).reshape(rows, words, _LANES)
    return CompressedMatrix(
        stored.view(element.numpy_type or element.code_type), metadata, _shape(matrix.shape), form
    )


def prune(A: Any, instruction: ProductForm | str, *, stream: object = None) -> Any:
    """The nearest matrix with the structure of a sparse instruction: of each chunk the largest stay.

    A is [M, K], K a multiple of a chunk; one on the GPU is pruned there. Of equals the first stay.

    >>> prune([[1, -5, 2, 7, 3, 3, 3, 3]], "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8")
    array([[ 0, -5,  0,  7,  3,  3,  0,  0]])
    """
    form = parse_product(instruction)
    structure = _structure(form)
    call = gpu_arrays({"A": A}, stream)
    if call is None:
        return structure.prune(as_matrix(A, "A"))
    with call:
        array = _gpu_matrix(form, call)
        if array.shape[1] % structure.chunk:
            raise PtxlabError(
                f"A of shape {array.shape}: {structure.name} sparsity needs columns a multiple of "
                f"{structure.chunk}"
            )
        element = form.a.dtype
        pruned = call.empty(array.shape, array.type_name)
        count = array.size // structure.chunk
        if count:
            arguments = [call.contiguous(array), pruned, np.int64(count)]
            arguments += [np.int32(_kind(element)), np.uint32(_infinity(element))]
            _launch(call, "prune", element, arguments, (-(-count // 256), 1, 1), 256)
        return pruned.owner


def compress_arrays(form: MmaForm, call: GpuArrays) -> CompressedMatrix:
    """The array A of a call, compressed on the GPU; this waits for the kernel, which may find violations."""
    array = _gpu_matrix(form, call)
    m, k = array.shape
    element, structure = form.a.dtype, _structure(form)
    rows, words, stored_columns = _sizes(form, m, k)
    if array.strides[1] != array.itemsize or array.strides[0] % array.itemsize:
        array = call.contiguous(array)
    source = Rows(array.pointer, m, k * array.itemsize, array.strides[0])
    if element.name == "tf32" and array.size:
        source = packed_rows(call, form.a, array.pointer, array.shape, array.strides, gaps=True)
    type_name = array.type_name
    if call.library == "other" and not hasattr(np, type_name):  # which only knows NumPy's own types
        type_name = f"uint{element.bits}"
    stored = call.empty((m, stored_columns), type_name)
    metadata = call.empty((rows, words, _LANES), "int32")
    if array.size:
        with _Violations(call) as violations:
            arguments: list[Any] = [np.uint64(source.pointer), np.int32(m), np.int32(k)]
            arguments += [np.int64(source.pitch // array.itemsize)]
            arguments += [np.uint32(_magnitude(element)), stored, metadata, np.uint64(violations.pointer)]
            _launch(call, "compress", element, arguments, (words, rows, 1), _LANES)
            violations.check(structure, k)
    return CompressedMatrix(stored.owner, metadata.owner, (m, k), form)


def compress_kernel(bits: int) -> Kernel[Result]:
    """The kernel that compresses matrices of such elements, to be simulated.

    >>> compress_kernel(16)
    <kernel compress<unsigned short>(u64, u32, u32, u64, u32, u64, u64, u64) for sm_80>
    """
    if bits not in _CODES:
        raise PtxlabError(f"bits={quoted(bits)}: elements of {listing(_CODES)} bits can be compressed")
    return kernel(source_files()["compress.cu"], f"compress<{_CODES[bits]}>", "sm_80")


class _Violations:
    """Two numbers on the GPU: the first chunk with too many non-zeros, and how many there are."""

    def __init__(self, call: GpuArrays) -> None:
        self._call = call
        self._driver = load("cuda.bindings.driver")
        self._stream = self._driver.CUstream(call.stream)
        self.pointer = call.scratch(16)

    def __enter__(self) -> _Violations:
        for offset, value in ((0, 0xFF), (8, 0)):
            place = self._driver.CUdeviceptr(self.pointer + offset)
            check(self._driver.cuMemsetD8Async(place, value, 8, self._stream), "preparing a compression")
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def check(self, structure: Structure, columns: int) -> None:
        """Wait for the kernel, and refuse a matrix without the structure in the words of the host's check."""
        numbers = np.zeros(2, dtype=np.uint64)
        place = self._driver.CUdeviceptr(self.pointer)
        check(
            self._driver.cuMemcpyDtoHAsync(numbers.ctypes.data, place, 16, self._stream),
            "reading what a compression found",
        )
        check(self._driver.cuStreamSynchronize(self._stream), "compressing a matrix")
        count = int(numbers[1])
        if count:
            raise PtxlabError(violation_sentence(structure, columns, int(numbers[0]), count))


def violation_sentence(structure: Structure, columns: int, first: int, count: int) -> str:
    """What the two numbers of the kernel say, as `Structure.compress` does.

    >>> from ptxlab.isa.sparsity import STRUCTURES
    >>> violation_sentence(STRUCTURES["2:4"], 8, (2 * 3 + 1) << 3 | 4, 2)
    'row 3, columns 4..7: 4 of the 4 values are non-zero; 2:4 sparsity keeps at most 2 (and 1 more chunk)'
    """
    row, chunk = divmod(first >> 3, -(-columns // structure.chunk))
    start = chunk * structure.chunk
    more = f" (and {counted(count - 1, 'more chunk')})" if count > 1 else ""
    return (
        f"row {row}, columns {start}..{start + structure.chunk - 1}: {first & 7} of the {structure.groups} "
        f"values are non-zero; {structure.title} sparsity keeps at most {structure.keep}{more}"
    )


def _launch(
    call: GpuArrays, name: str, element: DType, arguments: list[Any], grid: tuple[int, int, int], block: int
) -> None:
    """A template of compress.cu, for elements of this size."""
    code, lowered = _compiled(f"{name}<{_CODES[element.bits]}>", device_target())
    call.launch(code, lowered, arguments, grid=grid, block=block)


@lru_cache(maxsize=32)
def _compiled(name: str, target: str) -> tuple[bytes, str]:
    code, lowered = compile_kernel(source_files()["compress.cu"], target, (), name)
    return code, lowered or name


def _structure(form: ProductForm) -> Structure:
    if form.structure is None:
        raise PtxlabError(f"{form.mnemonic} is dense: its A is not compressed; sparse forms are spelt .sp")
    return form.structure


def _sizes(form: MmaForm, m: int, k: int) -> tuple[int, int, int]:
    """Blocks of 64 rows, words of metadata along K, and stored columns of a matrix."""
    structure = _structure(form)
    words = -(-k // (_WORD_CHUNKS * structure.chunk))
    return -(-m // _WORD_ROWS), words, words * _WORD_CHUNKS * structure.chunk // 2


def _element_bytes(form: MmaForm) -> int:
    return np.dtype(form.a.dtype.code_type).itemsize


def _magnitude(element: DType) -> int:
    """The bits that are set in some non-zero element: not the sign of a float, nor what is ignored of it."""
    every = (1 << element.bits) - 1
    if not element.is_float:
        return every
    return every >> 1 & ~((1 << element.ignored_bits) - 1)


def _kind(element: DType) -> int:
    """As compress.cu numbers them: floats, signed integers, unsigned ones."""
    if element.is_float:
        return 0
    return 1 if element.signed else 2


def _infinity(element: DType) -> int:
    """The code above which magnitudes are NaN; e4m3 has one NaN, which is the largest code anyway."""
    if not element.is_float or element.name == "e4m3":
        return (1 << element.bits - 1) - 1
    return ((1 << element.exponent_bits) - 1) << element.fraction_bits + element.ignored_bits


def _shape(shape: tuple[int, ...]) -> tuple[int, int]:
    return shape[0], shape[1]


def _gpu_matrix(form: ProductForm, call: GpuArrays) -> GpuArray:
    array, element = call.arrays["A"], form.a.dtype
    if len(array.shape) != 2:
        raise PtxlabError(f"A: found shape {array.shape}; it takes a matrix [rows, columns]")
    if element.name not in _ELEMENTS:
        raise PtxlabError(
            f"{form.mnemonic}: on the GPU, matrices of {listing(_ELEMENTS)} are pruned and compressed; "
            f"pass A of {element} as a NumPy array"
        )
    right = element_types(form.a)
    if array.type_name != right:
        raise PtxlabError(
            f"A: found {array.type_name}; {element} takes {right}, since nothing is converted on the GPU"
        )
    return array


# -- the kernels ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SparseRung:
    """A sparse kernel with an instruction; `sparse_rung` makes one.

    >>> r = sparse_rung("wgmma.mma_async.sp.sync.aligned.m64n256k32.f32.f16.f16")
    >>> r.form.shape, r.threads, r.shared
    ('m64n192k32', 384, 204864)
    """

    row: Row
    form: MmaForm
    constants: dict[str, int]
    result: str

    @cached_property
    def source(self) -> str:
        """The whole CUDA C++, headers included."""
        return compose(self.row.file, self.form, self.constants, self.result)

    @cached_property
    def kernel(self) -> Kernel[Result]:
        """The kernel, as `ptxlab.kernel` makes it."""
        return kernel(self.source, "gemm", self.row.targets[0])

    @cached_property
    def code(self) -> bytes:
        """Its machine code for the GPU of this machine."""
        code, _ = compile_kernel(self.source, device_target(), (), "gemm")
        return code

    @property
    def asynchronous(self) -> bool:
        """Whether it is a kernel of wgmma.sp, which TMA feeds."""
        return self.row.family == "wgmma.sp"

    @property
    def b_by_rows(self) -> bool:
        """Whether it reads a B whose rows are contiguous, not its columns."""
        return bool(self.constants.get("B_BY_ROWS", 0))

    @property
    def threads(self) -> int:
        """Threads of a block."""
        if self.asynchronous:
            return _LANES * (1 + self.constants["BLOCK_M"] // (self.constants["TILES_M"] * self.form.m))
        return 32 * self.constants["WARPS_M"] * self.constants["WARPS_N"]

    @property
    def steps(self) -> int:
        """Instructions along K of a stage."""
        return self.constants.get("STEPS", 4)

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory of a block."""
        words = self.steps // len(self.form.selectors)
        metadata = self.constants["BLOCK_M"] // _WORD_ROWS * words * _LANES * 4
        tiles = (self.constants["BLOCK_M"] * _A_STEP + self.constants["BLOCK_N"] * _B_STEP) * self.steps
        if self.asynchronous:
            stores = 2 * STORE * (self.threads // _LANES - 1)
            return self.constants["STAGES"] * (tiles + -(-metadata // 1024) * 1024 + 16) + stores
        return self.constants["STAGES"] * (tiles + metadata)

    def grid(self, M: int, N: int, processors: int = H200_PROCESSORS) -> int:
        """Blocks for a product of this size; `processors` is how many persistent blocks run at once."""
        cluster = self.constants.get("CLUSTER", 1)
        tiles = -(-M // (self.constants["BLOCK_M"] * cluster)) * -(-N // self.constants["BLOCK_N"])
        if not self.row.persistent:
            return tiles
        return cluster * max(1, min(tiles, processors // cluster))

    def call(
        self, A: Any, B: ArrayLike, C: ArrayLike | None = None, *, processors: int = H200_PROCESSORS
    ) -> Call:
        """A launch for these matrices: A [M, K], compressed or not, B [K, N], C [M, N], as values.

        >>> r = sparse_rung("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
        >>> launch = r.call(np.zeros((100, 80)), np.ones((80, 60)))
        >>> launch.grid, launch.D.shape
        (1, (100, 60))
        """
        if as_int(processors, "processors") < self.constants.get("CLUSTER", 1):
            raise PtxlabError(f"processors={quoted(processors)}: a cluster takes {self.constants['CLUSTER']}")
        left = A if isinstance(A, CompressedMatrix) else compress(A, self.form)
        right = as_matrix(B, "B")
        check_compressed(self.form, left, right.shape)
        (m, k), n = left.shape, right.shape[1]
        if min(m, n, k) == 0:
            raise PtxlabError(f"A {m}x{k} and B {k}x{n}: an empty matrix leaves nothing to compute")
        stored = np.ascontiguousarray(left.stored).view(np.uint8)
        columns = padded_rows(element_bytes(self.form.b, right if self.b_by_rows else right.T))
        start = start_codes(self.form, C, m, n)
        d = product_array(self.result, m, n, by_tma=self.asynchronous)
        steps = -(-k // self.form.k)
        arguments: tuple[Any, ...] = (stored, left.metadata, columns, start, d, m, n, steps)
        if self.asynchronous:
            maps = self.maps(stored, columns, d.view(np.uint8))
            arguments = (maps[0], left.metadata, maps[1], start, maps[2], m, n, steps)
        else:
            arguments += (stored.shape[1], columns.shape[1])
        return Call(self.grid(m, n, processors), self.threads, self.shared, arguments, d, n)

    def maps(self, stored: Any, columns: Any, product: Any) -> tuple[Any, Any, Any]:
        """TMA's descriptors of the stored half of A, of B and of D, all as bytes."""
        wide = _A_STEP * self.steps
        box = (64, 128) if self.b_by_rows else (self.form.n // self.constants["CLUSTER"], 128)
        return (
            tensor_map(stored, (self.constants["BLOCK_M"], wide), swizzle=wide, l2_promotion=256),
            operand_map(columns, box, tf32=self.form.b_type == "tf32"),
            tensor_map(product, (self.form.m, 128), swizzle=128),
        )

    def simulate(
        self,
        A: Any,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        processors: int = H200_PROCESSORS,
        **options: Any,
    ) -> tuple[NDArray[Any], Result]:
        """D and what the simulator saw; options are those of `kernel.simulate`."""
        call = self.call(A, B, C, processors=processors)
        return call.D, call.simulate(self.kernel, **options)

    def __call__(self, A: Any, B: Any, C: Any = None, *, stream: object = None) -> Any:
        """D = A B + C on the GPU, of matrices that are there already; A is compressed or not.

        D is of the same library, and nothing waits, except for the compression of A.
        """
        compressed = isinstance(A, CompressedMatrix)
        named = {"stored": A.stored} if compressed else {"A": A}
        call = gpu_arrays({**named, "B": B, "C": C}, stream)
        if call is None:
            raise PtxlabError("A, B: found matrices on the host; `simulate` takes them, or ptxlab.matmul")
        with call:
            check_elements(self.form, call)
            left = A if compressed else compress_arrays(self.form, call)
            check_compressed(self.form, left, call.arrays["B"].shape)
            return self.multiply(call, left, call.arrays["B"], call.arrays.get("C")).owner

    def multiply(
        self, call: GpuArrays, A: CompressedMatrix, B: GpuArray, C: GpuArray | None = None
    ) -> GpuArray:
        """D of matrices on the GPU, on the stream of the call."""
        (m, k), n = A.shape, B.shape[1]
        if C is not None and C.shape != (m, n):
            raise PtxlabError(f"C is {C.shape[0]}x{C.shape[1]}; the product is {m}x{n}")
        d = call.empty((m, n), np.dtype(dtype(self.result).numpy_type).name)
        if not d.size:
            return d
        stored, metadata = as_gpu_array(A.stored, "stored"), as_gpu_array(A.metadata, "metadata")
        assert stored is not None
        assert metadata is not None
        left = Rows(stored.pointer, m, *[stored.shape[1] * stored.itemsize] * 2)
        if k > 0:
            turned = slice(None) if self.b_by_rows else slice(None, None, -1)
            maps = self.asynchronous
            shape, strides = B.shape[turned], B.strides[turned]
            right = packed_rows(call, self.form.b, B.pointer, shape, strides, gaps=maps, rounded=maps)
        else:  # no step reads them, but TMA wants rows
            left, right = (Rows(call.scratch(rows * _A_STEP), rows, _A_STEP, _A_STEP) for rows in (m, n))
        start = np.uint64(0) if C is None else call.contiguous(C)
        sizes = [np.int32(m), np.int32(n), np.int32(-(-k // self.form.k))]
        pitch, target = n * d.itemsize, d.pointer
        arguments: list[Any] = [np.uint64(left.pointer), metadata, np.uint64(right.pointer), start, d, *sizes]
        if self.asynchronous:
            if pitch % CHUNK:  # TMA stores rows that begin at multiples of 16 bytes
                pitch = -(-pitch // CHUNK) * CHUNK
                target = call.scratch(m * pitch)
            described = self.maps(left, right, Rows(target, m, pitch, pitch))
            encoded = [encode_tensor_map(each).tobytes() for each in described]
            arguments = [encoded[0], metadata, encoded[1], start, encoded[2], *sizes]
        else:
            arguments += [np.int32(left.pitch), np.int32(right.pitch)]
        grid = self.grid(m, n, processors())
        call.launch(self.code, "gemm", arguments, grid=grid, block=self.threads, shared=self.shared)
        if target != d.pointer:
            pack(call, d.itemsize, target, (m, n), (pitch, d.itemsize), d.pointer, n)
        return d


def sparse_rung(form: MmaForm | str, *, result: str | None = None, **constants: int) -> SparseRung:
    """A sparse kernel for an instruction; `constants` replace those of its row.

    >>> sparse_rung("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8", stages=3, block_n=128).form.shape
    'm64n128k64'
    """
    ins = parse_mma(form)
    rows = {row.family: row for row in SPARSE}
    row = rows.get(ins.family)
    if row is None:
        raise PtxlabError(f"{ins.mnemonic}: the sparse kernels are of {listing(rows)}")
    chosen = dict(row.constants)
    for name, value in constants.items():
        if name.upper() not in chosen:
            names = listing(known.lower() for known in chosen)
            raise PtxlabError(f"the kernel of {row.family} has no constant {quoted(name)}; there are {names}")
        chosen[name.upper()] = as_int(value, name)
    if not _fits(ins):
        raise PtxlabError(
            f"{ins.mnemonic}: the sparse kernels are for elements of {listing(_CODES)} bits, steps of "
            f"{_A_STEP} bytes of a stored row, accumulators in {listing(RESULTS)}"
        )
    if result is not None and not is_name(result, RESULTS[ins.d_type]):
        stored = listing(RESULTS[ins.d_type])
        raise PtxlabError(f"result={quoted(result)}: accumulators of {ins.d_type} are stored as {stored}")
    _check_constants(row, chosen, dtype(result or ins.d_type).bits // 8, ins.b.dtype.bits)
    if ins.family == "wgmma.sp":
        wide = ins.mnemonic.replace(f"m{ins.m}n{ins.n}k", f"m{ins.m}n{chosen['BLOCK_N']}k")
        ins = replace(parse_mma(wide), a_space="shared")
    made = SparseRung(row, ins, chosen, result or ins.d_type)
    if made.shared > MOST_SHARED:
        raise PtxlabError(
            f"the kernel of {row.family} with these constants takes {made.shared} bytes of shared memory; "
            f"a block has {MOST_SHARED}"
        )
    return made


def _check_constants(row: Row, constants: dict[str, int], result_bytes: int, bits: int) -> None:
    """Refuse tiles that the kernel cannot divide among its warps, boxes and stores."""
    small = [name.lower() for name, value in constants.items() if value < (name != "B_BY_ROWS")]
    if small:
        raise PtxlabError(f"the kernel of {row.family}: {listing(small)} must be at least 1")
    units = {"BLOCK_M": _WORD_ROWS * constants.get("TILES_M", 1), "BLOCK_N": 8 * constants.get("CLUSTER", 1)}
    most = {"BLOCK_M": 256, "BLOCK_N": 256}
    if row.family == "mma.sp":
        units["BLOCK_M"] = math.lcm(_WORD_ROWS, 16 * constants["WARPS_M"])
        units["BLOCK_N"] = 8 * constants["WARPS_N"]
        most["WARPS_M"] = most["WARPS_N"] = 8
    else:
        units["BLOCK_N"] = math.lcm(units["BLOCK_N"], 128 // result_bytes)  # a store takes 128 bytes
        units["STEPS"] = 2  # 64 bytes of a stored row of A, which are one swizzle
        most |= {"STEPS": 4, "CLUSTER": 8, "TILES_M": 4, "B_BY_ROWS": 1}
        if constants["B_BY_ROWS"]:
            units["BLOCK_N"] = math.lcm(units["BLOCK_N"], 64)  # columns of a box
            most["STEPS"] = 2  # 64 rows of a box
            if bits != 16:
                raise PtxlabError(f"b_by_rows: wgmma transposes 16-bit types only, not {bits}-bit ones")
    for name, unit in units.items():
        if constants[name] % unit:
            raise PtxlabError(
                f"the kernel of {row.family}: {name.lower()}={constants[name]} is not a multiple of {unit}"
            )
    for name, limit in most.items():
        if constants[name] > limit:
            raise PtxlabError(
                f"the kernel of {row.family}: {name.lower()}={constants[name]} is more than {limit}"
            )


def _fits(form: MmaForm) -> bool:
    """Whether the sparse kernels are written for this instruction."""
    if form.structure is None or form.scale_vec or form.a.dtype.bits not in _CODES:
        return False
    step = form.k // 2 * form.a.dtype.bits // 8
    types = form.a.dtype.bits == form.b.dtype.bits and form.d_type in RESULTS and form.c_type == form.d_type
    return step == _A_STEP and types and len(form.selectors) <= 2


def has_kernel(form: MmaForm) -> bool:
    """Whether the product of matrices on the GPU with this instruction has a sparse kernel.

    >>> has_kernel(parse_mma("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16"))
    True
    """
    return form.family in {row.family for row in SPARSE} and form.a_type in _ELEMENTS and _fits(form)


def check_compressed(form: ProductForm, A: CompressedMatrix, b_shape: tuple[int, ...]) -> None:
    """Refuse a compressed matrix of another type or size than a product with this instruction takes."""
    if form.structure is None or A.form.a_type != form.a_type:
        raise PtxlabError(
            f"A is compressed for elements of {A.form.a_type}; {form.mnemonic} takes "
            f"{f'a dense A of {form.a_type}' if form.structure is None else form.a_type}"
        )
    if A.shape[1] != b_shape[0]:
        raise PtxlabError(
            f"A {A.shape[0]}x{A.shape[1]} and B {b_shape[0]}x{b_shape[1]}: "
            "A needs as many columns as B has rows"
        )


def multiply_compressed(
    form: MmaForm, call: GpuArrays, A: CompressedMatrix, B: GpuArray, C: GpuArray | None = None
) -> Any:
    """A B + C with a sparse instruction, of matrices on the GPU; D is of the library of the call."""
    if not has_kernel(form):
        raise PtxlabError(f"{form.mnemonic}: there is no sparse kernel for it; pass NumPy arrays")
    check_device(form)
    check_compressed(form, A, B.shape)
    if 0 in (A.shape[0], B.shape[1]):
        return call.empty((A.shape[0], B.shape[1]), np.dtype(form.d.dtype.numpy_type).name).owner
    target = device_target()
    rung = best_sparse_rung(form, target, A.shape[0], B.shape[1], b_by_rows=lies_by_rows(B))
    return rung.multiply(call, A, B, C).owner


def best_sparse_rung(
    ins: MmaForm | str,
    target: str,
    M: int,
    N: int,
    *,
    b_by_rows: bool | int = False,
    result: str | None = None,
) -> SparseRung:
    """The kernel for a product of this size, with the constants that were fastest on an H200.

    On sm_90a an mma.sp whose arithmetic wgmma.sp shares runs as wgmma.sp. With `b_by_rows` the kernel reads a
    B whose rows are contiguous, if it can; others want its columns to be.

    >>> ins = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
    >>> [best_sparse_rung(ins, target, 512, 512).form.family for target in ("sm_80", "sm_90a")]
    ['mma.sp', 'wgmma.sp']
    """
    form, target = parse_mma(ins), check_target(target)
    rows, columns = as_int(M, "M"), as_int(N, "N")
    if min(rows, columns) < 1:
        raise PtxlabError(f"M={quoted(M)}, N={quoted(N)}: both are at least 1")
    if result is not None and not isinstance(result, str):
        raise PtxlabError(f"result={quoted(result)}: name the type in which D is stored, such as 'f32'")
    if target == "sm_90a" and form.family == "mma.sp":
        form = _warpgroup_form(form) or form
    if form.family != "wgmma.sp":
        half = target.startswith(_SMALL_SHARED)  # of the columns: a block has 99 KB of shared memory
        return sparse_rung(form, result=result, block_n=64) if half else _made(form, result)
    narrow = form.d_type == "f16"  # two accumulators in a register

    def time(shape: _Shape) -> float:
        clusters = -(-rows // (shape.block_m * 2)) * -(-columns // shape.block_n)
        return -(-clusters // (H200_PROCESSORS // 2)) * shape.time

    shapes = [shape for shape in _SHAPES if narrow or shape.block_m * shape.block_n <= _MOST_TILE]
    by_rows = as_flag(b_by_rows, "b_by_rows") and form.b.dtype.bits == 16
    return _made(form, result, min(shapes, key=time), by_rows)


class _Shape(NamedTuple):
    """Tiles for wgmma.sp in clusters of two, and the time that one takes, relative to the others."""

    block_m: int
    tiles_m: int
    block_n: int
    stages: int
    time: float


_SMALL_SHARED = ("sm_86", "sm_88", "sm_89", "sm_120", "sm_121")

_SHAPES = (
    _Shape(256, 2, 256, 3, 50.6),
    _Shape(256, 2, 192, 4, 41.8),
    _Shape(128, 1, 256, 4, 29.9),
    _Shape(128, 1, 128, 6, 19.4),
)
_MOST_TILE = 256 * 192  # elements of D whose accumulators of 32 bits two warpgroups can hold


@lru_cache(maxsize=64)
def _made(
    form: MmaForm, result: str | None, shape: _Shape | None = None, by_rows: bool = False
) -> SparseRung:
    if shape is None:
        return sparse_rung(form, result=result)
    constants = {name: value for name, value in shape._asdict().items() if name != "time"}
    return sparse_rung(form, result=result, b_by_rows=int(by_rows), **constants)


def _warpgroup_form(form: MmaForm) -> MmaForm | None:
    """The wgmma.sp that gives the same bits on sm_90a, if there is one."""
    chip = chip_of_target("sm_90a")
    types = f"{form.d_type}.{form.a_type}.{form.b_type}"
    try:
        wide = parse_mma(f"wgmma.mma_async.sp.sync.aligned.m64n256k{form.k}.{types}")
    except PtxlabError:
        return None
    if chip is None or form.satfinite or not (has(form, chip) and has(wide, chip)):
        return None
    return wide if model_for(form, chip).rule == model_for(wide, chip).rule else None
