"""Owns ``reverie memory search`` and ``reverie memory index``."""

from __future__ import annotations

import json
import sys
from datetime import date
from typing import Any

from assistant.commands.memory import place
from assistant.errors import UsageError
from assistant.recall import Recall
from memory.search import Filter, Hit
from memory.sessions import SessionStore

EMBEDDING_S = 1.0
"""How long a search of its own process embeds what is new before it answers."""


def _recall() -> Recall:
    at = place()
    return at.recall(SessionStore(at.home.database))


def search(
    question: str,
    limit: int,
    sources: tuple[str, ...],
    span: tuple[str, str],
    explain: bool,
    as_json: bool,
) -> None:
    """Print what answers a question, best first."""
    recall = _recall()
    among = Filter(sources=sources, since=_day(span[0]), until=_day(span[1]))
    if recall.refresh(10.0):
        recall.embed_new(EMBEDDING_S)
    result = recall.search(question, among, limit, explain=explain)
    recall.stop()
    if as_json:
        hits = [hit.to_dict() for hit in result.hits]
        print(json.dumps({"hits": hits, "notices": result.notices}, ensure_ascii=False, indent=2))
        return
    for hit in result.hits:
        _show(hit, explain)
    if not result.hits:
        print(f"Nothing found for {question!r}.")
    for notice in result.notices:
        print(f"({notice})", file=sys.stderr)


def _show(hit: Hit, explain: bool) -> None:
    day = f"{hit.day.isoformat()}  " if hit.day else ""
    place = f"message {hit.first}" if hit.source in ("sessions", "jobs") else f"line {hit.first}"
    who = f", {hit.speaker}" if hit.speaker else ""
    more = f" (and {hit.likes} more like it)" if hit.likes else ""
    print(f"{day}{hit.path}, {place}{who}\n  {hit.snippet}{more}")
    if explain:
        parts = sorted(hit.why.items(), key=lambda part: -abs(part[1]))
        print(f"  {hit.score:.2f} = " + " + ".join(f"{value:.2f} {name}" for name, value in parts))


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise UsageError(f"{text!r} is no date. Next step: write it as 2026-11-30.") from None


def build(rebuild: bool, as_json: bool) -> None:
    """Bring the index up to date with progress, and print what it holds."""
    recall = _recall()
    if rebuild:
        recall.index.heal()

    def progress(done: int, missing: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done} of {missing} embedded", end="", file=sys.stderr, flush=True)

    problem = recall.catch_up(progress=progress)
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    state = recall.status()
    recall.stop()
    if as_json:
        print(json.dumps({**state, "problem": problem}, ensure_ascii=False, indent=2))
        return
    held: dict[str, Any] = state["sources"]
    for source, counts in held.items():
        print(f"  {source:<9} {counts['documents']:>6} documents, {counts['chunks']:>7} chunks")
    print(f"{state['embedded']} of {state['chunks']} chunks have vectors ({state['embedder']}).")
    for line in (problem, *state["left_out"]):
        if line:
            print(f"  {line}")
