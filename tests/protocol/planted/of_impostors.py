"""Planted bugs: what somebody else answers in a store's place is taken for the store's own word.

A proxy, an ingress with no server behind it, a login page, a gateway whose server restarts.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec

from fsspec_commit.errors import Reply
from fsspec_commit_stores.azure import answers as azure
from fsspec_commit_stores.azure.operations import OPERATIONS
from fsspec_commit_stores.azure.requests import Container
from fsspec_commit_stores.gcs import answers as gcs
from fsspec_commit_stores.gcs import renaming
from fsspec_commit_stores.gcs.provenance import Told as ToldByGcs
from fsspec_commit_stores.gcs.provenance import told_by_store as really_told
from fsspec_commit_stores.gcs.requests import Bucket
from fsspec_commit_stores.hdfs import web, web_answers
from fsspec_commit_stores.hdfs.failures import MISSING, Told, answered_by_name_node
from fsspec_commit_stores.s3 import answers as s3
from fsspec_commit_stores.s3 import deleting
from fsspec_commit_stores.s3.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    Plant = Callable[[pytest.MonkeyPatch], None]


def believes_on_s3(status: int) -> Plant:
    """An error without a document is S3's, whoever says it: by its status something follows."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        real = vars(s3.Answer)["is_foreign"].fget
        believed = property(lambda answer: answer.status != status and real(answer))
        patch.setattr(s3.Answer, "is_foreign", believed)

    return plant


def believes_any_success_on_s3(patch: pytest.MonkeyPatch) -> None:
    """A page with a 200 counts as a rename, or as whatever else was asked for."""
    patch.setattr(Provenance, "is_from_s3", lambda *_, **__: True)


def believes_any_deletion_on_s3(patch: pytest.MonkeyPatch) -> None:
    """Nobody looks whether the file is gone."""
    patch.setattr(deleting, "is_marked", lambda _: True)


def believes_a_bare_404_on_gcs(patch: pytest.MonkeyPatch) -> None:
    def told_by_store(status: int, headers: Any, body: bytes) -> ToldByGcs | None:
        is_bare = status == HTTPStatus.NOT_FOUND
        return really_told(status, headers, body) or (ToldByGcs("", "") if is_bare else None)

    patch.setattr(gcs, "told_by_store", told_by_store)


def believes_any_rename_on_gcs(patch: pytest.MonkeyPatch) -> None:
    """Nobody reads what was answered with 200."""
    real = Bucket.decoded

    def decoded(bucket: Bucket, answered: Any, name: str, *what: Any) -> Any:
        is_rename = name == renaming._NAME
        return {"generation": "1"} if is_rename else real(bucket, answered, name, *what)

    patch.setattr(Bucket, "decoded", decoded)


def believes_a_bare_404_on_azure(patch: pytest.MonkeyPatch) -> None:
    """A 404 says that there is no such file, with a code of Azure's or without."""
    foreign = vars(azure.Answer)["is_foreign"].fget

    def is_404(answer: azure.Answer) -> bool:
        return answer.status == HTTPStatus.NOT_FOUND

    patch.setattr(azure.Answer, "is_missing", property(is_404))
    patch.setattr(azure.Answer, "is_vague", property(lambda _: False))
    patch.setattr(azure.Answer, "is_foreign", property(lambda a: not is_404(a) and foreign(a)))


def believes_any_success_on_azure(operation: str) -> Plant:
    """A 200 is a success of *operation*, whoever says it and whatever it lacks."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        foreign = vars(azure.Answer)["is_foreign"].fget
        lax = replace(OPERATIONS[operation], statuses=frozenset(range(200, 300)), told=frozenset())
        patch.setitem(OPERATIONS, operation, lax)
        really = Container.send

        def is_foreign(answer: azure.Answer) -> bool:
            return answer.status >= HTTPStatus.MULTIPLE_CHOICES and bool(foreign(answer))

        async def send(container: Container, *what: Any, **how: Any) -> azure.Answer:
            answer = await really(container, *what, **how)
            return replace(answer, headers={"etag": '"none"', **answer.headers})

        patch.setattr(azure.Answer, "is_foreign", property(is_foreign))
        patch.setattr(Container, "send", send)

    return plant


def _where(status: int, told: Callable[[Any, Any], Any]) -> Plant:
    """WebHDFS: what a gateway answers by *status* is understood as *told*."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        real = web_answers.failure_of

        def failure_of(asked: Any, answer: Any, **how: Any) -> Any:
            found = real(asked, answer, **how)
            is_bare = found.answer is None and answer.status_code == status
            return told(asked, found) if is_bare else found

        patch.setattr(web_answers, "failure_of", failure_of)

    return plant


def _not_done(_: Any, failed: Any) -> Any:
    failed.failure.reply = Reply.NOT_DONE
    return failed


def _missing(asked: Any, _: Any) -> Any:
    return answered_by_name_node(asked, Told(MISSING, "it is not there"))


takes_a_503_on_webhdfs_for_not_done = _where(HTTPStatus.SERVICE_UNAVAILABLE, _not_done)
believes_a_bare_404_on_webhdfs = _where(HTTPStatus.NOT_FOUND, _missing)


def takes_a_redirection_for_a_rename(patch: pytest.MonkeyPatch) -> None:
    """Its true answer has no body either."""

    def check_empty(asked: Any, answer: Any) -> None:
        if not 300 <= answer.status_code < 400:
            web_answers.check_empty(asked, answer)

    patch.setattr(web, "check_empty", check_empty)


def takes_a_login_page_for_a_rename(patch: pytest.MonkeyPatch) -> None:
    def check_empty(asked: Any, answer: Any) -> None:
        if answer.status_code != HTTPStatus.OK:
            web_answers.check_empty(asked, answer)

    patch.setattr(web, "check_empty", check_empty)


def lets_out_what_is_no_json(patch: pytest.MonkeyPatch) -> None:
    """Whoever asks gets the decoder's error, which says nothing of an outcome."""

    def read(answer: Any, form: Any) -> Any:
        return msgspec.json.decode(answer.content, type=form)

    patch.setattr(web_answers, "_read", read)
