"""The kernel of tcgen05.mma: A and B to shared memory, the rest to tensor memory, the instruction, D back."""

from __future__ import annotations

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
            lines += tile_from_global(form, operand, tiles[operand.name])
    lines += [FENCE_SHARED, ""]
    names = ["C" if tensor.name == "D" else tensor.name for tensor in tensors]
    lines.append(f"// {_listing(names)} to tensor memory; D will be where C is.")
    for name, tensor in zip(names, tensors, strict=True):
        lines += store_words(name, _ADDRESSES[tensor.name], str(tensor.columns), frame.lanes)
    return [*lines, asm("tcgen05.wait::st.sync.aligned;"), *HAND_OVER]


def _listing(names: list[str]) -> str:
    """Names in words: ``A, B and C``."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _global_index(form: TensorInstruction, operand: Operand, row: str, k: str) -> str:
    """The index of a code in global memory, where A [M, K] and B [K, N] are row-major.

    `row` counts along M or N, from the first row of the CTA; it multiplies, so a sum is in parentheses.
    """
    rows = operand.shape[0 if operand.name == "A" else 1] // form.cta_group
    first = f"cta * {rows} + " if form.cta_group == 2 else ""
    if operand.name == "B":
        factor = f"({k})" if " " in k else k
        index = f"{factor} * {operand.shape[1]} + {first}{row}"
    elif first:
        index = f"({first}{row}) * {operand.shape[1]} + {k}"
    else:
        index = f"{row} * {operand.shape[1]} + {k}"
    return f"{operand.name}[i * {operand.shape[0] * operand.shape[1]} + {index}]"


def tile_from_global(form: TensorInstruction, operand: Operand, tile: Tile) -> list[str]:
    """Copy a row-major matrix of codes, or a CTA's half of it, from global memory into the tile.

    Codes narrower than a byte are written in chunks of 16 bytes, which follow the tile's major axis.
    """
    if operand.dtype.bits == 6 and not (operand.packing and operand.packing.padded):
        return _stream_from_global(form, operand, tile)
    rows, k_size = operand.shape if operand.name == "A" else operand.shape[::-1]
    rows //= form.cta_group
    name = f"{operand.name.lower()}_tile"
    in_chunks = operand.dtype.bits < 8
    per_chunk = 128 // tile.bits if in_chunks else 1
    row_count, k_count = rows, k_size
    row_step = k_step = ""
    if in_chunks and tile.major == "MN":
        row_count, row_step = -(-rows // per_chunk), f" * {per_chunk}"
    elif in_chunks:
        k_count, k_step = k_size // per_chunk, f" * {per_chunk}"
    if operand.name == "A":  # neighbouring threads read neighbours in memory
        row, k = f"j / {k_count}", f"j % {k_count}"
    else:
        row, k = f"j % {row_count}", f"j / {row_count}"
    lines = [
        f"for (int j = threadIdx.x; j < {row_count * k_count}; j += 128) {{",
        f"    const int row = {row}{row_step}, k = {k}{k_step};",
        f"    {'' if tile.swizzle else 'const '}int at = {byte_offset(tile)};",
        *swizzling(tile),
    ]
    if not in_chunks:
        target = f"{name}[at]" if tile.bits == 8 else f"*({cpp.code_word(operand)}*)({name} + at)"
        return [*lines, f"    {target} = {_global_index(form, operand, 'row', 'k')};", "}"]
    if tile.major == "MN":
        code = _global_index(form, operand, "(row + n)", "k")
        if rows % per_chunk:  # the last chunk is not full
            code = f"row + n < {rows} ? {code} : 0"
    else:
        code = _global_index(form, operand, "row", "k + n")
    return [*lines, *_chunk(operand, tile, code, name, per_chunk), "}"]


def _stream_from_global(form: TensorInstruction, operand: Operand, tile: Tile) -> list[str]:
    """Copy elements of 6 bits without padding: each byte of the tile has parts of two."""
    row, byte = f"j / {tile.k}", f"j % {tile.k}"
    if operand.name == "B":
        row, byte = f"j % {tile.rows}", f"j / {tile.rows}"
    low, high = (_global_index(form, operand, "row", k) for k in ("first", "first + 1"))
    return [
        f"for (int j = threadIdx.x; j < {tile.rows * tile.k}; j += 128) {{",
        f"    const int row = {row}, k = {byte}, first = k * 8 / 6;  // k counts bytes",
        f"    {'' if tile.swizzle else 'const '}int at = {byte_offset(tile)};",
        *swizzling(tile),
        f"    const unsigned int low = {low}, high = {high};",
        f"    {operand.name.lower()}_tile[at] = (low | high << 6) >> k * 8 % 6;",
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
