"""`pygent/turn/…`: parameters and results."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from pygent_ls.agent.kinds import Mode, StopReason
from pygent_ls.agent.ports.model import Effort
from pygent_ls.editors.lsp.protocol.content import EditorContext, Prompt
from pygent_ls.editors.lsp.protocol.shapes import Count, FileChangedOut, Params, Token, UsageOut
from pygent_ls.errors import ModelErrorType

TurnId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]


class TurnStartParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/turn/start`. With `outputSchema`, a JSON Schema, the answer is a JSON value that is valid
    against it. `turnId` sets the id of the turn, which must be unique in the session; without it the daemon generates
    one."""

    prompt: Prompt
    session_id: str | None = None
    turn_id: TurnId | None = None
    agent: Annotated[str, Meta(min_length=1)] | None = None
    model: str | None = None
    mode: Mode | None = None
    context: EditorContext | None = None
    max_iterations: Count | None = None
    max_tokens: Count | None = None
    max_budget_usd: Annotated[float, Meta(ge=0)] | None = None
    effort: Effort | None = None
    output_schema: dict[str, Any] | None = None
    work_done_token: Token | None = None
    partial_result_token: Token | None = None


class SideQuestionParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/sideQuestion`, a question about the conversation that leaves no trace in it. It is answered
    at once, also while a turn runs, by the session's model and without tools. Its events, on the partial result token,
    are those of a turn with the id `questionId`; their `seq` counts from 1, and they are not stored. The result has the
    question's id as `turnId`. `$/cancelRequest`, or `pygent/turn/cancel` with that id, cancels it."""

    session_id: str
    question: Prompt
    question_id: TurnId | None = None
    work_done_token: Token | None = None
    partial_result_token: Token | None = None


class TurnParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/turn/cancel`. Without `turnId`, the running turn is cancelled."""

    session_id: str
    turn_id: str | None = None


class SteerParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/turn/steer`, which adds the prompt to the running turn's conversation before the next model
    call."""

    session_id: str
    turn_id: str
    prompt: Prompt


class RetryParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/turn/retry`, while an `llm_error` waits to retry: `now` calls the model again at once,
    `give_up` stops retrying."""

    session_id: str
    turn_id: str
    action: Literal["now", "give_up"]


class DequeueParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/turn/dequeue`, which removes a waiting prompt."""

    session_id: str
    turn_id: str


class ResumeParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/turn/resume`, which sends a held prompt again with its attachments. The turn keeps its
    id."""

    session_id: str
    turn_id: str
    work_done_token: Token | None = None
    partial_result_token: Token | None = None


class TurnErrorOut(TypedDict):
    """Why a turn ended with `stopReason: "error"`."""

    type: ModelErrorType
    message: str
    retryable: bool


class TurnResultOut(TypedDict):
    """The result of `pygent/turn/start` and `pygent/sideQuestion`. `structured`, any JSON value, is present if the
    request had an `outputSchema` and `stopReason` is `end_turn`."""

    sessionId: str
    turnId: str
    stopReason: StopReason
    text: str
    usage: UsageOut
    iterations: int
    filesChanged: list[FileChangedOut]
    error: NotRequired[TurnErrorOut]
    structured: NotRequired[Any]


class CancelledTurnOut(TypedDict):
    """The result of `pygent/turn/cancel`."""

    cancelled: bool


class AcceptedOut(TypedDict):
    """The result of `pygent/turn/steer` and `pygent/turn/retry`. `accepted` is false if the request came too late or is
    for another turn."""

    accepted: bool


class QueuedTurnOut(TypedDict):
    """A waiting turn. Without `held`, it waits for the turn before it. With `held`, the daemon that accepted its prompt
    ended before the turn began: it waits for `pygent/turn/resume` or `pygent/turn/dequeue`."""

    turnId: str
    prompt: str
    held: NotRequired[Literal[True]]


class QueueOut(TypedDict):
    """The result of `pygent/turn/queue`."""

    items: list[QueuedTurnOut]


class RemovedOut(TypedDict):
    """The result of `pygent/turn/dequeue`."""

    removed: bool
