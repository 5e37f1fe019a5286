"""Compiled kernels and their listings, kept on disk.

cuda.core has a cache of its own (`cuda.core.utils.FileStreamProgramCache`). It stores bare machine code, so a
damaged file would be loaded; it raises an error on a read-only disk; and it takes no include path. Entries
here carry a digest of their name and content, and a damaged one counts as missing.

Machine code runs with the rights of whoever loads it, so an entry counts only if its reader wrote it: the
file belongs to this user, and nobody else may write it. Where others may write into the folder, each user
has a folder in it. Python sees no owners on Windows; there the access rules of the folder decide.
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

_MAGIC = b"ptxlab-cubin-2\n"
_DIGEST_BYTES = 32


def key_of(*parts: str) -> str:
    """The name of the entry that belongs to these parts: source, target, compiler version, and so on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read_entry(name: str) -> bytes | None:
    """The content of an entry; None if it is absent, damaged, or another user might have written it."""
    try:
        stored = _read_own(_own_folder() / name)
    except (OSError, PtxlabError):
        return None
    if stored is None or not stored.startswith(_MAGIC):
        return None
    body = stored[len(_MAGIC) :]
    digest, content = body[:_DIGEST_BYTES], body[_DIGEST_BYTES:]
    return content if digest == _digest(name, content) else None


def write_entry(name: str, content: bytes) -> None:
    """Keep an entry. A disk that cannot be written is not an error: the next process compiles again."""
    with contextlib.suppress(OSError, PtxlabError):
        entry = _own_folder(create=True) / name
        write_atomically(entry, _MAGIC + _digest(name, content) + content, private=True)


def _digest(name: str, content: bytes) -> bytes:
    """With the name in it, so that an entry cannot stand for another one."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def _own_folder(create: bool = False) -> Path:
    """Where this user's entries are: in the cache folder, or in a part of it if others may write there.

    Raises OSError where there is no such folder.
    """
    folder = cache_folder()
    if create:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    if sys.platform == "win32" or _only_mine(folder.stat()):
        return folder
    own = folder / f"user-{os.geteuid()}"
    if create:
        own.mkdir(mode=0o700, exist_ok=True)
    status = own.lstat()
    if not stat.S_ISDIR(status.st_mode) or not _only_mine(status):
        raise PermissionError(f"{own} is not this user's alone")
    return own


def _read_own(path: Path) -> bytes | None:
    """The content of a regular file that only this user can have written."""
    flags = os.O_RDONLY
    for flag in (
        "O_BINARY",
        "O_CLOEXEC",
        "O_NOFOLLOW",
        "O_NONBLOCK",
    ):  # a link is not an entry; a pipe would wait
        flags |= getattr(os, flag, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return None
        if sys.platform != "win32" and not _only_mine(status):
            return None
        return file.read()


def _only_mine(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may write it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
