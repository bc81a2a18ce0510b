"""Writes to the user's own settings file and leaves the rest of it unchanged."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pygent_ls.config.layers import OF_A_PROVIDER
from pygent_ls.errors import SettingError, ToolError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def model_in(file: Path) -> str:
    """Return the model that the file names; empty if it names none or cannot be read."""
    try:
        named = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("model")
    except (OSError, ValueError, RecursionError):
        return ""
    return named if isinstance(named, str) else ""


def save_model(file: Path, name: str, *, api_base: str = "", former_provider: str = "") -> None:
    """Set `model`, and `api_base` if the model needs one.

    If the model is not of `former_provider`, the file's address, key and headers for that provider move to
    `[providers.FORMER]`; at the top level they would apply to the new provider. Raises `SettingError`.
    """

    def change(document: Any) -> None:
        if former_provider and former_provider != name.partition("/")[0]:
            _move_to_provider(document, former_provider)
        document["model"] = name
        if api_base:
            document["api_base"] = api_base

    _change(file, change, f'Set model = "{name}" yourself.')


def save_mcp_server(file: Path, name: str, table: Mapping[str, Any]) -> None:
    """Set `[mcp_servers.NAME]`. Raises `SettingError` if the name or the table is invalid, or the file cannot be
    changed."""
    from pygent_ls.config.entries import McpServerTable
    from pygent_ls.config.table import converted

    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise SettingError(f"{name!r} is not a valid name: use letters, digits, - and _")
    converted(McpServerTable, table)

    def change(document: Any) -> None:
        import tomlkit

        servers = document.setdefault("mcp_servers", tomlkit.table(is_super_table=True))
        made = tomlkit.table()
        for key, value in table.items():
            made[key] = _inline(value)
        servers[name] = made

    _change(file, change, f"Write [mcp_servers.{name}] yourself.")


def remove_mcp_server(file: Path, name: str) -> bool:
    """Remove `[mcp_servers.NAME]`; return False if the file has no such table. Raises `SettingError`."""
    removed: list[Any] = []

    def change(document: Any) -> None:
        servers = document.get("mcp_servers", {})
        if name in servers:
            removed.append(servers.pop(name))
            if not servers:
                del document["mcp_servers"]

    _change(file, change, f"Remove [mcp_servers.{name}] yourself.")
    return bool(removed)


def _change(file: Path, change: Callable[[Any], None], otherwise: str) -> None:
    """Change the file by a function of its document. Raises `SettingError`, which ends with `otherwise`."""
    from tomlkit.exceptions import TOMLKitError

    from pygent_ls.workspace.files.writer import write_atomically

    try:
        document = _read(file)
        before = document.as_string()
        change(document)
        if document.as_string() == before:
            return
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(file, document.as_string().encode())
    except (OSError, ValueError, TOMLKitError, ToolError) as error:
        why = f"it is not valid TOML ({error})" if isinstance(error, TOMLKitError) else str(error)
        raise SettingError(f"{file} could not be changed: {why}. {otherwise}") from None


def _read(file: Path) -> TOMLDocument:
    """Parse the file. Raises OSError, ValueError or `ParseError`."""
    import tomlkit

    try:
        return tomlkit.parse(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return tomlkit.document()


def _move_to_provider(document: Any, provider: str) -> None:
    import tomlkit

    given: Mapping[str, Any] = {key: document.pop(key) for key in OF_A_PROVIDER if key in document}
    if not given:
        return
    if "providers" not in document:
        document.add("providers", tomlkit.table(is_super_table=True))
    providers: Any = document["providers"]
    if not isinstance(providers, dict) or not isinstance(cast("Any", providers).get(provider, {}), dict):
        raise ValueError(f"providers.{provider} is not a table")
    tables = cast("Any", providers)
    if provider not in tables:
        tables[provider] = tomlkit.table()
    own: Any = tables[provider]
    if _is_of_another_server(own, given):
        return  # it was overridden by that table, and its key is for another server
    for key, value in given.items():
        own.setdefault(key, _inline(value))


def _is_of_another_server(own: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    from pygent_ls.llm.providers.endpoints import is_same_server

    addresses = own.get("api_base"), given.get("api_base")
    return all(addresses) and not is_same_server(*map(str, addresses))


def _inline(value: Any) -> Any:
    """Return a table as `{ name = "value" }`, so that it can be nested in another table."""
    import tomlkit

    if not isinstance(value, Mapping):
        return value
    made: Any = tomlkit.inline_table()
    made.update(cast("Mapping[str, Any]", value))
    return made
