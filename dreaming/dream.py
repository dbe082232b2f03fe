"""Owns a night: what was noted and said becomes lasting memory, or does not, each with its reason.

Light: take the statements of the last fortnight, drop what is none. REM: join what says the same. Deep:
score, decide. Then all is written at once and the cursor moves last. The same night twice changes
nothing: what was promoted is known, by its hash, and what memory says is not said again.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path

from dreaming import diary, promote, proposal
from dreaming.candidates import Candidate, Embed, joined
from dreaming.nights import Night, Nights, digests
from dreaming.pending import Pending, digest
from dreaming.promote import Decision, Place, Target
from dreaming.quality import refused
from dreaming.score import score
from dreaming.sources import Source, notes_of, said_on
from memory.entries import MemoryFile
from memory.errors import StorageError
from memory.facts_model import NoProposal
from memory.limits import Leaving, archived
from memory.lock import locked
from memory.notes import NoteBook
from memory.sessions import SessionStore
from memory.uses import Uses

log = logging.getLogger(__name__)
WINDOW_DAYS = 14
"""Days that a night looks at; a statement that was not taken gets another chance as long."""
NIGHTS_AT_ONCE = 14
FIRST_DAYS = 31
_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The files of a home that a night reads and writes, and their limits in characters."""

    root: Path
    user: Path
    memory: Path
    archive: Path
    diary: Path
    lock: Path
    user_limit: int
    memory_limit: int

    @property
    def pending(self) -> Path:
        """What is about to be written."""
        return self.root / ".dream.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a night came to: a decision for each candidate, the sources that were none and why, what left the
    memory files. ``changed`` are the files that were written; none on a dry run."""

    day: date
    decisions: tuple[Decision, ...]
    refused: tuple[tuple[Source, str], ...]
    gone: Mapping[Target, Sequence[Leaving]]
    entry: str
    engine: str = "rules"
    trouble: str = ""
    seconds: float = 0.0
    changed: tuple[Path, ...] = ()

    @property
    def taken(self) -> list[Decision]:
        """What was kept or changed."""
        return [d for d in self.decisions if d.outcome in ("kept", "changed")]

    def reasons(self) -> dict[str, int]:
        """Return how many sources were refused for which reason."""
        return dict(Counter(why for _, why in self.refused))


@dataclass(kw_only=True)
class Dreamer:
    """Dreams the nights of a home. ``embed`` may be None: then statements are compared by words alone.
    ``forgotten`` tells whether a text said at a moment was forgotten since. ``complete`` is the model."""

    home: Home
    notes: NoteBook
    store: SessionStore
    zone: tzinfo
    now: Callable[[], datetime]
    embed: Embed | None = None
    complete: Callable[[str], str] | None = None
    forgotten: Callable[[str, datetime], bool] = lambda text, said: False
    nights: Nights = field(init=False)

    def __post_init__(self) -> None:
        self.nights = Nights(self.store)

    # -- nights ------------------------------------------------------------------------------

    def owed(self, until: date) -> list[date]:
        """Return the days up to ``until`` that were not dreamt of, oldest first: those since the last night,
        where notes or words were left."""
        cursor = self.nights.cursor()
        start = cursor + timedelta(days=1) if cursor else self._first_day(until)
        count = (until - start).days + 1
        return [start + timedelta(days=n) for n in range(max(0, count))]

    def _first_day(self, until: date) -> date:
        """The first night of a home looks back a month, not at years of imported notes."""
        days = [day for day in self.notes.days() if day <= until]
        return max(min(days, default=until), until - timedelta(days=FIRST_DAYS - 1))

    def dream(
        self,
        day: date,
        *,
        dry: bool = False,
        choose: Callable[[Decision], bool] | None = None,
    ) -> Report:
        """Dream of the days up to ``day`` and write what came of it, unless ``dry``. ``choose`` is asked
        about each memory; what it refuses is not proposed again. Raises ``StorageError`` or ``OSError``;
        then nothing has changed or the next night finishes it."""
        start = time.monotonic()
        for _ in range(_TRIES):
            report, pending = self._plan(day, start, choose)
            if dry or (not report.taken and self.nights.has(day)):
                return report  # a night that is dreamt again and finds nothing new leaves no trace
            with locked(self.home.lock):
                if any(digest(self.home.root / n) != d for n, d in pending.before.items()):
                    continue  # somebody wrote meanwhile: plan again with what they wrote
                pending.save(self.home.pending)
                changed = pending.write(self.home.root)
            return replace(report, changed=tuple(changed))
        raise StorageError(
            "the memory files change all the time. Next step: run reverie dream later."
        )

    def close(self, report: Report | None = None) -> list[Path]:
        """Finish the night whose files are written: the cursor moves. Also what an interrupted one left;
        returns the files that it wrote."""
        with locked(self.home.lock):
            try:
                pending = Pending.load(self.home.pending)
            except (ValueError, KeyError, TypeError):
                log.exception("what a night left cannot be read; it is dreamt again")
                self.home.pending.unlink(missing_ok=True)
                return []
            if pending is None:
                return []
            changed = pending.write(self.home.root)
            pending.close(self.nights, self.home.pending)
        return changed

    # -- one night ---------------------------------------------------------------------------

    def _plan(
        self, day: date, start: float, choose: Callable[[Decision], bool] | None
    ) -> tuple[Report, Pending]:
        home, today = self.home, day + timedelta(days=1)
        names = [p.relative_to(home.root).as_posix() for p in self._files()]
        before = {name: digest(home.root / name) for name in names}
        places: dict[Target, Place] = {
            "user": Place(file=MemoryFile.read(home.user), limit=home.user_limit),
            "memory": Place(file=MemoryFile.read(home.memory), limit=home.memory_limit),
        }
        fresh, out = self._light(day)
        candidates = joined(fresh, (), self.embed)
        known = [e.text for place in places.values() for e in place.file.entries]
        counts = Uses(self.store).counts([*known, *(s.text for s in fresh)])

        def uses(texts: Sequence[str]) -> dict[str, int]:
            return {text: counts.get(text, 0) for text in texts}

        archive = MemoryFile.read(home.archive).raw
        decisions = promote.decide(
            [(c, score(c, known, today, uses)) for c in candidates],
            places,
            self._passed_before(archive),
            self._cosines([*known, *(c.text for c in candidates)]),
        )
        decisions, engine, trouble = self._worded(decisions, known, today)
        if choose:
            decisions = [_chosen(d, choose) for d in decisions]
        files, gone = promote.applied(decisions, places, today, uses)
        seen = sum(source.day == day for source in (*fresh, *(s for s, _ in out)))
        report = Report(
            day=day,
            decisions=tuple(decisions),
            refused=tuple((source, why) for source, why in out if source.day == day),
            gone=gone,
            entry="",
            engine=engine,
            trouble=trouble,
            seconds=time.monotonic() - start,
        )
        entry = diary.entry(day, decisions, report.reasons(), gone, seen)
        report = replace(report, entry=entry)
        for target, left in gone.items():
            name = (home.user if target == "user" else home.memory).name
            archive = archived(archive, name, left, today) if left else archive
        after = {
            home.user: files["user"].raw,
            home.memory: files["memory"].raw,
            home.archive: archive,
            home.diary: diary.with_entry(MemoryFile.read(home.diary).raw, day, entry),
        }
        return report, self._pending(report, before, after)

    def _files(self) -> tuple[Path, ...]:
        return self.home.user, self.home.memory, self.home.archive, self.home.diary

    def _pending(
        self, report: Report, before: Mapping[str, str], after: Mapping[Path, str]
    ) -> Pending:
        texts = {p.relative_to(self.home.root).as_posix(): text for p, text in after.items()}
        if not report.decisions and not report.refused:
            texts.pop(self.home.diary.name)  # nothing was said: no entry
        changed = {
            name: text
            for name, text in texts.items()
            if text != MemoryFile.read(self.home.root / name).raw
        }
        night = Night(
            day=report.day,
            at=self.now(),
            engine=report.engine,
            outcomes=dict(Counter(d.outcome for d in report.decisions)),
            refused=report.reasons(),
            seconds=report.seconds,
            trouble=report.trouble,
        )
        promoted = [
            text
            for d in report.decisions
            if d.outcome in ("kept", "changed", "refused")
            for text in (d.text, *(s.text for s in d.candidate.sources))
        ]
        return Pending(before=dict(before), after=changed, night=night, promoted=promoted)

    def _light(self, day: date) -> tuple[list[Source], list[tuple[Source, str]]]:
        """Return the statements of the window, oldest first, and what was none with its reason. A note and
        the message that it came from are one source."""
        fresh: list[Source] = []
        out: list[tuple[Source, str]] = []
        for back in range(WINDOW_DAYS - 1, -1, -1):
            then = day - timedelta(days=back)
            noted = notes_of(self.notes, then)
            turns = {source.turn for source in noted if source.turn}
            said = [s for s in said_on(self.store, then, self.zone) if s.turn not in turns]
            moment = datetime.combine(then, datetime.min.time(), self.zone)
            for source in (*noted, *said):
                why = (
                    "forgotten"
                    if self.forgotten(source.text, moment)
                    else refused(source, day + timedelta(days=1))
                )
                if why:
                    out.append((source, why))
                else:
                    fresh.append(source)
        return fresh, out

    def _passed_before(self, archive: str) -> Callable[[Candidate], str]:
        """What was promoted once and is gone was undone or removed: it does not come back. What left for want
        of room, or was replaced, may, when it is said again."""
        promoted = self.nights.promoted()
        left = {
            key
            for entry in MemoryFile(raw=archive).entries
            for key in digests(entry.text.rpartition(" (left ")[0])
        }

        def test(candidate: Candidate) -> str:
            for source in candidate.sources:
                for key in digests(source.text):
                    day = promoted.get(key)
                    if day is None:
                        continue
                    if candidate.newest.day <= day:
                        return "was promoted before"
                    if not left & set(digests(candidate.text)):
                        return "was promoted before and taken out again"
            return ""

        return test

    def _cosines(self, texts: Sequence[str]) -> Callable[[str, str], float]:
        """Return what compares any two of ``texts``; all are embedded at once."""
        if self.embed is None or not texts:
            return lambda one, other: 0.0
        vectors = dict(zip(texts, self.embed(texts), strict=True))

        def cosine(one: str, other: str) -> float:
            a, b = vectors.get(one), vectors.get(other)
            return float(a @ b) if a is not None and b is not None else 0.0

        return cosine

    def _worded(
        self, decisions: Sequence[Decision], known: Sequence[str], today: date
    ) -> tuple[list[Decision], str, str]:
        """Return the decisions as the model words them, the engine, and what went wrong."""
        taken = [d for d in decisions if d.outcome in ("kept", "changed")]
        if self.complete is None or not taken:
            return list(decisions), "rules", ""
        try:
            worded, trouble = proposal.reworded(taken, known, today, self.complete)
        except (NoProposal, RuntimeError, OSError) as error:
            log.warning("the night of %s by the rules: %s", today, error)
            return list(decisions), "rules", f"the model's answer could not be used: {error}"
        others = [d for d in decisions if d not in taken]
        return [*worded, *others], "model", "; ".join(trouble)


def _chosen(decision: Decision, choose: Callable[[Decision], bool]) -> Decision:
    if decision.outcome not in ("kept", "changed") or choose(decision):
        return decision
    return replace(decision, outcome="refused", reason="you said no")
