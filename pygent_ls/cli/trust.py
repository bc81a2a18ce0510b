"""Command `pygent-ls trust`: answers trust requests of a folder's own settings without an editor."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pygent_ls.agent.display_text import visible
from pygent_ls.config.live import Taken
from pygent_ls.config.trust import TrustStore, source_names
from pygent_ls.errors import SettingError

TrustAction = Literal["trust", "show", "forget"]


def trust(taken: Taken, store: TrustStore, action: TrustAction) -> tuple[str, int]:
    """Trust the folder's settings as they are now, show what they would do, or remove every answer about the folder.

    Returns the message, and 1 if the settings cannot be read or the answer cannot be stored.
    """
    assert taken.folder is not None
    try:
        return _done(taken, store, taken.folder, action)
    except SettingError as error:
        return f"{visible(str(error))}\n", 1


def _done(taken: Taken, store: TrustStore, folder: Path, action: TrustAction) -> tuple[str, int]:
    where = visible(str(folder))
    if action == "forget":
        forgotten = store.forget(folder)
        return f"Removed the answers about {where}.\n" if forgotten else (f"There are no answers about {where}.\n"), 0
    problems = [each for layer in taken.layers if layer.origin_of_rules == "workspace" for each in layer.problems]
    if problems:
        return "".join(f"{each.text}\n" for each in problems), 1
    if not taken.wishes:
        return f"Nothing in the settings of {where} needs trust.\n", 0
    listed = "".join(f"  - {wish.words}\n" for wish in taken.wishes)
    if action == "show":
        state = {True: "It is trusted.", False: "It is not trusted.", None: ("You have not been asked yet.")}[
            taken.trusted
        ]
        return f"{source_names(taken.wishes)} of {where} would:\n{listed}{state}\n", 0
    store.remember(folder, taken.digest, trusted=True)
    return f"Trusted: {source_names(taken.wishes)} of {where}, as it is now. It will:\n{listed}", 0
