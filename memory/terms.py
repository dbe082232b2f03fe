"""Owns how text becomes the terms that keyword search counts, on the side of chunks and of questions.

Words are stemmed and stop-worded by the language that a text is in; runs of Chinese are cut into words
and into overlapping pairs; identifiers stand whole and in parts. The same text gives the same terms
for ever: a change of this module needs a new :data:`VERSION`, which has the index rebuilt.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

from memory.stop_words import ENGLISH, LANGUAGES_OF, STOP_WORDS
from memory.tokens import CJK, CJK_RUN

VERSION = 2
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_OUTER = "?!.,;:()[]{}<>«»…。，、；：？！（）「」『』【】“”‘’'\"`*|"
_INNER = re.compile(
    r"\w[@/\\._:#+%$~=&-]+\w|\d[A-Za-z]|[A-Za-z]\d|[a-z][A-Z]|^[#$€£@~/]\w|\w[+#%]+$"
)
_FUNCTION = re.compile("[的了吗呢我你他她们是就都也么这那把被]")
_EMPTY = re.compile(
    "[的了吗呢我你他她们是就都也么这那把被在有什哪谁几怎多少时候里个不会要去和给让对从到]"
)
_ALONE = "\ue000"
"""Marks a single ideograph: a term that only a question of one character looks for."""
LONGEST_TERM = 80
"""Characters; of a longer word (a key, base64) only so many count, and no parts of it."""
_SURE = 2
"""Stop words of another language that a text must hold, and more than English ones, to be in it."""


def terms(text: str) -> list[str]:
    """Return the terms of a text to be found, in order; single ideographs come last, marked."""
    text = unicodedata.normalize("NFKC", text)
    language = language_of(text)
    found: list[str] = []
    for raw in CJK_RUN.sub(" ", text).split() if CJK.search(text) else text.split():
        found += _of_word(raw, language)
    for run in CJK_RUN.findall(text):
        found += _of_run(run)
    found += [_ALONE + character for character in dict.fromkeys(CJK.findall(text))]
    return found


def question_terms(text: str) -> list[str]:
    """Return the distinct terms that a question looks for.

    A single ideograph is one of them only where nothing else is: pairs and words say more.
    """
    found = [term for term in terms(text) if not is_alone(term)]
    return list(dict.fromkeys(found or terms(text)))


def question_characters(text: str) -> list[str]:
    """Return the telling ideographs of a question as terms: where there are no vectors, 车 is what 汽车
    and 停车 have in common."""
    found = dict.fromkeys(_HAN.findall(unicodedata.normalize("NFKC", text)))
    telling = (c for run in found for c in run if not _EMPTY.match(c))
    return [_ALONE + character for character in dict.fromkeys(telling)]


def is_alone(term: str) -> bool:
    """Whether a term stands for a single ideograph, which counts in no length."""
    return term.startswith(_ALONE)


def identifiers(text: str) -> list[str]:
    """Return what in a question is a name of a thing, letter by letter (``INV-2931``, ``src/a.py``),
    as the terms under which it is indexed."""
    words = (raw.strip(_OUTER) for raw in unicodedata.normalize("NFKC", text).split())
    return [
        word[:LONGEST_TERM].lower()
        for word in words
        if word and _INNER.search(word) and not CJK.search(word)
    ]


def _of_word(raw: str, language: str) -> list[str]:
    word = raw.strip(_OUTER)
    if not word:
        return []
    if len(word) > LONGEST_TERM:
        return [word[:LONGEST_TERM].lower()]
    if word.isalpha() and (
        word.islower() or word[1:].islower()
    ):  # nine of ten words: no pattern needed
        low = word.lower()
        return [] if low in STOP_WORDS[language] else [_stem(low, language)]
    if _INNER.search(word):
        parts = [part.lower() for piece in _WORD.findall(word) for part in _PART.findall(piece)]
        whole = [piece.lower() for piece in _WORD.findall(word) if len(piece) > 1]
        pieces = [p for p in dict.fromkeys(parts + whole) if p not in STOP_WORDS[language]]
        return [word.lower(), *(_stem(piece, language) for piece in pieces)]
    plain = [piece.lower().replace("’", "'").partition("'")[0] for piece in _WORD.findall(word)]
    return [_stem(p, language) for p in plain if p and p not in STOP_WORDS[language]]


def _of_run(run: str) -> list[str]:
    """Return words and overlapping pairs of a run of ideographs, kana or hangul. A pair across a function
    word ("们决" of 我们决定) is none, unless it is a word."""
    words = [w for part in _HAN.findall(run) for w in _cut(part) if len(w) > 1]
    if len(run) > 2 and not _HAN.fullmatch(run):
        words.append(run)  # Korean, or a Japanese word with its kana
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    kept = [p for p in pairs if p in words or not _FUNCTION.search(p)]
    longer = [w for w in words if len(w) > 2]
    return [term for term in (*kept, *longer) if term not in STOP_WORDS["chinese"]]


@lru_cache(maxsize=1)
def _cutter() -> Any:
    try:
        import rjieba
    except ImportError:  # no wheel for this machine: pairs alone still find
        return None
    return rjieba


def _cut(run: str) -> list[str]:
    cutter = _cutter()
    return list(cutter.cut_for_search(run)) if cutter else []


def cut_words(text: str) -> list[str]:
    """Return the words of a text in their order, those in Chinese without overlap; Latin ones as they are."""
    cutter = _cutter()
    if cutter is None:
        return list(re.findall(r"[^\W_]+", text))
    return [word for word in cutter.cut(text) if re.fullmatch(r"[^\W_]+", word)]


def language_of(text: str) -> str:
    """Return the language whose stop words a text holds most, English where that is not sure."""
    counts: dict[str, int] = {}
    for word in set(_LETTERS.findall(text.lower()[:2_000])):
        for language in LANGUAGES_OF.get(word, ()):
            counts[language] = counts.get(language, 0) + 1
    best = max(counts, key=lambda name: counts[name], default=ENGLISH)
    sure = counts.get(best, 0) >= _SURE and counts[best] > counts.get(ENGLISH, 0)
    return best if sure and best != "chinese" else ENGLISH


def stop_words_of(text: str) -> frozenset[str]:
    """Return the stop words of the language that a text is in."""
    return STOP_WORDS[language_of(text)]


@lru_cache(maxsize=16)
def _stemmer(language: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(language)


@lru_cache(maxsize=65_536)
def _stem(word: str, language: str) -> str:
    stemmed: str = _stemmer(language).stemWord(word)
    return stemmed
