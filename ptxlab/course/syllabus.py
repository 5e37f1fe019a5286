"""The lessons and their exercises in order: the question of each lesson, what it teaches, how long it takes.

The minutes are estimates, by what is in a lesson (`python -m tools.minutes`): no readers were timed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module

from .._util.arguments import is_name
from .._util.files import notebooks
from ..errors import PtxlabError, listing, quoted
from . import exercises
from .checking import REGISTERED, Exercise


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
    part: str = ""  # of the course
    needs: tuple[str, ...] = ()  # names of the lessons that it builds on

    @property
    def file(self) -> str:
        """Name of the notebook, without its extension."""
        return f"{self.number}-{self.slug}" if self.number else self.slug

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """Its exercises, in order; the atlas has none."""
        if not self.number:
            return ()
        return tuple(entry for name, entry in EXERCISES.items() if name.startswith(f"{self.number}."))


#: The parts of the course, and their lessons in order: the name of each, its question, and the names of those
#: that it builds on. The order gives the numbers.
_PARTS: dict[str, dict[str, tuple[str, str]]] = {
    "First steps": {
        "start-here": ("What does a tensor core do with your registers?", ""),
        "fragments": ("One instruction, 32 lanes: who holds what?", "start-here"),
        "your-first-tensor-core-kernel": ("Can you write a tensor-core kernel without a GPU?", "fragments"),
        "element-types": ("What number is 0x3C?", "fragments"),
    },
    "Writing kernels": {
        "shared-memory-and-banks": (
            "Why does the same read take eight times as long?",
            "your-first-tensor-core-kernel",
        ),
        "wgmma": ("What if 128 threads act as one?", "element-types shared-memory-and-banks"),
        "matrix-descriptors": ("Which bytes does a descriptor name?", "wgmma"),
        "swizzles": ("How can adding 2 to a descriptor be right?", "matrix-descriptors"),
        "tma": ("How does one thread copy a whole tile?", "swizzles"),
        "mbarriers": ("When has a copy arrived?", "tma"),
        "what-goes-wrong": ("It gives the right numbers: is it right?", "shared-memory-and-banks"),
        "what-goes-wrong-asynchronously": ("Who says that it has arrived?", "what-goes-wrong mbarriers"),
        "how-fast-is-it": ("How fast is one instruction, and what would make it faster?", "wgmma"),
        "from-instruction-to-gemm": (
            "What stands between an instruction and a fast kernel?",
            "mbarriers how-fast-is-it",
        ),
        "epilogue": (
            "How does D leave the registers, and what does that cost?",
            "what-goes-wrong-asynchronously from-instruction-to-gemm",
        ),
        "attention": (
            "How does a softmax fit between two matrix products?",
            "what-goes-wrong-asynchronously from-instruction-to-gemm",
        ),
    },
    "Sparsity": {
        "structured-sparsity": ("How much of a matrix can you throw away?", "element-types"),
        "metadata-and-selector": ("How do four bits record which half is missing?", "structured-sparsity"),
        "sparse-mma-shapes": ("How much is left to learn about sparse mma?", "metadata-and-selector"),
        "sparse-wgmma-m64nNk64": ("What does a warpgroup do with half of A?", "metadata-and-selector wgmma"),
        "sparse-gemm": (
            "What does a sparse product gain, and what does it lose?",
            "sparse-wgmma-m64nNk64 from-instruction-to-gemm",
        ),
    },
    "Numbers": {
        "numerics": ("Why does your GPU's sum differ from NumPy's?", "element-types wgmma"),
        "wmma-sub-byte": (
            "How little C++ does a tensor core take, and what does it cost?",
            "your-first-tensor-core-kernel element-types",
        ),
        "what-the-chip-runs": ("Which instruction does the chip really run?", "element-types"),
        "on-a-real-gpu": (
            "Do you believe the emulator?",
            "metadata-and-selector numerics what-the-chip-runs",
        ),
    },
    "Blackwell": {
        "block-scaling": ("Sixteen values share one byte: where is it?", "element-types"),
        "tensor-memory": ("Where are the sums, if no register holds them?", "wgmma"),
        "one-thread-multiplies": (
            "How does one thread start a product of 128 x 256?",
            "mbarriers tensor-memory",
        ),
        "scale-factors-in-tensor-memory": (
            "Who brings the scale factors, and where to?",
            "block-scaling one-thread-multiplies",
        ),
        "a-product-in-four-bits": (
            "What does a product in four bits take, and how exact is it?",
            "scale-factors-in-tensor-memory",
        ),
    },
    "Other languages": {
        "layouts-in-other-words": (
            "How do CuTe and Triton say where an element is?",
            "shared-memory-and-banks wgmma",
        ),
        "from-triton-to-registers": (
            "What became of your eleven lines of Triton?",
            "tma what-goes-wrong layouts-in-other-words",
        ),
    },
    "The same bits": {
        "why-do-the-bits-differ": (
            "Same weights, same question: why another answer?",
            "numerics what-goes-wrong",
        ),
    },
}


def module_name(slug: str) -> str:
    """The module of a lesson in `ptxlab.course.exercises`: named after its notebook, without the number.

    >>> module_name("sparse-wgmma-m64nNk64")
    'sparse_wgmma_m64nnk64'
    """
    return slug.replace("-", "_").lower()


_ROWS = [(part, name, *row) for part, rows in _PARTS.items() for name, row in rows.items()]
for _, _slug, _, _ in _ROWS:
    import_module(f"{exercises.__name__}.{module_name(_slug)}")  # registers the lesson's exercises

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


#: What the first cell of a notebook promises.
_PROMISE = re.compile(r"\*\*After this lesson you can\*\* (.*)\. \(We estimate (\d+) minutes\.\)")


def _lesson(file: str, question: str, part: str = "", needs: tuple[str, ...] = ()) -> Lesson:
    """A lesson with the goals and minutes that its notebook states; none if a reader has changed them."""
    number, slug = (file[:2], file[3:]) if file[0].isdigit() else ("", file)
    notebook = notebooks() / f"{file}.ipynb"
    promise = _PROMISE.search(notebook.read_text(encoding="utf-8")) if notebook.exists() else None
    if promise is None:
        return Lesson(number, slug, question, (), 0, part, needs)
    *others, last = promise[1].split("; ")
    goals = (*others, last.removeprefix("and "))
    return Lesson(number, slug, question, goals, int(promise[2]), part, needs)


LESSONS: tuple[Lesson, ...] = (
    *(
        _lesson(f"{number:02d}-{name}", question, part, tuple(needs.split()))
        for number, (part, name, question, needs) in enumerate(_ROWS)
    ),
    _lesson("atlas", "Every instruction, browsable"),
)
#: The notebooks that walk through every layout of a family: `ptxlab.shapes`.
SHAPES: tuple[Lesson, ...] = tuple(
    _lesson(f"shapes-{family}", f"Every layout of {family.replace('-sp', '.sp')}")
    for family in ("mma", "mma-sp", "block-scaled", "wmma", "wgmma", "wgmma-sp", "tcgen05", "transfer")
)
#: Notebooks in which readers write more than an exercise.
PROJECTS: tuple[Lesson, ...] = (
    _lesson("project-gemm", "Can you write a matrix product that keeps the tensor cores busy?"),
)
#: Ways through the course, each by its last lessons; what these build on comes before them.
TRACKS: dict[str, tuple[str, ...]] = {
    "the whole course": tuple(name for _, name, _, _ in _ROWS),
    "a first course": ("what-goes-wrong", "sparse-mma-shapes", "numerics", "what-the-chip-runs"),
    "a Hopper kernel next week": ("epilogue", "attention"),
    "from Triton or CuTe": ("from-triton-to-registers", "from-instruction-to-gemm"),
    "Blackwell": ("a-product-in-four-bits",),
}


def lessons_of(track: str) -> tuple[Lesson, ...]:
    """The lessons of a way through the course, in order.

    >>> [lesson.slug for lesson in lessons_of("from Triton or CuTe")][:3]
    ['start-here', 'fragments', 'your-first-tensor-core-kernel']
    """
    if not is_name(track, TRACKS):
        raise PtxlabError(f"there is no track {quoted(track)}; there are {listing(TRACKS, 40)}")
    by_name = {lesson.slug: lesson for lesson in LESSONS}
    wanted, todo = set(), list(TRACKS[track])
    while todo:
        lesson = by_name[todo.pop()]
        wanted.add(lesson)
        todo += lesson.needs
    return tuple(lesson for lesson in LESSONS if lesson in wanted)
