"""NVIDIA's assembler as a witness: nvJitLink takes PTX text, needs no GPU, and names the lines it refuses."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import pytest

from ptxlab import Instruction

BITS = {"b1": 1, "s4": 4, "u4": 4, "e2m1": 4, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "f16": 16, "bf16": 16, "s32": 32, "f32": 32, "tf32": 32}
HEAD = """\
.version 9.0
.target {target}
.address_size 64
.visible .entry k() {{ .reg .b32 a<8>, b<8>, c<130>, e, sfa, sfb; .reg .f32 f<130>; .reg .b64 da, db; .reg .pred p;
"""


def line(ins: Instruction) -> str:
    """The instruction with an operand list counted out from its shape and types alone."""

    def registers(name: str, rows: int, columns: int, kind: str) -> str:
        count = max(rows * columns * BITS[kind] // 32 // (128 if "wgmma" in ins.family else 32), 1)
        return "{" + ", ".join(f"{name}{i}" for i in range(count)) + "}"

    d = registers("f" if ins.d_type == "f32" else "c", ins.m, ins.n, ins.d_type)
    a = registers("a", ins.m, ins.k // (2 if ".sp" in ins.mnemonic else 1), ins.a_type)
    if "wgmma" in ins.family:
        floats = ", 1, -1" if ins.a_type.startswith("e") else ""
        return f"{ins.mnemonic} {d}, {'da' if ins.a_space == 'shared' else a}, db, e, 0, p{floats};"
    sparse = ", e, 0" if ".sp" in ins.mnemonic else ""
    scales = ", sfa, {0, 0}, sfb, {0, 0}" if "block_scale" in ins.mnemonic else ""
    return f"{ins.mnemonic} {d}, {a}, {registers('b', ins.k, ins.n, ins.b_type)}, {d}{sparse}{scales};"


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
