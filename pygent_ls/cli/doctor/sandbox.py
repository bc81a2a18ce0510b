"""Check of the sandbox for commands."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from pygent_ls.app.factories import sandbox_options
from pygent_ls.config.settings import Settings


def sandbox_row(settings: Settings, bwrap: str | None, folder: Path, own: Sequence[Path]) -> str:
    """Set the sandbox up for a folder and describe the result; `bwrap` is its program."""
    from pygent_ls.workspace.sandbox.sandbox import Sandbox

    sandbox = Sandbox(sandbox_options(settings), lambda: [folder], own=own)
    try:
        state = asyncio.run(sandbox.state(bwrap))
    finally:
        sandbox.close()
    otherwise = (
        'the setting `sandbox` is "require", so no command runs'
        if state.required
        else "commands run without it, and permission prompts say so"
    )
    match state.kind:
        case "off":
            return "off: disabled by the setting `sandbox`"
        case "on":
            network = "with" if settings.sandbox_network else "without"
            weakness = f". {state.reason}" if state.reason else ""
            return f"works: commands run in it, {network} network ({bwrap}){weakness}"
        case "missing":
            is_linux = sys.platform.startswith("linux")
            how = "bubblewrap was not found; install the package bubblewrap" if is_linux else state.reason.rstrip(".")
            return f"none: {how}. Until then, {otherwise}."
        case "failed":
            asks = otherwise if state.required else "you are asked before commands run without it"
            return f"installed but not working: {state.reason}. Until this is fixed, {asks}."
