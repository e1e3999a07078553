"""Mistakes of other committers and writers, as users reported them."""

from __future__ import annotations

from tests.protocol.planted.source import Source

_A_REQUEST = "a request for what this library is: it tells of no step that could be left out"
ON_HADOOP = (
    Source(
        "the driver of a job of many files runs out of memory",
        ("decodes a manifest whole",),
        known_as="HADOOP-16570, MAPREDUCE-7435",
    ),
    Source(
        "a commit goes file by file",
        ("sends one request at a time",),
        known_as="MAPREDUCE-4815, MAPREDUCE-7465, MAPREDUCE-7470",
    ),
    Source(
        "a task publishes its own files, and its second attempt once more",
        ("publishes when a task commits",),
        known_as="SPARK-33019, SPARK-32701, MAPREDUCE-7282",
    ),
    Source(
        "a job that ends removes what others are writing",
        ("removes the areas of all jobs",),
        known_as="SPARK-24238, MAPREDUCE-7378, spark-avro#127",
    ),
    Source(
        "a job publishes what a dead one has left",
        ("publishes what other jobs left",),
        known_as="SPARK-29037",
    ),
    Source(
        "jobs that write different partitions of one table cannot run at once",
        ("refuses beside any other", "removes the areas of all jobs"),
        known_as="SPARK-28945",
    ),
    Source(
        "jobs abort each other's uploads, or share an attempt's directory",
        ("aborts the uploads of all jobs", "has one id for all attempts"),
        known_as="HADOOP-17318, HADOOP-18797",
    ),
    Source(
        "a committer that uploads cannot overwrite",
        why_not="what was missing is a mode, which every committer has here; each of its steps has "
        "its own row",
        known_as="SPARK-40034, SPARK-41551, HADOOP-18842",
    ),
    Source(
        "an overwrite only adds",
        ("leaves the old files", "_finish without delete_replaced"),
        known_as="SPARK-56588",
    ),
    Source(
        "two attempts of one task meet in one file",
        ("has one id for all attempts",),
        known_as="SPARK-27194, SPARK-29302",
    ),
    Source(
        "a task whose commit was not answered cannot be run again",
        ("has one manifest for all attempts", "chooses the last attempt"),
        known_as="SPARK-39195, SPARK-48292, HADOOP-17258",
    ),
    Source(
        "attempts that nobody chose are published, or write when the job is over",
        ("publishes every attempt", "uploads for a job that is over"),
        known_as="SPARK-31438, HIVE-25561",
    ),
    Source(
        "a task writes to the final names, and is run again",
        ("publishes when a task commits",),
        known_as="SPARK-10063",
    ),
    Source(
        "an empty result leaves the old rows of the partition that it replaces",
        ("clears no partition that it does not write",),
        known_as="FLINK-23857, HUDI-6828, CARBONDATA-2060, TAJO-1644, SPARK-29295",
    ),
    Source(
        "what a job has left takes minutes to remove",
        ("deletes one file a request",),
        known_as="HADOOP-18568",
    ),
    Source(
        "jobs of one second have one id",
        ("has job ids of a second",),
        known_as="SPARK-33402, SPARK-22162",
    ),
    Source(
        "a rename that was carried out is answered with an error",
        ("takes an arrived file for lost", "takes no answer for done"),
        known_as="HADOOP-18012, HADOOP-18242, HADOOP-18425, HADOOP-19497",
    ),
    Source(
        "uploads that nobody completes are paid for, for ever",
        ("leaves uploads", "records no uploads", "leaves markers that nobody knows"),
        known_as="HADOOP-18727, FLINK-39786, minio#5613, TileDB#1068",
    ),
    Source(
        "other readers see files that are not committed",
        ("publishes before its decision", "publishes when a task commits"),
        known_as="Databricks' DBIO",
    ),
    Source(
        "another committer is at work than its user thinks",
        why_not="a committer is chosen once, and recorded in `job.json`; whoever settles the job "
        "goes by that, and there is none to fall back to",
        known_as="lakeFS#2798, lakeFS#4314",
    ),
)
IN_PYTHON = (
    Source(
        "a commit of a whole directory, by many processes",
        why_not=_A_REQUEST,
        known_as="fsspec/filesystem_spec#4",
    ),
    Source(
        "transactions across processes, and across a cluster",
        why_not=_A_REQUEST,
        known_as="dask#2923, dask#2924, dask#5361, rslearn#38",
    ),
    Source(
        "a worker that died leaves a file too many, a retry loses some, an overwrite leaves old "
        "ones or deletes them first",
        (
            "publishes every attempt",
            "prepare_job without left_out",
            "leaves the old files",
            "deletes before it publishes",
        ),
        known_as="dask#6445, dask#5284, dask#6824, dask#5873, dask#7466, dask#9124",
    ),
    Source(
        "an overwrite that fails has deleted the data; readers meet it halfway",
        ("deletes before it publishes", "looks once"),
        known_as="awswrangler#1278, awswrangler#3021, awswrangler#3074",
    ),
    Source(
        "parallel tasks delete each other's files; two jobs both find nothing there",
        ("deletes what it lists later", "writes beside data"),
        known_as="ray#55043, ray#62019, ray#62020",
    ),
    Source(
        "a worker that died leaves half a file in the output",
        ("publishes when a task commits",),
        known_as="Daft#3576",
    ),
    Source(
        "an exception inside `with open()` publishes what was written so far; an overwrite does "
        "not overwrite",
        ("finishes what a block gave up", "leaves the old files"),
        known_as="arrow#40800, arrow#40502, PyFilesystem/s3fs#95, smart_open#684, arrow#37760",
    ),
    Source(
        "a file that was cut short by a crash is read",
        ("publishes when a task commits", "takes a torn file for whole"),
        known_as="polars#17358, qpx#288",
    ),
    Source(
        "small files of a transaction are empty",
        ("completes small files empty",),
        known_as="PyAthena#721",
    ),
    Source(
        "a rename over whatever stands there loses what another one has appended",
        ("renames over anything", "lets appends pass with any names"),
        known_as="awswrangler#2771",
    ),
    Source(
        "a rename on Azure is a copy, file by file",
        why_not="a committer renames only where the store does that in one step, and is refused "
        "elsewhere; nothing is ever copied",
        known_as="cloudpathlib#162, arrow#40405, blobfuse#1027",
    ),
    Source(
        "each file appears in one step, and the whole does not",
        ("looks once", "leaves no epoch", "marks before it deletes"),
        known_as="doris#33937, DataFusion#7452",
    ),
)
HISTORY = {
    "mistakes of committers of Hadoop and Spark": ON_HADOOP,
    "mistakes of writers in Python": IN_PYTHON,
}
