"""The Explorer's state in other forms: Python code, and pictures for papers and slides."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ... import views
from ..._util.arguments import is_name
from ...errors import PtxlabError, listing, quoted
from ...figures import form_picture
from ...isa.modifiers import Modifiers
from ...isa.operand import MatrixOperand
from ...isa.tcgen05 import TensorInstruction
from ...isa.tensor_operand import LANES
from ...numerics.steps import Trace
from ...views import Picture
from ...views.colour_keys import Colour
from ...views.static_image import static_image
from ..documents.fills import random_range
from ..documents.masks import MASKS
from ..documents.matrix_transfer import MatrixTransfer
from ..documents.product_document import GPU, NO_CHIP, ProductDocument
from ..documents.tensor_transfer import CopyTransfer, TensorMemoryTransfer
from ..documents.transfer_document import TransferDocument
from ..page.tensor_view import find_load
from ..state import ExplorerState

# -- Python code -----------------------------------------------------------------------------------------

_MAX_WRITTEN_OUT = 1024  # numbers; larger matrices are packed


def python_code(state: ExplorerState) -> str:
    """Python that computes the same D, with a formula for each matrix that has one; others are written out.

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import FillMatrix
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> FillMatrix("B", "ones").apply(state)
    >>> print(python_code(state), end="")
    import numpy as np
    import ptxlab
    <BLANKLINE>
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    random = np.random.default_rng(0)
    A = random.integers(-8, 8, (16, 64))
    B = np.ones((64, 8))
    C = np.zeros((16, 8))
    a, b, c = ins.a.pack(A), ins.b.pack(B), ins.c.pack(C)
    d = ins.emulate(a, b, c, model="sm_90")
    D = ins.d.unpack(d)
    """
    document = state.document
    if isinstance(document, TransferDocument):
        return _transfer_code(document)
    ins, chip = document.ins, document.chip_choice.chip
    writer = _CodeWriter(state)
    registers = [argument for argument in ins.inputs if not argument.startswith("scale_")]
    scales = [argument for argument in ins.inputs if argument.startswith("scale_")]
    names = {argument: operand.name for argument, operand in ins.inputs.items()}
    packed = ", ".join(writer.packed[names[argument]] for argument in registers)
    arguments = [*registers, *(f"{argument}={writer.packed[names[argument]]}" for argument in scales)]
    for name, value in document.options.items():
        if value != getattr(Modifiers, name):
            arguments.append(f"{name}={hex(value) if name in MASKS else repr(value)}")
    by_model = chip not in (GPU, NO_CHIP)  # without a model only a GPU computes D
    if by_model:
        arguments.append(f'model="{chip}"')
    method = "emulate" if by_model else "run"
    usual = "shared" if ins.descriptor else "register"
    space = "" if ins.a_space == usual else f'.a_from("{ins.a_space}")'
    descriptor = f", descriptor=0x{ins.descriptor.code:08x}" if ins.descriptor else ""
    return _program(
        [
            f'ins = ptxlab.instruction("{ins.mnemonic}"{descriptor}){space}',
            *writer.lines,
            f"{', '.join(registers)} = {packed}",
            f"d = ins.{method}({', '.join(arguments)})",
            "D = ins.d.unpack(d)",
        ]
    )


def _program(lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    imports = "import base64\nimport zlib\n\n" if "zlib." in body else ""
    return f"{imports}import numpy as np\nimport ptxlab\n\n{body}\n"


def _transfer_code(transfer: TransferDocument) -> str:
    """Python that computes the D of a transfer."""
    lines = [f'ins = ptxlab.instruction("{transfer.ins.mnemonic}")']
    lines += [f"{name} = {_words_literal(codes)}" for name, codes in transfer.arrays.items()]
    if isinstance(transfer, MatrixTransfer):
        return _program([*lines, *_matrix_transfer_lines(transfer)])
    assert isinstance(transfer, TensorMemoryTransfer)
    takes = transfer.inputs
    if isinstance(transfer, CopyTransfer):
        takes = ("memory", "tile", "C")
        (rows, words), tile = transfer.a.shape, transfer.descriptor
        size = int(transfer.byte_addresses.max()) + 4
        lines += [
            f"tile = ptxlab.memory.Tcgen05Descriptor(address=0, leading={tile.leading}, "
            f"stride={tile.stride})",
            f"memory = np.zeros({size}, np.uint8)",
            f"at = tile.addresses(np.arange({rows})[:, None], np.arange({words}), bits=32)",
            "memory.view(np.uint32)[at // 4] = A",
        ]
    arguments = ", ".join([*takes, f"address=0x{transfer.address:x}"])
    if transfer.split is not None:
        arguments += f", split={transfer.split}"
    if transfer.ins.reduces or transfer.ins.compresses:
        lines += [f"parts = ins.emulate({arguments})", "D = np.column_stack(parts)"]
    else:
        lines.append(f"D = ins.emulate({arguments})")
    return _program(lines)


def _matrix_transfer_lines(transfer: MatrixTransfer) -> list[str]:
    """Lines that put A into memory or registers, run the instruction, and read D."""
    ins = transfer.ins
    lines = [f'matrix = ins.operand("{ins.register_operand.name}")']
    stride = f", stride={transfer.stride}" if ins.wmma else ""
    if not transfer.has_memory:
        return [*lines, "D = matrix.split(ins.emulate(matrix.join(A)))"]
    row = transfer.row_bytes.shape[1]
    rows, bits = ins.lines[0], ins.memory_bits
    lines += [
        f"addresses = ins.addresses(stride={transfer.stride})",
        f"at = addresses[:{rows}, None] + np.arange({row})",
        f"memory = np.zeros({transfer.memory.size}, np.uint8)",
    ]
    addresses = "addresses, " if "addresses" in ins.inputs else ""
    if transfer.stores:
        code_type = np.dtype(transfer.result.dtype).name
        return [
            *lines,
            f"memory = ins.emulate(matrix.join(A), {addresses}memory{stride})",
            f"D = memory[at].view(np.{code_type})",
        ]
    packed = "np.ascontiguousarray(A).view(np.uint8)"
    if bits < 8:
        lines.append(f"bits = (A[..., None] >> np.arange({bits}) & 1).astype(np.uint8)")
        packed = f'np.packbits(bits.reshape({rows}, -1), axis=-1, bitorder="little")'
    emulated = f"ins.emulate(memory{', addresses' if addresses else ''}{stride})"
    return [*lines, f"memory[at] = {packed}", f"D = matrix.split({emulated})"]


def _words_literal(codes: NDArray[Any]) -> str:
    rows, columns = codes.shape
    name = f"np.{codes.dtype.name}"
    if not codes.any():
        return f"np.zeros({codes.shape}, {name})"
    half = 4 * codes.dtype.itemsize
    if np.array_equal(codes, np.arange(rows)[:, None] << half | np.arange(columns)):
        return f"(np.arange({rows})[:, None] << {half} | np.arange({columns})).astype({name})"
    return _code_literal(codes)


class _CodeWriter:
    """Lines that make every operand, and the expression for the registers of each."""

    def __init__(self, state: ExplorerState) -> None:
        self.state, self.ins = state, state.ins
        self.arrays = state.operation.arrays
        self.arguments = {operand.name: argument for argument, operand in state.ins.inputs.items()}
        self.lines: list[str] = []
        self.packed: dict[str, str] = {}
        first = ExplorerState(state.ins, state.seed).operation.arrays
        a_names = ("A", "E") if self.ins.sparse else ("A",)
        if all(np.array_equal(self.arrays[name], first[name]) for name in a_names):
            self.lines.append(f"random = np.random.default_rng({state.seed})")
            self._write_random("A")
            if np.array_equal(self.arrays["B"], first["B"]):
                self._write_random("B")
        for name in self.arrays:
            if name not in self.packed:
                self._write(name)

    def _write_random(self, name: str) -> None:
        """Write the random fill that a state starts with."""
        operand = self.state.operation.operand(name)
        low, high = random_range(operand.dtype)
        self.lines.append(f"{name} = random.integers({low}, {high + 1}, {operand.shape})")
        if name == "A" and self.ins.sparse:
            self.lines.append("A = ins.prune(A)")
            self._write_compress()
        else:
            self.packed[name] = f"ins.{self.arguments[name]}.pack({name})"

    def _write_compress(self) -> None:
        self.lines.append("stored, nibbles = ins.compress(A)")
        self.packed["A"], self.packed["E"] = "ins.a.pack(stored)", "ins.e.pack_codes(nibbles)"

    def _write(self, name: str) -> None:
        """Write an operand by its values if they determine it, else by its codes or its registers."""
        argument, registers = self.arguments[name], self.arrays[name]
        operand = self.ins.inputs[argument]
        if name == "A" and self.ins.sparse and self._write_dense_a():
            return
        codes = operand.unpack_codes(registers, self.state.operation.copy_index(name))
        if name != "E":
            for text, values in _formulas(operand, operand.dtype.decode(codes)):
                if _packs_to(operand, values, registers):
                    self.lines.append(f"{name} = {text}")
                    self.packed[name] = f"ins.{argument}.pack({name})"
                    return
        if np.array_equal(operand.pack_codes(codes), registers):
            self.lines.append(f"{name} = {_code_literal(codes)}")
            self.packed[name] = f"ins.{argument}.pack_codes({name})"
        else:
            self.lines.append(f"{name} = {_code_literal(registers)}  # registers")
            self.packed[name] = name

    def _write_dense_a(self) -> bool:
        """Write sparse A as a dense matrix, if compressing that gives the same registers."""
        ins = self.ins
        for text, values in _formulas(self.state.operation.operand("A"), self.state.values("A")):
            try:
                stored, nibbles = ins.compress(values)
            except PtxlabError:
                continue
            same_metadata = ins.e is not None and np.array_equal(ins.e.pack_codes(nibbles), self.arrays["E"])
            if same_metadata and _packs_to(ins.a, stored, self.arrays["A"]):
                self.lines.append(f"A = {text}")
                self._write_compress()
                return True
        return False


def _packs_to(operand: MatrixOperand, values: NDArray[Any], registers: NDArray[Any]) -> bool:
    try:
        return bool(np.array_equal(operand.pack(values), registers))
    except PtxlabError:
        return False


def _formulas(operand: MatrixOperand, values: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Expressions for a matrix, the shortest first, each with the array that it evaluates to."""
    shape, first = operand.shape, values.flat[0]
    if (values == first).all():
        number = _number_literal(float(first) if operand.dtype.is_float else int(first))
        constants = {"0": f"np.zeros({shape})", "1": f"np.ones({shape})"}
        yield constants.get(number, f"np.full({shape}, {number})"), np.full(shape, float(first))
    yield f"np.eye{shape}", np.eye(*shape)
    count = np.arange(values.size).reshape(shape)
    yield f"np.arange({values.size}).reshape{shape}", count
    limit = 1
    if np.isfinite(values).all() and 0 < values.max() < values.size:
        limit = int(values.max()) + 1
    yield f"np.arange({values.size}).reshape{shape} % {limit}", count % limit
    if values.size <= _MAX_WRITTEN_OUT:
        if operand.dtype.is_float:  # a NaN is written without its payload
            with np.errstate(invalid="ignore"):
                wide = values.astype(np.float64)
            values = np.where(np.isnan(wide), np.nan, wide)
        yield _array_literal([[_number_literal(value) for value in row] for row in values.tolist()]), values


def _number_literal(value: float) -> str:
    """A number as Python and NumPy spell it."""
    if float(value).is_integer() and abs(value) < 1e15 and str(value) != "-0.0":
        return str(int(value))
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _array_literal(rows: list[list[str]], dtype: str = "") -> str:
    inner = ",\n".join(f"    [{', '.join(row)}]" for row in rows)
    return f"np.array([\n{inner},\n]{dtype})"


def _code_literal(codes: NDArray[Any]) -> str:
    """Unsigned integers: in hexadecimal, or packed if there are many."""
    dtype = f"np.{codes.dtype.name}"
    if codes.size <= _MAX_WRITTEN_OUT:
        return _array_literal([[hex(value) for value in row] for row in codes.tolist()], f", {dtype}")
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(codes).tobytes(), 9)).decode()
    content = f'zlib.decompress(base64.b64decode("{packed}"))'
    return f"np.frombuffer({content}, {dtype}).reshape{codes.shape}"


# -- figures ---------------------------------------------------------------------------------------------

# the figure of a matrix, where its name differs
_FIGURES = {
    "E": "metadata",
    "SFA": "scales",
    "SFB": "scales",
}


def figure_names(state: ExplorerState) -> tuple[str, ...]:
    """The names of the figures.

    >>> import ptxlab
    >>> figure_names(ExplorerState(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")))
    ('product', 'A', 'stored', 'metadata', 'B', 'C', 'D', 'lane', 'trace')
    """
    ins = state.ins
    if ins.tensors:
        others = [name for name in state.operation.names if name not in (*ins.tensors, "stored")]
        scales = ("scales",) if ins.scale_a is not None else ()
        return ("product", *others, *ins.tensors, *scales, "lane", "load", "trace")
    matrices = dict.fromkeys(_FIGURES.get(name, name) for name in state.operation.names)
    return ("product", *matrices, "lane", "trace")


#: The options that each figure takes; the state decides everything else.
_FIGURE_OPTIONS = {
    "product": ("shown", "colour", "lane", "element", "rows", "columns"),
    "lane": ("lane",),
    "metadata": ("warp",),
    "scales": ("rows", "columns"),
    "load": (),
    "trace": (),
}
_MATRIX_OPTIONS = ("shown", "colour", "lane", "warp", "rows", "columns")
_TENSOR_OPTIONS = ("colour", "cta", "lanes", "columns", "marked")


def check_figure_options(what: str, options: Mapping[str, Any], *, tensor: bool = False) -> None:
    """Refuse an option that a figure does not have.

    >>> check_figure_options("lane", {"colour": "value"})
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: the figure 'lane' has no option 'colour'; it has lane
    """
    allowed = _TENSOR_OPTIONS if tensor else _FIGURE_OPTIONS.get(what, _MATRIX_OPTIONS)
    unknown = [name for name in options if name not in allowed]
    if unknown:
        raise PtxlabError(
            f"the figure {what!r} has no option {quoted(unknown[0])}; it has {listing(allowed) or 'none'}"
        )


def check_figure(state: ExplorerState, what: str, options: Mapping[str, Any]) -> None:
    """Refuse a figure that does not exist, or an option that it does not have."""
    if not is_name(what, figure_names(state)):
        raise PtxlabError(f"no figure {quoted(what)}; there are {listing(figure_names(state), 12)}")
    check_figure_options(what, options, tensor=what in state.ins.tensors)


def figure_of_selection(state: ExplorerState, selected: Mapping[str, Any]) -> str:
    """The figure of the matrix with the selected cell; without one, of the whole product or of D.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> figure_of_selection(state, {"name": "E", "row": 3, "column": 1}), figure_of_selection(state, {})
    ('metadata', 'product')
    """
    if state.ins.tensors:
        name = str(selected.get("name", "D")).replace("stored", "A")
        return name if name in state.ins.tensors else "D"
    name = str(selected.get("name", "product"))
    return _FIGURES.get(name, name)


def picture(
    state: ExplorerState,
    what: str | None,
    *,
    selected: Mapping[str, Any] | None = None,
    chosen_lane: int = 0,
    cell: tuple[int, int] = (0, 0),
    display: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Picture:
    """The picture of that name: a matrix with its values, metadata, scales, a lane, the trace of a cell of D.

    Without a name it is that of the `selected` matrix. A transfer has pictures of its fragment.
    `display` has what cells show (label), what colours mean (colour), and whether C is shown (show_c).
    `options` go to the function of `ptxlab.views` that draws it (`warp` 1, `lane` 5 to emphasise one ...).

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import SetCell
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> SetCell("A", 9, 3, "2.5").apply(state)
    >>> picture(state, "A").grids[0].at(9, 3).text
    '2.5'
    """
    options = options or {}
    if isinstance(state.document, TransferDocument):
        return form_picture(state.form, what, **options)
    ins, operation = state.ins, state.operation
    if what is None:
        what = figure_of_selection(state, selected or {})
    check_figure(state, what, options)
    if what == "trace":
        trace = state.trace(*cell)
        return views.trace(trace, gpu_note(state, trace))
    if ins.d.space == "tensor" and (what == "load" or what in ins.tensors):
        return _tensor_picture(state, ins, what, chosen_lane, options)
    if what == "lane":
        names = [name for name, operand in ins.located.items() if operand.layout is not None]
        if ins.tensors and not state.chip_choice.has_result:
            names.remove("D")
        registers = {name: state.registers(name) for name in names}
        return views.registers(ins, **{"lane": chosen_lane, "held": registers, **options})
    if what == "metadata":
        return views.metadata(ins, state.codes("E"), operation.copy_index("E"), **options)
    if what == "scales":
        selectors = {
            name: value for name, value in state.options.items() if name.startswith(("byte_id", "thread_id"))
        }
        return views.scales(ins, state.values("SFA"), state.values("SFB"), **selectors, **options)
    shown = {"label": "value", "colour": "lane", "show_c": False, **(display or {})}
    # "auto" colours by lane where the numbers fit the cells, else by value
    colour = "auto" if shown["colour"] == "lane" else shown["colour"]
    if not is_name(colour, get_args(Colour)) or (colour == "bank" and not _in_shared_memory(state, what)):
        colour = "auto"  # registers have no banks, and tensor memory has colours of its own
    style = {"shown": shown["label"], "colour": colour, **options}
    differ = state.comparison().differ if state.chip_choice.against is not None else None
    if what == "product":
        names = [name for name in operation.names if name != "C" or shown["show_c"]]
        return views.product(
            ins,
            codes={name: state.codes(name) for name in names},
            marked=differ,
            copies={name: operation.copy_index(name) for name in names},
            **style,
        )
    return views.values(
        ins,
        what,
        codes=state.codes(what),
        nibbles=state.codes("E") if ins.sparse else None,
        marked=differ if what == "D" else None,
        copy=operation.copy_index(what),
        **style,
    )


def static_html(state: ExplorerState, display: Mapping[str, Any]) -> str:
    """All matrices, or the fragment of a transfer, as an image; "" where there is no picture."""
    try:
        what = "product" if isinstance(state.document, ProductDocument) else None
        drawn = picture(state, what, display=display)
    except PtxlabError:
        return ""
    return static_image(drawn.drawing())


def _tensor_picture(
    state: ExplorerState, ins: TensorInstruction, what: str, thread: int, options: Mapping[str, Any]
) -> Picture:
    """A matrix in tensor memory, or what the shown tcgen05.ld gives the chosen thread."""
    if what == "load":
        return views.tensor_registers(find_load(ins, state.load).form, thread % LANES)
    is_empty = what == "D" and not state.chip_choice.has_result
    return views.tensor_memory(ins, what, words=None if is_empty else state.registers(what), **options)


def _in_shared_memory(state: ExplorerState, what: str) -> bool:
    """Whether a matrix, or one of the product, is in shared memory."""
    names = state.operation.names if what == "product" else (what,)
    return any(state.operation.operand(name).space == "shared" for name in names)


def gpu_note(state: ExplorerState, trace: Trace) -> str:
    """A note if the D on the screen is not the D that the trace explains."""
    code = int(state.codes("D")[trace.row, trace.col])
    return "" if code == trace.code else f"the GPU gave 0x{code:x}; this explains the emulator's result"
