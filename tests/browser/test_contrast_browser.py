"""Digits on the canvases, and the frame of the selected cell, can be told from the cells behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from tools.bare_page import saved_page
from tools.jupyter import Shown

pytestmark = pytest.mark.browser

#: The least contrast of digits with their cells in each pane, and that of the frame of the selected cell with
#: the cell, as WCAG counts it.
CONTRAST = """() => {
  const root = document.querySelector(".ptx-explorer");
  const channel = (part) => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const contrast = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const page = getComputedStyle(root).getPropertyValue("--ptx-paper");
  const pixel = new OffscreenCanvas(1, 1).getContext("2d");
  pixel.fillStyle = page;
  pixel.fillRect(0, 0, 1, 1);
  const paper = [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
  const colours = (canvas, { x, y, width, height }) => {
    const box = canvas.getBoundingClientRect();
    const ratio = canvas.width / box.width;
    const area = [x - box.left, y - box.top, width, height].map((at) => Math.round(at * ratio));
    const { data } = canvas.getContext("2d").getImageData(...area);
    const counts = new Map();
    for (let at = 0; at < data.length; at += 4) {
      const alpha = data[at + 3] / 255;
      const key = [0, 1, 2].map((c) => Math.round(data[at + c] * alpha + paper[c] * (1 - alpha))).join();
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1]).map(([key, count]) => [key.split(",").map(Number), count]);
  };
  const least = {};
  for (const [name, rows, columns] of [["A", 16, 16], ["B", 16, 8], ["D", 16, 8]]) {
    least[name] = Infinity;
    const canvas = root.querySelector(`[data-pane=${name}] canvas`);
    for (let row = 0; row < rows; row += 1)
      for (let column = 0; column < columns; column += 1) {
        const { x, y, width, height } = root.cellRect(name, row, column);
        const inner = { x: x + 1, y: y + 1, width: width - 3, height: height - 3 };
        const [[behind], ...others] = colours(canvas, inner);
        const digits = Math.max(...others.map(([colour]) => contrast(colour, behind)));
        least[name] = Math.min(least[name], digits);
      }
  }
  const [base, overlay] = root.querySelectorAll("[data-pane=D] canvas");
  const cell = root.cellRect("D", 3, 5);
  const [[inside]] = colours(base, { x: cell.x + 3, y: cell.y + 3, width: cell.width - 6, height: 3 });
  const ring = colours(overlay, { x: cell.x + cell.width / 2, y: cell.y - 3, width: 1, height: 6 });
  least.ring = Math.max(...ring.map(([colour]) => contrast(colour, inside)));
  return least;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_digits_and_the_selection_can_be_told_from_their_cells(
    browser: Any, folder: Path, scheme: Literal["light", "dark"]
) -> None:
    """Measured on the pixels of the canvases, since what checks pages sees none of them."""
    address = saved_page(folder, "mma.m16n8k16.f32.f16", selected={"name": "D", "row": 3, "column": 5})
    context = browser.new_context(
        viewport={"width": 1280, "height": 1000}, color_scheme=scheme, device_scale_factor=3
    )
    page = context.new_page()
    page.goto(address)
    page.locator("[data-pane=D] canvas").first.wait_for()
    page.wait_for_timeout(300)
    for colour_by in ("lane", "value", "register"):
        Shown(page).tool("[data-trait=colour_by]").select_option(colour_by)
        page.wait_for_timeout(100)
        for what, contrast in page.evaluate(CONTRAST).items():
            assert contrast >= 4.5, (scheme, colour_by, what)
    context.close()
