//! right: braces
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += a * x[i];
    }
//! right: early return
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    if (tid >= n) return;
    y[tid] = y[tid] + a * x[tid];
//! right: fmaf, unsigned numbers
    const unsigned int idx = blockDim.x * blockIdx.x + threadIdx.x;
    if (idx < (unsigned)n) y[idx] = fmaf(a, x[idx], y[idx]);
//! right: grid-stride loop
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = a * x[i] + y[i];
    }
//! right: a helper function
__device__ int global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
    if (global_id() < n) {
        float product = a * x[global_id()];
        y[global_id()] += product;
    }
}
//! right: pointers, __restrict__, a comment
extern "C" __global__ void axpy(float a, const float* __restrict__ x, float* __restrict__ y, int n)
{
    // number of this thread in the grid
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) { float* to = y + at; *to += *(x + at) * a; }
}
//! right: a template
template <typename T> __device__ void add(T a, const T* x, T* y) { *y += a * *x; }
extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) add(a, x + i, y + i);
}
//! wrong: no comparison with n
//! hint: Threads beyond the last element must do nothing
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] += a * x[i];
//! wrong: one too many
//! hint: Threads beyond the last element must do nothing
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) y[i] += a * x[i];
//! wrong: a fixed number of elements
//! hint: The first 1000 elements are right, the others are not
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i < 1000) y[i] += a * x[i];
//! wrong: every block takes the same elements
//! hint: Only the first elements are right, as many as a block has threads: every block does
    int i = threadIdx.x;
    if (i < n) { y[i] += a * x[i]; }
//! wrong: a fixed number of threads in a block
//! hint: It can ask for their size.
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] += a * x[i];
//! wrong: one thread does it all, in every block
//! hint: y is right, but only by luck: several blocks add to the same elements, and on a GPU
    if (threadIdx.x == 0) for (int i = 0; i < n; i++) y[i] += a * x[i];
//! wrong: it replaces y
//! hint: y is replaced: the task is to *add* to it.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
//! wrong: a variable that is not declared
//! hint: does not compile
    if (i < n) y[i] += a * x[i];
