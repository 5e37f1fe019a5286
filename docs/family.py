"""The reference page of a family: its forms by shape and type, then every distinct fragment once, all from the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

from ptxlab import TARGETS, PtxlabError
from ptxlab import views as describe
from ptxlab.isa.layout import Layout
from ptxlab.isa.operand import Operand
from ptxlab.memory import SWIZZLES

from . import about, chips
from .figure import figure
from .groups import Form, Fragment, Group, fragments, groups, qualifiers, targets
from .page import Page, code, details, facts, link, listed, pre, slug, table

__all__ = ["FamilyPage", "family_file"]

_SHOWN_REGISTERS = 8
_SHOWN_FORMS = 6
#: Facts that are told elsewhere on the page, or not as words.
_TOLD = {
    "family",
    "shape",
    "lanes",
    "operands",
    "sparsity",
    "nibbles",
    "selectors",
    "modifiers",
    "targets",
    "missing on",
    "arithmetic",
    "ptx",
}
_CODE = {"c++": "As an asm statement in CUDA C++", "wmma": "With nvcuda::wmma"}


def family_file(family: str) -> str:
    return f"{slug(family)}.html"


class FamilyPage:
    """Builds the page; `skipped` tells what an entry could not give."""

    def __init__(self, family: str, forms: Sequence[Form]) -> None:
        said, section = about.FAMILIES.get(family, ("", ""))
        self.family, self.forms, self.groups = family, forms, groups(forms)
        self.page = Page(family_file(family), family, said, "Instructions")
        self.section = getattr(forms[0], "section", section)
        self.skipped: list[str] = []
        for group in self.groups:
            self.page.anchor(group.anchor)
        self.fragments = self.attempt("fragments", lambda: fragments(self.groups)) or []
        self.anchors = {id(fragment): self.page.anchor(fragment.wanted) for fragment in self.fragments}

    def attempt(self, what: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, or None where the entry has nothing of the kind."""
        try:
            return make()
        except (PtxlabError, AttributeError, NotImplementedError, TypeError, KeyError) as error:
            self.skipped.append(f"{self.family}: {what}: {error}")
            return None

    def build(self) -> Page:
        page = self.page
        page.head(1, code(self.family), listed=False)
        if page.about:
            page.add(f"<p>{escape(page.about)}</p>")
        if self.section:
            page.add(
                f"<p>NVIDIA's text: {link('PTX ISA', about.MANUAL)}, section {escape(self.section)}.</p>"
            )
        self._forms()
        for group in self.groups:
            self._group(group)
        role = ""
        for fragment in self.fragments:
            if fragment.role != role:
                role = fragment.role
                page.head(
                    2, escape(role if role in ("Metadata E", "Block scales") else f"Fragments of {role}")
                )
                if role == "Metadata E":
                    self._nibbles()
            self._fragment(fragment)
        return page

    # -- forms --------------------------------------------------------------------------------------------------------------

    def _forms(self) -> None:
        page = self.page
        page.head(2, "Forms")
        product = any(group.outputs for group in self.groups)
        rows: list[tuple[str, ...]] = []
        for group in self.groups:
            shape = code(group.shape) if group.shape else "-"
            sizes = f"<br>N = {_sizes(group.sizes)}" if group.sizes else ""
            more = ", ".join(code(f".{token}") for token in qualifiers(group, self.forms))
            on = "<br>".join(dict.fromkeys(escape(targets(ins.targets)) for ins in group.forms))
            kinds = (
                escape(", ".join(group.inputs)),
                *((escape(", ".join(group.outputs)),) if product else ()),
            )
            rows.append((link(shape, f"#{group.anchor}") + sizes, *kinds, more, str(len(group.forms)), on))
        heads = (
            "shape",
            *(("A and B", "C and D") if product else ("type",)),
            "qualifiers",
            "forms",
            "targets",
        )
        rows.append((*[""] * (len(heads) - 2), f"<strong>{len(self.forms)}</strong>", ""))
        page.add(table(heads, rows, numbers=(len(heads) - 2,), label="Forms"))

    def _group(self, group: Group) -> None:
        page, ins = self.page, group.example
        title = " · ".join(
            code(part) if at == 0 else escape(part) for at, part in enumerate(group.title.split(" · "))
        )
        anchor = page.head(2, title, group.anchor)
        for form in group.forms:
            page.find(form.mnemonic, targets(form.targets), anchor)
        many = f", N = {_sizes(group.sizes)}" if group.sizes else ""
        page.add(
            f"<p>{len(group.forms)} form{'s' * (len(group.forms) > 1)}{many}. Shown here: {code(ins.mnemonic)}</p>"
        )
        self._operands(group)
        said = self.attempt("facts", lambda: describe.facts(ins)) or {}
        page.add(facts(self._said(group, said)))
        ptx = said.get("ptx") or self.attempt("ptx", lambda: ins.ptx)
        if ptx:
            page.add(pre(ptx, "PTX line", wrap=True))
        for name, title in _CODE.items():
            if said.get(name):
                page.add(details(title, pre("\n".join(said[name]), title)))
        kernel = self.attempt("kernel", lambda: ins.kernel)
        if kernel:
            page.add(details("CUDA C++ kernel around it", pre(kernel, "CUDA C++ kernel")))
        spelt = listed(code(form.mnemonic) for form in group.forms)
        page.add(
            details(f"All {len(group.forms)} spellings", spelt) if len(group.forms) > _SHOWN_FORMS else spelt
        )

    def _operands(self, group: Group) -> None:
        rows = []
        for fragment in self.fragments:
            if group not in fragment.users:
                continue
            held = [op for form in group.samples if form in fragment.forms for op in self._of(fragment, form)]
            types = ", ".join(dict.fromkeys(str(op.dtype) for op in held) or fragment.types)
            held = held or [fragment.op]
            where = f"{held[0].lanes} lanes" if fragment.op.layout else "shared memory"
            registers = (
                " or ".join(str(count) for count in sorted({op.registers for op in held}))
                if fragment.op.layout
                else "-"
            )
            size = link(f"{held[0].shape[0]}x{held[0].shape[1]}", f"#{self.anchors[id(fragment)]}")
            stored = ", as stored" if fragment.role == "A" and getattr(fragment.ins, "sparse", False) else ""
            variant = f" {code(fragment.variant)}" if fragment.variant else ""
            rows.append((escape(fragment.name), size + variant + stored, escape(types), where, registers))
        if rows:
            self.page.add(
                table(
                    ("operand", "fragment", "types", "held by", "registers a lane"),
                    rows,
                    numbers=(4,),
                    label="Operands",
                )
            )

    def _of(self, fragment: Fragment, form: Form) -> list[Operand]:
        """The operands of a form that have this fragment."""
        found = [
            op
            for op in getattr(form, "operands", {}).values()
            if isinstance(op, Operand) and op.name in fragment.names
        ]
        return [op for op in found if op.layout == fragment.op.layout or fragment.role == "Block scales"]

    def _said(self, group: Group, said: dict[str, Any]) -> list[tuple[str, str]]:
        ins = group.example
        found: list[tuple[str, str]] = []
        if said.get("sparsity"):
            found.append(("sparsity", escape(said["sparsity"])))
        if said.get("selectors"):
            found.append(("selectors", ", ".join(code(value) for value in said["selectors"])))
        for name, values in (said.get("modifiers") or {}).items():
            means = about.MODIFIERS.get(name, "")
            found.append(
                (
                    code(name),
                    " or ".join(code(value) for value in values) + (f": {escape(means)}" if means else ""),
                )
            )
        address_lanes = _speakers(getattr(ins, "address_lanes", ()))
        if address_lanes:
            found.append(("addresses", address_lanes))
        sets = Counter(tuple(form.targets) for form in group.forms)
        for on, count in sets.items():
            of = f" ({count} of the forms)" if len(sets) > 1 else ""
            found.append(("targets", f'{escape(targets(on))}{of}<span class="chips">{_chips(on)}</span>'))
        evidence = said.get("arithmetic") or ()
        if evidence:
            found.append(
                ("arithmetic", f"{'<br>'.join(map(escape, evidence))} ({link('models', 'models.html')})")
            )
        found.append(("machine code", chips.fact(self.family, group)))
        for name, value in said.items():
            if name not in _TOLD and name not in _CODE and value:
                found.append(
                    (
                        escape(name),
                        escape(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)),
                    )
                )
        found.append(("on the command line", code(f"ptxlab show {ins.mnemonic}")))
        return found

    # -- fragments ------------------------------------------------------------------------------------------------------------

    def _fragment(self, fragment: Fragment) -> None:
        page, op = self.page, fragment.op
        anchor = self.anchors[id(fragment)]
        kinds = ", ".join(fragment.types)
        if fragment.role == "Metadata E":
            kinds = "; ".join(f"{group.shape} {', '.join(group.inputs)}" for group in fragment.users)
        space = "" if op.layout else " in shared memory"
        variant = f" {code(fragment.variant)}" if fragment.variant else ""
        page.head(
            3,
            f"{escape(fragment.name)} {op.shape[0]}x{op.shape[1]}{variant}{space} <small>{escape(kinds)}</small>",
            anchor,
        )
        used = ", ".join(link(escape(group.title), f"#{group.anchor}") for group in fragment.users)
        page.add(f'<p class="used">Used by {used}.</p>')
        if fragment.role == "Metadata E":
            self._metadata(fragment)
        elif fragment.role == "Block scales":
            self._scales(fragment)
        elif op.layout is None:
            self._tile(fragment)
        else:
            self._held(fragment)

    def _held(self, fragment: Fragment) -> None:
        page, ins, op = self.page, fragment.ins, fragment.op
        warp = 0 if op.lanes > 32 else None
        picture = self.attempt(f"picture of {op.name}", lambda: describe.fragment(ins, op.name, warp=warp))
        page.add('<div class="beside">')
        if picture:
            page.add(figure(picture, _caption(op, fragment, warp)))
        if fragment.role == "A" and getattr(ins, "sparse", False):
            dense = self.attempt("dense A", lambda: describe.fragment(ins, "A", dense=True, warp=warp))
            if dense:
                said = f"The same A as it is meant, {ins.m}x{ins.k}: a cell is a chunk, named by the lane and the stored elements it becomes."
                page.add(details("A as it is meant", figure(dense, said)))
        page.add("<div>")
        if op.layout is not None:
            self._map(fragment, op.layout)
        for packing, (_, variant) in fragment.widths.items():
            page.add(_register_table(variant, fragment.kinds[packing]))
        page.add("</div></div>")

    def _map(self, fragment: Fragment, layout: Layout) -> None:
        formula = self.attempt("formula", layout.formula)
        if formula:
            self.page.add(pre(formula, "Row and column by lane and element"))
        self.page.add(f'<p class="cute">CuTe: {code(layout.cute)} {escape(layout.signature)}</p>')
        same = _same_for(fragment, formula) if formula else ""
        if same:
            self.page.add(f"<p>{same}</p>")

    def _metadata(self, fragment: Fragment) -> None:
        page, ins, op = self.page, fragment.ins, fragment.op
        warp = 0 if op.lanes > 32 else None
        for selector in ins.selectors:
            picture = self.attempt("metadata", partial(describe.metadata, ins, selector=selector, warp=warp))
            if picture:
                drawn = figure(picture)
                page.add(drawn if selector == ins.selectors[0] else details(f"Selector {selector}", drawn))
        if op.layout is not None:
            self._map(fragment, op.layout)

    def _nibbles(self) -> None:
        """The legal nibbles of every sparsity in the family, in one table."""
        structures = list(
            dict.fromkeys(ins.structure for ins in self.forms if getattr(ins, "structure", None))
        )
        orders = [
            ordered for ordered in (True, False) if any(ins.metadata_ordered is ordered for ins in self.forms)
        ]
        for structure in structures:
            units = "pairs" if structure.group == 2 else "values"
            said = f"{structure.title}: of every {structure.groups} {units} in a row of A at most {structure.keep} may be non-zero."
            self.page.add(f"<p>{escape(said)}</p>")
        self.page.add(
            "<p>A nibble is two 2-bit indices, the first in the low bits. What each keeps of its chunk, and where it is legal:</p>"
        )
        rows = []
        for nibble in sorted({nibble for structure in structures for nibble in structure.unordered}):
            kept = [
                ", ".join(_span(g * it.group, it.group) for g in it.unordered.get(nibble, ())) or "-"
                for it in structures
            ]
            strict = any(nibble in it.nibbles for it in structures)
            rows.append(
                (code(f"0b{nibble:04b}"), *kept, *(_yes(strict or not ordered) for ordered in orders))
            )
        heads = ("nibble", *(f"{escape(it.title)} keeps columns" for it in structures))
        spelt = {True: code(".sp::ordered_metadata"), False: code(".sp")}
        self.page.add(table((*heads, *(spelt[ordered] for ordered in orders)), rows, label="Legal nibbles"))

    def _scales(self, fragment: Fragment) -> None:
        picture = self.attempt("scales", lambda: describe.scales(fragment.ins))
        if picture:
            self.page.add(figure(picture))
        for op in (fragment.ins.scale_a, fragment.ins.scale_b):
            self.page.add(
                f'<p class="cute">{escape(op.name)} in CuTe: {code(op.layout.cute)} {escape(op.layout.signature)}</p>'
            )

    def _tile(self, fragment: Fragment) -> None:
        first = True
        for swizzle in sorted(SWIZZLES):
            try:
                picture = describe.fragment(fragment.ins, fragment.op.name, swizzle=swizzle)
            except PtxlabError:  # rows longer than this swizzle is wide
                continue
            drawn = figure(picture)
            self.page.add(drawn if first else details(f"With a {swizzle}-byte swizzle", drawn))
            first = False
        if first:
            self.skipped.append(f"{self.family}: tile of {fragment.name}")


def _operand(form: Form, name: str) -> Operand | None:
    op = getattr(form, "operands", {}).get(name)
    return op if isinstance(op, Operand) else None


def _caption(op: Operand, fragment: Fragment, warp: int | None) -> str:
    said = [
        f"{fragment.name} {op.shape[0]}x{op.shape[1]}: a cell is a run of neighbours in one lane, T&lt;lane&gt;:{{elements}}"
    ]
    if warp is not None:
        said.append(
            f"the rows of warp 0; the other {op.lanes // 32 - 1} warps hold the next rows in the same way"
        )
    if getattr(fragment.ins, "address_lanes", ()):
        said.append("row r is the row in memory whose address lane r gives")
    if op.layout is not None and op.layout.copies > 1:
        said.append(f"every element is held {op.layout.copies} times, the figure shows the first holder")
    return "; ".join(said) + "."


def _same_for(fragment: Fragment, formula: str) -> str:
    """For which further N the formula holds, found by asking every one."""
    name = fragment.names[0]
    holds: set[int] = set()
    fails: set[int] = set()
    for group in fragment.users:
        for ins in group.forms if group.sizes else ():
            op = _operand(ins, name)
            if op is not None and op.layout is not None:
                (holds if op.layout.formula() == formula else fails).add(ins.n)
    if not holds | fails:
        return ""
    shown = fragment.users[0].samples[0].n
    said = f"Shown with N = {shown}; the formula is the same for N = {_sizes(sorted(holds))}"
    return said + (f", and shorter for N = {_sizes(sorted(fails))}." if fails else ".")


def _register_table(op: Operand, kinds: Sequence[str]) -> str:
    lanes = range(min(4, op.lanes))
    rows = []
    for register in range(min(op.registers, _SHOWN_REGISTERS)):
        held = [list(op.holds(lane, register)) for lane in lanes]
        places = [place for place, _, _ in held[0]]
        names = [f"{op.name.lower()}{place.element}" for place in places]
        spans = [_bits(place.low, place.high) for place in places]
        shown = spans if len(spans) <= 2 else [spans[0], spans[1], "…", spans[-1]]
        row = [str(register), names[0] if len(names) == 1 else f"{names[0]}..{names[-1]}", " ".join(shown)]
        rows.append([*row, *(code(_coordinates(op.name, [(r, c) for _, r, c in places])) for places in held)])
    left = op.registers - _SHOWN_REGISTERS
    more = f" The other {left} registers go on in the same way." if left > 0 else ""
    wide = (
        f"{op.registers} register{'s' * (op.registers != 1)} of {op.register_bits} bits a lane"
        + _container(op)
    )
    head = f'<p class="registers">{escape(", ".join(kinds))}: {wide}.{more}</p>'
    heads = (
        "register",
        "elements",
        "bits",
        *(f'<span class="lane l{lane}">lane {lane}</span>' for lane in lanes),
    )
    return head + table(
        heads, rows, numbers=(0,), label=f"Registers of lanes 0 to {lanes[-1]}", style="small"
    )


def _container(op: Operand) -> str:
    """Where elements are narrower than the room they have: which bits of it they take."""
    if op.layout is None or op.layout.elements < 2 or op.place(0, 1).register != op.place(0, 0).register:
        return ""
    first, second = op.place(0, 0), op.place(0, 1)
    room = second.low - first.low
    return "" if room == op.dtype.bits else f", each element in bits {_bits(first.low, first.high)} of {room}"


def _coordinates(name: str, at: list[tuple[int, int]]) -> str:
    """``A[0][0..7]``: neighbours along a row or a column together."""
    runs: list[list[tuple[int, int]]] = []
    for row, column in at:
        last = runs[-1] if runs else []
        along = (row - last[-1][0], column - last[-1][1]) if last else ()
        if along in ((0, 1), (1, 0)) and (
            len(last) < 2 or along == (last[1][0] - last[0][0], last[1][1] - last[0][1])
        ):
            last.append((row, column))
        else:
            runs.append([(row, column)])
    said = [f"{name}[{_range(run[0][0], run[-1][0])}][{_range(run[0][1], run[-1][1])}]" for run in runs]
    return ", ".join(said if len(said) <= 4 else [*said[:2], "…", said[-1]])


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}..{last}"


def _span(first: int, size: int) -> str:
    return _range(first, first + size - 1)


def _bits(low: int, high: int) -> str:
    return f"[{high}]" if low == high else f"[{high}..{low}]"


def _sizes(sizes: Sequence[int]) -> str:
    """``8, 16, .., 256`` where steps are even, else in runs of even steps."""
    if len(sizes) < 4:
        return ", ".join(map(str, sizes))
    step = sizes[1] - sizes[0]
    at = next((i for i in range(1, len(sizes)) if sizes[i] - sizes[i - 1] != step), len(sizes))
    head = f"{sizes[0]}, {sizes[1]}, …, {sizes[at - 1]}" if at > 3 else ", ".join(map(str, sizes[:at]))
    return head if at == len(sizes) else f"{head}, {_sizes(sizes[at:])}"


def _speakers(found: Sequence[Any]) -> str:
    """Which lanes supply the addresses of which rows."""
    by_matrix: dict[int, list[int]] = {}
    for speaker in found:
        by_matrix.setdefault(speaker.matrix, []).append(speaker.lane)
    said = [
        f"lanes {_range(lanes[0], lanes[-1])} give the rows of matrix {matrix}"
        for matrix, lanes in by_matrix.items()
    ]
    return escape("; ".join(said))


def _yes(legal: bool) -> str:
    return "legal" if legal else '<span class="no">illegal</span>'


def _chips(found: Sequence[str]) -> str:
    return "".join(
        f'<span class="chip{"" if target in found else " no"}">{target}</span>' for target in TARGETS
    )
