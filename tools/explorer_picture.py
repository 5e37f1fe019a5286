"""python -m tools.explorer_picture [--film]: take the picture of the Explorer that README and the site show.

With --film, README's, which moves: sixteen products and one cell, as an animated WebP.
"""

from __future__ import annotations

import argparse
import base64
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ptxlab._util.files import write_atomically
from ptxlab.explorer.bundle import script, sheets
from ptxlab.explorer.sixteen_products import page_part

from .chromium import find
from .jupyter import FLAGS, Lab, Shown

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "explorer.png"
FILM = PICTURE.with_name("explorer-film.webp")
SIZE = (1000, 650)  # of the film: README shows it so wide, or a little less
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


#: Shows the scene between two steps.
SHOW = """at => {
  const { products } = document.querySelector(".sixteen-products");
  products.at = Math.ceil(at);
  products.say();
  products.shownAt = at;
  products.redraw();
}"""


def moments() -> Iterator[tuple[float, int]]:
    """Positions of the scene, each with the milliseconds for which the film shows it."""
    depth = 16
    yield 0, 1800
    for step in range(1, depth + 6):
        frames = {1: 11, 2: 6, 3: 4}.get(step, 2 if step <= depth else 7)
        for frame in range(1, frames):
            yield step - 1 + frame / frames, 80
        yield step, 90 if 3 < step < depth else 500 if step <= depth else 2600
    yield depth + 5, 3000


def film() -> None:
    """Sixteen products, one cell, from the first product to two answers."""
    from playwright.sync_api import sync_playwright

    width, height = SIZE
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        place = Path(folder, "scene.html")
        place.write_text(
            f'<!doctype html><meta charset="utf-8"><style>{sheets("timeline", "products")}</style>'
            f"<body>{page_part()}<script type=module>{script('sixteen_products_page')}</script>",
            encoding="utf-8",
        )
        browser = playwright.chromium.launch(executable_path=find(), args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
        page.goto(place.as_uri())
        page.wait_for_function("document.querySelector('.sixteen-products').products")
        converter = browser.new_page()
        frames: list[Frame] = []
        before = ""
        for at, milliseconds in moments():
            page.evaluate(SHOW, at)
            shot = base64.b64encode(page.screenshot()).decode()
            found = converter.evaluate(DIFFERENCE, [before or shot, shot])
            if found is None or (shot == before and frames):
                last = frames.pop()
                frames.append(last._replace(milliseconds=last.milliseconds + milliseconds))
            else:
                frames.append(Frame(*found[:4], base64.b64decode(found[4]), milliseconds))
            before = shot
        write_atomically(FILM, animated(frames, *SIZE))
        browser.close()


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
