"""Owns the one write of a night: all files change, or the next start finishes it.

What is to be written is first put into one file, whole and by rename; then the files are written, the
cursor moves, and it is removed. A kill at any moment leaves nothing, or that file, from which the rest is
done again: each write is the same bytes. A file that somebody else changed meanwhile is left as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from dreaming.nights import Night, Nights
from memory.atomic import write_atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The outcome of a night: each file's hash before and its text after; the row; what was promoted."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    night: Night
    promoted: Sequence[str]

    def save(self, path: Path) -> None:
        """Write it to ``path``."""
        data: dict[str, Any] = {
            "before": dict(self.before),
            "after": dict(self.after),
            "promoted": list(self.promoted),
            "night": asdict(self.night)
            | {"day": self.night.day.isoformat(), "at": self.night.at.isoformat()},
        }
        write_atomic(path, json.dumps(data, ensure_ascii=True).encode())

    @classmethod
    def load(cls, path: Path) -> Pending | None:
        """Return what an interrupted night left at ``path``, None where there is nothing."""
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        night = data["night"]
        night |= {
            "day": date.fromisoformat(night["day"]),
            "at": datetime.fromisoformat(night["at"]),
        }
        return cls(
            before=data["before"],
            after=data["after"],
            promoted=data["promoted"],
            night=Night(**night),
        )

    def write(self, root: Path) -> list[Path]:
        """Write the files; return those that stand as the night made them. One that is neither as it was
        before nor as it becomes was changed by somebody else and is left alone."""
        done = []
        for name, text in self.after.items():
            path, content = root / name, text.encode("utf-8", "surrogateescape")
            now = digest(path)
            if now == self.before[name]:
                write_atomic(path, content)
            elif now != hashlib.sha256(content).hexdigest():
                continue
            done.append(path)
        return done

    def close(self, nights: Nights, path: Path) -> None:
        """Move the cursor and remove what was pending at ``path``."""
        nights.close(self.night, self.promoted)
        path.unlink(missing_ok=True)


def digest(path: Path) -> str:
    """Return the hash of a file's bytes; of a missing file that of no bytes."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return hashlib.sha256(b"").hexdigest()
