"""Lesson 27: the product that one thread issues: its descriptor, its steps, its kernel; the pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ...errors import PtxlabError
from ...isa.instruction_descriptor import InstructionDescriptor
from ...isa.zero_column_mask import ZeroColumnMask
from ...views import Picture
from ...views.charts import table
from ...views.colour_keys import VECTOR_HUES
from ...views.grid import Entry, uniform_grid
from ..answers import WrongForm, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import ExplainedPart, explained_part
from .tensor_memory import load_form, mma_form

# -- what the lesson shows -----------------------------------------------------------------------------------


def issuers() -> Picture:
    """Who issues each instruction, and how one knows that it is done.

    >>> issuers().grids[0].at(1, 0).text
    'one thread'
    """
    rows = {
        "alloc, dealloc": ["one warp", "when the warp goes on"],
        "mma, cp": ["one thread", "commit, then wait at an mbarrier"],
        "commit": ["the thread that issued them", "arrives at the mbarrier when they are complete"],
        "ld, st": ["each warp, its own 32 lanes", "wait::ld, wait::st"],
    }
    notes = ("PTX ISA, Issue Granularity", "with cta_group::2: one thread of a pair of CTAs issues mma")
    return table(rows, ["who issues it", "how you know that it is done"], "tcgen05 by issuer", notes)


def masked(skip: int) -> Picture:
    """The columns of B that a zero-column mask makes count as zeros, for each M of .ws.

    >>> masked(3).notes[0]
    '0x0003028000000000: 4 columns of B as they are and 3 as zeros, in turn'
    """
    mask = ZeroColumnMask(use=4, skip=skip)
    n = 64
    rows = (128, 64, 32)
    zeros = [mask.zeros(m, n) for m in rows]

    def entry(row: int, column: int) -> Entry:
        meaning = "counts as zero" if zeros[row][column] else "as it is"
        tooltip = f"M = {rows[row]}, column {column}: {meaning}"
        return Entry((), None if zeros[row][column] else 2, tooltip)

    names = [f"M = {m}" for m in rows]
    grid = uniform_grid((3, n), entry, names, 8, ("", "column of B"), density="close")
    grid = replace(grid, column_rules=((32, 1, 2), *((at, 2, 3) for at in (16, 32, 48))))
    notes = (
        f"0x{mask.code:016x}: {str(mask).rstrip('.')}",
        "grey columns count as zeros; with M = 64 and 32 the runs start again in each half or quarter",
    )
    return Picture("A mask in runs", notes, (grid,))


_WHO = ("warp 0", "one thread", "tensor core", "all warps")

#: The steps of a kernel around tcgen05.mma, in order: who takes the step, and what happens without it.
STEPS = {
    "alloc": ("warp 0", "There is no address: D would be in memory that belongs to another block."),
    "st.shared": ("all warps", "A and B are not there."),
    "fence.proxy": (
        "all warps",
        "The tensor core reads shared memory through another path, the async proxy, and may see what was "
        "there before.",
    ),
    "barrier": ("all warps", "One thread issues the product before the others have stored A and B."),
    "mma": ("one thread", "D keeps what it held before."),
    "commit": ("one thread", "Nothing arrives at the mbarrier, and the block waits forever."),
    "try_wait": ("all warps", "The product is not complete when D is loaded: some of its sums are missing."),
    "fence::after": (
        "all warps",
        "tcgen05.ld is itself asynchronous: without the fence it may run before the wait.",
    ),
    "ld": ("all warps", "D stays in tensor memory, where no other instruction can read it."),
    "wait::ld": ("all warps", "The registers may be read before they are filled."),
    "dealloc": (
        "warp 0",
        "The manual requires it: while the columns are allocated, a later block waits for them in alloc.",
    ),
}


def without(left_out: str) -> Picture:
    """The steps of a kernel, and what happens if the step `left_out` is missing; "nothing" leaves none out.

    >>> without("commit").notes[0]
    'without commit: Nothing arrives at the mbarrier, and the block waits forever'
    """
    names = list(STEPS)

    def entry(row: int, who: int) -> Entry:
        name = names[row]
        issued = _WHO[who] == STEPS[name][0]
        text = name if issued else ""
        if _WHO[who] == "tensor core" and name in ("commit", "try_wait"):
            text = "D += A B"
        if not text:
            return Entry(role="blank")
        gone = name == left_out and issued
        words, tooltip = f"no {text}" if gone else text, f"{_WHO[who]}: {text}"
        return Entry((words,), VECTOR_HUES[who] * 4 + 1, tooltip, "mark" if gone else "plain")

    rows = [str(step) for step in range(1, len(names) + 1)]
    grid = uniform_grid((len(names), len(_WHO)), entry, rows, _WHO, ("step", ""), density="close")
    notes: tuple[str, ...] = ("each step comes after the one above it",)
    if left_out in STEPS:
        notes = (f"without {left_out}: {STEPS[left_out][1].rstrip('.')}",)
    return Picture("From alloc to dealloc", notes, (grid,))


# -- the kernel, part by part --------------------------------------------------------------------------------

#: The parts of the kernel of a tcgen05.mma: (name, a text in its first line): what to notice there.
STOPS = {
    ("what there is", 'extern "C"'): "128 threads, a warpgroup: one warp for each 32 lanes. In "
    "shared memory there are A, B, a word for an address, and an mbarrier.",
    ("alloc", "// Allocate"): "All threads of warp 0 execute `alloc`, which writes the address to shared "
    "memory. Then the block declares that it will not allocate again, so other blocks on the SM need not "
    "wait for it.",
    ("hand over", "// One arrival"): "The mbarrier expects one arrival, which comes from `commit`. After "
    "the barrier of the block all threads may read the address. The two fences order what happens in "
    "tensor memory before and after it.",
    ("where things are", "own_lanes ="): "Each warp adds its own lanes to an address. Both descriptors are a "
    "constant, without a swizzle, and the address of the tile in units of 16 bytes. Then a loop begins, "
    "with one product in each iteration.",
    ("A and B", "// A and B"): "Threads store core matrices, 8 rows of 16 bytes. The fence hands them over "
    "to the async proxy, through which the tensor core reads.",
    ("C", "// C to tensor memory"): "D = A B + C, where C is what is in the place of D beforehand. Each "
    "thread stores its lane, column by column, and waits for its stores (`wait::st`); after the barrier all "
    "of C is there.",
    ("mma", "// One thread"): "`elected` picks one thread of warp 0. It has everything: the address of D, "
    "two descriptors of shared memory, the instruction descriptor, and whether to add C. `commit` follows "
    "immediately.",
    ("wait", "wait(barrier"): "All threads wait. An mbarrier counts phases, whose parity changes from one "
    "product to the next.",
    ("D", "// D to"): "Each thread loads its lane, and `load` waits (`wait::ld`) after each `ld`. That is "
    "simple but slow: a real kernel loads 32 or more columns at once and waits for all of them.",
    ("dealloc", "if (warp == 0)"): "When all threads have loaded, warp 0 frees the columns.",
}
PARTS = [name for name, _ in STOPS]


def part(source: str, stop: str) -> ExplainedPart:
    """A part of the kernel of a tcgen05.mma, with its explanation.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    >>> sum(len(part(ins.kernel, stop).lines) for stop in PARTS)
    76
    """
    return explained_part(source, stop, STOPS)


# -- exercises -----------------------------------------------------------------------------------------------

_WANTED = InstructionDescriptor("f16", m=128, n=160, a="bf16", b="bf16", d="f32")


def _decoded(number: int) -> tuple[InstructionDescriptor, str]:
    """The fields of a reader's descriptor, and what is wrong with its bits if they are not a descriptor."""
    try:
        return InstructionDescriptor.decode(number, "f16"), ""
    except PtxlabError as error:
        return _WANTED, f"That is not a descriptor of `kind::f16`: {error}."


@checks("27.1")
def _build(answer: object) -> Sentences:
    (number,) = whole_numbers(answer, 1, "one number of 32 bits")
    fields, refusal = _decoded(number)
    m, n = _WANTED.m, _WANTED.n
    types = _WANTED.code & 0xFFFF
    return {
        correct(number == _WANTED.code): f"{n} / 8 = {n // 8} begins at bit 17, {m} / 16 = {m // 16} begins "
        "at bit 24, and each of the three types is a 1, at bits 4, 7 and 10. A kernel usually has it as a "
        "constant.",
        when(number == types | n << 17 | m << 24): "M and N are not stored as they are: units of 16, and of "
        "8.",
        when(number == types | n // 8 << 17 | m // 16 << 23): "Bit 23 is not used: M begins at bit 24.",
        when(number == types | n // 8 << 17 | m // 8 << 24): "M counts units of 16; only N counts units of "
        "8.",
        when(number == types | n // 16 << 17 | m // 16 << 24): "N counts units of 8; only M counts units of "
        "16.",
        when(refusal): refusal,
        when(fields.m != m): f"It says M = {fields.m}. Bits 24 to 28 hold M / 16.",
        when(fields.n != n): f"M is right. It says N = {fields.n}. Bits 17 to 22 hold N / 8.",
        when((fields.a, fields.b) != ("bf16", "bf16")): "The shape is right. The types "
        "of A (bits 7 to 9) and B (bits 10 to 12) are not: what is the code of bf16?",
        when(fields.d != "f32"): "Shape and the types of A and B are right. D would be "
        "f16: look at bits 4 and 5.",
        otherwise: "Shape and types are right, but some other bit is 1: transpose, negate or saturate.",
    }


_MEANT = InstructionDescriptor("f16", m=128, n=192, a="bf16", b="bf16", d="f32")
_SLIPPED = _MEANT.code & ~(31 << 24) | _MEANT.m // 16 << 23


@checks("27.2")
def _repair(answer: object) -> Sentences:
    (number,) = whole_numbers(answer, 1, "one number of 32 bits")
    fields, refusal = _decoded(number)
    slipped = InstructionDescriptor.decode(_SLIPPED, "f16")
    return {
        correct(number == _MEANT.code): f"It said M = {slipped.m}: 128 / 16 had been shifted by 23 bits "
        "instead of 24. That is a legal product, with layout F, so nothing complains. The pattern of the "
        "lanes gives it away.",
        when(number == _SLIPPED): "That is the descriptor that the kernel has.",
        when(refusal): refusal,
        when(fields.m == slipped.m): f"Its M is still {slipped.m}. M / 16 belongs in bits 24 to 28.",
        when(fields.m == 256): "M = 256 is for two CTAs. M / 16 belongs in bits 24 to 28.",
        when(fields.m != _MEANT.m): f"It says M = {fields.m}. M / 16 belongs in bits 24 to 28.",
        when(fields.n != _MEANT.n): f"M is right now, but it says N = {fields.n}. Leave N as it was.",
        otherwise: "M and N are right. Leave the lower 16 bits as they were: the types, and no other flag.",
    }


#: The steps in the order in which the exercise numbers them.
_SHUFFLED = (
    "ld", "commit", "alloc", "fence.proxy", "dealloc",
    "try_wait", "mma", "wait::ld", "st.shared", "fence::after",
)  # fmt: skip
#: (earlier step, later step, why); the hint for a wrong order is the first of these rules that it breaks.
_ORDER_RULES = (
    ("alloc", "mma", "D needs a place before a product can go there"),
    ("st.shared", "fence.proxy", "the fence makes the stores *before* it visible to the tensor core"),
    ("fence.proxy", "mma", "without the fence before it, the product may read old contents of shared memory"),
    ("mma", "commit", "`commit` covers what its thread has issued before it"),
    ("commit", "try_wait", "nothing arrives at the mbarrier before `commit` is issued"),
    ("try_wait", "ld", "the product is complete only when the wait is over"),
    ("try_wait", "fence::after", "this fence comes after the wait, and orders what follows"),
    ("fence::after", "ld", "`ld` is asynchronous: the fence keeps it after the wait"),
    ("ld", "wait::ld", "`wait::ld` waits for loads that have already been issued"),
    ("wait::ld", "dealloc", "tensor memory may be freed only when D has been loaded"),
)


@checks("27.3")
def _order(answer: object) -> Sentences:
    order = whole_numbers(answer, len(_SHUFFLED), "a list of the numbers 0 to 9")
    if sorted(order) != list(range(len(_SHUFFLED))):
        raise WrongForm(f"{list(order)}: every number from 0 to 9 appears once in an order.")
    place = {_SHUFFLED[number]: at for at, number in enumerate(order)}
    broken = [
        f"You have number {_SHUFFLED.index(later)} before number {_SHUFFLED.index(earlier)}, but {why}."
        for earlier, later, why in _ORDER_RULES
        if place[earlier] > place[later]
    ]
    if not broken:
        return {
            correct(True): "Three of them are easily forgotten, since a kernel often gives the right "
            "numbers without them: the fence for the async proxy, the fence after the wait, and `wait::ld`. "
            "`dealloc` is also easily forgotten; then expect the next blocks to hang in `alloc`."
        }
    return {
        when(order == tuple(range(len(_SHUFFLED)))): "That is the order in the list. What comes first, and "
        "what comes last?",
        otherwise: broken[0],
    }


class _ProductAndLoad(NamedTuple):
    """A kernel's product and a load of its D, with the thread and register that the exercise asks about."""

    mnemonic: str
    descriptor: int
    d: int  # address of D
    load: str
    address: int  # of the load
    thread: int
    register: int

    def element(self) -> tuple[int, int]:
        """Row and column of D in that register."""
        lane, column = load_form(self.load).locate(self.thread, self.register, self.address)
        form = mma_form(self.mnemonic, self.descriptor)
        ((row, col),) = form.d.holds(lane - (self.d >> 16), column - (self.d & 0xFFFF))
        return row, col


_KERNELS = (
    _ProductAndLoad("tcgen05.mma.cta_group::1.kind::f16", 0x8100490, 0x40, "32x32b.x16", 0x60, 77, 5),
    _ProductAndLoad("tcgen05.mma.cta_group::1.kind::f16", 0x4100490, 0x100080, "16x256b.x4", 0x1000A0, 58, 9),
    _ProductAndLoad("tcgen05.mma.ws.cta_group::1.kind::f16", 0x2200490, 0x20, "32x32b.x32", 0x20, 70, 11),
)


@checks("27.4")
def _capstone(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 6, "three times row and column")
    pairs = list(zip(submitted[::2], submitted[1::2], strict=True))
    first, second, third = (kernel.element() for kernel in _KERNELS)
    _, halves, quarters = _KERNELS
    m64, ws = (mma_form(kernel.mnemonic, kernel.descriptor) for kernel in (halves, quarters))
    lane, _ = load_form(halves.load).locate(halves.thread, halves.register, halves.address)
    return {
        correct(pairs == [first, second, third]): "That is all there is between a Blackwell tensor core and "
        "a thread. Every GEMM epilogue does this arithmetic, usually hidden in a CuTe layout.",
        when(pairs[0][1] == first[1] - 32): "The first kernel: the load begins 0x20 columns after the start "
        "of D, and they count.",
        when(pairs[0][1] == first[1] + 0x40): "The first kernel: that is the column of tensor memory. D "
        "begins at column 0x40.",
        when(pairs[0] != first): "The first kernel: M = 128, so lanes are rows; `32x32b`, so threads are "
        "lanes and registers are columns from 0x60 on, while D begins at 0x40.",
        when(pairs[1][0] == lane): "The first is right. The second kernel: that is the lane. M = 64, and D "
        "begins at lane 16.",
        when(pairs[1][0] != second[0]): "The first is right. The second kernel: the load gives the lane. M "
        f"= {m64.m}: subtract the 16 lanes at which D begins; then each 32 lanes have 16 rows.",
        when(pairs[1][1] == second[1] - 32): "The row is right. The second kernel's load begins 0x20 "
        "columns after the start of D.",
        when(pairs[1] != second): "The row is right. The second kernel: four registers for every eight "
        "columns, two of them neighbours in the same row.",
        when(pairs[2][0] == quarters.thread): f"Two are right. The third kernel: M = {ws.m}, so there is no "
        f"row {quarters.thread}. The lanes beyond hold other columns of the same rows.",
        when(pairs[2][0] != third[0]): f"Two are right. The third kernel: M = {ws.m}; each 32 lanes "
        "have all rows.",
        when(pairs[2][1] == quarters.register): "Two are right, and the row. Which group of columns is in "
        "these 32 lanes?",
        otherwise: f"Two are right, and the row. N = {ws.n}: each 32 lanes have a quarter of the columns.",
    }
