"""CUDA C++ around one ldmatrix, stmatrix, movmatrix, wmma.load or wmma.store.

One warp per block runs it; each has its own memory, which the kernel fills first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...isa.transfer import Transfer
from .cpp import AsmOperands, register_word
from .ptx import ptx_line, stores, with_names

#: Shared memory that a kernel declares; every target allows as much without a launch attribute.
SHARED_BYTES = 48 * 1024

_KERNEL = """\
// {ptx}
extern "C" __global__ void __launch_bounds__(32) {name}(
    {parameters}, int count)
{{
    const int lane = threadIdx.x;
{shared}    for (long long i = blockIdx.x; i < count; i += gridDim.x) {{
{before}
        asm volatile("{line}"
                     :{outputs}
                     : {inputs}
                     : "memory");
{after}
    }}
}}
"""

_SHARED = "    __shared__ __align__(128) uint4 image[{size}];\n"
_COPY = "        for (int j = lane; j < size; j += 32) {destination} = {source};"
_OWN_MEMORY = "memory[i * size + j]"
_OWN_RESULT = "result[i * size + j]"
_SYNC = "        __syncwarp();"


def kernel_name(form: Transfer) -> str:
    """The name of its kernel: the mnemonic as an identifier."""
    return re.sub(r"\W", "_", form.mnemonic)


def in_shared(form: Transfer) -> bool:
    """Whether the memory is shared memory; generic addresses of wmma point to global memory here."""
    return form.family in ("ldmatrix", "stmatrix") or (form.space or "").startswith("shared")


def source(forms: Iterable[Transfer]) -> str:
    """The kernels of these instructions in one source."""
    return "\n".join(
        _movmatrix(form) if form.family == "movmatrix" else _load_or_store(form) for form in forms
    )


def _movmatrix(form: Transfer) -> str:
    return _KERNEL.format(
        ptx=ptx_line(form),
        name=kernel_name(form),
        parameters="const unsigned int* A, unsigned int* D",
        shared="",
        before="        unsigned int d;",
        line=with_names(form, None, {"d": ["%0"], "a": ["%1"]}),
        outputs=' "=r"(d)',
        inputs='"r"(A[i * 32 + lane])',
        after="        D[i * 32 + lane] = d;",
    )


def _load_or_store(form: Transfer) -> str:
    """The kernel of a load or store of R; a memory in shared memory is first filled from global memory."""
    operand, shared, is_store = form.register_operand, in_shared(form), stores(form)
    count, word = operand.registers, register_word(operand)
    base = "image" if shared else f"({'result' if is_store else 'memory'} + i * size)"
    address, address_constraint = _address(form, base)
    own_register = f"R[(i * 32 + lane) * {count} + n]"
    before, declared = _filled_image(form), f"        {word} r[{count}];"
    operands = AsmOperands()
    if is_store:
        if not shared:
            before = [_COPY.format(destination=_OWN_RESULT, source=_OWN_MEMORY), _SYNC]
        before += [declared, _each_register(count, f"r[n] = {own_register}"), f"        {address};"]
        after = [_SYNC, _COPY.format(destination=_OWN_RESULT, source="image[j]")] if shared else []
        arrays = [f"const {word}* R", "uint4* result"]
        operands.add("p", address_constraint, ["address"])
        operands.add_registers(operand, "r")
    else:
        before += [declared, f"        {address};"]
        after = [_each_register(count, f"{own_register} = r[n]")]
        arrays = [f"{word}* R"]
        operands.add_registers(operand, "r", "=")
        operands.add("p", address_constraint, ["address"])
    placement = []
    if form.wmma:
        operands.add("stride", "r", ["stride"])
        placement = ["unsigned int stride", "unsigned int offset"]
    parameters = ["const uint4* memory", *_lane_addresses(form), *arrays, "int size", *placement]
    return _KERNEL.format(
        ptx=ptx_line(form),
        name=kernel_name(form),
        parameters=", ".join(parameters),
        shared=_SHARED.format(size=SHARED_BYTES // 16) if shared else "",
        before="\n".join(before),
        line=with_names(form, None, operands.names),
        outputs=f" {', '.join(operands.outputs)}".rstrip(),
        inputs=", ".join(operands.inputs),
        after="\n".join(after),
    )


def _filled_image(form: Transfer) -> list[str]:
    """The copy from global to shared memory, if the instruction accesses shared memory."""
    if not in_shared(form):
        return []
    return [_SYNC, _COPY.format(destination="image[j]", source=_OWN_MEMORY), _SYNC]


def _each_register(count: int, statement: str) -> str:
    return f"        for (int n = 0; n < {count}; ++n) {statement};"


def _lane_addresses(form: Transfer) -> list[str]:
    """The parameter with the addresses of all lanes; wmma has stride and offset instead."""
    return [] if form.wmma else ["const unsigned int* addresses"]


def _address(form: Transfer, base: str) -> tuple[str, str]:
    """The declaration of the address that a lane supplies, and its constraint."""
    pointer = f"(char*){base} + {'offset' if form.wmma else 'addresses[i * 32 + lane]'}"
    if form.space is None:
        return f"const void* address = {pointer}", "l"
    if form.space == "global":
        return f"const size_t address = __cvta_generic_to_global({pointer})", "l"
    return f"const unsigned int address = (unsigned int)__cvta_generic_to_shared({pointer})", "r"
