"""Owns the replacing of credentials by ``[redacted: kind]`` before text reaches disk or index."""

from __future__ import annotations

from collections.abc import Sequence


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """Return ``text`` without the values in ``secrets``."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, "[redacted: configured secret]")
    return text
