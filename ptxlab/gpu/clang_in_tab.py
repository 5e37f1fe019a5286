"""Clang in a browser's tab: WebAssembly in the worker in which Python runs.

It is npm's @yowasp/clang, with which `tools.web` builds the page of kernels. It is large, so a page
loads it when the first C++ is compiled. All of this is synchronous, as `ptxlab.kernel` is: in every browser a
worker can wait for the network, and for a module of WebAssembly, but not every browser lets Python wait for a
promise.
"""

from __future__ import annotations

import importlib
import json
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from ..errors import PtxlabError
from .cuda_python import in_a_tab

#: Hears how many bytes of the compiler have come, and how many they are.
Report = Callable[[int, int], None]


class NotFetched(PtxlabError):
    """The compiler did not come over the network: the source may be right."""


@dataclass(frozen=True)
class Parts:
    """Where the compiler is: the addresses of parts of a zlib stream, and its bytes packed and unpacked."""

    addresses: tuple[str, ...]
    packed: int
    unpacked: int


def parts_of(listing: str, page: str) -> Parts:
    """The parts as PTXLAB_CLANG lists them; those of JupyterLite are relative to its folder in the site.

    >>> listing = '{"addresses": ["../try/clang/0.bin"], "packed": 1, "unpacked": 2}'
    >>> parts_of(listing, "https://example.org/docs/lite/extensions/worker.js").addresses
    ('https://example.org/docs/lite/../try/clang/0.bin',)
    """
    fields = json.loads(listing)
    home = page.partition("/lite/")[0] + "/lite/"
    addresses = tuple(part if "://" in part else home + part for part in fields["addresses"])
    return Parts(addresses, fields["packed"], fields["unpacked"])


@lru_cache(maxsize=1)
def find_parts() -> Parts | None:
    """The compiler that this tab's page brings; None elsewhere, and if it brings none."""
    listing = os.environ.get("PTXLAB_CLANG")
    if not listing or not in_a_tab():
        return None
    return parts_of(listing, str(importlib.import_module("js").location.href))


class TabClang:
    """Clang, from parts that are loaded when it is first called, or by `load`."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._module: Any = None
        self._run: Any = None
        self._compile = lru_cache(maxsize=8)(self._compile_anew)

    def load(self, report: Report) -> None:
        """Load it, unless that is done."""
        if self._module is not None:
            return
        js, pyodide = importlib.import_module("js"), importlib.import_module("pyodide.code")
        parts = self.parts
        code = js.Uint8Array.new(parts.unpacked)
        stream = zlib.decompressobj()
        packed = unpacked = 0
        report(0, parts.packed)
        for address in parts.addresses:
            piece = _fetched(js, address)
            for at in range(0, len(piece), 1 << 18):  # what Python holds at a time, its memory never shrinks
                try:
                    text = stream.decompress(piece[at : at + (1 << 18)])
                except zlib.error:  # the answer of another server, such as a page that asks to log in
                    raise _not_fetched(address, "what came is something else;") from None
                code.subarray(unpacked, unpacked + len(text)).assign(text)
                unpacked += len(text)
            packed += len(piece)
            report(packed, parts.packed)
        if unpacked != parts.unpacked:
            raise _not_fetched(
                parts.addresses[-1], f"{unpacked:,} of {parts.unpacked:,} bytes came; reload the page and"
            )
        try:
            self._module = js.WebAssembly.Module.new(code)
        except Exception as error:  # of JavaScript: there is too little memory
            raise PtxlabError(f"Clang does not start in this tab: {_first_line(error)}") from None
        script = resources.files(__package__).joinpath("clang_wasi.js").read_text(encoding="utf-8")
        self._run = pyodide.run_js(script.replace("export default", "") + "runClang")

    def __call__(self, words: list[str], files: Mapping[str, str]) -> str:
        """The file that `-o` names, of Clang with these arguments; what it refuses is a `PtxlabError`."""
        self.load(print_progress)
        text, messages = self._compile(tuple(words), tuple(files.items()))
        if messages:
            raise PtxlabError(messages)
        return text

    def _compile_anew(self, words: tuple[str, ...], files: tuple[tuple[str, str], ...]) -> tuple[str, str]:
        """The file and no messages, or the messages of what was refused."""
        to_js = importlib.import_module("pyodide.ffi").to_js
        output = words[words.index("-o") + 1]
        try:
            done = self._run(self._module, to_js(["clang", *words]), to_js(files), output)
        except Exception as error:  # of JavaScript: Clang trapped, or nests deeper than this browser's stack
            return "", f"Clang failed on this source: {_first_line(error)}"
        return ("", done.messages) if done.status else (done.text, "")


@lru_cache(maxsize=1)
def find_clang() -> TabClang | None:
    """The compiler of this tab; None elsewhere, and if the page brings none."""
    parts = find_parts()
    return None if parts is None else TabClang(parts)


def print_progress(done: int, total: int) -> None:
    """A sentence before the first part, and a line that changes.

    >>> print_progress(0, 22_800_000)
    Clang 22 compiles C++ in this tab. It is loaded once, 22.8 MB, and kept by the browser.
    """
    if done == 0:
        size = f"{total / 1e6:.1f} MB"
        kept = f"It is loaded once, {size}, and kept by the browser."
        print(f"Clang 22 compiles C++ in this tab. {kept}", flush=True)
    else:
        end = "\n" if done == total else "\r"
        print(f"{done / 1e6:.1f} of {total / 1e6:.1f} MB", end=end, flush=True)


def _fetched(js: Any, address: str) -> bytes:
    request = js.XMLHttpRequest.new()
    request.open("GET", address, False)
    request.responseType = "arraybuffer"
    try:
        request.send()
    except Exception:  # of JavaScript: there is no network
        status = "no answer"
    else:
        status = str(request.status)
    if status != "200":
        raise _not_fetched(address, f"{status};")
    content: bytes = request.response.to_bytes()
    return content


def _not_fetched(address: str, reason: str) -> NotFetched:
    return NotFetched(
        f"Clang, the compiler of C++ in this tab, could not be fetched from {address}: {reason} try again, "
        "nothing that you typed is lost"
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
