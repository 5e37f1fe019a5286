"""Links: the Explorer's state as a text to share.

A link names the seed and the fills that make the operands instead of every register. The state remembers only
the fills that drew random numbers; others are found by comparing registers. Their result is compared with the
operands once more, and what differs is stored as edits or as data.
"""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import is_name
from ..errors import PtxlabError, located, quoted
from ..isa.catalog import Product
from ..isa.mma import MmaForm
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Mma
from .fills import patterns
from .forms import explorable
from .masks import MASKS, option_names
from .start import FIRST_DRAWS, first_transfer
from .state import GPU, ExplorerState, History, with_option
from .transfer import TransferOperation

MAX_FILLS = 128  # of a recipe; operands of later random fills are stored as data
_PREFIX = "ptxlab:"
#: Where `make try` opens it; PTXLAB_PAGE names another place, e.g. for a class without internet.
PAGE = "http://127.0.0.1:8437/try/"
_ADDRESS = re.compile(r"^https?://[^\s#]*#")  # of a page, before the link
_ALL_DATA, _WITH_FILLS = "a", "b"  # versions: the first holds every register, the second is written now
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
    'http://127.0.0.1:8437/try/#ptxlab:bXYZ'
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
    parts: dict[str, tuple[Any, Any]] = {  # each with its default, which is left out
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
    """The link of a transfer: its instruction, its location, and the matrices that were edited."""
    first = first_transfer(transfer.ins, seed=seed)
    changed = {
        name: codes for name, codes in transfer.arrays.items() if not np.array_equal(codes, first.codes(name))
    }
    head = {
        "instruction": transfer.ins.mnemonic,
        "at": list(transfer.location),
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
            "at": [*location],
            "element": str(element),
            "seed": int(seed),
            "look": dict(look),
            "data": list(names),
        } if all(number is None or type(number) is int for number in location):
            pass
        case _:
            raise PtxlabError(DAMAGED_LINK)
    with located("this link cannot be opened"):
        form = explorable(mnemonic)
        if isinstance(form, Product):
            raise PtxlabError(f"{quoted(mnemonic)} moves nothing to or from memory")
        state = ExplorerState(form, seed)
        transfer = first_transfer(form, seed=seed)
        if len(location) != len(transfer.location):
            raise PtxlabError(DAMAGED_LINK)
        transfer = transfer.with_location(*location).with_element(element)
        for name, codes in _words_of_link(transfer, names, body).items():
            transfer = transfer.with_codes(name, codes)
        _ = transfer.result  # raises PtxlabError if words and location do not fit
    state.show(transfer)
    return state, look


def _words_of_link(first: TransferOperation, names: list[Any], body: bytes) -> dict[str, NDArray[Any]]:
    if len(set(map(str, names))) != len(names) or not all(is_name(name, first.inputs) for name in names):
        raise PtxlabError(f"it holds words that {first.ins.mnemonic} does not have")
    return _read_arrays(body, {name: first.codes(name) for name in names}, "words", first.ins.mnemonic)


def _read_arrays(
    body: bytes, like: Mapping[str, NDArray[Any]], what: str, mnemonic: str
) -> dict[str, NDArray[Any]]:
    """Consecutive arrays in the bytes of a link, each with the shape and type of one in `like`."""
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
    """The line of JSON of a link, validated."""

    instruction: str
    a_space: Literal["register", "shared", "tensor"] | None  # None for the default of the mnemonic
    options: dict[str, Any] | None  # None for the defaults
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
        """The parts of a link; one that was damaged, or made by other software, is refused."""
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


#: Defaults of what a link leaves out, and of what links of the first version never have.
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
    """The version of a link, its line of JSON, and the bytes that follow."""
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
        if not unpacker.eof or unpacker.unused_data:  # a damaged link fails its checksum
            raise ValueError
        line, _, body = data.partition(b"\n")
        if len(line) > _LARGEST_HEAD:
            raise ValueError
        return word[:1], json.loads(line), body
    except (ValueError, zlib.error, RecursionError):  # base64 and JSON raise kinds of ValueError
        raise PtxlabError(DAMAGED_LINK) from None


def _state_of_link(head: _Head, body: bytes) -> ExplorerState:
    """The state that a link describes, or a refusal."""
    with located("this link cannot be opened"):
        form = _form_of_link(head)
        state = ExplorerState(form, head.seed)
        options = state.options if head.options is None else head.options
        if not set(options) ^ set(option_names(state.ins)) <= set(MASKS):
            raise PtxlabError(f"its options are not those of {form.mnemonic}")
        operation = state.operation.with_arrays(_arrays_of_link(state, head, body))
        for name, value in options.items():
            operation = with_option(operation, name, value)
        state.commit(operation)
    state.history = History()
    choice = state.chip_choice
    known = (*choice.models, GPU)
    if head.chip is not None and head.chip in known:
        choice.chip = head.chip
    choice.against = head.against if head.against in known else None
    return state


def _form_of_link(head: _Head) -> Product:
    """The instruction of a link, with the place of A and the descriptor that it states."""
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
    """The registers of every operand: made by fills and edits, or stored as data in the order of names."""
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


# -- which fills make the operands of a state --------------------------------------------------------------

_MAX_EDITS = 16  # registers that may differ from a fill; with more, the operand is stored as data

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Fill:
    """A fill of a matrix; one that was overwritten later is not kept and only draws its random numbers."""

    name: str
    pattern: str
    row: int = 0
    column: int = 0
    kept: bool = True


@dataclass(frozen=True)
class Recipe:
    """How to make operands: fills from the seed on, then registers by flat index; `data` names the rest."""

    fills: tuple[Fill, ...]
    edits: Mapping[str, list[tuple[int, int]]]
    data: tuple[str, ...]


def make_arrays(first: ExplorerState, fills: Sequence[Fill]) -> Arrays:
    """The registers that fills make from an unedited state, whose random generator advances.

    >>> import ptxlab
    >>> first = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> hex(make_arrays(first, [Fill("B", "ones")])["B"][0, 0])
    '0x11111111'
    """
    arrays = dict(first.operation.arrays)
    metadata: Arrays = {}
    for fill in fills:
        written = _written(first, fill)
        if fill.kept:
            (metadata if fill.name == "E" else arrays).update(written)
    return arrays | metadata  # a fill of A writes metadata, which a fill of E replaces


def _written(first: ExplorerState, fill: Fill) -> Arrays:
    """The registers that a fill writes, each fill by itself."""
    arrays = first.filled(fill.name, fill.pattern, fill.row, fill.column).arrays
    return {name: arrays[name] for name in _operands_of(first.ins, fill.name)}


def _operands_of(ins: Product, matrix: str) -> tuple[str, ...]:
    """The operands whose registers a matrix is in."""
    if matrix == "A" and ins.sparse:
        return ("A", "E")
    return ("A",) if matrix == "stored" else (matrix,)


def find_recipe(state: ExplorerState) -> Recipe:
    """The fills and few edits that make the operands; an operand without them is data.

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import FillMatrix
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> FillMatrix("A", "random").apply(state)
    >>> find_recipe(state).fills
    (Fill(name='A', pattern='random', row=0, column=0, kept=True),)
    """
    target = state.operation.arrays
    first = ExplorerState(state.ins, state.seed)
    draws = [Fill(*draw) for draw in state.draws[len(FIRST_DRAWS) :][:MAX_FILLS]]
    drawn_arrays = [_written(first, fill) for fill in draws]
    kept: set[int] = set()
    constant_fills: list[Fill] = []
    arrays = dict(first.operation.arrays)
    for name in target:  # A before E, since a fill of A writes both
        operands = _operands_of(state.ins, name)
        least = [_difference(arrays[each], target[each]) for each in operands]
        best: int | Fill | None = None
        made: Arrays = {}
        candidates: list[tuple[int | Fill, Arrays]] = [
            (index, drawn_arrays[index])
            for index, fill in enumerate(draws)
            if _operands_of(state.ins, fill.name)[0] == name
        ]
        if any(least):
            candidates += [(fill, _written(first, fill)) for fill in _constant_fills(state, name)]
        for candidate, written in candidates:  # A counts first: its metadata may have been filled later
            difference = [_difference(written.get(each, arrays[each]), target[each]) for each in operands]
            if difference < least:
                least, best, made = difference, candidate, written
        if best is None or least[0] > _MAX_EDITS:
            continue
        arrays |= made
        if isinstance(best, Fill):
            constant_fills.append(best)
        else:
            kept.add(best)
    needed = draws[: max(kept, default=-1) + 1]
    fills = tuple(
        Fill(fill.name, fill.pattern, kept=index in kept) for index, fill in enumerate(needed)
    ) + tuple(constant_fills)
    return _with_edits(state, fills)


def _with_edits(state: ExplorerState, fills: tuple[Fill, ...]) -> Recipe:
    """The recipe with these fills, completed by edits and data where their result differs."""
    made = make_arrays(ExplorerState(state.ins, state.seed), fills)
    edits: dict[str, list[tuple[int, int]]] = {}
    data: list[str] = []
    for name, array in state.operation.arrays.items():
        indices = np.flatnonzero(made[name].reshape(-1) != array.reshape(-1))
        if indices.size > _MAX_EDITS:
            data.append(name)
        elif indices.size:
            words = array.reshape(-1)[indices]
            edits[name] = list(zip(indices.tolist(), words.tolist(), strict=True))
    return Recipe(fills, edits, tuple(sorted(data)))


def _difference(registers: NDArray[Any], target: NDArray[Any]) -> int:
    return int((registers != target).sum())


def _constant_fills(state: ExplorerState, name: str) -> Iterator[Fill]:
    """Fills of an operand without random numbers; one-hot at the only value that is not 0."""
    for matrix in ("A", "stored") if name == "A" and state.ins.sparse else (name,):
        for pattern in patterns(matrix, state.operation.operand(matrix).dtype):
            if pattern in ("zeros", "ones", "identity", "counting"):
                yield Fill(matrix, pattern)
            elif pattern == "one-hot":
                places = np.argwhere(state.values(matrix) != 0)
                if len(places) == 1:
                    row, column = places[0].tolist()
                    yield Fill(matrix, pattern, row, column)
