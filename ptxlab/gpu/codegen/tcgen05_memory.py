"""What every kernel of tcgen05 does around its instruction: allocate, synchronise, wait, free.

A block is a warpgroup, 128 threads: thread t has lane t of tensor memory, since warp w may access only lanes
32 w to 32 w + 31. With cta_group::2, two blocks of a cluster work together, a CTA pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Thread t's word of a column, to tensor memory and back; fences.
_HELPERS = """\
__device__ unsigned int shared_address(const void* pointer)
{{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}}

// A column of a warp's 32 lanes, one word from each thread.
__device__ void store(unsigned int address, unsigned int word)
{{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {{%1}};" :: "r"(address), "r"(word) : "memory");
}}

__device__ unsigned int load(unsigned int address)
{{
    unsigned int word;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%0}}, [%1];\\n"
                 "tcgen05.wait::ld.sync.aligned;"
                 : "=r"(word) : "r"(address) : "memory");
    return word;
}}

// Accesses to tensor memory before a synchronisation come before those after it.
__device__ void fence_before_sync() {{ asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }}
__device__ void fence_after_sync() {{ asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }}

// All threads, {everybody}, have come here.
__device__ void synchronize()
{{
{synchronize}
}}
"""

#: For instructions that one thread issues: its election, and the wait for the instruction.
_ISSUE_HELPERS = """
// True for one thread of the warp.
__device__ bool elected()
{
    unsigned int mine;
    asm volatile("{\\n"
                 ".reg .pred p;\\n"
                 "elect.sync _|p, -1;\\n"
                 "selp.u32 %0, 1, 0, p;\\n"
                 "}" : "=r"(mine));
    return mine;
}

// Until this phase of an mbarrier is over: phases have the parities 0, 1, 0, 1, ...
__device__ void wait(unsigned int barrier, unsigned int parity)
{
    unsigned int over = 0;
    while (!over)
        asm volatile("{\\n"
                     ".reg .pred p;\\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\\n"
                     "selp.u32 %0, 1, 0, p;\\n"
                     "}" : "=r"(over) : "r"(barrier), "r"(parity) : "memory");
    __syncwarp();
}
"""

FENCE_SHARED = (
    'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // tcgen05 reads through the async proxy'
)
#: Makes accesses to tensor memory visible to all threads.
HAND_OVER = ["fence_before_sync();", "synchronize();"]

_MAX_COLUMNS = 512


def asm(text: str, *operands: str) -> str:
    """An asm statement on one line, without outputs.

    >>> asm("tcgen05.shift.cta_group::1.down [%0];", '"r"(taddr)')
    'asm volatile("tcgen05.shift.cta_group::1.down [%0];" :: "r"(taddr) : "memory");'
    """
    inputs = f":: {', '.join(operands)} :" if operands else ":::"
    return f'asm volatile("{text}" {inputs} "memory");'


def asm_lines(text: str, *operands: str) -> list[str]:
    """As `asm`, on two lines."""
    first, _, last = asm(text, *operands).partition(" :: ")
    return [first, f"             :: {last}"]


def indented(lines: Sequence[str], depth: int = 1) -> str:
    """Lines of C++, indented by `depth` levels; empty lines stay empty."""
    return "\n".join("    " * depth + line if line else "" for line in lines)


@dataclass(frozen=True)
class KernelFrame:
    """The frame of a kernel around an instruction: its CTA group, and how much tensor memory it takes.

    The spellings of alloc, dealloc, relinquish and commit are fields, so that their kernels can show them.

    >>> KernelFrame(cta_group=1, columns=40).allocated
    64
    """

    cta_group: int
    columns: int
    issues: bool = True  # one thread issues the instruction, and all wait for it
    alloc: str = ""
    dealloc: str = ""
    relinquish: str = ""
    commit: str = ""

    @property
    def allocated(self) -> int:
        """Columns that are allocated: a power of 2 from 32 on."""
        return min(max(32, 1 << (self.columns - 1).bit_length()), _MAX_COLUMNS)

    @property
    def pair(self) -> bool:
        """Whether two CTAs work together."""
        return self.cta_group == 2

    @property
    def lanes(self) -> int:
        """Lanes of tensor memory, of both CTAs of a pair."""
        return 128 * self.cta_group

    @property
    def attributes(self) -> str:
        """The attributes of the kernel: the cluster that a pair needs, and the threads of a block."""
        return f"{'__cluster_dims__(2) ' if self.pair else ''}__launch_bounds__(128)"

    @property
    def who(self) -> str:
        """A comment that says which threads run one instruction."""
        if self.pair:
            return "A cluster of two blocks (a CTA pair, 2 x 128 threads) runs one instruction"
        return "A block (128 threads) runs one instruction"

    @property
    def helpers(self) -> str:
        """The functions that kernels call."""
        synchronize = ["__syncthreads();"]
        if self.pair:
            synchronize = [
                asm("barrier.cluster.arrive.release.aligned;"),
                asm("barrier.cluster.wait.acquire.aligned;"),
            ]
        everybody = "of both CTAs" if self.pair else "of the block"
        text = _HELPERS.format(everybody=everybody, synchronize=indented(synchronize))
        return text + _ISSUE_HELPERS if self.issues else text

    @property
    def issuer(self) -> str:
        """The condition for the thread that issues the instruction; in a pair, it is in the first CTA."""
        return "cta == 0 && warp == 0 && elected()" if self.pair else "warp == 0 && elected()"

    def declarations(self) -> list[str]:
        """Variables that every kernel has."""
        lines = ["__shared__ unsigned int tensor_memory;   // the address that tcgen05.alloc writes"]
        if self.issues:
            lines += [
                "__shared__ unsigned long long complete;  // an mbarrier: the instruction has ended",
                "const unsigned int barrier = shared_address(&complete);",
            ]
        lines.append("const int warp = threadIdx.x / 32;")
        if self.pair:
            lines += ["const int cta = blockIdx.x % 2, lane = cta * 128 + threadIdx.x;"]
            lines += ["const int first = blockIdx.x / 2, apart = gridDim.x / 2;"]
        else:
            lines += ["const int lane = threadIdx.x;", "const int first = blockIdx.x, apart = gridDim.x;"]
        return lines

    def prologue(self) -> list[str]:
        """Allocate tensor memory, and initialise the barrier."""
        group = f"cta_group::{self.cta_group}"
        destination = '"r"(shared_address(&tensor_memory))'
        alloc = self.alloc or f"tcgen05.alloc.{group}.sync.aligned.shared::cta.b32"
        if "shared::cta" not in alloc:
            destination = '"l"(&tensor_memory)'
        permit = self.relinquish or f"tcgen05.relinquish_alloc_permit.{group}.sync.aligned"
        both = ", the first warps of both CTAs together" if self.pair else ""
        barrier = []
        if self.issues:
            start = asm("mbarrier.init.shared::cta.b64 [%0], 1;", '"r"(barrier)')
            barrier = ["// One arrival completes the barrier.", f"if (threadIdx.x == 0) {start}"]
            barrier += [asm("fence.mbarrier_init.release.cluster;")] if self.pair else []
        return [
            f"// Allocate {self.allocated} columns of tensor memory{both}.",
            "if (warp == 0) {",
            *indented(asm_lines(f"{alloc} [%0], {self.allocated};", destination)).splitlines(),
            *([] if "exclusive" in alloc else [f"    {asm(f'{permit};')}"]),
            "}",
            *barrier,
            *HAND_OVER,
            "fence_after_sync();",
            "const unsigned int own_lanes = warp * 32 << 16;  // an address has the lane in its upper half",
        ]

    def issue(self, statement: Sequence[str], what: str = "the instruction") -> list[str]:
        """One thread issues the instruction; its commit arrives at the barrier, for which all wait."""
        return [
            f"// One thread issues {what}; the barrier says when that has ended.",
            f"if ({self.issuer}) {{",
            "    fence_after_sync();",
            *(f"    {line}" for line in (*statement, *self._commit())),
            "}",
            "wait(barrier, parity);" if self._signals_all else "if (cta == 0) wait(barrier, parity);",
            "parity ^= 1;",
            "fence_after_sync();",
        ]

    @property
    def _signals_all(self) -> bool:
        """Whether the commit arrives at the barrier of every CTA."""
        return not self.pair or not self.commit or "multicast" in self.commit

    def _commit(self) -> list[str]:
        """The commit; that of a pair arrives at the barriers of both CTAs."""
        group = f"cta_group::{self.cta_group}"
        both = ".multicast::cluster" if self.pair else ""
        commit = self.commit or f"tcgen05.commit.{group}.mbarrier::arrive::one.shared::cluster{both}.b64"
        address = '"r"(barrier)' if "shared::cluster" in commit else '"l"(&complete)'
        if "multicast" not in commit:
            return asm_lines(f"{commit} [%0];", address)
        mask = 3 if self.pair else 1
        cta_mask = f'"r"({mask})' if "cluster::32b" in commit else f'"h"((unsigned short){mask})'
        return asm_lines(f"{commit} [%0], %1;", address, cta_mask)

    def epilogue(self) -> list[str]:
        """Free the tensor memory."""
        dealloc = self.dealloc or f"tcgen05.dealloc.cta_group::{self.cta_group}.sync.aligned.b32"
        first, second = asm_lines(f"{dealloc} %0, {self.allocated};", '"r"(tensor_memory)')
        return ["if (warp == 0)", f"    {first}", f"    {second}"]


def store_words(array: str, address: str, columns: str, lanes: int) -> list[str]:
    """Words [count, lanes, columns] of global memory to tensor memory."""
    word = f"{array}[(i * {lanes} + lane) * {columns} + column]"
    return [
        f"for (int column = 0; column < {columns}; ++column)",
        f"    store({address} + own_lanes + column, {word});",
    ]


def load_words(array: str, address: str, columns: str, lanes: int) -> list[str]:
    """Words of tensor memory to global memory [count, lanes, columns]."""
    word = f"{array}[(i * {lanes} + lane) * {columns} + column]"
    return [
        f"for (int column = 0; column < {columns}; ++column)",
        f"    {word} = load({address} + own_lanes + column);",
    ]
