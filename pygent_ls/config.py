"""The settings: what each is, what it takes, and how it is shown.

Read by `app`, `cli` and `doctor` alone; every other room is given values. How layers become one is in
`config_layers`, where they come from in `config_sources`, the page about them in `config_page`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, Field
from pydantic.fields import FieldInfo

from pygent_ls.agent.rules import Rule
from pygent_ls.config_entries import (
    AgentTable,
    CliModel,
    Effort,
    Hook,
    Mode,
    ModelTable,
    ProviderTable,
    Words,
    address,
    dumped,
    headers,
    masked,
    variable_name,
)
from pygent_ls.config_tables import MOST, STRICT, Compaction, Context, Edits, Retry
from pygent_ls.log import MASK, redacted

MAX_SHOWN_CHARS = 80
"""A value longer than a line of a terminal is cut where it is shown."""


class Settings(BaseModel):
    """Every setting with its default. A running turn keeps the values that it began with."""

    model_config = STRICT

    model: str = Field(
        default="",
        description=(
            "The model: any litellm string (`anthropic/…`, `openai/…`, `ollama_chat/…`), `cli:NAME` for a program, "
            "`scripted:FILE` or `offline/rules`. Empty: by the first provider key found in the environment, else "
            "`offline/rules`; `pygent-ls doctor` says which."
        ),
    )
    fallback_models: Words = Field(
        default=(),
        description="Models that are tried in this order when the model fails and trying again did not help.",
        json_schema_extra={"expected": "a list of models"},
    )
    api_base: Annotated[str, AfterValidator(address)] = Field(
        default="",
        description=(
            "The address of the provider of `model`, where it is not the usual one. Other providers have theirs in "
            "`providers`."
        ),
        json_schema_extra={"expected": "an address that begins with http:// or https://"},
    )
    api_key_env: Annotated[str, AfterValidator(variable_name)] = Field(
        default="",
        description=(
            "The name of the environment variable that holds the key of the provider of `model`; the provider's own "
            "by default."
        ),
        json_schema_extra={"expected": "the name of a variable, not the key itself"},
    )
    max_iterations: int = Field(default=50, ge=0, le=MOST, description="Model calls a turn; 0 is no limit.")
    max_tokens: int = Field(
        default=0, ge=0, le=MOST, description="Tokens, in and out, that a turn may use; 0 is no limit."
    )
    max_budget_usd: float = Field(
        default=0.0, ge=0, le=MOST, description="Dollars that a turn may cost; 0 is no limit."
    )
    max_turn_seconds: float = Field(
        default=0.0, ge=0, le=MOST, description="Seconds that a turn may take; 0 is no limit."
    )
    max_output_tokens: int = Field(
        default=16384,
        ge=1,
        le=MOST,
        description="Tokens that the answer of one model call may have. An answer that goes on far beyond them is "
        "stopped, and the turn with it.",
    )
    max_thinking_tokens: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description=(
            "Tokens that a model may think before it answers. 0 asks for no thinking, and switches it off in models "
            "of DeepSeek, Moonshot and Z.ai, which think by themselves; `effort` goes before it."
        ),
    )
    effort: Effort | Literal[""] = Field(
        default="",
        description=(
            "How much the model reasons before it answers. Each provider is told in its own way, with the nearest "
            "effort that the model takes. Empty: by `max_thinking_tokens`, or else as the provider likes. The effort "
            "of a turn, of a session, of an agent and of `[models.NAME]` goes before it, in this order."
        ),
        json_schema_extra={"expected": "one of none, minimal, low, medium, high, xhigh, max"},
    )
    cache_ttl: Literal["5m", "1h"] = Field(
        default="5m",
        description=(
            "How long Anthropic keeps a prompt in its cache. With `1h` writing to the cache costs twice the price of "
            "input in place of 1.25 times."
        ),
    )
    temperature: float = Field(
        default=1.0,
        ge=0,
        le=2,
        description="How freely the model chooses its words; 0 is the least. Models that reason are not sent it.",
    )
    system_prompt: str = Field(default="", description="Added to the system prompt that every model call begins with.")
    system_prompt_file: str = Field(
        default="",
        description=(
            "A file whose text stands in the place of the system prompt that is put together otherwise, AGENTS.md and "
            "CLAUDE.md included (`pygent-ls prompt` shows it). A relative path begins at the file that names it, else "
            "at the workspace. While it cannot be read, you are told, and the usual prompt is used."
        ),
    )
    agent: str = Field(default="default", min_length=1, description="The agent that a new session begins with.")
    mode: Mode = Field(
        default="default",
        description=(
            "What needs your permission: `default` asks for medium and high risk, `accept_edits` not for edits, "
            "`trust` for high risk only; `plan` allows reading and nothing else; `bypass` never asks, and needs "
            "`allow_bypass`."
        ),
    )
    allow_bypass: bool = Field(
        default=False,
        description="Whether the mode `bypass` may be used. It counts in your own file and nowhere else.",
    )
    permissions: tuple[Rule, ...] = Field(
        default_factory=tuple[Rule, ...],
        description=(
            "Rules `tool` or `tool(pattern)` on what is allowed, asked for and denied, in the lists `allow`, `ask` and "
            "`deny`; the lists of all layers count together, and deny goes before ask before allow. For files the "
            "pattern is a glob (`edit_file(src/**)`, `read_file(**/.env)`), for `shell` the first words of a command "
            "or a whole one (`shell(git status:*)`, `shell(make test)`), for `web_fetch` a host "
            "(`web_fetch(domain:docs.python.org)`). An allow rule for first words must cover every command "
            "of a line, and covers no redirection into a file, assignment, substitution, loop or here-document; of a "
            "program that can run others or write files it covers the options that are known to be safe, and those "
            "that it names. Deny and ask rules count for any part of a line. In place of its text a "
            'rule may be a table with examples that are checked: `{rule = "…", match = ["…"], not_match = ["…"]}`. '
            "A workspace's file may ask and deny."
        ),
        json_schema_extra={"expected": "a table with the lists `allow`, `ask` and `deny`"},
    )
    stream_flush_ms: int = Field(
        default=16, ge=0, le=1000, description="Milliseconds that events may wait to travel in one message."
    )
    first_byte_timeout_s: float = Field(
        default=300.0,
        gt=0,
        le=MOST,
        description="Seconds until a model call's first byte; models on your own machine load slowly. A server that "
        "keeps the connection open, but says nothing of its answer, is waited for three times as long.",
    )
    stream_idle_timeout_s: float = Field(
        default=60.0, gt=0, le=MOST, description="Seconds between two pieces of a model's answer."
    )
    shell_timeout_s: float = Field(
        default=120.0,
        gt=0,
        le=MOST,
        description="Seconds after which a shell command is ended, unless its call says more or less.",
    )
    sandbox: Literal["auto", "require", "off"] = Field(
        default="auto",
        description=(
            "Whether commands run in a sandbox (bubblewrap, on Linux): `auto` where the machine has one, and where it "
            "cannot be set up, you are asked; `require` refuses to run any command without it; `off` uses none."
        ),
    )
    sandbox_network: bool = Field(default=False, description="Whether commands in the sandbox may use the network.")
    sandbox_read: Words = Field(
        default=(),
        description=(
            "Folders of the home that commands in the sandbox may read, by whole paths or with `~`. Without it they "
            "see of the home only the workspace, tools, what tools have downloaded, and git's settings."
        ),
        json_schema_extra={"expected": "a list of folders"},
    )
    sandbox_max_processes: int = Field(
        default=4_096,
        ge=1,
        le=MOST,
        description="Processes and threads that one command in the sandbox may have at once; with more it is ended.",
    )
    sandbox_max_memory_mb: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description="Memory, in MB, that the processes of one command in the sandbox may use together; with more it "
        "is ended. 0 stands for four fifths of the machine's.",
    )
    sandbox_max_file_mb: int = Field(
        default=65_536, ge=1, le=MOST, description="Size, in MB, of a file that a command in the sandbox writes."
    )
    redact_secrets: bool = Field(
        default=True,
        description=(
            "Whether the model, events and prompts are shown placeholders such as `{{SECRET_api_key_0123456789ab}}` in "
            "place of values that look like keys or passwords, and of every value of files such as `.env`. A file that "
            "the model writes gets the values back."
        ),
    )
    text_tool_calls: Literal["auto", "on", "off"] = Field(
        default="auto",
        description=(
            "Whether tools are offered and called as text: `auto` where the model is known to have no calls of its "
            "own, or refuses tools when it is called, `on` always, `off` never."
        ),
    )
    additional_dirs: Words = Field(
        default=(),
        description=(
            "Folders beside the workspace's that tools may use, by their whole paths; rules such as "
            "`edit_file(/home/me/shared/**)` name them so. A relative path begins at the file that names it, else at "
            "the workspace. Commands in the sandbox may write there too. Checkpoints do not keep what is in them."
        ),
        json_schema_extra={"expected": "a list of folders"},
    )
    disallowed_tools: Words = Field(
        default=(),
        description="Tools that no model is offered, names or globs; the lists of all layers count together.",
        json_schema_extra={"expected": "a list of tools"},
    )
    max_tool_result_chars: int = Field(
        default=40_000, ge=1, le=MOST, description="Characters of one tool's result that the model reads at most."
    )
    cache_entries: int = Field(
        default=512,
        ge=0,
        le=MOST,
        description="Tool results that are kept for reuse; 0 keeps none. The least recently used go.",
    )
    snapshot_days: int = Field(default=30, ge=1, le=3650, description="Days after which checkpoints are forgotten.")
    extra_headers: Annotated[dict[str, str], AfterValidator(headers)] = Field(
        default_factory=dict[str, str],
        repr=False,
        description="HTTP headers sent to the provider of `model` with every call. They are never shown.",
        json_schema_extra={"expected": "a table of header names and their text"},
    )
    betas: Words = Field(
        default=(),
        description="Names of Anthropic's features in trial, sent with every call of its models.",
        json_schema_extra={"expected": "a list of names"},
    )
    providers: dict[str, ProviderTable] = Field(
        default_factory=dict[str, ProviderTable],
        repr=False,
        description=(
            "How each provider is reached: `[providers.openai]`. A name that litellm does not know is a server of your "
            "own that speaks chat completions: with `[providers.acme]` and its `api_base`, `acme/MODEL` is a model. A "
            "provider's address, key and headers are used for its own models, whoever names them, and for no others. "
            "They go before `api_base`, `api_key_env` and `extra_headers`."
        ),
        json_schema_extra={"expected": "a table of tables: [providers.NAME]"},
    )
    hooks: tuple[Hook, ...] = Field(
        default_factory=tuple[Hook, ...],
        description="Commands of your own that are run when something happens; `docs/hooks.md` has them all.",
        json_schema_extra={"expected": "a list of tables: [[hooks]]"},
    )
    agents: dict[str, AgentTable] = Field(
        default_factory=dict[str, AgentTable],
        description="Variants of the agent by name: `[agents.NAME]`.",
        json_schema_extra={"expected": "a table of tables: [agents.NAME]"},
    )
    cli_models: dict[str, CliModel] = Field(
        default_factory=dict[str, CliModel],
        description="Programs that are models: `[cli_models.NAME]` for the model `cli:NAME`.",
        json_schema_extra={"expected": "a table of tables: [cli_models.NAME]"},
    )
    models: dict[str, ModelTable] = Field(
        default_factory=dict[str, ModelTable],
        description='Prices and windows of models that are not known, or known wrongly: `[models."openai/my-model"]`.',
        json_schema_extra={"expected": 'a table of tables: [models."NAME"]'},
    )
    aliases: dict[str, str] = Field(
        default_factory=dict[str, str],
        description='Names of your own for commands: `fix = "/agent review"`.',
        json_schema_extra={"expected": "a table of names and commands"},
    )
    persist_sessions: bool = Field(
        default=True,
        description="Keep sessions in the state folder, so that they can be found and gone on with; without, they end "
        "with the program.",
    )
    edits: Edits = Edits()
    context: Context = Context()
    compaction: Compaction = Compaction()
    retry: Retry = Retry()


def _groups() -> Iterator[tuple[str, type[BaseModel]]]:
    for name, info in Settings.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield name, info.annotation


GROUPS: Mapping[str, type[BaseModel]] = dict(_groups())
"""The settings that are tables of settings, each of which has a name with a point: `edits.review`."""


def _fields() -> Iterator[tuple[str, FieldInfo]]:
    for name, info in Settings.model_fields.items():
        if name not in GROUPS:
            yield name, info
    for group, table in GROUPS.items():
        for name, info in table.model_fields.items():
            yield f"{group}.{name}", info


FIELDS: Mapping[str, FieldInfo] = dict(_fields())
"""How each setting is defined, those of tables last."""

NAMES: tuple[str, ...] = tuple(FIELDS)
"""The settings by name, in the order of the page."""

SECRET: frozenset[str] = frozenset({"extra_headers"})
"""Settings whose values are never shown."""

NOT_YET = frozenset({"mcp_servers"})
"""Settings that have their names already and that nothing reads in this version: they are said, and harm nothing."""


def value_of(settings: Settings, key: str) -> object:
    """A setting's value by its name."""
    table: object = settings
    *groups, name = key.split(".")
    for group in groups:
        table = getattr(table, group)
    return getattr(table, name)


def settings_of(values: Mapping[str, object]) -> Settings:
    """The settings from values that are right, by name."""
    top = {key: value for key, value in values.items() if "." not in key}
    tables = {
        group: table(**{name: values[f"{group}.{name}"] for name in table.model_fields})
        for group, table in GROUPS.items()
    }
    return Settings.model_validate({**top, **tables})


def checked(key: str, raw: object, *, is_text: bool) -> object:
    """A setting's value, typed. Raises pydantic's `ValidationError`; only text may stand for a number."""
    group, _, name = key.rpartition(".")
    table = GROUPS.get(group, Settings)
    return getattr(table.model_validate({name: raw}, strict=not is_text), name)


def shown(key: str, value: object) -> str:
    """A setting's value on one line, without what nobody should see."""
    if key in SECRET and value:
        return MASK
    if value in ("", {}, ()):
        return "(none)"
    if key == "providers" and isinstance(value, Mapping):
        value = {name: masked(dumped(table)) for name, table in cast("Mapping[str, ProviderTable]", value).items()}
    if key == "permissions" and isinstance(value, tuple):
        return one_line(", ".join(f"{rule.decision} {rule.text}" for rule in cast("tuple[Rule, ...]", value)))
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_as_json)
    except (ValueError, RecursionError):  # a number of 5,000 digits; lists a thousand deep
        return "(too long to show)"
    return one_line(text)


def _as_json(value: object) -> object:
    return dumped(value) if isinstance(value, BaseModel) else str(value)


def one_line(text: str, most_chars: int = MAX_SHOWN_CHARS) -> str:
    """Text from anywhere on one line that is not too long, without keys and without what commands a terminal."""
    text = redacted(" ".join(text[: 4 * most_chars].split()))
    text = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    return text if len(text) <= most_chars else text[: most_chars - 1] + "…"


def expected(key: str) -> str:
    """What a setting takes, in words that follow "expected"."""
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
