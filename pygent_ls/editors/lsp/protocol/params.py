"""Parameters that clients send, validated by pydantic."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic.alias_generators import to_camel

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.model import Effort


class Params(BaseModel):
    """Parameters of a request. Keys are camelCase on the wire; unknown keys are ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=False, strict=True, frozen=True, defer_build=True
    )


def _whole(value: Any) -> Any:
    """Accept `1.0` for 1: some clients write every number with a decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Item = TypeVar("Item")

Items = Annotated[list[Item], Field(fail_fast=True)]
"""A list whose error names the first invalid item only, since a list may have a hundred thousand items."""

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
    """The fields of an LSP diagnostic that the daemon reads."""

    range: WireRange
    message: str
    severity: Count | None = None
    source: str | None = None
    code: Any = None
    """A number or a string by LSP; some clients send objects."""


class TextContent(Params):
    """Text of the user."""

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
    """An image: base64 in `data`, or a file or `data:` URI in `uri`."""

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
    """A command that the user ran in a terminal, and its output without control sequences. `exitCode` is missing while
    the command runs, or if it is unknown."""

    type: Literal["terminal"]
    command: str
    output: str
    exit_code: Annotated[int, BeforeValidator(_whole)] | None = None


class RejectedFileContent(Params):
    """A file in a review report, and the number of its changes that the user rejected."""

    uri: str
    rejected: Annotated[int, BeforeValidator(_whole), Field(ge=1)]


class ReviewContent(Params):
    """The changes of the agent that the user rejected, described for the model. The report is a decision of the user
    and not part of the prompt's text: it is stored and shown separately."""

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
"""Prompt as text or content blocks. The discriminator makes an error name only the invalid field."""


class ContextSelection(Params):
    """The selection in the active editor."""

    uri: str
    range: WireRange


class ContextDiagnostics(Params):
    """All diagnostics of a file, for one version of its document. If `items` is empty, the file has no diagnostics."""

    uri: str
    items: Items[WireDiagnostic]
    version: Annotated[int, BeforeValidator(_whole)] | None = None


class EditorContext(Params):
    """The state of the editor: active file, selection, visible and open files, diagnostics. It is background for the
    model, never a prompt. In `pygent/context/didChange`, a missing field keeps its value, and null clears it.
    `diagnostics` replaces the diagnostics of the files that it names; those of other files are kept. `openUris` lists
    the files of all tabs, including tabs without a document yet; without it, the open documents are used. Completion
    offers these files first."""

    active_uri: str | None = None
    selection: ContextSelection | None = None
    visible_uris: Items[str] | None = None
    open_uris: Items[str] | None = None
    diagnostics: Items[ContextDiagnostics] | None = None


TurnId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class TurnStartParams(Params):
    """Parameters of `pygent/turn/start`. With `outputSchema`, a JSON Schema, the answer is a JSON value that is valid
    against it. `turnId` sets the id of the turn, which must be unique in the session; without it the daemon generates
    one."""

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
    """Parameters of `pygent/turn/cancel`. Without `turnId`, the running turn is cancelled."""

    session_id: str
    turn_id: str | None = None


class SteerParams(Params):
    """Parameters of `pygent/turn/steer`, which adds the prompt to the running turn's conversation before the next model
    call."""

    session_id: str
    turn_id: str
    prompt: Prompt


class RetryParams(Params):
    """Parameters of `pygent/turn/retry`, while an `llm_error` waits to retry: `now` calls the model again at once,
    `give_up` stops retrying."""

    session_id: str
    turn_id: str
    action: Literal["now", "give_up"]


class DequeueParams(Params):
    """Parameters of `pygent/turn/dequeue`, which removes a waiting prompt."""

    session_id: str
    turn_id: str


class ResumeParams(Params):
    """Parameters of `pygent/turn/resume`, which sends a held prompt again with its attachments. The turn keeps its
    id."""

    session_id: str
    turn_id: str
    work_done_token: str | int | None = None
    partial_result_token: str | int | None = None


class SessionParams(Params):
    """Parameters of requests about one session."""

    session_id: str


class BackgroundStopParams(Params):
    """Parameters of `pygent/background/stop`, which stops a background command and all processes that it started. It
    also works while a turn runs."""

    session_id: str
    id: str


class CheckpointParams(Params):
    """Parameters of `pygent/checkpoint/diff`."""

    checkpoint_id: str


class CheckpointRestoreParams(Params):
    """Parameters of `pygent/checkpoint/restore`. Without `force`, files that the user changed after the agent are
    skipped. Without `uncertain`, files that changed while a command ran are skipped, because the command or someone
    else may have changed them."""

    checkpoint_id: str
    files: bool
    conversation: bool
    force: bool = False
    uncertain: bool = False


class SessionNewParams(Params):
    """Parameters of `pygent/session/new`."""

    cwd: str | None = None
    agent: Annotated[str, Field(min_length=1)] | None = None
    model: str | None = None
    mode: Mode | None = None
    name: str | None = None


class SetModeParams(Params):
    """Parameters of `pygent/permission/setMode`."""

    session_id: str
    mode: Mode


class RulesParams(Params):
    """Parameters of `pygent/permission/rules`."""

    session_id: str | None = None


class ForgetParams(Params):
    """Parameters of `pygent/permission/forget`."""

    rule: str


class CommandSession(Params):
    """An argument of a `workspace/executeCommand` command, in any position, that selects the command's session."""

    session_id: str


KeyVariable = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,100}(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$")]

ProviderKey = Annotated[str, Field(pattern=r"^[!-~]{1,4096}$")]
"""Characters that an HTTP header can contain."""


class KeysParams(Params):
    """Parameters of `pygent/keys/set`: provider keys that the editor stores, by the environment variables in which the
    providers' keys are looked up. A key is used from the next model call until the daemon ends, for its own provider
    only, and takes precedence over the daemon's environment. Null removes a key; variables that are not named are
    unchanged."""

    keys: dict[KeyVariable, ProviderKey | None]


class NoParams(Params):
    """Parameters of requests that take none."""
