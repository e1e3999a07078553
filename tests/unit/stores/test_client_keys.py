"""By what a client is known: another key wherever it might have been made otherwise."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit_stores.http.client_keys import key_of, own

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLAIN = st.none() | st.booleans() | st.integers() | st.text() | st.binary()
VALUES = st.recursive(
    PLAIN, lambda held: st.lists(held) | st.dictionaries(st.text(), held), max_leaves=8
)


@given(VALUES, VALUES)
def test_equal_options_have_one_key_and_others_another(one: Any, other: Any) -> None:
    """Also 1 and True, and "1": they are equal to Python, or look the same."""
    is_same = repr(one) == repr(other)
    keys = key_of("s3", options={"x": one}), key_of("s3", options={"x": other})
    assert None not in keys
    assert (keys[0] == keys[1]) is is_same or one == other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": "1"}),
        ({"a": b"1"}, {"a": "1"}),
        ({"a": ["1", "2"]}, {"a": ["1, 2"]}),
        ({"a": ["1"]}, {"a": ("1",)}),
        ({"a": {"b": "c"}}, {"a": ["b", "c"]}),
        ({"a": None}, {}),
        ({"a": [["b"], "c"]}, {"a": ["b", ["c"]]}),
    ],
)
def test_what_differs_in_kind_only_differs(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert key_of(options=one) != key_of(options=other)


def test_the_order_of_options_says_nothing() -> None:
    assert key_of(options={"a": 1, "b": 2}) == key_of(options={"b": 2, "a": 1})


def test_which_client_it_is_counts() -> None:
    keys = [key_of(*made, options={}) for made in [("s3", "a"), ("s3", "b"), ("gcs",), ("s3a",)]]
    assert len(set(keys)) == 4


@pytest.mark.parametrize("odd", [object(), lambda: "token", {1, 2}, 1j])
def test_of_what_is_not_plain_nobody_knows_whether_it_is_the_same(odd: object) -> None:
    """A session, credentials that renew themselves, a function: they may have changed within."""
    assert key_of(options={"session": odd}) is None
    assert key_of(options={"config_kwargs": {"x": [odd]}}) is None


def test_a_text_of_another_class_may_do_as_it_likes() -> None:
    class Text(str):
        __slots__ = ()

    assert key_of(options={"key": Text("a")}) is None


def test_any_variable_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has a list of all by which SDKs, their plugins and the network are told who asks."""
    keys = {key_of(options={})}
    for name, value in [("AWS_PROFILE", "a"), ("AWS_PROFILE", "b"), ("HADOOP_USER_NAME", "a")]:
        monkeypatch.setenv(name, value)
        keys.add(key_of(options={}))
    assert len(keys) == 4
    monkeypatch.delenv("HADOOP_USER_NAME")
    monkeypatch.setenv("AWS_PROFILE", "a")
    assert key_of(options={}) in keys


@pytest.mark.parametrize("named_by", ["option", "option within", "environment", "adapter"])
def test_a_file_that_says_who_asks_counts_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named_by: str
) -> None:
    file = tmp_path / "credentials"
    named: dict[str, dict[str, Any]] = {
        "option": {"token": str(file)},
        "option within": {"client_kwargs": {"verify": [str(file)]}},
    }
    options = named.get(named_by, {})
    files = [str(file)] if named_by == "adapter" else []
    if named_by == "environment":
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))

    def key() -> bytes | None:
        return key_of(options=options, files=files)

    missing = key()
    file.write_text("one")
    written = key()
    assert key() == written
    other = tmp_path / "other"
    other.write_text("two")
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    other.rename(file)
    replaced = key()
    file.write_text("three")
    assert len({missing, written, replaced, key()}) == 4


@pytest.mark.parametrize("named", ["~/key.json", "$WHERE/key.json", "key.json", "./key.json"])
@pytest.mark.parametrize("by", ["option", "environment", "adapter"])
def test_a_file_counts_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, by: str
) -> None:
    """So the SDKs read `AWS_SHARED_CREDENTIALS_FILE` and `GOOGLE_APPLICATION_CREDENTIALS`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WHERE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    if by == "environment":
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", named)
    options = {"token": named} if by == "option" else {}
    files = [named] if by == "adapter" else []
    file = tmp_path / "key.json"
    file.write_text("one")
    before = key_of(options=options, files=files)
    assert key_of(options=options, files=files) == before
    file.write_text("another")
    assert key_of(options=options, files=files) != before


def test_a_relative_name_is_another_file_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = set()
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "key.json").write_text(place[:3])
        monkeypatch.chdir(tmp_path / place)
        keys.add(key_of(options={"token": "key.json"}))
    assert len(keys) == 2


def test_a_file_counts_that_is_written_anew_in_its_place_with_its_old_time(tmp_path: Path) -> None:
    """As `rsync --inplace --times` does it, or `cp --preserve`."""
    file = tmp_path / "credentials"
    file.write_text("one")
    status = file.stat()
    before = key_of(options={"token": str(file)})
    while file.stat().st_ctime_ns == status.st_ctime_ns:
        file.write_text("two")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.stat().st_mtime_ns == status.st_mtime_ns
    assert key_of(options={"token": str(file)}) != before


def test_of_a_directory_of_logins_each_file_counts(tmp_path: Path) -> None:
    """`aws sso login` leaves a file named by a digest in one."""
    keys = {key_of(options={}, files=[str(tmp_path)])}
    (tmp_path / "a.json").write_text("one")
    keys.add(key_of(options={}, files=[str(tmp_path)]))
    (tmp_path / "a.json").write_text("another")
    keys.add(key_of(options={}, files=[str(tmp_path)]))
    (tmp_path / "a.json").unlink()
    assert key_of(options={}, files=[str(tmp_path)]) in keys
    assert len(keys) == 3


def test_a_variable_that_goes_meanwhile_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread of the program may change its environment at any moment."""

    class Environment(dict[str, str]):
        def __iter__(self) -> Iterator[str]:
            names = list(dict.__iter__(self))
            self.pop("GOING", None)
            return iter(names)

    monkeypatch.setattr(os, "environ", Environment(STAYING="a", GOING="b"))
    assert key_of(options={}) is not None


def test_a_tuple_of_another_class_may_do_as_it_likes() -> None:
    class Pair(NamedTuple):
        one: str

    assert key_of(options={"key": Pair("a")}) is None


def test_nobody_is_asked_for_a_file_by_the_name_of_a_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The working directory may be on a server, and what is asked there in a log."""
    asked: list[str] = []

    def look(path: str) -> Any:
        asked.append(path)
        raise FileNotFoundError

    secrets = ["planted-secret", "planted/Sec+ret/key=", "~planted", "$planted", "pw.planted"]
    environment = {f"PLANTED_{number}": secret for number, secret in enumerate(secrets)}
    monkeypatch.setattr(os, "environ", {**environment, "OF_A_FILE": "named"})
    monkeypatch.setattr(os, "stat", look)
    monkeypatch.setattr(os, "listdir", look)
    options = {"secret": secrets[0], "client_kwargs": {"token": secrets}, "verify": "ca.pem"}
    assert key_of(options=options) is not None
    assert sorted(asked) == ["ca.pem", "named"]


@given(st.dictionaries(st.text(), VALUES))
def test_own_options_are_the_same_and_share_nothing(options: dict[str, Any]) -> None:
    shared = {"held": options, "in": [options], "also in": (options, MappingProxyType(options))}
    ours = own(shared)
    assert key_of(options=ours) == key_of(options=shared)
    options["later"] = "another"
    assert key_of(options=ours) != key_of(options=shared)


def test_nothing_is_told_by_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-environment")
    key = key_of("s3", options={"secret": "of-option"})
    assert isinstance(key, bytes)
    assert len(key) == 64
    assert b"of-" not in key
