"""Intrinsics of LLVM IR and of NVVM as rows: what they are in PTX. A new one is a row of a table below.

LLVM Language Reference Manual, "Intrinsic Functions"; LLVM's "User Guide for NVPTX Back-end".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .function_translator import Translator
from .ir_syntax import Constant, Global, Instruction, Type, leaves_of
from .ptx_text import class_of, width_of

_Rule = Callable[["Translator", Instruction], tuple[str, ...]]
_Match = Callable[["Translator", Instruction, "re.Match[str]"], tuple[str, ...]]
_FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
_I32 = Type("int", 32)


def _elements(to: Translator, call: Instruction, count: int) -> list[tuple[Type, list[str]]]:
    """The operands of each element of a result."""
    operands = [to.operands(argument) for argument in call.arguments[:count]]
    leaves = [leaf for leaf, _ in leaves_of(call.type)]
    return [(leaf, [operand[number] for operand in operands]) for number, leaf in enumerate(leaves)]


def _float(opcode: str, count: int = 1, approximate: str = "") -> _Rule:
    """A function of floats; `approximate` is the opcode for an f32 that may be inexact."""

    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        results = []
        for leaf, operands in _elements(to, call, count):
            name = _FLOATS[leaf.kind]
            ftz = to.ftz if name == "f32" else ""
            chosen = approximate if approximate and {"afn", "fast"} & call.words and name == "f32" else opcode
            if ("approx" in chosen and name != "f32") or (
                name in ("f16", "bf16") and chosen.startswith("sqrt")
            ):
                if name == "f64":
                    raise to.refusal(f"{chosen.partition('.')[0]} of doubles")
                wide = [to.op(f"cvt.f32.{name}", "f", operand) for operand in operands]
                result = to.op(chosen.format(ftz="", type="f32"), "f", *wide)
                results.append(to.op(f"cvt.rn.{name}.f32", "rs", result))
            else:
                results.append(to.op(chosen.format(ftz=ftz, type=name), class_of(leaf), *operands))
        return tuple(results)

    return rule


def _extreme(opcode: str) -> _Rule:
    """Minimum or maximum that gives NaN if one operand is NaN; for f64 PTX has none."""
    plain = _float(opcode + ".NaN{ftz}.{type}", 2)

    def rule(to: Translator, call: Instruction) -> tuple[str, ...]:
        if leaves_of(call.type)[0][0].kind != "double":
            return plain(to, call)
        results = []
        for _, (a, b) in _elements(to, call, 2):
            value = to.op(f"{opcode}.f64", "fd", a, b)
            unordered = to.op("setp.nan.f64", "p", a, b)
            results.append(to.op("selp.f64", "fd", "0d7FF8000000000000", value, unordered))
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
                    negative = to.compare("slt", leaf, a, to.constant(leaf, 0))
                    limit = to.selected(leaf, negative, bottom, top)
                result = to.selected(leaf, flag, limit, result)
            pairs.append((result, flag))
        if saturates:
            return tuple(result for result, _ in pairs)
        return (*(result for result, _ in pairs), *(flag for _, flag in pairs))

    return rule


def _reduce(to: Translator, call: Instruction) -> tuple[str, ...]:
    """`llvm.vector.reduce`: all elements of a vector in one."""
    assert isinstance(call.callee, Global)
    name = call.callee.name.split(".")[3]
    leaf = leaves_of(call.type)[0][0]
    operands = [operand for argument in call.arguments for operand in to.operands(argument)]
    result = operands[0]
    for operand in operands[1:]:
        if name in ("smin", "smax", "umin", "umax"):
            a, b = (to.signed(value, leaf) if name[0] == "s" else value for value in (result, operand))
            result = to.masked(to.op(f"{name[1:]}.{name[0]}{width_of(leaf)}", class_of(leaf), a, b), leaf)
        elif name in ("fmin", "fmax"):
            result = to.op(f"{name[1:]}.{_FLOATS[leaf.kind]}", class_of(leaf), result, operand)
        else:
            result = to.arithmetic(Instruction(name, leaf, words=call.words), leaf, result, operand)
    return (result,)


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


def _round(to: Translator, call: Instruction) -> tuple[str, ...]:
    """`llvm.round`: halves away from zero."""
    results = []
    for leaf, (operand,) in _elements(to, call, 1):
        name = "f64" if leaf.kind == "double" else "f32"
        kind = "fd" if name == "f64" else "f"
        zero, half, large = ("0d0000000000000000", "0d3FE0000000000000", "0d4330000000000000")
        if name == "f32":
            zero, half, large = "0f00000000", "0f3F000000", "0f4B000000"
        wide = (
            operand
            if leaf.kind in ("float", "double")
            else to.op(f"cvt.f32.{_FLOATS[leaf.kind]}", "f", operand)
        )
        size = to.op(f"abs.{name}", kind, wide)
        whole = to.op(f"cvt.rzi.{name}.{name}", kind, size)
        rest = to.op(f"sub.rn.{name}", kind, size, whole)
        more = to.op(
            f"add.rn.{name}", kind, whole, half.replace("E0", "F0") if name == "f64" else "0f3F800000"
        )
        up = to.op(f"setp.ge.{name}", "p", rest, half)
        value = to.op(f"selp.{name}", kind, more, whole, up)
        value = to.op(f"selp.{name}", kind, size, value, to.op(f"setp.geu.{name}", "p", size, large))
        value = to.op(f"copysign.{name}", kind, wide, value)
        results.append(value if wide == operand else to.op(f"cvt.rn.{_FLOATS[leaf.kind]}.f32", "rs", value))
        del zero
    return tuple(results)


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
        a, b = (to.operand(argument) for argument in call.arguments)
        less, more = to.compare(f"{sign}lt", leaf, a, b), to.compare(f"{sign}gt", leaf, a, b)
        one, zero, minus = (to.constant(call.type, value) for value in (1, 0, -1))
        return (to.selected(call.type, less, minus, to.selected(call.type, more, one, zero)),)

    return rule


#: By name, without the types behind it.
_INTRINSICS: dict[str, _Rule] = {
    "fma": _float("fma.rn{ftz}.{type}", 3),
    "fmuladd": _float("fma.rn{ftz}.{type}", 3),
    "sqrt": _float("sqrt.rn{ftz}.{type}", 1, "sqrt.approx{ftz}.{type}"),
    "fabs": _float("abs{ftz}.{type}"),
    "minnum": _float("min{ftz}.{type}", 2),
    "maxnum": _float("max{ftz}.{type}", 2),
    "minimumnum": _float("min{ftz}.{type}", 2),
    "maximumnum": _float("max{ftz}.{type}", 2),
    "minimum": _extreme("min"),
    "maximum": _extreme("max"),
    "copysign": _copysign,
    "floor": _float("cvt.rmi{ftz}.{type}.{type}"),
    "ceil": _float("cvt.rpi{ftz}.{type}.{type}"),
    "trunc": _float("cvt.rzi{ftz}.{type}.{type}"),
    "rint": _float("cvt.rni{ftz}.{type}.{type}"),
    "nearbyint": _float("cvt.rni{ftz}.{type}.{type}"),
    "roundeven": _float("cvt.rni{ftz}.{type}.{type}"),
    "round": _round,
    "sin": _float("sin.approx{ftz}.{type}"),
    "cos": _float("cos.approx{ftz}.{type}"),
    "exp2": _float("ex2.approx{ftz}.{type}"),
    "log2": _float("lg2.approx{ftz}.{type}"),
    "tanh": _float("tanh.approx.{type}"),
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
    "vector.reduce": _reduce,
    "is.fpclass": _class_test,
    **{name: _memory(name) for name in ("memcpy", "memmove", "memset")},
    "memcpy.inline": _memory("memcpy"),
    "memset.inline": _memory("memset"),
    **dict.fromkeys(("expect", "launder.invariant.group", "strip.invariant.group", "ssa.copy"), _same),
    "trap": _statement("trap;"),
    "ubsantrap": _statement("trap;"),
    "debugtrap": _statement("brkpt;"),
}  # fmt: skip


# -- NVVM: rules by the form of the name ---------------------------------------------------------------------

_SUFFIXES = {
    "f": "f32", "d": "f64", "i": "s32", "ui": "u32", "ll": "s64", "ull": "u64", "s": "s16", "us": "u16",
    "h": "f16",
}  # fmt: skip
_TO_INTEGER = {"rn": "rni", "rz": "rzi", "rm": "rmi", "rp": "rpi"}


def packed(to: Translator, call: Instruction, opcode: str) -> tuple[str, ...]:
    """An instruction whose operands and result are single registers; vectors are packed into 32 bits."""
    operands = []
    for argument in call.arguments:
        kind: Type = argument.type
        values = to.operands(argument)
        if kind.kind == "vector":
            bits = kind.count * kind.elements[0].bits
            values = to.repacked(values, kind, Type("int", bits))
            kind = Type("int", bits)
        operands.append(to.register(values[0], kind))
    if call.type.kind == "void":
        to.emit(f"{opcode} {', '.join(operands)};" if operands else f"{opcode};")
        return ()
    if call.type.kind == "vector":
        whole = Type("int", call.type.count * call.type.elements[0].bits)
        return to.repacked((to.op(opcode, class_of(whole), *operands),), whole, call.type)
    return (to.op(opcode, class_of(call.type), *operands),)


def _arithmetic(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    op, words, suffix = match.groups()
    words = words.replace(".nan", ".NaN")
    op = {"fmin": "min", "fmax": "max", "fabs": "abs"}.get(op, op)
    return packed(to, call, f"{op}{words}.{_SUFFIXES.get(suffix, suffix)}")


def _convert(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    source, target, words = match.groups()
    pair = source == "ff"
    source, target = _SUFFIXES.get("f" if pair else source, source), _SUFFIXES.get(target, target)
    if target[0] in "su" and source[0] in "fb":
        mode = words.split(".")[1]
        words = words.replace(f".{mode}", f".{_TO_INTEGER[mode]}", 1)
    return packed(to, call, f"cvt{words}.{target}.{source}")


def _shuffle(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    mode, kind, predicate = match.groups()
    mask, value, lane, clamp = (to.operand(argument) for argument in call.arguments)
    register = "f" if kind == "f32" else "r"
    value = to.register(value, Type("float") if kind == "f32" else _I32)
    result = to.code.register(register)
    flag = to.code.register("p") if predicate else ""
    target = f"{result}|{flag}" if flag else result
    to.emit(
        f"shfl.sync.{mode}.b32 {target}, {value}, {lane}, {clamp}, {mask};", result, *([flag] if flag else [])
    )
    return (result, flag) if flag else (result,)


def _vote(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    mode = match[1]
    mask, predicate = (to.operand(argument) for argument in call.arguments)
    kind, register = ("b32", "r") if mode == "ballot" else ("pred", "p")
    return (to.op(f"vote.sync.{mode}.{kind}", register, to.register(predicate, Type("int", 1)), mask),)


def _match_lanes(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    mode, bits, predicate = match.groups()
    mask, value = (to.operand(argument) for argument in call.arguments)
    value = to.register(value, Type("int", int(bits)))
    result = to.code.register("r")
    flag = to.code.register("p") if predicate else ""
    target = f"{result}|{flag}" if flag else result
    to.emit(f"match.{mode}.sync.b{bits} {target}, {value}, {mask};", result, *([flag] if flag else []))
    return (result, flag) if flag else (result,)


def _reduction(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    op = match[1]
    name = {"umin": "min.u32", "umax": "max.u32", "min": "min.s32", "max": "max.s32", "add": "add.s32"}.get(
        op
    )
    name = name or (f"{op[1:]}.f32" if op[0] == "f" else f"{op}.b32")
    value, mask = (to.operand(argument) for argument in call.arguments)
    register = "f" if name.endswith("f32") else "r"
    return (to.op(f"redux.sync.{name}", register, to.register(value, call.type), mask),)


def _barrier(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    operands = ", ".join(to.operand(argument) for argument in call.arguments)
    mode, root = match[1], "bar" if match[2] else "barrier"
    if not mode.startswith("red."):
        to.emit(f"{root}.{mode} {operands};")
        return ()
    kind, register = ("u32", "r") if mode == "red.popc" else ("pred", "p")
    *head, last = (to.operand(argument) for argument in call.arguments)
    operands = ", ".join([*head, to.register(last, Type("int", 1))])
    return (to.op(f"{root}.{mode}.{kind}", register, operands),)


def _elect(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    result, flag = to.code.register("r"), to.code.register("p")
    to.emit(f"elect.sync {result}|{flag}, {to.operand(call.arguments[0])};", result, flag)
    return result, flag


def _fixed(text: str, *, immediate: bool = False) -> _Match:
    """An opcode from groups of the name; operands follow as they are."""

    def rule(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
        opcode = match.expand(text)
        if not immediate:
            return packed(to, call, opcode)
        operands = ", ".join(to.operand(argument) for argument in call.arguments)
        to.emit(f"{opcode} {operands};" if operands else f"{opcode};")
        return ()

    return rule


def _on_memory(text: str) -> _Match:
    """An instruction whose first operand, or first two, are addresses in brackets."""

    def rule(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
        operands = []
        for argument in call.arguments:
            kind: Type = argument.type
            if kind.kind == "ptr":
                operands.append(f"[{to.register(to.operand(argument), Type('int', 64))}]")
            else:
                operands.append(to.operand(argument))
        if call.type.kind == "void":
            to.emit(f"{match.expand(text)} {', '.join(operands)};")
            return ()
        return (to.op(match.expand(text), class_of(call.type), *operands),)

    return rule


def _in_space(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    space = {"shared.cluster": "shared::cluster"}.get(match[1], match[1])
    return (to.op(f"isspacep.{space}", "p", to.register(to.operand(call.arguments[0]), Type("int", 64))),)


def _copy_async(to: Translator, call: Instruction, match: re.Match[str]) -> tuple[str, ...]:
    target, source, *size = (to.operand(argument) for argument in call.arguments)
    rest = f", {size[0]}" if size else ""
    to.emit(f"cp.async.{match[1]}.shared.global [{target}], [{source}], {match[2]}{rest};")
    return ()


#: Forms of names behind ``llvm.nvvm.``, the first that fits.
_NVVM_RULES: tuple[tuple[re.Pattern[str], _Match], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"(add|sub|mul|fma|div|rcp|sqrt|rsqrt|sin|cos|ex2|lg2|tanh|fmin|fmax|fabs|neg)"
         r"((?:\.(?:rn|rz|rm|rp|approx|full|ftz|sat|nan|xorsign|abs|relu))*)"
         r"\.(f|d|f16|f16x2|bf16|bf16x2|f32|f64)",
         _arithmetic),
        (r"saturate(\.ftz)?\.(f|d)", lambda to, call, match: packed(
            to, call, f"cvt.sat{match[1] or ''}.{_SUFFIXES[match[2]]}.{_SUFFIXES[match[2]]}")),
        (r"(ff|f|d|i|ui|ll|ull|h|bf16)2(f|d|i|ui|ll|ull|h|bf16|bf16x2|f16|f16x2|tf32)"
         r"((?:\.(?:rn|rz|rm|rp|rna|ftz|relu|satfinite|sat))+)", _convert),
        (r"ff\.to\.(\w+)\.rn((?:\.relu)?)", _fixed(r"cvt.rn.satfinite\2.\1.f32")),
        (r"f16x2\.to\.(\w+)\.rn((?:\.relu)?)", _fixed(r"cvt.rn.satfinite\2.\1.f16x2")),
        (r"(e\dm\dx2)\.to\.f16x2\.rn((?:\.relu)?)", _fixed(r"cvt.rn\2.f16x2.\1")),
        (r"mulhi\.(s|us|i|ui|ll|ull)", lambda to, call, match: packed(
            to, call, f"mul.hi.{_SUFFIXES[match[1]]}")),
        (r"mul24\.(i|ui)", lambda to, call, match: packed(to, call, f"mul24.lo.{_SUFFIXES[match[1]]}")),
        (r"sad\.(s|us|i|ui|ll|ull)", lambda to, call, match: packed(to, call, f"sad.{_SUFFIXES[match[1]]}")),
        (r"prmt((?:\.\w+)?)", _fixed(r"prmt.b32\1")),
        (r"shfl\.sync\.(bfly|up|down|idx)\.(i32|f32)(p?)", _shuffle),
        (r"vote\.(all|any|uni|ballot)\.sync", _vote),
        (r"match\.(any|all)\.sync\.i(32|64)(p?)", _match_lanes),
        (r"redux\.sync\.(\w+)", _reduction),
        (r"activemask", _fixed("activemask.b32")),
        (r"elect\.sync", _elect),
        (r"barrier\.cta\.(sync|arrive|red\.(?:and|or|popc))(\.aligned)?\.(?:all|count)", _barrier),
        (r"bar\.warp\.sync", _fixed("bar.warp.sync", immediate=True)),
        (r"barrier\.cluster\.((?:arrive|wait)(?:\.relaxed)?(?:\.aligned)?)", _fixed(r"barrier.cluster.\1")),
        (r"membar\.(cta|gl|sys)", _fixed(r"membar.\1")),
        (r"fence\.(sc\.cluster|acq_rel\.cluster|mbarrier_init\.release\.cluster)", _fixed(r"fence.\1")),
        (r"fence\.proxy\.([\w.]+)", lambda to, call, match: packed(
            to, call, f"fence.proxy.{match[1].replace('shared_', 'shared::')}")),
        (r"nanosleep", _fixed("nanosleep.u32", immediate=True)),
        (r"exit", _fixed("exit")),
        (r"griddepcontrol\.(wait|launch)[._]?(dependents)?", lambda to, call, match: packed(
            to, call, "griddepcontrol.wait" if match[1] == "wait" else "griddepcontrol.launch_dependents")),
        (r"(setmaxnreg\.(?:inc|dec)\.sync\.aligned\.u32)", _fixed(r"\1", immediate=True)),
        (r"wgmma\.(fence|commit_group)\.sync\.aligned", _fixed(r"wgmma.\1.sync.aligned")),
        (r"wgmma\.wait_group\.sync\.aligned", _fixed("wgmma.wait_group.sync.aligned", immediate=True)),
        (r"cp\.async\.(ca|cg)\.shared\.global\.(\d+)(?:\.s)?", _copy_async),
        (r"cp\.async\.(commit)\.group", _fixed("cp.async.commit_group")),
        (r"cp\.async\.wait\.group", _fixed("cp.async.wait_group", immediate=True)),
        (r"cp\.async\.wait\.all", _fixed("cp.async.wait_all")),
        (r"cp\.async\.bulk\.commit\.group", _fixed("cp.async.bulk.commit_group")),
        (r"cp\.async\.bulk\.wait\.group((?:\.read)?)", _fixed(r"cp.async.bulk.wait_group\1", immediate=True)),
        (r"mbarrier\.init\.shared", _on_memory("mbarrier.init.shared.b64")),
        (r"mbarrier\.inval\.shared", _on_memory("mbarrier.inval.shared.b64")),
        (r"mbarrier\.arrive((?:\.noComplete)?)\.shared", _on_memory(r"mbarrier.arrive\1.shared.b64")),
        (r"mbarrier\.arrive\.drop((?:\.noComplete)?)\.shared",
         _on_memory(r"mbarrier.arrive_drop\1.shared.b64")),
        (r"mbarrier\.test\.wait\.shared", _on_memory("mbarrier.test_wait.shared.b64")),
        (r"isspacep\.(global|shared|const|local|shared\.cluster)", _in_space),
        (r"mapa", _fixed("mapa.u64")),
        (r"mapa\.shared\.cluster", _fixed("mapa.shared::cluster.u64")),
        (r"getctarank", _fixed("getctarank.u64")),
    )
)  # fmt: skip


def call_intrinsic(to: Translator, call: Instruction, name: str) -> tuple[str, ...] | None:
    """The operands of the result of an intrinsic; None if it is unknown."""
    base = name.removeprefix("llvm.")
    while base:
        if base in _INTRINSICS:
            return _INTRINSICS[base](to, call)
        base = base.rpartition(".")[0]
    if not name.startswith("llvm.nvvm."):
        return None
    for pattern, rule in _NVVM_RULES:
        match = pattern.fullmatch(name.removeprefix("llvm.nvvm."))
        if match is not None:
            return rule(to, call, match)
    return None
