"""The planted bugs that no simulated run can tell, or none of those tried, and why."""

from __future__ import annotations

from tests.protocol.planted import of_files, of_records, of_stores, of_surroundings

NO_DIFFERENCE = {
    "_finish with job.store.list_usable before mark_lost": "an older listing shows fewer epochs",
    "_finish with forget_epochs before forget_late_deletes": "neither means anything any more",
    "_finish with standing_published before recall_replaced": "both only read",
    "commit_job with announce before deciding": "a callback is told a moment too early",
    "commit_job with deciding before abort_job": "a job goes one of these ways",
    "prepare_job with left_out before check_output": "both only read",
    "_prepare with looks.old_files before refuse_endangered": "both only read",
    "_prepare with refuse_endangered before looks.is_done": (
        "both end the commit, changing nothing"
    ),
    "_withdraw with ahead.withdraw before early.end": "no claim is made between the two",
    "_withdraw with withdraw_claim before ahead.withdraw": "both are withdrawn",
    "has one name for all attempts": "of one name one attempt is completed",
    "removes published beside the decision": (
        "the manifests have gone, and only older versions mind one that was not chosen"
    ),
}
"""Bugs that leave everything as it should be, and why."""

_STEPS = "tests/protocol/test_commit_steps.py::"
_LOOKS = "tests/protocol/test_early_look.py::"
HELD_BY = {
    **of_files.HELD_BY,
    **of_records.HELD_BY,
    **of_surroundings.HELD_BY,
    "_decide without withdraw_success": (
        "tests/protocol/test_flat_races.py::test_somebody_acts_between_any_two_calls"
    ),
    "_finish without forget_epochs": (
        f"{_STEPS}test_whoever_resumes_a_job_removes_the_epochs_before"
    ),
    "_finish without forget_late_deletes": (
        "tests/protocol/test_late_deletes.py::test_what_means_nothing_any_more_is_removed"
    ),
    "_finish without job.store.list_usable": (
        f"{_STEPS}test_whoever_resumes_a_job_removes_the_epochs_before"
    ),
    "_finish without make_directories": (
        "tests/integration/test_store_calls_in_buckets.py"
        "::test_directories_come_before_files_and_those_above_with_them"
    ),
    "_finish without look_early": "tests/protocol/test_round_trips.py::test_a_job_takes_few",
    "_finish without mark_lost": (
        "tests/protocol/test_given_up.py"
        "::test_a_job_that_was_finished_with_a_loss_is_not_said_to_be_whole"
    ),
    "_mark with mark_done before publish_success": (
        "tests/protocol/test_last_wave.py::test_no_key_counts_before_the_marker_stands"
    ),
    "_finish without standing_published": (
        "tests/integration/test_accept_loss.py"
        "::test_whoever_finishes_it_after_that_is_told_of_the_loss"
    ),
    "counts a look beside listings by pages": f"{_LOOKS}TestListingsByPages::test_the_first",
    "takes the list that it wrote ahead": (
        "tests/protocol/test_list_ahead.py::test_what_changes_before_the_look_is_seen"
    ),
    "takes a listing for the end of a job": (
        "tests/protocol/test_renewed_look.py::TestOneThatEnds::test_whose_area_was_not_shown"
    ),
    "passes jobs by listings by pages": (
        "tests/protocol/test_early_look_beside_others.py"
        "::test_a_job_that_ends_while_its_area_is_listed_is_not_missed"
    ),
    "is told before its job is over": (
        "tests/integration/test_afterwards.py::test_a_commit_returns_when_its_job_is_over"
    ),
    "commit_job without announce": f"{_STEPS}test_a_callback_is_told_how_many_files_there_are",
    "finish_job without is_over": (
        "tests/protocol/test_given_up.py::test_a_driver_that_asks_again_is_told_no_more_than_is_there"
    ),
    "compares no digest": (  # No run of the simulator has anybody who writes records of others.
        "tests/protocol/hostile/test_forged_records.py"
        "::test_p10_a_manifest_that_its_message_does_not_name_is_not_believed"
    ),
    "claims without a look for its job": (
        "tests/protocol/test_undecided.py"
        "::test_no_decision_names_a_manifest_that_comes_when_the_area_is_listed"
    ),
    "finds its job before it looks for a decision": (
        "tests/protocol/test_undecided.py"
        "::test_a_job_that_ends_between_two_looks_of_another_driver_is_over"
    ),
    "forgets what it has decided": (
        "tests/protocol/test_commit_again.py::test_a_decision_that_may_still_come_is_not_called_off"
    ),
    "leaves the markers of its claims": (  # In the end somebody cleans, and finds them.
        "tests/protocol/test_marker_under_way.py::test_who_waits_in_vain_leaves_none"
    ),
    "_prepare without still_stands": (
        f"{_STEPS}test_p1_a_marker_that_came_since_it_was_looked_for_is_removed"
    ),
    "looks for the marker before it lists": (
        f"{_STEPS}test_p1_a_marker_that_came_while_files_were_listed_is_removed"
    ),
    "prepares a marker again": (
        "tests/protocol/test_lost_uploads.py::test_a_lost_marker_is_found_out_and_settled_by_hand"
    ),
    "removes the decision of an abort with the rest": (
        "tests/protocol/test_emptying.py::test_whatever_has_gone_the_rest_is_no_loss"
    ),
    "puts back over what came": (
        "tests/protocol/test_trash.py::test_what_finds_its_name_taken_again_is_kept"
    ),
    "says not committed without asking": (
        "tests/protocol/test_refused_here.py::test_p7_another_driver_has_committed"
    ),
    "takes a later refusal for the answer": "tests/unit/effects/test_confirm.py::test_the_table",
    "finish_job without over_after_deciding": (
        "tests/protocol/test_given_up.py"
        "::test_its_driver_says_committed_only_where_every_file_is_there"
    ),
    "prepare_job without the end of MarkerUnderWay": (
        "tests/protocol/test_marker_under_way.py"
        "::test_none_is_left_by_a_commit_that_is_refused_or_has_nothing_to_do"
    ),
    "prepare_job without the end of ListAhead": (
        "tests/protocol/test_list_ahead_given_up.py"
        "::test_a_job_that_fails_waits_until_its_list_stands"
    ),
    "prepare_job without the end of EarlyLook": (
        "tests/protocol/test_early_look.py::test_nothing_of_it_is_under_way_when_a_commit_ends"
    ),
    "_prepare with still_stands before marker.is_ready": (
        "tests/protocol/test_list_ahead_given_up.py::"
        "test_what_is_seen_of_a_marker_is_not_old_when_the_job_decides"
    ),
    "_prepare without marker.is_ready": (
        "tests/protocol/test_list_ahead_given_up.py::"
        "test_what_is_seen_of_a_marker_is_not_old_when_the_job_decides"
    ),
    "_withdraw without early.end": (
        "tests/protocol/test_list_ahead_given_up.py::test_no_claim_comes_when_they_are_withdrawn"
    ),
    "_withdraw without ahead.withdraw": (
        "tests/protocol/test_list_ahead_given_up.py::test_a_job_that_fails_then_is_in_nobodys_way"
    ),
    "prepare_job without alive.end": f"{_STEPS}test_a_job_without_a_claim_shows_no_sign_of_life",
    "prepare_job without check_output": f"{_STEPS}test_two_messages_of_one_task_are_refused",
    "prepare_job without left_out": f"{_STEPS}test_a_task_whose_message_is_forgotten_is_named",
    "_withdraw without withdraw_claim": (
        f"{_STEPS}test_p11_a_job_that_was_refused_is_in_nobodys_way"
    ),
    **of_stores.HELD_BY,
}
"""Bugs that no simulated run can tell, or none of those tried, and the test that can."""
