"""Imports: the contracts of pyproject.toml hold, `import ptxlab` is light, optional packages are optional."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ptxlab
from tests.cases import each
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(ptxlab.__file__).parent
FILES = [file for file in sorted(PACKAGE.rglob("*.py")) if file.parent.name != "sources"]  # kernels are data
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
    "contracts"
]
LAYERS = next(contract["layers"] for contract in CONTRACTS if contract["type"] == "layers")

#: Packages of the extras. Nothing but the packages that the contracts name may import them, and only at use.
OPTIONAL = {
    "IPython",
    "anyio",
    "anywidget",
    "cuda",
    "cutlass",
    "ipywidgets",
    "kaleido",
    "mcp",
    "numba",
    "plotly",
    "pydantic",
    "shtab",
    "tilelang",
    "traitlets",
    "triton",
    "warp",
}


def test_the_contracts_hold(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What `lint-imports` checks: layers, cycles, and who may import which optional package."""
    cli = pytest.importorskip("importlinter.cli")
    monkeypatch.chdir(ROOT)
    code = cli.lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert code == 0, capsys.readouterr().out


def test_import_is_light() -> None:
    """The package, its catalogue and an emulated product need NumPy and ml_dtypes only."""
    script = """
import json, sys
import ptxlab
first = sorted(sys.modules)
ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
import numpy as np
ins(np.ones((16, 64)), np.ones((64, 8)))
used = sorted(sys.modules)
import ptxlab.isa.spelling, ptxlab.lessons
print(json.dumps([first, used, ptxlab.isa.spelling.tcgen05_mnemonics.cache_info().currsize]))
"""
    *listed, tcgen05 = json.loads(run_python(script, cwd=ROOT).stdout)
    assert not tcgen05, "import ptxlab.lessons reads the catalogue of tcgen05, which takes half a second"
    first, used = ({name.split(".")[0] for name in names} for names in listed)
    late = {"filelock", "jupyterlab", "matplotlib", "nbformat", "notebook", "pandas", "platformdirs", "tqdm"}
    heavy = {*OPTIONAL, *late}
    assert not first & heavy and not used & heavy
    assert {"numpy", "ml_dtypes", "ptxlab"} <= first


@pytest.mark.slow
def test_every_package_imports_without_the_optional_ones() -> None:
    """In a process that finds none of them; what needs one says what to install."""
    packages = [name for layer in LAYERS for name in layer.split(" | ") if name != "__main__"]
    script = f"""
import importlib, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {sorted(OPTIONAL)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
for package in {packages!r}:
    importlib.import_module(f"ptxlab.{{package}}")
import ptxlab
from ptxlab.cli import main
for ask in (lambda: ptxlab.explore(ptxlab.catalog()[0]), lambda: ptxlab.gpu.device_target()):
    try:
        ask()
    except ptxlab.PtxlabError as error:
        assert "pip install" in str(error), error
    else:
        raise SystemExit("a missing package went unnoticed")
assert main(["completion", "bash"]) == 1
print(ptxlab.gpu.status())
"""
    assert "not installed" in run_python(script, cwd=ROOT).stdout


@each("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
@pytest.mark.slow
def test_every_module_says_what_it_is(file: Path) -> None:
    module = ast.parse(file.read_text(encoding="utf-8"))
    assert ast.get_docstring(module), "no docstring"
    offers_names = len(module.body) > 1 and file.name != "__main__.py"
    if offers_names and (file.name == "__init__.py" or file.parent == PACKAGE):
        names = [
            target.id
            for node in module.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        ]
        assert "__all__" in names, "a package says what it offers"


def test_without_ml_dtypes_says_what_to_install() -> None:
    program = "import sys; sys.modules['ml_dtypes'] = None; import ptxlab"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert (
        result.stderr.splitlines()[-1] == "ImportError: ptxlab needs ml_dtypes: pip install numpy ml_dtypes"
    )
