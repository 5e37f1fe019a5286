"""python -m tools.roads ROAD [--minutes N]: the verdicts on answers in CUDA C++, with one of the compilers.

The roads are NVRTC, Clang of PyPI's ziglang, a browser's tab and the course in JupyterLite. The last two
compile with Clang in WebAssembly, from files of this machine. The answers are those of tests/course/kernels.
A road begins with a right and a wrong answer of each exercise, so that a short run has seen them all.

What a run sees is in artifacts/roads, and `--record` keeps it: the verdicts that were as expected, and each
text that differs from the one with NVRTC, in tools/data/roads.json, and as a table in docs/guide/clang.md.
`--measure` says how long a tab takes to load the compiler and to compile, and what memory it takes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from unittest import mock

import ptxlab
from ptxlab import lessons
from ptxlab._util.files import write_atomically
from ptxlab.course import answers, reader_kernels
from ptxlab.course.checking import UNFORESEEN
from tests.course.test_kernel_answers import NAMES, KernelAnswer, kernel_answers

from . import chromium, clang, lite, web
from .jupyter import FLAGS
from .npm import ROOT

#: Road -> how the table calls it.
ROADS = {"nvrtc": "NVRTC", "ziglang": "Clang (ziglang)", "tab": "a browser's tab", "lite": "JupyterLite"}
RUNS = ROOT / "artifacts" / "roads"
RECORD = ROOT / "tools" / "data" / "roads.json"
PAGE = ROOT / "docs" / "guide" / "clang.md"
MARKS = ("<!-- roads -->\n", "<!-- end -->")
PATIENCE = 600_000  # milliseconds for one answer, on a busy machine

#: What a tab does with an answer: state and text of the verdict, seconds.
_CHECK = """
import json, time
from ptxlab import lessons
def check(name, text):
    answer = json.loads(text)
    if isinstance(answer, dict):
        answer = {int(line): new for line, new in answer.items()}
    start = time.perf_counter()
    verdict = lessons.exercise(name).check(answer)
    return json.dumps([verdict.state, verdict.text, time.perf_counter() - start])
"""
#: The seconds that a tab takes to load the compiler, and to compile a kernel.
_MEASURE = """
def load_compiler():
    from ptxlab.gpu.clang_in_tab import find_clang
    start = time.perf_counter()
    find_clang().load(lambda done, total: None)
    return json.dumps(time.perf_counter() - start)

def compile_source(source):
    import ptxlab
    start = time.perf_counter()
    ptxlab.kernel(source)
    return json.dumps(time.perf_counter() - start)
"""
#: A worker with Python, all of ptxlab and the compiler, as that of the page of kernels.
_WORKER = """
const python = (async () => {
  const { loadPyodide } = await import("./pyodide/pyodide.mjs");
  const listing = await (await fetch("clang.json")).text();
  const env = { HOME: "/home/pyodide", PTXLAB_CLANG: listing };
  const python = await loadPyodide({ indexURL: new URL("pyodide/", location.href).href, env });
  await python.loadPackage(["numpy", "ml-dtypes"], { messageCallback() {} });
  python.unpackArchive(await (await fetch("ptxlab.zip")).arrayBuffer(), "zip");
  python.runPython(await (await fetch("check.py")).text());
  return python;
})();
addEventListener("message", async ({ data: [name, ...values] }) => {
  try {
    postMessage((await python).globals.get(name)(...values));
  } catch (error) {
    postMessage(String(error).slice(-400));
  }
});
"""
_ASK_WORKER = """(message) => new Promise((done) => {
  window.worker ??= new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => done(data);
  worker.onerror = ({ message }) => done(message);
  worker.postMessage(message);
})"""
_ASK_KERNEL = """async ([name, text]) => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const code = `print(check(${JSON.stringify(name)}, ${JSON.stringify(text)}))`;
  const asked = kernel.requestExecute({ code });
  let printed = "";
  asked.onIOPub = ({ content }) => { printed += content.text ?? content.evalue ?? ""; };
  await asked.done;
  return printed.trim().split("\\n").pop();
}"""
_START_KERNEL = """async (code) => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  const { kernel } = panel.sessionContext.session;
  await kernel.info;
  await kernel.requestExecute({ code }).done;
}"""

#: Asks for the verdict on an answer to an exercise: state, text, seconds.
Check = Callable[[str, str | dict[int, str]], tuple[str, str, float]]


class Case(NamedTuple):
    """An answer to an exercise."""

    name: str
    answer: KernelAnswer

    @property
    def key(self) -> str:
        """What its verdict is kept under: another one if the answer changes."""
        return f"{self.name} {hashlib.sha256(repr(self.answer.answer).encode()).hexdigest()[:12]}"


def cases() -> list[Case]:
    """All answers: first a right and a wrong one of each exercise, then the next."""
    rounds: list[list[Case]] = []
    for name in NAMES:
        of_exercise = [Case(name, answer) for answer in kernel_answers(name)]
        right = [case for case in of_exercise if case.answer.is_right]
        wrong = [case for case in of_exercise if not case.answer.is_right]
        for at, pair in enumerate(zip_longest(right, wrong)):
            rounds += [[]] if at == len(rounds) else []
            rounds[at] += [case for case in pair if case is not None]
    return [case for row in rounds for case in row]


# -- roads ---------------------------------------------------------------------------------------------------


@contextmanager
def here(compiler: str) -> Iterator[Check]:
    """Verdicts in this process, with this compiler."""

    def check(name: str, answer: str | dict[int, str]) -> tuple[str, str, float]:
        start = time.perf_counter()
        verdict = lessons.exercise(name).check(answer)
        return verdict.state, verdict.text, time.perf_counter() - start

    with (
        mock.patch.object(answers, "TIME_LIMIT", 100),  # the machine may be busy
        mock.patch.object(reader_kernels, "compiled_kernel", partial(ptxlab.kernel, compiler=compiler)),
    ):
        yield check


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def page_of(folder: Path) -> Iterator[tuple[Any, str]]:
    """A page of Chromium, and the address at which a folder is served."""
    from playwright.sync_api import sync_playwright

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        yield page, f"http://127.0.0.1:{server.server_port}/"
        browser.close()
    server.shutdown()


@contextmanager
def tab() -> Iterator[Any]:
    """A page whose worker loads Python and the compiler as the page of kernels does."""
    with tempfile.TemporaryDirectory() as place:
        site = Path(place)
        web.bring_pyodide(site)
        listing = clang.bring(site)
        assert listing is not None
        package = lite.wheel(lite.compiled(lite.own_files(), "docs", "lines").items())
        target = site / "try"
        (target / "ptxlab.zip").write_bytes(package)
        (target / "check.py").write_text(_CHECK + _MEASURE, encoding="utf-8")
        (target / "worker.js").write_text(_WORKER, encoding="utf-8")
        (target / "index.html").write_text("<!doctype html><title>roads</title>", encoding="utf-8")
        with page_of(site) as (page, address):
            whole = [f"{address}try/{part}" for part in listing["addresses"]]  # type: ignore[attr-defined]
            text = json.dumps(listing | {"addresses": whole})
            (target / "clang.json").write_text(text, encoding="utf-8")
            page.goto(f"{address}try/index.html")
            yield page


@contextmanager
def in_tab() -> Iterator[Check]:
    """Verdicts in a tab."""
    with tab() as page:
        yield lambda name, answer: _verdict(page.evaluate(_ASK_WORKER, ["check", name, json.dumps(answer)]))


@contextmanager
def in_jupyterlite(site: Path | None) -> Iterator[Check]:
    """Verdicts in the kernel of a lesson in JupyterLite, of a site that is there or is built for it."""
    with tempfile.TemporaryDirectory() as place:
        if site is None:
            site = Path(place)
            lite.build(site, lite.bring_pyodide(site))
        with page_of(site) as (page, address):
            page.goto(f"{address}lite/notebooks/index.html?path=02-your-first-tensor-core-kernel.ipynb")
            page.wait_for_function("window.jupyterapp?.shell.currentWidget?.sessionContext")
            page.evaluate(_START_KERNEL, _CHECK)
            yield lambda name, answer: _verdict(page.evaluate(_ASK_KERNEL, [name, json.dumps(answer)]))


def _verdict(text: str) -> tuple[str, str, float]:
    """What `check` returned as JSON; anything else is an error of the tab."""
    try:
        state, message, seconds = json.loads(text)
    except ValueError:
        raise SystemExit(f"the tab cannot check answers: {text}") from None
    return state, message, seconds


def run(road: str, minutes: float, site: Path | None = None) -> None:
    """Check answers until all are checked or the time is over; what an earlier run has seen is kept."""
    path = RUNS / f"{road}.json"
    seen = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    left = [case for case in cases() if case.key not in seen]
    opened: dict[str, AbstractContextManager[Check]] = {
        "nvrtc": here("nvrtc"),
        "ziglang": here("clang"),
        "tab": in_tab(),
        "lite": in_jupyterlite(site),
    }
    end = time.monotonic() + 60 * minutes
    RUNS.mkdir(parents=True, exist_ok=True)
    with opened[road] as check:
        for case in left:
            if time.monotonic() > end:
                break
            seen[case.key] = state, text, seconds = check(case.name, case.answer.answer)
            mark = "" if _expected(case.answer, state, text) else f"  NOT AS EXPECTED: {state}, {text}"
            print(f"{case.name} {case.answer.words}: {seconds:.1f} s{mark}", flush=True)
            write_atomically(path, json.dumps(seen, ensure_ascii=False))
    known = [case.key for case in cases()]
    print(f"{ROADS[road]}: {len(seen.keys() & {*known})} of {len(known)} answers, in {path}")


def _expected(answer: KernelAnswer, state: str, text: str) -> bool:
    """Whether the verdict is what the answer's file says, with a hint that fits."""
    if UNFORESEEN in text:
        return False
    return state == "right" if answer.is_right else state == "wrong" and answer.hint in text


def measure() -> list[str]:
    """What a tab takes that loads the compiler and compiles a kernel with one `mma`, in sentences."""
    source = web.kernel_examples()[0]["source"]
    steps = [["load_compiler"], *(["compile_source", f"// {number}\n{source}"] for number in range(5))]
    lines = []
    with tab() as page:
        browser = page.context.browser.new_browser_cdp_session()

        def process() -> tuple[float, int, int]:
            """Seconds of processors, mebibytes now and at most."""
            rows = browser.send("SystemInfo.getProcessInfo")["processInfo"]
            row = max((row for row in rows if row["type"] == "renderer"), key=lambda row: row["cpuTime"])
            status = Path(f"/proc/{row['id']}/status").read_text(encoding="utf-8")
            most, now = (int(text) // 1024 for text in re.findall(r"Vm(?:HWM|RSS):\s+(\d+)", status))
            return row["cpuTime"], now, most

        page.evaluate(_ASK_WORKER, ["check", "02.1", json.dumps("...")])  # Python is there
        before, now, _ = process()
        lines.append(f"Python is there: {now} MiB")
        for step in steps:
            seconds = json.loads(page.evaluate(_ASK_WORKER, step))
            after, now, most = process()
            spent = f"{seconds:.1f} s, of processors {after - before:.1f} s"
            lines.append(f"{step[0]}: {spent}; {now} MiB, at most {most} MiB")
            before = after
    return lines


# -- the record ----------------------------------------------------------------------------------------------


#: Causes of differences: the texts differ in what matches these patterns, and in nothing else.
CAUSES = {
    "the compilers' own words": r"^(?:NVRTC|Clang) does not compile this for sm_90a: .*",
    "types of loads and stores, of which Clang gives only the size": r"(?<=\.)[bfus](?=(?:8|16|32|64)\b)",
    "lines that a compiler names for a loop or a long statement": (
        r"(?<=:)\d+(?=[:,] )|, from line \d+ of your kernel|(?<=line )\d+"
    ),
    "stores to a generic address, where NVRTC names the memory": r"(?<= st)\.global",
    "which of several accesses comes first": r"(?<=reads )\w+\[\d+\]",
}


def causes_of(one: str, other: str) -> list[str]:
    """Why the texts of two verdicts differ; nothing if the known causes do not explain it.

    >>> causes_of("line 4: ld.global.f32 reads x[1]", "line 5: ld.global.f32 reads x[1]")
    ['lines that a compiler names for a loop or a long statement']
    """
    causes = []
    for cause, pattern in CAUSES.items():
        if re.findall(pattern, one) != re.findall(pattern, other):
            causes.append(cause)
        one, other = re.sub(pattern, "", one), re.sub(pattern, "", other)
    return causes if one == other else []


def record() -> None:
    """Keep what the runs in artifacts/roads have seen, in place of earlier ones, and write the table."""
    kept = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"roads": {}}
    runs = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in [RUNS / f"{road}.json" for road in ROADS]
        if path.exists()
    }
    for road, seen in runs.items():
        counts = {name: [0, 0] for name in NAMES}  # as expected, and tried
        differences = []
        for case in [case for case in cases() if case.key in seen]:
            state, text, _ = seen[case.key]
            counts[case.name][0] += _expected(case.answer, state, text)
            counts[case.name][1] += 1
            with_nvrtc = runs["nvrtc"][case.key][1]
            if text != with_nvrtc:
                differences.append([case.name, case.answer.words, text, with_nvrtc])
        kept["roads"][road] = {"counts": counts, "differences": sorted(differences)}
    for name in NAMES:
        right = [answer.is_right for answer in kernel_answers(name)]
        kept.setdefault("answers", {})[name] = [sum(right), len(right) - sum(right)]
    write_atomically(RECORD, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    page = PAGE.read_text(encoding="utf-8")
    begins, ends = page.index(MARKS[0]) + len(MARKS[0]), page.index(MARKS[1])
    write_atomically(PAGE, f"{page[:begins]}\n{shown(kept)}\n{page[ends:]}")


def shown(kept: dict[str, Any]) -> str:
    """The record in Markdown: a table with a row for each exercise, and what differs from NVRTC."""
    roads = {road: kept["roads"][road] for road in ROADS if road in kept["roads"]}
    rows = [["exercise", "right, wrong answers", *(ROADS[road] for road in roads)]]
    for names in [*([name] for name in kept["answers"]), list(kept["answers"])]:
        right, wrong = (sum(kept["answers"][name][at] for name in names) for at in (0, 1))
        cells = []
        for road in roads.values():
            expected, tried = (sum(road["counts"][name][at] for name in names) for at in (0, 1))
            cells.append(f"{expected} of {tried}")
        rows.append([names[0] if len(names) == 1 else "all", f"{right}, {wrong}", *cells])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"|---|{'---:|' * (len(rows[0]) - 1)}")
    lines += ["", "Words of hints that are others than with NVRTC:", ""]
    answers_of: dict[str, set[str]] = {}
    for road, row in roads.items():
        for name, words, text, with_nvrtc in row["differences"]:
            for cause in causes_of(text, with_nvrtc) or [f"unexplained, {ROADS[road]}, {words!r}: {text!r}"]:
                answers_of.setdefault(cause, set()).add(name)
    lines += [f"- {cause}: {', '.join(sorted(names))}" for cause, names in sorted(answers_of.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.roads", description=__doc__)
    parser.add_argument("road", nargs="?", choices=ROADS)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many minutes")
    parser.add_argument("--record", action="store_true", help="keep what the runs have seen")
    parser.add_argument("--measure", action="store_true", help="seconds and memory of a tab that compiles")
    parser.add_argument("--site", type=Path, help="for JupyterLite: what `make web OFFLINE=1` has built")
    options = parser.parse_args()
    if options.measure:
        print(*measure(), sep="\n")
    if options.road:
        run(options.road, options.minutes, options.site)
    if options.record:
        record()


if __name__ == "__main__":
    main()
