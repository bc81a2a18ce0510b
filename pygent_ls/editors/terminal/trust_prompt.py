"""The workspace trust question, on a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pygent_ls.editors.ports import TrustQuestion
from pygent_ls.editors.terminal.approver import MAX_ATTEMPTS, Terminal

ANSWERS: Mapping[str, bool] = {"n": False, "no": False, "y": True, "yes": True}


async def ask_trust(terminal: Terminal, question: TrustQuestion) -> bool | None:
    """Ask whether to trust the folder. Returns None for the end of input, and for the third line that is neither yes
    nor no."""
    terminal.forget_typed()
    terminal.write(f"{question.text}\n")
    try:
        for _ in range(MAX_ATTEMPTS):
            terminal.write("Trust them (yes or no)? ")
            line = await terminal.read_line()
            if line is None:
                break
            if line.strip().lower() in ANSWERS:
                return ANSWERS[line.strip().lower()]
    except asyncio.CancelledError:
        terminal.write("\n")
        raise
    terminal.write("Not trusted this time.\n")
    return None
