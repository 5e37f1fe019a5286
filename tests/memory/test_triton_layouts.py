"""Triton's and Gluon's layouts: the bases that Triton 3.6.0's `to_linear_layout` printed, and known tiles."""

from __future__ import annotations

import contextlib
import os
import random
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import figures, views
from ptxlab.errors import PtxlabError
from ptxlab.memory import SharedLayout, Tile
from ptxlab.memory.triton_layouts import TritonLayout
from tests.cases import each
from tests.contract.mutations import Call, attempt, damaged
from tests.texts import replaced

_WGMMA = (
    "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>"
)
_MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
_BLOCKED = "#ttg.blocked<{{sizePerThread = {}, threadsPerWarp = {}, warpsPerCTA = {}, order = {}}}>"
_LANES = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]
#: Layout, shape, and the bases of register, lane and warp.
_PRINTED: list[tuple[str, tuple[int, int], Any, Any, Any]] = [
    (_WGMMA, (64, 64), [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], _LANES, [[16, 0], [32, 0]]),
    (
        replaced(_WGMMA, "[4, 1]", "[8, 1]"),
        (128, 128),
        [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64]],
        _LANES,
        [[16, 0], [32, 0], [64, 0]],
    ),
    (
        replaced(replaced(_WGMMA, "[4, 1]", "[4, 2]"), "64", "32"),
        (128, 128),
        [[0, 1], [8, 0], [0, 8], [0, 16], [0, 64], [64, 0]],
        _LANES,
        [[16, 0], [32, 0], [0, 32]],
    ),
    (_MMA, (64, 64), [[0, 1], [8, 0], [0, 16], [0, 32], [32, 0]], _LANES, [[0, 8], [16, 0]]),
    (
        replaced(_MMA, "[2, 2]", "[4, 1]"),
        (32, 16),
        [[0, 1], [8, 0], [0, 8]],
        _LANES,
        [[16, 0], [0, 0]],
    ),
    (
        f"#ttg.dot_op<{{opIdx = 0, parent = {_MMA}, kWidth = 2}}>",
        (64, 32),
        [[0, 1], [8, 0], [0, 8], [0, 16], [32, 0]],
        _LANES,
        [[0, 0], [16, 0]],
    ),
    (
        f"#ttg.dot_op<{{opIdx = 1, parent = {_MMA}, kWidth = 2}}>",
        (32, 64),
        [[1, 0], [8, 0], [16, 0], [0, 16], [0, 32]],
        [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]],
        [[0, 8], [0, 0]],
    ),
    (
        f"#ttg.dot_op<{{opIdx = 0, parent = {_WGMMA}, kWidth = 2}}>",
        (64, 32),
        [[0, 1], [8, 0], [0, 8], [0, 16]],
        _LANES,
        [[16, 0], [32, 0]],
    ),
    (
        _BLOCKED.format([1, 8], [4, 8], [4, 1], [1, 0]),
        (64, 64),
        [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]],
        [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
        [[4, 0], [8, 0]],
    ),
    (
        _BLOCKED.format([4, 1], [8, 4], [2, 2], [0, 1]),
        (16, 16),
        [[1, 0], [2, 0], [0, 8]],
        [[4, 0], [8, 0], [0, 0], [0, 1], [0, 2]],
        [[0, 0], [0, 4]],
    ),
]


@each("text, shape, register, lane, warp", _PRINTED)
def test_bases_are_those_that_triton_prints(
    text: str, shape: tuple[int, int], register: Any, lane: Any, warp: Any
) -> None:
    bases = TritonLayout.read(text).bases(shape)
    assert {name: [list(pair) for pair in pairs] for name, pairs in bases.items()} == {
        "register": register,
        "lane": lane,
        "warp": warp,
    }
    written = f"#ttg.linear<{{register = {register}, lane = {lane}, warp = {warp}, block = []}}>"
    assert TritonLayout.read(written).bases(shape) == bases


def test_an_accumulator_is_the_d_of_wgmma() -> None:
    layout = TritonLayout.read(_WGMMA)
    ins = ptxlab.instruction(layout.instruction + ".f32.f16")
    assert ins.d.layout is not None
    assert np.array_equal(layout.registers((64, 64)).coords(), ins.d.layout.coords())


@each("width, bits", [(128, 16), (64, 16), (32, 8), (128, 32)])
def test_nvmma_tiles_are_those_of_wgmma(width: int, bits: int) -> None:
    k = 2 * 8 * width // bits
    text = (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = false, elementBitWidth = {bits}}}>"
    )
    layout, tile = TritonLayout.read(text).shared((64, k)), Tile(bits=bits, rows=64, k=k, swizzle=width)
    rows, columns = np.arange(64)[:, None], np.arange(k)[None]
    assert np.array_equal(layout.address(*np.broadcast_arrays(rows, columns)), tile.offsets)
    turned = TritonLayout.read(replaced(text, "false", "true")).shared((k, 64))
    assert np.array_equal(turned.address(*np.broadcast_arrays(columns.T, rows.T)), tile.offsets.T)


@each(
    "vec, per_phase, phases, order",
    [(8, 1, 8, (1, 0)), (4, 2, 4, (1, 0)), (8, 1, 1, (1, 0)), (4, 2, 4, (0, 1))],
)
def test_swizzled_tiles_follow_tritons_formula(
    vec: int, per_phase: int, phases: int, order: tuple[int, int]
) -> None:
    """TritonGPUAttrDefs.td: the column of a vector is XORed with the phase of its row."""
    text = f"vec = {vec}, perPhase = {per_phase}, maxPhase = {phases}, order = {list(order)}"
    layout = TritonLayout.read(f"#ttg.swizzled_shared<{{{text}}}>").shared((32, 64), bits=16)
    index = np.indices((32, 64))
    slow, fast = index[order[1]], index[order[0]]
    wanted = slow * (32, 64)[order[0]] + (fast // vec ^ slow // per_phase % phases) * vec + fast % vec
    assert np.array_equal(layout.address(*index), 2 * wanted)


class NVMMADistributedLayout:
    """As Gluon's."""

    version, warps_per_cta, instr_shape = [3, 0], [4, 1], [16, 64, 16]


class TensorMemoryLayout:
    """As Gluon's."""

    block, col_stride, two_ctas = (128, 64), 1, False


def test_objects_of_gluon_are_known_by_their_class() -> None:
    assert TritonLayout.read(NVMMADistributedLayout()).bases((64, 64)) == TritonLayout.read(_WGMMA).bases(
        (64, 64)
    )
    tensor = TritonLayout.read(TensorMemoryLayout())
    assert (tensor.instruction, tensor.place) == ("tcgen05.mma", "tensor")


@pytest.mark.needs("plotly")
def test_pictures_of_layouts() -> None:
    """Registers, shared and tensor memory, in Triton's words and in CuTe's; each names its instruction."""
    picture = views.named_layout(_WGMMA, (64, 64), lane=5)
    assert picture.title.startswith("C and D of wgmma.m64n64k16")
    assert "lane 5" in str(picture.grids[0].hover[1, 2])
    shared = views.named_layout("Swizzle<3,3,3> o (8,64):(64,1)", bits=16)
    nvmma = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    same = views.named_layout(nvmma, (8, 64))
    assert [shared.grids[0].at(1, column).text for column in range(2)] == ["0x0090", "0x0080"]
    assert [same.grids[0].at(1, column).text for column in range(2)] == ["0x0090", "0x0080"]
    assert "128" in views.named_layout(TensorMemoryLayout()).title
    assert figures.named_layout(nvmma, (8, 64)).data


def _try_text(text: str, shape: tuple[int, int]) -> None:
    """All that a text may be, one after the other."""
    for use in (
        lambda: TritonLayout.read(text).registers(shape),
        lambda: TritonLayout.read(text).shared(shape),
        lambda: (TritonLayout.read(text).instruction, TritonLayout.read(text).role),
        lambda: SharedLayout.read(text, 16).address(0),
    ):
        with contextlib.suppress(PtxlabError):
            use()
    views.named_layout(text, shape, bits=16)


def test_damaged_texts() -> None:
    """PTXLAB_FUZZ=20000 tries more."""
    choice = random.Random(35)
    texts = [*(row[0] for row in _PRINTED), "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, "
             "order = [1, 0]}>", "#ttg.nvmma_shared<{swizzlingByteWidth = 128, elementBitWidth = 16}>",
             "#ttg.linear<{register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = []}>",
             "Sw<3,4,3> o smem_ptr[16b](unset) o ((8,8),64):((64,512),1)"]  # fmt: skip
    odd = ("", "0", "-1", "99999999999", "9" * 30, "[]", "[[]]", "[2, 3, 4]", "[4, 641]", "true", "1.5", "o")
    failures = []
    for _ in range(int(os.environ.get("PTXLAB_FUZZ", "200"))):
        text = damaged(choice.choice(texts), choice, odd)
        shape = choice.choice([(64, 64), (8, 64), (1, 1), (16, 3)])
        call = Call("layout", lambda shape=shape: (_try_text, {"shape": shape}))
        failures.append(attempt(call, "text", text, lambda text=text: text))
    assert [str(failure) for failure in failures if failure] == []


def test_refusals_say_what_would_be_right() -> None:
    for layout, words in {
        replaced(_WGMMA, "[4, 1]", "[4, 641]"): "2564 warps; a block has at most 32",
        replaced(_MMA, "[16, 8]", "16"): "instrShape = 16; it has 2 numbers or more",
        _BLOCKED.format([1, 1], [4, 8], [4, 1], [1, 7]): "order = .1, 7.; shown are two axes",
        "#ttg.slice<{dim = 0}>": "blocked",
        "#ttg.nvidia_mma": "it is written",
        replaced(_MMA, "versionMajor = 2", "versionMajor = 1"): "2 .mma.",
    }.items():
        with pytest.raises(PtxlabError, match=words):
            views.named_layout(layout, (64, 64))
    with pytest.raises(PtxlabError, match="found lane = '1o'"):  # and no warning, as Python's reader had one
        TritonLayout.read("#ttg.linear<{lane = 1o}>")
    with pytest.raises(PtxlabError, match="shape=.64, 64."):
        views.named_layout(_WGMMA)
