"""What stands below the help of the command line and of each command."""

from __future__ import annotations

from .completion import INSTALL

OVERVIEW = """\
examples:
  ptxlab list --family wmma                      every form of a family
  ptxlab show mma.m16n8k64.s4                    all about it; a short name will do
  ptxlab where mma.m16n8k64.s4 A 9 37            lane, register and bits of A[9][37]
  ptxlab where mma.sp.m16n8k64.s4 A 9 37         the same for a sparse A
  ptxlab where mma.m16n8k64.s4 D 9 3 --explain   everything that goes into D[9][3]
  ptxlab holds mma.m16n8k64.s4 B --lane 5        what lane 5 holds of B
  ptxlab layout mma.m16n8k64.s4 A --svg > a.svg  the layout as a picture
  ptxlab descriptor 0x4000004000010040           which bytes wgmma reads through it
  ptxlab conflicts ld.shared.v4.f32 --pitch 80   bank conflicts of an access
  ptxlab repack mma.m16n8k16.f32.f16 mma.m16n8k16.f32.f16    D as A of the next mma
  ptxlab sass mma.m16n8k64.s4 --target sm_80     the machine code of that chip
  ptxlab trace mma.m16n8k16.f32.f16 3 5          why D[3][5] has its bits
  ptxlab run mma.sp.m16n8k16.tf32 --on both      emulator against GPU, bit for bit
  ptxlab simulate twice.cu --arg ones:f4:32      a whole kernel, without a GPU
  ptxlab measure mma.m16n8k16.f32.f16 --recorded H200     latency and throughput

exit status: 0 the answer was written, 1 the request cannot be answered (one sentence says why),
2 wrong usage, 70 a bug in ptxlab, 130 interrupted
"""

#: Examples below the help of each command; a test runs them.
EXAMPLES = {
    "list": """\
  ptxlab list --count                        how many, by family and type
  ptxlab list --target sm_75 --type s4       the s4 instructions of a T4
  ptxlab list --shape 'm64n*k64' --sparse    a shape with every N
  ptxlab list --family wgmma | head -3       one name per line in a pipe""",
    "show": """\
  ptxlab show mma.m16n8k64.s4
  ptxlab show mma.m16n8k64.s4 --target sm_80    with the machine code of that chip
  ptxlab show wmma.m8n8k32.s4 --json""",
    "where": """\
  ptxlab where mma.m16n8k64.s4 A 9 37
  ptxlab where mma.sp.m16n8k16.tf32 E 0 0              a metadata nibble
  ptxlab where mma.m16n8k64.s4 D 9 3 --explain         everything that goes into it
  ptxlab where wgmma.sp.m64n24k64.f32.e4m3 B 37 13     a byte of shared memory
  ptxlab where tcgen05.mma.cta_group::1.kind::f16 D 20 3 --m 64    in tensor memory""",
    "holds": """\
  ptxlab holds mma.m16n8k64.s4 A --lane 5
  ptxlab holds mma.m16n8k64.s4 A --lane 5 --register 1
  ptxlab holds tcgen05.ld.sync.aligned.16x256b.x1.b32 R --lane 37    a thread of 128""",
    "layout": """\
  ptxlab layout mma.m16n8k64.s4 C
  ptxlab layout mma.m16n8k64.s4 C --formula            as the manual writes it
  ptxlab layout mma.sp.m16n8k64.s4 A --dense --markdown
  ptxlab layout mma.m16n8k64.s4 A --csv > a.csv        one line per element
  ptxlab layout tcgen05.mma.cta_group::1.kind::f16 D --m 64 --svg > d.svg""",
    "descriptor": """\
  ptxlab descriptor 0x4000004000010040
  ptxlab descriptor 0x4000002000010040 --tile bits=16,rows=64,k=64,swizzle=128
  ptxlab descriptor 0x4000004000010042 --instruction wgmma.m64n64k16.f32.f16
  ptxlab descriptor 0x4000004000010042 --svg > bytes.svg        which bytes it reads
  ptxlab descriptor 0x8400490 --instruction tcgen05.mma.cta_group::1.kind::f16
  ptxlab descriptor --instruction tcgen05.mma.cta_group::1.kind::f16 --m 64 --n 32
  ptxlab descriptor --tile bits=16,rows=64,k=128,swizzle=128    those of all slices
  ptxlab descriptor --tile dtype=e4m3,rows=64,k=64,swizzle=64 --svg > tile.svg""",
    "conflicts": """\
  ptxlab conflicts ldmatrix.sync.aligned.m8n8.x4.shared.b16 --pitch 128
  ptxlab conflicts ldmatrix.sync.aligned.m8n8.x4.shared.b16 --pitch 80 --swizzle 64
  ptxlab conflicts ld.shared.v4.f32 --pitch 64 --lanes-per-row 4
  ptxlab conflicts st.shared.b32 --pitch 128 --svg > banks.svg""",
    "repack": """\
  ptxlab repack wgmma.m64n32k32.f32.e4m3:D wgmma.m64n32k32.f32.e4m3:A
  ptxlab repack mma.m16n8k16.f32.f16 mma.m16n8k16.f32.f16 --cuda    device function
  ptxlab repack ldmatrix.sync.aligned.m8n8.x2.trans.b16 mma.m16n8k16.f32.f16:B
  ptxlab repack mma.m16n8k32.s8:D mma.m16n8k32.s8:A --json""",
    "metadata": """\
  ptxlab metadata mma.sp.m16n8k16.tf32 --selector 1
  ptxlab metadata mma.sp.m16n8k64.s4 --svg > e.svg
  ptxlab metadata tcgen05.mma.sp.cta_group::1.kind::f16 --selector 1""",
    "cute": """\
  ptxlab cute mma.m16n8k64.s4
  ptxlab cute mma.m16n8k64.s4 A""",
    "ptx": """\
  ptxlab ptx mma.m16n8k64.s4                 the PTX instruction with its registers
  ptxlab ptx mma.m16n8k64.s4 --cpp           as an asm statement
  ptxlab ptx mma.m16n8k64.s4 --kernel        the kernel that `run` compiles""",
    "sass": """\
  ptxlab sass mma.m16n8k64.s4 --target sm_90a
  ptxlab sass mma.m16n8k64.s4 --all          one line for each generation of chips
  ptxlab sass tcgen05.mma.cta_group::2.kind::f16""",
    "models": """\
  ptxlab models --chip sm_80                 how an A100 adds and rounds
  ptxlab models --json""",
    "trace": """\
  ptxlab trace mma.m16n8k16.f32.f16 3 5
  ptxlab trace mma.m16n8k64.s4 6 7 --category edges       sums that wrap around
  ptxlab trace mma.m16n8k16.f32.f16 3 5 --category exponents --seed 2
  ptxlab trace mma.m16n8k32.f32.e4m3 0 0 --svg > why.svg  as a picture
  ptxlab trace tcgen05.mma.cta_group::1.kind::f8f6f4 3 5 --descriptor m=64,a=e5m2""",
    "run": """\
  ptxlab run mma.m16n8k64.s4 --seed 3
  ptxlab run mma.sp.m16n8k16.tf32 --on both --batch 1000""",
    "hunt": """\
  ptxlab hunt mma.m16n8k16.f32.f16                     on a GPU: 100,000 MMAs
  ptxlab hunt mma.m16n8k16.f32.f16 --category bottom --mmas 1000000
  ptxlab hunt mma.m16n8k64.s4 --against sm_80 --mmas 1000    two models, no GPU""",
    "measure": """\
  ptxlab measure mma.m16n8k16.f32.f16                        on this machine's GPU
  ptxlab measure wgmma.m64n128k16.f32.f16 --a shared --recorded H200    without one
  ptxlab measure --all --record                              every instruction""",
    "simulate": """\
  ptxlab simulate twice.cu --block 128 --arg ones:float32:128   an array made here
  ptxlab simulate saxpy.cu --grid 8 --arg 2.5 --arg x.npy --arg y.npy --save z.npz
  ptxlab simulate gemm.cu --grid 8,8 --check error --chip A100 --arg a.npy
  ptxlab simulate all.cu --name "gemm<64>" --option=-DSTAGES=3 --shared 65536""",
    "lab": """\
  ptxlab lab                        into the folder ptxlab-notebooks
  ptxlab lab --to course            into another folder
  ptxlab lab --update               after an update of ptxlab
  ptxlab lab --no-browser --port 9999    with options of jupyter lab""",
    "completion": INSTALL,
}
