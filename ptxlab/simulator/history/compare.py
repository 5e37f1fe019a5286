"""Two launches that should compute the same: the first element and the first operations that differ."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, counted, listing
from .hashing import leaves
from .histories import Record
from .run import Reduction, Run

_MAX_RECORDED = 1 << 31  # bytes of histories of one launch


@dataclass(frozen=True)
class Operation:
    """A node of a tree: an instruction, its line, and what it takes, in words."""

    opcode: str
    where: str
    operands: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.opcode}({', '.join(self.operands)}) at {self.where}"


@dataclass(frozen=True)
class Tree:
    """The operations that make an element: how many of each, and how many follow each other at most."""

    counts: dict[str, int]
    depth: int
    first: tuple[Operation, ...]  # that the other tree has not, although it has what they take

    def __str__(self) -> str:
        made = [f"{count} {opcode}" for opcode, count in self.counts.items()]
        return f"{listing(made, 6)}, at most {self.depth} one after another"


@dataclass(frozen=True)
class Comparison:
    """Elements with other bits, elements with other trees, and the trees of the first that differs."""

    titles: tuple[str, str]
    elements: int
    other_bits: int
    other_trees: int
    scope: str
    element: tuple[int, ...] | None = None
    values: tuple[str, str] | None = None
    trees: tuple[Tree, Tree] | None = None

    def __repr__(self) -> str:
        one, two = self.titles
        if not self.other_trees:
            ends = {
                "all inputs": "so are the bits for all inputs",
                "this path": "so are the bits for inputs that take the same path",
                "no run": "yet the order of some updates is free, and two runs may differ",
            }
            return f"{one} and {two}: all {counted(self.elements, 'tree')} are equal, {ends[self.scope]}"
        lines = [
            f"{one} and {two}: {self.other_bits} of {counted(self.elements, 'element')} have other bits, "
            f"{self.other_trees} other trees"
        ]
        if self.element is not None and self.values is not None and self.trees is not None:
            lines.append(f"  first at {list(self.element)}: {self.values[0]} and {self.values[1]}")
            for title, tree in zip(self.titles, self.trees, strict=True):
                lines.append(f"  {title}: {tree}")
                lines += [f"    first other operation: {operation}" for operation in tree.first]
        return "\n".join(lines)

    def json(self) -> str:
        """The comparison as JSON."""
        return json.dumps(self, default=lambda value: vars(value), indent=1)


def compare(one: Run, two: Run) -> Comparison:
    """Where two launches that should compute the same part: runs of `Kernel.run` with one shape of output.

    Arrays with the same content are the same argument; others have the number of their argument. The first
    element whose bits differ (or else whose tree does) is followed back through both launches, to the first
    operation of each that the other has not.

    >>> import numpy as np, ptxlab
    >>> x, y = np.array([1, 2 ** -24, 2 ** -24], np.float32), np.zeros(1, np.float32)
    >>> orders = "(x[0] + x[1]) + x[2]", "x[0] + (x[1] + x[2])"
    >>> text = "__global__ void sum(const float* x, float* y) { *y = %s; }"
    >>> ptxlab.compare(*(ptxlab.kernel(text % order).run(1, 1, x, y) for order in orders))
    sum and sum: 1 of 1 element have other bits, 1 other trees
      first at [0]: 1.0 and 1.0000001
      sum: 2 add.f32, at most 2 one after another
        first other operation: add.f32(argument 1[0], argument 1[1]) at ptxlab.cu:1
      sum: 2 add.f32, at most 2 one after another
        first other operation: add.f32(argument 1[1], argument 1[2]) at ptxlab.cu:1
    """
    for run in (one, two):
        if not isinstance(run, Run):
            raise PtxlabError("compare takes two launches, as kernel.run(...) gives them")
    names = (dict[str, str](), _renamed(one, two))
    first, second = (run.reduction(names=new) for run, new in zip((one, two), names, strict=True))
    if first.values.shape != second.values.shape or first.values.dtype != second.values.dtype:
        raise PtxlabError(
            f"the outputs are {first.values.dtype}{list(first.values.shape)} and "
            f"{second.values.dtype}{list(second.values.shape)}: compare takes two of one shape and type"
        )
    bits = _bytes(first) != _bytes(second)
    trees = first.fingerprints.reshape(-1) != second.fingerprints.reshape(-1)
    scopes = {first.scope, second.scope}
    scope = next(name for name in ("no run", "this path", "all inputs") if name in scopes)
    titles = first.title, second.title
    found = Comparison(titles, trees.size, int(bits.sum()), int(trees.sum()), scope)
    places = np.flatnonzero(bits & trees)
    if not len(places):
        places = np.flatnonzero(trees)
    if not len(places):
        return found
    place = int(places[0])
    index = tuple(int(number) for number in np.unravel_index(place, first.values.shape))
    values = str(first.values[index]), str(second.values[index])
    recorded = [
        _History(run, new, int(reduction.fingerprints.reshape(-1)[place]))
        for run, new, reduction in zip((one, two), names, (first, second), strict=True)
    ]
    both = recorded[0].tree(recorded[1]), recorded[1].tree(recorded[0])
    return Comparison(titles, trees.size, found.other_bits, found.other_trees, scope, index, values, both)


def _bytes(reduction: Reduction) -> NDArray[Any]:
    return np.ascontiguousarray(reduction.values).reshape(-1).view(f"V{reduction.values.itemsize}")


def _renamed(one: Run, two: Run) -> dict[str, str]:
    """The names of the second launch's arrays in the first: those of arrays with the same content."""

    def same(left: NDArray[Any], right: NDArray[Any]) -> bool:
        return left.dtype == right.dtype and left.tobytes() == right.tobytes()

    names: dict[str, str] = {}
    for name, array in two.arrays.items():
        if name in one.arrays and same(array, one.arrays[name]):
            continue
        others = [other for other, known in one.arrays.items() if same(array, known)]
        if others:
            names[name] = others[0]
    return names


class _History:
    """The operations of one element's tree, in the order in which they are executed."""

    def __init__(self, run: Run, names: dict[str, str], root: int) -> None:
        records: list[Record] = []
        run.traced(names, records)
        if sum(record.made.nbytes for record in records) > _MAX_RECORDED:
            raise PtxlabError(f"{run.title}: its histories take more than 2 GiB; compare a smaller launch")
        wanted = {root}
        self.nodes: dict[int, tuple[Record, list[int]]] = {}
        for record in reversed(records):
            made = record.made
            hits = np.flatnonzero(np.isin(made, np.fromiter(wanted, np.uint64, len(wanted))))
            for hit in hits.tolist():
                history = int(made.reshape(-1)[hit])
                if history not in self.nodes:
                    operands = _operands(record, hit)
                    self.nodes[history] = record, operands
                    wanted.update(operands)
            wanted.difference_update(self.nodes)
        self.nodes = dict(reversed(self.nodes.items()))
        self.leaves: dict[int, str] = {}
        for name, array in run.arrays.items():
            size = array.itemsize if array.itemsize in (1, 2, 4, 8) else 1
            number = int(name) if name.isdecimal() else 0
            with np.errstate(all="ignore"):
                hashes = leaves(names.get(name, name), array.nbytes // size, run.rows.get(number))
            places = np.flatnonzero(np.isin(hashes, np.fromiter(wanted, np.uint64, len(wanted))))
            title = f"argument {names.get(name, name)}"
            self.leaves |= {int(hashes[place]): f"{title}[{place}]" for place in places.tolist()}

    def tree(self, other: _History) -> Tree:
        """The tree in short, with the first operations that another has not."""
        depths: dict[int, int] = {}
        first: list[Operation] = []
        for history, (record, operands) in self.nodes.items():
            depths[history] = 1 + max((depths.get(operand, 0) for operand in operands), default=0)
            known = all(operand in other.nodes or operand not in self.nodes for operand in operands)
            if known and history not in other.nodes and not first:
                names = [self._name(operand) for operand in operands]
                if len(names) > 4:
                    names = [*names[:3], f"... {len(names) - 3} more"]
                instruction = record.instruction
                opcode = f"fma for {instruction.opcode}" if record.kind == "fma" else instruction.opcode
                first.append(Operation(opcode.removeprefix("fma for fma"), instruction.where, tuple(names)))
        counts = Counter(record.instruction.opcode for record, _ in self.nodes.values())
        return Tree(dict(counts.most_common()), max(depths.values(), default=0), tuple(first))

    def _name(self, history: int) -> str:
        if history in self.leaves:
            return self.leaves[history]
        if history in self.nodes:
            record, _ = self.nodes[history]
            return f"{record.instruction.parts[0]} of line {record.instruction.source_line}"
        return "a value"


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
    lanes = record.made.shape
    return [int(np.broadcast_to(operand, lanes).reshape(-1)[hit]) for operand in record.operands]
