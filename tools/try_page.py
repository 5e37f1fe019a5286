"""python -m tools.try_page [--port N] [--no-browser] [--pyodide ADDRESS | --offline]: the browser edition.

Builds `try/` (see `tools.web`), serves it on this machine alone, and opens it in the browser; Ctrl+C ends it.
Where Pyodide's parts are here, they are brought along; otherwise the tab loads Pyodide from its own
distribution.
"""

from __future__ import annotations

import argparse
import sys
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from os import PathLike
from pathlib import Path

from . import npm, pyodide, web

FOLDER = npm.ROOT / ".venv" / "site"
#: Where copied links lead, until there is a site.
PORT = 8437
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm"}


class _Handler(SimpleHTTPRequestHandler):
    """Files of the folder, without a list of them."""

    def guess_type(self, path: str | PathLike[str]) -> str:
        """The type of a file; a registry of the system may have another one for these."""
        return _TYPES.get(Path(path).suffix) or super().guess_type(path)

    def list_directory(self, path: object) -> None:
        """Folders have no listing."""
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal shows the address."""


def server(folder: Path, port: int = PORT) -> ThreadingHTTPServer:
    """A server of the folder on loopback; on another port where this one is taken."""
    handler = partial(_Handler, directory=str(folder))
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError:
        return ThreadingHTTPServer(("127.0.0.1", 0), handler)


def build(folder: Path, address: str | None, *, offline: bool) -> None:
    """Build the page; Pyodide is at the address, or beside the page unless something is missing."""
    if address is None:
        try:
            address = web.bring_pyodide(folder)
        except npm.Missing as missing:
            if offline:
                raise
            address = pyodide.ADDRESS
            print(f"the tab loads Pyodide from {address} ({missing})")
    web.build(folder, address)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.try_page", description=__doc__.split("\n\n")[1])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="what the page is built into")
    parser.add_argument("--port", type=int, default=PORT, help=f"where it is served, {PORT} if that is free")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--pyodide", help="where Pyodide is, with / at the end")
    place.add_argument("--offline", action="store_true", help="an error if Pyodide's parts are not here")
    args = parser.parse_args(argv)
    try:
        build(args.folder, args.pyodide, offline=args.offline)
    except npm.Missing as missing:
        print(f"not built: {missing}", file=sys.stderr)
        return 1
    with server(args.folder, args.port) as listening:
        address = f"http://127.0.0.1:{listening.server_port}/try/"
        print(f"ptxlab is at {address}; Ctrl+C ends it", flush=True)
        if not args.no_browser:
            webbrowser.open(address)
        try:
            listening.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
