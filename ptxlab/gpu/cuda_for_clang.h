// CUDA's words for Clang. ptxlab includes this header before a kernel's source where Clang is the compiler.
//
// The text is ptxlab's own. What PTX has as an instruction is that instruction. `#include <cuda_fp16.h>` and
// the other headers of CUDA define PTXLAB_... and include this file again, which then adds their part.
#pragma clang system_header

#ifndef PTXLAB_CUDA
#define PTXLAB_CUDA

// -- words of the language ----------------------------------------------------------------------------------

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) __attribute__((annotate("ptxlab_cluster", __VA_ARGS__)))
#define __grid_constant__ __attribute__((grid_constant))
#define __maxnreg__(count) __attribute__((maxnreg(count)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __managed__ _Pragma("GCC error \"ptxlab's header for Clang has no __managed__: write __device__\"")

// A function of this header. Its instructions have the line of the call.
#define PTXLAB_FN static __inline__ __attribute__((device, always_inline, nodebug))
#define PTXLAB_BOTH static constexpr __inline__ __attribute__((host, device, always_inline, nodebug))
#define PTXLAB_METHOD __attribute__((host, device, always_inline, nodebug)) __inline__
#define PTXLAB_LACKS(what, instead) \
    __attribute__((device, unavailable("ptxlab's header for Clang has no " what ": " instead)))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
#define NULL __null
#define offsetof(type, member) __builtin_offsetof(type, member)

// Flushing of subnormal floats, as the options ask for it.
#ifdef PTXLAB_FTZ
#define PTXLAB_F32 ".ftz.f32"
#else
#define PTXLAB_F32 ".f32"
#endif

// -- vectors ------------------------------------------------------------------------------------------------

#define PTXLAB_VECTOR(name, type, align2, align4) \
    struct name##1 { type x; }; \
    struct __align__(align2) name##2 { type x, y; }; \
    struct name##3 { type x, y, z; }; \
    struct __align__(align4) name##4 { type x, y, z, w; }; \
    PTXLAB_BOTH name##1 make_##name##1(type x) { return {x}; } \
    PTXLAB_BOTH name##2 make_##name##2(type x, type y) { return {x, y}; } \
    PTXLAB_BOTH name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
    PTXLAB_BOTH name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
PTXLAB_VECTOR(char, signed char, 2, 4)
PTXLAB_VECTOR(uchar, unsigned char, 2, 4)
PTXLAB_VECTOR(short, short, 4, 8)
PTXLAB_VECTOR(ushort, unsigned short, 4, 8)
PTXLAB_VECTOR(int, int, 8, 16)
PTXLAB_VECTOR(uint, unsigned int, 8, 16)
PTXLAB_VECTOR(long, long, 16, 16)
PTXLAB_VECTOR(ulong, unsigned long, 16, 16)
PTXLAB_VECTOR(longlong, long long, 16, 16)
PTXLAB_VECTOR(ulonglong, unsigned long long, 16, 16)
PTXLAB_VECTOR(float, float, 8, 16)
PTXLAB_VECTOR(double, double, 16, 16)

struct dim3 {
    unsigned x, y, z;
    PTXLAB_METHOD constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    PTXLAB_METHOD constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    PTXLAB_METHOD constexpr operator uint3() const { return {x, y, z}; }
};

// -- where a thread is --------------------------------------------------------------------------------------

#define PTXLAB_SPECIAL(name, part) \
    static __inline__ __attribute__((device, always_inline, nodebug)) unsigned ptxlab_##part() { \
        return __nvvm_read_ptx_sreg_##name##_##part(); \
    } \
    __declspec(property(get = ptxlab_##part)) unsigned part;
#define PTXLAB_INDEX(variable, name) \
    struct ptxlab_##variable { \
        PTXLAB_SPECIAL(name, x) \
        PTXLAB_SPECIAL(name, y) \
        PTXLAB_SPECIAL(name, z) \
        __attribute__((device, always_inline, nodebug)) operator uint3() const { return {x, y, z}; } \
        __attribute__((device, always_inline, nodebug)) operator dim3() const { return dim3(x, y, z); } \
    }; \
    extern const __attribute__((device, weak)) ptxlab_##variable variable;
PTXLAB_INDEX(threadIdx, tid)
PTXLAB_INDEX(blockIdx, ctaid)
PTXLAB_INDEX(blockDim, ntid)
PTXLAB_INDEX(gridDim, nctaid)
constexpr int warpSize = 32;

// -- bits ---------------------------------------------------------------------------------------------------

PTXLAB_FN int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
PTXLAB_FN unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
PTXLAB_FN float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
PTXLAB_FN float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
PTXLAB_FN long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
PTXLAB_FN double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
PTXLAB_FN int __double2hiint(double x) { return (int)(__builtin_bit_cast(unsigned long long, x) >> 32); }
PTXLAB_FN int __double2loint(double x) { return (int)__builtin_bit_cast(unsigned long long, x); }
PTXLAB_FN double __hiloint2double(int high, int low) {
    return __builtin_bit_cast(double, (unsigned long long)(unsigned)high << 32 | (unsigned)low);
}

PTXLAB_FN int __popc(unsigned x) { return __builtin_popcount(x); }
PTXLAB_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
PTXLAB_FN int __clz(int x) { return __builtin_clzg((unsigned)x, 32); }
PTXLAB_FN int __clzll(long long x) { return __builtin_clzg((unsigned long long)x, 64); }
PTXLAB_FN int __ffs(int x) { return __builtin_ctzg((unsigned)x, -1) + 1; }
PTXLAB_FN int __ffsll(long long x) { return __builtin_ctzg((unsigned long long)x, -1) + 1; }
PTXLAB_FN unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
PTXLAB_FN unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
PTXLAB_FN unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "rn"(selector));
    return r;
}
#define PTXLAB_SHIFT(name, operation) \
    PTXLAB_FN unsigned name(unsigned low, unsigned high, unsigned count) { \
        unsigned r; \
        asm("shf." operation ".b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "rn"(count)); \
        return r; \
    }
PTXLAB_SHIFT(__funnelshift_l, "l.wrap")
PTXLAB_SHIFT(__funnelshift_r, "r.wrap")
PTXLAB_SHIFT(__funnelshift_lc, "l.clamp")
PTXLAB_SHIFT(__funnelshift_rc, "r.clamp")

// -- integers -----------------------------------------------------------------------------------------------

PTXLAB_FN int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
PTXLAB_FN unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
PTXLAB_FN long long __mul64hi(long long x, long long y) {
    long long r;
    asm("mul.hi.s64 %0, %1, %2;" : "=l"(r) : "l"(x), "l"(y));
    return r;
}
PTXLAB_FN unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    unsigned long long r;
    asm("mul.hi.u64 %0, %1, %2;" : "=l"(r) : "l"(x), "l"(y));
    return r;
}
#define PTXLAB_TWO(name, result, type, operation) \
    PTXLAB_FN result name(type x, type y) { \
        result r; \
        asm(operation " %0, %1, %2;" : "=r"(r) : "r"(x), "rn"(y)); \
        return r; \
    }
#define PTXLAB_THREE(name, result, type, type2, operation) \
    PTXLAB_FN result name(type x, type y, type2 z) { \
        result r; \
        asm(operation " %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "rn"(z)); \
        return r; \
    }
PTXLAB_TWO(__mul24, int, int, "mul24.lo.s32")
PTXLAB_TWO(__umul24, unsigned, unsigned, "mul24.lo.u32")
PTXLAB_THREE(__sad, unsigned, int, unsigned, "sad.s32")
PTXLAB_THREE(__usad, unsigned, unsigned, unsigned, "sad.u32")
PTXLAB_THREE(__dp4a, int, int, int, "dp4a.s32.s32")
PTXLAB_THREE(__dp4a, unsigned, unsigned, unsigned, "dp4a.u32.u32")
PTXLAB_THREE(__dp2a_lo, int, int, int, "dp2a.lo.s32.s32")
PTXLAB_THREE(__dp2a_lo, unsigned, unsigned, unsigned, "dp2a.lo.u32.u32")
PTXLAB_THREE(__dp2a_hi, int, int, int, "dp2a.hi.s32.s32")
PTXLAB_THREE(__dp2a_hi, unsigned, unsigned, unsigned, "dp2a.hi.u32.u32")
PTXLAB_FN int __hadd(int x, int y) { return (int)((long long)x + y >> 1); }
PTXLAB_FN int __rhadd(int x, int y) { return (int)((long long)x + y + 1 >> 1); }
PTXLAB_FN unsigned __uhadd(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x + y >> 1); }
PTXLAB_FN unsigned __urhadd(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x + y + 1 >> 1); }

#define PTXLAB_ORDER(type) \
    PTXLAB_BOTH type min(type x, type y) { return y < x ? y : x; } \
    PTXLAB_BOTH type max(type x, type y) { return x < y ? y : x; }
#define PTXLAB_MIXED(type, other, common) \
    PTXLAB_BOTH common min(type x, other y) { return min((common)x, (common)y); } \
    PTXLAB_BOTH common min(other x, type y) { return min((common)x, (common)y); } \
    PTXLAB_BOTH common max(type x, other y) { return max((common)x, (common)y); } \
    PTXLAB_BOTH common max(other x, type y) { return max((common)x, (common)y); }
PTXLAB_ORDER(int)
PTXLAB_ORDER(unsigned)
PTXLAB_ORDER(long)
PTXLAB_ORDER(unsigned long)
PTXLAB_ORDER(long long)
PTXLAB_ORDER(unsigned long long)
PTXLAB_MIXED(int, unsigned, unsigned)
PTXLAB_MIXED(long, unsigned long, unsigned long)
PTXLAB_MIXED(long long, unsigned long long, unsigned long long)
PTXLAB_BOTH int abs(int x) { return __builtin_abs(x); }
PTXLAB_BOTH long abs(long x) { return __builtin_labs(x); }
PTXLAB_BOTH long long abs(long long x) { return __builtin_llabs(x); }
PTXLAB_BOTH long labs(long x) { return __builtin_labs(x); }
PTXLAB_BOTH long long llabs(long long x) { return __builtin_llabs(x); }
PTXLAB_FN unsigned umin(unsigned x, unsigned y) { return min(x, y); }
PTXLAB_FN unsigned umax(unsigned x, unsigned y) { return max(x, y); }
PTXLAB_FN long long llmin(long long x, long long y) { return min(x, y); }
PTXLAB_FN long long llmax(long long x, long long y) { return max(x, y); }

// -- barriers and fences ------------------------------------------------------------------------------------

#define PTXLAB_VOLATILE(name, text) \
    PTXLAB_FN void name() { asm volatile(text ::: "memory"); }
PTXLAB_VOLATILE(__threadfence, "membar.gl;")
PTXLAB_VOLATILE(__threadfence_block, "membar.cta;")
PTXLAB_VOLATILE(__threadfence_system, "membar.sys;")
PTXLAB_VOLATILE(__trap, "trap;")
PTXLAB_VOLATILE(__brkpt, "brkpt;")
PTXLAB_VOLATILE(__cluster_barrier_arrive, "barrier.cluster.arrive.aligned;")
PTXLAB_VOLATILE(__cluster_barrier_arrive_relaxed, "barrier.cluster.arrive.relaxed.aligned;")
PTXLAB_VOLATILE(__cluster_barrier_wait, "barrier.cluster.wait.aligned;")
#define PTXLAB_BARRIER(name, operation) \
    PTXLAB_FN int name(int predicate) { \
        int r; \
        asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.cta.red." operation \
                     ".pred.aligned q, 0, p; selp.s32 %0, 1, 0, q; }" : "=r"(r) : "r"(predicate) : "memory"); \
        return r; \
    }
PTXLAB_BARRIER(__syncthreads_and, "and")
PTXLAB_BARRIER(__syncthreads_or, "or")
PTXLAB_FN int __syncthreads_count(int predicate) {
    int r;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; barrier.cta.red.popc.aligned.u32 %0, 0, p; }"
                 : "=r"(r) : "r"(predicate) : "memory");
    return r;
}
PTXLAB_FN void __syncwarp(unsigned mask = 0xffffffff) {
    asm volatile("bar.warp.sync %0;" :: "rn"(mask) : "memory");
}
PTXLAB_FN void __nanosleep(unsigned time) { asm volatile("nanosleep.u32 %0;" :: "rn"(time)); }
PTXLAB_FN int clock() { int r; asm volatile("mov.u32 %0, %%clock;" : "=r"(r) :: "memory"); return r; }
PTXLAB_FN long long clock64() {
    long long r;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(r) :: "memory");
    return r;
}
PTXLAB_FN unsigned long long globaltimer() {
    unsigned long long r;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(r) :: "memory");
    return r;
}
PTXLAB_FN unsigned long long __globaltimer() { return globaltimer(); }

// -- within a warp ------------------------------------------------------------------------------------------

PTXLAB_FN unsigned __activemask() { unsigned r; asm volatile("activemask.b32 %0;" : "=r"(r)); return r; }
PTXLAB_FN unsigned __lanemask_lt() { unsigned r; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r)); return r; }
#define PTXLAB_VOTE(name, operation) \
    PTXLAB_FN int name(unsigned mask, int predicate) { \
        int r; \
        asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync." operation \
                     ".pred q, p, %2; selp.s32 %0, 1, 0, q; }" : "=r"(r) : "r"(predicate), "rn"(mask)); \
        return r; \
    }
PTXLAB_VOTE(__all_sync, "all")
PTXLAB_VOTE(__any_sync, "any")
PTXLAB_VOTE(__uni_sync, "uni")
PTXLAB_FN unsigned __ballot_sync(unsigned mask, int predicate) {
    unsigned r;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(r) : "r"(predicate), "rn"(mask));
    return r;
}

// `lane` counts as the instruction takes it; `clamp` has the segment of lanes in its upper byte.
#define PTXLAB_SHUFFLE32(name, mode) \
    PTXLAB_FN unsigned name(unsigned mask, unsigned value, unsigned lane, unsigned clamp) { \
        unsigned r; \
        asm volatile("shfl.sync." mode ".b32 %0, %1, %2, %3, %4;" \
                     : "=r"(r) : "r"(value), "rn"(lane), "rn"(clamp), "rn"(mask)); \
        return r; \
    } \
    PTXLAB_FN unsigned long long name(unsigned mask, unsigned long long value, unsigned lane, unsigned clamp) { \
        return (unsigned long long)name(mask, (unsigned)(value >> 32), lane, clamp) << 32 \
            | name(mask, (unsigned)value, lane, clamp); \
    }
PTXLAB_SHUFFLE32(ptxlab_shfl_idx, "idx")
PTXLAB_SHUFFLE32(ptxlab_shfl_up, "up")
PTXLAB_SHUFFLE32(ptxlab_shfl_down, "down")
PTXLAB_SHUFFLE32(ptxlab_shfl_bfly, "bfly")
#define PTXLAB_SHUFFLES(type, bits) \
    PTXLAB_FN type __shfl_sync(unsigned mask, type value, int lane, int width = 32) { \
        return __builtin_bit_cast(type, \
            ptxlab_shfl_idx(mask, __builtin_bit_cast(bits, value), lane, (32 - width) << 8 | 31)); \
    } \
    PTXLAB_FN type __shfl_up_sync(unsigned mask, type value, unsigned delta, int width = 32) { \
        return __builtin_bit_cast(type, \
            ptxlab_shfl_up(mask, __builtin_bit_cast(bits, value), delta, (32 - width) << 8)); \
    } \
    PTXLAB_FN type __shfl_down_sync(unsigned mask, type value, unsigned delta, int width = 32) { \
        return __builtin_bit_cast(type, \
            ptxlab_shfl_down(mask, __builtin_bit_cast(bits, value), delta, (32 - width) << 8 | 31)); \
    } \
    PTXLAB_FN type __shfl_xor_sync(unsigned mask, type value, int lanes, int width = 32) { \
        return __builtin_bit_cast(type, \
            ptxlab_shfl_bfly(mask, __builtin_bit_cast(bits, value), lanes, (32 - width) << 8 | 31)); \
    }
PTXLAB_SHUFFLES(int, unsigned)
PTXLAB_SHUFFLES(unsigned, unsigned)
PTXLAB_SHUFFLES(float, unsigned)
PTXLAB_SHUFFLES(long, unsigned long long)
PTXLAB_SHUFFLES(unsigned long, unsigned long long)
PTXLAB_SHUFFLES(long long, unsigned long long)
PTXLAB_SHUFFLES(unsigned long long, unsigned long long)
PTXLAB_SHUFFLES(double, unsigned long long)

#define PTXLAB_MATCH(type, bits, form, letter) \
    PTXLAB_FN unsigned __match_any_sync(unsigned mask, type value) { \
        unsigned r; \
        asm volatile("match.any.sync." form " %0, %1, %2;" \
                     : "=r"(r) : letter(__builtin_bit_cast(bits, value)), "rn"(mask)); \
        return r; \
    } \
    PTXLAB_FN unsigned __match_all_sync(unsigned mask, type value, int* equal) { \
        unsigned r; \
        int all; \
        asm volatile("{ .reg .pred p; match.all.sync." form " %0|p, %2, %3; selp.s32 %1, 1, 0, p; }" \
                     : "=r"(r), "=r"(all) : letter(__builtin_bit_cast(bits, value)), "rn"(mask)); \
        *equal = all; \
        return r; \
    }
PTXLAB_MATCH(int, unsigned, "b32", "r")
PTXLAB_MATCH(unsigned, unsigned, "b32", "r")
PTXLAB_MATCH(float, unsigned, "b32", "r")
PTXLAB_MATCH(long, unsigned long long, "b64", "l")
PTXLAB_MATCH(unsigned long, unsigned long long, "b64", "l")
PTXLAB_MATCH(long long, unsigned long long, "b64", "l")
PTXLAB_MATCH(unsigned long long, unsigned long long, "b64", "l")
PTXLAB_MATCH(double, unsigned long long, "b64", "l")

#define PTXLAB_REDUX(name, type, operation) \
    PTXLAB_FN type name(unsigned mask, type value) { \
        type r; \
        asm volatile("redux.sync." operation " %0, %1, %2;" : "=r"(r) : "r"(value), "rn"(mask)); \
        return r; \
    }
PTXLAB_REDUX(__reduce_add_sync, int, "add.s32")
PTXLAB_REDUX(__reduce_add_sync, unsigned, "add.u32")
PTXLAB_REDUX(__reduce_min_sync, int, "min.s32")
PTXLAB_REDUX(__reduce_min_sync, unsigned, "min.u32")
PTXLAB_REDUX(__reduce_max_sync, int, "max.s32")
PTXLAB_REDUX(__reduce_max_sync, unsigned, "max.u32")
PTXLAB_REDUX(__reduce_and_sync, unsigned, "and.b32")
PTXLAB_REDUX(__reduce_or_sync, unsigned, "or.b32")
PTXLAB_REDUX(__reduce_xor_sync, unsigned, "xor.b32")

// -- atomic operations --------------------------------------------------------------------------------------

#define PTXLAB_ATOMIC1(name, type, letter, scope, operation) \
    PTXLAB_FN type name(type* address, type value) { \
        type r; \
        asm volatile("atom" scope "." operation " %0, [%1], %2;" \
                     : "=" letter(r) : "l"(address), letter(value) : "memory"); \
        return r; \
    }
#define PTXLAB_ATOMIC(name, type, letter, operation) \
    PTXLAB_ATOMIC1(name, type, letter, "", operation) \
    PTXLAB_ATOMIC1(name##_block, type, letter, ".cta", operation) \
    PTXLAB_ATOMIC1(name##_system, type, letter, ".sys", operation)
PTXLAB_ATOMIC(atomicAdd, int, "r", "add.s32")
PTXLAB_ATOMIC(atomicAdd, unsigned, "r", "add.u32")
PTXLAB_ATOMIC(atomicAdd, unsigned long long, "l", "add.u64")
PTXLAB_ATOMIC(atomicAdd, float, "f", "add.f32")
PTXLAB_ATOMIC(atomicAdd, double, "d", "add.f64")
PTXLAB_ATOMIC(atomicExch, int, "r", "exch.b32")
PTXLAB_ATOMIC(atomicExch, unsigned, "r", "exch.b32")
PTXLAB_ATOMIC(atomicExch, unsigned long long, "l", "exch.b64")
PTXLAB_ATOMIC(atomicExch, float, "f", "exch.b32")
PTXLAB_ATOMIC(atomicMin, int, "r", "min.s32")
PTXLAB_ATOMIC(atomicMin, unsigned, "r", "min.u32")
PTXLAB_ATOMIC(atomicMin, long long, "l", "min.s64")
PTXLAB_ATOMIC(atomicMin, unsigned long long, "l", "min.u64")
PTXLAB_ATOMIC(atomicMax, int, "r", "max.s32")
PTXLAB_ATOMIC(atomicMax, unsigned, "r", "max.u32")
PTXLAB_ATOMIC(atomicMax, long long, "l", "max.s64")
PTXLAB_ATOMIC(atomicMax, unsigned long long, "l", "max.u64")
PTXLAB_ATOMIC(atomicInc, unsigned, "r", "inc.u32")
PTXLAB_ATOMIC(atomicDec, unsigned, "r", "dec.u32")
#define PTXLAB_BITWISE(name, operation) \
    PTXLAB_ATOMIC(name, int, "r", operation ".b32") \
    PTXLAB_ATOMIC(name, unsigned, "r", operation ".b32") \
    PTXLAB_ATOMIC(name, unsigned long long, "l", operation ".b64")
PTXLAB_BITWISE(atomicAnd, "and")
PTXLAB_BITWISE(atomicOr, "or")
PTXLAB_BITWISE(atomicXor, "xor")

#define PTXLAB_SWAP1(name, type, letter, scope, form) \
    PTXLAB_FN type name(type* address, type compare, type value) { \
        type r; \
        asm volatile("atom" scope ".cas." form " %0, [%1], %2, %3;" \
                     : "=" letter(r) : "l"(address), letter(compare), letter(value) : "memory"); \
        return r; \
    }
#define PTXLAB_SWAP(scope, suffix) \
    PTXLAB_SWAP1(atomicCAS##suffix, unsigned short, "h", scope, "b16") \
    PTXLAB_SWAP1(atomicCAS##suffix, int, "r", scope, "b32") \
    PTXLAB_SWAP1(atomicCAS##suffix, unsigned, "r", scope, "b32") \
    PTXLAB_SWAP1(atomicCAS##suffix, unsigned long long, "l", scope, "b64") \
    PTXLAB_FN int atomicSub##suffix(int* address, int value) { return atomicAdd##suffix(address, -value); } \
    PTXLAB_FN unsigned atomicSub##suffix(unsigned* address, unsigned value) { \
        return atomicAdd##suffix(address, 0u - value); \
    } \
    template <class T> PTXLAB_FN T ptxlab_cas128##suffix(T* address, T compare, T value) { \
        static_assert(sizeof(T) == 16 && alignof(T) >= 16, "16 bytes, aligned to 16"); \
        const ulonglong2 c = __builtin_bit_cast(ulonglong2, compare), v = __builtin_bit_cast(ulonglong2, value); \
        ulonglong2 r; \
        asm volatile("{ .reg .b128 c, v, r; mov.b128 c, {%3, %4}; mov.b128 v, {%5, %6}; atom" scope \
                     ".cas.b128 r, [%2], c, v; mov.b128 {%0, %1}, r; }" : "=l"(r.x), "=l"(r.y) \
                     : "l"(address), "l"(c.x), "l"(c.y), "l"(v.x), "l"(v.y) : "memory"); \
        return __builtin_bit_cast(T, r); \
    } \
    template <class T> PTXLAB_FN T ptxlab_exch128##suffix(T* address, T value) { \
        static_assert(sizeof(T) == 16 && alignof(T) >= 16, "16 bytes, aligned to 16"); \
        const ulonglong2 v = __builtin_bit_cast(ulonglong2, value); \
        ulonglong2 r; \
        asm volatile("{ .reg .b128 v, r; mov.b128 v, {%3, %4}; atom" scope ".exch.b128 r, [%2], v; " \
                     "mov.b128 {%0, %1}, r; }" : "=l"(r.x), "=l"(r.y) : "l"(address), "l"(v.x), "l"(v.y) \
                     : "memory"); \
        return __builtin_bit_cast(T, r); \
    } \
    template <class T> PTXLAB_FN typename ptxlab_if<sizeof(T) == 16, T>::type atomicCAS##suffix( \
        T* address, T compare, T value) { return ptxlab_cas128##suffix(address, compare, value); } \
    template <class T> PTXLAB_FN typename ptxlab_if<sizeof(T) == 16, T>::type atomicExch##suffix( \
        T* address, T value) { return ptxlab_exch128##suffix(address, value); }
template <bool Condition, class T = void> struct ptxlab_if {};
template <class T> struct ptxlab_if<true, T> { typedef T type; };
PTXLAB_SWAP("", )
PTXLAB_SWAP(".cta", _block)
PTXLAB_SWAP(".sys", _system)

// -- loads and stores with a cache operator -----------------------------------------------------------------

#define PTXLAB_LOAD1(name, how, type, via, letter, form) \
    PTXLAB_FN type name(const type* p) { \
        via v; \
        asm volatile("ld." how "." form " %0, [%1];" : "=" letter(v) : "l"(p) : PTXLAB_CLOBBER); \
        return (type)v; \
    }
#define PTXLAB_LOAD2(name, how, type, part, via, letter, form) \
    PTXLAB_FN type name(const type* p) { \
        via x, y; \
        asm volatile("ld." how ".v2." form " {%0, %1}, [%2];" \
                     : "=" letter(x), "=" letter(y) : "l"(p) : PTXLAB_CLOBBER); \
        return {(part)x, (part)y}; \
    }
#define PTXLAB_LOAD4(name, how, type, part, via, letter, form) \
    PTXLAB_FN type name(const type* p) { \
        via x, y, z, w; \
        asm volatile("ld." how ".v4." form " {%0, %1, %2, %3}, [%4];" \
                     : "=" letter(x), "=" letter(y), "=" letter(z), "=" letter(w) : "l"(p) : PTXLAB_CLOBBER); \
        return {(part)x, (part)y, (part)z, (part)w}; \
    }
#define PTXLAB_LOADS(name, how) \
    PTXLAB_LOAD1(name, how, char, unsigned short, "h", "s8") \
    PTXLAB_LOAD1(name, how, signed char, unsigned short, "h", "s8") \
    PTXLAB_LOAD1(name, how, unsigned char, unsigned short, "h", "u8") \
    PTXLAB_LOAD1(name, how, short, unsigned short, "h", "s16") \
    PTXLAB_LOAD1(name, how, unsigned short, unsigned short, "h", "u16") \
    PTXLAB_LOAD1(name, how, int, int, "r", "s32") \
    PTXLAB_LOAD1(name, how, unsigned, unsigned, "r", "u32") \
    PTXLAB_LOAD1(name, how, long, long, "l", "s64") \
    PTXLAB_LOAD1(name, how, unsigned long, unsigned long, "l", "u64") \
    PTXLAB_LOAD1(name, how, long long, long long, "l", "s64") \
    PTXLAB_LOAD1(name, how, unsigned long long, unsigned long long, "l", "u64") \
    PTXLAB_LOAD1(name, how, float, float, "f", "f32") \
    PTXLAB_LOAD1(name, how, double, double, "d", "f64") \
    PTXLAB_LOAD2(name, how, char2, signed char, unsigned short, "h", "s8") \
    PTXLAB_LOAD2(name, how, uchar2, unsigned char, unsigned short, "h", "u8") \
    PTXLAB_LOAD2(name, how, short2, short, unsigned short, "h", "s16") \
    PTXLAB_LOAD2(name, how, ushort2, unsigned short, unsigned short, "h", "u16") \
    PTXLAB_LOAD2(name, how, int2, int, int, "r", "s32") \
    PTXLAB_LOAD2(name, how, uint2, unsigned, unsigned, "r", "u32") \
    PTXLAB_LOAD2(name, how, longlong2, long long, long long, "l", "s64") \
    PTXLAB_LOAD2(name, how, ulonglong2, unsigned long long, unsigned long long, "l", "u64") \
    PTXLAB_LOAD2(name, how, float2, float, float, "f", "f32") \
    PTXLAB_LOAD2(name, how, double2, double, double, "d", "f64") \
    PTXLAB_LOAD4(name, how, char4, signed char, unsigned short, "h", "s8") \
    PTXLAB_LOAD4(name, how, uchar4, unsigned char, unsigned short, "h", "u8") \
    PTXLAB_LOAD4(name, how, short4, short, unsigned short, "h", "s16") \
    PTXLAB_LOAD4(name, how, ushort4, unsigned short, unsigned short, "h", "u16") \
    PTXLAB_LOAD4(name, how, int4, int, int, "r", "s32") \
    PTXLAB_LOAD4(name, how, uint4, unsigned, unsigned, "r", "u32") \
    PTXLAB_LOAD4(name, how, float4, float, float, "f", "f32")
#define PTXLAB_CLOBBER
PTXLAB_LOADS(__ldg, "global.nc")
#undef PTXLAB_CLOBBER
#define PTXLAB_CLOBBER "memory"
PTXLAB_LOADS(__ldca, "global.ca")
PTXLAB_LOADS(__ldcg, "global.cg")
PTXLAB_LOADS(__ldcs, "global.cs")
PTXLAB_LOADS(__ldlu, "global.lu")
PTXLAB_LOADS(__ldcv, "global.cv")

#define PTXLAB_STORE1(name, how, type, via, letter, form) \
    PTXLAB_FN void name(type* p, type v) { \
        asm volatile("st.global." how "." form " [%0], %1;" :: "l"(p), letter((via)v) : "memory"); \
    }
#define PTXLAB_STORE2(name, how, type, via, letter, form) \
    PTXLAB_FN void name(type* p, type v) { \
        asm volatile("st.global." how ".v2." form " [%0], {%1, %2};" \
                     :: "l"(p), letter((via)v.x), letter((via)v.y) : "memory"); \
    }
#define PTXLAB_STORE4(name, how, type, via, letter, form) \
    PTXLAB_FN void name(type* p, type v) { \
        asm volatile("st.global." how ".v4." form " [%0], {%1, %2, %3, %4};" \
                     :: "l"(p), letter((via)v.x), letter((via)v.y), letter((via)v.z), letter((via)v.w) \
                     : "memory"); \
    }
#define PTXLAB_STORES(name, how) \
    PTXLAB_STORE1(name, how, char, short, "h", "s8") \
    PTXLAB_STORE1(name, how, signed char, short, "h", "s8") \
    PTXLAB_STORE1(name, how, unsigned char, short, "h", "u8") \
    PTXLAB_STORE1(name, how, short, short, "h", "s16") \
    PTXLAB_STORE1(name, how, unsigned short, short, "h", "u16") \
    PTXLAB_STORE1(name, how, int, int, "r", "s32") \
    PTXLAB_STORE1(name, how, unsigned, unsigned, "r", "u32") \
    PTXLAB_STORE1(name, how, long, long, "l", "s64") \
    PTXLAB_STORE1(name, how, unsigned long, unsigned long, "l", "u64") \
    PTXLAB_STORE1(name, how, long long, long long, "l", "s64") \
    PTXLAB_STORE1(name, how, unsigned long long, unsigned long long, "l", "u64") \
    PTXLAB_STORE1(name, how, float, float, "f", "f32") \
    PTXLAB_STORE1(name, how, double, double, "d", "f64") \
    PTXLAB_STORE2(name, how, char2, short, "h", "s8") \
    PTXLAB_STORE2(name, how, uchar2, short, "h", "u8") \
    PTXLAB_STORE2(name, how, short2, short, "h", "s16") \
    PTXLAB_STORE2(name, how, ushort2, short, "h", "u16") \
    PTXLAB_STORE2(name, how, int2, int, "r", "s32") \
    PTXLAB_STORE2(name, how, uint2, unsigned, "r", "u32") \
    PTXLAB_STORE2(name, how, longlong2, long long, "l", "s64") \
    PTXLAB_STORE2(name, how, ulonglong2, unsigned long long, "l", "u64") \
    PTXLAB_STORE2(name, how, float2, float, "f", "f32") \
    PTXLAB_STORE2(name, how, double2, double, "d", "f64") \
    PTXLAB_STORE4(name, how, char4, short, "h", "s8") \
    PTXLAB_STORE4(name, how, uchar4, short, "h", "u8") \
    PTXLAB_STORE4(name, how, short4, short, "h", "s16") \
    PTXLAB_STORE4(name, how, ushort4, short, "h", "u16") \
    PTXLAB_STORE4(name, how, int4, int, "r", "s32") \
    PTXLAB_STORE4(name, how, uint4, unsigned, "r", "u32") \
    PTXLAB_STORE4(name, how, float4, float, "f", "f32")
PTXLAB_STORES(__stwb, "wb")
PTXLAB_STORES(__stcg, "cg")
PTXLAB_STORES(__stcs, "cs")
PTXLAB_STORES(__stwt, "wt")

// -- addresses ----------------------------------------------------------------------------------------------

#define PTXLAB_SPACE(space) \
    PTXLAB_FN size_t __cvta_generic_to_##space(const void* p) { \
        size_t r; \
        asm("cvta.to." #space ".u64 %0, %1;" : "=l"(r) : "l"(p)); \
        return r; \
    } \
    PTXLAB_FN void* __cvta_##space##_to_generic(size_t p) { \
        void* r; \
        asm("cvta." #space ".u64 %0, %1;" : "=l"(r) : "l"(p)); \
        return r; \
    }
PTXLAB_SPACE(shared)
PTXLAB_SPACE(global)
PTXLAB_SPACE(local)
PTXLAB_SPACE(const)
#define __cvta_generic_to_constant __cvta_generic_to_const
#define __cvta_constant_to_generic __cvta_const_to_generic
#define PTXLAB_IN_SPACE(name, space) \
    PTXLAB_FN unsigned name(const void* p) { \
        unsigned r; \
        asm("{ .reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "l"(p)); \
        return r; \
    }
PTXLAB_IN_SPACE(__isShared, "shared")
PTXLAB_IN_SPACE(__isGlobal, "global")
PTXLAB_IN_SPACE(__isLocal, "local")
PTXLAB_IN_SPACE(__isConstant, "const")
PTXLAB_IN_SPACE(__isClusterShared, "shared::cluster")

// -- what the system provides -------------------------------------------------------------------------------

extern "C" {
__device__ int printf(const char*, ...);
__device__ void* malloc(size_t);
__device__ void free(void*);
__device__ void* memcpy(void*, const void*, size_t);
__device__ void* memmove(void*, const void*, size_t);
__device__ void* memset(void*, int, size_t);
__device__ __attribute__((noreturn)) void __assertfail(const void*, const void*, unsigned, const void*, size_t);
}
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
    ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))
#endif

// -- floating point: instructions ---------------------------------------------------------------------------

#define PTXLAB_ONE(name, result, from, type, to, operation) \
    PTXLAB_FN result name(type x) { \
        result r; \
        asm(operation " %0, %1;" : "=" to(r) : from(x)); \
        return r; \
    }
#define PTXLAB_FLOAT1(name, operation) PTXLAB_ONE(name, float, "f", float, "f", operation)
#define PTXLAB_FLOAT2(name, type, letter, operation) \
    PTXLAB_FN type name(type x, type y) { \
        type r; \
        asm(operation " %0, %1, %2;" : "=" letter(r) : letter(x), letter(y)); \
        return r; \
    }
#define PTXLAB_FLOAT3(name, type, letter, operation) \
    PTXLAB_FN type name(type x, type y, type z) { \
        type r; \
        asm(operation " %0, %1, %2, %3;" : "=" letter(r) : letter(x), letter(y), letter(z)); \
        return r; \
    }
#define PTXLAB_ROUNDED(mode, round) \
    PTXLAB_FLOAT2(__fadd_##mode, float, "f", "add." #round PTXLAB_F32) \
    PTXLAB_FLOAT2(__fsub_##mode, float, "f", "sub." #round PTXLAB_F32) \
    PTXLAB_FLOAT2(__fmul_##mode, float, "f", "mul." #round PTXLAB_F32) \
    PTXLAB_FLOAT2(__fdiv_##mode, float, "f", "div." #round PTXLAB_F32) \
    PTXLAB_FLOAT3(__fmaf_##mode, float, "f", "fma." #round PTXLAB_F32) \
    PTXLAB_FLOAT3(__fmaf_ieee_##mode, float, "f", "fma." #round ".f32") \
    PTXLAB_FLOAT1(__frcp_##mode, "rcp." #round PTXLAB_F32) \
    PTXLAB_FLOAT1(__fsqrt_##mode, "sqrt." #round PTXLAB_F32) \
    PTXLAB_FLOAT2(__dadd_##mode, double, "d", "add." #round ".f64") \
    PTXLAB_FLOAT2(__dsub_##mode, double, "d", "sub." #round ".f64") \
    PTXLAB_FLOAT2(__dmul_##mode, double, "d", "mul." #round ".f64") \
    PTXLAB_FLOAT2(__ddiv_##mode, double, "d", "div." #round ".f64") \
    PTXLAB_FLOAT3(__fma_##mode, double, "d", "fma." #round ".f64") \
    PTXLAB_ONE(__drcp_##mode, double, "d", double, "d", "rcp." #round ".f64") \
    PTXLAB_ONE(__dsqrt_##mode, double, "d", double, "d", "sqrt." #round ".f64") \
    PTXLAB_ONE(__double2float_##mode, float, "d", double, "f", "cvt." #round ".f32.f64") \
    PTXLAB_FROM_INTEGER(int, int, "r", mode, round, "s32") \
    PTXLAB_FROM_INTEGER(uint, unsigned, "r", mode, round, "u32") \
    PTXLAB_FROM_INTEGER(ll, long long, "l", mode, round, "s64") \
    PTXLAB_FROM_INTEGER(ull, unsigned long long, "l", mode, round, "u64")
#define PTXLAB_FROM_INTEGER(name, type, letter, mode, round, form) \
    PTXLAB_ONE(__##name##2float_##mode, float, letter, type, "f", "cvt." #round ".f32." form) \
    PTXLAB_ONE(__##name##2double_##mode, double, letter, type, "d", "cvt." #round ".f64." form)
#define PTXLAB_TO_INTEGER(name, type, letter, form) \
    PTXLAB_TO_INTEGER1(name, type, letter, rn, "rni", form) \
    PTXLAB_TO_INTEGER1(name, type, letter, rz, "rzi", form) \
    PTXLAB_TO_INTEGER1(name, type, letter, ru, "rpi", form) \
    PTXLAB_TO_INTEGER1(name, type, letter, rd, "rmi", form)
#define PTXLAB_TO_INTEGER1(name, type, letter, mode, round, form) \
    PTXLAB_ONE(__float2##name##_##mode, type, "f", float, letter, "cvt." round PTXLAB_TO_FTZ "." form ".f32") \
    PTXLAB_ONE(__double2##name##_##mode, type, "d", double, letter, "cvt." round "." form ".f64")
#ifdef PTXLAB_FTZ
#define PTXLAB_TO_FTZ ".ftz"
#else
#define PTXLAB_TO_FTZ
#endif
PTXLAB_ROUNDED(rn, rn)
PTXLAB_ROUNDED(rz, rz)
PTXLAB_ROUNDED(ru, rp)
PTXLAB_ROUNDED(rd, rm)
PTXLAB_TO_INTEGER(int, int, "r", "s32")
PTXLAB_TO_INTEGER(uint, unsigned, "r", "u32")
PTXLAB_TO_INTEGER(ll, long long, "l", "s64")
PTXLAB_TO_INTEGER(ull, unsigned long long, "l", "u64")

PTXLAB_FLOAT1(__saturatef, "cvt.sat" PTXLAB_F32 ".f32")
PTXLAB_FLOAT2(__fdividef, float, "f", "div.approx" PTXLAB_F32)

PTXLAB_FLOAT1(ptxlab_ex2, "ex2.approx" PTXLAB_F32)
PTXLAB_FLOAT1(ptxlab_ex2_ftz, "ex2.approx.ftz.f32")
PTXLAB_FLOAT1(ptxlab_rcp_ftz, "rcp.approx.ftz.f32")
PTXLAB_FLOAT1(__log2f, "lg2.approx" PTXLAB_F32)
PTXLAB_FLOAT1(__sinf, "sin.approx" PTXLAB_F32)
PTXLAB_FLOAT1(__cosf, "cos.approx" PTXLAB_F32)
PTXLAB_FLOAT1(__tanhf, "tanh.approx.f32")
PTXLAB_FN float __expf(float x) { return ptxlab_ex2(__fmul_rn(x, 1.442695041f)); }
PTXLAB_FN float __exp10f(float x) { return ptxlab_ex2(__fmul_rn(x, 3.321928095f)); }
PTXLAB_FN float __logf(float x) { return __fmul_rn(__log2f(x), 0.6931471806f); }
PTXLAB_FN float __log10f(float x) { return __fmul_rn(__log2f(x), 0.3010299957f); }
PTXLAB_FN float __powf(float x, float y) { return ptxlab_ex2(__fmul_rn(y, __log2f(x))); }
PTXLAB_FN float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
PTXLAB_FN void __sincosf(float x, float* sine, float* cosine) { *sine = __sinf(x), *cosine = __cosf(x); }

#ifdef PTXLAB_APPROXIMATE_ROOT
PTXLAB_FLOAT1(sqrtf, "sqrt.approx" PTXLAB_F32)
#else
PTXLAB_FLOAT1(sqrtf, "sqrt.rn" PTXLAB_F32)
#endif
PTXLAB_FLOAT1(rsqrtf, "rsqrt.approx" PTXLAB_F32)
PTXLAB_ONE(sqrt, double, "d", double, "d", "sqrt.rn.f64")
PTXLAB_FN float __frsqrt_rn(float x) {
    const double r = __drcp_rn(__dsqrt_rn(x));
    return x == 0 ? __builtin_copysignf(__builtin_inff(), x) : (float)r;
}
PTXLAB_FN float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
PTXLAB_FN double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
PTXLAB_FN float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

#define PTXLAB_MATH1(name) \
    PTXLAB_FN float name##f(float x) { return __builtin_##name##f(x); } \
    PTXLAB_FN double name(double x) { return __builtin_##name(x); } \
    PTXLAB_FN float name(float x) { return name##f(x); } \
    PTXLAB_WHOLE(name)
// An integer argument is a double, as in C++.
#define PTXLAB_WHOLE(name) \
    template <class T> PTXLAB_FN typename ptxlab_if<ptxlab_whole<T>::value, double>::type name(T x) { \
        return name((double)x); \
    }
template <class T> struct ptxlab_whole { enum { value = 0 }; };
template <> struct ptxlab_whole<int> { enum { value = 1 }; };
template <> struct ptxlab_whole<unsigned> { enum { value = 1 }; };
template <> struct ptxlab_whole<long> { enum { value = 1 }; };
template <> struct ptxlab_whole<unsigned long> { enum { value = 1 }; };
template <> struct ptxlab_whole<long long> { enum { value = 1 }; };
template <> struct ptxlab_whole<unsigned long long> { enum { value = 1 }; };
PTXLAB_MATH1(fabs)
PTXLAB_MATH1(floor)
PTXLAB_MATH1(ceil)
PTXLAB_MATH1(trunc)
PTXLAB_FLOAT1(rintf, "cvt.rni" PTXLAB_F32 ".f32")
PTXLAB_ONE(rint, double, "d", double, "d", "cvt.rni.f64.f64")
PTXLAB_FN float rint(float x) { return rintf(x); }
PTXLAB_FN float nearbyintf(float x) { return rintf(x); }
PTXLAB_FN double nearbyint(double x) { return rint(x); }
PTXLAB_FN float roundf(float x) { return truncf(__fadd_rz(x, __builtin_copysignf(0.5f, x))); }
PTXLAB_FN double round(double x) { return trunc(__dadd_rz(x, __builtin_copysign(0.5, x))); }
PTXLAB_FN float round(float x) { return roundf(x); }
PTXLAB_FN long lroundf(float x) { return (long)roundf(x); }
PTXLAB_FN long lround(double x) { return (long)round(x); }
PTXLAB_FN long long llroundf(float x) { return (long long)roundf(x); }
PTXLAB_FN long lrintf(float x) { return (long)__float2ll_rn(x); }
PTXLAB_FN long long llrintf(float x) { return __float2ll_rn(x); }
PTXLAB_FN long lrint(double x) { return (long)__double2ll_rn(x); }
PTXLAB_FN float sqrt(float x) { return sqrtf(x); }
PTXLAB_WHOLE(sqrt)
PTXLAB_FN double abs(double x) { return __builtin_fabs(x); }
PTXLAB_FN float abs(float x) { return __builtin_fabsf(x); }

#define PTXLAB_MATH2(name, builtin) \
    PTXLAB_FN float name##f(float x, float y) { return __builtin_##builtin##f(x, y); } \
    PTXLAB_FN double name(double x, double y) { return __builtin_##builtin(x, y); } \
    PTXLAB_FN float name(float x, float y) { return __builtin_##builtin##f(x, y); } \
    PTXLAB_FN double name(float x, double y) { return __builtin_##builtin(x, y); } \
    PTXLAB_FN double name(double x, float y) { return __builtin_##builtin(x, y); }
PTXLAB_MATH2(fmin, fmin)
PTXLAB_MATH2(fmax, fmax)
PTXLAB_MATH2(copysign, copysign)
#define PTXLAB_EXTREME(name) \
    PTXLAB_FN float name(float x, float y) { return f##name##f(x, y); } \
    PTXLAB_FN double name(double x, double y) { return f##name(x, y); } \
    PTXLAB_FN double name(float x, double y) { return f##name(x, y); } \
    PTXLAB_FN double name(double x, float y) { return f##name(x, y); } \
    PTXLAB_FN float name(float x, int y) { return f##name##f(x, y); } \
    PTXLAB_FN float name(int x, float y) { return f##name##f(x, y); } \
    PTXLAB_FN double name(double x, int y) { return f##name(x, (double)y); } \
    PTXLAB_FN double name(int x, double y) { return f##name((double)x, y); }
PTXLAB_EXTREME(min)
PTXLAB_EXTREME(max)
PTXLAB_FN float fdimf(float x, float y) { return x <= y ? 0 : x - y; }
PTXLAB_FN double fdim(double x, double y) { return x <= y ? 0 : x - y; }
PTXLAB_FN float fdividef(float x, float y) { return __fdividef(x, y); }

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define HUGE_VAL __builtin_inf()
#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.14159265358979323846
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_SQRT2 1.41421356237309504880
#define PTXLAB_CLASS(name) \
    PTXLAB_BOTH bool name(float x) { return __builtin_##name(x); } \
    PTXLAB_BOTH bool name(double x) { return __builtin_##name(x); }
PTXLAB_CLASS(isnan)
PTXLAB_CLASS(isinf)
PTXLAB_CLASS(isfinite)
PTXLAB_CLASS(isnormal)
PTXLAB_CLASS(signbit)
PTXLAB_BOTH int __isnanf(float x) { return __builtin_isnan(x); }
PTXLAB_BOTH int __isinff(float x) { return __builtin_isinf(x); }

// -- floating point: functions ------------------------------------------------------------------------------
// Of double precision: a few series, with errors of one or two units in the last place. Those of single
// precision go through double, except where `ex2.approx` and a reduction of the argument do.

PTXLAB_FN double ldexp(double x, int exponent) {
    const int half = max(-2200, min(2200, exponent)) / 4;
    const double step = __longlong_as_double((long long)(half + 1023) << 52);
    const double rest = __longlong_as_double((long long)(max(-2200, min(2200, exponent)) - 3 * half + 1023) << 52);
    return x * step * step * step * rest;
}
PTXLAB_FN float ldexpf(float x, int exponent) { return (float)ldexp((double)x, exponent); }
PTXLAB_FN float scalbnf(float x, int exponent) { return ldexpf(x, exponent); }
PTXLAB_FN double scalbn(double x, int exponent) { return ldexp(x, exponent); }
PTXLAB_FN double frexp(double x, int* exponent) {
    long long bits = __double_as_longlong(x);
    *exponent = 0;
    if (x == 0 || !__builtin_isfinite(x)) return x;
    if ((bits >> 52 & 0x7ff) == 0) bits = __double_as_longlong(x * 0x1p54), *exponent = -54;
    *exponent += (int)(bits >> 52 & 0x7ff) - 1022;
    return __longlong_as_double((bits & ~(0x7ffll << 52)) | 1022ll << 52);
}
PTXLAB_FN float frexpf(float x, int* exponent) { return (float)frexp((double)x, exponent); }
PTXLAB_FN double logb(double x) {
    int exponent;
    frexp(x, &exponent);
    return x == 0 ? -HUGE_VAL : __builtin_isfinite(x) ? exponent - 1 : x * x;
}
PTXLAB_FN float logbf(float x) { return (float)logb((double)x); }
PTXLAB_FN int ilogbf(float x) {
    return x == 0 || __builtin_isnan(x) ? -2147483647 - 1 : __builtin_isinf(x) ? 2147483647 : (int)logbf(x);
}
PTXLAB_FN double modf(double x, double* whole) {
    *whole = trunc(x);
    return __builtin_isinf(x) ? __builtin_copysign(0.0, x) : __builtin_copysign(x - *whole, x);
}
PTXLAB_FN float modff(float x, float* whole) {
    *whole = truncf(x);
    return __builtin_isinf(x) ? __builtin_copysignf(0.0f, x) : __builtin_copysignf(x - *whole, x);
}
PTXLAB_FN double fmod(double x, double y) {
    double rest = fabs(x);
    const double size = fabs(y);
    if (!(rest < HUGE_VAL) || !(size > 0)) return __builtin_nan("");
    if (!(rest >= size)) return size == size ? x : y;
    int of_rest, of_size;
    frexp(rest, &of_rest), frexp(size, &of_size);
    for (int shift = of_rest - of_size; shift >= 0; --shift) {
        const double part = ldexp(size, shift);
        if (rest >= part) rest -= part;
    }
    return __builtin_copysign(rest, x);
}
PTXLAB_FN float fmodf(float x, float y) { return (float)fmod((double)x, (double)y); }
PTXLAB_FN double remainder(double x, double y) {
    const double size = fabs(y);
    double rest = fmod(x, y + y);
    if (!__builtin_isfinite(y + y)) rest = fmod(x, y);
    double left = fabs(rest);
    if (left + left > size) {
        left -= size;
        if (left + left >= size) left -= size;
    }
    return __builtin_isnan(rest) ? rest : __builtin_copysign(1.0, x) * left;
}
PTXLAB_FN float remainderf(float x, float y) { return (float)remainder((double)x, (double)y); }

// 2 to a whole power times e to r, for |r| below 0.4; `low` is a correction of r.
PTXLAB_FN double ptxlab_exp(double r, double low, int exponent) {
    double s = 1.6059043836821615e-10;  // 1 / 13!
    s = fma(s, r, 2.0876756987868099e-09);
    s = fma(s, r, 2.5052108385441720e-08);
    s = fma(s, r, 2.7557319223985893e-07);
    s = fma(s, r, 2.7557319223985893e-06);
    s = fma(s, r, 2.4801587301587302e-05);
    s = fma(s, r, 1.9841269841269841e-04);
    s = fma(s, r, 1.3888888888888889e-03);
    s = fma(s, r, 8.3333333333333333e-03);
    s = fma(s, r, 4.1666666666666667e-02);
    s = fma(s, r, 1.6666666666666667e-01);
    s = fma(s, r, 0.5);
    s = fma(s * r, r, low);
    return ldexp(1.0 + (r + s), exponent);
}
PTXLAB_FN double exp(double x) {
    if (__builtin_isnan(x)) return x;
    const double limited = fmin(fmax(x, -1000.0), 1000.0), whole = rint(limited * M_LOG2E);
    const double r = fma(whole, -6.93147180559945286e-01, limited);
    return ptxlab_exp(r, whole * -2.31904681384629956e-17, (int)whole);
}
PTXLAB_FN double exp2(double x) {
    if (__builtin_isnan(x)) return x;
    const double limited = fmin(fmax(x, -2000.0), 2000.0), whole = rint(limited), rest = limited - whole;
    const double r = rest * M_LN2;
    return ptxlab_exp(r, fma(rest, M_LN2, -r) + rest * 2.31904681384629956e-17, (int)whole);
}
PTXLAB_FN double exp10(double x) {
    if (__builtin_isnan(x)) return x;
    const double limited = fmin(fmax(x, -500.0), 500.0), whole = rint(limited * 3.32192809488736235);
    double r = fma(whole, -3.01029995663981195e-01, limited);
    r = fma(whole, -2.80372875838849e-18, r);
    const double high = r * M_LN10;
    return ptxlab_exp(high, fma(r, M_LN10, -high) - r * 2.1707562233822494e-16, (int)whole);
}
PTXLAB_FN double expm1(double x) {
    if (fabs(x) > 0.3) return exp(x) - 1.0;
    double s = 1.0 / 87178291200.0;  // 1 / 14!
    const double parts[] = {6227020800.0, 479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0,
                            720.0, 120.0, 24.0, 6.0, 2.0};
#pragma unroll
    for (int i = 0; i < 12; ++i) s = fma(s, x, 1.0 / parts[i]);
    return fma(s * x, x, x);
}

// The logarithm of x as a sum of three: `exponent` times ln 2, `high` and `low`.
PTXLAB_FN double ptxlab_log(double x, double& high, double& low) {
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752) m += m, --exponent;
    const double f = m - 1.0, sum = m + 1.0;
    const double z = f / sum, error = fma(-z, sum, f) - z * (m - (sum - 1.0));
    const double zz = z * z;
    double s = 1.0 / 23;
    s = fma(s, zz, 1.0 / 21);
    s = fma(s, zz, 1.0 / 19);
    s = fma(s, zz, 1.0 / 17);
    s = fma(s, zz, 1.0 / 15);
    s = fma(s, zz, 1.0 / 13);
    s = fma(s, zz, 1.0 / 11);
    s = fma(s, zz, 1.0 / 9);
    s = fma(s, zz, 1.0 / 7);
    s = fma(s, zz, 1.0 / 5);
    s = fma(s, zz, 1.0 / 3);
    high = z + z;
    low = 2.0 * (fma(s * zz, z, error / sum));
    return exponent;
}
PTXLAB_FN double ptxlab_log_of_special(double x) {
    if (x == 0) return -HUGE_VAL;
    return x < 0 ? __builtin_nan("") : x;
}
PTXLAB_FN double log(double x) {
    if (!(x > 0 && x < HUGE_VAL)) return ptxlab_log_of_special(x);
    double high, low;
    const double exponent = ptxlab_log(x, high, low);
    return fma(exponent, 6.93147180369123816e-01, high + fma(exponent, 1.90821492927058770e-10, low));
}
PTXLAB_FN double log2(double x) {
    if (!(x > 0 && x < HUGE_VAL)) return ptxlab_log_of_special(x);
    double high, low;
    const double exponent = ptxlab_log(x, high, low), product = high * M_LOG2E;
    return exponent + (product + (fma(high, M_LOG2E, -product) + fma(low, M_LOG2E, high * 2.0355273740931033e-17)));
}
PTXLAB_FN double log10(double x) {
    if (!(x > 0 && x < HUGE_VAL)) return ptxlab_log_of_special(x);
    double high, low;
    const double exponent = ptxlab_log(x, high, low), product = high * M_LOG10E;
    const double rest = fma(high, M_LOG10E, -product) + fma(low, M_LOG10E, high * 1.098319650216765e-17);
    return fma(exponent, 3.01029995663611771e-01, product + fma(exponent, 3.69423907715893078e-13, rest));
}
PTXLAB_FN double log1p(double x) {
    const double sum = 1.0 + x;
    if (!(sum > 0 && sum < HUGE_VAL)) return ptxlab_log_of_special(sum);
    return fabs(x) < 1e-300 ? x : log(sum) + (x - (sum - 1.0)) / sum;
}
PTXLAB_FN double pow(double x, double y) {
    if (y == 0 || x == 1) return 1;
    if (__builtin_isnan(x) || __builtin_isnan(y)) return x + y;
    const double size = fabs(x);
    const bool whole = trunc(y) == y, odd = whole && fabs(y) < 0x1p53 && ((long long)y & 1);
    double r;
    if (size == 1 || __builtin_isinf(y)) {
        r = size == 1 ? 1 : (size > 1) == (y > 0) ? HUGE_VAL : 0;
    } else if (size == 0 || __builtin_isinf(size)) {
        r = (size == 0) == (y > 0) ? 0 : HUGE_VAL;
    } else {
        double high, low;
        const double exponent = ptxlab_log(size, high, low);
        // the logarithm to base 2 in two parts, and its product with y
        const double a = high * M_LOG2E;
        const double b = fma(high, M_LOG2E, -a) + fma(low, M_LOG2E, high * 2.0355273740931033e-17);
        const double sum = exponent + a, rest = (exponent - sum) + a + b;
        const double upper = sum + rest, under = (sum - upper) + rest;
        const double product = fmin(fmax(upper * y, -2000.0), 2000.0);
        const double error = fma(upper, y, -upper * y) + under * y;
        const double power = rint(product);
        const double fraction = fabs(product) < 2000.0 ? (product - power) + error : 0;
        r = exp2(fraction);
        r = ldexp(r, (int)power);
    }
    if (x < 0 || (x == 0 && __builtin_signbit(x))) {
        if (odd) r = -r;
        if (!whole && x != 0 && !__builtin_isinf(x)) r = __builtin_nan("");
    }
    return r;
}
PTXLAB_FN double pow(double x, int y) { return pow(x, (double)y); }

// x minus `quadrant` times pi / 2, in two parts.
PTXLAB_FN double ptxlab_quadrant(double x, double& low, int& quadrant) {
    if (fabs(x) < 1e5) {
        const double whole = rint(x * 0.63661977236758134);
        const double a = fma(whole, -1.57079632679489656, x), b = whole * 6.12323399573676604e-17;
        const double r = a - b;
        low = (a - r) - b - fma(whole, 6.12323399573676604e-17, -b) + whole * 1.4973849048591833e-33;
        quadrant = (int)whole;
        return r;
    }
    // 2 / pi, of which three words of 64 bits count: those that the exponent of x shifts around the point
    static constexpr __attribute__((device)) unsigned long long bits[] = {
        0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
        0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
        0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
        0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb1f8d5d085, 0x6033046fc7b6babf};
    const long long pattern = __double_as_longlong(fabs(x));
    const int exponent = (int)(pattern >> 52) - 1075;  // x is `mantissa` times 2 to it
    const unsigned long long mantissa = (pattern & 0xfffffffffffffll) | 1ll << 52;
    const int start = max(exponent - 64 + 62, 0);  // earlier bits make multiples of 4 quadrants
    const int word = start / 64, shift = start % 64;
    unsigned long long part[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        const unsigned long long next = word + i + 1 < 19 ? bits[word + i + 1] : 0;
        part[i] = shift ? bits[word + i] << shift | next >> (64 - shift) : bits[word + i];
    }
    // mantissa times 192 bits, of which the lowest 192 count; the point lies `start + 192 - exponent` from below
    const unsigned __int128 c = (unsigned __int128)mantissa * part[2];
    const unsigned __int128 b = (unsigned __int128)mantissa * part[1] + (unsigned long long)(c >> 64);
    const unsigned long long a = mantissa * part[0] + (unsigned long long)(b >> 64);
    const int above = 64 - (start - exponent);  // bits of `a` before the point
    unsigned long long first = a, second = (unsigned long long)b;
    const unsigned long long count = above > 0 ? first >> (64 - above) : 0;
    if (above > 0) {
        first = first << above | second >> (64 - above);
        second = second << above | (unsigned long long)c >> (64 - above);
    }
    const bool upper = first >> 63;
    quadrant = (int)(count + upper);
    if (upper) first = ~first, second = ~second;
    const double high = (double)(first >> 11) * 0x1p-53;
    const double under = (double)(first & 0x7ff) * 0x1p-64 + (double)second * 0x1p-128;
    const double turn = high + under, rest = (high - turn) + under;
    double r = turn * 1.57079632679489656;
    low = fma(turn, 1.57079632679489656, -r) + fma(turn, 6.12323399573676604e-17, rest * 1.57079632679489656);
    if (upper != (x < 0)) r = -r, low = -low;
    if (x < 0) quadrant = -quadrant;
    return r;
}
PTXLAB_FN double ptxlab_sin(double r, double low) {
    const double rr = r * r;
    double s = 2.8114572543455206e-15;  // 1 / 17!
    s = fma(s, rr, -7.6471637318198165e-13);
    s = fma(s, rr, 1.6059043836821615e-10);
    s = fma(s, rr, -2.5052108385441720e-08);
    s = fma(s, rr, 2.7557319223985893e-06);
    s = fma(s, rr, -1.9841269841269841e-04);
    s = fma(s, rr, 8.3333333333333333e-03);
    s = fma(s, rr, -1.6666666666666667e-01);
    return r + fma(s * rr, r, fma(-0.5 * rr, low, low));
}
PTXLAB_FN double ptxlab_cos(double r, double low) {
    const double rr = r * r;
    double s = -1.5619206968586225e-16;  // -1 / 18!
    s = fma(s, rr, 4.7794773323873853e-14);
    s = fma(s, rr, -1.1470745597729725e-11);
    s = fma(s, rr, 2.0876756987868099e-09);
    s = fma(s, rr, -2.7557319223985893e-07);
    s = fma(s, rr, 2.4801587301587302e-05);
    s = fma(s, rr, -1.3888888888888889e-03);
    s = fma(s, rr, 4.1666666666666667e-02);
    const double half = 0.5 * rr, sum = 1.0 - half;
    return sum + ((1.0 - sum - half) + fma(s * rr, rr, -r * low));
}
PTXLAB_FN void sincos(double x, double* sine, double* cosine) {
    if (!__builtin_isfinite(x)) {
        *sine = *cosine = x - x;
        return;
    }
    double low;
    int quadrant;
    const double r = ptxlab_quadrant(x, low, quadrant), s = ptxlab_sin(r, low), c = ptxlab_cos(r, low);
    const double first = quadrant & 1 ? c : s, second = quadrant & 1 ? s : c;
    *sine = quadrant & 2 ? -first : first;
    *cosine = (quadrant + 1) & 2 ? -second : second;
    if (x == 0) *sine = x;
}
PTXLAB_FN double sin(double x) { double s, c; sincos(x, &s, &c); return s; }
PTXLAB_FN double cos(double x) { double s, c; sincos(x, &s, &c); return c; }
PTXLAB_FN double tan(double x) { double s, c; sincos(x, &s, &c); return s / c; }
PTXLAB_FN double sinpi(double x) {
    const double r = x - 2.0 * rint(0.5 * x);
    return x == rint(x) ? __builtin_copysign(0.0, x) : sin(fabs(r) > 0.5 ? __builtin_copysign((1.0 - fabs(r)) * M_PI, r) : r * M_PI);
}
PTXLAB_FN double cospi(double x) {
    const double r = fabs(x - 2.0 * rint(0.5 * x));
    return r > 0.25 && r < 0.75 ? sin((0.5 - r) * M_PI) : cos(r * M_PI);
}
PTXLAB_FN double atan(double x) {
    const double size = fabs(x);
    if (__builtin_isnan(x)) return x;
    // the arc of x is that of `table` plus that of a number below 1 / 8
    double t = size > 1 ? 1 / size : size, base = 0, under = 0;
    if (t > 0.75) t = (t - 0.875) / fma(t, 0.875, 1.0), base = 0.71882999962162453, under = -2.1469e-17;
    else if (t > 0.5) t = (t - 0.625) / fma(t, 0.625, 1.0), base = 0.55859931534356244, under = -3.5e-17;
    else if (t > 0.25) t = (t - 0.375) / fma(t, 0.375, 1.0), base = 0.35877067027057225, under = 0;
    else if (t > 0.125) t = (t - 0.1875) / fma(t, 0.1875, 1.0), base = 0.18534794999569476, under = 0;
    const double tt = t * t;
    double s = 1.0 / 19;
    s = fma(s, -tt, 1.0 / 17);
    s = fma(s, -tt, 1.0 / 15);
    s = fma(s, -tt, 1.0 / 13);
    s = fma(s, -tt, 1.0 / 11);
    s = fma(s, -tt, 1.0 / 9);
    s = fma(s, -tt, 1.0 / 7);
    s = fma(s, -tt, 1.0 / 5);
    s = fma(s, -tt, 1.0 / 3);
    double r = base + (fma(-s * tt, t, t) + under);
    if (size > 1) r = 1.57079632679489656 - (r - 6.12323399573676604e-17);
    return __builtin_copysign(r, x);
}
PTXLAB_FN double atan2(double y, double x) {
    if (__builtin_isnan(x) || __builtin_isnan(y)) return x + y;
    double r;
    if (y == 0) r = 0;
    else if (__builtin_isinf(x) && __builtin_isinf(y)) r = 0.78539816339744831;
    else if (fabs(x) >= fabs(y)) r = atan(fabs(y) / fabs(x));
    else r = M_PI_2 - (atan(fabs(x) / fabs(y)) - 6.12323399573676604e-17);
    if (__builtin_signbit(x)) r = M_PI - (r - 1.22464679914735321e-16);
    return __builtin_copysign(r, y);
}
PTXLAB_FN double asin(double x) {
    if (fabs(x) > 1) return __builtin_nan("");
    return atan2(x, sqrt((1.0 - x) * (1.0 + x)));
}
PTXLAB_FN double acos(double x) {
    if (fabs(x) > 1) return __builtin_nan("");
    return 2.0 * atan2(sqrt(1.0 - x), sqrt(1.0 + x));
}
PTXLAB_FN double sinh(double x) {
    const double size = fabs(x), e = size < 700 ? expm1(size) : 0;
    const double r = size < 700 ? 0.5 * (e + e / (e + 1.0)) : exp(size - M_LN2 - 2.31904681384629956e-17);
    return __builtin_copysign(r, x);
}
PTXLAB_FN double cosh(double x) {
    const double size = fabs(x), e = exp(fmin(size, 700.0));
    return size < 700 ? 0.5 * (e + 1.0 / e) : exp(size - M_LN2 - 2.31904681384629956e-17);
}
PTXLAB_FN double tanh(double x) {
    const double e = expm1(2.0 * fmin(fabs(x), 30.0));
    return __builtin_isnan(x) ? x : __builtin_copysign(e / (e + 2.0), x);
}
PTXLAB_FN double asinh(double x) {
    const double size = fabs(x);
    const double r = size > 1e150 ? log(size) + M_LN2 : log1p(size + size * size / (1.0 + sqrt(fma(size, size, 1.0))));
    return __builtin_copysign(r, x);
}
PTXLAB_FN double acosh(double x) {
    return x > 1e150 ? log(x) + M_LN2 : log1p((x - 1.0) + sqrt((x - 1.0) * (x + 1.0)));
}
PTXLAB_FN double atanh(double x) { return __builtin_copysign(0.5 * log1p(2.0 * fabs(x) / (1.0 - fabs(x))), x); }
PTXLAB_FN double cbrt(double x) {
    if (x == 0 || !__builtin_isfinite(x)) return x;
    int exponent;
    const double m = frexp(fabs(x), &exponent);
    const int third = (exponent + 3000) / 3 - 1000;
    const double wanted = ldexp(m, exponent - 3 * third);
    double r = fma(wanted, 0.2, 0.75);
#pragma unroll
    for (int i = 0; i < 6; ++i) r = r - (r * r * r - wanted) / (3.0 * r * r);
    return __builtin_copysign(ldexp(r, third), x);
}
PTXLAB_FN double hypot(double x, double y) {
    if (__builtin_isinf(x) || __builtin_isinf(y)) return HUGE_VAL;
    int exponent;
    frexp(fmax(fabs(x), fabs(y)), &exponent);
    const double a = ldexp(x, -exponent), b = ldexp(y, -exponent);
    return ldexp(sqrt(fma(a, a, b * b)), exponent);
}
// erf as its series up to 2.5, from there the continued fraction of erfc.
PTXLAB_FN double ptxlab_erfc_far(double x) {
    double f = x;
    for (int k = 60; k > 0; --k) f = x + 0.5 * k / f;
    const double square = x * x;
    return exp(-square) * (1.0 - fma(x, x, -square)) / (f * 1.77245385090551603);
}
PTXLAB_FN double ptxlab_erf_near(double x) {
    double term = x, sum = x;
    for (int k = 1; k < 60; ++k) {
        term *= 2.0 * x * x / (2 * k + 1);
        sum += term;
    }
    return 1.12837916709551257 * exp(-x * x) * sum;
}
PTXLAB_FN double erf(double x) {
    const double size = fabs(x);
    if (__builtin_isnan(x)) return x;
    return __builtin_copysign(size < 2.5 ? ptxlab_erf_near(size) : 1.0 - ptxlab_erfc_far(fmin(size, 30.0)), x);
}
PTXLAB_FN double erfc(double x) {
    if (__builtin_isnan(x)) return x;
    if (x < 1.0) return 1.0 - erf(x);
    return ptxlab_erfc_far(fmin(x, 30.0));
}
PTXLAB_FN double rsqrt(double x) { return __drcp_rn(__dsqrt_rn(x)); }
PTXLAB_FN double rcbrt(double x) { return 1.0 / cbrt(x); }
PTXLAB_FN double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

#define PTXLAB_THROUGH_DOUBLE(name) \
    PTXLAB_FN float name##f(float x) { return (float)name((double)x); }
#ifdef PTXLAB_FAST_MATH
PTXLAB_FN float sinf(float x) { return __sinf(x); }
PTXLAB_FN float cosf(float x) { return __cosf(x); }
PTXLAB_FN float tanf(float x) { return __tanf(x); }
PTXLAB_FN void sincosf(float x, float* sine, float* cosine) { __sincosf(x, sine, cosine); }
PTXLAB_FN float expf(float x) { return __expf(x); }
PTXLAB_FN float exp10f(float x) { return __exp10f(x); }
PTXLAB_FN float logf(float x) { return __logf(x); }
PTXLAB_FN float log2f(float x) { return __log2f(x); }
PTXLAB_FN float log10f(float x) { return __log10f(x); }
PTXLAB_FN float powf(float x, float y) { return __powf(x, y); }
PTXLAB_FN float tanhf(float x) { return __tanhf(x); }
#else
PTXLAB_THROUGH_DOUBLE(sin)
PTXLAB_THROUGH_DOUBLE(cos)
PTXLAB_THROUGH_DOUBLE(tan)
PTXLAB_THROUGH_DOUBLE(exp10)
PTXLAB_THROUGH_DOUBLE(log)
PTXLAB_THROUGH_DOUBLE(log2)
PTXLAB_THROUGH_DOUBLE(log10)
PTXLAB_FN void sincosf(float x, float* sine, float* cosine) {
    double s, c;
    sincos((double)x, &s, &c);
    *sine = (float)s, *cosine = (float)c;
}
// e to x is 2 to a whole number, which goes to the exponent in two steps, times 2 to a fraction.
PTXLAB_FN float expf(float x) {
    const float limited = fminf(fmaxf(x, -150.0f), 150.0f), whole = rintf(limited * 1.442695041f);
    float r = __fmaf_rn(limited, 1.442695041f, -whole);
    r = __fmaf_rn(limited, 1.925963033e-8f, r);
    const int half = (int)whole / 2, rest = (int)whole - half;
    const float result = ptxlab_ex2_ftz(r) * __int_as_float((half + 127) << 23) * __int_as_float((rest + 127) << 23);
    return __builtin_isnan(x) ? x : result;
}
PTXLAB_FN float tanhf(float x) {
    const float size = fabsf(x);
    if (size < 0.6f) return (float)tanh((double)x);
    const float r = __fmaf_rn(ptxlab_rcp_ftz(__fadd_rn(ptxlab_ex2_ftz(__fmul_rn(size, 2.885390082f)), 1.0f)), -2.0f, 1.0f);
    return __builtin_isnan(x) ? x : __builtin_copysignf(r, x);
}
PTXLAB_FN float powf(float x, float y) { return (float)pow((double)x, (double)y); }
#endif
PTXLAB_FN float exp2f(float x) { return ptxlab_ex2(x); }
PTXLAB_FN float __exp2f(float x) { return ptxlab_ex2(x); }
PTXLAB_THROUGH_DOUBLE(expm1)
PTXLAB_THROUGH_DOUBLE(log1p)
PTXLAB_THROUGH_DOUBLE(sinpi)
PTXLAB_THROUGH_DOUBLE(cospi)
PTXLAB_THROUGH_DOUBLE(asin)
PTXLAB_THROUGH_DOUBLE(acos)
PTXLAB_THROUGH_DOUBLE(atan)
PTXLAB_THROUGH_DOUBLE(sinh)
PTXLAB_THROUGH_DOUBLE(cosh)
PTXLAB_THROUGH_DOUBLE(asinh)
PTXLAB_THROUGH_DOUBLE(acosh)
PTXLAB_THROUGH_DOUBLE(atanh)
PTXLAB_THROUGH_DOUBLE(cbrt)
PTXLAB_THROUGH_DOUBLE(rcbrt)
PTXLAB_THROUGH_DOUBLE(erf)
PTXLAB_THROUGH_DOUBLE(erfc)
PTXLAB_THROUGH_DOUBLE(normcdf)
PTXLAB_FN float atan2f(float y, float x) { return (float)atan2((double)y, (double)x); }
PTXLAB_FN float hypotf(float x, float y) { return (float)hypot((double)x, (double)y); }


// The names of C++, without the letter f.
#define PTXLAB_OVERLOAD(name) \
    PTXLAB_FN float name(float x) { return name##f(x); } \
    PTXLAB_WHOLE(name)
PTXLAB_OVERLOAD(sin)
PTXLAB_OVERLOAD(cos)
PTXLAB_OVERLOAD(tan)
PTXLAB_OVERLOAD(exp)
PTXLAB_OVERLOAD(exp2)
PTXLAB_OVERLOAD(exp10)
PTXLAB_OVERLOAD(expm1)
PTXLAB_OVERLOAD(log)
PTXLAB_OVERLOAD(log2)
PTXLAB_OVERLOAD(log10)
PTXLAB_OVERLOAD(log1p)
PTXLAB_OVERLOAD(asin)
PTXLAB_OVERLOAD(acos)
PTXLAB_OVERLOAD(atan)
PTXLAB_OVERLOAD(sinh)
PTXLAB_OVERLOAD(cosh)
PTXLAB_OVERLOAD(tanh)
PTXLAB_OVERLOAD(cbrt)
PTXLAB_OVERLOAD(erf)
PTXLAB_OVERLOAD(erfc)
PTXLAB_OVERLOAD(rsqrt)
PTXLAB_FN float pow(float x, float y) { return powf(x, y); }
PTXLAB_FN float pow(float x, int y) { return powf(x, (float)y); }
PTXLAB_FN double pow(float x, double y) { return pow((double)x, y); }
PTXLAB_FN double pow(double x, float y) { return pow(x, (double)y); }
PTXLAB_FN double pow(int x, int y) { return pow((double)x, (double)y); }
PTXLAB_FN float atan2(float y, float x) { return atan2f(y, x); }
PTXLAB_FN float fmod(float x, float y) { return fmodf(x, y); }
PTXLAB_FN float hypot(float x, float y) { return hypotf(x, y); }

#define PTXLAB_NO_FUNCTION(name) \
    PTXLAB_LACKS(#name, "compute it on the host, or compile with NVRTC") double name(double, ...); \
    PTXLAB_LACKS(#name "f", "compute it on the host, or compile with NVRTC") float name##f(float, ...);
PTXLAB_NO_FUNCTION(tgamma)
PTXLAB_NO_FUNCTION(lgamma)
PTXLAB_NO_FUNCTION(j0)
PTXLAB_NO_FUNCTION(j1)
PTXLAB_NO_FUNCTION(y0)
PTXLAB_NO_FUNCTION(y1)
PTXLAB_NO_FUNCTION(erfinv)
PTXLAB_NO_FUNCTION(erfcinv)
PTXLAB_NO_FUNCTION(erfcx)
PTXLAB_NO_FUNCTION(normcdfinv)
PTXLAB_NO_FUNCTION(nextafter)

#ifdef PTXLAB_HOST_DEVICE
#pragma clang force_cuda_host_device begin
#endif
#endif  // PTXLAB_CUDA
