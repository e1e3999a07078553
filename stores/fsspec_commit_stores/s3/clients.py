"""The client of a store in one bucket, and what is learnt with it of how requests are made."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import s3fs

from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.http.clients import Client, Close, client_of
from fsspec_commit_stores.http.places import Place
from fsspec_commit_stores.s3.long_answers import read_long_answers
from fsspec_commit_stores.s3.opening import close, filesystem_of, wants_templates
from fsspec_commit_stores.s3.templates.calls import Calls, calls_of
from fsspec_commit_stores.s3.templates.handlers import all_are_watched

_FILES = (
    *("~/.aws/config", "~/.aws/credentials", "~/.boto", "/etc/boto.cfg"),
    *("~/.aws/sso/cache", "~/.aws/login/cache", "$AWS_LOGIN_CACHE_DIRECTORY"),
)
"""Where botocore looks for credentials, a region, a profile, and who has logged in."""


@dataclass(frozen=True, slots=True, repr=False)
class S3Client:
    """What stores in one bucket send through.

    Attributes:
        filesystem: Of s3fs, with the user's options.
        sdk: Its client, of aiobotocore.
        call: Calls its methods, without botocore as far as it has learnt how.
    """

    filesystem: s3fs.S3FileSystem
    sdk: Any
    call: Calls


async def client_for(url: str, place: Place, options: OpenOptions) -> Client[S3Client]:
    """The client for the user's options and one bucket, whichever destination it was used for.

    Raises:
        RequestError: An option makes no sense.
        StoreError: There are no credentials where the options say they are.
    """
    by_template = wants_templates(url, options)

    async def make(given: OpenOptions) -> tuple[S3Client, Close]:
        filesystem, sdk = await given.ask(lambda: filesystem_of(url, place, given))
        call = calls_of(sdk, place.bucket, by_template=by_template)
        read_long_answers(sdk, by_template=by_template)
        return S3Client(filesystem, sdk, call), partial(close, filesystem)

    # The last decides, once, how its methods are called; a tracer may come between two jobs.
    made_from = ("s3", place.bucket, all_are_watched())
    return await client_of(url, options, made_from, make, files=_FILES)
