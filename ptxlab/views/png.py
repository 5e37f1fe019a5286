"""Images of few colours as PNG files: https://www.w3.org/TR/png-3/, section 11, "Chunk specifications"."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray


def png(pixels: NDArray[np.uint8], colours: bytes, opacity: bytes = b"") -> bytes:
    """An image [rows, columns] of colours by number, each red, green, blue, as a PNG file.

    `opacity` has a byte for each colour; those beyond its end are opaque.
    """

    def chunk(name: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)

    rows, columns = pixels.shape
    header = struct.pack(">2I5B", columns, rows, 8, 3, 0, 0, 0)  # 8 bits a pixel, the number of a colour
    lines = np.pad(pixels, ((0, 0), (1, 0)))  # 0 before each line: no filter
    chunks = {b"IHDR": header, b"PLTE": colours, b"tRNS": opacity}
    chunks |= {b"IDAT": zlib.compress(lines.tobytes(), 9), b"IEND": b""}
    written = (chunk(name, content) for name, content in chunks.items() if content or name != b"tRNS")
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)
