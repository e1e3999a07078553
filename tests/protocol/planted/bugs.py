"""Bugs on purpose: each weakens one rule, and the simulator must find out that it matters.

A bug is a function that patches the product for one test. Those of the models in `tests/specs` are
here as code, and so are mistakes that were found in this library, made again.
"""

from __future__ import annotations

from tests.protocol.planted import (
    of_answers,
    of_attempts,
    of_claims,
    of_commits,
    of_decisions,
    of_effects,
    of_emptying,
    of_files,
    of_history,
    of_identity,
    of_looks,
    of_markers,
    of_models,
    of_names,
    of_neighbours,
    of_reading,
    of_records,
    of_scenes,
    of_slices,
    of_stores,
    of_surroundings,
    of_the_end,
    runs,
    steps,
)
from tests.protocol.planted.bug import Bug

OF_STEPS = {
    "_finish without beware_of_stale_success": runs.TAKEN_FOR_A_STALE_ONE,
    "_finish without say_published": runs.RETIRED_HALFWAY,
    "commit_job without deciding": runs.DECIDED_LATE,
    "_prepare without looks.is_done": runs.ONE_KEY,
    "_prepare without refuse_endangered": runs.LATE_DELETE,
}
"""Runs that catch steps which are left out."""

LEFT_OUT = steps.left_out()

BUGS = {
    "publishes before its decision": Bug(of_commits.publishes_before_its_decision, ("P2", "P5")),
    "deletes before it publishes": Bug(of_commits.deletes_before_it_publishes, ("P9",)),
    "leaves the old files": Bug(of_commits.leaves_the_old_files, ("P9",)),
    "publishes no marker": Bug(of_commits.publishes_no_marker, ("P1",)),
    "leaves out the last file": Bug(
        of_commits.leaves_out_the_last_file, ("P1", "P9"), plan=runs.NO_RENAME_FOR_LONG
    ),
    "sees no other claim": Bug(of_decisions.sees_no_other_claim, ("P1", "P9", "P11")),
    "looks before it claims": Bug(
        of_decisions.looks_before_it_claims, ("P1", "P9", "P11"), plan=runs.LOOKED_TOO_EARLY
    ),
    "takes a decided job for over": Bug(
        of_decisions.takes_a_decided_job_for_over, ("P1", "P9", "P11")
    ),
    "fences with nothing": Bug(
        of_decisions.fences_with_nothing, ("P8", "P9", "P11"), plan=runs.PASSED_OVER
    ),
    "overwrites the decision": Bug(of_decisions.overwrites_the_decision, ("P7",)),
    "believes its decision in a void area": Bug(
        of_decisions.believes_its_decision_in_a_void_area, ("P5", "P7"), family="gcs"
    ),
    "believes a void abort": Bug(of_decisions.believes_a_void_abort, ("P5", "P7"), family="gcs"),
    "aborts without a decision": Bug(
        of_decisions.aborts_without_a_decision, ("P1", "P5", "P7", "P8")
    ),
    "cleans without a fence": Bug(of_effects.cleans_without_a_fence, ("P5", "P7", "P8")),
    "cleans areas that just begin": Bug(
        of_effects.cleans_areas_that_just_begin, ("P5", "P7", "P8"), plan=runs.BESIDE_THE_START
    ),
    "renames areas that just begin": Bug(
        of_effects.renames_areas_that_just_begin, ("P1", "P2"), plan=runs.BESIDE_A_SLOW_CLEAN
    ),
    "removes the decision first": Bug(of_effects.removes_the_decision_first, ("P7",), family="s3"),
    "removes areas file by file": Bug(
        of_effects.removes_areas_file_by_file, ("P7",), family="disk"
    ),
    "repeats the start": Bug(
        of_effects.repeats_the_start, ("P5", "P6", "P7"), plan=runs.STARTED_TWICE
    ),
    "deletes on an old permit": Bug(
        of_effects.deletes_on_an_old_permit,
        ("P6", "P9"),
        plan=runs.superseded("s3", "complete", 1, "halt_after", until_s=8_000),
    ),
    "deletes long after its look": Bug(of_effects.deletes_long_after, plan=runs.LOOKED_ONCE),
    "deletes whatever has the name": Bug(
        of_effects.deletes_whatever_has_the_name,
        ("P6", "P9"),
        plan=runs.superseded("gcs", "delete", 1, "halt", until_s=10),
    ),
    "appends over names": Bug(of_commits.appends_over_names, ("P9", "P11")),
    "writes beside data": Bug(of_commits.writes_beside_data, ("P11",)),
    "forgets its key": Bug(of_commits.forgets_its_key, ("P7",)),
    "says not committed of an unknown decision": Bug(
        of_commits.says_not_committed_of_an_unknown_decision, ("P7",), plan=runs.DECIDED_IN_DOUBT
    ),
    "says not committed of a part": Bug(of_commits.says_not_committed_of_a_part, ("P7",)),
    "says not committed without asking": Bug(of_commits.says_not_committed_without_asking, ("P7",)),
    "says committed of an abort": Bug(of_commits.says_committed_of_an_abort, ("P7",)),
    "takes no answer for done": Bug(
        of_effects.takes_no_answer_for_done, ("P1", "P9"), plan=runs.NOT_ANSWERED
    ),
    "leaves uploads": Bug(of_effects.leaves_uploads, ("P5",), family="s3"),
    "leaves its area": Bug(of_effects.leaves_its_area, ("P5",)),
    "writes outside": Bug(of_commits.writes_outside, ("P10",)),
    "waits for ever": Bug(of_decisions.waits_for_ever, ("P8",)),
    "publishes another attempt": Bug(of_commits.publishes_another_attempt, ("P3",)),
    "deletes what it lists later": Bug(of_effects.deletes_what_it_lists_later, ("P9",)),
    "waits for no slice": Bug(of_slices.waits_for_no_slice, ("P1", "P9"), sliced=True),
    "believes a failed slice": Bug(of_slices.believes_a_failed_slice, ("P1", "P9"), sliced=True),
    "deletes before all slices": Bug(of_slices.deletes_before_all_slices, ("P9",), sliced=True),
    "deletes blindly": Bug(of_slices.deletes_blindly, ("P9",), plan=of_slices.LATE_DELETION),
    **of_reading.BUGS,
    "commits in two threads": Bug(
        of_decisions.commits_in_two_threads, ("P7",), plan=runs.TWO_THREADS_AND_AN_OUTAGE
    ),
    "takes hidden names for unique": Bug(
        of_scenes.takes_hidden_names_for_unique, ("P11",), plan=of_scenes.ONE_HIDDEN_NAME
    ),
    "uploads hidden names by path": Bug(
        of_scenes.uploads_hidden_names_by_path, ("P8",), plan=of_scenes.TWO_UPLOADS_OF_ONE_PATH
    ),
    "mixes two spellings": Bug(
        of_scenes.mixes_two_spellings, ("P11",), plan=of_scenes.TWO_SPELLINGS
    ),
    "writes into a partition of another name": Bug(
        of_names.writes_into_a_partition_of_another_name,
        ("P1", "P9", "P11"),
        plan=of_names.SPELLED_OTHERWISE,
    ),
    "takes two spellings for two names": Bug(
        of_names.takes_two_spellings_for_two_names,
        ("P1", "P8"),
        plan=of_names.TWO_FILES_OF_ONE_NAME,
    ),
    "claims names as they are spelled": Bug(
        of_names.claims_names_as_they_are_spelled, ("P9", "P11"), plan=of_names.TOGETHER
    ),
    "finds only the very name in the way": Bug(
        of_names.finds_only_the_very_name_in_the_way,
        ("P8", "P11"),
        plan=of_names.STANDS_IN_CAPITALS,
    ),
    "mixes spellings below declared ones": Bug(
        of_names.mixes_spellings_below_declared_ones,
        ("P11",),
        plan=of_names.DECLARED_WITH_OTHER_ROWS,
    ),
    "adopts without a record": Bug(
        of_scenes.adopts_without_a_record, ("P5",), plan=of_scenes.ADOPTED_BUT_NOT_CHOSEN
    ),
    "lets a failing callback decide": Bug(
        of_scenes.lets_a_callback_decide, ("P8",), plan=of_scenes.FAILING_CALLBACK
    ),
    "lets an exiting callback decide": Bug(
        of_scenes.lets_a_callback_decide, ("P8",), plan=of_scenes.EXITING_CALLBACK
    ),
    "leaves its heart beating": Bug(
        of_scenes.leaves_its_heart_beating, ("P8",), plan=of_scenes.INTERRUPTED
    ),
    "says published before it resumes": Bug(
        of_scenes.says_published_before_it_resumes, ("P1",), plan=of_scenes.RESUMED_TWICE
    ),
    "keeps what the trash took": Bug(
        of_scenes.keeps_what_the_trash_took, ("P9",), plan=of_scenes.MEDDLER
    ),
    "shares a work area": Bug(of_scenes.shares_a_work_area, ("P10",), plan=of_scenes.NEIGHBOURS),
    "looks for no destination inside": Bug(
        of_scenes.looks_for_no_destination_inside, ("P9",), plan=of_scenes.INSIDE
    ),
    "aborts markers that may be decided": Bug(
        of_scenes.aborts_markers_that_may_be_decided, ("P8",), plan=of_scenes.SLOW_TO_RECORD
    ),
    "leaves markers that nobody knows": Bug(
        of_scenes.leaves_markers_that_nobody_knows, ("P5",), plan=of_scenes.NEVER_TOLD
    ),
    "leaves probes": Bug(of_scenes.leaves_probes, ("P5",), plan=of_scenes.left_over("probe")),
    "removes what it cannot read": Bug(
        of_scenes.removes_what_it_cannot_read, ("P8",), plan=of_scenes.left_over("newer")
    ),
    "removes published first": Bug(
        of_scenes.removes_published_first, ("P8",), plan=of_scenes.DECISION_TOO_LATE
    ),
    "appends without a claim": Bug(
        of_claims.appends_without_a_claim, ("P1", "P9", "P11"), plan=runs.UNCLAIMED
    ),
    "has one claim for all drivers": Bug(
        of_claims.has_one_claim_for_all_drivers, ("P1", "P8", "P9", "P11"), plan=runs.WITHDRAWN_LATE
    ),
    "lets appends pass with any names": Bug(
        of_claims.lets_appends_pass_with_any_names, ("P8", "P11"), plan=runs.ONE_NAME
    ),
    "lets one key pass twice": Bug(of_claims.lets_one_key_pass_twice, ("P7",), plan=runs.ONE_KEY),
    "overlaps only in equal partitions": Bug(
        of_claims.overlaps_only_in_equal_partitions, ("P1", "P9", "P11"), plan=runs.ABOVE
    ),
    "passes whatever a name says": Bug(
        of_claims.passes_whatever_a_name_says, ("P1", "P9", "P11"), plan=runs.UNCLAIMED
    ),
    "says too little in a name": Bug(
        of_claims.says_too_little_in_a_name, ("P1", "P9", "P11"), plan=runs.ABOVE
    ),
    "passes who has decided": Bug(
        of_claims.passes_who_has_decided, ("P1", "P2", "P6", "P8", "P9", "P11")
    ),
    **of_looks.BUGS,
    **of_markers.BUGS,
    **of_emptying.BUGS,
    **of_models.BUGS,
    **of_neighbours.BUGS,
    **of_history.BUGS,
    **of_files.BUGS,
    **of_records.BUGS,
    **of_surroundings.BUGS,
    "creates its decision empty": Bug(of_claims.creates_its_decision_empty, ("P8",)),
    "takes another decision for its own": Bug(
        of_claims.takes_another_decision_for_its_own, ("P1", "P2", "P5", "P7")
    ),
    "believes that an unanswered decision was not made": Bug(
        of_claims.believes_that_an_unanswered_decision_was_not_made, ("P7",), plan=runs.DECIDED_LATE
    ),
    "reads the job before its decision": Bug(
        of_claims.reads_the_job_before_its_decision, ("P5", "P7"), family="gcs"
    ),
    "resumes a void decision": Bug(of_claims.resumes_a_void_decision, ("P1", "P7"), family="gcs"),
    "aborts what is committed": Bug(of_claims.aborts_what_is_committed, ("P1", "P5", "P8")),
    "forgets what it has decided": Bug(of_claims.forgets_what_it_has_decided, ("P7", "P8")),
    "says not committed while a decision is on its way": Bug(
        of_claims.says_not_committed_while_a_decision_is_on_its_way, ("P7",), plan=runs.DECIDED_LATE
    ),
    "publishes when a task commits": Bug(
        of_attempts.publishes_when_a_task_commits, ("P2", "P5"), family="gcs"
    ),
    "has one name for all attempts": Bug(
        of_attempts.has_one_name_for_all_attempts, ("P1", "P8"), family="azure-flat"
    ),
    "seals what came late": Bug(
        of_attempts.seals_what_came_late, ("P8",), plan=of_identity.WRITTEN_BEFORE
    ),
    "has one id for all attempts": Bug(of_attempts.has_one_id_for_all_attempts, ("P1", "P8")),
    "has job ids of a second": Bug(of_attempts.has_job_ids_of_a_second, ("P2", "P3", "P8")),
    "chooses the last attempt": Bug(of_attempts.chooses_the_last_attempt, ("P3",)),
    "discards an attempt that may be chosen": Bug(
        of_attempts.discards_an_attempt_that_may_be_chosen,
        ("P1", "P8"),
        plan=runs.CHOSEN_WITHOUT_AN_ANSWER,
    ),
    "goes by what another attempt has written": Bug(
        of_attempts.goes_by_what_another_attempt_has_written, ("P1", "P3", "P8")
    ),
    "records no uploads": Bug(of_attempts.records_no_uploads, ("P5",), family="s3"),
    "uploads for a job that is over": Bug(
        of_attempts.uploads_for_a_job_that_is_over, ("P5",), family="s3"
    ),
    "publishes every attempt": Bug(of_attempts.publishes_every_attempt, ("P2",), family="gcs"),
    "publishes what other jobs left": Bug(
        of_attempts.publishes_what_other_jobs_left, ("P2",), family="gcs"
    ),
    "removes the areas of all jobs": Bug(
        of_attempts.removes_the_areas_of_all_jobs, ("P1", "P7", "P8")
    ),
    "aborts the uploads of all jobs": Bug(
        of_attempts.aborts_the_uploads_of_all_jobs, ("P1", "P8"), family="s3"
    ),
    "clears no partition that it does not write": Bug(
        of_attempts.clears_no_partition_that_it_does_not_write, ("P1", "P9")
    ),
    "looks into the trash once": Bug(
        of_the_end.looks_into_the_trash_once,
        ("P1", "P9"),
        plan=runs.TAKEN_FOR_A_STALE_ONE,
    ),
    "looks into the trash only in its place": Bug(
        of_the_end.looks_into_the_trash_only_in_its_place,
        ("P1", "P9"),
        plan=runs.TAKEN_FOR_A_STALE_ONE,
    ),
    "takes over what was taken": Bug(
        of_the_end.takes_over_what_was_taken, ("P1", "P9"), plan=runs.TAKEN_TWICE
    ),
    "puts back over what came": Bug(
        of_the_end.puts_back_over_what_came, ("P1", "P9"), family="disk"
    ),
    "renames over anything": Bug(of_the_end.renames_over_anything, ("P9",), family="gcs"),
    "completes over anything": Bug(of_the_end.completes_over_anything, ("P9",), family="s3"),
    "looks and then deletes": Bug(
        of_the_end.looks_and_then_deletes,
        ("P6", "P9"),
        family="disk",
        plan=runs.superseded("disk", "delete", 1, "halt", until_s=10),
    ),
    "ends with old files left": Bug(
        of_the_end.ends_with_old_files_left, ("P1", "P9"), plan=runs.NO_DELETION_IS_ANSWERED
    ),
    "removes its job before it publishes": Bug(
        of_the_end.removes_its_job_before_it_publishes, ("P1", "P6", "P8")
    ),
    "takes a name for the file": Bug(of_the_end.takes_a_name_for_the_file, ("P1", "P9")),
    "takes an arrived file for lost": Bug(of_the_end.takes_an_arrived_file_for_lost, ("P8",)),
    "takes a completed upload for lost": Bug(
        of_the_end.takes_a_completed_upload_for_lost, ("P8",), family="s3"
    ),
    "completes when told so": Bug(of_the_end.completes_when_told_so, ("P1", "P8"), family="s3"),
    "takes a part that came again for lost": Bug(
        of_the_end.takes_a_part_that_came_again_for_lost, ("P8",), plan=runs.PART_CAME_AGAIN
    ),
    "takes a later refusal for the answer": Bug(
        of_the_end.takes_a_later_refusal_for_the_answer, ("P7", "P8")
    ),
    "leaves no word of its deletions": Bug(
        of_the_end.leaves_no_word_of_its_deletions, ("P6", "P9"), family="s3", plan=runs.LATE_DELETE
    ),
    "leaves old areas": Bug(of_the_end.leaves_old_areas, ("P5", "P8")),
    **of_the_end.BUGS,
    "takes its marker for lost": Bug(
        of_the_end.takes_its_marker_for_lost, ("P8",), family="gcs", plan=runs.TWO_DEAD_MARKERS
    ),
    "takes a marker away for good": Bug(of_the_end.takes_a_marker_away_for_good, ("P1",)),
    "leaves the marker of an unfinished job": Bug(
        of_the_end.leaves_the_marker_of_an_unfinished_job, ("P1",)
    ),
    "prepares a marker again": Bug(of_the_end.prepares_a_marker_again, ("P1",), family="gcs"),
    "skips without a reason": Bug(of_answers.skips_without_a_reason, ("P1",)),
    "counts no file": Bug(of_answers.counts_no_file, ("P1",)),
    "tells the loser nothing": Bug(of_answers.tells_the_loser_nothing, ("P7",)),
    "tells nobody how it ended": Bug(
        of_answers.tells_nobody_how_it_ended, ("P7",), plan=of_answers.COMES_LATE
    ),
    "refuses beside any other": Bug(of_answers.refuses_beside_any_other, ("P4",)),
    "calls each attempt the chosen one": Bug(of_answers.calls_each_attempt_the_chosen_one, ("P3",)),
    "asks nobody's age": Bug(of_answers.asks_nobodys_age, ("P8",)),
    "aborts uploads of others": Bug(
        of_answers.aborts_uploads_of_others, ("P8",), plan=of_answers.BESIDE_AN_UPLOAD
    ),
    "names no file in its marker": Bug(of_answers.names_no_file_in_its_marker, ("P1",)),
    "leaves a marker that names what goes": Bug(
        of_answers.leaves_a_marker_that_names_what_goes,
        ("P1",),
        family="s3",
        plan=of_answers.NAMED_AND_REPLACED,
    ),
    "publishes no empty file": Bug(of_answers.publishes_no_empty_file, ("P1",)),
    "says partial of the whole": Bug(of_identity.says_partial_of_the_whole, ("P8",)),
    "calls a failed commit skipped": Bug(of_identity.calls_a_failed_commit_skipped, ("P1", "P5")),
    "leaves uploads at sealing": Bug(
        of_identity.leaves_uploads_at_sealing, ("P5",), plan=of_identity.WRITTEN_AGAIN
    ),
    "knows files by their size": Bug(
        of_identity.knows_files_by_their_size, ("P1",), plan=of_identity.OF_ONE_SIZE
    ),
    "compares no digest": Bug(of_identity.compares_no_digest),
    "never waits": Bug(of_identity.never_waits, ("P11",)),
    "aborts whoever lives": Bug(
        of_identity.aborts_whoever_lives, ("P11",), plan=of_identity.BESIDE_A_SLOW_ONE
    ),
    **{
        name: Bug(steps.plant(tree), plan=OF_STEPS.get(name))
        for name, tree in {**LEFT_OUT, **steps.swapped()}.items()
    },
    **of_stores.BUGS,
}
