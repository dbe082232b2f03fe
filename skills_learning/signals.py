"""Owns when a turn is worth learning from: signals read off the transcript, each with its reason.

What is not: chat, look-ups, work that failed, outages, one-off facts. What the user says of themselves is
memory, never a skill.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memory.patterns import Pattern
from memory.terms import terms
from memory.transcript import Turn
from skills_learning.trace import CHECKS, COMMON, Step, marks_of, said_in, steps_of

Kind = Literal["long", "another way", "correction", "repeated", "asked"]
LONG = 5
"""Tool calls that ended well from which a piece of work is long."""
LONGEST_QUESTION = 300
ALIKE = 0.5
"""Likeness from which two tasks are of one kind."""
_ASKED = Pattern(
    r"\b(?:learn (?:this|that|how)|(?:make|create|write|save|turn)\b[^.!?\n]{0,30}\b(?:a |into a |as a )?skill\b"
    r"|remember how (?:to do|you did|we did|this|that)|next time do it (?:like this|the same way|this way))"
    r"|(?:学会|学下来|学习)(?:这个|这样|这种|一下)?|(?:记成|存成|做成|写成|变成)(?:一个)?技能|(?:记住|记下)(?:这个|这种|这些)?(?:做法|方法|步骤|流程)",
    re.IGNORECASE,
)
_NO = Pattern(
    r"^\W*(?:no\b|nope\b|wrong\b|stop\b|not (?:like that|so|that way)|that(?:'s| is) (?:not|wrong)|wait\b|h+m+\b|not quite\b|almost\b|nein\b|non\b"
    r"|不对|不是这样|错了|不行|别这样|等等)[\s,.!:;，。！：—-]*",
    re.IGNORECASE,
)
_WAY = Pattern(
    r"\b(?:first|before (?:you|that|it)|instead|next time|from now on|always|never|rather than|don['’]?t (?:use|run|do|forget)"
    r"|do not (?:use|run|do|forget)|use \S+|run \S+|you (?:should|must|need to|have to|forgot|ought)|should have|make sure|zuerst|stattdessen)\b"
    r"|先|应该|以后|下次|别用|不要用|改用|记得要|必须|忘了",
    re.IGNORECASE,
)
_PERSONAL = Pattern(
    r"\b(?:my (?:name|wife|husband|son|daughter|mother|father|birthday|address|phone|email|favou?rite)|i(?:'m| am| live| like| prefer"
    r"| hate| love| was born)|call me)\b|我(?:叫|住|喜欢|不喜欢|是|今年|的(?:名字|生日|妻子|丈夫|儿子|女儿|地址|电话))",
    re.IGNORECASE,
)
_OUTAGE_SAID = Pattern(
    r"\b(?:is|was|were|are|seems?|went) (?:down|offline|unavailable|unreachable|out of order)\b|\boutage\b|宕机|挂了|断网|服务不可用",
    re.IGNORECASE,
)
_QUESTION = Pattern(
    r"^\W*(?:what|who|whose|when|where|which|why|how (?:many|much|long|old|far|do|does|did|is|are)|is|are|was|were|does|do|did|has|have)\b[^.!]*\?\s*$"
    r"|^(?:请问|什么|谁|哪|为什么|几|多少)[^。！]*[？?]?$|[^。！]*(?:吗|呢|多少|什么|哪|几个)[^。！]*[？?]\s*$",
    re.IGNORECASE,
)
_FAILED = Pattern(
    r"\b(?:i (?:could not|couldn['’]t|was not able|wasn['’]t able|failed|am unable|can['’]t|cannot)|(?:did|does) not work"
    r"|didn['’]t work|still (?:fails?|failing|broken)|without success|gave up|not (?:allowed|permitted) to)\b"
    r"|没能|没有成功|失败了|无法完成|还是不行|仍然(?:失败|报错)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Why a turn is worth learning from; ``lesson`` are the user's words where they corrected the way."""

    kind: Kind
    reason: str
    lesson: str = ""


def signals(turn: Turn, earlier: Sequence[Turn] = (), before: Sequence[Turn] = ()) -> list[Signal]:
    """Return the signals of a finished turn. ``before`` are the turns of its session that came before,
    oldest first; ``earlier`` are turns of any session, to count how often the same was done."""
    if turn.status != "done":
        return []
    said = said_in(turn)
    steps = steps_of([turn])
    found: list[Signal] = []
    if _ASKED.search(said) and not said.rstrip().endswith(("?", "？")):
        found.append(Signal(kind="asked", reason="you asked to learn this"))
    if not ended_well(turn, steps):
        return found if found and _worked(before[-1:]) else []
    if lesson := correction(turn, before):
        found.append(
            Signal(kind="correction", reason="you corrected how it was done", lesson=lesson)
        )
    good = [step for step in steps if step.ok]
    done = [step for step in good if not step.looks]
    if len(good) >= LONG and len(done) >= 2:
        found.append(Signal(kind="long", reason=f"{len(good)} tool calls that ended well"))
    if pair := another_way(steps):
        found.append(
            Signal(kind="another way", reason=f"{shown(pair[0])} failed, {shown(pair[1])} worked")
        )
    if done and (times := 1 + len(same_kind(turn, earlier))) >= 3:
        found.append(
            Signal(kind="repeated", reason=f"the same kind of task for the {_nth(times)} time")
        )
    return found


def only_asks(said: str) -> bool:
    """Whether a message asks for information and for no work."""
    plain = said.strip()
    if len(plain) > LONGEST_QUESTION:
        return False
    asked = re.search(r"\b(?:can|could|would|will) you\b", plain, re.IGNORECASE)
    return bool(_QUESTION.search(plain)) and not asked


def ended_well(turn: Turn, steps: Sequence[Step]) -> bool:
    """Whether the work of a turn was done and came to a good end."""
    if turn.status != "done" or not steps or _FAILED.search(turn.reply):
        return False
    return steps[-1].ok and any(step.ok and not step.looks for step in steps)


def _worked(turns: Sequence[Turn]) -> bool:
    return any(ended_well(turn, steps_of([turn])) for turn in turns)


def correction(turn: Turn, before: Sequence[Turn]) -> str:
    """Return the user's words where they correct how the turn before did its work, '' where they do not."""
    said = said_in(turn).strip()
    if not before or not steps_of(before[-1:]) or len(said) > 600:
        return ""
    refused = _NO.match(said)
    rest = said[refused.end() :].strip() if refused else said
    told = re.search(
        r"\b(?:next time|from now on|you (?:should|must|need to|have to|ought to|forgot)|should have)\b|下次|以后|应该先",
        rest,
        re.IGNORECASE,
    )
    if not (refused or told) or not _WAY.search(rest):
        return ""
    if _PERSONAL.search(rest) or _OUTAGE_SAID.search(rest) or rest.endswith(("?", "？")):
        return ""
    return rest


def way_in(lesson: str) -> str:
    """Return the sentences of a correction that say how it is done; the others ask for this time's work."""
    sentences = re.split(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+", lesson)
    return " ".join(s.strip() for s in sentences if _WAY.search(s))[:300]


def is_correction(turn: Turn, before: Sequence[Turn]) -> bool:
    """Whether the user says in this turn that the one before went wrong."""
    return bool(before and (_NO.match(said_in(turn).strip()) or correction(turn, before)))


def another_way(steps: Sequence[Step]) -> tuple[Step, Step] | None:
    """Return a step that failed for good reason and the one that then did the same in another way."""
    for at, failed in enumerate(steps):
        if failed.ok or failed.is_outage or failed.is_refused:
            continue
        for later in steps[at + 1 :]:
            if later.ok and not later.looks and _same_purpose(failed, later):
                return failed, later
    return None


def _same_purpose(failed: Step, later: Step) -> bool:
    if failed.tool != later.tool or failed.arguments == later.arguments:
        return False  # the same again: what failed has passed by itself
    if failed.marks & later.marks or programs(failed) & programs(later):
        return True
    first, second = _words(failed), _words(later)
    checks = CHECKS.search(
        failed.command
    )  # one that fails has found something; it is no way that failed
    return not checks and 2 * len(first & second) >= min(len(first), len(second)) > 1


def programs(step: Step) -> set[str]:
    """Return the programs of a step that tell what it is for."""
    return {mark.split()[0] for mark in step.marks} - (COMMON - {"git"})


def _words(step: Step) -> set[str]:
    text = " ".join(str(v) for v in step.arguments.values())[:400]
    return {w for w in re.findall(r"[\w./-]{3,}", text.lower()) if not w.startswith("-")}


def same_kind(turn: Turn, earlier: Sequence[Turn]) -> list[Turn]:
    """Return the earlier turns that ended well and were the same kind of task."""
    marks, said = marks_of(steps_of([turn])), said_in(turn)
    found = []
    for other in earlier:
        if other.id == turn.id:
            continue
        steps = steps_of([other])
        if (
            ended_well(other, steps)
            and alike(said, marks, said_in(other), marks_of(steps)) >= ALIKE
        ):
            found.append(other)
    return found


def alike(said: str, marks: frozenset[str], other_said: str, other_marks: frozenset[str]) -> float:
    """Return how alike two tasks are, 0 to 1: half by what was asked for, half by what did it."""
    one, two = telling(said), telling(other_said)
    words = len(one & two) / max(1, min(len(one), len(two))) if len(one & two) > 1 else 0.0
    work = 2 * len(marks & other_marks) / max(1, len(marks) + len(other_marks))
    return 0.0 if work == 0.0 else 0.5 * words + 0.5 * work


def telling(text: str) -> frozenset[str]:
    """Return the terms of a task that tell its kind: no numbers, no names of single things."""
    return frozenset(
        t for t in terms(text[:1_000]) if not any(c.isdigit() for c in t) and len(t) > 1
    )


def shown(step: Step) -> str:
    """Return a step in a few words."""
    text = (
        step.command
        or f"{step.tool} {step.arguments.get('path') or step.arguments.get('url') or ''}"
    )
    return f"`{' '.join(text.split())[:60].strip()}`"


def _nth(count: int) -> str:
    return {3: "third", 4: "fourth", 5: "fifth"}.get(count, f"{count}th")
