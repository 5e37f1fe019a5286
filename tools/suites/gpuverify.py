"""GPUVerify's testsuite, CUDA: each kernel.cu begins with //pass or //xfail:..., and with its launch."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab

from .launches import TYPES, Parameter, array_for, parameters_of, scalar_for, without_comments
from .runs import LIMIT, Run

SUITE = "GPUVerify, CUDA"
#: Threads of a launch: fewer blocks than the annotation says, two where it has several.
_THREADS = 2048
#: The verifier's own language. What it claims is not executed.
_CONTRACT = (
    "requires", "ensures", "invariant", "global_invariant", "assert", "assume", "barrier_invariant",
    "requires_fresh_array", "function_wide_invariant", "candidate_invariant", "modifies", "reads_from", "writes_to",
)  # fmt: skip
_MACROS = """typedef unsigned int uint;
#define __axiom(...)
#define __builtin_memcpy memcpy
#define __builtin_memset memset
""" + "".join(f"#define __{name}(...) ((void)0)\n" for name in _CONTRACT)

#: Of kernels whose text does not say what is wrong: the kind of bug, or why an execution does not show it.
_CLAIMS = {
    "fail_tests/": "race",
    "curand_tests/fail": "race",
    "param_values/value_causing_race": "race",
    "warpsync/": "race",
    "pointeranalysistests/": "race",
    "atomics/add_": "race",
    "fresh_arrays/": "race",
    "cooperative_groups/fail/race": "race",
    "cooperative_groups/": "divergent barrier",
    "memset/null_dst": "null pointer",
    "memcpy/null": "null pointer",
    "function_pointers/pass_struct": "null pointer",
    "misc/fail/miscfail7": "null pointer",
    "misc/fail/miscfail5": "write to constant memory",
    "misc/pass/misc3": "write to constant memory",
}
_GROUPS = """#include <cooperative_groups.h>
template <class Group> __device__ void synchronize(Group group) { group.sync(); }
"""
_ALL_INPUTS = "a claim about all inputs, an assertion, or a contract of the verifier's language"


def runs(folder: Path, words: str = "", clean: bool = False) -> Iterator[Run]:
    """Those of the folder testsuite/CUDA, with `words` in their names; with `clean` only those that pass."""
    root = next(path for path in (folder / "testsuite" / "CUDA", folder / "CUDA", folder) if path.is_dir())
    for file in sorted(root.rglob("kernel.cu")):
        name = str(file.parent.relative_to(root))
        text = file.read_text(encoding="utf-8", errors="replace")
        if words in name and not (clean and _claim(name, text.splitlines()) [0] != ""):
            yield _run(name, text)


def _run(name: str, text: str) -> Run:
    """With the compiler's default options, and without optimisation, where nothing was reported."""
    head = text.splitlines()[:12]
    bug, remark = _claim(name, head)
    run = Run(SUITE, name, bug, remark).do(lambda: _simulated(text, head[1], []))
    if run.hazards or run.refusal:
        return run
    again = Run(SUITE, name, bug, "with -G").do(lambda: _simulated(text, head[1], ["-G"]))
    return again if again.hazards else run


def _claim(name: str, head: list[str]) -> tuple[str | None, str]:
    """What the suite says: "" for pass, a kind of bug, None for what no execution shows."""
    if head[0].upper().startswith("//PASS"):
        return "", ""
    if "NOT_ALL_VERIFIED" not in head[0].upper():
        return None, "an error of the verifier's own compiler"
    for start, kind in _CLAIMS.items():
        if name.startswith(start):
            return kind, ""
    said = " ".join(line for line in head[2:] if line.startswith("//")).lower()
    for words, kind in (("racy", "race"), ("race", "race"), ("null pointer", "null pointer")):
        if words in said:
            return kind, ""
    return None, _ALL_INPUTS


def _size(text: str, option: str) -> tuple[int, ...]:
    match = re.search(rf"--{option}=(\[[^\]]*\]|\d+)", text)
    return tuple(int(number) for number in re.findall(r"\d+", match[1])) if match else (1,)


def launch_size(line: str, block: str = "blockDim", grid: str = "gridDim") -> tuple[list[int], list[int]]:
    """Blocks and threads, cut down to what is quick: 1024 threads of a block, 2048 in all."""
    threads, blocks = list(_size(line, block)), list(_size(line, grid))
    while math.prod(threads) > 1024:
        largest = threads.index(max(threads))
        threads[largest] //= 2
    while math.prod(blocks) > 2 and math.prod(blocks) * math.prod(threads) > _THREADS:
        largest = blocks.index(max(blocks))
        blocks[largest] = (blocks[largest] + 1) // 2
    return blocks, threads


def _simulated(text: str, line: str, options: list[str]) -> Any:
    blocks, threads = launch_size(line)
    options = [*options, *re.findall(r"-D\S+", line)]
    plain = without_comments(text)
    match = re.search(r"__global__[\w\s]*?\bvoid\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(", plain)
    if match is None:
        match = re.search(r"void\s+__global__\s+(\w+)\s*\(", plain)
    if match is None:
        raise ptxlab.PtxlabError("no kernel was found in the text")
    start = match.end()
    end = _closing(plain, start)
    parameters = parameters_of(plain[start:end])
    source = re.sub(r'#\s*include\s*[<"]cuda\.h[>"]', "", _with_assignments(text, parameters))
    groups = _GROUPS if "cooperative_groups" in source else ""
    source = f"{groups}{_MACROS}#line 1\n{source}\n{_bodies(plain)}"
    kernel = ptxlab.kernel(source, match[1], "sm_90a", options)
    conditions = [f"{name} == {value}" for name, value in re.findall(r"^//(\w+) = (\d+)$", text, re.MULTILINE)]
    conditions += [each for each in re.findall(r"__requires\((.*)\);", plain) if "__" not in each]
    rng = np.random.default_rng(0)
    total = math.prod(blocks) * math.prod(threads)
    values = scalars(parameters, conditions, total, math.prod(threads))
    arguments: list[Any] = []
    for parameter, kind in zip(parameters, kernel.parameters, strict=True):
        if parameter.pointer:
            arguments.append(array_for(parameter, total, rng))
        elif kind.startswith("b8["):
            arguments.append(_struct(int(kind[3:-1]), rng))
        else:
            arguments.append(np.uint64(0) if kind == "u64" and parameter.type not in TYPES else values[parameter.name])
    return kernel.simulate(tuple(blocks), tuple(threads), *arguments, limit=LIMIT, show=False)


def _bodies(text: str) -> str:
    """Functions that the text declares and leaves to others: they do nothing."""
    declared = re.findall(r"^(?:extern\s+)?(__device__\s+[\w\s*]+?\b(\w+)\s*\([^)]*\))\s*;", text, re.MULTILINE)
    return "\n".join(
        f"{head} {{ {'' if ' void ' in head.split('(')[0] else 'return 0;'} }}"
        for head, name in declared
        if not re.search(rf"\b{name}\s*\([^;{{]*\{{", text)
    )


def _closing(text: str, start: int) -> int:
    depth, place = 1, start
    while depth:
        depth += (text[place] == "(") - (text[place] == ")")
        place += 1
    return place - 1


def _struct(size: int, rng: np.random.Generator) -> Any:
    """One of pointers, if its size is that of pointers."""
    if size % 8:
        return bytes(size)
    return tuple(rng.integers(0, 64, 4096).astype(np.int32) for _ in range(size // 8))


def _with_assignments(source: str, parameters: list[Parameter]) -> str:
    """Pointers to functions cannot be arguments: the first that the contract allows is assigned."""
    plain = {each.name for each in parameters if not each.pointer}

    def assigned(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        if name in plain and re.fullmatch(r"[A-Za-z_]\w*", value) and value not in ("blockDim", "tid"):
            return f"{name} = {value};"
        return match[0]

    return re.sub(r"__requires\((\w+) == (\w+)[^;]*;", assigned, source)


def scalars(
    parameters: list[Parameter], conditions: list[str], total: int, block: int
) -> dict[str, Any]:
    """Numbers that meet the contract's conditions: the threads of the launch, or the first that do."""
    free = [each for each in parameters if not each.pointer]
    wanted = [number for text in conditions for number in map(int, re.findall(r"\b\d+\b", text))]
    candidates = dict.fromkeys([total, block, 1, 2, 4, 0, *wanted, *(number + 1 for number in wanted)])
    for choice in itertools.islice(itertools.product(candidates, repeat=min(len(free), 4)), 20000):
        values = itertools.chain(choice, itertools.repeat(total))
        names = {each.name: value for each, value in zip(free, values)}
        if all(_holds(text, names, block) for text in conditions):
            return {each.name: scalar_for(each, names[each.name]) for each in free}
    return {each.name: scalar_for(each, total) for each in free}


def _holds(condition: str, names: dict[str, int], block: int) -> bool:
    """Whether the condition holds; what Python cannot read counts as met."""
    text = re.sub(r"&&?", " and ", re.sub(r"\|\|?", " or ", condition.replace("blockDim.x", str(block))))
    try:
        return bool(eval(text, {"__builtins__": {}}, dict(names)))
    except Exception:
        return True
