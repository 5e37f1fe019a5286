"""A bench as a short text that can be sent to somebody, and back."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import PtxlabError
from ..isa.parse import parse_mma
from .history import History, State
from .state import GPU, Bench

__all__ = ["is_link", "opened", "shared"]

_PREFIX, _VERSION = "ptxlab:", "a"
_LARGEST = 1 << 22  # bytes of a bench, several times those of the largest instruction


def is_link(text: Any) -> bool:
    """Whether a text means to be a link.

    >>> is_link("ptxlab:aXYZ"), is_link("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    (True, False)
    """
    return isinstance(text, str) and text.strip().startswith(_PREFIX)


def shared(bench: Bench, look: Mapping[str, Any]) -> str:
    """The link: a line of JSON (instruction, options, chips, how it looks) and all registers, compressed.

    >>> import ptxlab
    >>> bench = Bench(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> again, look = opened(shared(bench, {"lane": 4}))
    >>> again.ins is bench.ins, look, bool((again.codes("D") == bench.codes("D")).all())
    (True, {'lane': 4}, True)
    """
    head = {
        "instruction": bench.ins.mnemonic, "a": bench.ins.a_space, "options": bench.options, "chip": bench.chip, "against": bench.against,
        "seed": bench.seed, "look": dict(look),
    }  # fmt: skip
    held = bench.state.held
    body = b"".join(held[name].astype(held[name].dtype.newbyteorder("<")).tobytes() for name in sorted(held))
    packed = zlib.compress(json.dumps(head, separators=(",", ":")).encode() + b"\n" + body, 9)
    return _PREFIX + _VERSION + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def opened(text: str) -> tuple[Bench, dict[str, Any]]:
    """The bench of a link, and how it looked."""
    word = "".join(text.split()).removeprefix(_PREFIX)
    if word[:1] != _VERSION:
        raise PtxlabError(
            f"this link is of version {word[:1]!r}, which ptxlab does not know here; it opens version {_VERSION!r}"
        )
    try:
        head, body = _unpacked(word[1:])
        ins = parse_mma(str(head["instruction"]))
        if head["a"] != ins.a_space:
            if head["a"] != "shared" or not ins.family.startswith("wgmma"):
                raise ValueError
            ins = ins.a_from("shared")
        bench = Bench(ins, int(head["seed"]))
        held = {}
        for name in sorted(bench.state.held):
            like = bench.state.held[name]
            held[name] = (
                np.frombuffer(body[: like.nbytes], like.dtype.newbyteorder("<"))
                .reshape(like.shape)
                .astype(like.dtype)
            )
            body = body[like.nbytes :]
        if body or set(head["options"]) != set(bench.options) or not isinstance(head["look"], dict):
            raise ValueError
        bench.restore(State(held, head["options"]))
        bench.chip = head["chip"] if head["chip"] in (*bench.chips, GPU) else bench.chip
        bench.against = head["against"] if head["against"] in (*bench.chips, GPU) else None
        bench.history = History()
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        zlib.error,
        binascii.Error,
        OverflowError,
        RecursionError,
    ):
        raise PtxlabError(
            "this link is damaged: copy it again whole, from ptxlab: to its last letter"
        ) from None
    return bench, head["look"]


def _unpacked(word: str) -> tuple[dict[str, Any], bytes]:
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(
        base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True), _LARGEST
    )
    if not unpacker.eof or unpacker.unused_data:  # its end holds the checksum
        raise ValueError
    head, _, body = data.partition(b"\n")
    return json.loads(head), body
