"""`ptxlab lab`: the reader's own copy of the notebooks, and JupyterLab on it.

What the reader changed is never overwritten. A manifest in the folder keeps the hash of each notebook as it
was copied: a file with another hash has been changed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from .._util.files import (
    expanded,
    home_folder,
    notebooks,
    read_text_file,
    reason,
    refuse_link,
    write_atomically,
)
from ..errors import PtxlabError, counted, quoted
from . import output
from .output import Style

MANIFEST = ".ptxlab-notebooks.json"
#: JupyterLab opens on the first notebook; the Makefile does the same, with the configuration below.
FIRST_PAGE = "--LabApp.default_url=/lab/tree/00-start-here.ipynb"
#: A folder with Jupyter's configuration: JupyterLab does not ask whether to fetch news.
CONFIGURATION = Path(__file__).parent / "jupyter"


@dataclass
class Copied:
    """What `copy_notebooks` did, by file name."""

    new: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)  # new versions beside notebooks that the reader changed
    outdated: list[str] = field(default_factory=list)  # a newer version exists; `update` would bring it

    def __str__(self) -> str:
        parts = []
        if self.new:
            parts.append(f"{counted(len(self.new), 'notebook')} copied")
        if self.replaced:
            parts.append(f"{counted(len(self.replaced), 'notebook')} replaced by a newer version")
        if self.beside:
            parts.append(f"newer versions put beside the notebooks you changed: {', '.join(self.beside)}")
        if self.outdated:
            newer = counted(len(self.outdated), "newer version")
            parts.append(f"{newer} available: run `ptxlab lab --update`")
        return "; ".join(parts) or "all notebooks are up to date"


def copy_notebooks(source: Path, folder: Path, *, update: bool = False) -> Copied:
    """Copy the notebooks that the folder lacks; with `update` also bring newer versions of the others.

    A copy that the reader has not changed is replaced. Beside a changed one, the new version is written under
    another name, such as ``18-sparse-mma-shapes.new.ipynb``.
    """
    copied = Copied()
    try:
        _check_folder(folder)
        manifest = _read_manifest(folder)
        for original in sorted(source.glob("*.ipynb")):
            _copy(original, folder, manifest, update, copied)
        text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
        write_atomically(folder / MANIFEST, text, follow=False)
    except OSError as error:
        place = quoted(str(folder))
        raise PtxlabError(f"{place}: the notebooks cannot be copied there ({reason(error)})") from None
    return copied


def _check_folder(folder: Path) -> None:
    """Refuse a folder that another user could have put there: its files are overwritten, and run."""
    if folder.is_symlink():
        raise PtxlabError(f"{quoted(str(folder))} is a link; name the folder itself with --to")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise PtxlabError(f"{quoted(str(folder))} is a file; name a folder with --to")
    if hasattr(os, "geteuid") and folder.stat().st_uid != os.geteuid():
        raise PtxlabError(f"{quoted(str(folder))} belongs to another user; name one of your own with --to")


def _copy(original: Path, folder: Path, manifest: dict[str, str], update: bool, copied: Copied) -> None:
    content = original.read_bytes()
    latest = _hash(content)
    name = original.name
    copy = folder / name
    if copy.is_symlink():
        raise PtxlabError(f"{name} is a link; move it away, or name another folder with --to")
    if copy.exists() and not copy.is_file():
        raise PtxlabError(f"{name} exists but is not a file; move it away, or name another folder with --to")
    if not copy.exists():
        write_atomically(copy, content, follow=False)
        manifest[name] = latest
        copied.new.append(name)
        return
    current = _hash(copy.read_bytes())
    if current == latest:
        manifest[name] = latest
    elif manifest.get(name) == latest:
        return  # changed by the reader, who has had this version
    elif not update:
        copied.outdated.append(name)
    elif current == manifest.get(name):
        write_atomically(copy, content, follow=False)
        manifest[name] = latest
        copied.replaced.append(name)
    else:
        beside = _free_name(original, folder, manifest)
        write_atomically(folder / beside, content, follow=False)
        manifest[name] = manifest[beside] = latest
        copied.beside.append(beside)


def _free_name(original: Path, folder: Path, manifest: dict[str, str]) -> str:
    """A name for the new version: free, or of an earlier new version that the reader has not changed."""
    number = 1
    while True:
        name = f"{original.stem}.new.ipynb" if number == 1 else f"{original.stem}.new-{number}.ipynb"
        path = folder / name
        is_free = not path.exists() or (path.is_file() and _hash(path.read_bytes()) == manifest.get(name))
        if is_free and not path.is_symlink():
            return name
        number += 1


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_manifest(folder: Path) -> dict[str, str]:
    """Hashes by file name. Without a manifest, or with a damaged one, every notebook counts as changed."""
    try:
        refuse_link(folder / MANIFEST)
        hashes = json.loads(read_text_file(folder / MANIFEST))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return {}
    if not isinstance(hashes, dict):
        return {}
    return {name: value for name, value in hashes.items() if isinstance(value, str)}


def lab(
    style: Style,
    *jupyter_options: str,
    to: Annotated[
        str, "the folder of your copies (default: ptxlab-notebooks)", "FOLDER"
    ] = "ptxlab-notebooks",
    update: Annotated[
        bool, "replace copies by newer versions; a new version of a notebook you changed is put beside it"
    ] = False,
    copy_only: Annotated[bool, "copy, but do not open JupyterLab"] = False,
) -> int:
    """Copy the notebooks and start JupyterLab on the copies.

    examples:
      ptxlab lab                        into the folder ptxlab-notebooks
      ptxlab lab --to course            into another folder
      ptxlab lab --update               after an update of ptxlab
      ptxlab lab --no-browser --port 9999    with options of jupyter lab
    """
    if not copy_only and importlib.util.find_spec("jupyterlab") is None:
        raise PtxlabError('JupyterLab is not installed: pip install "ptxlab[lab]"')
    if not copy_only:
        _require_home()
    for word in (to, *jupyter_options):
        if "\0" in word:
            raise PtxlabError(f"{quoted(word)}: no folder and no option has such a name")
    folder = expanded(to, "--to")
    copied = copy_notebooks(notebooks(), folder, update=update)
    output.write(f"{folder.resolve()}: {copied}")
    if copy_only:
        return 0
    options = list(jupyter_options)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # as in many containers
    if is_root and "--allow-root" not in options:
        options.append("--allow-root")
    paths = (str(CONFIGURATION), os.environ.get("JUPYTER_CONFIG_PATH"))
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(path for path in paths if path)
    # -P: a jupyterlab.py or tornado.py of the current folder is not run.
    return _start([sys.executable, "-P", "-m", "jupyterlab", str(folder), FIRST_PAGE, *options])


def _require_home() -> None:
    """Refuse to start without a home folder: JupyterLab and its kernels would end with a traceback."""
    home = home_folder()
    if home is None:
        problem = "there is none"
    elif not os.access(home, os.W_OK | os.X_OK):
        problem = f"{quoted(str(home))} cannot be written"
    else:
        return
    variables = ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "XDG_DATA_HOME")
    if not any(os.environ.get(variable) for variable in variables):
        raise PtxlabError(
            f"JupyterLab needs a home folder, and {problem}; set HOME to a folder that can be written"
        )


def _start(command: list[str]) -> int:
    """Run the command in place of this process, so that signals reach it; on Windows, run it and wait."""
    if os.name == "posix":
        os.execv(command[0], command)
    return subprocess.call(command)
