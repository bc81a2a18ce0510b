"""What the settings say when a turn begins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pygent_ls.agent.compaction import CompactionRules
from pygent_ls.agent.context import ContextRules
from pygent_ls.agent.limits import TurnLimits
from pygent_ls.agent.model import Model
from pygent_ls.agent.permissions import Mode, Policy
from pygent_ls.agent.prompt import PromptFor
from pygent_ls.agent.retrying import RetryPolicy
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.agent.variants import DEFAULT, Variants, variants

MakeModelAt = Callable[[str, str], Model]
"""By a name and an address. Raises `ModelError` for a name that no provider takes."""

MakeSystemPrompt = Callable[[PromptFor], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds a turn; values of the settings."""

    turn: TurnLimits
    max_output_tokens: int
    temperature: float
    stream_flush_s: float
    max_thinking_tokens: int = 0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    fallback_models: tuple[str, ...] = ()
    context: ContextRules = field(default_factory=ContextRules)
    compaction: CompactionRules = field(default_factory=CompactionRules)
    summarizer: str = ""
    """The name of the model that sums up; empty: the turn's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """The settings at one moment; the turn keeps them to its end."""

    model: str
    """Of a session that has chosen none."""
    mode: Mode
    """Likewise."""
    limits: Limits
    policy: Policy
    agent: str = DEFAULT
    """Likewise."""
    variants: Variants = field(default_factory=variants)
    """All agents."""
    endpoint: object
    """What a model is made with beside its name: where it changes, models are made anew."""
    make_model: Callable[[str], Model]
    """Raises `ModelError` for a name that no provider takes."""
    make_model_at: MakeModelAt | None = None
    """The same for a model that is reached elsewhere than the settings say."""
    make_system_prompt: MakeSystemPrompt
    renewed: Callable[[Surroundings], Surroundings]
    """A session's surroundings with what the settings say of them; its own memory stays."""
    notices: tuple[str, ...] = ()
    """For the user, when the turn begins."""


AnswerWithoutModel = Callable[[str, str], Awaitable[str | None]]
"""Given the session's id and the prompt, returns what a turn answers because no model is set up; None where there is
one by now, or none is needed. May ask the user."""

TakeSettings = Callable[[], Awaitable[TurnSettings]]
"""Asks the user first where a workspace's settings need it; when cancelled, nothing has been taken."""
