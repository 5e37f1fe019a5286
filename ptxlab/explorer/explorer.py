"""The explorer: what is on the bench as traits, one view that draws it and sends back what is typed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from .. import gpu
from .. import views as describe
from ..errors import PtxlabError, listing
from ..gpu import codegen as kernel
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..isa.parse import parse_mma
from ..views.figures.chart import chart
from .history import History
from .link import is_link, opened, shared
from .migrate import carried
from .picker import shelf
from .pictures import chosen, picture
from .protocol import about, compared, drawn, held, identical, made_of, wire
from .python_code import code
from .refusals import Broken, Refused
from .state import GPU, Bench, Result
from .static_html import save
from .stepper import walk
from .toolbar import tools
from .traits import Live, Registers, edit_of, equal, frozen, matrix, place
from .view import LOOKS, MATRICES, PINS, View

__all__ = ["Explorer", "View"]

_LIVE = {
    "A": "A",
    "B": "B",
    "C": "C",
    "D": "D",
    "metadata": "E",
    "scale_a": "SFA",
    "scale_b": "SFB",
}  # traits, and the matrices they show


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
    registers = Live(
        lambda ex: ex._registers,
        lambda ex, given: ex._registers.write(given),
        'Registers by operand: ``ex.registers["A"]``.',
    )
    selection = Live(
        lambda ex: dict(ex.view.selected),
        lambda ex, given: ex._select(given),
        'The chosen cell; assign ``("D", 9, 3)`` to choose one.',
    )

    def __init__(
        self,
        ins: MmaForm | str,
        *,
        A: ArrayLike | None = None,
        B: ArrayLike | None = None,
        C: ArrayLike | None = None,
        seed: int = 0,
        form_class: type[MmaForm] = MmaForm,
    ) -> None:
        self._form_class = type(ins) if isinstance(ins, MmaForm) else form_class
        look: dict[str, Any] = {}
        if isinstance(ins, str) and is_link(ins):
            self.bench, look = opened(ins)
            self.bench.ins = self._as_given(self.bench.ins)
        else:
            self.bench = Bench(self._as_given(ins), seed)
        for name, given in (("A", A), ("B", B), ("C", C)):
            if given is not None:
                self.bench.set_values(name, given)
        self.bench.history = History()
        self._registers = Registers(self)
        self._sent: dict[str, tuple[Any, ...]] = {}  # what each matrix on the screen was made of
        self._known: dict[str, Any] = {"selection": {}}  # what observers were told last
        self.view = View()
        self._seed, self._took = seed, ""
        self._why: tuple[int, int] | None = None
        self._refused: Refused | None = None
        super().__init__([self.view])
        self.view.on_msg(self._on_message)
        self.view.observe(lambda _: self._show_lane(), ["lane", "pinned"])
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
    def instruction(self) -> MmaForm:
        """The instruction on the bench; assign another to change it. Matrices that fit it stay."""
        return self.bench.ins

    def _as_given(self, ins: MmaForm | str) -> MmaForm:
        """The instruction as an instance of the class that the explorer was opened with."""
        form = ins if isinstance(ins, MmaForm) else parse_mma(ins)
        return form if isinstance(form, self._form_class) else self._form_class.of(form)

    @instruction.setter
    def instruction(self, ins: MmaForm | str) -> None:
        old, self.bench = self.bench, Bench(self._as_given(ins), self._seed)
        said = carried(old, self.bench, self._chips())
        self.bench.history = History()
        self._say()
        self.view.note = "; ".join(said)
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

    @property
    def lanes(self) -> list[int]:
        """The lanes whose registers stand side by side; assign up to four, of which the first becomes the chosen one.

        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> ex.lanes = [0, 5, 9]
        >>> ex.lane = 7
        >>> ex.lanes
        [7, 0, 5, 9]
        """
        lane, pinned = self.lane, [int(each) for each in self.view.pinned]
        return pinned if lane in pinned else [lane, *pinned]

    @lanes.setter
    def lanes(self, lanes: Sequence[int]) -> None:
        given = [int(lane) for lane in lanes]
        if not given or not self.view.takes("pinned", given):
            raise PtxlabError(
                f"lanes {given}: up to {PINS} different ones stand side by side, from 0 to {self.instruction.lanes - 1}"
            )
        with self.view.hold_sync():
            self.view.lane, self.view.pinned = given[0], given if len(given) > 1 else []

    def change(self, edit: Callable[[Bench], None]) -> None:
        """Edit the bench and show it; a refused edit raises and changes nothing."""
        with self.bench.step():
            edit(self.bench)
        self._say()
        self._push()

    def run(self) -> None:
        """Have the GPU give D too, and mark where it differs from the model of its chip."""
        ins, bench = self.instruction, self.bench
        if not gpu.available(ins):
            raise PtxlabError(gpu.status(ins))
        target = gpu.device_target()
        self.view.tools = tools(bench, self._chips(), f"compiling for {target} …")
        gpu.compile(kernel.source(ins, Modifiers(**bench.options)), target)
        self.view.tools = tools(bench, self._chips(), f"running on {target} …")
        bench.forget(GPU)
        self._set_chips(gpu.model(ins) or bench.model, GPU)

    def undo(self) -> None:
        """Take back the last edit, if there is one."""
        self._try(lambda: self.bench.undo() or self._refused is not None)

    def redo(self) -> None:
        """Take back the last undo, if there is one."""
        self._try(self.bench.redo)

    def code(self) -> str:
        """Python that gives the D on the screen, without a notebook: ``exec(ex.code())``."""
        return code(self.bench)

    @property
    def link(self) -> str:
        """All of it as a text to send to somebody: ``ptxlab.explore(link)`` opens it again."""
        return shared(
            self.bench, {name: getattr(self.view, name) for name in ("lane", "pinned", "selected", *LOOKS)}
        )

    def _wear(self, look: Mapping[str, Any]) -> None:
        """Look as a link says."""
        for name, value in look.items():
            if name not in ("lane", "pinned", "selected", *LOOKS) or not self.view.takes(name, value):
                raise PtxlabError(
                    f"this link asks for {name}={value!r:.60}, which the explorer does not know"
                )
            setattr(self.view, name, value)

    def _select(self, given: Any) -> None:
        """Choose a cell, and as on the screen the lane that holds it."""
        chosen = place(given, {name: self.bench.operand(name).shape for name in self.bench.names})
        lane = self.bench.holder(**chosen) if chosen else None
        with self.view.hold_sync():
            self.view.lane = self.view.lane if lane is None else lane
            self.view.selected = chosen

    def _chips(self) -> tuple[str, ...]:
        return (*self.bench.chips, GPU) if gpu.available(self.instruction) else self.bench.chips

    def _set_chips(self, chip: str, against: str | None) -> None:
        for found in (chip, *([] if against is None else [against])):
            if found not in self._chips():
                raise PtxlabError(
                    f"found chip {found!r:.40}; {self.instruction.mnemonic} takes {listing(self._chips())}"
                )
        self.bench.chip, self.bench.against = chip, against
        self._say()
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

    def figure(self, what: str | None = None, **options: Any) -> Any:
        """A Plotly figure of what is chosen on the screen, or of "product", "A", "stored", "metadata", "B", "C", "D", "scales", "lane", "trace".

        `ptxlab.figures.save(ex.figure("A"), "a.pdf")` writes it for papers and slides: .svg, .pdf, .png, .html.

        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> ex.selection = "D", 9, 3
        >>> ex.figure().layout.meta["title"], ex.figure("trace").layout.meta["title"].split(" = ")[0]
        ('D of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32', 'D[9][3]')
        """
        view = self.view
        look = {"label": view.label, "colour": view.colour_by, "show_c": view.show_c}
        return chart(
            picture(
                self.bench,
                what or chosen(view.selected),
                at=view.lane,
                cell=self._why or (0, 0),
                look=look,
                **options,
            )
        )

    # -- from the screen ----------------------------------------------------------------------------------------------

    def _try(self, do: Callable[[], Any]) -> None:
        """Do what was asked for on the screen: the sentence of a refusal is shown there."""
        try:
            if do() is True:
                self._say()
                self._push()
        except PtxlabError as error:
            self._say(error)

    def _say(self, refusal: PtxlabError | None = None) -> None:
        """Show why something was refused, where, and what can be done instead; None for all is well."""
        self._refused = refusal if isinstance(refusal, Refused) else None
        with self.view.hold_sync():
            self.view.problem = "" if refusal is None else str(refusal)
            self.view.offer = {} if self._refused is None else self._refused.offer

    def _prune(self) -> None:
        """Take the edit that was refused last, pruned so that A keeps its structure."""
        refused = self._refused
        if isinstance(refused, Broken):
            self.change(lambda bench: bench.prune(refused))

    def _on_message(self, _: Any, message: Any, __: Any) -> None:
        found = edit_of(message)
        if found is None:
            return
        do, given = found
        acts: dict[str, Callable[..., Any]] = {
            "undo": self.undo, "redo": self.redo, "option": self._set_option, "choose": self._choose, "catalogue": self._show_catalogue,
            "gpu": self.run, "export": self._export, "prune": self._prune, "drop": self._say,
            "chips": lambda chip, against: self._set_chips(chip, against or None),
        }  # fmt: skip
        if do in acts:
            self._try(lambda: acts[do](*given))
        else:
            self._try(lambda: self.change(lambda bench: getattr(bench, do)(*given)))

    def _on_selected(self, change: Any) -> None:
        if change.new.get("name") == "D":
            self._why = int(change.new["row"]), int(change.new["column"])
            self._explain()
        self._tell("selection", dict(change.new))

    def _set_option(self, name: str, place: int) -> None:
        legal = self.instruction.modifiers.get(name, ())
        if not 0 <= place < len(legal):
            raise PtxlabError(
                f"{self.instruction.mnemonic} has no choice {place} of {name!r:.40}; it has {listing(self.bench.options) or 'none'}"
            )
        self.change(lambda bench: bench.set_option(name, legal[place]))

    def _choose(self, mnemonic: str, space: str) -> None:
        ins = parse_mma(mnemonic)
        self.instruction = (
            ins.a_from("shared" if space == "shared" else "register")
            if ins.family.startswith("wgmma")
            else ins
        )

    def _show_catalogue(self) -> None:
        self.view.catalogue = shelf()

    def _export(self, what: str) -> None:
        """Answer with the text that a button asked for."""
        if what == "page":
            with tempfile.TemporaryDirectory() as folder:
                text = self.save_html(Path(folder) / "page.html").read_text(encoding="utf-8")
        elif what in ("code", "link"):
            text = self.code() if what == "code" else self.link
        else:
            raise PtxlabError(f"found {what!r:.40}; the explorer gives its code, its link or its page")
        self.view.send(
            {"export": what, "text": text, "name": f"{self.instruction.mnemonic.replace('::', '-')}.html"}
        )

    # -- to the screen ------------------------------------------------------------------------------------------------

    def _show_instruction(self) -> None:
        with self.view.hold_sync():
            self.view.lane = min(self.view.lane, self.instruction.lanes - 1)
            self.view.pinned = [lane for lane in self.view.pinned if lane < self.instruction.lanes]
            self.view.selected, self._why = {}, None
            self._sent, self._took = {}, ""
            self._push()

    def _result(self, chips: Sequence[str]) -> Result:
        bench, start = self.bench, time.perf_counter()
        if bench.chip not in chips or bench.against not in (None, *chips):
            raise PtxlabError("the GPU is not there: D is by the emulator")
        if GPU not in (bench.chip, bench.against) or bench.has_result(GPU):
            return bench.result()
        found = bench.result()
        self._took = f"the GPU took {(time.perf_counter() - start) * 1e3:.1f} ms, with its copies"
        return found

    def _push(self) -> None:
        """Send what changed, and only that."""
        bench, view, chips = self.bench, self.view, self._chips()
        try:
            result = self._result(chips)
        except PtxlabError as error:  # the GPU failed: say so and go back to the model
            bench.chip, bench.against = bench.chips[0], None
            view.problem, result = str(error), bench.result()
        made = made_of(bench, result)
        changed = [name for name, parts in made.items() if not identical(parts, self._sent.get(name))]
        self._sent = made
        with view.hold_sync():
            view.tools = tools(bench, chips, took=self._took)
            if "about" in changed:
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
        self.view.held = {
            str(lane): held(self.bench, lane) for lane in self.lanes if lane < self.instruction.lanes
        }

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
        sent: dict[str, Any] = {
            "row": row,
            "column": column,
            "walk": walk(self.bench.ins, found, self.bench.scales),
        }
        if picture:
            given = int(self.bench.result().codes[row, column])
            note = "" if given == found.code else f"the GPU gave 0x{given:x}, this is the emulator"
            sent |= drawn(describe.trace(found, note))
        return sent
