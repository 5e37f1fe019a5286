"""Random CUDA C++ programs without undefined behaviour, in the words of ptxlab's header for Clang."""

# ruff: noqa: E501  (the lines of C++ in it)

from __future__ import annotations

import random

PRELUDE = """
#include <cuda_fp8.h>
#define TID threadIdx.x
#define SIZE blockDim.x
#define BLOCK blockIdx.x
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;
typedef int i32; typedef unsigned u32; typedef long long i64; typedef unsigned long long u64;
typedef __int128 i128; typedef unsigned __int128 u128; typedef _Float16 f16; typedef float f32; typedef double f64;
typedef int v4 __attribute__((ext_vector_type(4))); typedef float w4 __attribute__((ext_vector_type(4)));
typedef f16 h2 __attribute__((ext_vector_type(2))); typedef u8 b4 __attribute__((ext_vector_type(4)));
typedef short s8 __attribute__((ext_vector_type(8)));
typedef __bf16 bf16; typedef _BitInt(24) i24; typedef unsigned _BitInt(48) u48;
typedef f64 d2 __attribute__((ext_vector_type(2))); typedef u64 l2 __attribute__((ext_vector_type(2)));
typedef i32 t3 __attribute__((ext_vector_type(3))); typedef bf16 k4 __attribute__((ext_vector_type(4)));
template <class T> __device__ inline i64 whole(T x) { return x > (T)-30000 && x < (T)30000 ? (i64)x : 7; }
struct Record { i8 a; i32 b; i16 c; f64 d; u8 e[3]; f32 f; u64 g; };
struct Small { i16 a; u8 b; };
struct Large { i32 x[24]; };
struct Bits { u32 a : 5; i32 b : 11; u64 c : 37; bool d : 1; i64 e : 50; };
__constant__ i32 table[16] = {3, 1, 4, 1, 5, 9, 2, 6, -5, 3, -5, 8, 9, -7, 9, 3};
__constant__ f32 fractions[4] = {.5f, -1.25f, 3.f, 0.1f};
__device__ u16 global_words[8] = {1, 2, 3, 40000};
__device__ inline u32 asm_u32(u32 a, u32 b) { u32 x; asm("sub.u32 %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b)); return x; }
__device__ inline u64 asm_u64(u64 a, u32 b) { u64 x; asm("mad.wide.u32 %0, %2, %2, %1;" : "=l"(x) : "l"(a), "r"(b)); return x; }
__device__ inline u16 asm_u16(u16 a, u16 b) { u16 x; asm volatile("xor.b16 %0, %1, %2;" : "=h"(x) : "h"(a), "h"(b)); return x; }
__device__ inline f32 asm_f32(f32 a, f32 b) { f32 x; asm("add.rz.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b)); return x; }
__device__ inline f64 asm_f64(f64 a, f64 b) { f64 x; asm("max.f64 %0, %1, %2;" : "=d"(x) : "d"(a), "d"(b)); return x; }
__device__ inline i32 asm_tied(i32 a, i32 b) { asm volatile("mad.lo.s32 %0, %1, %2, %0;" : "+r"(a) : "r"(b), "n"(37)); return a; }
__device__ inline u32 asm_parts(u64 a) { u32 x, y; asm("mov.b64 {%0, %1}, %2; // %%" : "=r"(x), "=r"(y) : "l"(a)); return x * 3 ^ y; }
__device__ inline i32 asm_chosen(i32 a, i32 b) { i32 x, y; asm("{ .reg .pred p; setp.gt.s32 p, %2, %3; selp.s32 %0, %2, 5, p; mov.b32 %1, %3; }" : "=&r"(x), "=r"(y) : "r"(a), "r"(b) : "memory"); return x - y; }
__device__ inline u128 asm_u128(u128 a, u64 b) { u128 x; asm("{ .reg .b64 p, q; mov.b128 {p, q}, %1; xor.b64 p, p, %2; mov.b128 %0, {q, p}; }" : "=q"(x) : "q"(a), "l"(b)); return x; }
__device__ inline f16 through(f32 a, f32 b, __nv_fp8_interpretation_t kind) { return __builtin_bit_cast(h2, __nv_cvt_fp8x2_to_halfraw2(__nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, kind), kind))[1]; }
template <class T> __device__ inline T summed(T a, T b) { T x; return __builtin_add_overflow(a, b, &x) ? (T)(x ^ 3) : x; }
template <class T> __device__ inline T reduced(T a, T b) { T x; return __builtin_sub_overflow(a, b, &x) ? (T)5 : x; }
template <class T> __device__ inline T product(T a, T b) { T x; return __builtin_mul_overflow(a, b, &x) ? (T)~x : x; }
template <class T> __device__ __noinline__ void swap_bytes(T *a, T *b, u32 n) { __builtin_memcpy(b, a, n); }
__device__ __noinline__ i32 plus(i32 a, i32 *b) { return a + *b; }
__device__ __noinline__ i32 minus(i32 a, i32 *b) { *b ^= a; return a - *b; }
"""
#: Functions of some types: the result, the text with places for operands, and their types.
CALLS = (
    ("u32", "asm_u32({}, {})", "u32 u32"), ("u64", "asm_u64({}, {})", "u64 u32"), ("u16", "asm_u16({}, {})", "u16 u16"),
    ("f32", "asm_f32({}, {})", "f32 f32"), ("f64", "asm_f64({}, {})", "f64 f64"), ("i32", "asm_tied({}, {})", "i32 i32"),
    ("u32", "asm_parts({})", "u64"), ("i32", "asm_chosen({}, {})", "i32 i32"), ("u128", "asm_u128({}, {})", "u128 u64"),
    ("f16", "through({}, {}, __NV_E4M3)", "f32 f32"), ("f16", "through({}, {}, __NV_E5M2)", "f32 f32"),
    ("f32", "__fmaf_rz({}, {}, {})", "f32 f32 f32"), ("f32", "__fadd_rd({}, {})", "f32 f32"),
    ("f64", "__dmul_ru({}, {})", "f64 f64"), ("f32", "__saturatef({})", "f32"),
    ("f32", "__frcp_rn({})", "f32"), ("f32", "__fsqrt_rz({})", "f32"), ("f32", "__expf({})", "f32"),
    ("f32", "rsqrtf({})", "f32"), ("f32", "__double2float_rd({})", "f64"), ("f32", "__uint2float_ru({})", "u32"),
    ("i32", "__float2int_rd({})", "f32"), ("u64", "__double2ull_ru({})", "f64"), ("i32", "__mulhi({}, {})", "i32 i32"),
    ("u64", "__umul64hi({}, {})", "u64 u64"), ("u32", "__byte_perm({}, {}, {})", "u32 u32 u32"),
    ("u32", "__usad({}, {}, {})", "u32 u32 u32"), ("f32", "fmodf({}, {})", "f32 f32"),
    ("i32", "isnan({})", "f64"), ("i32", "__builtin_isinf({})", "f16"), ("i32", "__builtin_isfpclass({}, 0x1e8)", "f32"),
    ("i32", "__builtin_isfpclass({}, 0x207)", "f64"),
    ("f64", "__builtin_elementwise_max({}, {})", "f64 f64"), ("f32", "__builtin_elementwise_min({}, {})", "f32 f32"),
)  # fmt: skip
#: Words in shared memory of each thread's own.
OWN = {"own_int": "i32", "own_u": "u32", "own_l": "u64", "own_f": "f32", "own_d": "f64", "own_k": "u128"}
FLUSH = ("--ftz=true",)
OPTIONS: tuple[tuple[str, ...], ...] = ((), (), ("--fmad=false",), FLUSH)
#: Atomic operations by the type of the word.
ATOMICS = {
    "i32": ("Add", "Sub", "And", "Or", "Xor", "Max", "Min", "Exch"),
    "u32": ("Add", "Sub", "And", "Or", "Xor", "Max", "Min", "Inc", "Dec", "Exch"),
    "u64": ("Add", "And", "Or", "Xor", "Max", "Min", "Exch"),
    "f32": ("Add", "Exch"),
    "f64": ("Add",),
}
#: Statements of all threads together.
EXCHANGES = (
    "buffer[TID] = x_int; __syncthreads(); x_u ^= buffer[(TID * 5 + 3) & 63]; __syncthreads();",
    "bytes[TID] = x_c; __syncthreads(); x_l += ((i64 *)bytes)[TID & 7]; __syncthreads();",
    "x_int += __shfl_xor_sync(-1, x_u, 3);",
    "x_u += __shfl_sync(-1, x_int, x_u & 31);",
    "x_f += __shfl_down_sync(-1, x_f, 5);",
    "x_f -= __shfl_up_sync(-1, x_f, x_int & 7);",
    "x_d += __shfl_xor_sync(-1, x_d, 1, 8);",
    "x_u += __ballot_sync(-1, x_int > 3);",
    "x_int ^= __any_sync(-1, x_f > 3) << 3;",
    "x_int ^= __all_sync(-1, x_l != 3) << 5;",
    "x_int ^= __uni_sync(-1, n > 3) << 7;",
    "x_u ^= __match_any_sync(-1, x_int & 3);",
    "x_u ^= __match_any_sync(-1, x_l & 7);",
    "{ int all; x_u ^= __match_all_sync(-1, n, &all); x_int += all; }",
    "x_int += __reduce_add_sync(-1, x_int);",
    "x_int ^= __reduce_min_sync(-1, x_int);",
    "x_u ^= __reduce_max_sync(-1, x_u);",
    "x_u += __reduce_xor_sync(-1, x_u);",
    "x_int += __syncthreads_count(x_f > 1);",
    "x_int ^= __syncthreads_and(x_u & 1) << 4;",
    "x_int ^= __syncthreads_or(x_d > 3);",
    "__syncwarp();",
    "x_u ^= __activemask() ? 8 : 0;",
    "__threadfence();",
    "",
)
INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
WIDE = ("i128", "u128")
ODD = ("i24", "u48")
FLOATS = ("f32", "f64", "f16", "bf16")
VECTORS = {
    "v4": ("i32", 4), "w4": ("f32", 4), "h2": ("f16", 2), "b4": ("u8", 4), "s8": ("i16", 8), "d2": ("f64", 2),
    "l2": ("u64", 2), "t3": ("i32", 3), "k4": ("bf16", 4),
}  # fmt: skip
_BITS = {
    "i8": 8,
    "u8": 8,
    "i16": 16,
    "u16": 16,
    "i32": 32,
    "u32": 32,
    "i64": 64,
    "u64": 64,
    "i128": 128,
    "u128": 128,
    "i24": 24,
    "u48": 48,
}


class Program:
    """A random program; `source` has a kernel `k`, and `options` are those of Clang."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self._depth = 0
        self._functions: list[str] = []
        self._callable: list[tuple[str, str, list[str]]] = []
        self.options = self._random.choice(OPTIONS)
        # with .ftz Clang compares bfloat16 by an instruction that PTX does not have
        last = -1 if self.options == FLUSH else None
        self._floats, self._vectors = FLOATS[:last], tuple(VECTORS)[:last]
        self.source = self._program()

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _name(self) -> str:
        self._count += 1
        return f"x{self._count}"

    def _constant(self, kind: str) -> str:
        pick = self._random
        if kind in FLOATS:
            return f"({kind}){pick.choice(['0', '1', '-1', '2', '0.5', '3.25', '-7.75', '100', '0.1', '1e-3', '1e5'])}"
        bits = min(64, _BITS[kind])
        value = pick.choice(
            [0, 1, 2, 3, 5, 7, 8, 10, 31, 127, 255, 1 << bits - 1, (1 << bits) - 1, pick.getrandbits(bits)]
        )
        return f"({kind}){value % (1 << bits)}ull"

    def _variable(self, scope: dict[str, str], kind: str) -> str | None:
        names = [name for name, held in scope.items() if held == kind]
        return self._random.choice(names) if names else None

    def expression(self, scope: dict[str, str], kind: str, depth: int = 3) -> str:
        """An expression of a type."""
        pick = self._random
        if kind in VECTORS:
            return self._vector_expression(scope, kind, depth)
        if depth <= 0 or self._chance(0.15):
            name = self._variable(scope, kind)
            return name if name and self._chance(0.85) else self._constant(kind)

        def inner(other: str = kind) -> str:
            return self.expression(scope, other, depth - 1)

        integer = kind not in FLOATS
        choice = pick.random()
        if choice < 0.2:
            other = pick.choice([*INTEGERS, *self._floats, *(WIDE + ODD if self._chance(0.2) else ())])
            if other in WIDE and not integer:
                other = "i64"
            return self._converted(f"({inner(other)})", other, kind)
        if choice < 0.3:
            return f"({self.condition(scope, depth - 1)} ? {inner()} : {inner()})"
        if choice < 0.36:
            vector = self._variable(scope, pick.choice(list(self._vectors)))
            if vector is not None:
                element, size = VECTORS[scope[vector]]
                index = str(pick.randrange(size)) if self._chance(0.7) else f"({inner('u32')}) % {size}"
                value = f"{vector}[{index}]"
                return self._converted(value, element, kind)
        if choice < 0.42 and self._callable:
            name, result, parameters = pick.choice(self._callable)
            call = f"{name}({', '.join(inner(parameter) for parameter in parameters)})"
            if result in VECTORS:
                result, count = VECTORS[result]
                call += f"[{pick.randrange(count)}]"
            return self._converted(call, result, kind)
        fitting = [row for row in CALLS if row[0] == kind]
        if fitting and self._chance(0.12):
            _, text, kinds = pick.choice(fitting)
            return text.format(*(inner(wanted) for wanted in kinds.split()))
        if not integer:
            if choice < 0.85:
                return f"({kind})({inner()} {pick.choice('+-*+-*/')} {inner()})"
            if kind in ("f16", "bf16"):
                return f"({kind})(-{inner()})"
            end = "f" if kind == "f32" else ""
            function = pick.choice(["fma", "sqrt", "fabs", "floor", "ceil", "trunc", "rint", "fmin", "fmax", "copysign", "neg", "round"])  # fmt: skip
            if function == "neg":
                return f"(-{inner()})"
            count = {"fma": 3, "fmin": 2, "fmax": 2, "copysign": 2}.get(function, 1)
            return f"{function}{end}({', '.join(inner() for _ in range(count))})"
        bits = _BITS[kind]
        if choice < 0.75:
            operator = pick.choice(["+", "-", "*", "&", "|", "^"])
            return f"({kind})({inner()} {operator} {inner()})"
        if choice < 0.85:
            by = f"({inner('u32')} & {bits - 1})" if self._chance(0.5) else str(pick.randrange(bits))
            return f"({kind})({inner()} {pick.choice(['<<', '>>'])} {by})"
        if choice < 0.9 and kind not in WIDE:
            divisor = (
                f"({inner()} | 1)" if self._chance(0.5) else f"({kind}){pick.choice([3, 7, 10, 16, 100])}"
            )
            return f"({kind})(({inner()} & ({kind})0x7fffffff) {pick.choice('/%')} {divisor})"
        if choice < 0.93 and kind in WIDE:
            return f"({kind})({inner()} {pick.choice('/%')} ({inner('u64')} | 1))"
        if kind not in WIDE + ODD and self._chance(0.2):
            return f"{pick.choice(['summed', 'reduced', 'product'])}<{kind}>({inner()}, {inner()})"
        word = pick.choice(["u32", "u64"])
        end = "ll" if word == "u64" else ""
        zeros = pick.choice([f"clz{end}", f"ctz{end}", f"popcount{end}"])
        return pick.choice([
            f"({kind})__builtin_{zeros}({inner(word)} | 1)",
            f"({kind})__builtin_bswap{_BITS[word]}({inner(word)})",
            f"({kind})__builtin_rotateleft{_BITS[word]}({inner(word)}, {inner(word)})",
            f"({kind})__builtin_bitreverse{_BITS[word]}({inner(word)})",
            f"({kind})(~{inner()})", f"({kind})(-{inner()})",
            f"({kind})__builtin_elementwise_{pick.choice(['max', 'min', 'add_sat', 'sub_sat'][: 2 if kind in WIDE else 4])}({inner()}, {inner()})",
            f"({kind})({self.condition(scope, depth - 1)})",
        ])  # fmt: skip

    def _converted(self, text: str, source: str, kind: str) -> str:
        """A value of a type as another one, without undefined behaviour."""
        if kind not in FLOATS and source in FLOATS:
            text = f"whole({text})"
        if kind in FLOATS and source in WIDE:  # Clang's back end has no such conversion
            text = f"(i64){text}"
        return f"({kind})(f32){text}" if {kind, source} == {"f16", "bf16"} else f"({kind}){text}"

    def _vector_expression(self, scope: dict[str, str], kind: str, depth: int) -> str:
        element, count = VECTORS[kind]
        name = self._variable(scope, kind)
        if name is None or self._chance(0.2) or depth <= 0:
            if name is not None and self._chance(0.5):
                order = ", ".join(str(self._random.randrange(count)) for _ in range(count))
                return f"__builtin_shufflevector({name}, {name}, {order})"
            return f"(({kind}){{{', '.join(self.expression(scope, element, min(1, depth - 1)) for _ in range(count))}}})"
        return f"({name} {self._random.choice('+-*')} {self._vector_expression(scope, kind, depth - 1)})"

    def condition(self, scope: dict[str, str], depth: int = 2) -> str:
        """A comparison, or several."""
        if depth > 0 and self._chance(0.2):
            return f"({self.condition(scope, depth - 1)} {self._random.choice(['&&', '||', '!=', '&'])} {self.condition(scope, depth - 1)})"  # fmt: skip
        kind = self._random.choice([*INTEGERS, *self._floats, *(WIDE + ODD if self._chance(0.2) else ())])
        operator = self._random.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"({self.expression(scope, kind, depth)} {operator} {self.expression(scope, kind, depth)})"

    def statements(self, scope: dict[str, str], count: int, loops: int = 2) -> str:
        """Some statements; they see the names of the scope and may add to it."""
        scope = dict(scope)
        return "\n".join(self._statement(scope, loops) for _ in range(count))

    def _statement(self, scope: dict[str, str], loops: int) -> str:
        pick = self._random
        self._depth += 1
        try:
            choice = pick.random()
            if choice < 0.3 or self._depth > 5:
                kind = pick.choice(
                    [*INTEGERS, *self._floats, *WIDE, *ODD, *self._vectors]
                    if self._chance(0.4)
                    else ["i32", "u32", "f32"]
                )
                text = f"{kind} {(name := self._name())} = {self.expression(scope, kind)};"
                scope[name] = kind
                return text
            if choice < 0.5:
                names = [name for name, kind in scope.items() if name[0] == "x"]
                if not names:
                    return ";"
                name = pick.choice(names)
                kind = scope[name]
                if kind in VECTORS and self._chance(0.5):
                    element, count = VECTORS[kind]
                    return f"{name}[{pick.randrange(count)}] = {self.expression(scope, element)};"
                return f"{name} = {self.expression(scope, kind)};"

            def inner(count: int) -> str:
                return self.statements(scope, count, loops)

            if choice < 0.62:
                otherwise = f" else {{ {inner(2)} }}" if self._chance(0.5) else ""
                return f"if ({self.condition(scope)}) {{ {inner(2)} }}{otherwise}"
            if choice < 0.72 and loops:
                name = self._name()
                counter = "i" + name
                limit = pick.choice([str(pick.randrange(1, 5)), "(TID & 3)", "(n & 3)"])
                scope = {**scope, counter: "i32"}
                leave = (
                    f"if ({self.condition(scope, 1)}) {pick.choice(['break', 'continue'])};"
                    if self._chance(0.4)
                    else ""
                )
                unroll = '_Pragma("unroll 1") ' if self._chance(0.4) else ""
                return f"{unroll}for (i32 {counter} = 0; {counter} < {limit}; {counter}++) {{ {self.statements(scope, 2, loops - 1)} {leave} {self.statements(scope, 1, loops - 1)} }}"  # fmt: skip
            if choice < 0.78:
                cases = "".join(
                    f"case {value}: {{ {inner(1)} }} {'break;' if self._chance(0.7) else ''}\n"
                    for value in sorted(pick.sample(range(12), pick.randrange(2, 7)))
                )
                return f"switch ({self.expression(scope, 'u32', 2)} % 12) {{ {cases} default: {{ {inner(1)} }} }}"
            if choice < 0.84:
                return f"local[({self.expression(scope, 'u32', 2)}) & 7] {pick.choice(['=', '+=', '^='])} {self.expression(scope, 'i32', 2)};"
            if choice < 0.9:
                field, kind = pick.choice([("a", "i8"), ("b", "i32"), ("c", "i16"), ("d", "f64"), ("f", "f32"), ("g", "u64"), ("e[1]", "u8"), ("e[n & 1]", "u8")])  # fmt: skip
                return f"record.{field} = {self.expression(scope, kind, 2)};"
            if choice < 0.93:
                return f"record = change(record, {self.expression(scope, 'i32', 2)}, &x_int);"
            if choice < 0.95:
                return f"{{ Large big = spread({self.expression(scope, 'i32', 1)}); x_int += big.x[({self.expression(scope, 'u32', 1)}) % 24]; }}"
            if choice < 0.985:
                return pick.choice([self._atomic, self._memory, self._pointer])(scope)
            return f"Small small{self._name()} = {{(i16)x_int, {self.expression(scope, 'u8', 1)}}}; x_int ^= fold(small{'x' + str(self._count)});"
        finally:
            self._depth -= 1

    def _atomic(self, scope: dict[str, str]) -> str:
        """An atomic operation: on words of all threads, whose results do not depend on the order, or on its own."""
        pick = self._random
        scope_of = pick.choice(["", "_block", "_system"])
        if self._chance(0.4):
            number, op = pick.choice(list(enumerate(["Add", "And", "Or", "Xor", "Max", "Min"])))
            kind, words = pick.choice([("i32", f"&totals[{number}]"), ("u32", f"(u32 *)&totals[{number + 8}]"), ("u64", f"(u64 *)&totals[{2 * number + 32}]"), ("i32", f"&counts[{number}]")])  # fmt: skip
            return f"atomic{op}{scope_of}({words}, {self.expression(scope, kind, 2)});"
        name = pick.choice([name for name in OWN if name != "own_k"])
        kind = OWN[name]
        value = self.expression(scope, kind, 2)
        if kind not in FLOATS and self._chance(0.25):
            compared = pick.choice([f"{name}[TID]", self.expression(scope, kind, 1)])
            return f"x_l ^= whole(atomicCAS{scope_of}(&{name}[TID], {compared}, {value}));"
        return f"x_l ^= whole(atomic{pick.choice(ATOMICS[kind])}{scope_of}(&{name}[TID], {value}));"

    def _memory(self, scope: dict[str, str]) -> str:
        """Bytes that are moved: between local and shared memory, and within one of them."""
        pick = self._random
        areas = ["area", "rows[TID]"]
        source, target = pick.choice([areas, areas[::-1]])
        size = (
            str(pick.randrange(1, 48)) if self._chance(0.6) else f"({self.expression(scope, 'u32', 1)} % 40)"
        )
        start = (
            str(pick.choice([0, 4, 8, 3]))
            if self._chance(0.6)
            else f"({self.expression(scope, 'u32', 1)} % 9)"
        )
        return pick.choice([
            f"__builtin_memcpy({target} + {start}, {source}, {size});", f"__builtin_memcpy({target}, {source} + {start}, {size});",
            f"__builtin_memmove({target} + {start}, {target} + 5, {size});", f"__builtin_memmove({target}, {target} + {start}, {size});",
            f"__builtin_memset({target} + {start}, {self.expression(scope, 'i8', 1)}, {size});",
            f"swap_bytes({source}, {target}, {size});",
            f"x_int ^= {target}[{start}]; x_l += *(i64 *)({target} + 8 * ({start} & 3));",
        ])  # fmt: skip

    def _pointer(self, scope: dict[str, str]) -> str:
        """Memory through a pointer that may point to different state spaces, volatile memory, bit fields."""
        pick = self._random
        value = self.expression(scope, "i32", 2)
        places = [
            "&local[n & 7]",
            "&own_int[TID]",
            "&record.b",
            "&x_int",
            "(i32 *)&totals[64 + TID]",
            "(i32 *)area + 1",
        ]
        first, second = pick.sample(places, 2)
        field = pick.choice("abcde")
        return pick.choice([
            f"*({self.condition(scope)} ? {first} : {second}) += {value};",
            f"{{ i32 *p = {first}; if ({self.condition(scope)}) p = {second}; x_u ^= *p; *p = {value}; }}",
            f"x_int = ({self.condition(scope)} ? plus : minus)({value}, {first});",
            f"seen[{self.expression(scope, 'u32', 1)} & 3] = {value}; x_int ^= seen[n & 3];",
            f"bits.{field} = {value}; x_l += bits.{pick.choice('abcde')};",
            f"own_k[TID] += {self.expression(scope, 'u128', 1)}; x_k ^= own_k[TID];",
            f"x_v = x_v {pick.choice(['<', '==', '>='])} {self.expression(scope, 'v4', 1)} ? x_v : x_v >> {pick.randrange(32)};",
        ])  # fmt: skip

    def _function(self) -> str:
        kinds = [*INTEGERS, *self._floats, *WIDE, *self._vectors, *ODD]
        result = self._random.choice(kinds)
        parameters = [self._random.choice(kinds) for _ in range(self._random.randrange(1, 4))]
        name = f"f{len(self._callable)}"
        scope = {f"p{number}": kind for number, kind in enumerate(parameters)}
        listing = ", ".join(f"{kind} p{number}" for number, kind in enumerate(parameters))
        inline = "__noinline__ " if self._chance(0.7) else ""
        body = f"return {self.expression(scope, result)};"
        if self._chance(0.5):
            body = f"if ({self.condition(scope)}) return {self.expression(scope, result)}; {body}"
        text = f"__device__ {inline}{result} {name}({listing}) {{ {body} }}\n"
        self._callable.append((name, result, parameters))
        return text

    def _program(self) -> str:
        functions = "".join(self._function() for _ in range(self._random.randrange(4)))
        scope = {
            "x_int": "i32", "x_u": "u32", "x_c": "i8", "x_s": "u16", "x_l": "i64", "x_f": "f32", "x_d": "f64",
            "x_h": "f16", "x_v": "v4", "x_w": "w4", "x_q": "s8", "x_b": "b4", "n": "i32", "x_k": "u128",
        }  # fmt: skip
        body = self.statements(scope, self._random.randrange(2, 6))
        after = self.statements(scope, self._random.randrange(1, 4))
        exchange = "\n  ".join(self._random.choice(EXCHANGES) for _ in range(3))
        restrict = self._random.choice(["", "__restrict__"])
        own = " ".join(
            f"__shared__ {kind} {name}[32]; {name}[TID] = in[TID & 7] * 3;" for name, kind in OWN.items()
        )
        record = self._random.choice(["Record record = given;", "Record record = {}; record.d = x_f;"])
        return f"""{PRELUDE}
__device__ __noinline__ Record change(Record r, i32 by, i32 *where) {{
  r.b += by; r.a ^= by; r.e[by & 1] += r.a; r.d = r.d * 0.5 + r.f; *where -= r.c; return r; }}
__device__ __noinline__ i32 fold(Small s) {{ return s.a * 31 + s.b; }}
__device__ __noinline__ Large spread(i32 seed) {{
  Large l; for (i32 i = 0; i < 24; i++) l.x[i] = seed * i + table[i & 15]; return l; }}
{functions}
__global__ void k(const i32 *{restrict} integers, const f32 *{restrict} floats, u64 *{restrict} out, i32 *totals, i32 n, Record given) {{
  __shared__ i32 buffer[64]; __shared__ __attribute__((aligned(8))) i8 bytes[64];
  const u32 at = BLOCK * SIZE + TID;
  const i32 *in = integers + at * 16; const f32 *fin = floats + at * 8;
  i32 x_int = in[0]; u32 x_u = in[1]; i8 x_c = in[2]; u16 x_s = in[3]; i64 x_l = (i64)in[4] << 20 ^ in[5];
  f32 x_f = fin[0]; f64 x_d = fin[1] / 3.0; f16 x_h = (f16)fin[2]; u128 x_k = (u128)x_l * x_u;
  v4 x_v = *(v4 *)(in + 8); w4 x_w = *(w4 *)(fin + 4); s8 x_q = *(s8 *)(in + 12); b4 x_b = *(b4 *)(in + 7);
  i32 local[8]; for (i32 i = 0; i < 8; i++) local[i] = in[i] + i;
  {own}
  __shared__ i32 counts[8]; counts[TID & 7] = 0; __shared__ __attribute__((aligned(16))) i8 rows[32][64];
  __attribute__((aligned(16))) i8 area[64]; for (i32 i = 0; i < 8; i++) {{ ((u64 *)area)[i] = i * x_l; ((u64 *)rows[TID])[i] = x_u - i; }}
  volatile i32 seen[4] = {{1, 2, n, 4}}; Bits bits = {{3, -7, 1234567, true, -99}}; __syncthreads();
  {record}
  {body}
  {exchange}
  {after}
  u64 *to = out + at * 64;
  to[0] = x_int; to[1] = x_u; to[2] = x_c; to[3] = x_s; to[4] = x_l; to[5] = *(u32 *)&x_f; to[6] = *(u64 *)&x_d;
  to[7] = *(u16 *)&x_h; *(v4 *)(to + 8) = x_v; *(w4 *)(to + 10) = x_w; *(s8 *)(to + 12) = x_q; *(b4 *)(to + 14) = x_b;
  to[16] = x_k; to[17] = x_k >> 64; for (i32 i = 0; i < 8; i++) ((i32 *)(to + 18))[i] = local[i];
  to[24] = record.a; to[25] = record.b; to[26] = record.c; to[27] = *(u64 *)&record.d; to[28] = record.e[0] | record.e[1] << 8;
  to[29] = *(u32 *)&record.f; to[30] = record.g; to[31] = global_words[TID & 7] + fractions[TID & 3] * 2;
  __syncthreads(); for (i32 i = 0; i < 8; i++) {{ to[32 + i] = ((u64 *)area)[i]; to[40 + i] = ((u64 *)rows[TID])[i]; }}
  to[48] = own_int[TID]; to[49] = own_u[TID]; to[50] = own_l[TID]; to[51] = *(u32 *)&own_f[TID]; to[52] = *(u64 *)&own_d[TID];
  to[53] = own_k[TID]; to[54] = own_k[TID] >> 64; to[55] = counts[TID & 7]; to[56] = bits.a + bits.b + bits.c * 3 + bits.d + bits.e;
  for (i32 i = 0; i < 4; i++) to[57 + i] = seen[i];
}}
"""
