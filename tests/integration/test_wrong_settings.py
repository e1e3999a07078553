"""What users meet before anything works: one sentence that says what to check, and says it soon.

Whatever was begun by then, `clean` and `resume` remove with settings that are right.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.integration.users import (
    asked,
    leftovers,
    say,
    settle,
    told,
    told_by_the_command,
    work,
    write,
)
from tests.scenes.attempts import learn
from tests.scenes.remotes import on
from tests.scenes.requests_of_jobs import AZURITE, GCS, GEN2
from tests.servers.faults import AnswerInstead, Fault, Rule
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scenes.remotes import Remote
    from tests.servers.proxy import FaultProxy

WRONG_KEY = b64encode(b"not the key of this account").decode()
NOBODY_THERE = "no-such-bucket-of-the-tests"


@dataclass(frozen=True)
class Wrong:
    """A setting that is wrong, and the words that say what to check.

    Attributes:
        name: What the test is called.
        words: All of them are in the sentence.
        changes: Options that are other than they should be, ``None`` leaves one out; on Azure, what
            is other in the connection string.
        known: The words where a store is known by then, if they are others.
        bucket: The bucket, where that is what is wrong.
        for_workers: Whether a task may have it while its job has not.
        by_command: Whether the command is tried as well.
    """

    name: str
    words: tuple[str, ...]
    changes: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    bucket: str = ""
    for_workers: bool = False
    by_command: bool = False

    def __str__(self) -> str:
        return self.name

    def url(self, remote: Remote) -> str:
        protocol, _, _ = remote.url.partition("://")
        return f"{protocol}://{self.bucket}/out" if self.bucket else remote.place().url

    def options(self, remote: Remote) -> dict[str, Any]:
        if self.changes and remote.name in AZURE:
            text = remote.server.connection_string_through(remote.endpoint_url, **self.changes)
            return {"connection_string": text}
        if remote.name == "strict-gcs":  # by default it believes who says nothing
            remote.server.control.set(anonymous=False)
        changed = {**right(remote), **self.changes}
        return {name: value for name, value in changed.items() if value is not None}


S3 = ("ministack", "seaweedfs", "versitygw")
AZURE = ("gen2", "azurite")
NO_CREDENTIALS = Wrong(
    "no credentials",
    ("no credentials were found", "key= and secret=", "profile=", "AWS_ACCESS_KEY_ID"),
    {"key": None, "secret": None},
    for_workers=True,
    by_command=True,
)
ON_S3 = [
    NO_CREDENTIALS,
    Wrong(
        "wrong key",
        ("does not know the access key", "check key="),
        {"key": "AKIDOESNOTEXIST00000"},
        for_workers=True,
    ),
    Wrong(
        "wrong secret",
        ("signature does not match", "check the secret key"),
        {"secret": "not-the-secret"},
        for_workers=True,
        by_command=True,
    ),
    Wrong(
        "anonymous",
        ("access is denied", "allow s3:PutObject"),
        {"key": None, "secret": None, "anon": "true"},
        known=("access is denied",),
    ),
    Wrong("no such profile", ("no profile of that name", "profile="), {"profile": "none"}),
    Wrong(
        "missing bucket",
        ("no such bucket", "check its name"),
        bucket=NOBODY_THERE,
        by_command=True,
    ),
    Wrong("no URL", ("check endpoint_url=",), {"endpoint_url": "127.0.0.1:9"}),
]
ON_GCS = [
    Wrong("nobody", ("check token=",), {"token": "anon"}, for_workers=True),
    Wrong("missing bucket", ("there is no such bucket",), bucket=NOBODY_THERE, by_command=True),
]
ON_AZURE = [
    Wrong("a key that is none", ("account_key=",), {"account_key": "no key at all"}),
    Wrong(
        "missing container", ("there is no such container; check its name",), bucket=NOBODY_THERE
    ),
]
ON_GEN2 = [
    Wrong(
        "wrong key",
        ("check account_key=",),
        {"account_key": WRONG_KEY},
        for_workers=True,
        by_command=True,
    ),
    *ON_AZURE,
]
ON_AZURITE = [
    # It answers as Azure does where its firewall is the matter.
    Wrong("wrong key", ("check the credentials",), {"account_key": WRONG_KEY}, by_command=True),
    *ON_AZURE,
]
WRONG = [
    *((server, wrong) for server in S3 for wrong in ON_S3),
    *(("strict-gcs", wrong) for wrong in ON_GCS),
    *(("gen2", wrong) for wrong in ON_GEN2),
    *(("azurite", wrong) for wrong in ON_AZURITE),
]


def each(cases: list[tuple[str, Wrong]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("remote", "wrong"), cases, indirect=["remote"], ids=str)


def right(remote: Remote) -> Mapping[str, Any]:
    """Of an account that is checked: ministack believes its root."""
    if remote.name == "ministack":
        options: Mapping[str, Any] = remote.server.storage_options_without()
        return options
    return remote.options


def check_that_nothing_stays(remote: Remote) -> None:
    remote.server.reset()
    settle(remote.place().url, remote.options)
    assert leftovers(remote.place()) == []


@some_tests_by_day(4, everywhere=True)
@each(WRONG)
def test_a_job_and_a_question(remote: Remote, wrong: Wrong) -> None:
    """The same where no probe fails in the job's place: on a server that is known."""
    url, options = wrong.url(remote), wrong.options(remote)
    job, question = asked(url, options)
    say(wrong.words, job)
    fc.explain(remote.place().url, storage_options=right(remote))
    say(wrong.known or wrong.words, job, question)
    check_that_nothing_stays(remote)


@each([(server, wrong) for server, wrong in WRONG if wrong.by_command and server not in S3[1:]])
def test_the_command(remote: Remote, wrong: Wrong, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day,clicks\n1,2\n", "utf-8")
    url, options = wrong.url(remote), wrong.options(remote)
    line = told_by_the_command("write", tmp_path / "a.csv", url, options=options)
    # By its own options: `--storage-option key=…`.
    assert all(words in line.replace("=…", "=") for words in wrong.words), line
    assert not [value for value in wrong.changes.values() if value and value in line]
    check_that_nothing_stays(remote)


@some_tests_by_day(3)
@each([(server, wrong) for server, wrong in WRONG if wrong.for_workers])
def test_a_worker(remote: Remote, wrong: Wrong) -> None:
    """The driver is right, and the worker has other credentials, or none."""
    place, options = remote.place(), right(remote)
    job = fc.Job(place.url, storage_options=options).start()
    worker = wrong.options(remote)
    say(wrong.words, lambda: work(job.spec, worker))
    job.abort()
    check_that_nothing_stays(remote)


@on(*AZURE)
def test_a_signature_that_has_expired(remote: Remote) -> None:
    options = remote.server.storage_options_without(ends_in=-timedelta(hours=1))
    says = ("the shared access signature has expired; renew sas_token=",)
    say(says, *asked(remote.place().url, options))
    check_that_nothing_stays(remote)


@on(*AZURE)
def test_a_signature_is_as_good_as_a_key(remote: Remote) -> None:
    options = remote.server.storage_options_without()
    assert write(remote.place().url, options).file_count == 1


REGION = ("another region", "region_name")
ANSWERS: list[tuple[str, str, Fault, tuple[str, ...]]] = [
    ("ministack", "another region", AnswerInstead(301, "PermanentRedirect"), REGION),
    ("ministack", "a redirection", AnswerInstead(307, "TemporaryRedirect"), REGION),
    (
        *("ministack", "signed for another region"),
        *(AnswerInstead(400, "AuthorizationHeaderMalformed"), REGION),
    ),
    (
        *("ministack", "clock skew"),
        *(AnswerInstead(403, "RequestTimeTooSkewed"), ("clock", "set it right")),
    ),
    ("ministack", "expired", AnswerInstead(400, "ExpiredToken"), ("token has expired", "renew")),
    ("strict-gcs", "expired", GCS.expired, (GCS.says_expired,)),
    ("gen2", "expired", GEN2.expired, (GEN2.says_expired,)),
    ("azurite", "expired", AZURITE.expired, (AZURITE.says_expired,)),
]


def answered(*names: str) -> pytest.MarkDecorator:
    """What a proxy says of these names: none of the servers minds the region."""
    cases = [
        pytest.param(server, fault, words, id=f"{server}-{name}")
        for server, name, fault, words in ANSWERS
        if not names or name in names
    ]
    return pytest.mark.parametrize(("remote", "fault", "words"), cases, indirect=["remote"])


@some_tests_by_day(2, everywhere=True)
@pytest.mark.parametrize("is_known", [False, True], ids=["unknown", "known"])
@answered()
def test_an_answer_to_everything(
    remote: Remote, proxy: FaultProxy, fault: Fault, words: tuple[str, ...], is_known: bool
) -> None:
    place = remote.place(proxy=proxy)
    if is_known:
        learn(place, remote.committer)
    proxy.add(Rule(fault, times=None))
    say(words, *asked(place.url, place.how["storage_options"]))
    proxy.clear()
    check_that_nothing_stays(remote)


@answered("another region", "clock skew", "expired")
def test_an_answer_to_the_command(
    remote: Remote, proxy: FaultProxy, fault: Fault, words: tuple[str, ...]
) -> None:
    place = remote.place(proxy=proxy)
    proxy.add(Rule(fault, times=None))
    line = told_by_the_command("jobs", place.url, options=place.how["storage_options"])
    assert all(word in line for word in words), line


@on("seaweedfs", "versitygw")
def test_a_clock_that_is_wrong_on_s3(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """By how much, these two say; ministack does not mind."""
    from botocore import auth

    fc.explain(remote.url, storage_options=remote.options)
    now = auth.get_current_datetime
    monkeypatch.setattr(auth, "get_current_datetime", lambda **kw: now(**kw) - timedelta(hours=2))
    text = told(lambda: write(remote.url, remote.options))
    assert "this machine's clock is " in text
    assert "the store's (RequestTimeTooSkewed); set it right" in text
    monkeypatch.undo()


@on("gen2")
def test_a_clock_that_is_wrong_on_azure(remote: Remote) -> None:
    remote.server.set_clock(3600)
    text = told(lambda: write(remote.url, remote.options))
    assert "this machine's clock is " in text
    assert "s behind the store's; set it right" in text


@on("ministack", "strict-gcs", "gen2", "azurite")
def test_a_whole_bucket_is_not_overwritten(remote: Remote) -> None:
    url, options = remote.bucket.url, remote.options
    text = told(lambda: write(url, options, mode="overwrite"))
    assert text == f"cannot overwrite '{url}': it is the root of its store"
    assert fc.jobs(url, storage_options=options) == []
    assert write(url, options).file_count == 1


@on("gen2")
@pytest.mark.parametrize("hold", ["legal_hold", "immutable"])
def test_a_container_that_must_stay_as_it_is(remote: Remote, hold: str) -> None:
    remote.server.hold(remote.bucket.name, **{hold: True})
    text = told(lambda: write(remote.url, remote.options))
    assert "could not be deleted; write to a container without" in text
    remote.server.hold(remote.bucket.name)
