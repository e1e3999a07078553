"""Messages of the API in the words of the command line: options, and no Python.

Both say the same of a job; what differs is how the user writes what is to be done.
"""

import re

_VALUE = r"""(?:"[^"]*"|'[^']*'|\[[^\]]*\]|[^\s;,:()]*)"""
_NAMED = re.compile(
    r"(?<![^\s(])(mode|names|committer|success|durability|partition_by|partitions|idempotency_key|wait_s"
    r"|format|max_rows_per_file|older_than|damaged|storage_options)=(timedelta\([^)]*\)|"
    rf"{_VALUE})"
)
_OPTION = {"wait_s": "wait", "storage_options": "storage-option"}
_FLAGS = {
    "single_writer=True": "--single-writer",
    "delete_by_name=True": "--delete-by-name",
    "accept_loss=True": "--accept-loss",
    "probe=False": "--no-probe",
}
_SENTENCES = {
    "job.commit() or: ": "",
    "finish with fsspec-commit": "finish with: fsspec-commit",
    "call job.commit() again, or finish it with": "finish it with",
    "call commit() again, or abort the job": "resume the job, or abort it",
    "an earlier commit() of the job": "an earlier commit of the job",
    ", a program with fsspec_commit.register()": "",
    "say --": "give --",
    "partitions holds": "--partitions holds",
    "storage_options key= and secret=, a ": "--storage-option key=… and secret=…, ",
}
_LIST = re.compile(r"(--(?:mode|names) \w+)((?:(?:, | or )\"\w+\")+)")
_ELLIPSES = ("", "…", "[…]")


def in_options(message: str) -> str:
    """*message* in the words of somebody who has typed a command."""
    for flag, option in _FLAGS.items():
        message = message.replace(flag, option)
    message = _NAMED.sub(_option, message)
    message = _LIST.sub(lambda found: found[1] + found[2].replace('"', ""), message)
    for sentence, instead in _SENTENCES.items():
        message = message.replace(sentence, instead)
    return message


def _option(found: re.Match[str]) -> str:
    name = _OPTION.get(found[1], found[1].replace("_", "-"))
    value = found[2].strip("\"'")
    is_open = value in _ELLIPSES or value.startswith("timedelta(")
    return f"--{name}" if is_open else f"--{name} {value}"
