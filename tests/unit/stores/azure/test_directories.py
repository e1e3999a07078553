"""Empty directories are removed by the service, on that condition."""

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
