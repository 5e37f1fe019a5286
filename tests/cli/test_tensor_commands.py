"""Commands about tcgen05: tensor memory, descriptors, and tcgen05.ld, .st, .cp, .alloc and .shift."""

from __future__ import annotations

import json

import pytest

import ptxlab

F16 = "tcgen05.mma.cta_group::1.kind::f16"
LOAD = "tcgen05.ld.sync.aligned.16x64b.x2.b32"
PAIR = "tcgen05.mma.cta_group::2.kind::f8f6f4"
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.b32"


@pytest.fixture
def answer(answer):
    """Runs a command, the first words of which are one text, and gives what it printed."""
    return lambda command, *words: answer(*command.split(), *words)


@pytest.fixture
def refused(refused):
    """Runs a command, given as one text, that must fail and gives its one sentence."""
    return lambda command: refused(*command.split())


def test_list_knows_forms_of_tcgen05(answer) -> None:
    names = answer("list --family tcgen05.cp --target sm_100a").split()
    assert names == [form.mnemonic for form in ptxlab.catalog("tcgen05.cp", "sm_100a")]
    narrowed = answer("list --family tcgen05 --type tf32 --shape m32* --dense").split()
    assert narrowed == ["tcgen05.mma.ws.cta_group::1.kind::tf32"]


def test_show_reads_descriptors(answer) -> None:
    shown = answer(f"show {F16} --descriptor m=64,n=32,d=f16 --tensor-a")
    assert "0x04080000: m64n32k16, A and B f16, D f16." in shown and "((16,4),16):((1,32),128)" in shown
    assert "M 64 or 128; N 8, 16, 24, 32, or a multiple of 16 up to 256; K 32" in answer(
        "show tcgen05.mma.cta_group::1.kind::i8"
    )
    assert "allocates columns" in answer(f"show {ALLOC}")
    assert "the last of 32 keeps its own" in answer("show tcgen05.shift.cta_group::1.down --no-sass")


def test_show_finds_instructions_in_a_text(answer) -> None:
    moved = "ldmatrix.sync.aligned.m8n8.x1.shared.b16"
    kernel = f"{moved} {{r}}, [p]; {LOAD} {{a, b}}, [t];\\n {F16} [d], a, b, i, p;"
    assert answer("show", kernel).splitlines()[1:] == [f"  {moved}", f"  {LOAD}", f"  {F16}"]


def test_fields_of_the_descriptor_as_words(answer, refused) -> None:
    for word, transposed in {"0": False, "1": True, "false": False, "True": True}.items():
        shown = answer(f"show {F16} --no-sass --descriptor m=64,n=32,transpose_a={word}")
        assert ("A transposed" in shown) == transposed
    assert "transpose_a: found 'no'" in refused(f"show {F16} --descriptor m=64,n=32,transpose_a=no")
    assert "expected 32 bits, such as 0x8400010, or fields" in refused(f"where {F16} D 1 1 --descriptor m")
    assert "belongs to tcgen05.mma" in refused("cute mma.m16n8k16.f32.f16 --descriptor m=64")


def test_where_finds_elements_in_tensor_memory(answer) -> None:
    places = json.loads(answer(f"where {F16} D 20 3 --descriptor 0x4080010 --json"))["places"]
    assert places == [{"cta": 0, "lane": 36, "column": 3, "bits": "[31..0]", "address": "0x00240003"}]
    assert "12     0         1" in answer(f"where {LOAD} R 3 2")
    assert "  0           18" in answer(f"where {F16} A 1 1")  # row 1 begins 16 bytes behind row 0
    padded = json.loads(answer(f"where {PAIR} B 21 200 --b e3m2 --json"))["places"][0]
    assert (padded["cta"], padded["byte offset"]) == (1, (200 - 128) // 8 * 256 + 128 + 5 * 6 // 8)
    explained = answer("where tcgen05.mma.cta_group::2.kind::mxf4.block_scale D 203 5 --explain")
    assert "CTA 1, lanes 11, 43, 75, 107, column 2, bits [15..0]" in explained
    assert "shared memory of CTA 1, 16 bytes from 0x0930, 0x09b0 on" in explained


def test_holds_reads_lanes_and_columns(answer, refused) -> None:
    assert "3  20  3" in answer(f"holds {F16} D --lane 36 --register 3 --descriptor m=64")
    assert "40       1" in answer(f"holds {LOAD} R --lane 35")
    assert "131  4" in answer(f"holds {PAIR} C --lane 3 --cta 1 --register 4")
    assert "is not executed by a CTA pair" in refused("holds mma.m16n8k64.s4 A --lane 3 --cta 1")
    assert "is in shared memory" in refused(f"holds {F16} B --lane 1")


def test_layout_prints_tensor_memory(answer, refused) -> None:
    assert "96..111  0..23    31..0  48..63  0..23" in answer(f"layout {F16} D --m 64 --n 24")
    elements = answer(f"layout {F16} D --m 64 --n 24 --csv").splitlines()
    assert elements[1 + 20 * 24 + 3] == "20,3,0,36,3,0,31" and len(elements) == 1 + 64 * 24
    assert answer(f"layout {F16} A --tensor-a --cute") == "(128,16):(1,128)\n"
    assert "0x0100  0x0180" in answer(f"layout {F16} B --n 16")
    assert "T5:{r0}" in answer(f"layout {LOAD} R") and answer(f"layout {F16} D --svg").startswith("<svg")
    assert answer(f"layout {LOAD} R --json").count('"thread"') == 256
    assert "--m belongs to tcgen05.mma" in refused("layout mma.m16n8k64.s4 C --m 4")
    assert "--formula" in refused(f"layout {F16} D --formula")


def test_cute_prints_layouts_of_tensor_memory(answer, refused) -> None:
    assert "(4,(32,8)):(128,(1,512))" in answer("cute tcgen05.mma.cta_group::1.kind::mxf4.block_scale SFB")
    assert "has no matrix, and so no layout" in refused(f"cute {ALLOC}")


def test_descriptor_says_what_is_wrong_for_an_instruction(answer, refused) -> None:
    assert "M is 256; with cta_group::1" in answer(f"descriptor 0x10400490 --instruction {F16}")
    assert "right for B of" in answer(f"descriptor 0x4000404000010040 --instruction {F16}")
    assert "0x04400010" in answer(f"descriptor --instruction {F16} --m 64")
    assert "Instruction descriptor" in answer(f"descriptor --instruction {F16} --svg")
    assert "go with --instruction" in refused("descriptor 0x40 --m 64")


def test_metadata_of_tensor_memory(answer, refused) -> None:
    sparse = "tcgen05.mma.sp.cta_group::1.kind::f16"
    nibbles = json.loads(answer(f"metadata {sparse} --selector 1 --json"))["nibbles"]
    assert nibbles[0] == {"m": 0, "chunk": 0, "cta": 0, "lane": 0, "column": 1, "low": 0, "high": 3}
    assert "is dense" in refused(f"metadata {F16}")


def test_ptx_prints_instructions_of_tcgen05(answer) -> None:
    assert answer(f"ptx {F16}") == f"{F16} [%d_tmem], %a_desc, %b_desc, %idesc, enable_input_d;\n"
    assert "asm volatile" in answer(f"ptx {LOAD} --cpp")
    assert ".target sm_103a" in answer(f"ptx {F16} --module --target sm_103a")


def test_run_and_trace(answer, refused) -> None:
    assert "D of the first, from the emulator" in answer(f"run {F16} --m 64 --n 8")
    traced = json.loads(answer(f"trace {F16} 3 5 --descriptor m=64,n=8,a=bf16,b=bf16 --json"))
    assert traced["instruction"] == F16
    assert f"{ALLOC} allocates columns of tensor memory; it computes nothing" in refused(f"run {ALLOC}")
