"""Lines of PTX that are not matrix instructions, for the assembler: each instruction with each modifier.

Written from the manual's syntax blocks, without ptxlab's table of targets. `tests/isa/test_availability.py`
asks the assembler which targets and versions of PTX take them, and compares. In availability_lines.txt
`{a|b|}` stands for one of several, or for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from string import Template

from ptxlab.numerics.scalar import opcodes, operation

HEAD = """\
.version {version}
.target {target}
.address_size 64
.visible .entry k() {{ .reg .b8 y<9>; .reg .b16 h<9>; .reg .b32 r<9>; .reg .b64 d<9>; .reg .b128 q<9>;
.reg .f32 f<9>; .reg .f64 g<9>; .reg .pred p<9>; .shared .align 16 .b8 memory[64];
"""

#: What the lines abbreviate: `${EVICT}` for one.
_PARTS = {
    "EVICT": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    "L2": "L2::evict_normal|L2::evict_first|L2::evict_last",
    "SHARED": "shared|shared::cta|shared::cluster",
    "SCOPE": "cta|cluster|gpu|sys",
    "TMA": "cp.async.bulk.tensor",
    "INTO": "shared::cluster.global",
    "BYTES": "mbarrier::complete_tx::bytes",
    "TENSOR_1D": "tensor.1d.global.shared::cta",
    "TENSORMAP": "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic",
    "ARRIVE": "{arrive|arrive_drop}",
    "TEST": "{test_wait|try_wait}",
}
#: A choice inside of an opcode, or one with a bar anywhere; registers in braces are a vector.
_CHOICE = re.compile(r"(?<! )\{([^{}, ]*)\}|\{([^{}, ]*\|[^{}, ]*)\}")


def _expanded(text: str) -> Iterator[str]:
    choice = _CHOICE.search(text)
    if choice is None:
        yield re.sub(r"\.\.+", ".", text).replace(". ", " ").rstrip(".")
        return
    for part in (choice[1] or choice[2]).split("|"):
        yield from _expanded(text[: choice.start()] + part + text[choice.end() :])


@lru_cache(maxsize=1)
def lines() -> tuple[str, ...]:
    """Every line, without the semicolon."""
    template = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    found = []
    for text in Template(template).substitute(_PARTS).splitlines():
        for line in _expanded(text):
            line = line.replace("PAIR", "{r0, r1}" if ".v2" in line else "r0")
            found.append(line.replace("WAIT", "r1" if ".parity" in line else "d1"))
    return tuple(dict.fromkeys(found))


_REGISTERS = {1: "h", 2: "h", 4: "r", 8: "d"}


def _is_byte(part: str, parts: list[str]) -> bool:
    """Whether a value of this type is in a register of 8 bits: elsewhere 16 bits are the narrowest."""
    return part == "e2m1x2" or (part in ("u8", "s8") and "bf16" in parts)


def _scalar_line(opcode: str) -> str:
    known = operation(opcode)
    assert known is not None, opcode
    parts = opcode.split(".")

    def register(number: int, size: int, is_predicate: bool, narrow: bool) -> str:
        if is_predicate:
            return f"p{number}"
        return f"{'y' if narrow else _REGISTERS[size]}{number}"

    first_is_small, last_is_small = (_is_byte(part, parts) for part in (parts[-2], parts[-1]))
    sources = [
        register(2 + i, dtype.itemsize, dtype.kind == "b", last_is_small)
        for i, dtype in enumerate(known.sources)
    ]
    results = [
        register(i, dtype.itemsize, dtype.kind == "b", first_is_small)
        for i, dtype in enumerate(known.results)
    ]
    if parts[0] in ("addc", "subc", "madc"):
        sources.pop()  # the carry flag has no name
    if "cc" in parts or (parts[0] == "setp" and "x2" not in parts[-1]):
        results = results[:1]
    if parts[0] == "lop3":
        sources[3] = "0x96"
    sources = sources[: len(sources) - known.optional]
    if "rs" in parts and len(sources) == 5:
        sources[:4] = ["{" + ", ".join(sources[:4]) + "}"]
    return f"{opcode} {'|'.join(results)}, {', '.join(sources)}"


@lru_cache(maxsize=1)
def scalar_lines() -> tuple[str, ...]:
    """Every scalar instruction that ptxlab computes."""
    return tuple(map(_scalar_line, opcodes()))
