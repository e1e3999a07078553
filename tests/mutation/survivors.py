"""Mutants that survive, by name, and why.

By night each of these is tried as well: one that is killed after all is to be taken out.
"""

from __future__ import annotations

NO_DIFFERENCE = {
    "protocol/verify.py:_marker: not isinstance(data, bytes) or not data -> "
    "not isinstance(data, bytes) and (not data)": "what is no text of JSON is no marker, either",
    "protocol/verify.py:_marker: not isinstance(data, bytes) or not data -> not data": (
        "what is no text of JSON is no marker, either"
    ),
    "protocol/verify.py:_marker: not isinstance(data, bytes) or not data -> "
    "not isinstance(data, bytes)": "what is no text of JSON is no marker, either",
    "protocol/attempt.py:_write_manifest: not is_active or standing is None or "
    "(standing != manifest and (not is_as_good(… -> not is_active or "
    "(standing != manifest and (not is_as_good(standing)))": (
        "nothing is no manifest, so it is neither this one nor as good"
    ),
    "protocol/attempt.py:_write_manifest: len(manifest) > RECORD_BYTES_MAX -> "
    "len(manifest) >= RECORD_BYTES_MAX": "one byte of 64 MiB, of a limit that nobody is told",
    "protocol/superseded.py:_count: job.store.list_tree(…) [without without]": (
        "what is in the areas is never a wanted name: it is listed in vain"
    ),
    "protocol/waiting.py:Patience.wait: 1.5 -> 2.5": "only how soon it is looked again",
    "protocol/chosen.py:ChosenTasks.inline: self.listed is not None or self.held is None -> "
    "self.listed is not None": "one of the two is always there, and never both",
    "protocol/old_partitions.py:_Walk._files_among: 1 -> 2": "how many are listed after a long one",
    "effects/read_ahead.py:read_ahead: not begun and following is not None -> not begun": (
        "one of the two is there: it says so to those who check types"
    ),
    "protocol/slice_work.py:_publish: piece.in_place and len(new.reusable) -> len(new.reusable)": (
        "where nothing is replaced in place, the list of what is replaced is read in vain"
    ),
    "protocol/late_deletes.py:leave_late_deletes: published.record.lost or not replaced.late_count "
    "-> published.record.lost": "what is replaced is read in vain, and the permit renewed",
    "effects/read_ahead.py:read_ahead: 0 -> 1": "no result is smaller",
    "effects/read_ahead.py:read_ahead: 1 -> 2": "no result is as small as that",
    "protocol/manifests.py:check_new_files: new.manifests = replace(manifests, are_checked=True) "
    "-> nothing": "manifests are checked once more whenever they are read",
    "effects/removal.py:TrashRemoval.remove: return Removed.GONE -> return None": (
        "it is asked only whether the file was kept, or has changed"
    ),
    "effects/recorded_uploads.py:RecordedUploads._of_markers: isinstance(child, Entry) and "
    "layout.is_upload_record(child.path) -> isinstance(child, Entry)": (
        "what is no record of an upload names none"
    ),
    "protocol/hidden_files.py:new_files_of: mark in name and job_named_in(name) == job_id -> "
    "job_named_in(name) == job_id": "a job that is named in a name is in it: this is quicker",
    "committers/working_files.py:_Recording.finish: self._asking = False -> nothing": (
        "a writer that has finished is not discarded"
    ),
    "protocol/success.py:_is_to_mark: other.decision is None or other.state == 'void' -> "
    "other.state == 'void'": "of a job that is not void it is asked only once it has decided",
    "protocol/manifests.py:NewFiles.add: self.rows or 0 -> self.rows": (
        "where they are not known, this is not reached"
    ),
    "protocol/streamed_list.py:ListWriter.add: len(self._held) >= _HELD_BYTES_MAX -> "
    "len(self._held) > _HELD_BYTES_MAX": "one byte more is held, of a limit of memory",
    "effects/confirmed/one_shot.py:observe_again: 4 -> 5": "only how soon it is looked again",
    "protocol/commit.py:_name_command: error.job_id or job.record.job_id -> job.record.job_id": (
        "what a commit raises names no other job than its own"
    ),
    "protocol/adoption.py:_check_form: 0 <= size <= _BYTES_MAX -> 0 <= size < _BYTES_MAX": (
        "no file has as many bytes as that"
    ),
    "protocol/check.py:left_out: len(messages) > _LOOKED_FOR_MAX -> len(messages) >= "
    "_LOOKED_FOR_MAX": ("one message of ten thousand, of a limit that nobody is told"),
    "protocol/manifests.py:ChosenManifests.groups: group and (len(group) == _READ_AT_ONCE_MAX"
    " or more > _FILES_AT_ONCE_MAX) -> len(group) == _READ_AT_ONCE_MAX or more > "
    "_FILES_AT_ONCE_MAX": ("a group may be empty: nothing is read for it"),
    "protocol/manifests.py:NewFiles.add: files.rows or 0 -> files.rows": (
        "where they are not known, this is not reached"
    ),
    "effects/parallel.py:_Feed._fetch: self._batches is not None and (not self._ended) -> not"
    " self._ended": ("where there are no batches, they have ended from the beginning"),
    "effects/parallel.py:_Feed.may_have_more: return not self._ended or "
    "length_hint(self._items, 1) > 0 -> return True": (
        "one worker more is begun, and finds nothing to do"
    ),
    "effects/parallel.py:_Feed.may_have_more: 1 -> 2": (
        "how many there may be where nobody knows: more than none"
    ),
    "committers/magic.py:_Recording._finished_by: part.size_bytes or 0 -> part.size_bytes": (
        "a part that was stored just now has a size"
    ),
    "committers/working_files.py:WorkingFiles._adopt_from: name = Target(files[name].name) ->"
    " nothing": ("the same text, held twice: memory"),
    "protocol/file_names.py:_Group.add: len(self._recent) >= _RECENT_BYTES_MAX -> "
    "len(self._recent) > _RECENT_BYTES_MAX": ("one byte more is held, of a limit of memory"),
    "protocol/commit.py:finish_job: left.job_id or job.record.job_id -> job.record.job_id": (
        "what a commit raises names no other job than its own"
    ),
    "protocol/committed_tasks.py:forgotten_messages: 1 -> 2": (
        "no task has either of these numbers"
    ),
    "protocol/file_names.py:NameIndex._find: position < len(bucket.highs) and "
    "bucket.highs[position] == high -> position < len(bucket.highs)": (
        "other names are compared as well: their digests differ in the other half, too"
    ),
    "effects/confirmed/uploads.py:ConfirmedUploads.adopted: True -> False": (
        "they are as many: that was asked before"
    ),
    "committers/renaming.py:RenamingCommitter.publish: True -> False": (
        "they are as many: one is made of the other"
    ),
    "committers/renaming.py:RenamingCommitter.publish_success: there.token != prepared_token "
    "and await publish(there.token) -> await publish(there.token)": (
        "what is refused is asked once more, and refused again"
    ),
    "effects/confirm.py:unclassified: StoreError(…) [without reply]": (
        "an error that is not told otherwise says the same"
    ),
    "effects/deletion.py:Permit.covers: len(above) + 1 -> len(above) - 1": (
        "of a tree the last letter is looked at as well: none of ours ends in a dot"
    ),
    "effects/void_areas.py:delete_taken_area: return True -> nothing": (
        "what is gone is looked for, and deleted in vain"
    ),
    "protocol/success.py:_is_to_mark: other.decision is None or other.state == 'void' -> "
    "other.decision is None and other.state == 'void'": (
        "a void job is read without its decision, and the others that are asked have one"
    ),
    "protocol/verify.py:_written_by: job.decision is None or job.decision.record.claim is None -> "
    "job.decision is None": "a decision to commit without a claim is damaged, and not shown",
    "protocol/verify.py:_written_by: return {} -> nothing": (
        "it is asked of jobs with a decision to commit, and that has a claim"
    ),
    "effects/removal.py:ConditionalRemoval.may_take: self._drops_uploads and name == SUCCESS and "
    "(not in_place) -> self._drops_uploads and name == SUCCESS": (
        "no file of a job has the name of the marker: it is never replaced in place"
    ),
    "effects/recorded_uploads.py:RecordedUploads._of_markers: isinstance(child, Entry) and "
    "layout.is_upload_record(child.path) -> isinstance(child, Entry) or "
    "layout.is_upload_record(child.path)": (
        "what is no record of an upload names none, and in a bucket no directory can be read"
    ),
    "protocol/old_partitions.py:_Walk._ways: return Ways(spot, self._index, {}) -> nothing": (
        "where nothing is wanted below, no other spelling of it is found either: this is quicker"
    ),
}
"""The library does the same, or takes a little more time or memory for it."""

SURVIVORS = {
    "effects/confirmed/uploads.py:_Completion.note: self.doubt or error.reply is Reply.UNKNOWN -> "
    "error.reply is Reply.UNKNOWN": "a completion that is refused after one that was not answered",
    "effects/confirmed/files.py:ConfirmedFiles.rename: isinstance(left, Entry) and "
    "left.token != token -> left.token != token": (
        "a directory that somebody has made where a file was to be renamed from"
    ),
    "committers/v1.py:V1Attempt._adopt_directory: inactive(…) [without task_id]": (
        "the task in an error that names its job"
    ),
    "protocol/damaged.py:_fenced: Decision(…) [without by]": (
        "a decision that is removed a moment later; a driver that reads it in between would tell"
    ),
    "effects/removal.py:NamedRemoval.remove: raise AssertionError(f'{entry.path!r} may have "
    "been replaced') -> nothing": ("a mistake of ours, which no caller makes"),
}
"""Something would be different, and no quick test looks at it: what would notice it."""

KILLED_SINCE: dict[str, str] = {}
"""What was alive in the last measurement and is no more, by name: the test that kills it now, or
what has become of its code."""
