"""Random kernels that sum a few products, to try fingerprints of `Kernel.run`.

`python -m tests.simulator.random_reductions 10000` tries so many and counts: kernels with equal fingerprints
must have equal bits.
"""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict

import numpy as np

import ptxlab

_TERMS = 4
_HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 px, .param .u64 pw, .param .u64 py) {
.reg .b32 %r<400>; .reg .f32 %f<400>; .reg .b64 %d<400>; .reg .b16 %h<400>; .reg .pred %p<9>;
.shared .align 16 .b8 tile[4096];
ld.param.u64 %d1, [px]; ld.param.u64 %d2, [pw]; ld.param.u64 %d3, [py];
mov.u32 %r1, %tid.x; mul.wide.u32 %d4, %r1, 16; add.s64 %d5, %d1, %d4; add.s64 %d6, %d2, %d4;
mul.wide.u32 %d7, %r1, 4; add.s64 %d8, %d3, %d7;
shl.b32 %r2, %r1, 4; mov.u32 %r3, tile; add.s32 %r4, %r2, %r3;
"""


class Writer:
    """The text of one kernel; `kind` is the type of its sums, "f32" or "s32"."""

    def __init__(self, rng: random.Random, kind: str) -> None:
        self.rng, self.kind, self.count = rng, kind, 10
        self.lines: list[str] = []

    def new(self) -> str:
        self.count += 1
        return f"%{'f' if self.kind == 'f32' else 'r'}{self.count}"

    def write(self, line: str) -> None:
        self.lines.append(line)

    def load(self, base: str) -> list[str]:
        """The terms of a thread: one by one, as pairs, or as a vector, perhaps through shared memory."""
        registers = [self.new() for _ in range(_TERMS)]
        way = self.rng.choice(("one", "v2", "v4", "shared", "async"))
        at, space = base, "global"
        if way == "shared":
            moved = [self.new() for _ in registers]
            self.write(f"ld.global.v4.b32 {{{', '.join(moved)}}}, [{base}];")
            self.write(f"bar.sync 0; st.shared.v4.b32 [%r4], {{{', '.join(moved)}}}; bar.sync 0;")
            at, space, way = "%r4", "shared", self.rng.choice(("one", "v2", "v4"))
        elif way == "async":
            self.write(
                f"bar.sync 0; cp.async.ca.shared.global [%r4], [{base}], 16; cp.async.wait_all; bar.sync 0;"
            )
            at, space, way = "%r4", "shared", "v2"
        if way == "one":
            for number, register in enumerate(registers):
                self.write(f"ld.{space}.b32 {register}, [{at}+{4 * number}];")
        elif way == "v2":
            for first in (0, 2):
                pair = ", ".join(registers[first : first + 2])
                self.write(f"ld.{space}.v2.b32 {{{pair}}}, [{at}+{4 * first}];")
        else:
            self.write(f"ld.{space}.v4.b32 {{{', '.join(registers)}}}, [{at}];")
        return registers

    def passed(self, register: str) -> str:
        """The same value in another register, through a pair, halves or a shuffle that changes nothing."""
        way, target = self.rng.choice(("none", "none", "pair", "halves", "shuffle", "bytes")), self.new()
        number = self.count
        if way == "pair":
            self.write(
                f"mov.b64 %d{number}, {{{register}, {register}}}; mov.b64 {{{target}, _}}, %d{number};"
            )
        elif way == "halves":
            self.write(f"mov.b32 {{%h{number}, %h{number - 1}}}, {register};")
            self.write(f"mov.b32 {target}, {{%h{number}, %h{number - 1}}};")
        elif way == "shuffle":
            self.write(f"shfl.sync.idx.b32 {target}, {register}, %r1, 31, -1;")
        elif way == "bytes":
            word = f"%r{number + 100}"
            self.write(f"mov.b32 {word}, {register}; prmt.b32 {word}, {word}, 0, 0x3210;")
            self.write(f"mov.b32 {target}, %r{number + 100};")
        else:
            return register
        return target

    def combine(self, operation: str, *operands: str) -> str:
        target = self.new()
        self.write(f"{operation}.{self.kind} {target}, {', '.join(operands)};")
        return target

    def kernel(self) -> str:
        """A dot product in some order, and perhaps a sum over the warp."""
        rng = self.rng
        x, w = self.load("%d5"), self.load("%d6")
        pairs = list(zip(x, w, strict=True))
        if rng.random() < 0.5:
            rng.shuffle(pairs)
        integer = self.kind == "s32"
        multiply, fuse = ("mul.lo", "mad.lo") if integer else (rng.choice(("mul", "mul.rn")), "fma.rn")
        add = "add" if integer else rng.choice(("add", "add.rn"))
        swapped = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]
        if rng.random() < 0.5:
            total = self.combine(multiply, *swapped[0])
            for a, b in swapped[1:]:
                total = self.combine(fuse, self.passed(a), b, total)
        else:
            terms = [self.combine(multiply, self.passed(a), b) for a, b in swapped]
            while len(terms) > 1:
                first = terms.pop(rng.choice((0, -1)))
                second = terms.pop(rng.choice((0, -1)))
                terms.insert(rng.choice((0, len(terms))), self.combine(add, *rng.sample((first, second), 2)))
            (total,) = terms
        steps = rng.choice(((), (16, 8), (8, 16), (1, 2), (2, 1)))
        for step in steps:
            other = self.new()
            self.write(f"shfl.sync.bfly.b32 {other}, {total}, {step}, 31, -1;")
            total = self.combine(rng.choice((add, add, "max", "min")), *rng.sample((total, other), 2))
        return f"{_HEAD}{chr(10).join(self.lines)}\nst.global.b32 [%d8], {total}; ret; }}\n"


def tried(count: int, seed: int = 0) -> Counter[str]:
    """Random kernels on the same input: how many trees and values there are; an error if one is wrong."""
    rng, counts = random.Random(seed), Counter[str]()
    numbers = np.random.default_rng(seed)
    for kind in ("f32", "s32"):
        x, w = numbers.standard_normal((2, 32, _TERMS)).astype(np.float32)
        if kind == "s32":
            x, w = (
                numbers.integers(-(2**31), 2**31, (32, _TERMS), dtype=np.int64).astype(np.int32) for _ in "xw"
            )
        bits: dict[int, tuple[bytes, str]] = {}
        trees: dict[int, dict[bytes, set[int]]] = defaultdict(lambda: defaultdict(set))
        for _ in range(count // 2):
            text = Writer(rng, kind).kernel()
            result = np.zeros(32, dtype=x.dtype)
            reduction = ptxlab.kernel(text).reduction(1, 32, x, w, result)
            assert reduction.scope == "all inputs", text
            counts["kernels"] += 1
            for lane, tree in enumerate(reduction.fingerprints.tolist()):
                value = reduction.values[lane].tobytes()
                known, other = bits.setdefault(tree, (value, text))
                assert known == value, f"equal fingerprints, different bits:\n{text}\nand\n{other}"
                counts["elements with a known tree"] += other is not text
                trees[lane][value].add(tree)
        counts["trees"] += len(bits)
        counts[f"values of {kind}"] += sum(map(len, trees.values()))
        counts[f"values of {kind} that several trees give"] += sum(
            len(tree) > 1 for values in trees.values() for tree in values.values()
        )
    return counts


if __name__ == "__main__":
    for name, number in tried(int(sys.argv[1]) if len(sys.argv) > 1 else 10000).items():
        print(f"{number:10,} {name}")
