"""What numba compiles of plans for registers; imported only where it is wanted.

Integers of 16 and 32 bits are named again after each operation: numba would go on with 64 bits, of which a
vector holds fewer.
"""

# mypy: ignore-errors
# numba infers the types; annotations would only repeat what it checks at compile time.

from __future__ import annotations

import platform

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from .fused_loops import compiled

_INFINITE = np.uint32(0x7F800000)

#: Whether the processor converts to f16; without it LLVM would call a function that may not be there.
HAS_F16 = platform.machine() in ("aarch64", "arm64") or bool(binding.get_host_cpu_features().get("f16c"))


# -- chunks of 128 bits: vectors of LLVM, for which every processor has registers ----------------------------

DISTANCES = (4, 8, 16, 32, 64)  # bits of pieces that `_exchanged` exchanges
_BYTES = ir.VectorType(ir.IntType(8), 16)


class _ChunkType(types.Type):
    """128 bits."""

    def __init__(self):
        super().__init__(name="Chunk")


@register_model(_ChunkType)
class _ChunkModel(models.PrimitiveModel):
    def __init__(self, manager, chunk_type):
        super().__init__(manager, chunk_type, _BYTES)


def _addresses(context, builder, words_type, words, start, offsets):
    data = context.make_array(words_type)(context, builder, words).data
    for offset in cgutils.unpack_tuple(builder, offsets):
        yield builder.bitcast(builder.gep(data, [builder.add(start, offset)]), _BYTES.as_pointer())


@intrinsic
def _load(_, words, start, offsets):
    """The chunks of words that begin at start + offset, for each of the offsets."""

    def build(context, builder, signature, arguments):
        addresses = _addresses(context, builder, signature.args[0], *arguments)
        chunks = [builder.load(address, align=4) for address in addresses]
        return context.make_tuple(builder, signature.return_type, chunks)

    return types.UniTuple(_ChunkType(), len(offsets))(words, start, offsets), build


@intrinsic
def _store(_, words, start, offsets, chunks):
    """Chunks to where `_load` would find them."""

    def build(context, builder, signature, arguments):
        addresses = _addresses(context, builder, signature.args[0], *arguments[:3])
        for address, chunk in zip(addresses, cgutils.unpack_tuple(builder, arguments[3]), strict=True):
            builder.store(chunk, address, align=4)
        return context.get_dummy_value()

    return types.void(words, start, offsets, chunks), build


@intrinsic
def _exchanged(_, chunks, number):
    """Pieces of chunks change places, as an `Exchange` of `isa.repack` says, by its number.

    The number is `which * len(DISTANCES) + DISTANCES.index(distance)`.
    """

    def build(context, builder, signature, arguments):
        before = cgutils.unpack_tuple(builder, arguments[0])
        done = builder.append_basic_block("done")
        results = [(before, builder.block)]
        switch = builder.switch(arguments[1], done)
        for case in range((len(before).bit_length() - 1) * len(DISTANCES)):
            which, index = divmod(case, len(DISTANCES))
            after = list(before)
            block = builder.append_basic_block()
            switch.add_case(case, block)
            with builder.goto_block(block):
                for first in range(len(before)):
                    second = first | 1 << which
                    if first != second:
                        pair = before[first], before[second]
                        after[first], after[second] = _pieces_exchanged(builder, *pair, DISTANCES[index])
                builder.branch(done)
            results.append((after, block))
        builder.position_at_end(done)
        phis = [builder.phi(_BYTES) for _ in before]
        for chunks_of_case, block in results:
            for phi, chunk in zip(phis, chunks_of_case, strict=True):
                phi.add_incoming(chunk, block)
        return context.make_tuple(builder, signature.return_type, phis)

    return chunks(chunks, number), build


def _pieces_exchanged(builder, first, second, bits):
    """The odd pieces of the first change places with the even ones of the second."""
    if bits < 8:
        shift, low, high = (ir.Constant(_BYTES, [number] * 16) for number in (4, 0x0F, 0xF0))
        return (
            builder.or_(builder.and_(first, low), builder.shl(second, shift)),
            builder.or_(builder.lshr(first, shift), builder.and_(second, high)),
        )
    count = 128 // bits
    pieces = ir.VectorType(ir.IntType(bits), count)
    first, second = builder.bitcast(first, pieces), builder.bitcast(second, pieces)
    results = []
    for odd in range(2):
        taken = [place + odd + of_second for place in range(0, count, 2) for of_second in (0, count)]
        order = ir.Constant(ir.VectorType(ir.IntType(32), count), taken)
        results.append(builder.bitcast(builder.shuffle_vector(first, second, order), _BYTES))
    return results


@compiled(nogil=True)
def move(words, size, groups, loads, exchanges, stores, out):
    """`isa.repack.ChunkMoves` on words [count, size], flat; see `_exchanged` for the numbers of exchanges."""
    for base in range(0, words.size, size):
        for group in range(len(groups)):
            chunks = _load(words, base + groups[group, 0], loads)
            for step in range(exchanges.size):
                chunks = _exchanged(chunks, exchanges[step])
            _store(out, base + groups[group, 1], stores, chunks)


@compiled(nogil=True)
def gather(words, index, out):
    """out[i, j] = words[i, index[j]]."""
    for i in range(len(words)):
        row, result = words[i], out[i]
        for j in range(index.size):
            result[j] = row[index[j]]


# -- conversions ---------------------------------------------------------------------------------------------


@compiled(nogil=True)
def narrow(codes, lowest, drop, most, sign_at, nan, out):
    """Codes of f32 -> those of a float of 8 bits or fewer, to nearest even, saturated.

    `lowest` is the target's smallest normal value, as a code of f32, `drop` how many bits of fraction it has
    fewer. The sum of a value and 1.5 * 2**(exponent + drop) is rounded to the bits that are kept, since f32
    has no room for the others; by how much its code is larger is the significand, in units of the last place.
    With the exponent on top of it, that is the code. Subnormals have the exponent of `lowest`. Where the sum
    overflows, the exponent alone makes the code larger than `most`, that of the largest value.
    """
    magic = np.uint32(lowest + np.uint32(np.uint32(drop << np.uint32(23)) + np.uint32(1 << 22)))
    exponent_at = np.uint16(drop - np.uint32(16)) & np.uint16(15)
    sign_down = np.uint16(15 - sign_at) & np.uint16(15)
    sign = np.uint16(1 << sign_at)
    for i in range(codes.size):
        code = codes[i]
        value = np.uint32(code).view(np.float32)
        exponent = np.uint32(max(np.uint32(code & _INFINITE), lowest) - lowest)
        large = np.uint32(exponent + magic)
        total = np.float32(value + np.uint32(large).view(np.float32))
        units = np.int16(np.uint32(np.float32(total).view(np.uint32) - large))
        upper = np.uint16(exponent >> np.uint32(16))
        result = min(np.uint16(np.uint16(abs(units)) + np.uint16(upper >> exponent_at)), most)
        negative = np.uint16(np.uint16(np.uint16(code >> np.uint32(16)) >> sign_down) & sign)
        out[i] = np.uint8(np.uint16(result | negative) if value == value else nan)


@intrinsic
def _as_f16(_, value):
    """The code of a float32 as f16, as the processor rounds it."""

    def build(context, builder, signature, arguments):
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(value), build


@compiled(nogil=True)
def halves(values, out):
    """float32 -> codes of f16; every NaN is 0x7FFF."""
    for i in range(values.size):
        code = _as_f16(values[i])
        out[i] = np.uint16(0x7FFF) if np.uint16(code & np.uint16(0x7FFF)) > np.uint16(0x7C00) else code


@compiled(nogil=True)
def upper_halves(codes, out):
    """Codes of f32 -> codes of bf16, to nearest even; every NaN is 0x7FFF."""
    for i in range(codes.size):
        code = codes[i]
        odd = np.uint32(np.uint32(code >> np.uint32(16)) & np.uint32(1))
        rounded = np.uint16(np.uint32(np.uint32(code + np.uint32(0x7FFF)) + odd) >> np.uint32(16))
        is_nan = np.uint32(code & np.uint32(0x7FFFFFFF)) > _INFINITE
        out[i] = np.uint16(0x7FFF) if is_nan else rounded


@compiled(nogil=True)
def whole_numbers(values, lowest, highest, mask, out):
    """float32 -> whole numbers, to nearest even, saturated; NaN is 0."""
    for i in range(values.size):
        value = np.rint(values[i])
        value = value if value == value else np.float32(0)
        value = min(max(value, lowest), highest)
        out[i] = np.uint8(np.uint32(np.int32(value)) & mask)


@compiled(nogil=True)
def clamp(values, lowest, highest, mask, out):
    """int32 -> narrower integers, saturated."""
    for i in range(values.size):
        value = min(max(values[i], lowest), highest)
        out[i] = np.uint8(np.uint32(value) & mask)


@compiled(nogil=True)
def join_halves(pairs, out):
    """Two codes of 4 bits, each in its byte, in one."""
    for i in range(out.size):
        pair = pairs[i]
        out[i] = np.uint8(pair | np.uint16(pair >> np.uint16(4)))
