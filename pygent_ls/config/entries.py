"""Settings with many entries, each under a name or in a list, such as `[agents.NAME]` and `[[hooks]]`.

The entries of all layers are combined; if two have the same name, the stronger layer's entry replaces the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, JsonValue, model_validator

from pygent_ls.config.tables import MOST, STRICT, ContextMode
from pygent_ls.secrets.log_mask import MASK

Mode = Literal["default", "accept_edits", "plan", "trust", "bypass"]
"""Permission modes of the core, duplicated here (a test compares them) because importing its module slows the start."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Effort levels of the core, duplicated for the same reason."""

HookEvent = Literal[
    "session_start",
    "user_prompt_submit",
    "pre_tool_use",
    "post_tool_use",
    "post_tool_use_failure",
    "permission_request",
    "pre_compact",
    "stop",
    "subagent_stop",
    "session_end",
]
"""Hook events of the core, duplicated for the same reason."""


def words(given: object) -> object:
    """Convert a list (files, editors) or comma-separated text (environment, command line)."""
    if isinstance(given, str):
        return tuple(part for each in given.split(",") if (part := each.strip()))
    return tuple(cast("Sequence[object]", given)) if isinstance(given, list) else given


Words = Annotated[tuple[str, ...], BeforeValidator(words)]


def _pattern(given: str) -> str:
    try:
        re.compile(given)
    except (re.error, RecursionError):
        raise ValueError("not a regular expression") from None
    return given


class Hook(BaseModel):
    """Entry of `[[hooks]]`."""

    model_config = STRICT

    event: HookEvent = Field(description="Event that runs the hook.")
    command: str = Field(min_length=1, description="Shell command to run in the workspace folder.")
    matcher: Annotated[str, AfterValidator(_pattern)] = Field(
        default="", description="Regular expression that must match the full tool name; if empty, all tools match."
    )
    timeout_s: float = Field(default=60.0, gt=0, le=MOST, description="Timeout in seconds.")


class AgentTable(BaseModel):
    """Entry `[agents.NAME]`."""

    model_config = STRICT

    description: str = Field(
        default="", description="Purpose of the agent, shown to users and to models that can call it."
    )
    model: str = Field(default="", description="Model of the agent; if empty, the default model.")
    prompt: str = Field(default="", description="Text that is added to the system prompt.")
    prompt_file: str = Field(
        default="", description="File with the prompt, relative to the settings file that names it."
    )
    tools: Words | None = Field(
        default=None, description="Tools that are available to the agent, as names or globs; if omitted, all tools."
    )
    disallowed_tools: Words = Field(default=(), description="Tools that are not available to the agent.")
    mode: Mode | None = Field(default=None, description="Permission mode of the agent.")
    max_iterations: int | None = Field(
        default=None, ge=0, le=MOST, description="Maximum number of model calls per turn; 0 means no limit."
    )
    max_tokens: int | None = Field(
        default=None, ge=0, le=MOST, description="Maximum number of tokens per turn; 0 means no limit."
    )
    max_budget_usd: float | None = Field(
        default=None, ge=0, le=MOST, description="Maximum cost of a turn in US dollars; 0 means no limit."
    )
    context_mode: ContextMode | None = Field(default=None, description="Same as `context.mode`, for this agent.")
    stream: bool = Field(default=True, description="Show answers while they are generated.")
    api_base: str = Field(default="", description="Same as `api_base`, for the agent's model.")
    temperature: float | None = Field(default=None, ge=0, le=2, description="Same as `temperature`, for this agent.")
    effort: Effort | None = Field(default=None, description="Same as `effort`, for this agent.")


def address(given: str) -> str:
    """Return an http address, or empty text. Raises ValueError."""
    try:
        parts = urlsplit(given)
    except ValueError:
        parts = urlsplit("")
    if given and not (parts.scheme in {"http", "https"} and parts.hostname):
        raise ValueError("expected an address that starts with http:// or https://")
    return given


def address_or_variable(given: str) -> str:
    """Return an address in which variables such as `${HOST}` may stand. Raises ValueError."""
    return given if "${" in given else address(given)


def variable_name(given: str) -> str:
    """Return the name of an environment variable, or empty text. Raises ValueError."""
    if given and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", given):
        raise ValueError("expected the name of a variable, not the key itself")
    return given


def http_headers(given: dict[str, str]) -> dict[str, str]:
    """Return names and values of HTTP headers. Raises ValueError."""
    for name, content in given.items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or re.search(r"[\r\n\0]", content):
            raise ValueError("expected a table of header names and their text")
    return given


class ProviderTable(BaseModel):
    """Entry `[providers.NAME]`."""

    model_config = STRICT

    api_base: Annotated[str, AfterValidator(address)] = Field(
        default="", description="Address of the provider, if it differs from the default."
    )
    api_key_env: Annotated[str, AfterValidator(variable_name)] = Field(
        default="",
        description="Environment variable that holds the API key; if empty, the provider's default variable.",
    )
    extra_headers: Annotated[dict[str, str], AfterValidator(http_headers)] = Field(
        default_factory=dict[str, str],
        repr=False,
        description="HTTP headers for every model call to this provider. Their values are never shown.",
    )


class CliModelTable(BaseModel):
    """Entry `[cli_models.NAME]`."""

    model_config = STRICT

    command: Words = Field(min_length=1, description="Program and its arguments.")
    format: Literal["plain", "markdown", "json", "xml"] = Field(
        default="markdown", description="Format of the conversation on the program's standard input."
    )
    stream: bool = Field(default=True, description="Show output while it is written.")


class AcpAgentTable(BaseModel):
    """Entry `[acp_agents.NAME]`."""

    model_config = STRICT

    command: Words = Field(
        default=(),
        description="Program and its arguments; it speaks the Agent Client Protocol. Optional for a known agent.",
    )
    env: dict[str, str] = Field(
        default_factory=dict[str, str],
        repr=False,
        description="Environment variables of the program. Their values are never shown.",
    )
    mode: str = Field(
        default="",
        description="Mode of the agent in which it asks before it acts, by its own id. Chosen by name if empty.",
    )


class ModelTable(BaseModel):
    """Entry `[models.NAME]`."""

    model_config = STRICT

    input_usd_per_mtok: float | None = Field(
        default=None, ge=0, le=MOST, description="US dollars per million input tokens."
    )
    output_usd_per_mtok: float | None = Field(
        default=None, ge=0, le=MOST, description="US dollars per million output tokens."
    )
    cache_read_usd_per_mtok: float | None = Field(
        default=None, ge=0, le=MOST, description="US dollars per million tokens read from the provider's cache."
    )
    cache_write_usd_per_mtok: float | None = Field(
        default=None, ge=0, le=MOST, description="US dollars per million tokens written to the provider's cache."
    )
    context_limit: int | None = Field(default=None, ge=1, le=MOST, description="Context window in tokens.")
    max_output_tokens: int | None = Field(
        default=None, ge=1, le=MOST, description="Maximum number of output tokens per answer."
    )
    effort: Effort | None = Field(default=None, description="Same as `effort`, for this model.")

    @model_validator(mode="after")
    def _both_prices(self) -> ModelTable:
        if (self.input_usd_per_mtok is None) != (self.output_usd_per_mtok is None):
            raise ValueError("input_usd_per_mtok and output_usd_per_mtok must be set together")
        return self


class WebSearchTable(BaseModel):
    """Table `[web_search]`."""

    model_config = STRICT

    service: Literal["off", "brave", "tavily", "searxng"] = Field(
        default="off",
        description=(
            "Service that the tool `web_search` uses. Without one, and without `provider`, the tool is not offered. "
            "Tools of an MCP server that searches need no setting here."
        ),
    )
    provider: bool = Field(
        default=False,
        description=(
            "Whether Claude, OpenAI's models and Gemini search with the web search of their provider. You are not "
            "asked about each search, and each costs extra. Other models use `service`. A rule that denies "
            "`web_search`, or asks about it, prevents it."
        ),
    )
    url: Annotated[str, AfterValidator(address)] = Field(
        default="",
        description="Address of the SearXNG instance; for the other services, of a proxy in place of the service.",
        json_schema_extra={"expected": "an address that starts with http:// or https://"},
    )
    api_key_env: Annotated[str, AfterValidator(variable_name)] = Field(
        default="",
        description=(
            "Name of the environment variable that holds the key of the service. Defaults to `BRAVE_API_KEY` or "
            "`TAVILY_API_KEY`; SearXNG needs none."
        ),
        json_schema_extra={"expected": "the name of a variable, not the key itself"},
    )


class McpServerTable(BaseModel):
    """Entry `[mcp_servers.NAME]`."""

    model_config = STRICT

    command: str = Field(default="", description="Program that is the server; it runs in the workspace folder.")
    args: Words = Field(default=(), description="Arguments of the program.")
    env: dict[str, str] = Field(
        default_factory=dict[str, str],
        repr=False,
        description="Environment variables of the program. Their values are never shown.",
    )
    cwd: str = Field(default="", description="Folder that the program runs in, if not the workspace folder.")
    url: Annotated[str, AfterValidator(address_or_variable)] = Field(
        default="", description="Address of a server that is reached by HTTP, in place of `command`."
    )
    headers: Annotated[dict[str, str], AfterValidator(http_headers)] = Field(
        default_factory=dict[str, str],
        repr=False,
        description="HTTP headers for every request to `url`. Their values are never shown.",
    )
    enabled: bool = Field(default=True, description="Whether the server is started.")
    startup_timeout_s: float = Field(
        default=30.0, gt=0, le=MOST, description="Maximum time until the server has listed its tools, in seconds."
    )
    timeout_s: float = Field(default=120.0, gt=0, le=MOST, description="Maximum time of one call, in seconds.")

    @model_validator(mode="after")
    def _one_way(self) -> McpServerTable:
        if bool(self.command) == bool(self.url):
            raise ValueError("either command or url must be set")
        return self


class LanguageServerTable(BaseModel):
    """Entry `[language_servers.NAME]`."""

    model_config = STRICT

    command: Words = Field(
        min_length=1, description="Program and its arguments; it speaks the Language Server Protocol on its streams."
    )
    files: Words = Field(min_length=1, description='Globs of the names of its files, such as `["*.py", "*.pyi"]`.')
    root_markers: Words = Field(
        default=(),
        description=(
            "Files or folders that mark the root of a project. The server runs in the nearest folder around a file "
            "that has one, else in the workspace folder."
        ),
    )
    language_id: str = Field(
        default="", description="Language identifier of its files. Chosen by their suffix if empty."
    )
    env: dict[str, str] = Field(
        default_factory=dict[str, str],
        repr=False,
        description="Environment variables of the program. Their values are never shown.",
    )
    initialization_options: dict[str, JsonValue] = Field(
        default_factory=dict[str, JsonValue], repr=False, description="Options that its documentation names."
    )
    settings: dict[str, JsonValue] = Field(
        default_factory=dict[str, JsonValue],
        repr=False,
        description="Settings that the server asks for, by section, as its documentation names them.",
    )
    enabled: bool = Field(default=True, description="Whether the server is used.")
    startup_timeout_s: float = Field(
        default=30.0, gt=0, le=MOST, description="Maximum time until the server has started, in seconds."
    )
    timeout_s: float = Field(default=10.0, gt=0, le=MOST, description="Maximum time of one request, in seconds.")


TABLES: Mapping[str, type[BaseModel]] = {
    "providers": ProviderTable,
    "agents": AgentTable,
    "cli_models": CliModelTable,
    "acp_agents": AcpAgentTable,
    "models": ModelTable,
    "mcp_servers": McpServerTable,
    "language_servers": LanguageServerTable,
}
"""Settings that are tables by name, with the type of their entries."""


MASKED: frozenset[str] = frozenset({"providers", "mcp_servers", "acp_agents", "language_servers"})
"""Tables with values that are never shown."""

_VALUES_MASKED = frozenset({"extra_headers", "headers", "env"})
"""Keys of such tables whose values are tables of secrets by name."""

_SHOWN = frozenset(
    {
        *("api_base", "api_key_env", "command", "args", "cwd", "mode", "url", "enabled", "startup_timeout_s"),
        *("timeout_s", "files", "root_markers", "language_id", "initialization_options", "settings"),
    }
)


def masked(given: object, *, hides_all: bool = False) -> object:
    """Return the contents of a table such as `[providers.NAME]` or `[mcp_servers.NAME]` with the values of headers and
    variables masked.

    `hides_all` is for a table that has no effect: it may hold a key in place of a variable's name.
    """
    if not isinstance(given, Mapping):
        return MASK
    shown: dict[str, object] = {}
    for name, value in cast("Mapping[object, object]", given).items():
        if name in _SHOWN and not hides_all:
            shown[str(name)] = value
        elif name in _VALUES_MASKED and isinstance(value, Mapping):
            shown[str(name)] = dict.fromkeys(map(str, cast("Mapping[object, object]", value)), MASK)
        else:
            shown[str(name)] = MASK
    return shown


def dumped(entry: BaseModel | str) -> Any:
    """Return an entry's explicitly set values as JSON data."""
    return entry if isinstance(entry, str) else entry.model_dump(mode="json", exclude_unset=True)
