"""What kinds of stores are simulated: by what they declare, and by the requests that a verb takes.

A verb that is several requests on the real store is several here, since others act in between: a
listing goes page by page or directory by directory, and what a disk or Gen2 checks before it acts
may have changed when it acts.
"""

from dataclasses import dataclass, replace

from fsspec_commit.records.job import CommitterName
from fsspec_commit.selection import REQUESTS, choose
from fsspec_commit.store import AtomicRename, Capabilities
from fsspec_commit.testing.simulation.bucket import Habits


@dataclass(frozen=True, kw_only=True)
class Family:
    """One kind of store.

    Attributes:
        name: Its name in ``FAMILIES``.
        habits: What its server does.
        capabilities: What its adapter declares.
        page_entries: How many entries a page of a listing has; ``None`` where a listing is one
            call for each directory, in no order.
        lists_in_order: Whether a page may begin at any name, and names come in order.
        lists_by_name: Whether the pages of a listing go by name; else in an order of their own,
            which is another one in each run.
        checks_area: Whether the directory that a new file must be in is looked for by the request
            that makes the file; elsewhere not at all.
        deletes_trees: Whether one request deletes a directory with all that is in it; elsewhere
            its files are listed, and go one by one.
        makes_area_first: Whether a directory that is missing is made by a request of its own, so
            that it is seen empty.
        removes_empty: Whether a directory is removed on condition that it is empty.
        request_lives_s: How late a request may be carried out: a signature expires.
        clocks_within_s: How far the clocks of its clients may be apart.
    """

    name: str
    habits: Habits
    capabilities: Capabilities
    page_entries: int | None = 3
    lists_in_order: bool = False
    lists_by_name: bool = True
    checks_area: bool = False
    deletes_trees: bool = False
    makes_area_first: bool = False
    removes_empty: bool = False
    request_lives_s: float = 100_000.0
    clocks_within_s: float = 100_000.0

    @property
    def has_directories(self) -> bool:
        """Whether there are directories."""
        return self.habits.renames is AtomicRename.DIRECTORY

    @property
    def committers(self) -> tuple[CommitterName, ...]:
        """The committers that do all that jobs ask for; the first is the one they get by default.

        Where tokens may repeat, as on HDFS, another one that is safe refuses most overwrites.
        """
        requests = REQUESTS[:1] if self.capabilities.unique_tokens is False else REQUESTS
        chosen = (choose(self.capabilities, request).committer for request in requests)
        return tuple(dict.fromkeys(name for name in chosen if name is not None))

    @property
    def folds_names(self) -> bool:
        """Whether names that differ in case, or in their normal form, are one."""
        return self.habits.folds

    @property
    def keeps_names_apart(self) -> bool:
        """Whether attempts that write one name do not hurt each other."""
        return not (self.habits.uploads and self.habits.keyed_by == "path")

    @property
    def drops_uploads(self) -> bool:
        """Whether the service drops pending uploads after a time, and nobody else can."""
        return not (self.keeps_names_apart or self.habits.listable)

    @property
    def takes_any_name(self) -> bool:
        """Whether an overwrite may delete old files whatever their names are."""
        facts = self.capabilities
        renames = facts.atomic_rename is not AtomicRename.NONE
        return facts.delete_if_match is True or renames

    @property
    def markers_go(self) -> bool:
        """Whether an earlier marker can be removed without risk to a later one."""
        facts = self.capabilities
        has_trash = not facts.paged_listing and not facts.delete_if_match
        is_told_apart = facts.delete_if_match is True and facts.unique_tokens is True
        return has_trash or (is_told_apart and self.keeps_names_apart)


def capabilities_of(habits: Habits) -> Capabilities:
    """What the adapter declares of a server with these habits, if its listings are paged."""
    return Capabilities(
        atomic_rename=habits.renames,
        exclusive_rename=habits.renames is not AtomicRename.NONE,
        consistent_listing=True,
        paged_listing=True,
        multipart=habits.uploads,
        upload_keyed_by=habits.keyed_by if habits.uploads else None,
        uploads_listable=habits.listable if habits.uploads else None,
        exclusive_create=True,
        replace_if_match=True,
        delete_if_match=habits.conditional_delete,
        whole_object_publish=True,
        token_survives_rename=habits.keeps_tokens,
        unique_tokens=habits.versioned,
    )


def _unpaged(habits: Habits, *, conditional: bool, unique_tokens: bool) -> Capabilities:
    return replace(
        capabilities_of(habits),
        paged_listing=False,
        replace_if_match=conditional,
        delete_if_match=conditional,
        unique_tokens=unique_tokens,
    )


_DISK = Habits(
    versioned=True,
    conditional_delete=False,
    uploads=False,
    renames=AtomicRename.DIRECTORY,
    keeps_tokens=True,
)
_MEMORY = Habits(versioned=True, uploads=False, renames=AtomicRename.DIRECTORY, keeps_tokens=True)
_GEN2 = Habits(versioned=True, uploads=False, renames=AtomicRename.DIRECTORY, keeps_tokens=True)
_GCS = Habits(versioned=True, uploads=False, renames=AtomicRename.FILE)
_S3 = Habits()
_BY_PATH = Habits(keyed_by="path")
_VERSIONED = Habits(versioned=True, encrypts=True, again=200)
_MINIO = Habits(conditional_delete=False, listable=False)
_EXPRESS = Habits(versioned=True, renames=AtomicRename.FILE, again=200)
_FLAT_AZURE = Habits(versioned=True, keyed_by="path", listable=False, again=403)

FAMILIES = {
    family.name: family
    for family in (
        Family(
            name="disk",
            habits=_DISK,
            capabilities=_unpaged(_DISK, conditional=False, unique_tokens=True),
            page_entries=None,
            checks_area=True,
            makes_area_first=True,
            removes_empty=True,
        ),
        Family(
            name="disk-folding",
            habits=replace(_DISK, folds=True),
            capabilities=_unpaged(_DISK, conditional=False, unique_tokens=True),
            page_entries=None,
            checks_area=True,
            makes_area_first=True,
            removes_empty=True,
        ),
        Family(
            name="hdfs",
            habits=_DISK,
            deletes_trees=True,
            capabilities=_unpaged(_DISK, conditional=False, unique_tokens=False),
            page_entries=None,
            checks_area=True,
            makes_area_first=True,
            removes_empty=True,
        ),
        Family(
            name="memory",
            habits=_MEMORY,
            deletes_trees=True,
            capabilities=_unpaged(_MEMORY, conditional=True, unique_tokens=True),
            page_entries=None,
            checks_area=True,
        ),
        Family(
            name="gen2",
            habits=_GEN2,
            deletes_trees=True,
            removes_empty=True,
            capabilities=capabilities_of(_GEN2),
        ),
        Family(name="gcs", habits=_GCS, lists_in_order=True, capabilities=capabilities_of(_GCS)),
        Family(
            name="s3",
            habits=_S3,
            lists_in_order=True,
            capabilities=capabilities_of(_S3),
            request_lives_s=1800.0,
            clocks_within_s=900.0,
        ),
        Family(
            name="s3-versioned",
            habits=_VERSIONED,
            lists_in_order=True,
            capabilities=capabilities_of(_VERSIONED),
        ),
        Family(
            name="s3-by-path",
            habits=_BY_PATH,
            lists_in_order=True,
            capabilities=capabilities_of(_BY_PATH),
            request_lives_s=1800.0,
            clocks_within_s=900.0,
        ),
        Family(
            name="minio",
            habits=_MINIO,
            lists_in_order=True,
            capabilities=capabilities_of(_MINIO),
            request_lives_s=1800.0,
            clocks_within_s=900.0,
        ),
        Family(
            name="s3-express",
            habits=_EXPRESS,
            lists_by_name=False,
            capabilities=capabilities_of(_EXPRESS),
        ),
        Family(name="azure-flat", habits=_FLAT_AZURE, capabilities=capabilities_of(_FLAT_AZURE)),
    )
}
"""Every simulated store, by name."""
DRAWN_FAMILIES = (
    "azure-flat",
    "disk",
    "disk-folding",
    "gcs",
    "gen2",
    "hdfs",
    "memory",
    "minio",
    "s3",
    "s3-express",
    "s3-versioned",
)
"""The kinds of stores that are drawn if none is named. One more would change what integers mean."""
