"""CONTRIBUTING names what is there."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import ptxlab
from ptxlab.cli.commands import COMMANDS
from ptxlab.isa.catalog import FAMILIES, catalog
from ptxlab.isa.targets import TARGETS
from tests.cases import each

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


#: Names of others, and of what stands outside the repository: Python's, CUDA's, Playwright's, programs.
_OTHERS = (
    "nvcuda::wmma", "__syncthreads()", "@pytest.mark.parametrize", "np.int64", "lzma", "expect",
    "wait_for_function", "-ra", "git log --stat", "nbstripout", "pip install", "../shared/wasm", ".venv",
    "CI", "lite/", "try/", "%load_ext ptxlab", "import ptxlab", "# (T32,V32)",
)  # fmt: skip
_DEFINITION = re.compile(
    r"^\s*(?:async )?(?:def|class) (\w+)|^\s*(\w+(?:, \w+)*)(?:: [^=\n]+)? = |^    (\w+): ", re.MULTILINE
)


@lru_cache(maxsize=1)
def _files() -> dict[str, str]:
    """The files of the repository and the folders that hold them, with the text of what may define a name."""
    installed = Path(ptxlab.__file__).parents[1]  # ROOT, but where a wheel is tested
    folders = [
        installed / "ptxlab",
        *(ROOT / name for name in ("tests", "tools", "docs", "notebooks", ".github")),
    ]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    texts = {}
    for path in (*files, *ROOT.glob("*.toml"), *ROOT.glob("*.md"), ROOT / "Makefile"):
        has_text = path.suffix in (".py", ".toml", ".js", ".yml") or path.name == "Makefile"
        name = path.relative_to(installed if folders[0] in path.parents else ROOT).as_posix()
        texts[name] = path.read_text(encoding="utf-8") if has_text and path != Path(__file__) else ""
    return texts | {folder.as_posix(): "" for path in texts for folder in Path(path).parents}


@lru_cache(maxsize=1)
def _defined() -> set[str]:
    """The functions, classes, variables and fields of the repository's Python."""
    texts = (text for path, text in _files().items() if path.endswith(".py"))
    found = {names for text in texts for match in _DEFINITION.findall(text) for names in match}
    return {name for names in found for name in names.split(", ")}


def _is_parameter(name: str) -> bool:
    """Whether a function of ptxlab has the parameter."""
    files = [file for file in _files() if fnmatch(file, "ptxlab/*.py")]
    texts = [_files()[file] for file in files if f"{name}: " in _files()[file]]
    nodes = (node for text in texts for node in ast.walk(ast.parse(text)))
    return any(isinstance(node, ast.arg) and node.arg == name for node in nodes)


@lru_cache(maxsize=1)
def _words() -> set[str]:
    """Every word of the repository's sources."""
    return {word for text in _files().values() for word in re.findall(r"\w+", text)}


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _wrong_command(words: list[str]) -> str:
    """What is wrong with a command of the shell."""
    if words[0] == "pytest":
        missing = [word for word in words if "/" in word and word not in _files()]
        if missing or "-k" not in words:
            return f"there is no {missing[0]}" if missing else ""
        texts = [_files()[word] for word in words if "/" in word]
        tests = [test for text in texts for test in re.findall(r"def (test_\w+)", text)]
        wanted = words[words.index("-k") + 1]
        return "" if any(wanted in test for test in tests) else f"no test has {wanted} in its name"
    if words[:2] == ["python", "-m"]:
        module, *options = words[2:]
        texts = [text for path, text in _files().items() if path.startswith(module.replace(".", "/"))]
        unknown = [word for word in options if not any(f'"{word}"' in text for text in texts)]
        return f"{module} knows no {unknown}" if unknown or not _is_module(module) else ""
    if words[0] == "make":
        targets = re.findall(r"^(\w+):", _files()["Makefile"], re.MULTILINE)
        return "" if {*words[1:]} <= {*targets} else "no such target"
    return "" if words[1] in COMMANDS else "no such command"


def what_is_wrong(name: str) -> str:
    """Why a name in code marks names nothing, or ""."""
    words = name.removeprefix(".venv/bin/python -m ").split()
    while (words and "=" in words[0] and words[0].isupper()) or words[0].startswith("PTXLAB_"):
        setting = words.pop(0).split("=")[0]
        if setting not in _words():
            return f"nothing reads {setting}"
        if not words:
            return ""
    if name.startswith(_OTHERS):
        return ""
    if words[0] in ("pytest", "python", "make") or (words[0] == "ptxlab" and len(words) > 1):
        return _wrong_command(words)
    if "/" in name or re.search(r"\.(py|md|json|toml|yml|js)$", name):
        pattern = re.sub(r"<\w+>", "*", name.rstrip("/"))
        found = pattern in _files() or any(fnmatch(path, f"*/{pattern}") for path in _files())
        return "" if found or any(fnmatch(path, pattern) for path in _files()) else "there is no such path"
    call = re.fullmatch(r"@?([\w.]+)(?:\((.*)\)|=\w+)?", name)
    if call is None:  # a notation: of PTX, of a shell, of TOML
        return "" if {*re.findall(r"\w+", name)} <= _words() else "it stands nowhere"
    whole, arguments = call.groups()
    named = re.findall(r"(\w+)=", name if arguments is None else arguments)
    unknown = [
        parameter for parameter in named if not _is_parameter(parameter) and parameter not in _defined()
    ]
    if unknown:
        return f"no function takes {unknown}"
    *owners, last = whole.strip(".").split(".")
    modules = {Path(path).stem for path in _files() if path.endswith(".py")}
    if {*owners} <= modules | _defined() and (last in _defined() or _is_parameter(last)):
        return ""
    is_of_ptx = any(f".{whole.strip('.')}." in f".{form.mnemonic}." for form in catalog())
    if is_of_ptx or whole in (*TARGETS, *FAMILIES) or re.search(rf"\b{whole}\b", _files()["pyproject.toml"]):
        return ""
    return "" if _is_module(whole) else f"nothing defines {whole}"


@each("name", sorted(set(re.findall(r"`([^`]+)`", TEXT))))
def test_every_name_in_code_marks_names_what_is_there(name: str) -> None:
    """Paths exist, modules import, commands are known, what is called is defined and takes its argument."""
    assert what_is_wrong(name) == ""


@each("name, path", re.findall(r"`([a-zA-Z_]\w*)(?:\([^`]*\))?` of `([\w./]+\.py)`", TEXT))
def test_what_a_file_is_said_to_have_is_in_it(name: str, path: str) -> None:
    assert any(re.search(rf"\b{name}\b", text) for file, text in _files().items() if file.endswith(path))


@each(
    "name, sentence",
    [
        ("altogether=32", "no function takes"),
        ("build_kernel(..., tongue=4)", "no function takes"),
        ("ptxlab/isa/form_of.py", "no such path"),
        ("tests/kernels/*.f90", "no such path"),
        ("python -m tools.hunting", "tools.hunting"),
        ("python -m tools.record golder", "golder"),
        ("ptxlab hint", "no such command"),
        ("make tea", "no such target"),
        ("layout.fragmentation", "nothing defines"),
        ("pytest tests/isa/test_layouts.py", "there is no"),
        ("pytest tests/isa/test_layout.py -k mutants", "no test has"),
        ("PTXLAB_FUZZY=3 pytest tests", "nothing reads"),
    ],
)
def test_a_name_of_nothing_is_found(name: str, sentence: str) -> None:
    assert sentence in what_is_wrong(name)


#: Words in code marks that are a module of others.
_MODULES_OF_OTHERS = {"cuda", "np", "wp"}


def _is_class_of_module(module: str, name: str) -> bool:
    """Whether a module or package of that name speaks of the class; those of others count as well."""
    paths = [path for path in _files() if path.endswith((f"/{module}.py", f"{module}/__init__.py"))]
    return module in _MODULES_OF_OTHERS or any(re.search(rf"\b{name}\b", _files()[path]) for path in paths)


def test_docstrings_and_comments_name_what_is_there() -> None:
    """Commands of pytest select something; files, and classes of a module, are there."""
    texts = {file: text for file, text in _files().items() if file.endswith(".py")}
    names = {Path(file).name for file in texts}
    wrong = []
    for file, text in texts.items():
        commands = re.findall(r"^ *(?:PTXLAB_\w+=\d+ )?(pytest tests/\S+(?: -k \w+)?)$", text, re.MULTILINE)
        wrong += [(file, command) for command in commands if what_is_wrong(command)]
        wrong += [(file, path) for path in re.findall(r"`(?:\w+/)*(\w+\.py)`", text) if path not in names]
        classes = re.findall(r"`([a-z_]+)\.([A-Z]\w+)`", text)
        wrong += [(file, *named) for named in classes if not _is_class_of_module(*named)]
    assert wrong == []


def test_every_recipe_with_an_example_names_its_files() -> None:
    """They are checked above; a commit that is named by its message may be of files that are gone."""
    examples = re.findall(r"^An example to follow: .*", TEXT, re.MULTILINE)
    assert len(examples) == 5 and all(re.search(r"`[\w-]+/[\w/-]+\.\w+`", example) for example in examples)
    assert "git log -1" not in TEXT


def test_a_recipe_takes_five_lines() -> None:
    recipes = re.findall(r"^## Adding .*?(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert len(recipes) == 12
    assert all(re.findall(r"^(\d)\. ", recipe, re.MULTILINE) == list("12345") for recipe in recipes)
