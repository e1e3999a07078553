------------------------------ MODULE JobTrace ------------------------------
(***************************************************************************)
(* Whether what the code did is a behaviour of Job.tla.                    *)
(*                                                                         *)
(* The simulator runs the code and records each request in the order in    *)
(* which the store carried them out.  Each request that changed something  *)
(* must be a step of the same process here, which changes the same; each   *)
(* step here that reads must be a request of that process there.  What the *)
(* code reads more often than it must is passed over.                      *)
(*                                                                         *)
(* tests/specs/recorded.py writes the module Recorded, with the runs.      *)
(***************************************************************************)
EXTENDS Job, Sequences, TLC, Recorded

VARIABLES
    run,    \* which of the recorded runs
    next    \* its next event

Events == Runs[run]

TraceInit ==
    /\ store = [Start EXCEPT !.marker = None]
    /\ late = {} /\ losses = Losses
    /\ life = "new"
    /\ step = [a \in Attempts |-> "idle"]
    /\ at = [s \in Settlers |-> "idle"]
    /\ holds = [s \in Settlers |-> None]
    /\ todo = [s \in Settlers |-> {}]
    /\ counted = {}
    /\ later = "idle" /\ saw = None
    /\ run \in 1..Len(Runs) /\ next = 1

(* The steps of an attempt that an event may be. *)
OfAttempt(e) ==
    CASE e.what = "write file" -> WriteFile(e.who)
      [] e.what = "seal" -> SealAttempt(e.who)
      [] e.what = "create manifest" -> CreateManifest(e.who)
      [] e.what = "create pointer" -> CreatePointer(e.who)
      [] e.what = "discard" -> DiscardAttempt(e.who)
      [] OTHER -> FALSE

(* Whoever has not decided, and finds no area or only a part of one, asks what was decided; who has,
   whether the job is over.  In Job.tla an area takes records as long as there is a job.json, or
   always, and its manifests go with the last of its files: so some of these places are not there.
   Where the others are, what a process does next is the same. *)
FindGone(s, places) ==
    /\ ~store.job
    /\ at[s] \in places
    /\ Go(s, IF at[s] \in {"load", "publish", "say"} THEN "over?" ELSE "refused")
    /\ OnlyReads /\ Same /\ UNCHANGED others

(* A driver that has its messages looks whether the job is decided.  In Job.tla its create shows that,
   and what it does next is the same: tests/specs/emptying.py is about what it may else leave. *)
FindDecided(d) ==
    /\ d \in Drivers /\ store.decision # None
    /\ at[d] \in {"look", "look last"}
    /\ Go(d, "refused")
    /\ OnlyReads /\ Same /\ UNCHANGED others

(* Who appends looks for the names of its files before it decides; so does who overwrites with exact
   names, for what no listing shows.  One that is taken may be a file of its job that another driver
   has decided and published: so it asks what was decided.  In Job.tla its create shows that, as in
   FindDecided. *)
FindTaken(d, task) ==
    /\ d \in Drivers /\ (Appends \/ InPlace)
    /\ at[d] \in {"look", "look last", "prepare", "decide"}
    /\ \E a \in Attempts : a[1] = task /\ store.visible[NameOf(a)] = a
    /\ Go(d, "refused")
    /\ OnlyReads /\ Same /\ UNCHANGED others

(* The marker is prepared beside the look.  When that has found the job gone, or decided, the request
   is given up, and may come whenever it comes. *)
PrepareInVain(d) ==
    /\ at[d] \in {"refused", "read job", "ended?",
                 "told committed", "told not committed", "told unknown"}
    /\ Answered([verb |-> "prepare marker", by |-> d])
    /\ UNCHANGED at /\ Same /\ UNCHANGED others

(* Where the store collects messages, a driver that does not find all of them asks whether somebody
   has settled the job.  In Job.tla a driver begins when there is one of each task. *)
FindMissing(d) ==
    /\ d \in Drivers /\ Collect = "store" /\ at[d] = "idle"
    /\ \E t \in Tasks : store.pointers[t] = None
    /\ Go(d, "refused")
    /\ OnlyReads /\ Same /\ UNCHANGED others

(* The steps of a settler that an event may be. *)
OfSettler(e) ==
    CASE e.what = "create job.json" -> StartJob
      [] e.what = "read job.json" ->
            \/ ConfirmDecision(e.who) \/ ReadJobAfterDecision(e.who)
            \/ ReadJobBeforeDeleting(e.who)
            \/ (e.who \in Aborters /\ BeginAbort(e.who))
            \/ BeginResume(e.who) \/ BeginClean(e.who)
            \/ AskWhetherOver(e.who) \/ AskHowItEnded(e.who)
            \/ (~store.job /\ DeleteJobJson(e.who))    \* a request unanswered, and observed
            \/ FindGone(e.who, {"look", "look last"})
      [] e.what = "list areas" ->
            BeginClean(e.who) \/ AskWhetherOver(e.who) \/ AskHowItEnded(e.who)
      [] e.what = "read manifest" ->
            CheckOutput(e.who) \/ LoadManifests(e.who) \/ FindGone(e.who, {"check", "load"})
      [] e.what = "find it gone" ->
            FindGone(e.who, {"look", "look last", "prepare", "decide", "publish"})
      [] e.what = "list destination" -> Look(e.who) \/ AskHowItEnded(e.who)
      [] e.what = "prepare marker" -> PrepareMarker(e.who) \/ PrepareInVain(e.who)
      [] e.what = "create decision" -> CreateDecision(e.who)
      [] e.what = "read decision" -> ReadDecision(e.who) \/ FindDecided(e.who)
      [] e.what = "read published" ->    \* of another, who has removed the area since
            ReadPublished(e.who) \/ FindGone(e.who, {"publish", "say"})
      [] e.what = "read pointer" -> e.who \in Drivers /\ (BeginCommit(e.who) \/ FindMissing(e.who))
      [] e.what = "delete decision" ->
            TakeBackDecision(e.who) \/ DeleteDecision(e.who) \/ DeleteTheRest(e.who)
      [] e.what = "list area" ->
            \/ BeginClean(e.who) \/ AskWhetherOver(e.who) \/ AskHowItEnded(e.who)
            \/ store.decision = None /\ TakeBackDecision(e.who)
      [] e.what = "remove marker" -> RemoveStaleMarker(e.who)
      [] e.what = "publish" -> PublishFile(e.who, e.task)
      [] e.what = "observe" -> PublishFile(e.who, e.task) \/ FindTaken(e.who, e.task)
      [] e.what = "create published" -> SayPublished(e.who)
      [] e.what = "delete old" -> DeleteOld(e.who)
      [] e.what = "publish marker" ->    \* who appends lists nothing, but looks at the marker
            PublishMarker(e.who) \/ (Appends /\ Look(e.who))
      [] e.what = "create epoch" -> BeginEpoch(e.who)
      [] e.what = "rename area" -> RetireByRename(e.who)
      [] e.what = "delete job.json" -> DeleteJobJson(e.who)
      [] e.what = "delete pointer" -> DeletePointer(e.who, e.task)
      [] e.what = "delete the rest" ->
            \/ DeleteTheRest(e.who)
            \/ (~store.job /\ RetireByRename(e.who))    \* a request unanswered, and observed
            \/ FindGone(e.who,    \* no area for a record, or for one that was not answered
                        {"look", "look last", "prepare", "decide", "publish", "say"})
      [] e.what = "calls commit" -> BeginCommit(e.who)
      [] e.what = "calls abort" -> e.who \in Drivers /\ BeginAbort(e.who)
      [] e.what = "unanswered" -> LoseAnswer(e.who)
      [] OTHER -> FALSE

(* What an event that changed something has changed. *)
Effect(e) ==
    CASE e.what = "create decision" -> store.decision = None /\ store'.decision # None
      [] e.what = "publish" -> \E a \in Attempts : a[1] = e.task /\ store'.visible[NameOf(a)] = a
      [] OTHER -> TRUE

(* S3 answers who completes an upload again as if that had done something.  It comes to that where the
   first request was not answered. *)
MayBeRepeated == Committer = "magic" /\ losses < Losses

(* A request that changed nothing, since it was carried out before. *)
Idempotent(e) ==
    /\ CASE e.what = "delete decision" -> store.decision = None
         [] e.what = "delete job.json" -> ~store.job
         [] e.what = "delete pointer" -> store.pointers[e.task] = None
         [] e.what = "delete old" -> store.visible[OldName] = None
         [] e.what = "remove marker" -> store.marker = None
         [] e.what = "publish marker" -> MayBeRepeated /\ store.marker = Ours
         [] e.what = "publish" ->
               MayBeRepeated /\ \E a \in Attempts : a[1] = e.task /\ store.visible[NameOf(a)] = a
         [] e.what = "create epoch" -> store.epoch
         [] e.what = "rename area" -> ~store.job
         [] e.what = "discard" -> e.who \notin store.sources \cup store.manifests
         [] OTHER -> FALSE
    /\ UNCHANGED vars

(* What a caller is told is what its process here is told; and that nothing is committed is true. *)
Told(e) ==
    /\ e.what = "told"
    /\ e.as = {} \/ at[e.who] \in e.as \/ ("returned" \in e.as /\ HasReturned(e.who))
    /\ e.nothing => ToCommit = {}
    /\ UNCHANGED vars

Happens(e) ==
    \/ OfAttempt(e) /\ Counts
       /\ (e.what = "create pointer" => e.changed = (store' # store))
    \/ OfSettler(e) /\ Counts
       /\ IF e.changed THEN Effect(e) ELSE e.what # "delete the rest" => store' = store
    \/ e.changed /\ ArriveLate /\ Counts /\ store' # store /\ Effect(e)
    \/ Told(e)
    \/ e.changed /\ Idempotent(e)
    \/ ~e.changed /\ e.what # "told" /\ UNCHANGED vars

(* What a process does without a request of its own, or with several that need not be made. *)
Hidden ==
    /\ \/ \E a \in Attempts : SendMessage(a)
       \/ \E s \in Settlers :
            \/ KeepManifests(s)
            \/ BeginAgain(s) \/ AbortUploads(s)
            \/ (DeleteDecision(s) /\ (holds[s] = None \/ store.decision = None))    \* not listed
            \/ (RemoveStaleMarker(s) /\ holds[s].stale = None)
            \/ (DeleteTheRest(s) /\ holds[s] # None /\ holds[s].state = "aborted")
            \/ (DeleteTheRest(s) /\ Emptied(store) = store)    \* all of it went before the decision
    /\ Counts

TraceNext ==
    /\ UNCHANGED run
    /\ \/ next <= Len(Events) /\ Happens(Events[next]) /\ next' = next + 1
       \/ Hidden /\ UNCHANGED next

TraceSpec == TraceInit /\ [][TraceNext]_<<vars, run, next>>

(* Says which runs are behaviours, and looks no further in them. *)
Accepts == next > Len(Events) => PrintT(<<"accepted", run>>) /\ FALSE
Reaches == PrintT(<<"reached", run, next>>)
=============================================================================
