"""The text of a function: blocks of instructions, copies that need no instruction, lines of the source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .ir_reader import fields_of
from .ir_syntax import Type

CLASS_TYPES = {"p": "pred", "rs": "b16", "r": "b32", "rd": "b64", "rq": "b128", "f": "f32", "fd": "f64"}
CLASS_BITS = {"p": 1, "rs": 16, "r": 32, "rd": 64, "rq": 128, "f": 32, "fd": 64}
_REGISTER = re.compile(r"%(rs|rd|rq|r|fd|f|p)(\d+)\b")
#: Instructions that are left out if nothing reads their result.
_PURE = re.compile(
    r"(?:mov|cvta?|add|sub|mul|mad|fma|neg|abs|min|max|shl|shr|shf|and|or|xor|not|setp|selp|prmt|ld\.param)\b"
    r"(?!.*(?:\.cc\b|%clock|%globaltimer))"
)


def class_of(leaf: Type) -> str:
    """The class of registers that holds a scalar."""
    if leaf.kind == "int":
        return next(kind for kind, bits in CLASS_BITS.items() if leaf.count <= bits)
    return {"float": "f", "double": "fd", "half": "rs", "bfloat": "rs"}.get(leaf.kind, "rd")


def width_of(leaf: Type) -> int:
    """The bits of the register that holds a scalar."""
    return CLASS_BITS[class_of(leaf)]


@dataclass(eq=False)
class _Line:
    """An instruction; `copy` is the register that it copies, if it is a copy."""

    text: str
    results: frozenset[str]
    location: str
    copy: str = ""
    reads: frozenset[str] = frozenset()

    def find_reads(self) -> None:
        """Note the registers that it reads: all that are in the text, but results that are only written."""
        names = [match[0] for match in _REGISTER.finditer(self.text)]
        tied = self.results if self.text.startswith("// begin") else frozenset()
        self.reads = frozenset(names) - (self.results - tied)


@dataclass
class _Block:
    """A basic block: where to go on under which predicate, and where otherwise (nowhere if it ends)."""

    lines: list[_Line] = field(default_factory=list)
    branches: list[tuple[str, str]] = field(default_factory=list)
    following: str = ""
    location: str = ""

    @property
    def targets(self) -> list[str]:
        """The blocks that follow."""
        return [label for _, label in self.branches] + ([self.following] if self.following else [])


class Text:
    """The files and lines of a module's debug metadata."""

    def __init__(self, metadata: dict[str, str]) -> None:
        self._metadata = metadata
        self._places: dict[str, tuple[int, int, int, str, str] | None] = {}
        self.files: dict[str, int] = {}
        self.names: dict[str, int] = {}

    def place(self, location: str) -> tuple[int, int, int, str, str] | None:
        """File, line, column, the metadata of the call into which it was inlined, and the function's name."""
        if location not in self._places:
            self._places[location] = self._find(location)
        return self._places[location]

    def _find(self, location: str) -> tuple[int, int, int, str, str] | None:
        text = self._metadata.get(location, "")
        if not text.startswith("!DI"):
            return None
        fields = fields_of(text)
        scope = fields.get("scope", "")
        file, name = "", ""
        if text.startswith("!DISubprogram"):
            file, name = fields.get("file", ""), fields.get("name", "")
        while scope in self._metadata and not name:
            outer = fields_of(self._metadata[scope])
            file = file or outer.get("file", "")
            if self._metadata[scope].startswith("!DISubprogram"):
                name = outer.get("linkageName") or outer.get("name", "")
            scope = outer.get("scope", "")
        about = fields_of(self._metadata.get(file, ""))
        path, folder = about.get("filename", "?"), about.get("directory", "")
        if folder and not path.startswith("/"):
            path = f"{folder}/{path}"
        number = self.files.setdefault(path, len(self.files) + 1)
        return (
            number,
            int(fields.get("line", 0)),
            int(fields.get("column", 0)),
            fields.get("inlinedAt", ""),
            name,
        )

    def where(self, location: str) -> str:
        """The outermost line of the source, as an error begins with it."""
        place = self.place(location)
        while place is not None and place[3]:
            place = self.place(place[3])
        if place is None:
            return ""
        path = next(path for path, number in self.files.items() if number == place[0])
        return f"{path.rpartition('/')[2]}, line {place[1]}: "

    def directives(self, location: str, location_of: dict[tuple[int, int, int], str]) -> str:
        """`.loc` of a location, behind those of the calls into which it was inlined."""
        place = self.place(location)
        if place is None or not place[1]:  # without a line, code has that of the code before it
            return ""
        file, line, column, caller, name = place
        text = f"\t.loc\t{file} {line} {column}"
        before = ""
        if caller and (outer := self.place(caller)) is not None:
            if location_of.get(outer[:3]) != caller:
                before = self.directives(caller, location_of)
            label = self.names.setdefault(name, len(self.names))
            text += f", function_name $L__info_string{label}, inlined_at {outer[0]} {outer[1]} {outer[2]}"
        location_of[file, line, column] = location
        return f"{before}{text}\n"

    def footer(self) -> str:
        """The files, and the names of inlined functions."""
        text = "".join(f'\t.file\t{number} "{path}"\n' for path, number in self.files.items())
        if self.names:
            text += "\t.section\t.debug_str\n\t{\n"
            for name, number in self.names.items():
                values = ",".join(str(byte) for byte in [*name.encode(), 0])
                text += f"$L__info_string{number}:\n\t.b8 {values}\n"
            text += "\t}\n"
        return text


class Code:
    """The body of a function that is being written."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0
        self._labels = 0
        self._blocks: dict[str, _Block] = {}
        self._block = _Block()
        self._has_copies = False

    def label(self) -> str:
        """A new label."""
        self._labels += 1
        return f"{self._prefix}{self._labels - 1}"

    def add(self, label: str, after: str = "") -> None:
        """Add a block, at the end or behind another one."""
        if after:
            blocks = list(self._blocks.items())
            position = next(number for number, (name, _) in enumerate(blocks) if name == after)
            blocks.insert(position + 1, (label, _Block()))
            self._blocks = dict(blocks)
        else:
            self._blocks[label] = _Block()

    def enter(self, label: str) -> None:
        """Go on in this block."""
        self._block = self._blocks[label]

    def register(self, kind: str) -> str:
        """A new register of a class."""
        self._count += 1
        return f"%{kind}{self._count}"

    def emit(self, text: str, results: Sequence[str], location: str) -> None:
        """Write an instruction."""
        self._block.lines.append(_Line(text, frozenset(results), location))

    def copy(self, target: str, operand: str, location: str) -> None:
        """Write a copy, which needs no instruction if both can be one register."""
        kind = CLASS_TYPES[_REGISTER.fullmatch(target)[1]]  # type: ignore[index]
        is_register = _REGISTER.fullmatch(operand) is not None
        self._block.lines.append(
            _Line(
                f"mov.{kind} {target}, {operand};",
                frozenset({target}),
                location,
                operand if is_register else "",
            )
        )
        self._has_copies |= is_register

    def copies(self, pairs: Sequence[tuple[str, str]], location: str) -> None:
        """Copy as if at once; a cycle is broken by one more register."""
        waiting = [(target, operand) for target, operand in pairs if target != operand]
        while waiting:
            read = {operand for _, operand in waiting}
            free = [pair for pair in waiting if pair[0] not in read]
            if not free:
                target = waiting[0][0]
                spare = self.register(_REGISTER.fullmatch(target)[1])  # type: ignore[index]
                self.copy(spare, target, location)
                waiting = [
                    (register, spare if operand == target else operand) for register, operand in waiting
                ]
                continue
            for pair in free:
                self.copy(*pair, location)
            waiting = [pair for pair in waiting if pair not in free]

    def leave(self, branches: list[tuple[str, str]], following: str, location: str) -> None:
        """End the block: branches under predicates, and where it goes otherwise."""
        self._block.branches, self._block.following, self._block.location = branches, following, location

    # -- after the last instruction --------------------------------------------------------------------------

    def finish(self, files: Text, declarations: str, start: str) -> str:
        """The text of the body."""
        lines = [line for block in self._blocks.values() for line in block.lines]
        for line in lines:
            line.find_reads()
        self._remove_unused(lines)
        names = self._coalesced() if self._has_copies else {}
        numbers: dict[str, str] = {}
        counts = dict.fromkeys(CLASS_TYPES, 0)

        def renamed(match: re.Match[str]) -> str:
            name = names.get(match[0], match[0])
            if name not in numbers:
                counts[match[1]] += 1
                numbers[name] = f"%{match[1]}{counts[match[1]]}"
            return numbers[name]

        for block in self._blocks.values():
            block.lines = [
                line
                for line in block.lines
                if not line.copy
                or names.get(line.copy, line.copy) != names.get(target := min(line.results), target)
            ]
        self._skip_empty()
        order = list(self._blocks)
        targets = {label for block in self._blocks.values() for label in block.targets}
        text: list[str] = []
        location_of: dict[tuple[int, int, int], str] = {}
        current = start
        if start:
            text.append(files.directives(start, location_of))
        for label, following in zip(order, [*order[1:], ""], strict=True):
            block = self._blocks[label]
            if label in targets:
                text.append(f"{label}:\n")
            written = [(line.text, line.location) for line in block.lines]
            branches, last = block.branches, block.following
            if len(branches) == 1 and branches[0][1] == following and last:
                written.append((f"@!{branches[0][0]} bra {last};", block.location))
                last = following
            else:
                written += [(f"@{predicate} bra {target};", block.location) for predicate, target in branches]
            if last and last != following:
                written.append((f"bra.uni {last};", block.location))
            for line_text, location in written:
                if location and location != current:
                    text.append(files.directives(location, location_of))
                    current = location
                text.append(f"\t{_REGISTER.sub(renamed, line_text)}\n")
        registers = "".join(
            f"\t.reg .{CLASS_TYPES[kind]} \t%{kind}<{count + 1}>;\n"
            for kind, count in counts.items()
            if count
        )
        return f"{{\n{declarations}{registers}{''.join(text)}}}\n"

    def _remove_unused(self, lines: list[_Line]) -> None:
        """Leave out what only makes a result that nothing reads."""
        uses: dict[str, int] = {}
        for line in lines:
            for name in line.reads:
                uses[name] = uses.get(name, 0) + 1
        for block in self._blocks.values():
            for predicate, _ in block.branches:
                uses[predicate] = uses.get(predicate, 0) + 1
        makers: dict[str, list[_Line]] = {}
        for line in lines:
            for name in line.results:
                makers.setdefault(name, []).append(line)
        removed: set[_Line] = set()
        pending = [line for line in lines if _PURE.match(line.text)]
        while pending:
            line = pending.pop()
            if line not in removed and not any(uses.get(name) for name in line.results):
                removed.add(line)
                for name in line.reads:
                    uses[name] -= 1
                    pending += [maker for maker in makers.get(name, ()) if _PURE.match(maker.text)]
        if removed:
            for block in self._blocks.values():
                block.lines = [line for line in block.lines if line not in removed]

    def _coalesced(self) -> dict[str, str]:
        """New names of registers: a copy and its source have one name if they are never needed at a time."""
        copied = [line for block in self._blocks.values() for line in block.lines if line.copy]
        related = {name for line in copied for name in (line.copy, *line.results)}
        bits = {name: 1 << number for number, name in enumerate(related)}

        def mask(names: frozenset[str]) -> int:
            return sum(bits[name] for name in names & related)

        effects = {
            line: (mask(line.reads), mask(line.results))
            for block in self._blocks.values()
            for line in block.lines
        }
        used: dict[str, int] = {}
        killed: dict[str, int] = {}
        for label, block in self._blocks.items():
            read, written = mask(frozenset(predicate for predicate, _ in block.branches)), 0
            for line in reversed(block.lines):
                reads, results = effects[line]
                read = read & ~results | reads
                written |= results
            used[label], killed[label] = read, written
        live = dict.fromkeys(self._blocks, 0)
        changed = True
        order = list(reversed(self._blocks))
        while changed:
            changed = False
            for label in order:
                after = 0
                for target in self._blocks[label].targets:
                    after |= live[target]
                before = used[label] | after & ~killed[label]
                if before != live[label]:
                    live[label], changed = before, True
        conflicts = dict.fromkeys(related, 0)
        for block in self._blocks.values():
            after = mask(frozenset(predicate for predicate, _ in block.branches))
            for target in block.targets:
                after |= live[target]
            for line in reversed(block.lines):
                reads, results = effects[line]
                for name in line.results & related:
                    conflicts[name] |= (after | results) & ~bits[name] & ~bits.get(line.copy, 0)
                after = after & ~results | reads
        parents: dict[str, str] = {}
        members = dict(bits)  # of a class, by its first name

        def first(name: str) -> str:
            while name in parents:
                name = parents[name]
            return name

        everyone = dict(conflicts)  # what the members of a class conflict with
        for line in copied:
            target, source = first(min(line.results)), first(line.copy)
            if target == source or everyone[target] & members[source] or everyone[source] & members[target]:
                continue
            parents[target] = source
            members[source] |= members[target]
            everyone[source] |= everyone[target]
        return {name: first(name) for name in related}

    def _skip_empty(self) -> None:
        """Leave out blocks that only go on to another one."""

        def final(label: str) -> str:
            visited = set()
            while label not in visited:
                visited.add(label)
                block = self._blocks[label]
                if block.lines or block.branches or not block.following:
                    break
                label = block.following
            return label

        for block in self._blocks.values():
            block.branches = [(predicate, final(label)) for predicate, label in block.branches]
            block.following = block.following and final(block.following)
        entry = next(iter(self._blocks))
        targets = {label for block in self._blocks.values() for label in block.targets} | {entry}
        self._blocks = {label: block for label, block in self._blocks.items() if label in targets}
