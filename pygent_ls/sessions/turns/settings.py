"""Settings that are read when a turn begins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct, field

from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.permissions.permissions import Policy
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.turn_spec import ModelSettings, TurnLimits
from pygent_ls.agent.variants import DEFAULT, Variants, variants

MakeModelAt = Callable[[str, str], Model]
"""Makes a model by name and API base URL. Raises `ModelError` for a name that no provider takes."""

MakeSystemPrompt = Callable[[PromptFor], Awaitable[str]]


class SessionLimits(Struct, frozen=True, kw_only=True):
    """Limits of a turn and of its model calls, from the settings."""

    turn: TurnLimits
    model: ModelSettings
    """How models are called, unless a turn or its agent says otherwise."""
    stream_flush_s: float
    wakes: bool = False
    """Whether the report of a subagent in the background starts a turn if none runs."""
    summarizer: str = ""
    """Name of the model that writes summaries; empty for the turn's own."""


class TurnSettings(Struct, frozen=True, kw_only=True):
    """Snapshot of the settings, which a turn uses until it ends."""

    model: str
    """Model of sessions that have chosen none."""
    mode: Mode
    """Mode of sessions that have chosen none."""
    limits: SessionLimits
    policy: Policy
    agent: str = DEFAULT
    """Agent of sessions that have chosen none."""
    variants: Variants = field(default_factory=variants)
    """All agents."""
    endpoint: object
    """Everything except the name that a model is made from. If it changes, models are made again."""
    make_model: Callable[[str], Model]
    """Makes a model by name. Raises `ModelError` for a name that no provider takes."""
    make_model_at: MakeModelAt | None = None
    """Makes a model whose API base URL differs from the settings'."""
    make_system_prompt: MakeSystemPrompt
    renewed: Callable[[SessionServices], SessionServices]
    """Returns a session's run context with the settings' values replaced; the session's own memory stays."""
    notices: tuple[str, ...] = ()
    """Notices shown to the user when the turn begins."""


AnswerWithoutModel = Callable[[str, str], Awaitable[str | None]]
"""Takes the session id and the prompt; returns the turn's answer if no model is configured, None if one is by now or
none is needed. May ask the user."""

TakeSettings = Callable[[], Awaitable[TurnSettings]]
"""Reads the settings, first asking the user if a workspace's settings require it. If cancelled, nothing has been
applied."""
