"""Python in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def run_python(code: str, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """What a fresh interpreter prints; an error here if it ends with one."""
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, **options)
    assert done.returncode == 0, done.stderr
    return done
