"""The Explorer's state in other forms: a link to send, Python code, pictures for papers and slides."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import views
from .._util.arguments import is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse
from ..numerics.steps import Trace
from ..views import Picture
from .fills import random_range
from .matrices import Matrices, option_names
from .results import GPU
from .state import ExplorerState, History

__all__ = [
    "check_figure_options", "figure_names", "figure_of_selection", "gpu_note", "is_link", "open_link",
    "picture", "python_code", "share_link",
]  # fmt: skip

# -- links ------------------------------------------------------------------------------------------------

_PREFIX, _VERSION = "ptxlab:", "a"
_LONGEST_LINK = 1 << 22  # letters
_LARGEST = 1 << 22  # bytes of a state, several times those of the largest instruction
_LARGEST_HEAD = 1 << 13  # bytes of its line of JSON, several times those of the longest
_LONGEST_MNEMONIC = 300  # letters; the longest has 135
_DAMAGED = "this link is damaged: copy all of it again, from ptxlab: to its last letter"


def is_link(text: Any) -> bool:
    """Whether a text is meant to be a link.

    >>> is_link("ptxlab:aXYZ"), is_link("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    (True, False)
    """
    return isinstance(text, str) and text.strip().startswith(_PREFIX)


def share_link(state: ExplorerState, view_traits: Mapping[str, Any]) -> str:
    """The link: a line of JSON (instruction, options, chips, the view) and all registers, compressed.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> again, view_traits = open_link(share_link(state, {"lane": 4}))
    >>> again.ins == state.ins, view_traits, bool((again.codes("D") == state.codes("D")).all())
    (True, {'lane': 4}, True)
    """
    head = {
        "instruction": state.ins.mnemonic,
        "a": state.ins.a_space,
        "options": state.matrices.options,
        "chip": state.results.chip,
        "against": state.results.against,
        "seed": state.seed,
        "look": dict(view_traits),
    }
    arrays = [array for _, array in sorted(state.operands.arrays.items())]
    body = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays)
    packed = zlib.compress(json.dumps(head, separators=(",", ":")).encode() + b"\n" + body, 9)
    return _PREFIX + _VERSION + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def open_link(text: str, form_class: type[MmaForm] = MmaForm) -> tuple[ExplorerState, dict[str, Any]]:
    """The state of a link, and the traits of the view."""
    if not is_link(text):
        raise PtxlabError(f"found {quoted(text)}; a link begins with {_PREFIX}")
    if len(text) > _LONGEST_LINK:
        raise PtxlabError(f"this link has {len(text)} letters; the Explorer's have at most {_LONGEST_LINK}")
    word = "".join(text.split()).removeprefix(_PREFIX)
    if word[:1] != _VERSION:
        raise PtxlabError(
            f"this link is of version {word[:1]!r}, which this ptxlab cannot open; "
            f"it opens version {_VERSION!r}"
        )
    head, body = _unpack_link(word[1:])
    state = _state_of_link(head, body, form_class)
    return state, head.view_traits


@dataclass(frozen=True)
class _Head:
    """The line of JSON of a link, every part of its type."""

    instruction: str
    a_space: Literal["register", "shared"]
    options: dict[str, Any]
    chip: str
    against: str | None
    seed: int
    view_traits: dict[str, Any]

    @classmethod
    def of(cls, data: object) -> _Head:
        """The parts of a link, or a refusal of one that was made by somebody else or got damaged."""
        match data:
            case {
                "instruction": str(instruction),
                "a": "register" | "shared" as a_space,
                "options": dict(options),
                "chip": str(chip),
                "against": str(against) | (None as against),
                "seed": int(seed),
                "look": dict(view_traits),
            } if type(seed) is int and len(instruction) <= _LONGEST_MNEMONIC:
                return cls(instruction, a_space, options, chip, against, seed, view_traits)
        raise PtxlabError(_DAMAGED)


def _unpack_link(word: str) -> tuple[_Head, bytes]:
    unpacker = zlib.decompressobj()
    padding = "=" * (-len(word) % 4)
    try:
        packed = base64.b64decode(word + padding, altchars=b"-_", validate=True)
        data = unpacker.decompress(packed, _LARGEST)
        if not unpacker.eof or unpacker.unused_data:  # its end holds the checksum
            raise ValueError
        line, _, body = data.partition(b"\n")
        if len(line) > _LARGEST_HEAD:
            raise ValueError
        return _Head.of(json.loads(line)), body
    except (ValueError, zlib.error, RecursionError):  # base64 and JSON raise kinds of ValueError
        raise PtxlabError(_DAMAGED) from None


def _state_of_link(head: _Head, body: bytes, form_class: type[MmaForm]) -> ExplorerState:
    """The state that a link describes; a sentence if there is no such state."""
    try:
        form = _form_of_link(head.instruction)
        if head.a_space != form.a_space:
            form = form.a_from(head.a_space)
        state = ExplorerState(form_class.of(form), head.seed)
        if set(head.options) != set(option_names(state.ins)):
            raise PtxlabError(f"its options are not those of {form.mnemonic}")
        operands = state.matrices.with_arrays(_arrays_of_link(state, body))
        for name, value in head.options.items():
            operands = Matrices(operands).with_option(name, value)
        state.commit(operands)
    except PtxlabError as error:
        raise PtxlabError(f"this link cannot be opened: {error}") from None
    state.history = History()
    results = state.results
    known = (*results.models, GPU)
    results.chip = head.chip if head.chip in known else results.chip
    results.against = head.against if head.against in known else None
    return state


def _form_of_link(mnemonic: str) -> MmaForm:
    """The instruction that a link names."""
    try:
        form = parse(mnemonic)
    except PtxlabError:
        raise PtxlabError(
            f"this ptxlab has no instruction {quoted(mnemonic)}; the version that made the link has"
        ) from None
    if not isinstance(form, MmaForm):
        raise PtxlabError(
            f"{form.mnemonic} transfers a matrix; the Explorer shows instructions that multiply"
        )
    return form


def _arrays_of_link(state: ExplorerState, body: bytes) -> dict[str, NDArray[Any]]:
    """The registers of every operand, one after the other by name."""
    arrays = sorted(state.operands.arrays.items())
    sizes = [array.nbytes for _, array in arrays]
    if len(body) != sum(sizes):
        raise PtxlabError(f"it holds {len(body)} bytes of registers; {state.ins.mnemonic} has {sum(sizes)}")
    stored = {}
    for (name, array), size, end in zip(arrays, sizes, accumulate(sizes), strict=True):
        registers = np.frombuffer(body[end - size : end], array.dtype.newbyteorder("<"))
        registers = registers.reshape(array.shape).astype(array.dtype)
        stored[name] = state.ins.operands[name].check_registers(registers)
    return stored


# -- Python code -----------------------------------------------------------------------------------------

_WRITTEN_OUT = 1024  # numbers that are written out; more are packed


def python_code(state: ExplorerState) -> str:
    """Python that computes this D: matrices by a formula if there is one, else written out or, if large, pack

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
    ins, chip = state.ins, state.results.chip
    writer = _CodeWriter(state)
    registers = [argument for argument in ins.inputs if not argument.startswith("scale_")]
    scales = [argument for argument in ins.inputs if argument.startswith("scale_")]
    names = {argument: operand.name for argument, operand in ins.inputs.items()}
    packed = ", ".join(writer.packed[names[argument]] for argument in registers)
    arguments = [*registers, *(f"{argument}={writer.packed[names[argument]]}" for argument in scales)]
    for name, value in state.matrices.options.items():
        if value != ins.modifiers[name][0]:
            arguments.append(f"{name}={value!r}")
    if chip != GPU:
        arguments.append(f'model="{chip}"')
    method = "run" if chip == GPU else "emulate"
    shared = '.a_from("shared")' if ins.a_space == "shared" else ""
    body = "\n".join(
        [
            *writer.lines,
            f"{', '.join(registers)} = {packed}",
            f"d = ins.{method}({', '.join(arguments)})",
            "D = ins.d.unpack(d)",
        ]
    )
    imports = "import base64\nimport zlib\n\n" if "zlib." in body else ""
    imports += "import numpy as np\nimport ptxlab\n\n"
    return f'{imports}ins = ptxlab.instruction("{ins.mnemonic}"){shared}\n{body}\n'


class _CodeWriter:
    """Lines that make every operand, and for each the expression of its registers."""

    def __init__(self, state: ExplorerState) -> None:
        self.state, self.ins = state, state.ins
        self.arrays = state.operands.arrays
        self.arguments = {operand.name: argument for argument, operand in state.ins.inputs.items()}
        self.lines: list[str] = []
        self.packed: dict[str, str] = {}
        first = ExplorerState(state.ins, state.seed).operands.arrays
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
        """The random fill that a state starts with."""
        operand = self.state.matrices.operand(name)
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
        """An operand from its values if they determine it, from its codes, or from its registers."""
        operand, argument, registers = self.ins.operands[name], self.arguments[name], self.arrays[name]
        if name == "A" and self.ins.sparse and self._write_dense_a():
            return
        codes = operand.unpack_codes(registers, self.state.matrices.copy_index(name))
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
        """Sparse A from the dense matrix, if compressing that gives the same registers."""
        ins = self.ins
        for text, values in _formulas(self.state.matrices.operand("A"), self.state.values("A")):
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


def _packs_to(operand: Operand, values: NDArray[Any], registers: NDArray[Any]) -> bool:
    try:
        return bool(np.array_equal(operand.pack(values), registers))
    except PtxlabError:
        return False


def _formulas(operand: Operand, values: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Texts for a matrix of values, the shortest first, each with the array it evaluates to."""
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
    if values.size <= _WRITTEN_OUT:
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
    if codes.size <= _WRITTEN_OUT:
        return _array_literal([[hex(value) for value in row] for row in codes.tolist()], f", {dtype}")
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(codes).tobytes(), 9)).decode()
    content = f'zlib.decompress(base64.b64decode("{packed}"))'
    return f"np.frombuffer({content}, {dtype}).reshape{codes.shape}"


# -- figures ---------------------------------------------------------------------------------------------

_FIGURES = {"E": "metadata", "SFA": "scales", "SFB": "scales"}  # matrices whose figure has another name


def figure_names(state: ExplorerState) -> tuple[str, ...]:
    """The names of the figures.

    >>> import ptxlab
    >>> figure_names(ExplorerState(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")))
    ('product', 'A', 'stored', 'metadata', 'B', 'C', 'D', 'lane', 'trace')
    """
    matrices = dict.fromkeys(_FIGURES.get(name, name) for name in state.matrices.names)
    return ("product", *matrices, "lane", "trace")


#: Options of a figure that the state does not decide: what a cell shows, and what is emphasised.
_FIGURE_OPTIONS = {
    "product": ("shown", "colour", "lane"),
    "lane": ("lane",),
    "metadata": ("warp",),
    "scales": (),
    "trace": (),
}
_MATRIX_OPTIONS = ("shown", "colour", "lane", "warp")


def check_figure_options(what: str, options: Mapping[str, Any]) -> None:
    """Refuse an option that a figure does not have.

    >>> check_figure_options("lane", {"colour": "value"})
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: the figure 'lane' has no option 'colour'; it has lane
    """
    known = _FIGURE_OPTIONS.get(what, _MATRIX_OPTIONS)
    unknown = [name for name in options if name not in known]
    if unknown:
        options_there_are = listing(known) or "none"
        raise PtxlabError(
            f"the figure {what!r} has no option {quoted(unknown[0])}; it has {options_there_are}"
        )


def figure_of_selection(selected: Mapping[str, Any]) -> str:
    """The figure of the matrix in which a cell is selected; of the whole product if none is.

    >>> figure_of_selection({"name": "E", "row": 3, "column": 1}), figure_of_selection({})
    ('metadata', 'product')
    """
    name = str(selected.get("name", "product"))
    return _FIGURES.get(name, name)


def picture(
    state: ExplorerState,
    what: str,
    *,
    chosen_lane: int = 0,
    cell: tuple[int, int] = (0, 0),
    display: Mapping[str, Any] | None = None,
    **options: Any,
) -> Picture:
    """The picture of that name: a matrix with its values, metadata, scales, a lane, the trace of a cell of D.

    `display` says what the cells show (label), what the colours mean (colour), whether C is shown (show_c).
    Options go to the function of `ptxlab.views` that draws it (`warp=1`, `lane=5` to emphasise one ...).

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import SetCell
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> SetCell("A", 9, 3, "2.5").apply(state)
    >>> picture(state, "A").grids[0].at(9, 3).text
    '2.5'
    """
    ins, matrices = state.ins, state.matrices
    if not is_name(what, figure_names(state)):
        raise PtxlabError(f"no figure {quoted(what)}; there are {listing(figure_names(state), 12)}")
    check_figure_options(what, options)
    if what == "trace":
        trace = state.trace(*cell)
        return views.trace(trace, gpu_note(state, trace))
    if what == "lane":
        registers = {
            name: state.registers(name)
            for name, operand in ins.operands.items()
            if operand.layout is not None
        }
        return views.registers(ins, **{"lane": chosen_lane, "held": registers, **options})
    if what == "metadata":
        return views.metadata(ins, state.codes("E"), matrices.copy_index("E"), **options)
    if what == "scales":
        selectors = {
            name: value
            for name, value in matrices.options.items()
            if name.startswith(("byte_id", "thread_id"))
        }
        return views.scales(ins, state.values("SFA"), state.values("SFB"), **selectors, **options)
    shown = {"label": "value", "colour": "lane", "show_c": False, **(display or {})}
    # A map of lanes would say nothing about the values.
    colour = "auto" if shown["colour"] == "lane" else shown["colour"]
    style = {"shown": shown["label"], "colour": colour, **options}
    differ = state.comparison().differ if state.results.against is not None else None
    if what == "product":
        names = [name for name in matrices.names if name != "C" or shown["show_c"]]
        return views.product(
            ins,
            codes={name: state.codes(name) for name in names},
            marked=differ,
            copies={name: matrices.copy_index(name) for name in names},
            **style,
        )
    return views.values(
        ins,
        what,
        codes=state.codes(what),
        nibbles=state.codes("E") if ins.sparse else None,
        marked=differ if what == "D" else None,
        copy=matrices.copy_index(what),
        **style,
    )


def gpu_note(state: ExplorerState, trace: Trace) -> str:
    """A note if the D on the screen is not the one that is explained."""
    code = int(state.codes("D")[trace.row, trace.col])
    return "" if code == trace.code else f"the GPU gave 0x{code:x}; this explains the emulator's result"
