"""What a URL and the user's options of s3fs mean: a bucket, a prefix, and a client of our own."""

import re
from collections.abc import Mapping
from copy import copy
from functools import lru_cache, partial
from io import BytesIO
from typing import Any

import s3fs
from aiobotocore.config import AioConfig
from aiobotocore.credentials import AioRefreshableCredentials
from aiobotocore.hooks import AioHierarchicalEmitter
from aiobotocore.session import AioSession
from botocore import exceptions as sdk
from botocore import handlers
from botocore.hooks import EventAliaser
from botocore.loaders import Loader

from fsspec_commit.errors import Reply, RequestError, StoreError
from fsspec_commit.store import AtomicRename, Capabilities, OpenOptions
from fsspec_commit_stores.http.failures import FIRST_TRIES_MAX, silent, store_error
from fsspec_commit_stores.http.opening import POOL, is_wanted, meant_by, private, served
from fsspec_commit_stores.http.places import Place, invalid_option
from fsspec_commit_stores.http.renewal import Renewal
from fsspec_commit_stores.s3.connections import LEAVE_ASKED_FROM_BYTES, SendingOnce
from fsspec_commit_stores.s3.credentials import chain_of
from fsspec_commit_stores.s3.documents import moment_of
from fsspec_commit_stores.s3.failures import S3Request, failed, is_timeout
from fsspec_commit_stores.s3.places import is_directory_bucket, is_verified
from fsspec_commit_stores.s3.provenance import note_form
from fsspec_commit_stores.s3.sending import note_sending
from fsspec_commit_stores.s3.user_agent import user_agent_of

_PART_BYTES_MIN = 5 << 20
_PART_BYTES_MAX = 5 << 30
_TEMPLATES = "request_templates"
_LOADER = Loader()
_ONCE = "fsspec-commit"
"""The id of a handler that a client has from its session already, if the session is ours."""
_RENEWED_S = 600
"""How long before their end botocore must have renewed credentials; earlier it only tries."""

# What boto3, pyarrow, polars and others call options of s3fs, in small letters and without `aws_`.
_OF_OTHERS = {
    "access_key": "key=",
    "access_key_id": "key=",
    "secret_key": "secret=",
    "secret_access_key": "secret=",
    "session_token": "token=",
    "endpoint": "endpoint_url=",
    "endpoint_override": "endpoint_url=",
    "endpoint_url": "endpoint_url=",
    "region": "client_kwargs={'region_name': …}",
    "region_name": "client_kwargs={'region_name': …}",
}

# What the protocol itself says, whoever speaks it.
_PROTOCOL = Capabilities(
    atomic_rename=AtomicRename.NONE,
    exclusive_rename=False,
    paged_listing=True,
    multipart=True,
    upload_keyed_by="upload_id",
    whole_object_publish=True,
    token_survives_rename=False,
)
# What a directory bucket has beyond that; a rename may keep the etag, or not.
_DIRECTORY = {
    "atomic_rename": AtomicRename.FILE,
    "exclusive_rename": None,
    "token_survives_rename": None,
    "unique_tokens": False,
}


def capabilities_of(bucket: str, endpoint: str, *, single_writer: bool) -> Capabilities:
    """What is known before anything is asked; of servers other than AWS only what is protocol."""
    facts, documented = _PROTOCOL, {"uploads_listable": True}
    if is_directory_bucket(bucket):
        facts = facts.known("declared", **_DIRECTORY)
        documented["exclusive_rename"] = True
    facts = served(
        facts,
        is_verified=is_verified(bucket, endpoint),
        single_writer=single_writer,
        **documented,
    )
    return facts.known("assumed", unique_tokens=True) if single_writer else facts


def part_bytes_of(url: str, options: OpenOptions) -> int | None:
    """How long the user wants every part of an upload but the last to be.

    Taken from the option by which s3fs itself is told so.

    Raises:
        RequestError: S3 takes no such parts.
    """
    given = options.storage_options.get("default_block_size")
    if given is None:
        return None
    if not isinstance(given, int) or not _PART_BYTES_MIN <= given <= _PART_BYTES_MAX:
        why = "default_block_size= is the length of a part of an upload, from 5 MiB to 5 GiB"
        raise invalid_option(url, f"{why}, in bytes")
    return given


def wants_templates(url: str, options: OpenOptions) -> bool:
    """Whether frequent requests may be made without botocore: the option `request_templates`.

    Raises:
        RequestError: It is neither yes nor no.
    """
    return is_wanted(url, options, _TEMPLATES)


class _Configuration(AioConfig):  # type: ignore[misc]  # aiobotocore ships no types
    """How clients are configured where nothing else is said.

    Older releases of aiobotocore forget the way to the network, theirs or ours, as they merge two.
    """

    def merge(self, other_config: Any) -> Any:
        """*other_config*, completed by this configuration where it says nothing."""
        merged = super().merge(other_config)
        merged.http_session_cls = SendingOnce
        merged.connector_args = other_config.connector_args or merged.connector_args
        return merged


class RenewingOnce(AioSession):  # type: ignore[misc]  # aiobotocore ships no types
    """A session whose credentials are renewed by one request for all."""

    async def get_credentials(self) -> Any:
        """Find the credentials, once."""
        if self._credentials is None:
            found = await super().get_credentials()
            if isinstance(found, AioRefreshableCredentials):
                found.get_frozen_credentials = partial(_renewed, found, Renewal())
        return self._credentials


async def _renewed(credentials: AioRefreshableCredentials, renewal: Renewal) -> Any:
    """The current credentials. As long as they are good, nobody waits for their renewal."""
    frozen = partial(AioRefreshableCredentials.get_frozen_credentials, credentials)
    return await (renewal.run(frozen) if credentials.refresh_needed(_RENEWED_S) else frozen())


async def filesystem_of(
    url: str, place: Place, options: OpenOptions
) -> tuple[s3fs.S3FileSystem, Any]:
    """A private s3fs on the running loop with the user's options, and its client.

    Raises:
        RequestError: An option makes no sense.
        StoreError: There are no credentials where the options say they are.
    """
    given = private(options)
    given.pop(_TEMPLATES, None)
    config = _mapping(given, "config_kwargs", url)
    if "http_session_cls" in config:
        raise _invalid(url, "http_session_cls= is ours: it sends once, and follows nothing")
    for endpoint in (
        given.get("endpoint_url"),
        _mapping(given, "client_kwargs", url).get("endpoint_url"),
    ):
        # Some of the libraries below log it, and none makes use of it.
        if isinstance(endpoint, str) and re.search(r"[@?#]", endpoint):
            raise _invalid(url, "endpoint_url= takes no user, no password and no query")
    client_config: dict[str, Any] = {
        "max_pool_connections": options.concurrency or POOL,
        "http_session_cls": SendingOnce,
        **config,
        # Not the user's: the answer to a second try would say nothing of what the first has done,
        # and what begins a job must not be sent twice.
        "retries": {**_mapping(config, "retries", url), "total_max_attempts": 1},
    }
    given["config_kwargs"] = client_config
    failure: StoreError | RequestError
    filesystem = None
    try:
        chain = chain_of(given)
        filesystem = s3fs.S3FileSystem(**given)
        if filesystem.session is None:
            filesystem.session = _session(filesystem.kwargs)
            _name_sender(filesystem)
        if chain is not None:
            chain.apply(filesystem.session)
        await filesystem.set_session()
        client = await filesystem.get_s3(place.bucket)
    except (TypeError, KeyError) as error:
        meant = ", ".join(meant_by(options.storage_options, "aws_", _OF_OTHERS))
        failure = _invalid(url, f"{error}; {meant}" if meant else str(error))
    # Of any class: credentials come from files, and from programs that the profile names.
    except Exception as error:  # noqa: BLE001
        failure = _not_opened(url, place, error)
    else:
        client.meta.events.register_last("before-call.s3", _without_expecting)
        client.meta.events.register("before-call.s3", _not_redirected, unique_id=_ONCE)
        client.meta.events.register("before-send.s3", note_sending)
        client.meta.events.register("before-parse.s3", note_form)
        return filesystem, client
    if filesystem is not None:
        await close(filesystem)
    raise failure


async def close(filesystem: s3fs.S3FileSystem) -> None:
    """Close the connections of a private s3fs, which has no verb for it."""
    if filesystem._s3 is not None:  # noqa: SLF001  # see above
        await filesystem._s3creator.__aexit__(None, None, None)  # noqa: SLF001  # see above


def parameters_of(filesystem: s3fs.S3FileSystem) -> dict[str, Any]:
    """What the user wants in every request: `s3_additional_kwargs`, and who pays."""
    wanted = filesystem.s3_additional_kwargs
    return {**(wanted.to_kwargs() if hasattr(wanted, "to_kwargs") else wanted), **filesystem.req_kw}


def checksum_of(client: Any) -> str | None:
    """The algorithm to protect uploads by: boto3's own choice, unless the user turned it off.

    Named when an upload begins and with every part, so that all of them agree.
    """
    calculation = getattr(client.meta.config, "request_checksum_calculation", None)
    return "CRC32" if calculation == "when_supported" else None


def _session(options: Mapping[str, Any]) -> RenewingOnce:
    """The session that s3fs would make, but what all sessions share is made once per process.

    Reading the service's description is most of what it costs to open a store, and registering
    botocore's own handlers is half of the rest.
    """
    hooks = {
        "event_hooks": copy(_emitter(tuple(map(tuple, handlers.BUILTIN_HANDLERS)))),
        "include_builtin_handlers": False,
    }
    session = RenewingOnce(**(options if hooks.keys() & options.keys() else {**hooks, **options}))
    # The clients that fetch credentials are made from this. What they send is a secret as well.
    session.set_default_client_config(_Configuration(http_session_cls=SendingOnce))
    session.register("before-call.s3", _not_redirected, unique_id=_ONCE)
    parsers = session.get_component("response_parser_factory")
    parsers.set_parser_defaults(timestamp_parser=moment_of)
    if session.get_config_variable("data_path") is None:
        session.register_component("data_loader", _LOADER)
    return session


def _name_sender(filesystem: s3fs.S3FileSystem) -> None:
    """Name us as the sender, unless the user names one, or an application, in botocore's ways."""
    given = filesystem.config_kwargs
    named = filesystem.session.get_config_variable("user_agent_appid")
    if not named and not given.keys() & {"user_agent", "user_agent_appid"}:
        given["user_agent"] = user_agent_of(filesystem.session)


@lru_cache(maxsize=1)
def _emitter(builtin: tuple[tuple[Any, ...], ...]) -> AioHierarchicalEmitter:
    """An emitter with botocore's own handlers, to be copied; another one if these change."""
    emitter = AioHierarchicalEmitter()
    events = EventAliaser(emitter)
    for name, handler, *order in builtin:
        if order == [handlers.REGISTER_FIRST]:
            events.register_first(name, handler)
        elif order == [handlers.REGISTER_LAST]:
            events.register_last(name, handler)
        else:
            events.register(name, handler)
    return emitter


def _without_expecting(params: dict[str, Any], **_: Any) -> None:
    """Send a small body at once; botocore would wait for the server's leave, a whole round trip."""
    body = params.get("body")
    if isinstance(body, BytesIO) and body.getbuffer().nbytes < LEAVE_ASKED_FROM_BYTES:
        params.get("headers", {}).pop("Expect", None)


def _not_redirected(context: dict[str, Any], **_: Any) -> None:
    """Ask no other region than the user's: botocore would, wherever an answer names one."""
    context.setdefault("s3_redirect", {})["redirected"] = True


def _mapping(given: Mapping[str, object], name: str, url: str) -> dict[str, Any]:
    value = given.get(name) or {}
    if not isinstance(value, Mapping):
        raise _invalid(url, f"{name}= takes a mapping")
    return dict(value)


def _invalid(url: str, why: str) -> RequestError:
    return invalid_option(url, f"an option is not one of s3fs's ({why})")


def _not_opened(url: str, place: Place, error: Exception) -> StoreError | RequestError:
    if isinstance(error, sdk.ProfileNotFound):
        return invalid_option(url, "there is no profile of that name; check profile=")
    request = S3Request("open", place.root, "s3:ListBucket", "the endpoint")
    if isinstance(error, ValueError):
        # About an endpoint that is not a URL; its text may hold a password.
        why = (
            "an option is not valid; check endpoint_url= (https://host:port), region_name and the "
            "profile"
        )
        return store_error(request, why, Reply.REFUSED)
    if is_timeout(error):
        return silent(request)
    return failed(request, error, first_tries=FIRST_TRIES_MAX, has_left=False)
