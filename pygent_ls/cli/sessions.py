"""Command `pygent-ls sessions`: manages stored sessions from the command line, also while daemons run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from pygent_ls.agent.context.conversation_text import utf8
from pygent_ls.app.storage import SessionStorage
from pygent_ls.cli.sessions_format import (
    Happened,
    SessionRow,
    conversation,
    conversation_json,
    cost_of,
    id_width,
    local,
    plain,
    session_json,
    table,
)
from pygent_ls.config.paths import state_folder
from pygent_ls.editors.terminal.text import palette_for
from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.entries import SessionEntry
from pygent_ls.sessions.index.index import Index
from pygent_ls.sessions.index.sources import FolderSource
from pygent_ls.sessions.index.tables import EntryFilter, Tables
from pygent_ls.sessions.journal.files import lines_of
from pygent_ls.sessions.journal.trash import TRASH_DAYS, Trashed
from pygent_ls.sessions.saved_format.writer import timestamp
from pygent_ls.workspace.files.reader import beginning_of

if TYPE_CHECKING:
    import argparse

    from pygent_ls.agent.tools.session_secrets import SessionSecrets
    from pygent_ls.sessions.journal.replay import Recalled

ALL = 2**31
"""Limit that includes everything."""

MAX_FILE_BYTES = 50_000_000
"""Maximum size of an imported session: reading it takes up to thirty times its size in memory."""

MAX_NAMED = 5
"""Maximum number of sessions that an error lists."""

T = TypeVar("T")


def run_command(given: argparse.Namespace) -> int:
    """Run the command; return the exit code."""
    try:
        code = SessionsCommand(given).run()
        sys.stdout.flush()
    except SessionError as error:
        _say(f"pygent-ls: {error}")
        return 1
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


class SessionsCommand:
    """One run of the command. Its methods raise `SessionError`."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._kept = SessionStorage(state_folder())
        self._journals = self._kept.journals
        self._palette = palette_for(os.environ, is_terminal=sys.stdout.isatty())

    def run(self) -> int:
        """Run the action and return the exit code."""
        match self._given.action:
            case "list":
                return self._list_trash() if self._given.trash else self._list()
            case "show":
                return self._show(self._one(self._given.id))
            case "search":
                return self._search()
            case "export":
                return self._export(self._one(self._given.id))
            case "import":
                return self._import()
            case "delete":
                return self._delete([self._one(each) for each in self._given.ids])
            case "restore":
                return self._restore()
            case _:
                raise AssertionError(self._given.action)

    # Listings

    def _list(self) -> int:
        folder = None if self._given.all else self._folder(self._given.cwd)
        limit = self._given.limit or ALL
        found = self._ask(lambda tables: tables.entries(EntryFilter(limit=limit + 1, folder=folder, used=True)))
        shown = found[:limit]
        if self._given.json:
            _print_json([session_json(each) for each in shown])
            return 0
        rows = [
            SessionRow(
                id=each.id,
                when=each.updated_at,
                n_messages=each.n_messages,
                cost=cost_of(each.usage),
                name=each.name,
                notes=self._notes(each),
                folder=each.working_directory if folder is None else None,
            )
            for each in shown
        ]
        sys.stdout.write(table(rows, self._palette, used="USED"))
        if not shown:
            where = "" if folder is None else f" of {plain(str(folder))}; --all shows other folders"
            _say(f"There are no sessions{where}.")
        elif len(found) > limit:
            _say(f"There are more. Use --limit to show more than {limit}.")
        return 0

    def _notes(self, entry: SessionEntry) -> Sequence[str]:
        if self._journals.is_held(entry.id):
            return ("open",)
        return ("cut off",) if entry.is_interrupted else ()

    def _list_trash(self) -> int:
        trashed = self._journals.trash.listed()[: self._given.limit or ALL]
        found = [(each, self._in_trash(each)) for each in trashed]
        if self._given.json:
            _print_json(
                [
                    {
                        "sessionId": each.id,
                        "name": recalled.name if recalled else "",
                        "cwd": str(recalled.working_directory) if recalled else "",
                        "deletedAt": timestamp(each.deleted_at),
                        "goneAt": timestamp(each.gone_at),
                    }
                    for each, recalled in found
                ]
            )
            return 0
        rows = [
            SessionRow(
                id=each.id,
                when=each.deleted_at,
                n_messages=len(recalled.messages) if recalled else None,
                cost=cost_of(recalled.usage) if recalled else "",
                name=recalled.name if recalled else "(cannot be read)",
                notes=(f"until {local(each.gone_at)}",),
                folder=recalled.working_directory if recalled else None,
            )
            for each, recalled in found
        ]
        sys.stdout.write(table(rows, self._palette, used="DELETED"))
        if not rows:
            _say("The trash is empty.")
        return 0

    def _in_trash(self, trashed: Trashed) -> Recalled | None:
        from pygent_ls.sessions.journal.files import read_file
        from pygent_ls.sessions.journal.replay import recall

        try:
            return recall(lines_of(partial(read_file, trashed.path)), trashed.id)
        except (SessionError, OSError):
            return None

    def _search(self) -> int:
        from pygent_ls.sessions.index.query import query_of
        from pygent_ls.sessions.index.search import search

        query, limit = query_of(" ".join(self._given.words)), self._given.limit or ALL
        found = self._ask(lambda tables: search(tables, query, limit))
        if self._given.json:
            _print_json(
                [
                    {
                        "sessionId": each.session_id,
                        "name": each.name,
                        "turnId": each.turn_id,
                        "snippet": each.snippet,
                        "score": each.score,
                    }
                    for each in found
                ]
            )
        width = id_width(each.session_id for each in found)
        for each in () if self._given.json else found:
            name = self._palette.paint(plain(each.name), "bold")
            sys.stdout.write(f"{each.session_id[:width]}  {name}\n    {plain(each.snippet)}\n")
        if not found:
            _say(f"No turn contains all of: {plain(' '.join(self._given.words))}")
        return 0 if found else 1

    # Single sessions

    def _show(self, session_id: str) -> int:
        from pygent_ls.sessions.journal.changes import changes_told
        from pygent_ls.sessions.journal.endings import endings_told

        recalled = self._journals.recall(session_id)
        entry = replace(SessionEntry.of(recalled), is_interrupted=recalled.is_interrupted)
        if self._given.json:
            _print_json(conversation_json(entry, recalled.messages, recalled.notices))
            return 0
        read = self._journals.reader(session_id)
        happened = Happened(changes=changes_told(lines_of(read)), endings=endings_told(lines_of(read)))
        sys.stdout.write(conversation(entry, recalled.messages, happened, self._palette))
        for each in recalled.notices:
            _say(each)
        return 0

    def _export(self, session_id: str) -> int:
        from pygent_ls.editors.terminal.text import harmless
        from pygent_ls.sessions.export.exporter import export

        output = None if self._given.output in (None, "-") else Path(self._given.output)
        if output is not None and output.exists() and not self._given.force:
            raise SessionError(
                f"{output} already exists and was not changed. Use --force to replace it.", kind="file_exists"
            )
        recalled = self._journals.recall(session_id)
        text = asyncio.run(export(recalled, self._given.format, self._journals.reader(session_id)))
        if output is None:
            _print_file(harmless(text) if sys.stdout.isatty() else text)
            return 0
        try:
            output.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise SessionError(f"{output} cannot be written: {error.strerror}.", kind="not_written") from None
        _say(f"Wrote {plain(recalled.name)} to {plain(str(output))}.")
        return 0

    def _import(self) -> int:
        from pygent_ls.app.blueprint import read_settings
        from pygent_ls.sessions.export.importer import import_session
        from pygent_ls.sessions.saved_format.reader import read_saved

        here = self._folder(self._given.cwd or ".")
        settings = read_settings({}, [here]).taken.loaded.settings
        if not settings.persist_sessions:
            raise SessionError(
                "Sessions are not saved (persist_sessions = false), so none can be imported.", kind="not_kept"
            )
        text, shown = _read(self._given.file)
        saved = read_saved(text, shown)
        own = Path(saved.working_directory)
        folder = here if self._given.cwd or not (own.is_absolute() and own.is_dir()) else own
        secrets = _secrets(folder, is_on=settings.redact_secrets)
        session_id = asyncio.run(import_session(saved, self._journals, folder=folder, secrets=secrets))
        sys.stdout.write(f"{session_id}\n")
        _say(f"{self._journals.recall(session_id).name} was imported: {len(saved.messages)} messages.")
        return 0

    # Trash

    def _delete(self, ids: Sequence[str]) -> int:
        code = 0
        for session_id in dict.fromkeys(ids):
            try:
                self._throw_away(session_id)
            except SessionError as error:
                _say(str(error))
                code = 1
            else:
                _say(
                    f"{session_id} was moved to the trash for {TRASH_DAYS} days. To restore it: pygent-ls sessions "
                    f"restore {session_id}"
                )
        return code

    def _throw_away(self, session_id: str) -> None:
        journal = self._journals.take(session_id)
        try:
            self._journals.throw_away(session_id)
        except OSError as error:
            raise SessionError(f"{session_id} cannot be deleted: {error.strerror}.", kind="not_deleted") from None
        finally:
            journal.close()

    def _restore(self) -> int:
        trashed = {each.id: each for each in reversed(self._journals.trash.listed())}
        begun = [each for each in trashed if each.startswith(self._given.id)]
        found = [self._given.id] if self._given.id in trashed else begun
        if not found:
            names = {each: recalled.name for each, it in trashed.items() if (recalled := self._in_trash(it))}
            found = [each for each, name in names.items() if name == self._given.id]
        session_id = _only(found, self._given.id, " in the trash")
        self._journals.trash.restore(session_id)
        _say(f"{session_id} was restored.")
        return 0

    # Lookup

    def _one(self, wanted: str) -> str:
        """Return the session with that id, with that name, or the only one whose id begins with it."""
        ids = self._journals.ids()
        if wanted in ids:
            return wanted
        found = [each for each in ids if wanted and each.startswith(wanted)]
        if not found:
            entries = self._ask(lambda tables: tables.entries(EntryFilter(limit=ALL)))
            found = [each.id for each in entries if each.name == wanted]
        if not found and any(wanted and each.id.startswith(wanted) for each in self._journals.trash.listed()):
            raise SessionError(
                f"{wanted!r} is in the trash. To restore it: pygent-ls sessions restore {wanted}",
                kind="unknown_session",
            )
        return _only(found, wanted, "")

    def _ask(self, question: Callable[[Tables], T]) -> T:
        return asyncio.run(self._asked(question))

    async def _asked(self, question: Callable[[Tables], T]) -> T:
        index = Index(self._kept.index_file)
        try:
            return await index.ask(FolderSource(self._journals), question)
        finally:
            await index.close()

    def _folder(self, given: str) -> Path:
        if not Path(given).is_dir():
            self._given.refuse(f"--cwd: the folder {given} does not exist")
        return Path(given).resolve()


def _only(found: Sequence[str], wanted: str, where: str) -> str:
    if len(found) == 1:
        return found[0]
    if not found:
        raise SessionError(
            f"There is no session{where} with the id or name {wanted!r}. Use pygent-ls sessions list "
            f"--all{' --trash' if where else ''} to list sessions.",
            kind="unknown_session",
        )
    named = ", ".join(sorted(found)[:MAX_NAMED]) + (" …" if len(found) > MAX_NAMED else "")
    raise SessionError(f"{wanted!r} matches {len(found)} sessions: {named}", kind="unknown_session")


def _read(file: str) -> tuple[str, str]:
    """Return the text of a file or of standard input, and its name for messages."""
    shown = "Standard input" if file == "-" else file
    try:
        data = (
            sys.stdin.buffer.read(MAX_FILE_BYTES + 1) if file == "-" else beginning_of(Path(file), MAX_FILE_BYTES + 1)
        )
        if len(data) > MAX_FILE_BYTES:
            raise SessionError(f"{shown} is longer than {MAX_FILE_BYTES // 1_000_000} MB.", kind="invalid_file")
        return data.decode("utf-8-sig"), shown
    except OSError as error:
        raise SessionError(f"{shown} cannot be read: {error.strerror}.", kind="invalid_file") from None
    except UnicodeDecodeError:
        raise SessionError(f"{shown} is not a saved session: it is not UTF-8.", kind="invalid_file") from None


def _secrets(folder: Path, *, is_on: bool) -> SessionSecrets:
    from pygent_ls.agent.tools.session_secrets import SessionSecrets
    from pygent_ls.secrets.finder import find_secrets
    from pygent_ls.secrets.redactor import Redactor
    from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
    from pygent_ls.workspace.installation_key import installation_key

    secrets = SessionSecrets(Redactor(find_secrets, key=installation_key(state_folder())), DiskWorkspace([folder]))
    secrets.switch(on=is_on)
    return secrets


def _print_json(value: Any) -> None:
    _print_file(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def _print_file(text: str) -> None:
    """Print data for a program or a file unchanged, regardless of the locale."""
    if sys.stdout.isatty():
        sys.stdout.write(text)
    else:
        sys.stdout.buffer.write(utf8(text).encode())


def _say(text: str) -> None:
    """Print a message to the user, who may have redirected standard output."""
    sys.stderr.write(f"{plain(text)}\n")
