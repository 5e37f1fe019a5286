"""Random CUDA C++ programs without undefined behaviour, for Clang."""

# ruff: noqa: E501  (the lines of C++ in it)

from __future__ import annotations

import random

PRELUDE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define TID __nvvm_read_ptx_sreg_tid_x()
#define SIZE __nvvm_read_ptx_sreg_ntid_x()
#define BLOCK __nvvm_read_ptx_sreg_ctaid_x()
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;
typedef int i32; typedef unsigned u32; typedef long long i64; typedef unsigned long long u64;
typedef __int128 i128; typedef unsigned __int128 u128; typedef _Float16 f16; typedef float f32; typedef double f64;
typedef int v4 __attribute__((ext_vector_type(4))); typedef float w4 __attribute__((ext_vector_type(4)));
typedef f16 h2 __attribute__((ext_vector_type(2))); typedef u8 b4 __attribute__((ext_vector_type(4)));
typedef short s8 __attribute__((ext_vector_type(8)));
template <class T> __device__ inline i64 whole(T x) { return x > (T)-30000 && x < (T)30000 ? (i64)x : 7; }
struct Record { i8 a; i32 b; i16 c; f64 d; u8 e[3]; f32 f; u64 g; };
struct Small { i16 a; u8 b; };
struct Large { i32 x[24]; };
__constant__ i32 table[16] = {3, 1, 4, 1, 5, 9, 2, 6, -5, 3, -5, 8, 9, -7, 9, 3};
__constant__ f32 fractions[4] = {.5f, -1.25f, 3.f, 0.1f};
__device__ u16 global_words[8] = {1, 2, 3, 40000};
"""
INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
WIDE = ("i128", "u128")
FLOATS = ("f32", "f64", "f16")
VECTORS = {"v4": ("i32", 4), "w4": ("f32", 4), "h2": ("f16", 2), "b4": ("u8", 4), "s8": ("i16", 8)}
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
}


class Program:
    """A random program; `source` is a kernel `k` of (integers, floats, results), 64 words of each a thread."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self._depth = 0
        self._functions: list[str] = []
        self._callable: list[tuple[str, str, list[str]]] = []
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
        names = [name for name, each in scope.items() if each == kind]
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
            other = pick.choice([*INTEGERS, *FLOATS, *(WIDE if self._chance(0.2) else ())])
            if integer and other in FLOATS:
                return f"({kind})whole({inner(other)})"
            if other in WIDE and not integer:
                other = "i64"
            return f"({kind})({inner(other)})"
        if choice < 0.3:
            return f"({self.condition(scope, depth - 1)} ? {inner()} : {inner()})"
        if choice < 0.36:
            vector = self._variable(scope, pick.choice(list(VECTORS)))
            if vector is not None:
                element, size = VECTORS[scope[vector]]
                index = str(pick.randrange(size)) if self._chance(0.7) else f"({inner('u32')}) % {size}"
                value = f"{vector}[{index}]"
                return f"({kind})whole({value})" if integer and element in FLOATS else f"({kind}){value}"
        if choice < 0.42 and self._callable:
            name, result, parameters = pick.choice(self._callable)
            call = f"{name}({', '.join(inner(each) for each in parameters)})"
            return f"({kind})whole({call})" if integer and result in FLOATS else f"({kind}){call}"
        if not integer:
            if choice < 0.85:
                return f"({inner()} {pick.choice('+-*+-*/')} {inner()})"
            if kind == "f16":
                return f"(-{inner()})"
            end = "f" if kind == "f32" else ""
            function = pick.choice(["fma", "sqrt", "fabs", "floor", "ceil", "trunc", "rint", "fmin", "fmax", "copysign", "neg", "round"])  # fmt: skip
            if function == "neg":
                return f"(-{inner()})"
            count = {"fma": 3, "fmin": 2, "fmax": 2, "copysign": 2}.get(function, 1)
            return f"__builtin_{function}{end}({', '.join(inner() for _ in range(count))})"
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
        word = pick.choice(["u32", "u64"])
        end = "ll" if word == "u64" else ""
        zeros = pick.choice([f"clz{end}", f"ctz{end}", f"popcount{end}"])
        return pick.choice([
            f"({kind})__builtin_{zeros}({inner(word)} | 1)",
            f"({kind})__builtin_bswap{_BITS[word]}({inner(word)})",
            f"({kind})__builtin_rotateleft{_BITS[word]}({inner(word)}, {inner(word)})",
            f"({kind})__builtin_bitreverse{_BITS[word]}({inner(word)})",
            f"({kind})(~{inner()})", f"({kind})(-{inner()})",
            f"({kind})__builtin_elementwise_{pick.choice(['max', 'min', 'add_sat', 'sub_sat'])}({inner()}, {inner()})",
            f"({kind})({self.condition(scope, depth - 1)})",
        ])  # fmt: skip

    def _vector_expression(self, scope: dict[str, str], kind: str, depth: int) -> str:
        element, count = VECTORS[kind]
        name = self._variable(scope, kind)
        if name is None or self._chance(0.2) or depth <= 0:
            if name is not None and self._chance(0.5):
                order = ", ".join(str(self._random.randrange(count)) for _ in range(count))
                return f"__builtin_shufflevector({name}, {name}, {order})"
            return f"(({kind}){{{', '.join(self.expression(scope, element, 1) for _ in range(count))}}})"
        return f"({name} {self._random.choice('+-*')} {self._vector_expression(scope, kind, depth - 1)})"

    def condition(self, scope: dict[str, str], depth: int = 2) -> str:
        """A comparison, or several."""
        if depth > 0 and self._chance(0.2):
            return f"({self.condition(scope, depth - 1)} {self._random.choice(['&&', '||', '!=', '&'])} {self.condition(scope, depth - 1)})"  # fmt: skip
        kind = self._random.choice([*INTEGERS, *FLOATS, *(WIDE if self._chance(0.2) else ())])
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
                    [*INTEGERS, *FLOATS, *WIDE, *VECTORS] if self._chance(0.4) else ["i32", "u32", "f32"]
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
                limit = pick.choice([str(pick.randrange(1, 9)), "(TID & 7)", "(n & 5)"])
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
            if choice < 0.97:
                return f"__nvvm_atom_add_gen_i(&totals[{pick.randrange(4)}], {self.expression(scope, 'i32', 2)});"
            return f"Small small{self._name()} = {{(i16)x_int, {self.expression(scope, 'u8', 1)}}}; x_int ^= fold(small{'x' + str(self._count)});"
        finally:
            self._depth -= 1

    def _function(self) -> str:
        kinds = [*INTEGERS, *FLOATS, *WIDE]
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
        body = self.statements(scope, self._random.randrange(3, 8))
        after = self.statements(scope, self._random.randrange(1, 5))
        exchange = self._random.choice([
            "buffer[TID] = x_int; __syncthreads(); x_u ^= buffer[(TID * 5 + 3) & 63]; __syncthreads();",
            "x_int += __nvvm_shfl_sync_bfly_i32(-1, x_u, 3, 31);",
            "x_u += __nvvm_vote_ballot_sync(-1, x_int > 3);",
            "bytes[TID] = x_c; __syncthreads(); x_l += ((i64 *)bytes)[TID & 7]; __syncthreads();",
            "",
        ])  # fmt: skip
        record = self._random.choice(["Record record = given;", "Record record = {}; record.d = x_f;"])
        return f"""{PRELUDE}
__device__ __noinline__ Record change(Record r, i32 by, i32 *where) {{
  r.b += by; r.a ^= by; r.e[by & 1] += r.a; r.d = r.d * 0.5 + r.f; *where -= r.c; return r; }}
__device__ __noinline__ i32 fold(Small s) {{ return s.a * 31 + s.b; }}
__device__ __noinline__ Large spread(i32 seed) {{
  Large l; for (i32 i = 0; i < 24; i++) l.x[i] = seed * i + table[i & 15]; return l; }}
{functions}
__global__ void k(const i32 *integers, const f32 *floats, u64 *out, i32 *totals, i32 n, Record given) {{
  __shared__ i32 buffer[64]; __shared__ __attribute__((aligned(8))) i8 bytes[64];
  const u32 at = BLOCK * SIZE + TID;
  const i32 *in = integers + at * 16; const f32 *fin = floats + at * 8;
  i32 x_int = in[0]; u32 x_u = in[1]; i8 x_c = in[2]; u16 x_s = in[3]; i64 x_l = (i64)in[4] << 20 ^ in[5];
  f32 x_f = fin[0]; f64 x_d = fin[1] / 3.0; f16 x_h = (f16)fin[2]; u128 x_k = (u128)x_l * x_u;
  v4 x_v = *(v4 *)(in + 8); w4 x_w = *(w4 *)(fin + 4); s8 x_q = *(s8 *)(in + 12); b4 x_b = *(b4 *)(in + 7);
  i32 local[8]; for (i32 i = 0; i < 8; i++) local[i] = in[i] + i;
  {record}
  {body}
  {exchange}
  {after}
  u64 *to = out + at * 32;
  to[0] = x_int; to[1] = x_u; to[2] = x_c; to[3] = x_s; to[4] = x_l; to[5] = *(u32 *)&x_f; to[6] = *(u64 *)&x_d;
  to[7] = *(u16 *)&x_h; *(v4 *)(to + 8) = x_v; *(w4 *)(to + 10) = x_w; *(s8 *)(to + 12) = x_q; *(b4 *)(to + 14) = x_b;
  to[16] = x_k; to[17] = x_k >> 64; for (i32 i = 0; i < 8; i++) ((i32 *)(to + 18))[i] = local[i];
  to[24] = record.a; to[25] = record.b; to[26] = record.c; to[27] = *(u64 *)&record.d; to[28] = record.e[0] | record.e[1] << 8;
  to[29] = *(u32 *)&record.f; to[30] = record.g; to[31] = global_words[TID & 7] + fractions[TID & 3] * 2;
}}
"""
