"""Where sessions are kept in the state folder, with all that belongs to them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from pygent_ls.sessions.checkpoint_records import CheckpointRecords, forget_put_away
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.workspace.kept_outputs import KeptOutputs
from pygent_ls.workspace.leftovers import clean_up
from pygent_ls.workspace.temporary_files import keep_record

CHECKPOINTS = "checkpoints"


class KeptSessions:
    """The journals of all sessions, and what goes with them: results that were cut, and records of checkpoints."""

    def __init__(self, state_folder: Path) -> None:
        self._checkpoints = state_folder / CHECKPOINTS
        self.index_file = state_folder / "sessions" / "index.sqlite3"
        """Made of the journals, and made again where it is not there."""
        self.journals = JournalFolder(state_folder / "sessions", self)
        self.outputs = KeptOutputs(state_folder / "outputs", session_ids=self._ids)
        self._state_folder = state_folder
        keep_record(state_folder)

    def _ids(self) -> set[str]:
        before = self._deleted_ids()  # the trash is looked at twice: one may be brought back, or deleted, meanwhile
        return before | self.journals.ids() | self._deleted_ids()

    def _deleted_ids(self) -> set[str]:
        return {each.id for each in self.journals.trash.listed()}

    def start_tidying(self) -> threading.Thread:
        """Remove what programs that were killed have left, and, once a day, for good what was deleted 30 days ago, and
        what belongs to no session. In a thread of its own, for which nobody need wait: what it did not come to, it does
        the next time."""
        thread = threading.Thread(target=self._tidy, name="tidy-sessions", daemon=True)
        thread.start()
        return thread

    def _tidy(self) -> None:
        clean_up(self._state_folder)
        if self.journals.trash.empty_daily():
            with contextlib.suppress(OSError):
                self.outputs.tidy()
            forget_put_away(self._checkpoints, self._ids())

    # As the trash's `Belongings`. Results stay where they are: nobody asks for those of a session that is not there.

    def put_away(self, session_id: str) -> None:
        """See `Belongings`."""
        self._with_records(session_id, CheckpointRecords.put_away)

    def bring_back(self, session_id: str) -> None:
        """See `Belongings`."""
        self._with_records(session_id, CheckpointRecords.bring_back)

    def forget(self, session_id: str) -> None:
        """See `Belongings`."""
        self._with_records(session_id, CheckpointRecords.forget)
        self.outputs.forget_session(session_id)

    def _with_records(self, session_id: str, act: Callable[[CheckpointRecords], None]) -> None:
        with contextlib.suppress(OSError):  # mostly there are none
            act(CheckpointRecords(self._checkpoints, session_id, days=0))
