// y = x w: a block for each row of x and each 32 columns of w, and a warp for each part of K
extern "C" __global__ void product(const float* x, const float* w, float* y, int N, int K)
{
    __shared__ float sums[8][32];
    int column = 32 * blockIdx.y + threadIdx.x % 32;
    int part = threadIdx.x / 32, parts = blockDim.x / 32;
    float sum = 0;
    for (int k = part * (K / parts); k < (part + 1) * (K / parts); k++)
        sum += x[blockIdx.x * K + k] * w[k * N + column];
    sums[part][threadIdx.x % 32] = sum;
    __syncthreads();
    if (part == 0) {
        for (int i = 1; i < parts; i++)
            sum += sums[i][threadIdx.x];
        y[blockIdx.x * N + column] = sum;
    }
}

// attention of one query to all keys: a block for each query, a lane for each of 32 dimensions, a warp for each part of the keys
extern "C" __global__ void attend(const float* q, const float* keys, const float* values, float* out, int count)
{
    __shared__ float most[8], total[8], sums[8][32];
    int lane = threadIdx.x % 32, part = threadIdx.x / 32, parts = blockDim.x / 32;
    float m = -1e30f, weights = 0, sum = 0;
    for (int k = part * (count / parts); k < (part + 1) * (count / parts); k++) {
        float score = q[blockIdx.x * 32 + lane] * keys[k * 32 + lane];
        for (int step = 16; step > 0; step /= 2)
            score += __shfl_xor_sync(0xffffffff, score, step);
        float larger = fmaxf(m, score), scale = __expf(m - larger), weight = __expf(score - larger);
        weights = weights * scale + weight;
        sum = sum * scale + weight * values[k * 32 + lane];
        m = larger;
    }
    sums[part][lane] = sum;
    if (lane == 0) {
        most[part] = m;
        total[part] = weights;
    }
    __syncthreads();
    if (part == 0) {
        for (int i = 1; i < parts; i++) {
            float larger = fmaxf(m, most[i]), scale = __expf(m - larger), other = __expf(most[i] - larger);
            weights = weights * scale + total[i] * other;
            sum = sum * scale + sums[i][lane] * other;
            m = larger;
        }
        out[blockIdx.x * 32 + lane] = sum / weights;
    }
}

// 1: every block adds its part to y
extern "C" __global__ void total_1(const float* x, float* y, int n)
{
    float sum = 0;
    for (int k = blockIdx.x * n; k < (blockIdx.x + 1) * n; k++)
        sum += x[k];
    atomicAdd(y, sum);
}

// 2: the same with whole numbers
extern "C" __global__ void total_2(const int* x, int* y, int n)
{
    int sum = 0;
    for (int k = blockIdx.x * n; k < (blockIdx.x + 1) * n; k++)
        sum += x[k];
    atomicAdd(y, sum);
}

// 3: one block; its warps leave their sums in shared memory, and thread 0 adds them in order
extern "C" __global__ void total_3(const float* x, float* y, int n)
{
    __shared__ float sums[32];
    int warp = threadIdx.x / 32;
    float sum = 0;
    for (int k = warp * n + threadIdx.x % 32; k < (warp + 1) * n; k += 32)
        sum += x[k];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0)
        sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < blockDim.x / 32; i++)
            sum += sums[i];
        y[0] = sum;
    }
}

// 4: one block; its threads add to shared memory, and thread 0 stores the sum
extern "C" __global__ void total_4(const float* x, float* y, int n)
{
    __shared__ float sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0)
        y[0] = sum;
}

// y[row] is the sum of a row: a block for each row
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
