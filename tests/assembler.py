"""NVIDIA's assemblers as witnesses: they take PTX text, need no GPU, and name the lines that they refuse.

The oldest that ptxlab supports is nvJitLink of CUDA 13.0, which `ptxlab[cuda13]` installs; the newest is
ptxas of CUDA 13.4. They come in wheels of different names, so that one environment has both.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

import pytest

from ptxlab import Instruction
from ptxlab.isa.form import Form
from ptxlab.isa.targets import TARGET_VERSIONS, PtxVersion

BITS = {
    "b1": 1, "s4": 4, "u4": 4, "e2m1": 4, "e3m2": 8, "e2m3": 8, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8,
    "f16": 16, "bf16": 16, "s32": 32, "f32": 32, "tf32": 32, "f64": 64,
}  # fmt: skip
HEAD = """\
.version {version}
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


@dataclass(frozen=True)
class Compiler:
    """An assembler of one CUDA release; `build` gives machine code of a module, or complaints about it."""

    release: str
    ptx_version: PtxVersion
    build: Callable[[str, str], bytes | str]

    def __str__(self) -> str:
        return f"CUDA {self.release}"

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that it knows."""
        return tuple(name for name, since in TARGET_VERSIONS.items() if since <= self.ptx_version)

    def assemble(self, text: str, target: str) -> str | None:
        """Its complaints about a module, or None."""
        built = self.build(text, target)
        return built if isinstance(built, str) else None

    def knows(self, form: Form) -> bool:
        """Whether its PTX ISA has the form."""
        return form.ptx_version <= self.ptx_version


def _nvjitlink(text: str, target: str) -> bytes | str:
    """nvJitLink assembles in this process."""
    try:
        from cuda.bindings import nvjitlink
    except ImportError:
        _missing("no nvJitLink; pip install 'ptxlab[cuda13]'")
    release = ".".join(map(str, nvjitlink.version()))
    if release != OLDEST.release:
        _missing(f"nvJitLink is that of CUDA {release}, not of {OLDEST.release}; pip install 'ptxlab[test]'")
    code = text.encode()
    handle = nvjitlink.create(1, [f"-arch={target}"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, code, len(code), "k")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        return bytes(cubin)
    except nvjitlink.nvJitLinkError:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, log)
        return log.decode()
    finally:
        nvjitlink.destroy(handle)


def _ptxas(text: str, target: str) -> bytes | str:
    """The newest ptxas, a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "k.ptx"
        file.write_text(text, encoding="ascii")
        cubin = file.with_suffix(".cubin")
        command = [ptxas(), f"-arch={target}", "-o", str(cubin), str(file)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        return process.stderr if process.returncode else cubin.read_bytes()


@lru_cache(maxsize=1)
def ptxas() -> str:
    """Path of the newest ptxas: that of the wheel nvidia-cuda-nvcc, or one on the PATH."""
    folders = [Path(entry) / "nvidia" / "cu13" / "bin" for entry in sys.path]
    path = shutil.which("ptxas", path=os.pathsep.join(map(str, folders))) or shutil.which("ptxas")
    if path is None:
        _missing("no ptxas; pip install 'ptxlab[test]'")
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"release (\d+\.\d+)", text)
    if release is None or release[1] != NEWEST.release:
        found = "another" if release is None else release[1]
        _missing(f"ptxas is that of CUDA {found}, not of {NEWEST.release}; pip install 'ptxlab[test]'")
    return path


def _missing(what: str) -> NoReturn:
    """Without an assembler tests skip and say so; in CI they fail."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


#: What ptxlab supports: from the release that its extra `cuda13` installs to the newest.
OLDEST = Compiler("13.0", PtxVersion(9, 0), _nvjitlink)
NEWEST = Compiler("13.4", PtxVersion(9, 4), _ptxas)
COMPILERS = (OLDEST, NEWEST)


def refused(
    lines: Sequence[str], target: str, compiler: Compiler = OLDEST, version: PtxVersion | None = None
) -> dict[int, str]:
    """Index and complaint of every line that the assembler does not take for this target.

    `version` is what the module says of itself: the compiler's newest unless it is told.
    """
    head = HEAD.format(target=target, version=version or compiler.ptx_version)
    log = compiler.assemble(head + "\n".join(lines) + "\nret; }\n", target)
    if log is None:
        return {}
    complaints = re.findall(r"line (\d+); error\s*: (.*)", log)
    if not complaints:
        raise AssertionError(f"the assembler failed without naming a line:\n{log}")
    return {int(number) - head.count("\n") - 1: what for number, what in complaints}


def section(cubin: bytes, name: str) -> bytes:
    """The contents of a section of an ELF file of 64 bits."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<I4xQQQQ", cubin, table + size * number) for number in range(count)]
    for at, _, _, offset, length in headers:
        start = headers[names][3] + at
        if cubin[start : cubin.index(0, start)] == name.encode():
            return cubin[offset : offset + length]
    raise KeyError(name)
