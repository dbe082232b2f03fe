"""Owns ``reverie dream`` and ``reverie dreams``: dreaming by hand, its reasons, its diary, how it went."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assistant.app import Assistant
from assistant.commands.memory import Place, place
from assistant.config import Config, load_environment
from assistant.dreams import nights_since
from assistant.errors import UsageError
from assistant.home import Home
from memory.clean import one_line
from memory.entries import MemoryFile

if TYPE_CHECKING:
    from dreaming.dream import Report
    from dreaming.promote import Decision

SIGNALS = ("stated", "repetition", "use", "durability", "recency", "surprise")


def dream(*, dry: bool, explain: bool, since: str, replay: str, as_json: bool) -> None:
    """Dream what is owed, or the nights ``since`` a date, or a month again on a copy, and print it."""
    at = place()
    if replay:
        _replay(at.home, replay, explain, as_json)
        return
    app = _assistant(at)
    try:
        dreamer = app.dreams.dreamer()
        last = app.now().date() if since or dry or explain else app.dreams.last_day()
        days = nights_since(_day(since), last) if since else dreamer.owed(last)
        if dry or explain:
            days = days or [last]
        ask = app.config.dreaming.approval == "ask" and not (dry or as_json)
        if ask and days and not sys.stdin.isatty():
            raise UsageError(
                "dreaming.approval is ask, and nobody can be asked here. Next step: run reverie dream "
                "in a terminal."
            )
        reports = app.dreams.dream(
            days, dry=dry or explain, dreamer=dreamer, choose=_ask if ask else None
        )
        if not (dry or explain or since):
            from assistant.upkeep import keep_up

            keep_up(app)
        _print(reports, explain, as_json, dry or explain)
    finally:
        app.close()


def _assistant(at: Place) -> Assistant:
    """Return the assistant; without a key for its model the rules dream alone."""
    environment = load_environment(at.home)
    try:
        return Assistant(at.home, at.config, environment, cwd=Path("/"))
    except UsageError:
        offline = Config.model_validate({**dict(at.config), "model": "offline"})
        return Assistant(at.home, offline, environment, cwd=Path("/"))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no date. Next step: write it as 2026-11-30.") from None


def _ask(decision: Decision) -> bool:
    old = f" (in place of: {' / '.join(decision.old)})" if decision.old else ""
    return click.confirm(f"Keep “{decision.text}”{old}?", default=True)


def _print(reports: Sequence[Report], explain: bool, as_json: bool, dry: bool) -> None:
    if as_json:
        print(json.dumps({"nights": [_row(r) for r in reports]}, ensure_ascii=False))
        return
    if not reports:
        print("Nothing is owed: the last night has been dreamt.")
    for report in reports:
        print(f"{report.day}{' (nothing is written)' if dry else ''}, by the {_engine(report)}")
        if report.trouble:
            print(f"  {report.trouble}")
        if explain:
            _table(report)
            continue
        for decision in report.taken:
            old = f"{' / '.join(decision.old)} -> " if decision.old else ""
            print(f"  {decision.outcome}: {old}{decision.text}")
        if not report.taken:
            print("  nothing to keep")
        why = ", ".join(f"{reason} {n}" for reason, n in Counter(_reasons(report)).most_common(4))
        if why:
            print(f"  let be: {why}")


def _engine(report: Report) -> str:
    return "model, checked by the rules" if report.engine == "model" else "rules"


def _reasons(report: Report) -> list[str]:
    left = [_kind_of(d) for d in report.decisions if d.outcome not in ("kept", "changed")]
    return [*(why for _, why in report.refused), *left]


def _kind_of(decision: Decision) -> str:
    if decision.outcome == "known":
        return "known already"
    return "too light" if "is below" in decision.reason else decision.reason.split(":")[0]


def _table(report: Report) -> None:
    from dreaming.score import THRESHOLD

    head = " ".join(f"{name[:6]:>6}" for name in SIGNALS)
    print(f"  {head}  score of {THRESHOLD:.2f}  decision, candidate, reason")
    for d in report.decisions:
        signals = d.score.signals if d.score else {}
        row = " ".join(f"{signals.get(name, 0):6.2f}" for name in SIGNALS)
        print(f"  {row}  {d.total:5.2f}          {d.outcome}: {one_line(d.text, 70)} ({d.reason})")
    for source, why in report.refused:
        print(f"  {'':>41}  {'':>5}          none: {one_line(source.text, 70)} ({why})")


def _row(report: Report) -> dict[str, Any]:
    return {
        "day": report.day.isoformat(),
        "engine": report.engine,
        "trouble": report.trouble,
        "decisions": [
            {
                "text": d.text,
                "outcome": d.outcome,
                "reason": d.reason,
                "score": round(d.total, 3),
                "signals": {k: round(v, 3) for k, v in (d.score.signals if d.score else {}).items()},
                "file": d.target,
                "replaces": list(d.old),
                "sources": [
                    {"day": s.day.isoformat(), "text": s.text, "turn": s.turn} for s in d.candidate.sources
                ],
            }
            for d in report.decisions
        ],
        "refused": [{"text": s.text, "reason": why} for s, why in report.refused],
    }  # fmt: skip


def _replay(home: Home, month: str, explain: bool, as_json: bool) -> None:
    """Dream a month again on a copy of the home whose memory files begin empty; the home stays as it is."""
    first = _day(f"{month}-01")
    last = (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    at = place()
    with tempfile.TemporaryDirectory(prefix="reverie-replay-") as folder:
        root = Path(folder) / "home"
        shutil.copytree(
            home.root, root, ignore=shutil.ignore_patterns(".git*", "index", "backups", "outputs")
        )
        copy = Home(root)
        for path in (copy.user, copy.memory, copy.archive, copy.diary):
            path.unlink(missing_ok=True)
        app = Assistant(copy, at.config, load_environment(home), cwd=Path("/"))
        try:
            assert app.store is not None
            connection = app.store.connection()
            connection.execute("DELETE FROM nights")
            connection.execute("DELETE FROM promoted")
            dreamer = app.dreams.dreamer(with_model=False)
            days = [d for d in nights_since(first, last) if d <= app.dreams.last_day()]
            reports = app.dreams.dream(days, dreamer=dreamer)
            _print(reports, explain, as_json, dry=True)
            if not as_json:
                for path in (copy.user, copy.memory):
                    print(f"\n{path.name} would be:")
                    for entry in MemoryFile.read(path).entries:
                        print(f"- {entry.text}")
        finally:
            app.close()


def diary(limit: int) -> None:
    """Print the last entries of the diary, newest first."""
    from dreaming.diary import entries

    raw = MemoryFile.read(place().home.diary).raw
    found = entries(raw, limit)
    print(
        "\n\n".join(found) if found else "No night has been dreamt yet. Next step: reverie dream."
    )


def status(as_json: bool) -> None:
    """Print how the last night went: what it saw, kept, refused and why, and what it cost."""
    from dreaming.nights import Nights
    from memory.owed import OwedSteps
    from memory.sessions import SessionStore

    at = place()
    store = SessionStore(at.home.database)
    nights = Nights(store).last(30)
    spent = OwedSteps(store).spent(date.min).get("dreaming")
    if as_json:
        rows = [
            {
                "day": n.day.isoformat(),
                "at": n.at.isoformat(timespec="seconds"),
                "engine": n.engine,
                "outcomes": dict(n.outcomes),
                "refused": dict(n.refused),
                "seconds": round(n.seconds, 2),
                "trouble": n.trouble,
            }
            for n in nights
        ]
        calls, tokens = (
            (spent.usage.calls, spent.usage.input + spent.usage.output) if spent else (0, 0)
        )
        print(json.dumps({"nights": rows, "calls": calls, "tokens": tokens}))
        return
    if not nights:
        print("No night has been dreamt yet. Next step: reverie dream.")
        return
    last = nights[0]
    seen = sum(last.outcomes.values()) + sum(last.refused.values())
    print(f"Last night: {last.day}, by the {last.engine}, {last.seconds:.1f} s")
    print(f"  {seen} statements: {_counted(last.outcomes) or 'none'}")
    if last.refused:
        print(f"  no statement: {_counted(last.refused)}")
    if last.trouble:
        print(f"  trouble: {last.trouble}")
    kept = sum(n.outcomes.get("kept", 0) + n.outcomes.get("changed", 0) for n in nights)
    print(f"Last {len(nights)} nights: {kept} memories kept or changed")
    if spent:
        print(
            f"Model: {spent.usage.calls} calls, {spent.usage.input + spent.usage.output} tokens in all"
        )


def _counted(counts: Any) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items(), key=lambda p: -p[1]))
