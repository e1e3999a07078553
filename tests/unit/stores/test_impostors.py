"""Somebody answers in the store's place: nothing follows from it, whatever it looks like.

A proxy, an ingress with no server behind it, a login page, a server that restarts.
"""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fsspec_commit.errors import Reply
from tests.unit.stores.clouds import every_verb
from tests.unit.stores.responder import Answer

if TYPE_CHECKING:
    from tests.unit.stores.scripted import Scripted
    from tests.unit.stores.verbs import Verb

SUCCESSES, REDIRECTIONS = range(200, 300), range(300, 400)
HTML = b"<html><body>Please accept the terms of use</body></html>"
IMPOSTORS = (
    Answer(200, HTML, {"Content-Type": "text/html"}),
    *(Answer(200, page) for page in (b"", b"{}", b"[" * 9_999, b"404 page not found\n")),
    *(Answer(status, HTML) for status in (201, 202, 206, 302)),
    *(Answer(status) for status in (202, 204, 304)),
    *(Answer(status, headers={"Location": "https://login.example/"}) for status in (302, 308)),
    Answer(404, b"404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"}),
    *(
        Answer(status, page)
        for status in (400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 416, 429)
        for page in (b"", HTML)
    ),
    *(Answer(status, page) for status in (500, 501, 502, 503, 504) for page in (b"", HTML)),
)


@every_verb
def test_nothing_follows_from_their_answers(cloud: Scripted[Any], verb: Verb) -> None:
    """A job whose record was "not found" would be over, and its area void."""
    for answer in (*IMPOSTORS, *cloud.impostors):
        cloud.received.clear()
        # A page about maintenance may ask for a day.
        headers = {**cloud.disguise, "Retry-After": "86400", **answer.headers}
        cloud.always(replace(answer, headers=headers))
        caught = cloud.failure_of(verb.call(cloud.store))
        assert caught.reply is Reply.UNKNOWN, (answer, caught)
        assert caught.errno == errno.EIO, answer
        assert caught.retry_after_s is None
        assert str(caught).startswith(f"cannot {verb.doing} '{cloud.url_of_store}/a b': "), answer
        if answer.status not in SUCCESSES:
            assert f"HTTP {answer.status}" in str(caught), answer
        if answer.status not in REDIRECTIONS:
            assert cloud.no_answer_of_its_own.format(answer.status) in str(caught), answer
        assert "\n" not in str(caught)
        assert not isinstance(caught, FileNotFoundError | FileExistsError | PermissionError)
        # What changes something is sent once; where it is in doubt, it is looked at.
        changes = [one for one in cloud.asked if one.method not in {"GET", "HEAD"}]
        assert len(changes) <= 1, answer
        assert len(cloud.asked) <= cloud.requests_in_doubt, answer
