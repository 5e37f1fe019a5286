"""GPUVerify's testsuite: each kernel begins with //pass or //xfail:..., and with its launch."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ptxlab
from ptxlab import PtxlabError

from .launches import TYPES, Parameter, array_for, closing, parameters_of, scalar_for, without_comments
from .opencl import OPENCL, as_cuda, local_bytes
from .runs import LIMIT, Run

SUITES = {"CUDA": "GPUVerify, CUDA", "OpenCL": "GPUVerify, OpenCL"}
#: Threads of a launch: fewer blocks than the annotation says, two where it has several.
_THREADS = 2048
#: The verifier's own language. What it claims is not executed.
_CONTRACT = (
    "assert", "assume", "assert_no_read", "array_snapshot", "same_for_group", "atomic_has_taken_value",
    "requires", "requires_fresh_array", "ensures", "modifies", "invariant", "barrier_invariant",
    *(f"{prefix}_{name}" for prefix in ("global", "candidate", "candidate_global", "function_wide",
      "function_wide_candidate") for name in ("assert", "invariant", "requires", "ensures")),
    *(f"barrier_invariant_{number}" for number in range(1, 21)), "barrier_invariant_binary",
    *(f"{name}{space}" for name in ("reads_from", "writes_to") for space in ("", "_local", "_global")),
)  # fmt: skip
_MACROS = """typedef unsigned int uint;
#define __axiom(...)
#define __builtin_memcpy memcpy
#define __builtin_memset memset
""" + "".join(f"#define __{name}(...) ((void)0)\n" for name in _CONTRACT)
_GROUPS = """#include <cooperative_groups.h>
template <class Group> __device__ void synchronize(Group group) { group.sync(); }
"""

_ALL_INPUTS = "a claim about all inputs, an assertion, or a contract of the verifier's language"
#: What the comments of a kernel that is not right say, and the kind of bug.
_WORDS = (
    (
        r"assertion|assert\b|invariant|precondition|postcondition|might not hold|permission|houdini|interval",
        None,
    ),
    (r"divergen|non-uniform", "divergent barrier"),
    (r"null pointer", "null pointer"),
    (r"out-of-bounds", "out of bounds"),
    (r"constant memory", "write to constant memory"),
    (r"rac[ey]|(write|read) by", "race"),
)
#: Of kernels whose comments do not say it, or say it otherwise.
_CLAIMS = {
    "CUDA/fail_tests/": "race",
    "CUDA/param_values/value_causing_race": "race",
    "CUDA/warpsync/": "race",
    "CUDA/atomics/add_": "race",
    "CUDA/cooperative_groups/fail/race": "race",
    "CUDA/cooperative_groups/": "divergent barrier",
    "CUDA/memset/null_dst": "null pointer",
    "CUDA/function_pointers/pass_struct": "null pointer",
    **{f"OpenCL/async_work_group_copy/fail/test{number}/": "race" for number in (1, 4, 10, 15, 16, 17, 18)},
    "OpenCL/async_work_group_copy/": None,  # which events are waited for
    "OpenCL/sourcelocation_tests/race_from_bodiless_call": None,
    "OpenCL/warpsync/": "race",
    "OpenCL/inter_group_and_barrier_flag_tests/fail/local_id": "race",
    "OpenCL/inter_group_and_barrier_flag_tests/fail/sync/": "race",
    "OpenCL/inter_group_and_barrier_flag_tests/": None,  # flags of barriers, which CUDA has not
    "OpenCL/test_for_benign_read_write_bug": None,
    "OpenCL/undef_tests/": None,
    "OpenCL/reducedstrengthnonloopbug": None,
    "OpenCL/report_global_id/": "race",
}
#: They use more local memory than this command gives them.
_TOO_LARGE = (
    "OpenCL/annotation_tests/test_candidate_global_invariant",
    "OpenCL/benign_race_tests/pass/writewritearray",
    "OpenCL/test_mod_invariants/local_direct",
)
#: Reports about kernels that pass, all of them true: what the verifier was told to leave out, by an option,
_LEFT_OUT = {
    "--only-": "an option leaves such reports out",
    "checkArrays": "an option leaves other arrays out",
    "--warp-sync": "warps in lockstep, as before Volta",
    "--equality-abstraction": "equal values are stored, which the verifier allows",
}
#: or does not look for.
_TRUE_REPORTS = {
    "CUDA/annotation_tests/test_axiom": "an axiom of the test keeps the threads apart",
    "CUDA/memcpy/arrayofstruct": "what was never set is stored",
    "CUDA/pointertests/test12": "every thread stores one pointer, and reads it",
    "CUDA/pointertests/test_copy_between_memory_spaces": "shared memory that nobody wrote",
    "CUDA/scope": "shared memory that nobody wrote",
    "CUDA/warpsync/2d": "shared memory that nobody wrote",
    "OpenCL/pointertests/test_copy_between_memory_spaces": "shared memory that nobody wrote",
    "OpenCL/simplebinomialoptions": "shared memory that nobody wrote",
    "OpenCL/warpsync/2d": "shared memory that nobody wrote",
}


#: Why bugs are missed.
_EQUAL = "equal values are stored"
_MISSES = {
    "CUDA/cooperative_groups/": "lanes that have ended do not count at a barrier, since Volta",
    "CUDA/loop_unwind": _EQUAL,
    "CUDA/memcpy/": _EQUAL,
    "CUDA/misc/fail/miscfail7": "an argument that is a null pointer",
    "OpenCL/array_bounds_tests/array_in_array_param": "these values do not lead out of the array",
    "OpenCL/atomics/atomic_read_race": "nobody uses what is loaded",
    "OpenCL/benign_race_tests/": _EQUAL,
    "OpenCL/report_global_id/": "the launch is smaller than the test's",
}
#: What runs of a kernel with a bug try: a word for it, options of the compiler, which number has which value.
_TRIES: list[tuple[str, tuple[str, ...], tuple[int, int] | None]] = [
    (f"{words}{'' if change is None else f'number {change[0] + 1} is {change[1]}'}", options, change)
    for words, options in (("", ()), ("-G ", ("-G",)))
    for change in (None, *itertools.product(range(3), (0, 1)))
]


class Launch(NamedTuple):
    """What the first lines of a kernel say, cut down to what is quick."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    options: list[str]

    @property
    def threads(self) -> int:
        return math.prod(self.grid) * math.prod(self.block)


def runs(folder: Path, words: str = "", clean: bool = False) -> Iterator[Run]:
    """Those with `words` in their names; with `clean` only those that pass."""
    root = folder / "testsuite" if (folder / "testsuite").is_dir() else folder
    for file in sorted([*root.glob("CUDA/**/kernel.cu"), *root.glob("OpenCL/**/kernel.cl")]):
        name = file.parent.relative_to(root).as_posix()
        text = file.read_text(encoding="utf-8", errors="replace")
        if words in name and not (clean and _claim(name, text)[0] != ""):
            yield _run(name, text)


def _run(name: str, text: str) -> Run:
    """Where a bug is not found, again with other numbers, and without optimisation."""
    bug, remark = _claim(name, text)
    tries = [("", (), None)] if not bug else _TRIES
    for how, options, change in tries:
        run = Run(SUITES[name.partition("/")[0]], name, bug, how or remark)
        run.do(partial(_simulated, name, text, options, change))
        if run.verdict != "missed":
            break
    else:
        run.remark = next((why for start, why in _MISSES.items() if name.startswith(start)), "")
    if run.verdict == "report":
        known = [reason for start, reason in _TRUE_REPORTS.items() if name.startswith(start)]
        known += [
            reason for option, reason in _LEFT_OUT.items() if option in " ".join(text.splitlines()[1:3])
        ]
        run.remark = known[0] if known else run.remark
        run.true_report = bool(known)
    return run


def _claim(name: str, text: str) -> tuple[str | None, str]:
    """What the suite says: "" for pass, a kind of bug, None for what no execution shows."""
    head = text.splitlines()[:12]
    if name in _TOO_LARGE:
        return None, "it takes more local memory than it is given"
    if head[0].upper().startswith("//PASS"):
        return "", ""
    if "NOT_ALL_VERIFIED" not in head[0].upper():
        return None, "an error of the verifier's own tools"
    for start, kind in _CLAIMS.items():
        if f"{name}/".startswith(start):
            return kind, "" if kind else _ALL_INPUTS
    claim = " ".join(line for line in head[2:] if line.startswith("//")).lower()
    for words, kind in _WORDS:
        if re.search(words, claim):
            return kind, "" if kind else _ALL_INPUTS
    return None, _ALL_INPUTS


def _launch(text: str) -> Launch:
    """Blocks and threads: 1024 threads of a block, 2048 in all at most."""
    line = next((line for line in text.splitlines()[1:6] if re.search("blockDim|local_size", line)), "")
    threads = _size(line, "blockDim|local_size") or [1]
    while math.prod(threads) > 1024:
        threads[threads.index(max(threads))] //= 2
    blocks = _size(line, "gridDim|num_groups")
    if not blocks:
        totals = _size(line, "global_size") or threads
        blocks = [max(total // size, 1) for total, size in zip(totals, threads, strict=False)]
    while math.prod(blocks) > 2 and math.prod(blocks) * math.prod(threads) > _THREADS:
        largest = blocks.index(max(blocks))
        blocks[largest] = (blocks[largest] + 1) // 2
    return Launch(tuple(blocks), tuple(threads), re.findall(r"-D\S+", line))


def _size(line: str, option: str) -> list[int]:
    match = re.search(rf"--(?:{option})=(\[[^\]]*\]|[\d,]+)", line)
    return [int(number) for number in re.findall(r"\d+", match[1])] if match else []


def _simulated(name: str, text: str, options: tuple[str, ...], change: tuple[int, int] | None) -> Any:
    """Every kernel of the text; the first with a hazard counts."""
    launch = _launch(text)
    if name.startswith("OpenCL"):
        text = as_cuda(text, math.prod(launch.block))
    plain = without_comments(text)
    heads = re.finditer(r"__global__[\w\s]*?(?:__launch_bounds__\([^)]*\)[\w\s]*?)?\b(\w+)\s*\(", plain)
    kernels = {match[1]: plain[match.end() : closing(plain, match.end())] for match in heads}
    if not kernels:
        raise PtxlabError("no kernel was found in the text")
    for kernel, head in kernels.items():
        result = _simulated_kernel(name, text, plain, kernel, head, launch, options, change)
        if result.hazards:
            break
    return result


def _simulated_kernel(
    path: str,
    text: str,
    plain: str,
    name: str,
    head: str,
    launch: Launch,
    options: tuple[str, ...],
    change: tuple[int, int] | None,
) -> Any:
    parameters = parameters_of(head)
    source = re.sub(r'#\s*include\s*[<"]\w+\.(h|clh)[>"]', "", _with_assignments(text, parameters))
    groups = _GROUPS if "cooperative_groups" in source else ""
    opencl = OPENCL if path.startswith("OpenCL") else ""
    source = f"{groups}{_MACROS}{opencl}#line 1\n{source}\n{_bodies(plain)}"
    kernel = ptxlab.kernel(source, name, "sm_90a", [*options, *launch.options])
    conditions = [
        f"{name} == {value}" for name, value in re.findall(r"^//(\w+) = (\d+)$", text, re.MULTILINE)
    ]
    stated = re.search(r"--kernel-args=\w+,(0x\w+)", text)
    if stated:
        conditions += [
            f"{next(formal.name for formal in parameters if not formal.pointer)} == {int(stated[1], 16)}"
        ]
    conditions += [
        condition for condition in re.findall(r"__requires\((.*)\);", plain) if "__" not in condition
    ]
    rng = np.random.default_rng(0)
    values = _scalars(parameters, conditions, launch, change)
    arguments: list[Any] = []
    for parameter, kind in zip(parameters, kernel.parameters, strict=True):
        if parameter.pointer:
            arguments.append(array_for(parameter, launch.threads, rng))
        elif kind.startswith("b8[") and parameter.type not in TYPES:
            arguments.append(_struct(int(kind[3:-1]), rng))
        elif kind == "u64" and parameter.type not in TYPES:  # a pointer to a function
            arguments.append(np.uint64(0))
        else:
            arguments.append(values[parameter.name])
    shared = (
        local_bytes(math.prod(launch.block)) if "ptxlab_local" in text and name.startswith("ptxlab_") else 0
    )
    return kernel.simulate(launch.grid, launch.block, *arguments, shared=shared, limit=LIMIT, show=False)


def _bodies(text: str) -> str:
    """Functions that the text declares and leaves to others: they do nothing."""
    declared = re.findall(
        r"^(?!return|typedef|else)(?:extern\s+)?([a-z_]\w*\s+[\w\s*]*?\b(\w+)\s*\([^)]*\))\s*;", text, re.M
    )
    bodies = []
    for head, name in declared:
        if not re.search(rf"\b{name}\s*\([^;{{]*\{{", text):
            nothing = re.search(r"\bvoid\s+\w+\s*\(", head)
            bodies.append(f"{head} {{ {'' if nothing else 'return 0;'} }}")
    return "\n".join(bodies)


def _struct(size: int, rng: np.random.Generator) -> Any:
    """One of pointers, if its size is that of pointers."""
    if size % 8:
        return bytes(size)
    return tuple(rng.integers(0, 64, 4096).astype(np.int32) for _ in range(size // 8))


def _with_assignments(source: str, parameters: list[Parameter]) -> str:
    """Pointers to functions cannot be arguments: the first that the contract allows is assigned."""
    plain = {
        parameter.name for parameter in parameters if not parameter.pointer and parameter.type not in TYPES
    }

    def assigned(match: re.Match[str]) -> str:
        return f"{match[1]} = {match[2]};" if match[1] in plain else match[0]

    return re.sub(r"__requires\((\w+) == ([A-Za-z_]\w*)[^;]*;", assigned, source)


def _scalars(
    parameters: list[Parameter], conditions: list[str], launch: Launch, change: tuple[int, int] | None
) -> dict[str, Any]:
    """Numbers that meet the contract's conditions: the threads of the launch, or the first that do."""
    free = [parameter for parameter in parameters if not parameter.pointer]
    block = math.prod(launch.block)
    wanted = [number for text in conditions for number in map(int, re.findall(r"\b\d+\b", text))]
    wanted += [number + 1 for number in wanted]
    candidates = dict.fromkeys([launch.threads, block, 1, 2, 4, 0, *wanted])
    names = dict.fromkeys((parameter.name for parameter in free), launch.threads)
    for choice in itertools.islice(itertools.product(candidates, repeat=min(len(free), 4)), 20000):
        tried = names | dict(zip(names, choice, strict=False))
        if all(_holds(text, tried, block) for text in conditions):
            names = tried
            break
    if change is not None and change[0] < len(free):
        names[free[change[0]].name] = change[1]
    return {parameter.name: scalar_for(parameter, names[parameter.name]) for parameter in free}


def _holds(condition: str, names: dict[str, int], block: int) -> bool:
    """Whether the condition holds; what Python cannot read counts as met."""
    text = re.sub(r"&&?", " and ", re.sub(r"\|\|?", " or ", condition.replace("blockDim.x", str(block))))
    try:
        return bool(eval(text, {"__builtins__": {}}, dict(names)))
    except Exception:
        return True
