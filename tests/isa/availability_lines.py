"""Lines of PTX that are not matrix instructions, for the assembler: each instruction with each modifier.

Written from the manual's syntax blocks, without ptxlab's table of targets. `tests/isa/test_availability.py`
asks the assembler which targets and versions of PTX take them, and compares. `{a|b|}` stands for one of
several, or for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ptxlab.numerics.scalar import opcodes, operation

HEAD = """\
.version {version}
.target {target}
.address_size 64
.visible .entry k() {{ .reg .b8 y<9>; .reg .b16 h<9>; .reg .b32 r<9>; .reg .b64 d<9>; .reg .b128 q<9>;
.reg .f32 f<9>; .reg .f64 g<9>; .reg .pred p<9>; .shared .align 16 .b8 memory[64];
"""

_EVICT = "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"
_L2 = "L2::evict_normal|L2::evict_first|L2::evict_last"
_SHARED = "shared|shared::cta|shared::cluster"
_SCOPE = "cta|cluster|gpu|sys"
_TMA = "cp.async.bulk.tensor"
_INTO = "shared::cluster.global"
_BYTES = "mbarrier::complete_tx::bytes"
_1D = "tensor.1d.global.shared::cta"
_ARRIVE, _TEST = "{arrive|arrive_drop}", "{test_wait|try_wait}"
_TENSORMAP = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic"

_LINES = f"""
ld.{{global|{_SHARED}|const|local|param::entry|}}.u32 r0, [d0]
ld.global.{{ca|cg|cs|lu|cv}}.u32 r0, [d0]
ld.global.nc.{{{_EVICT}|}}.f32 f0, [d0]
ld.{{weak|volatile|}}.global.{{v2.|}}.b32 PAIR, [d0]
ld.{{relaxed|acquire}}.{{{_SCOPE}}}.{{global|shared|}}.u32 r0, [d0]
ld.mmio.relaxed.sys.global.u32 r0, [d0]
ld.global.{{L1::evict_first.|}}{{L2::64B|L2::128B|L2::256B}}.u32 r0, [d0]
ld.global.{{{_EVICT}}}.u32 r0, [d0]
ld.global.{{nc.|}}L2::cache_hint.u32 r0, [d0], d1
ld.global.{{nc.|}}{{{_L2}}}.v4.b64 {{d0, d1, d2, d3}}, [d4]
ld.global.{{nc.|}}v8.{{b32|f32|u32}} {{r0, r1, r2, r3, r4, r5, r6, r7}}, [d4]
ld.global.v4.{{u64|f64|s64}} {{d0, d1, d2, d3}}, [d4]
ld.{{global|shared|}}.b128 q0, [d0]
ldu.global.{{u32|f32}} r0, [d0]
st.{{global|{_SHARED}|local|}}.u32 [d0], r0
st.global.{{wb|cg|cs|wt}}.u32 [d0], r0
st.{{relaxed|release}}.{{{_SCOPE}}}.{{global|shared|}}.u32 [d0], r0
st.{{weak|volatile}}.global.u32 [d0], r0
st.mmio.relaxed.sys.global.u32 [d0], r0
st.global.{{{_EVICT}}}.u32 [d0], r0
st.global.L2::cache_hint.u32 [d0], r0, d1
st.global.{{{_L2}}}.v4.b64 [d4], {{d0, d1, d2, d3}}
st.global.v8.b32 [d4], {{r0, r1, r2, r3, r4, r5, r6, r7}}
st.global.b128 [d0], q0
st.async.{{weak.|}}shared::cluster.{_BYTES}.{{u32|b32|s32}} [r0], r1, [r2]
st.async.shared::cluster.{_BYTES}.v4.b32 [r0], {{r1, r2, r3, r4}}, [r5]
st.bulk.{{weak.|}}{{shared::cta|}} [d0], d1, 0
red.async.relaxed.cluster.{_BYTES}.shared::cluster.{{add|min|max|inc|dec}}.u32 [r0], r1, [r2]
red.async.relaxed.cluster.{_BYTES}.shared::cluster.{{and|or|xor}}.b32 [r0], r1, [r2]
red.async.relaxed.cluster.{_BYTES}.shared::cluster.add.u64 [r0], d1, [r2]
atom.{{global|{_SHARED}|}}.{{add|min|max|inc|dec}}.u32 r0, [d0], r1
atom.{{relaxed|acquire|release|acq_rel}}.{{{_SCOPE}}}.global.add.s32 r0, [d0], r1
atom.global.{{add|min|max}}.{{u64}} d0, [d1], d2
atom.global.{{min|max}}.s64 d0, [d1], d2
atom.{{global|shared}}.{{and|or|xor|exch}}.{{b32}} r0, [d1], r2
atom.global.{{and|or|xor|exch}}.b64 d0, [d1], d2
atom.{{global|shared}}.cas.b16 h0, [d1], h2, h3
atom.global.cas.b32 r0, [d1], r2, r3
atom.global.cas.b64 d0, [d1], d2, d3
atom.global.{{exch}}.b128 q0, [d1], q2
atom.global.{{cas}}.b128 q0, [d1], q2, q3
atom.{{global|shared|}}.add.f32 f0, [d1], f2
atom.{{global|shared}}.add.f64 g0, [d1], g2
atom.{{global|shared}}.add.noftz.{{f16|bf16}} h0, [d1], h2
atom.{{global|shared}}.add.noftz.{{f16x2|bf16x2}} r0, [d1], r2
atom.global.add.L2::cache_hint.u32 r0, [d1], r2, d3
atom.global.v2.f32.add {{f0, f1}}, [d1], {{f2, f3}}
atom.global.v4.f32.add {{f0, f1, f2, f3}}, [d1], {{f4, f5, f6, f7}}
atom.global.{{add|min|max}}.noftz.v2.{{f16x2|bf16x2}} {{r0, r1}}, [d1], {{r2, r3}}
atom.global.{{add|min|max}}.noftz.v4.{{f16|bf16}} {{h0, h1, h2, h3}}, [d1], {{h4, h5, h6, h7}}
red.{{global|{_SHARED}|}}.{{add|min|max|inc|dec}}.u32 [d0], r1
red.{{relaxed|release}}.{{{_SCOPE}}}.global.add.s32 [d0], r1
red.global.{{and|or|xor}}.b64 [d1], d2
red.global.add.{{u64}} [d1], d2
red.{{global|shared}}.add.{{f32}} [d1], f2
red.{{global|shared}}.add.f64 [d1], g2
red.{{global|shared}}.add.noftz.{{f16|bf16}} [d1], h2
red.{{global|shared}}.add.noftz.{{f16x2|bf16x2}} [d1], r2
red.global.add.L2::cache_hint.u32 [d1], r2, d3
red.global.v2.f32.add [d1], {{f2, f3}}
red.global.add.noftz.v4.f16 [d1], {{h4, h5, h6, h7}}
cvta.{{to.|}}{{global|{_SHARED}|const|local}}.u64 d0, d1
isspacep.{{global|{_SHARED}|const|local|param|param::entry}} p0, d1
mapa.{{shared::cluster.|}}u64 d0, d1, r2
getctarank.{{shared::cluster.|}}u64 r0, d1
createpolicy.fractional.{{L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged}}.b64 d0
createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 d0, 0.5
createpolicy.range.{{global.|}}L2::evict_last.L2::evict_first.b64 d0, [d1], 16, 64
alloca.u64 d0, d1
stacksave.u64 d0
stackrestore.u64 d0
trap
bar.sync 0
bar.{{cta.|}}sync 0, 32
bar.arrive 0, 32
bar.red.popc.u32 r0, 0, p0
bar.{{cta.|}}red.and.pred p1, 0, p0
bar.warp.sync r0
barrier.{{cta.|}}sync.{{aligned|}} 0
barrier.arrive.{{aligned|}} 0, 32
barrier.red.or.{{aligned.|}}pred p1, 0, p0
barrier.cluster.arrive.{{release|relaxed|}}.{{aligned|}}
barrier.cluster.wait.{{acquire|}}.{{aligned|}}
nanosleep.u32 5
membar.{{cta|gl|sys}}
fence.{{sc|acq_rel|acquire|release|}}.{{{_SCOPE}}}
fence.mbarrier_init.release.cluster
fence.acquire.sync_restrict::shared::cluster.cluster
fence.release.sync_restrict::shared::cta.cluster
fence.proxy.{{alias|async|async.global|async.shared::cta|async.shared::cluster}}
fence.proxy.tensormap::generic.release.{{{_SCOPE}}}
fence.proxy.tensormap::generic.acquire.{{{_SCOPE}}} [d0], 128
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster
fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster
membar.proxy.alias
griddepcontrol.{{wait|launch_dependents}}
setmaxnreg.{{inc|dec}}.sync.aligned.u32 64
prefetch.{{global|local}}.{{L1|L2}} [d0]
prefetch.global.{{L2::evict_last|L2::evict_normal}} [d0]
prefetch.{{param.|}}tensormap [d0]
prefetchu.L1 [d0]
discard.{{global.|}}L2 [d0], 128
applypriority.{{global.|}}L2::evict_normal [d0], 128
brkpt
pmevent 7
pmevent.mask 7
shfl.sync.{{up|down|bfly|idx}}.b32 r0, r1, r2, r3, r4
vote.sync.{{all|any|uni}}.pred p0, p1, r0
vote.sync.ballot.b32 r0, p1, r2
match.any.sync.b32 r0, r1, r2
match.all.sync.b64 r0|p0, d1, r2
redux.sync.{{add|min|max}}.{{u32|s32}} r0, r1, r2
redux.sync.{{and|or|xor}}.b32 r0, r1, r2
redux.sync.{{min|max}}.{{abs.|}}{{NaN.|}}f32 f0, f1, r2
activemask.b32 r0
elect.sync r0|p0, r1
wgmma.fence.sync.aligned
wgmma.commit_group.sync.aligned
wgmma.wait_group.sync.aligned 0
cp.async.ca.shared.{{global}} [d0], [d1], {{4|8|16}}
cp.async.cg.{{shared|shared::cta}}.global [d0], [d1], 16
cp.async.ca.shared.global.{{L2::64B|L2::128B|L2::256B}} [d0], [d1], 16
cp.async.ca.shared.global.L2::cache_hint [d0], [d1], 16, d2
cp.async.ca.shared.global [d0], [d1], 16, {{r1|p0}}
cp.async.commit_group
cp.async.wait_group 0
cp.async.wait_all
cp.async.mbarrier.arrive.{{noinc.|}}{{shared|shared::cta|}}.b64 [d0]
cp.async.bulk.{_INTO}.{_BYTES} [r0], [d1], r2, [r3]
cp.async.bulk.shared::cta.global.{_BYTES} [r0], [d1], r2, [r3]
cp.async.bulk.{_INTO}.{_BYTES}.L2::cache_hint [r0], [d1], r2, [r3], d4
cp.async.bulk.{_INTO}.{_BYTES}.multicast::cluster [r0], [d1], r2, [r3], h0
cp.async.bulk.shared::cluster.shared::cta.{_BYTES} [r0], [r1], r2, [r3]
cp.async.bulk.global.shared::cta.bulk_group [d0], [r1], r2
cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [d0], [r1], r2, d3
cp.async.bulk.global.shared::cta.bulk_group.cp_mask [d0], [r1], r2, h3
cp.async.bulk.prefetch.L2.global [d0], r1
cp.async.bulk.commit_group
cp.async.bulk.wait_group.{{read|}} 0
cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.{{add|inc|dec|min|max}}.u32 [r0], [r1], r2, [r3]
cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.{{and|or|xor}}.b32 [r0], [r1], r2, [r3]
cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.add.u64 [r0], [r1], r2, [r3]
cp.reduce.async.bulk.global.shared::cta.bulk_group.{{add|min|max}}.{{u32|s32|u64}} [d0], [r1], r2
cp.reduce.async.bulk.global.shared::cta.bulk_group.{{and|or|xor}}.{{b32|b64}} [d0], [r1], r2
cp.reduce.async.bulk.global.shared::cta.bulk_group.{{add}}.{{f32|f64}} [d0], [r1], r2
cp.reduce.async.bulk.global.shared::cta.bulk_group.{{min|max}}.{{f16|bf16}} [d0], [r1], r2
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.{{f16|bf16}} [d0], [r1], r2
{_TMA}.{{1d}}.{_INTO}.{{tile.|}}{_BYTES} [r0], [d1, {{r1}}], [r2]
{_TMA}.2d.{_INTO}.{_BYTES} [r0], [d1, {{r1, r2}}], [r3]
{_TMA}.2d.shared::cta.global.{_BYTES} [r0], [d1, {{r1, r2}}], [r3]
{_TMA}.2d.{_INTO}.{_BYTES}.multicast::cluster [r0], [d1, {{r1, r2}}], [r3], h0
{_TMA}.2d.{_INTO}.{_BYTES}.L2::cache_hint [r0], [d1, {{r1, r2}}], [r3], d0
{_TMA}.2d.{_INTO}.{_BYTES}.cta_group::{{1|2}} [r0], [d1, {{r1, r2}}], [r3]
{_TMA}.3d.{_INTO}.im2col.{_BYTES} [r0], [d1, {{r1, r2, r3}}], [r4], {{h0}}
{_TMA}.4d.{_INTO}.im2col.{_BYTES} [r0], [d1, {{r1, r2, r3, r4}}], [r5], {{h0, h1}}
{_TMA}.3d.{_INTO}.im2col::w.{_BYTES} [r0], [d1, {{r1, r2, r3}}], [r4], {{h0, h1}}
{_TMA}.3d.{_INTO}.im2col::w::128.{_BYTES} [r0], [d1, {{r1, r2, r3}}], [r4], {{h0, h1}}
{_TMA}.2d.{{{_INTO}|shared::cta.global}}.tile::gather4.{_BYTES} [r0], [d1, {{r1, r2, r3, r4, r5}}], [r6]
{_TMA}.2d.global.shared::cta.tile::scatter4.bulk_group [d1, {{r1, r2, r3, r4, r5}}], [r6]
{_TMA}.2d.global.shared::cta.{{tile.|}}bulk_group [d1, {{r1, r2}}], [r3]
{_TMA}.2d.global.shared::cta.bulk_group.L2::cache_hint [d1, {{r1, r2}}], [r3], d2
{_TMA}.3d.global.shared::cta.im2col_no_offs.bulk_group [d1, {{r1, r2, r3}}], [r4]
cp.reduce.async.bulk.{_1D}.{{add|min|max|inc|dec|and|or|xor}}.bulk_group [d1, {{r1}}], [r3]
cp.async.bulk.prefetch.tensor.2d.L2.global [d1, {{r1, r2}}]
cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [d1, {{r1, r2, r3}}], {{h0}}
cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [d1, {{r1, r2, r3, r4, r5}}]
mbarrier.{{init}}.{{shared|shared::cta|}}.b64 [d0], 1
mbarrier.inval.{{shared|}}.b64 [d0]
mbarrier.{{expect_tx|complete_tx}}.{{relaxed.cluster|relaxed.cta|}}.{{{_SHARED}}}.b64 [d0], r1
mbarrier.{_ARRIVE}.{{release.cta|release.cluster|relaxed.cta|}}.{{shared::cta|shared|}}.b64 d1, [d0]
mbarrier.{_ARRIVE}.{{shared|}}.b64 d1, [d0], 4
mbarrier.{_ARRIVE}.{{release.cluster|relaxed.cluster|}}.shared::cluster.b64 _, [d0]
mbarrier.{_ARRIVE}.expect_tx.{{release.cta|relaxed.cta|}}.{{shared::cta|}}.b64 d1, [d0], r1
mbarrier.{_ARRIVE}.noComplete.{{shared.|}}b64 d1, [d0], 1
mbarrier.{_TEST}.{{acquire.cta|acquire.cluster|relaxed.cta|}}.{{shared::cta|shared|}}.b64 p0, [d0], d1
mbarrier.{_TEST}.parity.{{acquire.cta|acquire.cluster|relaxed.cluster|}}.{{shared::cta|}}.b64 p0, [d0], r1
mbarrier.try_wait.{{parity.|}}shared.b64 p0, [d0], WAIT, r2
mbarrier.pending_count.b64 r0, d1
tensormap.replace.tile.global_address.{{global|shared::cta|}}.b1024.b64 [d0], d1
tensormap.replace.tile.rank.{{global|shared::cta}}.b1024.b32 [d0], r1
tensormap.replace.tile.{{box_dim|global_dim|element_stride}}.{{global|shared::cta}}.b1024.b32 [d0], 0, r1
tensormap.replace.tile.global_stride.{{global|shared::cta}}.b1024.b64 [d0], 0, d1
tensormap.replace.tile.{{elemtype|interleave_layout|swizzle_mode|fill_mode}}.shared::cta.b1024.b32 [d0], 1
tensormap.replace.tile.swizzle_atomicity.shared::cta.b1024.b32 [d0], 1
{_TENSORMAP}.release.{{{_SCOPE}}}.sync.aligned [d0], [d1], 128
mov.b128 q0, {{d0, d1}}
{{rcp|rsqrt|sqrt|sin|cos|lg2|ex2}}.approx.{{ftz.|}}f32 f0, f1
{{rcp|rsqrt}}.approx.ftz.f64 g0, g1
div.{{approx|full}}.{{ftz.|}}f32 f0, f1, f2
tanh.approx.f32 f0, f1
{{vadd|vsub|vabsdiff|vmin|vmax}}.u32.s32.u32.{{sat.|}}{{add|min|max}} r0, r1.b0, r2.h1, r3
{{vshl|vshr}}.s32.u32.u32.{{clamp|wrap}} r0.b1, r1, r2, r3
vmad.s32.s32.u32.{{po|sat|shr7|}} r0, r1, r2.b3, r3
vset.u32.s32.lt r0, r1, r2
{{ex2.approx.f16|ex2.approx.ftz.bf16|tanh.approx.f16|tanh.approx.bf16}} h0, h1
{{ex2.approx.f16x2|ex2.approx.ftz.bf16x2|tanh.approx.f16x2|tanh.approx.bf16x2}} r0, r1
mov.u32 r0, {{%tid.x|%laneid|%smid|%clusterid.x|%cluster_ctarank|%nclusterid.x|%cluster_nctaid.x}}
mov.u32 r0, {{%total_smem_size|%aggr_smem_size|%dynamic_smem_size|%lanemask_lt|%envreg1|%pm0|%globaltimer_lo}}
mov.b32 r0, {{%reserved_smem_offset_begin|%reserved_smem_offset_end|%reserved_smem_offset_cap}}
mov.u32 r0, {{%clock|%warpid}}
mov.b32 r0, {{%reserved_smem_offset_0|%reserved_smem_offset_1}}
mov.pred p0, %is_explicit_cluster
mov.u64 d0, {{%clock64|%globaltimer|%gridid|%current_graph_exec}}
"""
#: A choice inside of an opcode, or one with a bar anywhere; registers in braces are a vector.
_CHOICE = re.compile(r"(?<! )\{([^{}, ]*)\}|\{([^{}, ]*\|[^{}, ]*)\}")


def _expanded(text: str) -> Iterator[str]:
    choice = _CHOICE.search(text)
    if choice is None:
        yield re.sub(r"\.\.+", ".", text).replace(". ", " ").rstrip(".")
        return
    for part in (choice[1] or choice[2]).split("|"):
        yield from _expanded(text[: choice.start()] + part + text[choice.end() :])


@lru_cache(maxsize=1)
def lines() -> tuple[str, ...]:
    """Every line, without the semicolon."""
    found = []
    for text in _LINES.strip().splitlines():
        for line in _expanded(text):
            line = line.replace("PAIR", "{r0, r1}" if ".v2" in line else "r0")
            found.append(line.replace("WAIT", "r1" if ".parity" in line else "d1"))
    return tuple(dict.fromkeys(found))


_REGISTERS = {1: "h", 2: "h", 4: "r", 8: "d"}


def _is_byte(part: str, parts: list[str]) -> bool:
    """Whether a value of this type is in a register of 8 bits: elsewhere 16 bits are the narrowest."""
    return part == "e2m1x2" or (part in ("u8", "s8") and "bf16" in parts)


def _scalar_line(opcode: str) -> str:
    known = operation(opcode)
    assert known is not None, opcode
    parts = opcode.split(".")

    def register(number: int, size: int, is_predicate: bool, narrow: bool) -> str:
        if is_predicate:
            return f"p{number}"
        return f"{'y' if narrow else _REGISTERS[size]}{number}"

    first_is_small, last_is_small = (_is_byte(part, parts) for part in (parts[-2], parts[-1]))
    sources = [
        register(2 + i, dtype.itemsize, dtype.kind == "b", last_is_small)
        for i, dtype in enumerate(known.sources)
    ]
    results = [
        register(i, dtype.itemsize, dtype.kind == "b", first_is_small)
        for i, dtype in enumerate(known.results)
    ]
    if parts[0] in ("addc", "subc", "madc"):
        sources.pop()  # the carry flag has no name
    if "cc" in parts or (parts[0] == "setp" and "x2" not in parts[-1]):
        results = results[:1]
    if parts[0] == "lop3":
        sources[3] = "0x96"
    sources = sources[: len(sources) - known.optional]
    return f"{opcode} {'|'.join(results)}, {', '.join(sources)}"


@lru_cache(maxsize=1)
def scalar_lines() -> tuple[str, ...]:
    """Every scalar instruction that ptxlab computes."""
    return tuple(map(_scalar_line, opcodes()))
