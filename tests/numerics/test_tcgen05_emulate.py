"""tcgen05.mma emulated: words of a B200 that others published, and every modifier against its definition."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, inputs
from ptxlab.isa.catalog import tcgen05_forms
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operation import Operation
from ptxlab.isa.tcgen05 import MMA_FAMILIES, TensorInstruction
from ptxlab.isa.zero_column_mask import ZeroColumnMask
from ptxlab.numerics.emulate import emulate, model_of
from ptxlab.numerics.fused_dispatch import backend
from ptxlab.numerics.fused_plain import fused
from ptxlab.numerics.trace import trace
from tests.cases import each, refuses
from tests.numerics import reference

F16 = "tcgen05.mma.cta_group::1.kind::f16"
MXF4 = "tcgen05.mma.cta_group::1.kind::mxf4.block_scale"
SPARSE = "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale"
NVFP4 = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16"

#: Results of a B200 that sf-tensor/tcgen05 publishes (github, MIT licence, commit 8fce64d, tcgen05_model/
#: validation.py; those below the floor: commit affce0c, tests/test_model.py): codes of a row of A, a column
#: of B, their scales, C and D.
PUBLISHED = json.loads((Path(__file__).parent / "published_tcgen05.json").read_text())


def tensor(name: str, **parts: Any) -> TensorInstruction:
    ins = ptxlab.instruction(name, **parts)
    assert isinstance(ins, TensorInstruction)
    return ins


def split(text: str, count: int) -> list[int]:
    width = len(text) // count
    return [int(text[i : i + width], 16) for i in range(0, len(text), width)]


def random_operands(ins: TensorInstruction, seed: int = 0, spread: int = 6, **modifiers: Any) -> Operation:
    """Numbers of many sizes, and scales around 1."""
    rng = np.random.default_rng(seed)

    def values(operand: Any) -> Any:
        if not operand.dtype.is_float:
            return rng.integers(0, 1 << operand.dtype.bits, operand.shape, dtype=np.int64)
        with np.errstate(over="ignore"):
            wide = rng.standard_normal(operand.shape) * 2.0 ** rng.integers(-spread, spread, operand.shape)
            return operand.dtype.encode(np.clip(wide, -6, 6))

    codes = {"a": values(ins.a), "b": values(ins.b), "c": values(ins.c)}
    if ins.e is not None:
        codes["e"] = rng.choice(list(ins.nibbles), ins.e.shape)
    for name in ("scale_a", "scale_b"):
        if name in ins.inputs:
            one = ins.inputs[name].dtype.encode([1.0])[0]
            codes[name] = one + rng.integers(-4, 5, ins.inputs[name].shape)
    packed = {name: ins.inputs[name].pack_codes(each_codes) for name, each_codes in codes.items()}
    return Operation.of(ins, **packed, modifiers=Modifiers(**modifiers))


def by_fractions(operands: Operation, row: int, col: int) -> int:
    """Code of an element of D, from exact fractions: MMA-Sim, arXiv 2511.10909, with sf-tensor's floors."""
    ins = operands.ins
    assert isinstance(ins, TensorInstruction)
    problem = reference.Problem(operands)
    pairs, c = problem.pairs(row, col), problem.c[row][col]
    if ins.kind in ("i8", "ti16"):
        sign = -1 if ins.descriptor.negate_a != ins.descriptor.negate_b else 1
        products = sum(_signed(a, ins.a_type) * _signed(b, ins.b_type) for a, b in pairs)
        total = c - (c >> 31 << 32) + sign * products
        return (min(max(total, -(1 << 31)), (1 << 31) - 1) if ins.satfinite else total) & 0xFFFFFFFF
    if ins.descriptor.negate_a != ins.descriptor.negate_b:
        pairs = [(a ^ 1 << (ins.a.dtype.bits - 1), b) for a, b in pairs]
    types, floor = (ins.a_type, ins.b_type, ins.d_type), -133 if ins.d_type == "f32" else -21
    if problem.scales is None:
        return fused(pairs, c, types, (25, 23, floor))
    scales = list(zip(problem.scales[0][row], [line[col] for line in problem.scales[1]], strict=True))
    if ins.kind == "mxf8f6f4":
        return fused(pairs, c, types, (25, 23, -139), scales=scales)
    return fused(pairs, c, types, (35, 23, -139), scales=scales, scale_type=str(ins.scale_type), block=16)


def _signed(code: int, dtype: str) -> int:
    if dtype == "s1z4m11":
        return -(code & 0x7FF) if code >> 15 else code & 0x7FF
    return code - 256 if dtype == "s8" and code > 127 else code


# -- truth ---------------------------------------------------------------------------------------------------


def test_words_of_a_b200() -> None:
    assert len(PUBLISHED) == 77
    for case in PUBLISHED:
        ins = tensor(case["instruction"], m=128, n=8, **case["parts"])
        codes = {
            name: np.zeros(operand.shape, dtype=operand.dtype.code_type)
            for name, operand in ins.inputs.items()
        }
        codes["a"][5], codes["b"][:, 3] = split(case["a"], ins.a.shape[1]), split(case["b"], ins.k)
        codes["c"][5, 3] = int(case["c"], 16)
        if ins.e is not None:
            codes["e"][:] = case["nibble"]
        if ins.scale_vec:
            codes["scale_a"][5] = split(case["scale_a"], ins.scale_vec)
            codes["scale_b"][:, 3] = split(case["scale_b"], ins.scale_vec)
        operands = Operation.of(ins, **{name: ins.inputs[name].pack_codes(x) for name, x in codes.items()})
        d = ins.d.unpack_codes(emulate(operands, model="sm_100"))
        assert hex(d[5, 3]) == hex(int(case["d"], 16)), case["name"]
        assert trace(operands, 5, 3).code == d[5, 3], case["name"]


FORMS = [
    (F16, {"m": 64, "n": 8}),
    (F16, {"m": 64, "n": 8, "d": "f16", "negate_a": True}),
    ("tcgen05.mma.cta_group::2.kind::tf32", {"m": 128, "n": 16, "negate_a": True, "negate_b": True}),
    ("tcgen05.mma.cta_group::2.kind::f8f6f4", {"m": 256, "n": 16, "a": "e3m2", "b": "e2m1", "d": "f16"}),
    ("tcgen05.mma.cta_group::1.kind::i8", {"m": 64, "n": 24, "a": "s8", "b": "u8", "saturate": True}),
    ("tcgen05.mma.ws.cta_group::1.kind::f16", {"m": 32, "n": 64, "a": "bf16", "b": "f16"}),
    ("tcgen05.mma.ws.sp.cta_group::1.kind::i8", {"m": 64, "n": 64}),
    ("tcgen05.mma.sp.cta_group::1.kind::tf32", {"m": 128, "n": 8, "selector": 2}),
    ("tcgen05.mma.sp.cta_group::2.kind::f8f6f4", {"m": 128, "n": 16, "a": "e2m3"}),
    ("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", {"n": 8, "scale_a_id": 3, "scale_b_id": 1}),
    ("tcgen05.mma.sp.cta_group::2.kind::mxf8f6f4.block_scale", {"m": 256, "n": 16, "b": "e5m2"}),
    (MXF4, {"n": 8, "scale_a_id": 2}),
    (MXF4, {"n": 8, "k": 96}),
    (NVFP4, {"n": 8, "scale": "ue4m3", "negate_b": True}),
    ("tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.block16", {"n": 8, "scale": "ue4m3"}),
    ("tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.block32", {"n": 8, "scale": "ue8m0"}),
    # of sm_107, as sm_100 would:
    ("tcgen05.mma.sp.cta_group::2.kind::ti16", {"m": 128, "n": 32, "negate_b": True}),
    ("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", {"n": 8, "k": 64, "a": "e5m2", "b": "e3m2"}),
    ("tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale", {"n": 8, "k": 128, "a": "e2m1", "b": "e2m3"}),
    (SPARSE, {"n": 8, "k": 192, "sparsity_version": 1}),
    (NVFP4, {"n": 8, "scale": "ue5m3"}),
]


@each("form", FORMS, ids=lambda form: f"{form[0]} {form[1]}")
@pytest.mark.slow
def test_d_is_what_the_rule_written_down_again_gives(form: tuple[str, dict[str, Any]]) -> None:
    ins = tensor(form[0], **form[1])
    operands = random_operands(ins)
    d = ins.d.unpack_codes(emulate(operands))
    rng = np.random.default_rng(1)
    for row, col in zip(
        rng.integers(0, ins.m, 12).tolist(), rng.integers(0, ins.n, 12).tolist(), strict=True
    ):
        assert hex(d[row, col]) == hex(by_fractions(operands, row, col)), (row, col)
        assert trace(operands, row, col).code == d[row, col]


def test_a_block_of_zeros_counts_by_its_scales() -> None:
    ins = tensor(MXF4, n=8)
    A, C = np.zeros((128, 64)), np.full((128, 8), 1 + 2.0**-23)
    d = ins(A, np.ones((64, 8)), C, scale_a=np.full((128, 2), 2.0**14))  # of C 21 bits are kept
    by_trace = ins.trace(A, np.ones((64, 8)), C, 3, 5, scale_a=np.full((128, 2), 2.0**14))
    assert d[3, 5] == 1 and by_trace.steps[0].top == 14 and by_trace.value == 1


def test_every_form_has_arithmetic_or_says_why_not() -> None:
    known, reasons = 0, set()
    for family in MMA_FAMILIES:
        for form in tcgen05_forms(family):
            assert isinstance(form, TensorInstruction)
            try:
                model = model_of(form)
            except PtxlabError as error:
                reasons.add(str(error).split(": ", 1)[1])
            else:
                known += 1
                assert model.chip == "sm_100"
                assumed = form.kind == "ti16" or form.decompress or (form.ws and form.kind != "i8")
                assert model.evidence == ("assumed" if assumed else "published")
    assert known > 60
    assert not reasons
    for ins in (tensor(MXF4, k=96), tensor(SPARSE, sparsity_version=1), tensor(NVFP4, scale="ue5m3")):
        assert model_of(ins).evidence == "assumed"


# -- words, batches, speed -----------------------------------------------------------------------------------


@each("form", [FORMS[i] for i in (0, 5, 8, 9, 12)], ids=lambda form: f"{form[0]} {form[1]}")
def test_matrices_words_batches_and_workers_agree(form: tuple[str, dict[str, Any]]) -> None:
    ins = tensor(form[0], **form[1])
    parts = [random_operands(ins, seed) for seed in range(3)]
    arrays = {name: np.stack([getattr(part, name) for part in parts]) for name in ins.inputs if name != "b"}
    batch = Operation.of(ins, b=parts[0].b, **arrays)
    d = emulate(batch)
    assert d.shape == (3, *ins.d.stored_shape) and d.dtype == np.uint32
    np.testing.assert_array_equal(d[0], emulate(parts[0]))
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(emulate(batch, executor=pool), d)
    copied = pickle.loads(pickle.dumps(batch))
    np.testing.assert_array_equal(emulate(copied), d)
    if ins.a_space == "shared" and ins.kind in ("f16", "mxf8f6f4") and not ins.ws:
        words = ins.a_from("tensor").a.pack_codes(parts[0].a)
        beside = Operation.of(ins.a_from("tensor"), **{**vars_of(parts[0]), "a": words})
        np.testing.assert_array_equal(emulate(beside), d[0])


def vars_of(operands: Operation) -> dict[str, Any]:
    return {name: getattr(operands, name) for name in operands.ins.inputs}


@pytest.mark.slow
def test_numba_and_numpy_agree() -> None:
    pytest.importorskip("numba")
    scaled = tensor("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", n=72, a="e4m3", b="e5m2")
    sparse = tensor("tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale", n=8)
    plain = [{"m": 64, "n": 8}, {"m": 64, "n": 72}, {"m": 128, "n": 16, "d": "f16"}]
    every = [random_operands(tensor(F16, **parts), spread=14) for parts in plain]
    every += [inputs.make(ins, name, 2) for ins in (scaled, sparse) for name in inputs.categories(ins)]
    for operands in every:
        with backend("numpy"):
            expected = emulate(operands)
        with backend("numba"):
            np.testing.assert_array_equal(emulate(operands), expected)


# -- modifiers -----------------------------------------------------------------------------------------------


def test_arguments_of_the_instruction() -> None:
    ins = tensor(F16, m=64, n=16)
    operands = random_operands(ins)
    a, b, c = operands.a, operands.b, operands.c | np.uint32(1)
    d = ins.emulate(a, b, c)
    free = np.arange(128) % 32 >= 16  # layout F
    np.testing.assert_array_equal(d[free], c[free])
    cleared = ins.emulate(a, b, c, enable_input_d=False)
    np.testing.assert_array_equal(cleared[~free], ins.emulate(a, b, np.zeros_like(c))[~free])
    disabled = ins.emulate(a, b, c, disable_output_lane=0b101 | 1 << 127, enable_input_d=False)
    np.testing.assert_array_equal(disabled[[0, 2, 127]], c[[0, 2, 127]])
    np.testing.assert_array_equal(disabled[3:15], cleared[3:15])
    values = ins.c.unpack(c)
    scaled = ins.emulate(a, b, ins.c.pack(values * np.float32(2.0**-9)))
    np.testing.assert_array_equal(ins.emulate(a, b, c, scale_input_d=9)[~free], scaled[~free])
    signalling = ins.c.pack_codes(np.full((64, 16), 0x7F800001, dtype=np.uint32))  # NaN, and no warning
    assert (ins.emulate(a, b, signalling, scale_input_d=1)[~free] == 0x7FFFFFFF).all()
    A, B, tiny = ins.a.unpack(a) * 2.0**-8, ins.b.unpack(b) * 2.0**-8, np.full((64, 16), 2.0**-126)
    by_trace = ins.trace(A, B, tiny, 7, 3, scale_input_d=15)  # C has more bits than f32 holds
    assert by_trace.code == ins(A, B, tiny, scale_input_d=15).view(np.uint32)[7, 3]
    ws = tensor("tcgen05.mma.ws.cta_group::1.kind::f16", m=32, n=64)
    operands, mask = random_operands(ws), ZeroColumnMask(use=4, skip=3)
    masked = ws.d.unpack_codes(ws.emulate(operands.a, operands.b, operands.c, zero_column_mask=mask))
    zeros = mask.zeros(32, 64)
    np.testing.assert_array_equal(masked[:, zeros], ws.c.unpack_codes(operands.c)[:, zeros])
    np.testing.assert_array_equal(masked[:, ~zeros], ws.d.unpack_codes(emulate(operands))[:, ~zeros])
    for kind in ("f16", "i8"):  # PTX ISA: "columns from 2 to 129 will be used"
        far = tensor(f"tcgen05.mma.ws.cta_group::1.kind::{kind}", m=64, n=128, max_shift=8)
        A, B = (np.random.default_rng(5).integers(0, 9, shape) for shape in ((64, far.k), (far.k, 136)))
        mask = ZeroColumnMask(use=4, skip=3, shift=2)
        used = B[:, 2:130] * ~mask.zeros(64, 128)
        np.testing.assert_array_equal(far(A, B, zero_column_mask=mask), A @ used)
        np.testing.assert_array_equal(far(A, B), A @ B[:, :128])
        seen = far.trace(A, B, None, 5, 3, zero_column_mask=mask)
        assert seen.value == A[5] @ used[:, 3] and seen.steps[0].terms[1].column == 5


def test_matmul_goes_through_tcgen05() -> None:
    rng = np.random.default_rng(5)
    A, B, C = rng.integers(-8, 8, (70, 52)), rng.integers(-8, 8, (52, 21)), rng.integers(-9, 9, (70, 21))
    for name, parts in (FORMS[0], FORMS[2], FORMS[5]):
        ins = tensor(name, **{**parts, "negate_a": False, "negate_b": False})
        np.testing.assert_array_equal(ptxlab.matmul(A, B, C, ins), A @ B + C)
    for sparse in (tensor("tcgen05.mma.sp.cta_group::1.kind::f16", m=64, n=8), tensor(SPARSE, n=8)):
        pruned, few = ptxlab.prune(np.clip(A[:, :48], -4, 4), sparse), np.clip(B[:48], -4, 4)
        np.testing.assert_array_equal(ptxlab.matmul(pruned, few, C, sparse), pruned @ few + C)
    scale_a, scale_b = 2.0 ** rng.integers(-3, 3, (70, 4)), 1.5 * 2.0 ** rng.integers(-3, 3, (4, 21))
    four = np.clip(A, -4, 4), np.clip(B, -4, 4)
    exact = (four[0] * np.repeat(scale_a, 16, 1)[:, :52]) @ (four[1] * np.repeat(scale_b, 16, 0)[:52])
    d = ptxlab.matmul(*four, None, tensor(NVFP4, n=8, scale="ue4m3"), scale_a=scale_a, scale_b=scale_b)
    np.testing.assert_array_equal(d, exact)


def test_what_is_not_known_or_not_taken_is_a_sentence() -> None:
    ins = tensor(F16, m=64, n=16)
    zeros = np.zeros((64, 16), np.uint16), np.zeros((16, 16), np.uint16), np.zeros((128, 16), np.uint32)
    ws = tensor("tcgen05.mma.ws.cta_group::1.kind::f16", m=32, n=64)
    shifted = ZeroColumnMask(shift=8).code
    nowhere = tensor(SPARSE, k=192)
    for call, message in (
        (lambda: ins.emulate(*zeros, scale_input_d=16), "scale_input_d=16: .* takes 0, 1, 2"),
        (lambda: ins.emulate(*zeros, disable_output_lane=1 << 128), "takes a mask of 128 bits"),
        (lambda: ins.emulate(*zeros, scale_d=False), "scale_d=False: tcgen05.* takes only True"),
        (lambda: ins.emulate(*zeros, zero_column_mask=1), "zero_column_mask=1: tcgen05.* takes only 0"),
        (lambda: ins.emulate(*zeros[:2], np.zeros((128, 8), np.uint32)), r"C: found words of shape \(128, 8"),
        (lambda: ins.emulate(*zeros, zeros[2]), "e: .* has no such operand; it has A, B, C, D"),
        (lambda: ins.emulate(*zeros, model="sm_90"), "model 'sm_90' has no arithmetic for tcgen05.mma"),
        (lambda: ws(np.ones((32, 16)), np.ones((16, 64)), zero_column_mask=shifted), "take max_shift=8"),
        (lambda: model_of(ins, "sm_103"), "model 'sm_103': as far as is known it computes as sm_100"),
        (lambda: model_of(nowhere), "no target has it with this descriptor: sm_100a lacks K = 192"),
    ):
        refuses(message, call)
