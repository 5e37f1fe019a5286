"""Types, lint and format of the widgets' JavaScript; installs the tools beside the environment, once.

TypeScript, Oxlint and Oxfmt run over the JavaScript of the widgets and of the site: all
three are compiled, and take two seconds where their predecessors took twenty. axe-core is for the browser
tests. The Explorer's modules are joined into one scope, which none of the three knows: names of two modules
that meet are looked for here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FOLDERS = (
    *(ROOT / "ptxlab" / name for name in ("explorer", "course", "shapes", "views", "gpu")),
    ROOT / "docs" / "_static",
)
TOOLS = (
    "typescript@7.0.2",
    "oxlint@1.93.0",
    "oxfmt@0.77.0",
    "axe-core@4.11.0",
)
DECLARATION = re.compile(r"^(?:export )?(?:async )?(?:const|let|var|function\*?|class) (\w+)", re.MULTILINE)


def shared_names(files: Iterable[Path]) -> list[str]:
    """Top-level names that several modules declare, or one twice, each with its files."""
    found: dict[str, list[str]] = {}
    for path in sorted(files):
        for name in DECLARATION.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(path.name)
    return [f"{name}: declared in {', '.join(names)}" for name, names in found.items() if len(names) > 1]


def installed(folder: Path) -> bool:
    """Whether the tools are there, or could be had."""
    if all((folder / "node_modules" / tool.rpartition("@")[0]).exists() for tool in TOOLS):
        return True
    npm = shutil.which("npm")
    if npm is None:
        print("front: not checked, npm is not installed")
        return False
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        npm,
        "install",
        "--prefix",
        str(folder),
        "--no-save",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--silent",
        *TOOLS,
    ]
    try:
        subprocess.run(command, check=True, timeout=120)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        print("front: not checked, npm could not install TypeScript and Oxlint")
        return False
    return True


def main() -> int:
    shared = shared_names((ROOT / "ptxlab" / "explorer" / "front").rglob("*.js"))
    if shared:
        print("front: joined, the modules share one scope", *shared, sep="\n  ")
    folder = ROOT / ".venv" / "front"
    if not installed(folder):
        return int(bool(shared))
    tools = folder / "node_modules" / ".bin"
    files = [path for folder in FOLDERS for kind in ("js", "ts", "css") for path in folder.rglob(f"*.{kind}")]
    commands: tuple[list[str | Path], ...] = (
        [tools / "tsc", "-p", HERE / "tsconfig.json"],
        [tools / "oxlint", "-c", HERE / "oxlint.json", "--quiet", *FOLDERS],
        [tools / "oxfmt", "-c", HERE / "oxfmt.json", "--list-different", *sorted(files)],
    )
    codes = [subprocess.run(command, cwd=ROOT, check=False).returncode for command in commands]
    failed = any(codes) or bool(shared)
    print("front: see above" if failed else "front: types, lint and format hold")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
