"""What was compiled, assembled or disassembled, kept on disk: machine code, PTX and listings.

An entry has the name of what it is made of, and is read only if this user alone can have written it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
from pathlib import Path

from .._util.files import cache_folder, write_atomically
from ..errors import PtxlabError

_MAGIC = b"ptxlab-entry-1\n"
_DIGEST_BYTES = 32


def key_of(*parts: str) -> str:
    """The name of a cache entry from what it depends on: source, target, compiler version, and so on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read_entry(name: str) -> bytes | None:
    """The content of an entry; None if it is absent, damaged, or another user might have written it."""
    try:
        stored = _read_private(_private_folder() / name)
    except (OSError, PtxlabError):
        return None
    if stored is None or not stored.startswith(_MAGIC):
        return None
    body = stored[len(_MAGIC) :]
    digest, content = body[:_DIGEST_BYTES], body[_DIGEST_BYTES:]
    return content if digest == _digest(name, content) else None


def write_entry(name: str, content: bytes) -> None:
    """Write an entry. If the disk cannot be written, that is no error: the next process compiles again."""
    with contextlib.suppress(OSError, PtxlabError):
        entry = _private_folder(create=True) / name
        write_atomically(entry, _MAGIC + _digest(name, content) + content, private=True)


def _digest(name: str, content: bytes) -> bytes:
    """A digest that includes the name, so that entries cannot be exchanged."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def _private_folder(create: bool = False) -> Path:
    """The folder of this user's entries: the cache folder, or a subfolder of it if others may write to that.

    Raises OSError if there is none.
    """
    folder = cache_folder()
    if create:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    if sys.platform == "win32" or _is_private(folder.stat()):
        return folder
    private = folder / f"user-{os.geteuid()}"
    if create:
        private.mkdir(mode=0o700, exist_ok=True)
    status = private.lstat()
    if not stat.S_ISDIR(status.st_mode) or not _is_private(status):
        raise PermissionError(f"{private} is not this user's alone")
    return private


def _read_private(path: Path) -> bytes | None:
    """The content of a regular file that only this user can have written."""
    flags = os.O_RDONLY
    for flag in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"):  # no links, no waiting for pipes
        flags |= getattr(os, flag, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return None
        if sys.platform != "win32" and not _is_private(status):
            return None
        return file.read()


def _is_private(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and only this user may write it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
