"""What the README shows is produced: the table from the catalogue, the answers by the commands. `make docs` writes it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from ptxlab import TARGETS, Instruction, catalog

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


def table() -> str:
    """One row for every group of forms that differ only in types' pairing, N and `.satfinite`."""
    groups: dict[tuple[str, str, str, tuple[str, ...]], list[Instruction]] = {}
    for ins in catalog():
        wide = ins.family.startswith("wgmma")
        kind = ins.d_type if wide else "FP8" if ins.a_type in ("e4m3", "e5m2") else ins.a_type.lstrip("su")
        groups.setdefault((ins.family, f"m{ins.m}n{'N' if wide else ins.n}k{ins.k}", kind, ins.targets), []).append(ins)
    lines = ["| family | shape | A and B | C and D | forms | targets |", "|---|---|---|---|---:|---|"]
    for (family, shape, _, targets), rows in groups.items():
        sizes = sorted({ins.n for ins in rows})
        n = f", N = {sizes[0]}..{sizes[-1]}" if len(sizes) > 1 else ""
        inputs = ", ".join(dict.fromkeys(kind for ins in rows for kind in (ins.a_type, ins.b_type)))
        bit_ops = ", ".join(dict.fromkeys(f"`.{ins.bit_op}.popc`" for ins in rows if ins.bit_op))
        outputs = ", ".join(dict.fromkeys(ins.d_type for ins in rows))
        lines.append(f"| `{family}` | `{shape}`{n} | {inputs} {bit_ops}".rstrip() + f" | {outputs} | {len(rows)} | {_targets(targets)} |")
    lines.append(f"| | | | | **{len(catalog())}** | |")
    return "\n".join(lines)


def _targets(targets: tuple[str, ...]) -> str:
    later = TARGETS[TARGETS.index(targets[0]) :]
    return f"{targets[0]} and later" if targets == later and len(targets) > 1 else ", ".join(targets)


def answer(command: str) -> str:
    """What `ptxlab ...` prints."""
    plain = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", *shlex.split(command)]
    return subprocess.run(words, env=plain, cwd=ROOT, capture_output=True, text=True, check=True).stdout.rstrip()


def render(text: str) -> str:
    """The text with its table and its console blocks made anew."""
    text = re.sub(r"(<!-- instructions -->\n).*?(<!-- end -->)", lambda found: f"{found[1]}{table()}\n{found[2]}", text, flags=re.S)

    def block(found: re.Match[str]) -> str:
        commands = [line[2:] for line in found[1].splitlines() if line.startswith("$ ptxlab ")]
        return "```console\n" + "\n\n".join(f"$ {command}\n{answer(command)}" for command in commands) + "\n```"

    return re.sub(r"```console\n(\$ ptxlab .*?)\n```", block, text, flags=re.S)


if __name__ == "__main__":
    README.write_text(render(README.read_text(encoding="utf-8")), encoding="utf-8")
