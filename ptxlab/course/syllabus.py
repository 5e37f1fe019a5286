"""The lessons and their exercises in order: the question of each lesson, what it teaches, how long it takes.

The minutes are the authors' estimates: no readers were timed.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._util.arguments import is_name
from ..errors import PtxlabError, listing, quoted
from . import (  # noqa: F401  # each registers its exercises
    block_scaled_tcgen05,
    block_scaling,
    descriptors,
    element_types,
    first_kernel,
    fragments,
    gemm_ladder,
    how_fast,
    machine_code,
    metadata,
    numerics,
    other_sparse,
    real_gpu,
    shared_memory,
    sparse_gemm,
    sparse_mma_s4,
    sparse_mma_tf32,
    sparse_wgmma,
    start_here,
    structured_sparsity,
    tensor_memory,
    wgmma,
    what_goes_wrong,
    wmma,
)
from .checking import REGISTERED, Exercise

#: Every exercise by its name, in the order of the notebooks: "01.2" is the second of lesson 01.
EXERCISES: dict[str, Exercise] = dict(sorted(REGISTERED.items()))


def exercise(name: str) -> Exercise:
    """The exercise of that name.

    >>> print(exercise("00.1").task)
    Look at the picture of C. **Which lane holds `C[9][3]`, and as which of its four elements?**
    """
    if not is_name(name, EXERCISES):
        raise PtxlabError(f"there is no exercise {quoted(name)}; there are {listing(EXERCISES, 40)}")
    return EXERCISES[name]


@dataclass(frozen=True)
class Lesson:
    """One notebook of the course.

    >>> from ptxlab import lessons
    >>> lessons.LESSONS[0].file, len(lessons.LESSONS[0].exercises)
    ('00-start-here', 4)
    """

    number: str
    slug: str
    question: str
    goals: tuple[str, ...]  # "You will be able to ..."
    minutes: int  # an estimate

    @property
    def file(self) -> str:
        """Name of the notebook, without its extension."""
        return f"{self.number}-{self.slug}" if self.number else self.slug

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """Its exercises, in order; the atlas has none."""
        if not self.number:
            return ()
        return tuple(each for name, each in EXERCISES.items() if name.startswith(f"{self.number}."))

    @property
    def promise(self) -> str:
        """What the first cell of the notebook promises, in Markdown."""
        *others, last = self.goals
        goals = "; ".join([*others, f"and {last}" if others else last])
        return f"**After this lesson you can** {goals}. (We estimate {self.minutes} minutes.)"


LESSONS: tuple[Lesson, ...] = (
    Lesson(
        "00", "start-here", "What does a tensor core do with your registers?",
        (
            "say what a lane, a register and a fragment are",
            "find the lane that holds an element of D",
            "read a register as the elements in it",
        ), 20,
    ),
    Lesson(
        "01", "fragments", "One instruction, 32 lanes: who holds what?",
        (
            "read any fragment layout in the PTX manual: formula, table and picture",
            "find an element of A, B, C or D in lane, register and bits, for every dense shape",
            "say how shape and element type determine the number of registers",
        ), 40,
    ),
    Lesson(
        "02", "element-types", "What number is 0x3C?",
        (
            "read and write s4, u4, b1, FP8, FP6, FP4, tf32, bf16 and f16 by hand",
            "pack elements into a register in the right order",
            "say which types are stored in a larger container, and where the padding is",
            "say what happens when bits are read as the wrong type",
        ), 40,
    ),
    Lesson(
        "03", "structured-sparsity", "How much of a matrix can you throw away?",
        (
            "tell 2:4, 1:2 and pair-wise 4:8 structures apart, and say which type uses which",
            "prune and compress a row by hand",
            "measure what pruning costs, and say what makes it cheaper",
        ), 40,
    ),
    Lesson(
        "04", "metadata-and-selector", "How do four bits record which half is missing?",
        (
            "encode and decode metadata nibbles for every structure",
            "find the lane and the bits that hold a nibble, for every selector",
            "say what happens to metadata that is not read",
        ), 40,
    ),
    Lesson(
        "05", "sparse-mma-m16n8k64-s4", "How can half of A be missing?",
        (
            "encode and decode 4:8 metadata by hand",
            "say which lanes' metadata is read, and in which bits",
            "translate between columns of compressed A and columns of logical A",
        ), 35,
    ),
    Lesson(
        "06", "sparse-mma-m16n8k16-tf32", "What is left of a float32 number in a tensor core?",
        (
            "say which bits of a register tf32 reads",
            "encode 1:2 metadata by hand",
            "find the stored tf32 elements and their nibbles",
        ), 35,
    ),
    Lesson(
        "07", "other-sparse-shapes", "How much is left to learn about sparse mma?",
        (
            "apply what you know to every sparse mma shape",
            "say how type and K determine structure, registers and selectors",
            "write down the layout of every sparse fragment yourself",
        ), 40,
    ),
    Lesson(
        "08", "wmma-sub-byte", "How do you multiply with single bits?",
        (
            "count the elements of a sub-byte fragment",
            "say which leading dimensions are legal",
            "compute a dot product of ±1 values with one XOR and a count",
            "read the C++ API and the PTX behind it, and say which other shapes WMMA has",
        ), 40,
    ),
    Lesson(
        "09", "wgmma", "What if 128 threads act as one?",
        (
            "find an element of D in a warpgroup",
            "write a shared-memory descriptor by hand",
            "say what is asynchronous, and what you must wait for",
        ), 40,
    ),
    Lesson(
        "10", "sparse-wgmma-m64nNk64", "What does a warpgroup do with half of A?",
        (
            "find the stored elements of sparse A and their metadata in a warpgroup",
            "say how N determines the registers of D, and K the metadata lanes",
            "compute the address of an element in a tile",
        ), 35,
    ),
    Lesson(
        "11", "block-scaling", "Sixteen values share one byte: where is it?",
        (
            "quantise a block by hand: largest magnitude, factor, rounding",
            "find the lane and byte that hold a scale factor",
            "say what a scale factor does to the product",
        ), 40,
    ),
    Lesson(
        "12", "numerics", "Why does your GPU's sum differ from NumPy's?",
        (
            "predict a tensor core's rounding from its trace",
            "construct an input on which two chips differ",
            "say what is exact, what is truncated and what is rounded",
        ), 40,
    ),
    Lesson(
        "13", "what-the-chip-runs", "Which instruction does the chip really run?",
        (
            "read the machine code behind a PTX instruction",
            "tell native, split and emulated forms apart",
            "say what a cubin is, what a target is, and what the suffixes a and f mean",
        ), 40,
    ),
    Lesson(
        "14", "on-a-real-gpu", "Do you believe the emulator?",
        (
            "compile and launch a tensor-core kernel from Python",
            "compare emulator and GPU bit for bit",
            "find a fragment layout yourself with one-hot probes",
        ), 40,
    ),
    Lesson(
        "15", "shared-memory-and-banks", "Why does the same read take eight times as long?",
        (
            "count the wavefronts of an access to shared memory by hand",
            "cure bank conflicts by padding or by a swizzle, and say what each costs",
            "say which lane of ldmatrix supplies which address, which lane gets which element, and why the "
            "mma can use it as it is",
        ), 40,
    ),
    Lesson(
        "16", "descriptors-swizzles-and-tma", "Which bytes does a descriptor name?",
        (
            "follow an element from global memory to the byte that wgmma reads",
            "write the descriptor of any slice of a tile, and say what is wrong with a given one",
            "choose the box and the swizzle of a TMA copy",
        ), 40,
    ),
    Lesson(
        "17", "your-first-tensor-core-kernel", "Can you write a tensor-core kernel without a GPU?",
        (
            "write a kernel that loads fragments, multiplies them and stores D, for matrices of many tiles",
            "bring a tile through shared memory and ldmatrix without bank conflicts",
            "say what every lane held at any mma, and where a barrier is missing",
        ), 60,
    ),
    Lesson(
        "18", "what-goes-wrong", "It gives the right numbers: is it right?",
        (
            "find the line behind a race, a missing wait, a missing fence, a deadlock, a bank conflict",
            "tell mistakes that a test can find from those that it finds only by luck",
            "repair a kernel, and prove it by simulating it",
        ), 60,
    ),
    Lesson(
        "19", "how-fast-is-it", "How fast is one instruction, and what would make it faster?",
        (
            "tell latency from throughput, and say how much must be in flight to reach full throughput",
            "say what limits an instruction: its chain, the tensor cores, shared memory or power",
            "predict the cycles of any wgmma, and say when sparsity pays off",
        ), 40,
    ),
    Lesson(
        "20", "from-instruction-to-gemm", "What stands between an instruction and a fast kernel?",
        (
            "say what a larger tile, a swizzle, a pipeline, wgmma, TMA and a cluster each gain, in bytes "
            "or cycles",
            "write one turn of a cp.async pipeline, and choose the size of its ring",
            "predict from a shape how much of a GPU a GEMM can use",
        ), 50,
    ),
    Lesson(
        "21", "sparse-gemm", "What does a sparse product gain, and what does it lose?",
        (
            "say what pruning costs a product, and what another order of columns saves",
            "find any chunk's nibble in the words that a kernel loads",
            "predict from tiles, sizes and bytes when a sparse product pays off",
        ), 45,
    ),
    Lesson(
        "22", "tensor-memory-and-tcgen05", "Where are the sums, if no register holds them?",
        (
            "read and write an instruction descriptor, and say what is wrong with a given one",
            "find any element of D in tensor memory, and in the registers of a thread after tcgen05.ld",
            "say who issues which instruction of tcgen05, in which order, and what a missing step does",
        ), 60,
    ),
    Lesson(
        "23", "block-scaled-tcgen05", "Who brings the scales, and where to?",
        (
            "quantise a matrix to nvfp4 in two levels, and say what each level is for",
            "find the scale of any element in the tile of shared memory and in tensor memory, also of a CTA "
            "pair, and say which bytes an instruction reads",
            "say which sums a scale multiplies, and when, and where published descriptions of the chip "
            "differ",
        ), 60,
    ),
    Lesson(
        "", "atlas", "Every instruction, browsable",
        (
            "find any matrix instruction, its layout and its targets in seconds",
        ), 15,
    ),
)  # fmt: skip
