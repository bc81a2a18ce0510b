"""Trust requests of a workspace's own files, and the user's answers to them.

The files came with the code. Settings that only tighten apply at once; all others are trust requests and apply after
the user has accepted exactly these requests for that folder. Answers are stored in the state folder, never in the
workspace.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from pygent_ls.agent.display_text import on_one_line, whole_on_one_line
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.config.entries import masked
from pygent_ls.config.layer import SettingProblem
from pygent_ls.config.mcp_files import MCP_FILES
from pygent_ls.config.merge import GATHERED
from pygent_ls.config.sources import LOCAL_FILE, WORKSPACE_FILE
from pygent_ls.errors import SettingError, ToolError

VERSION = 1
"""Version of the file format."""

TOOLS_FOLDER = Path(".pygent", "tools")
"""Folder of the workspace's own tools, relative to the workspace folder."""

TOOLS = "tools"
"""Key of the trust requests of these tools, in place of a setting's name."""

MAX_KEPT = 100
"""Maximum number of answers stored per folder, enough for switching between branches."""

_WORDS: Mapping[str, str] = {
    "model": "use the model {}",
    "api_base": "send your prompts, your code and the key of the model's provider to {}",
    "api_key_env": "send the key in your variable {} to the model's provider",
    "extra_headers": "send these headers with every model call: {}",
    "system_prompt": "add to the system prompt: {}",
    "mode": "work in the mode {}",
    "permissions": "allow without asking you: {}",
    "sandbox": "set the sandbox to {}",
    "sandbox_network": "set the network of the sandbox to {}",
    "sandbox_read": "let commands in the sandbox read {}",
    "system_prompt_file": "replace the system prompt with the file {}",
    "additional_dirs": "let tools read and write in {}",
    "fallback_models": "use these models when the first one fails: {}",
    "providers": "send your prompts, your code and a key to a provider with these settings: {}",
    "completion.model": "send your code, as you type it, to the model {}",
    "web_search.provider": "let the model's provider search the web without asking: {}",
    "web_search.service": "send what the agent searches for to the service {}",
    "web_search.url": "send what the agent searches for, and the key of its search service, to {}",
    "web_search.api_key_env": "send the key in your variable {} to the search service",
    "remote.commands": "run commands outside the sandbox, in {}",
    "remote.folder": "run commands there in the folder {}",
    "remote.user": "run commands in the container as {}",
    "hooks": "run a command: {}",
    "mcp_servers": "start the MCP server {}",
    "language_servers": "start the language server {}",
    "agents": "add the agent {}",
    "cli_models": "run a program as a model: {}",
    "acp_agents": "run a program as an agent: {}",
    "models": "set prices and context windows of models: {}",
    "aliases": "define custom names for commands: {}",
}
"""Descriptions of what settings would do; other settings are shown by name and value."""


class TrustRequest(Struct, frozen=True, kw_only=True):
    """Trust request: one effect that a workspace's file would have if it were trusted."""

    source: str
    """Path of the file relative to the folder: `.pygent/config.toml`."""
    key: str
    value: object
    """Complete value that would apply, as JSON data; an answer is valid for this value only."""
    words: str
    """Complete description of the effect on one line, for the user."""


def wishes_of(problems: Iterable[SettingProblem]) -> tuple[TrustRequest, ...]:
    """Return the trust requests in the ignored parts of the workspace's settings."""
    return tuple(_wish(each) for each in problems if each.kind == "needs_trust")


def tool_wishes(folder: Path) -> tuple[TrustRequest, ...]:
    """Return a trust request for each file with tools in `.pygent/tools/`; one that cannot be read has none. An answer
    is valid for exactly these bytes. Blocking.
    """
    from pygent_ls.extensions.own_tools.files import MAX_FILE_BYTES, tool_files
    from pygent_ls.file_access import read_file

    found: list[TrustRequest] = []
    for path in tool_files(folder / TOOLS_FOLDER):
        file = TOOLS_FOLDER / path.name
        try:
            content, _ = read_file(folder.resolve() / file, MAX_FILE_BYTES)
        except OSError:
            continue
        digest = hashlib.sha256(content).hexdigest()
        words = f"run the Python file {on_one_line(file.as_posix())}, whose functions are tools (SHA-256 {digest})"
        found.append(TrustRequest(source=file.as_posix(), key=TOOLS, value=digest, words=words))
    return tuple(found)


def _wish(problem: SettingProblem) -> TrustRequest:
    value = problem.wanted
    group, _, entry = problem.key.partition(".")
    name = group.partition("[")[0] if isinstance(value, Rule) or group.partition("[")[0] in GATHERED else problem.key
    match value:
        case Rule():
            kept: object = value.text
        case _:
            kept = value
    shown = ", ".join(cast("Mapping[str, str]", kept)) if name == "extra_headers" else kept
    shown = masked(kept) if name == "providers" else shown
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, default=str)
    text = f"{entry}: {text}" if name in GATHERED and entry and not isinstance(value, Rule) else text
    text = whole_on_one_line(text)
    words = _WORDS[name].format(text) if name in _WORDS else f"set {name} = {text}"
    files = (LOCAL_FILE, *MCP_FILES, WORKSPACE_FILE)
    file = next((each for each in files if problem.layer.endswith(f"{os.sep}{each}")), WORKSPACE_FILE)
    return TrustRequest(source=file.as_posix(), key=problem.key, value=kept, words=words)


def digest_of(wishes: Sequence[TrustRequest]) -> str:
    """Return the digest that an answer is bound to; it changes with any value that would apply. Empty for no
    requests.
    """
    if not wishes:
        return ""
    content = [[wish.source, wish.key, wish.value] for wish in wishes]
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def source_names(wishes: Sequence[TrustRequest]) -> str:
    """Return the names of the files with requests."""
    return ", ".join(dict.fromkeys(wish.source for wish in wishes))


class TrustStore:
    """Store of the answers, one JSON file per resolved folder. Read on every access, since several daemons may share
    it.
    """

    def __init__(self, state_folder: Path) -> None:
        self._folder = state_folder / "trust"

    def answer(self, folder: Path, digest: str) -> bool | None:
        """Return the user's answer to these requests of that folder; None if the user has not answered."""
        said = self._load(folder).get(digest)
        return said.get("trusted") is True if said is not None else None

    def remember(self, folder: Path, digest: str, *, trusted: bool) -> None:
        """Store an answer. Raises `SettingError` if it cannot be stored."""
        from pygent_ls.workspace.files.writer import alone_in, write_atomically

        try:
            with alone_in(self._folder):
                said = self._load(folder)
                said.pop(digest, None)
                said[digest] = {"trusted": trusted, "at": datetime.now(UTC).isoformat(timespec="seconds")}
                kept = dict(list(said.items())[-MAX_KEPT:])
                content = {"version": VERSION, "folder": str(folder.resolve()), "answers": kept}
                write_atomically(self._file(folder), json.dumps(content, indent=2).encode(), 0o600)
        except (OSError, ToolError) as error:
            raise SettingError(f"the answer could not be saved: {error}") from None

    def forget(self, folder: Path) -> bool:
        """Remove all answers about a folder; return False if the store has no answers about it. Raises
        `SettingError`.
        """
        try:
            self._file(folder).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise SettingError(f"the answers could not be removed: {error}") from None
        return True

    def _file(self, folder: Path) -> Path:
        name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
        return self._folder / f"{name}.json"

    def _load(self, folder: Path) -> dict[str, dict[str, Any]]:
        """Return the answers by digest, oldest first; empty if the file is damaged."""
        try:
            stored: Any = json.loads(self._file(folder).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        answers: Any = cast("Mapping[str, Any]", stored).get("answers") if isinstance(stored, Mapping) else None
        if not isinstance(answers, Mapping):
            return {}
        found = cast("Mapping[str, Any]", answers).items()
        return {digest: cast("dict[str, Any]", each) for digest, each in found if isinstance(each, dict)}
