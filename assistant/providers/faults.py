"""Owns what a failed model call means: status, headers and body of either wire become one fault.

The wordings are knowledge as data, a pattern and the fault that it means; the tests hold a real
sample for each. The order matters: the first that fits wins.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any

from assistant.errors import Fault, ProviderError

QUOTA_WAIT_S = 600.0
"""A limit that lifts later than this, in seconds, is a used-up quota and not a rate."""

_WORDINGS: tuple[tuple[Fault, str], ...] = (
    (
        Fault.OVERFLOW,
        r"context.?length|context.?window|maximum context|prompt is too long|too many tokens"
        r"|input.{0,20}too long|exceed\w*.{0,40}(?:context|token)|reduce the length"
        r"|request too large|n_ctx|context size",
    ),
    (Fault.QUOTA, r"insufficient.?(?:quota|balance|credit)|billing|credit balance|usage limit"),
    (Fault.AUTH, r"api.?key (?:is )?(?:not valid|invalid)|(?:invalid|incorrect) api.?key"),
    (Fault.TOOLS, r"enable-auto-tool-choice|not support tool|support tool use|--jinja"),
    (
        Fault.PARAMETER,
        r"unsupported (?:parameter|value)|max_completion_tokens|unrecognized request argument"
        r"|max_tokens.{0,60}(?:too large|> ?\d|exceed|at most)|valid range.{0,20}max_tokens"
        r"|temperature.{0,60}(?:only|not|deprecated|must)|extra inputs are not permitted"
        r"|reasoning_effort",
    ),
    (
        Fault.HISTORY,
        r"tool_call_id|tool_use|tool_result|tool messages?|roles must alternate|must alternate"
        r"|thinking blocks?.{0,80}(?:modified|signature)|invalid.{0,12}signature",
    ),
    (Fault.FILTERED, r"content.?(?:management )?(?:policy|filter)|responsible ai"),
    (
        Fault.MODEL,
        r"model.{0,60}(?:not found|does not exist|not exist)|no such model|unknown model",
    ),
    (Fault.OVERLOADED, r"overloaded|capacity|server is busy"),
    (Fault.RATE_LIMIT, r"rate.?limit|too many requests"),
)
_BY_STATUS: Mapping[int, Fault] = {
    401: Fault.AUTH,
    402: Fault.QUOTA,
    403: Fault.AUTH,
    404: Fault.MODEL,
    408: Fault.TIMEOUT,
    413: Fault.OVERFLOW,
    429: Fault.RATE_LIMIT,
    503: Fault.OVERLOADED,
    504: Fault.TIMEOUT,
    529: Fault.OVERLOADED,
}
_NEXT: Mapping[Fault, str] = {
    Fault.RATE_LIMIT: "wait a little and ask again",
    Fault.QUOTA: "top up the account, or choose another model (reverie setup)",
    Fault.OVERLOADED: "ask again in a minute, or choose another model",
    Fault.SERVER: "ask again; if it stays so, look at the provider's status page",
    Fault.TIMEOUT: "ask again; for a slow model raise timeout_s in config.yaml",
    Fault.CONNECTION: "check the network and base_url (reverie doctor)",
    Fault.OVERFLOW: "start a new session with /new, or shorten the message",
    Fault.AUTH: "check the key (reverie setup)",
    Fault.MODEL: "check the model's name (reverie setup)",
    Fault.PARAMETER: "choose another model, or remove the setting from config.yaml",
    Fault.TOOLS: "start the server with tool calling switched on (vLLM: --enable-auto-tool-choice "
    "and --tool-call-parser; llama.cpp: --jinja), or choose another model",
    Fault.HISTORY: "start a new session with /new; this one stays in the archive",
    Fault.FILTERED: "say it in other words",
    Fault.EMPTY: "ask again, or choose another model",
    Fault.CUT: "ask it to go on",
    Fault.OTHER: "see the log (reverie doctor names it)",
}


def fault_error(fault: Fault, what: str, *, retry_after: float | None = None) -> ProviderError:
    """Return the error for a fault; its message ends with the next step."""
    what = " ".join(what.split())[:400].rstrip(".") or "no details were given"
    wait = ""
    if retry_after is not None and retry_after >= 1:
        wait = f" It lifts in {_span(retry_after)}."
    return ProviderError(
        fault, f"{_TITLE[fault]}: {what}.{wait} Next step: {_NEXT[fault]}.", retry_after=retry_after
    )


@contextmanager
def reading() -> Iterator[None]:
    """Read an answer: one of no known form, or one that breaks off, is a fault and not a crash."""
    try:
        yield
    except (AttributeError, TypeError, KeyError) as error:
        raise fault_error(Fault.SERVER, f"the answer has no known form ({error})") from error
    except (ValueError, OSError) as error:  # a body that is no JSON, a connection that broke
        raise fault_error(Fault.CUT, f"the stream broke ({error})") from error


_TITLE: Mapping[Fault, str] = {
    Fault.RATE_LIMIT: "The model's rate limit is reached",
    Fault.QUOTA: "The quota of this account is used up",
    Fault.OVERLOADED: "The model is overloaded",
    Fault.SERVER: "The model's server failed",
    Fault.TIMEOUT: "The model did not answer in time",
    Fault.CONNECTION: "The model cannot be reached",
    Fault.OVERFLOW: "The conversation is too long for this model",
    Fault.AUTH: "The provider refused the key",
    Fault.MODEL: "The provider does not know this model",
    Fault.PARAMETER: "The model refused a setting",
    Fault.TOOLS: "The server does not take tools",
    Fault.HISTORY: "The provider refused the conversation's form",
    Fault.FILTERED: "The provider's content filter stopped the answer",
    Fault.EMPTY: "The model gave an empty answer",
    Fault.CUT: "The answer was cut off",
    Fault.OTHER: "The model call failed",
}


def classify(status: int | None, headers: Mapping[str, str], body: Any) -> ProviderError:
    """Return the error that a response means; ``status`` is None for an error inside a 200."""
    text = message_of(body)
    code = _code_of(body)
    if status in (None, 200) and code and code.isdigit():
        status = int(code)
    after = retry_after(headers, body)
    haystack = f"{code} {text}".lower()
    fault = None
    if status not in (401, 402):
        # 429 is about rates and quotas only, though its text may speak of tokens and limits.
        told = [f for f, pattern in _WORDINGS if re.search(pattern, haystack)]
        told = [f for f in told if status != 429 or f in (Fault.QUOTA, Fault.RATE_LIMIT)]
        fault = told[0] if told else None
        if fault is Fault.MODEL and status == 403:
            fault = Fault.AUTH
    if fault is None:
        fault = _BY_STATUS.get(status or 0)
    if fault is None:
        fault = Fault.SERVER if (status or 500) >= 500 else Fault.OTHER
    if fault is Fault.RATE_LIMIT and after is not None and after > QUOTA_WAIT_S:
        fault = Fault.QUOTA
    shown = f"{text} (HTTP {status})" if status and status != 200 else text
    return fault_error(fault, shown, retry_after=after)


def message_of(body: Any) -> str:
    """Return the sentence inside an error body, whatever its shape; HTML as its text."""
    if isinstance(body, str):
        try:
            return message_of(json.loads(body))
        except ValueError:
            return " ".join(re.sub(r"<[^>]+>", " ", body).split())[:400]
    if isinstance(body, Mapping):
        for key in ("error", "message", "detail", "msg"):
            if body.get(key):
                return message_of(body[key])
        return json.dumps(body, default=str)[:400]
    return str(body or "")


def _code_of(body: Any) -> str:
    if isinstance(body, Mapping):
        inner = body.get("error")
        if isinstance(inner, Mapping):
            return _code_of(inner)
        return " ".join(str(body[k]) for k in ("code", "type") if body.get(k) is not None)
    return ""


def retry_after(headers: Mapping[str, str], body: Any = None) -> float | None:
    """Return the seconds to wait that a server asks for: header in seconds, ms or as a date, or body."""
    low = {key.lower(): value for key, value in headers.items()}
    try:
        if "retry-after-ms" in low:
            return max(0.0, float(low["retry-after-ms"]) / 1000)
        if "retry-after" in low:
            value = low["retry-after"].strip()
            if re.fullmatch(r"\d+(?:\.\d+)?", value):
                return float(value)
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        pass
    found = re.search(
        r'"?(?:resets?_in_seconds|retry_after)"?\s*[:=]\s*(\d+(?:\.\d+)?)',
        str(body).replace("'", '"'),
    )
    return float(found[1]) if found else None


def output_limit(refusal: str, asked: int) -> int | None:
    """Return how many output tokens a refusal allows, when that is fewer than were ``asked`` for.

    Two kinds: the model's own maximum, and what a small window leaves beside the messages.
    """
    window = re.search(r"maximum context length is (\d+).{0,120}?(\d+) in the messages", refusal)
    if window:
        left = int(window[1]) - int(window[2]) - 64
        return left if 256 <= left < asked else None
    if not re.search(r"max_(?:completion_)?tokens|output tokens|completion tokens", refusal):
        return None
    told = re.sub(r"\(HTTP \d+\)", "", refusal)
    numbers = [int(number) for number in re.findall(r"\d{3,7}", told)]
    return max((number for number in numbers if 256 <= number < asked), default=None)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
