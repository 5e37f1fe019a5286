"""A hook of the build: README for a package index, where relative links lead nowhere.

Links and pictures lead to the files of the release, by its tag, so they stay right when main moves on. The
address is `Repository` under `[project.urls]` in pyproject.toml; an unreleased version links to main.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

__all__ = ["ReadmeHook", "absolute"]

ROOT = Path(__file__).resolve().parent


def absolute(text: str, repository: str, version: str) -> str:
    """The text with links to this version's files in the repository.

    >>> absolute("[a](docs/a.md), ![b](b.png)", "https://github.com/o/n", "0.1.0")
    '[a](https://github.com/o/n/blob/v0.1.0/docs/a.md), ![b](https://github.com/o/n/raw/v0.1.0/b.png)'
    """
    tag = "main" if "dev" in version else f"v{version}"

    def link(match: re.Match[str]) -> str:
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}[{match[2]}]({repository}/{kind}/{tag}/{match[3]})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    for index in range(0, len(parts), 2):  # between the blocks of code
        parts[index] = re.sub(r"(!?)\[([^\]]*)\]\((?!https://|#)([^)]+)\)", link, parts[index])
    text = "".join(parts)
    if tag != "main":
        text = re.sub(
            r"(?<=colab\.research\.google\.com/github/)([\w.-]+/[\w.-]+/blob)/main/", rf"\1/{tag}/", text
        )
        text = re.sub(r"(?<=mybinder\.org/v2/gh/)([\w.-]+/[\w.-]+)/HEAD\?", rf"\1/{tag}?", text)
    return text


class ReadmeHook(MetadataHookInterface):
    """What pyproject.toml calls `dynamic = ["readme"]`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        version = re.search(r'"(\d.*)"', (ROOT / "ptxlab" / "_version.py").read_text(encoding="utf-8"))
        assert version
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, metadata["urls"]["Repository"], version[1]),
        }
