"""Command line of `pygent-ls replay`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

SAME, DIFFERENT, NOT_PLAYED = 0, 1, 2
"""Exit codes."""

TIMEOUT_S = 60.0
"""Maximum wait for a single event, normally a model's whole answer."""


def add_replay(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to `pygent-ls`."""
    parser = add_parser(
        "replay",
        help="replay a recorded client against a daemon",
        description=(
            "Replay the client's side of a recording made with `pygent-ls --trace FILE` against a new daemon, "
            "answer the daemon's requests as the client did, and report how the daemon's messages differ. Turns run "
            "again with the model from the settings or the recording, and so do allowed commands: only replay "
            "recordings that you trust."
        ),
        epilog=(
            "Exit codes: 0 the daemon sent the same messages; 1 they differed; 2 the recording could not be replayed."
        ),
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--speed", type=_factor, default=1.0, metavar="N", help="replay N times as fast (default: 1)")
    pace.add_argument("--as-fast", action="store_true", help="replay without pauses")
    parser.add_argument(
        "--client", type=int, default=1, metavar="N", help="client to replay, for a socket recording (default: 1)"
    )
    parser.add_argument("--folder", metavar="DIR", help="use another copy of the workspace folder")
    parser.add_argument(
        "--own-state", action="store_true", help="use your own sessions, rules and trust instead of empty ones"
    )
    parser.add_argument(
        "--timeout",
        type=_factor,
        default=TIMEOUT_S,
        metavar="S",
        help=f"seconds to wait for each message (default: {TIMEOUT_S:g})",
    )
    parser.add_argument("server", nargs="*", metavar="COMMAND", help="after --, another server to use")
    parser.set_defaults(refuse=parser.error, act=replay)


def replay(given: argparse.Namespace) -> int:
    """Play a recording and print the report to standard output; return the exit code."""
    import asyncio

    from pygent_ls.cli.replay.recording import ReplayError, read_recording
    from pygent_ls.cli.replay.runner import ReplayOptions, played, report

    try:
        recording = read_recording(Path(given.file), client=given.client)
        wanted = ReplayOptions(
            recording=recording,
            command=tuple(given.server) or (sys.executable, "-P", "-m", "pygent_ls", "--stdio"),
            workspace=Path(given.folder).resolve() if given.folder else None,
            own_state=given.own_state,
            speed=0 if given.as_fast else given.speed,
            timeout_s=given.timeout,
        )
        found = asyncio.run(played(wanted, os.environ))
    except ReplayError as error:
        sys.stderr.write(f"pygent-ls replay: {error}\n")
        return NOT_PLAYED
    sys.stdout.write(report(recording, found))
    return DIFFERENT if found else SAME


def _factor(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError(text)
    return number


_factor.__name__ = "positive number"
"""Shown by argparse as `invalid positive number value: 'x'`."""
