"""CUDA C++ around one ldmatrix, stmatrix, movmatrix, wmma.load or wmma.store.

One warp a block runs it; each has memory of its own, which the kernel fills first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...isa.transfer import TransferForm
from .cpp import constraint, register_word
from .ptx import ptx_line, stores, with_names

#: Shared memory that a kernel declares; every target has as much without a launch attribute.
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


def kernel_name(form: TransferForm) -> str:
    """Name of its kernel: the mnemonic as an identifier."""
    return re.sub(r"\W", "_", form.mnemonic)


def in_shared(form: TransferForm) -> bool:
    """Whether the memory is shared memory; generic addresses of wmma point to global memory here."""
    return form.family in ("ldmatrix", "stmatrix") or (form.space or "").startswith("shared")


def source(forms: Iterable[TransferForm]) -> str:
    """The kernels of these instructions in one source."""
    return "\n".join(_kernel(form) for form in forms)


def _kernel(form: TransferForm) -> str:
    if form.family == "movmatrix":
        return _movmatrix(form)
    return _store(form) if stores(form) else _load(form)


def _movmatrix(form: TransferForm) -> str:
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


def _load(form: TransferForm) -> str:
    operand = form.register_operand
    count = operand.registers
    word = register_word(operand)
    address, address_constraint = _address(form, "image" if in_shared(form) else "(memory + i * size)")
    before = _filled_image(form)
    before += [f"        {word} r[{count}];", f"        {address};"]
    outputs = [f'"={constraint(operand)}"(r[{n}])' for n in range(count)]
    inputs = [f'"{address_constraint}"(address)']
    if form.wmma:
        inputs.append('"r"(stride)')
    names = {
        operand.name.lower(): [f"%{n}" for n in range(count)],
        "p": [f"%{count}"],
        "stride": [f"%{count + 1}"],
    }
    return _KERNEL.format(
        ptx=ptx_line(form),
        name=kernel_name(form),
        parameters=", ".join(
            ["const uint4* memory", *_lane_addresses(form), f"{word}* R", "int size", *_placement(form)]
        ),
        shared=_shared(form),
        before="\n".join(before),
        line=with_names(form, None, names),
        outputs=" " + ", ".join(outputs),
        inputs=", ".join(inputs),
        after=_each_register(count, f"{_own_register(count)} = r[n]"),
    )


def _store(form: TransferForm) -> str:
    operand = form.register_operand
    count = operand.registers
    word = register_word(operand)
    shared = in_shared(form)
    address, address_constraint = _address(form, "image" if shared else "(result + i * size)")
    before = _filled_image(form)
    if not shared:
        before = [_COPY.format(destination=_OWN_RESULT, source=_OWN_MEMORY), _SYNC]
    before += [
        f"        {word} r[{count}];",
        _each_register(count, f"r[n] = {_own_register(count)}"),
        f"        {address};",
    ]
    after = [_SYNC, _COPY.format(destination=_OWN_RESULT, source="image[j]")] if shared else []
    inputs = [f'"{address_constraint}"(address)']
    inputs += [f'"{constraint(operand)}"(r[{n}])' for n in range(count)]
    if form.wmma:
        inputs.append('"r"(stride)')
    names = {
        "p": ["%0"],
        operand.name.lower(): [f"%{n + 1}" for n in range(count)],
        "stride": [f"%{count + 1}"],
    }
    return _KERNEL.format(
        ptx=ptx_line(form),
        name=kernel_name(form),
        parameters=", ".join(
            [
                "const uint4* memory",
                *_lane_addresses(form),
                f"const {word}* R",
                "uint4* result",
                "int size",
                *_placement(form),
            ]
        ),
        shared=_shared(form),
        before="\n".join(before),
        line=with_names(form, None, names),
        outputs="",
        inputs=", ".join(inputs),
        after="\n".join(after),
    )


def _shared(form: TransferForm) -> str:
    return _SHARED.format(size=SHARED_BYTES // 16) if in_shared(form) else ""


def _filled_image(form: TransferForm) -> list[str]:
    """Global memory is copied to shared memory, if that is where the instruction looks."""
    if not in_shared(form):
        return []
    return [_SYNC, _COPY.format(destination="image[j]", source=_OWN_MEMORY), _SYNC]


def _each_register(count: int, statement: str) -> str:
    return f"        for (int n = 0; n < {count}; ++n) {statement};"


def _own_register(count: int) -> str:
    """Register n of this lane in the array R."""
    return f"R[(i * 32 + lane) * {count} + n]"


def _lane_addresses(form: TransferForm) -> list[str]:
    """The parameter with an address for every lane; wmma has stride and offset instead."""
    return [] if form.wmma else ["const unsigned int* addresses"]


def _placement(form: TransferForm) -> list[str]:
    return ["unsigned int stride", "unsigned int offset"] if form.wmma else []


def _address(form: TransferForm, base: str) -> tuple[str, str]:
    """Declaration of the address that a lane supplies, and its constraint."""
    pointer = f"(char*){base} + {'offset' if form.wmma else 'addresses[i * 32 + lane]'}"
    if form.space is None:
        return f"const void* address = {pointer}", "l"
    if form.space == "global":
        return f"const size_t address = __cvta_generic_to_global({pointer})", "l"
    return f"const unsigned int address = (unsigned int)__cvta_generic_to_shared({pointer})", "r"
