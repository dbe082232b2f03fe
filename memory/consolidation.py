"""Owns shortening a memory file by a model's proposal, and the check that nothing of it is lost.

The proposal is taken whole or not at all: every name, number, date and negation of the old entries
must still stand in the new ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from memory.facts_model import NoProposal, json_in
from memory.patterns import Pattern
from memory.recall_words import stem, words
from memory.tokens import CJK

PROMPT = """\
These are the entries of a small memory file about a user. It is too long. Merge entries that are about
the same thing and say each more briefly, in the language it is in. Every name, number, date and
negation must stay, and nothing may be added. Aim at {limit} characters or fewer.

{entries}

Answer with JSON only: {{"entries": ["...", "..."]}}"""
_NAME = Pattern(r"(?<!^)\b[A-Z][\w'-]+|[\w.+-]+@[\w.-]+|https?://\S+|[#/~][\w./-]+")
_NUMBER = Pattern(r"\d+(?:[.,:/-]\d+)*")
_NEGATION = Pattern(
    r"\b(?:not|no|never|none|nor|without|cannot|avoids?|dislikes?|hates?|stopped|quit)\b|n't\b"
    r"|不|没|别|勿|讨厌|拒绝|戒",
    re.IGNORECASE,
)
_CLAUSE = Pattern(r"[;；,，、:：]|[.。!！?？](?=\s|$)|[。！？]|\b(?:and|but|while)\b|但|而")
_SHARE = 0.5
"""Of a negated clause's telling words, those that one negated new clause must hold."""


def proposal(entries: Sequence[str], limit: int, complete: Callable[[str], str]) -> list[str]:
    """Return the fewer, shorter entries that a model proposes, unchecked; none when it has none."""
    listed = "\n".join(f"- {' '.join(text.split())}" for text in entries)
    try:
        value = json_in(complete(PROMPT.format(limit=limit, entries=listed)))
    except NoProposal:
        return []
    rows = (
        next((v for v in value.values() if isinstance(v, list)), [])
        if isinstance(value, dict)
        else value
    )
    return [" ".join(row.split()) for row in rows if isinstance(row, str) and row.strip()]


def keeps_all(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether the ``new`` entries still hold every name, number, date and negation of the ``old``,
    and say nothing that the old ones did not: a word that is new to all of them is an invention."""
    low = "\n".join(new).casefold()
    held, known = _stems(new), _stems(old)
    for text in old:
        needed = {*_NAME.findall(text), *_NUMBER.findall(text)}
        if any(piece.casefold() not in low for piece in needed):
            return False
        first = next(iter(words(text)), "")  # a name may stand first, where all words are capital
        if text[:1].isupper() and stem(first) not in held:
            return False
        if CJK.search(text) and not set(map(stem, words(text))) <= held:
            return False  # a Chinese name is no different from any other word
        if _NEGATION.search(text) and not _negated_in(text, new):
            return False
    return not held - known


def _stems(texts: Sequence[str]) -> set[str]:
    return {stem(word) for text in texts for word in words(text)}


def _negated_in(text: str, new: Sequence[str]) -> bool:
    """Whether each negated clause stands in a new one that is negated too."""
    clauses = [part for row in new for part in _CLAUSE.split(row) if _NEGATION.search(part)]
    for clause in _CLAUSE.split(text):
        telling = {stem(word) for word in words(clause) if not _NEGATION.fullmatch(word)}
        if _NEGATION.search(clause) and not any(
            len(telling & _stems([other])) >= _SHARE * len(telling) for other in clauses
        ):
            return False
    return True
