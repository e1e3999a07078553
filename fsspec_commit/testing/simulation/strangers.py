"""Who writes at a destination without this library, and what others have left there."""

import asyncio
from collections.abc import Mapping
from functools import partial

from fsspec_commit.committers.adopted import AdoptedFile
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import AttemptLayout, StorePath
from fsspec_commit.names import Target
from fsspec_commit.protocol.adoption import adopt_attempt
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation.plan import ForeignPlan
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.world import World


async def write_as_foreigner(world: World, actor: str, plan: ForeignPlan) -> None:
    """Write, or delete, a file as a program that knows nothing of jobs."""
    await asyncio.sleep(plan.at_s)
    if plan.until_s is None:
        await world.put(world.process(actor), plan)
        return
    process = world.process(actor.replace("foreign", "obstacle"))
    await world.obstruct(process, plan.name)
    await asyncio.sleep(plan.until_s - plan.at_s)
    await world.make_way(process, plan.name)


async def adopted(
    world: World,
    process: Process,
    job: BoundJob,
    layout: AttemptLayout,
    files: Mapping[Target, bytes],
    *,
    pause_s: float,
) -> TaskCommit:
    """Write *files* as S3A or any other program does, and have the library adopt them.

    Raises:
        CommitError: A request has failed, or they were not adopted.
    """
    write = _upload if job.committer.name == "magic" else _put
    written = [await write(world, process, layout, *file) for file in files.items()]
    await asyncio.sleep(pause_s)
    message = await adopt_attempt(job, layout.task_id, layout.attempt_id, written)
    world.model_at(process.at).adopted.update(file.upload_id or "" for file in written)
    return message


async def _put(
    world: World, process: Process, layout: AttemptLayout, name: Target, data: bytes
) -> AdoptedFile:
    path, bucket = layout.working_file(name), world.bucket
    await process.request("put", path, lambda: bucket.put(path, data, None, Expect.ANYTHING))
    return AdoptedFile(name, len(data))


async def _upload(
    world: World, process: Process, layout: AttemptLayout, name: Target, data: bytes
) -> AdoptedFile:
    """Upload as S3A does, which leaves a record and an empty file in a directory of the job's."""
    bucket, directory = world.bucket, f"{layout.job.magic_directory}/{layout.working_name}/__base"
    path: StorePath = layout.job.destination.final(name)
    recorded = StorePath(f"{directory}/{name}.pending"), StorePath(f"{directory}/{name}")
    pending = await process.request("start", path, lambda: bucket.start(path, Nonce("")))
    part = await process.request("put_part", path, lambda: bucket.put_part(pending, 1, data))
    for beside in recorded:
        put = partial(bucket.put, beside, b"", None, Expect.ANYTHING)
        await process.request("put", beside, put)
    return AdoptedFile(name, len(data), pending.upload_id, (part.token,))
