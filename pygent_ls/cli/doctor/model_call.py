"""Makes one small model call and describes its result."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from pygent_ls.cli.doctor.model import ModelSurvey
from pygent_ls.errors import ModelError, SettingError

if TYPE_CHECKING:
    from pygent_ls.agent.messages import Usage


class CallResult(Struct, frozen=True, kw_only=True):
    """Result of a call."""

    said: str
    """One-line description for the user."""
    has_failed: bool = False


def call_model(survey: ModelSurvey) -> CallResult:
    """Call the model once."""
    return asyncio.run(_call(survey))


async def _call(survey: ModelSurvey) -> CallResult:
    from pygent_ls.llm.check_call import check_call
    from pygent_ls.llm.routing import with_text_tools

    resources = survey.resources()
    began_s = time.monotonic()
    try:
        model = with_text_tools(survey.make(resources), survey.settings.text_tool_calls)
        checked = await check_call(model, survey.settings.temperature)
    except (ModelError, SettingError) as error:
        return CallResult(said=f"failed after {time.monotonic() - began_s:.1f} s: {error}", has_failed=True)
    finally:
        await resources.close()
    return CallResult(said=f"answered in {checked.seconds:.1f} s, {_spent(checked.usage)}")


def _spent(usage: Usage) -> str:
    if usage.is_nothing:
        return "tokens unknown"
    return f"{usage.input_tokens} tokens in, {usage.output_tokens} out, {usage.cost_in_words}"
