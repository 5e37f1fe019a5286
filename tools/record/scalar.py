"""python -m tools.record scalar: scalar instructions on this GPU against `ptxlab.numerics.scalar`.

Every opcode that the GPU's target has runs on a million inputs (special values, random bits, values near
the borders of the formats); results must be equal in every bit. FILE gets a digest of what the GPU gave for a
small sample of each, which tests compare without a GPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ptxlab._util.files import write_atomically
from ptxlab.numerics.scalar import ScalarOperation, opcodes, operation
from ptxlab.numerics.scalar.formats import FORMATS, Format

FILE = Path(__file__).parents[2] / "tests" / "golden" / "scalar.json"
COUNT = 1 << 20  # inputs of an opcode
SAMPLE = 1 << 11  # those of the digests
SEED = 17
_TABLES = (0x96, 0xE8, 0xF8, 0x1B, 0xCA)  # of lop3, which takes its table as a constant
_BATCH = 64  # opcodes of a module
_SHOWN = 400  # differences that are kept of an opcode

Array = NDArray[Any]


# -- inputs --------------------------------------------------------------------------------------------------


def _special(type_name: str) -> Array:
    """Special values of a type: borders, halves, infinities, NaNs with payloads."""
    name, _, lanes = type_name.partition("x")
    if lanes:
        one = _special(name)
        bits = _bits(name)
        return _distinct(
            [int(a) << bits | int(b) for a, b in zip(one, one[::-1], strict=True)] + list(one), type_name
        )
    if name in FORMATS:
        form = FORMATS[name]
        return _distinct([code | sign for code in _float_codes(form) for sign in (0, form.sign)], name)
    bits = _bits(name)
    values = [
        0,
        1,
        2,
        3,
        4,
        5,
        7,
        8,
        9,
        15,
        16,
        17,
        23,
        24,
        31,
        32,
        33,
        63,
        64,
        65,
        127,
        128,
        129,
        255,
        256,
        0xAAAA,
    ]
    for power in (7, 8, 15, 16, 23, 24, 25, 31, 32, 53, 54, 63, 64):
        values += [(1 << power) + step for step in (-2, -1, 0, 1)]
        values += [-(1 << power) + step for step in (-1, 0, 1)]
    return _distinct([value & (1 << bits) - 1 for value in values + [-value for value in values[:20]]], name)


#: Numbers that lie on a border of some format or integer type.
_VALUES = (
    0.1, 0.25, 0.5, 0.75, 1.5, 2.0, 2.5, 3.0, 3.5, 6.0, 7.0, 127.5, 255.5, 448.0, 464.0, 480.0, 57344.0,
    61440.0, 65504.0, 65520.0, 2147483647.0, 4294967040.0, 1e-5, 1e10, 3.3e38,
    *(2.0**e for e in (31, 32, 63, 64)), *(2.0**-e for e in (9, 10, 14, 15, 24, 25, 126)),
)  # fmt: skip


def _float_codes(form: Format) -> Iterator[int]:
    """Magnitudes worth a try."""
    one, ulp = form.bias << form.fraction, 1 << form.padding
    one <<= form.padding
    yield from (0, ulp, 2 * ulp, form.smallest_normal - ulp, form.smallest_normal, form.smallest_normal + ulp)
    yield from (one, one - ulp, one + ulp, form.largest, form.largest - ulp)
    if form.infinite:
        quiet = form.infinity | form.infinity >> 1
        yield from (
            form.infinity,
            form.infinity + ulp,
            quiet,
            quiet + 0x123 % max(form.smallest_normal // 4, 1),
            form.sign - 1,
        )
    for value in _VALUES:
        yield int(form.encode(np.float64([value]))[0])


def _borders(type_name: str) -> Array:
    """Floats just above and below the borders of narrower formats, and the NaN that TMA writes."""
    name, _, lanes = type_name.partition("x")
    if name not in FORMATS:
        return np.array([False, True]) if name == "pred" else _special(type_name)
    if lanes:
        one, bits = _borders(name), _bits(name)
        return _distinct((int(a) << bits | int(b) for a, b in zip(one, one[::-1], strict=True)), type_name)
    form = FORMATS[name]
    powers = [2.0**e for e in (-150, -149, -127, -126, -25, -24, -15, -14, -10, -9, -6, 125, 126, 127)]
    factors = [1 + sign * 2.0**-k for k in (3, 4, 7, 8, 11, 12, 24, 25) for sign in (-1, 1)]
    values = [value * factor for value in (*powers, *_VALUES) for factor in factors]
    codes = form.encode(np.float64(values)).astype(np.uint64)
    steps = np.concatenate((codes, codes + np.uint64(1), codes - np.uint64(1)))
    steps = steps & np.uint64(form.sign - 1)
    odd = [0x7FF7] if form.bits == 16 else []
    return _distinct([*odd, *steps, *(int(code) | form.sign for code in (*odd, *steps))], name)


def _bits(type_name: str) -> int:
    from ptxlab.numerics.scalar.opcode import width_of

    return width_of(type_name)


def _dtype(type_name: str) -> np.dtype[Any]:
    from ptxlab.numerics.scalar.opcode import dtype_of

    return dtype_of(type_name)


def _distinct(values: Iterable[int], type_name: str) -> Array:
    return np.array(list(dict.fromkeys(int(value) for value in values)), dtype=np.uint64).astype(
        _dtype(type_name)
    )


def _random(rng: np.random.Generator, type_name: str, count: int) -> Array:
    dtype = _dtype(type_name)
    if type_name == "pred":
        return rng.integers(0, 2, count, dtype=np.uint8).astype(bool)
    return rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)


def _near(rng: np.random.Generator, type_name: str, count: int) -> Array:
    """Floats of moderate size and whole numbers of all sizes, many with few bits: ties and cancellation."""
    name, _, lanes = type_name.partition("x")
    if lanes:
        bits, dtype = _bits(name), _dtype(type_name)
        parts = [_near(rng, name, count).astype(dtype) for _ in range(int(lanes))]
        return sum(
            (part << dtype.type(bits * lane) for lane, part in enumerate(parts)), start=np.zeros(count, dtype)
        )
    if name == "pred":
        return _random(rng, name, count)
    if name not in FORMATS:
        bits, dtype = _bits(name), _dtype(name)
        size = rng.integers(0, bits, count).astype(dtype)
        number = _random(rng, name, count) >> size
        low = rng.integers(0, bits, count).astype(dtype)
        number = np.where(rng.random(count) < 0.5, number >> low << low, number)
        number = number + rng.integers(0, 3, count).astype(dtype) - dtype.type(1)
        return np.where(rng.random(count) < 0.5, np.negative(number), number)
    form = FORMATS[name]
    dtype = form.dtype
    reach = min(40, form.bias - 1)
    field = rng.integers(form.bias - reach, form.bias + reach + 1, count).astype(np.uint64)
    field = np.where(
        rng.random(count) < 0.3, rng.integers(max(form.bias - 2, 0), form.bias + 3, count), field
    ).astype(np.uint64)
    width = form.fraction + form.padding
    fraction = rng.integers(0, 1 << width, count, dtype=np.uint64)
    drop = rng.integers(0, width + 1, count).astype(np.uint64)
    fraction = np.where(rng.random(count) < 0.6, fraction >> drop << drop, fraction)
    code = (field << np.uint64(width) | fraction) + rng.integers(0, 3, count).astype(np.uint64) - np.uint64(1)
    code = np.where(rng.random(count) < 0.5, code, code | np.uint64(form.sign))
    return (code & np.uint64((1 << form.bits) - 1)).astype(dtype)


def _matched(rng: np.random.Generator, form: Format, first: Array, count: int) -> tuple[Array, Array]:
    """Second and third sources that bring first * second near a border, and first * second + third near 0."""
    targets = form.decode(_special(form.name))
    targets = targets[np.isfinite(targets) & (targets != 0)]
    with np.errstate(all="ignore"):
        x = form.decode(first)
        second = form.encode(targets[rng.integers(0, len(targets), count)] / x)
        second = (
            second.astype(np.uint64) + rng.integers(0, 3, count).astype(np.uint64) - np.uint64(1)
        ).astype(form.dtype)
        third = form.encode(-x * form.decode(second))
        third = (third.astype(np.uint64) + rng.integers(0, 5, count).astype(np.uint64) - np.uint64(2)).astype(
            form.dtype
        )
    return second, third


@lru_cache(maxsize=24)
@np.errstate(all="ignore")
def inputs(types: tuple[str, ...], count: int) -> tuple[Array, ...]:
    """Arrays of `count` codes for sources of these types, the same on every machine."""
    rng = np.random.default_rng([SEED, crc32(" ".join(types).encode()), count])
    blocks: list[list[Array]] = []
    grids = [np.array([False, True]) if name == "pred" else _special(name) for name in types]
    size = count // 5
    if len(types) == 1:
        values = (
            grids[0] if _bits(types[0]) > 16 else np.arange(1 << _bits(types[0])).astype(_dtype(types[0]))
        )
        blocks.append([np.resize(values, min(size, len(values)))])
    else:
        pair = rng.permutation(len(grids[0]) * len(grids[1]))[:size]
        pairs = [grids[0][pair // len(grids[1])], grids[1][pair % len(grids[1])]]
        blocks.append(pairs + [grid[rng.integers(0, len(grid), len(pair))] for grid in grids[2:]])
    mixed = []
    for name, grid in zip(types, grids, strict=True):
        special = grid[rng.integers(0, len(grid), size)]
        mixed.append(np.where(rng.random(size) < 0.5, _near(rng, name, size), special))
    blocks.append(mixed)
    blocks.append([_near(rng, name, size) for name in types])
    edges = []
    for name in types:
        border = _borders(name)
        edge = border[rng.integers(0, len(border), size)]
        edges.append(np.where(rng.random(size) < 0.7, edge, _near(rng, name, size)))
    blocks.append(edges)
    name = types[0].partition("x")[0]
    if len(types) > 1 and name in FORMATS and "x" not in types[0] and types[0] == types[1]:
        first = np.where(rng.random(size) < 0.5, _near(rng, name, size), _random(rng, name, size))
        second, third = _matched(rng, FORMATS[name], first, size)
        rest = [third if kind == name else _random(rng, kind, size) for kind in types[2:]]
        blocks.append([first, second, *rest])
    left = count - sum(len(block[0]) for block in blocks)
    blocks.append([_random(rng, name, left) for name in types])
    return tuple(np.concatenate(column) for column in zip(*blocks, strict=True))


def arguments(op: ScalarOperation, count: int, table: int = 0) -> tuple[Array, ...]:
    """The sources of an opcode; lop3 has its table as a number."""
    if op.opcode.startswith("lop3"):
        a, b, c, *rest = inputs((*op.source_types[:3], *op.source_types[4:]), count)
        return a, b, c, np.array(table, np.uint32), *rest
    types = op.source_types[: len(op.source_types) - op.optional]
    sources = inputs(types, count)
    if op.opcode == "fns.b32":  # other bases are undefined
        return sources[0], sources[1] & np.uint32(31), sources[2]
    return sources


def results(op: ScalarOperation, sources: Sequence[Array]) -> tuple[Array, ...]:
    """What ptxlab gives."""
    result = op(*sources)
    return result[: len(_outputs(op))] if isinstance(result, tuple) else (result,)


def digest(arrays: Iterable[Array]) -> str:
    """A short digest of results."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[
        :10
    ]


# -- kernels -------------------------------------------------------------------------------------------------

_HEAD = """\
.version 9.0
.target {target}
.address_size 64
"""
_ENTRY = """\
.visible .entry {name}({parameters}, .param .u32 count)
{{
.reg .pred outside, p<8>, q;
.reg .b8 c<8>;
.reg .b16 h<8>;
.reg .b32 r<8>, i, n, threads, block, carry;
.reg .b64 d<8>, at, base;
mov.u32 i, %tid.x;
mov.u32 threads, %ntid.x;
mov.u32 block, %ctaid.x;
mad.lo.u32 i, block, threads, i;
ld.param.u32 n, [count];
setp.ge.u32 outside, i, n;
@outside bra done;
{body}
done:
ret;
}}
"""


def _register(type_name: str, number: int, exact: bool = False) -> str:
    """A register of the width of a type; 8 bits lie in 16, but beside bf16 in 8."""
    if type_name == "pred":
        return f"p{number}"
    if exact and _bits(type_name) == 8:
        return f"c{number}"
    return {8: "h", 16: "h", 32: "r", 64: "d"}[_bits(type_name)] + str(number)


#: Types and pairs of types of cvt, and modifiers, that came after sm_90a.
_OLD_SATURATED = {"s32", "f32", "f16", "f16x2"}
_NEWER = {"f32x2", "u8x4", "s8x4", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"}
_NEWER_PAIRS = {("e4m3x2", "bf16x2"), ("e5m2x2", "bf16x2"), ("bf16x2", "e4m3x2"), ("bf16x2", "e5m2x2")}


def supported(op: ScalarOperation) -> bool:
    """Whether sm_90a has an opcode."""
    name, *parts = op.opcode.split(".")
    if "rs" in parts or _NEWER.intersection(parts) or tuple(parts[-2:]) in _NEWER_PAIRS:
        return False
    if name in ("add", "sub", "fma") and tuple(parts[-2:]) in {("f32", "f16"), ("f32", "bf16")}:
        return False
    if name == "clmad" or (name in ("add", "sub") and "sat" in parts and parts[-1] not in _OLD_SATURATED):
        return False
    if "tf32" in parts and "satfinite" in parts:
        return "rna" in parts
    return not (name in ("min", "max") and "abs" in parts and "xorsign" not in parts)


def _outputs(op: ScalarOperation) -> tuple[str, ...]:
    """The types of results; setp of one f16 or bf16 has no second predicate."""
    lone = op.opcode.startswith("setp") and op.opcode.endswith((".f16", ".bf16"))
    return op.result_types[:1] if lone else op.result_types


def _address(parameter: str, size: int) -> list[str]:
    return [f"ld.param.u64 base, [{parameter}];", f"mad.wide.u32 at, i, {size}, base;"]


def entry(op: ScalarOperation, name: str, table: int = 0) -> str:
    """A kernel in PTX that applies an opcode to arrays; results of 8 bits are stored as 16."""
    word = op.opcode
    base = word.split(".")[0]
    types = op.source_types[: len(op.source_types) - op.optional]
    exact, outputs = ".bf16" in word or "e2m1" in word, _outputs(op)
    uses_carry = base in ("addc", "subc", "madc")
    body, operands = [], []
    stored = [kind for position, kind in enumerate(types) if not (base == "lop3" and position == 3)]
    slot = 0
    for position, kind in enumerate(types):
        if base == "lop3" and position == 3:
            operands.append(hex(table))
            continue
        register, size = _register(kind, slot, exact), _dtype(kind).itemsize
        body += _address(f"source{slot}", size)
        if kind == "pred":
            body += ["ld.global.u8 h7, [at];", f"setp.ne.u16 {register}, h7, 0;"]
        else:
            body.append(f"ld.global.u{8 * size} {register}, [at];")
        if kind == "pred" and uses_carry:
            body.append(f"selp.u32 carry, 1, 0, {register};")
            body.append(
                "sub.cc.u32 carry, 0, carry;" if base == "subc" else "add.cc.u32 carry, carry, 0xffffffff;"
            )
        else:
            operands.append(register)
        slot += 1
    if ".rs." in word and len(operands) == 5:
        operands[:4] = ["{" + ", ".join(operands[:4]) + "}"]
    first = _register(outputs[0], 6, exact)
    target = first
    writes_carry = len(outputs) == 2 and ".cc" in word
    if len(outputs) == 2 and not writes_carry:
        target = f"{first}|q"
    body.append(f"{word} {target}, {', '.join(operands)};")
    if writes_carry:
        body.append("subc.u32 carry, 0, 0;" if base.startswith("sub") else "addc.u32 carry, 0, 0;")
        body.append("setp.ne.u32 q, carry, 0;")
    for number, kind in enumerate(outputs):
        size = max(_dtype(kind).itemsize, 2)
        if kind == "pred":
            body += [f"selp.u16 h7, 1, 0, {'p6' if number == 0 else 'q'};"]
            register = "h7"
        elif first.startswith("c"):
            body += [f"cvt.{kind[0]}16.{kind} h7, {first};"]
            register = "h7"
        else:
            register = first
        body += [*_address(f"result{number}", size), f"st.global.u{8 * size} [at], {register};"]
    parameters = [f".param .u64 source{number}" for number in range(len(stored))]
    parameters += [f".param .u64 result{number}" for number in range(len(outputs))]
    return _ENTRY.format(name=name, parameters=", ".join(parameters), body="\n".join(body))


def module(entries: Iterable[str], target: str) -> str:
    """A PTX module of kernels."""
    return _HEAD.format(target=target) + "\n".join(entries)


def wide(op: ScalarOperation, arrays: Sequence[Array]) -> list[Array]:
    """Results as the kernels store them: 8 bits extended to 16 by their sign, predicates as 16 bits."""
    stored = []
    for array, kind in zip(arrays, _outputs(op), strict=True):
        if array.dtype.itemsize == 1 and kind.startswith("s"):
            array = array.view(np.int8).astype(np.int16).view(np.uint16)
        elif array.dtype.itemsize == 1:
            array = array.astype(np.uint16)
        stored.append(array)
    return stored


# -- the GPU -------------------------------------------------------------------------------------------------


class _Gpu:
    """The driver, for kernels in PTX."""

    def __init__(self) -> None:
        from ptxlab.gpu.cuda_python import load

        self.driver = load("cuda.bindings.driver")
        self._do(self.driver.cuInit(0))
        device = self._do(self.driver.cuDeviceGet(0))
        self._do(self.driver.cuCtxSetCurrent(self._do(self.driver.cuDevicePrimaryCtxRetain(device))))
        self.uploads: dict[int, tuple[Array, int]] = {}
        self.outputs = [self.allocate(8 * COUNT) for _ in range(2)]

    def _do(self, answer: Any) -> Any:
        code, *values = answer
        if int(code) != 0:
            raise RuntimeError(f"{code}")
        return values[0] if values else None

    def allocate(self, size: int) -> int:
        return int(self._do(self.driver.cuMemAlloc(size)))

    def load(self, text: str) -> Any:
        code = np.frombuffer(text.encode() + b"\0", dtype=np.uint8)
        return self._do(self.driver.cuModuleLoadData(code.ctypes.data))

    def upload(self, array: Array) -> int:
        """The address of an array on the GPU; arrays stay there, as most opcodes share theirs."""
        key = array.ctypes.data
        if key not in self.uploads:
            address = self.allocate(max(array.nbytes, 16))
            self._do(self.driver.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes))
            self.uploads[key] = (array, address)
        return self.uploads[key][1]

    def run(self, loaded: Any, name: str, op: ScalarOperation, sources: Sequence[Array]) -> list[Array]:
        function = self._do(self.driver.cuModuleGetFunction(loaded, name.encode()))
        arrays = [np.ascontiguousarray(source) for source in sources if source.ndim]
        count = len(arrays[0])
        shapes = [np.empty(count, f"u{max(dtype.itemsize, 2)}") for dtype in op.results[: len(_outputs(op))]]
        values = [self.upload(array) for array in arrays] + self.outputs[: len(shapes)] + [count]
        kinds = [ctypes.c_void_p] * (len(values) - 1) + [ctypes.c_uint]
        launch = self.driver.cuLaunchKernel
        blocks = (count + 255) // 256
        self._do(launch(function, blocks, 1, 1, 256, 1, 1, 0, 0, (tuple(values), tuple(kinds)), 0))
        for shape, address in zip(shapes, self.outputs, strict=False):
            self._do(self.driver.cuMemcpyDtoH(shape.ctypes.data, address, shape.nbytes))
        return shapes


def _work(batch: Sequence[str]) -> list[dict[str, Any]]:
    """One process's opcodes: what differs, and digests."""
    try:
        return _compare_all(batch)
    except RuntimeError as error:
        return [{"opcode": batch[0], "digest": "", "differences": -1, "shown": [], "error": str(error)}]


def _compare_all(batch: Sequence[str]) -> list[dict[str, Any]]:
    gpu = _gpu()
    jobs = [(word, table) for word in batch for table in _tables(word)]
    texts = [entry(get(word), f"k{number}", table) for number, (word, table) in enumerate(jobs)]
    loaded = gpu.load(module(texts, "sm_90a"))
    return [_compare(gpu, loaded, f"k{number}", word, table) for number, (word, table) in enumerate(jobs)]


@lru_cache(maxsize=1)
def _gpu() -> _Gpu:
    return _Gpu()


def _compare(gpu: _Gpu, loaded: Any, name: str, word: str, table: int) -> dict[str, Any]:
    """One opcode: the digest of a sample, how many of many results differ, and some of those."""
    op = get(word)
    sample = gpu.run(loaded, name, op, arguments(op, SAMPLE, table))
    report: dict[str, Any] = {"opcode": f"{word} {table:#x}" if table else word, "digest": digest(sample)}
    sources = arguments(op, COUNT, table)
    given = gpu.run(loaded, name, op, sources)
    computed = wide(op, results(op, sources))
    wrong = np.zeros(COUNT, dtype=bool)
    for one, other in zip(given, computed, strict=True):
        wrong |= one != other
    places = np.flatnonzero(wrong)
    report["differences"] = len(places)
    if len(places):
        places = places[np.unique(np.linspace(0, len(places) - 1, _SHOWN).astype(int))]
    columns = [*(source for source in sources if source.ndim), *given, *computed]
    report["shown"] = [[int(column[place]) for column in columns] for place in places]
    return report


def get(word: str) -> ScalarOperation:
    """The function of an opcode that there is."""
    op = operation(word)
    if op is None:
        raise KeyError(word)
    return op


def _tables(word: str) -> tuple[int, ...]:
    return _TABLES if word.startswith("lop3") else (0,)


def main(folder: Path = FILE.parent, details: Path | None = None) -> None:
    words = [word for word in opcodes() if supported(get(word))]
    started = time.monotonic()
    workers = max(min((os.cpu_count() or 2) - 1, 15), 1)
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        words.sort(key=lambda word: get(word).source_types)  # a process reuses its inputs
        parts = [words[start : start + _BATCH] for start in range(0, len(words), _BATCH)]
        reports = [report for part in pool.imap_unordered(_work, parts) for report in part]
    reports.sort(key=lambda report: report["opcode"])
    differing = [report for report in reports if report["differences"]]
    seconds = time.monotonic() - started
    print(f"{len(reports)} opcodes, {COUNT} inputs each, {seconds:.0f} s; {len(differing)} differ")
    for report in differing[:12]:
        shown = [" ".join(f"{value:x}" for value in row) for row in report["shown"][:1]]
        print(report["opcode"], report["differences"], *shown, report.get("error", ""))
    digests = {report["opcode"]: report["digest"] for report in reports}
    write_atomically(folder / FILE.name, json.dumps(digests, indent=0).encode())
    if details is not None:
        write_atomically(details, _compressed(differing))


def _compressed(reports: list[dict[str, Any]]) -> bytes:
    import lzma

    return lzma.compress(json.dumps(reports).encode())
