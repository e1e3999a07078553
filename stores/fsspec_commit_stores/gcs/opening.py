"""What a URL and the user's options of gcsfs mean: a bucket, a prefix, and a session of our own."""

import asyncio
import inspect
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import gcsfs
from fsspec.dircache import DirCache
from gcsfs.core import GCSFileSystem

from fsspec_commit.errors import RequestError, StoreError
from fsspec_commit.store import AtomicRename, Capabilities, OpenOptions
from fsspec_commit_stores.gcs.credentials import Authorization
from fsspec_commit_stores.gcs.failures import GcsRequest, no_credentials
from fsspec_commit_stores.gcs.requests import Bucket
from fsspec_commit_stores.http.bodies import WatchedRequest
from fsspec_commit_stores.http.clients import Client, Close, client_of
from fsspec_commit_stores.http.opening import (
    POOL,
    forget,
    meant_by,
    private,
    served,
    why_not_short_of,
)
from fsspec_commit_stores.http.places import Place, invalid_option
from fsspec_commit_stores.http.sessions import Session

_FILES = (
    *(
        f"{directory}/{name}"
        for directory in ("~/.config/gcloud", "$CLOUDSDK_CONFIG")
        for name in (
            *("application_default_credentials.json", "active_config", "configurations"),
            "properties",
        )
    ),
    "~/.gcs_tokens",
)
"""The files that say who has logged in, and for which project."""
_GOOGLE = re.compile(r"(?:.+\.)?googleapis\.com")
# What pyarrow, polars and others call options of gcsfs, in lower case and without `google_`.
_OF_OTHERS = {
    "access_token": "token=",
    "anon": "token='anon'",
    "anonymous": "token='anon'",
    "application_credentials": "token=",
    "credentials": "token=",
    "endpoint": "endpoint_url=",
    "endpoint_override": "endpoint_url=",
    "project_id": "project=",
    "service_account": "token=",
    "service_account_file": "token=",
    "service_account_key": "token=",
    "service_account_path": "token=",
}
_KNOWN_OF_SESSIONS = frozenset({"connector", "connector_owner", "headers", "request_class"})
_UNIVERSE = "GOOGLE_CLOUD_UNIVERSE_DOMAIN"

# What follows from the protocol itself, whatever server speaks it.
_PROTOCOL = Capabilities(
    # Folders of a bucket with a hierarchical namespace are renamed by an operation that goes on for
    # long and blocks writes meanwhile. Nothing here needs it.
    atomic_rename=AtomicRename.FILE,
    paged_listing=True,
    multipart=False,
    whole_object_publish=True,
    token_survives_rename=False,
    unique_tokens=True,
)


@dataclass(frozen=True, slots=True, repr=False)
class GcsClient:
    """What stores send through, whichever bucket they are in.

    Attributes:
        session: What is to be closed at the end, and how its requests are sent.
        authorization: Authenticates requests.
        location: Where requests go: scheme, host and port.
        user_project: Who pays, where it is not the bucket's owner.
        timeout: The user's own.
    """

    session: Session
    authorization: Authorization
    location: str
    user_project: str | None
    timeout: aiohttp.ClientTimeout | None

    @property
    def is_google(self) -> bool:
        """Whether requests go to Google itself."""
        return is_google(self.location)

    def bucket(self, name: str) -> Bucket:
        """The requests of a store in one bucket, which nothing is known of yet."""
        return Bucket(
            self.session,
            self.authorization,
            name,
            location=self.location,
            user_project=self.user_project,
            timeout=self.timeout,
        )

    async def close(self) -> None:
        """Close the session."""
        await self.session.close()


def capabilities_of(*, is_google: bool, single_writer: bool) -> Capabilities:
    """What is known before anything is asked; of servers other than Google's, only the protocol."""
    return served(
        _PROTOCOL, is_verified=is_google, single_writer=single_writer, exclusive_rename=True
    )


def is_google(location: str) -> bool:
    """Whether requests go to Google itself, by the host's name."""
    host = urlsplit(location).hostname or ""
    universe = os.environ.get(_UNIVERSE)
    return _GOOGLE.fullmatch(host) is not None or (
        universe is not None and host == f"storage.{universe}"
    )


async def client_for(url: str, place: Place, options: OpenOptions) -> Client[GcsClient]:
    """The client for the user's options, whichever bucket it was used for before.

    Raises:
        RequestError: An option makes no sense.
        StoreError: There are no credentials where the options say they are.
    """

    async def make(given: OpenOptions) -> tuple[GcsClient, Close]:
        client = await _made(url, place, given)
        return client, client.close

    # Where the token is a string, gcsfs checks by itself whether it names a file.
    token = options.storage_options.get("token")
    files = (*_FILES, token) if isinstance(token, str) else _FILES
    return await client_of(url, options, ("gcs",), make, files=files)


async def _made(url: str, place: Place, options: OpenOptions) -> GcsClient:
    """A private gcsfs with the user's options, taken apart: its session, credentials and endpoint.

    Raises:
        RequestError: An option makes no sense.
        StoreError: There are no credentials where the options say they are.
    """
    why_not_short, options = why_not_short_of(url, options)
    _refuse_unknown(url, options.storage_options)
    described = GcsRequest("open", place.root, "", "the endpoint")
    failure: StoreError | RequestError
    try:
        # In a thread: it looks for credentials in files, and asks for them on the network. The
        # class is named: another one of gcsfs asks each bucket for its kind by gRPC, which is slow.
        filesystem = await asyncio.to_thread(GCSFileSystem, **private(options))
        location = _location(filesystem, url)
        timeout = _timeout(filesystem, url)
        session = await _session(filesystem, options.concurrency or POOL)
    except TypeError as error:
        failure = _invalid(url, str(error))
    except RequestError as error:
        failure = error
    # Credentials are looked for in many places, by code of many hands; nothing has been sent yet.
    except Exception as error:  # noqa: BLE001
        failure = no_credentials(described, error)
    else:
        return GcsClient(
            Session(session, why_not=why_not_short or _why_not(filesystem)),
            Authorization(filesystem.credentials.credentials),
            location,
            _user_project(filesystem),
            timeout,
        )
    # Outside, so that the client's exception, which may hold secrets, does not become its context.
    raise failure


def _refuse_unknown(url: str, given: Iterable[str]) -> None:
    """Refuse what gcsfs would ignore: for a misnamed credential it would look elsewhere."""
    unknown = [name for name in given if name not in _known_options()]
    if not unknown:
        return
    meant = meant_by(unknown, "google_", _OF_OTHERS)
    raise _invalid(url, "; ".join([f"unknown: {', '.join(unknown)}", *meant]))


@lru_cache(maxsize=1)
def _known_options() -> frozenset[str]:
    """The options that gcsfs and fsspec name in a signature, or that fsspec takes before that."""
    # The user's may be for either class: this one, or the one that asks each bucket for its kind.
    classes = {*GCSFileSystem.__mro__, *gcsfs.GCSFileSystem.__mro__, DirCache}
    makers = [vars(one)["__init__"] for one in classes - {object} if "__init__" in vars(one)]
    parameters = (one for maker in makers for one in inspect.signature(maker).parameters.values())
    named = {
        one.name for one in parameters if one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}
    }
    return frozenset(named | {"skip_instance_cache", "use_instance_cache"}) - {"self"}


def _location(filesystem: Any, url: str) -> str:
    """Where requests go: what the user says, or an emulator's environment, or Google."""
    location = str(filesystem._location)  # noqa: SLF001  # gcsfs says it nowhere else
    parts = urlsplit(location)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise _invalid(url, "endpoint_url= takes https://host:port")
    if "@" in parts.netloc:
        raise _invalid(url, "endpoint_url= takes no user and no password")
    return location


async def _session(filesystem: Any, connections: int) -> aiohttp.ClientSession:
    """The session that gcsfs makes, with *connections*, and without aiohttp's own second try.

    aiohttp sends a PUT or a DELETE again when a kept connection turns out to be closed. The first
    may have been carried out: the second would then be refused because of the first one's effect.
    """
    wanted = dict(filesystem.session_kwargs)
    if "connector" in wanted:
        wanted.setdefault("connector_owner", False)
    # With a client certificate gcsfs makes a connector itself; older releases never do.
    elif not getattr(filesystem, "_use_client_cert", False):
        wanted["connector"] = aiohttp.TCPConnector(limit=connections)
    wanted.setdefault("request_class", WatchedRequest)
    filesystem.session_kwargs = wanted
    session: aiohttp.ClientSession = await filesystem._set_session()  # noqa: SLF001  # no other way
    forget(filesystem)
    session._retry_connection = False  # noqa: SLF001  # aiohttp has no public switch
    return session


def _why_not(filesystem: Any) -> str:
    """Why no request may be an exchange, or nothing; some session options have unknown effects."""
    odd = sorted(filesystem.session_kwargs.keys() - _KNOWN_OF_SESSIONS)
    own = filesystem.session_kwargs.get("request_class", WatchedRequest) is WatchedRequest
    odd += [] if own else ["request_class"]
    return f"session_kwargs= has {', '.join(odd)}" if odd else ""


def _timeout(filesystem: Any, url: str) -> aiohttp.ClientTimeout | None:
    wanted = filesystem.requests_timeout or filesystem.timeout
    if wanted is None or isinstance(wanted, aiohttp.ClientTimeout):
        return wanted
    if isinstance(wanted, int | float) and wanted > 0:
        return aiohttp.ClientTimeout(total=float(wanted))
    raise _invalid(url, "requests_timeout= takes a number of seconds")


def _user_project(filesystem: Any) -> str | None:
    """Who pays for requests to a requester pays bucket, as gcsfs reads its option."""
    wanted = filesystem.requester_pays
    if not wanted:
        return None
    return str(wanted if isinstance(wanted, str) else filesystem.project) or None


def _invalid(url: str, why: str) -> RequestError:
    return invalid_option(url, f"an option is not one of gcsfs's ({why})")
