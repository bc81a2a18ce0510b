"""The question whether a workspace's own settings are trusted, as `window/showMessageRequest`."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types

from pygent_ls.editors.lsp.endpoint import Endpoint
from pygent_ls.editors.lsp.prompting import chosen_title
from pygent_ls.editors.ports import TrustQuestion

ANSWERS: Mapping[str, bool] = {"Do not trust": False, "Trust this folder's settings": True}
"""The actions in their order: some clients can choose only the first."""


async def ask_trust(endpoint: Endpoint, question: TrustQuestion) -> bool | None:
    """See `AskTrust`: anything but one of the titles is no answer."""
    params = {
        "type": int(types.MessageType.Warning),
        "message": f"pygent-ls: {question.text}",
        "actions": [{"title": title} for title in ANSWERS],
    }
    title = await chosen_title(endpoint, params)
    return None if title is None else ANSWERS[title]
