"""A walk through every layout of a family of instructions: its stops, what is new at each, and a question.

Stops are derived from the catalogue: forms with the same placement of elements share one.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .._util.arguments import as_text, is_name
from ..errors import PtxlabError, counted, listing, quoted
from ..explorer.documents.start import first_transfer
from ..explorer.quiz.tensor_questions import rule_of_d
from ..isa.catalog import catalog
from ..isa.form import Form
from ..isa.layout import Layout, index_terms
from ..isa.mma import Instruction
from ..isa.operand import Operand
from ..isa.tcgen05 import CONTROL_FAMILIES, UNPACKED, TensorInstruction, TensorTransfer
from ..isa.tensor_operand import TensorLayout, TensorOperand
from ..isa.transfer import Transfer
from ..question import Question, Reply, Unanswered, Verdict
from ..views.labels import index_range

_SHOWN_N = 64  # columns of D of a stop of tcgen05.mma
_INPUTS = ("A", "B", "E", "SFA", "SFB")
_F8F6F4 = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")  # the types of .kind::f8f6f4
#: Text, form of an answer, and right pairs of numbers.
PairQuestion = tuple[str, str, tuple[tuple[int, int], ...]]


#: The walks by name, with the families of each. Together they cover the catalogue.
WALKS: dict[str, tuple[str, ...]] = {
    "mma": ("mma",),
    "mma.sp": ("mma.sp",),
    "block-scaled": ("mma", "mma.sp"),
    "wmma": ("wmma",),
    "wgmma": ("wgmma",),
    "wgmma.sp": ("wgmma.sp",),
    "tcgen05": ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"),
    "transfer": (
        *("ldmatrix", "stmatrix", "movmatrix", "wmma.load", "wmma.store"),
        *("tcgen05.ld", "tcgen05.st", "tcgen05.cp", "tcgen05.shift"),
        *CONTROL_FAMILIES,
    ),
}


def _forms(walk: str) -> list[Form]:
    """The forms of a walk; forms of mma and mma.sp with block scales have their own walk."""
    forms: list[Form] = [form for family in WALKS[walk] for form in catalog(family)]
    if "mma" not in WALKS[walk] and "mma.sp" not in WALKS[walk]:
        return forms
    return [form for form in forms if (".block_scale" in form.mnemonic) == (walk == "block-scaled")]


# -- forms that place their elements alike ---------------------------------------------------------------


def _placement_key(operand: Operand) -> Hashable:
    """Equal for two operands whose elements sit in the same lanes, registers and bits."""
    return operand.layout or operand.shape, operand.width, operand.padding


def layout_key(form: Form) -> Hashable:
    """A key that is equal for forms of one stop.

    A wider N of wgmma, or more repetitions of tcgen05.ld and .st, only repeat the same pattern, so they share
    a stop.

    >>> import ptxlab
    >>> one, other = (f"mma.sync.aligned.m16n8k16.row.col.f32.{t}.{t}.f32" for t in ("f16", "bf16"))
    >>> layout_key(ptxlab.instruction(one)) == layout_key(ptxlab.instruction(other))
    True
    """
    if isinstance(form, TensorInstruction):
        return form.family, form.kind, form.cta_group, form.scale_vec
    if isinstance(form, TensorTransfer):
        if form.family == "tcgen05.ld":
            return form.shape, form.pack
        return re.sub(r"\.x\d+\b|\.cta_group::\d", "", form.mnemonic)
    if isinstance(form, Transfer):
        return form.family, *(_placement_key(form.operand(name)) for name in form.operands)
    if not isinstance(form, Instruction):
        return "control"
    places = [(name, _placement_key(form.operand(name))) for name in form.operands if name in _INPUTS]
    d = form.operand("D")
    if form.family.startswith("wgmma"):
        a, layout = form.operand("A"), d.layout
        pattern = layout and (layout.lane, layout.element[:2])
        return form.family, form.k, a.width, pattern, d.width, *(at for at in places if at[0] == "E")
    return form.family.partition(".")[0], *places, _placement_key(d)


@dataclass(frozen=True)
class Stop:
    """One layout: the form that represents it, and all forms that share it."""

    walk: str
    number: int
    forms: tuple[Form, ...] = field(repr=False)
    before: Stop | None = field(default=None, repr=False)

    @property
    def form(self) -> Form:
        return self.forms[0]

    @property
    def name(self) -> str:
        """The key under which progress is recorded."""
        return f"walk {self.walk}: {self.form.mnemonic}"

    @property
    def title(self) -> str:
        """Short: ``m16n8k16 f16``, ``ldmatrix.x4``.

        >>> stops("mma")[0].title
        'm8n8k4 f64 → f64'
        """
        form = self.form
        if isinstance(form, TensorInstruction):
            group = ", two CTAs" if form.cta_group == 2 else ""
            short = re.sub(r"tcgen05\.|\.cta_group::\d|kind::|\.block_scale|scale_vec::", "", form.mnemonic)
            return f"{short} {form.shape}{group}"
        if isinstance(form, (TensorTransfer, Transfer)):
            dropped = (".sync.aligned", ".cta_group::1", ".b32", ".shared", "tcgen05.")
            return "".join(re.split("|".join(map(re.escape, dropped)), form.mnemonic))
        if not isinstance(form, Instruction):
            return "without a matrix"
        types = form.a_type if form.a_type == form.b_type else f"{form.a_type}·{form.b_type}"
        orders = re.search(r"m8n8k4\.(row|col)\.(row|col)\.\w+\.f16", form.mnemonic)
        order = f" {orders[1]}.{orders[2]}" if orders and self.walk == "mma" else ""
        scaled = f" {form.kind} {form.scale_vec}X{' sparse' if form.sparse else ''}" if form.scale_vec else ""
        return f"{form.shape} {types} → {form.operand('D').dtype.name}{order}{scaled}"

    @property
    def group(self) -> str:
        """Stops beside each other with the same group have their name once: the type, the kind, the family.

        >>> list(dict.fromkeys(stop.group for stop in stops("mma")))
        ['f64', 'tf32', 'f16', 's8', 'f8f6f4', 's4', 'b1']
        """
        form = self.form
        if form.family in CONTROL_FAMILIES:
            return "others"
        if not isinstance(form, Instruction):
            return re.sub(r"^tcgen05\.", "", form.family)
        if form.scale_vec:
            return str(form.kind)
        return "f8f6f4" if form.a_type in _F8F6F4 or form.b_type in _F8F6F4 else form.a_type

    @property
    def in_registers(self) -> dict[str, Operand]:
        """Operands that lanes hold. R of a transfer is listed as T (tensor memory) or S (shared memory)."""
        letters = {True: "T", False: "S"}
        return {
            letters[operand.holds_words] if name == "R" else name: operand
            for name, operand in self.form.operands.items()
            if operand.layout is not None
        }

    @property
    def explained(self) -> dict[str, Operand]:
        """Operands in registers that the stop explains: C only where no D has its layout.

        >>> [list(stop.explained) for stop in (stops("mma")[0], stops("transfer")[45])]
        [['A', 'B', 'D'], ['C']]
        """
        operands = self.in_registers
        return {name: operand for name, operand in operands.items() if name != "C" or "D" not in operands}

    def display_name(self, name: str) -> str:
        """An operand's name in a sentence: what a lane holds of a sparse A is compressed.

        >>> stops("mma.sp")[0].display_name("A"), stops("mma")[0].display_name("A")
        ('compressed A', 'A')
        """
        return "compressed A" if name == "A" and "E" in self.in_registers else name

    @property
    def in_tensor_memory(self) -> dict[str, TensorOperand]:
        """Matrices of tcgen05.mma that are in tensor memory; what tcgen05.cp writes there."""
        return self.form.tensors

    @cached_property
    def formulas(self) -> dict[str, str]:
        """Row and column of each operand's elements, as the manual writes them; lane and column of a word."""
        form = self.form
        if isinstance(form, TensorInstruction):
            return {"D": rule_of_d(form)}
        if form.family == "tcgen05.shift":
            return {"T'": _SHIFTED}
        if self.in_tensor_memory and isinstance(form, TensorTransfer):
            return {"T": _copy_formula(form)}
        operands = self.explained.items()
        return {name: operand.layout.formula() for name, operand in operands if operand.layout is not None}

    # -- what is new --

    @cached_property
    def what_changed(self) -> str:
        """What differs from the stop before, in a sentence or two.

        >>> print(next(stop for stop in stops("mma") if stop.title == "m16n8k16 f16 → f32").what_changed)
        K doubles: registers 2..3 of A hold columns 8..15; register 1 of B holds rows 8..15.
        """
        if self.form.family in CONTROL_FAMILIES:
            return "These allocate tensor memory, commit, order and wait; they place no element of a matrix."
        if self.before is None:
            return f"The walk begins. {self._first()}"
        lead = _growth(self.before.form, self.form)
        if isinstance(self.form, TensorInstruction):
            return f"{lead}{rule_of_d(self.form)}{_other_tensors(self.before.form, self.form)}."
        earlier, now = self.before.explained, self.explained
        parts = [_difference(self.display_name(name), earlier.get(name), now[name]) for name in now]
        parts += [f"{name} is no longer in registers" for name in earlier if name not in now]
        earlier_facts = _moves(self.before.form)
        parts += [fact for fact in _moves(self.form) if fact not in earlier_facts]
        sentence = f"{lead}{'; '.join(filter(None, parts)) or self._first().rstrip('.')}."
        return sentence[0].upper() + sentence[1:]

    def _first(self) -> str:
        if isinstance(self.form, TensorInstruction):
            return f"D is in tensor memory: {rule_of_d(self.form)}."
        words = []
        for name, operand in self.explained.items():
            registers = counted(operand.registers, "register")
            elements = counted(operand.elements_per_register, "element")
            words.append(f"{self.display_name(name)} has {registers} a {operand.holder}, {elements} in each")
        sentence = f"{'; '.join(words)}."
        return sentence[0].upper() + sentence[1:]

    # -- the question --

    @property
    def question(self) -> Question | None:
        """A question about an element of what is new; None where there is nothing to place.

        >>> stop = next(stop for stop in stops("mma") if stop.title == "m16n8k16 f16 → f32")
        >>> stop.question.text, stop.question.answers
        ('Which lane, and which of its registers, holds A[9][11]?', ((5, 3),))
        """
        if self.form.family in CONTROL_FAMILIES:
            return None
        random = np.random.default_rng(sum(self.name.encode()))
        if isinstance(self.form, TensorInstruction):
            text, example, answers = _tensor_memory_question(self.form, random)
        elif isinstance(self.form, TensorTransfer) and not self.in_registers:
            text, example, answers = _transfer_question(self.form, random)
        else:
            name, operand = self._asked_operand()
            row, column = (int(random.integers(size // 2, size)) for size in operand.shape)
            element = f"{self.display_name(name)}[{row}][{column}]"
            text = f"Which {operand.holder}, and which of its registers, holds {element}?"
            example = f"{operand.holder}, register"
            answers = tuple((place.lane, place.register) for place in operand.where(row, column))

        def judge(answer: str) -> Reply:
            """As on a saved page: `verdictOn` of saved_walk.js."""
            hints = _hints(example)
            numbers = [int(number[:9]) for number in re.findall(r"\d+", answer)]
            if len(numbers) != 2:
                raise Unanswered(hints["unread"])
            first, second = numbers
            if (first, second) in answers:
                return Reply(True, f"{example.capitalize()}: {first}, {second}.")
            if (second, first) in answers:
                return Reply(False, hints["swapped"])
            start = ""
            if any(first == right for right, _ in answers):
                start = hints["first"]
            elif any(second == right for _, right in answers):
                start = hints["second"]
            return Reply(False, start + self._instead(first, second))

        return Question(self.name, judge, text, answers, example=example)

    def _asked_operand(self) -> tuple[str, Operand]:
        """The first operand whose placement differs from the stop before."""
        earlier = self.before.in_registers if self.before else {}
        operands = {name: operand for name, operand in self.in_registers.items() if name not in ("C", "E")}
        operands = operands or self.in_registers
        for name, operand in operands.items():
            if name not in earlier or _placement_key(earlier[name]) != _placement_key(operand):
                return name, operand
        return next(iter(operands.items()))

    def check(self, answer: object) -> Verdict:
        """The verdict on an answer, with a hint that does not give it away.

        >>> stop = next(stop for stop in stops("mma") if stop.title == "m16n8k16 f16 → f32")
        >>> stop.check("lane 5, register 2")
        ✗ walk mma: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 not quite: The lane is right. \
Register 2 of lane 5 holds A[1][10..11].
        >>> bool(stop.check("5, 3"))
        True
        """
        question = self.question
        if question is None:
            return Verdict(self.name, "right", "There is nothing to place.")
        return question.check(as_text(answer, "answer"))

    def _instead(self, lane: int, register: int) -> str:
        """The hint for a register that is not the right one: what it holds."""
        if not self.in_registers:
            return "Play the timeline, or point at the cell."
        name, operand = self._asked_operand()
        name, holder = self.display_name(name), operand.holder
        if lane >= operand.lanes or register >= operand.registers:
            registers = counted(operand.registers, "register")
            return f"There are {operand.lanes} {holder}s, each with {registers} of {name}, counted from 0."
        return f"Register {register} of {holder} {lane} holds {_held_words(name, operand, lane, register)}."

    def saved_hints(self) -> dict[str, Any]:
        """All hints, for a page without Python: `held` has what each register holds, [lane][register]."""
        question = self.question
        if question is None:
            return {}
        held: list[list[str]] = []
        if self.in_registers:
            _, operand = self._asked_operand()
            lanes, registers = range(operand.lanes), range(operand.registers)
            held = [[self._instead(lane, register) for register in registers] for lane in lanes]
        return {**_hints(question.example), "beyond": self._instead(len(held), 0), "held": held}


def _hints(example: str) -> dict[str, str]:
    """The hint for each kind of mistake."""
    first, second = example.split(", ")
    return {
        "unread": f"Type two numbers: {example}.",
        "swapped": f"The {first} comes first, then the {second}.",
        "first": f"The {first} is right. ",
        "second": f"The {second} is right. ",
    }


def _tensor_memory_question(form: TensorInstruction, random: np.random.Generator) -> PairQuestion:
    """A question about D, or about a scale factor if there are any."""
    name = "SFA" if "SFA" in form.tensors else "D"
    operand = form.tensors[name]
    row, column = (int(random.integers(size // 2, size)) for size in operand.shape)
    which = "column" if name == "D" else f"of {name}'s columns (counted from its first)"
    text = f"Which lane of tensor memory, and which {which}, hold {name}[{row}][{column}]?"
    return text, "lane, column", tuple((place.lane, place.column) for place in operand.where(row, column))


def _transfer_question(form: TensorTransfer, random: np.random.Generator) -> PairQuestion:
    """A question about a copied or shifted word; for one made from two source words, either is right."""
    transfer = first_transfer(form)
    index = int(random.choice(np.flatnonzero(transfer.source_cells[:, 0] >= 0)))
    source, target = transfer.source_and_target
    to, back = transfer.shapes["D"][1], transfer.shapes["A"][1]
    rows, words = source.axes
    text = f"From which {rows} and which {words} does {target.label}[{index // to}][{index % to}] come?"
    sources = (int(cell) for cell in transfer.source_cells[index] if cell >= 0)
    return text, f"{rows}, {words}", tuple(divmod(cell, back) for cell in sources)


# -- words that tcgen05.cp copies and tcgen05.shift moves ---------------------------------------------------

_SHIFTED = """\
T'[lane][column] = T[lane + 1][column], lane = 0..30
T'[31][column]   = T[31][column]
column = 0..7; lane is relative to the lane of taddr"""


def _copy_layout(form: TensorTransfer) -> TensorLayout:
    """Where the words are that tcgen05.cp writes."""
    return replace(form, source="").tensor("T").layout


def _copy_formula(form: TensorTransfer) -> str:
    """Lane and column of each word that tcgen05.cp writes, from its row and place in shared memory.

    >>> import ptxlab
    >>> copy = ptxlab.instruction("tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.b4x16_p64")
    >>> print(_copy_formula(copy))
    lane   = (row & 0x1F) + ((row >> 5) * 64) + (copy * 32)
    column = word
    copy   = 0..1
    16 bytes: byte j = (bits 4j..4j+3 of the source) << 2
    """
    layout = _copy_layout(form)
    counters = (("row", layout.row), ("word", layout.column), ("copy", layout.copy))
    terms = [index_terms(counter, modes) for counter, modes in counters]
    lane, column = (" + ".join(term for factors in terms for term in factors[axis]) for axis in (0, 1))
    lines = [f"lane   = {lane}", f"column = {column}"]
    if layout.copies > 1:
        lines.append(f"copy   = 0..{layout.copies - 1}")
    if form.source:
        bits = UNPACKED[form.source]
        low = (8 - bits) // 2
        lines.append(f"16 bytes: byte j = (bits {bits}j..{bits}j+{bits - 1} of the source) << {low}")
    return "\n".join(lines)


def _moves(form: Form) -> list[str]:
    """What tcgen05.cp copies, and to where; what tcgen05.shift moves; nothing for other forms."""
    if form.family == "tcgen05.shift":
        return ["each of 32 lanes takes the 8 words of the next lane, and the last keeps its own"]
    if form.family != "tcgen05.cp" or not isinstance(form, TensorTransfer):
        return []
    layout = _copy_layout(form)
    rows, words = layout.shape
    first, last = (_lanes(layout.coords()[:, row, 0, 0].tolist()) for row in (1, rows - 1))
    contents = "words are copied as they are"
    if form.source:
        contents = f"elements of {UNPACKED[form.source]} bits become bytes"
    return [
        f"{rows} rows of {32 * words} bits go to {words} columns",
        f"row 1 goes to {first}, row {rows - 1} to {last}",
        contents,
    ]


def _lanes(lanes: list[int]) -> str:
    """``lane 1``; ``lanes 1, 33, 65 and 97``."""
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    return f"lanes {', '.join(map(str, lanes[:-1]))} and {lanes[-1]}"


def _held_words(name: str, operand: Operand, lane: int, register: int) -> str:
    """What a register holds: ``A[1][10..11]``."""
    _, *axes = zip(*operand.holds(lane, register), strict=True)
    return name + "".join(f"[{_indices(sorted(set(axis)))}]" for axis in axes)


def _indices(numbers: list[int]) -> str:
    """``8..15``, or ``0, 8`` if they are not consecutive."""
    whole = numbers[-1] - numbers[0] == len(numbers) - 1
    return index_range(numbers[0], len(numbers)) if whole else ", ".join(map(str, numbers))


def _growth(before: Form, form: Form) -> str:
    """How M, N and K changed, e.g. ``K doubles: ``."""
    words = []
    for name in "mnk":
        old, new = getattr(before, name, None), getattr(form, name, None)
        if old and new and old != new:
            how = {2: "doubles", 4: "is four times as large", 0.5: "halves"}.get(new / old, f"is {new}")
            words.append(f"{name.upper()} {how}")
    return f"{', '.join(words)}: " if words else ""


def _other_tensors(before: Form, form: TensorInstruction) -> str:
    """What else is in tensor memory now but was not before."""
    earlier = before.tensors
    new = [name for name in form.tensors if name not in earlier]
    words = {"SFA": "scale factors of A", "SFB": "scale factors of B", "E": "metadata"}
    return f"; tensor memory also has {listing([words.get(name, name) for name in new])}" if new else ""


def _difference(name: str, earlier: Operand | None, now: Operand) -> str:
    """What is new about an operand; "" if its placement is the same."""
    if earlier is None:
        return f"{name} has {counted(now.registers, 'register')} a {now.holder}"
    if _placement_key(earlier) == _placement_key(now) or earlier.layout is None or now.layout is None:
        return ""
    if earlier.layout == now.layout and earlier.width == now.width:
        return f"elements of {name} begin at bit {now.padding} of {now.width}, not at bit {earlier.padding}"
    if earlier.width != now.width:
        elements, bits = counted(now.elements_per_register, "element"), counted(now.width, "bit")
        first = f"{now.holder} 1 begins with {_held_words(name, now, 1, 0)}"
        return f"a register of {name} has {elements} of {bits} ({first})"
    added = _added_registers(name, earlier.layout, now.layout, now.elements_per_register)
    if added:
        return added
    if earlier.registers != now.registers:
        return (
            f"{name} has {counted(now.registers, 'register')} a {now.holder} instead of {earlier.registers}"
        )
    _, row, column = next(iter(now.holds(1, 0)))
    return f"{name} is laid out differently ({now.holder} 1 begins with {name}[{row}][{column}])"


def _added_registers(name: str, before: Layout, now: Layout, per_register: int) -> str:
    """``registers 2..3 of A hold columns 8..15``; "" if registers of the layout before changed, too."""
    old, new = before.coords(), now.coords()
    if old.shape[0] != new.shape[0] or old.shape[1] >= new.shape[1]:
        return ""
    if not np.array_equal(old, new[:, : old.shape[1]]):
        return ""
    first, last = old.shape[1] // per_register, new.shape[1] // per_register - 1
    added = new[:, old.shape[1] :].reshape(-1, 2)
    axis = 1 if now.shape[1] > before.shape[1] else 0
    low, high = int(added[:, axis].min()), int(added[:, axis].max())
    contents = f"{('rows', 'columns')[axis]} {index_range(low, high - low + 1)}"
    if first == last:
        return f"register {first} of {name} holds {contents}"
    return f"registers {index_range(first, last - first + 1)} of {name} hold {contents}"


# -- the stops -------------------------------------------------------------------------------------------


def _order(forms: list[Form]) -> tuple[object, ...]:
    """Wide elements first, then small shapes, so that each stop resembles the one before."""
    form = forms[0]
    if not isinstance(form, Instruction):
        return ()
    a, b, d = (form.operand(name) for name in "ABD")
    return (-a.width, -d.width, a.padding, b.padding, (form.m, form.n, form.k))


def _shown(form: Form) -> Form:
    """The form as its stop shows it: tcgen05.mma with its smallest M, because there row and lane differ."""
    if not isinstance(form, TensorInstruction):
        return form
    shapes = form.shape_sets[0]
    return form.with_descriptor(m=min(shapes.m), n=max(n for n in shapes.n if n <= _SHOWN_N))


@lru_cache(maxsize=None)
def stops(walk: str) -> tuple[Stop, ...]:
    """The stops of a walk, each with the one before it.

    >>> len(stops("mma.sp")), sum(len(stop.forms) for walk in WALKS for stop in stops(walk))
    (17, 2281)
    """
    if not is_name(walk, WALKS):
        raise PtxlabError(f"found no walk {quoted(walk)}; there are {listing(WALKS)}")
    groups: dict[Hashable, list[Form]] = {}
    for form in _forms(walk):
        groups.setdefault(layout_key(form), []).append(form)
    ordered = sorted(groups.values(), key=_order)
    result: list[Stop] = []
    for number, forms in enumerate(ordered):
        shown = _shown(forms[0])
        result.append(Stop(walk, number, (shown, *forms[1:]), result[-1] if result else None))
    return tuple(result)


def forms_summary(forms: Iterable[Form]) -> str:
    """How many forms share a stop, and their types, in a line."""
    every = list(forms)
    types = list(dict.fromkeys(getattr(form, "a_type", "") for form in every))
    named = f" ({', '.join(types)})" if any(types) else ""
    return f"{counted(len(every), 'form')}{named}"
