-------------------------- MODULE DestinationTrace --------------------------
(***************************************************************************)
(* Whether what the code did is a behaviour of Destination.tla.            *)
(*                                                                         *)
(* As in JobTrace.tla: each request that changed something must be a step  *)
(* of the same process here, which changes the same.  Each listing of the  *)
(* areas, and of another job's area, must be a request of that process     *)
(* there.  What is read after a listing, and the look at the destination,  *)
(* is not: that step comes when it comes, between those that are.          *)
(*                                                                         *)
(* tests/specs/recorded_jobs.py writes the module Recorded, with the runs. *)
(***************************************************************************)
EXTENDS Destination, TLC, Recorded

VARIABLES
    run,    \* which of the recorded runs
    next,   \* its next event
    again   \* of each driver: whether it may look at the others once more before that counts

Events == Runs[run]

TraceInit ==
    /\ Init
    /\ run \in 1..Len(Runs) /\ next = 1 /\ again = [p \in Drivers |-> FALSE]

(* Whatever a driver fails at before it decides, it withdraws its claim.  In Destination.tla it may
   give up while it waits. *)
Fail(p) ==
    /\ p \in Drivers
    /\ proc[p].at \in {"list", "clear", "fence", "look", "decide"}
    /\ claims' = claims \ {ClaimOf(p)}
    /\ GoAndForget(p, "given up")
    /\ UNCHANGED <<areas, decision, sources, files, done, late, committed, finished>>

(* A job that is skipped, since one with its key has committed, is aborted by its own driver. *)
AbortSkipped(p) ==
    /\ p \in Drivers /\ At(p, "given up")
    /\ p[1] \in SameKey /\ done /\ decision[p[1]] = None
    /\ decision' = [decision EXCEPT ![p[1]] = Aborted]
    /\ UNCHANGED <<areas, claims, sources, files, done, proc, late, committed, finished>>

(* A driver that finds its job aborted may remove what is left of it.  In Destination.tla only
   somebody who aborts does. *)
RetireAborted(p) ==
    /\ p \in Drivers /\ decision[p[1]] = Aborted
    /\ areas' = areas \ {p[1]}
    /\ claims' = {c \in claims : c[1] # p[1]}
    /\ GoAndForget(p, "over")
    /\ UNCHANGED <<decision, sources, files, done, late, committed, finished>>

(* The steps that an event may be. *)
Step(e, p) ==
    CASE e.what = "create job.json" -> StartJob(e.job)
      [] e.what = "create claim" -> CreateClaim(p)
      [] e.what = "list areas" -> p \in Drivers /\ ListAreas(p)
      [] e.what = "list area" -> p \in Drivers /\ ListOther(p, e.job)
      [] e.what = "delete claim" -> WithdrawClaim(p) \/ GiveUp(p) \/ DropClaim(p) \/ Fail(p)
      [] e.what = "create decision" ->
            \/ p \in Drivers /\ p[1] = e.job /\ (CreateDecision(p) \/ AbortSkipped(p))
            \/ p \in Drivers /\ p[1] # e.job /\ FenceOther(p) /\ NextOther(p) = e.job
            \/ p = Recoverer /\ AbortOther(e.job)
      [] e.what = "publish" -> PublishFile(p, e.part)
      [] e.what = "create published" -> SayPublished(p)
      [] e.what = "delete old" -> DeleteOld(p) /\ files' = files \ {<<e.job, e.part>>}
      [] e.what = "create done" -> MarkDone(p)
      [] e.what = "rename area" -> RetireByRename(p) \/ RetireAborted(p)
      [] OTHER -> FALSE

Stored == <<areas, claims, decision, sources, files, done>>

(* What an event that changed something has changed. *)
Effect(e) ==
    CASE e.what = "create decision" -> decision[e.job] = None /\ decision'[e.job] # None
      [] e.what = "publish" -> files' # files
      [] e.what = "delete old" -> files' # files
      [] e.what = "create published" -> TRUE
      [] OTHER -> Stored' # Stored

(* A request that changed nothing, since that was so already. *)
Idempotent(e) ==
    /\ CASE e.what = "delete old" -> <<e.job, e.part>> \notin files
         [] e.what = "create done" -> done
         [] OTHER -> FALSE
    /\ UNCHANGED vars

(* A listing that need not count.  Of all areas that is one which is followed by another, before that
   one counts; of another job's area one more, when that was in the way, or a false answer has hidden
   it: all are looked at at once, and then one by one. *)
PassedOver(e) ==
    /\ ~e.changed /\ UNCHANGED vars
    /\ IF /\ e.what = "list area" /\ e.who \in Drivers /\ e.job # e.who[1]
          /\ proc[e.who].at \in {"list", "clear"}
       THEN \/ /\ again[e.who]
               /\ again' = [again EXCEPT ![e.who] = FALSE]
            \/ At(e.who, "clear") /\ e.job \notin proc[e.who].others /\ UNCHANGED again
       ELSE UNCHANGED again

Happens(e) ==
    \/ /\ Step(e, e.who)
       /\ IF e.changed THEN Effect(e) ELSE Stored' = Stored
       /\ again' = IF e.what = "create claim" THEN [again EXCEPT ![e.who] = TRUE] ELSE again
    \/ e.changed /\ Idempotent(e) /\ UNCHANGED again
    \/ PassedOver(e)

(* What a process does without a request that must be made. *)
Hidden ==
    \/ \E p \in Drivers :
         \/ ReadOther(p) \/ HasLookedAtAll(p) \/ ClaimAgain(p) \/ Look(p)
         \/ FenceOther(p) /\ Stored' = Stored
    \/ \E p \in Processes :
         \/ \E n \in Partitions : PublishFile(p, n) /\ Stored' = Stored
         \/ p = Recoverer /\ SayPublished(p)
         \/ DeleteOld(p) /\ Stored' = Stored
         \/ MarkDone(p) /\ Stored' = Stored
    \/ \E j \in Jobs : BeginResume(j) \/ (AbortOther(j) /\ Stored' = Stored)

TraceNext ==
    /\ UNCHANGED run
    /\ \/ next <= Len(Events) /\ Happens(Events[next]) /\ next' = next + 1
       \/ Hidden /\ UNCHANGED <<next, again>>

TraceSpec == TraceInit /\ [][TraceNext]_<<vars, run, next, again>>

(* Says which runs are behaviours, and looks no further in them. *)
Accepts == next > Len(Events) => PrintT(<<"accepted", run>>) /\ FALSE
Reaches == PrintT(<<"reached", run, next>>)
=============================================================================
