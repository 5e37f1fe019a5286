"""Litmus tests, with one outcome each that PTX's memory consistency model allows or forbids.

The verdicts are the manual's where it has the test ("PTX", with the section's title) and otherwise from the
published analysis of the model (Lustig et al., ASPLOS 2019) or by its rules ("derived").
`python -m tools.litmus` counts the outcomes on a GPU.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.simulator.schedules.litmus import LitmusTest, Place, litmus_test


class Litmus(NamedTuple):
    """A test: its threads, the outcome in question, whether it is allowed, and who says so."""

    name: str
    threads: tuple[str, ...]
    outcome: dict[str, int]
    allowed: bool
    source: str
    places: tuple[Place, ...] | None = None  # clusters and blocks, each thread its own if left out

    @property
    def test(self) -> LitmusTest:
        """The test, ready to be asked."""
        return litmus_test(self.threads, self.places)


_DOC = "PTX, {}"
_CAUSALITY, _SAME_LOCATION = _DOC.format("Causality"), _DOC.format("Sequential Consistency Per Location")
_PAPER, _DERIVED = "Lustig et al. 2019", "derived"
_ONE_BLOCK = ((0, 0), (0, 0))
_ONE_CLUSTER = ((0, 0), (0, 1))


def _message(between: str, flag: str, read: str, after: str) -> tuple[str, str]:
    """Message passing: what comes between data and flag, and how the flag is written and read."""
    return (
        f"st.weak.u32 [x], 1; {between} {flag}.u32 [y], 1;",
        f"{read}.u32 a, [y]; {after} ld.weak.u32 b, [x];",
    )


def _twice(first: str, between: str, second: str, third: str = "", fourth: str = "") -> tuple[str, str]:
    """Two threads that do the same with the locations exchanged."""
    return (
        f"{first.format('x')} {between} {second.format('a', 'y')}",
        f"{(third or first).format('y')} {between} {(fourth or second).format('b', 'x')}",
    )


def _fence(semantics: str, scope: str = "gpu") -> str:
    return f"fence.{semantics}.{scope};"


_STORE, _LOAD = "st.relaxed.gpu.u32 [{}], 1;", "ld.relaxed.gpu.u32 {}, [{}];"
_WEAK_STORE, _WEAK_LOAD = "st.weak.u32 [{}], 1;", "ld.weak.u32 {}, [{}];"
_STALE = {"a": 1, "b": 0}
_RELAXED, _READ = "st.relaxed.gpu", "ld.relaxed.gpu"


def _readers(between: str, load: str = _READ) -> tuple[str, ...]:
    """Independent reads of independent writes."""
    return (
        "st.relaxed.gpu.u32 [x], 1;",
        "st.relaxed.gpu.u32 [y], 1;",
        f"{load}.u32 a, [x]; {between} {load}.u32 b, [y];",
        f"{load}.u32 c, [y]; {between} {load}.u32 d, [x];",
    )


_DIFFERENT = {"a": 1, "b": 0, "c": 1, "d": 0}

LITMUS = (
    # message passing
    Litmus("MP, relaxed flag", _message("", _RELAXED, _READ, ""), _STALE, True, _DERIVED),
    Litmus("MP, volatile flag", _message("", "st.volatile", "ld.volatile", ""), _STALE, True, _DERIVED),
    Litmus(
        "MP, fences",
        _message("fence.acq_rel.sys;", "st.relaxed.sys", "ld.relaxed.sys", "fence.acq_rel.sys;"),
        _STALE,
        False,
        _CAUSALITY,
    ),
    Litmus(
        "MP, fences of the GPU",
        _message(_fence("acq_rel"), _RELAXED, _READ, _fence("acq_rel")),
        _STALE,
        False,
        _CAUSALITY,
    ),
    Litmus(
        "MP, __threadfence()",
        _message("membar.gl;", "st.volatile", "ld.volatile", "membar.gl;"),
        _STALE,
        False,
        _DERIVED,
    ),
    Litmus(
        "MP, fence of the writer only",
        _message(_fence("acq_rel"), _RELAXED, _READ, ""),
        _STALE,
        True,
        _DERIVED,
    ),
    Litmus(
        "MP, fence of the reader only",
        _message("", _RELAXED, _READ, _fence("acq_rel")),
        _STALE,
        True,
        _DERIVED,
    ),
    Litmus(
        "MP, fences, weak flag",
        _message(_fence("acq_rel"), "st.weak", "ld.weak", _fence("acq_rel")),
        _STALE,
        True,
        _DERIVED,
    ),
    Litmus(
        "MP, release and acquire", _message("", "st.release.gpu", "ld.acquire.gpu", ""), _STALE, False, _PAPER
    ),
    Litmus("MP, release, relaxed read", _message("", "st.release.gpu", _READ, ""), _STALE, True, _DERIVED),
    Litmus(
        "MP, relaxed write, acquire", _message("", _RELAXED, "ld.acquire.gpu", ""), _STALE, True, _DERIVED
    ),
    Litmus(
        "MP, scope of the block, two blocks",
        _message("", "st.release.cta", "ld.acquire.cta", ""),
        _STALE,
        True,
        _PAPER,
    ),
    Litmus(
        "MP, scope of the block, one block",
        _message("", "st.release.cta", "ld.acquire.cta", ""),
        _STALE,
        False,
        _PAPER,
        _ONE_BLOCK,
    ),
    Litmus(
        "MP, one side with the block's scope",
        _message("", "st.release.cta", "ld.acquire.gpu", ""),
        _STALE,
        True,
        _DERIVED,
    ),
    Litmus(
        "MP, scope of the cluster, one cluster",
        _message("", "st.release.cluster", "ld.acquire.cluster", ""),
        _STALE,
        False,
        _DERIVED,
        _ONE_CLUSTER,
    ),
    Litmus(
        "MP, scope of the cluster, two clusters",
        _message("", "st.release.cluster", "ld.acquire.cluster", ""),
        _STALE,
        True,
        _DERIVED,
    ),
    Litmus(
        "MP, __threadfence_block(), two blocks",
        _message("membar.cta;", "st.volatile", "ld.volatile", "membar.cta;"),
        _STALE,
        True,
        _DERIVED,
    ),
    Litmus(
        "MP, barrier of the block",
        ("st.weak.u32 [x], 1; bar.sync 0;", "bar.sync 0; ld.weak.u32 b, [x];"),
        {"b": 0},
        False,
        _DERIVED,
        _ONE_BLOCK,
    ),
    Litmus(
        "MP, red does not acquire",
        (
            "st.weak.u32 [x], 42; st.release.gpu.u32 [y], 1;",
            "red.relaxed.gpu.add.u32 [y], 1; fence.acq_rel.gpu; ld.weak.u32 b, [x];",
        ),
        {"b": 0, "y": 2},
        True,
        _DOC.format("Reductions do not form Acquire Patterns"),
    ),
    Litmus(
        "MP, atom acquires",
        (
            "st.weak.u32 [x], 42; st.release.gpu.u32 [y], 1;",
            "atom.relaxed.gpu.add.u32 a, [y], 1; fence.acq_rel.gpu; ld.weak.u32 b, [x];",
        ),
        {"a": 1, "b": 0, "y": 2},
        False,
        _DOC.format("Reductions do not form Acquire Patterns"),
    ),
    Litmus(
        "MP, through an atomic operation",
        (
            "st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1;",
            "atom.relaxed.gpu.add.u32 c, [y], 1;",
            "ld.acquire.gpu.u32 a, [y]; ld.weak.u32 b, [x];",
        ),
        {"a": 2, "b": 0, "c": 1},
        False,
        _DERIVED,
    ),
    Litmus(
        "MP, through a store",
        (
            "st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1;",
            "ld.relaxed.gpu.u32 c, [y]; st.relaxed.gpu.u32 [y], 2;",
            "ld.acquire.gpu.u32 a, [y]; ld.weak.u32 b, [x];",
        ),
        {"a": 2, "b": 0, "c": 1},
        True,
        _DERIVED,
    ),
    # store buffering
    Litmus("SB, relaxed", _twice(_STORE, "", _LOAD), {"a": 0, "b": 0}, True, _PAPER),
    Litmus("SB, weak", _twice(_WEAK_STORE, "", _WEAK_LOAD), {"a": 0, "b": 0}, True, _DERIVED),
    Litmus(
        "SB, fence.sc", _twice(_WEAK_STORE, "fence.sc.sys;", _WEAK_LOAD), {"a": 0, "b": 0}, False, _CAUSALITY
    ),
    Litmus(
        "SB, fence.acq_rel",
        _twice(_WEAK_STORE, "fence.acq_rel.sys;", _WEAK_LOAD),
        {"a": 0, "b": 0},
        True,
        _CAUSALITY,
    ),
    Litmus(
        "SB, fence.sc of the block, two blocks",
        _twice(_STORE, "fence.sc.cta;", _LOAD),
        {"a": 0, "b": 0},
        True,
        _DERIVED,
    ),
    Litmus(
        "SB, fence.sc of the block, one block",
        _twice(_STORE, "fence.sc.cta;", _LOAD),
        {"a": 0, "b": 0},
        False,
        _DERIVED,
        _ONE_BLOCK,
    ),
    Litmus(
        "SB, one fence.sc",
        (
            f"{_STORE.format('x')} fence.sc.gpu; {_LOAD.format('a', 'y')}",
            f"{_STORE.format('y')} {_LOAD.format('b', 'x')}",
        ),
        {"a": 0, "b": 0},
        True,
        _DERIVED,
    ),
    Litmus(
        "SB, release and acquire",
        _twice("st.release.gpu.u32 [{}], 1;", "", "ld.acquire.gpu.u32 {}, [{}];"),
        {"a": 0, "b": 0},
        True,
        _DERIVED,
    ),
    Litmus(
        "SB, atomic exchange",
        (
            "atom.relaxed.gpu.exch.b32 c, [x], 1; ld.relaxed.gpu.u32 a, [y];",
            "atom.relaxed.gpu.exch.b32 d, [y], 1; ld.relaxed.gpu.u32 b, [x];",
        ),
        {"a": 0, "b": 0},
        True,
        _DERIVED,
    ),
    # load buffering
    Litmus(
        "LB, weak",
        ("ld.weak.u32 a, [x]; st.weak.u32 [y], 1;", "ld.weak.u32 b, [y]; st.weak.u32 [x], 1;"),
        {"a": 1, "b": 1},
        True,
        _DOC.format("No Thin Air"),
    ),
    Litmus(
        "LB, with dependencies",
        ("ld.weak.u32 a, [x]; st.weak.u32 [y], a;", "ld.weak.u32 b, [y]; st.weak.u32 [x], b;"),
        {"a": 1, "b": 1},
        False,
        _DOC.format("No Thin Air"),
    ),
    Litmus(
        "LB, relaxed",
        (
            "ld.relaxed.gpu.u32 a, [x]; st.relaxed.gpu.u32 [y], 1;",
            "ld.relaxed.gpu.u32 b, [y]; st.relaxed.gpu.u32 [x], 1;",
        ),
        {"a": 1, "b": 1},
        True,
        _DERIVED,
    ),
    Litmus(
        "LB, fences",
        (
            "ld.relaxed.gpu.u32 a, [x]; fence.acq_rel.gpu; st.relaxed.gpu.u32 [y], 1;",
            "ld.relaxed.gpu.u32 b, [y]; fence.acq_rel.gpu; st.relaxed.gpu.u32 [x], 1;",
        ),
        {"a": 1, "b": 1},
        False,
        _DERIVED,
    ),
    Litmus(
        "LB, release and acquire",
        (
            "ld.acquire.gpu.u32 a, [x]; st.release.gpu.u32 [y], 1;",
            "ld.acquire.gpu.u32 b, [y]; st.release.gpu.u32 [x], 1;",
        ),
        {"a": 1, "b": 1},
        False,
        _DERIVED,
    ),
    # independent reads of independent writes
    Litmus("IRIW, relaxed", _readers(""), _DIFFERENT, True, _PAPER),
    Litmus("IRIW, acquire", _readers("", "ld.acquire.gpu"), _DIFFERENT, True, _PAPER),
    Litmus("IRIW, fence.acq_rel", _readers(_fence("acq_rel")), _DIFFERENT, True, _DERIVED),
    Litmus("IRIW, fence.sc", _readers(_fence("sc")), _DIFFERENT, False, _PAPER),
    # causality over three threads
    Litmus(
        "WRC, relaxed",
        (
            "st.relaxed.gpu.u32 [x], 1;",
            "ld.relaxed.gpu.u32 a, [x]; st.relaxed.gpu.u32 [y], 1;",
            "ld.relaxed.gpu.u32 b, [y]; ld.relaxed.gpu.u32 c, [x];",
        ),
        {"a": 1, "b": 1, "c": 0},
        True,
        _DERIVED,
    ),
    Litmus(
        "WRC, release and acquire",
        (
            "st.relaxed.gpu.u32 [x], 1;",
            "ld.relaxed.gpu.u32 a, [x]; st.release.gpu.u32 [y], 1;",
            "ld.acquire.gpu.u32 b, [y]; ld.relaxed.gpu.u32 c, [x];",
        ),
        {"a": 1, "b": 1, "c": 0},
        False,
        _PAPER,
    ),
    Litmus(
        "ISA2, release and acquire",
        (
            "st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1;",
            "ld.acquire.gpu.u32 a, [y]; st.release.gpu.u32 [z], 1;",
            "ld.acquire.gpu.u32 b, [z]; ld.weak.u32 c, [x];",
        ),
        {"a": 1, "b": 1, "c": 0},
        False,
        _PAPER,
    ),
    Litmus(
        "ISA2, one link of the block's scope",
        (
            "st.weak.u32 [x], 1; st.release.cta.u32 [y], 1;",
            "ld.acquire.cta.u32 a, [y]; st.release.gpu.u32 [z], 1;",
            "ld.acquire.gpu.u32 b, [z]; ld.weak.u32 c, [x];",
        ),
        {"a": 1, "b": 1, "c": 0},
        False,
        _DERIVED,
        ((0, 0), (0, 0), (1, 1)),
    ),
    Litmus(
        "ISA2, a link too narrow",
        (
            "st.weak.u32 [x], 1; st.release.cta.u32 [y], 1;",
            "ld.acquire.cta.u32 a, [y]; st.release.gpu.u32 [z], 1;",
            "ld.acquire.gpu.u32 b, [z]; ld.weak.u32 c, [x];",
        ),
        {"a": 1, "b": 1, "c": 0},
        True,
        _DERIVED,
    ),
    # writes against writes
    Litmus(
        "S, fences",
        (
            "st.relaxed.gpu.u32 [x], 2; fence.acq_rel.gpu; st.relaxed.gpu.u32 [y], 1;",
            "ld.relaxed.gpu.u32 a, [y]; fence.acq_rel.gpu; st.relaxed.gpu.u32 [x], 1;",
        ),
        {"a": 1, "x": 2},
        False,
        _DERIVED,
    ),
    Litmus(
        "2+2W, relaxed",
        (
            "st.relaxed.gpu.u32 [x], 1; st.relaxed.gpu.u32 [y], 2;",
            "st.relaxed.gpu.u32 [y], 1; st.relaxed.gpu.u32 [x], 2;",
        ),
        {"x": 1, "y": 1},
        True,
        _DERIVED,
    ),
    Litmus(
        "2+2W, fence.acq_rel",
        (
            "st.relaxed.gpu.u32 [x], 1; fence.acq_rel.gpu; st.relaxed.gpu.u32 [y], 2;",
            "st.relaxed.gpu.u32 [y], 1; fence.acq_rel.gpu; st.relaxed.gpu.u32 [x], 2;",
        ),
        {"x": 1, "y": 1},
        True,
        _DERIVED,
    ),
    Litmus(
        "2+2W, fence.sc",
        (
            "st.relaxed.gpu.u32 [x], 1; fence.sc.gpu; st.relaxed.gpu.u32 [y], 2;",
            "st.relaxed.gpu.u32 [y], 1; fence.sc.gpu; st.relaxed.gpu.u32 [x], 2;",
        ),
        {"x": 1, "y": 1},
        False,
        _DERIVED,
    ),
    Litmus(
        "R, fence.sc",
        (
            "st.relaxed.gpu.u32 [x], 1; fence.sc.gpu; st.relaxed.gpu.u32 [y], 1;",
            "st.relaxed.gpu.u32 [y], 2; fence.sc.gpu; ld.relaxed.gpu.u32 a, [x];",
        ),
        {"a": 0, "y": 2},
        False,
        _DERIVED,
    ),
    Litmus(
        "R, fence.acq_rel",
        (
            "st.relaxed.gpu.u32 [x], 1; fence.acq_rel.gpu; st.relaxed.gpu.u32 [y], 1;",
            "st.relaxed.gpu.u32 [y], 2; fence.acq_rel.gpu; ld.relaxed.gpu.u32 a, [x];",
        ),
        {"a": 0, "y": 2},
        True,
        _DERIVED,
    ),
    # one location
    Litmus(
        "CoRR, relaxed",
        ("st.relaxed.sys.u32 [x], 1;", "ld.relaxed.sys.u32 a, [x]; ld.relaxed.sys.u32 b, [x];"),
        _STALE,
        False,
        _SAME_LOCATION,
    ),
    Litmus(
        "CoRR, weak",
        ("st.weak.u32 [x], 1;", "ld.weak.u32 a, [x]; ld.weak.u32 b, [x];"),
        _STALE,
        True,
        _DERIVED,
    ),
    Litmus(
        "CoRR, weak, fence between",
        ("st.weak.u32 [x], 1;", "ld.weak.u32 a, [x]; fence.sc.gpu; ld.weak.u32 b, [x];"),
        _STALE,
        True,
        _DERIVED,
    ),
    Litmus("CoWR", ("st.weak.u32 [x], 1; ld.weak.u32 a, [x];",), {"a": 0}, False, _DERIVED),
    Litmus("CoRW", ("ld.weak.u32 a, [x]; st.weak.u32 [x], 1;",), {"a": 1}, False, _DERIVED),
    Litmus("CoWW", ("st.weak.u32 [x], 1; st.weak.u32 [x], 2;",), {"x": 1}, False, _DERIVED),
    Litmus(
        "CoWR, relaxed",
        ("st.relaxed.gpu.u32 [x], 1; ld.relaxed.gpu.u32 a, [x];", "st.relaxed.gpu.u32 [x], 2;"),
        {"a": 2, "x": 1},
        False,
        _DERIVED,
    ),
    # atomic operations
    Litmus(
        "two increments",
        ("atom.relaxed.sys.add.u32 a, [x], 1;", "atom.relaxed.sys.add.u32 b, [x], 1;"),
        {"x": 1},
        False,
        _DOC.format("Atomicity"),
    ),
    Litmus(
        "two increments, one of the block's scope",
        ("atom.relaxed.cta.add.u32 a, [x], 1;", "atom.relaxed.gpu.add.u32 b, [x], 1;"),
        {"x": 1},
        True,
        _DOC.format("Atomicity"),
    ),
    Litmus(
        "an increment and a store",
        ("atom.relaxed.gpu.add.u32 a, [x], 1;", "st.relaxed.gpu.u32 [x], 5;"),
        {"a": 5, "x": 6},
        True,
        _DERIVED,
    ),
    Litmus(
        "an increment and a store, one of them lost",
        ("atom.relaxed.gpu.add.u32 a, [x], 1;", "st.relaxed.gpu.u32 [x], 5;"),
        {"a": 0, "x": 1},
        False,
        _DERIVED,
    ),
    Litmus(
        "an increment and a store between",
        ("atom.relaxed.gpu.add.u32 a, [x], 1; ld.relaxed.gpu.u32 b, [x];", "st.relaxed.gpu.u32 [x], 5;"),
        {"a": 0, "b": 5, "x": 1},
        False,
        _DERIVED,
    ),
)
