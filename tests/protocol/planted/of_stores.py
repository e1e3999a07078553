"""What an attack on the store adapters found, undone: each of these bugs was there once.

The simulator runs the protocol on stores of its own, so it can find none of them; for each there is
a test of the adapter.
"""

from __future__ import annotations

from http import HTTPStatus

from tests.protocol.planted import of_adapters, of_impostors
from tests.protocol.planted.bug import Bug

_UNIT = "tests/unit/stores/"
_ANY = f"{_UNIT}test_impostors.py::test_nothing_follows_from_their_answers"
_S3 = f"{_UNIT}s3/"
_GCS = f"{_UNIT}gcs/"
_HDFS = f"{_UNIT}hdfs/"

_PLANTED = {
    "believes a bare 404 on S3": (
        of_impostors.believes_on_s3(HTTPStatus.NOT_FOUND),
        f"{_S3}test_impostors.py::test_nothing_is_deleted_by_one",
    ),
    "believes a bare 403 on S3": (
        of_impostors.believes_on_s3(HTTPStatus.FORBIDDEN),
        f"{_S3}test_impostors.py::test_nobody_elses_answer_says_what_was_done[complete]",
    ),
    "believes a bare 404 on GCS": (
        of_impostors.believes_a_bare_404_on_gcs,
        f"{_ANY}[gcs-delete]",
    ),
    "believes a bare 404 on Azure": (
        of_impostors.believes_a_bare_404_on_azure,
        f"{_ANY}[gen2-delete]",
    ),
    "believes a bare 404 on WebHDFS": (
        of_impostors.believes_a_bare_404_on_webhdfs,
        f"{_HDFS}test_web_answers.py::test_who_is_not_hdfs_yet_does_not_know[stat-answer0]",
    ),
    "takes a 503 on WebHDFS for not done": (
        of_impostors.takes_a_503_on_webhdfs_for_not_done,
        f"{_HDFS}test_web_answers.py::test_a_failure_without_a_word_leaves_in_doubt[rename-503]",
    ),
    "takes a redirection for a rename": (
        of_impostors.takes_a_redirection_for_a_rename,
        (
            f"{_HDFS}test_web_answers.py"
            "::test_a_redirection_that_is_not_of_hdfs_is_not_followed[rename]"
        ),
    ),
    "takes a login page for a rename": (
        of_impostors.takes_a_login_page_for_a_rename,
        f"{_HDFS}test_web_answers.py::test_a_page_is_no_answer[rename-answer0]",
    ),
    "lets out what is no JSON": (
        of_impostors.lets_out_what_is_no_json,
        f"{_HDFS}test_web_answers.py::test_a_page_is_no_answer[children-answer0]",
    ),
    "believes any success on S3": (
        of_impostors.believes_any_success_on_s3,
        f"{_S3}test_impostors.py::test_a_success_is_taken_in_the_form_that_is_documented_only",
    ),
    "believes any deletion on S3": (
        of_impostors.believes_any_deletion_on_s3,
        f"{_S3}test_impostors.py::test_a_deletion_without_a_mark_is_believed_by_a_look[there]",
    ),
    "believes any rename on GCS": (
        of_impostors.believes_any_rename_on_gcs,
        f"{_ANY}[gcs-rename]",
    ),
    "believes any rename on Azure": (
        of_impostors.believes_any_success_on_azure("Path - Rename"),
        f"{_ANY}[gen2-rename]",
    ),
    "believes any completion on Azure": (
        of_impostors.believes_any_success_on_azure("Put Block List"),
        f"{_ANY}[flat-complete]",
    ),
    "lets parts grow everywhere": (
        of_adapters.lets_parts_grow_everywhere,
        "tests/integration/test_s3_equal_parts.py::test_a_file_of_many_parts_is_completed",
    ),
    "takes an empty page of S3 for an empty directory": (
        of_adapters.takes_an_empty_page_of_s3_for_an_empty_directory,
        (
            f"{_S3}test_listing.py"
            "::TestPagesWithNothingOnThem::test_a_directory_is_looked_for_behind_them"
        ),
    ),
    "deletes from the first page of S3 only": (
        of_adapters.deletes_from_the_first_page_of_s3_only,
        f"{_S3}test_listing.py::TestPagesWithNothingOnThem::test_a_tree_is_deleted_behind_them",
    ),
    "takes an empty page of GCS for an empty directory": (
        of_adapters.takes_an_empty_page_of_gcs_for_an_empty_directory,
        f"{_GCS}test_listing.py::TestEmptyPages::test_a_directory_is_looked_for_behind_them",
    ),
    "deletes from the first page of GCS only": (
        of_adapters.deletes_from_the_first_page_of_gcs_only,
        f"{_GCS}test_listing.py::TestEmptyPages::test_a_tree_is_deleted_behind_them",
    ),
    "lets azure-core meet challenges": (
        of_adapters.lets_azure_core_meet_challenges,
        f"{_UNIT}azure/test_credentials.py::TestChallenge::test_the_next_request_meets_it",
    ),
    "looks for words in what HDFS says": (
        of_adapters.looks_for_words_in_what_hdfs_says,
        (
            f"{_HDFS}test_failures.py::test_the_words_of_a_path_say_nothing"
            "[java.io.FileNotFoundException-Parent directory doesn't exist: /{}-Reply.REFUSED-"
            "safe mode]"
        ),
    ),
    "lets out that credentials have expired": (
        of_adapters.lets_out_that_credentials_have_expired,
        f"{_S3}test_connections.py::test_what_fails_before_anything_is_sent_was_not_done[complete]",
    ),
    "asks for no generation": (
        of_adapters.asks_for_no_generation,
        f"{_UNIT}local/test_tokens.py::test_only_about_a_whole_second_is_asked[1000000000-4]",
    ),
    "takes tokens of whole seconds for unique": (
        of_adapters.takes_tokens_of_whole_seconds_for_unique,
        f"{_UNIT}local/test_tokens.py::test_so_is_one_where_no_time_has_a_fraction",
    ),
    "asks in each process whether versions are kept": (
        of_adapters.asks_in_each_process_whether_versions_are_kept,
        f"{_S3}test_versions.py::test_all_processes_of_a_job_have_tokens_of_one_form[denied-True]",
    ),
}

BUGS = {name: Bug(plant) for name, (plant, _) in _PLANTED.items()}
HELD_BY = {name: test for name, (_, test) in _PLANTED.items()}

_BARE_404 = (
    "believes a bare 404 on S3",
    "believes a bare 404 on GCS",
    "believes a bare 404 on Azure",
)
FINDINGS: dict[str, tuple[str, ...]] = {
    "S3: an ingress answers a bare 404 after the decision": _BARE_404[:1],
    "GCS: an ingress answers a bare 404 after the decision": _BARE_404[1:2],
    "Azure: an ingress answers a bare 404 after the decision": _BARE_404[2:],
    "S3, GCS, Azure: an ingress answers any request, with any status": (
        *_BARE_404,
        "believes a bare 403 on S3",
    ),
    "R2: a file of more parts than are of one length is refused after the decision": (
        "lets parts grow everywhere",
    ),
    "S3: the first page of a listing is empty, and not the last": (
        "takes an empty page of S3 for an empty directory",
        "deletes from the first page of S3 only",
    ),
    "GCS: the first page of a listing is empty, and not the last": (
        "takes an empty page of GCS for an empty directory",
        "deletes from the first page of GCS only",
    ),
    "WebHDFS: a gateway answers 503 when the request was carried out": (
        "takes a 503 on WebHDFS for not done",
    ),
    "WebHDFS: a gateway answers any request": (
        "believes a bare 404 on WebHDFS",
        "takes a 503 on WebHDFS for not done",
        "takes a redirection for a rename",
    ),
    "WebHDFS: a session has ended, and a login page answers, by 302 or by 200": (
        "takes a redirection for a rename",
        "takes a login page for a rename",
        "lets out what is no JSON",
    ),
    "Azure: an access token is challenged, and azure-core sends the request again": (
        "lets azure-core meet challenges",
    ),
    "HDFS: a directory is called like a state of the cluster": (
        "looks for words in what HDFS says",
    ),
    "S3: credentials were refreshed and have expired still": (
        "lets out that credentials have expired",
    ),
    "GCS and Gen2: a page with 200 answers a rename": (
        "believes any rename on GCS",
        "believes any rename on Azure",
    ),
    "Flat Azure: a page with 200 answers a completion": ("believes any completion on Azure",),
    "S3: a page with 200 answers a rename or a deletion": (
        "believes any success on S3",
        "believes any deletion on S3",
    ),
    "local: a file is replaced within a second on a disk of whole seconds": (
        "asks for no generation",
        "takes tokens of whole seconds for unique",
    ),
    "S3: whoever resumes may not ask whether versions are kept": (
        "asks in each process whether versions are kept",
    ),
}
"""What was found, in plain words, and the bugs that bring it back."""
