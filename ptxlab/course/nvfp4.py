"""nvfp4 with tcgen05, as lesson 23 shows it: two levels of scales, a kernel, and the pictures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..gemm.matmul import matmul
from ..instruction import instruction, mma_instruction
from ..isa.dtypes import dtype
from ..isa.instruction_descriptor import KINDS
from ..memory.scales import tile_scales
from ..simulation import Simulation
from ..simulator.kernel import Kernel
from ..tensor_instruction import TensorInstruction
from ..views import Cell, Grid, Header, Picture
from ..views.charts import bars, table
from ..views.colours import PIECE_HUES
from ..views.grid import State
from ..views.labels import index_range, number_text
from .block_scaling import error
from .kernel_reading import Reading, Stop, reading
from .reader_kernels import recorded

_Matrix = NDArray[np.float64]
NVFP4 = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16"
_LARGEST = {"e2m1": 6.0, "e4m3": 448.0}
_LARGEST_SCALE = 448.0  # of ue4m3
TILE_BYTES = 512  # bytes of 128x4 scales


def tensor_form(text: str, **parts: Any) -> TensorInstruction:
    """A form of tcgen05.mma with parts of its descriptor."""
    form = instruction(text, **parts)
    assert isinstance(form, TensorInstruction)
    return form


# -- floats to nvfp4 -----------------------------------------------------------------------------------------


class _Format(NamedTuple):
    """A format with block scales: its types, and the instruction that multiplies it."""

    element: str
    block: int
    scale: str
    mnemonic: str


FORMATS: dict[str, _Format] = {
    "mxfp8": _Format("e4m3", 32, "ue8m0", "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32"),
    "mxfp4": _Format("e2m1", 32, "ue8m0", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32"),
    "nvfp4": _Format("e2m1", 16, "ue4m3", NVFP4),
}


class Quantised(NamedTuple):
    """A matrix in a format with block scales: what its elements, their scales, and the whole are stored as.

    >>> quantise(np.full((1, 16), 3.0)).scales
    array([[448.]])
    """

    stored: _Matrix  # values of the element type
    scales: _Matrix  # one for each block of a row
    factor: float  # one for the matrix, f32; 1 if the format has none

    @property
    def values(self) -> _Matrix:
        """What it stands for: stored values times both factors.

        >>> quantise(np.full((1, 16), 2688.0)).values[0, 0]
        np.float64(2688.0)
        """
        blocks = self.stored.reshape(*self.scales.shape, -1)
        return (blocks * self.scales[..., None]).reshape(self.stored.shape) * self.factor


def quantise(X: _Matrix, name: str = "nvfp4", *, two_levels: bool = True) -> Quantised:
    """X in mxfp8, mxfp4 or nvfp4, with a scale for each block of a row.

    nvfp4 has two levels: the factor of the matrix takes its largest magnitude to 6 x 448, the largest element
    times the largest scale; `two_levels=False` leaves it at 1.

    >>> quantise(np.array([[1.0, 2.0, 3.0, -6.0] * 8]), "mxfp4").scales.tolist()
    [[1.0]]
    """
    element, block, scale, _ = FORMATS[name]
    top, kind, size = _LARGEST[element], dtype(element), dtype(scale)
    factor = 1.0
    if scale == "ue4m3" and two_levels:
        factor = float(np.float32(np.abs(X).max() / (top * _LARGEST_SCALE)))
    blocks = (X / factor).reshape(len(X), -1, block)
    amax = np.abs(blocks).max(axis=-1, keepdims=True)
    if scale == "ue8m0":
        exact = 2.0 ** (np.frexp(amax)[1] - np.frexp(top)[1])
    else:
        exact = np.minimum(amax / top, _LARGEST_SCALE)
    scales = size.decode(size.encode(exact)).astype(float)
    scaled = np.divide(blocks, scales, out=np.zeros_like(blocks), where=scales > 0)
    stored = kind.decode(kind.encode(np.clip(scaled, -top, top))).astype(float)
    return Quantised(stored.reshape(X.shape), scales[..., 0], factor)


def weights(rows: int = 128, columns: int = 256, seed: int = 23) -> _Matrix:
    """Numbers like those of a layer: mostly small, some rows larger than others.

    >>> weights(2, 16).shape
    (2, 16)
    """
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, columns)) * rng.uniform(0.5, 2, (rows, 1))


def size_name(size: int) -> str:
    """The size of a matrix's numbers, for the slider.

    >>> size_name(-8)
    'times 2^-8'
    """
    return f"times 2^{size}" if size else "as it is"


def errors(size: int) -> Picture:
    """How far a matrix is off in each format, if all its numbers are multiplied by 2^size first.

    >>> [cell.text for cell in errors(-12).grids[0].cells if cell.lines]
    ['3.1%', '11.8%', '100.0%', '9.6%']
    """
    X = weights() * 2.0**size
    cases = {
        "mxfp8": quantise(X, "mxfp8"),
        "mxfp4": quantise(X, "mxfp4"),
        "nvfp4, scales alone": quantise(X, two_levels=False),
        "nvfp4, and one f32": quantise(X),
    }
    values = {name: error(X, case.values) for name, case in cases.items()}
    notes = (
        f"largest magnitude {number_text(float(f'{np.abs(X).max():.3g}'))}",
        "root mean square of the error, relative to the matrix",
    )
    return bars(values, "Error by format", notes, text="{:.1%}".format, most=1.0)


def product_errors(X: _Matrix, W: _Matrix) -> Picture:
    """How far X W is off in each format, multiplied by the instruction of that format.

    >>> X = weights(128, 64)
    >>> [cell.text for cell in product_errors(X, X.T[:, :8]).grids[0].cells if cell.lines][2]
    '9.9%'
    """
    exact, values = X @ W, {}
    for name, form in FORMATS.items():
        A, Bt = quantise(X, name), quantise(np.ascontiguousarray(W.T), name)
        ins = tensor_form(form.mnemonic, n=32)
        D = matmul(A.stored, Bt.stored.T, instruction=ins, scale_a=A.scales, scale_b=Bt.scales.T, show=False)
        values[name] = error(exact, D * (A.factor * Bt.factor))
    notes = ("root mean square, relative to the product in f64",)
    return bars(values, "Error of the product by format", notes, text="{:.1%}".format)


# -- what the lesson shows -----------------------------------------------------------------------------------


def scale_words(n: int) -> Picture:
    """Words of scales that a product of 128 x n x 64 has, and how often mma.sync reads them from registers.

    >>> [cell.text for cell in scale_words(256).grids[0].cells if cell.lines]
    ['384', '6144', '0']
    """
    mma = mma_instruction(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    )
    count = 128 // mma.m * (n // mma.n)
    values = {
        "different words": 128.0 + n,
        "mma.sync: words read from registers": float(count * (mma.m + mma.n)),
        "tcgen05: words read from registers": 0.0,
    }
    notes = (
        "a word is four scales: those of a row of A, or of a column of B",
        f"mma.sync: {count} instructions, each with {mma.m} words of A and {mma.n} of B; tcgen05: one",
    )
    title = f"Scales of a product of 128 x {n} x 64, nvfp4"
    return bars(values, title, notes, text="{:.0f}".format, most=6144)


def kinds() -> Picture:
    """The kinds of tcgen05.mma with block scales.

    >>> picture = kinds()
    >>> [picture.grids[0].at(row, 3).text for row in range(4)]
    ['1', '2', '2', '4']
    """
    cases = (
        ("mxf8f6f4", "1X", "block32"),
        ("mxf4", "2X", "block32"),
        ("mxf4nvf4", "2X", "block32"),
        ("mxf4nvf4", "4X", "block16"),
    )
    texts = {}
    for kind, vector, block in cases:
        name = f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale"
        form, same = (tensor_form(f"{name}.{end}", n=64) for end in (f"scale_vec::{vector}", block))
        assert form.scale_vec == same.scale_vec
        row = KINDS[kind]
        elements = "FP8, FP6, FP4" if len(row.types) > 1 else next(iter(row.types))
        types = "ue8m0" if vector != "4X" else "ue4m3, ue8m0"
        texts[f"{kind}, {vector} or {block}"] = [
            elements,
            types,
            str(form.k),
            str(form.scale_vec),
            str(form.k // (form.scale_vec or 1)),
        ]
    columns = ["elements", "scales", "K", "scales\nof a row", "elements\nof a scale"]
    notes = ("sm_103 has K = 96 too, sm_107 K = 128 and scales of ue5m3",)
    return table(texts, columns, "Kinds of tcgen05.mma with block scales", notes)


_DEEP = 256  # K of the loop in the picture


def sub_columns(k: int) -> Picture:
    """A loop over K: the bytes of a row's scales, by kind, and those that the instruction at `k` reads.

    >>> sub_columns(96).notes[0]
    'mxf8f6f4: instruction 3, column 0, id 3'
    """
    cells, rows, notes = [], [], []
    hover = np.full((len(FORMATS), 16), "", dtype=object)
    for row, (name, form) in enumerate(FORMATS.items()):
        ins = tensor_form(form.mnemonic, n=64)
        each = ins.scale_vec or 1
        step = k // ins.k
        column, first = 4 * (step * each // 4), step * each % 4
        notes.append(f"{ins.kind}: instruction {step}, column {column}, id {first}")
        rows.append(Header(row, 1, (f"{name}, {form.block} of K each",)))
        for scale in range(16):
            if scale >= _DEEP // form.block:
                cells.append(Cell(row, scale, 1, 1, (), role="blank"))
                continue
            mark: State = "mark" if scale // each == step else "plain"
            span = index_range(form.block * scale, form.block)
            tint = PIECE_HUES[scale // each % 8] * 4 + 1
            cells.append(Cell(row, scale, 1, 1, (span,), tint, mark))
            hover[row, scale] = f"scale of K {span}\ncolumn {scale // 4 * 4}, byte {scale % 4}"
    heads = tuple(Header(4 * at, 4, (f"column {4 * at}, bytes 0..3",)) for at in range(4))
    grid = Grid(
        hover.shape, tuple(cells), hover, tuple(rows), heads, density="close",
        column_rules=tuple((4 * at, 0, len(FORMATS)) for at in range(1, 4)),
    )  # fmt: skip
    title = f"Scales of a row of A with K = {_DEEP}, in tensor memory; the instruction at k = {k}"
    return Picture(
        title, (*notes, "a colour is an instruction; rows 0 to 31 of A, tiles one after another"), (grid,)
    )


#: A product of 128 x 32 x 256 in nvfp4 by one block: scales through tcgen05.cp, factors in the epilogue.
KERNEL = r"""
__device__ unsigned int address_of(const void* pointer)
{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}

__device__ void copy_scales(unsigned int column, unsigned long long tile)
{
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" :: "r"(column), "l"(tile) : "memory");
}

__device__ void multiply(unsigned int d, unsigned long long a, unsigned long long b, unsigned int idesc,
                         unsigned int sfa, unsigned int sfb, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16\n"
                 "    [%0], %1, %2, %3, [%4], [%5], p; }"
                 :: "r"(d), "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(add) : "memory");
}

__device__ float load(unsigned int address)
{
    unsigned int word;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n"
                 "tcgen05.wait::ld.sync.aligned;" : "=r"(word) : "r"(address) : "memory");
    return __uint_as_float(word);
}

extern "C" __global__ void __launch_bounds__(128) nvfp4(
    const uint4* A, const uint4* B, const uint4* SFA, const uint4* SFB, float* D, float factor)
{
    __shared__ __align__(128) uint4 a[1024], b[256];      // 128 x 256 and 256 x 32 elements of 4 bits
    __shared__ __align__(128) uint4 sfa[128], sfb[128];   // four tiles of 512 bytes each
    __shared__ unsigned int tensor_memory;
    __shared__ unsigned long long complete;
    const int thread = threadIdx.x, warp = thread / 32;

    // Everything to shared memory, as it lies; TMA would do that.
    for (int i = thread; i < 1024; i += 128) a[i] = A[i];
    for (int i = thread; i < 256; i += 128) b[i] = B[i];
    sfa[thread] = SFA[thread];
    sfb[thread] = SFB[thread];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");

    // Tensor memory: D has columns 0 to 31, SFA 32 to 47, SFB 48 to 63.
    if (warp == 0) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;"
                     :: "r"(address_of(&tensor_memory)) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
    }
    if (thread == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address_of(&complete)) : "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const unsigned int d = tensor_memory, scale_a = d + 32, scale_b = d + 48;

    if (thread == 0) {
        // Scales: each copy takes one tile of 128 x 4, into four columns.
        const unsigned long long tile = 0x0000400800010000ull;
        for (int t = 0; t < 4; ++t) {
            copy_scales(scale_a + 4 * t, tile | address_of(sfa + 32 * t) >> 4);
            copy_scales(scale_b + 4 * t, tile | address_of(sfb + 32 * t) >> 4);
        }
        // Products: 64 of K each, with the columns of their scales. No wait before them.
        const unsigned long long matrix = 0x0000401000080000ull;
        for (int t = 0; t < 4; ++t)
            multiply(d, matrix | address_of(a + 256 * t) >> 4, matrix | address_of(b + 64 * t) >> 4,
                     0x08080480u, scale_a + 4 * t, scale_b + 4 * t, t > 0);
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                     :: "r"(address_of(&complete)) : "memory");
    }
    // All wait for the products.
    unsigned int over = 0;
    while (!over)
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(address_of(&complete)) : "memory");
    __syncwarp();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");

    // The epilogue: thread t has row t, and multiplies by the factors of both matrices.
    for (int column = 0; column < 32; ++column)
        D[thread * 32 + column] = load(d + (warp * 32 << 16) + column) * factor;
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (warp == 0)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;"
                     :: "r"(tensor_memory) : "memory");
}
"""

#: The parts of the kernel, in the order of its lines.
STOPS = (
    Stop(
        "what there is",
        'extern "C"',
        "One block of 128 threads. A, B and the tiles of scales fit into shared memory, all 256 along K at "
        "once. `factor` is the product of the factors of both matrices.",
    ),
    Stop(
        "to shared memory",
        "// Everything to",
        "The scales were stored as tiles of 128 x 4, so they are copied just like A and B: 512 bytes for "
        "every 64 along K. The fence hands everything over to the async proxy, for `cp` as well as `mma`.",
    ),
    Stop(
        "tensor memory",
        "// Tensor memory:",
        "64 columns are allocated. The kernel decides what is where: D first, then 16 columns for the scales "
        "of A and 16 for those of B.",
    ),
    Stop(
        "scales",
        "// Scales: each",
        "One thread issues eight copies. The descriptor says that lines of 16 bytes are contiguous; "
        "`warpx4` makes the four copies in tensor memory. No thread has seen a scale.",
    ),
    Stop(
        "products",
        "// Products: 64",
        "The same thread goes on at once. Each product gets two more addresses than in lesson 22, the "
        "columns of its scales. The descriptor `0x08080480` is the same for all: with nvfp4 both ids are 0.",
    ),
    Stop(
        "wait",
        "// All wait",
        "The mbarrier signals the end of the products, and they come after the copies: one wait is enough "
        "for both.",
    ),
    Stop(
        "epilogue",
        "// The epilogue",
        "D leaves tensor memory, and the second level is applied: one multiplication by the factors. A real "
        "kernel also converts here, often to the next layer's nvfp4, and must then find new scales.",
    ),
)


def part_name(part: int) -> str:
    """The name of a part of the kernel, for the slider.

    >>> part_name(3)
    'scales'
    """
    return STOPS[part].name


def part_of_kernel(part: int) -> Reading:
    """A part of the kernel, with its explanation.

    >>> len(part_of_kernel(3).lines)
    6
    """
    return reading(KERNEL, part, STOPS)


def kernel() -> Kernel[Simulation]:
    """The kernel, to simulate; it comes with its PTX, and needs no compiler.

    >>> kernel().name, kernel().target
    ('nvfp4', 'sm_100a')
    """
    return recorded(KERNEL, "sm_100a")


def sources() -> list[str]:
    """The source of the kernel, whose PTX is recorded."""
    return [KERNEL]


def packed(X: Quantised) -> NDArray[np.uint8]:
    """The stored elements as bytes, as the kernel has them in shared memory.

    Each 64 of K are one tile, of core matrices of 8 rows by 16 bytes (lesson 16), without a swizzle.

    >>> packed(quantise(weights(32, 256))).shape
    (4096,)
    """
    codes = dtype("e2m1").encode(X.stored).astype(np.uint8)
    rows, k = codes.shape
    pairs = codes.reshape(rows // 8, 8, k // 64, 2, 32).transpose(2, 0, 3, 1, 4).reshape(-1, 2)
    return np.asarray(pairs[:, 0] | pairs[:, 1] << 4, dtype=np.uint8)


def scale_tiles(X: Quantised) -> NDArray[np.uint8]:
    """The scales as bytes, in tiles of 128 x 4.

    >>> scale_tiles(quantise(weights(32, 256))).shape
    (2048,)
    """
    return np.asarray(tile_scales(dtype("ue4m3").encode(X.scales)), dtype=np.uint8)


def versus() -> Picture:
    """Block scaling on GeForce Blackwell and on the data-centre chips.

    >>> versus().grids[0].at(0, 1).text
    'tensor memory, 4 copies'
    """
    rows = {
        "scales come from": ["registers of the warp", "tensor memory, 4 copies"],
        "brought by": ["each thread, ld.shared", "one thread, tcgen05.cp"],
        "chosen by": ["byte-id, thread-id: in the line", "address and id in the descriptor"],
        "M x N of an instruction": ["16 x 8", "128 x 8 to 256 x 256"],
        "issued by": ["32 threads", "one thread"],
        "K with nvfp4": ["64", "64; sm_103: also 96"],
        "D": ["registers", "tensor memory"],
    }
    columns = ["mma.sync, sm_120", "tcgen05.mma, sm_100"]
    return table(rows, columns, "Block scaling on two chips", ("RTX 50 and RTX PRO: sm_120; B200: sm_100",))


#: The case of `extreme`: exponents of its largest pair of scales, C, and largest product.
_SCALES, _SUM, _PRODUCT, _REST = 16, 17, 18, -19


class Extreme(NamedTuple):
    """Matrices of a product, of which only D[0][0] is not zero."""

    A: _Matrix
    B: _Matrix
    C: _Matrix
    scales: dict[str, _Matrix]


def extreme() -> Extreme:
    """A product with scales 2^34 apart: C and the first block cancel, the second block is tiny.

    >>> case = extreme()
    >>> float((case.A[0] * case.B[:, 0]).sum()), case.C[0, 0] == 2.0**17
    (-1.5, np.True_)
    """
    ins = tensor_form(NVFP4, n=8)
    assert ins.scale_a is not None
    assert ins.scale_b is not None
    A, B, C = np.zeros(ins.a.shape), np.zeros(ins.b.shape), np.zeros(ins.c.shape)
    scale_a, scale_b = np.ones(ins.scale_a.shape), np.ones(ins.scale_b.shape)
    A[0, :2], A[0, 16], B[:, 0] = (-4, 2), 0.5, 1
    scale_a[0, :2], scale_b[:2, 0] = (256, 2.0**-9), (256, 2.0**-9)
    C[0, 0] = 2.0**_SUM
    return Extreme(A, B, C, {"scale_a": scale_a, "scale_b": scale_b})


def rules() -> Picture:
    """What two published descriptions of a B200 make of the case of `extreme`.

    >>> [rules().grids[0].at(row, 2).text for row in range(2)]
    ['0', '2^-19']
    """
    one = max(_SCALES, _SUM) - 35
    other = max(max(_PRODUCT, _SUM) - 39, _SCALES - 35) if _SUM < _PRODUCT else _SUM - 35
    texts = {
        "MMA-Sim, arXiv 2511.10909;\nptxlab": ["scales and C, less 35 bits", one],
        "sf-tensor/tcgen05 on github,\nMODEL.md": ["products and C, less 39;\nscales, less 35", other],
    }
    rows = {
        name: [window, f"2^{last}", f"2^{_REST}" if last <= _REST else "0"]
        for name, (window, last) in texts.items()
        if isinstance(last, int)
    }
    columns = ["the largest exponent of", "last place", "D[0][0]"]
    notes = (
        f"the exact sum is 2^{_REST}",
        "ptxlab gives all 74 words of a B200 that sf-tensor has published",
    )
    return table(
        {name: [str(text) for text in row] for name, row in rows.items()}, columns, "Two rules", notes
    )
