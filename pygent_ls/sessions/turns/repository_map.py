"""Map of the workspace in a session's system prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pygent_ls.agent.context.attachments import FilePart, PromptPart, SelectionPart
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.errors import ToolError
from pygent_ls.sessions.read_only_view import looking_around
from pygent_ls.tools.search.repository_map import MapRequest, repository_map

PARSE_S = 10.0
"""Time for parsing before the first turn; the map then shows what was parsed by then."""

MAX_NAMES = 20
"""Maximum number of names in the prompt that the map is about."""

MAX_SEARCHED_CHARS = 20_000

_NAME = re.compile(r"\b(?=\w*(?:[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]))[A-Za-z_]\w{2,80}")
"""Name of several words, which is hardly one of prose."""


def kept_map(services: SessionServices) -> str:
    """Return the session's map; empty if it has none, or if the settings exclude it."""
    return services.memory.repository_map.text or "" if services.environment.prompt_map_tokens else ""


async def make_map(services: SessionServices, parts: Sequence[PromptPart]) -> None:
    """Make the session's map for its first prompt, if the settings include it. It is about what the prompt names."""
    tokens, kept = services.environment.prompt_map_tokens, services.memory.repository_map
    if not tokens or kept.text is not None or not services.environment.workspace.folders:
        return
    request = MapRequest(focus=_focus(services, parts), max_tokens=tokens, seconds=PARSE_S)
    try:
        kept.text = await repository_map(looking_around(services), request)
    except ToolError:  # the turn goes on without it; the tool would tell the model why
        kept.text = ""


def _focus(services: SessionServices, parts: Sequence[PromptPart]) -> Sequence[str]:
    """Return the files that the user named or is in, and the names in the text."""
    named = [str(each.path) for each in parts if isinstance(each, FilePart | SelectionPart)]
    if services.environment.editor.view.active:
        named.append(str(services.environment.editor.view.active))
    text = " ".join(each for each in parts if isinstance(each, str))[:MAX_SEARCHED_CHARS]
    return list(dict.fromkeys((*named, *_NAME.findall(text))))[:MAX_NAMES]
