"""The settings that stand in tables of their own, `[edits]` and its like; `config.Settings` has one field for each."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)
"""Of every table and of the settings themselves: what came in is never repeated in an error."""

MOST = 1_000_000_000
"""No count is set higher than that: beyond it nothing differs, and the number could not be written out."""

ContextMode = Literal["continue", "fresh", "sliding"]


class Edits(BaseModel):
    """`[edits]`."""

    model_config = STRICT

    review: Literal["off", "ask"] = Field(
        default="off",
        description=(
            "Whether each edit is shown to you hunk by hunk before it is made (`ask`), in editors that preview edits; "
            "elsewhere you are told that yours cannot. What you untick is left out, and the model is told. An editor "
            "with a review of its own shows that in any case, after each edit."
        ),
    )


class Context(BaseModel):
    """`[context]`."""

    model_config = STRICT

    mode: ContextMode = Field(
        default="continue",
        description=(
            "What of the conversation the model is sent: `continue` all of it, `fresh` only the turn that runs, "
            "`sliding` the last messages. A tool call and its result always go together."
        ),
    )
    sliding_messages: int = Field(
        default=50, ge=1, le=MOST, description="Messages that are sent in the mode `sliding`, the last ones."
    )
    max_tokens: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description=(
            "Tokens that a request may hold, as estimated from its characters (four a token); 0 is the model's own "
            "window, 100,000 where that is not known."
        ),
    )
    max_messages: int = Field(default=0, ge=0, le=MOST, description="Messages that a request may hold; 0 is no limit.")
    max_chars: int = Field(default=0, ge=0, le=MOST, description="Characters, likewise.")
    max_words: int = Field(default=0, ge=0, le=MOST, description="Words, likewise.")


class Compaction(BaseModel):
    """`[compaction]`."""

    model_config = STRICT

    strategy: Literal["summarize", "drop_tool_results", "trim", "off"] = Field(
        default="summarize",
        description=(
            "What is done when the conversation outgrows the window: `summarize` has a model sum up its middle, "
            "`drop_tool_results` takes out what tools returned long ago, `trim` leaves the oldest messages out, `off` "
            "does nothing. What was said stays in the session."
        ),
    )
    at: float = Field(default=0.8, gt=0, le=1, description="The share of the window at which it is done.")
    model: str = Field(default="", description="The model that sums up; empty: the one that the turn uses.")


class Retry(BaseModel):
    """`[retry]`."""

    model_config = STRICT

    max_attempts: int = Field(
        default=5, ge=1, le=MOST, description="Attempts of one model call that fails, the first one counted."
    )
    max_seconds: float = Field(
        default=120.0, ge=0, le=MOST, description="Seconds from the first failure of a call in which it is tried again."
    )
    initial_delay_s: float = Field(
        default=1.0,
        ge=0,
        le=MOST,
        description=(
            "Seconds before the second attempt; the waits after it double, and vary a little. What the provider asks "
            "for goes before."
        ),
    )
