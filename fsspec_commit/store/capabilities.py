"""What a store can do, and how that is known: facts for selection and for people.

A capability gives no access to a verb; an ability does (:class:`~fsspec_commit.store.RenamesFiles`
and others). ``StoreContract`` asserts that the two agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Literal, TypeAlias

Evidence: TypeAlias = Literal["declared", "probed", "assumed"]


class AtomicRename(Enum):
    """The largest thing that one atomic rename moves."""

    NONE = "none"
    FILE = "file"
    DIRECTORY = "directory"


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """Facts about one opened store; ``None`` is unknown, and unknown counts as absent.

    Attributes:
        atomic_rename: The largest thing that one atomic rename moves.
        exclusive_rename: A rename fails when its target exists.
        consistent_listing: A listing shows every finished write and delete, to every client; not
            on a network mount that caches look-ups.
        paged_listing: A listing is a paged request, so job commit must not list or walk trees.
        multipart: An upload can be finished later, by another process, from plain data.
        upload_keyed_by: ``"upload_id"``: attempts cannot hurt each other; ``"path"``: they can.
        uploads_listable: All pending uploads can be listed by prefix.
        exclusive_create: A whole object is created, or the request fails because one exists; what
            was deleted does not exist. Uploads, if there are any, are completed likewise.
        replace_if_match: Compare-and-swap on a token.
        delete_if_match: Compare-and-delete on a token.
        whole_object_publish: Nothing is visible under a name before the writer finishes.
        token_survives_rename: A renamed file keeps its token, so a lost reply can be resolved.
        unique_tokens: A token is never used again, not even for a later content of equal bytes.
        evidence: How each of these is known, by field name; a field not named is ``"declared"``.
    """

    atomic_rename: AtomicRename | None = None
    exclusive_rename: bool | None = None
    consistent_listing: bool | None = None
    paged_listing: bool | None = None
    multipart: bool | None = None
    upload_keyed_by: Literal["upload_id", "path"] | None = None
    uploads_listable: bool | None = None
    exclusive_create: bool | None = None
    replace_if_match: bool | None = None
    delete_if_match: bool | None = None
    whole_object_publish: bool | None = None
    token_survives_rename: bool | None = None
    unique_tokens: bool | None = None
    evidence: Mapping[str, Evidence] = field(default_factory=dict)

    def facts(self) -> dict[str, object]:
        """Every field except the evidence, by name."""
        return {
            fact.name: getattr(self, fact.name) for fact in fields(self) if fact.name != "evidence"
        }

    @property
    def tells_contents_apart(self) -> bool:
        """Whether tokens are known to be unique; what a caller promises changes no token."""
        return bool(self.unique_tokens) and self.evidence.get("unique_tokens") != "assumed"

    def known(self, evidence: Evidence, **facts: object) -> "Capabilities":
        """These capabilities with *facts* replaced, each known by *evidence*."""
        changed = {**self.facts(), **facts}
        how = {**self.evidence, **dict.fromkeys(facts, evidence)}
        return replace(self, **changed, evidence=how)  # type: ignore[arg-type]  # names are checked by replace

    def completed_by(self, found: "Capabilities") -> "Capabilities":
        """These capabilities, with unknown ones taken from *found*, a probe of the same server.

        Only probed facts are taken: what was assumed for the caller who had it probed rests on that
        caller's promise.
        """
        news = {
            name: value
            for name, value in found.facts().items()
            if found.evidence.get(name) == "probed" and self.evidence.get(name) != "assumed"
        }
        return self.known("probed", **news)


def differences(declared: Capabilities, observed: Capabilities) -> tuple[str, ...]:
    """How *observed* differs from what was declared; an unknown fact is no difference."""
    seen = observed.facts()
    return tuple(
        f"{name}: declared {_shown(value)}, observed {_shown(seen[name])}"
        for name, value in declared.facts().items()
        if value is not None and seen[name] is not None and seen[name] != value
    )


def _shown(value: object) -> str:
    return repr(value.value) if isinstance(value, AtomicRename) else repr(value)
