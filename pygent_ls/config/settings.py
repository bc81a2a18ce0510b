"""Settings: their definitions, types and display.

Imported by `app`, `cli` and `doctor` only; other packages are passed values. `layers` merges layers,
`sources` reads them, and `reference_page` makes the settings page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, cast

from msgspec import to_builtins

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
    address,
    http_headers,
    masked,
    variable_name,
)
from pygent_ls.config.table import MOST, Field, Table, Words, about, converted, fields_of
from pygent_ls.config.tables import (
    CompactionTable,
    CompletionTable,
    ContextTable,
    Edits,
    MemoryTable,
    RemoteTable,
    RepositoryMapTable,
    Retry,
    VoiceTable,
)
from pygent_ls.secrets.log_mask import MASK, redacted

MAX_SHOWN_CHARS = 80
"""Maximum length of a displayed value; longer ones are cut to fit a terminal line."""


class Settings(Table, frozen=True, kw_only=True):
    """All settings with their defaults. A running turn keeps the values that it started with."""

    checks: ClassVar = {"api_base": address, "api_key_env": variable_name, "extra_headers": http_headers}

    model: Annotated[
        str,
        about(
            "Model name: any litellm string (`anthropic/…`, `openai/…`, `ollama_chat/…`), `cli:NAME` for a program, "
            "`scripted:FILE` or `offline/rules`. If empty, the first provider key found in the environment "
            "determines the model, else `offline/rules` is used; `pygent-ls doctor` shows the result."
        ),
    ] = ""
    fallback_models: Annotated[
        Words,
        about(
            "Models to try, in this order, when a model fails and retrying does not help.", expected="a list of models"
        ),
    ] = ()
    api_base: Annotated[
        str,
        about(
            "Address of the provider of `model`, if it differs from the provider's default. Set other providers' "
            "addresses in `providers`.",
            expected="an address that starts with http:// or https://",
        ),
    ] = ""
    api_key_env: Annotated[
        str,
        about(
            "Name of the environment variable that holds the API key for the provider of `model`. Defaults to the "
            "provider's own variable.",
            expected="the name of a variable, not the key itself",
        ),
    ] = ""
    max_iterations: Annotated[
        int, about("Maximum number of model calls per turn; 0 means no limit.", ge=0, le=MOST)
    ] = 50
    max_tokens: Annotated[
        int, about("Maximum number of input and output tokens per turn; 0 means no limit.", ge=0, le=MOST)
    ] = 0
    max_budget_usd: Annotated[
        float, about("Maximum cost of a turn in US dollars; 0 means no limit.", ge=0, le=MOST)
    ] = 0.0
    max_turn_seconds: Annotated[
        float, about("Maximum duration of a turn in seconds; 0 means no limit.", ge=0, le=MOST)
    ] = 0.0
    background_reports: Annotated[
        Literal["next_prompt", "start_turn"],
        about(
            "What happens with the report of a subagent in the background that ends while no turn runs: it waits for "
            "your next prompt, or it starts a turn, at most three times in a row without a prompt of yours."
        ),
    ] = "next_prompt"
    max_output_tokens: Annotated[
        int,
        about(
            "Maximum number of output tokens per model call. An answer that far exceeds it is stopped, together with "
            "the turn.",
            ge=1,
            le=MOST,
        ),
    ] = 16384
    max_thinking_tokens: Annotated[
        int,
        about(
            "Maximum number of thinking tokens per model call. 0 requests no thinking, and turns it off for models "
            "of DeepSeek, Moonshot and Z.ai, which think by default. `effort` takes precedence.",
            ge=0,
            le=MOST,
        ),
    ] = 0
    effort: Annotated[
        Literal[Effort, ""],
        about(
            "Reasoning effort of the model. It is translated for each provider to the nearest level that the model "
            "supports. If empty, `max_thinking_tokens` or the provider's default applies. The effort of a turn, a "
            "session, an agent and `[models.NAME]` takes precedence, in this order.",
            expected="one of none, minimal, low, medium, high, xhigh, max",
        ),
    ] = ""
    cache_ttl: Annotated[
        Literal["5m", "1h"],
        about(
            "How long Anthropic caches a prompt. With `1h`, cache writes cost 2 times the input price instead of "
            "1.25 times."
        ),
    ] = "5m"
    temperature: Annotated[
        float,
        about("Sampling temperature; 0 is the most deterministic. It is not sent to reasoning models.", ge=0, le=2),
    ] = 1.0
    system_prompt: Annotated[str, about("Text that is added to the system prompt of every model call.")] = ""
    system_prompt_file: Annotated[
        str,
        about(
            "File whose text replaces the default system prompt, including AGENTS.md and CLAUDE.md (`pygent-ls "
            "prompt` shows it). A relative path is resolved against the settings file that names it, or else against "
            "the workspace. If the file cannot be read, a warning is shown and the default prompt is used."
        ),
    ] = ""
    agent: Annotated[str, about("Agent of new sessions.", min_length=1)] = "default"
    mode: Annotated[
        Mode,
        about(
            "Permission mode: `default` asks for medium and high risk; `accept_edits` also allows edits; `trust` "
            "asks only for high risk; `plan` is read-only; `bypass` asks only if a rule or hook asks, and requires "
            "`allow_bypass`."
        ),
    ] = "default"
    allow_bypass: Annotated[bool, about("Allow the mode `bypass`. Only effective in your own configuration file.")] = (
        False
    )
    permissions: Annotated[
        tuple[Rule, ...],
        about(
            "Permission rules, `tool` or `tool(pattern)`, in the lists `allow`, `ask` and `deny`. The lists of all "
            "layers are combined; deny takes precedence over ask, and ask over allow. For file tools the pattern is "
            "a glob (`edit_file(src/**)`, `read_file(**/.env)`), for `shell` the first words of a command or the "
            "whole command (`shell(git status:*)`, `shell(make test)`), for `web_fetch` a host "
            "(`web_fetch(domain:docs.python.org)`). An allow rule for first words must match every command in a "
            "line. It does not allow redirection into a file, assignments, substitutions, loops or here-documents; "
            "for programs that can run others or write files it allows only options known to be safe and those that "
            "the rule names. Deny and ask rules match any part of a line. A rule can also be a table with examples "
            'that are checked: `{rule = "…", match = ["…"], not_match = ["…"]}`. A workspace\'s file can only ask and '
            "deny.",
            expected="a table with the lists `allow`, `ask` and `deny`",
        ),
    ] = ()
    stream_flush_ms: Annotated[
        int,
        about(
            "Maximum time in milliseconds to collect events into one message while they come faster than they are "
            "sent, or while the editor does not read.",
            ge=0,
            le=1000,
        ),
    ] = 16
    first_byte_timeout_s: Annotated[
        float,
        about(
            "Timeout in seconds for the first byte of an answer; local models load slowly. A server that keeps the "
            "connection open without sending any part of an answer is given three times as long.",
            gt=0,
            le=MOST,
        ),
    ] = 300.0
    stream_idle_timeout_s: Annotated[
        float, about("Timeout in seconds between two parts of an answer.", gt=0, le=MOST)
    ] = 60.0
    shell_timeout_s: Annotated[
        float, about("Default timeout of a shell command in seconds; a call can set its own.", gt=0, le=MOST)
    ] = 120.0
    sandbox: Annotated[
        Literal["auto", "require", "off"],
        about(
            "Run commands in a sandbox (bubblewrap, on Linux): `auto` uses it if available and asks if it cannot be "
            "set up; `require` refuses to run commands without it; `off` disables it."
        ),
    ] = "auto"
    sandbox_network: Annotated[bool, about("Allow network access for sandboxed commands.")] = False
    sandbox_read: Annotated[
        Words,
        about(
            "Folders in the home folder that sandboxed commands may read, as absolute paths or starting with `~`. By "
            "default they can read only the workspace, installed tools and their downloads, and Git's settings.",
            expected="a list of folders",
        ),
    ] = ()
    sandbox_max_processes: Annotated[
        int,
        about(
            "Maximum number of processes and threads of one sandboxed command; a command that exceeds it is stopped.",
            ge=1,
            le=MOST,
        ),
    ] = 4_096
    sandbox_max_memory_mb: Annotated[
        int,
        about(
            "Maximum memory in MB of all processes of one sandboxed command; a command that exceeds it is stopped. 0 "
            "means four fifths of the machine's memory.",
            ge=0,
            le=MOST,
        ),
    ] = 0
    sandbox_max_file_mb: Annotated[
        int, about("Maximum size in MB of a file written by a sandboxed command.", ge=1, le=MOST)
    ] = 65_536
    redact_secrets: Annotated[
        bool,
        about(
            "Replace values that look like keys or passwords, and all values in files such as `.env`, with "
            "placeholders such as `{{SECRET_api_key_0123456789ab}}` in model requests, events and prompts. When the "
            "model writes a file, placeholders are replaced with the original values."
        ),
    ] = True
    text_tool_calls: Annotated[
        Literal["auto", "on", "off"],
        about("Offer and call tools as text: `auto` for models without native tool calling, `on` always, `off` never."),
    ] = "auto"
    additional_dirs: Annotated[
        Words,
        about(
            "Folders outside the workspace that tools can use, as absolute paths; rules name them the same way, such "
            "as `edit_file(/home/me/shared/**)`. A relative path is resolved against the settings file that names "
            "it, or else against the workspace. Sandboxed commands can write to these folders. Checkpoints do not "
            "include them.",
            expected="a list of folders",
        ),
    ] = ()
    disallowed_tools: Annotated[
        Words,
        about(
            "Tools to disable for all models, as names or globs. The lists of all layers are combined.",
            expected="a list of tools",
        ),
    ] = ()
    max_tool_result_chars: Annotated[
        int, about("Maximum number of characters of a tool result that are sent to the model.", ge=1, le=MOST)
    ] = 40_000
    cache_entries: Annotated[
        int,
        about(
            "Maximum number of cached tool results; 0 disables the cache. The least recently used results are "
            "removed first.",
            ge=0,
            le=MOST,
        ),
    ] = 512
    snapshot_days: Annotated[int, about("Number of days after which checkpoints are deleted.", ge=1, le=3650)] = 30
    extra_headers: Annotated[
        dict[str, str],
        about(
            "HTTP headers for every request to the provider of `model`. Their values are never shown.",
            expected="a table of header names and their text",
        ),
    ] = {}
    betas: Annotated[
        Words,
        about("Anthropic beta features to enable for every call of an Anthropic model.", expected="a list of names"),
    ] = ()
    providers: Annotated[
        dict[str, ProviderTable],
        about(
            "Connection settings per provider, for example `[providers.openai]`. A name that litellm does not know "
            "is your own server with a chat completions API: with `[providers.acme]` and its `api_base`, "
            "`acme/MODEL` is a model. The address, key and headers of a provider are used only for its models, and "
            "take precedence over `api_base`, `api_key_env` and `extra_headers`.",
            expected="a table of tables: [providers.NAME]",
        ),
    ] = {}
    hooks: Annotated[
        tuple[Hook, ...],
        about("Commands to run on events; see `docs/hooks.md`.", expected="a list of tables: [[hooks]]"),
    ] = ()
    agents: Annotated[
        dict[str, AgentTable],
        about("Custom agents by name: `[agents.NAME]`.", expected="a table of tables: [agents.NAME]"),
    ] = {}
    cli_models: Annotated[
        dict[str, CliModelTable],
        about(
            "Programs to use as models: `[cli_models.NAME]` defines the model `cli:NAME`.",
            expected="a table of tables: [cli_models.NAME]",
        ),
    ] = {}
    acp_agents: Annotated[
        dict[str, AcpAgentTable],
        about(
            "Agents of other programs: `[acp_agents.NAME]` defines the model `acp:NAME`. `${VARIABLE}` stands for an "
            "environment variable. See `docs/other-agents.md`.",
            expected="a table of tables: [acp_agents.NAME]",
        ),
    ] = {}
    models: Annotated[
        dict[str, ModelTable],
        about(
            'Prices and context windows of models that are unknown or have wrong data: `[models."openai/my-model"]`.',
            expected='a table of tables: [models."NAME"]',
        ),
    ] = {}
    mcp_servers: Annotated[
        dict[str, McpServerTable],
        about(
            "MCP servers whose tools are available as `mcp__NAME__TOOL`: `[mcp_servers.NAME]`. `${VARIABLE}` and "
            "`${VARIABLE:-DEFAULT}` stand for environment variables. See `docs/mcp.md`.",
            expected="a table of tables: [mcp_servers.NAME]",
        ),
    ] = {}
    language_servers: Annotated[
        dict[str, LanguageServerTable],
        about(
            "Language servers that the agent starts itself, for files about which your editor does not answer: "
            "`[language_servers.NAME]`. `pygent-ls doctor` lists those that it finds. See `docs/language-servers.md`.",
            expected="a table of tables: [language_servers.NAME]",
        ),
    ] = {}
    aliases: Annotated[
        dict[str, str],
        about('Custom names for slash commands: `fix = "/agent review"`.', expected="a table of names and commands"),
    ] = {}
    persist_sessions: Annotated[
        bool,
        about(
            "Save sessions so that they can be found and continued. If disabled, sessions are lost when the program "
            "ends."
        ),
    ] = True
    edits: Edits = Edits()
    context: ContextTable = ContextTable()
    memory: MemoryTable = MemoryTable()
    repository_map: RepositoryMapTable = RepositoryMapTable()
    web_search: WebSearchTable = WebSearchTable()
    voice: VoiceTable = VoiceTable()
    completion: CompletionTable = CompletionTable()
    compaction: CompactionTable = CompactionTable()
    remote: RemoteTable = RemoteTable()
    retry: Retry = Retry()


GROUPS: Mapping[str, type[Table]] = {
    name: type(default)
    for name, default in zip(Settings.__struct_fields__, Settings.__struct_defaults__, strict=True)
    if isinstance(default, Table)
}
"""Settings that are tables of settings; their members have dotted names: `edits.review`."""

NAMES: tuple[str, ...] = (
    *(name for name in Settings.__struct_fields__ if name not in GROUPS),
    *(f"{group}.{name}" for group, table in GROUPS.items() for name in table.__struct_fields__),
)
"""Names of the settings, in the order of the settings page; members of tables come last."""

SECRET: frozenset[str] = frozenset({"extra_headers"})
"""Settings whose values are never shown."""


def value_of(settings: Settings, key: str) -> object:
    """Return a setting's value by its name."""
    table: object = settings
    *groups, name = key.split(".")
    for group in groups:
        table = getattr(table, group)
    return getattr(table, name)


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Build the settings from valid values by name."""
    top = {key: value for key, value in values.items() if "." not in key}
    tables: dict[str, Any] = {
        group: table(**{name: values[f"{group}.{name}"] for name in table.__struct_fields__})
        for group, table in GROUPS.items()
    }
    return Settings(**top, **tables)


def field_of(key: str) -> Field:
    """Return the definition of a setting."""
    group, _, name = key.rpartition(".")
    return fields_of(GROUPS.get(group, Settings))[name]


def checked(key: str, raw: object, *, is_text: bool) -> object:
    """Validate a setting's value and return it typed. Raises `SettingError`; only text may stand for a number."""
    group, _, name = key.rpartition(".")
    return getattr(converted(GROUPS.get(group, Settings), {name: raw}, is_text=is_text), name)


def shown(key: str, value: object) -> str:
    """Format a setting's value on one line, with secrets masked."""
    if key in SECRET and value:
        return MASK
    if value in ("", {}, ()):
        return "(none)"
    if key in MASKED and isinstance(value, Mapping):
        value = {name: masked(to_builtins(table)) for name, table in cast("Mapping[str, Table | str]", value).items()}
    if key == "permissions" and isinstance(value, tuple):
        return shown_line(", ".join(f"{rule.decision} {rule.text}" for rule in cast("tuple[Rule, ...]", value)))
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_as_json)
    except (ValueError, RecursionError):  # a number of 5,000 digits; lists nested a thousand deep
        return "(too long to show)"
    return shown_line(text)


def _as_json(value: object) -> object:
    return to_builtins(value) if isinstance(value, Table) else str(value)


def shown_line(text: str, most_chars: int = MAX_SHOWN_CHARS) -> str:
    """Format untrusted text as one line of limited length, without keys and terminal control sequences."""
    text = redacted(" ".join(text[: 4 * most_chars].split()))
    text = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    return text if len(text) <= most_chars else text[: most_chars - 1] + "…"
