"""python -m tools.site [FOLDER] [--no-execute] [--web]: build the site, then check its links."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..check_links import broken_links
from .build import ROOT, build


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.site", description="Build the documentation site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "site")
    parser.add_argument("--no-execute", action="store_true", help="show the notebooks without their outputs")
    parser.add_argument("--web", action="store_true", help="link to try/, which tools.web has built there")
    args = parser.parse_args()
    status = build(args.folder, execute=not args.no_execute, web=args.web)
    if status:
        return status
    problems = broken_links(args.folder)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{args.folder / 'index.html'}: open it in a browser; no server is needed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
