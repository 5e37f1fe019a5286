"""Links: a document as a text to share, made of the messages since the Explorer opened.

A link has the instruction, the seed, and the log of messages (`history.Log`). Arrays that came from Python, and
those of a log that grew too long, are in it whole, before the messages after them.
"""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, listing, located, quoted
from ..isa.catalog import Product
from ..isa.mma import MmaForm
from ..isa.tcgen05 import Tcgen05Mma
from . import edits
from .document import Document
from .edits import Edit, FillMatrix
from .forms import Explorable, explorable
from .history import MAX_LOGGED, Log, Logged
from .masks import MASKS, option_names
from .messages import decode, message_name
from .product_document import GPU, ProductDocument
from .start import first_document
from .state import ExplorerState

_PREFIX = "ptxlab:"
#: Where `make try` opens it; PTXLAB_PAGE names another place, e.g. for a class without internet.
PAGE = "http://127.0.0.1:8437/try/"
_ADDRESS = re.compile(r"^https?://[^\s#]*#")  # of a page, before the link
#: Versions: the first has every register, the second the fills that make some; the third is written now.
_ALL_DATA, _WITH_FILLS, _WITH_LOG = "a", "b", "c"
_VERSIONS = (_ALL_DATA, _WITH_FILLS, _WITH_LOG)
_LONGEST_LINK = 1 << 22  # letters
_LARGEST = 1 << 22  # bytes of a state, several times those of the largest instruction
_LARGEST_HEAD = 1 << 13  # bytes of its line of JSON
_LONGEST_MNEMONIC = 300  # letters; the longest has 135
DAMAGED_LINK = "this link is damaged: copy all of it again, from ptxlab: to its last letter"

#: The messages of a log, by their names on the page.
_LOGGED: dict[str, type[Edit]] = {
    message_name(kind): kind
    for kind in (
        edits.SetCell, edits.Paste, edits.ClearCells, edits.ExtendCells, edits.FillMatrix, edits.SetRegister,
        edits.FlipBit, edits.SetOption, edits.SetMask, edits.SetMove,
    )
}  # fmt: skip
_UNDONE = "undone"  # in place of the name: a fill that was undone only draws its random numbers


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
    """The link, compressed: a line of JSON, and the arrays that no message makes.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), seed=7)
    >>> link = share_link(state, {"lane": 4})
    >>> again, view_traits = open_link(link)
    >>> view_traits, bool((again.codes("D") == state.codes("D")).all()), len(link) < 150
    ({'lane': 4}, True, True)
    """
    logs = [state.log]
    if state.log.start is not state.document and not state.log.draws:
        logs.append(Log(state.document))  # without the random numbers that follow
    links = [link for log in logs if (link := _link(state, log, view_traits))]
    return min(links, key=len) if links else _link(state, Log(state.document), view_traits)


def _link(state: ExplorerState, log: Log, view_traits: Mapping[str, Any]) -> str:
    """The link with a log; "" if that is too long for one."""
    start, first = log.start, first_document(log.start.ins, state.seed, np.random.default_rng(state.seed))
    changed = {
        name: array for name, array in start.arrays.items() if not np.array_equal(array, first.arrays[name])
    }
    # where few words differ from the first ones, what differs is shorter
    over = [name for name, array in changed.items() if (array != first.arrays[name]).mean() < 0.5]
    changed |= {name: changed[name] ^ first.arrays[name] for name in over}
    parts: dict[str, tuple[Any, Any]] = {  # each with its default, which is left out
        "seed": (state.seed, 0),
        "look": (dict(view_traits), {}),
        "data": (list(changed), []),
        "over": (over, []),
        "log": ([_words_of(logged) for logged in log.messages], []),
    }
    if isinstance(start, ProductDocument) and isinstance(first, ProductDocument):
        tensor, choice = isinstance(start.ins, Tcgen05Mma), state.chip_choice
        parts |= {
            "a": (start.ins.a_space, "shared" if tensor else "register"),
            "idesc": (start.ins.descriptor.code if isinstance(start.ins, Tcgen05Mma) else None, None),
            "options": (start.options, first.options),
            "chip": (choice.chip, choice.first),
            "against": (choice.against, None),
        }
    else:
        transfer = start.transfer
        parts |= {"at": (list(transfer.location), None), "element": (transfer.element, None)}
    head = {"instruction": start.ins.mnemonic}
    head |= {name: part for name, (part, default) in parts.items() if part != default}
    line = json.dumps(head, separators=(",", ":")).encode()
    if len(line) > _LARGEST_HEAD:
        return ""
    packed = zlib.compress(line + b"\n" + _little_endian(changed.values()), 9)
    return _PREFIX + _WITH_LOG + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _words_of(logged: Logged) -> list[Any]:
    """A message as a list: its name, and its fields up to the last that has not its default."""
    edit = logged.edit
    words = [message_name(type(edit)) if logged.kept else _UNDONE]
    words += [getattr(edit, field.name) for field in fields(edit)]
    for field in reversed(fields(edit)):
        if field.default is MISSING or words[-1] != field.default:
            break
        words.pop()
    return words


def _little_endian(arrays: Iterable[NDArray[Any]]) -> bytes:
    return b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays)


# -- opening -------------------------------------------------------------------------------------------------


def open_link(text: str) -> tuple[ExplorerState, dict[str, Any]]:
    """The state of a link, and the traits of the view."""
    version, data, body = _unpack_line(text)
    head = _Head.of(data, version)
    with located("this link cannot be opened"):
        return _state_of_link(head, body), head.view_traits


def _unpack_line(text: str) -> tuple[str, object, bytes]:
    """The version of a link, its line of JSON, and the bytes that follow."""
    if not is_link(text):
        raise PtxlabError(f"found {quoted(text)}; a link begins with {_PREFIX}")
    if len(text) > _LONGEST_LINK:
        raise PtxlabError(f"this link has {len(text)} letters; the Explorer's have at most {_LONGEST_LINK}")
    word = _ADDRESS.sub("", "".join(text.split()), count=1).removeprefix(_PREFIX)
    if word[:1] not in _VERSIONS:
        raise PtxlabError(
            f"this link is of version {word[:1]!r}, which this ptxlab cannot open; "
            f"it opens versions {listing(map(repr, _VERSIONS))}"
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


@dataclass(frozen=True)
class _Head:
    """The line of JSON of a link, validated."""

    instruction: str
    a_space: str | None  # None for the default of the mnemonic
    descriptor: int | None  # of tcgen05.mma
    options: dict[str, Any] | None  # None for the defaults
    chip: str | None
    against: str | None
    location: list[int | None] | None  # of a transfer
    element: str | None
    seed: int
    view_traits: dict[str, Any]
    names: list[str] | None  # of the arrays that follow; None for all of them
    over: list[str]  # of those that are given as what differs from the first ones
    log: tuple[Logged, ...]
    fills: tuple[Logged, ...]  # of the second version, each made by itself
    words: dict[str, list[tuple[int, int]]]  # of the second version: arrays, changed at flat indices

    @classmethod
    def of(cls, data: object, version: str) -> _Head:
        """The parts of a link; one that was damaged, or made by other software, is refused."""
        data = {**_LEFT_OUT, **data} if isinstance(data, dict) else data
        match data:
            case {
                "instruction": str(instruction),
                "a": ("register" | "shared" | "tensor" | None) as a_space,
                "idesc": int(descriptor) | (None as descriptor),
                "options": dict(options) | (None as options),
                "chip": str(chip) | (None as chip),
                "against": str(against) | (None as against),
                "at": list(location) | (None as location),
                "element": str(element) | (None as element),
                "seed": int(seed),
                "look": dict(view_traits),
                "data": list(names),
                "over": list(over),
                "log": list(log),
                "fills": list(fills),
                "skipped": list(skipped),
                "edits": dict(words),
            } if (
                all(type(number) is int for number in (seed, *skipped))
                and all(number is None or type(number) is int for number in location or ())
                and all(isinstance(name, str) for name in (*names, *over))
                and len(instruction) <= _LONGEST_MNEMONIC
                and max(len(log), len(fills)) <= MAX_LOGGED
            ):
                return cls(
                    instruction, a_space, descriptor, options, chip, against, location, element, seed,
                    view_traits, None if version == _ALL_DATA else names, over, tuple(map(_logged, log)),
                    tuple(Logged(_fill_of(fill), index not in skipped) for index, fill in enumerate(fills)),
                    {str(name): _words_at(pairs) for name, pairs in words.items()},
                )  # fmt: skip
        raise PtxlabError(DAMAGED_LINK)


#: Defaults of what a link leaves out.
_LEFT_OUT: dict[str, Any] = {
    "a": None, "idesc": None, "options": None, "chip": None, "against": None, "at": None, "element": None,
    "seed": 0, "look": {}, "data": [], "over": [], "log": [], "fills": [], "skipped": [], "edits": {},
}  # fmt: skip


def _logged(words: object) -> Logged:
    """A message of a log, checked like one of the page."""
    match words:
        case [str(name), *values]:
            pass
        case _:
            raise PtxlabError(DAMAGED_LINK)
    kind = FillMatrix if name == _UNDONE else _LOGGED.get(name)
    if kind is None:
        raise PtxlabError(
            f"this ptxlab has no message {quoted(name)} in links; the version that made the link has"
        )
    known = fields(kind)
    if len(values) > len(known):
        raise PtxlabError(DAMAGED_LINK)
    given = {field.name: value for field, value in zip(known, values, strict=False)}
    left_out = {field.name: field.default for field in known[len(values) :] if field.default is not MISSING}
    message = {"type": message_name(kind), **given, **left_out}
    return Logged(decode(message, _LOGGED), kept=name != _UNDONE)


def _fill_of(words: object) -> FillMatrix:
    match words:
        case [str(), str()] | [str(), str(), int(), int()]:
            return FillMatrix(*words)
    raise PtxlabError(DAMAGED_LINK)


def _words_at(pairs: object) -> list[tuple[int, int]]:
    pairs = pairs if isinstance(pairs, list) else [pairs]
    if not all(isinstance(pair, list) and [type(number) for number in pair] == [int, int] for pair in pairs):
        raise PtxlabError(DAMAGED_LINK)
    return [(index, content) for index, content in pairs]


def _state_of_link(head: _Head, body: bytes) -> ExplorerState:
    """The state that a link describes, or a refusal."""
    state = ExplorerState(_form_of_link(head), head.seed)
    made = _made_by_fills(state, head)
    state.open(_start(state.document, head, made | _arrays_of_link(state.document, head, made, body)))
    for edit, kept in head.log:
        document = state.edited(edit)
        if kept:
            state.document = document
    state.log = Log(state.log.start, head.log, len(state.drawn) if head.log else 0)
    state.document.check()
    if isinstance(state.document, ProductDocument):
        choice = state.chip_choice
        known = (*choice.models, GPU)
        chip = head.chip if head.chip is not None and head.chip in known else choice.chip
        state.show_chips(chip, head.against if head.against in known else None)
    return state


def _form_of_link(head: _Head) -> Explorable:
    """The instruction of a link, with the place of A and the descriptor that it states."""
    try:
        form = explorable(head.instruction)
    except PtxlabError:
        raise PtxlabError(
            f"this ptxlab has no instruction {quoted(head.instruction)}; the version that made the link has"
        ) from None
    if isinstance(form, Product) != (head.location is None):
        does = "multiplies matrices" if isinstance(form, Product) else "transfers a matrix"
        raise PtxlabError(f"{form.mnemonic} {does}, and the link is of an instruction that does not")
    if isinstance(form, MmaForm):
        if head.descriptor is not None or head.a_space == "tensor":
            raise PtxlabError(DAMAGED_LINK)
        return form if head.a_space is None else form.a_from(head.a_space)
    if isinstance(form, Tcgen05Mma) and head.descriptor is not None:
        form = form.with_descriptor(head.descriptor)
    return form.a_from("tensor") if isinstance(form, Tcgen05Mma) and head.a_space == "tensor" else form


def _made_by_fills(state: ExplorerState, head: _Head) -> dict[str, NDArray[Any]]:
    """The arrays as the fills of the second version make them: each from the first document, by itself."""
    first = dict(state.document.arrays)
    made, metadata = dict(first), dict[str, NDArray[Any]]()
    for edit, kept in head.fills:
        written = state.edited(edit).arrays
        name = "A" if edit.name == "stored" else edit.name
        names = ("A", "E") if edit.name == "A" and "E" in written else (name,)
        if kept:
            (metadata if name == "E" else made).update({each: written[each] for each in names})
    made |= metadata  # a fill of A writes metadata, which a fill of E replaces
    for name, pairs in head.words.items():
        if name not in made:
            raise PtxlabError(f"it changes {quoted(name)}, which {state.form.mnemonic} does not have")
        made[name] = made[name].copy()
        for index, content in pairs:
            if not (0 <= index < made[name].size and 0 <= content <= np.iinfo(made[name].dtype).max):
                raise PtxlabError(DAMAGED_LINK)
            made[name].flat[index] = content
    return made


def _arrays_of_link(
    first: Document, head: _Head, made: Mapping[str, NDArray[Any]], body: bytes
) -> dict[str, NDArray[Any]]:
    """The arrays that follow the line, each with the shape and type of the first document's."""
    names = sorted(made) if head.names is None else head.names
    if not set(names) <= set(made) or len(set(names)) != len(names) or not set(head.over) <= set(names):
        raise PtxlabError(f"it holds registers that {first.ins.mnemonic} does not have")
    size = sum(made[name].nbytes for name in names)
    if len(body) != size:
        raise PtxlabError(f"it holds {len(body)} bytes of registers; {first.ins.mnemonic} has {size}")
    arrays, at = {}, 0
    for name in names:
        like = made[name]
        words = np.frombuffer(body, like.dtype.newbyteorder("<"), like.size, at).reshape(like.shape)
        arrays[name], at = words.astype(like.dtype), at + like.nbytes
        if name in head.over:
            arrays[name] ^= first.arrays[name]
    return arrays


def _start(first: Document, head: _Head, arrays: Mapping[str, NDArray[Any]]) -> Document:
    """The document from which the messages of a link go."""
    if isinstance(first, ProductDocument):
        options = first.options if head.options is None else head.options
        if not set(options) ^ set(option_names(first.ins)) <= set(MASKS):
            raise PtxlabError(f"its options are not those of {first.ins.mnemonic}")
        operands = {operand.name: operand for operand in first.ins.inputs.values()}
        checked = {name: operands[name].check_registers(array) for name, array in arrays.items()}
        document = first.with_operation(first.operation.with_arrays(checked))
        for name, value in options.items():
            document = document.with_option(name, value)
        return document
    transfer = first.transfer
    if head.location is None or head.element is None or len(head.location) != len(transfer.location):
        raise PtxlabError(DAMAGED_LINK)
    transfer = transfer.with_location(*head.location).with_element(head.element)
    for name, codes in arrays.items():
        transfer = transfer.with_codes(name, codes)
    return transfer
