"""Owns taking one change out of a text that has changed since, line by line."""

from __future__ import annotations

import difflib


def without(before: list[bytes], after: list[bytes], now: list[bytes]) -> list[bytes] | None:
    """Return ``now`` without the change that made ``after`` of ``before``; None on a conflict.

    Each block that the change wrote must still stand in ``now`` as it was written; lines that it
    removed come back behind the line that stood before them. A three-way merge would see a conflict
    where two bullets were added one below the other, which is the rule in these files.
    """
    if now == after:
        return before
    result = list(now)
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, b1, b2, a1, a2 in reversed(blocks):
        if kind == "equal":
            continue
        if a2 > a1:
            at = _place(result, after[a1:a2])
            if at is None:
                return None
            result[at : at + a2 - a1] = before[b1:b2]
        else:
            at = _place(result, before[b1 - 1 : b1]) if b1 else -1
            if at is None:
                at = len(result) - 1
            result[at + 1 : at + 1] = before[b1:b2]
    return result


def _place(lines: list[bytes], block: list[bytes]) -> int | None:
    """Return where ``block`` stands in ``lines``, searching from the end; line ends aside."""
    wanted = [line.rstrip(b"\r\n") for line in block]
    for at in range(len(lines) - len(block), -1, -1):
        if [line.rstrip(b"\r\n") for line in lines[at : at + len(block)]] == wanted:
            return at
    return None
