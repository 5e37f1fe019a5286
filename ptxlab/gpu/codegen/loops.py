"""Kernels that run one instruction over and over, to time it.

Every kernel takes the same parameters: the bytes that it reads, where it would store its results, where block
0 stores the clock, the number of iterations, and a 0 that the compiler does not know about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.form import Form
from ...isa.mma import Instruction
from ...isa.operand import Operand
from ...isa.operation import Operation
from ...isa.transfer import Transfer
from ...memory import Tile
from . import cpp
from .ptx import stores, with_names

#: Name of every kernel here.
LOOP_NAME = "ptxlab_loop"
#: Where the operands begin in shared memory; the bytes below belong to the driver.
FIRST_ADDRESS = 1024

#: The values of the operands.
Contents = Literal["random", "zeros"]
#: The operand through which an instruction depends on the one before it.
Through = Literal["C", "A"]

_A_SETS = 2  # different matrices A; with four of B, sums return to where they began
_B_SETS = 4  # the last two are the negatives of the first two
_STATEMENTS = 16  # instructions in the loop, at least
_MAX_THREADS = 512
_SWIZZLE = 128
_ROW_BYTES = 512  # shared memory that one ldmatrix or stmatrix covers

_KERNEL = """\
// {mnemonic}
{helpers}extern "C" __global__ void __launch_bounds__({threads}, 1) {name}(
    const unsigned char* input, unsigned int* output, long long* clocks, int turns, unsigned int never)
{{
    const int lane = threadIdx.x % {lanes};
{setup}
    __syncthreads();
    const long long start = clock64();
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {{
{body}
    }}
    const long long stop = clock64();
    if (never) {{  // the compiler must keep the results; nobody reads them
{results}
    }}
    if (blockIdx.x == 0 && threadIdx.x == 0) {{
        clocks[0] = start;
        clocks[1] = stop;
    }}
}}
"""

_COPY = """\
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned int base = (unsigned int)__cvta_generic_to_shared(memory);
    for (int i = threadIdx.x; i < {words}; i += blockDim.x)
        ((unsigned int*)(memory + ({first} - base)))[i] = ((const unsigned int*)input)[i];
    __syncthreads();"""
_PROXY_FENCE = """\
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // wgmma reads through the async proxy
    __syncthreads();"""

_RELOAD = """\
// A load that the compiler neither leaves out nor moves: what unpacks its result stays in the loop.
template <int R>
__device__ __forceinline__ void reload(unsigned int (&r)[R], unsigned int address)
{
#pragma unroll
    for (int i = 0; i < R; i += R % 4 ? (R % 2 ? 1 : 2) : 4) {
        if (R % 4 == 0)
            asm volatile("ld.volatile.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(r[i]), "=r"(r[i + 1]), "=r"(r[i + 2]), "=r"(r[i + 3]) : "r"(address + 4 * i));
        else if (R % 2 == 0)
            asm volatile("ld.volatile.shared.v2.b32 {%0, %1}, [%2];"
                         : "=r"(r[i]), "=r"(r[i + 1]) : "r"(address + 4 * i));
        else
            asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(r[i]) : "r"(address + 4 * i));
    }
}

"""


@dataclass(frozen=True, eq=False)
class Loop:
    """A kernel that runs an instruction `statements` times per iteration of a loop, in each warp(group).

    >>> import ptxlab
    >>> each = loop(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), chains=4)
    >>> each.statements, each.shared, len(each.input)
    (16, 0, 2560)
    """

    source: str
    statements: int
    input: bytes
    shared: int  # bytes of dynamic shared memory
    threads: int  # the most threads of a block
    one_row: bool = False  # all lanes load the same row, so that it has a latency but no throughput


def loop(
    form: Form,
    chains: int = 1,
    *,
    contents: Contents = "random",
    through: Through = "C",
    reload: bool = False,
) -> Loop:
    """The kernel of a form with `chains` independent accumulators; for wgmma, instructions between two waits.

    In a chain every instruction takes C (or A) from the one before it. `reload` loads operands from shared
    memory for every instruction, so that the compiler cannot share work between them: for instructions that
    the chip lacks and the compiler emulates.
    """
    if isinstance(form, Transfer):
        if form.family == "movmatrix":
            return _movmatrix_loop(form, chains, contents)
        if form.wmma:
            raise PtxlabError(f"{form.mnemonic}: ptxlab measures ldmatrix, stmatrix and movmatrix")
        return _transfer_loop(form, chains, contents)
    if not isinstance(form, Instruction):
        raise PtxlabError(f"{form.mnemonic}: ptxlab generates no kernel for it")
    if form.lanes == 128:
        return _wgmma_loop(form, chains, contents)
    return _mma_loop(form, chains, contents, through, reload)


# -- operands ----------------------------------------------------------------------------------------------


def _operand_sets(form: Instruction, contents: Contents) -> list[Operation]:
    """The operands of four rounds of instructions.

    Floating-point values are normally distributed, as weights and activations are; integers use all bits.
    """
    generator = np.random.default_rng(0)
    a = [_matrix(generator, form.a_dense, contents) for _ in range(_A_SETS)]
    if form.sparse:
        a = [form.prune(matrix) for matrix in a]
    b = [_matrix(generator, form.b, contents) for _ in range(_B_SETS // 2)]
    if form.b.dtype.is_float:
        b += [-matrix for matrix in b]
    else:
        b += [_matrix(generator, form.b, contents) for _ in b]
    c = _matrix(generator, form.c, contents)
    if not form.c.dtype.is_float:
        c = c >> 8  # so that it does not wrap around at once
    return [Operation.from_matrices(form, a[i % _A_SETS], b[i], c) for i in range(_B_SETS)]


def _matrix(generator: np.random.Generator, operand: Operand, contents: Contents) -> NDArray[Any]:
    if contents == "zeros":
        return np.zeros(operand.shape, dtype=np.int64)
    if operand.dtype.is_float:
        return generator.standard_normal(operand.shape)
    return generator.integers(operand.dtype.minimum, operand.dtype.maximum, operand.shape, endpoint=True)


class _Draft:
    """A kernel under construction: its input, declarations, loads, and the operands of its asm statement."""

    def __init__(self) -> None:
        self.image = b""
        self.declared: list[str] = []
        self.loads: list[str] = []
        self.asm = cpp.AsmOperands()

    def add_bytes(self, array: NDArray[Any], alignment: int = 16) -> int:
        """Append an array to the input; returns its offset."""
        self.image += bytes(-len(self.image) % alignment)
        offset = len(self.image)
        self.image += np.ascontiguousarray(array).tobytes()
        return offset

    def add_registers(self, operand: Operand, sets: list[Operation], chosen: str) -> None:
        """Add an operand in registers that are loaded before the loop; `chosen` is the index of its set."""
        registers = np.stack([operation.arrays[operand.name] for operation in sets])
        offset = self.add_bytes(registers)
        name, word, size = operand.name.lower(), cpp.register_word(operand), operand.register_bits // 8
        self.declared.append(f"{word} {name}[{len(sets)}][{operand.registers}];")
        place = f"((s * {operand.lanes} + lane) * {operand.registers} + r) * {size}"
        self.loads.append(
            f"for (int s = 0; s < {len(sets)}; ++s) for (int r = 0; r < {operand.registers}; ++r) "
            f"{name}[s][r] = *(const {word}*)(input + {offset} + {place});"
        )
        self.asm.add_registers(operand, f"{name}[{chosen}]")

    def setup(self, *first: str) -> str:
        """The code before the loop."""
        unrolled = [f"#pragma unroll\n    {line}" for line in self.loads]
        return "\n".join([*first, *(f"    {line}" for line in self.declared), *unrolled])

    def copied(self) -> str:
        """The code that copies the input so far to shared memory."""
        return _COPY.format(words=len(self.image) // 4, first=FIRST_ADDRESS)


def _kernel(
    title: str, lanes: int, setup: str, body: str, results: str, *, helpers: str = "", threads: int
) -> str:
    return _KERNEL.format(
        mnemonic=title,
        helpers=helpers,
        threads=threads,
        name=LOOP_NAME,
        lanes=lanes,
        setup=setup,
        body=body,
        results=results,
    )


def _unrolled(rounds: int, chains: int, lines: list[str]) -> str:
    inner = "\n".join(f"                {line}" for line in lines)
    return f"""\
#pragma unroll
        for (int step = 0; step < {rounds}; ++step) {{
#pragma unroll
            for (int chain = 0; chain < {chains}; ++chain) {{
{inner}
            }}
        }}"""


def _asm(form: Form, operands: cpp.AsmOperands, *, line: str = "", memory: bool = False) -> list[str]:
    """The asm statement of an instruction, or of a whole line."""
    line = line or with_names(form, None, operands.names)
    text = [f'asm volatile("{line}"', f"    : {', '.join(operands.outputs)}"]
    text.append(f"    : {', '.join(operands.inputs)}")
    if memory:
        text.append('    : "memory"')
    return [*text[:-1], f"{text[-1]});"]


def _stored(chains: int, registers: int, bits: int = 32) -> str:
    """Stores of every accumulator."""
    word = "unsigned long long" if bits == 64 else "unsigned int"
    place = f"((blockIdx.x * blockDim.x + threadIdx.x) * {chains} + s) * {registers} + r"
    return "\n".join(
        [
            f"#pragma unroll\n        for (int s = 0; s < {chains}; ++s)",
            f"#pragma unroll\n            for (int r = 0; r < {registers}; ++r)",
            f"                (({word}*)output)[{place}] = d[s][r];",
        ]
    )


# -- mma, mma.sp, wmma, movmatrix --------------------------------------------------------------------------


def _mma_loop(form: Instruction, chains: int, contents: Contents, through: Through, reload: bool) -> Loop:
    """A loop of `chains` independent products; D of each is C, or A, of the next (`through`)."""
    sets = _operand_sets(form, contents)
    draft = _Draft()
    d, c = form.d, form.c
    draft.asm.add_registers(d, "d[chain]", "=")
    before: list[str] = []
    for name, operand in form.inputs.items():
        if name == "c" or (name == "a" and through == "A"):
            count = operand.registers  # evenly chosen ones of D's
            places = [f"d[chain][{r * d.registers // count}]" for r in range(count)]
            draft.asm.add(name, cpp.constraint(operand), places)
            continue
        belongs_to_a = name in ("a", "e", "scale_a")
        operand_sets = sets[:_A_SETS] if belongs_to_a else sets
        chosen = f"chain % {_A_SETS}" if belongs_to_a else f"step % {_B_SETS}"
        if reload:
            before += _reloaded(draft, operand, operand_sets, chosen)
        else:
            draft.add_registers(operand, operand_sets, chosen)
    word, size = cpp.register_word(d), d.register_bits // 8
    offset = draft.add_bytes(sets[0].c)
    draft.declared.append(f"{word} d[{chains}][{d.registers}];")
    place = f"(lane * {c.registers} + r % {c.registers}) * {size}"
    draft.loads.append(
        f"for (int s = 0; s < {chains}; ++s) for (int r = 0; r < {d.registers}; ++r) "
        f"d[s][r] = *(const {word}*)(input + {offset} + {place});"
    )
    lines = [*before, *_asm(form, draft.asm)]
    rounds = _B_SETS if reload else max(_B_SETS, _STATEMENTS // chains)
    source = _kernel(
        form.mnemonic,
        32,
        draft.setup(*([draft.copied()] if reload else [])),
        _unrolled(rounds, chains, lines),
        _stored(chains, d.registers, d.register_bits),
        helpers=_RELOAD if reload else "",
        threads=_MAX_THREADS,
    )
    shared = FIRST_ADDRESS + len(draft.image) if reload else 0
    return Loop(source, rounds * chains, draft.image, shared, _MAX_THREADS)


def _reloaded(draft: _Draft, operand: Operand, sets: list[Operation], chosen: str) -> list[str]:
    """Add an operand that is loaded from shared memory before each statement; returns the loads."""
    offset = draft.add_bytes(np.stack([operation.arrays[operand.name] for operation in sets]))
    name, size = operand.name.lower(), operand.registers * 4
    address = f"{FIRST_ADDRESS + offset} + ({chosen}) * {operand.lanes * size} + lane * {size}"
    draft.asm.add_registers(operand)
    return [f"unsigned int {name}[{operand.registers}];", f"reload({name}, {address});"]


def _movmatrix_loop(form: Transfer, chains: int, contents: Contents) -> Loop:
    words = np.random.default_rng(0).integers(0, 1 << 32, 32 * chains, dtype=np.uint32)
    if contents == "zeros":
        words[:] = 0
    rounds = max(_B_SETS, _STATEMENTS // chains)
    operands = cpp.AsmOperands()
    operands.add("d", "=r", ["d[chain][0]"])
    operands.add("a", "r", ["d[chain][0]"])
    setup = (
        f"    unsigned int d[{chains}][1];\n#pragma unroll\n"
        f"    for (int s = 0; s < {chains}; ++s) d[s][0] = ((const unsigned int*)input)[s * 32 + lane];"
    )
    body = _unrolled(rounds, chains, _asm(form, operands))
    source = _kernel(form.mnemonic, 32, setup, body, _stored(chains, 1), threads=_MAX_THREADS)
    return Loop(source, rounds * chains, words.tobytes(), 0, _MAX_THREADS)


# -- wgmma -------------------------------------------------------------------------------------------------

_WGMMA_BODY = """\
#pragma unroll
        for (int batch = 0; batch < {batches}; ++batch) {{
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int i = 0; i < {chains}; ++i) {{
                const int step = batch * {chains} + i;
{asm}
            }}
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        }}"""


def _wgmma_loop(form: Instruction, chains: int, contents: Contents) -> Loop:
    """A loop of wgmma with `chains` instructions between two waits."""
    sets = _operand_sets(form, contents)
    draft = _Draft()
    registers = form.d.registers
    draft.asm.add_registers(form.d, "d[0]", "+")
    descriptors = {
        operand.name: _tile_descriptors(draft, operand, sets)
        for operand in (form.a, form.b)
        if operand.space == "shared"
    }
    first = [draft.copied(), _PROXY_FENCE]
    shared = FIRST_ADDRESS + len(draft.image)
    for operand in (form.a, form.b, form.e):
        if operand is None:
            continue
        if operand.name not in descriptors:
            draft.add_registers(operand, sets[:_A_SETS], f"step % {_A_SETS}")
            continue
        name = f"{operand.name.lower()}_desc"
        codes = ", ".join(f"0x{code:x}ull" for code in descriptors[operand.name])
        draft.declared.append(f"constexpr unsigned long long {name}[{_B_SETS}] = {{{codes}}};")
        draft.asm.add(name, "l", [f"{name}[step % {_B_SETS}]"])
    draft.declared.append(f"unsigned int d[1][{registers}] = {{}};")
    instruction = with_names(form, None, draft.asm.names)
    draft.asm.add("scale_d", "r", ["1"])
    predicate = f".reg .pred scale_d; setp.ne.b32 scale_d, {draft.asm.names['scale_d'][0]}, 0;"
    lines = _asm(form, draft.asm, line=f"{{ {predicate} {instruction} }}")
    batches = max(1, _B_SETS // chains)
    threads = _MAX_THREADS if registers <= 64 else _MAX_THREADS // 2
    source = _kernel(
        f"{form.mnemonic}, A from {'registers' if form.a_space == 'register' else 'shared memory'}",
        128,
        draft.setup(*first),
        _WGMMA_BODY.format(
            batches=batches, chains=chains, asm="\n".join(f"                {line}" for line in lines)
        ),
        _stored(1, registers),
        threads=threads,
    )
    return Loop(source, batches * chains, draft.image, shared, threads)


def _tile_descriptors(draft: _Draft, operand: Operand, sets: list[Operation]) -> list[int]:
    """Descriptors of the slices of one swizzled tile with the operands of all sets side by side."""
    by_rows = operand.axes[0] == "m"
    rows, k = operand.shape if by_rows else operand.shape[::-1]
    tile = Tile(operand.dtype.bits, rows, k * len(sets), "K", _SWIZZLE)
    codes = [operation.arrays[operand.name] for operation in sets]
    content = tile.store(np.concatenate([code if by_rows else code.T for code in codes], axis=1))
    address = FIRST_ADDRESS + draft.add_bytes(content, tile.alignment)
    return [tile.descriptor(address, number * k) for number in range(len(sets))]


# -- ldmatrix, stmatrix ------------------------------------------------------------------------------------


def _transfer_loop(form: Transfer, chains: int, contents: Contents) -> Loop:
    if form.space is None:
        form = form.in_space("shared")
    one_row = False
    image = np.random.default_rng(0).integers(0, 256, chains * _ROW_BYTES, dtype=np.uint8)
    if contents == "zeros":
        image[:] = 0
    if stores(form):
        body, results, declared = _stores(form, chains)
        statements = chains
    elif chains == 1:
        one_row = form.shape == "m8n16"
        image = _chase(form)
        body, results, declared = _dependent_loads(form)
        statements = _STATEMENTS
    else:
        body, results, declared = _loads(form, chains)
        statements = chains
    setup = "\n".join([_COPY.format(words=len(image) // 4, first=FIRST_ADDRESS), *declared])
    source = _kernel(form.mnemonic, 32, setup, body, results, threads=_MAX_THREADS)
    return Loop(source, statements, image.tobytes(), FIRST_ADDRESS + len(image), _MAX_THREADS, one_row)


_OWN_ROW = f"    unsigned int p = {FIRST_ADDRESS} + lane * 16;"
#: `never` is 0, which the compiler does not know: it must load or store again.
_OTHER_ROWS = "        p ^= never;"
_KEEP_ADDRESS = "        output[blockIdx.x * blockDim.x + threadIdx.x] = p;"


def _load(form: Transfer, array: str, address: str) -> list[str]:
    operands = cpp.AsmOperands()
    operands.add_registers(form.register_operand, array, "=")
    operands.add("p", "r", [address])
    return _asm(form, operands, memory=True)


def _loads(form: Transfer, chains: int) -> tuple[str, str, list[str]]:
    """Independent loads of different rows."""
    count = form.register_operand.registers
    asm = _load(form, "r[chain]", f"p + chain * {_ROW_BYTES}")
    body = [
        f"        unsigned int r[{chains}][{count}];",
        _unrolled(1, chains, asm),
        f"#pragma unroll\n        for (int chain = 0; chain < {chains}; ++chain)",
        f"#pragma unroll\n            for (int i = 0; i < {count}; ++i) d[0][i] ^= r[chain][i];",
        _OTHER_ROWS,
    ]
    return "\n".join(body), _stored(1, count), [_OWN_ROW, f"    unsigned int d[1][{count}] = {{}};"]


def _dependent_loads(form: Transfer) -> tuple[str, str, list[str]]:
    """Loads whose address is the value of the load before."""
    count = form.register_operand.registers
    body = _unrolled(_STATEMENTS, 1, [f"unsigned int r[{count}];", *_load(form, "r", "p"), "p = r[0];"])
    own_row = _OWN_ROW.replace(" + lane * 16", " + lane * 0") if form.shape == "m8n16" else _OWN_ROW
    return body, _KEEP_ADDRESS, [own_row]


def _stores(form: Transfer, chains: int) -> tuple[str, str, list[str]]:
    """Stores to different rows."""
    count = form.register_operand.registers
    operands = cpp.AsmOperands()
    operands.add("p", "r", [f"p + chain * {_ROW_BYTES}"])
    operands.add_registers(form.register_operand, "r")
    body = f"{_unrolled(1, chains, _asm(form, operands, memory=True))}\n{_OTHER_ROWS}"
    declared = [
        _OWN_ROW,
        f"    unsigned int r[{count}];",
        f"#pragma unroll\n    for (int i = 0; i < {count}; ++i)",
        "        r[i] = ((const unsigned int*)input)[i * 32 + lane];",
    ]
    return body, _KEEP_ADDRESS, declared


def _chase(form: Transfer) -> NDArray[np.uint8]:
    """Rows in shared memory such that each lane loads its own address into its first register.

    Lane `l` has the address of row `l`. Its first register holds two columns of row l / 4, or, transposed,
    two rows of column l / 4.
    """
    image = np.zeros(_ROW_BYTES, dtype=np.uint8)
    addresses = FIRST_ADDRESS + 16 * np.arange(32)
    if form.shape == "m8n16":  # nibbles become bytes, so not every address can be loaded: lanes share a row
        image.view("<u2")[:4] = FIRST_ADDRESS >> 8 << 4
    elif "trans" in form.mnemonic:
        image.view("<u2").reshape(32, 8)[0:8:2, :] = addresses.reshape(8, 4).T
    else:
        image.view("<u4").reshape(32, 4)[:8] = addresses.reshape(8, 4)
    return image
