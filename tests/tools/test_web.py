"""The pages of try/ lead back to the site that they are a part of."""

from __future__ import annotations

import re

from tools import web
from tools.npm import ROOT


def test_the_header_of_try_leads_to_pages_of_the_site() -> None:
    assert web.header(is_in_site=False) == ""
    addresses = re.findall(r'<a href="\.\./([^"]+)\.html">', web.header(is_in_site=True))
    generated = {"reference/index", "api/index"}  # tools.site writes what docs/ has no page for
    sources = [ROOT / "docs" / f"{address}.md" for address in addresses if address not in generated]
    assert len(addresses) == len(web.SITE) and all(source.exists() for source in sources)
