"""Owns the replacing of credentials by ``[redacted: kind]`` before text reaches disk or index.

Three nets: the exact values of configured secrets; the token formats of known services, from
detect-secrets; and names or sentences that announce a secret ("FOO_TOKEN=...", "the password is
...", "密码是..."). Hashes, UUIDs, commit ids and phone numbers pass, unless a name says otherwise.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from memory.patterns import Pattern

_PEM = Pattern(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_URL = Pattern(r"(?<=://)(?P<user>[^\s:/?#\[\]@]{0,64}):(?P<secret>[^\s/?#\[\]]{1,128})(?=@)")
_BEARER = Pattern(r"\b(?:bearer|basic|token)\s+(?P<secret>[A-Za-z0-9._~+/=-]{16,})", re.IGNORECASE)
_NAMED = Pattern(
    r"(?P<name>(?<![\w.-])[\w.-]{0,40}?(?:password|passwort|passwd|passphrase|pwd|(?<=_)pass|(?<=_)pw"
    r"|secret(?![a-z])|token(?![a-z])|api[_-]?key|access[_-]?key|private[_-]?key|credential|auth[_-]?key"
    r"|client[_-]secret)[\w-]{0,40}|密码|口令|密钥|令牌)[\"']?\s*(?:=|:|：|＝)\s*"
    r"(?:\"(?P<double>[^\"\n]{4,512})\"|'(?P<single>[^'\n]{4,512})'|`(?P<tick>[^`\n]{4,512})`"
    r"|(?P<secret>[^\s\"'`,;，。；]{4,512}))",
    re.IGNORECASE,
)
_FLAG = Pattern(
    r"(?<!\S)(?:--(?:password|passwd|token|api-key|secret)[ =]|-u [^\s:]{1,64}:)(?P<secret>[^\s\"']{4,256})"
)
_TOLD = Pattern(
    r"\b(?:password|passphrase|passcode|pin(?: code)?|api key|secret key|access token|token|key)"
    r"(?: for [^.:\n]{1,40}?| to [^.:\n]{1,40}?)?"
    r"(?:(?: was| has been| is)? (?:changed|set|reset|updated) to| is| was| =)(?: now)?\s*:?\s+"
    r"(?P<quote>[\"'`“]?)(?P<secret>[^\s\"'`”]{4,128})[\"'`”]?(?=[\s.,;!?]|$)"
    r"|(?:密码|口令|密钥|令牌)(?:就)?(?:是|为|改成了?|改为|：|:)?\s*[“\"'`]?(?P<secret2>[A-Za-z0-9@#$%^&*!_.+-]{4,128})",
    re.IGNORECASE,
)
_PREFIXED = Pattern(
    r"(?<![A-Za-z0-9])(?P<secret>(?:sk|pk|rk|tvly|hf|gsk|xai|pplx|ghp|gho|ghs|ghu|github_pat|glpat|npm"
    r"|pypi|dop_v1|shpat|sbp|lin_api|figd|r8)[-_][A-Za-z0-9][A-Za-z0-9_-]{14,})"
)
_GOOGLE = Pattern(r"\bAIza[0-9A-Za-z_-]{35}\b|\bya29\.[0-9A-Za-z_-]{20,}")
_CARD = Pattern(
    r"(?<![\d.+-])(?:[3-6]\d{3}([ -]?)\d{4}\1\d{4}\1\d{4}|3[47]\d{2}([ -]?)\d{6}\2\d{5})(?![\d-])"
)
_SUSPECT = Pattern(r"[A-Za-z0-9_\-+/=.:\"']{20,}")
_WINDOW = 2_000
_HASH = re.compile(
    r"[0-9a-f]{7,128}|[0-9A-F]{7,128}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
_REFERENCE = re.compile(r"[$<{]|\[redacted|(?:process|os|import\.meta)\.\w|\w+\(|self\.|config\.")
_PLAIN_VALUES = frozenset(
    "null none true false required optional missing wrong correct incorrect expired invalid valid needed"
    " stored hidden empty unknown string changed reset good weak strong short long safe secret simple"
    " working not too very still the this that your also always never only here there somewhere"
    " something anything about being going enough okay fine same different different".split()
)


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """Return ``text`` with each credential replaced by ``[redacted: kind]``.

    ``secrets`` are values to be masked wherever they stand. Idempotent.
    """
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, "[redacted: configured secret]")
    if len(text) < 6:
        return text
    for kind, find in _NETS:
        text = _replace(text, kind, find)
    return text


Finder = Callable[[str], Iterator[tuple[int, int]]]


def _replace(text: str, kind: str, find: Finder) -> str:
    parts, last = [], 0
    for start, end in find(text):
        if start < last or text[start:end].startswith("[redacted"):
            continue
        parts += [text[last:start], f"[redacted: {kind}]"]
        last = end
    return "".join([*parts, text[last:]]) if parts else text


def _pem(text: str) -> Iterator[tuple[int, int]]:
    if "PRIVATE KEY" in text:
        for match in _PEM.finditer(text):
            yield match.span()


def _url(text: str) -> Iterator[tuple[int, int]]:
    if "://" in text:
        for match in _URL.finditer(text):
            yield match.span("secret")


def _bearer(text: str) -> Iterator[tuple[int, int]]:
    for match in _BEARER.finditer(text):
        if _mixed(match["secret"]):
            yield match.span("secret")


def _named(text: str) -> Iterator[tuple[int, int]]:
    for match in _NAMED.finditer(text):
        group = next(g for g in ("double", "single", "tick", "secret") if match[g])
        value = match[group]
        if value.lower().strip(".!?") in _PLAIN_VALUES or _REFERENCE.match(value):
            continue
        if (
            re.search(r"tokens$|max|count|limit|budget", match["name"], re.IGNORECASE)
            and value.isdigit()
        ):
            continue  # "max_tokens: 8192" counts, it does not open
        spaced = text[match.end("name") : match.start(group)]
        told = (
            (":" in spaced and " " in spaced) or "：" in spaced or match["name"] in ("密码", "口令")
        )
        if told and group == "secret" and not _looks_secret(value):
            continue  # "Password: we should talk about it"
        yield match.span(group)


def _flags(text: str) -> Iterator[tuple[int, int]]:
    for match in _FLAG.finditer(text):
        if not _REFERENCE.match(match["secret"]):
            yield match.span("secret")


def _told(text: str) -> Iterator[tuple[int, int]]:
    for match in _TOLD.finditer(text):
        group = "secret" if match["secret"] else "secret2"
        value = match[group].rstrip(".!?,")
        if value.lower() in _PLAIN_VALUES or value.startswith("[redacted"):
            continue
        # A plain word needs quotes: "the password is compromised" tells no password.
        if _looks_secret(value) or match["quote"]:
            start = match.start(group)
            yield start, start + len(value)


def _services(text: str) -> Iterator[tuple[int, int]]:
    for match in _PREFIXED.finditer(text):
        if _mixed(match["secret"]) and any(c.isdigit() for c in match["secret"]):
            yield match.span("secret")
    for match in _GOOGLE.finditer(text):
        yield match.span()


def _known(text: str) -> Iterator[tuple[int, int]]:
    """The formats that detect-secrets knows. It takes 0.2 s to import, so only where a run of
    characters could be one at all."""
    for run in _SUSPECT.finditer(text):
        # In windows: some of the library's patterns take quadratic time on one long run.
        for offset in range(run.start(), run.end(), _WINDOW // 2):
            window = text[max(offset - 24, 0) : min(offset + _WINDOW, run.end() + 2)]
            for pattern in _library_patterns():
                for match in pattern.finditer(window):
                    start = max(offset - 24, 0)
                    yield start + match.start(), start + match.end()


@cache
def _library_patterns() -> tuple[re.Pattern[str], ...]:
    from detect_secrets.plugins import (
        aws,
        azure_storage_key,
        discord,
        github_token,
        gitlab_token,
        jwt,
        mailchimp,
        npm,
        openai,
        pypi_token,
        sendgrid,
        slack,
        square_oauth,
        stripe,
        telegram_token,
        twilio,
    )

    detectors = (
        aws.AWSKeyDetector,
        azure_storage_key.AzureStorageKeyDetector,
        discord.DiscordBotTokenDetector,
        github_token.GitHubTokenDetector,
        gitlab_token.GitLabTokenDetector,
        jwt.JwtTokenDetector,
        mailchimp.MailchimpDetector,
        npm.NpmDetector,
        openai.OpenAIDetector,
        pypi_token.PypiTokenDetector,
        sendgrid.SendGridDetector,
        slack.SlackDetector,
        square_oauth.SquareOAuthDetector,
        stripe.StripeDetector,
        telegram_token.TelegramBotTokenDetector,
        twilio.TwilioKeyDetector,
    )
    return tuple(pattern for detector in detectors for pattern in detector.denylist)


def _cards(text: str) -> Iterator[tuple[int, int]]:
    for match in _CARD.finditer(text):
        digits = [int(c) for c in match.group() if c.isdigit()]
        # Luhn: every second digit from the right doubled, digits of the results added up.
        doubled = [sum(divmod(2 * d, 10)) for d in digits[-2::-2]]
        if (sum(doubled) + sum(digits[-1::-2])) % 10 == 0:
            yield match.span()


def _looks_secret(value: str) -> bool:
    """Whether a value looks made up rather than said: digits or symbols among letters."""
    letters = any(c.isalpha() for c in value)
    return (letters and any(not c.isalpha() and c not in "-'’." for c in value)) or value.isdigit()


def _mixed(value: str) -> bool:
    """Whether a token is neither a word nor a plain hash: enough entropy per character."""
    if _HASH.fullmatch(value):
        return False
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return entropy > 3.0


_NETS: tuple[tuple[str, Finder], ...] = (
    ("private key", _pem),
    ("password", _url),
    ("token", _bearer),
    ("token", _known),
    ("token", _services),
    ("secret", _named),
    ("password", _flags),
    ("password", _told),
    ("card number", _cards),
)
