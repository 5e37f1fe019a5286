"""What a worker process does in the test of many hunts at once, in a module that loads quickly."""

from __future__ import annotations

import os
from typing import Any

from ptxlab import PtxlabError


def work(name: str, options: dict[str, Any]) -> dict[str, Any]:
    if name == "dies":
        os._exit(3)
    if name == "errs":
        raise PtxlabError("out of order")
    return {"mmas": 5, "categories": ["bits"], "seed": 1, "seconds": 0.1, "differences": 0}
