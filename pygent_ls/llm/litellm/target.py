"""What a model string and an endpoint mean to litellm. It is handed the library, and does not import it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pygent_ls.errors import ModelError
from pygent_ls.llm.endpoint import NO_KEY, Endpoint
from pygent_ls.llm.errors import Called, how_to_set_key, model_error, shown
from pygent_ls.llm.http.target import is_address
from pygent_ls.llm.providers import first_set, key_variable, provider_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a model string means to litellm."""

    model: str
    """The string to call it with."""
    bare: str
    """The name without its provider."""
    api_key: str | None
    called: Called

    @property
    def family(self) -> str:
        """Family of the model: Claude's and Gemini's data are taken wherever the model runs."""
        for vendor, family in (("claude", "anthropic"), ("gemini", "gemini")):
            if vendor in self.bare:
                return family
        return self.called.provider


@dataclass(frozen=True, slots=True)
class Choice:
    """A model string and an endpoint, to be looked up."""

    name: str
    endpoint: Endpoint
    litellm: Any

    def target(self) -> Target:
        """Raises `ModelError` where the model can never be called."""
        model, bare, provider = self._provider()
        known = provider_named(provider)
        variables = known.key_variables if known else (key_variable(provider),)
        base_variable = first_set(known.base_variables, os.environ) if known else None
        address = self.endpoint.api_base or (os.environ[base_variable] if base_variable else None)
        called = Called(
            name=self.name,
            provider=provider,
            address=address,
            key_variable=self.endpoint.api_key_env or first_set(variables, os.environ) or variables[0],
            keys=(
                self.endpoint.api_key or "",
                *(os.environ.get(variable, "") for variable in variables),
                *self.endpoint.secrets,
            ),
        )
        if address is not None and not is_address(address):
            where = "setting `api_base`" if self.endpoint.api_base else f"environment variable {base_variable}"
            raise ModelError(f"The {where} is not an http address: {shown(address)!r}.", type="invalid_request")
        api_key = self._key(called, variables if known else ())
        return Target(model=model, bare=bare, api_key=api_key, called=called)

    def _provider(self) -> tuple[str, str, str]:
        """The model string, its bare name, its provider."""
        api_base = self.endpoint.api_base
        try:
            bare, provider, _, _ = self.litellm.get_llm_provider(model=self.name, api_base=api_base)
        except self.litellm.exceptions.BadRequestError as error:
            if self.name and api_base:
                return f"openai/{self.name}", self.name, "openai"
            called = Called(name=self.name, provider="", address=None, key_variable="")
            raise model_error(error, called) from None
        return self.name, bare, provider

    def _key(self, called: Called, variables: tuple[str, ...]) -> str | None:
        """The key to hand over; None where litellm finds it, or none is needed."""
        if self.endpoint.api_key:
            return self.endpoint.api_key
        if not self.endpoint.api_key_env and (not variables or first_set(variables, os.environ)):
            return None
        if not self.endpoint.api_key_env and (called.address or not self._needs_key(called.provider)):
            return NO_KEY
        message = f"No key for {called.provider}. {how_to_set_key(called.key_variable)}"
        raise ModelError(message, type="auth", provider=called.provider)

    def _needs_key(self, provider: str) -> bool:
        known = provider_named(provider)
        return known is None or known.needs_key
