"""URLs of this machine's disks: ``file://`` and ``local://``, as fsspec reads them."""

import re

DISKS = frozenset({"file", "local"})
_SCHEME = re.compile(r"(?:file|local):(?://(?:localhost(?=/))?)?", re.IGNORECASE)


def without_disk_scheme(url: str) -> str:
    """The path that a URL of a disk names; any other text as it is. Nothing is decoded."""
    match = _SCHEME.match(url)
    return url if match is None else url[match.end() :]
