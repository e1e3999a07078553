"""What an attacker may try, and the tests in which it is tried: the table of `docs/threats.md`.

``python -m tests.threats`` writes it anew; a test compares, and looks for each of the tests. Who
attacks may write anything below the destination, or in a bucket beside it, names files, or answers
in place of a store; what he may reach all the same is in `docs/SECURITY.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/threats.md"
HEAD = "<!-- Written by `python -m tests.threats`; a test compares it. -->\n"


@dataclass(frozen=True)
class Threat:
    """One of them.

    Attributes:
        what: What is tried, in plain words.
        must: What must come of it.
        tests: Who tries it: tests, and classes with theirs, by their files below the checkout.
    """

    what: str
    must: str
    tests: Mapping[str, tuple[str, ...]]


THREATS = {
    "S1": Threat(
        "a record, a message or an argument names `../x`, `/etc/passwd`, "
        "`s3://other/x`, `//host`, `C:\\`, `%2e%2e`",
        "names are relative and inside; anything else is refused and never cleaned up",
        {
            "tests/unit/test_names.py": ("test_a_target_never_leaves_the_destination",),
            "tests/unit/records/test_task_manifest.py": (
                "test_no_file_is_published_elsewhere",
                "test_no_file_is_taken_from_elsewhere",
            ),
            "tests/unit/stores/local/test_verbs.py": ("test_no_verb_leaves_the_destination",),
            "tests/integration/test_weapons.py": (
                "test_p10_a_name_is_refused_or_is_that_of_a_file_inside",
            ),
            "tests/protocol/hostile/test_hostile_records.py": (
                "TestHostileRecords::test_p10_typed_errors_and_nothing_outside",
            ),
        },
    ),
    "S2": Threat(
        "a symbolic link stands in the destination, or in an attempt's directory, and points out",
        "it is refused, and never followed by what writes, renames or deletes",
        {
            "tests/integration/test_links.py": ("test_a_link_in_what_is_replaced_is_refused",),
            "tests/unit/stores/local/test_verbs.py": ("test_a_link_is_refused_by_every_verb",),
            "tests/unit/stores/local/renames/test_files.py": ("test_links_are_not_followed",),
            "tests/unit/stores/local/test_deletions.py": (
                "test_a_tree_goes_and_what_its_links_point_to_stays",
            ),
        },
    ),
    "S3": Threat(
        "a manifest names another job's upload, or one of another bucket",
        "it is neither completed nor aborted",
        {
            "tests/protocol/hostile/test_forged_records.py": (
                "test_p10_no_manifest_completes_the_upload_of_another_job",
            ),
            "tests/protocol/test_leftover_uploads.py": (
                "test_a_forged_record_takes_no_upload_from_another_job",
            ),
            "tests/unit/records/test_pending_set.py": (
                "test_no_upload_of_another_key_is_completed",
                "test_no_upload_outside_of_the_destination_is_completed",
            ),
        },
    ),
    "S4": Threat(
        "numbers that are huge, negative or none, keys twice, names with NUL, endless lists",
        "a typed error; each record has a limit of bytes",
        {
            "tests/unit/records/test_job.py": (
                "test_what_encoding_does_not_write_is_refused",
                "test_counts_are_counts",
            ),
            "tests/unit/records/test_limits.py": ("test_every_record_has_a_limit_of_its_own",),
            "tests/protocol/hostile/test_hostile_records.py": (
                "TestHostileRecords::test_p10_a_decoder_refuses_what_it_would_not_write",
            ),
        },
    ),
    "S5": Threat(
        "JSON that is nested a hundred thousand times",
        "a typed error",
        {
            "tests/unit/records/test_job.py": ("test_what_encoding_does_not_write_is_refused",),
            "tests/unit/records/test_limits.py": (
                "test_memory_stays_within_a_few_times_the_input",
            ),
        },
    ),
    "S6": Threat(
        "a record as long as it may be, of the entries that take the most memory",
        "memory stays within a few times its length",
        {
            "tests/protocol/hostile/test_hostile_memory.py": ("test_p10_memory_is_bounded",),
            "tests/protocol/hostile/test_hostile_memory_of_others.py": (
                "test_p10_records_of_others_fill_no_memory",
            ),
            "tests/unit/hadoop/test_held_at_once.py": (
                "test_neither_all_manifests_are_held_nor_all_their_files_looked_for_at_once",
            ),
        },
    ),
    "S7": Threat(
        "a record that is compressed, a thousand times longer than it seems",
        "records are plain JSON: what is compressed is none, and is not unpacked",
        {
            "tests/protocol/hostile/test_compressed_records.py": (
                "test_p10_what_is_compressed_is_no_record",
            ),
        },
    ),
    "S8": Threat(
        "bytes that are no UTF-8, a byte order mark, UTF-16, half a record, two records",
        "a typed error; lists and manifests are counted, and compared with a digest",
        {
            "tests/unit/records/test_job.py": (
                "test_any_bytes_are_refused_by_type",
                "test_what_encoding_does_not_write_is_refused",
                "test_a_damaged_record_is_refused_or_equal",
            ),
            "tests/protocol/hostile/test_forged_records.py": (
                "test_p10_a_manifest_that_its_message_does_not_name_is_not_believed",
            ),
        },
    ),
    "S9": Threat(
        "one bit of a record has changed",
        "it is refused, or no wrong output is shown; which flips are believed is listed",
        {
            "tests/protocol/hostile/test_bit_flips.py": (
                "test_p10_of_every_single_bit_that_is_not_refused_it_is_known_what_it_does",
                "test_p9_p10_a_single_bit_shows_no_wrong_output",
            ),
        },
    ),
    "S10": Threat(
        "secrets in options: they are looked for in records, messages, logs, errors, "
        "pickles, tracebacks, and in what the command prints",
        "none is found",
        {
            "tests/integration/test_secrets.py": (
                "test_a_job_and_all_that_belongs_to_it",
                "test_a_job_and_all_that_belongs_to_it_elsewhere",
            ),
            "tests/integration/test_secrets_in_urls.py": (
                "test_a_secret_in_a_url_is_refused_and_not_repeated",
            ),
            "tests/integration/test_secrets_of_faults.py": (
                "test_who_tells_of_a_job_tells_no_secret",
            ),
            "tests/integration/test_secrets_of_modes.py": (
                "test_no_job_of_any_mode_tells_a_secret",
            ),
            "tests/integration/cli/test_secrets.py": ("test_no_run_shows_a_secret",),
        },
    ),
    "S11": Threat(
        "line feeds and escape sequences in names and records",
        "they are escaped in errors, in logs, and in what the command prints",
        {
            "tests/unit/test_errors.py": (
                "test_a_message_never_steers_a_terminal_or_forges_a_line_of_a_log",
            ),
            "tests/unit/cli/test_output.py": ("test_no_form_steers_the_terminal",),
            "tests/unit/cli/test_ending.py": ("test_nothing_that_is_logged_steers_the_terminal",),
        },
    ),
    "S12": Threat(
        "names that can be guessed, directories that stand there before",
        "ids are random, whatever is created is created exclusively, and nothing is written "
        "through what stood there",
        {
            "tests/unit/test_ids.py": ("test_the_systems_ids_are_unique_and_timed",),
            "tests/integration/test_taken_before.py": (
                "test_names_are_random_to_the_last_bit",
                "test_p10_nobody_goes_through_a_link",
                "test_p10_nothing_is_written_into_a_file_of_another_name",
                "test_the_record_of_a_job_is_nobody_elses",
                "test_nothing_is_published_that_somebody_put_there_before",
            ),
            "tests/integration/libraries/test_local_file.py": (
                "test_its_place_is_new_and_of_nobody_else",
            ),
            "tests/unit/test_design_rules.py": (
                "TestRule7Simulated::test_randomness_is_made_in_one_module",
            ),
        },
    ),
    "S13": Threat(
        "an id of a job, a key or a partition that is empty, `..` or `*`; a destination "
        "that is the root of its store",
        "it is refused before anything is listed or deleted",
        {
            "tests/integration/test_weapons.py": (
                "test_p10_what_is_no_job_id_names_no_job",
                "test_p10_no_command_takes_one_either",
                "test_p10_a_partition_is_inside_or_refused",
                "test_p10_a_key_is_no_path",
            ),
            "tests/unit/test_layout.py": ("test_a_whole_disk_or_bucket_is_known_by_its_root",),
        },
    ),
    "S14": Threat(
        "a directory is swapped for a link between a look and a rename",
        "nothing is written or deleted outside",
        {
            "tests/integration/test_links.py": ("test_a_link_swapped_in_at_any_call",),
            "tests/unit/stores/local/test_listings.py": (
                "test_a_directory_swapped_for_a_link_during_a_walk",
            ),
            "tests/unit/stores/local/test_writers.py": (
                "test_a_file_swapped_for_a_link_is_not_followed_by_discard",
            ),
        },
    ),
    "S15": Threat(
        "XML with entities, or with a document type, in place of a listing",
        "it is no listing",
        {
            "tests/unit/stores/azure/test_impostors.py": (
                "test_a_page_with_a_document_type_is_no_listing",
            ),
            "tests/unit/stores/s3/test_long_answers.py": (
                "test_a_document_type_is_never_parsed_here",
            ),
        },
    ),
    "S16": Threat(
        "a redirection to another host, which a client would follow with the credentials",
        "no request follows one, but those of HDFS to its own DataNodes",
        {
            "tests/unit/stores/test_redirections.py": ("test_no_verb_follows_one",),
            "tests/unit/stores/s3/test_redirections.py": ("test_a_role_is_not_fetched_elsewhere",),
            "tests/unit/stores/hdfs/test_web_answers.py": (
                "test_a_redirection_that_is_not_of_hdfs_is_not_followed",
            ),
        },
    ),
    "S17": Threat(
        "what stands on a store is run, or something is fetched when the library is imported",
        "records are data: nothing is evaluated or unpickled; no import opens a socket",
        {
            "tests/unit/test_network_at_import.py": ("test_no_module_opens_a_socket",),
            "tests/unit/test_data_only.py": ("test_nothing_runs_what_a_store_holds",),
            "tests/unit/test_design_rules.py": (
                "TestRecords::test_what_is_written_down_is_data",
                "TestRecords::test_nothing_is_evaluated",
            ),
        },
    ),
}


def page() -> str:
    """The whole table."""
    rows = [
        f"| {one} | {threat.what} | {threat.must} | "
        f"{', '.join(f'`{name}`' for name in names_of(threat))} |"
        for one, threat in THREATS.items()
    ]
    heads = ["| | what is tried | what must come of it | tried by |", "|---|---|---|---|"]
    return HEAD + "\n".join([*heads, *rows]) + "\n"


def names_of(threat: Threat) -> Iterator[str]:
    """The names of its tests, without those of their classes."""
    for names in threat.tests.values():
        yield from (name.rpartition("::")[2] for name in names)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
