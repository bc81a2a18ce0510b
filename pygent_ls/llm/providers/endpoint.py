"""How a provider is reached: the settings in the form that the adapters take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pygent_ls.agent.ports.model import Effort, ModelRequest
from pygent_ls.llm.catalog.known_model import KnownModel, OwnFacts
from pygent_ls.llm.cli.programs import CliProgram
from pygent_ls.llm.text_tools.model import TextToolCallsSetting

NO_KEY = "none"
"""Key sent to the user's own server if none is set: some clients and proxies refuse an empty one."""


LEAST_SECRET_CHARS = 8
"""Minimum length of a word of a header value that is masked: tokens are, `1` or `blue` are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """How a provider is reached. None or empty leaves the choice to the adapter, which reads the environment."""

    api_base: str | None = None
    api_base_setting: str = "api_base"
    """Name of the setting that provides `api_base`, for messages."""
    api_key: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    """Variable that the user names as holding the key."""
    keys: Literal["all", "environment", "none"] = "all"
    """Which of the provider's keys may be sent to `api_base`: `environment` excludes saved keys."""
    extra_headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    betas: tuple[str, ...] = ()
    """Beta features of a provider; Anthropic's are named in a header."""
    effort: Effort | None = None
    """Default effort of models without one of their own; None leaves it to the provider."""
    cache_ttl: str = ""
    """How long Anthropic caches a prompt, such as `1h`; empty for the API's default of five minutes."""
    first_byte_timeout_s: float = 300.0
    """Time limit for the first byte of an answer: local models load slowly."""
    idle_timeout_s: float = 60.0
    """Time limit between two pieces of an answer."""
    own_facts: Mapping[str, OwnFacts] = field(default_factory=dict[str, OwnFacts])
    """The user's facts about models, by name; they override every table."""
    programs: Mapping[str, CliProgram] = field(default_factory=dict[str, CliProgram])
    """The user's command-line programs, by name."""
    text_tool_calls: TextToolCallsSetting = "auto"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Words of the headers that may be secret; short words are left out."""
        words = (word for value in self.extra_headers.values() for word in value.split())
        return tuple(word for word in words if len(word) >= LEAST_SECRET_CHARS)


def with_effort(request: ModelRequest, known: KnownModel, endpoint: Endpoint) -> ModelRequest:
    """Return the request with the effort from the user's settings, if it has none of its own."""
    effort = request.effort or known.effort or endpoint.effort
    return request if effort is request.effort else replace(request, effort=effort)
