"""The pages of try/ lead back to the site that they are a part of, and bring what they need."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from ptxlab.explorer.bundle import script, style
from tools import web
from tools.npm import ROOT


def test_the_header_of_try_leads_to_pages_of_the_site() -> None:
    assert web.header(is_in_site=False) == ""
    addresses = re.findall(r'<a href="\.\./([^"]+)\.html">', web.header(is_in_site=True))
    generated = {"reference/index", "api/index"}  # tools.site writes what docs/ has no page for
    sources = [ROOT / "docs" / f"{address}.md" for address in addresses if address not in generated]
    assert len(addresses) == len(web.SITE) and all(source.exists() for source in sources)


def test_a_page_can_be_saved_from_the_tab(tmp_path: Path) -> None:
    """The archive has all that a saved page is made of, and nothing else of the front end."""
    with zipfile.ZipFile(io.BytesIO(web.archive())) as packed:
        packed.extractall(tmp_path)
    front = tmp_path / "ptxlab" / "explorer" / "front"
    assert not (front / "lesson_page.js").exists() and not (front / "try_page.js").exists()
    names = "from ptxlab.explorer.bundle import script, style"
    code = f"{names}; print(len(script('saved_page')), len(style('saved_page')))"
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    shown = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == [str(len(script("saved_page"))), str(len(style("saved_page")))]
