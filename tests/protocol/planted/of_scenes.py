"""Planted bugs that only the scenes beside plain jobs show, each with the run that shows it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fsspec_commit.committers.magic import MagicAttempt
from fsspec_commit.effects.removal import TrashRemoval
from fsspec_commit.effects.retirement import RetiringInOrder, nothing
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.protocol import (
    bound_job,
    clean,
    commit,
    job_state,
    marker_uploads,
    old_partitions,
    publish,
    replaced,
)
from fsspec_commit.protocol.job_records import standing_decision
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.sign_of_life import SignOfLife
from fsspec_commit.store import Expect
from fsspec_commit.sync.progress import ProgressReport
from fsspec_commit.testing.simulation import (
    AttemptPlan,
    CleanerPlan,
    FaultAt,
    ForeignPlan,
    HelperPlan,
    JobPlan,
    Plan,
)

if TYPE_CHECKING:
    import pytest


def takes_hidden_names_for_unique(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NewFiles, "may_meet_others", property(lambda _: False))


ONE_HIDDEN_NAME = Plan(
    family="gcs",
    jobs=tuple(
        JobPlan(name=name, mode="append", files=(("_notes",),), at_s=at_s)
        for name, at_s in (("a", 0.0), ("b", 20.0))
    ),
)


def uploads_hidden_names_by_path(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(bound_job, "is_named_with", lambda *_: True)


TWO_UPLOADS_OF_ONE_PATH = Plan(
    family="azure-flat",
    jobs=(
        JobPlan(name="a", mode="overwrite", files=(("_notes",),)),
        JobPlan(
            name="b",
            mode="overwrite",
            files=(("_notes",), ("b.txt",)),
            attempts=(AttemptPlan(task=0), AttemptPlan(task=1, pause_s=20)),
        ),
    ),
)


def mixes_two_spellings(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(old_partitions._Walk, "_refuse_spelled_twice", lambda _: None)


TWO_SPELLINGS = Plan(
    family="disk",
    old=("day=1/old.txt",),
    jobs=(JobPlan(name="a", mode="overwrite_partitions", files=(("day=%31/a.txt",),)),),
)


def adopts_without_a_record(patch: pytest.MonkeyPatch) -> None:
    async def record(*_: Any) -> None:
        """Forget it."""

    patch.setattr(MagicAttempt, "_record", record)


ADOPTED_BUT_NOT_CHOSEN = Plan(
    family="minio",
    jobs=(
        JobPlan(
            name="a",
            mode="append",
            attempts=(AttemptPlan(task=0), AttemptPlan(task=0, adopted=True)),
            patience_s=0.0,
            then="abort",
        ),
    ),
)


def lets_a_callback_decide(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProgressReport, "_tell", lambda self, what: what(self._callback))


FAILING_CALLBACK = Plan(family="s3", jobs=(JobPlan(name="a", mode="append", callback="raises"),))
EXITING_CALLBACK = Plan(family="s3", jobs=(JobPlan(name="a", mode="append", callback="exits"),))


def leaves_its_heart_beating(patch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C in a commit that takes long, its sign of life is renewed for ever."""
    real = SignOfLife.end

    async def end(self: SignOfLife) -> None:
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            await real(self)

    patch.setattr(SignOfLife, "end", end)


INTERRUPTED = Plan(
    family="gcs",
    old=("old.txt",),
    jobs=(JobPlan(name="a", mode="overwrite", then="abort"),),
    faults=(
        FaultAt("a.driver", 1, "hang", verb="list_tree"),
        FaultAt("a.driver", 4, "interrupt", verb="create"),
    ),
)


def says_published_before_it_resumes(patch: pytest.MonkeyPatch) -> None:
    """Whoever resumes next would take it at its word."""
    real = publish.publish_files

    async def publish_files(job: Any, *what: Any, resuming: bool, **how: Any) -> None:
        if resuming:
            decision = await standing_decision(job.store, job.layout)
            assert decision is not None
            await publish.say_published(job, decision, 0)
        await real(job, *what, resuming=resuming, **how)

    patch.setattr(commit, "publish_files", publish_files)


RESUMED_TWICE = Plan(
    family="gcs",
    jobs=(
        JobPlan(
            name="a",
            mode="append",
            files=(("a.txt", "b.txt"),),
            helpers=(HelperPlan(kind="resumer", at_s=20), HelperPlan(kind="resumer", at_s=40)),
        ),
    ),
    faults=(
        FaultAt("a.driver", 1, "crash_before", verb="rename"),
        FaultAt("a.resumer0", 1, "crash_after", verb="create"),
    ),
)


def keeps_what_the_trash_took(patch: pytest.MonkeyPatch) -> None:
    async def put_back(*_: Any) -> bool:
        return True

    patch.setattr(TrashRemoval, "_put_back", put_back)


MEDDLER = Plan(
    family="disk",
    old=("old.txt",),
    jobs=(JobPlan(name="a", mode="overwrite"),),
    foreign=(ForeignPlan(name="old.txt", at_s=10),),
    faults=(FaultAt("a.driver", 2, "halt", 20.0, "rename"),),
)


def shares_a_work_area(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        DestinationLayout,
        "areas",
        property(lambda self: StorePath(f"{self.root.rpartition('/')[0]}/_commit")),
    )


NEIGHBOURS = Plan(
    family="s3",
    jobs=(JobPlan(name="a", mode="append"), JobPlan(name="n", mode="append", at="out2")),
)


def looks_for_no_destination_inside(patch: pytest.MonkeyPatch) -> None:
    async def refuse_nested(*_: Any) -> None:
        """Believe the walk."""

    patch.setattr(replaced, "refuse_nested", refuse_nested)


INSIDE = Plan(
    family="disk",
    jobs=(
        JobPlan(name="n", mode="append", at="out/inner"),
        JobPlan(name="a", mode="overwrite", at_s=1, then="abort"),
    ),
    faults=(
        FaultAt("n.driver", 5, "halt", 5.0, "create"),
        FaultAt("a.driver", 4, "halt", 20.0, "list_tree"),
    ),
)


def aborts_markers_that_may_be_decided(patch: pytest.MonkeyPatch) -> None:
    """What no record names yet is its job's all the same."""
    patch.setattr(marker_uploads, "_CAN_DECIDE", set())


SLOW_TO_RECORD = Plan(
    family="s3",
    jobs=(JobPlan(name="a", mode="append", skew_s=400.0),),
    cleaners=(CleanerPlan(at_s=20, older_than_s=10),),
    faults=(
        FaultAt("a.driver", 1, "halt_after", 30.0, "start"),
        FaultAt("a.driver", 1, "halt", 100.0, "complete"),
        FaultAt("cleaner0", 1, "halt", 60.0, "abort"),
    ),
)


def leaves_markers_that_nobody_knows(patch: pytest.MonkeyPatch) -> None:
    async def abandoned_markers(*_: Any) -> list[Any]:
        return []

    patch.setattr(clean, "abandoned_markers", abandoned_markers)


NEVER_TOLD = Plan(
    family="s3",
    jobs=(JobPlan(name="a", mode="append"),),
    faults=(FaultAt("a.driver", 1, "error_but_applied", verb="start"),),
)


def leaves_probes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DestinationLayout, "is_probe", lambda *_: False)


def removes_what_it_cannot_read(patch: pytest.MonkeyPatch) -> None:
    """Of a later version, say."""
    real = job_state.read_state

    async def read_state(store: Any, layout: Any) -> Any:
        state = await real(store, layout)
        if state.state == "damaged":
            await store._store.delete_tree(layout.area)
        return state

    patch.setattr(clean, "read_state", read_state)


def left_over(*names: str) -> Plan:
    """An append beside what others have left."""
    return Plan(family="gcs", jobs=(JobPlan(name="a", mode="append"),), leftovers=names)


def removes_published_first(patch: pytest.MonkeyPatch) -> None:
    """And leaves the manifests: a late decision finds a job that looks damaged."""

    async def retire(self: Any, layout: Any, *_: Any, **__: Any) -> Any:
        for path in (layout.spec, layout.decision, layout.published):
            await self._store._store.delete(path, expecting=Expect.ANYTHING)
        return nothing

    patch.setattr(RetiringInOrder, "retire", retire)


DECISION_TOO_LATE = Plan(
    family="s3",
    jobs=(JobPlan(name="a", mode="append"),),
    foreign=(ForeignPlan(name="foreign.txt", at_s=400),),
    faults=(FaultAt("a.driver", 4, "applied_late", 300.0, "create"),),
)
