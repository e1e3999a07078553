"""Answers that are plainly the success that was asked for; botocore reads all others."""

import re
from html import unescape
from typing import Any

from fsspec_commit_stores.http.exchanges import Received
from fsspec_commit_stores.s3.operations import Operation
from fsspec_commit_stores.s3.provenance import FORM

# A document of texts alone, one below the root each, as S3 and servers like it write them. Of all
# else that XML may be, botocore's parser knows.
_TEXT = rb"[^<>\x00-\x08\x0b-\x1f]*"
_NAME = rb"[A-Za-z_]\w*"
_BLANK = rb"[ \t\r\n]*"
_DOCUMENT = re.compile(
    rb"(?:<\?xml version=\"1\.0\"(?: encoding=\"(?i:utf-8)\")? ?\?>" + _BLANK + rb")?"
    rb"<(" + _NAME + rb")(?: xmlns=\"[^\"<>&]*\")?>"
    rb"((?:" + _BLANK + rb"<(" + _NAME + rb")>" + _TEXT + rb"</\3>)*)" + _BLANK + rb"</\1>" + _BLANK
)
# As UTF-8, and some that are no characters of XML's begin with it.
_NO_CHARACTERS = b"\xef\xbf"
_FIELDS = re.compile(rb"<(\w+)>(" + _TEXT + rb")</")
_ESCAPED = re.compile(r"(?:[^&]|&(?:amp|apos|gt|lt|quot|#34|#38|#39|#60|#62);)*")


class Successes:
    """Reads those to one operation.

    As botocore would read them: the fields that are texts, whichever of them anybody looks at, and
    the headers. At the others, a truth or a number, nobody does.
    """

    def __init__(self, request: Operation, model: Any) -> None:
        """Read those to *request*, of which *model* is the service's own description."""
        self._request = request
        self._in_headers: dict[str, str] = {}
        self._in_body: dict[str, str] = {}
        # What botocore cannot make a number of, it does not believe.
        self._numbers: set[str] = set()
        self._others: set[str] = set()
        for field, shape in model.output_shape.members.items():
            name = str(shape.serialization.get("name", field))
            is_in_header = shape.serialization.get("location") == "header"
            if shape.type_name == "string":
                texts = self._in_headers if is_in_header else self._in_body
                texts[name.lower() if is_in_header else name] = field
            elif is_in_header and shape.type_name in {"integer", "long"}:
                self._numbers.add(name.lower())
            elif shape.type_name != "boolean":
                self._others.add(name.lower())

    def read(self, received: Received) -> dict[str, Any] | None:
        """What *received* says; ``None`` where it may be no such success."""
        if received.status != self._request.status:
            return None
        headers: dict[str, str] = {}
        try:
            told = self._document(received.body)
            if told is None:
                return None
            for raw_name, raw_value in received.raw_headers:
                name = raw_name.decode().lower()
                field = self._in_headers.get(name)
                value = headers[name] = raw_value.decode()
                if field is not None:
                    if field in told:
                        return None
                    told[field] = value
                elif name in self._others or (name in self._numbers and not value.isdecimal()):
                    return None
        except UnicodeDecodeError:
            return None
        told["ResponseMetadata"] = {"HTTPStatusCode": received.status, "HTTPHeaders": headers}
        return told

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
