"""B of tcgen05.mma with .decompress::lut::b: indices of 3 bits into a table of eight values of e4m3.

PTX ISA 9.4, "Decompression of input matrices" and "Shared memory descriptor": every 8 columns of B share
eight values, and a column of B is 48 bytes of indices for 128 values of K, of which an instruction uses the
first or the second 24. Where the table is in tensor memory is a picture. Assumed is what the text allows: two
columns, in which lane i has the values of columns 8 i to 8 i + 7 of a CTA's part of B, again in each 32
lanes, as `tcgen05.cp.32x128b.warpx4` brings them there; indices and values lie from the lowest bit on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_int, as_integers, broadcast
from ..errors import PtxlabError, quoted
from ..isa.tcgen05 import Tcgen05Mma
from ..isa.tensor_memory import LANES

#: Bytes of a compressed column of B: 3 bits for each of 128 values of K, of which an instruction uses 64.
COLUMN_BYTES = 48
_SHARING = 8  # columns of B that share a table, and values in it
INDEX_BITS = 3
_COPIES = 32  # lanes after which the table is held again


def _check(form: Tcgen05Mma) -> Tcgen05Mma:
    if not isinstance(form, Tcgen05Mma):
        raise PtxlabError(f"found {quoted(form)}; ptxlab.instruction('tcgen05.mma...') gives such a form")
    if not form.decompress:
        raise PtxlabError(f"{form.mnemonic} has no lookup table; forms with .decompress::lut::b have one")
    return form


def pack_lookup(form: Tcgen05Mma, codes: ArrayLike) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Codes of B [..., K, N] -> bytes of its columns [..., N, 48], and the table's words [..., lanes, 2].

    Indices are in the first 24 bytes of a column. More than eight different values in columns that share a
    table are an error.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b", n=16)
    >>> columns, words = pack_lookup(form, form.b.dtype.encode(np.eye(64, 16)))
    >>> columns[1, :3], [hex(word) for word in words[0]]   # row 1 of column 1 is the second value, 1.0
    (array([8, 0, 0], dtype=uint8), ['0x3800', '0x0'])
    """
    form = _check(form)
    b = form.b.check_codes(codes)
    batch = b.shape[:-2]
    count = math.prod(batch)
    apart = np.moveaxis(b.reshape(count, form.k, form.n // _SHARING, _SHARING), 2, 1)
    slices = apart.reshape(count, form.n // _SHARING, form.k * _SHARING)
    table = np.zeros((*slices.shape[:2], _SHARING), dtype=np.uint8)
    indices = np.empty(slices.shape, dtype=np.uint8)
    for place in np.ndindex(*slices.shape[:2]):
        values, indices[place] = np.unique(slices[place], return_inverse=True)
        if values.size > _SHARING:
            first = _SHARING * place[1]
            raise PtxlabError(
                f"B: columns {first} to {first + _SHARING - 1} have {values.size} different values; with "
                f".decompress::lut::b they share a table of {_SHARING}"
            )
        table[place][: values.size] = values
    by_column = indices.reshape(count, form.n // _SHARING, form.k, _SHARING).swapaxes(2, 3)
    bits = np.unpackbits(by_column[..., None], axis=-1, bitorder="little")[..., :INDEX_BITS]
    used = np.packbits(bits.reshape(count, form.n, form.k * INDEX_BITS), axis=-1, bitorder="little")
    columns = np.zeros((len(used), form.n, COLUMN_BYTES), dtype=np.uint8)
    columns[..., : used.shape[-1]] = used
    words = np.zeros((len(used), form.cta_group, LANES // _COPIES, _COPIES, 2), dtype=np.uint32)
    slices_of_cta = form.n // _SHARING // form.cta_group
    own = table.reshape(len(used), form.cta_group, 1, slices_of_cta, _SHARING)
    words[..., :slices_of_cta, :] = np.ascontiguousarray(own).view("<u4")
    return columns.reshape(*batch, form.n, COLUMN_BYTES), words.reshape(*batch, LANES * form.cta_group, 2)


def unpack_lookup(
    form: Tcgen05Mma, columns: ArrayLike, words: ArrayLike, segment: int = 0
) -> NDArray[np.uint8]:
    """The inverse of `pack_lookup`: codes of B from the first or the second half of its columns' bytes.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b", n=16)
    >>> B = np.random.default_rng(0).integers(0, 8, (64, 16), dtype=np.uint8)
    >>> (unpack_lookup(form, *pack_lookup(form, B)) == B).all()
    np.True_
    """
    form = _check(form)
    segment = as_int(segment, "segment")
    if segment not in (0, 1):
        raise PtxlabError(f"segment={quoted(segment)}: it is 0 or 1")
    stored = _sized(columns, "columns", (form.n, COLUMN_BYTES), 1)
    table = _sized(words, "words", (LANES * form.cta_group, 2), 4)
    half = COLUMN_BYTES // 2
    bits = np.unpackbits(stored[..., half * segment : half * (segment + 1)], axis=-1, bitorder="little")
    weights = (1 << np.arange(INDEX_BITS)).astype(np.uint8)
    indices = (bits.reshape(*stored.shape[:-1], form.k, INDEX_BITS) * weights).sum(axis=-1, dtype=np.uint8)
    slices = form.n // _SHARING // form.cta_group
    lanes = (np.arange(form.cta_group)[:, None] * LANES + np.arange(slices)).reshape(-1)
    values = np.ascontiguousarray(table[..., lanes, :]).view(np.uint8)  # [..., slices, 8]
    of_columns = np.repeat(values, _SHARING, axis=-2)
    batch = broadcast("columns and words", {"columns": stored.shape[:-2], "words": table.shape[:-2]})
    of_columns = np.broadcast_to(of_columns, (*batch, *of_columns.shape[-2:]))
    indices = np.broadcast_to(indices, (*batch, *indices.shape[-2:]))
    codes = np.take_along_axis(of_columns, indices.astype(np.intp), axis=-1)
    return np.swapaxes(codes, -1, -2)


def _sized(array: ArrayLike, name: str, shape: tuple[int, int], size: int) -> NDArray[Any]:
    """An array of unsigned integers of that many bytes whose last axes have that shape."""
    integers = as_integers(array, name)
    if integers.shape[-2:] != shape:
        raise PtxlabError(f"{name}: found shape {integers.shape}; it takes [..., {shape[0]}, {shape[1]}]")
    outside = (integers < 0) | (integers >= 1 << 8 * size)
    if outside.any():
        raise PtxlabError(
            f"{name}: found {integers[outside][0]}; it takes unsigned numbers of {8 * size} bits"
        )
    return integers.astype(f"<u{size}")
