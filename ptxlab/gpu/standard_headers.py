"""C and C++ headers that kernels include and NVRTC does not provide."""

from __future__ import annotations

_INTEGERS = """#pragma once
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed long long intptr_t;
typedef unsigned long long uintptr_t;
#define INT8_MAX 127
#define INT8_MIN (-128)
#define UINT8_MAX 255
#define INT16_MAX 32767
#define INT16_MIN (-32768)
#define UINT16_MAX 65535
#define INT32_MAX 2147483647
#define INT32_MIN (-2147483647 - 1)
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807ll
#define INT64_MIN (-9223372036854775807ll - 1)
#define UINT64_MAX 18446744073709551615ull
"""
_LIMITS = """#pragma once
#define CHAR_BIT 8
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define LLONG_MIN (-9223372036854775807ll - 1)
#define ULLONG_MAX 18446744073709551615ull
"""
_FLOATS = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define FLT_MANT_DIG 24
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MANT_DIG 53
"""
_MATHEMATICS = """#pragma once
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_SQRT2 1.41421356237309504880
"""
_NOTHING = "#pragma once\n"
#: C++ headers that libcu++ provides as <cuda/std/...>.
LIBRARY_HEADERS = ("array", "bit", "complex", "functional", "limits", "tuple", "type_traits", "utility")


#: The text of each header, by the name in `#include`.
STANDARD_HEADERS: dict[str, str] = {
    **dict.fromkeys(("stdint.h", "cstdint", "inttypes.h", "cinttypes"), _INTEGERS),
    **dict.fromkeys(("limits.h", "climits"), _LIMITS),
    **dict.fromkeys(("float.h", "cfloat"), _FLOATS),
    **dict.fromkeys(("math.h", "cmath"), _MATHEMATICS),
    **dict.fromkeys(("stdio.h", "cstdio", "stdlib.h", "cstdlib", "string.h", "cstring"), _NOTHING),
    **dict.fromkeys(("assert.h", "cassert", "stddef.h", "cstddef", "stdbool.h", "cstdbool"), _NOTHING),
    **{
        name: f"#pragma once\n#include <cuda/std/{name}>\nnamespace std {{ using namespace ::cuda::std; }}\n"
        for name in LIBRARY_HEADERS
    },
}
