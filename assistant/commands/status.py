"""Owns ``reverie status`` and ``reverie usage``: what is owed, how it went, what it cost."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from assistant.app import Assistant
from assistant.commands.memory import place
from assistant.config import Config, load_environment
from memory.notes import short_id
from memory.owed import OwedSteps
from memory.rows import from_ms
from memory.sessions import SessionStore
from memory.transcript import Usage


def show(wait: bool, as_json: bool) -> int:
    """Print the queue of the post-turn hook; with ``wait`` work it off first. Return the exit code:
    1 when something is owed after the wait."""
    at = place()
    if wait:
        # Nothing of this needs a model yet, so none is asked for: a missing key is no reason to fail.
        config = Config.model_validate({**dict(at.config), "model": "offline"})
        assistant = Assistant(at.home, config, load_environment(at.home), cwd=Path("/"))
        try:
            while assistant.hook and assistant.hook.work_off():
                pass
        finally:
            assistant.close()
    store = SessionStore(at.home.database)
    owed = OwedSteps(store).owed()
    rows = store.query(
        "SELECT step, status, count(*) AS n, avg(ms) AS ms, max(finished) AS last FROM hook_steps"
        " GROUP BY step, status ORDER BY step, status"
    )
    failures = store.query(
        "SELECT turn, step, detail FROM hook_steps WHERE status = 'failed' ORDER BY finished DESC LIMIT 5"
    )
    steps: list[dict[str, Any]] = [
        {
            "step": row["step"],
            "status": row["status"],
            "turns": row["n"],
            "ms": round(row["ms"], 2),
            "last": from_ms(row["last"]).astimezone(at.zone).isoformat(timespec="seconds"),
        }
        for row in rows
    ]
    failed = [
        {"turn": short_id(r["turn"]), "step": r["step"], "why": r["detail"]} for r in failures
    ]
    if as_json:
        print(json.dumps({"owed": [short_id(t) for t in owed], "steps": steps, "failed": failed}))
        return int(wait and bool(owed))
    print(f"{len(owed)} turns are owed their post-turn steps." if owed else "Nothing is owed.")
    for step in steps:
        print(
            f"  {step['step']:<10} {step['status']:<7} {step['turns']:>6} turns,"
            f" {step['ms']:.1f} ms each, last {step['last']}"
        )
    for failure in failed:
        print(f"  failed: {failure['step']} of turn {failure['turn']}: {failure['why']}")
    return int(wait and bool(owed))


def usage(days: int, as_json: bool) -> None:
    """Print the model calls and tokens of the last days, by source."""
    at = place()
    since = datetime.now(at.zone) - timedelta(days=days)
    store = SessionStore(at.home.database)
    spent = OwedSteps(store).spent(since.date())
    by_source = store.usage(since) | {source: cost.usage for source, cost in spent.items()}
    total = sum(by_source.values(), Usage())
    if as_json:
        rows = {source: _row(used) for source, used in by_source.items()}
        print(json.dumps({"since": since.isoformat(timespec="seconds"), "sources": rows}))
        return
    print(f"Since {since:%Y-%m-%d}:")
    for source, used in [*sorted(by_source.items()), ("all", total)]:
        print(
            f"  {source:<10} {used.calls:>6} model calls, {used.input:>9} tokens in "
            f"({used.cached} from cache), {used.output:>8} out"
        )


def _row(used: Usage) -> dict[str, int]:
    return {
        "calls": used.calls,
        "input": used.input,
        "cached": used.cached,
        "output": used.output,
        "reasoning": used.reasoning,
    }
