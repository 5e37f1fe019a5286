"""A move of the Explorer in other forms: a link to send, and Python code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from ..errors import PtxlabError, quoted
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Transfer
from ..memory import Tcgen05Descriptor
from .export import DAMAGED_LINK, code_literal, pack_link, unpack_line
from .moves import ELEMENTS, Move, MoveState, Words, WrapTransfer, first_move, placed

__all__ = ["move_code", "open_move", "share_move"]


def share_move(state: MoveState, view_traits: Mapping[str, Any]) -> str:
    """The link of a move: its instruction, its address, and the words that are not those it starts with.

    >>> import ptxlab
    >>> state = MoveState(first_move(ptxlab.instruction("tcgen05.ld.sync.aligned.16x64b.x2.b32"), 0x100004))
    >>> again, traits = open_move(share_move(state, {"lane": 9}))
    >>> again.move.lane, again.move.column, traits
    (16, 4, {'lane': 9})
    """
    move, first = state.move, first_move(state.form, seed=state.seed)
    changed = [name for name in _inputs(move) if not np.array_equal(move.words(name), first.words(name))]
    head = {
        "instruction": state.form.mnemonic,
        "at": [move.lane, move.column, move.split],
        "element": move.element,
        "seed": state.seed,
        "look": dict(view_traits),
        "data": changed,
    }
    return pack_link(head, b"".join(move.words(name).astype("<u4").tobytes() for name in changed))


def _inputs(move: Move) -> list[str]:
    return [name for name in move.names if name != "D"]


def open_move(text: str, wrap: WrapTransfer | None = None) -> tuple[MoveState, dict[str, Any]] | None:
    """The move of a link, and the traits of the view; None if the link is of a multiplication."""
    data, body = unpack_line(text)
    if not isinstance(data, dict) or "at" not in data:
        return None
    match data:
        case {
            "instruction": str(mnemonic),
            "at": [int(lane), int(column), (int() | None) as split],
            "element": str(element),
            "seed": int(seed),
            "look": dict(look),
            "data": list(names),
        }:
            pass
        case _:
            raise PtxlabError(DAMAGED_LINK)
    try:
        form = parse_any(mnemonic)
        if not isinstance(form, Tcgen05Transfer):
            raise PtxlabError(f"{quoted(mnemonic)} moves nothing to or from tensor memory")
        first = first_move(form, seed=seed)
        words = _changed(first, names, body)
        move = placed(first, lane, column, split)
        move = replace(move, a=words.get("A", move.a), c=words.get("C", move.c))
        if element not in ELEMENTS:
            raise PtxlabError(f"words are read as b32, f32 or s32, not as {quoted(element)}")
        state = MoveState(replace(move, element=element), seed, wrap)
        _ = state.move.result  # or a refusal
    except PtxlabError as error:
        raise PtxlabError(f"this link cannot be opened: {error}") from None
    return state, look


def _changed(first: Move, names: list[Any], body: bytes) -> dict[str, Words]:
    known = _inputs(first)
    if len(set(map(str, names))) != len(names) or not all(name in known for name in names):
        raise PtxlabError(f"it holds words that {first.form.mnemonic} does not have")
    sizes = [first.words(name).nbytes for name in names]
    if len(body) != sum(sizes):
        raise PtxlabError(f"it holds {len(body)} bytes of words; {first.form.mnemonic} has {sum(sizes)}")
    arrays = {}
    for name, size, end in zip(names, sizes, accumulate(sizes), strict=True):
        words = np.frombuffer(body[end - size : end], "<u4").astype(np.uint32)
        arrays[name] = words.reshape(first.words(name).shape)
    return arrays


def move_code(state: MoveState) -> str:
    """Python that computes D.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    >>> print(move_code(MoveState(first_move(form, 3))), end="")
    import numpy as np
    import ptxlab
    <BLANKLINE>
    ins = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    A = (np.arange(128)[:, None] << 16 | np.arange(32)).astype(np.uint32)
    D = ins.emulate(A, address=0x3)
    """
    move, form = state.move, state.form
    lines = [f'ins = ptxlab.instruction("{form.mnemonic}")']
    lines += [f"{name} = {_literal(move.words(name))}" for name in _inputs(move)]
    takes = _inputs(move)
    if move.descriptor is not None:
        takes = ["memory", "tile", "C"]
        lines += _shared_memory(move, move.descriptor)
    arguments = ", ".join([*takes, f"address=0x{move.address:x}"])
    if move.split is not None:
        arguments += f", split={move.split}"
    if form.reduces or form.compresses:
        lines += [f"parts = ins.emulate({arguments})", "D = np.column_stack(parts)"]
    else:
        lines.append(f"D = ins.emulate({arguments})")
    body = "\n".join(lines)
    imports = "import base64\nimport zlib\n\n" if "zlib." in body else ""
    return f"{imports}import numpy as np\nimport ptxlab\n\n{body}\n"


def _shared_memory(move: Move, tile: Tcgen05Descriptor) -> list[str]:
    """Lines that put A into shared memory, where the descriptor leads to it."""
    rows, words = move.a.shape
    size = int(move.byte_addresses.max()) + 4
    return [
        f"tile = ptxlab.memory.Tcgen05Descriptor(address=0, leading={tile.leading}, stride={tile.stride})",
        f"memory = np.zeros({size}, np.uint8)",
        f"at = tile.addresses(np.arange({rows})[:, None], np.arange({words}), bits=32)",
        "memory.view(np.uint32)[at // 4] = A",
    ]


def _literal(words: Words) -> str:
    rows, columns = words.shape
    if not words.any():
        return f"np.zeros({words.shape}, np.uint32)"
    if np.array_equal(words, np.arange(rows)[:, None] << 16 | np.arange(columns)):
        return f"(np.arange({rows})[:, None] << 16 | np.arange({columns})).astype(np.uint32)"
    return code_literal(words)
