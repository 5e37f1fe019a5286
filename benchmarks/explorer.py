"""python -m benchmarks.explorer: the Explorer's speed in a real browser, and what 1,000 edits leave behind.

First paint counts from the kernel's answer, a hover from the first event of the pointer's move (often that it
left another cell), an edit from the Enter key; each until the frame that shows it. A frame of the camera's
flight counts from the one before it.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ptxlab
from ptxlab.explorer.edits import SetCell
from tools import chromium
from tools.jupyter import FLAGS, Book, Lab, Shown

FORMS = {  # the goal for an edit, in ms
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": 100,
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32": 80,
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16": 300,
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16": 300,
    "wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3": 300,
}
HOVER, PAINT = 16, 1000  # the other goals, in ms
FRAME = 1000 / 60  # and for a frame of the camera's flight
FLOWN = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"  # from all of it to single bits, and back
PLAYED = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"  # from its first product to the bits of a cell

START = """import gc, tracemalloc, numpy as np, ptxlab
ex = ptxlab.explore({name!r})
ex.A, ex.B, ex.C = np.zeros(ex.A.shape), np.ones(ex.B.shape), np.zeros(ex.C.shape)
ex"""
MANY = """from ptxlab.explorer.edits import SetCell
from ptxlab.explorer.state import UNDO_LIMIT
edit = lambda i: ex.apply(SetCell("A", 0, 0, str(i % 2)))
def size(): gc.collect(); return tracemalloc.get_traced_memory()[0]
tracemalloc.start()
for i in range(UNDO_LIMIT): edit(i)  # until the undo history is full
before = size()
for i in range({count}): edit(i)
print(size() - before)"""

KEPT = """Not the Explorer's: for undo a browser keeps the last 1,000 texts that were typed (a node each; a
bare <input> shows the same), and jupyter_client a digest of the last 65,536 messages (about 100 B each)."""

# Every message between page and kernel, by the page's clock; and the moment at which a change is painted.
# While it measures, the page does nothing else: what waits for it is told, and messages are read afterwards.
CLOCK = """
window.clock = { messages: [], hovers: [], edits: [], painted: null };
const waiting = [];
const record = (name, time) => {
  clock[name].push(time);
  for (const tell of waiting.splice(0)) tell();
};
clock.reached = async (name, count) => {
  const late = setTimeout(() => { throw new Error(`no ${name} for 30 s`); }, 30_000);
  while (clock[name].length < count) await new Promise((tell) => waiting.push(tell));
  clearTimeout(late);
};
const painted = (call) => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => call(performance.now());
  port2.postMessage(0);
});
const length = (data) => data.byteLength ?? data.length ?? 0;
window.WebSocket = class extends WebSocket {
  constructor(...args) {
    super(...args);
    this.addEventListener("message", ({ data }) => {
      clock.messages.push({ at: performance.now(), data });
    });
  }
  send(data) {
    clock.messages.push({ at: performance.now(), data, sent: true });
    super.send(data);
  }
};
const typeOf = (data) => {
  const bytes = (raw) => new Uint8Array(raw, 0, Math.min(3000, raw.byteLength));
  const decode = (raw) => new TextDecoder("latin1").decode(bytes(raw));
  const head = typeof data === "string" ? data.slice(0, 3000) : decode(data);
  return /"msg_type": ?"(\\w+)"/.exec(head)?.[1] ?? "";
};
clock.read = () => clock.messages.map(({ at, data, sent }) => (
  { at, bytes: length(data), type: sent ? "sent" : typeOf(data) }
));
new MutationObserver(() => {
  const canvas = clock.painted === null && document.querySelector(".ptx-explorer [data-pane=D] canvas");
  if (canvas && canvas.width > 1) { clock.painted = 0; painted((now) => { clock.painted = now; }); }
}).observe(document, {
  childList: true, subtree: true, attributes: true, attributeFilter: ["width", "style"],
});
clock.frames = [];
clock.watchFlights = (scene) => {
  let before = null;
  const tick = (now) => {
    const moves = scene.classList.contains("ptx-flying") || scene.querySelector(".ptx-story");
    if (before !== null && moves) clock.frames.push(now - before);
    before = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
};
let moved = null;
for (const type of ["pointerout", "pointerover", "pointermove"])
  addEventListener(type, () => {
    moved ??= performance.now();
    if (type !== "pointermove") return;
    const start = moved;
    moved = null;
    painted((now) => record("hovers", now - start));
  }, { capture: true });
addEventListener("keydown", (event) => {
  if (event.key === "Enter") clock.entered = performance.now();
}, { capture: true });
clock.await = (status) => { // one edit: from Enter until the line that gives the hovered cell of D is another
  const before = status.textContent;
  const watch = new MutationObserver(() => {
    if (status.textContent === before) return;
    watch.disconnect();
    painted((now) => record("edits", now - clock.entered));
  });
  watch.observe(status, { childList: true, characterData: true, subtree: true });
};
"""


def spread(times: list[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    return statistics.median(times), sorted(times)[round(0.95 * (len(times) - 1))]


def table(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


@contextmanager
def pages() -> Iterator[tuple[Lab, Callable[[], Any]]]:
    """A JupyterLab, and a function that opens a fresh page with the clock in it."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), args=[*FLAGS, "--enable-precise-memory-info"]
        )

        def fresh() -> Any:
            page = browser.new_context(viewport={"width": 1280, "height": 1400}).new_page()
            page.add_init_script(CLOCK)
            return page

        try:
            lab.wait()
            yield lab, fresh
        finally:
            browser.close()
            lab.stop()


def show(lab: Lab, page: Any, name: str) -> tuple[Book, Shown]:
    """A notebook with one explorer: A and C zero, B one, so that a cell of A is a row of D."""
    book = lab.open(page, f"bench{time.monotonic_ns()}", [START.format(name=name), "pass"])
    book.run(0)
    shown = Shown(page)
    page.wait_for_function("() => clock.painted")
    return book, shown


def first_paint(page: Any) -> float:
    """From the kernel's answer, which says that there is a widget, to the frame with its matrices."""
    said = page.evaluate(
        "() => { const answers = ['execute_result', 'display_data'];"
        " return [clock.painted, clock.read().find(({ type }) => answers.includes(type)).at]; }"
    )
    return float(said[0] - said[1])


def hover(page: Any, shown: Shown, moves: int) -> list[float]:
    """The pointer wanders over A and D, to another cell with every move."""
    size = shown.root.locator("[data-pane=D] .ptx-scroller").bounding_box()
    start = {name: shown.middle(name, 0, 0) for name in ("A", "D")}
    page.evaluate("() => { clock.hovers.length = 0; }")
    for move in range(moves):
        x, y = start["AD"[move % 2]]
        page.mouse.move(
            x + move * 7 % (min(size["width"], 120) - 10), y + move * 11 % (min(size["height"], 200) - 10)
        )
        page.evaluate("count => clock.reached('hovers', count)", move + 1)
    return [float(found) for found in page.evaluate("() => clock.hovers")]


def edit(page: Any, shown: Shown, count: int) -> tuple[list[float], float, int, int]:
    """Type into A with the pointer on D: times until the data came, and bytes received and sent."""
    arrived, received, sent = [], [], []
    page.mouse.click(*shown.middle("A", 0, 0))
    page.mouse.move(*shown.middle("D", 0, 0))
    page.wait_for_function(
        "node => node.textContent.startsWith('D[0][0]')", arg=shown.status.element_handle()
    )
    for turn in range(count):
        page.wait_for_timeout(150)
        page.evaluate(
            "status => { clock.messages.length = 0; clock.await(status); }", shown.status.element_handle()
        )
        page.keyboard.type(str(1 + turn % 2))
        page.keyboard.press("Enter")
        page.evaluate("count => clock.reached('edits', count)", turn + 1)
        page.wait_for_timeout(150)
        page.keyboard.press("ArrowUp")
        entered, messages = page.evaluate("() => [clock.entered, clock.read()]")
        arrived.append(
            max((m for m in messages if m["type"] == "comm_msg"), key=lambda m: m["bytes"])["at"] - entered
        )
        received.append(sum(message["bytes"] for message in messages if message["type"] != "sent"))
        sent.append(sum(message["bytes"] for message in messages if message["type"] == "sent"))
    return (
        [float(found) for found in page.evaluate("() => clock.edits")],
        statistics.median(arrived),
        round(statistics.median(received)),
        round(statistics.median(sent)),
    )


def fly(lab: Lab, page: Any, name: str, flights: int) -> str:
    """The frames of the camera's flights to single bits and back, around a selected cell."""
    book, shown = show(lab, page, name)
    shown.click("D", 9, 5)
    page.evaluate("() => clock.watchFlights(document.querySelector('.ptx-scene'))")
    for zoom in (400, 100) * flights:
        book.run(1, f"ex.view.zoom = {zoom}")
        page.wait_for_timeout(800)
    return f"{name}, {2 * flights} flights of the camera: {frames_on(page)}"


def play(lab: Lab, page: Any, name: str) -> str:
    """The frames in which products are on their way into D, and of the dive into one of its cells."""
    _, shown = show(lab, page, name)
    shown.click("D", 9, 5)
    page.evaluate("() => clock.watchFlights(document.querySelector('.ptx-scene'))")
    page.locator(".ptx-explorer .ptx-play").click()
    page.locator(".ptx-part-name.now", has_text="D out").wait_for(timeout=90_000)
    return f"{name}, played: {frames_on(page)}"


def frames_on(page: Any) -> str:
    """The time between frames that the page's clock has counted."""
    frames = [float(frame) for frame in page.evaluate("() => clock.frames")]
    middle, most = spread(frames)
    late = sum(frame > FRAME + 1 for frame in frames) / len(frames)
    return (
        f"a frame every {middle:.1f} ms ({most:.1f}), goal {FRAME:.1f};"
        f" {late:.0%} of {len(frames)} frames come later"
    )


def in_python(name: str, rounds: int = 20) -> tuple[float, str]:
    """Milliseconds of an edit in Python alone, and where they go."""
    ex: Any = ptxlab.explore(name)
    ex.A = 0 * ex.A

    def work(turn: int) -> None:
        ex.apply(SetCell("A", 0, 0, str(turn % 2)))

    work(1)
    start = time.perf_counter()
    for turn in range(rounds):
        work(turn)
    taken = (time.perf_counter() - start) / rounds * 1e3
    profile = cProfile.Profile()
    profile.runcall(lambda: [work(turn) for turn in range(rounds)])
    said = io.StringIO()
    pstats.Stats(profile, stream=said).sort_stats("cumulative").print_stats(25)
    return taken, said.getvalue()


def counters(page: Any) -> dict[str, float]:
    """What the page has after garbage collection: heap in kB, nodes (attached or not), listeners."""
    page.evaluate(
        "() => { for (const list of [clock.messages, clock.hovers, clock.edits]) list.length = 0; }"
    )
    session = page.context.new_cdp_session(page)
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    found = session.send("Memory.getDOMCounters")
    session.detach()
    return {
        "heap kB": page.evaluate("() => performance.memory.usedJSHeapSize / 1e3"),
        "nodes": found["nodes"],
        "listeners": found["jsEventListeners"],
    }


def many(lab: Lab, page: Any, name: str, count: int) -> list[list[str]]:
    """What edits leave behind: first made in Python, then typed in the page."""
    book, shown = show(lab, page, name)

    def row(
        what: str, python: str, before: dict[str, float], after: dict[str, float], seconds: float
    ) -> list[str]:
        return [
            what,
            python,
            *(f"{after[key]:,.0f} ({after[key] - before[key]:+,.0f})" for key in before),
            f"{seconds:.0f} s",
        ]

    def settled(value: int) -> dict[str, float]:
        """What is there once D has this value and the page has had no message for a while."""
        shown.reads("D", 0, 0, value, 300)
        page.wait_for_function("() => performance.now() - clock.messages.at(-1).at > 1000", timeout=60_000)
        return counters(page)

    def typed(turns: int) -> None:
        for turn in range(turns):
            page.keyboard.insert_text(str(1 + turn % 2))
            page.keyboard.press("Enter")
            page.keyboard.press("ArrowUp")

    book.run(1, MANY.format(count=20), 60)
    before, start = settled(1), time.perf_counter()
    grown = book.run(1, MANY.format(count=count), 300)
    after = settled((count - 1) % 2)
    rows = [
        ["", "Python B", *before, "time"],
        row(f"{count:,} edits by Python", f"{int(grown):+,}", before, after, time.perf_counter() - start),
    ]
    page.mouse.click(*shown.middle("A", 0, 0))
    typed(20)
    settled(2)
    book.run(1, "before = size()")
    page.mouse.click(*shown.middle("A", 0, 0))
    before, start = settled(2), time.perf_counter()
    typed(count)
    after = settled(2 - count % 2)
    taken = time.perf_counter() - start
    grown = book.run(1, "print(size() - before); tracemalloc.stop()")
    return [*rows, row(f"{count:,} edits typed", f"{int(grown):+,}", before, after, taken)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explorer", description=__doc__)
    parser.add_argument("--moves", type=int, default=100, help="pointer moves for each instruction")
    parser.add_argument("--edits", type=int, default=15, help="timed edits for each instruction")
    parser.add_argument(
        "--many", type=int, default=1000, help="edits after which memory is compared; 0 leaves it out"
    )
    parser.add_argument("--flights", type=int, default=5, help="flights of the camera; 0 leaves them out")
    parser.add_argument("--profile", action="store_true", help="also print where Python spends an edit")
    parser.add_argument("forms", nargs="*", default=list(FORMS), help="mnemonics")
    args = parser.parse_args()
    rows = [
        [
            "ms, median (95 %)",
            f"first paint, goal {PAINT}",
            f"hover, goal {HOVER}",
            "edit",
            "its goal",
            "until data",
            "in Python",
            "kB to the page",
            "kB from it",
        ]
    ]
    profiles = []
    with pages() as (lab, fresh):
        for name in args.forms:
            page = fresh()
            _, shown = show(lab, page, name)
            painted, hovers = first_paint(page), spread(hover(page, shown, args.moves))
            edits, arrived, received, sent = edit(page, shown, args.edits)
            python, profile = in_python(name)
            profiles.append(f"{name}\n{profile}")
            both = [f"{middle:.0f} ({most:.0f})" for middle, most in (hovers, spread(edits))]
            rows.append(
                [
                    name,
                    f"{painted:.0f}",
                    *both,
                    f"{FORMS.get(name, 300)}",
                    f"{arrived:.0f}",
                    f"{python:.1f}",
                    f"{received / 1e3:,.1f}",
                    f"{sent / 1e3:,.1f}",
                ]
            )
            page.context.close()
        print(table(rows))
        if args.flights:
            print(f"\n{fly(lab, fresh(), FLOWN, args.flights)}")
            for name in (PLAYED, FLOWN):
                print(play(lab, fresh(), name))
        if args.many:
            print(f"\nwhat stays after garbage collection, {args.forms[min(1, len(args.forms) - 1)]}")
            print(table(many(lab, fresh(), args.forms[min(1, len(args.forms) - 1)], args.many)))
            print(KEPT)
    if args.profile:
        print("\n" + "\n".join(profiles))


if __name__ == "__main__":
    main()
