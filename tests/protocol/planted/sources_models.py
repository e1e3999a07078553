"""The rules of small models of the protocol, and the bug that weakens each of them in the code.

Each model was checked in every order of steps, with the rule and without it. Later ones of the same
kind are in `tests/specs`.
"""

from __future__ import annotations

from tests.protocol.planted.source import Source

CLAIMS = (
    Source("an append claims, as every job does", ("appends without a claim",)),
    Source("a job claims before it looks who else does", ("looks before it claims",)),
    Source(
        "a job that has decided is in the way of others until it is over",
        ("takes a decided job for over", "passes who has decided"),
    ),
    Source("who is passed over is fenced first", ("fences with nothing",)),
    Source(
        "a claim has a nonce: a late withdrawal takes no later claim of the job",
        ("has one claim for all drivers",),
    ),
    Source(
        "a second driver withdraws its own claim and no other",
        ("has one claim for all drivers",),
    ),
    Source(
        "a decision counts as a claim where that was withdrawn", ("takes a decided job for over",)
    ),
)
"""Of several jobs that claim, look, decide, publish and withdraw."""

ONE_JOB = (
    Source("an abort is a decision", ("aborts without a decision",)),
    Source(
        "the area stands until every file is published", ("removes its job before it publishes",)
    ),
    Source(
        "no old file is deleted before every new one is published",
        ("deletes before it publishes", "deletes beside its word that all is published"),
    ),
    Source(
        "a file is known by its identity, and not by its name",
        ("takes a name for the file", "knows files by their size"),
    ),
    Source("a decision is made once", ("overwrites the decision",)),
    Source(
        "the first attempt that is chosen counts, not the last one that has written",
        ("chooses the last attempt", "publishes another attempt"),
    ),
    Source(
        "where uploads are kept by path, attempts share no upload",
        ("has one upload for all attempts", "has one name for all attempts"),
    ),
    Source(
        "a decision that was not answered, and is not found, may still come",
        (
            "believes that an unanswered decision was not made",
            "says not committed while a decision is on its way",
        ),
    ),
    Source(
        "who has decided looks for its job before it publishes",
        ("believes its decision in a void area",),
    ),
    Source("`job.json` goes first, and alone", ("removes the decision first",)),
    Source(
        "a decision in an area without `job.json` means nothing, to nobody",
        ("believes a void abort", "resumes a void decision"),
    ),
    Source(
        "a job with an old file that could not be deleted is not over",
        ("ends with old files left",),
    ),
    Source("a decision appears whole", ("creates its decision empty",)),
    Source("what a task commits is exactly what its manifest names", ("seals what came late",)),
    Source(
        "an upload is completed under an absent name, or a known file's",
        ("completes over anything", "uploads hidden names by path"),
    ),
    Source(
        "without conditional deletes, an old file is renamed into the area, and dealt with there",
        ("looks and then deletes", "looks into the trash only in its place"),
    ),
    Source(
        "a marker is prepared before the decision, and published once",
        ("marks whatever stands", "prepares a marker again"),
    ),
    Source(
        "`clean` takes what is left of jobs that are over",
        ("leaves uploads", "leaves old areas"),
    ),
    Source("somebody may settle a job whose sources are lost", ("accepts no loss",)),
)
"""Of the life of one job: attempts, drivers, resumers, aborters, and late requests."""

WAVES = (
    Source(
        "a decision is confirmed before anything is published, where it is confirmed at all",
        ("believes its decision in a void area",),
    ),
    Source("and not beside that", ("publishes beside the last look for its job",)),
)
"""Of one job whose steps go in waves."""

LOOKS = (
    Source(
        "a look beside the listing counts only if no epoch has come",
        ("counts a look whatever epochs have come",),
    ),
    Source("the areas are listed before the look, too", ("lists first beside the look",)),
    Source(
        "a look beside a job that was found over is taken again",
        ("counts a look beside one that was over",),
    ),
    Source("a look before a wait is taken again", ("counts a look after a wait",)),
    Source("a job looks when its claim stands", ("asks all at once",)),
    Source("an epoch stands before the job has gone", ("leaves its epoch last",)),
    Source(
        "a look counts only if no area has gone, where epochs stand early",
        ("counts a look whatever areas are gone",),
    ),
)
"""Of the look at the destination beside the listing of claims."""

READING = (
    Source("a reader looks twice", ("looks once",)),
    Source("a reader compares epochs", ("reads no epoch",)),
    Source("a job leaves an epoch", ("leaves no epoch",)),
    Source("an epoch stands before the area has gone", ("leaves its epoch last",)),
    Source(
        "old files are deleted when it is recorded that all are published, not beside that",
        ("deletes beside its word that all is published",),
    ),
)
"""Of the snapshot reader beside jobs that come and go."""

MODELS = {
    "rules of several jobs": CLAIMS,
    "rules of one job's life": ONE_JOB,
    "rules of a commit in waves": WAVES,
    "rules of a look beside the claims": LOOKS,
    "rules of reading": READING,
}
