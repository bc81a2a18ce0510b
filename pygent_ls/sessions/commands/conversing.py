"""Commands about the conversation itself: what it holds, making it shorter, going on with it."""

from __future__ import annotations

from pygent_ls.errors import SessionError
from pygent_ls.sessions.commands.command import Call, Command, ModelPrompt

GO_ON = "Go on where you stopped. Do not repeat what is done."

INIT = """\
Write a file `AGENTS.md` in the root of this workspace: what a coding agent must know that comes here \
for the first time.

Look first: the README, the build and package files, the CI, the tests, the layout, and rules that other tools read \
(CLAUDE.md, .cursorrules, .github/copilot-instructions.md). Then write, in at most a page:
- what the project is, in a sentence or two, and where its main parts lie
- the commands that install, build, run, lint and test it, and how a single test is run; only such as you found
- what is not seen at once: conventions, layers, generated files, traps

No general advice, and nothing that one glance at the tree shows. If there is an AGENTS.md, keep what is right in it, \
and correct and complete the rest."""


async def _clear(call: Call) -> str:
    n_messages = len(call.session.messages)
    call.session.take_conversation(())
    if not n_messages:
        return "The conversation was empty."
    return f"The conversation is empty now: {n_messages} messages are gone. Files stay as they are."


async def _continue(call: Call) -> ModelPrompt:
    if not call.session.messages:
        raise SessionError("There is nothing to go on with: the conversation is empty.", kind="nothing_to_continue")
    return ModelPrompt(text=f"{GO_ON}\n\n{call.text}" if call.text else GO_ON)


async def _init(call: Call) -> ModelPrompt:
    return ModelPrompt(text=f"{INIT}\n\n{call.text}" if call.text else INIT)


COMMANDS = (
    Command(name="clear", description="empty the conversation; files stay", run=_clear),
    Command(
        name="continue",
        takes="[PROMPT]",
        description="go on after a limit, or an answer that was cut off",
        prompt=_continue,
    ),
    Command(
        name="init", takes="[PROMPT]", description="have the model write an AGENTS.md for this workspace", prompt=_init
    ),
)
