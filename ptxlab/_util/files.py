"""Where ptxlab keeps files of its own, and how it writes them: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

__all__ = ["cache_folder", "data_folder", "write_atomically"]


def cache_folder() -> Path:
    """The folder for what can be made again, such as compiled kernels; PTXLAB_CACHE names another one.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PTXLAB_CACHE="kernels"):
    ...     print(cache_folder())
    kernels
    """
    chosen = os.environ.get("PTXLAB_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path  # late: `import ptxlab` loads NumPy and ml_dtypes only

    return user_cache_path("ptxlab", appauthor=False)


def data_folder() -> Path:
    """The folder for what cannot be made again, such as the reader's progress through the course."""
    from platformdirs import user_data_path

    return user_data_path("ptxlab", appauthor=False)


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
