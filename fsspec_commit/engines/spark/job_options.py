"""Options of a job as Spark's settings carry them: all of them text."""

from collections.abc import Mapping

from fsspec_commit.errors import RequestError
from fsspec_commit.options import JobOptions
from fsspec_commit.suggestions import option_hint

_TEXTS = ("committer", "durability", "idempotency_key", "success")
_FLAGS = ("delete_by_name", "probe", "single_writer")
_NUMBERS = {"concurrency": int, "wait_s": float}
# Of the jar itself.
_OTHERS = ("credentials", "python")
_KNOWN = (*_TEXTS, *_FLAGS, *_NUMBERS, *_OTHERS)


def job_options(texts: Mapping[str, str]) -> JobOptions:
    """The options of a job that ``spark.fsspec_commit.<name>`` settings name.

    Raises:
        RequestError: A name is unknown, or a value does not fit it.
    """
    options: JobOptions = {}
    for name, text in texts.items():
        if name in _OTHERS:
            continue
        if name not in _KNOWN:
            message = (
                f"there is no setting spark.fsspec_commit.{name}{option_hint(name, _KNOWN)}"
                f" (there are: {', '.join(_KNOWN)})"
            )
            raise RequestError(message, kind="invalid_option")
        options[name] = _value(name, text)  # type: ignore[literal-required]
    return options


def _value(name: str, text: str) -> object:
    if name in _TEXTS:
        return text
    try:
        if name in _FLAGS:
            return {"true": True, "false": False}[text.lower()]
        return _NUMBERS[name](text)
    except (KeyError, ValueError):
        what = "true or false" if name in _FLAGS else "a number"
        message = f"spark.fsspec_commit.{name} is {what}, not {text!r}"
        raise RequestError(message, kind="invalid_option") from None
