"""Owns the search over a home: its index, kept up to date in the background, and questions to it."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.config import Config, Environment
from assistant.errors import UsageError
from assistant.home import Home, template
from memory.errors import DiskFull, StorageError
from memory.index import Index
from memory.lock import Locked, locked
from memory.session_search import Scope, SessionHit, by_id
from memory.session_search import search as find_sessions
from memory.sessions import SessionStore
from memory.sources import Document, Sources, embed_missing
from memory.transcript import Message

if TYPE_CHECKING:
    from datetime import tzinfo

    from memory.embedders import Embedder
    from memory.nearness import Floats
    from memory.search import Filter, Hit, HybridSearch, Result
    from memory.vectors import ChromaVectors

log = logging.getLogger(__name__)
REFRESH_S = 0.5
"""How long a search may spend on bringing the index up to date before it answers with what there is."""
LOOK_S = 0.5
"""For how long what was looked at counts as unchanged: a search must not look at a thousand files each
time."""
QUICK_S = 0.15
"""How long a message waits for what may be recalled with it."""
SURE_ENOUGH, SURE_ENOUGH_SAID = 8.0, 16.0
"""Scores from which a memory travels with a message; one of a conversation needs more (docs/recall.md)."""
_CHECK_S = 5.0
_FUSED_K = 10
TOKEN = "REVERIE_CHROMA_TOKEN"  # noqa: S105 - a variable's name


class Recall:
    """Search over one home. Nothing heavy is imported before the first search."""

    def __init__(
        self,
        home: Home,
        config: Config,
        environment: Environment,
        *,
        store: SessionStore | None,
        zone: tzinfo,
        today: Callable[[], date],
    ) -> None:
        self._home, self._config, self._environment = home, config, environment
        self._today = today
        folders = [Path(name).expanduser() for name in config.memory.sources]
        self.index = Index(home.root / "index")
        shipped = [f"skills/{path.name}/SKILL.md" for path in (template() / "skills").glob("*")]
        self.sources = Sources(home.root, folders, store=store, zone=zone, without=shipped)
        self._hybrid: HybridSearch | None = None
        self._embedder: list[Embedder | None] = []
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._loading = threading.Lock()
        self._looked = -LOOK_S
        self._complete = ""
        self.progress = (0, 0)
        """Chunks embedded by the background, and how many there were to embed."""

    # -- asking -----------------------------------------------------------------------------

    @property
    def hybrid(self) -> HybridSearch:
        """The search itself; its first use imports numpy."""
        if self._hybrid is None:
            from memory.search import HybridSearch

            self._hybrid = HybridSearch(self.index, self.embedder, self._today)
        return self._hybrid

    def embedder(self) -> Embedder | None:
        """Return the embedder of the configuration, loaded once. Raises ``EmbedderMissing``."""
        with self._loading:
            if not self._embedder:
                from memory.embedders import make_embedder

                self._embedder.append(
                    make_embedder(self._config.memory.embedder, openai=self._openai)
                )
            return self._embedder[0]

    def _openai(self, model: str) -> Embedder:
        from memory.embedders import OpenAIEmbedder

        url = self._config.memory.embedder_url or self._config.base_url
        key = self._environment.get(self._config.api_key_env or "OPENAI_API_KEY")
        return OpenAIEmbedder(
            model,
            api_key=key or "none",
            base_url=url or self._environment.get("OPENAI_BASE_URL"),
            timeout_s=self._config.timeout_s,
        )

    @property
    def is_warm(self) -> bool:
        """Whether a search takes milliseconds."""
        return self._hybrid is not None and self._hybrid.is_warm

    def search(
        self, question: str, among: Filter | None = None, limit: int = 8, *, explain: bool = False
    ) -> Result:
        """Return what answers a question, the index brought up to date as far as that is quick.

        Raises ``StorageError``.
        """
        behind = not self.refresh(REFRESH_S)
        if self._without_vectors():
            self.embed_new(REFRESH_S)
        result = self.hybrid.search(question, among, limit, explain=explain)
        notices = ["stale: the index is still being brought up to date"] if behind else []
        if missing := self._without_vectors():
            notices.append(f"{missing} chunks are known by their words alone so far")
        return replace(result, notices=(*result.notices, *notices), stale=behind)

    def _without_vectors(self) -> int:
        """Return how many chunks have no vector yet; 0 without an embedder."""
        from memory.vectors import state_of

        if (state := state_of(self.index)) == self._complete:
            return 0
        embedder = self._usable()
        missing = self.index.count_unembedded(embedder.fingerprint)[0] if embedder else 0
        if not missing:
            self._complete = state
        return missing

    def refresh(self, seconds: float) -> bool:
        """Bring the chunks up to date within so many seconds; return whether they are."""
        if time.monotonic() - self._looked < LOOK_S:
            return True
        if not self.sources.is_behind(self.index):
            self._looked = time.monotonic()
            return True
        deadline = time.monotonic() + seconds
        try:
            self.sources.update(
                self.index, lambda: time.monotonic() > deadline or self._stop.is_set()
            )
        except (DiskFull, OSError) as error:
            log.warning("the index cannot be written: %s", error)
            return False  # what is there is searched all the same
        return not self.sources.is_behind(self.index)

    def sessions(
        self, store: SessionStore, query: str, scope: Scope, limit: int, *, explain: bool = False
    ) -> list[SessionHit]:
        """Return messages by words (of tools, too, and what was said a moment ago) and by meaning, the two
        rankings fused: reciprocal ranks, k = 10, so that either side alone can win.

        Raises ``StorageError``.
        """
        from memory.search import Filter

        by_words = find_sessions(store, query, scope, 3 * limit)
        without = store.query("SELECT id FROM messages WHERE turn = ?", (scope.without_turn,))
        among = Filter(
            sources=("sessions",),
            since=scope.since.date() if scope.since else None,
            until=scope.until.date() if scope.until else None,
            without=frozenset(row[0] for row in without),
        )
        found = self.search(query, among, 3 * limit).hits
        known = by_id(store, [hit.first for hit in found])
        hits = {hit.message_id: hit for hit in by_words}
        ranks: dict[int, list[str]] = {}
        scores: dict[int, float] = {}
        by_all = [hit.first for hit in found if _is_within(known.get(hit.first), scope)]
        for name, ids in (("words", [h.message_id for h in by_words]), ("search", by_all)):
            for rank, id in enumerate(dict.fromkeys(ids), 1):
                scores[id] = scores.get(id, 0.0) + 1 / (_FUSED_K + rank)
                ranks.setdefault(id, []).append(f"{name} rank {rank}")
        snippets = {hit.first: hit.snippet for hit in found}
        for id in by_all:
            hits.setdefault(id, replace(known[id], snippet=snippets[id]))
        best = sorted(scores, key=lambda id: -scores[id])[:limit]
        return [
            replace(hits[id], score=scores[id], why=", ".join(ranks[id]) if explain else "")
            for id in best
        ]

    def likeness(self, said: str, phrases: Sequence[str], *, load: bool = False) -> list[float]:
        """Return how alike ``said`` is to each phrase (``memory.nearness``); nothing without an embedder,
        and none is loaded for it unless ``load``."""
        embedder = self._usable() if phrases and (load or self.is_warm) else None
        if embedder is None:
            return []
        from memory.nearness import likeness

        try:
            return likeness(embedder, self.index, said[:1_000], phrases)
        except (StorageError, OSError) as error:
            log.warning("nothing was compared by meaning: %s", error)
        return []

    def has_embedder(self) -> bool:
        """Whether texts can be compared by meaning."""
        return self._usable() is not None

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of ``texts``, a row each; what was embedded once is kept by its hash."""
        from memory.nearness import kept_vectors

        embedder = self.embedder()
        assert embedder is not None
        return kept_vectors(embedder, self.index, "told", texts)

    def quick(self, text: str, without: frozenset[int] = frozenset()) -> list[Hit]:
        """Return at most five memories that surely have to do with ``text``; none when the index is cold
        or takes longer than :data:`QUICK_S`."""
        hybrid = self._hybrid
        if hybrid is None or not hybrid.is_warm or not text.strip():
            return []
        found: list[Hit] = []

        def ask() -> None:
            from memory.search import Filter

            try:
                result = hybrid.search(text[:1_000], Filter(without=without), 5)
                found.extend(hit for hit in result.hits if _is_sure(hit))
            except StorageError as error:
                log.warning("nothing was recalled: %s", error)
            finally:
                self.index.close()

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(QUICK_S)
        return [] if thread.is_alive() else found

    def embed_new(self, seconds: float) -> None:
        """Embed what is new for at most so many seconds; without an embedder, or where another process is
        at it, nothing happens."""
        embedder = self._usable()
        if embedder is None:
            return
        try:
            with locked(self.index.folder / ".embedding.lock", patience_s=0.0):
                embed_missing(self.index, embedder, seconds=seconds)
        except Locked:
            return

    def _usable(self) -> Embedder | None:
        """Return the embedder, None where it cannot be loaded: a search says why by itself."""
        try:
            return self.embedder()
        except RuntimeError as error:
            log.warning("%s", error)
            return None

    def problem(self) -> str:
        """Return why search has no embedder or no Chroma, '' when it has both."""
        try:
            embedder = self.embedder()
        except RuntimeError as error:
            return str(error)
        address = self._config.memory.chroma or ""
        if embedder is None or not (address or (self.index.folder / "chroma").exists()):
            return ""
        from memory.vectors import ChromaMissing

        try:
            self._open_chroma(embedder)
        except ChromaMissing as error:
            return str(error)
        return ""

    def status(self) -> dict[str, Any]:
        """Return what the index holds and what it lacks."""
        embedder = self._usable()
        missing, count = self.index.count_unembedded(embedder.fingerprint if embedder else "")
        return {
            "sources": self.index.status(),
            "chunks": count,
            "embedded": count - missing,
            "embedder": embedder.name if embedder else "none",
            "behind": self.sources.is_behind(self.index),
            "left_out": self.index.left_out(),
        }

    def document(self, name: str) -> Document:
        """Return a searched file by its name. Raises ``UsageError`` for all else."""
        for document in self.sources.documents():
            if document.name == name:
                return document
        raise UsageError(
            f"{name!r} is not searched. Next step: take a path from memory_search, such as USER.md."
        )

    # -- the background ---------------------------------------------------------------------

    def start(self) -> None:
        """Warm up and keep the index in step from now on, in a thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="recall", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Say that something has changed."""
        self._wake.set()

    def stop(self, patience_s: float = 2.0) -> None:
        """End the background; what is left is done by the next process."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(patience_s)
        self.index.close()

    def _serve(self) -> None:
        try:
            while not self._stop.is_set():
                self._wake.clear()
                try:
                    self.refresh(float("inf"))
                    self.hybrid.warm()  # answers first; vectors that are missing take longer
                    self.catch_up(self._stop.is_set)
                except Exception:  # the next change gets its chance, whatever this one was
                    log.exception("the index could not be brought up to date")
                self._wake.wait(_CHECK_S)
        finally:
            self.index.close()

    def catch_up(
        self,
        stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], None] | None = None,
        seconds: float = float("inf"),
    ) -> str:
        """Do all that is missing: chunks, vectors, Chroma. Return why something is missing still,
        '' when nothing is. One process at a time; others return at once."""
        if self.sources.is_behind(self.index):
            self.sources.update(self.index, stop)
        if stop():
            return "stopped"
        self.index.prune()
        try:
            embedder = self.embedder()
        except RuntimeError as error:
            return str(error)
        if embedder is None:
            return ""

        def show(done: int, missing: int) -> None:
            self.progress = (done, missing)
            if progress:
                progress(done, missing)

        try:
            with locked(self.index.folder / ".embedding.lock", patience_s=0.0):
                embed_missing(self.index, embedder, stop=stop, progress=show, seconds=seconds)
                return self._keep_chroma(embedder) if not stop() else ""
        except Locked:
            return "another process is at it"

    def _open_chroma(self, embedder: Embedder) -> ChromaVectors:
        """Open Chroma: the server of the configuration, or the one in the home. Raises ``ChromaMissing``."""
        from memory.vectors import ChromaVectors

        return ChromaVectors(
            self.index.folder / "chroma",
            embedder.fingerprint,
            address=self._config.memory.chroma or "",
            token=self._environment.get(TOKEN) or "",
        )

    def _keep_chroma(self, embedder: Embedder) -> str:
        """Bring Chroma in step with the index; return why it cannot be used, '' when it can."""
        from memory.vectors import ChromaMissing, state_of

        hybrid, address = self.hybrid, self._config.memory.chroma or ""
        folder, state = self.index.folder / "chroma", state_of(self.index)
        there = bool(address) or folder.exists()
        chroma = hybrid.chroma if there else None
        if (
            there
            and not address
            and (chroma.state if chroma else self.index.meta("chroma")) == state
        ):
            return ""  # in step: no need to import it
        try:
            chroma = chroma or self._open_chroma(embedder)
            chroma.synchronise(self.index)
        except ChromaMissing as error:
            log.warning("%s", error)
            hybrid.chroma = None
            return str(error)
        hybrid.chroma = chroma
        return ""


def _is_within(hit: SessionHit | None, scope: Scope) -> bool:
    """Whether a message is still there and within the moments of a scope, which days only bound."""
    if hit is None:
        return False
    early = scope.since is not None and hit.created < scope.since
    late = scope.until is not None and hit.created >= scope.until
    return not early and not late


def _is_sure(hit: Hit) -> bool:
    return hit.score >= (SURE_ENOUGH_SAID if hit.source in ("sessions", "jobs") else SURE_ENOUGH)


def as_line(hit: Hit) -> str:
    """Return a recalled memory as it travels with a message: when, where, who, what."""
    day = f"{hit.day.isoformat()}, " if hit.day else ""
    who = f", {hit.speaker}" if hit.speaker else ""
    foreign = ", not the user's words" if hit.trust == "file" else ""
    return f"- ({day}{hit.path}{who}{foreign}) {hit.snippet}"


_LINE = re.compile(r"^(?:- \([^)]*\)|\[[^\]]*\]) (.+)$", re.MULTILINE)


def recalled_in(message: Message) -> list[str]:
    """Return the memories that travelled with a message, or that ``memory_search`` brought."""
    if message.role == "user":
        return _LINE.findall(message.context)
    return _LINE.findall(message.text) if message.tool_name == "memory_search" else []
