"""Owns the one cleaning that every text passes on its way in.

A lone surrogate breaks JSON bodies and SQLite, NUL breaks C strings, an escape sequence drives
the user's terminal: each has made whole sessions unusable elsewhere. So text is cleaned where it
enters (user, model, tool, file), never later.
"""

import re

_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|[PX^_][^\x1b]{0,4096}\x1b\\"  # DCS, SOS, PM, APC
    r"|[ -/]*[0-~])?"  # two-character escapes; a bare ESC goes too
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SUSPECT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def clean(text: str) -> str:
    """Return ``text`` without anything that breaks JSON, SQLite or a terminal.

    Escape sequences vanish; surrogate pairs become the character that they mean; lone surrogates
    and control characters become U+FFFD; the Unicode line and paragraph separators become ``\\n``.
    Tab, CR and LF stay, as do emoji joiners, right-to-left marks and a BOM.
    """
    if not _SUSPECT.search(text):
        return text
    text = _ANSI.sub("", text)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = text.replace("\u2028", "\n").replace("\u2029", "\n")
    return _CONTROL.sub("\ufffd", text)


def one_line(text: str, limit: int) -> str:
    """Return ``text`` as one line of at most ``limit`` characters, an ellipsis where it was cut."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: max(limit - 1, 0)].rstrip() + "…"
