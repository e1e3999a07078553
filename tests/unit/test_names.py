"""What a file may be called: nothing outside the destination, nothing of the protocol's own."""

from __future__ import annotations

import posixpath
import re
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fsspec_commit.errors import RequestError
from fsspec_commit.ids import AttemptId, JobId
from fsspec_commit.names import (
    AREA,
    NAME_BYTES_MAX,
    TARGET_BYTES_MAX,
    Target,
    are_plain,
    declared_partition,
    from_uri_path,
    hive_path,
    is_in_work_area,
    is_plain,
    is_visible,
    partition_key,
    partition_of,
    target,
    unique_suffix,
    uniquely_named,
    uri_path,
    working_name,
)

JOB = JobId("20261120T140355-9c1e5f00a1b2c3d4")

# What hostile names are made of, besides any text.
PIECES = st.sampled_from(
    [
        *("", ".", "..", "/", "//", "\\", "\0", "\n", "a", "day=1", "é", "\ud800", "%2e%2e", "%2F"),
        *("_commit", "_COMMIT", "_SUCCESS", "://", "s3://b", "x.parquet", "y" * 256, "~", " "),
    ]
)
HOSTILE = st.one_of(
    st.lists(PIECES, max_size=6).map("/".join), st.lists(PIECES, max_size=6).map("".join), st.text()
)


def accepted(text: str) -> Target | None:
    try:
        return target(text)
    except RequestError:
        return None


@given(HOSTILE)
@example("a/../../b")
@example("/etc/passwd")
@example("..")
@example("_Commit/x")
@example("a/_commit/b")
def test_a_target_never_leaves_the_destination(text: str) -> None:
    name = accepted(text)
    assume(name is not None)
    assert name == text
    joined = posixpath.normpath(posixpath.join("/data/out", text))
    assert joined == f"/data/out/{text}"
    # No component is the work area's or the marker's, on a file system that folds case either.
    assert {AREA, "_success"}.isdisjoint(part.casefold() for part in text.split("/"))
    assert all(len(part.encode()) <= NAME_BYTES_MAX for part in text.split("/"))
    assert len(text.encode()) <= TARGET_BYTES_MAX
    assert not is_in_work_area(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "outside_destination"),
        ("/a", "outside_destination"),
        ("a/", "outside_destination"),
        ("a//b", "outside_destination"),
        ("../a", "outside_destination"),
        ("a/../b", "outside_destination"),
        ("./a", "outside_destination"),
        ("s3://bucket/a", "outside_destination"),
        ("a\0b", "outside_destination"),
        ("_commit", "reserved_name"),
        ("_commit/job.json", "reserved_name"),
        ("a/_commit/b", "reserved_name"),
        ("_COMMIT/a", "reserved_name"),
        ("_SUCCESS", "reserved_name"),
        ("day=1/_SUCCESS", "reserved_name"),
        ("_SUCCESS/a", "reserved_name"),
        ("day=1/_success", "reserved_name"),
        ("a/_Success/b", "reserved_name"),
        ("x" * 256, "name_too_long"),
        ("é" * 128, "name_too_long"),
        ("/".join(["x" * 200] * 6), "name_too_long"),
        ("\ud800", "invalid_name"),
    ],
)
def test_a_refused_name_says_why(text: str, kind: str) -> None:
    with pytest.raises(RequestError) as caught:
        target(text)
    assert caught.value.kind == kind
    assert caught.value.outcome == "not_committed"
    str(caught.value).encode()  # printable, whatever the name was


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "_metadata",
        ".hidden",
        "_SUCCESS.txt",
        "my_success/_successful",
        "day=2026-11-20/part 1.parquet",
        "a:b",
        "..a",
        "a..",
        "ünïcode/名前",
        "a\\b",
        "x" * 255,
    ],
)
def test_ordinary_and_odd_names_are_taken(text: str) -> None:
    assert target(text) == text


# Names that people give: with and without directories, extensions, dashes and dots.
FILE_NAMES = st.one_of(
    st.builds(
        "{}{}{}".format,
        st.text("ab1._-", min_size=1, max_size=12),
        st.sampled_from(["", ".csv", ".parquet", ".gz"]),
        st.sampled_from(["", ".gz", ".zst"]),
    ),
    st.text(min_size=1, max_size=40),
)
TARGETS = (
    st.lists(FILE_NAMES, min_size=1, max_size=3)
    .map("/".join)
    .map(accepted)
    .filter(lambda name: name is not None)
)
TASKS = st.integers(min_value=0, max_value=(1 << 31) - 1)
ATTEMPTS = st.none() | st.binary(min_size=8, max_size=8).map(bytes.hex).map(AttemptId)


@given(
    st.lists(st.tuples(TARGETS, TASKS, ATTEMPTS), min_size=2, max_size=2, unique=True),
)
def test_two_files_never_get_one_unique_name(
    files: list[tuple[Target, int, AttemptId | None]],
) -> None:
    # A store has one way of naming, and a hidden file keeps its name.
    assume(len({attempt is None for _, _, attempt in files}) == 1)
    assume(all(is_visible(name.rpartition("/")[2]) for name, _, _ in files))
    one, other = (
        uniquely_named(name, unique_suffix(JOB, task, attempt)) for name, task, attempt in files
    )
    assert one != other


@given(TARGETS, TASKS, ATTEMPTS)
def test_a_unique_name_tells_the_given_one(
    name: Target, task: int, attempt: AttemptId | None
) -> None:
    suffix = unique_suffix(JOB, task, attempt)
    named = uniquely_named(name, suffix)
    if name.rpartition("/")[2].startswith(("_", ".")):
        assert named == name
        return
    assert accepted(named) == named
    assert partition_of(named) == partition_of(name)
    before, found, after = named.rpartition(suffix)
    assert found
    assert before + after == name
    assert "-" not in after
    assert is_visible(named) == is_visible(name)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("part.parquet", f"part-{JOB}-3.parquet"),
        ("part.csv.gz", f"part-{JOB}-3.csv.gz"),
        ("part.snappy.parquet", f"part-{JOB}-3.snappy.parquet"),
        ("day=1/part", f"day=1/part-{JOB}-3"),
        ("v1.2/part", f"v1.2/part-{JOB}-3"),
        ("2026.11.20", f"2026.11.20-{JOB}-3"),
        ("a.b.csv", f"a.b-{JOB}-3.csv"),
        ("_metadata", "_metadata"),
        (".part.crc", ".part.crc"),
    ],
)
def test_a_suffix_goes_before_the_extension(name: str, named: str) -> None:
    assert uniquely_named(target(name), unique_suffix(JOB, 3)) == named


def test_a_unique_name_that_no_store_can_hold_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        uniquely_named(target("x" * 250 + ".csv"), unique_suffix(JOB, 3))
    assert caught.value.kind == "name_too_long"


PARTITIONS = st.lists(st.text(min_size=1, max_size=8), max_size=4).map("/".join)


def overlap(one: str, other: str) -> bool:
    """Overlap as the design says it: equal, or a component-wise prefix."""
    keys = sorted((partition_key(one), partition_key(other)), key=len)
    return keys[1][: len(keys[0])] == keys[0]


@given(PARTITIONS, PARTITIONS)
def test_overlap_is_equal_or_component_wise_prefix(above: str, below: str) -> None:
    assert overlap(above, above)
    assert overlap(above, f"{above}/{below}" if above and below else above or below)
    assert overlap("", below)
    assert overlap(above, below) == overlap(below, above)


@given(PARTITIONS)
def test_a_key_has_as_many_components_as_its_partition(partition: str) -> None:
    assert len(partition_key(partition)) == (len(partition.split("/")) if partition else 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("day=a b", "day=a%20b"),
        ("city=K\u00f6ln", "city=Ko\u0308ln"),
        ("city=K\u00f6ln", "city=K%C3%B6ln"),
        ("City=X", "city=x"),
        ("s=stra\u00dfe", "s=STRASSE"),
        ("a", "a/b"),
        ("", "a/b"),
    ],
)
def test_spellings_of_one_partition_overlap(one: str, other: str) -> None:
    assert overlap(one, other)
    assert overlap(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("month=1", "month=01"),
        ("day=1", "day=10"),
        ("a/b", "a/c"),
        ("a/b", "ab"),
        ("x=%2520", "x=%20"),
    ],
)
def test_other_partitions_do_not_overlap(one: str, other: str) -> None:
    assert not overlap(one, other)
    assert not overlap(other, one)


def test_a_declared_partition_may_end_in_a_slash_and_stays_inside() -> None:
    assert declared_partition("day=1/") == "day=1"
    for text in ("", "/", "..", "a/../b", "_commit"):
        with pytest.raises(RequestError):
            declared_partition(text)


# Spark's own rules, written down apart: ExternalCatalogUtils.escapePathName, unescapePathName.
SPARK_ESCAPES = re.compile("[\x01-\x1f\"#%'*/:=?\\\\\x7f{\\[\\]^]")


def spark_escaped(text: str) -> str:
    return SPARK_ESCAPES.sub(lambda match: f"%{ord(match[0]):02X}", text)


def spark_unescaped(text: str) -> str:
    return re.sub("%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), text)


COLUMNS = st.text("abcXYZ_09", min_size=1, max_size=8).map("c".__add__)
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@given(st.dictionaries(COLUMNS, VALUES, min_size=1, max_size=3))
def test_a_hive_path_is_escaped_as_spark_does(values: dict[str, str]) -> None:
    path = hive_path(**values)
    expected = [
        f"{name}={spark_escaped(value) or '__HIVE_DEFAULT_PARTITION__'}"
        for name, value in values.items()
    ]
    assert path == "/".join(expected)
    read = [part.partition("=") for part in path.split("/")]
    assert [(name, spark_unescaped(value)) for name, _, value in read] == [
        (name, value or "__HIVE_DEFAULT_PARTITION__") for name, value in values.items()
    ]


@given(st.dictionaries(COLUMNS, VALUES.filter(bool), min_size=1, max_size=3))
def test_pyarrow_reads_the_values_of_a_hive_path(values: dict[str, str]) -> None:
    pa = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    assume("__HIVE_DEFAULT_PARTITION__" not in values.values())
    schema = pa.schema([(name, pa.string()) for name in values])
    partitioning = dataset.HivePartitioning(schema, segment_encoding="uri")
    read: Any = partitioning.parse(f"{hive_path(**values)}/part.parquet")
    assert dataset.get_partition_keys(read) == values


@given(st.dictionaries(COLUMNS, VALUES, min_size=1, max_size=3))
def test_a_hive_path_is_a_name_of_the_destination(values: dict[str, str]) -> None:
    assume(
        all(len(spark_escaped(value).encode()) < NAME_BYTES_MAX - 10 for value in values.values())
    )
    assert declared_partition(hive_path(**values)) == hive_path(**values)


def test_a_hive_path_takes_other_values_than_text() -> None:
    assert hive_path(day="a b", h=3) == "day=a b/h=3"
    assert hive_path(x=None) == "x=__HIVE_DEFAULT_PARTITION__"
    assert hive_path(x="") == "x=__HIVE_DEFAULT_PARTITION__"
    assert hive_path(x=True, y=False) == "x=true/y=false"
    assert hive_path(x=1.5) == "x=1.5"
    assert hive_path() == ""


@given(TARGETS)
def test_a_uri_path_comes_back(name: Target) -> None:
    encoded = uri_path(name)
    assert from_uri_path(encoded) == name
    assert unquote(encoded) == name
    assert encoded.isascii()


@given(TARGETS)
def test_a_working_name_is_short_enough_and_no_data_file(name: Target) -> None:
    working = working_name(name)
    assert working.endswith(".pending")
    assert accepted(working) == working or len(name) + 8 > TARGET_BYTES_MAX
    if len(name.rpartition("/")[2].encode()) + 8 <= NAME_BYTES_MAX:
        assert working == f"{name}.pending"


@given(st.lists(st.one_of(PIECES, st.sampled_from(["a/b", "a\nb", "x" * 300, "_a"]), st.text())))
def test_names_are_plain_together_when_each_is(texts: list[str]) -> None:
    assert are_plain(texts) == all(map(is_plain, texts))
