"""Settings in tables of their own, such as `[edits]`; `config.Settings` has one field for each."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pygent_ls.config.table import MOST, Table, about

ContextMode = Literal["continue", "fresh", "sliding"]


class Edits(Table, frozen=True, kw_only=True):
    """Table `[edits]`."""

    review: Annotated[
        Literal["off", "ask"],
        about(
            "Preview each edit hunk by hunk before it is applied (`ask`), in editors that support it; other editors "
            "show a notice. Hunks that you deselect are not applied, and the model is informed. Editors with their "
            "own review show it after each edit regardless of this setting."
        ),
    ] = "off"
    diagnostics_wait_s: Annotated[
        float,
        about(
            "Maximum time in seconds that an edit waits for the editor, or for your `language_servers`, to check the "
            "changed files. New errors and warnings are part of the edit's result. 0 turns this off. It costs nothing "
            "if nothing checks the files.",
            ge=0,
            le=60,
        ),
    ] = 2.0
    format: Annotated[
        Literal["off", "auto", "on"],
        about(
            "Format the text of an edit before its diff is shown: `auto` if your editor formats the file whenever it "
            "is saved, `on` always, also with your `language_servers`, `off` never. A file that was not formatted "
            "before the edit is left as it is."
        ),
    ] = "auto"


class MemoryTable(Table, frozen=True, kw_only=True):
    """Table `[memory]`."""

    enabled: Annotated[
        bool,
        about(
            "Tell the model the notes about the workspace that earlier sessions kept, and offer it the tool "
            "`remember`, which asks. `/memory` shows the file."
        ),
    ] = True
    max_tokens: Annotated[
        int,
        about(
            "Maximum number of tokens of the notes in each request, estimated at four characters per token. Older "
            "lines are left out first.",
            ge=0,
            le=MOST,
        ),
    ] = 1_000


class ContextTable(Table, frozen=True, kw_only=True):
    """Table `[context]`."""

    mode: Annotated[
        ContextMode,
        about(
            "Part of the conversation that is sent to the model: `continue` sends all of it, `fresh` only the "
            "current turn, `sliding` only the most recent messages. A tool call is always sent together with its "
            "result."
        ),
    ] = "continue"
    sliding_messages: Annotated[
        int, about("Number of most recent messages to send in mode `sliding`.", ge=1, le=MOST)
    ] = 50
    max_tokens: Annotated[
        int,
        about(
            "Maximum number of tokens per request, estimated at four characters per token; 0 uses the model's "
            "context window, or 100,000 if it is unknown.",
            ge=0,
            le=MOST,
        ),
    ] = 0
    max_messages: Annotated[int, about("Maximum number of messages per request; 0 means no limit.", ge=0, le=MOST)] = 0
    max_chars: Annotated[int, about("Maximum number of characters per request; 0 means no limit.", ge=0, le=MOST)] = 0
    max_words: Annotated[int, about("Maximum number of words per request; 0 means no limit.", ge=0, le=MOST)] = 0


class CompletionTable(Table, frozen=True, kw_only=True):
    """Table `[completion]`."""

    model: Annotated[
        str,
        about(
            "Model that completes code as you type (inline completion), such as `mistral/codestral-latest`; if empty, "
            "there is none. See `docs/completion.md`."
        ),
    ] = ""
    api: Annotated[
        Literal["auto", "fim", "completions", "infill", "chat"],
        about(
            "Interface of that model: `fim` is Mistral's, `completions` that of OpenAI with a suffix, `infill` that of "
            "llama.cpp, `chat` asks any chat model. `auto` chooses by the provider."
        ),
    ] = "auto"
    debounce_ms: Annotated[
        int, about("Time in milliseconds without a key before the model is asked.", ge=0, le=10_000)
    ] = 150
    max_tokens: Annotated[int, about("Maximum number of tokens of a completion.", ge=1, le=4_096)] = 128
    max_tokens_per_day: Annotated[
        int,
        about(
            "Maximum number of tokens of all completions of a day, prompts included, estimated at four characters per "
            "token; 0 means no limit.",
            ge=0,
            le=MOST,
        ),
    ] = 2_000_000
    next_edit: Annotated[
        bool,
        about(
            "Whether that model also predicts your next edit from your last ones, in editors that can show it. It is "
            "asked by chat."
        ),
    ] = False


class RepositoryMapTable(Table, frozen=True, kw_only=True):
    """Table `[repository_map]`."""

    tokens: Annotated[
        int,
        about(
            "Maximum number of tokens of the map of the workspace, estimated at four characters per token: of the tool "
            "`repo_map`, if the model does not ask for another size, and in the prompt.",
            ge=100,
            le=9_000,
        ),
    ] = 2_000
    in_prompt: Annotated[
        bool,
        about(
            "Include the map in the system prompt of each session. It is made with the first prompt and does not "
            "change, so that the provider's cache applies."
        ),
    ] = False


class VoiceTable(Table, frozen=True, kw_only=True):
    """Table `[voice]`."""

    server: Annotated[
        str,
        about(
            "Name of the MCP server that listens for `/voice`; if empty, the first one that is a speech server. See "
            "`docs/voice.md`."
        ),
    ] = ""
    poll_ms: Annotated[
        int, about("Interval in milliseconds at which the server is asked for text.", ge=50, le=10_000)
    ] = 250
    silence_s: Annotated[
        float, about("Time in seconds without speech after which voice input stops; 0 means never.", ge=0, le=MOST)
    ] = 300.0


_COMMANDS = re.compile(r"(?:(?:docker|podman):[A-Za-z0-9][\w.-]*|ssh:[A-Za-z0-9][\w.@:/\[\]-]*)?", re.ASCII)


def _place_of_commands(value: str) -> None:
    """Raises ValueError for no place; none has a name that begins like an option."""
    if not _COMMANDS.fullmatch(value):
        raise ValueError("expected `docker:NAME`, `podman:NAME` or `ssh:HOST`")


def _absolute(value: str) -> None:
    """Raises ValueError for a relative path."""
    if value and not value.startswith("/"):
        raise ValueError("expected an absolute path")


def _user(value: str) -> None:
    """Raises ValueError for anything but a name or number of a user."""
    if not re.fullmatch(r"(?:\w[\w.:-]*)?", value, re.ASCII):
        raise ValueError("expected a user")


class RemoteTable(Table, frozen=True, kw_only=True):
    """Table `[remote]`."""

    checks: ClassVar = {"commands": _place_of_commands, "folder": _absolute, "user": _user}
    commands: Annotated[
        str,
        about(
            "Where `shell` and `run_tests` run commands: `docker:NAME` or `podman:NAME` in a running container, "
            "`ssh:HOST` on another machine, outside the sandbox. If empty, on this machine. See `docs/remote.md`.",
            expected="`docker:NAME`, `podman:NAME` or `ssh:HOST`",
        ),
    ] = ""
    folder: Annotated[
        str,
        about(
            "Path of the workspace's folder there. It is needed for `ssh:HOST`; for a container, its bind mounts say "
            "it.",
            expected="an absolute path",
        ),
    ] = ""
    user: Annotated[
        str,
        about(
            "User, or UID, that runs the commands in the container; if empty, the container's own.",
            expected="the name or number of a user",
        ),
    ] = ""


class CompactionTable(Table, frozen=True, kw_only=True):
    """Table `[compaction]`."""

    strategy: Annotated[
        Literal["summarize", "drop_tool_results", "trim", "off"],
        about(
            "What to do when the conversation exceeds the context window: `summarize` summarizes its middle with a "
            "model, `drop_tool_results` removes older tool results, `trim` removes the oldest messages, `off` does "
            "nothing. The session keeps the full conversation."
        ),
    ] = "summarize"
    at: Annotated[float, about("Share of the context window at which the conversation is compacted.", gt=0, le=1)] = 0.8
    model: Annotated[str, about("Model for summaries; if empty, the model of the turn.")] = ""


class Retry(Table, frozen=True, kw_only=True):
    """Table `[retry]`."""

    max_attempts: Annotated[
        int, about("Maximum number of attempts per model call, including the first.", ge=1, le=MOST)
    ] = 5
    max_seconds: Annotated[
        float, about("Maximum time in seconds for retries, measured from the first failure of a call.", ge=0, le=MOST)
    ] = 120.0
    initial_delay_s: Annotated[
        float,
        about(
            "Delay in seconds before the first retry. It doubles with each retry, with some random variation. A "
            "delay requested by the provider takes precedence.",
            ge=0,
            le=MOST,
        ),
    ] = 1.0
