"""The static page, read as a file: it has what the state has, loads nothing, and text in it stays text."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html.parser
import json
import re
import xml.etree.ElementTree as ET
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError

pytest.importorskip("anywidget")

from ptxlab.explorer.edits import SetCell
from ptxlab.explorer.saving import static_html
from ptxlab.views import static_fallback
from tests.cases import each
from tests.sampling import one_in
from tests.texts import replaced
from tools.site.kernel import write_explorer

SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
FORMS = [
    SPARSE,
    SCALED,
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
]


class Reader(html.parser.HTMLParser):
    """Tags, the policy, the title, and the scripts by their type."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.policy, self.title, self.heading = "", "", ""
        self.scripts: dict[str, str] = {}
        self._inside: tuple[str, str] = ("", "")
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        attributes = dict(attrs)
        self.tags.append(tag)
        self._inside = (tag, attributes.get("type", ""))
        assert not {"src", "href"} & set(attributes), f"<{tag}> asks for another file"
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ("", "")

    def handle_data(self, data: str) -> None:
        tag, kind = self._inside
        self.title += data if tag == "title" else ""
        self.heading += data if tag == "h1" else ""
        if tag == "script":
            self.scripts[kind] = self.scripts.get(kind, "") + data


def inflate(value: Any) -> Any:
    """What was packed, plain again."""
    if isinstance(value, dict) and "deflated" in value:
        raw = zlib.decompress(base64.b64decode(value["deflated"]))
        return json.loads(raw) if value.get("json") else raw
    if isinstance(value, dict):
        return {key: inflate(inner) for key, inner in value.items()}
    return [inflate(inner) for inner in value] if isinstance(value, list) else value


def read(path: Path) -> tuple[Reader, Any]:
    page = Reader(path.read_text(encoding="utf-8"))
    return page, inflate(json.loads(page.scripts["application/json"]))


@pytest.mark.slow
@pytest.mark.parametrize("mnemonic", one_in(3, list(FORMS)))
def test_the_page_holds_what_the_bench_has(mnemonic: str, tmp_path: Path) -> None:
    ex = ptxlab.explore(mnemonic, seed=3)
    path = ex.save_html(tmp_path / "x.html")
    assert path.stat().st_size < 685_000
    page, saved = read(path)
    assert page.title == mnemonic and page.heading == ""
    ins, state = ex.instruction, saved["state"]
    kind = {"float": np.float64 if ins.d.dtype.bits == 64 else np.float32}.get(ins.d.dtype.kind, np.int32)
    np.testing.assert_array_equal(np.frombuffer(state["D"]["values"], kind).reshape(ins.d.shape), ex.D)
    for name, operand in ins.operands.items():
        found = saved["lanes"][name]
        if operand.layout is None:
            assert found["count"] == 0
            continue
        assert [[int(word, 16) for word in lane] for lane in found["own"]["hex"]] == ex.registers[
            name
        ].tolist()
        coords = operand.layout.coords()
        fields = found["fields"]
        for lane in range(ins.lanes):
            cells = {
                element: (row, column)
                for elements, rows, columns in zip(
                    fields["element"][lane], fields["row"][lane], fields["column"][lane], strict=True
                )
                for element, row, column in zip(elements, rows, columns, strict=True)
            }
            assert [cells[element] for element in range(len(cells))] == [
                tuple(cell) for cell in coords[lane].tolist()
            ]


@pytest.mark.slow
def test_every_trait_of_the_view_is_saved(tmp_path: Path) -> None:
    ex = ptxlab.explore(SPARSE)
    ex.lane = 7
    ex.view.colour_by, ex.view.zoom, ex.view.problem = "value", 150, "found '</script>'"
    _, saved = read(ex.save_html(tmp_path / "x.html"))
    # Without what is put together for each lane, and what only a notebook offers.
    wanted = set(type(ex.view).__annotations__) - {"lane_registers", "picker_index", "candidates"}
    assert {"instruction", "A", "E", "lane", "colour_by", "trace"} <= wanted == set(saved["state"])
    assert (saved["state"]["lane"], saved["state"]["colour_by"], saved["state"]["zoom"]) == (7, "value", 150)
    assert saved["state"]["problem"] == ""
    toolbar = saved["state"]["toolbar"]
    assert {"label", "colour_by", "zoom"} == {control["trait"] for control in toolbar["controls"]}
    assert toolbar["static"]


@pytest.mark.slow
def test_a_saved_page_has_the_steps_of_its_cells(tmp_path: Path) -> None:
    """The bits of one cell; the dot products of all cells where D is small."""
    ex = ptxlab.explore(SCALED)
    ex.view.selected = {"name": "D", "row": 9, "column": 5}
    _, saved = read(ex.save_html(tmp_path / "x.html"))
    trace = saved["state"]["trace"]
    assert (trace["row"], trace["column"]) == (9, 5) and trace["grids"] and trace["notes"]
    assert [(trace["row"], trace["column"]) for trace in saved["traces"]] == [
        (row, column) for row in range(16) for column in range(8)
    ]
    assert "D[9][5]" in saved["not_saved"]


@pytest.mark.slow
def test_the_way_back_to_a_notebook(tmp_path: Path) -> None:
    ex = ptxlab.explore(SCALED, seed=11)
    ex.lane = 9
    _, saved = read(ex.save_html(tmp_path / "x.html"))
    found: dict[str, Any] = {}
    exec(replaced(saved["code"], "ptxlab.explore", "again = ptxlab.explore"), found)
    np.testing.assert_array_equal(found["again"].D, ex.D)
    assert found["again"].lane == 9
    assert "D computed by the emulator (" in saved["notes"][1]


@pytest.mark.slow
def test_it_asks_nobody(tmp_path: Path) -> None:
    path = ptxlab.explore(SPARSE).save_html(tmp_path / "x.html")
    page, _ = read(path)
    data = page.scripts["application/json"]
    for word in (
        "http:",
        "https:",
        "//cdn",
        "@import",
        "url(",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "import(",
        "eval(",
        "innerHTML",
    ):
        assert word not in path.read_text(encoding="utf-8").replace(data, ""), word
    script = page.scripts["module"]
    assert not re.search(r"^import\b", script, flags=re.M)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert page.policy.startswith("default-src 'none'; ") and f"script-src 'sha256-{digest}';" in page.policy


@pytest.mark.parametrize(
    "text",
    [
        "</script><img src=x onerror=alert(1)>",
        "<!--<script>",
        "a & b \u2028 \"c\" 'd' $title ${saved} </title>",
    ],
)
def test_text_stays_text(text: str, tmp_path: Path) -> None:
    plain, _ = read(static_html.write_page(tmp_path / "plain.html", "", "name", {}))
    page, saved = read(
        static_html.write_page(tmp_path / "x.html", text, "name", {"notes": [text], "long": [text] * 100})
    )
    assert (plain.title, plain.heading) == ("name", "") and page.title == page.heading == text
    assert saved == {"notes": [text], "long": [text] * 100}
    assert page.tags == plain.tags
    assert not set("<>&") & set(page.scripts["application/json"])


def test_refused_paths(tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    wrong = {
        "x.pdf": "x.pdf: a page is written as .html, found '.pdf'",
        "x": "x: a page is written as .html, found 'no suffix'",
        "none/x.html": f"the folder {tmp_path / 'none'} does not exist",
        "folder.html": "the page could not be written",
        f"{'a' * 300}.html": "could not be written",
    }
    for name, part in wrong.items():
        with pytest.raises(PtxlabError, match=re.escape(part)) as error:
            static_html.write_page(tmp_path / name, "", "name", {})
        assert "\n" not in str(error.value)
    with pytest.raises(PtxlabError, match="x.pdf: a page is written as .html"):
        ptxlab.explore(SPARSE).save_html("x.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]
    assert static_html.check_path(str(tmp_path / "x.HTML")) == tmp_path / "x.HTML"


# -- what a saved notebook keeps -------------------------------------------------------------------------

IMAGE = re.compile(  # a wide one scrolls
    r'(?:<div [^>]*>)?<img [^>]* alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">(?:</div>)?'
)
LARGE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
TRANSFER = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"


@each("name", [*FORMS, LARGE, "tcgen05.mma.cta_group::1.kind::f16", TRANSFER])
def test_an_explorer_leaves_an_image_in_the_notebook(name: str) -> None:
    """One small image beside the widget, with the numbers of D where there is room for them."""
    ex = ptxlab.explore(name)
    data, _ = ex._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data and len(data["text/html"]) < 70_000
    match = IMAGE.fullmatch(data["text/html"])
    assert match and name in match[1]
    words = {node.text for node in ET.fromstring(base64.b64decode(match[2])).iter() if node.text}
    if name in FORMS:  # numbers of two letters stand there letter by letter
        assert {text for value in np.ravel(ex.D).tolist() if len(text := f"{value:g}") > 2} <= words
    ex.close()


def test_no_image_of_what_has_no_picture() -> None:
    ex = ptxlab.explore("tcgen05.shift.cta_group::1.down")
    assert ex.static_html() == "" and "text/html" not in ex._repr_mimebundle_()[0]
    ex.close()


def test_the_image_follows_the_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edits in a row draw it once, after the last; a closed Explorer leaves an empty place."""
    updates: list[str] = []
    handle = SimpleNamespace(update=lambda data, raw: updates.append(data["text/html"]))
    monkeypatch.setattr(static_fallback, "PAUSE", 0.05)

    async def edit() -> None:
        ex = ptxlab.explore("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        ex._saved = (handle,)
        for text in ("0.125", "0.375"):
            ex.apply(SetCell("A", 0, 0, text))
        await asyncio.sleep(0.3)
        ex.apply(SetCell("A", 0, 0, "0.5"))
        ex.close()
        await asyncio.sleep(0.3)

    with ThreadPoolExecutor(1) as other:  # in this thread a browser's loop may run
        other.submit(asyncio.run, edit()).result()
    image, closed = updates
    assert ">0.375<" in base64.b64decode(image.split(";base64,")[1].split('"')[0]).decode()
    assert "<img" not in closed and closed.startswith("<style>")


def test_the_frame_leaves_the_picture_as_it_is() -> None:
    shown = static_fallback._output("abc", "<p>form-ID 7</p>")["text/html"]
    assert shown.endswith('<div class="ptx-saved-abc"><p>form-ID 7</p></div>') and ".ptx-live-abc" in shown


def test_a_widget_has_its_class_before_it_is_shown() -> None:
    """The picture hides where there is an element of this class."""
    ex = ptxlab.explore(SPARSE)
    assert ex.get_state(["_dom_classes"]) == {"_dom_classes": (f"ptx-live-{ex.model_id}",)}
    ex.close()


def test_a_terminal_gets_one_output() -> None:
    ex = ptxlab.explore(SPARSE)
    with pytest.raises(NotImplementedError):  # so that IPython asks for the bundle
        ex._ipython_display_()
    ex.close()


SHOWN = f"""import ptxlab, numpy as np
from ptxlab import figures, views
from ptxlab.course.slider import Slider
ex = ptxlab.explore({SPARSE!r})
display(ex)
closed = ptxlab.explore({SPARSE!r})
display(closed)
closed.close()
twice = ptxlab.kernel('extern "C" __global__ void twice(float* x) {{ x[threadIdx.x] *= 2; }}')
display(twice.simulate(1, 32, np.arange(32, dtype=np.float32), trace=True))
slider = Slider(views.nibble, nibble=[0b0100, 0b1110])
slider.step = 1
display(slider)
ins = ptxlab.instruction({SPARSE!r})
display(figures.lane(ins, "B", 5, ins.b.pack(np.ones(ins.b.shape))))
twice.simulate(1, 32, np.arange(32, dtype=np.float32))"""
#: What GitHub leaves of the HTML of a notebook, at most: no scripts, no styles, no links to elsewhere.
TAGS = {"div", "span", "p", "table", "thead", "tbody", "tr", "th", "td", "img", "b", "i", "code", "pre", "h4"}


def test_a_notebook_read_without_a_kernel() -> None:
    """As nbconvert and nbviewer show it: images and pages instead of widgets, nothing of what was closed."""
    nbclient, nbconvert = pytest.importorskip("nbclient"), pytest.importorskip("nbconvert")
    nbformat, bleach = pytest.importorskip("nbformat"), pytest.importorskip("bleach")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SHOWN)])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3", store_widget_state=False).execute()
    outputs = [output.data for output in book.cells[0].outputs]
    is_widget = ["application/vnd.jupyter.widget-view+json" in data for data in outputs]
    assert is_widget == 2 * [True, False] + [False] + [True, False] + 3 * [False]
    assert [len(data.get("text/html", "")) < 70_000 for data in outputs] == [True] * 10
    assert len({outputs[i]["text/html"].split("ptx-saved-")[1][:32] for i in (1, 3, 6)}) == 3
    page, _ = nbconvert.HTMLExporter().from_notebook_node(book)
    assert page.count('src="data:image/svg+xml;base64,') == 3 and page.count('<div class="ptx-profile">') == 2
    assert "Explorer: run this cell to use it" in page
    for output, said in ((1, "D = A B"), (6, "Nibble 0b1110"), (8, "B in lane 5")):
        left = bleach.clean(outputs[output]["text/html"], TAGS, {"img": ["src", "alt"]}, ["data"], strip=True)
        (image,) = re.findall(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">', left)
        assert said in image[0]
        svg = base64.b64decode(image[1]).decode()
        assert ET.fromstring(svg).tag.endswith("svg") and "<script" not in svg
        assert not re.search(r'(?:href|src)="(?!data:|#)', svg), "an image may not load anything"
    left = bleach.clean(outputs[-1]["text/html"], TAGS, strip=True)
    assert "x[threadIdx.x] *= 2" in html.unescape(re.sub("<[^>]+>", "", left))


def test_a_lesson_without_the_browser_edition_promises_nothing(tmp_path: Path) -> None:
    """The page of the site says where a number can be changed; beside try/ it may load Python from there."""
    explorer = ptxlab.explore(FORMS[2])
    without = Reader(write_explorer(tmp_path / "a.html", explorer, wakes=False).read_text(encoding="utf-8"))
    saved = inflate(json.loads(without.scripts["application/json"]))
    assert saved["live"] == "" and "Open live" not in saved["refusal"] + saved["how_to_change"]
    assert "connect-src" not in without.policy
    beside = Reader(write_explorer(tmp_path / "b.html", explorer, wakes=True).read_text(encoding="utf-8"))
    assert "connect-src 'self'" in beside.policy and "worker-src 'self'" in beside.policy
    assert inflate(json.loads(beside.scripts["application/json"]))["python"] == "../try/settings.json"
