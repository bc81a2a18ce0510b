"""Writes to the user's own settings file and leaves the rest of it unchanged."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
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
    except (OSError, ValueError):
        return ""
    return named if isinstance(named, str) else ""


def save_model(file: Path, name: str, *, api_base: str = "", former_provider: str = "") -> None:
    """Set `model`, and `api_base` if the model needs one.

    If the model is not of `former_provider`, the file's address, key and headers for that provider move to
    `[providers.FORMER]`; at the top level they would apply to the new provider. Raises `SettingError`.
    """
    from tomlkit.exceptions import ParseError

    from pygent_ls.workspace.files.writer import write_atomically

    try:
        document = _read(file)
        if former_provider and former_provider != name.partition("/")[0]:
            _move_to_provider(document, former_provider)
        document["model"] = name
        if api_base:
            document["api_base"] = api_base
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(file, document.as_string().encode())
    except ParseError as error:
        raise SettingError(_failed(file, name, f"it is not valid TOML ({error})")) from None
    except (OSError, ValueError, ToolError) as error:
        raise SettingError(_failed(file, name, str(error))) from None


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


def _failed(file: Path, name: str, why: str) -> str:
    return f'{file} could not be changed: {why}. Set model = "{name}" yourself.'
