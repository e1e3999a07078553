"""Answers that are plainly the success that was asked for; botocore reads all others."""

import re
from contextlib import suppress
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any

from fsspec_commit_stores.http.plain_answers import Received
from fsspec_commit_stores.s3.operations import Operation
from fsspec_commit_stores.s3.provenance import FORM

# A document of texts alone, each directly below the root, as S3 and servers like it write them. All
# else that XML may be is for botocore's parser.
_TEXT = rb"[^<>\x00-\x08\x0b-\x1f]*"
_NAME = rb"[A-Za-z_]\w*"
_BLANK = rb"[ \t\r\n]*"
_DOCUMENT = re.compile(
    rb"(?:<\?xml version=\"1\.0\"(?: encoding=\"(?i:utf-8)\")? ?\?>" + _BLANK + rb")?"
    rb"<(" + _NAME + rb")(?: xmlns=\"[^\"<>&]*\")?>"
    rb"((?:" + _BLANK + rb"<(" + _NAME + rb")>" + _TEXT + rb"</\3>)*)" + _BLANK + rb"</\1>" + _BLANK
)
# In UTF-8, some code points that are not characters of XML begin with this.
_NO_CHARACTERS = b"\xef\xbf"
_FIELDS = re.compile(rb"<(\w+)>(" + _TEXT + rb")</")
_NUMBER = re.compile("[0-9]{1,18}")
_TIME = re.compile(
    "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [12][0-9]{3} [0-9:]{8} GMT"
)
_OF_METADATA = "x-amz-meta-"
_ESCAPED = re.compile(r"(?:[^&]|&(?:amp|apos|gt|lt|quot|#34|#38|#39|#60|#62);)*")


class Successes:
    """Reads the answers of success to one operation.

    It reads them as botocore would: all fields that are texts or whole numbers, the metadata, and
    the headers. Nobody looks at the other fields, booleans and times.
    """

    def __init__(self, request: Operation, model: Any) -> None:
        """Read those to *request*, of which *model* is the service's own description."""
        self._request = request
        self._in_headers: dict[str, str] = {}
        self._in_body: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._times: set[str] = set()
        self._others: set[str] = set()
        for field, shape in model.output_shape.members.items():
            name = str(shape.serialization.get("name", field))
            is_in_header = shape.serialization.get("location") == "header"
            if shape.type_name == "string":
                texts = self._in_headers if is_in_header else self._in_body
                texts[name.lower() if is_in_header else name] = field
            elif is_in_header and shape.type_name in {"integer", "long"}:
                self._numbers[name.lower()] = field
            elif is_in_header and shape.type_name == "timestamp":
                self._times.add(name.lower())
            elif shape.type_name not in {"boolean", "map"} and field != "Body":
                self._others.add(name.lower())
        self._has_metadata = "Metadata" in model.output_shape.members

    def read(self, received: Received) -> dict[str, Any] | None:
        """What *received* says; ``None`` where it may be no such success."""
        try:
            told = self._document(received.body)
        except UnicodeDecodeError:
            return None
        return None if told is None else self.read_headers(received, told)

    def read_headers(self, received: Received, told: dict[str, Any]) -> dict[str, Any] | None:
        """What the headers of *received* say, beside what was *told*."""
        if received.status != self._request.status:
            return None
        headers: dict[str, str] = {}
        metadata: dict[str, str] = {}
        try:
            for raw_name, raw_value in received.raw_headers:
                name, value = raw_name.decode().lower(), raw_value.decode()
                headers[name] = value
                field = self._in_headers.get(name)
                if field is not None:
                    if field in told:
                        return None
                    told[field] = value
                elif name.startswith(_OF_METADATA):
                    metadata[name.removeprefix(_OF_METADATA)] = value
                elif not self._is_known(name, value, told):
                    return None
        except UnicodeDecodeError:
            return None
        if self._has_metadata:
            told["Metadata"] = metadata
        told["ResponseMetadata"] = {"HTTPStatusCode": received.status, "HTTPHeaders": headers}
        return told

    def _is_known(self, name: str, value: str, told: dict[str, Any]) -> bool:
        """Whether it is certain what botocore makes of *value*, which is not a text.

        A number is put into *told*.
        """
        number = self._numbers.get(name)
        if number is not None:
            if number in told or _NUMBER.fullmatch(value) is None:
                return False
            told[number] = int(value)
            return True
        return _is_time(value) if name in self._times else name not in self._others

    def _document(self, body: bytes) -> dict[str, Any] | None:
        if not self._request.documents:
            return None if body else {FORM: ""}
        found = _DOCUMENT.fullmatch(body)
        form = "" if found is None else found[1].decode()
        if found is None or form not in self._request.documents or _NO_CHARACTERS in body:
            return None
        told: dict[str, Any] = {FORM: form}
        for name, raw in _FIELDS.findall(found[2]):
            field, text = self._in_body.get(name.decode()), raw.decode()
            if ("&" in text and _ESCAPED.fullmatch(text) is None) or field in told:
                return None
            if field is not None:
                told[field] = unescape(text)
            elif name.decode().lower() in self._others:
                return None
        return told


def _is_time(value: str) -> bool:
    """Whether botocore would certainly take *value* for a time; for anything else it raises."""
    if _TIME.fullmatch(value) is None:
        return False
    with suppress(ValueError):
        parsedate_to_datetime(value)
        return True
    return False
