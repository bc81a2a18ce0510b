"""Settings in tables of their own, such as `[edits]`; `config.Settings` has one field for each."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)
"""Model configuration of all tables and of the settings themselves; errors never repeat input values."""

MOST = 1_000_000_000
"""Maximum of any count: higher values make no difference, and huge numbers could not be written out."""

ContextMode = Literal["continue", "fresh", "sliding"]


class Edits(BaseModel):
    """Table `[edits]`."""

    model_config = STRICT

    review: Literal["off", "ask"] = Field(
        default="off",
        description=(
            "Preview each edit hunk by hunk before it is applied (`ask`), in editors that support it; other editors "
            "show a notice. Hunks that you deselect are not applied, and the model is informed. Editors with their "
            "own review show it after each edit regardless of this setting."
        ),
    )
    diagnostics_wait_s: float = Field(
        default=2.0,
        ge=0,
        le=60,
        description=(
            "Maximum time in seconds that an edit waits for the editor, or for your `language_servers`, to check the "
            "changed files. New errors and warnings are part of the edit's result. 0 turns this off. It costs nothing "
            "if nothing checks the files."
        ),
    )
    format: Literal["off", "auto", "on"] = Field(
        default="auto",
        description=(
            "Format the text of an edit before its diff is shown: `auto` if your editor formats the file whenever it "
            "is saved, `on` always, also with your `language_servers`, `off` never. A file that was not formatted "
            "before the edit is left as it is."
        ),
    )


class MemoryTable(BaseModel):
    """Table `[memory]`."""

    model_config = STRICT

    enabled: bool = Field(
        default=True,
        description=(
            "Tell the model the notes about the workspace that earlier sessions kept, and offer it the tool "
            "`remember`, which asks. `/memory` shows the file."
        ),
    )
    max_tokens: int = Field(
        default=1_000,
        ge=0,
        le=MOST,
        description=(
            "Maximum number of tokens of the notes in each request, estimated at four characters per token. Older "
            "lines are left out first."
        ),
    )


class ContextTable(BaseModel):
    """Table `[context]`."""

    model_config = STRICT

    mode: ContextMode = Field(
        default="continue",
        description=(
            "Part of the conversation that is sent to the model: `continue` sends all of it, `fresh` only the "
            "current turn, `sliding` only the most recent messages. A tool call is always sent together with its "
            "result."
        ),
    )
    sliding_messages: int = Field(
        default=50, ge=1, le=MOST, description="Number of most recent messages to send in mode `sliding`."
    )
    max_tokens: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description=(
            "Maximum number of tokens per request, estimated at four characters per token; 0 uses the model's "
            "context window, or 100,000 if it is unknown."
        ),
    )
    max_messages: int = Field(
        default=0, ge=0, le=MOST, description="Maximum number of messages per request; 0 means no limit."
    )
    max_chars: int = Field(
        default=0, ge=0, le=MOST, description="Maximum number of characters per request; 0 means no limit."
    )
    max_words: int = Field(
        default=0, ge=0, le=MOST, description="Maximum number of words per request; 0 means no limit."
    )


class CompletionTable(BaseModel):
    """Table `[completion]`."""

    model_config = STRICT

    model: str = Field(
        default="",
        description=(
            "Model that completes code as you type (inline completion), such as `mistral/codestral-latest`; if empty, "
            "there is none. See `docs/completion.md`."
        ),
    )
    api: Literal["auto", "fim", "completions", "infill", "chat"] = Field(
        default="auto",
        description=(
            "Interface of that model: `fim` is Mistral's, `completions` that of OpenAI with a suffix, `infill` that of "
            "llama.cpp, `chat` asks any chat model. `auto` chooses by the provider."
        ),
    )
    debounce_ms: int = Field(
        default=150, ge=0, le=10_000, description="Time in milliseconds without a key before the model is asked."
    )
    max_tokens: int = Field(default=128, ge=1, le=4_096, description="Maximum number of tokens of a completion.")
    max_tokens_per_day: int = Field(
        default=2_000_000,
        ge=0,
        le=MOST,
        description=(
            "Maximum number of tokens of all completions of a day, prompts included, estimated at four characters per "
            "token; 0 means no limit."
        ),
    )
    next_edit: bool = Field(
        default=False,
        description=(
            "Whether that model also predicts your next edit from your last ones, in editors that can show it. It is "
            "asked by chat."
        ),
    )


class RepositoryMapTable(BaseModel):
    """Table `[repository_map]`."""

    model_config = STRICT

    tokens: int = Field(
        default=2_000,
        ge=100,
        le=9_000,
        description=(
            "Maximum number of tokens of the map of the workspace, estimated at four characters per token: of the tool "
            "`repo_map`, if the model does not ask for another size, and in the prompt."
        ),
    )
    in_prompt: bool = Field(
        default=False,
        description=(
            "Include the map in the system prompt of each session. It is made with the first prompt and does not "
            "change, so that the provider's cache applies."
        ),
    )


class VoiceTable(BaseModel):
    """Table `[voice]`."""

    model_config = STRICT

    server: str = Field(
        default="",
        description=(
            "Name of the MCP server that listens for `/voice`; if empty, the first one that is a speech server. See "
            "`docs/voice.md`."
        ),
    )
    poll_ms: int = Field(
        default=250, ge=50, le=10_000, description="Interval in milliseconds at which the server is asked for text."
    )
    silence_s: float = Field(
        default=300.0,
        ge=0,
        le=MOST,
        description="Time in seconds without speech after which voice input stops; 0 means never.",
    )


class CompactionTable(BaseModel):
    """Table `[compaction]`."""

    model_config = STRICT

    strategy: Literal["summarize", "drop_tool_results", "trim", "off"] = Field(
        default="summarize",
        description=(
            "What to do when the conversation exceeds the context window: `summarize` summarizes its middle with a "
            "model, `drop_tool_results` removes older tool results, `trim` removes the oldest messages, `off` does "
            "nothing. The session keeps the full conversation."
        ),
    )
    at: float = Field(
        default=0.8, gt=0, le=1, description="Share of the context window at which the conversation is compacted."
    )
    model: str = Field(default="", description="Model for summaries; if empty, the model of the turn.")


class Retry(BaseModel):
    """Table `[retry]`."""

    model_config = STRICT

    max_attempts: int = Field(
        default=5, ge=1, le=MOST, description="Maximum number of attempts per model call, including the first."
    )
    max_seconds: float = Field(
        default=120.0,
        ge=0,
        le=MOST,
        description="Maximum time in seconds for retries, measured from the first failure of a call.",
    )
    initial_delay_s: float = Field(
        default=1.0,
        ge=0,
        le=MOST,
        description=(
            "Delay in seconds before the first retry. It doubles with each retry, with some random variation. A "
            "delay requested by the provider takes precedence."
        ),
    )
