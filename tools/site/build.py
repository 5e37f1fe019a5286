"""Assemble the source of the site and run Sphinx over it, without a network."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

import plotly

from ptxlab.cli.ask import EXAMPLES
from ptxlab.explorer.bundle import script, sheets
from ptxlab.explorer.sixteen_products import page_part

from ..web import restrict
from . import (
    EXPLORERS,
    agents,
    api,
    command_line,
    course,
    element_types,
    families,
    gemm,
    machine_code,
    numerics,
    predicted_times,
    simulated,
    speed,
    tcgen05,
    throughput,
)

__all__ = ["build"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_BRIEF_LINES = 5  # of a table or of a block of code that a brief page keeps
_BRIEF_PARTS = 3  # dropdowns, and lists of definitions, that a brief page keeps
_DROPDOWN = re.compile(r"^::::\{dropdown\}.*?^::::\n", re.MULTILINE | re.DOTALL)
_DEFINITIONS = re.compile(r"^(?:[^\n:].*\n: .*\n\n?)+", re.MULTILINE)


def _assemble(source: Path, *, brief: bool = False, web: bool = False) -> None:
    """Copy docs/ and write the generated pages beside it; brief ones with few figures and short tables."""
    shutil.copytree(DOCS, source, dirs_exist_ok=True)
    course.write(source / "course", brief=brief, web=web)
    agents.write(source / "guide")
    reference = source / "reference"
    families.write(reference, brief=brief, web=web)
    element_types.write(reference)
    numerics.write(reference)
    machine_code.write(reference)
    command_line.write(reference)
    simulated.write(reference)
    speed.write(reference)
    predicted_times.write(reference)
    tcgen05.write(reference, web=web)
    gemm.write(reference)
    throughput.write(reference)
    if brief:
        for page in reference.glob("*.md"):
            page.write_text(_shortened(page.read_text(encoding="utf-8")), encoding="utf-8")
    index = source / "index.md"
    index.write_text(_with_scene(index.read_text(encoding="utf-8"), web), encoding="utf-8")
    api.write(source / "api")
    (source / "_extra" / "explorers").mkdir(parents=True, exist_ok=True)
    plotly_js = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    static = source / "_static"
    shutil.copyfile(plotly_js, static / "plotly.min.js")
    (static / "saved_pictures.js").write_text(script("saved_pictures"), encoding="utf-8")
    (static / "sixteen_products.js").write_text(script("sixteen_products_page"), encoding="utf-8")
    (static / "pictures.css").write_text(sheets("timeline", "pictures", "products"), encoding="utf-8")


def _with_scene(text: str, web: bool) -> str:
    """The front page, with the products that one plays and edits; with `web`, what opens in this tab, too."""
    links = "\n".join(
        f'<a href="try/index.html?ask={quote(example)}"><code>{html.escape(example)}</code></a>'
        for example in EXAMPLES
    )
    ask = f"""
<form class="ask" action="try/index.html" role="search">
<label>Ask <input name="ask" required placeholder="{html.escape(EXAMPLES[0])}" autocapitalize="off"></label>
<button>Answer</button>
</form>
<p class="ask-examples">{links}</p>"""
    ways = {
        "Try it": "try/index.html",
        "Start lesson 00 here": "lite/notebooks/index.html?path=00-start-here.ipynb",
    }
    if not web:
        ways = {"Read lesson 00": "course/00-start-here.html"}
    buttons = "".join(f'<a class="way-on" href="{address}">{name}</a>' for name, address in ways.items())
    scene = f"""\
```{{raw}} html
{page_part()}
<p class="ways-on">{buttons}</p>{ask if web else ""}
```"""
    before, marker, after = text.partition(
        "% Sixteen products, one cell: the scene and its buttons stand here.\n"
    )
    assert marker, "docs/index.md lacks the comment that marks the place of the scene"
    return f"{before}{scene}\n{after}"


def _shortened(text: str) -> str:
    """A page with its first dropdowns and lists of definitions, and the first lines of each table and each
    block of code; all headings and labels stay.
    """
    for pattern in (_DROPDOWN, _DEFINITIONS):
        for match in reversed(list(pattern.finditer(text))[_BRIEF_PARTS:]):
            text = text[: match.start()] + text[match.end() :]
    lines: list[str] = []
    length = 0  # of the table or block of code so far
    in_code = False
    for line in text.splitlines():
        fence = re.match(r"```(cuda|ptx|text)?$", line)
        if fence and (in_code or fence[1]):
            in_code, length = not in_code, 0
        elif in_code or line.startswith("|"):
            length += 1
        else:
            length = 0
        if length <= _BRIEF_LINES:
            lines.append(line)
    return "\n".join(lines) + "\n"


def build(folder: Path, *, execute: bool, brief: bool = False, web: bool = False) -> int:
    """Build the site into a folder; warnings are errors. The exit status is Sphinx's.

    `brief`, for tests, leaves out most figures, rows and code of the reference and most code of the course.
    With `web`, pages have links to try/ and lite/, which tools.web and tools.lite build.
    """
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "source"
        _assemble(source, brief=brief, web=web)
        profile = Path(temporary) / "ipython" / "profile_default"
        profile.mkdir(parents=True)
        (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n", encoding="utf-8")
        environment = {
            **os.environ,
            "IPYTHONDIR": str(profile.parent),  # kernels log only errors, and ignore the reader's settings
            EXPLORERS: str(source / "_extra" / "explorers"),
            "PTXLAB_PAGE": "../try/index.html" if web else "",  # where saved Explorers are opened live
            "PTXLAB_PROGRESS": str(Path(temporary) / "progress.json"),  # not the reader's own
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going"]
        command += ["-d", str(Path(temporary) / "doctrees")]
        if brief:  # tests already run in parallel
            command += ["-j", "1", "-D", "smartquotes=0", "-D", "autodoc_preserve_defaults=0"]
        else:
            command += ["-j", "auto"]
        if not execute:
            command += ["-D", "nb_execution_mode=off"]
        output = Path(temporary) / "html"  # MyST-NB writes the executed notebooks beside it
        status = subprocess.run([*command, str(source), str(output)], env=environment, check=False).returncode
        if web:
            for page in output.rglob("*.html"):
                # files of the theme need no policy, saved Explorers have their own
                if not {"_static", "explorers"} & {*page.relative_to(output).parts}:
                    restrict(page)
        if output.exists():
            agents.write_markdown(source, output)
            shutil.copytree(output, folder, dirs_exist_ok=True)
        return status
