"""The commands that do something: run an instruction, hunt for differences, open the notebooks."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import gpu
from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..numerics.emulate import emulate
from ..verify.inputs import make
from ..views.trace import text
from .render import Style

__all__ = ["hunt", "lab", "notebooks", "run"]


def run(ins: Form, on: str, seed: int, batch: int, selector: int, style: Style) -> str:
    """Random registers through the emulator, the GPU or both; D of the first, and how many bits differ."""
    if not isinstance(ins, MmaForm):
        raise PtxlabError(
            f"{ins.mnemonic} moves a matrix, `ptxlab run` computes with one; in Python its `emulate` and `run` take memory and addresses"
        )
    if batch < 1:
        raise PtxlabError(f"--batch {batch}: run at least one")
    if on == "gpu" and not gpu.available(ins):
        raise PtxlabError(gpu.status(ins))
    ins.check_modifiers(Modifiers(selector=selector))
    operands = make(ins, "moderate" if ins.a.dtype.is_float else "bits", batch, seed, selector)
    lines = [
        style.bold(ins.mnemonic),
        style.dim(f"  {_count(batch)} on random registers, seed {seed}; GPU: {gpu.status(ins)}"),
    ]
    results: dict[str, NDArray[Any]] = {}
    if on in ("emulator", "both"):
        model = gpu.model(ins) if on == "both" else None
        results["emulator"] = emulate(operands, model=model)
    if on in ("gpu", "both") and gpu.available(ins):
        results["gpu"] = gpu.run(operands)
    name, first = next(iter(results.items()))
    lines += [
        "",
        f"D of the first, from the {'GPU' if name == 'gpu' else name}:",
        _matrix(ins.d.unpack(first)[0], style),
    ]
    if on == "both":
        lines += ["", _comparison(results, batch)]
    return "\n".join(lines)


def hunt(
    ins: Form,
    mmas: int,
    seed: int | None,
    categories: list[str] | None,
    model: str | None,
    against: str | None,
) -> int:
    """Look for a difference and print what came of it; 1 if there is one."""
    from ..verify.hunt import hunt as search

    if not isinstance(ins, MmaForm):
        raise PtxlabError(f"{ins.mnemonic} moves a matrix: there is no arithmetic to hunt in")
    try:
        report = search(ins, mmas=mmas, seed=seed, categories=categories, model=model, against=against)
    except KeyboardInterrupt:
        print("ptxlab: the hunt was stopped before it found anything", file=sys.stderr)
        return 130
    print(report)
    trace = report.trace()
    if trace is not None:
        print(f"\n{text(trace)}")
        print(f"\n{report.as_test()}", end="")
    return int(report.found)


def _count(batch: int) -> str:
    return "1 instruction" if batch == 1 else f"{batch} instructions"


def _comparison(results: dict[str, NDArray[Any]], batch: int) -> str:
    if len(results) < 2:
        return "compared with nothing: the GPU did not take part"
    differing = int(np.bitwise_count(results["emulator"] ^ results["gpu"]).sum())
    total = results["gpu"].size * results["gpu"].dtype.itemsize * 8
    return f"emulator and GPU differ in {differing} of {total} bits of D ({_count(batch)})"


def _matrix(values: NDArray[Any], style: Style) -> str:
    """The numbers in columns; the first 16 rows, as many columns as the terminal takes, and the rest counted."""
    shown = [
        [f"{value:.6g}" if values.dtype.kind == "f" else str(value) for value in row]
        for row in values[:16].tolist()
    ]
    width = max(len(text) for row in shown for text in row) + 2
    fit = min(max((style.width or 120) // width, 1), values.shape[1])
    lines = ["".join(text.rjust(width) for text in row[:fit]) for row in shown]
    hidden = [
        f"{more} more {what}"
        for more, what in ((len(values) - len(lines), "rows"), (values.shape[1] - fit, "columns"))
        if more
    ]
    return "\n".join([*lines, *([style.dim("  ... and " + ", ".join(hidden))] if hidden else [])])


def notebooks() -> Path:
    """The folder of the notebooks: beside the package in a source checkout, or under the current folder."""
    for folder in (Path(__file__).resolve().parents[2] / "notebooks", Path.cwd() / "notebooks"):
        if any(folder.glob("*.ipynb")):
            return folder
    raise PtxlabError(
        "no notebooks found: they are in the folder notebooks of ptxlab's source; run `ptxlab lab` there"
    )


def lab(arguments: list[str]) -> int:
    """Start JupyterLab on the notebooks and wait for it."""
    folder = notebooks()
    if importlib.util.find_spec("jupyterlab") is None:
        raise PtxlabError('JupyterLab is not installed: pip install "ptxlab[lab]"')
    passed = [argument for argument in arguments if argument != "--"]
    if (
        hasattr(os, "geteuid") and os.geteuid() == 0 and "--allow-root" not in passed
    ):  # in a container one is root
        passed.append("--allow-root")
    try:
        return subprocess.call([sys.executable, "-m", "jupyterlab", str(folder), *passed])
    except KeyboardInterrupt:
        return 0
