"""What must hold at a destination, by plain Python over plain bytes: the product is not used.

A *snapshot* is every file of a destination by its relative name. What a job should have done to
one is said by :func:`model`, a dozen lines; what may be there while a job is under way, by
:func:`check_under_way`; what must be there when it is settled, by :func:`check_settled`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

Snapshot: TypeAlias = Mapping[str, bytes]

AREA = "_commit/"
JOB_ID = r"\d{8}T\d{6}-[0-9a-f]{16}"
_UNIQUE = re.compile(rf"-{JOB_ID}-(\d+)(?:-[0-9a-f]{{16}})?(?=(?:\.\w+)*$)")
_MAY_STAY = re.compile(
    rf"_commit/(?:epoch-[0-9a-f]{{32}}|done/[0-9a-f]{{64}}|lost/{JOB_ID}"
    r"|deleted-[0-9]{8}T[0-9]{6}-[0-9a-f]{32}/(?:[0-9a-f]{16}){1,15})"
)
_RECORD = re.compile(rf"_commit/({JOB_ID})/(job\.json|decision|published)")
_REMAINS = re.compile(r"_commit/gone-[0-9a-f]{32}/.*")
_UNFINISHED = re.compile(rf"_commit/{JOB_ID}/\.fsspec-commit-[0-9a-f]{{32}}\.tmp")


def snapshot_of(directory: str | os.PathLike[str]) -> dict[str, bytes]:
    """Every file below a local directory; what goes away meanwhile is left out."""
    found: dict[str, bytes] = {}
    for place, _, names in os.walk(directory):
        for name in names:
            path = Path(place, name)
            with suppress(FileNotFoundError):
                found[path.relative_to(directory).as_posix()] = path.read_bytes()
    return found


def directories_of(directory: str | os.PathLike[str]) -> set[str]:
    """Every directory below a local one."""
    return {
        Path(place, name).relative_to(directory).as_posix()
        for place, names, _ in os.walk(directory)
        for name in names
    }


def is_visible(name: str) -> bool:
    return not any(part.startswith(("_", ".")) for part in name.split("/"))


def visible(snapshot: Snapshot) -> dict[str, bytes]:
    """What a reader takes for data, under names without a job's id: ``a.txt`` of task 0 is
    ``a@0.txt``, so that two runs of one job compare.
    """
    return {_UNIQUE.sub(r"@\1", name): data for name, data in raw_visible(snapshot).items()}


def raw_visible(snapshot: Snapshot) -> dict[str, bytes]:
    """The same under the names that stand there."""
    return {name: data for name, data in snapshot.items() if is_visible(name)}


def job_ids(snapshot: Snapshot) -> list[str]:
    """Every job that has a ``job.json``: those that are not over."""
    found = (_RECORD.fullmatch(name) for name in snapshot)
    return sorted({match[1] for match in found if match and match[2] == "job.json"})


def is_bare(snapshot: Snapshot, job_id: str) -> bool:
    """Whether a job has nothing but its ``job.json``, as one that was created too late has.

    Its id is spent: whoever asked for it was not answered, and began under another one.
    """
    area = f"{AREA}{job_id}/"
    return [name for name in snapshot if name.startswith(area)] == [f"{area}job.json"]


def state_of(snapshot: Snapshot, job_id: str) -> str:
    """``over``, ``undecided``, ``aborted``, ``decided`` or ``published``."""
    area = f"{AREA}{job_id}/"
    if area + "job.json" not in snapshot:
        return "over"
    if area + "decision" not in snapshot:
        return "undecided"
    decided = json.loads(snapshot[area + "decision"])["state"]
    if decided == "aborted":
        return "aborted"
    return "published" if area + "published" in snapshot else "decided"


def model(
    old: Snapshot, new: Snapshot, mode: str, declared: Collection[str] = ()
) -> dict[str, bytes]:
    """The visible files after a job of *mode* with the files *new* came over *old*."""
    written = {name.rpartition("/")[0] for name in new}
    kept = {}
    for name, data in old.items():
        directory = name.rpartition("/")[0]
        goes = mode == "overwrite" or (
            mode == "overwrite_partitions"
            and (
                directory in written
                or any(f"{directory}/".startswith(f"{part}/") for part in declared)
            )
        )
        if not goes:
            kept[name] = data
    return {**kept, **new}


def check_under_way(
    snapshot: Snapshot,
    *,
    old: Snapshot,
    new: Snapshot,
    mode: str,
    declared: Collection[str] = (),
    spent_ids: bool = False,
) -> str:
    """Check what a reader may find while one job is under way or dead; return the job's state.

    *old* and *new* are visible files, as :func:`visible` names them. With *spent_ids* the job may
    have left ids behind under which it could not begin: see :func:`is_bare`.
    """
    shown_ids = [one for one in job_ids(snapshot) if not (spent_ids and is_bare(snapshot, one))]
    (job_id,) = shown_ids or [""]
    state = state_of(snapshot, job_id) if job_id else "over"
    shown = visible(snapshot)
    after = model(old, new, mode, declared)
    if state in {"undecided", "aborted"}:
        _same(shown, old, f"P5: {state}, so nothing of the job may be visible")
    elif state == "decided":
        for name, data in old.items():
            replaced = name in new and shown.get(name) == new[name]
            if not replaced and shown.get(name) != data:
                raise AssertionError(f"P9: {name!r} is gone before every new file is in place")
        _within(shown, [old, new], "P2: decided")
    elif state == "published":
        _same({**shown, **new}, shown, "P1: published, so every new file is in place")
        _same({**shown, **after}, shown, "P9: published, and a file that was to stay is gone")
        _within(shown, [old, after], "P2: published")
    elif shown not in (old, after):
        raise AssertionError(f"P1 P2: over, with neither nothing nor all: {_shown(shown)}")
    return state


def check_settled(
    snapshot: Snapshot,
    directories: Iterable[str] = (),
    *,
    expected: Snapshot,
    marker: bool | None = None,
) -> None:
    """Check that exactly *expected* is visible and that nothing is left of any job."""
    _same(visible(snapshot), expected, "P1 P2: settled")
    left = [
        name
        for name, data in snapshot.items()
        if name.startswith(AREA) and (data or not _MAY_STAY.fullmatch(name))
    ]
    left += [name for name in directories if name.startswith(AREA) and name != "_commit/done"]
    if left:
        raise AssertionError(f"P5 P6: left of a settled job: {sorted(left)}")
    if marker is not None and ("_SUCCESS" in snapshot) is not marker:
        raise AssertionError(f"_SUCCESS is {'missing' if marker else 'there'}")


def is_only_remains(snapshot: Snapshot) -> bool:
    """Whether all that is left of jobs is what ``clean`` deletes.

    Areas renamed away, and on HDFS the first record of a job, which has not got its name yet.
    """
    return all(
        _MAY_STAY.fullmatch(name) or _REMAINS.fullmatch(name) or _UNFINISHED.fullmatch(name)
        for name in snapshot
        if name.startswith(AREA)
    )


def _within(shown: Snapshot, allowed: list[Snapshot], why: str) -> None:
    for name, data in shown.items():
        if not any(one.get(name) == data for one in allowed):
            raise AssertionError(f"{why}: {name!r} with {data[:60]!r} belongs to nobody")


def _same(shown: Snapshot, expected: Snapshot, why: str) -> None:
    if dict(shown) != dict(expected):
        missing = {name: data for name, data in expected.items() if shown.get(name) != data}
        surplus = {name: data for name, data in shown.items() if expected.get(name) != data}
        raise AssertionError(f"{why}: missing {_shown(missing)}; instead {_shown(surplus)}")


def _shown(files: Snapshot) -> str:
    return ", ".join(f"{name!r}: {data[:40]!r}" for name, data in sorted(files.items())) or "none"


def check_told(told: str, state: str, *, happened: bool) -> None:
    """What a driver was told of its job is true."""
    true: dict[str, bool] = {
        "nothing": True,
        "unknown": True,
        "not_committed": not happened,
        "partial": happened,
        "committed": happened,
        "done": happened and state in {"published", "over"},
    }
    assert true[told], f"the driver was told {told!r}, and the job is {state}"
