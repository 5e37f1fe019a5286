"""The explorer: ipywidgets controls around one view that draws the product and sends back what is typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from .. import describe, gpu
from ..catalog import PRODUCTS, products
from ..errors import PtxlabError
from ..instruction import Instruction
from ..mnemonic import instruction
from .bench import Bench
from .module import script, style
from .wire import about, drawn, wire

__all__ = ["Explorer", "View"]

_MATRICES = ("A", "stored", "B", "C", "D", "E", "SFA", "SFB")


class View(anywidget.AnyWidget):
    """What the browser draws. Matrices travel as bytes; `about` (sizes, types, lane maps) once for each instruction."""

    _esm = script()
    _css = style()

    about = traitlets.Dict().tag(sync=True)
    A = traitlets.Dict().tag(sync=True)
    stored = traitlets.Dict().tag(sync=True)
    B = traitlets.Dict().tag(sync=True)
    C = traitlets.Dict().tag(sync=True)
    D = traitlets.Dict().tag(sync=True)
    E = traitlets.Dict().tag(sync=True)
    SFA = traitlets.Dict().tag(sync=True)
    SFB = traitlets.Dict().tag(sync=True)
    held = traitlets.Dict().tag(sync=True)  # registers of the chosen lane
    lane = traitlets.Int(0).tag(sync=True)
    selected = traitlets.Dict().tag(sync=True)  # {name, row, column}
    colour_by = traitlets.Unicode("lane").tag(sync=True)
    show_c = traitlets.Bool(False).tag(sync=True)
    zoom = traitlets.Int(100).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    tracing = traitlets.Bool(False).tag(sync=True)  # whether the panel below says why a cell of D has its bits
    trace = traitlets.Dict().tag(sync=True)  # for the cell of D that was chosen last: {row, column}, and where `tracing` the picture


class _Registers(Mapping[str, NDArray[Any]]):
    """``ex.registers["A"]``: read and write, uint32 [lanes, registers]."""

    def __init__(self, owner: Explorer) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> NDArray[Any]:
        return _frozen(self._owner.bench.registers(name))

    def __setitem__(self, name: str, registers: ArrayLike) -> None:
        self._owner.change(lambda bench: bench.set_registers(name, registers))

    def __iter__(self) -> Iterator[str]:
        return iter(self._owner.instruction.operands)

    def __len__(self) -> int:
        return len(self._owner.instruction.operands)


def _matrix(name: str, doc: str) -> Any:
    def read(self: Explorer) -> NDArray[Any]:
        return _frozen(self.bench.codes(name) if name == "E" else self.bench.values(name))

    def write(self: Explorer, matrix: ArrayLike) -> None:
        self.change(lambda bench: bench.set_values(name, matrix))

    return property(read, write, doc=doc)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written, so that ``ex.A[0, 0] = 1`` fails instead of changing nothing."""
    array = array.copy()
    array.flags.writeable = False
    return array


class Explorer(ipywidgets.VBox):  # type: ignore[misc]
    """Edit A, B, C or the registers of a lane; D follows. Get one with ``ptxlab.explore(ins)``.

    Everything on the screen can be read and written from the next cell: ``ex.A``, ``ex.B``, ``ex.C``, ``ex.metadata``,
    ``ex.registers["A"]``; ``ex.D`` can be read. Whole matrices are assigned; the arrays that are read are copies.

    >>> ex = Explorer("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ex.A, ex.B = np.zeros((16, 64)), np.ones((64, 8))
    >>> ex.change(lambda bench: bench.set_register("A", 0, 0, "0x77777777"))
    >>> ex.D[:2, 0].tolist()   # 8 * 7 in row 0
    [56, 0]
    """

    A = _matrix("A", "Values of A; the dense matrix for sparse instructions, which must have their structure.")
    B = _matrix("B", "Values of B.")
    C = _matrix("C", "Values of C.")
    metadata = _matrix("E", "The metadata nibbles of a sparse instruction, [rows, chunks].")
    scale_a = _matrix("SFA", "Block scales of A.")
    scale_b = _matrix("SFB", "Block scales of B.")

    def __init__(
        self, ins: Instruction | str, *, A: ArrayLike | None = None, B: ArrayLike | None = None, C: ArrayLike | None = None, seed: int = 0
    ) -> None:
        self.bench = Bench(instruction(ins), seed)
        for name, matrix in (("A", A), ("B", B), ("C", C)):
            if matrix is not None:
                self.bench.set_values(name, matrix)
        self.registers = _Registers(self)
        self.view = View()
        self._seed, self._quiet = seed, False
        self._why: tuple[int, int] | None = None
        self._make_controls()
        super().__init__([self._picker, self._tools, self._running, self.view])
        self.view.on_msg(self._on_message)
        self.view.observe(lambda _: self._push(), "lane")
        self.view.observe(self._on_selected, "selected")
        self.view.observe(lambda _: self._explain(), "tracing")
        self._show_instruction()

    # -- from the next cell -------------------------------------------------------------------------------------------

    @property
    def D(self) -> NDArray[Any]:
        """Values of the result."""
        operand = self.bench.operand("D")
        return _frozen(operand.dtype.decode(self.bench.result(self._on.value).codes))

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Cells of D where emulator and GPU differ; all False unless both are on."""
        return self.bench.result(self._on.value).differ

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
        edit(self.bench)
        self.view.problem = ""
        self._push()

    # -- from the screen ----------------------------------------------------------------------------------------------

    def _try(self, edit: Callable[[Bench], None]) -> None:
        """As `change`, for edits made on the screen: the sentence of a refusal is shown there."""
        try:
            self.change(edit)
        except PtxlabError as error:
            self.view.problem = str(error)

    def _on_message(self, _: Any, message: dict[str, Any], __: Any) -> None:
        edits: dict[str, tuple[str, ...]] = {
            "paste": ("name", "row", "column", "text"),
            "set_register": ("name", "lane", "register", "text"),
            "flip": ("name", "lane", "register", "bit"),
        }
        names = edits.get(str(message.get("do")))
        if names is not None and all(name in message for name in names):
            self._try(lambda bench: getattr(bench, message["do"])(*(message[name] for name in names)))

    def _on_selected(self, change: Any) -> None:
        if change.new.get("name") in self._target.options:
            self._target.value = change.new["name"]
        if change.new.get("name") == "D":
            self._why = int(change.new["row"]), int(change.new["column"])
            self._explain()

    def _on_fill(self, _: Any) -> None:
        at, name = self.view.selected, self._target.value
        where = (int(at["row"]), int(at["column"])) if at.get("name") == name else (0, 0)
        self._try(lambda bench: bench.fill(name, self._fill.value, *where))

    def _on_option(self, name: str, change: Any) -> None:
        self._try(lambda bench: bench.set_option(name, change.new))
        self._quietly(lambda: setattr(change.owner, "value", self.bench.options[name]))
        self.view.about = about(self.bench)

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
        colours = drop("Colour by", ("lane", "register", "value", "nothing"), 170, "What the colours say")
        zoom = ipywidgets.IntSlider(
            100, 50, 400, 25, description="Zoom", readout_format="d", layout={"width": "230px"}, style={"description_width": "initial"}
        )
        show_c = ipywidgets.ToggleButton(
            False,
            description="show C",
            tooltip="Show the accumulator C, which is added to the product: its matrix and its registers",
            layout={"width": "72px"},
        )
        for control, trait in ((colours, "colour_by"), (zoom, "zoom"), (show_c, "show_c")):
            traitlets.link((control, "value"), (self.view, trait))
        self._tools = ipywidgets.HBox([self._target, self._fill, go, colours, show_c, zoom])

        self._on = ipywidgets.ToggleButtons(
            options=(("emulator", "model"), ("GPU", "gpu"), ("both", "both")),
            tooltips=("D by the emulator, exact to the bit", "D by the instruction itself, on the GPU", "D by emulator and GPU, and where they differ"),
            style={"button_width": "94px"}, layout={"width": "auto"},
        )  # fmt: skip
        self._on.observe(lambda _: self._push(), "value")
        self._gpu_says = ipywidgets.Label(layout={"flex": "1 1 auto"})
        self._options = ipywidgets.HBox()
        self._running = ipywidgets.HBox([self._on, self._options, self._gpu_says])
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
        ready = gpu.available(ins)
        self._on.disabled = not ready
        if not ready:
            self._on.value = "model"
        self._gpu_says.value = gpu.status(ins)
        controls = []
        for name, legal in ins.modifiers.items():
            if len(legal) > 1:
                choice = ipywidgets.Dropdown(
                    options=[(str(value).lower(), value) for value in legal], value=self.bench.options[name], description=name.replace("_", "-"),
                    layout={"width": f"{80 + 8 * len(name)}px"}, style={"description_width": "initial"},
                )  # fmt: skip
                choice.observe(lambda change, name=name: None if self._quiet else self._on_option(name, change), "value")
                controls.append(choice)
        self._options.children = controls
        with self.view.hold_sync():
            self.view.lane = min(self.view.lane, ins.lanes - 1)
            self.view.selected, self._why = {}, None
            self.view.about = about(self.bench)
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
        bench, view = self.bench, self.view
        try:
            result = bench.result(self._on.value)
        except PtxlabError as error:  # the GPU failed: say so and go back to the model
            view.problem, self._on.value = str(error), "model"
            return
        with view.hold_sync():
            for name in _MATRICES:
                setattr(view, name, wire(bench, name, result.codes if name == "D" else None))
            if result.model is not None and result.gpu is not None:
                view.D = {**view.D, "differ": result.differ.astype(np.uint8).tobytes(), "count": int(result.differ.sum())}
            held = {name: bench.fields(name, view.lane) for name in bench.ins.operands}
            view.held = {name: [{"hex": text, "fields": [asdict(f) for f in fields]} for text, fields in rows] for name, rows in held.items()}
            self._explain()

    def _explain(self) -> None:
        """Show why the cell of D that was chosen last has its bits, where anybody looks."""
        if self._why is None:
            self.view.trace = {}
            return
        row, column = self._why
        sent: dict[str, Any] = {"row": row, "column": column}
        if self.view.tracing:
            found = self.bench.trace(row, column, self._on.value)
            given = int(self.bench.result(self._on.value).codes[row, column])
            note = "" if given == found.code else f"the GPU gave 0x{given:x}, this is the emulator"
            sent |= drawn(describe.trace(found, note))
        self.view.trace = sent


def _form(ins: Instruction) -> str:
    """What tells the rows of one family and shape apart: ``s32.s4.s4.s32 .satfinite``."""
    return ins.mnemonic.split(ins.shape)[-1].replace(".row.col", "").removeprefix(".") + _prefix(ins)


def _prefix(ins: Instruction) -> str:
    said = [f".{ins.bit_op}.popc"] if ins.bit_op else []
    return "".join([f"  {word}" for word in said + [".sp::ordered_metadata"] * ins.ordered])
