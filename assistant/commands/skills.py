"""Owns what the commands about skills do: listing, checking, deciding, looking back."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from assistant.commands.memory import place
from assistant.config import load_environment
from assistant.errors import UsageError
from assistant.skills import Skills
from memory.atomic import write_atomic
from memory.clean import one_line
from memory.redact import redact
from memory.sessions import SessionStore
from skills_guard import Finding, Refused
from skills_learning.folders import Unreadable, files_of
from skills_learning.library import NotInstalled, Waiting
from skills_learning.records import SKILL_FILE, Entry, NoSkill
from skills_learning.skill import SECTIONS, BrokenSkill, Skill, name_problems, parse, render
from skills_learning.usage import Tally


def open_skills() -> Skills:
    """Return the skills of the user's home. Raises ``UsageError`` where there is no home yet."""
    at = place()
    environment = load_environment(at.home)
    store = SessionStore(at.home.database, lambda text: redact(text, environment.secrets))
    return Skills(at.home, at.config, environment, cwd=Path.cwd(), store=store, history=at.history)


def deciding() -> Skills:
    """Return the skills for a command that changes some: hand edits have their own entry in the history."""
    skills = open_skills()
    skills.keep_hand_edits()
    return skills


def _print(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def find(skills: Skills, name: str) -> Entry:
    """Return a skill. Raises ``UsageError``."""
    try:
        return skills.shelf.find(name)
    except NoSkill as error:
        raise UsageError(f"{error} Next step: reverie skills list.") from None


def rows_of(entries: Sequence[Entry]) -> list[str]:
    """Return the skills as lines: name, origin, version, description, why one is not used."""
    width = max((len(e.name) for e in entries), default=0)
    rows = []
    for entry in entries:
        trial = ", on trial" if entry.installed and entry.installed.trial else ""
        edited = ", edited" if entry.installed and entry.edited else ""
        where = "" if entry.place.label == "home" else f", {entry.place.label}"
        note = f"{entry.origin} v{entry.record.version}{trial}{edited}{where}"
        rows.append(f"{entry.name:<{width}}  {note}: {one_line(entry.description, 100)}")
        if entry.why_not:
            rows.append(f"{'':<{width}}  not used: {entry.why_not}")
        rows += [f"{'':<{width}}  shadows {folder}" for folder in entry.shadowed]
    return rows


def to_dict(entry: Entry) -> dict[str, Any]:
    """Return a skill as JSON values."""
    return {
        "name": entry.name,
        "description": entry.description,
        "folder": str(entry.folder),
        "place": entry.place.label,
        "origin": entry.origin,
        "trust": entry.record.trust,
        "version": entry.record.version,
        "verdict": entry.record.verdict,
        "offered": not entry.why_not,
        "why_not": entry.why_not,
        "problems": list(entry.record.problems),
        "shadows": [str(folder) for folder in entry.shadowed],
    }


def show_list(skills: Skills, retired: bool, as_json: bool) -> None:
    """Print the skills there are."""
    if retired:
        names = {name: str(folder) for name, folder in skills.library.retired().items()}
        if as_json:
            _print({"retired": names})
            return
        for name in names:
            print(f"{name}  (reverie skills restore {name})")
        if not names:
            print("No skill was taken out of use.")
        return
    entries = skills.shelf.entries(seconds=30.0)
    if as_json:
        _print({"skills": [to_dict(entry) for entry in entries]})
        return
    for row in rows_of(entries):
        print(row)
    waiting = len(skills.library.pending())
    if waiting:
        print(f"{waiting} {'waits' if waiting == 1 else 'wait'} for you: reverie skills pending")


def show_one(skills: Skills, name: str, path: str, as_json: bool) -> None:
    """Print a skill as it stands, and where it comes from."""
    entry = find(skills, name)
    try:
        _, files = skills.shelf.fresh(entry)
    except (Unreadable, BrokenSkill) as error:
        raise UsageError(f"{name}: {error}. Next step: reverie skills check.") from None
    if path not in files and path:
        raise UsageError(
            f"{entry.name} has no file {path!r}. Next step: one of {', '.join(sorted(files))}."
        )
    text = files[path or SKILL_FILE].decode("utf-8-sig", "replace")
    if as_json:
        _print({**to_dict(entry), "text": text, "files": sorted(files)})
        return
    if not path:
        known = entry.installed
        print(f"{entry.name} · {entry.origin} · version {entry.record.version} · {entry.folder}")
        print(
            f"trust {entry.record.trust} · scanned: {entry.record.verdict} · {entry.why_not or 'in use'}"
        )
        if known and known.source:
            print(f"from {known.source}, {known.when}")
        if known and known.turns:
            print(f"learned from turn {', '.join(known.turns)}")
        others = sorted(set(files) - {SKILL_FILE})
        if others:
            print(f"files: {', '.join(others)}")
        print()
    print(text)


def check(skills: Skills, as_json: bool) -> int:
    """Print all problems of all skills; return 1 where there are any."""
    rows: list[dict[str, Any]] = []
    for entry in skills.shelf.entries(seconds=60.0):
        problems = [*entry.record.problems]
        if entry.why_not and entry.why_not not in problems:
            problems.append(f"not used: {entry.why_not}")
        problems += [f"shadows the skill in {folder}" for folder in entry.shadowed]
        if problems:
            rows.append({"name": entry.name, "folder": str(entry.folder), "problems": problems})
    if as_json:
        _print({"skills": rows})
    else:
        for row in rows:
            print(f"{row['name']} ({row['folder']})")
            for problem in row["problems"]:
                print(f"  - {problem}")
        count = len(skills.shelf.entries())
        print(
            f"{count} skills, {len(rows)} with something to say."
            if rows
            else f"{count} skills, no problem."
        )
    return 1 if rows else 0


def new(skills: Skills, name: str, description: str) -> None:
    """Write the frame of a skill into the home."""
    if wrong := name_problems(name):
        raise UsageError(f"{wrong[0]}. Next step: a name such as weekly-report.")
    folder = skills.shelf.home / name
    if folder.exists():
        raise UsageError(f"{folder} is there already. Next step: another name, or edit that one.")
    rows = {
        "When to Use": "- The user asks for ...",
        "Procedure": "1. ...",
        "Pitfalls": "- What goes wrong, and how one sees it.",
        "Verification": "- How one knows that it worked.",
    }
    body = f"# {name.replace('-', ' ').capitalize()}\n\n" + "\n\n".join(
        f"## {title}\n\n{rows[title]}" for title in SECTIONS
    )
    told = description or f"{name.replace('-', ' ').capitalize()}. Use when the user asks for it."
    write_atomic(
        folder / SKILL_FILE, render(Skill(name=name, description=told, body=body)).encode()
    )
    print(f"{folder / SKILL_FILE}\nFill it in with an editor; reverie skills check looks at it.")


def verify(skills: Skills, name: str, as_json: bool) -> int:
    """Compare skills of the home with what was installed; return 1 where one differs."""
    entries = [find(skills, name)] if name else skills.shelf.entries(seconds=60.0)
    rows = []
    for entry in entries:
        if entry.place.label != "home" or (
            entry.installed is None and entry.record.trust != "builtin"
        ):
            state = "not installed by Reverie"
        elif entry.record.decision == "broken":
            state = "broken"
        else:
            state = "changed" if entry.installed and entry.edited else "ok"
        rows.append({"name": entry.name, "state": state, "digest": entry.record.digest})
    if as_json:
        _print({"skills": rows})
    else:
        for row in rows:
            print(f"{row['name']}: {row['state']}")
    return 1 if any(row["state"] in ("changed", "broken") for row in rows) else 0


def remove(skills: Skills, name: str) -> None:
    """Take a skill out of use."""
    entry = find(skills, name)
    _attempt(lambda: skills.library.remove(entry.name))
    skills.record(f"Skill removed: {entry.name}", [entry.name])
    print(f"{entry.name} is no longer in use. reverie skills restore {entry.name} brings it back.")


def restore(skills: Skills, name: str) -> None:
    """Bring a retired skill back."""
    done = _attempt(lambda: skills.library.restore(name))
    if isinstance(done, Refused):
        print_findings(done.report.findings)
        raise UsageError(
            f"{name} stays where it is: the scanner blocks it. Next step: look at its files."
        )
    skills.record(f"Skill restored: {name}", [name])
    print(f"{name} is in use again.")


def show_pending(skills: Skills, as_json: bool) -> None:
    """Print the drafts that wait, and skills whose change on disk needs a word."""
    drafts = skills.library.pending()
    changed = [
        e for e in skills.shelf.entries(seconds=30.0) if e.record.decision in ("ask", "block")
    ]
    if as_json:
        rows = [{**asdict(d), "folder": str(d.folder)} for d in drafts]
        _print({"drafts": rows, "changed": [to_dict(e) for e in changed]})
        return
    for draft in drafts:
        exists = (skills.shelf.home / draft.name).exists()
        print(
            f"{draft.name} ({'change of a skill' if exists else 'new skill'}, {draft.origin}): {draft.why}"
        )
        print_findings(_findings(draft))
        print(f"  reverie skills diff {draft.name} · approve {draft.name} · reject {draft.name}")
    for entry in changed:
        print(f"{entry.name} (in {entry.folder}): {entry.why_not}")
        for why in entry.record.why:
            print(f"  - {why}")
        print(f"  reverie skills show {entry.name} · approve {entry.name}")
    if not drafts and not changed:
        print("Nothing waits for you.")


def _findings(draft: Waiting) -> Sequence[Finding]:
    from skills_guard import scan

    return [f for f in scan(draft.folder).findings if f.severity != "note"]


def print_findings(findings: Sequence[Finding]) -> None:
    """Print what the scanner found: what, where, why, what to change."""
    for finding in findings:
        if finding.severity == "note":
            continue
        where = f"{finding.file}:{finding.line}" if finding.file else f"line {finding.line}"
        print(f"  {finding.severity}: {finding.rule}, {where}: {one_line(finding.excerpt, 120)}")
        print(f"    {finding.why} {finding.fix}")


def diff(skills: Skills, name: str) -> None:
    """Print what a draft would change, or what the last version changed."""
    try:
        draft = skills.library.waiting(name)
        after, old_folder = draft.files(), skills.shelf.home / name
    except NoSkill:
        entry = find(skills, name)
        kept = skills.library.versions(entry.name)
        after, old_folder = files_of(entry.folder), kept[-1] if kept else Path()
    except Unreadable as error:
        raise UsageError(f"{name}: {error}.") from None
    before = files_of(old_folder) if old_folder != Path() and old_folder.is_dir() else {}
    for path in sorted({*before, *after}):
        rows = difflib.unified_diff(
            before.get(path, b"").decode("utf-8", "replace").splitlines(),
            after.get(path, b"").decode("utf-8", "replace").splitlines(),
            f"before/{path}",
            f"after/{path}",
            lineterm="",
        )
        for row in rows:
            print(row)


def approve(skills: Skills, name: str, typed: str) -> int:
    """Let a draft go live; return 1 where the scanner blocks it."""
    done = _attempt(lambda: skills.library.approve(name, typed=typed))
    if isinstance(done, Refused):
        print(f"{name} is blocked:")
        print_findings(done.report.findings)
        for row in done.report.unread:
            print(f"  not read: {row}")
        print(f"To have it all the same: reverie skills approve {name} --type-name {name}")
        return 1
    skills.record(f"Skill approved: {done.name}", [done.name])
    print(f"{done.name} is in use (version {done.record.version}).")
    return 0


def reject(skills: Skills, name: str) -> None:
    """Drop a draft."""
    _attempt(lambda: skills.library.reject(name))
    print(f"{name} was dropped. Its text is kept: reverie skills list --retired.")


def history(skills: Skills, name: str, as_json: bool) -> None:
    """Print the journal."""
    rows = [h for h in skills.library.journal.all() if not name or h.skill == name]
    if as_json:
        _print({"history": [asdict(h) for h in rows]})
        return
    for row in rows:
        version = f" v{row.version}" if row.version else ""
        turn = f" (turn {row.turn})" if row.turn else ""
        print(
            f"{row.when[:16].replace('T', ' ')}  {row.event} {row.skill}{version}: {row.why}{turn}"
        )
    if not rows:
        print("Nothing has been learned yet." if not name else f"There is no history of {name!r}.")


def undo(skills: Skills, name: str) -> None:
    """Take the last change of a skill back."""
    if not name:
        taken = {"undone", "rolled back", "removed"}
        live: list[str] = []
        for happening in skills.library.journal.all():
            if happening.event in ("learned", "updated"):
                live.append(happening.skill)
            elif happening.event in taken and happening.skill in live:
                live.reverse()
                live.remove(happening.skill)
                live.reverse()
        if not live:
            raise UsageError(
                "There is nothing learned to take back. Next step: reverie skills history."
            )
        name = live[-1]
    entry = find(skills, name)
    done = _attempt(lambda: skills.library.undo(entry.name))
    skills.record(f"Skill undone: {entry.name}", [entry.name])
    print(done)


def pin(skills: Skills, name: str, pinned: bool) -> None:
    """Pin a skill, or end that."""
    entry = find(skills, name)
    _attempt(lambda: skills.library.pin(entry.name, pinned))
    print(
        f"{entry.name} is {'pinned: it is never proposed for retiring' if pinned else 'pinned no longer'}."
    )


def stats(skills: Skills, as_json: bool) -> None:
    """Print uses, success, and what was saved against the first time."""
    tallies = skills.uses.tallies() if skills.uses else {}
    rows = []
    for entry in skills.shelf.entries():
        tally = tallies.get(entry.name, Tally())
        calls, turns = _saved(entry, tally)
        rows.append(
            {
                "name": entry.name,
                "uses": tally.uses,
                "good": tally.good,
                "bad": tally.bad,
                "calls_saved": calls,
                "turns_saved": turns,
            }
        )
        judged = tally.good + tally.bad
        rate = f"{tally.good / judged:.0%} went well" if judged else "not judged yet"
        saved = f", {calls} tool calls and {turns} turns saved" if tally.uses else ""
        if not as_json:
            print(f"{entry.name}: {tally.uses} uses, {rate}{saved}")
    if as_json:
        _print({"skills": rows})


def _saved(entry: Entry, tally: Tally) -> tuple[int, int]:
    """Return the tool calls and turns that good uses saved against the first time."""
    try:
        first = parse((entry.folder / SKILL_FILE).read_bytes()).own.get("first")
    except (OSError, BrokenSkill):
        first = None
    if not isinstance(first, dict) or not tally.good:
        return 0, 0
    calls = max(0.0, float(first.get("calls", 0)) - tally.calls) * tally.good
    return round(calls), (int(first.get("turns", 1)) - 1) * tally.good


def review(skills: Skills, as_json: bool) -> None:
    """Print what could be retired or merged."""
    found = skills.advice(datetime.now().astimezone())
    if as_json:
        _print({"proposals": [asdict(row) for row in found]})
        return
    for row in found:
        print(row.line())
    if not found:
        print("Nothing to propose.")


def _attempt(action: Any) -> Any:
    """Run an action of the library; what it refuses is a sentence."""
    try:
        return action()
    except NoSkill as error:
        raise UsageError(f"{error} Next step: reverie skills list.") from None
    except (NotInstalled, Unreadable, BrokenSkill) as error:
        raise UsageError(f"{str(error).rstrip('.')}. Next step: reverie skills check.") from None
