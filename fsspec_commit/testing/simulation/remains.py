"""What may be left when all jobs are settled and cleaned, and what must be."""

import re
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256

from fsspec_commit.testing.simulation.known import KnownJob

_MAY_STAY = re.compile(
    r"_commit/(?:epoch-[0-9a-f]{32}|done/[0-9a-f]{64}"
    r"|deleted-[0-9]{8}T[0-9]{6}-[0-9a-f]{32}/(?:[0-9a-f]{16}){1,15})"
)
_SHOWN_MAX = 6


def remains(
    jobs: Collection[KnownJob], names: Collection[str], uploads: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """What is wrong with what stands in the work area, and which promises that breaks."""
    lost = {f"_commit/lost/{job.job_id}" for job in jobs if job.is_given_up}
    left = [name for name in names if name not in lost and not _MAY_STAY.fullmatch(name)]
    left += [f"upload of {path}" for path in uploads]
    if left:
        yield "P5 P6", f"left: {sorted(left)[:_SHOWN_MAX]}"
    finished = [job for job in jobs if job.state == "committed" and not job.is_given_up]
    for job in finished:
        key = job.plan.key
        if key is not None and f"_commit/done/{sha256(key.encode()).hexdigest()}" not in names:
            yield "P7", f"nothing says that the key of job {job.plan.name} is done"
    if finished and not any(name.startswith("_commit/epoch-") for name in names):
        yield "P1 P2", f"there is no epoch, and job {finished[-1].plan.name} has finished"
