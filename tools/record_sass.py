"""What the chips run, recorded in data/sass.txt: ``python -m tools.record_sass`` compiles the whole catalogue for every chip anew, without a GPU."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ptxlab import Instruction, catalog, gpu
from ptxlab._util.progress import bar
from ptxlab.gpu.sass import Sass, survey
from ptxlab.isa.targets import CHIPS

__all__ = ["FILE", "TARGETS", "Key", "Run", "compiler", "main", "read", "record", "run_of", "write"]

FILE = Path(__file__).with_name("data") / "sass.txt"
#: One target for every generation.
TARGETS: tuple[str, ...] = tuple(CHIPS.values())

Key = tuple[str, str]  # mnemonic, target

_HEAD = """\
# What CUDA {version}'s compiler makes of every form of the catalogue: `make chips` writes this file, without a GPU.
# Under the forms, with their targets: native (one tensor-core instruction), split (several), emulated (arithmetic around them, or alone),
# plain (loads and stores); the tensor-core instructions; after the bar what else computes, by the first word of the opcode.
# Of {{x,y}} any is meant; {{8..256..8}} are the numbers from 8 to 256 in steps of 8. A, B and N stand for the form's own types and its N.
"""


@dataclass(frozen=True)
class Run:
    """What one target runs for one form: counts by opcode. `around` has the first words of opcodes alone.

    >>> str(Run("emulated", (("HMMA.16816.F32", 2),), (("F2FP", 12), ("FADD", 4))))
    'emulated: 2 HMMA.16816.F32 | 12 F2FP + 4 FADD'
    """

    how: str
    tensor: tuple[tuple[str, int], ...] = ()
    around: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        parts = [
            " + ".join(f"{count} {opcode}" for opcode, count in some) for some in (self.tensor, self.around)
        ]
        text = " | ".join(parts) if self.around else parts[0]
        return f"{self.how}: {text.strip()}" if text else self.how

    @property
    def others(self) -> int:
        """How many instructions compute besides those of the tensor core."""
        return sum(count for _, count in self.around)


def run_of(found: Sass) -> Run:
    """What is kept of the machine code; around a move there are addresses alone."""
    around: Counter[str] = Counter()
    for opcode, count in ({} if found.transfer else found.arithmetic).items():
        around[opcode.split(".")[0]] += count
    return Run(found.how, _sorted(found.tensor), _sorted(around))


def _sorted(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


# -- the form's own types in its opcodes --------------------------------------------------------------------------------------


def _swapped(run: str, ins: Any, *, back: bool) -> str:
    """A, B and N in place of the form's own types (of up to 8 bits: opcodes name no others in pairs) and of its N in 64xNx16, or back."""
    if not isinstance(ins, Instruction):
        return run
    pairs = [(f"64x{ins.n}x", "64xNx")]
    if ins.a.dtype.bits <= 8:
        pairs.append((f".{ins.a_type.upper()}.{ins.b_type.upper()}", ".A.B"))
    for own, sign in pairs:
        run = run.replace(sign, own) if back else run.replace(own, sign)
    return run


# -- lines ------------------------------------------------------------------------------------------------------------------


def write(runs: Mapping[Key, Run], version: str) -> str:
    """The text of the file: forms that behave alike together, targets that run the same on one line."""
    forms: dict[tuple[str, ...], str] = {}  # pieces of a mnemonic -> what is said of it
    for ins in catalog():
        said = {
            target: _swapped(str(runs[ins.mnemonic, target]), ins, back=False)
            for target in TARGETS
            if (ins.mnemonic, target) in runs
        }
        alike = {text: [target for target in said if said[target] == text] for text in said.values()}
        forms[_pieces(ins.mnemonic)] = "\n".join(f"  {' '.join(on)}: {text}" for text, on in alike.items())
    folded = [f"{''.join(map(_braced, pieces))}\n{text}\n" for pieces, text in _folded(forms)]
    return "\n".join([_HEAD.format(version=version), *folded])


def _pieces(mnemonic: str) -> tuple[str, ...]:
    """The mnemonic cut where forms differ: at its dots and around N."""
    return tuple(re.split(r"(\.|(?<=m64n)\d+)", mnemonic))


def _folded(forms: Mapping[tuple[str, ...], str]) -> Iterator[tuple[tuple[tuple[str, ...], ...], str]]:
    """Forms that differ in one piece and behave alike become one, piece after piece."""
    lines = [(tuple((piece,) for piece in pieces), text) for pieces, text in forms.items()]
    for at in range(max(len(pieces) for pieces, _ in lines)):
        merged: dict[Any, dict[str, None]] = {}
        for pieces, text in lines:
            own = pieces[at] if at < len(pieces) else ()
            merged.setdefault((pieces[:at], pieces[at + 1 :], text, bool(own)), {}).update(dict.fromkeys(own))
        lines = [
            ((*before, *((tuple(own),) if there else ()), *after), text)
            for (before, after, text, there), own in merged.items()
        ]
    yield from lines


def _braced(choices: tuple[str, ...]) -> str:
    if len(choices) == 1:
        return choices[0]
    if all(choice.isdigit() for choice in choices):
        choices = tuple(_spans([int(choice) for choice in choices]))
    return f"{{{','.join(choices)}}}"


def _spans(numbers: Sequence[int]) -> Iterator[str]:
    """``8 16 24 32 48..256..16``: runs of even steps, of three or more."""
    at = 0
    while at < len(numbers):
        step = numbers[at + 1] - numbers[at] if at + 1 < len(numbers) else 0
        end = at
        while end + 1 < len(numbers) and numbers[end + 1] - numbers[end] == step:
            end += 1
        if end - at < 2:
            end = at
        yield str(numbers[at]) if end == at else f"{numbers[at]}..{numbers[end]}..{step}"
        at = end + 1


# -- and back ---------------------------------------------------------------------------------------------------------------


def read(text: str | None = None) -> dict[Key, Run]:
    """The record: every form and target of the file, in its order."""
    known = {ins.mnemonic: ins for ins in catalog()}
    runs: dict[Key, Run] = {}
    for block in re.sub(
        r"^#.*\n", "", FILE.read_text(encoding="utf-8") if text is None else text, flags=re.M
    ).split("\n\n"):
        forms, *lines = block.strip().splitlines() or [""]
        for mnemonic in _expanded(forms) if forms else ():
            for line in lines:
                targets, _, said = line.strip().partition(": ")
                run = _parsed(_swapped(said, known.get(mnemonic), back=True))
                runs.update(((mnemonic, target), run) for target in targets.split())
    return runs


def compiler() -> str:
    """The version of CUDA that the record is of."""
    found = re.match(r"# What CUDA (\d+\.\d+)'s", FILE.read_text(encoding="utf-8"))
    return found[1] if found else "?"


def _expanded(forms: str) -> Iterable[str]:
    pieces = re.split(r"\{(.*?)\}", forms)
    choices = [piece.split(",") if at % 2 else [piece] for at, piece in enumerate(pieces)]
    return map(
        "".join, product(*([number for choice in some for number in _numbers(choice)] for some in choices))
    )


def _numbers(choice: str) -> Iterable[str]:
    found = re.fullmatch(r"(\d+)\.\.(\d+)\.\.(\d+)", choice)
    return map(str, range(int(found[1]), int(found[2]) + 1, int(found[3]))) if found else [choice]


def _parsed(said: str) -> Run:
    how, _, counts = said.partition(":")
    parts = [re.findall(r"(\d+) ([\w.]+)", part) for part in counts.split("|")]
    tensor, around = (tuple((opcode, int(count)) for count, opcode in part) for part in (*parts, [])[:2])
    return Run(how, tensor, around)


# -- recording --------------------------------------------------------------------------------------------------------------


def record(targets: Sequence[str] = TARGETS) -> dict[Key, Run]:
    """Compile and disassemble every form for every target that has it."""
    todo = {target: catalog(target=target) for target in targets}
    runs: dict[Key, Run] = {}
    with bar(sum(map(len, todo.values())), "kernels") as tick:
        for target, rows in todo.items():
            for ins, found in zip(rows, survey(rows, target), strict=True):
                runs[ins.mnemonic, target] = run_of(found)
                tick(1, target)
    return runs


def main() -> int:
    major, minor = gpu.compiler_version()
    runs = record()
    FILE.write_text(write(runs, f"{major}.{minor}"), encoding="utf-8")
    print(f"{len(runs):,} kernels of {len({mnemonic for mnemonic, _ in runs}):,} forms: {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
