"""What a kernel is judged by: a reference, arguments for every size, launches, limits."""

from __future__ import annotations

import inspect
import runpy
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._util.arguments import as_path
from ..errors import PtxlabError, listing, quoted
from ..simulator.kernel import Kernel
from .bounds import UNIT
from .launches import Accesses
from .readers import fields_of

#: Sizes where a task names none: around the edges of warps and tiles, primes, and what no block divides.
SIZES = (1, 31, 32, 33, 127, 256, 257)
HIDDEN_SIZES = (97, 255, 1000, 1031)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How a size is launched."""

    grid: Any
    block: Any
    shared: int = 0
    cluster: Any = None

    @classmethod
    def of(cls, value: object, where: str) -> Launch:
        """From what `launch(size)` of a task gives: a mapping, or grid, block and shared memory."""
        if isinstance(value, Mapping) and {"grid", "block"} <= set(value) <= {f.name for f in fields(cls)}:
            return cls(**value)
        if isinstance(value, tuple) and 2 <= len(value) <= 3:
            return cls(grid=value[0], block=value[1], shared=value[2] if len(value) == 3 else 0)
        raise PtxlabError(
            f"{where}: found {quoted(value)}; it gives (grid, block), (grid, block, shared) or a dict with "
            "grid, block, shared and cluster"
        )


@dataclass(frozen=True)
class Task:
    """What a kernel is to compute: the reference, its arguments for every size, and how it is launched.

    `arguments(size, seed)` gives a dict of arrays and scalars by name, in the order of the launch; a list
    stands for names "0", "1", ... `reference` gets those that its parameters name, or if it is given a list
    all but the outputs, and returns the outputs: NumPy arrays, or a tuple of them. It may also be a kernel.
    `outputs` are their names; None stands for the arrays that the reference does not take. They hold garbage
    before the launch, except those in `updated`, which the kernel reads and writes. `aliases` are pairs of
    an output and an input that may be one array. `launch(size)` gives (grid, block), (grid, block, shared)
    or a dict; None is a thread for each of `size` elements in blocks of 256.

    `tolerance` is None for a bound that is derived from the reference, a number, or (relative, absolute);
    `accumulate` is the type that the kernel may compute in, where it is less precise than float32 or the
    arguments. `inputs` is "varied", where the judge also puts small integers, a wide range of magnitudes and
    special values into the floating-point arrays, or "given".

    >>> import numpy as np
    >>> def arguments(size, seed):
    ...     rng = np.random.default_rng(seed)
    ...     return {"x": rng.normal(size=size).astype("f4"), "y": np.zeros(size, "f4"), "n": np.int32(size)}
    >>> Task("double", lambda x: 2 * x, arguments).sizes
    (1, 31, 32, 33, 127, 256, 257)
    """

    name: str
    reference: Callable[..., Any] | Kernel
    arguments: Callable[[Any, int], Any]
    outputs: tuple[str, ...] | None = None
    sizes: tuple[Any, ...] = SIZES
    hidden_sizes: tuple[Any, ...] = ()
    launch: Callable[[Any], Any] | None = None
    updated: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    tolerance: float | tuple[float, float] | None = None
    accumulate: str | None = None
    budget_us: float | None = None
    chip: str = "H200"
    kernel: str | None = None  # its name, where a candidate has several
    target: str = "sm_90a"
    options: tuple[str, ...] = ()
    inputs: Literal["varied", "given"] = "varied"
    nan: bool = False  # whether the reference says what becomes of NaN and infinity
    seeds: int = 2  # for each size
    deterministic: bool = False  # whether the order of atomic operations must not matter
    model: str | None = None  # the chip whose matrix arithmetic counts, as of `simulate`
    limit: int | None = None  # instructions that warps may execute in a launch
    language: Literal["cuda", "python"] = "cuda"
    entry: str = "custom_kernel"  # what a Python candidate defines: a function, or a class such as ModelNew
    initial: tuple[Any, ...] = ()  # what that class is constructed with
    torch: bool = False  # whether a Python candidate gets tensors of torch
    alone: bool = False  # whether its function gets its only input as it is, not in a tuple
    check: Callable[[Sequence[Any], Sequence[Any]], str] | None = (
        None  # the task's own comparison: "" is right
    )
    modules: Mapping[str, str] = field(default_factory=dict)  # files that a Python candidate may import
    unseen: tuple[str, ...] = ()  # what is not judged, in words
    folder: str = ""  # of the task's files, which no candidate may read

    def __post_init__(self) -> None:
        if not callable(self.reference) and not isinstance(self.reference, Kernel):
            raise PtxlabError(f"{self.name}: the reference is {quoted(self.reference)}; it is a function")
        if not callable(self.arguments):
            raise PtxlabError(
                f"{self.name}: arguments is {quoted(self.arguments)}; it is a function (size, seed)"
            )
        if not self.sizes:
            raise PtxlabError(f"{self.name}: there are no sizes; name one at least, such as sizes=(256,)")
        if self.accumulate is not None and self.accumulate not in UNIT:
            raise PtxlabError(
                f"{self.name}: accumulate={quoted(self.accumulate)}; it is one of {listing(UNIT)}"
            )

    @classmethod
    def read(cls, folder: str | Path) -> Task:
        """The task of a folder: `task.toml`, and `reference.py` with `reference`, `arguments`, `launch`.

        It may also be a folder of GPU MODE, with `task.yml`, or a problem of KernelBench.
        """
        path = as_path(folder, "folder")
        others = fields_of(path)
        if others is not None:
            return cls(**others)
        settings_file, reference_file = path / "task.toml", path / "reference.py"
        for file in (settings_file, reference_file):
            if not file.is_file():
                raise PtxlabError(
                    f"{quoted(str(folder))} has no {file.name}; a task is task.toml with reference.py"
                )
        try:
            settings = tomllib.loads(settings_file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PtxlabError(f"{settings_file}: {error}") from None
        functions = runpy.run_path(str(reference_file))
        known = {f.name for f in fields(cls)} - {"reference", "arguments", "launch", "folder", "check"}
        if unknown := [name for name in settings if name not in known]:
            raise PtxlabError(
                f"{settings_file}: found {listing(unknown)}; there are {listing(sorted(known), 30)}"
            )
        for name in ("reference", "arguments"):
            if not callable(functions.get(name)):
                raise PtxlabError(f"{reference_file} defines no function {name}")
        lists = {name: _frozen(value) for name, value in settings.items()}
        return cls(
            **{"name": path.resolve().name, **lists},
            reference=functions["reference"],
            arguments=functions["arguments"],
            launch=functions.get("launch"),
            folder=str(path.resolve()),
        )

    def launch_of(self, size: Any) -> Launch:
        """How a size is launched."""
        if self.launch is not None:
            return Launch.of(self.launch(size), f"{self.name}: launch({size!r})")
        if not isinstance(size, int):
            raise PtxlabError(f"{self.name}: a launch is needed for the size {quoted(size)}: launch=...")
        return Launch(grid=max(-(-size // 256), 1), block=256)

    def arguments_of(self, size: Any, seed: int) -> dict[str, Any]:
        """The arguments of a launch by name."""
        given = self.arguments(size, seed)
        named = dict(given) if isinstance(given, Mapping) else {str(i): v for i, v in enumerate(given)}
        for name, value in named.items():
            if isinstance(value, np.ndarray):
                named[name] = np.array(value, order="C")  # of its own, also where two are one
            elif not isinstance(value, int | float | np.generic):
                raise PtxlabError(
                    f"{self.name}: argument {name} is {quoted(value)}; it is an array of NumPy or a number"
                )
        return named

    def outputs_of(self, size: Any, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """The names of the outputs among these arguments."""
        arrays = [name for name, value in arguments.items() if isinstance(value, np.ndarray)]
        if self.outputs is None and isinstance(self.reference, Kernel):
            writes = self.launched(size, {name: _copy(value) for name, value in arguments.items()}).writes
            outputs = tuple(name for number, name in enumerate(arguments, 1) if number in writes)
        elif self.outputs is None:
            outputs = tuple(name for name in arrays if name not in self._taken())
        else:
            outputs = tuple(str(name) for name in self.outputs)
        if self.language == "python" and not outputs:
            return ()
        if not outputs or not set(outputs) <= set(arrays):
            raise PtxlabError(
                f"{self.name}: the outputs are {listing(outputs) if outputs else 'not known'}; name them "
                f"among {listing(arrays)}, as in outputs=({arrays[-1] if arrays else 'y'!r},)"
            )
        return outputs

    def launched(self, size: Any, arguments: Mapping[str, Any]) -> Accesses:
        """Launch the reference, which is a kernel: it writes the arguments; what it read and wrote."""
        assert isinstance(self.reference, Kernel)
        launch, accesses = self.launch_of(size), Accesses()
        self.reference.simulate(
            launch.grid, launch.block, *arguments.values(), shared=launch.shared, cluster=launch.cluster,
            model=self.model, show=False, check=False, observers=[accesses],
        )  # fmt: skip
        return accesses

    def _taken(self) -> Sequence[str]:
        if isinstance(self.reference, Kernel):
            return ()
        return tuple(inspect.signature(self.reference).parameters)

    def expected(self, arguments: Mapping[str, Any], outputs: Sequence[str]) -> tuple[Any, ...]:
        """What the reference makes of arguments: the outputs."""
        if isinstance(self.reference, Kernel):
            raise PtxlabError(f"{self.name}: the reference is a kernel, which is launched")
        taken = self._taken()
        if taken and set(taken) <= set(arguments):
            given = self.reference(**{name: arguments[name] for name in taken})
        else:
            pure = [name for name in outputs if name not in self.updated]
            given = self.reference(*(value for name, value in arguments.items() if name not in pure))
        return tuple(given) if isinstance(given, tuple | list) else (given,)


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _frozen(value: Any) -> Any:
    """Lists of TOML as tuples."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
