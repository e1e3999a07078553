"""Files of every format become one stream with one schema, and nothing of them is lost."""

from __future__ import annotations

import bz2
import gzip
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from fsspec_commit.cli import json_lines, reading
from fsspec_commit.cli.sources import find_sources

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLE = pa.table({"n": [1, 2], "s": ["a", None]})


def read(*sources: Path | str, as_format: str | None = None) -> pa.Table:
    files = find_sources([str(source) for source in sources], as_format=as_format, options=None)
    counts: list[int] = []
    table = reading.open_rows(files).reader(counts.append).read_all()
    assert sum(counts) == table.num_rows
    return table


def write_csv(table: pa.Table, path: Path) -> None:
    pyarrow.csv.write_csv(table, path)


def write_json(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "parquet": pq.write_table,
    "csv": write_csv,
    "jsonl": write_json,
    "orc": pyarrow.orc.write_table,
    "feather": pyarrow.feather.write_feather,
    "csv.gz": lambda table, path: _compressed(write_csv, table, path, gzip.compress),
    "jsonl.gz": lambda table, path: _compressed(write_json, table, path, gzip.compress),
    "jsonl.bz2": lambda table, path: _compressed(write_json, table, path, bz2.compress),
}


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    """Arrow takes the first rows of it for bytes, and refuses it further back."""
    path = tmp_path / "a.csv"
    path.write_bytes("name\nJosé\n".encode("latin-1"))
    with pytest.raises(fc.RequestError, match="column 'name' is not in UTF-8; convert the file"):
        read(path)


def _compressed(
    write: Callable[[pa.Table, Path], None],
    table: pa.Table,
    path: Path,
    compress: Callable[[bytes], bytes],
) -> None:
    write(table, path)
    path.write_bytes(compress(path.read_bytes()))


@pytest.mark.parametrize("extension", WRITERS)
def test_every_format_is_read(extension: str, tmp_path: Path) -> None:
    WRITERS[extension](TABLE, tmp_path / f"a.{extension}")
    found = read(tmp_path / f"a.{extension}")
    assert found.schema.remove_metadata() == TABLE.schema
    assert found.column("n").to_pylist() == [1, 2]
    # CSV has one way to write an empty text and none.
    assert found.column("s").to_pylist() == ["a", "" if "csv" in extension else None]


def test_formats_are_mixed(tmp_path: Path) -> None:
    for number, extension in enumerate(WRITERS):
        table = pa.table({"n": [number], extension: ["x"]})
        WRITERS[extension](table, tmp_path / f"{number}.{extension}")
    found = read(tmp_path)
    assert sorted(found.column("n").to_pylist()) == list(range(len(WRITERS)))
    assert set(found.column_names) == {"n", *WRITERS}
    for row in found.to_pylist():
        assert [name for name, value in row.items() if value == "x"] == [list(WRITERS)[row["n"]]]


def test_what_only_later_files_have_is_kept(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [2**53 + 1], "late": ["x"]}), tmp_path / "b.parquet")
    assert read(tmp_path).to_pylist() == [
        {"n": 1, "late": None},
        {"n": 2**53 + 1, "late": "x"},
    ]


def test_a_column_that_a_file_lacks_is_null_even_if_another_forbids_it(tmp_path: Path) -> None:
    strict = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("s", pa.string())])
    pq.write_table(pa.table({"n": [1], "s": ["a"]}, schema=strict), tmp_path / "a.parquet")
    pq.write_table(pa.table({"s": ["b"]}), tmp_path / "b.parquet")
    assert read(tmp_path).column("n").to_pylist() == [1, None]


def test_numbers_are_widened_and_never_rounded(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [0.5]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [2]}), tmp_path / "b.parquet")
    assert read(tmp_path).column("n").to_pylist() == [0.5, 2.0]
    pq.write_table(pa.table({"n": [2**53 + 1]}), tmp_path / "b.parquet")
    with pytest.raises(pa.ArrowInvalid, match="9007199254740993"):
        read(tmp_path)


def test_columns_of_different_kinds_are_refused_with_both_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(
        fc.RequestError, match=r"b\.parquet.*column 'n' is int64 .* string"
    ) as raised:
        read(tmp_path)
    assert raised.value.kind == "different_schemas"


@pytest.mark.parametrize("extension", ["csv", "parquet", "orc", "feather", "jsonl"])
def test_a_file_that_is_none_of_its_format_is_refused(extension: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{extension}").write_bytes(b"" if extension == "csv" else b"\x00\xffgarbage\n")
    with pytest.raises(fc.RequestError, match="cannot read source") as raised:
        read(tmp_path / f"a.{extension}")
    assert raised.value.kind == "unreadable_source"


def test_a_json_field_that_appears_late_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "_BLOCK_BYTES", 1_000)
    rows = [{"n": n, "deep": {"a": n}, "when": "2026-01-01T00:00:00"} for n in range(500)]
    late = {"n": 0.5, "deep": {"b": [{"c": 1}]}, "late": "x", "when": "never"}
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, late]).rstrip())
    found = read(path).to_pylist()
    assert len(found) == 501
    assert found[0] == {
        "n": 0.0,
        "deep": {"a": 0, "b": None},
        "when": "2026-01-01T00:00:00",
        "late": None,
    }
    assert found[-1] == {**late, "deep": {"a": None, "b": [{"c": 1}]}}


def test_a_json_line_may_be_longer_than_arrows_block(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"n": 1, "s": "x" * (3 << 20)}) + "\n" + json.dumps({"n": 2}) + "\n")
    assert read(path).column("n").to_pylist() == [1, 2]


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_json_file_has_no_rows(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    (tmp_path / "b.jsonl").write_text('{"n": 1}\n')
    assert read(tmp_path).to_pylist() == [{"n": 1}]


def test_a_csv_value_may_hold_line_breaks_anywhere(tmp_path: Path) -> None:
    # Of any two blocks of 1 MiB, one ends inside of quotes, after what looks like a whole row.
    row = '%d,"' + "\n1,x" * 2_000 + '"\n'
    (tmp_path / "a.csv").write_text("n,s\n" + "".join(row % n for n in range(1_000)))
    found = read(tmp_path / "a.csv")
    assert found.column("n").to_pylist() == list(range(1_000))
    assert set(found.column("s").to_pylist()) == {"\n1,x" * 2_000}


def test_times_and_words_in_text_are_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t\n2026-01-01 00:00:00\n")
    (tmp_path / "b.csv").write_text("t\nnever\n")
    assert read(tmp_path).column("t").to_pylist() == ["2026-01-01 00:00:00", "never"]


def test_directories_become_columns(tmp_path: Path) -> None:
    for month, extension in (("01", "csv"), ("02", "parquet")):
        directory = tmp_path / "year=2026" / f"month={month}"
        directory.mkdir(parents=True)
        WRITERS[extension](pa.table({"n": [1]}), directory / f"a.{extension}")
    none = tmp_path / "year=__HIVE_DEFAULT_PARTITION__" / "month=a%20b"
    none.mkdir(parents=True)
    WRITERS["csv"](pa.table({"n": [2]}), none / "a.csv")
    found = read(tmp_path)
    assert found.schema.field("year").type == pa.int64()
    assert sorted(found.to_pylist(), key=lambda row: str(row["month"])) == [
        {"n": 1, "year": 2026, "month": "01"},
        {"n": 1, "year": 2026, "month": "02"},
        {"n": 2, "year": None, "month": "a b"},
    ]


def test_a_file_beside_the_directories_has_none_of_their_columns(tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    WRITERS["csv"](pa.table({"n": [1]}), tmp_path / "day=1" / "a.csv")
    WRITERS["csv"](pa.table({"n": [2]}), tmp_path / "b.csv")
    assert sorted(map(str, read(tmp_path).to_pylist())) == [
        "{'n': 1, 'day': 1}",
        "{'n': 2, 'day': None}",
    ]


def test_a_column_in_the_file_and_in_its_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n=1").mkdir()
    WRITERS["csv"](pa.table({"n": [2]}), tmp_path / "n=1" / "a.csv")
    with pytest.raises(fc.RequestError, match="column 'n' is in the files and in the names"):
        read(tmp_path)


def test_metadata_of_the_schema_is_kept(tmp_path: Path) -> None:
    table = TABLE.replace_schema_metadata({"pandas": "{}"})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path).schema.metadata[b"pandas"] == b"{}"


def test_many_files_are_read(tmp_path: Path) -> None:
    for number in range(100):
        WRITERS["csv"](pa.table({"n": [number]}), tmp_path / f"{number}.csv")
    assert sorted(read(tmp_path).column("n").to_pylist()) == list(range(100))
