"""Kernels of `tests/kernels/` with inputs: for the tests, and for `tools.record.kernels` on a GPU."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from ptxlab import gemm

FOLDER = Path(__file__).parents[1] / "kernels"
GOLDEN = Path(__file__).parents[1] / "golden" / "kernels.json"

Grid = int | tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A kernel, its launch, and what makes its arguments."""

    name: str
    file: str
    grid: Grid
    block: Grid
    arguments: Callable[[np.random.Generator], list[Any]]
    shared: int = 0
    options: tuple[str, ...] = ()
    kernel: str = ""  # its name in the source, where that differs

    def source(self) -> str:
        return (FOLDER / self.file).read_text(encoding="utf-8")

    def compiled(self) -> Any:
        return ptxlab.kernel(self.source(), self.kernel or self.name, "sm_90a", self.options)

    def inputs(self) -> list[Any]:
        return self.arguments(np.random.default_rng(sum(map(ord, self.name))))


def arrays_of(arguments: list[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays that a kernel may write, also those behind tensor maps."""
    for argument in arguments:
        if isinstance(argument, np.ndarray) and argument.ndim:
            yield argument
        elif hasattr(argument, "box"):
            yield argument.array


def digest(arguments: list[Any]) -> str:
    """The bits of all arrays."""
    total = hashlib.sha256()
    for array in arrays_of(arguments):
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:32]


def recorded() -> dict[str, Any]:
    """What an H200 gave, by name of the case: the digest of the inputs, and that of the arrays afterwards."""
    return json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}


def _words(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.integers(0, 1 << 32, shape, dtype=np.uint32)


def _ints(rng: np.random.Generator, low: int, high: int, *shape: int) -> np.ndarray[Any, Any]:
    return rng.integers(low, high, shape, dtype=np.int32)


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    """Floats of all sizes, with zeros, subnormal numbers and infinities among them; no NaN."""
    bits = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    middle = (rng.standard_normal(shape) * 100).astype(np.float32)
    wide = np.where(np.isnan(bits.view(np.float32)), np.float32(1), bits.view(np.float32))
    return np.where(rng.random(shape) < 0.5, middle, wide).astype(np.float32)


def _halves(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.standard_normal(shape).astype(np.float16)


def _zeros(dtype: Any, *shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype=dtype)


def _half_words(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(rng.standard_normal(2 * count).astype(np.float16)).view(np.uint32)


def _small_bytes(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """Registers of four floats of 8 bits, none of them NaN or infinite."""
    return rng.integers(0, 1 << 32, count, dtype=np.uint32) & np.uint32(0xBFBFBFBF)


def _bf16_words(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    bits = rng.standard_normal(2 * count).astype(np.float32).view(np.uint32)
    return np.ascontiguousarray((bits >> 16).astype(np.uint16)).view(np.uint32)


def _float_words(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    return rng.standard_normal(count).astype(np.float32).view(np.uint32)


def _mma(name: str, a: Any, b: Any, c: Any) -> Case:
    def inputs(rng: np.random.Generator) -> list[Any]:
        return [a(rng, 128 * 4), b(rng, 128 * 2), c(rng, 128 * 4), _zeros(np.uint32, 512)]

    return Case(name, "matrices.cu", 2, 64, inputs)


def _metadata(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    nibbles = rng.choice(np.array([4, 8, 9, 12, 13, 14], dtype=np.uint32), (count, 8))
    return np.bitwise_or.reduce(nibbles << (4 * np.arange(8, dtype=np.uint32)), axis=1).astype(np.uint32)


def _tensor_maps(rng: np.random.Generator) -> list[Any]:
    source = rng.standard_normal((60, 96)).astype(np.float32)
    target = np.zeros((60, 96), dtype=np.float32)
    return [ptxlab.tensor_map(source, (16, 32), 128), ptxlab.tensor_map(target, (16, 32), 128)]


def _wgmma(rng: np.random.Generator) -> list[Any]:
    a, b = _halves(rng, 128, 256), _halves(rng, 128, 256)
    d = _zeros(np.float32, 128, 128)
    return [ptxlab.tensor_map(a, (64, 64), 128), ptxlab.tensor_map(b, (64, 64), 128), d, 128, 256]


def _variant(case: Case, *options: str, suffix: str = "fast") -> Case:
    """The same kernel and arguments, compiled with other options."""
    return replace(case, name=f"{case.name}_{suffix}", options=(*case.options, *options), kernel=case.name)


_STRUCT = struct.pack("<if4B4xd", 3, 1.5, 1, 2, 3, 4, 0.25)

_BASICS = (
    Case("copy", "basics.cu", 3, 64, lambda r: [_words(r, 1000), _zeros(np.uint32, 1000), 1000]),
    Case("saxpy", "basics.cu", 8, 128, lambda r: [2.5, _floats(r, 1000), _floats(r, 1000), 1000]),
    Case("vector_copy", "basics.cu", 2, 48, lambda r: [
        _words(r, 96 * 4), _zeros(np.uint32, 96 * 4), r.standard_normal(96 * 2), _zeros(np.float64, 96 * 2)]),
    Case("transpose", "basics.cu", (3, 2), (32, 8), lambda r: [
        r.standard_normal(70 * 50).astype(np.float32), _zeros(np.float32, 70 * 50), 70, 50]),
    Case("integers", "basics.cu", 8, 128, lambda r: [
        _words(r, 1000), _words(r, 1000) >> r.integers(0, 32, 1000).astype(np.uint32),
        _zeros(np.uint32, 1000), _zeros(np.uint64, 1000), 1000]),
    Case("inline_integers", "basics.cu", 8, 128, lambda r: [
        _words(r, 1000), _words(r, 1000), _zeros(np.uint32, 1000), 1000]),
    Case("floats", "basics.cu", 8, 128, lambda r: [
        _floats(r, 1000), _floats(r, 1000), _zeros(np.float32, 16000), _zeros(np.float64, 6000), 1000]),
    Case("conversions", "basics.cu", 8, 128, lambda r: [
        _floats(r, 1000), _words(r, 1000), _zeros(np.uint32, 1000), 1000]),
    Case("halves", "basics.cu", 8, 128, lambda r: [
        _words(r, 1000), _words(r, 1000), _zeros(np.uint32, 6000), 1000]),
    Case("bytes", "basics.cu", 8, 128, lambda r: [
        r.integers(-128, 128, 1000, dtype=np.int8), r.integers(0, 256, 1000, dtype=np.uint8),
        r.integers(-(1 << 15), 1 << 15, 1000, dtype=np.int16), _zeros(np.uint8, 1000),
        _zeros(np.uint16, 1000), 1000]),
    Case("collatz", "basics.cu", 2, 96, lambda r: [
        r.integers(1, 2000, 150, dtype=np.uint32), _zeros(np.uint32, 150), 150]),
    Case("nested", "basics.cu", 4, 64, lambda r: [_ints(r, -1000, 1000, 256), _zeros(np.int32, 256)]),
    Case("local_array", "basics.cu", 2, 64, lambda r: [
        r.integers(0, 256, 1024, dtype=np.uint8), _zeros(np.uint32, 128)]),
    Case("module_variables", "basics.cu", 1, 64, lambda r: [
        r.standard_normal(72).astype(np.float32), _zeros(np.float32, 64)]),
    Case("calls", "basics.cu", 2, 64, lambda r: [
        _ints(r, 0, 1 << 20, 128), _zeros(np.int32, 128), _zeros(np.float32, 128)]),
    Case("structs", "basics.cu", 1, 40, lambda r: [_STRUCT, _zeros(np.float32, 40)]),
    Case("scaled", "basics.cu", 1, 32, lambda r: [_ints(r, -100, 100, 32)], kernel="scaled<3, int>"),
    Case("generic_pointers", "basics.cu", 1, 64, lambda r: [
        _ints(r, 0, 100, 64), _ints(r, 0, 100, 64), _zeros(np.int32, 64)]),
    Case("dynamic_shared", "basics.cu", 1, 128, lambda r: [
        _ints(r, -99, 99, 128), _zeros(np.int32, 128)], 128 * 6),
)  # fmt: skip

_WARPS = (
    Case("warp_sum", "warps.cu", 2, 64, lambda r: [_ints(r, -1000, 1000, 128), _zeros(np.int32, 128)]),
    Case("shuffles", "warps.cu", 1, 64, lambda r: [_words(r, 64), _zeros(np.uint32, 64)]),
    Case("partial_masks", "warps.cu", 1, 64, lambda r: [_words(r, 64), _zeros(np.uint32, 64)]),
    Case("votes", "warps.cu", 1, 128, lambda r: [_words(r, 128), _zeros(np.uint32, 128)]),
    Case("bitonic_sort", "warps.cu", 1, 128, lambda r: [_words(r, 128)]),
    Case("block_reduce", "warps.cu", 3, 256, lambda r: [
        r.standard_normal(5000).astype(np.float32), _zeros(np.float32, 3), 5000]),
    Case("block_scan", "warps.cu", 3, 128, lambda r: [_ints(r, -99, 99, 384), _zeros(np.int32, 384)]),
    Case("barrier_votes", "warps.cu", 1, 96, lambda r: [_ints(r, 0, 510, 96), _zeros(np.int32, 96)]),
    Case("named_barriers", "warps.cu", 2, 64, lambda r: [_ints(r, 0, 510, 128), _zeros(np.int32, 128)]),
    Case("early_exit", "warps.cu", 2, 96, lambda r: [_ints(r, 0, 510, 96), _zeros(np.int32, 96), 70]),
)  # fmt: skip

_ATOMICS = (
    Case("histogram", "atomics.cu", 4, 128, lambda r: [_words(r, 3000), _zeros(np.uint32, 64), 3000]),
    Case("atomic_kinds", "atomics.cu", 2, 96, lambda r: [
        _words(r, 192), np.array([1 << 31, 5, ~0 & 0xFFFFFFFF, 1, 2, 3, 4, 5], dtype=np.uint32),
        _zeros(np.uint64, 3), _zeros(np.int32, 3), _zeros(np.float32, 1), _zeros(np.float64, 1)]),
    Case("tickets", "atomics.cu", 2, 64, lambda r: [_zeros(np.uint32, 1), _zeros(np.uint32, 128)]),
    Case("spin_lock", "atomics.cu", 5, 96, lambda r: [_zeros(np.int32, 1), _zeros(np.int32, 1)]),
    Case("flag_between_warps", "atomics.cu", 1, 64, lambda r: [
        _zeros(np.int32, 1), _zeros(np.int32, 32), _zeros(np.int32, 32)]),
    Case("last_block", "atomics.cu", 6, 32, lambda r: [
        _words(r, 192), _zeros(np.uint32, 6), _zeros(np.uint32, 1), _zeros(np.uint32, 1)]),
)  # fmt: skip

_MATRICES = (
    _mma("mma_f16", _half_words, _half_words, _float_words),
    _mma("mma_bf16", _bf16_words, _bf16_words, _float_words),
    _mma("mma_tf32", _float_words, _float_words, _float_words),
    _mma("mma_s8", _words, _words, _words),
    _mma("mma_u4", _words, _words, _words),
    _mma("mma_e4m3", _small_bytes, _small_bytes, _float_words),
    Case("mma_sparse", "matrices.cu", 2, 64, lambda r: [
        _half_words(r, 512), _half_words(r, 512), _float_words(r, 512), _metadata(r, 128),
        _zeros(np.uint32, 512)]),
    Case("mma_f64", "matrices.cu", 1, 32, lambda r: [
        r.standard_normal(32), r.standard_normal(32), r.standard_normal(64)]),
    Case("matrix_moves", "matrices.cu", 1, 64, lambda r: [_words(r, 256), _zeros(np.uint32, 256)]),
    Case("wmma_gemm", "matrices.cu", 1, 32, lambda r: [
        _halves(r, 16, 24), _halves(r, 16, 16), r.standard_normal((16, 16)).astype(np.float32),
        _zeros(np.float32, 16, 16)]),
    Case("gemm_mma_swizzled", "gemm_mma_swizzled.cu", (2, 3), 128, lambda r: [
        _halves(r, 192, 128), _halves(r, 128, 128), _zeros(np.float32, 192, 128), 192, 128, 128],
        kernel="gemm"),
)  # fmt: skip

_COPIES = (
    Case("async_pipeline", "copies.cu", 1, 32, lambda r: [
        r.standard_normal(640).astype(np.float32), _zeros(np.float32, 640), 5]),
    Case("zero_fill", "copies.cu", 1, 32, lambda r: [_words(r, 103), _zeros(np.uint32, 128), 103]),
    Case("bulk_copy", "copies.cu", 3, 256, lambda r: [_words(r, 768), _zeros(np.uint32, 768)]),
    Case("bulk_reduce", "copies.cu", 5, 64, lambda r: [
        _words(r, 320), _zeros(np.uint32, 64), _zeros(np.float32, 64)]),
    Case("mbarrier_pipeline", "copies.cu", 2, 64, lambda r: [_words(r, 224), _zeros(np.uint32, 224), 7]),
    Case("gemm_wgmma_tma", "gemm_wgmma_tma.cu", (2, 2), 256, _wgmma, 32768, kernel="gemm"),
    Case("tma_transform", "copies.cu", (3, 4), 64, _tensor_maps),
)  # fmt: skip


def _grouped(rng: np.random.Generator) -> list[Any]:
    """Four matrices in one array, of which each block takes its own; the map's array is a fifth."""
    sizes = np.array([[0, 20, 40, 1], [800, 8, 16, 0], [928, 9, 20, 3], [1108, 33, 12, 2]], dtype=np.int32)
    data = _words(rng, 2048)
    tensor = ptxlab.tensor_map(_words(rng, 8, 16), (8, 16), 64)
    return [tensor, _zeros(np.uint8, 8 * 128), data, _zeros(np.uint32, 2048), sizes]


def _replaced(rng: np.random.Generator) -> list[Any]:
    tensor = ptxlab.tensor_map(_words(rng, 4, 8, 16), (1, 8, 16), 64, element_strides=(2, 1, 1))
    return [tensor, _zeros(np.uint8, 128), _words(rng, 1024), _zeros(np.uint32, 256)]


def _pictures(rng: np.random.Generator) -> list[Any]:
    pictures = _words(rng, 2, 6, 7, 8)
    column = ptxlab.memory.im2col_map(pictures, 24, 8, lower=(0, -1), upper=(-2, 0), swizzle=32)
    return [column, _zeros(np.uint32, 4 * 6 * 24 * 8)]


def _column(rng: np.random.Generator) -> list[Any]:
    column = ptxlab.memory.im2col_map(_words(rng, 2, 6, 7, 8), 24, 8, lower=(0, 0), upper=(0, 0), swizzle=32)
    return [_words(rng, 24 * 8), column, 3, 4, 0]


_CHANGED_MAPS = (
    Case("grouped_maps", "tensormaps.cu", 4, 32, _grouped),
    Case("replaced_fields", "tensormaps.cu", 1, 32, _replaced),
    Case("im2col_columns", "tensormaps.cu", 4, 32, _pictures),
    Case("im2col_store", "tensormaps.cu", 1, 32, _column),
)


def _function_inputs(rng: np.random.Generator) -> list[Any]:
    x = np.concatenate([rng.standard_normal(500) * 5, rng.standard_normal(500) * 1e4]).astype(np.float32)
    y = (rng.standard_normal(1000) * 3).astype(np.float32)
    return [x, y, _zeros(np.float32, 24000), 1000]


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.standard_normal(shape).astype(np.float32)


_FUNCTIONS = (
    Case("functions", "functions.cu", 8, 128, _function_inputs),
    Case("double_functions", "functions.cu", 4, 128, lambda r: [
        r.standard_normal(500) * 5, _zeros(np.float64, 5000), 500]),
    Case("softmax", "functions.cu", 3, 64, lambda r: [
        3 * _normal(r, 6, 100), _zeros(np.float32, 6, 100), 100]),
    Case("layer_norm", "functions.cu", 5, 128, lambda r: [
        _normal(r, 5, 300), _normal(r, 300), _normal(r, 300), _zeros(np.float32, 5, 300), 300]),
    Case("gelu", "functions.cu", 4, 128, lambda r: [3 * _normal(r, 500), _zeros(np.float32, 500), 500]),
    Case("attention", "functions.cu", 2, 32, lambda r: [
        _halves(r, 32, 16), _halves(r, 64, 16), _halves(r, 64, 16), _zeros(np.float32, 32, 16), 64]),
)  # fmt: skip

_CLUSTERS = (
    Case("neighbours", "clusters.cu", (4, 2), 32, lambda r: [_words(r, 256), _zeros(np.uint32, 256)]),
    Case("ring", "clusters.cu", 8, 32, lambda r: [_words(r, 1024), _zeros(np.uint32, 1024)]),
    Case("counters", "clusters.cu", 4, 64, lambda r: [_words(r, 128), _zeros(np.uint32, 256)]),
    Case("multicast", "clusters.cu", 4, 64, lambda r: [
        ptxlab.tensor_map(r.standard_normal((16, 64)).astype(np.float32), (8, 32), 128),
        _zeros(np.float32, 2048)]),
)  # fmt: skip


def _pairs(rng: np.random.Generator) -> list[Any]:
    results = [_zeros(np.float32, 300, 2), _zeros(np.float32, 300)]
    return [_normal(rng, 300, 2), _normal(rng, 300, 2), *results, 300]


def _attention(rng: np.random.Generator) -> list[Any]:
    return [_halves(rng, 48, 32), _halves(rng, 64, 32), _halves(rng, 64, 32), _zeros(np.float32, 48, 32), 64]


_INT128 = ("--device-int128",)
_IDIOMS = (
    Case("complex_products", "idioms.cu", 3, 128, _pairs, options=_INT128),
    Case("quotients", "idioms.cu", 1, 128, lambda r: [_normal(r, 128), _zeros(np.float32, 768)],
         options=_INT128),
    Case("half_products", "idioms.cu", 1, 64, lambda r: [
        _halves(r, 128), _halves(r, 128), _zeros(np.float16, 128), _zeros(np.float64, 64)], options=_INT128),
    Case("wide_integers", "idioms.cu", 1, 64, lambda r: [
        r.integers(0, 1 << 63, (64, 4)).astype(np.uint64) * 3, _zeros(np.uint64, 64, 10)], options=_INT128),
    Case("scan", "idioms.cu", 5, 256, lambda r: [
        _ints(r, -1000, 1000, 1200), _zeros(np.int32, 1200), _zeros(np.int32, 5), _zeros(np.int32, 5), 1200],
        options=_INT128),
    Case("flash", "idioms.cu", 3, 32, _attention, options=_INT128),
)  # fmt: skip

_CORNERS = (
    Case("producer_warp", "corners.cu", 3, 160, lambda r: [
        _halves(r, 3 * 2 * 72 * 64).view(np.uint8), _zeros(np.float32, 3, 128, 4), 2]),
    Case("wide_swaps", "corners.cu", 1, 64, lambda r: [_zeros(np.uint64, 65, 2), _zeros(np.uint64, 64, 2)]),
    Case("bit_fields", "corners.cu", 1, 64, lambda r: [
        _words(r, 64), _zeros(np.uint64, 64), _zeros(np.float64, 1)]),
    Case("relaxation", "corners.cu", 5, 64, lambda r: [_ints(r, -9, 9, 320), _zeros(np.int32, 320), 4]),
    Case("corners", "corners.ptx", 1, 32, lambda r: [_words(r, 128), _zeros(np.uint32, 384)]),
)  # fmt: skip


@dataclass(frozen=True)
class _AttentionCase(Case):
    """One of `ptxlab.gemm`'s kernels of attention."""

    constants: tuple[tuple[str, int], ...] = ()

    def compiled(self) -> Any:
        return gemm.attention(int(self.file), **dict(self.constants)).kernel


def _attention_case(number: int, heads: int, sequence: int, **constants: int) -> Case:
    made = gemm.attention(number, **constants)

    def arguments(rng: np.random.Generator) -> list[Any]:
        shape = (heads, sequence, made.head)
        queries = _halves(rng, *shape) * np.float16(2)
        return list(
            made.arguments(queries, _halves(rng, *shape), _halves(rng, *shape), _zeros(np.float16, *shape))
        )

    return _AttentionCase(
        f"attention_{number}" + ("_causal" if made.causal else ""), str(number), made.grid(heads, sequence),
        made.threads, arguments, made.shared, constants=tuple(constants.items()),
    )  # fmt: skip


_LADDER_OF_ATTENTION = (
    _attention_case(1, 2, 64, head=64),
    _attention_case(2, 1, 128, head=64, block_n=32),
    _attention_case(3, 1, 128, head=64, block_n=32),
    _attention_case(4, 2, 64, head=128, block_n=32, stages=3, causal=0),
    _attention_case(4, 1, 128, head=64, block_n=32),
    _attention_case(5, 1, 384, head=64, causal=0),
    _attention_case(5, 1, 256, head=128),
)

_ALL = (
    *_BASICS, *_WARPS, *_ATOMICS, *_MATRICES, *_FUNCTIONS, *_CLUSTERS, *_COPIES, *_IDIOMS, *_CORNERS,
    *_CHANGED_MAPS, *_LADDER_OF_ATTENTION,
)  # fmt: skip
CASES: dict[str, Case] = {case.name: case for case in _ALL}
for _name in ("functions", "attention", "complex_products", "quotients", "flash"):
    CASES[f"{_name}_fast"] = _variant(CASES[_name], "--use_fast_math")
CASES["floats_fast"] = _variant(CASES["floats"], "-ftz=true", "-fmad=false")
CASES["nested_debug"] = _variant(CASES["nested"], "-G", suffix="debug")
