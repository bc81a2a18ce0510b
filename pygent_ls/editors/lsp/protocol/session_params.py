"""Parameters of the requests about sessions, and of completion."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pygent_ls.agent.context.window import ContextMode
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.model import Effort
from pygent_ls.editors.lsp.protocol.params import Count, Params
from pygent_ls.sessions.export.exporter import ExportFormat

MAX_LIMIT = 10_000
"""Maximum number of sessions or turns in one answer."""

Limit = Annotated[Count, Field(ge=1, le=MAX_LIMIT)]

Name = Annotated[str, Field(max_length=1000)]


class SessionListParams(Params):
    """Parameters of `pygent/session/list`. The most recently used session comes first. `query` is searched for in names
    and conversations."""

    query: str | None = None
    cwd: str | None = None
    cursor: str | None = None
    limit: Limit = 100


class SessionSearchParams(Params):
    """Parameters of `pygent/session/search`, which finds turns that contain every word of `query`. The best match comes
    first."""

    query: Annotated[str, Field(min_length=1)]
    limit: Limit = 50


class SessionLoadParams(Params):
    """Parameters of `pygent/session/load`. Without `messages`, a long session takes hardly more time to load than a
    short one."""

    session_id: str
    messages: bool = True


class SessionAttachParams(Params):
    """Parameters of `pygent/session/attach`, which sends the events after `sinceSeq` (0: all) and then new events on
    the token, until the request is cancelled or the session ends. The session may be held by another daemon or by none.
    If `sinceSeq` is beyond the session's last event, the first event sent is the next new one. A slow client does not
    slow down the turn."""

    session_id: str
    since_seq: Count = 0
    partial_result_token: str | int


class SessionRenameParams(Params):
    """Parameters of `pygent/session/rename`. With an empty `name`, the session is named after its first prompt; if it
    has none yet, after the next one."""

    session_id: str
    name: Name


class SessionForkParams(Params):
    """Parameters of `pygent/session/fork`, which copies the conversation up to the end of the turn `atTurnId`. Without
    it, everything is copied except for a running turn."""

    session_id: str
    at_turn_id: str | None = None


class SessionExportParams(Params):
    """Parameters of `pygent/session/export`. `/load` reads the format `json`."""

    session_id: str
    format: ExportFormat


class SessionConfigureParams(Params):
    """Parameters of `pygent/session/configure`. Missing fields are unchanged. A mode applies from the next permission
    check. A model or agent applies from the next model call, except in a turn that names its own. Everything else
    applies from the next turn. The limits of a running turn do not change."""

    session_id: str
    agent: str | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    mode: Mode | None = None
    max_thinking_tokens: Count | None = None
    effort: Effort | None = None
    context_mode: ContextMode | None = None


class SessionCompactParams(Params):
    """Parameters of `pygent/session/compact`, while no turn runs. The conversation is summarised for later model
    requests; `instruction` says what to focus on. The session's own messages are kept."""

    session_id: str
    instruction: Annotated[str, Field(max_length=10_000)] = ""


class CompleteParams(Params):
    """Parameters of `pygent/complete`. `offset` is the position of the cursor in `text`, in the same units as the
    columns of positions."""

    text: Annotated[str, Field(max_length=100_000)]
    offset: Count
    session_id: str | None = None
