"""Rows of one partition become files of one attempt: in bounded memory, and each row once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from fsspec_commit.engines.partition_writer import WriteSpec, write_partition
from fsspec_commit.engines.partition_writer.dictionaries import dictionary_columns
from fsspec_commit.engines.partition_writer.directories import Directories
from fsspec_commit.engines.partition_writer.split import split

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 6_000


def rows(count: int = ROWS) -> pa.Table:
    """Rows whose two partition columns are in no order, each with a number of its own."""
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "day": pa.array([f"d{i * 7 % 20:02}" for i in range(count)], pa.string()),
            "hour": pa.array([i * 13 % 3 for i in range(count)], pa.int32()),
            "text": pa.array([f"text {i}" for i in range(count)], pa.string()),
        }
    )


def written(table: pa.Table, destination: Path, **how: Any) -> fc.CommitResult:
    """One job of one task, of batches of 500 rows."""
    with fc.Job(destination, allow_empty=True) as job:
        spec = WriteSpec(job=job.spec, schema=table.schema, **how)
        message = write_partition(table.to_batches(max_chunksize=500), spec, 0)
        return job.commit([message])


def read(destination: Path) -> pa.Table:
    fields = [pa.field("day", pa.string()), pa.field("hour", pa.int32())]
    hive = ds.partitioning(pa.schema(fields), flavor="hive")
    found = ds.dataset(destination, format="parquet", partitioning=hive).to_table()
    return found.select(["id", "day", "hour", "text"]).sort_by("id")


@pytest.mark.parametrize("partition_by", [(), ("day",), ("hour", "day")])
@pytest.mark.parametrize("how", [{}, {"max_open_files": 2, "buffered_bytes": 20_000}])
def test_every_row_is_written_once(
    tmp_path: Path, partition_by: tuple[str, ...], how: dict[str, Any]
) -> None:
    result = written(rows(), tmp_path, partition_by=partition_by, **how)
    assert result.rows == ROWS
    assert read(tmp_path).equals(rows())


def test_the_order_of_rows_is_kept_in_each_directory(tmp_path: Path) -> None:
    written(rows(), tmp_path, partition_by=("day",))
    for path in tmp_path.glob("day=*/*.parquet"):
        ids = pq.read_table(path, partitioning=None)["id"].to_pylist()
        assert ids == sorted(ids)


def test_names_are_those_of_spark(tmp_path: Path) -> None:
    (plain,) = written(rows(), tmp_path / "plain").files
    assert plain.startswith("part-00000-c000-")
    assert plain.endswith(".snappy.parquet")
    result = written(rows(), tmp_path / "hive", partition_by=("hour", "day"), compression="zstd")
    assert min(result.partitions) == "hour=0/day=d00"
    assert all(name.endswith(".zstd.parquet") for name in result.files)


def test_no_more_files_are_open_than_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    begin = Directories._begin

    def counted(self: Directories, *given: Any) -> Any:
        file = begin(self, *given)
        seen.append(len(self._open))
        return file

    monkeypatch.setattr(Directories, "_begin", counted)
    monkeypatch.setattr("fsspec_commit.engines.partition_writer.write._PORTION_BYTES", 20_000)
    how = {"max_open_files": 3, "buffered_bytes": 20_000}
    result = written(rows(), tmp_path, partition_by=("day",), **how)
    assert max(seen) == 3
    # So a directory whose file was closed has got another one.
    assert result.file_count > 20
    assert read(tmp_path).equals(rows())


def test_batches_of_few_rows_are_counted_as_what_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of 12 bytes takes a kilobyte by itself: 64 MB of such rows would be gigabytes."""
    seen = []
    begin = Directories._begin

    def counted(self: Directories, *given: Any) -> Any:
        seen.append(sum(len(one.waiting) for one in self._known.values()))
        return begin(self, *given)

    monkeypatch.setattr(Directories, "_begin", counted)
    table = pa.table({"p": pa.array(range(200), pa.int32()), "x": [0] * 200, "y": [0] * 200})
    assert written(table, tmp_path, partition_by=("p",), buffered_bytes=40_000).file_count == 200
    assert max(seen) <= 40


def test_a_file_has_no_more_rows_than_allowed(tmp_path: Path) -> None:
    result = written(rows(), tmp_path, partition_by=("hour",), max_rows_per_file=450)
    counts = [pq.read_metadata(tmp_path / name).num_rows for name in result.files]
    assert max(counts) == 450
    assert sum(counts) == ROWS
    # Of 2,000 rows each: four files that are full, and one that is not.
    assert result.file_count == 15


def test_row_groups_are_as_large_as_asked_for(tmp_path: Path) -> None:
    (name,) = written(rows(), tmp_path, row_group_bytes=rows(2_000).nbytes).files
    assert pq.read_metadata(tmp_path / name).num_row_groups == 3


def test_without_rows_task_0_alone_writes_a_file(tmp_path: Path) -> None:
    (name,) = written(rows(0), tmp_path / "plain").files
    assert pq.read_schema(tmp_path / "plain" / name).equals(rows().schema)
    assert written(rows(0), tmp_path / "hive", partition_by=("day",)).file_count == 0
    with fc.Job(tmp_path / "second") as job:
        spec = WriteSpec(job=job.spec, schema=rows().schema)
        first, second = (write_partition([], spec, number) for number in (0, 1))
        assert (first.file_count, second.file_count) == (1, 0)
        job.commit([first, second])


def test_the_footer_holds_what_was_asked_for(tmp_path: Path) -> None:
    (name,) = written(rows(), tmp_path, footer={"who": "me"}).files
    # And no schema of Arrow's: other readers would take types from it that Spark does not mean.
    assert pq.read_metadata(tmp_path / name).metadata == {b"who": b"me"}


def test_structs_that_are_null_hold_fields_that_never_are(tmp_path: Path) -> None:
    """An engine leaves such a field null where its struct is, and Arrow would write none of it."""
    inner = pa.struct([pa.field("b", pa.binary(), nullable=False), pa.field("c", pa.int32())])
    fields = [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("flags", pa.list_(pa.bool_()), nullable=False),
        pa.field("inner", inner, nullable=False),
    ]
    kind = pa.struct(fields)
    here = {"number": 1, "flags": [True, None], "inner": {"b": b"x", "c": None}}
    nothing = {"b": None, "c": None}
    table = pa.table(
        {
            "id": pa.array([*range(4)]),
            "one": pa.StructArray.from_arrays(
                [
                    pa.array([1, None, 1, None], pa.int64()),
                    pa.array([[True, None], None, [True, None], None], pa.list_(pa.bool_())),
                    pa.array([here["inner"], None, here["inner"], nothing], inner),
                ],
                fields=fields,
                mask=pa.array([False, True, False, True]),
            ),
        }
    )
    ones = table["one"].combine_chunks()
    lists = pa.ListArray.from_arrays(pa.array([0, 2, None, 4, 4], pa.int32()), ones)
    texts = pa.array(["k", "l", "k", "l"])
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 1, 4, 4], pa.int32()), texts, ones)
    table = table.append_column("list", lists).append_column("map", maps)
    assert table["one"].to_pylist() == [here, None, here, None]
    for name, rows_of in {"whole": table, "part": table.slice(1)}.items():
        (path,) = written(rows_of, tmp_path / name).files
        assert pq.read_table(tmp_path / name / path).to_pylist() == rows_of.to_pylist()
    small = table.set_column(0, "id", table["id"].cast(pa.int32()))
    with fc.Job(tmp_path / "cast") as job:
        spec = WriteSpec(job=job.spec, schema=table.schema)
        job.commit([write_partition(small.to_batches(), spec, 0)])
    (path,) = job.result.files
    assert pq.read_table(tmp_path / "cast" / path).to_pylist() == table.to_pylist()
    result = written(table, tmp_path / "split", partition_by=("id",))
    found = [pq.read_table(tmp_path / "split" / path, partitioning=None) for path in result.files]
    assert pa.concat_tables(found).to_pylist() == table.drop_columns(["id"]).to_pylist()
    assert kind == found[0].schema.field("one").type


def test_what_is_null_and_must_not_be_is_refused(tmp_path: Path) -> None:
    kind = [pa.field("a", pa.int64(), nullable=False)]
    values = pa.StructArray.from_arrays([pa.array([1, None, None])], fields=kind)
    values = pa.StructArray.from_arrays(
        [values.field(0)], fields=kind, mask=pa.array([False, True, False])
    )
    with pytest.raises(pa.ArrowInvalid, match="contains nulls"):
        written(pa.table({"s": values}), tmp_path)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_large_strings_are_written_as_the_schema_says(tmp_path: Path) -> None:
    large = rows().set_column(3, "text", rows()["text"].cast(pa.large_string()))
    with fc.Job(tmp_path) as job:
        spec = WriteSpec(job=job.spec, schema=rows().schema)
        job.commit([write_partition(large.to_batches(), spec, 0)])
    assert read(tmp_path).equals(rows())


def test_a_source_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from rows().to_batches(max_chunksize=1_000)[:3]
        raise RuntimeError("the source has failed")

    with fc.Job(tmp_path, allow_empty=True) as job:
        how: dict[str, Any] = {"partition_by": ("day",), "buffered_bytes": 10_000}
        spec = WriteSpec(job=job.spec, schema=rows().schema, **how)
        with pytest.raises(RuntimeError, match="the source has failed"):
            write_partition(failing(), spec, 0)
        assert list(tmp_path.rglob("*.pending")) == []
        message = write_partition(rows().to_batches(), spec, 0)  # the retry
        job.commit([message])
    assert read(tmp_path).equals(rows())


def test_what_cannot_be_discarded_hides_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fsspec_commit.sync.attempt_file import AttemptFile

    discard = AttemptFile.discard

    def unanswered(self: AttemptFile) -> None:
        discard(self)
        raise fc.StoreError("the store has gone")

    def failing() -> Iterator[pa.RecordBatch]:
        yield from rows().to_batches()
        raise RuntimeError("the source has failed")

    monkeypatch.setattr(AttemptFile, "discard", unanswered)
    with fc.Job(tmp_path, allow_empty=True) as job:
        spec = WriteSpec(job=job.spec, schema=rows().schema, row_group_bytes=10_000)
        with pytest.raises(RuntimeError, match="the source has failed"):
            write_partition(failing(), spec, 0)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_full_disk_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec_commit.sync.attempt_file import AttemptFile

    def full(_self: AttemptFile, _data: object) -> int:
        raise OSError(28, "No space left on device")

    with fc.Job(tmp_path, allow_empty=True) as job:
        spec = WriteSpec(job=job.spec, schema=rows().schema)
        monkeypatch.setattr(AttemptFile, "write", full)
        with pytest.raises(OSError, match="No space left"):
            write_partition(rows().to_batches(), spec, 0)
        monkeypatch.undo()
    assert job.result.file_count == 0


def test_null_and_the_empty_text_share_a_directory(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2, 3], "p": ["", None, "x"]})
    result = written(table, tmp_path, partition_by=("p",))
    assert result.partitions == ("p=__HIVE_DEFAULT_PARTITION__", "p=x")
    assert result.file_count == 2


def test_parts_own_their_memory() -> None:
    """Else one small part that waits would keep all the rows that it came with."""
    (batch,) = rows().combine_chunks().to_batches()
    parts = list(split(batch, ["day"]))
    assert len(parts) == 20
    for _, part in parts:
        assert part.get_total_buffer_size() < 2 * part.nbytes


def test_many_columns_of_many_values_are_told_apart() -> None:
    """All combinations of 8 columns of 300 values are more than 64 bits can number."""
    count, names = 300, [f"p{column}" for column in range(8)]
    values = {name: [(i * 7 + n) % count for i in range(count)] for n, name in enumerate(names)}
    batch = pa.record_batch({"id": [*range(count)], **values})
    for path, part in split(batch, names):
        (number,) = part["id"].to_pylist()
        assert path == "/".join(f"{name}={values[name][number]}" for name in names)


def test_dictionaries_are_for_values_that_repeat() -> None:
    count = 4_000
    table = pa.table(
        {
            "id": pa.array(range(count)),
            "word": [f"word {i % 50}" for i in range(count)],
            "unique": [f"text {i}" for i in range(count)],
            "flag": [i % 2 == 0 for i in range(count)],
            "none": pa.nulls(count, pa.string()),
            "nested": [{"code": i % 5, "list": [2 * i, 2 * i + 1]} for i in range(count)],
            "map": pa.array(
                [[(f"k{i % 3}", i)] for i in range(count)], pa.map_(pa.string(), pa.int64())
            ),
        }
    )
    (batch,) = table.to_batches()
    assert dictionary_columns(batch) == ["word", "nested.code", "map.key_value.key"]
    # These are names that Parquet knows.
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, use_dictionary=dictionary_columns(batch)) as writer:
        writer.write_table(table)
    group = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    with_one = [one.path_in_schema for one in columns if one.has_dictionary_page]
    assert with_one == dictionary_columns(batch)


class TestAttempts:
    """What an engine does with attempts that it has given up, or never knew of."""

    def test_one_without_a_message_is_not_committed(self, tmp_path: Path) -> None:
        """A stream that was cut off looks like one that has ended; its message goes nowhere."""
        with fc.Job(tmp_path) as job:
            spec = WriteSpec(job=job.spec, schema=rows().schema, partition_by=("day",))
            write_partition(rows().slice(0, 1_000).to_batches(), spec, 0)
            job.commit([write_partition(rows().to_batches(), spec, 0)])
        assert read(tmp_path).equals(rows())

    def test_a_late_one_changes_nothing(self, tmp_path: Path) -> None:
        def late() -> Iterator[pa.RecordBatch]:
            first, *rest = rows().to_batches(max_chunksize=1_000)
            yield first
            job.commit([chosen])
            yield from rest

        job = fc.Job(tmp_path).start()
        spec = WriteSpec(job=job.spec, schema=rows().schema)
        chosen = write_partition(rows().to_batches(), spec, 0)
        with pytest.raises(fc.JobNotActiveError):
            write_partition(late(), spec, 0)
        assert read(tmp_path).equals(rows())
        with pytest.raises(fc.JobNotActiveError):
            write_partition(rows().to_batches(), spec, 0)
        assert read(tmp_path).equals(rows())

    def test_one_after_abort_leaves_nothing_visible(self, tmp_path: Path) -> None:
        job = fc.Job(tmp_path).start()
        spec = WriteSpec(job=job.spec, schema=rows().schema)
        job.abort()
        with pytest.raises(fc.JobNotActiveError):
            write_partition(rows().to_batches(), spec, 0)
        assert list(tmp_path.rglob("*.parquet")) == []
