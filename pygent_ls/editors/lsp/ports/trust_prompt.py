"""The workspace trust question, as `window/showMessageRequest`.

The question is never shortened. Because a dialog may cut a long message, a long question is put into a document that
the client shows next to it. If the client cannot show documents, the user is told how to answer in a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.ports.dialogs import chosen_title
from pygent_ls.editors.lsp.ports.side_document import document_beside
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.editors.ports import TrustQuestion

ANSWERS: Mapping[str, bool] = {"Do not trust": False, "Trust this folder's settings": True}
"""The actions, in order: some clients can choose only the first."""

MAX_MESSAGE_CHARS = 900
"""Maximum length of a question in a dialog: VS Code cuts a message at 1,000 characters."""

DOCUMENT_COLUMNS = 100
"""Width of the document's lines: an editor may not wrap longer ones."""


async def ask_trust(
    endpoint: RpcEndpoint, features: ClientFeatures, state_folder: Callable[[], Path], question: TrustQuestion
) -> bool | None:
    """Ask whether to trust the folder. Returns None unless one of the titles was chosen."""
    text = question.text
    if len(text) <= MAX_MESSAGE_CHARS:
        return await _answer(endpoint, text)
    lines = "".join(f"{line}\n" for line in _in_lines(text))
    async with document_beside(endpoint, features, state_folder() / "trust", lines) as is_shown:
        if is_shown:
            return await _answer(endpoint, question.beside_a_document)
    endpoint.show_message(
        f"pygent-ls: the settings in {question.sources} have more effects than this editor can show, so they are not "
        "trusted. Run `pygent-ls trust --show` in the folder to review them, and `pygent-ls trust` to trust them."
    )
    return None


async def _answer(endpoint: RpcEndpoint, text: str) -> bool | None:
    params = {
        "type": int(MessageType.WARNING),
        "message": f"pygent-ls: {text}",
        "actions": [{"title": title} for title in ANSWERS],
    }
    title = await chosen_title(endpoint, params)
    return None if title is None else ANSWERS[title]


def _in_lines(text: str) -> Iterator[str]:
    """Yield lines short enough to need no horizontal scrolling, with continuation lines indented."""
    for line in text.split("\n"):
        yield line[:DOCUMENT_COLUMNS]
        for start in range(DOCUMENT_COLUMNS, len(line), DOCUMENT_COLUMNS - 4):
            yield f"    {line[start : start + DOCUMENT_COLUMNS - 4]}"
