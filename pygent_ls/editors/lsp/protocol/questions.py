"""Questions of the agent, and the question whether files may be saved, with their answers."""

from typing import NotRequired, TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params


class ChoiceOut(TypedDict):
    """An answer that the user can choose."""

    title: str
    description: NotRequired[str]


class QuestionRequestOut(TypedDict):
    """A question of the model. With `allowText`, the user may also answer in their own words, in addition to a choice
    or instead of one.

    If `sessionId` is empty, the daemon itself asks, outside any conversation. With `secret`, the answer is a key: do
    not show its characters, and do not store it. With `mcpServer`, the MCP server of that name asks, and its question
    must not look as if the daemon asked. With `setup`, no model is set up: the first choice continues if one
    has been set up meanwhile; otherwise the daemon asks for one."""

    questionId: str
    sessionId: str
    question: str
    choices: list[ChoiceOut]
    allowText: bool
    secret: NotRequired[bool]
    mcpServer: NotRequired[str]
    setup: NotRequired[bool]


class QuestionCancelledOut(TypedDict):
    """The question is no longer valid. Close it."""

    questionId: str


class QuestionResult(Params, frozen=True, kw_only=True):
    """The title of a choice, text of the user, or both."""

    choice: str | None = None
    text: str | None = None


class SaveRequestOut(TypedDict):
    """Documents that the agent changed and that the client should save, because a program is about to read the
    files."""

    uris: list[str]


class SaveResult(Params, frozen=True, kw_only=True):
    """The documents that are now saved. The user is asked about the others."""

    saved: list[str]
