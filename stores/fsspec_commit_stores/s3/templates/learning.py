"""How a template is read from a request that botocore made, and tried on another one."""

import calendar
import hashlib
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from yarl import URL

from fsspec_commit_stores.http.exchanges import Exchanges
from fsspec_commit_stores.s3.rehearsals import Caught
from fsspec_commit_stores.s3.templates.bodies import body_of
from fsspec_commit_stores.s3.templates.samples import MARKS
from fsspec_commit_stores.s3.templates.signing import Signer
from fsspec_commit_stores.s3.templates.template import (
    AUTHORIZATION,
    DATE,
    DIGEST,
    INVOCATION,
    LENGTH,
    TOKEN,
    UNSIGNED_BODY,
    Gaps,
    Template,
)

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/]+/[0-9]{8}/([^/]+)/s3/aws4_request, "
    r"SignedHeaders=([a-z0-9;_-]+), Signature=[0-9a-f]{64}"
)
_ORIGIN = re.compile(r"https?://[^/?#]+")
# Of one invocation of a function on AWS Lambda; the next one has another.
_OF_AN_INVOCATION = "x-amzn-trace-id"


class DeclinedError(Exception):
    """There is no template for a shape. Says why, and nothing of what is sent."""


class _Address(NamedTuple):
    """What a URL says, with gaps."""

    origin: str
    path: str
    query: str
    canonical_query: str
    in_query: tuple[str, ...]


class _Headers(NamedTuple):
    """What headers say, with gaps; in *by_name* their names are in lower case."""

    as_sent: dict[str, str]
    by_name: dict[str, str]
    in_headers: tuple[str, ...]
    in_metadata: dict[str, str]


def template_of(caught: Caught, parameters: Mapping[str, Any]) -> Template:
    """The template that *caught* shows, which botocore has made for marked *parameters*.

    Raises:
        DeclinedError: It shows none.
    """
    if not caught.is_known or caught.body is None:
        raise DeclinedError("aiobotocore sends the body in chunks, or in another way")
    if caught.body != body_of(parameters):
        raise DeclinedError("the body is another one")
    marks = {str(value): name for name, value in parameters.items() if name in MARKS}
    address = _address(caught.url, marks)
    headers = _headers(caught, marks, parameters.get("Metadata") or {})
    signed = _AUTHORIZATION.fullmatch(caught.headers[AUTHORIZATION])
    if signed is None:
        raise DeclinedError("it is not signed by version 4 for S3")
    region, signed_headers = signed.groups()
    url = URL(caught.url, encoded=True)
    exchanges = None if caught.proxy is not None else Exchanges.of(caught.session, url)
    target = f"{address.path}?{address.query}" if address.query else address.path
    lines = [f"{caught.method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.as_sent.items()]
    if exchanges is not None:
        own = exchanges.headers.items()
        lines += [f"{name}: {value}" for name, value in own if name not in caught.headers]
    host = caught.headers.get("host") or str(url.host_port_subcomponent).lower()
    return Template(
        method=caught.method,
        url=address.origin + target,
        headers=headers.as_sent,
        message="\r\n".join([*lines, "", ""]),
        canonical="\n".join(
            [
                caught.method,
                address.path,
                address.canonical_query,
                *_canonical({"host": _text(host), **headers.by_name}, signed_headers),
                "",
                signed_headers,
                f"%({DIGEST})s",
            ]
        ),
        signed_headers=signed_headers,
        gaps=Gaps(("Key",), address.in_query, headers.in_headers, headers.in_metadata),
        signs_body=caught.headers[DIGEST] != UNSIGNED_BODY,
        has_token=TOKEN in caught.headers,
        signer=Signer(region, "s3"),
        session=caught.session,
        proxy={} if caught.proxy is None else _proxy(caught),
        exchanges=exchanges,
    )


def check(
    template: Template, caught: Caught, parameters: Mapping[str, Any], credentials: Any
) -> None:
    """See that *template* gives for *parameters* what botocore has made of them.

    Raises:
        DeclinedError: It does not.
    """
    stamp = caught.headers.get(DATE, "")
    try:
        second = calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        raise DeclinedError("it has no date") from None
    filled = template.fill(parameters, template.signer.at(second, credentials))
    if filled is None:
        raise DeclinedError("the second sample is not plain")
    values = {**filled.values, INVOCATION: caught.headers.get(INVOCATION, "")}
    ours = {name.lower(): value % values for name, value in template.headers.items()}
    theirs = {name.lower(): value for name, value in caught.headers.items()}
    different = sorted(
        name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)
    )
    if different:
        raise DeclinedError(f"the second sample has other headers: {', '.join(different)}")
    if template.url % values != caught.url or template.method != caught.method:
        raise DeclinedError("the second sample has another URL")
    if filled.body != caught.body:
        raise DeclinedError("the second sample has another body")
    proxy = {} if caught.proxy is None else _proxy(caught)
    if caught.session is not template.session or proxy != template.proxy or not caught.is_known:
        raise DeclinedError("the second sample is sent in another way")


def _address(url: str, marks: Mapping[str, str]) -> _Address:
    found = _ORIGIN.match(url)
    if found is None:
        raise DeclinedError("its URL is of another form")
    origin = found[0]
    path, _, query = url[len(origin) :].partition("?")
    before, mark, after = path.partition(str(MARKS["Key"]))
    if not mark or after:
        raise DeclinedError("its path does not end with the key")
    pairs, in_query = dict[str, str](), []
    sent = []
    for pair in query.split("&") if query else ():
        name, equals, value = pair.partition("=")
        if name in pairs:
            raise DeclinedError("its query says a thing twice")
        parameter = next(
            (one for mark, one in marks.items() if quote(mark, safe="-_.~") == value), ""
        )
        if parameter:
            in_query.append(parameter)
        pairs[name] = f"%({parameter})s" if parameter else _text(value)
        sent.append(f"{_text(name)}{equals}{pairs[name]}")
    canonical = "&".join(f"{_text(name)}={pairs[name]}" for name in sorted(pairs))
    return _Address(
        _text(origin), f"{_text(before)}%(Key)s", "&".join(sent), canonical, tuple(in_query)
    )


def _headers(caught: Caught, marks: Mapping[str, str], metadata: Mapping[str, str]) -> _Headers:
    by_name: dict[str, str] = {}
    as_sent: dict[str, str] = {}
    in_headers: list[str] = []
    in_metadata: dict[str, str] = {}
    body = caught.body or b""
    digests = {hashlib.sha256(body).hexdigest(), UNSIGNED_BODY}
    own = {AUTHORIZATION: None, DATE: None, TOKEN: None, INVOCATION: None}
    checked = {DIGEST: digests, LENGTH: {str(len(body))}}
    marked_metadata = {value: name for name, value in metadata.items()}
    for sent, value in caught.headers.items():
        name = sent.lower()
        if name in by_name or name == _OF_AN_INVOCATION:
            raise DeclinedError(f"it has a header of its own: {name}")
        if name in checked and value not in checked[name]:
            raise DeclinedError(f"its header {name} says something else of the body")
        if name in own or name in checked:
            gap = name
        elif value in marks:
            gap = marks[value]
            in_headers.append(gap)
        elif value in marked_metadata:
            gap = f"metadata-{len(in_metadata)}"
            in_metadata[gap] = marked_metadata[value]
        else:
            gap = ""
        by_name[name] = as_sent[sent] = f"%({gap})s" if gap else _text(value)
    if not {AUTHORIZATION, DATE, DIGEST} <= by_name.keys():
        raise DeclinedError("it is not signed by version 4 for S3")
    if body and LENGTH not in by_name:
        raise DeclinedError("it does not say how long the body is")
    return _Headers(as_sent, by_name, tuple(in_headers), in_metadata)


def _canonical(headers: Mapping[str, str], signed_headers: str) -> list[str]:
    names = signed_headers.split(";")
    if not headers.keys() >= set(names):
        raise DeclinedError("it signs headers that it does not have")
    return [f"{name}:{' '.join(headers[name].split())}" for name in names]


def _proxy(caught: Caught) -> dict[str, Any]:
    return {"proxy": caught.proxy, "proxy_headers": caught.proxy_headers}


def _text(constant: str) -> str:
    """*constant*, escaped for a text with gaps."""
    return constant.replace("%", "%%")
