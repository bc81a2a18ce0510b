"""What goes out about checkpoints, part of `outgoing`."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class CheckpointOut(TypedDict):
    """A state that can be gone back to; `files` counts what the agent changed from it to the next one."""

    checkpointId: str
    turnId: str
    label: str
    createdAt: str
    files: int


class UndoneOut(TypedDict):
    """Files that a turn changed, and a restore or an undo took back since: nothing of its changes stands there."""

    turnId: str
    uris: list[str]


class CheckpointsOut(TypedDict):
    """The result of `pygent/checkpoint/list`, the oldest first."""

    checkpoints: list[CheckpointOut]
    undone: list[UndoneOut]


class FileDiffOut(TypedDict):
    """A file that differs, as a unified diff."""

    uri: str
    patch: str


class CheckpointDiffOut(TypedDict):
    """The result of `pygent/checkpoint/diff`: from the checkpoint to now, unsaved text included."""

    files: list[FileDiffOut]


class SkippedOut(TypedDict):
    """A file that was left as it is, and why."""

    uri: str
    reason: str


class RestoredOut(TypedDict):
    """The result of `pygent/checkpoint/restore` and `pygent.undo`; `undoCheckpointId` takes it back. `uncertain` are
    those of the skipped that changed while a command ran, by the command or by anyone else; `uncertain: true` in a
    restore of the same checkpoint brings them back, too. `notKept` is there, and true, if the files could not be kept
    in the turn that was taken back: what its commands changed in them stays."""

    restored: list[str]
    skipped: list[SkippedOut]
    uncertain: list[str]
    undoCheckpointId: str
    notKept: NotRequired[bool]
