"""What answers in place of a store: proxies, ingresses, login pages, servers that restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsspec_commit.testing.store_contract.answered_for import (
    FOREIGN_ANSWERS,
    LOGIN_PAGE,
    LOGIN_PATH,
    ForeignAnswer,
)
from tests.servers.faults import AnswerOfAnother, Rule

if TYPE_CHECKING:
    from tests.servers.http_messages import Request
    from tests.servers.proxy import FaultProxy


def _fault(answer: ForeignAnswer, *, is_carried_out: bool = False) -> AnswerOfAnother:
    return AnswerOfAnother(answer.status, answer.content, answer.headers, is_carried_out)


IMPOSTORS = {name: _fault(answer) for name, answer in FOREIGN_ANSWERS.items()}


def rules_of(fault: AnswerOfAnother, *, nth: int, once: bool) -> tuple[Rule, Rule]:
    """The *nth* request is answered by an impostor, or each from there on.

    The second rule is the page that a redirection leads to.
    """
    answered = Rule(fault, where=_is_not_login, nth=nth, times=1 if once else None)
    return answered, Rule(_fault(LOGIN_PAGE), path=LOGIN_PATH, times=None)


def _is_not_login(request: Request) -> bool:
    return request.path != LOGIN_PATH


class AnsweringProxy:
    """A proxy that answers one request of the store contract in place of the service."""

    def __init__(self, proxy: FaultProxy) -> None:
        self._proxy = proxy
        self._answered = Rule()

    def begin(self, nth: int, answer: ForeignAnswer, *, is_carried_out: bool) -> None:
        """Answer the *nth* request from now on."""
        fault = _fault(answer, is_carried_out=is_carried_out)
        self._answered, login = rules_of(fault, nth=nth, once=True)
        self._proxy.add(self._answered)
        self._proxy.add(login)

    def end(self) -> bool:
        """Forward every request again, and say whether one was answered."""
        self._proxy.clear()
        return self._answered.met
