"""What URLs of buckets and containers have in common, and how they are refused."""

import re
from dataclasses import dataclass

from fsspec_commit.errors import RequestError
from fsspec_commit.layout import StorePath


@dataclass(frozen=True, slots=True)
class Place:
    """A destination: a bucket or container, and the directory in it that is the root.

    Attributes:
        bucket: Its name.
        root: Bucket and prefix, without a slash at the end.
    """

    bucket: str
    root: StorePath


def without_scheme(scheme: re.Pattern[str], url: str) -> str:
    """What follows *scheme* in a URL; fsspec may have taken the scheme off already."""
    return url[match.end() :] if (match := scheme.match(url)) else url


def root_of(url: str, bucket: str, prefix: str) -> StorePath:
    """Bucket and prefix, without a slash at the end.

    Raises:
        RequestError: The prefix is one that other clients would read as another.
    """
    prefix = prefix.rstrip("/")
    if prefix and any(name in {"", ".", ".."} for name in prefix.split("/")):
        raise refused_url(url, "empty, '.' and '..' components name nothing here")
    return StorePath(f"{bucket}/{prefix}" if prefix else bucket)


def refused_url(url: str, why: str) -> RequestError:
    """The refusal of a URL for what it names."""
    return invalid_url(url, f"cannot open {url!r}: {why}")


def invalid_url(url: str, message: str) -> RequestError:
    """The refusal of a URL that does not say what it must."""
    return RequestError(message, kind="invalid_url", path=url)


def invalid_option(url: str, why: str) -> RequestError:
    """The refusal of an option."""
    return RequestError(f"cannot open {url!r}: {why}", kind="invalid_option", path=url)
