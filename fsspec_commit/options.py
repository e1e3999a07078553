"""The options of a job, checked before anything is done."""

import os
import socket
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from fsspec_commit.errors import RequestError
from fsspec_commit.ids import IdSource
from fsspec_commit.names import declared_partition, is_unicode
from fsspec_commit.protocol.publisher import Publisher
from fsspec_commit.records.job import (
    MODES,
    TASKS_MAX,
    Collect,
    CommitterName,
    Durability,
    JobRecord,
    Mode,
    Names,
    Success,
)
from fsspec_commit.selection import REQUESTS
from fsspec_commit.store import Capabilities
from fsspec_commit.suggestions import job_option_hint, value_hint

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from fsspec.callbacks import Callback


class JobOptions(TypedDict, total=False):
    """The keyword arguments of :class:`~fsspec_commit.Job`, and of whatever starts a job.

    Attributes:
        mode: What happens to existing data. ``"error"`` (default) refuses if there is any,
            ``"ignore"`` does nothing then, ``"append"`` adds to it, ``"overwrite"`` replaces all
            of it, ``"overwrite_partitions"`` replaces the partitions written or declared.
        partitions: Directories such as ``"day=2026-11-20"`` that ``overwrite_partitions`` clears
            even if nothing is written there.
        names: ``"unique"`` (default) puts ``-<job>-<task>`` before a name's extension, so that
            tasks and jobs never collide; ``"exact"`` keeps names as given.
        committer: ``"auto"`` (default), or a committer, which is refused where it is unsafe.
        tasks: How many tasks there are: the job commits only if all of tasks 0 to N-1 have
            committed. Without it, the job commits the tasks that have.
        collect: ``"messages"`` (default), or ``"store"`` if no message can travel back from a
            worker; needs *tasks*.
        idempotency_key: At most one job with this key ever commits at this destination.
        success: ``"marker"`` (default) an empty ``_SUCCESS``, ``"json"`` Hadoop's
            ``SuccessData/1``, with which polars reads the directory only by a pattern, such as
            ``"…/**/*.parquet"``; ``"none"`` no marker of its own: one that stands is removed before
            new files appear beside old ones; all modes but ``"overwrite"`` leave one in its place.
            Where a marker cannot be removed (S3 without versioning, flat Azure), it stays; if it
            names files and the job may replace these, it gives way to one that names the new ones.
        allow_empty: Whether a job without files may commit; by default it is refused.
        wait_s: How long to wait for a conflicting job that is committing; 60 by default.
        concurrency: The most calls in flight; by default as many as the store takes.
        write_behind: Whether closing a file of less than 8 MiB, on a store that is reached over a
            network, returns before the file is stored (default): the task's commit waits for it,
            and raises the error if it could not be stored. If not, closing waits, and raises that
            error; and the job's commit waits until its work area is removed, which otherwise
            happens when the commit has returned.
        durability: What data local disks flush: ``"none"`` (default), ``"marker"`` all of it before
            ``_SUCCESS`` appears, ``"full"`` each file when it is closed.
        probe: Whether an unverified endpoint is probed, once (default), or refused.
        single_writer: The promise that only one job at a time writes to this destination.
        delete_by_name: A narrower promise, for servers without conditional delete: nobody else
            replaces old files while this job deletes them.
        storage_options: fsspec's options for the destination; never stored or logged.
        filesystem: An fsspec filesystem, instead of *storage_options*.
        share_secrets: Whether a *pickled* spec carries the options, secrets included.
        callback: An fsspec callback, in the driver only. Its ``set_size`` is called with the number
            of files once the job is decided, and will be committed whatever happens next;
            ``relative_update`` as files are published.
        publisher: Publishes slices of a job with many files once it is decided, alongside its
            driver: an executor of ``concurrent.futures``, ``fc.spark.publisher(spark)``,
            ``fc.dask.publisher(client)``, or anything with a ``map`` (:class:`Publisher`); in the
            driver only, and without effect with ``durability="full"``.
    """

    mode: Mode
    partitions: Sequence[str]
    names: Names
    committer: Literal["auto", "v1", "manifest", "magic"]
    tasks: int | None
    collect: Collect
    idempotency_key: str | None
    success: Success
    allow_empty: bool
    wait_s: float
    concurrency: int | None
    write_behind: bool
    durability: Durability
    probe: bool
    single_writer: bool
    delete_by_name: bool
    storage_options: Mapping[str, object] | None
    filesystem: "AbstractFileSystem | None"
    share_secrets: bool
    callback: "Callback | None"
    publisher: Publisher | None


_CHOICES: dict[str, tuple[str, ...]] = {
    "mode": MODES,
    "names": get_args(Names),
    "committer": REQUESTS,
    "collect": get_args(Collect),
    "success": get_args(Success),
    "durability": get_args(Durability),
}
_FLAGS = (
    *("allow_empty", "delete_by_name", "probe", "share_secrets", "single_writer"),
    "write_behind",
)


def check_options(options: JobOptions) -> None:
    """Refuse options that make no sense, and suggest what may have been meant.

    Raises:
        TypeError: An option is unknown.
        RequestError: A value is wrong, or two options contradict each other.
    """
    given: dict[str, Any] = dict(options)
    for name in given:
        if name not in JobOptions.__annotations__:
            hint = job_option_hint(name, ["destination", *JobOptions.__annotations__])
            raise TypeError(f"a job has no option {name!r}{hint}")
    for name in _CHOICES:
        if name in given:
            check_choice(name, given[name])
    check_flags(**{name: given[name] for name in _FLAGS if name in given})
    _check_numbers(given)
    _check_together(given)


def check_flags(**flags: object) -> None:
    """Refuse whatever only looks like yes or no: ``"no"`` would count as yes, and ``None`` as no.

    Raises:
        RequestError: One of *flags* is neither ``True`` nor ``False``.
    """
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise _invalid(f"{name} is True or False, not {value!r}")


def refuse_positional(options: Sequence[object]) -> None:
    """Refuse options that were given without their names.

    Raises:
        TypeError: An option was given without its name.
    """
    if not options:
        return
    first = options[0]
    is_text = isinstance(first, str)
    named = [name for name, choices in _CHOICES.items() if is_text and first in choices]
    # A value that is not a known choice is not repeated: it may be a secret.
    told = f"write {named[0]}={first!r}" if named else f"the first is a {type(first).__name__}"
    raise TypeError(f"options have names, and {len(options)} came without one: {told}")


def check_choice(name: str, value: object) -> None:
    """Refuse a value that an option does not take, and suggest what may have been meant.

    Raises:
        RequestError: The value is not one of the choices.
    """
    choices = _CHOICES[name]
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        hint = value_hint(name, value, choices)
        raise _invalid(f"{name}={value!r} is none of {listed}{hint}")


def _check_numbers(given: dict[str, Any]) -> None:
    tasks = given.get("tasks")
    if tasks is not None and not (_is_int(tasks) and 0 < tasks < TASKS_MAX):
        raise _invalid(f"tasks={tasks!r} is no count of tasks: at least 1, or leave it out")
    concurrency = given.get("concurrency")
    if concurrency is not None and not (_is_int(concurrency) and concurrency > 0):
        raise _invalid(f"concurrency={concurrency!r} is no count of calls: at least 1, or None")
    wait_s = given.get("wait_s", 60)
    if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) or not wait_s >= 0:
        raise _invalid(f"wait_s={wait_s!r} is no number of seconds")


def _check_together(given: dict[str, Any]) -> None:
    if given.get("collect") == "store" and given.get("tasks") is None:
        message = (
            'collect="store" needs tasks=N: without messages only the count says what is missing'
        )
        raise _invalid(message)
    _check_partitions(given.get("partitions", ()), given.get("mode"))
    key = given.get("idempotency_key")
    if key is not None and not (isinstance(key, str) and key and is_unicode(key)):
        raise _invalid(f"idempotency_key is a text of valid unicode, not empty, and not {key!r}")
    check_publisher(given.get("publisher"))
    callback = given.get("callback")
    if callback is not None and not _is_callback(callback):
        raise _invalid(
            f"callback={callback!r} is no fsspec Callback: it is told by set_size(files) and "
            "relative_update(files), such as fsspec.callbacks.TqdmCallback()"
        )


def _check_partitions(partitions: object, mode: object) -> None:
    if isinstance(partitions, str | os.PathLike):
        raise _invalid(f"partitions is a list of directories, not one: write [{partitions!r}]")
    if isinstance(partitions, Mapping):
        values = ", ".join(f"{name}={value!r}" for name, value in partitions.items())
        one = f"hive_path({values})"
        raise _invalid(f"partitions is a list of directories, not a dict: write [{one}]")
    if not isinstance(partitions, Collection):
        raise _invalid(f"partitions is a list of directories, not {partitions!r}: leave it out")
    if partitions and mode != "overwrite_partitions":
        raise _invalid('partitions=[…] is for mode="overwrite_partitions"')
    for partition in partitions:
        if not isinstance(partition, str):
            message = (
                f"partitions holds {partition!r}, which is no text: a directory is "
                "'day=2026-11-20', or hive_path(day=…)"
            )
            raise _invalid(message)
        if "*" in partition:
            message = (
                f"partitions holds {partition!r}, and no pattern is looked for: name each "
                "directory; a star in a value is written '%2A'"
            )
            raise _invalid(message)
        declared_partition(partition)


def check_publisher(publisher: object) -> None:
    """Refuse what cannot run slices of a job.

    Raises:
        RequestError: It is no publisher.
    """
    is_class = isinstance(publisher, type)
    if publisher is not None and (is_class or not callable(getattr(publisher, "map", None))):
        # It may be the options of a cluster, with its password.
        kind = getattr(publisher if is_class else type(publisher), "__name__", "")
        what = f"the class {kind}" if is_class else f"of type {kind}"
        raise _invalid(
            f"publisher= is {what}, which has no map(function, texts): give an executor, such as "
            "ProcessPoolExecutor(4), fc.spark.publisher(spark) or fc.dask.publisher(client)"
        )
    if hasattr(publisher, "get_executor"):
        raise _invalid(
            "publisher= is a client whose map gives futures, and no answers: for one of Dask, "
            "publisher=fc.dask.publisher(client)"
        )


def _is_callback(thing: object) -> bool:
    is_class = isinstance(thing, type)
    return not is_class and all(hasattr(thing, name) for name in ("set_size", "relative_update"))


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _invalid(message: str) -> RequestError:
    return RequestError(message, kind="invalid_option")


def record_of(
    options: JobOptions,
    destination: str,
    committer: CommitterName,
    capabilities: Capabilities,
    ids: IdSource,
) -> JobRecord:
    """The record ``job.json`` of a new job: every option that others need, but no secret."""
    key = options.get("idempotency_key")
    return JobRecord(
        nonce=ids.nonce(),
        job_id=ids.job_id(),
        destination=destination,
        committer=committer,
        capabilities=capabilities,
        mode=options.get("mode", "error"),
        partitions=tuple(declared_partition(name) for name in options.get("partitions", ())),
        names=options.get("names", "unique"),
        tasks=options.get("tasks"),
        collect=options.get("collect", "messages"),
        key_digest=None if key is None else sha256(key.encode()).hexdigest(),
        success=options.get("success", "marker"),
        allow_empty=options.get("allow_empty", False),
        durability=options.get("durability", "none"),
        single_writer=options.get("single_writer", False),
        delete_by_name=options.get("delete_by_name", False),
        host=socket.gethostname(),
    )
