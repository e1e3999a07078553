"""Option texts become values, and secrets stay out of what is printed."""

from __future__ import annotations

import json
from datetime import timedelta
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsspec_commit import RequestError
from fsspec_commit.cli.options import (
    Redactor,
    duration,
    listed,
    redacted_arguments,
    storage_options,
)


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("profile=prod", "prod"),
        ("anon=true", True),
        ("anon=True", "True"),
        ("token=null", "null"),
        ("retries=3", 3),
        ("ratio=-0.5", -0.5),
        ("zone=007", "007"),
        ("empty=", ""),
        ("url=http://h/?a=b", "http://h/?a=b"),
        ('client_kwargs={"endpoint_url": "http://h"}', {"endpoint_url": "http://h"}),
        ('version="7"', "7"),
        # Numbers by accident: an account's key of digits only is text.
        ("secret=1234", "1234"),
        ("account_key=true", "true"),
        ('token={"type": "x"}', {"type": "x"}),
    ],
)
def test_a_value_is_json_where_it_reads_as_json(pair: str, value: object) -> None:
    assert storage_options([pair]) == {pair.partition("=")[0]: value}


def test_no_option_is_none() -> None:
    assert storage_options(None) is None
    assert storage_options([]) is None


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (["hunter2"], "takes NAME=VALUE"),
        (["=hunter2"], "takes NAME=VALUE"),
        (["secret=hunter2", "secret=hunter2"], "'secret' is given twice"),
        (['secret={"hunter2"'], "'secret' begins like JSON"),
    ],
)
def test_a_wrong_option_is_named_and_its_value_is_not(pairs: list[str], says: str) -> None:
    with pytest.raises(RequestError, match=says) as raised:
        storage_options(pairs)
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.kind == "invalid_option"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7d", 604_800),
        ("12h", 43_200),
        ("90m", 5_400),
        ("45s", 45),
        ("1.5h", 5_400),
        ("1d12h", 129_600),
        ("1 w", 604_800),
        (" 2H ", 7_200),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text, "--older-than") == timedelta(seconds=seconds)


def test_a_duration_may_have_a_unit_of_its_own() -> None:
    assert duration("90", "--wait", unit="s") == timedelta(seconds=90)


@pytest.mark.parametrize(
    "text", ["", "7", "d", "7 days", "-7d", "7d!", "x7d", "1h 2", "7d-1h", "nan", "9e9d"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="is no duration"):
        duration(text, "--older-than")


def test_a_duration_has_an_end() -> None:
    with pytest.raises(RequestError, match="too long"):
        duration("99999999999d", "--older-than")


def test_columns_are_repeated_or_separated() -> None:
    assert listed(["a,b", " c ", ","]) == ["a", "b", "c"]
    assert listed(None) == []


@given(st.text(min_size=4).filter(str.strip))
@example("a/b+c==")
@example('quote\'d "twice"\\')
@example("line\nbreak")
def test_a_secret_is_hidden_in_every_spelling(secret: str) -> None:
    hide = Redactor({"client_kwargs": {"aws_secret_access_key": secret}})
    for spelling in (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe="")):
        assert hide(f"<{spelling}>") == "<***>"


def test_a_short_secret_is_hidden_as_a_word_only() -> None:
    hide = Redactor({"password": "test"})
    assert hide("test latest 'test' me:test@host p%3Dtest \\ntest") == (
        "*** latest '***' me:***@host p%3D*** \\n***"
    )


def test_what_is_too_short_to_be_a_secret_is_shown() -> None:
    """It was `*** file`, which tells as much, and nobody could read the ids and numbers."""
    hide = Redactor({"key": "1", "token": {"x": "abc"}})
    assert hide("1 of 10 files, abc") == "1 of 10 files, abc"


def test_a_command_that_names_the_destination_can_be_pasted() -> None:
    """It was `fsspec-commit resume s3://***-x/la***`."""
    url = "s3://minioadmin-x/latest"
    hide = Redactor({"key": "test", "secret": "minioadmin"}, public=[url])
    assert hide(f"test minioadmin: fsspec-commit resume {url} 20261120") == (
        f"*** ***: fsspec-commit resume {url} 20261120"
    )
    assert hide("s3://minioadmin-y") == "s3://***-y"
    both = Redactor() | hide
    assert both(f"{url} minioadmin") == f"{url} ***"


@pytest.mark.parametrize("url", ["sftp://me:hunter22@host/x", "https://host/x?sig=hunter22"])
def test_a_secret_that_is_also_in_what_was_typed_is_hidden(url: str) -> None:
    hide = Redactor({"secret": "hunter22"}, public=[url])
    assert hide(url) == url.replace("hunter22", "***")


def test_what_goes_beyond_the_destination_is_hidden() -> None:
    hide = Redactor({"secret": "x/hunter2"}, public=["s3://b/x", "x/hunter2"])
    assert hide("s3://b/x/hunter2 x/hunter2") == "s3://b/*** ***"


def test_where_a_store_is_is_no_secret() -> None:
    hide = Redactor(
        {
            "endpoint_url": "http://store:9000",
            "account_name": "acct",
            "client_kwargs": {"region_name": "eu-west-1"},
            "anon": True,
            "port": 9000,
            "profile": "work",
            "config_kwargs": {"s3": {"addressing_style": "path"}},
        }
    )
    text = "http://store:9000 acct eu-west-1 True 9000 work path"
    assert hide(text) == text


def test_credentials_in_an_endpoint_are_a_secret() -> None:
    hide = Redactor({"endpoint_url": "http://me:hunter2@store", "host": "h?sig=hunter3"})
    assert hide("cannot reach http://me:hunter2@store h?sig=hunter3") == "cannot reach *** ***"


def test_what_was_typed_for_all_to_see_is_hidden_only_if_it_is_named_like_a_secret() -> None:
    options = {"container": "events", "sas_token": "events2"}
    hide = Redactor(options, public=["abfs://events@acct/events2"])
    assert hide("events and events2") == "events and ***"


def test_everything_inside_of_a_secret_is_secret() -> None:
    hide = Redactor({"token": {"project": "hunter2"}, "headers": [["X", "hunter3"]]})
    assert hide("hunter2 hunter3") == "*** ***"


def test_documents_are_redacted_inside() -> None:
    hide = Redactor({"secret": "12345"})
    document = {"a": ["x 12345"], "n": 12345, "12345": None, "deep": {"b": ("12345",)}}
    assert hide.document(document) == {
        "a": ["x ***"],
        "n": 12345,
        "***": None,
        "deep": {"b": ["***"]},
    }


def test_two_redactors_hide_what_either_hides() -> None:
    hide = Redactor({"secret": "hunter2"}) | Redactor({"secret": "hunter3"})
    assert hide("hunter2 hunter3") == "*** ***"


def test_an_option_that_was_not_understood_shows_what_is_no_secret() -> None:
    """`--mode=dynamic` was answered "'***' is not one of"."""
    hide = redacted_arguments(
        ["write", "--mode=dynamic", "--token=hunter2", "--storag=key=hunter3"]
    )
    assert hide("dynamic, hunter2, key=hunter3") == "dynamic, ***, ***"


def test_a_command_line_that_was_not_understood_shows_no_value() -> None:
    hide = redacted_arguments(
        ["jobs", "--storage-option=key=hunter2", "secret=hunter3", "--source-storage-option=a=b4b4"]
    )
    assert hide("unexpected hunter2, (secret=hunter3), b4b4") == "unexpected ***, (secret=***), ***"
