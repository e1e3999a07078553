"""``gs:``, as Google's connector 2.x and 3.x and hadoop-gcp 3.5 read their settings."""

import os
from urllib.parse import quote

from fsspec_commit.engines.spark.hadoop_settings.settings import (
    AMBIENT,
    CREDENTIALS,
    Settings,
    address_of,
    shown_class,
)
from fsspec_commit.errors import RequestError

PREFIXES = ("fs.gs.", "google.cloud.")

# The driver's own name of a setting, and the name for all of Google's drivers.
_FORMS = ("fs.gs.", "google.cloud.")
_TYPE = "auth.type"
_JSON_KEY_FILE = "auth.service.account.json.keyfile"
_P12_KEY_FILE = "auth.service.account.keyfile"
_PRIVATE_KEY = "auth.service.account.private.key"
_PRIVATE_KEY_ID = "auth.service.account.private.key.id"
_EMAIL = "auth.service.account.email"
_ENABLED = "auth.service.account.enable"
# By name: the older name that a connector 2.x looks for after it.
_OLD = {
    _ENABLED: "enable.service.account.auth",
    _EMAIL: "service.account.auth.email",
    _P12_KEY_FILE: "service.account.auth.keyfile",
}
_NOBODY = "auth.null.enable"
_CLIENT_ID = "auth.client.id"
_CLIENT_SECRET = "auth.client.secret"  # noqa: S105  # the name of a setting
_REFRESH_TOKEN = "auth.refresh.token"  # noqa: S105  # the name of a setting
_FEDERATION = "auth.workload.identity.federation.credential.config.file"
_TOKEN_SERVER = "token.server.url"  # noqa: S105  # the name of a setting
_TOKEN_SERVERS = {
    *("", "https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token"),
}
_IMPERSONATION = "auth.impersonation.service.account"
_TOKEN_CLASSES = ("auth.access.token.provider.impl", "auth.access.token.provider")

SECRETS = tuple(
    form + name
    for name in (
        *(_CLIENT_SECRET, _REFRESH_TOKEN, "auth.access.token", _PRIVATE_KEY, _PRIVATE_KEY_ID),
        *(_EMAIL, _OLD[_EMAIL], "proxy.username", "proxy.password", "encryption.key"),
    )
    for form in _FORMS
)

_GOOGLES = "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"
_HADOOPS = "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem"
# The class that a driver of 2.x extends, and no later one.
_OF_CONNECTOR_2 = f"{_GOOGLES}Base"
_IMPL = "fs.gs.impl"
_ROOT = "fs.gs.storage.root.url"
_SERVICE = "fs.gs.storage.service.path"
_PAYS = "fs.gs.requester.pays"
_WITH_A_FILE = (
    "make a credentials file of it, name that by GOOGLE_APPLICATION_CREDENTIALS in the driver's "
    f"environment, and set {CREDENTIALS}=ambient"
)


def located(settings: Settings) -> tuple[str, dict[str, object]]:
    """The URL, which stays as Hadoop has it, and the storage options.

    Raises:
        RequestError: A setting has no counterpart here.
    """
    settings.refuse_other_driver(_GOOGLES, _HADOOPS)
    _refuse_what_is_not_served(settings)
    options = {} if settings.is_ambient else {"token": _token(settings)}
    if project := settings.text("fs.gs.project.id"):
        options["project"] = project
    options.update(_endpoint(settings))
    options.update(_payer(settings))
    return f"gs:{settings.rest}", options


def _refuse_what_is_not_served(settings: Settings) -> None:
    settings.refuse_if_set(
        settings.named("fs.gs.encryption."),
        "is set: with keys of your own nothing is written here; set a default key for the bucket",
    )
    headers = settings.named("fs.gs.storage.http.headers.")
    settings.refuse_if_set(headers, "is set: no headers of your own are sent from here")
    settings.refuse_if_set(
        ["fs.gs.authorization.handler.impl"],
        "has a class allow each request: what is written from here would pass it by",
    )
    settings.refuse_if_set(
        ["fs.gs.config.override.file"], "names a file of settings that are not seen here"
    )
    settings.refuse_if_set(
        ["fs.gs.delegation.token.binding"] if not settings.is_ambient else [],
        f"has Hadoop hand out credentials, which this library cannot ask: unset it, {AMBIENT}",
    )
    if settings.text(_SERVICE).strip("/") not in {"", "storage/v1"}:
        raise settings.refused(_SERVICE, "is not storage/v1/, which is what is spoken here")


def _token(settings: Settings) -> object:
    """What gcsfs calls its token: the credentials, of whichever kind."""
    for name in (*settings.named(f"fs.gs.{_IMPERSONATION}"), *_forms(_IMPERSONATION)):
        if settings.text(name):
            raise settings.refused(name, f"has an account impersonated: {_WITH_A_FILE}")
    if _OF_CONNECTOR_2 in settings.drivers:
        return _of_connector_2(settings) or _of_environment(settings)
    kind = settings.text(*_forms(_TYPE)).upper()
    # Hadoop 3.5 sets COMPUTE_ENGINE in its own defaults, even if the driver is a connector 2.x,
    # which has no such setting. So look at that one's settings first, unless the driver is known.
    if kind in {"", "COMPUTE_ENGINE"}:
        is_unknown = not settings.drivers and settings.text(_IMPL) != _HADOOPS
        return (_of_connector_2(settings) if is_unknown else None) or "cloud"
    return _of_type(settings, kind)


def _of_type(settings: Settings, kind: str) -> object:
    """What a connector 3.x, or Hadoop's own, is told to use."""
    if kind == "APPLICATION_DEFAULT":
        return "google_default"
    if kind == "UNAUTHENTICATED":
        return "anon"
    if kind == "SERVICE_ACCOUNT_JSON_KEYFILE":
        _check_token_server(settings)
        return _needed(settings, _JSON_KEY_FILE)
    if kind == "USER_CREDENTIALS":
        return _of_user(settings)
    name = _name(settings, _TYPE)
    if kind == "WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE":
        raise settings.refused(
            _name(settings, _FEDERATION), f"names a file, which gcsfs does not read: {_WITH_A_FILE}"
        )
    _refuse_token_class(settings)
    raise settings.refused(
        name, f"is no kind of credentials that is known here: use one, {AMBIENT}"
    )


def _of_connector_2(settings: Settings) -> object:
    """What a connector 2.x is told by settings of its own; ``None`` where there are none."""
    _refuse_token_class(settings)
    if settings.text(*_forms(_ENABLED)).lower() == "false":
        if settings.text(*_forms(_NOBODY)).lower() == "true":
            return "anon"
        why = "is false, and nothing else is set that this library can use: use a service account"
        raise settings.refused(_name(settings, _ENABLED), f"{why}, {AMBIENT}")
    # In the order in which it looks: a key itself, the file of one.
    if settings.text(*_forms(_PRIVATE_KEY_ID)) and settings.text(*_forms(_PRIVATE_KEY)):
        return {
            "type": "service_account",
            "client_email": _needed(settings, _EMAIL),
            "private_key_id": settings.text(*_forms(_PRIVATE_KEY_ID)),
            # As it is in a JSON file, from which it is copied.
            "private_key": settings.text(*_forms(_PRIVATE_KEY)).replace("\\n", "\n"),
            "token_uri": settings.text(*_forms(_TOKEN_SERVER))
            or "https://oauth2.googleapis.com/token",
        }
    if settings.text(*_forms(_JSON_KEY_FILE)):
        _check_token_server(settings)
        return settings.text(*_forms(_JSON_KEY_FILE))
    if settings.text(*_forms(_P12_KEY_FILE)):
        why = "names a PKCS12 file, which is not read here: use the account's JSON file, by"
        raise settings.refused(_name(settings, _P12_KEY_FILE), f"{why} fs.gs.{_JSON_KEY_FILE}")
    return None


def _of_environment(settings: Settings) -> object:
    """What a connector 2.x uses where no key is set: a file, a user's token, the machine's."""
    if os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return "google_default"
    if all(settings.text(*_forms(name)) for name in (_CLIENT_ID, _CLIENT_SECRET, _REFRESH_TOKEN)):
        return _of_user(settings)
    return "cloud"


def _of_user(settings: Settings) -> dict[str, str]:
    _check_token_server(settings)
    return {
        "client_id": _needed(settings, _CLIENT_ID),
        "client_secret": _needed(settings, _CLIENT_SECRET),
        "refresh_token": _needed(settings, _REFRESH_TOKEN),
    }


def _refuse_token_class(settings: Settings) -> None:
    for suffix in _TOKEN_CLASSES:
        if found := settings.text(*_forms(suffix)):
            why = f"has {shown_class(found)} hand out tokens, which this library cannot ask"
            raise settings.refused(_name(settings, suffix), f"{why}: use a key file, {AMBIENT}")


def _check_token_server(settings: Settings) -> None:
    if settings.text(*_forms(_TOKEN_SERVER)) not in _TOKEN_SERVERS:
        why = "is set: tokens are fetched from Google, or from where the key file says"
        raise settings.refused(_name(settings, _TOKEN_SERVER), why)


def _endpoint(settings: Settings) -> dict[str, object]:
    options: dict[str, object] = {}
    root = settings.text(_ROOT).rstrip("/")
    if root and root != "https://storage.googleapis.com":
        address = address_of(root)
        if address is None or address.scheme not in {"http", "https"}:
            raise settings.refused(_ROOT, "is no address: write https://host:port")
        options["endpoint_url"] = root
    if proxy := settings.text(*_forms("proxy.address")):
        user, password = (
            quote(settings.text(*_forms(f"proxy.{one}")), safe="")
            for one in ("username", "password")
        )
        login = f"{user}:{password}@" if user else ""
        options["session_kwargs"] = {"proxy": f"http://{login}{proxy.removeprefix('http://')}"}
    return options


def _payer(settings: Settings) -> dict[str, object]:
    """The project that pays for requests, in a requester pays bucket."""
    mode = settings.text(f"{_PAYS}.mode").upper() or "DISABLED"
    project = settings.text(f"{_PAYS}.project.id", "fs.gs.project.id")
    bucket = settings.rest.removeprefix("//").partition("/")[0]
    if mode == "CUSTOM":
        mode = "ENABLED" if bucket in settings.words(f"{_PAYS}.buckets") else "DISABLED"
    if mode == "DISABLED":
        return {}
    if mode != "ENABLED":
        why = "is AUTO, which asks the bucket first: say ENABLED, or CUSTOM with the buckets"
        raise settings.refused(f"{_PAYS}.mode", why)
    if not project:
        raise settings.refused(f"{_PAYS}.project.id", "is not set, and somebody has to pay")
    return {"requester_pays": project}


def _forms(suffix: str) -> tuple[str, ...]:
    names = (suffix, _OLD[suffix]) if suffix in _OLD else (suffix,)
    return tuple(form + name for form in _FORMS for name in names)


def _name(settings: Settings, suffix: str) -> str:
    """The name by which it is set, for messages."""
    return next(filter(settings.text, _forms(suffix)), f"fs.gs.{suffix}")


def _needed(settings: Settings, suffix: str) -> str:
    if not (value := settings.text(*_forms(suffix))):
        raise _missing(settings, suffix)
    return value


def _missing(settings: Settings, suffix: str) -> RequestError:
    return settings.refused(f"fs.gs.{suffix}", f"is not set: set it, {AMBIENT}")
