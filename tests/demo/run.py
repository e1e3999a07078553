"""Watch a dataset being written, two jobs being killed, and both being settled.

    python tests/demo/run.py [DIRECTORY]

Everything happens in DIRECTORY, by default build/demo, which is emptied first and left for
inspection. Every claim is checked as it is made; the exit status is 1 if one does not hold.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

# Run as a file, for `make demo`: let the demo's own modules be found.
sys.path.insert(0, str(Path(__file__).parents[2]))

import fsspec_commit as fc
from fsspec_commit.testing import assert_no_leftovers
from tests.demo.flights import CANCELLED, FLIGHTS, all_flights, in_batches
from tests.demo.stage import ROOT, PublishingBar, Story, View, bars, kill, shown
from tests.demo.victim import PUBLISHED_BEFORE_THE_END

if TYPE_CHECKING:
    from collections.abc import Callable

MONTHS = 12
KILLED = -signal.SIGKILL
FIRST, SECOND = "the first", "the second"


def holds(check: Callable[[], object]) -> bool:
    """Whether an assertion holds."""
    try:
        check()
    except AssertionError:
        return False
    return True


def write_the_first(story: Story, destination: Path) -> View:
    """A job that nothing happens to."""
    story.heading("1. A dataset is written, and appears whole")
    story.say(
        "336,776 flights, one directory a month. Their files are written below _commit/, where no "
        "reader looks. Then the job decides, and each file is renamed to its final name."
    )
    story.command("explain", shown(destination))
    flights = all_flights()
    with bars() as progress:
        reading = progress.add_task("rows written   ", total=flights.num_rows)
        result = fc.write_dataset(
            in_batches(flights, lambda rows: progress.advance(reading, rows)),
            destination,
            partition_by="month",
            callback=PublishingBar(progress),
        )
    story.result(result)
    listed, _ = story.views(destination, {})
    story.claim(f"{FLIGHTS:,} rows are there", holds=listed.rows == result.rows == FLIGHTS)
    return listed


def kill_while_writing(story: Story, destination: Path, first: View) -> None:
    """A job that dies before its decision never happened."""
    story.heading("2. An overwrite is killed while it writes")
    story.say(
        "Another process overwrites the dataset without the cancelled flights. Half-way through "
        "the rows it gets SIGKILL: no handler runs, nothing is cleaned up."
    )
    said, status = kill(destination, "writing")
    story.claim(f"killed (exit status {status}) when {said}", holds=status == KILLED)
    left = [path for path in (destination / "_commit").rglob("*.pending") if path.is_file()]
    story.claim(f"{len(left)} working files are left below _commit/", holds=bool(left))
    listed, asked = story.views(destination, {FIRST: first})
    story.claim(
        f"every reader sees {FIRST} dataset, to the byte",
        holds=listed == first and asked in {None, first},
    )

    [job] = fc.jobs(destination)
    story.claim(f"the job is still known, as {job.state!r}", holds=job.state == "open")
    story.command("jobs", shown(destination))
    story.say(
        "It did not decide, so it can only be aborted. That also fences a driver still alive."
    )
    story.command("abort", shown(destination), job.job_id)
    story.claim("nothing of it is left", holds=holds(lambda: assert_no_leftovers(str(destination))))


def kill_while_publishing(story: Story, destination: Path, first: View) -> str:
    """A job that dies after its decision will happen, whoever finishes it."""
    story.heading("3. An overwrite is killed while it publishes")
    story.say(
        "The same overwrite again. This time it dies after its decision, when some of its files "
        "have their final names. It deletes old files only after every new one is in place."
    )
    said, status = kill(destination, "publishing")
    story.claim(f"killed (exit status {status}) when {said}", holds=status == KILLED)
    listed, asked = story.views(destination, {FIRST: first})
    story.claim(
        f"who lists the directory sees {PUBLISHED_BEFORE_THE_END} new files beside all the old: "
        "stores cannot rename many files in one step",
        holds=listed.files == first.files + PUBLISHED_BEFORE_THE_END,
    )
    if asked is not None:
        story.claim(
            f"who asks committed_files() sees {FIRST} dataset, to the byte", holds=asked == first
        )

    [job] = fc.jobs(destination)
    story.command("show", shown(destination), job.job_id)
    story.say("Decided is decided: it cannot be aborted any more.")
    story.command("abort", shown(destination), job.job_id, refused=True)
    story.claim("nothing was deleted", holds=View.listed(destination) == listed)
    return job.job_id


def finish_the_second(story: Story, destination: Path, job_id: str) -> None:
    """From what the decision says, by anyone, on any machine."""
    story.heading("4. Somebody else finishes it")
    story.say("From the decision alone: publish what is missing, then delete what was replaced.")
    story.command("resume", shown(destination), job_id)
    listed, asked = story.views(destination, {})
    story.claim(
        f"{FLIGHTS:,} - {CANCELLED:,} cancelled = {listed.rows:,} rows are there",
        holds=listed.rows == FLIGHTS - CANCELLED,
    )
    story.claim(
        f"every reader sees {SECOND} dataset, in {MONTHS} files", holds=asked in {None, listed}
    )
    story.claim("no job is unfinished", holds=fc.jobs(destination) == [])
    story.claim(
        "nothing is left of any job", holds=holds(lambda: assert_no_leftovers(str(destination)))
    )


def main(directory: Path) -> int:
    """Tell it all; the exit status."""
    begin = time.monotonic()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    destination = directory / "flights"
    story = Story()
    first = write_the_first(story, destination)
    kill_while_writing(story, destination, first)
    job_id = kill_while_publishing(story, destination, first)
    finish_the_second(story, destination, job_id)
    story.heading("Done")
    story.say(f"{time.monotonic() - begin:.0f} s. The dataset is in {shown(destination)}.")
    for claim in story.wrong:
        story.claim(claim, holds=False)
    return 1 if story.wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/demo").absolute()))
