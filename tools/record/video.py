"""python -m tools.record video: scalar video instructions on this GPU against those of the simulator.

Every line of `lines()` runs on `COUNT` inputs; FILE gets a digest of what the GPU gave for each, which tests
compare without a GPU.
"""

from __future__ import annotations

import json
import random
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ptxlab
from ptxlab._util.files import write_atomically
from ptxlab.numerics.scalar.opcode import Opcode
from ptxlab.numerics.scalar.video import follows_manual
from tools.record.scalar import digest

FILE = Path(__file__).parents[2] / "tests" / "golden" / "video.json"
COUNT = 2048
_TYPES = ("u32", "s32")
_PARTS = ("", "b0", "b1", "b2", "b3", "h0", "h1")


@lru_cache(maxsize=1)
def lines() -> tuple[str, ...]:
    """Forms of every instruction, with parts of registers chosen at random."""
    rng = random.Random(17)
    found = []
    for name, d, a, b in product(("vadd", "vsub", "vabsdiff", "vmin", "vmax"), _TYPES, _TYPES, _TYPES):
        for end in ("", ".sat", ".add", ".sat.add"):
            found.append((f"{name}.{d}.{a}.{b}{end}", ""))
        found.append((f"{name}.{d}.{a}.{b}", rng.choice(_PARTS[1:6])))
    for name, d, a, mode in product(("vshl", "vshr"), _TYPES, _TYPES, ("clamp", "wrap")):
        found += [(f"{name}.{d}.{a}.u32.{mode}{end}", "") for end in ("", ".add")]
        found.append((f"{name}.{d}.{a}.u32.{mode}", rng.choice(_PARTS[1:6])))
    for a, b, relation in product(_TYPES, _TYPES, ("eq", "ne", "lt", "le", "gt", "ge")):
        found += [(f"vset.{a}.{b}.{relation}{end}", "") for end in ("", ".add")]
        found.append((f"vset.{a}.{b}.{relation}", rng.choice(_PARTS[1:6])))
    texts = []
    for opcode, part in found:
        if not follows_manual(Opcode.parse(opcode), (part, "", "")):
            continue
        a, b = (f"r{number}{_dotted(rng.choice(_PARTS))}" for number in (1, 2))
        third = ", r3" if part or "add" in opcode.split(".") else ""
        texts.append(f"{opcode} r0{_dotted(part)}, {a}, {b}{third}")
    for d, a, b, po in product(_TYPES, _TYPES, _TYPES, ("", ".po")):
        ends = ("", ".sat", ".shr7", ".shr15", ".sat.shr15") if a == b == "s32" else ("",)
        for end in ends:
            x, y = (f"r{number}{_dotted(rng.choice(_PARTS))}" for number in (1, 2))
            sign, other = ("", "") if po else rng.choice((("", ""), ("-", ""), ("", "-")))
            texts.append(f"vmad.{d}.{a}.{b}{po}{end} r0, {sign}{x}, {y}, {other}r3")
    return tuple(dict.fromkeys(texts))


def _dotted(part: str) -> str:
    return f".{part}" if part else ""


def source(target: str = "sm_90a", chosen: tuple[str, ...] | None = None) -> str:
    """A kernel that computes every line from three words of each thread."""
    body = "\n".join(
        f"{line}; st.global.u32 [d3], r0; add.u64 d3, d3, {4 * COUNT};" for line in chosen or lines()
    )
    return f""".version 8.0
.target {target}
.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout) {{
.reg .b32 r<9>; .reg .b64 d<4>;
ld.param.u64 d0, [pin]; ld.param.u64 d1, [pout];
mov.u32 r4, %ctaid.x; mov.u32 r5, %ntid.x; mov.u32 r6, %tid.x; mad.lo.u32 r4, r4, r5, r6;
mad.wide.u32 d2, r4, 12, d0; mad.wide.u32 d3, r4, 4, d1;
ld.global.u32 r1, [d2]; ld.global.u32 r2, [d2+4]; ld.global.u32 r3, [d2+8];
{body}
ret; }}
"""


def inputs() -> NDArray[np.uint32]:
    """Three words for each thread: random ones, borders, small numbers."""
    rng = np.random.default_rng(11)
    shape = (COUNT, 3)
    words = rng.integers(0, 1 << 32, shape, dtype=np.uint64)
    borders = [0, 1, 2, 31, 32, 33, 0x80808080, 0x7F7F7F7F]
    borders += [(1 << bits) + step for bits in (7, 8, 15, 16, 31, 32) for step in (-1, 0)]
    edges = np.array([each & 0xFFFFFFFF for each in borders], dtype=np.uint64)
    words = np.where(rng.random(shape) < 0.4, edges[rng.integers(0, len(edges), shape)], words)
    return np.where(rng.random(shape) < 0.2, words & np.uint64(63), words).astype(np.uint32)


def digests(results: NDArray[np.uint32]) -> dict[str, str]:
    """Of each line."""
    return {line: digest([row]) for line, row in zip(lines(), results, strict=True)}


def run(verb: str) -> NDArray[np.uint32]:
    """The results [lines, COUNT], of `launch` or `simulate`."""
    results = np.zeros((len(lines()), COUNT), dtype=np.uint32)
    kernel: Any = ptxlab.kernel(source())
    getattr(kernel, verb)(COUNT // 128, 128, inputs(), results)
    return results


def main(folder: Path = FILE.parent) -> None:
    recorded = run("launch")
    different = np.flatnonzero((recorded != run("simulate")).any(axis=1))
    print(f"{len(lines())} lines, {len(different)} differ: {[lines()[number] for number in different[:20]]}")
    write_atomically(folder / FILE.name, json.dumps(digests(recorded), indent=0) + "\n")
