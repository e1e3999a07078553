"""A check of what a store declares against the live store, with a few small requests.

A probe is one client at one moment: it can refute a declaration, but hardly prove one. Where the
store does worse than declared, the probe is believed; where it does as declared, that counts as
probed. If it was unknown whether renames are atomic, that stays unknown, and so does the listing of
a mount, where each client may see a cache of its own. A declared absence stands: a condition that
is checked just before the change, and not with it, looks the same to a probe.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.store.abilities import Store
from fsspec_commit.store.capabilities import AtomicRename, Capabilities
from fsspec_commit.store.opening import Ask, ask_once
from fsspec_commit.store.trial_ground import Shown, TrialGround
from fsspec_commit.store.trials import LONG_TRIALS, TRIALS

_log = logging.getLogger("fsspec_commit")
_SIZES = (AtomicRename.NONE, AtomicRename.FILE, AtomicRename.DIRECTORY)
_CLEANING_TRIES = 3


@dataclass(frozen=True, kw_only=True, repr=False)
class ProbeReport:
    """What a store really did.

    Attributes:
        destination: The URL or path, as it was given.
        capabilities: What holds; the evidence of what the probe saw is ``"probed"``.
        differences: Where the store does not do what its adapter declares, one sentence each.
        remarks: Why something counts as missing, where its name does not say; one sentence each,
            with what to do.
    """

    destination: str
    capabilities: Capabilities
    differences: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the store does everything that its adapter declares."""
        return not self.differences

    def __bool__(self) -> bool:
        """The same as :attr:`ok`: an ``assert`` of the whole report asserts what it looks like."""
        return self.ok

    def __repr__(self) -> str:
        if not self.ok:
            return f"<ProbeReport of {self.destination}: not ok, {'; '.join(self.differences)}>"
        probed = sum(how == "probed" for how in self.capabilities.evidence.values())
        return f"<ProbeReport of {self.destination}: ok, {probed} facts probed>"


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What the trials have shown.

    Attributes:
        capabilities: What holds; the evidence of what was seen is ``"probed"``.
        remarks: Why a fact counts as missing, where its name does not say, by that name.
    """

    capabilities: Capabilities
    remarks: Mapping[str, str]


async def probe(
    store: Store,
    scratch: StorePath,
    ids: IdSource,
    *,
    ask: Ask = ask_once,
    resend: Ask = ask_once,
    long: bool = False,
) -> Observed:
    """Try out what *store* does, in the directory *scratch*, which is removed in any case.

    Args:
        store: The live store.
        scratch: A directory that nobody else uses; made and removed here.
        ids: Makes the nonces of uploads.
        ask: Repeats a trial that was not answered, under new names each time, so that the effect of
            an earlier one, even a late one, is not taken for its own.
        resend: Repeats one request that was certainly not done. On a store that takes one write a
            second for each name, a trial would never end without it. It has its own slots, since
            *ask* holds one meanwhile.
        long: Whether to upload a file of three parts as well, 10 to 16 MiB in all.

    Returns:
        What holds, and where the names of facts do not say it, why it does not.

    Raises:
        StoreError: The store did not answer, or nothing can be written there.
    """
    ground = TrialGround(store, scratch, ids, resend=resend)
    shown: Shown = {}
    try:
        for trial in (*TRIALS, *LONG_TRIALS) if long else TRIALS:
            shown.update(await ask(partial(ground.attempt, trial)))
    except BaseException:
        await _remove(ground, ask_once)
        raise
    await _remove(ground, ask)
    observed = _judged(store.capabilities, shown)
    return Observed(capabilities=observed, remarks=dict(ground.remarks))


def _judged(declared: Capabilities, shown: Mapping[str, object]) -> Capabilities:
    """What holds, from what was declared and what was seen."""
    facts = declared.facts()
    probed: Shown = {}
    for name, seen in shown.items():
        known = facts[name]
        if known in (False, AtomicRename.NONE):
            continue
        if _is_less(seen, known):
            probed[name] = seen
        elif declared.evidence.get(name) != "assumed" and not (
            known is None and _cannot_be_proved(name, declared)
        ):
            probed[name] = seen if known is None else known
    return declared.known("probed", **probed)


def _is_less(seen: object, known: object) -> bool:
    if isinstance(seen, AtomicRename):
        at_best = known if isinstance(known, AtomicRename) else AtomicRename.FILE
        return _SIZES.index(seen) < _SIZES.index(at_best)
    return seen is False or (seen == "path" and known == "upload_id")


def _cannot_be_proved(name: str, declared: Capabilities) -> bool:
    """Whether a probe cannot prove *name*, as where each client sees a cache of its own."""
    return name == "atomic_rename" or (
        name == "consistent_listing" and declared.paged_listing is not True
    )


async def _remove(ground: TrialGround, ask: Ask) -> None:
    """Remove everything, if the store permits; what stays, `clean` removes."""
    for _ in range(_CLEANING_TRIES):
        try:
            await ask(ground.clear)
        except StoreError as error:
            _log.debug("removing %r: %s", ground.scratch, error)
            if error.reply is Reply.REFUSED:
                break
        else:
            return
    if ground.may_hold:
        _log.warning("%r was not removed; `fsspec-commit clean` removes it", ground.scratch)
