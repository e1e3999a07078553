"""The options that commands share, and how their text becomes values.

Storage options may be secrets: a message about them names the option and never its value, and
:class:`Redactor` takes the values out of everything else that is printed.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated
from urllib.parse import quote, quote_plus

import typer

import fsspec_commit as fc

# Text, not a choice that Typer checks: the API has an answer to Hadoop's names as well.
Committer = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="v1, manifest or magic; one that is not safe here is refused.",
        autocompletion=lambda: ["auto", "v1", "manifest", "magic"],
    ),
]
Destination = Annotated[
    str,
    typer.Argument(
        metavar="DESTINATION", help="The dataset's directory: a path or a URL.", show_default=False
    ),
]
JobIdText = Annotated[
    str,
    typer.Argument(
        metavar="JOB_ID",
        help="As `jobs` shows it, or so much of its beginning or end that no other has.",
        show_default=False,
    ),
]
StorageOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="What fsspec needs to open the destination; repeat it for more; never printed.",
    ),
]
SingleWriter = Annotated[
    bool,
    typer.Option(
        "--single-writer",
        help="Promise that one job at a time works here, on stores that cannot protect more.",
    ),
]
NoProbe = Annotated[
    bool, typer.Option("--no-probe", help="Refuse an unknown endpoint instead of probing it once.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show what is logged, and tracebacks of errors.")
]

StorageOptions = Mapping[str, object] | None

_SECRET_NAME = re.compile(
    r"key|secret|token|passw|pwd|credential|sas|auth|connection_string|cookie|signature",
    re.IGNORECASE,
)
# Where a store is, not who may use it: hiding these would hide what an error is about.
_OPEN_NAMES = frozenset(
    {"account_host", "account_name", "endpoint_url", "host", "port", "project", "region"}
    | {"protocol", "region_name", "scheme"}
    # How a store is spoken to: single words, which messages hold as well.
    | {"addressing_style", "cache_type", "consistency", "default_cache_type", "profile"}
)
_LITERAL = re.compile(r"""[\[{"].*|true|false|null|-?(0|[1-9]\d*)(\.\d+)?""", re.DOTALL)
_DURATION = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[a-z]*)")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_HIDDEN = "***"
# Shorter ones are no secrets, whatever they are called: hidden, each "***" would stand for a word
# that is easily guessed, and no message with a digit in it could be read.
_SECRET_LENGTH_MIN = 4
# Shorter ones are found as whole words only: elsewhere they are part of another, such as "latest".
_WHOLE_LENGTH_MIN = 8
_MAY_HOLD_ONE = re.compile(r"[?;]|:(?!//).*@")
_WORD_BEGINS = r"(?:(?<!\w)|(?<=%[0-9A-Fa-f]{2})|(?<=\\[a-z]))"


def storage_options(
    pairs: Sequence[str] | None, option: str = "--storage-option"
) -> StorageOptions:
    """Parse ``NAME=VALUE`` texts: JSON where the value reads as JSON, else the text itself.

    Values of names that sound like secrets are numbers or booleans only by accident: they stay
    text, unless they are a JSON object, array or quoted string.
    """
    options: dict[str, object] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise fc.RequestError(
                f"{option} takes NAME=VALUE, and one was given without a name or without '='",
                kind="invalid_option",
            )
        if name in options:
            raise fc.RequestError(f"{option} {name!r} is given twice", kind="invalid_option")
        options[name] = _value(name, text, option)
    return options or None


def _value(name: str, text: str, option: str) -> object:
    plain = bool(_SECRET_NAME.search(name)) and text[:1] not in {"{", "[", '"'}
    if plain or not _LITERAL.fullmatch(text):
        return text
    try:
        return json.loads(text)
    except ValueError:
        # The parser's own words would quote the value.
        raise fc.RequestError(
            f"the value of {option} {name!r} begins like JSON and is not; quote it as a JSON"
            " string if it is meant as text",
            kind="invalid_option",
        ) from None


def duration(text: str, option: str, *, unit: str | None = None) -> timedelta:
    """Parse ``7d``, ``12h``, ``30m``, ``90s`` or several in a row; *unit* if none is named."""
    seconds, at = 0.0, 0
    for part in _DURATION.finditer(text.strip().lower()):
        scale = _UNITS.get(part["unit"] or unit or "")
        if part.start() != at or scale is None:
            break
        seconds, at = seconds + float(part["number"]) * scale, part.end()
    if not at or at != len(text.strip()):
        raise fc.RequestError(
            f"{option} {text!r} is no duration; write a number and one of s, m, h, d, w: 7d, 12h",
            kind="invalid_option",
        )
    try:
        return timedelta(seconds=seconds)
    except OverflowError:
        raise fc.RequestError(f"{option} {text!r} is too long", kind="invalid_option") from None


def listed(texts: Sequence[str] | None) -> list[str]:
    """Split values that may be repeated, separated by commas, or both."""
    return [name for text in texts or () for part in text.split(",") if (name := part.strip())]


class Redactor:
    """Takes the values of storage options out of text, in every spelling they may have there."""

    def __init__(self, options: StorageOptions = None, *, public: Iterable[str] = ()) -> None:
        """*public* is what was typed for all to see: no secret, unless it is named like one.

        Where a message repeats the whole of it, as in a command to be pasted, it stays as it is.
        """
        known = " ".join(typed := [*public])
        self._public = frozenset(text for text in typed if text and not _MAY_HOLD_ONE.search(text))
        self._hidden = frozenset(
            text
            for text, name in _leaves(options)
            if len(text) >= _SECRET_LENGTH_MIN and _is_hidden(name, text, known)
        )
        self._compile()

    def __or__(self, other: "Redactor") -> "Redactor":
        """Hides what either hides."""
        both = Redactor()
        both._public = self._public | other._public
        both._hidden = self._hidden | other._hidden
        both._compile()
        return both

    def __call__(self, text: str) -> str:
        """The text with each secret replaced."""
        if self._secrets is None:
            return text
        shown = [found.span() for found in self._typed.finditer(text)] if self._typed else []

        def hidden(found: re.Match[str]) -> str:
            inside = any(start <= found.start() and found.end() <= end for start, end in shown)
            return found[0] if inside else _HIDDEN

        return self._secrets.sub(hidden, text)

    def _compile(self) -> None:
        self._secrets = _pattern(self._hidden)
        # If a text that was typed is, as a whole, a secret, it is hidden wherever it stands.
        typed = sorted(self._public - self._hidden, key=len, reverse=True)
        self._typed = re.compile("|".join(map(re.escape, typed))) if typed else None

    def document(self, value: object) -> object:
        """A JSON document with each secret replaced, whatever it is inside of."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self(str(name)): self.document(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.document(inner) for inner in value]
        return value


def _is_hidden(name: str, text: str, known: str) -> bool:
    if _SECRET_NAME.search(name):
        return True
    is_open = name in _OPEN_NAMES and {"@", "?"}.isdisjoint(text)
    return not is_open and text not in known


def _leaves(value: object, name: str = "") -> Iterable[tuple[str, str]]:
    """Every text in nested options, with the name it stands under."""
    if isinstance(value, str):
        yield value, name
    elif isinstance(value, Mapping):
        for inner_name, inner in value.items():
            # What is inside of a secret is secret.
            full = f"{name}.{inner_name}" if _SECRET_NAME.search(name) else str(inner_name)
            yield from _leaves(inner, full)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)


def _pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    spellings = {
        spelling
        for secret in secrets
        for spelling in (
            secret,
            quote(secret),
            quote(secret, safe=""),
            quote_plus(secret),
            json.dumps(secret)[1:-1],
            repr(secret)[1:-1],
        )
    }
    parts = [
        re.escape(text)
        if len(text) >= _WHOLE_LENGTH_MIN
        else rf"{_WORD_BEGINS}{re.escape(text)}(?!\w)"
        for text in sorted(spellings, key=lambda text: (-len(text), text))
    ]
    return re.compile("|".join(parts)) if parts else None


def redacted_arguments(arguments: Sequence[str]) -> Callable[[str], str]:
    """What hides, in a text, the value of each ``NAME=VALUE`` of a command line not understood.

    An option itself, ``--mode=dynamic``, is shown with its value, unless it is named like a secret.
    """
    named = [text.removeprefix("--storage-option=") for text in arguments]
    pairs = [text.removeprefix("--source-storage-option=").partition("=") for text in named]
    hidden = [value for name, _, value in pairs if not _is_plain_option(name, value)]
    return Redactor({f"secret {n}": value for n, value in enumerate(hidden)})


def _is_plain_option(name: str, value: str) -> bool:
    return name.startswith("--") and "=" not in value and not _SECRET_NAME.search(name)
