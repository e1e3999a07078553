"""What answers in place of a store: proxies, ingresses, login pages, servers that restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.faults import AnswerOfAnother, Rule

if TYPE_CHECKING:
    from tests.servers.http_messages import Request

_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_TEXT = (("Content-Type", "text/plain; charset=utf-8"),)
_JSON = (("Content-Type", "application/json"),)
_LOGIN_PATH = "/sign-in-to-the-network"
_LOGIN_PAGE = b"<!DOCTYPE html><html><title>Sign in</title><form>Please sign in.</form></html>"

IMPOSTORS = {
    "200 HTML": AnswerOfAnother(200, _LOGIN_PAGE, _HTML),
    "200 {}": AnswerOfAnother(200, b"{}", _JSON),
    "200 empty": AnswerOfAnother(200),
    "204": AnswerOfAnother(204),
    "302": AnswerOfAnother(302, b"", (("Location", _LOGIN_PATH),)),
    "403": AnswerOfAnother(403, b"<html><body>Forbidden</body></html>", _HTML),
    "404": AnswerOfAnother(404, b"404 page not found\n", _TEXT),
    "502": AnswerOfAnother(502, b"<html><body>Bad Gateway</body></html>", _HTML),
    "503": AnswerOfAnother(503, b"no available server\n", _TEXT),
}


def rules_of(name: str, *, nth: int, once: bool) -> tuple[Rule, Rule]:
    """The *nth* request is answered by an impostor, or each from there on.

    The second rule is the page that a redirection leads to.
    """
    answered = Rule(IMPOSTORS[name], where=_is_not_login, nth=nth, times=1 if once else None)
    return answered, Rule(IMPOSTORS["200 HTML"], path=_LOGIN_PATH, times=None)


def _is_not_login(request: Request) -> bool:
    return request.path != _LOGIN_PATH
