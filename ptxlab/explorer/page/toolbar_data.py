"""The data of the toolbar: chips, fills, modifiers, how values are shown, and the current choices.

`front/toolbar/` draws it and declares its buttons. The message of a button that changes operands is in
`edits.py`, any other in `session.py`.
"""

from __future__ import annotations

from typing import Any

from ... import gpu
from ...isa.targets import GENERATIONS
from ..documents.fills import patterns
from ..documents.masks import mask_text
from ..documents.product_document import GPU, NO_CHIP
from ..documents.transfer_document import PATTERNS, TransferDocument
from ..state import ExplorerState

#: The groups of the menu, which a notebook may ask for on the bar.
TOOLS = ("fill", "modifiers", "compare", "show", "zoom", "gpu", "quiz", "copy")

#: Controls of how values are shown, by the value of the page that each sets.
DISPLAY_CONTROLS: dict[str, dict[str, Any]] = {
    "label": {
        "label": "Show",
        "hint": "What each cell shows: its value, its code, or the lane and element that hold it",
        "options": [["value", "value"], ["hex code", "hex"], ["binary", "binary"], ["lane·element", "lane"]],
    },
    "colour_by": {
        "label": "Colour by",
        "hint": "What the colours mean",
        "options": [
            ["lane", "lane"],
            ["register", "register"],
            ["warp", "warp"],
            ["core matrix", "core matrix"],
            ["bank", "bank"],
            ["value", "value"],
            ["none", "nothing"],
        ],
    },
    "zoom": {
        "label": "Zoom",
        "hint": "From the whole scene to single bits (Ctrl + mouse wheel, two fingers, or Alt + and Alt -)",
        "range": {"min": 50, "max": 400, "step": 25},  # older links have less than 100, for the whole scene
    },
}


def toolbar(
    state: ExplorerState, chips: tuple[str, ...], working: str = "", gpu_time: str = ""
) -> dict[str, Any]:
    """Everything in the toolbar: chips, fill patterns, modifiers, undo, and the current choices.

    `working` is what the GPU is doing now, `gpu_time` how long its last run took.
    """
    chip, against = state.chips
    data: dict[str, Any] = {
        "controls": [],
        "chips": [],
        "chip": chip,
        "against": against,
        "patterns": {},
        "options": [],
        "undo": bool(state.history.past),
        "redo": bool(state.history.future),
        "gpu": {"available": False, "status": "", "busy": False},
    }
    document = state.document
    if isinstance(document, TransferDocument):  # the rest is for instructions that multiply
        return data | {"patterns": {name: list(PATTERNS) for name in document.inputs}}
    ins, matrices = document.ins, document.operation
    fill_patterns = {name: list(patterns(name, matrices.operand(name).dtype)) for name in matrices.names}
    gpu_available = GPU in chips
    gpu_status = working or (gpu_time if gpu_available else "") or gpu.status(ins)
    options: list[dict[str, Any]] = []
    for name, value in document.options.items():
        legal = ins.modifiers.get(name, ())  # of a mask there are too many: it is a text
        choices = [[str(choice).lower(), choice] for choice in legal]
        options.append(
            {
                "name": name,
                "label": name.replace("_", "-"),
                "hint": _OPTION_HINTS.get(name, f"The instruction's {name.replace('_', '-')}"),
                **({"choices": choices, "value": value} if legal else {"value": mask_text(name, value)}),
            }
        )
    return data | {
        "controls": [{"trait": trait, **control} for trait, control in DISPLAY_CONTROLS.items()],
        "chips": [[_chip_label(chip), chip] for chip in chips or (NO_CHIP,)],
        "patterns": {name: allowed for name, allowed in fill_patterns.items() if allowed},
        "options": options,
        "gpu": {"available": gpu_available, "status": gpu_status, "busy": bool(working)},
    }


def _chip_label(chip: str) -> str:
    generation = GENERATIONS.get(chip)
    return f"{chip} {generation}" if generation else chip or "no model"


_OPTION_HINTS = {
    "selector": "Sparsity selector: which lanes of each group of four supply the metadata",
    "scale_d": "scale-d: false leaves out what D held before, so that D = A * B",
    "imm_scale_a": "imm-scale-a: -1 negates A",
    "imm_scale_b": "imm-scale-b: -1 negates B",
    "imm_trans_a": "imm-trans-a: 1 if A is stored in shared memory with m, not k, contiguous",
    "imm_trans_b": "imm-trans-b: 1 if B is stored in shared memory with n, not k, contiguous",
    "byte_id_a": "byte-id-a: which byte of a register holds the scale factors of A",
    "byte_id_b": "byte-id-b: which byte of a register holds the scale factors of B",
    "thread_id_a": "thread-id-a: which lanes of each group of four hold the scale factors of A",
    "enable_input_d": "enable-input-d: false leaves out what D held before, so that D = A * B",
    "scale_input_d": "scale-input-d: what D held before is divided by 2 to the power of this",
    "disable_output_lane": "disable-output-lane: lanes of D that stay as they were, such as 0..15, 32",
    "zero_column_mask": "zero-column-mask-desc: columns of B that count as zeros, such as use 4, skip 3",
    "thread_id_b": "thread-id-b: which lanes of each group of four hold the scale factors of B",
}
