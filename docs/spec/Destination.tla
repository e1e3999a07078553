---------------------------- MODULE Destination ----------------------------
(***************************************************************************)
(* Several jobs at one destination: they claim, look, wait for each other, *)
(* fence each other, decide, publish, delete what is replaced, and go.     *)
(* What stands in the end is what one after the other would have left.     *)
(*                                                                         *)
(* Each step is one request, or one listing.  Who dies takes no further    *)
(* step.  What one job's own processes do to each other is in Job.tla, and *)
(* so are stores without directories: here a job's area goes at once, and  *)
(* takes no record when it is gone.                                        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
    Jobs,           \* numbers from 1, by age: the oldest first
    Appends, Overwrites, Replaces, Errors,  \* which jobs have which mode
    First, Second,  \* which jobs write to the first partition, and which to the second
    SameKey,        \* the jobs that have one and the same idempotency key
    Twins,          \* the jobs that have a second driver
    Ahead,          \* the jobs whose drivers may list another area before they have listed all
    Rounds,         \* how often a driver claims, at most
    OldFiles,       \* whether there is an old file in each partition
    Recovers,       \* whether somebody resumes and aborts jobs, dead or alive
    GivesUp,        \* whether a driver may stop waiting
    Losses,         \* how many withdrawals are left unanswered, at most
    Weakened,       \* the rules that are left out
    None

VARIABLES
    areas,          \* the jobs whose job.json stands
    claims,         \* the claims that stand
    decision,       \* of each job: what was decided, and which old files will go
    sources,        \* the files that are not published yet
    files,          \* the files that stand at the destination
    done,           \* whether the mark of the idempotency key stands
    proc,           \* of each process: what it does next, and what it knows
    late,           \* withdrawals that may yet be carried out
    committed,      \* the jobs that were decided to be committed
    finished        \* those of them whose area is gone

vars == <<areas, claims, decision, sources, files, done, proc, late, committed, finished>>

Rule(name) == name \notin Weakened

Partitions == {1, 2}
PartsOf(j) == (IF j \in First THEN {1} ELSE {}) \cup (IF j \in Second THEN {2} ELSE {})
FilesOf(j) == {<<j, p>> : p \in PartsOf(j)}
OldOnes == IF OldFiles THEN {<<0, p>> : p \in Partitions} ELSE {}

Drivers == {<<j, 1>> : j \in Jobs} \cup {<<j, 2>> : j \in Twins}
Recoverer == <<0, 1>>
Processes == Drivers \cup (IF Recovers THEN {Recoverer} ELSE {})

(* A claim has a nonce: whose it is, and of which round. *)
ClaimOf(p) ==
    IF Rule("A claim's nonce is never used again")
    THEN <<p[1], p[2], proc[p].round>> ELSE <<p[1], 0, 0>>

(* An overwrite, and a job that refuses what stands there, touch all partitions. *)
Touches(j) == IF j \in Overwrites \cup Errors THEN Partitions ELSE PartsOf(j)
Conflict(i, j) ==
    \/ i \in SameKey /\ j \in SameKey /\ Rule("Jobs with one key conflict")
    \/ ~(i \in Appends /\ j \in Appends) /\ Touches(i) \cap Touches(j) # {}

Committed(old) == [state |-> "committed", old |-> old]
Aborted == [state |-> "aborted", old |-> {}]
IsCommitted(j) == decision[j] # None /\ decision[j].state = "committed"

Unseen == [j \in Jobs |-> None]
Idle ==
    [at |-> "idle", round |-> 1, job |-> 0, todo |-> {}, others |-> {}, saw |-> Unseen, old |-> {}]

Init ==
    /\ areas = {} /\ claims = {} /\ decision = [j \in Jobs |-> None]
    /\ sources = UNION {FilesOf(j) : j \in Jobs}
    /\ files = OldOnes /\ done = FALSE /\ late = {}
    /\ proc = [p \in Processes |-> [Idle EXCEPT !.job = p[1]]]
    /\ committed = {} /\ finished = {}

Becomes(p, state) == proc' = [proc EXCEPT ![p] = state]
Go(p, where) == Becomes(p, [proc[p] EXCEPT !.at = where])
At(p, where) == proc[p].at = where
Keeps == UNCHANGED <<areas, claims, decision, sources, files, done, late, committed, finished>>

----------------------------------------------------------------------------
(***************************************************************************)
(* The claim, and the look at the other jobs.                              *)
(***************************************************************************)
ClaimsFirst == Rule("Claim first, look second")

StartJob(j) ==
    /\ j \notin areas /\ At(<<j, 1>>, "idle")
    /\ areas' = areas \cup {j}
    /\ proc' = [p \in Processes |->
                  IF p[1] = j THEN [proc[p] EXCEPT !.at = IF ClaimsFirst THEN "claim" ELSE "list"]
                  ELSE proc[p]]
    /\ UNCHANGED <<claims, decision, sources, files, done, late, committed, finished>>

CreateClaim(p) ==
    /\ At(p, "claim")
    /\ IF p[1] \in areas
       THEN /\ claims' = IF p[1] \in Appends /\ ~Rule("An append claims too") THEN claims
                         ELSE claims \cup {ClaimOf(p)}
            /\ Go(p, IF ClaimsFirst THEN "list" ELSE "look")
       ELSE UNCHANGED claims /\ Go(p, "over")
    /\ UNCHANGED <<areas, decision, sources, files, done, late, committed, finished>>

ListAreas(p) ==
    /\ At(p, "list")
    /\ IF p[1] \in areas
       THEN Becomes(p, [proc[p] EXCEPT !.at = "clear", !.others = areas \ {p[1]},
                                       !.saw = [j \in Jobs |-> IF j \in areas THEN @[j] ELSE None]])
       ELSE Go(p, "over")
    /\ Keeps

NextOther(p) == CHOOSE j \in proc[p].others : \A k \in proc[p].others : j <= k
Saw(p) == proc[p].saw[NextOther(p)]

(* Another job's area is listed when all areas have been; or before, when the claim stands, if a
   listing that nothing else hangs on has shown it: here, if that job has begun. *)
MayList(p, j) ==
    \/ At(p, "clear") /\ proc[p].others # {} /\ j = NextOther(p)
    \/ /\ \/ At(p, "list")
          \/ At(p, "claim") /\ ~Rule("An area is listed when the claim stands")
       /\ p[1] \in Ahead
       /\ ~At(<<j, 1>>, "idle")

(* What one listing of another job's area shows: records are read one by one after it. *)
ListOther(p, j) ==
    /\ j # p[1] /\ MayList(p, j) /\ proc[p].saw[j] = None
    /\ Becomes(p, [proc[p] EXCEPT
           !.saw[j] = [over |-> j \notin areas, decided |-> decision[j] # None,
                       claims |-> {c \in claims : c[1] = j}]])
    /\ Keeps

Forget(p) == [proc[p] EXCEPT !.saw[NextOther(p)] = None]
PassOther(p) == Becomes(p, [Forget(p) EXCEPT !.others = @ \ {NextOther(p)}])
LookAgain(p) == Becomes(p, Forget(p))
GoAndForget(p, where) == Becomes(p, [proc[p] EXCEPT !.at = where, !.saw = Unseen])

(* An older job goes first; a newer one is waited for, or fenced; a committed one is waited for. *)
ReadOther(p) ==
    LET j == NextOther(p)
        saw == Saw(p)
        isOver == saw.over \/ j \notin areas
        isCommitted == saw.decided /\ IsCommitted(j)
        isCommitting == ~saw.decided /\ saw.claims \cap claims # {}
    IN
    /\ At(p, "clear") /\ proc[p].others # {} /\ saw # None
    /\ IF isOver \/ ~Conflict(p[1], j) \/ ~(isCommitted \/ isCommitting) THEN PassOther(p)
       ELSE IF isCommitted
       THEN IF Rule("A committed job is waited for until it has finished") THEN LookAgain(p)
            ELSE PassOther(p)
       ELSE IF j < p[1]
       THEN IF Rule("The older job goes first") THEN GoAndForget(p, "withdraw") ELSE LookAgain(p)
       ELSE \/ LookAgain(p)
            \/ Rule("The older job goes first") /\ Becomes(p, [Forget(p) EXCEPT !.at = "fence"])
            \/ ~Rule("A newer job is fenced, an older one is waited for") /\ PassOther(p)
    /\ Keeps

FenceOther(p) ==
    /\ At(p, "fence")
    /\ LET j == NextOther(p) IN
         decision' = IF j \in areas /\ decision[j] = None THEN [decision EXCEPT ![j] = Aborted]
                     ELSE decision
    /\ Go(p, "clear")
    /\ UNCHANGED <<areas, claims, sources, files, done, late, committed, finished>>

HasLookedAtAll(p) ==
    /\ At(p, "clear") /\ proc[p].others = {}
    /\ GoAndForget(p, IF ClaimsFirst THEN "look" ELSE "claim")
    /\ Keeps

WithdrawClaim(p) ==
    /\ At(p, "withdraw")
    /\ claims' = claims \ {ClaimOf(p)}
    /\ Go(p, "wait")
    /\ UNCHANGED <<areas, decision, sources, files, done, late, committed, finished>>

LoseWithdrawal(p) ==
    /\ At(p, "withdraw") /\ Cardinality(late) < Losses
    /\ late' = late \cup {ClaimOf(p)}
    /\ UNCHANGED <<areas, claims, decision, sources, files, done, proc, committed, finished>>

ArriveLate ==
    \E c \in late :
        /\ claims' = claims \ {c}
        /\ late' = {l \in late : l # c}
        /\ UNCHANGED <<areas, decision, sources, files, done, proc, committed, finished>>

IsInTheWay(p, j) ==
    /\ j \in areas /\ Conflict(p[1], j)
    /\ IsCommitted(j) \/ (decision[j] = None /\ \E c \in claims : c[1] = j)

(* Whether an older job is still in the way. *)
ClaimAgain(p) ==
    /\ At(p, "wait") /\ proc[p].round < Rounds
    /\ ~IsInTheWay(p, NextOther(p))
    /\ Becomes(p, [proc[p] EXCEPT !.at = "claim", !.round = @ + 1, !.others = {}])
    /\ Keeps

(* ConcurrentJobError: the job stays open, and anybody may abort it. *)
GiveUp(p) ==
    /\ GivesUp /\ p \in Drivers
    /\ At(p, "wait") \/ (At(p, "clear") /\ proc[p].others # {} /\ Saw(p) # None)
    /\ claims' = claims \ {ClaimOf(p)}
    /\ GoAndForget(p, "given up")
    /\ UNCHANGED <<areas, decision, sources, files, done, late, committed, finished>>

----------------------------------------------------------------------------
(***************************************************************************)
(* The look at the destination, and the decision.                          *)
(***************************************************************************)
WillGo(j) ==
    IF j \in Overwrites THEN files
    ELSE IF j \in Replaces THEN {f \in files : f[2] \in PartsOf(j)}
    ELSE {}

Look(p) ==
    /\ At(p, "look")
    /\ IF \/ p[1] \in SameKey /\ done /\ Rule("A key that has committed is skipped")
          \/ p[1] \in Errors /\ files # {}
       THEN Go(p, "drop")
       ELSE Becomes(p, [proc[p] EXCEPT !.at = "decide", !.old = WillGo(p[1])])
    /\ Keeps

CreateDecision(p) ==
    /\ At(p, "decide")
    /\ LET j == p[1] IN
       IF j \in areas /\ decision[j] = None
       THEN /\ decision' = [decision EXCEPT ![j] = Committed(proc[p].old)]
            /\ committed' = committed \cup {j}
            /\ Becomes(p, [proc[p] EXCEPT !.at = "publish", !.todo = PartsOf(j)])
       ELSE Go(p, "drop") /\ UNCHANGED <<decision, committed>>
    /\ UNCHANGED <<areas, claims, sources, files, done, late, finished>>

DropClaim(p) ==
    /\ At(p, "drop")
    /\ claims' = claims \ {ClaimOf(p)}
    /\ Go(p, "given up")
    /\ UNCHANGED <<areas, decision, sources, files, done, late, committed, finished>>

----------------------------------------------------------------------------
(***************************************************************************)
(* After the decision.  What will go is in the decision: whoever finishes  *)
(* the job knows it.                                                       *)
(***************************************************************************)
PublishFile(p, n) ==
    LET f == <<proc[p].job, n>> IN
    /\ At(p, "publish") /\ n \in proc[p].todo
    /\ files' = IF f \in sources THEN files \cup {f} ELSE files
    /\ sources' = sources \ {f}
    /\ Becomes(p, [proc[p] EXCEPT !.todo = @ \ {n}])
    /\ UNCHANGED <<areas, claims, decision, done, late, committed, finished>>

SayPublished(p) ==
    /\ At(p, "publish") /\ proc[p].todo = {}
    /\ Go(p, IF proc[p].job \in areas THEN "delete" ELSE "over")
    /\ Keeps

DeleteOld(p) ==
    /\ At(p, "delete")
    /\ IF proc[p].old \cap files = {}
       THEN Go(p, "mark") /\ UNCHANGED files
       ELSE \E f \in proc[p].old \cap files : files' = files \ {f} /\ UNCHANGED proc
    /\ UNCHANGED <<areas, claims, decision, sources, done, late, committed, finished>>

MarkDone(p) ==
    /\ At(p, "mark")
    /\ done' = (done \/ proc[p].job \in SameKey)
    /\ Go(p, "retire")
    /\ UNCHANGED <<areas, claims, decision, sources, files, late, committed, finished>>

RetireByRename(p) ==
    /\ At(p, "retire")
    /\ areas' = areas \ {proc[p].job}
    /\ claims' = {c \in claims : c[1] # proc[p].job}
    /\ finished' = finished \cup (committed \cap {proc[p].job})
    /\ Becomes(p, IF p = Recoverer THEN Idle ELSE [Idle EXCEPT !.job = p[1], !.at = "over"])
    /\ UNCHANGED <<decision, sources, files, done, late, committed>>

----------------------------------------------------------------------------
(***************************************************************************)
(* Somebody who resumes what is decided and aborts what is not.            *)
(***************************************************************************)
BeginResume(j) ==
    /\ At(Recoverer, "idle") /\ j \in areas /\ IsCommitted(j)
    /\ Becomes(Recoverer, [Idle EXCEPT !.at = "publish", !.job = j, !.todo = PartsOf(j),
                                       !.old = decision[j].old])
    /\ Keeps

AbortOther(j) ==
    /\ At(Recoverer, "idle") /\ j \in areas /\ ~IsCommitted(j)
    /\ decision' = [decision EXCEPT ![j] = Aborted]
    /\ Becomes(Recoverer, [Idle EXCEPT !.at = "retire", !.job = j])
    /\ UNCHANGED <<areas, claims, sources, files, done, late, committed, finished>>

----------------------------------------------------------------------------
Finish(p) ==
    \/ \E n \in Partitions : PublishFile(p, n)
    \/ SayPublished(p) \/ DeleteOld(p) \/ MarkDone(p) \/ RetireByRename(p)

Drive(p) ==
    \/ CreateClaim(p) \/ ListAreas(p) \/ (\E j \in Jobs : ListOther(p, j)) \/ ReadOther(p)
    \/ FenceOther(p)
    \/ HasLookedAtAll(p) \/ WithdrawClaim(p) \/ ClaimAgain(p)
    \/ Look(p) \/ CreateDecision(p) \/ DropClaim(p)

Next ==
    \/ \E j \in Jobs : StartJob(j)
    \/ \E p \in Drivers : Drive(p) \/ GiveUp(p) \/ LoseWithdrawal(p)
    \/ \E p \in Processes : Finish(p)
    \/ ArriveLate
    \/ Recovers /\ \E j \in Jobs : BeginResume(j) \/ AbortOther(j)

Spec == Init /\ [][Next]_vars

FairSpec == Spec /\ \A p \in Drivers : WF_vars(Drive(p) \/ Finish(p))

----------------------------------------------------------------------------
(***************************************************************************)
(* What is promised.                                                       *)
(***************************************************************************)
Places == {"idle", "claim", "list", "clear", "fence", "withdraw", "wait", "look", "decide",
           "drop", "publish", "delete", "mark", "retire", "given up", "over"}

TypeOK ==
    /\ areas \subseteq Jobs /\ committed \subseteq Jobs /\ finished \subseteq committed
    /\ \A j \in Jobs : decision[j] # None => decision[j].state \in {"committed", "aborted"}
    /\ files \subseteq (Jobs \cup {0}) \X Partitions /\ sources \subseteq Jobs \X Partitions
    /\ \A p \in Processes : proc[p].at \in Places /\ proc[p].round \in 1..Rounds

(* What the jobs of a sequence leave, one after the other; None if one would have been refused. *)
RECURSIVE Left(_, _)
Left(order, there) ==
    IF order = <<>> THEN there
    ELSE LET j == Head(order)
         IN IF j \in Errors /\ there # {} THEN None
            ELSE Left(Tail(order), FilesOf(j) \cup
                      {f \in there : /\ j \notin Overwrites
                                     /\ ~(j \in Replaces /\ f[2] \in PartsOf(j))})

Orders(js) ==
    LET places == 1..Cardinality(js)
    IN {o \in [places -> js] : \A a, b \in places : a # b => o[a] # o[b]}

(* Whenever no committed job is unfinished, what stands is what a serial order leaves. *)
P11Serial == committed = finished => \E order \in Orders(committed) : Left(order, OldOnes) = files

(* A job that was not committed shows nothing. *)
P5NothingOfOthers == \A f \in files : f[1] \in committed \cup {0}

(* Of the jobs with one key, one commits. *)
P7OneOfAKey == Cardinality(committed \cap SameKey) <= 1

P7DecidedOnce == \A j \in committed : IsCommitted(j)

(* Nobody waits for ever, if nobody dies. *)
P8NobodyWaitsForEver == \A p \in Drivers : At(p, "claim") ~> proc[p].at \in {"over", "given up"}
=============================================================================
