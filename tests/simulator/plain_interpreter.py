"""PTX one thread and one instruction at a time, in plain Python: what the simulator is compared with.

It knows the instructions that `test_plain_interpreter.py` makes programs of. Registers hold bits. Threads of
a block run in turn up to the next barrier. Written from the PTX ISA, "Instruction Set".
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction

_LINE = re.compile(r"\s*(?:(\w+):|(?:@(!?)(%p\d+)\s+)?([\w.]+)\s*(.*?);)")
_NAN = 0x7FFFFFFF
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def width(kind: str) -> int:
    return 1 if kind == "pred" else int(kind[1:])


def number(bits: int, kind: str) -> int:
    """The bits as a number of this integer type."""
    size = width(kind)
    bits &= (1 << size) - 1
    return bits - (1 << size) if kind[0] == "s" and bits >> (size - 1) else bits


def real(bits: int) -> float:
    (value,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))
    return float(value)


def rounded(exact: Fraction | float) -> int:
    """The bits of the nearest f32, ties to even; a NaN is PTX's canonical one."""
    if isinstance(exact, float):
        return _NAN if math.isnan(exact) else int.from_bytes(struct.pack("<f", exact), "little")
    if exact == 0:
        return 0
    exponent = max(math.floor(math.log2(abs(exact.numerator)) - math.log2(exact.denominator)) - 26, -149)
    while abs(exact) >= Fraction(2) ** (exponent + 24):
        exponent += 1
    value = round(exact / Fraction(2) ** exponent) * Fraction(2) ** exponent
    magnitude = 0x7F800000 if abs(value) >= 2**128 else rounded(float(abs(value)))
    return magnitude | (exact < 0) << 31


def _sum_of_product(a: float, b: float, c: float) -> int:
    plain = a * b + c  # right for what is not finite, and for the sign of zero
    return rounded(
        plain if plain == 0 or not math.isfinite(plain) else Fraction(a) * Fraction(b) + Fraction(c)
    )


def _least(a: int, b: int, largest: bool) -> int:
    """min and max of f32: of a number and a NaN the number; -0 is less than +0."""
    x, y = real(a), real(b)
    if math.isnan(x) or math.isnan(y):
        return _NAN if math.isnan(x) and math.isnan(y) else (b if math.isnan(x) else a)
    order = (x, not a >> 31) <= (y, not b >> 31)
    return b if order == largest else a


def _permuted(a: int, b: int, selector: int) -> int:
    pool, result = ((b & 0xFFFFFFFF) << 32 | a).to_bytes(8, "little"), 0
    for place in range(4):
        code = selector >> 4 * place & 15
        byte = pool[code & 7]
        if code & 8:
            byte = 255 * (byte >> 7)
        result |= byte << 8 * place
    return result


def _extracted(a: int, b: int, c: int, kind: str) -> int:
    """bfe."""
    position, length, size = b & 255, c & 255, width(kind)
    sign = kind[0] == "s" and length > 0 and a >> min(position + length - 1, size - 1) & 1
    return sum(
        (a >> position + bit & 1 if bit < length and position + bit < size else int(sign)) << bit
        for bit in range(size)
    )


def _inserted(a: int, b: int, c: int, d: int) -> int:
    """bfi."""
    for bit in range(min(d & 255, 32)):
        if (c & 255) + bit < 32:
            b = b & ~(1 << (c & 255) + bit) | (a >> bit & 1) << (c & 255) + bit
    return b


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


def _shift(kind: str, a: int, b: int, left: bool) -> int:
    count = min(b & 0xFFFFFFFF, width(kind))
    return a << count if left else number(a, kind) >> count


def result(opcode: str, kind: str, mods: list[str], x: list[int]) -> int:
    """What an instruction writes, before it is cut to the size of its register."""
    n = [number(code, kind) if kind[0] in "su" else code for code in x]
    if kind == "f32":
        if opcode in ("min", "max"):
            return _least(x[0], x[1], opcode == "max")
        if opcode in ("neg", "abs"):
            if math.isnan(real(x[0])):
                return _NAN
            return x[0] ^ 0x80000000 if opcode == "neg" else x[0] & 0x7FFFFFFF
        a, b, c = (real(code) for code in (*x, 0, 0)[:3])
        if opcode == "sub":
            b = -b
        if opcode in ("add", "sub"):
            return _sum_of_product(a, 1.0, b)
        return _sum_of_product(a, b, c if opcode == "fma" else -0.0)  # -0 keeps the sign of zero
    table: dict[str, Callable[[], int]] = {
        "mov": lambda: x[0], "add": lambda: x[0] + x[1], "sub": lambda: x[0] - x[1],
        "and": lambda: x[0] & x[1], "or": lambda: x[0] | x[1], "xor": lambda: x[0] ^ x[1],
        "not": lambda: ~x[0], "neg": lambda: -x[0], "abs": lambda: abs(n[0]),
        "min": lambda: min(n), "max": lambda: max(n),
        "shl": lambda: _shift(kind, x[0], x[1], True), "shr": lambda: _shift(kind, x[0], x[1], False),
        "div": lambda: _quotient(n[0], n[1]), "rem": lambda: n[0] - n[1] * _quotient(n[0], n[1]),
        "popc": lambda: x[0].bit_count(), "clz": lambda: width(kind) - x[0].bit_length(),
        "brev": lambda: int(f"{x[0]:0{width(kind)}b}"[::-1], 2), "prmt": lambda: _permuted(*x),
        "bfe": lambda: _extracted(x[0], x[1], x[2], kind), "bfi": lambda: _inserted(*x),
        "lop3": lambda: sum((x[3] >> (4 * (x[0] >> i & 1) + 2 * (x[1] >> i & 1) + (x[2] >> i & 1)) & 1) << i
                            for i in range(32)),
        "selp": lambda: x[0] if x[2] else x[1],
    }  # fmt: skip
    if opcode in ("mul", "mad"):
        product = n[0] * n[1] >> (width(kind) if "hi" in mods else 0)
        return product + (x[2] if opcode == "mad" else 0)
    return table[opcode]()


def _converted(to: str, kind: str, bits: int) -> int:
    if to == "f32":
        return rounded(Fraction(number(bits, kind)))
    if kind != "f32":
        return number(number(bits, kind), to)
    value, size = real(bits), width(to)
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if to[0] == "s" else (0, (1 << size) - 1)
    if math.isnan(value):
        return 1 << 63 if size == 64 else 0
    return low if value <= low else high if value >= high else math.trunc(value)


class Thread:
    """One thread: its registers by name. It stops at each barrier."""

    def __init__(self, index: int, memory: dict[str, bytearray], stride: int) -> None:
        self.registers: dict[str, int] = {"%tid.x": index, "%d8": index * stride}
        self._memory = memory

    def _value(self, text: str) -> int:
        if text.startswith("0f"):
            return int(text[2:], 16)
        if text == "tile":
            return 0
        return self.registers[text] if text.startswith("%") else int(text, 0)

    def run(self, lines: list[tuple[str, ...]]) -> Iterator[None]:
        labels, at = {line[0]: place for place, line in enumerate(lines) if line[0]}, 0
        while at < len(lines):
            _, negated, predicate, name, operands = lines[at]
            at += 1
            if not name or (predicate and bool(self.registers[predicate]) == bool(negated)):
                continue
            opcode, *mods = name.split(".")
            words = [word for word in re.split(r"[,\s\[\]|]+", operands) if word]
            if opcode == "ret":
                return
            if opcode == "bra":
                at = labels[words[0]]
            elif opcode == "bar":
                yield
            else:
                self._execute(opcode, mods, words)

    def _execute(self, opcode: str, mods: list[str], words: list[str]) -> None:
        kind = mods[-1]
        if opcode in ("ld", "st"):
            memory, size = self._memory[mods[0]], width(kind) // 8
            base, _, offset = (words[1] if opcode == "ld" else words[0]).partition("+")
            start = self._value(base) + int(offset or 0)
            if opcode == "ld":
                self._write(words[0], number(int.from_bytes(memory[start : start + size], "little"), kind))
            else:
                bits = self._value(words[1]) & (1 << width(kind)) - 1
                memory[start : start + size] = bits.to_bytes(size, "little")
            return
        target, x = words[0], [self._value(word) & (1 << 64) - 1 for word in words[1:]]
        x[0] &= (1 << width(kind)) - 1
        if opcode == "setp":
            values = [real(code) if kind == "f32" else number(code, kind) for code in x]
            ordered = not any(math.isnan(value) for value in values)
            self.registers[target] = int(ordered and _COMPARE[mods[0]](*values))
            return
        self._write(
            target, _converted(mods[-2], kind, x[0]) if opcode == "cvt" else result(opcode, kind, mods, x)
        )

    def _write(self, target: str, bits: int) -> None:
        size = {"p": 1, "r": 32, "f": 32, "d": 64}[target[1]]
        self.registers[target] = bits & (1 << size) - 1


def run(body: str, threads: int, memory: dict[str, bytearray], stride: int) -> list[dict[str, int]]:
    """The registers of each thread of a block after the lines of a kernel; `memory` is changed in place.

    %d8 is the address of a thread's own data in global memory, `stride` bytes after that of the one before.
    """
    lines = [match.groups(default="") for match in map(_LINE.match, body.splitlines()) if match]
    every = [Thread(index, memory, stride) for index in range(threads)]
    running = [thread.run(lines) for thread in every]
    while running:
        running = [thread for thread in running if next(thread, "ended") is None]
    return [thread.registers for thread in every]
