"""What the deterministic engine writes down of 300 labelled turns, and of 150 it was not tuned on.

Precision: the share of notes that hold a labelled fact. Recall: the share of labelled facts that a
note holds: one alternative of each key, and the date. Usage: python -m benchmarks.facts [--show]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import datetime
from typing import Any

from benchmarks.measure import ROOT, Row, report
from memory.facts import facts

DATA = ROOT / "tests" / "data" / "facts"


def holds(text: str, gold: dict[str, Any]) -> bool:
    """Whether a note's text holds a labelled fact."""
    low = text.casefold()
    keys = all(any(word.casefold() in low for word in words) for words in gold["keys"])
    return keys and (not gold["date"] or gold["date"] in text)


def score(name: str, show: bool) -> tuple[float, float, Counter[str], Counter[str]]:
    """Return precision, recall, hits by kind and the counts of one file of labelled turns."""
    right = written = found = labelled = 0
    kinds: Counter[str] = Counter()
    for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        turn = json.loads(line)
        day = datetime.fromisoformat(turn["when"]).date()
        notes = [
            fact.text for fact in facts(turn["user"], day, corrects="previous_assistant" in turn)
        ]
        written += len(notes)
        labelled += len(turn["gold"])
        good = [note for note in notes if any(holds(note, gold) for gold in turn["gold"])]
        right += len(good)
        missed = [g for g in turn["gold"] if not any(holds(note, g) for note in notes)]
        found += len(turn["gold"]) - len(missed)
        for gold in turn["gold"]:
            kinds[f"{gold['kind']} {'missed' if gold in missed else 'found'}"] += 1
        if show:
            for note in notes:
                if note not in good:
                    print(f"{turn['id']} WRONG {note!r}  of {turn['user'][:160]!r}")
            for gold in missed:
                print(f"{turn['id']} MISSED {gold['kind']} {gold['keys']} {gold['date']}")
                print(f"    of {turn['user'][:200]!r}, notes {notes}")
    count = Counter(right=right, written=written, found=found, labelled=labelled)
    return right / max(written, 1), found / max(labelled, 1), kinds, count


def main() -> int:
    """Score and report; the bars are on the 300 turns, both languages together."""
    show = "--show" in sys.argv
    rows: list[Row] = []
    counts: Counter[str] = Counter()
    for name in ("dev-en", "dev-zh"):
        precision, recall, kinds, count = score(name, show)
        print(
            f"{name}: precision {precision:.3f}, recall {recall:.3f}", dict(sorted(kinds.items()))
        )
        counts += count
    rows.append(Row("300 turns: precision", counts["right"] / counts["written"], 0.95, "", False))
    rows.append(Row("300 turns: recall", counts["found"] / counts["labelled"], 0.75, "", False))
    precision, recall, _, _ = score("heldout", False)
    print(f"held out (150 turns, not tuned on): precision {precision:.3f}, recall {recall:.3f}")
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
