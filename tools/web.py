"""python -m tools.web [FOLDER] [--pyodide ADDRESS | --offline]: the Explorer with Python in a browser tab.

Writes `try/` into the folder of the site. Its files have names by their content, so that a server may let
browsers keep them for ever; only index.html changes under its name. Pyodide and NumPy come from Pyodide's own
distribution, from another address, or, offline, from beside the page.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from string import Template
from typing import Any

from ptxlab._util.files import write_atomically
from ptxlab._version import __version__
from ptxlab.explorer.bundle import script, style
from ptxlab.explorer.session import Session
from ptxlab.explorer.static_html import pack
from ptxlab.explorer.worker import DEFAULT

from . import npm, pyodide

ROOT = npm.ROOT
ESBUILD = "0.25.11"
#: Packages and modules of ptxlab that no page imports.
LEFT_OUT = (
    "__main__.py", "adapters", "cli", "course", "gemm", "gpu/measured", "jupyter", "jupyter.py", "lessons.py",
    "pytest_plugin.py", "shapes", "simulation.py", "simulator", "wmma", "wmma.py",
)  # fmt: skip
#: What a first visit may load beyond Pyodide and NumPy, in compressed bytes.
MOST_BYTES = 1_500_000

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; worker-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'"
)
PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="ptxlab $version">
<title>ptxlab: tensor-core instructions in this tab</title>
<link rel="stylesheet" href="$style">
<script type="module" src="$script"></script>
</head>
<body>
<main id="page">
<h1>Edit a matrix, see the registers, see D</h1>
<noscript>This page needs JavaScript, which is switched off.</noscript>
</main>
<script type="application/json" id="saved">$saved</script>
</body>
</html>
""")


def archive() -> bytes:
    """The modules of ptxlab that the page needs, as a zip; the same ones give the same bytes."""
    made = io.BytesIO()
    package = ROOT / "ptxlab"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(package.rglob("*")):
            name = path.relative_to(package).as_posix()
            if not path.is_file() or "__pycache__" in path.parts or name.endswith(".d.ts"):
                continue
            if not any(name == left or name.startswith(f"{left}/") for left in LEFT_OUT):
                entry = zipfile.ZipInfo(f"ptxlab/{name}", (1980, 1, 1, 0, 0, 0))
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return made.getvalue()


def compiled(modules: bytes) -> bytes:
    """The same modules as bytecode, which a tab need not compile; as they are where there is no npm."""
    try:
        home = npm.package("pyodide", pyodide.VERSION) / "pyodide"
    except npm.Missing as missing:
        print(f"modules are not compiled: {missing}", file=sys.stderr)
        return modules
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place) / "source.zip", Path(place) / "target.zip"
        source.write_bytes(modules)
        program = Path(__file__).with_name("compile_modules.mjs")
        subprocess.run(["node", program, home, source, target], check=True)
        return target.read_bytes()


def minified(text: str, kind: str) -> str:
    """JavaScript or CSS as esbuild shortens it; as it is where there is no npm."""
    try:
        program = npm.package("esbuild", ESBUILD) / ".bin" / "esbuild"
    except npm.Missing as missing:
        print(f"{kind} is not minified: {missing}", file=sys.stderr)
        return text
    command = [program, f"--loader={kind}", "--minify", "--log-level=error"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def build(folder: Path, address: str) -> dict[str, int]:
    """Write the page into `folder`/try; returns the compressed bytes of each file."""
    target = folder / "try"
    target.mkdir(parents=True, exist_ok=True)
    for old in target.iterdir():
        if old.is_file():
            old.unlink()
    sizes = {}

    def write(name: str, content: bytes) -> str:
        stem, dot, kind = name.rpartition(".")
        full = f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}{dot}{kind}"
        (target / full).write_bytes(content)
        sizes[full] = len(gzip.compress(content))
        return full

    settings = {
        "pyodide": address,
        "archive": write("ptxlab.zip", compiled(archive())),
        "worker": write("worker.js", minified(script("worker"), "js").encode()),
    }
    names = {
        "script": write("page.js", minified(script("try_page"), "js").encode()),
        "style": write("page.css", minified(style("saved_page", "try_page"), "css").encode()),
    }
    saved: dict[str, Any] = {"settings": settings, "state": pack(Session(DEFAULT).view.get_state())}
    text = json.dumps(saved, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    page = PAGE.substitute(policy=POLICY, version=__version__, saved=text, **names)
    write_atomically(target / "index.html", page)
    sizes["index.html"] = len(gzip.compress(page.encode()))
    return sizes


def bring_pyodide(folder: Path) -> str:
    """Copy Pyodide and its packages beside the page; returns their address."""
    source = pyodide.folder()
    target = folder / "try" / "pyodide"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in [*(source / name for name in pyodide.CORE), *source.glob("*.whl")]:
        shutil.copyfile(path, target / path.name)
    return "pyodide/"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.web", description="Build the page with Python in it."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "site")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--pyodide", default=pyodide.ADDRESS, help="where Pyodide is, with / at the end")
    place.add_argument("--offline", action="store_true", help="bring Pyodide and NumPy along")
    args = parser.parse_args()
    try:
        address = bring_pyodide(args.folder) if args.offline else args.pyodide
    except npm.Missing as missing:
        print(f"not built: {missing}", file=sys.stderr)
        return 1
    sizes = build(args.folder, address)
    for name, size in sizes.items():
        print(f"{size:>9,} bytes  {name}")
    print(f"{sum(sizes.values()):>9,} bytes in all, compressed, beyond Pyodide and NumPy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
