"""python -m tools.readme: write the generated parts of README.md and docs/teaching.md.

Tables stand between ``<!-- name -->`` and ``<!-- end -->``; console blocks show what `ptxlab` prints.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ptxlab import TARGETS, catalog
from ptxlab._util.files import write_atomically
from ptxlab.isa.catalog import REGISTER_FAMILIES
from ptxlab.isa.form import Form
from ptxlab.isa.tcgen05 import (
    CONTROL_FAMILIES,
    MMA_FAMILIES,
    TRANSFER_FAMILIES,
    Tcgen05Form,
    TensorInstruction,
)
from ptxlab.lessons import LESSONS, Lesson
from ptxlab.views import types

__all__ = ["README", "SYLLABI", "TEACHING", "WITH_COMPILER", "render"]

#: The lessons that load NVRTC, which takes memory.
WITH_COMPILER = (
    *("your-first-tensor-core-kernel", "shared-memory-and-banks", "mbarriers", "what-goes-wrong"),
    *("what-goes-wrong-asynchronously", "from-instruction-to-gemm", "epilogue", "attention"),
    *("sparse-gemm", "wmma-sub-byte", "what-the-chip-runs", "on-a-real-gpu", "why-do-the-bits-differ"),
)

#: What a syllabus has: when, the lessons, what to do together.
_Meetings = tuple[tuple[str, tuple[str, ...], str], ...]
#: Syllabi by the name of their table. Minutes, exercises and totals are computed.
SYLLABI: dict[str, _Meetings] = {
    "ten weeks": (
        (
            "week 1",
            ("start-here", "fragments", "your-first-tensor-core-kernel"),
            "find ten elements by hand, then with the Explorer; write one `mma` kernel on the projector",
        ),
        (
            "week 2",
            ("element-types", "shared-memory-and-banks", "wgmma"),
            "decode one byte as six types; count wavefronts before you look",
        ),
        (
            "week 3",
            ("matrix-descriptors", "swizzles", "tma", "mbarriers"),
            "draw a swizzled tile and compute one address; play a barrier with two students as threads",
        ),
        (
            "week 4",
            ("what-goes-wrong", "what-goes-wrong-asynchronously"),
            "find one hazard together; then everybody says which line, before the simulator does",
        ),
        (
            "week 5",
            ("how-fast-is-it", "from-instruction-to-gemm", "epilogue"),
            "predict the cycles of a `wgmma`, then open the recorded table; one change at a time",
        ),
        (
            "week 6",
            ("attention", "structured-sparsity", "metadata-and-selector"),
            "follow D of the first product into A of the second; encode one row; hand out the capstone",
        ),
        (
            "week 7",
            ("sparse-mma-shapes", "sparse-wgmma-m64nNk64", "sparse-gemm"),
            "write down one sparse layout without looking; discuss when pruning pays off",
        ),
        (
            "week 8",
            ("numerics", "wmma-sub-byte", "what-the-chip-runs", "on-a-real-gpu"),
            "predict a rounding, then look at its trace; read ten lines of SASS",
        ),
        (
            "week 9",
            ("block-scaling", "tensor-memory", "one-thread-multiplies"),
            "quantise a block on the blackboard; find one element of D in tensor memory",
        ),
        (
            "week 10",
            (
                *("scale-factors-in-tensor-memory", "a-product-in-four-bits"),
                *("layouts-in-other-words", "from-triton-to-registers", "why-do-the-bits-differ"),
            ),
            "say lesson 01's picture in CuTe's words; find a race in Triton; certify a sum; the exam, and "
            "the capstone is due",
        ),
    ),
    "two days": (
        (
            "day 1, morning",
            ("start-here", "fragments", "your-first-tensor-core-kernel", "element-types"),
            "find elements by hand; everybody runs a kernel before lunch",
        ),
        (
            "day 1, afternoon",
            ("shared-memory-and-banks", "wgmma", "matrix-descriptors", "swizzles", "tma"),
            "draw a tile and its descriptor on the blackboard",
        ),
        (
            "day 2, morning",
            ("mbarriers", "what-goes-wrong", "how-fast-is-it"),
            "play a barrier with two students as threads; repair two kernels in pairs",
        ),
        (
            "day 2, afternoon",
            ("what-goes-wrong-asynchronously", "from-instruction-to-gemm"),
            "one change at a time: what did it gain? Epilogue and attention are for the days after",
        ),
    ),
    "afternoon": (
        (
            "the first two hours",
            ("start-here", "fragments"),
            "work through both with the Explorer on the projector; end with the trace of one element of D",
        ),
        (
            "to half a day",
            ("your-first-tensor-core-kernel", "shared-memory-and-banks"),
            "everybody writes a kernel; then `ldmatrix` and its bank conflicts",
        ),
    ),
}

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TEACHING = ROOT / "docs" / "teaching.md"


def families() -> str:
    """One row for each family; those of tcgen05 share two."""
    lines = ["| family | element types | forms | targets |", "|---|---|---:|---|"]
    rows: list[tuple[str, ...]] = [(family,) for family in REGISTER_FAMILIES]
    for group in (*rows, MMA_FAMILIES, (*TRANSFER_FAMILIES, *CONTROL_FAMILIES)):
        forms = [form for family in group for form in catalog(family)]
        element_types = dict.fromkeys(name for form in forms for name in _types(form))
        targets = {target for form in forms for target in form.targets}
        names = ", ".join(f"`{name}`" for name in (group[0], *(_ending(name) for name in group[1:])))
        lines.append(f"| {names} | {', '.join(element_types) or '-'} | {len(forms)} | {_targets(targets)} |")
    lines.append(f"| | | **{len(catalog()):,}** | |")
    return "\n".join(lines)


def _ending(family: str) -> str:
    """``.ws.sp`` of tcgen05.mma.ws.sp, ``.st`` of tcgen05.st."""
    return family.removeprefix("tcgen05").removeprefix(".mma")


def _types(ins: Form) -> tuple[str, ...]:
    """Element types of A or, of a transfer, of what it moves; all that descriptors of tcgen05.mma have."""
    if isinstance(ins, TensorInstruction):
        return tuple(ins.traits.types)
    if isinstance(ins, Tcgen05Form):
        return types(ins)
    return (str(next(iter(ins.operands.values())).dtype),)


def _targets(names: set[str]) -> str:
    """``sm_80 and later``, or each chip: ``sm_90a``, ``sm_100a, sm_103a, sm_107a, sm_110a``."""
    known = [target for target in TARGETS if target in names]
    if known[-1] == TARGETS[-1]:
        return f"{known[0]} and later"
    return ", ".join(target for target in known if target.endswith("a"))


def lessons() -> str:
    """One row for each lesson of the course."""
    lines = [
        "| lesson | question | minutes (estimate) | exercises |",
        "|---|---|---:|---:|",
    ]
    for lesson in LESSONS:
        lines.append(f"| `{lesson.file}` | {lesson.question} | {lesson.minutes} | {len(lesson.exercises)} |")
    hours = sum(lesson.minutes for lesson in LESSONS) / 60
    exercises = sum(len(lesson.exercises) for lesson in LESSONS)
    return "\n".join([*lines, f"| | | **{hours:.1f} hours** | **{exercises}** |"])


def syllabus(name: str) -> str:
    """One row for each meeting of a syllabus, with the sums over its lessons."""
    by_slug = {lesson.slug: lesson for lesson in LESSONS}
    meetings = [(when, [by_slug[slug] for slug in slugs], text) for when, slugs, text in SYLLABI[name]]
    lines = [
        "| when | lessons | together | minutes (estimate) | exercises |",
        "|---|---|---|---:|---:|",
    ]
    for when, chosen, text in meetings:
        files = ", ".join(f"`{lesson.file}`" for lesson in chosen)
        lines.append(f"| {when} | {files} | {text} | {_sums(chosen)} |")
    everything = [lesson for _, chosen, _ in meetings for lesson in chosen]
    return "\n".join([*lines, f"| | **{len(everything)} lessons** | | {_sums(everything)} |"])


def _sums(lessons: list[Lesson]) -> str:
    minutes = sum(lesson.minutes for lesson in lessons)
    return f"{minutes} | {sum(len(lesson.exercises) for lesson in lessons)}"


def hub() -> str:
    """The last recorded run of `python -m benchmarks.hub`."""
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))["hub"]
    lines = [
        "| students at once | log in | lesson | server | kernel | memory per student |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for run in results["runs"]:
        times = [f"{run[part]:.0f} s" for part in ("log in", "lesson")]
        sizes = [f"{run[part]:.0f} MB" for part in ("server", "kernel", "both")]
        lines.append(f"| {run['students']} | {' | '.join([*times, *sizes])} |")
    note = (
        f"Lesson `{results['lesson']}`, means over the students, recorded on {results['cores']} cores; "
        "the kernel has the lesson's Explorers open."
    )
    return "\n".join([*lines, "", note])


def student() -> str:
    """The last recorded run of `python -m benchmarks.student`."""
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))["student"]
    rows = results["rows"]
    large = [lesson for lesson in LESSONS if lesson.slug in WITH_COMPILER]
    others = [rows[lesson.file] for lesson in LESSONS if lesson not in large]
    named = {
        "a server, before anybody opens it": [rows["server"]],
        "a kernel that has imported ptxlab": [rows["import ptxlab"]],
        "a kernel with one Explorer open": [rows["one Explorer"]],
        "a kernel with one Explorer, after a compilation and a simulation": [
            rows["one Explorer and a simulation"]
        ],
        "a kernel after `matmul` of 512x512x512, with numba": [rows["matmul of 512x512x512"]],
        **{
            f"a kernel after lesson {kernel.number}, with the compiler": [rows[kernel.file]]
            for kernel in large
        },
        "a kernel after any other lesson": others,
    }
    idle = 100 * rows["one Explorer"]["idle processor"]
    lines = ["| | memory at most | processor time since its start |", "|---|---:|---:|"]
    for words, measured in named.items():
        peak = max(row["peak"] for row in measured)
        seconds = [row["processor"] for row in measured]
        span = f"{min(seconds):.0f} to {max(seconds):.0f} s" if len(seconds) > 1 else f"{seconds[0]:.1f} s"
        lines.append(f"| {words} | {peak:.0f} MB | {span} |")
    note = (
        "Every cell of a lesson one after the other, in a fresh kernel; a kernel that waits, with its "
        f"Explorer open, takes less than {max(0.1, idle):.1f} % of a core. "
        f"Recorded on {results['cores']} cores by `python -m benchmarks.student`."
    )
    return "\n".join([*lines, "", note])


def soak() -> str:
    """The last recorded run of `python -m benchmarks.soak`."""
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))["soak"]
    return (
        f"`python -m benchmarks.soak` had {results['students']} students at work for "
        f"{results['minutes']:.0f} minutes on {results['cores']} cores, which others used as well: "
        f"{results['actions']:,} edits, simulations, compilations, quizzes and checked answers, none of them "
        f"lost or wrong, and no error. A kernel had {results['memory']:.0f} MB at the end; the largest had "
        f"{results['largest early']:.0f} MB after {results['minutes'] / 6:.0f} minutes and "
        f"{results['largest']:.0f} MB at the end."
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "families": families,
    "lessons": lessons,
    "hub": hub,
    "student": student,
    "soak": soak,
    **{name: partial(syllabus, name) for name in SYLLABI},
}


def answer(command: str) -> str:
    """What `ptxlab ...` prints."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", *shlex.split(command)]
    result = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    return result.stdout.rstrip()


def render(text: str) -> str:
    """The text with its tables and console blocks written anew."""
    for name, block in BLOCKS.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", flags=re.S)
        if marked.search(text):
            text = marked.sub(rf"\g<1>{block()}\n\g<2>", text)

    def console(match: re.Match[str]) -> str:
        commands = [line[2:] for line in match[1].splitlines() if line.startswith("$ ptxlab ")]
        answers = "\n\n".join(f"$ {command}\n{answer(command)}" for command in commands)
        return f"```console\n{answers}\n```"

    return re.sub(r"```console\n(\$ ptxlab .*?)\n```", console, text, flags=re.S)


def main() -> None:
    for page in (README, TEACHING):
        write_atomically(page, render(page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
