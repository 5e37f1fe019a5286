"""What a visitor of the page in a browser tab waits for: python -m benchmarks.tab [--record].

Builds try/ with Pyodide beside it, serves it from this machine, and opens it in a fresh Chromium: bytes of
the first visit, seconds to the first drawn Explorer and to the first answered edit, milliseconds of edits
after that, and the same once more from the caches.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tools import chromium, npm, pyodide, web
from tools.jupyter import FLAGS

from .__main__ import RESULTS, keep

PATIENCE = 300_000  # milliseconds
EDITS = 20
_DRAWN = "Boolean(document.querySelector('.ptx-explorer')?.cellRect?.('A', 0, 0))"
_EDIT = """(text) => new Promise((done) => {
  const { model } = document.querySelector(".static-view"), start = performance.now();
  model.on("change:D", () => done(performance.now() - start));
  model.send({ type: "set_cell", name: "A", row: 2, column: 0, text });
})"""
_NOW = "performance.now() / 1000"  # seconds since the page was asked for


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line in the log for each."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def visit(page: Any, address: str) -> dict[str, float]:
    """Open the page, edit a cell as soon as it is drawn, then others."""
    page.goto("about:blank")
    page.goto(address)
    while not page.evaluate(_DRAWN):
        page.wait_for_timeout(5)
    drawn = page.evaluate(_NOW)
    page.evaluate(f"() => {{ ({_EDIT})('7'); }}")
    page.wait_for_selector("#page[data-python=ready]", timeout=PATIENCE)
    answered = page.evaluate(_NOW)
    edits = [page.evaluate(_EDIT, str(number % 3)) for number in range(1, EDITS + 1)]
    return {
        "drawn, s": round(drawn, 2),
        "first edit answered, s": round(answered, 2),
        "an edit, ms": round(statistics.median(edits)),
        "the slowest of them, ms": round(max(edits)),
    }


def measured() -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        sizes = web.build(folder, web.bring_pyodide(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
        Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=FLAGS)
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        address = f"http://127.0.0.1:{server.server_port}/try/"
        first = visit(page, address)
        page.wait_for_selector(".try-progress:has-text('works offline')", timeout=PATIENCE)
        again = visit(page, address)
        browser.close()
        server.shutdown()
    wheels = sum(path.stat().st_size for path in pyodide.wheels().values())
    return {
        "first visit, bytes": web.first_visit(sizes),
        "page of kernels, bytes": sum(sizes.values()) - web.first_visit(sizes),
        "wheels of NumPy and ml_dtypes, bytes": wheels,
        "first visit": first,
        "next visit": again,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tab", description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help=f"keep the figures in {RESULTS.name}")
    args = parser.parse_args()
    try:
        figures = measured()
    except npm.Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    print(json.dumps(figures, indent=2))
    if args.record:
        keep({"tab": figures})
    return 0


if __name__ == "__main__":
    sys.exit(main())
