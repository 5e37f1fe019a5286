"""OpenCL C as CUDA C++: by macros and functions, for kernels that use little of it."""

from __future__ import annotations

import re

from .launches import closing, split_arguments, without_comments

_DIMENSIONS = {
    "get_local_id": "threadIdx", "get_group_id": "blockIdx",
    "get_local_size": "blockDim", "get_num_groups": "gridDim",
}  # fmt: skip
_ATOMICS = {
    "add": "atomicAdd", "sub": "atomicSub", "xchg": "atomicExch", "min": "atomicMin", "max": "atomicMax",
    "and": "atomicAnd", "or": "atomicOr", "xor": "atomicXor", "cmpxchg": "atomicCAS",
}  # fmt: skip
_VECTORS = "u?char|u?short|u?int|u?long|float|double"

#: What kernels may call. A copy by the group is one by its threads, each of which
#: copies what another will use.
OPENCL = (
    """typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned long ulong;
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define M_PI_F 3.14159274f
#define barrier(...) __syncthreads()
#define mem_fence(...) __threadfence_block()
#define read_mem_fence(...) __threadfence_block()
#define write_mem_fence(...) __threadfence_block()
#define get_work_dim() 3u
#define get_global_offset(d) ((size_t)0)
#define NULL 0
#define restrict __restrict__
#define native_sin sinf
#define native_cos cosf
#define mad24(a, b, c) ((a) * (b) + (c))
#define mad(a, b, c) ((a) * (b) + (c))
typedef int event_t;
template <class T> __device__ T mul24(T a, T b) { return a * b; }
"""
    + "".join(
        f"__device__ unsigned long {name}(unsigned d) "
        f"{{ return d == 0 ? {register}.x : d == 1 ? {register}.y : {register}.z; }}\n"
        for name, register in _DIMENSIONS.items()
    )
    + "".join(
        f"#define {start}_{name}(p, ...) {function}(p, __VA_ARGS__)\n"
        for start in ("atomic", "atom")
        for name, function in _ATOMICS.items()
    )
    + "".join(
        f"#define {start}_inc(p) atomicAdd(p, 1)\n#define {start}_dec(p) atomicSub(p, 1)\n"
        for start in ("atomic", "atom")
    )
    + "".join(
        f"__device__ {kind}{count} make_{kind}{count}({kind} x) "
        f"{{ return make_{kind}{count}({', '.join('x' * count)}); }}\n"
        for kind in ("int", "uint", "float")
        for count in (2, 3, 4)
    )
    + """__device__ unsigned long get_global_id(unsigned d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d);
}
__device__ unsigned long get_global_size(unsigned d) { return get_num_groups(d) * get_local_size(d); }
template <class T, class U>
__device__ event_t async_work_group_copy(T* to, const U* from, unsigned long count, event_t) {
  unsigned long threads = blockDim.x * blockDim.y * blockDim.z;
  unsigned long thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  for (unsigned long i = threads - 1 - thread; i < count; i += threads) to[i] = from[i];
  return 0;
}
__device__ void wait_group_events(int, event_t*) { __syncthreads(); }
"""
)

#: What a kernel finds in its local memory, and what is made of it afterwards: stores that nobody reads do
#: not count.
_BEFORE = """extern __shared__ ulonglong2 ptxlab_local[];
unsigned ptxlab_thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
unsigned ptxlab_threads = blockDim.x * blockDim.y * blockDim.z;
for (unsigned i = ptxlab_thread; i < SIZE; i += ptxlab_threads) ptxlab_local[i] = make_ulonglong2(0, 0);
__syncthreads();
"""
_AFTER = """__syncthreads();
unsigned long ptxlab_sum = 0;
for (unsigned i = ptxlab_thread; i < SIZE; i += ptxlab_threads)
  ptxlab_sum += ptxlab_local[i].x + ptxlab_local[i].y;
ptxlab_sums[blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)][ptxlab_thread] = ptxlab_sum;
"""


def local_bytes(threads: int) -> int:
    """Of local memory for arguments, where a kernel has some: 64 for each thread."""
    return min(max(64 * threads, 1 << 14), 1 << 16)


def as_cuda(text: str, threads: int) -> str:
    """The text with CUDA's qualifiers, and kernels around its own, which provide local memory."""
    text = re.sub(r"#\s*pragma\s+OPENCL[^\n]*", "", text)
    for word in ("kernel", "global", "local", "constant", "private"):
        text = re.sub(rf"(?<![\w.]){word}(?=\s+[A-Za-z_])", f"__{word}", text)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", text)
    text = re.sub(r"\b__(?:global|private|generic|read_only|write_only)\b", " ", text)
    text = re.sub(rf"\(\s*((?:{_VECTORS})[234])\s*\)\s*\(", r"make_\1(", text)
    plain = without_comments(text)
    wrappers = [
        _wrapper(plain, match, local_bytes(threads) // 16)
        for match in re.finditer(r"__kernel\s+void\s+(\w+)\s*\(", plain)
    ]
    text = re.sub(r"__constant\s+((?:const\s+)?[\w\s]+?\*)", r"\1", text)
    text = re.sub(r"__constant\b", "__constant__", text)
    text = re.sub(r"__local\s+((?:volatile\s+|const\s+)*(?:struct\s+|unsigned\s+)?\w+\s*\*)", r"\1", text)
    text = re.sub(r"\*\s*__local\b", "* __shared__", text)
    text = (
        re.sub(r"(\w+\s*\*?)\s+__local\b(?=\s*[*\w])", r"__shared__ \1", text) if "__local" in text else text
    )
    text = re.sub(r"__local\b", "__shared__", text)
    text = re.sub(r"__kernel\b", "__device__", text)
    return f"{text}\n{''.join(wrappers)}"


def _wrapper(plain: str, match: re.Match[str], size: int) -> str:
    """A kernel that calls the function which `__kernel` has become, with local memory of its own."""
    parameters = split_arguments(plain[match.end() : closing(plain, match.end())])
    local = [parameter for parameter in parameters if re.search(r"__local\b", parameter)]
    given, passed = [], []
    for parameter in parameters:
        if parameter == "void":
            continue
        if parameter in local:
            kind = re.sub(r"\b(__local|const|volatile|restrict|__restrict)\b|[*[].*", " ", parameter).split()
            kind = kind[:-1] if "*" not in parameter else kind
            offset = size // len(local) * local.index(parameter)
            passed.append(f"({' '.join(kind)}*)(ptxlab_local + {offset})")
        else:
            given.append(re.sub(r"__constant\b", "", parameter))
            passed.append(re.findall(r"\w+", parameter.split("[")[0])[-1])
    body = f"{match[1]}({', '.join(passed)});"
    if local:
        given.append("unsigned long (*ptxlab_sums)[1024]")
        body = f"{_BEFORE}{body}\n{_AFTER}".replace("SIZE", str(size))
    return f'extern "C" __global__ void ptxlab_{match[1]}({", ".join(given)}) {{\n{body}\n}}\n'
