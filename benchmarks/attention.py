"""Attention on the GPU of this machine, beside torch's: `python -m benchmarks.attention [--record]`.

f16, head dimension 128, 16 heads, 16,384 tokens in all, random data, best of 20 runs in which all take turns.
Beside it are torch's FlashAttention 2 and cuDNN. A causal mask halves the operations that count.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from typing import Any

from ptxlab import gemm

from .__main__ import RESULTS, keep
from .gemm import best_seconds, machine

TOKENS, HEADS, HEAD = 16_384, 16, 128
SEQUENCES = (1024, 2048, 4096, 8192, 16_384)


def ours(number: int, causal: bool, q: Any, k: Any, v: Any) -> tuple[Callable[[], None], Any]:
    """A launch of one of the kernels, and O, which it writes."""
    import torch

    made = gemm.attention(number, **({"causal": int(causal)} if number > 3 else {}))
    out = torch.full_like(q, torch.nan)
    arguments = made.arguments(q, k, v, out)
    return partial(
        made.kernel.launch, made.grid(*q.shape[:2]), made.threads, *arguments, shared=made.shared
    ), out


def libraries(causal: bool, *operands: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """torch's implementations that this machine has."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    batched = [x.view(-1, HEADS, *x.shape[1:]) for x in operands]

    def run(backend: Any) -> Any:
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(*batched, is_causal=causal)

    for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):
        try:
            run(backend)
        except RuntimeError:
            continue
        yield name, partial(run, backend)


def error(causal: bool, q: Any, k: Any, v: Any, out: Any) -> float:
    """The relative error of one head, against float64."""
    import torch

    *operands, found = (x[-1:].double() for x in (q, k, v, out))
    exact = torch.nn.functional.scaled_dot_product_attention(*operands, is_causal=causal)
    return float((found - exact).norm() / exact.norm())


def rows() -> Iterator[dict[str, Any]]:
    """What was measured, for every length and both masks, in 10^12 operations a second."""
    import torch

    for causal in (False, True):
        for sequence in SEQUENCES:
            shape = (TOKENS // sequence * HEADS, sequence, HEAD)
            operands = [torch.randn(shape, device="cuda").half() for _ in range(3)]
            work = 4 * TOKENS * sequence * HEADS * HEAD / (2 if causal else 1) / 1e12
            launches = {str(n): ours(n, causal, *operands) for n in (3 if causal else 2, 4, 5)}
            runs = {name: launch for name, (launch, _) in launches.items()}
            runs |= dict(libraries(causal, *operands))
            seconds = best_seconds(*runs.values())
            row: dict[str, Any] = {"causal": causal, "sequence": sequence}
            row |= {name: round(work / time, 1) for name, time in zip(runs, seconds, strict=True)}
            row["errors"] = {name: error(causal, *operands, out) for name, (_, out) in launches.items()}
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attention", description=__doc__)
    parser.add_argument("--record", action="store_true", help=f"keep the figures in {RESULTS.name}")
    args = parser.parse_args()
    found = []
    for row in rows():
        found.append(row)
        print(row, flush=True)
    if args.record:
        keep({"attention": {"date": date.today().isoformat(), "machine": machine(), "rows": found}})


if __name__ == "__main__":
    main()
