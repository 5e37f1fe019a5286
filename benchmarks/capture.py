"""Launches of Triton kernels that torch.compile makes, with their times: `python -m benchmarks.capture FOLDER`.

Needs a GPU, PyTorch and Triton. Every program of `PROGRAMS` is compiled by Inductor and run. Each launch of a
Triton kernel is caught where Triton hands it to the driver, and repeated in a CUDA graph, which is timed. For
products, some of the candidates that Inductor's autotuner tries are kept too. FOLDER gets a file with the PTX,
the arguments and the time of each launch.
"""

from __future__ import annotations

import base64
import json
import lzma
import math
import os
import re
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

WORKERS = int(os.environ.get("WORKERS", "7"))
CANDIDATES = 4  # of each product
KEPT_BYTES = 1 << 20  # of an array of integers
PAUSE = 0.003  # seconds
ROUNDS = 5


@dataclass
class Program:
    """What is compiled: a function, and what makes its inputs; `tuned` are options of the compiler."""

    name: str
    function: Callable[..., Any]
    inputs: Callable[[], list[Any]]
    backward: bool = False
    tuned: dict[str, Any] | None = None


def programs() -> Iterator[Program]:
    """Typical operations: element by element, reductions, norms, attention, products, tables."""
    import torch
    from torch.nn import functional as F

    bf16, f16, f32 = torch.bfloat16, torch.float16, torch.float32

    def random(*shape: int, dtype: Any = bf16, grad: bool = False) -> Any:
        return torch.randn(*shape, device="cuda", dtype=dtype).requires_grad_(grad)

    def words(high: int, *shape: int, dtype: Any = torch.int64) -> Any:
        return torch.randint(0, high, shape, device="cuda", dtype=dtype)

    # element by element
    for dtype, word in ((f32, "f32"), (bf16, "bf16")):
        for count in (1 << 20, 3_000_001, 1 << 24, 1 << 26):
            yield Program(f"add {word} {count}", lambda a, b: a + b, lambda d=dtype, n=count: [random(n, dtype=d) for _ in range(2)])
        yield Program(f"gelu {word}", lambda a: F.gelu(a) * 2, lambda d=dtype: [random(4096, 4096, dtype=d)])
        yield Program(f"tanh gelu {word}", lambda a, b: F.gelu(a + b, approximate="tanh"), lambda d=dtype: [random(8192, 3072, dtype=d), random(3072, dtype=d)])
        yield Program(f"swiglu {word}", lambda a: F.silu(a.chunk(2, -1)[0]) * a.chunk(2, -1)[1], lambda d=dtype: [random(4096, 2 * 5632, dtype=d)])
        yield Program(f"swiglu backward {word}", lambda a, b: (F.silu(a) * b).sum(), lambda d=dtype: [random(4096, 5632, dtype=d, grad=True) for _ in range(2)], True)
        yield Program(f"transpose {word}", lambda a, b: a.t() + b, lambda d=dtype: [random(2048, 4096, dtype=d), random(4096, 2048, dtype=d)])
        yield Program(f"transpose 0213 {word}", lambda a: a.permute(0, 2, 1, 3).contiguous(), lambda d=dtype: [random(8, 1024, 16, 64, dtype=d)])
        yield Program(f"cat {word}", lambda a, b: torch.cat([a, b * 2], -1), lambda d=dtype: [random(4096, 1024, dtype=d), random(4096, 512, dtype=d)])
        yield Program(f"pad and roll {word}", lambda a: F.pad(a, (3, 5)) + 1, lambda d=dtype: [random(2048, 2040, dtype=d)])
    yield Program("transcendentals", lambda a: torch.sin(a) + torch.cos(a) * torch.exp(-a) + torch.log1p(a.abs()), lambda: [random(4096, 2048, dtype=f32)])
    yield Program("power", lambda a, b: torch.pow(a.abs() + 1, b) / (1 + a * a), lambda: [random(2048, 2048, dtype=f32) for _ in range(2)])
    yield Program("erf and division f32", lambda a, b: torch.erf(a) / (b * b + 1).sqrt(), lambda: [random(2048, 4096, dtype=f32) for _ in range(2)])
    yield Program("integers", lambda a, b: (a // (b + 3)) % 17 + (a >> 2), lambda: [words(1000, 4096, 1024, dtype=torch.int32), words(100, 4096, 1024, dtype=torch.int32)])
    yield Program("long integers", lambda a, b: (a * b + 7) % 1009, lambda: [words(1000, 2048, 1024), words(100, 2048, 1024)])
    yield Program("where and clamp", lambda a, b: torch.where(a > b, a.clamp(-1, 1), b * 0.5), lambda: [random(4096, 4096, dtype=f32) for _ in range(2)])
    yield Program("dropout", lambda a: F.dropout(a, 0.1, True) + a, lambda: [random(4096, 4096)])
    yield Program("doubles", lambda a, b: a * b + a.exp(), lambda: [random(1024, 2048, dtype=torch.float64) for _ in range(2)])
    yield Program("rotary embedding", rotary, lambda: [random(4, 32, 2048, 128), random(2048, 64, dtype=f32), random(2048, 64, dtype=f32)])
    yield Program("adam", adam, lambda: [random(4096, 4096, dtype=f32) for _ in range(4)])
    yield Program("adam of many", adams, lambda: [[random(n, 512, dtype=f32) for n in (64, 128, 4096, 17, 512, 3000, 1024, 8)] for _ in range(4)])
    yield Program("quantise", quantise, lambda: [random(4096, 4096)])
    yield Program("dequantise", lambda q, s: q.to(bf16) * s, lambda: [words(127, 4096, 4096, dtype=torch.int8), random(4096, 1)])
    yield Program("cast f8", lambda a: (a * 3).to(torch.float8_e4m3fn), lambda: [random(4096, 4096)])
    yield Program("triangle", lambda a: torch.tril(a) * 2, lambda: [random(4096, 4096, dtype=f32)])
    yield Program("flip", lambda a: a.flip(-1) + 1, lambda: [random(4096, 2048, dtype=f32)])
    yield Program("stack", lambda a, b: torch.stack([a, b], -1).flatten(-2), lambda: [random(2048, 2048, dtype=f32) for _ in range(2)])

    # reductions
    for dtype, word in ((f32, "f32"), (bf16, "bf16")):
        for rows, columns in ((4096, 1024), (1024, 16384), (32768, 64), (64, 262144), (4096, 4096)):
            shape = f"{word} {rows} x {columns}"
            make = lambda d=dtype, r=rows, c=columns: [random(r, c, dtype=d)]  # noqa: E731
            yield Program(f"sum of rows {shape}", lambda a: a.sum(-1), make)
            if columns in (1024, 16384, 4096):
                yield Program(f"softmax {shape}", lambda a: F.softmax(a, -1), make)
        yield Program(f"sum of columns {word}", lambda a: a.sum(0), lambda d=dtype: [random(8192, 2048, dtype=d)])
        yield Program(f"sum of all {word}", lambda a: (a * a).sum(), lambda d=dtype: [random(4096, 4096, dtype=d)])
        yield Program(f"variance {word}", lambda a: torch.var_mean(a, -1), lambda d=dtype: [random(4096, 3000, dtype=d)])
        for rows, columns in ((4096, 1024), (2048, 4096), (8192, 768), (1024, 12288)):
            shape = f"{word} {rows} x {columns}"
            make = lambda d=dtype, r=rows, c=columns: [random(r, c, dtype=d, grad=True), random(c, dtype=d, grad=True)]  # noqa: E731
            yield Program(f"rms norm {shape}", lambda a, w: rms_norm(a, w).sum(), make, True)
            make = lambda d=dtype, r=rows, c=columns: [random(r, c, dtype=d, grad=True), random(c, dtype=d, grad=True), random(c, dtype=d, grad=True), random(r, c, dtype=d)]  # noqa: E731
            yield Program(f"layer norm {shape}", lambda a, w, b, g, c=columns: (F.layer_norm(a, (c,), w, b) * g).sum(), make, True)
        yield Program(f"softmax backward {word}", lambda a, g: (F.softmax(a, -1) * g).sum(), lambda d=dtype: [random(4096, 2048, dtype=d, grad=True), random(4096, 2048, dtype=d)], True)
        yield Program(f"residual and norm {word}", lambda a, r, w: rms_norm(a + r, w), lambda d=dtype: [random(8192, 2048, dtype=d), random(8192, 2048, dtype=d), random(2048, dtype=d)])
    yield Program("cross entropy", lambda a, t: F.cross_entropy(a.float(), t), lambda: [random(2048, 32000, grad=True), words(32000, 2048)], True)
    yield Program("log softmax", lambda a: F.log_softmax(a, -1), lambda: [random(2048, 8192, dtype=f32)])
    yield Program("logsumexp", lambda a: torch.logsumexp(a, -1), lambda: [random(4096, 8192)])
    yield Program("group norm", lambda a, w, b: F.group_norm(a, 32, w, b), lambda: [random(16, 256, 64, 64), random(256), random(256)])
    yield Program("batch norm", lambda a, w, b: F.batch_norm(a, None, None, w, b, True), lambda: [random(32, 128, 56, 56, dtype=f32), random(128, dtype=f32), random(128, dtype=f32)])
    yield Program("argmax", lambda a: a.argmax(-1), lambda: [random(4096, 8192)])
    yield Program("largest and least", lambda a: (a.amax(-1), a.amin(-1)), lambda: [random(8192, 2000, dtype=f32)])
    yield Program("any", lambda a: (a > 3).any(-1), lambda: [random(8192, 4096)])
    yield Program("mean squared error", lambda a, b: F.mse_loss(a, b), lambda: [random(4096, 4096, dtype=f32) for _ in range(2)])
    yield Program("binary cross entropy", lambda a, b: F.binary_cross_entropy_with_logits(a, b), lambda: [random(2048, 4096, dtype=f32), random(2048, 4096, dtype=f32).sigmoid()])
    yield Program("norm of all", lambda a: a.norm(), lambda: [random(8192, 8192, dtype=f32)])

    # scans and tables
    for dtype, word in ((f32, "f32"), (bf16, "bf16")):
        yield Program(f"cumsum {word}", lambda a: a.cumsum(-1), lambda d=dtype: [random(4096, 1024, dtype=d)])
    yield Program("cumsum of a long row", lambda a: a.cumsum(-1), lambda: [random(8, 262144, dtype=f32)])
    yield Program("logcumsumexp", lambda a: a.logcumsumexp(-1), lambda: [random(2048, 1024, dtype=f32)])
    yield Program("sort", lambda a: a.sort(-1)[0], lambda: [random(4096, 256, dtype=f32)])
    yield Program("embedding", lambda t, i: F.embedding(i, t), lambda: [random(50257, 1024), words(50257, 16, 512)])
    yield Program("embedding f32", lambda t, p, i: F.embedding(i, t) + p, lambda: [random(32000, 768, dtype=f32), random(1024, 768, dtype=f32), words(32000, 8, 1024)])
    yield Program("embedding backward", lambda t, i: F.embedding(i, t).sum(), lambda: [random(32000, 512, dtype=f32, grad=True), words(32000, 8, 1024)], True)
    yield Program("gather", lambda a, i: a.gather(1, i) * 2, lambda: [random(4096, 2048, dtype=f32), words(2048, 4096, 512)])
    yield Program("scatter add", lambda a, i, s: a.scatter_add(0, i, s), lambda: [random(4096, 256, dtype=f32), words(4096, 8192, 256), random(8192, 256, dtype=f32)])
    yield Program("index select", lambda a, i: a[i] + 1, lambda: [random(65536, 256), words(65536, 32768)])
    yield Program("one hot", lambda i: F.one_hot(i, 512).to(bf16), lambda: [words(512, 8192)])
    yield Program("max pool", lambda a: F.max_pool2d(a, 3, 2, 1), lambda: [random(32, 64, 112, 112)])
    yield Program("average pool", lambda a: F.avg_pool2d(a, 2), lambda: [random(32, 128, 56, 56, dtype=f32)])
    yield Program("upsample nearest", lambda a: F.interpolate(a, scale_factor=2.0), lambda: [random(8, 64, 64, 64)])
    yield Program("upsample bilinear", lambda a: F.interpolate(a, scale_factor=2.0, mode="bilinear"), lambda: [random(8, 64, 64, 64, dtype=f32)])
    yield Program("adaptive pool", lambda a: F.adaptive_avg_pool2d(a, 1), lambda: [random(64, 512, 14, 14)])

    # attention
    def attention(q: Any, k: Any, v: Any) -> Any:
        return F.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v

    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def heads(batch: int, count: int, length: int, size: int, grad: bool = False, dtype: Any = bf16) -> Any:
        return [random(batch, count, length, size, grad=grad, dtype=dtype) for _ in range(3)]

    def causal(b: Any, h: Any, q: Any, k: Any) -> Any:
        return q >= k

    def window(b: Any, h: Any, q: Any, k: Any) -> Any:
        return (q >= k) & (q - k <= 512)

    def alibi(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
        return score + (k - q) * torch.exp2(-(h + 1) / 2)

    def masked(rule: Any) -> Any:
        def run(q: Any, k: Any, v: Any, mask: Any) -> Any:
            return flex_attention(q, k, v, block_mask=mask)

        return run

    for batch, count, length, size in ((2, 16, 2048, 64), (1, 32, 4096, 128), (4, 16, 1024, 64)):
        shape = f"{batch} x {count} x {length} x {size}"
        make = lambda b=batch, c=count, n=length, s=size: heads(b, c, n, s)  # noqa: E731
        yield Program(f"flex attention {shape}", lambda q, k, v: flex_attention(q, k, v), make)
        yield Program(f"flex alibi {shape}", lambda q, k, v: flex_attention(q, k, v, score_mod=alibi), make)
        for rule in (causal, window):
            make = lambda b=batch, c=count, n=length, s=size, r=rule: [*heads(b, c, n, s), create_block_mask(r, None, None, n, n)]  # noqa: E731
            yield Program(f"flex {rule.__name__} {shape}", masked(rule), make)
    for rule in (causal, window):
        yield Program(
            f"flex backward {rule.__name__}",
            lambda q, k, v, m: flex_attention(q, k, v, block_mask=m).sum(),
            lambda r=rule: [*heads(2, 16, 2048, 64, True), create_block_mask(r, None, None, 2048, 2048)],
            True,
        )
    yield Program("flex decoding", lambda q, k, v: flex_attention(q, k, v, enable_gqa=True), lambda: [random(8, 32, 1, 128), random(8, 8, 4096, 128), random(8, 8, 4096, 128)])
    yield Program("attention by hand", attention, lambda: heads(4, 12, 1024, 64), False, {})

    # products
    tuned: dict[str, Any] = {}
    for dtype, word in ((bf16, "bf16"), (f16, "f16")):
        for m, n, k in ((512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (128, 4096, 4096), (2048, 768, 3072), (16, 8192, 4096), (1000, 1000, 1000)):
            if word == "bf16" or m in (1024, 2048, 1000):
                yield Program(f"product {word} {m} x {n} x {k}", lambda a, b: a @ b, lambda d=dtype, m=m, n=n, k=k: [random(m, k, dtype=d), random(k, n, dtype=d)], False, tuned)
    for m, n, k in ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 1024, 1024), (512, 2048, 4096)):
        yield Program(f"product tf32 {m} x {n} x {k}", lambda a, b: a @ b, lambda m=m, n=n, k=k: [random(m, k, dtype=f32), random(k, n, dtype=f32)], False, tuned)
        yield Program(f"product f32 {m} x {n} x {k}", lambda a, b: a @ b, lambda m=m, n=n, k=k: [random(m, k, dtype=f32), random(k, n, dtype=f32)], False, {"ieee": True})
    for m, n, k in ((2048, 2048, 2048), (1024, 4096, 1024)):
        yield Program(f"linear {m} x {n} x {k}", lambda a, w, b: F.gelu(F.linear(a, w, b)), lambda m=m, n=n, k=k: [random(m, k), random(n, k), random(n)], False, tuned)
        yield Program(f"product s8 {m} x {n} x {k}", lambda a, b: torch._int_mm(a, b), lambda m=m, n=n, k=k: [words(100, m, k, dtype=torch.int8), words(100, n, k, dtype=torch.int8).t()], False, tuned)
        yield Program(f"product e4m3 {m} x {n} x {k}", scaled_product, lambda m=m, n=n, k=k: [random(m, k).to(torch.float8_e4m3fn), random(n, k).to(torch.float8_e4m3fn).t(), torch.ones((), device="cuda"), torch.ones((), device="cuda")], False, tuned)
        yield Program(f"product by TMA {m} x {n} x {k}", lambda a, b: a @ b, lambda m=m, n=n, k=k: [random(m, k), random(k, n)], False, {"triton.enable_persistent_tma_matmul": True})
    for batch, m, n, k in ((16, 512, 512, 64), (64, 1024, 64, 1024), (96, 256, 256, 256), (8, 1024, 1024, 1024), (32, 128, 128, 512), (192, 197, 64, 197)):
        for dtype, word in ((bf16, "bf16"), (f32, "tf32")):
            if word == "bf16" or batch in (96, 8):
                yield Program(f"batch {word} {batch} x {m} x {n} x {k}", torch.bmm, lambda d=dtype, b=batch, m=m, n=n, k=k: [random(b, m, k, dtype=d), random(b, k, n, dtype=d)], False, tuned)
    yield Program("two products", lambda a, b, c, d: a @ b + c @ d, lambda: [random(1024, 1024) for _ in range(4)], False, tuned)
    yield Program("product backward", lambda a, b: F.relu(a @ b).sum(), lambda: [random(2048, 1024, grad=True), random(1024, 2048, grad=True)], True, tuned)
    for images, channels, size, outputs, kernel in ((16, 64, 56, 64, 3), (16, 256, 28, 128, 1), (8, 128, 28, 256, 3)):
        for dtype, word in ((bf16, "bf16"), (f32, "tf32")):
            make = lambda d=dtype, i=images, c=channels, s=size, o=outputs, k=kernel: [random(i, c, s, s, dtype=d).to(memory_format=torch.channels_last), random(o, c, k, k, dtype=d).to(memory_format=torch.channels_last)]  # noqa: E731
            yield Program(f"convolution {word} {images} x {channels} x {size}, {outputs} of {kernel}", lambda a, w, k=kernel: F.relu(F.conv2d(a, w, padding=k // 2)), make, False, tuned)
    yield Program("convolution of depth", lambda a, w: F.conv2d(a, w, padding=1, groups=128), lambda: [random(16, 128, 56, 56), random(128, 1, 3, 3)], False, tuned)


def rotary(x: Any, cosine: Any, sine: Any) -> Any:
    import torch

    one, two = x[..., ::2], x[..., 1::2]
    return torch.stack([one * cosine - two * sine, one * sine + two * cosine], -1).flatten(-2).to(x.dtype)


def adam(p: Any, g: Any, m: Any, v: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 1e-3 * m / (v.abs().sqrt() + 1e-8), m, v


def adams(p: Any, g: Any, m: Any, v: Any) -> Any:
    import torch

    m = torch._foreach_add(torch._foreach_mul(m, 0.9), torch._foreach_mul(g, 0.1))
    v = torch._foreach_add(torch._foreach_mul(v, 0.999), torch._foreach_mul(g, 0.001))
    return torch._foreach_sub(p, torch._foreach_div(m, torch._foreach_add(torch._foreach_abs(v), 1.0))), m, v


def rms_norm(x: Any, weight: Any) -> Any:
    import torch

    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight


def quantise(x: Any) -> Any:
    import torch

    scale = x.abs().amax(-1, keepdim=True) / 127
    return (x / scale).round().clamp(-128, 127).to(torch.int8), scale


def scaled_product(a: Any, b: Any, one: Any, two: Any) -> Any:
    import torch

    return torch._scaled_mm(a, b, one, two, out_dtype=torch.bfloat16)


# -- catching launches ---------------------------------------------------------------------------------------


class Catcher:
    """Keeps what Triton hands to the driver."""

    def __init__(self) -> None:
        from triton.backends.nvidia import driver
        from triton.compiler import compiler

        self.program = ""
        self.phase = ""
        self.open = False
        self.caught: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._kernels: dict[int, Any] = {}
        self._launch = driver.CudaLauncher.__call__
        prepare = compiler.CompiledKernel._init_handles
        catcher = self

        def prepared(kernel: Any, *arguments: Any) -> Any:
            result = prepare(kernel, *arguments)
            if getattr(kernel, "function", None) is not None:
                about = {
                    "ptx": kernel.asm["ptx"],
                    "cubin": kernel.asm.get("cubin"),
                    "metadata": kernel.metadata,
                    "signature": dict(kernel.src.signature),
                    "registers": getattr(kernel, "n_regs", 0),
                    "spills": getattr(kernel, "n_spills", 0),
                }
                catcher._kernels[int(kernel.function)] = about
            return result

        def called(launcher: Any, x: Any, y: Any, z: Any, stream: Any, function: Any, *rest: Any) -> Any:
            try:
                if catcher.open:
                    catcher._catch(launcher, (int(x), int(y), int(z)), function, rest)
            except Exception:
                traceback.print_exc()
            return catcher._launch(launcher, x, y, z, stream, function, *rest)

        compiler.CompiledKernel._init_handles = prepared
        driver.CudaLauncher.__call__ = called

    def _catch(self, launcher: Any, grid: tuple[int, int, int], function: Any, rest: tuple[Any, ...]) -> None:
        import torch

        about = self._kernels.get(int(function))
        if about is None or math.prod(grid) == 0:
            return
        name = about["metadata"].name
        is_product = not re.match(r"triton_(poi|red|per|for|spl)", name)
        if self.phase == "compiling" and not is_product:
            return
        values = rest[4:]
        key = self.program, zlib.crc32(about["ptx"].encode()), grid, tuple(
            each.dtype if isinstance(each, torch.Tensor) else repr(each)[:80] for each in values
        )
        former = self.caught.get(key)
        if former is not None:
            former["used"] = former["used"] or self.phase == "running"
            return
        integers = {
            number: each.clone()
            for number, each in enumerate(values)
            if isinstance(each, torch.Tensor) and not each.is_floating_point() and each.numel() * each.element_size() <= 1 << 26
        }
        self.caught[key] = {
            "program": self.program, "launcher": launcher, "grid": grid, "function": function, "rest": rest,
            "about": about, "used": self.phase == "running", "integers": integers,
        }  # fmt: skip

    def again(self, launch: dict[str, Any]) -> Callable[[], None]:
        """What repeats a launch."""
        import torch

        def run() -> None:
            stream = torch.cuda.current_stream().cuda_stream
            self._launch(launch["launcher"], *launch["grid"], stream, launch["function"], *launch["rest"])

        return run


def seconds_of(operation: Callable[[], object]) -> tuple[float, float]:
    """The time of one more launch in a CUDA graph: the least and the median of several rounds."""
    few = 8
    short = graph_seconds(operation, few)
    more = int(min(200, max(24, 1.5e-3 * few / short[0])))
    long = graph_seconds(operation, more)
    return (long[0] - short[0]) / (more - few), (long[1] - short[1]) / (more - few)


def graph_seconds(operation: Callable[[], object], times: int) -> tuple[float, float]:
    import torch

    operation()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            operation()
    taken = []
    for _ in range(ROUNDS):
        time.sleep(PAUSE)
        graph.replay()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        taken.append(start.elapsed_time(end) / 1e3)
    return min(taken), float(np.median(taken))


def plain(ptx: str) -> str:
    """Without debug sections and lines of the source."""
    ptx = re.sub(r"\t\.section\t\.debug_\w+\s*\{.*?\n\t\}", "", ptx, flags=re.DOTALL)
    kept = (re.sub(r"\s*//.*$", "", line) for line in ptx.splitlines())
    return "\n".join(line.rstrip() for line in kept if line.strip() and not re.match(r"\s*\.(loc|file)\b|\$L__tmp", line)) + "\n"


def row_of(launch: dict[str, Any], times: tuple[float, float]) -> dict[str, Any]:
    """A launch as plain data."""
    import torch

    about, storages, arguments = launch["about"], {}, []
    values, signature = launch["rest"][4:], about["signature"]
    kinds = list(signature.values())
    if len(values) != len(kinds):
        kinds = [kind for kind in kinds if kind != "constexpr"]
    for number, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        if kind == "constexpr":
            continue
        base = getattr(value, "base", None)
        if isinstance(value, torch.Tensor) or (base is not None and hasattr(value, "block_shape")):
            tensor = value if base is None or isinstance(value, torch.Tensor) else base
            storage = tensor.untyped_storage()
            where = storages.setdefault(storage.data_ptr(), len(storages))
            offset = tensor.data_ptr() - storage.data_ptr()
            row = {"type": str(tensor.dtype).removeprefix("torch."), "storage": where, "offset": offset, "bytes": storage.nbytes()}
            row["shape"], row["strides"] = list(tensor.shape), list(tensor.stride())
            if tensor is not value:
                row["descriptor"] = [list(value.shape), list(value.strides), list(value.block_shape)]
            kept = launch["integers"].get(number)
            if kept is not None and kept.numel():
                flat = torch.as_strided(kept, (min(kept.untyped_storage().nbytes() // kept.element_size(), kept.numel()),), (1,)).cpu().numpy()
                row["range"] = [int(flat.min()), int(flat.max())]
                if flat.nbytes <= KEPT_BYTES:
                    row["values"] = base64.b64encode(lzma.compress(flat.tobytes())).decode()
            arguments.append(row)
        elif value is None or isinstance(value, (bool, int, float)):
            arguments.append({"kind": kind, "value": value})
        else:
            arguments.append({"kind": kind, "value": repr(value)[:200]})
    metadata = about["metadata"]
    return {
        "program": launch["program"], "kernel": metadata.name, "used": launch["used"],
        "grid": list(launch["grid"]), "warps": metadata.num_warps, "ctas": getattr(metadata, "num_ctas", 1),
        "stages": getattr(metadata, "num_stages", 0), "shared": metadata.shared,
        "scratch": getattr(metadata, "global_scratch_size", 0), "maps": repr(getattr(metadata, "tensordesc_meta", None)),
        "pdl": bool(getattr(metadata, "launch_pdl", False)), "registers": about["registers"], "spills": about["spills"],
        "us": round(times[0] * 1e6, 3), "median_us": round(times[1] * 1e6, 3),
        "arguments": arguments, "ptx": plain(about["ptx"]),
    }  # fmt: skip


# -- a worker ------------------------------------------------------------------------------------------------


def configure() -> None:
    import torch
    import torch._dynamo
    import torch._inductor.config as config

    for name in dir(config):
        if "static" in name and "launcher" in name:
            setattr(config, name, False)
    config.fx_graph_cache = False
    config.max_autotune_gemm_backends = "TRITON"
    config.max_autotune_conv_backends = "TRITON"
    torch._dynamo.config.cache_size_limit = 10_000
    torch._dynamo.config.suppress_errors = False


def run_program(catcher: Catcher, program: Program) -> None:
    import torch
    import torch._dynamo

    torch._dynamo.reset()
    torch.manual_seed(zlib.crc32(program.name.encode()))
    options = dict(program.tuned or {})
    torch.backends.cuda.matmul.allow_tf32 = not options.pop("ieee", False)
    torch.backends.cudnn.allow_tf32 = True
    if program.tuned is not None:
        options["max_autotune"] = True
    inputs = program.inputs()
    catcher.program, catcher.open = program.name, True
    try:
        compiled = torch.compile(program.function, dynamic=False, options=options)
        for phase in ("compiling", "running"):
            catcher.phase = phase
            result = compiled(*inputs)
            if program.backward:
                result.backward()
            torch.cuda.synchronize()
    finally:
        catcher.open = False


def worker(number: int, count: int, folder: Path, only: str, limit: float) -> None:
    import torch
    import triton

    begun = time.time()
    configure()
    catcher = Catcher()
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    chosen = [each for each in programs() if only in each.name]
    # spread the slow ones
    for place, program in enumerate(chosen):
        if place % count != number:
            continue
        if time.time() - begun > limit:
            print("out of time before", program.name, flush=True)
            break
        start = time.time()
        try:
            run_program(catcher, program)
        except Exception as error:
            print(f"FAILED {program.name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        print(f"{program.name}: {time.time() - start:.1f} s, {len(catcher.caught)} launches", flush=True)
    (folder / f"done.{number}").write_text("")
    while len(list(folder.glob("done.*"))) < count and time.time() - begun < limit + 90:
        time.sleep(0.2)
    while number and not (folder / f"timed.{number - 1}").exists():
        time.sleep(0.1)
    rows, cubins = [], {}
    candidates: dict[str, int] = {}
    order = sorted(catcher.caught.values(), key=lambda each: (not each["used"], zlib.crc32(each["about"]["ptx"].encode())))
    first = time.time()
    for launch in order:
        program = launch["program"]
        if not launch["used"]:
            candidates[program] = candidates.get(program, 0) + 1
            if candidates[program] > CANDIDATES or time.time() - first > 20:
                continue
        values = launch["rest"][4:]
        for place, kept in launch["integers"].items():
            values[place].copy_(kept)
        try:
            times = seconds_of(catcher.again(launch))
            for place, kept in launch["integers"].items():
                values[place].copy_(kept)
            rows.append(row_of(launch, times))
            if launch["about"]["cubin"] is not None:
                cubins[f"{program}|{rows[-1]['kernel']}|{zlib.crc32(rows[-1]['ptx'].encode())}"] = base64.b64encode(launch["about"]["cubin"]).decode()
        except Exception as error:
            print(f"FAILED TIMING {program}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    (folder / f"rows.{number}.json").write_text(json.dumps(rows))
    (folder / f"cubins.{number}.json").write_text(json.dumps(cubins))
    print(f"worker {number}: timed {len(rows)} of {len(order)} in {time.time() - first:.1f} s", flush=True)
    (folder / f"timed.{number}").write_text("")


def main() -> None:
    import subprocess
    import tempfile

    out = Path(sys.argv[1])
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    limit = float(os.environ.get("CAPTURE_LIMIT", "240"))
    if len(sys.argv) > 3:
        worker(int(sys.argv[3]), int(sys.argv[4]), out, only, limit)
        return
    folder = Path(tempfile.mkdtemp())
    environment = dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="3", TORCHINDUCTOR_CACHE_DIR=str(folder / "cache"))
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.capture", str(folder), only, str(number), str(WORKERS)],
            env=environment, stdout=(out / f"log.{number}.txt").open("w"), stderr=subprocess.STDOUT,
        )
        for number in range(WORKERS)
    ]  # fmt: skip
    for each in workers:
        each.wait()
    rows = [row for path in sorted(folder.glob("rows.*.json")) for row in json.loads(path.read_text())]
    cubins: dict[str, str] = {}
    for path in sorted(folder.glob("cubins.*.json")):
        cubins |= json.loads(path.read_text())
    (out / "launches.json.xz").write_bytes(lzma.compress(json.dumps(rows).encode(), preset=6))
    (out / "cubins.json.xz").write_bytes(lzma.compress(json.dumps(cubins).encode(), preset=1))
    logs = "".join(path.read_text(errors="replace") for path in sorted(out.glob("log.*.txt")))
    for path in out.glob("log.*.txt"):
        path.unlink()
    (out / "log.txt").write_text(logs)
    print("\n".join(line for line in logs.splitlines() if "FAILED" in line or "worker" in line or "out of time" in line))
    print(len(rows), "launches,", sum(row["used"] for row in rows), "of them used;", (out / "launches.json.xz").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
