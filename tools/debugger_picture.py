"""python -m tools.debugger_picture: take the picture of the debugger that README and the guide show."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from ptxlab._util.files import write_atomically
from ptxlab.explorer.debugger.debugger_widget import DebuggerWidget
from tests.simulator.kernel_cases import CASES

from .chromium import find
from .explorer_picture import PICTURE as EXPLORER
from .jupyter import FLAGS

PICTURE = EXPLORER.with_name("debugger.png")
SIZE = (1280, 860)
PAGE = """<!doctype html><meta charset="utf-8">
<style>{css} body {{ margin: 8px; font-family: sans-serif }}</style>
<main></main><script type="module">{script}
const traits = {traits};
const model = {{ get: (name) => traits[name], on() {{}}, off() {{}}, send() {{}} }};
widget.render({{ model, el: document.querySelector("main") }});
</script>"""


def page() -> str:
    """The debugger behind the first mma of a product, after a question about a register of D."""
    case = CASES["gemm_mma_swizzled"]
    session = case.compiled().debug(case.grid, case.block, *case.inputs(), shared=case.shared)
    mma = next(item for item in session.kernel.function.instructions if item.parts[0] == "mma")
    session.run_to(mma.line, ptx=True, warp=0).look_ahead()
    widget = DebuggerWidget(session)
    widget.handle({"type": "move", "motion": "step", "warp": 0})
    widget.handle({"type": "who_wrote", "register": mma.registers[1][0].name, "lane": 3})
    widget.handle({"type": "follow", "node": len(widget.origin["sources"]) + 1})
    widget.handle({"type": "show_memory", "what": "shared"})
    widget.handle({"type": "show_memory", "dtype": "f16", "columns": 32, "rows": 32})
    names = ("program", "place", "warps", "registers", "memory", "barriers", "points", "origin", "waiting")
    traits = json.dumps({name: getattr(widget, name) for name in names}).replace("<", "\\u003c")
    script = widget._esm.replace("export default ", "const widget = ")
    return PAGE.format(css=widget._css, script=script, traits=traits)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "debugger.html"
        file.write_text(page(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=find(), args=FLAGS)
        width, height = SIZE
        opened = browser.new_page(viewport={"width": width, "height": height})
        opened.goto(file.as_uri())
        opened.locator(".debug-words").wait_for()
        write_atomically(PICTURE, opened.screenshot())
        browser.close()
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
