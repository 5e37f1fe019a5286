"""An instruction as an asm statement of CUDA C++, and the smallest kernels around it, in C++ and in PTX."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from ...isa.form import Form
from ...isa.modifiers import Modifiers
from ...isa.tcgen05 import Tcgen05Form
from .ptx import AsmOperand, asm_operands, is_issued, ptx_line, with_names

_CPP_TYPES = {
    "f": "float", "d": "double", "h": "unsigned short", "r": "unsigned int", "l": "unsigned long long",
}  # fmt: skip
_PTX_TYPES = {"f": ".f32", "d": ".f64", "h": ".b16", "r": ".b32", "l": ".b64"}
_MODULE_NAME = "ptxlab_kernel"  # the entry of a PTX module
#: Bytes from one register of a lane to the next in the memory of a kernel, and from one lane to the next.
_REGISTER_STEP = 256
_LANE_STEP = 8
_INDENT = "\n" + " " * len("asm volatile(")


def declarations(form: Form) -> str:
    """The C++ declarations of the registers in the statement.

    >>> import ptxlab
    >>> declarations(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    'float d[4], c[4]; unsigned int a[4], b[2];'
    """
    return " ".join(_declared(asm_operands(form)))


def statement(form: Form, modifiers: Modifiers | None = None) -> str:
    """The instruction as an asm statement with its constraints.

    >>> import ptxlab
    >>> print(statement(ptxlab.instruction("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32")))
    asm volatile("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 "
                 "{%0, %1}, {%2}, {%3}, {%4, %5};"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(a[0]),
                   "r"(b[0]),
                   "r"(c[0]), "r"(c[1]));
    """
    text = instruction_statement(form, modifiers, scale_d=str(int(_adds_c(form, modifiers))))
    if not _asynchronous(form):
        return text
    fence, *after = (
        f'asm volatile("wgmma.{operation};" ::: "memory");'
        for operation in ("fence.sync.aligned", "commit_group.sync.aligned", "wait_group.sync.aligned 0")
    )
    return "\n".join([fence, text, *after])


def instruction_statement(form: Form, modifiers: Modifiers | None = None, *, scale_d: str = "1") -> str:
    """The asm statement alone, without fence and wait for wgmma.

    `scale_d` is a C++ expression for scale-d of wgmma, or enable-input-d of tcgen05.mma.

    >>> import ptxlab
    >>> form = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
    >>> instruction_statement(form, scale_d="k > 0").splitlines()[-1].strip()
    '"r"(k > 0));'
    """
    operands = asm_operands(form, modifiers)
    numbers = count()
    names = {operand.name: [f"%{next(numbers)}" for _ in operand.registers] for operand in operands}
    line = with_names(form, modifiers, names).removeprefix(form.mnemonic).lstrip()
    outputs = [operand for operand in operands if operand.written]
    inputs = [_constraints(operand, "") for operand in operands if not operand.written]
    predicate = _predicate(form)
    if predicate:
        return _asm(
            [
                f'"{{ .reg .pred {predicate}; "',
                f'"setp.ne.b32 {predicate}, %{next(numbers)}, 0; "',
                f'"{form.mnemonic} "',
                f'"{line} }}"',
            ],
            [_constraints(operand, "+") for operand in outputs],
            [*inputs, f'"r"({scale_d})'],
            memory=not _asynchronous(form),
        )
    return _asm(
        [f'"{form.mnemonic} "', f'"{line}"'] if operands else [f'"{form.mnemonic};"'],
        [_constraints(operand, "=") for operand in outputs],
        inputs,
        memory=any(operand.address for operand in operands) or isinstance(form, Tcgen05Form),
    )


def parameters(form: Form) -> list[str]:
    """The registers of the statement as parameters of a C++ function; only D is not const.

    >>> import ptxlab
    >>> parameters(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))[:2]
    ['float (&d)[4]', 'const unsigned int (&a)[4]']
    """
    return [_parameter(operand) for operand in asm_operands(form)] + (
        ["int scale_d"] if _asynchronous(form) else []
    )


def _parameter(operand: AsmOperand) -> str:
    cpp_type = _CPP_TYPES[operand.constraint]
    if operand.length is None:
        return f"{cpp_type} {operand.name}"
    return f"{'' if operand.written else 'const '}{cpp_type} (&{operand.name})[{operand.length}]"


def _predicate(form: Form) -> str:
    """The name of the predicate that decides whether C is added; empty if there is none."""
    if form.descriptor is not None:
        return "enable_input_d"
    return "scale_d" if _asynchronous(form) else ""


def _adds_c(form: Form, modifiers: Modifiers | None) -> bool:
    """Whether the predicate is true."""
    modifiers = modifiers or Modifiers()
    return modifiers.scale_d if _asynchronous(form) else modifiers.enable_input_d


def _asynchronous(form: Form) -> bool:
    return form.family.startswith("wgmma")


def _asm(text: list[str], outputs: list[str], inputs: list[str], *, memory: bool) -> str:
    parts = [*text, _clause(outputs), _clause(inputs)]
    if memory:
        parts.append(': "memory"')
    return f"asm volatile({_INDENT.join(parts)});"


def _clause(lines: list[str]) -> str:
    return f": {f',{_INDENT}  '.join(lines)}".rstrip()


def _constraints(operand: AsmOperand, sign: str) -> str:
    return ", ".join(f'"{sign}{operand.constraint}"({register})' for register in operand.registers)


def smallest_kernel(form: Form, modifiers: Modifiers | None = None, *, name: str) -> str:
    """Loads, the one instruction, stores. A lane computes one address; its registers are 256 bytes apart.

    >>> import ptxlab
    >>> movmatrix = ptxlab.instruction("movmatrix.sync.aligned.m8n8.trans.b16")
    >>> smallest_kernel(movmatrix, name="kernel").splitlines()[4]
    '    a[0] = *(unsigned int*)(memory + 256);'
    """
    operands = asm_operands(form, modifiers)
    parameters = ["char* memory"]
    parameters += [
        f"{_CPP_TYPES[operand.constraint]} {operand.name}" for operand in operands if operand.address
    ]
    loads, stores = [], []
    offsets = count(step=_REGISTER_STEP)
    for operand in operands:
        for register in operand.registers:
            place = f"*({_CPP_TYPES[operand.constraint]}*)(memory + {next(offsets)})"
            if operand.address:
                continue
            if operand.written:
                stores.append(f"{place} = {register};")
            if not operand.written or _asynchronous(form):  # wgmma also reads its accumulators
                loads.append(f"{register} = {place};")
    moves_registers = loads or (stores and isinstance(form, Tcgen05Form))
    own_lane = [f"memory += {_LANE_STEP} * threadIdx.x;"] if moves_registers else []
    declared = _declared(operand for operand in operands if not operand.address)
    lines = [*own_lane, *declared, *loads, *_issued(form, statement(form, modifiers)), *stores]
    body = "\n".join(f"    {line}" for line in lines)
    return f'extern "C" __global__ void {name}({", ".join(parameters)})\n{{\n{body}\n}}\n'


def _issued(form: Form, text: str) -> list[str]:
    """The statement; by one thread of the warp if a single thread issues it, with a wait for tcgen05.ld."""
    if form.family == "tcgen05.ld":
        return [*text.splitlines(), 'asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");']
    if not is_issued(form):
        return text.splitlines()
    elect = "{ .reg .pred p; elect.sync _|p, -1; selp.u32 %0, 1, 0, p; }"
    lines = ["unsigned int elected;", f'asm volatile("{elect}" : "=r"(elected));', "if (elected) {"]
    return [*lines, *(f"    {line}" for line in text.splitlines()), "}"]


def _declared(operands: Iterable[AsmOperand]) -> list[str]:
    """Declarations such as ``unsigned int a[4], b[2];``, types in the order of their first register."""
    variables: dict[str, list[str]] = {}
    for operand in operands:
        array = operand.name if operand.length is None else f"{operand.name}[{operand.length}]"
        variables.setdefault(_CPP_TYPES[operand.constraint], []).append(array)
    return [f"{cpp_type} {', '.join(arrays)};" for cpp_type, arrays in variables.items()]


# -- a PTX module ------------------------------------------------------------------------------------------


def ptx_module(form: Form, target: str, modifiers: Modifiers | None = None) -> str:
    """A module that ptxas assembles for a target, with the `.version` that form and target need.

    Each lane loads its registers, 256 bytes apart, the instruction runs, and each lane stores its registers.

    >>> import ptxlab
    >>> print(ptx_module(ptxlab.instruction("movmatrix.sync.aligned.m8n8.trans.b16"), "sm_90a"))
    .version 8.0
    .target sm_90a
    .address_size 64
    <BLANKLINE>
    .visible .entry ptxlab_kernel(.param .u64 memory)
    {
        .reg .b32 %lane, %d<1>, %a<1>;
        .reg .b64 %memory;
        ld.param.u64 %memory, [memory];
        mov.u32 %lane, %tid.x;
        mad.wide.u32 %memory, %lane, 8, %memory;
        ld.global.b32 %a0, [%memory+256];
        movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;
        st.global.b32 [%memory], %d0;
        ret;
    }
    <BLANKLINE>
    """
    version = form.ptx_version_for(target)
    operands = asm_operands(form, modifiers)
    addresses = [operand for operand in operands if operand.address and operand.name != "idesc"]
    loads, stores = [], []
    offsets = count(step=_REGISTER_STEP)
    for operand in operands:
        if form.descriptor is not None and operand.name == "idesc":
            loads.append(f"mov.b32 %idesc, 0x{form.descriptor.code:08x};")
            continue
        if operand.address:
            loads.append(f"ld.param{_PTX_TYPES[operand.constraint]} %{operand.name}, [{operand.name}];")
            continue
        for register in operand.ptx_names:
            offset = next(offsets)
            place = f"[%memory+{offset}]" if offset else "[%memory]"
            if operand.written:
                stores.append(f"st.global{_PTX_TYPES[operand.constraint]} {place}, {register};")
            if not operand.written or _asynchronous(form):  # wgmma also reads its accumulators
                loads.append(f"ld.global{_PTX_TYPES[operand.constraint]} {register}, {place};")
    predicates = [_predicate(form), "elected" if is_issued(form) else ""]
    lines = [
        *_ptx_declared(operands),
        *(f".reg .pred {predicate};" for predicate in predicates if predicate),
        "ld.param.u64 %memory, [memory];",
        "mov.u32 %lane, %tid.x;",
        f"mad.wide.u32 %memory, %lane, {_LANE_STEP}, %memory;",
        *loads,
        *_ptx_instruction(form, modifiers),
        *stores,
        "ret;",
    ]
    parameters = [".param .u64 memory"]
    parameters += [f".param {_PTX_TYPES[operand.constraint]} {operand.name}" for operand in addresses]
    body = "\n".join(f"    {line}" for line in lines)
    return (
        f".version {version}\n.target {target}\n.address_size 64\n\n"
        f".visible .entry {_MODULE_NAME}({', '.join(parameters)})\n{{\n{body}\n}}\n"
    )


def _ptx_instruction(form: Form, modifiers: Modifiers | None) -> list[str]:
    """The instruction with its predicate, the election of a thread, fence and wait."""
    lines, line = [], ptx_line(form, modifiers)
    predicate = _predicate(form)
    if predicate:
        comparison = "eq" if _adds_c(form, modifiers) else "ne"
        lines.append(f"setp.{comparison}.u32 {predicate}, %lane, %lane;")
    if _asynchronous(form):
        commit, wait = "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"
        return [*lines, "wgmma.fence.sync.aligned;", line, commit, wait]
    if is_issued(form):
        return [*lines, "elect.sync _|elected, -1;", f"@elected {line}"]
    lines.append(line)
    if form.family in ("tcgen05.ld", "tcgen05.st"):
        lines.append(f"tcgen05.wait::{form.family.removeprefix('tcgen05.')}.sync.aligned;")
    return lines


def _ptx_declared(operands: list[AsmOperand]) -> list[str]:
    """Declarations such as ``.reg .b32 %lane, %a<4>;``: registers by type."""
    by_type = {".b32": ["%lane"], ".b64": ["%memory"]}
    for operand in operands:
        name = f"%{operand.name}" if operand.length is None else f"%{operand.name}<{operand.length}>"
        by_type.setdefault(_PTX_TYPES[operand.constraint], []).append(name)
    return [f".reg {type_name} {', '.join(names)};" for type_name, names in by_type.items()]
