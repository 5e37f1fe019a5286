"""Write the repository's address, as pyproject.toml states it, wherever documents and notebooks repeat it.

A fork changes `Repository` under `[project.urls]` in pyproject.toml and runs `python -m tools.address`. That
rewrites the install lines (also in the first cell of each notebook) and the links to Colab, Binder and the
repository.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from ptxlab._util.files import write_atomically

__all__ = ["address", "changes", "rewrite"]

ROOT = Path(__file__).resolve().parent.parent
_INSTALL = re.compile(r'ptxlab(?:\[[\w,]+\])? @ git\+(https://[^\s"\'`\\#@]+)')
_COLAB = re.compile(r"(?<=colab\.research\.google\.com/github/)[\w.-]+/[\w.-]+")
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


def documents() -> list[Path]:
    """The files that may repeat the address."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb")])


def rewrite(text: str, new: str, old: str | None = None) -> str:
    """The text with the new address in install lines and links; `old` is the address that plain links have.

    >>> rewrite('pip install "ptxlab[lab] @ git+https://github.com/ptxlab/ptxlab"', "https://github.com/me/fork")
    'pip install "ptxlab[lab] @ git+https://github.com/me/fork"'
    """
    owner_and_name = new.removeprefix("https://github.com/")
    text = _INSTALL.sub(lambda match: match[0].replace(match[1], new), text)
    text = _COLAB.sub(owner_and_name, text)
    text = _BINDER.sub(owner_and_name, text)
    if old is not None and old != new:
        text = re.sub(rf"{re.escape(old)}(?![\w-])", new, text)
    return text


def changes() -> dict[Path, str]:
    """New contents of the documents that do not have the address of pyproject.toml."""
    new = address()
    texts = {path: path.read_text(encoding="utf-8") for path in documents()}
    installs = [match[1] for text in texts.values() for match in _INSTALL.finditer(text)]
    old = next((stated for stated in installs if stated != new), None)
    rewritten = {path: rewrite(text, new, old) for path, text in texts.items()}
    return {path: text for path, text in rewritten.items() if text != texts[path]}


def main() -> int:
    try:
        changed = changes()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in changed.items():
        write_atomically(path, text)
        print(path.relative_to(ROOT))
    if not changed:
        print(f"every document already has {address()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
