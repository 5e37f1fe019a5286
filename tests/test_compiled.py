"""The compiled loop and NumPy give the same bits; batches in parts and threads give what one at a time gives."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import ptxlab
from ptxlab._util.threads import for_each, thread_count
from ptxlab.instruction import mma_instructions
from ptxlab.isa.operands import Operands
from ptxlab.numerics import Fused
from ptxlab.numerics.compiled import backend
from ptxlab.numerics.emulate import model_of
from ptxlab.verify import inputs


def one_of_each() -> list[ptxlab.Instruction]:
    """A form for every family, pair of input types, accumulators, kind and K that has a fused step; the smallest of those that differ in N."""
    found: dict[tuple[object, ...], ptxlab.Instruction] = {}
    for ins in sorted(mma_instructions(), key=lambda ins: ins.n):
        rule = model_of(ins).rule
        if isinstance(getattr(rule, "step", rule), Fused):
            found.setdefault(
                (ins.family, ins.a_type, ins.b_type, ins.c_type, ins.d_type, ins.kind, ins.m, ins.k), ins
            )
    return list(found.values())


FORMS = one_of_each()


@pytest.mark.slow
@pytest.mark.parametrize("ins", FORMS, ids=str)
def test_numba_gives_what_numpy_gives(ins):
    pytest.importorskip("numba")
    for category in inputs.categories(ins):
        given = inputs.make(ins, category, 3, seed=5)
        with backend("numpy"):
            plain = ins.emulate(
                given.a, given.b, given.c, given.e, scale_a=given.scale_a, scale_b=given.scale_b
            )
        with backend("numba"):
            compiled = ins.emulate(
                given.a, given.b, given.c, given.e, scale_a=given.scale_a, scale_b=given.scale_b
            )
        assert (plain == compiled).all(), category


def test_every_type_is_among_them():
    assert {ins.a_type for ins in FORMS} >= {"f16", "bf16", "tf32", "e4m3", "e5m2", "e2m1", "e3m2", "e2m3"}
    assert {ins.d_type for ins in FORMS} == {"f16", "f32"}
    assert any(ins.sparse for ins in FORMS)


@pytest.mark.parametrize(
    "name",
    ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"],
)
def test_batches_in_any_shape_and_number_of_threads(name, monkeypatch):
    ins = ptxlab.instruction(name)
    given = inputs.make(ins, "bits", 24)
    one_by_one = np.array([ins.emulate(a, b, c) for a, b, c in zip(given.a, given.b, given.c, strict=True)])
    monkeypatch.setattr(
        "ptxlab.numerics.emulate._AT_ONCE",
        {"exact": 5 * ins.m * ins.n * ins.k, "rounded": 5 * ins.m * ins.n * ins.k},
    )
    for count in ("1", "2", "7"):
        monkeypatch.setenv("PTXLAB_THREADS", count)
        assert (ins.emulate(given.a, given.b, given.c) == one_by_one).all()
    a, b, c = (x.reshape(2, 3, 4, *x.shape[1:]) for x in (given.a, given.b, given.c))
    crossed = ins.emulate(a[:, :1], b[0, :, 2:3], c[1])
    assert crossed.shape[:-2] == (2, 3, 4)
    for i, j, k in np.ndindex(2, 3, 4):
        assert (crossed[i, j, k] == ins.emulate(a[i, 0, k], b[0, j, 2], c[1, j, k])).all()
    assert ins.emulate(a[:0], b[:0], c[:0]).shape == (0, 3, 4, 32, ins.d.registers)


@pytest.mark.parametrize("own", [(), (1,), (4,), (1, 4), (3, 1), (3, 4), (2, 1, 4), (2, 3, 4)])
def test_parts_of_a_batch(own):
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    batch, start, stop = (2, 3, 4), 5, 17
    a = np.arange(int(np.prod(own)) * 128, dtype=np.uint32).reshape(*own, 32, 4)
    b, c = np.zeros((*batch, 32, 2), dtype=np.uint32), np.zeros((32, 4), dtype=np.uint32)
    operands = Operands.of(ins, a, b, c)
    assert operands.batch == batch and operands.count == 24
    flat = np.broadcast_to(a, (*batch, 32, 4)).reshape(-1, 32, 4)
    assert np.array_equal(operands.part(start, stop).a, flat[start:stop])
    assert np.array_equal(operands.item(start).a, flat[start])


@pytest.mark.slow
def test_a_large_batch_takes_little_memory_beside_its_result():
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    given = inputs.make(ins, "moderate", 1)
    count = 40_000
    many = np.broadcast_to(given.b, (count, *given.b.shape[1:]))
    ins.emulate(given.a, given.b, given.c)
    tracemalloc.start()
    found = ins.emulate(given.a, many, given.c)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < found.nbytes + 40e6 * thread_count()
    assert (found == found[0]).all()


def test_an_error_in_a_thread_comes_out(monkeypatch):
    monkeypatch.setenv("PTXLAB_THREADS", "3")

    def work(part: int) -> None:
        if part == 4:
            raise ptxlab.PtxlabError("the fourth")

    with pytest.raises(ptxlab.PtxlabError, match="the fourth"):
        for_each(work, range(100))
    monkeypatch.setenv("PTXLAB_THREADS", "many")
    with pytest.raises(
        ptxlab.PtxlabError, match="PTXLAB_THREADS: found 'many'; it takes a number of threads, 1 or more"
    ):
        thread_count()


def test_backends_have_names(monkeypatch):
    with (
        pytest.raises(ptxlab.PtxlabError, match="unknown backend 'fortran'; there are numpy"),
        backend("fortran"),
    ):
        pass
    monkeypatch.setattr("ptxlab.numerics.compiled._loop", lambda: None)
    with (
        pytest.raises(
            ptxlab.PtxlabError,
            match='numba is not installed, or does not fit this NumPy: pip install "ptxlab\\[fast\\]"',
        ),
        backend("numba"),
    ):
        pass


@pytest.mark.parametrize(
    "trouble",
    [
        ImportError("Numba needs NumPy 2.4 or less"),
        RuntimeError("cannot cache function: no locator available"),
    ],
)
def test_a_numba_that_does_not_load_is_done_without(trouble):
    """In a fresh interpreter, where importing numba fails in one of the ways that it does."""
    code = f"""
import sys, types
class Trouble:
    def find_spec(self, name, *_):
        if name == "numba":
            raise {trouble!r}
sys.meta_path.insert(0, Trouble())
import ptxlab
ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
given = ptxlab.inputs.make(ins, "moderate", 600)
print(ins.emulate(given.a, given.b, given.c).shape, ptxlab.numerics.compiled._loop())
"""
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "(600, 32, 4) None\n"
    )
