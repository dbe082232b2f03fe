"""Owns ``run_command``: asked for first, bounded in time and output, ended as a whole group."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Annotated

from assistant.tools.registry import CallContext, ToolError, Toolset, make_tool

OUTPUT_LIMIT = 10_000_000
"""Bytes of output after which a command is ended."""
_POLL_S = 0.05


def toolset(
    *,
    folder: Path,
    allow: Sequence[str],
    timeout_s: float,
    environment: Mapping[str, str],
) -> Toolset:
    """Return the tool. ``environment`` is what commands see."""

    def run_command(
        command: Annotated[str, "a shell command line"],
        timeout_s: Annotated[float | None, "seconds, at most the configured limit"] = None,
        *,
        call: CallContext,
    ) -> str:
        """Run a shell command in the working folder; the user is asked first."""
        if not command.strip():
            raise ToolError("The command is empty.")
        if not _allowed(command, allow) and not call.approve(
            "run_command", command, f"in {folder}"
        ):
            raise ToolError(
                "The user did not allow this command. Do not try it in another form; say what you "
                "wanted to do, or go on without it. (In config.yaml, tools.commands.allow lists "
                "commands that need no question.)"
            )
        limit = min(timeout_s or limit_s, limit_s)
        status, output, ended = _run(command, folder, environment, limit, call)
        if ended:
            raise ToolError(f"{ended}\n{output}".strip())
        if status != 0:
            raise ToolError(f"exit code {status}\n{output}".strip())
        return output or "(no output, exit code 0)"

    limit_s = timeout_s
    return Toolset(
        name="shell",
        tools=(make_tool(run_command, effect="execute", untrusted=True),),
        check=lambda: None if os.path.exists("/bin/sh") else "there is no /bin/sh",  # noqa: PTH110
    )


def _allowed(command: str, allow: Sequence[str]) -> bool:
    """Whether a command needs no question: word for word, or by a prefix and no shell syntax."""
    command = command.strip()
    for rule in allow:
        if rule == command:
            return True
        prefix = rule.removesuffix(" *")
        if prefix != rule and command.startswith(prefix + " "):
            rest = command[len(prefix) :]
            if not any(mark in rest for mark in ";&|<>`$(){}\n\\"):
                return True
    return False


def _run(
    command: str, folder: Path, environment: Mapping[str, str], limit_s: float, call: CallContext
) -> tuple[int, str, str]:
    """Return exit status, output, and why it was ended early ('' if it was not)."""
    with tempfile.TemporaryFile() as sink:
        # Output goes to a file, not a pipe: a child that outlives its parent cannot block us.
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        ended = ""
        deadline = time.monotonic() + limit_s
        try:
            while process.poll() is None and not ended:
                if call.cancel.wait(_POLL_S):
                    ended = "cancelled by the user"
                elif time.monotonic() > deadline:
                    ended = f"ended after {limit_s:.0f} s (time limit)"
                elif os.fstat(sink.fileno()).st_size > OUTPUT_LIMIT:
                    ended = f"ended after {OUTPUT_LIMIT // 1_000_000} MB of output"
        finally:
            if process.poll() is None:
                _end_group(process)
        return process.returncode, _read(sink), ended


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the command and all that it started: politely, then for certain."""
    for number, patience_s in ((signal.SIGTERM, 0.3), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(patience_s)
            break
        except subprocess.TimeoutExpired:
            continue
    try:
        os.killpg(process.pid, signal.SIGKILL)  # grandchildren that ignored the first signal
    except ProcessLookupError:
        pass


def _read(sink: IO[bytes]) -> str:
    sink.seek(0)
    return sink.read(OUTPUT_LIMIT).decode("utf-8", "replace").strip("\n")
