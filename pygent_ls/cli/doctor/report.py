"""Report on versions, model, programs, sandbox, folders and settings, and on whether a turn can run.

The only network access is the model call requested by `--call`; servers on this machine are connected to.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.cli.doctor.completion import completion_rows
from pygent_ls.cli.doctor.language_servers import language_servers
from pygent_ls.cli.doctor.model import FoundModel, ModelSurvey
from pygent_ls.cli.doctor.model_call import call_model
from pygent_ls.cli.doctor.remote import remote_rows
from pygent_ls.cli.doctor.sandbox import sandbox_row
from pygent_ls.config.layers import Loaded
from pygent_ls.config.settings import NAMES, shown, value_of
from pygent_ls.llm.keys.saved_keys import SavedKeys
from pygent_ls.llm.providers.known_providers import OFFLINE
from pygent_ls.llm.providers.provider_keys import NO_SAVED_KEYS
from pygent_ls.secrets.log_mask import redacted

LIBRARIES = ("pygent-ls", "litellm")
"""Libraries whose versions a bug report needs."""

PROGRAM_TIMEOUT_S = 5.0
"""Maximum time for a program to print its version, in case it hangs."""


class Surveyed(Struct, frozen=True, kw_only=True):
    """Inputs of the report."""

    loaded: Loaded
    model: str
    """Model that a turn would use."""
    model_reason: str
    """Reason for the choice of the model."""
    main: str = ""
    """Model of the settings, or the default one; empty if it is the same."""
    agent_base: str = ""
    """Address that the agent names for its model."""
    environment: Mapping[str, str]
    find: Callable[[str], str | None]
    """Finds a program's path as the daemon itself does."""
    user_file: Path
    state_folder: Path
    log_file: Path
    folder: Path = field(default_factory=Path.cwd)
    """Workspace folder."""
    saved: SavedKeys = NO_SAVED_KEYS
    calls: bool = False
    """Whether to call the model once."""


ONLY_OFFLINE = (
    "No model is set up: `pygent-ls setup` sets one up. Until then the offline model answers a few fixed requests."
)


def doctor(surveyed: Surveyed) -> tuple[str, int]:
    """Return the report, and 1 if a turn cannot run or a setting is wrongly ignored, else 0.

    Requests of an untrusted workspace, and settings that the administrator locks, are reported but are not failures.
    """
    survey = ModelSurvey(
        name=surveyed.model,
        main=surveyed.main or surveyed.model,
        loaded=surveyed.loaded,
        environment=surveyed.environment,
        saved=surveyed.saved,
        state_folder=surveyed.state_folder,
        agent_base=surveyed.agent_base,
    )
    model = survey.find()
    call = call_model(survey) if surveyed.calls and not model.problem else None
    rg = surveyed.find("rg")
    obstacles = list(dict.fromkeys(filter(None, (surveyed.loaded.admin.problem, model.problem))))
    if call is not None and call.has_failed:
        obstacles.append(f"The call {call.said}")
    doubts = [f"{model.unknown} Run `pygent-ls doctor --call` to try it."] if model.unknown and call is None else []
    if rg is None:
        obstacles.append(
            "rg (ripgrep) was not found. Reinstall pygent-ls, or install ripgrep with your system's package manager."
        )
    wrong = [problem for problem in surveyed.loaded.problems if problem.kind not in ("needs_trust", "locked")]
    locked = [problem for problem in surveyed.loaded.problems if problem.kind == "locked"]
    untrusted = [problem for problem in surveyed.loaded.problems if problem.kind == "needs_trust"]
    sections = [
        _section("Versions", _versions()),
        _section("Model", [*_model_rows(surveyed, model), *([("call", call.said)] if call else [])]),
        _section("Other models", _other_models(survey)),
        _section("Inline completion", _redacted(completion_rows(survey, calls=surveyed.calls))),
        _section("Programs", [("rg", _program(rg)), ("git", _program(surveyed.find("git")))]),
        _section("Language servers", language_servers(surveyed.loaded.settings, surveyed.find)),
        _section("Sandbox", [("commands", _sandbox(surveyed))]),
        _section("Commands", remote_rows(surveyed.loaded.settings, surveyed.folder, surveyed.state_folder)),
        _section("Folders", _places(surveyed)),
        _section("Telemetry", [("OpenTelemetry", _telemetry(surveyed.environment))]),
        _section("Settings", _settings(surveyed.loaded)),
        _list("Ignored settings", [problem.text for problem in wrong]),
        _list("Ignored because of the administrator's settings", [problem.text for problem in locked]),
        _list(
            "Ignored until you trust the workspace (editors ask; or run `pygent-ls trust`)",
            [problem.text for problem in untrusted],
        ),
        _list("A turn cannot run", obstacles)
        or _list("It is unknown whether a turn can run", doubts)
        or ("" if surveyed.loaded.settings.model or surveyed.model != OFFLINE else ONLY_OFFLINE)
        or "A turn can run.",
    ]
    text = "\n\n".join(section for section in sections if section) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8"), 1 if obstacles or wrong else 0


def _model_rows(surveyed: Surveyed, model: FoundModel) -> list[tuple[str, str]]:
    rows = [
        ("name", redacted(surveyed.model)),
        ("why", surveyed.model_reason),
        ("API", model.adapter),
        ("address", redacted(model.address)),
        ("key", model.key),
        ("price from", model.price_from),
    ]
    return [(name, said) for name, said in rows if said or name not in ("address", "key", "price from")]


def _redacted(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, redacted(said)) for name, said in rows]


def _other_models(survey: ModelSurvey) -> list[tuple[str, str]]:
    """Return the other models that a turn may use, each with its problem."""
    settings = survey.loaded.settings
    named = [("fallback", name) for name in settings.fallback_models]
    named += [("compaction.model", settings.compaction.model)] if settings.compaction.model else []
    rows: list[tuple[str, str]] = []
    for what, name in named:
        found = replace(survey, name=name, agent_base="").find()
        rows.append((what, f"{redacted(name)}: {found.problem or found.unknown or 'nothing is missing'}"))
    return rows


def _sandbox(surveyed: Surveyed) -> str:
    if surveyed.loaded.settings.remote.commands:
        return "not used: they run elsewhere, see Commands"
    own = (surveyed.state_folder, surveyed.user_file.parent)
    return sandbox_row(surveyed.loaded.settings, surveyed.find("bwrap"), surveyed.folder, own)


def _versions() -> list[tuple[str, str]]:
    return [*((name, _version(name)) for name in LIBRARIES), ("python", platform.python_version())]


def _version(library: str) -> str:
    """Return the version from the installed metadata: importing litellm takes seconds."""
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
            env={"PATH": os.defpath},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path} does not run: {error}"
    first_line = next(iter(answer.stdout.splitlines()), "")
    return f"{first_line or 'unknown version'} ({path})"


def _places(surveyed: Surveyed) -> list[tuple[str, str]]:
    return [
        ("settings", _place(surveyed.user_file)),
        *([("admin", surveyed.loaded.admin.file)] if surveyed.loaded.admin.file else []),
        ("state", _place(surveyed.state_folder)),
        ("log", _place(surveyed.log_file)),
    ]


def _place(path: Path) -> str:
    return str(path) if path.exists() else f"{path} (not created yet)"


def _telemetry(environment: Mapping[str, str]) -> str:
    from pygent_ls.observability.telemetry import addresses_of, options_of

    wish = options_of(environment)
    if wish.is_nothing:
        return wish.problem or "off: no OTEL_… variable enables it"
    signals = ", ".join(name for name, is_on in (("traces", wish.traces), ("metrics", wish.metrics)) if is_on)
    said = ", including prompts and answers" if wish.with_content else ""
    return redacted(f"{signals} to {', '.join(addresses_of(environment))}{said}{wish.problem and f'; {wish.problem}'}")


def _settings(loaded: Loaded) -> Iterable[Sequence[str]]:
    for key in NAMES:
        locked = key in loaded.admin.locked or bool(loaded.admin.entries(key)) or loaded.admin.is_exclusive(key)
        said = " (locked)" if locked else " (limit)" if key in loaded.ceilings else ""
        yield key, shown(key, value_of(loaded.settings, key)), f"{loaded.origins[key]}{said}"


def _section(title: str, rows: Iterable[Sequence[str]]) -> str:
    """Format a title, and below it rows with aligned columns."""
    table = [tuple(row) for row in rows]
    if not table:
        return ""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _list(title: str, items: Sequence[str]) -> str:
    return "\n".join([title, *(f"  - {item}" for item in items)]) if items else ""
