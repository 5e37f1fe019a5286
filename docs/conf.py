"""Sphinx configuration; `make docs` (python -m tools.site) adds the generated pages, then runs Sphinx."""

from __future__ import annotations

import gc
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from pygments.lexer import Lexer
from pygments.token import Comment, Keyword, Name, Number, String, Text
from sphinx.application import Sphinx

import ptxlab
from ptxlab.views.highlight import tokens

# Next to nothing is garbage while documents are built, and to look for it takes a seventh of the time.
gc.set_threshold(100_000, 50, 50)

ROOT = Path(ptxlab.__file__).resolve().parent.parent
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = SETTINGS["project"]
REPOSITORY: str = PROJECT["urls"]["Repository"]
IS_PUBLISHED: bool = SETTINGS["tool"]["ptxlab"]["published"]

project = "ptxlab"
author = PROJECT["authors"][0]["name"]
project_copyright = author
release = version = ptxlab.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_design"]
exclude_patterns = ["_build"]
suppress_warnings = ["config.cache"]

# Text
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
default_role = "code"  # docstrings put names between single backticks
highlight_language = "none"

# Notebooks. Nothing is asked of the network: no widget manager and no MathJax from a CDN.
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_show_tb = True  # a failed cell is a warning with its traceback, and warnings are errors
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

# API
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Array", "ArrayLike", "Figure", "Label", "NDArray", "Rule")}
python_use_unqualified_type_names = True
python_display_short_literal_types = True
python_maximum_signature_line_length = 110
add_module_names = False
toc_object_entries_show_parents = "hide"

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "ptxlab"
html_static_path = ["_static"]
html_logo = html_favicon = "_static/logo.svg"
html_extra_path = ["_extra"]
html_css_files = ["pictures.css", "site.css"]
html_js_files = [
    "site.js",
    ("saved_pictures.js", {"type": "module"}),
    ("sixteen_products.js", {"type": "module"}),
]  # tools/site/build.py writes the modules
html_copy_source = False
html_use_index = html_domain_indices = False  # the search finds names as well
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "ptxlab"},
    "icon_links": [{"name": "Repository", "url": REPOSITORY, "icon": "fa-brands fa-github"}]
    if IS_PUBLISHED
    else [],
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars: dict[str, list[str]] = {"index": [], "teaching": [], "pilot": []}

#: Classes that users do not construct: their signature, a row of the catalogue, would only distract.
_MADE_BY_PTXLAB = {
    f"ptxlab.{name}"
    for name in (
        "instruction.Instruction",
        "instruction.Transfer",
        "tcgen05_instruction.TensorControl",
        "tcgen05_instruction.TensorInstruction",
        "tcgen05_instruction.TensorTransfer",
    )
}


def _signature(app: Sphinx, what: str, name: str, *rest: object) -> tuple[str, str | None] | None:
    return ("", None) if name in _MADE_BY_PTXLAB else None


class PtxLexer(Lexer):  # type: ignore[misc]
    """PTX in the colours of ptxlab's listings; the lexer of Pygments stops at the `::` of a qualifier."""

    kinds: ClassVar = {
        "comment": Comment,
        "string": String,
        "builtin": Name.Builtin,
        "keyword": Keyword,
        "number": Number,
    }

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """What Pygments asks for: places, kinds and texts."""
        at = 0
        for kind, part in tokens(text, "ptx"):
            yield at, self.kinds.get(kind, Text), part
            at += len(part)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("ptx", PtxLexer)
    app.connect("autodoc-process-signature", _signature)
