"""The course in a tab, as `make web OFFLINE=1` builds it: JupyterLite, served from a folder."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.course.answers.fragments import SOLUTIONS
from tools import lite, npm

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE = 400_000  # milliseconds, for a busy machine
#: The notebook with a kernel that answers.
READY = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
}"""
#: Replaces texts in the cells of exercises, and runs all cells.
RUN = """async (answers) => {
  for (const cell of window.jupyterapp.shell.currentWidget.content.widgets) {
    for (const [name, answer] of Object.entries(answers)) {
      const shared = cell.model.sharedModel;
      const text = shared.getSource();
      if (text.includes(`lessons.check("${name}"`)) shared.setSource(text.replace("...", answer));
    }
  }
  window.jupyterapp.commands.execute("notebook:run-all-cells");
}"""
OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .filter((cell) => cell.model.type === "code")
  .map((cell) => [cell.model.executionCount, cell.model.outputs.toJSON()])"""
KEPT = """async () => {
  await window.jupyterapp.started;
  const file = await window.jupyterapp.serviceManager.contents.get("progress.json", { content: true });
  return file.format === "base64" ? atob(file.content) : JSON.stringify(file.content);
}"""
#: What a line prints in the kernel of the notebook.
PRINTED = """async (code) => {
  const asked = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({ code });
  let text = "";
  asked.onIOPub = (message) => { text += message.content.text ?? message.content.evalue ?? ""; };
  await asked.done;
  return text;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    try:
        lite.build(folder, lite.bring_pyodide(folder))
    except npm.Missing as missing:
        pytest.skip(str(missing))
    return folder


def test_a_lesson_from_its_first_cell_to_the_progress_that_a_reload_keeps(address: str, page: Any) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.set_default_timeout(PATIENCE)
    start = time.monotonic()
    page.goto(f"{address}lite/notebooks/index.html?path=01-fragments.ipynb")
    page.wait_for_function("window.jupyterapp?.shell.currentWidget?.sessionContext")
    page.evaluate(READY)
    ready = time.monotonic() - start
    page.evaluate(RUN, SOLUTIONS | {"01.1": "(4, 21)"})
    end = time.monotonic() + PATIENCE / 1e3
    cells = page.evaluate(OUTPUTS)
    while not all(count for count, _ in cells):
        failed = [output for _, outputs in cells for output in outputs if output["output_type"] == "error"]
        assert time.monotonic() < end and not failed, failed or cells
        page.wait_for_timeout(200)
        cells = page.evaluate(OUTPUTS)
    print(f"\nkernel after {ready:.0f} s, all cells after {time.monotonic() - start:.0f} s")
    shown = json.dumps([outputs for _, outputs in cells], ensure_ascii=False)
    assert '"output_type": "error"' not in shown
    assert shown.count(" right.</strong>") == len(SOLUTIONS) - 1
    assert "01.1 not quite" in shown and "eight rows higher" in shown
    assert "a browser's tab has neither a GPU" in shown

    page.wait_for_function("document.querySelector('.ptx-explorer')?.cellRect?.('A', 0, 0)")
    while page.evaluate(PRINTED, "print(ex.A[0, 0])").strip() != "7.0":  # figures above it may still move it
        assert time.monotonic() < end
        page.locator(".ptx-explorer").first.scroll_into_view_if_needed()
        rect = page.evaluate("document.querySelector('.ptx-explorer').cellRect('A', 0, 0)")
        page.mouse.click(rect["x"] + rect["width"] / 2, rect["y"] + rect["height"] / 2)
        page.keyboard.type("7")
        page.keyboard.press("Enter")
        page.wait_for_timeout(500)
    print(f"an edit answered after {time.monotonic() - start:.0f} s")
    page.goto(f"{address}lite/tree/index.html")  # without a kernel: what the browser has kept
    page.wait_for_function("window.jupyterapp?.serviceManager")
    kept = json.loads(page.evaluate(KEPT))
    assert {name: entry["state"] for name, entry in kept.items()} == {
        name: "wrong" if name == "01.1" else "right" for name in SOLUTIONS
    }
    assert all(url.startswith((address, "data:", "blob:")) for url in requests), requests
