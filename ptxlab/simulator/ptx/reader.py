"""PTX text -> `Module`. PTX ISA, "Syntax" and "Directives".

What an instruction means is not known here: `legality.py` says whether a target has it, and the builders of
`simulator/instructions/` what it does.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import PurePath

from ..._util.arguments import as_text
from ...errors import PtxlabError, quoted
from .dataflow import open_end
from .source_lines import in_lines_of_use
from .syntax import (
    Address,
    Function,
    Immediate,
    LabelTarget,
    Module,
    Negated,
    OperandList,
    Pair,
    PtxInstruction,
    PtxOperand,
    Register,
    Sink,
    SourceLocation,
    Special,
    Symbol,
    Targets,
    Variable,
    Vector,
    type_bits,
)
from .tokens import ConstantReader, Token, bits_of, string_of

_SPACES = ("reg", "param", "shared", "global", "const", "local")
_LINKAGE = ("visible", "extern", "weak", "common")
#: Scalar video instructions, which are not simulated: their operands may be negated, or bytes and halves of
#: registers.
_VIDEO = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset")
_PART = re.compile(r"\.(b[0-3]|h[01])$")
#: Special registers are words that begin with % and were not declared.
_SPECIAL = re.compile(
    r"%(?:(?:tid|ntid|ctaid|nctaid|clusterid|nclusterid|cluster_ctaid|cluster_nctaid)\.[xyz]|laneid|warpid|nwarpid"
    r"|smid|nsmid|gridid|clock(?:64|_hi)?|globaltimer(?:_lo|_hi)?|lanemask_(?:eq|le|lt|ge|gt)|pm\d|envreg\d+"
    r"|dynamic_smem_size|total_smem_size|aggr_smem_size|reserved_smem_offset_\w+|cluster_ctarank|cluster_nctarank"
    r"|is_explicit_cluster|current_graph_exec)"
)
_MAX_REGISTERS = 1 << 18  # of a function; a module has four times as many
_MAX_BYTES = 1 << 40  # of a variable
_MAX_BLOCKS = 256  # nested `{ }`
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})")
_ALIGNMENTS = frozenset(1 << power for power in range(31))
_HEADER = 1000  # characters in which a compiler names itself
#: Compilers based on LLVM, such as Triton's, note inlined code in a comment after `.loc`, the call nearest to
#: the code first: ``// sum.py:9:4 @[ helper.py:30:2 @[ kernel.py:16:19 ] ]``.
_INLINING_COMMENT = re.compile(r"\d+[ \t]*//[^\n@]*(@\[[^\n]*)")
_INLINED_AT = re.compile(r"@\[ ((?:(?!@\[).)*?):(\d{1,9}):(\d{1,9})", re.ASCII)


def read_ptx(text: str) -> Module:
    """The module that a PTX text describes.

    >>> module = read_ptx('''
    ... .version 8.0
    ... .target sm_90a
    ... .address_size 64
    ... .entry nothing(.param .u64 out) { .reg .b32 %r<2>; mov.u32 %r1, %tid.x; ret; }
    ... ''')
    >>> [instruction.opcode for instruction in module.functions["nothing"].instructions]
    ['mov.u32', 'ret']
    """
    reader = _Reader(as_text(text, "PTX"))
    try:
        return reader.module()
    except RecursionError:
        raise PtxlabError(
            f"PTX line {reader.line}: parentheses or braces are nested too deeply here"
        ) from None


@dataclass
class _Scope:
    """The declarations of a `{ }`; outer names are visible, and may be redeclared."""

    registers: ChainMap[str, Register] = field(default_factory=ChainMap)
    vectors: ChainMap[str, Vector] = field(default_factory=ChainMap)  # of registers, declared with .v2 or .v4
    variables: ChainMap[str, str] = field(default_factory=ChainMap)  # name -> unique name in the function
    labels: ChainMap[str, int] = field(default_factory=ChainMap)
    tables: ChainMap[str, list[str]] = field(default_factory=ChainMap)

    def inner(self) -> _Scope:
        """A new scope inside of this one."""
        return _Scope(*(getattr(self, table.name).new_child() for table in fields(self)))

    def target(self, name: str, line: int) -> LabelTarget:
        """The target of a label; it may be declared after its use."""
        if name not in self.labels:
            raise PtxlabError(f"PTX line {line}: there is no label {name} in the function")
        return LabelTarget(name, self.labels[name])

    def targets(self, table: str, line: int) -> Targets:
        """The labels of a `.branchtargets`."""
        if table not in self.tables:
            raise PtxlabError(f"PTX line {line}: there is no .branchtargets {table} in the function")
        return Targets(tuple(self.target(name, line) for name in self.tables[table]))


@dataclass
class _Body:
    """A function that is being read."""

    scope: _Scope
    registers: list[Register] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    instructions: list[PtxInstruction] = field(default_factory=list)
    scopes: list[_Scope] = field(default_factory=list)  # of each instruction

    def declare(self, scope: _Scope, name: str, type_name: str) -> Register:
        """Declare a register in a scope."""
        register = Register(len(self.registers), name, type_name)
        scope.registers[name] = register
        self.registers.append(register)
        return register


class _Reader(ConstantReader):
    """Reads a module by recursive descent; a method for each construct of PTX."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._files = self._all_files()  # NVRTC declares them at the end of the text
        self._location: SourceLocation | None = None
        self._is_nvvm = "NVIDIA NVVM Compiler" in self._text[:_HEADER]
        self._has_vectors = False  # whether any register is declared as a vector
        self._opcode = ""  # the first part of the opcode of the current instruction
        self._sizes: dict[str, int] = {}  # bytes of an element of each variable
        self._locations: dict[tuple[str, int, int], SourceLocation] = {}
        self._register_count = 0

    @property
    def line(self) -> int:
        """The current line."""
        return self._line(self._tokens[self._at].start)

    # -- module ----------------------------------------------------------------------------------------------

    def _all_files(self) -> dict[int, str]:
        """File names by their number in `.file`."""
        files = {}
        for token, number, name in zip(self._tokens, self._tokens[1:], self._tokens[2:], strict=False):
            if token.text == ".file" and number.kind == "number" and name.kind == "text":
                files[self._literal(number).value] = string_of(name.text)
        return files

    def module(self) -> Module:
        """Read the whole text."""
        version, target, options = (0, 0), "", []
        functions: dict[str, Function] = {}
        variables: dict[str, Variable] = {}
        while self._tokens[self._at].kind != "end":
            token = self._next()
            name = token.text[1:] if token.kind == "directive" else ""
            if name == "version":
                numbers = _VERSION.fullmatch(self._next().text)
                if numbers is None:
                    self._wrong_last("a version such as 8.0")
                version = int(numbers[1]), int(numbers[2])
            elif name == "target":
                target = self._word("a target")
                while self._takes(","):
                    options.append(self._word("a target"))
            elif name == "address_size":
                if self._integer() != 64:
                    self._fail(token.start, "addresses of 32 bits are not supported; .address_size 64 is")
            elif self._debug_directive(name):
                pass
            elif name == "alias":
                alias = self._word("a function")
                self._expect(",")
                aliased = self._word("a function")
                if aliased not in functions:
                    self._wrong_last("a function of the module")
                functions[alias] = replace(functions[aliased], name=alias)
                self._expect(";")
            elif name in ("section", "nv_intermediate_source_section"):
                if name == "section":
                    self._next()
                self._skip_braces()
            elif name in (*_LINKAGE, "entry", "func", "global", "const", "shared"):
                self._at -= 1
                self._definition(functions, variables)
            else:
                self._wrong_last("a directive such as .entry, .func or .global")
        return Module(version, target, functions, variables, "debug" in options)

    def _skip_to(self, end: str) -> None:
        while not self._takes(end):
            self._next()

    def _skip_braces(self) -> None:
        self._expect("{")
        depth = 1
        while depth:
            text = self._next().text
            if text == "{":
                depth += 1
            elif text == "}":
                depth -= 1

    def _debug_directive(self, name: str) -> bool:
        """Read a `.loc`, `.pragma` or `.file`; returns whether the directive is one of these."""
        if name == "loc":
            self._loc()
        elif name == "loc_intermediate":
            for _ in range(3):
                self._integer()
        elif name == "pragma":
            self._skip_to(";")
        elif name == "file":
            self._integer()
            self._next()
            while self._takes(","):
                self._next()
        return name in ("loc", "loc_intermediate", "pragma", "file")

    def _loc(self) -> None:
        """Read the rest of `.loc`: where the next instructions come from."""
        self._location = self._read_location()
        if self._is(",") and self._tokens[self._at + 1].text in ("function_name", "inlined_at"):
            inlined: SourceLocation | None = None
            while self._takes(","):
                attribute = self._word("function_name or inlined_at")
                if attribute == "inlined_at":
                    inlined = self._read_location()
                    inlined = self._locations.get((inlined.file, inlined.line, inlined.column), inlined)
                else:
                    self._word("a label")
                    if self._takes("+"):
                        self._integer()
            self._location = replace(self._location, inlined_at=inlined)
        elif comment := _INLINING_COMMENT.match(self._text, self._tokens[self._at - 1].start):
            outer: SourceLocation | None = None
            for name, line, column in reversed(_INLINED_AT.findall(comment[1])):
                outer = SourceLocation(self._path(name), int(line), int(column), outer)
            self._location = replace(self._location, inlined_at=outer)
        location = self._location
        self._locations[location.file, location.line, location.column] = location

    def _path(self, name: str) -> str:
        """The path in `.file` that ends with this name."""
        return next((path for path in self._files.values() if PurePath(path).name == name), name)

    def _read_location(self) -> SourceLocation:
        """Read a file, a line and a column."""
        file, line, column = self._integer(), self._integer(), self._integer()
        return SourceLocation(self._files.get(file, f"file {file}"), line, column)

    def _definition(self, functions: dict[str, Function], variables: dict[str, Variable]) -> None:
        """Read a function or variables of the module; a definition replaces a declaration."""
        linkage = ""
        while self._tokens[self._at].text[1:] in _LINKAGE and self._tokens[self._at].kind == "directive":
            linkage = self._next().text[1:]
        kind = self._next().text[1:]
        if kind in ("entry", "func"):
            function = replace(self._function(kind == "entry"), linkage=linkage)
            if function.defined or function.name not in functions:
                functions.pop(function.name, None)  # functions are in the order of their definitions
                functions[function.name] = function
        elif kind in _SPACES:
            for variable in self._variables(kind, linkage):
                if variable.name not in variables or variable.defined:
                    variables[variable.name] = variable
        else:
            self._wrong_last("a function or a variable")

    # -- variables -------------------------------------------------------------------------------------------

    def _variables(self, space: str, linkage: str = "") -> list[Variable]:
        """Read what follows a state space, up to and including the semicolon."""
        variables = [self._variable(space, linkage)]
        prefix = variables[0]
        while self._takes(","):
            variables.append(self._declarator(replace(prefix, values=None, count=1, array=False)))
        for variable in variables:
            if variable.count is None and linkage != "extern":
                where = self._tokens[self._at].start
                self._fail(where, f"{variable.name} has no size, which only .extern variables may leave out")
        self._expect(";")
        return variables

    def _variable(self, space: str, linkage: str = "") -> Variable:
        """Read types and attributes, and the first declarator."""
        align, vector, type_name, pointer = 0, 1, "", False
        while self._tokens[self._at].kind == "directive":
            token = self._next()
            name = token.text[1:]
            if name == "align":
                size = self._integer()
                if size not in _ALIGNMENTS:
                    self._wrong_last("a power of two")
                align = align if pointer else size  # after .ptr it is the alignment of the target
            elif name in ("v2", "v4", "v8"):
                vector = int(name[1:])
            elif name == "ptr":
                pointer = True
            elif name in ("global", "shared", "const", "local", "param"):
                pass  # the space of a pointer's target
            elif name in ("surfref", "texref", "samplerref"):
                type_name = "b64"
            elif name == "attribute":
                self._expect("(")
                self._skip_to(")")
            elif type_bits(name) is not None:
                type_name = name
            else:
                self._wrong_last("a type")
        if not type_name:
            self._wrong("a type")
        first = Variable("", space, type_name, align, vector=vector, pointer=pointer, linkage=linkage)
        return self._declarator(first)

    def _declarator(self, prefix: Variable) -> Variable:
        """Read a name with its size and values; the rest comes from the prefix."""
        token = self._tokens[self._at]
        name = self._word("a name")
        count: int | None = 1
        array = False
        while self._takes("["):
            first = not array
            array = True
            if first and self._takes("]"):
                count = None
                continue
            size = self._integer()
            if size < 0 or size * (count or 0) > _MAX_BYTES or not (size or first):
                self._fail(token.start, f"{name} has {quoted(size)} elements, which is no size")
            count = count * size if size and count is not None else None  # [0] means [], as for ptxas
            self._expect("]")
        values: tuple[int | Symbol, ...] | None = None
        if self._takes("="):
            values = tuple(self._initialiser(prefix.type))
            if not values:
                self._fail(token.start, f"{name} has no values between its braces")
            if count is None:
                count = len(values)
            if len(values) > count * prefix.vector:
                self._fail(token.start, f"{name} has more values than elements")
        element = prefix.element_bytes
        if element * (count or 0) > _MAX_BYTES:
            self._fail(token.start, f"{name} has {element * (count or 0)} bytes, which no memory has")
        self._sizes[name] = element
        align = prefix.align or element
        return replace(
            prefix,
            name=name,
            count=count,
            array=array,
            values=values,
            align=align,
            line=self._line(token.start),
        )

    def _initialiser(self, type_name: str) -> list[int | Symbol]:
        """Read the values after ``=``; nested braces are flattened."""
        if self._takes("{"):
            values: list[int | Symbol] = []
            while not self._takes("}"):
                values += self._initialiser(type_name)
                self._takes(",")
            return values
        token = self._tokens[self._at]
        if token.kind == "word" and token.text != "WARP_SZ":
            name = self._next().text
            if name == "generic":
                self._expect("(")
                name = self._word("a variable")
                self._expect(")")
            return [Symbol(name, self._offset())]
        if self._tokens[self._at].kind == "number" and self._tokens[self._at + 1].text == "(":
            mask = self._integer()  # 0xFF00(symbol): bits of its address
            self._expect("(")
            values = [
                replace(value, mask=mask)
                for value in self._initialiser(type_name)
                if isinstance(value, Symbol)
            ]
            self._expect(")")
            return [*values]
        constant = self._constant()
        if constant.type == "int" and type_name[0] == "f":
            self._wrong_last("a float")
        if constant.type != "int" and type_name[0] not in "fb":
            self._wrong_last("a whole number")
        return [bits_of(constant, type_name)]

    # -- functions -------------------------------------------------------------------------------------------

    def _function(self, entry: bool) -> Function:
        """Read what follows `.entry` or `.func`; without a body it is only a declaration."""
        returns = self._parameters()
        name = self._word("the name of a function")
        parameters = self._parameters()
        sized = [*returns, *parameters] if entry else returns
        for parameter in sized:
            if parameter.count is None:
                where = self._tokens[self._at].start
                self._fail(
                    where, f"{parameter.name} has no size, which only parameters of a .func may leave out"
                )
        directives: dict[str, tuple[int, ...]] = {}
        while self._tokens[self._at].kind == "directive":
            directive = self._next().text[1:]
            if directive == "pragma":
                self._skip_to(";")
                continue
            if directive == "attribute":
                self._expect("(")
                self._skip_to(")")
                continue
            numbers = []
            while self._tokens[self._at].kind in ("number", "text"):  # names of languages are texts
                if self._tokens[self._at].kind == "number":
                    numbers.append(self._integer())
                else:
                    self._next()
                self._takes(",")
            directives[directive] = tuple(numbers)
        if self._takes(";"):
            return Function(name, entry, returns, parameters, directives=directives, defined=False)
        body = _Body(_Scope())
        self._location = None
        for parameter in (*returns, *parameters):
            if parameter.space == "reg":
                body.declare(body.scope, parameter.name, parameter.type)
            else:
                body.scope.variables[parameter.name] = parameter.name
        self._expect("{")
        self._body(body)
        instructions = in_lines_of_use(tuple(body.instructions))
        return Function(
            name,
            entry,
            returns=returns,
            parameters=parameters,
            registers=tuple(body.registers),
            variables=tuple(body.variables.values()),
            instructions=instructions,
            directives=directives,
            open_end=open_end(instructions) if self._is_nvvm else None,
        )

    def _parameters(self) -> tuple[Variable, ...]:
        """Read parameters or results in parentheses, if there are any."""
        if not self._takes("("):
            return ()
        parameters: list[Variable] = []
        names: set[str] = set()
        while not self._takes(")"):
            token = self._next()
            if token.text not in (".param", ".reg"):
                self._wrong_last("a parameter")
            parameters.append(self._variable(token.text[1:]))
            if parameters[-1].name in names - {"_"}:  # prototypes use _ for all
                self._fail(token.start, f"the parameter {parameters[-1].name} is there twice")
            names.add(parameters[-1].name)
            self._takes(",")
        return tuple(parameters)

    def _body(self, body: _Body) -> None:
        """Read everything after ``{``, up to and including the matching ``}``."""
        scopes = [body.scope]
        while scopes:
            token, scope = self._tokens[self._at], scopes[-1]
            if token.kind == "word":
                following = self._tokens[self._at + 1].text
                if following == ":":
                    self._at += 2
                    self._label(body, scope, token)
                else:
                    self._instruction(body, scope, None)
            elif token.text == "@":
                self._at += 1
                negated = self._takes("!")
                guard = scope.registers.get(self._word("a predicate"))
                if guard is None:
                    self._wrong_last("a declared predicate")
                self._instruction(body, scope, Negated(guard) if negated else guard)
            elif token.text == "{":
                if len(scopes) == _MAX_BLOCKS:
                    self._fail(token.start, f"more than {_MAX_BLOCKS} blocks are inside each other here")
                self._at += 1
                scopes.append(scope.inner())
            elif token.text == "}":
                self._at += 1
                scopes.pop()
            elif token.kind == "directive":
                self._at += 1
                self._statement(body, scope, token)
            else:
                self._wrong("an instruction")
        body.instructions = [
            self._resolved(instruction, scope)
            for instruction, scope in zip(body.instructions, body.scopes, strict=True)
        ]

    def _statement(self, body: _Body, scope: _Scope, token: Token) -> None:
        """Read what follows a directive in a function."""
        name = token.text[1:]
        if name == "reg":
            self._registers(body, scope)
        elif name in ("shared", "local", "param", "const", "global"):
            for variable in self._variables(name):
                unique = variable.name
                while unique in body.variables:
                    unique += "'"
                scope.variables[variable.name] = unique
                body.variables[unique] = replace(variable, name=unique)
        elif not self._debug_directive(name):
            self._wrong_last("a declaration")

    def _label(self, body: _Body, scope: _Scope, token: Token) -> None:
        """Read what follows ``name:``: targets of branches or calls, or a prototype; else note the label."""
        if self._is(".branchtargets"):
            self._at += 1
            names = [self._word("a label")]
            while self._takes(","):
                names.append(self._word("a label"))
            self._expect(";")
            scope.tables[token.text] = names
        elif self._is(".callprototype"):
            self._at += 1
            self._parameters()
            self._word("_")
            self._parameters()
            self._skip_to(";")
        elif self._is(".calltargets"):
            self._skip_to(";")
        else:
            if token.text in scope.labels.maps[0]:
                self._fail(token.start, f"the label {token.text} is there twice")
            scope.labels[token.text] = len(body.instructions)

    def _registers(self, body: _Body, scope: _Scope) -> None:
        type_name, vector = "", 1
        while self._tokens[self._at].kind == "directive":
            name = self._next().text[1:]
            if name in ("v2", "v4"):
                vector = int(name[1:])
            elif type_bits(name) is not None:
                type_name = name
            else:
                self._wrong_last("a type")
        if not type_name:
            self._wrong("a type")
        while True:
            name = self._word("the name of a register")
            names = [name]
            if self._takes("<"):
                count = self._integer()
                if count < 0:
                    self._wrong_last("a number of registers")
                self._count_registers(body, count * vector)
                names = [f"{name}{number}" for number in range(count)]
                self._expect(">")
            else:
                self._count_registers(body, vector)
            for name in names:
                if vector > 1:
                    self._has_vectors = True
                    scope.vectors[name] = self._vector(body, scope, name, type_name, vector)
                else:
                    body.declare(scope, name, type_name)
            if not self._takes(","):
                break
        self._expect(";")

    def _count_registers(self, body: _Body, count: int) -> None:
        self._register_count += count
        body_count = len(body.registers) + count
        if body_count > _MAX_REGISTERS or self._register_count > 4 * _MAX_REGISTERS:
            self._fail(
                self._tokens[self._at].start,
                f"with these, the function has {body_count} registers, the module {self._register_count}; "
                f"at most {_MAX_REGISTERS} of a function are simulated",
            )

    def _vector(self, body: _Body, scope: _Scope, name: str, type_name: str, count: int) -> Vector:
        """Declare a vector of registers; its elements are .x to .w, or .r, .g, .b, .a."""
        registers = []
        for axis, colour in zip("xyzw"[:count], "rgba", strict=False):
            register = body.declare(scope, f"{name}.{axis}", type_name)
            scope.registers[f"{name}.{colour}"] = register
            registers.append(register)
        return Vector(tuple(registers))

    # -- instructions ----------------------------------------------------------------------------------------

    def _instruction(self, body: _Body, scope: _Scope, guard: Register | Negated | None) -> None:
        token = self._tokens[self._at]
        opcode = self._word("an instruction")
        while self._tokens[self._at].kind == "directive":  # there is a space inside the opcode
            opcode += self._next().text
        self._opcode = opcode.partition(".")[0]
        operands = []
        if not self._is(";"):
            operands.append(self._operand(scope))
            while self._takes(","):
                operands.append(self._operand(scope))
        self._expect(";")
        line = self._line(token.start)
        by_compiler = opcode == "trap" and self._is_made_by_compiler(token.start)
        statements: list[tuple[str, Sequence[PtxOperand]]] = [(opcode, operands)]
        if self._opcode == "call":
            statements = self._call(body, opcode, operands)
        for word, values in statements:
            body.instructions.append(
                PtxInstruction(
                    len(body.instructions), word, tuple(values), line, self._location, guard, by_compiler
                )
            )
            body.scopes.append(scope)

    def _is_made_by_compiler(self, position: int) -> bool:
        """Whether an instruction in the PTX of CUDA C++ is not from `asm`, as the `trap` of `__trap()` is."""
        begins = self._text.rfind("// begin inline asm", 0, position)
        ends = self._text.rfind("// end inline asm", 0, position)
        return self._is_nvvm and begins <= ends

    def _call(
        self, body: _Body, opcode: str, operands: Sequence[PtxOperand]
    ) -> list[tuple[str, Sequence[PtxOperand]]]:
        """A call; registers and numbers among its operands are passed through parameters around it."""
        stores: list[tuple[str, Sequence[PtxOperand]]] = []
        loads: list[tuple[str, Sequence[PtxOperand]]] = []
        call_operands: list[PtxOperand] = []
        for number, operand in enumerate(operands):
            if not isinstance(operand, OperandList):
                call_operands.append(operand)
                continue
            items: list[PtxOperand] = []
            for item in operand.items:
                if isinstance(item, Register):
                    kind = f"b{max(8, type_bits(item.type) or 64)}"
                elif isinstance(item, Immediate) and item.type == "int":
                    kind = "b64"
                else:
                    items.append(item)
                    continue
                parameter = Symbol(f"call'{len(body.variables)}")  # not a valid name in PTX
                body.variables[parameter.name] = Variable(parameter.name, "param", kind, 8)
                items.append(parameter)
                if number == 0:
                    loads.append((f"ld.param.{kind}", (item, Address(parameter))))
                else:
                    stores.append((f"st.param.{kind}", (Address(parameter), item)))
            call_operands.append(OperandList(tuple(items)))
        return [*stores, (opcode, call_operands), *loads]

    def _operand(self, scope: _Scope) -> PtxOperand:
        """An operand: an address, a vector or list, a constant, or a name with its index or parts."""
        token = self._tokens[self._at]
        if token.text == "[":
            return self._address(scope)
        if token.text == "{" or (token.text == "(" and self._opcode == "call"):
            self._at += 1
            end = "}" if token.text == "{" else ")"
            items = []
            while not self._takes(end):
                items.append(self._operand(scope))
                if not self._is(end):
                    self._expect(",")
            return Vector(tuple(items)) if end == "}" else OperandList(tuple(items))
        if token.text == "!" and self._tokens[self._at + 1].kind == "word":
            self._at += 1
            register = scope.registers.get(self._word("a predicate"))
            if register is None:
                self._wrong_last("a declared predicate")
            return Negated(register)
        if self._opcode in _VIDEO:
            self._takes("-")
            register = scope.registers.get(_PART.sub("", self._tokens[self._at].text))
            if register is not None:
                self._at += 1
                return register
        vector = scope.vectors.get(token.text) if self._has_vectors and token.kind == "word" else None
        if vector is not None:
            self._at += 1
            return vector
        if token.text in self._sizes and self._tokens[self._at + 1].text == "[":
            element = self._element(scope)
            if self._opcode in ("mov", "cvta"):
                return element
            return Address(Symbol(element.name), element.offset)
        operand = self._name_or_number(scope)
        if self._takes("|"):
            return Pair(operand, self._name_or_number(scope))
        return operand

    def _name_or_number(self, scope: _Scope) -> Register | Special | Immediate | Symbol | Sink:
        token = self._tokens[self._at]
        if token.kind == "number" or token.text in ("-", "+", "~", "!", "(", "WARP_SZ"):
            return self._constant()
        if token.kind != "word":
            self._wrong("an operand")
        self._at += 1
        if token.text == "_":
            return Sink()
        register = scope.registers.get(token.text)
        if register is not None:
            return register
        if token.text.startswith("%"):
            if _SPECIAL.fullmatch(token.text):
                return Special(token.text)
            self._fail(token.start, f"{token.text} is neither a declared register nor a special one")
        return Symbol(scope.variables.get(token.text, token.text), self._offset())

    def _element(self, scope: _Scope) -> Symbol:
        """Read ``array[3]``: the address of an element."""
        name = self._next().text
        self._expect("[")
        if self._tokens[self._at].kind == "word" and not self._is("WARP_SZ"):
            self._wrong("a constant (an index in a register is not simulated)")
        index = self._choice()
        if not isinstance(index, int):
            self._wrong_last("a whole number")
        self._expect("]")
        return Symbol(scope.variables.get(name, name), index * self._sizes[name])

    def _address(self, scope: _Scope) -> Address:
        self._expect("[")
        base = self._name_or_number(scope)
        if not isinstance(base, Register | Symbol | Immediate):
            self._wrong_last("an address")
        offset = self._offset() if isinstance(base, Register) else 0
        lists: list[Vector] = []
        while self._takes(","):
            item = self._operand(scope)
            lists.append(item if isinstance(item, Vector) else Vector((item,)))
        self._expect("]")
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), base.offset
        return Address(base, offset, lists[0] if lists else None, lists[1] if len(lists) > 1 else None)

    def _resolved(self, instruction: PtxInstruction, scope: _Scope) -> PtxInstruction:
        """The instruction with targets in place of the names of labels and tables."""
        base = instruction.opcode.partition(".")[0]
        if base not in ("bra", "brx"):
            return instruction
        operands = list(instruction.operands)
        operand = operands[-1] if operands else None
        if not isinstance(operand, Symbol):
            raise PtxlabError(f"PTX line {instruction.line}: {instruction.opcode} takes a label")
        resolve = scope.target if base == "bra" else scope.targets
        operands[-1] = resolve(operand.name, instruction.line)
        return replace(instruction, operands=tuple(operands))
