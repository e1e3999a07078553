"""``s3a:``, as hadoop-aws 3.3 to 3.5 reads its settings."""

import base64
import binascii
import ipaddress
import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from fsspec_commit.engines.spark.hadoop_settings import s3a_credentials
from fsspec_commit.engines.spark.hadoop_settings.settings import Settings, address_of

PREFIXES = ("fs.s3a.", s3a_credentials.KEYSTORES_OF_ALL)
PROPERTIES = ("aws.",)

_ALGORITHM = "fs.s3a.encryption.algorithm"
_KEY = "fs.s3a.encryption.key"
_CONTEXT = "fs.s3a.encryption.context"
_OLD_ALGORITHM = "fs.s3a.server-side-encryption-algorithm"
_OLD_KEY = "fs.s3a.server-side-encryption.key"
_ACL = "fs.s3a.acl.default"
_STORAGE_CLASS = "fs.s3a.create.storage.class"
_CONTENT_ENCODING = "fs.s3a.object.content.encoding"
_ENDPOINT = "fs.s3a.endpoint"
_REGION = "fs.s3a.endpoint.region"
_PROXY = "fs.s3a.proxy"

# S3A looks for these by two names for each bucket as well, and in keystores.
_OWN_SECRETS = (
    *s3a_credentials.SECRETS,
    *(_ALGORITHM, _KEY, _CONTEXT, _OLD_ALGORITHM, _OLD_KEY),
    *(f"{_PROXY}.username", f"{_PROXY}.password"),
)
SECRETS = tuple(
    name
    for own in _OWN_SECRETS
    for name in (
        own,
        own.replace("fs.s3a.", "fs.s3a.bucket.{bucket}.", 1),
        f"fs.s3a.bucket.{{bucket}}.{own}",
    )
)

_DRIVER = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_CLIENT_FACTORY = "fs.s3a.s3.client.factory.impl"
_CLIENT_FACTORIES = {"", "org.apache.hadoop.fs.s3a.DefaultS3ClientFactory"}
_SIGNING = (
    *("fs.s3a.custom.signers", "fs.s3a.signing-algorithm", "fs.s3a.s3.signing-algorithm"),
    "fs.s3a.sts.signing-algorithm",
)
_HEADERS = ("fs.s3a.client.s3.custom.headers", "fs.s3a.client.sts.custom.headers")
_INTERCEPTORS = "fs.s3a.audit.execution.interceptors"
_MAGIC = "spark.fsspec_commit.magic"
# By name: Hadoop's default, which is the only value that is served, and what another one does.
_OF_UPLOADS = {
    "fs.s3a.committer.magic.enabled": (
        True,
        "is false: S3A would show each file as soon as it is written; set it to true",
    ),
    "fs.s3a.committer.magic.track.commits.in.memory.enabled": (
        False,
        "is true: what a task has uploaded would be known to its own JVM alone; set it to false",
    ),
    "fs.s3a.multipart.uploads.enabled": (
        True,
        "is false: without multipart uploads nothing can be completed later; set it to true",
    ),
}
UPLOADS = tuple(_OF_UPLOADS)
"""The settings that decide whether S3A leaves uploads that others complete."""
_ONLY = {
    **_OF_UPLOADS,
    "fs.s3a.http.signer.enabled": (False, "is true: requests are signed in one way here, by SigV4"),
    "fs.s3a.accesspoint.required": (
        False,
        "is true: write to the access point by its alias, s3a://…-s3alias/, and leave this false",
    ),
}
_ACLS = {
    "authenticatedread": "authenticated-read",
    "bucketownerfullcontrol": "bucket-owner-full-control",
    "bucketownerread": "bucket-owner-read",
    "private": "private",
    "publicread": "public-read",
    "publicreadwrite": "public-read-write",
}
_STORAGE_CLASSES = {
    *("DEEP_ARCHIVE", "GLACIER", "GLACIER_IR", "INTELLIGENT_TIERING", "ONEZONE_IA", "OUTPOSTS"),
    *("REDUCED_REDUNDANCY", "STANDARD", "STANDARD_IA"),
}
_KMS = {"SSE-KMS": "aws:kms", "DSSE-KMS": "aws:kms:dsse"}
_SSE_C_BYTES = 32

_AWS = re.compile(r"(?:.+\.)?amazonaws\.com(?:\.cn)?")
_CENTRAL = "s3.amazonaws.com"
_REGIONAL = re.compile(
    r"(?:.+\.)?s3(?:-fips)?[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-\d)"
    r"(?:\.vpce)?\.amazonaws\.com(?:\.cn)?"
)
# The region, as the AWS SDK for Java reads it from other servers' names without a scheme.
_NAMED_ELSEWHERE = re.compile(r"(?:.+\.)?s3[.-]([a-z0-9-]+)\..*")
_USUAL = re.compile(r"s3[.-][a-z]{2}(?:-[a-z]+)+-\d\.amazonaws\.com(?:\.cn)?")
# The region for which botocore, too, signs if it knows none; the environment may name another.
_REGION_ELSEWHERE = "us-east-1"
_REGION_WITHOUT_A_SEARCH = "us-east-2"


def located(settings: Settings) -> tuple[str, dict[str, object]]:
    """The URL, ``s3://bucket/a`` for ``s3a://bucket/a``, and the storage options.

    Raises:
        RequestError: A setting has no counterpart here.
    """
    bucket = settings.rest.removeprefix("//").partition("/")[0]
    settings = settings.replaced(_of_bucket(settings.values, bucket))
    settings.refuse_other_driver(_DRIVER)
    _refuse_what_is_not_served(settings)
    s3a_credentials.refuse_unread_keystores(settings)
    options: dict[str, object] = {}
    options.update(_endpoint(settings))
    options.update(s3a_credentials.options_of(settings))
    if settings.flag("fs.s3a.requester.pays.enabled", default=False):
        options["requester_pays"] = True
    objects = {**_encryption(settings), **_object_settings(settings)}
    if objects:
        options["s3_additional_kwargs"] = objects
    config = {**_config(settings), **_proxy(settings)}
    if config:
        options["config_kwargs"] = config
    return f"s3:{settings.rest}", options


def refuse_lost_uploads(path: str, values: Mapping[str, str]) -> None:
    """Refuse an ``s3a:`` path where S3A leaves no uploads that others complete.

    Args:
        path: Hadoop's, with its scheme.
        values: Settings by their full names; only a few of them are read.

    Raises:
        RequestError: The settings make it so; the message says what to set.
    """
    _refuse_others_than(_there(path, values), _OF_UPLOADS)


def is_magic(path: str, values: Mapping[str, str]) -> bool:
    """Whether S3A's own magic committer is on at *path*, by *values*; see `refuse_lost_uploads`."""
    return _there(path, values).flag(UPLOADS[0], default=True)


def _there(path: str, values: Mapping[str, str]) -> Settings:
    bucket = path.partition("://")[2].partition("/")[0]
    return Settings(path, "s3a", _of_bucket(values, bucket))


def _of_bucket(values: Mapping[str, str], bucket: str) -> dict[str, str]:
    """As in S3A, what is set for the bucket, even to nothing, replaces what is set for all."""
    own = f"fs.s3a.bucket.{bucket}."
    found = dict(values)
    for name, value in values.items():
        rest = name.removeprefix(own)
        if rest not in {name, "impl"} and not rest.startswith("bucket."):
            found[f"fs.s3a.{rest}"] = value
    for secret in _OWN_SECRETS:
        # Secrets have another form, `…bucket.B.fs.s3a.access.key`, which wins.
        if (value := values.get(f"{own}{secret}", "")).strip():
            found[secret] = value
    for new, old in ((_ALGORITHM, _OLD_ALGORITHM), (_KEY, _OLD_KEY)):
        # One that is set for the bucket by its old name wins over the new name for all.
        forms = [(f"{own}{one}", one.replace("fs.s3a.", own, 1)) for one in (new, old)]
        has_new, has_old = (any(name in values for name in names) for names in forms)
        if has_old and not has_new:
            found[new] = found[old]
    return found


def _refuse_what_is_not_served(settings: Settings) -> None:
    if settings.text(_MAGIC) == "false":
        why = "is older than 3.4, and would write files as they stand, which nobody completes: take"
        raise settings.refused("hadoop-aws", f"{why} one of 3.4, or fsspec_commit.spark.write")
    _refuse_others_than(settings, _ONLY)
    settings.refuse_if_set(
        ["fs.s3a.accesspoint.arn"],
        "names an access point: write to it by its alias, s3a://…-s3alias/, and unset this",
    )
    settings.refuse_if_set(
        [_INTERCEPTORS], "is set: what these classes do to a request is not known here"
    )
    settings.refuse_if_set(_SIGNING, "is set: requests are signed in one way here, by SigV4")
    settings.refuse_if_set(_HEADERS, "is set: no headers of your own are sent from here")
    if settings.text(_CLIENT_FACTORY) not in _CLIENT_FACTORIES:
        shown = settings.class_name(_CLIENT_FACTORY)
        raise settings.refused(_CLIENT_FACTORY, f"is {shown}: what it changes is not known here")


def _refuse_others_than(settings: Settings, only: Mapping[str, tuple[bool, str]]) -> None:
    for name, (expected, why) in only.items():
        if settings.flag(name, default=expected) is not expected:
            raise settings.refused(name, why)


def _endpoint(settings: Settings) -> dict[str, object]:
    """Where requests go, and the region that they are signed for."""
    endpoint, region = settings.text(_ENDPOINT), settings.text(_REGION)
    elsewhere = _NAMED_ELSEWHERE.fullmatch(endpoint)
    if endpoint and "://" not in endpoint:
        secure = settings.flag("fs.s3a.connection.ssl.enabled", default=True)
        endpoint = f"{'https' if secure else 'http'}://{endpoint}"
    address = address_of(endpoint)
    if endpoint and (address is None or address.scheme not in {"http", "https"}):
        raise settings.refused(_ENDPOINT, "is no endpoint: write https://host:port")
    host = (address and address.hostname) or ""
    named = _REGIONAL.fullmatch(host)
    region = region or (named[1] if named else "")
    is_own = bool(host) and not host.endswith(_CENTRAL) and _USUAL.fullmatch(host) is None
    options: dict[str, object] = {"endpoint_url": endpoint.rstrip("/")} if is_own else {}
    if not region and is_own and _AWS.fullmatch(host) is None:
        region = elsewhere[1] if elsewhere else _REGION_ELSEWHERE
    if not region:
        # S3A asks in which region the bucket is, as s3fs does, unless it is told not to.
        if settings.flag("fs.s3a.cross.region.access.enabled", default=True):
            return {**options, "cache_regions": True}
        region = _REGION_WITHOUT_A_SEARCH
    return {**options, "client_kwargs": {"region_name": region}}


def _config(settings: Settings) -> dict[str, object]:
    config: dict[str, object] = {}
    if settings.flag("fs.s3a.path.style.access", default=False):
        config["s3"] = {"addressing_style": "path"}
    elif _has_host_of_its_own(settings.text(_ENDPOINT)):
        # At an endpoint that is not AWS's, botocore would write the bucket into the path.
        config["s3"] = {"addressing_style": "virtual"}
    if settings.flag("fs.s3a.endpoint.fips", default=False):
        config["use_fips_endpoint"] = True
    return config


def _has_host_of_its_own(endpoint: str) -> bool:
    """Whether a bucket's name can be put in front of the endpoint's host."""
    address = address_of(endpoint if "://" in endpoint else f"//{endpoint}")
    host = (address and address.hostname) or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and _AWS.fullmatch(host) is None
    return False


def _encryption(settings: Settings) -> dict[str, object]:
    for name in settings.named("fs.s3a.encryption."):
        if name not in {_ALGORITHM, _KEY, _CONTEXT} and settings.text(name).lower() != "false":
            raise settings.refused(name, "is set: nothing is encrypted here before it is sent")
    algorithm = settings.text(_ALGORITHM, _OLD_ALGORITHM).upper()
    key = settings.text(_KEY, _OLD_KEY)
    if not algorithm:
        return {}
    if algorithm in _KMS:
        found: dict[str, object] = {"ServerSideEncryption": _KMS[algorithm]}
        if key:
            found["SSEKMSKeyId"] = key
        return {**found, **_context(settings)}
    if algorithm in {"AES256", "SSE-S3"}:
        return {"ServerSideEncryption": "AES256"}
    if algorithm == "SSE-C":
        return {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": _customer_key(settings, key)}
    why = "is none of AES256, SSE-KMS, DSSE-KMS and SSE-C, by which the store encrypts"
    if algorithm in {"CSE-KMS", "CSE-CUSTOM"}:
        why = "has S3A encrypt before it sends: what a job writes beside the data would be in clear"
    raise settings.refused(_ALGORITHM, f"{why}; use one of those, or the bucket's own encryption")


def _customer_key(settings: Settings, key: str) -> bytes:
    """S3A has it in base64; botocore wants the bytes."""
    try:
        found = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != _SSE_C_BYTES:
        raise settings.refused(_KEY, "is no key of 256 bits in base64, which SSE-C takes")
    return found


def _context(settings: Settings) -> dict[str, str]:
    """S3A's pairs, as S3 wants them: JSON in base64."""
    pairs = [one.partition("=") for one in settings.words(_CONTEXT)]
    if not pairs:
        return {}
    if not all(name.strip() and equals and value.strip() for name, equals, value in pairs):
        raise settings.refused(_CONTEXT, "takes pairs, name=value, separated by commas")
    text = json.dumps({name.strip(): value.strip() for name, _, value in pairs})
    return {"SSEKMSEncryptionContext": base64.b64encode(text.encode()).decode()}


def _object_settings(settings: Settings) -> dict[str, object]:
    """Who may read what is written, and where it is kept."""
    found: dict[str, object] = {}
    acl = settings.text(_ACL)
    if acl:
        found["ACL"] = _ACLS.get(acl.lower().replace("-", ""))
        if found["ACL"] is None:
            raise settings.refused(_ACL, "is no canned ACL of objects, such as PublicRead")
    storage_class = settings.text(_STORAGE_CLASS).upper()
    if storage_class:
        if storage_class not in _STORAGE_CLASSES:
            raise settings.refused(_STORAGE_CLASS, "is no storage class of S3")
        found["StorageClass"] = storage_class
    encoding = settings.text(_CONTENT_ENCODING)
    if encoding:
        found["ContentEncoding"] = encoding
    return found


def _proxy(settings: Settings) -> dict[str, object]:
    host, port = settings.text(f"{_PROXY}.host"), settings.text(f"{_PROXY}.port")
    if not host:
        return {}
    ntlm = (f"{_PROXY}.domain", f"{_PROXY}.workstation")
    settings.refuse_if_set(ntlm, "is set: of proxies that want NTLM none is served")
    secure = settings.flag(f"{_PROXY}.ssl.enabled", default=False)
    user, password = settings.text(f"{_PROXY}.username"), settings.text(f"{_PROXY}.password")
    login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    # As S3A does, since 3.4, where there is no port.
    url = f"{'https' if secure else 'http'}://{login}{host}:{port or (443 if secure else 80)}"
    return {"proxies": {"http": url, "https": url}}
