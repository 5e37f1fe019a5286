"""What the pages in a browser tab ask the command line: questions in one line, and kernels."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from ptxlab import PtxlabError
from ptxlab.cli.ask import EXAMPLES, answer_json, ask, command_words
from ptxlab.cli.kernel_page import KernelTab
from ptxlab.explorer.session import PageSession
from ptxlab.simulator.cuda_source import has_compiler
from tests.cases import each
from tools.web import kernel_examples

ADAPTED = Path(__file__).parents[1] / "adapters" / "ptx"
ASM = 'asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},'\
      ' {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[0][1]));'  # fmt: skip

#: A question, the words of the command that it means, and a word of the answer.
QUESTIONS = (
    ("A[9][37] of mma.m16n8k64.s4", "where mma.m16n8k64.s4 A 9 37", "[23..20]"),
    ("mma.m16n8k64.s4 A 9 37", "where mma.m16n8k64.s4 A 9 37", "[23..20]"),
    ("which lane holds D(3, 5) of mma.m16n8k16.f32.f16?", "where mma.m16n8k16.f32.f16 D 3 5", "14"),
    ("why D[3][5] of mma.m16n8k16.f32.f16", "where mma.m16n8k16.f32.f16 D 3 5 --explain", "products:"),
    ("a[9][37] of mma.sp.m16n8k64.s4", "where mma.sp.m16n8k64.s4 A 9 37", "nibble"),
    ("lane 5 of B of mma.m16n8k16.f32.f16", "holds mma.m16n8k16.f32.f16 B --lane 5", "lane 5"),
    ("lane 5 of mma.m16n8k64.s4", "holds mma.m16n8k64.s4 A --lane 5", "lane 5"),
    ("0x4000004000010040", "descriptor 0x4000004000010040", "128-byte swizzle"),
    ("0x4000_0040_0001_0040 for wgmma.m64n64k16.f32.f16",
     "descriptor 0x4000004000010040 --instruction wgmma.m64n64k16.f32.f16", "right"),
    ("SM80_16x8x16_F32F16F16F32_TN", "show --no-sass SM80_16x8x16_F32F16F16F32_TN", "m16n8k16"),
    ("bank conflicts of Swizzle<3,3,4>", "conflicts --swizzle Swizzle<3,3,4>", "wavefronts"),
    ("Swizzle<3,3,3> o (64,64):(64,1)", "conflicts --layout Swizzle<3,3,3> o (64,64):(64,1)", "no conflicts"),
    ("bank conflicts of ld.shared.v4.f32 with pitch 80", "conflicts ld.shared.v4.f32 --pitch 80", "80 bytes"),
    ("conflicts of a 64-byte swizzle", "conflicts --swizzle 64", "64-byte swizzle"),
    ("mma.m16n8k16.f32.f16 -> mma.m16n8k16.f32.f16:A",
     "repack mma.m16n8k16.f32.f16 mma.m16n8k16.f32.f16:A", "2"),
    ("A of mma.m16n8k64.s4", "layout mma.m16n8k64.s4 A", "T4"),
    ("Layout of E of mma.sp.m16n8k64.s4", "layout mma.sp.m16n8k64.s4 E", "T1"),
    ("ldmatrix x4 trans", "show --no-sass ldmatrix.x4.trans", "m8n8.x4.trans.b16"),
    ("B[3][2] of mma m16n8k16 bf16", "where mma.m16n8k16.bf16 B 3 2", "b1"),
    ("$ ptxlab cute mma.m16n8k64.s4 A", "cute mma.m16n8k64.s4 A", "("),
    (ASM, f"show --no-sass {ASM}", "m16n8k16"),
    ("A[0][0] of mma.m16n8k128.b1.and.popc", "where mma.m16n8k128.b1.and.popc A 0 0", "a0"),
    ("a[9][37]  OF MMA.M16N8K64.S4 ", "where mma.m16n8k64.s4 A 9 37", "[23..20]"),
    ("Lane 5 Of B Of mma.m16n8k16.f32.f16", "holds mma.m16n8k16.f32.f16 B --lane 5", "lane 5"),
    ("lane 3 register 2 mma.m16n8k8.tf32", "holds mma.m16n8k8.tf32 A --lane 3", "a2"),
    ("where is A[1][2] in mma.m16n8k16.bf16?", "where mma.m16n8k16.bf16 A 1 2", "lane"),
    ("What is the layout of a of mma.m16n8k64.s4?", "layout mma.m16n8k64.s4 A", "T4"),
    ("what is m16n8k64 s4", "show --no-sass m16n8k64.s4", "s32.s4.s4"),
    ("sm80_16x8x16_f32f16f16f32_tn", "show --no-sass SM80_16x8x16_F32F16F16F32_TN", "m16n8k16"),
    ("4000004000010040", "descriptor 0x4000004000010040", "128-byte swizzle"),
    ("64-byte swizzle", "conflicts --swizzle 64", "64-byte swizzle"),
)  # fmt: skip


@each("question, command, word", QUESTIONS)
def test_a_question_means_a_command(question: str, command: str, word: str) -> None:
    assert " ".join(command_words(question)) == command
    answer = ask(question)
    assert word in answer.text
    papers = [ElementTree.fromstring(picture).find("{*}rect") for picture in (answer.picture, answer.dark)]
    assert [paper.get("fill") for paper in papers if paper is not None] == ["#FFFFFF", "#1C1C1C"]
    is_about_an_instruction = command.split()[0] in ("where", "holds", "show", "layout", "cute")
    assert bool(answer.explorer) == is_about_an_instruction


def test_every_example_of_the_page_has_a_picture() -> None:
    assert all(ask(example).picture for example in EXAMPLES)


def test_the_explorer_opens_with_the_element_of_the_question() -> None:
    page = PageSession(ask("D[3][5] of mma.m16n8k16.f32.f16").explorer).page_model
    assert (page.selected, page.lane) == ({"name": "D", "row": 3, "column": 5}, 14)


def test_help_is_an_answer() -> None:
    answer = ask("trace --help")
    assert answer.text.startswith("usage: ptxlab trace") and not answer.picture


@each(
    "question, sentence",
    [
        ("", "ask something, for example"),
        ("A[9][37]", "of which instruction"),
        ("A[99][37] of mma.m16n8k64.s4", "rows go from 0 to 15"),
        ("hello", "'hello' is not a matrix instruction"),
        ("wgmma m64n256k32 f16", "'wgmma.m64n256k32.f16'"),
        ("ptxlab lab", "needs a shell"),
        ("ptxlab --help", "after ptxlab comes a command: list, show"),
        ("simulate x.ptx", "is not a matrix instruction"),
        ("conflicts --foo", "unrecognized arguments"),
        ("show 'x", "No closing quotation"),
        ("A[-1][0] of mma.m16n8k64.s4", "row -1: the matrix is 16x64"),
        ("x" * 600, "at most 500 characters"),
        (";" * 30_000, "at most 20000 characters"),
    ],
)
def test_what_is_no_question_is_refused_in_a_sentence(question: str, sentence: str) -> None:
    with pytest.raises(PtxlabError, match=sentence):
        ask(question)
    assert sentence in json.loads(answer_json(question))["problem"]


# -- kernels -----------------------------------------------------------------------------------------------


def described(source: str, name: str = "") -> dict[str, Any]:
    [(text, _)] = KernelTab().describe(json.dumps({"source": source, "name": name}))
    message: dict[str, Any] = json.loads(text)
    return message


def launched(source: str, tab: KernelTab | None = None, **fields: object) -> dict[str, Any]:
    request = {
        "source": source,
        "name": "",
        "grid": "1",
        "block": "32",
        "shared": "0",
        "arguments": [],
    }
    [(text, _)] = (tab or KernelTab()).simulate(json.dumps({**request, **fields}))
    message: dict[str, Any] = json.loads(text)
    return message


def is_cuda(example: dict[str, Any]) -> bool:
    return ".version" not in example["source"]


@each(
    "example", kernel_examples, ids=lambda example: f"{'c' if is_cuda(example) else 'ptx'} {example['title']}"
)
def test_examples_of_kernels_run_as_their_first_lines_say(example: dict[str, Any]) -> None:
    if is_cuda(example):
        requires_compiler()
    shown = described(example["source"], "?")
    assert len(shown["parameters"]) == len(example["arguments"])
    for parameter, argument in zip(shown["parameters"], example["arguments"], strict=True):
        assert parameter["array"] == (":" in argument)
    result = launched(**{key: value for key, value in example.items() if key != "title"})
    place = result["state"]["place"]
    assert result["problem"] == "" and result["arrays"][-1]["changed"] and result["arrays"][-1]["cells"]
    hazards = [hazard["line"] for hazard in result["hazards"]]
    assert bool(hazards) == ("missing" in example["title"])
    assert place["line"] in hazards or not hazards, "the debugger begins where the first hazard is"
    assert {line["line"] for line in result["margin"]} >= set(hazards)


def requires_compiler() -> None:
    if not has_compiler():
        pytest.skip("needs NVRTC or ziglang")


TWO = """\
template <int N> __device__ void add(float* x) { x[threadIdx.x] += N; }
__global__ void one(float* x) { add<1>(x); }

__global__ void two(float* out, const float *in, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = in[threadIdx.x];
}
"""


def test_kernels_in_cpp_with_their_ptx_line_by_line() -> None:
    """Both are offered; parameters have their names in C++, lines of PTX the line that they come from."""
    requires_compiler()
    first, second = described(TWO), described(TWO, "two")
    assert first["names"] == second["names"] and sorted(first["names"]) == ["one", "two"]
    assert first["name"] == first["names"][0] and second["name"] == "two"
    assert [parameter["name"] for parameter in second["parameters"]] == ["out", "in", "n"]
    ptx = second["ptx"]
    assert len(ptx["lines"]) == len(ptx["sources"]) and "ld.global" in "".join(ptx["lines"])
    of_line = {source: text for text, source in zip(ptx["lines"], ptx["sources"], strict=True) if source}
    assert set(of_line) <= {4, 5, 6} and "st.global" in of_line[5] and ".loc" not in "".join(ptx["lines"])
    assert second["compiler"].split()[0] in ("NVRTC", "Clang") and second["seconds"] > 0


def test_what_does_not_compile_names_its_line() -> None:
    requires_compiler()
    wrong = described(TWO.replace("int n", "it n"))
    assert wrong["line"] == 4 and "kernel.cu(4): error: " in wrong["problem"] and wrong["names"] == []
    assert "no kernel" in described("int number() { return 1; }")["problem"]
    assert launched(TWO.replace("int n", "it n"))["line"] == 4


def test_the_explorer_opens_what_a_matrix_instruction_read() -> None:
    """Edits go to it, and its answers are told from the kernel's."""
    requires_compiler()
    examples: list[dict[str, Any]] = kernel_examples()
    example = next(example for example in examples if example["title"].startswith("D = A B"))
    tab = KernelTab()
    result = launched(tab=tab, **{key: value for key, value in example.items() if key != "title"})
    place = result["state"]["place"]
    statement = range(17, 22)  # NVRTC names its last line, Clang its first
    assert place["is_matrix"] and place["line"] in statement, "the debugger begins there"
    [(text, _)] = tab.debug(json.dumps({"type": "open_explorer"}))
    opened = json.loads(text)["opened"]
    assert opened["instruction"]["mnemonic"].startswith("mma.sync.aligned.m16n8k16")
    edit = {"type": "set_cell", "name": "A", "row": 0, "column": 0, "text": "2"}
    [(answer, _)] = tab.handle(json.dumps({"method": "custom", "content": edit}))
    assert json.loads(answer)["message"]["method"] == "update"
    assert launched(TWO, name="one", arguments=["ones:f32:32"])["state"]["place"]["position"] == 0


def test_a_launch_that_hangs_shows_who_waits() -> None:
    requires_compiler()
    hang = """__global__ void f(int* x) {
  if (threadIdx.x < 32) return;
  asm volatile("bar.sync 1, 64;" ::: "memory");
}"""
    result = launched(hang, block="64", arguments=["zeros:s32:1"])
    assert "bar.sync" in result["problem"] and result["line"] == 3
    assert "The launch hangs" in result["state"]["waiting"] and "have ended" in result["state"]["waiting"]


@each(
    "fields, sentence",
    [
        ({"source": ".version 8.0 <script>"}, "PTX line 1"),
        ({"block": "x"}, "block 'x': it takes one to three numbers"),
        ({"shared": "-1"}, "shared '-1': it takes a whole number"),
        ({"arguments": ["1"]}, "argument"),
    ],
)
def test_a_launch_that_cannot_be_is_refused_in_a_sentence(fields: dict[str, Any], sentence: str) -> None:
    ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry f() { ret; }"
    assert sentence in launched(**{"source": ptx, **fields})["problem"]


def test_a_page_without_a_compiler_asks_for_ptx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptxlab.cli.kernel_page.has_compiler", lambda: False)
    assert "this is no PTX" in described("__global__ void f() {}")["problem"]


@each(
    "name, block, shared, problem",
    [
        ("softmax", "128", "49152", ""),  # Triton's shared memory is dynamic
        ("add", "128", "0", ""),
        ("tilelang_product", "256x1x1", "49152", "main_kernel_param_0 is a struct or a tensor map"),
    ],
)
def test_the_fields_of_a_kernel_of_others(name: str, block: str, shared: str, problem: str) -> None:
    ptx = (ADAPTED / f"{name}.ptx").read_text(encoding="utf-8")
    fields = described(ptx)
    assert (fields["block"], fields["shared"]) == (block, shared)
    assert fields["problem"].startswith(problem) and bool(fields["problem"]) == bool(problem)
