"""What comes in: the parameters of requests, validated by pydantic."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic.alias_generators import to_camel

from pygent_ls.agent.model import Effort
from pygent_ls.agent.permissions import Mode


class Params(BaseModel):
    """Parameters of a request; keys are camelCase on the wire, unknown ones are ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=False, strict=True, frozen=True, defer_build=True
    )


def _whole(value: Any) -> Any:
    """Some clients' JSON writes every number with a decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Item = TypeVar("Item")

Items = Annotated[list[Item], Field(fail_fast=True)]
"""A list whose first wrong item is named, and no other: there may be a hundred thousand."""

Count = Annotated[int, BeforeValidator(_whole), Field(ge=0)]


class WirePosition(Params):
    """An LSP position."""

    line: Count
    character: Count


class WireRange(Params):
    """An LSP range."""

    start: WirePosition
    end: WirePosition


class WireDiagnostic(Params):
    """What is read of an LSP diagnostic."""

    range: WireRange
    message: str
    severity: Count | None = None
    source: str | None = None
    code: Any = None
    """A number or text; clients were seen to send objects."""


class TextContent(Params):
    """Words of the user."""

    type: Literal["text"]
    text: str


class FileContent(Params):
    """A file, or a range of its lines."""

    type: Literal["file"]
    uri: str
    range: WireRange | None = None


class SelectionContent(Params):
    """Text that the user selected."""

    type: Literal["selection"]
    uri: str
    range: WireRange
    text: str


class DiagnosticsContent(Params):
    """Diagnostics of a file."""

    type: Literal["diagnostics"]
    uri: str
    items: Items[WireDiagnostic]


class ImageContent(Params):
    """A picture: base64 in `data`, or a file or `data:` address in `uri`."""

    type: Literal["image"]
    mime_type: str
    data: str | None = None
    uri: str | None = None

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.data is None) == (self.uri is None):
            raise ValueError("an image requires either `data` or `uri`")
        return self


class TerminalContent(Params):
    """A command that the user ran in a terminal, and what it printed, without control sequences; `exitCode` is missing
    while it runs, and if it is not known."""

    type: Literal["terminal"]
    command: str
    output: str
    exit_code: Annotated[int, BeforeValidator(_whole)] | None = None


class RejectedFileContent(Params):
    """A file of a review report, and the number of changes in it that the user rejected."""

    uri: str
    rejected: Annotated[int, BeforeValidator(_whole), Field(ge=1)]


class ReviewContent(Params):
    """What the user rejected of the agent's edits, in words for the model. It is the user's decision, and no part of
    their words: it is kept and shown by itself."""

    type: Literal["review"]
    text: Annotated[str, Field(min_length=1)]
    files: Annotated[Items[RejectedFileContent], Field(min_length=1)]


AnyContent = (
    TextContent | FileContent | SelectionContent | DiagnosticsContent | ImageContent | TerminalContent | ReviewContent
)

ContentBlock = Annotated[AnyContent, Field(discriminator="type")]


def _prompt_kind(value: Any) -> str | None:
    return "text" if isinstance(value, str) else "blocks" if isinstance(value, list) else None


Prompt = Annotated[
    Annotated[str, Field(min_length=1), Tag("text")]
    | Annotated[Items[ContentBlock], Field(min_length=1), Tag("blocks")],
    Discriminator(
        _prompt_kind,
        custom_error_type="prompt",
        custom_error_message="Input should be text, or a list of content blocks",
    ),
]
"""With a discriminator, so that an error names the one field that is wrong."""


class ContextSelection(Params):
    """The selection in the active editor."""

    uri: str
    range: WireRange


class ContextDiagnostics(Params):
    """All diagnostics of one file, for a version of its document; `items` that are empty say that it is clean."""

    uri: str
    items: Items[WireDiagnostic]
    version: Annotated[int, BeforeValidator(_whole)] | None = None


class EditorContext(Params):
    """Where the user is, and what the editor shows as wrong. It is background, and never a prompt. In
    `pygent/context/didChange` a member that is missing stays as it was, and null takes it back; `diagnostics` replace
    what was told of the files that they name, and leave the others. `openUris` are the files of all tabs, also of those
    that have no document yet; without them, the open documents count as such. Completion offers them first."""

    active_uri: str | None = None
    selection: ContextSelection | None = None
    visible_uris: Items[str] | None = None
    open_uris: Items[str] | None = None
    diagnostics: Items[ContextDiagnostics] | None = None


TurnId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class TurnStartParams(Params):
    """`pygent/turn/start`. With `outputSchema`, a JSON Schema, the answer is a value that is valid against it. `turnId`
    is the id that the turn shall have, which no other turn of the session has; without it the daemon makes one."""

    prompt: Prompt
    session_id: str | None = None
    turn_id: TurnId | None = None
    agent: Annotated[str, Field(min_length=1)] | None = None
    model: str | None = None
    mode: Mode | None = None
    context: EditorContext | None = None
    max_iterations: Count | None = None
    max_tokens: Count | None = None
    max_budget_usd: Annotated[float, Field(ge=0)] | None = None
    effort: Effort | None = None
    output_schema: dict[str, Any] | None = None
    work_done_token: str | int | None = None
    partial_result_token: str | int | None = None


class TurnParams(Params):
    """`pygent/turn/cancel`; without `turnId` the running turn is meant."""

    session_id: str
    turn_id: str | None = None


class SteerParams(Params):
    """`pygent/turn/steer`: joins the running turn's conversation before the next model call."""

    session_id: str
    turn_id: str
    prompt: Prompt


class RetryParams(Params):
    """`pygent/turn/retry`, while an `llm_error` waits to retry: ask the model again `now`, or `give_up` on it."""

    session_id: str
    turn_id: str
    action: Literal["now", "give_up"]


class DequeueParams(Params):
    """`pygent/turn/dequeue`: removes a prompt that waits."""

    session_id: str
    turn_id: str


class ResumeParams(Params):
    """`pygent/turn/resume`: sends a prompt that is held again, with what was attached to it; the turn keeps its id."""

    session_id: str
    turn_id: str
    work_done_token: str | int | None = None
    partial_result_token: str | int | None = None


class SessionParams(Params):
    """Requests about one session."""

    session_id: str


class BackgroundStopParams(Params):
    """`pygent/background/stop`: stops a background command and all that it started, also while a turn runs."""

    session_id: str
    id: str


class CheckpointParams(Params):
    """`pygent/checkpoint/diff`."""

    checkpoint_id: str


class CheckpointRestoreParams(Params):
    """`pygent/checkpoint/restore`; without `force`, files that the user has changed since are spared, and without
    `uncertain` those that changed while a command ran and may be anyone's."""

    checkpoint_id: str
    files: bool
    conversation: bool
    force: bool = False
    uncertain: bool = False


class SessionNewParams(Params):
    """`pygent/session/new`."""

    cwd: str | None = None
    agent: Annotated[str, Field(min_length=1)] | None = None
    model: str | None = None
    mode: Mode | None = None
    name: str | None = None


class SetModeParams(Params):
    """`pygent/permission/setMode`."""

    session_id: str
    mode: Mode


class RulesParams(Params):
    """`pygent/permission/rules`."""

    session_id: str | None = None


class ForgetParams(Params):
    """`pygent/permission/forget`."""

    rule: str


class CommandSession(Params):
    """Among the arguments of a command of `workspace/executeCommand`, in any place: the session that it is for."""

    session_id: str


KeyVariable = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,100}(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$")]

ProviderKey = Annotated[str, Field(pattern=r"^[!-~]{1,4096}$")]
"""What a header can hold."""


class KeysParams(Params):
    """`pygent/keys/set`: keys of providers that the editor keeps, by the variables in which the providers' keys are
    looked for. They count from the next model call on, for their own providers alone, before the daemon's own
    environment, and for as long as it runs. Null takes one back; what is not named stays."""

    keys: dict[KeyVariable, ProviderKey | None]


class NoParams(Params):
    """Requests that take nothing."""
