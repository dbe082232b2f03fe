"""Owns the way from a finished turn to a vetted skill: signals, draft or change, checks, guard."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory.facts_model import NoProposal
from memory.notes import short_id
from memory.transcript import Turn
from skills_guard import Refused, Vetted, vet
from skills_guard.policy import Trust
from skills_learning.draft import Work, changes, commands_of, draft
from skills_learning.finding import covering, same_skill, same_work, telling_marks
from skills_learning.folders import Unreadable
from skills_learning.general import leaks
from skills_learning.journal import Event
from skills_learning.library import NotInstalled, SkillLibrary
from skills_learning.patch import PatchRefused, patched
from skills_learning.proposal import proposed
from skills_learning.records import SKILL_FILE, Entry, NoSkill
from skills_learning.signals import (
    Signal,
    ended_well,
    is_correction,
    same_kind,
    signals,
    telling,
)
from skills_learning.skill import BrokenSkill, Skill, parse, problems, render, with_own
from skills_learning.trace import Around, marks_of, said_in, steps_of, viewed_in
from skills_learning.usage import SkillUses, Use, moment, outcomes

log = logging.getLogger(__name__)
NEARLY_THE_SAME = 0.8
_COPIED = 40
"""Characters of a line from which it counts as copied when a page holds it."""


@dataclass(slots=True)
class Learner:
    """Learns skills from turns. ``complete`` is a model, where there is one; ``ask`` has every draft wait
    for the user; by name, ``meaning`` gives the likeness of skills to a text, ``examples`` what the user said
    when they were of use. ``prepare`` is called before a skill is written."""

    library: SkillLibrary
    uses: SkillUses | None
    redact: Callable[[str], str]
    now: Callable[[], datetime]
    ask: bool = False
    folder: str = ""
    home: str = ""
    complete: Callable[[str], str] | None = None
    meaning: Callable[[str], Mapping[str, float]] = lambda text: {}
    examples: Callable[[], Mapping[str, Sequence[str]]] = dict
    prepare: Callable[[], None] = lambda: None

    def learn(self, turn: Turn, around: Around) -> str:
        """Learn from a turn what is worth it; return what was done. Repeating it changes nothing."""
        if self.library.journal.of_turn(short_id(turn.id)):
            return "learned from already"
        found = signals(turn, around.earlier, around.before)
        if not found:
            return "nothing to learn"
        work = self._work(turn, around, found)
        if not any(step.ok and not step.looks for step in work.steps):
            return "nothing was done that could be learned"
        if entry := self._covering(turn, around, work):
            if self.uses:
                self.uses.belongs(entry.name, turn.id)
            return self._update(entry, work, turn)
        return self._new(work, turn)

    # -- uses -------------------------------------------------------------------------------

    def judge(self, turn: Turn, around: Around) -> list[str]:
        """Record which skills a turn used and how it went, and the user's word on the turn before; return
        what followed from it."""
        if self.uses is None or turn.status == "undone":
            return []
        steps = steps_of([turn])
        good: bool | None = turn.status == "done" and ended_well(turn, steps)
        why = "" if good else (turn.error or "it did not end well")
        if not steps:
            good, why = None, "it was only looked at"
        elif not good and any(step.is_outage or step.is_refused for step in steps):
            good, why = None, "an outage, or you did not allow it"
        touched = set()
        for name in viewed_in(turn):
            try:
                entry = self.library.shelf.find(name)
            except NoSkill:
                continue
            self.uses.note(
                Use(
                    skill=entry.name,
                    version=entry.record.version,
                    turn=turn.id,
                    at=moment(turn.started),
                    good=good,
                    calls=len(steps),
                    why=why,
                )
            )
            touched.add(entry.name)
        if is_correction(turn, around.before):
            for use in self.uses.of_turn(around.before[-1].id):
                self.uses.note(replace(use, good=False, why="you corrected it"))
                touched.add(use.skill)
        return [told for name in sorted(touched) if (told := self._judge_trial(name))]

    def _judge_trial(self, name: str) -> str:
        assert self.uses is not None
        known = self.library.shelf.installed(name)
        if known is None or not known.trial:
            return ""
        since = moment(datetime.fromisoformat(known.when))
        entry = self.library.shelf.find(name)
        uses = [u for u in self.uses.of_skill(name, entry.record.version) if u.at >= since]
        try:
            return self.library.judge_trial(name, outcomes(uses))
        except NotInstalled as error:
            log.warning("%s", error)
            return ""

    # -- what the work was ------------------------------------------------------------------

    def _work(self, turn: Turn, around: Around, found: Sequence[Signal]) -> Work:
        """Return the work that a turn did or speaks of: "learn this" and corrections mean the one before."""
        before = list(around.before)
        turns = [turn]
        said = said_in(turn)
        while before and (
            (any(s.kind == "correction" for s in found) and len(turns) == 1)
            or is_correction(turns[0], before)
            or len(telling(said)) < 2
            or not marks_of(steps_of(turns))
        ):
            turns.insert(0, before.pop())
            said = said_in(turns[0])
        last = next(t for t in reversed(turns) if marks_of(steps_of([t])) or t is turns[0])
        alike = same_kind(last, around.earlier)[-4:]
        return Work(
            said=said,
            steps=tuple(steps_of([last])),
            signals=tuple(found),
            turns=tuple(short_id(t.id) for t in turns[-4:]),
            earlier=tuple((said_in(t), tuple(steps_of([t]))) for t in alike),
            folder=self.folder,
            home=self.home,
            brought=tuple(s.result for s in steps_of(turns) if s.tool != "run_command"),
        )

    def _covering(self, turn: Turn, around: Around, work: Work) -> Entry | None:
        """Return the skill that covers the work: the one that was used, else the one that fits."""
        entries = [e for e in self.library.shelf.entries() if e.record.decision != "broken"]
        by_name = {e.name: e for e in entries}
        used = [*viewed_in(turn), *(viewed_in(around.before[-1]) if around.before else [])]
        marks, commands = marks_of(work.steps), commands_of(work)
        for name in used:
            entry = by_name.get(name)
            if entry and (work.lessons or self._did(entry, marks, commands)):
                return entry
        fits = covering(
            work.said,
            marks,
            commands,
            entries,
            self._text,
            self.meaning(work.said),
            self.examples(),
        )
        return fits[0].entry if fits else None

    def _did(self, entry: Entry, marks: frozenset[str], commands: frozenset[str]) -> bool:
        """Whether a skill that was loaded is what the work then did: one may look at a wrong one."""
        text = self._text(entry)
        named = telling_marks(marks)
        return any(mark.split()[0] in text for mark in named) or same_work(commands, text) >= 0.5

    def _text(self, entry: Entry) -> str:
        try:
            return (entry.folder / SKILL_FILE).read_text(encoding="utf-8-sig", errors="replace")
        except OSError:
            return ""

    # -- a change ---------------------------------------------------------------------------

    def _update(self, entry: Entry, work: Work, turn: Turn) -> str:
        """Change the skill that covers the work, where the work adds to it."""
        if entry.place.label != "home":
            return f"covered by {entry.name}, which is not Reverie's to change"
        try:
            files = self._base(entry)
            text = files[SKILL_FILE].decode("utf-8-sig").replace("\r\n", "\n")
        except (Unreadable, BrokenSkill, KeyError, UnicodeDecodeError) as error:
            return f"covered by {entry.name}, which cannot be read: {error}"
        patches, why = changes(work, text)
        by_model = self._proposed(work, text, [])
        if by_model is not None:
            patches, why = list(by_model.patches), by_model.why
        if not patches:
            return f"covered by {entry.name}; nothing new"
        try:
            fresh = _bumped(patched(text, patches, read=text), work.turns, why)
        except (PatchRefused, BrokenSkill) as error:
            return self._drop(entry.name, str(error), turn)
        files = {**files, SKILL_FILE: fresh.encode()}
        foreign = entry.installed is None or entry.origin != "learned" or entry.edited
        return self._decide(
            files,
            work,
            turn,
            why,
            wait="it is yours, so the change waits" if foreign else "",
            old=text,
        )

    def _base(self, entry: Entry) -> dict[str, bytes]:
        """Return the files that a change starts from: those of a draft that waits, else the live ones."""
        try:
            return self.library.waiting(entry.name).files()
        except NoSkill:
            return self.library.shelf.fresh(entry)[1]

    def _proposed(self, work: Work, text: str, taken: Sequence[str]):  # type: ignore[no-untyped-def]
        from memory.errors import StorageError

        if self.complete is None:
            return None
        try:
            return proposed(work, text, taken, self.complete)
        except NoProposal as error:
            log.warning("a skill is written by the rules: %s", error)
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the model's call raises, the rules go on
            log.warning("a skill is written by the rules: %s", error)
        return None

    # -- a new skill ------------------------------------------------------------------------

    def _new(self, work: Work, turn: Turn) -> str:
        taken = self._taken()
        by_model = self._proposed(work, "", taken)
        files: dict[str, bytes] = {}
        if by_model is not None and by_model.skill is not None:
            skill: Skill | None = by_model.skill
            files = dict(by_model.files)
        else:
            skill = draft(work, taken)
        if skill is None:
            return "nothing of it can be said in general"
        first = {"turns": len(work.turns), "calls": len(work.steps)}
        skill = with_own(skill, first=first)
        files[SKILL_FILE] = render(skill).encode()
        for other in self.library.shelf.entries():
            if same_skill(skill.body, parse_body(self._text(other))) >= NEARLY_THE_SAME:
                if self.uses:
                    self.uses.belongs(other.name, turn.id)
                return f"covered by {other.name}, which says nearly the same"
        why = "; ".join(signal.reason for signal in work.signals)
        return self._decide(files, work, turn, why, wait="", old="")

    def _taken(self) -> list[str]:
        names = [e.folder.name for e in self.library.shelf.entries()]
        names += [e.name for e in self.library.shelf.entries()]
        return [*names, *(w.name for w in self.library.pending()), *self.library.retired()]

    # -- checks and going live --------------------------------------------------------------

    def _decide(
        self, files: Mapping[str, bytes], work: Work, turn: Turn, why: str, *, wait: str, old: str
    ) -> str:
        """Check a draft, have it scanned, and let it go live, wait, or drop it."""
        text = files[SKILL_FILE].decode()
        try:
            skill = parse(files[SKILL_FILE])
        except BrokenSkill as error:
            return self._drop("a draft", str(error), turn)
        wrong = problems(skill, files, strict=not wait)
        fresh = "\n".join(line for line in skill.body.splitlines() if line not in old)
        wrong += leaks(f"{skill.description}\n{fresh}")
        if self.redact(text) != text:
            wrong.append("it holds what looks like a secret")
        if wrong:
            return self._drop(skill.name, wrong[0], turn)
        trust: Trust = "community" if _is_copied(fresh, work.brought) else "agent-created"
        judged = vet(files, trust, name=skill.name)
        if isinstance(judged, Refused):
            finding = next((f for f in judged.report.findings if f.severity != "note"), None)
            told = (
                f"{finding.rule}, line {finding.line}: {finding.why}"
                if finding
                else judged.report.unread[0]
            )
            if judged.decision == "block":
                return self._drop(skill.name, told, turn)
            return self._wait(files, skill, trust, turn, told, judged)
        if wait or self.ask:
            return self._wait(
                files, skill, trust, turn, wait or f"{why} (skills.approval is ask)", judged
            )
        return self._go_live(judged, skill, turn, why, is_new=not old)

    def _go_live(self, judged: Vetted, skill: Skill, turn: Turn, why: str, *, is_new: bool) -> str:
        self.prepare()
        try:
            entry = self.library.install(
                judged,
                origin="learned",
                turn=short_id(turn.id),
                trial=True,
                now=self.now(),
            )
        except NotInstalled as error:
            return self._drop(skill.name, str(error), turn)
        event: Event = "learned" if is_new else "updated"
        if self.uses:
            self.uses.belongs(entry.name, turn.id)
        happened = self.library.journal.add(
            event,
            entry.name,
            why,
            turn=short_id(turn.id),
            version=entry.record.version,
            now=self.now(),
        )
        return happened.line()

    def _wait(
        self,
        files: Mapping[str, bytes],
        skill: Skill,
        trust: Trust,
        turn: Turn,
        why: str,
        judged: Refused | Vetted,
    ) -> str:
        try:
            self.library.quarantine(
                files,
                name=skill.name,
                why=why,
                trust=trust,
                origin="learned",
                turn=short_id(turn.id),
                findings=judged.report.findings,
            )
        except NotInstalled as error:
            return self._drop(skill.name, str(error), turn)
        return self.library.journal.add(
            "waiting", skill.name, why, turn=short_id(turn.id), now=self.now()
        ).line()

    def _drop(self, name: str, why: str, turn: Turn) -> str:
        return self.library.journal.add(
            "dropped", name, why, turn=short_id(turn.id), now=self.now()
        ).line()


def parse_body(text: str) -> str:
    """Return the text behind the front matter, all of it where there is none."""
    try:
        return parse(text.encode()).body
    except BrokenSkill:
        return text


def _bumped(text: str, turns: Sequence[str], why: str) -> str:
    """Return a SKILL.md with its version one higher and the reason noted; the body is kept as it is."""
    skill = parse(text.encode())
    origin = [str(t) for t in skill.own.get("origin", []) if isinstance(t, str)]
    raised = with_own(
        skill,
        version=skill.version + 1,
        origin=[*origin, *(t for t in turns if t not in origin)][-20:],
        changed=why[:200],
    )
    return render(raised)


def _is_copied(text: str, brought: Sequence[str]) -> bool:
    """Whether a line of the text stands in what pages and files brought in."""
    lines = [" ".join(line.split()).strip("-* `") for line in text.splitlines()]
    held = [" ".join(some.split()) for some in brought]
    return any(len(line) >= _COPIED and any(line in some for some in held) for line in lines)
