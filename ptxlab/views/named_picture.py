"""The picture of an instruction by its name, as `ins.figure("A")` asks for it: which function draws it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from numpy.typing import ArrayLike

from .._util.arguments import is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.modifiers import Modifiers
from ..isa.operation import Operation
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Form, Tcgen05Mma, Tcgen05Transfer
from ..isa.transfer import TransferForm
from ..numerics.trace import trace as trace_operands
from .fragment_pictures import fragment
from .instruction_descriptor_picture import instruction_descriptor
from .matrix_pictures import values
from .metadata_picture import metadata
from .picture import Picture
from .product_picture import product
from .register_pictures import lane, registers
from .scale_pictures import scales
from .tensor_pictures import tensor_memory, tensor_registers
from .tile_pictures import operand_tile
from .trace_picture import trace

#: Options that bring the numbers of a matrix.
_NUMBERS = {"matrix", "codes", "registers"}


def named_picture(ins: Form | str, name: str | None, options: Mapping[str, Any]) -> Picture:
    """The picture of that name, by default the first; `options` are keywords of the function that draws it.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> named_picture(ins, "C", {"lane": 5}).title
    'C of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32'
    """
    form = parse_any(ins)
    names = _names(form)
    if not names:
        raise PtxlabError(
            f"no figure of {form.mnemonic}: it has no matrices; tcgen05.mma, .ld, .st and .cp have figures"
        )
    chosen = name
    if chosen is None:
        chosen = "D" if isinstance(form, Tcgen05Mma) else names[0]
    if not is_name(chosen, names):
        raise PtxlabError(f"no figure {quoted(name)} of {form.mnemonic}; there are {listing(names, 14)}")
    if isinstance(form, Product):
        view = _view_of_product(form, chosen, has_numbers=bool(_NUMBERS & options.keys()))
    else:
        view = _view_of_transfer(form, chosen)
    return view.draw(chosen, options)


def _names(form: Form) -> list[str]:
    """The names of all pictures of an instruction."""
    if not isinstance(form, Product):
        tensors = list(form.tensors) if isinstance(form, Tcgen05Form) else []
        return [*tensors, *form.operands, "lane"] if form.operands else tensors
    names = ["product", "A", "B", "C", "D"]
    if form.sparse:
        names += ["stored", "metadata"]
    if form.scale_a is not None:
        names.append("scales")
    names += ["lane", "trace"]
    if not isinstance(form, Tcgen05Mma):
        return names
    return [*names, *(name for name in form.tensors if name not in names), "descriptor"]


@dataclass(frozen=True)
class _View:
    """A function that draws pictures, with the arguments that a name stands for."""

    function: Callable[..., Picture]
    arguments: Mapping[str, Any]  # that are no options
    defaults: Mapping[str, Any] = field(default_factory=dict)  # where options do not say otherwise
    required: tuple[str, ...] = ()  # options that cannot be left out

    def draw(self, name: str, options: Mapping[str, Any]) -> Picture:
        """The picture; an option that the function does not have, or lacks, is an error that says so."""
        known = self._options()
        unknown = [option for option in options if option not in known]
        if unknown:
            raise PtxlabError(
                f"the figure {name!r} has no option {quoted(unknown[0])}; there are {listing(known, 30)}"
            )
        missing = [option for option in self.required if option not in options]
        if missing:
            raise PtxlabError(f"the figure {name!r} needs {listing(self.required)}; {missing[0]} is missing")
        return self.function(**self.arguments, **{**self.defaults, **options})

    def _options(self) -> list[str]:
        """Keywords of the function that are free; `title` is an option of every figure."""
        parameters = inspect.signature(self.function).parameters
        taken = {*self.arguments, "title", "modifiers"}
        options = [name for name in parameters if name not in taken] + ["title"]
        if "modifiers" in parameters:
            options += [modifier.name for modifier in fields(Modifiers)]
        return options


def _view_of_product(ins: Product, name: str, *, has_numbers: bool) -> _View:
    """The view of an instruction that multiplies; of one operand with its numbers, or without."""
    match name:
        case "product":
            return _View(product, {"ins": ins})
        case "metadata":
            return _View(metadata, {"ins": ins})
        case "scales":
            return _View(scales, {"ins": ins})
        case "lane":
            return _View(registers, {"ins": ins}, {"lane": 0})
        case "trace":
            return _View(_traced, {"ins": ins}, required=("A", "B", "row", "col"))
        case "descriptor":
            return _View(instruction_descriptor, {"descriptor": ins})
    if has_numbers:
        return _View(values, {"ins": ins, "operand": name})
    if isinstance(ins, Tcgen05Mma):
        operand = {"C": "D", "stored": "A"}.get(name, name)
        if operand in ins.tensors:
            return _View(tensor_memory, {"ins": ins, "operand": operand})
        return _View(operand_tile, {"ins": ins, "op": ins.operands[operand]})
    if name == "stored":
        return _View(fragment, {"ins": ins, "name": "A"})
    dense = name == "A" and ins.sparse and ins.a.layout is not None
    return _View(fragment, {"ins": ins, "name": name}, {"dense": dense})


def _view_of_transfer(form: Form, name: str) -> _View:
    """The view of an instruction that multiplies nothing: ldmatrix, tcgen05.ld and others."""
    if name == "lane":
        return _View(lane, {"ins": form, "operand": next(iter(form.operands))}, {"lane": 0})
    if isinstance(form, TransferForm):
        return _View(fragment, {"ins": form, "name": name})
    if isinstance(form, Tcgen05Transfer) and name == "R":
        return _View(tensor_registers, {"move": form})
    return _View(tensor_memory, {"ins": form, "operand": name})


def _traced(
    ins: Product,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    row: int = 0,
    col: int = 0,
    *,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    model: str | None = None,
    **modifiers: int | bool,
) -> Picture:
    """The trace of an element of D as a picture, of matrices as `ins.trace` takes them."""
    operands = Operation.from_matrices(ins, A, B, C, scale_a, scale_b, Modifiers.from_keywords(modifiers))
    return trace(trace_operands(operands, row, col, model=model))
