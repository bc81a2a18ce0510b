"""`pygent/commitMessage/write` and the command `pygent.commitMessage`."""

from typing import TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params


class CommitMessageParams(Params, frozen=True, kw_only=True):
    """`pygent/commitMessage/write`: `uri` is the folder of a repository, or a file in it; without it, the repository of
    the first workspace folder is meant. The request can be cancelled."""

    uri: str | None = None


class CommitMessageOut(TypedDict):
    """A message for the staged changes, or for all changes if nothing is staged."""

    message: str


class CommitMessageStartedOut(TypedDict):
    """The result of `pygent.commitMessage`: whether a message is being written. It is inserted into the document if
    that has no message yet."""

    started: bool
