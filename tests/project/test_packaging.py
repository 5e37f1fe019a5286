"""Packaging, documents and the state of the repository: what they claim, checked."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ptxlab
from tests.texts import replaced
from tools import address, check_release, chromium, matrix, publication

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SOURCE = PROJECT["project"]["urls"]["Repository"]

#: conda-forge's names where they differ from pip's; cuda-python consists of cuda-bindings and cuda-core.
CONDA = {"kaleido": "python-kaleido", "cuda-bindings": "cuda-python"}


def files() -> list[Path]:
    """Everything that is or would be committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("no git checkout")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def requirement(line: str) -> tuple[str, str]:
    """Name and versions of a requirement, without its marker."""
    match = re.match(r"([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*([^;]*)", line)
    assert match, line
    return match[1], match[2].strip()


# -- pyproject.toml ------------------------------


def test_dependencies_are_few() -> None:
    wanted = dict(requirement(line) for line in PROJECT["project"]["dependencies"])
    assert set(wanted) == {"filelock", "ml_dtypes", "numpy", "platformdirs", "tqdm"}
    assert all(versions.startswith(">=") for versions in wanted.values())


def test_these_are_the_extras_of_the_package() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(extras) == {
        "lab",
        "fast",
        "completion",
        "clang",
        "cuda12",
        "cuda13",
        "docs",
        "mcp",
        "test",
        "release",
        "triton",
    }
    assert "ptxlab[docs,completion,mcp]" in extras["test"]
    assert "ptxlab[lab,cuda13,fast]" in extras["docs"]
    for name, suffix in (("cuda12", "-cu12"), ("cuda13", "")):
        packages = {requirement(line)[0] for line in extras[name]}
        assert {
            "cuda-bindings",
            "cuda-core",
            f"nvidia-cuda-nvrtc{suffix}",
            f"nvidia-nvjitlink{suffix}",
            f"nvidia-cuda-runtime{suffix}",
        } <= packages


def test_the_version_is_written_once() -> None:
    assert (
        PROJECT["project"]["dynamic"] == ["readme", "version"]
        and PROJECT["tool"]["hatch"]["version"]["path"] == "ptxlab/_version.py"
    )
    version = re.fullmatch(r"(\d+\.\d+\.\d+)(\.dev0)?", ptxlab.__version__)
    assert version
    first = re.search(r"^## \[(.*?)\] (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    assert first and first[1] == version[1]
    if version[2]:
        assert first[2] == "(unreleased)"
    else:
        assert re.fullmatch(r"\(\d{4}-\d{2}-\d{2}\)", first[2])
    try:
        installed = importlib.metadata.version("ptxlab")
    except importlib.metadata.PackageNotFoundError:
        return
    assert installed == ptxlab.__version__


def test_the_command_exists() -> None:
    module, function = PROJECT["project"]["scripts"]["ptxlab"].split(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_what_ships_is_code_what_the_widget_serves_and_listings() -> None:
    shipped = {path.suffix for path in files() if path.is_relative_to(ROOT / "ptxlab")}
    assert shipped <= {
        ".py",
        ".js",
        ".ts",
        ".css",
        ".typed",
        ".txt",
        ".json",
        ".bz2",
        ".cu",
        ".cuh",
        ".h",
        ".toml",
    }
    typed = Path(ptxlab.__file__).parent / "py.typed"
    assert typed.exists(), "without it nobody's type checker reads the hints"


def test_classifiers_and_addresses() -> None:
    trove_classifiers = pytest.importorskip("trove_classifiers")
    assert set(PROJECT["project"]["classifiers"]) <= trove_classifiers.classifiers
    assert PROJECT["project"]["urls"] == {"Repository": SOURCE, **address.urls(SOURCE)}


def test_readme_for_a_package_index_has_absolute_links() -> None:
    """They lead to files of that release; before there is one, to main."""
    pytest.importorskip("hatchling")
    from hatch_build import absolute

    text = publication.rendered(
        "README.md",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        published=True,
        repository=SOURCE,
        site=address.urls(SOURCE)["Documentation"],
    )
    for version, tag in (("0.1.0", "v0.1.0"), ("0.2.0.dev0", "main")):
        links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", absolute(text, SOURCE, version))
        assert len(links) > 12 and all(target.startswith("https://") for _, target in links)
        ours = [target for _, target in links if target.startswith(SOURCE)]
        for target in ours:
            kind, at, path = target.removeprefix(f"{SOURCE}/").split("/", 2)
            assert (
                at == tag
                and (ROOT / path).exists()
                and kind == ("raw" if path.endswith(("webp", "png")) else "blob")
            )
        assert (
            sum(bool(picture) for picture, _ in links) == 2
            and f"{SOURCE}/raw/{tag}/docs/explorer-film.webp" in ours
        )
        hosts = [target for _, target in links if "colab" in target or "mybinder" in target]
        assert len(hosts) == 2 and all(("v0.1.0" in target) == (tag == "v0.1.0") for target in hosts)


# -- environment.yml and the recipe ------------------------------


def environment() -> tuple[dict[str, str], list[str]]:
    yaml = pytest.importorskip("yaml")
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert listed["channels"][0] == "conda-forge"
    packages = {
        name: versions
        for name, _, versions in (
            line.partition(" ") for line in listed["dependencies"] if isinstance(line, str)
        )
    }
    return packages, next(line["pip"] for line in listed["dependencies"] if isinstance(line, dict))


def test_environment_equals_pyproject() -> None:
    packages, pip = environment()
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [
        *PROJECT["project"]["dependencies"],
        *extras["lab"],
        *(line for line in extras["cuda13"] if line.startswith("cuda-bindings")),
    ]
    wanted = {CONDA.get(name, name): versions for name, versions in map(requirement, lines)}
    wanted |= {"python": PROJECT["project"]["requires-python"], "pip": ""}
    assert packages == wanted
    assert pip == ["-e .[cuda13]"]


def test_environment_parses_as_conda_specs() -> None:
    rattler = pytest.importorskip("rattler")
    for name, versions in environment()[0].items():
        spec = rattler.MatchSpec(f"{name} {versions}".strip())
        assert spec.name is not None and name in str(
            spec.name.normalized if hasattr(spec.name, "normalized") else spec.name
        )
        assert bool(versions) == (spec.version is not None)


def test_recipe_equals_pyproject() -> None:
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == ptxlab.__version__.removesuffix(".dev0")
    lab = PROJECT["project"]["optional-dependencies"]["lab"]
    for part, lines in (("run", PROJECT["project"]["dependencies"]), ("run_constraints", lab)):
        stated = dict(line.split(" ", 1) for line in recipe["requirements"][part])
        wanted = {CONDA.get(name, name): versions for name, versions in map(requirement, lines)}
        if part == "run":
            wanted["python"] = PROJECT["project"]["requires-python"]
        assert stated == wanted
    assert set(PROJECT["build-system"]["requires"]) == {"hatchling>=1.24"}
    assert "hatchling >=1.24" in recipe["requirements"]["host"]
    (command,) = (f"{name} = {entry}" for name, entry in PROJECT["project"]["scripts"].items())
    assert recipe["build"]["python"]["entry_points"] == [command]


# -- the two commands ------------------------------


def test_make_help_lists_the_targets() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
    said = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert phony and set(re.findall(r"^  make (\w+)", said, flags=re.M)) == set(phony[1].split())


def test_ci_runs_all_tests() -> None:
    """`make test` leaves out the tests in a browser; after it `make browser` runs those."""
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").endswith("\nmake test\nmake browser\n")


def test_workflows_only_call_targets_of_the_makefile() -> None:
    yaml = pytest.importorskip("yaml")
    workflows = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
    }
    assert set(workflows) == {"docs", "release", "tests", "weekly"}
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    for workflow in workflows.values():
        assert workflow["permissions"] == {"contents": "read"}  # jobs that publish ask for more
        for job in workflow["jobs"].values():
            used = [step["uses"] for step in job["steps"] if "uses" in step]
            assert all(
                re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}|pypa/.*@release/v1", action) for action in used
            )
            for command in (step["run"] for step in job["steps"] if "run" in step):
                call = re.fullmatch(r"make (\w+|\$\{\{ matrix\.target \}\}) PYTHON=python", command)
                assert call, command
                called = job["strategy"]["matrix"]["target"] if "matrix" in call[1] else [call[1]]
                assert set(called) <= targets
    tried = workflows["tests"]["jobs"]["quick"]["strategy"]["matrix"]
    assert tried["python"] == [row.python for name, row in matrix.ROWS.items() if name.startswith("python")]
    assert {name.partition("-")[0] for name in tried["os"]} == {"ubuntu", "macos", "windows"}
    publishes = workflows["release"]["jobs"]["publish"]
    assert publishes["permissions"]["id-token"] == "write" and publishes["environment"] == "release"


def test_the_matrix_has_the_oldest_versions_and_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {line.partition("==")[0] for line in matrix.oldest()} == set(matrix._PINNED)
    assert {"numba", "cuda-bindings"} <= {name for row in matrix.ROWS.values() for name in row.without}

    def no_python(*arguments: object) -> Path:
        raise subprocess.CalledProcessError(2, "uv")

    monkeypatch.setattr(matrix, "find_uv", lambda: "uv")
    monkeypatch.setattr(matrix, "environment", no_python)
    assert matrix.main(["python3.14"]) == 0 and matrix.main(["python3.14", "--strict"]) == 1
    assert "not tried" in (said := capsys.readouterr().out) and "no Python 3.14 here" in said


def test_the_rehearsal_finds_what_readme_shows() -> None:
    shown = check_release.commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [command.split()[:2] for command, _ in shown] == [["ptxlab", "where"], ["ptxlab", "holds"]]
    assert all(answer.startswith(("A[9][37] of", "lane 5 of")) for _, answer in shown)


def test_no_browser_is_said_clearly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PTXLAB_CHROMIUM", "no-such-browser")
    monkeypatch.setattr(chromium, "install", lambda: None)
    for in_ci, code, word in (("", 0, "skip"), ("true", 1, "fail")):
        monkeypatch.setenv("CI", in_ci)
        assert chromium.main() == code
        assert f"no Chromium: the browser tests will {word}; install" in capsys.readouterr().err


# -- the repository ------------------------------


def test_the_address_of_the_repository_is_stated_once() -> None:
    """In pyproject.toml; `python -m tools.address` writes it into the install lines and links."""
    assert address.changes() == {}, "run `python -m tools.address`"
    for path in files():
        content = text(path) or ""
        for owner_and_name in re.findall(
            r"(?:github\.com|mybinder\.org/v2/gh|colab\.research\.google\.com/github)/([\w.-]+/ptxlab)\b",
            content,
        ):
            if path.name != "address.py":
                assert owner_and_name == SOURCE.removeprefix("https://github.com/"), path


def test_a_fork_rewrites_every_address() -> None:
    fork = "https://github.com/somebody/tensor-cores"
    for path in address.documents():
        content = path.read_text(encoding="utf-8")
        rewritten = address.rewrite(content, fork, SOURCE)
        owner_and_name = SOURCE.removeprefix("https://github.com/")
        assert owner_and_name not in rewritten, path
        assert rewritten.count("somebody/tensor-cores") == content.count(owner_and_name)
        assert address.rewrite(rewritten, SOURCE, fork) == content


def test_an_address_that_colab_cannot_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project.urls]\nRepository = "https://example.org/a/b"\n')
    monkeypatch.setattr(address, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="Colab and Binder need https://github.com/OWNER/NAME"):
        address.address()


def first_cell(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "".join(next(cell["source"] for cell in cells if cell["cell_type"] == "code"))


def test_every_notebook_begins_with_the_cell_that_is_generated() -> None:
    """From the version and the one address; `python -m tools.address` writes it."""
    notebooks = list((ROOT / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        assert first_cell(path) == address.first_cell(ptxlab.__version__, SOURCE), path.name


@pytest.mark.parametrize(
    ("version", "requirement", "sentence"),
    [
        (
            "0.2.0.dev0",
            f"ptxlab[lab] @ git+{SOURCE}",
            f"Installing ptxlab 0.2.0.dev0 (not released yet) from {SOURCE}",
        ),
        ("0.2.0", "ptxlab[lab]==0.2.0", "Installing ptxlab 0.2.0 and the packages that it needs"),
        ("1.0rc1", "ptxlab[lab]==1.0rc1", "Installing ptxlab 1.0rc1 and the packages that it needs"),
    ],
)
def test_the_first_cell_installs_on_colab_only(
    version: str,
    requirement: str,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run the cell where ptxlab is, where it is not, and on Colab before and after it is installed."""
    cell = address.first_cell(version, SOURCE, published=True)
    assert max(map(len, cell.splitlines())) <= 104 and len(cell.splitlines()) <= 12
    python, count = re.subn(r"^( +)%pip install -q (.*)$", r"\1install(\2)", cell, flags=re.M)
    assert count == 1
    installed: list[str] = []
    package = sys.modules["ptxlab"]

    def install(what: str) -> None:
        installed.append(what)
        monkeypatch.setitem(sys.modules, "ptxlab", package)

    def run() -> None:
        names: dict[str, object] = {"install": install}
        exec(python, names)
        assert names["ptxlab"] is package

    monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    run()
    monkeypatch.setitem(sys.modules, "ptxlab", None)  # as if it were not installed
    with pytest.raises(ImportError, match="ptxlab"):
        run()
    assert installed == [] and capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    run()
    run()
    assert installed == [requirement]
    assert capsys.readouterr().out == f"{sentence}\n"


def test_a_release_writes_its_version_and_date(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CITATION.cff", "notebooks/atlas.ipynb", "recipe/recipe.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "ptxlab").mkdir()
    (tmp_path / "ptxlab" / "_version.py").write_text('__version__ = "0.9.0.dev0"\n')
    (tmp_path / "CHANGELOG.md").write_text("## [0.9.0] (unreleased)\n")
    monkeypatch.setattr(address, "ROOT", tmp_path)
    monkeypatch.setattr(address, "__version__", "0.9.0.dev0")
    assert address.main(["--release"]) == 0
    assert (tmp_path / "ptxlab" / "_version.py").read_text() == '__version__ = "0.9.0"\n'
    assert re.fullmatch(r"## \[0\.9\.0\] \(\d{4}-\d\d-\d\d\)\n", (tmp_path / "CHANGELOG.md").read_text())
    assert "\nversion: 0.9.0\n" in (tmp_path / "CITATION.cff").read_text(encoding="utf-8")
    assert '\n  version: "0.9.0"\n' in (tmp_path / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    assert first_cell(tmp_path / "notebooks" / "atlas.ipynb") == address.first_cell("0.9.0", SOURCE, True)
    assert address.is_published()
    monkeypatch.setattr(address, "__version__", "0.9.0")
    assert address.release() == {}  # on the same day
    (tmp_path / "CHANGELOG.md").write_text("## [0.9.0] (2020-01-31)\n\n## [0.8.0] (2020-01-30)\n")
    (heading,) = address.release().values()  # a release that was prepared earlier gets its day
    assert re.fullmatch(r"## \[0\.9\.0\] \((?!2020)\d{4}-.*\)\n\n## \[0\.8\.0\] \(2020-01-30\)\n", heading)


def test_a_release_and_a_fork_rewrite_the_first_cells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "pyproject.toml", "notebooks/atlas.ipynb"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(address, "ROOT", tmp_path)
    monkeypatch.setattr(address, "__version__", "0.9.0")
    assert address.main(["--no-published"]) == 0 and not address.is_published()
    atlas = tmp_path / "notebooks" / "atlas.ipynb"
    assert "pip" not in first_cell(atlas) and "import ptxlab" in first_cell(atlas)
    assert SOURCE not in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert address.main(["--published"]) == 0 and address.is_published()
    assert first_cell(atlas) == address.first_cell("0.9.0", SOURCE, True)
    assert "pip install -q" in first_cell(atlas)
    fork = "https://github.com/somebody/tensor-cores"
    project = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(replaced(project, SOURCE, fork, 3), encoding="utf-8")
    monkeypatch.setattr(address, "__version__", "1.0.dev0")
    assert address.main([]) == 0
    assert first_cell(tmp_path / "notebooks" / "atlas.ipynb") == address.first_cell("1.0.dev0", fork)
    assert SOURCE.removeprefix("https://github.com/") not in (tmp_path / "README.md").read_text(
        encoding="utf-8"
    )
    assert address.changes() == {}


LOCKS = re.compile(
    r"(uv|poetry|pdm|Pipfile|conda|pixi|package|yarn|pnpm)[.-]?lock|pylock.*\.toml|pnpm-lock", re.I
)
MACHINES = r"(?<![\w.])/(work|tmp|root|home/\w+|Users/\w+)/"
REGISTRIES = r"\bpypi\.org|pythonhosted\.org|anaconda\.(com|org)|registry\.npmjs|\b(artifactory|nexus)\b"
PLACES = re.compile(f"{MACHINES}|{REGISTRIES}", re.I)


@pytest.mark.slow
def test_no_lock_files_and_no_places_of_one_machine() -> None:
    for path in files():
        assert not LOCKS.search(path.name), path
        place = PLACES.search(text(path) or "") if path.name != Path(__file__).name else None
        assert place is None, f"{path.relative_to(ROOT)} mentions {place[0]}"


# -- what is promised ------------------------------

PROMISES = (ROOT / "docs" / "guide" / "promises.md").read_text(encoding="utf-8")


def test_the_promises_name_what_is_public_and_supported() -> None:
    for module in ptxlab._MODULES:
        assert f"`ptxlab.{module}`" in PROMISES
    python = re.search(r"^\| Python \| (.*?) \|", PROMISES, flags=re.M)
    classifiers = PROJECT["project"]["classifiers"]
    stated = [line.rpartition(" ")[2] for line in classifiers if re.search(r"Python :: 3\.\d+$", line)]
    assert python and re.findall(r"3\.\d+", python[1]) == stated
    assert PROJECT["project"]["requires-python"] == f">={stated[0]}"


def test_every_recorded_file_has_its_terms() -> None:
    """Whatever is neither source nor text is in a file or folder that the table names."""
    table = PROMISES.partition("## Where the data come from")[2]
    named = [ROOT / name for name in re.findall(r"`((?:ptxlab|tests|tools|benchmarks)[\w/.]*)`", table)]
    recorded = [path for path in files() if path.suffix in {".npz", ".tsv", ".xz", ".bz2", ".json", ".ptx"}]
    assert all(path.exists() for path in named)
    settings = ROOT / "tools" / "check_javascript", ROOT / "ptxlab" / "cli", ROOT / "tests" / "kernels"
    settings += (ROOT / "docs" / "reference",)  # schemas
    for path in recorded:
        assert any(path.is_relative_to(folder) for folder in (*named, *settings)), path.relative_to(ROOT)


def test_the_citation_names_every_source_of_the_models() -> None:
    yaml = pytest.importorskip("yaml")
    content = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    citation = yaml.safe_load(content)
    assert citation["version"] == ptxlab.__version__.removesuffix(".dev0")
    assert citation["repository-code"] == SOURCE and citation["license"] == PROJECT["project"]["license"]
    sources = " ".join(model.source for model in ptxlab.models())
    cited = set(re.findall(r"arXiv (\d+\.\d+)|doi ([\w./-]+\d)|(sf-tensor/tcgen05)", sources))
    assert len(cited) >= 4
    for paper in cited:
        assert "".join(paper) in content
