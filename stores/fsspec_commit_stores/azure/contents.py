"""What headers say of a content, and what they ask of it: token, nonce, condition."""

from collections.abc import Mapping

from fsspec_commit.ids import NONCE, Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, Expectation, Token
from fsspec_commit_stores.azure.answers import Answer

NONCE_NAME = "fsspec_commit_nonce"
"""The nonce's name in the metadata of a blob: names there are those of C#, so without a hyphen."""
WRITER_NAME = "fsspec_commit_writer"
"""The name of its writer's own nonce: several blobs of one nonce may be written under one name."""

_METADATA = "x-ms-meta-"
_FOLDER = "hdi_isfolder"


def token_of(etag: str) -> Token:
    """The token of an etag, which stands in quotation marks in headers only."""
    return Token(etag.strip('"'))


def condition_of(expecting: Expectation) -> dict[str, str]:
    """The header that makes a request refuse what is not expected."""
    if expecting is Expect.ABSENT:
        return {"If-None-Match": "*"}
    return {} if isinstance(expecting, Expect) else {"If-Match": match_of(expecting)}


def match_of(token: Token) -> str:
    """A token as conditions name it."""
    return f'"{token}"'


def metadata_of(nonce: Nonce | None, *, named: str = NONCE_NAME) -> dict[str, str]:
    """The header that puts *nonce* beside a content."""
    return {} if nonce is None else {f"{_METADATA}{named}": str(nonce)}


def nonce_in(metadata: Mapping[str, str], *, named: str = NONCE_NAME) -> Nonce | None:
    """The nonce in metadata, by names in lower case, if it is one of ours."""
    found = metadata.get(named, "")
    return Nonce(found) if NONCE.fullmatch(found) else None


def is_folder(metadata: Mapping[str, str]) -> bool:
    """Whether metadata say that this is a directory, or stands for one: no file."""
    return metadata.get(_FOLDER, "").lower() == "true"


def is_directory(answer: Answer) -> bool:
    """Whether what was looked at is a directory, or stands for one."""
    kind = answer.headers.get("x-ms-resource-type", "")
    return kind == "directory" or is_folder(metadata_in(answer))


def metadata_in(answer: Answer) -> dict[str, str]:
    """The metadata of the content that was looked at."""
    return {
        name.removeprefix(_METADATA): value
        for name, value in answer.headers.items()
        if name.startswith(_METADATA)
    }


def entry_of(path: StorePath, answer: Answer, size_bytes: int, *, named: str = NONCE_NAME) -> Entry:
    """The file that was looked at, with the nonce that its metadata have under the name *named*."""
    return Entry(
        path=path,
        size_bytes=size_bytes,
        token=token_of(answer.headers["etag"]),
        nonce=nonce_in(metadata_in(answer), named=named),
    )
