"""PTX inside machine code: compilers of tiles leave it in the section `.nv_debug_ptx_txt` of a cubin."""

from __future__ import annotations

import struct

from ..errors import PtxlabError

_SECTION = b".nv_debug_ptx_txt"


def embedded_ptx(cubin: bytes) -> str:
    """The PTX that a cubin was assembled from; its lines end with a zero byte there.

    >>> embedded_ptx(b"nonsense")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: these 8 bytes are no cubin, which begins with 7f 45 4c 46
    """
    if cubin[:4] != b"\x7fELF":
        raise PtxlabError(f"these {len(cubin)} bytes are no cubin, which begins with 7f 45 4c 46")
    try:
        (table,) = struct.unpack_from("<Q", cubin, 0x28)
        size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
        headers = [struct.unpack_from("<II4Q", cubin, table + size * number) for number in range(count)]
        for name, _, _, _, start, length in headers:
            first = headers[names_at][4] + name
            if cubin[first : cubin.index(b"\0", first)] == _SECTION:
                return cubin[start : start + length].replace(b"\0", b"\n").decode("utf-8").strip() + "\n"
    except (struct.error, IndexError, ValueError):
        raise PtxlabError("the cubin is damaged: its sections cannot be read") from None
    raise PtxlabError(
        "the cubin has no PTX in it (a section .nv_debug_ptx_txt, as cuTile's have one): pass the PTX itself"
    )
