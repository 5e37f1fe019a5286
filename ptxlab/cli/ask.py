"""Answers a one-line question, as typed into a search box, with the command that it means."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .. import views
from ..errors import PtxlabError, quoted
from ..explorer.documents.forms import explorable
from ..explorer.session import PageSession
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.mma import Instruction
from ..isa.parse import parse_any, parse_every
from ..isa.tcgen05 import TensorInstruction
from .commands import COMMANDS, Beside
from .instruction_arguments import form_of, operand_name
from .output import PictureFile, Printed, Style, one_line
from .parser import ParsedCommand, parse

__all__ = ["EXAMPLES", "Answer", "answer_json", "ask", "command_words"]

#: Commands that answer questions.
_ANSWERED = [name for name, command in COMMANDS.items() if command.beside is not None]
#: A question of each kind.
EXAMPLES = (
    "A[9][37] of mma.m16n8k64.s4",
    "lane 5 of B of mma.m16n8k16.f32.f16",
    "0x4000004000010040",
    "SM90_64x64x16_F32F16F16_SS",
    "bank conflicts of Swizzle<3,3,3> o (64,64):(64,1)",
    "mma.m16n8k16.f32.f16 -> mma.m16n8k16.f32.f16:A",
)
_MAX_CHARACTERS = 500  # of a question
_MAX_PASTED = 20_000  # of a question that is pasted code
_MAX_CELLS = 1 << 13  # of a matrix that is drawn
_ELEMENT = re.compile(r"\b([A-Za-z]{1,3})\s*[\[(]\s*(-?\d{1,9})\s*(?:\]\s*\[|,)\s*(-?\d{1,9})\s*[\])]")
_WORDS_OF_WHERE = re.compile(r"(\S+)\s+([A-Za-z]{1,3})\s+(\d{1,9})[\s,]+(\d{1,9})")
_PASTED = re.compile(r"\basm\b|[;{}%]")
_LANE = re.compile(r"\b(?:lane|thread)\s+(\d{1,9})\b", re.IGNORECASE)
_CODE = re.compile(r"\b(?:0[xX][0-9a-fA-F_]{1,20}|[0-9a-fA-F]{16})\b")
_ACCESS = re.compile(r"\b(?:ld|st)\.[\w.:]*shared[\w.:]*|\b(?:ld|st)matrix[\w.:]*")
# Swizzle<3,3,3> o smem_ptr[16b] o (64,64):(64,1)
_CUTE_LAYOUT = re.compile(r"(?:S?w?\w*<[\d,\s]+>\s*o\s*)?(?:smem_ptr\[\w+\]\s*o\s*)?\([^\"']*\)\s*:\s*\(.*\)")
_CUTE_SWIZZLE = re.compile(r"\bS(?:wizzle|w)\s*<[\d,\s]+>")
_OPERAND_OF = re.compile(r"\b(A|B|C|D|E|R|SFA|SFB)\s+(?i:of|in)\b")
_FAMILY = r"(?:w?mma|wgmma|ldmatrix|stmatrix|movmatrix|tcgen05|m\d+n\d+k\d+)\b"
_NAME = re.compile(rf"{_FAMILY}[\w.:\s]*", re.IGNORECASE)
_SPACED_NAME = re.compile(rf"{_FAMILY}[\w.:]*(?:\s+[\w.:]+)+")
_ATOM = re.compile(r"sm\d+_\w+", re.IGNORECASE)
#: Words between those that count, as in "which lanes hold A of mma.m16n8k64.s4?"; not within a name such as
#: mma.m16n8k128.b1.and.popc.
_WORDS = re.compile(
    r"(?<![\w.:])(?:which|what|where|lanes?|bits?|registers?(?:\s+\d+)?|elements?|is|are|does|do|holds?|the|a|an|"
    r"of|in|for|layout|fragment|show|me|and)(?![\w.:])|\?",
    re.IGNORECASE,
)
#: After a command's name these show a sentence: "show me ...", but not "show mma.m16n8k64.s4".
_SENTENCE = r"(?:of|in|for|the|an?|is|are|does|do|me)"


@dataclass(frozen=True)
class Answer:
    """What a question meant, as a command; the answer as text and as SVG, and a link of the Explorer.

    `picture`, and `dark`, the same for a dark page, are "" where there is none, and `explorer` where the
    Explorer has nothing to show.
    """

    command: str
    text: str
    picture: str = ""
    dark: str = ""
    explorer: str = ""


def ask(question: str) -> Answer:
    """Answer a question, or raise a PtxlabError that says how to ask.

    >>> answer = ask("A[9][37] of mma.m16n8k64.s4")
    >>> answer.command
    'ptxlab where mma.m16n8k64.s4 A 9 37'
    >>> print(answer.text.splitlines()[-1])
         4  a29             3  [23..20]
    """
    words = command_words(question)
    command = shlex.join(["ptxlab", *words])
    call = _parsed(words)
    if isinstance(call, str):
        return Answer(command, call)
    text = str(call.run(Style(colour=False)))
    beside = COMMANDS[words[0]].beside or Beside()
    picture = _picture(beside, call)
    light = dark = ""
    if picture is not None:
        light, dark = (str(Printed(format="svg", dark=is_dark).svg(picture)) for is_dark in (False, True))
    return Answer(command, text, light, dark, _explorer(call.arguments) if beside.explorer else "")


def answer_json(question: str) -> str:
    """The answer, or the error, as JSON for the page in a tab."""
    try:
        return json.dumps(asdict(ask(question)))
    except PtxlabError as error:
        return json.dumps({"problem": one_line(str(error))})


def command_words(question: str) -> list[str]:
    """The words of the command that a question means.

    >>> command_words("which lane holds D[3][5] of mma.m16n8k16.f32.f16?")
    ['where', 'mma.m16n8k16.f32.f16', 'D', '3', '5']
    >>> command_words("bank conflicts of Swizzle<3,3,4>")
    ['conflicts', '--swizzle', 'Swizzle<3,3,4>']
    """
    text = question.strip()
    if not text:
        raise PtxlabError(f"ask something, for example {EXAMPLES[0]}")
    most = _MAX_PASTED if _PASTED.search(text) else _MAX_CHARACTERS
    if len(text) > most:
        raise PtxlabError(f"a question has at most {most} characters, found {len(text)}")
    command = re.match(rf"(?:\$\s*)?(?:ptxlab\s+)?([a-z]+)(?=\s|$)(?!\s+{_SENTENCE}\b)", text)
    if command and (command[1] in _ANSWERED or "ptxlab" in command[0]):
        return _typed(text[command.start(1) :])
    if _PASTED.search(text):
        return ["show", "--no-sass", text]
    for reader in (_about_memory, _about_element, _about_lane, _about_code, _about_repack, _about_operand):
        words = reader(text)
        if words is not None:
            return words
    return ["show", "--no-sass", _as_name(_WORDS.sub(" ", text).strip() or text)]


def _typed(text: str) -> list[str]:
    """The words of a command that was typed in full."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise PtxlabError(f"{quoted(text)}: {error}") from None
    if words[0] == "ptxlab":
        raise PtxlabError(f"after ptxlab comes a command: {', '.join(_ANSWERED)}")
    if words[0] not in _ANSWERED:
        raise PtxlabError(f"ptxlab {words[0]} needs a shell; here are {', '.join(_ANSWERED)}")
    if words[0] == "show" and "--no-sass" not in words:
        words.insert(1, "--no-sass")
    return words


def _about_memory(text: str) -> list[str] | None:
    """Bank conflicts of an access, a swizzle or a CuTe layout."""
    layout, swizzle = _CUTE_LAYOUT.search(text), _CUTE_SWIZZLE.search(text)
    mode = re.search(r"\b(32|64|128)[\s-]*(?:bytes?|B)[\s-]+swizzle|\bswizzle\s+(32|64|128)\b", text, re.I)
    access = _ACCESS.search(text)
    is_conflict = re.search(r"\b(?:bank|conflicts?)\b", text, re.IGNORECASE)
    is_mode_alone = mode and not (_CODE.search(text) or _ELEMENT.search(text))
    if not (is_conflict or layout or swizzle or is_mode_alone):
        return None
    words = ["conflicts", *([access[0]] if access else [])]
    if layout:
        return [*words, "--layout", layout[0].strip()]
    pitch = re.search(r"\bpitch\s+(?:of\s+)?(\d{1,9})|\b(\d{1,9})\s*bytes?\s+apart", text, re.IGNORECASE)
    if pitch:
        words += ["--pitch", pitch[1] or pitch[2]]
    if swizzle:
        words += ["--swizzle", re.sub(r"\s", "", swizzle[0])]
    elif mode:
        words += ["--swizzle", mode[1] or mode[2]]
    return words


def _about_element(text: str) -> list[str] | None:
    words = _WORDS_OF_WHERE.fullmatch(text)
    if words is not None:
        return ["where", *words.groups()]
    element = _ELEMENT.search(text)
    if element is None:
        return None
    name, row, column = element.groups()
    rest = text[: element.start()] + " " + text[element.end() :]
    explain = ["--explain"] if re.search(r"\b(?:why|explain|into)\b", rest, re.IGNORECASE) else []
    rest = re.sub(r"\b(?:why|explain|goes|into|has|its)\b", " ", rest, flags=re.IGNORECASE)
    return ["where", _instruction(rest, text), name.upper(), row, column, *explain]


def _about_lane(text: str) -> list[str] | None:
    lane = _LANE.search(text)
    if lane is None:
        return None
    rest = text[: lane.start()] + " " + text[lane.end() :]
    operand = _OPERAND_OF.search(rest) or re.search(r"\b(A|B|C|D|E|R|SFA|SFB)\b", rest)
    if operand is not None:
        rest = rest[: operand.start()] + " " + rest[operand.end() :]
    instruction = _instruction(rest, text)
    name = operand[1] if operand else next(iter(parse_any(instruction).operands), "A")
    return ["holds", instruction, name, "--lane", lane[1]]


def _about_code(text: str) -> list[str] | None:
    """A descriptor in hexadecimal, alone or with the instruction that reads through it."""
    code = _CODE.search(text)
    if code is None:
        return None
    rest = f"{text[: code.start()]} {text[code.end() :]}"
    rest = _WORDS.sub(" ", re.sub(r"\bdescriptor\b", " ", rest, flags=re.IGNORECASE)).strip(" ,;:")
    number = f"0x{code[0].lower().removeprefix('0x').replace('_', '')}"
    return ["descriptor", number, *(["--instruction", rest] if rest else [])]


def _about_repack(text: str) -> list[str] | None:
    sides = re.fullmatch(r"(?:repack\s+)?(\S+)\s*(?:->|→|\bto\b|\binto\b)\s*(\S+)", text)
    return None if sides is None else ["repack", sides[1], sides[2]]


def _about_operand(text: str) -> list[str] | None:
    """``A of mma.m16n8k64.s4``: its layout."""
    words = r"(?:(?:what|which|show|me|is|the|layout|fragment|of)\s+)*"
    operand = re.match(rf"{words}(A|B|C|D|E|R|SFA|SFB)\s+of\s+(\S+)\s*\??$", text, re.IGNORECASE)
    return None if operand is None else ["layout", _as_name(operand[2].rstrip("?")), operand[1].upper()]


def _instruction(rest: str, question: str) -> str:
    """The instruction: what is left of a question without its other words."""
    name = _WORDS.sub(" ", rest).strip(" ,;:.'\"`")
    if not name:
        raise PtxlabError(f"{quoted(question)}: of which instruction? For example {EXAMPLES[0]}")
    return _as_name(name)


def _as_name(text: str) -> str:
    """``MMA m16n8k16 bf16`` in PTX's spelling, an atom in CUTLASS's; any other text unchanged."""
    text = " ".join(text.split())
    if _ATOM.fullmatch(text):
        return re.sub(r"(?<=\d)X(?=\d)", "x", text.upper())
    if _NAME.fullmatch(text):
        text = text.lower()
    if not _SPACED_NAME.fullmatch(text):
        return text
    with contextlib.suppress(PtxlabError):
        parse_every(text)
        return text  # a whole name, with something after it
    return ".".join(text.split())


# -- the answer --------------------------------------------------------------------------------------------


def _parsed(words: Sequence[str]) -> ParsedCommand | str:
    """The call of a command, or its help if the words ask for it; wrong usage is an error of one sentence."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            return parse(words)
    except SystemExit as stop:
        if not stop.code:  # --help
            return printed.getvalue()
        raise PtxlabError(printed.getvalue().strip() or f"{quoted(' '.join(words))} is no question") from None


def _picture(beside: Beside, call: ParsedCommand) -> views.Picture | None:
    """The picture beside the answer; None if there is none, or one that is too large."""
    arguments = call.arguments
    with contextlib.suppress(PtxlabError):
        if beside.picture == "its own" and arguments["printed"].format is None:
            drawing = {**arguments, "printed": Printed(format="svg")}
            file = replace(call, arguments=drawing).run(Style(colour=False))
            return file.picture if isinstance(file, PictureFile) else None
        if beside.picture == "operand":
            return _operand_picture(arguments)
        if beside.picture == "instruction":
            forms = [form for form in parse_every(arguments["instruction"]) if form.operands]
            if len(forms) == 1 and not _is_large(forms[0]):
                return _form_picture(forms[0])
    return None


def _operand_picture(arguments: dict[str, Any]) -> views.Picture | None:
    """The operand's layout, with the lane that the answer names."""
    form = form_of(arguments["instruction"], arguments["tcgen05"])
    name = operand_name(form, arguments["operand"])
    lane, is_dense = arguments.get("lane"), False
    if "row" in arguments:
        lane = _lane(form, name, arguments["row"], arguments["column"])
        is_dense = name == "A" and isinstance(form, Product) and form.sparse and not arguments["stored"]
    return None if _is_large(form, name) else views.fragment(form, name, lane=lane, dense=is_dense)


def _lane(form: Form, name: str, row: int, column: int) -> int | None:
    """The first lane that holds an element; None for one of a sparse A, and in shared memory."""
    with contextlib.suppress(PtxlabError):
        places = views.where(form, name, row, column).records()
        lane = places[0].get("lane") if places else None
        return lane if isinstance(lane, int) else None
    return None


def _form_picture(form: Form) -> views.Picture:
    if isinstance(form, Instruction | TensorInstruction):
        return views.product(form)
    return views.fragment(form, next(iter(form.operands)))


def _is_large(form: Form, name: str | None = None) -> bool:
    shapes = [operand.shape for operand in form.operands.values() if name in (None, operand.name)]
    return any(rows * columns > _MAX_CELLS for rows, columns in shapes)


def _explorer(arguments: dict[str, Any]) -> str:
    """A link that opens the instruction, with the element or the lane of the question."""
    with contextlib.suppress(PtxlabError):
        session = PageSession(explorable(form_of(arguments["instruction"], arguments["tcgen05"])))
        selected: dict[str, Any] = {"selected": {}}
        if "row" in arguments:  # a trace names no operand: it is of D
            name, row, column = arguments.get("operand", "D").upper(), arguments["row"], arguments["column"]
            selected["selected"] = {"name": name, "row": row, "column": column}
            lane = _lane(session.state.form, name, row, column)
            selected |= {} if lane is None else {"lane": lane}
        elif arguments.get("lane") is not None:
            selected["lane"] = arguments["lane"]
        session.handle({"method": "update", "state": selected})
        return session.link
    return ""
