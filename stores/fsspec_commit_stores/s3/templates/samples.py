"""Two samples of a shape: one of marks that are found again, one of values that are awkward.

No value is the same in both: if one were, what follows from it, such as a checksum, would pass for
a constant.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from fsspec_commit_stores.s3.connections import LEAVE_ASKED_FROM_BYTES

MARKS: Mapping[str, Any] = {
    "Key": "mark-of-key-0123456789",
    "UploadId": "mark-of-upload-0123456789",
    "IfMatch": '"mark-of-etag-0123456789"',
    "PartNumber": 7919,
    "MpuObjectSize": 104_729_001,
    "ChecksumCRC32": "MARKED==",
}
"""What differs from request to request, beside body and metadata."""
_AWKWARD: Mapping[str, Any] = {
    "Key": "/a b/./../ü漢\U0001f600/%2F%+&=?#;:@'~!*()$,[]{}|\\^`<>\"//.x/",
    "UploadId": "o+d/d=._-~ x%&é",
    "IfMatch": '"0dd-7"',
    "PartNumber": 3,
    "MpuObjectSize": 0,
    "ChecksumCRC32": "AwkW/+0=",
}
_PARTS: tuple[list[dict[str, Any]], ...] = (
    [
        {"PartNumber": 1, "ETag": '"e-1"', "ChecksumCRC32": "NSRBwg=="},
        {"PartNumber": 2, "ETag": "f"},
    ],
    [{"ETag": '"%g;\'"', "PartNumber": 10_000, "ChecksumSHA256": "x/y+z="}],
)
_VARYING = frozenset({*MARKS, "Body", "MultipartUpload"})


class Shape(NamedTuple):
    """What a request has in common with others that are made like it.

    Attributes:
        method: Of the client.
        varying: The parameters that differ, by name.
        metadata: The names of what is kept beside the content.
        asks_leave: Whether the body is so long that botocore asks for leave to send it.
        constant: All other parameters. They may be secret.
    """

    method: str
    varying: tuple[str, ...]
    metadata: tuple[str, ...]
    asks_leave: bool
    constant: tuple[tuple[str, Hashable], ...]

    def __repr__(self) -> str:
        names = {*self.varying, *self.metadata, *(str(name) for name, _ in self.constant)}
        return f"{self.method}({', '.join(sorted(names))})"


def shape_of(method: str, parameters: Mapping[str, Any]) -> Shape:
    """The shape of a call of the client's *method*."""
    varying, constant = [], []
    metadata: tuple[str, ...] = ()
    for name, value in parameters.items():
        if name in _VARYING:
            varying.append(name)
        elif name == "Metadata":
            metadata = tuple(value)
        else:
            constant.append((name, value))
    asks_leave = len(parameters.get("Body", b"")) >= LEAVE_ASKED_FROM_BYTES
    return Shape(method, tuple(varying), metadata, asks_leave, tuple(constant))


def samples_of(shape: Shape) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of two calls of *shape*: of marks, and of awkward values."""
    marked, awkward = dict[str, Any](shape.constant), dict[str, Any](shape.constant)
    for name in shape.varying:
        if name in MARKS:
            marked[name], awkward[name] = MARKS[name], _AWKWARD[name]
    if shape.metadata:
        marked["Metadata"] = {name: mark_of_metadata(n) for n, name in enumerate(shape.metadata)}
        awkward["Metadata"] = {name: f'{n} o/d=d"+%&; x' for n, name in enumerate(shape.metadata)}
    if "MultipartUpload" in shape.varying:
        marked["MultipartUpload"], awkward["MultipartUpload"] = (
            {"Parts": parts} for parts in _PARTS
        )
    if "Body" in shape.varying:
        length = LEAVE_ASKED_FROM_BYTES if shape.asks_leave else 10
        marked["Body"], awkward["Body"] = b"1" * length, b"2" * (length + 1)
    return marked, awkward


def mark_of_metadata(number: int) -> str:
    """The mark that stands for the value of one name of metadata."""
    return f"mark-of-metadata-{number}"
