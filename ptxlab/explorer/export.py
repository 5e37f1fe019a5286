"""The Explorer's state in other forms: a link to send, Python code, pictures for papers and slides."""

from __future__ import annotations

import base64
import json
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .. import views
from .._util.arguments import is_name
from ..errors import PtxlabError, listing, quoted
from ..figures import form_picture
from ..isa.catalog import Product
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..isa.operand import MatrixOperand, Operand
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Mma
from ..isa.tensor_memory import LANES
from ..numerics.steps import Trace
from ..views import Picture
from ..views.colours import Colour
from ..views.drawing import static_image
from .fills import random_range
from .masks import MASKS, option_names
from .recipe import MAX_FILLS, Fill, find_recipe, make_arrays
from .refusals import explorable
from .state import GPU, NOBODY, ExplorerState, History, with_option
from .tensor_view import tensor_load
from .transfer import CopyTransfer, MatrixTransfer, TensorMemoryTransfer, TransferOperation, first_transfer

# -- links ------------------------------------------------------------------------------------------------

_PREFIX = "ptxlab:"
#: The page with Python in it, at the address of the site; a class without internet has its own.
PAGE = "https://ptxlab.github.io/ptxlab/try/"
_ADDRESS = re.compile(r"^https?://[^\s#]*#")  # of a page that opens the link after it
_ALL_DATA, _WITH_FILLS = "a", "b"  # versions: the first holds every register; the second is the one written
_LONGEST_LINK = 1 << 22  # letters
_LARGEST = 1 << 22  # bytes of a state, several times those of the largest instruction
_LARGEST_HEAD = 1 << 13  # bytes of its line of JSON, several times those of the longest
_LONGEST_MNEMONIC = 300  # letters; the longest has 135
DAMAGED_LINK = "this link is damaged: copy all of it again, from ptxlab: to its last letter"


def is_link(text: Any) -> bool:
    """Whether a text is meant to be a link.

    >>> is_link("ptxlab:aXYZ"), is_link("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    (True, False)
    >>> is_link("https://example.org/try/#ptxlab:aXYZ")
    True
    """
    return isinstance(text, str) and _ADDRESS.sub("", text.strip(), count=1).startswith(_PREFIX)


def page_address(link: str) -> str:
    """Where a browser opens a link: the site's page, or the one that PTXLAB_PAGE names.

    >>> page_address("ptxlab:bXYZ")
    'https://ptxlab.github.io/ptxlab/try/#ptxlab:bXYZ'
    """
    return f"{os.environ.get('PTXLAB_PAGE') or PAGE}#{link}"


def share_link(state: ExplorerState, view_traits: Mapping[str, Any]) -> str:
    """The link, compressed: a line of JSON and the registers that no fill makes.

    The line has the instruction and, where they are not what the Explorer starts with, options, chips, the
    view, the seed, and the fills that make the operands.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), seed=7)
    >>> link = share_link(state, {"lane": 4})
    >>> again, view_traits = open_link(link)
    >>> view_traits, bool((again.codes("D") == state.codes("D")).all()), len(link) < 150
    ({'lane': 4}, True, True)
    """
    if state.transfer is not None:
        return _share_transfer(state.transfer, state.seed, view_traits)
    recipe, choice = find_recipe(state), state.chip_choice
    tensor = state.ins if isinstance(state.ins, Tcgen05Mma) else None
    first_options = ExplorerState(state.ins).options
    parts: dict[str, tuple[Any, Any]] = {  # with what each of them is if it is left out
        "a": (state.ins.a_space, "shared" if tensor else "register"),
        "idesc": (tensor and tensor.descriptor.code, None),
        "options": (state.options, first_options),
        "chip": (choice.chip, choice.first),
        "against": (choice.against, None),
        "seed": (state.seed, 0),
        "look": (dict(view_traits), {}),
        "fills": ([_fill_words(fill) for fill in recipe.fills], []),
        "skipped": ([index for index, fill in enumerate(recipe.fills) if not fill.kept], []),
        "edits": (recipe.edits, {}),
        "data": (recipe.data, ()),
    }
    head = {"instruction": state.ins.mnemonic}
    head |= {name: part for name, (part, default) in parts.items() if part != default}
    body = _little_endian(state.operation.arrays[name] for name in recipe.data)
    return _pack_link(head, body)


def _share_transfer(transfer: TransferOperation, seed: int, view_traits: Mapping[str, Any]) -> str:
    """The link of a transfer: its instruction, its address, and the words that it did not start with."""
    first = first_transfer(transfer.ins, seed=seed)
    changed = {
        name: codes for name, codes in transfer.arrays.items() if not np.array_equal(codes, first.codes(name))
    }
    head = {
        "instruction": transfer.ins.mnemonic,
        "at": list(transfer.at),
        "element": transfer.element,
        "seed": seed,
        "look": dict(view_traits),
        "data": list(changed),
    }
    return _pack_link(head, _little_endian(changed.values()))


def _little_endian(arrays: Iterable[NDArray[Any]]) -> bytes:
    return b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays)


def _pack_link(head: Mapping[str, Any], body: bytes) -> str:
    """A line of JSON and some bytes as a link."""
    packed = zlib.compress(json.dumps(head, separators=(",", ":")).encode() + b"\n" + body, 9)
    return _PREFIX + _WITH_FILLS + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _fill_words(fill: Fill) -> list[Any]:
    at = [fill.row, fill.column] if fill.pattern == "one-hot" else []
    return [fill.name, fill.pattern, *at]


def open_link(text: str) -> tuple[ExplorerState, dict[str, Any]]:
    """The state of a link, and the traits of the view."""
    version, data, body = _unpack_line(text)
    if isinstance(data, dict) and "at" in data:
        return _open_transfer(data, body)
    head = _Head.of(data, version)
    return _state_of_link(head, body), head.view_traits


def _open_transfer(data: Mapping[str, Any], body: bytes) -> tuple[ExplorerState, dict[str, Any]]:
    match data:
        case {
            "instruction": str(mnemonic),
            "at": [*at],
            "element": str(element),
            "seed": int(seed),
            "look": dict(look),
            "data": list(names),
        } if all(each is None or type(each) is int for each in at):
            pass
        case _:
            raise PtxlabError(DAMAGED_LINK)
    try:
        form = explorable(mnemonic)
        if isinstance(form, Product):
            raise PtxlabError(f"{quoted(mnemonic)} moves nothing to or from memory")
        state = ExplorerState(form, seed)
        transfer = first_transfer(form, seed=seed)
        if len(at) != len(transfer.at):
            raise PtxlabError(DAMAGED_LINK)
        transfer = transfer.placed(*at).with_element(element)
        for name, codes in _words_of_link(transfer, names, body).items():
            transfer = transfer.with_codes(name, codes)
        _ = transfer.result  # or a refusal
    except PtxlabError as error:
        raise PtxlabError(f"this link cannot be opened: {error}") from None
    state.show(transfer)
    return state, look


def _words_of_link(first: TransferOperation, names: list[Any], body: bytes) -> dict[str, NDArray[Any]]:
    if len(set(map(str, names))) != len(names) or not all(is_name(name, first.inputs) for name in names):
        raise PtxlabError(f"it holds words that {first.ins.mnemonic} does not have")
    return _read_arrays(body, {name: first.codes(name) for name in names}, "words", first.ins.mnemonic)


def _read_arrays(
    body: bytes, like: Mapping[str, NDArray[Any]], what: str, mnemonic: str
) -> dict[str, NDArray[Any]]:
    """Arrays that are one after the other in the bytes of a link, each like another one."""
    size = sum(array.nbytes for array in like.values())
    if len(body) != size:
        raise PtxlabError(f"it holds {len(body)} bytes of {what}; {mnemonic} has {size}")
    arrays, start = {}, 0
    for name, array in like.items():
        end = start + array.nbytes
        read = np.frombuffer(body[start:end], array.dtype.newbyteorder("<"))
        arrays[name], start = read.reshape(array.shape).astype(array.dtype), end
    return arrays


@dataclass(frozen=True)
class _Head:
    """The line of JSON of a link, every part of its type."""

    instruction: str
    a_space: Literal["register", "shared", "tensor"] | None  # None for where the mnemonic has it
    options: dict[str, Any] | None  # None for those that the Explorer starts with
    chip: str | None
    against: str | None
    seed: int
    view_traits: dict[str, Any]
    descriptor: int | None = None  # of tcgen05.mma
    fills: tuple[Fill, ...] = ()
    edits: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    data: list[str] | None = None  # operands whose registers follow; None for all of them

    @classmethod
    def of(cls, data: object, version: str) -> _Head:
        """The parts of a link, or a refusal of one that was made by somebody else or got damaged."""
        if version == _WITH_FILLS and isinstance(data, dict):
            data = {**_LEFT_OUT, **_WITHOUT_FILLS, "data": [], **data}
        elif isinstance(data, dict):
            data = {**data, **_WITHOUT_FILLS}
        match data:
            case {
                "instruction": str(instruction),
                "a": ("register" | "shared" | "tensor" | None) as a_space,
                "options": dict(options) | (None as options),
                "chip": str(chip) | (None as chip),
                "against": str(against) | (None as against),
                "seed": int(seed),
                "look": dict(view_traits),
                "idesc": int(descriptor) | (None as descriptor),
                "fills": list(fills),
                "skipped": list(skipped),
                "edits": dict(edits),
                "data": list(names) | (None as names),
            } if (
                all(type(number) is int for number in (seed, *skipped))
                and len(instruction) <= _LONGEST_MNEMONIC
                and len(fills) <= 2 * MAX_FILLS
                and (version == _ALL_DATA or names is not None)
            ):
                return cls(
                    instruction, a_space, options, chip, against, seed, view_traits, descriptor,
                    tuple(_fill_of(words, index not in skipped) for index, words in enumerate(fills)),
                    {str(name): _edits_of(words) for name, words in edits.items()},
                    None if names is None else [name for name in names if isinstance(name, str)],
                )  # fmt: skip
        raise PtxlabError(DAMAGED_LINK)


#: What a link has if it does not say so, and what links of the first version never have.
_LEFT_OUT: dict[str, Any] = {"a": None, "options": None, "chip": None, "against": None, "seed": 0, "look": {}}
_WITHOUT_FILLS: dict[str, Any] = {"idesc": None, "fills": [], "skipped": [], "edits": {}, "data": None}


def _fill_of(words: object, kept: bool) -> Fill:
    match words:
        case [str(name), str(pattern)]:
            return Fill(name, pattern, kept=kept)
        case [str(name), str(pattern), int(row), int(column)]:
            return Fill(name, pattern, row, column, kept)
    raise PtxlabError(DAMAGED_LINK)


def _edits_of(words: object) -> list[tuple[int, int]]:
    edits: list[Any] = words if isinstance(words, list) else [words]
    for edit in edits:
        if not isinstance(edit, list) or [type(number) for number in edit] != [int, int]:
            raise PtxlabError(DAMAGED_LINK)
    return [(index, content) for index, content in edits]


def _unpack_line(text: str) -> tuple[str, object, bytes]:
    """The version of a link, its line of JSON, and the bytes that follow that."""
    if not is_link(text):
        raise PtxlabError(f"found {quoted(text)}; a link begins with {_PREFIX}")
    if len(text) > _LONGEST_LINK:
        raise PtxlabError(f"this link has {len(text)} letters; the Explorer's have at most {_LONGEST_LINK}")
    word = _ADDRESS.sub("", "".join(text.split()), count=1).removeprefix(_PREFIX)
    if word[:1] not in (_ALL_DATA, _WITH_FILLS):
        raise PtxlabError(
            f"this link is of version {word[:1]!r}, which this ptxlab cannot open; "
            f"it opens versions {_ALL_DATA!r} and {_WITH_FILLS!r}"
        )
    unpacker = zlib.decompressobj()
    padding = "=" * (-len(word[1:]) % 4)
    try:
        packed = base64.b64decode(word[1:] + padding, altchars=b"-_", validate=True)
        data = unpacker.decompress(packed, _LARGEST)
        if not unpacker.eof or unpacker.unused_data:  # its end holds the checksum
            raise ValueError
        line, _, body = data.partition(b"\n")
        if len(line) > _LARGEST_HEAD:
            raise ValueError
        return word[:1], json.loads(line), body
    except (ValueError, zlib.error, RecursionError):  # base64 and JSON raise kinds of ValueError
        raise PtxlabError(DAMAGED_LINK) from None


def _state_of_link(head: _Head, body: bytes) -> ExplorerState:
    """The state that a link describes; a sentence if there is no such state."""
    try:
        form = _form_of_link(head)
        state = ExplorerState(form, head.seed)
        options = state.options if head.options is None else head.options
        if not set(options) ^ set(option_names(state.ins)) <= set(MASKS):
            raise PtxlabError(f"its options are not those of {form.mnemonic}")
        operation = state.operation.with_arrays(_arrays_of_link(state, head, body))
        for name, value in options.items():
            operation = with_option(operation, name, value)
        state.commit(operation)
    except PtxlabError as error:
        raise PtxlabError(f"this link cannot be opened: {error}") from None
    state.history = History()
    choice = state.chip_choice
    known = (*choice.models, GPU)
    if head.chip is not None and head.chip in known:
        choice.chip = head.chip
    choice.against = head.against if head.against in known else None
    return state


def _form_of_link(head: _Head) -> Product:
    """The instruction that a link names, with A where it has it, and its descriptor if it has one."""
    try:
        form = parse_any(head.instruction)
    except PtxlabError:
        raise PtxlabError(
            f"this ptxlab has no instruction {quoted(head.instruction)}; the version that made the link has"
        ) from None
    if isinstance(form, MmaForm):
        if head.descriptor is not None or head.a_space == "tensor":
            raise PtxlabError(DAMAGED_LINK)
        return form if head.a_space is None else form.a_from(head.a_space)
    if not isinstance(form, Tcgen05Mma):
        raise PtxlabError(
            f"{form.mnemonic} transfers a matrix; the Explorer shows instructions that multiply"
        )
    if head.descriptor is not None:
        form = form.with_descriptor(head.descriptor)
    return form.a_from("tensor") if head.a_space == "tensor" else form


def _arrays_of_link(state: ExplorerState, head: _Head, body: bytes) -> dict[str, NDArray[Any]]:
    """The registers of every operand: by fills, by edits of those, or as data, in the order of names."""
    arrays = make_arrays(state, head.fills)
    for name, words in head.edits.items():
        if name not in arrays:
            raise PtxlabError(f"it changes {quoted(name)}, which {state.ins.mnemonic} does not have")
        arrays[name] = _edited(arrays[name], words)
    names = sorted(arrays) if head.data is None else head.data
    if not set(names) <= set(arrays) or len(set(names)) != len(names):
        raise PtxlabError(f"it holds registers that {state.ins.mnemonic} does not have")
    arrays |= _read_arrays(body, {name: arrays[name] for name in names}, "registers", state.ins.mnemonic)
    operands = {operand.name: operand for operand in state.ins.inputs.values()}
    return {name: operands[name].check_registers(array) for name, array in arrays.items()}


def _edited(array: NDArray[Any], words: list[tuple[int, int]]) -> NDArray[Any]:
    """Registers with some of them changed, by their flat index."""
    changed = array.copy()
    for index, content in words:
        if not (0 <= index < changed.size and 0 <= content <= np.iinfo(changed.dtype).max):
            raise PtxlabError(DAMAGED_LINK)
        changed.flat[index] = content
    return changed


# -- Python code -----------------------------------------------------------------------------------------

_WRITTEN_OUT = 1024  # numbers that are written out; more are packed


def python_code(state: ExplorerState) -> str:
    """Python that computes this D: matrices by a formula if there is one, else written out or packed.

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
    if state.transfer is not None:
        return _transfer_code(state.transfer)
    ins, chip = state.ins, state.chip_choice.chip
    writer = _CodeWriter(state)
    registers = [argument for argument in ins.inputs if not argument.startswith("scale_")]
    scales = [argument for argument in ins.inputs if argument.startswith("scale_")]
    names = {argument: operand.name for argument, operand in ins.inputs.items()}
    packed = ", ".join(writer.packed[names[argument]] for argument in registers)
    arguments = [*registers, *(f"{argument}={writer.packed[names[argument]]}" for argument in scales)]
    for name, value in state.options.items():
        if value != getattr(Modifiers, name):
            arguments.append(f"{name}={hex(value) if name in MASKS else repr(value)}")
    by_model = chip not in (GPU, NOBODY)  # what no model computes, only a GPU does
    if by_model:
        arguments.append(f'model="{chip}"')
    method = "emulate" if by_model else "run"
    usual = "shared" if isinstance(ins, Tcgen05Mma) else "register"
    space = "" if ins.a_space == usual else f'.a_from("{ins.a_space}")'
    descriptor = f", descriptor=0x{ins.descriptor.code:08x}" if isinstance(ins, Tcgen05Mma) else ""
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


def _transfer_code(transfer: TransferOperation) -> str:
    """Python that computes the D of an instruction that moves words or elements."""
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
    """Lines that put A into memory, or into registers, run the instruction, and take D from where it is."""
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
    """Lines that make every operand, and for each the expression of its registers."""

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
        """The random fill that a state starts with."""
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
        """An operand from its values if they determine it, from its codes, or from its registers."""
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
        """Sparse A from the dense matrix, if compressing that gives the same registers."""
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
    ins = state.ins
    if isinstance(ins, Tcgen05Mma):
        others = [name for name in state.operation.names if name not in (*ins.tensors, "stored")]
        scales = ("scales",) if ins.scale_a is not None else ()
        return ("product", *others, *ins.tensors, *scales, "lane", "load", "trace")
    matrices = dict.fromkeys(_FIGURES.get(name, name) for name in state.operation.names)
    return ("product", *matrices, "lane", "trace")


#: Options of a figure that the state does not decide: what a cell shows, and what is emphasised.
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
    known = _TENSOR_OPTIONS if tensor else _FIGURE_OPTIONS.get(what, _MATRIX_OPTIONS)
    unknown = [name for name in options if name not in known]
    if unknown:
        options_there_are = listing(known) or "none"
        raise PtxlabError(
            f"the figure {what!r} has no option {quoted(unknown[0])}; it has {options_there_are}"
        )


def check_figure(state: ExplorerState, what: str, options: Mapping[str, Any]) -> None:
    """Refuse a figure that there is not, and an option that it does not have."""
    if not is_name(what, figure_names(state)):
        raise PtxlabError(f"no figure {quoted(what)}; there are {listing(figure_names(state), 12)}")
    tensor = isinstance(state.ins, Tcgen05Mma) and what in state.ins.tensors
    check_figure_options(what, options, tensor=tensor)


def figure_of_selection(state: ExplorerState, selected: Mapping[str, Any]) -> str:
    """The figure of the matrix in which a cell is selected; of the whole product, or of D, if none is.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> figure_of_selection(state, {"name": "E", "row": 3, "column": 1}), figure_of_selection(state, {})
    ('metadata', 'product')
    """
    if isinstance(state.ins, Tcgen05Mma):
        name = str(selected.get("name", "D")).replace("stored", "A")
        return name if name in state.ins.tensors else "D"
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
    ins, operation = state.ins, state.operation
    check_figure(state, what, options)
    if what == "trace":
        trace = state.trace(*cell)
        return views.trace(trace, gpu_note(state, trace))
    if isinstance(ins, Tcgen05Mma) and (what == "load" or what in ins.tensors):
        return _tensor_picture(state, ins, what, chosen_lane, options)
    if what == "lane":
        every = [name for name, operand in ins.operands.items() if operand.layout is not None]
        if isinstance(ins, Tcgen05Mma):
            every = [name for name in ins.tensors if name != "D" or state.chip_choice.is_known]
        registers = {name: state.registers(name) for name in every}
        return views.registers(ins, **{"lane": chosen_lane, "held": registers, **options})
    if what == "metadata":
        return views.metadata(ins, state.codes("E"), operation.copy_index("E"), **options)
    if what == "scales":
        selectors = {
            name: value for name, value in state.options.items() if name.startswith(("byte_id", "thread_id"))
        }
        return views.scales(ins, state.values("SFA"), state.values("SFB"), **selectors, **options)
    shown = {"label": "value", "colour": "lane", "show_c": False, **(display or {})}
    # A map of lanes would say nothing about the values.
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
    """All matrices, or the fragment of a transfer, as an image; "" for what no picture is drawn of."""
    try:
        is_product = state.transfer is None
        drawn = picture(state, "product", display=display) if is_product else form_picture(state.form)
    except PtxlabError:
        return ""
    return static_image(drawn.drawing())


def _tensor_picture(
    state: ExplorerState, ins: Tcgen05Mma, what: str, thread: int, options: Mapping[str, Any]
) -> Picture:
    """A matrix in tensor memory, or what the shown tcgen05.ld gives the chosen thread."""
    load = tensor_load(state)
    if what == "load" and load is not None:
        return views.tensor_registers(load.form, thread % LANES)
    is_empty = what == "D" and not state.chip_choice.is_known
    return views.tensor_memory(ins, what, words=None if is_empty else state.registers(what), **options)


def _in_shared_memory(state: ExplorerState, what: str) -> bool:
    """Whether a matrix, or one of the product, is in shared memory."""
    names = state.operation.names if what == "product" else (what,)
    operands = (state.operation.operand(name) for name in names)
    return any(isinstance(operand, Operand) and operand.space == "shared" for operand in operands)


def gpu_note(state: ExplorerState, trace: Trace) -> str:
    """A note if the D on the screen is not the one that is explained."""
    code = int(state.codes("D")[trace.row, trace.col])
    return "" if code == trace.code else f"the GPU gave 0x{code:x}; this explains the emulator's result"
