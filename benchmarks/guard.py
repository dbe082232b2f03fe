"""What the guard stops and what it lets through: rates with intervals, and what a scan costs.

Usage: python -m benchmarks.guard DIR... [--show]. A folder with ``labels.json`` is a labelled corpus, one
with ``twins.json`` holds pairs, any other counts as honest skills (each folder with a SKILL.md). Without a
folder: the corpus of ``../shared/guard_corpus``, as it is and with other hosts.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, Row, percentile, report, scratch
from skills_guard.policy import decide
from skills_guard.scanner import scan, scan_files

CORPUS = ROOT.parent / "shared" / "guard_corpus"
LABELLED, PUBLIC = (0.92, 0.96, 0.0, 0.05), (0.01, 0.05)
seconds: list[float] = []


def judged(folder: Path, *, show: bool = False) -> str:
    """Scan a skill as one of the community; return the decision."""
    started = time.thread_time()
    found = scan(folder)
    seconds.append(time.thread_time() - started)
    decision = decide(found, "community")
    if show and decision != "allow":
        print(f"  {decision} {folder} {'; '.join(found.unread[:2])}")
        for finding in [f for f in found.findings if f.severity != "note"][:5]:
            print(
                f"      {finding.severity} {finding.rule} {finding.file}:{finding.line} {finding.excerpt}"
            )
    return decision


def interval(count: int, total: int) -> str:
    """Return a rate with its 95 % interval (Wilson, 1927)."""
    if not total:
        return "none"
    z, rate = 1.96, count / total
    middle = (rate + z * z / (2 * total)) / (1 + z * z / total)
    half = (
        z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    )
    return f"{count} of {total} = {rate:.3f} [{max(0, middle - half):.3f}, {min(1, middle + half):.3f}]"


def labelled(folder: Path, name: str, show: bool) -> list[Row]:
    """Score a corpus with labels."""
    labels: dict[str, dict[str, Any]] = json.loads((folder / "labels.json").read_text())
    counts: Counter[tuple[str, str]] = Counter()
    right = 0
    for key, label in labels.items():
        place = folder / key.removeprefix(f"{folder.name}/")
        decision = judged(place, show=show and label["label"] == "benign")
        counts[label["label"], decision] += 1
        right += decision in (label["expected_community"], *label.get("also_ok", ()))
        if show and label["label"] == "malicious" and decision != "block":
            print(f"  {decision} {place}: {label.get('technique', '')}")
    bad = sum(n for (label, _), n in counts.items() if label == "malicious")
    good = sum(n for (label, _), n in counts.items() if label == "benign")
    blocked, asked = counts["malicious", "block"], counts["malicious", "ask"]
    wrong, alarms = counts["benign", "block"], counts["benign", "ask"] + counts["benign", "block"]
    print(f"{name}: malicious blocked {interval(blocked, bad)}")
    print(f"{name}: malicious blocked or asked {interval(blocked + asked, bad)}")
    print(
        f"{name}: benign blocked {interval(wrong, good)}; asked or blocked {interval(alarms, good)}"
    )
    print(f"{name}: as the labels say {interval(right, bad + good)}")
    some = (blocked + asked) / max(bad, 1)
    return [
        Row(f"{name}: malicious blocked", blocked / max(bad, 1), LABELLED[0], "", at_most=False),
        Row(
            f"{name}: malicious blocked or asked",
            some,
            LABELLED[1],
            "",
            at_most=False,
        ),
        Row(f"{name}: benign blocked", wrong / max(good, 1), LABELLED[2], ""),
        Row(f"{name}: benign asked or blocked", alarms / max(good, 1), LABELLED[3], ""),
    ]


def twins(folder: Path, name: str, show: bool) -> list[Row]:
    """Score pairs: right only where both halves are."""
    both = 0
    pairs: list[dict[str, Any]] = json.loads((folder / "twins.json").read_text())
    for pair in pairs:
        halves = []
        for half in ("evasion", "benign"):
            decision = judged(folder / pair["id"] / half)
            halves.append(decision in (pair[f"expected_{half}"], *pair.get(f"{half}_also_ok", ())))
            if show and not halves[-1]:
                print(f"  {decision} {folder / pair['id'] / half}")
        both += all(halves)
    print(f"{name}: both halves right {interval(both, len(pairs))}")
    return [Row(f"{name}: both halves right, of {len(pairs)}", both, 43, "pairs", at_most=False)]


def public(folder: Path, show: bool) -> list[Row]:
    """Score skills that people publish, taken for honest."""
    counts = Counter(judged(path, show=show) for path in skills(folder))
    total = counts.total()
    alarms = counts["ask"] + counts["block"]
    print(
        f"{folder.name}: blocked {interval(counts['block'], total)}; or asked {interval(alarms, total)}"
    )
    return [
        Row(
            f"{folder.name}, {total} skills: blocked",
            counts["block"] / max(total, 1),
            PUBLIC[0],
            "",
        ),
        Row(
            f"{folder.name}, {total} skills: blocked or asked",
            alarms / max(total, 1),
            PUBLIC[1],
            "",
        ),
    ]


def skills(folder: Path) -> Iterator[Path]:
    """Yield the folders below that hold a SKILL.md."""
    yield from sorted(path.parent for path in folder.rglob("SKILL.md"))


def costs() -> list[Row]:
    """Return what the scans cost, and one of a megabyte of text."""
    words = "The river bends twice before the mill, and `make test` runs there; see https://example.com/a. "
    text = "\n".join(words * 3 for _ in range(1_000_000 // (3 * len(words)))).encode()
    started = time.thread_time()
    scan_files({"SKILL.md": b"---\nname: x\ndescription: y\n---\n" + text})
    million = time.thread_time() - started
    return [
        Row("CPU a skill: p50", percentile(seconds, 0.5) * 1000, 60, "ms"),
        Row("CPU a skill: p99", percentile(seconds, 0.99) * 1000, 500, "ms"),
        Row("CPU for 1 MB of text", million, 2, "s"),
    ]


def main(arguments: Sequence[str]) -> int:
    """Score each folder; return 1 when a bar is missed."""
    show = "--show" in arguments
    folders = [Path(a) for a in arguments if a != "--show"]
    with scratch() as scratched:
        place = Path(scratched)
        if not folders:
            for name, more in (("corpus", []), ("rehosted", ["--rehost"])):
                subprocess.run(
                    [sys.executable, str(CORPUS / "copy.py"), str(place / name), *more], check=True
                )
                folders += [place / name / "dev", place / name / "twins"]
        rows = []
        for folder in folders:
            name = "/".join(folder.parts[-2:])
            if (folder / "labels.json").exists():
                rows += labelled(folder, name, show)
            elif (folder / "twins.json").exists():
                rows += twins(folder, name, show)
            else:
                rows += public(folder, show)
        return report(rows + costs())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
