"""The settings that stand in tables of their own, `[edits]` and its like; `config.Settings` has one field for each."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)
"""Of every table and of the settings themselves: what came in is never repeated in an error."""


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
