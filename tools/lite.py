"""python -m tools.lite [FOLDER] [--pyodide ADDRESS | --offline]: the course in a browser tab, as JupyterLite.

Writes `lite/` into the folder of the site: JupyterLite with all notebooks, and packages of Python as they are
installed here, listed for Pyodide in one file, so that a kernel loads them at once and asks no package index.
Pyodide, NumPy and ml_dtypes come from Pyodide's own distribution, from another address, or, offline, from
`try/pyodide` of the same site.

JupyterLite is installed in an environment of its own: JupyterLab would load its kernel, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ptxlab._version import __version__
from ptxlab.explorer import bundle as front
from ptxlab.views.highlight import cell_script
from ptxlab.views.timeline_picture import timeline_script

from . import clang, npm, pyodide, web
from .npm import ROOT, Missing

#: What the kernel asks for, though the course does without: JupyterLite does not look for what is listed.
EMPTY = ("jedi", "sqlite3")
#: JupyterLite's own stand-ins, from its kernel's extension.
OWN = ("ipykernel", "piplite", "pyodide_kernel")
#: Scripts in outputs of the course, which its policy allows by their hashes.
OUTPUT_SCRIPTS = (cell_script(), timeline_script())
#: What every kernel starts with.
FIRST = ("micropip", *OWN, *EMPTY, "comm", "ipython", "numpy", "ml-dtypes", "ptxlab")
#: What ptxlab needs there beside what is compiled.
NEEDS = ("anywidget", "ipywidgets", "filelock", "platformdirs", "plotly", "tqdm")
#: Requirements of packages that no tab needs: the front ends of widgets are JupyterLite's extensions.
UNUSED = {"jedi", "jupyterlab-widgets", "widgetsnbextension"}
#: Packages that are mostly docstrings, which no reader of the course asks for.
WITHOUT_DOCS = {"narwhals", "plotly"}
#: Files of packages that no tab needs.
LEFT_OUT = re.compile(
    r"^\.\.|__pycache__|\.pyi$|\.pyc$|\.so$|\.mjs$|(^|/)(tests?|labextension|nbextension)/"
    r"|^plotly/(package_data/(datasets|.*\.js$)|matplotlylib|figure_factory|express)|^anywidget/nbextension"
    r"|\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url|sboms|licenses)"
)
#: What exists for the tab's Python alone.
INTO_TAB = ("--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.13", "micropip>=0.11")
KERNEL = "@jupyterlite/pyodide-kernel-extension"
PLUGIN = f"{KERNEL}:kernel"
#: The environment of the kernel: the drive is what the browser keeps; figures are drawn by an extension.
VARIABLES = {"PTXLAB_PROGRESS": "/drive/progress.json", "PLOTLY_RENDERER": "plotly_mimetype"}
#: The folder of the page of kernels, as seen from `lite/`: the compiler of C++ is there for both.
TRY = "../try/"
#: Applications of JupyterLite; each has a page.
APPS = ("lab", "notebooks", "tree")
#: What stands there and no page asks for: fonts for old browsers, licences; and the service worker itself.
NOT_LOADED = re.compile(r"\.(eot|ttf|svg|txt|map|orig)$|third-party-licenses|service-worker\.js$|schema\.v0")
#: What scripts need there: JupyterLab compiles its settings' schemas, anywidget loads widgets from blobs.
SOURCES = ("'unsafe-eval'", "blob:")
#: A tab, to markers of requirements.
MARKERS = {
    "sys_platform": "emscripten", "platform_system": "Emscripten", "os_name": "posix",
    "platform_machine": "wasm32", "python_version": "3.13", "python_full_version": "3.13.2",
    "implementation_name": "cpython", "platform_python_implementation": "CPython", "extra": "",
}  # fmt: skip


# -- the environment that builds, and whose packages go into the tab -----------------------------------------


def environment() -> Path:
    """An environment with JupyterLite, made once; raises `Missing` where its packages cannot be had."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, needed = settings["project"], list(settings["dependency-groups"]["lite"])
    needed += [
        requirement for requirement in project["optional-dependencies"]["lab"] if _name(requirement) in NEEDS
    ]
    needed += [requirement for requirement in project["dependencies"] if _name(requirement) in NEEDS]
    key = hashlib.sha256(" ".join(needed).encode()).hexdigest()[:8]
    target = ROOT / ".venv" / f"lite-{key}"
    if not (target / "made").exists():
        shutil.rmtree(target, ignore_errors=True)
        python = python_of(target)
        uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
        make = [uv, "venv", "--quiet", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
        install = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
        try:
            subprocess.run([*make, target], check=True, timeout=120, capture_output=True)
            subprocess.run([*install, "--quiet", *needed], check=True, timeout=600, capture_output=True)
            subprocess.run(
                [*install, *INTO_TAB, "--target", target / "tab"],
                check=True,
                timeout=120,
                capture_output=True,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            shutil.rmtree(target, ignore_errors=True)
            raise Missing("JupyterLite could not be installed, which the course in a tab needs") from None
        (target / "made").touch()
    return target


def python_of(home: Path) -> Path:
    """The environment's Python; its scripts would not outlive a move of the folder."""
    return home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def installed(home: Path) -> dict[str, Distribution]:
    """The packages of an environment, by name."""
    folders = [*home.glob("lib/python*/site-packages"), home / "Lib" / "site-packages", home / "tab"]
    return {
        canonicalize_name(distribution.metadata["Name"]): distribution
        for distribution in distributions(path=[*map(str, folders)])
    }


def required(names: Iterable[str], among: dict[str, Distribution]) -> dict[str, list[str]]:
    """These packages and all that they need in a tab, each with what it needs itself."""
    extras_of: dict[str, list[str]] = {}
    left = list(names)
    while left:
        name = left.pop()
        if name not in extras_of:
            wanted = [Requirement(text) for text in among[name].requires or ()]
            needed = {
                canonicalize_name(requirement.name)
                for requirement in wanted
                if not requirement.marker or requirement.marker.evaluate(MARKERS)
            }
            extras_of[name] = sorted(needed - UNUSED)
            left += extras_of[name]
    return extras_of


# -- packages for Pyodide ------------------------------------------------------------------------------------


def wheel(files: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive as Pyodide installs it; the same files give the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, content in sorted(files):
            packed.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def described(name: str, version: str) -> tuple[str, bytes]:
    """What makes an archive a package: its name and version."""
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    return f"{name}-{version}.dist-info/METADATA", text.encode()


def files_of(package: Distribution) -> dict[str, bytes]:
    """An installed package, without what no tab needs."""
    return {str(file): file.read_binary() for file in package.files or () if not LEFT_OUT.search(str(file))}


def own_files() -> dict[str, bytes]:
    """ptxlab as it is here, with its notebooks, whose texts the exercises show."""
    files = dict([described("ptxlab", __version__)])
    for folder, place in ((ROOT / "ptxlab", "ptxlab"), (ROOT / "notebooks", "ptxlab/notebooks")):
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and "__pycache__" not in path.parts and not name.startswith("."):
                files[f"{place}/{name}"] = path.read_bytes()
    return files


def compiled(files: dict[str, bytes], *keep: str) -> dict[str, bytes]:
    """These files, with modules as bytecode."""
    modules = {path: text for path, text in files.items() if path.endswith(".py") and "/sources/" not in path}
    with zipfile.ZipFile(io.BytesIO(pyodide.compiled(wheel(modules.items()), *keep))) as packed:
        ready = {name: packed.read(name) for name in packed.namelist()}
    return ready | {path: content for path, content in files.items() if path not in modules}


def bring_packages(target: Path, home: Path, address: str, lock: dict[str, Any]) -> dict[str, Any]:
    """Write all packages into a folder; returns their list for Pyodide."""
    among = installed(home)
    depends = required(("ipython", "comm", "micropip", *NEEDS), among)
    files = {name: files_of(among[name]) for name in depends}
    versions = {name: among[name].version for name in depends}
    for name in OWN:
        (source,) = (home / "share/jupyter/labextensions" / KERNEL / "static/pypi").glob(f"{name}-*.whl")
        with zipfile.ZipFile(source) as packed:
            files[name] = {path: packed.read(path) for path in packed.namelist() if not path.endswith("/")}
        versions[name], depends[name] = source.name.split("-")[1], []
    for name in EMPTY:
        files[name], versions[name], depends[name] = dict([described(name, "0")]), "0", []
    ready = {}
    for keep, names in ((("lines",), WITHOUT_DOCS), (("docs", "lines"), files.keys() - WITHOUT_DOCS)):
        ready |= compiled({path: text for name in names for path, text in files[name].items()}, *keep)
    files["ptxlab"] = own_files()
    ready |= compiled(files["ptxlab"], "docs", "lines")
    versions["ptxlab"], depends["ptxlab"] = __version__, sorted({*NEEDS, *pyodide.PACKAGES})

    packages: dict[str, Any] = {}
    target.mkdir(parents=True)
    for name, own in files.items():
        paths = [path if path in ready else f"{path}c" for path in own]
        content = wheel((path, ready[path]) for path in paths)
        file = f"{name.replace('-', '_')}-{versions[name]}-py3-none-any.whl"
        (target / file).write_bytes(content)
        tops = {path.split("/")[0].partition(".")[0] for path in own if ".dist-info/" not in path}
        packages[canonicalize_name(name)] = {
            "name": name, "version": versions[name], "file_name": file, "install_dir": "site",
            "sha256": hashlib.sha256(content).hexdigest(), "package_type": "package", "imports": sorted(tops),
            "depends": depends[name], "unvendored_tests": False,
        }  # fmt: skip
    for name, needed in pyodide.PACKAGES.items():
        packages[name] = lock["packages"][name] | {"depends": needed}
        packages[name]["file_name"] = address + packages[name]["file_name"]
    return {"info": lock["info"], "packages": packages}


# -- the site ------------------------------------------------------------------------------------------------


def notebook(path: Path) -> str:
    """A notebook for a tab: its kernel by JupyterLite's name, and without how ptxlab is installed."""
    book = json.loads(path.read_text(encoding="utf-8"))
    book["metadata"]["kernelspec"] = {
        "name": "python",
        "display_name": "Python (Pyodide)",
        "language": "python",
    }
    first = next(cell for cell in book["cells"] if cell["cell_type"] == "code")
    if "".join(first["source"]).endswith("import ptxlab"):
        first["source"] = ["import ptxlab"]
    return json.dumps(book, ensure_ascii=False, indent=1)


def bring_pyodide(folder: Path) -> str:
    """Pyodide beside the page `try/`, which needs it, too; returns its address as seen from `lite/`."""
    address = web.bring_pyodide(folder)
    core = pyodide.folder() / "pyodide.js"  # for a classic worker
    shutil.copyfile(core, folder / "try" / address / core.name)
    return TRY + address


def build(folder: Path, address: str) -> None:
    """Write JupyterLite with the course into `folder`/lite, and the compiler of C++ into `folder`/try."""
    home = environment()
    is_local = not address.startswith("http")
    core = pyodide.folder() if is_local else npm.package("pyodide", pyodide.VERSION) / "pyodide"
    lock = json.loads((core / "pyodide-lock.json").read_text(encoding="utf-8"))
    compiler = clang.bring(folder, TRY)
    variables = VARIABLES if compiler is None else VARIABLES | {"PTXLAB_CLANG": json.dumps(compiler)}
    target = folder / "lite"
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place)
        (source / "files").mkdir()
        for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
            (source / "files" / path.name).write_text(notebook(path), encoding="utf-8")
        base = address if address.startswith("http") else f"../{address}"
        listing = bring_packages(source / "packages", home, base, lock)
        text = json.dumps(listing, separators=(",", ":"))
        (source / "packages" / "pyodide-lock.json").write_text(text, encoding="utf-8")
        settings = {
            "jupyter-lite-schema-version": 0,
            "jupyter-config-data": {
                "appName": "ptxlab",
                "exposeAppInBrowser": True,
                "litePluginSettings": {
                    PLUGIN: {
                        "pyodideUrl": f"{'' if address.startswith('http') else './'}{address}pyodide.js",
                        "disablePyPIFallback": True,
                        "loadPyodideOptions": {
                            "lockFileURL": "packages/pyodide-lock.json",
                            "packages": FIRST,
                            "env": variables,
                            "convertNullToNone": True,  # otherwise a widget's null is no None in Python
                        },
                    }
                },
            },
        }
        (source / "jupyter-lite.json").write_text(json.dumps(settings), encoding="utf-8")
        command = [
            *(python_of(home), "-m", "jupyterlite_core", "build"),
            *("--lite-dir", source, "--output-dir", target),
            *("--contents", source / "files", "--no-sourcemaps", "--no-unused-shared-packages"),
            *(part for app in APPS for part in ("--apps", app)),
        ]
        done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stdout + done.stderr)[-4000:])
        shutil.copytree(source / "packages", target / "packages")
    outputs = [script.removeprefix("<script>").removesuffix("</script>") for script in OUTPUT_SCRIPTS]
    for page in target.rglob("index.html"):
        web.restrict(page, *outputs, sources=SOURCES)
    keep_for_offline(target, address, "" if compiler is None else f"{TRY}{clang.FOLDER}")


def megabytes_of_a_kernel(target: Path) -> float:
    """What a kernel loads: Pyodide's core, NumPy and ml_dtypes, and the packages in `target`."""
    core = npm.package("pyodide", pyodide.VERSION) / "pyodide"
    files = [core / name for name in pyodide.CORE] + list((target / "packages").iterdir())
    with contextlib.suppress(Missing):
        files += pyodide.wheels().values()
    return sum(path.stat().st_size for path in files) / 1e6


def keep_for_offline(target: Path, address: str, compiler: str) -> None:
    """Let JupyterLite's service worker keep the whole course, when a page asks for it.

    `compiler` is the folder of the compiler of C++, which is kept when it is loaded, or "".
    """
    (target / "course.js").write_text(web.minified(front.script("course_page"), "js"), encoding="utf-8")
    loads = f"{megabytes_of_a_kernel(target):.0f} MB"
    for app in APPS:
        page = target / app / "index.html"
        text = page.read_text(encoding="utf-8")
        tag = f'<script type="module" src="../course.js" data-loads="{loads}"></script>'
        page.write_text(text.replace("</head>", f"{tag}\n</head>"), encoding="utf-8")
    files = [path for path in sorted(target.rglob("*")) if path.is_file()]
    kept = {path.relative_to(target).as_posix(): path for path in files if not NOT_LOADED.search(path.name)}
    folders = [name.removesuffix("index.html") or "./" for name in kept if name.endswith("index.html")]
    digest = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in kept.values()))
    core = ("pyodide.js", *pyodide.CORE[1:])
    text = web.service_worker([*kept, *folders], address, core, digest.hexdigest(), compiler, when_asked=True)
    worker = target / "service-worker.js"  # its listeners stand below ours, and answer the rest
    worker.write_text(text + worker.read_text(encoding="utf-8"), encoding="utf-8")


def main() -> int:
    args = pyodide.parse_arguments("python -m tools.lite", "Build the course in a tab.")
    try:
        build(args.folder, bring_pyodide(args.folder) if args.offline else args.pyodide)
    except Missing as missing:
        print(f"not built: {missing}", file=sys.stderr)
        return 1
    files = [path for path in (args.folder / "lite").rglob("*") if path.is_file()]
    print(f"{sum(path.stat().st_size for path in files):>9,} bytes in {len(files)} files: lite/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
