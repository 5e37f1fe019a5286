# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def add_up(x, total, lock, count, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    part = tl.load(x + tl.program_id(0) * BLOCK + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    seen = tl.load(count)
    if seen == 0:
        tl.atomic_xchg(count, 1)
    else:
        part += tl.load(total + i)
    tl.store(total + i, part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
