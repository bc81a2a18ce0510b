"""Settings with many entries, each under a name or in a list, such as `[agents.NAME]` and `[[hooks]]`.

The entries of all layers are combined; if two have the same name, the stronger layer's entry replaces the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, cast
from urllib.parse import urlsplit

from pygent_ls.config.table import MOST, Table, Words, about
from pygent_ls.config.tables import ContextMode
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


def _pattern(given: str) -> None:
    try:
        re.compile(given)
    except (re.error, RecursionError):
        raise ValueError("not a regular expression") from None


class Hook(Table, frozen=True, kw_only=True):
    """Entry of `[[hooks]]`."""

    checks: ClassVar = {"matcher": _pattern}

    event: Annotated[HookEvent, about("Event that runs the hook.")]
    command: Annotated[str, about("Shell command to run in the workspace folder.", min_length=1)]
    matcher: Annotated[
        str, about("Regular expression that must match the full tool name; if empty, all tools match.")
    ] = ""
    timeout_s: Annotated[float, about("Timeout in seconds.", gt=0, le=MOST)] = 60.0


class AgentTable(Table, frozen=True, kw_only=True):
    """Entry `[agents.NAME]`. None is what the entry does not set: an agent of ours keeps its own value."""

    description: (
        Annotated[str, about("Purpose of the agent, shown to users and to models that can call it.")] | None
    ) = None
    model: Annotated[str, about("Model of the agent; if empty, the default model.")] | None = None
    prompt: Annotated[str, about("Text that is added to the system prompt.")] | None = None
    prompt_file: Annotated[str, about("File with the prompt, relative to the settings file that names it.")] | None = (
        None
    )
    tools: (
        Annotated[Words, about("Tools that are available to the agent, as names or globs; if omitted, all tools.")]
        | None
    ) = None
    disallowed_tools: Annotated[Words, about("Tools that are not available to the agent.")] | None = None
    mode: Annotated[Mode, about("Permission mode of the agent.")] | None = None
    max_iterations: (
        Annotated[int, about("Maximum number of model calls per turn; 0 means no limit.", ge=0, le=MOST)] | None
    ) = None
    max_tokens: Annotated[int, about("Maximum number of tokens per turn; 0 means no limit.", ge=0, le=MOST)] | None = (
        None
    )
    max_budget_usd: (
        Annotated[float, about("Maximum cost of a turn in US dollars; 0 means no limit.", ge=0, le=MOST)] | None
    ) = None
    context_mode: Annotated[ContextMode, about("Same as `context.mode`, for this agent.")] | None = None
    stream: Annotated[bool, about("Show answers while they are generated, which is the default.")] | None = None
    api_base: Annotated[str, about("Same as `api_base`, for the agent's model.")] | None = None
    temperature: Annotated[float, about("Same as `temperature`, for this agent.", ge=0, le=2)] | None = None
    effort: Annotated[Effort, about("Same as `effort`, for this agent.")] | None = None


def address(given: str) -> None:
    """Check an http address; empty text is valid, too. Raises ValueError."""
    try:
        parts = urlsplit(given)
    except ValueError:
        parts = urlsplit("")
    if given and not (parts.scheme in {"http", "https"} and parts.hostname):
        raise ValueError("expected an address that starts with http:// or https://")


def address_or_variable(given: str) -> None:
    """Check an address in which variables such as `${HOST}` may stand. Raises ValueError."""
    if "${" not in given:
        address(given)


def variable_name(given: str) -> None:
    """Check the name of an environment variable; empty text is valid, too. Raises ValueError."""
    if given and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", given):
        raise ValueError("expected the name of a variable, not the key itself")


def http_headers(given: Mapping[str, str]) -> None:
    """Check names and values of HTTP headers. Raises ValueError."""
    for name, content in given.items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or re.search(r"[\r\n\0]", content):
            raise ValueError("expected a table of header names and their text")


class ProviderTable(Table, frozen=True, kw_only=True):
    """Entry `[providers.NAME]`."""

    checks: ClassVar = {"api_base": address, "api_key_env": variable_name, "extra_headers": http_headers}

    api_base: Annotated[str, about("Address of the provider, if it differs from the default.")] = ""
    api_key_env: Annotated[
        str, about("Environment variable that holds the API key; if empty, the provider's default variable.")
    ] = ""
    extra_headers: Annotated[
        dict[str, str], about("HTTP headers for every model call to this provider. Their values are never shown.")
    ] = {}


class CliModelTable(Table, frozen=True, kw_only=True):
    """Entry `[cli_models.NAME]`."""

    command: Annotated[Words, about("Program and its arguments.", min_length=1)]
    format: Annotated[
        Literal["plain", "markdown", "json", "xml"],
        about("Format of the conversation on the program's standard input."),
    ] = "markdown"
    stream: Annotated[bool, about("Show output while it is written.")] = True


class AcpAgentTable(Table, frozen=True, kw_only=True):
    """Entry `[acp_agents.NAME]`."""

    command: Annotated[
        Words, about("Program and its arguments; it speaks the Agent Client Protocol. Optional for a known agent.")
    ] = ()
    env: Annotated[dict[str, str], about("Environment variables of the program. Their values are never shown.")] = {}
    mode: Annotated[
        str, about("Mode of the agent in which it asks before it acts, by its own id. Chosen by name if empty.")
    ] = ""


class ModelTable(Table, frozen=True, kw_only=True):
    """Entry `[models.NAME]`."""

    input_usd_per_mtok: Annotated[float, about("US dollars per million input tokens.", ge=0, le=MOST)] | None = None
    output_usd_per_mtok: Annotated[float, about("US dollars per million output tokens.", ge=0, le=MOST)] | None = None
    cache_read_usd_per_mtok: (
        Annotated[float, about("US dollars per million tokens read from the provider's cache.", ge=0, le=MOST)] | None
    ) = None
    cache_write_usd_per_mtok: (
        Annotated[float, about("US dollars per million tokens written to the provider's cache.", ge=0, le=MOST)] | None
    ) = None
    context_limit: Annotated[int, about("Context window in tokens.", ge=1, le=MOST)] | None = None
    max_output_tokens: Annotated[int, about("Maximum number of output tokens per answer.", ge=1, le=MOST)] | None = None
    effort: Annotated[Effort, about("Same as `effort`, for this model.")] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if only one price is set."""
        super().__post_init__()
        if (self.input_usd_per_mtok is None) != (self.output_usd_per_mtok is None):
            raise ValueError("input_usd_per_mtok and output_usd_per_mtok must be set together")


class WebSearchTable(Table, frozen=True, kw_only=True):
    """Table `[web_search]`."""

    checks: ClassVar = {"url": address, "api_key_env": variable_name}

    service: Annotated[
        Literal["off", "brave", "tavily", "searxng"],
        about(
            "Service that the tool `web_search` uses. Without one, and without `provider`, the tool is not offered. "
            "Tools of an MCP server that searches need no setting here."
        ),
    ] = "off"
    provider: Annotated[
        bool,
        about(
            "Whether Claude, OpenAI's models and Gemini search with the web search of their provider. You are not "
            "asked about each search, and each costs extra. Other models use `service`. A rule that denies "
            "`web_search`, or asks about it, prevents it."
        ),
    ] = False
    url: Annotated[
        str,
        about(
            "Address of the SearXNG instance; for the other services, of a proxy in place of the service.",
            expected="an address that starts with http:// or https://",
        ),
    ] = ""
    api_key_env: Annotated[
        str,
        about(
            "Name of the environment variable that holds the key of the service. Defaults to `BRAVE_API_KEY` or "
            "`TAVILY_API_KEY`; SearXNG needs none.",
            expected="the name of a variable, not the key itself",
        ),
    ] = ""


class McpServerTable(Table, frozen=True, kw_only=True):
    """Entry `[mcp_servers.NAME]`."""

    checks: ClassVar = {"url": address_or_variable, "headers": http_headers}

    command: Annotated[str, about("Program that is the server; it runs in the workspace folder.")] = ""
    args: Annotated[Words, about("Arguments of the program.")] = ()
    env: Annotated[dict[str, str], about("Environment variables of the program. Their values are never shown.")] = {}
    cwd: Annotated[str, about("Folder that the program runs in, if not the workspace folder.")] = ""
    url: Annotated[str, about("Address of a server that is reached by HTTP, in place of `command`.")] = ""
    headers: Annotated[
        dict[str, str], about("HTTP headers for every request to `url`. Their values are never shown.")
    ] = {}
    enabled: Annotated[bool, about("Whether the server is started.")] = True
    startup_timeout_s: Annotated[
        float, about("Maximum time until the server has listed its tools, in seconds.", gt=0, le=MOST)
    ] = 30.0
    timeout_s: Annotated[float, about("Maximum time of one call, in seconds.", gt=0, le=MOST)] = 120.0

    def __post_init__(self) -> None:
        """Raise ValueError if it is both kinds of server, or neither."""
        super().__post_init__()
        if bool(self.command) == bool(self.url):
            raise ValueError("either command or url must be set")


class LanguageServerTable(Table, frozen=True, kw_only=True):
    """Entry `[language_servers.NAME]`."""

    command: Annotated[
        Words, about("Program and its arguments; it speaks the Language Server Protocol on its streams.", min_length=1)
    ]
    files: Annotated[Words, about('Globs of the names of its files, such as `["*.py", "*.pyi"]`.', min_length=1)]
    root_markers: Annotated[
        Words,
        about(
            "Files or folders that mark the root of a project. The server runs in the nearest folder around a file "
            "that has one, else in the workspace folder."
        ),
    ] = ()
    language_id: Annotated[str, about("Language identifier of its files. Chosen by their suffix if empty.")] = ""
    env: Annotated[dict[str, str], about("Environment variables of the program. Their values are never shown.")] = {}
    initialization_options: Annotated[dict[str, Any], about("Options that its documentation names.")] = {}
    settings: Annotated[
        dict[str, Any], about("Settings that the server asks for, by section, as its documentation names them.")
    ] = {}
    enabled: Annotated[bool, about("Whether the server is used.")] = True
    startup_timeout_s: Annotated[
        float, about("Maximum time until the server has started, in seconds.", gt=0, le=MOST)
    ] = 30.0
    timeout_s: Annotated[float, about("Maximum time of one request, in seconds.", gt=0, le=MOST)] = 10.0


TABLES: Mapping[str, type[Table]] = {
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
