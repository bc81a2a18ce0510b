"""What comes in about sessions, and about prompts that are being written."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pygent_ls.agent.context import ContextMode
from pygent_ls.agent.model import Effort
from pygent_ls.agent.permissions import Mode
from pygent_ls.editors.lsp.incoming import Count, Params
from pygent_ls.sessions.exporting import ExportFormat

MAX_LIMIT = 10_000
"""Sessions, or turns, in one answer."""

Limit = Annotated[Count, Field(ge=1, le=MAX_LIMIT)]

Name = Annotated[str, Field(max_length=1000)]


class SessionListParams(Params):
    """`pygent/session/list`: the last one used first; `query` is looked for in names and conversations."""

    query: str | None = None
    cwd: str | None = None
    cursor: str | None = None
    limit: Limit = 100


class SessionSearchParams(Params):
    """`pygent/session/search`: turns that hold each word, the best first."""

    query: Annotated[str, Field(min_length=1)]
    limit: Limit = 50


class SessionLoadParams(Params):
    """`pygent/session/load`; without `messages`, a long session costs hardly more than a short one."""

    session_id: str
    messages: bool = True


class SessionAttachParams(Params):
    """`pygent/session/attach`: the events behind `sinceSeq` (0: all), and those to come, on the token, until the
    request is cancelled or the session ends; whoever has it, and whether anybody does. Where the numbers of a session
    end before `sinceSeq`, the next event is the first. A slow reader slows no turn."""

    session_id: str
    since_seq: Count = 0
    partial_result_token: str | int


class SessionRenameParams(Params):
    """`pygent/session/rename`; with an empty name the session is called by its first prompt, or the next one."""

    session_id: str
    name: Name


class SessionForkParams(Params):
    """`pygent/session/fork`: to the end of that turn, or whole but for a turn that runs."""

    session_id: str
    at_turn_id: str | None = None


class SessionExportParams(Params):
    """`pygent/session/export`: `json` is what `/load` takes."""

    session_id: str
    format: ExportFormat


class SessionConfigureParams(Params):
    """`pygent/session/configure`: what is missing stays as it is. A mode counts from the next permission check, a
    model and an agent from the next model call, but for a turn that names its own; the rest from the next turn. The
    limits of a turn that runs stay."""

    session_id: str
    agent: str | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    mode: Mode | None = None
    max_thinking_tokens: Count | None = None
    effort: Effort | None = None
    context_mode: ContextMode | None = None


class SessionCompactParams(Params):
    """`pygent/session/compact`, while no turn runs: the conversation is summed up for the requests to come, with an eye
    to what `instruction` says. The session's own messages stay."""

    session_id: str
    instruction: Annotated[str, Field(max_length=10_000)] = ""


class CompleteParams(Params):
    """`pygent/complete`: `offset` is where the user is in `text`, counted as the columns of positions are."""

    text: Annotated[str, Field(max_length=100_000)]
    offset: Count
    session_id: str | None = None
