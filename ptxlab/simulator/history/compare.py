"""Two launches that should compute the same: the first element and operation that differ, and why."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_int
from ..._util.display import Displayed
from ...errors import PtxlabError, counted, listing
from ...isa.operation import Operation as MatrixOperation
from ...numerics.steps import Trace
from ...numerics.trace import trace
from .element_tree import ElementTree, TreeNode
from .orders import in_pairs, kahan, one_after_another, promoted
from .run import Reduction, Run

_MAX_TERMS = 1 << 14  # that are added again in other orders
_SHOWN, _ENDS = 400, 8  # operations that a picture of a tree has at most, and at each end of a long way
_UNSAID = frozenset({"sync", "aligned", "row", "col", "mma_async"})
_ROUNDINGS = frozenset({"rz", "rm", "rp", "rna", "rs"})


@dataclass(frozen=True)
class Operation:
    """A node of a tree: an instruction, its line, what it takes, in words, and what it gives."""

    opcode: str
    where: str
    operands: tuple[str, ...]
    result: str = ""

    def __str__(self) -> str:
        result = f" = {self.result}" if self.result else ""
        return f"{self.opcode}({', '.join(self.operands)}){result} at {self.where}"


@dataclass(frozen=True)
class PathStep:
    """An operation between the first that differs and the element: its value and its error so far.

    `error` is its distance from what exact arithmetic gives, in units of the element's last place.
    """

    opcode: str
    where: str
    value: str
    error: float | None


@dataclass(frozen=True)
class DrawnOperation:
    """An operation as a picture shows it, with what it takes; `others` are operands that are not drawn.

    `rounded` is what its own rounding adds, in units of the element's last place.
    """

    title: str
    where: str
    value: str
    rounded: float | None = None
    operands: tuple[DrawnOperation, ...] = ()
    others: int = 0


@dataclass(frozen=True)
class Tree:
    """The operations that make an element: how many of each, and how many follow each other at most.

    `order` says how they sum, `path` leads from the first that the other tree has not to the element.
    `error` is the element's error in units in the last place; `other_orders` has that of the same terms if
    they were added otherwise, in float32.
    """

    counts: dict[str, int]
    depth: int
    first: tuple[Operation, ...]  # that the other tree has not, although it has what they take
    order: str = ""
    path: tuple[PathStep, ...] = ()
    error: float | None = None
    other_orders: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        made = [f"{count} {opcode}" for opcode, count in self.counts.items()]
        return f"{listing(made, 6)}, at most {self.depth} one after another"


Drawn = tuple[DrawnOperation | None, ...]


@dataclass(frozen=True)
class MatrixElement:
    """An element of D of a matrix instruction: what that reads, and the chip's model."""

    operation: MatrixOperation
    row: int
    column: int
    model: str | None


@dataclass(frozen=True)
class Comparison(Displayed):
    """Elements with other bits, elements with other trees, and the trees of the first that differs.

    `causes` are those of "other terms", "contraction", "flush to zero", "approximation", "rounding",
    "precision", "steps of the tensor core", "order of atomic operations", "grouping" and "order of terms"
    that apply. `drawn` has, for each tree, the operations from the first that the other has not to the
    element; None stands for those between. In a notebook they can be opened node by node.
    """

    titles: tuple[str, str]
    elements: int
    other_bits: int
    other_trees: int
    scope: str
    element: tuple[int, ...] | None = None
    values: tuple[str, str] | None = None
    trees: tuple[Tree, Tree] | None = None
    causes: tuple[str, ...] = ()
    drawn: tuple[Drawn, Drawn] | None = field(default=None, repr=False)
    products: tuple[MatrixElement | None, MatrixElement | None] = field(
        default=(None, None), repr=False, compare=False
    )

    @property
    def sentence(self) -> str:
        """Why the bits differ, in one sentence; the proof, if they cannot."""
        one, two = self.titles
        if self.trees is None:
            ends = {
                "all inputs": "so are the bits for all inputs",
                "this path": "so are the bits for inputs that take the same path",
                "no run": "yet the order of some updates is free, and two runs may differ",
            }
            return f"{one} and {two}: all {counted(self.elements, 'tree')} are equal, {ends[self.scope]}"
        if one == two:
            one, two = "the first", "the second"
        first, second = (tree.order for tree in self.trees)
        why = listing(list(self.causes)) if self.causes else "other operations"
        if first == second:
            return f"The trees differ by {why}; both sum {first}."
        return f"The trees differ by {why}: {one} sums {first}, {two} sums {second}."

    def operands(self, side: int = 0) -> MatrixOperation:
        """What the first matrix instruction with another result reads, in launch 0 or 1.

        `.explore()` opens it in the Explorer.
        """
        return self._product(side).operation

    def trace(self, side: int = 0) -> Trace:
        """How that instruction makes its element, bit by bit."""
        product = self._product(side)
        return trace(product.operation, product.row, product.column, model=product.model)

    def _product(self, side: int) -> MatrixElement:
        found = self.products[as_int(side, "side") == 1]
        if found is None:
            raise PtxlabError("the first operation that differs is no matrix instruction; .trees has it")
        return found

    def __repr__(self) -> str:
        if self.element is None or self.values is None or self.trees is None:
            return self.sentence
        one, two = self.titles
        lines = [
            f"{one} and {two}: {self.other_bits} of {counted(self.elements, 'element')} have other bits, "
            f"{self.other_trees} other trees",
            f"  {self.sentence}",
            f"  first at {list(self.element)}: {self.values[0]} and {self.values[1]}",
        ]
        for title, tree in zip(self.titles, self.trees, strict=True):
            error = "" if tree.error is None else f"; error {tree.error:+.3g} units in the last place"
            lines.append(f"  {title}: {tree}{error}")
            lines += [f"    first other operation: {operation}" for operation in tree.first]
            lines += [f"    {line}" for line in _growth(tree)]
        for words, units in self.trees[0].other_orders.items():
            lines.append(f"  added {words}, in float32: error {units:+.3g}")
        return "\n".join(lines)

    def json(self) -> str:
        """The comparison as JSON."""
        fields = {name: value for name, value in vars(self).items() if name not in ("products", "drawn")}
        return json.dumps(fields | {"sentence": self.sentence}, default=vars, indent=1)


def _growth(tree: Tree) -> list[str]:
    """How the error grows from the first operation to the element, in one line."""
    known = [(number, step.error) for number, step in enumerate(tree.path) if step.error is not None]
    if len(known) < 2:
        return []
    shown = known if len(known) <= 5 else [known[round(part * (len(known) - 1) / 4)] for part in range(5)]
    errors = [f"{error:+.3g}" if number else f"{error:+.3g} there" for number, error in shown]
    return [f"error on the way, in units of the result's last place: {', '.join(errors)}"]


def compare(one: Run, two: Run) -> Comparison:
    """Where two launches that should compute the same part: runs of `Kernel.run` with one shape of output.

    Arrays with the same content are the same argument; others have the number of their argument. Where one
    output has more rows than the other, the first rows are compared: the same row in two batches. The first
    element whose bits differ (or else whose tree does) is followed back through both launches, to the first
    operation of each that the other has not.

    >>> import numpy as np, ptxlab
    >>> x, y = np.array([1, 2 ** -24, 2 ** -24], np.float32), np.zeros(1, np.float32)
    >>> orders = "(x[0] + x[1]) + x[2]", "x[0] + (x[1] + x[2])"
    >>> text = "__global__ void sum(const float* x, float* y) { *y = %s; }"
    >>> ptxlab.compare(*(ptxlab.kernel(text % order).run(1, 1, x, y) for order in orders))
    sum and sum: 1 of 1 element have other bits, 1 other trees
      The trees differ by order of terms; both sum 3 terms one after another.
      first at [0]: 1.0 and 1.0000001
      sum: 2 add.f32, at most 2 one after another; error -1 units in the last place
        first other operation: add.f32(argument 1[0], argument 1[1]) = 1 at ptxlab.cu:1
        error on the way, in units of the result's last place: -0.5 there, -1
      sum: 2 add.f32, at most 2 one after another; error +0 units in the last place
        first other operation: add.f32(argument 1[1], argument 1[2]) = 1.1920929e-07 at ptxlab.cu:1
        error on the way, in units of the result's last place: +0 there, +0
    """
    for run in (one, two):
        if not isinstance(run, Run):
            raise PtxlabError("compare takes two launches, as kernel.run(...) gives them")
    names = (dict[str, str](), _renamed(one, two))
    first, second = _common_rows(
        *(run.reduction(names=new) for run, new in zip((one, two), names, strict=True))
    )
    if first.values.shape != second.values.shape or first.values.dtype != second.values.dtype:
        raise PtxlabError(
            f"the outputs are {first.values.dtype}{list(first.values.shape)} and "
            f"{second.values.dtype}{list(second.values.shape)}: compare takes two of one type, with rows of "
            "one shape"
        )
    bits = _bytes(first) != _bytes(second)
    trees = first.fingerprints.reshape(-1) != second.fingerprints.reshape(-1)
    scopes = {first.scope, second.scope}
    scope = next(name for name in ("no run", "this path", "all inputs") if name in scopes)
    titles = first.title, second.title
    counts = trees.size, int(bits.sum()), int(trees.sum()), scope
    places = np.flatnonzero(bits & trees)
    if not len(places):
        places = np.flatnonzero(trees)
    if not len(places):
        return Comparison(titles, *counts)
    place = int(places[0])
    index = tuple(int(number) for number in np.unravel_index(place, first.values.shape))
    values = str(first.values[index]), str(second.values[index])
    left, right = (
        ElementTree(run, int(reduction.fingerprints.reshape(-1)[place]), new)
        for run, new, reduction in zip((one, two), names, (first, second), strict=True)
    )
    starts = first_other(left, right), first_other(right, left)
    products = _products(left, right, starts)
    return Comparison(
        titles, *counts, index, values,
        (_tree(left, starts[0]), _tree(right, starts[1])), _causes(left, right),
        (_drawn(left, starts[0]), _drawn(right, starts[1])), (products[0], products[1]),
    )  # fmt: skip


def _products(one: ElementTree, two: ElementTree, starts: tuple[int, int]) -> list[MatrixElement | None]:
    """The first matrix instructions with other values on ways of one length, or those where they begin."""
    ways = one.path(starts[0]), two.path(starts[1])
    pairs = zip(*ways, strict=False) if len(ways[0]) == len(ways[1]) else ()
    other = next((pair for pair in pairs if one.value(pair[0]) != two.value(pair[1])), starts)
    found = [tree.operation(history) for tree, history in zip((one, two), other, strict=True)]
    if None in found:
        found = [tree.operation(start) for tree, start in zip((one, two), starts, strict=True)]
    return [
        None if product is None else MatrixElement(*product, tree.model)
        for tree, product in zip((one, two), found, strict=True)
    ]


def _common_rows(one: Reduction, two: Reduction) -> tuple[Reduction, Reduction]:
    """The rows that both outputs have."""
    shapes = one.values.shape, two.values.shape
    if len(shapes[0]) == len(shapes[1]) > 1 and shapes[0][1:] == shapes[1][1:]:
        count = min(shapes[0][0], shapes[1][0])
        one, two = (
            replace(side, values=side.values[:count], fingerprints=side.fingerprints[:count])
            for side in (one, two)
        )
    return one, two


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


def first_other(tree: ElementTree, other: ElementTree) -> int:
    """The first operation of a tree that another has not, although it has what that takes."""
    for history, node in tree.nodes.items():
        known = all(operand in other.nodes or operand not in tree.nodes for operand in node.operands)
        if known and history not in other.nodes:
            return history
    return tree.root


# -- what a reader gets --------------------------------------------------------------------------------------


def _number(value: object) -> str:
    return "" if value is None else f"{float(value):.9g}"  # type: ignore[arg-type]


def _units(amount: object, unit: Fraction | None) -> float | None:
    return float(amount / unit) if isinstance(amount, Fraction) and unit else None


def _tree(tree: ElementTree, start: int) -> Tree:
    """The tree in short, with the first operation that the other has not and the way from there."""
    unit, path = tree.unit(), []
    for history in tree.path(start) if start in tree.nodes else []:
        node, value, exact = tree.nodes[history], tree.value(history), tree.exact[history]
        known = isinstance(value, Fraction) and isinstance(exact, Fraction)
        error = _units(value - exact, unit) if known else None  # type: ignore[operator]
        path.append(PathStep(node.opcode, node.where, _number(value), error))
    first = []
    if start in tree.nodes:
        node = tree.nodes[start]
        names = [tree.name(operand) for operand in node.operands]
        if len(names) > 4:
            names = [*names[:3], f"... {len(names) - 3} more"]
        first.append(Operation(node.opcode, node.where, tuple(names), _number(tree.value(start))))
    error = path[-1].error if path else None
    return Tree(
        dict(tree.counts.most_common()), tree.depth, tuple(first), tree.order, tuple(path), error,
        _other_orders(tree, unit) if error is not None and unit is not None else {},
    )  # fmt: skip


def _other_orders(tree: ElementTree, unit: Fraction) -> dict[str, float]:
    """The errors of the same terms in other orders."""
    terms, node = tree.terms(), tree.nodes[tree.root]
    if node.type != "f32" or not 3 < len(terms) <= _MAX_TERMS:
        return {}
    exact = sum(terms, Fraction(0))
    sums = {
        "one after another": one_after_another(terms),
        "in pairs": in_pairs(terms),
        "with Kahan's correction": kahan(terms),
    }
    every = promoted(tree, 4)
    if every is not None:
        sums["by the tensor core, promoted every 4 instructions"] = every
    return {words: float((total - exact) / unit) for words, total in sums.items()}


def _drawn(tree: ElementTree, start: int) -> Drawn:
    """The way from the first other operation to the element; of a long one the ends."""
    path, unit = tree.path(start), tree.unit()
    room = [_SHOWN]

    def draw(history: int, depth: int, before: int | None) -> DrawnOperation:
        room[0] -= 1
        node, value = tree.nodes.get(history), _number(tree.value(history))
        if node is None:
            return DrawnOperation(tree.name(history), "", value)
        rest = [operand for operand in node.operands if operand != before]
        shown = rest[:4] if depth and room[0] > 0 else []
        return DrawnOperation(
            short_opcode(node.opcode), node.where, value, _units(tree.rounded(history), unit),
            tuple(draw(operand, depth - 1, None) for operand in shown), len(rest) - len(shown),
        )  # fmt: skip

    rows: list[DrawnOperation | None] = []
    for number, history in enumerate(path):
        if len(path) <= 2 * _ENDS or number < _ENDS or number >= len(path) - _ENDS:
            rows.append(draw(history, 3 if not number else 2, path[number - 1] if number else None))
        elif number == _ENDS:
            rows.append(None)
    return tuple(rows)


def short_opcode(opcode: str) -> str:
    """An opcode without what all of its kind have.

    >>> short_opcode("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), short_opcode("add.f32")
    ('mma.m16n8k16.f32.f16.f16.f32', 'add.f32')
    """
    return ".".join(part for part in opcode.split(".") if part not in _UNSAID)


# -- causes --------------------------------------------------------------------------------------------------


def _causes(one: ElementTree, two: ElementTree) -> tuple[str, ...]:
    """Why two trees differ, from what each has and the other has not."""
    trees = one, two
    causes: list[str] = []
    if _terms(one) != _terms(two):
        causes.append("other terms")
    kinds = [{node.opcode for node in tree.nodes.values()} for tree in trees]
    fused = [sum(n for name, n in tree.counts.items() if name.startswith(("fma", "mad"))) for tree in trees]
    apart = [sum(n for name, n in tree.counts.items() if name.startswith("mul")) for tree in trees]
    if (fused[0] - fused[1]) * (apart[0] - apart[1]) < 0:
        causes.append("contraction")
    for cause, words in (("flush to zero", {"ftz"}), ("approximation", {"approx"}), ("rounding", _ROUNDINGS)):
        found = [sorted(words & set(re.split(r"\W+", " ".join(names)))) for names in kinds]
        if found[0] != found[1]:
            causes.append(cause)
    types = [{node.type for node in tree.nodes.values() if node.is_sum} for tree in trees]
    if types[0] != types[1] and all(types):
        causes.append("precision")
    steps = [{node.step for node in tree.nodes.values() if node.kind == "matrix"} for tree in trees]
    if steps[0] != steps[1]:
        causes.append("steps of the tensor core")
    if any(_is_atomic(node) for tree in trees for node in tree.nodes.values()):
        causes.append("order of atomic operations")
    if one.shape != two.shape and not {"steps of the tensor core", "other terms"} & set(causes):
        causes.append("grouping")
    elif not causes:
        causes.append("order of terms")
    return tuple(causes)


def _terms(tree: ElementTree) -> set[int]:
    """The elements of arrays that are summed; sums often begin with those of a cleared output."""
    return {history for history in tree.leaves if tree.value(history) != 0}


def _is_atomic(node: TreeNode) -> bool:
    return node.kind == "atomic" and node.type.startswith(("f", "b"))
