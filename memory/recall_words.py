"""Owns the plain comparison of a question with a fact: which telling words they share."""

from __future__ import annotations

import re

from memory.tokens import CJK_RUN, STOP_WORDS

_WORD = re.compile(r"[^\W_]+(?:[.@'’/-][^\W_]+)*")
_ENDINGS = (
    "ically",
    "ations",
    "ation",
    "ings",
    "ing",
    "ies",
    "ied",
    "ers",
    "ed",
    "es",
    "ly",
    "er",
    "s",
    "y",
)
_CHINESE_FILLERS = re.compile("什么|我们|你们|知道|记得|关于|告诉|怎么|哪里|[的了吗呢我你是]")
_ASKING = frozenset(
    "know remember tell say said talk talked about please like does much many kind old"
    " 知道 记得 告诉 什么 哪里 多少 几 谁 怎么 关于".split()
)


def words(text: str) -> list[str]:
    """Return the telling words of ``text``: no stop words, Chinese as overlapping pairs."""
    found: list[str] = []
    for word in _WORD.findall(CJK_RUN.sub(" ", text)):
        low = word.lower().removesuffix("'s").removesuffix("’s")
        if low not in STOP_WORDS and low not in _ASKING and "'" not in low and "’" not in low:
            found.append(low)
    for run in CJK_RUN.findall(text):
        for stop in (
            "什么",
            "我们",
            "你们",
            "知道",
            "记得",
            "关于",
            "告诉",
            "怎么",
            "哪里",
            "的",
            "了",
            "吗",
            "呢",
            "我",
            "你",
            "是",
        ):
            run = run.replace(stop, " ")
        for part in run.split():
            found += [part[i : i + 2] for i in range(len(part) - 1)] or [part]
    return list(dict.fromkeys(found))


def stem(word: str) -> str:
    """Return a word without its common English ending; at least three letters stay."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def overlap(question: str, fact: str) -> float:
    """Return which share of the question's telling words the fact holds, 0 to 1."""
    wanted = [stem(word) for word in words(question)]
    if not wanted:
        return 0.0
    held = {stem(word) for word in words(fact)}
    folded = fact.casefold()
    return sum(word in held or (len(word) > 3 and word in folded) for word in wanted) / len(wanted)
