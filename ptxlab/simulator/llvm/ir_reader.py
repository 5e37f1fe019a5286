"""LLVM IR as text -> `Module`. LLVM Language Reference Manual, "High Level Structure"."""

from __future__ import annotations

import re
import struct

from ...errors import PtxlabError, quoted
from .ir_syntax import (
    FLOAT_BITS,
    VOID,
    Assembly,
    Block,
    Constant,
    Function,
    Global,
    Instruction,
    Local,
    Metadata,
    Module,
    Type,
    Value,
    Variable,
)

_TOKEN = re.compile(
    r'[%@]"(?:[^"]*)"|c?"[^"]*"|[%@!#$][-\w$.]+|!(?=\{)|-?\d+(?:\.\d+(?:[eE][+-]?\d+)?)?(?![-\w$.:])'
    r"|0x[HRKLM]?[0-9A-Fa-f]+|[-\w$.]+|[()\[\]{}<>,=*|:!]|;[^\n]*"
)
_TYPE = re.compile(r"i\d+|ptr|void|label|metadata|half|bfloat|float|double|token")
_LOCATION = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|([^,)]+))')
_END = "\n"  # the token behind the last one
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")
#: Attributes with a number behind them, perhaps in parentheses.
_NUMBERED = ("align", "alignstack", "addrspace")
_CASTS = {
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint",
    "inttoptr", "bitcast", "addrspacecast", "ptrtoaddr",
}  # fmt: skip
_BINARY = {
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor",
    "fadd", "fsub", "fmul", "fdiv", "frem", "icmp", "fcmp",
}  # fmt: skip
_OTHERS = {
    "fneg", "freeze", "select", "extractelement", "insertelement", "shufflevector", "extractvalue",
    "insertvalue", "load", "store", "getelementptr", "alloca", "phi", "br", "switch", "atomicrmw",
    "cmpxchg", "fence", "ret", "unreachable",
}  # fmt: skip
_EXPRESSIONS = _CASTS | _BINARY | {"getelementptr", "extractelement", "select"}
_VALUES = _EXPRESSIONS | {
    "true", "false", "null", "none", "undef", "poison", "zeroinitializer", "splat", "asm",
}  # fmt: skip
#: Words of comparisons and atomic operations that are not the operation.
_FLAGS = {
    "nuw", "nsw", "exact", "fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc",
    "samesign", "disjoint", "nneg", "inbounds", "volatile",
}  # fmt: skip


def unescaped(text: str) -> bytes:
    """The bytes of a quoted string, in which other characters are a backslash and two digits."""
    return _ESCAPE.sub(
        lambda match: b"\\" if match[1] == b"\\" else bytes([int(match[1], 16)]), text.encode("utf-8")
    )


def _name(token: str) -> str:
    """A name without its sign and its quotes."""
    text = token[1:]
    return unescaped(text[1:-1]).decode("utf-8", "replace") if text.startswith('"') else text


def fields_of(metadata: str) -> dict[str, str]:
    """The fields of specialised metadata such as ``!DILocation(line: 4, column: 2, scope: !7)``."""
    return {
        key: text or plain for key, text, plain in _LOCATION.findall(metadata[metadata.find("(") + 1 :] + ")")
    }


def float_bits(text: str, kind: str) -> int:
    """The bits of a floating-point constant; hexadecimal ones are doubles, except those of 16 bits."""
    if text.startswith(("0xH", "0xR")):
        return int(text[3:], 16)
    if text.startswith("0x"):
        double = struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]
        if kind == "float" and double != double:  # the payload of a NaN is kept
            bits = int(text, 16)
            return bits >> 32 & 0x80000000 | 0x7F800000 | bits >> 29 & 0x7FFFFF
    else:
        double = float(text)
    if kind == "double":
        return int(struct.unpack("<Q", struct.pack("<d", double))[0])
    return int(struct.unpack("<I", struct.pack("<f", double))[0])


class Reader:
    """Reads a module; `module` has what was read."""

    def __init__(self, text: str) -> None:
        self.module = Module()
        self._types: dict[str, list[str]] = {}  # tokens of named types
        self._known: dict[str, Type] = {}
        self._groups: dict[str, list[str]] = {}  # attributes
        self._tokens: list[str] = []
        self._at = 0
        bodies: list[tuple[str, list[str]]] = []
        lines = iter(text.splitlines())
        for line in lines:
            start = line[:1]
            if start == "!" and not line.startswith("!llvm."):
                number, _, rest = line.partition(" = ")
                self.module.metadata[number] = rest.removeprefix("distinct ")
            elif start == "%" and " = type " in line:
                name, _, rest = line.partition(" = type ")
                self._types[_name(name)] = _TOKEN.findall(rest)
            elif line.startswith("attributes "):
                tokens = line.split(" ", 2)
                self._groups[tokens[1]] = re.findall(r'"[^"]*"(?:="[^"]*")?|[^\s{}=]+', tokens[2])
            elif start == "@" or (start == "d" and line.startswith("declare ")):
                bodies.append((line, []))
            elif start == "d" and line.startswith("define "):
                body = []
                for inner in lines:
                    if inner == "}":
                        break
                    body.append(inner)
                bodies.append((line, body))
        for head, body in bodies:
            self._tokens = [token for token in _TOKEN.findall(head) if token[0] != ";"] + [_END]
            self._at = 0
            if head[0] == "@":
                self._variable()
            else:
                function = self._function(head.startswith("define"))
                self.module.functions[function.name] = function
                if body:
                    self._body(function, body)

    # -- tokens ----------------------------------------------------------------------------------------------

    def _error(self, expected: str) -> PtxlabError:
        here = " ".join(self._tokens[max(0, self._at - 4) : self._at + 4])
        return PtxlabError(f"LLVM IR: {expected} belongs before {quoted(here)}")

    def _next(self) -> str:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _takes(self, text: str) -> bool:
        if self._tokens[self._at] == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise self._error(quoted(text))

    def _skip_parentheses(self) -> list[str]:
        """Skip what is in parentheses, if they come next; returns it."""
        start = self._at
        if self._takes("("):
            depth = 1
            while depth:
                depth += {"(": 1, ")": -1}.get(self._next(), 0)
        return self._tokens[start + 1 : self._at - 1]

    def _number(self) -> int:
        in_parentheses = self._takes("(")
        number = int(self._next())
        if in_parentheses:
            self._expect(")")
        return number

    # -- types and values ------------------------------------------------------------------------------------

    def _is_type(self) -> bool:
        token = self._tokens[self._at]
        if token[0] == "%":
            return _name(token) in self._types
        return token[0] in "[{<" or _TYPE.fullmatch(token) is not None

    def _type(self) -> Type:
        """A type; what a named one stands for is read where it is first used."""
        token = self._next()
        known = self._known.get(token)
        if known is not None:
            return known
        if token == "ptr":
            space = 0
            if self._takes("addrspace"):
                space = self._number()
            return Type("ptr", space)
        if token in ("[", "<") and self._tokens[self._at] != "{":
            count = int(self._next())
            self._expect("x")
            kind = Type("array" if token == "[" else "vector", count, (self._type(),))
            self._expect("]" if token == "[" else ">")
            return kind
        if token in ("{", "<"):
            packed = token == "<"
            if packed:
                self._expect("{")
            elements = []
            while not self._takes("}"):
                elements.append(self._type())
                self._takes(",")
            if packed:
                self._expect(">")
            return Type("struct", 0, tuple(elements), packed)
        if token[0] == "%":
            tokens, at = self._tokens, self._at
            self._tokens, self._at = [*self._types.get(_name(token), ["opaque"]), _END], 0
            kind = self._type()
            self._tokens, self._at = tokens, at
        elif token[0] == "i" and token[1:].isdigit():
            kind = Type("int", int(token[1:]))
        elif token in ("void", "label", "metadata", "token", "opaque", *FLOAT_BITS):
            kind = Type(token)
        else:
            self._at -= 1
            raise self._error("a type that NVPTX has")
        self._known[token] = kind
        return kind

    def _attributes(self) -> dict[str, object]:
        """Read attributes, up to the next type or value."""
        attributes: dict[str, object] = {}
        while not self._is_type():
            word = self._tokens[self._at]
            if word in _VALUES or not (word[0].isalpha() or word[0] == '"') or word.startswith('c"'):
                break
            self._at += 1
            if word in ("byval", "sret", "byref", "elementtype"):
                self._expect("(")
                attributes[word] = self._type()
                self._expect(")")
            elif word in _NUMBERED:
                attributes[word] = self._number()
            else:
                attributes[word.strip('"')] = self._skip_parentheses()
                if self._takes("="):
                    self._next()
        return attributes

    def _typed(self) -> Value:
        """Read a type and a value."""
        kind = self._type()
        return self._value(kind)

    def _value(self, kind: Type) -> Value:
        """A value of this type: a name, a constant, a constant expression or metadata."""
        token = self._next()
        first = token[0]
        if first == "%":
            return Local(kind, _name(token))
        if first == "@":
            return Global(kind, _name(token))
        if kind.kind == "metadata":
            if self._tokens[self._at] == "(":
                self._skip_parentheses()
            elif first == "!" and self._takes("{"):
                while self._next() != "}":
                    pass
            elif first != "!":
                self._at -= 1
                self._typed()
            return Metadata(token)
        if token in ("null", "zeroinitializer", "none"):
            return Constant(kind, None)
        if token in ("undef", "poison"):
            return Constant(kind, None, undefined=True)
        if kind.kind in FLOAT_BITS:
            if first.isdigit() or first == "-":
                return Constant(kind, float_bits(token, kind.kind))
        elif token in ("true", "false"):
            return Constant(kind, int(token == "true"))
        elif first.isdigit() or first == "-":
            return Constant(kind, int(token) & (1 << kind.count) - 1)
        if token.startswith('c"'):
            content = unescaped(token[2:-1])
            return Constant(kind, tuple(Constant(kind.elements[0], byte) for byte in content))
        if token in ("[", "{", "<"):
            packed = token == "<" and self._takes("{")
            items = []
            while self._tokens[self._at] not in ("]", "}", ">"):
                items.append(self._typed())
                self._takes(",")
            self._at += 2 if packed else 1
            return Constant(kind, tuple(items))
        if token == "splat":
            self._expect("(")
            item = self._typed()
            self._expect(")")
            return Constant(kind, (item,) * kind.count)
        if token in _EXPRESSIONS:
            expression = Instruction(token, kind)
            while not self._takes("("):
                if self._next() == "inrange":
                    self._skip_parentheses()
            while not self._takes(")"):
                if self._takes("to"):
                    self._type()
                    continue
                inner = self._type()
                if self._takes(","):  # a type alone: what the address is of
                    expression.source = inner
                else:
                    expression.arguments.append(self._value(inner))
                    self._takes(",")
            return expression
        self._at -= 1
        raise self._error("a value")

    # -- the module ------------------------------------------------------------------------------------------

    def _variable(self) -> None:
        name = _name(self._next())
        self._expect("=")
        words, space = set(), 0
        while self._tokens[self._at] not in ("global", "constant"):
            word = self._next()
            if word == "alias":
                raise PtxlabError(f"LLVM IR: @{name} is an alias, which is not translated")
            if word == "addrspace":
                space = self._number()
            words.add(word)
        words.add(self._next())
        kind = self._type()
        value = None
        if self._tokens[self._at] not in (",", _END):
            value = self._value(kind)
        align = 0
        while self._takes(","):
            word = self._next()
            if word == "align":
                align = self._number()
            elif word == "section":
                words.add(self._next())
            elif self._tokens[self._at] not in (",", _END):
                self._next()
        self.module.variables[name] = Variable(name, kind, space, value, align, frozenset(words))

    def _function(self, defined: bool) -> Function:
        self._next()
        words = set()
        while not self._is_type():
            word = self._next()
            words.add(word)
            if word == "align":
                self._number()
            elif self._tokens[self._at] == "(":
                self._skip_parentheses()
        returns = self._type()
        name = _name(self._next())
        self._expect("(")
        parameters: list[tuple[Type, dict[str, object], str]] = []
        while not self._takes(")"):
            if self._takes("..."):
                words.add("...")
                continue
            kind = self._type()
            attributes = self._attributes()
            token = self._tokens[self._at]
            parameters.append((kind, attributes, _name(self._next()) if token[0] == "%" else ""))
            self._takes(",")
        values: dict[str, str] = {}
        location = ""
        while self._tokens[self._at] not in ("{", _END):
            token = self._next()
            if token[0] == "#":
                for word in self._groups.get(token, []):
                    key, _, value = word.partition("=")
                    values[key.strip('"')] = value.strip('"')
            elif token == "!dbg":
                location = self._next()
        if not defined:
            words.add("declare")
        return Function(name, returns, parameters, frozenset(words), values, location=location)

    def _body(self, function: Function, lines: list[str]) -> None:
        """Read the blocks of a function; the first has the number after the parameters, if it has no name."""
        statements: list[list[str]] = []
        in_switch = False
        for line in lines:
            tokens = [token for token in _TOKEN.findall(line) if token[0] != ";"]
            if not tokens or line.lstrip().startswith("#dbg"):
                continue
            if in_switch:
                statements[-1] += tokens
            else:
                statements.append(tokens)
            in_switch = tokens[-1] == "[" or (in_switch and tokens[0] != "]")
        unnamed = [name for *_, name in function.parameters if name.isdigit()]
        block = Block(str(len(unnamed)))
        for tokens in statements:
            self._tokens, self._at = [*tokens, _END, _END], 0
            if tokens[1:2] == [":"]:
                block = Block(_name("%" + tokens[0]))
                continue
            if not function.blocks or function.blocks[-1] is not block:
                function.blocks.append(block)
            name = ""
            if tokens[1:2] == ["="]:
                name = _name(tokens[0])
                self._at = 2
            instruction = self._instruction()
            instruction.name = name
            block.instructions.append(instruction)

    # -- instructions ----------------------------------------------------------------------------------------

    def _words(self) -> set[str]:
        """Read flags, up to the next type."""
        words = set()
        while not self._is_type():
            words.add(self._next())
            if self._tokens[self._at] == "(":
                self._skip_parentheses()
        return words

    def _instruction(self) -> Instruction:
        """An instruction without its result. LLVM Language Reference Manual, "Instruction Reference"."""
        op = self._next()
        if op in ("call", "tail", "musttail", "notail"):
            if op != "call":
                self._expect("call")
            instruction = self._call()
            self._operands(instruction)
            return instruction
        if op not in _CASTS | _BINARY | _OTHERS:
            self._at -= 1
            raise self._error("an instruction that is translated")
        instruction = Instruction(op, VOID)
        self._operands(instruction)
        kinds = [argument.type for argument in instruction.arguments]
        if op in ("icmp", "fcmp"):
            words = {word for word in instruction.words if word[0] != "!"}
            instruction.predicate = min(words - _FLAGS)
            flag = Type("int", 1)
            instruction.type = Type("vector", kinds[0].count, (flag,)) if kinds[0].kind == "vector" else flag
        elif op in _BINARY or op in ("fneg", "freeze", "insertelement", "insertvalue", "phi"):
            instruction.type = kinds[0]
        elif op == "select":
            instruction.type = kinds[1]
        elif op == "extractelement":
            instruction.type = kinds[0].elements[0]
        elif op == "extractvalue":
            instruction.type = kinds[0]
            for index in instruction.indices:
                instruction.type = instruction.type.element(index)
        elif op == "shufflevector":
            mask = instruction.arguments.pop()
            assert isinstance(mask, Constant)
            items = mask.value if isinstance(mask.value, tuple) else (mask,) * mask.type.count
            instruction.indices = tuple(int(getattr(item, "value", 0) or 0) for item in items)
            instruction.type = Type("vector", mask.type.count, kinds[0].elements)
        elif op == "load":
            instruction.type = instruction.source
        elif op == "getelementptr":
            vectors = [kind for kind in kinds if kind.kind == "vector"]
            instruction.type = Type("vector", vectors[0].count, (Type("ptr"),)) if vectors else kinds[0]
        elif op == "alloca" and instruction.type.kind == "void":
            instruction.type = Type("ptr")
        return instruction

    def _operands(self, instruction: Instruction) -> None:
        """Read what follows an opcode, up to the next instruction: one grammar serves them all.

        Values have their type before them, or that of the value before; a type alone is the one that the
        instruction reads from memory or reserves.
        """
        op, kind, words = instruction.op, VOID, set(instruction.words)
        while (token := self._tokens[self._at]) != _END:
            if token[0] == "!":
                self._at += 1
                words.add(token)
                if self._takes("!"):
                    while self._next() != "}":
                        pass
                elif token == "!dbg":
                    instruction.location = self._next()
                else:
                    self._at += 1
            elif op == "phi" and kind != VOID and token == "[":
                self._at += 1
                instruction.arguments.append(self._value(kind))
                self._expect(",")
                instruction.labels.append(_name(self._next()))
                self._expect("]")
            elif token in (",", "]") or (token == "[" and op == "switch"):
                self._at += 1
            elif op in _BINARY and kind != VOID:
                instruction.arguments.append(self._value(kind))
            elif token == "[" and op == "call":  # operand bundles
                while self._next() != "]":
                    pass
            elif token == "label":
                self._at += 1
                instruction.labels.append(_name(self._next()))
            elif self._is_type():
                kind = self._type()
                if self._tokens[self._at] in (",", _END) or op == "phi":
                    instruction.source = kind
                else:
                    instruction.arguments.append(self._value(kind))
            elif token.isdigit():
                self._at += 1
                instruction.indices += (int(token),)
            elif self._takes("to"):
                instruction.type = self._type()
            elif self._takes("align"):
                instruction.align = self._number()
            elif self._takes("addrspace"):
                instruction.type = Type("ptr", self._number())
            else:
                self._at += 1
                words.add(token)
                self._skip_parentheses()
        instruction.words = frozenset(words)

    def _call(self) -> Instruction:
        words = self._words()
        instruction = Instruction("call", self._type(), words=frozenset(words))
        if self._tokens[self._at] == "(":  # the types of the parameters
            self._skip_parentheses()
        token = self._tokens[self._at]
        if token == "asm":
            while not self._tokens[self._at].startswith('"'):
                self._next()
            text = unescaped(self._next()[1:-1]).decode("utf-8", "replace")
            self._expect(",")
            instruction.callee = Assembly(text, self._next()[1:-1])
        else:
            instruction.callee = self._value(Type("ptr"))
        self._expect("(")
        while not self._takes(")"):
            kind = self._type()
            instruction.attributes.append(self._attributes() if kind.kind != "metadata" else {})
            instruction.arguments.append(self._value(kind))
            self._takes(",")
        return instruction


def read_ir(text: str) -> Module:
    """The module that an IR text describes."""
    return Reader(text).module
