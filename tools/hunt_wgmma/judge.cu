// Compiled with M, K, CODE_C, CODE_D, CODE_B, FLOATS, C_EXPONENT, C_FRACTION defined. A and B come opened, one int an element:
// floats: significand << 16 | (exponent + 2048) << 4 | what it is; integers: the value.
enum { FINITE, ZERO, INFINITE, INVALID, ABSENT };

__device__ unsigned pick(unsigned seed, unsigned stream, unsigned long long at, unsigned size)
{
    unsigned long long x = at * 0x9E3779B97F4A7C15ull + ((unsigned long long)stream << 32 | seed);
    x ^= x >> 31; x *= 0xBF58476D1CE4E5B9ull; x ^= x >> 27; x *= 0x94D049BB133111EBull; x ^= x >> 31;
    return (unsigned)((x >> 32) % size);
}

// Which tile of A and which columns of B and C an MMA takes.
__device__ unsigned tile_of(unsigned seed, long long mma, unsigned size) { return pick(seed, 0, mma, size); }
__device__ unsigned column_of(unsigned seed, unsigned stream, long long mma, int n, unsigned size) { return pick(seed, stream, mma * 512 + n, size); }

extern "C" __global__ void gather_a(const unsigned* pool, unsigned* to, int words, unsigned size, unsigned seed, int count)
{
    const long long all = (long long)count * words;
    for (long long j = blockIdx.x * (long long)blockDim.x + threadIdx.x; j < all; j += (long long)gridDim.x * blockDim.x)
        to[j] = pool[(long long)tile_of(seed, j / words, size) * words + j % words];
}

extern "C" __global__ void gather_b(const CODE_B* pool, CODE_B* to, int n_all, unsigned size, unsigned seed, int count)
{
    const long long all = (long long)count * K * n_all;
    for (long long j = blockIdx.x * (long long)blockDim.x + threadIdx.x; j < all; j += (long long)gridDim.x * blockDim.x) {
        const long long mma = j / (K * n_all);
        const int k = j / n_all % K, n = j % n_all;
        to[j] = pool[(long long)column_of(seed, 1, mma, n, size) * K + k];
    }
}

// places[j]: row * 512 + column of the j-th element of the fragment.
extern "C" __global__ void gather_c(const CODE_C* pool, CODE_C* to, const int* places, int elements, unsigned size, unsigned seed, int count)
{
    const long long all = (long long)count * elements;
    for (long long j = blockIdx.x * (long long)blockDim.x + threadIdx.x; j < all; j += (long long)gridDim.x * blockDim.x) {
        const int place = places[j % elements];
        to[j] = pool[(long long)column_of(seed, 2, j / elements, place % 512, size) * M + place / 512];
    }
}

#if FLOATS
__device__ long long shifted(long long size, int by) { return by >= 0 ? size << by : by > -64 ? size >> -by : 0; }

__device__ unsigned stored(long long sum, int last, int result_bits)
{
    if (sum == 0) return 0;
    const unsigned long long size = sum < 0 ? -sum : sum;
    const int lowest = 2 - (1 << (C_EXPONENT - 1)), exponent = 63 - __clzll(size) + last;
    const int base = exponent > lowest ? exponent : lowest;
    const int kept_bits = C_EXPONENT == 5 ? C_FRACTION : result_bits;
    const int drop = base - kept_bits - last;
    unsigned long long kept = shifted(size, -drop);
    if (C_EXPONENT == 5 && drop > 0) {  // to nearest even; f32 is cut
        const unsigned long long rest = drop < 64 ? size & ((1ull << drop) - 1) : size, half = drop < 65 ? 1ull << (drop - 1) : ~0ull;
        if (rest > half || (rest == half && (kept & 1))) ++kept;
    }
    unsigned long long code = ((unsigned long long)(base - lowest) << C_FRACTION) + (kept << (C_FRACTION - kept_bits));
    const unsigned long long infinity = ((1ull << C_EXPONENT) - 1) << C_FRACTION;
    if (code > infinity) code = infinity;
    return (unsigned)code | (sum < 0 && code ? 1u << (C_EXPONENT + C_FRACTION) : 0);
}

__device__ unsigned judged(const int* a, const int* b, int stride, unsigned c, int fraction_bits, int result_bits, int floor, int point, int)
{
    const unsigned top_field = (1u << C_EXPONENT) - 1, c_field = c >> C_FRACTION & top_field, c_low = c & ((1u << C_FRACTION) - 1);
    const bool c_negative = c >> (C_EXPONENT + C_FRACTION) & 1;
    const unsigned nan = top_field << C_FRACTION | ((1u << C_FRACTION) - 1), infinity = top_field << C_FRACTION;
    bool invalid = c_field == top_field && c_low, up = c_field == top_field && !c_low && !c_negative, down = c_field == top_field && !c_low && c_negative;
    const long long c_size = c_field ? c_low | 1u << C_FRACTION : c_low;
    const int c_exponent = (c_field ? (int)c_field : 1) + 1 - (1 << (C_EXPONENT - 1));
    int top = floor;
    if (c_size && c_field != top_field && c_exponent > top) top = c_exponent;
    for (int k = 0; k < K; ++k) {
        const int x = a[k], y = b[k * stride], what = x & 15, other = y & 15;
        if (what == ABSENT) continue;
        if (what > ZERO || other > ZERO) {
            const bool negative = (x ^ y) < 0;
            if (what == INVALID || other == INVALID || what == ZERO || other == ZERO) invalid = true;
            else if (negative) down = true;
            else up = true;
        } else if (what == FINITE && other == FINITE) {
            const int exponent = (x >> 4 & 4095) + (y >> 4 & 4095) - 4096;
            if (exponent > top) top = exponent;
        }
    }
    if (invalid || (up && down)) return nan;
    if (up) return infinity;
    if (down) return infinity | 1u << (C_EXPONENT + C_FRACTION);
    const int last = top - fraction_bits;
    long long sum = shifted(c_size, c_exponent - C_FRACTION - last);
    if (c_negative) sum = -sum;
    for (int k = 0; k < K; ++k) {
        const int x = a[k], y = b[k * stride];
        if ((x & 15) != FINITE || (y & 15) != FINITE) continue;
        const int product = (x >> 16) * (y >> 16), exponent = (x >> 4 & 4095) + (y >> 4 & 4095) - 4096;
        const long long size = shifted(product < 0 ? -product : product, exponent - point - last);
        sum += product < 0 ? -size : size;
    }
    return stored(sum, last, result_bits);
}
#else
__device__ unsigned judged(const int* a, const int* b, int stride, unsigned c, int off, int, int, int, int satfinite)
{
    long long sum = (int)c + off;
    for (int k = 0; k < K; ++k) sum += (long long)a[k] * b[k * stride];
    if (satfinite) sum = sum > 2147483647ll ? 2147483647ll : sum < -2147483648ll ? -2147483648ll : sum;
    return (unsigned)sum;
}
#endif

// found[0]: how many elements differ; found[1]: the lowest (mma * M + m) * 512 + n of them.
extern "C" __global__ void judge(
    const int* a_pool, const int* b_pool, const CODE_C* c_pool, const CODE_D* d, const int* where, unsigned long long* found, int n_all,
    unsigned a_size, unsigned columns, unsigned seed, int count, int fraction_bits, int result_bits, int floor, int point, int satfinite)
{
    __shared__ int b[K * 32];
    const int tiles = (n_all + 31) / 32;
    unsigned long long differing = 0, lowest = ~0ull;
    for (long long tile = blockIdx.x; tile < (long long)count * tiles; tile += gridDim.x) {
        const long long mma = tile / tiles;
        const int first = tile % tiles * 32, n = first + threadIdx.x % 32;
        __syncthreads();
        for (int j = threadIdx.x; j < K * 32; j += blockDim.x)
            if (first + j / K < n_all) b[j % K * 32 + j / K] = b_pool[(long long)column_of(seed, 1, mma, first + j / K, columns) * K + j % K];
        __syncthreads();
        if (n >= n_all) continue;
        const int* a = a_pool + (long long)tile_of(seed, mma, a_size) * M * K;
        const CODE_C* c = c_pool + (long long)column_of(seed, 2, mma, n, columns) * M;
        for (int m = threadIdx.x / 32; m < M; m += blockDim.x / 32) {
            const unsigned want = judged(a + m * K, b + threadIdx.x % 32, 32, c[m], fraction_bits, result_bits, floor, point, satfinite);
            if (want != d[mma * M * n_all + where[m * n_all + n]]) {
                ++differing;
                const unsigned long long at = (mma * M + m) * 512 + n;
                if (at < lowest) lowest = at;
            }
        }
    }
    if (differing) {
        atomicAdd(found, differing);
        atomicMin(found + 1, lowest);
    }
}
