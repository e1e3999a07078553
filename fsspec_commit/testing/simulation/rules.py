"""What the modes mean, said once more: the model shares no code with the library."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from fsspec_commit.testing.simulation.plan import JobPlan

JOB_ID = r"\d{8}T\d{6}-[0-9a-f]{16}"
_UNIQUE = re.compile(rf"-{JOB_ID}-\d+(?:-[0-9a-f]{{16}})?(?=(?:\.\w+)*$)", flags=re.IGNORECASE)
_OVERWRITES = {"overwrite", "overwrite_partitions"}
_SUMMARIES = {"_metadata", "_common_metadata"}


def content(name: str, *whose: str) -> bytes:
    """What a file holds: its name and *whose* it is; nothing if its name contains "empty"."""
    return b"" if "empty" in name else " ".join((name, *whose)).encode()


def is_visible(name: str) -> bool:
    """Whether a reader takes a file for data."""
    return not name.startswith(("_", ".")) and "/_" not in name and "/." not in name


def is_of_a_job(path: str) -> bool:
    """Whether a file is named after a job."""
    return _UNIQUE.search(path) is not None


def without_ids(name: str) -> str:
    """A name without the ids of its job and attempt."""
    return _UNIQUE.sub("", name)


def final_name(name: str, plan: JobPlan, *ids: str) -> str:
    """What a file is called at the destination; *ids* are those that make its name unique.

    Exact names are kept, and hidden ones. In the others the ids stand before the extension.
    """
    directory, slash, file_name = name.rpartition("/")
    if plan.names == "exact" or file_name.startswith(("_", ".")):
        return name
    stem, dot, extension = file_name.partition(".")
    return f"{directory}{slash}{'-'.join((stem, *ids))}{dot}{extension}"


def out_of_turn(
    plan: JobPlan,
    new: Mapping[str, bytes],
    there: Mapping[str, bytes],
    foreign: Iterable[str],
    are_alike: Callable[[str, str], bool],
) -> Iterator[str]:
    """What a job with *new* files may not do where *there* are others: it should be refused.

    The *foreign* files may have been seen or not. A new directory and another are alike, by
    *are_alike*, if readers take them for one value.
    """
    if plan.mode in {"error", "ignore"} and any(map(is_visible, there)):
        yield f"write beside data, mode={plan.mode}"
    taken = sorted(new.keys() & there.keys())
    if plan.mode not in _OVERWRITES and taken:
        yield f"add {taken}, which are taken"
    staying = (path for path in there if not replaces(plan, new, path))
    before = (*there, *foreign)
    twice = _second_spellings(new, before, staying, are_alike, declared=plan.partitions)
    if plan.mode == "overwrite_partitions" and twice:
        yield f"write {twice} beside other rows of the same value"


def replaces(plan: JobPlan, new: Mapping[str, bytes], path: str) -> bool:
    """Whether a job replaces the old file *path*; of hidden ones, summaries and those it writes."""
    if plan.mode not in _OVERWRITES:
        return False
    directory, _, file_name = path.rpartition("/")
    summarizes = file_name in _SUMMARIES and is_visible(directory)
    if path not in new and not is_visible(path) and not summarizes:
        return False
    if plan.mode == "overwrite":
        return True
    written = {name.rpartition("/")[0] for name in new}
    return directory in written or any(
        f"{directory}/".startswith(f"{part}/") for part in plan.partitions
    )


def _second_spellings(
    new: Iterable[str],
    before: Iterable[str],
    staying: Iterable[str],
    are_alike: Callable[[str, str], bool],
    *,
    declared: Iterable[str],
) -> list[str]:
    """The partitions of *new* that readers find under another name as well, and did not before.

    The rows below a *declared* partition are its own, however deep.
    """
    rows = [*filter(is_visible, before)]
    has = {name.rpartition("/")[0] for name in staying if is_visible(name)}
    had = {name.rpartition("/")[0] for name in rows}
    had |= {part for part in declared if any(name.startswith(f"{part}/") for name in rows)}
    return sorted(
        directory
        for directory in {name.rpartition("/")[0] for name in new} - had
        if any(are_alike(directory, one) for one in has)
    )
