"""How a provider is reached; the settings as the adapters take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pygent_ls.agent.model import Effort, ModelRequest
from pygent_ls.llm.cli.programs import CliProgram
from pygent_ls.llm.known_model import KnownModel, OwnFacts
from pygent_ls.llm.text_tools.model import TextToolCallsSetting

NO_KEY = "none"
"""Sent to a server of the user's own where no key is set: some clients and proxies refuse to send nothing."""


LEAST_SECRET_CHARS = 8
"""Of a header's value: masked are tokens, and not the `1` or `blue` that other words are made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """How a provider is reached. What is None or empty is the adapter's own choice, from the environment."""

    api_base: str | None = None
    api_base_setting: str = "api_base"
    """Setting that gives `api_base`, for messages."""
    api_key: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    """The variable that the user says the key is in."""
    keys: Literal["all", "environment", "none"] = "all"
    """Which keys of the provider may be sent to `api_base`: `environment` excludes the one that was saved."""
    extra_headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    betas: tuple[str, ...] = ()
    """Features that a provider has on trial; Anthropic's are named in a header."""
    effort: Effort | None = None
    """How much models reason that are told nothing else; None leaves it to their providers."""
    cache_ttl: str = ""
    """How long Anthropic keeps a prompt in its cache: `1h`; empty: its own five minutes."""
    first_byte_timeout_s: float = 300.0
    """Until the first byte of an answer: local models load slowly."""
    idle_timeout_s: float = 60.0
    """Between two pieces of it."""
    own_facts: Mapping[str, OwnFacts] = field(default_factory=dict[str, OwnFacts])
    """What the user says of models, by their names; it stands above every table."""
    programs: Mapping[str, CliProgram] = field(default_factory=dict[str, CliProgram])
    """The user's programs that are models, by their names."""
    text_tool_calls: TextToolCallsSetting = "auto"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What may be secret in the headers: their longer words, since a short one hides nothing."""
        words = (word for value in self.extra_headers.values() for word in value.split())
        return tuple(word for word in words if len(word) >= LEAST_SECRET_CHARS)


def with_effort(request: ModelRequest, known: KnownModel, endpoint: Endpoint) -> ModelRequest:
    """Return the request with the effort that the user's settings say, if it has none of its own."""
    effort = request.effort or known.effort or endpoint.effort
    return request if effort is request.effort else replace(request, effort=effort)
