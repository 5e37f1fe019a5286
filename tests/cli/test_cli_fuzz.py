"""Hostile command lines, seeded: each ends with a status, and with an answer or one short line.

PTXLAB_FUZZ=N tries N command lines instead of a few hundred.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import numpy as np
import pytest

from ptxlab.cli import lab, main
from ptxlab.cli.commands import COMMANDS
from ptxlab.cli.parser import function_of
from ptxlab.isa.catalog import FAMILIES, catalog
from ptxlab.isa.targets import GENERATIONS, TARGETS
from tests.texts import replaced

COUNT = int(os.environ.get("PTXLAB_FUZZ", "250"))
LINE = 700  # letters of a refusal: a sentence, with what it repeats of the input and what there is instead

NAMES = [form.mnemonic for form in catalog()]
NUMBERS = ["0", "1", "7", "31", "32", "-1", "127", "128", "+3", " 5 ", "0x10", "0x", "٣", "½", "1e400", "nan"]
NUMBERS += ["1_000", str(10**30), "-" + "9" * 500, "1.5", "inf", "0b1", "007", "2147483648", str(2**64), ""]
WORDS = [
    "",
    " ",
    "-",
    "--",
    "---",
    ".",
    "..",
    "/",
    "\\",
    "\0",
    "\n",
    "a\nb\tc",
    "\x1b[2J",
    "%s%n",
    "{0}",
    "*",
]
WORDS += [
    "\udc80\udcff",
    "é",
    "日本語",
    "💥",
    "'",
    '"',
    "' (choose from a)",
    "--json",
    "--help=3",
    "-h3",
    "@x",
]
WORDS += [
    "x" * 5000,
    "x " * 3000,
    "--" + "y" * 5000,
    "mma" + "." * 300,
    "A" * 70,
    "-" * 200,
    "=",
    "--=",
    "a=b",
]
OPERANDS = ["A", "B", "C", "D", "E", "SFA", "SFB", "R", "a", "metadata", "scale_a", "Q", "AA"]
OPTIONS = sorted(
    {word for command in COMMANDS for word in str(function_of(command).__doc__).split() if word[0] == "-"}
    - {"--all", "--record"}  # measuring everything takes minutes, where there is a GPU
)


def mutated(text: str, rng: random.Random) -> str:
    """The text with a letter changed, dropped or doubled, or in another case."""
    place = rng.randrange(len(text) + 1)
    letter = rng.choice([".", ":", "x", "8", " ", "\udc80", "é", "", text[place : place + 1] * 2])
    return rng.choice([text[:place] + letter + text[place + 1 :], text.upper(), f" {text}. ", text[:place]])


class Lines:
    """Makes command lines: the words of a command in its order, some of them hostile."""

    def __init__(self, seed: int, files: list[str]) -> None:
        self.rng = random.Random(seed)
        self.files = files

    def instruction(self) -> str:
        name = self.rng.choice([*NAMES, "mma.m16n8k64.s4", "mma.sp.m16n8k16.tf32", "wgmma.m64n8k16.f32.f16"])
        return mutated(name, self.rng) if self.rng.random() < 0.3 else name

    def number(self) -> str:
        return self.rng.choice(["0", "1", "3", "7"]) if self.rng.random() < 0.6 else self.rng.choice(NUMBERS)

    def option(self, name: str, *values: str) -> list[str]:
        """The option, sometimes, with a value, sometimes a hostile one, sometimes none."""
        if self.rng.random() < 0.75:
            return []
        if not values:
            return [name]
        value = self.rng.choice(values) if self.rng.random() < 0.8 else self.rng.choice([*WORDS, *NUMBERS])
        return self.rng.choice([*3 * [[name, value]], *2 * [[f"{name}={value}"]], [name]])

    def words(self, command: str) -> list[str]:
        operand, number, option = self.rng.choice(OPERANDS), self.number, self.option
        memory = [*option("--swizzle", "0", "32", "128", "7"), *option("--transposed")]
        tables = [*option("--csv"), *option("--markdown"), *option("--json"), *option("--svg")]
        if command == "list":
            choices = {"--family": FAMILIES, "--target": TARGETS, "--type": ("s4", "f16", "q7")}
            words = [word for name, values in choices.items() for word in option(name, *values)]
            words += option("--shape", "m16n8k64", "m64n*k64", "*" * 60 + "x", "[", "[!]", "m?n8")
            return [*words, *option("--count"), *option("--sparse"), *option("--dense"), *option("--json")]
        if command == "show":
            return [self.instruction(), "--no-sass", *option("--target", *TARGETS), *option("--json")]
        if command == "where":
            flags = [*option("--explain"), *option("--stored"), *option("--json")]
            return [self.instruction(), operand, number(), number(), *flags, *memory]
        if command == "holds":
            register = option("--register", "0", "1", "-1", "99")
            return [self.instruction(), operand, "--lane", number(), *register, *option("--json")]
        if command == "layout":
            notation = [*option("--dense"), *option("--cute"), *option("--formula"), *option("--lane", "3")]
            return [self.instruction(), operand, *notation, *memory, *tables]
        if command == "metadata":
            return [self.instruction(), *option("--selector", "0", "1", "5"), *tables]
        if command == "cute":
            return [self.instruction(), *self.rng.choice([[], [operand]]), *option("--json")]
        if command == "ptx":
            return [self.instruction(), *option("--cpp"), *option("--kernel"), *option("--shared-a")]
        if command == "models":
            return [*option("--chip", *GENERATIONS), *option("--json")]
        if command == "run":
            batch = ["--batch", self.rng.choice(["1", "2", "40", "0", "-5", "999999999999", str(10**30)])]
            selector = option("--selector", "0", "1", "9")
            return [self.instruction(), *batch, *selector, *option("--on", "both", "gpu", "emulator")]
        if command == "measure":
            chip = ["--recorded", self.rng.choice(["H200", "H2O", "", "a.json", *self.files])]
            where = option("--a", "register", "shared", "global")
            return [self.instruction(), *chip, *where, *option("--zeros"), *option("--json")]
        if command == "trace":
            matrices = [word for name in "abc" for word in option(f"--{name}", *self.files)]
            inputs = [*option("--category", "bits", "moderate"), *option("--seed", "1", str(10**30))]
            model = option("--model", *GENERATIONS)
            return [self.instruction(), number(), number(), *inputs, *model, *matrices, *tables[-2:]]
        if command == "descriptor":
            code = [self.rng.choice(["0x4000004000010040", "0x8000002000010042", *NUMBERS]) for _ in range(2)]
            tiles = ("bits=16,rows=64,k=64,swizzle=128", "(8,8):(8,1)", "k=1", "((((", "dtype=s8")
            words = [
                *code[: self.rng.randrange(2)],
                *option("--tile", *tiles),
                *option("--k", "16", "-1", "7"),
            ]
            words += [*option("--row", "8"), *option("--address", "0x400", "3")]
            words += [*option("--instruction", self.instruction()), *option("--operand", operand)]
            return [*words, *option("--json"), *option("--svg")]
        if command == "conflicts":
            access = self.rng.choice(["ld.shared.v4.f32", "st.shared.b8", "ldmatrix.x4", self.instruction()])
            pitch = option("--pitch", "0", "16", "80", "128", "-16", "99999999")
            lanes = [*option("--lanes-per-row", "4", "0"), *option("--column", "16", "4", "-1")]
            return [access, *pitch, *lanes, *option("--swizzle", "64", "7"), *option("--svg")]
        if command in ("simulate", "profile", "compare", "debug"):
            values = ("1", "2.5", "zeros:f4:8", "x.npy", "bits:u1:")
            words = [*option("--arg", *values), *option("--arg", *values), *option("--shared", "16", "-1")]
            sizes = [
                *option("--grid", "1", "2,2", "1x1x1", "0"),
                *option("--block", "32", "2000"),
                *option("--cluster", "1", "2,0"),
            ]
            if command == "profile":
                words += [
                    *option("--compare", *self.files),
                    *option("--chip", "H200", "H2O"),
                    *option("--json"),
                ]
            if command == "compare":
                words = [self.rng.choice(self.files), *words, *option("--output", "1", "-1", "9")]
            if command == "debug":
                words += ["--execute", self.rng.choice(["run", "step 3", "who 1 0", "break", "%", *WORDS])]
            return [self.rng.choice([*self.files, *WORDS]), *sizes, *words]
        if command == "check":
            flags = [*option("--json"), *option("--sarif"), *option("--argument", "x", "--help")]
            return [self.rng.choice([*self.files, *WORDS]), *flags]
        if command == "judge":
            return [self.rng.choice([*self.files, *WORDS]), *option("--task", *self.files)]
        if command == "grader":
            return [self.rng.choice([*self.files, *WORDS])]
        if command == "lab":
            return ["--copy-only", *option("--to", "x", "a/b/c", *self.files), *option("--update")]
        return [self.rng.choice(["bash", "zsh", "fish", *WORDS])]

    def line(self) -> list[str]:
        commands = list(COMMANDS)
        commands.remove("sass")  # compiles: a second each
        commands.remove("mcp")  # reads standard input until its client leaves
        command = self.rng.choice(commands)
        words = [command, *self.words(command)]
        for _ in range(self.rng.choice([0, 0, 0, 0, 0, 1, 2])):
            place = self.rng.randrange(len(words) + 1)
            hostile = self.rng.choice([*WORDS, *NUMBERS, *OPTIONS])
            keep = self.rng.choice([place, place + 1])
            words = [*words[:place], hostile, *words[keep:]]
        if words[0] == command == "run":  # what was put in may have displaced a small number
            words += ["--batch", "2"]
        return words if self.rng.random() < 0.98 else words[1:]


def damaged_files(folder: Path) -> list[str]:
    """Files of np.save, whole and in pieces, and things that are not files."""
    whole = folder / "whole.npy"
    np.save(whole, np.ones((16, 64)))
    content = whole.read_bytes()
    contents = {
        "empty": b"",
        "short": content[:5],
        "magic": content[:10],
        "header": content[:100],
        "truncated": content[:-1],
        "text": b"1 2 3\n" * 40,
        "zip": b"PK\x03\x04" + b"\0" * 100,
        "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07garbage\x94.",
        "version": content[:6] + b"\x09\x00" + content[8:],
        "long header": content[:8] + b"\xff\xff" + content[10:],
        "huge shape": replaced(content, b"(16, 64), }", b"(10**9, 9)}"),
        "huge": replaced(content, b"(16, 64)", b"(99999999999999999999, 64)"),
        "negative": replaced(content, b"(16, 64)", b"(-1, -64"),
        "nested": content[:10] + b"(" * (len(content) - 10),
        "bad dtype": replaced(content, b"<f8", b"<q9"),
        "object": replaced(content, b"<f8", b"|O8"),
        "not a dictionary": content[:10] + b"[1, 2, 3]".ljust(118) + content[128:],
    }
    for name, data in contents.items():
        (folder / f"{name}.npy").write_bytes(data)
    np.savez(folder / "archive.npz", np.ones((16, 64)))
    arrays = {
        "strings": np.full((16, 64), "x"),
        "complex": np.ones((16, 64), complex),
        "dates": np.zeros((16, 64), "M8[s]"),
        "records": np.zeros((16, 64), [("x", "f4")]),
        "void": np.zeros((16, 64), "V3"),
        "long doubles": np.ones((16, 64), np.longdouble),
        "big endian": np.ones((16, 64), ">i4"),
        "booleans": np.ones((16, 64), bool),
        "fortran": np.asfortranarray(np.ones((16, 64))),
        "nan": np.full((16, 64), np.nan),
        "scalar": np.float64(3),
        "vector": np.ones(1024),
        "none": np.ones((0, 0)),
        "three axes": np.ones((1, 16, 64)),
        "other shape": np.ones((64, 16)),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "objects.npy", np.array([[None, 1]], object), allow_pickle=True)
    (folder / "folder.npy").mkdir()
    special = [str(folder / "missing.npy"), "/dev/null", "/dev/zero", "bad\0name", "x" * 5000, "\udc80.npy"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.npy")
    return [*sorted(map(str, folder.iterdir())), *special]


@pytest.fixture
def judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Runs a command line in an empty folder and checks how it ends."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab, "_start", lambda command: 0)  # no JupyterLab

    def run(words: list[str]) -> int:
        start = time.process_time()
        status = main(words)
        seconds = time.process_time() - start
        out, err = capsys.readouterr()
        line = f"{str(words)[:400]}\n{status} {err[:2000]}"
        assert status in (0, 1, 2), line
        assert seconds < 10, line
        if status == 0:
            assert out and not err, line
        else:
            assert not out, line
            assert err.startswith("ptxlab") and err.endswith("\n") and err.count("\n") == 1, line
            assert len(err) < LINE and err[:-1].isprintable(), line
            assert not any(word * 65 in err for word in ("x", "y", "A", ".", "-", "9")), line
            assert "x " * 35 not in err, line
        return status

    return run


@pytest.mark.slow
def test_hostile_command_lines(judged, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    lines = Lines(seed=14, files=damaged_files(tmp_path / "files"))
    statuses = [judged(lines.line()) for _ in range(COUNT)]
    for status in (0, 1, 2):  # the lines are of all kinds
        assert statuses.count(status) > COUNT / 20
