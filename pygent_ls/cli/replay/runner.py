"""Runs one play of a recording, from its files to its report."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pygent_ls.cli.replay.daemon import ReplayedDaemon
from pygent_ls.cli.replay.name_map import Names
from pygent_ls.cli.replay.player import Player
from pygent_ls.cli.replay.recording import Recording, ReplayError
from pygent_ls.editors.lsp.transport.recording import masks_of

MAX_SHOWN = 50
"""Maximum number of displayed differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """Options of a play."""

    recording: Recording
    command: tuple[str, ...]
    workspace: Path | None
    """Other copy of the workspace folder."""
    own_state: bool
    """Whether to use the user's own sessions, rules and trust, not an empty state folder."""
    speed: float
    """Speed, as in `Player`."""
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """Folders and environment of a play."""

    folder: Path
    environment: Mapping[str, str]
    names: Names


async def played(wanted: ReplayOptions, environment: Mapping[str, str]) -> Sequence[str]:
    """Play a recording and return the daemon's differences, one line each. Raises `ReplayError`."""
    with _stage(wanted, environment) as stage:
        player = Player(
            lines=wanted.recording.lines,
            daemon=await ReplayedDaemon.start(wanted.command, stage.folder, stage.environment),
            names=stage.names,
            mask=masks_of(stage.environment).everything,
            speed=wanted.speed,
            timeout_s=wanted.timeout_s,
        )
        await player.play()
    return player.found


@contextmanager
def _stage(wanted: ReplayOptions, environment: Mapping[str, str]) -> Generator[_Stage]:
    """Prepare the folders and the environment. Raises `ReplayError` if the folder is missing."""
    recording = wanted.recording
    moved: dict[Path, Path] = {}
    if wanted.workspace is not None:
        moved[recording.workspace or recording.folder] = wanted.workspace
    with tempfile.TemporaryDirectory(prefix="pygent-replay-", ignore_cleanup_errors=True) as scratch:
        surroundings = {**recording.environment, **environment}
        if not wanted.own_state:
            surroundings["XDG_STATE_HOME"] = scratch
            moved[recording.state] = Path(scratch).resolve() / "pygent-ls"
        names = Names(moved)
        folder = Path(names.to_new(str(recording.folder)))
        for needed in (folder, wanted.workspace or folder):
            if not needed.is_dir():
                raise ReplayError(f"the folder {needed} does not exist. Set a copy of the workspace with --folder.")
        yield _Stage(folder=folder, environment=surroundings, names=names)


def report(recording: Recording, found: Sequence[str]) -> str:
    """Format the result for the user."""
    n_said = sum(line.side == "client" for line in recording.lines)
    lines = [f"{n_said} client messages were replayed."]
    if recording.is_torn:
        lines.append("The last line of the recording is incomplete: the daemon was killed while writing it.")
    lines.append(
        f"The daemon's messages differed {len(found)} times:" if found else "The daemon sent the same messages."
    )
    lines += [f"  {each}" for each in found[:MAX_SHOWN]]
    if len(found) > MAX_SHOWN:
        lines.append(f"  … and {len(found) - MAX_SHOWN} more")
    return "\n".join(lines) + "\n"
