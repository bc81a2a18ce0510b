"""What `pygent-ls doctor` says: whether a turn could run here, with what, and why. It asks no network."""

from __future__ import annotations

import asyncio
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pygent_ls.config import NAMES, Settings, shown, value_of
from pygent_ls.config_layers import Loaded
from pygent_ls.errors import ModelError, SettingError
from pygent_ls.log import redacted

LIBRARIES = ("pygent-ls", "pygls", "litellm")
"""Whose versions a report of a bug needs."""

PROGRAM_TIMEOUT_S = 5.0
"""For a program to tell its version; one that hangs is not to hang us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """All that there is to look at."""

    loaded: Loaded
    model: str
    """The model that a turn would use."""
    model_reason: str
    """Why that one."""
    environment: Mapping[str, str]
    find: Callable[[str], str | None]
    """The path of a program, as the daemon itself would find it."""
    user_file: Path
    state_folder: Path
    log_file: Path


_HARMLESS = frozenset({"needs_trust", "not_yet"})
"""Problems that are told and that are no failure."""


def doctor(surveyed: Surveyed) -> tuple[str, int]:
    """The report, and 1 where a turn could not run or a setting does not count that should, else 0.

    What a workspace asks for without being trusted, and what this version does not use, is told and is no failure.
    """
    model = _found_model(surveyed)
    rg = surveyed.find("rg")
    obstacles = [model.problem] if model.problem else []
    if rg is None:
        obstacles.append("rg (ripgrep) is not found: install pygent-ls again, or ripgrep with the system's packages.")
    wrong = [problem for problem in surveyed.loaded.problems if problem.kind not in _HARMLESS]
    untrusted = [problem for problem in surveyed.loaded.problems if problem.kind == "needs_trust"]
    unused = [problem for problem in surveyed.loaded.problems if problem.kind == "not_yet"]
    sections = [
        _section("Versions", _versions()),
        _section(
            "Model",
            [("name", redacted(surveyed.model)), ("why", surveyed.model_reason), ("called through", model.adapter)],
        ),
        _section("Programs", [("rg", _program(rg)), ("git", _program(surveyed.find("git")))]),
        _section("Folders", _places(surveyed)),
        _section("Telemetry", [("OpenTelemetry", _telemetry(surveyed.environment))]),
        _section("Settings", _settings(surveyed.loaded)),
        _list("Settings that do not count", [problem.text for problem in wrong]),
        _list(
            "Left aside until the workspace is trusted (an editor asks; `pygent-ls trust` trusts it)",
            [problem.text for problem in untrusted],
        ),
        _list("Settings of other versions", [problem.text for problem in unused]),
        _list("A turn cannot run", obstacles) or "A turn can run.",
    ]
    text = "\n\n".join(section for section in sections if section) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8"), 1 if obstacles or wrong else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The model, as far as it can be told of without calling it."""

    adapter: str
    problem: str = ""
    """What stands in its way; empty where nothing is known to."""


def _found_model(surveyed: Surveyed) -> _Found:
    from pygent_ls.app_values import endpoint_of, programs_of
    from pygent_ls.llm.anthropic.model import AnthropicModel
    from pygent_ls.llm.litellm.model import LitellmModel
    from pygent_ls.llm.openai.chat_model import OpenAIModel
    from pygent_ls.llm.providers import provider_named
    from pygent_ls.llm.resources import ModelResources
    from pygent_ls.llm.routed_model import RoutedModel
    from pygent_ls.llm.routing import adapter_of, make_model, missing_extra
    from pygent_ls.workspace.process import LocalProcesses

    settings = surveyed.loaded.settings
    adapter = "none"
    try:
        programs = programs_of(settings, LocalProcesses(), surveyed.state_folder)
        model = make_model(surveyed.model, endpoint_of(settings), ModelResources(cli=programs))
        if isinstance(model, RoutedModel):
            model = asyncio.run(model.routed())
        adapter = adapter_of(model)
        problem = missing_extra(surveyed.model)
        if isinstance(model, OpenAIModel | AnthropicModel):
            model.check(surveyed.environment)
        elif isinstance(model, LitellmModel) and provider_named(_provider(surveyed.model)):
            problem = problem or _key_problem(surveyed.model, settings, surveyed.environment)
        elif not problem:
            asyncio.run(model.prepare())  # a program; or a name that only litellm can judge: loading it takes seconds
    except (SettingError, ModelError) as error:
        problem = str(error)
    return _Found(adapter=adapter, problem=problem)


def _key_problem(name: str, settings: Settings, environment: Mapping[str, str]) -> str:
    """A key that is missing, of a provider that we know."""
    from pygent_ls.llm.errors import how_to_set_key
    from pygent_ls.llm.providers import first_set, provider_named

    variable = settings.api_key_env
    if variable:
        return "" if environment.get(variable) else f"No key: {how_to_set_key(variable)}"
    provider = provider_named(_provider(name))
    if provider is None or not provider.needs_key or first_set(provider.key_variables, environment):
        return ""
    if settings.api_base or first_set(provider.base_variables, environment):
        return ""  # a server of the user's own, which may ask for no key
    return f"No key for {provider.name}. {how_to_set_key(provider.key_variables[0])}"


def _provider(name: str) -> str:
    return name.removeprefix("litellm/").partition("/")[0]


def _versions() -> list[tuple[str, str]]:
    return [*((name, _version(name)) for name in LIBRARIES), ("python", platform.python_version())]


def _version(library: str) -> str:
    """From the installed metadata: importing litellm takes seconds."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def _program(path: str | None) -> str:
    if path is None:
        return "not found"
    try:
        answer = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROGRAM_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path} does not run: {error}"
    first_line = next(iter(answer.stdout.splitlines()), "")
    return f"{first_line or 'says no version'} ({path})"


def _places(surveyed: Surveyed) -> list[tuple[str, str]]:
    return [
        ("settings", _place(surveyed.user_file)),
        ("state", _place(surveyed.state_folder)),
        ("log", _place(surveyed.log_file)),
    ]


def _place(path: Path) -> str:
    return str(path) if path.exists() else f"{path} (not there yet)"


def _telemetry(environment: Mapping[str, str]) -> str:
    from pygent_ls.extensions.otel import addresses_of, wish_of

    wish = wish_of(environment)
    if wish.is_nothing:
        return wish.problem or "off: no OTEL_… variable asks for it"
    signals = ", ".join(name for name, is_on in (("traces", wish.traces), ("metrics", wish.metrics)) if is_on)
    said = ", with all that is said" if wish.with_content else ""
    return redacted(f"{signals} to {', '.join(addresses_of(environment))}{said}{wish.problem and f'; {wish.problem}'}")


def _settings(loaded: Loaded) -> Iterable[Sequence[str]]:
    for key in NAMES:
        yield key, shown(key, value_of(loaded.settings, key)), loaded.origins[key]


def _section(title: str, rows: Iterable[Sequence[str]]) -> str:
    """A title, and below it rows whose columns stand under each other."""
    table = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _list(title: str, items: Sequence[str]) -> str:
    return "\n".join([title, *(f"  - {item}" for item in items)]) if items else ""
