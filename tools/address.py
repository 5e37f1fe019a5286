"""Write the repository's address and the version wherever documents and notebooks repeat them.

A fork changes `Repository` under `[project.urls]` in pyproject.toml; then `python -m tools.address` rewrites
the first code cell of each notebook, and the links to Colab, Binder and the repository. These links, and what
is offered from a package index, stand in documents only if `published` under `[tool.ptxlab]` is true, which
`--published` and `--no-published` set. A release is `python -m tools.address --release`: it is published, the
version loses its .dev0, if it has one, and the changelog gets today's date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from ptxlab._util.files import write_atomically
from ptxlab._version import __version__

from .publication import rendered

__all__ = ["FOLDED", "address", "changes", "first_cell", "is_published", "release", "rewrite", "urls"]

ROOT = Path(__file__).resolve().parent.parent
#: Metadata of the first code cell: JupyterLab shows one line of it, as most readers have ptxlab already.
FOLDED = {"jupyter": {"source_hidden": True}}
_INSTALL = re.compile(r'ptxlab(?:\[[\w,]+\])? @ git\+(https://[^\s"\'`\\#@]+)')
_COLAB = re.compile(r"(?<=colab\.research\.google\.com/github/)[\w.-]+/[\w.-]+")
_PAGE = re.compile(r"https://[\w-]+\.github\.io/[\w.-]+/(?=try/)")
_STATED = re.compile(r"^(?:repository-code|  homepage): https://github\.com/([\w.-]+/[\w.-]+)$", re.MULTILINE)
_BINDER = re.compile(r"(?<=mybinder\.org/v2/gh/)[\w.-]+/[\w.-]+")


def address() -> str:
    """The repository's address: https://github.com/OWNER/NAME.

    Colab and Binder open notebooks of repositories on GitHub by owner and name.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = str(project["urls"]["Repository"])
    if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+(?<!\.git)", stated):
        raise ValueError(
            f"pyproject.toml, Repository: found {stated!r}; Colab and Binder need https://github.com/OWNER/NAME"
        )
    return stated


def is_published() -> bool:
    """Whether there is a release, as `published` under `[tool.ptxlab]` in pyproject.toml says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return bool(project["tool"]["ptxlab"]["published"])


def urls(repository: str) -> dict[str, str]:
    """The other addresses under [project.urls]."""
    owner, name = repository.removeprefix("https://github.com/").split("/")
    return {
        "Documentation": f"https://{owner}.github.io/{name}/",
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
    }


def first_cell(version: str, source: str, published: bool | None = None) -> str:
    """The first code cell of every notebook: it installs on Colab only, and says what and from where.

    On Colab it gets the release that the notebook belongs to. A version that is not released comes from the
    repository: among the released packages, somebody else could offer one of that name. Before anything is
    published, by default what pyproject.toml says, it installs nothing anywhere.

    >>> print(first_cell("0.1.0", "https://github.com/ptxlab/ptxlab", True).splitlines()[-2].strip())
    %pip install -q "ptxlab[lab]==0.1.0"
    """
    if not (is_published() if published is None else published):
        return """\
# If ptxlab is missing: `make lab`, in a clone of its repository, installs it and opens this notebook.
import ptxlab"""
    if "dev" in version or "+" in version:
        requirement = f"ptxlab[lab] @ git+{source}"
        origin = f"ptxlab {version} (not released yet) from {source}"
    else:
        requirement = f"ptxlab[lab]=={version}"
        origin = f"ptxlab {version} and the packages that it needs"
    return f"""\
# On Google Colab, where ptxlab is missing, this cell installs it. Anywhere else it installs nothing.
import sys

try:
    import ptxlab
except ImportError:
    if "google.colab" not in sys.modules:
        raise
    print("Installing {origin}")
    %pip install -q "{requirement}"
    import ptxlab"""


def _with_first_cell(text: str, source: str) -> str:
    """The JSON text of a notebook with this first code cell, folded."""
    notebook = json.loads(text)
    cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    cell["source"] = source.splitlines(keepends=True)
    cell["metadata"] = FOLDED
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"  # as nbformat writes it


def documents() -> list[Path]:
    """The files that may repeat the address."""
    texts = [
        *ROOT.glob("ptxlab/explorer/links.py"),
        *ROOT.glob("*.md"),
        *ROOT.glob("*.cff"),
        *ROOT.glob("recipe/*.yaml"),
        *ROOT.glob("docs/**/*.md"),
    ]
    return sorted([*texts, *ROOT.glob("notebooks/*.ipynb")])


def rewrite(text: str, new: str, old: str | None = None) -> str:
    """The text with the new address in install lines and links; `old` is the address that plain links have.

    >>> rewrite('pip install "ptxlab[lab] @ git+https://github.com/ptxlab/ptxlab"', "https://github.com/me/fork")
    'pip install "ptxlab[lab] @ git+https://github.com/me/fork"'
    """
    owner_and_name = new.removeprefix("https://github.com/")
    text = _INSTALL.sub(lambda match: match[0].replace(match[1], new), text)
    text = _COLAB.sub(owner_and_name, text)
    text = _BINDER.sub(owner_and_name, text)
    text = _PAGE.sub(urls(new)["Documentation"], text)
    if old is not None and old != new:
        text = re.sub(rf"{re.escape(old)}(?![\w-])", new, text)
    return text


def changes(version: str | None = None, published: bool | None = None) -> dict[Path, str]:
    """New contents of the documents that do not have the address of pyproject.toml, or the version.

    `published`, by default what pyproject.toml says, is written there as well.
    """
    version = version or __version__
    new = address()
    published = is_published() if published is None else published
    texts = {path: path.read_text(encoding="utf-8") for path in documents()}
    stated = [match[1] for text in texts.values() for match in _INSTALL.finditer(text)]
    stated += [f"https://github.com/{match[0]}" for text in texts.values() for match in _COLAB.finditer(text)]
    stated += [
        f"https://github.com/{match[1]}" for text in texts.values() for match in _STATED.finditer(text)
    ]
    old = next((other for other in stated if other != new), None)
    rewritten = {path: rewrite(text, new, old) for path, text in texts.items()}
    cell = first_cell(version, new, published)
    released = version.removesuffix(".dev0")
    site = urls(new)["Documentation"]
    for path in rewritten:
        file = path.relative_to(ROOT).as_posix()
        text = rewritten[path] = rendered(
            file, rewritten[path], published=published, repository=new, site=site
        )
        if path.suffix == ".ipynb":
            rewritten[path] = _with_first_cell(text, cell)
        if path.suffix in (".cff", ".yaml"):
            rewritten[path] = re.sub(r'^( *version: "?)\d[\w.]*', rf"\g<1>{released}", text, flags=re.M)
    project = ROOT / "pyproject.toml"
    texts[project] = rewritten[project] = project.read_text(encoding="utf-8")
    setting = f"published = {str(published).lower()}"
    rewritten[project] = re.sub(r"^published = \w+", setting, rewritten[project], flags=re.M)
    for label, url in urls(new).items():
        line = f'{label} = "{url}"'
        rewritten[project] = re.sub(rf'^{label} = ".*"$', line, rewritten[project], flags=re.M)
    return {path: text for path, text in rewritten.items() if text != texts[path]}


def release() -> dict[Path, str]:
    """What a release changes: the version, the date in the changelog, and what repeats the version.

    Released versions have no .dev0; the first cells of notebooks then install that release.
    """
    version = __version__.removesuffix(".dev0")
    changed = changes(version, published=True)
    source = ROOT / "ptxlab" / "_version.py"
    changed[source] = source.read_text(encoding="utf-8").replace(f'"{__version__}"', f'"{version}"')
    changelog = ROOT / "CHANGELOG.md"
    text = changed.get(changelog, changelog.read_text(encoding="utf-8"))
    heading = f"## [{version}] ({datetime.now(UTC).date()})"
    changed[changelog] = re.sub(rf"^## \[{re.escape(version)}\] \(.*\)$", heading, text, flags=re.M)
    return {path: text for path, text in changed.items() if text != path.read_text(encoding="utf-8")}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.address", description=__doc__.splitlines()[0])
    state = parser.add_mutually_exclusive_group()
    state.add_argument(
        "--release", action="store_true", help="published; no .dev0; the changelog has today's date"
    )
    state.add_argument(
        "--published", action=argparse.BooleanOptionalAction, help="whether there is a release"
    )
    options = parser.parse_args(argv)
    try:
        changed = release() if options.release else changes(published=options.published)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in changed.items():
        write_atomically(path, text)
        print(path.relative_to(ROOT))
    if not changed:
        print(f"every document already has {address()} and version {__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
