"""The site: every family and form is on it, every link leads somewhere, nothing is asked of the network, and the HTML is whole."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import ptxlab
from docs import chips, markdown
from docs.build import build
from docs.page import Page
from docs.shell import wrap
from ptxlab.isa.catalog import FAMILIES

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
ELSEWHERE = ("https://docs.nvidia.com/",)


@dataclass
class Document(HTMLParser):
    """What a page holds; `faults` are tags that do not match and ids that are there twice."""

    text: str
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    headings: list[tuple[str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]
        self.faults += [
            f"id {name} is there {count} times" for name, count in Counter(self.ids).items() if count > 1
        ]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if len(given) != len(attrs):
            self.faults.append(f"<{tag}> has an attribute twice, line {self.getpos()[0]}")
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.append(str(given["href"]))
        elif tag == "link":
            self.loads.append(str(given["href"]))
        self.loads += [
            str(given[name]) for name in ("src", "srcset", "data", "poster", "action") if name in given
        ]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((tag, str(given.get("id", ""))))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"rect", "path", *VOID}:
            self.faults.append(f"<{tag}/> closes itself")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else, line {self.getpos()[0]}")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@dataclass
class Site:
    folder: Path
    pages: dict[str, Document]
    index: dict[str, list[Any]]
    left_out: list[str]
    said: list[str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The whole site, built once: it takes seconds."""
    folder = tmp_path_factory.mktemp("site")
    said: list[str] = []
    left_out = build(folder, say=said.append)
    pages = {path.name: Document(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.html"))}
    listed = re.match(
        r"const INDEX = (.*?);\n// ", (folder / "search.js").read_text(encoding="utf-8"), flags=re.S
    )
    assert listed
    return Site(folder, pages, json.loads(listed[1]), left_out, said)


def test_every_family_has_its_page_and_the_first_page_leads_to_all(site: Site) -> None:
    first = site.pages["index.html"]
    names = {"".join(page.words[:40]).strip() for page in site.pages.values()}
    assert len(names) == len(site.pages)
    for family in FAMILIES:
        page = site.pages[f"{family.replace('.', '-')}.html"]
        assert page.headings[0] == ("h1", family.replace(".", "-"))
    assert set(site.pages) <= {"index.html", *first.links}
    assert f"{len(ptxlab.catalog()):,}" in "".join(first.words) or str(len(ptxlab.catalog())) in "".join(
        first.words
    )


def test_every_form_is_found_and_shown(site: Site) -> None:
    """The search leads to the section whose list of spellings has the mnemonic."""
    rows = {
        name: (site.index["pages"][page], site.index["anchors"][anchor])
        for name, _, page, anchor in site.index["rows"]
    }
    shown = {name: set(page.words) for name, page in site.pages.items()}
    for ins in ptxlab.catalog():
        file, anchor = rows[ins.mnemonic]
        assert ins.mnemonic in shown[file], ins.mnemonic
        assert anchor in site.pages[file].ids, ins.mnemonic


def test_the_search_leads_somewhere(site: Site) -> None:
    for name, about, page, anchor in site.index["rows"]:
        assert site.index["anchors"][anchor] in site.pages[site.index["pages"][page]].ids, name
        assert site.index["abouts"][about], name
    found = {name for name, *_ in site.index["rows"]}
    assert {"s4", "e4m3", "ptxlab.catalog", "ptxlab where", "sm_90"} <= found


def test_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    for name, page in site.pages.items():
        assert all((site.folder / target).is_file() for target in page.loads), name
        for target in page.links:
            if target.startswith(ELSEWHERE):
                continue
            assert "://" not in target, f"{name} links to {target}"
            file, _, anchor = target.partition("#")
            other = site.pages[file or name]
            assert not anchor or unquote(anchor) in other.ids, f"{name}: {target}"
    for name in ("site.css", "search.js"):
        assert not re.search(
            r"https?:|//[a-z]|@import|url\(|fetch|XMLHttp|import\(",
            (site.folder / name).read_text(encoding="utf-8"),
        ), name


def test_pages_are_whole(site: Site) -> None:
    for name, page in site.pages.items():
        assert not page.faults, f"{name}: {page.faults[:3]}"
        assert all(anchor in page.ids for _, anchor in page.headings), name
        assert [tag for tag, _ in page.headings].count("h1") == 1, name
        assert "None" not in {word.strip() for word in page.words}, name


def test_nothing_is_left_out_and_the_site_stays_small(site: Site) -> None:
    assert not site.left_out
    assert sum(path.stat().st_size for path in site.folder.iterdir()) < 15e6
    assert len(site.said) > len(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_figures_say_what_the_layouts_say(site: Site, family: str) -> None:
    """What the figures tell of an element when pointed at, against the coordinates of the catalogue's layouts."""
    layouts = {
        (op.name, op.layout)
        for ins in ptxlab.catalog(family)
        for op in ins.operands.values()
        if op.layout is not None
    }
    known = {
        (name, row, column, lane, element)
        for name, layout in layouts
        for lane, held in enumerate(layout.coords().tolist())
        for element, (row, column) in enumerate(held)
    }
    text = (site.folder / f"{family.replace('.', '-')}.html").read_text(encoding="utf-8")
    told = re.findall(
        r"<title>(?:stored )?([A-Z])\[(\d+)\]\[(\d+)\].*?\nlane (\d+), element [a-z](\d+)", text
    )
    places = {(name, *map(int, numbers)) for name, *numbers in told}
    assert len(places) >= 32
    assert places <= known


def test_tiles_have_every_offset_once(site: Site) -> None:
    """In a figure of shared memory every 16-byte piece has an offset of its own."""
    figures = [
        found
        for name in site.pages
        for found in re.findall(
            r"<figure.*?</figure>", (site.folder / name).read_text(encoding="utf-8"), flags=re.S
        )
    ]
    tiles = [found for figure in figures if (found := re.findall(r">0x([0-9a-f]{4})</text>", figure))]
    assert tiles
    for offsets in tiles:
        assert len(set(offsets)) == len(offsets) and all(int(offset, 16) % 16 == 0 for offset in offsets)


def test_what_the_chips_run_is_shown(site: Site) -> None:
    """Every form that multiplies is under a row of its shape, and cells say what the record says of one form alone."""
    page = site.pages["chips.html"]
    text = (site.folder / "chips.html").read_text(encoding="utf-8")
    for family in FAMILIES:
        counts = re.findall(r"<small>(\d+) forms?", re.split(r"<h2 ", text)[3 + FAMILIES.index(family)])
        assert sum(map(int, counts)) == len(ptxlab.catalog(family)), family
    rows = dict(re.findall(r'<tbody id="([^"]+)">\n(.*?)</tbody>', text, flags=re.S))
    linked = {target for other in site.pages.values() for target in other.links}
    assert {f"chips.html#{name}" for name in rows} <= linked
    plain = {name: re.sub(r"<[^>]*>", "", row).replace("&nbsp;", " ") for name, row in rows.items()}
    assert "-native 1 HMMA.16816.F32" in plain["mma-m16n8k16-f16-bf16"]
    assert (
        "native 1 QMMA.16832.F32emulated 2 HMMA.16816.F32 + 16 othersnative 1 QMMA.16832.F32"
        in plain["mma-m16n8k32-e4m3-e5m2"]
    )
    assert "split 4 HMMA.884.F32.F32emulated 84 to 113 others, no tensor core" in plain["mma-m8n8k4-f16"]
    assert "native 1 HGMMA.64xNx16.F32" in plain["wgmma-m64nnk16-f16-bf16"]
    for _, shown in chips.FINDINGS:
        assert all(mnemonic in page.words for mnemonic, _ in shown)


def test_markdown_pages() -> None:
    text = "# What it *takes*\n\nFirst `x < y`.\n\n## Part\n\n| a | b |\n|---|---|\n| 1 | <b> |\n\n[there](types.md#s4)\n\n```ptx\nmma <&>\n```\n\n## Part\n"
    page = markdown.build("sample", text)
    assert (page.file, page.title, page.about) == ("sample.html", "What it takes", "First x < y.")
    assert [heading.anchor for heading in page.headings] == ["part", "part-2"]
    document = Document(wrap(page, [page]))
    assert not document.faults
    assert "types.html#s4" in document.links
    assert "mma <&>" in document.words and "<b>" in "".join(document.words)


def test_a_site_is_the_same_every_time(site: Site, tmp_path: Path) -> None:
    family = FAMILIES[-1]
    build(tmp_path, [family], say=lambda line: None)
    name = f"{family.replace('.', '-')}.html"
    one, other = (
        (folder / name).read_text(encoding="utf-8").partition("<nav")[0] for folder in (site.folder, tmp_path)
    )
    assert one == other


def test_ids_of_a_page_differ() -> None:
    page = Page("a.html", "a")
    assert [page.head(2, "One & two") for _ in range(3)] == ["one-two", "one-two-2", "one-two-3"]
    assert page.headings[0].text == "One & two"
