"""A process of its own for a candidate: started with limits, watched, ended with all that it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .packed import read_regular

_MOST_OUTPUT = 8 << 20  # bytes that a candidate may print
_SHOWN_OUTPUT = 2000  # letters of them in a verdict
_MOST_PROCESSES = 256  # of a candidate in a namespace of its own
_PATIENCE = 5  # seconds in which what was killed is gone
#: Variables that name folders to which programs write.
_FOLDERS = (
    "HOME", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR",
)  # fmt: skip
_INTERVAL = 0.05  # seconds

#: What the process runs. Modules are found as in this one, whatever stands in the working folder.
_START = (
    "import json, runpy, sys; settings = json.loads(open(sys.argv[1]).read()); "
    "sys.path[:] = settings['search']; "
    "settings['confined'] = runpy.run_path(settings['confine'])['confine'](settings); "
    "from ptxlab.judging.candidate import main; main(settings)"
)


class Ended(NamedTuple):
    """How the process ended: `problem` says what ended it, if it did not end by itself."""

    status: int
    problem: str
    output: str


def run_confined(
    folder: Path,
    settings: dict[str, Any],
    seconds: float,
    memory: int,
    file_size: int,
    unreadable: list[str],
    watch: Callable[[], None],
) -> Ended:
    """Run a candidate in a folder, which it may write to; `watch` is called from time to time."""
    inside = folder / "files"
    inside.mkdir()
    whole = settings | {
        "search": sys.path,
        "confine": str(Path(__file__).with_name("confine.py")),
        "folder": str(folder.resolve()),
        "memory": memory,
        "file_size": file_size + _MOST_OUTPUT,
        "unreadable": unreadable,
    }
    job = folder / "job.json"
    job.write_text(json.dumps(whole), encoding="utf-8")
    out = folder / "output.txt"
    private = {name: str(inside) for name in _FOLDERS}
    stream = out.open("wb")
    process = subprocess.Popen(
        [sys.executable, "-c", _START, str(job.resolve())],
        cwd=inside,
        env=_environment() | private | {"PTXLAB_CACHE": str(inside)},
        stdin=subprocess.DEVNULL,
        stdout=stream,
        stderr=stream,
        start_new_session=True,
    )
    end, problem = time.monotonic() + seconds, ""
    space = ""
    try:
        while process.poll() is None:
            watch()
            space = space or _process_space(process.pid)
            if len(_processes_in(space)) > _MOST_PROCESSES:
                problem = f"it started more than {_MOST_PROCESSES} processes"
            if time.monotonic() > end:
                problem = f"it ran longer than {seconds:g} seconds"
            elif os.fstat(stream.fileno()).st_size > _MOST_OUTPUT:
                problem = f"it printed more than {_MOST_OUTPUT >> 20} MiB"
            if problem:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_INTERVAL)
    finally:
        _end(process, space)
        stream.close()
    text = b""
    with contextlib.suppress(OSError, ValueError):
        text = read_regular(out)[-_SHOWN_OUTPUT:]
    return Ended(process.returncode, problem, text.decode(errors="replace"))


def _environment() -> dict[str, str]:
    """This environment without what may be a secret."""
    secret = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL")
    return {
        name: value for name, value in os.environ.items() if not any(word in name.upper() for word in secret)
    }


def _process_space(process: int) -> str:
    """The namespace of processes that the candidate is in, if it has one of its own."""
    with contextlib.suppress(OSError):
        links = [str(Path(f"/proc/{process}/ns/{name}").readlink()) for name in ("pid_for_children", "pid")]
        return links[0] if links[0] != links[1] else ""
    return ""


def _processes_in(space: str) -> list[int]:
    """The processes of a namespace."""
    found = []
    for process in Path("/proc").glob("[0-9]*") if space else ():
        with contextlib.suppress(OSError):
            if str((process / "ns" / "pid").readlink()) == space:
                found.append(int(process.name))
    return found


def _end(process: subprocess.Popen[bytes], space: str) -> None:
    """End the process and its session, and all in its namespace."""
    for number in _processes_in(space):
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
    if os.name == "posix":
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    end = time.monotonic() + _PATIENCE
    while _processes_in(space) and time.monotonic() < end:
        time.sleep(_INTERVAL)
