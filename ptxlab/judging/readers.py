"""Tasks as others write them: GPU MODE's `task.yml`, problems of KernelBench.

Their files run unchanged, except that what they put on a GPU stays on the CPU. Whoever judges runs them: they
are the teacher's, not the candidate's.
"""

from __future__ import annotations

import ast
import runpy
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PtxlabError, quoted
from .tensors import as_array, as_tensor, needed, on_cpu

SEED = 42  # KernelBench's, with which a model is made
_KERNELBENCH = (1e-4, 1e-4)  # its tolerance for float32
_CAPS = (64, 32, 16, 8)  # to which the dimensions of its problems are reduced
_MOST_ELEMENTS = 1 << 16  # of the inputs that are simulated


def fields_of(path: Path) -> dict[str, Any] | None:
    """The fields of the `Task` that a folder or a file in another format states; None where it is not one."""
    if (path / "task.yml").is_file():
        return gpu_mode(path)
    if path.suffix == ".py" and path.is_file() and "def get_inputs" in _text(path):
        return kernelbench(path)
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PtxlabError(f"{quoted(str(path))} cannot be read: {error}") from None


def _seed(seed: int) -> None:
    """What random inputs depend on, where a task does not say."""
    np.random.seed(seed)  # noqa: NPY002  # the global state, which tasks use
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


def _plain(data: Any, where: str) -> list[Any]:
    """The inputs as arrays and numbers."""
    values = [as_array(value) for value in (data if isinstance(data, tuple | list) else (data,))]
    for value in values:
        if not isinstance(value, np.ndarray | np.generic | int | float):
            raise PtxlabError(
                f"{where}: an input is a {type(value).__name__}; arrays, tensors and numbers are judged"
            )
    return values


# -- GPU MODE ----------------------------------------------------------------------------------------------


def gpu_mode(folder: Path) -> dict[str, Any]:
    """A folder with `task.yml`: its tests are the sizes, its `check_implementation` compares."""
    yaml = needed("yaml", "task.yml")
    try:
        spec = yaml.safe_load(_text(folder / "task.yml"))
        files = {row["name"]: row["source"] for row in spec["files"] if row["source"] != "@SUBMISSION@"}
        tests = [dict(test) for test in spec["tests"]]
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise PtxlabError(f"{folder / 'task.yml'}: it lacks files or tests ({error!r})") from None
    texts = {
        name: on_cpu(_text(folder / source))
        for name, source in files.items()
        if name.endswith(".py") and name != "eval.py"
    }
    where = str(folder / "reference.py")
    torch = any("import torch" in text for text in texts.values())
    if torch:
        needed("torch", where)
    names = _run_modules(texts, "reference.py", where)
    generate, own_check = names.get("generate_input"), names.get("check_implementation")
    if not callable(generate) or not callable(own_check):
        raise PtxlabError(
            f"{where} defines no generate_input and check_implementation: its evaluator is its own"
        )
    given = as_tensor if torch else lambda value: value

    def arguments(size: dict[str, Any], seed: int) -> list[Any]:
        _seed(seed)
        spec = dict(size)
        if "seed" in spec:
            spec["seed"] += 7919 * seed
        return _plain(generate(**spec), where)

    try:
        alone = not isinstance(generate(**tests[0]), tuple | list)
    except TypeError as error:
        raise PtxlabError(
            f"{where}: generate_input does not take a test of task.yml alone: {error}"
        ) from None

    def packed(values: Sequence[Any]) -> Any:
        return given(values[0]) if alone else tuple(given(value) for value in values)

    def reference(*inputs: Any) -> Any:
        results = names["ref_kernel"](packed(inputs))
        return tuple(_plain(results, where))

    def check(inputs: Sequence[Any], results: Sequence[Any]) -> str:
        returned = tuple(given(value) for value in results)
        found = own_check(packed(inputs), returned[0] if len(returned) == 1 else returned)
        good, reason = found if isinstance(found, tuple) else (not found, found)
        return "" if good else str(reason) or "check_implementation refuses it"

    tests.sort(
        key=lambda test: float(np.prod([v for k, v in test.items() if k != "seed" and isinstance(v, int)]))
    )
    return {
        "name": folder.resolve().name,
        "reference": reference,
        "arguments": arguments,
        "outputs": (),
        "sizes": tuple(tests),
        "inputs": "given",
        "language": "python",
        "entry": "custom_kernel",
        "torch": torch,
        "alone": alone,
        "check": check,
        "modules": {name: text for name, text in texts.items() if name != "reference.py"},
        "folder": str(folder.resolve()),
    }


def _run_modules(texts: dict[str, str], main: str, where: str) -> dict[str, Any]:
    """Run a file that imports others by name; afterwards none of them is left among Python's modules."""
    stems = [Path(name).stem for name in texts]
    before = {stem: sys.modules.pop(stem) for stem in stems if stem in sys.modules}
    with tempfile.TemporaryDirectory(prefix="ptxlab-task-") as folder:
        for name, text in texts.items():
            Path(folder, Path(name).name).write_text(text, encoding="utf-8")
        sys.path.insert(0, folder)
        try:
            return runpy.run_path(str(Path(folder, main)))
        except Exception as error:  # whatever a task may raise
            raise PtxlabError(f"{where}: {type(error).__name__}: {error}") from error
        finally:
            sys.path.remove(folder)
            for stem in stems:
                sys.modules.pop(stem, None)
            sys.modules.update(before)


# -- KernelBench -------------------------------------------------------------------------------------------


def kernelbench(file: Path) -> dict[str, Any]:
    """A problem: `Model`, `get_inputs` and `get_init_inputs`. Its dimensions are reduced to be simulated."""
    text = on_cpu(_text(file))
    torch = "import torch" in text
    if torch:
        needed("torch", str(file))
    problem = ""
    for cap in _CAPS:
        names = _reduced(text, cap, str(file))
        make, inputs_of, initial_of = (
            _defined(names, name, str(file)) for name in ("Model", "get_inputs", "get_init_inputs")
        )
        _seed(SEED)
        initial = tuple(initial_of())
        inputs = _plain(inputs_of(), str(file))
        elements = sum(np.size(value) for value in inputs)
        problem = f"its inputs have {elements:,} elements, more than can be simulated"
        if elements <= _MOST_ELEMENTS:
            try:
                _model_of(make, initial, inputs, torch)
                break
            except Exception as error:  # its dimensions do not fit each other any more
                problem = f"with dimensions of at most {cap}: {error}"
    else:
        raise PtxlabError(f"{file} cannot be judged: {problem}")

    def arguments(size: int, seed: int) -> list[Any]:
        _seed(SEED + seed)
        return _plain(inputs_of(), str(file))

    def reference(*inputs: Any) -> Any:
        return tuple(_plain(_model_of(make, initial, inputs, torch), str(file)))

    return {
        "name": file.stem,
        "reference": reference,
        "arguments": arguments,
        "outputs": (),
        "sizes": (cap,),
        "inputs": "given",
        "tolerance": _KERNELBENCH,
        "language": "python",
        "entry": "ModelNew",
        "initial": initial,
        "torch": torch,
        "unseen": (f"dimensions beyond {cap}: larger ones of the problem were reduced to that",),
    }


def _model_of(make: Any, initial: Sequence[Any], inputs: Sequence[Any], torch: bool) -> Any:
    """What a model, made with KernelBench's seed, computes."""
    _seed(SEED)
    return make(*initial)(*(as_tensor(value) if torch else value for value in inputs))


def _defined(names: dict[str, Any], name: str, file: str) -> Callable[..., Any]:
    found = names.get(name)
    if not callable(found):
        raise PtxlabError(f"{file} defines no {name}; a problem has Model, get_inputs and get_init_inputs")
    return found  # type: ignore[no-any-return]


def _reduced(text: str, cap: int, file: str) -> dict[str, Any]:
    """Run a problem whose module-level numbers are at most `cap`."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise PtxlabError(f"{file}: {error}") from None
    known: dict[str, Any] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        try:
            expression = compile(ast.Expression(node.value), file, "eval")
            value = _at_most(eval(expression, {"__builtins__": {}}, known), cap)
        except Exception:  # it is no number, or needs what is not known here
            continue
        node.value = ast.copy_location(ast.parse(repr(value), mode="eval").body, node.value)
        known |= {target.id: value for target in node.targets if isinstance(target, ast.Name)}
    names: dict[str, Any] = {"__name__": "problem"}
    try:
        exec(compile(ast.fix_missing_locations(tree), file, "exec"), names)
    except Exception as error:  # whatever a problem may raise
        raise PtxlabError(f"{file}: {type(error).__name__}: {error}") from error
    return names


def _at_most(value: Any, cap: int) -> Any:
    """Whole numbers, alone and in tuples, reduced; anything else is not touched.

    >>> _at_most((128, 3, 2048), 64)
    (64, 3, 64)
    """
    if isinstance(value, bool) or not isinstance(value, int | tuple):
        raise TypeError
    return tuple(_at_most(part, cap) for part in value) if isinstance(value, tuple) else min(value, cap)
