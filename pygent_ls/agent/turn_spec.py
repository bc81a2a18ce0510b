"""What a turn is to do, with which model and agent, and within which limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct, field

from pygent_ls.agent.context.window import CompactionRules, ContextRules
from pygent_ls.agent.events import PromptAttachment
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Block
from pygent_ls.agent.model.retry import RetryPolicy
from pygent_ls.agent.ports.hooks import HookSource
from pygent_ls.agent.ports.model import Effort, Model
from pygent_ls.errors import ModelError


class TurnLimits(Struct, frozen=True, kw_only=True):
    """Limits of one turn; 0 means no limit."""

    max_iterations: int = 0
    """Maximum number of model calls."""
    max_tokens: int = 0
    """Maximum input and output tokens of all calls together."""
    max_budget_usd: float = 0.0
    max_seconds: float = 0.0
    """Maximum duration, without the time in which the turn was paused."""
    ceilings: TurnLimits | None = None
    """Limits of the administrator. The other limits cannot be raised above them, and the turn cannot go on beyond
    them."""

    def within(self, ceilings: TurnLimits | None) -> TurnLimits:
        """Return these limits, each at most as high as its ceiling."""
        if ceilings is None:
            return self
        return TurnLimits(
            max_iterations=_lower(self.max_iterations, ceilings.max_iterations),
            max_tokens=_lower(self.max_tokens, ceilings.max_tokens),
            max_budget_usd=_lower(self.max_budget_usd, ceilings.max_budget_usd),
            max_seconds=_lower(self.max_seconds, ceilings.max_seconds),
            ceilings=ceilings,
        )


Number = TypeVar("Number", int, float)


def _lower(one: Number, other: Number) -> Number:
    """Return the lower of two limits; 0 means no limit."""
    return min(one, other) if one and other else one or other


class ModelSettings(Struct, frozen=True, kw_only=True):
    """How a turn calls its models."""

    max_output_tokens: int
    temperature: float
    max_thinking_tokens: int = 0
    """Maximum thinking tokens; 0 asks for no thinking, unless `effort` does."""
    effort: Effort | None = None
    """Effort chosen for the turn, its session or its agent; None leaves it to the settings."""
    stream: bool = True
    """Whether an answer is emitted piece by piece; else once it is complete."""
    provider_search: bool = False
    """Whether a model whose provider can search the web does so in place of the tool `web_search`."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    fallback_models: tuple[str, ...] = ()
    """Models tried in order once a model has failed for good; the turn stays with the one that answers."""
    context: ContextRules = field(default_factory=ContextRules)
    """Rules on which part of the history the model is sent."""
    compaction: CompactionRules = field(default_factory=CompactionRules)


def no_other_model(name: str) -> Model:
    """Raise `ModelError`: the default `make_model`, for a turn with one model."""
    raise ModelError(f"{name} is not available here.", type="invalid_request")


class TurnSpec(Struct, frozen=True, kw_only=True):
    """Specification of one turn."""

    turn_id: str
    prompt: str
    """Prompt as the user wrote it."""
    attachments: tuple[PromptAttachment, ...] = ()
    """Attachments of the prompt, as a client shows them."""
    content: str | tuple[Block, ...]
    """Prompt as the model reads it."""
    model: Model
    mode: str
    agent: str
    system: str
    limits: TurnLimits
    model_settings: ModelSettings
    make_model: Callable[[str], Model] = no_other_model
    """Makes a fallback model. Raises `ModelError` for one that is not available."""
    summarizer: Model | None = None
    """Model that summarises; None for the model that is called."""
    notices: tuple[str, ...] = ()
    """Notices for the user when the turn begins."""
    output_schema: Mapping[str, Any] | None = None
    """Schema that its answer must match; None if it answers with text."""
    session_source: HookSource | None = None
    """Why the session starts with this turn; None if the session continues."""
    parent_tool_id: str | None = None
    """Id of the `task` call whose subagent this turn is. Such a turn emits neither its beginning nor its end, each of
    its events names the call, and a cancellation propagates to the parent turn."""
    source: str = ""
    """Name shown in permission prompts of a subagent: `subagent …`; else empty."""
    ceiling: Mode | None = None
    """Upper bound on a subagent's permission mode; None for the turn itself."""

    @property
    def item_prefix(self) -> str:
        """Prefix of its item ids, unique among the agents of the turn."""
        return self.turn_id if self.parent_tool_id is None else f"{self.turn_id}-{self.parent_tool_id}"
