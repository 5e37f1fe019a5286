"""python -m tools.explorer_picture [--film]: take the picture of the Explorer that README and the site show.

With --film, the one that moves: a short session on the page in a browser tab, as an animated WebP.
"""

from __future__ import annotations

import argparse
import base64
import math
import struct
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from ptxlab._util.files import write_atomically

from .chromium import find
from .jupyter import FLAGS, Lab, Shown

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "explorer.png"
FILM = PICTURE.with_name("explorer-film.webp")
SIZE = (1200, 900)  # of the film, so that all digits are drawn, also of an edited row
MOVES = 5  # pictures of a pointer on its way
MARGIN = 10
CELL = """\
import ptxlab

ex = ptxlab.explore("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", seed=7)
ex.lane = 5
ex
"""


#: What differs between two pictures of a page, as WebP: its place and the file; nothing where they are alike.
DIFFERENCE = """async ([before, after]) => {
  const [old, image] = await Promise.all([before, after].map(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    return image;
  }));
  const { width, height } = image;
  const pixels = (picture) => {
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context.drawImage(picture, 0, 0);
    return new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  };
  const [was, is] = [pixels(old), pixels(image)];
  let [left, top, right, bottom] = before === after ? [0, 0, width, height] : [width, height, 0, 0];
  for (let index = 0; index < is.length; index += 1) {
    if (was[index] === is[index]) continue;
    const [x, y] = [index % width, Math.floor(index / width)];
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + 1), Math.max(bottom, y + 1)];
  }
  if (right <= left) return null;
  [left, top] = [left - left % 2, top - top % 2]; // WebP's frames are at even places
  const canvas = new OffscreenCanvas(right - left, bottom - top);
  canvas.getContext("2d").drawImage(image, -left, -top);
  const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.6 });
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const text = [...bytes].map((byte) => String.fromCharCode(byte)).join("");
  return [left, top, canvas.width, canvas.height, btoa(text)];
}"""
#: A pointer, which pictures of a page do not show: an arrow that follows the mouse.
POINTER = """() => {
  const arrow = document.createElement("img");
  const shape = '<path d="M1 1v17l4-4 3 7 3-1-3-7h6z" fill="black" stroke="white"/>';
  arrow.src = `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="24">${shape}</svg>`)}`;
  arrow.alt = "";
  Object.assign(arrow.style, { position: "fixed", zIndex: 1e6, pointerEvents: "none" });
  document.body.append(arrow);
  addEventListener("mousemove", ({ clientX, clientY }) => {
    Object.assign(arrow.style, { left: `${clientX}px`, top: `${clientY}px` });
  }, { capture: true });
}"""


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 12
    while at < len(picture):
        length = struct.unpack("<I", picture[at + 4 : at + 8])[0]
        yield picture[at : at + 4], picture[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


class Frame(NamedTuple):
    """A part of a film: a WebP file, where it is put on what was there, and for how long."""

    x: int
    y: int
    width: int
    height: int
    picture: bytes
    milliseconds: int


def _number(value: int) -> bytes:
    return value.to_bytes(3, "little")


def animated(frames: Sequence[Frame], width: int, height: int) -> bytes:
    """These frames as an animated WebP, which begins again at its end."""
    size = _number(width - 1) + _number(height - 1)
    parts = [_chunk(b"VP8X", b"\x02\0\0\0" + size), _chunk(b"ANIM", b"\xff\xff\xff\xff\0\0")]
    for x, y, wide, high, picture, milliseconds in frames:
        numbers = (x // 2, y // 2, wide - 1, high - 1, milliseconds)
        head = b"".join(map(_number, numbers)) + b"\x02"  # without blending
        image = b"".join(_chunk(name, data) for name, data in _chunks(picture) if name.startswith(b"VP8 "))
        parts.append(_chunk(b"ANMF", head + image))
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


class Recorder:
    """Pictures of a page, each with the time for which a film shows it, and a hand that moves slowly."""

    def __init__(self, page: Any) -> None:
        self.page, self.at = page, (SIZE[0] / 2, 60.0)
        self.shots: list[tuple[str, int]] = []
        page.evaluate(POINTER)
        page.mouse.move(*self.at)

    def hold(self, seconds: float) -> None:
        """Show what there is for so long."""
        self.shots.append((base64.b64encode(self.page.screenshot()).decode(), round(1000 * seconds)))

    def wait(self, seconds: float) -> None:
        """Let the page answer, then show it."""
        self.page.wait_for_timeout(1500)
        self.hold(seconds)

    def move(self, x: float, y: float) -> None:
        start = self.at
        for step in range(1, MOVES + 1):
            part = (1 - math.cos(math.pi * step / MOVES)) / 2
            self.at = (start[0] + (x - start[0]) * part, start[1] + (y - start[1]) * part)
            self.page.mouse.move(*self.at)
            self.hold(0.07)

    def click(self, x: float, y: float) -> None:
        self.move(x, y)
        self.page.mouse.click(x, y)

    def type(self, text: str) -> None:
        for start in range(0, len(text), 3):
            self.page.keyboard.type(text[start : start + 3])
            self.hold(0.2)

    def film(self, converter: Any) -> bytes:
        """All of it; a page without a policy makes WebP."""
        frames: list[Frame] = []
        before = self.shots[0][0]
        for shot, milliseconds in self.shots:
            found = converter.evaluate(DIFFERENCE, [before, shot])
            if found is None or (shot == before and frames):
                last = frames.pop()
                frames.append(last._replace(milliseconds=last.milliseconds + milliseconds))
            else:
                frames.append(Frame(*found[:4], base64.b64decode(found[4]), milliseconds))
            before = shot
        return animated(frames, *SIZE)


def film() -> None:
    """A short session on the page with Python in it, as it is built."""
    from playwright.sync_api import sync_playwright

    from . import web

    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        web.build(folder, web.bring_pyodide(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
        Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=find(), args=FLAGS)
        width, height = SIZE
        page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
        page.goto(f"http://127.0.0.1:{server.server_port}/try/")
        page.wait_for_selector("#page[data-python=ready]", timeout=300_000)
        page.evaluate("document.querySelector('.try-progress').remove()")  # how long it took this machine
        recorder = Recorder(page)
        _act(page, recorder)
        write_atomically(FILM, recorder.film(browser.new_page()))
        browser.close()
        server.shutdown()


def _act(page: Any, recorder: Recorder) -> None:
    """Point at A and edit it, see D; ask why D has its bits; ask where an element of another is."""
    explorer = Shown(page)
    recorder.wait(1)
    recorder.move(*explorer.middle("A", 2, 3))
    recorder.wait(1.5)
    recorder.click(*explorer.middle("A", 2, 3))
    recorder.wait(0.4)
    recorder.type("100")
    page.keyboard.press("Enter")
    recorder.wait(1.5)
    recorder.move(*explorer.middle("D", 2, 4))
    recorder.wait(1.5)
    recorder.click(*explorer.middle("D", 2, 4))
    recorder.wait(1.5)
    box = page.locator("[data-tool=why]").first.bounding_box()
    recorder.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    recorder.wait(3)
    page.evaluate("scrollTo(0, 0)")
    field = page.get_by_label("Ask").bounding_box()
    recorder.wait(0.2)
    recorder.click(field["x"] + 120, field["y"] + field["height"] / 2)
    recorder.type("A[9][37] of mma.m16n8k64.s4")
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer-picture img")
    recorder.wait(4)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.explorer_picture", description=__doc__)
    parser.add_argument("--film", action="store_true", help="the one that moves")
    if parser.parse_args().film:
        film()
        return
    take_picture()


def take_picture() -> None:
    from playwright.sync_api import FloatRect, sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        browser = playwright.chromium.launch(executable_path=find(), args=FLAGS)
        try:
            lab.wait()
            page = browser.new_page(viewport={"width": 1180, "height": 930}, device_scale_factor=1.25)
            lab.render(page, "picture", [CELL])
            explorer = Shown(page)
            page.mouse.click(*explorer.middle("D", 9, 3))
            page.wait_for_timeout(1000)
            whole, a = explorer.root.bounding_box(), explorer.root.locator("[data-pane=A]").bounding_box()
            clip = FloatRect(
                x=whole["x"] - MARGIN,
                y=whole["y"] - MARGIN,
                width=whole["width"] + 2 * MARGIN,
                height=a["y"] + a["height"] - whole["y"] + 2 * MARGIN,
            )
            page.screenshot(path=PICTURE, clip=clip)
        finally:
            browser.close()
            lab.stop()


if __name__ == "__main__":
    main()
