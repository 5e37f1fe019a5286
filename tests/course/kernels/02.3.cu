//! right: four lines
    int c = thread_in_group() * 2;
    d[0] = bias[c];
    d[1] = bias[c + 1];
    d[2] = bias[c];
    d[3] = bias[c + 1];
//! right: a nested loop
    for (int row = 0; row < 2; row++) {
        for (int col = 0; col < 2; col++) {
            d[row * 2 + col] = bias[2 * thread_in_group() + col];
        }
    }
//! right: a chain of assignments
    d[0] = d[2] = bias[2 * thread_in_group()];
    d[1] = d[3] = bias[2 * thread_in_group() + 1];
//! right: float2
    float2 two = ((const float2*)bias)[thread_in_group()];
    d[0] = two.x; d[1] = two.y; d[2] = two.x; d[3] = two.y;
//! right: bits of the lane
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) d[i] = bias[(lane & 3) << 1 | (i & 1)];
//! right: a template over the register
template <int i> __device__ float at(const float* bias) { return bias[thread_in_group() * 2 + i % 2]; }
__device__ void start(float* d, const float* bias) {
    d[0] = at<0>(bias), d[1] = at<1>(bias), d[2] = at<2>(bias), d[3] = at<3>(bias);
}
//! wrong: by rows
//! hint: Every *row* of D starts with its own number.
    for (int r = 0; r < 4; r++) d[r] = bias[group()];
//! wrong: the same for all lanes
//! hint: Every lane starts with bias[0] to bias[3].
    for (int i = 0; i < 4; i++) { d[i] = bias[i]; }
//! wrong: half of the registers
//! hint: Rows 0 to 7 are right, rows 8 to 15 are not: which columns do `d[2]` and `d[3]`
    d[0] = bias[thread_in_group() * 2];
    d[1] = bias[thread_in_group() * 2 + 1];
//! wrong: one column for a lane
//! hint: The even columns are right, the odd ones are not: a lane holds two columns.
    for (int r = 0; r < 4; r++) d[r] = bias[thread_in_group() * 2];
//! wrong: it adds
//! hint: You add to registers that no instruction has written; use =.
    for (int r = 0; r < 4; r++) d[r] += bias[thread_in_group() * 2 + r % 2];
//! wrong: by the number of the thread
//! hint: There are 8 columns and 8 numbers: which of them does a lane need?
    for (int r = 0; r < 4; r++) d[r] = bias[threadIdx.x * 2 + r % 2];
