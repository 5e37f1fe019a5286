"""The memory view: a matrix of the instruction in shared memory, and the accesses that move it.

wgmma and tcgen05.mma read A and B through descriptors. For mma the view shows the ldmatrix or ld.shared that
would load the registers, and the stmatrix or st.shared that would store D; for wmma, wmma.load or wmma.store.
The page gets places, wavefronts and sentences; it has the content of memory from the matrix itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, counted, error_of, listing, quoted
from ...isa.catalog import Product
from ...isa.operand import Operand
from ...memory import SWIZZLES, Conflicts
from ...memory.fragment_access import (
    FragmentAccess,
    Major,
    Placement,
    lane_accesses,
    matrix_accesses,
    place_layout,
    place_lines,
)
from ...memory.swizzle import SharedLayout
from ...views.labels import index_runs
from ..state import ExplorerState, MemoryRequest
from .memory_descriptor import SharedTile, has_tile, matrix_descriptor_info, place_shared, shown_tile

_LINE = 128  # bytes: one word of every bank
_MAX_PITCH = 1024
_MAX_PITCHES = 9  # tried in the search for one without conflicts
_MAJORS: tuple[Major, ...] = ("row", "column")


@dataclass(frozen=True)
class MemoryLayout:
    """A matrix in shared memory: the choices made, the places of its elements, and how they are moved."""

    name: str  # of the matrix: A, stored, B, C, D
    operand: Operand
    by: str
    major: Major
    pitch: int | None  # None for wgmma's tiles and for layouts of CuTe, which have none
    swizzle: int
    placement: Placement
    accesses: tuple[FragmentAccess, ...]
    shared: SharedTile | None = None  # of wgmma and tcgen05.mma, with its descriptor
    cute: str = ""  # its layout in CuTe's notation, if one was given

    @property
    def wavefronts(self) -> int:
        """Wavefronts of a warp, or of wgmma."""
        return sum(int(conflict.wavefronts) for conflict in self._conflicts)

    @property
    def least(self) -> int:
        """Wavefronts without conflicts."""
        return sum(int(conflict.least) for conflict in self._conflicts)

    @property
    def _conflicts(self) -> list[Conflicts]:
        if self.shared is not None:
            return [self.shared.reads]
        return [access.conflicts for access in self.accesses if access.warp == 0]


# -- what can be shown -----------------------------------------------------------------------------------


def has_memory_view(ins: Product, name: str) -> bool:
    """Whether a matrix can be shown in memory; the dense A of a sparse instruction is never stored."""
    own_a = "stored" if ins.sparse else "A"
    if ins.descriptor is not None:
        return name in (own_a, "B") and has_tile(ins, "A" if name == "stored" else name)
    return ins.mma_count == 1 and name in (own_a, "B", "C", "D")


def is_transposed(state: ExplorerState, name: str) -> bool:
    """Whether A or B has m or n contiguous in shared memory, by a modifier or the instruction descriptor."""
    ins, modifiers = state.ins, state.operation.modifiers
    if ins.descriptor is not None:
        return ins.descriptor.transpose_a if name == "A" else ins.descriptor.transpose_b
    return bool(modifiers.imm_trans_a if name == "A" else modifiers.imm_trans_b)


def _movers(ins: Product, operand: Operand) -> tuple[str, ...]:
    """The instructions that can move an operand, the usual one first."""
    if operand.packing is not None:
        return ("tcgen05.mma",)
    if operand.space == "shared":
        return ("wgmma",)
    store = operand.name == "D"
    if ins.family == "wmma":
        return ("wmma.store",) if store else ("wmma.load",)
    if operand.name in "CD":
        return ("st.shared", "stmatrix") if store else ("ld.shared", "ldmatrix")
    return ("ldmatrix", "ld.shared")


def _usual_mover(ins: Product, operand: Operand, major: Major) -> str:
    """The first instruction that can move it; if none can, the plain one, whose refusal says why."""
    movers = _movers(ins, operand)
    plain = next((mover for mover in movers if mover.endswith(".shared")), movers[0])
    return next((mover for mover in movers if not _obstacle(operand, mover, major)), plain)


def _majors(ins: Product, operand: Operand, transposed: bool) -> dict[Major, str]:
    """Which index may be contiguous, the usual one first, each with why it may not, or ""."""
    is_column = operand.axes == ("k", "n")
    obstacle = ""
    if ins.d.space == "tensor":
        is_column ^= transposed
        obstacle = f"transpose_{operand.name.lower()} of the descriptor says so"
    elif ins.family == "wmma" and operand.name in "AB":
        layout = ins.a_layout if operand.name == "A" else ins.b_layout
        is_column = layout != "row"
        obstacle = f"this wmma.mma takes {operand.name} as .{layout}: choose another"
    elif operand.space == "shared" and f"imm_trans_{operand.name.lower()}" not in ins.modifiers:
        obstacle = f"{operand.name} is {operand.dtype}: wgmma transposes f16 and bf16 only"
    elif operand.space == "shared":
        is_column ^= transposed
        obstacle = f"imm-trans-{operand.name.lower()} {int(not transposed)} says so"
    return {"column": "", "row": obstacle} if is_column else {"row": "", "column": obstacle}


def _accesses(operand: Operand, placement: Placement, by: str) -> tuple[FragmentAccess, ...]:
    store = by in ("stmatrix", "st.shared", "wmma.store")
    if by in ("ldmatrix", "stmatrix"):
        return tuple(matrix_accesses(operand, placement, store=store))
    if by == "wmma.load" and operand.name in "AB":  # through LDSM, the machine's ldmatrix, where that fits
        try:
            return tuple(matrix_accesses(operand, placement))
        except PtxlabError:
            pass
    return tuple(lane_accesses(operand, placement, store=store))


def _line_bytes(operand: Operand, major: Major) -> int:
    return operand.shape[1 if major == "row" else 0] * operand.width // 8


@lru_cache(maxsize=256)
def _obstacle(operand: Operand, by: str, major: Major) -> str:
    """Why an instruction cannot move an operand stored like this, or ""; tiles of wgmma are not moved."""
    if operand.space == "shared":
        return ""
    pitch = -(-_line_bytes(operand, major) // 16) * 16
    return error_of(lambda: _accesses(operand, place_lines(operand, major, pitch), by))


#: A choice: its text, its value, and why it cannot be chosen, or "".
_Choice = tuple[str, str | int, str]


def _major_text(operand: Operand, major: Major) -> str:
    if operand.axes == ("m", "n"):
        return f"{major}-major"
    contiguous = operand.axes[1 if major == "row" else 0]
    return f"{contiguous.upper()}-major"


def _choices(
    ins: Product, operand: Operand, by: str, major: Major, transposed: bool
) -> dict[str, list[_Choice]]:
    """What can be chosen for an operand, given the current choices."""
    majors = _majors(ins, operand, transposed)
    return {
        "by": [(mover, mover, _obstacle(operand, mover, major)) for mover in _movers(ins, operand)],
        "major": [
            (_major_text(operand, choice), choice, majors[choice] or _obstacle(operand, by, choice))
            for choice in _MAJORS
        ],
        "swizzle": [
            (
                f"{swizzle} bytes" if swizzle else "none",
                swizzle,
                _swizzle_obstacle(ins, operand, by, swizzle, transposed),
            )
            for swizzle in sorted(SWIZZLES)
        ],
    }


def _swizzle_obstacle(ins: Product, operand: Operand, by: str, swizzle: int, transposed: bool) -> str:
    """Why an operand cannot have this swizzle, or ""."""
    if by.startswith("wmma") and swizzle:
        return f"{by} takes lines at equal distances: it cannot follow a swizzle"
    return error_of(shown_tile, ins, operand, swizzle, transposed) if operand.space == "shared" else ""


# -- what is shown ---------------------------------------------------------------------------------------


def memory_layout(state: ExplorerState) -> MemoryLayout | None:
    """The layout that the state requests; None for none."""
    return None if state.memory is None else lay_out(state, state.memory)


def lay_out(state: ExplorerState, request: MemoryRequest) -> MemoryLayout:
    """A matrix of the state, laid out as requested; refused if the instruction has no such memory."""
    return _layout(state.ins, is_transposed(state, "A"), is_transposed(state, "B"), request)


@lru_cache(maxsize=32)
def _layout(ins: Product, trans_a: bool, trans_b: bool, request: MemoryRequest) -> MemoryLayout:
    """See `lay_out`; the page asks for the same layout again and again, so it is kept."""
    name = "stored" if request.name == "A" and ins.sparse else request.name
    if not has_memory_view(ins, name):
        shown = [matrix for matrix in ("A", "stored", "B", "C", "D") if has_memory_view(ins, matrix)]
        raise PtxlabError(
            f"{ins.mnemonic} has no {quoted(request.name)} in shared memory to show; "
            f"there are {listing(shown) or 'none'}"
        )
    operand = ins.operands["A" if name == "stored" else name]
    transposed = trans_a if operand.name == "A" else trans_b
    if request.major is not None and request.major not in _MAJORS:
        raise PtxlabError(f"major={quoted(request.major)}: there are {listing(_MAJORS)}")
    usual = next(iter(_majors(ins, operand, transposed)))
    major = next((choice for choice in _MAJORS if choice == request.major), usual)
    by = _usual_mover(ins, operand, major) if request.by is None else request.by
    swizzle = 0 if request.swizzle is None else request.swizzle
    if request.descriptor is not None:
        return _described_layout(ins, name, operand, major, transposed, request)
    if request.layout is not None:
        return _cute_layout(ins, name, operand, request)
    choices = _choices(ins, operand, by, major, transposed)
    for what, chosen in {"by": by, "major": major, "swizzle": swizzle}.items():
        obstacles = {value: obstacle for _, value, obstacle in choices[what]}
        if chosen not in obstacles:
            raise PtxlabError(f"{what}={quoted(chosen)}: there are {listing(obstacles)}")
        if obstacles[chosen]:
            raise PtxlabError(f"{what}={quoted(chosen)}: {obstacles[chosen]}")
    if operand.space == "shared":
        if request.pitch is not None:
            raise PtxlabError(
                f"pitch={request.pitch}: a tile of {by} has none; its swizzle says where rows are"
            )
        shared = place_shared(ins, operand, transposed, swizzle)
        return MemoryLayout(
            name,
            operand,
            by=by,
            major=major,
            pitch=None,
            swizzle=swizzle,
            placement=shared.placement,
            accesses=(),
            shared=shared,
        )
    pitch = request.pitch if request.pitch is not None else max(_LINE, _line_bytes(operand, major))
    _check_pitch(operand, by, major, pitch)
    placement = place_lines(operand, major, pitch, swizzle)
    return MemoryLayout(
        name,
        operand,
        by=by,
        major=major,
        pitch=pitch,
        swizzle=swizzle,
        placement=placement,
        accesses=_accesses(operand, placement, by),
    )


def _described_layout(
    ins: Product, name: str, operand: Operand, major: Major, transposed: bool, request: MemoryRequest
) -> MemoryLayout:
    """The layout that a matrix descriptor states, which leaves nothing else to choose."""
    if operand.space != "shared":
        raise PtxlabError(f"{request.name} of {ins.mnemonic} is in registers: no descriptor says where")
    for what, value in (("by", request.by), ("major", request.major), ("pitch", request.pitch)):
        if value is not None:
            raise PtxlabError(
                f"{what}={quoted(value)}: the descriptor says how {request.name} lies in memory"
            )
    shared = place_shared(ins, operand, transposed, code=request.descriptor)
    swizzle = shared.descriptor.swizzle
    if request.swizzle not in (None, swizzle):
        raise PtxlabError(f"swizzle={quoted(request.swizzle)}: the descriptor says {swizzle}")
    by = _movers(ins, operand)[0]
    return MemoryLayout(
        name,
        operand,
        by=by,
        major=major,
        pitch=None,
        swizzle=swizzle,
        placement=shared.placement,
        accesses=(),
        shared=shared,
    )


def _cute_layout(ins: Product, name: str, operand: Operand, request: MemoryRequest) -> MemoryLayout:
    """The layout that CuTe's notation states, of the matrix or of a larger one that it is the corner of."""
    text = request.layout or ""
    if operand.space == "shared":
        raise PtxlabError(
            f"layout={quoted(text)}: {ins.mnemonic} reads {request.name} through a descriptor: choose a "
            "swizzle, or pass the descriptor"
        )
    for what, value in (("major", request.major), ("pitch", request.pitch), ("swizzle", request.swizzle)):
        if value is not None:
            raise PtxlabError(f"{what}={quoted(value)}: the layout says how {request.name} lies in memory")
    layout = SharedLayout.read(text, operand.width)
    placement = place_layout(operand, layout)
    along_rows, along_columns = (np.diff(placement.offsets, axis=axis).ravel()[:1] for axis in (0, 1))
    major: Major = "row" if np.abs(along_columns).sum() <= np.abs(along_rows).sum() else "column"
    by = _usual_mover(ins, operand, major) if request.by is None else request.by
    if by not in _movers(ins, operand):
        raise PtxlabError(f"by={quoted(by)}: there are {listing(_movers(ins, operand))}")
    if by.startswith("wmma"):
        raise PtxlabError(f"layout={quoted(text)}: {by} takes lines at equal distances: give a pitch")
    accesses = _accesses(operand, placement, by)
    return MemoryLayout(
        name,
        operand,
        by=by,
        major=major,
        pitch=None,
        swizzle=0,
        placement=placement,
        accesses=accesses,
        cute=text,
    )


def _pitch_step(by: str) -> int:
    """The alignment of rows in bytes."""
    return 4 if by in ("ld.shared", "st.shared") else 16


def _check_pitch(operand: Operand, by: str, major: Major, pitch: int) -> None:
    least, step = _line_bytes(operand, major), _pitch_step(by)
    most = max(_MAX_PITCH, least)
    if pitch % step or not least <= pitch <= most:
        raise PtxlabError(
            f"pitch={pitch}: with {by} the {major}s of {operand.name} are multiples of {step} bytes apart, "
            f"from {least} to {most}"
        )


# -- for the page ----------------------------------------------------------------------------------------


def memory_data(state: ExplorerState, layout: MemoryLayout) -> dict[str, Any]:
    """What the page draws; per-cell numbers (byte, lowest bit, wavefront) are packed into bytes.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> state.memory = MemoryRequest("A")
    >>> layout = memory_layout(state)
    >>> memory_data(state, layout)["summary"]
    '32 wavefronts where 4 would do: take pitch 144 or swizzle 128'
    >>> memory_data(state, layout)["steps"][1]["text"].split(": ", 1)[1]
    'row 1 of matrix 0, whose address lane 1 supplies; lanes 0..7 want different words of banks 0..3'
    """
    transposed = is_transposed(state, layout.operand.name)
    placement = layout.placement
    data: dict[str, Any] = {
        "name": layout.name,
        "by": layout.by,
        "major": layout.major,
        "pitch": layout.pitch,
        "swizzle": layout.swizzle,
        "layout": layout.cute or None,
        "controls": _controls(state.ins, layout, transposed),
        "size": placement.size,
        "bits": placement.bits,
        "byte": placement.offsets.astype(np.int32).tobytes(),
        "wavefront": _cell_wavefronts(layout).astype(np.int16).tobytes(),
        # rows of ldmatrix and stmatrix: first byte, the lane that supplies the address, its matrix
        "suppliers": [
            [int(address), access.warp * 32 + lane, lane // 8]
            for access in layout.accesses
            if access.is_matrix
            for lane, address in enumerate(access.addresses.tolist())
        ],
        "wavefronts": layout.wavefronts,
        "least": layout.least,
        "summary": _summary(state.ins, layout),
        "facts": _facts(layout),
        "steps": _steps(state.ins, layout),
    }
    if layout.shared is not None:
        data["descriptor"] = matrix_descriptor_info(layout.shared)
    if placement.low.any():
        data["low"] = placement.low.astype(np.int8).tobytes()
    return data


def _controls(ins: Product, layout: MemoryLayout, transposed: bool) -> list[dict[str, Any]]:
    """What stands above the memory view: for each option its choices, or the range of the pitch."""
    choices = _choices(ins, layout.operand, layout.by, layout.major, transposed)
    modifier = f"imm_trans_{layout.operand.name.lower()}"
    has_modifier = layout.shared is not None and len(ins.modifiers.get(modifier, ())) > 1
    if has_modifier:
        # both can be chosen: the page then sets the modifier
        choices["major"] = [(text, value, "") for text, value, _ in choices["major"]]
    hints = {
        "by": "The instruction that moves it",
        "major": "The index whose neighbours are neighbours in memory",
        "swizzle": "The XOR of bits 4 to 6 of the address with bits 7 to 9: how many bytes it permutes",
    }
    controls: list[dict[str, Any]] = [
        {
            "name": option,
            "label": option.capitalize(),
            "hint": hint,
            "choices": [list(choice) for choice in choices[option]],
            "value": getattr(layout, option),
        }
        for option, hint in hints.items()
    ]
    if layout.cute:  # it is shown as one more choice
        controls[2]["choices"].insert(0, [layout.cute.partition(" o ")[0], -1, ""])
        controls[2]["value"] = -1
    if layout.pitch is not None:
        least = _line_bytes(layout.operand, layout.major)
        controls.insert(
            2,
            {
                "name": "pitch",
                "label": "Pitch",
                "hint": f"Bytes from one {layout.major} to the next; padding beyond {least}",
                "range": {"min": least, "max": max(_MAX_PITCH, least), "step": _pitch_step(layout.by)},
                "value": layout.pitch,
            },
        )
    if has_modifier:
        usual = "row" if layout.operand.name == "A" else "column"
        controls[1]["modifier"] = {"name": modifier, **{major: int(major != usual) for major in _MAJORS}}
    return controls


def _cell_wavefronts(layout: MemoryLayout) -> NDArray[np.int64]:
    """The wavefront of its warp that moves each cell."""
    words = layout.placement.offsets // 4
    if layout.shared is not None:
        return _lookup(layout.shared.reads, words)
    coords = layout.operand.coords()
    cells = np.full(words.shape, -1, dtype=np.int64)
    start, warp = 0, 0
    for access in layout.accesses:
        if access.warp != warp:
            start, warp = 0, access.warp
        own = coords[access.lanes, access.first : access.first + access.count]
        at = own[..., 0], own[..., 1]
        cells[at] = start + _lookup(access.conflicts, words[at])
        start += int(access.conflicts.wavefronts)
    return cells


def _lookup(conflicts: Conflicts, words: NDArray[np.int64]) -> NDArray[np.int64]:
    """The wavefront that serves each of these words."""
    accessed, first = np.unique(conflicts.words, return_index=True)
    return np.asarray(conflicts.schedule.reshape(-1)[first][np.searchsorted(accessed, words)])


# -- sentences -------------------------------------------------------------------------------------------


def _lanes(lanes: Sequence[int]) -> str:
    return f"lane{'' if len(set(lanes)) == 1 else 's'} {index_runs(lanes)}"


def _summary(ins: Product, layout: MemoryLayout) -> str:
    warps = layout.operand.lanes // 32
    per_warp = " in each warp" if warps > 1 else ""
    if layout.shared is not None:
        cores = "1 core matrix" if layout.least == 1 else f"{layout.least} core matrices"
        return f"{cores} of 128 bytes, each with every bank once; their order is not documented"
    count = counted(layout.wavefronts, "wavefront")
    if layout.wavefronts == layout.least:
        return f"{count}{per_warp}, no conflicts"
    return f"{count}{per_warp} where {layout.least} would do{_remedy(layout)}"


def _remedy(layout: MemoryLayout) -> str:
    """The nearest larger pitch and the narrowest swizzle without conflicts."""
    if layout.pitch is None:
        return ""
    step = max(_pitch_step(layout.by), 4)
    pitches = range(layout.pitch + step, layout.pitch + step * _MAX_PITCHES, step)
    remedies = []
    for pitch in pitches:
        if pitch <= max(_MAX_PITCH, layout.pitch) and _is_conflict_free(layout, pitch, layout.swizzle):
            remedies.append(f"pitch {pitch}")
            break
    swizzles = sorted(swizzle for swizzle in SWIZZLES if swizzle > layout.swizzle)
    if layout.by.startswith("wmma"):
        swizzles = []
    for swizzle in swizzles:
        if _is_conflict_free(layout, layout.pitch, swizzle):
            remedies.append(f"swizzle {swizzle}")
            break
    return f": take {' or '.join(remedies)}" if remedies else ""


def _is_conflict_free(layout: MemoryLayout, pitch: int, swizzle: int) -> bool:
    try:
        placement = place_lines(layout.operand, layout.major, pitch, swizzle)
        accesses = _accesses(layout.operand, placement, layout.by)
    except PtxlabError:
        return False
    return all(
        access.conflicts.wavefronts == access.conflicts.least for access in accesses if not access.warp
    )


def _facts(layout: MemoryLayout) -> list[str]:
    if layout.shared is not None:
        fields = layout.shared.descriptor
        address = f"0x{fields.address:x}" if fields.address else "0"
        return [
            f"descriptor 0x{fields.code:x} (address {address})",
            f"LBO {fields.leading}, SBO {fields.stride}",
            *([layout.shared.tile.cute] if layout.shared.is_whole_tile else []),
        ]
    names: dict[str, int] = {}
    for access in layout.accesses:
        if access.warp == 0:
            names[access.name] = names.get(access.name, 0) + 1
    moved = ", ".join(name if count == 1 else f"{count} × {name}" for name, count in names.items())
    if layout.by.startswith("wmma"):
        is_row_load = any(access.is_matrix for access in layout.accesses)
        reason = (
            "through LDSM, the machine's ldmatrix" if is_row_load else "the compiler may choose other widths"
        )
        return [f"{layout.by} drawn as {moved}: {reason}"]
    return [moved, *([layout.cute] if layout.cute else [])]


def _steps(ins: Product, layout: MemoryLayout) -> list[dict[str, Any]]:
    """The steps of the first warp: each wavefront, then the registers, then the instruction."""
    if layout.shared is not None:
        return [*_core_steps(layout), _last_step(ins, layout)]
    steps: list[dict[str, Any]] = []
    total, number = layout.wavefronts, 0
    store = layout.operand.name == "D"
    if store:
        steps.append(_last_step(ins, layout))
    for access in layout.accesses:
        if access.warp:
            continue
        registers = _registers(layout.operand, access)
        if store:
            steps.append(_register_step(layout, access, registers))
        groups = _group_of_wavefronts(access.conflicts)
        for wavefront, group in enumerate(groups):
            text = f"wavefront {number + wavefront + 1} of {total}: {_wavefront_text(access, wavefront)}"
            first = number + groups.index(group)
            steps.append(_step(text, number + wavefront, registers, [first, first + groups.count(group)]))
        number += len(groups)
        if not store:
            steps.append(_register_step(layout, access, registers))
    if not store:
        steps.append(_last_step(ins, layout))
    return steps


def _step(
    text: str,
    wavefront: int,
    registers: Sequence[int] = (),
    group: Sequence[int] = (),
    kind: str = "wavefront",
) -> dict[str, Any]:
    return {
        "kind": kind,
        "wavefront": wavefront,
        "group": list(group),
        "registers": list(registers),
        "text": text,
    }


def _group_of_wavefronts(conflicts: Conflicts) -> list[int]:
    """The group of lanes that each wavefront serves; the wavefronts of a group are consecutive."""
    groups = np.broadcast_to(conflicts.groups[:, None], conflicts.schedule.shape)
    wavefronts, first = np.unique(conflicts.schedule, return_index=True)
    return [int(group) for group in groups.reshape(-1)[first[wavefronts >= 0]]]


def _registers(operand: Operand, access: FragmentAccess) -> list[int]:
    first = access.first // operand.elements_per_register
    last = (access.first + access.count - 1) // operand.elements_per_register
    return list(range(first, last + 1))


def _wavefront_text(access: FragmentAccess, wavefront: int) -> str:
    conflicts = access.conflicts
    served = np.flatnonzero((conflicts.schedule == wavefront).any(axis=1)).tolist()
    group = int(conflicts.groups[served[0]])
    banks = np.unique(conflicts.words[conflicts.schedule == wavefront] % 32).tolist()
    colliding: set[int] = set()
    shared_banks: set[int] = set()
    for collision in conflicts.collisions:
        if collision.group == group and set(collision.lanes) & set(served) and collision.bank in banks:
            colliding |= set(collision.lanes)
            shared_banks.add(collision.bank)
    if access.is_matrix:
        text = f"row {served[0] % 8} of matrix {group}, whose address {_lanes(served)} supplies"
        if len(served) > 1:
            rows = index_runs([lane % 8 for lane in served])
            text = f"rows {rows} of matrix {group}, whose addresses {_lanes(served)} supply"
    else:
        text = f"{access.name} of {_lanes(served)}"
    if not colliding:
        return f"{text}; banks {index_runs(banks)}, no conflict"
    where = f"bank{'' if len(shared_banks) == 1 else 's'} {index_runs(sorted(shared_banks))}"
    return f"{text}; {_lanes(sorted(colliding))} want different words of {where}"


def _register_step(layout: MemoryLayout, access: FragmentAccess, registers: list[int]) -> dict[str, Any]:
    names = f"{'register' if len(registers) == 1 else 'registers'} {index_runs(registers)}"
    text = f"{access.name} is done: every lane has {names} of {layout.operand.name}"
    if layout.operand.name == "D":
        text = f"{access.name} takes {names} of D from every lane"
    return _step(text, -1, registers, kind="registers")


def _core_steps(layout: MemoryLayout) -> list[dict[str, Any]]:
    wavefronts = _cell_wavefronts(layout)
    total = layout.wavefronts
    steps = []
    for number in range(total):
        rows, columns = np.nonzero(wavefronts == number)
        row, column = layout.operand.axes
        place = f"{row} {index_runs(rows.tolist())}, {column} {index_runs(columns.tolist())}"
        text = f"wavefront {number + 1} of {total}: the core matrix with {place}; every bank once"
        steps.append(_step(text, number))
    return steps


def _last_step(ins: Product, layout: MemoryLayout) -> dict[str, Any]:
    if layout.operand.name == "D":
        text = f"{ins.mnemonic} leaves D in the registers of every lane"
    else:
        where = "from shared memory" if layout.shared is not None else "from the registers of every lane"
        text = f"{ins.mnemonic} reads {layout.operand.name} {where}: D = A·B + C"
    return _step(text, -1, kind="mma")
