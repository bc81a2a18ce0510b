"""Sources of settings layers: files, the environment, the editor and the command line.

A session's own choices are not a layer: the session stores them, and they take precedence over the settings.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.rules.rule import RuleOrigin
from pygent_ls.config.layer import Layer, SettingProblem
from pygent_ls.config.mcp_files import MCP_FILES, servers_in
from pygent_ls.config.merge import GATHERED
from pygent_ls.config.paths import state_folder as state_folder  # noqa: PLC0414 - re-export for readers
from pygent_ls.config.paths import user_file as user_file  # noqa: PLC0414 - re-export for readers
from pygent_ls.config.settings import GROUPS, NAMES, shown
from pygent_ls.data_files import read_toml

ENVIRONMENT_PREFIX = "PYGENT_"

WORKSPACE_FILE = Path(".pygent", "config.toml")
"""Path of the workspace's settings file, relative to the workspace folder."""

LOCAL_FILE = Path(".pygent", "config.local.toml")
"""Path of one user's settings file in the workspace, relative to its folder; kept out of the repository."""

MAX_FILE_BYTES = 1_000_000
"""Maximum size of a settings file; a larger file is something else."""

_OTHER_VARIABLES = frozenset(
    {"PYGENT_LOG", "PYGENT_PROJECT_DIR", "PYGENT_HOOK_EVENT", "PYGENT_COMMAND_PROCESS", "PYGENT_AGENT_PROCESS"}
)
"""Variables with the prefix `PYGENT_` that are not settings. All but the first are set for hooks, commands and agents,
which may run pygent-ls.
"""

SettingSource = Literal["user", "project", "local"]
"""Settings file: the user's, the workspace's shared one, or the workspace's unshared one."""

SETTING_SOURCES: frozenset[SettingSource] = frozenset({"user", "project", "local"})

_OPTIONS: Mapping[str, str] = {
    "context.max_chars": "--max-chars",
    "context.max_words": "--max-words",
    "permissions": "--allowed-tools, --disallowed-tools",
}
"""Command-line options whose names differ from their settings."""


class CommandLine(Struct, frozen=True, kw_only=True):
    """Settings given by the options of a command."""

    values: Mapping[str, object] = field(default_factory=dict[str, object])
    """Values by setting name; None for an option that was not given."""
    added: Mapping[str, object] = field(default_factory=dict[str, object])
    """Values appended to those of weaker layers, by setting name: list items or text."""
    sources: frozenset[SettingSource] = SETTING_SOURCES
    """Settings files that are read."""
    system_prompt: str | None = None
    """Text that replaces the default system prompt and the project's instructions; None to keep them."""


Check = Callable[[os.stat_result], None]
"""Raises OSError for a file that must not be read."""


def _any_file(_: os.stat_result) -> None:
    """Refuse no file."""


_TABLES = frozenset(GATHERED) - {"disallowed_tools"} | {"extra_headers"}
"""Settings whose text form is JSON."""


def user_layer(file: Path) -> Layer:
    """Read the user's own file; a missing file sets nothing."""
    return file_layer(f"user file {file}", file, "user")


def workspace_layer(folder: Path, named: Path = WORKSPACE_FILE) -> Layer:
    """Read a settings file of the workspace. It may have come with the code, so until it is trusted it may only
    tighten.
    """
    file = folder / named
    return file_layer(f"workspace file {file}", file, "workspace")


def mcp_layers(folder: Path, place: Path | None = None) -> list[Layer]:
    """Read the files of the workspace in which other programs name their MCP servers, which will work in `place`, by
    default the same folder.
    """
    found: list[Layer] = []
    for named, key in MCP_FILES.items():
        name = f"workspace file {folder / named}"
        try:
            servers = servers_in(_text_of(folder / named), key, place or folder)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            why = _why_unreadable(error, "JSON")
            problem = SettingProblem(layer=name, key="", value="", problem=why, kind="unreadable")
            found.append(_layer(name, {}, str, origin="workspace", problems=(problem,)))
        else:
            found.append(_layer(name, {"mcp_servers": servers}, str, origin="workspace"))
    return found


def environment_layer(environment: Mapping[str, str]) -> Layer:
    """Read `PYGENT_…` variables. An empty one counts as not set; a table is written as a JSON object."""
    given: dict[str, object] = {
        name: value
        for name, value in environment.items()
        if name.startswith(ENVIRONMENT_PREFIX) and value and name not in _OTHER_VARIABLES
    }
    for spelled in map(as_variable, _TABLES):
        if spelled in given:
            given[spelled] = _json(environment[spelled])
    return _layer("environment", given, as_variable, is_text=True, origin="environment")


def editor_layer(given: object, source: str) -> Layer:
    """Read settings from the editor, with camelCase keys; `source` names where the editor sent them, for example
    `initializationOptions`.

    Editors send None for a section or a key that is not set.
    """
    name = f"editor ({source})"
    if given is None:
        return _layer(name, {}, camel_case, origin="editor")
    if not isinstance(given, Mapping):
        problem = SettingProblem(
            layer=name, key="", value=shown("", given), problem="expected an object", kind="unreadable"
        )
        return _layer(name, {}, camel_case, origin="editor", problems=(problem,))
    items = cast("Mapping[object, object]", given).items()
    values = {str(key): value for key, value in items if value is not None}
    return _layer(name, values, camel_case, origin="editor")


def command_line_layer(given: Mapping[str, object], added: Mapping[str, object] | None = None) -> Layer:
    """Build the layer of `CommandLine` options; their text is converted to typed values."""
    values = {_as_option(name): value for name, value in given.items() if value is not None}
    layer = _layer("command line", values, _as_option, is_text=True, origin="command_line")
    return replace(layer, added=added or {})


def camel_case(name: str) -> str:
    """Convert `max_iterations` to `maxIterations`; in a dotted name, each part."""

    def camel(part: str) -> str:
        first, *rest = part.split("_")
        return first + "".join(word.capitalize() for word in rest)

    return ".".join(map(camel, name.split(".")))


def as_variable(name: str) -> str:
    """Convert `edits.review` to `PYGENT_EDITS_REVIEW`."""
    return ENVIRONMENT_PREFIX + name.upper().replace(".", "_")


def _as_option(name: str) -> str:
    return _OPTIONS.get(name) or "--" + name.replace("_", "-").replace(".", "-")


def _layer(
    name: str,
    given: Mapping[str, object],
    spell: Callable[[str], str],
    *,
    is_text: bool = False,
    origin: RuleOrigin = "user",
    problems: tuple[SettingProblem, ...] = (),
) -> Layer:
    """Build a layer, separating settings from unknown keys."""
    names = {spell(each): each for each in NAMES}
    flat = dict(_flat(given, {spell(group) for group in GROUPS}))
    return Layer(
        name=name,
        values={names[key]: value for key, value in flat.items() if key in names},
        unknown={key: value for key, value in flat.items() if key not in names},
        spell=spell,
        is_text=is_text,
        trusted=origin != "workspace",
        origin_of_rules=origin,
        problems=problems,
    )


def _flat(given: Mapping[str, object], groups: Collection[str]) -> Iterator[tuple[str, object]]:
    """Yield the values that are set, members of tables under dotted names; None counts as not set at any level."""
    for key, value in given.items():
        if key in groups and isinstance(value, Mapping):
            table = cast("Mapping[object, object]", value)
            yield from ((f"{key}.{name}", inner) for name, inner in table.items() if inner is not None)
        else:
            yield key, value


def file_layer(name: str, file: Path, origin: RuleOrigin, check: Check = _any_file) -> Layer:
    """Read a TOML file, which `check` may refuse; a missing file sets nothing."""
    try:
        values = read_toml(_text_of(file, check))
    except FileNotFoundError:
        return _layer(name, {}, str, origin=origin)
    except (OSError, ValueError, RecursionError) as error:
        problem = SettingProblem(
            layer=name, key="", value="", problem=_why_unreadable(error, "TOML"), kind="unreadable"
        )
        return _layer(name, {}, str, origin=origin, problems=(problem,))
    return _layer(name, values, str, origin=origin)


def _text_of(file: Path, check: Check = _any_file) -> str:
    """Read a file. Raises OSError or ValueError; a pipe or a device is never opened."""
    _must_be_a_file(file.stat())
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)  # the path may have been replaced; check the file that was opened
        _must_be_a_file(status)
        check(status)
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            content = opened.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_FILE_BYTES:
        raise OSError(f"larger than {MAX_FILE_BYTES:,} bytes")
    return content.decode("utf-8-sig")


def _must_be_a_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a file")


def _why_unreadable(error: OSError | ValueError | RecursionError, form: str) -> str:
    """Describe the error; for an error of the form, TOML or JSON, with line and column."""
    match error:
        case UnicodeDecodeError():
            return f"not UTF-8 text (at byte {error.start})"
        case ValueError():
            return f"not valid {form}: {shown('', error)}"
        case RecursionError():
            return f"not valid {form}: nested too deeply"
        case OSError():
            return f"cannot be read: {error.strerror or error}"


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
