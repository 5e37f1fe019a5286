//! right: 64 partial sums, whatever the block
extern "C" __global__ void row_sum(const float* x, float* y, int K)
{
    __shared__ float sums[64];
    if (threadIdx.x < 64) {
        float sum = 0;
        for (int k = threadIdx.x; k < K; k += 64)
            sum += x[blockIdx.x * K + k];
        sums[threadIdx.x] = sum;
    }
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}
//! right: 256 partial sums, some threads have several
extern "C" __global__ void row_sum(const float* x, float* y, int K) {
    __shared__ float sums[256];
    for (int part = threadIdx.x; part < 256; part += blockDim.x) {
        float s = 0;
        for (int k = part; k < K; k += 256) s += x[(size_t)blockIdx.x * K + k];
        sums[part] = s;
    }
    __syncthreads();
    for (int n = 128; n; n >>= 1) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) sums[i] += sums[i + n];
        __syncthreads();
    }
    if (!threadIdx.x) y[blockIdx.x] = sums[0];
}
//! right: one warp and shuffles
extern "C" __global__ void row_sum(const float* __restrict__ x, float* y, int K) {
    if (threadIdx.x >= 32) return;
    float s = 0;
    for (int k = threadIdx.x; k < K; k += 32) s += x[blockIdx.x * K + k];
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
}
//! right: one thread
extern "C" __global__ void row_sum(const float* x, float* y, int K) {
    if (threadIdx.x == 0) {
        float s = 0;
        for (int k = 0; k < K; ++k) s += x[blockIdx.x * K + k];
        y[blockIdx.x] = s;
    }
}
//! right: two warps with neighbouring elements
extern "C" __global__ void row_sum(const float* x, float* y, int K) {
    const int LANES = 64;
    __shared__ float part[LANES];
    const float* row = x + blockIdx.x * K;
    int each = (K + LANES - 1) / LANES;
    if (threadIdx.x < LANES) {
        float total = 0.0f;
        for (int k = threadIdx.x * each; k < min(K, (int)(threadIdx.x + 1) * each); k++) total += row[k];
        part[threadIdx.x] = total;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = part[0];
        for (int i = 1; i < LANES; i++) total = total + part[i];
        y[blockIdx.x] = total;
    }
}
//! wrong: as it was
//! hint: The sums are right, but a row has one tree with 256 threads and another with 64
extern "C" __global__ void row_sum(const float* x, float* y, int K)
{
    __shared__ float sums[256];
    float sum = 0;
    for (int k = threadIdx.x; k < K; k += blockDim.x)
        sum += x[blockIdx.x * K + k];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = sums[0];
}
//! wrong: atomic additions
//! hint: another run may give other bits
extern "C" __global__ void row_sum(const float* x, float* y, int K) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < K; k += blockDim.x) atomicAdd(&sum, x[blockIdx.x * K + k]);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
//! wrong: a fixed step, but all threads add
//! hint: is not the sum of its row
extern "C" __global__ void row_sum(const float* x, float* y, int K) {
    __shared__ float sums[256];
    float sum = 0;
    for (int k = threadIdx.x; k < K; k += 64) sum += x[blockIdx.x * K + k];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < blockDim.x; i++) sum += sums[i];
        y[blockIdx.x] = sum;
    }
}
//! wrong: a fixed tree over what the block has
//! hint: is not the sum of its row
extern "C" __global__ void row_sum(const float* x, float* y, int K) {
    __shared__ float sums[256];
    float sum = 0;
    for (int k = threadIdx.x; k < K; k += blockDim.x) sum += x[blockIdx.x * K + k];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}
//! wrong: no barrier
//! hint: The simulator reports
extern "C" __global__ void row_sum(const float* x, float* y, int K) {
    __shared__ float sums[64];
    if (threadIdx.x < 64) {
        float sum = 0;
        for (int k = threadIdx.x; k < K; k += 64) sum += x[blockIdx.x * K + k];
        sums[threadIdx.x] = sum;
    }
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < 64; i++) sum += sums[i];
        y[blockIdx.x] = sum;
    }
}
