"""python -m tools.record approximations: record the approximate instructions of PTX on an H200.

approximations.json has a digest for every opcode: of the results for `inputs(opcode)`. No model is asked.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ptxlab
from ptxlab._util.files import write_atomically
from ptxlab.numerics.scalar.approximations import FUNCTIONS

FOLDER = Path(__file__).parents[2] / "tests" / "golden"
_COUNT = 1 << 15

#: C++'s type of an operand, and the letter of its register in inline assembly.
_OPERANDS = {
    "f32": ("float", "f"), "f64": ("double", "d"),
    "f16": ("unsigned short", "h"), "bf16": ("unsigned short", "h"),
    "f16x2": ("unsigned int", "r"), "bf16x2": ("unsigned int", "r"),
}  # fmt: skip

_KERNEL = """\
extern "C" __global__ void probe(const {type}* a, const {type}* b, {type}* out, int count)
{{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    {type} result;
    asm volatile("{line}" : "={letter}"(result) : "{letter}"(a[i]), "{letter}"(b[i]));
    out[i] = result;
}}
"""


def inputs(opcode: str) -> list[NDArray[Any]]:
    """Codes of every exponent, the edges of each, and more where functions vary; every code of 16 bits."""
    kind = opcode.rsplit(".", 1)[1]
    if kind in ("f16", "bf16"):
        return [np.arange(1 << 16, dtype=np.uint16)]
    bits, fraction, exponents = (64, 52, 2048) if kind == "f64" else (32, 23, 256)
    dtype = np.dtype(f"u{bits // 8}")
    scrambled = np.arange(_COUNT, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    anywhere = (scrambled >> np.uint64(64 - bits)).astype(dtype)
    sign_and_fraction = anywhere & dtype.type(1 << bits - 1 | (1 << fraction) - 1)
    field = (scrambled & np.uint64(31)).astype(dtype) + dtype.type(exponents // 2 - 17)
    near_one = sign_and_fraction | field << dtype.type(fraction)
    edges = np.arange(2 * exponents, dtype=dtype) << dtype.type(fraction)
    codes = np.concatenate([anywhere, near_one, edges, edges - dtype.type(1), edges + dtype.type(1)])
    if not opcode.startswith("div"):
        return [codes]
    fields = np.arange(1, 128, dtype=dtype)  # quotients next to 2^-126
    dividends, divisors = fields + dtype.type(1) << dtype.type(23), fields + dtype.type(127) << dtype.type(23)
    return [
        np.concatenate([codes, dividends, dividends - dtype.type(1), dividends + dtype.type(1)]),
        np.concatenate([np.roll(codes[::-1], 12345), divisors, divisors, divisors + dtype.type(1)]),
    ]


def results(opcode: str, *sources: NDArray[Any]) -> NDArray[Any]:
    """What the GPU gives."""
    kind, letter = _OPERANDS[opcode.rsplit(".", 1)[1]]
    operands = "%0, %1, %2" if len(sources) == 2 else "%0, %1"
    text = _KERNEL.format(type=kind, letter=letter, line=f"{opcode} {operands};")
    out = np.zeros_like(sources[0])
    ptxlab.kernel(text).launch(-(-out.size // 256), 256, sources[0], sources[-1], out, out.size)
    return out


def digest(codes: NDArray[Any]) -> str:
    """The SHA-256 of an array of codes, little-endian."""
    return hashlib.sha256(codes.astype(codes.dtype.newbyteorder("<")).tobytes()).hexdigest()


def main(folder: Path = FOLDER) -> None:
    """Record every opcode."""
    digests = {opcode: digest(results(opcode, *inputs(opcode))) for opcode in FUNCTIONS}
    write_atomically(folder / "approximations.json", json.dumps(digests, indent=1) + "\n")
