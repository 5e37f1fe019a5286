"""Where ptxlab keeps its own files, and how it reads, writes and locks files. None is ever half written."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PtxlabError, quoted

if TYPE_CHECKING:
    from platformdirs import PlatformDirs

# -- user folders -----------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """The folder for files that can be made again, such as compiled kernels; PTXLAB_CACHE names another one.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PTXLAB_CACHE="kernels"):
    ...     print(cache_folder())
    kernels
    """
    chosen = path_from_environment("PTXLAB_CACHE")
    if chosen is not None:
        return chosen
    folders = _user_folders("the cache", "XDG_CACHE_HOME", "the cache folder in PTXLAB_CACHE")
    return _require_absolute(folders.user_cache_path, "XDG_CACHE_HOME")


def data_folder() -> Path:
    """The folder for files that cannot be made again, such as the reader's progress through the course."""
    folders = _user_folders("your progress", "XDG_DATA_HOME", "the progress file in PTXLAB_PROGRESS")
    return _require_absolute(folders.user_data_path, "XDG_DATA_HOME")


def home_folder() -> Path | None:
    """The user's home folder, or None if there is none.

    There is none if HOME is empty or not an absolute path, or if HOME is not set and the system does not know
    the user, as in a container that runs under an arbitrary user number.
    """
    try:
        home = Path(os.environ["HOME"]) if "HOME" in os.environ and os.name == "posix" else Path.home()
    except (RuntimeError, KeyError):
        return None
    return home if home.is_absolute() else None


def notebooks() -> Path:
    """The folder of the original notebooks: in the installed package, or at the top of a source checkout."""
    package = Path(__file__).resolve().parents[1]
    folders = [package / "notebooks"]
    if (package.parent / "pyproject.toml").exists():
        folders.append(package.parent / "notebooks")
    for folder in folders:
        if any(folder.glob("*.ipynb")):
            return folder
    raise PtxlabError(
        "this installation of ptxlab has no notebooks; "
        'install it again: pip install --force-reinstall "ptxlab[lab]"'
    )


def path_from_environment(variable: str) -> Path | None:
    """The path in an environment variable, where ~ is the home folder; None if the variable is empty."""
    text = os.environ.get(variable, "")
    return expanded(text, variable) if text.strip() else None


def expanded(text: str, name: str) -> Path:
    """A path that a user wrote, with the home folder in place of ~; `name` is its option or variable.

    Shells do not expand the ~ of ``--to=~/ptxlab``, and a folder that is named ~ is hard to remove.
    """
    if not text.startswith("~"):
        return Path(text)
    if home_folder() is None:
        raise PtxlabError(f"{name}: found {quoted(text)}, but there is no home folder; name an absolute path")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise PtxlabError(f"{name}: found {quoted(text)}; there is no such user") from None


def _user_folders(purpose: str, variable: str, remedy: str) -> PlatformDirs:
    try:
        from platformdirs import PlatformDirs  # late: `import ptxlab` loads NumPy and ml_dtypes only
    except ImportError:
        raise PtxlabError(
            "platformdirs is not installed: pip install platformdirs, "
            "or name the cache folder in PTXLAB_CACHE and the progress file in PTXLAB_PROGRESS"
        ) from None
    if home_folder() is None and not Path(os.environ.get(variable, "")).is_absolute():
        raise PtxlabError(
            f"there is no home folder for {purpose}; set HOME to an absolute path, or name {remedy}"
        )
    return PlatformDirs("ptxlab", appauthor=False)


def _require_absolute(folder: Path, variable: str) -> Path:
    """Refuse a relative XDG folder, which some versions of platformdirs accept against the standard."""
    if not folder.is_absolute():
        raise PtxlabError(f"{variable}: found {quoted(os.environ.get(variable))}; name an absolute path")
    return folder


# -- reading and writing ----------------------------------------------------------------------------------


def reason(error: OSError) -> str:
    """Why a file could not be read or written, in the system's words.

    >>> reason(OSError(errno.ENOSPC, "No space left on device", "progress.json"))
    'No space left on device'
    """
    return error.strerror or str(error)


def read_text_file(path: Path) -> str:
    """The text of a regular file, read as UTF-8. Raises OSError for a folder, pipe or device; never waits."""
    _require_regular(path, path.stat())
    return path.read_text(encoding="utf-8-sig")


def write_atomically(path: Path, content: str | bytes, *, private: bool = False, follow: bool = True) -> None:
    """Write a file, and make its folder if need be. Readers see the old content or the new, never a part.

    The content is written to a temporary file in the same folder, which is then renamed. Text is written as
    UTF-8. Permissions are kept; if the path is a link, the file that it points to is replaced and the link is
    kept. If the file cannot be written or is not a regular file, OSError is raised and no temporary
    file is left behind.

    With `private`, for a cache, only the user may read and write the file, a link is replaced, and the
    content may be lost if the machine stops. Without `follow`, a link is refused.
    """
    data = content.encode() if isinstance(content, str) else content
    if not follow:
        refuse_link(path)
    target = path if private or not follow else Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    if private:
        _require_regular_or_link(target)
        old = None
    else:
        old = _status_of_writable(target)
    partial = target.with_name(f".ptxlab-{secrets.token_hex(8)}.part")
    permissions = 0o600 if private or old else 0o666  # the umask removes some
    try:
        with os.fdopen(os.open(partial, _NEW_FILE, permissions), "wb") as file:
            file.write(data)
            file.flush()
            if not private:
                _flush_to_disk(file.fileno())
        if old:
            _copy_permissions(old, partial)
        _replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def refuse_link(path: Path) -> None:
    """Raise OSError if the path is a link: another user may have put it there."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link", str(path))


def _require_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def _require_regular_or_link(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        status = path.lstat()
        if not stat.S_ISLNK(status.st_mode):
            _require_regular(path, status)


def _status_of_writable(path: Path) -> os.stat_result | None:
    """The status of a file that is to be replaced; None if there is no such file.

    Write permission for a folder allows replacing even its write-protected files; that is refused here.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    _require_regular(path, status)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return status


def _copy_permissions(old: os.stat_result, path: Path) -> None:
    """Give the file the owner and the mode of the old one, as far as this user is allowed to."""
    if hasattr(os, "chown"):
        new = path.stat()
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            with contextlib.suppress(OSError):
                os.chown(path, old.st_uid, old.st_gid)
    with contextlib.suppress(OSError):
        path.chmod(stat.S_IMODE(old.st_mode))


def _flush_to_disk(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def _replace(partial: Path, target: Path) -> None:
    """Rename the file; on Windows this waits a moment for a reader that has the old one open."""
    for _ in range(20 if os.name == "nt" else 0):
        try:
            partial.replace(target)
            return
        except PermissionError:
            time.sleep(0.02)
    partial.replace(target)


# -- locks ------------------------------------------------------------------------------------------------

#: Errors of file systems that have no locks, or cannot flush.
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)


#: Files whose locks another process did not release in time.
_timed_out: set[Path] = set()


@contextlib.contextmanager
def locked(path: Path, seconds: float = 10) -> Iterator[None]:
    """Hold a file's lock, so that only one thread or process at a time reads, changes and writes the file.

    The lock is on a second file, `path` with .lock added, which is not removed. Some file systems have no
    locks; there, the process that creates a file with .claim added holds the lock. Raises TimeoutError if
    another process holds the lock for more than `seconds`, and OSError if the lock file cannot be written or
    is a link. After a timeout, later calls do not wait until the lock has been free once: any process that
    can read the lock file could hold it for ever, which is why only the user can read it.

    In a browser's tab there is neither a second process nor a lock.
    """
    if sys.platform == "emscripten":
        yield
        return
    try:
        from filelock import FileLock, SoftFileLock, Timeout  # late: only the course needs it
    except ImportError:
        raise OSError("filelock is not installed: pip install filelock") from None
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    refuse_link(Path(f"{target}.lock"))
    if target in _timed_out:
        seconds = 0
    lock: FileLock | SoftFileLock = FileLock(f"{target}.lock", seconds, 0o600, fallback_to_soft=False)
    try:
        try:
            lock.acquire()
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            lock = SoftFileLock(f"{target}.claim", seconds)
            lock.acquire()
    except Timeout:
        _timed_out.add(target)
        raise TimeoutError(errno.ETIMEDOUT, "another process keeps it locked", str(path)) from None
    _timed_out.discard(target)
    try:
        yield
    finally:
        lock.release()
