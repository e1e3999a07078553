"""Secrets in the text of a destination: refused, and never repeated.

A URL is written to records and logs, so it must not contain a secret; and a mistyped one, or a
connection string, would otherwise be taken for a path on a local disk. What looks like a secret may
not be one: then the user learns of it, and nothing is lost. A path that exists on this machine is
accepted, whatever it is called, and so is anything after ``file:///``.

Every step takes time proportional to the length of the text.
"""

import os.path
import re
from collections.abc import Collection, Iterator
from urllib.parse import unquote

from fsspec_commit.errors import RequestError
from fsspec_commit.store.disk_urls import without_disk_scheme

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SCHEMES = re.compile(r"(?:^|::)([A-Za-z][A-Za-z0-9+.-]*)://")
_MISTYPED = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)\s*:(?!:)")
_BLANKS = re.compile(r"[\s\ufeff\u200b]*")
_AUTHORITY_END = re.compile(r"[/?#]")
_SEPARATOR = re.compile(r"[?&;#]")
_PORT_OR_NONE = re.compile(r"(?:\[[0-9A-Fa-f:.]*\]|[^:]*)(?::\d*)?")
_ARN = re.compile(r"arn:aws[a-z-]*:s3[a-z-]*:")
_CONTAINER = re.compile(r"[A-Za-z0-9$-]{1,63}")
_UPPER_CASE = re.compile(r"[A-Z]")
_DECODINGS_MAX = 3

_BUCKETS = frozenset({"gcs", "gs", "s3", "s3a", "s3n"})
_CONTAINERS = frozenset({"abfs", "abfss", "adl", "az", "wasb", "wasbs"})
_CUT_AT_QUERIES = _CONTAINERS | {"ftp", "hdfs", "http", "https", "sftp", "ssh", "webhdfs"}
_SCHEMES_OF_OTHERS = (
    _BUCKETS | _CUT_AT_QUERIES | {"dbfs", "file", "local", "memory", "oss", "smb", "viewfs"}
)

_SECRET_NAMES = frozenset({"pwd", "sas", "sig"})
_SECRET_WORDS = ("signature", "secret", "token", "passw", "credential")
_SECRET_KEYS = re.compile(r"(?:access|account|api|shared)_?key")
_NAMES_IN_URLS = frozenset(
    {"auth", "authorization", "bearer", "code", "delegation", "jwt", "key", "pass", "pat"}
)
_HARMLESS_NAMES = frozenset({"versionid", "generation"})  # the adapter says what they are


def refuse_secrets(text: str, *, schemes: Collection[str] = ()) -> None:
    """Refuse a destination that contains a secret, or is a URL mistyped in a known way.

    Args:
        text: The destination as the caller gave it.
        schemes: URL schemes that adapters serve, in addition to the usual ones.

    Raises:
        RequestError: *text* is refused; the message repeats at most its scheme.
    """
    found = _secret_in(text)
    if found is not None and not _is_path(text):
        if _is_chain(text):
            message = (
                "the destination is a chain of URLs, joined by '::', which hides the store that "
                "must be asked: give the URL of that store alone. What it holds is not repeated, "
                "as it may be a secret"
            )
            raise RequestError(message, kind="chained_url")
        message = (
            f"the destination holds a secret, or what may be one ({found}): URLs are written down "
            "and logged; pass it in storage_options= or through the environment"
        )
        if "://" not in text:
            message += "; if it is a directory of this machine, write it as file:///…"
        raise RequestError(message, kind="secret_in_url")
    if _URL.match(text) is not None:
        return
    bare = text[_match_end(_BLANKS, text) :]
    start = _MISTYPED.match(bare)
    if start is None or start.group(1).lower() not in {*schemes, *_SCHEMES_OF_OTHERS}:
        return
    scheme = start.group(1).lower()
    message = (
        f"the destination is neither a URL nor a path: a URL begins with '{scheme}://' and with "
        f"nothing before it, and a directory of that name is './{scheme}:…'. The rest is not "
        "repeated, as it may hold a secret"
    )
    raise RequestError(message, kind="invalid_url")


def _is_chain(text: str) -> bool:
    """Whether *text* looks like a chain of URLs that names no user."""
    return "::" in text and "@" not in text and _URL.match(text) is not None


def holds_secret(text: str) -> bool:
    """Whether *text*, an address, contains a secret, or what may be one."""
    return _secret_in(text) is not None and not _is_path(text)


def _is_path(text: str) -> bool:
    """Whether *text* can only be a path on a disk of this machine."""
    path = without_disk_scheme(text)
    is_file_url = path != text and re.match("/(?!/)", path) is not None and "://" not in path
    return is_file_url or (path.startswith("/") and os.path.lexists(path))


def _secret_in(text: str) -> str | None:
    """The kind of secret that *text* contains, in words, if it does."""
    is_url = _URL.match(text) is not None
    if any(_holds_credentials(scheme, rest) for scheme, rest in _urls_in(text)):
        return "what stands before an '@', or is no port"
    if any(_holds_password(_authority(part)) for part in text.split("//")[1:]):
        return "what stands before an '@'"
    if not is_url and any(map(_holds_password, _first_components(text))):
        return "what stands before an '@'"
    if any(_holds_query(scheme, rest) for scheme, rest in _urls_in(text)):
        return "what follows a '?'"
    if any(_is_secret(name, is_url=is_url) for name in _parameters(text)):
        return "a parameter, or a connection string"
    return None


def _urls_in(text: str) -> Iterator[tuple[str, str]]:
    """The scheme and the rest of each URL in a chain."""
    starts = list(_SCHEMES.finditer(text))
    for number, found in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        yield found.group(1).lower(), text[found.end() : end]


def _holds_credentials(scheme: str, rest: str) -> bool:
    """Whether the authority contains a password, or a user where URLs have none.

    A secret that was not escaped may contain a slash: the text before it then looks like a host
    with an invalid port, or like the id of a key.
    """
    authority = _authority(rest)
    user, has_user, host = authority.rpartition("@")
    if _ARN.match(authority) is not None and not has_user:
        return False  # The store says what it takes instead.
    if ":" in user or _PORT_OR_NONE.fullmatch(host) is None:
        return True
    if scheme in _BUCKETS:
        is_key = _UPPER_CASE.search(authority) is not None and "@" in rest
        return bool(has_user) or is_key
    return bool(has_user) and scheme in _CONTAINERS and _CONTAINER.fullmatch(user) is None


def _holds_password(authority: str) -> bool:
    """Whether the text begins with ``user:password@``."""
    return ":" in authority.rpartition("@")[0]


def _holds_query(scheme: str, rest: str) -> bool:
    """Whether there is a query, such as a signature; the URL of a directory has none."""
    query = rest.partition("?")[2]
    name, equals, _ = query.partition("=")
    if not query or _decoded(name).lower() in _HARMLESS_NAMES:
        return False
    return scheme in _CUT_AT_QUERIES or (scheme in _BUCKETS and bool(equals))


def _parameters(text: str) -> Iterator[str]:
    """The names in everything of the form ``name=value``: queries and connection strings."""
    pieces = _SEPARATOR.split(text)
    for number, piece in enumerate(pieces):
        name, equals, _ = piece.partition("=")
        # A path may hold partitions; a connection string has more than one part.
        if equals and "/" not in name and (number or ";" in text):
            yield name


def _is_secret(name: str, *, is_url: bool) -> bool:
    name = _decoded(name).strip().lower()
    return (
        name in _SECRET_NAMES
        or (is_url and name in _NAMES_IN_URLS)
        or any(word in name for word in _SECRET_WORDS)
        or _SECRET_KEYS.search(name) is not None
    )


def _first_components(text: str) -> Iterator[str]:
    """The first component of a path; and that of the text after a scheme without slashes."""
    bare = text[_match_end(_BLANKS, text) :]
    yield _authority(bare)
    scheme_end = _match_end(_MISTYPED, bare)
    if scheme_end:
        yield _authority(bare[scheme_end:].lstrip("/"))


def _authority(rest: str) -> str:
    return _decoded(_AUTHORITY_END.split(rest, maxsplit=1)[0])


def _decoded(text: str) -> str:
    """*text* without percent-escapes, nested ones included."""
    for _ in range(_DECODINGS_MAX):
        if "%" not in text:
            break
        text = unquote(text)
    return text


def _match_end(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return 0 if found is None else found.end()
