"""Clang in WebAssembly, in parts that a page loads when it compiles C++: npm's @yowasp/clang, compressed.

Only the module is used: CUDA C++ needs none of the package's headers and libraries, and `clang_wasi.js` of
ptxlab.gpu answers what it asks a system for.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zlib
from pathlib import Path

from . import npm

VERSION = "22.0.0-git20542-10"
#: Where the parts are, from `try/` of a site.
FOLDER = f"clang/{VERSION}/"
#: Bytes of a part: a page shows how many have come after each.
PART = 1 << 20


def folder() -> Path:
    """The parts, and their listing, made once; raises `npm.Missing` where the package cannot be had."""
    target = npm.ROOT / ".venv" / f"clang-parts-{VERSION}"
    if not target.exists():
        module = npm.package("@yowasp/clang", VERSION) / "@yowasp" / "clang" / "gen" / "llvm.core.wasm"
        content = module.read_bytes()
        packed = zlib.compress(content, 9)
        with tempfile.TemporaryDirectory(dir=target.parent) as place:
            made = Path(place) / "parts"
            made.mkdir()
            starts = range(0, len(packed), PART)
            names = [f"{number:02}.bin" for number, _ in enumerate(starts)]
            for name, start in zip(names, starts, strict=True):
                (made / name).write_bytes(packed[start : start + PART])
            listing = {"addresses": names, "packed": len(packed), "unpacked": len(content)}
            (made / "listing.json").write_text(json.dumps(listing), encoding="utf-8")
            npm.rename(made, target)
    return target


def bring(site: Path, try_folder: str = "") -> dict[str, object] | None:
    """Copy the parts into a site, and list them; None where npm cannot get them.

    `try_folder` is the address of `try/` as seen from the page: "" for the pages in it.
    """
    try:
        source = folder()
    except npm.Missing as missing:
        print(f"pages without a compiler for C++: {missing}")
        return None
    target = site / "try" / FOLDER
    if not target.exists():
        shutil.rmtree(target.parent, ignore_errors=True)
        shutil.copytree(source, target)
    listing: dict[str, object] = json.loads((source / "listing.json").read_text(encoding="utf-8"))
    names = listing["addresses"]
    assert isinstance(names, list)
    return listing | {"addresses": [f"{try_folder}{FOLDER}{name}" for name in names]}
