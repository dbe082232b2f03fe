"""Owns what a task is called: the clause of the user's words that asks for it, and a name made of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence

from memory.facts import facts
from memory.tokens import CJK
from skills_learning.skill import LONGEST_NAME, slug
from skills_learning.trace import Step

_POLITE = re.compile(
    r"^(?:\s*(?:hi|hey|hello|ok(?:ay)?|so|now|great|thanks|thank you|good morning|well|yes)\b[\s,.!:-]*)*"
    r"(?:\s*(?:please|pls|can you|could you|would you|will you|i(?:'d| would) like you to|i (?:want|need) you to|let's|let us|go ahead and|bitte)\b[\s,]*)*",
    re.IGNORECASE,
)
_POLITE_ZH = re.compile(
    r"^(?:你好|您好|好的?|嗯|那|谢谢)?[，,。！! ]*(?:请|麻烦(?:你)?|帮我|帮忙|能不能|可以|你)*(?:把)?(?=\S)"
)
_ASIDE = re.compile(
    r"\s*[,(;，；（]?\s*\b(?:please|thanks|thank you|again|as (?:usual|always|before|last time)|like last time|asap|now|today|tomorrow|this (?:week|month|morning|time)"
    r"|learn this|for me|if you can|will you)\b[)）]?|(?:谢谢|拜托|像上次一样|照旧)",
    re.IGNORECASE,
)
_LEARN = re.compile(
    r"[^.!?。！？\n]*\b(?:learn (?:this|that|how)|(?:a |into a )skill\b|remember how)[^.!?。！？\n]*[.!?]?|[^。！？\n]*(?:学会|学下来|技能|记住(?:这个)?(?:做法|方法|步骤))[^。！？\n]*[。！？]?",
    re.IGNORECASE,
)
_FILL = frozenset(
    "the a an my our your this that these those and or to of for in on at with from into by as it its is are be me us some all"
    " new latest current again please now then so up out".split()
)
_PARAMETER = re.compile(r"<[a-z]+\d?>")


def task_of(said: str) -> str:
    """Return the sentence of the user's words that asks for the work, without pleasantries and without what
    the user tells of themselves; '' where nothing is left."""
    from datetime import date

    text = _LEARN.sub(" ", said.strip())
    for sentence in re.split(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+", text):
        plain = _POLITE_ZH.sub("", sentence) if CJK.search(sentence) else _POLITE.sub("", sentence)
        plain = _ASIDE.sub("", plain).strip(" .!,;:，。；！")
        if len(plain) >= 4 and not facts(sentence, date(2000, 1, 1)):
            return plain[:300]
    return ""


def name_of(task: str, steps: Sequence[Step], taken: Collection[str]) -> str:
    """Return a free name for a task: its telling ASCII words, else those of its programs and files."""
    words = re.findall(
        r"[A-Za-z][A-Za-z0-9+]*", _PARAMETER.sub(" ", task.replace("'", "").replace("’", ""))
    )
    telling = [w for w in words if w.lower() not in _FILL]
    if CJK.search(task) or not telling:
        programs = [p for step in steps if step.ok and not step.looks for p in sorted(step.marks)]
        telling = list(dict.fromkeys([*(p for p in programs for p in p.split()), *telling]))[:4]
    base = slug(" ".join(telling[:5])) or f"task-{hashlib.sha256(task.encode()).hexdigest()[:6]}"
    name, count = base, 2
    while name in taken:
        name = f"{base[: LONGEST_NAME - 4]}-{count}"
        count += 1
    return name
