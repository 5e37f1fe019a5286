"""The lessons and their exercises in order: the question of each lesson, what it teaches, how long it takes.

The minutes are the authors' estimates: no readers were timed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._util.arguments import is_name
from .._util.files import notebooks
from ..errors import PtxlabError, listing, quoted
from . import (  # noqa: F401  # each registers its exercises
    asynchronous_mistakes,
    attention,
    block_scaled_tcgen05,
    block_scaling,
    descriptors,
    element_types,
    epilogue,
    first_kernel,
    fragments,
    gemm_ladder,
    how_fast,
    layouts,
    machine_code,
    mbarriers,
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


#: The question of each lesson, by the name of its notebook.
_QUESTIONS = {
    "00-start-here": "What does a tensor core do with your registers?",
    "01-fragments": "One instruction, 32 lanes: who holds what?",
    "02-element-types": "What number is 0x3C?",
    "14-structured-sparsity": "How much of a matrix can you throw away?",
    "15-metadata-and-selector": "How do four bits record which half is missing?",
    "16-sparse-mma-m16n8k64-s4": "How can half of A be missing?",
    "17-sparse-mma-m16n8k16-tf32": "What is left of a float32 number in a tensor core?",
    "18-other-sparse-shapes": "How much is left to learn about sparse mma?",
    "22-wmma-sub-byte": "How do you multiply with single bits?",
    "05-wgmma": "What if 128 threads act as one?",
    "19-sparse-wgmma-m64nNk64": "What does a warpgroup do with half of A?",
    "25-block-scaling": "Sixteen values share one byte: where is it?",
    "21-numerics": "Why does your GPU's sum differ from NumPy's?",
    "23-what-the-chip-runs": "Which instruction does the chip really run?",
    "24-on-a-real-gpu": "Do you believe the emulator?",
    "04-shared-memory-and-banks": "Why does the same read take eight times as long?",
    "06-descriptors-swizzles-and-tma": "Which bytes does a descriptor name?",
    "07-mbarriers": "When has a copy arrived?",
    "03-your-first-tensor-core-kernel": "Can you write a tensor-core kernel without a GPU?",
    "08-what-goes-wrong": "It gives the right numbers: is it right?",
    "09-what-goes-wrong-asynchronously": "Who says that it has arrived?",
    "10-how-fast-is-it": "How fast is one instruction, and what would make it faster?",
    "11-from-instruction-to-gemm": "What stands between an instruction and a fast kernel?",
    "12-epilogue": "How does D leave the registers, and what does that cost?",
    "20-sparse-gemm": "What does a sparse product gain, and what does it lose?",
    "26-tensor-memory": "Where are the sums, if no register holds them?",
    "27-one-thread-multiplies": "How does one thread start a product of 128 x 256?",
    "28-scale-factors-in-tensor-memory": "Who brings the scale factors, and where to?",
    "29-a-product-in-four-bits": "What does a product in four bits take, and how exact is it?",
    "30-layouts-in-other-words": "How do CuTe and Triton say where an element is?",
    "13-attention": "How does a softmax fit between two matrix products?",
    "atlas": "Every instruction, browsable",
}
#: What the first cell of a notebook promises.
_PROMISE = re.compile(r"\*\*After this lesson you can\*\* (.*)\. \(We estimate (\d+) minutes\.\)")


def _lesson(file: str, question: str) -> Lesson:
    """A lesson with the goals and minutes that its notebook states; none where a reader has changed that."""
    number, slug = (file[:2], file[3:]) if file[0].isdigit() else ("", file)
    notebook = notebooks() / f"{file}.ipynb"
    promise = _PROMISE.search(notebook.read_text(encoding="utf-8")) if notebook.exists() else None
    if promise is None:
        return Lesson(number, slug, question, (), 0)
    *others, last = promise[1].split("; ")
    return Lesson(number, slug, question, (*others, last.removeprefix("and ")), int(promise[2]))


LESSONS: tuple[Lesson, ...] = tuple(_lesson(*row) for row in _QUESTIONS.items())
#: The notebooks that walk through every layout of a family: `ptxlab.shapes`.
SHAPES: tuple[Lesson, ...] = tuple(
    _lesson(f"shapes-{family}", f"Every layout of {family.replace('-sp', '.sp')}")
    for family in ("mma", "mma-sp", "block-scaled", "wmma", "wgmma", "wgmma-sp", "tcgen05", "transfer")
)
