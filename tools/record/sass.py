"""python -m tools.record sass: record the machine code of every form for every chip, in data/sass.txt.

With --newer it records only what the compiler of the record is too old for, with the newer NVRTC that is
installed for that; without, those rows stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ptxlab import Instruction, Transfer, catalog, gpu
from ptxlab._util.files import write_atomically
from ptxlab._util.progress_bar import bar
from ptxlab.gpu.sass import Sass, survey
from ptxlab.instruction import register_instructions
from ptxlab.isa.targets import CHIPS, TCGEN05, newest_of_cuda
from ptxlab.isa.tcgen05 import Tcgen05Form, TensorTransfer

__all__ = [
    "FILE", "TARGETS", "TENSOR_TARGETS", "UNPRINTED", "Key", "Run", "compiler", "folded", "forms", "is_newer",
    "main", "newer_compiler", "read", "record", "run_of", "write",
]  # fmt: skip

FILE = Path(__file__).parents[1] / "data" / "sass.txt"
#: One target for every generation.
TARGETS: tuple[str, ...] = tuple(CHIPS.values())
#: One for every chip that has tcgen05.
TENSOR_TARGETS: tuple[str, ...] = tuple(target for target in TCGEN05 if target.endswith("a"))

#: What stands for an instruction that nvdisasm does not print.
UNPRINTED = "UNPRINTED"

Key = tuple[str, str]  # mnemonic, target
AnyInstruction = Instruction | Transfer | Tcgen05Form

_HEAD = """\
# The machine code that CUDA {version}'s compiler emits for every form; `make chips` writes this file.
# Forms of a later PTX ISA are CUDA {newer}'s (python -m tools.record sass --newer).
# Below each form, by target: native (one tensor-core instruction), split (several), emulated (arithmetic
# around them, or alone) or plain (loads and stores); the tensor-core instructions, UNPRINTED where nvdisasm
# has no line for one; after the bar the other
# arithmetic, by the first word of the opcode. {{x,y}} means either;
# {{8..256..8}} means 8 to 256 in steps of 8. A, B and N stand for the form's own types and its N (of
# tcgen05.ld and .st: its count).
"""


@dataclass(frozen=True)
class Run:
    """What one target runs for one form: counts by opcode; in `around`, by the first word of the opcode.

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
        """How many arithmetic instructions there are besides those of the tensor core."""
        return sum(count for _, count in self.around)


def run_of(sass: Sass) -> Run:
    """What is kept of the machine code; the arithmetic around a transfer only computes addresses."""
    around: Counter[str] = Counter()
    if not sass.transfer:
        for opcode, count in sass.arithmetic.items():
            around[opcode.split(".")[0]] += count
    tensor = dict(sass.tensor)
    if sass.unprinted:
        tensor[UNPRINTED] = sass.unprinted
    return Run(sass.how, _sorted(tensor), _sorted(around))


def _sorted(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


# -- writing -------------------------------------------------------------------------------------------------


def _placeholders(ins: AnyInstruction) -> dict[str, str]:
    """The form's own types and its N, as they appear in opcodes -> A, B and N.

    Opcodes name pairs of types only up to 8 bits.
    """
    if isinstance(ins, TensorTransfer) and ins.count > 1:
        return {f".x{ins.count}": ".xN"}
    if not isinstance(ins, Instruction):
        return {}
    names = {f"64x{ins.n}x": "64xNx"}
    if ins.a.dtype.bits <= 8:
        names[f".{ins.a_type.upper()}.{ins.b_type.upper()}"] = ".A.B"
    return names


def forms(target: str | None = None) -> tuple[AnyInstruction, ...]:
    """Every form whose machine code is recorded, or those that one target has: all but collector hints.

    >>> len(forms("sm_90a")) < len(forms())
    True
    """
    every = (*register_instructions(), *catalog("tcgen05"))
    distinct = {ins.mnemonic: ins for ins in every}
    if target is None:
        return tuple(distinct.values())
    tensor = [ins for ins in distinct.values() if isinstance(ins, Tcgen05Form) and target in TENSOR_TARGETS]
    others = [ins for ins in distinct.values() if not isinstance(ins, Tcgen05Form) and target in TARGETS]
    return tuple(ins for ins in (*others, *tensor) if ins.supports(target))


def write(runs: Mapping[Key, Run], version: str, newer: str) -> str:
    """The text of the file: forms that behave alike together, targets that run the same on one line."""
    texts: dict[tuple[str, ...], str] = {}  # pieces of a mnemonic -> lines below it
    for ins in forms():
        targets: dict[str, list[str]] = {}  # what runs -> where
        for target in dict.fromkeys((*TARGETS, *TENSOR_TARGETS)):
            if (ins.mnemonic, target) in runs:
                text = str(runs[ins.mnemonic, target])
                for name, placeholder in _placeholders(ins).items():
                    text = text.replace(name, placeholder)
                targets.setdefault(text, []).append(target)
        lines = (f"  {' '.join(names)}: {text}" for text, names in targets.items())
        texts[_pieces(ins.mnemonic)] = "\n".join(lines)
    folded = [f"{''.join(map(_braced, pieces))}\n{text}\n" for pieces, text in _folded(texts)]
    return "\n".join([_HEAD.format(version=version, newer=newer), *folded])


def _pieces(mnemonic: str) -> tuple[str, ...]:
    """The mnemonic cut where forms differ: at its dots and around N."""
    return tuple(re.split(r"(\.|(?<=m64n)\d+)", mnemonic))


def _folded(texts: Mapping[tuple[str, ...], str]) -> Iterator[tuple[tuple[tuple[str, ...], ...], str]]:
    """Forms that differ in one piece and behave alike become one, piece after piece."""
    lines = [(tuple((piece,) for piece in pieces), text) for pieces, text in texts.items()]
    for at in range(max(len(pieces) for pieces, _ in lines)):
        merged: dict[Any, dict[str, None]] = {}
        for pieces, text in lines:
            own = pieces[at] if at < len(pieces) else ()
            merged.setdefault((pieces[:at], pieces[at + 1 :], text, bool(own)), {}).update(dict.fromkeys(own))
        lines = []
        for (before, after, text, there), alternatives in merged.items():
            choices = (tuple(alternatives),) if there else ()
            lines.append(((*before, *choices, *after), text))
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


# -- reading -------------------------------------------------------------------------------------------------


def read(text: str | None = None) -> dict[Key, Run]:
    """The record: every form and target of the file, in its order."""
    if text is None:
        text = FILE.read_text(encoding="utf-8")
    instructions = {ins.mnemonic: ins for ins in forms()}
    runs: dict[Key, Run] = {}
    for block in re.sub(r"^#.*\n", "", text, flags=re.M).strip().split("\n\n"):
        spelling, *lines = block.strip().splitlines()
        for mnemonic in _expanded(spelling):
            names = _placeholders(instructions[mnemonic]) if mnemonic in instructions else {}
            for line in lines:
                targets, _, counts = line.strip().partition(": ")
                for name, placeholder in names.items():
                    counts = counts.replace(placeholder, name)
                runs.update(((mnemonic, target), _parsed(counts)) for target in targets.split())
    return runs


def folded(prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Forms whose spelling begins so, those together that run alike, and what each target runs."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(encoding="utf-8"), flags=re.M)
    for block in text.strip().split("\n\n"):
        spelling, *lines = block.strip().splitlines()
        if spelling.startswith(prefix):
            parts = [line.strip().partition(": ") for line in lines]
            yield spelling, {target: run for targets, _, run in parts for target in targets.split()}


def compiler() -> str:
    """The version of CUDA whose compiler was recorded."""
    version = re.match(r"# The machine code that CUDA (\d+\.\d+)'s", FILE.read_text(encoding="utf-8"))
    return version[1] if version else "?"


def newer_compiler() -> str:
    """The version of CUDA whose compiler was recorded for forms that `compiler()` does not know."""
    version = re.search(r"^# .* are CUDA (\d+\.\d+)'s", FILE.read_text(encoding="utf-8"), re.M)
    return version[1] if version else "?"


def is_newer(ins: AnyInstruction, target: str | None = None) -> bool:
    """Whether the recorded compiler is too old for this form, or for the target."""
    major, minor = compiler().split(".")
    version = ins.ptx_version if target is None else ins.ptx_version_for(target)
    return version > newest_of_cuda((int(major), int(minor)))


def _expanded(forms: str) -> Iterable[str]:
    pieces = re.split(r"\{(.*?)\}", forms)
    choices = [piece.split(",") if at % 2 else [piece] for at, piece in enumerate(pieces)]
    numbered = ([number for choice in some for number in _numbers(choice)] for some in choices)
    return map("".join, product(*numbered))


def _numbers(choice: str) -> Iterable[str]:
    span = re.fullmatch(r"(\d+)\.\.(\d+)\.\.(\d+)", choice)
    return map(str, range(int(span[1]), int(span[2]) + 1, int(span[3]))) if span else [choice]


def _parsed(text: str) -> Run:
    how, _, counts = text.partition(":")
    parts = [re.findall(r"(\d+) ([\w.]+)", part) for part in counts.split("|")]
    tensor, around = (tuple((opcode, int(count)) for count, opcode in part) for part in (*parts, [])[:2])
    return Run(how, tensor, around)


# -- recording -----------------------------------------------------------------------------------------------


def record(
    targets: Sequence[str] = tuple(dict.fromkeys((*TARGETS, *TENSOR_TARGETS))), *, newer: bool = False
) -> dict[Key, Run]:
    """Compile and disassemble forms for every target that has them: those that are newer, or all others."""
    todo = {target: [ins for ins in forms(target) if is_newer(ins, target) == newer] for target in targets}
    runs: dict[Key, Run] = {}
    with bar(sum(map(len, todo.values())), "kernels") as tick:
        for target, rows in todo.items():
            for ins, sass in zip(rows, survey(rows, target), strict=True):
                runs[ins.mnemonic, target] = run_of(sass)
                tick(1, target)
    return runs


def main(newer: bool = False) -> None:
    major, minor = gpu.compiler_version()
    version = f"{major}.{minor}"
    runs = record(newer=newer)
    form_of = {ins.mnemonic: ins for ins in forms()}
    kept = {
        (name, target): run
        for (name, target), run in read().items()
        if name in form_of and form_of[name].supports(target) and is_newer(form_of[name], target) != newer
    }
    versions = (compiler(), version) if newer else (version, newer_compiler())
    write_atomically(FILE, write(runs | kept, *versions))
    print(f"{len(runs):,} kernels of {len({mnemonic for mnemonic, _ in runs}):,} forms: {FILE.name}")
