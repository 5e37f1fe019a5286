"""Builds the site: ``python -m docs.build [FOLDER]``. What it writes depends on the package and on docs/ alone."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ptxlab import catalog
from ptxlab.isa.catalog import FAMILIES

from . import api, chips, command, elements, index, markdown, models
from .family import FamilyPage
from .page import Page
from .shell import script, style, wrap

__all__ = ["build", "main"]

HERE = Path(__file__).parent
ROOT = HERE.parent


def build(folder: Path, families: Sequence[str] = FAMILIES, say: Callable[[str], None] = print) -> list[str]:
    """Write the site into a folder; gives what entries of the catalogue could not be shown, one line each."""
    started = time.perf_counter()

    def step(what: str) -> None:
        say(f"{time.perf_counter() - started:5.1f} s  {what}")

    made: list[FamilyPage] = []
    for family in families:
        it = FamilyPage(family, catalog(family))
        it.build()
        step(f"{it.page.file}: {len(it.forms)} forms, {len(it.groups)} groups, {len(it.fragments)} fragments")
        made.append(it)
    others: list[Page] = []
    for make in (elements.build, models.build, chips.build, *markdown.pages(HERE), command.build, api.build):
        others.append(make())
        step(others[-1].file)
    pages = [index.build(made, others), *(it.page for it in made), *others]
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        (folder / page.file).write_text(wrap(page, pages), encoding="utf-8")
    (folder / "site.css").write_text(style(), encoding="utf-8")
    (folder / "search.js").write_text(script(pages), encoding="utf-8")
    shutil.copyfile(HERE / "explorer.png", folder / "explorer.png")
    skipped = list(dict.fromkeys(line for it in made for line in it.skipped))
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    step(f"{len(pages)} pages, {size / 1e6:.1f} MB in {folder}")
    return skipped


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.build", description="Build the site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "site")
    args = parser.parse_args(argv)
    skipped = build(args.folder, say=lambda line: print(line, flush=True))
    for line in skipped:
        print(f"left out: {line}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
