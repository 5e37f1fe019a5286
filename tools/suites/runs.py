"""One run of a kernel of a suite: what the suite says of it, and what ptxlab says."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from ptxlab import PtxlabError
from ptxlab.simulator import HazardError

#: Instructions that warps may execute; the largest kernel of the suites needs a tenth.
LIMIT = 3_000_000


@dataclass
class Run:
    """A kernel and its launch.

    `bug` is what the suite says is wrong, "" of a kernel that is right, and None where it makes no such
    claim, for the reason in `remark`. `hazards` and `notes` are sentences, `refusal` that of another error.
    """

    suite: str
    name: str
    bug: str | None
    remark: str = ""
    hazards: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    refusal: str = ""
    true_report: bool = False  # about a kernel that the suite calls right
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """found, missed, clean, report, refused, or not judged."""
        if self.refusal and not self.hazards:
            return "refused"
        if self.bug is None:
            return "not judged"
        right, wrong = ("report", "found") if self.hazards else ("clean", "missed")
        return wrong if self.bug else right

    def do(self, simulate: Callable[[], Any]) -> Run:
        """Run it; `simulate` compiles the kernel, too."""
        start = time.perf_counter()
        try:
            result = simulate()
            findings, self.notes = result.hazards, [note.sentence for note in result.notes]
        except HazardError as error:
            findings = error.hazards
            self.hazards = [] if findings else [str(error)]
        except PtxlabError as error:
            findings, self.refusal = [], str(error)
        self.hazards += [hazard.sentence for hazard in findings]
        self.kinds = sorted({hazard.kind for hazard in findings})
        self.seconds = round(time.perf_counter() - start, 2)
        return self

    def as_row(self) -> dict[str, Any]:
        """For a file: what is empty is left out."""
        row = {name: value for name, value in asdict(self).items() if value or name == "bug"}
        return {**row, "verdict": self.verdict}
