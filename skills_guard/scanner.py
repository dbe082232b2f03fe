"""Owns the scan: what was read through the views and the rules, each finding with its line."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from skills_guard import structure
from skills_guard.decoding import decoded
from skills_guard.findings import ORDER, Finding, Report, Severity
from skills_guard.grammar import weight
from skills_guard.reading import Loaded, each_text, read_folder
from skills_guard.rules import CODE, Rule, all_rules, hosts, rules
from skills_guard.segments import Segment, segments
from skills_guard.views import Unit, units

SECONDS = 2.0
"""CPU time for one skill; what is left then was not read."""
_PER_RULE = 8
"""Findings of one rule in one file; more say nothing new."""
_CLOSE = 24
"""Lines around a hit in which what belongs to it must stand; scripts are long."""
_LETTERS = re.compile(r"[a-z]{3,}")
_TELLING = frozenset(("prose",))
_RARE = frozenset(("hidden", "decoded", "front", "raw", "rawcode"))
_URL = re.compile(
    r"(?:(?:https?|git|ssh|ftp)(?:\+\w+)?://(?:[^\s/@\"'<>]{1,80}@)?|\b(?:curl|wget)\s+(?:-\S+\s+){0,4}(?=[\w-]+\.[\w.-]+/))([\w.-]{1,200})(/[^\s\"'`<>)|;]{0,300})?",
    re.IGNORECASE,
)
_TEXT_CATEGORIES = (
    "prompt_injection",
    "concealment",
    "approval",
    "remote_instructions",
    "agent_files",
)


@dataclass(frozen=True, slots=True)
class _Text:
    """A file's text with its units."""

    name: str
    segments: list[tuple[Segment, list[Unit]]]
    units: list[tuple[int, Unit]]
    """All units, with the index of their segment."""
    joined: str

    @property
    def low(self) -> str:
        """The text in lower case."""
        return self.joined.lower()


class _Batch:
    """Texts that rules are tried on together. Which units hold which words is written down once: a hint is
    looked for among the words, of which there are few, and not in the text."""

    def __init__(self, texts: Sequence[_Text]) -> None:
        self.units = [(text, at, unit) for text in texts for at, unit in text.units]
        self._low = [unit.text.lower() for _, _, unit in self.units]
        self._by_word: dict[str, list[int]] = {}
        for number, low in enumerate(self._low):
            for word in set(_LETTERS.findall(low)):
                self._by_word.setdefault(word, []).append(number)
        self._words = "".join(f"{word}\n" for word in self._by_word)
        self._foreign = [n for n, low in enumerate(self._low) if not low.isascii()]
        self._rare = [row for row in self.units if row[2].place in _RARE]
        self._found: dict[str, set[int]] = {}

    def candidates(self, rule: Rule) -> Iterable[tuple[_Text, int, Unit]]:
        """Return the units that hold one of a rule's hints, with their text and segment."""
        if rule.where <= _RARE:
            return [row for row in self._rare if row[2].place in rule.where]
        if not rule.hints:
            return self.units
        found = set().union(*map(self._holding, rule.hints))
        if rule.needs and found:
            found &= set().union(*map(self._holding, rule.needs))
        return [self.units[at] for at in sorted(found)]

    def _holding(self, hint: str) -> set[int]:
        """Return the numbers of the units that hold a hint; each hint is looked for once."""
        known = self._found.get(hint)
        if known is None:
            known = self._found[hint] = {n for n in self._may_hold(hint) if hint in self._low[n]}
        return known

    def _may_hold(self, hint: str) -> Iterable[int]:
        if not hint.isascii():
            return self._foreign
        longest = _longest_word(hint)
        if not longest:
            return range(len(self._low))
        found: set[int] = set()
        at = self._words.find(longest)
        while at >= 0:
            start, end = self._words.rfind("\n", 0, at) + 1, self._words.find("\n", at)
            found.update(self._by_word[self._words[start:end]])
            at = self._words.find(longest, end)
        return found


@cache
def _longest_word(hint: str) -> str:
    return max(_LETTERS.findall(hint), key=len, default="")


def scan(path: Path | str) -> Report:
    """Return what the skill at ``path`` (a folder or a file) holds. Never raises for its content."""
    started = time.thread_time()
    root = Path(path)
    if not root.exists() and not root.is_symlink():
        return Report(unread=(f"{path}: does not exist",))
    return _scanned(read_folder(root, time.monotonic() + 10 * SECONDS), started)


def scan_files(files: Mapping[str, bytes]) -> Report:
    """Return what files hold that are to become a skill, by their path within it."""
    started = time.thread_time()
    loaded = Loaded()
    for name, raw in files.items():
        structure.judge_path(loaded, name)
        loaded.add(name, raw)
    return _scanned(loaded, started)


def scan_text(text: str, kind: str = "project") -> list[Finding]:
    """Return what in ``text`` speaks to the assistant as if it were its user or its maker.

    ``kind`` says what the text is: ``project``, ``memory``, ``tool``, ``job``, ``skill``; a skill is held
    to all rules, the others to those about instructions.
    """
    wanted = (
        all_rules() if kind == "skill" else [r for name in _TEXT_CATEGORIES for r in rules(name)]
    )
    one = _parsed("text.md", text)
    found = _of_rules([one], wanted, time.thread_time() + SECONDS, [])
    return [replace(f, file="") for f in found if kind == "skill" or f.severity != "note"]


def neutralise(text: str, kind: str = "project") -> tuple[str, list[Finding]]:
    """Return ``text`` with each offending line replaced by a remark, and what was found there.

    Only the lines go: one quoted phrase must not cost the user a whole file.
    """
    found = [f for f in scan_text(text, kind) if f.severity != "note"]
    if not found:
        return text, []
    lines = text.splitlines(keepends=True)
    for finding in found:
        at = finding.line - 1
        end = lines[at][len(lines[at].rstrip("\r\n")) :]
        lines[at] = f"[line left out: it looks like {finding.rule}]{end}"
    return "".join(lines), found


def _scanned(loaded: Loaded, started: float) -> Report:
    deadline = started + SECONDS
    unread = list(loaded.unread)
    texts: list[_Text] = []
    for name, raw in each_text(loaded):
        if time.thread_time() > deadline:
            unread.append(f"{name}: out of time")
            continue
        text = decoded(raw)
        if text is not None:
            texts.append(_parsed(name, text))
    findings = structure.findings(loaded, {text.name: text.joined for text in texts})
    findings += _of_rules(texts, all_rules(), deadline, unread)
    best: dict[tuple[str, str, int], Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.file, finding.line)
        if key not in best or ORDER.index(finding.severity) > ORDER.index(best[key].severity):
            best[key] = finding
    ordered = sorted(
        best.values(), key=lambda f: (-ORDER.index(f.severity), f.file, f.line, f.rule)
    )
    return Report(findings=tuple(ordered), unread=tuple(dict.fromkeys(unread)))


def _parsed(name: str, text: str) -> _Text:
    parsed = [(segment, list(units(segment))) for segment in segments(name, text)]
    flat = [(at, unit) for at, (_, some) in enumerate(parsed) for unit in some]
    return _Text(name, parsed, flat, "\n".join(unit.text for _, unit in flat))


def _of_rules(
    texts: Sequence[_Text], wanted: Iterable[Rule], deadline: float, unread: list[str]
) -> Iterator[Finding]:
    everything = "\n".join(text.joined for text in texts)
    declared = _declared(texts)
    wanted = list(wanted)
    first = [text for text in texts if text.name.endswith("SKILL.md")]
    rest = [text for text in texts if not text.name.endswith("SKILL.md")]
    for part in filter(None, (first, rest)):  # what matters most before time runs out
        batch = _Batch(part)
        for rule in wanted:
            if time.thread_time() > deadline:
                unread.extend(f"{text.name}: out of time" for text in part[:50])
                break
            yield from _of_rule(rule, batch, everything, declared)


def _of_rule(
    rule: Rule, batch: _Batch, everything: str, declared: frozenset[str]
) -> Iterator[Finding]:
    whole: dict[str, bool] = {}  # what must stand in the file or the skill is looked for once
    count: Counter[str] = Counter()
    for text, at, unit in batch.candidates(rule):
        told = bool(rule.where & _TELLING) and unit.place in ("data", "script") and unit.is_wordy
        words = "words" in rule.where and unit.place in CODE and unit.is_wordy
        if unit.place not in rule.where and not told and not words:
            continue
        if (rule.view and unit.view != rule.view) or count[text.name] >= _PER_RULE:
            continue
        match = rule.pattern.search(unit.text)
        if match is None or (rule.unless and rule.unless.search(unit.text)):
            continue
        if rule.hosts and _is_local(unit.text):
            continue
        scope = _scope(rule, unit, text, at, everything)
        if text.name not in whole or not rule.looks_once:
            whole[text.name] = rule.holds_also(match, scope)
        if whole[text.name]:
            severity = _severity(rule, unit, match, scope, declared)
            count[text.name] += severity != "note"
            yield Finding(
                rule=rule.id,
                category=rule.category,
                severity=severity,
                line=unit.line_at(match.start()),
                excerpt=_excerpt(unit, match),
                why=rule.why,
                fix=rule.fix,
                file=text.name,
            )


def _scope(rule: Rule, unit: Unit, text: _Text, at: int, everything: str) -> str:
    if rule.scope == "unit":
        return unit.text
    if rule.scope == "file":
        return text.joined
    if rule.scope == "skill":
        return everything
    reach = (
        range(max(0, at - 2), min(len(text.segments), at + 3)) if rule.scope == "near" else (at,)
    )
    here = unit.numbers[0]
    near = (
        u
        for i in reach
        for u in text.segments[i][1]
        if abs(u.numbers[0] - here) <= _CLOSE or len(u.numbers) > 1
    )
    return "\n".join(u.text for u in near)[:200_000]


def _severity(
    rule: Rule, unit: Unit, match: re.Match[str], scope: str, declared: frozenset[str]
) -> Severity:
    severity = rule.severity
    if rule.hosts:
        named = [m.groups() for m in _URL.finditer(unit.text)] or [
            m.groups() for m in _URL.finditer(scope)
        ]
        if named and all(
            _is_known(host.lower(), path or "", rule.hosts, declared) for host, path in named
        ):
            severity = rule.known
    if rule.hidden and (unit.place in ("hidden", "decoded") or unit.view == "tags"):
        return rule.hidden
    if not rule.can_be_mention:
        return severity
    says = unit.place not in rule.where or "words" in rule.where
    return weight(unit, match.start(), match.end(), severity, says=says)


def _is_local(text: str) -> bool:
    """Whether all addresses of a command are on this machine."""
    named = [match[1].lower() for match in _URL.finditer(text)]
    return bool(named) and all(
        re.fullmatch(r"localhost|127\.[\d.]+|0\.0\.0\.0|host\.docker\.internal", host)
        for host in named
    )


def _is_known(host: str, path: str, table: str, declared: frozenset[str]) -> bool:
    if host in declared or _site(host) in declared:
        return True
    owner = "/".join(path.strip("/").split("/")[:1]).lower()
    if f"{host}/{owner}" in declared:
        return True
    listed = frozenset().union(*map(hosts, table.split()))
    parts = host.split(".")
    if any(".".join(parts[i:]) in listed for i in range(len(parts) - 1)):
        return True
    return any(
        entry.startswith(f"{host}/") and f"{host}/{owner}".startswith(entry) for entry in listed
    )


def _site(host: str) -> str:
    return ".".join(host.split(".")[-2:])


def _declared(texts: Sequence[_Text]) -> frozenset[str]:
    """Return the sites that a skill declares as its own: its home page, hosts that carry its name, and
    the site of the tool that it is about."""
    fronts = [s.text for text in texts for s, _ in text.segments if s.place == "front"]
    found = {
        _site(match[1].lower())
        for front in fronts
        for line in front.split("\n")
        if _OWN_SITE.match(line)
        for match in _URL.finditer(line)
    }
    names = [
        n
        for front in fronts
        for n in re.findall(r"^name:\s*['\"]?([\w-]{3,64})", front, re.MULTILINE)
    ]
    words = {w for name in names for w in (name, *name.split("-")) if len(w) >= 4} - _PLAIN_WORDS
    for text in texts:
        bare = ""
        for host in {match[1].lower() for match in _URL.finditer(text.joined)}:
            label = host.split(".")[-2] if "." in host else ""
            bare = bare or _URL.sub(" ", text.low)
            if len(label) >= 4 and (label in words or _is_subject(label, bare)):
                found.add(_site(host))
        for host, owner in set(_OWNED.findall(text.low)):
            if owner in words or _is_subject(owner, bare):
                found.add(f"{host}/{owner}")
    return frozenset(found)


def _is_subject(label: str, text: str) -> bool:
    """Whether a site carries the name of what the text is about: the tool that it sets up."""
    if label in _PLAIN_WORDS or text.count(label) < _OFTEN:
        return False
    return len(re.findall(rf"\b{re.escape(label)}\b", text)) >= _OFTEN


_OWNED = re.compile(
    r"https?://(raw\.githubusercontent\.com|github\.com|gitlab\.com)/([\w.-]{4,40})/"
)
_OWN_SITE = re.compile(
    r"\s*(?:homepage|url|website|repository|source|docs|documentation|api)\b", re.IGNORECASE
)
_OFTEN = 4
_PLAIN_WORDS = frozenset(
    "example setup tool tools helper skill skills agent code test tests data file files sync share docs"
    " install build boot cloud server deploy style guide rules theme proxy backup check lint".split()
)


def _excerpt(unit: Unit, match: re.Match[str]) -> str:
    start = max(0, match.start() - 40)
    text = " ".join(unit.text[start : max(match.end(), start + 160)].split())
    shown = "".join(c if c.isprintable() else "·" for c in text)[:200]
    return f"[{unit.view}] {shown}" if unit.view in ("decoded", "tags") else shown
