"""Asks the user, once, whether a workspace's own files may take effect."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pygent_ls.config.live import Taken
from pygent_ls.config.trust import TrustStore, source_names
from pygent_ls.editors.ports import AskTrust, TrustQuestion
from pygent_ls.errors import SettingError

UNTRUSTED = (
    "The editor does not trust this workspace: only reading is allowed, and workspace settings can only tighten "
    "restrictions."
)
"""Notice shown once if the user cannot be asked."""

Key = tuple[Path, str]
"""Resolved folder, and the digest of its files' trust requests."""


class TrustPrompt:
    """Owns the open questions, and awaits them in `close`.

    Callers that arrive while a question is open wait for the same answer. A turn that is cancelled meanwhile leaves the
    question open: the answer applies to the next one. Without a valid answer (none, an unknown one, a disconnected
    editor), the files are not trusted, and the user is asked again by the next daemon, not by this one.
    """

    def __init__(self, store: TrustStore, ask: AskTrust) -> None:
        self._store = store
        self._ask = ask
        self._open: dict[Key, asyncio.Task[bool]] = {}
        self._settled: dict[Key, bool] = {}
        """Answers that are valid until the daemon ends and are not in the store."""
        self._told: set[Key] = set()

    async def settle(self, taken: Taken) -> Taken:
        """Return the settings with the user's answer; ask the user if the request is unanswered."""
        if taken.folder is None or not taken.wishes or taken.trusted is not None:
            return taken
        key = await asyncio.to_thread(_key, taken.folder, taken.digest)
        if key in self._settled:
            return taken.answered(trusted=self._settled[key])
        if key not in self._open:  # an answer is stored before its question is closed
            answer = await asyncio.to_thread(self._store.answer, *key)
            if answer is not None:
                return taken.answered(trusted=answer)
        if key not in self._open:
            question = TrustQuestion(
                folder=taken.folder,
                sources=source_names(taken.wishes),
                wishes=tuple(wish.words for wish in taken.wishes),
            )
            self._open[key] = asyncio.create_task(self._asked(key, question))
        return taken.answered(trusted=await asyncio.shield(self._open[key]))

    def notice(self, taken: Taken) -> str:
        """Return the notice about untrusted files, once for each content; else empty."""
        if taken.folder is None or not taken.wishes or taken.trusted:
            return ""
        key = (taken.folder, taken.digest)
        if key in self._told:
            return ""
        self._told.add(key)
        keys = ", ".join(dict.fromkeys(wish.key for wish in taken.wishes))
        return (
            f"{source_names(taken.wishes)} of this folder is not trusted, so these settings are ignored: {keys}. To "
            "trust it, run `pygent-ls trust` in the folder."
        )

    async def close(self) -> None:
        """Cancel the open questions."""
        questions = list(self._open.values())
        for task in questions:
            task.cancel()
        await asyncio.gather(*questions, return_exceptions=True)

    async def _asked(self, key: Key, question: TrustQuestion) -> bool:
        try:
            answer = await self._ask(question)
            if answer is None:
                self._settled[key] = False
                return False
            try:
                await asyncio.to_thread(self._store.remember, *key, trusted=answer)
            except SettingError:  # the answer applies all the same while this daemon runs
                self._settled[key] = answer
            return answer
        finally:
            del self._open[key]


def _key(folder: Path, digest: str) -> Key:
    return folder.resolve(), digest
