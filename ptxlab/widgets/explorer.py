"""The explorer: ipywidgets controls around one view that draws the product and sends back what is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from .. import describe, gpu
from ..arithmetic import ARCHITECTURES
from ..catalog import PRODUCTS, products
from ..errors import PtxlabError, listing
from ..instruction import Instruction
from ..mnemonic import instruction
from .bench import GPU, Bench
from .history import History
from .link import is_link, opened, shared
from .live import Live, Registers, edit_of, equal, frozen, matrix, place
from .recipe import code
from .still import save
from .view import MATRICES, View
from .walk import walk
from .wire import about, compared, drawn, held, identical, made_of, wire

__all__ = ["Explorer", "View"]

_LIVE = {"A": "A", "B": "B", "C": "C", "D": "D", "metadata": "E", "scale_a": "SFA", "scale_b": "SFB"}  # traits, and the matrices they show


class Explorer(ipywidgets.VBox):  # type: ignore[misc]
    """Edit A, B, C or the registers of a lane; D follows. Get one with ``ptxlab.explore(ins)``.

    Everything on the screen can be read and written from the next cell: ``ex.A``, ``ex.B``, ``ex.C``, ``ex.metadata``,
    ``ex.registers["A"]``, ``ex.selection``; ``ex.D`` can be read. Whole matrices are assigned; the arrays that are read are copies.
    All of these are traits: ``ex.observe(handler, "D")`` calls the handler with the old and the new D whenever it changes.

    >>> ex = Explorer("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ex.A, ex.B = np.zeros((16, 64)), np.ones((64, 8))
    >>> ex.change(lambda bench: bench.set_register("A", 0, 0, "0x77777777"))
    >>> ex.D[:2, 0].tolist()   # 8 * 7 in row 0
    [56, 0]
    >>> ex.observe(lambda change: print(change.name, change.old[0, 0], "->", change.new[0, 0]), "D")
    >>> ex.undo()
    D 56 -> 0
    >>> ex.selection = "D", 0, 0
    """

    A = matrix("A", "Values of A; the dense matrix for sparse instructions, which must have their structure.")
    B = matrix("B", "Values of B.")
    C = matrix("C", "Values of C.")
    metadata = matrix("E", "The metadata nibbles of a sparse instruction, [rows, chunks].")
    scale_a = matrix("SFA", "Block scales of A.")
    scale_b = matrix("SFB", "Block scales of B.")
    D = matrix("D", "Values of the result; it can be read and observed.")
    registers = Live(lambda ex: ex._registers, lambda ex, given: ex._registers.write(given), 'Registers by operand: ``ex.registers["A"]``.')
    selection = Live(lambda ex: dict(ex.view.selected), lambda ex, given: ex._select(given), 'The chosen cell; assign ``("D", 9, 3)`` to choose one.')

    def __init__(
        self, ins: Instruction | str, *, A: ArrayLike | None = None, B: ArrayLike | None = None, C: ArrayLike | None = None, seed: int = 0
    ) -> None:
        self.bench, look = opened(ins) if isinstance(ins, str) and is_link(ins) else (Bench(instruction(ins), seed), {})
        for name, given in (("A", A), ("B", B), ("C", C)):
            if given is not None:
                self.bench.set_values(name, given)
        self.bench.history = History()
        self._registers = Registers(self)
        self._sent: dict[str, tuple[Any, ...]] = {}  # what each matrix on the screen was made of
        self._known: dict[str, Any] = {"selection": {}}  # what observers were told last
        self.view = View()
        self._seed, self._quiet = seed, False
        self._why: tuple[int, int] | None = None
        self._make_controls()
        super().__init__([self._picker, self._tools, self._running, self.view])
        self.view.on_msg(self._on_message)
        self.view.observe(lambda _: self._show_lane(), "lane")
        self.view.observe(self._on_selected, "selected")
        self.view.observe(lambda _: self._explain(), "tracing")
        self._show_instruction()
        self._wear(look)

    # -- from the next cell -------------------------------------------------------------------------------------------

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Cells of D where the chip and the one it is compared with differ; all False where it is compared with none."""
        return self.bench.result().differ

    @property
    def chip(self) -> str:
        """The chip whose D is shown, such as "sm_90", or "GPU"; assign another that has the instruction."""
        return self.bench.chip

    @chip.setter
    def chip(self, chip: str) -> None:
        self._set_chips(chip, self.bench.against)

    @property
    def against(self) -> str | None:
        """The chip, or "GPU", that D is compared with; None for none."""
        return self.bench.against

    @against.setter
    def against(self, chip: str | None) -> None:
        self._set_chips(self.bench.chip, chip)

    @property
    def instruction(self) -> Instruction:
        """The instruction on the bench; assign another to change it. Matrices that fit it stay."""
        return self.bench.ins

    @instruction.setter
    def instruction(self, ins: Instruction | str) -> None:
        old, self.bench = self.bench, Bench(instruction(ins), self._seed)
        for name in ("A", "B", "C"):
            try:
                self.bench.set_values(name, old.values(name))
            except PtxlabError:
                continue
        self.bench.history = History()
        if old.chip != old.chips[0] and old.chip in self._chips():
            self.bench.chip = old.chip
        self.bench.against = old.against if old.against in self._chips() else None
        self.view.problem = ""
        self._show_instruction()

    @property
    def lane(self) -> int:
        """The chosen lane."""
        return int(self.view.lane)

    @lane.setter
    def lane(self, lane: int) -> None:
        if not 0 <= lane < self.instruction.lanes:
            raise PtxlabError(f"lane {lane} does not exist; lanes go from 0 to {self.instruction.lanes - 1}")
        self.view.lane = lane

    def change(self, edit: Callable[[Bench], None]) -> None:
        """Edit the bench and show it; a refused edit raises and changes nothing."""
        with self.bench.step():
            edit(self.bench)
        self.view.problem = ""
        self._push()

    def undo(self) -> None:
        """Take back the last edit, if there is one."""
        self._try(self.bench.undo)

    def redo(self) -> None:
        """Take back the last undo, if there is one."""
        self._try(self.bench.redo)

    def code(self) -> str:
        """Python that gives the D on the screen, without a notebook: ``exec(ex.code())``."""
        return code(self.bench)

    @property
    def link(self) -> str:
        """All of it as a text to send to somebody: ``ptxlab.explore(link)`` opens it again."""
        return shared(self.bench, {name: getattr(self.view, name) for name in ("lane", "selected", *self.linked)})

    def _wear(self, look: Mapping[str, Any]) -> None:
        """Look as a link says."""
        for name, value in look.items():
            if name not in ("lane", "selected", *self.linked) or not self.view.takes(name, value):
                raise PtxlabError(f"this link asks for {name}={value!r:.60}, which the explorer does not know")
            setattr(self.view, name, value)

    def _select(self, given: Any) -> None:
        self.view.selected = place(given, {name: self.bench.operand(name).shape for name in self.bench.names})

    def _chips(self) -> tuple[str, ...]:
        return (*self.bench.chips, GPU) if gpu.available(self.instruction) else self.bench.chips

    def _set_chips(self, chip: str, against: str | None) -> None:
        for found in (chip, *([] if against is None else [against])):
            if found not in self._chips():
                raise PtxlabError(f"found chip {found!r:.40}; {self.instruction.mnemonic} takes {listing(self._chips())}")
        self.bench.chip, self.bench.against = chip, against
        self.view.problem = ""
        self._push()

    def save_html(self, path: str | Path, title: str = "") -> Path:
        """Write what is on the screen as one page that needs no kernel and no network: it is read, not edited.

        >>> import tempfile
        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ex.save_html(f"{folder}/m16n8k16.html").name
        'm16n8k16.html'
        """
        return save(self, path, title, self._reason, self._why or (0, 0))

    # -- from the screen ----------------------------------------------------------------------------------------------

    def _try(self, do: Callable[[], Any]) -> None:
        """Do what was asked for on the screen: the sentence of a refusal is shown there."""
        try:
            if do() is True:
                self.view.problem = ""
                self._push()
        except PtxlabError as error:
            self.view.problem = str(error)

    def _on_message(self, _: Any, message: Any, __: Any) -> None:
        found = edit_of(message)
        if found is None:
            return
        do, given = found
        if do in ("undo", "redo"):
            getattr(self, do)()
        else:
            self._try(lambda: self.change(lambda bench: getattr(bench, do)(*given)))

    def _on_selected(self, change: Any) -> None:
        if change.new.get("name") in self._target.options:
            self._target.value = change.new["name"]
        if change.new.get("name") == "D":
            self._why = int(change.new["row"]), int(change.new["column"])
            self._explain()
        self._tell("selection", dict(change.new))

    def _on_fill(self, _: Any) -> None:
        at, name = self.view.selected, self._target.value
        where = (int(at["row"]), int(at["column"])) if at.get("name") == name else (0, 0)
        self._try(lambda: self.change(lambda bench: bench.fill(name, self._fill.value, *where)))

    def _on_option(self, name: str, change: Any) -> None:
        self._try(lambda: self.change(lambda bench: bench.set_option(name, change.new)))
        self._show_options()

    def _show_options(self) -> None:
        def show() -> None:
            for name, choice in self._choices.items():
                choice.value = self.bench.options[name]

        self._quietly(show)

    def _show_chips(self) -> None:
        def show() -> None:
            named = [(f"{chip} ({ARCHITECTURES[chip]})" if chip in ARCHITECTURES else chip, chip) for chip in self._chips()]
            for control, options, value in (
                (self._chip, named, self.bench.chip),
                (self._against, [("nothing", ""), *named], self.bench.against or ""),
            ):
                if list(control.options) != options:
                    control.options = options
                control.value = value

        self._quietly(show)

    # -- controls -----------------------------------------------------------------------------------------------------

    def _make_controls(self) -> None:
        def drop(label: str, options: Any, width: int, what: str) -> Any:
            return ipywidgets.Dropdown(
                description=label, options=options, tooltip=what, layout={"width": f"{width}px"}, style={"description_width": "initial"}
            )

        self._family = drop("", PRODUCTS, 112, "Family of instructions")
        self._shape = drop("", (), 130, "Shape")
        self._form = drop("", (), 300, "Types and qualifiers")
        self._space = drop("A in", (("registers", "register"), ("shared memory", "shared")), 170, "Where A is read from")
        for picker, chosen in (
            (self._family, self._on_family),
            (self._shape, self._on_shape),
            (self._form, self._on_form),
            (self._space, self._on_form),
        ):
            picker.observe(self._unless_quiet(chosen), "value")
        self._picker = ipywidgets.HBox([self._family, self._shape, self._form, self._space])

        self._target = drop("Fill", (), 90, "Matrix to fill")
        self._fill = drop("with", (), 140, "What to fill it with")
        self._target.observe(self._unless_quiet(self._offer_fills), "value")
        go = ipywidgets.Button(description="Fill", tooltip="Fill the matrix", layout={"width": "56px"})
        go.on_click(self._on_fill)
        colours = drop("Colour by", ("lane", "register", "warp", "value", "nothing"), 160, "What the colours say")
        labels = drop(
            "Show", (("value", "value"), ("hex code", "hex"), ("binary", "binary"), ("lane·element", "lane")), 150, "What stands in the cells"
        )
        zoom = ipywidgets.IntSlider(
            100, 50, 400, 25, description="Zoom", readout_format="d", layout={"width": "230px"}, style={"description_width": "initial"}
        )
        show_c = ipywidgets.ToggleButton(
            False,
            description="show C",
            tooltip="Show the accumulator C, which is added to the product: its matrix and its registers",
            layout={"width": "72px"},
        )
        self.linked = {"label": labels, "colour_by": colours, "show_c": show_c, "zoom": zoom}  # what a saved page offers too
        self.view.controls = self.linked
        for trait, control in self.linked.items():
            traitlets.link((control, "value"), (self.view, trait))
        self._tools = ipywidgets.HBox([self._target, self._fill, go, labels, colours, show_c, zoom])

        self._undo = ipywidgets.Button(icon="undo", tooltip="Undo (Ctrl+Z)", layout={"width": "36px"})
        self._redo = ipywidgets.Button(icon="repeat", tooltip="Redo (Ctrl+Shift+Z)", layout={"width": "36px"})
        self._undo.on_click(lambda _: self.undo())
        self._redo.on_click(lambda _: self.redo())
        self._tools.children = (self._undo, self._redo, *self._tools.children)
        self._chip = drop("D by", (), 190, "The chip whose D is shown, or the GPU")
        self._against = drop("against", (), 200, "Another to compare it with: cells of D that differ are marked")
        for control in (self._chip, self._against):
            control.observe(self._unless_quiet(lambda: self._try(lambda: self._set_chips(self._chip.value, self._against.value or None))), "value")
        self._gpu_says = ipywidgets.Label(layout={"flex": "1 1 auto"})
        self._options = ipywidgets.HBox()
        self._running = ipywidgets.HBox([self._chip, self._against, self._options, self._gpu_says])
        for box in (self._picker, self._tools, self._running, self._options):
            box.layout.flex_flow = "row wrap"
            box.layout.align_items = "center"

    def _quietly(self, do: Callable[[], None]) -> None:
        self._quiet, before = True, self._quiet
        try:
            do()
        finally:
            self._quiet = before

    def _unless_quiet(self, handler: Callable[[], None]) -> Callable[[Any], None]:
        return lambda _: None if self._quiet else handler()

    def _on_family(self) -> None:
        self.instruction = products(self._family.value)[0]

    def _on_shape(self) -> None:
        rows = [ins for ins in products(self._family.value) if ins.shape == self._shape.value]
        now = _form(self.instruction)
        self.instruction = next((ins for ins in rows if _form(ins) == now), rows[0])

    def _on_form(self) -> None:
        ins = self._form.value
        self.instruction = ins.a_from(self._space.value) if ins.family.startswith("wgmma") else ins

    def _show_instruction(self) -> None:
        ins = self.instruction
        self._quietly(self._offer_instructions)
        self._gpu_says.value = gpu.status(ins)
        self._choices = {}
        for name, legal in ins.modifiers.items():
            if len(legal) > 1:
                choice = ipywidgets.Dropdown(
                    options=[(str(value).lower(), value) for value in legal], value=self.bench.options[name], description=name.replace("_", "-"),
                    layout={"width": f"{80 + 8 * len(name)}px"}, style={"description_width": "initial"},
                )  # fmt: skip
                choice.observe(lambda change, name=name: None if self._quiet else self._on_option(name, change), "value")
                self._choices[name] = choice
        self._options.children = tuple(self._choices.values())
        with self.view.hold_sync():
            self.view.lane = min(self.view.lane, ins.lanes - 1)
            self.view.selected, self._why = {}, None
            self._sent = {}
            self._push()

    def _offer_instructions(self) -> None:
        ins = self.instruction
        rows = products(ins.family)
        self._family.value = ins.family
        self._shape.options = list(dict.fromkeys(row.shape for row in rows))
        self._shape.value = ins.shape
        self._form.options = [(_form(row), row) for row in rows if row.shape == ins.shape]
        self._form.value = ins.a_from("register")
        self._space.value = ins.a_space
        self._space.layout.display = None if ins.family.startswith("wgmma") else "none"
        self._target.options = [name for name in self.bench.names if self.bench.fills(name)]
        self._target.value = "A"
        self._offer_fills()

    def _offer_fills(self) -> None:
        fills = self.bench.fills(self._target.value)
        if self._fill.options != fills:
            kept = self._fill.value
            self._fill.options = fills
            self._fill.value = kept if kept in fills else "random"

    # -- to the screen ------------------------------------------------------------------------------------------------

    def _push(self) -> None:
        """Send what changed, and only that."""
        bench, view = self.bench, self.view
        try:
            if bench.chip not in self._chips() or bench.against not in (None, *self._chips()):
                raise PtxlabError("the GPU is not there: D is by the emulator")
            result = bench.result()
        except PtxlabError as error:  # the GPU failed: say so and go back to the model
            bench.chip, bench.against = bench.chips[0], None
            view.problem, result = str(error), bench.result()
        self._show_chips()
        self._undo.disabled, self._redo.disabled = not bench.history.past, not bench.history.future
        made = made_of(bench, result)
        changed = [name for name, parts in made.items() if not identical(parts, self._sent.get(name))]
        before, self._sent = self._sent, made
        with view.hold_sync():
            if before.get("about") is None or "about" in changed:
                self._show_options()
                view.about = about(bench)
            for name in MATRICES:
                if name in changed:
                    setattr(view, name, compared(bench, result) if name == "D" else wire(bench, name))
            self._show_lane()
            self._explain()
        for trait, name in _LIVE.items():
            if name in changed:
                self._tell(trait, getattr(self, trait) if name in bench.names else None)
        if not identical(tuple(bench.state.held.values()), tuple(self._known.get("registers", {}).values())):
            self._tell("registers", bench.state.held)

    def _show_lane(self) -> None:
        self.view.held = held(self.bench, self.view.lane)

    def _tell(self, name: str, new: Any) -> None:
        """Tell those who observe a trait of ours, if it changed."""
        first, old = name not in self._known, self._known.get(name)
        self._known[name] = new
        if name == "registers":
            old, new = ({each: frozen(registers) for each, registers in (old or {}).items()}, self._registers)
        elif equal(old, new):
            return
        if not first:
            self.notify_change(traitlets.Bunch(name=name, old=old, new=new, owner=self, type="change"))

    def _explain(self) -> None:
        """Show why the cell of D that was chosen last has its bits, where anybody looks."""
        self.view.trace = {} if self._why is None else self._reason(*self._why, picture=self.view.tracing)

    def _reason(self, row: int, column: int, *, picture: bool) -> dict[str, Any]:
        found = self.bench.trace(row, column)
        sent: dict[str, Any] = {"row": row, "column": column, "walk": walk(self.bench.ins, found)}
        if picture:
            given = int(self.bench.result().codes[row, column])
            note = "" if given == found.code else f"the GPU gave 0x{given:x}, this is the emulator"
            sent |= drawn(describe.trace(found, note))
        return sent


def _form(ins: Instruction) -> str:
    """What tells the rows of one family and shape apart: ``s32.s4.s4.s32 .satfinite``."""
    return ins.mnemonic.split(ins.shape)[-1].replace(".row.col", "").removeprefix(".") + _prefix(ins)


def _prefix(ins: Instruction) -> str:
    said = [f".{ins.bit_op}.popc"] if ins.bit_op else []
    return "".join([f"  {word}" for word in said + [".sp::ordered_metadata"] * ins.ordered])
