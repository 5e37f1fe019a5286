"""Lesson 10: eight broken kernels; the reader names the line, or repairs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_int
from ...errors import PtxlabError, counted, quoted
from ...gemm.matmul import matmul
from ...simulation import Simulation
from ...simulator import HazardError
from ...simulator.debug import DebugSession
from ...simulator.kernel import Kernel
from ...simulator.schedule import Agent, in_order
from ...simulator.schedules.explore import Schedules
from ...views import Picture
from ...views.annotated_source import annotated_html, source_html
from ...views.grid import Entry, uniform_grid
from ...views.waiting_picture import waiting_html
from ..answers import WrongForm, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import (
    compiled,
    judged,
    kernel,
    normal_numbers,
    reported,
    same,
    simulated,
    source_parts,
    where,
)
from .your_first_tensor_core_kernel import INS, LDMATRIX, LOAD, MMA, STORE

# -- the kernels ---------------------------------------------------------------------------------------------

_LINES = '\n#line 1 "kernel"\n'  # inlined code belongs to the line that calls it


@dataclass(frozen=True)
class ExpectedLaunch:
    """One launch of a kernel: the arguments, which of them it writes, and what should be there."""

    blocks: int
    threads: int
    arguments: tuple[object, ...]
    output: NDArray[np.float32]
    expected: NDArray[Any]
    sizes: str = ""  # in words, such as "n = 160"

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The arguments that are arrays."""
        return [argument for argument in self.arguments if isinstance(argument, np.ndarray)]


#: Of a kernel: the one that the lesson shows, and those that a repair must also do well in.
Launches = Sequence[Callable[[], ExpectedLaunch]]


@dataclass(frozen=True)
class BrokenKernel:
    """A kernel of lesson 10 or 11, shown with line numbers; what it does is folded away below.

    >>> print(broken(2).text.splitlines()[3].strip())
    if (row > M)
    """

    number: int
    text: str
    launches: Launches
    functions: str  # that it calls
    changed: bool = False  # by the reader: then nothing is folded away

    @property
    def source(self) -> str:
        """All of it, with the functions that it calls: `ptxlab.kernel` takes it."""
        return f"{self.functions}{_LINES}{self.text}"

    def edited(self, edit: dict[int, str]) -> BrokenKernel:
        """The kernel with other text in some of its lines, by their numbers.

        >>> broken(4).edited({4: "int column = 8; {"}).text.splitlines()[3]
        'int column = 8; {'
        """
        return replace(self, text=_with_lines(self.text, edit), changed=True)

    def simulate(self, **options: Any) -> Simulation:
        """Its launch, simulated; options as in `Kernel.simulate`.

        >>> sum(broken(6).simulate().conflicts.values())
        48
        """
        return self._run(**options)[0]

    def debug(self) -> DebugSession:
        """Its launch, to step through.

        >>> broken(6).debug().run().stopped
        'the end'
        """
        launch = self.launches[0]()
        return self._kernel.debug(launch.blocks, launch.threads, *launch.arguments)

    def _run(self, **options: Any) -> tuple[Simulation, ExpectedLaunch]:
        launch = self.launches[0]()
        options = {"show": False, **options}
        result = self._kernel.simulate(launch.blocks, launch.threads, *launch.arguments, **options)
        return result, launch

    def in_order(self, *agents: Agent) -> ExpectedLaunch:
        """Its launch behind a simulation in which one after the other goes on until it waits or ends."""
        return self._run(schedule=in_order(*agents), check=False)[1]

    def check(self) -> Schedules:
        """Every schedule of its launch."""
        launch = self.launches[0]()
        return self._kernel.check(launch.blocks, launch.threads, *launch.arguments)

    def wrong_on_gpu(self) -> int:
        """How many elements of the output are wrong after its launch on a GPU."""
        launch = self.launches[0]()
        kernel(self.source).launch(launch.blocks, launch.threads, *launch.arguments)
        return int((launch.output != launch.expected).sum())

    @property
    def _kernel(self) -> Kernel:
        return _own_lines(kernel(self.source), self.text)

    def __repr__(self) -> str:
        return "\n".join(f"{number:3}  {line}" for number, line in enumerate(self.text.splitlines(), 1))

    def _repr_html_(self) -> str:
        if self.changed:
            return self._outcome()
        summary = "Which line is wrong? Decide first; then open this to see what the simulation says."
        return (
            f'{source_html(self.text)}<details style="margin: 6px 0 12px">'
            f'<summary style="cursor: pointer">{summary}</summary>{self._outcome()}</details>'
        )

    def _outcome(self) -> str:
        try:
            result, launch = self._run()
        except HazardError as error:
            picture = waiting_html(error.waiting)
            return f"<p>The simulation stops.</p>{picture}{source_html(self.text, error.hazards)}"
        wrong = launch.output != launch.expected
        numbers = f"All {wrong.size} elements of the output are right."
        if wrong.any():
            numbers = f"{wrong.sum()} of {wrong.size} elements of the output are wrong."
        hazards = f"{counted(len(result.hazards), 'hazard')}." if result.hazards else "No hazards."
        picture = _pattern(wrong)._repr_html_() if wrong.any() else ""
        return f"<p>{numbers} {hazards}</p>{picture}{annotated_html(result)}"


def _with_lines(text: str, edit: object) -> str:
    """The text with the lines of the edit."""
    lines = text.splitlines()
    if not isinstance(edit, dict) or not edit:
        raise PtxlabError(
            f"found {quoted(edit)}; an edit says which lines change and what they become: "
            '`{2: "the new text of line 2"}`'
        )
    for line, new in edit.items():
        if type(line) is not int or not 1 <= line <= len(lines):
            raise PtxlabError(f"{quoted(line)} is not a line of the kernel: it has lines 1 to {len(lines)}")
        if not isinstance(new, str):
            raise PtxlabError(f"line {line}: found {quoted(new)}; its new text goes into quotes")
        lines[line - 1] = new
    return "\n".join(lines)


def _own_lines(built: Kernel, text: str) -> Kernel:
    """The kernel with the reader's text as its source: lines are counted there."""
    return Kernel(built.module, built.function, built.target, built.ptx, text)


def product(
    threads: int, N: int, K: int, seed: int, *sizes: int, first: float | None = None
) -> ExpectedLaunch:
    """A of 16 x K times B by columns; `sizes` are the last arguments of the kernel, `first` is A[0][0]."""
    A, B = normal_numbers((16, K), seed), normal_numbers((K, N), seed + 50)
    if first is not None:
        A[0, 0] = first
    D = np.full((16, N), np.nan, np.float32)
    arguments = (A, np.ascontiguousarray(B.T), D, *sizes)
    said = f"N = {N}, K = {K}" + (f", A[0][0] = {first}" if first is not None else "")
    return ExpectedLaunch(1, threads, arguments, D, matmul(A, B, instruction=INS), said)


def launches(launch: Callable[..., ExpectedLaunch], *rows: tuple[Any, ...]) -> Launches:
    """One for each row of arguments; the first is shown."""
    return [partial(launch, *row) for row in rows]


def _bias() -> ExpectedLaunch:
    M, N = 10, 20
    D, bias = (normal_numbers(shape, 2).astype(np.float32) for shape in ((M, N), (N,)))
    out = np.full((M, N), np.nan, np.float32)
    return ExpectedLaunch(2, 128, (D, bias, out, M, N), out, np.maximum(D + bias, 0))


def _fragment() -> ExpectedLaunch:
    A = np.arange(256, dtype=np.float16).reshape(16, 16)
    B = np.random.default_rng(3).integers(-8, 9, (16, 8)).astype(np.float16)
    D = np.full((16, 8), np.nan, np.float32)
    return ExpectedLaunch(1, 32, (A, np.ascontiguousarray(B.T), D), D, INS(A, B))


def _row_max(M: int) -> ExpectedLaunch:
    D = normal_numbers((M, 8), 5).astype(np.float32) - 4  # some rows have no number above 0
    most = np.full(M, np.nan, np.float32)
    return ExpectedLaunch(1, 32, (D, most, M), most, D.max(axis=1), f"M = {M}")


_LAUNCHES: tuple[Launches, ...] = (
    launches(lambda N, K: product(4 * N, N, K, 1, N, K), (32, 48), (16, 16), (24, 80)),
    [_bias],
    [_fragment],
    launches(lambda N, K, first: product(32, N, K, 4, N, K, first=first), (24, 32, None), (40, 48, np.inf)),
    launches(_row_max, (5,), (8,), (1,)),
    [lambda: product(32, 32, 16, 6)],
    [lambda: product(32, 8, 64, 7, 64)],
)


def broken_kernels(file: str, launches: Sequence[Launches]) -> tuple[BrokenKernel, ...]:
    """The kernels of a file, which begins with what they call beside the functions of lessons 02 and 04."""
    functions, *texts = source_parts(file)
    before = f"{MMA}{LOAD}{STORE}{LDMATRIX}\n{functions}\n"
    pairs = zip(texts, launches, strict=True)
    return tuple(BrokenKernel(number, text, rows, before) for number, (text, rows) in enumerate(pairs, 1))


def chosen(number: int, kernels: Sequence[BrokenKernel]) -> BrokenKernel:
    """The kernel of that number, counted from 1."""
    if not 1 <= as_int(number, "number") <= len(kernels):
        raise PtxlabError(f"number={quoted(number)}: there are broken kernels 1 to {len(kernels)}")
    return kernels[number - 1]


_KERNELS = broken_kernels("broken_kernels.cu", _LAUNCHES)


def broken(number: int) -> BrokenKernel:
    """Kernel 1 to 7 of the lesson.

    >>> broken(7).simulate().hazards[0].kind
    'missing wait'
    """
    return chosen(number, _KERNELS)


def sources() -> list[str]:
    """The sources of the kernels, for the record of their PTX."""
    return [program.source for program in _KERNELS]


# -- what the lesson shows -----------------------------------------------------------------------------------

#: Orders in which two warps may write (W) and read (R) shared memory, the warp's number behind the letter.
ORDERS = ("W0 W1 R0 R1", "W0 W1 R1 R0", "W1 W0 R0 R1", "W0 R0 W1 R1", "W1 R1 W0 R0", "W1 W0 R1 R0")


def order(order: int) -> Picture:
    """y of kernel 0 if its two warps happen to run in one of the six orders.

    >>> [order(each).notes[1] for each in (1, 4)]
    ['all elements are right', '32 of 64 elements are wrong, the first is y[0]']
    """
    x, s = np.arange(64), np.full(64, -1)
    y = np.full(64, -1)
    for step in ORDERS[order - 1].split():
        threads = np.arange(32) + 32 * int(step[1])
        if step[0] == "W":
            s[threads] = x[threads]
        else:
            y[threads] = s[63 - threads]
    wrong = y != x[::-1]

    def entry(row: int, column: int) -> Entry:
        at = 16 * row + column
        if wrong[at]:
            return judged("?", f"y[{at}] = what was in s[{63 - at}] before", True)
        return judged(str(y[at]), f"y[{at}] = {y[at]}", False)

    grid = uniform_grid((4, 16), entry, [f"y[{first}]" for first in range(0, 64, 16)], 1)
    words = {"W": "writes", "R": "reads"}
    steps = ", ".join(f"warp {step[1]} {words[step[0]]}" for step in ORDERS[order - 1].split())
    return Picture(f"y after order {order}", (steps, where(wrong, "y")), (grid,))


def _pattern(wrong: NDArray[np.bool_]) -> Picture:
    """Which elements of an output are wrong."""
    table = np.atleast_2d(wrong)

    def entry(row: int, column: int) -> Entry:
        bad = bool(table[row, column])
        return judged("x" if bad else "·", f"D[{row}][{column}] is {'wrong' if bad else 'right'}", bad)

    grid = uniform_grid((len(table), table.shape[1]), entry, 1, 1, ("m", "n"))
    return Picture("Which elements of D are wrong", (where(wrong),), (grid,))


# -- find the line -------------------------------------------------------------------------------------------


def line_verdict(
    answer: object, kernel: BrokenKernel, line: int, why: str, hints: dict[int, str], nudge: str
) -> Sentences:
    """The verdict on a line number; `hints` are for the lines that readers choose most."""
    lines = kernel.text.splitlines()
    (number,) = whole_numbers(answer, 1, "the number of a line, such as 1")
    text = lines[number - 1].strip() if 1 <= number <= len(lines) else ""
    return {
        correct(number == line): why,
        when(not 1 <= number <= len(lines)): f"The kernel has {len(lines)} lines, counted from 1.",
        when(number in hints): hints.get(number, ""),
        when(text in ("", "}")): f"There is no statement to blame. {nudge}",
        otherwise: f"`{text}` is as it should be. {nudge}",
    }


def wrong_in(wrong: NDArray[np.bool_], launch: ExpectedLaunch, name: str = "D") -> str:
    """How many elements are wrong, which is the first, and with which sizes."""
    return f"{where(wrong, name)} ({launch.sizes})" if launch.sizes else where(wrong, name)


def repaired(
    answer: object, kernel: BrokenKernel, advice: str = ""
) -> tuple[Simulation, NDArray[np.bool_], ExpectedLaunch]:
    """The kernel with the reader's lines: the first launch that goes wrong, or the last one.

    What came out, and which elements are wrong; the words "{sizes}" in `advice` become those of the launch.
    """
    try:
        whole = _with_lines(kernel.text, answer)
    except PtxlabError as error:
        raise WrongForm(f"{error}.") from None
    if whole.split() == kernel.text.split():
        raise WrongForm("That is the kernel as it was.")
    built = _own_lines(compiled(whole, "the kernel", kernel.functions), whole)
    for prepare in kernel.launches:
        launch = prepare()
        advice_here = advice.replace("{sizes}", launch.sizes)
        result = simulated(built, (launch.blocks, 1), launch.threads, launch.arguments, advice_here)
        wrong = launch.output != launch.expected
        if wrong.any() or result.hazards:
            break
    return result, wrong, launch


def is_right(result: Simulation, wrong: NDArray[np.bool_]) -> bool:
    """Whether a repair left nothing to complain about."""
    return not wrong.any() and not result.hazards


def repair_verdict(
    answer: object, kernel: BrokenKernel, why: str, hints: dict[str, str], nudge: str, advice: str = ""
) -> Sentences:
    """The verdict on a repair; `hints` are for kinds of hazards, `advice` is for a simulation that stops."""
    result, wrong, launch = repaired(answer, kernel, advice)
    kinds = {hazard.kind for hazard in result.hazards}
    return {
        correct(is_right(result, wrong)): why,
        **{when(kind in kinds): hint for kind, hint in hints.items()},
        **reported(result),
        otherwise: f"{wrong_in(wrong, launch)}. {nudge}",
    }


@checks("10.1")
def _second_barrier(answer: object) -> Sentences:
    result, wrong, launch = repaired(answer, broken(1), "All threads of the block have to reach a barrier.")
    races = [hazard for hazard in result.hazards if hazard.kind == "race"]
    return {
        correct(is_right(result, wrong)): "A tile needs two barriers in every iteration: one "
        "between writing and reading, one between reading and writing again. With two tiles, used "
        "alternately, one barrier is enough, and copies overlap the `mma`s.",
        when(any(hazard.opcode.startswith("ldmatrix") for hazard in races)): "Now a warp reads elements of "
        "the tile that others may not have written yet: the barrier that was there is needed as well.",
        when(races): "A fast warp still fills the tile for the next iteration while a slow one reads it. "
        "What separates the `ldmatrix` of one iteration from the copy of the next, in *every* iteration?",
        **reported(result),
        otherwise: f"{wrong_in(wrong, launch)}. The arithmetic was right: only the waiting needs repair.",
    }


@checks("10.2")
def _past_the_end(answer: object) -> Sentences:
    hurt = "That is where it goes wrong: the memory ends there. Which line let the thread get that far?"
    return line_verdict(
        answer,
        broken(2),
        4,
        "Row M is one too many: the last is M - 1. The error names the line of the access; the mistake is "
        "in the guard before it. And it takes an unlucky size: if 256 threads had 256 elements, nothing "
        "would happen.",
        {
            6: hurt,
            7: hurt,
            2: "The number of the thread in the grid is right. More threads than elements are fine.",
            3: "20 elements are a row, so row and column are right. Which rows are there?",
            5: "Leaving is right, for threads without an element. Which threads leave?",
        },
        "Thread 72 of block 1 has i = 200. Follow it.",
    )


@checks("10.3")
def _fragment_index(answer: object) -> Sentences:
    right_if = "The access is right, if the line before it is."
    return line_verdict(
        answer,
        broken(3),
        6,
        "Registers a1 and a2 are swapped: r % 2 goes down, r / 2 goes right. (In D it is the other way "
        "round, which is why the mistake is common.) A test with the identity as A would have passed.",
        {
            7: right_if,
            11: right_if,
            16: right_if,
            10: "B is as in lesson 02: its two registers are 8 rows apart. The pictures show A.",
            15: "D is stored as its layout says: d0 and d1 are neighbours, d2 and d3 are 8 rows lower.",
            2: "Groups of four lanes: as in every layout of this instruction.",
            13: "The `mma` does what it is told. Look at what it was told.",
        },
        "In the picture, which quarters of A have changed places, and what says where a register goes?",
    )


@checks("10.4")
def _accumulators(answer: object) -> Sentences:
    result, wrong, launch = repaired(answer, broken(4))
    A, B, D = launch.arrays
    last = matmul(A[:, -16:], B.T[-16:], instruction=INS)
    return {
        correct(is_right(result, wrong)): "The accumulators start at 0 for every tile. The "
        "same goes for a *persistent* kernel, which is launched once and works through many tiles: what "
        "belongs to a tile is set inside its loop.",
        when(any(hazard.kind == "uninitialised register" for hazard in result.hazards)): "Now `mma` reads "
        "accumulators that no instruction has written. The simulator happens to have 0 there; a chip has "
        "whatever was left there.",
        when(np.isinf(launch.expected).any()): "Finite numbers come out right. But here an element of A is "
        "infinite, and so are sums of the first tile: what do they leave in the second?",
        when(same(D, last)): "Now only the last step of K is in the sum: the accumulators are set too often.",
        when(not wrong[:, :8].any()): "The first 8 columns are right, the others still start with the sum "
        "of the tile before.",
        otherwise: f"{wrong_in(wrong, launch)}. Loads and stores were right; what does a tile start with?",
    }


@checks("10.5")
def _missing_lanes(answer: object) -> Sentences:
    result, wrong, launch = repaired(
        answer,
        broken(5),
        "Which lanes does the mask of `__shfl_xor_sync` name, and which of them are in the branch?",
    )
    shuffles = [executed for executed in result.profile if executed.instruction.parts[0] == "shfl"]
    lanes = min((shuffle.threads // shuffle.warps for shuffle in shuffles), default=32)
    by_activity = any(opcode.startswith("activemask") for opcode in result.counts)
    return {
        when(is_right(result, wrong) and lanes == 32 and by_activity): "All lanes took part, but the mask "
        "does not ask for them: it names the lanes that happen to be together at that point. "
        "Name the lanes that must take part.",
        correct(is_right(result, wrong) and lanes == 32): "Every lane that the mask names must arrive, and "
        "every lane that arrives must be named. With all 32 in the shuffles, only the loads and the stores "
        "depend on the row.",
        when(is_right(result, wrong)): f"The rows are right, but only {lanes} of 32 lanes take part in the "
        f"shuffles ({launch.sizes}). Which lanes a branch brings together is the compiler's affair, and the "
        "number of rows is an argument: what has to stay inside the branch?",
        when(any(hazard.kind == "not in the mask" for hazard in result.hazards)): "It finishes now, but "
        f"some lanes execute a shuffle whose mask does not name them ({launch.sizes}). How many lanes have "
        "these rows?",
        **reported(result),
        when(wrong.all()): "No row has its largest element. Do all rows still get loaded, compared twice, "
        "and stored?",
        otherwise: f"{wrong_in(wrong, launch, 'most')}. Each row needs the numbers of "
        "all four lanes of its group.",
    }


@checks("10.6")
def _bank_conflicts(answer: object) -> Sentences:
    return line_verdict(
        answer,
        broken(6),
        9,
        "A row has 32 floats, exactly as many as there are banks, so the rows of all eight groups begin in "
        "bank 0. Rows of 40 floats would fix it; the copy below then takes vectors i / 8 * 10 + i % 8.",
        {
            13: "Here the lanes read 512 bytes side by side: four wavefronts, and fewer are impossible.",
            4: "That is global memory, which has no banks; it has sectors.",
            7: "That is global memory, which has no banks; it has sectors.",
            8: "An `mma` works on registers.",
            2: "The size of a row is the reason. But in which line does it cost time?",
        },
        "`result.conflicts` counts by line. Which lines touch shared memory at all?",
    )


@checks("10.7")
def _pipeline_tail(answer: object) -> Sentences:
    last = "Go through the last iteration: how many groups are in flight before it, and how many may stay so?"
    return line_verdict(
        answer,
        broken(7),
        14,
        "In the last iteration no new group follows, so the only one in flight is *the latest*, and the wait "
        "does not cover it. Either the last iteration waits for all groups, or an empty group is committed "
        "in every iteration.",
        {
            16: "That is where the tile is needed. Which line should have made sure that it has arrived?",
            11: "Copying one tile ahead is the point of the kernel.",
            12: f"A group for every tile is right. {last}",
            10: f"There is no tile beyond the last one to copy. {last}",
            15: "It makes the copies of all lanes visible, but only those that each lane has waited for.",
            19: "It keeps threads from overwriting what others still read, which is right. It does not wait "
            "for copies.",
        },
        last,
    )


@checks("10.8")
def _writer(answer: object) -> Sentences:
    line, lane = whole_numbers(answer, 2, "the number of a line and that of a lane, such as 4, 31")
    return {
        correct((line, lane) == (9, 6)): "Lane 6 holds D[9][20] in its fragment: row 9 is group 1 of the "
        "rows, column 4 of the third tile is its third thread. Lane 13 only copied it. A wrong value is seen "
        "where it is read; `who_wrote` goes to where it was written.",
        when(line == 13): "That line copied the element to global memory. Open the next node of the tree: "
        "who had stored into shared memory what it read?",
        when(line == 9): "The line is right. Which lane stored this element there? The tree says so.",
        when(line == 8): "That made the value, in a register. Who put it into shared memory?",
        otherwise: "Go to the end of the launch, show D, and click the element in row 9, column 20.",
    }
