"""python -m tools.explorer_picture: take the picture of the Explorer that README and the site show."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .chromium import find
from .jupyter import FLAGS, Lab, Shown

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "explorer.png"
MARGIN = 10
CELL = """\
import ptxlab

ex = ptxlab.explore("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", seed=7)
ex.lane = 5
ex
"""


def main() -> None:
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
