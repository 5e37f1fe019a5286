"""What agents read: a page of the guide, every page as Markdown, and `llms.txt`, which leads to them.

`llms.txt` is the form of llmstxt.org. It begins with how to verify a kernel, so that whoever was never told
of ptxlab needs no second page.
"""

from __future__ import annotations

import re
from pathlib import Path

from ptxlab._util.files import write_atomically

__all__ = ["plain", "skill", "write", "write_markdown"]

ROOT = Path(__file__).resolve().parents[2]
#: Blocks that are no text: scripts, pictures, lists of contents.
_BLOCKS = re.compile(
    r"^(`{3,}|:{3,})\{(?:raw|toctree|eval-rst|figure|image)\}.*?^\1\n?", re.MULTILINE | re.DOTALL
)
_MARKS = re.compile(r"^:{3,}.*\n|^:(?:[\w-]+):.*\n|^\([\w-]+\)=\n|^%.*\n|^\+\+\+.*\n", re.MULTILINE)
_SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
#: Folders of the site in the order of llms.txt, with their headings.
_SECTIONS = {"guide": "Guide", "": "Teaching", "reference": "Optional"}


def skill() -> str:
    """SKILL.md without its front matter."""
    text = (ROOT / "SKILL.md").read_text(encoding="utf-8")
    return text.split("---\n", 2)[2].lstrip()


def write(folder: Path) -> None:
    """The page of the guide."""
    write_atomically(folder / "agents.md", skill())


def plain(text: str) -> str:
    """A page's Markdown without what only Sphinx understands.

    >>> plain("(here)=\\n# A\\n```{toctree}\\nb\\n```\\n::::{grid} 2\\n:gutter: 3\\nText\\n::::\\n")
    '# A\\nText\\n'
    """
    text = _SVG.sub("", _MARKS.sub("", _BLOCKS.sub("", text)))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def write_markdown(source: Path, site: Path) -> None:
    """Every page of Markdown beside the page that Sphinx made of it, and `llms.txt`."""
    listed: dict[str, list[str]] = {folder: [] for folder in _SECTIONS}
    for page in sorted(source.rglob("*.md")):
        name = page.relative_to(source)
        if not (site / name).with_suffix(".html").exists():
            continue
        text = plain(page.read_text(encoding="utf-8"))
        write_atomically(site / name, text)
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        folder = "" if len(name.parts) == 1 else name.parts[0]
        if title and name.stem != "index" and folder in listed:
            listed[folder].append(f"- [{title[1]}]({name.as_posix()})")
    text = skill().replace("\n## ", "\n### ").replace("# Verify", "## Verify", 1)
    summary = plain((source / "index.md").read_text(encoding="utf-8")).split("\n\n")[2].replace("\n", " ")
    lists = [f"## {title}\n\n" + "\n".join(listed[folder]) for folder, title in _SECTIONS.items()]
    write_atomically(
        site / "llms.txt",
        "\n\n".join(
            ["# ptxlab", f"> {summary} Whole kernels are simulated and judged.", text.strip(), *lists]
        )
        + "\n",
    )
