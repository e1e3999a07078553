"""What a certification found: a document, for people and for programs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

FORMAT = "fsspec-commit-certificate/1"

Verdict: TypeAlias = Literal["kept", "broken", "skipped"]
GUARANTEES = tuple(f"P{number}" for number in range(1, 12))


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one test found.

    Attributes:
        contract: ``"store"`` or ``"committer"``.
        test: Its name, with the case in brackets.
        promise: What it tries, in a sentence.
        guarantees: The promises P1 to P11 that it is for.
        verdict: ``"kept"``, ``"broken"``, or ``"skipped"`` because the store does not claim it or
            this library would refuse it there.
        reason: Why it is broken or skipped.
        duration_s: How long it took.
    """

    contract: str
    test: str
    promise: str
    guarantees: tuple[str, ...]
    verdict: Verdict
    reason: str
    duration_s: float


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What was tried at a place, and what was found.

    Attributes:
        place: The URL, without any option.
        started: When the run began.
        duration_s: How long it took.
        quick: Whether one case of each test was tried, and a fault at one store call.
        seed: The seed that chose them.
        versions: Of Python, of this library, and of the packages that it uses here.
        declared: What the adapter declares of the store.
        capabilities: What was found by a probe; what it cannot see is as declared.
        evidence: How each capability is known.
        differences: Where the store does not do what is declared.
        committers: Which committers are safe there, by name: ``""`` if one is, or why it is not.
        committer: The one that was tried; ``None`` if none is safe.
        findings: What each test found.
        cases: How many faults were tried, and of how many.
        calls: How many calls of the store were made, by kind.
        not_removed: What could not be removed.
    """

    place: str
    started: datetime
    duration_s: float
    quick: bool
    seed: int
    versions: Mapping[str, str]
    declared: Mapping[str, object]
    capabilities: Mapping[str, object]
    evidence: Mapping[str, str]
    differences: tuple[str, ...]
    committers: Mapping[str, str]
    committer: str | None
    findings: tuple[Finding, ...]
    cases: tuple[int, int]
    calls: Mapping[str, int]
    not_removed: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether a committer is safe there, and nothing that was tried is broken."""
        return self.committer is not None and not self.differences and not self.broken

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The tests in which the store, or a job there, did not do what is promised."""
        return tuple(found for found in self.findings if found.verdict == "broken")

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """How many tests ended with each verdict."""
        counts = Counter(found.verdict for found in self.findings)
        return {verdict: counts[verdict] for verdict in ("kept", "broken", "skipped")}

    @property
    def guarantees(self) -> Mapping[str, str]:
        """``"kept"``, ``"broken"`` or ``"not tried"``, by the ids of the promises."""
        return {name: self._guarantee(name) for name in GUARANTEES}

    @property
    def skipped_because(self) -> Mapping[str, int]:
        """How many tests were skipped, by their reason, the most frequent first."""
        skipped = (found.reason for found in self.findings if found.verdict == "skipped")
        return dict(Counter(skipped).most_common())

    def _guarantee(self, name: str) -> str:
        verdicts = {found.verdict for found in self.findings if name in found.guarantees}
        if "broken" in verdicts:
            return "broken"
        return "kept" if "kept" in verdicts else "not tried"

    def document(self) -> dict[str, object]:
        """The whole certificate, as values that JSON can represent."""
        return {
            "format": FORMAT,
            "ok": self.ok,
            "place": self.place,
            "started": self.started.isoformat(timespec="seconds"),
            "duration_s": round(self.duration_s, 1),
            "quick": self.quick,
            "seed": self.seed,
            "versions": dict(self.versions),
            "committer": self.committer,
            "committers": dict(self.committers),
            "capabilities": {
                name: {
                    "declared": self.declared[name],
                    "found": value,
                    "evidence": self.evidence.get(name, "declared"),
                }
                for name, value in self.capabilities.items()
            },
            "differences": list(self.differences),
            "tests": dict(self.counts),
            "guarantees": dict(self.guarantees),
            "faults": {"tried": self.cases[0], "of": self.cases[1]},
            "calls": dict(self.calls),
            "broken": [_told(found) for found in self.broken],
            "skipped": dict(self.skipped_because),
            "kept": [_told(found) for found in self.findings if found.verdict == "kept"],
            "not_removed": list(self.not_removed),
        }


def _told(found: Finding) -> dict[str, object]:
    told: dict[str, object] = {
        "contract": found.contract,
        "test": found.test,
        "promise": found.promise,
        "guarantees": list(found.guarantees),
        "duration_s": round(found.duration_s, 2),
    }
    return told if found.verdict == "kept" else {**told, "reason": found.reason}
