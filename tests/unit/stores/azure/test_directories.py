"""Directories are made once, and removed by the service on condition that they are empty."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from tests.unit.stores.azure.answers import said, told
from tests.unit.stores.responder import CLOSED
from tests.unit.stores.verbs import PATH

if TYPE_CHECKING:
    from tests.unit.stores.azure.scripted import ScriptedAzure
    from tests.unit.stores.responder import Answer

DIRECTORY = told(200, b"", {"ETag": '"e1"', "x-ms-resource-type": "directory"})
FILE = told(200, b"1", {"ETag": '"e1"'})


def make(azure: ScriptedAzure) -> list[str]:
    """What making one asks for."""
    making = azure.store.directory_creation
    assert making is not None
    azure.run(making.make_directory(PATH, within=azure.store.root))
    return [one.method for one in azure.received]


@pytest.mark.parametrize("headers", [{"x-ms-existing-resource-type": "directory"}, {}])
def test_one_that_is_there_is_asked_about_where_the_answer_does_not_say(
    gen2: ScriptedAzure, headers: dict[str, str]
) -> None:
    gen2.script(said(409, "PathAlreadyExists", headers), DIRECTORY)
    assert make(gen2) == (["PUT"] if headers else ["PUT", "HEAD"])


@pytest.mark.parametrize(
    "answer",
    [
        said(409, "PathAlreadyExists", {"x-ms-existing-resource-type": "file"}),
        said(409, "PathConflict", {"x-ms-existing-resource-type": "directory"}),
    ],
)
def test_a_file_in_the_way_is_not_taken_for_one(gen2: ScriptedAzure, answer: Answer) -> None:
    gen2.script(answer, FILE, FILE)
    with pytest.raises(StoreError, match="is in the way") as caught:
        make(gen2)
    assert caught.value.errno == errno.ENOTDIR


def remove(azure: ScriptedAzure) -> list[str]:
    """What it is asked for."""
    removing = azure.store.empty_directories
    assert removing is not None
    azure.run(removing.remove_empty_directory(PATH))
    return [one.method for one in azure.received]


@pytest.mark.parametrize("answer", [told(200), told(202), said(404, "PathNotFound")])
def test_what_is_empty_goes(gen2: ScriptedAzure, answer: Answer) -> None:
    gen2.script(DIRECTORY, answer)
    assert remove(gen2) == ["HEAD", "DELETE"]
    assert gen2.received[-1].query == {"recursive": "false"}


def test_what_is_missing_is_done(gen2: ScriptedAzure) -> None:
    gen2.script(said(404, "BlobNotFound"))
    assert remove(gen2) == ["HEAD"]


@pytest.mark.parametrize(
    ("there", "answer", "reply", "number"),
    [
        (DIRECTORY, said(409, "DirectoryNotEmpty"), Reply.REFUSED, errno.ENOTEMPTY),
        (DIRECTORY, said(409, "PathConflict"), Reply.REFUSED, None),
        (DIRECTORY, said(503, "ServerBusy"), Reply.NOT_DONE, None),
        (DIRECTORY, CLOSED, Reply.UNKNOWN, None),
        (FILE, None, Reply.REFUSED, errno.ENOTDIR),
    ],
)
def test_what_is_not_removed_is_said(
    gen2: ScriptedAzure, there: Answer, answer: Answer | None, reply: Reply, number: int | None
) -> None:
    gen2.script(there, *([] if answer is None else [answer]))
    with pytest.raises(StoreError) as caught:
        remove(gen2)
    assert caught.value.reply is reply
    assert (caught.value.errno == errno.ENOTEMPTY) == (number == errno.ENOTEMPTY)


def test_a_flat_account_has_none(flat: ScriptedAzure) -> None:
    assert flat.store.empty_directories is None
