"""LLVM IR -> PTX, function by function: no optimisation, which Clang has done, and no register allocation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ...errors import PtxlabError
from .ir_syntax import (
    Assembly,
    Constant,
    Function,
    Global,
    Instruction,
    Local,
    Metadata,
    Module,
    Type,
    Value,
    align_of,
    leaves_of,
    offset_of,
    size_of,
)
from .ptx_text import CLASS_BITS, CLASS_TYPES, Code, Text, class_of, width_of

SPACES = {0: "", 1: ".global", 3: ".shared", 4: ".const", 5: ".local", 7: ".shared::cluster", 101: ".param"}
_INTEGER_OPS = {
    "add": "add.s", "sub": "sub.s", "mul": "mul.lo.s", "udiv": "div.u", "sdiv": "div.s", "urem": "rem.u",
    "srem": "rem.s", "and": "and.b", "or": "or.b", "xor": "xor.b", "shl": "shl.b", "lshr": "shr.u",
    "ashr": "shr.s",
}  # fmt: skip
_CONTRACT = frozenset({"contract", "fast"})  # flags that let a product be fused with a sum
_SIGNED = ("sdiv", "srem", "ashr")
_FLOAT_OPS = {"fadd": "add", "fsub": "sub", "fmul": "mul"}
_COMPARISONS = {
    "oeq": "eq", "ogt": "gt", "oge": "ge", "olt": "lt", "ole": "le", "one": "ne", "ord": "num",
    "ueq": "equ", "ugt": "gtu", "uge": "geu", "ult": "ltu", "ule": "leu", "une": "neu", "uno": "nan",
}  # fmt: skip
_FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
_CONSTRAINTS = {"h": "rs", "r": "r", "l": "rd", "f": "f", "d": "fd", "q": "rq", "b": "p", "c": "rs"}
_ATOMICS = "use CUDA's functions: atomicAdd and kin, __threadfence()"
_UNROLLED = 128  # bytes of a `memcpy` without a loop, as in Clang's back end
_NAME = re.compile(r"[^\w$]")
_PLACEHOLDER = re.compile(r"\$(?:\$|(\d+)|\{(\d+)?(?::(\w+))?\})")
_IGNORED = re.compile(
    r"llvm\.(?:lifetime|dbg|assume|invariant|experimental\.noalias|donothing|sideeffect|prefetch)\b"
)
_SPECIAL = "llvm.nvvm.read.ptx.sreg."  # names of special registers begin so
_NEW = re.compile(r"%(p|rs|rd|r|fd|f)\.\w+|\$\w+")  # registers and labels of a pattern
_RESULT = re.compile(r"(?!st|bra|@|\$)\S+ (%\w+)")
#: The operands of a value, one for each scalar in it.
Operands = tuple[str, ...]
#: Operations on two words of 64 bits. PTX shifts by more than 63 give 0, or only signs.
_WIDE = {
    "add": """
        add.cc.u64 %rd.low, {a0}, {b0};
        addc.u64 %rd.high, {a1}, {b1};""",
    "sub": """
        sub.cc.u64 %rd.low, {a0}, {b0};
        subc.u64 %rd.high, {a1}, {b1};""",
    "mul": """
        mul.lo.u64 %rd.low, {a0}, {b0};
        mul.hi.u64 %rd.carried, {a0}, {b0};
        mad.lo.u64 %rd.middle, {a1}, {b0}, %rd.carried;
        mad.lo.u64 %rd.high, {a0}, {b1}, %rd.middle;""",
    "shl": """
        sub.s32 %r.rest, 64, {count};
        sub.s32 %r.beyond, {count}, 64;
        shr.u64 %rd.near, {a0}, %r.rest;
        shl.b64 %rd.far, {a0}, %r.beyond;
        or.b64 %rd.carried, %rd.near, %rd.far;
        shl.b64 %rd.shifted, {a1}, {count};
        shl.b64 %rd.low, {a0}, {count};
        or.b64 %rd.high, %rd.shifted, %rd.carried;""",
    "shr": """
        sub.s32 %r.rest, 64, {count};
        sub.s32 %r.beyond, {count}, 64;
        shr.u64 %rd.shifted, {a0}, {count};
        shl.b64 %rd.carried, {a1}, %r.rest;
        or.b64 %rd.near, %rd.shifted, %rd.carried;
        shr.{sign}64 %rd.far, {a1}, %r.beyond;
        setp.lt.u32 %p.near, {count}, 64;
        selp.b64 %rd.low, %rd.near, %rd.far, %p.near;
        shr.{sign}64 %rd.high, {a1}, {count};""",
    # where the sign is -1
    "negate": """
        xor.b64 %rd.flipped0, {a0}, {sign};
        xor.b64 %rd.flipped1, {a1}, {sign};
        sub.cc.u64 %rd.low, %rd.flipped0, {sign};
        subc.u64 %rd.high, %rd.flipped1, {sign};""",
    # bit by bit; from the top, the bits of the dividend leave the quotient's words for those of the rest
    "divide": """
        mov.u64 %rd.low, {a0};
        mov.u64 %rd.high, {a1};
        mov.u64 %rd.rest0, 0;
        mov.u64 %rd.rest1, 0;
        mov.u32 %r.count, 128;
        $begin:
        shr.u64 %rd.bit, %rd.rest0, 63;
        shl.b64 %rd.rest1, %rd.rest1, 1;
        or.b64 %rd.rest1, %rd.rest1, %rd.bit;
        shr.u64 %rd.bit, %rd.high, 63;
        shl.b64 %rd.rest0, %rd.rest0, 1;
        or.b64 %rd.rest0, %rd.rest0, %rd.bit;
        shr.u64 %rd.bit, %rd.low, 63;
        shl.b64 %rd.high, %rd.high, 1;
        or.b64 %rd.high, %rd.high, %rd.bit;
        shl.b64 %rd.low, %rd.low, 1;
        setp.lt.u64 %p.less, %rd.rest0, {b0};
        setp.eq.and.u64 %p.less, %rd.rest1, {b1}, %p.less;
        setp.lt.or.u64 %p.less, %rd.rest1, {b1}, %p.less;
        sub.cc.u64 %rd.less0, %rd.rest0, {b0};
        subc.u64 %rd.less1, %rd.rest1, {b1};
        selp.b64 %rd.rest0, %rd.rest0, %rd.less0, %p.less;
        selp.b64 %rd.rest1, %rd.rest1, %rd.less1, %p.less;
        selp.b64 %rd.bit, 0, 1, %p.less;
        or.b64 %rd.low, %rd.low, %rd.bit;
        add.s32 %r.count, %r.count, -1;
        setp.ne.s32 %p.again, %r.count, 0;
        @%p.again bra $begin;""",
}
#: Loops over bytes; a `memmove` whose target is behind its source begins with the last one.
_LOOP = """
    mov.u64 %rd.done, 0;
    $begin:
    setp.ge.u64 %p.end, %rd.done, {count};
    @%p.end bra $end;
    {place}
    add.s64 %rd.done, %rd.done, 1;
    bra.uni $begin;
    $end:"""
_FILL = """add.s64 %rd.target, {target}, %rd.done;
    st{to}.u8 [%rd.target], {byte};"""
_MOVE = """add.s64 %rd.source, {source}, {at};
    ld{of}.u8 %rs.byte, [%rd.source];
    add.s64 %rd.target, {target}, {at};
    st{to}.u8 [%rd.target], %rs.byte;"""
_BACKWARDS = """sub.s64 %rd.left, {count}, %rd.done;
    sub.s64 %rd.last, %rd.left, 1;
    selp.b64 %rd.at, %rd.last, %rd.done, {behind};
    """
I1, I32, I64, I128 = (Type("int", bits) for bits in (1, 32, 64, 128))


def ptx_name(name: str) -> str:
    """A name as PTX can have it."""
    return _NAME.sub(lambda match: "_$_" if match[0] == "." else f"_{ord(match[0]):x}_", name)


def number(text: str) -> int | None:
    """The value of an operand that is a whole number."""
    return int(text) if text.lstrip("-").isdigit() else None


def memory_type(leaf: Type) -> str:
    """The type of a load or a store."""
    if leaf.kind in ("float", "double"):
        return _FLOATS[leaf.kind]
    return f"{'b' if leaf.kind in _FLOATS else 'u'}{8 if leaf.bits <= 8 else width_of(leaf)}"


def constant_offset(step: Instruction) -> int | None:
    """What a `getelementptr` adds, None if that is not constant."""
    total = 0
    kind = step.source
    for position, index in enumerate(step.arguments[1:]):
        if not isinstance(index, Constant) or isinstance(index.value, tuple):
            return None
        value = index.value or 0
        value -= (value >> index.type.count - 1) << index.type.count
        if position == 0:
            total += value * size_of(kind)
        else:
            total += offset_of(kind, value)
            kind = kind.element(value)
    return total


#: Translates a call of an intrinsic; None if it is unknown.
Rules = Callable[["Translator", Instruction, str], Operands | None]


class Translator:
    """Translates a function.

    A value is a tuple of operands, one for each scalar in it. An integer whose width is not that of a
    register is kept with zeros above it. A pointer is kept in the state space that it is known to be in.
    """

    def __init__(self, module: Module, function: Function, files: Text, number: int, rules: Rules) -> None:
        self.module = module
        self.rules = rules
        self.function = function
        self.files = files
        self.code = Code(f"$L__BB{number}_")
        self.location = ""
        self.depot = (0, 1)  # bytes of local memory and their alignment
        self.ftz = (
            ".ftz" if function.attributes.get("denormal-fp-math-f32", "").startswith("preserve") else ""
        )
        self._depot_name = f"__local_depot{number}"
        self._number = number
        self._calls = 0
        self._values: dict[str, Operands] = {}
        self._definitions: dict[str, Instruction] = {}
        self._spaces: dict[str, int] = {}
        self._uses: dict[str, list[tuple[Instruction, int]]] = {}
        self._folded: set[str] = set()  # addresses that are folded into loads and stores
        self._fused: dict[Instruction, tuple[Instruction, str]] = {}
        self._absorbed: set[Instruction] = set()  # products of which nothing but fused sums is left

    # -- errors and emission ---------------------------------------------------------------------------------

    def refusal(self, what: str, instead: str = "") -> PtxlabError:
        """The error about an instruction, with the line of the source and what to write instead."""
        remedy = f": {instead}" if instead else ""
        place = self.files.where(self.location)
        return PtxlabError(f"{place}{what} is not translated from LLVM IR to PTX{remedy}")

    def emit(self, text: str, *results: str) -> None:
        """Write an instruction; `results` are the registers that it writes."""
        self.code.emit(text, results, self.location)

    def op(self, opcode: str, kind: str, *operands: str) -> str:
        """Write an instruction with one result, a new register of a class; returns the register."""
        result = self.code.register(kind)
        self.emit(f"{opcode} {', '.join((result, *operands))};", result)
        return result

    def pattern(self, text: str, *results: str, **operands: str) -> Operands:
        """Write the lines of a pattern; returns the registers of the results.

        In it `{name}` is an operand, `%rd.name` a new register of a class, and `$name` a new label.
        """
        names: dict[str, str] = {}

        def named(match: re.Match[str]) -> str:
            if match[0] not in names:
                names[match[0]] = self.code.register(match[1]) if match[1] else self.code.label()
            return names[match[0]]

        for line in text.format(**operands).splitlines():
            written = _NEW.sub(named, line.strip())
            result = _RESULT.match(written)
            if written:
                self.emit(written, *([result[1]] if result else []))
        return tuple(names[result] for result in results)

    def register(self, operand: str, leaf: Type) -> str:
        """An operand in a register, for where PTX takes no constant."""
        if operand.startswith("%"):
            return operand
        kind = class_of(leaf)
        return self.op(f"mov.{CLASS_TYPES[kind]}", kind, operand)

    # -- the function ----------------------------------------------------------------------------------------

    def translate(self) -> str:
        """The PTX of the function."""
        function = self.function
        blocks = {block.name: block for block in function.blocks}
        reached = [function.blocks[0].name]
        seen = set(reached)
        order: list[str] = []
        while reached:  # depth first; the reverse of the order in which blocks are left
            name = reached[-1]
            fresh = [label for label in blocks[name].instructions[-1].labels if label not in seen]
            if blocks[name].instructions[-1].op in ("br", "switch") and fresh:
                seen.add(fresh[0])
                reached.append(fresh[0])
            else:
                order.append(reached.pop())
        for name in order:
            for instruction in blocks[name].instructions:
                if instruction.name:
                    self._definitions[instruction.name] = instruction
        self._infer(order)
        for name in order:
            self._fuse(blocks[name].instructions)
        self._labels = {name: self.code.label() for name in (b.name for b in function.blocks) if name in seen}
        for block in function.blocks:
            if block.name in seen:
                self.code.add(self._labels[block.name])
        for position, name in enumerate(reversed(order)):
            self.code.enter(self._labels[name])
            if position == 0:
                self.location = ""
                self._parameters()
            self.block_name = name
            for instruction in blocks[name].instructions:
                self.location = instruction.location or self.location
                if instruction.op == "phi":
                    self._phi_operands(instruction.name, instruction.type)
                else:
                    self._instruction(instruction)
        return self._header() + self.code.finish(self.files, self._declarations(), function.location)

    def _phi_operands(self, name: str, kind: Type) -> Operands:
        if name not in self._values:
            self._values[name] = tuple(self.code.register(class_of(leaf)) for leaf, _ in leaves_of(kind))
        return self._values[name]

    def _declarations(self) -> str:
        size, align = self.depot
        return f"\t.local .align {align} .b8 {self._depot_name}[{size}];\n" if size else ""

    def reserve(self, kind_size: int, align: int) -> int:
        """Reserve local memory; returns where it begins."""
        size, largest = self.depot
        start = -(-size // align) * align
        self.depot = (start + max(1, kind_size), max(largest, align))
        return start

    def _header(self) -> str:
        function, kernel = self.function, "ptx_kernel" in self.function.words
        text = (
            linkage_of(function.words) + (".entry " if kernel else ".func ") + signature_of(function, kernel)
        )
        attributes = function.attributes
        for key, directive in (
            ("nvvm.reqntid", ".reqntid"),
            ("nvvm.maxntid", ".maxntid"),
            ("nvvm.minctasm", ".minnctapersm"),
            ("nvvm.maxnreg", ".maxnreg"),
            ("nvvm.cluster_dim", ".reqnctapercluster"),
            ("nvvm.maxclusterrank", ".maxclusterrank"),
        ):
            if key in attributes:
                if key == "nvvm.cluster_dim":
                    text += "\n.explicitcluster"
                text += f"\n{directive} {attributes[key].replace(',', ', ')}"
        if "noreturn" in attributes and not kernel:
            text += "\n.noreturn"
        return text + "\n"

    def _parameters(self) -> None:
        function, kernel = self.function, "ptx_kernel" in self.function.words
        for number, (kind, attributes, name) in enumerate(function.parameters):
            source = f"{ptx_name(function.name)}_param_{number}"
            record = attributes.get("byval")
            if isinstance(record, Type):
                if self._spaces.get(name) == 101:
                    self._values[name] = (source,)
                elif kernel and "nvvm.grid_constant" in attributes:
                    self._values[name] = (self.op("cvta.param.u64", "rd", self.op("mov.b64", "rd", source)),)
                else:
                    align = max(align_of(record), attributes.get("align", 1))  # type: ignore[call-overload]
                    start = self.reserve(size_of(record), align)
                    depot = self.op("mov.u64", "rd", self._depot_name)
                    self._copy((101, source, 0), (5, depot, start), size_of(record), align)
                    self._values[name] = (self.op("add.s64", "rd", depot, str(start)) if start else depot,)
                continue
            operands = self._received(kind, source, kernel)
            if kernel and kind == Type("ptr") and self._spaces.get(name) == 1:
                operands = [self.op("cvta.to.global.u64", "rd", operands[0])]
            self._values[name] = tuple(operands)

    def _received(self, kind: Type, name: str, kernel: bool = False) -> list[str]:
        """A parameter, or what a function returned."""
        operands = []
        for leaf, offset in leaves_of(kind):
            at = self._place(name, offset)
            if kernel or kind.kind in ("struct", "array", "vector") or kind.bits > 32:
                operands.append(self._loaded(f"ld.param.{memory_type(leaf)}", leaf, at))
            elif leaf.kind == "float":
                operands.append(self.op("ld.param.f32", "f", at))
            else:
                operands.append(self._from_word(self.op("ld.param.b32", "r", at), leaf))
        return operands

    def _from_word(self, word: str, leaf: Type) -> str:
        """A small scalar from a parameter of 32 bits."""
        if width_of(leaf) == 32:
            return word
        if leaf == I1:
            return self.op("setp.ne.b32", "p", self.op("and.b32", "r", word, "1"), "0")
        return self.masked(self.op("cvt.u16.u32", "rs", word), leaf)

    def _as_word(self, operand: str, leaf: Type) -> str:
        if leaf == I1:
            return self.op("selp.u32", "r", "1", "0", self.register(operand, leaf))
        return operand if width_of(leaf) == 32 else self.op("cvt.u32.u16", "r", self.register(operand, leaf))

    # -- state spaces, and products that are fused -----------------------------------------------------------

    def _infer(self, order: list[str]) -> None:
        """Find the state spaces of generic pointers, and the addresses that need no register."""
        function = self.function
        uses = self._uses
        pointers = []
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.type.kind == "ptr" and instruction.type.count == 0 and instruction.name:
                    pointers.append(instruction)
                for position, argument in enumerate(instruction.arguments):
                    if isinstance(argument, Local):
                        uses.setdefault(argument.name, []).append((instruction, position))
        for kind, attributes, name in function.parameters:
            if "byval" in attributes:
                self._spaces[name] = 5
                if "ptx_kernel" in function.words:
                    if self._only_read(name, uses):
                        self._spaces[name] = 101
                    elif "nvvm.grid_constant" in attributes:
                        self._spaces[name] = 0
            elif kind == Type("ptr"):
                self._spaces[name] = 1 if "ptx_kernel" in function.words else 0
        space_of: dict[str, int] = {}
        changed = True
        while changed:
            changed = False
            for instruction in pointers:
                spaces: set[int | None] = {0}
                if instruction.op == "alloca":
                    spaces = {5}
                elif instruction.op in ("getelementptr", "freeze", "addrspacecast"):
                    spaces = {self._space_in(instruction.arguments[0], space_of)}
                elif instruction.op == "phi":
                    spaces = {self._space_in(argument, space_of) for argument in instruction.arguments}
                elif instruction.op == "select":
                    spaces = {self._space_in(argument, space_of) for argument in instruction.arguments[1:]}
                spaces -= {None}
                if spaces:
                    space = spaces.pop() if len(spaces) == 1 else 0
                    if space_of.get(instruction.name) != space:
                        space_of[instruction.name] = space or 0
                        changed = True
        self._spaces |= space_of
        for name, instruction in self._definitions.items():
            if instruction.op != "getelementptr" or instruction.type.kind != "ptr":
                continue
            if constant_offset(instruction) is not None and all(
                user.op == "load"
                or (user.op == "store" and position == 1)
                or (user.op == "getelementptr" and position == 0 and constant_offset(user) is not None)
                for user, position in uses.get(name, [])
            ):
                self._folded.add(name)

    def _only_read(self, name: str, uses: dict[str, list[tuple[Instruction, int]]]) -> bool:
        """Whether memory is only loaded from, through addresses that are sums."""
        return all(
            user.op == "load"
            or (user.op == "getelementptr" and position == 0 and self._only_read(user.name, uses))
            or (user.op == "call" and isinstance(user.callee, Global) and _IGNORED.match(user.callee.name))
            for user, position in uses.get(name, [])
        )

    def _space_in(self, value: Value, space_of: dict[str, int]) -> int | None:
        """The state space of a pointer, None if it is not known yet or does not matter."""
        if isinstance(value, Local):
            if value.type.count:
                return value.type.count
            if value.name in self._definitions:
                return space_of.get(value.name)
            return self._spaces.get(value.name, 0)
        if isinstance(value, Constant):
            return None if value.undefined else value.type.count
        return self.space(value)

    def space(self, value: Value) -> int:
        """The state space in which a pointer is kept."""
        if isinstance(value, Local):
            return value.type.count or self._spaces.get(value.name, 0)
        if isinstance(value, Global):
            variable = self.module.variables.get(value.name)
            return 0 if variable is None else variable.space or 1
        if isinstance(value, Instruction):
            if value.op == "getelementptr" or (value.op == "addrspacecast" and value.type.count == 0):
                return self.space(value.arguments[0])
            return value.type.count
        return value.type.count if isinstance(value, Constant) else 0

    def _fuse(self, instructions: list[Instruction]) -> None:
        """Find the products that Clang's back end fuses with a sum of the same block."""
        products = {
            instruction.name: instruction
            for instruction in instructions
            if instruction.op == "fmul" and _CONTRACT & instruction.words
        }
        if not products:
            return
        inside = set(instructions)
        users: dict[str, list[Instruction | None]] = {}  # of each product; None is all that are elsewhere
        for name in products:
            here = [user for user, _ in self._uses.get(name, ()) if user in inside and user.op != "phi"]
            users[name] = [*here, None] if len(here) < len(self._uses.get(name, ())) else [*here]

        def product(value: Value) -> Instruction | None:
            return products.get(value.name) if isinstance(value, Local) else None

        left_over = {name: list(uses) for name, uses in users.items()}
        for instruction in instructions:
            if instruction.op not in ("fadd", "fsub") or not _CONTRACT & instruction.words:
                continue
            left, right = (product(argument) for argument in instruction.arguments)
            chosen, how = left, "left"
            prefers_right = right is not None and (
                left is None or len(users[left.name]) > len(users[right.name])
            )
            if prefers_right:
                chosen, how = right, "right" if instruction.op == "fadd" else "minus"
            elif left is None and instruction.op == "fsub":
                value = instruction.arguments[0]
                negated = self._definitions.get(value.name) if isinstance(value, Local) else None
                if negated is not None and negated.op == "fneg" and negated in inside:
                    chosen, how = product(negated.arguments[0]), "negated"
            if chosen is None or not self._uses.get(instruction.name):
                continue
            others = users[chosen.name]
            serves_sums = len(others) <= 4 and all(user is not None and user.op == "fadd" for user in others)
            if left is right and instruction.op == "fadd" and not serves_sums:  # twice the same product
                continue
            self._fused[instruction] = (chosen, how)
            if how != "negated":
                left_over[chosen.name].remove(instruction)
                if not left_over[chosen.name]:
                    self._absorbed.add(chosen)

    # -- values ----------------------------------------------------------------------------------------------

    def operands(self, value: Value) -> Operands:
        """The operands of a value; pointers are in the state space of their type."""
        raw = self.raw(value)
        kind = value.type if not isinstance(value, Metadata) else I64
        if kind.kind == "ptr" and kind.count == 0:
            space = self.space(value)
            if space and not (isinstance(value, Constant) and value.value is None):
                return (self.op(f"cvta{SPACES[space]}.u64", "rd", self.register(raw[0], I64)),)
        return raw

    def operand(self, value: Value) -> str:
        """The operand of a scalar."""
        return self.operands(value)[0]

    def raw(self, value: Value) -> Operands:
        """The operands of a value; a pointer is in the state space in which it is kept."""
        if isinstance(value, Local):
            if value.name in self._folded:
                _, base, offset = self.address(value)
                return (self.op("add.s64", "rd", self._in_register(base), str(offset)),)
            if value.name in self._values:
                return self._values[value.name]
            return self._phi_operands(value.name, value.type)
        if isinstance(value, Constant):
            return tuple(self._constant_leaves(value))
        if isinstance(value, Global):
            return (self.op("mov.u64", "rd", ptx_name(value.name)),)
        if isinstance(value, Metadata):
            raise self.refusal(f"metadata {value.text} as a value")
        return self._compute(value)

    def _in_register(self, base: str) -> str:
        return base if base.startswith("%") else self.op("mov.u64", "rd", base)

    def _constant_leaves(self, constant: Constant) -> Iterable[str]:
        if isinstance(constant.value, tuple):
            for part in constant.value:
                yield from self.raw(part)
            return
        bits = constant.value or 0
        for leaf, offset in leaves_of(constant.type):
            yield self.constant(leaf, bits >> 8 * offset if constant.type.kind == "int" else bits)

    def constant(self, leaf: Type, bits: int) -> str:
        """A constant as an operand; predicates and numbers of 16 bits are put into a register."""
        bits &= (1 << leaf.bits) - 1
        if leaf.kind == "float":
            return f"0f{bits:08X}"
        if leaf.kind == "double":
            return f"0d{bits:016X}"
        if leaf.kind in ("half", "bfloat"):
            return self.op("mov.b16", "rs", f"0x{bits:04X}")
        if leaf == I1:
            return self.op("mov.pred", "p", "-1" if bits else "0")
        if leaf.bits == width_of(leaf) and bits >> leaf.bits - 1:
            bits -= 1 << leaf.bits
        return str(bits)

    def define(self, name: str, operands: Iterable[str], kind: Type) -> None:
        """Note the operands of a result; if it was used before, it is copied."""
        if not name:
            return
        if name in self._values:
            for (_leaf, _), target, operand in zip(
                leaves_of(kind), self._values[name], operands, strict=True
            ):
                self.code.copy(target, operand, self.location)
            return
        self._values[name] = tuple(operands)

    # -- addresses -------------------------------------------------------------------------------------------

    def address(self, value: Value) -> tuple[int, str, int]:
        """The state space, the base and the offset of an address."""
        if isinstance(value, Global) and self.space(value):
            return self.space(value), ptx_name(value.name), 0
        step = value
        if isinstance(value, Local) and value.name in self._folded:
            step = self._definitions[value.name]
        if isinstance(step, Instruction):
            if step.op == "getelementptr" and (offset := constant_offset(step)) is not None:
                space, base, start = self.address(step.arguments[0])
                return space, base, start + offset
            if step.op == "addrspacecast" and step.type.count == 0:
                return self.address(step.arguments[0])
        return self.space(value), self.register(self.raw(value)[0], I64), 0

    def _place(self, base: str, offset: int) -> str:
        return f"[{base}+{offset}]" if offset else f"[{base}]"

    def _stepped(self, step: Instruction) -> Operands:
        """The address that a `getelementptr` makes, in the state space of its base."""
        if step.type.kind != "ptr":
            raise self.refusal("a vector of addresses")
        _space, base, total = self.address(step.arguments[0])
        kind = step.source
        base = self._in_register(base) if not (base.endswith("]")) else base
        for position, index in enumerate(step.arguments[1:]):
            if position and kind.kind == "struct":
                assert isinstance(index, Constant)
                assert not isinstance(index.value, tuple)
                total += offset_of(kind, index.value or 0)
                kind = kind.element(index.value or 0)
                continue
            if position:
                kind = kind.element(0)
            scale = size_of(kind)
            if isinstance(index, Constant) and not isinstance(index.value, tuple):
                bits = index.value or 0
                total += (bits - ((bits >> index.type.count - 1) << index.type.count)) * scale
                continue
            wide = self.extended(self.operand(index), index.type, I64, signed=True)
            if scale & scale - 1:
                base = self.op("mad.lo.s64", "rd", wide, str(scale), base)
            elif scale:
                if scale > 1:
                    wide = self.op("shl.b64", "rd", wide, str(scale.bit_length() - 1))
                base = self.op("add.s64", "rd", base, wide)
        return (self.op("add.s64", "rd", base, str(total)) if total else base,)

    # -- memory ----------------------------------------------------------------------------------------------

    def _pieces(self, kind: Type, align: int) -> list[tuple[int, int, int]]:
        """Accesses of a value in memory: the first scalar, how many, and 4 if they are packed into words."""
        leaves = leaves_of(kind)
        pieces = []
        at = 0
        while at < len(leaves):
            leaf, start = leaves[at]
            size = size_of(leaf)
            count = 1
            for total in (16, 8, 4, 2):
                wanted = total // size
                same = leaves[at : at + wanted]
                if (
                    wanted > 1
                    and (align | start) % total == 0
                    and len(same) == wanted
                    and all(
                        other.bits == leaf.bits and where == start + size * number
                        for number, (other, where) in enumerate(same)
                    )
                    and leaf.bits == 8 * size
                    and class_of(leaf) == class_of(same[-1][0])
                    and len({other.kind for other, _ in same}) == 1
                ):
                    count = wanted
                    break
            pieces.append((at, count, 4 if count > 4 or (count > 1 and size == 2) else 0))
            at += count
        return pieces

    def _load(self, prefix: str, kind: Type, place: tuple[int, str, int], align: int) -> list[str]:
        """Load a value; `prefix` is the opcode without vector and type."""
        _, base, offset = place
        leaves = leaves_of(kind)
        operands: list[str] = []
        for first, count, packed in self._pieces(kind, align):
            leaf, start = leaves[first]
            at = self._place(base, offset + start)
            size = size_of(leaf)
            if count == 1:
                whole = min(size, -(-leaf.bits // 8))
                if whole & whole - 1 or (align | start) % whole:
                    operands.append(
                        self._load_bytes(prefix, leaf, (base, offset + start), whole, align | start)
                    )
                else:
                    operands.append(self._loaded(f"{prefix}.{memory_type(leaf)}", leaf, at))
            elif packed:
                words = self._load_vector(prefix, I32, size * count // 4, at)
                parts = [part for word in words for part in self.split(word, 32, 8 * size)]
                operands += parts
            else:
                operands += self._load_vector(prefix, leaf, count, at)
        return operands

    def _load_vector(self, prefix: str, leaf: Type, count: int, at: str) -> list[str]:
        results = [self.code.register(class_of(leaf)) for _ in range(count)]
        listing = f"{{{', '.join(results)}}}" if count > 1 else results[0]
        vector = f".v{count}" if count > 1 else ""
        self.emit(f"{prefix}{vector}.{memory_type(leaf)} {listing}, {at};", *results)
        return results

    def _loaded(self, opcode: str, leaf: Type, at: str) -> str:
        if leaf == I1:
            return self.op("setp.ne.u16", "p", self.op(opcode, "rs", at), "0")
        return self.op(opcode, class_of(leaf), at)

    def _load_bytes(self, prefix: str, leaf: Type, place: tuple[str, int], size: int, align: int) -> str:
        """Load a scalar in parts, as its alignment allows."""
        unit = next(width for width in (4, 2, 1) if align % width == 0 and size % width == 0)
        result = ""
        for start in range(0, size, unit):
            word = self.op(f"{prefix}.u{8 * unit}", "r", self._place(place[0], place[1] + start))
            wide = self.op("cvt.u64.u32", "rd", word)
            shifted = self.op("shl.b64", "rd", wide, str(8 * start)) if start else wide
            result = self.op("or.b64", "rd", result, shifted) if result else shifted
        return self.from_bits(result, 64, leaf)

    def _store(
        self, prefix: str, kind: Type, operands: Operands, place: tuple[int, str, int], align: int
    ) -> None:
        """Store a value, as `_load` loads one."""
        _, base, offset = place
        leaves = leaves_of(kind)
        for first, count, packed in self._pieces(kind, align):
            leaf, start = leaves[first]
            at = self._place(base, offset + start)
            size = size_of(leaf)
            values = list(operands[first : first + count])
            if count == 1:
                whole = min(size, -(-leaf.bits // 8))
                if whole & whole - 1 or (align | start) % whole:
                    unit = next(
                        width for width in (4, 2, 1) if (align | start) % width == 0 and whole % width == 0
                    )
                    bits = self.to_bits(values[0], leaf, 64)
                    for step in range(0, whole, unit):
                        part = self.op("shr.u64", "rd", bits, str(8 * step)) if step else bits
                        word = self.op("cvt.u32.u64", "r", part)
                        self.emit(f"{prefix}.u{8 * unit} {self._place(base, offset + start + step)}, {word};")
                    continue
                if leaf == I1:
                    values = [self.op("selp.u16", "rs", "1", "0", values[0])]
                self.emit(f"{prefix}.{memory_type(leaf)} {at}, {values[0]};")
                continue
            if packed:
                per_word = 4 // size
                values = [
                    self.joined(values[position : position + per_word], 8 * size, 32)
                    for position in range(0, count, per_word)
                ]
                leaf, count = I32, len(values)
            values = [self.register(value, leaf) for value in values]
            listing = f"{{{', '.join(values)}}}" if count > 1 else values[0]
            self.emit(f"{prefix}{f'.v{count}' if count > 1 else ''}.{memory_type(leaf)} {at}, {listing};")

    def _copy(
        self, source: tuple[int, str, int], target: tuple[int, str, int], size: int, align: int
    ) -> None:
        """Copy bytes between addresses, all loads first if there are few, so that both may overlap."""
        moves = []
        at = 0
        while at < size:
            unit = next(width for width in (8, 4, 2, 1) if (align | at) % width == 0 and at + width <= size)
            kind = {8: "rd", 4: "r"}.get(unit, "rs")
            place = self._place(source[1], source[2] + at)
            moves.append((unit, at, self.op(f"ld{SPACES[source[0]]}.u{8 * unit}", kind, place)))
            at += unit
        for unit, at, register in moves:
            self.emit(
                f"st{SPACES[target[0]]}.u{8 * unit} {self._place(target[1], target[2] + at)}, {register};"
            )

    def copy_memory(self, arguments: list[Value], align: tuple[int, int], kind: str) -> None:
        """`llvm.memcpy`, `llvm.memmove` or `llvm.memset`."""
        target, source, length = arguments[:3]
        size = length.value if isinstance(length, Constant) else None
        assert not isinstance(size, tuple)
        fill = kind == "memset"
        place = self.address(target)
        unit = min(align) if not fill else align[0]
        if isinstance(length, Constant) and (size or 0) <= _UNROLLED:
            if not fill:
                self._copy(self.address(source), place, size or 0, unit)
                return
            byte = self.operand(source)
            wide = self.register(self.extended(byte, Type("int", 8), I64, signed=False), I64)
            full = self.op("mul.lo.u64", "rd", wide, str(0x0101010101010101))
            at = 0
            while at < (size or 0):
                step = next(
                    width for width in (8, 4, 2, 1) if (unit | at) % width == 0 and at + width <= (size or 0)
                )
                part = self._resized(full, 64, max(16, 8 * step))
                self.emit(f"st{SPACES[place[0]]}.u{8 * step} {self._place(place[1], place[2] + at)}, {part};")
                at += step
            return
        count = self.extended(self.operand(length), length.type, I64, signed=False)
        into = self.op("add.s64", "rd", self._in_register(place[1]), str(place[2]))
        names = {"to": SPACES[place[0]], "target": into}
        text = _FILL
        if fill:
            names["byte"] = self.register(self.operand(source), Type("int", 8))
        else:
            origin = self.address(source)
            names["source"] = self.op("add.s64", "rd", self._in_register(origin[1]), str(origin[2]))
            names["of"] = SPACES[origin[0]]
            text = _MOVE.replace("{at}", "%rd.done")
        if kind == "memmove":
            names["behind"] = self.op("setp.gt.u64", "p", *self.operands(target), *self.operands(source))
            text = _BACKWARDS + _MOVE.replace("{at}", "%rd.at")
        self.pattern(_LOOP.replace("{place}", text), count=self.register(count, I64), **names)

    # -- pieces of bits --------------------------------------------------------------------------------------

    def to_bits(self, operand: str, leaf: Type, bits: int) -> str:
        """A scalar's bits in an integer register of 16, 32 or 64 bits."""
        kind = class_of(leaf)
        if kind == "p":
            return self.op(f"selp.b{bits}", {16: "rs", 32: "r", 64: "rd"}[bits], "1", "0", operand)
        if kind in ("f", "fd"):
            operand = self.op(f"mov.b{leaf.bits}", "r" if kind == "f" else "rd", operand)
        return self._resized(operand, 64 if kind == "fd" else width_of(leaf), bits)

    def from_bits(self, operand: str, bits: int, leaf: Type) -> str:
        """A scalar from the low bits of a register."""
        kind = class_of(leaf)
        if kind == "p":
            low = self.op(f"and.b{bits}", {16: "rs", 32: "r", 64: "rd"}[bits], operand, "1")
            return self.op(f"setp.ne.b{bits}", "p", low, "0")
        resized = self._resized(operand, bits, width_of(leaf))
        if kind in ("f", "fd"):
            return self.op(f"mov.b{leaf.bits}", kind, resized)
        return self.masked(resized, leaf)

    def _resized(self, operand: str, width: int, bits: int) -> str:
        """An integer in a register of another width, with zeros above it."""
        if width == bits:
            return operand
        operand = self.register(operand, Type("int", width))
        return self.op(f"cvt.u{bits}.u{width}", {16: "rs", 32: "r", 64: "rd"}[bits], operand)

    def split(self, word: str, bits: int, part: int) -> list[str]:
        """The parts of a word, the lowest first, in integer registers; those of 8 bits have zeros above."""
        kind = class_of(Type("int", part))
        if part > 8:
            results = [self.code.register(kind) for _ in range(bits // part)]
            self.emit(f"mov.b{bits} {{{', '.join(results)}}}, {word};", *results)
            return results
        results = []
        for start in range(0, bits, 8):
            shifted = (
                self.op(f"shr.u{bits}", class_of(Type("int", bits)), word, str(start)) if start else word
            )
            low = self._resized(shifted, bits, 16)
            results.append(self.op("and.b16", "rs", low, "255"))
        return results

    def joined(self, parts: list[str], part: int, bits: int) -> str:
        """A word of integer parts, the lowest first."""
        kind = class_of(Type("int", bits))
        if part > 8:
            parts = [self.register(piece, Type("int", part)) for piece in parts]
            return self.op(f"mov.b{bits}", kind, f"{{{', '.join(parts)}}}")
        result = ""
        for position, piece in enumerate(parts):
            wide = self._resized(self.register(piece, Type("int", 16)), 16, bits)
            shifted = self.op(f"shl.b{bits}", kind, wide, str(8 * position)) if position else wide
            result = self.op(f"or.b{bits}", kind, result, shifted) if result else shifted
        return result

    def repacked(self, operands: Operands, source: Type, target: Type) -> Operands:
        """The operands of a value whose bits are seen as another type."""
        old, new = [leaf for leaf, _ in leaves_of(source)], [leaf for leaf, _ in leaves_of(target)]
        if [leaf.bits for leaf in old] == [leaf.bits for leaf in new]:
            if [class_of(leaf) for leaf in old] == [class_of(leaf) for leaf in new]:
                return operands
            return tuple(
                self.from_bits(self.to_bits(operand, leaf, width_of(leaf)), width_of(leaf), other)
                for operand, leaf, other in zip(operands, old, new, strict=True)
            )
        widths = {leaf.bits for leaf in (*old, *new)}
        if not widths <= {8, 16, 32, 64}:
            return self._repacked_bits(operands, old, new)
        narrow, wide = old[0].bits, new[0].bits
        bits = [
            self.to_bits(operand, leaf, max(16, leaf.bits))
            for operand, leaf in zip(operands, old, strict=True)
        ]
        if narrow < wide:
            step = wide // narrow
            words = [self.joined(bits[at : at + step], narrow, wide) for at in range(0, len(bits), step)]
        else:
            whole = [self.register(word, Type("int", narrow)) for word in bits]
            words = [part for word in whole for part in self.split(word, narrow, wide)]
        return tuple(
            self.from_bits(word, max(16, leaf.bits), leaf) for word, leaf in zip(words, new, strict=True)
        )

    def _repacked_bits(self, operands: Operands, old: list[Type], new: list[Type]) -> Operands:
        """The same for vectors of bits, by way of 64 bits."""
        if sum(leaf.bits for leaf in old) > 64:
            raise self.refusal("a bitcast of more than 64 bits")
        word, at = "0", 0
        for operand, leaf in zip(operands, old, strict=True):
            wide = self.to_bits(operand, leaf, 64)
            word = self.op("or.b64", "rd", word, self.op("shl.b64", "rd", wide, str(at)))
            at += leaf.bits
        results, at = [], 0
        for leaf in new:
            results.append(self.from_bits(self.op("shr.u64", "rd", word, str(at)), 64, leaf))
            at += leaf.bits
        return tuple(results)

    # -- instructions ----------------------------------------------------------------------------------------

    def _instruction(self, instruction: Instruction) -> None:
        op = instruction.op
        if instruction in self._absorbed or instruction.name in self._folded:
            return
        if op in ("br", "switch", "ret", "unreachable"):
            self._terminator(instruction)
        elif op == "store":
            value, target = instruction.arguments
            kind = value.type
            place = self.address(target)
            prefix = self._access("st", instruction) + SPACES[place[0]]
            self._store(prefix, kind, self.operands(value), place, instruction.align or align_of(kind))
        else:
            self.define(instruction.name, self._compute(instruction), instruction.type)

    def _access(self, root: str, instruction: Instruction) -> str:
        """The opcode of a load or a store without its state space."""
        if "atomic" in instruction.words:
            raise self.refusal(f"an atomic {instruction.op}", _ATOMICS)
        return f"{root}.volatile" if "volatile" in instruction.words else root

    def _terminator(self, instruction: Instruction) -> None:
        code, location = self.code, self.location
        source = self.block_name
        if instruction.op == "ret":
            if "ptx_kernel" not in self.function.words and instruction.arguments:
                self._pass(instruction.arguments[0], "func_retval0")
            self.emit("ret;")
            code.leave([], "", location)
            return
        if instruction.op == "unreachable":
            self.emit("trap;")
            self.emit("exit;")
            code.leave([], "", location)
            return
        edges: list[tuple[str, str]] = []
        if instruction.op == "br":
            targets = instruction.labels
            if len(targets) == 2 and targets[0] == targets[1]:
                targets = targets[:1]
            if len(targets) == 2:
                edges.append((self.register(self.operand(instruction.arguments[0]), I1), targets[0]))
        else:
            targets = [*instruction.labels[1:], instruction.labels[0]]
            value = instruction.arguments[0]
            kind = value.type
            for case, target in zip(instruction.arguments[1:], targets, strict=False):
                edges.append((self.compare("eq", kind, self.operands(value), self.operands(case)), target))
        default = targets[-1]
        if not edges:
            self._copies(source, default)
            code.leave([], self._labels[default], location)
            return
        branches = [(predicate, self._edge(source, target)) for predicate, target in edges]
        following = self._edge(source, default)
        code.enter(self._labels[source])
        code.leave(branches, following, location)

    def _edge(self, source: str, target: str) -> str:
        """The label to branch to, of a new block if there is something to copy on the way."""
        blocks = {block.name: block for block in self.function.blocks}
        if blocks[target].instructions[0].op != "phi":
            return self._labels[target]
        label = self.code.label()
        self.code.add(label, self._labels[source])
        self.code.enter(label)
        self._copies(source, target)
        self.code.leave([], self._labels[target], "")
        return label

    def _copies(self, source: str, target: str) -> None:
        """Give the phis of a block what they get from another block."""
        block = next(block for block in self.function.blocks if block.name == target)
        pairs: list[tuple[str, str]] = []
        for phi in block.instructions:
            if phi.op != "phi":
                break
            value = phi.arguments[phi.labels.index(source)]
            if isinstance(value, Constant) and value.undefined:
                continue
            pairs += zip(self._phi_operands(phi.name, phi.type), self._kept_in(value, phi.name), strict=True)
        self.code.copies(pairs, self.location)

    def _kept_in(self, value: Value, name: str) -> Operands:
        """The operands of a value; a pointer in the state space in which a result is kept."""
        return self.raw(value) if self._spaces.get(name, 0) else self.operands(value)

    def _pass(self, value: Value, parameter: str) -> None:
        """Store a result or an argument into a parameter."""
        kind = value.type
        for (leaf, offset), operand in zip(leaves_of(kind), self.operands(value), strict=True):
            at = self._place(parameter, offset)
            if kind.kind in ("struct", "array", "vector") or kind.bits > 32:
                if leaf == I1:
                    operand = self.op("selp.u16", "rs", "1", "0", self.register(operand, leaf))
                self.emit(f"st.param.{memory_type(leaf)} {at}, {operand};")
            elif leaf.kind == "float":
                self.emit(f"st.param.f32 {at}, {operand};")
            else:
                self.emit(f"st.param.b32 {at}, {self._as_word(operand, leaf)};")

    def _compute(self, instruction: Instruction) -> Operands:
        """The operands of the result of an instruction or a constant expression."""
        op, kind, arguments = instruction.op, instruction.type, instruction.arguments
        if op in _INTEGER_OPS or op in ("fadd", "fsub", "fmul", "fdiv"):
            return self._by_element(instruction, self.operands(arguments[0]), self.operands(arguments[1]))
        if op in ("icmp", "fcmp"):
            left, right = (self.operands(argument) for argument in arguments)
            source = arguments[0].type
            if source.kind != "vector":
                return (self.compare(instruction.predicate, source, left, right),)
            element = source.elements[0]
            return tuple(
                self.compare(instruction.predicate, element, (a,), (b,))
                for a, b in zip(left, right, strict=True)
            )
        if op == "getelementptr":
            return self._stepped(instruction)
        if op == "select":
            return self._select(instruction)
        if op == "fneg":
            name = _FLOATS[leaves_of(kind)[0][0].kind]
            return tuple(
                self.op(f"neg{self.ftz if name == 'f32' else ''}.{name}", class_of(leaf), operand)
                for (leaf, _), operand in zip(leaves_of(kind), self.operands(arguments[0]), strict=True)
            )
        if op == "freeze":
            return self._kept_in(arguments[0], instruction.name)
        if op == "bitcast":
            return self.repacked(self.operands(arguments[0]), arguments[0].type, kind)
        if op == "addrspacecast":
            return self._cast_space(instruction)
        if op in ("ptrtoint", "inttoptr", "ptrtoaddr"):
            source, target = (I64, kind) if op != "inttoptr" else (arguments[0].type, I64)
            operand = self.operand(arguments[0])
            if target.bits < source.bits:
                return (self._truncated(operand, source, target),)
            return self._extended_words(self.operands(arguments[0]), source, target, signed=False)
        if op in ("trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp"):
            return self._cast(instruction)
        if op == "load":
            place = self.address(arguments[0])
            prefix = self._access("ld", instruction) + SPACES[place[0]]
            if place[0] == 1 and "!invariant.load" in instruction.words:
                prefix += ".nc"
            return tuple(self._load(prefix, kind, place, instruction.align or align_of(kind)))
        if op == "alloca":
            if instruction.arguments and getattr(instruction.arguments[0], "value", None) != 1:
                raise self.refusal("an array of variable size in local memory")
            start = self.reserve(
                size_of(instruction.source), instruction.align or align_of(instruction.source)
            )
            depot = self.op("mov.u64", "rd", self._depot_name)
            return (self.op("add.s64", "rd", depot, str(start)) if start else depot,)
        if op in ("extractvalue", "insertvalue", "extractelement", "insertelement", "shufflevector"):
            return self._element(instruction)
        if op == "call":
            return self._call(instruction)
        raise self.refusal(op, _ATOMICS if op in ("atomicrmw", "cmpxchg", "fence") else "")

    def _cast_space(self, instruction: Instruction) -> Operands:
        argument, target = instruction.arguments[0], instruction.type.count
        space = self.space(argument)
        if target in (0, space):
            if isinstance(argument, Constant):
                return self.raw(argument)
            if instruction.name and self._spaces.get(instruction.name, 0) != space:
                return self.operands(argument)
            _, base, offset = self.address(argument)
            return (self.op("add.s64", "rd", self._in_register(base), str(offset)) if offset else base,)
        if space == 3 and target == 7:
            return self.raw(argument)
        return (self.op(f"cvta.to{SPACES[target]}.u64", "rd", self.register(self.operand(argument), I64)),)

    def _element(self, instruction: Instruction) -> Operands:
        """A part of an aggregate or a vector, or one with a part replaced."""
        op, arguments = instruction.op, instruction.arguments
        whole = self.operands(arguments[0])
        kind: Type = arguments[0].type
        if op in ("extractvalue", "insertvalue"):
            start = 0
            for index in instruction.indices:
                start += sum(len(leaves_of(kind.element(number))) for number in range(index))
                kind = kind.element(index)
            end = start + len(leaves_of(kind))
            if op == "extractvalue":
                return whole[start:end]
            return (*whole[:start], *self.operands(arguments[1]), *whole[end:])
        step = len(leaves_of(kind.elements[0]))
        if op == "shufflevector":
            both = (*whole, *self.operands(arguments[1]))
            return tuple(
                part for index in instruction.indices for part in both[index * step : index * step + step]
            )
        place = arguments[-1]
        leaf = leaves_of(kind.elements[0])[0][0]
        if isinstance(place, Constant) and not isinstance(place.value, tuple):
            at = (place.value or 0) * step
            if op == "extractelement":
                return whole[at : at + step]
            return (*whole[:at], *self.operands(arguments[1]), *whole[at + step :])
        position, wide = self.operand(place), place.type
        if op == "extractelement":
            result = whole[0]
            for at in range(1, kind.count):
                same = self.compare("eq", wide, (position,), (str(at),))
                result = self.selected(leaf, same, whole[at], result)
            return (result,)
        new = self.operand(arguments[1])
        return tuple(
            self.selected(leaf, self.compare("eq", wide, (position,), (str(at),)), new, element)
            for at, element in enumerate(whole)
        )

    def selected(self, leaf: Type, predicate: str, yes: str, no: str) -> str:
        if leaf == I1:
            yes, no = self.register(yes, leaf), self.register(no, leaf)
            first = self.op("and.pred", "p", predicate, yes)
            second = self.op("and.pred", "p", self.op("not.pred", "p", predicate), no)
            return self.op("or.pred", "p", first, second)
        kind = class_of(leaf)
        return self.op(f"selp.{CLASS_TYPES[kind]}", kind, yes, no, predicate)

    def _select(self, instruction: Instruction) -> Operands:
        condition, yes, no = instruction.arguments
        predicates = [self.register(operand, I1) for operand in self.operands(condition)]
        first, second = self._kept_in(yes, instruction.name), self._kept_in(no, instruction.name)
        if len(predicates) == 1:
            predicates *= len(first)
        return tuple(
            self.selected(leaf, predicate, a, b)
            for (leaf, _), predicate, a, b in zip(
                leaves_of(instruction.type), predicates, first, second, strict=True
            )
        )

    # -- arithmetic ------------------------------------------------------------------------------------------

    def _by_element(self, instruction: Instruction, left: Operands, right: Operands) -> Operands:
        """An operation on scalars, vectors or wide integers."""
        kind = instruction.type
        if kind.kind == "int" and kind.count > 64:
            return self.wide(instruction, left, right)
        if instruction in self._fused:
            product, how = self._fused[instruction]
            a, b = (self.operands(argument) for argument in product.arguments)
            c = right if how == "left" or how == "negated" else left
            return tuple(
                self._fma(leaf, how, instruction.op, x, y, z)
                for (leaf, _), x, y, z in zip(leaves_of(kind), a, b, c, strict=True)
            )
        element = kind.elements[0] if kind.kind == "vector" else kind
        return tuple(self.arithmetic(instruction, element, a, b) for a, b in zip(left, right, strict=True))

    def _fma(self, leaf: Type, how: str, op: str, x: str, y: str, z: str) -> str:
        """A fused sum: ``x*y + z``, ``x*y - z``, ``z - x*y`` or ``-(x*y) - z``."""
        name, kind = _FLOATS[leaf.kind], class_of(leaf)
        ftz = self.ftz if name == "f32" else ""
        if how in ("minus", "negated"):
            x = self.op(f"neg{ftz}.{name}", kind, x)
        if op == "fsub" and how in ("left", "negated"):
            z = self.op(f"neg{ftz}.{name}", kind, z)
        return self.op(f"fma.rn{ftz}.{name}", kind, x, y, z)

    def arithmetic(self, instruction: Instruction, leaf: Type, left: str, right: str) -> str:
        """An operation on two scalars."""
        op, words = instruction.op, instruction.words
        if leaf.kind != "int":
            return self._float_operation(op, leaf, left, right, words)
        bits, kind = width_of(leaf), class_of(leaf)
        if bits == 1:
            if op in ("shl", "lshr", "ashr", "sdiv", "udiv"):
                return left
            names = {"and": "and", "mul": "and", "or": "or", "xor": "xor", "add": "xor", "sub": "xor"}
            if op not in names:
                raise self.refusal(f"{op} of i1")
            return self.op(f"{names[op]}.pred", "p", left, right)
        if op in _SIGNED:
            left = self.signed(left, leaf)
            if op != "ashr":
                right = self.signed(right, leaf)
        if op in ("shl", "lshr", "ashr"):
            right = self._resized(right, bits, 32) if number(right) is None else right
        if op == "xor" and number(right) == (-1 if leaf.bits == bits else (1 << leaf.bits) - 1):
            result = self.op(f"not.b{bits}", kind, left)
        else:
            result = self.op(f"{_INTEGER_OPS[op]}{bits}", kind, left, right)
        return result if op in ("and", "or", "udiv", "urem", "lshr") else self.masked(result, leaf)

    def masked(self, operand: str, leaf: Type) -> str:
        """An integer with zeros above its bits."""
        bits = width_of(leaf)
        if leaf.kind != "int" or leaf.bits == bits:
            return operand
        return self.op(f"and.b{bits}", class_of(leaf), operand, str((1 << leaf.bits) - 1))

    def signed(self, operand: str, leaf: Type) -> str:
        """An integer with copies of its sign above its bits."""
        bits, kind = width_of(leaf), class_of(leaf)
        if leaf.bits == bits:
            return operand
        value = number(operand)
        if value is not None:
            return str(value - ((value >> leaf.bits - 1) << leaf.bits))
        if leaf.bits == 8:
            return self.op("cvt.s16.s8", "rs", operand)
        spare = str(bits - leaf.bits)
        return self.op(f"shr.s{bits}", kind, self.op(f"shl.b{bits}", kind, operand, spare), spare)

    def _float_operation(self, op: str, leaf: Type, left: str, right: str, words: frozenset[str]) -> str:
        name, kind = _FLOATS[leaf.kind], class_of(leaf)
        ftz = self.ftz if name == "f32" else ""
        if op in _FLOAT_OPS:
            rounding = "" if _CONTRACT & words else ".rn"
            return self.op(f"{_FLOAT_OPS[op]}{rounding}{ftz}.{name}", kind, left, right)
        if name in ("f16", "bf16"):
            wide = [self.op(f"cvt.f32.{name}", "f", operand) for operand in (left, right)]
            result = self._float_operation(op, Type("float"), wide[0], wide[1], words)
            return self.op(f"cvt.rn.{name}.f32", "rs", result)
        mode = "full" if name == "f32" and {"afn", "fast"} & words else "rn"
        if left in ("0f3F800000", "0d3FF0000000000000"):
            mode = "approx" if mode == "full" else mode
            return self.op(f"rcp.{mode}{ftz}.{name}", kind, right)
        return self.op(f"div.{mode}{ftz}.{name}", kind, left, right)

    def compare(self, predicate: str, kind: Type, left: Operands, right: Operands) -> str:
        """A comparison of two scalars, or of two integers of several words."""
        if kind.kind in _FLOATS:
            name = _FLOATS[kind.kind]
            if predicate in ("true", "false"):
                return self.op("mov.pred", "p", "-1" if predicate == "true" else "0")
            a, b = (self.register(operand[0], kind) for operand in (left, right))
            return self.op(
                f"setp.{_COMPARISONS[predicate]}{self.ftz if name == 'f32' else ''}.{name}", "p", a, b
            )
        base = predicate if predicate in ("eq", "ne") else predicate[1:]
        signed = predicate[0] == "s"
        if len(left) > 1:
            return self._compare_words(predicate, kind, left, right)
        a, b = left[0], right[0]
        bits = width_of(kind) if kind.kind == "int" else 64
        if bits == 1:
            if base in ("eq", "ne"):
                different = self.op("xor.pred", "p", a, b)
                return different if base == "ne" else self.op("not.pred", "p", different)
            a, b = (self.op("selp.u32", "r", "-1" if signed else "1", "0", flag) for flag in (a, b))
            return self.op(f"setp.{base}.{predicate[0]}32", "p", a, b)
        if signed:
            a, b = self.signed(a, kind), self.signed(b, kind)
        elif base not in ("eq", "ne"):
            a, b = (str(value & (1 << bits) - 1) if (value := number(x)) is not None else x for x in (a, b))
        letter = "b" if base in ("eq", "ne") else predicate[0]
        return self.op(f"setp.{base}.{letter}{bits}", "p", a, b)

    def _compare_words(self, predicate: str, kind: Type, left: Operands, right: Operands) -> str:
        """A comparison of integers of several words, the highest last."""
        types = [leaf for leaf, _ in leaves_of(kind)]
        result = ""
        for leaf, a, b in zip(types, left, right, strict=True):
            if predicate in ("eq", "ne"):
                one = self.compare(predicate, leaf, (a,), (b,))
                result = (
                    self.op("and.pred" if predicate == "eq" else "or.pred", "p", result, one)
                    if result
                    else one
                )
                continue
            highest = leaf is types[-1]
            sign = predicate[0] if highest else "u"
            if not result:
                result = self.compare(sign + predicate[1:], leaf, (a,), (b,))
                continue
            strict = self.compare(sign + predicate[1] + "t", leaf, (a,), (b,))
            same = self.compare("eq", leaf, (a,), (b,))
            result = self.op("or.pred", "p", strict, self.op("and.pred", "p", same, result))
        return result

    def wide(self, instruction: Instruction, left: Operands, right: Operands) -> Operands:
        """An operation on integers of more than 64 bits."""
        op, kind = instruction.op, instruction.type
        types = [leaf for leaf, _ in leaves_of(kind)]
        if op in ("and", "or", "xor"):
            return tuple(
                self.arithmetic(instruction, leaf, a, b)
                for leaf, a, b in zip(types, left, right, strict=True)
            )
        if len(types) > 2:
            raise self.refusal(f"{op} of i{kind.count}")
        is_signed = op in _SIGNED
        (a0, a1), (b0, b1) = (
            (words[0], self.extended(words[1], types[1], I64, signed=is_signed)) for words in (left, right)
        )
        both = "%rd.low", "%rd.high"
        if op in ("shl", "lshr", "ashr"):
            count = self._resized(self.register(b0, I64), 64, 32)
            text = _WIDE["shl" if op == "shl" else "shr"]
            low, high = self.pattern(text, *both, a0=a0, a1=a1, count=count, sign="us"[is_signed])
        elif op in _WIDE:
            low, high = self.pattern(_WIDE[op], *both, a0=a0, a1=a1, b0=b0, b1=b1)
        else:
            signs = []
            words = []
            for low, high in ((a0, a1), (b0, b1)):
                low, high = self.register(low, I64), self.register(high, I64)
                if is_signed:
                    signs.append(self.op("shr.s64", "rd", high, "63"))
                    low, high = self.pattern(_WIDE["negate"], *both, a0=low, a1=high, sign=signs[-1])
                words += [low, high]
            a0, a1, b0, b1 = words
            results = both if op.endswith("div") else ("%rd.rest0", "%rd.rest1")
            low, high = self.pattern(_WIDE["divide"], *results, a0=a0, a1=a1, b0=b0, b1=b1)
            if signs:
                sign = self.op("xor.b64", "rd", *signs) if op == "sdiv" else signs[0]
                low, high = self.pattern(_WIDE["negate"], *both, a0=low, a1=high, sign=sign)
        return low, self.from_bits(high, 64, types[1])

    # -- casts -----------------------------------------------------------------------------------------------

    def _cast(self, instruction: Instruction) -> Operands:
        op, target = instruction.op, instruction.type
        source: Type = instruction.arguments[0].type
        operands = self.operands(instruction.arguments[0])
        if target.kind == "vector":
            source, target = source.elements[0], target.elements[0]
            return tuple(
                part for operand in operands for part in self._cast_one(op, (operand,), source, target)
            )
        return self._cast_one(op, operands, source, target)

    def _cast_one(self, op: str, operands: Operands, source: Type, target: Type) -> Operands:
        operand = operands[0]
        if op == "trunc":
            if target.bits > 64:
                first, last = operands[0], operands[1]
                return first, self._truncated(last, leaves_of(source)[1][0], leaves_of(target)[1][0])
            return (self._truncated(operand, leaves_of(source)[0][0], target),)
        if op in ("zext", "sext"):
            return self._extended_words(operands, source, target, signed=op == "sext")
        to, of = _FLOATS.get(target.kind), _FLOATS.get(source.kind)
        if op in ("fptrunc", "fpext"):
            rounding = ".rn" if op == "fptrunc" else ""
            ftz = self.ftz if (of == "f32" and to not in ("bf16",)) or (to == "f32" and of == "f64") else ""
            if op == "fpext" and of in ("f16", "bf16"):
                ftz = self.ftz if of == "f16" and to == "f32" else ""
            return (self.op(f"cvt{rounding}{ftz}.{to}.{of}", class_of(target), operand),)
        if max(source.bits, target.bits) > 64:
            raise self.refusal(f"{op} with more than 64 bits")
        sign = "s" if op in ("fptosi", "sitofp") else "u"
        if op in ("fptoui", "fptosi"):
            if of == "bf16":
                operand, of = self.op("cvt.f32.bf16", "f", operand), "f32"
            bits = max(16, width_of(target))
            if target.bits == 8:
                sign = "s"
            kind = "rs" if bits == 16 else class_of(target)
            ftz = self.ftz if of == "f32" else ""
            result = self.op(f"cvt.rzi{ftz}.{sign}{bits}.{of}", kind, self.register(operand, source))
            return (self.from_bits(result, bits, target),)
        if source == I1:
            operand = self.op("selp.s32", "r", "-1" if sign == "s" else "1", "0", operand)
            bits = 32
        else:
            bits = width_of(source)
            operand = self.register(self.signed(operand, source) if sign == "s" else operand, source)
        return (self.op(f"cvt.rn.{to}.{sign}{bits}", class_of(target), operand),)

    def _truncated(self, operand: str, source: Type, target: Type) -> str:
        value = number(operand)
        if value is not None and target != I1:
            return self.constant(target, value)
        if source == target:
            return operand
        return self.from_bits(self.register(operand, source), width_of(source), target)

    def extended(self, operand: str, source: Type, target: Type, *, signed: bool) -> str:
        """An integer in a wider type of at most 64 bits; narrower ones are cut."""
        if target.bits < source.bits:
            return self._truncated(operand, source, target)
        bits, width, kind = width_of(target), width_of(source), class_of(target)
        value = number(operand)
        if value is not None:
            value &= (1 << source.bits) - 1
            return self.constant(
                target, value - ((value >> source.bits - 1) << source.bits) if signed else value
            )
        if source.bits == target.bits:
            return operand
        if source == I1:
            every = str(-1 if target.bits == bits else (1 << target.bits) - 1)
            return self.op(f"selp.b{bits}", kind, every if signed else "1", "0", operand)
        if not signed:
            return self._resized(operand, width, bits)
        if source.bits == 8 and bits > 16:
            return self.masked(self.op(f"cvt.s{bits}.s8", kind, operand), target)
        operand = self.signed(operand, source)
        return self.masked(
            operand if bits == width else self.op(f"cvt.s{bits}.s{width}", kind, operand), target
        )

    def _extended_words(self, operands: Operands, source: Type, target: Type, *, signed: bool) -> Operands:
        """An integer in a wider type, of several words if need be."""
        if target.bits <= 64:
            return (self.extended(operands[0], source, target, signed=signed),)
        leaves = [leaf for leaf, _ in leaves_of(target)]
        if len(leaves) > 2:
            raise self.refusal(f"i{target.bits}")
        old = [leaf for leaf, _ in leaves_of(source)]
        low = self.extended(operands[0], old[0], I64, signed=signed)
        if len(old) == 2:
            return low, self.extended(operands[1], old[1], leaves[1], signed=signed)
        if not signed:
            return low, "0" if leaves[1] != I1 else self.constant(I1, 0)
        return low, self.from_bits(self.op("shr.s64", "rd", low, "63"), 64, leaves[1])

    # -- calls -----------------------------------------------------------------------------------------------

    def _call(self, instruction: Instruction) -> Operands:
        """Translate a call of assembly, an intrinsic, a function or a pointer; its result as operands."""
        callee = instruction.callee
        if isinstance(callee, Assembly):
            return self._assembly(instruction, callee)
        if isinstance(callee, Global) and callee.name.startswith("llvm."):
            return self._intrinsic(instruction, callee.name)
        kinds = [argument.type for argument in instruction.arguments]
        target, prototype = "", ""
        if isinstance(callee, Global):
            target = ptx_name(callee.name)
            declared = self.module.functions.get(callee.name)
            if declared is not None and "..." in declared.words:
                raise self.refusal(f"a call of {callee.name}, which takes any number of arguments,")
        else:
            assert callee is not None
            target = self.operand(callee)
            prototype = f"prototype_{self._number}_{self._calls}"
            result = f"({_parameter(instruction.type, '_')}) " if instruction.type.kind != "void" else ""
            listing = ", ".join(
                _parameter(kind, "_", attributes)
                for kind, attributes in zip(kinds, instruction.attributes, strict=True)
            )
            self.emit(f"{prototype} : .callprototype {result}_ ({listing});")
        self._calls += 1
        self.emit("{")
        names = []
        for position, (argument, attributes) in enumerate(
            zip(instruction.arguments, instruction.attributes, strict=True)
        ):
            kind = kinds[position]
            names.append(f"param{position}")
            self.emit(f"{_parameter(kind, names[-1], attributes)};")
            record = attributes.get("byval")
            if isinstance(record, Type):
                align = max(align_of(record), attributes.get("align", 1))  # type: ignore[call-overload]
                self._copy(self.address(argument), (101, names[-1], 0), size_of(record), align)
            else:
                self._pass(argument, names[-1])
        has_result = instruction.type.kind != "void"
        if has_result:
            self.emit(f"{_parameter(instruction.type, 'retval0')};")
        result = "(retval0), " if has_result else ""
        end = f", {prototype};" if prototype else ";"
        opcode = "call" if prototype else "call.uni"
        self.emit(f"{opcode} {result}{target}, ({', '.join(names)}){end}")
        results = self._received(instruction.type, "retval0")
        self.emit("}")
        return tuple(results)

    def _intrinsic(self, instruction: Instruction, name: str) -> Operands:
        if _IGNORED.match(name):
            return ()
        if name.startswith(_SPECIAL):
            return (self._special(name.removeprefix(_SPECIAL), instruction.type),)
        results = self.rules(self, instruction, name)
        if results is None:
            raise self.refusal(f"the intrinsic {name}")
        return results

    def _special(self, name: str, kind: Type) -> str:
        """A special register: ``tid.x`` is ``%tid.x``, ``lanemask.eq`` is ``%lanemask_eq``."""
        if name == "warpsize":
            return "WARP_SZ"
        base, _, last = name.rpartition(".")
        register = f"{base.replace('.', '_')}.{last}" if last in tuple("xyzw") else name.replace(".", "_")
        return self.op(f"mov.u{kind.bits}", class_of(kind), f"%{register}")

    def _assembly(self, instruction: Instruction, assembly: Assembly) -> Operands:
        """Inline assembly; an operand that is tied to a result is copied into its register."""
        kind = instruction.type
        types = kind.elements if kind.kind == "struct" else (kind,)
        constraints = [
            constraint
            for constraint in re.findall(r"(?:\{[^}]*\}|[^,{])+", assembly.constraints)
            if constraint[0] != "~"
        ]
        operands: list[str] = []
        results: list[str] = []
        arguments = iter(instruction.arguments)
        for constraint in constraints:
            letter = constraint.lstrip("=&").strip("{}")[-1:]
            if constraint[0] == "=":
                if "*" in constraint or letter not in _CONSTRAINTS:
                    raise self.refusal(f"an operand of asm with the constraint {constraint}")
                results.append(self.code.register(_CONSTRAINTS[letter]))
                operands.append(results[-1])
                continue
            argument = next(arguments)
            kind = argument.type
            values = self.operands(argument)
            if constraint.isdigit():
                target = results[int(constraint)]
                value = self._in_class(values, kind, _class_name(target))
                self.code.copy(target, value, self.location)
                operands.append(target)
            elif letter in ("n", "i", "s", "C") and isinstance(argument, Constant):
                operands.append(values[0])
            elif letter in ("n", "i", "s", "C"):
                operands.append(self.address(argument)[1])
            elif letter in _CONSTRAINTS:
                operands.append(self._in_class(values, kind, _CONSTRAINTS[letter]))
            else:
                raise self.refusal(f"an operand of asm with the constraint {constraint}")

        def replaced(match: re.Match[str]) -> str:
            if match[0] == "$$":
                return "$"
            if match[3] == "uid":
                return f"{self._number}{self._calls}"
            index = match[1] or match[2]
            return operands[int(index)]

        self._calls += 1
        text = _PLACEHOLDER.sub(replaced, assembly.text)
        self.emit(f"// begin inline asm\n\t{text}\n\t// end inline asm", *results)
        return tuple(
            part
            for result, kind in zip(results, types, strict=False)
            for part in self._out_of_class(result, kind)
        )

    def _in_class(self, operands: Operands, kind: Type, wanted: str) -> str:
        """An operand in a register of the class that a constraint wants."""
        leaf, operand = leaves_of(kind)[0][0], operands[0]
        if wanted == "rq" and kind == I128:
            return self.joined(list(operands), 64, 128)
        if class_of(leaf) == wanted:
            return self.register(operand, leaf)
        if len(operands) > 1 or wanted == "rq":
            letter = next(letter for letter, kind in _CONSTRAINTS.items() if kind == wanted)
            raise self.refusal(f"an operand of asm with the constraint {letter} and another type")
        if wanted in ("f", "fd"):
            return self.op(f"mov.{CLASS_TYPES[wanted]}", wanted, self.register(operand, leaf))
        if wanted == "p":
            return self.from_bits(operand, width_of(leaf), I1)
        return self.to_bits(self.register(operand, leaf), leaf, CLASS_BITS[wanted])

    def _out_of_class(self, operand: str, kind: Type) -> Operands:
        """The operands of a result of asm."""
        have = _class_name(operand)
        if have == "rq" and kind == I128:
            return tuple(self.split(operand, 128, 64))
        ((leaf, _),) = leaves_of(kind)
        if have == class_of(leaf):
            return (self.masked(operand, leaf),)
        if have == "p":
            return (self.to_bits(operand, I1, width_of(leaf)),)
        bits = CLASS_BITS[have]
        if have in ("f", "fd"):
            operand = self.op(f"mov.b{bits}", "r" if have == "f" else "rd", operand)
        return (self.from_bits(operand, bits, leaf),)


def _integer_class(bits: int) -> str:
    return class_of(Type("int", bits))


def _class_name(register: str) -> str:
    return register[1:].rstrip("0123456789")


_WEAK = frozenset({"weak", "weak_odr", "linkonce", "linkonce_odr", "common", "extern_weak"})


def _parameter(
    kind: Type, name: str, attributes: dict[str, object] | None = None, entry: bool = False
) -> str:
    """The declaration of a parameter of a function, or of a kernel."""
    record = (attributes or {}).get("byval")
    if isinstance(record, Type):
        align = max(align_of(record), (attributes or {}).get("align", 1))  # type: ignore[call-overload]
        return f".param .align {align} .b8 {name}[{size_of(record)}]"
    if kind.kind in ("struct", "array", "vector") or kind.bits > 64:
        return f".param .align {align_of(kind)} .b8 {name}[{size_of(kind)}]"
    if entry:
        pointer = " .ptr .align 1" if kind.kind == "ptr" else ""
        return f".param .{memory_type(kind)}{pointer} {name}"
    return f".param .b{32 if kind.bits <= 32 else 64} {name}"


def signature_of(function: Function, entry: bool = False) -> str:
    """The result, the name and the parameters of a function."""
    name = ptx_name(function.name)
    result = "" if function.returns.kind == "void" else f"({_parameter(function.returns, 'func_retval0')}) "
    parameters = ",\n".join(
        f"\t{_parameter(kind, f'{name}_param_{number}', attributes, entry)}"
        for number, (kind, attributes, _) in enumerate(function.parameters)
    )
    return f"{result}{name}(\n{parameters}\n)" if parameters else f"{result}{name}()"


def linkage_of(words: frozenset[str]) -> str:
    """The linkage of a function or a variable, as PTX writes it."""
    if words & {"internal", "private"}:
        return ""
    return ".weak " if words & _WEAK else ".visible "
