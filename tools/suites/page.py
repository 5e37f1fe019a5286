"""docs/reference/suites.md, from what `--record` has kept in results.json beside this file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ptxlab._util.files import write_atomically

RESULTS = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "suites.md"
OWN = "ptxlab"

#: Suite -> where it is, which commit of it was read, and the option that runs it.
SOURCES = {
    "Indigo 1.3": ("JohnJacobsonIII/HiRace-Artifact-SC24", "44a935f9", "--indigo"),
    "Indigo 1.3, a graph of 5 nodes": ("JohnJacobsonIII/HiRace-Artifact-SC24", "44a935f9", "--indigo"),
    "ScoR microbenchmarks": ("csl-iisc/ScoR", "6dc3507e", "--scor"),
    "ScoR microbenchmarks without volatile": ("csl-iisc/ScoR", "6dc3507e", "--scor"),
    "ScoR applications": ("csl-iisc/ScoR", "6dc3507e", ""),
    "GPUVerify, CUDA": ("mc-imperial/gpuverify", "49219770", "--gpuverify"),
    "GPUVerify, OpenCL": ("mc-imperial/gpuverify", "49219770", "--gpuverify"),
    "compute-sanitizer samples": ("NVIDIA/compute-sanitizer-samples", "1e1fab8e", "--sanitizer"),
    "Faial's tutorial": ("cogumbreiro/faial-tutorial", "c28d430c", "--faial"),
    "GKLEE's kernels, with Simulee": ("shadowmydx/Simulee", "980e236a", "--simulee"),
    "GKLEE, Faial, Simulee: more kernels": ("Geof23/Gklee", "58c3c599", ""),
}

_INTRODUCTION = """# Published suites

What the simulator says about kernels that others collected to judge such tools. The suite decides which
kernels have a bug and which are right. A bug is found if its run reports a hazard, whatever its kind; a note
does not count. Launches are small: at most 1024 threads a block and about 2048 in all, for Indigo 64 threads
a block. Arguments are made by rules from the signature and from what the suite says of the kernel. Where a
bug of GPUVerify is not found, the command tries other numbers as arguments and compiles without
optimisation, which removes unused stores and with them some bugs.

```text
python -m tools.suites --indigo PATH --scor PATH --gpuverify PATH --sanitizer PATH --faial PATH \\
    --simulee PATH --to runs.json
python -m tools.suites --record runs.json
```

The first command reads copies that are on the machine and fetches nothing; the second writes this page.
ptxlab contains no code of these suites.

"""
_HEAD = (
    "| suite | source | kernels, launches | bugs in scope | found | missed | right | reported, and true "
    "| false alarms | not judged | ptxlab |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n"
)
_SCOPE = """
Out of scope is what no execution shows: a claim about all inputs, an assertion, an invariant, a contract of
the suite's own language. Such kernels are not judged, and neither are those that NVRTC does not compile or
the simulator refuses: textures, cuRAND, OpenCL's images and wide vectors, functions without a body. OpenCL C
is translated by macros.
"""
_OTHERS = """
## Published figures on the same suites

How many of Indigo's 346 racy codes other tools find, from Table I of HiRace's artifact (SC24):

| tool | graphs of 100 to 200 nodes | graphs of 5 nodes | codes without a bug |
|---|---|---|---|
| HiRace | 346 | 182 (DAG_5n_5e) | no false alarms |
| iGUARD | 297 to 298 | 118 (DAG_5n_5e) | |
| compute-sanitizer's racecheck | 92 to 128 | 56 (counterDAG_5n_5e) | |
| comparison with a sequential result | 282 to 306 | | |
OWN_ROW
The other tools ran launches of 256 blocks of 1024 threads, and arrays with other random values. ScoR was
made for ScoRD and iGUARD, whose figures for each kernel are not in its repository. GPUVerify's verdicts are
its own annotations. HGRD (arXiv 2604.02106) reports no misses and no false alarms on 22 programs, and tens of
false alarms of GPUVerify and of FaialAA.
"""


def record(rows: Sequence[dict[str, Any]], version: str) -> None:
    """Keep the counts of these runs, in place of earlier ones of the same suites, and write the page."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for suite in dict.fromkeys(row["suite"] for row in rows):
        kept[suite] = _counts([row for row in rows if row["suite"] == suite], version)
    write_atomically(RESULTS, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    write_atomically(PAGE, text(kept))


def _counts(rows: Sequence[dict[str, Any]], version: str) -> dict[str, Any]:
    verdicts = Counter(row["verdict"] for row in rows)
    reports = [row for row in rows if row["verdict"] == "report"]
    refused = [row for row in rows if row["verdict"] == "refused"]
    indigo = rows[0]["suite"].startswith("Indigo")
    kernels = {row["name"].split(" ")[0] if indigo else row["name"] for row in rows}
    found = [row for row in rows if row["verdict"] == "found"]
    races = Counter(row["name"].split(" ")[1] for row in found if indigo and row["bug"] == "race")
    return {
        "ptxlab": version,
        "kernels": len(kernels),
        "runs": len(rows),
        "found": verdicts["found"],
        "missed": _by_reason(row for row in rows if row["verdict"] == "missed"),
        "right": verdicts["clean"],
        "true reports": _by_reason(row for row in reports if row.get("true_report")),
        "false alarms": sorted(row["name"] for row in reports if not row.get("true_report")),
        "refused": len(refused),
        "out of scope": verdicts["not judged"],
        **({"races": dict(races)} if indigo else {}),
        "seconds": round(sum(row.get("seconds", 0) for row in rows)),
    }


def _by_reason(rows: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        noted = row["verdict"] == "missed" and row.get("notes")
        reason = "reported as a note" if noted else row.get("remark", "")
        reasons.setdefault(reason, []).append(row["name"])
    return {reason: sorted(names) for reason, names in sorted(reasons.items())}


def _number(reasons: dict[str, list[str]] | int) -> int:
    return reasons if isinstance(reasons, int) else sum(len(names) for names in reasons.values())


def text(kept: dict[str, dict[str, Any]]) -> str:
    """The page."""
    rows, missed, true = [], [], []
    for suite, (repository, commit, option) in SOURCES.items():
        if suite not in kept:
            continue
        counts = kept[suite]
        source = f"[{repository}](https://github.com/{repository}) at {commit}"
        number = _number(counts["missed"])
        launches = f"{counts['kernels']:,}"
        if counts["kernels"] != counts["runs"]:
            launches += f", {counts['runs']:,}"
        bugs = counts["found"] + number
        found = f"{counts['found']:,} ({counts['found'] / bugs:.0%})" if bugs else "0"
        cells = [
            suite, source, launches, f"{bugs:,}", found, f"{number:,}",
            f"{counts['right']:,}", f"{_number(counts['true reports']):,}", f"{len(counts['false alarms'])}",
            f"{counts['refused'] + counts['out of scope']:,}",
            counts["ptxlab"] + ("" if option else ", run by hand"),
        ]  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |\n")
        missed += _listed(suite, counts["missed"])
        true += _listed(suite, counts["true reports"])
    parts = [_INTRODUCTION, _HEAD, *rows, _own(kept), _SCOPE]
    if missed:
        parts += ["\n## Missed\n\n", *missed]
    if true:
        parts += ["\n## Reports about kernels that a suite calls right\n\nEach is true.\n\n", *true]
    return "".join([*parts, _OTHERS.replace("OWN_ROW", _indigo(kept))])


def _indigo(kept: dict[str, dict[str, Any]]) -> str:
    """The row of ptxlab: of the codes with a race, how many are found."""
    suites = [counts for suite, counts in kept.items() if suite.startswith("Indigo")]
    found = {graph: number for counts in suites for graph, number in counts["races"].items()}
    small = [f"{number} ({graph})" for graph, number in found.items() if "_5n_" in graph]
    large = sorted({number for graph, number in found.items() if "_5n_" not in graph})
    alarms = sum(len(counts["false alarms"]) for counts in suites) or "no"
    cells = " to ".join(map(str, large[:1] + large[1:][-1:])), ", ".join(small), f"{alarms} false alarms"
    return f"| ptxlab, with smaller launches | {' | '.join(cells)} |\n" if suites else ""


def _own(kept: dict[str, dict[str, Any]]) -> str:
    if OWN not in kept:
        return ""
    counts = kept[OWN]
    return (
        f"\nBesides, {counts['runs']:,} launches of right kernels of this project (tests, GEMM kernels, "
        f"attention, other\ncompilers' PTX, lessons) have {len(counts['false alarms'])} hazards.\n"
    )


def _listed(suite: str, reasons: dict[str, list[str]] | int) -> list[str]:
    """A line for each reason."""
    if isinstance(reasons, int):
        return []
    lines = []
    for reason, names in reasons.items():
        names = list(dict.fromkeys(name.split(" ")[0] for name in names)) if "Indigo" in suite else names
        shown = [f"`{name}`" for name in names[:5]]
        if len(names) > 5:
            shown.append(f"and {len(names) - 5} more")
        lines.append(f"- {suite}, {reason or 'not looked into'}: {', '.join(shown)}\n")
    return lines
