"""What browser tests do often: type, press keys, move a finger, and wait for a text or for a page at rest."""

from __future__ import annotations

import re
from typing import Any

#: Resolves when the page is at rest: in three frames no part of an Explorer moves, and no transition runs.
_AT_REST = """() => new Promise((resolve, reject) => {
  const look = () => JSON.stringify([scrollX, scrollY, innerWidth,
    ...[...document.querySelectorAll(".ptx-explorer, .ptx-explorer :is(.ptx-scroller, .ptx-tooltip, canvas)")]
      .map((node) => [node.getBoundingClientRect(), node.scrollLeft, node.scrollTop])]);
  const isMoving = (animation) => animation.playState === "running"
    && animation.effect.getComputedTiming().endTime !== Infinity;
  let before = "", same = 0, frames = 0;
  const frame = () => {
    const now = look();
    same = now === before && !document.getAnimations().some(isMoving) ? same + 1 : 0;
    before = now;
    frames += 1;
    if (same === 3) resolve();
    else if (frames === 1000) reject(new Error("the page does not come to rest"));
    else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})"""


def at_rest(page: Any) -> None:
    """Wait until the page has drawn what was asked of it, and nothing on it moves."""
    page.evaluate(_AT_REST)


def press(page: Any, *keys: str) -> None:
    """Press one key after the other."""
    for key in keys:
        page.keyboard.press(key)


def type_line(page: Any, text: str) -> None:
    """Type where the focus is, then press Enter."""
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def enter(field: Any, text: str) -> None:
    """Replace the text of a field, then press Enter."""
    field.fill(text)
    field.press("Enter")


def starting(text: str) -> re.Pattern[str]:
    """Texts that start like this, for `expect`."""
    return re.compile("^" + re.escape(text))


def swipe(page: Any, x: float, y: float, by: float) -> None:
    """Move one finger up or down from a point; the browser scrolls, or does not."""
    finger = page.context.new_cdp_session(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 11):
        moved = [{"x": x, "y": y + by * step / 10}]
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": moved})
        page.evaluate("() => new Promise(requestAnimationFrame)")  # the browser takes one move a frame
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    finger.detach()
