"""`pygent/checkpoint/…`: parameters and results."""

from typing import NotRequired, TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params


class CheckpointParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/checkpoint/diff`."""

    checkpoint_id: str


class CheckpointRestoreParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/checkpoint/restore`. Without `force`, files that the user changed after the agent are
    skipped. Without `uncertain`, files that changed while a command ran are skipped, because the command or someone
    else may have changed them."""

    checkpoint_id: str
    files: bool
    conversation: bool
    force: bool = False
    uncertain: bool = False


class CheckpointOut(TypedDict):
    """A state that can be restored. `files` is the number of files that the agent changed between this checkpoint and
    the next one."""

    checkpointId: str
    turnId: str
    label: str
    createdAt: str
    files: int


class UndoneOut(TypedDict):
    """Files that a turn changed, and in which a restore or an undo has since taken back all changes of that turn."""

    turnId: str
    uris: list[str]


class CheckpointsOut(TypedDict):
    """The result of `pygent/checkpoint/list`, oldest first."""

    checkpoints: list[CheckpointOut]
    undone: list[UndoneOut]


class FileDiffOut(TypedDict):
    """A file that differs, with its unified diff."""

    uri: str
    patch: str


class CheckpointDiffOut(TypedDict):
    """The result of `pygent/checkpoint/diff`: the changes from the checkpoint to now, including unsaved text."""

    files: list[FileDiffOut]


class SkippedOut(TypedDict):
    """A file that was not restored, or only in part, and the reason."""

    uri: str
    reason: str


class RestoredOut(TypedDict):
    """The result of `pygent/checkpoint/restore` and `pygent.undo`. A restore of `undoCheckpointId` takes it back.
    `uncertain` lists the skipped files that changed while a command ran, by the command or by someone else; a restore
    of the same checkpoint with `uncertain: true` restores them, too. `notKept` is true if not all file changes of the
    undone turn could be recorded, and missing otherwise: what the turn's commands changed in such files stays."""

    restored: list[str]
    skipped: list[SkippedOut]
    uncertain: list[str]
    undoCheckpointId: str
    notKept: NotRequired[bool]
