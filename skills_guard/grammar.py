"""Owns use or mention: whether a text tells to do a thing, or speaks about it.

Only grammar counts: a negation that governs the thing, an example marked as bad, a quotation with the
noun of an attack around it. Soothing words ("educational", "risk") switch nothing off, and "run it first"
takes a demotion back.
"""

from __future__ import annotations

import re

from skills_guard.findings import Severity
from skills_guard.views import Unit

_NEGATION = re.compile(
    r"(?:\b(?:never|avoid(?:ing)?|refus\w{1,3}(?: to)?|instead of|rather than|prevent\w{0,3}|block\w{0,3}|reject\w{0,3}"
    r"|forbid\w{0,4}|prohibit\w{0,3}|stop\w{0,4}|disallow\w{0,3}|nunca|jamás|jamais|niemals|nie|evita\w{0,3}|vermeide\w{0,2}"
    r"|никогда|не)\b|\b(?:do|does|must|should|can|could|will|shall|may|is|are)(?: \*{0,2}not\b|n['’]t\b|not\b)"
    r"|\b(?:don|doesn|mustn|shouldn|can)['’]?t\b|\b(?:nicht|kein\w{0,2}|no|ne|non)\s|不要|切勿|禁止|请勿|避免|不得|不能|別|别|ないで|しない)",
    re.IGNORECASE,
)
_NO_NEGATION = re.compile(
    r"^\W{0,4}(?:skip|forget|omit|miss|hesitate|fail|ask|wait|worry|stop|tell|mention|inform|show|warn|question|only|just"
    r"|be afraid|matter|problem|need|longer|olvid\w+|vergess\w*|oubli\w+|跳过|忘记|忘|犹豫)",
    re.IGNORECASE,
)
_CANCEL = re.compile(
    r"\b(?:so|then|now|first|instead|always|just|still)\b[^.!?\n]{0,30}\b(?:run|execute|paste|do|install|apply)s? (?:it|this|them|that)\b"
    r"|\b(?:run|execute|paste) (?:it|this|them|that|the (?:command|line|script|block))s?\b[^.!?\n]{0,40}\b(?:first|now|anyway|before|silently|at once|so that|to see)\b"
    r"|\b(?:assistant|agent|model|you)\b[^.!?\n]{0,20}\b(?:now |then |must |should |will )+(?:run|execute)s?\b|\bexecutes? it\b",
    re.IGNORECASE,
)
_IF_ASKED = re.compile(
    r"\b(?:if|when|whenever|asks?|asked|asking|tells?|told|attempts?|attempting|tries|trying|claims?|instructs?|instructed|wants?|request\w*|says?|try)\b"
    r"[^.]{0,40}\b(?:to|that|like)\W{0,3}$|如果[^。]{0,20}$|要求[^。]{0,8}$",
    re.IGNORECASE,
)
_TEXT_LINE = re.compile(r"^\s{0,40}(?:(?:#|//|--|\*|-|\d{1,3}[.)])\s|[A-Z][a-z]+ [a-z]+ )")
"""A comment, an item, a sentence: words within code."""
_BAD = re.compile(
    r"(?:\b(?:bad|wrong|unsafe|insecure|vulnerable|dangerous|malicious|incorrect|anti-?patterns?|not like this|not this|do(?:n['’]t| not)|never"
    r"|avoid|forbidden|attack(?:s|er|ers)?|exploit|refuse|reject|red flags?|malo|mal|schlecht|falsch|mauvais)\b|❌|✗|🚫|⛔|错误|反例|不要|禁止|悪い例)",
    re.IGNORECASE,
)
_BAD_MARK = re.compile(
    r"^\W{0,12}(?:bad|wrong|unsafe|insecure|vulnerable|dangerous|incorrect|anti-?pattern|don['’]?t|do not|never|avoid|not this|malicious)\b"
    r"|❌|✗|🚫|⛔|错误|反例|不要|悪い例",
    re.IGNORECASE,
)
_ATTACK = re.compile(
    r"\b(?:attack(?:s|er|ers|ed)?|injections?|injected|jailbreaks?|malicious|adversar\w{0,5}|phishing|suspicious|untrusted|hostile"
    r"|refuse|red flags?|indicators?|signatures?|payloads?|exploits?|threats?|detect\w{0,5}|flag(?:s|ged)?|report (?:it|them|such)"
    r"|treat (?:it|them|such|this)[^.]{0,30} as data|is data|are data|ataques?|inyecci[oó]n|angriff\w{0,3}|attaque\w{0,2}|инъекци\w{0,2}|атак\w{0,2})\b"
    r"|攻击|注入|恶意|可疑|攻撃|注入攻撃|インジェクション|不審",
    re.IGNORECASE,
)
_OBEY = re.compile(r"\b(?:obey|follow|do (?:what|as) (?:it|they)|comply|carry (?:it|them) out)\b", re.IGNORECASE)
_REFUSED = re.compile(r"\b(?:refuse|never|not|don['’]t|n['’]t)\b[^.]{0,20}\b(?:obey|follow|comply|carry)", re.IGNORECASE)
_RISK_TABLE = re.compile(
    r"pattern|risk|indicator|attack|threat|smell|danger|vulnerab|finding|signature|bad|unsafe|flag|avoid|anti|severity|issue|weakness"
    r"|meaning|example of|why|风险|攻击|指标|模式|含义|危険",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"\b(?:run(?:ning)?|execut\w{1,3}|paste|type|enter|use|start|launch|call|issue|begin|append|add|put|install\w{0,3}|apply|with|via|then|first"
    r"|ejecuta|führe?|exécute\w{0,2}|запусти\w{0,2})\b|运行|执行|输入|粘贴|実行",
    re.IGNORECASE,
)
_SEARCHES = re.compile(
    r"(?:^|[|;&(`]\s{0,3})(?:git )?(?:grep|egrep|rg|ag|ack|findstr|select-string|yara|semgrep)\b|\bre\.(?:compile|search|match|findall)\("
    r"|\b(?:patterns?|regex(?:es)?|signatures?|rules?|blocklist|denylist|forbidden|dangerous\w{0,20}|suspicious\w{0,20})\b[^\n]{0,30}[=:\[(]\s{0,3}"
    r"|\bnew RegExp\(|^\s{0,40}(?:assert|expect)\b|^\s{0,40}r?['\"][^'\"\n]{3,300}['\"],?\s{0,4}(?:[#/].{0,200})?$|^\s{0,40}\(?r['\"]",
    re.IGNORECASE,
)
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』"), ("‘", "’"), ("`", "`"), ("'", "'"))


def weight(unit: Unit, start: int, end: int, severity: Severity) -> Severity:
    """Return how much a hit weighs where it stands: a mention is a note, a command that is named in a
    sentence that does not tell to run it weighs one step less."""
    if unit.place in ("hidden", "decoded") or unit.view in ("tags", "decoded"):
        return severity
    if unit.place == "inline":
        return _inline(unit, severity)
    if unit.place in ("code", "script", "data"):
        return "note" if _is_marked_bad(unit, start) else severity
    return "note" if _is_mention(unit, start, end) else severity


def _inline(unit: Unit, severity: Severity) -> Severity:
    told = unit.around
    before = told[: max(told.find("`"), 0)]
    if _CANCEL.search(told):
        return severity
    if _is_negated(before) or _in_risk_table(unit) or _ATTACK.search(told) or _ATTACK.search(unit.segment.lead):
        return "note"
    if _IMPERATIVE.search(before[-120:]):
        return severity
    return "caution" if severity == "dangerous" else "note"


def _is_negated(before: str) -> bool:
    """Whether a negation in ``before`` governs what follows; "never skip this step" does not."""
    for match in _NEGATION.finditer(before[-160:]):
        rest = before[-160:][match.end() :]
        if not _NO_NEGATION.match(rest) and not re.search(r"[,;:]\s(?:but|just|then|so|run|instead)\b", rest):
            return True
    return False


def _sentence(unit: Unit, start: int, end: int) -> tuple[str, str]:
    """Return what stands in the sentence before a hit, and the whole sentence."""
    text = unit.text
    opens = max(text.rfind(mark, 0, start) for mark in (". ", "! ", "? ", "。", "！", "？", "\n"))
    closes = min((at for mark in (". ", "! ", "? ", "。", "！", "\n") if (at := text.find(mark, end)) >= 0), default=len(text))
    return text[opens + 1 : start], text[opens + 1 : closes]


def _is_mention(unit: Unit, start: int, end: int) -> bool:
    before, sentence = _sentence(unit, start, end)
    if _CANCEL.search(sentence):
        return False
    if _is_negated(before[-80:]) or _IF_ASKED.search(before[-80:]):
        return True
    if unit.place == "table":
        return _in_risk_table(unit)
    if not _is_quoted(unit.text, start, end):
        return False
    context = " ".join((unit.text[max(0, start - 300) : start], unit.text[end : end + 300], unit.segment.lead, unit.segment.top))
    obeys = _OBEY.search(context) and not _REFUSED.search(context)
    return bool(_ATTACK.search(context)) and not obeys


def _is_quoted(text: str, start: int, end: int) -> bool:
    for opening, closing in _QUOTES:
        at = text.rfind(opening, max(0, start - 240), start + 1)
        if at < 0 or (opening == "'" and at and text[at - 1].isalnum()):
            continue
        if text.find(closing, max(end - 1, at + 1), end + 400) >= 0 and text.count(opening, max(0, start - 240), start + 1) % 2:
            return True
        if opening != closing and closing not in text[at + 1 : start]:
            return True
    return False


def _in_risk_table(unit: Unit) -> bool:
    header = unit.segment.header
    return unit.segment.place == "table" and bool(_RISK_TABLE.search(header) and unit.segment.lines[0][1] == header)


def _is_marked_bad(unit: Unit, start: int) -> bool:
    """Whether code is shown as what not to do: by the sentence before the block, its heading, a comment
    above, or because the line searches for it."""
    line = unit.text
    if _SEARCHES.search(line[: start + 1]) and not re.search(r"\|\s{0,3}(?:sudo )?(?:ba|z)?sh\b\s{0,3}$", line):
        return True
    told = line[:start]
    if _TEXT_LINE.match(told) and (_is_negated(told[-80:]) or _IF_ASKED.search(told[-80:])):
        return True
    if unit.place == "script":
        return False
    lead = unit.segment.lead.strip()
    last = re.split(r"(?<=[.!?。！？])\s+", lead)[-1] if lead else ""
    if _CANCEL.search(lead[-300:]):
        return False
    if last and (_BAD_MARK.search(last) or _leads_to_bad(lead, last)):
        return True
    if unit.segment.top and _BAD_MARK.search(unit.segment.top) and lead == unit.segment.top:
        return True
    number = unit.line_at(start)
    above = [text for n, text in unit.segment.lines if n < number and n >= number - 6]
    for text in reversed(above):
        comment = text.strip()
        if comment.startswith(("#", "//", "--", ";", "<!--", "rem ", "REM ")):
            return bool(_BAD_MARK.search(comment.lstrip("#/-; <!")))
        if not comment:
            break
    own = re.search(r"\s(?:#|//)\s*(.{3,80})$", line)
    return bool(own and _BAD_MARK.search(own[1]))


def _leads_to_bad(lead: str, last: str) -> bool:
    """Whether the sentence before a block says not to do what the block shows."""
    if not last.rstrip().endswith(":") and not re.search(r"pattern\s*$|this\s*$|following\s*$", last.strip(), re.IGNORECASE):
        return False
    for match in _NEGATION.finditer(lead[-240:]):
        rest = lead[-240:][match.end() :]
        if not _NO_NEGATION.match(rest) and re.match(r"\W{0,4}(?:\w+\W{1,3}){0,3}?(?:run|do|use|pipe|execute|write|paste|like|copy)\b|[^.]{0,80}[:]$", rest, re.IGNORECASE):
            return True
    return bool(re.search(r"\b(?:attackers?|malicious (?:code|skills?|pages?)|vulnerable|unsafe|insecure)\b[^.]{0,80}:?\s*$", last, re.IGNORECASE))
