"""What users of S3 meet before anything works: one sentence that says what to check, soon.

Whatever was begun by then, `clean` and `resume` remove with credentials that are right.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.integration.s3_users import (
    leftovers,
    settle,
    soon,
    told,
    told_by_the_command,
    write,
)
from tests.servers.faults import AnswerInstead, Rule
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy
    from tests.servers.server import Server

on_ministack = pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)


@dataclass(frozen=True)
class Mistake:
    """What is wrong with the options, and the words that say what to check.

    Attributes:
        changes: Options that are other than they should be; ``None`` leaves one out.
        words: All of them are in the sentence.
        bucket: The bucket, where that is what is wrong.
    """

    changes: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    bucket: str | None = None

    def url(self, bucket: S3Bucket) -> str:
        return f"s3://{self.bucket or bucket.name}/out"

    def options(self, right: Mapping[str, Any]) -> dict[str, Any]:
        changed = {**right, **self.changes}
        return {name: value for name, value in changed.items() if value is not None}


MISTAKES = {
    "no credentials": Mistake(
        {"key": None, "secret": None},
        ("no credentials were found", "key= and secret=", "profile=", "AWS_ACCESS_KEY_ID"),
    ),
    "wrong key": Mistake(
        {"key": "AKIDOESNOTEXIST00000"}, ("does not know the access key", "check key=")
    ),
    "wrong secret": Mistake(
        {"secret": "not-the-secret"}, ("signature does not match", "check the secret key")
    ),
    "anonymous": Mistake(
        {"key": None, "secret": None, "anon": "true"}, ("access is denied", "allow s3:PutObject")
    ),
    "no such profile": Mistake(
        {"key": None, "secret": None, "profile": "none"}, ("no profile of that name", "profile=")
    ),
    "missing bucket": Mistake(
        bucket="no-such-bucket-of-the-tests", words=("no such bucket", "check its name")
    ),
    "no URL": Mistake({"endpoint_url": "127.0.0.1:9"}, ("check endpoint_url=",)),
}


@some_tests_by_day(4)
class TestFromTheBeginning:
    @pytest.fixture
    def right(self, s3_server: Server) -> dict[str, Any]:
        """An account that is checked: ministack believes its root."""
        if s3_server.name == "ministack":
            return s3_server.storage_options_without()
        return s3_server.storage_options

    @pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
    def test_the_api(self, mistake: Mistake, s3_bucket: S3Bucket, right: dict[str, Any]) -> None:
        url, options = mistake.url(s3_bucket), mistake.options(right)
        text = told(lambda: write(url, options))
        assert all(words in text for words in mistake.words), text
        # On a server that is known no probe fails in the job's place.
        fc.explain(f"{s3_bucket.url}/out", storage_options=right)
        words = ("access is denied",) if options.get("anon") else mistake.words
        for call in (
            lambda: write(url, options),
            lambda: fc.jobs(url, storage_options=options),
        ):
            text = told(call)
            assert all(word in text for word in words), text
        settle(f"{s3_bucket.url}/out", right)
        assert leftovers(s3_bucket) == []

    @on_ministack
    @pytest.mark.parametrize("name", ["no credentials", "wrong secret", "missing bucket"])
    def test_the_command(
        self, name: str, s3_bucket: S3Bucket, right: dict[str, Any], tmp_path: Path
    ) -> None:
        (tmp_path / "a.csv").write_text("day,clicks\n1,2\n", "utf-8")
        mistake = MISTAKES[name]
        url, options = mistake.url(s3_bucket), mistake.options(right)
        line = told_by_the_command("write", tmp_path / "a.csv", url, options=options)
        # By its own options: `--storage-option key=…`.
        assert all(words in line.replace("=…", "=") for words in mistake.words), line
        settle(f"{s3_bucket.url}/out", right)
        assert leftovers(s3_bucket) == []


@some_tests_by_day(3)
@pytest.mark.parametrize("mistake", ["no credentials", "wrong key", "wrong secret"])
def test_a_worker(mistake: str, s3_bucket: S3Bucket) -> None:
    """The driver is right, and the worker has other credentials, or none."""
    url, server = f"{s3_bucket.url}/out", s3_bucket.server
    ministack = server.name == "ministack"
    right = server.storage_options_without() if ministack else server.storage_options
    wrong = MISTAKES[mistake].options(right)
    job = fc.Job(url, storage_options=right).start()

    def work() -> None:
        with (
            fc.Task.from_spec(job.spec, 0, storage_options=wrong) as task,
            task.open("part.csv", "w") as file,
        ):
            file.write("1\n")

    text = told(work)
    assert all(words in text for words in MISTAKES[mistake].words), text
    job.abort()
    settle(url, right)
    assert leftovers(s3_bucket) == []


@contextmanager
def nobody() -> Iterator[tuple[str, list[socket.socket]]]:
    """An endpoint that takes connections and says nothing, and the connections."""
    taken: list[socket.socket] = []

    def take() -> None:
        while True:
            try:
                taken.append(listener.accept()[0])
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", taken
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    for connection in taken:
        connection.close()


@pytest.mark.usefixtures("s3_environment")
class TestNobodyThere:
    ACCOUNT: Mapping[str, Any] = {"key": "K", "secret": "S"}

    def closed(self) -> str:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return f"http://127.0.0.1:{listener.getsockname()[1]}"

    def test_a_closed_port(self) -> None:
        endpoint = self.closed()
        options = {**self.ACCOUNT, "endpoint_url": endpoint}
        for call in (
            lambda: write("s3://bucket/out", options),
            lambda: fc.jobs("s3://bucket/out", storage_options=options),
        ):
            text = told(call)
            assert f"{endpoint} cannot be reached; check endpoint_url=, the network" in text

    def test_a_closed_port_by_the_command(self) -> None:
        endpoint = self.closed()
        options = {**self.ACCOUNT, "endpoint_url": endpoint}
        line = told_by_the_command("jobs", "s3://bucket/out", options=options)
        assert f"{endpoint} cannot be reached; check endpoint_url=, the network" in line

    def test_a_port_that_never_answers(self) -> None:
        """One wait of botocore's, whatever was to be done: nobody waits for a second one."""
        with nobody() as (endpoint, connections):
            options = {
                **self.ACCOUNT,
                "endpoint_url": endpoint,
                "config_kwargs": {"read_timeout": 0.3},
            }
            for asked, call in enumerate(
                (
                    lambda: write("s3://bucket/out", options),
                    lambda: fc.jobs("s3://bucket/out", storage_options=options),
                ),
                1,
            ):
                text = told(call)
                assert f"{endpoint} did not answer in time; check it" in text
                assert len(connections) == asked

    @on_ministack
    def test_a_worker_whose_endpoint_never_answers(self, s3_bucket: S3Bucket) -> None:
        job = fc.Job(f"{s3_bucket.url}/out", storage_options=s3_bucket.storage_options).start()
        with nobody() as (endpoint, connections):
            options = {
                **self.ACCOUNT,
                "endpoint_url": endpoint,
                "config_kwargs": {"read_timeout": 0.3},
            }

            def work() -> None:
                with (
                    fc.Task.from_spec(job.spec, 0, storage_options=options) as task,
                    task.open("part.csv", "w") as file,
                ):
                    file.write("1\n")

            with pytest.raises(fc.CommitError) as caught:
                soon(work)
            assert f"{endpoint} did not answer in time; check it" in str(caught.value)
            assert len(connections) == 1
        job.abort()

    @pytest.mark.slow
    def test_a_port_that_never_answers_as_users_have_it(self) -> None:
        """s3fs waits 15 seconds for an answer."""
        with nobody() as (endpoint, connections):
            options = {**self.ACCOUNT, "endpoint_url": endpoint}
            line = told_by_the_command("jobs", "s3://bucket/out", options=options)
            assert f"{endpoint} did not answer in time; check it" in line
            assert len(connections) == 1


ANSWERS = {
    "another region": (AnswerInstead(301, "PermanentRedirect"), ("another region", "region_name")),
    "a redirection": (AnswerInstead(307, "TemporaryRedirect"), ("another region", "region_name")),
    "signed for another region": (
        AnswerInstead(400, "AuthorizationHeaderMalformed"),
        ("another region", "region_name"),
    ),
    "clock skew": (AnswerInstead(403, "RequestTimeTooSkewed"), ("clock", "set it right")),
    "expired": (AnswerInstead(400, "ExpiredToken"), ("token has expired", "renew")),
}


@on_ministack
class TestAnsweredSo:
    """Said by the proxy: none of the servers minds the region."""

    @pytest.fixture
    def options(self, s3_server: Server, s3_proxy: FaultProxy) -> dict[str, Any]:
        return s3_server.storage_options_through(s3_proxy.endpoint_url)

    @pytest.mark.parametrize("is_known", [False, True], ids=["unknown", "known"])
    @pytest.mark.parametrize("answer", ANSWERS)
    def test_a_job(
        self,
        answer: str,
        is_known: bool,
        s3_bucket: S3Bucket,
        s3_proxy: FaultProxy,
        options: dict[str, Any],
    ) -> None:
        url = f"{s3_bucket.url}/out"
        fault, words = ANSWERS[answer]
        if is_known:
            fc.explain(url, storage_options=options)
        s3_proxy.add(Rule(fault, times=None))
        text = told(lambda: write(url, options))
        assert all(word in text for word in words), text
        text = told(lambda: fc.jobs(url, storage_options=options))
        assert all(word in text for word in words), text
        s3_proxy.clear()
        settle(url, options)
        assert leftovers(s3_bucket) == []

    @pytest.mark.parametrize("answer", ["another region", "clock skew"])
    def test_the_command(
        self, answer: str, s3_bucket: S3Bucket, s3_proxy: FaultProxy, options: dict[str, Any]
    ) -> None:
        fault, words = ANSWERS[answer]
        s3_proxy.add(Rule(fault, times=None))
        line = told_by_the_command("jobs", f"{s3_bucket.url}/out", options=options)
        assert all(word in line for word in words), line


@pytest.mark.parametrize("s3_server", ["seaweedfs", "versitygw"], indirect=True)
def test_a_clock_that_is_wrong(s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """By how much, these two say; ministack does not mind."""
    from botocore import auth

    url = f"{s3_bucket.url}/out"
    right = auth.get_current_datetime
    fc.explain(url, storage_options=s3_bucket.storage_options)
    monkeypatch.setattr(auth, "get_current_datetime", lambda **kw: right(**kw) - timedelta(hours=2))
    text = told(lambda: write(url, s3_bucket.storage_options))
    assert "this machine's clock is " in text
    assert "the store's (RequestTimeTooSkewed); set it right" in text
    monkeypatch.undo()


@on_ministack
def test_a_whole_bucket_is_not_overwritten(s3_bucket: S3Bucket) -> None:
    text = told(lambda: write(s3_bucket.url, s3_bucket.storage_options, mode="overwrite"))
    assert text == f"cannot overwrite '{s3_bucket.url}': it is the root of its store"
    assert leftovers(s3_bucket) == []
    assert write(s3_bucket.url, s3_bucket.storage_options).file_count == 1
