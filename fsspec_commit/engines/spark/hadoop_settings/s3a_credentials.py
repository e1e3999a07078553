"""Whose credentials S3A uses: its list of providers, in its order."""

import re
from collections.abc import Iterable

from fsspec_commit.engines.spark.hadoop_settings.settings import AMBIENT, Settings, shown_class

_ACCESS = "fs.s3a.access.key"
_SECRET = "fs.s3a.secret.key"  # noqa: S105  # the name of a setting
_TOKEN = "fs.s3a.session.token"  # noqa: S105  # the name of a setting
SECRETS = (_ACCESS, _SECRET, _TOKEN)

_KEYSTORES = "fs.s3a.security.credential.provider.path"
KEYSTORES_OF_ALL = "hadoop.security.credential.provider.path"

_LIST = "fs.s3a.aws.credentials.provider"
_MAPPING = "fs.s3a.aws.credentials.provider.mapping"
_ROLE = "fs.s3a.assumed.role"
_ROLE_LIST = f"{_ROLE}.credentials.provider"
_PROFILE = "fs.s3a.auth.profile"

_S3A = "org.apache.hadoop.fs.s3a"
_V1 = "com.amazonaws.auth"
_V2 = "software.amazon.awssdk.auth.credentials"
_TEMPORARY = f"{_S3A}.TemporaryAWSCredentialsProvider"
_SIMPLE = f"{_S3A}.SimpleAWSCredentialsProvider"
_ENVIRONMENT = f"{_V2}.EnvironmentVariableCredentialsProvider"
_INSTANCE = f"{_S3A}.auth.IAMInstanceCredentialsProvider"
_ASSUMED = f"{_S3A}.auth.AssumedRoleCredentialProvider"

# Of core-default.xml; S3A's own, where the list is empty, begins with the environment.
_USUAL = (_TEMPORARY, _SIMPLE, _ENVIRONMENT, _INSTANCE)
_WHERE_EMPTY = (_ENVIRONMENT, _INSTANCE, _SIMPLE, _TEMPORARY)
_USUAL_OF_ROLE = (_SIMPLE, _ENVIRONMENT)

_ANONYMOUS = {
    f"{_S3A}.AnonymousAWSCredentialsProvider",
    f"{_V1}.AnonymousAWSCredentials",
    f"{_V2}.AnonymousCredentialsProvider",
}
_OF_A_FILE = "shared-credentials-file"
_OF_A_PROFILE = ("assume-role", "sso", _OF_A_FILE, "custom-process", "config-file")
_WEB_IDENTITY = "assume-role-with-web-identity"
_OF_A_MACHINE = ("container-role", "iam-role")
_ALL = ("env", _WEB_IDENTITY, *_OF_A_PROFILE, *_OF_A_MACHINE)
_OWN_PROFILE = f"{_S3A}.auth.ProfileAWSCredentialsProvider"
# By class: where botocore looks for the same.
_PLACES = {
    _ENVIRONMENT: ("env",),
    f"{_V1}.EnvironmentVariableCredentialsProvider": ("env",),
    _INSTANCE: _OF_A_MACHINE,
    f"{_S3A}.SharedInstanceCredentialProvider": _OF_A_MACHINE,
    f"{_V1}.EC2ContainerCredentialsProviderWrapper": _OF_A_MACHINE,
    f"{_V1}.InstanceProfileCredentialsProvider": _OF_A_MACHINE,
    f"{_V2}.InstanceProfileCredentialsProvider": ("iam-role",),
    f"{_V2}.ContainerCredentialsProvider": ("container-role",),
    f"{_V1}.ContainerCredentialsProvider": ("container-role",),
    f"{_V2}.ProfileCredentialsProvider": _OF_A_PROFILE,
    f"{_V1}.profile.ProfileCredentialsProvider": _OF_A_PROFILE,
    _OWN_PROFILE: (_OF_A_FILE,),
    f"{_V2}.WebIdentityTokenFileCredentialsProvider": (_WEB_IDENTITY,),
    f"{_V1}.WebIdentityTokenCredentialsProvider": (_WEB_IDENTITY,),
    f"{_V2}.DefaultCredentialsProvider": _ALL,
    f"{_V1}.DefaultAWSCredentialsProviderChain": _ALL,
}
# Of the first SDK, those that S3A knows itself, before it looks into a cluster's mapping.
_KNOWN_OF_V1 = {
    f"{_V1}.AnonymousAWSCredentials",
    f"{_V1}.EC2ContainerCredentialsProviderWrapper",
    f"{_V1}.EnvironmentVariableCredentialsProvider",
    f"{_V1}.InstanceProfileCredentialsProvider",
    f"{_V1}.profile.ProfileCredentialsProvider",
}
# These look at properties of the JVM before all else.
_OF_THE_JVM = {
    f"{_V1}.DefaultAWSCredentialsProviderChain",
    f"{_V1}.WebIdentityTokenCredentialsProvider",
    f"{_V1}.profile.ProfileCredentialsProvider",
    f"{_V2}.DefaultCredentialsProvider",
    f"{_V2}.ProfileCredentialsProvider",
    f"{_V2}.WebIdentityTokenFileCredentialsProvider",
}
_OTHERS = (
    ("fs.s3a.delegation.token.binding", "has Hadoop hand out credentials of its own"),
    ("fs.s3a.access.grants.enabled", "has S3 Access Grants hand out credentials"),
)
_PROPERTIES = (
    *("aws.accessKeyId", "aws.secretAccessKey", "aws.secretKey", "aws.sessionToken"),
    *("aws.profile", "aws.sharedCredentialsFile", "aws.configFile"),
    *("aws.roleArn", "aws.webIdentityTokenFile"),
)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def refuse_unread_keystores(settings: Settings) -> None:
    """Refuse keystores that only S3A looks into: there may be keys in them, for encryption as well.

    Raises:
        RequestError: There is one that the JVM has not asked.
    """
    if not set(settings.words(_KEYSTORES)).issubset(settings.words(KEYSTORES_OF_ALL)):
        why = "names a keystore that only S3A looks into: name it in"
        raise settings.refused(_KEYSTORES, f"{why} {KEYSTORES_OF_ALL} as well")


def options_of(settings: Settings) -> dict[str, object]:
    """The credentials as options of s3fs and of the S3 adapter.

    Raises:
        RequestError: Hadoop gets them from a class that is not known here.
    """
    if settings.is_ambient:
        return {}
    for name, why in _OTHERS:
        if settings.text(name).lower() not in {"", "false"}:
            raise settings.refused(name, f"{why}, which this library cannot: unset it, {AMBIENT}")
    listed = settings.words(_LIST)
    # Where nobody has sent the list, it is the one of core-default.xml.
    usual = _WHERE_EMPTY if _LIST in settings.values else _USUAL
    if _ASSUMED in listed:
        if listed[0] != _ASSUMED:
            why = f"has {_ASSUMED} not in its first place: put it there, {AMBIENT}"
            raise settings.refused(_LIST, why)
        return _of_role(settings)
    return _of_list(settings, _LIST, listed or usual)


def _of_list(settings: Settings, setting: str, classes: Iterable[str]) -> dict[str, object]:
    """What a list of providers finds first."""
    access, secret, token = map(settings.text, SECRETS)
    places: list[str] = []
    asked: list[str] = []
    for listed in classes:
        name = _mapped(settings, listed)
        asked.append(name)
        if name in _OF_THE_JVM:
            why = f"is a property of the JVM, at which {shown_class(name)} looks, and not seen here"
            settings.refuse_if_set(_PROPERTIES, f"{why}: set it in the environment, {AMBIENT}")
        given: dict[str, object] = {}
        if name == _TEMPORARY and access and secret and token:
            given = {"key": access, "secret": secret, "token": token}
        elif name == _SIMPLE and access and secret:
            given = {"key": access, "secret": secret}
        elif name in _ANONYMOUS and not places:
            return {"anon": True}
        elif name in _PLACES:
            places += _PLACES[name]
        elif name not in {_TEMPORARY, _SIMPLE}:
            raise settings.refused(setting, _unknown(name))
        if given:
            chain = {"credential_providers": (*_once(places), "explicit")} if places else {}
            return {**given, **chain, **_profile(settings, asked)}
    if not places:
        why = f"and {_SECRET} are not both set, and {setting} names nothing else: set them"
        raise settings.refused(_ACCESS, f"{why}, {AMBIENT}")
    return {"credential_providers": _once(places), **_profile(settings, asked)}


def _mapped(settings: Settings, name: str) -> str:
    """The class that a cluster's mapping puts in the place of *name*, or *name* itself."""
    pairs = (one.partition("=") for one in settings.words(_MAPPING))
    mapped = {old.strip(): new.strip() for old, _, new in pairs}
    return name if name in _KNOWN_OF_V1 else mapped.get(name, name)


def _unknown(name: str) -> str:
    why = f"names {shown_class(name)}, which this library cannot ask"
    if name in _ANONYMOUS:
        why = f"has {shown_class(name)} behind others: put it first"
    return f"{why}: name one of Hadoop's or of the AWS SDK's, {AMBIENT}"


def _once(places: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(places))


def _profile(settings: Settings, asked: Iterable[str]) -> dict[str, object]:
    """Which profile S3A's own provider looks into; those of the SDK look into the environment's."""
    if _OWN_PROFILE not in asked:
        return {}
    if settings.text(f"{_PROFILE}.file"):
        why = "is set: name the file by AWS_SHARED_CREDENTIALS_FILE in the environment instead"
        raise settings.refused(f"{_PROFILE}.file", why)
    name = settings.text(f"{_PROFILE}.name")
    others = [one for one in asked if not set(_OF_A_MACHINE).issuperset(_PLACES.get(one, ()))]
    others.remove(_OWN_PROFILE)
    if name and others:
        why = f"is set, and {_LIST} has {shown_class(others[0])} as well: name one of the two"
        raise settings.refused(f"{_PROFILE}.name", why)
    return {"profile": name} if name else {}


def _of_role(settings: Settings) -> dict[str, object]:
    """The role, and the credentials with which it is asked for."""
    arn = settings.text(f"{_ROLE}.arn")
    if not arn:
        raise settings.refused(f"{_ROLE}.arn", f"is not set, and {_LIST} wants a role")
    inner = settings.words(_ROLE_LIST) or _USUAL_OF_ROLE
    if _ASSUMED in inner or _ANONYMOUS.intersection(inner):
        raise settings.refused(_ROLE_LIST, "names what no role can be asked for with")
    role: dict[str, object] = {"RoleArn": arn}
    for name, suffix in (
        ("ExternalId", "external.id"),
        ("Policy", "policy"),
        ("RoleSessionName", "session.name"),
    ):
        if value := settings.text(f"{_ROLE}.{suffix}"):
            role[name] = value
    user = re.sub(r"[^A-Za-z0-9,.@-]", "-", settings.text("spark.fsspec_commit.user"))
    role.setdefault("RoleSessionName", user or "fsspec-commit")
    if duration := settings.text(f"{_ROLE}.session.duration"):
        role["DurationSeconds"] = _seconds(settings, f"{_ROLE}.session.duration", duration)
    if endpoint := settings.text(f"{_ROLE}.sts.endpoint"):
        role["endpoint_url"] = endpoint if "://" in endpoint else f"https://{endpoint}"
    if region := settings.text(f"{_ROLE}.sts.endpoint.region"):
        role["region_name"] = region
    return {**_of_list(settings, _ROLE_LIST, inner), "assume_role": role}


def _seconds(settings: Settings, name: str, text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([smhd]?)", text.lower())
    if match is None:
        raise settings.refused(name, "is no length of time, such as 30m")
    return int(match[1]) * _SECONDS[match[2]]
