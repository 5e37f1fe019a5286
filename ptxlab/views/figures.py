"""Plotly figures of pictures; `ptxlab.figures` is this module for users.

Plotly loads at the first figure; `picture.svg()`, `save(picture, "x.svg")` and `ptxlab layout --svg` draw the
same pictures without it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from numpy.typing import ArrayLike

from .._util.arguments import are_names, as_array, as_flag, as_text
from ..errors import PtxlabError, quoted
from ..isa.form import Form
from ..isa.instruction_descriptor import InstructionDescriptor
from ..isa.repack import Repack
from ..isa.tcgen05 import Tcgen05Mma, Tcgen05Transfer
from ..memory import Conflicts, TensorMap, Tile
from ..numerics.steps import Trace
from . import (
    bank_pictures,
    format_picture,
    fragment_pictures,
    instruction_descriptor_picture,
    matrix_descriptor_picture,
    matrix_pictures,
    metadata_picture,
    nibble_picture,
    product_picture,
    register_pictures,
    repack_picture,
    run_picture,
    scale_pictures,
    shared_memory_pictures,
    swizzle_pictures,
    tensor_pictures,
    tile_pictures,
    trace_picture,
)
from . import throughput as throughput_charts
from .colours import TileColour
from .fragment_pictures import Label
from .named_picture import named_picture
from .picture import Picture, require_plotly

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_MOST_CELLS = 1 << 20  # of a heat map; a browser shows no more

_Options = ParamSpec("_Options")


def _figure_of(
    view: Callable[_Options, Picture],
) -> Callable[[Callable[[], None]], Callable[_Options, Figure]]:
    """A figure of what a function of `ptxlab.views` draws: its parameters, another name and docstring."""

    def named(stub: Callable[[], None]) -> Callable[_Options, Figure]:
        @wraps(stub)
        def draw(*arguments: _Options.args, **options: _Options.kwargs) -> Figure:
            return view(*arguments, **options).figure()

        signature = inspect.signature(view).replace(return_annotation="Figure")
        draw.__signature__ = signature  # type: ignore[attr-defined]
        draw.__annotations__ = {**view.__annotations__, "return": "Figure"}
        del draw.__dict__["__wrapped__"]
        return draw

    return named


def chart(picture: Picture, *, title: bool = True) -> Figure:
    """Any picture of `ptxlab.views` as a Plotly figure, at its natural size in pixels.

    `title=False`, here and in every other function, leaves out the title and the notes below it, for papers
    and slides with captions of their own.
    """
    return _as_picture(picture).with_title(title).figure()


def svg(picture: Picture, *, title: bool = True) -> str:
    """Any picture of `ptxlab.views` as one SVG document, without Plotly."""
    return _as_picture(picture).with_title(title).svg()


def _as_picture(picture: object) -> Picture:
    if not isinstance(picture, Picture):
        raise PtxlabError(f"found {quoted(picture)} where a picture belongs; ptxlab.views makes them")
    return picture


def descriptor(number: int, *, title: bool = True) -> Figure:
    """The bits of a 64-bit matrix descriptor, its fields in different colours, and what each of them says.

    >>> import ptxlab
    >>> tile = ptxlab.memory.Tile(bits=16, rows=64, k=16)
    >>> print(descriptor(tile.descriptor(0x400)).data[1].text[0, 31].replace("<br>", "; "))   # bit 0
    start address, bits [13..0]; 0x40: byte 0x400
    """
    return chart(matrix_descriptor_picture.descriptor(number), title=title)


def banks(access: Conflicts, colour: str = "lane", *, counts: bool = False, title: bool = True) -> Figure:
    """One access on the 32 banks of shared memory: which lanes, or which wavefronts, touch each word.

    `counts` adds how many different words each bank delivers.

    >>> import numpy as np, ptxlab
    >>> figure = banks(ptxlab.memory.conflicts(np.arange(32) * 8))
    >>> figure.layout.meta["subtitle"].partition("; ")[0]
    '2 wavefronts where 1 would do: 2 lanes want 2 different words of bank 0'
    """
    return chart(bank_pictures.banks(access, colour, counts=counts), title=title)


def tile(layout: Tile, k: int | None = None, colour: str = "core matrix", *, title: bool = True) -> Figure:
    """A tile in shared memory, byte offsets of its 16-byte pieces; the slice that starts at `k` is outlined.

    >>> from ptxlab.memory import Tile
    >>> figure = tile(Tile(bits=16, rows=16, k=64, swizzle=128), k=16)
    >>> figure.layout.meta["subtitle"].split("; ")[1]
    'LBO 16, SBO 1024 bytes'
    """
    return chart(tile_pictures.tile(layout, k, colour), title=title)


def repack(
    plan: Repack, rows: int | None = None, columns: int | None = None, *, title: bool = True
) -> Figure:
    """Where a plan takes every element from and puts it: lanes and registers before and after.

    `rows` and `columns` show so many of the matrix.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
    >>> figure = repack(ptxlab.repack(ins.d, ins.a))
    >>> figure.layout.meta["subtitle"].partition("; ")[0]
    '96 of 128 elements change lanes'
    """
    return chart(repack_picture.repack(plan, rows, columns), title=title)


def swizzle(width: int = 128, piece: int | None = None, *, title: bool = True) -> Figure:
    """Where a swizzle puts the 16-byte pieces of eight rows; `piece` outlines the same piece of every row.

    >>> figure = swizzle(64, piece=1)
    >>> figure.layout.meta["subtitle"].rpartition("; ")[2]
    'reading one takes 4 passes without swizzle, 1 with it'
    """
    return chart(swizzle_pictures.swizzle(width, piece), title=title)


def swizzle_bits(address: int, width: int = 128, *, title: bool = True) -> Figure:
    """What a swizzle does to an address, bit by bit: those from bit 7 on are XORed into those from bit 4 on.

    >>> swizzle_bits(0x4A0, 64).layout.meta["title"]
    '0x4a0 under the 64-byte swizzle: 0x4b0'
    """
    return chart(swizzle_pictures.swizzle_bits(address, width), title=title)


@_figure_of(shared_memory_pictures.bytes_read)
def bytes_read() -> None:
    """Which bytes of shared memory one wgmma reads through a descriptor, and for which elements.

    With a tile, that at `address`, the slice at `k` is meant, and what is read by mistake is outlined.
    Without one, `bits`, `rows` and `major` say what is read.

    >>> figure = bytes_read(0x4000004000010042, bits=16, rows=16)
    >>> figure.layout.meta["title"]
    'What wgmma reads through 0x4000004000010042'
    """


def box(tensor: TensorMap, row: int = 0, column: int = 0, *, title: bool = True) -> Figure:
    """The box that one TMA copy takes of a matrix, starting there, and where its bytes arrive.

    >>> import ptxlab
    >>> tma = ptxlab.tensor_map(np.zeros((8, 64), dtype=np.float16), box=(8, 16), swizzle=128)
    >>> box(tma).layout.meta["subtitle"].split("; ")[1]   # a row narrower than the swizzle
    'rows of the box: 32 bytes, 128 apart'
    """
    return chart(shared_memory_pictures.box(tensor, row, column), title=title)


def formats(*names: str, title: bool = True) -> Figure:
    """The bit fields of element types: sign, exponent, fraction, and what the hardware ignores.

    >>> formats("f16", "bf16", "tf32").data[0].text[2, 20]   # the tooltip over bit 11 of tf32
    'tf32 bit 11<br>ignored, 13 bits'
    """
    return chart(format_picture.formats(*names), title=title)


@_figure_of(tensor_pictures.tensor_memory)
def tensor_memory() -> None:
    """What the 128 lanes and the columns of tensor memory hold of D, A, E, SFA or SFB of a tcgen05.mma.

    Blocks are coloured by "row", "column", "cta" or "warp" (which may load it); `marked` outlines an element.
    `lanes` and `columns` zoom in: 300 elements or fewer are shown one by one, with `words` [lanes, columns]
    of tensor memory their values. Of a CTA pair, `cta` shows one.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    >>> tensor_memory(ins, "D").data[0].text[36, 3]   # lane 36, column 3
    'D[20][3]<br>lane 36, column 3'
    >>> words = ins.d.pack(np.ones((64, 32)))
    >>> zoom = tensor_memory(ins, "D", lanes=range(30, 40), columns=range(8), words=words)
    """


def tensor_registers(
    move: Tcgen05Transfer | str, thread: int | None = None, *, warp: int = 0, title: bool = True
) -> Figure:
    """Which register of which thread holds every word of tensor memory after tcgen05.ld, or before .st.

    `warp` is one of four, each with 32 lanes of its own; `thread`, one of 128, puts a thread in focus.

    >>> figure = tensor_registers("tcgen05.ld.sync.aligned.16x256b.x1.b32", thread=37)
    >>> figure.data[0].text[9, 3]
    'lane 41, column 3<br>thread 37, register 3'
    """
    return chart(tensor_pictures.tensor_registers(move, thread, warp=warp), title=title)


def data_paths(*names: str, n: int = 256, title: bool = True) -> Figure:
    """Layouts A to G of D in tensor memory, or those named: which rows and columns lie in which lanes.

    >>> data_paths("F").data[0].text[2, 0]   # lanes 32 to 47, the first quarter of the columns
    'D[16..31][0..63]<br>lanes 32..47, columns 0..63'
    """
    return chart(tensor_pictures.data_paths(*names, n=n), title=title)


def scale_tile(row: int | None = None, *, title: bool = True) -> Figure:
    """A 128x4 tile of scale factors: as a matrix, in shared memory, and in tensor memory after tcgen05.cp.

    `row` outlines the four scales of one row of A, or column of B.

    >>> scale_tile(row=37).data[1].text[5, 6]
    'row 37, scale 2<br>byte 0x56 of shared memory'
    """
    return chart(scale_pictures.scale_tile(row), title=title)


def instruction_descriptor(
    descriptor: Tcgen05Mma | InstructionDescriptor | str, *, title: bool = True
) -> Figure:
    """The 32 bits of an instruction descriptor, its fields in different colours, and what each of them says.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=128, n=64)
    >>> instruction_descriptor(ins).data[0].text[0, 10]   # bit 21
    'n, bits [22..17]<br>8: 64'
    """
    return chart(instruction_descriptor_picture.instruction_descriptor(descriptor), title=title)


def throughput(what: str = "n", type: str = "f16", *, chip: str = "H200", title: bool = True) -> Figure:
    """What was measured on a chip: throughput of wgmma over N, or its cycles, or what sparsity gains.

    `what` is "n", "cycles" or "sparsity", for wgmma with `type`; "native" compares mma that the chip has with
    mma that other instructions emulate. `chip` is one of which there is a record, see `ptxlab.measured`.

    >>> figure = throughput("sparsity", "f16")
    >>> [line.name for line in figure.data]
    ['A in registers', 'A in memory']
    """
    return throughput_charts.throughput(what, type, chip).with_title(title).figure()


def fragment(
    ins: Form | str,
    operand: str = "A",
    *,
    label: Label = "auto",
    lane: int | None = None,
    warp: int | None = None,
    dense: bool = False,
    swizzle: int = 0,
    colour: TileColour = "auto",
    title: bool = True,
) -> Figure:
    """The fragment layout of an operand as the PTX manual draws it, coloured by lane; `lane` focuses on one.

    `label` is "elements" (``T0:{a0..a7}``), "registers", "lanes" or "none"; "auto" drops labels that would
    not fit. `warp` draws only the rows of one warp of a warpgroup. `dense` draws the logical (dense) A of a
    sparse instruction instead of the compressed one. An operand in shared memory (B of wgmma) shows its tile,
    with that swizzle; `colour` is by "core matrix" or by "bank".

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> fragment(ins, "C").data[0].text[9, 3]   # the tooltip there
    'C[9][3]<br>lane 5, element c3<br>register 3, bits [31..0]'
    """
    picture = fragment_pictures.fragment(
        ins, operand, label=label, lane=lane, warp=warp, dense=dense, swizzle=swizzle, colour=colour
    )
    return chart(picture, title=title)


@_figure_of(metadata_picture.metadata)
def metadata() -> None:
    """Which bits of which lane describe each chunk of a sparse A; with nibbles, also the columns they keep.

    `warp` draws only the rows of one warp of a warpgroup, `rows` others. Of tcgen05.mma.sp the lanes are
    those of tensor memory; more than 300 nibbles are drawn as `tensor_memory` of "E" does.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> metadata(ins, selector=1).data[0].text[9, 3]
    'row 9, chunk 3: columns 24..31 of A<br>lane 7, bits [15..12] of E, selector 1'
    """


def nibble(nibble: int, structure: str = "2:4", *, chunk: int = 0, title: bool = True) -> Figure:
    """What a metadata nibble says: arrows from its indices to the parts of a chunk, and to what is stored.

    >>> nibble(0b1001).data[0].text[2, 5]   # the tooltip over part 2
    'part 2<br>column 2'
    """
    return chart(nibble_picture.nibble(nibble, structure, chunk=chunk), title=title)


@_figure_of(run_picture.runs)
def runs() -> None:
    """Row 0 of A of several instructions, one below the other: how many neighbours a lane holds.

    `operand` names another matrix. Of tcgen05.mma the lanes are those of tensor memory; of tcgen05.ld and .st
    it is lane 0 of tensor memory whose columns the threads hold.

    >>> runs("mma.m16n8k64.s4", "mma.m16n8k32.s8").data[0].text[1, 5]
    'A[0][5]<br>lane 1, element a1'
    """


@_figure_of(register_pictures.lane)
def lane() -> None:
    """The registers of one lane as bit fields; with registers, the bits and the values they stand for.

    Of tcgen05.mma it is a lane of tensor memory, with its columns in place of registers (`columns` shows
    others than the first 16). Of tcgen05.ld and .st it is one of 128 threads; in place of "R" they take the
    operand that they move, such as `ins.d`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> lane(ins, "A", 4, [0, 0, 0, 0x00500000]).data[0].text[3, 10]
    'a29 = A[9][37]<br>lane 4, register 3, bits [23..20]<br>0101 = 5'
    >>> load = ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")
    >>> lane(load, "R", 37).data[0].text[3, 0]
    'lane 41, column 3<br>thread 37, register 3, bits [31..0]'
    """


@_figure_of(scale_pictures.scales)
def scales() -> None:
    """Which byte of which lane scales each block, under these selectors; with scales, also their values.

    `rows` of A and `columns` of B show a part. Of tcgen05.mma, whose descriptor has the selectors, the lanes
    are those of tensor memory: 32 rows of A, or columns of B, share a column of it.

    >>> import ptxlab
    >>> qualifiers = "kind::mxf4.block_scale.scale_vec::2X"
    >>> ins = ptxlab.instruction(f"mma.sync.aligned.m16n8k64.row.col.{qualifiers}.f32.e2m1.e2m1.f32.ue8m0")
    >>> scales(ins, thread_id_a=1).data[0].text[9, 0]
    'scales A[9], k 0..31<br>lane 7, byte 0 (bits [7..0]) of scale-a-data'
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", m=128, n=64)
    >>> scales(ins).data[0].text[69, 1]
    'scales A[69], k 32..63<br>lanes 5, 37, 69, 101, column 2, bits [15..8]'
    """


def trace(trace: Trace, *, title: bool = True) -> Figure:
    """Why an element of D has its bits: terms as rows, powers of two as columns, lost bits behind the cut.

    Below the last step stand D, the exact result and what a chain of float32 FMAs gives; bits that differ
    from the exact ones are framed.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> figure = trace(ins.trace(np.full((16, 16), 0.1), np.full((16, 8), 3), None, 0, 0))
    >>> figure.layout.meta["title"]
    'D[0][0] = 4.79882812 of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'
    """
    return chart(trace_picture.trace(trace), title=title)


def matrix(
    values: ArrayLike,
    title: str | bool = "",
    *,
    axes: tuple[str, str] = ("row", "column"),
    centred: bool | None = None,
) -> Figure:
    """A matrix of numbers as a heat map, with the numbers where they fit; centred on zero if any is negative.

    Without a `title`, or with `title=False`, it has none.

    >>> matrix([[1, -2], [3, 4]], "D").data[0].z.tolist()
    [[1.0, -2.0], [3.0, 4.0]]
    """
    array = as_array(values, "matrix")
    if array.ndim != 2 or not array.size or array.dtype.kind not in "iufb":
        raise PtxlabError(
            f"matrix: found {array.dtype} of shape {array.shape}; it takes numbers [rows, columns]"
        )
    if array.size > _MOST_CELLS:
        raise PtxlabError(f"matrix: found shape {array.shape}; a figure has room for {_MOST_CELLS} cells")
    heading = "" if title is False else as_text(title, "title")
    if not are_names(axes, 2):
        raise PtxlabError(f"axes={quoted(axes)}: they are two names, such as ('row', 'column')")
    with np.errstate(over="ignore"):  # of a longdouble
        numbers = array.astype(np.float64)
    if centred is not None:
        centred = as_flag(centred, "centred")
    if centred is None:
        centred = bool((numbers < 0).any())
    require_plotly()
    from .plotly_figure import NumberMatrix, heat_map

    return heat_map(NumberMatrix(numbers, heading, axes, centred))


@_figure_of(matrix_pictures.values)
def values() -> None:
    """A matrix of an instruction with its numbers in the cells, coloured by lane.

    It takes a `matrix` of values, or `codes`, or `registers`. For sparse instructions "A" is the dense
    matrix, with dots for what is not stored, and "stored" the compressed one. `shown` puts codes ("hex",
    "binary") or holders ("lane") into the cells; `colour` is by "lane", "register", "warp", "value" or
    "nothing", or in shared memory by "core matrix" or "bank". `lane` puts a lane in focus, `warp` shows the
    rows of one warp, `marked` outlines cells. A matrix too large for its numbers becomes a heat map; `rows`
    and `columns` show a part of it. Of tcgen05.mma, lanes and columns of tensor memory stand for lanes and
    registers, and `registers` are words [lanes, columns] of it.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> values(ins, "A", np.tile(np.arange(-8, 8), (16, 4))).data[1].text[9, 5]   # the second band: k 32..63
    'A[9][37] = -3, code 0xd<br>lane 4, element a29<br>register 3, bits [23..20]'
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=256)
    >>> values(ins, "D", np.ones((64, 256)), rows=range(16, 24), columns=range(8)).data[0].text[4, 3]
    'D[20][3] = 1, code 0x3f800000<br>lane 36, column 3'
    """


@_figure_of(product_picture.product)
def product() -> None:
    """The matrix product: A on the left, B above D, with their numbers; without matrices, their lanes.

    A sparse A also shows what is stored of it. `shown`, `colour` and `lane` are as in `values`; `marked`
    outlines cells of D, which is what the emulator gives under `model`, scales and modifiers. `element`, a
    row and a column of D, outlines that element and what it is made of. A large product is drawn as heat
    maps; `rows` and `columns` of D show a part of it with its numbers.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> figure = product(ins, np.ones((16, 16)), np.eye(16, 8))
    >>> [heat.name for heat in figure.data if heat.type == "heatmap"]
    ['lanes', 'B 16x8 f16', 'A 16x16 f16', 'D 16x8 f32']
    """


def figure(ins: Form | str, what: str | None = None, *, title: bool = True, **options: Any) -> Figure:
    """The figure called "product", "A", "B", "C", "D", "stored", "metadata", "scales", "lane" or "trace".

    A matrix with numbers is drawn as `values` does it, without them as `fragment` does; of a sparse
    instruction "A" is the dense matrix. The other names stand for the functions here; "lane" takes `lane`,
    and `held`, the registers of its operands by name. `title=False` leaves out title and notes.

    Of tcgen05.mma there are the same; its matrices in tensor memory ("D", "A", "E", "SFA", "SFB") take,
    without numbers, the options of `tensor_memory`, and "descriptor" has the bits of the instruction
    descriptor. Of tcgen05.ld and .st, "R" takes those of `tensor_registers`, and "lane" draws a thread; of
    tcgen05.cp there is "T", what it writes; of ldmatrix and other transfers their fragment, and "lane".

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> figure(ins, "lane", lane=5).layout.meta["title"]
    'Lane 5 of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32'
    """
    return chart(named_picture(ins, what, options), title=title)
