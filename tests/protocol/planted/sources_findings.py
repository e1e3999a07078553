"""The bugs that an attack on the library had found, each with the one that makes it again."""

from __future__ import annotations

from tests.protocol.planted import of_stores
from tests.protocol.planted.source import Source

PROTOCOL = (
    Source(
        "a task opened a name again and dropped it: the job was decided and never published",
        ("forgets that a name was opened again", "forgets a file that could not be closed"),
    ),
    Source(
        "of two appends with a hidden name, the first could never finish",
        ("takes hidden names for unique", "lets appends pass with any names"),
    ),
    Source(
        "a forked child deleted the file that its parent was writing",
        ("drops in a fork what its parent writes",),
    ),
    Source(
        "a slow driver took a later job's marker, or a foreign file, into its trash",
        (
            "deletes on an old permit",
            "looks into the trash once",
            "looks into the trash only in its place",
            "keeps what the trash took",
        ),
    ),
    Source(
        "`clean` of a directory above aborted the uploads of jobs below",
        ("aborts the uploads of jobs below",),
    ),
    Source(
        "`resume` did not flush what the job's durability says", ("resumes without durability",)
    ),
    Source(
        "a commit that had failed was repeated without its messages",
        ("forgets the messages of a failed commit",),
    ),
    Source(
        "the garbage collector made a thread wait for itself, or for the loop",
        ("takes a lock where garbage is collected", "drops garbage where it is collected"),
    ),
    Source(
        "a callback that ended the program ended the loop",
        ("lets an exiting callback decide", "lets a failing callback decide"),
    ),
    Source(
        "an overwrite of `code=a` deleted `code=A`",
        ("replaces what looks alike", "mixes two spellings"),
    ),
    Source(
        "what stood in the way was seen after the decision",
        ("appends over names", "finds only the very name in the way"),
    ),
    Source(
        "an attempt that was aborted hid another that still ran",
        ("takes a task for left out that still runs",),
    ),
    Source(
        "`clean` deleted the area of a job that was just beginning",
        ("cleans areas that just begin",),
    ),
    Source(
        "`clean` renamed away the area of a job that began, and no reader saw that job",
        ("renames areas that just begin",),
    ),
    Source(
        "an abort that came too late was believed by the job's own driver",
        ("believes a void abort", "believes its decision in a void area"),
    ),
    Source(
        "two threads that committed one job were told different things",
        ("commits in two threads",),
    ),
    Source("a start that came late brought a job back", ("repeats the start",)),
    Source(
        "an overwrite of a partition took the files of a destination in it",
        ("replaces a partition around a destination", "looks for no destination inside"),
    ),
    Source(
        "an overwrite took files of a destination inside that began while it listed",
        ("takes pages for one moment", "looks only into partitions"),
    ),
    Source("a job of too many tasks could not be decided", ("keeps all messages in its decision",)),
    Source(
        "an older job aborted a newer one that was alive and slow",
        ("aborts whoever lives", "never waits"),
    ),
    Source(
        "one Ctrl-C left the loop locked, or a call running behind it",
        ("leaves a call running behind an interrupt", "takes a lock to find the loop"),
    ),
)
"""What broke a promise, or hung."""

ODD_INPUT = (
    Source(
        "records of random changes were read as if they were whole", ("takes records in any form",)
    ),
    Source("a record could be as long as any", ("has one limit for all records",)),
    Source(
        "links, pipes, directories and garbage took the place of a record",
        ("stops at what is nobody's", "removes what it cannot read"),
    ),
    Source("names led out of the destination", ("takes any name", "writes outside")),
    Source(
        "a directory called `_SUCCESS` kept jobs from ever finishing",
        (
            "keeps its marker's name for files alone",
            "decides though its marker has no place",
        ),
    ),
    Source(
        "jobs of many tasks and files took memory without end",
        ("keeps all messages in its decision", "decodes a manifest whole"),
    ),
    Source(
        "records of one job were taken for another's",
        ("takes decisions of other jobs", "compares no digest"),
    ),
    Source(
        "partitions that differ in case, form or escapes went with each other",
        ("replaces what looks alike", "takes two spellings for two names"),
    ),
    Source(
        "files that were abandoned were finished, or waited for, where they were collected",
        ("drops garbage where it is collected", "takes a lock where garbage is collected"),
    ),
    Source("secrets in a URL were written down and logged", ("takes secrets in URLs",)),
    Source(
        "a child that left the blocks it had inherited ended its parent's files",
        ("drops in a fork what its parent writes",),
    ),
    Source(
        "on a full disk, a file that was cut short passed for whole",
        ("takes a torn file for whole",),
    ),
    Source(
        "`published` of another decision cost the old files and the new ones",
        ("believes published of another decision",),
    ),
    Source("one odd thing among the areas stopped every commit", ("stops at what is nobody's",)),
    Source(
        "deep trees, many tasks and many claimed partitions took stack and memory",
        (
            "calls itself for each directory",
            "names each missing task",
            "claims more than a record holds",
        ),
    ),
    Source("a hostile record steered the terminal", ("repeats what steers a terminal",)),
    Source(
        "of a directory that had been moved, a command named the old place",
        ("names the place that its record says",),
    ),
    Source("a redirection was followed, with content and session token", ("follows redirections",)),
)
"""What came of hostile and odd input: records, names, disks, secrets, processes, terminals."""

STORES = tuple(Source(what, planted) for what, planted in of_stores.FINDINGS.items())
"""What came of answers of others than the store, and of stores that are unlike the others."""

FINDINGS = {
    "bugs found by attacks on the protocol": PROTOCOL,
    "bugs found by odd input": ODD_INPUT,
    "bugs found by odd answers of stores": STORES,
}
