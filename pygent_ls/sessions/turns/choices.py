"""Choice of the agent, the model and the mode of a session's turns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.admin_limits import AdminLimits
from pygent_ls.agent.context.window import ContextRules
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.permissions.permissions import Permissions
from pygent_ls.agent.ports.model import Effort, Model
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.turn_spec import ModelSettings, TurnLimits
from pygent_ls.agent.variants import AgentProfile, Variants, matches, without
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.sessions.turns.mentions import agent_mentioned
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.session_parts import ActiveParts
from pygent_ls.sessions.turns.settings import TurnSettings

Number = TypeVar("Number", int, float)


class Chosen(Struct, frozen=True, kw_only=True):
    """Agent, model and mode of one turn."""

    profile: AgentProfile
    model: Model
    mode: Mode
    own_mode: Mode | None
    """Mode that the turn or the agent sets; None if it is the session's, which may change during the turn."""


class Choices:
    """Agent, model and mode chosen for one session.

    The turn's model takes precedence over the session's, then the agent's, then the settings'. Modes follow the same
    order, except that the session's mode cannot loosen that of an agent that only plans.
    """

    def __init__(self, active: ActiveParts, permissions: Permissions) -> None:
        parts = active.parts
        self.agent = parts.agent
        self.model = parts.model
        self.max_thinking_tokens: int | None = None
        """Limit per model call; None if the settings choose."""
        self.effort: Effort | None = None
        """None if the agent or the settings choose."""
        self._has_own_agent = parts.has_own_agent
        self._has_own_model = parts.has_own_model
        self._active = active
        self._permissions = permissions
        self._variants = parts.variants
        self._endpoint: object = None
        self._models: dict[tuple[str, str], Model] = {}

    @property
    def own_agent(self) -> str | None:
        """Agent that was chosen for the session; None if the settings choose."""
        return self.agent if self._has_own_agent and "agent" not in self.admin.locked else None

    @property
    def own_model(self) -> str | None:
        """Model that was chosen for the session; None if the agent or the settings choose."""
        return self.model if self._has_own_model and "model" not in self.admin.locked else None

    @property
    def admin(self) -> AdminLimits:
        """What the administrator keeps the session from choosing."""
        return self._permissions.admin

    def _check_own(self, setting: str, wanted: str | None, usual: str) -> None:
        """Raise `SessionError` (`locked_by_admin`) if the setting is locked and something else is wanted."""
        if wanted not in (None, usual):
            self.admin.check(setting)

    @property
    def variants(self) -> Variants:
        """All agents."""
        return self._variants

    @property
    def model_now(self) -> str:
        """Name of the model of a turn that chooses none."""
        return self.own_model or self._profile(None).model or self.model

    @property
    def mode_now(self) -> Mode:
        """Mode of a turn that chooses none."""
        return self._mode(None, self._profile(None)) or self._permissions.mode

    def thinking_tokens(self, usual: int) -> int:
        """Return the thinking token limit of a model call; `usual` is the settings' value."""
        if self.max_thinking_tokens is None:
            return usual
        return int(min(self.max_thinking_tokens, self.admin.ceilings.get("max_thinking_tokens", math.inf)))

    def effort_for(self, request: TurnRequest, profile: AgentProfile) -> Effort | None:
        """Return the effort of a turn; None if the settings choose."""
        own = self.effort if "effort" not in self.admin.locked else None
        return request.effort or own or profile.effort

    def set_effort(self, effort: Effort | None) -> None:
        """Use another effort from the next turn on. Raises `SessionError` (`locked_by_admin`)."""
        if effort is not None:
            self.admin.check("effort")
        self.effort = effort

    def set_model(self, name: str) -> None:
        """Use another model from the next turn on. Raises `ModelError` if it is unavailable, `SessionError`
        (`locked_by_admin`)."""
        self._check_own("model", name, self.model)
        self.made(name)
        self.model = name
        self._has_own_model = True

    def set_agent(self, name: str) -> None:
        """Use another agent from the next turn on. Raises `SessionError` (`unknown_agent`, `locked_by_admin`)."""
        self._check_own("agent", name, self.agent)
        self.found(name)
        self.agent = name
        self._has_own_agent = True

    def transfer(self) -> None:
        """Apply the settings of another front end, to which the session was transferred, to everything that was not
        chosen for the session."""
        parts = self._active.parts
        self._variants = parts.variants
        if self.own_agent is None:
            self.agent = parts.agent
        if self.own_model is None:
            self.model = parts.model

    def take(self, taken: TurnSettings) -> None:
        """Apply the current settings. Raises `ModelError` if they name an unavailable model."""
        self._variants = taken.variants
        if taken.endpoint != self._endpoint:
            self._endpoint = taken.endpoint
            self._models.clear()
        self._has_own_agent, self._has_own_model = self.own_agent is not None, self.own_model is not None
        if not self._has_own_agent:
            self.agent = taken.agent
        if not self._has_own_model:
            if not self._profile(None).model:
                self.made(taken.model)  # if this raises, the next turn starts with the previous model
            self.model = taken.model

    def for_turn(self, request: TurnRequest) -> Chosen:
        """Return what a turn uses. Raises `SessionError` (`unknown_agent`, `locked_by_admin`, or a mode that is not
        allowed), and `ModelError` if its model is unavailable."""
        words = request.prompt if request.own_words is None else request.own_words
        named = agent_mentioned(words) or request.agent
        self._check_own("agent", named, self.agent)
        self._check_own("model", request.model, self.model)
        if request.effort is not None:
            self.admin.check("effort")
        profile = self._profile(named)
        self._permissions.check_mode(request.mode)
        own = self._mode(request.mode, profile)
        self._permissions.check_mode(own)
        model = request.model or self.own_model
        made = self.made(model) if model else self.made(profile.model or self.model, profile.api_base)
        return Chosen(profile=profile, model=made, mode=own or self._permissions.mode, own_mode=own)

    def is_left_to_settings(self, request: TurnRequest) -> bool:
        """Whether none of the turn, the session and its agent chooses a model."""
        words = request.prompt if request.own_words is None else request.own_words
        return not (request.model or self.own_model or self._profile(agent_mentioned(words) or request.agent).model)

    def problem_of(self, request: TurnRequest) -> SessionError | ModelError | None:
        """Return the error that such a turn would raise; None if it can run."""
        try:
            self.for_turn(request)
        except (SessionError, ModelError) as error:
            return error
        return None

    def made(self, name: str, api_base: str = "") -> Model:
        """Return the model, one instance per name, because a scripted model keeps its position. Raises `ModelError`."""
        key = (name, api_base)
        if key not in self._models:
            make_at = self._active.parts.make_model_at
            self._models[key] = make_at(name, api_base) if api_base and make_at else self._active.parts.make_model(name)
        return self._models[key]

    def _profile(self, named: str | None) -> AgentProfile:
        if named is not None:
            return self.found(named)
        return self._variants.usual(self.agent, "agent of this session" if self._has_own_agent else "setting `agent`")

    def found(self, name: str) -> AgentProfile:
        """Return the agent of that name, reading the settings again if it is unknown. Raises `SessionError`
        (`unknown_agent`)."""
        if name not in self._variants.profiles and self._active.parts.look_up_variants:
            self._variants = self._active.parts.look_up_variants()
        return self._variants.get(name)

    def _mode(self, of_turn: Mode | None, profile: AgentProfile) -> Mode | None:
        """Return the mode that takes precedence over the session's and the settings'; None if those apply."""
        if self._permissions.is_restricted:
            return "plan"
        if of_turn is not None:
            return of_turn
        if profile.mode == "plan":
            return "plan"
        return profile.mode if self._permissions.own_mode is None else None


def narrowed(services: SessionServices, profile: AgentProfile, request: TurnRequest) -> SessionServices:
    """Return the services with only the tools that both the agent and the request allow, and the request's own."""
    tools = profile.offered(services.tools)
    if request.tools is not None:
        missing = [each.name for each in tools.list_all() if not matches(each.name, request.tools)]
        tools = without(tools, dict.fromkeys(missing, "is not available in this turn"))
    if request.own_tools:
        tools = tools.with_tools([*tools.list_all(), *request.own_tools], tools.withheld)
    return replace(services, tools=tools)


def model_settings_for(usual: ModelSettings, profile: AgentProfile, context: ContextRules) -> ModelSettings:
    """Return how the agent calls its model, with these rules on its context; `usual` is what it does not define."""
    return replace(
        usual,
        temperature=usual.temperature if profile.temperature is None else profile.temperature,
        context=context,
        stream=profile.stream,
    )


def limits_for(request: TurnRequest, profile: AgentProfile, usual: TurnLimits) -> TurnLimits:
    """Return the limits of a turn: the turn's own take precedence over its agent's, then the settings', and none is
    above the administrator's."""
    chosen = replace(
        usual,
        max_iterations=_first((request.max_iterations, profile.max_iterations), usual.max_iterations),
        max_tokens=_first((request.max_tokens, profile.max_tokens), usual.max_tokens),
        max_budget_usd=_first((request.max_budget_usd, profile.max_budget_usd), usual.max_budget_usd),
    )
    return chosen.within(usual.ceilings)


def _first(given: Iterable[Number | None], otherwise: Number) -> Number:
    return next((each for each in given if each is not None), otherwise)
