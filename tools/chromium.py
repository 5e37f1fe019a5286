"""Chromium for the browser tests: `find()` it, or run this file to install it where apt-get can."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: First the one without windows, which needs a sixth less of a processor.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
PACKAGES = ("chromium-headless-shell", "chromium")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
REMEDY = (
    "install Chromium or Google Chrome, run `playwright install chromium`, or name one in PTXLAB_CHROMIUM"
)


def find() -> str | None:
    """The browser's path: PTXLAB_CHROMIUM, one on PATH, an application, or Playwright's download."""
    named = os.environ.get("PTXLAB_CHROMIUM")
    if named:
        return shutil.which(named)
    on_path = (shutil.which(name) for name in NAMES)
    applications = (path for path in APPLICATIONS if Path(path).exists())
    return next((path for path in (*on_path, *applications) if path), None) or _downloaded()


def _downloaded() -> str | None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Install Debian's Chromium, where that is possible without asking anybody."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return
    _apt("update", "-qq")
    for browser in PACKAGES:
        if _apt("install", "-qq", "-y", "--no-install-recommends", browser, "fonts-dejavu-core"):
            return


def _apt(*arguments: str) -> bool:
    """Whether apt-get did it."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", *arguments]
    return not subprocess.run(
        command, env=quiet, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
    ).returncode


def main() -> int:
    """Find or install; say what came of it. Only in CI is having none a failure."""
    if find() is None:
        install()
    path = find()
    if path:
        print(f"browser tests use {path}")
        return 0
    print(
        f"no Chromium: the browser tests will {'fail' if os.environ.get('CI') else 'skip'}; {REMEDY}",
        file=sys.stderr,
    )
    return 1 if os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main())
