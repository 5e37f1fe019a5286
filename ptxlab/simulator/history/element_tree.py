"""The tree of one element of a launch: its operations with their values, and what each of them loses.

A launch is simulated twice more for it: once to keep all histories, from which the element's are picked
from its result backwards, and once to see the values that those have.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import PtxlabError
from ...isa.dtypes import dtype
from ...isa.operation import Operation
from ...numerics.steps import Number, add_up, multiply, number, result_lsb
from .hashing import constant_of, leaves
from .histories import Record, SeenValues
from .run import Run

_MAX_RECORDED = 1 << 31  # bytes of histories of one launch
_TYPES = {"f32", "f16", "bf16", "f64", "s32", "u32", "e4m3", "e5m2"}
#: Instructions whose results are sums, by the position of what has been added before.
_SUMS = {"fma": 2, "mad": 2, "matrix": 0}


@dataclass(frozen=True)
class TreeNode:
    """An operation of a tree: an instruction, what it takes, and the type of its result."""

    opcode: str
    kind: str
    where: str
    line: int
    type: str
    operands: tuple[int, ...]  # histories; of a matrix product C, then the factors of each product
    step: int = 0  # products that a tensor core adds at once

    @property
    def is_sum(self) -> bool:
        """Whether it adds floats or integers."""
        return self.kind in ("add", "sub", "fma", "mad", "matrix", "atomic")


class ElementTree:
    """The operations that make one element, in the order in which they are executed.

    `root` is the element's history; `names` rename the arguments.
    """

    def __init__(self, run: Run, root: int, names: dict[str, str] | None = None) -> None:
        names = names or {}
        self.title, self.model, self.root = run.title, run.model, root
        self._run, self._names = run, names
        records: list[Record] = []
        run.traced(names, records)
        if sum(record.made.nbytes for record in records) > _MAX_RECORDED:
            raise PtxlabError(f"{run.title}: its histories take more than 2 GiB; compare a smaller launch")
        wanted = {root}
        nodes: dict[int, TreeNode] = {}
        for record in reversed(records):
            made: list[int] = record.made.reshape(-1).tolist()
            hits = {history: hit for hit, history in enumerate(made) if history in wanted}
            if hits:
                line = record.instruction.where, record.instruction.source_line
                nodes |= {history: _node(record, hit, line) for history, hit in hits.items()}
                operands = {operand for history in hits for operand in nodes[history].operands}
                wanted = (wanted | operands - nodes.keys()) - hits.keys()
        self.nodes = dict(reversed(nodes.items()))
        self.leaves: dict[int, str] = {}
        self._leaf_values: dict[int, Number] = {}
        for name, array in run.arrays.items():
            size = array.itemsize if array.itemsize in (1, 2, 4, 8) else 1
            index = int(name) if name.isdecimal() else 0
            with np.errstate(all="ignore"):
                hashes = leaves(names.get(name, name), array.nbytes // size, run.rows.get(index))
            found = np.flatnonzero(np.isin(hashes, np.fromiter(wanted, np.uint64, len(wanted))))
            title = f"argument {names.get(name, name)}"
            for place in found.tolist():
                self.leaves[int(hashes[place])] = f"{title}[{place}]"
                if size == array.itemsize and array.dtype.kind in "fiu" and array.dtype.name != "uint16":
                    self._leaf_values[int(hashes[place])] = _exactly(array.reshape(-1)[place])

    # -- values ------------------------------------------------------------------------------------------

    @cached_property
    def _seen(self) -> SeenValues:
        wanted = np.array(sorted({self.root, *self.nodes, *self.leaves}), dtype=np.uint64)
        seen = SeenValues(wanted, frozenset(h for h, node in self.nodes.items() if node.kind == "matrix"))
        _, after, _ = self._run.traced(self._names, seen=seen)
        reduction = self._run.reduction(names=self._names)
        hits = np.flatnonzero(reduction.fingerprints.reshape(-1) == np.uint64(self.root))
        if len(hits):
            array = after[reduction.output].reshape(-1)
            word = array[hits[0] : hits[0] + 1].view(f"u{array.itemsize}")
            seen.bits[self.root] = int(word[0])
        return seen

    @cached_property
    def _result_types(self) -> dict[int, str]:
        """The types of leaves and constants, by what takes them."""
        types: dict[int, str] = {}
        for history, node in self.nodes.items():
            taken = node.opcode.rsplit(".", 1)[-1] if node.kind == "cvt" else node.type
            if history in self._seen.operations:
                form = self._seen.operations[history][0].ins
                before, *factors = node.operands
                types.setdefault(before, form.c_type)
                for place, factor in enumerate(factors):
                    types.setdefault(factor, form.b_type if place % 2 else form.a_type)
            else:
                types |= {operand: taken for operand in node.operands if operand not in types}
        return types

    def operation(self, history: int) -> tuple[Operation, int, int] | None:
        """What the matrix instruction of a node reads, and the row and column of D; None for others."""
        return self._seen.operations.get(history)

    def value(self, history: int) -> Number | None:
        """The value of a node, a leaf or a constant; None if it was not seen."""
        if history in self._leaf_values:
            return self._leaf_values[history]
        node = self.nodes.get(history)
        type_name = node.type if node is not None else self._result_types.get(history, "")
        bits = self._seen.bits.get(history)
        if bits is None:
            bits = constant_of(history)
        if bits is None or type_name not in _TYPES:
            return None
        return number(bits & (1 << dtype(type_name).bits) - 1, type_name)

    def name(self, history: int) -> str:
        """What an operand is: an element of an argument, an instruction of a line, or a constant."""
        if history in self.leaves:
            return self.leaves[history]
        if history in self.nodes:
            node = self.nodes[history]
            return f"{node.kind if node.kind != 'matrix' else node.opcode.split('.')[0]} of line {node.line}"
        constant = constant_of(history)
        return "a value" if constant is None else _constant(constant, self._result_types.get(history, ""))

    # -- rounding ----------------------------------------------------------------------------------------

    @cached_property
    def exact(self) -> dict[int, Number]:
        """What each node would be without any rounding in its sums and products, from the leaves on."""
        exact: dict[int, Number] = {}

        def of(history: int) -> Number:
            value = exact.get(history)
            if value is None:
                value = self.value(history)
            return float("nan") if value is None else value

        for history, node in self.nodes.items():
            value = _evaluated(node, [of(operand) for operand in node.operands])
            if value is None:  # not a sum or a product: what it gives counts as exact
                value = self.value(history)
            exact[history] = float("nan") if value is None else value
        return exact

    def rounded(self, history: int) -> Fraction | None:
        """What an operation adds to the exact result on its operands; None where that is not known."""
        node, value = self.nodes[history], self.value(history)
        found = [self.value(operand) for operand in node.operands]
        if value is None or any(operand is None for operand in found):
            return None
        result = _evaluated(node, [operand for operand in found if operand is not None])
        if not isinstance(value, Fraction) or not isinstance(result, Fraction):
            return None
        return value - result

    def unit(self) -> Fraction | None:
        """The last place of the element, in which errors are given; None for integers and zeros."""
        node, value = self.nodes.get(self.root), self.value(self.root)
        if node is None or node.type not in _TYPES or not isinstance(value, Fraction):
            return None
        kind = dtype(node.type)
        last = result_lsb(value, kind, kind.fraction_bits) if kind.is_float else None
        return None if last is None else Fraction(2) ** last

    # -- sums --------------------------------------------------------------------------------------------

    def path(self, history: int) -> list[int]:
        """The nodes from one to the root, each an operand of the next."""
        users: dict[int, int] = {}
        for other, node in self.nodes.items():
            for operand in node.operands:
                users.setdefault(operand, other)
        path = [history]
        while path[-1] != self.root and path[-1] in users:
            path.append(users[path[-1]])
        return path

    def terms(self) -> list[Fraction]:
        """The exact terms of the element's sum, in the order in which they are added; empty if unknown."""
        terms: list[Fraction] = []
        pending: list[tuple[int | Fraction, int]] = [(self.root, 1)]  # what comes first is last
        while pending:
            history, sign = pending.pop()
            node = None if isinstance(history, Fraction) else self.nodes.get(history)
            if node is not None and node.kind in ("cvt", "neg") and node.operands:
                pending.append((node.operands[0], -sign if node.kind == "neg" else sign))
            elif node is not None and node.kind in ("add", "sub"):
                one, other = node.operands[:2]
                pending += [(other, -sign if node.kind == "sub" else sign), (one, sign)]
            elif node is not None and node.kind in _SUMS:
                place = _SUMS[node.kind]
                factors = [self.value(operand) for operand in node.operands]
                del factors[place]
                products = [multiply(one, other) for one, other in _pairs(factors)]
                pending += [
                    (product, sign) for product in reversed(products) if isinstance(product, Fraction)
                ]
                pending.append((node.operands[place], sign))
                if not all(isinstance(product, Fraction) for product in products):
                    return []
            else:
                value = history if isinstance(history, Fraction) else self._exactly(history)
                if not isinstance(value, Fraction):
                    return []
                if value:
                    terms.append(sign * value)
        return terms

    def _exactly(self, history: int) -> Number | None:
        return self.exact.get(history, self.value(history))

    @cached_property
    def counts(self) -> Counter[str]:
        """How many operations of each kind."""
        return Counter(node.opcode for node in self.nodes.values())

    @cached_property
    def depth(self) -> int:
        """How many operations follow each other at most."""
        depths: dict[int, int] = {}
        for history, node in self.nodes.items():
            depths[history] = 1 + max((depths.get(operand, 0) for operand in node.operands), default=0)
        return max(depths.values(), default=0)

    @cached_property
    def order(self) -> str:
        """In which order and groups the element is summed, in words."""
        if self.shape.kind == "mixed" and self.shape.count > len(self.leaves) > 0:
            return f"{len(self.leaves):,} numbers, some of them often"  # a mean, in every deviation from it
        return str(self.shape)

    @cached_property
    def shape(self) -> Shape:
        """The same as data."""
        shapes: dict[int, Shape] = {}
        for history, node in self.nodes.items():
            if constant_of(history) is None:
                operands = [shapes.get(operand) or self._leaf_shape(operand) for operand in node.operands]
                shapes[history] = _shape(node, operands)
        return shapes.get(self.root, Shape("terms", 1))

    def _leaf_shape(self, history: int) -> Shape:
        return Shape("nothing" if constant_of(history) == 0 else "terms", 1)


@dataclass(frozen=True)
class Shape:
    """How terms are summed: `count` of something, one after another, in pairs, or as they arrive."""

    kind: str  # "nothing", "terms", "chain", "steps", "pairs", "runs", "arriving", or "mixed"
    count: int = 1
    inner: Shape | None = None
    step: int = 1

    @property
    def size(self) -> int:
        """Terms in all."""
        if self.kind == "nothing":
            return 0
        inner = self.inner.size if self.inner is not None else self.step
        return self.count * inner

    def __str__(self) -> str:
        if self.kind == "nothing":
            return "nothing"
        if self.inner is None:
            if self.kind == "steps":
                steps = f"{self.count:,} steps" if self.count > 1 else "one step"
                return f"{self.size:,} products in {steps} of {self.step}"
            if self.kind == "mixed":
                return f"{self.count:,} terms"
            return f"{self.count:,} terms one after another" if self.count > 1 else "one term"
        way = {"pairs": "in pairs", "runs": "one after another", "arriving": "as they arrive"}[self.kind]
        return f"{self.count:,} sums {way}, each of {self.inner}"


def _shape(node: TreeNode, operands: list[Shape]) -> Shape:
    """How an operation sums, from how its operands are summed."""
    if node.kind == "matrix":
        before, step = operands[0], node.step
        count = -(-((len(operands) - 1) // 2) // step)
        if before.kind == "nothing":
            return Shape("steps", count, step=step)
        if before.kind == "steps" and before.step == step and before.inner is None:
            return Shape("steps", before.count + count, step=step)
        return Shape("mixed", before.size + count * step)
    if node.kind in _SUMS and len(operands) == 3:  # a sum may be rescaled, and then is a factor
        factors = _factor(operands[:2])
        one, other = sorted((operands[2], factors), key=lambda shape: shape.size, reverse=True)
        return _followed(one, other)
    if node.kind in ("add", "sub") and len(operands) == 2:
        one, other = sorted(operands, key=lambda shape: shape.size, reverse=True)
        return _followed(one, other)
    if node.kind == "atomic":
        before, *terms = operands
        some = terms[0] if terms else Shape("terms")
        if before.kind == "arriving" and before.inner == some:
            return Shape("arriving", before.count + len(terms), some)
        return Shape("arriving", len(terms) + (before == some), some) if terms else before
    if node.kind in ("cvt", "neg", "mul", "div", "mov") and operands:
        return _factor(operands)
    return Shape("terms")


def _factor(operands: list[Shape]) -> Shape:
    """The sum among the factors of a product; nothing if one is 0."""
    nothing = next((shape for shape in operands if shape.kind == "nothing"), None)
    return nothing or max(operands, key=lambda shape: shape.size)


def _followed(before: Shape, after: Shape) -> Shape:
    """A sum and what is added to it."""
    if "nothing" in (before.kind, after.kind):
        return before if after.kind == "nothing" else after
    if after.kind == "terms" and before.kind in ("terms", "chain") and before.inner is None:
        return Shape("chain", before.count + 1)
    if before == after:
        inner, count = (before.inner, 2 * before.count) if before.kind == "pairs" else (before, 2)
        return Shape("pairs", count, inner)
    if (
        before.kind in ("runs", "pairs")
        and before.inner == after
        and (before.kind == "runs" or before.count == 2)
    ):
        return Shape("runs", before.count + 1, after)
    return Shape("mixed", before.size + after.size)


def _node(record: Record, hit: int, line: tuple[str, int]) -> TreeNode:
    """One result of a record as an operation."""
    instruction = record.instruction
    opcode = instruction.opcode
    if record.kind == "fma" and instruction.parts[0] != "fma":
        opcode = f"fma for {opcode}"
    elif record.kind == "neg":
        opcode = f"neg.{record.type}"
    step = len(record.groups[0]) if record.groups else 0
    return TreeNode(opcode, record.kind, *line, record.type, tuple(_operands(record, hit)), step)


def _operands(record: Record, hit: int) -> list[int]:
    """The histories that one result of a record is made of."""
    if record.kind == "matrix":
        left, right, c = record.operands
        warp, row, column = np.unravel_index(hit, record.made.shape)
        pairs = np.stack([left[warp, row], right[warp, :, column][: left.shape[2]]], axis=-1)
        return [int(c[warp, row, column]), *pairs.reshape(-1).tolist()]
    if record.kind == "atomic":
        old, term, which = record.operands
        return [int(old[hit]), *term[which == hit].tolist()]
    lanes = np.shape(record.made)
    return [int(np.broadcast_to(operand, lanes).flat[hit]) for operand in record.operands]


def _evaluated(node: TreeNode, values: list[Number]) -> Number | None:
    """What a sum or a product of floats is without rounding; None for other operations."""
    if node.type[:1] not in ("f", "b", "s", "u", "e"):
        return None
    if node.kind == "matrix":
        pairs = zip(values[1::2], values[2::2], strict=True)
        return add_up([values[0], *(multiply(one, other) for one, other in pairs)])
    if node.kind in ("fma", "mad") and len(values) == 3:
        return add_up([multiply(values[0], values[1]), values[2]])
    if (node.kind == "add" and len(values) == 2) or (node.kind == "atomic" and ".add" in node.opcode):
        return add_up(values)
    if node.kind == "sub" and len(values) == 2:
        return add_up([values[0], multiply(values[1], Fraction(-1))])
    if node.kind == "mul" and len(values) == 2 and "hi" not in node.opcode:
        return multiply(*values)
    if node.kind == "div" and len(values) == 2 and values[1] and "approx" not in node.opcode:
        return _quotient(*values)
    if node.kind == "neg" and values:
        return multiply(values[0], Fraction(-1))
    if node.kind == "cvt" and values and node.type in _TYPES and dtype(node.type).is_float:
        return values[0]
    return None


def _quotient(one: Number, other: Number) -> Number:
    known = isinstance(one, Fraction) and isinstance(other, Fraction)
    return one / other if known else float("nan")


def _pairs(values: list[Number | None]) -> list[tuple[Number, Number]]:
    """Neighbours; what is not known is NaN."""
    known = [float("nan") if value is None else value for value in values]
    return list(zip(known[::2], known[1::2], strict=True))


def _exactly(value: Any) -> Number:
    return Fraction(value.item()) if np.isfinite(value) else float(value)


def _constant(bits: int, type_name: str) -> str:
    if type_name in _TYPES:
        return f"{float(number(bits & (1 << dtype(type_name).bits) - 1, type_name)):.9g}"
    return str(bits)
