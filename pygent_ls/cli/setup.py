"""Command `pygent-ls setup`: sets up a model with questions on the terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from pygent_ls.app.setup import AppSetup
    from pygent_ls.app.shared import Shared
    from pygent_ls.editors.terminal.approver import Terminal

EXIT_CODES = """\
exit codes:
  0    a model is set up, or the key was removed
  1    no model was set up, or the key was not removed
  2    bad usage, or there is no terminal to ask on
  130  Ctrl-C
"""

CANCELLED = 130
MAX_WIDTH = 100

NEXT = 'Ask it something: open your editor, or run `pygent-ls run "what is this project?"`.'


def add_setup(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to `pygent-ls`."""
    import argparse

    setup = add_parser(
        "setup",
        help="choose a model: a provider with a key, a local server, or an installed program",
        description=(
            "Find keys in the environment, local servers (Ollama, LM Studio, llama.cpp, vLLM) and installed "
            "programs, or enter a provider's key; call the model once, and make it your default. Keys are saved in "
            "the system keyring or in a file that only you can read, never in a settings file."
        ),
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    setup.add_argument("--forget", metavar="PROVIDER", help="remove the saved key of a provider without asking")
    setup.set_defaults(refuse=setup.error, act=run_command)


def run_command(given: argparse.Namespace) -> int:
    """Run the command; return the exit code."""
    from pygent_ls.app.run_log import Logged

    logged = Logged("setup")
    return logged.ended(_forget(given.forget) if given.forget is not None else _ask())


def _forget(provider: str) -> int:
    from pygent_ls.app.keys import saved_keys
    from pygent_ls.errors import KeyStoreError

    keys = saved_keys()
    try:
        forgotten = keys.forget(provider)
    except KeyStoreError as error:
        return _failed(str(error))
    if forgotten:
        _say(f"Removed the saved key for {provider}.")
        return 0
    saved = ", ".join(keys.providers()) or "none"
    return _failed(" ".join([f"No key is saved for {provider}. Providers with a saved key: {saved}.", *keys.problems]))


def _ask() -> int:
    from pygent_ls.editors.terminal.approver import terminal_of

    with terminal_of((0, 2, 1)) as terminal:
        if terminal is None or not os.isatty(0):
            return _failed(NO_TERMINAL, code=2)
        try:
            return asyncio.run(_asked(terminal))
        except asyncio.CancelledError:
            return CANCELLED


async def _asked(terminal: Terminal) -> int:
    from pygent_ls.app.shared import Shared

    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):  # restores the terminal's echo; Ctrl-C is handled by asyncio
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    shared = Shared()
    try:
        done = await _setup(terminal, shared).run()
    finally:
        await shared.close()
    _say(f"\n{done.text}")
    if done.model:
        _say(NEXT)
    return 0 if done.model else 1


def _setup(terminal: Terminal, shared: Shared) -> AppSetup:
    """Create the setup with the settings of this folder."""
    from pygent_ls.app.blueprint import read_settings
    from pygent_ls.app.factories import named_key_variables
    from pygent_ls.app.setup import AppSetup
    from pygent_ls.editors.terminal.questioner import TerminalQuestioner
    from pygent_ls.editors.terminal.text import palette_for

    blueprint = read_settings({}, [Path.cwd()])
    settings = blueprint.taken.loaded.settings
    processes, _ = shared.processes(settings, lambda: (Path.cwd(),), named_key_variables(settings))
    return AppSetup(
        live=blueprint.live,
        keys=shared.keys,
        models=shared.models(settings, processes),
        find=processes.find,
        folder=Path.cwd,
        questioner=TerminalQuestioner(
            terminal=terminal,
            palette=palette_for(os.environ, is_terminal=True),
            ready_to_ask=_at_once,
            width=min(terminal.columns or MAX_WIDTH, MAX_WIDTH),
        ),
        tell=_say,
    )


async def _at_once(_tool_id: str) -> None:
    """Do nothing: a question needs no output shown before it."""


def _say(text: str) -> None:
    import textwrap

    from pygent_ls.editors.terminal.text import columns_of

    width = min(columns_of(1, MAX_WIDTH), MAX_WIDTH)
    lines = (textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _failed(text: str, code: int = 1) -> int:
    sys.stderr.write(f"pygent-ls: {text}\n")
    return code


NO_TERMINAL = (
    "setup requires a terminal. Instead, set your provider's variable, such as ANTHROPIC_API_KEY, OPENAI_API_KEY or "
    "GEMINI_API_KEY, or set PYGENT_MODEL to a model, such as ollama_chat/qwen3:8b. `pygent-ls doctor` shows what "
    "would be used."
)
