"""NVIDIA's assembler as a witness: nvJitLink takes PTX text, needs no GPU, and names the lines it refuses."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import pytest

from ptxlab import Instruction

BITS = {
    "b1": 1, "s4": 4, "u4": 4, "e2m1": 4, "e3m2": 8, "e2m3": 8, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8,
    "f16": 16, "bf16": 16, "s32": 32, "f32": 32, "tf32": 32, "f64": 64,
}  # fmt: skip
HEAD = """\
.version 9.0
.target {target}
.address_size 64
.visible .entry k() {{ .reg .b32 a<8>, b<8>, c<130>, e, sfa, sfb; .reg .f32 f<130>;
.reg .b64 da, db; .reg .f64 w<8>; .reg .pred p;
"""


def line(ins: Instruction) -> str:
    """The instruction with an operand list counted out from its shape and types alone."""
    word = ins.mnemonic

    def registers(name: str, rows: int, columns: int, kind: str) -> str:
        bits = 8 if "f8f6f4" in word and kind in ("e2m1", "e3m2", "e2m3") else BITS[kind]
        products = 4 if word.startswith("mma") and "m8n8k4" in word and ins.a_type == "f16" else 1
        count = max(products * rows * columns * bits // max(bits, 32) // (128 if "wgmma" in word else 32), 1)
        if word.startswith("wmma") and kind == "f16" and name in "ab":
            count = 8
        return "{" + ", ".join(f"{'w' if bits == 64 else name}{i}" for i in range(count)) + "}"

    d, c = (registers("f" if kind == "f32" else "c", ins.m, ins.n, kind) for kind in (ins.d_type, ins.c_type))
    a = registers("a", ins.m, ins.k // (2 if ".sp" in word else 1), ins.a_type)
    if "wgmma" in word:
        sparse = ", e, 0" if ".sp" in word else ""
        floats = ", 1, -1" if ins.d_type != "s32" else ""
        transposes = ""
        if BITS[ins.a_type] == 16:
            transposes = ", 0, 1" if ins.a_space == "shared" else ", 1"
        return f"{word} {d}, {'da' if ins.a_space == 'shared' else a}, db{sparse}, p{floats}{transposes};"
    sparse = ", e, 0" if ".sp" in word else ""
    scales = ", sfa, {0, 0}, sfb, {0, 0}" if "block_scale" in word else ""
    return f"{word} {d}, {a}, {registers('b', ins.k, ins.n, ins.b_type)}, {c}{sparse}{scales};"


def refused(lines: Sequence[str], target: str) -> dict[int, str]:
    """Index and complaint of every line that the assembler does not take for this target."""
    try:
        from cuda.bindings import nvjitlink
    except ImportError:
        if os.environ.get("CI"):
            raise
        pytest.skip("no nvJitLink; pip install 'ptxlab[cuda13]'")
    head = HEAD.format(target=target)
    text = (head + "\n".join(lines) + "\nret; }\n").encode()
    handle = nvjitlink.create(1, [f"-arch={target}"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "k")
        nvjitlink.complete(handle)
        return {}
    except nvjitlink.nvJitLinkError:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    complaints = re.findall(r"line (\d+); error\s*: (.*)", log.decode())
    if not complaints:
        raise AssertionError(f"the assembler failed without naming a line:\n{log.decode()}")
    return {int(number) - head.count("\n") - 1: what for number, what in complaints}
