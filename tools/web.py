"""python -m tools.web [FOLDER] [--pyodide ADDRESS | --offline]: the Explorer with Python in a browser tab.

Writes `try/` into the folder of the site. Its files have names by their content, so that a server may let
browsers keep them for ever; only index.html changes under its name. Pyodide and NumPy come from Pyodide's own
distribution, from another address, or, offline, from beside the page.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from ptxlab._util.files import write_atomically
from ptxlab._version import __version__
from ptxlab.cli.ask import EXAMPLES
from ptxlab.explorer.bundle import saved_page_files, script, style
from ptxlab.explorer.debugger.debugger_style import debugger_style
from ptxlab.explorer.page.instruction_info import adder
from ptxlab.explorer.saving.static_html import pack, policy_source
from ptxlab.explorer.session import PageSession
from ptxlab.explorer.worker import DEFAULT
from ptxlab.views.highlight import KINDS, script_pattern, token_css
from ptxlab.views.kernel_listings import shade_css

from . import clang, npm, pyodide

ROOT = npm.ROOT
ESBUILD = "0.25.11"
#: What only the page of kernels needs, an archive of its own.
KERNELS = (
    "cli/kernel_page.py", "cli/simulate_commands.py", "explorer/debugger/debugger.py",
    "views/waiting_picture.py", "simulator",
    "gpu/clang.py", "gpu/clang_in_tab.py", "gpu/clang_wasi.js", "gpu/cuda_for_clang.h",
)  # fmt: skip
#: Packages and modules of ptxlab that the page of the Explorer does not import. Of front/ it has what a page
#: that it saves is made of.
LEFT_OUT = (
    "__main__.py", "adapters", "agents", "cli/check.py", "cli/checked_run.py", "cli/dap.py",
    "cli/dap_variables.py", "cli/debug.py", "cli/grader.py", "cli/jupyter", "cli/judge.py", "cli/lab.py",
    "cli/mcp_server.py", "cli/mcp_tools.py", "explorer/debugger/debugger_style.py",
    "explorer/debugger/debugger_widget.py", "explorer/front/debugger", "explorer/front/debugger_widget.js",
    "explorer/front/styles/debugger.css", "explorer/sixteen_products.py", *KERNELS, "course", "gemm",
    "gpu/measured", "judging", "jupyter", "jupyter.py", "lessons.py", "shapes", "simulation.py",
    "views/over_time.js", "wmma", "wmma.py",
)  # fmt: skip
#: Where Explorers in pages of the site find the worker of try/ and what it loads.
SETTINGS = "settings.json"
#: What a first visit may load beyond Pyodide and NumPy, in compressed bytes.
MAX_BYTES = 1_500_000

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; worker-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'"
)
#: For pages of Sphinx and JupyterLite. Styles stand in many places of them, hence `unsafe-inline` for these;
#: scripts are files of the site, or stand in the page and are allowed by their hash.
POLICY_OF_OTHERS = (
    "default-src 'self'; script-src 'self' {}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'"
)
_SCRIPT = re.compile(r"<script\b(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
#: Pages of the site, as its own header has them.
SITE = {
    "ptxlab": "index.html",
    "Course": "course/index.html",
    "Guide": "guide/index.html",
    "Reference": "reference/index.html",
    "Python API": "api/index.html",
    "Teaching": "teaching.html",
}
PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="ptxlab $version">
<title>ptxlab: $title</title>
<link rel="stylesheet" href="$style">
<script type="module" src="$script"></script>
</head>
<body>
$site<main id="page">
<h1>$heading</h1>
<p class="try-ways">$ways</p>
<noscript>This page needs JavaScript, which is switched off.</noscript>
</main>
<script type="application/json" id="saved">$saved</script>
</body>
</html>
""")


def restrict(page: Path, *scripts: str, sources: Sequence[str] = ()) -> None:
    """Put a Content-Security-Policy into a page of others.

    Scripts may be files of the site, those that stand in the page now, these, and of further sources.
    """
    text = page.read_text(encoding="utf-8")
    own = [match["text"] for match in _SCRIPT.finditer(text) if "json" not in match["attributes"]]
    hashes = [policy_source(script) for script in dict.fromkeys([*own, *scripts]) if script.strip()]
    policy = POLICY_OF_OTHERS.format(" ".join([*hashes, *sources]))
    before, head, after = text.partition("<head>")
    assert head, f"{page} has no head"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    write_atomically(page, f"{before}{head}\n{meta}{after}")


def _is_in(name: str, parts: Sequence[str]) -> bool:
    """Whether a file is one of these, or in one of these packages."""
    return any(name == part or name.startswith(f"{part}/") for part in parts)


def archive(parts: Sequence[str] = ()) -> bytes:
    """The modules of ptxlab that the page needs, or some parts, as a zip; always the same bytes."""
    made = io.BytesIO()
    package = ROOT / "ptxlab"
    front, saved = package / "explorer" / "front", saved_page_files()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(package.rglob("*")):
            name = path.relative_to(package).as_posix()
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            if path.is_relative_to(front) and path not in saved:
                continue
            if _is_in(name, parts) if parts else not _is_in(name, LEFT_OUT):
                entry = zipfile.ZipInfo(f"ptxlab/{name}", (1980, 1, 1, 0, 0, 0))
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return made.getvalue()


def compiled(modules: bytes) -> bytes:
    """The same modules as bytecode; as they are where there is no npm."""
    try:
        return pyodide.compiled(modules)
    except npm.Missing as missing:
        print(f"modules are not compiled: {missing}", file=sys.stderr)
        return modules


def minified(text: str, kind: str) -> str:
    """JavaScript or CSS as esbuild shortens it; as it is where there is no npm."""
    try:
        program = npm.package("esbuild", ESBUILD) / ".bin" / "esbuild"
    except npm.Missing as missing:
        print(f"{kind} is not minified: {missing}", file=sys.stderr)
        return text
    command = [program, f"--loader={kind}", "--minify", "--log-level=error"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def header(is_in_site: bool) -> str:
    """The way back to the site around try/; none where the pages stand alone.

    >>> header(True).count("<a href="), header(False)
    (6, '')
    """
    links = "".join(f'<a href="../{address}">{name}</a>' for name, address in SITE.items())
    return f'<nav class="try-site" aria-label="site">{links}</nav>\n' if is_in_site else ""


def build(folder: Path, address: str, *, is_in_site: bool = False) -> dict[str, int]:
    """Write the pages into `folder`/try; returns the compressed bytes of each file."""
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

    def write_page(name: str, texts: Mapping[str, str], saved: Mapping[str, Any]) -> None:
        text = json.dumps(saved, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        page = PAGE.substitute(
            policy=POLICY, version=__version__, saved=text, site=header(is_in_site), **texts
        )
        write_atomically(target / name, page)
        sizes[name] = len(gzip.compress(page.encode()))

    settings = {
        "pyodide": address,
        "archive": write("ptxlab.zip", compiled(archive())),
        "worker": write("worker.js", minified(script("worker"), "js").encode()),
        "offline": "sw.js",
    }
    write_atomically(target / SETTINGS, json.dumps(settings))  # for Explorers in pages of the site
    explorer = {
        "title": "tensor-core instructions in this tab",
        "heading": "Edit a matrix, see the registers, see D",
        "ways": '<a href="kernel.html">Run a whole kernel</a>',
        "script": write("page.js", minified(script("try_page"), "js").encode()),
        "style": write("page.css", minified(style("saved_page", "try_page"), "css").encode()),
    }
    first = PageSession(DEFAULT)
    saved = {
        "settings": settings,
        "examples": EXAMPLES,
        "state": pack(first.page_model.get_state()),
        "adder": adder(first.state.ins, first.state.chip_choice.chip),
    }
    write_page("index.html", explorer, saved)
    first_visit = sorted(sizes)
    kernels = {
        "title": "a kernel in this tab",
        "heading": "Write a kernel, simulate it, see every lane",
        "ways": '<a href="index.html">The Explorer, for one instruction</a>',
        "script": write("kernel.js", minified(script("kernel_page"), "js").encode()),
        "style": write("kernel.css", minified(_kernel_style(), "css").encode()),
    }
    more: dict[str, object] = {"kernels": write("kernels.zip", compiled(archive(KERNELS)))}
    compiler = clang.bring(folder)
    compilers = ""
    if compiler is not None:
        more["clang"], compilers = compiler, clang.FOLDER
    syntax = {"patterns": {name: script_pattern(name) for name in ("cuda", "ptx")}, "kinds": KINDS}
    write_page(
        "kernel.html",
        kernels,
        {"settings": settings | more, "examples": kernel_examples(), "syntax": syntax},
    )
    kept = [*first_visit, "./", "kernel.html", kernels["script"], kernels["style"]]
    version = json.dumps([kept, address, more])  # files have names by their content
    write_atomically(target / "sw.js", service_worker(kept, address, pyodide.CORE, version, compilers))
    return {name: sizes[name] for name in (*first_visit, *sorted(sizes.keys() - {*first_visit}))}


def service_worker(
    files: Sequence[str],
    address: str,
    core: Sequence[str],
    version: str,
    compiler: str,
    *,
    when_asked: bool = False,
) -> str:
    """A service worker that keeps these files of its folder, and Pyodide's; `version` changes with them.

    `compiler` is the folder of the compiler of C++, which is kept when it is loaded, or "".
    """
    settings = {
        "version": hashlib.sha256(version.encode()).hexdigest()[:12],
        "files": files,
        "pyodide": address,
        "core": core,
        "packages": list(pyodide.PACKAGES),
        "compiler": compiler,
        "whenAsked": when_asked,
    }
    return f"globalThis.settings = {json.dumps(settings)};\n{minified(script('service_worker'), 'js')}\n"


def first_visit(sizes: Mapping[str, int]) -> int:
    """The bytes that the page of the Explorer loads: all but those of the page of kernels."""
    return sum(size for name, size in sizes.items() if not name.startswith("kernel"))


def _kernel_style() -> str:
    code = ".kernel-code"
    colours = (token_css(code), shade_css(code, ""))
    return "\n".join([style("saved_page", "try_page", "kernel_page"), debugger_style(), *colours])


def kernel_examples() -> list[dict[str, Any]]:
    """Kernels for the page: their first lines say what they show, and how they are launched."""
    examples: list[dict[str, Any]] = []
    for path in sorted((ROOT / "tools" / "data" / "kernels").iterdir()):
        text = path.read_text(encoding="utf-8")
        head = re.match(
            r"// (?P<title>.*)\n// grid (?P<grid>\S+), block (?P<block>\S+), arguments (.*)\n", text
        )
        assert head is not None, path
        examples.append({**head.groupdict(), "arguments": head[4].split(), "source": text})
    return examples


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
    args = pyodide.parse_arguments("python -m tools.web", "Build the page with Python in it.")
    try:
        address = bring_pyodide(args.folder) if args.offline else args.pyodide
    except npm.Missing as missing:
        print(f"not built: {missing}", file=sys.stderr)
        return 1
    sizes = build(args.folder, address, is_in_site=True)
    for name, size in sizes.items():
        print(f"{size:>9,} bytes  {name}")
    print(f"{first_visit(sizes):>9,} bytes of a first visit, compressed, beyond Pyodide and NumPy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
