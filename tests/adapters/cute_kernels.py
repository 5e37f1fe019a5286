"""Kernels in CuTe DSL for the tests of `ptxlab.simulating`: they must stand in a file."""

from __future__ import annotations

import cutlass
import cutlass.memory
from cutlass import cute


@cute.kernel
def add_kernel(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):  # type: ignore[no-untyped-def]
    i = cute.arch.thread_idx()[0] + cute.arch.block_idx()[0] * cute.arch.block_dim()[0]
    if i < n:
        out[i] = x[i] + y[i]  # stored


@cute.jit
def add(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):  # type: ignore[no-untyped-def]
    n = cute.size(x)
    add_kernel(x, y, out, n).launch(grid=[(n + 127) // 128, 1, 1], block=[128, 1, 1])


@cute.jit
def add_at(x: cute.Pointer, y: cute.Pointer, out: cute.Pointer, n: cutlass.Int32):  # type: ignore[no-untyped-def]
    add(*(cute.make_tensor(array, cute.make_layout(n)) for array in (x, y, out)))


def adding(number: int):  # type: ignore[no-untyped-def]
    """A function whose kernel has the same name for all numbers."""

    @cute.kernel
    def add_number_kernel(x: cute.Tensor):  # type: ignore[no-untyped-def]
        i = cute.arch.thread_idx()[0]
        x[i] = x[i] + number

    @cute.jit
    def add_number(x: cute.Tensor):  # type: ignore[no-untyped-def]
        add_number_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])

    return add_number


@cute.kernel
def array_kernel(x: cute.Tensor):  # type: ignore[no-untyped-def]
    i = cute.arch.thread_idx()[0]
    shared = cutlass.Array(cutlass.Float32, 64, space=cutlass.AddressSpace.smem)
    shared[i] = x[i]  # to the array
    x[i] = shared[63 - i]  # from the array


@cute.jit
def array(x: cute.Tensor):  # type: ignore[no-untyped-def]
    array_kernel(x).launch(grid=[1, 1, 1], block=[64, 1, 1])


@cute.kernel
def reverse_kernel(x: cute.Tensor):  # type: ignore[no-untyped-def]
    i = cute.arch.thread_idx()[0]
    shared = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64), 16)
    shared[i] = x[i]  # written
    x[i] = shared[63 - i]  # read


@cute.jit
def reverse(x: cute.Tensor):  # type: ignore[no-untyped-def]
    reverse_kernel(x).launch(grid=[1, 1, 1], block=[64, 1, 1])


@cute.kernel
def copy_kernel(atom: cute.CopyAtom, coordinates: cute.Tensor, out: cute.Tensor):  # type: ignore[no-untyped-def]
    """One box of a tensor through shared memory, with TMA."""
    i = cute.arch.thread_idx()[0]
    allocator = cutlass.memory.SmemAllocator()
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(32, 1)), 128)
    barrier = allocator.allocate_array(cutlass.Int64, 1)
    source = cute.local_tile(coordinates, (32, 32), (None, None))
    to, where = cute.nvgpu.cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(source, 0, 2)
    )
    if i == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if i < 32:
        cute.copy(atom, where[(None, 0, cute.arch.block_idx()[0])], to, tma_bar_ptr=barrier)
        if i == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, 32 * 32 * 4)
    cute.arch.mbarrier_wait(barrier, 0)
    for row in range(32):
        if i < 32:
            out[row, 32 * cute.arch.block_idx()[0] + i] = tile[row, i]


@cute.jit
def copy(x: cute.Tensor, out: cute.Tensor):  # type: ignore[no-untyped-def]
    atom, coordinates = cute.nvgpu.cpasync.make_tiled_tma_atom(
        cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp(),
        x,
        cute.make_layout((32, 32), stride=(32, 1)),
        (32, 32),
    )
    copy_kernel(atom, coordinates, out).launch(grid=[2, 1, 1], block=[64, 1, 1])


@cute.kernel
def add_hundred_kernel(x: cute.Tensor):  # type: ignore[no-untyped-def]
    i = cute.arch.thread_idx()[0]
    x[i] = x[i] + 100.0


@cute.kernel
def add_one_kernel(x: cute.Tensor):  # type: ignore[no-untyped-def]
    i = cute.arch.thread_idx()[0]
    x[i] = x[i] + 1.0


@cute.jit
def second_of_two(x: cute.Tensor):  # type: ignore[no-untyped-def]
    add_one_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
    add_hundred_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])


@cute.jit
def eleventh(x: cute.Tensor):  # type: ignore[no-untyped-def]
    for _ in cutlass.range_constexpr(10):
        add_one_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
    add_hundred_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
