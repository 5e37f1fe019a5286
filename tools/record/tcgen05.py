"""python -m tools.record tcgen05: which lines of tcgen05 the assemblers take, for every target.

Asks the oldest and the newest assembler for every line of `tests/isa/tcgen05_lines.py` and writes
`tests/golden/tcgen05.json`: for each assembler the sets of targets, and of each line, in order, the set that
takes it, run-length encoded. Needs no GPU; takes a few minutes.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

from ptxlab._util.files import write_atomically
from ptxlab.isa.targets import TCGEN05
from tests import assembler
from tests.assembler import Compiler
from tests.isa.tcgen05_lines import Line, lines, taken

FILE = Path(__file__).parents[2] / "tests" / "golden" / "tcgen05.json"
#: Lines of one module: nvJitLink takes quadratic time for its complaints.
_BATCH = 400
#: Of targets without tcgen05 every so many lines are asked.
_STRIDE = 13
_LETTERS = "-ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def digest(asked: tuple[Line, ...]) -> str:
    """What the record is about."""
    return sha256("\n".join(line.text for line in asked).encode()).hexdigest()


def encode(letters: str) -> str:
    """Run lengths: ``AAAB`` is ``3AB``."""
    return re.sub(r"(.)\1+", lambda run: f"{len(run[0])}{run[1]}", letters)


def decode(text: str) -> str:
    """The inverse of `encode`."""
    return re.sub(r"(\d+)(\D)", lambda run: run[2] * int(run[1]), text)


def _verdicts(compiler: Compiler) -> dict[str, object]:
    asked = lines()
    sets: list[list[str]] = [[] for _ in asked]
    for target in compiler.targets:
        places = range(0, len(asked), 1 if target in TCGEN05 else _STRIDE)
        for low in range(0, len(places), _BATCH):
            batch = places[low : low + _BATCH]
            for place, takes in zip(batch, taken([asked[i] for i in batch], target, compiler), strict=True):
                if takes:
                    sets[place].append(target)
        print(f"{compiler}, {target}: {sum(target in row for row in sets):,} of {len(places):,} lines taken")
    classes = ["", *sorted({" ".join(row) for row in sets if row})]
    letters = "".join(_LETTERS[classes.index(" ".join(row))] for row in sets)
    return {"targets": dict(zip(_LETTERS, classes, strict=False)), "lines": encode(letters)}


def main(folder: Path = FILE.parent) -> None:
    record = {
        "about": "Which targets take each line of tests/isa/tcgen05_lines.py: letters in their order.",
        "digest": digest(lines()),
        "count": len(lines()),
        "assemblers": {compiler.release: _verdicts(compiler) for compiler in assembler.COMPILERS},
    }
    write_atomically(folder / FILE.name, json.dumps(record, indent=1) + "\n")
    print(f"{FILE}: {len(lines()):,} lines")
