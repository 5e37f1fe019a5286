"""NumPy and the compiled loop give the bits of the plain form, and batches in threads those of one MMA."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import inputs
from ptxlab._util.interrupts import delayed
from ptxlab._util.threads import for_each, thread_count
from ptxlab.instruction import mma_instruction, mma_instructions
from ptxlab.isa.operation import Operation
from ptxlab.isa.tcgen05.tcgen05_form import element_type
from ptxlab.numerics import Fused
from ptxlab.numerics.emulate import accumulate, emulate, model_of
from ptxlab.numerics.fused_dispatch import backend, fused_dot
from ptxlab.numerics.fused_numpy import Alignment, FusedCodes, FusedStep, block_scaled_dot
from ptxlab.numerics.fused_plain import fused
from tests.cases import each, refusal, refuses
from tests.processes import run_python
from tests.sampling import EXHAUSTIVE, one_in


def one_of_each() -> list[ptxlab.Instruction]:
    """A form of every family, types, kind and shape with a fused step; the smallest N."""
    forms: dict[tuple[object, ...], ptxlab.Instruction] = {}
    for ins in sorted(mma_instructions(), key=lambda ins: ins.n):
        rule = model_of(ins).rule
        if isinstance(getattr(rule, "step", rule), Fused):
            types = (ins.a_type, ins.b_type, ins.c_type, ins.d_type)
            forms.setdefault((ins.family, types, ins.kind, ins.m, ins.k), ins)
    return list(forms.values())


FORMS = one_of_each()
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
TF32 = "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32"


def registers_apart(registers: np.ndarray) -> np.ndarray:
    """The same registers [..., count, lanes, registers]; in memory one of all lanes, and then the next."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(registers, -1, -3)), -3, -1)


# -- the plain form ------------------------------------------------------------------------------------------

#: Types of A and B.
TYPES = [
    *(("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32"), ("e4m3", "e5m2"), ("e5m2", "e4m3")),
    *(("e2m1", "e3m2"), ("e2m3", "e2m1"), ("e3m2", "e2m3")),
]
STEPS = {
    (rule.fraction_bits, rule.result_bits, rule.floor)
    for model in ptxlab.models()
    for rule in [getattr(model.rule, "step", model.rule)]
    if isinstance(rule, Fused) and rule.block is None
}
BATCHES = 30 if EXHAUSTIVE else 1  # of each step and result; of each, so many elements are compared
ELEMENTS = 6


def codes_of(rng: np.random.Generator, name: str, shape: tuple[int, ...], exponent: object) -> np.ndarray:
    """Codes with exponents around the given ones, fractions at their ends, and a few special values."""
    of = element_type(name)
    fields = np.clip(np.add(exponent, of.bias) + rng.integers(-2, 3, shape), 0, (1 << of.exponent_bits) - 1)
    most = (1 << of.fraction_bits) - 1
    fraction = rng.choice([0, 1, most >> 1, most, -1], shape)
    fraction = np.where(fraction < 0, rng.integers(0, most + 1, shape), fraction)
    signs = rng.integers(0, 1 + of.signed, shape) << of.exponent_bits + of.fraction_bits
    codes = signs | fields << of.fraction_bits | fraction
    codes[rng.random(shape) < 0.05] = 0
    if rng.random() < 0.3:  # infinities, NaN, the largest and any others
        odd = rng.random(shape) < 0.02
        codes[odd] = rng.integers(0, 1 << of.bits - of.ignored_bits, shape)[odd]
    return (codes << of.ignored_bits).astype(of.code_type)


def random_sums(
    rng: np.random.Generator, names: tuple[str, str, str], step: tuple[int, int, int]
) -> FusedCodes:
    """Matrix products whose terms are near each other, near the last bit that counts, or below the floor."""
    depth = int(rng.choice([4, 8, 16, 32]))
    top = int(rng.choice([0, 6, 20, -14, step[2], step[2] + step[0], 100, -126]))
    below = rng.choice([0, 0, 1, step[0] - 1, step[0], step[0] + 1, 40], (2, depth))
    left = rng.integers(min(top, 0), max(top, 0) + 1, (2, depth))
    a = codes_of(rng, names[0], (2, 3, depth), left[:, None] - below[:, None] // 2)
    b = codes_of(rng, names[1], (2, depth, 4), (top - left - (below + 1) // 2)[..., None])
    c = codes_of(rng, names[2], (2, 3, 4), top - int(rng.choice([0, 0, -step[0], step[0], 60])))
    b[..., 0] = a[0, 0, 0] if names[0] == names[1] else b[..., 0]
    return FusedCodes(a, b, c)


def plainly(
    codes: FusedCodes,
    row: tuple[int, ...],
    types: tuple[str, str, str],
    step: tuple[int, int, int],
    **options: Any,
) -> int:
    """An element of D by `fused_plain`."""
    batch, i, j = row
    products = list(zip(codes.a[batch, i].tolist(), codes.b[batch, :, j].tolist(), strict=True))
    if codes.scales is not None:
        of_a, of_b = codes.scales
        options["scales"] = list(zip(of_a[batch, i].tolist(), of_b[batch, :, j].tolist(), strict=True))
    return fused(products, int(codes.c[row]), types, step, **options)


@pytest.mark.parametrize("library", ["numpy", "numba"])
def test_random_sums_are_those_of_the_plain_form(library: str, rng: np.random.Generator) -> None:
    if library == "numba":
        pytest.importorskip("numba")
    cases = list(product(TYPES, ("f16", "f32"), sorted(STEPS))) * BATCHES
    assert len(cases) * ELEMENTS >= 800
    for number, ((a_type, b_type), d_type, step) in enumerate(cases):
        types = a_type, b_type, d_type
        codes, shift = random_sums(rng, types, step), 0
        if number % 3 == 1:
            shift = int(rng.integers(1, 16))
        if number % 3 == 2 and element_type(a_type).bits <= 8:
            shapes = (2, 3, 2), (2, 2, 4)
            codes = codes._replace(scales=tuple(codes_of(rng, "ue8m0", shape, 0) for shape in shapes))
        with backend(library):
            d = fused_dot(
                codes, FusedStep(tuple(map(element_type, (*types, d_type))), Alignment(*step)), shift
            )
        for place in rng.choice(d.size, ELEMENTS, replace=False):
            row = tuple(map(int, np.unravel_index(place, d.shape)))
            assert d[row] == plainly(codes, row, types, step, c_shift=shift), (types, step, shift, row, codes)


@pytest.mark.parametrize("scale", ["ue8m0", "ue4m3", "ue5m3"])
def test_random_block_sums_are_those_of_the_plain_form(scale: str, rng: np.random.Generator) -> None:
    types = "e2m1", "e2m1", "f32"
    for number in range(20 * BATCHES):
        depth, parts = 64, int(rng.choice([2, 4]))
        step = 35, 23, int(rng.choice([-126, -139]))
        middle = rng.integers(-5, 6) if scale != "ue8m0" else int(rng.choice([-60, 0, 50, -69]))
        of_a, of_b = (codes_of(rng, scale, shape, middle) for shape in ((1, 3, parts), (1, parts, 4)))
        a, b = (rng.integers(0, 16, shape).astype(np.uint8) for shape in ((1, 3, depth), (1, depth, 4)))
        c = codes_of(rng, "f32", (1, 3, 4), 2 * middle - int(rng.choice([0, 5, 36, -36])))
        if number % 4 == 0:
            a[:, :, :32] = 0  # blocks whose sum is zero
        codes = FusedCodes(a, b, c, scales=(of_a, of_b))
        d = block_scaled_dot(a, b, c, (of_a, of_b), element_type(scale), Alignment(*step))
        for row in np.ndindex(d.shape):
            assert d[row] == plainly(codes, row, types, step, scale_type=scale, block=16), (row, step, codes)


# -- the compiled loop ---------------------------------------------------------------------------------------


@pytest.mark.slow
@each("ins", FORMS, ids=str)
def test_numba_gives_what_numpy_gives(ins: ptxlab.Instruction) -> None:
    pytest.importorskip("numba")
    for category in one_in(17, inputs.categories(ins), FORMS.index(ins)):
        operands = inputs.make(ins, category, 3, seed=5)
        with backend("numpy"):
            interpreted = emulate(operands)
        with backend("numba"):
            compiled = emulate(operands)
        assert (interpreted == compiled).all(), category


@pytest.mark.parametrize("category", ["moderate", "subnormals", "bottom"])
@pytest.mark.parametrize("name", [F16, TF32, "wgmma.mma_async.sync.aligned.m64n72k16.f16.f16.f16"])
@pytest.mark.slow
def test_more_than_stand_side_by_side(name: str, category: str) -> None:
    """More MMAs, or columns, than vectors take at once, and not a multiple of them; K is padded."""
    pytest.importorskip("numba")
    ins = mma_instruction(name)
    operands = inputs.make(ins, category, 70 if ins.n == 8 else 3)
    with backend("numpy"):
        interpreted = emulate(operands)
    apart = [registers_apart(array) for array in operands.arrays.values()]
    with backend("numba"):
        assert (emulate(operands) == interpreted).all()
        assert (ins.emulate(*apart) == interpreted).all()


@pytest.mark.parametrize("category", ["moderate", "bits"])
@pytest.mark.parametrize(
    "name",
    [
        F16,
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
        TF32,
        "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
        "wgmma.mma_async.sync.aligned.m64n72k16.f32.f16.f16",
    ],
)
@pytest.mark.slow
def test_turns_add_up(name: str, category: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several turns in one call are those turns one by one; "bits" has infinities and NaN in some MMAs."""
    ins = mma_instruction(name)
    count = 70 if ins.n == 8 else 3
    single = inputs.make(ins, category, 3 * count)
    names = [name for name in ins.inputs if name != "c"]
    arrays = {name: getattr(single, name) for name in names}
    turns = {name: array.reshape(3, count, *array.shape[1:]) for name, array in arrays.items()}
    expected, c = [], single.c[:count]
    for turn in range(3):
        c = emulate(replace(single, c=c, **{name: array[turn] for name, array in turns.items()}))
        expected.append(c)
    operands = replace(single, c=single.c[:count], **turns)
    apart = {name: registers_apart(getattr(operands, name)) for name in ins.inputs}
    for least in (1 << 20, 20 * ins.m * ins.n * ins.k):  # in one thread, and in several
        monkeypatch.setattr("ptxlab.numerics.emulate._MIN_PRODUCTS", least)
        for library in ("numpy", "numba"):
            if library == "numba" and find_spec("numba") is None:
                continue
            with backend(library):
                assert np.array_equal(accumulate(operands), expected)
                assert np.array_equal(accumulate(replace(operands, **apart)), expected)


def test_every_type_is_among_them() -> None:
    assert {ins.a_type for ins in FORMS} >= {"f16", "bf16", "tf32", "e4m3", "e5m2", "e2m1", "e3m2", "e2m3"}
    assert {ins.d_type for ins in FORMS} == {"f16", "f32"}
    assert any(ins.sparse for ins in FORMS)


@pytest.mark.parametrize("name", [F16, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"])
def test_batches_in_any_shape_and_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ins = mma_instruction(name)
    operands = inputs.make(ins, "bits", 24)
    one_by_one = np.array([emulate(operands.item(index)) for index in range(24)])
    at_once = dict.fromkeys(("exact", "rounded", "compiled"), 5 * ins.m * ins.n * ins.k)
    monkeypatch.setattr("ptxlab.numerics.emulate._PRODUCTS_AT_ONCE", at_once)
    for count in ("1", "2", "7"):
        monkeypatch.setenv("PTXLAB_THREADS", count)
        assert (emulate(operands) == one_by_one).all()
        assert (emulate(replace(operands, c=registers_apart(operands.c))) == one_by_one).all()
    a, b, c = (array.reshape(2, 3, 4, *array.shape[1:]) for array in operands.arrays.values())
    crossed = ins.emulate(a[:, :1], b[0, :, 2:3], c[1])
    assert crossed.shape[:-2] == (2, 3, 4)
    for i, j, k in np.ndindex(2, 3, 4):
        assert (crossed[i, j, k] == ins.emulate(a[i, 0, k], b[0, j, 2], c[1, j, k])).all()
    assert ins.emulate(a[:0], b[:0], c[:0]).shape == (0, 3, 4, 32, ins.d.registers)


@pytest.mark.parametrize("a_batch", [(), (1,), (4,), (1, 4), (3, 1), (3, 4), (2, 1, 4), (2, 3, 4)])
def test_parts_of_a_batch(a_batch: tuple[int, ...]) -> None:
    ins = mma_instruction(F16)
    batch, start, stop = (2, 3, 4), 5, 17
    a = np.arange(int(np.prod(a_batch)) * 128, dtype=np.uint32).reshape(*a_batch, 32, 4)
    b, c = np.zeros((*batch, 32, 2), dtype=np.uint32), np.zeros((32, 4), dtype=np.uint32)
    operands = Operation.of(ins, a, b, c)
    assert operands.batch == batch and operands.count == 24
    flat = np.broadcast_to(a, (*batch, 32, 4)).reshape(-1, 32, 4)
    assert np.array_equal(operands.part(start, stop).a, flat[start:stop])
    assert np.array_equal(operands.item(start).a, flat[start])


@pytest.mark.slow
def test_a_large_batch_takes_little_memory_beside_its_result() -> None:
    ins = mma_instruction(F16)
    one = inputs.make(ins, "moderate", 1)
    many = replace(one, b=np.broadcast_to(one.b, (40_000, *one.b.shape[1:])))
    emulate(one)
    tracemalloc.start()
    d = emulate(many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < d.nbytes + 40e6 * thread_count()
    assert (d == d[0]).all()


def test_an_error_in_a_thread_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_THREADS", "3")

    def work(part: int) -> None:
        if part == 4:
            raise ptxlab.PtxlabError("the fourth")

    refuses("the fourth", for_each, work, range(100))
    monkeypatch.setenv("PTXLAB_THREADS", "many")
    refuses("PTXLAB_THREADS: found 'many'; it takes a number of threads, 1 or more", thread_count)


def test_backends_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def enter(name: str) -> None:
        with backend(name):
            pass

    refuses("unknown backend 'fortran'; there are numpy", enter, "fortran")
    monkeypatch.setattr("ptxlab.numerics.fused_dispatch._loop", lambda: None)
    assert (
        'numba is not installed, is switched off, or does not fit this NumPy: pip install "ptxlab[fast]"'
        in refusal(enter, "numba")
    )


@pytest.mark.parametrize(
    "error", [ImportError("Numba needs NumPy 2.4"), RuntimeError("no locator available")]
)
@pytest.mark.slow
def test_without_a_numba_that_loads_numpy_computes(error: Exception) -> None:
    """In a fresh interpreter, where importing numba fails in one of the ways that it does."""
    code = f"""
import sys
class FailingFinder:
    def find_spec(self, name, *_):
        if name == "numba":
            raise {error!r}
sys.meta_path.insert(0, FailingFinder())
import ptxlab
from ptxlab.numerics import fused_dispatch
ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
operands = ptxlab.inputs.make(ins, "moderate", 600)
print(ins.emulate(operands.a, operands.b, operands.c).shape, fused_dispatch._loop())
"""
    assert run_python(code).stdout == "(600, 32, 4) None\n"


@pytest.mark.slow
def test_an_interrupt_while_numba_loads_comes_afterwards() -> None:
    loaded = []

    def load() -> None:
        with delayed():
            signal.raise_signal(signal.SIGINT)
            loaded.append("numba")

    with pytest.raises(KeyboardInterrupt):
        load()
    assert loaded
    code = "import ptxlab.numerics.fused_dispatch as c; print(c._loop())"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    assert run_python(code, env=environment).stdout.strip() == "None"


SMALL_LOOP = """
from ptxlab.numerics.fused_numba import compiled
@compiled()
def count(out):
    for i in range(len(out)):
        out[i] = i
"""

#: What goes wrong with numba's cache, as code that runs first, and what then still works.
TROUBLE = {
    "disk full": """
import resource, signal, sys
import numba  # with its own files
sys.dont_write_bytecode = True  # or Python would leave the first 100 bytes of it
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
import numpy as np, small_loop
from ptxlab.numerics import fused_dispatch
result = np.zeros(3)
fused_dispatch.call(small_loop, "count", result)  # compiles in half a second
assert result.tolist() == [0, 1, 2]
""",
    "no place": """
from numba.core import caching
for locator in caching.CacheImpl._locator_classes:
    locator.from_function = classmethod(lambda cls, function, file: None)
""",
    "no home": """
import os
os.environ |= {"XDG_CACHE_HOME": "", "HOME": ""}
access = os.access
os.access = lambda path, mode, **more: "__pycache__" not in str(path) and access(path, mode, **more)
from numba.core import caching
caching.InTreeCacheLocator.from_function = classmethod(lambda cls, function, file: None)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_cache_of_numba_that_cannot_be_used_breaks_nothing(tmp_path: Path, trouble: str) -> None:
    """The bits are the same, each process compiles for itself, and nothing lands in the current folder."""
    pytest.importorskip("numba")
    pytest.importorskip("resource")
    settings = {**os.environ, "NUMBA_OPT": "0"}  # compiles faster
    (tmp_path / "small_loop.py").write_text(SMALL_LOOP)
    settings["PYTHONPATH"] = os.pathsep.join([str(tmp_path), settings.get("PYTHONPATH", "")])
    if trouble != "no home":
        settings["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")
    here = tmp_path / "here"
    here.mkdir()
    code = "\nfrom ptxlab.numerics import fused_numba\nprint(fused_numba.fill.stats.cache_path)"
    command = [sys.executable, "-c", TROUBLE[trouble] + code]
    run = subprocess.run(command, cwd=here, env=settings, capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("None\n", "")
    assert list(here.iterdir()) == []


class Fill:
    """A compiled function; with a cache on disk it raises what numba raises where the cache is damaged."""

    def __init__(self, cache_path: str | None, error: Exception | None) -> None:
        self.stats = SimpleNamespace(cache_path=cache_path)
        self.error = error

    def __call__(self, *arguments: np.ndarray) -> None:
        if self.error is not None:
            raise self.error
        arguments[3][:] = 7  # d


@pytest.mark.parametrize(
    "error", [pickle.UnpicklingError("damaged"), EOFError(), OSError(errno.ENOSPC, "full"), KeyError("x")]
)
def test_a_damaged_cache_of_numba_is_compiled_anew(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    ins = mma_instruction(F16)
    x = inputs.make(ins, "moderate", 2)
    loop = SimpleNamespace(GROUP=64, fill=Fill("cache", error))
    loop.compile_without_cache = lambda: setattr(loop, "fill", Fill(None, None))
    monkeypatch.setattr("ptxlab.numerics.fused_dispatch._loop", lambda: loop)
    with backend("numba"):
        assert (ins.emulate(x.a, x.b, x.c) == 7).all()
        loop.fill = Fill(None, error)  # an error of its own is not hidden
        with pytest.raises(type(error)):
            ins.emulate(x.a, x.b, x.c)


@pytest.mark.slow
def test_numpy_computes_while_numba_compiles() -> None:
    """The first product does not wait for the compiled loop; later ones have its bits."""
    pytest.importorskip("numba")
    code = """
import threading
import numpy as np, ptxlab
from ptxlab._util.progress_bar import bar
from ptxlab.numerics import fused_dispatch
fused_dispatch._WAIT_SECONDS = 0.0
may_begin, compile_loop = threading.Event(), fused_dispatch._compile
# otherwise it is read from the cache too soon
fused_dispatch._compile = lambda: may_begin.wait(30) and compile_loop()
ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
operands = ptxlab.inputs.make(ins, "moderate", 600)
first = ins.emulate(operands.a, operands.b, operands.c)
print(fused_dispatch._is_compiled.is_set(), fused_dispatch._compilation_note())
with bar(10, "MMAs", show=True) as tick:
    tick(1, note="a product")
may_begin.set()
fused_dispatch._compilation.join()
print(fused_dispatch._is_compiled.is_set(), fused_dispatch._compilation_note())
print(np.array_equal(first, ins.emulate(operands.a, operands.b, operands.c)))
"""
    result = run_python(code)
    assert result.stdout.splitlines() == [
        "False NumPy computes while numba compiles",
        "True ",
        "True",
    ]
    assert "a product; NumPy computes while numba compiles" in result.stderr
