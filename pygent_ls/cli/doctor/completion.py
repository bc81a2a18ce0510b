"""Checks the model of inline completion: its interface, whether it can be called, and, on request, one completion."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pygent_ls.cli.doctor.model import ModelSurvey
from pygent_ls.errors import ModelError, SettingError

if TYPE_CHECKING:
    from pygent_ls.agent.ports.completer import Completer
    from pygent_ls.llm.resources import ModelResources

ANSWER_S = 30.0
"""Time for the answer of a call."""

BEFORE, AFTER = "def add(a, b):\n    return ", "\n\n\nprint(add(1, 2))\n"


def completion_rows(survey: ModelSurvey, *, calls: bool) -> list[tuple[str, str]]:
    """Return what is known of the model; nothing if none is set."""
    table = survey.settings.completion
    if not table.model:
        return []
    survey = replace(survey, name=table.model, agent_base="")
    found = survey.find()
    rows = [("name", table.model), ("state", found.problem or found.unknown or "nothing is missing")]
    if not found.problem:
        rows += asyncio.run(_asked(survey, calls=calls))
    return [*rows, ("next edits", "on" if table.next_edit else "off")]


async def _asked(survey: ModelSurvey, *, calls: bool) -> list[tuple[str, str]]:
    from pygent_ls.llm.completion.completer import InfillCompleter

    resources = survey.resources()
    try:
        completer = await _completer(survey, resources)
        interface = completer.api if isinstance(completer, InfillCompleter) else "chat, which is slower"
        return [("interface", interface), *([("call", await _call(completer))] if calls else [])]
    except (ModelError, SettingError) as error:
        return [("interface", str(error))]
    finally:
        await resources.close()


async def _completer(survey: ModelSurvey, resources: ModelResources) -> Completer:
    from pygent_ls.llm.completion.completer import completer_of

    api = survey.settings.completion.api
    return await completer_of(survey.make(resources), None if api == "auto" else api)


async def _call(completer: Completer) -> str:
    from pygent_ls.agent.ports.completer import CompletionRequest

    request = CompletionRequest(path=Path("add.py"), name="add.py", before=BEFORE, after=AFTER, max_tokens=16)
    began_s, n_chars = time.monotonic(), 0
    try:
        async with asyncio.timeout(ANSWER_S), aclosing(completer.complete(request)) as pieces:
            async for piece in pieces:
                n_chars += len(piece)
    except ModelError as error:
        return f"failed after {time.monotonic() - began_s:.1f} s: {error}"
    except TimeoutError:
        return f"no answer within {ANSWER_S:.0f} s"
    return f"completed {n_chars} characters in {time.monotonic() - began_s:.1f} s"
