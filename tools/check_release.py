"""Run the quick tests from the sdist and from the wheel in dist/, each in an empty environment of its own.

`make release` calls it. The sdist is unpacked and tested as it is. The wheel is tested with the tests of the
sdist, after the package's source was removed there: only what the wheel installed can be imported.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUICK = "not slow and not browser"


def environment(folder: Path) -> Path:
    """A new virtual environment; returns its Python."""
    uv = shutil.which("uv")
    if uv:
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    else:
        venv.create(folder, with_pip=True)
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    return folder / scripts / "python"


def install(python: Path, requirement: str) -> None:
    uv = shutil.which("uv")
    if uv:
        command = [uv, "pip", "install", "--quiet", "--python", str(python), requirement]
    else:
        command = [str(python), "-m", "pip", "install", "--quiet", requirement]
    subprocess.run(command, check=True)


def unpack(sdist: Path, folder: Path) -> Path:
    """The top folder of the unpacked sdist."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def quick_tests(python: Path, folder: Path) -> bool:
    """Whether the quick tests pass in that folder."""
    command = [str(python), "-m", "pytest", "-q", "-m", QUICK, "-p", "no:cacheprovider", "-n", "2"]
    return subprocess.run([*command, "--dist", "loadfile"], cwd=folder, check=False).returncode == 0


def main() -> int:
    dist = ROOT / "dist"
    (sdist,) = dist.glob("*.tar.gz")
    (wheel,) = dist.glob("*.whl")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for archive in (sdist, wheel):
            place = Path(folder) / archive.suffix.removeprefix(".")
            tree = unpack(sdist, place / "source")
            python = environment(place / "environment")
            install(python, f"{tree if archive == sdist else archive}[test]")
            if archive == wheel:
                shutil.rmtree(tree / "ptxlab")
            print(f"quick tests of {archive.name}", flush=True)
            if not quick_tests(python, tree):
                failed.append(archive.name)
    for name in failed:
        print(f"{name}: tests failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
