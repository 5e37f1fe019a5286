"""python -m tools.explorer_picture [--film]: take the picture of the Explorer that README and the site show.

With --film, the one that moves: a short session on the page in a browser tab, as an animated WebP.
"""

from __future__ import annotations

import argparse
import base64
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from ptxlab._util.files import write_atomically

from .chromium import find
from .jupyter import FLAGS, Lab, Shown

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "explorer.png"
FILM = PICTURE.with_name("explorer-film.webp")
FRAME_SECONDS = 1.6
SIZE = (1000, 760)
MARGIN = 10
CELL = """\
import ptxlab

ex = ptxlab.explore("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", seed=7)
ex.lane = 5
ex
"""


# A picture of Chromium's as WebP: a sixth of the PNG.
AS_WEBP = """async (png) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  canvas.getContext("2d").drawImage(image, 0, 0);
  const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.5 });
  return [...new Uint8Array(await blob.arrayBuffer())];
}"""


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 12
    while at < len(picture):
        length = struct.unpack("<I", picture[at + 4 : at + 8])[0]
        yield picture[at : at + 4], picture[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def animated(pictures: Sequence[bytes], width: int, height: int, seconds: float) -> bytes:
    """WebP files of one size as an animated one, which shows each for so long, again and again."""
    size = b"".join((number - 1).to_bytes(3, "little") for number in (width, height))
    parts = [_chunk(b"VP8X", b"\x02\0\0\0" + size), _chunk(b"ANIM", b"\xff\xff\xff\xff\0\0")]
    frame = bytes(6) + size + round(seconds * 1000).to_bytes(3, "little") + b"\0"
    for picture in pictures:
        image = b"".join(_chunk(name, data) for name, data in _chunks(picture) if name.startswith(b"VP8 "))
        parts.append(_chunk(b"ANMF", frame + image))
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def film() -> None:
    """A session on the page: edit a cell, see D; point at D; choose a lane; ask where an element is."""
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
        pictures = []
        for step in _session(page):
            step()
            page.wait_for_timeout(1500)
            pictures.append(base64.b64encode(page.screenshot()).decode())
        bare = browser.new_page()  # without the policy of the other
        converted = [bytes(bare.evaluate(AS_WEBP, picture)) for picture in pictures]
        browser.close()
        server.shutdown()
    write_atomically(FILM, animated(converted, *SIZE, FRAME_SECONDS))


def _session(page: Any) -> Iterator[Callable[[], object]]:
    def middle(name: str, row: int, column: int) -> tuple[float, float]:
        place = [name, row, column]
        box = page.evaluate(
            "([name, row, column]) => document.querySelector('.ptx-explorer').cellRect(name, row, column)",
            place,
        )
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    yield lambda: page.mouse.move(1, 1)
    yield lambda: page.mouse.click(*middle("A", 2, 3))
    yield lambda: page.keyboard.type("100")
    yield lambda: page.keyboard.press("Enter")
    yield lambda: page.mouse.move(*middle("D", 2, 4))
    yield lambda: page.mouse.click(*middle("D", 2, 4))
    yield lambda: page.locator(".ptx-lane[data-lane='9']").click()
    yield lambda: page.get_by_label("Ask").fill("A[9][37] of mma.m16n8k64.s4")
    yield lambda: page.get_by_role("button", name="Answer").click()


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
