"""Check types (TypeScript) and lint (ESLint) of ptxlab/explorer/front.

The tools are installed once beside the environment, with axe-core, which the browser tests use.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FRONT = ROOT / "ptxlab" / "explorer" / "front"
TOOLS = ("typescript@5.9.3", "eslint@9.39.1", "@eslint/js@9.39.1", "globals@16.5.0", "axe-core@4.11.0")


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
        [tools / "eslint", "-c", folder / "eslint.config.mjs", *sorted(FRONT.glob("*.js"))],
        cwd=ROOT,
        check=False,
    ).returncode
    print("front: types and lint hold" if not types and not lint else "front: see above")
    return int(bool(types or lint))


if __name__ == "__main__":
    sys.exit(main())
