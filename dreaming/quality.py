"""Owns what is no lasting statement, by its form: the reason why a line of a note is refused.

Users of dreaming assistants delete by hand what this keeps out: commands, empty headings, transcripts,
metadata, half sentences, what was to do that day, what has passed.
"""

from __future__ import annotations

import re
from datetime import date

from dreaming import cues
from dreaming.sources import Source
from memory.limits import ISO_DAY
from memory.tokens import CJK

LONGEST = 400
_FEWEST = 8
"""Letters below which nothing is said; an ideograph counts for three."""


def refused(source: Source, today: date) -> str:
    """Return why a source is no candidate, '' where it may be one. ``today`` is the day that is
    dreamt of: what is past by then has expired."""
    text = source.text.strip()
    if not source.is_trusted:
        return "not the user's words"
    for reason, cue in cues.NO_STATEMENT:
        if cue.search(text):
            return reason
    if len(text) > LONGEST or text.count("\n") > 2:
        return "a document, not a statement"
    if _letters(text) < _FEWEST:
        return "says too little"
    for reason, cue in cues.PASSING:
        if cue.search(text):
            return reason
    return _dated(text, today)


def _letters(text: str) -> int:
    return sum(ch.isalpha() for ch in text) + 2 * len(CJK.findall(text))


def _dated(text: str, today: date) -> str:
    """Why a statement about a day is none that lasts: it is an event, past or to come, unless the day is
    since when something holds, or the date of a birth."""
    days = [found[1] for found in ISO_DAY.finditer(text)]
    if not days or cues.SINCE_WHEN.search(text):
        return ""
    return "has expired" if max(days) < today.isoformat() else "an event, kept in the notes"


def distilled(text: str) -> str:
    """Return a statement as one plain sentence: without what only leads in or asks to remember it.
    Words are taken away, never added or changed."""
    plain = " ".join(text.split()).strip(" -*•>")
    before = None
    while before != plain:
        before = plain
        plain = cues.LEAD_IN.sub("", plain).lstrip(" ,，:：-")
        plain = cues.TRAIL_OFF.sub("", plain).rstrip(" ,，;；")
    plain = re.sub(r"[.。]+$", "", plain)
    return plain[:1].upper() + plain[1:] if plain[:1].islower() and _is_word(plain) else plain


def _is_word(text: str) -> bool:
    """Whether a text begins with an ordinary word: names of tools and addresses keep their case."""
    first = text.split(" ", 1)[0]
    return first.replace("'", "").replace("’", "").isalpha() and not re.search(r"[A-Z]", first[1:])
