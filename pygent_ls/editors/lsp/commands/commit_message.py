"""Commit messages in an editor without a plugin: written into the document in which git asks for one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path

from pygent_ls.agent.ports.workspace import Document, EditPlan, Workspace, WriteText
from pygent_ls.editors.lsp.actions import CodeActionOut
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.commands.code_actions import action
from pygent_ls.editors.lsp.handlers.commit_message import repository_folder
from pygent_ls.editors.lsp.protocol.commit_message import CommitMessageStartedOut
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.editors.ports import Core
from pygent_ls.errors import ModelError, SessionError, ToolError

COMMIT_MESSAGE = "pygent.commitMessage"
TITLE = "Write commit message with pygent"

FILE = "COMMIT_EDITMSG"
"""Name of the document in which git asks for a message."""

NOT_EMPTY = "The document already has a commit message. Delete it first if you want another one."


def has_message(text: str, comment: str = "#") -> bool:
    """Whether the document has lines besides empty ones and git's comments; the diff below the scissors is a comment,
    too."""
    head = text.partition(f"{comment} ------------------------ >8 ------------------------")[0]
    return any(line.strip() and not line.startswith(comment) for line in head.splitlines())


class CommitMessages:
    """Writes messages after the command was answered, one at a time. Owns the task."""

    def __init__(self, client: Client, core: Core, workspace: Workspace) -> None:
        self._client = client
        self._core = core
        self._workspace = workspace
        self._task: asyncio.Task[None] | None = None

    def actions(self, uri: str) -> list[CodeActionOut]:
        """Return the action in a document in which git asks for a message."""
        path = path_of(uri)
        return [action(TITLE, "quickfix", COMMIT_MESSAGE, [uri])] if path is not None and path.name == FILE else []

    def start(self, uri: str | None) -> CommitMessageStartedOut:
        """Run `pygent.commitMessage`. Raises `InvalidParamsError`."""
        path = path_of(uri) if uri is not None else None
        if path is None or path.name != FILE:
            raise InvalidParamsError(f"argument 1 must be the URI of a {FILE} document")
        if self.is_running:
            self._client.tell_user("A commit message is being written already.")
            return {"started": False}
        self._task = asyncio.create_task(self._told(self._write(path)))
        return {"started": True}

    @property
    def is_running(self) -> bool:
        """Whether a message is being written."""
        return self._task is not None and not self._task.done()

    def cancel(self) -> bool:
        """End the request; return whether there was one."""
        return self._task is not None and self._task.cancel()

    async def close(self) -> None:
        """End the request and wait for it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _told(self, writing: Coroutine[None, None, None]) -> None:
        try:
            await writing
        except (ModelError, SessionError, ToolError) as error:
            self._client.endpoint.show_message(f"pygent: {error}", MessageType.WARNING)

    async def _write(self, path: Path) -> None:
        await self._empty(path)
        self._client.tell_user("Writing the commit message…")
        message = await self._core.commit_message(repository_folder(path))
        document = await self._empty(path)
        rest = document.text.lstrip("\r\n")
        text = f"{message}\n\n{rest}" if rest else f"{message}\n"
        written = WriteText(path=path, before=document, text=text)
        await self._workspace.apply(EditPlan(label="Commit message", operations=(written,), result="", previewed=False))

    async def _empty(self, path: Path) -> Document:
        document = await self._workspace.read(path)
        if has_message(document.text):
            raise ToolError(NOT_EMPTY)
        return document
