"""The walk through every layout: each form has one stop, each stop opens, edits, and asks what it shows."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, lessons
from ptxlab.course.progress_record import solved
from ptxlab.explorer.edits import SetCell
from ptxlab.isa.tcgen05 import CONTROL_FAMILIES, COPY_SHAPES, TensorTransfer
from ptxlab.numerics.emulate_tcgen05_transfer import copy_rows, shift
from ptxlab.shapes.stops import WALKS, Stop, layout_key, stops
from ptxlab.shapes.walk_widget import HtmlText, Walk, _fragments, _images, glance_html
from tests.cases import each
from tests.sampling import one_in
from tools.site.kernel import links_to_stops

STOPS = [stop for walk in WALKS for stop in stops(walk)]
WITH_MATRICES = [stop for stop in STOPS if stop.form.family not in CONTROL_FAMILIES]


def name(stop: Stop) -> str:
    return f"{stop.walk} {stop.number} {stop.title}"


def test_every_form_has_one_stop() -> None:
    counts = Counter(form.mnemonic for stop in STOPS for form in stop.forms)
    assert counts == Counter(form.mnemonic for form in ptxlab.catalog())
    assert len({layout_key(stop.form) for stop in STOPS}) >= len({stop.title for stop in STOPS if stop.title})


@pytest.mark.parametrize("walk", WALKS)
def test_titles_and_names_tell_stops_apart(walk: str) -> None:
    assert len({stop.title for stop in stops(walk)}) == len({stop.name for stop in stops(walk)})
    assert [stop.before for stop in stops(walk)] == [None, *stops(walk)[:-1]]


@each("stop", STOPS, ids=name)
def test_a_stop_says_what_is_new(stop: Stop) -> None:
    """Elements that a sentence names are where it says."""
    assert stop.what_changed.endswith(".") and len(stop.what_changed) < 420
    if not stop.before:
        return
    for registers, operand, hold, low, high in re.findall(
        r"registers? (\d+)(?:\.\.\d+)? of (\w+) holds? (rows|columns) (\d+)(?:\.\.(\d+))?", stop.what_changed
    ):
        layout = stop.in_registers[operand].layout
        assert layout is not None
        first = int(registers) * stop.in_registers[operand].elements_per_register
        held = layout.coords()[:, first:, 0 if hold == "rows" else 1]
        assert (held.min(), held.max()) == (int(low), int(high or low))
    begins = re.compile(r"(?:lane|thread) 1 begins with (\w+)\[(\d+)[^\]]*\]\[(\d+)")
    for operand, row, column in begins.findall(stop.what_changed):
        layout = stop.in_registers[operand].layout
        assert layout is not None and layout.coords()[1, 0].tolist() == [int(row), int(column)]


@each("stop", STOPS, ids=name)
def test_the_question_takes_the_right_answer_and_refuses_others(stop: Stop) -> None:
    question = stop.question
    if stop.form.family in CONTROL_FAMILIES:
        assert question is None and stop.check("1, 2")
        return
    assert question is not None
    for first, second in question.answers:
        assert stop.check(f"{first}, {second}")
    (first, second), *_ = question.answers
    wrong = [(first + 1, second), (first, second + 1), (second + 7, first + 3), (first ^ 4, second)]
    wrong = [answer for answer in wrong if answer not in question.answers]
    assert len(wrong) >= 3
    for answer in wrong:
        verdict = stop.check(f"lane {answer[0]}, register {answer[1]}")
        assert verdict.state == "wrong" and verdict.text
        assert f"{first}, {second}" not in verdict.text  # a hint is no solution
    for unread in ("", "lane", "1", "1 2 3"):
        assert stop.check(unread).state == "not yet"


@each("stop", WITH_MATRICES, ids=name)
def test_a_stop_shows_where_its_elements_are(stop: Stop) -> None:
    """A picture, with the formula beside it: also of what is copied, shifted or loaded as C."""
    fragments = _fragments(stop)
    assert _images(stop) and [fragment["image"] for fragment in fragments] and fragments[-1]["formula"]
    assert "without a register" not in stop.what_changed


@each("stop", [stop for stop in STOPS if stop.form.family == "tcgen05.cp"], ids=name)
def test_the_formula_of_a_copy_is_what_is_copied(stop: Stop) -> None:
    """Evaluated for every row and word, against the emulator's tensor memory."""
    form = stop.form
    assert isinstance(form, TensorTransfer)
    lines = dict(re.findall(r"(lane|column|copy) += (.+)", stop.formulas["T"]))
    copies = int(lines.pop("copy", "0..0").removeprefix("0..")) + 1
    rows, bits, _ = COPY_SHAPES[form.shape]
    source = np.arange(1, rows * bits // 32 + 1, dtype=np.uint32).reshape(rows, -1)
    expected = np.zeros((128, source.shape[1]), np.uint32)
    for (row, word), value in np.ndenumerate(source):
        for copy in range(copies):
            at = {"row": row, "word": word, "copy": copy}
            expected[eval(lines["lane"], at), eval(lines["column"], at)] = value
    plain = replace(form, source="")
    np.testing.assert_array_equal(copy_rows(plain, source, np.zeros_like(expected)), expected)
    if form.source:
        width, low = (
            int(number)
            for number in re.findall(r"bits (\d)j\.\.\dj\+\d of the source\) << (\d)", stop.formulas["T"])[0]
        )
        every = int.from_bytes(source[1, :4].astype("<u4").tobytes(), "little")
        bytes_ = bytes((every >> width * j & (1 << width) - 1) << low for j in range(16))
        lane = eval(lines["lane"], {"row": 1, "copy": 0})
        copied = copy_rows(form, source, np.zeros_like(expected))[lane, :4]
        assert copied.astype("<u4").tobytes() == bytes_


def test_the_formula_of_a_shift_is_what_is_shifted() -> None:
    (stop,) = (stop for stop in STOPS if stop.form.family == "tcgen05.shift")
    before, after = (fragment["image"] for fragment in _fragments(stop))
    assert before != after and "T[lane + 1][column], lane = 0..30" in stop.formulas["T'"]
    words = np.arange(128 * 8, dtype=np.uint32).reshape(128, 8)
    assert isinstance(stop.form, TensorTransfer)
    shifted = shift(stop.form, words)
    np.testing.assert_array_equal(shifted[:31], words[1:32])
    np.testing.assert_array_equal(shifted[31:], words[31:])


#: Stops whose D is empty, each with the reason that the Explorer gives: there are none.
WITHOUT_D: dict[str, str] = {}
#: Transfers that do not move what is changed in A: one reads column 0 only, one drops the first row.
NOT_MOVED = ("ld.32x32b.x1", "shift.down")


@pytest.mark.parametrize("walk", WALKS)
def test_stops_open_and_edit(walk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stop shows its instruction; one element of A becomes 0, and D follows or says why not.

    A product changes in that row alone. A transfer moves one element, or as many copies as it makes; one that
    unpacks elements makes two words of one.
    """
    monkeypatch.setenv("PTXLAB_PROGRESS", "/dev/null")
    shown = Walk(walk)
    every = one_in(6, list(range(len(shown.stops))))
    for number in every:
        shown.go(number)
        stop, ex = shown.stop, shown.explorer
        if stop.form.family in CONTROL_FAMILIES:
            assert stop.title == "without a matrix" and ex.page.layout.display == "none"
            continue
        assert ex.instruction.mnemonic == stop.form.mnemonic
        before, result = np.array(ex.A), np.array(ex.D)
        row, column = (int(index) for index in np.argwhere(before)[0])
        ex.apply(SetCell("A", row, column, "0"))  # which no structure of a sparse A forbids
        assert np.argwhere(before != ex.A).tolist() == [[row, column]], stop.title
        assert ex.view.instruction["matrices"]["D"].get("unknown", "") == WITHOUT_D.get(stop.title, ""), (
            stop.title
        )
        changed = np.argwhere(result != ex.D)
        if stop.title in WITHOUT_D:
            assert not changed.size
        elif walk != "transfer":
            assert set(changed[:, 0]) == {row}, stop.title
        else:
            copies = re.search(r"warpx(\d)", stop.title)
            moved = (1 + (".b8x16" in stop.title)) * (int(copies[1]) if copies else 1)  # .b8x16: unpacked
            assert len(changed) == (0 if stop.title in NOT_MOVED else moved), stop.title


def test_progress_is_kept(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_PROGRESS", f"{tmp_path}/progress.json")
    shown = ptxlab.walk("wgmma")
    question = shown.stop.question
    assert question is not None
    first, second = question.answers[0]
    assert not shown.answer(f"{first + 1} {second}")
    assert shown.bar.shown["verdict"]["state"] == "wrong" and not shown.bar.shown["stops"][0]["done"]
    assert shown.answer(f"lane {first}, register {second}")
    assert shown.bar.shown["stops"][0]["done"] and shown.stop.name in solved()
    assert not any(state == "right" for state in lessons.progress().states.values())
    again = ptxlab.walk("wgmma", stop=1)
    assert again.bar.shown["stops"][0]["done"] and again.bar.shown["number"] == 1


def test_messages_of_the_page() -> None:
    shown = ptxlab.walk("wgmma")
    for message in (
        None,
        {},
        {"action": "go", "stop": 99},
        {"action": "answer", "text": 3},
    ):
        shown._receive(message)
    assert shown.stop.number == 0
    shown._receive({"action": "go", "stop": 2})
    assert shown.stop.number == 2 and "m64n8k16" in shown.explorer.instruction.mnemonic


def test_refusals_say_what_is_wrong() -> None:
    with pytest.raises(PtxlabError, match="found no walk 'mm'; there are mma, mma.sp, block-scaled"):
        ptxlab.walk("mm")
    with pytest.raises(PtxlabError, match="stop"):
        ptxlab.walk("mma", stop=99)
    with pytest.raises(PtxlabError, match="no stop with 'x{50,60}[.]{3}; it goes"):
        ptxlab.walk("mma", stop="x" * 999)
    with pytest.raises(PtxlabError, match="title: found 3; it takes a name"):
        ptxlab.walk("wgmma").save_html("x.html", title=3)  # type: ignore[arg-type]


def test_at_a_glance() -> None:
    """Every layout with its fragments, and a link that the walk, a saved page and the site follow."""
    html = glance_html(stops("mma.sp"))
    links = re.findall(r'<a href="#walk-mma\.sp-(\d+)"', html)
    assert links == [str(stop.number + 1) for stop in stops("mma.sp")]
    assert html.count("<img") >= 3 * len(links)
    sizes = re.findall(r'style="width:(\d+)px;height:(\d+)px', glance_html(stops("block-scaled")))
    assert len(sizes) >= 4 * len(stops("block-scaled"))  # scale factors, too
    assert all(16 <= int(side) <= 128 for size in sizes for side in size)
    assert ptxlab.walk("mma.sp").table._repr_html_() == html
    names = re.findall(r"<img[^>]*>", glance_html(stops("transfer")))
    assert all(re.fullmatch(r'<img alt="[^"<>]+" style="[^"]+" src="[^"]+">', tag) for tag in names)
    assert any('alt="T&#x27;"' in tag for tag in names)
    assert ">cp.<wbr>4x256b</a>" in glance_html(stops("transfer"))  # broken after a dot, not in a word
    address = 'href="../explorers/walk-mma.sp.html#walk-mma.sp-3" target="walk-mma.sp"'
    assert address in links_to_stops(HtmlText(html))


@pytest.mark.parametrize("walk", WALKS)
def test_small_pictures_can_be_seen(walk: str) -> None:
    """Also of one column of 32 lanes, or of 256 bits; what a matrix leaves free is grey on any page."""
    html = glance_html(stops(walk))
    sizes = [int(size) for pair in re.findall(r"width:(\d+)px;height:(\d+)px", html) for size in pair]
    assert min(sizes) >= 16 and max(sizes) <= 128
    image = _images(stops("tcgen05")[0])[0]["image"]
    file = base64.b64decode(image.partition("base64,")[2])
    at = file.index(b"tRNS")
    opacity = file[at + 4 : at + 4 + int.from_bytes(file[at - 4 : at], "big")]
    assert set(opacity[:-1]) == {255} and opacity[-1] < 128


def test_a_notebook_without_its_kernel_shows_the_stop() -> None:
    """Its name, what is new, the picture of its matrices, and the formulas."""
    shown = ptxlab.walk("wgmma", 1)
    html = shown.static_html()
    assert (
        "stop 2 of 6" in html
        and shown.stop.title.replace(">", "&gt;") in html
        and shown.stop.what_changed in html
    )
    assert "data:image/svg+xml" in html and "groupID" in html
    shown.go(2)
    assert "stop 3 of 6" in shown.static_html()


def saved(path: Path) -> tuple[dict[str, Any], list[Any]]:
    """The stops of a saved page, and what its Explorer shows at each."""

    def unpack(value: Any) -> Any:
        if isinstance(value, dict) and "deflated" in value:
            raw = zlib.decompress(base64.b64decode(value["deflated"]))
            return json.loads(raw) if value.get("json") else raw
        if isinstance(value, dict):
            return {key: unpack(inner) for key, inner in value.items()}
        return [unpack(inner) for inner in value] if isinstance(value, list) else value

    (text,) = re.findall(
        r'<script type="application/json" id="saved">(.*?)</script>', path.read_text("utf-8")
    )
    page = json.loads(text)
    return unpack(page["walk"]), [unpack(explorer) for explorer in page["explorers"]]


def test_saved_as_a_page(tmp_path: Path) -> None:
    """Every stop, with the answers and the hints of its question; the matrices of this one as edited."""
    shown = ptxlab.walk("wgmma", 1)
    shown.explorer.apply(SetCell("A", 0, 0, "99"))
    path = shown.save_html(tmp_path / "wgmma.html")
    assert path.stat().st_size < 1_200_000
    walk, explorers = saved(path)
    assert walk["start"] == 1 and [stop["title"] for stop in walk["stops"]] == [s.title for s in shown.stops]
    assert [explorer["state"]["instruction"]["mnemonic"] for explorer in explorers] == [
        stop.form.mnemonic for stop in shown.stops
    ]
    assert "99" in explorers[1]["lanes"]["A"]["fields"]["text"][0][0]
    assert shown.stop.number == 1 and shown.explorer.A[0, 0] == 99  # saving changes nothing
    for stop, page in zip(shown.stops, walk["stops"], strict=True):
        assert stop.question is not None
        assert [tuple(answer) for answer in page["answers"]] == list(stop.question.answers)
        for lane, registers in enumerate(page["hints"]["held"]):
            for register, hint in enumerate(registers):
                if (lane, register) not in stop.question.answers:
                    assert stop.check(f"{lane} {register}").text.endswith(hint)
        assert 'ptxlab.walk("wgmma", ' in explorers[stop.number]["refusal"]


def test_a_page_of_stops_without_a_matrix(tmp_path: Path) -> None:
    shown = ptxlab.walk("transfer", len(stops("transfer")) - 1)
    walk, explorers = saved(shown.save_html(tmp_path / "transfer.html"))
    without = [number for number, explorer in enumerate(explorers) if explorer is None]
    assert without == [stop.number for stop in shown.stops if stop.form.family in CONTROL_FAMILIES] != []
    assert all(walk["stops"][number]["question"] == {} for number in without)
    with pytest.raises(PtxlabError, match="a page is written as .html"):
        shown.save_html(tmp_path / "x.pdf")
