"""The course in a tab, as `make web OFFLINE=1` builds it: JupyterLite, served from a folder."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.course import SOLUTIONS
from tests.course.answers import completed
from tests.sampling import EXHAUSTIVE, some
from tools import clang, lite, npm
from tools.jupyter import Shown

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: Here readers write kernels, which Clang compiles in the tab; the lesson's own come with their PTX.
KERNELS = "02-your-first-tensor-core-kernel"
#: Lessons that are done to their ends.
LESSONS = ("01-fragments", KERNELS, "16-structured-sparsity")
PATIENCE = 400_000  # milliseconds, for a busy machine
#: The notebook with a kernel that answers.
READY = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
}"""
#: Replaces texts in the cells of exercises, leaves out figures but the first if asked to, and runs all cells.
RUN = """async ([answers, oneFigure]) => {
  let figures = 0;
  for (const cell of window.jupyterapp.shell.currentWidget.content.widgets) {
    for (const [name, answer] of Object.entries(answers)) {
      const shared = cell.model.sharedModel;
      const text = shared.getSource();
      if (text.includes(`lessons.check("${name}"`)) shared.setSource(text.replace("...", () => answer));
    }
    const source = cell.model.sharedModel.getSource();
    const figure = cell.model.type === "code" && /^figures[.].*/m.exec(source);
    if (figure && oneFigure && figures) cell.model.sharedModel.setSource(source.replace(figure[0], "pass"));
    if (figure) figures += 1;
  }
  window.jupyterapp.commands.execute("notebook:run-all-cells");
}"""
OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .filter((cell) => cell.model.type === "code")
  .map((cell) => [cell.model.executionCount, cell.model.outputs.toJSON()])"""
#: Whether a cell failed, and how many have not run yet; outputs, some of them megabytes, are asked for once.
STATE = """() => {
  const models = window.jupyterapp.shell.currentWidget.content.widgets.map((cell) => cell.model)
    .filter((model) => model.type === "code");
  const failed = models.some(({ outputs }) =>
    Array.from({ length: outputs.length }, (_, at) => outputs.get(at).type).includes("error"));
  return [failed, models.filter((model) => !model.executionCount).length];
}"""
KEPT = """async () => {
  await window.jupyterapp.started;
  const file = await window.jupyterapp.serviceManager.contents.get("progress.json", { content: true });
  return file.format === "base64" ? atob(file.content) : JSON.stringify(file.content);
}"""
#: A service worker of another folder, as try/ has one, which JupyterLite leaves alone.
ANOTHER = "navigator.serviceWorker.register('../service-worker.js', { scope: '../other/' }).then(() => null)"
#: What a line prints in the kernel of the notebook.
PRINTED = """async (code) => {
  const asked = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({ code });
  let text = "";
  asked.onIOPub = (message) => { text += message.content.text ?? message.content.evalue ?? ""; };
  await asked.done;
  return text;
}"""


#: Addresses of the parts of the compiler that the browser keeps.
KEPT_PARTS = """async () => {
  const kept = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
  return kept.flat().map(({ url }) => url).filter((url) => url.includes("/try/clang/"));
}"""
#: Prints the verdict on an answer in C++.
CHECK = "from ptxlab import lessons; print(lessons.exercise('02.1').check({!r}))"
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    try:
        lite.build(folder, lite.bring_pyodide(folder))
    except npm.Missing as missing:
        pytest.skip(str(missing))
    return folder


def open_lesson(page: Any, address: str, lesson: str) -> None:
    """A lesson with a kernel that answers."""
    page.goto(f"{address}lite/notebooks/index.html?path={lesson}.ipynb")
    page.wait_for_function("window.jupyterapp?.shell.currentWidget?.sessionContext")
    page.evaluate(READY)


def run_all(page: Any, answers: dict[str, str]) -> str:
    """Run all cells with these answers; returns what they show."""
    page.evaluate(RUN, [answers, not EXHAUSTIVE])
    end = time.monotonic() + PATIENCE / 1e3
    while (state := page.evaluate(STATE)) != [False, 0]:
        assert time.monotonic() < end and not state[0], page.evaluate(OUTPUTS)
        page.wait_for_timeout(500)
    cells = page.evaluate(OUTPUTS)
    shown = json.dumps([outputs for _, outputs in cells], ensure_ascii=False)
    assert '"output_type": "error"' not in shown
    return shown


def edit_explorer(page: Any) -> None:
    """Type a number into the Explorer of lesson 01, compare with a chip and with none; Python has it."""
    end = time.monotonic() + PATIENCE / 1e3
    page.wait_for_function("document.querySelector('.ptx-explorer')?.cellRect?.('A', 0, 0)")
    while page.evaluate(PRINTED, "print(ex.A[0, 0])").strip() != "7.0":  # figures above it may still move it
        assert time.monotonic() < end
        page.locator(".ptx-explorer").first.scroll_into_view_if_needed()
        rect = page.evaluate("document.querySelector('.ptx-explorer').cellRect('A', 0, 0)")
        page.mouse.click(rect["x"] + rect["width"] / 2, rect["y"] + rect["height"] / 2)
        page.keyboard.type("7")
        page.keyboard.press("Enter")
        page.wait_for_timeout(500)
    compare = Shown(page).tool("[data-tool=against]")
    assert compare.evaluate("list => list.selectedOptions[0].text") == "none"
    for option, sentence in ((1, "print(ex.against is not None)"), (0, "print(ex.against is None)")):
        compare.select_option(index=option)  # None is neither undefined there nor jsnull here
        while page.evaluate(PRINTED, sentence).strip() != "True":
            assert time.monotonic() < end
            page.wait_for_timeout(200)


def compile_answers(page: Any, site: Path) -> None:
    """Answers in C++: the compiler comes with the first, after its size; if it does not, one asks again."""
    parts, hidden = site / "try" / clang.FOLDER, site / "try" / "not here"
    right = CHECK.format(completed("02.1", f"{INDEX}\nif (i < n) y[i] += a * x[i];"))
    parts.rename(hidden)
    said = page.evaluate(PRINTED, right)
    assert "… 02.1 not yet: Clang, the compiler of C++ in this tab, could not be fetched from http" in said
    assert "/00.bin: 404; try again, nothing that you typed is lost." in said
    hidden.rename(parts)

    start = time.monotonic()
    said = page.evaluate(PRINTED, right)
    first = time.monotonic() - start
    assert said.startswith("Clang 22 compiles C++ in this tab. It is loaded once, 22.6 MB, and kept by")
    assert "\n1.0 of 22.6 MB\r2.1 of" in said and "22.6 of 22.6 MB\n✓ 02.1 right: " in said
    start = time.monotonic()
    said = page.evaluate(PRINTED, CHECK.format(completed("02.1", f"{INDEX}\ny[i] += a * x[i];")))
    print(f"\nfirst answer after {first:.1f} s, next after {time.monotonic() - start:.1f} s")
    assert said.startswith("✗ 02.1 not quite: The simulation stopped") and "beyond the last element" in said
    assert "error: expected ';'" in page.evaluate(PRINTED, CHECK.format(completed("02.1", INDEX[:-1])))
    assert "<kernel f(u64)" in page.evaluate(PRINTED, "%load_ext ptxlab") + page.evaluate(
        PRINTED, "%%cuda\n__global__ void f(float* x) { *x = 1; }"
    ) + page.evaluate(PRINTED, "print(f)")


def test_lessons_from_their_first_cells_to_the_progress_that_a_reload_keeps(
    site: Path, address: str, page: Any
) -> None:
    """`make browser` does the first; `make exhaustive` all, and one more offline, whose pages then open."""
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.set_default_timeout(PATIENCE)
    expected = {}
    has_compiler = (site / "try" / clang.FOLDER).exists()  # where npm can get it
    lessons = some(LESSONS)
    for lesson in lessons:
        start = time.monotonic()
        open_lesson(page, address, lesson)
        ready = time.monotonic() - start
        answers = {
            name: text for name, text in SOLUTIONS.items() if name.startswith(lesson[:3].replace("-", "."))
        }
        if has_compiler or lesson != KERNELS:
            expected |= dict.fromkeys(answers, "right")
        if lesson == "01-fragments":
            answers["01.1"], expected["01.1"] = "(4, 21)", "wrong"
        shown = run_all(page, answers)
        print(f"\n{lesson}: kernel after {ready:.0f} s, all cells after {time.monotonic() - start:.0f} s")
        right = [name for name in answers if expected.get(name) == "right"]
        assert shown.count(" right.</strong>") == len(right)
        assert len(right) > 2 or not has_compiler
        if lesson == "01-fragments":
            assert "01.1 not quite" in shown and "eight rows higher" in shown
            assert "a browser's tab has neither a GPU" in shown
            edit_explorer(page)
        if lesson == KERNELS:
            assert "NVRTC is not installed here" in shown
            assert shown.count("this tab has none") == (0 if has_compiler else len(answers))

    page.wait_for_selector("html[data-offline=ready]", state="attached")
    if has_compiler:
        if KERNELS not in lessons:
            compile_answers(page, site)
        assert len(page.evaluate(KEPT_PARTS)) == len(list((site / "try" / clang.FOLDER).glob("*.bin")))
    page.evaluate(ANOTHER)
    page.context.set_offline(True)
    try:
        assert page.evaluate("fetch('../nothing').catch(() => 'offline')") == "offline"
        if EXHAUSTIVE:  # a kernel starts once more
            open_lesson(page, address, lessons[-1])
            printed = page.evaluate(PRINTED, "import ptxlab; print(len(ptxlab.progress().__repr__()) > 0)")
            assert printed.strip() == "True"
            if has_compiler:
                kernel = "print(ptxlab.kernel('__global__ void f(float* x) {}'))"
                assert "compiled by Clang 22" in page.evaluate(PRINTED, kernel)
        assert page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)") == 2
        page.goto(f"{address}lite/tree/index.html?never=opened")  # no kernel: what the browser has kept
        page.wait_for_function("window.jupyterapp?.serviceManager")
        kept = json.loads(page.evaluate(KEPT))
    finally:
        page.context.set_offline(False)
    assert {name: entry["state"] for name, entry in kept.items()} == expected
    assert all(url.startswith((address, "data:", "blob:")) for url in requests), requests
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
    assert not [text for text in errors if "Content Security Policy" in text]
