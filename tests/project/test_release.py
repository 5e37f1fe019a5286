"""What is published: the wheel works in an environment of its own, with its notebooks; the sdist has all."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest

from .test_packaging import files

pytest.importorskip("hatchling")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = {path.name: path.read_bytes() for path in (ROOT / "notebooks").glob("*.ipynb")}
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def build(target: str, folder: Path, **variables: str) -> Path:
    """The wheel or sdist of this source, built with these environment variables."""
    if not (ROOT / "ptxlab").exists():
        pytest.skip("no source here")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, **variables})
    (built,) = folder.iterdir()
    return built


#: Midnight today: files of an archive have this date.
EPOCH = str(int(time.time()) // 86_400 * 86_400)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"), SOURCE_DATE_EPOCH=EPOCH, TZ="UTC")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", tmp_path_factory.mktemp("sdist"), SOURCE_DATE_EPOCH=EPOCH, TZ="UTC")


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scripts of a new environment that has the wheel; what that depends on is in the test environment."""
    folder = tmp_path_factory.mktemp("environment")
    has_pip = importlib.util.find_spec("pip") is not None
    uv = shutil.which("uv")
    venv.create(folder, with_pip=not (has_pip or uv))
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(scripts / "python")
    if uv:
        command = [uv, "pip", "install", "--python", python, "--offline", "--no-deps", str(wheel)]
    else:
        runner = [sys.executable, "-m", "pip", "--python", python] if has_pip else [python, "-m", "pip"]
        command = [*runner, "install", "--no-index", "--no-deps", "--disable-pip-version-check", str(wheel)]
    subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
    (packages,) = folder.glob("[Ll]ib/**/site-packages")
    (packages / "test-environment.pth").write_text(sysconfig.get_path("purelib"))
    return scripts


def ptxlab(scripts: Path, *words: str, cwd: Path) -> str:
    done = subprocess.run(
        [str(scripts / "ptxlab"), *words],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def copies(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.ipynb")}


def test_the_wheel_has_the_package_and_the_notebooks(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    source = {path.relative_to(ROOT).as_posix() for path in (ROOT / "ptxlab").rglob("*") if path.is_file()}
    source = {name for name in source if "__pycache__" not in name}
    notebooks = {f"ptxlab/notebooks/{name}" for name in NOTEBOOKS}
    others = {"ptxlab_pytest.py", "ptxlab/agents/AGENTS.md", "ptxlab/agents/SKILL.md"}
    assert {name for name in names if ".dist-info/" not in name} == source | notebooks | others


def test_the_wheel_is_small_and_reproducible(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    """The same source gives the same bytes, whenever and wherever it is built."""
    assert wheel.stat().st_size < 4_000_000
    for target, first in (("wheel", wheel), ("sdist", sdist)):
        second = build(target, tmp_path / target, SOURCE_DATE_EPOCH=EPOCH, TZ="Asia/Tokyo")
        assert first.read_bytes() == second.read_bytes(), target


def test_the_metadata_of_the_wheel(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = message_from_bytes(archive.read(name))
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    labels = {line.partition(",")[0] for line in metadata.get_all("Project-URL", [])}
    assert labels == {"Repository", "Documentation", "Issues", "Changelog"}
    description = str(metadata.get_payload() or metadata["Description"])
    assert not re.search(r"\]\((?!https://|#)", re.sub(r"```.*?```", "", description, flags=re.S))
    assert "/docs/explorer-film.webp)" in description


def test_the_installed_package_is_the_one_in_the_wheel(scripts: Path, tmp_path: Path) -> None:
    code = """
import ptxlab, ptxlab.cli.lab as lab
print(ptxlab.__file__, lab.notebooks(), sep="\\n")
ptxlab.cli.main(["where", "mma.m16n8k64.s4", "A", "9", "37"])
"""
    done = subprocess.run(
        [str(scripts / "python"), "-c", code], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    package, notebooks, *answer = done.stdout.splitlines()
    assert Path(package).is_relative_to(scripts.parent) and Path(notebooks).is_relative_to(scripts.parent)
    assert "[23..20]" in "\n".join(answer)


def test_lab_copies_the_notebooks_of_the_wheel(scripts: Path, tmp_path: Path) -> None:
    """What else it does with them is in tests/cli/test_lab.py."""
    assert f"{len(NOTEBOOKS)} notebooks copied" in ptxlab(scripts, "lab", "--copy-only", cwd=tmp_path)
    assert copies(tmp_path / "ptxlab-notebooks") == NOTEBOOKS


@pytest.fixture
def server(scripts: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """`ptxlab lab` as a user starts it, but without a browser; what it prints is in the file.

    Jupyter makes up a token, which nobody else sees, and prints it.
    """
    pytest.importorskip("jupyterlab")
    log = tmp_path / "log"
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    command = [str(scripts / "ptxlab"), "lab", "--no-browser", "--ServerApp.port=0"]
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=tmp_path, env={**ENVIRONMENT, **folders}, stdout=output, stderr=output, text=True
        )
        yield process, log
        process.terminate()
        process.wait(20)


def test_lab_opens_jupyterlab_on_the_copies(server: tuple[subprocess.Popen[str], Path]) -> None:
    process, log = server
    end = time.monotonic() + 180  # on a busy machine
    while not (url := re.search(r"(http://127\.0\.0\.1:\d+/)\S*\?token=(\w{40,})", log.read_text())):
        assert process.poll() is None and time.monotonic() < end, log.read_text()
        time.sleep(0.2)
    contents = f"{url[1]}api/contents?token={url[2]}"
    while True:  # it names its address before it listens there
        try:
            with urllib.request.urlopen(contents, timeout=20) as answer:
                names = {item["name"] for item in json.load(answer)["content"]}
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        else:
            break
    assert names == set(NOTEBOOKS)


def test_the_sdist_is_complete(sdist: Path) -> None:
    """Everything that is committed; so its tests are those of the repository."""
    committed = {path.relative_to(ROOT).as_posix() for path in files()}
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names - {"PKG-INFO"} == committed
