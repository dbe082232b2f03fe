"""Owns use or mention: whether a text tells to do a thing, or speaks about it.

Only grammar counts: a negation that governs the thing, an example marked as bad, a quotation with the
noun of an attack around it. Soothing words ("educational", "risk") switch nothing off, and "run it first"
takes a demotion back.
"""

from __future__ import annotations

import re

from skills_guard import cues
from skills_guard.findings import Severity
from skills_guard.views import Unit

_LESS: dict[Severity, Severity] = {"dangerous": "caution", "caution": "note", "note": "note"}
_QUOTES = (
    ('"', '"'),
    ("“", "”"),
    ("„", "“"),
    ("«", "»"),
    ("「", "」"),
    ("『", "』"),
    ("‘", "’"),
    ("`", "`"),
    ("'", "'"),
)


def weight(unit: Unit, start: int, end: int, severity: Severity, *, says: bool = False) -> Severity:
    """Return how much a hit weighs where it stands: a mention is a note; a command that is named in a
    sentence that does not tell to run it, and one that is shown under the heading of an attack, weighs one
    step less. ``says``: the hit is a sentence, so in a string of a program it is data."""
    if unit.place in ("hidden", "decoded") or unit.view in ("tags", "decoded"):
        return severity
    if unit.place == "inline":
        return _inline(unit, unit.around, severity)
    if unit.place in ("code", "script", "data"):
        if _is_marked_bad(unit, start):
            return "note"
        comment = re.match(r"\s*(?:#|//|--|\*|/\*|<!--)", unit.text)
        shown = (
            cues.SHOWS_ATTACK.search(f"{unit.segment.top}\n{unit.segment.lead[-200:]}")
            and unit.place == "code"
        )
        listed = cues.STRINGS.search(_raw_line(unit, unit.line_at(start)))
        cases = listed or cues.CASES.search(_raw_line(unit, unit.line_at(start)))
        if unit.segment.language in ("csv", "tsv") or (
            cases and cues.TESTS.search(unit.segment.text)
        ):
            return "note"
        data = says and not comment
        data = data and (unit.place == "script" or _is_quoted(unit.text, start, end))
        return _LESS[severity] if shown or data or listed else severity
    if _is_mention(unit, start, end):
        return "note"
    if unit.text.count("`", 0, start) % 2 and "`" in unit.text[end:]:
        return _inline(unit, _sentence(unit, start, end)[1], severity)
    tells = cues.OBEY.search(unit.text) and not cues.REFUSED.search(unit.text)
    return _LESS[severity] if says and _is_quoted(unit.text, start, end) and not tells else severity


def _inline(unit: Unit, told: str, severity: Severity) -> Severity:
    """Weigh code within a sentence, ``told``, by what the sentence says to do with it."""
    at = told.find(unit.text[:24]) if unit.place == "inline" else -1
    at = at if at > 0 else told.find("`") + 1
    before, after = told[: at - 1], told[at:].partition("`")[2]
    segment = unit.segment
    if cues.CANCEL.search(told):
        return severity
    spoken_of = (
        _is_negated(before)
        or _in_risk_table(unit)
        or cues.AFTER_NOT.match(after)
        or cues.WOULD.search(before)
        or cues.ATTACK.search(told)
        or cues.ATTACK.search(segment.lead)
        or cues.ORDER_NOT.search(segment.lead)
    )
    if spoken_of:
        return "note"
    in_steps = segment.place == "table" and cues.STEPS.search(segment.header)
    if not before.strip() and not after.strip() and segment.lead.rstrip().endswith(":"):
        return severity  # a block in all but its fence
    if in_steps or cues.IMPERATIVE.search(before[-120:]):
        return severity
    return "note" if cues.ATTACK.search(segment.top) else _LESS[severity]


def _is_negated(before: str) -> bool:
    """Whether a negation in ``before`` governs what follows; "never skip this step" does not."""
    for match in cues.NEGATION.finditer(before[-160:]):
        rest = before[-160:][match.end() :]
        if cues.STATED_NOT.fullmatch(match[0].strip()) and re.search(r"[,;:]", rest):
            continue  # "no limits, the rules are off", "if it cannot pass, edit it": not behind the comma
        if not cues.NO_NEGATION.match(rest) and not re.search(
            r"[,;:]\s(?:but|just|then|so|run|instead)\b", rest
        ):
            return True
    return False


def _sentence(unit: Unit, start: int, end: int) -> tuple[str, str]:
    """Return what stands in the sentence before a hit, and the whole sentence."""
    text = unit.text
    opens = max(text.rfind(mark, 0, start) for mark in (". ", "! ", "? ", "。", "！", "？", "\n"))
    closes = min(
        (at for mark in (". ", "! ", "? ", "。", "！", "\n") if (at := text.find(mark, end)) >= 0),
        default=len(text),
    )
    return text[opens + 1 : start], text[opens + 1 : closes]


def _is_mention(unit: Unit, start: int, end: int) -> bool:
    before, sentence = _sentence(unit, start, end)
    if cues.CANCEL.search(sentence):
        return False
    before = cues.LISTED_QUOTES.sub("", before)
    if (
        _is_negated(before[-80:])
        or cues.IF_ASKED.search(before[-80:])
        or cues.SUBJECT.search(before[-160:])
    ):
        return True
    if unit.place == "table" and _in_risk_table(unit):
        return True
    if not _is_quoted(unit.text, start, end):
        return False
    if cues.NOT_FOLLOWED.search(unit.text[end : end + 160]):
        return True
    context = " ".join(
        (
            unit.text[max(0, start - 300) : start],
            unit.text[end : end + 300],
            unit.segment.lead,
            unit.segment.top,
        )
    )
    obeys = cues.OBEY.search(context) and not cues.REFUSED.search(context)
    return bool(cues.ATTACK.search(context)) and not obeys


def _is_quoted(text: str, start: int, end: int) -> bool:
    for opening, closing in _QUOTES:
        at = text.rfind(opening, max(0, start - 240), start + 1)
        if at < 0 or (opening == "'" and at and text[at - 1].isalnum()):
            continue
        if (
            text.find(closing, max(end - 1, at + 1), end + 400) >= 0
            and text.count(opening, max(0, start - 240), start + 1) % 2
        ):
            return True
        if opening != closing and closing not in text[at + 1 : start]:
            return True
    return False


def _in_risk_table(unit: Unit) -> bool:
    header = unit.segment.header
    return unit.segment.place == "table" and bool(
        cues.RISK_TABLE.search(header) and unit.segment.lines[0][1] == header
    )


def _raw_line(unit: Unit, number: int) -> str:
    return next((text for n, text in unit.segment.lines if n == number), unit.text)


def _is_marked_bad(unit: Unit, start: int) -> bool:
    """Whether code is shown as what not to do: by the sentence before the block, its heading, a comment
    above, or because the line searches for it."""
    line, number = unit.text, unit.line_at(start)
    raw = _raw_line(unit, number)
    if cues.QUERY.search(raw):
        return True
    runs = re.search(r"\|\s{0,3}(?:sudo )?(?:ba|z)?sh\b\s{0,3}$", line)
    if cues.SEARCHES.search(line[: start + 1]) and not runs:
        return True
    told = line[:start]
    said = cues.LISTED_QUOTES.sub("", told)[-80:]
    if cues.TEXT_LINE.match(told) and (_is_negated(said) or cues.IF_ASKED.search(said)):
        return True
    if unit.place == "script":
        return False
    lead = unit.segment.lead.strip()
    last = re.split(r"(?<=[.!?。！？])\s+", lead)[-1] if lead else ""
    if cues.CANCEL.search(lead[-300:]):
        return False
    if last and (cues.BAD_MARK.search(last) or _leads_to_bad(lead, last)):
        return True
    if unit.segment.top and cues.BAD_MARK.search(unit.segment.top) and lead == unit.segment.top:
        return True
    above = [text for n, text in unit.segment.lines if n < number and n >= number - 6]
    for text in reversed(above):
        comment = text.strip()
        if comment.startswith(("#", "//", "--", ";", "<!--", "rem ", "REM ")):
            return bool(cues.BAD_MARK.search(comment.lstrip("#/-; <!")))
        if not comment:
            break
    own = re.search(r"\s(?:#|//)\s*(.{3,80})$", line)
    return bool(own and cues.BAD_MARK.search(own[1]))


def _leads_to_bad(lead: str, last: str) -> bool:
    """Whether the sentence before a block says not to do what the block shows."""
    if not last.rstrip().endswith(":") and not re.search(
        r"pattern\s*$|this\s*$|following\s*$", last.strip(), re.IGNORECASE
    ):
        return False
    if cues.ORDER_NOT.search(lead[-300:]):
        return True
    return bool(
        re.search(
            r"\b(?:attackers?|malicious (?:code|skills?|pages?)|suspicious|hostile|harmful|infected"
            r"|compromised|vulnerable|unsafe|insecure)\b"
            r"[^.]{0,80}:?\s*$",
            last,
            re.IGNORECASE,
        )
    )
