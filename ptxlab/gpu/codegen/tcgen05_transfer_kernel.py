"""Kernels of tcgen05.ld, .st, .cp and .shift, and of alloc, dealloc, commit, fences and waits."""

from __future__ import annotations

import re

from ...isa.tcgen05 import Tcgen05Form, TensorControl, TensorTransfer
from ...isa.tensor_operand import COLUMNS
from .cpp import AsmOperands
from .ptx import asm_operands, transfer_parts, with_names
from .tcgen05_memory import (
    FENCE_SHARED,
    HAND_OVER,
    KernelFrame,
    asm,
    asm_lines,
    indented,
    load_words,
    store_words,
)

#: Bytes of shared memory from which tcgen05.cp may copy; every target allows them without a launch attribute.
SHARED_BYTES = 46 * 1024

_KERNEL = """\
// {syntax}
// {who}; the grid walks through `count` independent ones.
// Words of tensor memory are [count, {lanes}, columns]; `address` is where the instruction begins there.
{helpers}
extern "C" __global__ void {attributes} {name}(
    {parameters},
    int columns, unsigned int address, int count)
{{
{declarations}

{prologue}
    const unsigned int taddr = tensor_memory + address{own};

{before}    for (long long i = first; i < count; i += apart) {{
        // Words to tensor memory.
{words}

{body}
    }}
{epilogue}
}}
"""

_WORDS = "const unsigned int* words"
_MEMORY = "const uint4* memory, int size, unsigned long long descriptor"


def kernel_name(form: Tcgen05Form) -> str:
    """The name of its kernel: the mnemonic as an identifier."""
    return re.sub(r"\W+", "_", form.mnemonic)


def registers(form: TensorTransfer) -> int:
    """Registers of a thread that the kernel of tcgen05.ld or .st moves, with metadata and reduced value.

    >>> import ptxlab
    >>> registers(ptxlab.instruction("tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32"))
    3
    """
    return sum(operand.length or 1 for operand in asm_operands(form) if not operand.address)


def source(form: TensorTransfer, split: int | None = None) -> str:
    """The kernel of a transfer. `split` is `immHalfSplitoff` of 16x32bx2, by default half of the columns.

    ld reads words and writes R; st reads R and words and writes result; shift reads words and writes result;
    so does cp, which also reads shared memory, `size` units of 16 bytes, through a descriptor whose address
    counts from there. R is [count, 128, registers], in the order of the operand list.
    """
    loads = form.family == "tcgen05.ld"
    by_warp = form.family in ("tcgen05.ld", "tcgen05.st")
    frame = KernelFrame(form.cta_group or 1, COLUMNS, issues=not by_warp)
    parameters = {
        "tcgen05.ld": [_WORDS, "unsigned int* R"],
        "tcgen05.st": ["const unsigned int* R", _WORDS, "unsigned int* result"],
        "tcgen05.cp": [_MEMORY, _WORDS, "unsigned int* result"],
    }.get(form.family, [_WORDS, "unsigned int* result"])
    copies = form.family == "tcgen05.cp"
    declarations = frame.declarations()
    if copies:
        declarations.insert(0, f"__shared__ __align__(1024) uint4 image[{SHARED_BYTES // 16}];")
    body = _by_warp(form, split) if by_warp else frame.issue(_issued(form))
    if not loads:
        body += [
            "",
            "// Words to global memory.",
            *load_words("result", "tensor_memory", "columns", frame.lanes),
        ]
    return _KERNEL.format(
        syntax=form.syntax,
        who=frame.who,
        lanes=frame.lanes,
        helpers=frame.helpers,
        attributes=frame.attributes,
        name=kernel_name(form),
        parameters=", ".join(parameters),
        declarations=indented(declarations),
        prologue=indented(frame.prologue()),
        own=" + own_lanes" if by_warp else "",
        before=_before(copies, by_warp),
        words=indented(
            [
                *store_words("words", "tensor_memory", "columns", frame.lanes),
                asm("tcgen05.wait::st.sync.aligned;"),
                *HAND_OVER,
                *(["fence_after_sync();"] if by_warp else []),
            ],
            2,
        ),
        body=indented([*body, *HAND_OVER], 2),
        epilogue=indented(frame.epilogue()),
    )


def _before(copies: bool, by_warp: bool) -> str:
    """The code before the loop."""
    lines = []
    if copies:
        lines = [
            "// Shared memory, from which each CTA copies; the descriptor's address counts from its start.",
            "for (int j = threadIdx.x; j < size; j += 128) image[j] = memory[j];",
            FENCE_SHARED,
            "const unsigned long long s_desc = descriptor + (shared_address(image) >> 4);",
            "",
        ]
    if not by_warp:
        lines.append("unsigned int parity = 0;")
    return indented(lines) + "\n" if lines else ""


def _by_warp(form: TensorTransfer, split: int | None) -> list[str]:
    """Every warp executes ld or st on its own lanes; registers come from R, or go there."""
    loads = form.family == "tcgen05.ld"
    total = registers(form)
    operands, first = AsmOperands(), 0
    for operand in asm_operands(form):
        if operand.address:
            operands.add(operand.name, "r", [operand.name])
            continue
        registers_of_operand = [f"r[{first + i}]" for i in range(len(operand.registers))]
        operands.add(operand.name, "=r" if operand.written else "r", registers_of_operand)
        first += len(registers_of_operand)
    line = f"{form.mnemonic} {', '.join(transfer_parts(form, operands.names, split))};"
    own_register = f"R[(i * 128 + threadIdx.x) * {total} + n]"
    statement = [
        "asm volatile(",
        f'    "{line}\\n"',
        f'    "tcgen05.wait::{"ld" if loads else "st"}.sync.aligned;"',
        *_clause(operands.outputs),
        *_clause(operands.inputs),
        '    : "memory");',
    ]
    if loads:
        return [
            "// Each warp loads from its own 32 lanes.",
            f"unsigned int r[{total}];",
            *statement,
            f"for (int n = 0; n < {total}; ++n) {own_register} = r[n];",
        ]
    return [
        "// Each warp stores to its own 32 lanes.",
        f"unsigned int r[{total}];",
        f"for (int n = 0; n < {total}; ++n) r[n] = {own_register};",
        *statement,
    ]


def _clause(parts: list[str]) -> list[str]:
    """Outputs or inputs of an asm statement, eight to a line."""
    lines = [", ".join(parts[at : at + 8]) for at in range(0, len(parts), 8)]
    return f"    : {(',' + chr(10) + ' ' * 6).join(lines)}".rstrip().splitlines()


def _issued(form: TensorTransfer) -> list[str]:
    """cp or shift, which one thread issues."""
    operands = AsmOperands()
    for operand in asm_operands(form):
        operands.add(operand.name, operand.constraint, operand.registers)
    return asm_lines(with_names(form, None, operands.names), *operands.inputs)


# -- alloc, dealloc, relinquish_alloc_permit, commit, fence, wait --------------------------------------------

_CONTROL_KERNEL = """\
// {syntax}
// It {purpose}.
// {who}: a word of each lane goes to tensor memory and back.
{helpers}
extern "C" __global__ void {attributes} {name}(
    const unsigned int* words, unsigned int* result)
{{
{declarations}

{prologue}

    // A word to tensor memory.
    unsigned int parity = 0;
    store(tensor_memory + own_lanes, words[first * {lanes} + lane]);
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
{hand_over}

{issue}

    // And back.
    result[first * {lanes} + lane] = load(tensor_memory + own_lanes);
{hand_over}
{epilogue}
}}
"""


def control_source(form: TensorControl) -> str:
    """A kernel that shows an instruction such as alloc or commit in its place.

    >>> import ptxlab
    >>> alloc = "tcgen05.alloc.cta_group::1.sync.aligned.b32"
    >>> f'"{alloc} [%0], 32;"' in control_source(ptxlab.instruction(alloc))
    True
    """
    spelling = {form.family.removeprefix("tcgen05."): form.mnemonic}
    if "exclusive" in form.qualifiers:
        other = {"alloc": "dealloc", "dealloc": "alloc"}[form.family.removeprefix("tcgen05.")]
        words = [word for word in form.qualifiers if word != "shared::cta"]
        spelling[other] = f"tcgen05.{other}.{'.'.join(words)}"
    frame = KernelFrame(
        2 if "cta_group::2" in form.qualifiers else 1,
        columns=1,
        alloc=spelling.get("alloc", ""),
        dealloc=spelling.get("dealloc", ""),
        relinquish=spelling.get("relinquish_alloc_permit", ""),
        commit=spelling.get("commit", ""),
    )
    return _CONTROL_KERNEL.format(
        syntax=form.syntax,
        purpose=form.purpose,
        who=frame.who.replace("one instruction", "it"),
        helpers=frame.helpers,
        attributes=frame.attributes,
        name=kernel_name(form),
        declarations=indented(
            [*frame.declarations()[:-1], f"const int first = blockIdx.x{' / 2' if frame.pair else ''};"]
        ),
        prologue=indented(frame.prologue()),
        lanes=frame.lanes,
        hand_over=indented(HAND_OVER),
        issue=indented(frame.issue([], "nothing but a commit")),
        epilogue=indented(frame.epilogue()),
    )
