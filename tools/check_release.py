"""A rehearsal of what users do with dist/: install it into bare environments, run README's commands, test it.

`make release` calls it after it has built and checked both archives. README's commands run in an environment
that has the wheel, from dist/ as from a package index, and what that depends on. The sdist is unpacked and
tested as it is, also with the tests that build a wheel of it and open JupyterLab from that. The wheel is
tested with the tests of the sdist, after the package's source was removed there: only what the
wheel installed can be imported.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUICK = "not slow and not browser"
#: The rest cannot be done by a program, or should not be.
BY_HAND = """\
Still to be done by hand for version {version}:
  1. make exhaustive, make matrix, make web; with a GPU: pytest -m gpu. Look at site/index.html.
  2. On the day of the release: python -m tools.address --release, which writes the version without .dev0,
     today's date and what documents say once it is published; make release again; commit. Before that day:
     python -m tools.address --no-published takes back what make release has written.
  3. Once: name the workflow release.yml and its environment `release` as a trusted publisher of ptxlab on
     the package index; on GitHub let Pages be built by Actions, and turn on private vulnerability reports.
  4. git tag v{version}, push the tag at once: the workflow builds, attests and publishes. Until it has, the
     notebooks' first cells ask the index for a version that is not there, or that somebody else put there.
     The same source gives the same bytes: compare its digests with those above.
  5. In a new environment: pip install "ptxlab[lab]", ptxlab lab; open the links to Colab and Binder.
  6. Offer recipe/recipe.yaml to conda-forge, with the url and sha256 of the sdist.
  7. The next version, with .dev0, in ptxlab/_version.py and the changelog; python -m tools.address."""


def find_uv() -> str | None:
    """uv of the path, or of this environment."""
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def environment(folder: Path, version: str = sys.executable) -> Path:
    """A new virtual environment of this Python, or of that version if uv is there; returns its Python."""
    uv = find_uv()
    if uv:
        command = [uv, "venv", "--quiet", "--python", version, str(folder)]
        subprocess.run(command, check=True, capture_output=True, text=True)
    else:
        venv.create(folder, with_pip=True)
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    return folder / scripts / "python"


def install(python: Path, *requirements: str) -> None:
    """By uv, or by pip; what `dist` has comes from there."""
    uv = find_uv()
    pip = [uv, "pip"] if uv else [str(python), "-m", "pip"]
    options = ["--python", str(python)] if uv else []
    command = [*pip, "install", "--quiet", *options, "--find-links", str(ROOT / "dist"), *requirements]
    if not (ROOT / "dist").exists():
        command.remove("--find-links")
        command.remove(str(ROOT / "dist"))
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)


def unpack(sdist: Path, folder: Path) -> Path:
    """The top folder of the unpacked sdist."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def passes(python: Path, folder: Path, tests: Sequence[str], marks: str = QUICK) -> bool:
    """Whether these tests pass in that folder."""
    command = [str(python), "-m", "pytest", "-q", "-m", marks, "-p", "no:cacheprovider", "-n", "2"]
    return subprocess.run([*command, "--dist", "loadfile", *tests], cwd=folder, check=False).returncode == 0


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of README's console blocks, and what each prints.

    >>> commands("```console\\n$ ptxlab -V\\nptxlab 1\\n```")
    [('ptxlab -V', 'ptxlab 1')]
    """
    blocks = re.findall(r"^```console\n(.*?)```", text, flags=re.M | re.S)
    shown = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(command, answer.strip()) for command, _, answer in (part.partition("\n") for part in shown)]


def readme(python: Path, version: str, folder: Path) -> list[str]:
    """What README promises and a bare environment with this version does not do."""
    folder.mkdir()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    scripts = python.parent
    variables = {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "120"}
    settings = {**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **variables}
    wanted: list[tuple[str, str | None]] = [
        *commands(text),
        ("ptxlab lab --copy-only", None),
        (f"{shlex.quote(str(python))} -m doctest {shlex.quote(str(ROOT / 'README.md'))}", ""),
    ]
    one_answer = re.search(r"^uvx (ptxlab .*?)\s*(#.*)?$", text, flags=re.M)
    if find_uv() and one_answer:
        source = f"--find-links {shlex.quote(str(ROOT / 'dist'))} --from ptxlab=={version}"
        answer = dict(commands(text)).get(one_answer[1])
        wanted.append((f"{find_uv()} tool run {source} {one_answer[1]}", answer))
    problems = []
    for command, answer in wanted:
        done = subprocess.run(
            shlex.split(command), cwd=folder, env=settings, capture_output=True, text=True, check=False
        )
        if done.returncode or (answer is not None and done.stdout.strip() != answer):
            problems.append(f"README: {command}: {done.stderr.strip() or done.stdout.strip()}")
        else:
            print(f"  as README says: {command}", flush=True)
    return problems


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.check_release", description=__doc__.splitlines()[0]
    )
    parser.add_argument("tests", nargs="*", default=["tests"], metavar="FOLDER", help="tests of the archives")
    tests = parser.parse_args(argv).tests
    dist = ROOT / "dist"
    (sdist,) = dist.glob("*.tar.gz")
    (wheel,) = dist.glob("*.whl")
    version = wheel.name.split("-")[1]
    failed: list[str] = []
    if os.environ.get("GITHUB_REF_TYPE") == "tag" and os.environ["GITHUB_REF_NAME"] != f"v{version}":
        failed.append(f"the tag is {os.environ['GITHUB_REF_NAME']}, the version {version}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = environment(folder / "bare")
        install(python, f"ptxlab=={version}")
        failed += readme(python, version, folder / "readme")
        for archive in (sdist, wheel):
            place = folder / archive.suffix.removeprefix(".")
            tree = unpack(sdist, place / "source")
            python = environment(place / "environment")
            install(python, f"{tree if archive == sdist else archive}[test]")
            if archive == wheel:
                shutil.rmtree(tree / "ptxlab")
            print(f"quick tests of {archive.name}", flush=True)
            if not passes(python, tree, tests):
                failed.append(f"{archive.name}: tests failed")
            if archive == sdist and not passes(python, tree, ["tests/project/test_release.py"], "slow"):
                failed.append(f"{archive.name}: a wheel of it does not work")
    for problem in failed:
        print(problem, file=sys.stderr)
    if not failed:
        for archive in (sdist, wheel):
            digest = hashlib.sha256(archive.read_bytes()).hexdigest()
            print(f"{digest}  {archive.name} ({archive.stat().st_size:,} bytes)")
        print(BY_HAND.format(version=version.removesuffix(".dev0")))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
