"""Who has answered: S3, or somebody on the way to it, such as a proxy, an ingress or a login page.

S3 marks what it says by an id of the request; so does every server that was tried. Errors also come
as a document with a code, in a form that nobody else uses. What is marked by neither says nothing
of what was done, whatever its status.

Not every server marks its successes. Which do is learnt from their answers: a server that has
marked one marks them all, and AWS always does. For the others the documented status and form must
do.
"""

import re
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from fsspec_commit_stores.s3.operations import Operation

# The hosts of S3. A machine, a load balancer or a gateway that one rents there has another name.
_AWS = re.compile(
    r"(?:.+\.)?s3(?:[a-z]*-[a-z0-9-]+)?(?:\.dualstack)?(?:\.[a-z]+(?:-[a-z]+)+-[0-9]+)?(?:\.vpce)?"
    r"\.amazonaws\.(?:com|com\.cn|eu)"
)
_MARKS = frozenset({"x-amz-request-id", "x-amz-id-2"})
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>)?\s*(?:<!--.*?-->\s*)*<(?:[\w.-]+:)?([\w.-]+)[\s/>]",
    re.DOTALL,
)
_IS_TRUNCATED = b"IsTruncated"
_SAYS_WHETHER_TRUNCATED = re.compile(rb"<(?:[^<>\s/:]+:)?IsTruncated[\s/>]")
FORM = "fsspec_commit.form"
STREAMED = "a stream"
_EMPTY = ""


def is_aws(endpoint: str) -> bool:
    """Whether requests go to S3 of AWS itself, by the host's name."""
    return _AWS.fullmatch(urlsplit(endpoint).hostname or "") is not None


def is_marked(headers: Collection[str]) -> bool:
    """Whether one of *headers*, in lower case, is S3's id of the request."""
    return any(mark in headers for mark in _MARKS)


def headers_of(answer: Mapping[str, Any]) -> Collection[str]:
    """The names of an answer's headers, in lower case, as botocore keeps them."""
    metadata = answer.get("ResponseMetadata") or {}
    return metadata.get("HTTPHeaders") or ()


def note_form(
    response_dict: Mapping[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    """Keep what botocore throws away when it reads an answer: which document it was.

    For its event ``before-parse``.
    """
    body = response_dict["body"]
    form = _form(body) if isinstance(body, bytes) else STREAMED
    # Only once: whoever reads the answer in botocore's place leaves nothing of it.
    customized_response_dict.setdefault(FORM, form)


class Provenance:
    """What is known of the answers of one endpoint."""

    def __init__(self, *, always_marks: bool) -> None:
        self._marks = always_marks

    def is_from_s3(self, request: Operation, answer: dict[str, Any], *, in_range: bool) -> bool:
        """Whether an answer of success is S3's own, as it is documented.

        Args:
            request: What was asked.
            answer: As botocore has read it; what `note_form` has left there is taken away.
            in_range: Whether a range of a file was asked for.
        """
        metadata = answer.get("ResponseMetadata") or {}
        headers = headers_of(answer)
        status = metadata.get("HTTPStatusCode")
        is_part = in_range and status == HTTPStatus.PARTIAL_CONTENT
        found = answer.pop(FORM, None)
        expected = (STREAMED,) if request.is_streamed else request.documents or (_EMPTY,)
        if (status != request.status and not is_part) or found not in expected:
            return False
        if request.has_etag and "etag" not in headers:
            return False
        if is_marked(headers):
            self._marks = True
            return True
        return not self._marks


def _form(body: bytes) -> str:
    """The name of a document; for anything else, a text that is no document's name."""
    found = _ROOT.match(body)
    if _is_doubly_truncated(body):
        return "a page that says twice whether there is more"
    if found is not None:
        return found[1].decode(errors="replace")
    return "no document" if body.strip() else _EMPTY


def _is_doubly_truncated(body: bytes) -> bool:
    """Whether a page says twice whether there is more: to botocore that is "no", whatever it says.

    Said once, it is in one tag or two, which are counted fast; a file may have that name as well.
    """
    if body.count(_IS_TRUNCATED) <= 2:  # noqa: PLR2004  # see above
        return False
    return len(_SAYS_WHETHER_TRUNCATED.findall(body)) > 1
