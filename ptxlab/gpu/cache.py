"""Compiled kernels and their listings, kept on disk.

cuda.core has a cache of its own (`cuda.core.utils.FileStreamProgramCache`). It stores bare machine code, so a
damaged file would be loaded; it raises an error on a read-only disk; and it takes no include path. Entries
here carry a digest, and a damaged one counts as missing.
"""

from __future__ import annotations

import contextlib
import hashlib

from .._util.files import cache_folder, write_atomically

__all__ = ["cache_folder", "key_of", "read_entry", "write_entry"]

_MAGIC = b"ptxlab-cubin-1\n"
_DIGEST_BYTES = 32


def key_of(*parts: str) -> str:
    """The name of the entry that belongs to these parts: source, target, compiler version, and so on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read_entry(name: str) -> bytes | None:
    """The content of an entry, or None if it is absent or damaged."""
    try:
        stored = (cache_folder() / name).read_bytes()
    except OSError:
        return None
    if not stored.startswith(_MAGIC):
        return None
    body = stored[len(_MAGIC) :]
    digest, content = body[:_DIGEST_BYTES], body[_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == digest else None


def write_entry(name: str, content: bytes) -> None:
    """Keep an entry. A disk that cannot be written is no error: the next process compiles again."""
    with contextlib.suppress(OSError):
        write_atomically(cache_folder() / name, _MAGIC + hashlib.sha256(content).digest() + content)
