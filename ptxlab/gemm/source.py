"""The CUDA C++ of a GEMM kernel: its file with the headers it includes, one of them generated.

The kernels of the ladder, `LADDER` in `rung.py`, are files in `sources/`. Each is written once for all
element types. What depends on the instruction is in the header ``instruction.cuh``, which is generated from
its row in the catalogue: sizes, types, the inline assembly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import resources

from ..errors import PtxlabError, listing
from ..gpu.codegen.statement import instruction_statement, parameters
from ..isa.mma import Instruction
from ..isa.modifiers import Modifiers

_INCLUDE = re.compile(r'^#include "([^"\n]+)"\n', re.MULTILINE)
_GENERATED = "instruction.cuh"

#: Type of C and accumulators -> types in which D may be stored; the first is its own.
RESULTS = {"f32": ("f32", "f16", "bf16"), "f16": ("f16",), "s32": ("s32",)}

#: Constants that the preprocessor needs, since the kernel's parameters depend on them.
_MACROS = ("TMA_STORES",)

_CPP = {"f32": "float", "s32": "int", "f16": "uint16_t", "bf16": "uint16_t"}
_BYTES = {"f32": 4, "s32": 4, "f16": 2, "bf16": 2}

_TWO_REGISTERS = """\
__device__ __forceinline__ Pair pair(const Accumulator (&d)[ACCUMULATORS], int i)
{
    return {(Result)d[2 * i], (Result)d[2 * i + 1]};
}
"""
_ROUNDED = """\
__device__ __forceinline__ Pair pair(const Accumulator (&d)[ACCUMULATORS], int i)
{
    uint32_t both;  // rounded to nearest even; the second operand goes to the lower half
    asm("cvt.rn.%s.f32 %%0, %%1, %%2;" : "=r"(both) : "f"(d[2 * i + 1]), "f"(d[2 * i]));
    return {(Result)both, (Result)(both >> 16)};
}
"""
_ONE_REGISTER = """\
__device__ __forceinline__ Pair pair(const Accumulator (&d)[ACCUMULATORS], int i)
{
    return {(Result)d[i], (Result)(d[i] >> 16)};  // a register holds two elements
}
"""
_SET_TWO = """\
__device__ __forceinline__ void set_pair(Accumulator (&d)[ACCUMULATORS], int i, Element first, Element second)
{
    d[2 * i] = first;
    d[2 * i + 1] = second;
}
"""
_SET_ONE = """\
__device__ __forceinline__ void set_pair(Accumulator (&d)[ACCUMULATORS], int i, Element first, Element second)
{
    d[i] = first | (uint32_t)second << 16;
}
"""


@lru_cache(maxsize=1)
def source_files() -> dict[str, str]:
    """The files of the ladder by name, as text."""
    folder = resources.files(__package__) / "sources"
    return {
        file.name: file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.name.endswith((".cu", ".cuh"))
    }


def compose(
    file: str,
    form: Instruction,
    constants: Mapping[str, int],
    result: str | None = None,
    *,
    second: Instruction | None = None,
) -> str:
    """The file as one text for NVRTC, with these constants and the header of this instruction.

    The `second` instruction is a wgmma that takes D of the first as its A, in registers, and B by rows; the
    header has another `multiply` for it.

    >>> from ptxlab.isa.parse import parse_mma
    >>> form = parse_mma("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> text = compose("fragment.cuh", form, {})
    >>> "constexpr int INSTRUCTION_N = 8;" in text, '#include "' in text
    (True, False)
    """
    header = instruction_header(form, constants, result)
    if second is not None:
        header += "\n".join(_multiply(second, Modifiers(imm_trans_b=1)))
    files = {**source_files(), _GENERATED: header}
    if file not in files:
        raise PtxlabError(f"file={file!r}: the ladder has {listing(sorted(source_files()))}")
    included: set[str] = set()

    def text_of(name: str) -> str:
        if name in included:
            return ""
        included.add(name)
        text = files[name].replace("#pragma once\n", "")
        return _INCLUDE.sub(lambda match: text_of(match[1]), text)

    return text_of(file)


def instruction_header(form: Instruction, constants: Mapping[str, int], result: str | None = None) -> str:
    """``instruction.cuh``: the constants of the kernel, the types of the accumulators, and `multiply`."""
    if form.d_type not in RESULTS or form.c_type != form.d_type:
        raise PtxlabError(f"{form.mnemonic}: the GEMM kernels accumulate in {listing(RESULTS)}")
    result = result or form.d_type
    modifiers = Modifiers(imm_trans_b=constants.get("B_BY_ROWS", 0))
    packed = form.d_type == "f16"
    accumulator = "float" if form.d_type == "f32" else "unsigned int"
    sizes = {
        "INSTRUCTION_M": form.m,
        "INSTRUCTION_N": form.n,
        "INSTRUCTION_K": form.k,
        "LANES": form.lanes,
        "ACCUMULATORS": form.d.registers,
        "RESULT_BYTES": _BYTES[result],
        "MAP_UNIT": 4 if form.a_type == "tf32" else 1,  # bytes of an element, as TMA counts them in A and B
        **({"SELECTORS": len(form.selectors)} if form.sparse else {}),
        **constants,
    }
    get_pair = _ONE_REGISTER if packed else _TWO_REGISTERS
    if result != form.d_type:
        get_pair = _ROUNDED % f"{result}x2"
    parts = [
        f"// Generated for {form.mnemonic}",
        "#pragma once",
        "#include <stdint.h>",
        "",
        *(f"constexpr int {name} = {value};" for name, value in sizes.items() if name not in _MACROS),
        *(f"#define {name} {value}" for name, value in sizes.items() if name in _MACROS),
        f"typedef {accumulator} Accumulator;  // a register of D",
        f"typedef {_CPP[form.c_type]} Element;  // of C",
        f"typedef {_CPP[result]} Result;  // an element of D, as it is stored",
        "struct alignas(2 * sizeof(Result)) Pair { Result first, second; };",
        "",
        *_multiply(form, modifiers),
        get_pair,
        _SET_ONE if packed else _SET_TWO,
    ]
    return "\n".join(parts)


def _multiply(form: Instruction, modifiers: Modifiers) -> list[str]:
    """The instruction as a function; a sparse selector is a constant, hence a template parameter."""
    head = f"__device__ __forceinline__ void multiply({', '.join(parameters(form))})"
    if not form.sparse:
        return [head, "{", *_indented(instruction_statement(form, modifiers, scale_d="scale_d")), "}", ""]
    lines = ["template <int selector>", head, "{"]
    for selector in form.selectors:
        statement = instruction_statement(form, replace(modifiers, selector=selector), scale_d="scale_d")
        lines += [f"    if constexpr (selector == {selector})", *_indented(statement, 8)]
    return [*lines, "}", ""]


def _indented(text: str, by: int = 4) -> list[str]:
    return [" " * by + line for line in text.splitlines()]
