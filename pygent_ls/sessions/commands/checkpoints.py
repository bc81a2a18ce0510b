"""Commands that undo and redo turns and restore checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

from pygent_ls.agent.context.conversation_text import fenced
from pygent_ls.errors import SessionError
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoint
from pygent_ls.sessions.checkpoints.rewind import RewindTarget
from pygent_ls.sessions.commands.answer_text import what_went_back, when
from pygent_ls.sessions.commands.command import Command, CommandCall, UsageError, WordChoice


async def _undo(call: CommandCall) -> str:
    if call.words not in ((), ("--rest",)):
        raise UsageError("The only accepted argument is `--rest`.")
    if call.words:
        done = await call.session.restorer.undo_rest()
        lines = [what_went_back(done, call.session.shown)]
    else:
        done = await call.session.restorer.undo()
        lines = ["Undid the last turn.", what_went_back(done, call.session.shown)]
        if done.uncertain:
            lines.append("`/undo --rest` also undoes what a command may have changed.")
    return "\n".join([*lines, "`/redo` restores it."])


async def _redo(call: CommandCall) -> str:
    done = await call.session.restorer.redo()
    return f"Restored the turn.\n{what_went_back(done, call.session.shown)}"


async def _diff_of_last_turn(call: CommandCall) -> str:
    points = [each for each in call.session.restorer.checkpoints if each.conversation is None]
    if not points:
        raise SessionError("No turn of this session has changed a file.", kind="no_checkpoints")
    first = next(each for each in points if each.turn_id == points[-1].turn_id)
    patches = await _patches(call, first)
    if not patches:
        return "There are no changes since the start of the last turn that changed files."
    return f"Changes since the start of the last turn that changed files:\n\n{patches}"


async def _patches(call: CommandCall, checkpoint: Checkpoint) -> str:
    text = "".join(each.patch for each in await call.session.restorer.diff(checkpoint))
    return fenced(text.rstrip(), "diff") if text else ""


# Checkpoints


async def _list(call: CommandCall) -> str:
    points = call.session.restorer.checkpoints
    if not points:
        return (
            "There are no checkpoints yet. They are created before the first change of a turn and around each command."
        )
    lines = [f"- {each.created_at:%H:%M:%S} UTC `{each.id}` {each.label}" for each in points]
    return "\n".join(["Oldest first:", *lines])


async def _diff(call: CommandCall) -> str:
    checkpoint = _checkpoint(call, call.words[0] if len(call.words) == 1 else "")
    patches = await _patches(call, checkpoint)
    since = f"`{checkpoint.id}` ({checkpoint.label})"
    return f"Changes since {since}:\n\n{patches}" if patches else f"There are no changes since {since}."


async def _restore(call: CommandCall) -> str:
    words = [each for each in call.words if each not in ("--force", "--uncertain")]
    what = words[1] if len(words) == 2 else "both"
    if len(words) not in (1, 2) or what not in ("both", "files", "conversation"):
        raise UsageError("Name a checkpoint, and `files` or `conversation` to restore only one of them.")
    checkpoint = _checkpoint(call, words[0])
    wanted = RewindTarget(
        files=what != "conversation",
        conversation=what != "files",
        force="--force" in call.words,
        uncertain="--uncertain" in call.words,
    )
    done = await call.session.restorer.restore(checkpoint, wanted)
    lines = [f"Restored `{checkpoint.id}` ({checkpoint.label})."]
    if wanted.files:
        lines.append(what_went_back(done, call.session.shown))
    return "\n".join([*lines, f"`/checkpoint restore {done.undo_checkpoint_id}` undoes this."])


def _checkpoint(call: CommandCall, given: str) -> Checkpoint:
    """Return the checkpoint with that id, or the only one whose id starts with it."""
    points = call.session.restorer.checkpoints
    found = [each for each in points if each.id == given] or [
        each for each in points if given and each.id.startswith(given)
    ]
    if len(found) != 1:
        problem = "Several checkpoints start with" if found else "There is no checkpoint"
        raise UsageError(f"{problem} {given!r}. `/checkpoint list` shows them.")
    return found[0]


async def _ids(call: CommandCall) -> Sequence[WordChoice]:
    if call.words:
        return ()
    return [
        WordChoice(word=each.id, detail=f"{when(each.created_at)} {each.label}")
        for each in reversed(call.session.restorer.checkpoints)
    ]


async def _rest(call: CommandCall) -> Sequence[WordChoice]:
    return (
        []
        if call.words
        else [WordChoice(word="--rest", detail=("also files that the last undo left unchanged as uncertain"))]
    )


async def _ids_and_what(call: CommandCall) -> Sequence[WordChoice]:
    if not call.words:
        return await _ids(call)
    return [
        WordChoice(word="files", detail="only the files"),
        WordChoice(word="conversation", detail="only the conversation"),
        WordChoice(
            word="--uncertain", detail=("also files that changed while a command ran, regardless of who changed them")
        ),
        WordChoice(word="--force", detail="also files that you have changed since"),
    ]


COMMANDS = (
    Command(
        name="undo",
        takes="[--rest]",
        description="undo the last turn: files and conversation",
        run=_undo,
        complete=_rest,
    ),
    Command(name="redo", description="restore what /undo undid", run=_redo),
    Command(name="diff", description="show the changes of the last turn that changed files", run=_diff_of_last_turn),
    Command(
        name="checkpoint",
        description="list, compare and restore checkpoints",
        parts=(
            Command(name="list", description="list all, the oldest first", run=_list),
            Command(name="diff", takes="ID", description="show changes since a checkpoint", run=_diff, complete=_ids),
            Command(
                name="restore",
                takes="ID [files|conversation] [--uncertain] [--force]",
                description="restore a checkpoint; without --force, files that you changed since are kept",
                run=_restore,
                complete=_ids_and_what,
            ),
        ),
    ),
)
