"""The front end's modules: joined without a bundler, and each stands alone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import ptxlab
from ptxlab.explorer import bundle
from ptxlab.views.labels import number_text
from tests.cases import each
from tools.check_javascript.__main__ import shared_names

FRONT = Path(ptxlab.__file__).parent / "explorer" / "front"
FILES = sorted(FRONT.rglob("*.js"))
IMPORT = r'^import \{([^}]*)\} from "(\.[\w./]+)";$'


@each("file", FILES, ids=lambda file: str(file.relative_to(FRONT)))
def test_every_module_says_what_it_is_and_uses_what_it_imports(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith("// ")
    imports = re.findall(IMPORT, text, flags=re.M)
    body = re.sub(IMPORT, "", text, flags=re.M)
    for names, other in imports:
        exported = re.findall(
            r"^export (?:async )?(?:const|function|class) (\w+)",
            (file.parent / other).read_text(encoding="utf-8"),
            flags=re.M,
        )
        for name in re.findall(r"\w+", names):
            assert name in exported, f"{file.name} imports {name}, which {other} does not export"
            assert re.search(rf"\b{name}\b", body), f"{file.name} imports {name} and does not use it"
    assert text.count("\nimport ") == len(imports), "an import that the joining does not know"


def test_names_of_modules_do_not_meet(tmp_path: Path) -> None:
    """Joined they share one scope, of which the checks of each module know nothing."""
    assert shared_names(FILES) == []
    (tmp_path / "one.js").write_text("export const part = 1;\nfunction other() {}\n", encoding="utf-8")
    (tmp_path / "two.js").write_text("async function part() {\n  const other = 2;\n}\n", encoding="utf-8")
    assert shared_names(tmp_path.glob("*.js")) == ["part: declared in one.js, two.js"]


def test_the_joined_module_parses() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; the browser tests load the module as well")
    done = subprocess.run(
        [node, "--input-type=module", "--check"],
        input=bundle.script(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_numbers_in_cells_are_those_of_figures() -> None:
    """What the page writes in a cell is what figures write: no fraction goes silently."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=400) * 10.0 ** rng.integers(-9, 9, size=400)
    values = [*numbers.tolist(), 0.99999, 2.00001, 1234.04, -999.96, 3.0, 1e9]
    numbers_js = (FRONT / "common" / "numbers.js").read_text(encoding="utf-8")
    texts = f"{json.dumps(values)}.map((value) => [4, 3, 2].map((digits) => short(value, digits)))"
    function = re.search(r"^function short.*?^}", numbers_js.replace("export ", ""), flags=re.M | re.S)
    assert function is not None
    script = f"{function[0]}\nconsole.log(JSON.stringify({texts}));"
    done = subprocess.run(
        [node, "--input-type=module"], input=script, capture_output=True, text=True, check=True
    )
    for value, texts in zip(values, json.loads(done.stdout), strict=True):
        assert texts == [number_text(value, digits) for digits in (4, 3, 2)]
        assert value.is_integer() or all(re.search(r"[.]|e-", text) for text in texts)
