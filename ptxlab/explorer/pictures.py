"""What is on the explorer's screen as pictures for papers and slides: plain data, which `ptxlab.figures` draws and saves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import views as describe
from ..errors import PtxlabError, listing
from ..views.picture import Picture
from .state import Bench

__all__ = ["chosen", "picture", "pictures"]

_OF = {"E": "metadata", "SFA": "scales", "SFB": "scales"}  # matrices that have a picture of another name


def pictures(bench: Bench) -> tuple[str, ...]:
    """The names of what can be drawn.

    >>> import ptxlab
    >>> pictures(Bench(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")))
    ('product', 'A', 'stored', 'metadata', 'B', 'C', 'D', 'lane', 'trace')
    """
    return ("product", *dict.fromkeys(_OF.get(name, name) for name in bench.names), "lane", "trace")


def chosen(selected: Mapping[str, Any]) -> str:
    """The picture of the matrix in which a cell is chosen; of the whole product where none is.

    >>> chosen({"name": "E", "row": 3, "column": 1}), chosen({})
    ('metadata', 'product')
    """
    name = str(selected.get("name", "product"))
    return _OF.get(name, name)


def picture(
    bench: Bench,
    what: str,
    *,
    at: int = 0,
    cell: tuple[int, int] = (0, 0),
    look: Mapping[str, Any] | None = None,
    **options: Any,
) -> Picture:
    """The picture of that name: a matrix with its present values, metadata, scales, the registers of a lane, the trace of a cell of D.

    `at` is the chosen lane and `look` what stands in the cells (label), what their colours say (colour), and whether C is shown (show_c).
    Options go to the function of `ptxlab.views` that draws it (`warp=1`, `lane=5` for one in the focus ...).

    >>> import ptxlab
    >>> bench = Bench(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> bench.set_cell("A", 9, 3, "2.5")
    >>> picture(bench, "A").grids[0].at(9, 3).text
    '2.5'
    >>> picture(bench, "E")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: no figure 'E'; there are product, A, B, C, D, lane, trace
    """
    ins = bench.ins
    if what not in pictures(bench):
        raise PtxlabError(f"no figure {what!r}; there are {listing(pictures(bench), 12)}")
    if what == "trace":
        return _trace(bench, *cell)
    if what == "lane":
        held = {
            name: bench.registers(name)
            for name, operand in ins.operands.items()
            if operand.layout is not None
        }
        return describe.registers(ins, **{"lane": at, "held": held, **options})
    if what == "metadata":
        return describe.metadata(ins, bench.codes("E"), bench.copy_of("E"), **options)
    if what == "scales":
        chosen = {
            name: value for name, value in bench.options.items() if name.startswith(("byte_id", "thread_id"))
        }
        return describe.scales(ins, bench.values("SFA"), bench.values("SFB"), **chosen, **options)
    look = {"label": "value", "colour": "lane", "show_c": False, **(look or {})}
    colour = (
        "auto" if look["colour"] == "lane" else look["colour"]
    )  # a map of lanes would say nothing of the values
    how = {"shown": look["label"], "colour": colour, **options}
    differ = bench.result().differ if bench.against is not None else None
    if what == "product":
        names = [name for name in bench.names if name != "C" or look["show_c"]]
        copies = {name: bench.copy_of(name) for name in names}
        return describe.product(
            ins, codes={name: bench.codes(name) for name in names}, marked=differ, copies=copies, **how
        )
    nibbles = bench.codes("E") if ins.sparse else None
    return describe.values(
        ins,
        what,
        codes=bench.codes(what),
        nibbles=nibbles,
        marked=differ if what == "D" else None,
        copy=bench.copy_of(what),
        **how,
    )


def _trace(bench: Bench, row: int, column: int) -> Picture:
    found = bench.trace(row, column)
    given = int(bench.result().codes[row, column])
    return describe.trace(
        found, "" if given == found.code else f"the GPU gave 0x{given:x}, this is the emulator"
    )
