"""The order of the rooms, as CONTRIBUTING.md tells it, and that `import ptxlab` stays light."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "ptxlab"
ORDER = re.findall(r"^\| `(\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.M)
FILES = sorted(PACKAGE.rglob("*.py"))
FACES = {"__init__", "__main__"}  # the package's own face and the command's may look into every room

#: Optional packages, and the rooms that may import them at all.
OPTIONAL = {
    "cuda": {"gpu"},
    "plotly": {"figures", "widgets"},
    "kaleido": {"figures"},
    "anywidget": {"widgets"},
    "ipywidgets": {"widgets"},
    "traitlets": {"widgets"},
    "IPython": {"figures", "lessons", "widgets"},
    "tqdm": {"bar"},
    "numba": {"arithmetic"},
}


def room(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(tree: ast.AST, file: Path, *, deep: bool) -> Iterator[str]:
    """Absolute names of what a file imports; without `deep` only what runs when the file is imported."""
    todo = list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ["ptxlab", *file.relative_to(PACKAGE).parts][: -node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
        inner = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if deep or not (inner or typing_only):
            todo += ast.iter_child_nodes(node)


def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def ids(file: Path) -> str:
    return str(file.relative_to(PACKAGE))


def test_the_table_and_the_folder_have_the_same_rooms() -> None:
    found = {room(file) for file in FILES} - FACES
    assert len(ORDER) == len(set(ORDER)) > 10
    assert found - set(ORDER) == set(), "rooms that CONTRIBUTING.md does not list"
    assert set(ORDER) - found <= {"trace"}, "rooms that CONTRIBUTING.md lists and that are not there"


@pytest.mark.parametrize("file", [file for file in FILES if room(file) not in FACES], ids=ids)
def test_a_room_imports_only_from_rooms_above(file: Path) -> None:
    own = ORDER.index(room(file))
    for name in imports(tree(file), file, deep=False):
        if name.startswith("ptxlab."):
            other = name.split(".")[1]
            assert other == "__version__" or ORDER.index(other) <= own, (
                f"{ids(file)} imports {name}, which stands below it"
            )


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_optional_packages_stay_in_their_rooms(file: Path) -> None:
    for name in imports(tree(file), file, deep=True):
        allowed = OPTIONAL.get(name.split(".")[0])
        assert allowed is None or room(file) in allowed, f"{ids(file)} imports {name}"


def test_exercises_know_nothing_of_widgets() -> None:
    for file in FILES:
        if room(file) == "lessons":
            assert not [
                name for name in imports(tree(file), file, deep=True) if name.startswith("ptxlab.explorer")
            ], ids(file)


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_every_file_says_what_it_is_and_stays_small(file: Path) -> None:
    module = tree(file)
    assert ast.get_docstring(module), "no docstring"
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 450, "split it into a folder"
    if (file.parent == PACKAGE and file.name != "__main__.py") or file.name == "__init__.py":
        assigned = [
            target.id
            for node in module.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        assert "__all__" in assigned, "a room says what it offers"


def test_import_is_light() -> None:
    """A fresh interpreter: the package, its catalogue and an emulated product need NumPy and ml_dtypes only."""
    script = """
import json, sys
import ptxlab
first = sorted(sys.modules)
ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
import numpy as np
ins(np.ones((16, 64)), np.ones((64, 8)))
print(json.dumps([first, sorted(sys.modules)]))
"""
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    first, used = ({name.split(".")[0] for name in names} for names in json.loads(said))
    heavy = {*OPTIONAL, "jupyterlab", "notebook", "nbformat", "matplotlib", "pandas"}
    assert not first & heavy and not used & heavy
    assert {"numpy", "ml_dtypes", "ptxlab"} <= first


def test_everything_below_the_widgets_imports_without_the_lab() -> None:
    """Each room in a process in which none of the optional packages can be found."""
    rooms = [name for name in ORDER if (PACKAGE / name).exists() or (PACKAGE / f"{name}.py").exists()]
    script = f"""
import importlib, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {sorted(OPTIONAL)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
for room in {rooms!r}:
    importlib.import_module(f"ptxlab.{{room}}")
import ptxlab
for ask in (lambda: ptxlab.explore(ptxlab.catalog()[0]), lambda: ptxlab.gpu.device_target()):
    try:
        ask()
    except ptxlab.PtxlabError as error:
        assert "pip install" in str(error), error
    else:
        raise SystemExit("a missing package went unnoticed")
print(ptxlab.gpu.status())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "not installed" in done.stdout
