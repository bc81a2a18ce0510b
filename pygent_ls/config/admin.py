"""What the administrator's settings keep all other layers from changing. Reads no file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, cast, get_args

from msgspec import Struct, field

from pygent_ls.config.entries import TABLES, Mode
from pygent_ls.config.layer import Layer
from pygent_ls.config.settings import NAMES
from pygent_ls.config.table import Table, Words, about

ADMIN_FILE = Path("/etc/pygent-ls/config.toml")
"""Path of the administrator's settings file. Nothing that a user or a project sets changes it."""

CEILINGS: Mapping[str, bool] = {
    "max_iterations": True,
    "max_tokens": True,
    "max_budget_usd": True,
    "max_turn_seconds": True,
    "max_output_tokens": False,
    "max_thinking_tokens": False,
    "first_byte_timeout_s": False,
    "stream_idle_timeout_s": False,
    "shell_timeout_s": False,
    "sandbox_max_processes": False,
    "sandbox_max_memory_mb": True,
    "sandbox_max_file_mb": False,
    "max_tool_result_chars": False,
    "context.max_tokens": True,
    "context.max_messages": True,
    "context.max_chars": True,
    "context.max_words": True,
    "completion.max_tokens": False,
    "completion.max_tokens_per_day": True,
    "retry.max_attempts": False,
    "retry.max_seconds": False,
}
"""Limits, of which other layers may set a lower value; whether 0 means no limit."""

MERGED = frozenset({"permissions", "hooks", "disallowed_tools"})
"""Settings to which every layer adds, and from which none takes anything."""

ExclusiveName = Literal[
    "agents",
    "aliases",
    "providers",
    "hooks",
    "mcp_servers",
    "language_servers",
    "cli_models",
    "acp_agents",
    "models",
    "skills",
    "commands",
    "tools",
]
"""Settings and folders whose entries of users and projects an administrator can switch off."""


def _settings_that_can_be_overridden(names: Iterable[str]) -> None:
    for name in names:
        if name not in NAMES:
            raise ValueError(f"there is no setting {name}")
        if name in MERGED:
            raise ValueError(f"{name} of all layers are combined, so it cannot be overridden")


class AdminTable(Table, frozen=True, kw_only=True):
    """Table `[admin]`, which only the administrator's file may have."""

    checks: ClassVar = {"overridable": _settings_that_can_be_overridden}

    overridable: Annotated[
        Words,
        about(
            "Settings of this file that are only defaults, such as `model` or `edits.review`: every other layer may "
            "change them. Of a table such as `agents`, other layers may then replace the entries of this file.",
            expected="a list of settings",
        ),
    ] = ()
    models: (
        Annotated[
            Words,
            about(
                "Globs of the only models that may be used, such as `anthropic/*`; `*` also matches `/`. If omitted, "
                "all models. `offline/rules`, which sends nothing, is always available.",
                expected="a list of globs",
            ),
        ]
        | None
    ) = None
    modes: (
        Annotated[
            tuple[Mode, ...],
            about(
                "The only permission modes that may be used; if omitted, all. `plan`, which only reads, is always "
                "available. If no layer sets `mode`, and `default` is not in the list, its first mode is the default.",
                expected=f"a list of {', '.join(get_args(Mode))}",
                min_length=1,
            ),
        ]
        | None
    ) = None
    exclusive: Annotated[
        tuple[ExclusiveName, ...],
        about(
            "Settings and folders of which only the entries of this file are used; those of users and projects are "
            "ignored with a notice. `skills`, `commands` and `tools` are the folders of these names, of which this "
            "file has none. `hooks` also covers those that an editor or a script brings.",
            expected=f"a list of {', '.join(get_args(ExclusiveName))}",
        ),
    ] = ()


class AdminSettings(Struct, frozen=True, kw_only=True):
    """The administrator's settings, read."""

    file: str = ""
    """Path of the file, for messages."""
    layer: Layer | None = None
    """Settings of the file without `[admin]`; None if there is no file, or none was ever readable."""
    table: AdminTable = field(default_factory=AdminTable)
    problem: str = ""
    """Why the file cannot be relied on, so that no turn may start; empty if it can."""

    @property
    def given(self) -> Mapping[str, object]:
        """Raw values of the file, by setting name."""
        return self.layer.values if self.layer is not None else {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is set and nothing is wrong."""
        return self.layer is None and not self.problem

    @property
    def ceilings(self) -> frozenset[str]:
        """Limits that other layers may only lower."""
        return frozenset(key for key in self.given if key in CEILINGS and key not in self.table.overridable)

    @property
    def locked(self) -> frozenset[str]:
        """Settings that no other layer may set."""
        free = (CEILINGS.keys() | MERGED | TABLES.keys() | {"aliases"}) | set(self.table.overridable)
        return frozenset(self.given.keys() - free)

    def entries(self, key: str) -> frozenset[str]:
        """Names of the entries of a table that no other layer may replace."""
        table = self.given.get(key)
        if key in self.table.overridable or not (key in TABLES or key == "aliases") or not isinstance(table, Mapping):
            return frozenset()
        return frozenset(map(str, cast("Mapping[object, object]", table)))

    def is_exclusive(self, name: str) -> bool:
        """Whether only the entries of this file are used: also if it is not known whether it says so."""
        return name in (get_args(ExclusiveName) if self.problem else self.table.exclusive)

    @property
    def locked_by(self) -> str:
        """Explain a refusal."""
        return f"locked by {self.file}"


NO_ADMIN = AdminSettings()
"""Settings of a machine whose administrator has set nothing."""


def exceeds(key: str, value: float, ceiling: float) -> bool:
    """Whether a value of a limit is above its ceiling."""
    if not CEILINGS[key]:
        return value > ceiling
    return ceiling != 0 and (value == 0 or value > ceiling)
