"""Answers of the model that completes, read as far as they are needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from pygent_ls.agent.ports.completer import CompletionRequest, InlineCompletions
from pygent_ls.editors.lsp.completion.failures import CompletionFailures
from pygent_ls.errors import ModelError

ANSWER_S = 20.0
"""Time for an answer. Later, the user is elsewhere."""


async def read_answer(
    completions: InlineCompletions,
    failures: CompletionFailures,
    request: CompletionRequest,
    is_enough: Callable[[str], bool],
) -> str:
    """Return the answer up to where the text so far is enough, and close the connection then; empty after a failure,
    which is noted."""
    text = ""
    try:
        async with asyncio.timeout(ANSWER_S), aclosing(completions.complete(request)) as pieces:
            async for piece in pieces:
                text += piece
                if is_enough(text):
                    break
    except ModelError as error:
        failures.add(error)
        return ""
    except TimeoutError:
        failures.add(ModelError(f"the model did not answer within {ANSWER_S:.0f} seconds", type="timeout"))
        return ""
    return text
