"""Unmodified programs in TileLang inside `ptxlab.simulating`."""

# TileLang reads the annotations of kernels, so they are no text here.
from pathlib import Path
from typing import Any

import pytest

import ptxlab

tilelang = pytest.importorskip("tilelang", reason="TileLang is not installed (pip install tilelang)")
torch = pytest.importorskip("torch", reason="TileLang launches with tensors of torch")
T = tilelang.language


@tilelang.jit(out_idx=[-1])
def product(m: int, n: int, k: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, 64), num_stages=2):
                T.copy(A[by * 64, step * 64], a)
                T.copy(B[step * 64, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    return main


@tilelang.jit
def collide(n: int) -> Any:
    @T.macro
    def put(s: Any, i: Any, value: Any) -> None:
        s[i // 2] = value  # in the macro

    @T.prim_func
    def main(x: T.Tensor((n,), "float32"), y: T.Tensor((n,), "float32")):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(1, threads=n):
            s = T.alloc_shared((n,), "float32")
            i = T.get_thread_binding()
            put(s, i, x[i])
            y[i] = s[i // 2]

    return main


def _line(ending: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(ending))


def test_a_product_with_tma_and_wgmma() -> None:
    a = torch.randint(-4, 5, (128, 192)).half()
    b = torch.randint(-4, 5, (192, 64)).half()
    cached = tilelang.jit.__globals__.get("cached")
    with ptxlab.simulating(show=False) as session:
        c = product(128, 64, 192)(a, b)
    assert torch.equal(c, a.float() @ b.float())
    (result,) = session.results
    assert result.grid.block_count == 2 and not result.hazards
    assert any(name.startswith("wgmma") for name in result.counts)
    assert any(name.startswith("cp.async.bulk.tensor") for name in result.counts)
    assert tilelang.jit.__globals__.get("cached") is cached
    lines = {
        "cp.async.bulk.tensor": {_line("step * 64], a)"), _line("bx * 64], b)")},
        "wgmma": {_line("T.gemm(a, b, c)")},
        "st.global": {_line("C[by * 64, bx * 64])")},
        # Of no line: the kernel's.
        "bar.sync": {_line('"float32")):  # type: ignore[no-untyped-def,valid-type]')},
    }
    for opcode, expected in lines.items():
        found = [line.instruction for line in result.profile if line.instruction.opcode.startswith(opcode)]
        assert {instruction.source_line for instruction in found} == expected
    assert all("of TileLang's CUDA C++" in instruction.where for instruction in found)


def test_hazards_name_lines_of_the_python_source() -> None:
    with ptxlab.simulating(show=False) as session:
        collide(64)(torch.rand(64), torch.zeros(64))
    (race,) = session.results[0].hazards
    assert (race.line, race.text) == (_line("# in the macro"), "s[i // 2] = value  # in the macro")


@tilelang.autotune(configs=[{"threads": 64}, {"threads": 128}])
@tilelang.jit(out_idx=[-1])
def doubled(n: int, threads: int = 32) -> Any:
    @T.prim_func
    def main(x: T.Tensor((n,), "float32"), y: T.Tensor((n,), "float32")):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(T.ceildiv(n, threads), threads=threads) as block:
            for i in T.Parallel(threads):
                y[block * threads + i] = x[block * threads + i] + x[block * threads + i]

    return main


def test_programs_that_ask_for_the_gpu_are_told_of_the_chip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Persistent kernels for its SMs, `tilelang.autotune` for what to compile for."""
    from tilelang.carver.arch import driver

    monkeypatch.chdir(tmp_path)  # `tilelang.autotune` writes a log where it is
    x = torch.rand(256)
    with ptxlab.simulating("A100", show=False) as session:
        assert driver.get_num_sms() == 108
        assert driver.get_device_name() == "A100"
        y = doubled(256, threads=64)(x)
    assert torch.equal(y, 2 * x)
    assert session.results[0].grid.block_count == 4
