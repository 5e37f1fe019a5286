"""Kernels of lessons and of their readers: compiled, and simulated for a limited time."""

from __future__ import annotations

import bz2
import hashlib
import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, counted, error_of, quoted
from ..gpu.clang import clang_version
from ..gpu.clang_in_tab import NotFetched
from ..gpu.compiler import compiler_version
from ..gpu.cuda_python import INSTALL_CLANG, in_a_tab
from ..question import Unanswered, with_code
from ..simulation import Simulation
from ..simulation import kernel as compiled_kernel
from ..simulator import HazardError
from ..simulator.cuda_source import has_compiler
from ..simulator.kernel import Kernel
from ..simulator.ptx.reader import read_ptx
from ..simulator.ptx.syntax import Immediate
from ..simulator.result import LimitError
from ..views.annotated_source import source_html
from ..views.grid import Entry
from .answers import WrongForm, readers_time
from .checking import Sentences, when

#: PTX of the lessons' own kernels: `python -m tools.record lesson_kernels`.
PTX_FILE = "lesson_kernels.json.bz2"

_LINES = '\n#line 1 "your kernel"\n'  # so that messages count the lines of the answer
_OURS = '\n#line 1 "the kernel of the exercise"\n'
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PER_WARP = 3000  # instructions that each warp may execute: a right answer takes 2,300 at most
_LONGEST = 330  # letters of what the compiler or the simulator says


def source_text(name: str) -> str:
    """A file that comes with a lesson, and what it includes: kernels in CUDA C++, or machine code."""
    text = resources.files(__package__).joinpath("sources", name).read_text(encoding="utf-8")
    return re.sub(r'^#include "(.+)"\n', lambda include: source_text(include[1]), text, flags=re.MULTILINE)


@lru_cache(maxsize=None)
def read_record(file: str) -> dict[str, Any]:
    """What `tools.record` keeps for a lesson."""
    packed = resources.files(__package__).joinpath(file).read_bytes()
    record: dict[str, Any] = json.loads(bz2.decompress(packed))
    return record


def source_parts(name: str) -> list[str]:
    """The parts of a source file, which empty lines separate."""
    return source_text(name).rstrip("\n").split("\n\n")


# -- the lessons' kernels, also without a compiler -----------------------------------------------------------


def digest(source: str) -> str:
    """What the PTX of a source is filed under.

    >>> digest("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def kernel(source: str) -> Kernel:
    """As `ptxlab.kernel`; the lessons' own kernels come with their PTX where NVRTC is missing.

    >>> kernel('extern "C" __global__ void nothing() {}').name
    'nothing'
    """
    if digest(source) not in _stored() or not error_of(compiler_version):
        return compiled_kernel(source)
    _say_whose_ptx()
    return recorded(source)


@lru_cache(maxsize=1)
def _say_whose_ptx() -> None:
    yours = "." if error_of(clang_version) else "; Clang compiles yours."
    print(f"NVRTC is not installed here: the lesson's kernels come with the PTX that it made{yours}")


def recorded(source: str, target: str = "sm_90a") -> Kernel:
    """One of the lessons' own kernels from its recorded PTX, even where there is a compiler."""
    ptx = _stored()[digest(source)]
    module = read_ptx(ptx)
    return Kernel(module, module.functions[module.entries[0]], target, ptx, source)


def _stored() -> dict[str, Any]:
    return read_record(PTX_FILE)


# -- a kernel read part by part ------------------------------------------------------------------------------


class ExplainedPart(NamedTuple):
    """A part of a source, and what to notice there."""

    source: str
    lines: range
    text: str

    def _repr_html_(self) -> str:
        shown = source_html(self.source, part=self.lines)
        style = "max-width: 60em; line-height: 1.5; margin: 4px 0 10px"
        return f'<p style="{style}">{with_code(self.text)}</p>{shown}'


def explained_part(source: str, stop: str, stops: Mapping[tuple[str, str], str]) -> ExplainedPart:
    """A part of a kernel with its explanation: from the first line of a stop to the next.

    A stop has a name, a text that its first line contains, and an explanation.

    >>> explained_part("a;\\nb;\\nc;", "start", {("start", "a"): "First.", ("end", "c"): "Last."}).lines
    range(1, 3)
    """
    lines = source.splitlines()
    firsts = [0]
    for _, text in stops:
        firsts.append(next(at for at in range(firsts[-1], len(lines)) if text in lines[at]))
    at = [name for name, _ in stops].index(stop)
    first, last = [*firsts[1:], len(lines)][at : at + 2]
    while not lines[last - 1].strip():
        last -= 1
    return ExplainedPart(source, range(first + 1, last + 1), list(stops.values())[at])


# -- the reader's kernels ------------------------------------------------------------------------------------


def compiled(answer: object, name: str, before: str = "", after: str = "") -> Kernel:
    """The kernel that the answer makes between the parts that the lesson gives."""
    if isinstance(answer, str) and "..." in answer:
        raise Unanswered
    if not isinstance(answer, str) or "{" not in answer:
        raise WrongForm(
            f"Found {quoted(answer)}; the answer is a text with the CUDA C++ of `{name}`, as the cell has it."
        )
    text = answer.removeprefix(before)  # a reader who copied a kernel of the lesson has its functions, too
    source = f"{before}{_LINES}{text}{_OURS}{after}"
    if not has_compiler():
        here = "this tab has none; on your computer" if in_a_tab() else "there is none here"
        raise Unanswered(f"Your kernel needs a compiler of CUDA C++, and {here}: {INSTALL_CLANG}.")
    try:
        with readers_time():
            return compiled_kernel(source)
    except NotFetched as error:
        raise Unanswered(f"{error}.") from None
    except PtxlabError as error:
        raise WrongForm(_sentence(error)) from None


def simulated(
    kernel: Kernel,
    grid: tuple[int, int],
    block: int,
    arguments: Sequence[object],
    advice: str | Mapping[str, str],
    shared: int = 0,
    *,
    per_warp: int = _PER_WARP,
) -> Simulation:
    """One launch for a limited time; `WrongForm` with what the simulator objects to.

    `advice` is added to it; a mapping gives one for each objection, by words in it, with "" as the last key.
    """
    warps = grid[0] * grid[1] * block // 32
    try:
        with readers_time():
            return kernel.simulate(grid, block, *arguments, shared=shared, show=False, limit=per_warp * warps)
    except HazardError as error:  # an access out of bounds or misaligned, or a deadlock
        cases = {"": advice} if isinstance(advice, str) else advice
        fitting = next(text for words, text in cases.items() if words in str(error))
        objection = _sentence(error, kernel.source)
        raise WrongForm(f"The simulation stopped: {objection} {fitting}".rstrip()) from None
    except LimitError:
        raise WrongForm(
            f"The simulation stopped: warps have executed {per_warp:,} instructions on average; a right "
            "answer takes fewer. So does a loop never end, or do threads do the work of others?"
        ) from None
    except PtxlabError as error:
        raise WrongForm(f"The simulation stopped: {_sentence(error)}") from None


def _sentence(error: PtxlabError, source: str = "") -> str:
    return f"{shortened(str(error), source)}."


def shortened(text: str, source: str = "") -> str:
    """What the compiler or the simulator says, shortened, with the names of `with_names`."""
    return textwrap.shorten(with_names(text, source), _LONGEST, placeholder=" ...")


_ARRAY = r"argument (?P<number>\d+) \((?P<type>[a-z_]+(?P<bits>\d+))\[(?P<shape>[\d, ]*)\]\)"
_BEYOND = re.compile(
    rf"(?P<width>\d+) bytes at 0x\w+, which is (?:byte (?P<at>\d+) of {_ARRAY}, \d+ bytes long|"
    rf"(?P<before>\d+) bytes before {_ARRAY.replace('?P<', '?P<b_')} begins)"
)


def with_names(text: str, source: str) -> str:
    """What the simulator says, with the parameters' names and elements in CUDA C++ for arguments and bytes.

    >>> source = "__global__ void copy(const float* x, float* y, int n) {}"
    >>> with_names("reads 4 bytes at 0x2, which is byte 4 of argument 1 (float32[1]), 4 bytes long", source)
    'reads x[1]; x has 1 element'
    >>> with_names("both touch bytes 0..3 of argument 2 (float32[4])", source)
    'both touch bytes 0..3 of y'
    """
    kernels = re.findall(r"__global__[^;{]*?\w\s*\(([^()]*)\)\s*\{", _COMMENT.sub(" ", source))
    names = re.findall(r"(\w+)\s*(?:,|$)", kernels[0]) if len(kernels) == 1 else []

    def element(found: re.Match[str]) -> str:
        prefix, offset = ("b_", -int(found["before"])) if found["before"] else ("", int(found["at"]))
        number, size = int(found[f"{prefix}number"]), int(found[f"{prefix}bits"]) // 8
        if not 0 < number <= len(names) or not size or offset % size:
            return found[0]
        name, first, count = names[number - 1], offset // size, max(int(found["width"]) // size, 1)
        last = f" to {name}[{first + count - 1}]" if count > 1 else ""
        elements = math.prod(int(length) for length in found[f"{prefix}shape"].split(",") if length.strip())
        return f"{name}[{first}]{last}; {name} has {counted(elements, 'element')}"

    def array(found: re.Match[str]) -> str:
        number = int(found["number"])
        return names[number - 1] if 0 < number <= len(names) else found[0]

    return re.sub(_ARRAY, array, _BEYOND.sub(element, text))


def first_hazard(result: Simulation) -> str:
    """What the simulation found first, shortened; nothing if it found nothing."""
    if not result.hazards:
        return ""
    return shortened(result.hazards[0].sentence, result.source)


def reported(result: Simulation) -> Sentences:
    """The hint that repeats what the simulation found first."""
    return {when(result.hazards): f"The simulator reports: {first_hazard(result)}."}


def never_written(result: Simulation) -> Sentences:
    """The hint about registers that nobody wrote."""
    unwritten = any(hazard.kind == "uninitialised register" for hazard in result.hazards)
    return {
        when(unwritten): "`mma` reads a register that was never written. In the simulator it happens to be "
        "0; on a chip it holds what the last user left there. Which of `a`, `b` and `d` is not filled "
        "completely?"
    }


def waits(result: Simulation, opcode: str) -> Counter[int]:
    """How many warps waited for groups of copies, by the number of groups that may stay under way."""
    counts: Counter[int] = Counter()
    for executed in result.profile:
        if executed.instruction.opcode == opcode and isinstance(executed.instruction.operands[0], Immediate):
            counts[executed.instruction.operands[0].value] += executed.warps
    return counts


def normal_numbers(shape: tuple[int, ...], seed: int) -> NDArray[np.float16]:
    """Random numbers, the same for everybody."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float16)


def where(wrong: NDArray[np.bool_], name: str = "D") -> str:
    """How many elements are wrong, and which is the first.

    >>> where(np.eye(2, dtype=bool))
    '2 of 4 elements are wrong, the first is D[0][0]'
    """
    if not wrong.any():
        return "all elements are right"
    first = "][".join(str(index) for index in np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} elements are wrong, the first is {name}[{first}]"


def judged(text: str, tooltip: str, wrong: bool) -> Entry:
    """An element of a result in a picture: outlined if it is wrong."""
    return Entry((text,), None, tooltip, "mark" if wrong else "dim", 0.6 if wrong else None)


def same(one: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    """Whether two arrays are equal; a NaN equals itself."""
    return np.array_equal(one, other, equal_nan=True)
