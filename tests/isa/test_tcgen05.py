"""tcgen05: the catalogue against assemblers, descriptors and layouts against CUTLASS's."""

from __future__ import annotations

import json
import random
from dataclasses import fields, replace
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, instruction, memory
from ptxlab.isa.catalog import TCGEN05_FAMILIES, tcgen05_forms
from ptxlab.isa.instruction_descriptor import KINDS, InstructionDescriptor, shapes_of
from ptxlab.isa.parse import parse
from ptxlab.isa.spelling import tcgen05_form, tcgen05_mnemonics
from ptxlab.isa.tcgen05 import TensorInstruction, TensorTransfer
from ptxlab.isa.tcgen05.tcgen05_form import TYPES
from ptxlab.isa.tensor_operand import DATA_PATHS, TensorOperand, accessible_lanes
from ptxlab.isa.zero_column_mask import ZeroColumnMask
from tests import assembler
from tests.cases import refuses
from tests.isa.tcgen05_lines import HEAD, Line, lines, taken
from tests.sampling import every_third
from tools.record.tcgen05 import FILE, decode, digest
from tools.site.tcgen05 import page

F16 = "tcgen05.mma.cta_group::1.kind::f16"


# -- legality -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def recorded(release: str) -> list[frozenset[str]]:
    """The targets that take each line."""
    record = json.loads(FILE.read_text(encoding="utf-8"))
    assert record["digest"] == digest(lines()), "other lines were recorded: python -m tools.record tcgen05"
    rows = record["assemblers"][release]
    sets = {letter: frozenset(targets.split()) for letter, targets in rows["targets"].items()}
    return [sets[letter] for letter in decode(rows["lines"])]


def expected(line: Line) -> frozenset[str]:
    """The targets that have the form with these operands, by the catalogue."""
    form = tcgen05_form(line.mnemonic)
    if form is None or not line.fits:
        return frozenset()
    targets = frozenset(form.targets)
    if not isinstance(form, TensorInstruction):
        return targets
    if form.ashift and line.a == "shared":
        return frozenset()
    number = "zero-column-mask-desc" if form.ws else "scale-input-d"  # what a last number is
    if form.ws and line.scale and line.zero:
        return frozenset()
    for name, given in (
        ("disable-output-lane", line.lanes > 0),
        (number, line.scale),
        ("zero-column-mask-desc", line.zero),
    ):
        if given:
            targets &= frozenset(form.arguments.get(name, ()))
    if line.lanes and line.lanes != form.mask_registers:
        return frozenset()
    return targets


def is_quirk(line: Line) -> bool:
    """`quirks.SCALE_INPUT_D`: a last number that integer kinds do not have."""
    return (
        line.scale and ".ws" not in line.mnemonic and ("::i8" in line.mnemonic or "::ti16" in line.mnemonic)
    )


@pytest.mark.parametrize("compiler", assembler.COMPILERS, ids=str)
def test_the_catalogue_is_what_the_assembler_recorded(compiler: assembler.Compiler) -> None:
    known = frozenset(compiler.targets)
    for line, targets in zip(lines(), recorded(compiler.release), strict=True):
        if is_quirk(line):
            assert expected(line) == frozenset(), line.text
            continue
        form = tcgen05_form(line.mnemonic)
        has = form is not None and form.ptx_version <= compiler.ptx_version
        assert targets == (expected(line) & known if has else frozenset()), line.text


@pytest.mark.parametrize(
    ("compiler", "target"),
    [(assembler.OLDEST, "sm_100a"), (assembler.NEWEST, "sm_100f"), (assembler.NEWEST, "sm_107a")],
    ids=str,
)
def test_the_record_is_what_the_assembler_says(compiler: assembler.Compiler, target: str) -> None:
    places = range(compiler.targets.index(target), len(lines()), 101)
    says = taken([lines()[place] for place in places], target, compiler)
    assert says == [target in recorded(compiler.release)[place] for place in places]


def test_qualifiers_in_any_order() -> None:
    """As the assembler takes them, which is asked about some."""
    shuffler = random.Random(5)
    names = list(tcgen05_mnemonics())
    spelt: list[Line] = []
    for line, targets in zip(lines(), recorded(assembler.NEWEST.release), strict=True):
        if "sm_107a" not in targets:
            continue
        head, *words = line.mnemonic.split(".cta_group", 1)[0].split(".sync", 1)[0].split("|")
        rest = line.mnemonic[len(head) + 1 :].split(".")
        if len(rest) < 2 or "::2:4" in line.mnemonic or "b8x16" in line.mnemonic:
            continue
        shuffler.shuffle(rest)
        name = ".".join([head, *words, *rest])
        assert tcgen05_form(name) == tcgen05_form(line.mnemonic), name
        spelt.append(line._replace(mnemonic=name))
    assert all(taken(shuffler.sample(spelt, 200), "sm_107a", assembler.NEWEST))
    assert all(tcgen05_form(name).mnemonic == name for name in names)


@pytest.mark.parametrize(("target", "group"), [("sm_100a", 1), ("sm_100a", 2), ("sm_107a", 1)])
def test_legal_lines_assemble_to_the_end(target: str, group: int) -> None:
    """All `cta_group`s of a kernel are the same. Some lines of each instruction."""
    legal = [
        line
        for line, targets in zip(lines(), recorded(assembler.NEWEST.release), strict=True)
        if target in targets
        and f"cta_group::{3 - group}" not in line.mnemonic
        and "alloc" not in line.mnemonic
    ]
    by_opcode: dict[str, list[Line]] = {}
    for line in legal:
        by_opcode.setdefault(".".join(line.mnemonic.split(".")[:3]), []).append(line)
    some = [line for group_of in by_opcode.values() for line in group_of[:: max(1, len(group_of) // 6)]]
    head = HEAD.format(target=target, version=assembler.NEWEST.ptx_version)
    text = head + "\n".join(line.text for line in some) + "\nret; }\n"
    assert assembler.NEWEST.assemble(text, target) is None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "tcgen05.mma.cta_group::1",
            ".kind:: is missing; nearest legal: tcgen05.mma.cta_group::1.kind::f16, ",
        ),
        ("tcgen05.mma.ws.cta_group::2.kind::f16", ".ws and .cta_group::2 do not go together; "),
        ("tcgen05.mma.sp.ws.cta_group::1.kind::f16", "its qualifiers stand in the wrong order; "),
        (f"{F16}.ashift.collector::a::fill", r"\.ashift and \.collector::a::fill do not go together"),
        ("tcgen05.mma.cta_group::1.kind::f64", "tcgen05.mma has no qualifier .kind::f64; "),
        ("tcgen05.ld.sync.aligned.16x256b.x64.b32", ".16x256b and .x64 do not go together; "),
        (
            "tcgen05.mma.sync.aligned.m128n256k16.f32.f16.f16.f32",
            "types of tcgen05.mma are not in its name .* nearest legal: tcgen05.mma.cta_group::1.kind::f16, ",
        ),
        ("tcgen05.multiply", "no instruction is called tcgen05.multiply; there are tcgen05.mma, "),
    ],
)
def test_illegal_spellings(name: str, sentence: str) -> None:
    refuses(sentence, instruction, name)


def test_other_tools_say_that_they_lack_it() -> None:
    refuses("^tcgen05.mma works in tensor memory, and this takes", parse, F16)


def test_pasted_code() -> None:
    code = f'asm volatile("tcgen05.fence::after_thread_sync; {F16} [%0], %1, %2, %3, p;" :: "r"(d));'
    assert instruction(code) == instruction(F16)
    in_tensor_memory = (
        f'asm volatile("{F16}\\n\\t"  " [%0], [%1], %2, %3, {{%5, %6, %7, %8}}, p;" :: "r"(d));'
    )
    assert instruction(in_tensor_memory) == instruction(F16).a_from("tensor") != instruction(F16)
    assert instruction("tcgen05.wait::st.sync.aligned;").purpose.startswith("waits until")
    with pytest.raises(PtxlabError, match="^the text has 2 different tcgen05 instructions"):
        instruction(f"{F16} x; tcgen05.cp.cta_group::1.128x256b y;")
    refuses("^m: only tcgen05.mma has a descriptor; ", instruction, "mma.m16n8k16.f32.f16", m=16)


@pytest.mark.parametrize(
    ("atom", "form"),
    [
        ("SM100_MMA_F16BF16_SS", "<tcgen05.mma.cta_group::1.kind::f16 m128n256k16.f32.f16.f16>"),
        (
            "SM100_MMA_F16BF16_2x1SM_TS<cutlass::bfloat16_t, bfloat16_t, float, 256, 64, UMMA::Major::K>",
            "<tcgen05.mma.cta_group::2.kind::f16 m256n64k16.f32.bf16.bf16, A in tensor memory>",
        ),
        (
            "SM100_MMA_S8_SS_SPARSE<int8_t, uint8_t, int32_t, 64, 48, UMMA::Major::K, UMMA::Major::K>",
            "<tcgen05.mma.sp.cta_group::1.kind::i8 m64n48k64.s32.s8.u8>",
        ),
        (
            "SM100_MMA_MXF4_SS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 128, 64, 16, Major::K>",
            "<tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 m128n64k64.f32.e2m1.e2m1>",
        ),
        ("SM100_TMEM_STORE_16dp32b4x_16b", "<tcgen05.st.sync.aligned.16x32bx2.x4.unpack::16b.b32>"),
        ("SM100_UTCCP_4x32dp128bit_2cta", "<tcgen05.cp.cta_group::2.32x128b.warpx4>"),
        ("SM100_UTCCP_2x64dp128bitlw0123_1cta", "<tcgen05.cp.cta_group::1.64x128b.warpx2::01_23>"),
        ("SM100_UTCCP_128dp256bit_1cta", "<tcgen05.cp.cta_group::1.128x256b>"),
    ],
)
def test_atoms_of_cutlass(atom: str, form: str) -> None:
    assert repr(instruction(atom)) == form


def test_the_catalogue_selects_forms_of_tcgen05() -> None:
    rows = ptxlab.catalog("tcgen05.mma", "sm_100a")
    assert {row.family for row in rows} == {"tcgen05.mma"} and all(row.supports("sm_100a") for row in rows)
    assert all(row.supports("sm_107a") for row in ptxlab.catalog("tcgen05.mma.sp", "sm_107a"))
    assert ptxlab.catalog("tcgen05.mma", "sm_120a") == () == ptxlab.catalog("tcgen05.shift", "sm_100f")
    assert ptxlab.catalog("tcgen05") == tcgen05_forms()
    refuses(r"^unknown family 'tcgen05.sub'; there are mma, .*\.wait$", ptxlab.catalog, "tcgen05.sub")


def test_forms_state_the_ptx_version_they_need() -> None:
    for name, version in (
        (F16, "8.6"),
        ("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", "8.7"),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32", "8.8"),
        (f"{F16}.collector::b::fill", "9.4"),
        ("tcgen05.alloc.exclusive.cta_group::1.sync.aligned.b32", "9.4"),
        ("tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32", "8.8"),
    ):
        form = instruction(name)
        assert str(form.ptx_version) == version
        line = next(line for line in lines() if line.mnemonic == name)
        target = next(target for target in ("sm_100a", "sm_103a", "sm_107a") if form.supports(target))
        assert taken([line], target, assembler.NEWEST) == [True]
    assert str(instruction(F16).ptx_version_for("sm_107f")) == "9.4"
    exclusive = instruction("tcgen05.alloc.exclusive.cta_group::1.sync.aligned.b32")
    assert 96 in exclusive.columns() and exclusive.columns("sm_107a")[-1] == 576
    assert instruction("tcgen05.wait::ld.sync.aligned").columns() == ()


# -- the instruction descriptor -----------------------------------------------------------------------------

#: Lowest bit and width, as the unions of CUTLASS's mma_sm100_desc.hpp declare them.
CUTLASS_PLAIN = {
    "selector": (0, 2), "sparse": (2, 1), "saturate": (3, 1), "d": (4, 2), "a": (7, 3), "b": (10, 3),
    "negate_a": (13, 1), "negate_b": (14, 1), "transpose_a": (15, 1), "transpose_b": (16, 1), "n": (17, 6),
    "m": (24, 5), "max_shift": (30, 2),
}  # fmt: skip
CUTLASS_SCALED = {
    "sparse": (2, 1), "scale_b_id": (4, 2), "a": (7, 3), "b": (10, 3), "negate_a": (13, 1),
    "negate_b": (14, 1), "transpose_a": (15, 1), "transpose_b": (16, 1), "n": (17, 6), "scale": (23, 1),
    "m": (24, 5), "scale_a_id": (29, 2), "k": (31, 1),
}  # fmt: skip
CUTLASS_CODES = {
    "f16": 0, "bf16": 1, "tf32": 2, "u8": 0, "s8": 1, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5,
}  # fmt: skip


def cutlass_code(descriptor: InstructionDescriptor) -> int:
    """The 32 bits, from CUTLASS's unions and enumerations."""
    scaled = descriptor.kind.startswith("mx")
    code = 0
    for name, (low, bits) in (CUTLASS_SCALED if scaled else CUTLASS_PLAIN).items():
        value = getattr(descriptor, name)
        if name in "ab":
            value = 1 if descriptor.kind.startswith("mxf4") else CUTLASS_CODES[value]
        elif name == "d":
            value = ("f16", "f32", "s32").index(value)
        elif name in "mn":
            value = value >> (4 if name == "m" else 3)
        elif name == "scale":
            value = ("ue4m3", "ue8m0").index(value)
        elif name == "k":
            value = value in (96, 192)
        elif name == "max_shift":
            value = (0, 8, 16, 32).index(value)
        assert 0 <= value < 1 << bits
        code |= int(value) << low
    return code


def random_descriptor(kind: str, choose: random.Random) -> InstructionDescriptor:
    row = KINDS[kind]
    scaled = row.scaled
    parts = {
        "m": choose.choice((128, 256) if scaled else (32, 64, 128, 256)),
        "n": 8 * choose.randint(1, 32),
        "a": choose.choice(list(row.types)),
        "b": choose.choice(list(row.types)),
        "sparse": choose.random() < 0.5,
        **{name: choose.random() < 0.5 for name in ("negate_a", "negate_b")},
    }
    if not scaled:
        parts |= {"d": choose.choice(list(row.results)), "selector": choose.randrange(4)}
        parts |= {"saturate": choose.random() < 0.5, "max_shift": choose.choice((0, 8, 16, 32))}
    else:
        parts |= {"scale": choose.choice([name for name in row.scales if name != "ue5m3"])}
        parts |= {"scale_a_id": choose.randrange(4), "scale_b_id": choose.randrange(4)}
    if row.format != "mxf4":
        parts |= {name: choose.random() < 0.5 for name in ("transpose_a", "transpose_b")}
    return InstructionDescriptor(kind, **parts)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ti16"])
def test_the_descriptor_has_cutlass_bits(kind: str) -> None:
    choose = random.Random(kind)
    for _ in range(60):
        descriptor = random_descriptor(kind, choose)
        assert descriptor.code == cutlass_code(descriptor), descriptor
        assert InstructionDescriptor.decode(descriptor.code, kind) == descriptor
        assert sum(((1 << row.bits) - 1) << row.low for row in descriptor.bit_fields) < 1 << 32


def test_some_descriptors() -> None:
    """Of k = 96, and of PTX 9.4, which CUTLASS's unions do not have yet."""
    assert InstructionDescriptor("mxf4", k=96).code >> 31 == 1
    assert InstructionDescriptor("mxf4", k=128).code & 0x80000008 == 8
    assert InstructionDescriptor("f8f6f4", k=64).code >> 29 & 1 == 1
    assert InstructionDescriptor("mxf4nvf4", scale="ue5m3").code >> 23 & 3 == 2
    assert str(InstructionDescriptor("i8", m=64, n=24, a="s8", saturate=True, sparse=True, selector=0)) == (
        "m64n24k64, A s8, B u8, D s32, A sparse 2:4 (selector 0), saturating."
    )
    assert str(InstructionDescriptor("mxf4", transpose_a=False, negate_b=True, scale_b_id=2)) == (
        "m128n256k64, A and B e2m1, D f32, scales ue8m0 (id 0 of A, 2 of B), B negated."
    )


@pytest.mark.parametrize(
    ("code", "kind", "sentence"),
    [
        (1 << 32, "f16", "it has 32 bits"),
        (0x48, "f16", "bit 6 is 1, but is reserved and must be 0"),
        (0x8400010 | 3 << 7, "f16", r"type of A has code 3; there are 0 \(f16\), 1 \(bf16\)"),
        (0x400010, "f16", "m=0: the descriptor takes multiples of 16 up to 256"),
        (0x8400480 | 1 << 31 | 8, "mxf4", "K has code 3; there are codes 0 to 2"),
        (0, "f17", "^kind 'f17': there are f16, "),
    ],
)
def test_bits_that_mean_nothing(code: int, kind: str, sentence: str) -> None:
    refuses(sentence, InstructionDescriptor.decode, code, kind)


def test_what_is_wrong_for_a_mnemonic() -> None:
    form = instruction("tcgen05.mma.cta_group::2.kind::f8f6f4")
    wrong = InstructionDescriptor("f8f6f4", m=64, n=24, b="e2m1", transpose_b=True, max_shift=8, selector=1)
    assert form.faults(wrong) == (
        "M is 64; with cta_group::2 it is 128 or 256",
        "N is 24; with a transposed B of 4 bits it is a multiple of 32",
        "max_shift is 8; only .ws shifts B",
        "selector is 1; a dense A has none",
    )
    assert form.faults(InstructionDescriptor("f8f6f4", m=256, n=24)) == (
        "N is 24; with cta_group::2 it is a multiple of 16 up to 256",
    )
    assert form.faults(InstructionDescriptor("f8f6f4", m=256, n=48, transpose_b=True)) == (
        "N is 48; with a transposed B of 8 bits it is a multiple of 32",
    )
    scaled = instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale")
    assert scaled.faults(replace(scaled.descriptor, a="e2m1", transpose_a=True)) == ()
    assert scaled.faults(replace(scaled.descriptor, a="e2m1", transpose_a=True, k=64)) == (
        "A is transposed; e2m1 with K = 64 cannot be",
    )
    by_32 = instruction("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block32", scale="ue4m3")
    assert by_32.supports("sm_107f") and not by_32.supports("sm_100a")
    fast = InstructionDescriptor("f8f6f4", m=256, k=64)
    assert form.faults(fast) == () and form.faults(fast, "sm_100a") == (
        "sm_100a lacks K = 64, which sm_107a, sm_107f have",
    )
    assert form.faults(InstructionDescriptor("f8f6f4", m=256, sparse=True))[0] == (
        "its sparse bit is 1; tcgen05.mma takes 0"
    )
    deep = form.with_descriptor(k=64)
    assert not deep.supports("sm_100a") and deep.supports("sm_107f")
    refuses("^tcgen05.mma.*: descriptor 0x.*: bit 6 is 1", instruction, F16, descriptor=0x48)
    refuses("takes no 'lanes'; its descriptor has m, n, k, ", instruction, F16, lanes=3)


def test_shapes_are_the_manuals() -> None:
    """Some rows of "Various combinations of .kind and shapes", written down again."""
    assert shapes_of("i8", False, False, 1)[0].n[:6] == (8, 16, 24, 32, 48, 64)
    assert {
        (kind, sparse) for kind, sparse in product(KINDS, (False, True)) if shapes_of(kind, sparse, True, 1)
    } == {(kind, sparse) for kind in ("f16", "tf32", "f8f6f4", "i8", "ti16") for sparse in (False, True)}
    assert not any(shapes_of(kind, sparse, True, 2) for kind, sparse in product(KINDS, (False, True)))
    depths = {kind: [rows.k for rows in shapes_of(kind, True, False, 2)] for kind in KINDS}
    assert depths == {
        "f16": [32], "tf32": [16], "f8f6f4": [64, 128], "i8": [64], "ti16": [32], "mxf8f6f4": [64, 128],
        "mxf4": [128, 192], "mxf4nvf4": [128, 192],
    }  # fmt: skip
    form = instruction("tcgen05.mma.ws.sp.cta_group::1.kind::tf32")
    assert form.shapes == tuple(f"m{m}n{n}k16" for m in (32, 64, 128) for n in (64, 128))


# -- layouts ------------------------------------------------------------------------------------------------


def cute(shape: object, stride: object, index: np.ndarray) -> np.ndarray:
    """A CuTe layout of one mode at these indices: the first digit is the fastest."""
    if isinstance(shape, int):
        return index * stride
    total = np.zeros_like(index)
    for size, step in zip(shape, stride, strict=True):
        count = int(np.prod(np.array(_flat(size))))
        total = total + cute(size, step, index % count)
        index = index // count
    return total


def _flat(shape: object) -> list[int]:
    return [shape] if isinstance(shape, int) else [size for part in shape for size in _flat(part)]


def test_results_are_where_tilelang_and_cutlass_place_them() -> None:
    """TileLang's shapes and strides, which follow CUTLASS; layout C by the manual's words."""
    n = 64
    stated = {
        "A": f"(128,{n}):(1,128)", "B": f"(64,({n // 2},2)):(1,(128,64))", "C": f"((16,4),{n}):((1,32),128)",
        "D": f"(128,{n}):(1,128)", "E": f"(64,({n // 2},2)):(1,(128,64))", "F": f"((16,4),{n}):((1,32),128)",
        "G": f"(32,({n // 4},4)):(1,(128,32))",
    }  # fmt: skip
    assert {name: path.result(path.m, n).cute for name, path in DATA_PATHS.items()} == stated
    used = {
        (form.with_descriptor(m=m, n=n).path.name, form.cta_group, form.sparse, form.ws, m)
        for form in ptxlab.catalog("tcgen05")
        if isinstance(form, TensorInstruction) and form.kind == "f16" and not form.ashift
        for m in shapes_of("f16", form.sparse, form.ws, form.cta_group)[0].m
    }
    rows = (
        ("G", 1, True, 32), ("E", 1, True, 64), ("F", 1, False, 64), ("D", 1, True, 128),
        ("D", 1, False, 128), ("A", 2, False, 256),
    )  # fmt: skip
    assert used == {
        *((name, group, sparse, ws, m) for name, group, ws, m in rows for sparse in (False, True)),
        ("B", 2, False, False, 128),
        ("C", 2, True, False, 128),
    }


@pytest.mark.parametrize("group", [1, 2])
def test_rows_of_a_pair(group: int) -> None:
    """Each CTA of a pair has half of the rows, each by the same layout."""
    d = instruction(f"tcgen05.mma.cta_group::{group}.kind::f16", m=128, n=32, d="f16").d
    assert (d.ctas, d.columns) == ((1, 32) if group == 1 else (2, 16))
    matrix = np.arange(128 * 32).reshape(128, 32) % 1000
    words = d.pack(matrix)
    assert words.shape == (128 * group, d.columns) and (words >> 16 == 0).all(), "f16 in the lower half"
    assert (d.unpack(words) == matrix).all()
    place = d.where(100, 20)[0]
    assert d.holds(place.lane, place.column, place.cta) == [(100, 20)]
    expected_place = (0, 100, 20) if group == 1 else (1, 36 + 64, 4)
    assert (place.cta, place.lane, place.column) == expected_place
    assert place.address == place.lane << 16 | place.column


def test_multiplicands_in_tensor_memory() -> None:
    """CUTLASS's `tmem_frg`: rows as in D, elements packed; in two groups of lanes, held twice."""
    a = instruction("tcgen05.mma.cta_group::2.kind::f16", m=128).a_from("tensor").a
    assert isinstance(a, TensorOperand) and a.columns == 8
    assert [place[:3] for place in a.where(70, 5)] == [(1, 6, 2), (1, 70, 2)]
    assert [(place.low, place.high) for place in a.where(70, 5)] == [(16, 31)] * 2
    narrow = instruction("tcgen05.mma.cta_group::1.kind::f8f6f4", a="e2m1").a_from("tensor").a
    assert narrow.where(3, 6)[0] == (0, 3, 1, 18, 21), "in bytes, two bits from below"
    dense = instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale").a_from("tensor").a
    assert (dense.columns, dense.where(3, 9)[0]) == (8, (0, 3, 1, 4, 7))
    sparse = instruction("tcgen05.mma.sp.cta_group::1.kind::tf32", m=64).a_from("tensor").a
    assert (sparse.shape, sparse.where(63, 7)[0][:3]) == ((64, 8), (0, 111, 7))
    assert instruction(F16).a.space == "shared" and list(instruction(F16).tensors) == ["D"]


TF32_STRIDES = ((1, 1024, 16), (128, 8))


@pytest.mark.parametrize(
    ("name", "m", "shape", "stride", "logical", "copies"),
    [
        ("sp.cta_group::1.kind::tf32", 128, ((8, 2, 8), (8, 2)), TF32_STRIDES, 2, [0]),
        ("sp.cta_group::1.kind::f16", 128, ((8, 2, 8), (16, 2)), ((1, 2048, 16), (128, 8)), 4, [0]),
        ("sp.cta_group::1.kind::i8", 128, (128, 64), (1, 128), 4, [0]),
        ("sp.cta_group::1.kind::mxf4.block_scale", 128, (128, 128), (1, 128), 8, [0]),
        ("ws.sp.cta_group::1.kind::f16", 64, ((8, 2, 4), (16, 2)), ((1, 2048, 16), (128, 8)), 4, [0, 64]),
        ("ws.sp.cta_group::1.kind::tf32", 32, ((8, 2, 2), (8, 2)), TF32_STRIDES, 2, [0, 32, 64, 96]),
        ("ws.sp.cta_group::1.kind::f8f6f4", 64, (64, 64), (1, 128), 4, [0, 64]),
    ],
)
def test_metadata_is_where_cutlass_places_it(
    name: str, m: int, shape: tuple, stride: tuple, logical: int, copies: list[int]
) -> None:
    """`tmem_e_frg` and `tmem_e_frg_ws`: (row, k) -> lane + 128 * k', in elements of the dense A."""
    form = instruction(f"tcgen05.mma.{name}", m=m, n=64)
    e = form.e
    k = np.arange(form.k)
    at = cute(shape[0], stride[0], np.arange(m))[:, None] + cute(shape[1], stride[1], k)
    lane, nibble = at % 128, at // 128 // logical
    ours = e.layout.coords()[:, :, : e.shape[1]]
    assert e.shape == (m, form.k // logical)
    for copy, first in enumerate(copies):
        assert (ours[copy][:, k // logical, 0] == lane + first).all()
        assert (ours[copy][:, k // logical, 1] == nibble).all()
    assert len(ours) == len(copies)


def test_the_selector_chooses_a_column() -> None:
    """CUTLASS takes it from the lowest bit of the column."""
    form = instruction("tcgen05.mma.sp.cta_group::1.kind::f16", selector=1)
    assert form.selectors == (0, 1, 2, 3) and form.e.where(0, 0)[0][:3] == (0, 0, 1)
    assert instruction("tcgen05.mma.sp.cta_group::1.kind::i8").selectors == (0,)


@pytest.mark.parametrize(
    ("name", "parts", "count"),
    [
        ("mxf8f6f4.block_scale", {"scale_a_id": 3, "scale_b_id": 1}, 1),
        ("mxf8f6f4.block_scale", {"k": 64, "scale_a_id": 2}, 2),
        ("mxf4.block_scale.scale_vec::2X", {"scale_a_id": 2}, 2),
        ("mxf4nvf4.block_scale.block16", {"scale": "ue4m3"}, 4),
        ("mxf4nvf4.block_scale.block16", {"k": 96, "scale_b_id": 2}, 6),
    ],
)
def test_scales_come_from_tiles_of_shared_memory(name: str, parts: dict, count: int) -> None:
    """Tiles of 128x4 as libraries store them, copied by tcgen05.cp.32x128b: who reads which byte."""
    form = instruction(f"tcgen05.mma.cta_group::1.kind::{name}", n=160, **parts)
    copy = instruction("tcgen05.cp.cta_group::1.32x128b.warpx4").tensor("T")
    for scales, identity in ((form.scale_a, "scale_a_id"), (form.scale_b, "scale_b_id")):
        lines_, blocks = scales.shape if scales is form.scale_a else scales.shape[::-1]
        assert blocks == count
        first, tiles = parts.get(identity, 0), -(-lines_ // 128)
        stored = np.arange(lines_ * 8).reshape(lines_, 8) % 251
        shared = memory.tile_scales(stored.astype(np.uint8)).reshape(tiles, 2, 512)
        words = np.zeros((128, 8 * tiles), dtype=np.uint32)
        for tile, group in product(range(tiles), range(2)):
            rows = shared[tile, group].view("<u4").reshape(32, 4)
            at = 4 * (group * tiles + tile)
            words[:, at : at + 4] = copy.pack_codes(rows)
        codes = scales.unpack_codes(words)
        wanted = stored[:, first : first + count]
        assert (codes == (wanted if scales is form.scale_a else wanted.T)).all()
        assert scales.layout.copies == 4
    assert form.scale_a.source != "" and form.tensors.keys() == {"D", "SFA", "SFB"}


def test_scales_of_a_pair() -> None:
    """A's scales by rows, B's in both CTAs; CUTLASS's `tmem_sf_frg`."""
    form = instruction("tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale", m=256, n=64)
    assert {place.cta for place in form.scale_a.where(200, 0)} == {1}
    assert {(place.cta, place.lane) for place in form.scale_b.where(0, 40)} == {
        (cta, lane) for cta in (0, 1) for lane in (8, 40, 72, 104)
    }
    index = np.arange(128)
    lane_and_byte = cute((32, 4), (1, 512), index)
    coords = form.scale_a.layout.coords()[0, :128, 0]
    assert (coords[:, 0] == lane_and_byte % 128).all() and (coords[:, 1] == lane_and_byte // 128).all()
    pair = instruction("tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale", m=128)
    assert pair.scale_b.source.startswith("CUTLASS: each half") and pair.scale_b.columns == 4
    n = np.arange(256)  # CUTLASS: ((32,4),2,2):((1,512),64,32), of which the last mode has copies
    lane_and_byte = cute((32, 4, 2), (1, 512, 64), n)
    coords = pair.scale_b.layout.coords()[0, 0]
    assert (coords[:, 0] == lane_and_byte % 128).all() and (coords[:, 1] == lane_and_byte // 128).all()
    assert pair.scale_b.layout.copies == 4
    assert instruction(pair.mnemonic, m=128, n=80).scale_b.source.startswith("PTX ISA; CUTLASS has N in mult")


#: (thread, bit) -> bit of the region, 32 bits a column: DstLayout of CUTLASS's copy_traits_sm100.hpp.
CUTLASS_LOADS = {
    "16x64b.x1": (2, (2, 2, 8), (512, 32, 64), 32, 1),
    "16x64b.x4": (8, (2, 2, 8), (2048, 32, 256), (32, 4), (1, 64)),
    "16x128b.x1": (4, (4, 8), (32, 128), (32, 2), (1, 1024)),
    "16x128b.x2": (8, (4, 8), (32, 256), (32, 2, 2), (1, 2048, 128)),
    "16x256b.x1": (8, (4, 8), (64, 256), (64, 2), (1, 2048)),
    "16x256b.x2": (16, (4, 8), (64, 512), (64, 2, 2), (1, 4096, 256)),
    "16x32bx2.x2": (4, (16, 2), (128, 64), 64, 1),
    "32x32b.x2": (2, 32, 64, 64, 1),
}


@pytest.mark.parametrize("name", CUTLASS_LOADS)
def test_registers_are_where_cutlass_loads_them(name: str) -> None:
    columns, threads, thread_strides, values, value_strides = CUTLASS_LOADS[name]
    form = instruction(f"tcgen05.ld.sync.aligned.{name}.b32")
    registers = np.arange(0, 32 * form.registers, 32)
    bits = cute(threads, thread_strides, np.arange(32))[:, None] + cute(values, value_strides, registers)
    lane, column = bits // (32 * columns), bits % (32 * columns) // 32
    assert (form.columns, form.layout.shape[0]) == (columns, int(name[:2]))
    assert (form.layout.coords()[..., 0] == lane).all() and (form.layout.coords()[..., 1] == column).all()
    packed = instruction(f"tcgen05.ld.sync.aligned.{name}.pack::16b.b32").layout
    assert (packed.coords()[:, ::2, 0] == lane).all() and (packed.coords()[:, ::2, 1] == 2 * column).all()
    assert (packed.coords()[:, 1::2, 1] == 2 * column + 1).all(), "the upper half is the next column's"


def test_lookups_of_loads_both_ways() -> None:
    for form in every_third(tcgen05_forms("tcgen05.st"), 1):
        assert isinstance(form, TensorTransfer)
        address = (16 << 16 | 7) if form.shape != "32x32b" else 7
        for thread, register in ((0, 0), (77, form.registers - 1), (127, form.registers // 2)):
            lane, column = form.locate(thread, register, address)
            assert lane in accessible_lanes(thread // 32)
            assert (thread, register, 0) in [slot[:3] for slot in form.slots(lane, column, address)]
    split = instruction("tcgen05.ld.sync.aligned.16x32bx2.x2.b32")
    assert split.locate(20, 1, split=64) == (4, 65) and split.slots(4, 65, split=64)[0][:2] == (20, 1)
    with pytest.raises(PtxlabError, match="it begins in lane 8; 32x32b begins in a multiple of 32"):
        instruction("tcgen05.ld.sync.aligned.32x32b.x1.b32").locate(0, 0, 8 << 16)
    with pytest.raises(PtxlabError, match="^split=4: only 16x32bx2 reads or writes two places$"):
        instruction("tcgen05.ld.sync.aligned.32x32b.x1.b32").emulate(np.zeros((128, 8), np.uint32), split=4)
    refuses("^operand D: row 128 does not exist; rows go from 0 to 127$", instruction(F16).d.where, 128, 0)


def test_loads_and_stores_move_words() -> None:
    """D of an mma comes to the registers that the lookups name; a store puts it back."""
    d = instruction(F16, m=64, n=64).d
    matrix = np.random.default_rng(1).integers(0, 1000, (64, 64))
    words = np.zeros((2, 128, 80), dtype=np.uint32)
    words[..., 8:72] = d.pack(matrix)
    for shape in ("16x64b.x32", "16x128b.x16", "16x256b.x8", "32x32b.x64", "16x32bx2.x32"):
        load = instruction(f"tcgen05.ld.sync.aligned.{shape}.b32")
        registers = load.emulate(words, address=8)
        assert registers.shape == (2, 128, load.registers)
        for row, col in ((0, 0), (37, 50), (63, 63)):
            place = d.where(row, col)[0]
            (slot,) = load.slots(place.lane, place.column + 8, 8)
            assert registers[1, slot.thread, slot.register].view(np.float32) == matrix[row, col]
        store = instruction(f"tcgen05.st.sync.aligned.{shape}.b32")
        assert (store.emulate(registers, np.zeros_like(words), address=8) == words).all()
    half = instruction("tcgen05.mma.cta_group::1.kind::f16", m=128, n=16, d="f16").d
    codes = np.arange(128 * 16).reshape(128, 16)
    packed = instruction("tcgen05.ld.sync.aligned.32x32b.x8.pack::16b.b32").emulate(half.pack_codes(codes))
    assert (packed.view("<u2").reshape(128, 16) == codes).all()
    unpack = instruction("tcgen05.st.sync.aligned.32x32b.x8.unpack::16b.b32")
    assert (unpack.emulate(packed, np.zeros((128, 16), dtype=np.uint32)) == half.pack_codes(codes)).all()
    split = instruction("tcgen05.ld.sync.aligned.16x32bx2.x2.b32").emulate(words[0], split=64)
    assert (split[16:32, 1] == words[0, :16, 65]).all()
    with pytest.raises(PtxlabError, match="reaches columns 40 to 103; there are 80"):
        instruction("tcgen05.ld.sync.aligned.32x32b.x64.b32").emulate(words, address=40)
    with pytest.raises(PtxlabError, match="found 2 arguments; it takes words"):
        instruction("tcgen05.ld.sync.aligned.32x32b.x64.b32").emulate(words, words)


def test_loads_reduce_and_compress(rng: np.random.Generator) -> None:
    """PTX ISA 9.4, "tcgen05.ld" and "spcompress", written down again for one thread."""
    values = rng.integers(-4, 5, (128, 32)).astype(np.float32) / 2
    values[rng.random(values.shape) < 0.05] = np.nan
    values[:, 7] = -0.0
    memory = values.view(np.uint32)
    for form in ptxlab.catalog("tcgen05.ld"):
        if not form.reduction or form.registers > 16 or form.shape != "32x32b":
            continue
        results = form.emulate(memory)
        width = form.registers * (2 if form.compresses else 1)
        for thread in (0, 37, 127):
            loaded = values[thread, :width]
            if form.reduces:
                bits = memory[thread, :width]
                numbers = np.abs(loaded) if form.absolute else loaded
                if form.type != "f32":
                    numbers = bits.view(np.int32) if form.type == "s32" else bits
                found = results[-1][thread : thread + 1].view(numbers.dtype)[0]
                choose = max if form.reduction == "max" else min
                finite = [number for number in numbers.tolist() if number == number]
                expected = choose(finite) if finite else np.nan
                if form.nan and len(finite) < width:
                    expected = np.nan
                assert found == expected or (np.isnan(found) and np.isnan(expected)), (form, thread)
            if not form.compresses:
                assert (results[0][thread] == memory[thread, :width]).all()
                continue
            metadata, kept = results[:2]
            assert kept.shape[1] == width // 2 and metadata.shape[1] == -(-width // 32)
            for group in range(width // 4):
                at = [
                    int(metadata[thread, (2 * group + j) // 16]) >> 2 * ((2 * group + j) % 16) & 3
                    for j in (0, 1)
                ]
                four = loaded[4 * group : 4 * group + 4]
                assert at[0] < at[1]
                assert (kept[thread, 2 * group : 2 * group + 2] == four.view(np.uint32)[at]).all()
                keys = np.abs(four) if form.absolute else four
                sign = -1 if form.reduction == "max" else 1
                rank = [(not np.isnan(key), sign * key, sign * (not np.signbit(key))) for key in keys]
                left = [rank[j] for j in range(4) if j not in at]
                assert max(rank[j][:1] for j in at) <= min(entry[:1] for entry in left)
                if all(entry[0] for entry in rank):
                    assert max(rank[j] for j in at) <= min(left)


def test_rows_shift_down_and_elements_unpack() -> None:
    shift = ptxlab.instruction("tcgen05.shift.cta_group::1.down")
    words = np.arange(128 * 12, dtype=np.uint32).reshape(128, 12)
    after = shift.emulate(words, address=(96 << 16) + 2)
    assert (after[96:127, 2:10] == words[97:, 2:10]).all()
    after[96:127, 2:10] = words[96:127, 2:10]
    assert (after == words).all()
    for address, sentence in ((16 << 16, "lane 0, 32, 64 or 96"), (5, "column 12; there are 12")):
        refuses(sentence, shift.emulate, words, address=address)
    for source, bits, low in (("b6x16_p32", 6, 1), ("b4x16_p64", 4, 2)):
        form = ptxlab.instruction(f"tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.{source}")
        codes = np.arange(64 * 16).reshape(64, 16) % (1 << bits)
        memory = np.zeros((64, 16), dtype=np.uint8)
        for row in range(64):
            number = sum(int(code) << bits * at for at, code in enumerate(codes[row]))
            memory[row] = np.frombuffer(number.to_bytes(16, "little"), dtype=np.uint8)
        tile = ptxlab.memory.Tcgen05Descriptor(0, 16, 128)
        result = form.emulate(memory.reshape(-1), tile, np.zeros((128, 4), dtype=np.uint32))
        elements = np.ascontiguousarray(result).view(np.uint8)
        for lanes in (range(32), range(32, 64)):  # warps 0 and 1 have the same rows
            assert (elements[lanes] == codes[:32] << low).all()
        assert (elements[64:96] == codes[32:] << low).all() and (elements[96:] == elements[64:96]).all()


def test_six_bits_after_six_bits() -> None:
    name = "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale"
    operand = ptxlab.instruction(name, a="e2m3", b="e4m3", k=64).a_from("tensor").a
    codes = np.arange(128 * 64).reshape(128, 64) % 61
    words = operand.pack_codes(codes)
    for lane in (0, 77):
        number = int.from_bytes(words[lane].astype("<u4").tobytes(), "little")
        assert [number >> 6 * k & 63 for k in range(64)] == codes[lane].tolist()
    assert (operand.unpack_codes(words) == codes).all() and operand.columns == 12
    assert [place[2:] for place in operand.where(3, 5)] == [(0, 30, 31), (1, 0, 3)]
    assert operand.holds(3, 1) == [(3, k) for k in range(5, 11)] and "assumed" in operand.source


def test_types_that_only_tcgen05_has() -> None:
    fields, narrow = TYPES["ue5m3"], TYPES["s1z4m11"]
    for code in range(255):
        exponent, fraction = code >> 3, code & 7
        value = fraction * 2.0**-17 if exponent == 0 else (8 + fraction) * 2.0 ** (exponent - 18)
        assert fields.decode([code])[0] == value and fields.encode([value])[0] == code
    assert np.isnan(fields.decode([255])[0]) and fields.encode([2.0**20])[0] == 255
    assert fields.encode([1.0625, 1.1875]).tolist() == [120, 122]  # ties to even
    assert narrow.encode([-2047, 2047, 0]).tolist() == [0x87FF, 0x7FF, 0]
    assert narrow.decode([0x8005, 5]).tolist() == [-5, 5]
    refuses("-2047..2047", narrow.encode, [2048])


def test_scales_are_copied_by_descriptor() -> None:
    """From a tile of 128x4 in shared memory to the bytes that the multiplication reads."""
    scales = np.arange(128 * 4, dtype=np.uint16).reshape(128, 4).astype(np.uint8)
    shared = np.concatenate([np.zeros(1024, dtype=np.uint8), memory.tile_scales(scales)])
    copy = instruction("tcgen05.cp.cta_group::1.32x128b.warpx4")
    tile = memory.Tcgen05Descriptor(address=1024, leading=16, stride=128)
    words = copy.emulate(shared, tile.code, np.zeros((128, 12), dtype=np.uint32), address=8)
    form = instruction("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16")
    for copied in range(4):
        assert (form.scale_a.unpack_codes(words[:, 8:], copied) == scales).all()
    refuses("would write up to lane 127, column 12", copy.emulate, shared, tile, words, address=9)


def test_copies_are_where_cutlass_places_them() -> None:
    lanes = {
        "128x256b": lambda row: [row], "128x128b": lambda row: [row], "4x256b": lambda row: [32 * row],
        "64x128b.warpx2::02_13": lambda row: [row, row + 64],
        "64x128b.warpx2::01_23": lambda row: [row % 32 + row // 32 * 64 + half for half in (0, 32)],
        "32x128b.warpx4": lambda row: [row + 32 * warp for warp in range(4)],
    }  # fmt: skip
    for name, of_row in lanes.items():
        t = instruction(f"tcgen05.cp.cta_group::1.{name}").tensor("T")
        for row in (0, 3, t.shape[0] - 1):
            assert [place.lane for place in t.where(row, 1)] == of_row(row)
        assert t.columns == int(name.split("x")[1].split("b")[0]) // 32
    unpacked = instruction("tcgen05.cp.cta_group::2.128x128b.b8x16.b6x16_p32").tensor("T")
    assert (unpacked.shape, unpacked.ctas, unpacked.dtype.bits) == ((128, 16), 2, 8)


def test_forms_are_what_they_were_declared_with() -> None:
    form = instruction(F16, n=64, transpose_b=True)
    assert replace(form) == form and hash(replace(form)) == hash(form)
    assert form != instruction(F16, n=64) and form != form.a_from("tensor")
    assert {field.name for field in fields(form)} >= {"kind", "cta_group", "descriptor", "a_space"}
    refuses(".ashift shifts rows of A in tensor memory", instruction(f"{F16}.ashift").a_from, "shared")
    refuses("no collector hints 'keep' of A and '' of B; of A there are fill, use", form.collecting, a="keep")


def test_zero_columns_are_the_manuals_examples() -> None:
    """Examples 1 to 4 of "Zero-Column Mask Descriptor", lowest column first."""

    def text(mask: ZeroColumnMask, m: int, n: int) -> list[str]:
        parts = mask.zeros(m, n).reshape({128: 1, 64: 2, 32: 4}[m], -1)
        return ["".join(str(int(zero)) for zero in part[:14]) for part in parts]

    assert text(ZeroColumnMask(4, 5, enabled=False), 128, 64) == ["0" * 14]
    assert text(ZeroColumnMask(4, 3), 128, 256) == ["00001110000111"]
    two = ZeroColumnMask(4, 3, first=(True, False, False, False))
    assert text(two, 64, 64) == ["11100001110000", "00001110000111"]
    four = ZeroColumnMask(4, 3, (0, 1, 2, 1), (True, True, False, False), 2)
    assert text(four, 32, 128) == ["11100001110000", "11000011100001", "00111000011100", "00011100001110"]
    assert ZeroColumnMask.decode(four.code) == four and four.code >> 56 == 2
    assert str(four) == "4 columns of B as they are and 3 as zeros, in turn, from column 2 of B on."
    refuses("bit 36 is 1, but is reserved", ZeroColumnMask.decode, 1 << 36)


def test_sparse_matrices_are_compressed() -> None:
    for kind, k in (("f16", 32), ("tf32", 16), ("i8", 64), ("mxf4.block_scale", 128)):
        form = instruction(f"tcgen05.mma.sp.cta_group::1.kind::{kind}", n=64)
        matrix = form.prune(np.random.default_rng(3).integers(1, 6, (128, k)))
        stored, nibbles = form.compress(matrix)
        words = form.e.pack_codes(nibbles)
        assert (form.expand(stored, form.e.unpack_codes(words)) == matrix).all()
        assert set(np.unique(nibbles)) <= set(form.nibbles)
        nibbles[5, 1] = 0b0001  # descending, and not in the manual's table
        refuses("row 5, chunk 1: nibble 0b0001 is undefined .* 0b1110$", form.expand, stored, nibbles)
        zeros = {name: np.zeros(x.stored_shape, x.register_type) for name, x in form.inputs.items()}
        with pytest.raises(PtxlabError, match="row 5, chunk 1: nibble 0b0001 is undefined"):
            form.emulate(**zeros | {"e": form.e.pack_codes(nibbles)})
    refuses("is dense: it has no sparsity", instruction(F16).compress, np.ones((128, 16)))


# -- the shared-memory descriptor ---------------------------------------------------------------------------

#: CUTLASS's LayoutType, by swizzle and chunk in bytes, and its Swizzle<B, M, S>.
CUTLASS_SWIZZLES = {
    (0, 16): (0, (0, 4, 3)), (128, 32): (1, (2, 5, 2)), (128, 16): (2, (3, 4, 3)), (64, 16): (4, (2, 4, 3)),
    (32, 16): (6, (1, 4, 3)),
}  # fmt: skip


@pytest.mark.parametrize(("swizzle", "chunk"), CUTLASS_SWIZZLES)
def test_shared_memory_descriptors_have_cutlass_bits(swizzle: int, chunk: int) -> None:
    """`SmemDescriptor`, and the canonical MN-major layouts of `make_umma_desc`, in units of 16 bytes."""
    layout_type, (bits, base, shift) = CUTLASS_SWIZZLES[swizzle, chunk]
    fields_ = memory.Tcgen05Descriptor(0x1400, 0x4000, 0x800, swizzle, chunk=chunk)
    assert fields_.code == 0x140 | 0x400 << 16 | 0x80 << 32 | 1 << 46 | layout_type << 61
    assert memory.descriptor(fields_.code) == fields_ and memory.descriptor(fields_.code).family == "tcgen05"
    assert "tcgen05 reads from 0x1400" in str(fields_)
    wide = max(swizzle, 16) // 16  # of an atom, along M or N
    deep = 4 if chunk == 32 else 8  # along K
    chunks, k = np.arange(2 * wide)[:, None], np.arange(2 * deep)
    along, across = (0x80, 0x400) if swizzle == 0 else (0x400, 0x80)
    at = 0x140 + chunks % wide + chunks // wide * along + k % deep * wide + k // deep * across
    address = at * 16
    moved = address ^ (address >> shift & ((1 << bits) - 1) << base)
    found = fields_.addresses(chunks * 4, k, bits=32, major="MN")
    assert (found == moved).all()


def test_shared_memory_descriptors_of_both_families() -> None:
    tile = memory.Tile(bits=16, rows=64, k=64, swizzle=128)
    wgmma = tile.slice(0x400, 16)
    assert wgmma.tcgen05().code == wgmma.code | 1 << 46 and wgmma.tcgen05().tcgen05() == wgmma.tcgen05()
    assert tile.judge(wgmma.tcgen05(), 16).problems == ()
    refuses("bits 46-48 are 0; for tcgen05 they are 1", memory.descriptor, wgmma.code, family="tcgen05")
    refuses("bit 46 is 1, but belongs to no field", memory.descriptor, wgmma.tcgen05().code, family="wgmma")
    refuses("swizzle code 3 means nothing; there are 0, 1, 2, 4, 6", memory.descriptor, 3 << 61 | 1 << 46)
    refuses("bit 54 is 1, but belongs to no field of tcgen05's", memory.descriptor, 1 << 54 | 1 << 46)
    table = memory.descriptor(1 << 53 | 1 << 46)
    assert table.code == 1 << 53 | 1 << 46 and "the second 24 bytes" in str(table)
    assert table.faults(instruction(F16), "B") == ("segment 1: only the B of .decompress::lut::b has one",)
    with pytest.raises(PtxlabError, match="a swizzle of 64 bytes moves chunks of 16 bytes"):
        memory.Tcgen05Descriptor(0, 16, 16, 64, chunk=32)


def test_tiles_with_chunks_of_32_bytes() -> None:
    """What a tile stores, its descriptor reads back; CUTLASS's atom is Swizzle<2,5,2> o (32,4):(1,32)."""
    tile = memory.Tile(bits=32, rows=64, k=16, major="MN", swizzle=128, chunk=32)
    codes = np.arange(64 * 16).reshape(64, 16)
    shared = np.concatenate([np.zeros(512, dtype=np.uint8), tile.store(codes)])
    for k in (0, 8):
        fields_ = tile.slice(512, k)
        assert fields_.family == "tcgen05" and fields_.chunk == 32
        assert (fields_.load(shared, 64, 8, bits=32, major="MN") == codes[:, k : k + 8]).all()
        assert tile.judge(fields_, k).problems == ()
    assert tile.alignment == 1024 and memory.Tile.parse(repr(tile)) == tile
    atom = memory.Tile(32, 32, 4, "MN", 128, chunk=32)
    assert atom.cute == "Swizzle<2,5,2> o ((4,8,1),(4,1)):((1,4,128),(32,128))"
    refuses("a swizzle moves 16 bytes at a time", memory.Tile, bits=32, rows=64, k=16, swizzle=128, chunk=32)


def test_48_bytes_of_k_across_two_tiles() -> None:
    """As CUTLASS's kernel for sm_103 has them: the third instruction begins 96 bytes into a line of 128."""
    tile = memory.Tile(bits=4, rows=16, k=256, swizzle=128)
    codes = np.random.default_rng(3).integers(16, size=(16, 512), dtype=np.uint8)
    parts = [tile.store(codes[:, :256]), tile.store(codes[:, 256:])]
    descriptor = memory.Tcgen05Descriptor(96, tile.size, tile.slice().stride, 128, absolute=True)
    assert memory.descriptor(descriptor.code) == descriptor
    read = descriptor.load(np.concatenate(parts), 16, 96, bits=4)
    assert (read == codes[:, 192:288]).all()


def test_what_is_wrong_with_a_shared_memory_descriptor() -> None:
    plain = memory.Tcgen05Descriptor(0, 16, 1024, 128)
    wide = memory.Tcgen05Descriptor(0, 16, 1024, 128, chunk=32)
    assert plain.faults(instruction(F16), "A") == wide.faults(instruction(F16), "B") == ()
    assert "chunks are of 16 bytes" in wide.faults(instruction(F16, transpose_a=True), "A")[0]
    tf32 = instruction("tcgen05.mma.cta_group::1.kind::tf32", transpose_b=True)
    assert wide.faults(tf32, "B") == () and "in chunks of 32" in plain.faults(tf32, "B")[0]
    assert "A is in tensor memory" in plain.faults(instruction(F16).a_from("tensor"), "A")[0]
    split = memory.Tcgen05Descriptor(0, 4096, 1024, 128, absolute=True)
    assert "only a read of 48 bytes of K takes one" in split.faults(instruction(F16), "B")[0]
    ultra = instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", k=96)
    assert split.faults(ultra, "B", "sm_103a") == ()
    assert split.faults(ultra, "B", "sm_100a") == (
        "the leading dimension is an address, which sm_100a does not take",
    )
    assert str(split).split("; ")[1].startswith("the rest of K is at 0x1000, ")


# -- the page of the docs ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_has_every_family_and_kind() -> None:
    text = str(page())
    assert all(f"`{family}`" in text for family in TCGEN05_FAMILIES)
    assert all(f"`kind::{kind}`" in text for kind in KINDS) and "((16,4),64):((1,32),128)" in text
