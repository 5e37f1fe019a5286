"""The kernel of tcgen05.mma: A and B to shared memory, the rest to tensor memory, the instruction, D back."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import PtxlabError
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...isa.tcgen05 import TensorInstruction
from ...isa.tcgen05.tcgen05_form import TYPES
from ...isa.tensor_operand import LANES, TensorLayout, TensorOperand
from ...memory import Tile
from ...memory.tcgen05_tiles import COLUMN_BYTES, shared_tile
from . import cpp
from .cpp import byte_offset, swizzling
from .ptx import asm_operands, with_names
from .tcgen05_memory import FENCE_SHARED, HAND_OVER, KernelFrame, asm, indented, load_words, store_words

_SHARED_BYTES = 48 * 1024 - 64  # for tiles: the static shared memory of a kernel but for a few words
#: Columns to which operands in tensor memory are aligned.
_COLUMN_UNIT = 32

_KERNEL = """\
// {mnemonic}
// Instruction descriptor 0x{code:08x}: {descriptor}
// {title}
// {who};
// the grid walks through `count` independent ones.
{helpers}
extern "C" __global__ void {attributes} {name}(
    {parameters}, int count)
{{
{declarations}

{prologue}
{addresses}

    unsigned int parity = 0;
    for (long long i = first; i < count; i += apart) {{
{loads}

{issue}

{stores}
    }}
{epilogue}
}}
"""

#: Operands in tensor memory: the argument that takes their words, and the name of their address in PTX.
_ADDRESSES = {
    "A": "a_tmem", "D": "d_tmem", "E": "sp_meta_tmem", "SFA": "scale_a_tmem", "SFB": "scale_b_tmem",
    "LUT": "b_decompress_metadata",
}  # fmt: skip


def source(form: TensorInstruction, modifiers: Modifiers) -> str:
    """The kernel of tcgen05.mma; parameters are those of A, B, C, E, SFA, SFB that it has, D, and a count.

    With .decompress::lut::b, B is the bytes of the compressed B, 48 for each of its columns, and LUT, before
    D, the words of the lookup table, two for each lane.
    """
    tiles = {
        operand.name: shared_tile(operand, 0 if form.decompress and operand is form.b else modifiers.swizzle)
        for operand in (form.a, form.b)
        if isinstance(operand, Operand)
    }
    size = sum(tile.size for tile in tiles.values())
    if size > _SHARED_BYTES:
        raise PtxlabError(
            f"swizzle={modifiers.swizzle}: the tiles of {form.mnemonic} {form.shape} take {size} bytes, a "
            f"kernel declares at most {_SHARED_BYTES}; take a narrower swizzle"
        )
    tensors = [form.d, *(tensor for name, tensor in form.tensors.items() if name != "D")]
    tensors += [_table(form)] if form.decompress else []
    places = {tensor.name: _COLUMN_UNIT * at for tensor, at in zip(tensors, _units(tensors), strict=True)}
    frame = KernelFrame(form.cta_group, max(places[tensor.name] + tensor.columns for tensor in tensors))
    return _KERNEL.format(
        mnemonic=form.mnemonic,
        code=form.descriptor.code,
        descriptor=form.descriptor,
        title=_title(form),
        who=frame.who,
        helpers=frame.helpers,
        attributes=frame.attributes,
        name=cpp.NAME,
        parameters=_parameters(form),
        declarations=indented([*_tiles(tiles), *frame.declarations()]),
        prologue=indented(frame.prologue()),
        addresses=indented([*_addresses(tensors, places), *_descriptors(tiles)]),
        loads=indented(_loads(form, tiles, tensors, frame), 2),
        issue=indented(frame.issue(_statement(form, modifiers)), 2),
        stores=indented(_stores(form, frame), 2),
        epilogue=indented(frame.epilogue()),
    )


def _units(tensors: list[TensorOperand]) -> list[int]:
    """Where operands begin, one after the other, in units of 32 columns."""
    starts = [0]
    for tensor in tensors[:-1]:
        starts.append(starts[-1] + -(-tensor.columns // _COLUMN_UNIT))
    return starts


def _inputs(form: TensorInstruction) -> list[tuple[str, Operand | TensorOperand]]:
    """The parameters that the kernel reads, in the order in which `emulate` takes them; C has D's layout."""
    inputs = {"A": form.a, "B": form.b, "C": form.d, "E": form.e, "SFA": form.scale_a, "SFB": form.scale_b}
    if form.decompress:
        inputs["LUT"] = _table(form)
    return [(name, operand) for name, operand in inputs.items() if operand is not None]


def _table(form: TensorInstruction) -> TensorOperand:
    """The lookup table of B as two words of each lane; see `memory.pack_lookup`."""
    pair = ((2, LANES, 0),) if form.cta_group == 2 else ()
    layout = TensorLayout((LANES * form.cta_group, 2), ((LANES, 1, 0), *pair), ((2, 0, 1),))
    return TensorOperand("LUT", TYPES["b32"], layout.shape, layout, source="assumed: two columns")


def _title(form: TensorInstruction) -> str:
    lines = [
        f"B {form.n}x{COLUMN_BYTES} bytes of indices, 3 bits each, in shared memory"
        if name == "B" and form.decompress
        else operand.describe()
        for name, operand in _inputs(form)
        if name != "C"
    ]
    return "\n// ".join([*lines, form.d.describe()])


def _parameters(form: TensorInstruction) -> str:
    words = []
    for name, operand in _inputs(form):
        word = cpp.code_word(operand) if isinstance(operand, Operand) else "unsigned int"
        words.append(f"const {word}* {name}")
    lines = [", ".join(words[:3]), *([", ".join(words[3:])] if words[3:] else []), "unsigned int* D"]
    return ",\n    ".join(lines)


def _tiles(tiles: dict[str, Tile]) -> list[str]:
    return [
        f"__shared__ __align__({max(tile.alignment, 128)}) unsigned char {name.lower()}_tile[{tile.size}];"
        for name, tile in tiles.items()
    ]


def _addresses(tensors: list[TensorOperand], places: dict[str, int]) -> list[str]:
    lines = []
    for tensor in tensors:
        place = places[tensor.name]
        start = f"tensor_memory + {place}" if place else "tensor_memory"
        lines.append(f"const unsigned int {_ADDRESSES[tensor.name]} = {start};")
    return lines


def _descriptors(tiles: dict[str, Tile]) -> list[str]:
    """The shared-memory descriptors: the layout is a constant, the address is not."""
    return [
        f"const unsigned long long {name.lower()}_desc = 0x{tile.slice().tcgen05().code:016x}ull | "
        f"shared_address({name.lower()}_tile) >> 4;"
        for name, tile in tiles.items()
    ]


def _loads(
    form: TensorInstruction, tiles: dict[str, Tile], tensors: list[TensorOperand], frame: KernelFrame
) -> list[str]:
    """Copies of operands to shared memory and to tensor memory, and the fences for the instruction."""
    lines = [f"// {_listing(list(tiles))} to shared memory."]
    for operand in (form.a, form.b):
        if operand.name == "B" and form.decompress:
            lines += _compressed(form, tiles["B"])
        elif isinstance(operand, Operand):
            lines += filled(form, operand, tiles[operand.name])
    lines += [FENCE_SHARED, ""]
    names = ["C" if tensor.name == "D" else tensor.name for tensor in tensors]
    lines.append(f"// {_listing(names)} to tensor memory; D will be where C is.")
    for name, tensor in zip(names, tensors, strict=True):
        lines += store_words(name, _ADDRESSES[tensor.name], str(tensor.columns), frame.lanes)
    return [*lines, asm("tcgen05.wait::st.sync.aligned;"), *HAND_OVER]


def _listing(names: list[str]) -> str:
    """Names in words: ``A, B and C``."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def filled(form: TensorInstruction, operand: Operand, tile: Tile) -> list[str]:
    """Copy a row-major matrix of codes, or a CTA's half of it, from global memory into the tile."""
    by_rows = operand.name == "A"
    lines, k = operand.shape if by_rows else operand.shape[::-1]
    rows = lines // form.cta_group
    half = f"cta * {rows} + " if form.cta_group == 2 else ""
    size = lines * k

    def element(row: str, along: str) -> str:
        place = f"({half}{row}) * {k} + {along}" if by_rows else f"({along}) * {lines} + {half}{row}"
        if by_rows and not half:
            place = f"{row} * {k} + {along}"
        if not by_rows and " " not in along:
            place = f"{along} * {lines} + {half}{row}"
        return f"{operand.name}[i * {size} + {place}]"

    name = f"{operand.name.lower()}_tile"
    is_stream = operand.dtype.bits == 6 and not (operand.packing and operand.packing.padded)
    if is_stream:
        return _stream(operand, tile, element, name)
    per_chunk = 128 // tile.bits if operand.dtype.bits < 8 else 1  # elements that are written at once
    by_major = per_chunk > 1 and tile.major == "MN"  # elements of a chunk follow each other along M or N
    along, across = (k, -(-rows // per_chunk)) if by_major else (k // per_chunk, rows)
    split = f"j / {along}", f"j % {along}"
    if not by_rows:
        split = f"j % {across}", f"j / {across}"
    steps = [f" * {per_chunk}" if per_chunk > 1 and by_major == first else "" for first in (True, False)]
    const = "" if tile.swizzle else "const "
    text = [
        f"for (int j = threadIdx.x; j < {across * along}; j += 128) {{",
        f"    const int row = {split[0]}{steps[0]}, k = {split[1]}{steps[1]};",
        f"    {const}int at = {byte_offset(tile)};",
    ]
    text += swizzling(tile)
    if per_chunk > 1:
        value = element("(row + n)", "k") if by_major else element("row", "k + n")
        if by_major and rows % per_chunk:  # the last chunk is not full
            value = f"row + n < {rows} ? {value} : 0"
        return [*text, *_chunk(operand, tile, value, name, per_chunk), "}"]
    place = f"{name}[at]" if tile.bits == 8 else f"*({cpp.code_word(operand)}*)({name} + at)"
    return [*text, f"    {place} = {element('row', 'k')};", "}"]


def _stream(operand: Operand, tile: Tile, element: Callable[[str, str], str], name: str) -> list[str]:
    """Copy elements of 6 bits without padding: each byte of the tile has parts of two."""
    row, byte = f"j / {tile.k}", f"j % {tile.k}"
    if operand.name == "B":
        row, byte = f"j % {tile.rows}", f"j / {tile.rows}"
    const = "" if tile.swizzle else "const "
    return [
        f"for (int j = threadIdx.x; j < {tile.rows * tile.k}; j += 128) {{",
        f"    const int row = {row}, k = {byte}, first = k * 8 / 6;  // k counts bytes",
        f"    {const}int at = {byte_offset(tile)};",
        *swizzling(tile),
        f"    const unsigned int low = {element('row', 'first')}, high = {element('row', 'first + 1')};",
        f"    {name}[at] = (low | high << 6) >> k * 8 % 6;",
        "}",
    ]


def _compressed(form: TensorInstruction, tile: Tile) -> list[str]:
    """Copy the compressed columns of B, or a CTA's half of them, from global memory into the tile."""
    half = f"cta * {tile.rows} + " if form.cta_group == 2 else ""
    return [
        f"for (int j = threadIdx.x; j < {tile.rows * tile.k}; j += 128) {{",
        f"    const int row = j / {tile.k}, k = j % {tile.k};",
        f"    b_tile[{byte_offset(tile)}] = B[(i * {form.n} + {half}row) * {tile.k} + k];",
        "}",
    ]


def _chunk(operand: Operand, tile: Tile, element: str, name: str, per_chunk: int) -> list[str]:
    """Write 16 bytes of the tile: elements smaller than a byte, side by side from the lowest bit on."""
    bits = operand.dtype.bits
    lines = ["    unsigned int words[4] = {};"]
    if tile.bits > bits:
        lines = [f"    unsigned int words[4] = {{}};  // {per_chunk} elements of {bits} bits, then padding"]
    lines += [
        f"    for (int n = 0; n < {per_chunk}; ++n) {{",
        f"        const unsigned int code = {element};",
        f"        const int bit = n * {bits};",
        "        words[bit / 32] |= code << bit % 32;",
    ]
    if 32 % bits:
        lines.append(f"        if (bit % 32 > {32 - bits}) words[bit / 32 + 1] |= code >> (32 - bit % 32);")
    return [*lines, "    }", f"    for (int n = 0; n < 4; ++n) ((unsigned int*)({name} + at))[n] = words[n];"]


def _statement(form: TensorInstruction, modifiers: Modifiers) -> list[str]:
    """The asm statement of the instruction."""
    values = {
        "idesc": [f"0x{form.descriptor.code:08x}u"],
        "disable_output_lane": [
            f"0x{modifiers.disable_output_lane >> 32 * word & 0xFFFFFFFF:08x}u"
            for word in range(form.mask_registers)
        ],
        "zero_column_mask_desc": [f"0x{modifiers.zero_column_mask:016x}ull"],
    }
    operands = cpp.AsmOperands()
    for operand in asm_operands(form, modifiers):
        operands.add(operand.name, operand.constraint, values.get(operand.name, [operand.name]))
    operands.add("enable_input_d", "r", [str(int(modifiers.enable_input_d))])
    line = with_names(form, modifiers, operands.names)
    return [
        "asm volatile(",
        '    "{\\n"',
        '    ".reg .pred enable_input_d;\\n"',
        f'    "setp.ne.b32 enable_input_d, {operands.names["enable_input_d"][0]}, 0;\\n"',
        f'    "{line}\\n"',
        '    "}"',
        *_passed(operands.inputs),
    ]


def _passed(inputs: list[str]) -> list[str]:
    """The inputs of an asm statement, four to a line."""
    lines = [", ".join(inputs[at : at + 4]) for at in range(0, len(inputs), 4)]
    return [*f"    :: {(',' + chr(10) + ' ' * 7).join(lines)}".splitlines(), '    : "memory");']


def _stores(form: TensorInstruction, frame: KernelFrame) -> list[str]:
    return [
        "// D to global memory; nobody overwrites anything before all threads have read.",
        *load_words("D", "d_tmem", str(form.d.columns), frame.lanes),
        *HAND_OVER,
    ]
