"""Settings: their definitions, types and display.

Imported by `app`, `cli` and `doctor` only; other packages are passed values. `config_layers` merges layers,
`config_sources` reads them, and `config_page` makes the settings page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, Field
from pydantic.fields import FieldInfo

from pygent_ls.agent.rules.rule import Rule
from pygent_ls.config.entries import (
    MASKED,
    AcpAgentTable,
    AgentTable,
    CliModelTable,
    Effort,
    Hook,
    LanguageServerTable,
    McpServerTable,
    Mode,
    ModelTable,
    ProviderTable,
    WebSearchTable,
    Words,
    address,
    dumped,
    http_headers,
    masked,
    variable_name,
)
from pygent_ls.config.tables import (
    MOST,
    STRICT,
    CompactionTable,
    CompletionTable,
    ContextTable,
    Edits,
    MemoryTable,
    RepositoryMapTable,
    Retry,
    VoiceTable,
)
from pygent_ls.secrets.log_mask import MASK, redacted

MAX_SHOWN_CHARS = 80
"""Maximum length of a displayed value; longer ones are cut to fit a terminal line."""


class Settings(BaseModel):
    """All settings with their defaults. A running turn keeps the values that it started with."""

    model_config = STRICT

    model: str = Field(
        default="",
        description=(
            "Model name: any litellm string (`anthropic/…`, `openai/…`, `ollama_chat/…`), `cli:NAME` for a program, "
            "`scripted:FILE` or `offline/rules`. If empty, the first provider key found in the environment "
            "determines the model, else `offline/rules` is used; `pygent-ls doctor` shows the result."
        ),
    )
    fallback_models: Words = Field(
        default=(),
        description="Models to try, in this order, when a model fails and retrying does not help.",
        json_schema_extra={"expected": "a list of models"},
    )
    api_base: Annotated[str, AfterValidator(address)] = Field(
        default="",
        description=(
            "Address of the provider of `model`, if it differs from the provider's default. Set other providers' "
            "addresses in `providers`."
        ),
        json_schema_extra={"expected": "an address that starts with http:// or https://"},
    )
    api_key_env: Annotated[str, AfterValidator(variable_name)] = Field(
        default="",
        description=(
            "Name of the environment variable that holds the API key for the provider of `model`. Defaults to the "
            "provider's own variable."
        ),
        json_schema_extra={"expected": "the name of a variable, not the key itself"},
    )
    max_iterations: int = Field(
        default=50, ge=0, le=MOST, description="Maximum number of model calls per turn; 0 means no limit."
    )
    max_tokens: int = Field(
        default=0, ge=0, le=MOST, description="Maximum number of input and output tokens per turn; 0 means no limit."
    )
    max_budget_usd: float = Field(
        default=0.0, ge=0, le=MOST, description="Maximum cost of a turn in US dollars; 0 means no limit."
    )
    max_turn_seconds: float = Field(
        default=0.0, ge=0, le=MOST, description="Maximum duration of a turn in seconds; 0 means no limit."
    )
    background_reports: Literal["next_prompt", "start_turn"] = Field(
        default="next_prompt",
        description=(
            "What happens with the report of a subagent in the background that ends while no turn runs: it waits for "
            "your next prompt, or it starts a turn, at most three times in a row without a prompt of yours."
        ),
    )
    max_output_tokens: int = Field(
        default=16384,
        ge=1,
        le=MOST,
        description=(
            "Maximum number of output tokens per model call. An answer that far exceeds it is stopped, together with "
            "the turn."
        ),
    )
    max_thinking_tokens: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description=(
            "Maximum number of thinking tokens per model call. 0 requests no thinking, and turns it off for models "
            "of DeepSeek, Moonshot and Z.ai, which think by default. `effort` takes precedence."
        ),
    )
    effort: Effort | Literal[""] = Field(
        default="",
        description=(
            "Reasoning effort of the model. It is translated for each provider to the nearest level that the model "
            "supports. If empty, `max_thinking_tokens` or the provider's default applies. The effort of a turn, a "
            "session, an agent and `[models.NAME]` takes precedence, in this order."
        ),
        json_schema_extra={"expected": "one of none, minimal, low, medium, high, xhigh, max"},
    )
    cache_ttl: Literal["5m", "1h"] = Field(
        default="5m",
        description=(
            "How long Anthropic caches a prompt. With `1h`, cache writes cost 2 times the input price instead of "
            "1.25 times."
        ),
    )
    temperature: float = Field(
        default=1.0,
        ge=0,
        le=2,
        description="Sampling temperature; 0 is the most deterministic. It is not sent to reasoning models.",
    )
    system_prompt: str = Field(default="", description="Text that is added to the system prompt of every model call.")
    system_prompt_file: str = Field(
        default="",
        description=(
            "File whose text replaces the default system prompt, including AGENTS.md and CLAUDE.md (`pygent-ls "
            "prompt` shows it). A relative path is resolved against the settings file that names it, or else against "
            "the workspace. If the file cannot be read, a warning is shown and the default prompt is used."
        ),
    )
    agent: str = Field(default="default", min_length=1, description="Agent of new sessions.")
    mode: Mode = Field(
        default="default",
        description=(
            "Permission mode: `default` asks for medium and high risk; `accept_edits` also allows edits; `trust` "
            "asks only for high risk; `plan` is read-only; `bypass` asks only if a rule or hook asks, and requires "
            "`allow_bypass`."
        ),
    )
    allow_bypass: bool = Field(
        default=False,
        description="Allow the mode `bypass`. Only effective in your own configuration file.",
    )
    permissions: tuple[Rule, ...] = Field(
        default_factory=tuple[Rule, ...],
        description=(
            "Permission rules, `tool` or `tool(pattern)`, in the lists `allow`, `ask` and `deny`. The lists of all "
            "layers are combined; deny takes precedence over ask, and ask over allow. For file tools the pattern is "
            "a glob (`edit_file(src/**)`, `read_file(**/.env)`), for `shell` the first words of a command or the "
            "whole command (`shell(git status:*)`, `shell(make test)`), for `web_fetch` a host "
            "(`web_fetch(domain:docs.python.org)`). An allow rule for first words must match every command in a "
            "line. It does not allow redirection into a file, assignments, substitutions, loops or here-documents; "
            "for programs that can run others or write files it allows only options known to be safe and those that "
            "the rule names. Deny and ask rules match any part of a line. A rule can also be a table with examples "
            'that are checked: `{rule = "…", match = ["…"], not_match = ["…"]}`. A workspace\'s file can only ask and '
            "deny."
        ),
        json_schema_extra={"expected": "a table with the lists `allow`, `ask` and `deny`"},
    )
    stream_flush_ms: int = Field(
        default=16,
        ge=0,
        le=1000,
        description=(
            "Maximum time in milliseconds to collect events into one message while they come faster than they are "
            "sent, or while the editor does not read."
        ),
    )
    first_byte_timeout_s: float = Field(
        default=300.0,
        gt=0,
        le=MOST,
        description=(
            "Timeout in seconds for the first byte of an answer; local models load slowly. A server that keeps the "
            "connection open without sending any part of an answer is given three times as long."
        ),
    )
    stream_idle_timeout_s: float = Field(
        default=60.0, gt=0, le=MOST, description="Timeout in seconds between two parts of an answer."
    )
    shell_timeout_s: float = Field(
        default=120.0,
        gt=0,
        le=MOST,
        description="Default timeout of a shell command in seconds; a call can set its own.",
    )
    sandbox: Literal["auto", "require", "off"] = Field(
        default="auto",
        description=(
            "Run commands in a sandbox (bubblewrap, on Linux): `auto` uses it if available and asks if it cannot be "
            "set up; `require` refuses to run commands without it; `off` disables it."
        ),
    )
    sandbox_network: bool = Field(default=False, description="Allow network access for sandboxed commands.")
    sandbox_read: Words = Field(
        default=(),
        description=(
            "Folders in the home folder that sandboxed commands may read, as absolute paths or starting with `~`. By "
            "default they can read only the workspace, installed tools and their downloads, and Git's settings."
        ),
        json_schema_extra={"expected": "a list of folders"},
    )
    sandbox_max_processes: int = Field(
        default=4_096,
        ge=1,
        le=MOST,
        description=(
            "Maximum number of processes and threads of one sandboxed command; a command that exceeds it is stopped."
        ),
    )
    sandbox_max_memory_mb: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description=(
            "Maximum memory in MB of all processes of one sandboxed command; a command that exceeds it is stopped. 0 "
            "means four fifths of the machine's memory."
        ),
    )
    sandbox_max_file_mb: int = Field(
        default=65_536, ge=1, le=MOST, description="Maximum size in MB of a file written by a sandboxed command."
    )
    redact_secrets: bool = Field(
        default=True,
        description=(
            "Replace values that look like keys or passwords, and all values in files such as `.env`, with "
            "placeholders such as `{{SECRET_api_key_0123456789ab}}` in model requests, events and prompts. When the "
            "model writes a file, placeholders are replaced with the original values."
        ),
    )
    text_tool_calls: Literal["auto", "on", "off"] = Field(
        default="auto",
        description=(
            "Offer and call tools as text: `auto` for models without native tool calling, `on` always, `off` never."
        ),
    )
    additional_dirs: Words = Field(
        default=(),
        description=(
            "Folders outside the workspace that tools can use, as absolute paths; rules name them the same way, such "
            "as `edit_file(/home/me/shared/**)`. A relative path is resolved against the settings file that names "
            "it, or else against the workspace. Sandboxed commands can write to these folders. Checkpoints do not "
            "include them."
        ),
        json_schema_extra={"expected": "a list of folders"},
    )
    disallowed_tools: Words = Field(
        default=(),
        description="Tools to disable for all models, as names or globs. The lists of all layers are combined.",
        json_schema_extra={"expected": "a list of tools"},
    )
    max_tool_result_chars: int = Field(
        default=40_000,
        ge=1,
        le=MOST,
        description="Maximum number of characters of a tool result that are sent to the model.",
    )
    cache_entries: int = Field(
        default=512,
        ge=0,
        le=MOST,
        description=(
            "Maximum number of cached tool results; 0 disables the cache. The least recently used results are "
            "removed first."
        ),
    )
    snapshot_days: int = Field(
        default=30, ge=1, le=3650, description="Number of days after which checkpoints are deleted."
    )
    extra_headers: Annotated[dict[str, str], AfterValidator(http_headers)] = Field(
        default_factory=dict[str, str],
        repr=False,
        description="HTTP headers for every request to the provider of `model`. Their values are never shown.",
        json_schema_extra={"expected": "a table of header names and their text"},
    )
    betas: Words = Field(
        default=(),
        description="Anthropic beta features to enable for every call of an Anthropic model.",
        json_schema_extra={"expected": "a list of names"},
    )
    providers: dict[str, ProviderTable] = Field(
        default_factory=dict[str, ProviderTable],
        repr=False,
        description=(
            "Connection settings per provider, for example `[providers.openai]`. A name that litellm does not know "
            "is your own server with a chat completions API: with `[providers.acme]` and its `api_base`, "
            "`acme/MODEL` is a model. The address, key and headers of a provider are used only for its models, and "
            "take precedence over `api_base`, `api_key_env` and `extra_headers`."
        ),
        json_schema_extra={"expected": "a table of tables: [providers.NAME]"},
    )
    hooks: tuple[Hook, ...] = Field(
        default_factory=tuple[Hook, ...],
        description="Commands to run on events; see `docs/hooks.md`.",
        json_schema_extra={"expected": "a list of tables: [[hooks]]"},
    )
    agents: dict[str, AgentTable] = Field(
        default_factory=dict[str, AgentTable],
        description="Custom agents by name: `[agents.NAME]`.",
        json_schema_extra={"expected": "a table of tables: [agents.NAME]"},
    )
    cli_models: dict[str, CliModelTable] = Field(
        default_factory=dict[str, CliModelTable],
        description="Programs to use as models: `[cli_models.NAME]` defines the model `cli:NAME`.",
        json_schema_extra={"expected": "a table of tables: [cli_models.NAME]"},
    )
    acp_agents: dict[str, AcpAgentTable] = Field(
        default_factory=dict[str, AcpAgentTable],
        repr=False,
        description=(
            "Agents of other programs: `[acp_agents.NAME]` defines the model `acp:NAME`. `${VARIABLE}` stands for an "
            "environment variable. See `docs/other-agents.md`."
        ),
        json_schema_extra={"expected": "a table of tables: [acp_agents.NAME]"},
    )
    models: dict[str, ModelTable] = Field(
        default_factory=dict[str, ModelTable],
        description=(
            'Prices and context windows of models that are unknown or have wrong data: `[models."openai/my-model"]`.'
        ),
        json_schema_extra={"expected": 'a table of tables: [models."NAME"]'},
    )
    mcp_servers: dict[str, McpServerTable] = Field(
        default_factory=dict[str, McpServerTable],
        repr=False,
        description=(
            "MCP servers whose tools are available as `mcp__NAME__TOOL`: `[mcp_servers.NAME]`. `${VARIABLE}` and "
            "`${VARIABLE:-DEFAULT}` stand for environment variables. See `docs/mcp.md`."
        ),
        json_schema_extra={"expected": "a table of tables: [mcp_servers.NAME]"},
    )
    language_servers: dict[str, LanguageServerTable] = Field(
        default_factory=dict[str, LanguageServerTable],
        repr=False,
        description=(
            "Language servers that the agent starts itself, for files about which your editor does not answer: "
            "`[language_servers.NAME]`. `pygent-ls doctor` lists those that it finds. See `docs/language-servers.md`."
        ),
        json_schema_extra={"expected": "a table of tables: [language_servers.NAME]"},
    )
    aliases: dict[str, str] = Field(
        default_factory=dict[str, str],
        description='Custom names for slash commands: `fix = "/agent review"`.',
        json_schema_extra={"expected": "a table of names and commands"},
    )
    persist_sessions: bool = Field(
        default=True,
        description=(
            "Save sessions so that they can be found and continued. If disabled, sessions are lost when the program "
            "ends."
        ),
    )
    edits: Edits = Edits()
    context: ContextTable = ContextTable()
    memory: MemoryTable = MemoryTable()
    repository_map: RepositoryMapTable = RepositoryMapTable()
    web_search: WebSearchTable = WebSearchTable()
    voice: VoiceTable = VoiceTable()
    completion: CompletionTable = CompletionTable()
    compaction: CompactionTable = CompactionTable()
    retry: Retry = Retry()


def _groups() -> Iterator[tuple[str, type[BaseModel]]]:
    for name, info in Settings.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield name, info.annotation


GROUPS: Mapping[str, type[BaseModel]] = dict(_groups())
"""Settings that are tables of settings; their members have dotted names: `edits.review`."""


def _fields() -> Iterator[tuple[str, FieldInfo]]:
    for name, info in Settings.model_fields.items():
        if name not in GROUPS:
            yield name, info
    for group, table in GROUPS.items():
        for name, info in table.model_fields.items():
            yield f"{group}.{name}", info


FIELDS: Mapping[str, FieldInfo] = dict(_fields())
"""Definition of each setting; members of tables come last."""

NAMES: tuple[str, ...] = tuple(FIELDS)
"""Names of the settings, in the order of the settings page."""

SECRET: frozenset[str] = frozenset({"extra_headers"})
"""Settings whose values are never shown."""


def value_of(settings: Settings, key: str) -> object:
    """Return a setting's value by its name."""
    table: object = settings
    *groups, name = key.split(".")
    for group in groups:
        table = getattr(table, group)
    return getattr(table, name)


def settings_of(values: Mapping[str, object]) -> Settings:
    """Build the settings from valid values by name."""
    top = {key: value for key, value in values.items() if "." not in key}
    tables = {
        group: table(**{name: values[f"{group}.{name}"] for name in table.model_fields})
        for group, table in GROUPS.items()
    }
    return Settings.model_validate({**top, **tables})


def checked(key: str, raw: object, *, is_text: bool) -> object:
    """Validate a setting's value and return it typed. Raises pydantic's `ValidationError`; only text may stand for a
    number.
    """
    group, _, name = key.rpartition(".")
    table = GROUPS.get(group, Settings)
    return getattr(table.model_validate({name: raw}, strict=not is_text), name)


def shown(key: str, value: object) -> str:
    """Format a setting's value on one line, with secrets masked."""
    if key in SECRET and value:
        return MASK
    if value in ("", {}, ()):
        return "(none)"
    if key in MASKED and isinstance(value, Mapping):
        value = {name: masked(dumped(table)) for name, table in cast("Mapping[str, BaseModel]", value).items()}
    if key == "permissions" and isinstance(value, tuple):
        return shown_line(", ".join(f"{rule.decision} {rule.text}" for rule in cast("tuple[Rule, ...]", value)))
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_as_json)
    except (ValueError, RecursionError):  # a number of 5,000 digits; lists nested a thousand deep
        return "(too long to show)"
    return shown_line(text)


def _as_json(value: object) -> object:
    return dumped(value) if isinstance(value, BaseModel) else str(value)


def shown_line(text: str, most_chars: int = MAX_SHOWN_CHARS) -> str:
    """Format untrusted text as one line of limited length, without keys and terminal control sequences."""
    text = redacted(" ".join(text[: 4 * most_chars].split()))
    text = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    return text if len(text) <= most_chars else text[: most_chars - 1] + "…"


def expected(key: str) -> str:
    """Describe what a setting accepts, in words that follow "expected"."""
    group, _, name = key.rpartition(".")
    schema = _schema(GROUPS.get(group, Settings))[name]
    if "expected" in schema:
        return schema["expected"]
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    kind = {"integer": "a whole number", "boolean": "true or false", "number": "a number", "string": "text"}[
        schema["type"]
    ]
    least, most = schema.get("minimum"), schema.get("maximum", MOST)
    if "exclusiveMinimum" in schema:
        return f"{kind} above {schema['exclusiveMinimum']:g}"
    if least is None:
        return kind
    return f"{kind}, {least:g} or more" if most == MOST else f"{kind} from {least:g} to {most:g}"


@cache
def _schema(table: type[BaseModel]) -> Mapping[str, Mapping[str, Any]]:
    return table.model_json_schema()["properties"]
