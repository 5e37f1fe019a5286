"""What users hold and call: instructions with their verbs, and what shows data."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction, PtxlabError, Transfer, gpu, instruction
from ptxlab._util.display import DISPLAYS, Displayed
from ptxlab.instruction import mma_instruction, mma_instructions
from ptxlab.isa import catalog
from ptxlab.isa.form import Form
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operation import Operation
from ptxlab.numerics.steps import Trace
from ptxlab.simulation import Simulation
from ptxlab.simulator import Result
from ptxlab.simulator.timing.launch_profile import LaunchProfile
from ptxlab.tcgen05_instruction import TensorControl, TensorInstruction, TensorTransfer
from tests.contract.surface import PTX

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.b16"


def test_a_small_surface() -> None:
    assert len(ptxlab.__all__) <= 24
    for name in ptxlab.__all__:
        assert inspect.getdoc(getattr(ptxlab, name)) or name in ("DTYPES", "TARGETS")


@pytest.mark.parametrize("name", ["figures", "gpu", "lessons", "memory"])
def test_modules_for_users_keep_their_names(name: str) -> None:
    module = importlib.import_module(f"ptxlab.{name}")
    assert getattr(ptxlab, name) is module
    assert module.__doc__ and module.__all__


def test_the_catalogue_gives_instructions_and_transfers() -> None:
    entries = ptxlab.catalog()
    types = {Instruction, Transfer, TensorInstruction, TensorTransfer, TensorControl}
    assert {type(entry) for entry in entries} == types
    assert all(isinstance(entry, Form) for entry in entries)
    assert entries == catalog.catalog(), "a form and its instruction are equal"
    assert len(set(entries) | set(catalog.catalog())) == len(entries)
    assert tuple(entry for entry in entries if isinstance(entry, Instruction)) == mma_instructions()


def test_what_shows_data_is_there() -> None:
    """Each class that a notebook shows is in the table, and each function of the table exists."""
    shown = {cls.__name__ for cls in (ptxlab.Kernel, LaunchProfile, Result, Trace)}
    assert shown <= {cls.__name__ for cls in Displayed.__subclasses__()}
    assert all("html" in DISPLAYS[cls.__name__] for cls in Displayed.__subclasses__())
    assert shown | {Operation.__name__} <= DISPLAYS.keys()
    for asked in DISPLAYS.values():
        for place in asked.values():
            module, function = place.split(":")
            assert inspect.getdoc(getattr(importlib.import_module(module), function)), place


def test_what_users_hold_pickles_and_keeps_its_class() -> None:
    ins = mma_instruction(F16)
    kernel = ptxlab.kernel(PTX)
    result = kernel.simulate(1, 32, np.zeros(32, np.float32), 0.5, trace=True)
    operands = Operation.from_matrices(ins, np.ones((16, 16)), np.ones((16, 8)))
    trace = ins.trace(np.ones((16, 16)), np.ones((16, 8)), None, 0, 0)
    one_of_each = {type(form): form for form in ptxlab.catalog()}.values()
    for held in (*one_of_each, kernel, result, operands, trace):
        again = pickle.loads(pickle.dumps(held))
        assert type(again) is type(held) and repr(again) == repr(held)
        assert copy.copy(held).__class__ is type(held)
    assert isinstance(kernel, ptxlab.Kernel) and isinstance(result, Simulation)
    assert pickle.loads(pickle.dumps(result))._repr_html_() == result._repr_html_()


def test_an_instruction_is_found_once() -> None:
    assert instruction(F16) is instruction(f"{F16} {{%0, %1}};")
    assert instruction(catalog.mma_forms("mma")[0]) is ptxlab.catalog("mma")[0]
    shared = mma_instruction(WGMMA).a_from("shared")
    assert isinstance(shared, Instruction) and shared != instruction(WGMMA)
    assert instruction(shared) == shared


def test_a_transfer_does_not_pretend_to_multiply() -> None:
    ldmatrix = instruction(LDMATRIX)
    assert isinstance(ldmatrix, Transfer)
    for name in ("m", "n", "k", "a", "b", "c", "d"):
        assert not hasattr(ldmatrix, name)
    assert ldmatrix.structure is None
    with pytest.raises(PtxlabError, match="transfers a matrix"):
        mma_instruction(LDMATRIX)


def test_every_modifier_goes_into_emulate_run_and_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    ins = mma_instruction(WGMMA).a_from("shared")
    chosen = {name: values[-1] for name, values in ins.modifiers.items() if len(values) > 1}
    assert set(chosen) >= {"selector", "scale_d", "imm_scale_a", "imm_trans_a", "imm_trans_b", "swizzle"}
    rng = np.random.default_rng(7)
    A, B, C = (rng.normal(size=operand.shape) for operand in (ins.a_dense, ins.b, ins.c))
    A = ins.prune(A)
    received: list[Operation] = []

    def run(operands: Operation) -> np.ndarray:
        received.append(operands)
        return np.zeros((ins.d.lanes, ins.d.registers), dtype=np.uint32)

    monkeypatch.setattr(gpu, "run", run)
    ins(A, B, C, on="gpu", **chosen)
    operands = received[0]
    arrays = (operands.a, operands.b, operands.c, operands.e)
    ins.run(*arrays, **chosen)
    assert received[1].modifiers == received[0].modifiers == Modifiers(**chosen)
    d = ins.emulate(*arrays, **chosen)
    np.testing.assert_array_equal(ins.d.unpack(d), ins(A, B, C, **chosen))
    assert ins.trace(A, B, C, 40, 5, **chosen).code == ins.d.unpack_codes(d)[40, 5]


def test_an_unknown_modifier_gets_a_sentence() -> None:
    ins = mma_instruction(SPARSE)
    zeros = [np.zeros((o.lanes, o.registers), dtype=np.uint32) for o in (ins.a, ins.b, ins.c)]
    for call in (ins.emulate, ins.run):
        with pytest.raises(PtxlabError, match="unknown argument 'selektor'; .* selector"):
            call(*zeros, zeros[0], selektor=1)
        with pytest.raises(PtxlabError, match="selector=2: .* takes 0, 1"):
            call(*zeros, ins.e.pack_codes(np.full(ins.e.shape, 4)), selector=2)
        with pytest.raises(PtxlabError, match="swizzle=128: .* takes only 0"):
            call(*zeros, ins.e.pack_codes(np.full(ins.e.shape, 4)), swizzle=128)
    a, b, c = (np.zeros(shape, int) for shape in ((2, 32, 4), (3, 32, 2), (32, 4)))
    with pytest.raises(PtxlabError, match="batch axes do not broadcast: A .*2.*, B .*3"):
        mma_instruction(F16).emulate(a, b, c)
