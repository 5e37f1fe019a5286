// CUDA's words for Clang. ptxlab includes this header before a kernel's source where Clang is the compiler.
//
// The text is ptxlab's own. What PTX has as an instruction is that instruction. `#include <cuda_fp16.h>` and
// the other headers of CUDA define PTXLAB_... and include this file again, which then adds their part.
#pragma clang system_header

// With PTXLAB_HOST_DEVICE, functions of the source are for the device without saying so; the header says so.
#if defined(PTXLAB_HOST_DEVICE) && defined(PTXLAB_CUDA)
#pragma clang force_cuda_host_device end
#endif

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
#define PTXLAB_FN static __inline__ PTXLAB_DEVICE
#define PTXLAB_BOTH static constexpr __inline__ __attribute__((host, device, always_inline, nodebug))
#define PTXLAB_METHOD __attribute__((host, device, always_inline, nodebug)) __inline__
#define PTXLAB_DEVICE __attribute__((device, always_inline, nodebug))
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

// An assignment is one access to memory, whatever Clang thinks of the alignment of the array beneath.
#define PTXLAB_ASSIGNED(name, type, count, alignment) \
    PTXLAB_METHOD name& operator=(const name& other) { \
        typedef type ptxlab_whole __attribute__((ext_vector_type(count), aligned(alignment), may_alias)); \
        *(ptxlab_whole*)this = *(const ptxlab_whole*)&other; \
        return *this; \
    }
#define PTXLAB_VECTOR(name, type, align2, align4) \
    struct name##1 { type x; }; \
    struct __align__(align2) name##2 { \
        type x, y; \
        PTXLAB_ASSIGNED(name##2, type, 2, align2) \
    }; \
    struct name##3 { type x, y, z; }; \
    struct __align__(align4) name##4 { \
        type x, y, z, w; \
        PTXLAB_ASSIGNED(name##4, type, 4, align4) \
    }; \
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
    static __inline__ PTXLAB_DEVICE unsigned ptxlab_##part() { \
        return __nvvm_read_ptx_sreg_##name##_##part(); \
    } \
    __declspec(property(get = ptxlab_##part)) unsigned part;
#define PTXLAB_INDEX(variable, name) \
    struct ptxlab_##variable { \
        PTXLAB_SPECIAL(name, x) \
        PTXLAB_SPECIAL(name, y) \
        PTXLAB_SPECIAL(name, z) \
        PTXLAB_DEVICE operator uint3() const { return {x, y, z}; } \
        PTXLAB_DEVICE operator dim3() const { return dim3(x, y, z); } \
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
#define PTXLAB_SYNCTHREADS(name, operation) \
    PTXLAB_FN int name(int predicate) { \
        int r; \
        asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.cta.red." operation \
                     ".pred.aligned q, 0, p; selp.s32 %0, 1, 0, q; }" : "=r"(r) : "r"(predicate) : "memory"); \
        return r; \
    }
PTXLAB_SYNCTHREADS(__syncthreads_and, "and")
PTXLAB_SYNCTHREADS(__syncthreads_or, "or")
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
        ulonglong2 c, v, r; \
        __builtin_memcpy(&c, &compare, 16), __builtin_memcpy(&v, &value, 16); \
        asm volatile("{ .reg .b128 c, v, r; mov.b128 c, {%3, %4}; mov.b128 v, {%5, %6}; atom" scope \
                     ".cas.b128 r, [%2], c, v; mov.b128 {%0, %1}, r; }" : "=l"(r.x), "=l"(r.y) \
                     : "l"(address), "l"(c.x), "l"(c.y), "l"(v.x), "l"(v.y) : "memory"); \
        __builtin_memcpy(&value, &r, 16); \
        return value; \
    } \
    template <class T> PTXLAB_FN T ptxlab_exch128##suffix(T* address, T value) { \
        static_assert(sizeof(T) == 16 && alignof(T) >= 16, "16 bytes, aligned to 16"); \
        ulonglong2 v, r; \
        __builtin_memcpy(&v, &value, 16); \
        asm volatile("{ .reg .b128 v, r; mov.b128 v, {%3, %4}; atom" scope ".exch.b128 r, [%2], v; " \
                     "mov.b128 {%0, %1}, r; }" : "=l"(r.x), "=l"(r.y) : "l"(address), "l"(v.x), "l"(v.y) \
                     : "memory"); \
        __builtin_memcpy(&value, &r, 16); \
        return value; \
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
    const double sum = r + low;
    low += r - sum;
    r = sum;
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
    const int start = exponent - 2;  // earlier bits make multiples of 4 quadrants; those before the first are 0
    const int word = start >> 6, shift = start & 63;
    unsigned long long part[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        const unsigned long long here = word + i >= 0 && word + i < 19 ? bits[word + i] : 0;
        const unsigned long long next = word + i + 1 >= 0 && word + i + 1 < 19 ? bits[word + i + 1] : 0;
        part[i] = shift ? here << shift | next >> (64 - shift) : here;
    }
    // mantissa times 192 bits, of which the lowest 192 count; the point lies behind the first two of them
    const unsigned __int128 c = (unsigned __int128)mantissa * part[2];
    const unsigned __int128 b = (unsigned __int128)mantissa * part[1] + (unsigned long long)(c >> 64);
    const unsigned long long a = mantissa * part[0] + (unsigned long long)(b >> 64);
    unsigned long long first = a << 2 | (unsigned long long)b >> 62;
    unsigned long long second = (unsigned long long)b << 2 | (unsigned long long)c >> 62;
    const unsigned long long count = a >> 62;
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
    if (!__builtin_isfinite(x)) return x - x;
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
    for (int k = 120; k > 0; --k) f = x + 0.5 * k / f;
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
    if (x < 1.5) return 1.0 - erf(x);
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

#endif  // PTXLAB_CUDA

// -- <cuda_fp16.h>, <cuda_bf16.h> ---------------------------------------------------------------------------
// `T` is the type of 16 bits, `form` its name in PTX, `T2` a pair.

#if (defined(PTXLAB_FP16) || defined(PTXLAB_BF16) || defined(PTXLAB_FP8)) && !defined(PTXLAB_HALVES_DONE)
#define PTXLAB_HALVES_DONE

#define PTXLAB_BINARY16(name, T, operation) \
    PTXLAB_FN T name(T x, T y) { \
        T r; \
        asm(operation " %0, %1, %2;" : "=h"(r.__x) : "h"(x.__x), "h"(y.__x)); \
        return r; \
    }
#define PTXLAB_TERNARY16(name, T, operation) \
    PTXLAB_FN T name(T x, T y, T z) { \
        T r; \
        asm(operation " %0, %1, %2, %3;" : "=h"(r.__x) : "h"(x.__x), "h"(y.__x), "h"(z.__x)); \
        return r; \
    }
#define PTXLAB_UNARY16(name, T, operation) \
    PTXLAB_FN T name(T x) { \
        T r; \
        asm(operation " %0, %1;" : "=h"(r.__x) : "h"(x.__x)); \
        return r; \
    }
#define PTXLAB_BINARY32(name, T, operation) \
    PTXLAB_FN T name(T x, T y) { \
        unsigned r; \
        asm(operation " %0, %1, %2;" \
            : "=r"(r) : "r"(__builtin_bit_cast(unsigned, x)), "r"(__builtin_bit_cast(unsigned, y))); \
        return __builtin_bit_cast(T, r); \
    }
#define PTXLAB_TERNARY32(name, T, operation) \
    PTXLAB_FN T name(T x, T y, T z) { \
        unsigned r; \
        asm(operation " %0, %1, %2, %3;" \
            : "=r"(r) : "r"(__builtin_bit_cast(unsigned, x)), "r"(__builtin_bit_cast(unsigned, y)), \
              "r"(__builtin_bit_cast(unsigned, z))); \
        return __builtin_bit_cast(T, r); \
    }
#define PTXLAB_UNARY32(name, T, operation) \
    PTXLAB_FN T name(T x) { \
        unsigned r; \
        asm(operation " %0, %1;" : "=r"(r) : "r"(__builtin_bit_cast(unsigned, x))); \
        return __builtin_bit_cast(T, r); \
    }
#define PTXLAB_BY_HALVES(name, T2, name1) \
    PTXLAB_FN T2 name(T2 v) { return {name1(v.x), name1(v.y)}; }

#define PTXLAB_CLASS16(T, form) \
    struct __align__(2) T##_raw { unsigned short x; }; \
    struct __align__(2) T { \
        unsigned short __x; \
        T() = default; \
        PTXLAB_DEVICE T(T##_raw raw) : __x(raw.x) {} \
        PTXLAB_DEVICE T(float v) { \
            asm("cvt.rn." form ".f32 %0, %1;" : "=h"(__x) : "f"(v)); \
        } \
        PTXLAB_DEVICE T(double v) { ptxlab_set(v); } \
        PTXLAB_DEVICE T(int v) : T((float)v) {} \
        PTXLAB_DEVICE T(unsigned v) : T((float)v) {} \
        PTXLAB_DEVICE T(short v) : T((float)v) {} \
        PTXLAB_DEVICE T(unsigned short v) : T((float)v) {} \
        PTXLAB_DEVICE T(long long v) : T((float)v) {} \
        PTXLAB_DEVICE T(long v) : T((float)v) {} \
        PTXLAB_DEVICE T(unsigned long v) : T((float)v) {} \
        PTXLAB_DEVICE T(unsigned long long v) : T((float)v) {} \
        PTXLAB_DEVICE operator float() const { \
            float r; \
            asm("cvt.f32." form " %0, %1;" : "=f"(r) : "h"(__x)); \
            return r; \
        } \
        PTXLAB_DEVICE operator T##_raw() const { return {__x}; } \
        PTXLAB_DEVICE void ptxlab_set(double v); \
    };
PTXLAB_CLASS16(__half, "f16")
PTXLAB_CLASS16(__nv_bfloat16, "bf16")
PTXLAB_DEVICE inline void __half::ptxlab_set(double v) {
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(__x) : "d"(v));
}
// PTX has no conversion of double to bf16: round to odd on the way through float.
PTXLAB_DEVICE inline void __nv_bfloat16::ptxlab_set(double v) {
    const float f = __double2float_rz(v);
    const unsigned odd = (double)f != v && v == v;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(__x) : "f"(__uint_as_float(__float_as_uint(f) | odd)));
}
struct __align__(4) __half2 {
    __half x, y;
    __half2() = default;
    PTXLAB_DEVICE __half2(__half x, __half y) : x(x), y(y) {}
};
struct __align__(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
    __nv_bfloat162() = default;
    PTXLAB_DEVICE __nv_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) : x(x), y(y) {}
};
struct __align__(4) __half2_raw { unsigned short x, y; };
struct __align__(4) __nv_bfloat162_raw { unsigned short x, y; };

// Before sm_90, bf16 has only the fused operation.
#if __CUDA_ARCH__ >= 900
PTXLAB_BINARY16(__hadd, __nv_bfloat16, "add.bf16")
PTXLAB_BINARY16(__hsub, __nv_bfloat16, "sub.bf16")
PTXLAB_BINARY16(__hmul, __nv_bfloat16, "mul.bf16")
PTXLAB_BINARY32(__hadd2, __nv_bfloat162, "add.bf16x2")
PTXLAB_BINARY32(__hsub2, __nv_bfloat162, "sub.bf16x2")
PTXLAB_BINARY32(__hmul2, __nv_bfloat162, "mul.bf16x2")
#else
PTXLAB_TERNARY16(ptxlab_fma, __nv_bfloat16, "fma.rn.bf16")
PTXLAB_TERNARY32(ptxlab_fma2, __nv_bfloat162, "fma.rn.bf16x2")
#define PTXLAB_BF16(bits) __builtin_bit_cast(__nv_bfloat16, (unsigned short)bits)
#define PTXLAB_BF162(bits) __builtin_bit_cast(__nv_bfloat162, bits * 0x10001u)
PTXLAB_FN __nv_bfloat16 __hadd(__nv_bfloat16 x, __nv_bfloat16 y) { return ptxlab_fma(x, PTXLAB_BF16(0x3f80), y); }
PTXLAB_FN __nv_bfloat16 __hsub(__nv_bfloat16 x, __nv_bfloat16 y) { return ptxlab_fma(y, PTXLAB_BF16(0xbf80), x); }
PTXLAB_FN __nv_bfloat16 __hmul(__nv_bfloat16 x, __nv_bfloat16 y) { return ptxlab_fma(x, y, PTXLAB_BF16(0x8000)); }
PTXLAB_FN __nv_bfloat162 __hadd2(__nv_bfloat162 x, __nv_bfloat162 y) { return ptxlab_fma2(x, PTXLAB_BF162(0x3f80), y); }
PTXLAB_FN __nv_bfloat162 __hsub2(__nv_bfloat162 x, __nv_bfloat162 y) { return ptxlab_fma2(y, PTXLAB_BF162(0xbf80), x); }
PTXLAB_FN __nv_bfloat162 __hmul2(__nv_bfloat162 x, __nv_bfloat162 y) { return ptxlab_fma2(x, y, PTXLAB_BF162(0x8000)); }
#endif
PTXLAB_BINARY16(__hadd, __half, "add.f16")
PTXLAB_BINARY16(__hsub, __half, "sub.f16")
PTXLAB_BINARY16(__hmul, __half, "mul.f16")
PTXLAB_BINARY16(__hadd_rn, __half, "add.rn.f16")
PTXLAB_BINARY16(__hsub_rn, __half, "sub.rn.f16")
PTXLAB_BINARY16(__hmul_rn, __half, "mul.rn.f16")
PTXLAB_BINARY16(__hadd_sat, __half, "add.sat.f16")
PTXLAB_BINARY16(__hsub_sat, __half, "sub.sat.f16")
PTXLAB_BINARY16(__hmul_sat, __half, "mul.sat.f16")
PTXLAB_TERNARY16(__hfma_sat, __half, "fma.rn.sat.f16")
PTXLAB_BINARY32(__hadd2, __half2, "add.f16x2")
PTXLAB_BINARY32(__hsub2, __half2, "sub.f16x2")
PTXLAB_BINARY32(__hmul2, __half2, "mul.f16x2")
PTXLAB_BINARY32(__hadd2_rn, __half2, "add.rn.f16x2")
PTXLAB_BINARY32(__hsub2_rn, __half2, "sub.rn.f16x2")
PTXLAB_BINARY32(__hmul2_rn, __half2, "mul.rn.f16x2")
PTXLAB_BINARY32(__hadd2_sat, __half2, "add.sat.f16x2")
PTXLAB_BINARY32(__hsub2_sat, __half2, "sub.sat.f16x2")
PTXLAB_BINARY32(__hmul2_sat, __half2, "mul.sat.f16x2")
PTXLAB_TERNARY32(__hfma2_sat, __half2, "fma.rn.sat.f16x2")

PTXLAB_FN __half ptxlab_quotient(__half x, __half y) { return (__half)__fdiv_rn((float)x, (float)y); }
PTXLAB_FN __nv_bfloat16 ptxlab_quotient(__nv_bfloat16 x, __nv_bfloat16 y) {
    const float divisor = (float)y, scale = fabsf(divisor) >= 0x1p126f ? 0.25f : 1.0f;  // as div.approx needs it
    return (__nv_bfloat16)__fmul_rn(__fdividef((float)x, divisor * scale), scale);
}

#define PTXLAB_OPERATOR2(T, symbol, function) \
    PTXLAB_FN T operator symbol(T x, T y) { return function(x, y); } \
    PTXLAB_FN T& operator symbol##=(T& x, T y) { return x = function(x, y); }
#define PTXLAB_COMPARISON(T, T2, name, symbol) \
    PTXLAB_FN bool operator symbol(T x, T y) { return (float)x symbol (float)y; } \
    PTXLAB_FN bool __h##name(T x, T y) { return (float)x symbol (float)y; } \
    PTXLAB_FN T2 __h##name##2(T2 v, T2 w) { \
        return {T((float)(v.x symbol w.x)), T((float)(v.y symbol w.y))}; \
    } \
    PTXLAB_FN unsigned __h##name##2_mask(T2 v, T2 w) { \
        return (v.x symbol w.x ? 0xffffu : 0u) | (v.y symbol w.y ? 0xffff0000u : 0u); \
    } \
    PTXLAB_FN bool __hb##name##2(T2 v, T2 w) { return v.x symbol w.x && v.y symbol w.y; } \
    PTXLAB_FN bool operator symbol(T2 v, T2 w) { return v.x symbol w.x && v.y symbol w.y; }
#define PTXLAB_UNORDERED(T, name, opposite) \
    PTXLAB_FN bool __h##name##u(T x, T y) { return !((float)x opposite (float)y); }
#define PTXLAB_ROUND_TO(T, from, mode, form) \
    PTXLAB_FN T __float2##from##_##mode(float x) { \
        T r; \
        asm("cvt." #mode "." form ".f32 %0, %1;" : "=h"(r.__x) : "f"(x)); \
        return r; \
    }
#define PTXLAB_WITH_INTEGER(T, from, name, type) \
    PTXLAB_FN type __##from##2##name##_rn(T x) { return __float2##name##_rn((float)x); } \
    PTXLAB_FN type __##from##2##name##_rz(T x) { return __float2##name##_rz((float)x); } \
    PTXLAB_FN type __##from##2##name##_ru(T x) { return __float2##name##_ru((float)x); } \
    PTXLAB_FN type __##from##2##name##_rd(T x) { return __float2##name##_rd((float)x); } \
    PTXLAB_FN T __##name##2##from##_rn(type x) { return T(x); }
#define PTXLAB_ARITHMETIC16(T, T2, from, form) \
    PTXLAB_TERNARY16(__hfma, T, "fma.rn." form) \
    PTXLAB_TERNARY32(__hfma2, T2, "fma.rn." form "x2") \
    PTXLAB_TERNARY16(__hfma_relu, T, "fma.rn.relu." form) \
    PTXLAB_TERNARY32(__hfma2_relu, T2, "fma.rn.relu." form "x2") \
    PTXLAB_BINARY16(__hmin, T, "min." form) \
    PTXLAB_BINARY16(__hmax, T, "max." form) \
    PTXLAB_BINARY16(__hmin_nan, T, "min.NaN." form) \
    PTXLAB_BINARY16(__hmax_nan, T, "max.NaN." form) \
    PTXLAB_BINARY32(__hmin2, T2, "min." form "x2") \
    PTXLAB_BINARY32(__hmax2, T2, "max." form "x2") \
    PTXLAB_BINARY32(__hmin2_nan, T2, "min.NaN." form "x2") \
    PTXLAB_BINARY32(__hmax2_nan, T2, "max.NaN." form "x2") \
    PTXLAB_UNARY16(__hneg, T, "neg." form) \
    PTXLAB_UNARY16(__habs, T, "abs." form) \
    PTXLAB_UNARY32(__hneg2, T2, "neg." form "x2") \
    PTXLAB_UNARY32(__habs2, T2, "abs." form "x2") \
    PTXLAB_FN T __hdiv(T x, T y) { return ptxlab_quotient(x, y); } \
    PTXLAB_FN T2 __h2div(T2 v, T2 w) { return {ptxlab_quotient(v.x, w.x), ptxlab_quotient(v.y, w.y)}; } \
    PTXLAB_OPERATOR2(T, +, __hadd) \
    PTXLAB_OPERATOR2(T, -, __hsub) \
    PTXLAB_OPERATOR2(T, *, __hmul) \
    PTXLAB_OPERATOR2(T, /, __hdiv) \
    PTXLAB_OPERATOR2(T2, +, __hadd2) \
    PTXLAB_OPERATOR2(T2, -, __hsub2) \
    PTXLAB_OPERATOR2(T2, *, __hmul2) \
    PTXLAB_OPERATOR2(T2, /, __h2div) \
    PTXLAB_FN T operator-(T x) { return __hneg(x); } \
    PTXLAB_FN T operator+(T x) { return x; } \
    PTXLAB_FN T2 operator-(T2 v) { return __hneg2(v); } \
    PTXLAB_FN T& operator++(T& x) { return x = x + T(1.0f); } \
    PTXLAB_FN T& operator--(T& x) { return x = x - T(1.0f); } \
    PTXLAB_COMPARISON(T, T2, eq, ==) \
    PTXLAB_COMPARISON(T, T2, ne, !=) \
    PTXLAB_COMPARISON(T, T2, lt, <) \
    PTXLAB_COMPARISON(T, T2, le, <=) \
    PTXLAB_COMPARISON(T, T2, gt, >) \
    PTXLAB_COMPARISON(T, T2, ge, >=) \
    PTXLAB_UNORDERED(T, lt, >=) \
    PTXLAB_UNORDERED(T, le, >) \
    PTXLAB_UNORDERED(T, gt, <=) \
    PTXLAB_UNORDERED(T, ge, <) \
    PTXLAB_FN bool __hisnan(T x) { return __builtin_isnan((float)x); } \
    PTXLAB_FN int __hisinf(T x) { return __builtin_isinf((float)x) ? ((float)x > 0 ? 1 : -1) : 0; } \
    PTXLAB_FN T2 __hisnan2(T2 v) { return {T((float)__hisnan(v.x)), T((float)__hisnan(v.y))}; } \
    PTXLAB_FN T __float2##from(float x) { return T(x); } \
    PTXLAB_FN T __double2##from(double x) { return T(x); } \
    PTXLAB_ROUND_TO(T, from, rn, form) \
    PTXLAB_ROUND_TO(T, from, rz, form) \
    PTXLAB_FN float __##from##2float(T x) { return (float)x; } \
    PTXLAB_WITH_INTEGER(T, from, int, int) \
    PTXLAB_WITH_INTEGER(T, from, uint, unsigned) \
    PTXLAB_WITH_INTEGER(T, from, ll, long long) \
    PTXLAB_WITH_INTEGER(T, from, ull, unsigned long long) \
    PTXLAB_FN unsigned short __##from##_as_ushort(T x) { return x.__x; } \
    PTXLAB_FN short __##from##_as_short(T x) { return (short)x.__x; } \
    PTXLAB_FN T __ushort_as_##from(unsigned short x) { return __builtin_bit_cast(T, x); } \
    PTXLAB_FN T __short_as_##from(short x) { return __builtin_bit_cast(T, x); } \
    PTXLAB_FN T2 __floats2##from##2_rn(float x, float y) { \
        unsigned r; \
        asm("cvt.rn." form "x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x)); \
        return __builtin_bit_cast(T2, r); \
    } \
    PTXLAB_FN T2 __float22##from##2_rn(float2 v) { return __floats2##from##2_rn(v.x, v.y); } \
    PTXLAB_FN T2 __float2##from##2_rn(float x) { return __floats2##from##2_rn(x, x); } \
    PTXLAB_FN float2 __##from##22float2(T2 v) { return {(float)v.x, (float)v.y}; } \
    PTXLAB_FN T2 __halves2##from##2(T x, T y) { return {x, y}; } \
    PTXLAB_FN T2 make_##from##2(T x, T y) { return {x, y}; } \
    PTXLAB_FN T2 __##from##2##from##2(T x) { return {x, x}; } \
    PTXLAB_FN T __low2##from(T2 v) { return v.x; } \
    PTXLAB_FN T __high2##from(T2 v) { return v.y; } \
    PTXLAB_FN T2 __low2##from##2(T2 v) { return {v.x, v.x}; } \
    PTXLAB_FN T2 __high2##from##2(T2 v) { return {v.y, v.y}; } \
    PTXLAB_FN T2 __lows2##from##2(T2 v, T2 w) { return {v.x, w.x}; } \
    PTXLAB_FN T2 __highs2##from##2(T2 v, T2 w) { return {v.y, w.y}; } \
    PTXLAB_FN float __low2float(T2 v) { return (float)v.x; } \
    PTXLAB_FN float __high2float(T2 v) { return (float)v.y; } \
    PTXLAB_FN T2 __lowhigh2highlow(T2 v) { return {v.y, v.x}; } \
    PTXLAB_FN T hexp(T x) { return T(expf((float)x)); } \
    PTXLAB_FN T hexp2(T x) { return T(exp2f((float)x)); } \
    PTXLAB_FN T hexp10(T x) { return T(exp10f((float)x)); } \
    PTXLAB_FN T hlog(T x) { return T(logf((float)x)); } \
    PTXLAB_FN T hlog2(T x) { return T(log2f((float)x)); } \
    PTXLAB_FN T hlog10(T x) { return T(log10f((float)x)); } \
    PTXLAB_FN T hsin(T x) { return T(sinf((float)x)); } \
    PTXLAB_FN T hcos(T x) { return T(cosf((float)x)); } \
    PTXLAB_FN T htanh(T x) { return T(tanhf((float)x)); } \
    PTXLAB_UNARY16(htanh_approx, T, "tanh.approx." form) \
    PTXLAB_UNARY32(h2tanh_approx, T2, "tanh.approx." form "x2") \
    PTXLAB_FN T hsqrt(T x) { return T(__fsqrt_rn((float)x)); } \
    PTXLAB_FN T hrsqrt(T x) { return T(rsqrtf((float)x)); } \
    PTXLAB_FN T hrcp(T x) { return T(ptxlab_rcp_ftz((float)x)); } \
    PTXLAB_FN T hfloor(T x) { return T(floorf((float)x)); } \
    PTXLAB_FN T hceil(T x) { return T(ceilf((float)x)); } \
    PTXLAB_FN T htrunc(T x) { return T(truncf((float)x)); } \
    PTXLAB_FN T hrint(T x) { return T(rintf((float)x)); } \
    PTXLAB_BY_HALVES(h2exp, T2, hexp) \
    PTXLAB_BY_HALVES(h2exp2, T2, hexp2) \
    PTXLAB_BY_HALVES(h2log, T2, hlog) \
    PTXLAB_BY_HALVES(h2log2, T2, hlog2) \
    PTXLAB_BY_HALVES(h2sin, T2, hsin) \
    PTXLAB_BY_HALVES(h2cos, T2, hcos) \
    PTXLAB_BY_HALVES(h2tanh, T2, htanh) \
    PTXLAB_BY_HALVES(h2sqrt, T2, hsqrt) \
    PTXLAB_BY_HALVES(h2rsqrt, T2, hrsqrt) \
    PTXLAB_BY_HALVES(h2rcp, T2, hrcp) \
    PTXLAB_BY_HALVES(h2floor, T2, hfloor) \
    PTXLAB_BY_HALVES(h2ceil, T2, hceil) \
    PTXLAB_BY_HALVES(h2trunc, T2, htrunc) \
    PTXLAB_BY_HALVES(h2rint, T2, hrint) \
    PTXLAB_FN T2 atomicAdd(T2* address, T2 value) { \
        unsigned r; \
        asm volatile("atom.add.noftz." form "x2 %0, [%1], %2;" \
                     : "=r"(r) : "l"(address), "r"(__builtin_bit_cast(unsigned, value)) : "memory"); \
        return __builtin_bit_cast(T2, r); \
    } \
    PTXLAB_FN T atomicAdd(T* address, T value) { \
        T r; \
        asm volatile("atom.add.noftz." form " %0, [%1], %2;" \
                     : "=h"(r.__x) : "l"(address), "h"(value.__x) : "memory"); \
        return r; \
    } \
    PTXLAB_FN T __ldg(const T* p) { return __builtin_bit_cast(T, __ldg((const unsigned short*)p)); } \
    PTXLAB_FN T2 __ldg(const T2* p) { return __builtin_bit_cast(T2, __ldg((const unsigned*)p)); } \
    PTXLAB_SHUFFLES(T2, unsigned) \
    PTXLAB_SHUFFLE16(T, __shfl_sync, int) \
    PTXLAB_SHUFFLE16(T, __shfl_up_sync, unsigned) \
    PTXLAB_SHUFFLE16(T, __shfl_down_sync, unsigned) \
    PTXLAB_SHUFFLE16(T, __shfl_xor_sync, int)
#define PTXLAB_SHUFFLE16(T, name, type) \
    PTXLAB_FN T name(unsigned mask, T value, type lane, int width = 32) { \
        return __builtin_bit_cast(T, (unsigned short)name(mask, (unsigned)value.__x, lane, width)); \
    }
PTXLAB_ARITHMETIC16(__half, __half2, half, "f16")
PTXLAB_ARITHMETIC16(__nv_bfloat16, __nv_bfloat162, bfloat16, "bf16")
#endif

#ifdef PTXLAB_FP16
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
#endif
#ifdef PTXLAB_BF16
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#endif

// -- <cuda_fp8.h> -------------------------------------------------------------------------------------------

#if defined(PTXLAB_FP8) && !defined(PTXLAB_FP8_DONE)
#define PTXLAB_FP8_DONE
#if __CUDA_ARCH__ < 890
#error "ptxlab's header for Clang has FP8 from sm_89 on, as PTX has: choose such a target, or compile with NVRTC"
#endif
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

PTXLAB_FN __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t saturation,
                                                        __nv_fp8_interpretation_t kind) {
    unsigned short r;
    if (kind == __NV_E4M3) asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(v.y), "f"(v.x));
    else asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(v.y), "f"(v.x));
    if (saturation == __NV_NOSAT) {  // PTX saturates only: what rounds beyond the largest becomes NaN or infinity
        const auto beyond = [=](float x) { return kind == __NV_E4M3 ? fabsf(x) > 464.0f : fabsf(x) >= 61440.0f; };
        const unsigned low = kind == __NV_E4M3 ? 0x7f : 0x7c;
        if (beyond(v.x)) r = (r & 0xff80) | low;
        if (beyond(v.y)) r = (r & 0x80ff) | low << 8;
    }
    return r;
}
PTXLAB_FN __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                   __nv_fp8_interpretation_t kind) {
    return (__nv_fp8_storage_t)__nv_cvt_float2_to_fp8x2({x, 0.0f}, saturation, kind);
}
PTXLAB_FN __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8((float)__half(x), saturation, kind);
}
PTXLAB_FN __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8((float)__nv_bfloat16(x), saturation, kind);
}
PTXLAB_FN __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw v, __nv_saturation_t saturation,
                                                          __nv_fp8_interpretation_t kind) {
    const float2 pair = {(float)__builtin_bit_cast(__half, v.x), (float)__builtin_bit_cast(__half, v.y)};
    return __nv_cvt_float2_to_fp8x2(pair, saturation, kind);
}
PTXLAB_FN __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t v, __nv_fp8_interpretation_t kind) {
    unsigned r;
    if (kind == __NV_E4M3) asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(v));
    else asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"(v));
    return __builtin_bit_cast(__half2_raw, r);
}
PTXLAB_FN __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
    return {__nv_cvt_fp8x2_to_halfraw2(x, kind).x};
}
PTXLAB_FN float2 ptxlab_from_fp8x2(__nv_fp8x2_storage_t v, __nv_fp8_interpretation_t kind) {
    const __half2 pair = __builtin_bit_cast(__half2, __nv_cvt_fp8x2_to_halfraw2(v, kind));
    return {(float)pair.x, (float)pair.y};
}

#define PTXLAB_CLASS8(name, kind) \
    struct __nv_fp8_##name { \
        __nv_fp8_storage_t __x; \
        __nv_fp8_##name() = default; \
        PTXLAB_DEVICE explicit __nv_fp8_##name(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, kind)) {} \
        PTXLAB_DEVICE explicit __nv_fp8_##name(double x) : __nv_fp8_##name((float)x) {} \
        PTXLAB_DEVICE explicit __nv_fp8_##name(int x) : __nv_fp8_##name((float)x) {} \
        PTXLAB_DEVICE explicit __nv_fp8_##name(__half x) : __nv_fp8_##name((float)x) {} \
        PTXLAB_DEVICE explicit __nv_fp8_##name(__nv_bfloat16 x) : __nv_fp8_##name((float)x) {} \
        PTXLAB_DEVICE explicit operator float() const { return ptxlab_from_fp8x2(__x, kind).x; } \
        PTXLAB_DEVICE explicit operator __half() const { return __half(__nv_cvt_fp8_to_halfraw(__x, kind)); } \
        PTXLAB_DEVICE explicit operator __nv_bfloat16() const { return __nv_bfloat16((float)*this); } \
        PTXLAB_DEVICE explicit operator double() const { return (float)*this; } \
        PTXLAB_DEVICE explicit operator int() const { return (int)(float)*this; } \
    }; \
    struct __align__(2) __nv_fp8x2_##name { \
        __nv_fp8x2_storage_t __x; \
        __nv_fp8x2_##name() = default; \
        PTXLAB_DEVICE explicit __nv_fp8x2_##name(float2 v) : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, kind)) {} \
        PTXLAB_DEVICE explicit __nv_fp8x2_##name(__half2 v) : __nv_fp8x2_##name(float2{(float)v.x, (float)v.y}) {} \
        PTXLAB_DEVICE explicit operator float2() const { return ptxlab_from_fp8x2(__x, kind); } \
        PTXLAB_DEVICE explicit operator __half2() const { \
            return __builtin_bit_cast(__half2, __nv_cvt_fp8x2_to_halfraw2(__x, kind)); \
        } \
    }; \
    struct __align__(4) __nv_fp8x4_##name { \
        __nv_fp8x4_storage_t __x; \
        __nv_fp8x4_##name() = default; \
        PTXLAB_DEVICE explicit __nv_fp8x4_##name(float4 v) \
            : __x(__nv_cvt_float2_to_fp8x2({v.x, v.y}, __NV_SATFINITE, kind) \
                  | (unsigned)__nv_cvt_float2_to_fp8x2({v.z, v.w}, __NV_SATFINITE, kind) << 16) {} \
        PTXLAB_DEVICE explicit operator float4() const { \
            const float2 low = ptxlab_from_fp8x2((unsigned short)__x, kind); \
            const float2 high = ptxlab_from_fp8x2((unsigned short)(__x >> 16), kind); \
            return {low.x, low.y, high.x, high.y}; \
        } \
    };
PTXLAB_CLASS8(e4m3, __NV_E4M3)
PTXLAB_CLASS8(e5m2, __NV_E5M2)
#endif

// -- <cuda_pipeline.h> --------------------------------------------------------------------------------------

#if (defined(PTXLAB_PIPELINE) || defined(PTXLAB_BARRIER) || defined(PTXLAB_GROUPS)) && !defined(PTXLAB_PIPELINE_DONE)
#define PTXLAB_PIPELINE_DONE
PTXLAB_FN void __pipeline_memcpy_async(void* shared, const void* global, size_t size, size_t zeros = 0) {
    const unsigned to = (unsigned)__cvta_generic_to_shared(shared), used = (unsigned)(size - zeros);
    if (size == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(global), "rn"(used) : "memory");
    else if (size == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" :: "r"(to), "l"(global), "rn"(used) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(to), "l"(global), "rn"(used) : "memory");
}
PTXLAB_VOLATILE(__pipeline_commit, "cp.async.commit_group;")
#define PTXLAB_WAIT_GROUP(count) case count: asm volatile("cp.async.wait_group " #count ";" ::: "memory"); break;
PTXLAB_FN void __pipeline_wait_prior(size_t count) {
    switch (count) {
        PTXLAB_WAIT_GROUP(0)
        PTXLAB_WAIT_GROUP(1)
        PTXLAB_WAIT_GROUP(2)
        PTXLAB_WAIT_GROUP(3)
        PTXLAB_WAIT_GROUP(4)
        PTXLAB_WAIT_GROUP(5)
        PTXLAB_WAIT_GROUP(6)
        PTXLAB_WAIT_GROUP(7)
        default: asm volatile("cp.async.wait_group 8;" ::: "memory");
    }
}
#endif

// -- <cooperative_groups.h> ---------------------------------------------------------------------------------

#if defined(PTXLAB_GROUPS) && !defined(PTXLAB_GROUPS_DONE)
#define PTXLAB_GROUPS_DONE
namespace cooperative_groups {
struct thread_block {
    PTXLAB_DEVICE static unsigned thread_rank() {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    PTXLAB_DEVICE static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    PTXLAB_DEVICE static unsigned size() { return num_threads(); }
    PTXLAB_DEVICE static dim3 group_index() { return blockIdx; }
    PTXLAB_DEVICE static dim3 thread_index() { return threadIdx; }
    PTXLAB_DEVICE static dim3 group_dim() { return blockDim; }
    PTXLAB_DEVICE static dim3 dim_threads() { return blockDim; }
    PTXLAB_DEVICE static void sync() { __syncthreads(); }
};
PTXLAB_FN thread_block this_thread_block() { return {}; }

// The lanes of a warp that work together: `mask` has a bit for each.
struct ptxlab_lanes {
    unsigned mask;
    PTXLAB_DEVICE unsigned thread_rank() const { return __popc(mask & __lanemask_lt()); }
    PTXLAB_DEVICE unsigned num_threads() const { return __popc(mask); }
    PTXLAB_DEVICE unsigned size() const { return num_threads(); }
    PTXLAB_DEVICE void sync() const { __syncwarp(mask); }
    PTXLAB_DEVICE int any(int predicate) const { return __any_sync(mask, predicate); }
    PTXLAB_DEVICE int all(int predicate) const { return __all_sync(mask, predicate); }
    template <class T> PTXLAB_DEVICE unsigned match_any(T value) const { return packed(__match_any_sync(mask, value)); }
    PTXLAB_DEVICE unsigned ballot(int predicate) const { return packed(__ballot_sync(mask, predicate)); }
    // The bits of the group's lanes, side by side.
    PTXLAB_DEVICE unsigned packed(unsigned lanes) const {
        unsigned result = 0;
        for (unsigned rest = mask, bit = 1; rest; rest &= rest - 1, bit += bit)
            if (lanes & rest & -rest) result |= bit;
        return result;
    }
    PTXLAB_DEVICE int lane_of(unsigned rank) const {
        unsigned rest = mask;
        for (; rank > 0; --rank) rest &= rest - 1;
        return __ffs((int)rest) - 1;
    }
};
struct coalesced_group : ptxlab_lanes {
    template <class T> PTXLAB_DEVICE T shfl(T value, int rank) const { return __shfl_sync(mask, value, lane_of(rank)); }
    template <class T> PTXLAB_DEVICE T shfl_down(T value, unsigned delta) const {
        const unsigned rank = thread_rank() + delta;
        return __shfl_sync(mask, value, lane_of(rank < num_threads() ? rank : thread_rank()));
    }
    template <class T> PTXLAB_DEVICE T shfl_up(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return __shfl_sync(mask, value, lane_of(rank >= delta ? rank - delta : rank));
    }
};
PTXLAB_FN coalesced_group coalesced_threads() { return {{__activemask()}}; }

template <unsigned Size, class Parent = void> struct thread_block_tile : ptxlab_lanes {
    static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "a tile of 1, 2, 4, 8, 16 or 32 threads");
    PTXLAB_DEVICE static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
    PTXLAB_DEVICE static constexpr unsigned num_threads() { return Size; }
    PTXLAB_DEVICE static constexpr unsigned size() { return Size; }
    PTXLAB_DEVICE static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
    PTXLAB_DEVICE static unsigned meta_group_size() { return (thread_block::num_threads() + Size - 1) / Size; }
    PTXLAB_DEVICE unsigned ballot(int predicate) const { return shifted(__ballot_sync(mask, predicate)); }
    template <class T> PTXLAB_DEVICE unsigned match_any(T value) const { return shifted(__match_any_sync(mask, value)); }
    PTXLAB_DEVICE unsigned shifted(unsigned lanes) const { return lanes >> (__ffs((int)mask) - 1); }
    template <class T> PTXLAB_DEVICE T shfl(T value, int rank) const { return __shfl_sync(mask, value, rank, Size); }
    template <class T> PTXLAB_DEVICE T shfl_up(T value, unsigned delta) const {
        return __shfl_up_sync(mask, value, delta, Size);
    }
    template <class T> PTXLAB_DEVICE T shfl_down(T value, unsigned delta) const {
        return __shfl_down_sync(mask, value, delta, Size);
    }
    template <class T> PTXLAB_DEVICE T shfl_xor(T value, unsigned lanes) const {
        return __shfl_xor_sync(mask, value, lanes, Size);
    }
};
template <unsigned Size, class Parent> PTXLAB_FN thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
    const unsigned first = thread_block::thread_rank() % 32 / Size * Size;
    return {{(Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1) << first}};
}

struct cluster_group {
    PTXLAB_DEVICE static void barrier_arrive() { __cluster_barrier_arrive(); }
    PTXLAB_DEVICE static void barrier_wait() { __cluster_barrier_wait(); }
    PTXLAB_DEVICE static void sync() { barrier_arrive(), barrier_wait(); }
    PTXLAB_DEVICE static unsigned block_rank() { unsigned r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
    PTXLAB_DEVICE static unsigned num_blocks() { unsigned r; asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r)); return r; }
    PTXLAB_DEVICE static dim3 block_index() {
        unsigned x, y, z;
        asm("mov.u32 %0, %%cluster_ctaid.x; mov.u32 %1, %%cluster_ctaid.y; mov.u32 %2, %%cluster_ctaid.z;"
            : "=r"(x), "=r"(y), "=r"(z));
        return dim3(x, y, z);
    }
    PTXLAB_DEVICE static dim3 dim_blocks() {
        unsigned x, y, z;
        asm("mov.u32 %0, %%cluster_nctaid.x; mov.u32 %1, %%cluster_nctaid.y; mov.u32 %2, %%cluster_nctaid.z;"
            : "=r"(x), "=r"(y), "=r"(z));
        return dim3(x, y, z);
    }
    PTXLAB_DEVICE static unsigned num_threads() { return num_blocks() * thread_block::num_threads(); }
    PTXLAB_DEVICE static unsigned size() { return num_threads(); }
    PTXLAB_DEVICE static unsigned thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    template <class T> PTXLAB_DEVICE static T* map_shared_rank(T* p, unsigned rank) {
        T* r;
        asm("mapa.u64 %0, %1, %2;" : "=l"(r) : "l"(p), "r"(rank));
        return r;
    }
    PTXLAB_DEVICE static unsigned query_shared_rank(const void* p) {
        unsigned r;
        asm("getctarank.u64 %0, %1;" : "=r"(r) : "l"(p));
        return r;
    }
};
PTXLAB_FN cluster_group this_cluster() { return {}; }

struct grid_group {
    PTXLAB_DEVICE static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    PTXLAB_DEVICE static unsigned long long block_rank() {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    PTXLAB_DEVICE static dim3 dim_blocks() { return gridDim; }
    PTXLAB_DEVICE static dim3 block_index() { return blockIdx; }
    PTXLAB_DEVICE static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
    PTXLAB_DEVICE static unsigned long long size() { return num_threads(); }
    PTXLAB_DEVICE static unsigned long long thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    PTXLAB_DEVICE static bool is_valid() { return workspace() != nullptr; }
    // A cooperative launch brings a word in which blocks count; its upper bit says which round it is.
    PTXLAB_DEVICE static volatile unsigned* workspace() {
        unsigned high, low;
        asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
        asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
        const unsigned long long base = (unsigned long long)high << 32 | low;
        return base ? (volatile unsigned*)(base + 4) : nullptr;
    }
    PTXLAB_DEVICE static void sync() {
        __syncthreads();
        if (thread_block::thread_rank() == 0) {
            volatile unsigned* arrived = workspace();
            const unsigned step = block_rank() ? 1 : 0x80000000u - ((unsigned)num_blocks() - 1);
            __threadfence();
            const unsigned before = atomicAdd((unsigned*)arrived, step);
            while (((before ^ *arrived) & 0x80000000u) == 0) {}
            __threadfence();
        }
        __syncthreads();
    }
};
PTXLAB_FN grid_group this_grid() { return {}; }
template <class Group> PTXLAB_FN void sync(const Group& group) { group.sync(); }

#define PTXLAB_OPERATION(name, expression) \
    template <class T> struct name { PTXLAB_DEVICE T operator()(T x, T y) const { return expression; } };
PTXLAB_OPERATION(plus, x + y)
PTXLAB_OPERATION(less, y < x ? y : x)
PTXLAB_OPERATION(greater, x < y ? y : x)
PTXLAB_OPERATION(bit_and, x & y)
PTXLAB_OPERATION(bit_or, x | y)
PTXLAB_OPERATION(bit_xor, x ^ y)
template <unsigned Size, class Parent, class T, class Operation>
PTXLAB_FN T reduce(const thread_block_tile<Size, Parent>& tile, T value, Operation operation) {
#pragma unroll
    for (unsigned step = Size / 2; step > 0; step /= 2) value = operation(value, tile.shfl_xor(value, step));
    return value;
}
template <class T, class Operation>
PTXLAB_FN T reduce(const coalesced_group& group, T value, Operation operation) {
    T result = group.shfl(value, 0);
    for (unsigned rank = 1; rank < group.num_threads(); ++rank) result = operation(result, group.shfl(value, rank));
    return result;
}
// A copy by all threads of a group, 16 bytes each where the addresses allow it.
template <class Group> PTXLAB_FN void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
    const size_t low = ((size_t)to | (size_t)from | bytes) & 15, width = low == 0 ? 16 : low % 8 == 0 ? 8 : 4;
    for (size_t at = group.thread_rank() * width; at < bytes; at += group.num_threads() * width)
        __pipeline_memcpy_async((char*)to + at, (const char*)from + at, width);
    __pipeline_commit();
}
template <class Group> PTXLAB_FN void wait(const Group& group) { __pipeline_wait_prior(0), group.sync(); }
template <unsigned Stages, class Group> PTXLAB_FN void wait_prior(const Group& group) {
    __pipeline_wait_prior(Stages), group.sync();
}
}
#endif

// -- <cuda/barrier>, <cuda/pipeline> ------------------------------------------------------------------------

#if defined(PTXLAB_BARRIER) && !defined(PTXLAB_BARRIER_DONE)
#define PTXLAB_BARRIER_DONE
namespace cuda {
#ifndef PTXLAB_SCOPES
#define PTXLAB_SCOPES
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
#endif
template <size_t Alignment> struct aligned_size_t {
    size_t value;
    PTXLAB_DEVICE explicit aligned_size_t(size_t value) : value(value) {}
    PTXLAB_DEVICE operator size_t() const { return value; }
};
template <thread_scope Scope> struct barrier {
    static_assert(Scope == thread_scope_block, "ptxlab's header for Clang has cuda::barrier only with thread_scope_block");
    unsigned long long state;
    typedef unsigned long long arrival_token;
    PTXLAB_DEVICE unsigned address() const { return (unsigned)__cvta_generic_to_shared(&state); }
    PTXLAB_DEVICE arrival_token arrive(ptrdiff_t count = 1) {
        arrival_token token;
        asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                     : "=l"(token) : "r"(address()), "r"((unsigned)count) : "memory");
        return token;
    }
    PTXLAB_DEVICE void wait(arrival_token token) const {
        unsigned done;
        do
            asm volatile("{ .reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(address()), "l"(token) : "memory");
        while (!done);
    }
    PTXLAB_DEVICE void wait_parity(bool parity) const {
        unsigned done;
        do
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(address()), "r"((unsigned)parity) : "memory");
        while (!done);
    }
    PTXLAB_DEVICE void arrive_and_wait() { wait(arrive()); }
    PTXLAB_DEVICE void arrive_and_drop() {
        asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" :: "r"(address()) : "memory");
    }
};
template <thread_scope Scope> PTXLAB_FN void init(barrier<Scope>* bar, ptrdiff_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar->address()), "r"((unsigned)count) : "memory");
}
namespace device {
template <thread_scope Scope> PTXLAB_FN unsigned long long* barrier_native_handle(barrier<Scope>& bar) {
    return &bar.state;
}
template <thread_scope Scope>
PTXLAB_FN unsigned long long barrier_arrive_tx(barrier<Scope>& bar, ptrdiff_t count, ptrdiff_t bytes) {
    unsigned long long token;
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 :: "r"(bar.address()), "r"((unsigned)bytes) : "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(token) : "r"(bar.address()), "r"((unsigned)count) : "memory");
    return token;
}
}
// A pipeline of one thread: each stage is a group of cp.async.
template <thread_scope Scope> struct pipeline {
    static_assert(Scope == thread_scope_thread, "ptxlab's header for Clang has cuda::pipeline only with thread_scope_thread");
    unsigned committed = 0, consumed = 0;
    PTXLAB_DEVICE pipeline() {}
    PTXLAB_DEVICE void producer_acquire() {}
    PTXLAB_DEVICE void producer_commit() { ++committed, __pipeline_commit(); }
    PTXLAB_DEVICE void consumer_wait() { __pipeline_wait_prior(committed - consumed - 1); }
    PTXLAB_DEVICE void consumer_release() { ++consumed; }
};
PTXLAB_FN pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <unsigned Stages, thread_scope Scope> PTXLAB_FN void pipeline_consumer_wait_prior(pipeline<Scope>&) {
    __pipeline_wait_prior(Stages);
}
template <thread_scope Scope>
PTXLAB_FN void memcpy_async(void* to, const void* from, size_t bytes, pipeline<Scope>&) {
    const size_t low = ((size_t)to | (size_t)from | bytes) & 15, width = low == 0 ? 16 : low % 8 == 0 ? 8 : 4;
    for (size_t at = 0; at < bytes; at += width)
        __pipeline_memcpy_async((char*)to + at, (const char*)from + at, width);
}
template <thread_scope Scope>
PTXLAB_FN void memcpy_async(void* to, const void* from, size_t bytes, barrier<Scope>& bar) {
    const size_t low = ((size_t)to | (size_t)from | bytes) & 15, width = low == 0 ? 16 : low % 8 == 0 ? 8 : 4;
    for (size_t at = 0; at < bytes; at += width)
        __pipeline_memcpy_async((char*)to + at, (const char*)from + at, width);
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" :: "r"(bar.address()) : "memory");
}
}
#endif

// -- the parts of C++'s library that need no host -----------------------------------------------------------

#if defined(PTXLAB_STD) && !defined(PTXLAB_STD_DONE)
#define PTXLAB_STD_DONE
namespace cuda {
namespace std {
using ::size_t;
using ::ptrdiff_t;
using ::nullptr_t;
using ::int8_t;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::uint8_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uintptr_t;
using ::abs;
using ::sqrt;
using ::exp;
using ::exp2;
using ::log;
using ::log2;
using ::log10;
using ::pow;
using ::sin;
using ::cos;
using ::tan;
using ::tanh;
using ::atan;
using ::atan2;
using ::fabs;
using ::fma;
using ::fmin;
using ::fmax;
using ::fmod;
using ::floor;
using ::ceil;
using ::round;
using ::rint;
using ::trunc;
using ::isnan;
using ::isinf;
using ::isfinite;
template <class T, T Value> struct integral_constant {
    static constexpr T value = Value;
    typedef T value_type;
    constexpr operator T() const { return Value; }
};
template <bool Value> using bool_constant = integral_constant<bool, Value>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;
template <class A, class B> struct is_same : bool_constant<__is_same(A, B)> {};
template <class A, class B> inline constexpr bool is_same_v = __is_same(A, B);
template <bool Condition, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool Condition, class T = void> using enable_if_t = typename enable_if<Condition, T>::type;
template <bool Condition, class A, class B> struct conditional { typedef A type; };
template <class A, class B> struct conditional<false, A, B> { typedef B type; };
template <bool Condition, class A, class B> using conditional_t = typename conditional<Condition, A, B>::type;
#define PTXLAB_TRANSFORMED(name, builtin) \
    template <class T> struct name { typedef builtin(T) type; }; \
    template <class T> using name##_t = builtin(T);
PTXLAB_TRANSFORMED(remove_const, __remove_const)
PTXLAB_TRANSFORMED(remove_volatile, __remove_volatile)
PTXLAB_TRANSFORMED(remove_cv, __remove_cv)
PTXLAB_TRANSFORMED(remove_reference, __remove_reference_t)
PTXLAB_TRANSFORMED(remove_cvref, __remove_cvref)
PTXLAB_TRANSFORMED(remove_pointer, __remove_pointer)
PTXLAB_TRANSFORMED(remove_extent, __remove_extent)
PTXLAB_TRANSFORMED(decay, __decay)
PTXLAB_TRANSFORMED(make_signed, __make_signed)
PTXLAB_TRANSFORMED(make_unsigned, __make_unsigned)
PTXLAB_TRANSFORMED(underlying_type, __underlying_type)
#define PTXLAB_TRAIT(name, builtin) \
    template <class T> struct name : bool_constant<builtin(T)> {}; \
    template <class T> inline constexpr bool name##_v = builtin(T);
PTXLAB_TRAIT(is_integral, __is_integral)
PTXLAB_TRAIT(is_floating_point, __is_floating_point)
PTXLAB_TRAIT(is_arithmetic, __is_arithmetic)
PTXLAB_TRAIT(is_signed, __is_signed)
PTXLAB_TRAIT(is_unsigned, __is_unsigned)
PTXLAB_TRAIT(is_pointer, __is_pointer)
PTXLAB_TRAIT(is_array, __is_array)
PTXLAB_TRAIT(is_const, __is_const)
PTXLAB_TRAIT(is_void, __is_void)
PTXLAB_TRAIT(is_enum, __is_enum)
PTXLAB_TRAIT(is_class, __is_class)
PTXLAB_TRAIT(is_trivially_copyable, __is_trivially_copyable)
template <class T> __attribute__((host, device)) T&& declval() noexcept;
template <class T> PTXLAB_BOTH T&& forward(remove_reference_t<T>& value) { return static_cast<T&&>(value); }
template <class T> PTXLAB_BOTH T&& forward(remove_reference_t<T>&& value) { return static_cast<T&&>(value); }
template <class T> PTXLAB_BOTH remove_reference_t<T>&& move(T&& value) {
    return static_cast<remove_reference_t<T>&&>(value);
}
template <class T> PTXLAB_BOTH void swap(T& a, T& b) {
    T c = move(a);
    a = move(b);
    b = move(c);
}
template <class A, class B> struct pair {
    A first;
    B second;
};
template <class A, class B> PTXLAB_BOTH pair<A, B> make_pair(A a, B b) { return {a, b}; }
template <class T> PTXLAB_BOTH const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> PTXLAB_BOTH const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> PTXLAB_BOTH const T& clamp(const T& v, const T& low, const T& high) {
    return v < low ? low : high < v ? high : v;
}
template <class To, class From> PTXLAB_BOTH To bit_cast(const From& value) { return __builtin_bit_cast(To, value); }
template <class T> PTXLAB_BOTH int popcount(T value) { return __builtin_popcountg(value); }
template <class T> PTXLAB_BOTH int countl_zero(T value) { return __builtin_clzg(value, (int)sizeof(T) * 8); }
template <class T> PTXLAB_BOTH int countr_zero(T value) { return __builtin_ctzg(value, (int)sizeof(T) * 8); }
template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
#define PTXLAB_LIMITS(type, smallest, lowest_, largest, tiny, bits, whole, with_sign) \
    template <> struct numeric_limits<type> { \
        static constexpr bool is_specialized = true, is_integer = whole, is_signed = with_sign; \
        static constexpr bool has_infinity = !whole, has_quiet_NaN = !whole; \
        static constexpr int digits = bits, radix = 2; \
        PTXLAB_METHOD static constexpr type min() { return smallest; } \
        PTXLAB_METHOD static constexpr type lowest() { return lowest_; } \
        PTXLAB_METHOD static constexpr type max() { return largest; } \
        PTXLAB_METHOD static constexpr type epsilon() { return tiny; } \
        PTXLAB_METHOD static constexpr type infinity() { return (type)(whole ? 0 : __builtin_inff()); } \
        PTXLAB_METHOD static constexpr type quiet_NaN() { return (type)(whole ? 0 : __builtin_nanf("")); } \
    };
#define PTXLAB_SIGNED_LIMITS(type, largest) \
    PTXLAB_LIMITS(type, -largest - 1, -largest - 1, largest, 0, sizeof(type) * 8 - 1, true, true)
#define PTXLAB_UNSIGNED_LIMITS(type) \
    PTXLAB_LIMITS(type, 0, 0, (type)~(type)0, 0, sizeof(type) * 8, true, false)
PTXLAB_SIGNED_LIMITS(char, 127)
PTXLAB_SIGNED_LIMITS(signed char, 127)
PTXLAB_SIGNED_LIMITS(short, 32767)
PTXLAB_SIGNED_LIMITS(int, 2147483647)
PTXLAB_SIGNED_LIMITS(long, 9223372036854775807l)
PTXLAB_SIGNED_LIMITS(long long, 9223372036854775807ll)
PTXLAB_UNSIGNED_LIMITS(unsigned char)
PTXLAB_UNSIGNED_LIMITS(unsigned short)
PTXLAB_UNSIGNED_LIMITS(unsigned)
PTXLAB_UNSIGNED_LIMITS(unsigned long)
PTXLAB_UNSIGNED_LIMITS(unsigned long long)
PTXLAB_LIMITS(float, __FLT_MIN__, -__FLT_MAX__, __FLT_MAX__, __FLT_EPSILON__, 24, false, true)
PTXLAB_LIMITS(double, __DBL_MIN__, -__DBL_MAX__, __DBL_MAX__, __DBL_EPSILON__, 53, false, true)
}
}
namespace std {
using namespace ::cuda::std;
}
#endif

#ifdef PTXLAB_HOST_DEVICE
#pragma clang force_cuda_host_device begin
#endif
