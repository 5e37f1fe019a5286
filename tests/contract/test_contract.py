"""Every public function answers, or raises `PtxlabError` with one sentence; and what it answers is right.

A seeded fuzz replaces one argument of a valid call. A few seconds of it run here; for more:

    PTXLAB_FUZZ=100000 pytest tests/contract/test_contract.py -k fuzz
"""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab._util import arguments
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operation import Operation
from ptxlab.memory import Tile, encode_descriptor
from tests.cases import each
from tests.sampling import every_third

from . import hostile
from .mutations import Call, attempt, call_with, fuzz
from .surface import PTX, calls, explorer_calls, public_names, with_widgets, without_call

COUNT = int(os.environ.get("PTXLAB_FUZZ", "0"))

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"

#: Compile, disassemble or start tools: too slow to be tried often.
SLOW = (
    "Instruction.sass",
    "TensorInstruction.sass",
    "TensorTransfer.sass",
    "gpu.compile",
    "gpu.disassemble",
    "figures.save",
    "Explorer.save_html",
    "ptxlab.explore",
    "ptxlab.judge",
)


@pytest.fixture(autouse=True)
def _home(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is recorded, and nothing is written beside the tests."""
    monkeypatch.setenv("PTXLAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.chdir(tmp_path)


# -- the surface ---------------------------------------------------------------------------------------------


def test_everything_public_is_tried() -> None:
    if not with_widgets():
        pytest.skip("figures and the Explorer need plotly and anywidget")
    tried = {call.name.split()[0] for call in (*calls(), *explorer_calls())}
    assert [name for name in public_names() if name not in tried | set(without_call)] == []


def _quick() -> list[Call]:
    return [call for call in calls() if call.name not in SLOW]


_NEEDS_GPU = (
    "Instruction.run",
    "TensorInstruction.run",
    "TensorTransfer.run",
    "Transfer.run",
    "gpu.encode_tensor_map",
    "gpu.launch",
    "gpu.run",
    "gpu.run_tensor_map",
    "gpu.run_transfer",
    "ptxlab.measure",
)


def refusal(call: Call, changes: dict[str, Any]) -> str | None:
    """The sentence with which a call is refused once these arguments are changed; None if it answers."""
    function, values = call.make()
    try:
        call_with(function, values | changes)
    except PtxlabError as error:
        return str(error)
    return None


@each("call", _quick, ids=lambda call: call.name)
@pytest.mark.slow
def test_calls_are_valid(call: Call) -> None:
    """A fuzz of calls that fail for another reason would find nothing."""
    sentence = refusal(call, {})
    if call.name not in _NEEDS_GPU:
        assert sentence is None
    elif not ptxlab.gpu.available():
        assert sentence.startswith(ptxlab.gpu.status())
    else:
        assert sentence is None or "the emulator does it anyway" in sentence


# -- the fuzz ------------------------------------------------------------------------------------------------


def _failures(tried: tuple[Call, ...], count: int, seed: int) -> list[str]:
    return [str(failure) for *_, failure in fuzz(tried, count, seed) if failure]


@pytest.mark.slow
def test_fuzz_api() -> None:
    tried = tuple(call for call in calls() if COUNT or call.name not in SLOW)
    assert _failures(tried, COUNT or 1500, seed=14) == []


@pytest.mark.slow
def test_fuzz_explorer() -> None:
    if not with_widgets():
        pytest.skip("the Explorer needs anywidget")
    tried = tuple(call for call in explorer_calls() if COUNT or call.name not in SLOW)
    assert _failures(tried, COUNT // 20 or 100, seed=14) == []


LABELS = ["10**400", "refuses", "ragged", "long", "huge", "itself", "mma", "1.5"]


@pytest.mark.parametrize("label", every_third(LABELS))
@pytest.mark.slow
def test_one_value_everywhere(label: str) -> None:
    """The same hostile value in the first argument of everything."""
    value = dict(hostile.VALUES)[label]
    failures = []
    for call in calls():
        arguments_of = call.only or tuple(name for name in call.make()[1] if name not in call.skip)
        if arguments_of and call.name not in SLOW:
            failures.append(attempt(call, arguments_of[0], label, value))
    assert [str(failure) for failure in failures if failure] == []


# -- the same number, written otherwise ----------------------------------------------------------------------

_SAME_ARRAY: dict[str, Callable[[Any], Any]] = {
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "Fortran": np.asfortranarray,
    "strided": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "read-only": lambda array: np.broadcast_to(array, array.shape),
    "lists": lambda array: array.tolist(),
    "unmasked": np.ma.array,
}
_NOT_THE_SAME: dict[str, Callable[[Any], Any]] = {
    "masked": lambda array: np.ma.array(array, mask=np.ones(array.shape, dtype=bool)),
    "complex": lambda array: array.astype(complex),
    "text": lambda array: array.astype("U8"),
    "dates": lambda array: array.astype("i8").astype("M8[s]"),
    "durations": lambda array: array.astype("i8").astype("m8[s]"),
    "objects": lambda array: array.astype(object),
    "records": lambda array: np.zeros(array.shape, dtype="i4,i4"),
    "raw": lambda array: np.zeros(array.shape, dtype="V4"),
}
_SAME_INTEGER: dict[str, Callable[[int], Any]] = {
    **{kind.__name__: kind for kind in (np.int8, np.uint8, np.int32, np.uint64)},
    "0-d": np.array,
}
_NO_INTEGER: dict[str, Callable[[int], Any]] = {
    "float": float,
    "fraction": lambda number: number + 0.5,
    "float32": np.float32,
    "complex": complex,
    "text": str,
    "one element": lambda number: np.array([number]),
    "0-d float": lambda number: np.array(float(number)),
}

#: Where a truth value, or a number with a fraction, is as good as a whole number.
_TAKES_FLOATS = {"seconds", "value", "Tile.offset"}


_OF_WORDS = (
    "wmma.run_buffers",
    "wmma.unpack_matrix",
    "Transfer.emulate",
    "memory.restore_metadata",
    "memory.metadata_registers",
)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, tuple | list) and not hasattr(one, "_fields"):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, Operation):
        return all(map(_equal, one.arrays.values(), other.arrays.values()))
    return repr(one) == repr(other)


def _plain_calls() -> list[Call]:
    """Those whose answer depends on their arguments alone, and can be compared."""
    prefixes = ("Instruction.emulate", "Instruction.__call__", "Instruction.compress", "Instruction.expand",
                "Instruction.prune", "Operand.", "Layout.", "DType.", "Structure.", "Tile.",
                "Transfer.emulate", "Transfer.addresses", "ptxlab.matmul", "wmma.pack_matrix",
                "wmma.unpack_matrix", "wmma.run",
                "memory.", "inputs.make", "views.where", "views.holds", "Operation.")  # fmt: skip
    described = ("memory.tensor_map", "memory.im2col_map")  # an array as it lies, not what it holds
    return [call for call in calls() if call.name.startswith(prefixes) and call.name not in described]


@each("call", _plain_calls, ids=lambda call: call.name)
@pytest.mark.slow
def test_arrays_by_another_name(call: Call) -> None:
    """The same numbers in another byte order, in lists, strided: the same answer. What is no number: none."""
    function, values = call.make()
    answer = call_with(function, values)
    for name, array in values.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
            continue
        for same, change in _SAME_ARRAY.items():
            if same == "lists" and call.name in _OF_WORDS:
                continue  # a list has no type, and here the type says how memory is divided
            function, changed = call.make()
            changed[name] = change(array)
            assert _equal(call_with(function, changed), answer), f"{name}: {same}"
        for other, change in _NOT_THE_SAME.items():
            if other == "raw" and name == "*memory":
                continue  # raw bytes are what memory holds
            assert refusal(call, {name: change(array)}), f"{name}: {other} is accepted"


@each("call", _plain_calls, ids=lambda call: call.name)
@pytest.mark.slow
def test_integers_by_another_name(call: Call) -> None:
    """Whole numbers of every integer type give the same answer; floats, text and complex numbers none."""
    function, values = call.make()
    answer = call_with(function, values)
    for name, number in values.items():
        if type(number) is not int or name in _TAKES_FLOATS or call.name in _TAKES_FLOATS:
            continue
        for same, change in _SAME_INTEGER.items():
            if not 0 <= number < 128:
                continue
            function, changed = call.make()
            changed[name] = change(number)
            assert _equal(call_with(function, changed), answer), f"{name}: {same}"
        for other, change in _NO_INTEGER.items():
            assert refusal(call, {name: change(number)}), f"{name}: {other} is accepted"


# -- answers that were wrong without a word ------------------------------------------------------------------

_INS: Any = ptxlab.instruction(S4)
_MMA: Any = ptxlab.instruction(F16)
_SP: Any = ptxlab.instruction(SPARSE)
_WG: Any = ptxlab.instruction(WGMMA)
_TILE = Tile(bits=16, rows=8, k=64, swizzle=128)
_2_4 = ptxlab.sparsity.STRUCTURES["2:4"]


def test_big_endian_registers() -> None:
    assert (_INS.c.unpack(np.full((32, 4), 1, ">i4")) == 1).all()
    assert (_MMA.b.unpack_codes(np.full((32, 2), 0x00010002, ">u4"))[0::2] == 2).all()
    ones = np.full((32, 4), 0x11111111, ">u4"), np.full((32, 2), 0x11111111, ">u4")
    assert (_INS.emulate(*ones, np.zeros((32, 4), ">u4")) == 64).all()
    ldmatrix: Any = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.b16")
    memory = np.arange(64, dtype=np.uint16)
    native = ldmatrix.emulate(memory, ldmatrix.addresses())
    assert (ldmatrix.emulate(memory.astype(">u2"), ldmatrix.addresses().astype(">i8")) == native).all()


def _fragment(m: Any) -> Any:
    return ptxlab.wmma.fragment("matrix_a", m, 8, 32, "s4", "row_major")


@each(
    "ask, sentence",
    [
        (lambda: _WG.a_from("sahred"), "a_space='sahred': there are register, shared"),
        (lambda: _TILE.offset(8, 0), "row 8: the tile is 8x64, so row goes from 0 to 7"),
        (lambda: _TILE.offset(0, [0, -1]), "k -1: the tile is 8x64, so k goes from 0 to 63"),
        (lambda: _TILE.offset(0.5, 0), "row: found an array of float64; it takes whole numbers"),
        (lambda: _TILE.load(np.full(1024, 300)), "memory: found 300; bytes go from 0 to 255"),
        (lambda: _TILE.load(np.full(1024, 1.5)), "memory: found an array of float64; it takes whole numbers"),
        (lambda: Tile(bits=16, rows=-8, k=64),
         "rows=-8: a tile has at least 1 and, in shared memory, at most 2097152"),
        (lambda: Tile(bits=16.0, rows=8, k=64), "bits: found 16.0; it takes a whole number"),  # type: ignore[arg-type]
        (lambda: encode_descriptor(0x401, 128, 512, 64),
         "address=1025: a descriptor takes multiples of 16 bytes below 2^18"),
        (lambda: encode_descriptor(1 << 18, 128, 512, 64),
         "address=262144: a descriptor takes multiples of 16 bytes below 2^18"),
        (lambda: ptxlab.dtype("s4").decode([1.9]),
         "codes of s4: they are integers, found float64; encode takes values"),
        (lambda: ptxlab.dtype("f32").decode([1.0]),
         "codes of f32: they are integers, found float64; encode takes values"),
        (lambda: ptxlab.dtype("f32").maximum,
         "f32 holds floats: only integer types have a smallest and largest integer"),
        (lambda: ptxlab.dtype("s4").bias, "s4 has no exponent, so it has no bias"),
        (lambda: ptxlab.dtype("s4").encode([10**400]),
         "s4 needs numbers, found an array of objects, or of numbers beyond 64 bits"),
        (lambda: ptxlab.dtype("f16").encode([1 + 2j]), "f16 needs numbers, found an array of complex128"),
        (lambda: _INS.a.place(1.5, 0), "operand A: lane: found 1.5; it takes a whole number"),
        (lambda: _INS.a.where(True, 0), "row: found True; it takes a whole number"),
        (lambda: list(_INS.a.holds(0, 0.5)), "register: found 0.5; it takes a whole number"),
        (lambda: _INS.a.layout.locate(-1, 0), "row -1: the matrix is 16x64, so rows go from 0 to 15"),
        (lambda: _MMA.column_of_b(-1, 3), "row -1 does not exist; rows go from 0 to 15"),
        (lambda: _WG.b.unpack_codes(np.zeros((16, 8), np.uint16), copy=1),
         "B: copy=1; in shared memory every element is held once"),
        (lambda: _INS.c.unpack(np.ma.masked_equal(np.zeros((32, 4), np.int32), 0)),
         "C: found a masked array; fill its masked elements first, .filled(0)"),
        (lambda: _2_4.prune([["1", "5", "2", "7"]]), "matrix needs numbers, found an array of <U1"),
        (lambda: _2_4.expand([[5, 7]], [[13.0]]),
         "nibbles: found an array of float64; it takes whole numbers"),
        (lambda: _2_4.positions([[13 + 256]]),
         "metadata of row 0, chunk 0: nibble 269 is undefined for 2:4 sparsity; "
         "legal are 0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110"),
        (lambda: _2_4.positions([[-3]]),
         "metadata of row 0, chunk 0: nibble -3 is undefined for 2:4 sparsity; "
         "legal are 0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110"),
        (lambda: _2_4.compress([[0, 5, 0, 7]], zero=[[1, 0, 1, 0]]),  # type: ignore[arg-type]
         "zero: found int64 of shape (1, 4); it takes truth values of the matrix's shape (1, 4)"),
        (lambda: Modifiers(selector=0.0), "selector: found 0.0; it takes a whole number"),  # type: ignore[arg-type]
        (lambda: Modifiers(selector=True), "selector: found True; it takes a whole number"),
        (lambda: ptxlab.wmma.fill_fragment(_fragment(8), "1"),  # type: ignore[arg-type]
         "fill_fragment: value needs numbers, found an array of <U1"),
        (lambda: ptxlab.views.values(_WG, "B", np.ones((16, 8)), warp=7),
         f"warp=7: B of {WGMMA} lives in shared memory, where no warp has its own part"),
        (lambda: _fragment(8.0),
         "m: found 8.0; it takes a whole number"),
        (lambda: ptxlab.simulating(show=3), "show: found 3; it takes True or False"),  # type: ignore[arg-type]
        (lambda: ptxlab.simulating(trace=1.5), "trace: found 1.5; it takes a whole number"),  # type: ignore[arg-type]
        (lambda: ptxlab.simulating(trace=-1), "trace=-1: warps of a launch are counted from 0 on"),
    ],
)  # fmt: skip
def test_refusals_say_what_is_wrong(ask: Callable[[], object], sentence: str) -> None:
    with pytest.raises(PtxlabError) as caught:
        ask()
    assert str(caught.value) == sentence


@pytest.mark.skipif(os.name == "nt", reason="a file of Windows may have such a name")
def test_names_of_files_that_cannot_be_written() -> None:
    with pytest.raises(PtxlabError, match="path: found '.ud800.svg'; it takes the name of a file"):
        ptxlab.figures.save(ptxlab.views.fragment(_INS, "C"), "\ud800.svg")


def test_fragment_words_do_not_wrap() -> None:
    frag = ptxlab.wmma.fragment("accumulator", 8, 8, 32, int)
    for word in (2**32, -(2**31) - 1):
        with pytest.raises(PtxlabError, match="int holds"):
            frag.x = np.full((32, 2), word)
    frag.x = np.full((32, 2), 0xFFFFFFFF)
    assert (frag.matrix == -1).all()


@pytest.mark.parametrize("name", ["f32", "tf32", "bf16"])
def test_large_integers_round_once(name: str) -> None:
    """An integer beyond 2^53 goes into a float type by one rounding, not by way of float64."""
    dtype = ptxlab.dtype(name)
    for exponent in range(54, 63):
        power, unit = 1 << exponent, 1 << exponent - dtype.fraction_bits
        low, high = dtype.encode([float(power), float(power + unit)])
        halfway = power + unit // 2 + np.array([-1, 0, 1])
        assert dtype.encode(halfway).tolist() == [low, low, high]
        sign = dtype.code_type(1 << dtype.bits - 1)
        assert dtype.encode(-halfway).tolist() == [low | sign, low | sign, high | sign]


def test_integers_round_as_numpy_rounds_them() -> None:
    numbers = np.random.default_rng(1).integers(-(2**63), 2**63, 10_000)
    assert (ptxlab.dtype("f32").encode(numbers) == numbers.astype(np.float32).view(np.uint32)).all()
    assert (ptxlab.dtype("f64").encode(numbers) == numbers.astype(np.float64).view(np.uint64)).all()


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="a long double is no longer than a double")
def test_long_doubles_round_once_and_are_whole_or_refused() -> None:
    value = np.longdouble(1) + np.longdouble(2) ** -24 + np.longdouble(2) ** -60
    assert ptxlab.dtype("f32").encode(value) == 0x3F800001
    assert ptxlab.dtype("f32").encode(-value) == 0xBF800001
    with pytest.raises(PtxlabError, match="holds whole numbers"):
        ptxlab.dtype("s8").encode(np.longdouble(1) + np.longdouble(2) ** -60)
    with np.errstate(all="raise"), pytest.raises(PtxlabError, match="s8 holds"):
        ptxlab.dtype("s8").encode(np.longdouble("1e4000"))


def test_tiny_numbers_are_pruned_by_their_size() -> None:
    tiny = np.array([[1e-200, 3e-200, 2e-200, 4e-200]])
    assert (_2_4.prune(tiny) == [[0, 3e-200, 0, 4e-200]]).all()


class _OnHost:
    """What has DLPack and nothing else."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_arrays_by_dlpack_and_of_many_axes() -> None:
    ones = np.ones((16, 64))
    assert (_INS.a.pack(_OnHost(ones)) == _INS.a.pack(ones)).all()
    with pytest.raises(PtxlabError, match="an array of 42 axes; it takes at most 24"):
        _SP.compress(ones.reshape((1,) * 40 + (16, 64)))


def test_operands_are_compared_and_kernels_kept() -> None:
    operands = Operation.from_matrices(_INS, np.ones((16, 64)), np.ones((64, 8)))
    assert (
        operands
        == copy.deepcopy(operands)
        != Operation.from_matrices(_INS, np.zeros((16, 64)), np.ones((64, 8)))
    )
    assert operands != 3 and "A (32, 4)" in repr(operands)
    kernel = ptxlab.kernel(PTX)
    kernel.simulate(1, 32, np.zeros(2, np.float32), 0.5)
    out = np.zeros(2, np.float32)
    pickle.loads(pickle.dumps(kernel)).simulate(1, 32, out, 0.5)
    assert out[1] == 0.5


def test_what_is_kept_cannot_be_changed() -> None:
    for array in (_INS.a.layout.gather, _TILE.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
    coords = _INS.a.layout.coords()
    coords[...] = 0
    assert _INS.a.layout.coords().any()


def test_addresses_do_not_wrap() -> None:
    ldmatrix: Any = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.b16")
    with pytest.raises(PtxlabError, match="the memory has 128 bytes"):
        ldmatrix.emulate(np.zeros(128, np.uint8), np.full(32, 2**64 - 16, dtype=np.uint64))


# -- too large -----------------------------------------------------------------------------------------------


def test_what_does_not_fit_into_memory() -> None:
    """It is refused before it is tried: Linux would promise the memory, and end the process later."""
    registers = [np.broadcast_to(np.uint32(0), (1 << 40, 32, count)) for count in (4, 2, 4)]
    with pytest.raises(PtxlabError, match="do not fit into the memory"):
        _MMA.emulate(*registers)
    rows, columns = np.zeros((1 << 20, 1, 32, 4), np.uint32)[:1], np.zeros((1, 1, 32, 2), np.uint32)
    wide = np.broadcast_to(columns, (1, 1 << 35, 32, 2))
    with pytest.raises(PtxlabError, match="do not fit into the memory"):
        _MMA.emulate(rows, wide, np.zeros((32, 4), np.uint32))
    with pytest.raises(PtxlabError, match="D: .* do not fit into the memory"):
        ptxlab.matmul(np.zeros((1 << 22, 1)), np.zeros((1, 1 << 22)), instruction=F16)
    with pytest.raises(PtxlabError, match="do not fit into the memory"):
        ptxlab.inputs.make(F16, "bits", 10**12)


def test_batches_that_no_integer_counts() -> None:
    one = np.broadcast_to(np.uint32(0), (1 << 21, 1, 1, 32, 4))
    two = np.broadcast_to(np.uint32(0), (1, 1 << 21, 1, 32, 2))
    three = np.broadcast_to(np.uint32(0), (1, 1, 1 << 21, 32, 4))
    with pytest.raises(PtxlabError, match="more than 2\\^63 elements"):
        _MMA.emulate(one, two, three)


def test_the_memory_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "_most_elements", lambda: 1000)
    with pytest.raises(PtxlabError, match="A: s4: 1024 elements do not fit"):
        _INS.a.pack(np.ones((16, 64)))
    assert arguments.as_array(np.ones(1000), "values").size == 1000


def test_the_memory_that_windows_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """As documented for GlobalMemoryStatusEx: a structure of 64 bytes, the memory in bytes 8 to 15."""
    import ctypes

    class Kernel32:
        def GlobalMemoryStatusEx(self, status: Any) -> int:
            words = ctypes.cast(status, ctypes.POINTER(ctypes.c_uint32))
            assert words[0] == 64
            words[2], words[3] = 0xC0000000, 3
            return 1

    monkeypatch.setattr(arguments.sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "WinDLL", lambda name: Kernel32(), raising=False)
    assert arguments._physical_memory() == 15 << 30


# -- instructions by name ------------------------------------------------------------------------------------


@each(
    "ask",
    [
        lambda ins: ptxlab.views.fragment(ins, "C").title,
        lambda ins: ptxlab.views.where(ins, "A", 9, 5).records(),
        lambda ins: ptxlab.views.holds(ins, "C", 5).records(),
        lambda ins: ptxlab.views.facts(ins)["shape"],
        lambda ins: ptxlab.views.explain(ins, 1, 2).formula,
        lambda ins: ptxlab.views.cute(ins).rows,
        lambda ins: ptxlab.views.values(ins, "C", np.ones((16, 8))).notes,
        lambda ins: ptxlab.views.product(ins).title,
        lambda ins: ptxlab.views.registers(ins, 3).title,
        lambda ins: ptxlab.numerics.has(ins, "sm_80"),
        lambda ins: ptxlab.numerics.model_for(ins, "sm_80").rule,
        lambda ins: ptxlab.gpu.model(ins),
    ],
)
def test_names_for_instructions(ask: Callable[[Any], object]) -> None:
    assert ask(F16) == ask(ptxlab.instruction(F16))
    with pytest.raises(PtxlabError, match="PTX text, found int"):
        ask(16)
