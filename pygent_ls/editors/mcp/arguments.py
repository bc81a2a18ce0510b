"""Arguments of the tools for other agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from pygent_ls.agent.kinds import Mode
from pygent_ls.errors import SessionError


class AskArguments(BaseModel):
    """Arguments of `ask`."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True)

    prompt: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = Field(
        description="The question or task, with all that is needed to understand it."
    )
    session_id: str | None = Field(
        default=None, description="Session of an earlier call to continue; left out for a new one."
    )
    model: str | None = Field(
        default=None, description="Model of this turn, one that the user can select; left out for the configured one."
    )


class RunArguments(AskArguments):
    """Arguments of `run`. A limit can only be stricter than the user's."""

    mode: Mode | None = Field(
        default=None, description="Permission mode of this turn; it cannot be looser than the user's."
    )
    max_turns: int | None = Field(default=None, ge=1, description="Maximum number of model calls.")
    max_budget_usd: float | None = Field(default=None, gt=0, description="Maximum cost of the turn in US dollars.")


TOOL_ARGUMENTS: Mapping[str, type[AskArguments]] = {"ask": AskArguments, "run": RunArguments}
"""Arguments of each tool, by its name."""


def arguments_of(tool: str, given: Mapping[str, object]) -> AskArguments:
    """Return the arguments of a call. Raises `SessionError` for an unknown tool and for invalid arguments."""
    kind = TOOL_ARGUMENTS.get(tool)
    if kind is None:
        raise SessionError(f"There is no tool {tool!r}. The tools are ask and run.", kind="no_tool")
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        problems = [f"`{'.'.join(map(str, each['loc']))}`: {each['msg']}" for each in error.errors()]
        raise SessionError(f"Invalid arguments: {'; '.join(problems)}", kind="invalid_arguments") from None
