"""The generated pages of the documentation: every form is there, and pictures agree with the layouts."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

import ptxlab
from ptxlab.isa.catalog import REGISTER_FAMILIES
from ptxlab.lessons import LESSONS
from tools import address
from tools.check_links import broken_links

nbformat = pytest.importorskip("nbformat")

from benchmarks import predict  # noqa: E402
from tools.site import (  # noqa: E402
    api,
    course,
    element_types,
    families,
    machine_code,
    numerics,
    predicted_times,
)
from tools.site.groups import fragments, groups  # noqa: E402
from tools.site.markdown import table  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The page of each family, written once."""
    return {family: str(families.page(family)) for family in REGISTER_FAMILIES}


@pytest.mark.slow
@pytest.mark.parametrize("family", REGISTER_FAMILIES)
def test_every_form_is_on_its_page(pages: dict[str, str], family: str) -> None:
    lines = set(pages[family].splitlines())
    for ins in ptxlab.catalog(family):
        assert ins.mnemonic in lines


@pytest.mark.slow
def test_fragments_after_the_first_unfold(pages: dict[str, str]) -> None:
    """A page with twenty fragments would otherwise be fifty screens high."""
    for family, text in pages.items():
        distinct = fragments(groups(family, ptxlab.catalog(family)))
        folded = re.findall(r"^(:{4,})\{dropdown\} Picture, formula and registers$.*?^\1$", text, re.M | re.S)
        assert len(folded) == len(distinct) - len({fragment.role for fragment in distinct})


@pytest.mark.slow
def test_labels_are_unique_and_links_have_targets(pages: dict[str, str]) -> None:
    texts = [*pages.values(), str(machine_code.page()), str(element_types.page())]
    labels = [label for text in texts for label in re.findall(r"^\(([\w-]+)\)=$", text, flags=re.M)]
    assert len(labels) == len(set(labels))
    links = {link for text in texts for link in re.findall(r"\]\(#([\w-]+)\)", text)}
    assert links <= set(labels)
    assert len(links) > 100


@pytest.mark.slow
@pytest.mark.parametrize("family", REGISTER_FAMILIES)
def test_pictures_agree_with_the_layouts(pages: dict[str, str], family: str) -> None:
    """What the pictures say of an element, against the coordinates of the catalogue's layouts."""
    layouts = {
        (operand.name, operand.layout)
        for ins in ptxlab.catalog(family)
        for operand in ins.operands.values()
        if operand.layout is not None
    }
    known = {
        (name, row, col, lane, element)
        for name, layout in layouts
        for lane, cells in enumerate(layout.coords().tolist())
        for element, (row, col) in enumerate(cells)
    }
    titles = re.findall(
        r"<title>(?:stored |compressed )?([A-Z])\[(\d+)\]\[(\d+)\].*?\n"
        r"(?:lane|thread) (\d+), element [a-z](\d+)",
        pages[family],
    )
    shown = {(name, *map(int, numbers)) for name, *numbers in titles}
    assert len(shown) >= 32
    assert shown <= known


@pytest.mark.slow
def test_tiles_have_each_offset_once(pages: dict[str, str]) -> None:
    """In a picture of shared memory every 16-byte vector has an offset of its own."""
    pictures = [svg for page in pages.values() for svg in re.findall(r"<svg.*?</svg>", page, flags=re.S)]
    tiles = [offsets for svg in pictures if (offsets := re.findall(r">0x([0-9a-f]{4})</text>", svg))]
    assert tiles
    for offsets in tiles:
        assert len(set(offsets)) == len(offsets)
        assert all(int(offset, 16) % 16 == 0 for offset in offsets)


@pytest.mark.parametrize("family", REGISTER_FAMILIES)
def test_groups_hold_every_form_once(family: str) -> None:
    forms = ptxlab.catalog(family)
    sections = groups(family, forms)
    assert sorted(ins.mnemonic for group in sections for ins in group.forms) == sorted(map(str, forms))
    assert all(fragment.users for fragment in fragments(sections))


def table_rows(text: str) -> dict[str, str]:
    """The rows of each group as plain text, by its label; only the first row of a group links to it."""
    rows: dict[str, str] = {}
    label = ""
    for line in text.splitlines():
        link = re.match(r"\| \[`[\w]+`\]\(#([\w-]+)\)", line)
        if link:
            label = link[1]
        if line.startswith("|"):
            rows[label] = rows.get(label, "") + re.sub(r"\{bdg-\w+\}|`", "", line) + "\n"
    return rows


def test_what_the_chips_run() -> None:
    """Each form is counted in a row of its family, and cells say what the record says."""
    text = str(machine_code.page())
    for family in REGISTER_FAMILIES:
        section = text.split(f"(machine-code-{family.replace('.', '-')})=")[1].split("\n(")[0]
        assert sum(map(int, re.findall(r"<br>(\d+) forms?", section))) == len(ptxlab.catalog(family)), family
    rows = table_rows(text)
    assert "| - | native 1 HMMA.16816.F32 |" in rows["mma-m16n8k16-f16-bf16"]
    native, emulated = "native 1 QMMA.16832.F32", "emulated 2 HMMA.16816.F32 + 16 others"
    assert f"{native} | {emulated} | {emulated} | {native}" in rows["mma-m16n8k32-e4m3-e5m2"]
    oldest = "split 4 HMMA.884.F32.F32 | emulated 84 to 113 others, no tensor core"
    assert oldest in rows["mma-m8n8k4-f16"]
    assert "native 1 HGMMA.64xNx16.F32" in rows["wgmma-m64nnk16-f16-bf16"]
    for finding in machine_code.FINDINGS:
        assert all(f"`{mnemonic}`" in text for mnemonic, _ in finding.examples)


def test_every_model_is_on_the_page_of_the_arithmetic() -> None:
    text = str(numerics.page())
    assert all(model.source in text for model in ptxlab.models())
    assert text.count("Source: ") == len(ptxlab.models())


def test_predicted_times_are_on_a_page_and_the_worst_in_the_guide() -> None:
    rows = [line for line in str(predicted_times.page()).splitlines() if re.search(r"\| [+-]\d+% \|", line)]
    assert len(rows) == len(json.loads(predict.PREDICTED.read_text(encoding="utf-8")))
    guide = (ROOT / "docs" / "guide" / "prediction.md").read_text(encoding="utf-8")
    worst = predict.table(predict.WORST)
    assert worst in guide, "python -m benchmarks.predict --page writes it"
    assert worst.splitlines()[-predict.WORST :] == rows[: predict.WORST]


def test_every_type_has_a_section() -> None:
    text = str(element_types.page())
    assert all(f"(type-{name})=" in text for name in ptxlab.DTYPES)
    assert "| `0x_` | 0 | 0.5 | 1 | 1.5 | 2 | 3 | 4 | 6 | -0 |" in text, "the codes of e2m1"


def test_every_lesson_is_in_the_book() -> None:
    listed = re.findall(r"<([\w-]+)>$|^(\w+)$", course.contents(), flags=re.M)
    assert [name or other for name, other in listed] == [lesson.file for lesson in LESSONS]
    notebook = course.prepared(LESSONS[0])
    nbformat.validate(notebook)
    assert "copies to point at; to type into them, run the lesson" in notebook.cells[0].source
    assert notebook.cells[1].metadata.tags == ["remove-cell"] and "lite/" not in notebook.cells[0].source
    in_a_tab = course.prepared(LESSONS[0], web=True).cells[0].source
    assert f"../lite/notebooks/index.html?path={LESSONS[0].file}.ipynb" in in_a_tab
    assert "%pip" not in "".join(cell.source for cell in notebook.cells)
    assert ("colab" in in_a_tab) == address.is_published()
    assert next(cell for cell in notebook.cells[2:] if cell.cell_type == "code").source == "import ptxlab"


def test_api_pages_name_what_exists() -> None:
    """Each page of docs/api lists objects of the package, and the index leads to every page."""
    index = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    for page in api.PAGES:
        assert f"({page.file}.rst)" in index
        assert not page.names or not page.names[0].endswith("Form")  # what users hold comes first
        for module, names in ((page.module, page.names), *page.modules):
            assert all(hasattr(importlib.import_module(module), name) for name in names)


def test_tables_are_markdown() -> None:
    assert table(("a", "b"), [("1", "")], numbers=(0,)) == "| a | b |\n| ---: | --- |\n| 1 |   |"


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = '<a href="b.html#here">b</a><a href="b.html#nowhere">c</a><a href="c.html">d</a>'
    (tmp_path / "a.html").write_text(
        page + '<img src="https://example.org/x.png"><a href="https://x.org">e</a>'
    )
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1><script src="missing.js"></script>')
    packed = '<a href="walk.html#stop-3">f</a><img src="data:image/png;base64,AAAA">'
    (tmp_path / "walk.html").write_text(f'<script id="saved"></script>{packed}')
    assert broken_links(tmp_path) == [
        "a.html loads https://example.org/x.png from elsewhere",
        "a.html links to b.html#nowhere, which has no such anchor",
        "a.html links to c.html, which does not exist",
        "b.html links to missing.js, which does not exist",
    ]
