"""Options of other libraries and their counterparts here, for messages only."""

import difflib
from collections.abc import Collection

_OPTIONS = {
    "destination": "base_dir dest output path path_or_buf root_path table_or_uri uri url",
    "mode": (
        "append dynamic_partition_overwrite existing_data_behavior if_exists overwrite save_mode "
        "saveMode write_mode"
    ),
    "partition_by": (
        "partitionBy partition_cols partition_columns partition_on partitioned_by partitions_by"
    ),
    "file_options": "compression compression_level parquet_options write_options",
    "basename_template": "basename file_name filename prefix",
    "format": "file_format fmt",
    "storage_options": "credentials options",
    "filesystem": "fs",
    "tasks": "n_tasks num_tasks task_count",
    "wait_s": "timeout timeout_s wait",
    "concurrency": "max_workers num_threads threads",
    "idempotency_key": "key transaction_id txn_id",
}
_OF_OPTION = {word: option for option, words in _OPTIONS.items() for word in words.split()}
# The arguments of write_dataset that a job does not have. Named here, as it needs Arrow.
_OF_WRITE_DATASET = (
    *("basename_template", "data", "file_options", "file_visitor", "format", "max_open_files"),
    *("max_partitions", "max_rows_per_file", "max_rows_per_group", "min_rows_per_group"),
    *("partition_by", "partitioning", "preserve_order", "schema", "use_threads"),
)

_VALUES = {
    "mode": {
        "a": "append",
        "create": "error",
        "default": "error",
        "delete_matching": "overwrite_partitions",
        "dynamic": "overwrite_partitions",
        "errorifexists": "error",
        "fail": "error",
        "overwrite_or_ignore": "append",
        "replace": "overwrite",
        "static": "overwrite",
        "w": "overwrite",
        "wb": "overwrite",
        "x": "error",
    },
}

_CHOSEN = "leave committer= out, and the best one that is safe on the store is chosen"
_FILE = (
    'it is Hadoop\'s FileOutputCommitter, whose safe algorithm is "v1" here, for stores that '
    f"rename directories; {_CHOSEN}"
)
_STAGING = (
    "it is one of Hadoop's staging committers for S3, which keep a task's files on a local disk "
    'first; here "magic" stands for it, which uploads them as they are written'
)
_COMMITTERS = {
    "v2": (
        "it is Hadoop's algorithm 2, and refused on every store: it shows the files of a task as "
        "soon as the task commits, so a job that fails later leaves a part of itself visible, and "
        f"a task that runs twice may leave both; {_CHOSEN}"
    ),
    "file": _FILE,
    "directory": f'{_STAGING}, and mode="error", "append" or "overwrite" for its conflict modes',
    "partitioned": f'{_STAGING}, with mode="overwrite_partitions"',
    "staging": _STAGING,
    "magic": 'it is written "magic" here',
    "manifest": 'it is written "manifest" here',
}
_COMMITTER_CLASSES = {
    "1": "file",
    "2": "v2",
    "algorithm2": "v2",
    "classic": "file",
    "directorystagingcommitter": "directory",
    "fileoutputcommitter": "file",
    "magics3guardcommitter": "magic",
    "manifestcommitter": "manifest",
    "partitionedstagingcommitter": "partitioned",
    "stagingcommitter": "staging",
}


def counterpart(name: str) -> str | None:
    """What an option of another library is called here; ``None`` for one that is not known."""
    return _OF_OPTION.get(name)


def option_hint(name: str, known: Collection[str]) -> str:
    """The end of a message that says which option *name* may have been meant for; or nothing."""
    meant = counterpart(name)
    if meant is not None and meant not in known:
        return f"; write_dataset has {meant}="
    close = [meant] if meant else difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def job_option_hint(name: str, known: Collection[str]) -> str:
    """The same for an option of a job, which may be one of ``write_dataset`` by its very name."""
    if name in _OF_WRITE_DATASET:
        return f"; write_dataset has {name}="
    return option_hint(name, known)


def value_hint(option: str, value: object, known: Collection[str]) -> str:
    """The end of a message that says which value of an option may have been meant; or nothing."""
    if not isinstance(value, str):
        return ""
    text = value.strip().lower()
    if option == "committer":
        bare = text.rpartition(".")[2]
        named = _COMMITTERS.get(_COMMITTER_CLASSES.get(bare, bare))
        if named is not None:
            return f": {named}"
    meant = _VALUES.get(option, {}).get(text)
    close = [meant] if meant else difflib.get_close_matches(text, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""
