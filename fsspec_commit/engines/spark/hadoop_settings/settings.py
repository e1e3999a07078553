"""Hadoop's settings for one path, read as Hadoop reads them, and how one is refused."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from fsspec_commit.errors import RequestError

CREDENTIALS = "spark.fsspec_commit.credentials"
DRIVER = "spark.fsspec_commit.driver"
AMBIENT = f"or set {CREDENTIALS}=ambient, to use those of the driver's environment"

_WITHOUT_THE_JAR = "use fsspec_commit.spark.write there"
DATABRICKS = f"a protocol of its own, which this one cannot replace: {_WITHOUT_THE_JAR}"
# What is to be said of drivers of other vendors, by how their names begin.
_OTHERS = {
    "com.amazon.": (
        "EMRFS, whose uploads cannot be completed by others: write to s3a: with Hadoop's own "
        f"driver, or {_WITHOUT_THE_JAR}"
    ),
    "com.databricks.": f"which has {DATABRICKS}",
    "shaded.databricks.": f"which has {DATABRICKS}",
}

# In a package, and of parts no longer than words: a secret that was put there is neither.
_CLASS = re.compile(r"[A-Za-z_$][\w$]{0,60}(?:\.[A-Za-z_$][\w$]{0,60})+")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is set for a path.

    Attributes:
        path: Hadoop's path.
        scheme: The scheme of the path, in lower case.
        values: The settings by their full names; they may be secrets.
    """

    path: str
    scheme: str
    values: Mapping[str, str] = field(repr=False)

    @property
    def rest(self) -> str:
        """The path without its scheme and without slashes at the end."""
        return self.path[len(self.scheme) + 1 :].rstrip("/")

    @property
    def drivers(self) -> list[str]:
        """The class that serves the path, and those that it extends; empty if nobody says it."""
        return self.words(DRIVER)

    @property
    def is_ambient(self) -> bool:
        """Whether Hadoop's credentials are to be left alone."""
        return self.text(CREDENTIALS) == "ambient"

    def text(self, *names: str) -> str:
        """The first of these that is set, without blanks around it; empty where none is.

        As in Hadoop, one that is set to nothing still wins over the next: that is how what is set
        for all is switched off for one bucket or account.
        """
        return next((self.values[name] for name in names if name in self.values), "").strip()

    def flag(self, name: str, *, default: bool) -> bool:
        """A setting that is true or false; any other value means *default*, as in Hadoop."""
        return {"true": True, "false": False}.get(self.text(name).lower(), default)

    def words(self, name: str) -> list[str]:
        """A list, separated by commas or ends of lines."""
        parts = re.split(r"[,\n]", self.text(name))
        return [word for part in parts if (word := part.strip())]

    def named(self, prefix: str) -> Iterator[str]:
        """The names, beginning with *prefix*, of settings that are not empty."""
        return (name for name in sorted(self.values) if name.startswith(prefix) and self.text(name))

    def replaced(self, values: Mapping[str, str]) -> "Settings":
        """The settings of the same path, with other values."""
        return Settings(self.path, self.scheme, values)

    def class_name(self, name: str) -> str:
        """The class that is set, as it may be shown."""
        return shown_class(self.text(name))

    def refuse_if_set(self, names: Iterable[str], why: str) -> None:
        """Refuse the first of these that is set.

        Raises:
            RequestError: One is.
        """
        for name in names:
            if self.text(name):
                raise self.refused(name, why)

    def refuse_other_driver(self, *known: str) -> None:
        """Refuse a path that Hadoop would write to by a driver whose settings are not known here.

        Raises:
            RequestError: It is another class.
        """
        name = f"fs.{self.scheme}.impl"
        driver = next(iter(self.drivers), self.text(name))
        if driver not in {"", *known}:
            why = f"has {shown_class(driver)} serve {self.scheme}:"
            for owner, what in _OTHERS.items():
                if driver.startswith(owner):
                    raise self.refused(name, f"{why}, {what}")
            raise self.refused(name, f"{why}, whose settings are not known; leave it to {known[0]}")

    def refused(self, name: str, why: str) -> RequestError:
        """The refusal of a setting; the reason must repeat no value that may be secret."""
        message = f"cannot commit to {self.path!r} as Hadoop writes there: {name} {why}"
        return RequestError(message, kind="unmapped_setting", path=self.path)


def shown_class(text: str) -> str:
    """The name of a class, if that is what somebody has set."""
    return text if _CLASS.fullmatch(text) else "something that is no class"


def address_of(text: str) -> SplitResult | None:
    """A URL with a host, and without user, password, query and fragment; ``None`` for another."""
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if has_host and not re.search(r"[@?#\s]", text) else None
