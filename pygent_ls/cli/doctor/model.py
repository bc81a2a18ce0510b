"""Checks whether the model can be called, as far as possible without calling it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.config.layers import Loaded
from pygent_ls.config.settings import Settings
from pygent_ls.errors import ModelError, SettingError

if TYPE_CHECKING:
    from pygent_ls.agent.ports.model import Model
    from pygent_ls.llm.keys.saved_keys import SavedKeys
    from pygent_ls.llm.litellm.model import LitellmModel
    from pygent_ls.llm.providers.endpoint import Endpoint
    from pygent_ls.llm.providers.endpoints import Endpoints
    from pygent_ls.llm.resources import ModelResources

CONNECT_S = 1.0
"""Seconds within which a server on this machine must accept a connection."""

SIGN_IN = frozenset({"chatgpt", "github_copilot"})
"""Providers of litellm without keys: asking litellm about them would start a sign-in."""

ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "AWS_ACCESS_KEY_ID": (".aws/credentials", ".aws/config"),
    "VERTEXAI_PROJECT": (".config/gcloud/application_default_credentials.json",),
}
"""Files below the home folder in which the provider's own library may find the value of a missing variable."""


class FoundModel(Struct, frozen=True, kw_only=True):
    """Facts about a model that are known without calling it."""

    adapter: str
    address: str = ""
    """Address of the model; empty if unknown or not applicable."""
    key: str = ""
    """Source of its key; never the key. Empty if no key is sent, or litellm looks for it."""
    price_from: str = ""
    """Source of the prices of its calls; empty if unknown or if it has no price."""
    problem: str = ""
    """Reason why it cannot be called; empty if none is known."""
    unknown: str = ""
    """Reason why it is unknown whether it can be called."""


class ModelSurvey(Struct, frozen=True):
    """Model of a turn, and the settings to create it with."""

    name: str
    main: str
    """Model of the settings, or the default one."""
    loaded: Loaded
    environment: Mapping[str, str]
    saved: SavedKeys
    state_folder: Path
    agent_base: str = ""
    """Address that the agent names for its model."""

    @property
    def settings(self) -> Settings:
        """Current settings."""
        return self.loaded.settings

    @property
    def endpoints(self) -> Endpoints:
        """Endpoints of the providers."""
        from pygent_ls.app.factories import endpoints_of

        return endpoints_of(self.loaded, self.main)

    def resources(self) -> ModelResources:
        """Return new resources for models; close them after a call."""
        from pygent_ls.app.factories import programs_of
        from pygent_ls.llm.resources import ModelResources
        from pygent_ls.workspace.processes.local_processes import processes_in

        programs = programs_of(self.settings, processes_in(Path.cwd()), self.state_folder)
        return ModelResources(cli=programs, saved_keys=self.saved)

    def make(self, resources: ModelResources) -> Model:
        """Return the model. Raises `SettingError`."""
        from pygent_ls.llm.routing import make_configured_model

        return make_configured_model(self.name, self.endpoints, resources, agent_base=self.agent_base)

    def find(self) -> FoundModel:
        """Return the known facts about the model."""
        from pygent_ls.extensions.acp.programs import PREFIX
        from pygent_ls.llm.routed_model import RoutedModel
        from pygent_ls.llm.routing import adapter_of, missing_extra

        found = FoundModel(adapter="none")
        try:
            if self.name.startswith(PREFIX):
                return self._agent()
            resources = self.resources()
            model = self.make(resources)
            if isinstance(model, RoutedModel):
                model = asyncio.run(model.routed())
            found = replace(
                found,
                adapter=adapter_of(model),
                price_from=asyncio.run(self._price_from(resources)),
                problem=missing_extra(self.name),
            )
            return found if found.problem else _unreached(self._checked(model, found))
        except (SettingError, ModelError) as error:
            return replace(found, problem=str(error))

    def _agent(self) -> FoundModel:
        """Return what is known of an agent of another program. Raises `SettingError`."""
        from pygent_ls.app.external_models import agent_programs_of
        from pygent_ls.extensions.acp.programs import program_named
        from pygent_ls.workspace.processes.local_processes import processes_in

        program, _ = program_named(self.name, agent_programs_of(self.settings))
        is_there = processes_in(Path.cwd()).find(program.command[0]) is not None
        adapter = f"{program.label}, an agent of its own, run as the program {program.command[0]}, outside the sandbox"
        return FoundModel(adapter=adapter, problem="" if is_there else program.missing)

    async def _price_from(self, resources: ModelResources) -> str:
        """Return the source of prices in the settings and tables; OpenRouter's own list would need the network."""
        prices = resources.prices
        bare = self.name.removeprefix("litellm/")
        provider = self.endpoints.provider_of(self.name)
        if provider is None:
            provider = await prices.provider_of(bare)
        else:
            bare = bare.partition("/")[2]
        known = await prices.look_up(self.name, provider, bare, self.endpoints.common.own_facts)
        return known.price_from

    def _checked(self, model: Model, found: FoundModel) -> FoundModel:
        from pygent_ls.llm.anthropic.model import AnthropicModel
        from pygent_ls.llm.errors.model_errors import shown
        from pygent_ls.llm.litellm.model import LitellmModel
        from pygent_ls.llm.openai.chat_model import OpenAIModel

        match model:
            case OpenAIModel() | AnthropicModel():
                target = model.target(self.environment)
                return replace(found, address=shown(target.base), key=target.key_source)
            case LitellmModel():
                return self._of_litellm(model, found)
            case _:
                asyncio.run(model.prepare())  # a script or a program
                return found

    def _of_litellm(self, model: LitellmModel, found: FoundModel) -> FoundModel:
        from pygent_ls.llm.errors.model_errors import shown
        from pygent_ls.llm.providers.known_providers import provider_named
        from pygent_ls.llm.providers.litellm_providers import has_requirements, key_names, missing_variables
        from pygent_ls.llm.providers.provider_keys import find_key

        provider = self.endpoints.provider_of(self.name) or ""
        known, endpoint = provider_named(provider), model.endpoint
        variables = known.key_variables if known else key_names(provider)
        key = find_key(provider, variables, endpoint, self.environment, self.saved)
        found = replace(found, address=shown(endpoint.api_base or ""), key=key.source if key else "")
        if key is not None and key.problem:
            return replace(found, problem=key.problem)
        if endpoint.api_key_env and key is None:
            return replace(found, problem=_to_set(provider, [endpoint.api_key_env]))
        if known is not None:
            return replace(found, problem=self._missing_key(provider, endpoint) if key is None else "")
        if provider in SIGN_IN:
            return replace(found, unknown=f"{provider} signs in at the first call.")
        if has_requirements(provider):
            has_address = bool(endpoint.api_base)
            missing = missing_variables(provider, self.environment, has_key=key is not None, has_address=has_address)
            return replace(found, problem=_to_set(provider, missing) if missing else "")
        return _as_litellm_says(model, found)

    def _missing_key(self, name: str, endpoint: Endpoint) -> str:
        from pygent_ls.llm.providers.known_providers import first_set, provider_named

        known = provider_named(name)
        if known is None or not known.needs_key:
            return ""
        if endpoint.api_base or first_set(known.base_variables, self.environment):
            return ""  # a server of the user's own, which may need no key
        return _to_set(name, known.key_variables[:1])


def _unreached(found: FoundModel) -> FoundModel:
    """Try to connect to a server on this machine; remote servers are tested by the call only."""
    from pygent_ls.llm.providers.endpoints import is_loopback

    if found.problem or not found.address or not is_loopback(found.address):
        return found
    parts = urlsplit(found.address)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), CONNECT_S):
            return found
    except OSError:
        return replace(found, problem=f"No server answers at {found.address}. Start it, or check the address.")


def _as_litellm_says(model: LitellmModel, found: FoundModel) -> FoundModel:
    """Run litellm's own check of the environment; loading litellm takes seconds."""
    check = asyncio.run(model.check_environment())
    variables = ", ".join(check.missing)
    if any((Path.home() / name).exists() for each in check.missing for name in ELSEWHERE.get(each, ())):
        reason = f"{variables} are not set. {check.provider} may find its credentials in your home folder."
        return replace(found, unknown=reason)
    if check.missing:
        return replace(found, problem=_to_set(check.provider, check.missing))
    if not check.is_judged:
        return replace(found, unknown=f"litellm does not report what {check.provider} needs.")
    return found


def _to_set(provider: str, variables: list[str] | tuple[str, ...]) -> str:
    from pygent_ls.llm.errors.model_errors import how_to_set_key

    if len(variables) == 1:
        return f"No key for {provider}. {how_to_set_key(variables[0], provider)}"
    return (
        f"{provider} needs {', '.join(variables)}, which are not set. Set these environment variables and restart "
        "pygent-ls, or choose another model in the setting `model`."
    )
