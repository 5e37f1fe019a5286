"""What a name needs that a kernel's compiler does not know: a header, or something else in its place."""

from __future__ import annotations

import re

#: The header that declares a name, for both compilers.
_DECLARED_BY = {
    "cuda_fp16.h": r"(__)?half2?|__\w+2half2?(_r[nzud])?|__half2?2\w+|__\w+2half2_rn|__(low|high)2?half2?\w*"
    r"|__h(add|sub|mul|fma|div|neg|abs|max|min|eq|ne|lt|le|gt|ge)2?|h2?(sqrt|rsqrt|exp2?|log2?|rcp|sin|cos)",
    "cuda_bf16.h": r"__nv_bfloat162?|__\w*bfloat16\w*",
    "cuda_fp8.h": r"__nv_(fp8|cvt)\w*",
    "cooperative_groups.h": r"cooperative_groups(::.*)?",
    "cuda_pipeline.h": r"__pipeline_\w+",
    "cuda/barrier": r"cuda::(barrier|thread_scope_\w+|aligned_size_t|device::\w+)",
    "cuda/pipeline": r"cuda::(make_pipeline|pipeline\w*|memcpy_async)",
    "limits": r"(cuda::)?std::numeric_limits",
    "type_traits": r"(cuda::)?std::(is_\w+|enable_if\w*|conditional\w*|remove_\w+|decay\w*)",
    "utility": r"(cuda::)?std::(move|forward|swap|pair|make_pair|declval)",
}
#: What no compiler of kernels has.
_NOWHERE = {
    r"cuda(Malloc|Free|Mem|Device|Stream|Event|Get|Set|Launch|Func|Error)\w*": (
        "the host's part is Python here: pass arrays to simulate or launch"
    ),
    r"(std::)?(vector|string|map|set|list|deque|unordered_map)": (
        "a kernel has no containers: use an array, or pass a pointer"
    ),
    r"(std::)?(cout|cerr|endl|iostream|iomanip|sstream|fstream)": "a kernel writes with printf",
    r"std::(max|min|abs|sqrt|exp|log|pow|sin|cos|fabs|fma)": "CUDA has it without std::",
    r"(std::)?(sort|accumulate|transform|reduce|fill|copy|numeric)": "write the loop",
    r"(std::)?(thread|mutex|atomic|chrono|future|memory|shared_ptr|unique_ptr)": "only the host has it",
    r"texture": "CUDA 12 removed texture references: pass a pointer, or a cudaTextureObject_t",
    r"__shfl(_up|_down|_xor)?": "since Volta it ends in _sync, and the mask of lanes comes first",
    r"curand\w*": "pass random numbers as an array",
    r"thrust(/.*|::.*)?": "pass pointers to the kernel",
}
_FUNCTIONS = (
    r"(cyl_bessel_i[01]|jn|yn|r?norm[34]?d?|rhypot|remquo|scalbln|ilogb|sincospi|tgamma)f?|h(2)?(exp10|log10)"
)
_CONVERSIONS = r"__\w+2(half|bfloat16|u?short|u?char)_r[nzud]|__(half|bfloat16)2(u?short|u?char)_r[nzud]"
_OF_PARTS = r"__v(abs|add|avg|cmp|hadd|max|min|neg|sad|set|sub)\w+|__vi(b|add)?(max|min)\w+"
#: What NVRTC and NVIDIA's headers have, and ptxlab's header for Clang has not.
_LACKING = {
    r"cudaTextureObject_t|tex(1D|2D|3D|Cubemap)\w*": "read through a pointer, with __ldg",
    r"cudaSurfaceObject_t|surf(1D|2D|3D|Cubemap)\w*": "read and write through a pointer",
    r".*(labeled_partition|binary_partition)": "use __match_any_sync and __shfl_sync",
    r".*(inclusive_scan|exclusive_scan)(_update)?": "write the scan with __shfl_up_sync",
    r".*(invoke_one|invoke_one_broadcast)": "write if (thread_rank() == 0)",
    r"cuda::pipeline_(shared_state|role)": "use cuda::make_pipeline() of one thread, or cuda::barrier",
    r"cuda::atomic(_ref|_thread_fence)?": "use atomicAdd and kin",
    r"cuda::(latch|counting_semaphore|binary_semaphore)": "use cuda::barrier",
    r"cuda::ptx(::.*)?": "write inline PTX",
    r"cuda::std::(array|span|tuple|optional|variant|complex|mdspan)": "use a plain array or a struct",
    r"nvcuda(::.*)?|wmma(::.*)?": "write mma.sync as inline PTX",
    r"__nv_fp[46]\w*|__nv_cvt_\w*fp[46]\w*": "write cvt as inline PTX",
    r"__hb?(eq|ne|lt|le|gt|ge)u2?(_mask)?|__h\w+2_mask": "compare the halves as floats",
    r"__hcmadd": "write it with __hfma2",
    _CONVERSIONS: "convert through float or int",
    _OF_PARTS: "compute the parts one by one, or write inline PTX",
    r"__ballot|__any|__all": "use it with _sync, and the mask of lanes first",
    r"__u128Atomic\w+": "write atom.b128 as inline PTX",
    _FUNCTIONS: "compute it from functions that it has",
}
#: A compiler says that it does not know a name.
_UNKNOWN = re.compile(
    r"undeclared identifier|unknown type name|no (?:member|template|type) named|file not found|is undefined"
    r"|has no member|cannot open source file|namespace name|is not a template|must be a class or namespace"
)
_QUOTED = re.compile(r"""['"](\w[\w:./+-]*)['"]""")
_WORD = re.compile(r"[A-Za-z_]\w*(?:::\w+)*")


def remedy(message: str, line: str, source: str, *, by_clang: bool) -> str | None:
    """What helps against a compiler's message in that line of the source; None if it is not about a name
    that is known here.

    >>> remedy("unknown type name 'half'", "half x = 1;", "", by_clang=True)
    '#include <cuda_fp16.h> declares it'
    >>> remedy('identifier "cudaMalloc" is undefined', "cudaMalloc(&x, 4);", "", by_clang=False)
    "the host's part is Python here: pass arrays to simulate or launch"
    """
    if not _UNKNOWN.search(message):
        return None
    quoted = _QUOTED.search(message)
    words = _WORD.findall(line)
    if quoted is None:  # "name must be a namespace name"
        names = words
    else:
        qualified = [word for word in words if quoted[1] in word.split("::")]
        names = [*qualified, quoted[1]]
    for name in names:
        for header, pattern in _DECLARED_BY.items():
            if re.fullmatch(pattern, name) and f"<{header}>" not in source:
                return f"#include <{header}> declares it"
        if by_clang:
            for pattern, instead in _LACKING.items():
                if re.fullmatch(pattern, name):
                    return f"ptxlab's header for Clang has no {name}: {instead}, or compile with NVRTC"
        for pattern, instead in _NOWHERE.items():
            if re.fullmatch(pattern, name):
                return instead
    return None
