"""Runs external agents: `python -m tests.external_agents [NAME…]`. A name begins those of the wires and agents to run.

Exits with 1 if anything differs from what is expected, or if there was nothing to run.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from tests.external_agents import recorded, story
from tests.external_agents.agents import AGENTS

ROOT = Path(__file__).parents[2]

WIRES = ROOT.parent / "shared" / "acp-agents" / "wires"

INSTALLED = Path(os.environ.get("AGENTS") or ROOT / "build" / "agents")
"""Folder of the installed agents: npm/NAME/node_modules, and vibe, a virtual environment."""


async def main(names: Sequence[str]) -> int:
    """Return the exit code of the command."""
    n_run = n_wrong = 0
    if not WIRES.is_dir():
        sys.stdout.write(f"       wires are not there: {WIRES}\n")
    for file in sorted(WIRES.glob("*.jsonl")):
        if is_named(file.stem, names):
            n_run += 1
            n_wrong += not await _told(f"wire {file.stem}", recorded.problems_of(file.resolve()))
    for agent in AGENTS:
        program = agent.found_in(INSTALLED)
        if not is_named(agent.name, names):
            continue
        if program is None:
            install = agent.install.replace("AGENTS", str(INSTALLED))
            sys.stdout.write(f"       agent {agent.name} is not installed: install it with `{install}`\n")
            continue
        n_run += 1
        n_wrong += not await _told(f"agent {agent.name}", story.problems_of(agent, program))
    sys.stdout.write(f"{n_run - n_wrong} of {n_run} are as expected.\n")
    return 1 if n_wrong or not n_run else 0


async def _told(name: str, running: Coroutine[Any, Any, Sequence[str]]) -> bool:
    """Print what one run has found; return whether all of it is as expected."""
    began_s = time.monotonic()
    try:
        found = await running
    except Exception as error:  # a daemon or an agent that fails must not keep the others from running
        found = [f"{type(error).__name__}: {error}"]
    sys.stdout.write(f"{'FAILED' if found else 'ok    '} {name} ({time.monotonic() - began_s:.1f} s)\n")
    sys.stdout.writelines(f"         {each}\n" for each in found)
    sys.stdout.flush()
    return not found


def is_named(name: str, names: Sequence[str]) -> bool:
    """Whether to run this one."""
    return not names or any(name.startswith(each) for each in names)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
