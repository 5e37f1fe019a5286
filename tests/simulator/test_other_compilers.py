"""What other compilers hand over: spellings and launches of Triton, Numba, CuTe DSL and newer NVRTCs."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError

_HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"


# -- parameters ----------------------------------------------------------------------------------------------

#: As Triton and NVRTC for sm_100a write them: the alignment behind .ptr is that of what is pointed to.
_POINTERS = (
    _HEAD
    + """
.visible .entry add(
  .param .u32 add_param_0,
  .param .u64 .ptr .global .align 1 add_param_1,
  .param .u8 add_param_2,
  .param .u64 .ptr .align 1 add_param_3
) {
  .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.param.u32 %r1, [add_param_0];
  ld.param.u64 %rd1, [add_param_1];
  ld.param.u8 %r2, [add_param_2];
  ld.param.u64 %rd2, [add_param_3];
  mov.u32 %r3, %tid.x;
  mul.wide.u32 %rd3, %r3, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r4, [%rd4];
  add.u32 %r4, %r4, %r1;
  add.u32 %r4, %r4, %r2;
  st.global.u32 [%rd5], %r4;
  ret;
}
"""
)

#: Addresses of parameters have 32 bits in their own space; `cvta.param` makes generic ones of them.
_ADDRESSES = (
    _HEAD
    + """
.visible .entry read(.param .u64 out, .param .align 16 .b8 k_param_1[32]) {
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [out];
  mov.b32 %r1, k_param_1;
  cvt.u64.u32 %rd2, %r1;
  cvta.param.u64 %rd3, %rd2;
  ld.u32 %r2, [%rd3+4];
  mov.u64 %rd4, k_param_1;
  ld.param.u32 %r3, [%rd4+8];
  cvta.to.param.u64 %rd5, %rd3;
  ld.param.u32 %r4, [%rd5+12];
  ld.param.u32 %r5, [k_param_1+16];
  isspacep.param %p1, %rd3;
  isspacep.global %p2, %rd3;
  selp.u32 %r6, 1, 0, %p1;
  @%p2 add.u32 %r6, %r6, 2;
  st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};
  st.global.u32 [%rd1+16], %r6;
  ret;
}
"""
)


def _with_pointers(run: str) -> None:
    x, y = np.arange(32, dtype=np.uint32), np.zeros(32, dtype=np.uint32)
    getattr(ptxlab.kernel(_POINTERS), run)(1, 32, 1000, x, 7, y)
    assert np.array_equal(y, x + 1007)


def _with_addresses(run: str) -> None:
    out = np.zeros(5, dtype=np.uint32)
    getattr(ptxlab.kernel(_ADDRESSES), run)(1, 1, out, np.arange(100, 108, dtype=np.uint32))
    assert out.tolist() == [101, 102, 103, 104, 1]


def test_alignment_behind_ptr_is_that_of_the_pointee() -> None:
    _with_pointers("simulate")
    source = 'extern "C" __global__ void k(int a, float* x) { *x = a; }'
    x = np.zeros(1, dtype=np.float32)
    for target in ("sm_90a", "sm_100a", "sm_120a"):
        ptxlab.kernel(source, target=target).simulate(1, 1, len(target), x)
        assert x[0] == len(target)


def test_addresses_of_parameters_fit_32_bits() -> None:
    _with_addresses("simulate")
    direct = _ADDRESSES.replace("cvta.param.u64 %rd3, %rd2", "mov.u64 %rd3, %rd2")
    with pytest.raises(PtxlabError, match="the address of a parameter in its own space; cvta.param makes it"):
        ptxlab.kernel(direct).simulate(1, 1, np.zeros(5, np.uint32), bytes(32))


@pytest.mark.gpu
def test_parameters_on_a_gpu() -> None:
    _with_pointers("launch")
    _with_addresses("launch")
