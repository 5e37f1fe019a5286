"""python -m tools.sheets [FOLDER]: cheat sheets to print, one A4 page each, as SVG and as one PDF.

The fragments of the six families are on two pages; mbarriers, fences and proxies on one; descriptors and
swizzles on one. The pictures are those of `ptxlab.views`, so they say what the catalogue says. The PDF needs
Chromium (`python -m tools.chromium`).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from textwrap import wrap

import ptxlab
from ptxlab import figures, views
from ptxlab._util.files import write_atomically
from ptxlab.course.exercises import mbarriers, what_goes_wrong_asynchronously
from ptxlab.isa.instruction_descriptor import InstructionDescriptor
from ptxlab.memory import Descriptor
from ptxlab.views import Picture

from . import chromium

__all__ = ["SHEETS", "Page", "pdf", "write"]

WIDTH, HEIGHT, MARGIN = 794, 1123, 30  # A4 at 96 dots per inch
_GAP = 18
_FONT = "font-family='Helvetica, Arial, sans-serif'"
_MONO = "font-family='DejaVu Sans Mono, Menlo, Consolas, monospace'"


class Page:
    """A page of A4 that is filled from top to bottom."""

    def __init__(self, title: str, subtitle: str, *, scale: float = 0.78) -> None:
        self.title = title
        self.scale = scale  # of pictures, where a row has room for it
        self.bottom = MARGIN + 22.0
        self._parts = [
            f"<text x='{MARGIN}' y='{self.bottom:.0f}' {_FONT} font-size='20' font-weight='700'>"
            f"{escape(title)}</text>"
        ]
        self.bottom += 17
        self._text(MARGIN, subtitle, 10.5, colour="#555")
        self.bottom += 8

    def _text(self, x: float, text: str, size: float, *, colour: str = "#111", more: str = _FONT) -> None:
        self._parts.append(
            f"<text x='{x:.1f}' y='{self.bottom:.1f}' {more} font-size='{size}' fill='{colour}' "
            f"xml:space='preserve'>{escape(text)}</text>"
        )

    def heading(self, text: str) -> None:
        """A heading with a line above it."""
        self.bottom += 8
        self._parts.append(
            f"<path d='M{MARGIN} {self.bottom:.1f}H{WIDTH - MARGIN}' stroke='#bbb' stroke-width='0.75'/>"
        )
        self.bottom += 15
        self._text(MARGIN, text, 12.5, more=f"{_FONT} font-weight='700'")
        self.bottom += 5

    def pictures(self, *items: tuple[str, Picture, Sequence[str]], scale: float | None = None) -> None:
        """A row of pictures at one scale: each with a caption above and lines of a formula below."""
        drawn = [(caption, figures.svg(picture, title=False), lines) for caption, picture, lines in items]
        sizes = [_size(svg) for _, svg, _ in drawn]
        room = WIDTH - 2 * MARGIN - _GAP * (len(items) - 1)
        scale = min(scale or self.scale, room / sum(width for width, _ in sizes))
        top, left, lowest = self.bottom + 15, float(MARGIN), self.bottom
        for (caption, svg, lines), (width, height) in zip(drawn, sizes, strict=True):
            self.bottom = top
            self._text(left, caption, 9.5)
            self._parts.append(_placed(svg, left, top + 3, width * scale, height * scale))
            self.bottom = top + height * scale + 8
            for line in lines:
                self._text(left, line, 7.6, more=_MONO)
                self.bottom += 10
            lowest = max(lowest, self.bottom)
            left += max([width * scale, 5 * len(caption), *(4.6 * len(line) for line in lines)]) + _GAP
        self.bottom = lowest

    def table(self, rows: Sequence[tuple[str, str]], *, code: int = 250) -> None:
        """Rows of code on the left and what it means on the right."""
        for left, right in rows:
            self.bottom += 3
            lines = wrap(right, int((WIDTH - 2 * MARGIN - code) / 4.75))
            codes = left.split("\n")
            for index in range(max(len(lines), len(codes))):
                self.bottom += 12
                if index < len(codes):
                    self._text(MARGIN, codes[index], 8.6, more=_MONO)
                if index < len(lines):
                    self._text(MARGIN + code, lines[index], 9.5)
        self.bottom += 4

    def svg(self) -> str:
        """The page as one document, in millimetres."""
        if self.bottom > HEIGHT - MARGIN + 8:
            raise ValueError(f"{self.title}: {self.bottom:.0f} of {HEIGHT} pixels are used; it is one page")
        size = f"width='210mm' height='297mm' viewBox='0 0 {WIDTH} {HEIGHT}'"
        head = f"<svg xmlns='http://www.w3.org/2000/svg' {size}>"
        at = f"x='{WIDTH - MARGIN}' y='{HEIGHT - 14}' text-anchor='end'"
        foot = f"<text {at} {_FONT} font-size='8' fill='#777'>ptxlab {ptxlab.__version__}</text>"
        title = f"<title>{escape(self.title)}</title>"
        paper = "<rect width='100%' height='100%' fill='#fff'/>"
        return "\n".join([head, title, paper, *self._parts, foot, "</svg>\n"])


def _size(svg: str) -> tuple[float, float]:
    found = re.match(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', svg)
    assert found, "a picture states its size"
    return float(found[1]), float(found[2])


def _placed(svg: str, x: float, y: float, width: float, height: float) -> str:
    """A picture inside of the page, with colours of its own."""
    return re.sub(
        r'^<svg ([^>]*?)width="[\d.]+" height="[\d.]+"',
        rf'<svg \1x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"',
        svg,
    )


_MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
_BYTES = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
_SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
_SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
_WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
_WGMMA_SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
_WMMA = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"


def _fragment(mnemonic: str, operand: str, caption: str) -> tuple[str, Picture, list[str]]:
    form = ptxlab.instruction(mnemonic)
    layout = form.operand(operand).layout
    assert layout is not None
    formula = re.sub(r"\bgroupID\b", "g", layout.formula()).replace("threadID_in_group", "t")
    lines = [line for line in formula.splitlines() if not re.match(r"[gt] +=", line)]
    return caption, views.fragment(form, operand, label="lanes"), lines


def dense_fragments() -> Page:
    page = Page(
        "Fragments 1: mma, and mma with block scales",
        "T5: lane 5. g = groupID = lane >> 2, t = threadID_in_group = lane & 3; "
        "i counts a lane's elements, lowest bits first.",
        scale=0.53,
    )
    page.heading("mma.m16n8k16, elements of 16 bits")
    page.pictures(
        _fragment(_MMA, "A", "A 16 x 16, 4 registers"),
        _fragment(_MMA, "B", "B 16 x 8, 2 registers"),
        _fragment(_MMA, "D", "C, D 16 x 8 f32, 4 registers"),
    )
    page.heading("mma.m16n8k32, elements of 8 bits (C, D as above)")
    page.pictures(
        _fragment(_BYTES, "A", "A 16 x 32, 4 registers"), _fragment(_BYTES, "B", "B 32 x 8, 2 registers")
    )
    page.heading("mma.m16n8k64 with block scales, kind::mxf4: which lane holds a scale factor, in which bits")
    page.pictures(
        ("rows 0 to 3 of A, columns of B", views.scales(_SCALED, rows=range(4), columns=range(8)), ()),
        scale=0.44,
    )
    return page


def other_fragments() -> Page:
    page = Page(
        "Fragments 2: mma.sp, wgmma, wgmma.sp, wmma",
        "T5: lane 5, or thread 5 of a warpgroup, whose warp w has rows 16 w to 16 w + 15 "
        "in the same pattern. g, t and i: page 1.",
        scale=0.53,
    )
    page.heading("mma.sp.m16n8k32, elements of 16 bits (B as two of mma's, C and D as mma's)")
    page.pictures(
        _fragment(_SPARSE, "A", "compressed A 16 x 16"),
        ("metadata, selector 0, rows 0 to 3", views.metadata(_SPARSE, rows=range(4)), ()),
    )
    page.heading("wgmma.m64n8k16: A in registers, and D; wmma.m16n16k16 as observed on sm_90a")
    page.pictures(
        ("wgmma, A: rows of warp 0", views.fragment(_WGMMA, "A", warp=0, label="lanes"), ()),
        ("wgmma, D: rows of warp 0", views.fragment(_WGMMA, "D", warp=0, label="lanes"), ()),
        ("wmma, D 16 x 16", views.fragment(_WMMA, "D", label="lanes"), ()),
    )
    page.heading("wgmma.sp.m64n8k32: metadata of warp 0, rows 0 to 3, selector 0")
    page.pictures(("bits of the register E", views.metadata(_WGMMA_SPARSE, rows=range(4)), ()))
    return page


def barriers() -> Page:
    page = Page(
        "mbarriers, fences and proxies",
        "An mbarrier is 8 bytes of shared memory, at a multiple of 8. Lessons 05, 09 and 11.",
    )
    page.heading("mbarrier")
    page.table(
        (
            (
                "mbarrier.init [bar], n",
                "one thread, once: every phase expects n arrivals; then fence and __syncthreads()",
            ),
            (
                "fence.mbarrier_init.release.cluster",
                "after init, before a copy or another block arrives there",
            ),
            (
                "mbarrier.arrive [bar]",
                "one arrival; orders what the thread did before with what waiters do after",
            ),
            ("mbarrier.arrive.expect_tx [bar], b", "one arrival, and b bytes that copies will bring"),
            ("cp.async.bulk..., [bar]", "takes its bytes off when they are there"),
            (
                "mbarrier.try_wait.parity p, [bar], q",
                "true if the phase of parity q is over; in a loop until it is",
            ),
            ("mbarrier.inval [bar]", "before its bytes are used for something else"),
        )
    )
    page.pictures(("what it counts while two copies arrive", what_goes_wrong_asynchronously.phase(768), ()))
    page.heading("A ring of S stages, iteration i")
    page.table(
        (
            ("stage = i % S, round = i / S", "full[stage] and empty[stage] are the mbarriers of a stage"),
            (
                "consumer: wait(full, round & 1)",
                "the copy of this round has arrived; multiply; then arrive at empty",
            ),
            (
                "producer: wait(empty, round & 1 ^ 1)",
                "passes at once in round 0; then expect_tx and copy to full",
            ),
        )
    )
    page.pictures(("six tiles through three stages", mbarriers.ring(3), ()))
    page.heading("Fences: who writes how, who reads how, what stands between")
    page.table(
        (
            (
                "st.shared -> wgmma, TMA store",
                "fence.proxy.async by every thread that stored, then a barrier",
            ),
            ("cp.async -> ld.shared", "cp.async.commit_group, cp.async.wait_group n, then a barrier"),
            ("TMA, bulk copy -> ld.shared, wgmma", "a wait for the mbarrier; no proxy fence"),
            (
                "ld.shared -> TMA overwrites",
                "an arrival at empty; fence.proxy.async if the value is not used before",
            ),
            ("registers -> wgmma", "wgmma.fence before the first, and after other instructions wrote them"),
            ("wgmma -> its registers", "wgmma.commit_group, wgmma.wait_group n: at most n groups still run"),
            (
                "bulk store -> its source reused",
                "cp.async.bulk.commit_group, cp.async.bulk.wait_group.read n",
            ),
            ("flag in global memory", "__threadfence() before it is raised, and after it is read"),
        )
    )
    page.heading("It hangs: what the simulator says, and the cause")
    page.table(
        (
            (
                "still expects 1 of 33 arrivals",
                "mbarrier.init was told more arrivals than threads that arrive",
            ),
            (
                "still expects 128 bytes",
                "expect_tx announced more than the copies bring, or a copy was not started",
            ),
            (
                "expects all of its arrivals",
                "the wait has the wrong parity, or both sides wait for each other",
            ),
            ("barrier 0, which 32 of 64 threads", "__syncthreads() in a branch, or a thread that left early"),
        )
    )
    return page


def descriptors() -> Page:
    page = Page(
        "Descriptors and swizzles",
        "Lessons 06, 07 and 27. ptxlab descriptor 0x... decodes one; memory.descriptor and "
        "InstructionDescriptor in Python.",
        scale=0.7,
    )
    page.heading("Matrix descriptor of wgmma, 64 bits")
    code = Descriptor(address=1024, leading=16, stride=1024, swizzle=128).code
    page.pictures((f"0x{code:016x}: K-major, 128-byte swizzle", views.descriptor(code), ()))
    page.table(
        (
            ("bits 0-13   address >> 4", "of the first byte, in shared memory"),
            (
                "bits 16-29  leading offset >> 4",
                "no swizzle: from one core matrix to the next along K; swizzled K-major: unused",
            ),
            (
                "bits 32-45  stride offset >> 4",
                "from 8 rows to the next 8: 1024, 512, 256 bytes with a swizzle of 128, 64, 32",
            ),
            ("bits 49-51  base offset", "0 if the pattern begins at a multiple of 1024, 512, 256 bytes"),
            ("bits 62-63  swizzle", "0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes"),
            ("next K of 16 f16", "address + 32 bytes, inside of the swizzled row"),
        )
    )
    page.heading("Swizzles: r.c is vector c (16 bytes) of row r")
    page.pictures(
        ("128 bytes: vector ^ row % 8", views.swizzle(128), ()),
        ("64 bytes: vector ^ row / 2 % 4", views.swizzle(64), ()),
    )
    page.pictures(("32 bytes: vector ^ row / 4 % 2", views.swizzle(32), ()))
    page.heading("Instruction descriptor of tcgen05.mma, 32 bits")
    form = InstructionDescriptor("f16", m=128, n=256, a="f16", b="f16", d="f32")
    page.pictures((f"0x{form.code:08x}: m128n256k16", views.instruction_descriptor(form), ()))
    return page


SHEETS = {
    "fragments-1": dense_fragments,
    "fragments-2": other_fragments,
    "barriers": barriers,
    "descriptors": descriptors,
}


def pdf(pages: Sequence[str], path: Path) -> None:
    """Print pages with Chromium."""
    program = chromium.find()
    if program is None:
        raise SystemExit(f"no Chromium for the PDF; {chromium.REMEDY}")
    style = (
        "@page{size:210mm 297mm;margin:0}body{margin:0}svg{display:block}body>svg{page-break-after:always}"
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "sheets.html")
        source.write_text(
            f"<!doctype html><meta charset='utf-8'><style>{style}</style>{''.join(pages)}", encoding="utf-8"
        )
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
        command = [program, *options, f"--print-to-pdf={Path(folder, 'sheets.pdf')}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        write_atomically(path, Path(folder, "sheets.pdf").read_bytes())


def write(folder: Path) -> list[Path]:
    """Write every sheet as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, sheet in SHEETS.items():
        paths.append(folder / f"{name}.svg")
        write_atomically(paths[-1], sheet().svg())
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.sheets", description="Write cheat sheets to print."
    )
    parser.add_argument("folder", nargs="?", default="sheets", type=Path)
    parser.add_argument("--no-pdf", action="store_true", help="only the SVG files, without Chromium")
    arguments = parser.parse_args()
    paths = write(arguments.folder)
    print(f"{', '.join(path.name for path in paths)} in {arguments.folder}")
    if not arguments.no_pdf:
        pdf([path.read_text(encoding="utf-8") for path in paths], arguments.folder / "sheets.pdf")
        print(f"sheets.pdf in {arguments.folder}")


if __name__ == "__main__":
    main()
