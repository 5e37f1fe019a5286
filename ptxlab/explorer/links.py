"""Links: a document as a text to share, made of the messages since the Explorer opened.

A link has the instruction, the seed, and the log of messages (`history.Log`). Arrays that came from Python,
and those of a log that grew too long, are in it whole, before the messages after them.
"""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import is_name
from ..errors import PtxlabError, error_prefix, listing, quoted
from ..isa.catalog import Product
from ..isa.mma import Instruction
from ..isa.tcgen05 import TensorInstruction
from . import edits
from .documents.document import Document, as_product
from .documents.forms import Explorable, explorable
from .documents.masks import MASKS, option_names
from .documents.product_document import GPU, ProductDocument
from .documents.start import first_document
from .edits import Edit, FillMatrix
from .history import MAX_LOGGED, Generator, Log, Logged
from .message import decode, message_name
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
        edits.FlipBit, edits.SetOption, edits.SetMask, edits.SetTransfer,
    )
}  # fmt: skip


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
    head: dict[str, Any] = {
        "instruction": start.ins.mnemonic,
        "seed": state.seed,
        "look": dict(view_traits),
        "data": list(changed),
        "over": over,
        "log": [_words_of(logged) for logged in log.messages],
    }
    if isinstance(start, ProductDocument):
        tensor, choice = isinstance(start.ins, TensorInstruction), state.chip_choice
        head |= {
            "a": None if start.ins.a_space == ("shared" if tensor else "register") else start.ins.a_space,
            "idesc": start.ins.descriptor.code if isinstance(start.ins, TensorInstruction) else None,
            "options": None if start.options == as_product(first).options else start.options,
            "chip": None if choice.chip == choice.first else choice.chip,
            "against": choice.against,
        }
    else:
        head |= {"at": list(start.location), "element": start.element}
    head = {name: part for name, part in head.items() if part != _PARTS[name][1]}
    line = json.dumps(head, separators=(",", ":")).encode()
    if len(line) > _LARGEST_HEAD:
        return ""
    body = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in changed.values())
    packed = zlib.compress(line + b"\n" + body, 9)
    return _PREFIX + _WITH_LOG + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _words_of(logged: Logged) -> list[Any]:
    """A message as a list: its name, with the state of the generator behind an @, and its fields."""
    name, generator = message_name(type(logged.edit)), logged.generator
    if generator is not None:
        name += f"@{generator['state']['state']:x}"
        name += f"/{generator['uinteger']:x}" if generator["has_uint32"] else ""
    return [name, *vars(logged.edit).values()]


# -- opening -------------------------------------------------------------------------------------------------


def open_link(text: str) -> tuple[ExplorerState, dict[str, Any]]:
    """The state of a link, and the values of its page."""
    version, data, body = _unpack_line(text)
    head = _check_head(data, version)
    with error_prefix("this link cannot be opened"):
        state = ExplorerState(_form_of_link(head), head["seed"])
        state.open(_start(state, head, body))
        start, messages = state.document, list[Logged]()
        for words in head["log"]:
            edit, generator = _read_message(words, state.random.bit_generator.state)
            if generator is not None:
                state.random.bit_generator.state = generator
            state.document = edit.edited(state.document, state.random)
            messages.append(Logged(edit, generator))
        state.log = Log(start, tuple(messages), None if head["fills"] else state.random.bit_generator.state)
        state.document.check()
        if isinstance(state.document, ProductDocument):
            choice = state.chip_choice
            chip, against = (
                name if name in (*choice.models, GPU) else None for name in (head["chip"], head["against"])
            )
            state.show_chips(chip or choice.chip, against)
        return state, head["look"]


def _whole(is_whole: bool) -> None:
    """Refuse a link that was damaged, or made by other software."""
    if not is_whole:
        raise PtxlabError(DAMAGED_LINK)


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


_NONE = type(None)
#: What the line of JSON has: for each part its types, and its default, which is left out.
_PARTS: dict[str, tuple[tuple[type, ...], Any]] = {
    "instruction": ((str,), None),
    "a": ((str, _NONE), None),  # where A of wgmma or tcgen05.mma is
    "idesc": ((int, _NONE), None),  # the instruction descriptor of tcgen05.mma
    "options": ((dict, _NONE), None),
    "chip": ((str, _NONE), None),
    "against": ((str, _NONE), None),
    "at": ((list, _NONE), None),  # the location of a transfer
    "element": ((str, _NONE), None),
    "seed": ((int,), 0),
    "look": ((dict,), {}),
    "data": ((list, _NONE), []),  # the names of the arrays that follow; None for all of them
    "over": ((list,), []),  # of those that are given as what differs from the first ones
    "log": ((list,), []),
    "fills": ((list,), []),  # of the second version: fills, those that only draw random numbers,
    "skipped": ((list,), []),
    "edits": ((dict,), {}),  # and words by operand and flat index
}


def _check_head(data: object, version: str) -> dict[str, Any]:
    """The line of JSON with its defaults; one that was damaged, or made by other software, is refused."""
    head = {name: default for name, (_, default) in _PARTS.items()}
    if version == _ALL_DATA:
        head["data"] = None
    if isinstance(data, dict):
        head |= data
    _whole(all(type(head[name]) in types for name, (types, _) in _PARTS.items()))
    _whole(len(head["instruction"]) <= _LONGEST_MNEMONIC)
    _whole(max(len(head["log"]), len(head["fills"])) <= MAX_LOGGED)
    return head


#: The state of a generator in a link: that of PCG64, and the half that is left of a number of 64 bits.
_GENERATOR = re.compile(r"([0-9a-f]{1,32})(?:/([0-9a-f]{1,8}))?")


def _read_message(words: object, generator: Generator) -> tuple[Edit, Generator | None]:
    """A message of a log, checked like one of the page, and the state of the generator that it sets.

    A field that later versions added has its default.
    """
    match words:
        case [str(name), *values] if (parts := name.partition("@"))[0] in _LOGGED:
            name, at, place = parts
        case _:
            raise PtxlabError(
                f"this ptxlab has no message {quoted(words)}; the version that made the link has"
            )
    state = _GENERATOR.fullmatch(place)
    _whole(state is not None or not at)
    defaults = {field.name: field.default for field in fields(_LOGGED[name])}
    message = {field: default for field, default in defaults.items() if default is not MISSING}
    message |= dict(zip(defaults, values, strict=False))
    edit = decode({"type": name, **message}, _LOGGED)
    if state is None:
        return edit, None
    return edit, {
        **generator,
        "state": {**generator["state"], "state": int(state[1], 16)},
        "has_uint32": int(state[2] is not None),
        "uinteger": int(state[2] or "0", 16),
    }


def _form_of_link(head: Mapping[str, Any]) -> Explorable:
    """The instruction of a link, with the place of A and the descriptor that it states."""
    mnemonic, a_space, descriptor = head["instruction"], head["a"], head["idesc"]
    try:
        form = explorable(mnemonic)
    except PtxlabError:
        raise PtxlabError(
            f"this ptxlab has no instruction {quoted(mnemonic)}; the version that made the link has"
        ) from None
    _whole(isinstance(form, Product) == (head["at"] is None))
    if isinstance(form, Instruction):
        _whole(descriptor is None and a_space != "tensor")
        return form if a_space is None else form.a_from(a_space)
    if isinstance(form, TensorInstruction) and descriptor is not None:
        form = form.with_descriptor(descriptor)
    return form.a_from("tensor") if isinstance(form, TensorInstruction) and a_space == "tensor" else form


def _start(state: ExplorerState, head: Mapping[str, Any], body: bytes) -> Document:
    """The document from which the messages of a link go."""
    first = state.document
    arrays = _read_arrays(first, head, _made_by_fills(state, head), body)
    if isinstance(first, ProductDocument):
        options = first.options if head["options"] is None else head["options"]
        if not set(options) ^ set(option_names(first.ins)) <= set(MASKS):
            raise PtxlabError(f"its options are not those of {first.ins.mnemonic}")
        operands = {operand.name: operand for operand in first.ins.inputs.values()}
        checked = {name: operands[name].check_registers(array) for name, array in arrays.items()}
        document = first.with_operation(first.operation.with_arrays(checked))
        for name, value in options.items():
            document = document.with_option(name, value)
        return document
    location, element = head["at"], head["element"]
    _whole(all(number is None or type(number) is int for number in location))
    _whole(len(location) == len(first.location) and element is not None)
    transfer = first.with_location(*location).with_element(element)
    for name, codes in arrays.items():
        transfer = transfer.with_codes(name, codes)
    return transfer


def _read_arrays(
    first: Document, head: Mapping[str, Any], made: dict[str, NDArray[Any]], body: bytes
) -> dict[str, NDArray[Any]]:
    """The arrays that fills made, and those that follow the line, shaped as in the first document."""
    names = sorted(made) if head["data"] is None else head["data"]
    is_known = all(is_name(name, made) for name in (*names, *head["over"]))
    if not is_known or len(set(names)) != len(names) or not set(head["over"]) <= set(names):
        raise PtxlabError(f"it holds registers that {first.ins.mnemonic} does not have")
    size = sum(made[name].nbytes for name in names)
    if len(body) != size:
        raise PtxlabError(f"it holds {len(body)} bytes of registers; {first.ins.mnemonic} has {size}")
    arrays, at = dict(made), 0
    for name in names:
        like = made[name]
        words = np.frombuffer(body, like.dtype.newbyteorder("<"), like.size, at).reshape(like.shape)
        arrays[name], at = words.astype(like.dtype), at + like.nbytes
        if name in head["over"]:
            arrays[name] ^= first.arrays[name]
    return arrays


def _made_by_fills(state: ExplorerState, head: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays as fills of the second version make them: each from the first document, by itself."""
    made, metadata = dict(state.document.arrays), dict[str, NDArray[Any]]()
    for index, words in enumerate(head["fills"]):
        types = [type(word) for word in words] if isinstance(words, list) else []
        _whole(types in ([str, str], [str, str, int, int]))
        written = FillMatrix(*words).edited(state.document, state.random).arrays
        if index not in head["skipped"]:
            name = "A" if words[0] == "stored" else words[0]
            target = metadata if name == "E" else made
            target[name] = written[name]
            if words[0] == "A" and "E" in written:
                made["E"] = written["E"]
    made |= metadata  # a fill of A writes metadata, which a fill of E replaces
    for name, pairs in head["edits"].items():
        if name not in made:
            raise PtxlabError(f"it changes {quoted(name)}, which {state.form.mnemonic} does not have")
        made[name] = made[name].copy()
        for pair in pairs if isinstance(pairs, list) else [pairs]:
            _whole(isinstance(pair, list) and [type(number) for number in pair] == [int, int])
            index, content = pair
            _whole(0 <= index < made[name].size and 0 <= content <= np.iinfo(made[name].dtype).max)
            made[name].flat[index] = content
    return made
