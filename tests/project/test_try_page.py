"""`make try`: the page is built, served on this machine alone and opened, and Ctrl+C ends it; no browser."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from ptxlab.explorer import links
from tools import address, npm, pyodide, try_page, web

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a folder with a page and a module."""
    (tmp_path / "try").mkdir()
    (tmp_path / "try" / "index.html").write_text("<h1>here</h1>")
    (tmp_path / "try" / "page.mjs").write_text("0")
    (tmp_path / "try" / "python.wasm").write_bytes(b"\0asm")
    with try_page.server(tmp_path, 0) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        assert listening.server_address[0] == "127.0.0.1"
        yield f"http://127.0.0.1:{listening.server_port}/"
        listening.shutdown()


def test_it_serves_files_with_their_types_and_no_listings(served: str) -> None:
    for name, kind in (
        ("try/", "text/html"),
        ("try/page.mjs", "text/javascript"),
        ("try/python.wasm", "wasm"),
    ):
        with urllib.request.urlopen(served + name, timeout=10) as answer:
            assert kind in answer.headers["Content-Type"], name
    for name in ("", "try/nothing", "../pyproject.toml", "%2e%2e/pyproject.toml"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(served + name, timeout=10)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with try_page.server(tmp_path, 0) as first, try_page.server(tmp_path, first.server_port) as second:
        assert first.server_port != second.server_port


def test_python_is_brought_along_if_it_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    used: list[str] = []
    monkeypatch.setattr(web, "build", lambda folder, address: used.append(address))
    monkeypatch.setattr(web, "bring_pyodide", lambda folder: "pyodide/")
    try_page.build(tmp_path, None, offline=False)
    try_page.build(tmp_path, "https://example.org/pyodide/", offline=False)

    def missing(folder: Path) -> str:
        raise npm.Missing("no wheels here")

    monkeypatch.setattr(web, "bring_pyodide", missing)
    try_page.build(tmp_path, None, offline=False)
    assert used == ["pyodide/", "https://example.org/pyodide/", pyodide.ADDRESS]
    assert f"the tab loads Pyodide from {pyodide.ADDRESS} (no wheels here)" in capsys.readouterr().out
    assert try_page.main(["--offline", "--folder", str(tmp_path)]) == 1
    assert "not built: no wheels here" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl+C is sent to a group there")
def test_it_builds_says_where_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    """As `make try` runs it, with the address of Pyodide, which nothing loads here."""
    command = [
        sys.executable,
        "-m",
        "tools.try_page",
        "--folder",
        str(tmp_path),
        "--no-browser",
        "--port",
        "0",
    ]
    process = subprocess.Popen(
        [*command, "--pyodide", pyodide.ADDRESS],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    where = line.removeprefix("ptxlab is at ").partition(";")[0]
    with urllib.request.urlopen(where, timeout=20) as answer:
        assert b'<main id="page">' in answer.read()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0 and "Traceback" not in errors


def test_copied_links_lead_there_until_there_is_a_site() -> None:
    page = f"http://127.0.0.1:{try_page.PORT}/try/"
    assert (page == links.PAGE) != address.is_published()


def test_the_browser_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(try_page, "build", lambda folder, address, offline: None)
    monkeypatch.setattr(webbrowser, "open", opened.append)

    def interrupt(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupt)
    assert try_page.main(["--folder", str(tmp_path), "--port", "0"]) == 0
    (address,) = opened
    assert address.startswith("http://127.0.0.1:") and address.endswith("/try/")
