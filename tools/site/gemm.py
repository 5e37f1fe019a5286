"""The page of the GEMM kernels: the ladder, and how fast it was when ``benchmarks.gemm`` was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ptxlab import gemm
from ptxlab._util.files import write_atomically
from ptxlab.course.exercises.sparse_gemm import busy

from .markdown import Page, table

__all__ = ["page", "write"]

SIZES = (1024, 2048, 4096, 8192)  # that `benchmarks.gemm` takes for the ladder
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results.json"


def write(folder: Path) -> None:
    write_atomically(folder / "gemm.md", str(page()))


def page() -> Page:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    recorded = results["gemm"]
    rows = recorded["rows"]
    out = Page("From one instruction to a GEMM")
    out.add(
        "Twelve kernels in CUDA C++ (`ptxlab/gemm/sources`), each with one idea more than the one "
        "before. Each can be simulated and launched with the same arguments, and gives the bits of "
        "`ptxlab.matmul`: {doc}`/guide/kernels` has an example.",
        "f16 with results in f16, in TFLOP/s, by M = N = K; the last column is the ratio to cuBLAS at "
        f"{SIZES[-1]:,}:",
    )
    out.add(table(_heads("of cuBLAS"), _ladder(rows, ""), numbers=range(3, 8)))
    for kind, name in (("e4m3", "FP8 (e4m3)"), ("s8", "s8, in TOP/s")):
        out.add(f"Those of `wgmma` with {name}, beside what torch calls for the same product:")
        out.add(table(_heads("of torch's"), _ladder(rows, f", {kind}"), numbers=range(3, 8)))
    out.heading(2, "Other types")
    out.add("The top rung with other instructions, beside what torch calls for the same product:")
    others = [
        (
            row["name"],
            f"{row['size']:,}",
            f"{row['ours']:.0f}",
            f"{row['library']:.0f}",
            f"{row['ratio']:.0%}",
        )
        for row in rows
        if not _is_rung(row)
    ]
    heads = ("type", "size", "TFLOP/s, TOP/s", "library", "ratio")
    dense = [row for row in others if not row[0].startswith("sparse")]
    out.add(table(heads, dense, numbers=(1, 2, 3, 4)))
    sparse = [row for row in others if row[0].startswith("sparse")]
    if sparse:
        out.heading(2, "A sparse A")
        out.add(
            "`wgmma.sp` with an A of 2:4 structure that was compressed before (`ptxlab.compress`); zeros "
            'count as operations. Columns of B are contiguous, except where it says by rows. "Called" is '
            "without a CUDA graph, so that the time in which Python and the library prepare a launch counts "
            'too; "mma.sp" is the kernel for chips before Hopper. The library is cuSPARSELt; for e4m3 and '
            "tf32, of which torch has no sparse product, it is the dense one:",
            table(heads, sparse, numbers=(1, 2, 3, 4)),
            "Shared memory binds these kernels, not the tensor cores. A sparse instruction needs twice as "
            "much of B in the same time: for 64 x 256 at full rate that is all that shared memory can "
            "deliver, 128 bytes a cycle, and A and what TMA writes there come on top. Larger tiles need "
            f"less of both: with 256 x 192 the tensor cores can be busy {busy(256, 192, True):.0%} of "
            "the time.",
        )
    out.heading(2, "Attention")
    out.add(
        "The kernels of `gemm.attention` in TFLOP/s: f16, head dimension 128, 16,384 tokens with 16 heads, "
        "beside FlashAttention 2 and cuDNN as torch calls them. A causal mask halves the operations that "
        "count. Recorded by `python -m benchmarks.attention`.",
        table(
            ("mask", "sequence", "2 or 3", "4", "5", "FlashAttention 2", "cuDNN", "5 of cuDNN"),
            [
                (
                    "causal" if row["causal"] else "none",
                    f"{row['sequence']:,}",
                    *(
                        f"{row[name]:.0f}"
                        for name in ("3" if row["causal"] else "2", "4", "5", "flash", "cudnn")
                    ),
                    f"{row['5'] / row['cudnn']:.0%}",
                )
                for row in results["attention"]["rows"]
            ],
            numbers=(1, 2, 3, 4, 5, 6, 7),
        ),
    )
    machine = recorded["machine"]
    out.add(
        f"Recorded on {recorded['date']} on an {machine['name']} (driver {machine['driver_version']}, up to "
        f"{machine['clocks.max.sm']} and {machine['power.limit']}) with torch {recorded['torch']}: random "
        "data, best of 20 runs in which both sides alternate. TFLOP/s are 10^12 multiplications and "
        "additions per second, TOP/s those of integers. `python -m benchmarks.gpu` measures it again."
    )
    return out


def _heads(ratio: str) -> tuple[str, ...]:
    return ("", "idea", "tile of a block", *(f"{size:,}" for size in SIZES), ratio)


def _ladder(rows: list[dict[str, Any]], kind: str) -> list[tuple[str, ...]]:
    """The rungs that were measured with these elements."""
    measured = {(row["name"], row["size"]): row for row in rows}
    lines = []
    for row in gemm.ladder():
        name = f"{row.number} {row.title}{kind}"
        if (name, SIZES[-1]) in measured:
            rung = gemm.rung(row.number)
            idea = f"**{row.title}**: {row.idea} (`{row.family}`)" if not kind else row.title
            rates = [f"{measured[name, size]['ours']:.0f}" for size in SIZES]
            ratio = f"{measured[name, SIZES[-1]]['ratio']:.0%}"
            lines.append((str(row.number), idea, f"{rung.block_m} x {rung.block_n}", *rates, ratio))
    return lines


def _is_rung(row: dict[str, Any]) -> bool:
    return str(row["name"])[0].isdigit()
