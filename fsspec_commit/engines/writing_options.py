"""The options of pyarrow's writer, checked first: its own errors come late, and some values crash.

``max_open_files=0``, for example, ends the process with pyarrow 26.
"""

from collections.abc import Mapping

from fsspec_commit.errors import RequestError

_COUNTS = {
    "max_partitions": 1,
    "max_open_files": 1,
    "max_rows_per_file": 0,
    "min_rows_per_group": 0,
    "max_rows_per_group": 1,
}


def check_writing(options: Mapping[str, object], file_visitor: object) -> None:
    """Refuse values that Arrow's writer does not take.

    Raises:
        RequestError: A value has a wrong type, or is too small.
    """
    for name, least in _COUNTS.items():
        count = options[name]
        if count is None:
            continue
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise _invalid(
                f"{name}={count!r} is no count: a number from {least} on, or leave it out"
            )
    template = options["basename_template"]
    if template is not None and not (isinstance(template, str) and "{i}" in template):
        message = (
            f"basename_template={template!r} has no place for a file's number: 'part-{{i}}.parquet'"
        )
        raise _invalid(message)
    if template is not None and "/" in str(template):
        message = (
            f"basename_template={template!r} is for names of files, and takes no directory: "
            "partition_by= makes directories"
        )
        raise _invalid(message)
    how = options["file_options"]
    if how is not None and (isinstance(how, str) or not hasattr(how, "format")):
        message = (
            f"file_options is what make_write_options() of a pyarrow format gives, not {how!r}: "
            "pyarrow.dataset.ParquetFileFormat().make_write_options(compression='zstd')"
        )
        raise _invalid(message)
    if how is not None and getattr(how, "format", None) != options["format"]:
        message = "file_options are those of another format than is written: give format= too"
        raise _invalid(message)
    if file_visitor is not None and not callable(file_visitor):
        raise _invalid(f"file_visitor={file_visitor!r} cannot be called: it is told of each file")


def _invalid(message: str) -> RequestError:
    return RequestError(message, kind="invalid_option")
