"""Storage of sessions and their associated data in the state folder."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from pygent_ls.sessions.checkpoints.records import CheckpointRecords, forget_put_away
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.workspace.files.leftovers import clean_up
from pygent_ls.workspace.files.output_store import KeptOutputs
from pygent_ls.workspace.files.temporary_files import keep_record

CHECKPOINTS = "checkpoints"


class SessionStorage:
    """Journals of all sessions, with their truncated results and checkpoint records."""

    def __init__(self, state_folder: Path) -> None:
        self._checkpoints = state_folder / CHECKPOINTS
        self.index_file = state_folder / "sessions" / "index.sqlite3"
        """Index built from the journals; rebuilt if it is missing."""
        self.journals = JournalFolder(state_folder / "sessions", self)
        self.outputs = KeptOutputs(state_folder / "outputs", session_ids=self._ids)
        self._state_folder = state_folder
        keep_record(state_folder)

    def _ids(self) -> set[str]:
        before = self._deleted_ids()  # the trash is read twice, since a session may be restored or deleted in between
        return before | self.journals.ids() | self._deleted_ids()

    def _deleted_ids(self) -> set[str]:
        return {each.id for each in self.journals.trash.listed()}

    def start_tidying(self) -> threading.Thread:
        """Remove leftovers of killed programs and, once a day, purge sessions deleted 30 days ago and data without a
        session. Runs in its own thread, which need not be joined: unfinished work is picked up by the next run.
        """
        thread = threading.Thread(target=self._tidy, name="tidy-sessions", daemon=True)
        thread.start()
        return thread

    def _tidy(self) -> None:
        clean_up(self._state_folder)
        if self.journals.trash.empty_daily():
            with contextlib.suppress(OSError):
                self.outputs.tidy()
            forget_put_away(self._checkpoints, self._ids())

    # Implementation of the trash's `Belongings`. Results stay in place: without their session they are not read.

    def put_away(self, session_id: str) -> None:
        """Implement `Belongings`."""
        self._with_records(session_id, CheckpointRecords.put_away)

    def bring_back(self, session_id: str) -> None:
        """Implement `Belongings`."""
        self._with_records(session_id, CheckpointRecords.bring_back)

    def forget(self, session_id: str) -> None:
        """Implement `Belongings`."""
        self._with_records(session_id, CheckpointRecords.forget)
        self.outputs.forget_session(session_id)

    def _with_records(self, session_id: str, act: Callable[[CheckpointRecords], None]) -> None:
        with contextlib.suppress(OSError):  # most sessions have no records
            act(CheckpointRecords(self._checkpoints, session_id, days=0))
