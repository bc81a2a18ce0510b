"""Handler of the request for a commit message."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.editors.lsp.protocol.commit_message import CommitMessageOut, CommitMessageParams
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.editors.ports import Core


class CommitMessageRequests:
    """Answers the request of one client."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def write(self, params: CommitMessageParams) -> CommitMessageOut:
        """Handle `pygent/commitMessage/write`. Raises `InvalidParamsError`, and as `Core.commit_message`."""
        path = path_of(params.uri) if params.uri is not None else None
        if params.uri is not None and path is None:
            raise InvalidParamsError(f"uri: {params.uri!r} is not the URI of a file or folder")
        return {"message": await self._core.commit_message(repository_folder(path))}


def repository_folder(path: Path | None) -> Path | None:
    """Return the folder whose repository is meant by a path: the work tree for a file in its `.git` folder."""
    if path is None or ".git" not in path.parts:
        return path
    return Path(*path.parts[: path.parts.index(".git")])
