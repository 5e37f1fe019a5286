"""Two launches whose bits differ, in a notebook: the sentence, and both trees to open node by node."""

from __future__ import annotations

import html

from ..errors import listing
from ..simulator.history.compare import Comparison, DrawnOperation, Tree, short_opcode
from .palette import DARK, DARK_PAGES, HUES, LIGHT, Theme, mix

_CSS = """
.ptx-trees { color: var(--ink); font: 13px/1.5 system-ui, sans-serif; }
.ptx-trees > p { margin: 0 0 8px; max-width: 60em; }
.ptx-trees .sides { display: flex; flex-wrap: wrap; gap: 16px; }
.ptx-trees section { flex: 1 1 340px; min-width: 0; padding: 8px 12px;
  border: 1px solid var(--rule); border-radius: 6px; }
.ptx-trees h4 { margin: 0 0 4px; font-size: 14px; }
.ptx-trees ol { list-style: none; margin: 0; padding: 0; }
.ptx-trees ol > li { margin: 0; padding: 1px 0 1px 10px; border-left: 3px solid var(--path); }
.ptx-trees ol > li.first { background: var(--mark); border-radius: 0 4px 4px 0; }
.ptx-trees details details, .ptx-trees .leaf { margin-left: 8px; padding-left: 8px;
  border-left: 1px solid var(--rule); }
.ptx-trees summary { cursor: pointer; min-height: 24px; }
.ptx-trees code { font: 12px/1.5 ui-monospace, monospace; background: none; color: inherit; }
.ptx-trees .value { font-variant-numeric: tabular-nums; font-weight: 600; margin-left: 6px; }
.ptx-trees .dim { color: var(--dim); }
.ptx-trees .why { overflow-x: auto; }
"""


def _colours(theme: Theme) -> str:
    rules = {
        "ink": theme.ink,
        "dim": theme.dim,
        "rule": mix(theme.ink, 0.2, theme.paper),
        "path": HUES["blue"] if theme is LIGHT else HUES["sky"],
        "mark": mix(HUES["orange"], 0.35 if theme is LIGHT else 0.4, theme.paper),
    }
    return " ".join(f"--{name}: {colour};" for name, colour in rules.items())


def comparison_html(comparison: Comparison) -> str:
    """The sentence, and the two trees beside each other; equal trees need the sentence only."""
    dark = f":is({DARK_PAGES}) .ptx-trees"
    style = f"<style>.ptx-trees {{ {_colours(LIGHT)} }} {dark} {{ {_colours(DARK)} }} {_CSS}</style>"
    text = f"<p>{html.escape(comparison.sentence)}</p>"
    if comparison.trees is None or comparison.drawn is None or comparison.values is None:
        return f'{style}<div class="ptx-trees">{text}</div>'
    count = f"{comparison.other_bits:,} of {comparison.elements:,} elements have other bits"
    place = "".join(f"[{number}]" for number in comparison.element or ())
    text = f"<p><b>{count}.</b> The first is {place}. {html.escape(comparison.sentence)}</p>"
    sides = [_side(comparison, side) for side in range(2)]
    return f'{style}<div class="ptx-trees">{text}<div class="sides">{"".join(sides)}</div></div>'


def _side(comparison: Comparison, side: int) -> str:
    assert comparison.trees is not None
    assert comparison.drawn is not None
    assert comparison.values is not None
    tree, drawn = comparison.trees[side], comparison.drawn[side]
    heading = f"{html.escape(comparison.titles[side])}: {html.escape(comparison.values[side])}"
    rows = []
    for number, operation in enumerate(drawn):
        if operation is None:
            rows.append(f'<li class="dim">{len(tree.path) - len(drawn) + 1:,} more operations</li>')
        else:
            mark = ' class="first"' if not number else ""
            note = "" if number else "<b>The first that the other launch has not</b>"
            rows.append(f"<li{mark}>{note}{_node(operation, opened=not number)}</li>")
    why = ""
    if comparison.products[side] is not None:
        picture = comparison.trace(side)._repr_html_()
        why = (
            "<details><summary>Why? The bits of the first with another result</summary>"
            f'<div class="why">{picture}</div></details>'
        )
    return f"<section><h4>{heading}</h4>{_facts(tree)}<ol>{''.join(rows)}</ol>{why}</section>"


def _facts(tree: Tree) -> str:
    made = [f"{count:,} {short_opcode(opcode)}" for opcode, count in tree.counts.items()]
    facts = [f"{html.escape(listing(made, 4))}, at most {tree.depth:,} one after another"]
    if tree.error is not None:
        facts.append(f"Error: {_units(tree.error)}.")
    others = [f"{words} {error:+.3g}" for words, error in tree.other_orders.items()]
    if others:
        facts.append(f"The same terms added in float32 {'; '.join(others)}.")
    return f'<p class="dim">{"<br>".join(facts)}</p>'


def _units(amount: float) -> str:
    return f"{amount:+.3g} units in the last place"


def _node(operation: DrawnOperation, opened: bool = False) -> str:
    """An operation that opens; an element of an array is a line."""
    value = ""
    if operation.value != operation.title:
        value = f'<span class="value">{html.escape(operation.value)}</span>'
    title = f"<code>{html.escape(operation.title)}</code> {value}"
    notes = [html.escape(operation.where)] if operation.where else []
    if operation.rounded:
        notes.append(f"rounding {operation.rounded:+.3g}")
    if notes:
        title += f' <span class="dim">{", ".join(notes)}</span>'
    if not operation.operands and not operation.others:
        return f'<div class="leaf">{title}</div>'
    below = [_node(operand) for operand in operation.operands]
    if operation.others:
        below.append(f'<div class="leaf dim">{operation.others:,} more</div>')
    mark = " open" if opened else ""
    return f"<details{mark}><summary>{title}</summary>{''.join(below)}</details>"
