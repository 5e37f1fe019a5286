"""What README and docs/teaching.md show is produced: tables from the catalogue and the lessons, answers by the commands. `make docs` writes it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from ptxlab import TARGETS, Instruction, catalog
from ptxlab.course import LESSONS
from ptxlab.isa.transfer import TransferForm

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TEACHING = ROOT / "docs" / "teaching.md"


def table() -> str:
    """One row for every family and class of element types."""
    groups: dict[tuple[str, str], list[Instruction | TransferForm]] = {}
    for ins in catalog():
        groups.setdefault((ins.family, _class(ins)), []).append(ins)
    lines = ["| family | elements | shapes | result | forms | targets |", "|---|---|---|---|---:|---|"]
    for (family, elements), rows in groups.items():
        shapes = ", ".join(f"`{shape}`" for shape in dict.fromkeys(_shape(ins) for ins in rows))
        results = ", ".join(dict.fromkeys(ins.d_type for ins in rows if isinstance(ins, Instruction)))
        first = ", ".join(
            dict.fromkeys(
                map(
                    _targets,
                    sorted((ins.targets for ins in rows), key=lambda targets: TARGETS.index(targets[0])),
                )
            )
        )
        lines.append(f"| `{family}` | {elements} | {shapes} | {results} | {len(rows)} | {first} |")
    lines.append(f"| | | | | **{len(catalog())}** | |")
    return "\n".join(lines)


def _class(ins: Instruction | TransferForm) -> str:
    if isinstance(ins, TransferForm):
        return "any" if not ins.wmma else "those of `wmma`"
    if ins.kind is not None:
        return f"`kind::{ins.kind}`" + (" with block scales" if ins.scale_vec else "")
    return {"e4m3": "FP8", "e5m2": "FP8", "s8": "s8, u8", "u8": "s8, u8", "s4": "s4, u4", "u4": "s4, u4"}.get(
        ins.a_type, ins.a_type
    )


def _shape(ins: Instruction | TransferForm) -> str:
    return re.sub(r"n\d+k", "nNk", ins.shape) if ins.lanes == 128 else ins.shape


def _targets(targets: tuple[str, ...]) -> str:
    later = TARGETS[TARGETS.index(targets[0]) :]
    return (
        f"{targets[0]} and later"
        if targets == later and len(targets) > 1
        else f"{targets[0]} and its kin"
        if len(targets) > 1
        else targets[0]
    )


def speed() -> str:
    """The last recorded run of `python -m benchmarks`, as ratios."""
    found = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    rows = found["emulate"]["forms"]
    lines = ["| emulated, times a float32 `np.matmul` | with numba | NumPy alone |", "|---|---:|---:|"]
    for row in rows:
        cells = []
        for backend in ("numba", "numpy"):
            ratios = [
                row[f"{backend} {category}"] / row["matmul"]
                for category in ("moderate", "bits")
                if f"{backend} {category}" in row
            ]
            cells.append(" to ".join(f"{ratio:.1f}" for ratio in ratios))
        lines.append(f"| `{row['instruction']}` | {' | '.join(cells)} |")
    python, first = found["emulate"]["plain Python, MMAs a second"], rows[0]
    per_second = {
        backend: found["emulate"]["batch"] / first[f"{backend} moderate"] * 1e3
        for backend in ("numba", "numpy")
    }
    product, memory = found["matmul"]["products"][0], found["matmul"]["million"]
    machine, versions = (
        found["machine"],
        ", ".join(f"{name} {number}" for name, number in found["versions"].items()),
    )
    said = [
        f"Batches of {found['emulate']['batch']:,} MMAs; floats: moderate values to random bits.",
        f"The first of them runs at {per_second['numba']:,.0f} MMAs a second, {per_second['numba'] / python:,.0f} times a simulator in plain Python",
        f"(`benchmarks/scalar.py`; NumPy alone: {per_second['numpy'] / python:,.0f} times).",
        f"`ptxlab.matmul` of 512 x 512 x 512 with it takes {product['numba']:.2f} s ({product['numpy']:.2f} s);",
        f"a million of its MMAs take {memory['seconds']:.1f} s and {memory['peak MB']:.0f} MB at most, {memory['arrays MB']:.0f} MB of them for the arrays.",
        f"Recorded on {machine['cores']} cores of a {machine['processor']}, {versions}.",
    ]
    return "\n".join([*lines, "", *said])


def lessons() -> str:
    """One row for every lesson of the course."""
    lines = [
        "| lesson | question | afterwards a student can | minutes | exercises |",
        "|---|---|---|---:|---:|",
    ]
    for lesson in LESSONS:
        lines.append(
            f"| `{lesson.file}` | {lesson.question} | {'; '.join(lesson.goals)} | {lesson.minutes} | {len(lesson.exercises)} |"
        )
    hours = sum(lesson.minutes for lesson in LESSONS) / 60
    return "\n".join(
        [*lines, f"| | | | **{hours:.1f} hours** | **{sum(len(lesson.exercises) for lesson in LESSONS)}** |"]
    )


def hub() -> str:
    """The last recorded run of `python -m benchmarks.hub`."""
    found = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))["hub"]
    lines = [
        "| students at once | log in | lesson | server | kernel | memory a student |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for run in found["runs"]:
        cells = [
            f"{run['log in']:.0f} s",
            f"{run['lesson']:.0f} s",
            *(f"{run[part]:.0f} MB" for part in ("server", "kernel", "both")),
        ]
        lines.append(f"| {run['students']} | {' | '.join(cells)} |")
    return "\n".join(
        [
            *lines,
            "",
            f"Lesson `{found['lesson']}`, means over the students, recorded on {found['cores']} cores; the kernel with the lesson's explorers open.",
        ]
    )


def answer(command: str) -> str:
    """What `ptxlab ...` prints."""
    plain = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", *shlex.split(command)]
    return subprocess.run(
        words, env=plain, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.rstrip()


def render(text: str) -> str:
    """The text with its table and its console blocks made anew."""
    for name, made in (("instructions", table), ("benchmarks", speed), ("lessons", lessons), ("hub", hub)):
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda found, made=made: f"{found[1]}{made()}\n{found[2]}",
            text,
            flags=re.S,
        )  # type: ignore[misc]

    def block(found: re.Match[str]) -> str:
        commands = [line[2:] for line in found[1].splitlines() if line.startswith("$ ptxlab ")]
        return (
            "```console\n" + "\n\n".join(f"$ {command}\n{answer(command)}" for command in commands) + "\n```"
        )

    return re.sub(r"```console\n(\$ ptxlab .*?)\n```", block, text, flags=re.S)


if __name__ == "__main__":
    for page in (README, TEACHING):
        page.write_text(render(page.read_text(encoding="utf-8")), encoding="utf-8")
