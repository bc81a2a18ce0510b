"""`/background`: commands that run in the background of the conversation."""

from __future__ import annotations

from collections.abc import Sequence

from pygent_ls.agent.display_text import one_line
from pygent_ls.sessions.commands.answer_text import MAX_LINE_CHARS, when
from pygent_ls.sessions.commands.command import Command, CommandCall, WordChoice


async def _list(call: CommandCall) -> str:
    commands = await call.session.services.environment.processes.background.listed(call.session.id)
    if not commands:
        return "This session has no background commands."
    lines = [
        f"- `{each.name}` {each.ending}, since {when(each.started_at)}: {one_line(each.command, MAX_LINE_CHARS)}"
        for each in commands
    ]
    return "\n".join([*lines, "`/background stop ID` stops one."])


async def _stop(call: CommandCall) -> str:
    if await call.session.services.environment.processes.background.stop(call.session.id, call.text):
        return f"`{call.text}` was stopped."
    return f"`{call.text}` had already ended."


async def _running(call: CommandCall) -> Sequence[WordChoice]:
    if call.words:
        return ()
    commands = await call.session.services.environment.processes.background.listed(call.session.id)
    return [WordChoice(word=each.name, detail=one_line(each.command, MAX_LINE_CHARS)) for each in commands if each.runs]


COMMANDS = (
    Command(
        name="background",
        description="list and stop commands and agents in the background",
        parts=(
            Command(name="list", description="list all, with how they ended", run=_list),
            Command(name="stop", takes="ID", description="stop one", run=_stop, complete=_running),
        ),
    ),
)
