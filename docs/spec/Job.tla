-------------------------------- MODULE Job --------------------------------
(***************************************************************************)
(* The life of one job: its tasks commit, somebody decides, somebody       *)
(* finishes or aborts, its area goes, late processes change nothing more.  *)
(*                                                                         *)
(* Each step is one request to the store, or what a process learns from    *)
(* one reply.  A process that dies is one that takes no further step, so   *)
(* every behaviour has all crashes in it: what must not be is looked for   *)
(* in every state.  A request may be left unanswered; then it is carried   *)
(* out at any later time, or never, and its sender sends it again.         *)
(*                                                                         *)
(* How jobs get along with each other is in Destination.tla.  Which        *)
(* function makes which step, and what is simpler here than there, is in   *)
(* README.md.                                                              *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Committer,      \* "v1", "manifest" or "magic"
    Directories,    \* whether the store has directories: an area goes in one step
    Conditional,    \* whether who deletes old files may have looked for job.json before
    Collect,        \* "messages", or "store": tasks leave pointers in the area
    InPlace,        \* whether the file of task 1 has the name of the old file
    Appends,        \* whether the job adds to what is there: no old file goes
    Tasks, Tries,   \* numbers from 1; an attempt is a pair of the two
    LateTries,      \* the attempts, by their second number, that write again after their commit
    Drivers, Resumers, Aborters, Cleaners, Operators,   \* who settles the job
    Losses,         \* how many requests are left unanswered, at most
    LaterJob,       \* whether another job follows at the destination
    Weakened,       \* the rules that are left out
    None, Old, Ours, Later, Altered

VARIABLES
    store,      \* what stands on the store
    late,       \* requests that were left unanswered, and may yet be carried out
    losses,     \* how many more may be left unanswered
    life,       \* of the job, as its driver knows: "new", "begun" or "spent"
    step,       \* of each attempt: what it did last
    at,         \* of each settler: what it does next, or what it was told
    holds,      \* of each settler: the decision that it wants, or goes by
    todo,       \* of each settler: the tasks whose files it has not published yet
    counted,    \* the decisions that were created while job.json stood
    later,      \* of the later job: what it did last
    saw         \* what the later job saw when it looked

vars == <<store, late, losses, life, step, at, holds, todo, counted, later, saw>>
network == <<late, losses>>
others == <<life, step, later, saw>>

Rule(name) == name \notin Weakened

Attempts == Tasks \X Tries
Settlers == Drivers \cup Resumers \cup Aborters \cup Cleaners \cup Operators
OldName == 0
NameOf(a) == IF InPlace /\ a[1] = 1 THEN OldName ELSE a[1]
Names == Tasks \cup {OldName}

Files == Attempts \cup {None, Old, Later, Altered}
Markers == {None, Old, Ours, Later}
Decisions ==
    [state : {"committed", "aborted"}, by : Settlers, chosen : [Tasks -> Tries] \cup {None},
     replaced : Files, stale : Markers]

(***************************************************************************)
(* What a decision says, and what there is to be decided.                  *)
(***************************************************************************)
Committed(s, chosen) ==
    [state |-> "committed", by |-> s, chosen |-> chosen, replaced |-> None, stale |-> None]
Aborted(s) ==
    [state |-> "aborted", by |-> s, chosen |-> None, replaced |-> None, stale |-> None]
ChosenIn(decision) == {<<t, decision.chosen[t]>> : t \in Tasks}

Start ==
    [job |-> FALSE, decision |-> None, published |-> FALSE, epoch |-> FALSE,
     manifests |-> {}, sources |-> {}, altered |-> {}, pointers |-> [t \in Tasks |-> None],
     prepared |-> {}, visible |-> [n \in Names |-> IF n = OldName THEN Old ELSE None],
     marker |-> Old]

Init ==
    /\ store = Start
    /\ late = {} /\ losses = Losses
    /\ life = "new"
    /\ step = [a \in Attempts |-> "idle"]
    /\ at = [s \in Settlers |-> "idle"]
    /\ holds = [s \in Settlers |-> None]
    /\ todo = [s \in Settlers |-> {}]
    /\ counted = {}
    /\ later = "idle" /\ saw = None

(***************************************************************************)
(* Requests: what each of them does to the store when it is carried out,   *)
(* whenever that is.  Where there are directories, nothing can be created  *)
(* in an area that is gone.                                                *)
(***************************************************************************)
TakesRecords(st) == Directories => st.job

(* Without directories what is below an area goes file by file; what is left of it here does not
   count any more, since job.json is gone. *)
Emptied(st) ==
    [st EXCEPT !.decision = None, !.published = FALSE, !.manifests = {}, !.prepared = {},
               !.sources = IF Committer = "magic" THEN @ ELSE {}, !.altered = {},
               !.pointers = [t \in Tasks |-> None]]

MayPublish(r, st) ==
    /\ r.attempt \in st.sources
    /\ Rule("A file is published on condition of its token") => r.attempt \notin st.altered
    /\ st.visible[NameOf(r.attempt)] \in {None, r.over}

Published(r, st) ==
    [st EXCEPT !.visible[NameOf(r.attempt)] = IF r.attempt \in st.altered THEN Altered
                                              ELSE r.attempt,
               !.sources = IF Rule("Each file is published by a step that consumes its source")
                           THEN @ \ {r.attempt} ELSE @]

Carried(r, st) ==
    CASE r.verb = "create job.json" -> [st EXCEPT !.job = TRUE]
      [] r.verb = "create decision" ->
            IF TakesRecords(st) /\ (st.decision = None \/ ~Rule("A decision is exclusive"))
            THEN [st EXCEPT !.decision = r.decision] ELSE st
      [] r.verb = "delete decision" -> [st EXCEPT !.decision = None]
      [] r.verb = "delete pointer" -> [st EXCEPT !.pointers[r.task] = None]
      [] r.verb = "prepare marker" ->
            IF TakesRecords(st) THEN [st EXCEPT !.prepared = @ \cup {r.by}] ELSE st
      [] r.verb = "remove marker" -> IF st.marker = r.token THEN [st EXCEPT !.marker = None] ELSE st
      [] r.verb = "publish" -> IF MayPublish(r, st) THEN Published(r, st) ELSE st
      [] r.verb = "create published" ->
            IF TakesRecords(st) THEN [st EXCEPT !.published = TRUE] ELSE st
      [] r.verb = "delete old" ->
            IF st.visible[OldName] = r.token
               \/ ~Rule("Replaced files are listed before the decision, with tokens")
            THEN [st EXCEPT !.visible[OldName] = None] ELSE st
      [] r.verb = "publish marker" ->
            IF ~Rule("The marker is published by a step that consumes its source")
            THEN [st EXCEPT !.marker = Ours]
            ELSE IF r.by \in st.prepared /\ st.marker = None
            THEN [st EXCEPT !.marker = Ours, !.prepared = @ \ {r.by}] ELSE st
      [] r.verb = "create epoch" -> [st EXCEPT !.epoch = TRUE]
      [] r.verb = "rename area" -> Emptied([st EXCEPT !.job = FALSE])
      [] r.verb = "delete job.json" -> [st EXCEPT !.job = FALSE]
      [] r.verb = "abort uploads" ->
            IF Committer = "magic" THEN [st EXCEPT !.sources = {}, !.prepared = {}] ELSE st
      [] r.verb = "delete the rest" -> Emptied(st)

Answered(r) == store' = Carried(r, store) /\ UNCHANGED network
OnlyReads == UNCHANGED <<store, late, losses>>
Go(s, where) == at' = [at EXCEPT ![s] = where]
Takes(s, decision) == holds' = [holds EXCEPT ![s] = decision]
Same == UNCHANGED <<holds, todo>>

----------------------------------------------------------------------------
(***************************************************************************)
(* The start, and the tasks.                                               *)
(***************************************************************************)
Starts(answered) ==
    /\ life = "new"
    /\ LET r == [verb |-> "create job.json"] IN
         IF answered
         THEN Answered(r) /\ life' = "begun"
         ELSE /\ losses > 0 /\ losses' = losses - 1 /\ late' = late \cup {r}
              /\ UNCHANGED store
              /\ life' = IF Rule("job.json is created by one request, never by a second")
                         THEN "spent" ELSE "new"
    /\ UNCHANGED <<step, at, holds, todo, later, saw>>

StartJob == Starts(TRUE)
StartUnanswered == Starts(FALSE)

Attempt(a, from, to, st) ==
    /\ step[a] \in from
    /\ step' = [step EXCEPT ![a] = to]
    /\ store' = st
    /\ UNCHANGED <<late, losses, life, at, holds, todo, later, saw>>

WriteFile(a) ==
    /\ life = "begun" /\ (Committer # "magic" => TakesRecords(store))
    /\ Attempt(a, {"idle"}, "written", [store EXCEPT !.sources = @ \cup {a}])

(* v1 renames the working directory, which needs the area, and then creates the manifest. The others
   look for job.json beside that: the manifest may stand before the look is answered. *)
SealAttempt(a) ==
    \/ Attempt(a, {"written"}, IF store.job THEN "sealed" ELSE "failed", store)
    \/ Attempt(a, {"created"}, IF store.job THEN "stored" ELSE "failed", store)

CreateManifest(a) ==
    LET from == IF Committer = "v1" THEN {"sealed"} ELSE {"written", "sealed"}
        to == IF step[a] = "sealed" THEN "stored" ELSE "created" IN
    IF TakesRecords(store)
    THEN Attempt(a, from, to, [store EXCEPT !.manifests = @ \cup {a}])
    ELSE Attempt(a, from, "failed", store)

SendMessage(a) == Collect = "messages" /\ Attempt(a, {"stored"}, "sent", store)

(* Who finds another pointer there reads which it is.  As the area goes, that one may be gone by then:
   then it asks again, and its own comes late.  Where nothing refuses that, it means nothing: who goes
   by it finds no job.json. *)
CreatePointer(a) ==
    /\ Collect = "store"
    /\ IF TakesRecords(store) /\ store.pointers[a[1]] = None
       THEN Attempt(a, {"stored", "lost"}, "sent", [store EXCEPT !.pointers[a[1]] = a[2]])
       ELSE Attempt(a, {"stored"}, "lost", store)

DiscardAttempt(a) ==
    LET unlooked == ~Rule("Who has begun to commit discards nothing that may be chosen") IN
    /\ \/ step[a] \in {"written", "sealed", "created", "failed", "lost"}
       \/ step[a] = "stored" /\ (Collect = "messages" \/ unlooked)
       \/ step[a] = "sent" /\ Collect = "store" /\ unlooked
    /\ Attempt(a, {step[a]}, "discarded",
               [store EXCEPT !.sources = @ \ {a}, !.manifests = @ \ {a}])

(* Another program that goes on writing after its attempt has committed: over its file, or under that
   name when the file has been published. Of v1 the file has been taken out of its reach; an upload
   that is gone takes no more parts. *)
WriteAgain(a) ==
    /\ a[2] \in LateTries /\ a \notin store.altered
    /\ Committer = "v1" => ~Rule("v1 takes a committed attempt out of the reach of late writers")
    /\ a \in store.sources \/ (Committer # "magic" /\ TakesRecords(store))
    /\ step[a] \in {"stored", "sent"}
    /\ Attempt(a, {step[a]}, step[a],
               [store EXCEPT !.sources = @ \cup {a}, !.altered = @ \cup {a}])

----------------------------------------------------------------------------
(***************************************************************************)
(* A driver up to its decision.  It may go by a message whose attempt is   *)
(* one of several; a second driver of the job may have got another.        *)
(***************************************************************************)
Gathered(a) ==
    IF ~Rule("Without its message an attempt never happened") THEN a \in store.manifests
    ELSE IF Collect = "store" THEN store.pointers[a[1]] = a[2]
    ELSE step[a] = "sent"

BeginCommit(d) ==
    /\ d \in Drivers /\ at[d] = "idle" /\ life = "begun"
    /\ \E chosen \in [Tasks -> Tries] :
         /\ \A t \in Tasks : Gathered(<<t, chosen[t]>>)
         /\ Takes(d, Committed(d, chosen))
    /\ Go(d, "check") /\ OnlyReads /\ UNCHANGED todo /\ UNCHANGED others

CheckOutput(d) ==
    /\ at[d] = "check"
    /\ Go(d, IF ChosenIn(holds[d]) \subseteq store.manifests THEN "look" ELSE "refused")
    /\ OnlyReads /\ Same /\ UNCHANGED others

(* Of tasks of its own process a driver keeps them, and does not ask what has become of the copies:
   no state is reached that is not without this, since they may go just after they were read. *)
KeepManifests(d) ==
    /\ at[d] = "check"
    /\ Go(d, "look")
    /\ OnlyReads /\ Same /\ UNCHANGED others

(* The look and the marker do not wait for each other. *)
Look(d) ==
    /\ at[d] \in {"look", "look last"}
    /\ Takes(d, [holds[d] EXCEPT !.replaced = IF Appends THEN None ELSE store.visible[OldName],
                                 !.stale = store.marker])
    /\ Go(d, IF at[d] = "look" THEN "prepare" ELSE "decide")
    /\ OnlyReads /\ UNCHANGED todo /\ UNCHANGED others

PrepareMarker(d) ==
    /\ at[d] \in {"look", "prepare"}
    /\ Answered([verb |-> "prepare marker", by |-> d])
    /\ Go(d, IF ~TakesRecords(store) THEN "refused"
             ELSE IF at[d] = "look" THEN "look last" ELSE "decide")
    /\ Same /\ UNCHANGED others

----------------------------------------------------------------------------
(***************************************************************************)
(* The decision, to commit or to abort: who creates it reads job.json      *)
(* after it; so does who meets another's.                                  *)
(***************************************************************************)
BeginAbort(s) ==
    /\ s \in Drivers \cup Aborters /\ at[s] = "idle" /\ life = "begun"
    /\ Takes(s, Aborted(s))
    /\ Go(s, IF s \in Aborters /\ ~store.job THEN "ended?"
             ELSE IF Rule("An abort decides before it removes") THEN "decide" ELSE "retire")
    /\ OnlyReads /\ UNCHANGED todo /\ UNCHANGED others

Works(s) == IF holds[s].state = "aborted" THEN "retire" ELSE "stale"

CreateDecision(s) ==
    /\ at[s] = "decide"
    /\ Answered([verb |-> "create decision", decision |-> holds[s]])
    /\ Go(s, IF store'.decision # holds[s] THEN "refused"
             ELSE IF Rule("job.json is read after the decision") THEN "confirm" ELSE Works(s))
    /\ todo' = [todo EXCEPT ![s] = IF holds[s].state = "committed" THEN Tasks ELSE {}]
    /\ UNCHANGED holds /\ UNCHANGED others

(* Only with the rule left out: absence is taken for an answer. *)
GiveUpDecision(s) ==
    /\ ~Rule("The decision is repeated until some record stands")
    /\ at[s] = "decide" /\ store.decision = None
    /\ \E r \in late : r.verb = "create decision" /\ r.decision = holds[s]
    /\ Go(s, "told not committed") /\ OnlyReads /\ Same /\ UNCHANGED others

ConfirmDecision(s) ==
    /\ at[s] = "confirm"
    /\ Go(s, IF store.job THEN Works(s) ELSE "take back")
    /\ OnlyReads /\ Same /\ UNCHANGED others

TakeBackDecision(s) ==
    /\ at[s] = "take back"
    /\ IF store.decision = None THEN OnlyReads ELSE Answered([verb |-> "delete decision"])
    /\ Go(s, "ended?") /\ Same /\ UNCHANGED others

(* How a job ended that has no job.json, its files say, or nobody does. *)
HasFinished ==
    /\ ~store.job /\ store.epoch
    /\ store.decision # None =>
         \/ store.published \/ store.decision.state = "aborted"
         \/ ~(ChosenIn(store.decision) \subseteq store.manifests)    \* it came too late
ShowsAFile == \E n \in Names : store.visible[n] \in Attempts

AskHowItEnded(s) ==
    /\ at[s] = "ended?"
    /\ Go(s, IF HasFinished /\ ShowsAFile THEN "told committed" ELSE "told unknown")
    /\ OnlyReads /\ Same /\ UNCHANGED others

ReadDecision(s) ==
    /\ at[s] = "refused"
    /\ Takes(s, store.decision)
    /\ Go(s, "read job")
    /\ OnlyReads /\ UNCHANGED todo /\ UNCHANGED others

(* Each does what their errand allows with the decision that they have read. *)
ByDecision(s) ==
    IF holds[s] = None THEN "told open"
    ELSE IF holds[s].state = "aborted"
         THEN IF s \in Aborters \cup Cleaners \cup Operators THEN "retire"
              ELSE "told not committed"
    ELSE IF s \in Resumers \cup Operators THEN "load"
    ELSE IF s \in Cleaners /\ ~Rule("A clean leaves alone what has decided to commit") THEN "retire"
    ELSE "told committed"

ReadJobAfterDecision(s) ==
    /\ at[s] = "read job"
    /\ Go(s, IF \/ store.job
                \/ /\ ~Rule("A decision met counts only if job.json stands after it")
                   /\ holds[s] # None
             THEN ByDecision(s) ELSE "ended?")
    /\ OnlyReads /\ Same /\ UNCHANGED others

----------------------------------------------------------------------------
(***************************************************************************)
(* A resumer, a cleaner, and an operator, who is both, without end.        *)
(***************************************************************************)
BeginResume(r) ==
    /\ r \in Resumers /\ at[r] = "idle" /\ life = "begun"
    /\ Go(r, IF store.job THEN "refused" ELSE "ended?") /\ OnlyReads /\ Same /\ UNCHANGED others

LoadManifests(s) ==
    /\ at[s] = "load"
    /\ Go(s, IF ChosenIn(holds[s]) \subseteq store.manifests THEN "read published" ELSE "over?")
    /\ OnlyReads /\ Same /\ UNCHANGED others

DeleteRequest(s) == [verb |-> "delete old", token |-> holds[s].replaced]
IsDeleted(s) == ~InPlace /\ holds[s].replaced # None

(* Where no old file goes, nobody looks for job.json once more. *)
WhenPublished(s) == IF IsDeleted(s) THEN "lease" ELSE "finish"

ReadPublished(s) ==
    /\ at[s] = "read published"
    /\ Go(s, IF store.published THEN WhenPublished(s) ELSE "stale")
    /\ todo' = [todo EXCEPT ![s] = Tasks]
    /\ UNCHANGED holds /\ OnlyReads /\ UNCHANGED others

IsEmpty(st) == Emptied(st) = st /\ st.sources = {}

BeginClean(c) ==
    /\ c \in Cleaners \cup Operators /\ at[c] = "idle"
    /\ IF store.job
       THEN IF store.decision # None /\ store.decision.state = "committed"
            THEN /\ Go(c, IF c \in Operators THEN "refused" ELSE "told committed")
                 /\ UNCHANGED holds
            ELSE /\ Takes(c, Aborted(c))
                 /\ Go(c, IF Rule("A clean decides before it removes") THEN "decide" ELSE "retire")
       ELSE /\ ~IsEmpty(store) /\ Rule("What is left of a job that is over is removed")
            /\ Takes(c, None) /\ Go(c, "uploads")
    /\ OnlyReads /\ UNCHANGED todo /\ UNCHANGED others

BeginAgain(o) ==
    /\ o \in Operators
    /\ at[o] \in {"returned", "aborted", "cleaned", "partial", "in doubt", "told committed",
                  "told unknown", "told not committed", "told open"}
    /\ Go(o, "idle") /\ Takes(o, None) /\ todo' = [todo EXCEPT ![o] = {}]
    /\ OnlyReads /\ UNCHANGED others

----------------------------------------------------------------------------
(***************************************************************************)
(* After the decision: by whoever finishes the job, from that alone.       *)
(***************************************************************************)
RemoveStaleMarker(s) ==
    /\ at[s] = "stale"
    /\ IF holds[s].stale = None \/ ~Rule("The stale _SUCCESS goes before the first file")
       THEN OnlyReads
       ELSE Answered([verb |-> "remove marker", token |-> holds[s].stale])
    /\ Go(s, "publish") /\ Same /\ UNCHANGED others

PublishRequest(s, t) ==
    [verb |-> "publish", attempt |-> <<t, holds[s].chosen[t]>>, over |-> holds[s].replaced]

(* Source gone and target as expected is done; neither is not. *)
PublishFile(s, t) ==
    LET r == PublishRequest(s, t) IN
    /\ at[s] = "publish" /\ t \in todo[s]
    /\ IF MayPublish(r, store)
       THEN Answered(r) /\ todo' = [todo EXCEPT ![s] = @ \ {t}] /\ UNCHANGED at
       ELSE /\ OnlyReads
            /\ IF store.visible[NameOf(r.attempt)] = r.attempt
               THEN todo' = [todo EXCEPT ![s] = @ \ {t}] /\ UNCHANGED at
               ELSE Go(s, "over?") /\ UNCHANGED todo
    /\ UNCHANGED holds /\ UNCHANGED others

(* Where no request can delete another file than the listed one, job.json may be read while it is
   recorded that all is in place: whatever is read, both are answered before anything else is done. *)
SaysPublished(s) == (at[s] = "publish" /\ todo[s] = {}) \/ at[s] \in {"say", "last say"}

SayPublished(s) ==
    /\ SaysPublished(s)
    /\ Answered([verb |-> "create published"])
    /\ Go(s, IF at[s] = "last say" \/ ~TakesRecords(store) THEN "over?"
             ELSE IF at[s] = "say" THEN "delete" ELSE WhenPublished(s))
    /\ Same /\ UNCHANGED others

ReadJobBeforeDeleting(s) ==
    /\ \/ at[s] = "lease"
       \/ at[s] = "publish" /\ todo[s] = {} /\ Conditional /\ IsDeleted(s)
    /\ Go(s, IF at[s] = "lease" THEN IF store.job THEN "delete" ELSE "over?"
             ELSE IF store.job THEN "say" ELSE "last say")
    /\ OnlyReads /\ Same /\ UNCHANGED others

DeleteOld(s) ==
    /\ \/ at[s] = "delete"
       \/ at[s] = "publish" /\ ~Rule("Old files go when every new one is in place")
    /\ IF IsDeleted(s) THEN Answered(DeleteRequest(s)) ELSE OnlyReads
    /\ IF at[s] = "delete" THEN Go(s, "finish") ELSE UNCHANGED at
    /\ Same /\ UNCHANGED others

(* The marker and the epoch are asked for at once: whatever becomes of one, both are answered before
   anything else is done.  Another job's marker is left standing. *)
PublishMarker(s) ==
    LET r == [verb |-> "publish marker", by |-> holds[s].by] IN
    /\ at[s] \in {"finish", "marker"}
    /\ Answered(r)
    /\ Go(s, IF at[s] = "finish"
             THEN IF store'.marker # None THEN "epoch" ELSE "last epoch"
             ELSE IF store'.marker # None THEN "retire" ELSE "over?")
    /\ Same /\ UNCHANGED others

BeginEpoch(s) ==
    /\ at[s] \in {"finish", "epoch", "last epoch"}
    /\ IF Rule("The epoch changes before the area goes")
       THEN Answered([verb |-> "create epoch"]) ELSE OnlyReads
    /\ Go(s, CASE at[s] = "finish" -> "marker"
               [] at[s] = "epoch" -> "retire"
               [] at[s] = "last epoch" -> "over?")
    /\ Same /\ UNCHANGED others

(* Asked by who finds something gone that it needs. Another driver's decision that came too late,
   into an area without job.json, looks like one that is not published: then it is not known. *)
AskWhetherOver(s) ==
    /\ at[s] = "over?"
    /\ Go(s, IF ~HasFinished
             THEN IF ~store.job /\ store.decision \notin counted THEN "in doubt" ELSE "partial"
             ELSE IF \A a \in ChosenIn(holds[s]) : store.visible[NameOf(a)] = a
             THEN "told committed" ELSE "told unknown")
    /\ OnlyReads /\ Same /\ UNCHANGED others

----------------------------------------------------------------------------
(***************************************************************************)
(* The area goes: by one rename, or job.json first and alone.              *)
(***************************************************************************)
Ends(s) ==
    IF holds[s] = None THEN "cleaned"
    ELSE IF holds[s].state = "aborted" THEN "aborted" ELSE "returned"

JobGoesFirst == Rule("job.json goes first when an area is removed")

RetireByRename(s) ==
    /\ Directories /\ at[s] = "retire"
    /\ Answered([verb |-> "rename area"])
    /\ Go(s, Ends(s)) /\ Same /\ UNCHANGED others

DeleteJobJson(s) ==
    /\ ~Directories /\ at[s] = IF JobGoesFirst THEN "retire" ELSE "last"
    /\ Answered([verb |-> "delete job.json"])
    /\ Go(s, IF JobGoesFirst THEN "uploads" ELSE Ends(s))
    /\ Same /\ UNCHANGED others

AbortUploads(s) ==
    /\ at[s] = "uploads" \/ (~JobGoesFirst /\ ~Directories /\ at[s] = "retire")
    /\ Answered([verb |-> "abort uploads"])
    /\ Go(s, "forget") /\ Same /\ UNCHANGED others

(* Where the area goes file by file, so do pointers, before the rest or with it: the place of one that
   has gone is free for a late one of its task, while the decision and the others still stand. *)
DeletePointer(s, t) ==
    /\ at[s] \in {"uploads", "forget", "rest"} /\ store.pointers[t] # None
    /\ Answered([verb |-> "delete pointer", task |-> t])
    /\ UNCHANGED at /\ Same /\ UNCHANGED others

DeleteDecision(s) ==
    /\ at[s] = "forget"
    /\ IF holds[s] = None THEN OnlyReads ELSE Answered([verb |-> "delete decision"])
    /\ Go(s, "rest") /\ Same /\ UNCHANGED others

DeleteTheRest(s) ==
    /\ at[s] = "rest"
    /\ Answered([verb |-> "delete the rest"])
    /\ Go(s, IF JobGoesFirst \/ holds[s] = None THEN Ends(s) ELSE "last")
    /\ Same /\ UNCHANGED others

----------------------------------------------------------------------------
(***************************************************************************)
(* What is not answered: the sender stays where it is, and sends again.    *)
(* A marker is then prepared under another name: one that comes late is    *)
(* nobody's, for the decision names the other.                             *)
(***************************************************************************)
Sending(s) ==
    CASE at[s] \in {"look", "prepare"} ->
            {[verb |-> "prepare marker",
              by |-> IF Rule("A marker's name is never written again") THEN None ELSE s]}
      [] at[s] = "decide" -> {[verb |-> "create decision", decision |-> holds[s]]}
      [] at[s] = "publish" ->
            IF todo[s] = {} THEN {[verb |-> "create published"]}
            ELSE {PublishRequest(s, t) : t \in todo[s]}
      [] at[s] \in {"say", "last say"} -> {[verb |-> "create published"]}
      [] at[s] = "delete" -> IF IsDeleted(s) THEN {DeleteRequest(s)} ELSE {}
      [] at[s] \in {"finish", "marker"} -> {[verb |-> "publish marker", by |-> holds[s].by]}
      [] at[s] = "retire" ->
            {[verb |-> IF Directories THEN "rename area" ELSE "delete job.json"]}
      [] OTHER -> {}

LoseAnswer(s) ==
    /\ losses > 0
    /\ \E r \in Sending(s) \ late : late' = late \cup {r}
    /\ losses' = losses - 1
    /\ UNCHANGED <<store, at, holds, todo>> /\ UNCHANGED others

ArriveLate ==
    \E r \in late :
        /\ store' = Carried(r, store)
        /\ late' = late \ {r}
        /\ UNCHANGED <<losses, at, holds, todo>> /\ UNCHANGED others

----------------------------------------------------------------------------
(***************************************************************************)
(* A later job, which overwrites the destination.  It begins to publish    *)
(* when this one is over (Destination.tla says why), and it publishes      *)
(* under the old name.                                                     *)
(***************************************************************************)
LaterStep(from, to, seen, st) ==
    /\ LaterJob /\ life = "begun" /\ later = from
    /\ later' = to /\ saw' = seen /\ store' = st
    /\ UNCHANGED <<late, losses, life, step, at, holds, todo>>

LaterLooks ==
    /\ ~store.job
    /\ LaterStep("idle", "looked", [files |-> store.visible, marker |-> store.marker], store)

LaterPublishes ==
    LaterStep("looked", "published", saw,
              [store EXCEPT !.visible[OldName] =
                                IF @ \in {None, saw.files[OldName]} THEN Later ELSE @,
                            !.marker = IF @ = saw.marker THEN None ELSE @])

LaterFinishes ==
    LaterStep("published", "done", None,
              [store EXCEPT !.visible =
                                [n \in Names |->
                                     IF n # OldName /\ @[n] = saw.files[n] THEN None ELSE @[n]],
                            !.marker = IF @ = None THEN Later ELSE @])

----------------------------------------------------------------------------
Settle(s) ==
    \/ BeginCommit(s) \/ CheckOutput(s) \/ KeepManifests(s) \/ Look(s) \/ PrepareMarker(s)
    \/ BeginAbort(s) \/ CreateDecision(s) \/ GiveUpDecision(s) \/ ConfirmDecision(s)
    \/ TakeBackDecision(s) \/ AskHowItEnded(s) \/ ReadDecision(s) \/ ReadJobAfterDecision(s)
    \/ BeginResume(s) \/ LoadManifests(s) \/ ReadPublished(s) \/ BeginClean(s)
    \/ BeginAgain(s)
    \/ RemoveStaleMarker(s) \/ (\E t \in Tasks : PublishFile(s, t)) \/ SayPublished(s)
    \/ ReadJobBeforeDeleting(s) \/ DeleteOld(s) \/ PublishMarker(s) \/ BeginEpoch(s)
    \/ AskWhetherOver(s)
    \/ RetireByRename(s) \/ DeleteJobJson(s) \/ AbortUploads(s)
    \/ (\E t \in Tasks : DeletePointer(s, t)) \/ DeleteDecision(s) \/ DeleteTheRest(s)

TaskStep(a) ==
    \/ WriteFile(a) \/ SealAttempt(a) \/ CreateManifest(a) \/ SendMessage(a)
    \/ CreatePointer(a) \/ DiscardAttempt(a) \/ WriteAgain(a)

Step ==
    \/ StartJob \/ StartUnanswered
    \/ \E a \in Attempts : TaskStep(a)
    \/ \E s \in Settlers : Settle(s) \/ LoseAnswer(s)
    \/ ArriveLate
    \/ LaterLooks \/ LaterPublishes \/ LaterFinishes

(* A decision counts if job.json stood when it was created. *)
Counts ==
    counted' = IF store'.decision # None /\ store'.decision # store.decision /\ store.job
               THEN counted \cup {store'.decision} ELSE counted

Next == Step /\ Counts

Spec == Init /\ [][Next]_vars

(* The operator goes on; nobody else has to. *)
FairSpec == Spec /\ \A o \in Operators : WF_vars(Settle(o) /\ Next)

----------------------------------------------------------------------------
(***************************************************************************)
(* What is promised.                                                       *)
(***************************************************************************)
TypeOK ==
    /\ store.job \in BOOLEAN /\ store.published \in BOOLEAN /\ store.epoch \in BOOLEAN
    /\ store.decision \in Decisions \cup {None}
    /\ store.manifests \subseteq Attempts /\ store.sources \subseteq Attempts
    /\ store.altered \subseteq Attempts
    /\ store.pointers \in [Tasks -> Tries \cup {None}]
    /\ store.prepared \subseteq Settlers \cup {None}
    /\ store.visible \in [Names -> Files] /\ store.marker \in Markers
    /\ losses \in 0..Losses /\ life \in {"new", "begun", "spent"}
    /\ holds \in [Settlers -> Decisions \cup {None}] /\ todo \in [Settlers -> SUBSET Tasks]
    /\ counted \subseteq Decisions

ToCommit == {d \in counted : d.state = "committed"}
Stands(d) == \A a \in ChosenIn(d) : store.visible[NameOf(a)] = a
Says(what) == \E s \in Settlers : at[s] \in what

(* The caller of a driver may be told as soon as job.json has gone: what is left means nothing. *)
HasReturned(s) ==
    \/ at[s] = "returned"
    \/ /\ s \in Drivers /\ JobGoesFirst /\ at[s] \in {"uploads", "forget", "rest"}
       /\ holds[s] # None /\ holds[s].state = "committed"
Returned == \E s \in Settlers : HasReturned(s)

(* Of a returned commit every file is there, byte-exact, until a later job takes it away. *)
P1Complete ==
    later = "idle" /\ Returned => \E d \in ToCommit : Stands(d)

(* Nothing of any other attempt is, at any time. *)
P2Exclusive ==
    \A n \in Names : store.visible[n] \in Attempts \cup {Altered}
                        => \E d \in ToCommit : store.visible[n] \in ChosenIn(d)

(* What was decided is what the driver was given: of each task an attempt that has committed. *)
P3Chosen == \A d \in ToCommit : \A a \in ChosenIn(d) : step[a] = "sent"

(* Who was told that nothing is committed was told the truth, for ever. *)
P5Abortable == Says({"aborted", "told not committed"}) => ToCommit = {}

(* What a later job has done stays done, whoever comes late. *)
P6Continuity ==
    later = "done" => /\ store.visible = [n \in Names |-> IF n = OldName THEN Later ELSE None]
                      /\ store.marker = Later

P7DecidedOnce ==
    /\ Cardinality(counted) <= 1
    /\ Returned \/ Says({"told committed"}) => ToCommit # {}

(* What another program has written over after its attempt had committed. *)
IsSpoilt(a) == Committer # "v1" /\ a \in store.altered /\ store.visible[NameOf(a)] # a
HasSpoilt(d) == \E a \in ChosenIn(d) : IsSpoilt(a)

(* From a decision on each file is there or can be published; nobody finds nothing to go by. *)
P8Resumable ==
    /\ later = "idle" =>
         \A d \in ToCommit : \A a \in ChosenIn(d) :
             a \in store.sources \ store.altered \/ store.visible[NameOf(a)] = a \/ IsSpoilt(a)
    /\ Says({"partial"}) => \E d \in ToCommit : HasSpoilt(d)

(* A job of which a file was written over stays as it was decided, until a person has looked. *)
P8StaysDecided ==
    later = "idle" =>
        \A d \in ToCommit : HasSpoilt(d) => store.job /\ store.decision = d /\ ~store.published

(* Old files stay until each new one is there; then none is left, but of a job that appends all. *)
P9NothingLost ==
    /\ later = "idle" /\ ~InPlace /\ store.visible[OldName] # Old
         => ~Appends /\ \E d \in ToCommit : Stands(d)
    /\ later = "idle" /\ ~Appends /\ Returned => store.visible[OldName] # Old

(* A marker speaks for whole datasets only. *)
MarkerMeansComplete ==
    /\ store.marker = Ours /\ later = "idle" => \E d \in ToCommit : Stands(d)
    /\ store.marker = Old => ~ShowsAFile

(* Readers notice that a job came and went. *)
EpochBeforeEnd == ToCommit # {} /\ ~store.job => store.epoch

(* Somebody who settles what is left gets it settled, and nothing is left (P5, P8). *)
EventuallySettled == <>[](~store.job /\ IsEmpty(store))
=============================================================================
