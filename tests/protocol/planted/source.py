"""What a planted bug comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A rule of a model, a bug that somebody found here, or a mistake of other writers.

    Attributes:
        what: The rule, or what was wrong, in words.
        planted: The bugs that make it again, by name.
        why_not: Why it cannot be made here, in a sentence, where none does.
        known_as: The public issues that tell of it.
    """

    what: str
    planted: tuple[str, ...] = ()
    why_not: str = ""
    known_as: str = ""
