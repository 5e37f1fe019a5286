"""What the judge finds: a verdict, its evidence, and single findings, as data and as a report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..errors import counted, listing
from ..question import Verdict as AnyVerdict

#: The number of the form of `Verdict.json`, which docs/reference/verdict.schema.json states.
SCHEMA = 1
#: Outcomes of a launch in which nothing is wrong.
_WITHOUT_FAULT = ("equal", "within the bound", "not reached", "launched")


@dataclass(frozen=True)
class Finding:
    """Something to report: `grade` is "hazard", "note" or "bank conflict"; `place` a file and its line."""

    grade: str
    kind: str
    sentence: str
    line: int  # of the kernel's source
    place: tuple[str, int]
    evidence: str = ""  # how it is known: measured, published, assumed


@dataclass(frozen=True)
class Case:
    """One launch that was judged: its size, the seed and the kind of its inputs, and what came of it."""

    size: Any
    seed: int
    inputs: str  # "as given", "integers", "wide", ...
    hidden: bool = False
    outcome: str = "not reached"  # or "equal", "within the bound", "differs", "hazard", ...
    elements: int = 0  # compared
    worst: float = 0.0  # the largest difference, as a part of its bound; 0 where all are equal
    bound: str = ""  # where the bound comes from


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on.

    `arithmetic` says for each matrix instruction how its result is known: measured, published or assumed.
    `confined` names what the candidate's process was kept from, `unseen` what was not simulated or not
    judged. Times are predicted, in microseconds, at the largest public size.
    """

    cases: tuple[Case, ...] = ()
    findings: tuple[Finding, ...] = ()
    arithmetic: dict[str, str] = field(default_factory=dict)
    microseconds: float | None = None
    reference_microseconds: float | None = None
    budget_us: float | None = None
    chip: str = "H200"
    determinism: str = ""
    remarks: tuple[str, ...] = ()  # for a person to look at
    unseen: tuple[str, ...] = ()
    confined: tuple[str, ...] = ()
    output: str = ""  # the end of what the candidate printed


@dataclass(frozen=True, repr=False)
class Verdict(AnyVerdict):
    """The verdict on a kernel: `status`, `reason` and `evidence`. True only if it is clean.

    When several hold, the first of these is given: "error" (it does not compile or run), "hang", "hazard",
    "wrong", "incomplete" (not everything was judged), "review" (a person should look), "clean".
    """

    evidence: Evidence = field(default_factory=Evidence)

    @property
    def heading(self) -> str:
        """Sign, name and status."""
        return super().heading.replace(" not quite", " is wrong")

    @property
    def only_hidden(self) -> bool:
        """Whether what is wrong was found at hidden sizes only."""
        failed = [case for case in self.evidence.cases if case.outcome not in _WITHOUT_FAULT]
        return bool(failed) and all(case.hidden for case in failed)

    def public(self) -> Verdict:
        """The verdict for whoever wrote the candidate: nothing in it tells a hidden size.

        Of a fault at a hidden size it has the line and the kind, or the first wrong element.
        """
        evidence, reason = self.evidence, self.reason
        sizes = list(dict.fromkeys(str(case.size) for case in evidence.cases if case.hidden))
        cases = tuple(
            replace(case, size=f"hidden {sizes.index(str(case.size)) + 1}", elements=0)
            if case.hidden
            else case
            for case in evidence.cases
        )
        launched = any(case.hidden and case.outcome != "not reached" for case in evidence.cases)
        findings = evidence.findings
        if launched:  # addresses and lengths of arrays stand in sentences
            findings = tuple(
                replace(finding, sentence=f"line {finding.line}: {finding.kind}")
                if finding.grade == "note" or (finding.grade == "hazard" and self.only_hidden)
                else finding
                for finding in findings
            )
        if self.only_hidden:
            hazards = [finding.sentence for finding in findings if finding.grade == "hazard"]
            reason = {
                "wrong": re.sub(r"; [\d,]+ of [\d,]+ elements are wrong", "", reason),
                "hazard": f"{hazards[-1] if hazards else 'a hazard'} (at a hidden size)",
                "review": reason,
                "incomplete": "not everything could be judged at a hidden size",
            }.get(self.status, "it does not run to its end at a hidden size")
        shown = replace(
            evidence, cases=cases, findings=findings, output=""
        )  # Python candidates see all sizes
        return replace(self, text=reason, evidence=shown)

    def json(self, hidden: bool = True) -> dict[str, Any]:
        """The verdict as data for `json.dumps`; without `hidden`, nothing of hidden sizes is in it."""
        shown = self if hidden else self.public()
        evidence = shown.evidence
        if not hidden:
            evidence = replace(evidence, cases=tuple(case for case in evidence.cases if not case.hidden))
        facts: dict[str, Any] = asdict(evidence)
        for finding in facts["findings"]:
            finding["place"] = {"file": finding["place"][0], "line": finding["place"][1]}
        return {
            "schema": SCHEMA,
            "task": self.exercise,
            "status": self.status,
            "reason": shown.reason,
            "correct": self.correct,
            "hidden": sum(case.hidden for case in self.evidence.cases),
            "evidence": facts,
        }

    @property
    def details(self) -> tuple[str, ...]:
        """The evidence in a few lines, without what the reason says."""
        lines = evidence_lines(self.evidence)
        return tuple(line for line in lines if line.partition(": ")[2] not in self.reason)

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(f"  {line}" for line in self.details)])


def evidence_lines(evidence: Evidence) -> Iterable[str]:
    """The evidence in a few lines."""
    done = [case for case in evidence.cases if case.outcome != "not reached"]
    if done:
        sizes = listing(list(dict.fromkeys(str(case.size) for case in done if not case.hidden)), 8)
        hidden = len({str(case.size) for case in done if case.hidden})
        more = f" and {counted(hidden, 'hidden size')}" if hidden else ""
        yield f"launched: {counted(len(done), 'time')}, sizes {sizes}{more}"
        elements = sum(case.elements for case in done)
        exact = sum(case.elements for case in done if case.bound.startswith("exact"))
        bounds = list(dict.fromkeys(case.bound for case in done if case.bound and case.bound[:5] != "exact"))
        worst = max((case.worst for case in done), default=0.0)
        if elements:
            yield f"compared: {elements:,} elements, {exact:,} of them exactly"
        for bound in bounds[:3]:
            yield f"bound: {bound}; the worst difference is {worst:.2g} of it"
    for finding in dict.fromkeys(evidence.findings):
        yield f"{finding.grade}: {finding.sentence}"
    by_evidence: dict[str, list[str]] = {}
    for opcode, known in evidence.arithmetic.items():
        by_evidence.setdefault(known, []).append(opcode)
    for known, opcodes in by_evidence.items():
        yield f"arithmetic {known}: {listing(opcodes, 4)}"
    if evidence.microseconds is not None:
        others = ""
        if evidence.reference_microseconds is not None:
            others += f", the reference {evidence.reference_microseconds:.3g} µs"
        if evidence.budget_us is not None:
            others += f", the budget {evidence.budget_us:.3g} µs"
        yield f"predicted on {evidence.chip}: {evidence.microseconds:.3g} µs{others}"
    if evidence.determinism:
        yield f"determinism: {evidence.determinism}"
    for remark in evidence.remarks:
        yield f"look at: {remark}"
    for text in evidence.unseen:
        yield f"not judged: {text}"
    if evidence.confined:
        yield f"kept from the candidate: {listing(list(evidence.confined), 8)}"
