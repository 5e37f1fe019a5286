"""PTX that other compilers made of small kernels: right on the simulator, and on a GPU the same bytes.

`python -m tests.adapters.record` wrote the PTX, with Triton 3.6.0, numba-cuda 0.30.4, CuTe DSL 4.8.1,
Warp 1.19.0, TileLang 0.1.15 and cuTile 1.7.0, and on a GPU what its bytes are afterwards.
"""

from __future__ import annotations

import copy
import json
import linecache
import re
import struct
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import ptxlab
from ptxlab.adapters.framework_session import Session
from ptxlab.adapters.python_source import PythonLines
from ptxlab.explorer.debugger.debugger import Debugger
from ptxlab.simulator.hazard import SPELLINGS
from ptxlab.simulator.kernel import build_kernel
from ptxlab.views.kernel_listings import listings
from ptxlab.views.source_margin import margin
from tests.cases import each, refuses
from tests.texts import replaced

FOLDER = Path(__file__).parent / "ptx"
#: Of the bytes that an H200 gave, by kernel.
DIGESTS = json.loads((FOLDER / "h200.json").read_text(encoding="utf-8"))
#: Warp's `launch_bounds_t` of 1000 threads in blocks of 256.
WARP_BOUNDS = bytes.fromhex("e803000000000000e8030000000000000100000000000000")


class Case(NamedTuple):
    """A launch: what it takes, with None for hidden pointers, and what its arguments are afterwards."""

    grid: tuple[int, ...]
    block: int
    shared: int
    arguments: Callable[[], list[Any]]
    expected: Callable[..., dict[int, Any]]  # by argument
    constants: tuple[int, ...] = ()
    tolerance: float = 0.0


def _floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _whole(*shape: int, dtype: Any = np.float16, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _warp_array(array: Any) -> tuple[Any, ...]:
    """As Warp's `array_t`: data, gradient, shape, strides, number of axes."""
    sizes = [(*numbers, *(0,) * (4 - array.ndim)) for numbers in (array.shape, array.strides)]
    return array, np.uint64(0), *(np.int32(size) for size in (*sizes[0], *sizes[1], array.ndim))


def _tilelang_product() -> list[Any]:
    a, b = _whole(128, 192), _whole(192, 64, seed=1)
    maps = [ptxlab.tensor_map(matrix, (64, 64), 128) for matrix in (a, b)]
    return [*maps, np.zeros((128, 64), np.float32)]


def _cute_copy() -> list[Any]:
    return [ptxlab.tensor_map(_floats(32, 64), (32, 32)), (np.zeros((32, 64), np.float32),)]


def _cutile(*arrays: Any) -> list[Any]:
    """As cuTile passes arrays: pointer, extents, strides."""
    steps = [[step // array.itemsize for step in array.strides] for array in arrays]
    return [part for array, own in zip(arrays, steps, strict=True) for part in (array, *array.shape, *own)]


def _numba_add() -> list[Any]:
    arrays: list[Any] = []
    for array in (_floats(1000), _floats(1000, seed=1), np.zeros(1000, np.float32)):
        arrays += [0, 0, array.size, 4, array, *array.shape, *array.strides]
    return [*arrays, 2.0]


CASES = {
    "add": Case(
        (8,),
        128,
        0,
        lambda: [_floats(1000), _floats(1000, seed=1), np.zeros(1000, np.float32), 1000, 2.0, None, None],
        lambda x, y, *_: {2: x + y * np.float32(2)},
        (128,),
    ),
    "softmax": Case(
        (4,),
        128,
        16,
        lambda: [np.zeros((4, 100), np.float32), _floats(4, 100), 100, 100, None, None],
        lambda out, x, *_: {0: _softmax(x)},
        (128,),
        1e-6,
    ),
    "matmul": Case(
        (1, 1),
        128,
        49152,
        lambda: [_whole(64, 64), _whole(64, 64, seed=1), np.zeros((64, 64), np.float32), 64, 64, None, None],
        lambda a, b, *_: {2: a.astype(np.float32) @ b.astype(np.float32)},
        (64,),
    ),
    "locked_sum": Case(
        (10,),
        128,
        16,
        lambda: [_whole(1280, dtype=np.float32), np.zeros(1, np.float32), np.zeros(1, np.int32), None, None],
        lambda x, *_: {1: x.sum(), 2: 0},
        (128,),
    ),
    "numba_add": Case((8,), 128, 0, _numba_add, lambda *given: {18: given[4] + given[11] * np.float32(2)}),
    "cute_add": Case(
        (8,),
        128,
        0,
        lambda: [
            *((array, np.int32(1000)) for array in (_floats(1000), _floats(1000, seed=1), _floats(1000))),
            1000,
        ],
        lambda x, y, *_: {2: x[0] + y[0]},
    ),
    "cute_copy": Case((2,), 64, 4104, _cute_copy, lambda tile, _: {1: tile.array}),
    "warp_scaled_add": Case(
        (4,),
        256,
        0,
        lambda: [WARP_BOUNDS, _warp_array(_floats(1000)), _warp_array(_floats(1000, seed=1)), np.float32(2)],
        lambda _, x, y, *__: {2: y[0] + np.float32(2) * x[0]},
    ),
    "tilelang_product": Case(
        (1, 2),
        256,
        32768,
        _tilelang_product,
        lambda a, b, _: {2: a.array.astype(np.float32) @ b.array.astype(np.float32)},
    ),
    "cutile_add": Case(
        (8,),
        128,
        0,
        lambda: _cutile(_floats(1000), _floats(1000, seed=1), np.zeros(1000, np.float32)),
        lambda *given: {6: given[0] + given[3]},
    ),
}


def _arrays(argument: Any) -> list[Any]:
    """Those of an argument, also in a struct or behind a tensor map."""
    members = argument if isinstance(argument, tuple) else (getattr(argument, "array", argument),)
    return [member for member in members if isinstance(member, np.ndarray)]


def digest(arguments: list[Any]) -> str:
    """One of all bytes that the kernel was given, as they are now."""
    contents = [array.tobytes() for argument in arguments for array in _arrays(argument)]
    return sha256(b"".join(contents)).hexdigest()


def launched(name: str) -> list[Any]:
    """The arguments after a launch on the GPU."""
    case = CASES[name]
    arguments = case.arguments()
    _kernel(name).launch(case.grid, case.block, *arguments, shared=case.shared)
    return arguments


def _kernel(name: str) -> Any:
    return ptxlab.kernel((FOLDER / f"{name}.ptx").read_text(encoding="utf-8"))


def _simulated(name: str) -> tuple[list[Any], list[Any], Any]:
    case = CASES[name]
    before = case.arguments()
    after = copy.deepcopy(before)
    result = _kernel(name).simulate(case.grid, case.block, *after, shared=case.shared, show=False)
    return before, after, result


@each("name", sorted(CASES))
def test_results_are_right(name: str) -> None:
    """And nothing is reported that does no harm; Triton 3.6 leaves a fence out."""
    case = CASES[name]
    before, after, result = _simulated(name)
    for number, value in case.expected(*before).items():
        (array,) = _arrays(after[number])[:1]
        assert np.abs(array - value).max() <= case.tolerance
    assert name not in DIGESTS or digest(after) == DIGESTS[name], "an H200 gave other bytes"
    assert result.hazards == []
    assert {note.kind for note in result.notes} == (
        {"cp.async without proxy fence"} if name == "matmul" else set()
    )


def test_one_missing_fence_is_one_note_without_lines_of_the_source() -> None:
    """Four products, each at a line of its own in the PTX, read what six copies wrote."""
    case = CASES["matmul"]
    text = re.sub(r"(?m)^\s*\.loc .*$", "", (FOLDER / "matmul.ptx").read_text(encoding="utf-8"))
    assert text.count("wgmma.mma_async") == 4
    result = ptxlab.kernel(text).simulate(
        case.grid, case.block, *case.arguments(), shared=case.shared, show=False
    )
    assert [note.kind for note in result.notes] == ["cp.async without proxy fence"]


def test_code_inlined_from_a_library_belongs_to_the_kernel_that_calls_it() -> None:
    """LLVM says in comments where it was inlined."""
    (function,) = _kernel("softmax").module.functions.values()
    assert {instruction.location.file for instruction in function.instructions if instruction.location} == {
        "triton_kernels.py",
        "standard.py",
    }
    assert {instruction.source.file for instruction in function.instructions if instruction.source} == {
        "triton_kernels.py"
    }
    inlined = {instruction.inlining for instruction in function.instructions if "shfl" in instruction.opcode}
    assert all(re.fullmatch(r"from line \d+ of standard\.py", place) for place in inlined)
    text = (FOLDER.parent / "triton_kernels.py").read_text(encoding="utf-8").splitlines()
    shuffles = {
        text[instruction.source.line - 1].split("=")[0].strip()
        for instruction in function.instructions
        if "shfl" in instruction.opcode
    }
    assert shuffles == {"e", "tl.store(out_ptr + row * stride + i, e / tl.sum(e, axis"}


def _recorded_with(source: str, path: str = "", language: str | None = None) -> Any:
    """The product, with the text that its lines belong to, or with the path of a file that has it."""
    ptx = (FOLDER / "matmul.ptx").read_text(encoding="utf-8")
    if path:
        return ptxlab.kernel(replaced(ptx, '"triton_kernels.py"', f'"{path}"'))
    return build_kernel(ptx, origin=source, language=language)


@pytest.mark.needs("anywidget")
def test_a_result_shows_the_python_function_that_it_ran() -> None:
    """Counts stand beside its lines, a hazard or a note below one; what else the file has is left out."""
    path = FOLDER.parent / "triton_kernels.py"
    source = path.read_text(encoding="utf-8")
    first = (
        source.splitlines().index(
            "def matmul(a_ptr, b_ptr, c_ptr, N, K, TILE: tl.constexpr):  # type: ignore[no-untyped-def]"
        )
        + 1
    )
    kernel = _recorded_with(source)
    case = CASES["matmul"]
    result = kernel.simulate(
        case.grid, case.block, *case.arguments(), shared=case.shared, trace=1, show=False
    )
    for page in (result._repr_html_(), kernel._repr_html_()):
        shown = [int(number) for number in re.findall(r'data-line="(\d+)"', page)]
        assert shown == list(range(first - 1, first + 10))
        assert '<span class="builtin">@triton.jit</span>' in page
    dot = first + 8
    assert "c = tl.dot(a, b, c)" in source.splitlines()[dot - 1]
    assert {"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"} <= set(result.by_line()[dot].by_opcode)
    assert [(note.line, note.other_line) for note in result.notes] == [(dot, dot - 2)]  # of both copies
    columns = listings(kernel).columns
    assert columns[0].lines == tuple(range(first - 1, first + 10)) and dot in columns[1].lines
    session = kernel.debug(case.grid, case.block, *case.arguments(), shared=case.shared)
    assert session.run_to(dot).line == dot
    program = Debugger(session).program()
    assert [column["ptx"] for column in program["columns"]] == [False, True]
    assert set(program["code"]) <= set(shown)


def test_remedies_are_named_in_the_language_of_the_source() -> None:
    """Where it has a name of its own; Triton has none for this fence."""
    case = CASES["matmul"]
    names = {
        "Triton": "fence.proxy.async",
        "Gluon": "fence_async_shared()",
        "TileLang": "T.fence_proxy_async()",
    }
    for language, name in names.items():
        kernel = _recorded_with("", language=language)
        notes = kernel.simulate(case.grid, case.block, *case.arguments(), shared=case.shared).notes
        (note,) = notes  # one fence is for the tiles of A and of B
        assert f"execute {name} after" in note.sentence and name in note.remedy
    assert all(SPELLINGS[language]["__syncthreads()"] for language in SPELLINGS if language != "CUDA C++")


def test_the_source_of_ptx_is_found_where_its_file_or_its_cell_is(tmp_path: Path) -> None:
    """An absolute path, or what `linecache` knows; a name without a folder could be any file's."""
    source = (FOLDER.parent / "triton_kernels.py").read_text(encoding="utf-8")
    (tmp_path / "kernels.py").write_text(source, encoding="utf-8")
    cell = "ipykernel/1.py"
    linecache.cache[cell] = len(source), None, source.splitlines(keepends=True), cell
    assert _recorded_with(source, str(tmp_path / "kernels.py")).source == source
    assert _recorded_with(source, cell).source == source
    del linecache.cache[cell]
    (tmp_path / "short.py").write_text("import triton", encoding="utf-8")
    for path in (cell, "triton_kernels.py", str(tmp_path / "short.py"), str(tmp_path / "absent.py")):
        kernel = _recorded_with(source, path)
        assert kernel.source == kernel.ptx


def test_hazards_of_ptx_without_its_source_stand_at_lines_of_the_ptx() -> None:
    _, _, result = _simulated("matmul")
    lines = {line.number: line for line in margin(result)}
    assert result.notes
    for note in result.notes:
        assert lines[note.ptx_line].notes and "wgmma" in lines[note.ptx_line].text


@pytest.mark.needs("cuda.core")
def test_a_session_profiles_its_launches() -> None:
    """And gives its arrays to the simulation as they were: a launch is not done twice."""
    session = Session("H200", show=False, profile=True)
    case = CASES["locked_sum"]
    x, total, lock, *hidden = case.arguments()
    session.simulate(_kernel("locked_sum"), case.grid, case.block, [x, total, lock, *hidden], case.shared)
    assert total[0] == x.sum() and lock[0] == 0
    (profile,), (result,) = session.profiles, session.results
    assert profile.microseconds > 1 and profile.name == result.name == "locked_sum"
    assert not Session("H200").profiled


@pytest.mark.gpu
@each("name", sorted(CASES))
def test_a_gpu_gives_the_same_bytes(name: str) -> None:
    _, simulated, _ = _simulated(name)
    assert digest(simulated) == digest(launched(name))


@pytest.mark.needs("cuda.core")
def test_generated_code_has_lines_of_python_or_of_itself(tmp_path: Path) -> None:
    """As TileLang writes it: `#line` before a statement, and none before what its compiler adds."""
    file = tmp_path / "program.py"
    file.write_text(
        "@kernel\ndef reverse(x):\n    shared[i] = x[i]\n    x[i] = shared[n - i]\n", encoding="utf-8"
    )
    text = f"""extern "C" __global__ void reverse(int* x) {{
#line 2 "{file}"
  __shared__ int s[64];
#line 3 "{file}"
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x == 0) {{
    s[63] = 1;
  }}
#line 4 "{file}"
  if (x) {{
    x[threadIdx.x] = s[63 - threadIdx.x];
  }}
}}
"""
    lines = PythonLines.of(text, "generated code")
    assert lines is not None and (lines.file, lines.first) == (str(file), 2)
    kernel = build_kernel(
        lines.in_ptx(ptxlab.kernel(lines.code).ptx), language="TileLang",
        origin=file.read_text(encoding="utf-8"),
    )  # fmt: skip
    found = kernel.simulate(1, 64, np.arange(64, dtype=np.int32), show=False).hazards
    assert [(hazard.line, hazard.other_line, hazard.text) for hazard in found] == [
        (2, 3, "def reverse(x):"),
        (4, 3, "x[i] = shared[n - i]"),
    ]
    assert found[0].sentence.startswith("line 2 (from line 7 of generated code): ")
    assert found[1].sentence.startswith("line 4: ")
    assert PythonLines.of("void f() {}", "generated code") is None
    vector = PythonLines.of(
        '#line 8 "f.py"\n  float2 __1;\n    __1.x = a;\n  c = __1;\n  wait();\n', "generated"
    )
    assert vector is not None
    assert re.findall("#line.*", vector.code) == [*3 * ['#line 8 "f.py"'], '#line 5 "generated"']


def _cubin(ptx: str, section: str = ".nv_debug_ptx_txt") -> bytes:
    """An ELF file of two sections: names, and the PTX, whose lines end with a zero byte."""
    names, content = b"\0.shstrtab\0" + section.encode() + b"\0", ptx.replace("\n", "\0").encode()
    header = struct.pack("<16s2HI3QI6H", b"\x7fELF\2\1", 2, 190, 1, 0, 0, 64, 0, 64, 56, 0, 64, 3, 1)
    places = [(0, 0, 0), (1, 64 + 192, len(names)), (11, 64 + 192 + len(names), len(content))]
    table = b"".join(
        struct.pack("<2I4Q2I2Q", name, 1, 0, 0, at, size, 0, 0, 1, 0) for name, at, size in places
    )
    return header + table + names + content


def test_the_ptx_in_a_cubin() -> None:
    """As cuTile leaves it there, with the text of its own intermediate language behind."""
    ptx = replaced((FOLDER / "cutile_add.ptx").read_text(encoding="utf-8"), ".version 9.0", ".version 9.4")
    ptx = replaced(ptx, ".minnctapersm 1\n", '.minnctapersm 1\n.language 7, "tile ir"\n') + (
        '.nv_intermediate_source_section {\n.code_block {\n.ir_name: "tile ir"\n.sourceFileName: 2\n'
        ".source_begin\nentry @add(%0: tile<128xf32>) { # }{\n.source_end\n}\n}\n"
    )
    x, out = _floats(1000), np.zeros(1000, np.float32)
    ptxlab.kernel(_cubin(ptx)).simulate(8, 128, *_cutile(x, x, out))
    assert np.array_equal(out, 2 * x)
    refuses("the cubin has no PTX in it", ptxlab.kernel, _cubin(ptx, ".text"))
    refuses("these 8 bytes are no cubin", ptxlab.kernel, b"nonsense")
    refuses("the cubin is damaged", ptxlab.kernel, _cubin(ptx)[:200])
