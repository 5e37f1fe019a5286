"""Packages of npm in folders of the environment, each installed once, at an exact version."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Missing(Exception):
    """Why something cannot be had on this machine, in a sentence."""


def package(name: str, version: str) -> Path:
    """The folder with a package and all that it needs; raises `Missing` where npm cannot get it."""
    target = ROOT / ".venv" / f"{name.removeprefix('@').replace('/', '-')}-{version}"
    if not target.exists():
        npm = shutil.which("npm")
        if npm is None or shutil.which("node") is None:
            raise Missing(f"no node and npm, which {name} comes from")
        target.parent.mkdir(exist_ok=True)  # the environment in use may be elsewhere
        with tempfile.TemporaryDirectory(dir=target.parent) as place:
            options = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--silent")
            command = [npm, "install", "--prefix", place, *options, f"{name}@{version}"]
            try:
                subprocess.run(command, check=True, timeout=120, capture_output=True)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
                raise Missing(f"npm could not install {name}@{version}") from None
            rename(Path(place) / "node_modules", target)
    return target


def rename(made: Path, target: Path) -> None:
    """Put a folder in its place, unless another process was first."""
    try:
        made.rename(target)
    except OSError:
        if not target.exists():
            raise
