"""Owns making a piece of work general: what varies from time to time becomes a parameter.

Tickets, dates, addresses, ids, paths of one machine, names of people and what the user named for this once
are replaced by ``<ticket>``, ``<date>``, ...; :func:`leaks` says what is left of such in a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory.patterns import Pattern
from memory.terms import language_of

_DATE = (
    r"\d{4}[-/.](?:0?[1-9]|1[0-2])[-/.](?:[12]\d|3[01]|0?[1-9])(?!\d)(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?"
    r"|\b(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\b|\b(?:19|20)\d{2}-(?:0[1-9]|1[0-2])\b(?!-)"
    r"|\d{1,2}\.\d{1,2}\.(?:19|20)\d{2}|\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?|\d{1,2}月\d{1,2}[日号]"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:January|February|March|April|May|June|July|August|September|October|November|December)(?: \d{4})?\b"
)
_QUARTER = r"\b(?:Q[1-4][ -]?(?:19|20)\d{2}|(?:19|20)\d{2}[ -]?Q[1-4]|(?:KW|CW|W)[ -]?\d{1,2}(?:[ /-](?:19|20)\d{2})?)\b|(?<![A-Za-z])(?:kw|cw|week)-?\d{1,2}(?!\d)"
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("secret", r"\[redacted[^\]\n]*\]"),
    ("email", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}(?![\w:-])(?!\.\w)"),
    ("date", _DATE),
    ("period", _QUARTER),
    ("period", r"(?<=\bin )(?:January|February|March|April|May|June|July|August|September|October|November|December)\b|(?<=\bfor )(?:January|February|March|April|June|July|August|September|October|November|December)\b"),
    ("number", r"(?<![\w.-])\d{4}-\d{3,6}(?![\w-])"),
    ("ticket", r"\b[A-Z][A-Z0-9]{1,9}-\d{1,7}\b|(?<![\w&])#\d{1,7}\b"),
    ("id", r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"),
    ("host", r"\b(?:\d{1,3}\.){3}\d{1,3}\b"),
    ("phone", r"(?<![\w.])\+\d[\d ()-]{7,17}\d\b"),
    ("path", r"(?<![\w.:/<~$}])(?:/(?:home|Users|root|tmp|var/folders|mnt|media|Volumes|private|work|srv|opt|data|workspace|workspaces)/[^\s'\"`,;|&()<>]*[^\s'\"`,;|&()<>.:])|(?<!\w)[A-Z]:\\[^\s'\"`,;]+|~/[^\s'\"`,;|&()<>]*[^\s'\"`,;|&()<>.:]"),
)  # fmt: skip
_EMAIL = Pattern(dict(_PATTERNS)["email"])
_HOST = Pattern(
    r"\.(?:com|org|net|edu|gov|info|io|dev|app|cloud|example|local|eu|de|fr|uk|ch|at|nl|cn|jp|us|me)$"
)
_KINDS = [(kind, Pattern(pattern)) for kind, pattern in _PATTERNS]
_QUOTED = Pattern(r"[\"“„«「『']([^\"”“»」』'\n]{2,80})[\"”“»」』']")
_FILE_NAME = Pattern(
    r"(?<![\w/.-])(?:[\w.-]{1,80}/){0,12}[\w-][\w.-]{0,120}\.[A-Za-z][A-Za-z0-9]{0,5}(?![\w/])"
)
_URL = Pattern(r"https?://[^\s'\"`<>)，。]+[^\s'\"`<>).,;:，。]")
_VERSION = Pattern(r"\bv?\d+\.\d+(?:\.\d+)?(?:-[\w.]+)?\b")
_NUMBER = Pattern(r"(?<![\w.<-])\d[\d.,]*(?![\w.-])")
_PERSON = Pattern(
    r"\b(?:for|to|with|from|ask|tell|email|mail|call|cc|by|of|and|von|für|an|mit|à|pour|de|para|con)\s+(?P<name>[A-Z][a-zà-öø-ÿ]{2,20}(?:\s[A-Z][a-zà-öø-ÿ]{2,20})?)(?![\w./:-])"
    r"|\b(?P<owner>[A-Z][a-zà-öø-ÿ]{2,20})['’]s\b|给(?P<zh>[\u4e00-\u9fff]{2,3})(?:发|打|写|寄|看)"
)
_CAPITAL = Pattern(r"(?<=[a-z,] )[A-Z][a-zà-öø-ÿ]{2,20}\b(?![\w.:/-])")
_PAIR = Pattern(r"\b([A-Z][a-zà-öø-ÿ]{2,20}) ([A-Z][a-zà-öø-ÿ]{2,20})\b")
_COMPANY = Pattern(
    r"\b(?:[A-Z][\w&-]+\s){1,3}(?:GmbH|AG|Ltd|Inc|LLC|Co|KG|SA|BV|Corp|e\.K\.)\b|[\u4e00-\u9fff]{2,8}(?:有限)?公司"
)
_VALUE = Pattern(r"(?!-)(?=[^\s]*[\d./A-Z_@])[\w./:@%+-]{2,}")
"""A word of a command that is a value and not the name of an action."""
_ONE_OFF = Pattern(r"[\u3040-\u30ff\u3400-\u9fff]|\d{2}")
"""In the name of a file that lies in no folder: it was made or brought for this once."""
_STEM = Pattern(r"(?:^|(?P<folder>[\w-]+)/)(?P<stem>[^\W\d_]{4,})\.[a-z]{1,5}$")
_KEPT = frozenset(
    "templates template scripts script tools tool bin src lib config configs conf".split()
)
"""Folders whose files stay the same from time to time."""
_NO_NAMES = frozenset(
    "The This That Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July"
    " August September October November December Today Tomorrow English Chinese German French Spanish Markdown Python"
    " Docker Git Github Linux Windows Excel Word Google Slack Staging Production Jira Confluence Postgres Redis Nginx"
    " Kubernetes Grafana Prometheus Terraform Ansible Node Java Rust Go Swift Kotlin Django Flask React Vue Angular".split()
)
_OPAQUE = ("path", "email", "phone", "ticket", "secret", "id", "host", "date")
"""Kinds of values that may stand in no skill."""


@dataclass(slots=True)
class General:
    """Replaces what varies. ``folder`` is the working folder: paths in it become relative."""

    folder: str = ""
    home: str = ""
    named: list[tuple[str, str]] = field(default_factory=list)
    """Values that the user named for this task, with the parameter that each becomes."""
    used: dict[str, str] = field(default_factory=dict)
    """The parameters that stand in the texts, with what each was this time."""

    def know(self, said: str, texts: Sequence[str]) -> None:
        """Note which values of the user's words occur in the work: they are this time's, not the skill's."""
        work = "\n".join(texts)
        plain = said
        for kind, pattern in (
            ("url", _URL),
            ("email", _EMAIL),
            ("text", _QUOTED),
            ("file", _FILE_NAME),
            ("version", _VERSION),
            ("number", _NUMBER),
        ):
            for match in pattern.finditer(plain):
                value = match[1] if kind == "text" else match[0]
                if len(value) >= (1 if kind == "number" else 2) and value in work:
                    self._name(value, "host" if kind == "file" and _HOST.search(value) else kind)
                stem = value.rsplit("/", 1)[-1].rpartition(".")[0] if kind == "file" else ""
                if len(stem) > 3 and stem not in _KEPT and work.count(stem) > work.count(value):
                    self._name(stem, "stem")
            plain = pattern.sub(" ", plain)
        for match in _COMPANY.finditer(said):
            self._name(match[0], "name")
        self._know_subjects(said, texts)
        self._know_people(said, texts)
        for match in _FILE_NAME.finditer(work):
            if "/" not in match[0] and _ONE_OFF.search(match[0]):
                self._name(match[0], "file")
        for match in _PERSON.finditer(said):
            value = next(v for v in match.groups() if v)
            if value.split()[0] not in _NO_NAMES:
                self._name(value, "name")

    def _know_subjects(self, said: str, texts: Sequence[str]) -> None:
        """Note words of the user after which files are called: what this time's work was about."""
        words = {w.lower() for w in re.findall(r"[^\W\d_]{4,}", said)}
        for path in texts:
            plain = len(path) < 300 and "\n" not in path and " " not in path
            found = _STEM.search(path) if plain else None
            if found and found["stem"].lower() in words and found["folder"] not in _KEPT:
                self._name(found["stem"], "subject")

    def _know_people(self, said: str, texts: Sequence[str]) -> None:
        """Note names that stand in addresses, file names or quotations of the work."""
        found = [
            part for m in _EMAIL.finditer(said) for part in re.split(r"[._+-]", m[0].split("@")[0])
        ]
        if language_of(said) != "german":  # where every noun has a capital letter
            found += _CAPITAL.findall(said) + [
                word for pair in _PAIR.findall(said) for word in pair
            ]
        for owner in re.findall(r"/(?:home|Users)/([\w.-]+)", "\n".join((said, *texts))):
            self._name(owner, "user")
        held = set(re.findall(r"[^\W\d_]{3,}", "\n".join(texts)))
        low = {word.lower() for word in held}
        programs = {
            p.lower() for text in texts for p in re.findall(r"(?:^|[|;&]\s*)([\w-]+)", text)
        }
        for word in found:
            if len(word) > 2 and word.lower() in low - programs and word not in _NO_NAMES:
                self._name(word, "name")

    def vary(self, values: Sequence[Sequence[str]]) -> None:
        """Note values that differed between times of the same task: ``values`` are the words of each time."""
        if len(values) < 2:
            return
        shared = set(values[0]).intersection(*values[1:])
        for word in values[-1]:
            if word not in shared and _VALUE.fullmatch(word):
                self._name(word, "file" if _FILE_NAME.fullmatch(word) else "value")

    def _name(self, value: str, kind: str) -> None:
        if all(value != known for known, _ in self.named):
            taken = [k for _, k in self.named if k.rstrip("23456789") == kind]
            self.named.append((value, f"{kind}{len(taken) + 1}" if taken else kind))
            self.named.sort(key=lambda pair: -len(pair[0]))

    def text(self, text: str) -> str:
        """Return a text with its values replaced."""
        for folder in filter(None, (self.folder,)):
            text = text.replace(folder.rstrip("/") + "/", "").replace(folder, ".")
        owners = [pair for pair in self.named if pair[1].startswith("user")]
        for value, kind in self.named:
            if (value, kind) not in owners:
                text = self._put(value, kind, text)
        for kind, pattern in _KINDS:
            text = self._sub(pattern, kind, text)
        for value, kind in owners:  # after the paths, which hold them
            text = self._put(value, kind, text)
        return text

    def _put(self, value: str, kind: str, text: str) -> str:
        edge = r"(?<![\d.<])" if kind.startswith("version") else r"(?<![\w<])"
        # A name is also the beginning of an account: leoniebr.
        end = r"\w{0,3}(?![\w>])" if kind.startswith("name") and len(value) > 4 else r"(?![\w>])"
        plain = re.escape(value)
        whole = f"{edge}{plain}{end}" if value.isascii() else plain
        return self._sub(re.compile(whole, re.IGNORECASE), kind, text)

    def _sub(self, pattern: re.Pattern[str] | Pattern, kind: str, text: str) -> str:
        def put(match: re.Match[str]) -> str:
            before = text[max(0, match.start() - 1) : match.start()]
            if before == "<" or (kind == "id" and match[0].isdigit()):
                return match[0]
            self.used.setdefault(kind, match[0])
            return f"<{kind}>"

        return pattern.sub(put, text)


def leaks(text: str, named: Sequence[str] = ()) -> list[str]:
    """Return what in a text belongs to one time, one machine or one person."""
    found = [
        f"{kind}: {m[0][:60]}"
        for kind, pattern in _KINDS
        if kind in _OPAQUE
        for m in pattern.finditer(text)
    ]
    return found + [f"named: {value}" for value in named if len(value) > 2 and value in text]
