"""What every group of the committer contract starts from: a destination, written and looked at.

Looking goes past the package: what is visible is what plain fsspec lists.
"""

import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeAlias, Unpack

import pytest
from fsspec import AbstractFileSystem

import fsspec_commit as fc
from fsspec_commit.names import is_never_reused, is_summary_file, is_visible
from fsspec_commit.selection import Request
from fsspec_commit.testing.assertions import (
    assert_committed,
    assert_no_leftovers,
    plain_filesystem,
)
from fsspec_commit.testing.garbage import only_what_comes
from fsspec_commit.testing.sweeps import Sweep, sweep_of

Files: TypeAlias = Mapping[str, bytes]
"""Contents by relative name."""
Shown: TypeAlias = list[tuple[str, bytes]]
"""Names and contents, sorted; several files may share a name, as it was before it became unique."""

_UNIQUE = re.compile(r"-\d{8}T\d{6}-[0-9a-f]{16}-\d+(?:-[0-9a-f]{16})?")

TASKS: tuple[Files, ...] = (
    {"part.txt": b"first", "day=1/part.txt": b"first of day 1"},
    {"part.txt": b"second", "day=2/part.txt": b""},
)
"""What a job of two tasks writes when it does not matter what."""


@dataclass(frozen=True)
class Place:
    """One destination: our jobs at it, and what a reader finds there."""

    url: str
    # pytest shows what a test that fails was given, and options hold secrets.
    storage_options: Mapping[str, object] = field(default_factory=dict, repr=False)
    committer: Request = "auto"

    def beside(self, suffix: str) -> "Place":
        """Another destination, whose URL is this one's with *suffix*."""
        return replace(self, url=self.url + suffix)

    def job(self, **options: Unpack[fc.JobOptions]) -> fc.Job:
        """A job at this destination; skips the test where the store would refuse it."""
        if self.storage_options:
            options["storage_options"] = self.storage_options
        options.setdefault("committer", self.committer)
        if options.get("mode", "error").startswith("overwrite") and not self.may_overwrite():
            pytest.skip("this store does not declare delete_if_match")
        return fc.Job(self.url, **options)

    def commit(
        self, written: Sequence[Files] = TASKS, /, **options: Unpack[fc.JobOptions]
    ) -> fc.CommitResult:
        """Run a whole job, one task for each of *written*."""
        with self.job(**options) as job:
            for files in written:
                with job.task() as task:
                    write(task, files)
        assert job.result is not None
        return job.result

    def task(self, spec: fc.JobSpec, task_id: int) -> fc.Task:
        """An attempt as a worker makes it."""
        return fc.Task.from_spec(spec, task_id, **self.how)

    def attempt(self, spec: fc.JobSpec, task_id: int, files: Files) -> fc.TaskCommit:
        """A whole attempt as a worker makes it."""
        with self.task(spec, task_id) as task:
            write(task, files)
        assert task.message is not None
        return task.message

    def driver(self, spec: fc.JobSpec) -> fc.Job:
        """Another driver of a job, in another process say."""
        return fc.Job.from_spec(fc.JobSpec.from_json(spec.to_json()), **self.how)

    @property
    def how(self) -> dict[str, Any]:
        """The storage options as the operations take them."""
        return {"storage_options": self.storage_options} if self.storage_options else {}

    def put(self, files: Files) -> None:
        """Write files as somebody who knows nothing of jobs."""
        filesystem, root = self._plain()
        for name, data in files.items():
            path = f"{root}/{name}"
            filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
            filesystem.pipe_file(path, data)

    def read(self, name: str) -> bytes:
        """What stands in the file *name*."""
        filesystem, root = self._plain()
        data: bytes = filesystem.cat_file(f"{root}/{name}")
        return data

    def holds(self, name: str) -> bool:
        """Whether there is a file *name*."""
        filesystem, root = self._plain()
        return bool(filesystem.isfile(f"{root}/{name}"))

    def remove(self, name: str) -> None:
        """Remove the file *name* as somebody who knows nothing of jobs."""
        filesystem, root = self._plain()
        filesystem.rm_file(f"{root}/{name}")

    def everything(self) -> dict[str, bytes]:
        """Every file outside of the work areas, by name."""
        filesystem, root = self._plain()
        return {
            path[len(root) + 1 :]: filesystem.cat_file(path)
            for path in filesystem.find(root)
            # An empty directory is a file to fsspec where a server shows it as an object.
            if path != root and not path.startswith(f"{root}/_commit/")
        }

    def visible(self) -> Shown:
        """What a reader that lists the directory takes for data."""
        return shown(
            {
                name: data
                for name, data in self.everything().items()
                if not re.search(r"(?:^|/)[_.]", name)
            }
        )

    def is_half_way(self) -> bool:
        """Whether a job is decided and not finished, so that a reader may see a part of it."""
        return any(job.state in {"decided", "published"} for job in fc.jobs(self.url, **self.how))

    def assert_committed(self, *tasks: Files, marker: bool = True) -> None:
        """Exactly the files of *tasks* are visible, and nothing else is left."""
        assert self.visible() == shown(*tasks)
        assert_committed(self.url, marker=marker, **self.how)
        assert_no_leftovers(self.url, **self.how)

    def assert_untouched(self, *old: Files) -> None:
        """Exactly the files of *old* are visible, no job stands, and nothing is left of one."""
        assert self.visible() == shown(*old)
        assert fc.jobs(self.url, **self.how) == []
        assert_no_leftovers(self.url, **self.how)

    def clean(self) -> None:
        """Remove what dead attempts and drivers have left."""
        fc.clean(self.url, older_than=timedelta(0), dry_run=False, **self.how)

    def takes_exact_names(self) -> bool:
        """Whether `names="exact"` is safe on this store."""
        selection = self.selection()
        return selection.committer != "magic" or selection.capabilities.upload_keyed_by != "path"

    def adopts(self) -> bool:
        """Whether a job here can adopt what another program has written."""
        selection = self.selection()
        keyed_by = selection.capabilities.upload_keyed_by
        return selection.committer != "magic" or keyed_by == "upload_id"

    def replaces_any_name(self) -> bool:
        """Whether `overwrite` is safe on this store whatever old files are called."""
        return self.deletes_late_at_worst() or bool(self.selection().capabilities.delete_if_match)

    def deletes_late_at_worst(self) -> bool:
        """Whether a delete request that is carried out late removes the listed file or none."""
        selection = self.selection()
        facts = selection.capabilities
        knows_again = facts.token_survives_rename is True and facts.unique_tokens is not False
        return (
            selection.committer == "v1"
            or (selection.committer == "manifest" and knows_again)
            or bool(facts.unique_tokens and facts.delete_if_match)
        )

    def selection(self) -> fc.Selection:
        """What a job here is bound to."""
        return fc.explain(self.url, committer=self.committer, **self.how)

    def may_overwrite(self) -> bool:
        """Whether an overwrite is safe, given the old files that are there."""
        goes = [name for name in self.everything() if is_visible(name) or is_summary_file(name)]
        return all(map(is_never_reused, goes)) or self.replaces_any_name()

    def _plain(self) -> tuple[AbstractFileSystem, str]:
        return plain_filesystem(self.url, self.storage_options)


class Given:
    """The fixtures a subclass gives, and those it gets."""

    @pytest.fixture
    def destination(self) -> str:
        """The URL of a destination that does not exist yet: give this one."""
        raise NotImplementedError("give a fixture 'destination': the URL of a fresh destination")

    @pytest.fixture
    def storage_options(self) -> Mapping[str, object]:
        """Options that fsspec needs for the store, none by default."""
        return {}

    @pytest.fixture
    def committer(self) -> Request:
        """The committer to be tried where several are safe, the best by default."""
        return "auto"

    @pytest.fixture
    def every(self) -> int:
        """Faults are tried at every Nth call; at each by default.

        For stores on which a job takes long. Use an odd number: with an even one, a test would try
        all of them before a call, or all after it. At its end the run reports the ``--sweep-seed``
        that chooses the same calls again.
        """
        return 1

    @pytest.fixture
    def sweep(self, request: pytest.FixtureRequest, every: int) -> Iterator[Sweep]:
        """Chooses the calls at which faults are tried."""
        yield from sweep_of(request, every)

    @pytest.fixture
    def place(
        self, destination: str, storage_options: Mapping[str, object], committer: Request
    ) -> Place:
        """The destination, to write at and to look at."""
        return Place(destination, storage_options, committer)

    @pytest.fixture(autouse=True)
    def no_job_outlives_its_test(self) -> Iterator[None]:
        """Jobs that a test gives up are garbage-collected in it, with the warning they are due."""
        with only_what_comes():
            yield
            gc.collect()


def shown(*files: Files) -> Shown:
    """*files* as a reader sees them, without what was put into their names to make them unique."""
    return sorted((_UNIQUE.sub("", name), data) for some in files for name, data in some.items())


def write(task: fc.Task, files: Files) -> None:
    """Write *files* through *task*."""
    for name, data in files.items():
        with task.open(name) as file:
            file.write(data)


@contextmanager
def request_refused(
    kind: str, outcome: str = "not_committed"
) -> Iterator[pytest.ExceptionInfo[fc.RequestError]]:
    """Expect a request to be refused for this reason, before anything was touched."""
    with pytest.raises(fc.RequestError) as caught:
        yield caught
    assert caught.value.kind == kind, f"{caught.value.kind}: {caught.value}"
    assert caught.value.outcome == outcome


@contextmanager
def raises(
    error: type[fc.CommitError], outcome: str
) -> Iterator[pytest.ExceptionInfo[fc.CommitError]]:
    """Expect *error*, and that it says this *outcome*."""
    with pytest.raises(error) as caught:
        yield caught
    assert caught.value.outcome == outcome, f"{caught.value.outcome}: {caught.value}"
