"""A valid call of everything that users can call, and what there is to call."""

from __future__ import annotations

import atexit
import importlib.util
import inspect
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import ptxlab
from ptxlab import figures, gemm, gpu, inputs, lessons, memory, numerics, sparsity, views, wmma
from ptxlab.isa import targets, tensor_operand
from ptxlab.isa.dtypes import DType
from ptxlab.isa.instruction_descriptor import InstructionDescriptor
from ptxlab.isa.layout import Layout
from ptxlab.isa.layout import fragment as fragment_layout
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operand import Operand
from ptxlab.isa.operation import Operation
from ptxlab.isa.tensor_operand import TensorLayout, TensorOperand
from ptxlab.isa.zero_column_mask import ZeroColumnMask
from ptxlab.judging import Task
from ptxlab.tcgen05_instruction import TensorInstruction, TensorTransfer

from .mutations import Call

_F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
_S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
_SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
_WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
_SPARSE_F16 = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
_SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"


_KERNEL = 'extern "C" __global__ void nothing() {}'
PTX = """.version 8.0
.target sm_90a
.address_size 64
.entry put(.param .u64 out, .param .f32 x)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [x];
    st.global.f32 [%rd1+4], %f1;
    ret;
}
"""


#: Where calls write files; it is removed when Python ends.
_WRITTEN = tempfile.TemporaryDirectory(prefix="ptxlab-contract-")
atexit.register(_WRITTEN.cleanup)


def _zeros(size: int, seed: int) -> dict[str, Any]:
    return {"y": np.ones(size, np.int32), "n": size}


def _folder() -> Path:
    return Path(tempfile.mkdtemp(dir=_WRITTEN.name))


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def call(
    title: str, function: Callable[..., Any], /, *, only: str = "", skip: str = "", **arguments: Any
) -> Call:
    """A call with these arguments; arrays are copied, since some functions write into them."""
    return Call(
        title,
        lambda: (function, {key: _copied(value) for key, value in arguments.items()}),
        tuple(only.split()),
        tuple(skip.split()),
    )


def calls_of(prefix: str, owner: Any, names: str, **samples: Any) -> Iterator[Call]:
    """A call of each of these functions of a module or methods of an object, with the samples it takes."""
    for name in names.split():
        function = getattr(owner, name)
        parameters = inspect.signature(function).parameters
        taken = {key: samples[key] for key in parameters if key in samples}
        yield call(f"{prefix}.{name}", function, **taken)


def with_widgets() -> bool:
    """Whether figures and the Explorer can be tried: a machine with a GPU may have neither."""
    return all(importlib.util.find_spec(name) for name in ("plotly", "anywidget", "ipywidgets"))


@lru_cache(maxsize=1)
def calls() -> tuple[Call, ...]:
    """A valid call of everything but the Explorer."""
    return tuple(
        call
        for part in (_top, _forms, _operands, _layouts, _dtypes, _sparsity, _memory, _tcgen05, _transfers,
                     figure_calls, _views, _inputs, _wmma, _gpu, _gemm, _lessons)
        for call in part()
    )  # fmt: skip


def _matrices(ins: Any) -> dict[str, Any]:
    a = np.ones(ins.a_dense.shape)
    if ins.sparse:
        a = ins.prune(a)
    return {"A": a, "B": np.ones(ins.b.shape), "C": np.zeros(ins.c.shape)}


def _registers(ins: Any) -> dict[str, Any]:
    operands = Operation.from_matrices(ins, *_matrices(ins).values())
    named = {name: getattr(operands, name) for name in ("a", "b", "c", "e", "scale_a", "scale_b")}
    return {name: array for name, array in named.items() if array is not None}


def _top() -> Iterator[Call]:
    f16 = ptxlab.instruction(_F16)
    yield call("ptxlab.instruction", ptxlab.instruction, text=_F16)
    yield call("ptxlab.catalog", ptxlab.catalog, family="movmatrix", target="sm_90")
    yield call("ptxlab.dtype", ptxlab.dtype, name="s4")
    yield call(
        "ptxlab.matmul", ptxlab.matmul, A=np.ones((20, 40)), B=np.ones((40, 3)), C=np.zeros((20, 3)),
        instruction=_F16, model="sm_90", on="emulator",
    )  # fmt: skip
    yield call(
        "ptxlab.matmul scaled", ptxlab.matmul, A=np.ones((16, 64)), B=np.ones((64, 8)), instruction=_SCALED,
        scale_a=np.ones((16, 2)), scale_b=np.ones((2, 8)), only="scale_a scale_b",
    )  # fmt: skip
    half = np.tile([1.0, 0, 0, 2], (20, 10))
    yield call("ptxlab.compress", ptxlab.compress, A=half, instruction=_SPARSE_F16)
    yield call("ptxlab.prune", ptxlab.prune, A=half, instruction=_SPARSE_F16)
    yield call("ptxlab.kernel", ptxlab.kernel, source=PTX, name="put", target="sm_90a", options=(),
               link=())  # fmt: skip
    yield call("ptxlab.simulating", ptxlab.simulating, chip="A100", check="error")
    yield call("ptxlab.kernel compiled", ptxlab.kernel, source=_KERNEL, options=("-DN=1",), only="options")
    kernel = ptxlab.kernel(PTX)
    yield call(
        "Kernel.simulate",
        lambda grid, block, out, x, shared, cluster, model, check, limit, trace, heap: kernel.simulate(
            grid, block, out, x, shared=shared, cluster=cluster, model=model, show=False, check=check,
            limit=limit, trace=trace, heap=heap,
        ),
        grid=(2, 1), block=32, out=np.zeros(2, dtype=np.float32), x=0.5, shared=16, cluster=2, model="sm_90",
        check="error", limit=1000, trace=1, heap=1024,
    )  # fmt: skip
    yield call(
        "Kernel.profile",
        lambda grid, block, out, x, shared, cluster, chip: kernel.profile(
            grid, block, out, x, shared=shared, cluster=cluster, chip=chip
        ),
        grid=(2, 1), block=32, out=np.zeros(2, dtype=np.float32), x=0.5, shared=16, cluster=2, chip="H200",
    )  # fmt: skip
    launch = {
        "grid": (2, 1), "block": 32, "out": np.zeros(2, dtype=np.float32), "x": 0.5, "output": 1,
        "rows": {1: 1}, "shared": 16, "cluster": 2, "model": "sm_90",
    }  # fmt: skip
    yield call(
        "Kernel.run",
        lambda grid, block, out, x, output, rows, shared, cluster, model: kernel.run(
            grid, block, out, x, output=output, rows=rows, shared=shared, cluster=cluster, model=model
        ),
        **launch,
    )
    yield call(
        "Kernel.reduction",
        lambda grid, block, out, x, output, rows, shared, cluster, model: kernel.reduction(
            grid, block, out, x, output=output, rows=rows, shared=shared, cluster=cluster, model=model
        ),
        **launch,
    )
    yield call("ptxlab.compare", ptxlab.compare, one=kernel.run(1, 32, np.zeros(2, dtype=np.float32), 0.5),
               two=kernel.run(2, 32, np.zeros(2, dtype=np.float32), 0.5))  # fmt: skip
    yield call("ptxlab.invariant", ptxlab.invariant, over={"batch": [1, 2]}, rows={1: 2},
               launch=lambda batch: kernel.run(batch, 32, np.zeros(2, dtype=np.float32), 0.5))  # fmt: skip
    yield call(
        "ptxlab.judge", ptxlab.judge, candidate="__global__ void zero(int* y, int n) { y[threadIdx.x] = 0; }",
        reference=lambda n: np.zeros(n, np.int32), skip="progress reference", seconds=30, memory=8 << 30,
        hidden=False, task=Task("zero", lambda n: np.zeros(n, np.int32), _zeros, sizes=(256,)),
    )  # fmt: skip
    yield call(
        "Kernel.debug",
        lambda grid, block, out, x, shared, cluster, model: kernel.debug(
            grid, block, out, x, shared=shared, cluster=cluster, model=model
        ),
        grid=(2, 1), block=32, out=np.zeros(2, dtype=np.float32), x=0.5, shared=16, cluster=2, model="sm_90",
    )  # fmt: skip
    yield call(
        "Kernel.check",
        lambda grid, block, out, x, schedules, shared, cluster, model, seconds: kernel.check(
            grid, block, out, x, schedules=schedules, shared=shared, cluster=cluster, model=model,
            seconds=seconds,
        ),
        grid=(2, 1), block=32, out=np.zeros(2, dtype=np.float32), x=0.5, schedules="all", shared=16,
        cluster=2, model="sm_90", seconds=10,
    )  # fmt: skip
    place = _folder() / "launch.json"
    profile = ptxlab.kernel(_KERNEL).profile(1, 32)
    yield call("Profile.perfetto", profile.perfetto, path=str(place))
    yield call("Profile.without", profile.without, unit="DRAM")
    yield call("Kernel.sass", kernel.sass, target="sm_90a")
    yield call("Kernel.occupancy", kernel.occupancy, block=32, shared=0, chip="H200")
    yield call("ptxlab.kernel of CuPy", _of_cupy, code=PTX, name="put", options=())
    source = (
        'extern "C" __global__ void f(unsigned* x) { asm volatile('
        '"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, '
        '{%0, %0, %0, %0}, {%1, %1}, {%0, %1};" : "+r"(x[0]), "+r"(x[1])); }'
    )
    result = ptxlab.kernel(source).simulate(1, 32, np.zeros(2, dtype=np.uint32))
    yield call("Result.bounds", result.bounds, chip="A100")
    yield call("Result.by_line", result.by_line, ptx=True)
    yield call("Result.operands", result.operands, line=1, warp=0, index=0)
    yield call("ptxlab.measured", ptxlab.measured, ins=f16, chip="H200")
    yield call("ptxlab.measure", ptxlab.measure, ins=f16, warps=[4, 8], chains=(1, 4), seconds=0.01,
               contents="zeros")  # fmt: skip
    tiles, a = [f16.operand("D")] * 2, f16.operand("A")
    plan = ptxlab.repack(tiles, a)
    yield call("ptxlab.repack", ptxlab.repack, source=tiles, target=a)
    words = np.zeros((32, 8), dtype=np.uint32)
    yield call("Repack.__call__", lambda registers: plan(registers), registers=words)
    yield call("Repack.follow", lambda registers: plan.follow(registers), registers=words)
    yield call("ptxlab.models", ptxlab.models)
    yield from calls_of("numerics", numerics, "has model_for", ins=f16, chip="sm_90")
    yield call("Model.fits", ptxlab.models()[0].fits, ins=f16)
    yield from calls_of("isa", targets, "check_target chip_of_target generation", target="sm_90")


def _of_cupy(code: Any, name: Any, options: Any) -> Any:
    """CuPy's object, as its adapter sees it: nothing of CuPy is imported."""
    fields = {"__module__": "cupy", "code": code, "name": name, "options": options}
    return ptxlab.kernel(type("RawKernel", (), fields)())


def _forms() -> Iterator[Call]:
    for text in (_F16, _SPARSE, _WGMMA, _SCALED):
        ins: Any = ptxlab.instruction(text)
        matrices, registers = _matrices(ins), _registers(ins)
        modifiers: dict[str, Any] = {"selector": 0}
        if ins.lanes == 128:
            modifiers = {"scale_d": True, "imm_scale_a": 1, "imm_trans_b": 0, "swizzle": 32}
        if ins.scale_vec:
            modifiers = {"byte_id_a": 0, "thread_id_b": 1}
        scales = {}
        if ins.scale_vec:
            scales = {"scale_a": np.ones(ins.scale_a.shape), "scale_b": np.ones(ins.scale_b.shape)}
        yield call("Instruction.emulate", ins.emulate, **registers, **modifiers, model=None)
        yield call("Instruction.run", ins.run, **registers, stream=None, **modifiers)
        yield call("Instruction.__call__", ins, **matrices, **modifiers, **scales)
        yield call("Instruction.trace", ins.trace, **matrices, **scales, **modifiers, row=1, col=2)
        names = (
            "supports ptx_version_for ptx_module operand find sass a_from column_of_b check_modifiers __eq__"
        )
        yield from calls_of(
            "Instruction", ins, names, target=ins.targets[0], name="A", space="register", row=1, col=2,
            modifiers=Modifiers(), other=ins,
        )  # fmt: skip
        if with_widgets():
            yield call("Instruction.figure", ins.figure, what="C", lane=5, label="lanes", warp=None)
        yield call("Operation.of", Operation.of, ins=ins, **registers, modifiers=Modifiers())
        yield call("Operation.from_matrices", Operation.from_matrices, ins=ins, **matrices, **scales)
    sparse: Any = ptxlab.instruction(_SPARSE)
    dense = sparse.prune(np.arange(16 * 64).reshape(16, 64) % 5)
    stored, nibbles = sparse.compress(dense)
    compressed = {"A": dense, "stored": stored, "nibbles": nibbles}
    yield from calls_of("Instruction", sparse, "compress expand prune", **compressed)
    operands = Operation.from_matrices(sparse, dense, np.ones((64, 8)))
    yield from calls_of(
        "Operation", operands, "part select item operand registers codes matrix copy_index lane_of",
        start=0, stop=1, which=[0], index=0, name="stored", row=1, column=2,
    )  # fmt: skip
    yield call("Operation.with_matrix", operands.with_matrix, name="A", values=dense)
    yield call("Operation.with_registers", operands.with_registers, name="B", registers=operands.b)
    yield call("Operation.with_modifiers", operands.with_modifiers, selector=0)
    yield call("Operand.encode", sparse.a.encode, matrix=stored)
    yield call("Modifiers", Modifiers, selector=0)
    yield call("Modifiers.from_keywords", Modifiers.from_keywords, keywords={"selector": 1})


def _operands() -> Iterator[Call]:
    forms: Any = [ptxlab.instruction(text) for text in (_F16, _S4, _SPARSE, _WGMMA)]
    wide: Any = ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64")
    operands = [forms[0].a, forms[0].c, forms[1].b, forms[1].c, forms[2].e, forms[3].b, wide.c]
    for op in operands:
        codes = np.zeros(op.shape, dtype=op.dtype.code_type)
        registers = op.pack_codes(codes)
        samples = {
            "matrix": np.ones(op.shape), "codes": codes, "registers": registers, "copy": 0, "name": "A",
            "number": np.float32, "lane": 4, "element": 0, "row": 1, "col": 2, "register": 0,
        }  # fmt: skip
        names = "pack unpack pack_codes unpack_codes check_codes check_matrix check_registers describe"
        if op.layout is not None:
            names += " place where holds held_by read_with"
        yield from calls_of("Operand", op, names, **samples)


def _layouts() -> Iterator[Call]:
    layout = fragment_layout(16, 8, 2)
    yield from calls_of("Layout", layout, "locate holders scatter", row=9, col=3, copy=0)
    yield from calls_of(
        "Layout", Layout, "from_cute from_bases", text=layout.cute, bases=layout.bases, shape=(16, 8)
    )


def _dtypes() -> Iterator[Call]:
    for name in ("b1", "s4", "u8", "s32", "e2m1", "e4m3", "ue8m0", "f16", "bf16", "tf32", "f32", "f64"):
        dtype = ptxlab.dtype(name)
        codes = np.ones((2, 3), dtype=dtype.code_type)
        yield from calls_of("DType", dtype, "encode decode", values=np.ones((2, 3)), codes=codes)


def _sparsity() -> Iterator[Call]:
    for structure in sparsity.STRUCTURES.values():
        dense = structure.prune(np.arange(8 * 32).reshape(8, 32) % 7)
        zero = dense == 0
        stored, nibbles = structure.compress(dense)
        yield from calls_of(
            "Structure", structure, "compress violations diagnose positions expand prune weights",
            matrix=dense, zero=zero, stored=stored, nibbles=nibbles, ordered=True,
        )  # fmt: skip


def _memory() -> Iterator[Call]:
    for tile in (
        memory.Tile(16, 8, 64, swizzle=128), memory.Tile(1, 8, 256), memory.Tile(32, 32, 8, "MN", 64),
    ):  # fmt: skip
        codes = np.ones((tile.rows, tile.k), dtype=np.uint8)
        yield call("Tile", memory.Tile, bits=tile.bits, rows=tile.rows, k=tile.k, major=tile.major,
                   swizzle=tile.swizzle)  # fmt: skip
        yield call("Tile.offset", tile.offset, row=np.arange(4), k=0)
        yield from calls_of("Tile", tile, "store load descriptor slice", codes=codes,
                            memory=tile.store(codes), address=tile.alignment, k=0, row=0)  # fmt: skip
        yield call("Tile.judge", tile.judge, descriptor=tile.descriptor(0x400), k=0, row=0, address=None)
    operand = ptxlab.instruction(_WGMMA).operand("B")
    yield call("Tile.of", memory.Tile.of, operand=operand, swizzle=32, transposed=False)
    yield call("Tile.parse", memory.Tile.parse, text="bits=16,rows=8,k=64,swizzle=128")
    yield call("Tile.from_cute", memory.Tile.from_cute, text="(8,8):(8,1)", bits=16)
    yield call("memory.encode_descriptor", memory.encode_descriptor, address=0x400, leading=128, stride=512,
               swizzle=64, base_offset=0)  # fmt: skip
    yield call("memory.descriptor", memory.descriptor, code=0x4000004000010040)
    yield call("memory.Descriptor", memory.Descriptor, address=0x400, leading=16, stride=1024, swizzle=128,
               base_offset=0)  # fmt: skip
    fields = memory.Descriptor(0x400, 16, 1024, 128)
    yield from calls_of("Descriptor", fields, "load addresses", memory=np.zeros(4096, np.uint8), rows=8,
                        row=np.arange(8), k=16, bits=16, major="K")  # fmt: skip
    yield call("memory.conflicts", memory.conflicts, addresses=np.arange(32) * 8, width=8, store=False,
               atomic=False, active=np.ones(32, dtype=bool))  # fmt: skip
    swizzled = "Swizzle<3,3,3> o (64,64):(64,1)"
    yield call("SharedLayout.read", memory.SharedLayout.read, text=swizzled, bits=16)
    tile_of_cute = memory.SharedLayout.read(swizzled, 16)
    yield call("TritonLayout.read", memory.TritonLayout.read, layout="#ttg.linear<{lane = [[0, 1]]}>")
    yield call("SharedLayout.address", lambda row, column: tile_of_cute.address(row, column), row=[0, 1],
               column=0)  # fmt: skip
    blocked = "sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]"
    yield from calls_of("TritonLayout", memory.TritonLayout.read(f"#ttg.blocked<{{{blocked}}}>"),
                        "bases registers", shape=(64, 64))  # fmt: skip
    swizzled = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    yield call("TritonLayout.shared", memory.TritonLayout.read(swizzled).shared, shape=(64, 64), bits=16)
    array = np.zeros((8, 64), dtype=np.float16)
    for function in ("memory.tensor_map", "ptxlab.tensor_map"):
        yield call(function, memory.tensor_map, array=array, box=(8, 64), swizzle=128,
                   element_strides=(1, 1), fill="nan", l2_promotion=128, data_type="FLOAT16",
                   interleave=0)  # fmt: skip
    pictures = np.zeros((2, 6, 7, 16), dtype=np.float16)
    yield call("memory.im2col_map", memory.im2col_map, array=pictures, pixels=24, channels=16, lower=(0, -1),
               upper=(-2, 0), swizzle=32, element_strides=(1, 1, 2, 1), fill="nan", l2_promotion=64,
               data_type="FLOAT16")  # fmt: skip
    tensor = memory.tensor_map(array, (8, 64), 128)
    scales = np.ones((3, 5), dtype=np.uint8)
    yield call("memory.scale_offset", memory.scale_offset, row=np.arange(8), column=np.arange(8) % 5,
               columns=5)  # fmt: skip
    yield from calls_of("memory", memory, "tile_scales untile_scales", scales=scales, rows=3, columns=5,
                        memory=memory.tile_scales(scales))  # fmt: skip
    nibbles = np.full((32, 16), 4, dtype=np.uint8)
    stored = memory.reorder_metadata(nibbles)
    sparse = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
    names = "reorder_metadata restore_metadata metadata_registers metadata_from_registers pack_metadata"
    yield from calls_of(
        "memory", memory, f"{names} unpack_metadata", ins=sparse, nibbles=nibbles, bits=16, metadata=stored,
        registers=memory.metadata_registers(sparse, stored), words=memory.pack_metadata(sparse, nibbles),
    )  # fmt: skip
    lookup = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b", n=16)
    codes = np.zeros((64, 16), np.uint8)
    columns, words = memory.pack_lookup(lookup, codes)
    yield from calls_of("memory", memory, "pack_lookup unpack_lookup", form=lookup, codes=codes,
                        columns=columns, words=words, segment=0)  # fmt: skip
    f16 = ptxlab.instruction(_F16)
    order = memory.weight_order(f16.operand("B"), (16, 64), bits=4)
    yield call("memory.weight_order", memory.weight_order, operand=f16.operand("B"), shape=(16, 64), bits=4,
               interleave=(0, 2, 1, 3), tiles="strided")  # fmt: skip
    matrix, stored = np.zeros((16, 64)), np.zeros(1024)
    yield from calls_of("WeightOrder", order, "store restore", matrix=matrix, stored=stored)
    for name in ("offset", "load", "image"):
        at = {"*row": 1, "*column": 8}
        yield call(f"TensorMap.{name}", getattr(tensor, name), **at, address=128)
    yield from calls_of("TensorMap", tensor, "check_start supports tile as_address", start=(1, 8),
                        target="sm_90", major="K", address=128)  # fmt: skip


def _tcgen05() -> Iterator[Call]:
    f16 = "tcgen05.mma.cta_group::1.kind::f16"
    ins = ptxlab.instruction(f16)
    yield call("ptxlab.instruction tcgen05", ptxlab.instruction, text=f16, descriptor=0x8400010)
    yield call("ptxlab.instruction parts", ptxlab.instruction, text=f16, m=64, n=32, a="bf16", d="f32")
    yield from calls_of(
        "TensorInstruction", ins,
        "a_from collecting for_target supports ptx_version_for operand find with_mn_major faults",
        space="tensor", a="fill", b="", target="sm_100a", name="B", descriptor=0x8400010, mn_major=True,
    )  # fmt: skip
    parts = {"code": None, "m": 64, "n": 24, "transpose_a": True}
    yield call("TensorInstruction.with_descriptor", ins.with_descriptor, **parts)
    move = ptxlab.instruction("tcgen05.ld.sync.aligned.16x32bx2.x2.b32")
    yield from calls_of(
        "TensorTransfer", move, "locate first_lane check_split slots supports ptx_version_for operand find",
        thread=3, register=1, lane=19, column=1, address=16 << 16, split=8, target="sm_100a", name="R",
    )  # fmt: skip
    yield call("TensorInstruction.tensor", ins.tensor, name="D")
    copy = ptxlab.instruction("tcgen05.cp.cta_group::1.32x128b.warpx4")
    yield call("TensorTransfer.tensor", copy.tensor, name="T")
    d = ptxlab.instruction("tcgen05.mma.ws.cta_group::1.kind::f16", m=32, n=64).d
    words = d.pack(np.ones(d.shape))
    yield from calls_of(
        "TensorOperand", d, "where holds held_by pack pack_codes unpack unpack_codes", row=3, col=20, lane=40,
        column=3, cta=0, matrix=np.ones(d.shape), codes=np.ones(d.shape, np.uint32), registers=words, copy=0,
    )  # fmt: skip
    yield from calls_of("TensorLayout", d.layout, "locate holders", row=3, col=20)
    yield call("tensor_operand.accessible_lanes", tensor_operand.accessible_lanes, warp=3)
    yield call("InstructionDescriptor", InstructionDescriptor, kind="mxf4nvf4", m=128, n=64, k=64, a="e2m1",
               scale="ue4m3", scale_a_id=0, sparse=False, negate_a=True)  # fmt: skip
    yield call("InstructionDescriptor.decode", InstructionDescriptor.decode, code=0x8400010, kind="f16")
    yield call("InstructionDescriptor.faults", ins.descriptor.faults, ws=False, cta_group=1, scale_vector="",
               target="sm_100a")  # fmt: skip
    yield call("Tile of tcgen05", memory.Tile, bits=32, rows=64, k=16, major="MN", swizzle=128, chunk=32)
    shared = memory.Tcgen05Descriptor(0, 1024, 512, 128, chunk=32)
    yield call("Tcgen05Descriptor", memory.Tcgen05Descriptor, address=0, leading=1024, stride=512,
               swizzle=128, base_offset=0, chunk=32, absolute=False, segment=0)  # fmt: skip
    yield from calls_of(
        "Tcgen05Descriptor", shared, "addresses load faults", row=np.arange(8), k=8, bits=32, major="MN",
        memory=np.zeros(8192, np.uint8), rows=32, form=ins, operand="A", target="sm_100a",
    )  # fmt: skip
    sparse = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16", m=64, n=32)
    dense = sparse.prune(np.ones((64, 32)))
    stored, nibbles = sparse.compress(dense)
    compressed = {"A": dense, "stored": stored, "nibbles": nibbles}
    yield from calls_of("TensorInstruction", sparse, "compress prune expand", **compressed)
    mask = ZeroColumnMask(4, 3)
    yield call(
        "ZeroColumnMask",
        lambda use, zeros, start, first, shift, on: ZeroColumnMask(use, zeros, start, first, shift, on),
        use=4, zeros=3, start=(0, 1, 2, 3), first=(True, False, False, True), shift=2, on=True,
    )  # fmt: skip
    yield call("ZeroColumnMask.decode", ZeroColumnMask.decode, code=mask.code)
    yield call("ZeroColumnMask.zeros", mask.zeros, m=64, n=128)
    plain = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    yield call(
        "TensorTransfer.emulate",
        lambda words, address, split: plain.emulate(words, address=address, split=split),
        words=np.zeros((128, 8), dtype=np.uint32), address=1, split=None,
    )  # fmt: skip
    stored_back = ptxlab.instruction("tcgen05.st.sync.aligned.32x32b.x2.b32")
    yield call(
        "TensorTransfer.emulate st",
        lambda registers, words: stored_back.emulate(registers, words),
        registers=np.zeros((128, 2), dtype=np.uint32), words=np.zeros((128, 8), dtype=np.uint32),
    )  # fmt: skip
    yield call(
        "TensorTransfer.emulate cp",
        lambda shared, tile, words: copy.emulate(shared, tile, words),
        shared=np.zeros(512, dtype=np.uint8), tile=memory.Tcgen05Descriptor(0, 16, 128).code,
        words=np.zeros((128, 4), dtype=np.uint32),
    )  # fmt: skip
    yield call(
        "TensorTransfer.run",
        lambda words, address, split: plain.run(words, address=address, split=split),
        words=np.zeros((128, 8), dtype=np.uint32), address=1, split=None,
    )  # fmt: skip
    yield from calls_of("TensorTransfer", plain, "ptx_module sass", target="sm_100a")
    if with_widgets():
        yield call("TensorTransfer.figure", plain.figure, what="lane", lane=5, title=True)
    yield from _tensor_products()
    yield from calls_of("TensorInstruction", ins, "ptx_module sass", target="sm_100f")
    yield from calls_of(
        "views", views, "facts tensor_layouts tensor_blocks where holds", form=ins, ins=ins, operand="D",
        name="D", target="sm_100a", run=False, row=3, column=5, lane=3, register=5, cta=0, swizzle=0,
        transposed=False,
    )  # fmt: skip
    yield call("views.where R", views.where, ins=move, name="R", row=3, column=1)
    yield call("views.sparse_where tcgen05", views.sparse_where, ins=sparse, row=1, column=3)
    yield call("memory.descriptor of", memory.descriptor, code=shared.code, family="tcgen05")


def _tensor_products() -> Iterator[Call]:
    f16: Any = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=8)
    nvfp4 = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16"
    scaled: Any = ptxlab.instruction(nvfp4, n=8, scale="ue4m3")
    for ins, modifiers in (
        (f16, {"enable_input_d": True, "scale_input_d": 3, "disable_output_lane": 5}),
        (scaled, {"enable_input_d": False}),
    ):
        matrices = {"A": np.ones((ins.m, ins.k)), "B": np.ones((ins.k, ins.n)), "C": np.ones((ins.m, ins.n))}
        words = {name: operand.pack(np.ones(operand.shape)) for name, operand in ins.inputs.items()}
        scales = {name: np.ones(ins.inputs[name].shape) for name in ins.inputs if name.startswith("scale_")}
        yield call("TensorInstruction.emulate", ins.emulate, **words, **modifiers, model="sm_100")
        yield call("TensorInstruction.run", ins.run, **words, stream=None, **modifiers)
        yield call("TensorInstruction.__call__", ins, **matrices, **scales, **modifiers)
        yield call("TensorInstruction.trace", ins.trace, **matrices, **scales, **modifiers, row=1, col=2)
        yield call("TensorInstruction.check_modifiers", ins.check_modifiers, modifiers=Modifiers(**modifiers))
        yield call("Operation.of tcgen05", Operation.of, ins=ins, **words, modifiers=Modifiers())
        yield call("Operation.from_matrices tcgen05", Operation.from_matrices, ins=ins, **matrices, **scales)
        yield call("ptxlab.matmul tcgen05", ptxlab.matmul, **matrices, instruction=ins, **scales, show=False)
    if with_widgets():
        yield call("TensorInstruction.figure", f16.figure, what="D", colour="warp", title=True)
    yield call("TensorInstruction.column_of_b", f16.column_of_b, row=1, col=2)
    words = np.zeros((128, 8), np.uint32)
    names = "check_registers check_codes check_matrix describe"
    yield from calls_of("TensorOperand", f16.d, names, registers=words, codes=np.zeros((64, 8), np.uint32),
                        matrix=np.zeros((64, 8)), name="accumulator")  # fmt: skip
    yield from calls_of("numerics", numerics, "model_for has", ins=scaled, chip="sm_100")


def _transfers() -> Iterator[Call]:
    names = (
        "ldmatrix.sync.aligned.m8n8.x4.b16", "stmatrix.sync.aligned.m8n8.x2.trans.b16",
        "movmatrix.sync.aligned.m8n8.trans.b16", "wmma.load.a.sync.aligned.row.m16n16k16.f16",
        "wmma.store.d.sync.aligned.col.m8n8k32.s32", "wmma.load.b.sync.aligned.col.m8n8k128.b1",
    )  # fmt: skip
    for name in names:
        form: Any = ptxlab.instruction(name)
        operand = form.register_operand
        arrays = {
            "registers": np.zeros((operand.lanes, operand.registers), dtype=operand.register_type),
            "memory": np.zeros(2048, dtype=np.uint8),
        }
        if form.address_lanes:
            arrays["addresses"] = form.addresses()
        positional = {f"*{key}": arrays[key] for key in form.inputs}
        options: dict[str, Any] = {"stride": None, "offset": 0}
        yield call("Transfer.emulate", form.emulate, **positional, **options)
        yield call("Transfer.run", form.run, **positional, **options)
        names = "in_space supports ptx_version_for ptx_module operand find __eq__"
        names += " conflicts" * bool(form.address_lanes)
        names += " addresses" * (form.family != "movmatrix")
        yield from calls_of(
            "Transfer", form, names, addresses=arrays.get("addresses"), offset=0, stride=None, space=None,
            target="sm_90", name=operand.name, other=form,
        )  # fmt: skip
        if with_widgets():
            yield call("Transfer.figure", form.figure, what="lane", lane=5, title=True)
    yield call("Transfer.sass", form.sass, target="sm_90")


def figure_calls() -> Iterator[Call]:
    """A valid call of every figure, and of the view that it draws."""
    s4, sparse, scaled, f16 = map(ptxlab.instruction, (_S4, _SPARSE, _SCALED, _F16))
    nibbles = np.full(sparse.e.shape, 4)
    tensor = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    scaled_tensor = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", n=16)
    load = ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")
    trace = f16.trace(np.ones((16, 16)), np.ones((16, 8)), None, 0, 0)
    access, wide = memory.conflicts(np.arange(32) * 8), memory.Tile(16, 16, 64, swizzle=128)
    small_box = ptxlab.tensor_map(np.zeros((8, 32), np.float16), (8, 16), 32)
    marked = np.zeros((16, 8), dtype=bool)
    launch = ptxlab.kernel(_KERNEL).profile(1, 32)
    multiply = 'extern "C" __global__ void f(float* x) { *x = *x * *x + 1; }'
    multiplied = ptxlab.kernel(multiply).profile(1, 32, np.ones(1, np.float32))
    for module in (figures, views) if with_widgets() else (views,):
        prefix = module.__name__.removeprefix("ptxlab.")
        bare = {} if module is views else {"title": True}
        yield call(f"{prefix}.formats", module.formats, **{"*first": "f16", "*second": "s4"}, **bare)
        yield call(f"{prefix}.banks", module.banks, access=access, colour="wavefront", counts=True, **bare)
        yield call(f"{prefix}.tile", module.tile, layout=wide, k=16, colour="core matrix", **bare)
        yield call(f"{prefix}.bytes_read", module.bytes_read, descriptor=0x4000004000010042, tile=wide, k=16,
                   address=0x400, bits=16, rows=8, major="K", title=True)  # fmt: skip
        yield call(f"{prefix}.bytes_read bare", module.bytes_read, descriptor=0x4000004000010042, bits=8,
                   rows=16, major="K")  # fmt: skip
        yield call(f"{prefix}.box", module.box, tensor=small_box, row=0, column=8, **bare)
        yield call(f"{prefix}.named_layout", module.named_layout, layout="Swizzle<3,3,3> o (8,64):(64,1)",
                   shape=(8, 64), bits=16, lane=1, **bare)  # fmt: skip
        yield call(f"{prefix}.nibble", module.nibble, nibble=9, structure="2:4", chunk=1, **bare)
        yield from calls_of(
            prefix, module, "descriptor swizzle swizzle_bits repack trace scale_tile tensor_registers",
            number=0x4000004000010040, address=0x4A0, width=64, vector=1, plan=ptxlab.repack(f16.d, f16.d),
            rows=4, columns=8, trace=trace, row=37, move=load, thread=37, warp=1, **bare,
        )  # fmt: skip
        yield call(
            f"{prefix}.tensor_memory", module.tensor_memory, ins=tensor, operand="D", colour="column", cta=0,
            lanes=range(30, 40), columns=range(8), marked=(20, 3), words=np.ones((128, 32), np.uint32),
            **bare,
        )  # fmt: skip
        yield call(f"{prefix}.chip", module.chip, **{"*first": "wgmma", "*second": "registers"}, **bare)
        yield call(f"{prefix}.data_paths", module.data_paths, **{"*first": "F", "*second": "A"}, n=64, **bare)
        yield call(f"{prefix}.instruction_descriptor", module.instruction_descriptor, descriptor=tensor,
                   **bare)  # fmt: skip
        yield call(f"{prefix}.fragment", module.fragment, ins=f16, operand="C", label="lanes", lane=5,
                   warp=None, dense=False, swizzle=0)  # fmt: skip
        yield call(f"{prefix}.metadata", module.metadata, ins=sparse, nibbles=nibbles, selector=0, warp=0)
        yield call(f"{prefix}.metadata tcgen05", module.metadata, ins="tcgen05.mma.sp.cta_group::1.kind::f16",
                   selector=1, rows=range(4), only="selector rows")  # fmt: skip
        yield call(f"{prefix}.lane", module.lane, ins=s4, operand="A", lane=4, registers=np.arange(4))
        yield call(f"{prefix}.lane tcgen05", module.lane, ins=tensor, operand="D", lane=36,
                   columns=range(4, 8), title=True)  # fmt: skip
        yield call(f"{prefix}.lane of a load", module.lane, ins=load, operand=tensor.d, lane=37,
                   registers=np.arange(4))  # fmt: skip
        yield call(f"{prefix}.scales", module.scales, ins=scaled, scale_a=np.ones(scaled.scale_a.shape),
                   scale_b=np.ones(scaled.scale_b.shape), byte_id_a=0, thread_id_b=2)  # fmt: skip
        yield call(f"{prefix}.scales tcgen05", module.scales, ins=scaled_tensor, rows=range(4),
                   columns=range(4), scale_a=np.ones((128, 2)), only="rows columns scale_a")  # fmt: skip
        yield call(f"{prefix}.values", module.values, ins=f16, operand="C", matrix=np.ones((16, 8)),
                   shown="value", colour="lane", lane=3, warp=None, copy=0, marked=marked, rows=range(3, 9),
                   columns=range(4), title=True)  # fmt: skip
        yield call(f"{prefix}.values codes", module.values, ins=f16, operand="C",
                   codes=np.ones((16, 8), dtype=np.uint32), only="codes")  # fmt: skip
        yield call(f"{prefix}.values sparse", module.values, ins=sparse, operand="A", nibbles=nibbles,
                   registers=sparse.a.pack(np.ones((16, 32))), only="nibbles registers")  # fmt: skip
        yield call(f"{prefix}.product", module.product, ins=f16, A=np.ones((16, 16)), B=np.ones((16, 8)),
                   C=np.ones((16, 8)), shown="hex", colour="auto", lane=1, marked=marked, model="sm_90",
                   element=(9, 3), rows=range(4, 9), columns=range(8))  # fmt: skip
        yield call(f"{prefix}.product tcgen05", module.product, ins=tensor, lane=36, only="ins lane")
        yield call(f"{prefix}.runs", module.runs, **{"*first": f16, "*second": load}, operand="A", title=True)
        yield call(f"{prefix}.roofline", module.roofline, profile=multiplied, title=True)
        yield call(f"{prefix}.timeline", module.timeline, profile=launch, start=1, cycles=8, title=True)
    if not with_widgets():
        return
    picture, folder = views.fragment(f16, "C"), _folder()
    yield from calls_of("figures", figures, "chart svg", picture=picture, title=True)
    yield call("figures.throughput", figures.throughput, what="n", type="f16", chip="H200", title=True)
    yield call("figures.matrix", figures.matrix, values=np.eye(3), title="D", axes=("m", "n"), centred=True)
    yield call("figures.save", figures.save, figure=picture, path=str(folder / "picture.svg"))
    yield call("figures.save html", figures.save, figure=figures.chart(picture), only="figure",
               path=str(folder / "picture.html"))  # fmt: skip
    yield call("figures.figure", figures.figure, ins=f16, what="lane", lane=5, title=False)
    yield call("figures.figure tcgen05", figures.figure, ins=tensor, what="D", colour="row", title=True)
    yield call("figures.figure trace", figures.figure, ins=f16, what="trace", A=np.ones((16, 16)),
               B=np.ones((16, 8)), C=None, row=0, col=0, model="sm_90", only="A B C row col")  # fmt: skip


def _views() -> Iterator[Call]:
    f16, wgmma, sparse = map(ptxlab.instruction, (_F16, _WGMMA, _SPARSE))
    model = ptxlab.models()[0]
    trace = f16.trace(np.ones((16, 16)), np.ones((16, 8)), None, 0, 0)
    tile = {"swizzle": 32, "transposed": False}
    yield from calls_of("views", views, "where holds", ins=f16, name="A", row=1, column=2, lane=1, register=0)
    yield call("views.where tile", views.where, ins=wgmma, name="B", row=1, column=2, **tile)
    yield call("views.fragment tile", views.fragment, ins=wgmma, operand="B", swizzle=32, colour="bank",
               only="swizzle colour")  # fmt: skip
    yield call("views.layout", views.layout, op=f16.c)
    yield call("views.source", lambda line: views.source(line), line="int i;")
    yield call("views.layout tile", views.layout, op=wgmma.b, **tile)
    yield call("views.offsets", views.offsets, op=wgmma.b, **tile, tile=None)
    yield call("views.sparse_where", views.sparse_where, ins=sparse, row=1, column=3)
    registers = np.zeros((32, 4), np.uint32)
    yield call("views.registers", views.registers, ins=f16, lane=3, held={"A": registers})
    yield call("views.registers held", lambda held: views.registers(f16, 3, {"A": held}), held=registers)
    yield from calls_of(
        "views", views,
        "copies_note counts forms types explain cpp cute evidence facts target_of model_table model_words "
        "rule_words grid_table",
        ins=f16, form=f16, trace=trace, model=model, rule=model.rule, op=f16.a, operand=f16.a, forms=(f16,),
        instructions=(f16,), row=1, column=2, chip="sm_90", name="A", target="sm_90", family="mma",
        grid=views.fragment(f16, "C").grids[0],
    )  # fmt: skip


def _inputs() -> Iterator[Call]:
    f16 = ptxlab.instruction(_F16)
    sparse = ptxlab.instruction(_SPARSE)
    yield call("inputs.categories", inputs.categories, ins=f16)
    yield call("inputs.directed_categories", inputs.directed_categories, ins=f16)
    yield call("inputs.make", inputs.make, ins=f16, category="bits", count=2, seed=1, selector=0, quick=False)
    yield call("inputs.make sparse", inputs.make, ins=sparse, category="bits", count=2, seed=1, selector=1,
               quick=True)  # fmt: skip


def _wmma() -> Iterator[Call]:
    matrix = np.ones((8, 32), dtype=int)
    packed = wmma.pack_matrix(matrix, "s4")
    sums = np.zeros((8, 8), dtype=np.int32)

    def fragments(k: int = 32, kind: str = "s4") -> dict[str, Any]:
        a = wmma.fragment("matrix_a", 8, 8, k, kind, "row_major")
        b = wmma.fragment("matrix_b", 8, 8, k, kind, "col_major")
        c = wmma.fragment("accumulator", 8, 8, k, int)
        for frag in (a, b, c):
            wmma.fill_fragment(frag, 1)
        return {"a": a, "b": b, "c": c}

    def bits() -> dict[str, Any]:
        return fragments(128, "b1")

    def set_x(x: Any) -> None:
        fragments()["c"].x = x

    yield call("wmma.fragment", wmma.fragment, use="matrix_a", m=8, n=8, k=32, type="s4", layout="row_major")
    yield call("wmma.fragment.x", set_x, x=np.zeros((32, 2), dtype=np.int32))
    yield Call("wmma.fill_fragment", lambda: (wmma.fill_fragment, {"frag": fragments()["a"], "value": 1}))
    yield Call("wmma.mma_sync", lambda: (
        wmma.mma_sync, {"d": fragments()["c"], **fragments(), "satf": False, "target": "sm_90"}
    ))  # fmt: skip
    yield Call("wmma.bmma_sync", lambda: (
        wmma.bmma_sync,
        {"d": bits()["c"], **bits(), "op": wmma.bmmaBitOpAND, "accumulate": wmma.bmmaAccumulateOpPOPC},
    ))  # fmt: skip
    yield Call("wmma.load_matrix_sync", lambda: (
        wmma.load_matrix_sync, {"frag": fragments()["a"], "buffer": packed.copy(), "ldm": 32}
    ))  # fmt: skip
    yield Call("wmma.load_matrix_sync c", lambda: (
        wmma.load_matrix_sync,
        {"frag": fragments()["c"], "buffer": sums.copy(), "ldm": 8, "layout": "mem_row_major"},
    ))  # fmt: skip
    yield Call("wmma.store_matrix_sync", lambda: (
        wmma.store_matrix_sync,
        {"buffer": sums.copy(), "frag": fragments()["c"], "ldm": 8, "layout": "mem_row_major"},
    ))  # fmt: skip
    yield call("wmma.pack_matrix", wmma.pack_matrix, matrix=matrix, type="s4", ldm=64, layout="row_major")
    yield call("wmma.unpack_matrix", wmma.unpack_matrix, buffer=packed, shape=(8, 32), type="s4", ldm=32,
               layout="row_major")  # fmt: skip
    for name in ("cpp_source", "ptx_lines", "ptx_triple"):
        yield call(
            f"wmma.{name}", getattr(wmma, name), name="b1", op="xor", satf=False, layout="mem_row_major"
        )
    yield call("wmma.form", wmma.form, name="s4", op=None, satf=True)
    yield call("wmma.machine_code", wmma.machine_code, name="s4", target="sm_90", op=None, satf=False)
    yield call("wmma.deprecation", wmma.deprecation, name="b1", op="and", satf=False)
    yield call("wmma.run", wmma.run, name="s4", A=matrix, B=matrix.T, C=sums, face="mirror", lda=32, ldb=32,
               ldc=8, layout="mem_row_major", op=None, satf=False)  # fmt: skip
    yield call("wmma.run_buffers", wmma.run_buffers, name="s4", a=packed[None], b=packed[None],
               c=sums.reshape(1, 64), lda=32, ldb=32, ldc=8, face="mirror")  # fmt: skip


def _gpu() -> Iterator[Call]:
    f16 = ptxlab.instruction(_F16)
    ldmatrix: Any = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.b16")
    yield from calls_of("gpu", gpu, "available status model", ins=f16)
    yield call("gpu.run", gpu.run, operation=inputs.make(f16, "bits", 1))
    yield call("gpu.run_transfer", gpu.run_transfer, form=ldmatrix,
               arrays=[np.zeros(64, np.uint16), ldmatrix.addresses()])  # fmt: skip
    tensor = memory.tensor_map(np.zeros((8, 64), dtype=np.float16), (8, 64), 128)
    yield call("gpu.encode_tensor_map", gpu.encode_tensor_map, tensor=tensor, pointer=1 << 32)
    yield call("gpu.run_tensor_map", gpu.run_tensor_map, tensor=tensor, starts=[[0, 0]], address=128, extra=0)
    yield call("gpu.compile", gpu.compile, source="__global__ void nothing() {}", target="sm_90a")
    yield call("gpu.disassemble", gpu.disassemble,
               cubin=gpu.compile("__global__ void nothing() {}", "sm_90a"))  # fmt: skip
    yield call("gpu.launch", gpu.launch, source=_KERNEL, name="nothing", arguments=[],
               grid=1, block=32)  # fmt: skip


def _gemm() -> Iterator[Call]:
    yield call("gemm.rung", gemm.rung, number=12, form=_WGMMA, result="f16", stages=3, promote=1, block_n=128)
    yield call("gemm.attention", gemm.attention, number=5, head=64, causal=0)
    yield call("gemm.best_rung", gemm.best_rung, ins=_F16, target="sm_90a", M=100, N=200,
               b_by_rows=True)  # fmt: skip
    yield call("gemm.sparse_rung", gemm.sparse_rung, form=_SPARSE_F16, result="f16", block_m=64, stages=2)
    yield call("gemm.best_sparse_rung", gemm.best_sparse_rung, ins=_SPARSE_F16, target="sm_90a", M=100, N=200,
               b_by_rows=True, result="f16")  # fmt: skip
    yield call("gemm.SparseRung.call", gemm.sparse_rung(_SPARSE_F16).call, A=np.zeros((20, 40)),
               B=np.ones((40, 3)), C=np.ones((20, 3)), processors=132)  # fmt: skip
    yield call("gemm.Rung.call", gemm.rung(1).call, A=np.ones((20, 40)), B=np.ones((40, 3)),
               C=np.zeros((20, 3)), processors=2)  # fmt: skip


def _lessons() -> Iterator[Call]:
    yield call("lessons.exercise", lessons.exercise, name="00.1")
    yield call("lessons.check", lessons.check, name="00.1", answer=..., only="name")
    yield call("lessons.course_map", lessons.course_map, track="Blackwell")
    yield call("lessons.glossary", lessons.glossary, name="bank")
    yield call("lessons.review", lessons.review, count=5)
    record = _folder() / "progress.json"
    record.write_text('{"00.1": {"state": "right", "tries": 1}}')
    yield call("lessons.certificate", lessons.certificate, name="Ada", day="2026-11-19", file=str(record))
    certificate = lessons.certificate("Ada", file=record)
    yield call("Certificate.save", certificate.save, path=str(_folder() / "certificate.html"))


# -- the Explorer --------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def explorer_calls() -> tuple[Call, ...]:
    """`explore`, and what can be assigned to an Explorer from the next cell."""
    if not with_widgets():
        return ()
    ex = ptxlab.explore(_SPARSE)
    tensor = ptxlab.explore("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    folder = _folder()

    def setter(name: str) -> Call:
        value = getattr(ex, name)
        return call(f"Explorer.{name}", lambda value: setattr(ex, name, value), value=value)

    def set_registers(name: Any, registers: Any) -> None:
        ex.registers[name] = registers

    sample = ex.registers["A"].copy()
    names = ("A", "B", "C", "metadata", "instruction", "chip", "against", "lane", "lanes", "selection")
    return (
        *map(setter, names),
        call("Explorer.registers", lambda value: setattr(ex, "registers", value), value={"A": sample}),
        call("Explorer.registers[]", set_registers, name="A", registers=sample),
        call("Explorer.figure", ex.figure, what="A"),
        call("Explorer.show_load", tensor.show_load, shape="16x256b", count=2, lane=0, column=0, pack=False,
             thread=37),
        call("Explorer.show_memory", ex.show_memory, name="A", by="ldmatrix", major="row", pitch=64),
        call("Explorer.show_memory descriptor", tensor.show_memory, name="B", descriptor=0x401000080000),
        call("Explorer.quiz questions", ex.quiz, questions=["where D[9][3]", "holds lane 14 d3"], seed=1),
        call("Explorer.quiz kinds", ex.quiz, kinds=["where", "nibble"], count=2, seed=1),
        call("Explorer.save_html", ex.save_html, path=str(folder / "page.html"), title="title"),
        call("ptxlab.explore move", ptxlab.explore, ins="tcgen05.ld.sync.aligned.16x32bx2.x2.b32",
             address=0x100004, split=8, A=np.ones((128, 32), dtype=np.uint32), seed=1),
        call("ptxlab.walk", ptxlab.walk, family="wgmma", stop=1),
        call("ptxlab.explore", ptxlab.explore, ins=_F16, A=np.ones((16, 16)), B=np.ones((16, 8)),
             C=np.ones((16, 8)), seed=1, height=500, only="ins A B C seed height"),
    )  # fmt: skip


# -- what there is -------------------------------------------------------------------------------------------

_MODULES: tuple[ModuleType, ...] = (
    ptxlab,
    figures,
    gemm,
    gpu,
    inputs,
    lessons,
    memory,
    sparsity,
    views,
    wmma,
)
_CLASSES = {
    "Instruction": ptxlab.Instruction, "Transfer": ptxlab.Transfer, "Operand": Operand, "Layout": Layout,
    "DType": DType, "Structure": sparsity.Structure, "Tile": memory.Tile, "Operation": Operation,
    "Descriptor": memory.Descriptor, "TensorMap": memory.TensorMap, "TensorInstruction": TensorInstruction,
    "TensorTransfer": TensorTransfer, "TensorOperand": TensorOperand, "TensorLayout": TensorLayout,
    "InstructionDescriptor": InstructionDescriptor, "Tcgen05Descriptor": memory.Tcgen05Descriptor,
    "ZeroColumnMask": ZeroColumnMask,
}  # fmt: skip

#: What takes no argument that could be wrong, or is no function of users'; and why.
without_call: dict[str, str] = {
    "ptxlab.Instruction": "ptxlab.instruction gives them",
    "ptxlab.Transfer": "ptxlab.instruction gives them",
    "ptxlab.PtxlabError": "an error",
    "ptxlab.explore": "in explorer_calls",
    "ptxlab.walk": "in explorer_calls",
    "ptxlab.progress": "takes no argument",
    "lessons.Certificate": "lessons.certificate gives it",
    "lessons.CourseMap": "lessons.course_map gives it",
    "lessons.Glossary": "lessons.glossary gives it",
    "lessons.Review": "lessons.review gives it",
    "lessons.Term": "lessons.glossary gives it",
    "lessons.progress": "takes no argument",
    "lessons.forget": "takes no argument",
    "lessons.say": "takes anything",
    "gemm.ladder": "takes no argument",
    "gpu.Out": "a wrapper for gpu.launch",
    "gpu.cache_folder": "takes no argument",
    "gpu.compiler_version": "takes no argument",
    "gpu.device_name": "takes no argument",
    "gpu.device_target": "takes no argument",
    "memory.Modes": "a type",
    "memory.Tile": "in the table as Tile",
    "sparsity.Structure": "a row of sparsity.STRUCTURES",
    "Instruction.explore": "in explorer_calls as ptxlab.explore",
    "Transfer.explore": "in explorer_calls as ptxlab.explore",
    "TensorInstruction.explore": "in explorer_calls as ptxlab.explore",
    "TensorTransfer.explore": "in explorer_calls as ptxlab.explore",
    "Operation.explore": "in explorer_calls as ptxlab.explore",
    "TensorOperand.encode": "as Operand.encode",
    "Operation.with_arrays": "trusts its arguments: with_registers checks them",
    "Operation.with_codes": "trusts its arguments: with_matrix checks them",
    **{
        f"{kind}.{name}": "trusts its arguments: encode, decode, pack_codes and their kin check them"
        for kind, names in {
            "DType": ("encode_array", "decode_array"),
            "Operand": (
                "to_registers", "from_registers", "unpack_as", "rewritten", "join", "split", "check_words",
            ),
            "TensorOperand": ("to_registers", "from_registers", "unpack_as", "rewritten", "check_words"),
            "Instruction": ("compress_codes",),
            "TensorInstruction": ("compress_codes",),
        }.items()
        for name in names
    },
    "memory.Tcgen05Descriptor": "in the table as Tcgen05Descriptor",
    **{
        f"{module}.{name}": "an answer of a function"
        for module, names in {
            "gemm": ("Call", "CompressedMatrix", "Row", "Rung", "SparseRung"),
            "memory": ("Collision", "Conflicts", "Im2colMap", "Judgement", "SharedLayout", "TensorMap",
                       "TritonLayout", "WeightOrder"),
            "lessons": ("Exercise", "Lesson", "Progress", "Verdict"),
            "views": ("Cell", "Grid", "Header", "Picture", "Table", "TraceView"),
            "wmma": ("Deprecation", "ElementType", "MachineCode", "StorageType", "Tag", "bmmaAccumulateOp",
                     "bmmaBitOp", "experimental", "layout_t", "precision"),
        }.items()
        for name in names
    },
}  # fmt: skip


def public_names() -> Iterator[str]:
    """Every function that users can call, and every method with arguments, by its name in `calls`."""
    for module in _MODULES:
        prefix = module.__name__.removeprefix("ptxlab.").rsplit(".", 1)[-1]
        for name in module.__all__:
            if callable(getattr(module, name)):
                yield f"{prefix}.{name}"
    for prefix, cls in _CLASSES.items():
        for name, member in inspect.getmembers(cls):
            if name.startswith("_") or not callable(member):
                continue
            if [p for p in inspect.signature(member).parameters if p != "self"]:
                yield f"{prefix}.{name}"
