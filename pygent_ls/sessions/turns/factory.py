"""Builds a session's turns from the settings at the time they begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypedDict

from msgspec.structs import replace

from pygent_ls.agent.context.attachments import shown_attachments
from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.events import PromptAttachment
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.turn_spec import ModelSettings, TurnLimits, TurnSpec
from pygent_ls.errors import ModelError
from pygent_ls.sessions.titles import UNNAMED, name_of, name_of_attached
from pygent_ls.sessions.turns.choices import Choices, Chosen, limits_for, model_settings_for, narrowed
from pygent_ls.sessions.turns.command_turn import CommandAnswer, ModelPrompt, failing, owing_a_value, saying
from pygent_ls.sessions.turns.prompt import opening, system_prompt
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.session_parts import ActiveParts, SessionOwner
from pygent_ls.sessions.turns.subagents import SubagentFactory

if TYPE_CHECKING:
    from pygent_ls.agent.messages import Message
    from pygent_ls.agent.session_services import SessionServices
    from pygent_ls.sessions.turns.context import SessionContext
    from pygent_ls.sessions.turns.hooks import SessionHooks
    from pygent_ls.sessions.turns.ports import OwnSession
    from pygent_ls.sessions.turns.turn import RunningTurn


class TurnOpening(TypedDict):
    """Fields of the `turn_queued` and `turn_started` events."""

    prompt: str
    model: str
    mode: Mode
    agent: str
    attachments: tuple[PromptAttachment, ...]


class TurnFactory:
    """Builds the turns of one session."""

    def __init__(self, active: ActiveParts, choices: Choices, context: SessionContext, hooks: SessionHooks) -> None:
        self._active = active
        self._folder = active.parts.working_directory
        """Folder in which commands last ran, as far as the user knows."""
        self._choices = choices
        self._context = context
        self._hooks = hooks

    def transfer(self, owner: SessionOwner | None, session: OwnSession) -> None:
        """Transfer the session to this front end, unless it is there already."""
        if owner not in (None, self._active.parts.owner):
            self._active.transfer(owner.parts_of(session.id, session.working_directory, session.state))
            self._choices.transfer()

    def choices_at(self, owner: SessionOwner | None, session: OwnSession) -> Choices:
        """Return the choices that would apply to a turn that begins in that front end now."""
        if owner in (None, self._active.parts.owner):
            return self._choices
        there = ActiveParts(owner.parts_of(session.id, session.working_directory, session.state))
        return Choices(there, self._active.services.memory.permissions)

    async def take_settings(self) -> tuple[str, ...]:
        """Apply the current settings from this turn on; return the notices for the user. Raises `ModelError` if they
        name an unavailable model."""
        active = self._active
        was, self._folder = self._folder, active.services.environment.working_directory
        news = () if was == self._folder else (f"The folder of the session changed from {was} to {self._folder}.",)
        if active.parts.take_settings is None:
            return news
        taken = await active.parts.take_settings()
        active.take(taken)
        self._choices.take(taken)
        return (*news, *taken.notices)

    async def asked(self, turn: RunningTurn, session: OwnSession) -> CommandAnswer | None:
        """Return the answer of a slash command in the prompt; None if the model is asked, possibly with an expanded
        prompt."""
        if not turn.request.takes_commands:
            return await self._without_model(turn, session)
        asked = await self._active.parts.commands.asked_in(
            turn.request.prompt, session, has_attachments=turn.request.has_attachments
        )
        if isinstance(asked, ModelPrompt):
            turn.request = turn.request.saying(asked)
            problem = self._choices.problem_of(turn.request)
            return failing(problem) if problem else await self._without_model(turn, session)
        if asked is None:
            return await self._without_model(turn, session)
        return owing_a_value() if turn.request.output_schema is not None else asked

    async def _without_model(self, turn: RunningTurn, session: OwnSession) -> CommandAnswer | None:
        """Return the answer given because no model is configured; None if the model is asked."""
        ask, request = self._active.parts.answer_without_model, turn.request
        if ask is None or not self._choices.is_left_to_settings(request):
            return None
        try:
            text = await ask(session.id, request.prompt)
        except ModelError as error:
            return failing(error)
        return None if text is None else saying(text)

    async def spec(
        self,
        turn: RunningTurn,
        chosen: Chosen,
        services: SessionServices,
        history: Sequence[Message],
        notices: tuple[str, ...],
    ) -> TurnSpec:
        """Return the specification of a turn, without the history itself. `services` has only the tools of the turn's
        agent."""
        request, limits, profile = turn.request, self._active.limits, chosen.profile
        within = limits_for(request, profile, limits.turn)
        settings = self._model_settings(request, chosen)
        opened = await opening(
            request.parts,
            self._active.services,
            self._active.parts.make_system_prompt,
            history=history,
            rules=settings.context,
            wanted=PromptFor(
                mode=chosen.mode, tools=[each.name for each in services.tools.list_all()], agent=profile.prompt
            ),
            mentions=request.mentions,
        )
        summarizer, problems = self._context.summarizer()
        return TurnSpec(
            turn_id=turn.turn_id,
            prompt=await self.shown_prompt(turn),
            attachments=await self._shown_attachments(turn),
            content=opened.content,
            model=self._choices.for_turn(request).model,  # another model may have been chosen meanwhile
            mode=chosen.mode,
            agent=profile.name,
            system=opened.system,
            limits=within,
            model_settings=settings,
            make_model=self._choices.made,
            session_source=self._hooks.take(),
            summarizer=summarizer,
            notices=(*notices, *profile.notices, *request.notices, *problems, *self._cut(request, within)),
            output_schema=request.output_schema,
        )

    def _cut(self, request: TurnRequest, limits: TurnLimits) -> Iterator[str]:
        """Yield a notice for each limit of the request that is above the administrator's."""
        for name in ("max_iterations", "max_tokens", "max_budget_usd"):
            wanted, used = getattr(request, name), getattr(limits, name)
            if wanted is not None and wanted != used:
                yield f"{name} = {wanted:g} is limited to {used:g} by {self._choices.admin.file}."

    def _model_settings(self, request: TurnRequest, chosen: Chosen) -> ModelSettings:
        limits, profile = self._active.limits, chosen.profile
        return replace(
            model_settings_for(limits.model, profile, self._context.rules_for(profile.context_mode)),
            max_thinking_tokens=self._choices.thinking_tokens(limits.model.max_thinking_tokens),
            effort=self._choices.effort_for(request, profile),
        )

    async def beside_turns(self, history: Sequence[Message]) -> tuple[SessionServices, TurnSpec]:
        """Return the services and the specification of a turn that would begin now, for a request that is not part of
        the conversation. Nothing is changed. Raises `ModelError` if the session's model is unavailable."""
        request = TurnRequest(parts=())
        chosen = self._choices.for_turn(request)
        services = narrowed(self._active.services, chosen.profile, request)
        wanted = PromptFor(
            mode=chosen.mode, tools=[each.name for each in services.tools.list_all()], agent=chosen.profile.prompt
        )
        spec = TurnSpec(
            turn_id=next((each.turn_id for each in reversed(history) if each.turn_id), ""),
            prompt="",
            content="",
            model=chosen.model,
            mode=chosen.mode,
            agent=chosen.profile.name,
            system=await system_prompt(self._active.services, self._active.parts.make_system_prompt, wanted),
            limits=limits_for(request, chosen.profile, self._active.limits.turn),
            model_settings=self._model_settings(request, chosen),
            make_model=self._choices.made,
        )
        return services, spec

    def subagents(self) -> SubagentFactory:
        """Return what makes the subagents of a turn."""
        return SubagentFactory(
            variants=self._choices.variants,
            make_model=self._choices.made,
            make_system_prompt=self._active.parts.make_system_prompt,
        )

    async def beginning(self, turn: RunningTurn, chosen: Chosen) -> TurnOpening:
        """Return the fields of the events that announce that a turn waits or begins."""
        return {
            "prompt": await self.shown_prompt(turn),
            "model": chosen.model.name,
            "mode": chosen.mode,
            "agent": chosen.profile.name,
            "attachments": await self._shown_attachments(turn),
        }

    async def name(self, turn: RunningTurn) -> str:
        """Return the name of a session that begins with this turn."""
        attached = await self._active.services.memory.secrets.masked(name_of_attached(turn.request.parts))
        return name_of(turn.prompt) or attached or UNNAMED

    async def shown_prompt(self, turn: RunningTurn) -> str:
        """Return the user's text with secrets masked, and store it in the turn."""
        turn.prompt = await self._active.services.memory.secrets.masked(turn.said)
        return turn.prompt

    async def _shown_attachments(self, turn: RunningTurn) -> tuple[PromptAttachment, ...]:
        return await shown_attachments(turn.request.parts, self._active.services.memory.secrets.masked)
