"""ptxlab in Pyodide, under node: integers of 32 bits, no threads, no processes, no lzma, no numba."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from tests.sampling import EXHAUSTIVE
from tools import npm, pyodide

ROOT = Path(__file__).parents[2]
#: What runs there: golden words of an H200, and tests of every layer that need no compiler and no browser.
SUITE = (
    "tests/pyodide/smoke.py",
    "tests/adapters/test_recorded.py",
    "tests/simulator/test_other_compilers.py",
    "tests/cli/test_ask.py",
    "tests/isa/test_operand.py",
)
#: `make exhaustive` runs it; the examples of the page are a question of each kind.
REPEATED = () if EXHAUSTIVE else ("-k", "not a_question_means_a_command")
#: pytest and what it imports, and what ptxlab loads at use: Python alone.
PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "platformdirs", "filelock", "tqdm")
LANGUAGES = re.compile(r"pygments/(lexers|styles|formatters)/(?!__|_mapping|python|diff|default|term)")
LEAST = 30  # tests; their cases, of which a hundred and more are words of an H200, are not counted


def pack(target: Path) -> None:
    """These packages as they are installed here, without the languages that pygments knows."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in PACKAGES:
            for file in metadata.files(name) or ():
                is_code = file.suffix == ".py" and not LANGUAGES.search(str(file))
                if is_code or file.name in ("METADATA", "entry_points.txt"):
                    packed.write(file.locate(), str(file))


@pytest.mark.pyodide
@pytest.mark.slow
def test_in_pyodide(tmp_path: Path) -> None:
    try:
        home = pyodide.folder()
    except npm.Missing as missing:
        pytest.skip(str(missing))
    pack(tmp_path / "pytest.zip")
    node = shutil.which("node")
    assert node is not None
    options = ("-q", "--tb=short", "-m", "not gpu and not needs", *REPEATED, *SUITE)
    command = [
        node,
        "--wasm-lazy-compilation",
        Path(__file__).with_name("run.mjs"),
        home,
        ROOT,
        tmp_path / "pytest.zip",
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) >= LEAST, done.stdout[-2000:]
