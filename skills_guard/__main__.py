"""Owns ``python -m skills_guard``: scanning folders from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from skills_guard.findings import EXIT, Report
from skills_guard.policy import TRUSTS, Trust, decide
from skills_guard.scanner import scan

UNSCANNED = 3
_MARK = {"note": "·", "caution": "!", "dangerous": "✗"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Scan paths and print what was found; return 0 safe, 1 caution, 2 dangerous, 3 could not scan."""
    parser = argparse.ArgumentParser(
        prog="python -m skills_guard", description="Scan skills for attack shapes."
    )
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--trust", choices=TRUSTS, default="community")
    parser.add_argument("--json", action="store_true", help="print a list of reports as JSON")
    given = parser.parse_args(arguments)
    rows = [(path, scan(path)) for path in given.paths]
    if given.json:
        print(
            json.dumps([as_dict(p, r, given.trust) for p, r in rows], ensure_ascii=False, indent=2)
        )
    else:
        print("\n\n".join(shown(p, r, given.trust) for p, r in rows))
    missing = [path for path in given.paths if not Path(path).exists()]
    for path in missing:
        print(f"{path} does not exist. Next step: give the folder of a skill.", file=sys.stderr)
    return UNSCANNED if missing else max(EXIT[report.verdict] for _, report in rows)


def as_dict(path: str, report: Report, trust: Trust) -> dict[str, object]:
    """Return a report as JSON values."""
    return {
        "path": path,
        "trust": trust,
        "verdict": report.verdict,
        "decision": decide(report, trust),
        "findings": [finding.to_dict() for finding in report.findings],
        "unread": list(report.unread),
    }


def shown(path: str, report: Report, trust: Trust) -> str:
    """Return a report for people: what it does, where, why that is dangerous, what to change."""
    rows = [f"{path}: {report.verdict} ({trust}: {decide(report, trust)})"]
    for finding in report.findings:
        rows.append(
            f"  {_MARK[finding.severity]} {finding.file}:{finding.line}  {finding.rule} ({finding.category})"
        )
        rows.append(f"      {finding.excerpt}")
        rows.append(f"      {finding.why} {finding.fix}")
    rows += [f"  ? not read: {line}" for line in report.unread]
    if not report.findings and not report.unread:
        rows.append("  No known attack shape. That is no promise: see docs/skills_guard.md.")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
