"""cuTile's kernels on the simulator: launches for `ptxlab.simulating`.

Tried with cuda-tile 1.7.0 and tileiras 13.4. Its compiler needs no GPU: `export_kernel` makes a cubin for a
signature, and the cubin holds the PTX. While a session is open, `ct.launch` compiles for the signature of its
arguments and simulates that PTX. An array is passed as its pointer, its extents and its strides. The
signature says which arrays share memory and which strides are 1. It says nothing of divisibility: otherwise
cuTile copies by TMA, with tensor maps in hidden parameters, which only its own launcher fills. The PTX has no
lines of Python: reports name those of the PTX.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import cuda.tile as ct
import numpy as np
from cuda.tile import compilation
from numpy.typing import NDArray

from ..errors import PtxlabError, quoted
from ..isa.targets import chip_number
from ..simulator.kernel import Kernel, build_kernel
from .cubin import embedded_ptx
from .framework_session import Former, Session, in_session, install_patches, patches_of_importers
from .host_arrays import host_array, is_array

_CONVENTION = "cutile_python_v1"


def _array_constraint(value: NDArray[Any], annotation: Any, groups: tuple[str, ...]) -> Any:
    if any(step < 0 for step in value.strides):
        raise PtxlabError(f"found an array with strides {value.strides}; cuTile takes none below 0")
    index_type = ct.int32 if annotation.array is None else annotation.array.index_dtype
    constants = [1 if step == value.itemsize else None for step in value.strides]
    return compilation.ArrayConstraint(
        _dtype(value.dtype),
        value.ndim,
        index_dtype=index_type,
        stride_lower_bound_incl=0,
        alias_groups=groups,
        may_alias_internally=False,
        stride_constant=constants,
    )


def _dtype(dtype: np.dtype[Any]) -> Any:
    """cuTile's type of array elements."""
    name = {"bool": "bool_"}.get(dtype.name, dtype.name)
    dtype_of_name = getattr(ct, name, None)
    if dtype_of_name is None:
        raise PtxlabError(f"cuTile has no type for arrays of {dtype}")
    return dtype_of_name


def _scalar(value: Any, annotation: Any) -> tuple[Any, Any]:
    """The constraint of a number, and the number as it is passed."""
    if annotation.scalar is not None:
        dtype = np.dtype(str(annotation.scalar.dtype))
    elif isinstance(value, np.generic):
        dtype = value.dtype
    elif isinstance(value, bool):
        dtype = np.dtype(np.bool_)
    else:
        dtype = np.dtype(np.int32 if isinstance(value, int) else np.float32)
    return compilation.ScalarConstraint(_dtype(dtype)), dtype.type(value)


def _alias_groups(arrays: Sequence[NDArray[Any]]) -> list[tuple[str, ...]]:
    """Which arrays may share memory: those that do, or that are parts of the same."""
    shares = [
        any(first is not other and np.may_share_memory(first, other) for other in arrays)
        or sum(first is other for other in arrays) > 1
        for first in arrays
    ]
    return [("shared",) if shared else () for shared in shares]


def _signature(kernel: Any, values: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The signature that arguments have, and what is passed for them."""
    annotations = kernel._annotated_function.parameter_annotations
    if len(annotations) != len(values):
        raise PtxlabError(f"{_name(kernel)} takes {len(annotations)} arguments, found {len(values)}")
    arrays = [host_array(value) for value in values if is_array(value)]
    groups = iter(_alias_groups(arrays))
    following = iter(arrays)
    parameters: list[Any] = []
    passed: list[Any] = []
    for value, annotation in zip(values, annotations, strict=True):
        if is_array(value):
            array = next(following)
            parameters.append(_array_constraint(array, annotation, next(groups)))
            steps = [step // array.itemsize for step in array.strides]
            index = np.dtype(str(parameters[-1].index_dtype)).type
            passed += [array, *(index(number) for number in (*array.shape, *steps))]
        elif getattr(annotation, "constant", False):
            parameters.append(value)
        elif isinstance(value, bool | int | float | np.generic):
            constraint, number = _scalar(value, annotation)
            parameters.append(constraint)
            passed.append(number)
        else:
            raise PtxlabError(f"{_name(kernel)}: found {quoted(value)}; it takes arrays and numbers here")
    convention = getattr(compilation.CallingConvention, _CONVENTION)()
    return compilation.KernelSignature(parameters, convention), passed


def _name(kernel: Any) -> str:
    return str(kernel._annotated_function.pyfunc.__name__)


def _compiled(session: Session, kernel: Any, signature: Any) -> Kernel:
    key = ("cutile", kernel, repr(signature))
    if key not in session.adapter_cache:
        cubin = io.BytesIO()
        code = f"sm_{chip_number(session.target)}"
        compilation.export_kernel(kernel, [signature], cubin, gpu_code=code, output_format="cubin")
        ptx = embedded_ptx(cubin.getvalue())
        session.adapter_cache[key] = build_kernel(ptx, title=_name(kernel))
    compiled: Kernel = session.adapter_cache[key]
    return compiled


@in_session
def _launch(
    session: Session,
    former: Former,
    stream: Any,
    grid: Sequence[int],
    kernel: Any,
    kernel_args: Sequence[Any],
    /,
    **named: Any,
) -> None:
    signature, passed = _signature(kernel, kernel_args)
    compiled = _compiled(session, kernel, signature)
    directives = compiled.function.directives
    threads = directives.get("reqntid", (128,))
    cluster = directives.get("reqnctapercluster", (1,))
    blocks = tuple(int(size) for size in grid)
    blocks = (blocks[0] * cluster[0], *blocks[1:])  # the grid counts clusters along x
    session.simulate(compiled, blocks, threads, passed, 0)


def install() -> Callable[[], None]:
    """Let cuTile launch on the simulator; returns a function that undoes it."""
    patches = patches_of_importers(ct.launch, _launch, "a launch, also as the program has imported it")
    return install_patches(f"cuTile {ct.__version__}", "1.7.0", patches, [(compilation, "export_kernel")])
