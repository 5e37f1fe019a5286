// saxpy: clean
__global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i + 3 < n) {
        float4 u = reinterpret_cast<const float4*>(x)[i], v = reinterpret_cast<const float4*>(y)[i];
        reinterpret_cast<float4*>(z)[i] = {a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w};
    } else {
        for (int j = 4 * i; j < n; j++) z[j] = a * x[j] + y[j];
    }
}
