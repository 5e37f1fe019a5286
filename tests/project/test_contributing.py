"""CONTRIBUTING names what is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import ptxlab
from tests.cases import each

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@each("path", sorted(set(re.findall(r"`((?:ptxlab|tests|docs|notebooks)/[\w./-]*)`", TEXT))))
def test_every_path_exists(path: str) -> None:
    installed = Path(ptxlab.__file__).parent.parent  # the same folder, but where a wheel is tested
    assert ((installed if path.startswith("ptxlab/") else ROOT) / path).exists()


def test_every_recipe_with_an_example_names_its_files() -> None:
    """They are checked above; a commit that is named by its message may be of files that are gone."""
    examples = re.findall(r"^An example to follow: .*", TEXT, re.MULTILINE)
    assert len(examples) == 5 and all(re.search(r"`[\w-]+/[\w/-]+\.\w+`", example) for example in examples)
    assert "git log -1" not in TEXT


def test_every_tool_and_package_can_be_imported() -> None:
    names = set(re.findall(r"python -m (tools\.\w+)", TEXT)) | set(re.findall(r"`(ptxlab\.\w+)`", TEXT))
    assert len(names) > 12
    for name in names:
        importlib.import_module(name)


def test_every_argument_is_one_of_a_function() -> None:
    """`convergent_lanes=32` and the like; settings of the shell are in capitals."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "ptxlab").rglob("*.py")]
    names = set(re.findall(r"`([a-z_]+)=", TEXT))
    assert len(names) > 0
    for name in names:
        assert any(re.search(rf"^\s+{name}: ", source, re.MULTILINE) for source in sources), name


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make (\w+)`", TEXT)) <= targets


def test_a_recipe_takes_five_lines() -> None:
    recipes = re.findall(r"^## Adding .*?(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert len(recipes) == 11
    assert all(re.findall(r"^(\d)\. ", recipe, re.MULTILINE) == list("12345") for recipe in recipes)
