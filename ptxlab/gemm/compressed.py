"""Sparse matrices: pruned to the structure of an instruction, and compressed, with metadata."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import check_room
from ..errors import PtxlabError, counted, listing, quoted
from ..gpu.arrays import GpuArray, GpuArrays, gpu_arrays
from ..gpu.cuda_python import check, load
from ..gpu.device import device_target
from ..isa.dtypes import DType
from ..isa.mma import Instruction
from ..isa.parse import parse_mma, parse_product
from ..isa.product_form import ProductForm
from ..isa.sparsity import Structure
from ..memory import pack_metadata, unpack_metadata
from ..simulator.kernel import Kernel, build_kernel
from .gemm_kernel import as_matrix
from .packed_matrices import Rows, element_types, packed_rows, template_code
from .source import source_files

_WORD_CHUNKS = 16  # chunks of each of 64 rows whose metadata is in the words of 128 lanes
WORD_ROWS = 64
LANES = 128
CPP_TYPES = {8: "unsigned char", 16: "unsigned short", 32: "unsigned int"}
#: Types whose matrices the GPU compresses: they are element types of arrays; tf32 is rounded from float32.
ELEMENTS = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8")


@dataclass(frozen=True, eq=False)
class CompressedMatrix:
    """A sparse matrix as the kernels read it; `compress` makes one, and `matmul` takes it for A many times.

    `stored` is its kept half, row-major, [M, K / 2], with K rounded up to 16 chunks. `metadata` has the
    positions of the kept elements: int32 [M / 64, chunks / 16, 128], in the order of
    `ptxlab.memory.pack_metadata`. Both are NumPy arrays, or arrays on the GPU of the same library as A.
    `shape` is that of A.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wgmma.mma_async.sp.sync.aligned.m64n256k32.f32.f16.f16")
    >>> A = ptxlab.compress(ptxlab.prune(np.eye(128), ins), ins)
    >>> A.stored.shape, A.metadata.shape, A.nbytes   # dense, it has 32768 bytes
    ((128, 64), (2, 2, 128), 18432)
    """

    stored: Any = field(repr=False)
    metadata: Any = field(repr=False)
    shape: tuple[int, int]
    form: Instruction  # an instruction that takes it, as others with the same type of A do

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
        return (
            self.shape[0] * stored * np.dtype(self.form.a.dtype.code_type).itemsize + rows * words * LANES * 4
        )

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


def compress(A: Any, instruction: Instruction | str, *, stream: object = None) -> CompressedMatrix:
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
    stored, nibbles = structure.compress(
        padded, zero=(padded & element.code_type(magnitude_bits(element))) == 0
    )
    metadata = pack_metadata(form, nibbles).reshape(rows, words, LANES)
    m, k = matrix.shape
    return CompressedMatrix(stored.view(element.numpy_type or element.code_type), metadata, (m, k), form)


def prune(A: Any, instruction: ProductForm | str, *, stream: object = None) -> Any:
    """The nearest matrix with the structure of a sparse instruction: the largest of each chunk are kept.

    A is [M, K], K a multiple of a chunk; an A on the GPU is pruned there. Among equals the first are kept.

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


def compress_arrays(form: Instruction, call: GpuArrays) -> CompressedMatrix:
    """The array A of a call, compressed on the GPU; it waits for the kernel, which may find violations."""
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
    if call.library == "other" and not hasattr(np, type_name):  # `ResultArray` has only NumPy's own types
        type_name = f"uint{element.bits}"
    stored = call.empty((m, stored_columns), type_name)
    metadata = call.empty((rows, words, LANES), "int32")
    if array.size:
        driver = load("cuda.bindings.driver")
        stream = driver.CUstream(call.stream)
        pointer = call.scratch(16)  # the first chunk with too many non-zeros, and how many there are
        for offset, value in ((0, 0xFF), (8, 0)):
            place = driver.CUdeviceptr(pointer + offset)
            check(driver.cuMemsetD8Async(place, value, 8, stream), "preparing a compression")
        arguments: list[Any] = [np.uint64(source.pointer), np.int32(m), np.int32(k)]
        arguments += [np.int64(source.pitch // array.itemsize)]
        arguments += [np.uint32(magnitude_bits(element)), stored, metadata, np.uint64(pointer)]
        _launch(call, "compress", element, arguments, (words, rows, 1), LANES)
        numbers = np.zeros(2, dtype=np.uint64)
        copied = driver.cuMemcpyDtoHAsync(numbers.ctypes.data, driver.CUdeviceptr(pointer), 16, stream)
        check(copied, "reading what a compression found")
        check(driver.cuStreamSynchronize(stream), "compressing a matrix")
        first, count = numbers.tolist()
        if count:
            raise PtxlabError(violation_sentence(structure, k, first, count))
    return CompressedMatrix(stored.owner, metadata.owner, (m, k), form)


def compress_kernel(bits: int) -> Kernel:
    """The kernel that compresses matrices of elements of `bits` bits, for simulation.

    >>> compress_kernel(16)
    <kernel compress<unsigned short>(u64, u32, u32, u64, u32, u64, u64, u64) for sm_80>
    """
    if bits not in CPP_TYPES:
        raise PtxlabError(f"bits={quoted(bits)}: elements of {listing(CPP_TYPES)} bits can be compressed")
    return build_kernel(source_files()["compress.cu"], f"compress<{CPP_TYPES[bits]}>", "sm_80")


def violation_sentence(structure: Structure, columns: int, first: int, count: int) -> str:
    """The two numbers that the kernel returns as a sentence, as `Structure.compress` has it.

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
    """Launch a template of compress.cu for elements of this size."""
    code, lowered = template_code("compress.cu", f"{name}<{CPP_TYPES[element.bits]}>", device_target())
    call.launch(code, lowered, arguments, grid=grid, block=block)


def _structure(form: ProductForm) -> Structure:
    if form.structure is None:
        raise PtxlabError(f"{form.mnemonic} is dense: its A is not compressed; sparse forms are spelt .sp")
    return form.structure


def _sizes(form: Instruction, m: int, k: int) -> tuple[int, int, int]:
    """Blocks of 64 rows, words of metadata along K, and stored columns of a matrix."""
    structure = _structure(form)
    words = -(-k // (_WORD_CHUNKS * structure.chunk))
    return -(-m // WORD_ROWS), words, words * _WORD_CHUNKS * structure.chunk // 2


def magnitude_bits(element: DType) -> int:
    """The bits that make an element non-zero: all but the sign and the ignored bits of a float."""
    all_bits = (1 << element.bits) - 1
    if not element.is_float:
        return all_bits
    return all_bits >> 1 & ~((1 << element.ignored_bits) - 1)


def _kind(element: DType) -> int:
    """The number of a kind in compress.cu: floats, signed integers, unsigned integers."""
    if element.is_float:
        return 0
    return 1 if element.signed else 2


def _infinity(element: DType) -> int:
    """The code above which magnitudes are NaN; e4m3 has one NaN, which is the largest code anyway."""
    if not element.is_float or element.name == "e4m3":
        return (1 << element.bits - 1) - 1
    return ((1 << element.exponent_bits) - 1) << element.fraction_bits + element.ignored_bits


def _gpu_matrix(form: ProductForm, call: GpuArrays) -> GpuArray:
    array, element = call.arrays["A"], form.a.dtype
    if len(array.shape) != 2:
        raise PtxlabError(f"A: found shape {array.shape}; it takes a matrix [rows, columns]")
    if element.name not in ELEMENTS:
        raise PtxlabError(
            f"{form.mnemonic}: on the GPU, matrices of {listing(ELEMENTS)} are pruned and compressed; "
            f"pass A of {element} as a NumPy array"
        )
    type_name = element_types(form.a)
    if array.type_name != type_name:
        raise PtxlabError(
            f"A: found {array.type_name}; {element} takes {type_name}, since nothing is converted on the GPU"
        )
    return array
