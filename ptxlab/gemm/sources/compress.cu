// Structured sparsity on the GPU: pruning a matrix, and compressing one that has the structure.
//
// A row of A is cut into chunks: four elements of 8 or 16 bits, of which two are kept (2:4), or two tf32 of which one is
// kept (1:2). Compression splits A into the kept half, row-major, and the metadata, one 4-bit nibble for every chunk,
// which says where the kept elements stood.
//
// The order of the metadata. The sparse matrix instructions want the nibbles in a register, E, of each lane. A warp that
// multiplies 16 rows of A needs 16 chunks a row to fill one register in each of its lanes. Both mma.sp (one warp, 16 rows)
// and wgmma.sp (four warps, 64 rows) give lane l of warp w the same nibbles, so one order serves both:
//
//     unsigned metadata[M / 64][chunks / 16][4 warps][32 lanes]
//
// A k-step then costs one coalesced load of 128 bytes a warp, at whatever depth of the pipeline; the words of several
// steps are contiguous, so that a bulk copy can bring them to shared memory with the tiles.
//
// One thread makes one word, in the place where a lane will want it:
//   - 16 and 32 bits: a word is chunks 4q..4q+3 of row g and of row g + 8, with q = lane % 4 and g = lane / 4.
//     A k-step has 8 chunks: lanes with q = 0, 1 hold those of an even step (selector 0), the others those of an odd one.
//   - 8 bits: a word is chunks 8h..8h+7 of row g + 8 * (lane % 2), with h = lane / 2 % 2. A k-step has all 16 chunks.

#include <stdint.h>

typedef unsigned long long Chunk;  // its elements as one number, the first in the low bits

template <typename Code> struct Sparsity {
    static constexpr int bits = 8 * sizeof(Code);
    static constexpr int chunk = bits == 32 ? 2 : 4;     // elements of a chunk
    static constexpr int keep = chunk / 2;               // elements that are kept of it
    static constexpr int rows = bits == 8 ? 1 : 2;       // rows of which one word of metadata tells
    static constexpr int chunks = 8 / rows;              // neighbouring chunks in each of them: 32 bytes in every type
};

// The chunk of a row that begins at `column`; beyond the matrix elements are zero.
template <typename Code>
__device__ Chunk load_chunk(const Code* row, int column, int columns)
{
    using S = Sparsity<Code>;
    Chunk chunk = 0;
    for (int i = 0; i < S::chunk; ++i) {
        if (column + i < columns) chunk |= (Chunk)row[column + i] << S::bits * i;
    }
    return chunk;
}

// Compresses A [rows, columns], whose rows are `pitch` elements apart, into stored [rows, words * 8 chunks] and metadata.
// `magnitude` has the bits that are set in some non-zero element: a float without its sign is zero or not.
// A chunk with too many non-zero elements goes to violations: [0] the first, as its number << 3 | non-zeros; [1] how many.
// grid: (words in a row of 16 chunks each, blocks of 64 rows), 128 threads.
template <typename Code>
__global__ void __launch_bounds__(128) compress(
    const Code* A, int rows, int columns, long long pitch, uint32_t magnitude, Code* stored, uint32_t* metadata,
    unsigned long long* violations)
{
    using S = Sparsity<Code>;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int stored_columns = gridDim.x * 16 * S::keep;
    const bool vectors = ((size_t)A | pitch * sizeof(Code)) % 16 == 0;
    uint32_t word = 0;
    for (int part = 0; part < S::rows; ++part) {
        const int row = 64 * blockIdx.y + 16 * warp + lane / 4 + 8 * (S::rows == 2 ? part : lane % 2);
        const int first_chunk = 16 * blockIdx.x + S::chunks * (S::rows == 2 ? lane % 4 : lane / 2 % 2);
        const int first_column = first_chunk * S::chunk;

        // 32 bytes of A: all chunks of this part, each as one number
        Chunk chunks[S::chunks] = {};
        if (row < rows) {
            const Code* source = A + row * pitch;
            if (vectors && first_column + S::chunks * S::chunk <= columns) {
                const uint4 low = *(const uint4*)(source + first_column);
                const uint4 high = *(const uint4*)(source + first_column + 16 / sizeof(Code));
                const uint32_t words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
                for (int i = 0; i < S::chunks; ++i) {
                    chunks[i] = S::bits == 8 ? words[i] : words[2 * i % 8] | (Chunk)words[(2 * i + 1) % 8] << 32;
                }
            } else {
                for (int i = 0; i < S::chunks; ++i) {
                    chunks[i] = load_chunk(source, first_column + i * S::chunk, columns);
                }
            }
        }

        Chunk kept_elements[2] = {};   // 16 bytes
        for (int i = 0; i < S::chunks; ++i) {
            uint32_t kept = 0;   // a bit for each element of the chunk: first those that are not zero,
            for (int element = 0; element < S::chunk; ++element) {
                if ((uint32_t)(chunks[i] >> S::bits * element) & magnitude) kept |= 1 << element;
            }
            const int non_zeros = __popc(kept);
            if (non_zeros > S::keep) {
                const int in_a_row = (columns + S::chunk - 1) / S::chunk;
                const unsigned long long number = (unsigned long long)row * in_a_row + first_chunk + i;
                atomicMin(violations, number << 3 | non_zeros);
                atomicAdd(violations + 1, 1ull);
            }
            while (__popc(kept) < S::keep) kept |= kept + 1;   // then the first zeros, until there are enough

            const int first = __ffs(kept) - 1, last = 31 - __clz(kept);
            const Chunk code = (Code)(chunks[i] >> S::bits * first);
            Chunk elements = code;
            uint32_t nibble = first | last << 2;
            if (S::keep == 2) elements |= (Chunk)(Code)(chunks[i] >> S::bits * last) << S::bits;
            if (S::keep == 1) nibble = first ? 0xe : 0x4;   // tf32: one element counts as two halves
            const int per_number = S::chunks / 2;
            kept_elements[i / per_number] |= elements << S::bits * S::keep * (i % per_number);
            word |= nibble << 4 * (part * S::chunks + i);
        }
        if (row < rows) {
            Code* target = stored + (long long)row * stored_columns + first_chunk * S::keep;
            *(ulonglong2*)target = make_ulonglong2(kept_elements[0], kept_elements[1]);
        }
    }
    metadata[((long long)blockIdx.y * gridDim.x + blockIdx.x) * 128 + threadIdx.x] = word;
}

// How large an element is, as a number to compare: of floats, the code without its sign; NaN counts as infinity.
enum Kind { FLOAT, SIGNED, UNSIGNED };

template <typename Code>
__device__ uint32_t size_of(Code code, Kind kind, uint32_t infinity)
{
    if (kind == UNSIGNED) return code;
    if (kind == SIGNED) return abs((int)(signed char)code);
    return min((uint32_t)code & (uint32_t)(Code)~0 >> 1, infinity);
}

// The nearest matrix that has the structure: the largest elements of every chunk stay, of equal ones the first.
// Columns are a multiple of a chunk, so that the matrix is a row of `count` chunks.
template <typename Code>
__global__ void prune(const Code* A, Code* pruned, long long count, int kind, uint32_t infinity)
{
    using S = Sparsity<Code>;
    const long long number = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= count) return;
    Code codes[S::chunk];
    uint32_t sizes[S::chunk];
    for (int i = 0; i < S::chunk; ++i) {
        codes[i] = A[number * S::chunk + i];
        sizes[i] = size_of(codes[i], (Kind)kind, infinity);
    }
    for (int i = 0; i < S::chunk; ++i) {
        int rank = 0;   // elements that go before this one
        for (int j = 0; j < S::chunk; ++j) {
            if (sizes[j] > sizes[i] || (sizes[j] == sizes[i] && j < i)) ++rank;
        }
        pruned[number * S::chunk + i] = rank < S::keep ? codes[i] : Code(0);
    }
}
