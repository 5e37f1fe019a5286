"""python -m tools.gpu_report [FILE]: what a GPU gives, against ptxlab's emulator, in one file to send in.

Golden words: every form of matrix instruction that the GPU has runs on the inputs of `ptxlab.inputs`.
Layout probes: where in tensor memory tcgen05.mma finds each element of A, the metadata and the scales, and
where it leaves D. Moves: tcgen05.ld, .st, .cp and .shift on random words.

Kernels run in a process of their own: a fault or a kernel that never ends costs one entry of the report.
docs/guide/report.md explains how to send one.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import multiprocessing
import os
import platform
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

import ptxlab
from ptxlab import PtxlabError, gpu, inputs
from ptxlab._util.files import write_atomically
from ptxlab._util.progress_bar import bar
from ptxlab.gpu import codegen
from ptxlab.gpu.cuda_python import DriverError, load
from ptxlab.instruction import mma_instructions
from ptxlab.isa.catalog import tcgen05_forms
from ptxlab.isa.form import Form
from ptxlab.isa.instruction_descriptor import shapes_of
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operation import Operation
from ptxlab.isa.product_form import ProductForm
from ptxlab.isa.targets import chip_of_target
from ptxlab.isa.tcgen05 import TensorInstruction, TensorTransfer
from ptxlab.isa.tensor_operand import LANES, TensorLayout, TensorOperand
from ptxlab.memory import Tcgen05Descriptor
from ptxlab.numerics import has
from ptxlab.numerics.emulate import emulate
from tests.gpu.tensor_kernels import cases as tensor_cases

FORMAT = 1
SEED = 2026
#: Seconds after which a case counts as one that never ends.
LIMIT = 120.0
_SHOWN = 32  # words, and differing words, that are listed
_MAX_TEXT = 16 << 20  # bytes of `words` in a report; further ones are left out
#: Categories for forms that differ from another in little.
_BRIEF = ("bits", "moderate", "edges")
_PLAIN = Modifiers()
#: What tells forms of mma, and the arithmetic of tcgen05.mma, from one another.
_FORM = attrgetter("family", "m", "k", "a_type", "b_type", "d_type", "kind", "bit_op", "satfinite")
_ARITHMETIC = attrgetter("kind", "sparse", "k", "a_type", "b_type", "d_type", "scale_vec")


# -- who runs ------------------------------------------------------------------------------------------------


class Runner(Protocol):
    """What is reported on: a GPU, or something that stands for one."""

    name: str
    target: str

    def product(self, operands: Operation) -> NDArray[Any]:
        """Registers or words of D."""
        ...

    def move(self, form: TensorTransfer, arguments: Sequence[Any]) -> NDArray[Any]:
        """Registers, or words of tensor memory."""
        ...


class Gpu:
    """The GPU of this machine."""

    def __init__(self) -> None:
        self.name, self.target = gpu.device_name(), gpu.device_target()

    def product(self, operands: Operation) -> NDArray[Any]:
        return gpu.run(operands)

    def move(self, form: TensorTransfer, arguments: Sequence[Any]) -> NDArray[Any]:
        return side_by_side(form.run(*arguments))


@dataclass
class Emulator:
    """ptxlab's emulator in the place of a GPU, to try the report without one."""

    target: str
    name: str = "emulator"

    def product(self, operands: Operation) -> NDArray[Any]:
        return emulate(operands, model=model_of(operands.ins, self.target))

    def move(self, form: TensorTransfer, arguments: Sequence[Any]) -> NDArray[Any]:
        return side_by_side(form.emulate(*arguments))


def side_by_side(registers: NDArray[Any] | tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """Registers in one array; tcgen05.ld.red and .spcompress give several."""
    if not isinstance(registers, tuple):
        return registers
    parts = [part if part.ndim == 3 else part[..., None] for part in registers]
    return np.concatenate(parts, axis=-1)


def model_of(ins: ProductForm, target: str) -> str | None:
    """The model of this target's arithmetic, if there is one for the instruction."""
    chip = chip_of_target(target)
    if chip is None and isinstance(ins, TensorInstruction):
        chip = "sm_100"  # as is assumed of sm_107
    return chip if chip is not None and has(ins, chip) else None


# -- golden words --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GoldenCase:
    """An instruction on inputs of every category, or of a few."""

    form: ProductForm
    modifiers: Modifiers = _PLAIN
    count: int = 4
    brief: bool = False  # a few categories only
    kind: ClassVar = "golden"

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of inputs that it runs on."""
        every = (*inputs.categories(self.form), *inputs.directed_categories(self.form))
        return tuple(name for name in every if name in _BRIEF) if self.brief else every

    @property
    def sources(self) -> list[str]:
        """The kernels that it runs."""
        return [codegen.source(self.form, self.modifiers)]

    def run(self, runner: Runner) -> dict[str, Any]:
        results = {}
        for category in self.categories:
            operands = inputs.make(self.form, category, self.count, SEED, self.modifiers.selector)
            operands = replace(operands, modifiers=self.modifiers)
            if isinstance(self.form, TensorInstruction) and self.form.decompress:
                operands = replace(operands, b=_of_eight_values(operands.b))
            results[category] = compared(runner.product(operands), self._expected(runner, operands))
        return {
            "kind": self.kind,
            **named(self.form),
            **changed(self.modifiers),
            "count": self.count,
            "differences": sum(result["differences"] or 0 for result in results.values()),
            "categories": results,
        }

    def _expected(self, runner: Runner, operands: Operation) -> NDArray[Any] | None:
        model = model_of(self.form, runner.target)
        return None if model is None else emulate(operands, model=model)


def _of_eight_values(b: NDArray[Any]) -> NDArray[Any]:
    """B [count, K, N] with at most eight values in each eight columns, as a lookup table has them."""
    table = np.repeat(b[:, :8, ::8], 8, axis=-1)
    return np.take_along_axis(table, (b % 8).astype(np.intp), axis=1)


def compared(found: NDArray[Any], expected: NDArray[Any] | None) -> dict[str, Any]:
    """A digest of all words, the first of them, and how many differ from what was expected.

    If some do, or nothing was expected, all words of the first instruction too.
    """
    result: dict[str, Any] = {
        "digest": digest(found), "shape": list(found.shape), "first": packed(found.reshape(-1)[:_SHOWN])
    }  # fmt: skip
    if expected is None:
        return {**result, "differences": None, "words": packed(found[:1])}
    places = np.argwhere(found != expected)
    if not len(places):
        return {**result, "differences": 0}
    shown = [[*map(int, at), int(found[tuple(at)]), int(expected[tuple(at)])] for at in places[:_SHOWN]]
    return {**result, "differences": len(places), "differing": shown, "words": packed(found[:1])}


def digest(words: NDArray[Any]) -> str:
    """A short digest of words, the same on machines of either byte order."""
    little_endian = np.ascontiguousarray(words, dtype=f"<u{words.dtype.itemsize}")
    return hashlib.sha256(little_endian.tobytes()).hexdigest()[:16]


def packed(words: NDArray[Any]) -> str:
    """Little-endian integers of 32 bits, compressed, in base64."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(words, dtype="<u4").tobytes(), 9)).decode()


def unpacked(text: str) -> NDArray[np.uint32]:
    """The inverse of `packed`."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u4")


def named(form: Form) -> dict[str, Any]:
    """What tells an instruction from others."""
    if not isinstance(form, TensorInstruction):
        space = {"a_space": form.a_space} if getattr(form, "a_space", "") == "shared" else {}
        return {"instruction": form.mnemonic, **space}
    return {
        "instruction": form.mnemonic,
        "descriptor": f"0x{form.descriptor.code:08x}",
        "means": str(form.descriptor),
        "a_space": form.a_space,
    }


def changed(modifiers: Modifiers) -> dict[str, Any]:
    """The modifiers that are not the plainest."""
    plain = Modifiers()
    parts = {name: value for name, value in vars(modifiers).items() if value != getattr(plain, name)}
    return {"modifiers": parts} if parts else {}


# -- layout probes -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LayoutProbe:
    """Where tcgen05.mma finds A, E, SFA or SFB in tensor memory, or leaves D.

    Places are numbered; for each bit of the number one instruction runs in which just the places with that
    bit hold a one (of scales a two, of metadata the other half of a chunk). D then shows, bit by bit, the
    number of the place that each of its elements was computed from. Everything else is the same in all
    places, so that only one layout is probed at a time.
    """

    form: TensorInstruction
    operand: str
    kind: ClassVar = "layout"

    @property
    def sources(self) -> list[str]:
        return [codegen.source(self.form)]

    def run(self, runner: Runner) -> dict[str, Any]:
        tensor = self.form.tensor(self.operand)
        found, stated = _probe_d(self.form, runner) if self.operand == "D" else self._probe(runner)
        wrong = ~(found[None] == stated).any(axis=0)
        differing = [
            [*map(int, at), int(found[tuple(at)]), *(int(copy[tuple(at)]) for copy in stated)]
            for at in np.argwhere(wrong)[:_SHOWN]
        ]
        return {
            "kind": self.kind,
            **named(self.form),
            "operand": self.operand,
            "path": self.form.path.name,
            "source": tensor.source,
            "stated": tensor.layout.cute,
            "differences": int(wrong.sum()),
            "differing": differing,
            "found": packed(found.astype(np.int64) & 0xFFFFFFFF),
            "shape": list(found.shape),
        }

    def _probe(self, runner: Runner) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of places that D was computed from, [parts, M, N], and as stated, [copies, parts, M, N]."""
        form, tensor = self.form, self.form.tensor(self.operand)
        whole = _whole(tensor)
        places = np.arange(whole.shape[0] * whole.shape[1]).reshape(whole.shape)
        off, on = _two_codes(form, tensor)
        bits = max(int(places.max()).bit_length(), 1)
        chosen = np.stack([places >> bit & 1 == 1 for bit in range(bits)])
        words = whole.pack_codes(np.where(chosen, on, off).astype(tensor.dtype.code_type))
        found, stated = [], []
        for b, along in _columns_of_b(form, self.operand):
            operands = plain_operands(form, bits)
            name = {"A": "a", "E": "e", "SFA": "scale_a", "SFB": "scale_b"}[self.operand]
            operands = replace(operands, b=np.broadcast_to(b, operands.b.shape), **{name: words})
            values = form.d.unpack(runner.product(operands)).astype(np.float64)
            threshold = 1.5 * _base(form) if self.operand in ("SFA", "SFB") else 0.5
            shown = values > threshold
            found.append((shown << np.arange(bits)[:, None, None]).sum(axis=0))
            stated.append(_stated(form, tensor, along))
        return np.stack(found), np.stack(stated, axis=1)


def _whole(tensor: TensorOperand) -> TensorOperand:
    """All of its lanes and columns as a matrix of such elements, [lanes, elements in a lane]."""
    lanes, columns = tensor.stored_shape
    shape = lanes, columns * 32 // tensor.width
    pair = ((2, LANES, 0),) if tensor.ctas == 2 else ()
    layout = TensorLayout(shape, ((LANES, 1, 0), *pair), ((shape[1], 0, 1),))
    return replace(tensor, shape=shape, layout=layout, start=(0, 0))


def _two_codes(form: TensorInstruction, tensor: TensorOperand) -> tuple[int, int]:
    """The codes of an element that D tells apart."""
    if tensor.name == "E":
        return min(form.nibbles), max(form.nibbles)
    low, high = (1, 2) if tensor.name in ("SFA", "SFB") else (0, 1)
    return int(tensor.dtype.encode(low)), int(tensor.dtype.encode(high))


def _kept(form: TensorInstruction, nibble: int | None = None) -> NDArray[np.int64]:
    """The columns of the dense A that its stored columns stand for, all nibbles being the same."""
    if form.structure is None:
        return np.arange(form.k)
    stored = np.arange(1, form.k // 2 + 1)[None]
    chunks = form.k // form.structure.chunk
    nibbles = np.full((1, chunks), min(form.nibbles) if nibble is None else nibble)
    dense = form.structure.expand(stored, nibbles, ordered=False)[0]
    return np.array([int(np.flatnonzero(dense == number)[0]) for number in stored[0]])


def _columns_of_b(form: TensorInstruction, operand: str) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
    """Matrices B of codes, and which column of the probed matrix each column of D then shows.

    Of A that is a stored column, of E a chunk, of the scales a block.
    """
    one = form.b.dtype.encode(1)
    n = np.arange(form.n)
    if operand == "A":
        kept = _kept(form)
        for first in range(0, len(kept), form.n):  # D has as many columns as it has
            b = np.zeros(form.b.shape, dtype=form.b.dtype.code_type)
            along = (first + n) % len(kept)
            b[kept[along], n] = one
            yield b, along
        return
    if operand == "E":
        assert form.structure is not None
        other = np.setdiff1d(_kept(form, max(form.nibbles)), _kept(form))
        chunk = other // form.structure.chunk
        for first in range(0, form.k // form.structure.chunk, form.n):
            along = (first + n) % (form.k // form.structure.chunk)
            b = np.zeros(form.b.shape, dtype=form.b.dtype.code_type)
            b[other] = np.where(chunk[:, None] == along[None, :], one, 0)
            yield b, along
        return
    assert form.scale_vec is not None
    kept = _kept(form)
    for block in range(form.scale_vec):
        b = np.zeros(form.b.shape, dtype=form.b.dtype.code_type)
        b[kept[kept * form.scale_vec // form.k == block]] = one
        yield b, np.full(form.n, block)


def _base(form: TensorInstruction) -> float:
    """D where all scales are 1, of one block."""
    assert form.scale_vec is not None
    return float(len(_kept(form)) // form.scale_vec)


def _stated(form: TensorInstruction, tensor: TensorOperand, along: NDArray[np.int64]) -> NDArray[np.int64]:
    """By ptxlab's layout, the numbers of the places that D[i, j] is computed from: [copies, M, N]."""
    (row, column), (rows, columns) = tensor.start, tensor.shape
    at = tensor.layout.coords()[:, row : row + rows, column : column + columns]
    places = at[..., 0] * _whole(tensor).shape[1] + at[..., 1]
    if tensor.name == "SFB":  # [copies, blocks, n]: the same for every row of D
        of_columns = places[:, along, np.arange(form.n)]
        return np.broadcast_to(of_columns[:, None], (len(places), form.m, form.n))
    return np.asarray(places[:, :, along])


def plain_operands(form: TensorInstruction, count: int) -> Operation:
    """A and B are ones, C is 0; metadata and scales are the same everywhere, whatever their layouts are."""

    def everywhere(tensor: TensorOperand, code: int) -> NDArray[np.uint32]:
        whole = _whole(tensor)
        words = whole.pack_codes(np.full(whole.shape, code, dtype=tensor.dtype.code_type))
        return np.broadcast_to(words, (count, *tensor.stored_shape)).copy()

    a = form.a
    one = int(a.dtype.encode(1))
    in_tensor_memory = isinstance(a, TensorOperand)
    ones = everywhere(a, one) if in_tensor_memory else np.full((count, *a.shape), one, a.dtype.code_type)
    b = np.full((count, *form.b.shape), form.b.dtype.encode(1), dtype=form.b.dtype.code_type)
    scales = {
        name: everywhere(tensor, int(tensor.dtype.encode(1)))
        for name, tensor in (("scale_a", form.scale_a), ("scale_b", form.scale_b))
        if tensor is not None
    }
    e = None if form.e is None else everywhere(form.e, min(form.nibbles))
    return Operation(form, ones, b, np.zeros((count, *form.c.stored_shape), dtype=np.uint32), e, **scales)


def _probe_d(form: TensorInstruction, runner: Runner) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which element of D each word holds, and as stated, [1, ...]: row * N + column, or -1 for none."""
    rows, columns = np.arange(form.m), np.arange(form.n)
    row_bits, column_bits = (form.m - 1).bit_length(), (form.n - 1).bit_length()
    operands = plain_operands(form, 1 + row_bits + column_bits)
    a, b = operands.a.copy(), operands.b.copy()
    for bit in range(row_bits):
        a[1 + bit, rows >> bit & 1 == 0] = 0
    for bit in range(column_bits):
        b[1 + row_bits + bit, :, columns >> bit & 1 == 0] = 0
    words = runner.product(replace(operands, a=a, b=b))
    mask = np.uint32((1 << form.d.dtype.bits) - 1)
    shown = (words & mask) != 0
    row = (shown[1 : 1 + row_bits] << np.arange(row_bits)[:, None, None]).sum(axis=0)
    column = (shown[1 + row_bits :] << np.arange(column_bits)[:, None, None]).sum(axis=0)
    found = np.where(shown[0], row * form.n + column, -1)
    stated = np.full((1, *form.d.stored_shape), -1)
    at = form.d.layout.coords()[0]
    stated[0, at[..., 0], at[..., 1]] = rows[:, None] * form.n + columns
    return found, stated


# -- moves ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MoveCase:
    """tcgen05.ld, .st, .cp or .shift on random words."""

    form: TensorTransfer
    kind: ClassVar = "move"

    @property
    def sources(self) -> list[str]:
        return [codegen.source(self.form)]

    def run(self, runner: Runner) -> dict[str, Any]:
        arguments = self.arguments()
        expected = Emulator(runner.target).move(self.form, arguments)
        found = runner.move(self.form, arguments)
        return {"kind": self.kind, **named(self.form), **compared(found, expected)}

    def arguments(self) -> list[Any]:
        """Random words, registers and shared memory; of reductions, floats around 1."""
        random = np.random.default_rng(SEED)
        words = random.integers(1 << 32, size=(1, LANES, 2 * self.form.columns), dtype=np.uint32)
        if self.form.type == "f32":
            words = random.standard_normal(words.shape, dtype=np.float32).view(np.uint32)
        if self.form.family == "tcgen05.cp":
            rows, bits = map(int, self.form.shape.removesuffix("b").split("x"))
            memory = random.integers(256, size=max(rows, 8) * bits // 8, dtype=np.uint8)
            return [memory, Tcgen05Descriptor(0, 128, 128 * bits // 128), words]
        if self.form.family == "tcgen05.st":
            shape = (1, LANES, self.form.registers)
            return [random.integers(1 << 32, size=shape, dtype=np.uint32), words]
        return [words]


# -- what is run ---------------------------------------------------------------------------------------------

Case = GoldenCase | LayoutProbe | MoveCase


@lru_cache(maxsize=4)
def plan(target: str, quick: bool = False) -> tuple[Case, ...]:
    """All cases of a target; `quick` takes some."""
    golden: list[Case] = [*_mma(target, quick)]
    tensor = list(_tensor(target))
    probes = sorted(_layouts(tensor), key=_is_certain)
    moves: list[Case] = [
        MoveCase(form)
        for form in tcgen05_forms(None, target)
        if isinstance(form, TensorTransfer) and _small(form)
    ]
    if quick:
        return (*golden, *tensor[::8], *probes[::2], *moves[::6])
    return (*golden, *tensor, *probes, *moves)


def _mma(target: str, quick: bool) -> Iterator[GoldenCase]:
    """mma, wmma and wgmma: one form for all that differ in N, or in layouts of WMMA."""
    chosen: dict[object, ProductForm] = {}
    for ins in mma_instructions(target=target):
        key = _FORM(ins)
        if quick:
            key = (ins.family, ins.k, ins.a_type, ins.d_type, ins.kind)
        elif ins.lanes == 128:
            key = (*key, ins.n in (8, 64, 256) and ins.n)
        chosen.setdefault(key, ins)
    yield from (GoldenCase(ins, count=32 if ins.lanes == 32 else 4) for ins in chosen.values())


def _tensor(target: str) -> Iterator[GoldenCase]:
    """tcgen05.mma with few columns, since each column is computed alike."""
    seen = set()
    arithmetic = set()
    for form, modifiers in tensor_cases():
        if not isinstance(form, TensorInstruction):
            continue
        if modifiers.scale_input_d and target not in form.scale_input_d:
            continue
        small = form if form.n <= 16 else _with_columns(form, 16)
        if small.supports(target) and (small, modifiers) not in seen:
            seen.add((small, modifiers))
            key = _ARITHMETIC(small)
            yield GoldenCase(small, modifiers, count=2, brief=key in arithmetic)
            arithmetic.add(key)


def _with_columns(form: TensorInstruction, at_least: int) -> TensorInstruction:
    """The same with the fewest columns that it can have, from so many on."""
    for shapes in shapes_of(form.kind, form.sparse, form.ws, form.cta_group):
        if shapes.k == form.k and form.m in shapes.m:
            for n in shapes.n:
                if n >= at_least and not form.faults(replace(form.descriptor, n=n)):
                    return replace(form, descriptor=replace(form.descriptor, n=n))
    return form


def _layouts(golden: Iterable[GoldenCase]) -> Iterator[LayoutProbe]:
    """Every layout once, with enough columns of D to show all of K."""
    seen = set()
    for case in golden:
        form = case.form
        assert isinstance(form, TensorInstruction)
        if case.modifiers != _PLAIN:
            continue
        wide = _with_columns(form, 64)
        for name, tensor in ({} if form.decompress else wide.tensors).items():  # their B is not of ones
            if (name == "D" and form.a_space == "tensor") or (form.ashift and name != "A"):
                continue
            key = (name, tensor.layout, tensor.start, tensor.width, tensor.source, form.ashift)
            if key not in seen:
                seen.add(key)
                yield LayoutProbe(wide, name)


def _is_certain(case: LayoutProbe) -> bool:
    """Whether the PTX ISA and CUTLASS agree on a layout."""
    return case.form.tensor(case.operand).source == "PTX ISA and CUTLASS"


def _small(form: TensorTransfer) -> bool:
    """Moves of few registers; larger ones repeat them."""
    return form.count <= 4


# -- the report ----------------------------------------------------------------------------------------------


def report(
    runner: Runner, cases: Sequence[Case], *, quick: bool = False, isolated: bool = False
) -> dict[str, Any]:
    """Run the cases, and put what they give into one object for JSON."""
    if isolated:
        _compile_all(cases, runner.target)
    entries = []
    run = _Isolated(runner, quick) if isolated else None
    with bar(len(cases), "cases") as tick:
        for number, case in enumerate(cases):
            entries.append(_entry(case, runner)[0] if run is None else run(number, case))
            tick(1, entries[-1]["instruction"])
    if run is not None:
        run.close()
    _shorten(entries)
    compiler = ".".join(map(str, _or_none(gpu.compiler_version) or ())) or None
    return {
        "about": "What a GPU gives for matrix instructions of PTX, and what ptxlab's emulator gives.",
        "format": FORMAT,
        "ptxlab": ptxlab.__version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": {
            "name": runner.name,
            "target": runner.target,
            "driver": _or_none(_driver),
            "nvrtc": compiler,
        },
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "seed": SEED,
        "quick": quick,
        "summary": _summary(entries),
        "entries": entries,
    }


def _shorten(entries: Iterable[dict[str, Any]]) -> None:
    """Leave out words where there are too many."""
    left = _MAX_TEXT
    for entry in entries:
        for result in (entry, *entry.get("categories", {}).values()):
            left -= len(result.get("words", ""))
            if left < 0:
                result.pop("words", None)


def _summary(entries: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {
        "cases": len(entries),
        "differing": sum(bool(entry.get("differences")) for entry in entries),
        "not_compared": sum(_compares_nothing(entry) for entry in entries),
        "errors": sum("error" in entry for entry in entries),
    }


def _compares_nothing(entry: dict[str, Any]) -> bool:
    if "categories" in entry:
        return all(result["differences"] is None for result in entry["categories"].values())
    return "error" not in entry and entry["differences"] is None


def _entry(case: Case, runner: Runner) -> tuple[dict[str, Any], bool]:
    """What a case gives, or why it gives nothing; and whether CUDA failed, as it then does for all others."""
    try:
        return case.run(runner), False
    except Exception as error:  # one case that fails must not cost the others
        return _failed(case, f"{type(error).__name__}: {error}"), isinstance(error, DriverError)


def _failed(case: Case, why: str) -> dict[str, Any]:
    return {"kind": case.kind, **named(case.form), "error": " ".join(why.split())[:400]}


def _or_none(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception:  # without CUDA for Python, or without a driver
        return None


def _driver() -> str | None:
    """The newest CUDA that the driver knows."""
    code, version = load("cuda.bindings.driver").cuDriverGetVersion()
    return f"{version // 1000}.{version % 1000 // 10}" if int(code) == 0 else None


def _compile(job: tuple[str, str]) -> None:
    _or_none(lambda: gpu.compile(*job))


def _compile_all(cases: Sequence[Case], target: str) -> None:
    """Fill the kernel cache on all cores: most of a first run is compiling."""
    sources = dict.fromkeys(
        source for case in cases for source in _or_none(lambda case=case: case.sources) or ()
    )
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool,
        bar(len(sources), "kernels") as tick,
    ):
        for _ in pool.map(_compile, [(source, target) for source in sources], chunksize=4):
            tick(1, target)


class _Isolated:
    """Cases in a process of its own, which is started again after a fault or when it does not answer."""

    def __init__(self, runner: Runner, quick: bool) -> None:
        self._target, self._quick = runner.target, quick
        self._process: Any = None
        self._connection: Connection | None = None

    def __call__(self, number: int, case: Case) -> dict[str, Any]:
        if self._connection is None:
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(
                target=_work, args=(other, self._target, self._quick), daemon=True
            )
            self._process.start()
            other.close()
        try:
            self._connection.send(number)
            if not self._connection.poll(LIMIT):
                self.close()
                return _failed(case, f"no answer within {LIMIT:.0f} s")
            entry, cuda_failed = self._connection.recv()
        except (EOFError, OSError):
            self.close()
            return _failed(case, "the process that ran it ended")
        if cuda_failed:
            self.close()
        return dict(entry)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
        self._connection = None


def _work(connection: Connection, target: str, quick: bool) -> None:
    """Answer numbers of cases with what `_entry` gives, until nobody asks."""
    runner, cases = Gpu(), plan(target, quick)
    while True:
        try:
            number = connection.recv()
        except EOFError:
            return
        connection.send(_entry(cases[number], runner))


def write(result: dict[str, Any], file: Path) -> None:
    """The report as JSON; compressed if the name ends in .gz."""
    text = json.dumps(result, indent=1) + "\n"
    write_atomically(file, gzip.compress(text.encode(), mtime=0) if file.suffix == ".gz" else text)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.gpu_report", description="Write what this GPU gives, to send in."
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="default: ptxlab-TARGET.json.gz")
    parser.add_argument("--quick", action="store_true", help="some of the cases, in less than a minute")
    parser.add_argument(
        "--emulator", metavar="TARGET", help="try it without a GPU: the emulator stands for TARGET"
    )
    options = parser.parse_args(arguments)
    if options.emulator is None and not gpu.available():
        print(f"No report: {gpu.status()}.", file=sys.stderr)
        return 1
    try:
        runner: Runner = Gpu() if options.emulator is None else Emulator(options.emulator)
        cases = plan(runner.target, options.quick)
        result = report(runner, cases, quick=options.quick, isolated=options.emulator is None)
        file = options.file or Path(f"ptxlab-{runner.target}.json.gz")
        write(result, file)
    except PtxlabError as error:
        print(f"No report: {error}.", file=sys.stderr)
        return 1
    counts = result["summary"]
    print(
        f"{runner.name} ({runner.target}): {counts['cases']} cases; {counts['differing']} differ from the "
        f"emulator, {counts['not_compared']} are not in it, {counts['errors']} failed. Please send {file}: "
        f"docs/guide/report.md says how."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
