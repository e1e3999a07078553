"""Which names are kept to the byte: others are refused before they are written.

The service drops a dot at the end of a name, a backslash is a slash to some of its clients, and
control characters do not come through XML ("Naming and referencing containers, blobs, and
metadata"). What others have written under such names is read and deleted like any other.
"""

import re

from fsspec_commit.layout import StorePath

_BAD = re.compile(r"[\x00-\x1f\x7f\x80-\x9f\\\ufffe\uffff]")


def trouble_with(path: StorePath) -> str | None:
    """Why nothing is written at *path*, if so."""
    if "./" in path or path.endswith("."):
        return "a name that ends in a dot would be stored without it"
    if (found := _BAD.search(path)) is not None:
        return f"a name with {found.group()!r} in it is not kept as it is"
    return None
