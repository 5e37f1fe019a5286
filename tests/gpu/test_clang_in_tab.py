"""Clang in WebAssembly, as a browser's tab runs it: its module in node, and what loads it in Python."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, lessons
from ptxlab.cli.kernel_page import KernelTab
from ptxlab.gpu import clang
from ptxlab.gpu.clang_in_tab import NotFetched, Parts, TabClang, find_clang, parts_of, print_progress
from ptxlab.simulator import cuda_source
from tests.cases import each
from tests.course.answers import completed
from tools import clang as parts
from tools import npm

#: Runs Clang's module as a tab does: arguments, files and output on the standard input.
NODE = """
import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";
const [folder, script] = process.argv.slice(-2);
const text = encodeURIComponent(readFileSync(script));
const { default: runClang } = await import(`data:text/javascript,${text}`);
const { addresses } = JSON.parse(readFileSync(`${folder}/listing.json`));
const packed = Buffer.concat(addresses.map((name) => readFileSync(`${folder}/${name}`)));
const module = new WebAssembly.Module(inflateSync(packed));
const runs = JSON.parse(readFileSync(0));
const done = runs.map(([words, files, output]) => runClang(module, ["clang", ...words], files, output));
process.stdout.write(JSON.stringify(done));
"""
SCRIPT = Path(clang.__file__).with_name("clang_wasi.js")
SOURCE = """\
__device__ float twice(float x) { return x + x; }
__global__ void add(const float* x, float* y, int n) {
  __shared__ float tile[64];
  int i = threadIdx.x;
  tile[i] = twice(x[i]);
  __syncthreads();
  if (i < n) y[i] += tile[63 - i];
}
"""


def in_node(words: list[str], files: Mapping[str, str]) -> str:
    """Clang of a tab, with its messages as a refusal."""
    run = [words, list(files.items()), words[words.index("-o") + 1]]
    command = ["node", "--input-type=module", "-e", NODE, str(parts.folder()), str(SCRIPT)]
    done = subprocess.run(command, input=json.dumps([run]), capture_output=True, text=True, check=True)
    [result] = json.loads(done.stdout)
    if result["status"]:
        raise PtxlabError(result["messages"])
    text: str = result["text"]
    return text


@pytest.fixture
def tab() -> Iterator[None]:
    """A machine whose compiler is that of a tab."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    try:
        parts.folder()
    except npm.Missing as missing:
        pytest.skip(str(missing))
    clang.use_tab_compiler(in_node)
    yield
    clang.use_tab_compiler(None)


@pytest.mark.slow
def test_a_kernel_is_compiled_and_simulated_as_in_a_tab(tab: None) -> None:
    kernel = ptxlab.kernel(SOURCE, "add", compiler="clang")
    x, y = np.arange(64, dtype=np.float32), np.ones(64, dtype=np.float32)
    result = kernel.simulate(1, 64, x, y, 60)
    expected = np.ones(64, dtype=np.float32)
    expected[:60] += 2 * x[::-1][:60]
    assert np.array_equal(y, expected) and not result.hazards and kernel.compiler == "Clang 22"
    assert {5, 7} <= kernel.source_lines
    with pytest.raises(PtxlabError, match=r"\(7\): error: use of undeclared identifier 'z'"):
        ptxlab.kernel(SOURCE.replace("y[i] +=", "z[i] +="), "add", compiler="clang")


# -- loading -------------------------------------------------------------------------------------------------

CODE = bytes(range(256)) * 40


class Buffer:
    """As much of a Uint8Array as is used."""

    def __init__(self, size: int) -> None:
        self.memory = memoryview(bytearray(size))

    def subarray(self, start: int, end: int) -> SimpleNamespace:
        def assign(content: bytes) -> None:
            self.memory[start:end] = content

        return SimpleNamespace(assign=assign)


class Browser:
    """A worker with a network: addresses, and what they hold."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.requested: list[str] = []
        self.modules: list[bytes] = []
        self.calls: list[tuple[Any, ...]] = []
        self.result = SimpleNamespace(text="IR", messages="", status=0)

    def request(self) -> SimpleNamespace:
        made = SimpleNamespace(status=0, response=None, responseType="")

        def open_(method: str, address: str, is_async: bool) -> None:
            assert (method, is_async) == ("GET", False)
            made.address = address

        def send() -> None:
            self.requested.append(made.address)
            content = self.files.get(made.address)
            made.status = 404 if content is None else 200
            made.response = SimpleNamespace(to_bytes=lambda: content)

        made.open, made.send = open_, send
        return made

    def module(self, code: Buffer) -> str:
        self.modules.append(bytes(code.memory))
        return "module"

    def run(self, *arguments: Any) -> Any:
        self.calls.append(arguments)
        return self.result

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        js, code, ffi = ModuleType("js"), ModuleType("pyodide.code"), ModuleType("pyodide.ffi")
        vars(js).update(
            Uint8Array=SimpleNamespace(new=Buffer),
            XMLHttpRequest=SimpleNamespace(new=self.request),
            WebAssembly=SimpleNamespace(Module=SimpleNamespace(new=self.module)),
        )
        vars(code)["run_js"] = lambda text: self.run
        vars(ffi)["to_js"] = lambda value: value
        for module in (js, code, ffi):
            monkeypatch.setitem(sys.modules, module.__name__, module)


PACKED = zlib.compress(CODE)
HALF = len(PACKED) // 2
FILES = {"a/0.bin": PACKED[:HALF], "a/1.bin": PACKED[HALF:]}
PARTS = Parts(tuple(FILES), len(PACKED), len(CODE))
WORDS = ["-cc1", "kernel.cu", "-o", "kernel.ll"]


def test_it_is_loaded_once_and_a_source_is_compiled_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = Browser(FILES)
    browser.install(monkeypatch)
    tab = TabClang(PARTS)
    assert tab(WORDS, {"kernel.cu": "int i;"}) == tab(WORDS, {"kernel.cu": "int i;"}) == "IR"
    assert browser.requested == list(FILES) and browser.modules == [CODE] and len(browser.calls) == 1
    module, words, files, output = browser.calls[0]
    assert (module, words[0], files, output) == ("module", "clang", (("kernel.cu", "int i;"),), "kernel.ll")
    said = capsys.readouterr().out
    assert said.startswith("Clang 22 compiles C++ in this tab. It is loaded once, 0.0 MB, and kept by")
    tab(WORDS, {"kernel.cu": "int j;"})
    assert len(browser.calls) == 2 and capsys.readouterr().out == ""


def test_what_clang_refuses_has_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(FILES)
    browser.install(monkeypatch)
    browser.result = SimpleNamespace(text="", messages="kernel.cu:1:1: error: what", status=1)
    tab = TabClang(PARTS)
    for _ in range(2):
        with pytest.raises(PtxlabError, match="error: what"):
            tab(WORDS, {})
    assert len(browser.calls) == 1


def test_a_part_that_does_not_come_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no fault of the source: not for `ptxlab.kernel`, nor for an exercise, nor on the page."""
    browser = Browser({"a/0.bin": PACKED[:HALF]})
    browser.install(monkeypatch)
    tab = TabClang(PARTS)
    sentence = r"^Clang, .*, could not be fetched from a/1\.bin: 404; try again, nothing .* is lost"
    with pytest.raises(NotFetched, match=sentence):
        tab(WORDS, {})
    clang.use_tab_compiler(tab)
    monkeypatch.setattr(cuda_source, "find_compiler", lambda name=None: "clang")
    try:
        with pytest.raises(NotFetched, match=sentence):
            ptxlab.kernel(SOURCE)
        verdict = lessons.exercise("02.1").check(completed("02.1", "y[0] = a;"))
        assert verdict.state == "not yet" and re.match(sentence, verdict.text)
        [(text, _)] = KernelTab().describe(json.dumps({"source": SOURCE, "name": ""}))
        shown = json.loads(text)
        assert re.match(sentence, shown["problem"]) and shown["again"] and not shown["line"]
    finally:
        clang.use_tab_compiler(None)
    browser.files = FILES
    assert tab(WORDS, {}) == "IR"


@each(
    "files, sentence",
    [
        ({"a/0.bin": PACKED[:HALF], "a/1.bin": b""}, "bytes came; reload the page and try again"),
        ({"a/0.bin": b"<html>", "a/1.bin": b""}, "fetched from a/0.bin: what came is something else"),
    ],
)
def test_a_part_that_is_something_else(
    files: dict[str, bytes], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Browser(files).install(monkeypatch)
    with pytest.raises(NotFetched, match=sentence):
        TabClang(PARTS).load(lambda done, total: None)


def test_a_browser_with_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(code: Buffer) -> str:
        raise RuntimeError("RangeError: WebAssembly.Module(): Out of memory\n  at ...")

    browser = Browser(FILES)
    browser.module = refuse  # type: ignore[method-assign]
    browser.install(monkeypatch)
    with pytest.raises(PtxlabError, match=r"^Clang does not start in this tab: RangeError: .*memory$"):
        TabClang(PARTS)(WORDS, {})


def test_progress_and_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    for done in (0, 11_000_000, 22_000_000):
        print_progress(done, 22_000_000)
    assert "once, 22.0 MB, and" in capsys.readouterr().out.splitlines()[0]
    listing = json.dumps({"addresses": ["https://a.example/0.bin"], "packed": 1, "unpacked": 2})
    assert parts_of(listing, "https://b.example/try/worker.js").addresses == ("https://a.example/0.bin",)
    assert find_clang() is None  # this is no tab
