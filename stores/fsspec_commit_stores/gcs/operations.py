"""Every method of the JSON API that is ever called, and what IAM must allow for it.

https://cloud.google.com/storage/docs/access-control/iam-json
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of the JSON API: what it does to a path, what it needs."""

    verb: str
    permissions: str


_READING = "storage.objects.get (and storage.objects.list, to tell what is missing)"
OPERATIONS = {
    "buckets.get": Operation("look at the bucket of", "storage.buckets.get"),
    "buckets.getStorageLayout": Operation("ask for the layout of", "storage.objects.list"),
    "objects.get": Operation("look at", _READING),
    "objects.get media": Operation("read", _READING),
    "objects.insert": Operation(
        "write", "storage.objects.create (and storage.objects.delete, to replace)"
    ),
    "objects.delete": Operation("delete", "storage.objects.delete"),
    "objects.list": Operation("list", "storage.objects.list"),
    "objects.move": Operation(
        "rename",
        "storage.objects.move (or storage.objects.get and storage.objects.delete), "
        "storage.objects.create, and storage.objects.delete to replace",
    ),
}
"""By the names of their methods."""
