"""Where ptxlab keeps files of its own, and how it writes them: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PtxlabError

if TYPE_CHECKING:
    from platformdirs import PlatformDirs

__all__ = ["cache_folder", "data_folder", "write_atomically"]


def cache_folder() -> Path:
    """The folder for what can be made again, such as compiled kernels; PTXLAB_CACHE names another one.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PTXLAB_CACHE="kernels"):
    ...     print(cache_folder())
    kernels
    """
    chosen = os.environ.get("PTXLAB_CACHE")
    return Path(chosen) if chosen else _user_folders().user_cache_path


def data_folder() -> Path:
    """The folder for what cannot be made again, such as the reader's progress through the course."""
    return _user_folders().user_data_path


def _user_folders() -> PlatformDirs:
    try:
        from platformdirs import PlatformDirs  # late: `import ptxlab` loads NumPy and ml_dtypes only
    except ImportError:
        raise PtxlabError(
            "platformdirs is not installed: pip install platformdirs, "
            "or name the cache folder in PTXLAB_CACHE and the progress file in PTXLAB_PROGRESS"
        ) from None
    return PlatformDirs("ptxlab", appauthor=False)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file, and its folder if need be, so that readers see the old content or the new, never a part.

    The content goes into a file beside it, which then takes its name. Text is written as UTF-8.
    Raises OSError, and leaves nothing behind, where the file cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
