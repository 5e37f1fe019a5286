"""Intrinsics of LLVM IR as rows: what they are in PTX. A new one is a row of the table below.

These are the ones to which Clang's optimiser and the words of `cuda_for_clang.h` lead. The header has what
PTX has as an instruction as inline assembly, so next to nothing of NVVM is among them.

LLVM Language Reference Manual, "Intrinsic Functions".
"""

from __future__ import annotations

from collections.abc import Callable

from .function_translator import Translator
from .ir_syntax import Constant, Instruction, Type, leaves_of
from .ptx_text import class_of, width_of

_Rule = Callable[["Translator", Instruction], tuple[str, ...]]
_FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


def _elements(to: Translator, call: Instruction, count: int) -> list[tuple[Type, list[str]]]:
    """The operands of each element of a result."""
    operands = [to.operands(argument) for argument in call.arguments[:count]]
    leaves = [leaf for leaf, _ in leaves_of(call.type)]
    return [(leaf, [operand[number] for operand in operands]) for number, leaf in enumerate(leaves)]


def _float(opcode: str, count: int = 1) -> _Rule:
    """A function of floats."""

    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        results = []
        for leaf, operands in _elements(to, call, count):
            name = _FLOATS[leaf.kind]
            text = opcode.format(ftz=to.ftz if name == "f32" else "", type=name)
            results.append(to.op(text, class_of(leaf), *operands))
        return tuple(results)

    return rule


def _integer(opcode: str) -> _Rule:
    """Minimum, maximum or absolute value: `s` or `u` is its type."""

    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        results = []
        count = 1 if opcode.startswith("abs") else 2
        for leaf, operands in _elements(to, call, count):
            bits = width_of(leaf)
            if bits == 1:
                name = "and" if opcode in ("min.u", "max.s") else "or"
                results.append(to.op(f"{name}.pred", "p", *operands))
                continue
            if opcode.endswith("s"):
                operands = [to.signed(operand, leaf) for operand in operands]
            results.append(to.masked(to.op(f"{opcode}{bits}", class_of(leaf), *operands), leaf))
        return tuple(results)

    return rule


def _chosen(predicate: str) -> _Rule:
    """Minimum or maximum of integers of several words: the first if the comparison holds."""

    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        first, second = (to.operands(argument) for argument in call.arguments)
        holds = to.compare(predicate, call.type, first, second)
        words = [leaf for leaf, _ in leaves_of(call.type)]
        return tuple(to.selected(leaf, holds, a, b) for leaf, a, b in zip(words, first, second, strict=True))

    return rule


def _absolute(to: Translator, call: Instruction) -> tuple[str, ...]:
    """The absolute value of an integer of several words."""
    kind, value = call.type, to.operands(call.arguments[0])
    zero = to.operands(Constant(kind, 0))
    minus = to.wide(Instruction("sub", kind), zero, value)
    is_negative = to.compare("slt", kind, value, zero)
    words = [leaf for leaf, _ in leaves_of(kind)]
    return tuple(to.selected(leaf, is_negative, a, b) for leaf, a, b in zip(words, minus, value, strict=True))


def _bits(name: str) -> _Rule:
    """Counts and reversals of bits and bytes."""

    def one(to: Translator, leaf: Type, operand: str) -> str:
        width = 64 if leaf.bits > 32 else 32
        kind = "rd" if width == 64 else "r"
        word = to.to_bits(to.register(operand, leaf), leaf, width)
        if name == "ctpop":
            return to.from_bits(to.op(f"popc.b{width}", "r", word), 32, leaf)
        if name == "ctlz":
            count = to.op(f"clz.b{width}", "r", word)
            return to.from_bits(to.op("sub.s32", "r", count, str(width - leaf.bits)), 32, leaf)
        if name == "cttz":
            if leaf.bits < width:  # a bit above, so that zero has as many zeros as bits
                word = to.op(f"or.b{width}", kind, word, str(1 << leaf.bits))
            reverse = to.op(f"brev.b{width}", kind, word)
            return to.from_bits(to.op(f"clz.b{width}", "r", reverse), 32, leaf)
        if name == "bitreverse":
            reverse = to.op(f"brev.b{width}", kind, word)
            spare = str(width - leaf.bits)
            return to.from_bits(to.op(f"shr.u{width}", kind, reverse, spare), width, leaf)
        parts = to.split(word, width, 8)[: leaf.bits // 8]
        if leaf.bits == 32:
            return to.op("prmt.b32", "r", word, "0", "0x0123")
        return to.from_bits(to.joined(parts[::-1], 8, width), width, leaf)

    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        return tuple(one(to, leaf, operand) for leaf, (operand,) in _elements(to, call, 1))

    return rule


def _funnel(left: bool) -> _Rule:
    """`fshl` and `fshr`: two numbers side by side, shifted; PTX shifts by the width or more give 0."""

    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        results = []
        for leaf, (high, low, count) in _elements(to, call, 3):
            bits = leaf.bits
            if bits == 32:
                count = to.register(count, leaf)
                results.append(to.op(f"shf.{'l' if left else 'r'}.wrap.b32", "r", low, high, count))
                continue
            width = 64 if bits > 32 else 32
            kind = "rd" if width == 64 else "r"
            a, b, c = (to.to_bits(to.register(value, leaf), leaf, width) for value in (high, low, count))
            c = to.op(f"rem.u{width}", kind, c, str(bits))
            c = c if width == 32 else to.op("cvt.u32.u64", "r", c)
            rest = to.op("sub.s32", "r", str(bits), c)
            first, second = (c, rest) if left else (rest, c)
            a = to.op(f"shl.b{width}", kind, a, first)
            b = to.op(f"shr.u{width}", kind, b, second)
            results.append(to.from_bits(to.op(f"or.b{width}", kind, a, b), width, leaf))
        return tuple(results)

    return rule


def _overflow(op: str, sign: str, saturates: bool) -> _Rule:
    """Sums, differences and products that report an overflow, or saturate."""

    def one(to: Translator, leaf: Type, a: str, b: str) -> tuple[str, str]:
        bits = leaf.bits
        signed = sign == "s"
        if bits == 64:
            low = to.op(f"{op}{'.lo' if op == 'mul' else ''}.s64", "rd", a, b)
            if op == "mul":
                high = to.op(f"mul.hi.{sign}64", "rd", a, b)
                rest = to.op("shr.s64", "rd", low, "63") if signed else "0"
                return low, to.op("setp.ne.b64", "p", high, rest)
            if not signed:
                return low, to.op("setp.lt.u64", "p", low, a) if op == "add" else to.op(
                    "setp.lt.u64", "p", a, b
                )
            first = to.op("xor.b64", "rd", a, low)
            second = to.op("xor.b64", "rd", b, low) if op == "add" else to.op("xor.b64", "rd", a, b)
            both = to.op("and.b64", "rd", first, second)
            return low, to.op("setp.lt.s64", "p", both, "0")
        wide = [to.extended(value, leaf, Type("int", 64), signed=signed) for value in (a, b)]
        full = to.op(f"{op}{'.lo' if op == 'mul' else ''}.s64", "rd", *wide)
        low = to.from_bits(full, 64, leaf)
        again = to.extended(low, leaf, Type("int", 64), signed=signed)
        return low, to.op("setp.ne.b64", "p", full, again)

    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        first = call.arguments[0].type
        pairs = []
        operands = [to.operands(argument) for argument in call.arguments]
        for (leaf, _), a, b in zip(leaves_of(first), *operands, strict=True):
            a, b = to.register(a, leaf), to.register(b, leaf)
            result, flag = one(to, leaf, a, b)
            if saturates:
                limit = to.constant(leaf, (1 << leaf.bits) - 1 if op == "add" else 0)
                if sign == "s":
                    top, bottom = (
                        to.constant(leaf, (1 << leaf.bits - 1) - 1),
                        to.constant(leaf, 1 << leaf.bits - 1),
                    )
                    negative = to.compare("slt", leaf, (a,), (to.constant(leaf, 0),))
                    limit = to.selected(leaf, negative, bottom, top)
                result = to.selected(leaf, flag, limit, result)
            pairs.append((result, flag))
        if saturates:
            return tuple(result for result, _ in pairs)
        return (*(result for result, _ in pairs), *(flag for _, flag in pairs))

    return rule


def _class_test(to: Translator, call: Instruction) -> tuple[str, ...]:
    """`llvm.is.fpclass`: whether a number is NaN, infinite, normal, subnormal or zero, by its bits."""
    test = call.arguments[1]
    assert isinstance(test, Constant)
    assert not isinstance(test.value, tuple)
    mask = test.value or 0
    leaf: Type = call.arguments[0].type
    fraction = {"half": 10, "bfloat": 7, "float": 23, "double": 52}[leaf.kind]
    bits, kind = leaf.bits, class_of(Type("int", leaf.bits))
    whole = to.to_bits(to.register(to.operand(call.arguments[0]), leaf), leaf, bits)
    size = to.op(f"and.b{bits}", kind, whole, str((1 << bits - 1) - 1))
    negative = to.op(f"setp.lt.s{bits}", "p", whole, "0")
    infinity = (1 << bits - 1) - (1 << fraction)
    quiet = infinity | 1 << fraction - 1
    ranges = (  # bits of the mask for negative and positive, the smallest and the largest size
        (0, 0, 1 << 5, 1 << 6), (1, (1 << fraction) - 1, 1 << 4, 1 << 7),
        (1 << fraction, infinity - 1, 1 << 3, 1 << 8), (infinity, infinity, 1 << 2, 1 << 9),
        (infinity + 1, quiet - 1, 1, 1), (quiet, (1 << bits - 1) - 1, 2, 2),
    )  # fmt: skip
    result = to.op("mov.pred", "p", "0")
    for low, high, below, above in ranges:
        if not mask & (below | above):
            continue
        inside = to.op(f"setp.ge.u{bits}", "p", size, str(low))
        inside = to.op("and.pred", "p", inside, to.op(f"setp.le.u{bits}", "p", size, str(high)))
        if not mask & below:
            inside = to.op("and.pred", "p", inside, to.op("not.pred", "p", negative))
        elif not mask & above:
            inside = to.op("and.pred", "p", inside, negative)
        result = to.op("or.pred", "p", result, inside)
    return (result,)


def _memory(kind: str) -> _Rule:
    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        aligns = [int(str(attributes.get("align", 1))) for attributes in call.attributes[:2]]
        to.copy_memory(call.arguments, (aligns[0], aligns[1]), kind)
        return ()

    return rule


def _same(to: Translator, call: Instruction) -> tuple[str, ...]:
    return to.operands(call.arguments[0])


def _statement(text: str) -> _Rule:
    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        to.emit(text)
        return ()

    return rule


def _barrier(to: Translator, call: Instruction) -> tuple[str, ...]:
    to.emit(f"bar.sync {to.operand(call.arguments[0])};")
    return ()


def _copysign(to: Translator, call: Instruction) -> tuple[str, ...]:
    results = []
    for leaf, (size, sign) in _elements(to, call, 2):
        if leaf.kind in ("float", "double"):
            results.append(to.op(f"copysign.{_FLOATS[leaf.kind]}", class_of(leaf), sign, size))
            continue
        low, high = to.op("and.b16", "rs", size, "0x7FFF"), to.op("and.b16", "rs", sign, "0x8000")
        results.append(to.op("or.b16", "rs", low, high))
    return tuple(results)


def _sign_of_difference(sign: str) -> _Rule:
    """`llvm.ucmp` and `llvm.scmp`: -1, 0 or 1."""

    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        leaf: Type = call.arguments[0].type
        a, b = (to.operands(argument) for argument in call.arguments)
        less, more = to.compare(f"{sign}lt", leaf, a, b), to.compare(f"{sign}gt", leaf, a, b)
        one, zero, minus = (to.constant(call.type, value) for value in (1, 0, -1))
        return (to.selected(call.type, less, minus, to.selected(call.type, more, one, zero)),)

    return rule


#: By name, without the types behind it.
_INTRINSICS: dict[str, _Rule] = {
    "fma": _float("fma.rn{ftz}.{type}", 3),
    "fmuladd": _float("fma.rn{ftz}.{type}", 3),
    "fabs": _float("abs{ftz}.{type}"),
    "minnum": _float("min{ftz}.{type}", 2),
    "maxnum": _float("max{ftz}.{type}", 2),
    "minimumnum": _float("min{ftz}.{type}", 2),
    "maximumnum": _float("max{ftz}.{type}", 2),
    "copysign": _copysign,
    "floor": _float("cvt.rmi{ftz}.{type}.{type}"),
    "ceil": _float("cvt.rpi{ftz}.{type}.{type}"),
    "trunc": _float("cvt.rzi{ftz}.{type}.{type}"),
    "smin": _integer("min.s"),
    "smax": _integer("max.s"),
    "umin": _integer("min.u"),
    "umax": _integer("max.u"),
    "abs": _integer("abs.s"),
    "ucmp": _sign_of_difference("u"),
    "scmp": _sign_of_difference("s"),
    **{name: _bits(name) for name in ("ctpop", "ctlz", "cttz", "bitreverse", "bswap")},
    "fshl": _funnel(True),
    "fshr": _funnel(False),
    **{
        f"{sign}{op}.{how}": _overflow(op, sign, how == "sat")
        for sign in "us"
        for op, how in (
            ("add", "sat"), ("sub", "sat"),
            ("add", "with.overflow"), ("sub", "with.overflow"), ("mul", "with.overflow"),
        )
    },
    "is.fpclass": _class_test,
    **{name: _memory(name) for name in ("memcpy", "memmove", "memset")},
    "memcpy.inline": _memory("memcpy"),
    "memset.inline": _memory("memset"),
    **dict.fromkeys(("expect", "launder.invariant.group", "strip.invariant.group", "ssa.copy"), _same),
    "trap": _statement("trap;"),
    "ubsantrap": _statement("trap;"),
    "debugtrap": _statement("brkpt;"),
    "nvvm.barrier.cta.sync.aligned.all": _barrier,  # __syncthreads(), a word of Clang's own
}  # fmt: skip

#: Those of integers of more than 64 bits.
_WIDE: dict[str, _Rule] = {
    "smin": _chosen("slt"),
    "smax": _chosen("sgt"),
    "umin": _chosen("ult"),
    "umax": _chosen("ugt"),
    "abs": _absolute,
    **{name: _INTRINSICS[name] for name in ("ucmp", "scmp", "expect", "ssa.copy")},
}


def call_intrinsic(to: Translator, call: Instruction, name: str) -> tuple[str, ...] | None:
    """The operands of the result of an intrinsic; None if it is unknown."""
    kinds = [call.type, *(argument.type for argument in call.arguments)]
    rules = _WIDE if any(kind.kind == "int" and kind.count > 64 for kind in kinds) else _INTRINSICS
    base = name.removeprefix("llvm.")
    while base:
        if base in rules:
            return rules[base](to, call)
        base = base.rpartition(".")[0]
    return None
