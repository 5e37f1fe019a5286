"""Colours are declared in the palette and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import ptxlab
from ptxlab.simulator.timing import stalls
from ptxlab.views import palette

PACKAGE = Path(ptxlab.__file__).parent
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl)a?\((?=[\d.])")
#: Of style sheets only, whose words they could be.
NAMED = re.compile(r"[:,( ](?:black|white|gr[ae]y|red|green|blue|orange|yellow|purple)(?=[;,) }])")


def literals(file: Path) -> list[str]:
    """The colours that a file spells out."""
    text = file.read_text(encoding="utf-8")
    return COLOUR.findall(text) + (NAMED.findall(text) if file.suffix == ".css" else [])


def test_no_colour_is_spelled_out_beside_the_palette(tmp_path: Path) -> None:
    files = [file for kind in ("py", "js", "ts", "css") for file in PACKAGE.rglob(f"*.{kind}")]
    assert len(files) > 400
    declared = PACKAGE / "views" / "palette.py"
    assert {str(file): literals(file) for file in files if file != declared and literals(file)} == {}
    assert len(literals(declared)) > 40
    sheet = tmp_path / "sheet.css"
    sheet.write_text("a { color: #abc; background: rgb(1 2 3 / 4%); border: 1px solid red; fill: white; }")
    assert literals(sheet) == ["#abc", "rgb(", " red", " white"]


def test_style_sheets_use_only_colours_that_the_palette_gives() -> None:
    given = set(re.findall(r"--ptx-[\w-]+(?=:)", palette.css()))
    names = {*palette.HUES, "rule", "black", "shade"}
    names |= {f"{page}-{name}" for page in ("light", "dark") for name in palette.INTERFACE}
    assert given == {f"--ptx-{name}" for name in names}
    sheets = [file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.css")]
    own = set(re.findall(r"(--ptx-[\w-]+)\s*:", "\n".join(sheets)))
    used = set(re.findall(r"var\((--ptx-[\w-]+)", "\n".join(sheets)))
    set_by_scripts = {"--ptx-width"}
    assert used - own - given <= set_by_scripts


def test_every_stall_has_a_colour_and_no_two_the_same() -> None:
    assert set(palette.STALLS) == {name for name, _ in stalls.STALLS.values()}
    assert len(set(palette.STALLS.values())) == len(palette.STALLS)
    assert palette.OTHER_STALL not in palette.STALLS.values()
