"""The page of the emulator's speed, from the last recorded run of ``python -m benchmarks``."""

from __future__ import annotations

import json
from pathlib import Path

from ptxlab._util.files import write_atomically

from .markdown import Page, code, table

__all__ = ["page", "write"]

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results.json"


def write(folder: Path) -> None:
    write_atomically(folder / "speed.md", str(page()))


def page() -> Page:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    emulate, matmul = results["emulate"], results["matmul"]
    rows = []
    for form in emulate["forms"]:
        cells = []
        for backend in ("numba", "numpy"):
            ratios = [
                form[f"{backend} {category}"] / form["matmul"]
                for category in ("moderate", "bits")
                if f"{backend} {category}" in form
            ]
            cells.append(" to ".join(f"{ratio:.1f}" for ratio in ratios))
        rows.append((code(form["instruction"]), *cells))
    out = Page("Speed of the emulator")
    out.add(
        "Time to emulate an instruction, as a multiple of the time of a float32 `np.matmul` of the same size:"
    )
    out.add(table(("instruction", "with numba", "NumPy only"), rows, numbers=(1, 2)))
    first, plain = emulate["forms"][0], emulate["plain Python, MMAs a second"]
    rates = {backend: emulate["batch"] / first[f"{backend} moderate"] * 1e3 for backend in ("numba", "numpy")}
    product, million = matmul["products"][0], matmul["million"]
    machine = results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    out.add(
        f"Batches of {emulate['batch']:,} MMAs; for floats, from moderate values to random bits. The first "
        f"instruction runs at {rates['numba']:,.0f} MMAs per second, {rates['numba'] / plain:,.0f} times as "
        "fast as a simulator in plain Python (`benchmarks/scalar.py`); with NumPy only, "
        f"{rates['numpy'] / plain:,.0f} times. `ptxlab.matmul` of 512 x 512 x 512 with it takes "
        f"{product['numba']:.2f} s ({product['numpy']:.2f} s). A million of its MMAs take "
        f"{million['seconds']:.1f} s and {million['peak MB']:.0f} MB at most, of which the arrays take "
        f"{million['arrays MB']:.0f} MB.",
        f"Recorded on {machine['cores']} cores of a {machine['processor']}: {versions}. `python -m "
        "benchmarks` measures it again.",
    )
    return out
