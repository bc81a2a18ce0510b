"""Model setup: the questions of `llm/setup` with this user's settings, keys and front end."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.app.defaults import model_and_reason
from pygent_ls.app.factories import endpoints_of
from pygent_ls.config.layers import OF_A_PROVIDER
from pygent_ls.config.live import LiveSettings, Taken
from pygent_ls.config.sources import user_file
from pygent_ls.errors import ModelError, SettingError
from pygent_ls.secrets.log_mask import hide

if TYPE_CHECKING:
    from pygent_ls.agent.ports.questioner import Questioner
    from pygent_ls.config.layers import Loaded
    from pygent_ls.llm.keys.key_store import KeyStore
    from pygent_ls.llm.providers.endpoints import Endpoints
    from pygent_ls.llm.resources import ModelResources
    from pygent_ls.llm.setup.discovery import Discovered, LocalServer
    from pygent_ls.llm.setup.flow import Candidate, SetUp, Way

NO_MODEL = (
    "No model is set up yet, so nothing was done. Run `pygent-ls setup` in a terminal, or the command "
    "`pygent.setup` in your editor, to use a local model or a provider's key. (Until then the offline model answers "
    "a few fixed forms of request; `help` lists them.)"
)
SET_UP = "Set up a model"
NOT_NOW = "Not now"


def _to_nobody() -> None:
    """Ignore a change of the default model: no editor shows a list of models."""


class AppSetup(Struct, frozen=True, kw_only=True):
    """Model setup for one front end."""

    live: LiveSettings
    keys: KeyStore
    models: ModelResources
    find: Callable[[str], str | None]
    """Function that finds a program."""
    folder: Callable[[], Path | None]
    """Function that returns the workspace folder whose settings apply."""
    questioner: Questioner
    tell: Callable[[str], None]
    on_change: Callable[[], None] = _to_nobody
    """Called when the default model changes."""
    offers: bool = False
    """Whether a prompt without a model may lead to a setup question."""
    _offered: set[str] = field(default_factory=set[str])
    """Sessions in which the question was asked."""

    async def run(self, way: Way = "any") -> SetUp:
        """Ask, check and save. Raises nothing except cancellation."""
        from pygent_ls.llm.setup.flow import SetupPorts, set_up

        ports = SetupPorts(
            questioner=self.questioner,
            tell=self.tell,
            found=self._found,
            server_at=self._server_at,
            models_of=self._models_of,
            check=self._check,
            save_key=lambda provider, key: asyncio.to_thread(self.keys.save, provider, key),
            save_key_in_file=lambda provider, key: asyncio.to_thread(self.keys.save_in_file, provider, key),
            save_model=self._save_model,
        )
        done = await set_up(ports, way)
        if done.model:
            self.on_change()
        return done

    async def answer_without_model(self, session_id: str, prompt: str) -> str | None:
        """Return the answer to a prompt that would go to the offline model only because no model is set up.

        Asks the user, once per session, whether to set one up. Returns None if the turn should continue with the model
        that is set up now. Raises `ModelError` if the user cannot be asked, so that scripts can detect that nothing was
        done.
        """
        if not await self._needs_model():
            return None
        from pygent_ls.llm.offline.grammar import NotUnderstood, parse

        if not isinstance(parse(prompt), NotUnderstood):
            return None
        if not self.offers:
            raise ModelError(NO_MODEL, type="invalid_request")
        if session_id in self._offered or not await self._is_wanted(session_id):
            return NO_MODEL
        if not await self._needs_model():  # the session's editor has set one up meanwhile
            return None
        done = await self.run()
        if not done.model:
            return f"{done.text}\n\n{NO_MODEL}"
        self.tell(done.text)
        return None

    async def _is_wanted(self, session_id: str) -> bool:
        from pygent_ls.agent.ports.questioner import AnswerChoice, Question, QuestionAnswered

        self._offered.add(session_id)
        question = Question(
            question_id=str(uuid4()),
            session_id=session_id,
            tool_id="",
            text="No model is set up yet. Set one up now? This takes a minute; then your prompt is answered.",
            choices=(AnswerChoice(title=SET_UP), AnswerChoice(title=NOT_NOW)),
            from_model=False,
            offers_setup=True,
        )
        answer = await self.questioner.ask(question)
        return isinstance(answer, QuestionAnswered) and answer.choice == SET_UP

    # Data that the questions need

    async def _taken(self) -> Taken:
        return await asyncio.to_thread(self.live.take, self.folder())

    async def _model(self, loaded: Loaded) -> str:
        """Return the model from the settings or the available keys."""
        return (await asyncio.to_thread(model_and_reason, loaded, self.keys))[0]

    async def _needs_model(self) -> bool:
        from pygent_ls.llm.providers.known_providers import OFFLINE

        loaded = (await self._taken()).loaded
        return not loaded.settings.model and (await self._model(loaded)) == OFFLINE

    async def _server_at(self, address: str) -> LocalServer | None:
        from pygent_ls.llm.setup.discovery import server_at

        return await server_at(address)

    async def _found(self) -> Discovered:
        from pygent_ls.llm.setup.discovery import discover

        return await discover(os.environ, self.find, await asyncio.to_thread(self.keys.providers))

    async def _models_of(self, provider: str) -> Sequence[str]:
        from pygent_ls.llm.model_list import models_to_offer

        return await models_to_offer(provider, self.models)

    async def _check(self, candidate: Candidate) -> float:
        from pygent_ls.llm.check_call import check_call
        from pygent_ls.llm.routing import make_configured_model, missing_extra, with_text_tools

        if missing := missing_extra(candidate.model):
            raise ModelError(missing, type="invalid_request")
        if candidate.key:
            hide([candidate.key])  # also a wrong key, which may be nearly right
        await asyncio.to_thread(self.keys.refresh)
        endpoints = await self._endpoints(candidate)
        try:
            made = make_configured_model(candidate.model, endpoints, self.models, agent_base=candidate.api_base or "")
        except SettingError as error:
            raise ModelError(str(error), type="invalid_request") from None
        return (await check_call(with_text_tools(made, endpoints.common.text_tool_calls))).seconds

    async def _endpoints(self, candidate: Candidate) -> Endpoints:
        """Return the configured endpoints with the key under test. Raises `SettingError` if other settings would apply
        later.
        """
        loaded = (await self._taken()).loaded
        current = await self._model(loaded)
        if candidate.model.partition("/")[0] != await self._provider_of(current):
            _refuse_settings_of_nobody(loaded, has_owner=bool(await self._provider_of(current)))
        found = endpoints_of(loaded, current)
        return replace(found, common=dataclasses.replace(found.common, api_key=candidate.key))

    async def _save_model(self, candidate: Candidate) -> str:
        from pygent_ls.config.user_file import model_in, save_model

        file, name = user_file(), candidate.model
        owner = await asyncio.to_thread(model_in, file) or await self._model((await self._taken()).loaded)
        former = await self._provider_of(owner)
        await asyncio.to_thread(save_model, file, name, api_base=candidate.api_base, former_provider=former)
        loaded = (await self._taken()).loaded
        if loaded.settings.model != name:
            origin = loaded.origins["model"]
            return f"It is saved in {file} but not used here: {origin} sets {loaded.settings.model}."
        return f"It is now the default model in {file}, used from your next prompt on."

    async def _provider_of(self, model: str) -> str:
        """Return the model's provider; empty for the offline model and for models of unknown providers."""
        from pygent_ls.llm.providers.known_providers import OFFLINE

        provider, slash, _ = model.partition("/")
        if model == OFFLINE or ":" in provider:
            return ""
        return provider if slash else await self.models.prices.provider_of(model)


def _refuse_settings_of_nobody(loaded: Loaded, *, has_owner: bool) -> None:
    """Refuse a model of another provider if a setting without a model beside it would then apply to that provider.

    Such settings in the user's own file move to their provider's table if there is a provider now. Raises
    `SettingError`.
    """
    own = str(user_file())
    for key in OF_A_PROVIDER:
        is_of_nobody = getattr(loaded.settings, key) and not loaded.models_beside.get(key)
        if is_of_nobody and not (has_owner and own in loaded.origins[key]):
            raise SettingError(
                f"The setting `{key}` ({loaded.origins[key]}) is set without a model and would apply to this one. "
                "Move it to `[providers.NAME]`, or remove it."
            )
