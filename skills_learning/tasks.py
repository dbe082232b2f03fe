"""Owns what a task is called: the clause of the user's words that asks for it, and a name made of it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import date

from memory.facts import facts
from memory.patterns import Pattern
from memory.stop_words import STOP_WORDS
from memory.terms import cut_words, question_terms
from memory.tokens import CJK
from skills_learning.skill import LONGEST_NAME, slug
from skills_learning.trace import COMMON, Step

_POLITE = Pattern(
    r"^(?:\s*(?:hi|hey|hello|ok(?:ay)?|so|now|great|thanks|thank you|good (?:morning|evening|afternoon)|morning|well|yes|no|sorry)\b(?: there| you)?[\s,.!:)-]*)*"
    r"(?:\s*(?:please|pls|kindly|can you|could you|would you(?: mind)?|will you|(?:i(?:'d| would) like|i (?:want|need)|we need)(?: you)?(?: to)?|let's|let us|go ahead and|it is time to|time for|bitte)\b[\s,]*)*",
    re.IGNORECASE,
)
_POLITE_ZH = Pattern(
    r"你好|您好|麻烦(?:你|您)?|请(?:你|您)?|帮我|帮忙|给我|能不能|可以(?=帮)|一下|吧(?=[。！，]|$)"
)
_ASIDE = Pattern(
    r"[,(;，；（]?\s*\b(?:please|pls|thanks|thank you|again|as (?:usual|always|before|last time)|like last time|asap|right away"
    r"|if you can|will you|would you|could you|as well|too|once more)\b[)）]?(?=\s*[,.!?;]|\s*$)"
    r"|\b(?:today|tomorrow|tonight|this (?:week|month|morning|time|afternoon))\b|[，,]?\s*(?:谢谢|拜托|像上次一样|照旧|以后(?:常常|经常|还)?要[^，。]*)",
    re.IGNORECASE,
)
_REASON = Pattern(
    r"\s*[,;:–—-]*\s+(?:so that|so (?:i|we|he|she|they|my|that)|because|since (?:i|we|it|the)|as (?:i|we|he|she|my)\b|before (?:i|we|the|my|tomorrow|next)|until (?:i|we)|otherwise"
    r"|(?:i|we) (?:want|need|have|am|must)|for my|for (?:mum|mom|dad|grandma|grandpa)|who|which)\b.*$|[，,](?:因为|这样|不然|要不然|好让)[^。]*",
    re.IGNORECASE | re.DOTALL,
)
_LEARN = Pattern(
    r"[,;]?\s*\b(?:and |then |also )?(?:please |pls )?(?:learn (?:this|that|how)|(?:make|save|turn|write|keep|store)\b[^.!?\n,]{0,30}\bskill\b|remember how|next time do it)[^.!?\n]*[.!?]?"
    r"|[，,]?[^。！？\n，,]*(?:学会|学下来|技能|记住(?:这个)?(?:做法|方法|步骤))[^。！？\n，,]*",
    re.IGNORECASE,
)
_OTHERS = Pattern(
    r"^(?:i|i'm|i’m|he|she|it|they|we|you|there|this|that|these|my|our|his|her|their|its|last|also)\b|^(?:the|a|an|all|some|another)\b[^.!?]{0,60}?\b(?:is|are|was|were|has|have|had|needs?|should|must|can|finished|got|went)\b|^\w+(?:'s|’s)? (?:is|are|was|were|has|have|lives|wants|likes|says|said|will|can|needs)\b",
    re.IGNORECASE,
)
"""A sentence about somebody or something, which asks for nothing by itself."""
_TELLS = Pattern(
    r"^\S+(?: \S+){0,3} (?:starts|begins|runs|warns|says|needs|expires|asks|wants|wrote|sent|complains|wishes|came|comes)\b"
)
_POINTS_BACK = Pattern(r"\b(?:it|them|those|these|this one|that one)\b|它|这个|这些", re.IGNORECASE)
_SPLIT = Pattern(
    r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+|(?<=\w):\s+|\.\.\.\s*|,\s+(?=(?:could|can|would|will) you\b|please\b)",
    re.IGNORECASE,
)
_FILL = frozenset(
    "the a an my our your this that these those and or to of for in on at with from into by as it its is are be me us some all"
    " new latest current again please now then so up out them one more make get do has have need needs too just there no yes"
    " was were will would can could should also very really far time sure use uses used everything already done put".split()
)
_VARYING = Pattern(
    r"(?:\b(?:for|of|in|on|to|from|with|about|at|as|by|into)\s+)?(?:\b(?:the|a)\s+)?(?:\b(?:tickets?|files?|issues?|versions?|numbers?|period|date|case|invoice no)\s+)?<[a-z]+\d?>",
    re.IGNORECASE,
)
"""A parameter with the words that lead to it: no part of a name."""


def task_of(said: str) -> str:
    """Return the sentence of the user's words that asks for the work, without pleasantries and reasons and
    without what is told of people; '' where nothing is left."""
    text = _LEARN.sub(" ", said.strip())
    found: list[tuple[float, str]] = []
    for sentence in _SPLIT.split(text):
        plain = _POLITE_ZH.sub("", sentence) if CJK.search(sentence) else _POLITE.sub("", sentence)
        asked = plain.strip() != sentence.strip()
        tells = bool(_OTHERS.match(plain) or _TELLS.match(plain))
        cut = _REASON.sub("", plain)
        plain = _ASIDE.sub("", cut if len(cut.split()) >= 2 or CJK.search(cut) else plain)
        plain = " ".join(plain.split()).strip(" .!?,;:，。；！？-–—")
        if len(plain) < 4 or facts(plain, date(2000, 1, 1)):
            continue
        score = 1.5 * asked - 2.0 * tells + min(1.0, len(_telling(plain)) / 3)
        found.append((score, plain[:300]))
    if not found:
        return ""
    best = max(found, key=lambda pair: pair[0])
    rest = [text for score, text in found if text != best[1] and score > -2.5]
    if rest and (len(_telling(best[1])) < 2 or _POINTS_BACK.search(best[1])):
        return f"{best[1]}: {rest[0]}"
    return best[1]


def _telling(text: str) -> list[str]:
    return [t for t in question_terms(text) if t not in _FILL]


def name_of(task: str, steps: Sequence[Step], taken: Collection[str]) -> str:
    """Return a free name for a task: its telling words, Chinese ones by their sound, else its programs."""
    plain = _VARYING.sub(" ", task.replace("'", "").replace("’", ""))
    if CJK.search(plain):
        words = _by_sound(plain)
    else:
        words = [
            w.lower() for w in re.findall(r"[A-Za-z][A-Za-z0-9+]*", plain) if w.lower() not in _FILL
        ]
    if len(words) < 2:
        words += [word for word in _of_work(steps) if word not in words]
    base = slug(" ".join(words[:4])) or f"task-{hashlib.sha256(task.encode()).hexdigest()[:6]}"
    name, count = base, 2
    while name in taken:
        name = f"{base[: LONGEST_NAME - 4]}-{count}"
        count += 1
    return name


def _by_sound(text: str) -> list[str]:
    """Return the first telling words of a text in Chinese as Pinyin, Latin words as they are."""
    from pypinyin import lazy_pinyin

    kept = [w for w in cut_words(text) if len(w) > 1 and w not in STOP_WORDS["chinese"]]
    return ["".join(lazy_pinyin(word)) for word in dict.fromkeys(kept)][:3]


def _of_work(steps: Sequence[Step]) -> list[str]:
    """Return what the work was done with and on: its programs, then the folders and endings of its files."""
    programs: list[str] = []
    things: Counter[str] = Counter()
    for step in steps:
        if step.ok and not step.looks:
            programs += [m.split()[0] for m in sorted(step.marks) if m.split()[0] not in COMMON]
            text = " ".join(str(v) for v in step.arguments.values())
            things.update(w.lower() for w in re.findall(r"(?<=/)[A-Za-z]{4,16}(?=/)", text))
    common = [
        word for word, count in things.most_common(3) if count > 1 and word not in ("home", "users")
    ]
    return list(dict.fromkeys([*programs, *common]))[:3]
