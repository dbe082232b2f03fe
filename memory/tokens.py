"""Owns how text becomes search tokens for SQLite FTS5, and how a typed query becomes a MATCH.

FTS5's ``unicode61`` keeps a run of Chinese or Japanese as one token (so no word inside it is ever
found), drops symbols (``C++`` becomes ``c``) and raises on unquoted punctuation. So:

* each ideograph, kana and hangul syllable is indexed as a token of its own; a word of several is
  then a phrase, which is substring search of any length, one character included;
* words whose symbols carry meaning (``C++``, ``#123``, ``61.2%``, ``$5``) get one more token in
  which each symbol is a private-use character, which ``unicode61`` takes for a letter;
* every query term is passed as a quoted phrase.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# CJK ideographs (with extensions and compatibility), kana, hangul syllables and jamo, Yi, bopomofo.
CJK_RANGE = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u309f\u30a1-\u30ff\u3105-\u312f"
    "\u3131-\u318e\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48f\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003134f"
)
CJK = re.compile(f"[{CJK_RANGE}]")
CJK_RUN = re.compile(f"[{CJK_RANGE}]+")
_SYMBOLIC = re.compile(r"(?<![\w#$€£@+%])(?:[#$€£@][\w.,]*\w|\w[\w.,]*[+#%][+#%\w]*)")
_WORD = re.compile(r"[^\W_]+")
_PRIVATE = 0xE000

STOP_WORDS = frozenset(
    """a about am an and any are as at be been but by can could did do does for from had has have he
    her him his how i if in into is it its just me my of on or our she should so some than that the
    their them then there these they this to us was we were what when where which who whom why will
    with would you your
    的 了 吗 呢 是 我 你 他 她 在 有 和 就 都 也 什么 怎么 我们 你们""".split()
)


def search_text(text: str) -> str:
    """Return ``text`` as FTS5 shall index it. Deterministic: the triggers rely on that.

    A change of this function needs a migration that rebuilds the index.
    """
    if text.isascii():
        extra = _symbol_tokens(text)
        return f"{text} {' '.join(extra)}" if extra else text
    extra = _symbol_tokens(text)
    spaced = CJK.sub(r" \g<0> ", text)
    return f"{spaced} {' '.join(extra)}" if extra else spaced


def _symbol_tokens(text: str) -> list[str]:
    return [encode_symbols(match.group()) for match in _SYMBOLIC.finditer(text)]


def encode_symbols(word: str) -> str:
    """Return ``word`` lower-cased, each symbol as a private-use letter: one token for FTS5."""
    return "".join(c if c.isalnum() else chr(_PRIVATE + ord(c) % 0x1000) for c in word.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term of a query: how it was typed, its MATCH expression ('' when FTS5 cannot see it)."""

    typed: str
    match: str
    exact: bool = False

    @property
    def is_stop_word(self) -> bool:
        """Whether the term says nothing about what is looked for."""
        return not self.exact and self.typed.lower() in STOP_WORDS


def parse_query(query: str) -> list[Term]:
    """Split what a person typed into terms: ``"quoted phrases"`` whole, the rest at white space.

    An unbalanced quote is an ordinary character. A term without any token (an emoji, ``?!``) has
    no ``match``; the caller looks for it as a substring. Duplicates are dropped.
    """
    parts = query.split('"')
    if len(parts) % 2 == 0:  # unbalanced: the last quote opens nothing
        parts[-2:] = [f"{parts[-2]} {parts[-1]}"]
    terms: dict[str, Term] = {}
    for position, part in enumerate(parts):
        typed = [part.strip()] if position % 2 else part.split()
        for word in typed:
            stripped = word.strip("?!.,;:()[]{}<>…。，、；：？！（）「」『』“”‘’'")
            kept = stripped if _WORD.search(stripped) else word
            if kept and kept.lower() not in terms:
                exact = bool(position % 2)
                terms[kept.lower()] = Term(typed=kept, match=_match(kept), exact=exact)
    return list(terms.values())


def _match(typed: str) -> str:
    symbolic = _SYMBOLIC.fullmatch(typed)
    if symbolic and not typed.startswith("@"):
        return f'"{encode_symbols(typed)}"'
    spaced = CJK.sub(r" \g<0> ", typed)
    words = _WORD.findall(spaced.replace("_", " "))
    return f'"{" ".join(words)}"' if words else ""


def loose_matches(term: Term) -> list[str]:
    """Return weaker MATCH expressions for a term that found too little.

    A run of ideographs falls apart into overlapping pairs (people do not type spaces between
    Chinese words), a word with symbols into its plain words, a Latin word into a prefix.
    """
    pairs = [
        f'"{run[i]} {run[i + 1]}"'
        for run in CJK_RUN.findall(term.typed)
        for i in range(len(run) - 1)
    ]
    if pairs:
        return pairs
    words = _WORD.findall(term.typed)
    if len(words) == 1 and words[0] == term.typed and len(words[0]) >= 4:
        return [f'"{words[0]}"*']
    return [f'"{word}"' for word in words if word.lower() not in STOP_WORDS]
