//! right: tile by tile
    for (int j = 0; j < 8; j++) {
        int column = 8 * j + 2 * thread_in_group();
        float low = bias[column], high = bias[column + 1];
        D[(group() * N + column) / 2] = pack(max(d[4 * j] + low, 0.0f), max(d[4 * j + 1] + high, 0.0f));
        D[((group() + 8) * N + column) / 2] =
            pack(max(d[4 * j + 2] + low, 0.0f), max(d[4 * j + 3] + high, 0.0f));
    }
//! right: pairs of accumulators
    #pragma unroll
    for (int i = 0; i < 32; i += 2) {
        const int row = group() + (i / 2 % 2) * 8;
        const int col = i / 4 * 8 + thread_in_group() * 2;
        float x = fmaxf(d[i] + bias[col], 0.f);
        float y = fmaxf(d[i + 1] + bias[col + 1], 0.f);
        D[(row * N + col) / 2] = pack(x, y);
    }
//! right: a helper for ReLU, rows outside
__device__ float relu(float x) { return x > 0 ? x : 0; }
__device__ void store(const float* d, const float* bias, unsigned* D, int N) {
    for (int half = 0; half < 2; ++half)
        for (int j = 0; j < 8; ++j) {
            int row = group() + 8 * half, column = 8 * j + 2 * thread_in_group();
            const float* two = d + 4 * j + 2 * half;
            D[(row * N + column) / 2] = pack(relu(two[0] + bias[column]), relu(two[1] + bias[column + 1]));
        }
}
//! right: pointers to rows, float2
    unsigned* upper = D + group() * N / 2 + thread_in_group();
    unsigned* lower = upper + 4 * N;
    const float2* pairs = (const float2*)bias + thread_in_group();
    for (int j = 0; j < 8; j++, d += 4) {
        float2 b = pairs[4 * j];
        upper[4 * j] = pack(max(d[0] + b.x, 0.0f), max(d[1] + b.y, 0.0f));
        lower[4 * j] = pack(max(d[2] + b.x, 0.0f), max(d[3] + b.y, 0.0f));
    }
//! right: first the numbers, then the stores
    float r[32];
    for (int i = 0; i < 32; i++) {
        r[i] = d[i] + bias[i / 4 * 8 + thread_in_group() * 2 + i % 2];
        if (r[i] < 0) r[i] = 0;
    }
    for (int i = 0; i < 16; i++) {
        int row = group() + i % 2 * 8, column = i / 2 * 8 + thread_in_group() * 2;
        D[row * N / 2 + column / 2] = pack(r[2 * i], r[2 * i + 1]);
    }
//! wrong: by rows
//! hint: Every *row* has its own bias.
    for (int i = 0; i < 32; i += 2) {
        int row = group() + i / 2 % 2 * 8, col = i / 4 * 8 + thread_in_group() * 2;
        D[(row * N + col) / 2] = pack(max(d[i] + bias[row], 0.0f), max(d[i + 1] + bias[row], 0.0f));
    }
//! wrong: ReLU first
//! hint: ReLU comes first here, so that negative numbers appear again.
    for (int i = 0; i < 32; i += 2) {
        int row = group() + i / 2 % 2 * 8, col = i / 4 * 8 + thread_in_group() * 2;
        D[(row * N + col) / 2] = pack(max(d[i], 0.0f) + bias[col], max(d[i + 1], 0.0f) + bias[col + 1]);
    }
//! wrong: no ReLU
//! hint: Where is ReLU?
    for (int i = 0; i < 32; i += 2) {
        int row = group() + i / 2 % 2 * 8, col = i / 4 * 8 + thread_in_group() * 2;
        D[(row * N + col) / 2] = pack(d[i] + bias[col], d[i + 1] + bias[col + 1]);
    }
//! wrong: 128 columns for every N
//! hint: D has N elements in a row, two in each word: which word holds the elements of a
    for (int i = 0; i < 32; i += 2) {
        int row = group() + i / 2 % 2 * 8, col = i / 4 * 8 + thread_in_group() * 2;
        D[(row * 128 + col) / 2] = pack(max(d[i] + bias[col], 0.0f), max(d[i + 1] + bias[col + 1], 0.0f));
    }
//! wrong: swapped neighbours
//! hint: Neighbouring columns are swapped: the first argument of `pack` goes to the lower
    for (int i = 0; i < 32; i += 2) {
        int row = group() + i / 2 % 2 * 8, col = i / 4 * 8 + thread_in_group() * 2;
        D[(row * N + col) / 2] = pack(max(d[i + 1] + bias[col + 1], 0.0f), max(d[i] + bias[col], 0.0f));
    }
//! wrong: words as elements
//! hint: D has N elements in a row, two in each word: which word holds the elements of a
    for (int i = 0; i < 32; i += 2) {
        int row = group() + i / 2 % 2 * 8, col = i / 4 * 8 + thread_in_group() * 2;
        D[row * N + col] = pack(max(d[i] + bias[col], 0.0f), max(d[i + 1] + bias[col + 1], 0.0f));
    }
