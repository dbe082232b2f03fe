"""Owns the home as a version-controlled tree: what changed, because of what, and taking it back.

The files of the home are a git repository, kept with dulwich (no git binary is needed), so any git
tool can read it. A repository of the user's own in the home is left alone; then there is no history.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant import own_writes
from assistant.errors import ReverieError
from assistant.rewriting import (
    Rewriter,
    Scrub,
    break_stale_locks,
    file_at,
    head_of,
    index_head,
    parent_of,
    walk,
)
from assistant.unapply import without
from memory.atomic import write_atomic
from memory.clean import one_line
from memory.lock import locked
from memory.notes import long_id, short_id

if TYPE_CHECKING:
    from dulwich.repo import Repo

AUTHOR = b"Reverie <reverie@localhost>"
BY_HAND = "Edited by hand"
BEGINNING = "The home as it began"
_COMPLETE = "rewritten"
_EXCLUDE = b"/*\n!/*.md\n!/memory/\n!/skills/\n"
_MARK = (b"reverie",)


class HistoryError(ReverieError):
    """The history cannot be read or written; the files themselves are untouched."""


class UndoConflict(ReverieError):
    """A change that cannot be taken back by itself; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One commit: ``id`` is short and enough to undo it; ``turn`` 0 when no turn was the reason."""

    id: str
    when: datetime
    what: str
    turn: int
    files: tuple[str, ...]
    undoes: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return the change as JSON values."""
        return {
            "id": self.id,
            "when": self.when.isoformat(timespec="seconds"),
            "what": self.what,
            "turn": short_id(self.turn) if self.turn else None,
            "files": list(self.files),
        }


class History:
    """The history of the home at ``root``, written under its ``lock``."""

    def __init__(self, root: Path, lock: Path) -> None:
        self._root = root
        self._lock = lock

    def _exists(self) -> bool:
        if self.is_foreign:
            return False
        self._recover()
        return (self._root / ".git").exists()

    # -- writing ----------------------------------------------------------------------------

    @property
    def is_foreign(self) -> bool:
        """Whether the home holds a repository that somebody else made."""
        config = self._root / ".git" / "config"
        if not (self._root / ".git").exists():
            return False
        return not config.is_file() or b"[reverie]" not in config.read_bytes()

    def record(self, what: str, files: Sequence[Path] = (), *, turn: int = 0) -> str | None:
        """Commit what the assistant wrote (see :meth:`mark_own`), and ``files``, which may be folders;
        return the change's id, None when nothing has changed. What a person changed since is not taken
        along."""
        own = own_writes.pending(self._root)
        if self.is_foreign or not (own or files):
            return None
        with locked(self._lock), self._open() as repo:
            mine = self._among(repo, own)
            by_hand = set(own_writes.by_hand(self._root, mine))
            names = [name for name in mine if name not in by_hand]
            names += [name for name in self._among(repo, files) if name not in mine]
            made = self._commit(repo, what, names, turn=turn)
            own_writes.clear(self._root, [path.relative_to(self._root).as_posix() for path in own])
            return made

    def keep_hand_edits(self, files: Sequence[Path] = ()) -> None:
        """Commit what a person changed, in ``files`` or anywhere, so that it is never mixed with
        what the assistant changes."""
        if self.is_foreign:
            return
        with locked(self._lock), self._open() as repo:
            changed = self._among(repo, files) if files else self._changed(repo)
            names = own_writes.by_hand(self._root, changed)
            shown = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
            self._commit(repo, f"{BY_HAND}: {shown}", names)

    def _among(self, repo: Repo, files: Sequence[Path]) -> list[str]:
        wanted = {path.relative_to(self._root).as_posix() for path in files}
        folders = tuple(f"{name}/" for name in wanted)
        return [n for n in self._changed(repo) if n in wanted or n.startswith(folders)]

    def _commit(
        self, repo: Repo, what: str, names: Sequence[str], *, turn: int = 0, undoes: str = ""
    ) -> str | None:
        if not names:
            return None
        tree = repo.get_worktree()
        tree.stage(list(names))
        trailers = [f"Turn: {short_id(turn)}"] if turn else []
        trailers += [f"Undoes: {undoes}"] if undoes else []
        message = "\n\n".join([what, "\n".join(trailers)]) if trailers else what
        commit = tree.commit(
            message=message.encode("utf-8", "replace"), author=AUTHOR, committer=AUTHOR, sign=False
        )
        return commit.decode()[:10]

    def _changed(self, repo: Repo) -> list[str]:
        """Return the versioned files that differ from the last commit, the removed ones too."""
        known: dict[str, Any] = {n.decode(): entry for n, entry in repo.open_index().items()}
        there = set(self._files())
        changed = [name for name in known if name not in there]
        for name in there:
            path, entry = self._root / name, known.get(name)
            if entry is None or entry.size != path.stat().st_size or _differs(path, entry.sha):
                changed.append(name)
        return sorted(changed)

    def _files(self) -> Iterator[str]:
        for pattern in ("*.md", "memory/**/*.md", "skills/**/*"):
            for path in self._root.glob(pattern):
                name = path.relative_to(self._root).as_posix()
                if name.startswith("skills/."):
                    continue  # drafts, earlier versions and notes on skills: the library keeps them
                if path.is_file() and not path.is_symlink() and name.isprintable():
                    yield name

    @contextmanager
    def _open(self) -> Iterator[Repo]:
        from dulwich.errors import ObjectFormatException
        from dulwich.file import FileLocked
        from dulwich.repo import Repo

        self._recover()
        break_stale_locks(self._root / ".git")
        if not (self._root / ".git").exists():
            self._begin()
            repo = Repo(str(self._root))
            self._commit(repo, BEGINNING, sorted(self._files()))
        else:
            repo = Repo(str(self._root))
        try:
            yield repo
        except (OSError, KeyError, ValueError, ObjectFormatException, FileLocked) as error:
            raise HistoryError(
                f"The history in {self._root / '.git'} cannot be used ({error}). Next step: look at it "
                "with git; without the folder a new history begins."
            ) from error
        finally:
            repo.close()

    def _begin(self) -> None:
        """Make the repository beside the home's files and move it in whole: one that a kill left half
        made would look like somebody else's."""
        from dulwich.repo import Repo

        with tempfile.TemporaryDirectory(dir=self._root, prefix=".git-") as folder:
            repo = Repo.init(folder)
            config = repo.get_config()
            config.set(_MARK, b"managed", b"true")
            config.write_to_path()
            repo.close()
            made = Path(folder) / ".git"
            (made / "info").mkdir(exist_ok=True)
            (made / "info" / "exclude").write_bytes(_EXCLUDE)
            made.chmod(0o700)
            made.rename(self._root / ".git")

    def _recover(self) -> None:
        """Finish a rewriting that was interrupted between its renames."""
        git, new, old = (self._root / name for name in (".git", ".git.new", ".git.old"))
        if not git.exists() and (new / _COMPLETE).exists():
            new.rename(git)
        elif not git.exists() and old.exists():
            old.rename(git)
        for left in (new, old):
            if git.exists() and left.exists():
                shutil.rmtree(left)

    # -- whose change it is -----------------------------------------------------------------

    def mark_own(self, files: Sequence[Path]) -> None:
        """Note that the assistant wrote ``files`` as they are now, so that a commit that comes later
        (in the hook, or after a crash) does not take them for a hand edit."""
        if not self.is_foreign:
            with locked(self._lock):
                own_writes.mark(self._root, files)

    # -- reading ----------------------------------------------------------------------------

    def changes(self, limit: int = 20) -> list[Change]:
        """Return the last changes, newest first."""
        if not self._exists():
            return []
        with self._open() as repo:
            return [_change_of(repo, commit) for commit in walk(repo, limit)]

    def lines(self, wanted: str, limit: int = 2_000) -> Iterator[tuple[Change, str, str, str]]:
        """Yield (change, file, ``+`` or ``-``, line) for each line that held all words of
        ``wanted`` and came or went, oldest first."""
        words = wanted.casefold().split()
        for change, name, sign, line in self._moved(limit):
            if all(word in line.casefold() for word in words):
                yield change, name, sign, line

    def written_in(self, turns: set[int]) -> tuple[set[str], set[tuple[str, str]]]:
        """Return the lines that came into files because of ``turns``, and as (file, line) those that a
        person wrote."""
        written, by_hand = set(), set()
        for change, name, sign, line in self._moved(1_000_000):
            if sign == "+" and change.turn in turns:
                written.add(line)
            elif sign == "+" and change.what.startswith((BY_HAND, BEGINNING)):
                by_hand.add((name, line))
        return written, by_hand

    def _moved(self, limit: int) -> Iterator[tuple[Change, str, str, str]]:
        if not self._exists():
            return
        with self._open() as repo:
            for commit in reversed(walk(repo, limit)):
                change = _change_of(repo, commit)
                for name in change.files:
                    before = _lines(file_at(repo, parent_of(repo, commit), name))
                    after = _lines(file_at(repo, commit, name))
                    for sign, some, others in (("-", before, after), ("+", after, before)):
                        for line in some:
                            if line not in others:
                                yield change, name, sign, line

    def of_turn(self, turn: int) -> list[Change]:
        """Return the changes that a turn was the reason for and that stand, newest first."""
        changes = self.changes(500)
        undone = {change.undoes for change in changes}
        return [c for c in changes if c.turn == turn and c.id not in undone and not c.undoes]

    # -- forgetting -------------------------------------------------------------------------

    def count_holding(self, within: Callable[[str], bool]) -> int:
        """Return how many stored versions of files, and messages, hold a text."""
        if not self._exists():
            return 0
        with self._open() as repo:
            return sum(
                within(repo.object_store[sha].as_raw_string().decode("utf-8", "ignore"))
                for sha in repo.object_store
                if repo.object_store[sha].type_name in (b"blob", b"commit")
            )

    def rewrite(self, needle: Scrub, turns: Collection[int] = ()) -> None:
        """Write the history anew without a text: blobs, names and messages are mended, ids change, and
        the old objects are gone. What was said in ``turns`` goes from their messages. Hand edits that
        are not committed yet are committed first; the files themselves are not touched."""
        if not self._exists():
            return
        from dulwich.refs import Ref
        from dulwich.repo import Repo

        with locked(self._lock):
            with self._open() as old:
                self._commit(old, f"{BY_HAND} or forgotten", self._changed(old))
                fresh = self._root / ".git.new"
                shutil.rmtree(fresh, ignore_errors=True)
                fresh.mkdir(mode=0o700)
                new = Repo.init_bare(str(fresh))
                commits = list(reversed(walk(old, 1_000_000)))
                head = Rewriter(old, new, needle, {short_id(turn) for turn in turns}).run(commits)
                if head:
                    branch = Ref(b"refs/heads/main")
                    new.refs[branch] = head
                    new.refs.set_symbolic_ref(Ref(b"HEAD"), branch)
                new.close()
                shutil.copyfile(self._root / ".git" / "config", fresh / "config")
                shutil.copytree(self._root / ".git" / "info", fresh / "info", dirs_exist_ok=True)
                (fresh / _COMPLETE).touch()
            aside = self._root / ".git.old"
            (self._root / ".git").rename(aside)
            fresh.rename(self._root / ".git")
            shutil.rmtree(aside)
            with self._open() as repo:
                index_head(repo, head_of(repo))

    # -- undo -------------------------------------------------------------------------------

    def undo(self, change_id: str = "") -> Change:
        """Take one change back, the last one of the assistant's when none is named.

        What was changed since stays: the files are merged line by line. Raises
        :class:`UndoConflict` when the same lines have changed since; then nothing is changed.
        """
        if self.is_foreign:
            raise UndoConflict(
                "The home has a git repository of your own, which Reverie leaves alone. "
                "Next step: use git there."
            )
        self.keep_hand_edits()
        with locked(self._lock), self._open() as repo:
            commit = self._find(repo, change_id)
            change = _change_of(repo, commit)
            written = self._merged(repo, commit, change)
            for name, content in written.items():
                path = self._root / name
                if content is None:
                    path.unlink(missing_ok=True)
                else:
                    write_atomic(path, content)
            touched = self._among(repo, [self._root / name for name in written])
            self._commit(repo, f"Undo: {change.what}", touched, undoes=change.id)
            return change

    def _find(self, repo: Repo, change_id: str) -> Any:
        commits = walk(repo, 5_000)
        undone = {_trailer(commit, "Undoes") for commit in commits}
        for commit in commits:
            id = commit.id.decode()
            if change_id:
                if len(change_id) < 6 or not id.startswith(change_id):
                    continue
                if commit.message.decode("utf-8", "replace").startswith(BEGINNING):
                    raise UndoConflict(
                        "That is how the home began; it cannot be taken back. Next step: edit the files."
                    )
                if id[:10] in undone:
                    raise UndoConflict(
                        f"{change_id} is undone already. Next step: reverie history."
                    )
                return commit
            text = commit.message.decode("utf-8", "replace")
            if id[:10] not in undone and not text.startswith((BY_HAND, BEGINNING, "Undo:")):
                return commit
        what = f"no change {change_id!r}" if change_id else "nothing of the assistant's to undo"
        raise UndoConflict(f"There is {what}. Next step: reverie history lists the changes.")

    def _merged(self, repo: Repo, commit: Any, change: Change) -> dict[str, bytes | None]:
        """Return the content of each file without the change; None means that it goes."""
        result: dict[str, bytes | None] = {}
        for name in change.files:
            after = file_at(repo, commit, name)
            before = file_at(repo, parent_of(repo, commit), name)
            path = self._root / name
            now = path.read_bytes() if path.exists() else None
            if now == after:
                result[name] = before
                continue
            if now == before:
                continue
            merged = without(_lines_b(before), _lines_b(after), _lines_b(now))
            if merged is None:
                raise UndoConflict(
                    f"{change.id} ({change.what}) cannot be taken back by itself: what it wrote in "
                    f"{name} has changed since. Nothing was changed. Next step: undo the newer change "
                    "first (reverie history), or edit the file."
                )
            result[name] = b"".join(merged)
        return result


def _change_of(repo: Repo, commit: Any) -> Change:
    from dulwich.diff_tree import tree_changes

    parent = parent_of(repo, commit)
    files = []
    for change in tree_changes(repo.object_store, parent.tree if parent else None, commit.tree):
        side: Any = change.new if change.new and change.new.path else change.old
        files.append(side.path.decode("utf-8", "replace"))
    turn = _trailer(commit, "Turn")
    return Change(
        id=commit.id.decode()[:10],
        when=datetime.fromtimestamp(commit.commit_time, UTC),
        what=one_line(commit.message.decode("utf-8", "replace").split("\n\n")[0], 200),
        turn=long_id(turn) if turn else 0,
        files=tuple(files),
        undoes=_trailer(commit, "Undoes"),
    )


def _trailer(commit: Any, name: str) -> str:
    found = re.search(rf"^{name}: (\w+)$", commit.message.decode("utf-8", "replace"), re.MULTILINE)
    return found[1] if found else ""


def _differs(path: Path, sha: bytes) -> bool:
    return own_writes.blob_id(path).encode() != sha


def _lines(content: bytes | None) -> list[str]:
    return [
        line.strip()
        for line in (content or b"").decode("utf-8", "replace").splitlines()
        if line.strip()
    ]


def _lines_b(content: bytes | None) -> list[bytes]:
    return (content or b"").splitlines(keepends=True)
