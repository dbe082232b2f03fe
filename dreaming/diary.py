"""Owns DREAMS.md: one short entry a night, drawn from what really changed. It is never read back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from dreaming.promote import Decision, Target
from memory.clean import one_line
from memory.limits import Leaving
from memory.tokens import CJK

TITLE = "# Dreams\n"
_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    quiet: str
    opening: str
    kept: str
    changed: str
    gone: str
    left: str
    wonder: str
    and_more: str


_ENGLISH = _Words(
    quiet="A quiet day went by in {n} notes. Nothing in it asked to be kept for good.",
    opening="I went through what you told me, {n} things in all, and sorted it by what will still matter.",
    kept="I will keep:",
    changed="Something has changed:",
    gone="To make room or because it no longer holds, these went to the archive:",
    left="I let the rest be: {why}.",
    wonder="I wonder: {what} I will ask when it fits.",
    and_more="... and {n} more",
)
_CHINESE = _Words(
    quiet="平静的一天，{n}条笔记，没有什么需要长久记住的。",
    opening="我把你告诉我的{n}件事重新看了一遍，想了想哪些以后还用得上。",
    kept="我会记住：",
    changed="有些事变了：",
    gone="为了腾出地方，或因为已经不成立，这些放进了档案：",
    left="其余的就让它过去：{why}。",
    wonder="我还想知道：{what}有机会我会问你。",
    and_more="……还有{n}条",
)


def entry(
    day: date,
    decisions: Sequence[Decision],
    refused: Mapping[str, int],
    gone: Mapping[Target, Sequence[Leaving]],
    seen: int,
) -> str:
    """Return the entry of a night as Markdown, in the language of what was said."""
    taken = [d for d in decisions if d.outcome in ("kept", "changed")]
    said = " ".join(d.text for d in (taken or decisions))
    words = _CHINESE if len(CJK.findall(said)) * 3 > len(said) else _ENGLISH
    lines = [f"## {day.isoformat()}", ""]
    lines.append((words.opening if taken else words.quiet).format(n=seen))
    for title, outcome in ((words.kept, "kept"), (words.changed, "changed")):
        rows = [d for d in taken if d.outcome == outcome]
        if rows:
            lines += ["", title, ""]
            lines += [
                f"- {' / '.join((*d.old, ''))[:-3]}{' → ' if d.old else ''}{d.text}" for d in rows
            ]
    left = [leaving for group in gone.values() for leaving in group]
    replaced = {old for d in taken for old in d.old}
    shown = [leaving for leaving in left if leaving.text not in replaced]
    if shown:
        lines += ["", words.gone, ""]
        lines += [f"- {one_line(g.text, 120)} ({one_line(g.reason, 80)})" for g in shown[:_SHOWN]]
        if len(shown) > _SHOWN:
            lines.append(f"- {words.and_more.format(n=len(shown) - _SHOWN)}")
    if why := _why_left(refused):
        lines += ["", words.left.format(why=why)]
    asked = next((d for d in decisions if d.outcome == "asked"), None)
    if asked:
        lines += ["", words.wonder.format(what=f"“{one_line(asked.text, 100)}” ({asked.reason}). ")]
    return "\n".join(lines) + "\n"


def _why_left(refused: Mapping[str, int]) -> str:
    ranked = sorted(refused.items(), key=lambda pair: -pair[1])[:3]
    return ", ".join(f"{reason} ({count})" for reason, count in ranked)


def with_entry(raw: str, day: date, text: str) -> str:
    """Return the diary with the entry of ``day``; a night that is dreamt again goes on in its own entry. What
    a person wrote before, between and in the entries stays."""
    raw = raw or TITLE
    head = re.search(rf"^## {day.isoformat()}[ \t]*\r?$", raw, re.MULTILINE)
    if head is None:
        gap = "\n" if raw.endswith("\n") else "\n\n"
        return f"{raw}{gap}{text}"
    following = re.search(r"^## ", raw[head.end() :], re.MULTILINE)
    end = head.end() + following.start() if following else len(raw)
    more = text.partition("\n")[2].strip("\n")
    gap = "\n\n" if following else "\n"
    return f"{raw[:end].rstrip()}\n\n{more}{gap}{raw[end:]}"


def entries(raw: str, limit: int) -> list[str]:
    """Return the last entries of a diary, newest first."""
    parts = re.split(r"^(?=## \d{4}-\d\d-\d\d)", raw, flags=re.MULTILINE)
    return [part.strip() for part in reversed(parts) if part.startswith("## ")][:limit]
