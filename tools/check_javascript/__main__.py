"""Types, lint and format of the widgets' JavaScript; installs the tools beside the environment, once.

TypeScript, ESLint and Prettier run over ptxlab/explorer/front and the widgets of ptxlab/course; axe-core is
for the browser tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FRONT = ROOT / "ptxlab" / "explorer" / "front"
COURSE = ROOT / "ptxlab" / "course"
TOOLS = (
    "typescript@5.9.3",
    "eslint@9.39.1",
    "@eslint/js@9.39.1",
    "globals@16.5.0",
    "prettier@3.9.10",
    "axe-core@4.11.0",
)


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
        print("front: not checked, npm could not install TypeScript and ESLint")
        return False
    return True


def main() -> int:
    folder = ROOT / ".venv" / "front"
    if not installed(folder):
        return 0
    tools = folder / "node_modules" / ".bin"
    shutil.copy(HERE / "eslint.config.mjs", folder)  # it imports what stands there
    types = subprocess.run([tools / "tsc", "-p", HERE / "tsconfig.json"], check=False).returncode
    lint = subprocess.run(
        [
            tools / "eslint",
            "-c",
            folder / "eslint.config.mjs",
            *sorted(FRONT.glob("*.js")),
            *sorted(COURSE.glob("*.js")),
        ],
        cwd=ROOT,
        check=False,
    ).returncode
    formatted = [FRONT, *sorted(COURSE.glob("*.js")), *sorted(COURSE.glob("*.css"))]
    style = subprocess.run(
        [tools / "prettier", "--print-width", "110", "--log-level", "warn", "--check", *formatted],
        check=False,
    ).returncode
    failed = bool(types or lint or style)
    print("front: see above" if failed else "front: types, lint and format hold")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
