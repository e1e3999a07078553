"""Which committer of this library serves a destination of a session, as the jar would choose it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fsspec_commit.engines.spark.hadoop_settings import PREFIXES, SECRETS, location_of
from fsspec_commit.engines.spark.job_options import job_options
from fsspec_commit.errors import CommitError
from fsspec_commit.sync.operations import explain

if TYPE_CHECKING:
    from fsspec_commit.engines.spark.checks.session import ClassicSession

_OWN = "spark.fsspec_commit."
_CREDENTIALS = f"{_OWN}credentials"


@dataclass(frozen=True)
class Choice:
    """What a job of the jar would find.

    Attributes:
        committer: One of this library's; ``None`` where none is safe, or none is known yet.
        refusal: Why every write is refused.
    """

    committer: str | None
    refusal: str | None = None


def chosen_there(session: "ClassicSession", destination: str) -> Choice:
    """What a job of the jar would choose there, as far as it can be known without writing."""
    path = session.qualified(destination)
    try:
        wanted = job_options(
            {name.removeprefix(_OWN): text for name, text in session.hadoop_settings(_OWN)}
        )
        url, options = location_of(str(path.toString()), dict(_settings(session, path)))
        selection = explain(
            url,
            committer=wanted.get("committer", "auto"),
            storage_options=options,
            probe=False,
            single_writer=wanted.get("single_writer", False),
        )
    except CommitError as error:
        return Choice(None, str(error))
    if selection.committer == "magic" and path.toUri().getScheme() != "s3a":
        return Choice(
            None,
            "nothing can be renamed there, and only S3A leaves uploads that others complete: use "
            "fsspec_commit.spark.write, or an account with a hierarchical namespace",
        )
    if selection.committer is not None or None in selection.capabilities.facts().values():
        return Choice(selection.committer)
    return Choice(None, selection.reasons[-1])


def _settings(session: "ClassicSession", path: Any) -> Iterator[tuple[str, str]]:
    """Settings as the JVM sends them: the scheme's, with what a credential provider keeps."""
    authority = path.toUri().getAuthority() or ""
    container, _, account = authority.rpartition("@")
    prefixes = PREFIXES.get(path.toUri().getScheme(), ())
    for prefix in prefixes:
        yield from session.hadoop_settings(prefix)
    for pattern in SECRETS:
        name = pattern.format(bucket=authority, container=container, account=account)
        secret = session.secret(name) if name.startswith(prefixes) else None
        if secret is not None:
            yield name, secret
    credentials = session.setting(_CREDENTIALS)
    if credentials is not None:
        yield _CREDENTIALS, credentials
    yield from session.facts(path)
