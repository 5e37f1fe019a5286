"""What documents offer before anything is published, and after: the passages in which the two differ.

Until there is a release, a package index has no ptxlab, nobody has published its site, and its repository may
be no place that a reader can open: README, notebooks and docs then offer what works in a clone. Whether it is
published is stated once, as `published` under `[tool.ptxlab]` in pyproject.toml; `python -m tools.address`
writes the passages that go with it, and `--published` turns it on.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

__all__ = ["PASSAGES", "rendered"]

#: By file: pairs of passages, `clone` and `published`.
PASSAGES: dict[str, list[dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("data").joinpath("publication.toml").read_text(encoding="utf-8")
)
#: `pip install ".[cuda13]"` in a text or, with escaped quotes, in a notebook.
_EXTRAS = re.compile(r'(?<=pip install )(\\?")(?:ptxlab|\.)(\[[\w,]+\]\\?")')


def rendered(file: str, text: str, *, published: bool, repository: str, site: str) -> str:
    """The text of a file with the passages that belong to it; ValueError where it has neither of a pair.

    >>> rendered("docs/x.md", 'pip install ".[lab]"', published=True, repository="", site="")
    'pip install "ptxlab[lab]"'
    """
    name = repository.removeprefix("https://github.com/")
    addresses = {"site": site, "repository": repository, "name": name}

    def addressed(passage: str) -> str:
        return re.sub(r"\{(site|repository|name)\}", lambda match: addresses[match[1]], passage)

    for pair in PASSAGES.get(file, []):
        in_a_clone, for_all = addressed(pair["clone"]), addressed(pair["published"])
        wanted = for_all if published else in_a_clone
        # one may be a part of the other: the longer one is looked for first
        present = max((in_a_clone, for_all), key=lambda passage: (passage in text, len(passage)))
        if text.count(present) != 1:
            raise ValueError(f"{file}: found {text.count(present)} times, where once is right: {present!r}")
        text = text.replace(present, wanted)
    if file.endswith((".md", ".ipynb")):
        text = _EXTRAS.sub(rf"\g<1>{'ptxlab' if published else '.'}\g<2>", text)
    return text
