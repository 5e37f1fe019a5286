"""Forms of tcgen05 as tables: what is declared about them, and lookups in tensor memory both ways."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from .._util.arguments import as_flag, as_int, as_text
from ..errors import PtxlabError, counted, listing
from ..gpu.codegen import declarations, ptx_line, statement
from ..isa.instruction_descriptor import shapes_of
from ..isa.operand import Operand
from ..isa.targets import check_target
from ..isa.tcgen05 import Tcgen05Control, Tcgen05Form, Tcgen05Mma, Tcgen05Transfer
from ..isa.tcgen05.form import TYPES
from ..isa.tensor_memory import LANES, TensorOperand
from ..memory.tcgen05_tiles import (
    COLUMN_BYTES,
    is_index,
    is_padded,
    shared_places,
    shared_source,
    shared_tile,
    stored_bits,
)
from .facts import emulator_facts, evidence, machine_code
from .holders import as_tcgen05
from .labels import index_range
from .places import MemoryPlace, SparsePlaces, memory_place, sparse_places
from .table import Table, Value


def tensor_facts(
    form: Tcgen05Form | str, target: str | None = None, *, run: bool = False
) -> dict[str, str | list[str] | Table]:
    """Everything that is declared about a form, by heading; with `run` also the machine code for a target.

    >>> import ptxlab
    >>> tensor_facts(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::tf32"))["descriptor"]
    '0x08400910: m128n256k8, A and B tf32, D f32.'
    """
    form, run = as_tcgen05(form), as_flag(run, "run")
    if target is not None:
        check_target(target)
    facts: dict[str, str | list[str] | Table] = {"syntax": form.syntax}
    if isinstance(form, Tcgen05Mma):
        facts["descriptor"] = f"0x{form.descriptor.code:08x}: {form.descriptor}"
        facts["shapes"] = _shapes(form)
        facts["layout"] = f"{form.path.name} ({form.path.source})"
        facts["arguments"] = [
            f"{name}: {'on every target' if targets == form.targets else listing(targets, 12)}"
            for name, targets in form.arguments.items()
        ]
        if form.assumptions:
            facts["assumed"] = list(form.assumptions)
    elif isinstance(form, Tcgen05Control):
        facts["purpose"] = form.purpose
    elif isinstance(form, Tcgen05Transfer):
        facts["columns"] = str(form.columns)
        if form.registers:
            facts["registers"] = f"{form.registers} of each thread"
        if form.assumptions:
            facts["assumed"] = list(form.assumptions)
    if form.operands or form.tensors:
        facts["operands"] = tensor_layouts(form)
    facts["targets"] = listing(form.targets, 30)
    facts["PTX ISA"] = f"{form.ptx_version} and later"
    if isinstance(form, Tcgen05Mma):
        facts["emulator"] = emulator_facts(form) or ["no model of its arithmetic"]
        facts["arithmetic"] = [str(entry) for entry in evidence(form)]
    if run:
        target = target or ("sm_100a" if form.supports("sm_100a") else form.targets[0])
        facts["chip runs"] = machine_code(form, target)
    facts["ptx"] = ptx_line(form)
    facts["c++"] = [declarations(form), *statement(form).splitlines()]
    return facts


def _shapes(form: Tcgen05Mma) -> list[str]:
    lines = []
    for rows in shapes_of(form.kind, form.sparse, form.ws, form.cta_group):
        targets = [target for target in rows.targets if target in form.targets]
        if targets or not rows.targets:
            lines.append(f"{rows} ({listing(targets)} only)" if targets else str(rows))
    return lines


def tensor_layouts(form: Tcgen05Form | str) -> Table:
    """The operands of a form: where each is, and its layout in CuTe's notation.

    >>> import ptxlab
    >>> tensor_layouts(ptxlab.instruction("tcgen05.mma.ws.cta_group::1.kind::f16", m=64)).rows[-1]
    ('D', '64x256 f32', 'tensor memory, 128 columns', '(64,(128,2)):(1,(128,64))', 'PTX ISA and CUTLASS')
    """
    form = as_tcgen05(form)
    rows: list[tuple[int | str, ...]] = []
    for operand in form.operands.values():
        size = f"{operand.shape[0]}x{operand.shape[1]} {operand.dtype}"
        if operand.layout is None:
            source = shared_source(form, operand) if isinstance(form, Tcgen05Mma) else "PTX ISA"
            rows.append((operand.name, size, "shared memory", "", source))
        else:
            where = f"{operand.registers} registers of {operand.lanes} threads"
            rows.append((operand.name, size, where, operand.layout.cute, "CUTLASS"))
    for tensor in form.tensors.values():
        size = f"{tensor.shape[0]}x{tensor.shape[1]} {tensor.dtype}"
        pair = " of both CTAs" if tensor.ctas == 2 else ""
        where = f"tensor memory{pair}, {counted(tensor.columns, 'column')}"
        rows.append((tensor.name, size, where, tensor.layout.cute, tensor.source))
    return Table(("operand", "matrix", "where", "layout", "source"), tuple(rows))


def tensor_where(
    form: Tcgen05Form | str, name: str, row: int, col: int, swizzle: int = 0, transposed: bool = False
) -> Table:
    """Where an element of an operand is in tensor memory; of R, who holds a word of tensor memory.

    Of A and B in shared memory, where it is in a tile with that swizzle, MN-major if `transposed`.

    >>> import ptxlab
    >>> tensor_where(ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16"), "D", 130, 7).rows
    ((1, 2, 7, '[31..0]', '0x00020007'),)
    """
    form, name = as_tcgen05(form), as_text(name, "operand").upper()
    row, col = as_int(row, "row"), as_int(col, "column")
    if isinstance(form, Tcgen05Transfer) and name == "R":
        rows = tuple(
            (slot.thread, slot.thread // 32, slot.register, f"[{slot.high}..{slot.low}]")
            for slot in form.slots(row, col)
        )
        if not rows:
            raise PtxlabError(
                f"{form.mnemonic}: lane {row}, column {col} is not in what it moves from address 0"
            )
        return Table(("thread", "warp", "register", "bits"), rows)
    operand = form.operands.get(name)
    if operand is not None:
        bytes_of = _memory(form, operand, row, col, swizzle, transposed)
        return Table(("cta", *bytes_of[0][1].columns), tuple((cta, *place.row) for cta, place in bytes_of))
    places = _tensor(form, name).where(row, col)
    return Table(
        ("cta", "lane", "column", "bits", "address"),
        tuple(
            (place.cta, place.lane, place.column, f"[{place.high}..{place.low}]", f"0x{place.address:08x}")
            for place in places
        ),
    )


def tensor_sparse_where(
    form: Tcgen05Form | str, row: int, col: int, swizzle: int = 0, transposed: bool = False
) -> SparsePlaces:
    """Where an element of the dense A of tcgen05.mma.sp goes: its nibble, and its place for every nibble.

    >>> import ptxlab
    >>> sparse = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16").a_from("tensor")
    >>> tensor_sparse_where(sparse, 3, 13).places.rows[0]
    ('0b0100', '12, 13', 7, 0, 3, 3, '[31..16]', '0x00030003')
    """
    form = as_tcgen05(form)
    if not isinstance(form, Tcgen05Mma):
        raise PtxlabError(f"{form.mnemonic} has no sparse A")
    names = tensor_where(form, "A", 0, 0, swizzle, transposed).columns

    def place(stored: int | None) -> tuple[tuple[Value, ...], None]:
        if stored is None:
            return ("not stored: 0", *[""] * len(names)), None
        return (stored, *tensor_where(form, "A", row, stored, swizzle, transposed).rows[0]), None

    def nibble(chunk: int) -> Table:
        return tensor_where(form, "E", row, chunk)

    return sparse_places(form, row, col, ("stored column", *names), place, nibble)


def tensor_explain(
    form: Tcgen05Form | str, row: int, col: int, swizzle: int = 0, transposed: bool = False
) -> Table:
    """Everything that goes into an element of D of a tcgen05.mma, and where it is.

    >>> import ptxlab
    >>> mxf4 = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", n=64)
    >>> [record["where"] for record in tensor_explain(mxf4, 37, 5).records()][-1]
    'lanes 5, 37, 69, 101, column 0, bits [15..0]'
    """
    form = as_tcgen05(form)
    if not isinstance(form, Tcgen05Mma):
        raise PtxlabError(f"{form.mnemonic} computes nothing; tcgen05.mma does")
    row, col = as_int(row, "row"), as_int(col, "column")
    form.d.where(row, col)  # refuses what D does not have
    rows: list[tuple[int | str, ...]] = []
    for name, matrix in {"D": form.d, **form.operands, **form.tensors}.items():
        lines, length = matrix.shape
        by_row = matrix.axes[0] == "m"
        if name == "D":
            elements = [(row, col)]
        elif by_row:
            elements = [(row, at) for at in range(length)]
        else:
            elements = [(at, col) for at in range(lines)]
        first, last = elements[0], elements[-1]
        text = f"[{first[0]}][{index_range(first[1], last[1] - first[1] + 1)}]"
        if not by_row:
            text = f"[{index_range(first[0], last[0] - first[0] + 1)}][{first[1]}]"
        if isinstance(matrix, TensorOperand):
            where = _places_text(matrix, elements)
        else:
            bytes_of = [
                place
                for element in elements
                for place in _memory(form, form.operands[name], *element, swizzle, transposed)
            ]
            pieces = dict.fromkeys(place.byte // 16 * 16 for _, place in bytes_of)
            pair = f" of CTA {bytes_of[0][0]}" if form.cta_group == 2 else ""
            where = f"shared memory{pair}, 16 bytes from {', '.join(f'0x{byte:04x}' for byte in pieces)} on"
        rows.append((name, text, where))
    return Table(("operand", "elements", "where"), tuple(rows))


def shared_operand(form: Tcgen05Form, operand: Operand) -> Operand:
    """A or B as its bytes lie in the shared memory of one CTA.

    A pair has half of the rows of A, and of the columns of B, in each. Elements of 6 and 4 bits are 16 in 16
    bytes, padding behind them, unless an instruction takes them without ("Packing format used for matrix A
    and B by .kind::mxf8f6f4 in Shared Memory").

    >>> import ptxlab
    >>> pair = ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f8f6f4", a="e2m1", b="e2m1")
    >>> shared_operand(pair, pair.b).describe()
    'B 32x128 b8, in shared memory'
    """
    if not isinstance(form, Tcgen05Mma):
        return operand
    rows, columns = operand.shape
    if form.cta_group == 2:
        rows, columns = (rows // 2, columns) if operand.name == "A" else (rows, columns // 2)
    if is_padded(form, operand):
        return replace(operand, dtype=TYPES["b8"], shape=(rows, columns))
    if is_index(form, operand):
        return replace(operand, dtype=TYPES["b8"], shape=(COLUMN_BYTES, columns))
    if operand.dtype.bits == 6:  # bytes: an element may begin in one and end in the next
        along = (rows, columns * 6 // 8) if operand.name == "A" else (rows * 6 // 8, columns)
        return replace(operand, dtype=TYPES["b8"], shape=along)
    return replace(operand, shape=(rows, columns))


def transposing(form: Tcgen05Mma, operand: Operand) -> Tcgen05Mma:
    """The same with A or B MN-major, as its descriptor then says.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16")
    >>> transposing(form, form.b).descriptor.transpose_b
    True
    """
    return form.with_descriptor(None, **{f"transpose_{operand.name.lower()}": True})


def tensor_tile(form: Tcgen05Mma, name: str, swizzle: int = 0) -> Table:
    """Every element of A or B in shared memory, of a pair those of the first CTA: where it is.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4", n=8, b="e2m3")
    >>> tensor_tile(form, "B").records()[8]["bits"]   # k 1, n 0
    '[11..6]'
    """
    operand = form.operands[name]
    rows: list[tuple[Value, ...]] = []
    columns: tuple[str, ...] = ()
    for row, col in product(*map(range, operand.shape)):
        for cta, place in _memory(form, operand, row, col, swizzle, False):
            columns = place.columns
            rows += [(row, col, *place.row)] if cta == 0 else []
    return Table(("row", "column", *columns), tuple(rows))


def _memory(
    form: Tcgen05Form, operand: Operand, row: int, col: int, swizzle: int, transposed: bool
) -> list[tuple[int, MemoryPlace]]:
    """The CTA whose shared memory has an element, and where; in two places if its bits are apart."""
    if not isinstance(form, Tcgen05Mma):
        return [(0, memory_place(operand, row, col, swizzle, transposed))]
    if as_flag(transposed, "transposed"):
        form = transposing(form, operand)
    tile = shared_tile(form, operand, as_int(swizzle, "swizzle"))
    pieces = (tile.row_bytes if tile.major == "K" else tile.rows * tile.bits // 8) // 16
    return [
        (
            place.cta,
            MemoryPlace(
                place.byte,
                place.line // 8 * pieces + place.byte_in_line // 16,
                place.line % 8,
                place.byte_in_line % 16,
                tile.swizzle,
                (place.low, place.high) if stored_bits(form, operand) < 8 else None,
            ),
        )
        for place in shared_places(form, operand, row, col, swizzle)
    ]


def _places_text(tensor: TensorOperand, elements: list[tuple[int, int]]) -> str:
    """``CTA 1, lanes 5, 37, column 0, bits [15..0]``: the words that hold elements, and the bits in them."""
    bits: dict[tuple[int, int], list[int]] = {}  # CTA and column -> lowest and highest bit
    lanes: dict[int, None] = {}
    for element in elements:
        for place in tensor.where(*element):
            span = bits.setdefault((place.cta, place.column), [place.low, place.high])
            span[:] = [min(span[0], place.low), max(span[1], place.high)]
            lanes[place.lane] = None
    ctas = sorted({cta for cta, _ in bits})
    columns = sorted({column for _, column in bits})
    pair = ""
    if tensor.ctas > 1:
        pair = f"CTA{'s' if len(ctas) > 1 else ''} {' and '.join(map(str, ctas))}, "
    which = f"lane{'s' if len(lanes) > 1 else ''} {', '.join(map(str, lanes))}"
    where = f"column{'s' if len(columns) > 1 else ''} {index_range(columns[0], columns[-1] - columns[0] + 1)}"
    low, high = next(iter(bits.values()))
    exact = f", bits [{high}..{low}]" if len(columns) == 1 and high - low < 31 else ""
    return f"{pair}{which}, {where}{exact}"


def tensor_holds(
    form: Tcgen05Form | str, name: str, lane: int, column: int | None = None, cta: int = 0
) -> Table:
    """The elements in a lane of tensor memory, or in one column of it; of R, the words that a thread holds.

    >>> import ptxlab
    >>> tensor_holds(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64), "D", 33, 5).rows
    ((5, 17, 5),)
    """
    form, name = as_tcgen05(form), as_text(name, "operand").upper()
    column = None if column is None else as_int(column, "column")
    if isinstance(form, Tcgen05Transfer) and name == "R":
        registers = range(form.registers) if column is None else (column,)
        words = tuple((register, *form.locate(lane, register)) for register in registers)
        return Table(("register", "lane", "column"), words)
    tensor = _tensor(form, name)
    columns = range(tensor.columns) if column is None else (column,)
    rows = tuple((at, row, col) for at in columns for row, col in tensor.holds(lane, at, cta))
    return Table(("column", "row", "col"), rows)


def tensor_elements(form: Tcgen05Form | str, name: str) -> Table:
    """Every element of an operand: where it is in tensor memory; of R, where every register comes from.

    >>> import ptxlab
    >>> tensor_elements(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64), "D").records()[300]
    {'m': 1, 'n': 44, 'cta': 0, 'lane': 1, 'column': 44, 'low': 0, 'high': 31}
    """
    form, name = as_tcgen05(form), as_text(name, "operand").upper()
    rows: list[tuple[int | str, ...]] = []
    if isinstance(form, Tcgen05Transfer) and name == "R":
        rows += [
            (thread, register, *form.locate(thread, register))
            for thread in range(LANES)
            for register in range(form.registers)
        ]
        return Table(("thread", "register", "lane", "column"), tuple(rows))
    tensor = _tensor(form, name)
    for row in range(tensor.shape[0]):
        for col in range(tensor.shape[1]):
            rows += [(row, col, *place) for place in tensor.where(row, col)]
    return Table((*tensor.axes, "cta", "lane", "column", "low", "high"), tuple(rows))


def _tensor(form: Tcgen05Form, name: str) -> TensorOperand:
    if name in form.operands:
        where = "registers" if form.operands[name].layout else "shared memory"
        raise PtxlabError(
            f"{name} of {form.mnemonic} is in {where}, not in the {LANES} lanes of tensor memory"
        )
    return form.tensor(name)
