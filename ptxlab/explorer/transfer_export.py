"""A transfer of the Explorer in other forms: a link to send, and Python code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from ..errors import PtxlabError, quoted
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Transfer
from .export import DAMAGED_LINK, code_literal, pack_link, unpack_line
from .word_transfer import ELEMENTS, CopyTransfer, Words, WordTransfer, first_transfer, placed


def share_transfer(transfer: WordTransfer, seed: int, view_traits: Mapping[str, Any]) -> str:
    """The link of a transfer: its instruction, its address, and the words that are not those it starts with.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.ld.sync.aligned.16x64b.x2.b32")
    >>> link = share_transfer(first_transfer(form, address=0x100004), 0, {"lane": 9})
    >>> again, seed, traits = open_transfer(link)
    >>> again.lane, again.column, seed, traits
    (16, 4, 0, {'lane': 9})
    """
    first = first_transfer(transfer.form, seed=seed)
    changed = [
        name for name in transfer.inputs if not np.array_equal(transfer.words(name), first.words(name))
    ]
    head = {
        "instruction": transfer.form.mnemonic,
        "at": [transfer.lane, transfer.column, transfer.split],
        "element": transfer.element,
        "seed": seed,
        "look": dict(view_traits),
        "data": changed,
    }
    return pack_link(head, b"".join(transfer.words(name).astype("<u4").tobytes() for name in changed))


def open_transfer(text: str) -> tuple[WordTransfer, int, dict[str, Any]] | None:
    """The transfer of a link, its seed and the traits of the view; None if it is of a multiplication."""
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
        first = first_transfer(form, seed=seed)
        words = _changed(first, names, body)
        transfer = placed(first, lane, column, split)
        transfer = replace(transfer, a=words.get("A", transfer.a), c=words.get("C", transfer.c))
        if element not in ELEMENTS:
            raise PtxlabError(f"words are read as b32, f32 or s32, not as {quoted(element)}")
        transfer = replace(transfer, element=element)
        _ = transfer.result  # or a refusal
    except PtxlabError as error:
        raise PtxlabError(f"this link cannot be opened: {error}") from None
    return transfer, seed, look


def _changed(first: WordTransfer, names: list[Any], body: bytes) -> dict[str, Words]:
    known = first.inputs
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


def transfer_code(transfer: WordTransfer) -> str:
    """Python that computes D.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    >>> print(transfer_code(first_transfer(form, 3)), end="")
    import numpy as np
    import ptxlab
    <BLANKLINE>
    ins = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    A = (np.arange(128)[:, None] << 16 | np.arange(32)).astype(np.uint32)
    D = ins.emulate(A, address=0x3)
    """
    form = transfer.form
    lines = [f'ins = ptxlab.instruction("{form.mnemonic}")']
    lines += [f"{name} = {_literal(transfer.words(name))}" for name in transfer.inputs]
    takes = transfer.inputs
    if isinstance(transfer, CopyTransfer):
        takes = ("memory", "tile", "C")
        lines += _shared_memory(transfer)
    arguments = ", ".join([*takes, f"address=0x{transfer.address:x}"])
    if transfer.split is not None:
        arguments += f", split={transfer.split}"
    if form.reduces or form.compresses:
        lines += [f"parts = ins.emulate({arguments})", "D = np.column_stack(parts)"]
    else:
        lines.append(f"D = ins.emulate({arguments})")
    body = "\n".join(lines)
    imports = "import base64\nimport zlib\n\n" if "zlib." in body else ""
    return f"{imports}import numpy as np\nimport ptxlab\n\n{body}\n"


def _shared_memory(transfer: CopyTransfer) -> list[str]:
    """Lines that put A into shared memory, where the descriptor leads to it."""
    (rows, words), tile = transfer.a.shape, transfer.descriptor
    size = int(transfer.byte_addresses.max()) + 4
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
