"""Pyodide, CPython for browsers, in a folder: for tests in node, and for sites that bring all parts along.

Its core comes from npm. NumPy and ml_dtypes for it are wheels in a folder that PTXLAB_WASM names, or in
../shared/wasm; a browser otherwise loads these from Pyodide's own distribution.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ptxlab._util.files import write_atomically

from . import npm
from .npm import ROOT, Missing

VERSION = "0.29.5"
#: Pyodide's own distribution: what a page loads where no other address is set.
ADDRESS = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
#: What a page loads of it, beside the wheels of NumPy and ml_dtypes.
CORE = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
#: Packages with compiled parts, and what each needs of the others.
PACKAGES: dict[str, list[str]] = {"numpy": [], "ml-dtypes": ["numpy"]}
#: Archives of bytecode that are kept for the next build.
KEPT = 24


def parse_arguments(program: str, description: str) -> argparse.Namespace:
    """The command line of what builds a page with Python in it: the site's folder, and where Pyodide is."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "site")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--pyodide", default=ADDRESS, help="where Pyodide is, with / at the end")
    place.add_argument("--offline", action="store_true", help="bring Pyodide and NumPy along")
    return parser.parse_args()


def wheels() -> dict[str, Path]:
    """The wheels of the packages with compiled parts."""
    folder = Path(os.environ.get("PTXLAB_WASM") or ROOT.parent / "shared" / "wasm")
    wheel_of = {}
    for name in PACKAGES:
        files = sorted(folder.glob(f"{name.replace('-', '_')}-*wasm32.whl"))
        if not files:
            raise Missing(f"no wheel of {name} for WebAssembly in {folder}; PTXLAB_WASM names another folder")
        wheel_of[name] = files[-1]
    return wheel_of


def folder() -> Path:
    """Pyodide with its packages beside it, made once; raises `Missing` where its parts cannot be had."""
    files = wheels()
    key = hashlib.sha256("".join(path.name for path in files.values()).encode()).hexdigest()[:8]
    target = ROOT / ".venv" / f"pyodide-{VERSION}-{key}"
    if not target.exists():
        source = npm.package("pyodide", VERSION) / "pyodide"
        with tempfile.TemporaryDirectory(dir=target.parent) as place:
            made = Path(shutil.copytree(source, Path(place) / "pyodide"))
            _add(made, files)
            npm.rename(made, target)
    return target


def _add(made: Path, files: dict[str, Path]) -> None:
    """Put wheels beside Pyodide, and name them in its list of packages."""
    listing = made / "pyodide-lock.json"
    lock = json.loads(listing.read_text(encoding="utf-8"))
    for name, path in files.items():
        shutil.copyfile(path, made / path.name)
        lock["packages"][name] |= {
            "file_name": path.name,
            "version": path.name.split("-")[1],
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "depends": PACKAGES[name],
        }
    listing.write_text(json.dumps(lock), encoding="utf-8")


def compiled(modules: bytes, *keep: str) -> bytes:
    """An archive of modules as bytecode, which a tab need not compile, kept by its content; raises `Missing`.

    `keep` may name "docs" and "lines", which are left out otherwise.
    """
    cache = ROOT / ".venv" / "bytecode"
    made = cache / f"{'-'.join((hashlib.sha256(modules).hexdigest()[:16], VERSION, *keep))}.zip"
    if not made.exists():
        home = npm.package("pyodide", VERSION) / "pyodide"
        cache.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            source, target = Path(place) / "source.zip", Path(place) / "target.zip"
            source.write_bytes(modules)
            program = Path(__file__).with_name("compile_modules.mjs")
            subprocess.run(["node", program, home, source, target, *keep], check=True)
            write_atomically(made, target.read_bytes())
        for old in sorted(cache.glob("*.zip"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)
    return made.read_bytes()
