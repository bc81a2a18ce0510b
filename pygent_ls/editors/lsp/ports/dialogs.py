"""Questions to the user: as a message with buttons, which every editor supports, or in the client's own dialog."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.rpc.converter import repaired
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint


async def chosen_title(endpoint: RpcEndpoint, prompt: Mapping[str, Any]) -> str | None:
    """Show `prompt`, the parameters of `window/showMessageRequest`, without a time limit.

    Returns the title of the chosen action; None if it is not one of those that were offered.
    """
    try:
        answer = await endpoint.ask("window/showMessageRequest", prompt, of_a_person=True)
    except ClientError:
        return None
    title = cast("Mapping[str, Any]", answer).get("title") if isinstance(answer, Mapping) else None
    return next((action["title"] for action in prompt["actions"] if action["title"] == title), None)


async def ask_in_its_form(
    endpoint: RpcEndpoint, method: str, params: Mapping[str, Any], *, withdrawal: tuple[str, Mapping[str, Any]]
) -> object:
    """Send a request that the client shows in its own dialog, without a time limit.

    Returns the raw answer with invalid characters replaced; None for an error. On cancellation, also sends
    `withdrawal`, a notification and its parameters.
    """
    try:
        return repaired(await endpoint.ask(method, params, of_a_person=True))
    except ClientError:
        return None
    except asyncio.CancelledError:
        endpoint.tell(*withdrawal)
        raise
