"""How simulated accesses go through the banks, against the cycles of an H200 (`tools/record/memory.py`)."""

from __future__ import annotations

import numpy as np

import ptxlab
from ptxlab.simulator.events import Access
from ptxlab.simulator.ptx.syntax import PtxInstruction
from ptxlab.simulator.timing.recorder import Recorder
from ptxlab.simulator.traffic import Traffic, bank_use, wavefronts
from tests.cases import each
from tools.record import memory
from tools.record.memory import ACCESSES, FOLDER, UPDATES, patterns

CYCLES = {**np.load(FOLDER / "banks.npz"), **np.load(FOLDER / "updates.npz")}
KINDS = {
    "ld": "read",
    "ldmatrix": "read",
    "st": "write",
    "stmatrix": "write",
    "cp": "write",
    "atom": "atomic",
}


@each(
    "access",
    [access for access in (*ACCESSES, *UPDATES) if not access.rows or access.width == 16],
    ids=lambda access: access.name,
)
def test_cycles_are_wavefronts(access: memory.Access) -> None:
    """`bank_use` says of each opcode what the H200 did with it; cp.async takes four cycles at least."""
    parts = tuple(access.name.split("."))
    use = bank_use(parts, KINDS[parts[0]], "generic", access.width)
    assert use is not None
    addresses, masks = patterns(access)
    active = masks[:, None] >> np.arange(32, dtype=np.uint32) & 1 == 1
    active &= np.arange(32) < (access.rows or 32)
    predicted = wavefronts(np.where(active, addresses.astype(np.int64), -1), access.width, use)[:, 0]
    cycles = CYCLES[access.name] / 64
    if parts[0] == "cp":
        predicted, cycles = predicted[predicted >= 4], cycles[predicted >= 4] - 0.5
    assert len(cycles) > 250
    assert np.abs(cycles - predicted).max() < (0.7 if parts[0] == "cp" else 0.5)


@each(
    "opcode, kind, width, expected",
    [
        ("ld.shared.u32", "read", 4, 1),
        ("st.shared.u32", "write", 4, 1),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "read", 16, 4),
        ("atom.shared.add.u32", "atomic", 4, 32),
        ("atom.shared.cas.b32", "atomic", 4, 64),
        ("cp.async.cg.shared.global", "write", 16, 32),
        ("atom.shared.cas.b16", "atomic", 2, 1),
        ("atom.shared.exch.b128", "atomic", 16, 4),
    ],
    ids=str,
)
def test_counts_and_times_agree(opcode: str, kind: str, width: int, expected: int) -> None:
    """All lanes of a warp access one address: a simulation counts as many wavefronts as a profile."""
    instruction = PtxInstruction(0, opcode, (), 1)
    access = Access(instruction, kind, "shared", np.arange(32), np.zeros(32, dtype=np.int64), width)
    traffic, recorder = Traffic(), Recorder({id(instruction): 0})
    traffic.accessed(access)
    recorder.accessed(access)
    assert traffic.moved[id(instruction)].wavefronts == expected
    assert recorder.touches[0, 0][0].wavefronts == expected


def test_profile_of_an_atomic_operation_of_two_bytes() -> None:
    """It has no measured rule, and is counted with its minimum."""
    source = """extern "C" __global__ void swap() {
        __shared__ unsigned short halves[32];
        unsigned half = __cvta_generic_to_shared(halves + threadIdx.x);
        asm volatile("{ .reg .b16 r; atom.shared.cas.b16 r, [%0], 0, 1; }" :: "r"(half) : "memory");
    }"""
    assert ptxlab.kernel(source).profile(1, 32).microseconds > 0
